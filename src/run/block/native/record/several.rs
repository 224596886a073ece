//! The recording of several rounds of a loop that all lanes leave together.
//!
//! Each warp does several rounds before the next one does, so that what rounds change for those behind them stays in registers of the machine.
//! Rounds have the steps of one round, and arguments of their own.

use std::prelude::rust_2024::*;

use ptx_isa::jit::Trace;

use super::super::{Block, Entry, FIRST, LEFT};
use super::Recorder;
use super::loops::Registers;

impl Block<'_> {
    /// Code for several rounds of the operations from `at` to the branch at `end`, which were recorded first for one; `None` if it cannot be
    /// compiled, or rounds change nothing for others.
    pub(super) fn record_several(
        &mut self,
        entry: &Entry,
        (at, end): (usize, usize),
        through: bool,
        first: &Recorder,
    ) -> Option<Trace> {
        let (read, _) = first.builder.registers();
        let unneeded = self.unneeded(end, &(0..0));
        let mut registers = Registers::new(first, &unneeded);
        // Values that are regular, or the same in all threads, are not in lanes, and others in each round.
        registers.read.retain(|(offset, _)| !first.numbers.contains_key(offset));
        // Another round always follows, as all lanes go back behind these: it writes what it does not read before.
        registers.changed.retain(|(offset, _)| read.contains_key(offset));
        if registers.changed.is_empty() || registers.changed.iter().any(|(_, bits)| *bits == 1) {
            return None;
        }
        let recorder = registers.recorded(|Registers { changed, read, exact }| {
            let mut saved = Vec::new();
            let mut recorder = Recorder { looped: true, ..self.recorder(self.whole, self.numbers(), first.most) };
            recorder.builder.vary_arguments();
            recorder.builder.begin_loop(changed, read, exact, first.tables.len())?;
            let (recorder, behind, rest) = self.record(entry, (at, 0), through, recorder, &mut saved);
            self.affine.restore(&saved);
            let mut recorder = recorder.filter(|own| behind == end && rest.is_empty() && own.steps == first.steps)?;
            let stride = 8 * recorder.slot(recorder.steps.len());
            let asked = recorder.builder.end_rounds(stride, LEFT as u32, FIRST as u32)?;
            Some((recorder, asked))
        });
        recorder?.builder.finish(&unneeded)
    }
}
