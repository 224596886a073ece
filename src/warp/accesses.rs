//! Registers that the instructions of a program read and write.

use alloc::vec::Vec;

use super::{Program, Row};

/// Registers that an instruction of a program reads and writes, as rows of the registers of a warp. The carry flag is not among them:
/// no row holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accesses<'a> {
    /// The guard, if there is one, then the sources on which the results depend. A register that is named twice is listed twice.
    pub reads: &'a [Row],
    /// The destinations. Lanes in which the guard is false keep their values, as do those of inactive threads.
    pub writes: &'a [Row],
}

/// The rows of all instructions of a program, one behind the other: of each those that it writes, then those that it reads.
#[derive(Clone, Debug, Default)]
pub(super) struct Rows {
    rows: Vec<Row>,
    /// For each instruction the ends of what it writes and of what it reads.
    ends: Vec<[u32; 2]>,
}

impl Rows {
    /// Begins an instruction, in place of one that was begun and has not ended.
    pub(super) fn begin(&mut self) {
        self.rows.truncate(self.start(self.ends.len()));
    }

    /// Adds a row of the instruction that is begun.
    pub(super) fn add(&mut self, row: Row) {
        self.rows.push(row);
    }

    /// Number of rows so far.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Ends the instruction, of which the rows before `writes` are written.
    pub(super) fn end(&mut self, writes: usize) {
        self.ends.push([writes as u32, self.rows.len() as u32]);
    }

    /// Where the rows of an instruction begin.
    fn start(&self, instruction: usize) -> usize {
        instruction.checked_sub(1).map_or(0, |before| self.ends[before][1] as usize)
    }

    /// Returns the rows of an instruction.
    ///
    /// # Panics
    ///
    /// If there are fewer instructions.
    fn of(&self, instruction: usize) -> Accesses<'_> {
        let [writes, end] = self.ends[instruction].map(|end| end as usize);
        Accesses { reads: &self.rows[writes..end], writes: &self.rows[self.start(instruction)..writes] }
    }
}

impl Program {
    /// Returns the registers that an instruction reads and writes, given its number in the order in which they were added: what an emulator
    /// needs to keep track of registers that it computes in other ways, and an analysis to find dead code.
    ///
    /// ```
    /// use ptx_isa::text::Statement;
    /// use ptx_isa::warp::{Program, Registers, Row};
    ///
    /// let mut program = Program::new(Registers { b32: 2, b64: 1, pred: 1, ..Registers::default() }, 90);
    /// let statement = Statement::parse(&ptx_isa::TABLE, "@p0 mad.wide.s32 d0, r1, -4, d0;")?;
    /// program.push_statement(&statement, |register, ty| Some(Row::of(ty, register.name[1..].parse().ok()?)))?;
    ///
    /// let accesses = program.accesses(0);
    /// let [guard, a, d] = [(1, 0), (32, 1), (64, 0)].map(|(bits, number)| Row { bits, number });
    /// assert_eq!(accesses.reads, [guard, a, d]);
    /// assert_eq!(accesses.writes, [d]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If there are fewer instructions.
    pub fn accesses(&self, instruction: usize) -> Accesses<'_> {
        self.rows.of(instruction)
    }
}
