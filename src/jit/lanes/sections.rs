//! Sections of machine code, between which the lanes of a warp diverge and reconverge.
//!
//! A warp runs its sections in program order, each with an execution mask: the active lanes. Lanes that branch ahead wait at their target until
//! the other lanes reach it. When lanes branch back, the others wait behind the branch. Each warp has a row of masks in memory, one for each
//! label, with the lanes that wait there. Registers of the kernel are in the register file between sections.

use std::prelude::rust_2024::*;

use iced_x86::{Code, MemoryOperand, Register};

use super::super::assembler::*;
use super::{ACTIVE, Lanes, SPARE, Value, count_lanes};

/// Maximum number of labels at which lanes of a warp may wait: the number of masks of a row.
pub(crate) const LABELS: usize = LINE / 4;

/// Target of a branch behind a section.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target {
    /// A label ahead, or the end of the code.
    Ahead(Option<u32>),
    /// A label before the branch. Lanes that do not branch wait at the label `rest` behind the branch, or are at the end of the code.
    Back { to: u32, rest: Option<u32> },
}

/// A branch behind a section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Branch {
    /// Offset of the predicate that guards the branch, and true for its complement. Without a guard, all lanes branch.
    pub guard: Option<(u32, bool)>,
    pub target: Target,
}

/// Indices of the arguments that sections use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SectionArguments {
    /// The argument that points to a row of masks for each warp.
    pub waiting: u32,
    /// Number of backward branches that may still be taken, and number of instructions that threads have executed.
    pub left: u32,
    pub executed: u32,
}

/// State of the code generation for sections.
pub(super) struct Sections {
    arguments: SectionArguments,
    /// Offset of the code of each label that has been reached: backward branches go to no other.
    heads: [u64; LABELS],
    /// The code in front of the current section.
    before: Option<Assembler>,
}

/// A free register: the lower half of the first of [`HALVES`], which hold nothing between sections.
const MASK32: Register = Register::EAX;

impl Lanes {
    /// Mask of the lanes that wait at a label. [`SCRATCH`] must hold the address of the rows.
    fn waiting(label: u32) -> MemoryOperand {
        MemoryOperand::with_base_index_scale_displ_size(SCRATCH, ROW, (LINE / 16) as u32, 4 * i64::from(label), 1)
    }

    /// Adds the lanes of an opmask register to those that wait at a label.
    fn wait(&mut self, arguments: SectionArguments, mask: u8, label: u32) {
        self.code.load(Code::Mov_r64_rm64, SCRATCH, at(ARGUMENTS, 8 * i64::from(arguments.waiting)));
        self.code.two(Code::VEX_Kmovd_r32_kr, MASK32, k(mask));
        self.code.store(Code::Or_rm32_r32, Lanes::waiting(label), MASK32);
    }

    /// Begins code that consists of sections.
    pub(in super::super) fn begin_sections(&mut self, arguments: SectionArguments) {
        self.sections = Some(Sections { arguments, heads: [0; LABELS], before: None });
    }

    /// Returns true if the code consists of sections.
    pub(in super::super) fn is_divergent(&self) -> bool {
        self.sections.is_some()
    }

    /// Begins a section: at a label, where waiting lanes become active, or behind a branch. The section is skipped if no lane is active.
    pub(in super::super) fn begin_section(&mut self, label: Option<u32>) {
        let [low, _] = ACTIVE.map(k);
        let Some(sections) = &mut self.sections else { return self.code.fail() };
        let arguments = sections.arguments;
        if let Some(label) = label {
            sections.heads[label as usize] = self.code.len();
            self.code.load(Code::Mov_r64_rm64, SCRATCH, at(ARGUMENTS, 8 * i64::from(arguments.waiting)));
            self.code.load(Code::VEX_Kmovd_kr_km32, k(SPARE[0]), Lanes::waiting(label));
            self.code.word(Code::Mov_rm32_imm32, Lanes::waiting(label), 0);
            self.code.three(Code::VEX_Kord_kr_kr_kr, low, low, k(SPARE[0]));
            self.halve_active();
        }
        self.code.two(Code::VEX_Kortestd_kr_kr, low, low);
        let before = self.code.begin_inner_here();
        if let Some(sections) = &mut self.sections {
            sections.before = Some(before);
        }
    }

    /// Ends a section of `count` instructions, with a branch or without one. Registers at the offsets `sinks` are not stored. `None` if it
    /// cannot be compiled.
    pub(in super::super) fn end_section(&mut self, branch: Option<Branch>, count: u32, sinks: &[u32]) -> Option<()> {
        let Sections { arguments, heads, before } = self.sections.as_mut()?;
        let (arguments, heads, before) = (*arguments, *heads, before.take()?);
        let guard = branch.and_then(|branch| branch.guard);
        let condition = match guard {
            Some((predicate, not)) => Some((self.read(predicate, 1)?, not)),
            None => None,
        };
        self.end(sinks)?;
        self.forget();
        if count > 0 {
            count_lanes(&mut self.code, ACTIVE[0], count, arguments.executed);
        }
        let ([low, _], [taken, rest]) = (ACTIVE.map(k), SPARE);
        if let Some(Branch { target, .. }) = branch {
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
                Target::Ahead(label) => {
                    if let Some(label) = label {
                        self.wait(arguments, taken, label);
                    }
                    self.code.three(Code::VEX_Kord_kr_kr_kr, low, k(rest), k(rest));
                }
                Target::Back { to, rest: label } => {
                    if let Some(label) = label.filter(|_| guard.is_some()) {
                        self.wait(arguments, rest, label);
                    }
                    self.code.three(Code::VEX_Kord_kr_kr_kr, low, k(taken), k(taken));
                    self.halve_active();
                    let left = at(ARGUMENTS, 8 * i64::from(arguments.left));
                    self.code.two(Code::VEX_Kortestd_kr_kr, low, low);
                    self.code.unless_zero_here(|code| {
                        code.word(Code::Cmp_rm64_imm8, left, 0);
                        code.unless_zero_here(|code| {
                            code.change(Code::Dec_rm64, left);
                            code.jump(Code::Jmp_rel32_64, heads[to as usize]);
                        });
                    });
                    // No branch is left: the lanes wait there for the caller.
                    self.wait(arguments, ACTIVE[0], to);
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
