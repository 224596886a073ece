//! Traces: the value of each line of a form's pseudo-code.
//!
//! A trace is a program that keeps a value for every line. Programs, lines and step lists are deduplicated. A form with
//! several evaluations (for ranges of targets, or with operands omitted) has a trace for each of them.

use crate::constant::contents;
use crate::table::TypeId;

contents! {
    /// The traces of a table.
    Traces, TracesBuf {
        /// Lines of pseudo-code with modifiers substituted.
        lines: &'static [&'static str],
        /// Programs: see [`program`](crate::program). The value of a selector parameter is the index of the selector.
        programs: &'static [&'static [u8]],
        /// Lists of steps.
        steps: &'static [&'static [Step]],
        /// Traces; those of one form are consecutive.
        list: &'static [Trace],
        /// Start of each form's traces in the list; the last element is the end.
        starts: &'static [u32],
    }

    /// Trace of a form for a range of targets and a number of written sources.
    Trace, TraceBuf {
        /// Exclusive upper bound of the SM number; `u16::MAX` means no bound.
        below: u16,
        /// Number of source operands that are written.
        sources: u8,
        /// Index of its program.
        program: u32,
        /// Index of its list of steps.
        steps: u32,
    }

    /// A line of pseudo-code and the type of its value.
    Step, StepBuf {
        /// Index of the line.
        line: u32,
        /// Type of a lane.
        ty: TypeId,
        /// Number of lanes of the value; 0 if the line has no value to show.
        lanes: u8,
        /// Index of the value in the program.
        value: u8,
    }
}

impl Traces {
    /// Returns the traces of a table's own form with this index.
    pub fn of(&self, form: usize) -> &'static [Trace] {
        &self.list[self.starts[form] as usize..self.starts[form + 1] as usize]
    }

    /// Returns the steps of a trace.
    pub fn steps(&self, trace: &Trace) -> &'static [Step] {
        self.steps[trace.steps as usize]
    }

    /// Returns the lines of a trace.
    pub fn lines(&self, trace: &Trace) -> impl Iterator<Item = &'static str> + use<> {
        let lines = self.lines;
        self.steps(trace).iter().map(move |step| lines[step.line as usize])
    }
}
