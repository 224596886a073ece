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
//! // The results of the pseudo-code, line by line: `t = a < b;`, then `r = t;`, then `d = r ? 0xffffffff : 0;`.
//! let form = "set.lt.u32.s32".parse::<ptx_isa::Form>().unwrap();
//! let steps = REFERENCE.trace(form.info(), u16::MAX, &[1, 2]);
//! let lanes: Vec<_> = steps.iter().map(|step| step.lanes.as_slice()).collect();
//! assert_eq!(lanes, [[1], [1], [0xffff_ffff]]);
//! ```

pub mod examples;
pub mod form;
pub mod sample;
#[cfg(feature = "explain")]
pub mod text;

use alloc::vec::Vec;

use isa_table::limits::VALUES;
pub use isa_table::page;
use isa_table::program;
pub use isa_table::trace;

use crate::table::{FormInfo, Free};
use form::FormPage;
use trace::{Step, Trace, Traces};

/// The reference that is generated from a spec.
#[derive(Debug)]
pub struct Reference {
    /// Reference of the base table, if this one's table extends another.
    pub base: Option<&'static Reference>,
    /// One page for each of the table's own opcodes, in its order.
    pub pages: &'static [page::Page],
    /// Evaluation traces of the lines of pseudo-code.
    pub traces: &'static Traces,
    /// Manual that the section numbers refer to, if the spec names one.
    pub manual: Option<page::Manual>,
    /// The files of the spec.
    pub sources: &'static [page::Source],
}

/// A line of pseudo-code with what it computed.
#[derive(Debug)]
pub struct Computed {
    /// The line.
    pub line: &'static str,
    /// The shape of its value.
    pub step: &'static Step,
    /// The bits of each lane, lane 0 first.
    pub lanes: Vec<u128>,
}

impl Reference {
    /// The page of an opcode.
    pub fn page(&self, opcode: &str) -> Option<&'static page::Page> {
        self.owner(opcode).map(|(_, page)| page)
    }

    /// Returns all pages: those of the base reference that are not overridden, then its own.
    pub fn pages(&'static self) -> Vec<&'static page::Page> {
        let own = |page: &&'static page::Page| self.pages.iter().all(|other| other.opcode != page.opcode);
        let base = self.base.map(Reference::pages).unwrap_or_default().into_iter().filter(own);
        base.chain(self.pages).collect()
    }

    /// The page of an opcode, and whose it is.
    fn owner(&self, opcode: &str) -> Option<(&Reference, &'static page::Page)> {
        match self.pages.iter().find(|page| page.opcode == opcode) {
            Some(page) => Some((self, page)),
            None => self.base?.owner(opcode),
        }
    }

    /// Returns the reference page of a form; `None` if the form belongs to a table that this reference does not
    /// describe.
    pub fn form(&self, form: FormInfo) -> Option<FormPage> {
        self.form_with(form, &Free::NONE)
    }

    /// Returns the reference page of a form with a statement's free modifiers.
    pub fn form_with(&self, form: FormInfo, free: &Free) -> Option<FormPage> {
        let (_, page) = self.owner(form.instruction().opcode)?;
        Some(FormPage::new(form, *free, page, self.lines(form)))
    }

    /// The lines of a form's pseudo-code on the newest targets, with all its operands; none where it has no evaluator.
    pub fn lines(&self, form: FormInfo) -> Vec<&'static str> {
        let Some((own, _)) = self.owner(form.instruction().opcode) else { return Vec::new() };
        own.traces.of(form.index()).last().map(|trace| own.traces.lines(trace).collect()).unwrap_or_default()
    }

    /// The traces of a form, and the lines of each.
    pub fn traces(&self, form: FormInfo) -> Vec<(&'static Trace, Vec<&'static str>)> {
        let Some((own, _)) = self.owner(form.instruction().opcode) else { return Vec::new() };
        own.traces.of(form.index()).iter().map(|trace| (trace, own.traces.lines(trace).collect())).collect()
    }

    /// Evaluates a form's pseudo-code on a target and returns the result of each line. The inputs are those of
    /// [`FormInfo::evaluate`]. The list is empty if the form has no evaluator for this number of inputs, or is
    /// collective.
    pub fn trace(&self, form: FormInfo, sm: u16, inputs: &[u128]) -> Vec<Computed> {
        let owner = self.owner(form.instruction().opcode);
        owner.map(|(own, _)| trace(own.traces, form, sm, inputs)).unwrap_or_default()
    }
}

/// Does the same as [`Reference::trace`], with the traces of the form's own table: a program that needs no pages does
/// not link any.
pub fn trace(traces: &Traces, form: FormInfo, sm: u16, inputs: &[u128]) -> Vec<Computed> {
    if form.is_collective() {
        return Vec::new();
    }
    let sources = inputs.len().wrapping_sub(form.selectors().count());
    let mut fits = traces.of(form.index()).iter().filter(|trace| usize::from(trace.sources) == sources);
    let Some(trace) = fits.clone().find(|trace| sm < trace.below).or(fits.next_back()) else { return Vec::new() };
    let mut values = [0; VALUES];
    program::run(
        traces.programs[trace.program as usize],
        // A selector's datum is its own number.
        &core::array::from_fn::<u64, VALUES, _>(|number| number as u64),
        |source| inputs[source],
        |selector| inputs[sources + selector],
        form.table().operation,
        &mut values,
    );
    let steps = traces.steps(trace).iter().zip(traces.lines(trace));
    let computed = |(step, line): (&'static Step, _)| {
        let (word, bits) = (values[usize::from(step.value)], form.table().ty(step.ty).lane_bits());
        let lane = |lane: u8| word >> (u32::from(lane) * bits) & u128::MAX >> (128 - bits);
        Computed { line, step, lanes: (0..step.lanes).map(lane).collect() }
    };
    steps.map(computed).collect()
}

mod generated {
    include!(concat!(env!("OUT_DIR"), "/reference.rs"));
}

pub use generated::{REFERENCE, TRACES};
