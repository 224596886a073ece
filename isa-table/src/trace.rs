//! Traces: what each line of a form's pseudo-code computes.
//!
//! A trace is a program that keeps a value for every line. Equal programs, lines and steps stand once. Where a form has
//! several evaluations (for ranges of targets, or with operands left out), it has a trace for each of them.

use crate::constant::contents;
use crate::table::TypeId;

contents! {
    /// The traces of a table.
    Traces, TracesBuf {
        /// Lines of pseudo-code, modifiers filled in.
        lines: &'static [&'static str],
        /// Programs: see [`program`](crate::program). The datum of a selector's parameter is the parameter's number.
        programs: &'static [&'static [u8]],
        /// Lists of steps.
        steps: &'static [&'static [Step]],
        /// The traces, each form's one after the other.
        list: &'static [Trace],
        /// Where in the list the traces of each form begin, and behind the last one the end.
        starts: &'static [u32],
    }

    /// What the lines of a form's pseudo-code compute on a range of targets with so many of its sources.
    Trace, TraceBuf {
        /// It is for SM numbers below this one; `u16::MAX` means all.
        below: u16,
        /// How many source operands are written.
        sources: u8,
        /// Its program.
        program: u32,
        /// Its list of steps.
        steps: u32,
    }

    /// A line of pseudo-code and the shape of what it computes.
    Step, StepBuf {
        /// The line.
        line: u32,
        /// The type of a lane.
        ty: TypeId,
        /// How many lanes the value has; 0 where the line has none to show.
        lanes: u8,
        /// Which of the program's values it is.
        value: u8,
    }
}

impl Traces {
    /// The traces of a table's own form with this index.
    pub fn of(&self, form: usize) -> &'static [Trace] {
        &self.list[self.starts[form] as usize..self.starts[form + 1] as usize]
    }

    /// The steps of a trace.
    pub fn steps(&self, trace: &Trace) -> &'static [Step] {
        self.steps[trace.steps as usize]
    }

    /// The lines of a trace.
    pub fn lines(&self, trace: &Trace) -> impl Iterator<Item = &'static str> + use<> {
        let lines = self.lines;
        self.steps(trace).iter().map(move |step| lines[step.line as usize])
    }
}
