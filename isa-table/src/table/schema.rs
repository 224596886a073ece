//! Schema of a table: the structs that hold its data.

#[cfg(feature = "write")]
use alloc::string::String;

use super::{Around, Constants, EffectList, Kind, Measure, Memory, NonFinite, OperandKind, Origin};
use crate::constant::contents;
use crate::hash::SHORT;
use crate::matrix::{BitLayout, Fragment, Share, Summation};
use crate::program::Programs;
use crate::selector::{Permission, Selector};
use crate::target::{Floor, Target, Version};

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
        let mut left = self.0;
        core::iter::from_fn(move || {
            let next = (left != 0).then(|| TypeId(left.trailing_zeros() as u8));
            left &= left.wrapping_sub(1);
            next
        })
    }
}

impl FromIterator<TypeId> for TypeSet {
    fn from_iter<I: IntoIterator<Item = TypeId>>(types: I) -> TypeSet {
        types.into_iter().fold(TypeSet::default(), TypeSet::with)
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
        /// For each [`Lenient`](super::Lenient), the note that the assembler accepts it in any statement; `None` if the spec has no
        /// such note and it is refused.
        lenient: &'static [Option<&'static str>],
        /// Special registers.
        specials: &'static [Special],
        /// State spaces, those of the base first.
        spaces: &'static [Space],
        /// Modifiers that order accesses to memory, those of the base first.
        orders: &'static [MemoryOrder],
        /// Directives, those of the base first.
        directives: &'static [Directive],
        /// Distributions of matrices over lanes.
        fragments: &'static [Fragment],
        /// How products of matrices are summed.
        summations: &'static [Summation],
        /// Bit layouts of operands.
        layouts: &'static [BitLayout],
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
        /// True if a module with this option must have a `.section`.
        sections: bool,
        /// True if a function with results does not have it.
        resultless: bool,
        /// True if no directive precedes it in the header of a device function.
        first: bool,
        /// True if no directive follows it in the header of a device function, which then has a body.
        last: bool,
        /// Minimum number of integer arguments in a header.
        least: u8,
        /// Maximum number of integer arguments in a header.
        most: u8,
        /// Minimum of each argument.
        from: u32,
        /// Maximum of each argument.
        up_to: u32,
        /// Directives that it requires in the same header.
        with: &'static [&'static str],
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
        /// Name: a word with its dot (`.b128`), a string with its quotes (`"frequency"`), a field of a [`Space`], or the name of a
        /// [`Feature`](super::Feature).
        name: &'static str,
        /// Maximum of a counted quantity, 0 if none; a larger amount requires the next entry of the name.
        most: u64,
        /// True if the string is only for `.pragma` in bodies of functions.
        inside: bool,
        /// True if an integer follows the string's first word.
        number: bool,
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
        /// True if with that option each instruction that can have an operand in it must have one.
        required: bool,
        /// True if a word may follow an address in it: `[a].unified`.
        suffixes: bool,
        /// Modifier for its window with the parameters of the kernel or function: `param::entry`.
        kernel: Option<&'static str>,
        /// Modifier for its window with the arguments of calls and the parameters of functions other than kernels:
        /// `param::func`.
        function: Option<&'static str>,
        /// Number of its banks, with numbers from zero in brackets behind its name: `const[2]`. Zero if it has none.
        banks: u8,
        /// Size in bytes of the memory of each owner on the targets that have most of it; `None` if that is not known.
        limit: Option<u64>,
        /// Size in bytes of what the system reserves of the memory of each owner, beyond `limit`.
        reserved: u64,
        /// Allocation granularity of the memory of each owner in bytes.
        unit: u64,
        /// True if its variables may have initializers.
        values: bool,
        /// True if variables of opaque types may be declared in it.
        opaques: bool,
        /// True if its variables may be vectors.
        vectors: bool,
        /// True if its variables may be `.common`, or have an `.attribute`.
        common: bool,
        /// Fields of the initializers of its variables, if it is opaque.
        fields: &'static [&'static str],
        /// Words that may be values of such fields, if opaque variables may be declared in it.
        words: &'static [&'static str],
        /// First version that allows its variables within functions only.
        inside: Option<Version>,
        /// First version that no longer has the space.
        until: Option<Version>,
        /// Description.
        description: &'static str,
    }

    /// A modifier that orders accesses to memory: section 8.4 of the manual. Accesses with one are strong: threads that access the same bytes
    /// by them, without any other order, do not race.
    MemoryOrder, MemoryOrderBuf {
        /// The modifier without its dot: `acq_rel`.
        name: &'static str,
        /// True if it acquires: later accesses of the thread observe what the thread that wrote had released.
        acquires: bool,
        /// True if it releases: earlier accesses of the thread become visible to threads that acquire.
        releases: bool,
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
        /// Maximum of each element that a launch may choose; empty if there is none.
        limit: &'static [u32],
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
        /// Width of a float's fraction in bits; 0 for other types.
        fraction: u8,
        /// Special values of a float: infinities and NaNs.
        beyond: NonFinite,
        /// Number of zero bits below it where it is padded to a byte.
        padding: u8,
        /// Number of lanes of a packed type; 1 for other types.
        lanes: u8,
        /// Type of one lane; the type itself if it is not packed.
        lane: TypeId,
        /// Declared register types accepted for an operand of this type. Empty for types that exist inside semantics
        /// only.
        registers: TypeSet,
        /// Types of other registers that the assembler accepts beside registers of this type in a vector, as if they had this
        /// type.
        beside: TypeSet,
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
        /// True if it is about the code that the assembler makes of the instruction, whose results are not those that the instruction has.
        compiled: bool,
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
        /// Members that any syntax line allows here, without their dots, in the spec's order. [`FormInfo::values`](super::FormInfo::values) and
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
        /// Index of its instruction in [`Data::instructions`].
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
        /// True if `_` may be written for it.
        sink: bool,
        /// True if `_` may be written for elements of it, if it is a vector or a list.
        sinks: bool,
        /// True if a constant may be written for it; its type says which.
        constants: bool,
        /// Accepted constants; all if empty.
        within: &'static [Range],
        /// True if the manual lists constants for it even if it is a predicate.
        listed_constants: bool,
        /// True if a register or variable plus a constant may be written for it.
        sums: bool,
        /// True if an element of a vector register may be written for it.
        elements: bool,
        /// True if the name of a function may be written for it.
        functions: bool,
        /// True if a special register may be written for it, if that has the operand's type.
        specials: bool,
        /// True if the name of a variable may be written for it: its address; then that of a function, too.
        addresses: bool,
        /// True if its register may be an integer where that of another element of its vector is a float, and the like.
        mixtures: bool,
        /// True if constants of a vector without registers need not be written as 32 bits, `0f…`.
        numbers: bool,
        /// True if a register alone may be written for a vector.
        bare: bool,
        /// True if a vector of two or four may be written for one of fewer elements.
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
        /// Fragments that its registers hold: one for all statements, or for some of their free modifiers each.
        fragments: &'static [Share],
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
    /// Encodes the name of a mnemonic; a mnemonic that does not fit is appended to `long_names`.
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

/// Marks a form without an evaluator in [`Forms::evaluations`].
pub const NO_EVALUATION: u32 = u32::MAX;

/// Slot value that means "absent".
pub const ABSENT: u8 = 63;

/// Slot value of a modifier that is not a member of the slot.
pub const FOREIGN: u8 = ABSENT + 1;
