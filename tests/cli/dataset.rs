//! `ptx-isa table --format dataset`: the whole dataset is valid, and a few instructions match golden files.

use crate::command::run;
use ptx_isa::TABLE;
use ptx_isa::text::spelling;
use serde_json::Value;

fn dataset(arguments: &[&str]) -> Value {
    let output = run(&[&["table", "--format", "dataset"], arguments].concat());
    assert_eq!(output.status, 0, "{}", output.err);
    serde_json::from_str(&output.out).expect("one document")
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().expect("a list")
}

#[test]
fn the_whole_is_valid_and_complete() {
    let schema: Value = serde_json::from_str(include_str!("../../docs/dataset.schema.json")).expect("a schema");
    let schema = jsonschema::validator_for(&schema).expect("a schema");
    let data = dataset(&[]);
    let mistakes: Vec<String> =
        schema.iter_errors(&data).take(10).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert_eq!(mistakes, [""; 0]);

    // Every form is there, in order, and belongs to an entry that has a syntax line for it.
    let forms = list(&data, "instructions").iter().flat_map(|instruction| list(instruction, "forms"));
    assert!(forms.map(|form| form["mnemonic"].as_str().expect("a name")).eq(TABLE.forms().map(spelling::mnemonic)));
    for instruction in list(&data, "instructions") {
        let entries = list(instruction, "entries");
        let described = |form: &Value| entries.get(form["entry"].as_u64().expect("a number") as usize).is_some();
        assert!(list(instruction, "forms").iter().all(described), "{}", instruction["opcode"]);
        assert!(entries.iter().all(|entry| !entry["summary"].as_str().unwrap_or_default().is_empty()));
    }
    // Something of each kind.
    let entries = || list(&data, "instructions").iter().flat_map(|instruction| list(instruction, "entries"));
    for key in ["details", "syntax", "operands", "rules", "pseudo_code", "floors", "lenient", "errata", "examples"] {
        assert!(entries().any(|entry| !list(entry, key).is_empty()), "{key}");
    }
    let floors = || entries().flat_map(|entry| list(entry, "floors"));
    assert!(
        floors().any(|floor| floor.get("when").is_some()) && floors().any(|floor| floor.get("assembler").is_some())
    );
    let forms = || list(&data, "instructions").iter().flat_map(|instruction| list(instruction, "forms"));
    for key in ["removed", "assembler", "unlisted", "bound"] {
        assert!(forms().any(|form| form.get(key).is_some()), "{key}");
    }
    println!("{} kB", run(&["table", "--format", "dataset"]).out.len() / 1000);
}

#[test]
fn the_schema_refuses_what_is_not_so() {
    let schema: Value = serde_json::from_str(include_str!("../../docs/dataset.schema.json")).expect("a schema");
    let schema = jsonschema::validator_for(&schema).expect("a schema");
    let data = dataset(&["selp.*"]);
    assert!(schema.is_valid(&data));
    let spoilt: [fn(&mut Value); 4] = [
        |data| data["version"] = 2.into(),
        |data| data["instructions"][0]["forms"][0]["ptx"] = "soon".into(),
        |data| drop(data["instructions"][0]["entries"][0].as_object_mut().expect("an object").remove("section")),
        |data| data["instructions"][0]["entries"][0]["more"] = true.into(),
    ];
    for spoil in spoilt {
        let mut data = data.clone();
        spoil(&mut data);
        assert!(!schema.is_valid(&data));
    }
}

/// Compares a few instructions with golden files; `PTX_ISA_GOLDEN=1` rewrites them for review.
#[test]
fn a_few_instructions_are_as_they_were() {
    for (name, pattern) in [("selp", "selp.*"), ("elect", "elect.*"), ("isspacep", "isspacep*"), ("tanh", "tanh*")] {
        let mut found = dataset(&[pattern])["instructions"].take();
        // The line of an entry in its file is not compared.
        for entry in
            found.as_array_mut().expect("a list").iter_mut().flat_map(|it| it["entries"].as_array_mut()).flatten()
        {
            let file = entry["source"].as_str().and_then(|source| source.split(':').next()).unwrap_or_default();
            entry["source"] = file.to_owned().into();
        }
        let path = format!("{}/tests/golden/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let text = serde_json::to_string_pretty(&found).expect("a document") + "\n";
        if std::env::var_os("PTX_ISA_GOLDEN").is_some() {
            std::fs::write(&path, &text).expect("it can be written");
        }
        let golden = std::fs::read_to_string(&path).expect("it is there");
        let golden: Value = serde_json::from_str(&golden).expect("a document");
        assert_eq!(found, golden, "{name}: if this is meant, run with PTX_ISA_GOLDEN=1 and look at what changed");
    }
}

#[test]
fn patterns_and_machines_choose_forms() {
    let names = |data: &Value| -> Vec<String> {
        let forms = list(data, "instructions").iter().flat_map(|instruction| list(instruction, "forms"));
        forms.map(|form| form["mnemonic"].as_str().expect("a name").to_owned()).collect()
    };
    assert_eq!(names(&dataset(&["setp.lt.f16"])), ["setp.lt.f16"]);
    let old = names(&dataset(&["setp.lt.*", "--target", "sm_75", "--ptx", "7.0"]));
    assert!(old.contains(&"setp.lt.f16".to_owned()) && !old.contains(&"setp.lt.bf16".to_owned()));
    assert_eq!(run(&["table", "--format", "dataset", "zetp"]).status, 1);
    // Every format says since when some spelling of a form is accepted: a cache policy came with PTX 7.4.
    let form = &dataset(&["ld.L2::cache_hint.u32"])["instructions"][0]["forms"][0];
    assert_eq!((form["ptx"].as_str(), form["target"].as_str()), (Some("7.4"), Some("sm_80")));
    let rows = ["text", "json"].map(|format| run(&["table", "--format", format, "ld.L2::cache_hint.u32"]).out);
    assert!(rows[0].contains("PTX 7.4  sm_80 ") && rows[1].contains(r#""ptx":"7.4","target":"sm_80""#), "{rows:?}");
    // A modifier may make a form older: an atomic operation on a generic address came with sm_20.
    assert!(run(&["table", "atom.global.add.u32", "--format", "json"]).out.contains(r#""ptx":"1.1","target":"sm_11""#));
}
