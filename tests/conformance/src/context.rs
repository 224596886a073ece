//! Module in which lines are judged: version, target, and registers of every type, named after the type.
//!
//! The names come from the table's types: `u32_0` to `u32_3`, the vector `v2_u32`. The module also declares variables
//! of every state space, parameters, functions, a prototype, tables and labels.

use ptx_isa::TABLE;
use ptx_isa::diagnostic::{Code, Severity};
use ptx_isa::table::{Kind, TypeId, TypeSet};
use ptx_isa::target::{Target, Version};
use ptx_isa::text::{Options, check};

use crate::assembler::Verdict;

/// Number of registers of each type.
pub(crate) const REGISTERS: usize = 4;

/// A module that lacks nothing but the lines to judge.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) version: Version,
    pub(crate) target: Target,
    head: String,
}

/// Declarations before the kernel.
const OUTSIDE: &str = "\
.global .u32 variable;
.global .u32 array[4];
.const .u32 constant_variable[4] = {1, 2, 3, 4};
.shared .f32 shared_variable;
.global .texref texture;
.global .surfref surface;
.func function() { ret; }
.func (.param .b32 result) callee(.param .b32 first, .param .b64 second) { ret; }
.func (.reg .b32 result) by_register(.reg .b32 first) { ret; }
.func by_bytes(.param .align 8 .b8 bytes[16]) { ret; }
";

/// The kernel's parameters.
const PARAMETERS: &str = ".param .u64 pointer, .param .u32 number, .param .align 8 .b8 structure[16]";

/// Declarations in the kernel beside registers; `other` is a label that only the table of labels names.
const INSIDE: &str = "\
.local .b32 local_variable;
.param .b32 word;
.param .b32 word_1;
.param .b64 two_words;
.param .align 8 .b8 bytes[16];
prototype: .callprototype (.param .b32 _) _ (.param .b32 _, .param .b64 _);
plain: .callprototype _ ();
list: .branchtargets label, other;
functions: .calltargets callee;
other:
";

/// The types that registers can be declared with.
pub(crate) fn declarable() -> impl Iterator<Item = TypeId> {
    TABLE.types.iter().flat_map(|ty| ty.registers.iter()).collect::<TypeSet>().iter()
}

/// Returns true if a vector of two such registers fits in 128 bits.
pub(crate) fn in_vectors(ty: TypeId) -> bool {
    let info = &TABLE.types[ty.index()];
    info.kind != Kind::Predicate && info.bits <= 64
}

impl Context {
    /// With registers of every type, and all that a name can be declared as.
    pub(crate) fn full(version: Version, target: Target) -> Context {
        let mut declarations = String::new();
        for ty in declarable() {
            let name = TABLE.types[ty.index()].name;
            declarations.push_str(&format!(".reg .{name} {name}_<{REGISTERS}>;\n"));
            if in_vectors(ty) {
                declarations.push_str(&format!(".reg .v2 .{name} v2_{name};\n"));
            }
        }
        declarations.push_str(INSIDE);
        Context::new(version, target, OUTSIDE, PARAMETERS, &declarations)
    }

    /// With registers of the types that every version knows, predicates and plain bits, a function and a table.
    pub(crate) fn plain(version: Version, target: Target) -> Context {
        let plain = |ty: &TypeId| matches!(TABLE.types[ty.index()].kind, Kind::Predicate | Kind::Bits);
        let mut declarations: String = declarable()
            .filter(plain)
            .map(|ty| TABLE.types[ty.index()].name)
            .filter(|name| *name != "b128")
            .map(|name| format!(".reg .{name} {name}_<{REGISTERS}>;\n"))
            .collect();
        if version >= Version::new(2, 1) {
            declarations.push_str("list: .branchtargets label;\n");
        }
        Context::new(version, target, ".func function() { ret; }\n", "", &declarations)
    }

    fn new(version: Version, target: Target, outside: &str, parameters: &str, declarations: &str) -> Context {
        let size = if version >= Version::new(2, 3) { ".address_size 64\n" } else { "" };
        let start = format!(".version {version}\n.target {target}\n{size}{outside}");
        Context { version, target, head: format!("{start}.entry kernel({parameters}) {{\n{declarations}label:\n") }
    }

    /// Version and target for which the lines are judged: `9.5 sm_90`.
    pub(crate) fn place(&self) -> String {
        format!("{} {}", self.version, self.target)
    }

    /// Number of lines before the first one to judge.
    pub(crate) fn lines(&self) -> usize {
        self.head.matches('\n').count()
    }

    /// The module with these lines, each in a scope of its own.
    pub(crate) fn module<'a>(&self, lines: impl IntoIterator<Item = &'a str>) -> String {
        let mut module = self.head.clone();
        for line in lines {
            module.push_str("{\n");
            module.push_str(line);
            module.push_str("\n}\n");
        }
        module.push_str("}\n");
        module
    }

    /// Our verdict on a line, and whether it is likely to break the grammar.
    pub(crate) fn judge(&self, line: &str) -> (Verdict, bool) {
        let report = check(&TABLE, self.module([line]).as_bytes(), &Options::default());
        let mut errors = report.diagnostics.iter().filter(|finding| finding.severity == Severity::Error);
        let breaks = |code| matches!(code, Code::Syntax | Code::Encoding | Code::Constant | Code::Sink);
        let fragile = line.contains(['{', '}', '"', '#']) || line.contains("/*") || line.contains("//");
        match errors.next() {
            Some(error) => {
                let reason = format!("[{}] {}", error.code, error.message);
                (Verdict::Refused(reason), fragile || breaks(error.code))
            }
            None => (Verdict::Taken, fragile),
        }
    }
}
