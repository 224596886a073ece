//! Diagnostics.

use std::ops::Range;

use ptx_isa::TABLE;
use ptx_isa::diagnostic::{self, Code, Severity};
use ptx_isa::text::module;
use pyo3::create_exception;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PySlice, PyTuple};

use crate::text::{Place, Places, Text, is_no_path, options};

create_exception!(
    ptx_isa,
    PtxError,
    PyValueError,
    "A statement or a mnemonic that is not legal; `diagnostic` says why."
);

/// A part of a text, and what to write instead.
#[pyclass(frozen, eq, module = "ptx_isa")]
#[derive(Clone, PartialEq)]
pub(crate) struct Fix {
    indices: Range<usize>,
    text: String,
    safe: bool,
}

#[pymethods]
impl Fix {
    #[new]
    fn new(start: usize, end: usize, text: String, safe: bool) -> Fix {
        Fix { indices: start..end, text, safe }
    }

    fn __getnewargs__(&self) -> (usize, usize, &str, bool) {
        (self.indices.start, self.indices.end, &self.text, self.safe)
    }

    #[getter]
    fn span<'py>(&self, py: Python<'py>) -> Bound<'py, PySlice> {
        PySlice::new(py, self.indices.start as isize, self.indices.end as isize, 1)
    }

    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    #[getter]
    fn safe(&self) -> bool {
        self.safe
    }

    fn __repr__(&self) -> String {
        let Range { start, end } = self.indices;
        format!("<Fix {start}:{end}: {:?}{}>", self.text, if self.safe { ", safe" } else { "" })
    }
}

/// One finding about a text.
#[pyclass(frozen, eq, module = "ptx_isa")]
#[derive(Clone)]
pub(crate) struct Diagnostic {
    finding: diagnostic::Diagnostic,
    place: Place,
    fixes: Vec<Fix>,
}

/// The finding as Python sees it.
impl PartialEq for Diagnostic {
    fn eq(&self, other: &Diagnostic) -> bool {
        let seen = |it: &Diagnostic| {
            let diagnostic::Diagnostic { severity, code, message, help, note, .. } = it.finding.clone();
            (severity, code, message, help, note)
        };
        self.place == other.place && self.fixes == other.fixes && seen(self) == seen(other)
    }
}

impl Diagnostic {
    pub(crate) fn new(finding: diagnostic::Diagnostic, places: &Places<'_>) -> Diagnostic {
        let place = places.of(&finding.span);
        let fix = |fix: &diagnostic::Fix| Fix {
            indices: places.of(&fix.span).indices,
            text: fix.text.clone(),
            safe: fix.safe,
        };
        let fixes = finding.fixes.iter().map(fix).collect();
        Diagnostic { finding, place, fixes }
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
    /// Pickled state: see `__getnewargs__`.
    #[new]
    #[pyo3(signature = (error, code, message, help, note, indices, start, end, fixes))]
    #[allow(clippy::too_many_arguments, reason = "pickling gives them")]
    fn restored(
        error: bool,
        code: &str,
        message: String,
        help: Option<String>,
        note: Option<String>,
        indices: (usize, usize),
        start: (usize, usize),
        end: (usize, usize),
        fixes: Vec<(usize, usize, String, bool)>,
    ) -> PyResult<Diagnostic> {
        let code = Code::from_name(code).ok_or_else(|| PyValueError::new_err(format!("there is no code `{code}`")))?;
        let mut finding = diagnostic::Diagnostic::error(code, indices.0..indices.1, message);
        if !error {
            finding.severity = Severity::Warning;
        }
        (finding.help, finding.note) = (help, note);
        let place =
            Place { indices: indices.0..indices.1, line: start.0, column: start.1, end_line: end.0, end_column: end.1 };
        let fixes = fixes.into_iter().map(|(start, end, text, safe)| Fix { indices: start..end, text, safe }).collect();
        Ok(Diagnostic { finding, place, fixes })
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let diagnostic::Diagnostic { severity, code, message, help, note, .. } = &self.finding;
        let Place { indices, line, column, end_line, end_column } = &self.place;
        let fixes: Vec<_> = self.fixes.iter().map(Fix::__getnewargs__).collect();
        let places = ((indices.start, indices.end), (*line, *column), (*end_line, *end_column));
        let error = *severity == Severity::Error;
        (error, code.as_str(), message, help, note, places.0, places.1, places.2, fixes).into_pyobject(py)
    }

    #[getter]
    fn fixes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.fixes.iter().map(|fix| Py::new(py, fix.clone())).collect::<PyResult<Vec<_>>>()?)
    }

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
#[pyo3(signature = (text, target=None, ptx=None, strict=false, ignore=None))]
pub(crate) fn check(
    py: Python<'_>,
    text: Text<'_>,
    target: Option<&str>,
    ptx: Option<&str>,
    strict: bool,
    ignore: Option<Vec<String>>,
) -> PyResult<Vec<Diagnostic>> {
    let (options, ignore) = (options(target, ptx)?, codes(&ignore.unwrap_or_default())?);
    Ok(py.detach(|| {
        let mut findings = ptx_isa::text::check(&TABLE, text.bytes(), &options).diagnostics;
        findings.retain(|finding| !ignore.contains(&finding.code));
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

/// A text with the edits that its findings come with.
#[pyfunction]
#[pyo3(signature = (text, target=None, ptx=None, *, r#unsafe=false, ignore=None))]
pub(crate) fn fix(
    py: Python<'_>,
    text: &Bound<'_, PyAny>,
    target: Option<&str>,
    ptx: Option<&str>,
    r#unsafe: bool,
    ignore: Option<Vec<String>>,
) -> PyResult<String> {
    is_no_path(text)?;
    let (text, options, ignore) = (text.extract::<&str>()?, options(target, ptx)?, codes(&ignore.unwrap_or_default())?);
    let wanted = |finding: &diagnostic::Diagnostic, fix: &diagnostic::Fix| {
        !ignore.contains(&finding.code) && (fix.safe || r#unsafe)
    };
    Ok(py.detach(|| module::fix(&TABLE, text, &options, wanted).text))
}

/// The codes with these names.
fn codes(names: &[String]) -> PyResult<Vec<Code>> {
    let code = |name: &String| {
        Code::from_name(name).ok_or_else(|| {
            let near = Code::nearest(name).map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            PyValueError::new_err(format!("`{name}` is not the code of a finding{near}"))
        })
    };
    names.iter().map(code).collect()
}
