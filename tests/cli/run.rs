//! `ptx-isa run`: kernels that compilers wrote, on the command line.

use crate::command::{folder, run};
use serde_json::Value;

const SUITE: &str = "tests/kernels/suite-compute_80.ptx";
const SAXPY: &str =
    "the kernel is saxpy(.u32 saxpy_param_0, .f32 saxpy_param_1, .u64 saxpy_param_2, .u64 saxpy_param_3)";

fn launch(kernel: &str, block: &str, arguments: &[&str], more: &[&str]) -> crate::command::Run {
    let arguments = arguments.iter().flat_map(|argument| ["--arg", argument]);
    let all: Vec<&str> = ["run", SUITE, "--kernel", kernel, "--grid", "4", "--block", block].into_iter().collect();
    run(&all.into_iter().chain(arguments).chain(more.iter().copied()).collect::<Vec<_>>())
}

fn saxpy(arguments: &[&str], more: &[&str]) -> crate::command::Run {
    launch("saxpy", "256", arguments, more)
}

#[test]
fn a_kernel_runs_with_time_and_count_on_standard_error() {
    let given = ["1000", "2.0", "iota:f32[1000]", "ones:f32[1000]"];
    let ran = saxpy(&given, &["--print", "3[0..6]"]);
    assert_eq!((ran.status, ran.out.as_str()), (0, "3 = [1.0, 3.0, 5.0, 7.0, 9.0, 11.0]\n"));
    assert!(ran.err.starts_with("saxpy: ") && ran.err.contains(" instructions in "), "{}", ran.err);
    assert_eq!(saxpy(&given, &["-q"]).err, "");

    // By name, in any order; types that agree with the parameters'.
    let named = ["saxpy_param_1=2:f32", "saxpy_param_3=ones:f32[1000]", "1000:s32", "iota:f32[1000]"];
    assert_eq!(saxpy(&named, &["--print", "saxpy_param_3[998..]"]).out, "saxpy_param_3 = [1997.0, 1999.0]\n");

    let json = saxpy(&given, &["--print", "ones[..2]", "--format", "json"]);
    let object: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!((&object["kernel"], &object["outputs"]["ones"]), (&"saxpy".into(), &vec![1.0, 3.0].into()));
    assert_eq!((&object["grid"], &object["block"]), (&vec![4, 1, 1].into(), &vec![256, 1, 1].into()));
    assert!(object["instructions"].as_u64() > Some(10_000) && object["seconds"].as_f64() > Some(0.0));
}

#[test]
fn a_stack_and_a_heap_have_sizes() {
    let recursion = |more: &[&str]| launch("recursion", "32", &["zeros:s32[32]"], more);
    assert_eq!(recursion(&["--print", "0[10..12]"]).out, "0 = [55, 89]\n");
    let small = recursion(&["--stack", "128"]);
    assert_eq!(small.status, 1);
    // A heap without room gives no memory.
    let text = ".version 8.0\n.target sm_80\n.address_size 64\n.extern .func (.param .b64 p) malloc(.param .b64 n);
        .visible .entry k(.param .u64 out) {
            .reg .b64 %rd<3>; .param .b64 n; .param .b64 p; st.param.b64 [n], 64; call (p), malloc, (n);
            ld.param.b64 %rd1, [p]; ld.param.b64 %rd2, [out]; min.u64 %rd1, %rd1, 1; st.global.u64 [%rd2], %rd1; ret;
        }";
    let path = folder("cli-run-heap").join("heap.ptx").display().to_string();
    std::fs::write(&path, text).unwrap();
    for (heap, found) in [("63", "0 = [0]\n"), ("64", "0 = [1]\n")] {
        let ran = run(&["run", &path, "--grid", "1", "--arg", "out:u64[1]", "--print", "0", "--heap", heap]);
        assert_eq!((ran.status, ran.out.as_str()), (0, found), "{}", ran.err);
    }
    assert!(
        small.err.contains("stack overflow: ") && small.err.contains("the stack of a thread has 128"),
        "{}",
        small.err
    );
}

#[test]
fn arrays_come_from_files_and_go_to_them() {
    let folder = folder("cli-run");
    let path = |name: &str| folder.join(name).display().to_string();
    // Two dimensions, which stay.
    let header = format!("{:117}\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (20, 50), }");
    let file = |value: fn(usize) -> f32| {
        let numbers = (0..1000).flat_map(|index| value(index).to_le_bytes());
        [b"\x93NUMPY\x01\x00v\x00", header.as_bytes()].concat().into_iter().chain(numbers).collect::<Vec<u8>>()
    };
    std::fs::write(path("x.npy"), file(|index| index as f32)).unwrap();
    std::fs::write(path("y.npy"), file(|_| 1.0)).unwrap();
    let y = format!("inout:{}", path("y.npy"));
    let saved = [format!("x={}", path("same.npy")), format!("y={}", path("saved.npy"))];
    let ran = saxpy(&["1000", "2", &path("x.npy"), &y], &["--save", &saved[0], "--save", &saved[1]]);
    assert_eq!(ran.status, 0, "{}", ran.err);
    let read = |name: &str| std::fs::read(path(name)).unwrap();
    assert_eq!(read("same.npy"), file(|index| index as f32));
    assert_eq!(read("y.npy"), file(|index| 2.0 * index as f32 + 1.0));
    assert_eq!(read("saved.npy"), read("y.npy"));
    // A file that is cut off has less than its shape says.
    std::fs::write(path("x.npy"), &read("same.npy")[..400]).unwrap();
    let ran = saxpy(&["1000", "2", &path("x.npy"), &y], &[]);
    assert!(ran.status == 2 && ran.err.contains("not an array of numbers in C order"), "{}", ran.err);
}

#[test]
fn fills_give_arrays() {
    let print = |array: &str| saxpy(&["0", "0.0", array, "out:f32[1]"], &["--print", "2"]).out;
    assert_eq!(print("zeros:s8[3]"), "2 = [0, 0, 0]\n");
    assert_eq!(print("ones:f16[2]"), "2 = [1.0, 1.0]\n");
    assert_eq!(print("ones:bf16[2]"), "2 = [1.0, 1.0]\n");
    assert_eq!(print("iota:i64[3]"), "2 = [0, 1, 2]\n");
    assert!(print("iota:u8[258]").ends_with("254, 255, 0, 1]\n"));
    assert_eq!(print("random:u32[8]:7"), print("random:u32[8]:7"));
    assert_ne!(print("random:u32[8]:7"), print("random:u32[8]:8"));
    for fill in ["zeros", "ones", "iota", "random"] {
        let ran = saxpy(&["0", "0.0", &format!("{fill}:f32[999999999999999]"), "out:f32[1]"], &[]);
        assert!(ran.status == 2 && ran.err.contains("elements do not fit into memory"), "{}", ran.err);
    }
    let ran = saxpy(&["0", "0.0", "ones:f16[2]", "out:f32[1]"], &["--print", "2[1..3]"]);
    assert!(
        ran.status == 2 && ran.err.contains("`2` has 2 elements, and `1..3` is not a range of them"),
        "{}",
        ran.err
    );
}

#[test]
fn what_a_kernel_prints_is_a_field_of_the_object() {
    let printed =
        |more: &[&str]| run(&[&["run", SUITE, "--kernel", "print", "--grid", "1", "--arg", "2"], more].concat());
    let text = printed(&[]).out;
    assert!(text.lines().count() == 1, "{text}");
    let object: Value = serde_json::from_str(&printed(&["--format", "json"]).out).unwrap();
    assert_eq!(object["printed"], text.as_str());
}

#[test]
fn no_threads_of_the_host_are_all_of_them() {
    let ran = saxpy(&["2", "2.0", "iota:f32[2]", "ones:f32[2]"], &["--threads", "0", "--print", "3"]);
    assert_eq!((ran.status, ran.out.as_str()), (0, "3 = [1.0, 3.0]\n"), "{}", ran.err);
}

#[test]
fn wrong_arguments_are_explained_against_the_signature() {
    let y = "out:f32[1000]";
    let wrong: [(&[&str], &str); 15] = [
        (&["1000", "2.0", y], "the kernel takes 4 arguments, not 3; missing: `saxpy_param_3`"),
        (&["1000", "2.0", y, y, y], "the kernel takes 4 arguments, not 5"),
        (&["1000", "2.0", y, "n=3"], "there is no parameter `n`, to which `--arg n=3` gives a value"),
        (&["saxpy_param_0=1", "saxpy_param_0=2"], "`--arg saxpy_param_0=2` gives a parameter a second value"),
        (&["1000:f32", "2.0", y, y], "`1000:f32` is a `.f32`, but the parameter is a `.u32`; write `1000:u32`"),
        (&["1000:u64", "2.0", y, y], "`1000:u64` is a `.u64`, but the parameter is a `.u32`; write `1000:u32`"),
        (&["1000", "2:u32", y, y], "`2:u32` is a `.u32`, but the parameter is a `.f32`; write `2:f32`"),
        (&["2.5", "2.0", y, y], "`2.5` is not a number that a `.u32` holds; write `1000`"),
        (&["4294967296", "2.0", y, y], "`4294967296` is not a number that a `.u32` holds"),
        (&["-2147483649", "2.0", y, y], "`-2147483649` is not a number that a `.u32` holds"),
        (&[y, "2.0", y, y], "`out:f32[1000]` is an array, but the parameter is a `.u32`, not a pointer; write `1000`"),
        (
            &["1000", "2.0", "2.0", y],
            "`2.0` is not a number that a `.u64` holds; write `1000`, `x.npy` or `zeros:f32[1000]`",
        ),
        (&["1000", "bytes:0000", y, y], "`bytes:0000` has 2 bytes, and the parameter has 4; write `2.0`"),
        (&["1000", "2.0", "fill:f32[3]", y], "unknown fill `fill`"),
        (&["1000", "2.0", "out:f31[3]", y], "unknown element type `f31`; known are `u8`, `s8`, "),
    ];
    for (arguments, message) in wrong {
        let ran = saxpy(arguments, &[]);
        assert!(ran.status == 2 && ran.out.is_empty() && ran.err.contains(message), "{message}\n{}", ran.err);
        assert!(ran.err.contains(SAXPY), "{}", ran.err);
    }
    let given = ["1000", "2.0", y, y];
    let ran = saxpy(&given, &["--print", "out"]);
    assert!(
        ran.status == 2 && ran.err.contains("several arrays are called `out`; the arrays are `out` = "),
        "{}",
        ran.err
    );
    let ran = saxpy(&given, &["--print", "x"]);
    assert!(ran.status == 2 && ran.err.contains("there is no array `x`"), "{}", ran.err);
}

/// A parameter's name and place are its own, whatever arrays are called; parts of one array are told apart by their ranges.
#[test]
fn names_of_parameters_take_precedence() {
    let folder = folder("cli-run-names");
    let path = folder.join("two.ptx").display().to_string();
    let text =
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out, .param .u64 ones) { ret; }";
    std::fs::write(&path, text).unwrap();
    let printed = |names: &[&str]| {
        let given = ["run", "-q", &path, "--grid", "1", "--arg", "ones:u32[2]", "--arg", "out:u32[2]"];
        let names = names.iter().flat_map(|name| ["--print", name]);
        run(&given.into_iter().chain(names).collect::<Vec<_>>()).out
    };
    assert_eq!(printed(&["out", "ones"]), "ones = [0, 0]\nout = [1, 1]\n");
    assert_eq!(printed(&["0[..1]", "0[1..]"]), "0[0..1] = [1]\n0[1..2] = [1]\n");
}

#[test]
fn a_launch_that_fails_says_where() {
    let given = ["1024", "2.0", "iota:f32[1000]", "ones:f32[1000]"];
    let ran = saxpy(&given, &[]);
    assert_eq!(ran.status, 1);
    assert!(ran.err.contains(&format!("\n  at {SUITE}:")), "{}", ran.err);
    assert!(
        ran.err.contains("\n  from suite.cu:9:") && ran.err.contains("block [3, 0, 0], thread [232, 0, 0]"),
        "{}",
        ran.err
    );
    let object: Value = serde_json::from_str(&saxpy(&given, &["--format", "json"]).out).unwrap();
    let error = &object["error"];
    assert_eq!((&error["kind"], &error["kernel"], &error["file"]), (&"access".into(), &"saxpy".into(), &SUITE.into()));
    let text = std::fs::read_to_string(SUITE).unwrap();
    let line = text.lines().nth(error["line"].as_u64().unwrap() as usize - 1).unwrap();
    let statement: Vec<&str> = line[error["column"].as_u64().unwrap() as usize - 1..].split_whitespace().collect();
    assert_eq!(statement.join(" "), error["statement"].as_str().unwrap());
    assert_eq!((&error["source"]["file"], &error["source"]["line"]), (&"suite.cu".into(), &9.into()));
    assert_eq!((&error["block"], &error["thread"]), (&vec![3, 0, 0].into(), &vec![232, 0, 0].into()));
    assert!(error["address"].is_u64() && error["message"].is_string());

    let ran = launch("forever", "1", &["out:s32[1]"], &["--limit", "10000"]);
    assert!(ran.status == 1 && ran.err.contains("more than 10000 instructions"), "{}", ran.err);
    assert_eq!(saxpy(&given, &["--cluster", "3"]).status, 2);
    assert_eq!(run(&["run", "missing.ptx"]).status, 2);
    assert_eq!(run(&["run", SUITE, "--grid", "1"]).status, 2);

    // A module that does not check is reported as `check` does.
    let spoilt = "tests/modules/rustc-1.97-sm_80.spoilt.ptx";
    let ran = run(&["run", spoilt]);
    assert!(ran.status == 2 && ran.err.contains(&format!("--> {spoilt}:42:7")), "{}", ran.err);
    let object: Value = serde_json::from_str(&run(&["run", spoilt, "--format", "json"]).out).unwrap();
    assert_eq!((&object["error"]["kind"], &object["error"]["line"]), (&"module".into(), &42.into()));
}

#[test]
fn a_file_alone_lists_kernels() {
    let listed = run(&["run", SUITE]).out;
    assert!(listed.starts_with("saxpy(.u32 saxpy_param_0, "), "{listed}");
    let of = |kernel: &str| run(&["run", SUITE, "--kernel", kernel]).out;
    // Options of a launch need a grid.
    let ran = run(&["run", SUITE, "--kernel", "transpose", "--block", "32"]);
    assert!(ran.status == 2 && ran.err.contains("--grid"), "{}", ran.err);
    assert!(of("reduce_shared").ends_with("\n    1024 bytes of shared memory\n"), "{}", of("reduce_shared"));
    let object: Value =
        serde_json::from_str(&run(&["run", SUITE, "--kernel", "transpose", "--format", "json"]).out).unwrap();
    assert_eq!(object["shared"], 16 * 17 * 4);
    assert_eq!(
        object["parameters"][0],
        serde_json::json!({ "name": "transpose_param_0", "type": "u64", "bytes": 8, "align": 8 })
    );
}

/// A tensor map is made of an array, in the shape that its file has; copies that are kept show that this kernel waits.
#[test]
fn tensor_maps_are_made_of_arrays() {
    let folder = folder("cli-run-tensor");
    let path = |name: &str| folder.join(name).display().to_string();
    let kernel = "
        .version 8.0\n.target sm_90\n.address_size 64
        .visible .entry box(.param .align 64 .b8 map[128], .param .u64 y, .param .u32 waits) {
            .reg .b64 %rd<6>; .reg .b32 %r<6>; .reg .pred %p<3>;
            .shared .align 128 .b8 data[64]; .shared .align 8 .b64 bar;
            mov.b64 %rd1, map; cvta.param.u64 %rd1, %rd1; ld.param.u64 %rd2, [y]; ld.param.u32 %r5, [waits];
            mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.expect_tx.shared.b64 %rd3, [bar], 64;
            cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [data], [%rd1, {0, 2}], [bar];
            setp.eq.u32 %p2, %r5, 0;
            @%p2 bra DONE;
        AGAIN: mbarrier.try_wait.shared.b64 %p1, [bar], %rd3; @!%p1 bra AGAIN;
        DONE: ld.shared.v4.b32 {%r1, %r2, %r3, %r4}, [data+48]; st.global.v4.b32 [%rd2], {%r1, %r2, %r3, %r4};
            ret;
        }";
    std::fs::write(path("box.ptx"), kernel).unwrap();
    let header = format!("{:117}\n", "{'descr': '<u4', 'fortran_order': False, 'shape': (8, 4), }");
    let numbers = (0..32_u32).flat_map(u32::to_le_bytes);
    let file = [b"\x93NUMPY\x01\x00v\x00", header.as_bytes()].concat().into_iter().chain(numbers).collect::<Vec<u8>>();
    std::fs::write(path("x.npy"), file).unwrap();
    let (ptx, x) = (path("box.ptx"), path("x.npy"));
    let launch = |map: &str, waits: &str, more: &[&str]| {
        let all =
            ["run", &ptx, "--grid", "1", "--arg", map, "--arg", "out:u32[4]", "--arg", waits, "--print", "out", "-q"];
        run(&[&all[..], more].concat())
    };
    let map = format!("tensor:4x4:0:{x}");
    for delay in [&[][..], &["--delay", "1"]] {
        let ran = launch(&map, "1", delay);
        assert_eq!((ran.status, ran.out.as_str()), (0, "out = [20, 21, 22, 23]\n"), "{}", ran.err);
    }
    assert_eq!(launch(&map, "0", &[]).out, "out = [20, 21, 22, 23]\n");
    assert_eq!(launch(&map, "0", &["--delay", "1"]).out, "out = [0, 0, 0, 0]\n");
    for (map, part) in [
        ("tensor:4x4:0".into(), "is not a tensor map"),
        (format!("tensor:4x4:7:{x}"), "has a swizzle other than 0, 32, 64 and 128"),
        (format!("tensor:3:0:{x}"), "a tensor of 2 dimensions has 2 sizes of the box, not 1"),
        (format!("tensor:4x3:0:{x}"), "96 bits, is not a multiple of 16 bytes"),
        ("tensor:4x4:0:5:u32".into(), "has no array"),
    ] {
        let ran = launch(&map, "1", &[]);
        assert!(ran.status == 2 && ran.err.contains(part), "{map}: {}", ran.err);
    }
}

/// Modules of a program: one calls a function and reads a variable that the others define, or do not.
#[test]
fn modules_are_linked() {
    let folder = folder("cli-run-link");
    let write = |name: &str, body: &str| {
        let path = folder.join(name).display().to_string();
        std::fs::write(&path, format!(".version 8.0\n.target sm_80\n.address_size 64\n{body}")).unwrap();
        path
    };
    let kernel = write(
        "kernel.ptx",
        ".extern .func (.param .b32 r) scaled(.param .b32 x);
        .extern .global .align 4 .u32 total;
        .visible .entry k(.param .u64 out) {
            .reg .b32 %r<4>; .reg .b64 %rd<4>;
            mov.u32 %r1, %tid.x;
            { .param .b32 x; .param .b32 r; st.param.b32 [x], %r1; call.uni (r), scaled, (x); ld.param.b32 %r2, [r]; }
            ld.global.u32 %r3, [total]; add.u32 %r2, %r2, %r3;
            ld.param.u64 %rd1, [out]; mul.wide.u32 %rd2, %r1, 4; add.u64 %rd3, %rd1, %rd2; st.global.u32 [%rd3], %r2; ret;
        }",
    );
    let function = ".visible .func (.param .b32 r) scaled(.param .b32 x) {
            .reg .b32 %r<3>; ld.param.b32 %r1, [x]; mul.lo.u32 %r2, %r1, 3; st.param.b32 [r], %r2; ret;
        }\n";
    let variable = ".visible .global .align 4 .u32 total = 100;\n";
    let library = write("library.ptx", &format!("{variable}{function}"));
    let [function, variable] = [write("function.ptx", function), write("variable.ptx", variable)];
    let launch = |files: &[&str], more: &[&str]| {
        let (first, linked) = files.split_first().unwrap();
        let linked = linked.iter().flat_map(|file| ["--link", file]);
        let shape = ["--grid", "1", "--block", "4", "--arg", "out:u32[4]", "--print", "out", "-q"];
        let all: Vec<&str> =
            ["run", first].into_iter().chain(linked).chain(shape).chain(more.iter().copied()).collect();
        run(&all)
    };
    // In any order, and in any number of modules.
    for files in [&[&*kernel, &*library][..], &[&library, &kernel], &[&kernel, &function, &variable]] {
        let ran = launch(files, &[]);
        assert_eq!((ran.status, ran.out.as_str()), (0, "out = [100, 103, 106, 109]\n"), "{}", ran.err);
    }
    assert_eq!(run(&["run", &library, "--link", &kernel]).out, "k(.u64 out)\n");

    let sixteen = ".visible .func (.param .b32 r) scaled(.param .b64 x) { st.param.b32 [r], 1; ret; }";
    let nothing = ".visible .func scaled(.param .b32 x) { ret; }";
    let files = [
        write("wide.ptx", ".visible .global .align 8 .u64 total;"),
        write("constant.ptx", ".visible .const .align 4 .u32 total;"),
        write("kind.ptx", ".visible .func total() { ret; }"),
        write("parameter.ptx", sixteen),
        write("result.ptx", nothing),
        write("again.ptx", ".visible .entry k() { trap; }"),
        write("broken.ptx", "nonsense"),
    ];
    let [wide, constant, kind, parameter, result, again, broken] = &files;
    for (files, status, message) in [
        (&[&*kernel, &*variable][..], 1, "no module defines the function `scaled`; link one that does"),
        (&[&kernel, &function], 1, "no module defines the variable `total`; link one that does"),
        (
            &[&kernel, &library, &variable],
            2,
            "`total` is defined in module 2 and again in module 3; one must be `.weak`",
        ),
        (&[&kernel, again], 2, "`k` is defined in module 1 and again in module 2; one must be `.weak`"),
        (
            &[&kernel, wide],
            2,
            "`total` is a variable of 4 bytes in .global in module 1, and a variable of 8 bytes in .global in module 2",
        ),
        (
            &[&kernel, constant],
            2,
            "`total` is a variable of 4 bytes in .global in module 1, and a variable of 4 bytes in .const in module 2",
        ),
        (&[&kernel, kind], 2, "`total` is a function () in module 2, and a variable of 4 bytes in .global in module 1"),
        (
            &[&kernel, parameter],
            2,
            "`scaled` is a function (4 bytes) -> (4 bytes) in module 1, and a function (8 bytes) -> (4 bytes) in module 2",
        ),
        (&[&kernel, result], 2, "in module 1, and a function (4 bytes) in module 2"),
        (&[&kernel, "missing.ptx"], 2, "missing.ptx: "),
        (&[&kernel, broken], 2, "broken.ptx:4:1"),
    ] {
        let ran = launch(files, &[]);
        assert!(ran.status == status && ran.out.is_empty() && ran.err.contains(message), "{message}\n{}", ran.err);
    }
    // The error names the statement that refers to the function, with its file.
    let object: Value = serde_json::from_str(&launch(&[&variable, &kernel], &["--format", "json"]).out).unwrap();
    assert_eq!((&object["error"]["file"], &object["error"]["line"]), (&kernel.as_str().into(), &9.into()));
    assert_eq!(object["error"]["statement"], "call.uni (r), scaled, (x);");
}

#[test]
fn races_are_looked_for_where_that_is_asked_for() {
    let folder = folder("races");
    let racy = folder.join("racy.ptx").display().to_string();
    let text = std::fs::read_to_string(SUITE).unwrap();
    std::fs::write(&racy, text.lines().filter(|line| !line.contains("bar.sync")).collect::<Vec<_>>().join("\n"))
        .unwrap();
    let with = |file: &str, more: &[&str]| {
        let all = ["run", "-q", file, "--kernel", "reduce_shared", "--grid", "4", "--block", "256"];
        let arguments = ["--arg", "ones:f32[1024]", "--arg", "out:f32[4]", "--arg", "1024"];
        run(&[&all[..], &arguments, more].concat())
    };
    let ran = with(SUITE, &["--races"]);
    assert_eq!((ran.status, ran.out.as_str()), (0, ""), "{}", ran.err);
    assert_eq!(with(&racy, &[]).status, 0);
    let ran = with(&racy, &["--races", "--format", "json"]);
    assert_eq!(ran.status, 1, "{}", ran.out);
    let error = &serde_json::from_str::<Value>(&ran.out).unwrap()["error"];
    assert_eq!(error["kind"], "race", "{error}");
    for access in [error, &error["other"]] {
        assert!(access["statement"].as_str().unwrap().contains("shared.f32"), "{error}");
        assert!(access["line"].is_u64() && access["thread"].is_array() && access["source"]["line"].is_u64(), "{error}");
    }
}
