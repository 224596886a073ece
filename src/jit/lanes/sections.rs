//! Sections of machine code, between which lanes of a warp part and meet.
//!
//! The code goes through sections in the order of the kernel, each for the lanes that are there. Lanes that branch ahead wait at a place for
//! those behind them; lanes that go back are followed by all others, which wait where the branch is. Each warp has a line of memory, with the
//! mask of the lanes that wait at each place. Between sections no register of the kernel is in registers of the machine.

use std::prelude::rust_2024::*;

use iced_x86::{Code, MemoryOperand};

use super::super::assembler::*;
use super::{ACTIVE, Lanes, SPARE, Value, count_lanes};

/// Number of places at which lanes of a warp may wait: a line has so many masks.
pub(crate) const PLACES: usize = LINE / 4;

/// Where lanes go behind a section.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// To a place ahead, or to the end of the code.
    Ahead(Option<u32>),
    /// Back to a place; those that do not wait at another one directly behind, or are at the end of the code.
    Back { to: u32, rest: Option<u32> },
}

/// A branch behind a section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fork {
    /// The offset of the predicate of the lanes that branch, and whether its complement is meant; all of them do without one.
    pub guard: Option<(u32, bool)>,
    pub target: Target,
}

/// Indices of arguments that sections need.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flow {
    /// The argument that points to the lines of the warps.
    pub lines: u32,
    /// How often lanes may go back, and the number of instructions that threads have executed.
    pub left: u32,
    pub executed: u32,
}

/// The sections that are being compiled.
pub(super) struct Sections {
    flow: Flow,
    /// Where the code of places begins.
    heads: [u64; PLACES],
    /// The code before the section.
    before: Option<Assembler>,
}

/// A register of the machine that nothing is in between sections, besides [`SCRATCH`].
const MASK32: iced_x86::Register = iced_x86::Register::EAX;

impl Lanes {
    /// The mask of the lanes that wait at a place, once [`SCRATCH`] has the address of the lines.
    fn waiting(place: u32) -> MemoryOperand {
        MemoryOperand::with_base_index_scale_displ_size(SCRATCH, ROW, (LINE / 16) as u32, 4 * i64::from(place), 1)
    }

    /// Lets the lanes of a mask of the machine wait at a place.
    fn wait(&mut self, flow: Flow, mask: u8, place: u32) {
        self.code.load(Code::Mov_r64_rm64, SCRATCH, at(ARGUMENTS, 8 * i64::from(flow.lines)));
        self.code.two(Code::VEX_Kmovd_r32_kr, MASK32, k(mask));
        self.code.store(Code::Or_rm32_r32, Lanes::waiting(place), MASK32);
    }

    /// The active lanes of the second half are those of the mask of all.
    fn halve_active(&mut self) {
        let [low, high] = ACTIVE.map(k);
        self.code.two_by(Code::VEX_Kshiftrd_kr_kr_imm8, high, low, 16);
    }

    /// From here on the code consists of sections.
    pub(in super::super) fn begin_sections(&mut self, flow: Flow) {
        self.sections = Some(Sections { flow, heads: [0; PLACES], before: None });
    }

    /// Returns true if lanes part in the code.
    pub(in super::super) fn are_parting(&self) -> bool {
        self.sections.is_some()
    }

    /// A section begins: at a place, where lanes go on that have waited there, or behind a branch. It is skipped if no lanes are there.
    pub(in super::super) fn begin_section(&mut self, place: Option<u32>) {
        let [low, _] = ACTIVE.map(k);
        let Some(sections) = &mut self.sections else { return self.code.fail() };
        let flow = sections.flow;
        if let Some(place) = place {
            sections.heads[place as usize] = self.code.len();
            self.code.load(Code::Mov_r64_rm64, SCRATCH, at(ARGUMENTS, 8 * i64::from(flow.lines)));
            self.code.load(Code::VEX_Kmovd_kr_km32, k(SPARE[0]), Lanes::waiting(place));
            self.code.word(Code::Mov_rm32_imm32, Lanes::waiting(place), 0);
            self.code.three(Code::VEX_Kord_kr_kr_kr, low, low, k(SPARE[0]));
            self.halve_active();
        }
        self.code.two(Code::VEX_Kortestd_kr_kr, low, low);
        let before = self.code.begin_inner_here();
        if let Some(sections) = &mut self.sections {
            sections.before = Some(before);
        }
    }

    /// The section ends, in which each thread has executed `count` instructions, and lanes branch. Nobody reads the registers at the offsets
    /// `sinks`. `None` if it cannot be compiled.
    pub(in super::super) fn end_section(&mut self, fork: Option<Fork>, count: u32, sinks: &[u32]) -> Option<()> {
        let Sections { flow, heads, before } = self.sections.as_mut()?;
        let (flow, heads, before) = (*flow, *heads, before.take()?);
        let guard = fork.and_then(|fork| fork.guard);
        let condition = match guard {
            Some((predicate, not)) => Some((self.read(predicate, 1)?, not)),
            None => None,
        };
        self.end(sinks)?;
        self.forget();
        if count > 0 {
            count_lanes(&mut self.code, ACTIVE[0], count, flow.executed);
        }
        let ([low, _], [taken, rest]) = (ACTIVE.map(k), SPARE);
        if let Some(Fork { target, .. }) = fork {
            match condition {
                Some((Value::Mask(mask), not)) => {
                    let code = if not { Code::VEX_Kandnd_kr_kr_kr } else { Code::VEX_Kandd_kr_kr_kr };
                    self.code.three(code, k(taken), k(mask), low);
                }
                Some(_) => return None,
                None => self.code.three(Code::VEX_Kord_kr_kr_kr, k(taken), low, low),
            }
            self.code.three(Code::VEX_Kandnd_kr_kr_kr, k(rest), k(taken), low);
            match target {
                Target::Ahead(place) => {
                    if let Some(place) = place {
                        self.wait(flow, taken, place);
                    }
                    self.code.three(Code::VEX_Kord_kr_kr_kr, low, k(rest), k(rest));
                }
                Target::Back { to, rest: place } => {
                    if let Some(place) = place.filter(|_| guard.is_some()) {
                        self.wait(flow, rest, place);
                    }
                    self.code.three(Code::VEX_Kord_kr_kr_kr, low, k(taken), k(taken));
                    self.halve_active();
                    let left = at(ARGUMENTS, 8 * i64::from(flow.left));
                    self.code.two(Code::VEX_Kortestd_kr_kr, low, low);
                    self.code.unless_zero_here(|code| {
                        code.word(Code::Cmp_rm64_imm8, left, 0);
                        code.unless_zero_here(|code| {
                            code.change(Code::Dec_rm64, left);
                            code.jump(Code::Jmp_rel32_64, heads[to as usize]);
                        });
                    });
                    // They stay there.
                    self.wait(flow, ACTIVE[0], to);
                    self.code.three(Code::VEX_Kxord_kr_kr_kr, low, low, low);
                }
            }
            self.halve_active();
        }
        if let Some((value, _)) = condition {
            self.release(value);
        }
        let inner = self.code.end_inner(before);
        self.code.unless_zero(inner);
        Some(())
    }
}
