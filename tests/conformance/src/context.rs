//! The module that lines are judged in: version, target, and a register of every type under a name that says it.
//!
//! The names come from the table's types: `u32_0` to `u32_3`, the vector `v2_u32`; besides there are variables, a
//! function and a label.

use ptx_isa::TABLE;
use ptx_isa::diagnostic::{Code, Severity};
use ptx_isa::table::{Kind, TypeId, TypeSet};
use ptx_isa::target::{Target, Version};
use ptx_isa::text::{Options, check};

use crate::assembler::Verdict;

/// How many registers of each type there are.
pub(crate) const REGISTERS: usize = 4;

/// A module that lacks nothing but the lines to judge.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) version: Version,
    pub(crate) target: Target,
    head: String,
    /// How many statements there are not of the table.
    outside: usize,
}

/// The types that registers can be declared with.
pub(crate) fn declarable() -> impl Iterator<Item = TypeId> {
    TABLE.types.iter().flat_map(|ty| ty.registers.iter()).collect::<TypeSet>().iter()
}

/// Whether there are vectors of two such registers: those that fit a vector of 128 bits.
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
        let outside = ".global .u32 variable;\n.shared .f32 shared_variable;\n.func function() { ret; }\n";
        Context::new(version, target, outside, &declarations)
    }

    /// With registers of the types that every version knows: predicates and plain bits.
    pub(crate) fn plain(version: Version, target: Target) -> Context {
        let plain = |ty: &TypeId| matches!(TABLE.types[ty.index()].kind, Kind::Predicate | Kind::Bits);
        let declarations: String = declarable()
            .filter(plain)
            .map(|ty| TABLE.types[ty.index()].name)
            .filter(|name| *name != "b128")
            .map(|name| format!(".reg .{name} {name}_<{REGISTERS}>;\n"))
            .collect();
        Context::new(version, target, "", &declarations)
    }

    fn new(version: Version, target: Target, outside: &str, declarations: &str) -> Context {
        let size = if version >= Version::new(2, 3) { ".address_size 64\n" } else { "" };
        let head =
            format!(".version {version}\n.target {target}\n{size}{outside}.entry kernel() {{\n{declarations}label:\n");
        let outside = check(&TABLE, head.as_bytes(), &Options::default()).outside;
        Context { version, target, head, outside }
    }

    /// How many lines stand before the first one to judge.
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

    /// Our verdict on a line, and whether it is likely to break the grammar; `None` where some statement is not of the
    /// table, or none is.
    pub(crate) fn judge(&self, line: &str) -> Option<(Verdict, bool)> {
        let report = check(&TABLE, self.module([line]).as_bytes(), &Options::default());
        let mut errors = report.diagnostics.iter().filter(|finding| finding.severity == Severity::Error);
        let breaks = |code| matches!(code, Code::Syntax | Code::Encoding | Code::Constant | Code::Sink);
        let fragile = line.contains(['{', '}', '"', '#']) || line.contains("/*") || line.contains("//");
        match errors.next() {
            Some(error) => {
                let reason = format!("[{}] {}", error.code, error.message);
                Some((Verdict::Refused(reason), fragile || breaks(error.code)))
            }
            None => (report.in_table > 0 && report.outside == self.outside).then_some((Verdict::Taken, fragile)),
        }
    }
}
