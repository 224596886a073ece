//! Texts with pathological shapes: one part repeated up to a given length.

/// A prefix, a part that is repeated with its index in place of `#`, and a suffix.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    head: &'static str,
    part: &'static str,
    tail: &'static str,
}

const HEAD: &str = ".version 8.6\n.target sm_90\n.address_size 64\n";
const BODY: &str = ".version 8.6\n.target sm_90\n.address_size 64\n.entry k() {\n.reg .b32 %r<9>;\n.reg .f32 %f<9>;\n";

const fn shape(name: &'static str, head: &'static str, part: &'static str, tail: &'static str) -> Shape {
    Shape { name, head, part, tail }
}

pub(crate) const SHAPES: &[Shape] = &[
    shape("legal statements", BODY, "add.s32 %r1, %r2, %r3;\n", "ret; }"),
    shape("legal statements, short", BODY, "ret;", "}"),
    shape("head directives", ".version 8.6 .target sm_90 .entry k()\n", ".maxntid 1\n", "{ ret; }"),
    shape(
        "head directives of two kinds",
        ".version 8.6 .target sm_90 .entry k()\n",
        ".maxntid 1 .reqntid 1\n",
        "{ ret; }",
    ),
    shape("modifiers of one statement", ".version 8.6 .target sm_90 .entry k() { add", ".s32", " %r1, %r2, %r3; }"),
    shape("different modifiers of one statement", ".version 8.6 .target sm_90 .entry k() { add", ".m#", " a, b, c; }"),
    shape("operands of one statement", ".version 8.6 .target sm_90 .entry k() { add.s32 a", ", b", "; }"),
    shape("empty lines of one statement", ".version 8.6 .target sm_90 .entry k() { add.s32 a,", "\n", "b; }"),
    shape("empty lines of one vector", ".version 8.6 .target sm_90 .entry k() { mov.b64 a, {b,", "\n", "c; }"),
    shape("missing commas on one line", BODY, "bar.sync 0 1;", "}"),
    shape("surplus operands on one line", BODY, "ret 1;", "}"),
    shape("findings on one line", BODY, "add.s33 %r1,%r2,%r3;", "}"),
    shape("findings on lines", BODY, "add.s33 %r1, %r2, %r3;\n", "}"),
    shape("missing modifiers", BODY, "cvt.f32.s32 %f1, %r2;\n", "}"),
    shape("modifiers too many", BODY, "cvt.rn.sat.rni.f32.s32 %f1, %r2;\n", "}"),
    shape("operands of a wrong type", BODY, "add.f32 %r1, %f2, %r3;\n", "}"),
    shape("warnings", BODY, "add .s32 %r1, %r2, %r3;\n", "}"),
    shape("unknown opcodes", BODY, "adx# %r1, %r2;\n", "}"),
    shape("unknown opcodes, short", BODY, "x;", "}"),
    shape("unknown members of families", BODY, "mbarrier.b# %r1;\n", "}"),
    shape("unknown modifiers", BODY, "mul.q#.s32 %r1, %r2, %r3;\n", "}"),
    shape("unknown names", BODY, "add.s32 %r1, u#, 1;\n", "}"),
    shape("unknown registers of a family", BODY, "add.s32 %r1, %r1#, 1;\n", "}"),
    shape("unknown labels", BODY, "bra L#;\n", "}"),
    shape(
        "instructions of a later version",
        ".version 6.0 .target sm_50 .entry k() { .reg .b32 %r<9>;\n",
        "fma.rn.bf16x2 %r1, %r2, %r3, %r4;\n",
        "}",
    ),
    shape("closing braces", HEAD, "}", ""),
    shape("opening braces", BODY, "{", ""),
    shape("blocks", BODY, "{}", "}"),
    shape("semicolons", BODY, "; ", "}"),
    shape("at signs", BODY, "@", "}"),
    shape("digits and commas", BODY, "1,", "}"),
    shape("rubbish lines", BODY, "?\n", "}"),
    shape("labels", BODY, "L#:", "}"),
    shape("duplicate labels", BODY, "L:", "}"),
    shape("functions", HEAD, ".func f#() { ret; }\n", ""),
    shape("kernels", HEAD, ".entry f#(.param .u32 p) { ret; }\n", ""),
    shape("prototypes", HEAD, ".func f#;\n", ""),
    shape("prototypes again", HEAD, ".func f;", ""),
    shape("functions without an end", HEAD, ".func f#() {\n", ""),
    shape("kernels without an end", HEAD, ".entry f#() {\n", ""),
    shape("heads without an end", HEAD, ".entry f#(\n", ""),
    shape("parameters", ".version 8.6 .target sm_90 .func f(", ".param .u32 p#,", ".param .u32 p) { ret; }"),
    shape("variables", HEAD, ".global .u32 v#;\n", ""),
    shape("variables again", HEAD, ".global .u32 v;", ""),
    shape("registers", BODY, ".reg .b32 a#;\n", "}"),
    shape("registers of one declaration", BODY, "\n.reg .b32 a;", "}"),
    shape("names of one declaration", ".version 8.6 .target sm_90 .entry k() { .reg .b32 a", ", a#", "; }"),
    shape("families of one stem", BODY, ".reg .b32 %q<#>;\n", "}"),
    shape("initial values", ".version 8.6 .target sm_90 .global .u32 v[] = {0", ", #", "};"),
    shape("nested initial values", ".version 8.6 .target sm_90 .global .u32 v[] = ", "{", ""),
    shape("strings without an end", BODY, ".pragma \"\n", "}"),
    shape("comments without an end", BODY, "/* ", ""),
    shape("comments", BODY, "/**/", "}"),
    shape("comments within a statement", ".version 8.6 .target sm_90 .entry k() { add.s33", "/*;*/", " a, b, c; }"),
    shape("deep expressions", ".version 8.6 .target sm_90 .global .u32 v = ", "(", "1;"),
    shape("long expressions", ".version 8.6 .target sm_90 .global .u32 v = 1", "+1", ";"),
    shape("signs", ".version 8.6 .target sm_90 .global .u32 v = ", "-", "1;"),
    shape("choices", ".version 8.6 .target sm_90 .global .u32 v = ", "1?2:", "1;"),
    shape("one long name", BODY, "a", ""),
    shape(
        "long names",
        BODY,
        "bra aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa#;\n",
        "}",
    ),
    shape(
        "long opcodes",
        BODY,
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa# a;\n",
        "}",
    ),
    shape("jumps", BODY, "bra L;\n", "L: }"),
    shape("calls", ".version 8.6 .target sm_90 .func f() { ret; } .entry k() {", "call f;\n", "}"),
    shape("calls of unknown functions", BODY, "call f#, (a, b);\n", "}"),
    shape("lists of targets", BODY, "t#: .branchtargets A, B;\n", "}"),
    shape("missing labels of one list", ".version 8.6 .target sm_90 .entry k() { t: .branchtargets A", ", L#", "; }"),
    shape(
        "arguments of one call",
        ".version 8.6 .target sm_90 .func f(.reg .b32 a) { ret; } .entry k() { call f, (b",
        ", b",
        "); }",
    ),
    shape("names in initial values", ".version 8.6 .target sm_90 .global .u64 v[] = {0", ", x#", "};"),
    shape("lists of families", BODY, "L#: t#: .branchtargets L<#>;\n", "}"),
    shape("lists of families in blocks", BODY, "L#: { L0: .branchtargets L<#>; }\n", "}"),
    shape("vectors", BODY, "mov.b64 {%r1, %r2, %r3}, 1;\n", "}"),
    shape("elements of a vector", ".version 8.6 .target sm_90 .entry k() { mov.b64 {a", ", b", "}, c; }"),
    shape("statements without an end", BODY, "add.s32 %r1, %r2, %r3\n", "}"),
    shape("directives that nothing has", BODY, ".bogus#;\n", "}"),
    shape("versions", "", ".version 8.6\n", ".target sm_90"),
    shape("targets", ".version 8.6\n", ".target sm_90\n", ""),
    shape("aliases", ".version 8.6 .target sm_90 .func f() { ret; } .func g;", ".alias g, f;\n", ""),
    shape("sections", HEAD, ".section .s# { .b8 1 }\n", ""),
    shape("letters beyond ASCII", HEAD, ".pragma \"é\";\n", ""),
];

impl Shape {
    /// Returns a text of approximately `bytes` bytes.
    pub(crate) fn text(&self, bytes: usize) -> String {
        let mut text = self.head.to_owned();
        let mut number = 0;
        while text.len() + self.tail.len() < bytes {
            text += &self.part.replace('#', &number.to_string());
            number += 1;
        }
        text + self.tail
    }
}
