//! Tests the errors of misused macros: their messages, and the tokens that they point at.

#[test]
#[ignore = "builds the workspace a second time: `.ci/packages` runs it"]
fn misuse_is_an_error_under_the_token() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/isa/*.rs");
    cases.compile_fail("tests/ui/ptx/*.rs");
}
