//! The resolved spec: names are replaced by indices; source text that generated items need is kept.
//!
//! This module holds data only: [`resolve`] creates it, [`crate::check`] reads it.
//!
//! ```text
//! instruction selp { …            Opcode { name: "selp",
//!     selp.type d, a, b, c;           slots:   [Slot { name: "type", members: b16, b32, … }],
//!     .type = { .b16, .b32, … };      entries: [Entry { syntaxes: [Syntax { items: [.type], patterns: [d, a, b, c] }],
//!     d, a, b: .type; c: .pred;                         operands: [d: slot 0, a: slot 0, b: slot 0, c: .pred], … }] }
//! ```

pub(crate) mod choice;
mod expand;
pub(crate) mod fragment;
mod resolve;

use std::collections::HashMap;
use std::rc::Rc;

pub(crate) use fragment::{Fragment, Held, Share};
pub(crate) use isa_table::matrix::{BitFieldBuf, BitLayoutBuf, Rounding, Sum, SumOfBuf, SummationBuf};
use isa_table::notation::Around;
pub(crate) use isa_table::page::{ChapterBuf, FieldBuf, ManualBuf};
pub(crate) use isa_table::program::{Linear, Own};
pub(crate) use isa_table::selector::{Kind as SelectorKind, Permission, SelectorBuf};
pub(crate) use isa_table::table::{
    BoundBuf, Constants, DeclaredBuf, DirectiveBuf, EffectKind, Feature, Kind, Lenient, Memory, MemoryOrderBuf,
    NonFinite, OperandKind, Origin, RangeBuf, SpaceBuf, SpecialBuf, Substitute, TypeId, TypeSet,
};
pub(crate) use isa_table::target::{Target, Version};
use proc_macro2::{Span, TokenStream};
pub use resolve::resolve;

use crate::syntax::ast::{Docs, Erratum, Example, Expr, Scalarized, Stmt};

/// Index into [`Model::builtins`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct BuiltinId(pub usize);

/// Callee of a call by name.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Callable {
    Builtin(BuiltinId),
    /// Index into [`Model::functions`].
    Function(usize),
}

/// Index into [`Model::operators`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct OperatorId(pub usize);

/// Kind name of address operands, and name of the class of registers that hold addresses.
pub(crate) const ADDRESS: &str = "address";

/// Default reason why a form cannot be executed.
pub(crate) const NOT_DESCRIBED: &str = "its semantics are not described";

/// Pairs of a type map.
pub(crate) type Pairs = Rc<[(TypeId, TypeId)]>;

/// A resolved spec, the input of [`check`](crate::check()).
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Module with the builtins' bodies, if the spec names it.
    pub(crate) bodies: Option<TokenStream>,
    /// True if some entries belong to a base table.
    pub(crate) has_base: bool,
    /// Ascending.
    pub(crate) versions: Vec<Version>,
    /// Ascending, each with the first version that knows it.
    pub(crate) targets: Vec<(Target, Version)>,
    /// The SM numbers of each family of targets.
    pub(crate) families: Vec<Vec<u16>>,
    /// Forms without a loop over lanes.
    pub(crate) scalarized: Vec<Scalarized>,
    /// The manual whose section numbers the entries cite.
    pub(crate) manual: Option<ManualBuf>,
    /// Types, those of a library first.
    pub(crate) types: Vec<Type>,
    pub(crate) classes: Vec<Class>,
    pub(crate) builtins: Vec<Builtin>,
    pub(crate) functions: Vec<Function>,
    /// Builtins and functions by name.
    pub(crate) callables: HashMap<String, Vec<Callable>>,
    /// Properties of a thread within its warp, with type and description.
    pub(crate) own: Vec<(Own, TypeId, Docs)>,
    /// Effects of instructions beyond registers.
    pub(crate) effects: Vec<Effect>,
    pub(crate) operators: Vec<Operator>,
    pub(crate) lenient: Vec<(Lenient, Docs)>,
    pub(crate) declarations: Vec<DeclaredBuf>,
    /// Word lists of selectors.
    pub(crate) words: Vec<Vec<String>>,
    pub(crate) maps: Vec<(String, Pairs)>,
    /// Named sets with their descriptions.
    pub(crate) sets: Vec<(String, Docs)>,
    /// Modifier words with their descriptions.
    pub(crate) vocabulary: Vec<(String, Docs)>,
    /// Those of them that order accesses to memory.
    pub(crate) orders: Vec<MemoryOrderBuf>,
    pub(crate) fragments: Vec<Fragment>,
    pub(crate) summations: Vec<SummationBuf>,
    pub(crate) layouts: Vec<Layout>,
    pub(crate) specials: Vec<SpecialBuf>,
    pub(crate) spaces: Vec<SpaceBuf>,
    pub(crate) directives: Vec<DirectiveBuf>,
    /// Names of thread states beside the registers.
    pub(crate) states: Vec<String>,
    /// Sorted by name.
    pub(crate) opcodes: Vec<Opcode>,
}

#[derive(Clone, Debug)]
pub(crate) struct Type {
    pub name: String,
    /// True if a library declares it.
    pub base: bool,
    pub docs: Docs,
    pub kind: Kind,
    /// Width of the whole value.
    pub bits: u32,
    /// Width of a float's exponent in bits; 0 for other kinds.
    pub exponent: u32,
    /// Width of a float's fraction in bits; 0 for other kinds.
    pub fraction: u32,
    pub beyond: NonFinite,
    /// Number of zero bits below it where it is padded to a byte.
    pub padding: u32,
    pub lanes: u32,
    /// Type of one lane; the type itself if it is not packed.
    pub lane: TypeId,
    pub registers: TypeSet,
    /// Types of registers that the assembler takes beside one of this type in a vector, as if they had this type.
    pub beside: TypeSet,
    /// Constants accepted as an operand of this type.
    pub constants: Constants,
}

/// Declaration of an effect.
#[derive(Clone, Debug)]
pub(crate) struct Effect {
    pub docs: Docs,
    /// Signature: `write(at, x, order, scope)`.
    pub text: String,
    pub kind: EffectKind,
    pub params: Vec<EffectParam>,
    pub result: bool,
}

/// Kind of an effect's parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EffectParam {
    /// An operand of the form.
    Operand,
    /// A modifier.
    Word,
    /// A summation.
    Summation,
    /// A bit layout.
    Layout,
    /// Types, any number of them: the last parameter.
    Types,
    /// A number.
    Number,
    /// A computation from the sources and the old value.
    Program,
}

#[derive(Clone, Debug)]
pub(crate) struct Class {
    pub name: String,
    pub docs: Docs,
    pub types: Vec<TypeId>,
}

/// Signature of a builtin or a function.
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    pub name: String,
    pub docs: Docs,
    /// Call notation: `flush(x)`.
    pub text: String,
    /// Types of the type parameter, if there is one.
    pub generic: Option<Vec<TypeId>>,
    /// Types of the result's own type parameter, if there is one, which the caller names.
    pub to: Option<Vec<TypeId>>,
    /// Value parameters; word parameters follow them.
    pub params: Vec<Param>,
    /// For each of them, true if it takes the values of all threads of the warp.
    pub of_warp: Vec<bool>,
    /// Word lists of the word parameters.
    pub modes: Vec<OperatorId>,
    pub result: Param,
}

/// A builtin, which has a body in Rust.
#[derive(Clone, Debug)]
pub(crate) struct Builtin {
    pub signature: Signature,
    /// True if there is a body for all lanes of a warp at once.
    pub warp: bool,
    /// How its result is linear in the index of a thread where its arguments are, whose width is that of the type.
    pub linear: Option<Linear>,
    /// Truth table of what it computes on predicates, if it is the builtin of a logical operator.
    pub truth: Option<u8>,
}

/// A function defined by builtins and other functions.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub span: Span,
    pub signature: Signature,
    /// Names of its parameters, values before words.
    pub names: Vec<String>,
    /// Names of its type parameter and of its result's.
    pub types: [Option<String>; 2],
    /// Named intermediate values.
    pub lets: Vec<(String, Expr)>,
    pub body: Expr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Param {
    Type(TypeId),
    Generic,
    /// Any number of lanes of the type parameter.
    GenericLanes,
    /// The result's own type parameter.
    To,
    Pick(Pick),
}

/// Lanes picked by a selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Pick {
    pub lanes: u8,
    pub of: u8,
    /// Index in [`Model::words`] of the word list it is chosen from, if any.
    pub words: Option<usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct Operator {
    pub name: String,
    pub span: Span,
    /// True if a library declares it.
    pub base: bool,
    pub docs: Docs,
    /// Empty for a list of words.
    pub params: Vec<String>,
    pub members: Vec<OperatorMember>,
    /// True if its words belong to the opcode and directly follow it.
    pub of_opcode: bool,
    /// Definition for an absent modifier.
    pub absent: Option<Expr>,
}

#[derive(Clone, Debug)]
pub(crate) struct OperatorMember {
    pub name: String,
    pub docs: Docs,
    /// `None` for a word.
    pub body: Option<Expr>,
    pub domain: Vec<TypeId>,
    /// Domain as written: `unsigned integers, floats`.
    pub domain_text: String,
}

/// Forms accepted by the assembler but not listed in the manual.
#[derive(Clone, Debug)]
pub(crate) struct LenientForms {
    pub span: Span,
    pub condition: Expr,
    pub text: Docs,
}

/// An opcode with all its entries.
#[derive(Clone, Debug)]
pub(crate) struct Opcode {
    pub name: String,
    pub slots: Vec<Slot>,
    pub entries: Vec<Entry>,
}

/// A modifier slot, shared by the entries of an opcode.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub name: String,
    pub kind: SlotKind,
    pub members: Vec<Member>,
    /// True if its words are not part of a form: they are checked by rules and kept with each statement.
    pub free: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotKind {
    /// Members of an operator.
    Operator(OperatorId),
    /// Types.
    Type,
    /// A single word, present or absent.
    Flag,
    /// Free words.
    Words,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Member {
    pub spelling: String,
    pub meaning: Meaning,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Index into [`Operator::members`].
    Operator(usize),
    Type(TypeId),
    /// The flag itself.
    Flag,
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub span: Span,
    /// Position of its first use of a template, if any.
    pub from_template: Option<Span>,
    /// True if it belongs to the base table.
    pub base: bool,
    /// Summary of its opcode, which fits all entries; at most one entry has it.
    pub summary: Option<(String, Span)>,
    /// Other names.
    pub also: Vec<String>,
    pub docs: Docs,
    pub section: String,
    pub syntaxes: Vec<Syntax>,
    pub operands: Vec<Operand>,
    /// Fragments held in operands; the first whose condition holds applies.
    pub fragments: Vec<Held>,
    /// Bit layouts of operands.
    pub layouts: Vec<Laid>,
    /// Conditions that delimit the entry: other combinations may belong to another entry.
    pub narrowed: Vec<OnlyIf>,
    /// Slots of modifiers declared to have no effect.
    pub unread: Vec<(usize, Span)>,
    pub legal: Vec<OnlyIf>,
    pub requires: Vec<Requirement>,
    /// Effects beyond registers, which precede the computation.
    pub effects: Vec<Stmt>,
    /// Reason why it cannot be executed; empty if it can.
    pub lacks: String,
    /// Statements that compute its results; `None` if there are none.
    pub semantics: Option<Vec<Stmt>>,
    /// Later ones take precedence.
    pub bounds: Vec<Bound>,
    pub lenient_floors: Vec<(Requirement, Docs)>,
    /// Forms that only the assembler accepts, with the reason.
    pub lenient_forms: Vec<LenientForms>,
    pub errata: Vec<Erratum>,
    pub examples: Vec<Example>,
}

/// Bit layout of a value.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub name: String,
    pub docs: Docs,
    pub bits: u32,
    pub fields: Vec<FieldBuf>,
}

impl Layout {
    /// Its fields for a table.
    pub(crate) fn buf(&self) -> BitLayoutBuf {
        let field =
            |field: &FieldBuf| BitFieldBuf { name: field.name.clone(), low: field.low as u8, high: field.high as u8 };
        BitLayoutBuf { name: self.name.clone(), fields: self.fields.iter().map(field).collect() }
    }
}

/// Bit layout of an operand under a condition.
#[derive(Clone, Debug)]
pub(crate) struct Laid {
    pub span: Span,
    /// Index into [`Entry::operands`].
    pub operand: usize,
    /// Index into [`Model::layouts`].
    pub layout: usize,
    pub condition: Option<Expr>,
}

/// Maximum error of a machine's result, for the forms that meet the condition.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub condition: Option<Expr>,
    pub distance: BoundBuf,
}

#[derive(Clone, Debug)]
pub(crate) struct Syntax {
    pub span: Span,
    /// The line as written, with normalized spacing.
    pub text: String,
    pub items: Vec<Item>,
    pub patterns: Vec<Pattern>,
    pub condition: Option<Expr>,
}

#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// Index into [`Opcode::slots`].
    pub slot: usize,
    pub optional: bool,
    /// Members that this line allows: indices into [`Slot::members`].
    pub members: Vec<usize>,
}

/// An operand of a syntax line.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub operand: usize,
    pub destination: bool,
    pub second: Option<(usize, Permission<String>)>,
    /// A bar and a sink after a destination that has no second one.
    pub trailing_sink: Permission<String>,
    pub negation: Permission<String>,
    pub selector: Option<Selector>,
    /// True if this operand and those after it may be omitted.
    pub optional: bool,
    pub around: Around,
}

/// Lane selector or mask of an operand.
#[derive(Clone, Debug)]
pub(crate) struct Selector {
    pub spelling: SelectorBuf,
    /// Lanes picked, for semantics; `None` for a mask, which is a predicate for each lane.
    pub pick: Option<Pick>,
}

#[derive(Clone, Debug)]
pub(crate) struct Operand {
    pub name: String,
    pub span: Span,
    /// Kind and type: the first whose condition holds.
    pub cases: Vec<TypeCase>,
    /// Accepted register types, if the entry narrows those of the type.
    pub registers: Option<TypeSet>,
    /// Accepted and refused substitutes; later rules take precedence.
    pub substitutes: Vec<SubstituteRule>,
    pub sink: bool,
    /// True if elements of a vector may be sinks.
    pub sinks: bool,
    /// True if declared as a destination, in an entry without semantics that would imply it.
    pub destination: bool,
    /// True if wider registers of the same kind are accepted, whose low bits are used.
    pub wider: bool,
    /// True if only constants are accepted.
    pub immediate: bool,
    /// Accepted constants; all if empty.
    pub within: Vec<RangeBuf>,
    /// True if no value depends on it, but only synchronization.
    pub unread: bool,
    pub state: Option<State>,
    /// Condition on the forms that have it; `None` for all.
    pub condition: Option<Expr>,
}

impl Operand {
    /// Returns true if the name of a variable is accepted.
    pub(crate) fn may_be_variable(&self) -> bool {
        self.substitutes.iter().any(|rule| rule.with && rule.kinds.contains(&Substitute::Addresses))
    }
}

/// Rule that accepts or refuses substitutes for an operand, always or under a condition.
#[derive(Clone, Debug)]
pub(crate) struct SubstituteRule {
    pub with: bool,
    pub kinds: Vec<Substitute>,
    /// Types of registers that are refused.
    pub registers: TypeSet,
    pub condition: Option<Rc<Expr>>,
}

/// Thread state that an operand denotes; statements do not write it.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// Index into [`Model::states`].
    pub number: usize,
    /// Condition on the forms that have it; `None` for all.
    pub condition: Option<Expr>,
}

/// Kind and type of an operand in some forms.
#[derive(Clone, Debug)]
pub(crate) struct TypeCase {
    pub ty: OperandType,
    pub kind: OperandKind,
    /// State spaces of an address.
    pub spaces: Spaces,
    pub condition: Option<Expr>,
}

/// State spaces of an address operand.
#[derive(Clone, Debug)]
pub(crate) enum Spaces {
    /// Given by a modifier; any if it is absent.
    Slot(usize),
    /// One of these; any if empty.
    Listed(Vec<String>),
}

#[derive(Clone, Debug)]
pub(crate) enum OperandType {
    Fixed(TypeId),
    /// Type in a slot.
    Slot(usize),
    /// Image, under a map, of the type in a slot.
    Mapped(usize, Pairs),
}

#[derive(Clone, Debug)]
pub(crate) struct OnlyIf {
    pub subject: Expr,
    pub condition: Expr,
    pub span: Span,
}

#[derive(Clone, Debug)]
pub(crate) struct Requirement {
    pub span: Span,
    pub condition: Option<Expr>,
    /// True for a removal.
    pub removed: bool,
    pub ptx: Option<Version>,
    /// Alternatives; empty if no target is required.
    pub targets: Vec<Target>,
}

impl Type {
    /// Width of a lane of this type in a packed value: the next power of two, of which it is the low bits.
    pub(crate) fn lane_bits(&self) -> u32 {
        self.bits.next_power_of_two()
    }
}

impl Model {
    pub(crate) fn ty(&self, id: TypeId) -> &Type {
        &self.types[id.index()]
    }

    /// Registers that hold addresses: the class [`ADDRESS`].
    pub(crate) fn address_registers(&self) -> TypeSet {
        self.class_named(ADDRESS).map(|class| class.types.iter().copied().collect()).unwrap_or_default()
    }

    /// Registers accepted for an operand of this kind and type.
    pub(crate) fn registers_of(&self, operand: &Operand, kind: OperandKind, ty: TypeId) -> TypeSet {
        let own = self.ty(ty);
        match kind {
            OperandKind::Label | OperandKind::Arguments | OperandKind::Branches | OperandKind::Targets => {
                return TypeSet::default();
            }
            OperandKind::Address | OperandKind::Function => {
                return operand.registers.unwrap_or_else(|| self.address_registers());
            }
            OperandKind::Scalar | OperandKind::Vector(_) if operand.immediate => return TypeSet::default(),
            OperandKind::Scalar | OperandKind::Vector(_) => {}
        }
        let registers = operand.registers.unwrap_or(own.registers);
        // A type without registers of its own has no wider ones.
        if !operand.wider || !own.registers.has(ty) {
            return registers;
        }
        let kin = |other: &Type| other.bits > own.bits && (other.kind == own.kind || other.kind == Kind::Bits);
        self.type_ids().filter(|(_, other)| kin(other)).fold(registers, |all, (id, other)| match own.kind {
            Kind::Bits => other.registers.iter().fold(all, TypeSet::with),
            Kind::Unsigned | Kind::Signed => {
                other.registers.iter().filter(|found| self.ty(*found).kind != Kind::Float).fold(all, TypeSet::with)
            }
            _ if other.kind == Kind::Bits => all.with(id),
            _ => all,
        })
    }

    /// Types with their indices.
    pub(crate) fn type_ids(&self) -> impl Iterator<Item = (TypeId, &Type)> {
        self.types.iter().enumerate().map(|(index, ty)| (TypeId(index as u8), ty))
    }

    pub(crate) fn type_named(&self, name: &str) -> Option<TypeId> {
        self.type_ids().find(|(_, ty)| ty.name == name).map(|(id, _)| id)
    }

    /// The predicate type.
    pub(crate) fn predicate(&self) -> Option<TypeId> {
        self.type_ids().find(|(_, ty)| ty.kind == Kind::Predicate).map(|(id, _)| id)
    }

    pub(crate) fn operator_named(&self, name: &str) -> Option<OperatorId> {
        self.operators.iter().position(|operator| operator.name == name).map(OperatorId)
    }

    pub(crate) fn class_named(&self, name: &str) -> Option<&Class> {
        self.classes.iter().find(|class| class.name == name)
    }

    /// Returns true if a target supports everything that another one does.
    pub(crate) fn target_has(&self, target: Target, wanted: Target) -> bool {
        let families: Vec<&[u16]> = self.families.iter().map(Vec::as_slice).collect();
        isa_table::target::Families(&families).has(target, wanted)
    }

    /// Removes the entries of the base table.
    pub(crate) fn own(mut self) -> Model {
        self.opcodes.retain(|opcode| !opcode.is_base());
        self
    }

    /// Reduces the model to one opcode.
    pub(crate) fn only(&self, opcode: &str) -> Model {
        let opcodes = self.opcodes.iter().filter(|other| other.name == opcode).cloned().collect();
        // Lines about other opcodes would match no form.
        let mut scalarized = self.scalarized.clone();
        scalarized.iter_mut().for_each(|line| line.opcodes.retain(|name| name == opcode));
        Model { opcodes, scalarized, ..self.clone() }
    }

    /// Returns the minimal set of targets that meet a target of `these` and a target of `those`.
    pub(crate) fn targets_of_both(&self, these: &[Target], those: &[Target]) -> Vec<Target> {
        let families: Vec<&[u16]> = self.families.iter().map(Vec::as_slice).collect();
        isa_table::target::Families(&families).both(these, those)
    }
}

impl Opcode {
    /// Returns true if it belongs to the base table entirely.
    pub(crate) fn is_base(&self) -> bool {
        self.entries.iter().all(|entry| entry.base)
    }

    /// Every type that this may denote.
    pub(crate) fn types_of(&self, ty: &OperandType) -> Vec<TypeId> {
        let of_slot = |slot: usize| {
            self.slots[slot].members.iter().filter_map(|member| match member.meaning {
                Meaning::Type(ty) => Some(ty),
                Meaning::Operator(_) | Meaning::Flag => None,
            })
        };
        match ty {
            OperandType::Fixed(ty) => vec![*ty],
            OperandType::Slot(slot) => of_slot(*slot).collect(),
            OperandType::Mapped(slot, pairs) => {
                let to = |ty| pairs.iter().find(|(from, _)| *from == ty).map(|(_, to)| *to);
                of_slot(*slot).filter_map(to).collect()
            }
        }
    }
}

impl Entry {
    /// Name of a pattern's operand, or of the state that it denotes.
    pub(crate) fn shown<'a>(&'a self, model: &'a Model, pattern: &Pattern) -> &'a str {
        let operand = &self.operands[pattern.operand];
        operand.state.as_ref().map_or(&operand.name, |state| &model.states[state.number])
    }

    /// Returns whether an operand of this name is among the written ones; `None` if the entry has no such operand.
    pub(crate) fn is_written(&self, name: &str, patterns: &[Pattern]) -> Option<bool> {
        let operand = self.operands.iter().position(|operand| operand.name == name)?;
        let second = |pattern: &Pattern| pattern.second.as_ref().is_some_and(|(second, _)| *second == operand);
        Some(patterns.iter().any(|pattern| pattern.operand == operand || second(pattern)))
    }

    /// Operands that a statement writes, states excluded.
    pub(crate) fn written<'a>(&'a self, patterns: &'a [Pattern]) -> &'a [Pattern] {
        let states = patterns.iter().rev().take_while(|pattern| self.operands[pattern.operand].state.is_some());
        &patterns[..patterns.len() - states.count()]
    }
}

/// Possible numbers of written operands, with the operands that are then written.
pub(crate) fn arities(patterns: &[Pattern]) -> impl Iterator<Item = &[Pattern]> {
    let least = patterns.iter().filter(|pattern| !pattern.optional).count();
    (least..=patterns.len())
        .filter(move |count| *count == least || *count == patterns.len())
        .map(|count| &patterns[..count])
}
