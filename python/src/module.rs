//! A module's parts, in order, as objects that hold the text they were read from.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use ptx_isa::TABLE;
use ptx_isa::diagnostic::Severity;
use ptx_isa::table::FormInfo;
use ptx_isa::text::Options;
use ptx_isa::text::module::{self, Index, Item, read};
use pyo3::PyClass;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::type_object::PyTypeInfo;
use pyo3::types::{PySlice, PyTuple};

use crate::effects;
use crate::finding::Diagnostic;
use crate::kernel::{Device, Kernel};
use crate::statement::Statement;
use crate::text::{Place, Places, Text, is_no_path, options};

/// A module's text, and which name means what in it, once that is asked for.
pub(crate) struct Source {
    pub(crate) text: String,
    options: Options,
    index: OnceLock<Index>,
    /// Device that runs its kernels.
    device: OnceLock<Arc<Device>>,
}

impl Source {
    /// Symbols of the names in the text.
    pub(crate) fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::read(&TABLE, &self.text, &self.options).0)
    }
}

/// A part of a module: a piece of its text.
#[pyclass(frozen, subclass, module = "ptx_isa")]
pub(crate) struct Part {
    /// The whole module's.
    pub(crate) source: Arc<Source>,
    pub(crate) bytes: Range<usize>,
    place: Place,
}

impl Part {
    /// The part as it was read.
    pub(crate) fn as_str(&self) -> &str {
        &self.source.text[self.bytes.clone()]
    }
}

#[pymethods]
impl Part {
    #[getter]
    fn text(&self) -> &str {
        self.as_str()
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

    fn __reduce__(self_: &Bound<'_, Self>) -> PyResult<()> {
        let name = self_.get_type().name()?;
        Err(PyTypeError::new_err(format!("a {name} is a part of a module: pickle the module, or its text")))
    }

    fn __repr__(self_: &Bound<'_, Self>) -> PyResult<String> {
        let part = self_.get();
        let words: Vec<&str> = part.as_str().lines().next().unwrap_or_default().split_whitespace().collect();
        Ok(format!("<{} line {}: {}>", self_.get_type().name()?, part.place.line, words.join(" ")))
    }
}

/// A function or kernel.
#[pyclass(frozen, extends = Part, module = "ptx_isa")]
pub(crate) struct Function {
    #[pyo3(get)]
    name: String,
    #[pyo3(get)]
    kernel: bool,
    #[pyo3(get)]
    results: Py<PyTuple>,
    #[pyo3(get)]
    parameters: Py<PyTuple>,
    /// None of a prototype.
    #[pyo3(get)]
    body: Option<Py<PyTuple>>,
}

#[pymethods]
impl Function {
    #[getter]
    fn statements<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        of_type::<Statement>(py, self.body.as_ref())
    }

    #[getter]
    fn declarations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        of_type::<Declaration>(py, self.body.as_ref())
    }
}

/// Returns the parts of type `T`.
fn of_type<'py, T: PyTypeInfo>(py: Python<'py>, parts: Option<&Py<PyTuple>>) -> PyResult<Bound<'py, PyTuple>> {
    let parts = parts.into_iter().flat_map(|parts| parts.bind(py).iter());
    PyTuple::new(py, parts.filter(|part| part.is_instance_of::<T>()).collect::<Vec<_>>())
}

/// A register, a family of registers, a variable or a parameter.
#[pyclass(frozen, extends = Part, module = "ptx_isa")]
pub(crate) struct Declaration {
    #[pyo3(get)]
    name: String,
    declared: Declared,
}

/// Properties that a declaration gives its name.
#[derive(Clone, Copy)]
struct Declared {
    ty: Option<&'static str>,
    lanes: u8,
    place: module::Place,
}

#[pymethods]
impl Declaration {
    #[getter(r#type)]
    fn ty(&self) -> Option<&'static str> {
        self.declared.ty
    }

    #[getter]
    fn lanes(&self) -> u8 {
        self.declared.lanes
    }

    #[getter]
    fn space(&self) -> &'static str {
        match self.declared.place {
            module::Place::Registers(_) => "reg",
            module::Place::Memory { space, .. } => space.name,
        }
    }

    #[getter]
    fn count(&self) -> Option<u64> {
        match self.declared.place {
            module::Place::Registers(count) => count,
            module::Place::Memory { .. } => None,
        }
    }

    #[getter]
    fn elements(&self) -> Option<u64> {
        match self.declared.place {
            module::Place::Registers(_) => None,
            module::Place::Memory { elements, .. } => Some(elements),
        }
    }
}

/// A label.
#[pyclass(frozen, extends = Part, get_all, module = "ptx_isa")]
pub(crate) struct Label {
    name: String,
}

/// Any other directive.
#[pyclass(frozen, extends = Part, get_all, module = "ptx_isa")]
pub(crate) struct Directive {
    name: String,
}

/// A whole module.
#[pyclass(frozen, module = "ptx_isa")]
pub(crate) struct Module {
    source: Arc<Source>,
    #[pyo3(get)]
    version: Option<String>,
    #[pyo3(get)]
    target: Option<String>,
    #[pyo3(get)]
    parts: Py<PyTuple>,
    #[pyo3(get)]
    diagnostics: Py<PyTuple>,
}

#[pymethods]
impl Module {
    #[new]
    #[pyo3(signature = (text, target=None, ptx=None))]
    fn new(py: Python<'_>, text: &Bound<'_, PyAny>, target: Option<&str>, ptx: Option<&str>) -> PyResult<Module> {
        is_no_path(text)?;
        let text: &str = text.extract()?;
        let options = options(target, ptx)?;
        let (found, report) = py.detach(|| {
            let mut found = Vec::new();
            let report = read(&TABLE, text.as_bytes(), &options, |item, span| found.push((Found::of(&item), span)));
            (found, report)
        });
        let source =
            Arc::new(Source { text: text.to_owned(), options, index: OnceLock::new(), device: OnceLock::new() });
        let places = Places::new(Text::Characters(text));
        // Errors in order, by which a statement without a form finds its reason. They are diagnostics as well.
        let mut errors = Vec::new();
        let mut diagnostics = Vec::new();
        for finding in report.diagnostics {
            let (start, error) = (finding.span.start, finding.severity == Severity::Error);
            let diagnostic = Py::new(py, Diagnostic::new(finding, &places))?;
            if error {
                errors.push((start, diagnostic.clone_ref(py)));
            }
            diagnostics.push(diagnostic);
        }
        let mut builder = Builder { py, source: &source, places, errors, parts: Vec::new(), head: None };
        for (found, span) in found {
            builder.add(found, span)?;
        }
        builder.close(text.len())?;
        Ok(Module {
            version: report.version.map(|version| version.to_string()),
            target: report.target.map(|target| target.to_string()),
            parts: PyTuple::new(py, builder.parts)?.unbind(),
            diagnostics: PyTuple::new(py, diagnostics)?.unbind(),
            source,
        })
    }

    /// Returns the arguments that recreate the module: it is pickled as its text.
    fn __getnewargs__(&self) -> (&str, Option<String>, Option<String>) {
        let Options { target, ptx, .. } = self.source.options;
        (&self.source.text, target.map(|target| target.to_string()), ptx.map(|ptx| ptx.to_string()))
    }

    #[getter]
    pub(crate) fn text(&self) -> &str {
        &self.source.text
    }

    #[pyo3(signature = (name=None))]
    fn kernel(&self, py: Python<'_>, name: Option<&str>) -> PyResult<Kernel> {
        let device = match self.source.device.get() {
            Some(device) => device.clone(),
            None => {
                let device = Device::new(py, &[&self.source.text])?;
                self.source.device.get_or_init(|| device).clone()
            }
        };
        device.kernel(py, name)
    }

    #[getter]
    fn floors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        effects::floors(py, self)
    }

    #[getter]
    fn functions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        of_type::<Function>(py, Some(&self.parts))
    }

    #[getter]
    fn declarations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        of_type::<Declaration>(py, Some(&self.parts))
    }

    #[getter]
    fn statements<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        of_type::<Statement>(py, Some(&self.parts))
    }

    fn __repr__(&self) -> String {
        let words = [self.version.as_ref().map(|version| format!("PTX {version}")), self.target.clone()];
        format!("<Module {}>", words.into_iter().flatten().collect::<Vec<_>>().join(", "))
    }
}

/// An [`Item`] of which little is kept: there are many.
enum Found<'a> {
    Head(module::Function<'a>, bool),
    Parameter(&'a str, Declared),
    End,
    Declaration(&'a str, Declared),
    Label(&'a str),
    Directive(&'a str),
    Statement(Option<FormInfo>),
}

impl<'a> Found<'a> {
    fn of(item: &Item<'_, 'a>) -> Found<'a> {
        let declared = |found: &module::Declaration<'a>| Declared {
            ty: found.ty.map(|ty| TABLE.ty(ty).name),
            lanes: found.lanes,
            place: found.place,
        };
        match item {
            Item::Prototype(function) => Found::Head(*function, false),
            Item::Function(function) => Found::Head(*function, true),
            Item::Parameter(found) => Found::Parameter(found.name, declared(found)),
            Item::End => Found::End,
            Item::Declaration(found) => Found::Declaration(found.name, declared(found)),
            Item::Label(name) => Found::Label(name),
            Item::Directive(name) => Found::Directive(name),
            Item::Statement(statement) => Found::Statement(Some(statement.form())),
            Item::Refused(_) => Found::Statement(None),
        }
    }
}

/// The parts of a module while they are made.
struct Builder<'py, 'a> {
    py: Python<'py>,
    source: &'a Arc<Source>,
    places: Places<'a>,
    /// Each error with the byte it is about.
    errors: Vec<(usize, Py<Diagnostic>)>,
    parts: Vec<Py<PyAny>>,
    /// The function whose parts are read.
    head: Option<Head<'a, 'py>>,
}

/// A function of which the end has not been read.
struct Head<'a, 'py> {
    function: module::Function<'a>,
    span: Range<usize>,
    parameters: Vec<Bound<'py, PyAny>>,
    /// None of a prototype.
    body: Option<Vec<Py<PyAny>>>,
}

impl<'py, 'a> Builder<'py, 'a> {
    fn add(&mut self, found: Found<'a>, span: Range<usize>) -> PyResult<()> {
        let part = match found {
            Found::Head(function, body) => {
                self.close(span.start)?;
                self.head = Some(Head { function, span, parameters: Vec::new(), body: body.then(Vec::new) });
                return Ok(());
            }
            Found::Parameter(name, declared) => {
                let parameter = self.part(span, Declaration { name: name.to_owned(), declared })?;
                self.head.iter_mut().for_each(|head| head.parameters.push(parameter.clone()));
                return Ok(());
            }
            Found::End => return self.close(span.end),
            Found::Declaration(name, declared) => self.part(span, Declaration { name: name.to_owned(), declared })?,
            Found::Label(name) => self.part(span, Label { name: name.to_owned() })?,
            Found::Directive(name) => self.part(span, Directive { name: name.to_owned() })?,
            Found::Statement(form) => {
                let reason = if form.is_none() { self.reason(&span) } else { None };
                self.part(span, Statement { form, reason })?
            }
        };
        if self.head.as_ref().is_some_and(|head| head.body.is_none()) {
            self.close(0)?;
        }
        let body = self.head.as_mut().and_then(|head| head.body.as_mut());
        body.unwrap_or(&mut self.parts).push(part.unbind());
        Ok(())
    }

    fn part<T>(&self, bytes: Range<usize>, part: T) -> PyResult<Bound<'py, PyAny>>
    where
        T: PyClass<BaseType = Part>,
    {
        let base = Part { source: self.source.clone(), place: self.places.of(&bytes), bytes };
        Ok(Bound::new(self.py, PyClassInitializer::from(base).add_subclass(part))?.into_any())
    }

    /// The first error within a statement.
    fn reason(&self, span: &Range<usize>) -> Option<Py<Diagnostic>> {
        let first = self.errors.partition_point(|(at, _)| *at < span.start);
        let (at, error) = self.errors.get(first)?;
        (*at <= span.end).then(|| error.clone_ref(self.py))
    }

    /// Ends the function that is read, if there is one; its body goes to here.
    fn close(&mut self, end: usize) -> PyResult<()> {
        let Some(Head { function, mut span, mut parameters, body }) = self.head.take() else { return Ok(()) };
        if body.is_some() {
            span.end = end;
        }
        let rest = parameters.split_off(function.results.min(parameters.len()));
        let part = Function {
            name: function.name.to_owned(),
            kernel: function.kernel,
            results: PyTuple::new(self.py, parameters)?.unbind(),
            parameters: PyTuple::new(self.py, rest)?.unbind(),
            body: body.map(|body| Ok::<_, PyErr>(PyTuple::new(self.py, body)?.unbind())).transpose()?,
        };
        let part = self.part(span, part)?;
        self.parts.push(part.unbind());
        Ok(())
    }
}
