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
mod reasons;

pub(crate) use near::{nearest_that, successors};

use alloc::borrow::{Cow, ToOwned};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::alike::{self, CHOICES, closest, closest_all, either};
use super::lexer::Cursor;
use super::spelling;
use crate::diagnostic::{Code, Diagnostic, Fix};
use crate::table::{ABSENT, FormInfo, Free, InstructionInfo, Item, Slot, Syntax, Table};

/// Maximum number of similar forms in a refusal.
const NEAREST: usize = CHOICES;

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
    /// Number of edits at the start of [`fixes`](Self::fixes) that are equally likely.
    pub tied: usize,
}

impl Refusal {
    fn of(reason: Diagnostic) -> Refusal {
        let (fixes, tied) = (reason.fixes.clone(), reason.tied);
        Refusal { reasons: vec![reason], nearest: Vec::new(), fixes, tied, read: None }
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
        narrowed(self.into_wide_diagnostic())
    }

    /// As [`into_diagnostic`](Self::into_diagnostic), with all edits.
    pub(crate) fn into_wide_diagnostic(self) -> Diagnostic {
        let near = self.spellings();
        let mut reasons = self.reasons.into_iter();
        let mut first =
            reasons.next().unwrap_or_else(|| Diagnostic::error(Code::Syntax, 0..0, "this is not a mnemonic"));
        (first.fixes, first.tied) = (self.fixes, self.tied);
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

/// Keeps the likeliest edits of a refused mnemonic, and names those that are equally likely where all of them are kept.
pub(crate) fn narrowed(mut refused: Diagnostic) -> Diagnostic {
    if (2..=CHOICES).contains(&refused.tied) {
        let choices: Vec<&str> = refused.fixes[..refused.tied].iter().map(|fix| &*fix.text).collect();
        refused.help = Some(format!("use {}", either(&choices)));
    }
    // The members of a family are not ranked by their operands.
    if refused.code != Code::UnknownOpcode {
        refused.fixes.truncate(CHOICES);
    }
    refused.tied = refused.tied.min(refused.fixes.len());
    refused
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
        let reason = unknown_member(table, opcode, &span, &behind)
            .unwrap_or_else(|| unknown_opcode(table, opcode, span, &behind));
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
                return Err(Refusal { reasons: vec![reason], nearest: vec![form], fixes, tied: 1, read });
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

fn unknown_opcode(table: &'static Table, opcode: &str, span: Range<usize>, behind: &[Token<'_>]) -> Diagnostic {
    let mut near = closest_all(opcode, table.instructions().map(|instruction| instruction.data().opcode));
    // Of those that are equally close, the ones that have the modifiers.
    let has = |near: &&str| resolve(table, &with_tokens(near, behind.iter())).is_ok();
    if near.len() > 1 && near.iter().any(has) {
        near.retain(has);
    }
    alike::suggest_all(not_in_table(opcode, span), &near, "")
}

/// An opcode with modifiers behind it.
fn with_tokens<'t>(opcode: &str, tokens: impl Iterator<Item = &'t Token<'t>>) -> String {
    tokens.fold(opcode.to_owned(), |name, token| name + "." + token.text)
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
    let written = with_tokens(family, behind.iter());
    let whole = span.start..behind.last().map_or(span.end, |token| token.span.end);
    let message = format!("`{written}` is not an instruction of the family `{family}`");
    let nearest = list(members.iter().take(NEAREST).map(|member| member.2), "");
    let mut diagnostic = Diagnostic::error(Code::UnknownOpcode, whole.clone(), message);
    diagnostic = diagnostic.with_help(format!("the nearest instructions are {nearest}"));
    let mut least = None;
    for (_, other, opcode) in members {
        let own: Vec<usize> = words(opcode).into_iter().flatten().filter_map(shared).collect();
        let left = behind.iter().enumerate().filter(|(index, _)| !own.contains(index));
        let meant = with_tokens(opcode, left.map(|(_, token)| token));
        if resolve(table, &meant).is_ok() {
            diagnostic.tied += usize::from(*least.get_or_insert(other) == other);
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
        self.ty(text).is_some()
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
}

/// A form with these free modifiers and those that it needs beside them, if it takes them; else its canonical spelling.
fn spelt(form: FormInfo, free: &Free) -> Cow<'static, str> {
    let kept = if *free == Free::NONE { None } else { spelling::completions(form, free, 1).pop() };
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
