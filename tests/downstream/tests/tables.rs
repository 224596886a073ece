use downstream::{bits, inline, toy};

const ONES: u32 = bits::scalar::popc_b64(u64::MAX);

#[test]
fn an_instruction_of_its_own_evaluates() {
    assert_eq!(ONES, 64);
    let form: bits::Form = "popc.b32".parse().unwrap();
    assert_eq!(form.evaluate(&[0xff]), [8, 0]);
    assert_eq!((form.since().to_string(), form.target().to_string()), ("2.0".into(), "sm_20".into()));
}

#[test]
fn the_inline_table_is_the_same() {
    let text = |table: &ptx_isa::table::Table| format!("{table:?}");
    let source = |text: &str| text.split("source: \"").nth(1).unwrap().split('"').next().unwrap().to_owned();
    let (file, inline) = (text(&bits::TABLE), text(&inline::TABLE));
    assert_eq!((source(&file).as_str(), source(&inline).as_str()), ("spec/bits.isa:9", "src/lib.rs:23"));
    // Addresses of functions differ, and so do the places that are cited.
    let plain = |text: &str| {
        let parts = text.split("0x").map(|part| part.trim_start_matches(|c: char| c.is_ascii_hexdigit()));
        parts.collect::<String>().replace("spec/bits.isa:9", "").replace("src/lib.rs:23", "")
    };
    assert_eq!(plain(&file), plain(&inline));
}

#[test]
fn a_table_may_stand_alone() {
    assert_eq!(toy::Form::COUNT, 2);
    assert_eq!(toy::scalar::blend(0x81, 0), 3);
    assert_eq!(toy::scalar::blend_twice(0x81, 1), 5);
    let twice = toy::Blend { twice: true }.form().unwrap();
    assert_eq!((twice.mnemonic(), twice.target().to_string()), ("blend.twice", "sm_2".to_owned()));
}
