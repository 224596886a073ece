//! Entries: an instruction with its blocks.

use std::rc::Rc;

use isa_table::notation::Around;
use proc_macro2::{Span, TokenStream};

use super::*;

/// `instruction set { … }`
#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    pub docs: Docs,
    pub opcode: Ident,
    /// Templates that it uses.
    pub uses: Vec<Use>,
    /// Its own blocks, to be parsed after those of templates.
    pub body: TokenStream,
    /// Position of its first use of a template, once expanded.
    pub from_template: Option<Span>,
    pub section: Option<(String, Span)>,
    /// `summary "Adds two values.";`: summary of the opcode, which fits all its entries.
    pub summary: Option<(String, Span)>,
    /// `also "shuffle", "exchange lanes";`: other names and search terms.
    pub also: Vec<(String, Span)>,
    pub syntax: Vec<SyntaxLine>,
    pub sets: Vec<Set>,
    /// Conditions on every line.
    pub narrowed: Vec<OnlyIf>,
    /// `free { .weak };`: modifiers that are not part of a form's name.
    pub free: Vec<Ident>,
    /// `unread { .rnd };`: modifiers that have no effect.
    pub unread: Vec<Ident>,
    pub operands: Vec<OperandType>,
    pub fragments: Vec<FragmentOf>,
    pub layouts: Vec<FragmentOf>,
    pub legal: Vec<OnlyIf>,
    pub requires: Vec<Requirement>,
    pub semantics: Option<Semantics>,
    /// Later ones take precedence.
    pub bounds: Vec<Bound>,
    pub lenient_syntax: Vec<SyntaxLine>,
    pub lenient_floors: Vec<LenientFloor>,
    pub lenient_forms: Vec<LenientForms>,
    pub errata: Vec<Erratum>,
    pub examples: Vec<Example>,
}

impl Instruction {
    /// Creates an entry without blocks, which are to be parsed from the tokens.
    pub(crate) fn new(docs: Docs, opcode: Ident, body: TokenStream) -> Instruction {
        Instruction {
            docs,
            opcode,
            uses: Vec::new(),
            body,
            from_template: None,
            section: None,
            summary: None,
            also: Vec::new(),
            syntax: Vec::new(),
            sets: Vec::new(),
            narrowed: Vec::new(),
            free: Vec::new(),
            unread: Vec::new(),
            operands: Vec::new(),
            fragments: Vec::new(),
            layouts: Vec::new(),
            legal: Vec::new(),
            requires: Vec::new(),
            semantics: None,
            bounds: Vec::new(),
            lenient_syntax: Vec::new(),
            lenient_floors: Vec::new(),
            lenient_forms: Vec::new(),
            errata: Vec::new(),
            examples: Vec::new(),
        }
    }
}

/// `ulps 2;`, `.type == .f16: relative "2^-9.9";`: maximum error of a machine's result
#[derive(Clone, Debug)]
pub(crate) struct Bound {
    pub condition: Option<Expr>,
    /// `ulps`, `absolute` or `relative`
    pub measure: Ident,
    pub value: String,
    /// Numeric value.
    pub amount: f64,
}

/// `rsqrt, sin;`, `cvt: .sat;`: forms without a loop over lanes
#[derive(Clone, Debug)]
pub(crate) struct Scalarized {
    pub opcodes: Vec<Ident>,
    /// All forms of the opcodes if absent.
    pub condition: Option<Expr>,
}

/// Semantics of an entry.
#[derive(Clone, Debug)]
pub(crate) enum Semantics {
    /// `semantics none "textures are not modeled";`: not executable, and the reason.
    None(String),
    /// `semantics { … }`
    Statements(Vec<Stmt>),
}

/// `set.CmpOp{.ftz}.dtype.stype  d, a, b, {!}c  where … ;`
#[derive(Clone, Debug)]
pub(crate) struct SyntaxLine {
    /// Note of a lenient line.
    pub docs: Docs,
    pub opcode: Ident,
    pub modifiers: Vec<Modifier>,
    pub operands: Vec<Pattern>,
    pub condition: Option<Expr>,
}

/// `.dtype` or `{.ftz}`
#[derive(Clone, Debug)]
pub(crate) struct Modifier {
    pub name: Ident,
    pub optional: bool,
}

/// An operand of a syntax line.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    pub name: Ident,
    /// `{!}` before it.
    pub negatable: bool,
    /// `|q`, `[|q]` or `[|_]` after it.
    pub second: Option<(Ident, bool)>,
    /// `{.mask}` after it, or a mandatory `.dsel`.
    pub selector: Option<(Ident, bool)>,
    /// True if it and all that follow may be omitted: `{, policy}`.
    pub optional: bool,
    pub around: Around,
}

/// `.dtype = { .u32, .s32 };` and variants
#[derive(Clone, Debug)]
pub(crate) struct Set {
    pub name: Ident,
    pub body: SetBody,
}

#[derive(Clone, Debug)]
pub(crate) enum SetBody {
    /// `CmpOp { .eq, .ne }` or `{ .u32, .s32 }`
    Listed { operator: Option<Ident>, members: Vec<Ident> },
    /// `lanes .b 4 of 8 default .b3210`
    Lanes { letter: Ident, lanes: Number, of: Number, default: Ident },
    /// `subset .b of 4 default .b3210`
    Subset { letter: Ident, of: Number, default: Ident },
    /// `load_cache`: the set of this name
    Named(Ident),
}

/// `forms where .CmpOp in { .lo };` with its description: forms that only the assembler accepts
#[derive(Clone, Debug)]
pub(crate) struct LenientForms {
    pub docs: Docs,
    pub span: Span,
    pub condition: Expr,
}

/// `without { constants, .b128 } where .type == .bf16`, `with { addresses }`: accepted and refused substitutes of an operand
#[derive(Clone, Debug)]
pub(crate) struct SubstituteRule {
    pub with: bool,
    pub kinds: Vec<Ident>,
    /// Types of registers: `.b128`.
    pub registers: Vec<Ident>,
    pub condition: Option<Rc<Expr>>,
}

/// `16 to 64 by 16`; for a single number, both bounds are equal.
#[derive(Clone, Debug)]
pub(crate) struct Constants {
    pub least: (i64, Span),
    pub most: (i64, Span),
    pub step: Option<Number>,
}

/// `a, b: .stype register;`
#[derive(Clone, Debug)]
pub(crate) struct OperandType {
    pub names: Vec<Ident>,
    /// Kind and type: the first whose condition holds.
    pub cases: Vec<TypeCase>,
    /// `register`, `sink`, `destination`
    pub attributes: Vec<Ident>,
    /// `within 4, 8, 16 to 64 by 16`
    pub within: Vec<Constants>,
    /// `registers { .b32 }`
    pub registers: Option<Vec<Ident>>,
    /// `without { constants, sums } where .type == .bf16`
    pub substitutes: Vec<SubstituteRule>,
    pub state: Option<State>,
    /// `if .cache_hint`: condition on the forms that have them.
    pub condition: Option<Expr>,
}

/// `.type`, `2 of .type where .vec == .v2`
#[derive(Clone, Debug)]
pub(crate) struct TypeCase {
    pub what: OperandKind,
    /// `in .ss`, `in { .shared }`
    pub spaces: Vec<Ident>,
    pub condition: Option<Expr>,
}

/// Kind of an operand.
#[derive(Clone, Debug)]
pub(crate) enum OperandKind {
    /// `.type`, `wide(.type)`, `4 of .b32`, `.num.x of .b32`
    Value { count: Option<Count>, map: Option<Ident>, ty: Ident },
    /// `address`
    Address,
    /// `label`, `function`, `arguments`
    Other(Ident),
}

/// `4`, `.num.x`, `.shape.m * .shape.k / 64`: number of elements of a vector
#[derive(Clone, Debug)]
pub(crate) struct Count {
    pub first: Factor,
    /// Further factors; true for divisors.
    pub rest: Vec<(bool, Factor)>,
}

/// `4`, `.num.x`
#[derive(Clone, Debug)]
pub(crate) enum Factor {
    Number(Number),
    /// The number next to some letters in a modifier's word: 16 for `.shape.m` if the shape is `.m16n8k8`.
    Of {
        modifier: Ident,
        letters: Ident,
    },
}

/// `state CC.CF where .cc`: a thread state, not written in statements
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub span: Span,
    pub name: String,
    /// Condition on the forms that have it; `None` for all.
    pub condition: Option<Expr>,
}

/// `.ftz only if .stype == .f32;`
#[derive(Clone, Debug)]
pub(crate) struct OnlyIf {
    pub subject: Expr,
    pub condition: Expr,
    pub span: Span,
}

/// `.stype == .f64: ptx 1.4, sm_13;`
#[derive(Clone, Debug)]
pub(crate) struct Requirement {
    pub span: Span,
    pub condition: Option<Expr>,
    /// `removed ptx 6.4, sm_70;`: later versions no longer have it on these targets.
    pub removed: bool,
    pub ptx: Option<Version>,
    /// Alternatives: `sm_100a | sm_110a`.
    pub targets: Vec<Target>,
}

/// `ptx 1.0, sm_10 removed ptx 3.0, sm_10`: minimum version and target, and those from which on something is gone
#[derive(Clone, Debug)]
pub(crate) struct Lifetime {
    pub from: Requirement,
    pub removed: Option<Requirement>,
}

/// A minimum of the assembler's that is lower than the manual's, with its note.
#[derive(Clone, Debug)]
pub(crate) struct LenientFloor {
    pub docs: Docs,
    pub requirement: Requirement,
}

#[derive(Clone, Debug)]
pub(crate) struct Erratum {
    pub docs: Docs,
    pub manual: String,
    pub machine: String,
    /// True if it is about the code that the assembler makes of the instruction.
    pub compiled: bool,
}

/// An example statement; `refused` if the assembler refuses it although the manual shows it.
#[derive(Clone, Debug)]
pub(crate) struct Example {
    pub span: Span,
    pub refused: bool,
    /// Version and target that it is checked for: `ptx 7.0, sm_80:`.
    pub with: Option<Requirement>,
    /// The statement as it is written in PTX.
    pub text: String,
    pub opcode: Ident,
    pub modifiers: Vec<Ident>,
    pub operands: Vec<ExampleOperand>,
}

impl Example {
    /// True if it belongs to the table and the reference; examples refused only by some versions and targets serve the
    /// check alone.
    pub(crate) fn is_shown(&self) -> bool {
        !self.refused || self.with.is_none()
    }
}

/// `!c`, `p|q`, `a.b3210`
#[derive(Clone, Debug)]
pub(crate) struct ExampleOperand {
    pub span: Span,
    pub negated: bool,
    pub name: String,
    pub second: Option<String>,
    pub selector: Option<Ident>,
    /// Elements of a vector.
    pub elements: Vec<ExampleOperand>,
    pub around: Around,
}
