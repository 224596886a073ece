#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| ptx_isa_fuzz::launch(input));
