//! Validation of examples: each must be a legal form with valid operands, or be marked `refused`.

use isa_table::target::{FloorBuf, Target, Version, in_words};

use super::{ABSENT, Form, FreeFloor, Rule};
use crate::model::{Item, Model, Opcode, Operand, OperandKind, Pattern, Permission, RangeBuf, SelectorBuf, Slot};
use crate::syntax::ast::{Example, ExampleOperand, Requirement};
use crate::text::{Diagnostic, Errors};

/// Context in which the examples of an opcode are checked.
pub(super) struct Examples<'a> {
    pub model: &'a Model,
    pub opcode: &'a Opcode,
    pub forms: &'a [Form],
    pub rules: &'a [Rule],
    pub floors: &'a [FreeFloor],
}

impl Examples<'_> {
    pub(super) fn check(&self, errors: &mut Errors) {
        for (number, entry) in self.opcode.entries.iter().enumerate() {
            for example in &entry.examples {
                if let Err(diagnostic) = self.one(number, example) {
                    errors.push(diagnostic);
                }
            }
        }
    }

    fn one(&self, number: usize, example: &Example) -> Result<(), Diagnostic> {
        let Examples { opcode, forms, .. } = *self;
        let entry = &opcode.entries[number];
        let mut mnemonic = example.opcode.to_string();
        for modifier in &example.modifiers {
            mnemonic += &format!(".{modifier}");
        }
        if example.opcode != opcode.name {
            return Err(Diagnostic::new(example.opcode.span(), format!("this entry is about `{}`", opcode.name)));
        }
        // Free modifiers are not part of a form; the mnemonic without them names it.
        let bare = without_free(opcode, example);
        let shaped = |form: &&Form| {
            let patterns = opcode.entries[form.entry].written(&form.patterns);
            let operands = spread(patterns, &example.operands);
            let around = operands.iter().map(|operand| operand.around);
            let least = patterns.iter().filter(|pattern| !pattern.optional).count();
            let vector = |pattern: &Pattern| {
                let cases = &opcode.entries[form.entry].operands[pattern.operand].cases;
                cases.iter().any(|case| matches!(case.kind, OperandKind::Vector(_)))
            };
            let vectors =
                operands.iter().zip(patterns).all(|(operand, pattern)| operand.elements.is_empty() || vector(pattern));
            (least..=patterns.len()).contains(&operands.len())
                && vectors
                && around.eq(patterns[..operands.len()].iter().map(|pattern| pattern.around))
        };
        let mut shapes = forms.iter().filter(|form| form.mnemonic == mnemonic || form.mnemonic == bare);
        // Forms of one mnemonic are distinguished by operands and free modifiers.
        let goes = |form: &&Form| self.refusal(form, example).is_none();
        let legal = shapes.clone().find(|form| shaped(form) && goes(form)).or_else(|| shapes.clone().find(goes));
        let spelt = shapes.clone().find(shaped).or_else(|| shapes.next());
        if let (None, Some(form), false) = (legal, spelt, example.refused) {
            let why = self.refusal(form, example).unwrap_or_default();
            return Err(Diagnostic::new(example.span, format!("`{mnemonic}` is not legal: {why}")));
        }
        let form = legal;
        match (form, example.refused) {
            (None, true) => {
                let anywhere = Example { with: None, ..example.clone() };
                let never = !shapes.clone().any(|form| self.refusal(form, &anywhere).is_none());
                return match &example.with {
                    Some(with) if never => {
                        Err(Diagnostic::new(with.span, "no version and no target accepts this statement")
                            .help("omit the version and the target: it is refused everywhere"))
                    }
                    _ => Ok(()),
                };
            }
            (Some(_), true) => {
                return Err(Diagnostic::new(
                    example.span,
                    format!("`{mnemonic}` is marked `refused`, but it is legal"),
                ));
            }
            (None, false) => {
                return Err(Diagnostic::new(example.span, format!("`{mnemonic}` is not a legal form"))
                    .suggest(&mnemonic, forms.iter().map(|form| form.mnemonic.as_str())));
            }
            (Some(_), false) => {}
        }
        let Some(form) = form.filter(|form| form.entry == number) else {
            return Err(Diagnostic::new(example.span, "another entry of this opcode describes this form"));
        };
        let written = || format!("syntax: `{}`", entry.syntaxes[form.syntax].text);
        let patterns = entry.written(&form.patterns);
        let least = patterns.iter().filter(|pattern| !pattern.optional).count();
        let operands = spread(patterns, &example.operands);
        if !(least..=patterns.len()).contains(&operands.len()) {
            let message = format!("`{mnemonic}` takes {} operands, but {} were given", patterns.len(), operands.len());
            return Err(Diagnostic::new(example.span, message).help(written()));
        }
        let whole = patterns.len() == operands.len();
        for (pattern, operand) in patterns.iter().zip(&operands) {
            fits(pattern, &entry.operands, operand, whole)
                .map_err(|message| Diagnostic::new(operand.span, message).help(written()))?;
        }
        Ok(())
    }

    /// Reason why an example is not a statement of a form with its mnemonic: its free modifiers, its constants, or the
    /// version and target it is checked for.
    fn refusal(&self, form: &Form, example: &Example) -> Option<String> {
        let Examples { opcode, rules, .. } = *self;
        let items = &opcode.entries[form.entry].syntaxes[form.syntax].items;
        let spelling = |slot: usize, member: usize| opcode.slots[slot].members[member].spelling.as_str();
        let mut values = form.choice.values.clone();
        let mut words: Vec<&str> = example.modifiers.iter().map(AsRef::as_ref).collect();
        // Modifiers of the form itself are not free.
        for item in items.iter().filter(|item| !opcode.slots[item.slot].free) {
            let own = values[item.slot].map(|member| spelling(item.slot, member));
            if let Some(place) = own.and_then(|own| words.iter().position(|word| *word == own)) {
                words.remove(place);
            }
        }
        for word in words {
            let takes = |item: &&Item| {
                let member = item.members.iter().copied().find(|member| spelling(item.slot, *member) == word);
                (opcode.slots[item.slot].free && values[item.slot].is_none()).then_some((item.slot, member?))
            };
            match items.iter().find_map(|item| takes(&item)) {
                Some((slot, member)) => values[slot] = Some(member),
                None => return Some(format!("modifier `.{word}` is not allowed")),
            }
        }
        let missing = items.iter().find(|item| !item.optional && values[item.slot].is_none());
        if let Some(item) = missing {
            return Some(format!("missing modifier `.{}`", opcode.slots[item.slot].name));
        }
        let holds = |(slot, allowed): &(usize, u64)| allowed >> values[*slot].unwrap_or(ABSENT.into()) & 1 == 1;
        let refuses = |rule: &&Rule| rule.decides == Some(form.entry) && rule.forbids.iter().all(holds);
        if let Some(rule) = rules.iter().find(refuses) {
            return Some(rule.reason.clone());
        }
        let entry = &opcode.entries[form.entry];
        let patterns = entry.written(&form.patterns);
        let operands = spread(patterns, &example.operands);
        if let Some(reason) = patterns.iter().zip(&operands).find_map(|(pattern, written)| {
            let operand = &entry.operands[pattern.operand];
            [written].into_iter().chain(&written.elements).find_map(|written| outside(operand, &written.name))
        }) {
            return Some(reason);
        }
        let with = example.with.as_ref()?;
        let own = form.lenient_floor.as_ref().map_or(&form.floor, |(floor, _)| floor);
        let free = self.floors.iter().filter(|floor| floor.entry == form.entry && floor.when.iter().all(holds));
        // An optional operand may require more where it is written.
        let written = |place: usize| {
            patterns[..operands.len().min(patterns.len())].iter().any(|it| it.operand == place && it.optional)
        };
        let optional = form.operand_floors.iter().filter(|(place, _)| written(*place)).map(|(_, floor)| floor);
        let mut all = [own].into_iter().chain(free.map(|floor| &floor.floor)).chain(optional);
        let lacking = all.find(|floor| !self.has(floor, with))?;
        let gone = lacking.removed.filter(|_| self.has(&FloorBuf { removed: None, ..lacking.clone() }, with));
        Some(match gone {
            Some(removed) => format!("it is {removed}"),
            None => format!("it requires PTX {}, {}", lacking.ptx, in_words(&lacking.targets)),
        })
    }

    /// Returns true if the version and the target of an example meet a minimum.
    fn has(&self, floor: &FloorBuf, with: &Requirement) -> bool {
        let ptx = with.ptx.as_ref().map(|ptx| Version::new(ptx.major, ptx.minor));
        let mut targets = with.targets.iter().map(|target| target.value);
        let takes = |target: Target| floor.targets.iter().any(|wanted| self.model.target_has(target, *wanted));
        let gone = floor.removed.is_some_and(|removed| {
            ptx.is_some_and(|ptx| ptx >= removed.ptx) && targets.clone().any(|target| target.sm >= removed.target.sm)
        });
        ptx.is_none_or(|ptx| ptx >= floor.ptx) && targets.all(takes) && !gone
    }
}

/// Reason why a constant is out of range for an operand; `None` if it is in range or not a constant.
fn outside(operand: &Operand, written: &str) -> Option<String> {
    let digits = written.trim_start_matches('-');
    let (digits, radix) = digits.strip_prefix("0x").map_or((digits, 10), |hex| (hex, 16));
    let magnitude = u64::from_str_radix(digits, radix).ok()?;
    let value = if written.starts_with('-') { magnitude.wrapping_neg() as i64 } else { magnitude as i64 };
    let has = |range: &RangeBuf| {
        range.least <= value && value <= range.most && value.unsigned_abs().is_multiple_of(range.step.max(1))
    };
    if operand.within.is_empty() || operand.within.iter().any(has) {
        return None;
    }
    let ranges = operand.within.iter().map(|range| match range.step {
        _ if range.least == range.most => format!("{}", range.least),
        1 => format!("{} to {}", range.least, range.most),
        step => format!("{} to {} by {step}", range.least, range.most),
    });
    let ranges: Vec<String> = ranges.collect();
    Some(format!("operand `{}` must be {}, but is {written}", operand.name, ranges.join(" or ")))
}

/// Mnemonic of an example without free modifiers.
fn without_free(opcode: &Opcode, example: &Example) -> String {
    let free = |word: &str| {
        let spelt = |slot: &&Slot| slot.members.iter().any(|member| member.spelling == word);
        opcode.slots.iter().find(spelt).is_some_and(|slot| slot.free)
    };
    let words = example.modifiers.iter().filter(|word| !free(word.as_ref()));
    words.fold(example.opcode.to_string(), |mnemonic, word| format!("{mnemonic}.{word}"))
}

/// Operands of an example; elements in braces are separate operands where the syntax line has them so.
fn spread(patterns: &[Pattern], written: &[ExampleOperand]) -> Vec<ExampleOperand> {
    let mut list: Vec<ExampleOperand> = Vec::new();
    for operand in written {
        let apart = patterns.get(list.len()).is_some_and(|pattern| pattern.around.opens) || patterns.is_empty();
        if operand.elements.is_empty() || !apart {
            list.push(operand.clone());
            continue;
        }
        let last = operand.elements.len() - 1;
        list.extend(operand.elements.iter().cloned().enumerate().map(|(index, mut element)| {
            element.around.opens = index == 0;
            element.around.closes = index == last;
            element
        }));
    }
    list
}

fn fits(pattern: &Pattern, operands: &[Operand], written: &ExampleOperand, whole: bool) -> Result<(), String> {
    let name = &operands[pattern.operand].name;
    if !written.elements.is_empty() {
        return Ok(());
    }
    let sinks =
        [Some(&written.name), written.second.as_ref()].into_iter().flatten().filter(|text| *text == "_").count();
    if written.negated && pattern.negation == Permission::No {
        return Err(format!("operand `{name}` must not be negated with `!`"));
    }
    match (&pattern.second, &written.second) {
        (None, Some(_)) => return Err(format!("the operand `{name}` has no second destination")),
        (Some((_, Permission::No)), None) => return Err(format!("the operand `{name}` has a second destination")),
        (Some(_), _) | (None, None) => {}
    }
    if sinks > 0 && !operands[pattern.operand].sink {
        return Err(format!("operand `{name}` must not be `_`: it is not a destination that accepts a sink"));
    }
    match (&pattern.selector, &written.selector) {
        (None, Some(selector)) => Err(format!("operand `{name}` does not accept a selector such as `.{selector}`")),
        (Some(pattern), Some(selector)) if pattern.spelling.omission != Permission::Yes && !whole => {
            Err(format!("operand `{name}` accepts selector `.{selector}` only if all operands are written"))
        }
        (Some(pattern), None) if pattern.spelling.omission == Permission::No && whole => {
            Err(format!("the operand `{name}` lacks its `.{}`", pattern.spelling.name))
        }
        (Some(pattern), Some(selector))
            if pattern.spelling.kind.parse(pattern.spelling.letter, selector.as_ref()).is_none() =>
        {
            let SelectorBuf { name, kind, letter, .. } = &pattern.spelling;
            Err(format!("`.{selector}` is not a valid `.{name}`: {}", kind.describe(*letter)))
        }
        _ => Ok(()),
    }
}
