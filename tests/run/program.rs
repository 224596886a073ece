//! Programs of several modules, addresses of 32 bits, and what kernels print.

use std::sync::{Arc, Mutex};

use ptx_isa::run::{Argument, ErrorKind, Grid, Memory, Module, Options};

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

fn module(body: &str) -> String {
    format!("{HEAD}{body}")
}

const CALLER: &str = "
.extern .func (.param .b32 r) scaled(.param .b32 x);
.extern .global .align 4 .u32 total;
.visible .global .align 8 .u64 pointer = total;
.visible .func (.param .b32 r) factor() { st.param.b32 [r], 2; ret; }
.global .align 4 .u32 own = 1000;
.visible .entry k(.param .u64 out) {
    .reg .b32 %r<6>; .reg .b64 %rd<5>;
    mov.u32 %r1, %tid.x;
    { .param .b32 x; .param .b32 r; st.param.b32 [x], %r1; call.uni (r), scaled, (x); ld.param.b32 %r2, [r]; }
    atom.global.add.u32 %r3, [total], %r2;
    ld.global.u32 %r4, [own]; add.u32 %r2, %r2, %r4;
    ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r2; ret;
}";

const CALLEE: &str = "
.visible .global .align 4 .u32 total = 5;
.global .align 4 .u32 own = 7;
.weak .func (.param .b32 r) factor() { st.param.b32 [r], 3; ret; }
.visible .func (.param .b32 r) scaled(.param .b32 x) {
    .reg .b32 %r<5>;
    { .param .b32 f; call.uni (f), factor; ld.param.b32 %r1, [f]; }
    ld.param.b32 %r2, [x]; ld.global.u32 %r3, [own]; mad.lo.u32 %r4, %r1, %r2, %r3; st.param.b32 [r], %r4; ret;
}";

#[test]
fn modules_link_by_name() {
    let (caller, callee) = (module(CALLER), module(CALLEE));
    for texts in [[&*caller, &*callee], [&*callee, &*caller]] {
        let memory = Memory::new();
        let program = Module::link(&texts, &memory).unwrap_or_else(|error| panic!("{error}"));
        let out = memory.upload(&[0_u32; 8]);
        program.kernel("k").unwrap().launch(Grid::new(1, 8), &[out.into()]).unwrap_or_else(|error| panic!("{error}"));
        // The definition that is not weak counts, and each module has its own `own`.
        let scaled: Vec<u32> = (0..8).map(|x| 2 * x + 7).collect();
        let expected: Vec<u32> = scaled.iter().map(|x| x + 1000).collect();
        assert_eq!(memory.download::<u32>(out, 8).unwrap(), expected);
        let (total, _) = program.variable("total").unwrap();
        assert_eq!(memory.download::<u32>(total, 1).unwrap(), [5 + scaled.iter().sum::<u32>()]);
        let (pointer, _) = program.variable("pointer").unwrap();
        assert_eq!(memory.download::<u64>(pointer, 1).unwrap(), [total]);
    }
}

#[test]
fn what_no_module_defines_is_an_error_before_the_launch() {
    let memory = Memory::new();
    let caller = module(CALLER);
    // An address in initial contents is needed at once, the function only by the kernel.
    let error = Module::load(&caller, &memory).unwrap_err();
    assert_eq!((error.kind.name(), error.message.contains("`total`")), ("unsupported", true), "{error}");
    let defined = module(".visible .global .align 4 .u32 total;");
    let program = Module::link(&[&defined, &caller], &memory).unwrap();
    let error = program.kernel("k").unwrap().prepare().unwrap_err();
    assert_eq!((error.kind.name(), error.message.contains("`scaled`")), ("unsupported", true), "{error}");

    let twice = Module::link(&[&defined, &defined], &memory).unwrap_err();
    assert!(twice.message.contains("`total` is defined in module 1 and again in module 2"), "{twice}");
    let other = module(".visible .func total() { ret; }");
    assert!(Module::link(&[&defined, &other], &memory).is_err());
    let broken = Module::link(&[&defined, "nonsense"], &memory).unwrap_err();
    assert_eq!(
        (broken.module, matches!(broken.kind, ErrorKind::Module(ref found) if !found.is_empty())),
        (Some(1), true)
    );
}

#[test]
fn names_of_functions_in_other_modules() {
    let of = |linkage: &str, name: &str, value: u32| {
        format!("{linkage} .func (.param .b32 r) {name}() {{ st.param.b32 [r], {value}; ret; }}")
    };
    let caller = ".extern .func (.param .b32 r) other();
        .visible .entry k(.param .u64 out) { .reg .u64 %out; .reg .b32 %r; ld.param.u64 %out, [out];
        { .param .b32 r; call (r), other, (); ld.param.b32 %r, [r]; } st.global.u32 [%out], %r; ret; }";
    let alias = |linkage: &str| {
        let declared = format!("{linkage} .func (.param .b32 r) other(); {}", of(".visible", "own", 1));
        module(&format!("{declared}\n.alias other, own;"))
    };
    let strong = module(&of(".visible", "other", 2));
    let caller = module(caller);
    let visible = alias(".visible");
    let weak = alias(".weak");
    for (texts, expected) in
        [(vec![&caller, &visible], 1), (vec![&caller, &weak], 1), (vec![&weak, &caller, &strong], 2)]
    {
        let memory = Memory::new();
        let texts: Vec<&str> = texts.into_iter().map(String::as_str).collect();
        let program = Module::link(&texts, &memory).unwrap_or_else(|error| panic!("{error}"));
        let out = memory.upload(&[0_u32]);
        program.kernel("k").unwrap().launch(Grid::new(1, 1), &[out.into()]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(memory.download::<u32>(out, 1).unwrap(), [expected], "{texts:?}");
    }
    assert!(Module::link(&[&visible, &strong], &Memory::new()).is_err());
}

#[test]
fn errors_in_linked_modules_name_module_and_line() {
    let memory = Memory::new();
    let empty = module("\n\n");
    let traps = module(".visible .entry k() {\n trap;\n }");
    let program = Module::link(&[&empty, &traps], &memory).unwrap();
    let error = program.kernel("k").unwrap().launch(Grid::new(1, 1), &[]).unwrap_err();
    assert_eq!((error.module, error.line, error.statement.as_deref()), (Some(1), Some(5), Some("trap;")));
    assert!(error.to_string().contains("at line 5 of module 2"), "{error}");
}

#[test]
fn a_declaration_behind_a_definition_changes_nothing() {
    let text = module(
        ".visible .global .u32 x = 4;
        .visible .func (.param .b32 r) f(.param .b32 a) { .reg .b32 %r<3>; ld.param.b32 %r1, [a]; ld.global.u32 %r2, [x];
            add.u32 %r1, %r1, %r2; st.param.b32 [r], %r1; ret; }
        .extern .global .u32 x;
        .visible .entry k(.param .u64 out) { .reg .b32 %r<2>; .reg .b64 %rd1; .param .b32 a; .param .b32 r;
            st.param.b32 [a], 30; call.uni (r), f, (a); ld.param.b32 %r1, [r]; ld.param.u64 %rd1, [out];
            st.global.u32 [%rd1], %r1; ret; }",
    );
    let memory = Memory::new();
    let program = Module::load(&text, &memory).unwrap_or_else(|error| panic!("{error}"));
    let out = memory.upload(&[0_u32]);
    program.kernel("k").unwrap().launch(Grid::new(1, 1), &[out.into()]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(memory.download::<u32>(out, 1).unwrap(), [34]);
}

#[test]
fn addresses_of_32_bits_wrap_and_reach_every_memory() {
    // Each thread adds its neighbour's number by way of shared memory, with an offset that wraps.
    let text = ".version 6.0 .target sm_30 .address_size 32
        .global .align 4 .u32 table[4] = {10, 20, 30, 40};
        .global .align 4 .u32 there = table;
        .visible .entry k(.param .u32 in, .param .u32 out) {
            .shared .align 4 .b32 tile[64]; .local .align 4 .b32 kept[2]; .reg .b32 %r<12>; .reg .b32 %a<8>;
            mov.u32 %r1, %tid.x; shl.b32 %r2, %r1, 2;
            ld.param.u32 %a1, [in]; ld.param.u32 %a2, [out];
            add.u32 %a3, %a1, %r2; ld.global.u32 %r3, [%a3];
            mov.u32 %a4, tile; sub.u32 %a5, %a4, 252; add.u32 %a5, %a5, %r2; st.shared.u32 [%a5+252], %r3;
            bar.sync 0;
            xor.b32 %r4, %r2, 4; add.u32 %a5, %a4, %r4; ld.shared.u32 %r5, [%a5];
            st.local.u32 [kept+4], %r5; ld.local.u32 %r6, [kept+4];
            and.b32 %r7, %r2, 12; ld.global.u32 %a6, [there]; add.u32 %a6, %a6, %r7; ld.global.u32 %r8, [%a6];
            ld.global.u32 %r9, [table+4];
            add.u32 %r10, %r6, %r8; add.u32 %r10, %r10, %r9;
            add.u32 %a7, %a2, %r2; st.u32 [%a7], %r10; ret;
        }";
    let memory = Memory::new();
    let module = Module::load(text, &memory).unwrap_or_else(|error| panic!("{error}"));
    let (input, out) = (memory.upload(&(0..64_u32).map(|x| x * x).collect::<Vec<_>>()), memory.upload(&[0_u32; 64]));
    let kernel = module.kernel("k").unwrap();
    let launch = |input: u64| kernel.launch(Grid::new(1, 64), &[(input as u32).into(), (out as u32).into()]);
    launch(input).unwrap_or_else(|error| panic!("{error}"));
    let expected: Vec<u32> = (0..64_u32).map(|t| (t ^ 1).pow(2) + [10, 20, 30, 40][t as usize % 4] + 20).collect();
    assert_eq!(memory.download::<u32>(out, 64).unwrap(), expected);
    assert_eq!(launch(input + 4).unwrap_err().kind, ErrorKind::Access);

    // A generic address would need more bits.
    let generic = ".version 6.0 .target sm_30 .address_size 32
        .visible .entry k() { .shared .b32 tile; .reg .b32 %r<3>; mov.u32 %r1, tile; cvta.shared.u32 %r2, %r1; ret; }";
    let error = Module::load(generic, &memory).unwrap().kernel("k").unwrap().prepare().unwrap_err();
    assert_eq!((error.kind.name(), error.statement.as_deref()), ("unsupported", Some("cvta.shared.u32 %r2, %r1;")));
}

/// Returns the text that a kernel prints with a format and one 64-bit argument, and the return value of `vprintf`.
fn printed(format: &str, bits: u64) -> (String, u32) {
    let bytes: Vec<String> = format.bytes().chain([0]).map(|byte| byte.to_string()).collect();
    let text = module(&format!(
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
        .global .align 1 .b8 format[{}] = {{{}}};
        .visible .entry k(.param .u64 x, .param .u64 out) {{
            .local .align 8 .b8 given[8]; .reg .b64 %rd<5>; .reg .b32 %r<2>;
            ld.param.u64 %rd1, [x]; st.local.u64 [given], %rd1; cvta.local.u64 %rd2, given;
            mov.u64 %rd3, format; cvta.global.u64 %rd3, %rd3;
            {{ .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %rd3; st.param.b64 [a], %rd2;
            call.uni (r), vprintf, (f, a); ld.param.b32 %r1, [r]; }}
            ld.param.u64 %rd4, [out]; st.global.u32 [%rd4], %r1; ret;
        }}",
        bytes.len(),
        bytes.join(", ")
    ));
    let memory = Memory::new();
    let module = Module::load(&text, &memory).unwrap_or_else(|error| panic!("{error}"));
    let out = memory.upload(&[0_u32]);
    let taken = Arc::new(Mutex::new(String::new()));
    let own = taken.clone();
    let print = Arc::new(move |part: &str| own.lock().unwrap().push_str(part));
    let options = Options { print: Some(print), ..Options::default() };
    let kernel = module.kernel("k").unwrap();
    kernel.launch_with(Grid::new(1, 1), &[bits.into(), out.into()], &options).unwrap();
    let text = taken.lock().unwrap().clone();
    (text, memory.download::<u32>(out, 1).unwrap()[0])
}

#[test]
fn kernels_print_as_c_does() {
    let double = |x: f64| x.to_bits();
    // The texts are those of the C library.
    let cases: &[(&str, u64, &str)] = &[
        ("%d|", -7_i64 as u64, "-7|"),
        ("%+05d|", 42, "+0042|"),
        ("%-6d|", 42, "42    |"),
        ("%6.3d|", 7, "   007|"),
        ("% d", 7, " 7"),
        ("%#x %%", 255, "0xff %"),
        ("%o", 8, "10"),
        ("%lld", i64::MIN as u64, "-9223372036854775808"),
        ("%hhd", 0xfc, "-4"),
        ("%hd", 0xfffd, "-3"),
        ("%hhu", 0x1fc, "252"),
        ("%c", 66, "B"),
        ("%f", double(1.5), "1.500000"),
        ("%10.3f", double(-2.5), "    -2.500"),
        ("%e", double(12345.678), "1.234568e+04"),
        ("%g", double(1e-7), "1e-07"),
        ("%g", double(100_000.0), "100000"),
        ("%.0f", double(2.5), "2"),
        ("%f", double(f64::NEG_INFINITY), "-inf"),
        ("%a", double(1.0), "0x1p+0"),
        ("%A", double(0.5), "0X1P-1"),
        ("%a", double(-3.140_625), "-0x1.92p+1"),
        ("%.1a", double(1.968_75), "0x2.0p+0"),
        ("%a", double(5e-324), "0x0.0000000000001p-1022"),
        ("%#010x", 31, "0x0000001f"),
        ("%08f", double(f64::INFINITY), "     inf"),
        ("%015.3a", double(-1.0), "-0x00001.000p+0"),
        ("[%.0d]", 0, "[]"),
        ("%#o", 0, "0"),
        ("%#.4o", 8, "0010"),
        ("%#.0f", double(3.0), "3."),
        ("%#.0e", double(12345.0), "1.e+04"),
        ("%#.0g", double(5.0), "5."),
        ("%#a", double(1.0), "0x1.p+0"),
    ];
    for (format, bits, text) in cases {
        assert_eq!(printed(format, *bits), ((*text).to_owned(), 1), "{format}");
    }
    assert_eq!(printed("none\n", 0), ("none\n".to_owned(), 0));
    assert_eq!(printed("%.*d", 0xffff_ffff), ("0".to_owned(), 2));
    // Widths and precisions that no buffer has room for are cut.
    for kind in ["d", "f", "e", "a", "x"] {
        let lengths = [format!("%.70000{kind}"), format!("%9223372036854775807{kind}")];
        let cut = (1 << 15)..(1 << 15) + 8;
        lengths.iter().for_each(|format| assert!(cut.contains(&printed(format, 0).0.len()), "{format}"));
    }
}

/// A launch whose callback panics ends on all threads of the host: the last block prints.
#[test]
fn a_panic_ends_a_launch() {
    let text = module(
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
        .global .align 1 .b8 format[2] = {97, 0};
        .visible .entry k() {
            .reg .b64 %rd; .reg .b32 %r; .reg .pred %p; .param .b64 f; .param .b64 a; .param .b32 r;
            mov.u32 %r, %ctaid.x; setp.ne.u32 %p, %r, 1023; @%p ret;
            mov.u64 %rd, format; cvta.global.u64 %rd, %rd; st.param.b64 [f], %rd; st.param.b64 [a], 0;
            call (r), vprintf, (f, a); ret;
        }",
    );
    let memory = Memory::new();
    let kernel = Module::load(&text, &memory).unwrap().kernel("k").unwrap();
    for threads in [1, 2] {
        let print = Arc::new(|_: &str| panic!("the callback"));
        let options = Options { threads: Some(threads), print: Some(print), ..Options::default() };
        let launch = std::panic::AssertUnwindSafe(|| kernel.launch_with(Grid::new(1024, 32), &[], &options));
        assert!(std::panic::catch_unwind(launch).is_err());
    }
}

/// Calls by addresses of what is not a function, and of a kernel.
#[test]
fn an_indirect_call_to_an_address_without_a_function_fails() {
    for (callee, offset) in [("f", 5), ("f", 1_u64 << 40), ("k", 0)] {
        let text = module(&format!(
            ".func (.reg .b32 r) f(.reg .b32 a) {{ add.u32 r, a, 1; ret; }}
            .visible .entry k(.param .u32 x) {{
                .reg .b64 %rd<2>; .reg .b32 %r<3>; mov.u64 %rd1, {callee}; add.u64 %rd1, %rd1, {offset};
                P: .callprototype (.reg .b32 _) _ (.reg .b32 _);
                mov.u32 %r1, 1; call (%r2), %rd1, (%r1), P; ret;
            }}"
        ));
        let memory = Memory::new();
        let kernel = Module::load(&text, &memory).unwrap().kernel("k").unwrap();
        let error = kernel.launch(Grid::new(1, 1), &[1.into()]).unwrap_err();
        assert_eq!(error.kind.name(), "call", "{callee}+{offset}: {error}");
    }
}

/// A function takes and gives a register of 128 bits, and another one ends the threads of some blocks.
#[test]
fn functions_that_take_wide_registers_and_that_end_threads() {
    let text = module(
        ".func (.reg .b128 r) f(.reg .b128 a) {
            .reg .b64 %x<3>; mov.b128 {%x0, %x1}, a; add.u64 %x0, %x0, 1; add.u64 %x1, %x1, 2; mov.b128 r, {%x0, %x1}; ret;
        }
        .func g(.reg .b32 a) { .reg .pred %p; setp.ne.u32 %p, a, 0; @%p exit; ret; }
        .visible .entry k(.param .u64 out) {
            .reg .b64 %rd<6>; .reg .b128 %q<2>; .reg .b32 %r<2>;
            ld.param.u64 %rd1, [out]; mov.u32 %r1, %ctaid.x; call g, (%r1);
            mov.b64 %rd2, 10; mov.b64 %rd3, 20; mov.b128 %q0, {%rd2, %rd3};
            call (%q1), f, (%q0); mov.b128 {%rd4, %rd5}, %q1; st.global.v2.u64 [%rd1], {%rd4, %rd5}; ret;
        }",
    );
    let memory = Memory::new();
    let kernel =
        Module::load(&text.replace("sm_80", "sm_90").replace("8.0", "8.4"), &memory).unwrap().kernel("k").unwrap();
    let out = memory.upload(&[0_u64; 2]);
    kernel.launch(Grid::new(100, 1), &[out.into()]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(memory.download::<u64>(out, 2).unwrap(), [11, 22]);
}

#[test]
fn what_is_not_in_a_function_is_an_error() {
    for text in [
        "h:%",
        "h:",
        ".version 8.0\n.target sm_80\nLOOP:\nret;\n",
        ".param .u32 x;",
        "}",
        "h: .callprototype _ (.param .u32 a);",
    ] {
        let error = Module::load(text, &Memory::new()).expect_err("labels are in functions");
        assert_eq!(error.kind.name(), "module", "{text}: {error}");
    }
}

#[test]
fn parameters_have_addresses_of_32_bits() {
    let body = "
.visible .entry k(.param .align 8 .b8 p[8], .param .u64 y) {
    .reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .pred %p;
    ld.param.u64 %rd3, [y];
    mov.b32 %r1, p; ld.param.u32 %r2, [%r1+4]; st.global.u32 [%rd3], %r2;
    cvt.u64.u32 %rd1, %r1; cvta.param.u64 %rd2, %rd1; ld.u32 %r2, [%rd2+4]; st.global.u32 [%rd3+4], %r2;
    mov.b64 %rd1, p; cvta.param.u64 %rd2, %rd1; cvta.to.param.u64 %rd4, %rd2; cvt.u32.u64 %r1, %rd4;
    cvt.u64.u32 %rd5, %r1; ld.param.u32 %r2, [%rd5+4]; st.global.u32 [%rd3+8], %r2;
    ld.param.u32 %r2, [%rd1+4]; st.global.u32 [%rd3+12], %r2;
    isspacep.param %p, %rd2; selp.u32 %r2, 1, 0, %p; isspacep.global %p, %rd2; @%p add.u32 %r2, %r2, 10; st.global.u32 [%rd3+16], %r2;
    ret;
}";
    let memory = Memory::new();
    let kernel = Module::load(&module(body), &memory).unwrap().kernel("k").unwrap();
    let out = memory.upload(&[0_u32; 5]);
    let p: Vec<u8> = [10_u32, 11].iter().flat_map(|word| word.to_le_bytes()).collect();
    kernel.launch(Grid::new(1, 1), &[Argument::bytes(p), out.into()]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(memory.download::<u32>(out, 5).unwrap(), [11; 5]);
}

#[test]
fn shared_memory_has_the_size_of_a_device() {
    let memory = Memory::new();
    let kernel = Module::load(&module(".visible .entry k() { ret; }"), &memory).unwrap().kernel("k").unwrap();
    kernel.launch(Grid::new(1, 1).shared(232_448), &[]).unwrap_or_else(|error| panic!("{error}"));
    let error = kernel.launch(Grid::new(1, 1).shared(232_449), &[]).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Shape);
    assert!(error.to_string().contains("needs 232449 bytes of shared memory; the limit is 232448"), "{error}");
}

#[test]
fn reserved_shared_memory_is_apart() {
    // Registers with offsets in it, as cooperative groups use them; a variable and dynamic memory keep their contents.
    let body = "
.shared .align 16 .b8 own[64]; .extern .shared .align 16 .b8 more[];
.visible .entry k(.param .u64 y) {
    .reg .b64 %rd<6>; .reg .b32 %r<9>;
    ld.param.u64 %rd1, [y];
    mov.u32 %r1, 7; st.shared.u32 [own], %r1; st.shared.u32 [more], %r1;
    mov.u32 %r2, %reserved_smem_offset_1; cvt.u64.u32 %rd2, %r2; cvta.shared.u64 %rd3, %rd2;
    atom.add.u32 %r3, [%rd3], 5; st.u32 [%rd3+284], %r1; ld.u32 %r4, [%rd3]; add.u32 %r3, %r3, %r4;
    ld.shared.u32 %r4, [own]; ld.shared.u32 %r5, [more]; add.u32 %r4, %r4, %r5;
    st.global.v2.b32 [%rd1], {%r3, %r4};
    mov.u32 %r6, %reserved_smem_offset_begin; mov.u32 %r7, %reserved_smem_offset_end; sub.u32 %r6, %r7, %r6;
    mov.u32 %r7, %reserved_smem_offset_cap; st.global.v2.b32 [%rd1+8], {%r6, %r7};
    mov.u32 %r6, %total_smem_size; mov.u32 %r7, %aggr_smem_size; st.global.v2.b32 [%rd1+16], {%r6, %r7};
    ret;
}";
    let memory = Memory::new();
    let kernel = Module::load(&module(body).replace("sm_80", "sm_90").replace("8.0", "8.1"), &memory)
        .unwrap()
        .kernel("k")
        .unwrap();
    let out = memory.upload(&[0_u32; 6]);
    for _ in 0..2 {
        // Each block finds zeros, and there is as much memory for it as without the reserved part.
        let grid = Grid::new(3, 1).shared(232_448 - 64);
        kernel.launch(grid, &[out.into()]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(memory.download::<u32>(out, 6).unwrap(), [5, 14, 1024, 1024, 232_448, 233_472]);
        assert_eq!(kernel.shared().unwrap(), 64);
    }
}

/// Sizes as on an H200: the total is in units of 128 bytes, the others are exact.
#[test]
fn sizes_of_shared_memory() {
    for (own, dynamic, sizes) in [
        (0, 0, [0, 0, 1024]),
        (0, 1, [128, 1, 1025]),
        (0, 129, [256, 129, 1153]),
        (1, 0, [128, 0, 1040]),
        (1, 127, [256, 127, 1167]),
        (3, 1024, [1152, 1024, 2064]),
    ] {
        let variable = if own > 0 { format!(".shared .align 1 .b8 own[{own}];") } else { String::new() };
        let body = format!(
            ".extern .shared .align 16 .b8 more[];
            .visible .entry k(.param .u64 y) {{
                .reg .b64 %rd; .reg .b32 %r<5>; {variable}
                ld.param.u64 %rd, [y]; mov.u32 %r1, %total_smem_size; mov.u32 %r2, %dynamic_smem_size; mov.u32 %r3, %aggr_smem_size;
                {} mov.u32 %r4, more; st.global.v2.b32 [%rd], {{%r1, %r2}}; st.global.b32 [%rd+8], %r3;
                ret;
            }}",
            if own > 0 { "st.shared.b8 [own], 1;" } else { "" }
        );
        let memory = Memory::new();
        let text = module(&body).replace("sm_80", "sm_90").replace("8.0", "8.1");
        let kernel = Module::load(&text, &memory).unwrap().kernel("k").unwrap();
        let out = memory.upload(&[0_u32; 3]);
        kernel.launch(Grid::new(1, 1).shared(dynamic), &[out.into()]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(memory.download::<u32>(out, 3).unwrap(), sizes, "{own} and {dynamic} bytes");
    }
}

#[test]
fn bulk_stores_fill_shared_memory_with_zeros() {
    let body = "
.visible .entry k(.param .u64 y, .param .u32 size) {
    .reg .b64 %rd<4>; .reg .b32 %r<3>; .shared .align 16 .b32 own[8];
    ld.param.u64 %rd1, [y]; ld.param.u32 %r1, [size]; cvt.u64.u32 %rd2, %r1; mov.b64 %rd3, own;
    mov.u32 %r2, 9; st.shared.v4.b32 [own], {%r2, %r2, %r2, %r2}; st.shared.v4.b32 [own+16], {%r2, %r2, %r2, %r2};
    st.bulk.weak.shared::cta [%rd3+8], %rd2, 0;
    ld.shared.b32 %r2, [own+4]; st.global.b32 [%rd1], %r2; ld.shared.b32 %r2, [own+8]; st.global.b32 [%rd1+4], %r2;
    ld.shared.b32 %r2, [own+20]; st.global.b32 [%rd1+8], %r2; ld.shared.b32 %r2, [own+24]; st.global.b32 [%rd1+12], %r2;
    ret;
}";
    let memory = Memory::new();
    let text = module(body).replace("sm_80", "sm_100").replace("8.0", "8.6");
    let kernel = Module::load(&text, &memory).unwrap().kernel("k").unwrap();
    let out = memory.upload(&[1_u32; 4]);
    for (size, expected) in [(0, [9; 4]), (16, [9, 0, 0, 9]), (24, [9, 0, 0, 0])] {
        kernel.launch(Grid::new(1, 1), &[out.into(), size.into()]).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(memory.download::<u32>(out, 4).unwrap(), expected);
    }
    let error = kernel.launch(Grid::new(1, 1), &[out.into(), 32.into()]).unwrap_err();
    assert_eq!((error.kind.name(), error.line), ("access", Some(9)), "{error}");
    let text = text.replace("[%rd3+8]", "[%rd3+4]");
    let error = Module::load(&text, &memory).unwrap().kernel("k").unwrap();
    let error = error.launch(Grid::new(1, 1), &[out.into(), 24.into()]).unwrap_err();
    assert!(error.message.ends_with("an access of 24 bytes is not a multiple of 8"), "{error}");
    // A size that wraps with its offset.
    let text = text.replace("[%rd3+4]", "[%rd3+8]").replace("cvt.u64.u32 %rd2, %r1", "cvt.s64.s32 %rd2, %r1");
    let error = Module::load(&text, &memory).unwrap().kernel("k").unwrap();
    let error = error.launch(Grid::new(1, 1), &[out.into(), (-8_i32).into()]).unwrap_err();
    assert_eq!(error.kind.name(), "access", "{error}");
}

#[test]
fn a_lock_that_is_mostly_taken_is_handed_on() {
    // The first block takes the lock again and again, until the second one has had it.
    let body = "
.visible .entry k(.param .u64 x) {
    .reg .b64 %rd; .reg .b32 %r<9>; .reg .pred %p<6>;
    ld.param.u64 %rd, [x]; mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x;
    setp.ne.u32 %p1, %r1, 0; setp.ne.u32 %p2, %r2, 0;
POLL:
    @%p1 bra HELD;
SPIN:
    atom.global.acquire.gpu.cas.b32 %r3, [%rd], 0, 1;
    setp.ne.u32 %p3, %r3, 0;
    @%p3 bra SPIN;
HELD:
    bar.sync 0; mov.u32 %r6, 0;
WORK:
    add.u32 %r6, %r6, 1; setp.lt.u32 %p5, %r6, 1000; bar.sync 0; @%p5 bra WORK;
    @%p2 st.global.u32 [%rd+4], 1;
    ld.global.u32 %r4, [%rd+4];
    bar.sync 0;
    @!%p1 atom.global.release.gpu.exch.b32 %r5, [%rd], 0;
    setp.eq.u32 %p4, %r4, 0;
    @%p4 bra POLL;
    ret;
}";
    let text = module(body).replace("sm_80", "sm_90");
    for cluster in [1, 2] {
        let memory = Memory::new();
        let kernel = Module::load(&text, &memory).unwrap().kernel("k").unwrap();
        let x = memory.upload(&[0_u32; 2]);
        let options = Options { threads: Some(1), limit: 50_000_000, ..Options::default() };
        let grid = Grid { cluster: [cluster, 1, 1], ..Grid::new(2, 128) };
        kernel.launch_with(grid, &[x.into()], &options).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(memory.download::<u32>(x, 2).unwrap(), [0, 1]);
    }
}

#[test]
fn lanes_vote_with_those_that_name_the_same_ones() {
    // The lower lanes vote among themselves, and then with all, at the place where the upper ones wait for all.
    let body = "
.visible .entry k(.param .u64 y) {
    .reg .b64 %rd<4>; .reg .b32 %r<6>; .reg .pred %p<4>;
    ld.param.u64 %rd1, [y]; mov.u32 %r1, %tid.x; mov.u32 %r4, 0; and.b32 %r2, %r1, 1;
    setp.lt.u32 %p1, %r1, 16;
    selp.b32 %r3, 0xffff, 0xffffffff, %p1;
    @!%p1 xor.b32 %r2, %r2, 1;
AGAIN:
    setp.ne.u32 %p2, %r2, 0;
    vote.sync.ballot.b32 %r5, %p2, %r3;
    setp.ne.u32 %p3, %r3, 0xffffffff;
    @%p3 mov.u32 %r4, %r5;
    @%p3 xor.b32 %r2, %r2, 1;
    mov.u32 %r3, 0xffffffff;
    @%p3 bra AGAIN;
    mul.wide.u32 %rd2, %r1, 8; add.u64 %rd3, %rd1, %rd2; st.global.v2.u32 [%rd3], {%r4, %r5};
    ret;
}";
    let memory = Memory::new();
    let kernel = Module::load(&module(body), &memory).unwrap().kernel("k").unwrap();
    let out = memory.upload(&[0_u32; 64]);
    kernel.launch(Grid::new(1, 32), &[out.into()]).unwrap_or_else(|error| panic!("{error}"));
    let expected: Vec<u32> = (0..32).flat_map(|lane| [if lane < 16 { 0xaaaa } else { 0 }, 0x5555_5555]).collect();
    assert_eq!(memory.download::<u32>(out, 64).unwrap(), expected);
}

#[test]
fn lanes_at_several_barriers_of_a_warp_wait_for_those_that_name_the_same_ones() {
    // The second lane waits for the third, and then for the first, which is at another barrier already.
    let body = "
.visible .entry k(.param .u64 o) {
    .reg .pred %p<3>; .reg .b32 %r<3>; .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [o]; mov.u32 %r1, %tid.x;
    setp.eq.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r1, 2; @%p1 bra ZERO; @%p2 bra TWO;
    bar.warp.sync 6;
    ld.volatile.global.u32 %r2, [%rd1+8]; st.global.u32 [%rd1+4], %r2;
    bar.warp.sync 3; ret;
ZERO:
    bar.warp.sync 3;
    ld.volatile.global.u32 %r2, [%rd1+8]; st.global.u32 [%rd1], %r2; ret;
TWO:
    st.volatile.global.u32 [%rd1+8], 7; bar.warp.sync 6; ret;
}";
    let memory = Memory::new();
    let kernel = Module::load(&module(body), &memory).unwrap().kernel("k").unwrap();
    let out = memory.upload(&[0_u32; 3]);
    kernel.launch(Grid::new(1, 3), &[out.into()]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(memory.download::<u32>(out, 3).unwrap(), [7; 3]);
}

#[test]
fn a_barrier_in_memory_that_nobody_completes_meets_the_limit() {
    let body = "
.visible .entry k() {
    .reg .b64 %rd<2>; .reg .pred %p<2>; .shared .align 8 .b64 bar;
    mbarrier.init.shared.b64 [bar], 2; mbarrier.arrive.shared.b64 _, [bar];
WAIT:
    mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
    @!%p1 bra WAIT;
    ret;
}";
    let memory = Memory::new();
    let text = module(body).replace("sm_80", "sm_90");
    let kernel = Module::load(&text, &memory).unwrap().kernel("k").unwrap();
    let options = Options { limit: 100_000, ..Options::default() };
    let error = kernel.launch_with(Grid::new(2, 1), &[], &options).unwrap_err();
    assert_eq!((error.kind.name(), error.line), ("limit", Some(9)), "{error}");
}

#[test]
fn a_long_loop_of_volatile_loads_ends() {
    let body = "
.visible .entry k(.param .u64 y) {
    .reg .b64 %rd<2>; .reg .b32 %r<4>; .reg .pred %p<2>;
    ld.param.u64 %rd1, [y]; mov.u32 %r1, 0; mov.u32 %r2, 0;
SUM:
    ld.volatile.global.u32 %r3, [%rd1]; add.u32 %r2, %r2, %r3;
    add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 3000000; @%p1 bra SUM;
    st.global.u32 [%rd1], %r2; ret;
}";
    let memory = Memory::new();
    let kernel = Module::load(&module(body), &memory).unwrap().kernel("k").unwrap();
    let y = memory.upload(&[2_u32]);
    kernel.launch(Grid::new(1, 1), &[y.into()]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(memory.download::<u32>(y, 1).unwrap(), [6_000_000]);
}

#[test]
fn launches_from_kernels_are_refused_before_the_launch() {
    let body = "
.extern .func (.param .b64 r) cudaGetParameterBufferV2(.param .b64 f);
.visible .entry k() { .param .b64 r; .param .b64 f; call.uni (r), cudaGetParameterBufferV2, (f); ret; }";
    let memory = Memory::new();
    let kernel = Module::load(&module(body), &memory).unwrap().kernel("k").unwrap();
    let error = kernel.launch(Grid::new(1, 1), &[]).unwrap_err().to_string();
    assert!(error.contains("is not supported: kernel launches from a kernel"), "{error}");
    let deep = Grid { threads: [1, 1, 65], ..Grid::new(1, 1) };
    let error = kernel.launch(deep, &[]).unwrap_err().to_string();
    assert!(error.contains("a block has 1 to 1024×1024×64 threads, not 1×1×65"), "{error}");
}

#[test]
fn blocks_wait_for_a_long_computation() {
    let body = "
.visible .entry k(.param .u64 flag) {
    .reg .b64 %rd<2>; .reg .b32 %r<4>; .reg .pred %p<3>;
    ld.param.u64 %rd1, [flag]; mov.u32 %r1, %ctaid.x; setp.ne.u32 %p1, %r1, 0; mov.u32 %r2, 0;
    @%p1 bra WAIT;
WORK:
    add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 20000000; @%p2 bra WORK;
    st.release.gpu.global.u32 [%rd1], 1;
    ret;
WAIT:
    ld.acquire.gpu.global.u32 %r3, [%rd1]; setp.eq.u32 %p2, %r3, 0; @%p2 bra WAIT;
    ret;
}";
    let memory = Memory::new();
    let kernel = Module::load(&module(body), &memory).unwrap().kernel("k").unwrap();
    let flag = memory.upload(&[0_u32]);
    let options = Options { threads: Some(2), ..Options::default() };
    kernel.launch_with(Grid::new(2, 1), &[flag.into()], &options).unwrap_or_else(|error| panic!("{error}"));
}

/// The last parameter of a function may have any size.
#[test]
fn arguments_of_a_size_that_the_caller_chooses() {
    let text = module(
        ".func (.reg .b32 r) sum(.reg .b32 n, .param .align 8 .b8 v[]) {
            .reg .b32 %r<3>; .reg .pred %p; ld.param.b32 r, [v]; setp.lt.u32 %p, n, 2; @%p ret;
            ld.param.b32 %r1, [v+12]; add.u32 r, r, %r1; ret;
        }
        .visible .entry k(.param .u64 out) {
            .reg .b64 %rd<2>; .reg .b32 %r<4>; .param .align 8 .b8 short[8]; .param .align 8 .b8 long[16];
            ld.param.u64 %rd1, [out]; mov.u32 %r1, 7; st.param.b32 [short], %r1; st.param.b32 [long], %r1;
            mov.u32 %r1, 100; st.param.b32 [long+12], %r1;
            mov.u32 %r1, 1; call (%r2), sum, (%r1, short); mov.u32 %r1, 2; call (%r3), sum, (%r1, long);
            st.global.v2.u32 [%rd1], {%r2, %r3}; ret;
        }",
    );
    let memory = Memory::new();
    let kernel = Module::load(&text, &memory).unwrap().kernel("k").unwrap();
    let out = memory.upload(&[0_u32; 2]);
    kernel.launch(Grid::new(1, 1), &[out.into()]).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(memory.download::<u32>(out, 2).unwrap(), [7, 107]);
}

/// Variables have memory until the module and its kernels are gone.
#[test]
fn memory_of_variables_ends_with_their_module() {
    let memory = Memory::new();
    let module = Module::load(&module(".global .u32 x = 7; .visible .entry k() { ret; }"), &memory).unwrap();
    let (x, kernel) = (module.variable("x").unwrap().0, module.kernel("k").unwrap());
    drop(module);
    assert_eq!(memory.download::<u32>(x, 1).unwrap(), [7]);
    drop(kernel);
    assert_eq!(memory.download::<u32>(x, 1).unwrap_err().kind.name(), "access");
}
