//! Answers of the explorer's module.

use ptx_isa::TABLE;
use ptx_isa::text::spelling;
use ptx_isa_wasm::reply;

#[test]
fn every_form_is_legal_as_it_is_spelt() {
    for form in TABLE.forms() {
        let name = spelling::mnemonic(form);
        let answer = reply(&format!("{name}\n\n"));
        assert!(answer.starts_with(r#"{"verdict":"legal""#), "{name}: {answer}");
    }
}

#[test]
fn all_of_a_statement_has_a_floor() {
    for (text, since, need) in [
        ("ld.relaxed.gpu.global.u64", "PTX 6.0, sm_70", "`ld.u64` with `.relaxed` needs PTX 6.0, sm_70"),
        ("ld.relaxed.gpu.global.u64 d, [a];", "PTX 6.0, sm_70", "`ld.u64` with `.relaxed` needs PTX 6.0, sm_70"),
        ("mov.u32 d, %clusterid.x;", "PTX 7.8, sm_90", "`%clusterid` needs PTX 7.8, sm_90"),
    ] {
        let answer = reply(&format!("{text}\n6.0\nsm_50"));
        let says = |key: &str, value: &str| answer.contains(&format!("\"{key}\":\"{value}\""));
        assert!(says("verdict", "elsewhere") && says("floor", since) && says("message", need), "{answer}");
        assert!(reply(&format!("{text}\n8.0\nsm_90")).contains("\"verdict\":\"legal\""));
    }
}
