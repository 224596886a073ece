//! An emulator in small: a kernel as a compiler wrote it runs over warps of 32 lanes. What works on registers is this
//! crate's part; loads, stores and branches are the emulator's own.
//!
//! ```sh
//! cargo run --features simd --example warp
//! ```
//!
//! `sort_warps.ptx` is what NVRTC 13.5 made of `sort_warps.cu` for `compute_90`.

use std::collections::{BTreeSet, HashMap};
use std::error::Error;
use std::ops::Range;

use ptx_isa::TABLE;
use ptx_isa::table::Kind;
use ptx_isa::text::constant::{self, Constant};
use ptx_isa::text::{self, Statement};
use ptx_isa::warp::{DecodeError, Program, Registers, Row, Warps};

const SOURCE: &str = include_str!("sort_warps.ptx");

fn main() -> Result<(), Box<dyn Error>> {
    let report = text::check(&TABLE, SOURCE.as_bytes(), &text::Options::default());
    if let Some(finding) = report.diagnostics.first() {
        return Err(finding.to_string().into());
    }
    let kernel = Kernel::read(SOURCE)?;
    assert_eq!(kernel.program.len() + kernel.own().count(), report.in_table, "nothing was left out");
    let left: BTreeSet<&str> = kernel.own().map(|own| own.opcode).collect();
    println!("{} instructions work on registers, decoded for {:?}", kernel.program.len(), kernel.program.level());
    println!("{} are left to the emulator: {}", kernel.own().count(), Vec::from_iter(left).join(", "));

    // 100 values for 128 threads: two blocks of two warps, the last of which has 28 lanes too many.
    let values: Vec<f32> =
        (0..100_u32).map(|i| if i % 9 == 4 { f32::NAN } else { (i * 37 % 101) as f32 - 50.0 }).collect();
    let mut memory: Vec<u32> = values.iter().map(|value| value.to_bits()).collect();
    for block in 0..2 {
        for first in [0, 32] {
            let thread = Thread { parameters: [0, values.len() as u64], ctaid: block, ntid: 64, tid: first };
            kernel.run(&thread, &mut memory)?;
        }
    }

    for (warp, (sorted, values)) in memory.chunks(32).zip(values.chunks(32)).enumerate() {
        let sorted: Vec<f32> = sorted.iter().map(|bits| f32::from_bits(*bits)).collect();
        let mut expected: Vec<f32> = values.iter().map(|value| if value.is_nan() { 0.0 } else { *value }).collect();
        expected.sort_by(f32::total_cmp);
        assert_eq!(sorted, expected, "warp {warp}");
        println!("warp {warp}: {} values sorted, {} to {}", sorted.len(), sorted[0], sorted[sorted.len() - 1]);
    }
    Ok(())
}

/// A kernel, decoded once.
struct Kernel<'a> {
    names: Names<'a>,
    program: Program,
    steps: Vec<Step<'a>>,
}

/// What a kernel does, in the order of its text.
enum Step<'a> {
    /// Instructions of the program.
    Decoded(Range<usize>),
    /// An instruction that is left to the emulator.
    Own(Own<'a>),
    /// A place to branch to.
    Label(&'a str),
}

/// An instruction that is left to the emulator.
struct Own<'a> {
    guard: Option<(u32, bool)>,
    opcode: &'a str,
    operands: Vec<&'a str>,
}

/// The declared registers: the families of names, and how many there are of each width.
#[derive(Default)]
struct Names<'a> {
    /// `%r` of `%r<56>`: the width, and the number of its first register among those of that width.
    families: HashMap<&'a str, (u32, u32)>,
    count: Registers,
    /// The first of the registers that hold special ones.
    special: u32,
}

/// The special registers that a kernel may read here: each has a register of 32 bits.
const SPECIAL: [&str; 3] = ["%tid.x", "%ntid.x", "%ctaid.x"];

impl<'a> Names<'a> {
    /// Reads `.reg .b32 %r<56>`.
    fn declare(&mut self, declaration: &'a str) -> Option<()> {
        let mut words = declaration.split_whitespace();
        let (ty, (stem, count)) = (words.nth(1)?.strip_prefix('.')?, words.next()?.split_once('<')?);
        let ty = TABLE.types.iter().find(|known| known.name == ty)?;
        let (bits, all) = match (ty.kind, ty.bits) {
            (Kind::Predicate, _) => (1, &mut self.count.pred),
            (_, 16) => (16, &mut self.count.b16),
            (_, 32) => (32, &mut self.count.b32),
            _ => (64, &mut self.count.b64),
        };
        self.families.insert(stem, (bits, *all));
        *all += count.strip_suffix('>')?.parse::<u32>().ok()?;
        Some(())
    }

    /// The width of a register and its number.
    fn find(&self, name: &str) -> Option<(u32, u32)> {
        if let Some(place) = SPECIAL.iter().position(|special| *special == name) {
            return Some((32, self.special + place as u32));
        }
        let stem = name.trim_end_matches(|letter: char| letter.is_ascii_digit());
        let (bits, first) = self.families.get(stem)?;
        Some((*bits, first + name[stem.len()..].parse::<u32>().ok()?))
    }
}

impl<'a> Kernel<'a> {
    /// Reads the body of a module's one kernel, a statement a line as compilers write it.
    fn read(module: &'a str) -> Result<Kernel<'a>, Box<dyn Error>> {
        let body =
            module.split_once('{').and_then(|(_, rest)| rest.split_once('}')).ok_or("a module without a kernel")?.0;
        let lines = body.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
        let (declarations, statements): (Vec<&str>, Vec<&str>) = lines.partition(|line| line.starts_with(".reg"));
        let mut names = Names::default();
        for declaration in declarations {
            names.declare(declaration.trim_end_matches(';')).ok_or(declaration)?;
        }
        names.special = names.count.b32;
        names.count.b32 += SPECIAL.len() as u32;
        let mut program = Program::new(names.count, 90);
        let mut steps = Vec::new();
        for line in statements {
            if let Some(label) = line.strip_suffix(':') {
                steps.push(Step::Label(label));
                continue;
            }
            let (statement, next) = (Statement::parse(&TABLE, line)?, program.len());
            let row = |name: String| names.find(&name).map(|(bits, number)| Row { bits: bits as u8, number });
            match program.push_statement(&statement, |register, _| row(register.to_string())) {
                Ok(()) => match steps.last_mut() {
                    Some(Step::Decoded(range)) => range.end += 1,
                    _ => steps.push(Step::Decoded(next..next + 1)),
                },
                Err(DecodeError::NoEvaluator(_)) => steps.push(Step::Own(Own::read(line, &names)?)),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Kernel { names, program, steps })
    }

    fn own(&self) -> impl Iterator<Item = &Own<'a>> {
        self.steps.iter().filter_map(|step| if let Step::Own(own) = step { Some(own) } else { None })
    }
}

impl<'a> Own<'a> {
    fn read(line: &'a str, names: &Names<'_>) -> Result<Own<'a>, Box<dyn Error>> {
        let (guard, rest) = match line.strip_prefix('@') {
            None => (None, line),
            Some(rest) => {
                let (guard, rest) = rest.split_once(char::is_whitespace).ok_or(line)?;
                let name = guard.trim_start_matches('!');
                (Some((names.find(name).ok_or(line)?.1, name != guard)), rest.trim_start())
            }
        };
        let (opcode, operands) = rest.trim_end_matches(';').split_once(char::is_whitespace).unwrap_or((rest, ""));
        let operands = operands.split(',').map(|operand| operand.trim_matches(&[' ', '\t', '[', ']'][..])).collect();
        Ok(Own { guard, opcode: opcode.trim_end_matches(';'), operands })
    }
}

/// What the lanes of a warp know of themselves.
struct Thread {
    parameters: [u64; 2],
    ctaid: u32,
    ntid: u32,
    /// Of the first lane.
    tid: u32,
}

impl Kernel<'_> {
    /// Runs one warp. Branches go forward, so that lanes which took one wait for the others at its label.
    fn run(&self, thread: &Thread, memory: &mut [u32]) -> Result<(), Box<dyn Error>> {
        let mut warp = self.program.warps(1);
        let special = [thread.tid, thread.ntid, thread.ctaid];
        for (register, value) in (self.names.special..).zip(special) {
            *warp.b32_mut(0, register) = [value; 32];
        }
        // Only the number of a thread differs from lane to lane.
        (0..32).for_each(|lane| warp.b32_mut(0, self.names.special)[lane] += lane as u32);
        let mut waiting: HashMap<&str, u32> = HashMap::new();
        for step in &self.steps {
            match step {
                Step::Decoded(instructions) => self.program.run_range(instructions.clone(), 0..1, &mut warp),
                Step::Label(label) => *warp.active_mut(0) |= waiting.remove(label).unwrap_or(0),
                Step::Own(own) => {
                    let guard = own.guard.map_or(u32::MAX, |(p, not)| warp.pred(0, p) ^ if not { u32::MAX } else { 0 });
                    let lanes = guard & warp.active(0);
                    match own.opcode {
                        "bra" => *waiting.entry(own.operands[0]).or_default() |= lanes,
                        "ret" => {}
                        _ => {
                            self.emulate(own, lanes, &mut warp, thread, memory)?;
                            continue;
                        }
                    }
                    *warp.active_mut(0) &= !lanes;
                }
            }
        }
        Ok(())
    }

    /// Does an instruction that is the emulator's own, lane by lane.
    fn emulate(
        &self,
        own: &Own<'_>,
        lanes: u32,
        warp: &mut Warps,
        thread: &Thread,
        memory: &mut [u32],
    ) -> Result<(), Box<dyn Error>> {
        let before = warp.clone();
        for lane in (0..32).filter(|lane| lanes >> lane & 1 != 0) {
            let from = |place: usize| self.value(own.operands[place], &before, lane, thread);
            let word = |address: u64| address as usize / 4;
            let result = match own.opcode {
                "ld.param.u64" | "ld.param.u32" | "cvta.to.global.u64" => from(1)?,
                "ld.global.f32" => memory[word(from(1)?)].into(),
                "st.global.f32" => {
                    memory[word(from(0)?)] = from(1)? as u32;
                    continue;
                }
                other => return Err(format!("this emulator does not know `{other}`").into()),
            };
            let destination = own.operands[0];
            match self.names.find(destination) {
                Some((32, register)) => warp.b32_mut(0, register)[lane] = result as u32,
                Some((64, register)) => warp.b64_mut(0, register)[lane] = result,
                _ => return Err(format!("this emulator does not write `{destination}`").into()),
            }
        }
        Ok(())
    }

    /// The bits of an operand in a lane.
    fn value(&self, operand: &str, warp: &Warps, lane: usize, thread: &Thread) -> Result<u64, Box<dyn Error>> {
        Ok(match (operand, self.names.find(operand)) {
            (_, Some((32, register))) => warp.b32(0, register)[lane].into(),
            (_, Some((64, register))) => warp.b64(0, register)[lane],
            ("sort_warps_param_0", _) => thread.parameters[0],
            ("sort_warps_param_1", _) => thread.parameters[1],
            _ => match constant::parse(operand)? {
                Constant::Integer { bits, .. } => bits,
                Constant::Single(bits) => bits.into(),
                Constant::Double(value) => value.to_bits(),
            },
        })
    }
}
