//! The shape of an instruction table: what the generated statics hold and the text layer reads.
//!
//! This module knows no instruction, no type by name and no version: every value here is written by the generator
//! from a spec. A table is one static value of type [`Table`]; all else hangs from it.
//!
//! ```
//! let table = &ptx_isa::TABLE;
//! let form = table.form("selp.b32").expect("selp.b32 is in the table");
//! assert_eq!(form.operands[0].name, "d");
//! assert_eq!(table.types[form.operands[0].ty.index()].bits, 32);
//! ```

use core::fmt;

use crate::hash::{Key, bucket, place};
use crate::simd::Kernel;
use crate::target::{Target, Version};

/// Index of a type in [`Table::types`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub u8);

impl TypeId {
    /// The index into [`Table::types`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Index of a modifier's spelling in [`Table::modifiers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModifierId(pub u16);

/// A whole instruction table, as one spec describes it.
#[derive(Debug)]
pub struct Table {
    /// Every type an operand or a register can have; indexed by [`TypeId`].
    pub types: &'static [TypeInfo],
    /// Every PTX version the assembler knows, ascending.
    pub versions: &'static [Version],
    /// Every target, ascending by number, then by suffix.
    pub targets: &'static [TargetInfo],
    /// Every spelling of a modifier, without its dot, sorted; indexed by [`ModifierId`].
    pub modifiers: &'static [&'static str],
    /// One per opcode, sorted by opcode.
    pub instructions: &'static [Instruction],
    /// Every legal form, dense; the index is the form's id.
    pub forms: &'static [FormInfo],
    /// The perfect hash from mnemonics to forms.
    pub mnemonics: Mnemonics,
    /// What the assembler takes in any statement beyond the manual.
    pub lenient: Lenient,
    /// Where this table does not follow the assembler's verdict.
    pub slips: &'static [Slip],
}

/// Statements on which the assembler's verdict and this table's differ on purpose.
#[derive(Debug)]
pub struct Slip {
    /// What the assembler does.
    pub note: &'static str,
    /// Whether it takes the statement, which this table refuses; else it is the other way round.
    pub taken: bool,
    /// The [`Code`](crate::diagnostic::Code) of this table's refusal, in kebab case; empty where the table takes it.
    pub code: &'static str,
    /// What such statements look like without blanks and comments: `*` stands for any text.
    pub patterns: &'static [&'static str],
}

/// A type of operands and registers.
#[derive(Debug)]
pub struct TypeInfo {
    /// The name without its dot: `u32`.
    pub name: &'static str,
    /// How its bits are read.
    pub kind: Kind,
    /// Width in bits of the whole value.
    pub bits: u16,
    /// Bits of a float's exponent; 0 for types that are no floats.
    pub exponent: u8,
    /// Lanes of a packed type; 1 for the others.
    pub lanes: u8,
    /// The type of one lane; itself for types that are not packed.
    pub lane: TypeId,
    /// The declared register types that an operand of this type may have: bit `i` is `TypeId(i)`.
    /// Empty for types that no register has (they exist inside semantics only).
    pub registers: u64,
    /// The constants that an operand of this type takes.
    pub constants: Constants,
    /// What the type is, in words.
    pub description: &'static str,
}

/// How the bits of a type are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A truth value.
    Predicate,
    /// Uninterpreted bits.
    Bits,
    /// An unsigned integer.
    Unsigned,
    /// A two's complement integer.
    Signed,
    /// A float.
    Float,
    /// Several lanes of another type.
    Packed,
}

/// The constants that an operand of a type takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Constants {
    /// Integer expressions, truncated to the type's width.
    pub integer: bool,
    /// Float expressions: `1.0`, `0d` and sixteen hex digits, and what is computed from such.
    pub float: bool,
    /// The bits of a single-precision float, spelt `0f` and eight hex digits.
    pub single: bool,
}

/// A target and the first PTX version that knows it.
#[derive(Debug)]
pub struct TargetInfo {
    /// The target.
    pub target: Target,
    /// The first PTX version that knows it.
    pub since: Version,
}

/// Everything the spec says of one opcode that does not depend on the form.
#[derive(Debug)]
pub struct Instruction {
    /// The opcode as PTX spells it.
    pub opcode: &'static str,
    /// The modifier slots over all syntax lines, in the order of the first line that has each.
    pub slots: &'static [Slot],
    /// The syntax lines of all entries of this opcode, in the spec's order.
    pub syntaxes: &'static [Syntax],
    /// Combinations of modifiers that the spec refuses, each with its reason. Any combination that no syntax line
    /// spells is illegal as well.
    pub rules: &'static [Rule],
    /// The entries of the spec that describe this opcode, in the spec's order.
    pub entries: &'static [Entry],
}

/// One `instruction` item of the spec; an opcode may have several.
#[derive(Debug)]
pub struct Entry {
    /// The manual's section: `9.7.6.1`.
    pub section: &'static str,
    /// One line of what it does.
    pub summary: &'static str,
    /// All of the description, paragraphs parted by blank lines.
    pub description: &'static str,
    /// The spec file and line: `comparison.isa:8`.
    pub source: &'static str,
    /// Where the manual contradicts itself or the machine.
    pub errata: &'static [Erratum],
    /// The examples of the spec, each a statement.
    pub examples: &'static [Example],
}

/// A place where the manual contradicts itself or the machine.
#[derive(Debug)]
pub struct Erratum {
    /// What it concerns.
    pub subject: &'static str,
    /// What the manual says.
    pub manual: &'static str,
    /// What the machine or the assembler does.
    pub machine: &'static str,
}

/// An example of the spec.
#[derive(Debug)]
pub struct Example {
    /// The statement, ending in a semicolon.
    pub text: &'static str,
    /// Whether the assembler refuses it although the manual shows it.
    pub refused: bool,
}

/// A place for a modifier in a mnemonic.
#[derive(Debug)]
pub struct Slot {
    /// The name the spec gives it, without a dot: `CmpOp`, `ftz`, `dtype`.
    pub name: &'static str,
    /// The spellings that any syntax line allows here, in the spec's order. At most 63.
    /// [`FormInfo::values`] and [`Rule::forbids`] index this list.
    pub members: &'static [ModifierId],
}

/// One line of a syntax block.
#[derive(Debug)]
pub struct Syntax {
    /// The modifiers, in the manual's order.
    pub items: &'static [Item],
    /// The line as the spec writes it: `set.CmpOp{.ftz}.dtype.stype d, a, b;`.
    pub text: &'static str,
    /// The index of its entry in [`Instruction::entries`].
    pub entry: u8,
}

/// A modifier of a syntax line.
#[derive(Debug)]
pub struct Item {
    /// Index into [`Instruction::slots`].
    pub slot: u8,
    /// Whether it may be left out.
    pub optional: bool,
    /// The members of the slot that this line allows: bit `i` is `Slot::members[i]`.
    pub members: u64,
}

/// A combination of modifiers that the spec refuses, and why.
#[derive(Debug)]
pub struct Rule {
    /// Refused where all of these hold: the slot's value is in the set (bit `i` is `Slot::members[i]`,
    /// bit 63 is "absent").
    pub forbids: &'static [(u8, u64)],
    /// The reason, as a sentence without a full stop: "`.lo` is for unsigned integers".
    pub reason: &'static str,
}

/// The bit of [`Rule::forbids`] that stands for "absent".
pub const ABSENT_BIT: u64 = 1 << 63;

/// The value in [`FormInfo::values`] that stands for "absent".
pub const ABSENT: u8 = 63;

/// One legal form: an opcode with all its modifiers.
#[derive(Debug)]
pub struct FormInfo {
    /// The canonical mnemonic: `set.lt.and.ftz.u32.f32`.
    pub mnemonic: &'static str,
    /// Index into [`Table::instructions`].
    pub instruction: u16,
    /// Index into [`Instruction::syntaxes`].
    pub syntax: u8,
    /// The member chosen in each slot of the instruction, or [`ABSENT`].
    pub values: &'static [u8],
    /// The operands in order of writing, types resolved.
    pub operands: &'static [Operand],
    /// What the manual asks for.
    pub floor: Floor,
    /// Where the assembler asks for less: its own floor and the note that says so.
    pub lenient_floor: Option<(Floor, &'static str)>,
    /// Where the manual does not list it and only the assembler takes it: the note that says so.
    pub lenient: Option<&'static str>,
    /// The evaluators, ascending by [`Evaluator::below`]; the last one is for all targets.
    pub evaluators: &'static [Evaluator],
    /// The pseudo-code with this form's modifiers filled in, a line each.
    pub pseudo_code: &'static [&'static str],
}

/// The first PTX version and the lowest target that know a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Floor {
    /// The first PTX version.
    pub ptx: Version,
    /// The lowest SM number: 53 for `sm_53`.
    pub sm: u16,
}

/// How a form is evaluated on a range of targets.
#[derive(Clone, Copy, Debug)]
pub struct Evaluator {
    /// It is for SM numbers below this one; `u16::MAX` means all.
    pub below: u16,
    /// How it is evaluated for one thread.
    pub bits: Bits,
    /// How it is evaluated over the lanes of a warp or of slices; `None` where an operand fits no register.
    pub lanes: Option<LaneEvaluator>,
}

/// How a form is evaluated for one thread, bits in and bits out: see [`FormInfo::evaluate`].
#[derive(Clone, Copy, Debug)]
pub enum Bits {
    /// By a function of all inputs.
    Function(fn(&[u64]) -> [u64; 2]),
    /// By the kernel's test of its sources; the form's truth table makes predicates of the outcomes.
    Truth(TestBits),
    /// By the kernel's test of its source; the form's truth table chooses a constant by the outcome.
    Choose(TestBits),
    /// The same for two lanes of 16 bits.
    ChooseInPairs(TestBits),
}

/// A test of two words: its outcome in bit 0; in bit 1 that for the second lane of a pair, or the complement of the
/// first.
pub type TestBits = fn(u64, u64) -> u32;

/// A kernel and a form's data for it.
#[derive(Clone, Copy, Debug)]
pub struct LaneEvaluator {
    /// What runs.
    pub kernel: &'static Kernel,
    /// The operands that the kernel's sources are, as indices into [`FormInfo::operands`]; `u8::MAX` for none.
    pub sources: [u8; 6],
    /// What becomes of the outcome of a test: for it and a predicate, bit `2 * test + predicate`.
    pub truth: u8,
    /// The constants that are chosen from: the one for true, the one for false.
    pub constants: [u64; 2],
}

/// One operand of a form.
#[derive(Debug)]
pub struct Operand {
    /// Its name in the manual: `d`, `a`, `p`.
    pub name: &'static str,
    /// Its type in this form.
    pub ty: TypeId,
    /// The declared register types it may have: bit `i` is `TypeId(i)`.
    pub registers: u64,
    /// Whether it is written rather than read.
    pub destination: bool,
    /// A second destination behind a bar, as in `p|q`.
    pub second: Option<Second>,
    /// Whether a bar and a sink may stand behind a destination that has no second one, as in `p|_`.
    pub trailing_sink: Permission,
    /// Whether `!` may stand before it.
    pub negation: Permission,
    /// Whether `_` may stand for it.
    pub sink: bool,
    /// Whether a constant may stand for it; which ones, its type says.
    pub constants: bool,
    /// Whether a register or variable plus a constant may stand for it.
    pub sums: bool,
    /// Whether an element of a vector register may stand for it.
    pub elements: bool,
    /// Whether the name of a function may stand for it.
    pub functions: bool,
    /// The lanes or mask that may be written behind it: `a.b3210`.
    pub selector: Option<SelectorInfo>,
    /// Whether it may be left out, and with it all operands behind it. It then evaluates as zero.
    pub optional: bool,
}

/// The second destination of a pair.
#[derive(Debug)]
pub struct Second {
    /// Its name in the manual: `q`.
    pub name: &'static str,
    /// Whether it may be left out.
    pub optional: Permission,
}

/// Whether something may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permission {
    /// It may not.
    No,
    /// It may.
    Yes,
    /// The assembler takes it, the manual does not list it; the note says so.
    Lenient(&'static str),
}

/// The lanes or the mask that may follow an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SelectorInfo {
    /// The slot's name in the manual, without its dot: `asel`.
    pub name: &'static str,
    /// The letter before the digits: `b` or `h`; nothing where the words are listed.
    pub letter: char,
    /// How the digits are read.
    pub kind: SelectorKind,
    /// The value when nothing is written, packed as [`SelectorKind`] says.
    pub default: u32,
    /// Whether it may be left out where all operands are written. What may not be left out, without a note, may stand
    /// only where all operands are written.
    pub omission: Permission,
}

/// How the digits of a selector are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SelectorKind {
    /// As many digits as `lanes`, each below `of`; the last digit is lane 0.
    /// Packed four bits a lane, lane 0 lowest.
    Lanes {
        /// How many lanes are picked.
        lanes: u8,
        /// How many there are to pick from.
        of: u8,
    },
    /// One to `of` digits, strictly falling, each below `of`. Packed as one bit a digit.
    Subset {
        /// How many lanes there are.
        of: u8,
    },
    /// One of these words. Packed as its place; the place after the last means that none is written.
    Listed {
        /// The words without their dots.
        words: &'static [&'static str],
    },
}

/// Notes on what the assembler takes in any statement beyond the manual; `None` where the spec has no such note,
/// and the thing is refused.
#[derive(Debug)]
pub struct Lenient {
    /// Modifiers in another order than the manual's.
    pub modifier_order: Option<&'static str>,
    /// Blanks before a modifier or selector.
    pub blank_before_modifier: Option<&'static str>,
    /// One predicate as both destinations.
    pub repeated_destination: Option<&'static str>,
    /// A constant as a predicate operand.
    pub constant_predicate: Option<&'static str>,
    /// A register or variable plus a constant as a source.
    pub register_plus_constant: Option<&'static str>,
    /// Leading zeros in the number of a register.
    pub leading_zeros: Option<&'static str>,
    /// The name of a function as a source.
    pub function_as_source: Option<&'static str>,
    /// A bar and a sink behind a destination that has no second one.
    pub sink_behind_destination: Option<&'static str>,
}

/// A perfect hash from canonical mnemonics to forms: see [`Table::form`].
#[derive(Debug)]
pub struct Mnemonics {
    /// Factor of each bucket; the length is a power of two.
    pub factors: &'static [u32],
    /// Form id in each place, `u16::MAX` where there is none; the length is a power of two.
    pub places: &'static [u16],
    /// The mnemonic of each form, to be compared word by word.
    pub keys: &'static [MnemonicKey],
}

impl Mnemonics {
    #[inline(always)]
    fn candidate(&self, key: Key) -> usize {
        let hash = key.hash();
        let factor = self.factors[bucket(hash, self.factors.len())];
        usize::from(self.places[place(hash, factor, self.places.len())])
    }
}

/// A mnemonic as three words and its length, alone in its part of a cache line.
#[derive(Debug)]
#[repr(align(32))]
pub struct MnemonicKey(pub [u64; 4]);

impl MnemonicKey {
    #[inline(always)]
    fn is(&self, key: Key) -> bool {
        // Two arrays would be compared in memory, where one of them is not.
        self.0.iter().zip(key.0).all(|(own, other)| *own == other)
    }
}

impl Table {
    /// The form with this canonical mnemonic: modifiers in the manual's order, no blanks.
    pub fn form(&self, mnemonic: &str) -> Option<&'static FormInfo> {
        self.form_index(mnemonic).map(|index| &self.forms[index])
    }

    /// The index in [`Table::forms`] of the form with this canonical mnemonic.
    #[inline(always)]
    pub fn form_index(&self, mnemonic: &str) -> Option<usize> {
        let Some(key) = Key::exact(mnemonic.as_bytes()) else { return self.form_index_of_unusual(mnemonic) };
        let index = self.mnemonics.candidate(key);
        self.mnemonics.keys.get(index)?.is(key).then_some(index)
    }

    /// The same for a mnemonic that is too short or too long for an exact key.
    #[cold]
    fn form_index_of_unusual(&self, mnemonic: &str) -> Option<usize> {
        let index = self.mnemonics.candidate(Key::of(mnemonic.as_bytes()));
        (self.forms.get(index)?.mnemonic == mnemonic).then_some(index)
    }

    /// The index of one of this table's own forms.
    pub fn index_of(&self, form: &FormInfo) -> Option<usize> {
        self.form_index(form.mnemonic).filter(|index| core::ptr::eq(&self.forms[*index], form))
    }

    /// The instruction with this opcode.
    pub fn instruction(&self, opcode: &str) -> Option<&'static Instruction> {
        let index = self.instructions.binary_search_by(|instruction| instruction.opcode.cmp(opcode)).ok()?;
        Some(&self.instructions[index])
    }

    /// The entry of the spec that describes a form.
    pub fn entry(&self, form: &FormInfo) -> &'static Entry {
        let instruction = &self.instructions[form.instruction as usize];
        &instruction.entries[instruction.syntaxes[form.syntax as usize].entry as usize]
    }

    /// The index of the form of an instruction with these members in its slots; [`ABSENT`] leaves a slot out, and
    /// [`FOREIGN`] is a modifier that the slot does not have.
    ///
    /// # Errors
    ///
    /// The rules that refuse the combination.
    pub fn select(&'static self, instruction: usize, values: &[u8]) -> Result<usize, IllegalForm> {
        let mut refusal = IllegalForm { table: self, instruction, values: [ABSENT; MAX_SLOTS] };
        refusal.values[..values.len()].copy_from_slice(values);
        let spelt = self.instructions[instruction].syntaxes.iter().find(|syntax| syntax.spells(values));
        let index = spelt.and_then(|syntax| {
            let mut mnemonic = Spelling::default();
            fmt::Write::write_fmt(&mut mnemonic, format_args!("{}", refusal.in_order_of(syntax))).ok()?;
            self.form_index(mnemonic.as_str())
        });
        index.ok_or(refusal)
    }
}

impl Syntax {
    /// Whether the line has a place for every modifier, and every place that needs a modifier has one.
    pub fn spells(&self, values: &[u8]) -> bool {
        let mut places = 0;
        let fits = self.items.iter().all(|item| {
            places |= 1_u64 << item.slot;
            match values[item.slot as usize] {
                ABSENT => item.optional,
                value => value < ABSENT && item.members >> value & 1 != 0,
            }
        });
        fits && values.iter().enumerate().all(|(slot, value)| *value == ABSENT || places >> slot & 1 != 0)
    }
}

impl Rule {
    /// Whether the rule refuses a combination of modifiers.
    pub fn refuses(&self, values: &[u8]) -> bool {
        self.forbids
            .iter()
            .all(|(slot, set)| values[*slot as usize] <= ABSENT && set >> values[*slot as usize] & 1 != 0)
    }
}

impl Evaluator {
    /// What the form with these operands computes: see [`FormInfo::evaluate`].
    pub(crate) fn evaluate(&self, operands: &[Operand], inputs: &[u64]) -> [u64; 2] {
        let test = match self.bits {
            Bits::Function(function) => return function(inputs),
            Bits::Truth(test) | Bits::Choose(test) | Bits::ChooseInPairs(test) => test,
        };
        let LaneEvaluator { sources, truth, constants, .. } = self.lanes.as_ref().expect("a test is a kernel's");
        let input = |source: u8| match operands.get(..source as usize) {
            Some(before) => inputs[before.iter().filter(|operand| !operand.destination).count()],
            None => 0,
        };
        let outcome = test(input(sources[0]), input(sources[1]));
        let predicate = input(sources[2]) as u32 & 1;
        let combined = |lane: u32| truth >> (2 * (outcome >> lane & 1) + predicate) & 1 != 0;
        let chosen = |lane: u32| constants[usize::from(!combined(lane))];
        match self.bits {
            Bits::Function(_) | Bits::Truth(_) => {
                let both = operands.iter().any(|operand| operand.second.is_some());
                [u64::from(combined(0)), u64::from(both && combined(1))]
            }
            Bits::Choose(_) => [chosen(0), 0],
            Bits::ChooseInPairs(_) => [chosen(0) | chosen(1) << 16, 0],
        }
    }
}

impl FormInfo {
    /// Bits in, bits out: what the form computes on a target.
    ///
    /// `inputs` holds a word for each source operand in order of writing (a predicate in bit 0, with its `!` applied;
    /// packed lanes as in their register), then one for each selector behind an operand, in order of writing, packed
    /// as [`SelectorKind`] says. Bits above an operand's width are ignored. The result holds the destination and, if
    /// there is one, the second destination; else the second word is 0.
    ///
    /// # Panics
    ///
    /// If there are fewer inputs than sources and selectors, or the form has no evaluator.
    pub fn evaluate(&self, sm: u16, inputs: &[u64]) -> [u64; 2] {
        let evaluator = self.evaluators.iter().find(|evaluator| sm < evaluator.below);
        let evaluator = evaluator.or(self.evaluators.last()).expect("this form's entry describes no semantics");
        evaluator.evaluate(self.operands, inputs)
    }

    /// The source operands in order of writing.
    pub fn sources(&self) -> impl Iterator<Item = &'static Operand> + use<> {
        self.operands.iter().filter(|operand| !operand.destination)
    }

    /// The operands with a selector, in order of writing.
    pub fn selectors(&self) -> impl Iterator<Item = &'static SelectorInfo> + use<> {
        self.operands.iter().filter_map(|operand| operand.selector.as_ref())
    }
}

/// In place of a member: a modifier that the slot does not have.
pub const FOREIGN: u8 = ABSENT + 1;

/// The index of a modifier among the members of a slot, or [`FOREIGN`].
pub fn member<T: PartialEq>(members: &[T], value: T) -> u8 {
    members.iter().position(|member| *member == value).map_or(FOREIGN, |index| index as u8)
}

/// The index of a modifier among the members of a slot, [`ABSENT`] or [`FOREIGN`].
pub fn optional_member<T: PartialEq>(members: &[T], value: Option<T>) -> u8 {
    value.map_or(ABSENT, |value| member(members, value))
}

/// No form has this mnemonic. [`text::mnemonic::resolve`](crate::text::mnemonic::resolve) says why, and what is near.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no form of the table has this mnemonic")]
pub struct UnknownMnemonic;

/// An instruction has more slots than any so far; the generator would not emit it.
const MAX_SLOTS: usize = 16;

/// A combination of modifiers that is no form; shown as text it gives the reasons.
#[derive(Clone, Copy)]
pub struct IllegalForm {
    table: &'static Table,
    instruction: usize,
    values: [u8; MAX_SLOTS],
}

impl IllegalForm {
    /// The instruction whose modifiers they are.
    pub fn instruction(&self) -> &'static Instruction {
        &self.table.instructions[self.instruction]
    }

    /// The rules that refuse the combination; none where no syntax line spells it.
    pub fn rules(&self) -> impl Iterator<Item = &'static Rule> {
        self.instruction().rules.iter().filter(|rule| rule.refuses(&self.values))
    }

    fn in_order_of<'a>(&'a self, syntax: &'a Syntax) -> impl fmt::Display + 'a {
        let instruction = self.instruction();
        fmt::from_fn(move |f| {
            f.write_str(instruction.opcode)?;
            for item in syntax.items {
                let value = self.values[item.slot as usize];
                if let Some(member) = instruction.slots[item.slot as usize].members.get(value as usize) {
                    write!(f, ".{}", self.table.modifiers[member.0 as usize])?;
                }
            }
            Ok(())
        })
    }
}

impl fmt::Display for IllegalForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let instruction = self.instruction();
        let mut rules = self.rules().peekable();
        if rules.peek().is_none() {
            write!(f, "no syntax line of `{}` has these modifiers:", instruction.opcode)?;
            return instruction.syntaxes.iter().try_for_each(|syntax| write!(f, " `{}`", syntax.text));
        }
        for (index, rule) in rules.enumerate() {
            write!(f, "{}{}", if index > 0 { "; " } else { "" }, rule.reason)?;
        }
        Ok(())
    }
}

impl fmt::Debug for IllegalForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IllegalForm({self})")
    }
}

impl core::error::Error for IllegalForm {}

/// Room for a mnemonic; a longer one is no form.
struct Spelling {
    bytes: [u8; 64],
    length: usize,
}

impl Default for Spelling {
    fn default() -> Spelling {
        Spelling { bytes: [0; 64], length: 0 }
    }
}

impl Spelling {
    fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[..self.length]).unwrap_or_default()
    }
}

impl fmt::Write for Spelling {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.get_mut(self.length..self.length + text.len()).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.length += text.len();
        Ok(())
    }
}
