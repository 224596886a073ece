//! Declarations: what entries are described with.

use proc_macro2::{Span, TokenStream};

use super::*;

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
    /// `beside { .pred }`
    pub beside: Vec<Ident>,
    pub constants: Vec<Ident>,
}

#[derive(Clone, Debug)]
pub(crate) enum TypeShape {
    /// `bits 16`, `float 16 exponent 8`, `minifloat 8 exponent 4 fraction 3 nonfinite lone_nan`
    Scalar {
        kind: Ident,
        bits: Number,
        exponent: Option<Number>,
        fraction: Option<Number>,
        beyond: Option<Ident>,
        /// Number of zero bits below it where it is padded to a byte.
        padding: Option<Number>,
    },
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
    /// `linear sum`
    pub linear: Option<Ident>,
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

/// `summation halves { sm_75: fused fraction 24 step 16; }`: how products of matrices are summed
#[derive(Clone, Debug)]
pub(crate) struct Summation {
    pub docs: Docs,
    pub name: Ident,
    pub rows: Vec<SumRow>,
}

/// `sm_75: fused fraction 24 step 16;`: how they are summed from a target on
#[derive(Clone, Debug)]
pub(crate) struct SumRow {
    pub target: Target,
    pub kind: Ident,
    pub attributes: Vec<(Ident, Number)>,
    pub likely: bool,
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
    /// `from 0 to 11`: the values of its numbers.
    pub from: Option<(Number, Option<Number>)>,
    /// Directives that it requires.
    pub with: Vec<Ident>,
    /// Directives that it excludes.
    pub without: Vec<Ident>,
    /// `until 2.1`
    pub until: Option<Version>,
    pub lifetime: Option<Lifetime>,
}

/// `.local generic constants;`, `.samplerref opaque option texmode_independent;`: a state space and its properties
#[derive(Clone, Debug)]
pub(crate) struct Space {
    pub docs: Docs,
    pub name: Ident,
    /// `of block`
    pub memory: Option<Ident>,
    /// `generic`, `constants`, `opaque`, `required`
    pub attributes: Vec<Ident>,
    /// `option texmode_independent`
    pub option: Option<Ident>,
    /// `inside 3.0`
    pub inside: Option<Version>,
    /// `until 1.5`
    pub until: Option<Version>,
    /// `kernel .param::entry`
    pub kernel: Option<Ident>,
    /// `function .param::func`
    pub function: Option<Ident>,
    /// `banks 11`
    pub banks: Option<Number>,
    /// `limit 232448`
    pub limit: Option<Number>,
    /// `reserved 1024`
    pub reserved: Option<Number>,
    /// `unit 128`
    pub unit: Option<Number>,
    /// `fields { width, height }`
    pub fields: Vec<Ident>,
    /// `words { nearest, linear }`
    pub words: Vec<Ident>,
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
    /// `limit 1024, 1024, 64`: the maximum of each element.
    pub limit: Vec<Number>,
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
    pub origin: Ident,
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
    /// `inside`, `number`
    pub attributes: Vec<Ident>,
    pub lifetime: Lifetime,
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

/// `condition generic = !.ss;`: a condition on modifiers that entries refer to by name
#[derive(Clone, Debug)]
pub(crate) struct NamedCondition {
    pub name: Ident,
    pub value: Expr,
}

/// `.cluster "Threads of the cluster.": ptx 7.8, sm_90;`, `.acquire acquires "…";`: a modifier word with its description
#[derive(Clone, Debug)]
pub(crate) struct Word {
    pub docs: Docs,
    pub name: Ident,
    /// How it orders accesses to memory.
    pub attributes: Vec<Ident>,
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
