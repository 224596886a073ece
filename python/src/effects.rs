//! Effects of statements, and the minimum version and target of modules.

use ptx_isa::TABLE;
use ptx_isa::text::effects;
use ptx_isa::text::module::{self, Needs, SymbolKind, needs};
use ptx_isa::text::statement::Register;
use pyo3::prelude::*;
use pyo3::types::{PySlice, PyTuple};

use crate::module::{Module, Part};
use crate::statement::Statement;
use crate::text::{Place, Places, Text};

/// Effects of a statement on registers, memory, control flow and other threads.
#[pyclass(frozen, get_all, module = "ptx_isa")]
pub(crate) struct Effects {
    reads: Py<PyTuple>,
    writes: Py<PyTuple>,
    memory: Py<PyTuple>,
    flow: &'static str,
    synchronization: Py<PyTuple>,
    lacks: Option<&'static str>,
}

/// An access to memory.
#[pyclass(frozen, get_all, module = "ptx_isa")]
pub(crate) struct Access {
    operand: usize,
    space: Option<&'static str>,
    bytes: u32,
    read: bool,
    written: bool,
    order: Option<&'static str>,
    scope: Option<&'static str>,
}

#[pymethods]
impl Access {
    fn __repr__(&self) -> String {
        let verb = match (self.read, self.written) {
            (true, true) => "updates",
            (true, false) => "reads",
            _ => "writes",
        };
        format!("<Access {verb} {} bytes, {}>", self.bytes, self.space.unwrap_or("generic"))
    }
}

impl Effects {
    /// The effects of a part of a module that is a statement; nothing where it has an error.
    pub(crate) fn of(statement: &Bound<'_, Statement>) -> PyResult<Option<Effects>> {
        let py = statement.py();
        let part = statement.as_super().get();
        let declared = |name: &str| is_register(part, name);
        let found = Statement::read(statement, |statement| {
            let effects::Effects { reads, writes, states_read, states_written, memory, flow, synchronization, lacks } =
                statement.effects_among(declared);
            let names = |registers: &[Register<'_>], states: Vec<&'static str>| {
                let registers = registers.iter().map(ToString::to_string);
                registers.chain(states.into_iter().map(str::to_owned)).collect::<Vec<String>>()
            };
            let own = (names(&reads, states_read), names(&writes, states_written));
            (own, memory, flow, synchronization, lacks)
        });
        let Some(((reads, writes), memory, flow, synchronization, lacks)) = found else { return Ok(None) };
        let access = |&effects::Access { space, operand, bytes, read, written, order, scope }: &_| {
            Py::new(py, Access { operand, space, bytes, read, written, order, scope })
        };
        let memory = memory.iter().map(access).collect::<PyResult<Vec<_>>>()?;
        Ok(Some(Effects {
            reads: PyTuple::new(py, reads)?.unbind(),
            writes: PyTuple::new(py, writes)?.unbind(),
            memory: PyTuple::new(py, memory)?.unbind(),
            flow: flow.name(),
            synchronization: PyTuple::new(py, synchronization.iter().map(|one| one.name()))?.unbind(),
            lacks,
        }))
    }
}

/// Returns true if a name in a part is that of a register, as far as declarations tell.
fn is_register(part: &Part, name: &str) -> bool {
    let meaning = part.source.index().meaning_in(&part.source.text, &part.bytes, name);
    meaning.is_none_or(|symbol| matches!(symbol.kind, SymbolKind::Register { .. }))
}

/// The minimum version and target of a function or of a module.
#[pyclass(frozen, get_all, module = "ptx_isa")]
pub(crate) struct Floor {
    function: Option<String>,
    kernel: bool,
    ptx: Option<String>,
    target: Option<String>,
    reasons: Py<PyTuple>,
}

/// A part of a text that requires a version or a target.
#[pyclass(frozen, module = "ptx_isa")]
pub(crate) struct FloorReason {
    needs: String,
    place: Place,
}

#[pymethods]
impl FloorReason {
    #[getter]
    fn needs(&self) -> &str {
        &self.needs
    }

    #[getter]
    fn span<'py>(&self, py: Python<'py>) -> Bound<'py, PySlice> {
        self.place.slice(py)
    }

    #[getter]
    fn line(&self) -> usize {
        self.place.line
    }

    #[getter]
    fn column(&self) -> usize {
        self.place.column
    }

    fn __repr__(&self) -> String {
        format!("<FloorReason line {}: {}>", self.place.line, self.needs)
    }
}

#[pymethods]
impl Floor {
    fn __repr__(&self) -> String {
        let what = self.function.as_deref().unwrap_or("module");
        match (&self.ptx, &self.target) {
            (Some(ptx), Some(target)) => format!("<Floor {what}: PTX {ptx}, {target}>"),
            _ => format!("<Floor {what}: none>"),
        }
    }
}

/// The floors of each function with a body and, in the last place, of the module.
pub(crate) fn floors<'py>(py: Python<'py>, module: &Module) -> PyResult<Bound<'py, PyTuple>> {
    let text = module.text();
    let found = py.detach(|| needs(&TABLE, text.as_bytes()));
    let places = Places::new(Text::Characters(text));
    let floor = |needs: &Needs<'_>| {
        let function = needs.function.map(|function| function.name.to_owned());
        let kernel = needs.function.is_some_and(|function| function.kernel);
        let Some(module::Minimum { ptx, target, version_reason, target_reasons }) = needs.minimum() else {
            return Py::new(
                py,
                Floor { function, kernel, ptx: None, target: None, reasons: PyTuple::empty(py).unbind() },
            );
        };
        let version = version_reason.map(|reason| (format!("PTX {}", reason.needs), reason.span));
        let targets = target_reasons.into_iter().map(|reason| (reason.needs.to_string(), reason.span));
        let reasons = version.into_iter().chain(targets);
        let reasons = reasons.map(|(needs, span)| Py::new(py, FloorReason { needs, place: places.of(&span) }));
        let reasons = PyTuple::new(py, reasons.collect::<PyResult<Vec<_>>>()?)?.unbind();
        let (ptx, target) = (Some(ptx.to_string()), Some(target.to_string()));
        Py::new(py, Floor { function, kernel, ptx, target, reasons })
    };
    PyTuple::new(py, found.iter().map(floor).collect::<PyResult<Vec<_>>>()?)
}
