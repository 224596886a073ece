//! Every mistake a spec can hold, with the report its author reads. `BLESS=1` writes the reports anew.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{env, fs};

use isa_spec::{Build, Errors};
use proc_macro2::{LineColumn, TokenTree};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes")
}

/// The fixtures with one extension, by name.
fn fixtures(extension: &str) -> BTreeSet<String> {
    let entries = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let wanted = entries.filter(|path| path.extension().is_some_and(|found| found == extension));
    wanted.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect()
}

/// A spec that begins with `// no prelude` stands alone.
fn build(name: &str, text: &str) -> Build {
    let build = if text.starts_with("// no prelude") { Build::new() } else { Build::new().prelude() };
    build.text(name, text)
}

#[test]
fn every_mistake_is_reported_as_its_author_should_read_it() {
    let mut wrong = Vec::new();
    let names = fixtures("isa");
    for name in &names {
        let text = fs::read_to_string(folder().join(name).with_extension("isa")).unwrap();
        let report = match build(&format!("{name}.isa"), &text).generate() {
            Err(report) => report,
            Ok(_) => panic!("{name}.isa: no mistake is found"),
        };
        assert_well_formed(name, &report);
        let path = folder().join(name).with_extension("txt");
        if env::var_os("BLESS").is_some() {
            fs::write(&path, &report).unwrap();
        } else if fs::read_to_string(&path).unwrap_or_default() != report {
            wrong.push(format!("{name}.isa is reported so:\n\n{report}"));
        }
    }
    assert!(names.len() >= 30);
    assert!(wrong.is_empty(), "{}\n{} reports differ from their files", wrong.join("\n"), wrong.len());
}

/// What the macro `isa!` marks is what the report of a file points at.
#[test]
fn a_macro_has_each_mistake_at_the_same_token() {
    let mut compared = 0;
    for name in fixtures("isa") {
        let text = fs::read_to_string(folder().join(&name).with_extension("isa")).unwrap();
        let Err(report) = build("a.isa", &text).check() else { continue };
        // What does not lex never comes to a macro.
        let prefix = if text.starts_with("// no prelude") { "" } else { "use prelude; " };
        let Ok(tokens) = format!("{prefix}{text}").parse() else { continue };
        let errors = isa_spec::expand(tokens).expect_err(&name);
        let marked: BTreeSet<(usize, usize)> = marks(errors).into_iter().flatten().collect();
        for place in report.lines().filter_map(|line| line.trim_start().strip_prefix("--> a.isa:")) {
            let (line, column) = place.split_once(':').unwrap();
            let (line, column): (usize, usize) = (line.parse().unwrap(), column.parse().unwrap());
            let column = if line == 1 { column + prefix.len() } else { column };
            assert!(marked.contains(&(line, column)), "{name}: {line}:{column} is not marked\n{report}\n{marked:?}");
            compared += 1;
        }
    }
    assert!(compared > 250, "{compared}");
}

/// Where the `compile_error!` of each mistake begins, and where it ends: what is missing is marked behind a token.
fn marks(errors: Errors) -> Vec<[(usize, usize); 2]> {
    let tokens = errors.into_compile_errors().into_iter();
    let groups = tokens.filter(|token| matches!(token, TokenTree::Group(_)));
    let place = |place: LineColumn| (place.line, place.column + 1);
    groups.map(|group| [place(group.span().start()), place(group.span().end())]).collect()
}

/// A report without its spec would be a mistake that nobody looks for any more.
#[test]
fn every_report_has_its_spec() {
    let (specs, reports) = (fixtures("isa"), fixtures("txt"));
    let orphans: Vec<&String> = reports.difference(&specs).collect();
    assert!(orphans.is_empty(), "{orphans:?}");
}

/// Every mistake begins with `error: `, has a place unless it is the whole spec's, and stands once; the last line counts.
fn assert_well_formed(name: &str, report: &str) {
    let mistakes: Vec<&str> = report.split("\n\n").filter(|part| part.starts_with("error: ")).collect();
    let distinct: BTreeSet<&&str> = mistakes.iter().collect();
    assert_eq!(mistakes.len(), distinct.len(), "{name}: a mistake is reported twice\n{report}");
    let placed = mistakes.iter().filter(|mistake| mistake.contains("--> ") || mistake.contains("the spec describes"));
    assert_eq!(mistakes.len(), placed.count(), "{name}: a mistake has no place\n{report}");
    let plural = if mistakes.len() == 1 { "" } else { "s" };
    let count = format!("\n{} mistake{plural} in the spec\n", mistakes.len());
    assert!(report.ends_with(&count), "{name}: {report}");
}
