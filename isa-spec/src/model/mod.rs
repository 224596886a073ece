//! The resolved spec: names have become indices; what was written is kept for what is computed from it.
//!
//! This module holds data only. [`resolve`] makes it, [`crate::check`] reads it.
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

use std::rc::Rc;

pub(crate) use fragment::{Fragment, Held, Share};
use isa_table::notation::Around;
pub(crate) use isa_table::page::{ChapterBuf, FieldBuf, ManualBuf};
pub(crate) use isa_table::program::Own;
pub(crate) use isa_table::selector::{Kind as SelectorKind, Permission, SelectorBuf};
pub(crate) use isa_table::table::{
    BoundBuf, Constants, DeclaredBuf, DirectiveBuf, EffectKind, Feature, Kind, Lenient, Memory, OperandKind, Origin,
    RangeBuf, SpaceBuf, SpecialBuf, Stand, TypeId, TypeSet,
};
pub(crate) use isa_table::target::{Target, Version};
use proc_macro2::{Span, TokenStream};
pub use resolve::resolve;

use crate::syntax::ast::{Docs, Example, Expr, Scalarized, Stmt};
use crate::text::Diagnostic;

/// Index into [`Model::builtins`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct BuiltinId(pub usize);

/// Index into [`Model::operators`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct OperatorId(pub usize);

/// What operands are called that are addresses, and the class of registers that hold one.
pub(crate) const ADDRESS: &str = "address";

/// Why a form cannot be executed where the spec gives no reason.
pub(crate) const NOT_DESCRIBED: &str = "what it does is not described";

/// What a map has for each type.
pub(crate) type Pairs = Rc<[(TypeId, TypeId)]>;

/// A resolved spec: what [`check`](crate::check()) takes.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// The module with the builtins' bodies, where the spec names it.
    pub(crate) bodies: Option<TokenStream>,
    /// Whether there are entries of a table that this one stands on.
    pub(crate) has_base: bool,
    /// Ascending.
    pub(crate) versions: Vec<Version>,
    /// Ascending, each with the first version that knows it.
    pub(crate) targets: Vec<(Target, Version)>,
    /// The SM numbers of each family of targets.
    pub(crate) families: Vec<Vec<u16>>,
    /// Forms that get no loop over lanes.
    pub(crate) scalarized: Vec<Scalarized>,
    /// The manual that sections are those of.
    pub(crate) manual: Option<ManualBuf>,
    /// Those of a library first.
    pub(crate) types: Vec<Type>,
    pub(crate) classes: Vec<Class>,
    pub(crate) builtins: Vec<Builtin>,
    pub(crate) functions: Vec<Function>,
    /// What a thread is in its warp, with its type and what it says.
    pub(crate) own: Vec<(Own, TypeId, Docs)>,
    /// What instructions may do beyond registers.
    pub(crate) effects: Vec<Effect>,
    pub(crate) operators: Vec<Operator>,
    pub(crate) lenient: Vec<(Lenient, Docs)>,
    pub(crate) declarations: Vec<DeclaredBuf>,
    /// The lists of words that selectors are chosen from.
    pub(crate) words: Vec<Vec<String>>,
    pub(crate) maps: Vec<(String, Pairs)>,
    /// Named sets, with their descriptions.
    pub(crate) sets: Vec<(String, Docs)>,
    /// Words of modifiers that stand for themselves, with their descriptions.
    pub(crate) vocabulary: Vec<(String, Docs)>,
    pub(crate) fragments: Vec<Fragment>,
    pub(crate) layouts: Vec<Layout>,
    pub(crate) specials: Vec<SpecialBuf>,
    pub(crate) spaces: Vec<SpaceBuf>,
    pub(crate) directives: Vec<DirectiveBuf>,
    /// The names of what a thread holds beside its registers.
    pub(crate) states: Vec<String>,
    /// Sorted by name.
    pub(crate) opcodes: Vec<Opcode>,
}

#[derive(Clone, Debug)]
pub(crate) struct Type {
    pub name: String,
    /// Whether a library declares it.
    pub base: bool,
    pub docs: Docs,
    pub kind: Kind,
    /// Of the whole value.
    pub bits: u32,
    /// Bits of a float's exponent; 0 for the other kinds.
    pub exponent: u32,
    pub lanes: u32,
    /// Of one lane; the type itself where it is not packed.
    pub lane: TypeId,
    pub registers: TypeSet,
    /// What may be written for an operand in place of a register.
    pub constants: Constants,
}

/// An effect as the prelude declares it.
#[derive(Clone, Debug)]
pub(crate) struct Effect {
    pub docs: Docs,
    /// The name with its parameters: `write(at, x, order, scope)`.
    pub text: String,
    pub kind: EffectKind,
    pub params: Vec<EffectParam>,
    pub result: bool,
}

/// What stands for a parameter of an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EffectParam {
    /// An operand of the form.
    Operand,
    /// A free modifier.
    Word,
    /// What is computed from sources and the old value.
    Program,
}

#[derive(Clone, Debug)]
pub(crate) struct Class {
    pub name: String,
    pub docs: Docs,
    pub types: Vec<TypeId>,
}

/// What a builtin or a function takes and gives.
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    pub name: String,
    pub docs: Docs,
    /// How it is called: `flush(x)`.
    pub text: String,
    /// The types its parameter ranges over, if it has one.
    pub generic: Option<Vec<TypeId>>,
    /// The types that the result's own parameter ranges over, if it has one: the caller names it.
    pub to: Option<Vec<TypeId>>,
    /// Of values; lists of words come behind them.
    pub params: Vec<Param>,
    /// For each of them whether it is the value in every thread of the warp.
    pub of_warp: Vec<bool>,
    /// The lists of words of which it takes one each.
    pub modes: Vec<OperatorId>,
    pub result: Param,
}

/// What has a body in Rust.
#[derive(Clone, Debug)]
pub(crate) struct Builtin {
    pub signature: Signature,
    /// Whether there is a body for all lanes of a warp at once.
    pub warp: bool,
}

/// What is said by builtins and other functions.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub span: Span,
    pub signature: Signature,
    /// The names of its parameters, words behind values.
    pub names: Vec<String>,
    /// The names of its type parameter and of its result's.
    pub types: [Option<String>; 2],
    /// Values with names of their own.
    pub lets: Vec<(String, Expr)>,
    pub body: Expr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Param {
    Type(TypeId),
    Generic,
    /// Any number of lanes of the type parameter.
    GenericLanes,
    /// The result's own type.
    To,
    Pick(Pick),
}

/// The lanes that a selector picks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Pick {
    pub lanes: u8,
    pub of: u8,
    /// The list of words that it is one of, as an index of [`Model::words`].
    pub words: Option<usize>,
}

#[derive(Clone, Debug)]
pub(crate) struct Operator {
    pub name: String,
    pub span: Span,
    /// Whether a library declares it.
    pub base: bool,
    pub docs: Docs,
    /// None where it is a list of words.
    pub params: Vec<String>,
    pub members: Vec<OperatorMember>,
    /// Whether its words belong to the opcode and stand right behind it.
    pub of_opcode: bool,
    /// What the operator means where its modifier is left out.
    pub absent: Option<Expr>,
}

#[derive(Clone, Debug)]
pub(crate) struct OperatorMember {
    pub name: String,
    pub docs: Docs,
    /// None where it is a word.
    pub body: Option<Expr>,
    pub domain: Vec<TypeId>,
    /// The domain as it was written: `unsigned integers, floats`.
    pub domain_text: String,
}

/// Forms that the manual does not list and the assembler takes.
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

/// A place for a modifier, shared by the entries of an opcode.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub name: String,
    pub kind: SlotKind,
    pub members: Vec<Member>,
    /// Whether its words are no part of a form: rules hold them, and statements keep them.
    pub free: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SlotKind {
    /// One of an operator's members.
    Operator(OperatorId),
    /// A type.
    Type,
    /// A fixed word that is there or not.
    Flag,
    /// One of some words, which are free.
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
    /// Itself.
    Flag,
}

#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub span: Span,
    /// Where it names the first of the templates whose blocks it has.
    pub from_template: Option<Span>,
    /// Whether it is of the table that this one stands on.
    pub base: bool,
    /// What else people call it.
    pub also: Vec<String>,
    pub docs: Docs,
    pub section: String,
    pub syntaxes: Vec<Syntax>,
    pub operands: Vec<Operand>,
    /// What of matrices operands hold; of those of one operand the first of which the condition holds.
    pub fragments: Vec<Held>,
    /// What the bits of operands mean.
    pub layouts: Vec<Laid>,
    /// What the entry is not about: another entry may be.
    pub narrowed: Vec<OnlyIf>,
    /// Slots of modifiers that are said to change nothing.
    pub unread: Vec<(usize, Span)>,
    pub legal: Vec<OnlyIf>,
    pub requires: Vec<Requirement>,
    /// What it does beyond registers, before what it computes.
    pub effects: Vec<Stmt>,
    /// Why it cannot be executed; empty if it can.
    pub lacks: String,
    /// What it computes; `None` where that is nothing.
    pub semantics: Option<Vec<Stmt>>,
    /// Later ones go before earlier ones.
    pub bounds: Vec<Bound>,
    pub lenient_floors: Vec<(Requirement, Docs)>,
    /// Forms that only the assembler takes: which, and why.
    pub lenient_forms: Vec<LenientForms>,
    pub errata: Vec<Erratum>,
    pub examples: Vec<Example>,
}

/// What the bits of a value mean.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub name: String,
    pub docs: Docs,
    pub bits: u32,
    pub fields: Vec<FieldBuf>,
}

/// An operand whose bits have a layout, where a condition holds.
#[derive(Clone, Debug)]
pub(crate) struct Laid {
    pub span: Span,
    /// Index into [`Entry::operands`].
    pub operand: usize,
    /// Index into [`Model::layouts`].
    pub layout: usize,
    pub condition: Option<Expr>,
}

/// How far a machine's result may be from the exact one, for forms of which the condition holds.
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub condition: Option<Expr>,
    pub distance: BoundBuf,
}

#[derive(Clone, Debug)]
pub(crate) struct Syntax {
    pub span: Span,
    /// The line as it was written, blanks evened.
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
    /// The members this line allows, indices into [`Slot::members`].
    pub members: Vec<usize>,
}

/// An operand of a syntax line: names are indices into [`Entry::operands`].
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub operand: usize,
    pub destination: bool,
    pub second: Option<(usize, Permission<String>)>,
    /// A bar and a sink behind a destination that has no second one.
    pub trailing_sink: Permission<String>,
    pub negation: Permission<String>,
    pub selector: Option<Selector>,
    /// Whether this operand and those behind it may be left out.
    pub optional: bool,
    pub around: Around,
}

/// The lanes or the mask behind an operand.
#[derive(Clone, Debug)]
pub(crate) struct Selector {
    pub spelling: SelectorBuf,
    /// What semantics get; `None` for a mask, which is a predicate for each lane.
    pub pick: Option<Pick>,
}

#[derive(Clone, Debug)]
pub(crate) struct Operand {
    pub name: String,
    pub span: Span,
    /// What it is: the first of which the condition holds.
    pub cases: Vec<TypeCase>,
    /// The registers it may be, where the entry says so; else its type says.
    pub registers: Option<TypeSet>,
    /// What can or cannot stand for it, the later word against the earlier one.
    pub stands: Vec<Stands>,
    pub sink: bool,
    /// Whether an element of it may be a sink, where it is a vector.
    pub sinks: bool,
    /// Said so in an entry without semantics, which would tell.
    pub destination: bool,
    /// Whether it may be a wider register of its type's kind, of which it is the lowest bits.
    pub wider: bool,
    /// Whether nothing but a constant may stand for it.
    pub immediate: bool,
    /// The constants that may stand for it; any if there are none.
    pub within: Vec<RangeBuf>,
    /// Whether no value depends on it: it is only said who waits for whom.
    pub unread: bool,
    pub state: Option<State>,
    /// The forms that have it; all of them if there is none.
    pub condition: Option<Expr>,
}

impl Operand {
    /// Whether the name of a variable may stand for it.
    pub(crate) fn may_be_variable(&self) -> bool {
        self.stands.iter().any(|stands| stands.with && stands.kinds.contains(&Stand::Addresses))
    }
}

/// Whether some things may stand for an operand: always, or where a condition holds.
#[derive(Clone, Debug)]
pub(crate) struct Stands {
    pub with: bool,
    pub kinds: Vec<Stand>,
    pub condition: Option<Rc<Expr>>,
}

/// What an operand is that no statement writes: part of the state of a thread.
#[derive(Clone, Debug)]
pub(crate) struct State {
    /// Index into [`Model::states`].
    pub number: usize,
    /// The forms that have it; all of them if there is none.
    pub condition: Option<Expr>,
}

/// What an operand is in some forms.
#[derive(Clone, Debug)]
pub(crate) struct TypeCase {
    pub ty: OperandType,
    pub kind: OperandKind,
    /// Of an address: the spaces it may be in.
    pub spaces: Spaces,
    pub condition: Option<Expr>,
}

/// The state spaces that an address may be in.
#[derive(Clone, Debug)]
pub(crate) enum Spaces {
    /// What a modifier says; any where it is left out.
    Slot(usize),
    /// These; any where there are none.
    Listed(Vec<String>),
}

#[derive(Clone, Debug)]
pub(crate) enum OperandType {
    Fixed(TypeId),
    /// The type in a slot.
    Slot(usize),
    /// What a map has for the type in a slot.
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
    /// Whether it says from when on there are no such forms.
    pub removed: bool,
    pub ptx: Option<Version>,
    /// One of these; none where it asks for no target.
    pub targets: Vec<Target>,
}

#[derive(Clone, Debug)]
pub(crate) struct Erratum {
    pub subject: Docs,
    pub manual: String,
    pub machine: String,
}

impl Model {
    pub(crate) fn ty(&self, id: TypeId) -> &Type {
        &self.types[id.index()]
    }

    /// The registers that hold addresses: those of the class of this name.
    pub(crate) fn address_registers(&self) -> TypeSet {
        self.class_named(ADDRESS).map(|class| class.types.iter().copied().collect()).unwrap_or_default()
    }

    /// The registers that an operand of some kind and type may be.
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
        // Of a type without registers of its own there are no wider ones.
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

    /// Every type with its index.
    pub(crate) fn type_ids(&self) -> impl Iterator<Item = (TypeId, &Type)> {
        self.types.iter().enumerate().map(|(index, ty)| (TypeId(index as u8), ty))
    }

    pub(crate) fn type_named(&self, name: &str) -> Option<TypeId> {
        self.type_ids().find(|(_, ty)| ty.name == name).map(|(id, _)| id)
    }

    /// The type of truth values.
    pub(crate) fn predicate(&self) -> Option<TypeId> {
        self.type_ids().find(|(_, ty)| ty.kind == Kind::Predicate).map(|(id, _)| id)
    }

    pub(crate) fn operator_named(&self, name: &str) -> Option<OperatorId> {
        self.operators.iter().position(|operator| operator.name == name).map(OperatorId)
    }

    pub(crate) fn class_named(&self, name: &str) -> Option<&Class> {
        self.classes.iter().find(|class| class.name == name)
    }

    /// Whether one target has what another one is said to have.
    pub(crate) fn target_has(&self, target: Target, wanted: Target) -> bool {
        let families: Vec<&[u16]> = self.families.iter().map(Vec::as_slice).collect();
        isa_table::target::Families(&families).has(target, wanted)
    }

    /// The same without what the table says that this one stands on.
    pub(crate) fn own(mut self) -> Model {
        self.opcodes.retain(|opcode| !opcode.is_base());
        self
    }

    /// The same with one opcode only.
    pub(crate) fn only(&self, opcode: &str) -> Model {
        let opcodes = self.opcodes.iter().filter(|other| other.name == opcode).cloned().collect();
        Model { opcodes, ..self.clone() }
    }

    /// The targets that have what one of these and one of those have.
    pub(crate) fn targets_of_both(&self, these: &[Target], those: &[Target]) -> Vec<Target> {
        let families: Vec<&[u16]> = self.families.iter().map(Vec::as_slice).collect();
        isa_table::target::Families(&families).both(these, those)
    }
}

impl Opcode {
    /// Whether all that is said of it is said by the table that this one stands on.
    pub(crate) fn is_base(&self) -> bool {
        self.entries.iter().all(|entry| entry.base)
    }

    /// What an operand is for a choice of modifiers; `None` where the choice leaves it open.
    ///
    /// # Errors
    ///
    /// A condition that modifiers do not decide.
    pub(crate) fn operand_case<'a>(
        &self,
        model: &Model,
        operand: &'a Operand,
        choice: &choice::Choice,
    ) -> Result<Option<(&'a TypeCase, TypeId)>, Diagnostic> {
        let scope = choice::Scope { model, opcode: self, choice, sm: None, free: false };
        for case in &operand.cases {
            if case.condition.as_ref().map_or(Ok(true), |condition| scope.holds(condition))? {
                let ty = match &case.ty {
                    OperandType::Fixed(ty) => Some(*ty),
                    OperandType::Slot(slot) => choice.ty(self, *slot),
                    OperandType::Mapped(slot, pairs) => choice
                        .ty(self, *slot)
                        .and_then(|ty| pairs.iter().find(|(from, _)| *from == ty).map(|(_, to)| *to)),
                };
                return Ok(ty.map(|ty| (case, ty)));
            }
        }
        Ok(None)
    }

    /// The type of an operand of a form.
    pub(crate) fn operand_type(&self, model: &Model, operand: &Operand, choice: &choice::Choice) -> Option<TypeId> {
        self.operand_case(model, operand, choice).ok().flatten().map(|(_, ty)| ty)
    }

    /// Every type that this may be.
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
    /// What a pattern's operand is called: by its own name, or by the state's that it is.
    pub(crate) fn shown<'a>(&'a self, model: &'a Model, pattern: &Pattern) -> &'a str {
        let operand = &self.operands[pattern.operand];
        operand.state.as_ref().map_or(&operand.name, |state| &model.states[state.number])
    }

    /// Whether an operand of this name is among some that are written; `None` if the entry has no such operand.
    pub(crate) fn is_written(&self, name: &str, patterns: &[Pattern]) -> Option<bool> {
        let operand = self.operands.iter().position(|operand| operand.name == name)?;
        let second = |pattern: &Pattern| pattern.second.as_ref().is_some_and(|(second, _)| *second == operand);
        Some(patterns.iter().any(|pattern| pattern.operand == operand || second(pattern)))
    }

    /// Those of some operands that a statement writes.
    pub(crate) fn written<'a>(&'a self, patterns: &'a [Pattern]) -> &'a [Pattern] {
        let states = patterns.iter().rev().take_while(|pattern| self.operands[pattern.operand].state.is_some());
        &patterns[..patterns.len() - states.count()]
    }
}

/// How many operands may be written, and those that then are: all, or all but those at the end that may be left out.
pub(crate) fn arities(patterns: &[Pattern]) -> impl Iterator<Item = &[Pattern]> {
    let least = patterns.iter().filter(|pattern| !pattern.optional).count();
    (least..=patterns.len())
        .filter(move |count| *count == least || *count == patterns.len())
        .map(|count| &patterns[..count])
}
