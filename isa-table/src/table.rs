//! The shape of an instruction table.
//!
//! What grows with forms stands in columns of numbers ([`Forms`]), which index pools that many forms share; what grows
//! with instructions stands in structs. A table may stand on another one: then it holds its own instructions only, and
//! answers for both. Types, versions and targets are the exception: each table lists all it knows, its base's first, so
//! that an index means the same in both.
//!
//! This module knows no instruction, no type by name and no version: every value here is written by the generator from a
//! spec.

mod evaluator;
mod form;
mod least;
mod operands;
mod quality;

use alloc::string::String;
use core::fmt;
use core::ops::Deref;

use crate::constant::{contents, plain};
pub use crate::effect::{Effect, EffectKind, EffectList, Memory, NO_OPERAND, Origin};
#[cfg(feature = "write")]
pub use crate::effect::{EffectBuf, EffectListBuf};
use crate::hash::{self, Key, SHORT};
use crate::limits::SLOTS;
use crate::notation;
pub use crate::notation::Around;
use crate::program::{Operation, Programs, Run};
use crate::selector::{Permission, Selector};
use crate::target::{Families, Floor, NameError, Target, Version};
pub use evaluator::{Evaluator, Outputs};
pub use form::{FormInfo, name_with, name_with_operands};
pub use least::{Least, Requirement};
pub use operands::{Operands, OperandsIter};

/// Index of a type in the types of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub u8);

impl TypeId {
    /// The index into the types of a table.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A set of types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TypeSet(pub u128);

impl TypeSet {
    /// Whether a type is in it.
    #[inline(always)]
    pub const fn has(self, ty: TypeId) -> bool {
        self.0 >> (ty.0 & 127) & 1 != 0
    }

    /// Whether it has no type.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The set with one type more.
    #[must_use]
    pub const fn with(self, ty: TypeId) -> TypeSet {
        TypeSet(self.0 | 1 << ty.0)
    }

    /// Its types, ascending.
    pub fn iter(self) -> impl Iterator<Item = TypeId> {
        (0..128).map(TypeId).filter(move |ty| self.has(*ty))
    }
}

impl FromIterator<TypeId> for TypeSet {
    fn from_iter<I: IntoIterator<Item = TypeId>>(types: I) -> TypeSet {
        types.into_iter().fold(TypeSet::default(), TypeSet::with)
    }
}

/// A whole instruction table, as one spec describes it: data, and what computes.
pub struct Table {
    /// The table that this one stands on.
    pub base: Option<&'static Table>,
    /// What can be read.
    pub data: Data,
    /// What the programs call.
    pub operation: Operation,
    /// The code of each loop at every SIMD level.
    pub loops: &'static [&'static [Run]],
}

impl Deref for Table {
    type Target = Data;

    #[inline(always)]
    fn deref(&self) -> &Data {
        &self.data
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("forms", &self.forms.len()).finish_non_exhaustive()
    }
}

contents! {
    /// What can be read in a table.
    Data, DataBuf {
        /// Every type an operand or a register can have; indexed by [`TypeId`].
        types: &'static [TypeInfo],
        /// Every PTX version the assembler knows, ascending.
        versions: &'static [Version],
        /// Every target, ascending by number, then by suffix.
        targets: &'static [TargetInfo],
        /// The families of targets: the SM numbers of each.
        families: &'static [&'static [u16]],
        /// One for each of this table's own opcodes, sorted by opcode.
        instructions: &'static [Instruction],
        /// The syntax lines of all its instructions.
        syntaxes: &'static [Syntax],
        /// Every legal form of its instructions.
        forms: Forms,
        /// What they compute.
        programs: Programs,
        /// What the assembler takes in any statement beyond the manual: for each [`Lenient`] the note that says so; `None`
        /// where the spec has no such note, and the thing is refused.
        lenient: &'static [Option<&'static str>],
        /// What a thread may read and nothing writes.
        specials: &'static [Special],
        /// Where variables are: all that it knows, its base's first.
        spaces: &'static [Space],
        /// Directives: all that it knows, its base's first.
        directives: &'static [Directive],
        /// What declarations and directives may say from a version and a target on: all that it knows.
        declarations: &'static [Declared],
    }
}

contents! {
    /// A directive, and where it may stand.
    Directive, DirectiveBuf {
        /// The name without its dot: `maxntid`.
        name: &'static str,
        /// Whether it stands outside of functions.
        module: bool,
        /// Whether it stands behind a label in a function's body and lists the labels that an indirect branch may go to.
        branches: bool,
        /// Whether it stands behind a label in a function's body and lists the functions that an indirect call may reach.
        targets: bool,
        /// Whether it stands behind a label in a function's body and declares the results and parameters of an indirect call.
        prototype: bool,
        /// Whether it stands in the head of a kernel.
        entry: bool,
        /// Whether it stands in the head of a function that is no kernel.
        function: bool,
        /// Whether it is an attribute of variables: `.attribute(.managed)`.
        attribute: bool,
        /// Whether it is an option, which stands without its dot behind the target in `.target`.
        option: bool,
        /// How many numbers follow it in a head at least.
        least: u8,
        /// How many numbers follow it in a head at most.
        most: u8,
        /// What does not stand in one head, or one `.target`, with it.
        without: &'static [&'static str],
        /// The version from which on there is no such directive.
        until: Option<Version>,
        /// What it needs.
        floor: Floor,
        /// What it says, in words.
        description: &'static str,
    }

    /// A part of a declaration or of a directive that not every version and target has.
    Declared, DeclaredBuf {
        /// The name: a word with its dot (`.b128`), a string with its quotes (`"frequency"`), or a [`Feature`]'s.
        name: &'static str,
        /// The most of what is counted; 0 for what is not. More needs the next entry of the name.
        most: u64,
        /// What it needs.
        floor: Floor,
        /// What it is, in words.
        description: &'static str,
    }

    /// A state space: where variables are.
    Space, SpaceBuf {
        /// The name without its dot: `global`.
        name: &'static str,
        /// What the memory belongs to; nothing where a space is no memory that threads address.
        memory: Option<Memory>,
        /// Whether generic addresses reach its variables.
        generic: bool,
        /// Whether a constant may be an address in it.
        constants: bool,
        /// Whether it is a type by which variables of another space are declared, and what they hold is not seen:
        /// `.global .texref t;` is in `.texref`.
        opaque: bool,
        /// The option of `.target` without which no variable is in it.
        option: Option<&'static str>,
        /// Whether variables in it may begin with values.
        values: bool,
        /// Whether variables of opaque types are declared in it.
        opaques: bool,
        /// Whether variables in it may be vectors.
        vectors: bool,
        /// The version from which on its variables are declared within functions only.
        inside: Option<Version>,
        /// The version from which on nothing is in it.
        until: Option<Version>,
        /// What it is, in words.
        description: &'static str,
    }

    /// A special register: what a thread may read and nothing writes.
    Special, SpecialBuf {
        /// The name: `%tid`.
        name: &'static str,
        /// How many registers the name stands for, numbered from zero; 0 where it is one without a number.
        count: u8,
        /// Whether it has elements.
        vector: bool,
        /// The types of operands that it may stand for.
        types: TypeSet,
        /// Where its value comes from.
        origin: Origin,
        /// What it needs.
        floor: Floor,
        /// What it holds, in words.
        description: &'static str,
    }

    /// A type of operands and registers.
    TypeInfo, TypeInfoBuf {
        /// The name without its dot: `u32`.
        name: &'static str,
        /// How its bits are read.
        kind: Kind,
        /// Width in bits of the whole value.
        bits: u16,
        /// Bits of a float's exponent; 0 for types that are no floats.
        exponent: u8,
        /// Lanes of a packed type; 1 for the others.
        lanes: u8,
        /// The type of one lane; itself for types that are not packed.
        lane: TypeId,
        /// The declared register types that an operand of this type may have.
        /// Empty for types that no register has (they exist inside semantics only).
        registers: TypeSet,
        /// The constants that an operand of this type takes.
        constants: Constants,
        /// What the type is, in words.
        description: &'static str,
    }

    /// A target and the first PTX version that knows it.
    TargetInfo, TargetInfoBuf {
        /// The target.
        target: Target,
        /// The first PTX version that knows it.
        since: Version,
    }

    /// Everything the spec says of one opcode that does not depend on the form.
    Instruction, InstructionBuf {
        /// The opcode as PTX spells it.
        opcode: &'static str,
        /// The places for modifiers over all syntax lines, in the order of the first line that has each.
        slots: &'static [Slot],
        /// Combinations of modifiers that the spec refuses, each with its reason. Any combination that no syntax line
        /// spells is illegal as well.
        rules: &'static [Rule],
        /// What statements with free modifiers ask for beyond their forms.
        free_floors: &'static [FreeFloor],
        /// The entries of the spec that describe this opcode, in the spec's order.
        entries: &'static [Entry],
        /// The syntax lines of all entries, in the spec's order: the first one's index in the syntax lines of a table.
        first_syntax: u16,
        /// How many lines there are.
        syntaxes: u16,
        /// The first form's index in the table's own columns.
        first_form: u16,
        /// How many forms there are.
        forms: u16,
        /// Where in [`Forms::values`] those of the first form begin.
        first_value: u32,
    }

    /// One `instruction` item of the spec; an opcode may have several.
    Entry, EntryBuf {
        /// The manual's section: `9.7.6.1`.
        section: &'static str,
        /// One line of what it does.
        summary: &'static str,
        /// All of the description, paragraphs parted by blank lines.
        description: &'static str,
        /// The spec file and line: `comparison.isa:8`.
        source: &'static str,
        /// Where the manual contradicts itself or the machine.
        errata: &'static [Erratum],
        /// The examples of the spec, each a statement.
        examples: &'static [Example],
    }

    /// A place where the manual contradicts itself or the machine.
    Erratum, ErratumBuf {
        /// What it concerns.
        subject: &'static str,
        /// What the manual says.
        manual: &'static str,
        /// What the machine or the assembler does.
        machine: &'static str,
    }

    /// An example of the spec.
    Example, ExampleBuf {
        /// The statement, ending in a semicolon.
        text: &'static str,
        /// Whether the assembler refuses it although the manual shows it.
        refused: bool,
    }

    /// A place for a modifier in a mnemonic.
    Slot, SlotBuf {
        /// The name the spec gives it, without a dot: `CmpOp`, `ftz`, `dtype`.
        name: &'static str,
        /// The spellings that any syntax line allows here, without their dots, in the spec's order.
        /// [`FormInfo::values`] and [`Rule::forbids`] index this list.
        members: &'static [&'static str],
        /// Whether they are types.
        types: bool,
        /// Whether they belong to the opcode and stand right behind it, in whatever order the others are.
        of_opcode: bool,
        /// Whether they are free: no part of a form's mnemonic. Rules hold them, and a statement keeps them.
        free: bool,
    }

    /// One line of a syntax block.
    Syntax, SyntaxBuf {
        /// The modifiers, in the manual's order.
        items: &'static [Item],
        /// The line as the spec writes it: `set.CmpOp{.ftz}.dtype.stype d, a, b;`.
        text: &'static str,
        /// Whether it has modifiers that are free.
        free: bool,
        /// The index of its instruction in [`Table::instructions`].
        instruction: u16,
        /// The index of its entry in [`Instruction::entries`].
        entry: u8,
    }

    /// A modifier of a syntax line.
    Item, ItemBuf {
        /// Index into [`Instruction::slots`].
        slot: u8,
        /// Whether it may be left out.
        optional: bool,
        /// The members of the slot that this line allows: bit `i` is `Slot::members[i]`.
        members: u64,
    }

    /// A combination of modifiers that the spec refuses, and why.
    Rule, RuleBuf {
        /// Refused where all of these hold.
        forbids: &'static [Forbidden],
        /// The reason, as a sentence without a full stop: "`.lo` is for unsigned integers".
        reason: &'static str,
        /// The index of its entry, where it is about free modifiers, which no form has: then it decides. Others only tell
        /// why there is no form.
        decides: Option<u8>,
    }

    /// What statements with some free modifiers ask for beyond their forms.
    FreeFloor, FreeFloorBuf {
        /// The index of its entry.
        entry: u8,
        /// It holds where all of these do.
        when: &'static [Forbidden],
        /// What is asked for.
        floor: Floor,
    }

    /// Values of a slot, of which one is there.
    Forbidden, ForbiddenBuf {
        /// Index into [`Instruction::slots`].
        slot: u8,
        /// The values: bit `i` is `Slot::members[i]`, bit [`ABSENT`] is "absent".
        values: u64,
    }

    /// One operand of a form.
    Operand, OperandBuf {
        /// Its name in the manual: `d`, `a`, `p`.
        name: &'static str,
        /// What it is.
        kind: OperandKind,
        /// Its type in this form, or that of an element; for an address a type of registers that hold one.
        ty: TypeId,
        /// The slot of the free modifier that says in which state space an address is.
        space: Option<u8>,
        /// The state spaces that an address, or a variable that stands for a value, may be in, where they are the same in all
        /// statements; any if there are none.
        spaces: &'static [&'static str],
        /// The declared register types it may have.
        registers: TypeSet,
        /// Whether it is written rather than read.
        destination: bool,
        /// A second destination behind a bar, as in `p|q`.
        second: Option<&'static Second>,
        /// Whether a bar and a sink may stand behind a destination that has no second one, as in `p|_`.
        trailing_sink: Permission,
        /// Whether `!` may stand before it.
        negation: Permission,
        /// Whether `_` may stand for it.
        sink: bool,
        /// Whether a constant may stand for it; which ones, its type says.
        constants: bool,
        /// The constants that may stand for it; any if there are none.
        within: &'static [Range],
        /// Whether the manual lists constants for it even if it is a predicate.
        listed_constants: bool,
        /// Whether a register or variable plus a constant may stand for it.
        sums: bool,
        /// Whether an element of a vector register may stand for it.
        elements: bool,
        /// Whether the name of a function may stand for it.
        functions: bool,
        /// Whether a special register may stand for it, if that has the operand's type.
        specials: bool,
        /// Whether the name of a variable may stand for it: its address; then that of a function, too.
        addresses: bool,
        /// Whether its register may be an integer where that of another element of its vector is a float, and the like.
        mixtures: bool,
        /// Whether a register alone may stand for a vector.
        bare: bool,
        /// Whether a vector of two or four may stand for one of fewer elements.
        longer: bool,
        /// The lanes or mask that may be written behind it: `a.b3210`.
        selector: Option<&'static Selector>,
        /// Whether it may be left out, and with it all operands behind it.
        optional: bool,
        /// What it asks for where it is written and that is more than the form does.
        floor: Option<&'static Floor>,
        /// What stands around it in each statement.
        around: Around,
        /// The number of the state that it is: no statement writes it, and a program carries it from one to the next.
        state: Option<u8>,
    }

    /// Constants from the least to the largest; of a float their bits.
    Range, RangeBuf {
        /// The least.
        least: i64,
        /// The largest.
        most: i64,
        /// Of those between, only the multiples of this.
        step: u64,
    }

    /// The second destination of a pair.
    Second, SecondBuf {
        /// Its name in the manual: `q`.
        name: &'static str,
        /// Its type in this form.
        ty: TypeId,
        /// The declared register types it may have.
        registers: TypeSet,
        /// Whether it may be left out.
        optional: Permission,
        /// What it asks for where it is written and that is more than the form does.
        floor: Option<&'static Floor>,
    }

    /// What a form needs.
    Floors, FloorsBuf {
        /// What the manual asks for.
        manual: Floor,
        /// What the assembler asks for, where that is less.
        assembler: Option<Relaxed>,
    }

    /// A floor of the assembler's that is lower than the manual's.
    Relaxed, RelaxedBuf {
        /// What the assembler asks for.
        floor: Floor,
        /// The note that says so.
        note: &'static str,
    }

    /// How far a machine's result may be from the exact one.
    Bound, BoundBuf {
        /// What is measured.
        measure: Measure,
        /// How much of it: `2`, `2^-22.5`.
        value: &'static str,
        /// The same as the bits of a double.
        amount: u64,
    }

    /// A form that machines compute approximately.
    Bounded, BoundedBuf {
        /// Its index.
        form: u16,
        /// How far its result may be from the exact one.
        bound: Bound,
    }

    /// The operands of a form, and its states: indices into [`Forms::all_operands`].
    OperandList, OperandListBuf {
        /// Operands in order of writing.
        operands: &'static [u16],
        /// What is read and written of a thread's state beside them.
        states: &'static [u16],
        /// Whether one of the operands, or a second destination, has a floor of its own.
        floors: bool,
    }

    /// The forms of a table, in columns: a form is a number, the index of each.
    Forms, FormsBuf {
        /// The mnemonics, filled up with zeros; see [`LONG`] for those that are longer.
        names: &'static [Name],
        /// Mnemonics that are longer than a [`Name`].
        long_names: &'static [&'static str],
        /// The index of each one's syntax line in the syntax lines of a table.
        syntax: &'static [u16],
        /// The members chosen in the slots of its instruction, or [`ABSENT`]; those of one form after the other's.
        values: &'static [u8],
        /// Which of [`Forms::operand_lists`] are its operands.
        operands: &'static [u16],
        /// Which of [`Forms::floor_list`] are its floors.
        floors: &'static [u16],
        /// Which of [`Forms::note_list`] says that only the assembler takes it; 0 where the manual lists it, too.
        notes: &'static [u16],
        /// Which of [`Forms::effect_lists`] are its effects.
        effects: &'static [u16],
        /// Where in [`Programs::evaluations`] its evaluations begin; [`NO_EVALUATION`] where it has none.
        evaluations: &'static [u32],
        /// The operands that forms have.
        all_operands: &'static [Operand],
        /// Those of one form, or of several.
        operand_lists: &'static [OperandList],
        /// What forms need.
        floor_list: &'static [Floors],
        /// Why forms are taken that the manual does not list; the first one is none.
        note_list: &'static [&'static str],
        /// The effects that forms have.
        effect_lists: &'static [EffectList],
        /// The forms that machines compute approximately, ascending.
        bounds: &'static [Bounded],
        /// Forms of one mnemonic, each with the next one that has other operands: numbers in pairs, ascending.
        next_shapes: &'static [u16],
        /// The perfect hash of mnemonics: factors of buckets.
        factors: &'static [u32],
        /// The perfect hash of mnemonics: forms in places.
        places: &'static [u16],
    }
}

/// A mnemonic, filled up with zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name(pub [u8; SHORT]);

/// The first byte of a [`Name`] that is too short for the mnemonic: behind it is the mnemonic's number among
/// [`Forms::long_names`], the lower byte first.
pub const LONG: u8 = u8::MAX;

#[cfg(feature = "write")]
impl Name {
    /// The name of a mnemonic; too long a one goes to the list.
    pub fn of(mnemonic: &str, long_names: &mut alloc::vec::Vec<String>) -> Name {
        let mut name = [0; SHORT];
        match name.get_mut(..mnemonic.len()) {
            Some(start) => start.copy_from_slice(mnemonic.as_bytes()),
            None => {
                let [low, high] = (long_names.len() as u16).to_le_bytes();
                name[..3].copy_from_slice(&[LONG, low, high]);
                long_names.push(mnemonic.into());
            }
        }
        Name(name)
    }
}

/// The most words of an opcode: `cp.async.bulk.prefetch.tensor`.
const WORDS: usize = 5;

/// In [`Forms::evaluations`]: the form has no evaluator.
pub const NO_EVALUATION: u32 = u32::MAX;

/// The value of a slot that stands for "absent".
pub const ABSENT: u8 = 63;

/// In place of a member: a modifier that the slot does not have.
pub const FOREIGN: u8 = ABSENT + 1;

/// What an operand is, beside its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperandKind {
    /// A value: a register, or what stands for one.
    Scalar,
    /// So many values in braces, or a register that is such a vector.
    Vector(u8),
    /// A place in memory: a register, a variable or a constant, and perhaps an offset.
    Address,
    /// A label.
    Label,
    /// A function, or a register that holds the address of one.
    Function,
    /// What a function is called with, or gives: `(a, b)`.
    Arguments,
    /// The name of a list of labels.
    Branches,
    /// The name of a list of functions, or of a prototype.
    Targets,
}

impl OperandKind {
    /// Those that a spec calls by a name, with it.
    pub const NAMED: [(&'static str, OperandKind); 5] = [
        ("label", OperandKind::Label),
        ("function", OperandKind::Function),
        ("arguments", OperandKind::Arguments),
        ("branches", OperandKind::Branches),
        ("targets", OperandKind::Targets),
    ];

    /// What a spec calls it; empty for what has no name of its own.
    pub fn name(self) -> &'static str {
        OperandKind::NAMED.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    /// Whether it is written as values: alone or as a vector.
    pub const fn is_value(self) -> bool {
        matches!(self, OperandKind::Scalar | OperandKind::Vector(_))
    }
}

/// The constants that an operand of a type takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Constants {
    /// Integer expressions, truncated to the type's width.
    pub integer: bool,
    /// Float expressions: `1.0`, `0d` and sixteen hex digits, and what is computed from such.
    pub float: bool,
    /// The bits of a single-precision float, spelt `0f` and eight hex digits.
    pub single: bool,
}

impl Constants {
    /// Whether there are any.
    pub const fn any(self) -> bool {
        self.integer || self.float || self.single
    }
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

plain! {
    Name = |name| alloc::format!("Name(*b\"{}\")", name.0.escape_ascii());
    TypeId = |ty| alloc::format!("TypeId({})", ty.0);
    TypeSet = |set| alloc::format!("TypeSet({:#x})", set.0);
    Kind = |kind| alloc::format!("Kind::{kind:?}");
    OperandKind = |kind| alloc::format!("OperandKind::{kind:?}");
    Constants = |constants| alloc::format!("{constants:?}");
}

/// Names, and what they are called in a spec.
macro_rules! named {
    ($(#[$docs:meta])* $name:ident { $($(#[$variant_docs:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$docs])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$variant_docs])* $variant,)* }

        impl $name {
            /// All of them.
            pub const ALL: &[$name] = &[$($name::$variant),*];

            /// What a spec calls it.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
        }
    };
}

named! {
    /// What the assembler may take in any statement beyond the manual.
    Lenient {
        /// Modifiers in another order than the manual's.
        ModifierOrder = "modifier_order",
        /// Blanks before a modifier or selector.
        BlankBeforeModifier = "blank_before_modifier",
        /// One predicate as both destinations.
        RepeatedDestination = "repeated_destination",
        /// A constant as a predicate operand.
        ConstantPredicate = "constant_predicate",
        /// A register or variable plus a constant as a source.
        RegisterPlusConstant = "register_plus_constant",
        /// Leading zeros in the number of a register.
        LeadingZeros = "leading_zeros",
        /// The name of a function as a source.
        FunctionAsSource = "function_as_source",
        /// A variable as an element of a vector.
        VariableAsElement = "variable_as_element",
        /// A bar and a sink behind a destination that has no second one.
        SinkBehindDestination = "sink_behind_destination",
        /// A constant that an operand's type does not take, beside registers in a vector.
        ConstantBesideBits = "constant_beside_bits",
    }
}

named! {
    /// What may stand for an operand beside a register.
    Stand {
        /// Constants.
        Constants = "constants",
        /// A register or variable plus a constant.
        Sums = "sums",
        /// Elements of vectors.
        Elements = "elements",
        /// Names of functions.
        Functions = "functions",
        /// Special registers.
        Specials = "specials",
        /// Names of variables, for their addresses.
        Addresses = "addresses",
        /// For an element of a vector: a register of another kind than the other elements have, unless it is bits.
        Mixtures = "mixtures",
        /// For a vector: a register alone, without braces.
        Bare = "bare",
        /// For a vector: one of two or four elements where fewer are wanted.
        Longer = "longer",
    }
}

named! {
    /// How a distance between results is measured.
    Measure {
        /// In units of the last place of the exact result, rounded to nearest.
        Ulp = "ulps",
        /// As the difference.
        Absolute = "absolute",
        /// As the difference divided by the exact result.
        Relative = "relative",
    }
}

plain! {
    Measure = |measure| alloc::format!("Measure::{measure:?}");
}

impl Measure {
    /// So much of it, in words: `2 units in the last place`.
    pub fn of(self, value: &str) -> String {
        match self {
            Measure::Ulp => alloc::format!("{value} units in the last place"),
            Measure::Absolute => alloc::format!("an absolute error of {value}"),
            Measure::Relative => alloc::format!("a relative error of {value}"),
        }
    }
}

impl fmt::Display for Bound {
    /// `2 units in the last place`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.measure.of(self.value))
    }
}

impl Stand {
    /// Whether it may stand for a source of which nothing is said.
    pub const fn is_usual(self) -> bool {
        !matches!(self, Stand::Specials | Stand::Addresses | Stand::Bare | Stand::Longer)
    }
}

impl Range {
    /// Whether a constant is one of them.
    pub const fn has(&self, bits: u64) -> bool {
        let value = bits as i64;
        self.least <= value && value <= self.most && value.unsigned_abs().is_multiple_of(self.step)
    }

    /// The constants in words: `128`, `0 to 15`, `24 to 256 by 8`.
    pub fn in_words(&self, ty: &TypeInfo) -> String {
        let value = |bits: i64| match ty.kind {
            Kind::Float if ty.bits == 32 => alloc::format!("{:e}", f32::from_bits(bits as u32)),
            _ => alloc::format!("{bits}"),
        };
        match self.least == self.most {
            true => value(self.least),
            false if self.step == 1 => alloc::format!("{} to {}", value(self.least), value(self.most)),
            false => alloc::format!("{} to {} by {}", self.least, self.most, self.step),
        }
    }
}

impl TypeInfo {
    /// Whether its values are bits or integers.
    pub fn is_word(&self) -> bool {
        matches!(self.kind, Kind::Bits | Kind::Unsigned | Kind::Signed)
    }

    /// Whether a register of it may stand where one of the other type is expected by a vector or a call: they are as wide, and
    /// the same type, both integers, or one of them is bits.
    pub fn goes_with(&self, other: &TypeInfo) -> bool {
        let bits = self.kind == Kind::Bits || other.kind == Kind::Bits;
        self.bits == other.bits && (bits || self.name == other.name || self.is_word() && other.is_word())
    }
}

/// What declarations and directives may say that no word stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feature {
    /// Parameters of kernels.
    KernelParameters,
    /// The bytes that the parameters of a kernel take together.
    KernelParameterBytes,
    /// Parameters and results of functions in memory.
    MemoryParameters,
    /// The alignment in bytes of what is passed to functions.
    ParameterAlignment,
    /// A last parameter that is an array without a length.
    OpenParameters,
    /// What a parameter points to: `.ptr`.
    Pointers,
    /// Kernels without a body.
    KernelPrototypes,
    /// Addresses of variables as values of variables.
    AddressValues,
    /// Generic addresses as values: `generic(x)`.
    GenericAddressValues,
    /// Bytes of addresses as values: `0xff(x)`.
    AddressByteValues,
    /// Addresses of functions as values.
    FunctionValues,
    /// Addresses of kernels as values.
    KernelValues,
    /// The time and the size of a source file: `.file 1 "name", 5, 6`.
    FileTimes,
    /// The function that a place is inlined from: `.loc 1 2 3, function_name f, inlined_at 1 2 3`.
    InlinedLocations,
}

impl Feature {
    /// All of them.
    pub const ALL: [Feature; 14] = [
        Feature::KernelParameters,
        Feature::KernelParameterBytes,
        Feature::MemoryParameters,
        Feature::ParameterAlignment,
        Feature::OpenParameters,
        Feature::Pointers,
        Feature::KernelPrototypes,
        Feature::AddressValues,
        Feature::GenericAddressValues,
        Feature::AddressByteValues,
        Feature::FunctionValues,
        Feature::KernelValues,
        Feature::FileTimes,
        Feature::InlinedLocations,
    ];

    /// What a spec calls it.
    pub const fn name(self) -> &'static str {
        match self {
            Feature::KernelParameters => "kernel_parameters",
            Feature::KernelParameterBytes => "kernel_parameter_bytes",
            Feature::MemoryParameters => "memory_parameters",
            Feature::ParameterAlignment => "parameter_alignment",
            Feature::OpenParameters => "open_parameters",
            Feature::Pointers => "pointers",
            Feature::KernelPrototypes => "kernel_prototypes",
            Feature::AddressValues => "address_values",
            Feature::GenericAddressValues => "generic_address_values",
            Feature::AddressByteValues => "address_byte_values",
            Feature::FunctionValues => "function_values",
            Feature::KernelValues => "kernel_values",
            Feature::FileTimes => "file_times",
            Feature::InlinedLocations => "inlined_locations",
        }
    }
}

impl Directive {
    /// Whether it stands behind a label in a function's body, which becomes the name of what it lists.
    pub fn is_labeled(&self) -> bool {
        self.branches || self.targets || self.prototype
    }

    /// Whether the other does not stand beside it.
    pub fn goes_without(&self, other: &Directive) -> bool {
        self.without.contains(&other.name) || other.without.contains(&self.name)
    }
}

impl PartialEq for Space {
    fn eq(&self, other: &Space) -> bool {
        self.name == other.name
    }
}

impl Eq for Space {}

impl Special {
    /// Whether a name is this register's.
    pub fn is_called(&self, name: &str) -> bool {
        let Some(number) = name.strip_prefix(self.name) else { return false };
        match self.count {
            0 => number.is_empty(),
            count => number.parse().is_ok_and(|found: u8| found < count) && (number == "0" || !number.starts_with('0')),
        }
    }
}

impl Table {
    /// The directive with this name, without its dot.
    pub fn directive(&self, name: &str) -> Option<&'static Directive> {
        self.directives.iter().find(|directive| directive.name == name)
    }

    /// What the table says of a part of declarations, the entry with the lowest number first.
    pub fn declared(&self, name: &str) -> impl Iterator<Item = &'static Declared> {
        self.declarations.iter().filter(move |declared| declared.name == name)
    }

    /// What the table says of a word of declarations, given without its dot.
    pub fn declared_word(&self, word: &str) -> Option<&'static Declared> {
        self.declarations.iter().find(|declared| declared.name.strip_prefix('.') == Some(word))
    }

    /// The state space with this name; that of a part of it, as `shared::cta`, too.
    pub fn space(&self, name: &str) -> Option<&'static Space> {
        let behind = |space: &&Space| name.strip_prefix(space.name);
        self.spaces.iter().find(|space| behind(space).is_some_and(|part| part.is_empty() || part.starts_with("::")))
    }

    /// The special register with this name.
    pub fn special(&self, name: &str) -> Option<&'static Special> {
        let own = self.specials.iter().find(|special| special.is_called(name));
        own.or_else(|| self.base?.special(name))
    }

    /// The target with this name, if there is one.
    ///
    /// # Errors
    ///
    /// How a target is spelt, or which one is near.
    pub fn target(&self, name: &str) -> Result<Target, NameError> {
        let target: Target = name.parse()?;
        let known = || self.targets.iter().map(|known| known.target);
        match known().any(|known| known == target) {
            true => Ok(target),
            false => Err(NameError::NoTarget(target, known().min_by_key(|known| known.sm.abs_diff(target.sm)))),
        }
    }

    /// The version with this name, if there is one.
    ///
    /// # Errors
    ///
    /// How a version is spelt, or which one is near.
    pub fn version(&self, name: &str) -> Result<Version, NameError> {
        let version: Version = name.parse()?;
        if self.versions.contains(&version) {
            return Ok(version);
        }
        let before = self.versions.iter().rev().find(|known| **known < version).or(self.versions.first());
        Err(NameError::NoVersion(version, before.copied()))
    }

    /// The form with this canonical mnemonic: modifiers in the manual's order, no blanks.
    #[inline]
    pub fn form(&'static self, mnemonic: &str) -> Option<FormInfo> {
        match self.forms.index(mnemonic) {
            Some(index) => Some(FormInfo { table: self, index: index as u32 }),
            None => self.form_of_base(mnemonic),
        }
    }

    fn form_of_base(&self, mnemonic: &str) -> Option<FormInfo> {
        // An opcode that this table describes is all its own.
        let form = self.base?.form(mnemonic)?;
        self.own(form.instruction().data().opcode).is_none().then_some(form)
    }

    /// This table's own form with this index.
    pub fn form_at(&'static self, index: usize) -> Option<FormInfo> {
        (index < self.forms.len()).then_some(FormInfo { table: self, index: index as u32 })
    }

    /// Every form: those of the table that this one stands on, then its own.
    pub fn forms(&'static self) -> impl Iterator<Item = FormInfo> {
        let instructions = self.instructions();
        instructions.flat_map(|instruction| instruction.forms())
    }

    fn own(&self, opcode: &str) -> Option<usize> {
        self.instructions.binary_search_by(|instruction| instruction.opcode.cmp(opcode)).ok()
    }

    /// The instruction that a mnemonic begins with, modifiers in any order: that of the longest opcode.
    pub fn instruction_of(&'static self, mnemonic: &str) -> Option<InstructionInfo> {
        let ends = mnemonic.match_indices('.').map(|(dot, _)| dot).chain([mnemonic.len()]).take(WORDS);
        ends.filter_map(|end| self.instruction(&mnemonic[..end])).last()
    }

    /// The instruction with this opcode.
    pub fn instruction(&'static self, opcode: &str) -> Option<InstructionInfo> {
        match self.own(opcode) {
            Some(index) => Some(InstructionInfo { table: self, index }),
            None => self.base?.instruction(opcode),
        }
    }

    /// Every instruction: those of the table that this one stands on, then its own, each sorted by opcode.
    pub fn instructions(&'static self) -> alloc::boxed::Box<dyn Iterator<Item = InstructionInfo>> {
        let own = (0..self.instructions.len()).map(move |index| InstructionInfo { table: self, index });
        match self.base {
            Some(base) => {
                let kept = move |instruction: &InstructionInfo| self.own(instruction.opcode).is_none();
                alloc::boxed::Box::new(base.instructions().filter(kept).chain(own))
            }
            None => alloc::boxed::Box::new(own),
        }
    }

    /// What is known of a type.
    #[inline]
    pub fn ty(&self, id: TypeId) -> &'static TypeInfo {
        &self.types[id.index()]
    }

    /// The type with this name, without its dot.
    pub fn type_named(&self, name: &str) -> Option<TypeId> {
        self.types.iter().position(|ty| ty.name == name).map(|index| TypeId(index as u8))
    }

    /// The families of targets.
    pub fn families(&self) -> Families<'static> {
        Families(self.families)
    }

    /// The note that the assembler takes something beyond the manual, if it does.
    #[inline]
    pub fn takes(&self, lenient: Lenient) -> Option<&'static str> {
        self.lenient[lenient as usize]
    }

    /// The index of this table's own form of an instruction with these members in its slots; [`ABSENT`] leaves a slot
    /// out, and [`FOREIGN`] is a modifier that the slot does not have.
    ///
    /// # Errors
    ///
    /// The rules that refuse the combination.
    pub fn select(&'static self, instruction: usize, values: &[u8]) -> Result<usize, IllegalForm> {
        let instruction = InstructionInfo { table: self, index: instruction };
        let refusal = IllegalForm::new(instruction, values);
        // What is free is no form's.
        let bound = |slot: u8| !instruction.slots[usize::from(slot)].free;
        let spelt = instruction.syntaxes().iter().find(|syntax| syntax.spells_where(values, bound));
        let index = spelt.and_then(|syntax| self.forms.index(&instruction.spell(syntax, values)));
        index.ok_or(refusal)
    }
}

impl Forms {
    /// How many there are.
    pub const fn len(&self) -> usize {
        self.syntax.len()
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The mnemonic of a form.
    #[inline]
    pub fn mnemonic(&self, index: usize) -> &'static str {
        let Name(name) = &self.names[index];
        match name {
            [LONG, low, high, ..] => self.long_names[usize::from(u16::from_le_bytes([*low, *high]))],
            _ => {
                let length = name.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
                core::str::from_utf8(&name[..length]).expect("mnemonics are text")
            }
        }
    }

    /// The form with this canonical mnemonic.
    #[inline(always)]
    pub fn index(&self, mnemonic: &str) -> Option<usize> {
        match Key::exact(mnemonic.as_bytes()) {
            Some(key) => {
                let index = self.place(key);
                (Key::padded(&self.names.get(index)?.0) == key).then_some(index)
            }
            None => self.index_of_any(mnemonic),
        }
    }

    #[inline(never)]
    fn index_of_any(&self, mnemonic: &str) -> Option<usize> {
        let index = self.place(Key::of(mnemonic.as_bytes()));
        (index < self.len() && self.mnemonic(index) == mnemonic).then_some(index)
    }

    /// The form in the place of a key, if there is one.
    #[inline(always)]
    fn place(&self, key: Key) -> usize {
        self.places[hash::find(key.hash(), self.factors, self.places.len())].into()
    }
}

/// An instruction of a table.
#[derive(Clone, Copy)]
pub struct InstructionInfo {
    table: &'static Table,
    index: usize,
}

impl Deref for InstructionInfo {
    type Target = Instruction;

    fn deref(&self) -> &Instruction {
        self.data()
    }
}

impl InstructionInfo {
    /// All that does not depend on the form.
    pub fn data(&self) -> &'static Instruction {
        &self.table.instructions[self.index]
    }

    /// The index among the table's own instructions.
    pub fn index(&self) -> usize {
        self.index
    }

    /// The table whose own it is.
    pub fn table(&self) -> &'static Table {
        self.table
    }

    /// The syntax lines of all its entries, in the spec's order.
    pub fn syntaxes(&self) -> &'static [Syntax] {
        let Instruction { first_syntax, syntaxes, .. } = *self.data();
        &self.table.syntaxes[usize::from(first_syntax)..][..usize::from(syntaxes)]
    }

    /// Its forms, grouped by syntax line.
    pub fn forms(&self) -> impl Iterator<Item = FormInfo> + use<> {
        let (table, first) = (self.table, u32::from(self.data().first_form));
        (first..first + u32::from(self.data().forms)).map(move |index| FormInfo { table, index })
    }

    /// The mnemonic of the form that a syntax line makes of members in slots: without free ones.
    pub fn spell(&self, syntax: &Syntax, values: &[u8]) -> String {
        self.spelt(syntax, values, false)
    }

    /// The mnemonic that a syntax line makes of members in slots, free ones included.
    pub fn spell_all(&self, syntax: &Syntax, values: &[u8]) -> String {
        self.spelt(syntax, values, true)
    }

    /// The form that members in slots are, and those of them that are free, if they are one.
    pub fn form_of(&self, values: &[u8]) -> Option<(FormInfo, Free)> {
        let free = Free::of(*self, values);
        let spelt = self.syntaxes().iter().filter(|syntax| syntax.spells(values));
        let forms = spelt.filter_map(|syntax| self.table.form(&self.spell(syntax, values)));
        forms.flat_map(FormInfo::shapes).find(|form| form.takes(&free)).map(|form| (form, free))
    }

    fn spelt(&self, syntax: &Syntax, values: &[u8], free: bool) -> String {
        let mut mnemonic = String::from(self.opcode);
        for item in syntax.items {
            let slot = &self.slots[usize::from(item.slot)];
            if slot.free && !free {
                continue;
            }
            if let Some(member) = slot.members.get(usize::from(values[usize::from(item.slot)])) {
                mnemonic.push('.');
                mnemonic.push_str(member);
            }
        }
        mnemonic
    }
}

impl fmt::Debug for InstructionInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.opcode)
    }
}

impl Syntax {
    /// Whether the line has a place for every modifier, and every place that needs a modifier has one.
    pub fn spells(&self, values: &[u8]) -> bool {
        self.spells_where(values, |_| true)
    }

    /// The same of some of the slots.
    fn spells_where(&self, values: &[u8], asked: impl Fn(u8) -> bool) -> bool {
        let mut places = 0;
        let fits = self.items.iter().filter(|item| asked(item.slot)).all(|item| {
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
        self.forbids.iter().all(|forbidden| forbidden.holds(values))
    }
}

impl Forbidden {
    /// Whether one of its values is in its slot.
    pub fn holds(&self, values: &[u8]) -> bool {
        let value = values[usize::from(self.slot)];
        value <= ABSENT && self.values >> value & 1 != 0
    }
}

/// The free modifiers of a statement: what stands in each slot of its instruction, or [`ABSENT`].
///
/// It has the alignment of a word: as bytes it would be copied in pieces, for which what reads it then waits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(align(8))]
pub struct Free([u8; SLOTS]);

impl Free {
    /// None of them.
    pub const NONE: Free = Free([ABSENT; SLOTS]);

    /// Those among the members in all slots of an instruction.
    pub fn of(instruction: InstructionInfo, values: &[u8]) -> Free {
        let mut free = Free::NONE;
        for (slot, value) in values.iter().enumerate().filter(|(slot, _)| instruction.slots[*slot].free) {
            free.0[slot] = *value;
        }
        free
    }

    /// The member in a slot, or [`ABSENT`].
    pub fn in_slot(&self, slot: u8) -> u8 {
        self.0[usize::from(slot)]
    }
}

impl fmt::Debug for Free {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let there = self.0.iter().enumerate().filter(|(_, value)| **value != ABSENT);
        f.debug_map().entries(there).finish()
    }
}

impl Operand {
    /// What is written for it, with what stands around it.
    pub fn with_around(&self, text: &str) -> String {
        alloc::format!("{}{text}{}", self.around.before(), self.around.behind())
    }

    /// What the manual writes of it.
    pub fn notation(&self) -> notation::Operand<'static> {
        notation::Operand {
            name: self.name,
            negated: self.negation == Permission::Yes,
            second: self.second.map(|second| (second.name, second.optional == Permission::Yes)),
            selector: self.selector.map(|selector| (selector.name, selector.omission != Permission::No)),
            optional: self.optional,
            around: self.around,
        }
    }
}

/// The index of a modifier among the members of a slot, or [`FOREIGN`].
pub fn member<T: PartialEq>(members: &[T], value: T) -> u8 {
    members.iter().position(|member| *member == value).map_or(FOREIGN, |index| index as u8)
}

/// The index of a modifier among the members of a slot, [`ABSENT`] or [`FOREIGN`].
pub fn optional_member<T: PartialEq>(members: &[T], value: Option<T>) -> u8 {
    value.map_or(ABSENT, |value| member(members, value))
}

/// No form has this mnemonic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownMnemonic;

impl fmt::Display for UnknownMnemonic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no form of the table has this mnemonic")
    }
}

impl core::error::Error for UnknownMnemonic {}

/// A combination of modifiers that is no form; shown as text it gives the reasons.
#[derive(Clone, Copy)]
pub struct IllegalForm {
    instruction: InstructionInfo,
    values: [u8; SLOTS],
}

impl IllegalForm {
    fn new(instruction: InstructionInfo, given: &[u8]) -> IllegalForm {
        let mut values = [ABSENT; SLOTS];
        values[..given.len()].copy_from_slice(given);
        IllegalForm { instruction, values }
    }

    /// The instruction whose modifiers they are.
    pub fn instruction(&self) -> InstructionInfo {
        self.instruction
    }

    /// The rules that refuse the combination; none where no syntax line spells it.
    pub fn rules(&self) -> impl Iterator<Item = &'static Rule> {
        self.instruction.data().rules.iter().filter(|rule| rule.refuses(&self.values))
    }
}

impl fmt::Display for IllegalForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rules = self.rules().peekable();
        if rules.peek().is_none() {
            write!(f, "no syntax line of `{}` has these modifiers:", self.instruction.opcode)?;
            return self.instruction.syntaxes().iter().try_for_each(|syntax| write!(f, " `{}`", syntax.text));
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
