//! The shell for build scripts and the one for `isa!` expand one spec to the same tokens.

use isa_spec::{Build, expand};
use proc_macro2::TokenStream;

const OWN: &str = r"
    /// Selects one of two words by a predicate.
    instruction pick {
        section 1.1;
        syntax    { pick.type d, a, b, c; .type = { .u16, .u32 }; }
        operands  { d, a, b: .type; c: .pred; }
        requires  { ptx 1.0, sm_10; }
        semantics { d = c ? a : b; }
        examples  { pick.u32 r0, r1, r2, p; }
    }
";

/// A prelude of three types, for a table that takes nothing from ours.
const PRELUDE: &str = r"
    ptx 1.0;
    targets { ptx 1.0: sm_10; }
    types { .pred: predicate 1 registers { .pred }; .u16: unsigned 16 registers { .u16 }; .u32: unsigned 32 registers { .u32 }; }
";

/// Both expansions as text. Generated code cites the file of each entry: the macro's is the lexer's name of the text.
fn expansions(spec: &str) -> (String, String) {
    let file = Build::new().text("own.isa", spec).with_scalar().generate().unwrap();
    let file = file.parse::<TokenStream>().unwrap().to_string();
    let inline = expand(spec.parse().unwrap()).unwrap().to_string();
    let start = inline.find("<parsed string ").expect("the entry cites its line");
    let end = start + inline[start..].find('>').unwrap() + 1;
    let name = inline[start..end].to_owned();
    (file, inline.replace(&name, "own.isa"))
}

#[test]
fn a_spec_on_our_prelude_expands_alike() {
    let (file, inline) = expansions(&format!("use prelude; bodies crate::own; {OWN}"));
    assert!(file.contains("use crate :: own as rt"), "the spec names the bodies' module");
    assert_eq!(file, inline);
}

#[test]
fn a_spec_on_our_table_expands_alike() {
    let (file, inline) = expansions(&format!("use ptx; {OWN}"));
    assert!(file.contains("base : Some") && file.contains("own.isa:"), "it extends the existing table");
    assert!(!file.contains("comparison.isa:"), "nothing of that is generated again");
    assert_eq!(file, inline);
}

#[test]
fn a_spec_of_its_own_expands_alike() {
    let (file, inline) = expansions(&format!("{PRELUDE}{OWN}"));
    assert_eq!(file, inline);
}

#[test]
fn a_library_that_is_none_is_named() {
    let report = Build::new().text("own.isa", "use prelud;").generate().unwrap_err();
    assert!(report.contains("unknown library `prelud`") && report.contains("own.isa:1:5"), "{report}");
}
