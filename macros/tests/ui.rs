//! What misuse of the macros looks like: the exact messages, under the very tokens.

#[test]
fn misuse_is_an_error_under_the_token() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/isa/*.rs");
    cases.compile_fail("tests/ui/ptx/*.rs");
}
