//! Launches of one kernel, one after the other: nothing of what a launch leaves to the next one is observable.

#![allow(unsafe_code, reason = "memory of the host is lent, and launches run without checks")]

use ptx_isa::run::{Argument, ErrorKind, Grid, Kernel, Memory, Module, Options};

const HEAD: &str = ".version 8.0 .target sm_80 .address_size 64\n";

/// Options for launches of which all, or none, are compiled.
fn options(compile_after: Option<u32>) -> Options {
    Options { compile_after, threads: Some(1), ..Options::default() }
}

/// Each thread copies a word.
const COPY: &str = "
    .visible .entry copy(.param .u64 x, .param .u64 y) {
        .reg .b32 %r<3>; .reg .b64 %rd<6>;
        ld.param.u64 %rd1, [x];
        ld.param.u64 %rd2, [y];
        mov.u32 %r1, %tid.x;
        mul.wide.u32 %rd3, %r1, 4;
        add.s64 %rd4, %rd1, %rd3;
        add.s64 %rd5, %rd2, %rd3;
        ld.global.u32 %r2, [%rd4];
        st.global.u32 [%rd5], %r2;
        ret;
    }";

fn kernel(text: &str, memory: &Memory) -> Kernel {
    Module::load(&format!("{HEAD}{text}"), memory).unwrap().only_kernel().unwrap()
}

#[test]
fn allocations_that_have_ended_are_outside() {
    for options in [options(None), options(Some(0))] {
        let memory = Memory::new();
        let (copy, y) = (kernel(COPY, &memory), memory.allocate(128));
        let launch = |x: u64| copy.launch_with(Grid::new(1, 32), &[x.into(), y.into()], &options);
        let is_outside = |x: u64| launch(x).is_err_and(|error| matches!(error.kind, ErrorKind::Access));
        let x = memory.upload(&[7_u32; 32]);
        for _ in 0..3 {
            launch(x).unwrap();
        }
        memory.free(x);
        assert!(is_outside(x));
        // Memory of the host that is lent again, and is shorter then.
        let mut own = [9_u32; 64];
        let start = own.as_mut_ptr().cast();
        // SAFETY: the array outlives the launches, and nothing else accesses it.
        let x = unsafe { memory.lend(start, 256) };
        launch(x + 128).unwrap();
        assert_eq!(memory.download::<u32>(y, 32).unwrap(), [9; 32]);
        // SAFETY: as above.
        unsafe { memory.lend(start, 128) };
        assert!(is_outside(x + 128));
        launch(x).unwrap();
        // Memory within other memory: an address is in what begins last before it.
        // SAFETY: as above.
        unsafe { memory.lend(start, 256) };
        launch(x + 128).unwrap();
        // SAFETY: as above.
        unsafe { memory.lend(start.wrapping_add(64), 32) };
        assert!(is_outside(x + 128));
    }
}

#[test]
fn launches_without_checks_do_not_let_later_ones_do_without() {
    for options in [options(None), options(Some(0))] {
        let memory = Memory::new();
        let (copy, own) = (kernel(COPY, &memory), [9_u32; 32]);
        let y = memory.allocate(128);
        let arguments = [Argument::from(own.as_ptr() as u64), y.into()];
        // SAFETY: both addresses are valid for 128 bytes, and nothing else accesses them.
        unsafe { copy.launch_unchecked(Grid::new(1, 32), &arguments, &options) }.unwrap();
        assert_eq!(memory.download::<u32>(y, 32).unwrap(), own);
        let error = copy.launch_with(Grid::new(1, 32), &arguments, &options).unwrap_err();
        assert!(matches!(error.kind, ErrorKind::Access), "{error}");
    }
}

/// Each thread adds what it finds in shared memory and on its stack to a word, and leaves something there.
const FIND: &str = "
    .extern .shared .align 16 .b8 dynamic[];
    .visible .entry find(.param .u64 out, .param .u32 last) {
        .local .align 8 .b8 own[64];
        .reg .b32 %r<9>; .reg .b64 %rd<6>;
        ld.param.u64 %rd1, [out];
        ld.param.u32 %r1, [last];
        mov.u32 %r2, %tid.x;
        and.b32 %r3, %r2, 15;
        mul.wide.u32 %rd2, %r3, 4;
        mov.u64 %rd3, own;
        add.s64 %rd4, %rd3, %rd2;
        ld.local.u32 %r4, [%rd4];
        mov.u32 %r5, dynamic;
        add.u32 %r5, %r5, %r1;
        ld.shared.u32 %r6, [%r5];
        or.b32 %r7, %r4, %r6;
        bar.sync 0;
        st.local.u32 [%rd4], 1;
        st.shared.u32 [%r5], 2;
        mov.u32 %r8, %ctaid.x;
        atom.global.or.b32 %r8, [%rd1], %r7;
        ret;
    }";

#[test]
fn memory_of_a_block_is_zero() {
    for options in [options(None), options(Some(0))] {
        let memory = Memory::new();
        let (find, out) = (kernel(FIND, &memory), memory.upload(&[0_u32]));
        for (blocks, threads, shared) in
            [(1, 32, 64), (1, 32, 64), (7, 40, 64), (7, 40, 64), (1, 32, 65536), (1, 512, 64)]
        {
            let arguments = [out.into(), (shared - 4).into()];
            find.launch_with(Grid::new(blocks, threads).shared(shared), &arguments, &options).unwrap();
            assert_eq!(memory.download::<u32>(out, 1).unwrap(), [0], "{blocks} blocks of {threads}, {shared} bytes");
        }
    }
}

/// Each thread writes its index and that of its block to a word of its own.
const INDEX: &str = "
    .visible .entry index(.param .u64 out) {
        .reg .b32 %r<16>; .reg .b64 %rd<6>;
        ld.param.u64 %rd1, [out];
        mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z;
        mov.u32 %r4, %ntid.x; mov.u32 %r5, %ntid.y; mov.u32 %r6, %ntid.z;
        mov.u32 %r7, %ctaid.x;
        mad.lo.u32 %r8, %r3, %r5, %r2;
        mad.lo.u32 %r8, %r8, %r4, %r1;
        mul.lo.u32 %r9, %r4, %r5;
        mul.lo.u32 %r9, %r9, %r6;
        mad.lo.u32 %r8, %r7, %r9, %r8;
        mul.wide.u32 %rd2, %r8, 4;
        add.s64 %rd3, %rd1, %rd2;
        mad.lo.u32 %r10, %r2, 100, %r1;
        mad.lo.u32 %r10, %r3, 10000, %r10;
        mad.lo.u32 %r10, %r7, 1000000, %r10;
        st.global.u32 [%rd3], %r10;
        ret;
    }";

#[test]
fn shapes_may_change_from_launch_to_launch() {
    // Among them blocks of as many threads whose registers have the same steps.
    const SHAPES: [(u32, [u32; 3]); 11] = [
        (1, [32, 1, 1]),
        (40, [64, 1, 1]),
        (3, [8, 4, 1]),
        (40, [64, 2, 1]),
        (1, [5, 3, 2]),
        (300, [16, 2, 1]),
        (2, [32, 2, 1]),
        (2, [32, 2, 2]),
        (2, [16, 4, 2]),
        (2, [8, 4, 2]),
        (2, [100, 1, 1]),
    ];
    for options in [options(None), options(Some(0))] {
        let memory = Memory::new();
        let index = kernel(INDEX, &memory);
        for (blocks, threads) in SHAPES.iter().chain(SHAPES.iter().rev()).chain(&SHAPES[3..]) {
            let count = (blocks * threads.iter().product::<u32>()) as usize;
            let out = memory.upload(&vec![u32::MAX; count]);
            index.launch_with(Grid { threads: *threads, ..Grid::new(*blocks, 1) }, &[out.into()], &options).unwrap();
            let [x, y, z] = *threads;
            let mut expected = Vec::with_capacity(count);
            for (block, z) in (0..*blocks).flat_map(|block| (0..z).map(move |z| (block, z))) {
                expected.extend((0..y).flat_map(|y| (0..x).map(move |x| block * 1_000_000 + z * 10_000 + y * 100 + x)));
            }
            assert_eq!(memory.download::<u32>(out, count).unwrap(), expected, "{blocks} blocks of {threads:?}");
            memory.free(out);
        }
    }
}

#[test]
fn a_launch_behind_an_error_begins_anew() {
    for options in [options(None), options(Some(0))] {
        let memory = Memory::new();
        let (copy, x, y) = (kernel(COPY, &memory), memory.upload(&[7_u32; 32]), memory.allocate(128));
        for wrong in [y + 64, 0, x + 2] {
            copy.launch_with(Grid::new(1, 32), &[wrong.into(), y.into()], &options).unwrap_err();
            memory.write(y, &[0; 128]).unwrap();
            copy.launch_with(Grid::new(1, 32), &[x.into(), y.into()], &options).unwrap();
            assert_eq!(memory.download::<u32>(y, 32).unwrap(), [7; 32]);
        }
    }
}

/// An address of 32 bits whose highest bit is set, in a parameter that is loaded as a signed number.
#[cfg(all(target_os = "linux", target_arch = "x86_64", not(miri)))]
#[test]
fn signed_parameters_are_no_wider_than_their_registers() {
    const READ: &str = "
        .visible .entry read(.param .u64 out, .param .u32 at) {
            .reg .b32 %r<6>; .reg .b64 %rd<4>;
            ld.param.u64 %rd1, [out];
            ld.param.s32 %r1, [at];
            ld.global.u32 %r2, [%r1];
            add.u32 %r3, %r2, %r1;
            mov.u32 %r4, %tid.x;
            mul.wide.u32 %rd2, %r4, 4;
            add.s64 %rd3, %rd1, %rd2;
            st.global.u32 [%rd3], %r3;
            ret;
        }";
    let (wanted, bytes) = (0x9000_0000_usize as *mut libc::c_void, 4096);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: nothing else is mapped there, or this fails.
    let start = unsafe { libc::mmap(wanted, bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    assert_eq!(start, wanted);
    let memory = Memory::new();
    // SAFETY: the page is mapped until the process ends, and nothing else accesses it.
    let at = unsafe { memory.lend(start.cast(), bytes) };
    let (read, out) = (kernel(READ, &memory), memory.allocate(128));
    for compile_after in [None, Some(0), None, Some(0)] {
        let arguments = [out.into(), (at as u32).into()];
        read.launch_with(Grid::new(1, 32), &arguments, &options(compile_after)).unwrap();
        assert_eq!(memory.download::<u32>(out, 32).unwrap(), [at as u32; 32]);
    }
}
