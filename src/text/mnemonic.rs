//! Which form a mnemonic means; and if it means none, why, and which legal ones are near.
//!
//! A canonical mnemonic is found by the table's hash, [`Table::form`], and never comes here. What comes here has its
//! modifiers in another order, blanks before them, or a mistake.
//!
//! ```
//! use ptx_isa::text::mnemonic::{self, Refusal};
//!
//! let table = &ptx_isa::TABLE;
//! let found = mnemonic::resolve(table, "set.u32.f32.lt").unwrap();
//! assert_eq!((found.form.mnemonic(), found.reordered), ("set.lt.u32.f32", true));
//!
//! let refusal = mnemonic::resolve(table, "setp.lo.s32").unwrap_err();
//! assert_eq!(refusal.reasons[0].span, 5..7);
//! assert_eq!(refusal.nearest[0].mnemonic(), "setp.lt.s32");
//! ```

mod near;

pub(crate) use near::{nearest_with_operands, successors};

use alloc::borrow::{Cow, ToOwned};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::alike::{self, closest};
use super::lexer::Cursor;
use super::spelling;
use crate::diagnostic::{Code, Diagnostic, Fix};
use crate::table::{ABSENT, Forbidden, FormInfo, Free, InstructionInfo, Item, Slot, Syntax, Table};

/// Maximum number of similar forms in a refusal.
const NEAREST: usize = 3;

/// A mnemonic that means a form.
#[derive(Clone, Copy, Debug)]
pub struct Resolved {
    /// The form.
    pub form: FormInfo,
    /// Modifiers that do not belong to the form.
    pub free: Free,
    /// True if the order of the modifiers differs from that of the form.
    pub reordered: bool,
    /// True if blanks or comments precede a modifier.
    pub blanks: bool,
}

/// Why a mnemonic means no form.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Refusal {
    /// Each reason, its span within the mnemonic; never empty.
    pub reasons: Vec<Diagnostic>,
    /// Legal forms of the same instruction, the nearest first.
    pub nearest: Vec<FormInfo>,
    /// The instruction, and what was understood in each of its slots; `None` for an opcode that the table does not have.
    pub read: Option<(InstructionInfo, Vec<u8>)>,
    /// Edits of which each makes a legal mnemonic of it, the likeliest first.
    pub fixes: Vec<Fix>,
}

impl Refusal {
    fn of(reason: Diagnostic) -> Refusal {
        let fixes = reason.fixes.clone();
        Refusal { reasons: vec![reason], nearest: Vec::new(), fixes, read: None }
    }

    /// The legal spellings of [`nearest`](Self::nearest): with the free modifiers that were written where a form takes them.
    pub fn spellings(&self) -> Vec<Cow<'static, str>> {
        let free = self.read.as_ref().map_or(Free::NONE, |(instruction, values)| Free::of(*instruction, values));
        let mut spellings = Vec::new();
        for spelling in self.nearest.iter().map(|form| spelt(*form, &free)) {
            if !spellings.contains(&spelling) {
                spellings.push(spelling);
            }
        }
        spellings
    }

    /// One diagnostic for all reasons: the first, the others in its note, the nearest forms in its help.
    pub fn into_diagnostic(self) -> Diagnostic {
        let near = self.spellings();
        let mut reasons = self.reasons.into_iter();
        let mut first =
            reasons.next().unwrap_or_else(|| Diagnostic::error(Code::Syntax, 0..0, "this is not a mnemonic"));
        first.fixes = self.fixes;
        for other in reasons {
            let note = first.note.get_or_insert_default();
            if !note.is_empty() {
                note.push_str("; ");
            }
            note.push_str(&other.message);
        }
        if first.help.is_none() && !near.is_empty() {
            first.help = Some(format!("legal and near: {}", list(near.iter().map(|name| &**name), "")));
        }
        first
    }
}

/// Returns true if a mnemonic matches the pattern, in which `*` matches any text.
///
/// ```
/// use ptx_isa::text::mnemonic::matches;
///
/// assert!(matches("setp.*.f16", "setp.lt.and.f16") && !matches("setp.*.f16", "setp.lt.f16x2"));
/// ```
pub fn matches(pattern: &str, mnemonic: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else { return pattern == mnemonic };
    let Some(mut rest) = mnemonic.strip_prefix(head) else { return false };
    let mut parts = tail.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        // The first place is as good as any: what follows only needs room behind it.
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

/// Finds the form that a mnemonic means, its modifiers in any order the assembler takes.
///
/// # Errors
///
/// All that is wrong with it. The spans are within `mnemonic`.
pub fn resolve(table: &'static Table, mnemonic: &str) -> Result<Resolved, Refusal> {
    let mut cursor = Cursor::new(mnemonic);
    cursor.skip_blanks();
    let found = read(table, &mut cursor, Depth::Reasons);
    cursor.skip_blanks();
    if found.is_ok() && !cursor.at_end() {
        return Err(Refusal::of(Diagnostic::error(Code::Syntax, cursor.token(), "this is not part of a mnemonic")));
    }
    found
}

/// The form that a mnemonic means, its modifiers in any order the assembler takes; `None` where it means none, without the reason
/// that takes [`resolve`] most of its time.
pub fn form(table: &'static Table, mnemonic: &str) -> Option<FormInfo> {
    let mut cursor = Cursor::new(mnemonic);
    cursor.skip_blanks();
    let found = read(table, &mut cursor, Depth::Verdict).ok()?;
    cursor.skip_blanks();
    cursor.at_end().then_some(found.form)
}

/// The instruction that a mnemonic names, whether it means a form or not; `None` if the table has none.
pub fn instruction(table: &'static Table, mnemonic: &str) -> Option<InstructionInfo> {
    let mut cursor = Cursor::new(mnemonic);
    cursor.skip_blanks();
    if cursor.at_word() { table.instruction_of(cursor.dotted_word()) } else { None }
}

/// Returns the range of a statement's mnemonic, after the guard; `None` if a word is missing.
pub fn place(text: &str) -> Option<Range<usize>> {
    let mut cursor = Cursor::new(text);
    cursor.skip_blanks();
    if cursor.eat(b'@') {
        cursor.skip_blanks();
        cursor.eat(b'!');
        cursor.skip_blanks();
        if !cursor.at_word() {
            return None;
        }
        cursor.word();
        cursor.skip_blanks();
    }
    let start = cursor.at();
    if !cursor.at_word() {
        return None;
    }
    cursor.dotted_word();
    let end = cursor.at();
    // Blanks are allowed before modifiers.
    Some(start..tokens(&mut cursor).map_or(end, |_| cursor.at()))
}

/// How much is said of a mnemonic that means no form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Depth {
    /// That it is refused.
    Verdict,
    /// Why, and what may be meant, which takes a hundred times as long.
    Reasons,
}

/// Reads a mnemonic at the cursor and moves to its end. The cursor must not be at a blank.
pub(crate) fn read(table: &'static Table, cursor: &mut Cursor<'_>, depth: Depth) -> Result<Resolved, Refusal> {
    if !cursor.at_word() {
        return Err(Refusal::of(Diagnostic::error(Code::Syntax, cursor.token(), "an opcode is expected here")));
    }
    let start = cursor.at();
    let mut whole = *cursor;
    let Some(instruction) = table.instruction_of(whole.dotted_word()) else {
        let opcode = cursor.word();
        let span = start..cursor.at();
        if depth == Depth::Verdict {
            return Err(Refusal::of(not_in_table(opcode, span)));
        }
        let behind = tokens(&mut cursor.clone()).map_or_else(|_| Vec::new(), |(tokens, _)| tokens);
        let reason =
            unknown_member(table, opcode, &span, &behind).unwrap_or_else(|| unknown_opcode(table, opcode, span));
        return Err(Refusal::of(reason));
    };
    let opcode_span = start..start + instruction.opcode.len();
    cursor.seek(opcode_span.end);
    let (tokens, blanks) = tokens(cursor).map_err(Refusal::of)?;
    let speller = Speller { table, instruction, opcode: opcode_span };
    let legal = if speller.has(&tokens) { speller.legal(&tokens) } else { None };
    match legal {
        Some((form, free)) => {
            let canonical = form.mnemonic_with(&free);
            let modifiers = canonical[instruction.opcode.len()..].split('.').skip(1);
            let reordered = !modifiers.eq(tokens.iter().map(|token| token.text));
            let swapped = || if reordered { speller.swapped(&canonical, &tokens) } else { None };
            let torn_off = speller.torn_off(form, &tokens);
            // The other way round may be meant.
            let safe = torn_off.is_some();
            if let Some(reason) = torn_off.or_else(swapped) {
                let read = Some((instruction, form.values_with(&free)));
                let written = start..tokens.last().map_or(cursor.at(), |token| token.span.end);
                let fixes = vec![Fix { safe, ..Fix::new(written, &*canonical) }];
                return Err(Refusal { reasons: vec![reason], nearest: vec![form], fixes, read });
            }
            Ok(Resolved { form, free, reordered, blanks })
        }
        None if depth == Depth::Verdict => {
            let whole = start..tokens.last().map_or(cursor.at(), |token| token.span.end);
            Err(Refusal::of(Diagnostic::error(Code::IllegalModifier, whole, "this mnemonic means no instruction")))
        }
        None => Err(speller.refusal(&tokens)),
    }
}

fn not_in_table(opcode: &str, span: Range<usize>) -> Diagnostic {
    Diagnostic::error(Code::UnknownOpcode, span, format!("`{opcode}` is not an instruction"))
}

fn unknown_opcode(table: &'static Table, opcode: &str, span: Range<usize>) -> Diagnostic {
    let opcodes = table.instructions().map(|instruction| instruction.data().opcode);
    alike::suggest(not_in_table(opcode, span), opcode, "", opcodes)
}

/// An opcode whose first word some opcodes have, and whose next ones none has: `cp.commit_group`. Those that share most words
/// with it may be meant.
fn unknown_member(
    table: &'static Table,
    family: &str,
    span: &Range<usize>,
    behind: &[Token<'_>],
) -> Option<Diagnostic> {
    let words = |opcode: &'static str| opcode.strip_prefix(family)?.strip_prefix('.').map(|rest| rest.split('.'));
    let shared = |word: &'static str| behind.iter().position(|token| closest(token.text, [word].into_iter()).is_some());
    let mut members: Vec<(usize, usize, &'static str)> = Vec::new();
    for opcode in table.instructions().map(|instruction| instruction.data().opcode) {
        let Some(words) = words(opcode) else { continue };
        let (known, other): (Vec<_>, Vec<_>) = words.partition(|word| shared(word).is_some());
        members.push((usize::MAX - known.len(), other.len(), opcode));
    }
    members.sort_unstable();
    let &(shares, ..) = members.first()?;
    members.retain(|member| member.0 == shares);
    let written = behind.iter().fold(family.to_owned(), |name, token| name + "." + token.text);
    let whole = span.start..behind.last().map_or(span.end, |token| token.span.end);
    let message = format!("`{written}` is not an instruction of the family `{family}`");
    let nearest = list(members.iter().take(NEAREST).map(|member| member.2), "");
    let mut diagnostic = Diagnostic::error(Code::UnknownOpcode, whole.clone(), message);
    diagnostic = diagnostic.with_help(format!("the nearest instructions are {nearest}"));
    for (.., opcode) in members {
        let own: Vec<usize> = words(opcode).into_iter().flatten().filter_map(shared).collect();
        let left = behind.iter().enumerate().filter(|(index, _)| !own.contains(index));
        let meant = left.fold(opcode.to_owned(), |name, (_, token)| name + "." + token.text);
        if resolve(table, &meant).is_ok() {
            diagnostic = diagnostic.with_fix(whole.clone(), meant);
        }
    }
    Some(diagnostic)
}

/// A modifier as it is written.
struct Token<'a> {
    /// The spelling without the dot.
    text: &'a str,
    /// Span without the dot.
    span: Range<usize>,
}

/// Twice the most modifiers of an instruction. A longer mnemonic is one error, whatever its modifiers are.
const MOST_MODIFIERS: usize = 2 * isa_table::limits::SLOTS;

/// Reads all modifiers that follow; the flag is true if blanks precede one of them.
fn tokens<'a>(cursor: &mut Cursor<'a>) -> Result<(Vec<Token<'a>>, bool), Diagnostic> {
    let mut tokens = Vec::new();
    let mut blanks = false;
    loop {
        let end = cursor.at();
        cursor.skip_blanks();
        if !cursor.at_modifier() || cursor.at() > end && cursor.at_float() {
            if cursor.peek() == b'.' && !cursor.peek_at(1).is_ascii_digit() {
                let dot = cursor.at()..cursor.at() + 1;
                return Err(Diagnostic::error(Code::Syntax, dot, "a modifier is expected right behind the dot"));
            }
            cursor.seek(end);
            return Ok((tokens, blanks));
        }
        blanks |= cursor.at() > end;
        let start = cursor.at() + 1;
        let text = cursor.dot_word();
        let span = start..cursor.at();
        if tokens.len() == MOST_MODIFIERS {
            let message = format!("no instruction has more than {MOST_MODIFIERS} modifiers");
            return Err(Diagnostic::error(Code::IllegalModifier, span, message));
        }
        tokens.push(Token { text, span });
    }
}

/// How far the tokens of a mnemonic fill a syntax line.
struct Fit {
    syntax: &'static Syntax,
    /// The member chosen in each slot of the instruction, or [`ABSENT`].
    values: Vec<u8>,
    /// The tokens that found no place, each with the item that refused it, if one did.
    left: Vec<(usize, Option<&'static Item>)>,
    /// The items that may not be left out and are.
    missing: Vec<&'static Item>,
}

impl Fit {
    /// A token that no item takes may be a missing one misspelt: both are one problem.
    fn problems(&self) -> usize {
        let strangers = self.left.iter().filter(|(_, by)| by.is_none()).count();
        self.left.len() + self.missing.len() - strangers.min(self.missing.len())
    }
}

/// Members that an item accepts when tokens are assigned to it.
#[derive(Clone, Copy, PartialEq)]
enum Members {
    /// The members that the item has in its syntax line.
    Line,
    /// The members that any syntax line allows in the item's slot.
    Slot,
}

struct Speller {
    table: &'static Table,
    instruction: InstructionInfo,
    opcode: Range<usize>,
}

impl Speller {
    /// Returns true if any instruction has a modifier with this spelling.
    fn is_known(&self, text: &str) -> bool {
        let slots = self.table.instructions().flat_map(|instruction| instruction.data().slots);
        slots.flat_map(|slot| slot.members).any(|member| *member == text)
    }

    fn slot(&self, item: &Item) -> &'static Slot {
        &self.instruction.data().slots[usize::from(item.slot)]
    }

    fn names(&self, slot: &'static Slot, members: u64) -> impl Iterator<Item = &'static str> + use<> {
        let own = slot.members.iter().enumerate().filter(move |(index, _)| members >> index & 1 == 1);
        own.map(|(_, member)| *member)
    }

    fn is_type(&self, text: &str) -> bool {
        self.table.types.iter().any(|ty| ty.name == text)
    }

    /// Which member of an item's slot a spelling is.
    fn member(&self, item: &Item, text: &str, members: Members) -> Option<u8> {
        let index = self.slot(item).members.iter().position(|member| *member == text)?;
        (members == Members::Slot || item.members >> index & 1 == 1).then_some(index as u8)
    }

    /// Assigns tokens to the items of a syntax line. Types must be in order; other modifiers may be in any order.
    fn fit(&self, syntax: &'static Syntax, tokens: &[Token<'_>], members: Members) -> Fit {
        let mut values = vec![ABSENT; self.instruction.slots.len()];
        let mut left = Vec::new();
        // Other modifiers may be words that are types elsewhere.
        let types = |item: &&'static Item| {
            let slot = self.slot(item);
            slot.types || slot.members.iter().any(|member| self.is_type(member))
        };
        let (typed, others): (Vec<&'static Item>, Vec<&'static Item>) = syntax.items.iter().partition(types);
        let counted = tokens.iter().filter(|token| self.is_type(token.text)).count() == typed.len();
        let mut next = 0;
        for (index, token) in tokens.iter().enumerate() {
            if !self.is_type(token.text) {
                let free = |item: &&'static Item| values[usize::from(item.slot)] == ABSENT;
                let takes =
                    |item: &'static Item, members| self.member(item, token.text, members).map(|member| (item, member));
                let place = others.iter().copied().filter(free).find_map(|item| takes(item, members));
                let refused = others.iter().copied().filter(free).find_map(|item| takes(item, Members::Slot));
                match place {
                    Some((item, member)) => values[usize::from(item.slot)] = member,
                    None => left.push((index, refused.map(|(item, _)| item))),
                }
                continue;
            }
            // Equal numbers of types and items correspond one to one; otherwise optional items may be skipped.
            let takes = |item: &Item| self.member(item, token.text, members);
            while !counted && typed.get(next).is_some_and(|item| item.optional && takes(item).is_none()) {
                next += 1;
            }
            match typed.get(next).map(|item| (item, takes(item))) {
                Some((item, Some(member))) => {
                    values[usize::from(item.slot)] = member;
                    next += 1;
                }
                Some((item, None)) => {
                    left.push((index, Some(*item)));
                    next += usize::from(counted);
                }
                None => left.push((index, None)),
            }
        }
        let refused = |item: &Item| left.iter().any(|(_, by)| by.is_some_and(|by| by.slot == item.slot));
        let absent = |item: &&Item| !item.optional && values[usize::from(item.slot)] == ABSENT && !refused(item);
        let missing = syntax.items.iter().filter(absent).collect();
        Fit { syntax, values, left, missing }
    }

    /// The form that the tokens mean, with those that are free, if they mean one.
    fn legal(&self, tokens: &[Token<'_>]) -> Option<(FormInfo, Free)> {
        self.instruction.syntaxes().iter().find_map(|syntax| {
            let fit = self.fit(syntax, tokens, Members::Line);
            if fit.problems() > 0 {
                return None;
            }
            let form = self.table.form(&self.instruction.spell(syntax, &fit.values))?;
            let free = Free::of(self.instruction, &fit.values);
            form.shapes().find(|form| form.takes(&free)).map(|form| (form, free))
        })
    }

    /// Returns true if the instruction has all of these modifiers.
    fn has(&self, tokens: &[Token<'_>]) -> bool {
        let slots = self.instruction.data().slots;
        tokens.iter().all(|token| slots.iter().any(|slot| slot.members.contains(&token.text)))
    }

    /// Returns true if a mnemonic of the instruction names a legal form.
    fn takes(&self, mnemonic: &str) -> bool {
        let mut cursor = Cursor::new(mnemonic);
        cursor.seek(self.instruction.opcode.len());
        tokens(&mut cursor).is_ok_and(|(tokens, _)| self.legal(&tokens).is_some())
    }

    /// Returns a diagnostic if a modifier that must immediately follow the opcode is elsewhere.
    fn torn_off(&self, form: FormInfo, tokens: &[Token<'_>]) -> Option<Diagnostic> {
        let own = form.mnemonic()[self.instruction.opcode.len()..].split('.').nth(1)?;
        let slots = self.instruction.data().slots.iter().filter(|slot| slot.of_opcode);
        let belongs = slots.flat_map(|slot| slot.members).any(|member| *member == own);
        let apart = |token: &&Token<'_>| token.span.start != self.opcode.end + 1;
        let token = tokens.iter().find(|token| token.text == own).filter(apart)?;
        if !belongs {
            return None;
        }
        let opcode = self.instruction.opcode;
        let message = format!("`.{own}` belongs to `{opcode}` and must follow it directly");
        Some(Diagnostic::error(Code::IllegalModifier, token.span.clone(), message))
    }

    /// Returns a diagnostic if the state spaces of an instruction that names a destination and a source space are
    /// swapped.
    fn swapped(&self, canonical: &str, tokens: &[Token<'_>]) -> Option<Diagnostic> {
        let is_space = |text: &str| self.table.space(text).is_some();
        let mut written = tokens.iter().filter(|token| is_space(token.text));
        let (first, second) = (written.next()?, written.next()?);
        let to = canonical[self.instruction.opcode.len()..].split('.').find(|word| is_space(word))?;
        if first.text == to {
            return None;
        }
        let message = format!("`.{}` must precede `.{}`, as in `{canonical}`", second.text, first.text);
        Some(Diagnostic::error(Code::ModifierOrder, first.span.clone(), message))
    }

    fn best(&self, tokens: &[Token<'_>], members: Members) -> Option<Fit> {
        let fits = self.instruction.syntaxes().iter().map(|syntax| self.fit(syntax, tokens, members));
        // If two lines fit equally well, prefer the line that accepts the types.
        let types = |fit: &Fit| fit.left.iter().filter(|&&(index, _)| self.is_type(tokens[index].text)).count();
        fits.min_by_key(|fit| (fit.problems(), types(fit)))
    }

    /// Why the tokens mean no form.
    fn refusal(&self, tokens: &[Token<'_>]) -> Refusal {
        let everything = self.opcode.start..tokens.last().map_or(self.opcode.end, |token| token.span.end);
        let Some(loose) = self.best(tokens, Members::Slot) else {
            let message = format!("`{}` has no syntax in the table", self.instruction.opcode);
            return Refusal::of(Diagnostic::error(Code::Syntax, everything, message));
        };
        let mut wanted = loose.values.clone();
        let mut suspects = Vec::new();
        let mut reasons = self.misplaced(&loose, tokens, &mut wanted);
        suspects.extend(loose.missing.iter().map(|item| usize::from(item.slot)));
        suspects.extend(loose.left.iter().filter_map(|(_, by)| by.map(|item| usize::from(item.slot))));
        if reasons.is_empty() {
            reasons = self.broken_rules(&loose, tokens, &mut suspects);
        }
        if reasons.is_empty()
            && let Some(fit) = self.best(tokens, Members::Line)
        {
            reasons = self.misplaced(&fit, tokens, &mut wanted);
            suspects.extend(fit.missing.iter().map(|item| usize::from(item.slot)));
        }
        if reasons.is_empty() {
            // Something may be left out that is needed with these.
            suspects.extend((0..wanted.len()).filter(|slot| wanted[*slot] == ABSENT));
            let message = "no syntax line has these modifiers together";
            reasons.push(Diagnostic::error(Code::IllegalModifier, everything.clone(), message));
        }
        let nearest = self.nearest(&wanted, &suspects, |_| true);
        // Keep the free modifiers if the form accepts them.
        let free = Free::of(self.instruction, &wanted);
        let legal = nearest.iter().map(|form| spelt(*form, &free).into_owned()).filter(|mnemonic| self.takes(mnemonic));
        // A misspelling is likelier than another modifier.
        let meant = self.respelt(&loose, tokens).map(|(form, free)| form.mnemonic_with(&free));
        let mut mnemonics: Vec<String> = Vec::new();
        meant.into_iter().chain(legal).for_each(|mnemonic| {
            if !mnemonics.contains(&mnemonic) {
                mnemonics.push(mnemonic);
            }
        });
        let fixes = mnemonics.into_iter().map(|mnemonic| Fix::new(everything.clone(), mnemonic)).collect();
        Refusal { reasons, nearest, fixes, read: Some((self.instruction, wanted)) }
    }

    /// Tokens without a place and places without a token. A misspelt token's likely meaning goes into `wanted`.
    fn misplaced(&self, fit: &Fit, tokens: &[Token<'_>], wanted: &mut [u8]) -> Vec<Diagnostic> {
        let mut missing = fit.missing.clone();
        let mut reasons = Vec::new();
        for &(index, by) in &fit.left {
            let token = &tokens[index];
            reasons.push(match by {
                Some(item) if self.is_known(token.text) => {
                    let slot = usize::from(item.slot);
                    let names = || self.names(self.slot(item), self.all_members(item));
                    let near = self.alike(token.text, names()).or_else(|| closest(token.text, names()));
                    let member =
                        near.and_then(|near| self.slot(item).members.iter().position(|member| *member == near));
                    if let (ABSENT, Some(member)) = (wanted[slot], member) {
                        wanted[slot] = member as u8;
                    }
                    self.refused(fit.syntax, item, token)
                }
                _ => self.homeless(fit, token, &tokens[..index], &mut missing, wanted),
            });
        }
        for item in missing {
            let slot = self.slot(item);
            let members = if tokens.is_empty() { self.all_members(item) } else { item.members };
            let opcode = self.instruction.opcode;
            let names: Vec<&str> = self.names(slot, members).collect();
            let (message, help) = match *names {
                [only] => (format!("`{opcode}` needs `.{only}`"), format!("write `.{only}`")),
                _ => {
                    let names = list(self.names(slot, members), ".");
                    (format!("`{opcode}` needs a `.{}`", slot.name), format!("`.{}` is one of {names}", slot.name))
                }
            };
            let end = tokens.last().map_or(self.opcode.end, |token| token.span.end);
            reasons.push(Diagnostic::error(Code::MissingModifier, self.opcode.start..end, message).with_help(help));
        }
        reasons
    }

    /// The members that some syntax line takes in the slot of an item.
    fn all_members(&self, item: &Item) -> u64 {
        let lines = self.instruction.syntaxes().iter().flat_map(|syntax| syntax.items);
        lines.filter(|other| other.slot == item.slot).fold(item.members, |members, other| members | other.members)
    }

    /// Returns the instruction's modifier whose spelling is closest to a token; those of the syntax line are tried
    /// first.
    fn near(&self, fit: &Fit, token: &Token<'_>) -> Option<&'static str> {
        let line = || fit.syntax.items.iter().flat_map(|item| self.names(self.slot(item), item.members));
        let all = || self.instruction.data().slots.iter().flat_map(|slot| slot.members.iter().copied());
        let same = || line().chain(all()).find(|name| name.eq_ignore_ascii_case(token.text));
        let alike = || self.alike(token.text, line()).or_else(|| self.alike(token.text, all()));
        same().or_else(alike).or_else(|| closest(token.text, line())).or_else(|| closest(token.text, all()))
    }

    /// A modifier that the instruction has, in a place where this line does not take it.
    fn refused(&self, syntax: &Syntax, item: &Item, token: &Token<'_>) -> Diagnostic {
        let (slot, all) = (self.slot(item), self.all_members(item));
        // If another syntax line accepts the modifier, the members of this line matter.
        let elsewhere = self.names(slot, all).any(|name| name == token.text);
        let all = if elsewhere { item.members } else { all };
        let of = if all == item.members { syntax.text } else { self.instruction.opcode };
        let message = format!("`.{}` is not a valid `.{}` of `{of}`", token.text, slot.name);
        let help = format!("`.{}` is one of {}", slot.name, list(self.names(slot, all), "."));
        Diagnostic::error(Code::IllegalModifier, token.span.clone(), message).with_help(help)
    }

    /// A token that no item of the line takes: a second one, a foreign one, or a misspelt one.
    fn homeless(
        &self,
        fit: &Fit,
        token: &Token<'_>,
        before: &[Token<'_>],
        missing: &mut Vec<&Item>,
        wanted: &mut [u8],
    ) -> Diagnostic {
        let opcode = self.instruction.opcode;
        let error = |code, message: String| Diagnostic::error(code, token.span.clone(), message);
        let taken = fit.syntax.items.iter().find(|item| self.member(item, token.text, Members::Line).is_some());
        if let Some(item) = taken {
            let slot = self.slot(item);
            let first = before.iter().rev().find(|first| self.member(item, first.text, Members::Slot).is_some());
            let first = first.map_or("", |first| first.text);
            let message = if first == token.text {
                format!("duplicate modifier `.{first}`")
            } else {
                format!("`.{}` is a second `.{}`: `.{first}` is one already", token.text, slot.name)
            };
            return error(Code::DuplicateModifier, message);
        }
        if self.instruction.slots.iter().any(|slot| slot.members.contains(&token.text)) {
            let message = format!("`.{}` has no place in `{}`", token.text, fit.syntax.text);
            return error(Code::IllegalModifier, message);
        }
        let known = self.is_known(token.text) || self.is_type(token.text);
        let code = if known { Code::IllegalModifier } else { Code::UnknownModifier };
        let message = format!("`{opcode}` has no modifier `.{}`", token.text);
        let Some(near) = self.near(fit, token) else { return error(code, message) };
        let slots = self.instruction.data().slots;
        // A misspelt modifier is not missing as well.
        let member = |slot: &Slot| slot.members.iter().position(|member| *member == near);
        let mut places = slots.iter().enumerate().filter(|(slot, _)| wanted[*slot] == ABSENT);
        if let Some((slot, member)) = places.find_map(|(slot, names)| Some((slot, member(names)?))) {
            missing.retain(|absent| usize::from(absent.slot) != slot);
            wanted[slot] = member as u8;
        }
        error(code, message).with_help(format!("did you mean `.{near}`?")).with_fix(token.span.clone(), near)
    }

    /// The rules of the spec that a full set of modifiers breaks. The slots they are about go into `suspects`.
    fn broken_rules(&self, fit: &Fit, tokens: &[Token<'_>], suspects: &mut Vec<usize>) -> Vec<Diagnostic> {
        let broken = self.instruction.data().rules.iter().filter(|rule| rule.refuses(&fit.values));
        let mut reasons: Vec<Diagnostic> = Vec::new();
        for rule in broken {
            if reasons.iter().any(|reason| reason.message == rule.reason) {
                continue;
            }
            let token_of = |forbidden: &Forbidden| {
                let slot = usize::from(forbidden.slot);
                let member = self.instruction.slots[slot].members.get(usize::from(fit.values[slot]))?;
                let token = tokens.iter().find(|token| token.text == *member)?;
                Some((slot, token.span.clone()))
            };
            let (slot, span) = rule.forbids.iter().find_map(token_of).unwrap_or((usize::MAX, self.opcode.clone()));
            suspects.push(slot);
            reasons.push(Diagnostic::error(Code::IllegalModifier, span, rule.reason));
        }
        reasons
    }
}

/// A form with these free modifiers and those that it needs beside them, if it takes them; else its canonical spelling.
fn spelt(form: FormInfo, free: &Free) -> Cow<'static, str> {
    let kept = if *free == Free::NONE { None } else { spelling::completed(form, free) };
    kept.map_or_else(|| spelling::mnemonic(form), |kept| form.mnemonic_with(&kept).into())
}

/// Names in backquotes, parted by commas, at most ten of them.
fn list<'n>(names: impl Iterator<Item = &'n str>, prefix: &str) -> String {
    let mut text = String::new();
    for (index, name) in names.enumerate() {
        if index == 10 {
            text.push_str(", …");
            break;
        }
        text.push_str(if index > 0 { ", " } else { "" });
        text.push_str(&format!("`{prefix}{name}`"));
    }
    text
}
