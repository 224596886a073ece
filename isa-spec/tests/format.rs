//! Tests of the spec formatter on every file of the table: its output, and that it preserves everything but whitespace.

use std::fs;
use std::path::{Path, PathBuf};

use isa_spec::{Build, PTX, format};
use proc_macro2::{TokenStream, TokenTree};

fn formatted(name: &str, text: &str) -> String {
    format(name, text).unwrap_or_else(|report| panic!("{report}"))
}

/// Returns the tokens in order, with brackets as tokens of their own, and their byte ranges.
fn tokens(text: &str) -> Vec<(String, std::ops::Range<usize>)> {
    fn flatten(tokens: TokenStream, list: &mut Vec<(String, std::ops::Range<usize>)>) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => {
                    list.push((format!("{:?}", group.delimiter()), group.span_open().byte_range()));
                    flatten(group.stream(), list);
                    list.push((format!("/{:?}", group.delimiter()), group.span_close().byte_range()));
                }
                // Descriptions lose the blanks at their ends.
                token => list.push((token.to_string().replace(" \"", "\""), token.span().byte_range())),
            }
        }
    }
    let mut list = Vec::new();
    flatten(text.parse().unwrap(), &mut list);
    list
}

fn words(text: &str) -> Vec<String> {
    tokens(text).into_iter().map(|(token, _)| token).collect()
}

/// Asserts that two texts have the same tokens, and shows the first ones that differ.
fn assert_same_words(text: &str, other: &str, name: &str) {
    let (words, others) = (words(text), words(other));
    let at = words.iter().zip(&others).position(|(word, other)| word != other).unwrap_or(words.len().min(others.len()));
    let around = |words: &[String]| words[at.saturating_sub(5)..words.len().min(at + 5)].to_vec();
    assert!(words == others, "{name}: {:?} and {:?}", around(&words), around(&others));
}

/// Returns the text with other whitespace: `gap` maps the text between two tokens to its replacement. Operators of
/// several characters are kept together.
fn with_gaps(text: &str, mut gap: impl FnMut(&str) -> String) -> String {
    let is_operator = |c: char| "-:<>=!&|".contains(c);
    let mut changed = String::new();
    let mut end = 0;
    for (_, range) in tokens(text) {
        // A description is several tokens of one place.
        if range.start < end {
            continue;
        }
        let between = &text[end..range.start];
        let parts = text[..range.start].ends_with(is_operator) && text[range.start..].starts_with(is_operator);
        // A comment behind a division would be a description.
        changed += if changed.ends_with('/') { " " } else { "" };
        changed += &if between.is_empty() && parts { String::new() } else { gap(between) };
        changed += &text[range.clone()];
        end = range.end;
    }
    changed + &text[end..]
}

/// Changes the indentation, and adds a blank between any two tokens of a line.
fn disordered(text: &str) -> String {
    with_gaps(text, |gap| match gap.contains('\n') {
        true => gap.replace('\n', "\n ").replace("    ", "  "),
        false => format!("{gap} "),
    })
}

#[test]
fn the_table_is_formatted() {
    for (name, text) in PTX {
        let formatted = formatted(name, text);
        let line = text.lines().zip(formatted.lines()).position(|(written, wanted)| written != wanted);
        assert!(formatted == *text, "{name} is not formatted: see line {line:?}; `isa-spec fmt` formats it");
    }
}

/// The specs shown in the README are formatted as well.
#[test]
fn the_specs_of_the_readme_are_formatted() {
    let blocks = include_str!("../README.md").split("```").skip(1).step_by(2);
    let specs: Vec<&str> = blocks.filter_map(|block| block.strip_prefix("text\n")).collect();
    let specs = specs.into_iter().filter(|block| block.contains("\ninstruction ") && block.contains("    semantics"));
    assert_eq!(specs.map(|spec| assert_eq!(formatted("README.md", spec), spec)).count(), 3);
}

/// Whatever blanks a file has, it is formatted to the same text, and that text is its own form.
#[test]
fn blanks_do_not_matter() {
    for (name, text) in PTX {
        let other = disordered(text);
        assert_ne!(other, *text);
        let again = formatted(name, &other);
        let line = text.lines().zip(again.lines()).find(|(written, wanted)| written != wanted);
        assert!(again == *text, "{name}: {line:?}");
        assert_eq!(formatted(name, &again), again, "{name}");
    }
}

/// The code generated for the whole table does not depend on whitespace, except for the line numbers that it cites.
#[test]
fn the_meaning_stays() {
    let generated = |form: &dyn Fn(&str) -> String| {
        let build = PTX.iter().fold(Build::new(), |build, (name, text)| build.text(name, &form(text)));
        build.generate().unwrap_or_else(|report| panic!("{report}"))
    };
    for (name, text) in PTX {
        assert_same_words(text, &formatted(name, &disordered(text)), name);
    }
    assert!(generated(&disordered) == generated(&|text| formatted("a.isa", &disordered(text))));
}

/// Lines that end anywhere, and do not where they should, blank ones, line ends of another system.
#[test]
fn lines_may_end_anywhere() {
    let mut state = 1_u64;
    let mut random = |bound: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    for (name, text) in PTX {
        let text = with_gaps(text, |gap| match random(12) {
            // A description and a comment end with their line.
            0 if !gap.contains('\n') => "\n".to_owned(),
            1 if !gap.contains('\n') => "\r\n\n\t\n".to_owned(),
            2 if !gap.contains('\n') => " /* a comment */".to_owned(),
            3 if !gap.contains('\n') => "// another\n".to_owned(),
            _ => gap.to_owned() + " ",
        });
        let once = formatted(name, &text);
        assert_same_words(&once, &text, name);
        assert_eq!(once.matches("a comment").count(), text.matches("a comment").count());
        assert_eq!(once.matches("// another").count(), text.matches("// another").count());
        let again = formatted(name, &once);
        let line = once.lines().zip(again.lines()).find(|(once, again)| once != again);
        assert!(once == again, "{name}: {line:?}");
    }
}

/// The specs of the tests and of the documents, whose blanks nobody evened.
#[test]
fn whatever_parses_keeps_its_tokens_and_is_formatted_once() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let specs: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|found| found == "isa")).collect();
    let mut formatted = 0;
    for path in &specs {
        let text = fs::read_to_string(path).unwrap();
        // A spec that does not parse is left unchanged.
        let Ok(once) = format("a.isa", &text) else { continue };
        assert_same_words(&once, &text, &path.display().to_string());
        assert_eq!(format("a.isa", &once).unwrap(), once, "{}", path.display());
        formatted += 1;
    }
    assert!(formatted > specs.len() / 2, "{formatted} of {}", specs.len());
}

/// One text with all that a file has, written as it should not be.
#[test]
fn a_file_in_disorder() {
    let written = r#"//!  A file.
use   prelude ;
bodies   crate::bodies;// where they are
/* two
 lines */
class words={.u16,.u32};
types{ .a : bits 16 registers{.b16};
/// Another.

  .other: unsigned 32   registers { .b32 } constants {integer}; }
fn f<T:bits,.f16;U:.u32>(x:T,y:[T])->U{ s=-x+y[0]; s>=0?(s as.u32):convert.u32 (s)  }
operator Op(a,b) { eq=a==b for bits; absent=a&!b; }


/// What it does.
instruction  pick . more{ section 9.7 . 6.1;
  syntax { pick . more{.ftz}.type d[|q],{!}a , [b]{,policy} where .type==.u16||!.ftz;
  .type={.u16,
.u32}; free { .ftz };
// a comment
  .x = { .a };
  }
  operands{ d,a,b:2 of .type where .ftz,.type   in{.global} register; c:.pred without { constants } state CC . CF where .ftz; e:.s32 immediate within - 8 to-1,4; }
  requires { ptx 1.0,sm_10a|sm_20; .ftz : ptx 1.4; } semantics{ if(.ftz){d=a Op (b);}
  else{ d = f( a, -1 )-2; } }
  erratum{ manual "a"; machine "b"; }
  examples { @ ! p pick.more.u32 r0,{a , b} ,[p + -8],!q ; refused pick a; }
}
instruction other {}
"#;
    let wanted = r#"//!  A file.
use prelude;
bodies crate::bodies; // where they are
/* two
 lines */
class words = { .u16, .u32 };
types {
    .a:     bits 16     registers { .b16 };
    /// Another.
    .other: unsigned 32 registers { .b32 } constants { integer };
}
fn f<T: bits, .f16; U: .u32>(x: T, y: [T]) -> U { s = -x + y[0]; s >= 0 ? (s as .u32) : convert.u32(s) }
operator Op(a, b) { eq = a == b for bits; absent = a & !b; }

/// What it does.
instruction pick.more {
    section 9.7.6.1;
    syntax    { pick.more{.ftz}.type  d[|q], {!}a, [b]{, policy} where .type == .u16 || !.ftz;
                .type = { .u16,
                    .u32 }; free { .ftz };
                // a comment
                .x = { .a }; }
    operands  { d, a, b: 2 of .type where .ftz, .type in { .global } register; c: .pred without { constants } state CC.CF where .ftz; e: .s32 immediate within -8 to -1, 4; }
    requires  { ptx 1.0, sm_10a | sm_20; .ftz: ptx 1.4; }
    semantics { if (.ftz) { d = a Op (b); } else { d = f(a, -1) - 2; } }
    erratum   { manual  "a"; machine "b"; }
    examples  { @!p pick.more.u32 r0, {a, b}, [p+-8], !q; refused pick a; }
}

instruction other { }
"#;
    assert_eq!(formatted("a.isa", written), wanted);
}

/// Parameters of templates are parts of mnemonics where more of one follows, and operands elsewhere.
#[test]
fn parameters_are_parts_of_mnemonics() {
    let written = "template t($a, $b, $c) {\n    syntax { $opcode $a .x $b d , e; $opcode . y $c; $opcode $a { .z } $b [ d$c ] ; }\n}\n";
    let wanted =
        "template t($a, $b, $c) {\n    syntax    { $opcode$a.x$b  d, e; $opcode.y  $c; $opcode$a{.z}$b  [d$c]; }\n}\n";
    assert_eq!(formatted("a.isa", written), wanted);
}
