//! The reference as data: a page for each opcode, and what each line of a form's pseudo-code computes.
//!
//! The pages are what `ptx-isa explain`, the site and the module [`manual`](crate::manual) of this documentation show.
//! This module knows no instruction: the generator writes its data from the spec.
//!
//! ```
//! use ptx_isa::reference::REFERENCE;
//!
//! let page = REFERENCE.page("selp").unwrap();
//! assert_eq!(page.entries[0].section, "9.7.6.3");
//!
//! // What each line of the pseudo-code gives: `t = a < b;`, then `r = t;`, then `d = r ? 0xffffffff : 0;`.
//! let form = "set.lt.u32.s32".parse::<ptx_isa::Form>().unwrap();
//! let steps = REFERENCE.trace(form.info(), u16::MAX, &[1, 2]);
//! let lanes: Vec<_> = steps.iter().map(|step| step.lanes.as_slice()).collect();
//! assert_eq!(lanes, [[1], [1], [0xffff_ffff]]);
//! ```

pub mod form;

use alloc::vec::Vec;

pub use isa_page as page;

use crate::TABLE;
use crate::table::{FormInfo, TypeId};

/// The reference that a spec writes.
#[derive(Debug)]
pub struct Reference {
    /// One page for each opcode, in the table's order.
    pub pages: &'static [page::Page],
    /// For each form its traces, ascending by [`Trace::below`].
    pub traces: &'static [&'static [Trace]],
}

/// What the lines of a form's pseudo-code compute on a range of targets.
#[derive(Debug)]
pub struct Trace {
    /// It is for SM numbers below this one; `u16::MAX` means all.
    pub below: u16,
    /// The lines.
    pub steps: &'static [Step],
    /// Gives the lanes of every line with a value, one after the other.
    pub values: fn(&[u64], &mut dyn FnMut(u64)),
}

/// A line of pseudo-code and the shape of what it computes.
#[derive(Debug)]
pub struct Step {
    /// The line.
    pub line: &'static str,
    /// The type of a lane.
    pub ty: TypeId,
    /// How many lanes the value has; 0 where the line has none to show.
    pub lanes: u8,
}

/// A line of pseudo-code with what it computed.
#[derive(Debug)]
pub struct Computed {
    /// The line and the shape.
    pub step: &'static Step,
    /// The bits of each lane, lane 0 first.
    pub lanes: Vec<u64>,
}

impl Reference {
    /// The page of an opcode.
    pub fn page(&self, opcode: &str) -> Option<&'static page::Page> {
        self.pages.iter().find(|page| page.opcode == opcode)
    }

    /// What each line of a form's pseudo-code computes on a target, for inputs as [`FormInfo::evaluate`] takes them.
    ///
    /// # Panics
    ///
    /// If there are fewer inputs than sources and selectors.
    pub fn trace(&self, form: &FormInfo, sm: u16, inputs: &[u64]) -> Vec<Computed> {
        let Some(trace) = self.trace_of(form, sm) else { return Vec::new() };
        let mut words = Vec::new();
        (trace.values)(inputs, &mut |word| words.push(word));
        let mut words = words.into_iter();
        let computed = |step| Computed { step, lanes: words.by_ref().take(usize::from(step.lanes)).collect() };
        trace.steps.iter().map(computed).collect()
    }

    /// The trace of a form on a target.
    pub fn trace_of(&self, form: &FormInfo, sm: u16) -> Option<&'static Trace> {
        let traces = self.traces[TABLE.index_of(form)?];
        traces.iter().find(|trace| sm < trace.below).or(traces.last())
    }
}

mod generated {
    include!(concat!(env!("OUT_DIR"), "/reference.rs"));
}

pub use generated::REFERENCE;
