//! Tests that templates, named sets and conditions expand to the same as entries that are written out in full.

use isa_spec::Build;

/// The generated module of a spec on the prelude, without the lines that cite the spec.
fn generated(text: &str) -> String {
    let rust = Build::new().with_scalar().text("a.isa", &format!("use prelude;\n{text}")).generate();
    let rust = rust.unwrap_or_else(|report| panic!("{report}"));
    rust.lines().filter(|line| !line.contains("a.isa")).collect::<Vec<_>>().join("\n")
}

const PLAIN: &str = "
    /// Adds.
    ///
    /// Flushes.
    instruction plus {
        section 9.7.3.3;
        syntax { plus{.ftz}.type d, a, b; .type = { .f16, .f32 }; }
        operands { d, a, b: .type; }
        requires { ptx 1.0, sm_10; }
        semantics { x = .ftz ? flush(a) : a; d = add(x, b, .rn); }
        examples { plus.ftz.f32 d, a, b; }
    }
    /// Moves.
    ///
    /// Flushes.
    instruction shift.plus {
        section 9.7.3.4;
        syntax { shift.plus{.ftz}.type d, a, b; .type = { .f32 }; }
        operands { d, a, b: .type; }
        requires { ptx 1.0, sm_10; }
        semantics { x = .ftz ? flush(a) : a; d = mul(x, b, .rz); }
        examples { shift.plus.ftz.f32 d, a, b; }
    }";

#[test]
fn templates_and_sets_come_to_the_same_module() {
    let once = "
    class narrow = { .f16, .f32 };
    /// Flushes.
    template binary($types, $value) {
        section 9.7.3.3;
        syntax { $opcode{.ftz}.type d, a, b; .type = $types; }
        operands { d, a, b: .type; }
        requires { ptx 1.0, sm_10; }
        semantics { x = .ftz ? flush(a) : a; d = $value; }
        examples { $opcode.ftz.f32 d, a, b; }
    }
    /// Adds.
    instruction plus { use binary({ narrow }, add(x, b, .rn)); }
    /// Moves.
    instruction shift.plus { use binary({ .f32 }, mul(x, b, .rz)); section 9.7.3.4; }";
    assert_eq!(generated(once), generated(PLAIN));
}

#[test]
fn lengths_follow_from_words() {
    let entry = |sets: &str, operands: &str| {
        format!(
            "words Count {{ x(1 to 2); x4; }}
            words Tile {{ m8n8k4; m16n8k8; }}
            {sets}
            /// Takes.
            instruction take {{
                section 9.7.3.3;
                syntax {{ take.num.shape.type d, e; .shape = Tile {{ .m8n8k4, .m16n8k8 }}; .type = {{ .b32 }}; }}
                operands {{ {operands} }}
                requires {{ ptx 1.0, sm_10; }}
                semantics none;
                examples {{ take.x2.m8n8k4.b32 {{a, b}}, {{c, d}}; }}
            }}"
        )
    };
    let plain = entry(
        "set num = Count { .x1, .x2, .x4 };",
        "d: 1 of .type where .num == .x1, 2 of .type where .num == .x2, 4 of .type destination;
        e: 2 of .b32 where .shape == .m8n8k4, 4 of .b32;",
    );
    let derived = entry("set num = Count;", "d: .num.x of .type destination; e: .shape.m * .shape.n / 32 of .b32;");
    assert_eq!(generated(&derived), generated(&plain));
}

#[test]
fn words_bring_their_floors() {
    let entry = |items: &str, more: &str| {
        format!(
            "{items}
            /// Copies.
            instruction dup {{
                section 9.7.3.3;
                syntax {{ dup{{.scope}}.type d, a; .type = {{ .b32 }}; {} }}
                operands {{ d, a: .type; }}
                requires {{ ptx 1.0, sm_10; {more} }}
                semantics {{ d = a; }}
                examples {{ dup.gpu.b32 d, a; }}
            }}",
            if items.is_empty() { ".scope = { .cta, .gpu }; free { .scope };" } else { "" }
        )
    };
    let named = entry("free set scope = { .cta, .gpu }; modifiers { .gpu \"The device.\": ptx 6.0, sm_70; }", "");
    assert_eq!(generated(&named), generated(&entry("", ".scope == .gpu: ptx 6.0, sm_70;")));
}

/// A later prelude may declare a name that another crate's spec has already.
#[test]
fn own_names_shadow_those_of_the_library() {
    let own = generated(
        "bodies crate::bodies;
        /// Counts in its own way.
        builtin population_count<T: .b32>(x: T) -> .b32;
        /// Counts.
        instruction tally {
            section 9.7.1.15;
            syntax { tally.type d, a; .type = { .b32 }; }
            operands { d, a: .type; }
            requires { ptx 2.0, sm_20; }
            semantics { d = population_count(a); }
            examples { tally.b32 d, a; }
        }",
    );
    assert!(own.contains("population_count_b32(a)"), "{own}");
}

/// A condition, its precedence included, and an operand that hides one.
#[test]
fn conditions_come_to_what_they_stand_for() {
    let entry = |items: &str, narrow: &str, hidden: &str| {
        format!(
            "{items}
            /// Copies.
            instruction dup {{
                section 9.7.3.3;
                syntax {{ dup{{.ftz}}{{.rnd}}.type d, {hidden}; .type = {{ .f16, .f32, .f64 }}; unread {{ .ftz, .rnd }}; }}
                operands {{ d, {hidden}: .type; }}
                legal {{ {narrow} && .ftz only if .type == .f32; .rnd only if !({narrow}); }}
                requires {{ ptx 1.0, sm_10; {narrow}: ptx 2.0; }}
                semantics {{ d = {narrow} ? {hidden} : {hidden}; }}
                examples {{ dup.f32 d, a; }}
            }}"
        )
    };
    let items = "condition half = .type == .f16; condition narrow = half || .type == .f32; condition hides = .ftz;";
    let named = entry(items, "narrow", "hides");
    assert_eq!(generated(&named), generated(&entry("", "(.type == .f16 || .type == .f32)", "hides")));
}

#[test]
fn arguments_may_contain_commas_and_nothing() {
    let entry = |items: &str, body: &str| {
        format!(
            "{items}
            /// Adds.
            instruction plus {{
                {body}
                section 9.7.3.3;
                operands {{ d, a, b, c: .type; }}
                requires {{ ptx 1.0, sm_10; }}
                semantics {{ if (.ftz) {{ d = add(b, c, .rn); }} else {{ d = add(a, b, .rn); }} }}
                examples {{ plus.f32 d, a, b; plus.ftz.f32 d, a, b, c; }}
            }}"
        )
    };
    let plain = entry("", "syntax { plus.type d, a, b; plus.ftz.type d, a, b, c; .type = { .f32 }; }");
    let filled = entry(
        "template sum($word, $more) { syntax { $opcode$word.type d, a, b$more; } }",
        "use sum(;;); use sum(.ftz; , c); syntax { .type = { .f32 }; }",
    );
    assert_eq!(generated(&filled), generated(&plain));
}

#[test]
fn a_description_stands_above_a_member_or_behind_it() {
    let above = "words Way { /// To the left.\n l; /// To the right.\n r; }
        operator Half(a) { /// Lower.\n///\n/// Of floats.\n lower = a for .f32; }";
    let behind = "words Way { l \"To the left.\"; r \"To the right.\"; }
        operator Half(a) { lower = a for .f32 \"Lower.\" \"Of floats.\"; }";
    let entry = "/// Copies.
        instruction dup {
            section 9.7.3.3;
            syntax { dup.way.half.type d, a; .way = Way; .half = Half; .type = { .f32 }; unread { .way }; }
            operands { d, a: .type; }
            requires { ptx 1.0, sm_10; }
            semantics { d = half(a); }
            examples { dup.l.lower.f32 d, a; }
        }";
    assert_eq!(generated(&format!("{behind} {entry}")), generated(&format!("{above} {entry}")));
}
