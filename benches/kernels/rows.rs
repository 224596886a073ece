//! The rows: kernels against their rivals, ways to run them against each other, and what starting costs.

use ptx_isa::run::{Grid, Memory, Module};

use super::cases::{self, Case};
use super::plot::{Bar, Line};
use super::rival::Library;
use super::{Ours, TEXT, Value, compare, elapsed, ratio, report, seconds, timed};

/// Each kernel against clang's code and against ptoxide. Returns the ratios to clang.
pub(crate) fn kernels(wanted: &str, library: Option<&Library>) -> Vec<Bar> {
    let (mut clang, mut ptoxide) = (Vec::new(), Vec::new());
    let beyond = cases::beyond_caches().into_iter().map(|case| (case, ", beyond the caches"));
    for (case, place) in cases::cases().into_iter().map(|case| (case, "")).chain(beyond) {
        let name = format!("{}{place}", case.name);
        if !name.contains(wanted) {
            continue;
        }
        let ours = Ours::new(&case, 1);
        let instructions = ours.run(true);
        if let Some(library) = library {
            let mut buffers: Vec<Vec<u8>> = case.buffers.iter().map(|buffer| buffer.bytes.clone()).collect();
            library.run(&case, &mut buffers);
            compare(&case, &ours.outputs(), &buffers);
            let (value, own) = ratio(|| _ = ours.run(true), || library.run(&case, &mut buffers));
            let note = format!("({:.2} ms, {:.2} G/s)", own * 1e3, instructions as f64 / own / 1e9);
            report(&format!("{name}, {}", library.compiler), value, case.goal, &note);
            if place.is_empty() {
                clang.push((case.name.to_owned(), value));
            }
        }
        if place.is_empty()
            && let Some(theirs) = self::ptoxide(&case)
        {
            let own = seconds(|| _ = ours.run(true));
            report(&format!("{name}, ptoxide"), theirs / own, 60.0, &format!("({:.0} ms of theirs)", theirs * 1e3));
            ptoxide.push(theirs / own);
        }
    }
    if let (Some(library), 2..) = (library, clang.len()) {
        let values: Vec<f64> = clang.iter().map(|(_, value)| *value).collect();
        report(&format!("geometric mean, {}", library.compiler), mean(&values), 1.0, "");
    }
    if ptoxide.len() > 1 {
        report("geometric mean, ptoxide", mean(&ptoxide), 60.0, &format!("({} kernels)", ptoxide.len()));
    }
    clang
}

fn mean(values: &[f64]) -> f64 {
    (values.iter().map(|value| value.ln()).sum::<f64>() / values.len() as f64).exp()
}

/// Seconds that ptoxide takes for a kernel; `None` if it does not run it, or not right.
fn ptoxide(case: &Case) -> Option<f64> {
    use ptoxide::{Argument, Context, LaunchParams};
    // It knows no module with more than it needs.
    let head = TEXT.find(".visible .entry")?;
    let start = TEXT.find(&format!(".visible .entry {}(", case.name))?;
    let length = TEXT[start..].find("\n}\n")? + 3;
    let directives = TEXT[..head].lines().filter(|line| line.starts_with(".version") || line.starts_with(".target"));
    let text =
        format!("{}\n.address_size 64\n{}", directives.collect::<Vec<_>>().join("\n"), &TEXT[start..start + length]);
    // ptoxide panics on unsupported instructions.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let ran = std::panic::catch_unwind(|| {
        let mut context = Context::new_with_module(&text).ok()?;
        let pointers: Vec<_> = case
            .buffers
            .iter()
            .map(|buffer| {
                let pointer = context.alloc::<u8>(buffer.bytes.len());
                context.write(pointer, &buffer.bytes);
                pointer
            })
            .collect();
        let arguments: Vec<Argument<'_>> = case
            .arguments
            .iter()
            .map(|value| match value {
                Value::Buffer(number) => Argument::ptr(pointers[*number]),
                Value::Int(value) => Argument::U32(*value as u32),
                Value::Float(value) => Argument::U32(value.to_bits()),
            })
            .collect();
        let launch = LaunchParams::func_id(0).grid2d(case.blocks[0], case.blocks[1]);
        let launch = launch.block2d(case.threads[0], case.threads[1]);
        let mut done = false;
        let time = seconds(|| done = context.run(launch, &arguments).is_ok());
        let outputs: Vec<Vec<u8>> = case
            .buffers
            .iter()
            .zip(&pointers)
            .map(|(buffer, pointer)| {
                let mut bytes = vec![0; buffer.bytes.len()];
                context.read(*pointer, &mut bytes);
                bytes
            })
            .collect();
        let ours = Ours::new(case, 1);
        ours.run(true);
        compare(case, &ours.outputs(), &outputs);
        done.then_some(time)
    });
    std::panic::set_hook(hook);
    ran.ok().flatten()
}

/// Kernels with machine code against the same instruction by instruction.
pub(crate) fn machine_code(wanted: &str) {
    if !"machine code".contains(wanted) {
        return;
    }
    let mut values = Vec::new();
    for case in &cases::cases() {
        let (ours, other) = (Ours::new(case, 1), Ours::new(case, 1).one_by_one());
        ours.run(true);
        other.run(true);
        compare(case, &ours.outputs(), &other.outputs());
        values.push(ratio(|| _ = ours.run(true), || _ = other.run(true)).0);
        report(&format!("{}, without machine code", case.name), values[values.len() - 1], 0.0, "");
    }
    report("geometric mean, without machine code", mean(&values), 1.0, "");
}

/// Launches with checks against those without, on two threads against one, and two launches beside each other against one after the other:
/// what the machine gives.
pub(crate) fn modes(wanted: &str) {
    if !"checked threads".contains(wanted) {
        return;
    }
    let (mut checked, mut threads, mut beside) = (Vec::new(), Vec::new(), Vec::new());
    for case in cases::cases().iter().filter(|case| case.name != "look_back") {
        let (one, other, two) = (Ours::new(case, 1), Ours::new(case, 1), Ours::new(case, 2));
        one.run(true);
        other.run(true);
        two.run(true);
        checked.push(ratio(|| _ = one.run(true), || _ = one.run(false)).0);
        threads.push(timed(|work| elapsed(work), || _ = two.run(true), || _ = one.run(true)).0);
        let both = || {
            std::thread::scope(|scope| {
                scope.spawn(|| other.run(true));
                one.run(true);
            });
        };
        beside.push(2.0 * timed(|work| elapsed(work), both, || _ = one.run(true)).0);
    }
    report("checked, unchecked, geometric mean", mean(&checked), 0.9, "");
    report("two threads, one, geometric mean", mean(&threads), 1.9, "");
    report("two launches beside each other, geometric mean", mean(&beside), 0.0, "");
}

/// Launches that look for races against those without checks, both with machine code and both without.
pub(crate) fn races(wanted: &str) {
    if !"races".contains(wanted) {
        return;
    }
    let (mut with_code, mut without) = (Vec::new(), Vec::new());
    for case in &cases::cases() {
        let (ours, other) = (Ours::new(case, 1), Ours::new(case, 1).with_races());
        ours.run(true);
        other.run(true);
        compare(case, &ours.outputs(), &other.outputs());
        with_code.push(ratio(|| _ = other.run(true), || _ = ours.run(false)).0);
        report(&format!("{}, with races, unchecked", case.name), with_code[with_code.len() - 1], 0.0, "");
        let (ours, other) = (ours.one_by_one(), other.one_by_one());
        without.push(ratio(|| _ = other.run(true), || _ = ours.run(false)).0);
    }
    report("with races, unchecked, geometric mean", mean(&with_code), 0.5, "");
    report("with races, unchecked, both without machine code, geometric mean", mean(&without), 0.5, "");
}

/// Speed of one kernel by the length of its vectors: elements a nanosecond on one and on two threads, and of the rival.
pub(crate) fn sizes(wanted: &str, library: Option<&Library>) -> Vec<Line> {
    if !"sizes".contains(wanted) {
        return Vec::new();
    }
    let names = ["one thread", "two threads"].into_iter().chain(library.map(|library| library.compiler));
    let mut lines: Vec<Line> = names.map(|name| (name.to_owned(), Vec::new())).collect();
    for log in (8..=24).step_by(2) {
        let (case, count) = (cases::saxpy(1 << log), f64::from(1 << log));
        for (threads, line) in (1..=2).zip(&mut lines) {
            let ours = Ours::new(&case, threads);
            ours.run(true);
            let time = match threads {
                1 => ratio(|| _ = ours.run(true), || {}),
                _ => timed(|work| elapsed(work), || _ = ours.run(true), || {}),
            };
            line.1.push((count, count / time.1 / 1e9));
        }
        if let (Some(library), Some(line)) = (library, lines.get_mut(2)) {
            let mut buffers: Vec<Vec<u8>> = case.buffers.iter().map(|buffer| buffer.bytes.clone()).collect();
            line.1.push((count, count / ratio(|| library.run(&case, &mut buffers), || {}).1 / 1e9));
        }
        let speeds: Vec<String> =
            lines.iter().map(|(name, points)| format!("{name} {:.3}", points[points.len() - 1].1)).collect();
        println!("saxpy of {count} elements, elements a nanosecond: {}", speeds.join(", "));
    }
    lines
}

/// The median of several runs in seconds.
fn median(work: impl Fn()) -> f64 {
    let mut times: Vec<f64> = (0..15).map(|_| seconds(&work)).collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// From text to a kernel that runs, and a launch that does little.
pub(crate) fn starts(wanted: &str) {
    if !"start launch".contains(wanted) {
        return;
    }
    let statements = TEXT.matches(';').count() as f64;
    let memory = Memory::new();
    let load = || {
        let module = Module::load(TEXT, &memory).expect("the module of the other rows");
        module.kernels().for_each(|kernel| kernel.prepare().expect("a kernel of the other rows"));
    };
    let each = median(load) / statements * 1e6;
    report("start, 2 µs a statement", 2.0 / each, 1.0, &format!("({each:.2} µs a statement)"));
    let module = Module::load(TEXT, &memory).expect("the module of the other rows");
    let kernel = module.kernel("copy").expect("a kernel of the other rows");
    let (x, y) = (memory.upload(&[1.0_f32; 32]), memory.upload(&[0.0_f32; 32]));
    let arguments = [x.into(), y.into(), 32_i32.into()];
    let launch = || _ = kernel.launch(Grid::new(1, 32), &arguments).expect("a launch");
    const LAUNCHES: u32 = 10_000;
    let time = median(|| (0..LAUNCHES).for_each(|_| launch())) / f64::from(LAUNCHES) * 1e6;
    report("launch, 1 µs", 1.0 / time, 1.0, &format!("({time:.2} µs)"));
}
