//! Diagnostics.

use ptx_isa::TABLE;
use ptx_isa::diagnostic::{self, Severity};
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PySlice;

use crate::text::{Place, Places, Text, options};

create_exception!(
    ptx_isa,
    PtxError,
    PyValueError,
    "A statement or a mnemonic that is not legal; `diagnostic` says why."
);

/// One finding about a text.
#[pyclass(frozen, eq, module = "ptx_isa")]
#[derive(Clone, PartialEq)]
pub(crate) struct Diagnostic {
    finding: diagnostic::Diagnostic,
    place: Place,
}

impl Diagnostic {
    pub(crate) fn new(finding: diagnostic::Diagnostic, places: &Places<'_>) -> Diagnostic {
        let place = places.of(&finding.span);
        Diagnostic { finding, place }
    }

    /// The exception about a text that is not legal.
    pub(crate) fn exception(py: Python<'_>, finding: diagnostic::Diagnostic, text: &str) -> PyErr {
        let help = finding.help.as_deref().map(|help| format!(" ({help})")).unwrap_or_default();
        let error = PtxError::new_err(format!("{}{help}", finding.message));
        let diagnostic = Diagnostic::new(finding, &Places::new(Text::Characters(text)));
        match error.value(py).setattr("diagnostic", diagnostic) {
            Ok(()) => error,
            Err(other) => other,
        }
    }
}

#[pymethods]
impl Diagnostic {
    #[getter]
    fn severity(&self) -> &'static str {
        self.finding.severity.as_str()
    }

    #[getter]
    fn code(&self) -> &'static str {
        self.finding.code.as_str()
    }

    #[getter]
    fn message(&self) -> &str {
        &self.finding.message
    }

    #[getter]
    fn help(&self) -> Option<&str> {
        self.finding.help.as_deref()
    }

    #[getter]
    fn note(&self) -> Option<&str> {
        self.finding.note.as_deref()
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

    #[getter]
    fn end_line(&self) -> usize {
        self.place.end_line
    }

    #[getter]
    fn end_column(&self) -> usize {
        self.place.end_column
    }

    fn __str__(&self) -> String {
        let diagnostic::Diagnostic { severity, code, message, .. } = &self.finding;
        format!("{}:{}: {severity}[{code}]: {message}", self.place.line, self.place.column)
    }

    fn __repr__(&self) -> String {
        format!("<Diagnostic {}>", self.__str__())
    }
}

/// The assembler's verdict on every statement of a text.
#[pyfunction]
#[pyo3(signature = (text, target=None, ptx=None, strict=false))]
pub(crate) fn check(
    py: Python<'_>,
    text: Text<'_>,
    target: Option<&str>,
    ptx: Option<&str>,
    strict: bool,
) -> PyResult<Vec<Diagnostic>> {
    let options = options(target, ptx)?;
    Ok(py.detach(|| {
        let mut findings = ptx_isa::text::check(&TABLE, text.bytes(), &options).diagnostics;
        if findings.is_empty() {
            return Vec::new();
        }
        if strict {
            findings.iter_mut().for_each(|finding| finding.severity = Severity::Error);
        }
        let places = Places::new(text);
        findings.into_iter().map(|finding| Diagnostic::new(finding, &places)).collect()
    }))
}
