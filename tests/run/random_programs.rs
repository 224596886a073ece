//! Random structured kernels, held against an interpreter that runs one thread after the other.
//!
//! Between two barriers threads touch shared memory at their own place only, or only read: then the order of threads does not
//! matter, and the interpreter does each part for all of them.

use std::fmt::Write;

use crate::machine::on_one_thread;
use crate::model::Random;
use ptx_isa::run::{Grid, Options};

/// Registers of a thread.
const REGISTERS: usize = 5;

/// Blocks of a launch, which do the same.
const BLOCKS: u32 = 3;

#[derive(Clone, Copy)]
enum Operation {
    Add,
    Sub,
    Mul,
    Xor,
    Min,
    Shift,
}

enum Statement {
    /// `d = a op b`
    Compute(Operation, usize, usize, usize),
    /// If `a & 7 < k`.
    If(usize, u32, Vec<Statement>, Vec<Statement>),
    /// As often as `a & 3` says when it begins, or until `b & 7 < k` behind the body.
    Loop(usize, usize, u32, Vec<Statement>),
    /// To the thread's own place in shared memory.
    Keep(usize),
    /// From the thread's own place.
    Recall(usize),
    /// `d = mix(a, b)`, which loops as often as `b & 3` says.
    Call(usize, usize, usize),
    /// One of three, or none, by `a & 3`.
    Switch(usize, [Vec<Statement>; 3]),
}

/// Part of a kernel that all threads execute together.
enum Part {
    Alone(Vec<Statement>),
    /// Barrier; from the place of thread `tid · k + c`; barrier.
    Exchange(usize, u32, u32),
    /// Threads end where `a & 15 < k`.
    Leave(usize, u32),
    /// The sum of a register over all threads, by atomic updates between barriers.
    Sum(usize, usize),
    /// So often, with its barriers.
    Repeat(u32, Vec<Part>),
}

/// Generates kernels.
struct Generator {
    random: Random,
    /// False if they neither call functions nor go to one of several labels: all of what a thread does by itself can be machine code.
    calls: bool,
}

impl Generator {
    fn below(&mut self, bound: u32) -> u32 {
        self.random.below(bound as usize) as u32
    }

    fn register(&mut self) -> usize {
        self.below(REGISTERS as u32) as usize
    }

    fn block(&mut self, depth: u32) -> Vec<Statement> {
        (0..1 + self.below(4)).map(|_| self.statement(depth)).collect()
    }

    fn statement(&mut self, depth: u32) -> Statement {
        use Operation::{Add, Min, Mul, Shift, Sub, Xor};
        match self.below(if depth == 0 { 9 } else { 14 }) {
            0..6 => {
                let operation = [Add, Sub, Mul, Xor, Min, Shift][self.below(6) as usize];
                Statement::Compute(operation, self.register(), self.register(), self.register())
            }
            6 => Statement::Keep(self.register()),
            7 => Statement::Recall(self.register()),
            8 if self.calls => Statement::Call(self.register(), self.register(), self.register()),
            9 if self.calls => Statement::Switch(self.register(), std::array::from_fn(|_| self.block(depth - 1))),
            8 => Statement::Recall(self.register()),
            9..12 => {
                let otherwise = if self.below(2) == 0 { Vec::new() } else { self.block(depth - 1) };
                Statement::If(self.register(), 1 + self.below(7), self.block(depth - 1), otherwise)
            }
            _ => Statement::Loop(self.register(), self.register(), self.below(4), self.block(depth - 1)),
        }
    }

    fn kernel(&mut self, depth: u32) -> Vec<Part> {
        (0..2 + self.below(4))
            .map(|_| match self.below(if depth == 0 { 7 } else { 8 }) {
                0 => Part::Leave(self.register(), self.below(4)),
                1 | 2 => Part::Exchange(self.register(), self.below(5), self.below(40)),
                3 => Part::Sum(self.register(), self.register()),
                7 => Part::Repeat(1 + self.below(3), self.kernel(depth - 1)),
                _ => Part::Alone(self.block(2)),
            })
            .collect()
    }
}

/// Writes PTX.
#[derive(Default)]
struct Writer {
    text: String,
    labels: u32,
    counters: u32,
}

impl Writer {
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.text, "    {line}").unwrap();
    }

    fn label(&mut self) -> String {
        self.labels += 1;
        format!("L{}", self.labels)
    }

    fn block(&mut self, list: &[Statement]) {
        for statement in list {
            match statement {
                Statement::Compute(operation, d, a, b) => match operation {
                    Operation::Add => self.line(format_args!("add.u32 %r{d}, %r{a}, %r{b};")),
                    Operation::Sub => self.line(format_args!("sub.u32 %r{d}, %r{a}, %r{b};")),
                    Operation::Mul => self.line(format_args!("mul.lo.u32 %r{d}, %r{a}, %r{b};")),
                    Operation::Xor => self.line(format_args!("xor.b32 %r{d}, %r{a}, %r{b};")),
                    Operation::Min => self.line(format_args!("min.u32 %r{d}, %r{a}, %r{b};")),
                    Operation::Shift => self.line(format_args!("shf.l.wrap.b32 %r{d}, %r{a}, %r{a}, %r{b};")),
                },
                Statement::If(a, k, then, otherwise) => {
                    let (other, end) = (self.label(), self.label());
                    self.line(format_args!("and.b32 %t, %r{a}, 7; setp.ge.u32 %p, %t, {k}; @%p bra {other};"));
                    self.block(then);
                    self.line(format_args!("bra {end}; {other}:"));
                    self.block(otherwise);
                    self.line(format_args!("{end}:"));
                }
                Statement::Loop(a, b, k, body) => {
                    let (head, end) = (self.label(), self.label());
                    self.counters += 1;
                    let counter = format!("%c{}", self.counters);
                    self.line(format_args!("and.b32 {counter}, %r{a}, 3;"));
                    self.line(format_args!("{head}: setp.eq.u32 %p, {counter}, 0; @%p bra {end};"));
                    self.block(body);
                    self.line(format_args!("sub.u32 {counter}, {counter}, 1;"));
                    self.line(format_args!("and.b32 %t, %r{b}, 7; setp.ge.u32 %p, %t, {k}; @%p bra {head};"));
                    self.line(format_args!("{end}:"));
                }
                Statement::Call(d, a, b) => self.line(format_args!(
                    "{{ .param .b32 a; .param .b32 b; .param .b32 d; st.param.b32 [a], %r{a}; st.param.b32 [b], %r{b};
                    call.uni (d), mix, (a, b); ld.param.b32 %r{d}, [d]; }}"
                )),
                Statement::Switch(a, blocks) => {
                    let labels: Vec<String> = (0..4).map(|_| self.label()).collect();
                    let (list, end) = (self.label(), &labels[3]);
                    self.line(format_args!("{list}: .branchtargets {};", labels.join(", ")));
                    self.line(format_args!("and.b32 %t, %r{a}, 3; brx.idx %t, {list};"));
                    for (label, block) in labels.iter().zip(blocks) {
                        self.line(format_args!("{label}:"));
                        self.block(block);
                        self.line(format_args!("bra {end};"));
                    }
                    self.line(format_args!("{end}:"));
                }
                Statement::Keep(a) => self.line(format_args!("st.shared.u32 [%own], %r{a};")),
                Statement::Recall(d) => self.line(format_args!("ld.shared.u32 %r{d}, [%own];")),
            }
        }
    }

    fn results(&mut self) {
        for register in 0..REGISTERS {
            self.line(format_args!("st.global.u32 [%out+{}], %r{register};", 4 * register));
        }
    }
}

fn parts_of(parts: &[Part], threads: u32, writer: &mut Writer) {
    for part in parts {
        match part {
            Part::Alone(list) => writer.block(list),
            Part::Exchange(d, k, c) => {
                writer.line(format_args!("bar.sync 0; mad.lo.u32 %t, %id, {k}, {c}; rem.u32 %t, %t, {threads};"));
                writer.line(format_args!("mov.u32 %u, tile; mad.lo.u32 %t, %t, 4, %u; ld.shared.u32 %r{d}, [%t];"));
                writer.line(format_args!("bar.sync 0;"));
            }
            Part::Leave(a, k) => {
                let stay = writer.label();
                writer.line(format_args!("and.b32 %t, %r{a}, 15; setp.ge.u32 %p, %t, {k}; @%p bra {stay};"));
                writer.results();
                writer.line(format_args!("exit; {stay}:"));
            }
            Part::Sum(d, a) => {
                writer.line(format_args!("bar.sync 0; st.shared.u32 [sum], 0; bar.sync 0;"));
                writer.line(format_args!("red.shared.add.u32 [sum], %r{a}; bar.sync 0; ld.shared.u32 %r{d}, [sum];"));
            }
            Part::Repeat(count, body) => {
                writer.counters += 1;
                let (counter, head) = (format!("%c{}", writer.counters), writer.label());
                writer.line(format_args!("mov.u32 {counter}, 0; {head}:"));
                parts_of(body, threads, writer);
                writer.line(format_args!("add.u32 {counter}, {counter}, 1; setp.lt.u32 %p, {counter}, {count};"));
                writer.line(format_args!("@%p bra {head};"));
            }
        }
    }
}

fn ptx(parts: &[Part], threads: u32) -> String {
    let mut writer = Writer::default();
    parts_of(parts, threads, &mut writer);
    writer.results();
    let Writer { text, counters, .. } = writer;
    format!(
        ".version 8.0 .target sm_80 .address_size 64
.func (.param .b32 d) mix(.param .b32 a, .param .b32 b) {{
    .reg .b32 %a, %b; .reg .pred %p;
    ld.param.b32 %a, [a]; ld.param.b32 %b, [b]; and.b32 %b, %b, 3;
    NEXT: mad.lo.u32 %a, %a, 3, %b; setp.eq.u32 %p, %b, 0; @%p bra DONE; sub.u32 %b, %b, 1; bra NEXT;
    DONE: st.param.b32 [d], %a; ret;
}}
.entry k(.param .u64 out) {{
    .shared .align 4 .b32 sum; .shared .align 4 .b8 tile[{}];
    .reg .b32 %r<{REGISTERS}>, %c<{}>, %t, %u, %own, %id; .reg .pred %p; .reg .b64 %out, %wide;
    mov.u32 %id, %tid.x; mov.u32 %own, tile; mad.lo.u32 %own, %id, 4, %own; st.shared.u32 [%own], %id;
    ld.param.u64 %out, [out]; mov.u32 %t, %ctaid.x; mad.lo.u32 %t, %t, {threads}, %id;
    mul.wide.u32 %wide, %t, {}; add.u64 %out, %out, %wide;
    mov.u32 %r0, %id; mul.lo.u32 %r1, %id, 2654435761; not.b32 %r2, %id; mov.u32 %r3, 3; xor.b32 %r4, %r1, %id;
{text}    ret;
}}",
        4 * threads,
        counters + 1,
        4 * REGISTERS
    )
}

/// One thread, alone.
struct Thread {
    registers: [u32; REGISTERS],
    own: u32,
    ended: bool,
}

impl Thread {
    fn block(&mut self, list: &[Statement]) {
        for statement in list {
            match statement {
                Statement::Compute(operation, d, a, b) => {
                    let (a, b) = (self.registers[*a], self.registers[*b]);
                    self.registers[*d] = match operation {
                        Operation::Add => a.wrapping_add(b),
                        Operation::Sub => a.wrapping_sub(b),
                        Operation::Mul => a.wrapping_mul(b),
                        Operation::Xor => a ^ b,
                        Operation::Min => a.min(b),
                        Operation::Shift => a.rotate_left(b & 31),
                    };
                }
                Statement::If(a, k, then, otherwise) => {
                    self.block(if self.registers[*a] & 7 < *k { then } else { otherwise });
                }
                Statement::Loop(a, b, k, body) => {
                    for _ in 0..self.registers[*a] & 3 {
                        self.block(body);
                        if self.registers[*b] & 7 < *k {
                            break;
                        }
                    }
                }
                Statement::Call(d, a, b) => {
                    let (mut a, b) = (self.registers[*a], self.registers[*b] & 3);
                    (0..=b).rev().for_each(|b| a = a.wrapping_mul(3).wrapping_add(b));
                    self.registers[*d] = a;
                }
                Statement::Switch(a, blocks) => {
                    if let Some(block) = blocks.get(self.registers[*a] as usize & 3) {
                        self.block(block);
                    }
                }
                Statement::Keep(a) => self.own = self.registers[*a],
                Statement::Recall(d) => self.registers[*d] = self.own,
            }
        }
    }
}

fn together(parts: &[Part], threads: u32, all: &mut [Thread]) {
    for part in parts {
        if let Part::Repeat(count, body) = part {
            (0..*count).for_each(|_| together(body, threads, all));
            continue;
        }
        let shared: Vec<u32> = all.iter().map(|thread| thread.own).collect();
        let live = || all.iter().filter(|thread| !thread.ended);
        let sum = |a: usize| live().fold(0_u32, |sum, thread| sum.wrapping_add(thread.registers[a]));
        let sum = if let Part::Sum(_, a) = part { sum(*a) } else { 0 };
        for (id, thread) in (0..).zip(&mut *all).filter(|(_, thread)| !thread.ended) {
            match part {
                Part::Alone(list) => thread.block(list),
                Part::Exchange(d, k, c) => thread.registers[*d] = shared[((id * k + c) % threads) as usize],
                Part::Leave(a, k) => thread.ended = thread.registers[*a] & 15 < *k,
                Part::Sum(d, _) => thread.registers[*d] = sum,
                Part::Repeat(..) => {}
            }
        }
    }
}

fn interpret(parts: &[Part], threads: u32) -> Vec<u32> {
    let begin = |id: u32| {
        let product = id.wrapping_mul(2_654_435_761);
        Thread { registers: [id, product, !id, 3, product ^ id], own: id, ended: false }
    };
    let mut all: Vec<Thread> = (0..threads).map(begin).collect();
    together(parts, threads, &mut all);
    all.iter().flat_map(|thread| thread.registers).collect()
}

#[test]
fn random_kernels_compute_what_threads_compute_one_by_one() {
    for (seed, calls) in [(1, true), (2, false)] {
        let mut generator = Generator { random: Random::new(seed), calls };
        for round in 0..300 {
            let parts = generator.kernel(2);
            let threads = [1, 7, 32, 33, 64, 96, 130][generator.below(7) as usize];
            let text = ptx(&parts, threads);
            on_one_thread(&text, |machine| {
                let machine = machine.with(Options { limit: 50_000_000, ..machine.options.clone() });
                let out = machine.upload(&vec![0_u32; (BLOCKS * threads) as usize * REGISTERS]);
                let ran = machine.try_run("k", Grid::new(BLOCKS, threads), &[out.into()]);
                ran.unwrap_or_else(|error| panic!("{error}\n{text}"));
                let found = machine.download::<u32>(out, (BLOCKS * threads) as usize * REGISTERS);
                let wanted = interpret(&parts, threads).repeat(BLOCKS as usize);
                assert_eq!(found, wanted, "seed {seed}, round {round}, {threads} threads\n{text}");
            });
        }
    }
}
