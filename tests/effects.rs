//! Effects of forms, statements and modules, and the examples built on them.

use std::collections::BTreeSet;

use ptx_isa::TABLE;
use ptx_isa::table::{EffectKind, Free, NO_OPERAND};
use ptx_isa::text::effects::{self, Flow};
use ptx_isa::text::resolved::Module;
use ptx_isa::text::statement::Register;
use ptx_isa::text::{Statement, spelling};
use ptx_isa::warp::{Program, Registers, Row, Source};

#[path = "../examples/emulator.rs"]
#[allow(dead_code)]
mod emulator;
#[path = "../examples/liveness.rs"]
#[allow(dead_code)]
mod liveness;
#[path = "../examples/shared_accesses.rs"]
#[allow(dead_code)]
mod shared_accesses;

const KERNEL: &str = "\
.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 out) {
    .shared .align 16 .b8 tile[1024];
    .reg .b32 %r<8>; .reg .b64 %rd<4>; .reg .pred %p;
    ld.param.u64 %rd1, [out];
    mov.u32 %r1, %tid.x;
    mov.u32 %r7, 5;
    mov.u64 %rd2, tile;
    cvta.shared.u64 %rd3, %rd2;
    mov.u32 %r2, 0;
LOOP:
    ld.shared.v4.u32 {%r3, %r4, %r5, %r6}, [tile+16];
    atom.shared.add.u32 %r3, [%rd2], %r4;
    add.u32 %r2, %r2, %r3;
    setp.lt.u32 %p, %r2, %r1;
    @%p bra LOOP;
    st.u32 [%rd3+4], %r2;
    bar.sync 0;
    st.global.u32 [%rd1], %r2;
    ret;
}
";

#[test]
fn liveness_follows_branches_and_guards() {
    let module = Module::read(&TABLE, KERNEL).expect("a module");
    let kernel = &module.functions[0];
    let behind = liveness::live_behind(kernel);
    let at = |line: usize| -> BTreeSet<&str> {
        let own = kernel.instructions.iter().position(|own| module.line(own.at.start) == line).expect("a line");
        behind[own].iter().map(|register| kernel.registers[*register].name.as_str()).collect()
    };
    // Registers that the loop reads again are live at its end.
    assert_eq!(at(18), BTreeSet::from(["%r1", "%r2", "%rd1", "%rd2", "%rd3"]));
    assert_eq!(at(20), BTreeSet::from(["%r2", "%rd1"]));
    let report = liveness::report(KERNEL).expect("a report");
    let dead: Vec<&str> = report.lines().skip(1).map(str::trim).collect();
    assert_eq!(
        dead,
        [
            "line 9: nothing reads %r7",
            "line 14: nothing reads %r3",
            "line 14: nothing reads %r5",
            "line 14: nothing reads %r6"
        ]
    );
    assert!(report.starts_with("k: ") && report.contains(" live at most\n"), "{report}");
}

#[test]
fn accesses_to_shared_memory_are_listed() {
    let report = shared_accesses::report(KERNEL).expect("a report");
    let wanted = "k\n  line 14: reads 16 bytes at tile+16\n  line 15: updates 4 bytes at %rd2\n  \
                  line 19: writes 4 bytes at %rd3+4 (a generic address)\n";
    assert_eq!(report, wanted);
}

/// The examples read what compilers write.
#[test]
fn examples_read_real_modules() {
    let (mut read, mut accesses) = (0, 0);
    for file in std::fs::read_dir("tests/modules").expect("a folder") {
        let text = std::fs::read_to_string(file.expect("a file").path()).expect("a module");
        let Ok(report) = liveness::report(&text) else { continue };
        assert!(report.contains("live at most"));
        accesses += shared_accesses::report(&text).expect("a report").matches(" bytes at ").count();
        read += 1;
    }
    assert!(read > 3 && accesses > 10, "{read} modules, {accesses} accesses");
}

/// The example that emulates a kernel sorts each run of 32 numbers, the last of which is short.
#[test]
fn an_emulator_has_its_own_memory() {
    let values: Vec<f32> = (0..100_u32).map(|i| (i * 37 % 101) as f32 - 50.0).collect();
    let mut sorted = values.clone();
    sorted.chunks_mut(32).for_each(|warp| warp.sort_by(f32::total_cmp));
    assert_eq!(emulator::sort(&values).expect("the kernel is emulated"), sorted);
}

/// Every instruction that a compiler wrote is code, effects, or both; rows are read and written as registers are.
#[test]
fn instructions_are_code_or_effects() {
    let (mut code, mut effects, mut both) = (0, 0, 0);
    let files = std::fs::read_dir("tests/kernels").expect("a folder").map(|file| file.expect("a file").path());
    for path in files.filter(|path| path.extension().is_some_and(|extension| extension == "ptx")) {
        let module = Module::read(&TABLE, &std::fs::read_to_string(&path).expect("a module")).expect("no errors");
        for function in &module.functions {
            let mut registers = Registers::default();
            let rows = function.registers.iter().map(|register| registers.add_for(TABLE.ty(register.ty)));
            let rows: Vec<Row> = rows.collect();
            let mut program = Program::new(registers, module.target.expect("a target").sm);
            for instruction in &function.instructions {
                let text = &module.text[instruction.at.clone()];
                let mapped = instruction.map(|register| rows[*register]);
                let before = program.len();
                let wide = mapped.effects().reads.iter().chain(&mapped.effects().writes).any(|row| row.bits == 128);
                let pushed = match program.push_instruction(&mapped, |_| Some(Source::Constant(0))) {
                    Err(_) if wide => continue,
                    pushed => pushed.unwrap_or_else(|error| panic!("{text}: {error}")),
                };
                assert_eq!(pushed, (program.len() > before).then_some(before), "{text}");
                let with_effects = mapped.form.effects_with(&mapped.free).next().is_some();
                match (pushed, with_effects) {
                    (None, true) => effects += 1,
                    (Some(_), true) => both += 1,
                    (Some(number), false) => {
                        code += 1;
                        // Code reads no more than the statement says, and writes the same.
                        let (own, said) = (program.accesses(number), mapped.effects());
                        assert!(own.reads.iter().all(|row| said.reads.contains(row)), "{text}");
                        assert_eq!(own.writes, said.writes, "{text}");
                    }
                    (None, false) => panic!("{text}"),
                }
                let (here, there) = (instruction.effects(), mapped.effects());
                assert_eq!(
                    here.reads.iter().map(|register| rows[*register]).collect::<Vec<_>>(),
                    there.reads,
                    "{text}"
                );
                assert_eq!((here.memory, here.flow), (there.memory, there.flow), "{text}");
            }
        }
    }
    assert!(code > 10_000 && effects > 5_000 && both > 100, "{code} {effects} {both}");
}

/// A handle is one of a row of its width, and a block of a program with fewer registers refuses it.
#[test]
fn handles_belong_to_rows() {
    let mut registers = Registers::default();
    let rows = [1, 16, 32, 64, 128].map(|bits| registers.add(bits));
    assert_eq!(rows.map(|row| row.number), [0, 0, 0, 0, 1]);
    assert_eq!(registers, Registers { pred: 1, b16: 1, b32: 1, b64: 3 });
    let program = Program::new(registers, 90);
    let taken = |row: Row| {
        [
            program.handle::<u32>(row).is_some(),
            program.handle::<[u16; 32]>(row).is_some(),
            program.handle::<[u32; 32]>(row).is_some(),
            program.handle::<[u64; 32]>(row).is_some(),
        ]
    };
    for (number, row) in rows.into_iter().enumerate() {
        let mut wanted = [false; 4];
        wanted.iter_mut().skip(number).take(1).for_each(|one| *one = true);
        assert_eq!(taken(row), wanted, "{row:?}");
    }
    assert!(program.handle::<[u32; 32]>(Row { bits: 32, number: 1 }).is_none());
    let handle = program.handle::<[u64; 32]>(Row { bits: 64, number: 2 }).expect("a row");
    let mut warps = program.warps(2);
    warps.get_mut(1, handle)[31] = 5;
    assert_eq!((warps.b64(1, 2)[31], warps.b64(0, 2)[31]), (5, 0));
    let small = Program::new(Registers::default(), 90).warps(3);
    assert!(std::panic::catch_unwind(|| *small.get(0, handle)).is_err());
    assert!(std::panic::catch_unwind(|| *warps.get(2, handle)).is_err());
}

/// Every form computes something, has effects, or says why it cannot be executed; and an access has an address and bytes.
#[test]
fn every_form_is_described() {
    let mut lacking = 0;
    for form in TABLE.forms() {
        let free = spelling::canonical(form).expect("a spelling");
        let found = effects::of_form(form, &free);
        let described = !form.evaluations().is_empty() || !form.effects().effects.is_empty();
        assert!(described != found.lacks.is_some(), "{}: {:?}", form.pattern(), found.lacks);
        lacking += usize::from(found.lacks.is_some());
        for access in &found.memory {
            // An operand or a tensor map says how many bytes a copy has.
            let sized = [
                EffectKind::CopyBytes,
                EffectKind::BeginCopy,
                EffectKind::BeginReduce,
                EffectKind::BeginLoadTensor,
                EffectKind::BeginStoreTensor,
                EffectKind::BeginReduceTensor,
            ];
            let copies = form.effects_with(&free).any(|effect| sized.contains(&effect.kind));
            assert!(access.bytes > 0 || copies, "{}", form.pattern());
            assert!(form.operands().iter().nth(access.operand).is_some());
            assert!(access.space.is_none_or(|space| TABLE.space(space).is_some()), "{}: {access:?}", form.pattern());
        }
        // Everything that is written is an operand of the form's own syntax line.
        let mut writes = form.effects().effects.iter().filter(|effect| effect.kind == EffectKind::Write);
        assert!(writes.all(|effect| effect.arguments[1] != NO_OPERAND), "{}", form.pattern());
        let words = effects::of_form_in_words(form, &free);
        if found.lacks.is_some() || form.effects().effects.iter().any(|effect| effect.kind == EffectKind::Read) {
            assert!(!words.is_empty(), "{}", form.pattern());
        }
        assert!(
            words.iter().chain(&effects::in_words(form)).all(|words| !words.contains("  ") && !words.contains("``")),
            "{}: {words:?} {:?}",
            form.pattern(),
            effects::in_words(form)
        );
    }
    assert!(lacking > 1000 && lacking < TABLE.forms().count() / 2, "{lacking}");
}

#[test]
fn statements_say_what_they_read_and_write() {
    let of = |text: &'static str| Statement::parse(&TABLE, text).expect(text).effects();
    let names = |list: &[Register<'_>]| list.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    for (text, reads, writes) in [
        ("@!%p1 add.u32 %r1, %r2, 5;", "%p1 %r2", "%r1"),
        ("setp.lt.and.u32 %p|%q, %a, %b, !%c;", "%a %b %c", "%p %q"),
        ("ld.global.v2.u32 {%a, _}, [%rd+8];", "%rd", "%a"),
        ("st.shared.v2.u32 [%rd], {%a, 7};", "%rd %a", ""),
        ("mov.b64 {%lo, %hi}, %d;", "%d", "%lo %hi"),
        ("mov.u32 %r, %tid.x;", "", "%r"),
        ("mov.u32 v.x, w.y;", "w.y", "v.x"),
        ("call (%r), f, (%a, %b);", "f %a %b", "%r"),
        ("shfl.sync.up.b32 %d|%p, %a, %b, 0, %m;", "%a %b %m", "%d %p"),
        ("bra L;", "", ""),
        ("tex.1d.v4.f32.s32 {%a, %b, %c, %d}, [t, {%x}];", "t %x", "%a %b %c %d"),
    ] {
        let effects = of(text);
        // A function name is not a register, but only declarations can tell them apart.
        let (reads, read) = (reads.trim_start_matches("f "), names(&effects.reads));
        assert_eq!((read.trim_start_matches("f "), &*names(&effects.writes)), (reads, writes), "{text}");
    }
    let statement = Statement::parse(&TABLE, "ld.global.u32 %r1, [table+4];").expect("a statement");
    assert!(statement.effects_among(|name| name != "table").reads.is_empty());
    let words = statement.effects_in_words(|name| name != "table");
    assert_eq!(words, ["Writes `%r1`", "Reads 4 bytes at `[table+4]` in `.global`"]);
    assert_eq!(
        (of("add.cc.u32 a, b, c;").states_written, of("subc.u32 a, b, c;").states_read),
        (vec!["CC.CF"], vec!["CC.CF"])
    );
    for (text, flow) in [("bra L;", Flow::Branch), ("exit;", Flow::Exit), ("trap;", Flow::Trap), ("ret;", Flow::Return)]
    {
        assert_eq!(of(text).flow, flow);
    }
    // A store of 256 bits has a value operand of its own.
    let store = of("st.global.v4.b64 [%rd], {%a, %b, %c, %d};");
    assert_eq!((store.memory[0].bytes, names(&store.reads).as_str()), (32, "%rd %a %b %c %d"));
    assert_eq!(TABLE.form("ld.u32").map(|form| effects::of_form(form, &Free::NONE).memory[0].space), Some(None));
}
