//! Data model of an instruction table, and queries on it.
//!
//! Data that grows with the number of forms is stored in columns of indices ([`Forms`]) into shared pools; data that
//! grows with the number of instructions is stored in structs. A table may extend a base table: it then holds its own
//! instructions only and answers queries for both. Types, versions and targets are the exception: each table lists all
//! of them, those of its base first, so that an index has the same meaning in both.
//!
//! This module names no instruction, type or version: the generator writes every value from a spec.

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
    /// Returns the index into the types of a table.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A set of types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct TypeSet(pub u128);

impl TypeSet {
    /// Returns true if the set contains a type.
    #[inline(always)]
    pub const fn has(self, ty: TypeId) -> bool {
        self.0 >> (ty.0 & 127) & 1 != 0
    }

    /// Returns true if the set is empty.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the set with a type added.
    #[must_use]
    pub const fn with(self, ty: TypeId) -> TypeSet {
        TypeSet(self.0 | 1 << ty.0)
    }

    /// Returns its types in ascending order.
    pub fn iter(self) -> impl Iterator<Item = TypeId> {
        (0..128).map(TypeId).filter(move |ty| self.has(*ty))
    }
}

impl FromIterator<TypeId> for TypeSet {
    fn from_iter<I: IntoIterator<Item = TypeId>>(types: I) -> TypeSet {
        types.into_iter().fold(TypeSet::default(), TypeSet::with)
    }
}

/// An instruction table, computed from a spec: data and code.
pub struct Table {
    /// The table that this one extends.
    pub base: Option<&'static Table>,
    /// Data.
    pub data: Data,
    /// Computes the operations that the programs call.
    pub operation: Operation,
    /// Code of each loop at every SIMD level.
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
    /// Data of a table.
    Data, DataBuf {
        /// Every type an operand or a register can have; indexed by [`TypeId`].
        types: &'static [TypeInfo],
        /// Every PTX version the assembler knows, ascending.
        versions: &'static [Version],
        /// Every target, ascending by number, then by suffix.
        targets: &'static [TargetInfo],
        /// Families of targets: the SM numbers of each.
        families: &'static [&'static [u16]],
        /// This table's own instructions, sorted by opcode.
        instructions: &'static [Instruction],
        /// Syntax lines of all its instructions.
        syntaxes: &'static [Syntax],
        /// Legal forms of its instructions.
        forms: Forms,
        /// Programs of its forms.
        programs: Programs,
        /// For each [`Lenient`], the note that the assembler accepts it in any statement; `None` if the spec has no
        /// such note and it is refused.
        lenient: &'static [Option<&'static str>],
        /// Special registers.
        specials: &'static [Special],
        /// State spaces, those of the base first.
        spaces: &'static [Space],
        /// Directives, those of the base first.
        directives: &'static [Directive],
        /// Version-dependent parts of declarations and directives, those of the base first.
        declarations: &'static [Declared],
    }
}

contents! {
    /// A directive and its context.
    Directive, DirectiveBuf {
        /// The name without its dot: `maxntid`.
        name: &'static str,
        /// True if it is allowed at module scope.
        module: bool,
        /// True if it follows a label in a function body and lists the targets of an indirect branch.
        branches: bool,
        /// True if it follows a label in a function body and lists the targets of an indirect call.
        targets: bool,
        /// True if it follows a label in a function body and declares the prototype of an indirect call.
        prototype: bool,
        /// True if it is allowed in the header of a kernel.
        entry: bool,
        /// True if it is allowed in the header of a device function.
        function: bool,
        /// True if it is an attribute of variables: `.attribute(.managed)`.
        attribute: bool,
        /// True if it is an option of `.target`, written without its dot after the target.
        option: bool,
        /// Minimum number of integer arguments in a header.
        least: u8,
        /// Maximum number of integer arguments in a header.
        most: u8,
        /// Directives that it excludes in the same header or `.target`.
        without: &'static [&'static str],
        /// First version that no longer has the directive.
        until: Option<Version>,
        /// Minimum version and target.
        floor: Floor,
        /// Description.
        description: &'static str,
    }

    /// A part of a declaration or directive that requires a minimum version or target.
    Declared, DeclaredBuf {
        /// Name: a word with its dot (`.b128`), a string with its quotes (`"frequency"`), or the name of a [`Feature`].
        name: &'static str,
        /// Maximum of a counted quantity, 0 if none; a larger amount requires the next entry of the name.
        most: u64,
        /// Minimum version and target.
        floor: Floor,
        /// Description.
        description: &'static str,
    }

    /// A state space.
    Space, SpaceBuf {
        /// The name without its dot: `global`.
        name: &'static str,
        /// Owner of its memory; `None` if the space is not addressable memory.
        memory: Option<Memory>,
        /// True if generic addresses reach its variables.
        generic: bool,
        /// True if a constant may be an address in it.
        constants: bool,
        /// True if it is a type with which opaque variables are declared in another space: `.global .texref t;` is in
        /// `.texref`.
        opaque: bool,
        /// Option of `.target` that is required to declare variables in it.
        option: Option<&'static str>,
        /// True if its variables may have initializers.
        values: bool,
        /// True if variables of opaque types may be declared in it.
        opaques: bool,
        /// True if its variables may be vectors.
        vectors: bool,
        /// First version that allows its variables within functions only.
        inside: Option<Version>,
        /// First version that no longer has the space.
        until: Option<Version>,
        /// Description.
        description: &'static str,
    }

    /// A special register: read-only to a thread.
    Special, SpecialBuf {
        /// The name: `%tid`.
        name: &'static str,
        /// Number of registers that share the name, numbered from zero; 0 for a single register without a number.
        count: u8,
        /// True if it is a vector.
        vector: bool,
        /// Operand types for which it is accepted.
        types: TypeSet,
        /// Source of its value.
        origin: Origin,
        /// Minimum version and target.
        floor: Floor,
        /// Description.
        description: &'static str,
    }

    /// A type of operands and registers.
    TypeInfo, TypeInfoBuf {
        /// The name without its dot: `u32`.
        name: &'static str,
        /// Interpretation of its bits.
        kind: Kind,
        /// Width in bits of the whole value.
        bits: u16,
        /// Width of a float's exponent in bits; 0 for other types.
        exponent: u8,
        /// Number of lanes of a packed type; 1 for other types.
        lanes: u8,
        /// Type of one lane; the type itself if it is not packed.
        lane: TypeId,
        /// Declared register types accepted for an operand of this type. Empty for types that exist inside semantics
        /// only.
        registers: TypeSet,
        /// Constants accepted for an operand of this type.
        constants: Constants,
        /// Description.
        description: &'static str,
    }

    /// A target and the first PTX version that supports it.
    TargetInfo, TargetInfoBuf {
        /// The target.
        target: Target,
        /// First PTX version that supports it.
        since: Version,
    }

    /// Data of an opcode that does not depend on the form.
    Instruction, InstructionBuf {
        /// The opcode as PTX spells it.
        opcode: &'static str,
        /// Modifier slots of all syntax lines, in order of first occurrence.
        slots: &'static [Slot],
        /// Refused combinations of modifiers, each with its reason. Combinations that no syntax line spells are illegal
        /// as well.
        rules: &'static [Rule],
        /// Additional requirements of free modifiers.
        free_floors: &'static [FreeFloor],
        /// Entries of the spec that describe this opcode, in the spec's order.
        entries: &'static [Entry],
        /// Index of its first syntax line in the syntax lines of the table.
        first_syntax: u16,
        /// Number of syntax lines.
        syntaxes: u16,
        /// Index of its first form in the table's own columns.
        first_form: u16,
        /// Number of forms.
        forms: u16,
        /// Start in [`Forms::values`] of the values of its first form.
        first_value: u32,
    }

    /// One `instruction` item of the spec; an opcode may have several.
    Entry, EntryBuf {
        /// Section of the manual: `9.7.6.1`.
        section: &'static str,
        /// One-line summary.
        summary: &'static str,
        /// Full description, paragraphs separated by blank lines.
        description: &'static str,
        /// Spec file and line: `comparison.isa:8`.
        source: &'static str,
        /// Contradictions within the manual, or between the manual and the machine.
        errata: &'static [Erratum],
        /// Example statements.
        examples: &'static [Example],
    }

    /// A contradiction within the manual, or between the manual and the machine.
    Erratum, ErratumBuf {
        /// Subject.
        subject: &'static str,
        /// Statement of the manual.
        manual: &'static str,
        /// Behavior of the machine or the assembler.
        machine: &'static str,
    }

    /// An example of the spec.
    Example, ExampleBuf {
        /// The statement, ending in a semicolon.
        text: &'static str,
        /// True if the assembler refuses it although the manual shows it.
        refused: bool,
    }

    /// A modifier slot of an opcode.
    Slot, SlotBuf {
        /// The name the spec gives it, without a dot: `CmpOp`, `ftz`, `dtype`.
        name: &'static str,
        /// Members that any syntax line allows here, without their dots, in the spec's order. [`FormInfo::values`] and
        /// [`Rule::forbids`] hold indices into this list.
        members: &'static [&'static str],
        /// True if its members are types.
        types: bool,
        /// True if it belongs to the opcode and directly follows it, whatever the order of other modifiers.
        of_opcode: bool,
        /// True if it is free: not part of a form's mnemonic, checked by rules and kept with each statement.
        free: bool,
    }

    /// One line of a syntax block.
    Syntax, SyntaxBuf {
        /// The modifiers, in the manual's order.
        items: &'static [Item],
        /// The line as the spec writes it: `set.CmpOp{.ftz}.dtype.stype d, a, b;`.
        text: &'static str,
        /// True if it has free modifiers.
        free: bool,
        /// Index of its instruction in [`Table::instructions`].
        instruction: u16,
        /// Index of its entry in [`Instruction::entries`].
        entry: u8,
    }

    /// A modifier of a syntax line.
    Item, ItemBuf {
        /// Index into [`Instruction::slots`].
        slot: u8,
        /// True if it may be omitted.
        optional: bool,
        /// Members of the slot that this line allows: bit `i` is `Slot::members[i]`.
        members: u64,
    }

    /// A refused combination of modifiers, and the reason.
    Rule, RuleBuf {
        /// Refused if all of these hold.
        forbids: &'static [Forbidden],
        /// The reason, as a sentence without a full stop: "`.lo` is for unsigned integers".
        reason: &'static str,
        /// Index of the entry if the rule constrains free modifiers, which no form determines: it is then decided for
        /// each statement. Other rules only explain why a form does not exist.
        decides: Option<u8>,
    }

    /// Additional requirement of statements with some free modifiers.
    FreeFloor, FreeFloorBuf {
        /// Index of the entry.
        entry: u8,
        /// Applies if all of these hold.
        when: &'static [Forbidden],
        /// Minimum version and target.
        floor: Floor,
    }

    /// A set of values of a slot.
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
        /// Kind of operand.
        kind: OperandKind,
        /// Its type in this form, or its element type; for an address, an accepted register type.
        ty: TypeId,
        /// Slot of the free modifier that names the state space of an address.
        space: Option<u8>,
        /// State spaces of an address, or of a variable used as a value, if they are the same in all statements; any if
        /// empty.
        spaces: &'static [&'static str],
        /// Accepted register types.
        registers: TypeSet,
        /// True if it is a destination, false if it is a source.
        destination: bool,
        /// Second destination after a bar, as in `p|q`.
        second: Option<&'static Second>,
        /// Permission to write a bar and a sink after a destination that has no second one, as in `p|_`.
        trailing_sink: Permission,
        /// Permission to negate it with `!`.
        negation: Permission,
        /// Whether `_` may stand for it.
        sink: bool,
        /// Whether a constant may stand for it; which ones, its type says.
        constants: bool,
        /// Accepted constants; all if empty.
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
        /// Lane selector or mask that may follow it: `a.b3210`.
        selector: Option<&'static Selector>,
        /// True if this operand and all that follow may be omitted.
        optional: bool,
        /// Minimum version and target where it is written, if higher than the form's.
        floor: Option<&'static Floor>,
        /// Surrounding punctuation, the same in every statement.
        around: Around,
        /// Index of the thread state that it is; statements do not write states, the program passes them on.
        state: Option<u8>,
    }

    /// A range of constants; floats are given as bits.
    Range, RangeBuf {
        /// Lower bound.
        least: i64,
        /// Upper bound, inclusive.
        most: i64,
        /// Only multiples of this are in the range.
        step: u64,
    }

    /// The second destination of a pair.
    Second, SecondBuf {
        /// Name in the manual: `q`.
        name: &'static str,
        /// Its type in this form.
        ty: TypeId,
        /// Accepted register types.
        registers: TypeSet,
        /// Permission to omit it.
        optional: Permission,
        /// Minimum version and target where it is written, if higher than the form's.
        floor: Option<&'static Floor>,
    }

    /// Minimum versions and targets of a form.
    Floors, FloorsBuf {
        /// Required by the manual.
        manual: Floor,
        /// Required by the assembler, if less.
        assembler: Option<Relaxed>,
    }

    /// A requirement of the assembler that is lower than the manual's.
    Relaxed, RelaxedBuf {
        /// Required by the assembler.
        floor: Floor,
        /// Note that explains the difference.
        note: &'static str,
    }

    /// Maximum error of a machine's result.
    Bound, BoundBuf {
        /// Measure of the error.
        measure: Measure,
        /// Amount as written: `2`, `2^-22.5`.
        value: &'static str,
        /// Amount as the bits of an `f64`.
        amount: u64,
    }

    /// A form that machines compute approximately.
    Bounded, BoundedBuf {
        /// Index of the form.
        form: u16,
        /// Maximum error.
        bound: Bound,
    }

    /// Operands and states of a form: indices into [`Forms::all_operands`].
    OperandList, OperandListBuf {
        /// Operands in order of writing.
        operands: &'static [u16],
        /// Thread states that it reads or writes in addition.
        states: &'static [u16],
        /// True if an operand or a second destination has its own minimum version or target.
        floors: bool,
    }

    /// Forms of a table, stored in columns that are indexed by form.
    Forms, FormsBuf {
        /// Mnemonics, padded with zeros; see [`LONG`] for longer ones.
        names: &'static [Name],
        /// Mnemonics that are longer than a [`Name`].
        long_names: &'static [&'static str],
        /// Index of the syntax line in the syntax lines of the table.
        syntax: &'static [u16],
        /// Member chosen in each slot of the instruction, or [`ABSENT`]; forms are consecutive.
        values: &'static [u8],
        /// Index in [`Forms::operand_lists`].
        operands: &'static [u16],
        /// Index in [`Forms::floor_list`].
        floors: &'static [u16],
        /// Index in [`Forms::note_list`] of the note that only the assembler accepts the form; 0 if the manual lists
        /// it.
        notes: &'static [u16],
        /// Index in [`Forms::effect_lists`].
        effects: &'static [u16],
        /// Index in [`Programs::evaluations`] of its first evaluation; [`NO_EVALUATION`] if it has none.
        evaluations: &'static [u32],
        /// Pool of operands.
        all_operands: &'static [Operand],
        /// Pool of operand lists.
        operand_lists: &'static [OperandList],
        /// Pool of requirements.
        floor_list: &'static [Floors],
        /// Notes on forms that the manual does not list; the first one is empty.
        note_list: &'static [&'static str],
        /// Pool of effect lists.
        effect_lists: &'static [EffectList],
        /// Forms that machines compute approximately, ascending.
        bounds: &'static [Bounded],
        /// Pairs of forms, ascending: a form and the next one of the same mnemonic with other operands.
        next_shapes: &'static [u16],
        /// Perfect hash of mnemonics: factor of each bucket.
        factors: &'static [u32],
        /// Perfect hash of mnemonics: form in each place.
        places: &'static [u16],
    }
}

/// A mnemonic, padded with zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name(pub [u8; SHORT]);

/// First byte of a [`Name`] that is too short for its mnemonic; followed by the little-endian index in
/// [`Forms::long_names`].
pub const LONG: u8 = u8::MAX;

#[cfg(feature = "write")]
impl Name {
    /// Name of a mnemonic; one that does not fit is appended to `long_names`.
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

/// Maximum number of words of an opcode: `cp.async.bulk.prefetch.tensor`.
const WORDS: usize = 5;

/// Marks a form without an evaluator in [`Forms::evaluations`].
pub const NO_EVALUATION: u32 = u32::MAX;

/// Slot value that means "absent".
pub const ABSENT: u8 = 63;

/// Slot value of a modifier that is not a member of the slot.
pub const FOREIGN: u8 = ABSENT + 1;

/// Kind of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperandKind {
    /// A value: a register or a substitute for one.
    Scalar,
    /// A vector of the given number of elements: values in braces, or a register of such a vector type.
    Vector(u8),
    /// A memory address: a register, a variable or a constant, optionally with an offset.
    Address,
    /// A label.
    Label,
    /// A function, or a register that holds its address.
    Function,
    /// Arguments or results of a call: `(a, b)`.
    Arguments,
    /// Name of a list of branch targets.
    Branches,
    /// Name of a list of call targets or of a prototype.
    Targets,
}

impl OperandKind {
    /// Kinds that have a name in a spec.
    pub const NAMED: [(&'static str, OperandKind); 5] = [
        ("label", OperandKind::Label),
        ("function", OperandKind::Function),
        ("arguments", OperandKind::Arguments),
        ("branches", OperandKind::Branches),
        ("targets", OperandKind::Targets),
    ];

    /// Name in a spec; empty if it has none.
    pub fn name(self) -> &'static str {
        OperandKind::NAMED.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }

    /// Returns true if it is written as values: alone or as a vector.
    pub const fn is_value(self) -> bool {
        matches!(self, OperandKind::Scalar | OperandKind::Vector(_))
    }
}

/// Kinds of constants accepted for a type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Constants {
    /// Integer expressions, truncated to the type's width.
    pub integer: bool,
    /// Float expressions: `1.0`, `0d` with 16 hexadecimal digits, and expressions of these.
    pub float: bool,
    /// Bits of a single-precision float: `0f` with 8 hexadecimal digits.
    pub single: bool,
}

impl Constants {
    /// Returns true if any kind is accepted.
    pub const fn any(self) -> bool {
        self.integer || self.float || self.single
    }
}

/// Interpretation of the bits of a type.
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
    /// Lanes of another type.
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

/// Declares an enum whose variants have names in a spec.
macro_rules! named {
    ($(#[$docs:meta])* $name:ident { $($(#[$variant_docs:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$docs])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$variant_docs])* $variant,)* }

        impl $name {
            /// All variants.
            pub const ALL: &[$name] = &[$($name::$variant),*];

            /// Name in a spec.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }
        }
    };
}

named! {
    /// A deviation that the assembler may accept in any statement beyond the manual.
    Lenient {
        /// Modifiers in an order that differs from the manual's.
        ModifierOrder = "modifier_order",
        /// Blanks before a modifier or selector.
        BlankBeforeModifier = "blank_before_modifier",
        /// The same predicate as both destinations.
        RepeatedDestination = "repeated_destination",
        /// A constant as a predicate operand.
        ConstantPredicate = "constant_predicate",
        /// A register or variable plus a constant as a source.
        RegisterPlusConstant = "register_plus_constant",
        /// Leading zeros in the number of a register.
        LeadingZeros = "leading_zeros",
        /// Function name as a source.
        FunctionAsSource = "function_as_source",
        /// Variable as an element of a vector.
        VariableAsElement = "variable_as_element",
        /// Bar and sink after a destination that has no second one.
        SinkBehindDestination = "sink_behind_destination",
        /// Constant beside registers in a vector, of a kind that the element type does not accept.
        ConstantBesideBits = "constant_beside_bits",
    }
}

named! {
    /// Substitutes: operands accepted in place of a register.
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
        /// For an element of a vector: a register of another kind than the other elements, neither being untyped bits.
        Mixtures = "mixtures",
        /// For a vector: a single register without braces.
        Bare = "bare",
        /// For a vector of two or four elements: accepted in place of a shorter one.
        Longer = "longer",
    }
}

named! {
    /// Measure of the error of a result.
    Measure {
        /// In units in the last place (ULP) of the exact result, rounded to nearest.
        Ulp = "ulps",
        /// Absolute error.
        Absolute = "absolute",
        /// Relative error.
        Relative = "relative",
    }
}

plain! {
    Measure = |measure| alloc::format!("Measure::{measure:?}");
}

impl Measure {
    /// An amount in words: `2 units in the last place`.
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
    /// Returns true if it is accepted for a source by default.
    pub const fn is_usual(self) -> bool {
        !matches!(self, Stand::Specials | Stand::Addresses | Stand::Bare | Stand::Longer)
    }
}

impl Range {
    /// Returns true if the range contains a constant.
    pub const fn has(&self, bits: u64) -> bool {
        let value = bits as i64;
        self.least <= value && value <= self.most && value.unsigned_abs().is_multiple_of(self.step)
    }

    /// Describes the constants: `128`, `0 to 15`, `24 to 256 by 8`.
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
    /// Returns true if its values are untyped bits or integers.
    pub fn is_word(&self) -> bool {
        matches!(self.kind, Kind::Bits | Kind::Unsigned | Kind::Signed)
    }

    /// Returns true if a register of this type is accepted where a vector or a call expects the other type: both have
    /// the same width, and are the same type, both integers, or one of them is untyped bits.
    pub fn goes_with(&self, other: &TypeInfo) -> bool {
        let bits = self.kind == Kind::Bits || other.kind == Kind::Bits;
        self.bits == other.bits && (bits || self.name == other.name || self.is_word() && other.is_word())
    }
}

/// A part of declarations or directives that is not introduced by a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feature {
    /// Parameters of kernels.
    KernelParameters,
    /// Total size of a kernel's parameters in bytes.
    KernelParameterBytes,
    /// Parameters and results of functions in memory.
    MemoryParameters,
    /// Alignment in bytes of function parameters.
    ParameterAlignment,
    /// Last parameter that is an array of unspecified length.
    OpenParameters,
    /// Pointer annotations of parameters: `.ptr`.
    Pointers,
    /// Kernels without a body.
    KernelPrototypes,
    /// Addresses of variables in initializers.
    AddressValues,
    /// Generic addresses in initializers: `generic(x)`.
    GenericAddressValues,
    /// Bytes of addresses in initializers: `0xff(x)`.
    AddressByteValues,
    /// Addresses of functions in initializers.
    FunctionValues,
    /// Addresses of kernels in initializers.
    KernelValues,
    /// Timestamp and size of a source file: `.file 1 "name", 5, 6`.
    FileTimes,
    /// Inlined call sites: `.loc 1 2 3, function_name f, inlined_at 1 2 3`.
    InlinedLocations,
}

impl Feature {
    /// All variants.
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

    /// Name in a spec.
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
    /// Returns true if it follows a label in a function body, which names what it lists.
    pub fn is_labeled(&self) -> bool {
        self.branches || self.targets || self.prototype
    }

    /// Returns true if it excludes the other directive in the same header.
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
    /// Returns true if a name refers to this register.
    pub fn is_called(&self, name: &str) -> bool {
        let Some(number) = name.strip_prefix(self.name) else { return false };
        match self.count {
            0 => number.is_empty(),
            count => number.parse().is_ok_and(|found: u8| found < count) && (number == "0" || !number.starts_with('0')),
        }
    }
}

impl Table {
    /// Returns the directive with this name, without its dot.
    pub fn directive(&self, name: &str) -> Option<&'static Directive> {
        self.directives.iter().find(|directive| directive.name == name)
    }

    /// Returns the requirements of a part of declarations, in ascending order of their maximum.
    pub fn declared(&self, name: &str) -> impl Iterator<Item = &'static Declared> {
        self.declarations.iter().filter(move |declared| declared.name == name)
    }

    /// Returns the requirement of a word of declarations, given without its dot.
    pub fn declared_word(&self, word: &str) -> Option<&'static Declared> {
        self.declarations.iter().find(|declared| declared.name.strip_prefix('.') == Some(word))
    }

    /// Returns the state space with this name, or the one that it is a part of: `shared::cta` is in `shared`.
    pub fn space(&self, name: &str) -> Option<&'static Space> {
        let behind = |space: &&Space| name.strip_prefix(space.name);
        self.spaces.iter().find(|space| behind(space).is_some_and(|part| part.is_empty() || part.starts_with("::")))
    }

    /// Returns the special register with this name.
    pub fn special(&self, name: &str) -> Option<&'static Special> {
        let own = self.specials.iter().find(|special| special.is_called(name));
        own.or_else(|| self.base?.special(name))
    }

    /// Returns the target with this name.
    ///
    /// # Errors
    ///
    /// If the name is malformed or unknown; suggests the nearest target.
    pub fn target(&self, name: &str) -> Result<Target, NameError> {
        let target: Target = name.parse()?;
        let known = || self.targets.iter().map(|known| known.target);
        match known().any(|known| known == target) {
            true => Ok(target),
            false => Err(NameError::NoTarget(target, known().min_by_key(|known| known.sm.abs_diff(target.sm)))),
        }
    }

    /// Returns the version with this name.
    ///
    /// # Errors
    ///
    /// If the name is malformed or unknown; suggests the nearest version.
    pub fn version(&self, name: &str) -> Result<Version, NameError> {
        let version: Version = name.parse()?;
        if self.versions.contains(&version) {
            return Ok(version);
        }
        let before = self.versions.iter().rev().find(|known| **known < version).or(self.versions.first());
        Err(NameError::NoVersion(version, before.copied()))
    }

    /// Returns the form with this canonical mnemonic: modifiers in the manual's order, no spaces.
    #[inline]
    pub fn form(&'static self, mnemonic: &str) -> Option<FormInfo> {
        match self.forms.index(mnemonic) {
            Some(index) => Some(FormInfo { table: self, index: index as u32 }),
            None => self.form_of_base(mnemonic),
        }
    }

    fn form_of_base(&self, mnemonic: &str) -> Option<FormInfo> {
        // The base is not asked for an opcode that this table describes itself.
        let form = self.base?.form(mnemonic)?;
        self.own(form.instruction().data().opcode).is_none().then_some(form)
    }

    /// Returns this table's own form with this index.
    pub fn form_at(&'static self, index: usize) -> Option<FormInfo> {
        (index < self.forms.len()).then_some(FormInfo { table: self, index: index as u32 })
    }

    /// Returns every form: those of the base, then its own.
    pub fn forms(&'static self) -> impl Iterator<Item = FormInfo> {
        let instructions = self.instructions();
        instructions.flat_map(|instruction| instruction.forms())
    }

    fn own(&self, opcode: &str) -> Option<usize> {
        self.instructions.binary_search_by(|instruction| instruction.opcode.cmp(opcode)).ok()
    }

    /// Returns the instruction that a mnemonic names, modifiers in any order; the longest matching opcode wins.
    pub fn instruction_of(&'static self, mnemonic: &str) -> Option<InstructionInfo> {
        let ends = mnemonic.match_indices('.').map(|(dot, _)| dot).chain([mnemonic.len()]).take(WORDS);
        ends.filter_map(|end| self.instruction(&mnemonic[..end])).last()
    }

    /// Returns the instruction with this opcode.
    pub fn instruction(&'static self, opcode: &str) -> Option<InstructionInfo> {
        match self.own(opcode) {
            Some(index) => Some(InstructionInfo { table: self, index }),
            None => self.base?.instruction(opcode),
        }
    }

    /// Returns every instruction: those of the base, then its own, each sorted by opcode.
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

    /// Returns the properties of a type.
    #[inline]
    pub fn ty(&self, id: TypeId) -> &'static TypeInfo {
        &self.types[id.index()]
    }

    /// Returns the type with this name, without its dot.
    pub fn type_named(&self, name: &str) -> Option<TypeId> {
        self.types.iter().position(|ty| ty.name == name).map(|index| TypeId(index as u8))
    }

    /// Returns the families of targets.
    pub fn families(&self) -> Families<'static> {
        Families(self.families)
    }

    /// Returns the note that the assembler accepts a deviation, if it does.
    #[inline]
    pub fn takes(&self, lenient: Lenient) -> Option<&'static str> {
        self.lenient[lenient as usize]
    }

    /// Returns the index of this table's own form of an instruction with these members in its slots; [`ABSENT`] omits a
    /// slot, and [`FOREIGN`] is a modifier that is not a member of the slot.
    ///
    /// # Errors
    ///
    /// The rules that refuse the combination.
    pub fn select(&'static self, instruction: usize, values: &[u8]) -> Result<usize, IllegalForm> {
        let instruction = InstructionInfo { table: self, index: instruction };
        let refusal = IllegalForm::new(instruction, values);
        // Free modifiers are not part of a form.
        let bound = |slot: u8| !instruction.slots[usize::from(slot)].free;
        let spelt = instruction.syntaxes().iter().find(|syntax| syntax.spells_where(values, bound));
        let index = spelt.and_then(|syntax| self.forms.index(&instruction.spell(syntax, values)));
        index.ok_or(refusal)
    }
}

impl Forms {
    /// Number of forms.
    pub const fn len(&self) -> usize {
        self.syntax.len()
    }

    /// Returns true if there are no forms.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the mnemonic of a form.
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

    /// Returns the form with this canonical mnemonic.
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

    /// Returns the form in the place of a key, if it is occupied.
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
    /// Returns its data, which does not depend on the form.
    pub fn data(&self) -> &'static Instruction {
        &self.table.instructions[self.index]
    }

    /// Returns its index among the table's own instructions.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns the table that owns it.
    pub fn table(&self) -> &'static Table {
        self.table
    }

    /// Returns the syntax lines of all its entries, in the spec's order.
    pub fn syntaxes(&self) -> &'static [Syntax] {
        let Instruction { first_syntax, syntaxes, .. } = *self.data();
        &self.table.syntaxes[usize::from(first_syntax)..][..usize::from(syntaxes)]
    }

    /// Returns its forms, grouped by syntax line.
    pub fn forms(&self) -> impl Iterator<Item = FormInfo> + use<> {
        let (table, first) = (self.table, u32::from(self.data().first_form));
        (first..first + u32::from(self.data().forms)).map(move |index| FormInfo { table, index })
    }

    /// Mnemonic that a syntax line spells for these slot values, without free modifiers.
    pub fn spell(&self, syntax: &Syntax, values: &[u8]) -> String {
        self.spelt(syntax, values, false)
    }

    /// Mnemonic that a syntax line spells for these slot values, with free modifiers.
    pub fn spell_all(&self, syntax: &Syntax, values: &[u8]) -> String {
        self.spelt(syntax, values, true)
    }

    /// Splits slot values into a form and its free modifiers; `None` if there is no such form.
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
    /// Returns true if the line has a slot for every modifier, and a modifier for every required slot.
    pub fn spells(&self, values: &[u8]) -> bool {
        self.spells_where(values, |_| true)
    }

    /// As [`Syntax::spells`], for the slots that `asked` accepts.
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
    /// Returns true if the rule refuses a combination of modifiers.
    pub fn refuses(&self, values: &[u8]) -> bool {
        self.forbids.iter().all(|forbidden| forbidden.holds(values))
    }
}

impl Forbidden {
    /// Returns true if its slot has one of its values.
    pub fn holds(&self, values: &[u8]) -> bool {
        let value = values[usize::from(self.slot)];
        value <= ABSENT && self.values >> value & 1 != 0
    }
}

/// Free modifiers of a statement: the member in each slot of its instruction, or [`ABSENT`].
///
/// Aligned to a word: otherwise it is copied bytewise, and the loads that follow stall on store forwarding.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(align(8))]
pub struct Free([u8; SLOTS]);

impl Free {
    /// No free modifiers.
    pub const NONE: Free = Free([ABSENT; SLOTS]);

    /// Selects the free modifiers from the slot values of an instruction.
    pub fn of(instruction: InstructionInfo, values: &[u8]) -> Free {
        let mut free = Free::NONE;
        for (slot, value) in values.iter().enumerate().filter(|(slot, _)| instruction.slots[*slot].free) {
            free.0[slot] = *value;
        }
        free
    }

    /// Returns the member in a slot, or [`ABSENT`].
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
    /// Adds the surrounding punctuation to the text of the operand.
    pub fn with_around(&self, text: &str) -> String {
        alloc::format!("{}{text}{}", self.around.before(), self.around.behind())
    }

    /// Returns the operand in the manual's notation.
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

/// Returns the index of a modifier among the members of a slot, or [`FOREIGN`].
pub fn member<T: PartialEq>(members: &[T], value: T) -> u8 {
    members.iter().position(|member| *member == value).map_or(FOREIGN, |index| index as u8)
}

/// Returns the index of a modifier among the members of a slot, [`ABSENT`] if there is none, or [`FOREIGN`].
pub fn optional_member<T: PartialEq>(members: &[T], value: Option<T>) -> u8 {
    value.map_or(ABSENT, |value| member(members, value))
}

/// Error: no form has this mnemonic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownMnemonic;

impl fmt::Display for UnknownMnemonic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no form of the table has this mnemonic")
    }
}

impl core::error::Error for UnknownMnemonic {}

/// Error: a combination of modifiers is not a form. Its text gives the reasons.
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

    /// Returns the instruction whose modifiers they are.
    pub fn instruction(&self) -> InstructionInfo {
        self.instruction
    }

    /// Returns the rules that refuse the combination; none if no syntax line spells it.
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
