//! Syntax tree of the spec language, with spans and without interpretation.

use std::rc::Rc;

use isa_table::notation::Around;
use proc_macro2::{Span, TokenStream};

pub(crate) use super::ident::Ident;

/// Text of the `///` lines before an item, joined, without the leading space.
pub(crate) type Docs = String;

/// A whole spec: its items in order.
#[derive(Clone, Debug, Default)]
pub struct Spec {
    /// Items, each with its start.
    pub(crate) items: Vec<(Span, Item)>,
    /// Items of its libraries.
    pub(crate) library: Vec<(Span, Item)>,
    /// True if library tokens come from the fallback lexer, while the spec's come from the compiler.
    pub(crate) beside: bool,
}

#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant, reason = "nearly all items are instructions, the largest")]
pub(crate) enum Item {
    /// `use prelude;`
    Use(Ident),
    /// `bodies crate::bodies;`
    Bodies {
        path: TokenStream,
        span: Span,
    },
    Versions(Vec<Version>),
    Targets(Vec<TargetGroup>),
    /// `families { sm_100, sm_103; }`
    Families(Vec<Vec<Target>>),
    /// `manual 9.2 "https://…" { … }`
    Manual(Manual),
    Types(Vec<Type>),
    Class(Class),
    Builtin(Builtin),
    Own(Own),
    Effect(Effect),
    Function(Function),
    Operator(Operator),
    Words(Words),
    Map(Map),
    Fragment(Fragment),
    Layout(Layout),
    Lenient(Vec<LenientNote>),
    Special(Vec<Special>),
    /// `spaces { … }`
    Spaces(Vec<Space>),
    /// `directives { … }`
    Directives(Vec<Directive>),
    /// `set scope = { .cta, .gpu };`
    Set(NamedSet),
    /// `modifiers { .ftz; }`
    Modifiers(Vec<Word>),
    Template(Template),
    Declarations(Vec<Declared>),
    /// `scalarize { cvt: .sat; }`
    Scalarize(Vec<Scalarized>),
    Instruction(Instruction),
}

/// The manual whose section numbers the entries cite.
#[derive(Clone, Debug)]
pub(crate) struct Manual {
    pub span: Span,
    pub version: Version,
    pub address: String,
    /// Number, title and place of each.
    pub chapters: Vec<(String, String, Span)>,
}

impl Item {
    /// Names that it declares, except opcodes and paths of Rust.
    pub(crate) fn names(&self) -> Vec<&Ident> {
        match self {
            Item::Types(types) => types.iter().map(|ty| &ty.name).collect(),
            Item::Class(class) => vec![&class.name],
            Item::Builtin(builtin) => vec![&builtin.signature.name],
            Item::Own(own) => vec![&own.name],
            Item::Effect(effect) => vec![&effect.name],
            Item::Function(function) => vec![&function.signature.name],
            Item::Operator(operator) => vec![&operator.name],
            Item::Words(words) => vec![&words.name],
            Item::Map(map) => vec![&map.name],
            Item::Fragment(fragment) => vec![&fragment.name],
            Item::Layout(layout) => vec![&layout.name],
            Item::Set(set) => vec![&set.name],
            Item::Template(template) => vec![&template.name],
            Item::Spaces(spaces) => spaces.iter().map(|space| &space.name).collect(),
            Item::Directives(directives) => directives.iter().map(|directive| &directive.name).collect(),
            Item::Use(_)
            | Item::Bodies { .. }
            | Item::Versions(_)
            | Item::Targets(_)
            | Item::Families(_)
            | Item::Lenient(_)
            | Item::Declarations(_)
            | Item::Scalarize(_)
            | Item::Manual(_)
            | Item::Special(_)
            | Item::Modifiers(_)
            | Item::Instruction(_) => Vec::new(),
        }
    }
}

/// `7.8`
#[derive(Clone, Debug)]
pub(crate) struct Version {
    pub span: Span,
    pub major: u8,
    pub minor: u8,
}

/// `ptx 1.0: sm_10, sm_11;`
#[derive(Clone, Debug)]
pub(crate) struct TargetGroup {
    pub since: Version,
    pub targets: Vec<Target>,
}

/// `sm_90a`
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub span: Span,
    pub value: isa_table::target::Target,
}

/// `.b16: bits 16 registers { … } constants { … };`
#[derive(Clone, Debug)]
pub(crate) struct Type {
    pub docs: Docs,
    pub name: Ident,
    pub shape: TypeShape,
    pub registers: Vec<Ident>,
    pub constants: Vec<Ident>,
}

#[derive(Clone, Debug)]
pub(crate) enum TypeShape {
    /// `bits 16`, `float 16 exponent 8`
    Scalar { kind: Ident, bits: Number, exponent: Option<Number> },
    /// `2 of .f16`
    Packed { lanes: Number, of: Ident },
}

/// A small number and its span.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Number {
    pub value: u32,
    pub span: Span,
}

/// `class float = { .f32, .f64 };`
#[derive(Clone, Debug)]
pub(crate) struct Class {
    pub docs: Docs,
    pub name: Ident,
    pub types: Vec<Ident>,
}

/// Types named individually or by class: `unsigned, .f32`.
#[derive(Clone, Debug)]
pub(crate) enum TypeSet {
    Type(Ident),
    Class(Ident),
}

/// Signature of a builtin or a function: `lt<T: unsigned, float>(a: T, b: T) -> .pred`
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    pub docs: Docs,
    pub name: Ident,
    /// Name of the type parameter and the types it ranges over.
    pub generic: Option<(Ident, Vec<TypeSet>)>,
    /// Second type parameter, that of the result, which the caller names.
    pub to: Option<(Ident, Vec<TypeSet>)>,
    pub params: Vec<(Ident, ParamType)>,
    pub result: ParamType,
}

/// `builtin count<T: .pred>(x: [T]) -> .u32 warp;`
#[derive(Clone, Debug)]
pub(crate) struct Builtin {
    pub signature: Signature,
    /// True if there is a body for all lanes of a warp at once.
    pub warp: bool,
}

/// `fn gt<T: unsigned>(a: T, b: T) -> .pred { b < a }`, with named values before the last expression
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub signature: Signature,
    pub lets: Vec<(Ident, Expr)>,
    pub body: Expr,
}

/// `own lane: .u32;`: property of a thread within its warp
#[derive(Clone, Debug)]
pub(crate) struct Own {
    pub docs: Docs,
    pub name: Ident,
    pub ty: Ident,
}

#[derive(Clone, Debug)]
pub(crate) enum ParamType {
    /// `.u32`
    Type(Ident),
    /// `warp .u32`: the value in every thread of the warp
    Warp(Box<ParamType>),
    /// `T`, or a list of words
    Generic(Ident),
    /// `[T]`: any number of lanes
    Lanes(Ident),
    /// `lanes 4 of 8`
    Pick { span: Span, lanes: Number, of: Number },
    /// `one of { .b0, .b1 }`: a listed selector with these words in this order
    Listed { span: Span, words: Vec<Ident> },
}

/// `operator CmpOp(a, b) { … }`
#[derive(Clone, Debug)]
pub(crate) struct Operator {
    pub docs: Docs,
    pub name: Ident,
    pub params: Vec<Ident>,
    pub members: Vec<OperatorMember>,
}

/// `lo = a < b for unsigned;`
#[derive(Clone, Debug)]
pub(crate) struct OperatorMember {
    pub docs: Docs,
    pub name: Ident,
    pub body: Expr,
    /// Empty for `absent`.
    pub domain: Vec<TypeSet>,
}

/// `words Rounding { rn; rz; }`, `words FunnelDirection of opcode { l; r; }`: modifiers that parameterize a computation
#[derive(Clone, Debug)]
pub(crate) struct Words {
    pub docs: Docs,
    pub name: Ident,
    /// `of opcode`: they directly follow the opcode.
    pub of_opcode: bool,
    pub members: Vec<(Docs, Ident)>,
}

/// `map wide { .u16: .u32; .u32: .u64; }`: a mapping of types
#[derive(Clone, Debug)]
pub(crate) struct Map {
    pub name: Ident,
    pub pairs: Vec<(Ident, Ident)>,
}

/// `fragment left { row = lane >> 2; column = …; }`: distribution of matrix elements over lanes
#[derive(Clone, Debug)]
pub(crate) struct Fragment {
    pub docs: Docs,
    pub name: Ident,
    /// `matrix`, `row`, `column`
    pub places: Vec<(Ident, Expr)>,
}

/// `layout descriptor of 64 { 0 to 13: start; }`: a bit layout
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub docs: Docs,
    pub name: Ident,
    pub bits: Number,
    pub fields: Vec<BitField>,
}

/// `0 to 13: start;` with its description
#[derive(Clone, Debug)]
pub(crate) struct BitField {
    pub docs: Docs,
    pub low: Number,
    pub high: Number,
    pub name: Ident,
}

/// `a, b: left by 4 where .shape == .m8n8k16, right;`: fragments or bit layouts of operands
#[derive(Clone, Debug)]
pub(crate) struct FragmentOf {
    pub names: Vec<Ident>,
    pub cases: Vec<FragmentCase>,
}

/// `left by 4 where .shape == .m8n8k16`
#[derive(Clone, Debug)]
pub(crate) struct FragmentCase {
    pub name: Ident,
    pub by: Option<Number>,
    pub condition: Option<Expr>,
}

/// `.maxntid entry numbers 1 to 3 without { .reqntid }: ptx 1.3, sm_10;`: a directive and its contexts
#[derive(Clone, Debug)]
pub(crate) struct Directive {
    pub docs: Docs,
    pub name: Ident,
    /// `module`, `body`, `entry`, `function`, `attribute`, `option`
    pub places: Vec<Ident>,
    pub numbers: Option<(Number, Number)>,
    /// Directives that it excludes.
    pub without: Vec<Ident>,
    /// `until 2.1`
    pub until: Option<Version>,
    pub floor: Option<Requirement>,
}

/// `.local generic constants;`, `.samplerref opaque option texmode_independent;`: a state space and its properties
#[derive(Clone, Debug)]
pub(crate) struct Space {
    pub docs: Docs,
    pub name: Ident,
    /// `of block`
    pub memory: Option<Ident>,
    /// `generic`, `constants`, `opaque`
    pub attributes: Vec<Ident>,
    /// `option texmode_independent`
    pub option: Option<Ident>,
    /// `inside 3.0`
    pub inside: Option<Version>,
    /// `until 1.5`
    pub until: Option<Version>,
}

/// `%tid, %ntid: 4 of .u32, .u16 ptx 1.0, sm_10;`: a special register
#[derive(Clone, Debug)]
pub(crate) struct Special {
    pub docs: Docs,
    pub names: Vec<SpecialName>,
    /// Number of elements of a vector.
    pub elements: Option<Number>,
    /// Its own type, then the other types as which it may be read.
    pub types: Vec<Ident>,
    pub floor: Requirement,
}

/// `effect update(at: address, change: program) -> value;`: an effect beyond registers
#[derive(Clone, Debug)]
pub(crate) struct Effect {
    pub docs: Docs,
    pub name: Ident,
    /// Parameters with their kinds: `operand`, `word`, `program`.
    pub params: Vec<(Ident, Ident)>,
    /// True if it returns a value.
    pub result: bool,
}

/// `%envreg<32>`
#[derive(Clone, Debug)]
pub(crate) struct SpecialName {
    pub name: Ident,
    /// Source of its value.
    pub origin: Option<Ident>,
    /// Number of registers with this name, numbered from zero.
    pub count: Option<Number>,
}

/// `.b128: ptx 8.3, sm_70;`, `"frequency": ptx 9.0, sm_10;`, `kernel_parameter_bytes 4352: ptx 1.5, sm_10;`:
/// requirement of a part of a declaration or directive
#[derive(Clone, Debug)]
pub(crate) struct Declared {
    pub docs: Docs,
    pub span: Span,
    /// Name, including the dot of a word and the quotes of a string.
    pub name: String,
    /// Maximum of a counted quantity.
    pub most: Option<Number>,
    pub floor: Requirement,
}

/// `modifier_order;` with its description
#[derive(Clone, Debug)]
pub(crate) struct LenientNote {
    pub docs: Docs,
    pub name: Ident,
}

/// `set shared = { .shared, .shared::cta };`, `free set scope = { .cta, .gpu };`
#[derive(Clone, Debug)]
pub(crate) struct NamedSet {
    pub docs: Docs,
    pub name: Ident,
    /// True if modifiers with these members are free.
    pub free: bool,
    pub body: SetBody,
}

/// `.cluster "Threads of the cluster.": ptx 7.8, sm_90;`: a modifier word with its description
#[derive(Clone, Debug)]
pub(crate) struct Word {
    pub docs: Docs,
    pub name: Ident,
    /// Required by every form that has the word.
    pub floor: Option<Requirement>,
}

/// `template binary($value) { … }`: blocks shared by entries
#[derive(Clone, Debug)]
pub(crate) struct Template {
    /// Further paragraphs of the descriptions of the entries that use it.
    pub docs: Docs,
    pub name: Ident,
    pub params: Vec<Ident>,
    pub body: TokenStream,
}

/// `use binary(x + y);` in an entry
#[derive(Clone, Debug)]
pub(crate) struct Use {
    pub name: Ident,
    pub args: Vec<TokenStream>,
}

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

/// `without { constants } where .type == .bf16`, `with { addresses }`: accepted and refused substitutes of an operand
#[derive(Clone, Debug)]
pub(crate) struct Stands {
    pub with: bool,
    pub kinds: Vec<Ident>,
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
    pub stands: Vec<Stands>,
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

/// A statement of semantics.
#[derive(Clone, Debug)]
pub(crate) enum Stmt {
    /// `t = a CmpOp b;`
    Assign { target: Ident, value: Expr },
    /// `d = unspecified where b == 0;`
    Unspecified { target: Ident, condition: Expr },
    /// `write(a, b);`
    Effect { call: Expr },
    /// `if (.add) { … } else { … }`
    If { condition: Expr, then: Vec<Stmt>, otherwise: Vec<Stmt> },
}

/// An expression of semantics, or a condition of `legal`, `requires` and `where`.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub span: Span,
    pub kind: ExprKind,
}

#[derive(Clone, Debug)]
pub(crate) enum ExprKind {
    /// An operand, a selector, a local or `target`.
    Name(Ident),
    /// `.ftz`, `.stype`, `.f32`
    Dotted(Ident),
    /// `sm_20`
    Target(Target),
    /// From `-0x8000_0000_0000_0000` to `0xffff_ffff_ffff_ffff`.
    Integer(i128),
    Float(f64),
    Unary(UnaryOp, Box<Expr>),
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// `a CmpOp b`
    Infix(Ident, Box<Expr>, Box<Expr>),
    /// `flush(a)`, `BoolOp(t, c)`, `convert.s32(a)`
    Call(Ident, Option<Ident>, Vec<Expr>),
    /// `c ? a : b`
    Choose(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `c as .u8x4`
    As(Box<Expr>, Ident),
    /// `.dtype in float`, `.type in { .f16, .bf16 }`
    In(Box<Expr>, Vec<TypeSet>),
    /// `t[0]`
    Index(Box<Expr>, Number),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnaryOp {
    Not,
    Complement,
    Neg,
}

/// Operators of expressions; all but the logical ones are shorthands of builtins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BinaryOp {
    /// `||`, on conditions known per form
    LogicalOr,
    /// `&&`, on conditions known per form
    LogicalAnd,
    Or,
    Xor,
    And,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    Shl,
    Shr,
    Add,
    Sub,
    Mul,
}

impl UnaryOp {
    pub(crate) const fn builtin(self) -> &'static str {
        match self {
            UnaryOp::Not | UnaryOp::Complement => "not",
            UnaryOp::Neg => "neg",
        }
    }

    pub(crate) const fn symbol(self) -> &'static str {
        match self {
            UnaryOp::Not => "!",
            UnaryOp::Complement => "~",
            UnaryOp::Neg => "-",
        }
    }
}

impl BinaryOp {
    /// Builtin that an operator calls.
    pub(crate) const fn builtin(self) -> &'static str {
        match self {
            BinaryOp::LogicalOr | BinaryOp::Or => "or",
            BinaryOp::LogicalAnd | BinaryOp::And => "and",
            BinaryOp::Xor => "xor",
            BinaryOp::Eq => "eq",
            BinaryOp::Ne => "ne",
            BinaryOp::Lt => "lt",
            BinaryOp::Le => "le",
            BinaryOp::Gt => "gt",
            BinaryOp::Ge => "ge",
            BinaryOp::Shl => "shl",
            BinaryOp::Shr => "shr",
            BinaryOp::Add => "add",
            BinaryOp::Sub => "sub",
            BinaryOp::Mul => "mul",
        }
    }

    pub(crate) const fn symbol(self) -> &'static str {
        match self {
            BinaryOp::LogicalOr => "||",
            BinaryOp::LogicalAnd => "&&",
            BinaryOp::Or => "|",
            BinaryOp::Xor => "^",
            BinaryOp::And => "&",
            BinaryOp::Eq => "==",
            BinaryOp::Ne => "!=",
            BinaryOp::Lt => "<",
            BinaryOp::Le => "<=",
            BinaryOp::Gt => ">",
            BinaryOp::Ge => ">=",
            BinaryOp::Shl => "<<",
            BinaryOp::Shr => ">>",
            BinaryOp::Add => "+",
            BinaryOp::Sub => "-",
            BinaryOp::Mul => "*",
        }
    }

    /// Precedence, as in C: higher binds tighter.
    pub(crate) const fn precedence(self) -> u8 {
        match self {
            BinaryOp::LogicalOr => 1,
            BinaryOp::LogicalAnd => 2,
            BinaryOp::Or => 3,
            BinaryOp::Xor => 4,
            BinaryOp::And => 5,
            BinaryOp::Eq | BinaryOp::Ne => 6,
            BinaryOp::Lt | BinaryOp::Le | BinaryOp::Gt | BinaryOp::Ge => 7,
            BinaryOp::Shl | BinaryOp::Shr => 8,
            BinaryOp::Add | BinaryOp::Sub => 9,
            BinaryOp::Mul => 10,
        }
    }
}
