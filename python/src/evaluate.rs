//! Evaluation of a statement: input bits to output bits.

use std::borrow::Cow;

use ptx_isa::TABLE;
use ptx_isa::table::{Bound as TableBound, Measure, TypeInfo};
use ptx_isa::target::Target;
use ptx_isa::text;
use ptx_isa::text::columns::{self, Column};
use ptx_isa::text::evaluate::{Outputs, Problem, WARP, described, one_each};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyInt, PyMapping};

use crate::finding::Diagnostic;
use crate::text::options;
use crate::value::{self, Numpy};

/// Result of evaluating a statement.
#[pyclass(frozen, get_all, module = "ptx_isa")]
pub(crate) struct Evaluation {
    outputs: Py<PyDict>,
    unspecified: Py<PyDict>,
    bound: Option<ErrorBound>,
}

#[pymethods]
impl Evaluation {
    #[new]
    fn new(outputs: Py<PyDict>, unspecified: Py<PyDict>, bound: Option<ErrorBound>) -> Evaluation {
        Evaluation { outputs, unspecified, bound }
    }

    fn __getnewargs__(&self, py: Python<'_>) -> (Py<PyDict>, Py<PyDict>, Option<ErrorBound>) {
        (self.outputs.clone_ref(py), self.unspecified.clone_ref(py), self.bound.clone())
    }

    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.outputs.bind(py).as_any().get_item(name)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let bound = self.bound.as_ref().map(|bound| format!(" within {}", bound.words)).unwrap_or_default();
        Ok(format!("<Evaluation {}{bound}>", self.outputs.bind(py).repr()?))
    }
}

/// How far a machine's result may be from the exact one.
#[pyclass(frozen, eq, from_py_object, module = "ptx_isa")]
#[derive(Clone, PartialEq)]
pub(crate) struct ErrorBound {
    #[pyo3(get)]
    measure: String,
    #[pyo3(get)]
    value: String,
    words: String,
}

impl ErrorBound {
    fn of(bound: TableBound) -> ErrorBound {
        let measure = match bound.measure {
            Measure::Ulp => "ulp",
            Measure::Absolute => "abs",
            Measure::Relative => "rel",
        };
        ErrorBound { measure: measure.to_owned(), value: bound.value.to_owned(), words: bound.to_string() }
    }
}

#[pymethods]
impl ErrorBound {
    #[new]
    fn new(measure: String, value: String, words: String) -> ErrorBound {
        ErrorBound { measure, value, words }
    }

    fn __getnewargs__(&self) -> (&str, &str, &str) {
        (&self.measure, &self.value, &self.words)
    }

    fn __str__(&self) -> &str {
        &self.words
    }

    fn __repr__(&self) -> String {
        format!("<ErrorBound {}>", self.words)
    }
}

/// Computes a statement from the bits of the registers it reads.
#[pyfunction]
#[pyo3(signature = (inst, inputs, target=None, active=None))]
pub(crate) fn evaluate(
    py: Python<'_>,
    inst: &str,
    inputs: &Bound<'_, PyMapping>,
    target: Option<&str>,
    active: Option<u32>,
) -> PyResult<Evaluation> {
    let target = options(target, None)?.target;
    let statement = text::Statement::parse(&TABLE, inst).map_err(|error| Diagnostic::exception(py, error, inst))?;
    let given: Vec<Bound<'_, PyAny>> = inputs.values()?.iter().collect();
    let of_warp = |count: usize| count == WARP;
    let lengths: Vec<usize> = given.iter().filter_map(value::sequence).collect();
    let bound = statement.form().bound().copied().map(ErrorBound::of);
    let (outputs, unspecified) = match given.iter().find_map(|array| Some((Numpy::of(array)?, array))) {
        Some(_) if active.is_some() => {
            return Err(PyValueError::new_err("`active` is a mask of the 32 threads of a warp: guard arrays instead"));
        }
        Some((numpy, array)) => in_arrays(&statement, target, inputs, &numpy, &array.getattr("shape")?)?,
        None if active.is_some() || lengths.iter().copied().any(of_warp) => {
            in_warp(&statement, target, active.unwrap_or(u32::MAX), inputs)?
        }
        None if let Some(lanes) = lengths.first() => in_lists(&statement, target, inputs, *lanes)?,
        None if statement.form().is_collective() => in_warp(&statement, target, u32::MAX, inputs)?,
        None => alone(&statement, target, inputs)?,
    };
    Ok(Evaluation { outputs: outputs.unbind(), unspecified: unspecified.unbind(), bound })
}

/// Outputs by name, and those that the manual leaves open.
type Results<'py> = (Bound<'py, PyDict>, Bound<'py, PyDict>);

/// In one thread.
fn alone<'py>(
    statement: &text::Statement<'_>,
    target: Option<Target>,
    inputs: &Bound<'py, PyMapping>,
) -> PyResult<Results<'py>> {
    let (outputs, unspecified) = (PyDict::new(inputs.py()), PyDict::new(inputs.py()));
    let read = |given: &Bound<'py, PyAny>, ty: &'static TypeInfo| value::word(given, ty);
    let computed =
        told(text::evaluate::evaluate::<u128>(statement, target, 1, |name, ty| input(inputs, name, ty, read)))?;
    for output in computed.list {
        if output.unspecified != 0 {
            unspecified.set_item(&output.name, output.unspecified)?;
        }
        outputs.set_item(output.name, output.bits)?;
    }
    Ok((outputs, unspecified))
}

/// In a warp: a list of 32 values each, without one for a thread that writes nothing.
fn in_warp<'py>(
    statement: &text::Statement<'_>,
    target: Option<Target>,
    active: u32,
    inputs: &Bound<'py, PyMapping>,
) -> PyResult<Results<'py>> {
    let (outputs, unspecified) = (PyDict::new(inputs.py()), PyDict::new(inputs.py()));
    let read = |given: &Bound<'py, PyAny>, ty: &'static TypeInfo| match value::sequence(given) {
        Some(_) => one_each(value::words(given, ty)?),
        None => Ok([value::word(given, ty)?; WARP]),
    };
    let Outputs { list, written, .. } =
        told(text::evaluate::evaluate(statement, target, active, |name, ty| input(inputs, name, ty, read)))?;
    for output in list {
        if output.unspecified != 0 {
            unspecified.set_item(&output.name, output.unspecified)?;
        }
        let threads = output.bits.iter().enumerate();
        let bits = threads.map(|(thread, bits)| (written >> thread & 1 != 0).then_some(*bits));
        outputs.set_item(output.name, bits.collect::<Vec<_>>())?;
    }
    Ok((outputs, unspecified))
}

/// Evaluates in one thread per list element.
fn in_lists<'py>(
    statement: &text::Statement<'_>,
    target: Option<Target>,
    inputs: &Bound<'py, PyMapping>,
    lanes: usize,
) -> PyResult<Results<'py>> {
    let (outputs, unspecified) = (PyDict::new(inputs.py()), PyDict::new(inputs.py()));
    let read = |given: &Bound<'py, PyAny>, ty: &'static TypeInfo| match value::sequence(given) {
        Some(_) => Ok(Column::of(ty.bits, value::words(given, ty)?.into_iter())),
        None => Ok(Column::Same(value::word(given, ty)?)),
    };
    let computed = told(columns::evaluate(statement, target, lanes, |name, ty| input(inputs, name, ty, read)))?;
    for output in computed.list {
        if !output.unspecified.is_empty() {
            let mut mask = vec![0_u8; lanes.div_ceil(8)];
            output.unspecified.iter().for_each(|lane| mask[lane / 8] |= 1 << (lane % 8));
            let int = inputs.py().get_type::<PyInt>();
            unspecified.set_item(
                &output.name,
                int.call_method1("from_bytes", (PyBytes::new(inputs.py(), &mask), "little"))?,
            )?;
        }
        let writes = |lane: usize| computed.guard.as_ref().is_none_or(|guard| guard[lane]);
        let bits = (0..lanes).map(|lane| writes(lane).then(|| output.bits.get(lane)));
        outputs.set_item(output.name, bits.collect::<Vec<_>>())?;
    }
    Ok((outputs, unspecified))
}

/// In a thread for each element of NumPy's arrays.
fn in_arrays<'py>(
    statement: &text::Statement<'_>,
    target: Option<Target>,
    inputs: &Bound<'py, PyMapping>,
    numpy: &Numpy<'py>,
    shape: &Bound<'py, PyAny>,
) -> PyResult<Results<'py>> {
    let (outputs, unspecified) = (PyDict::new(inputs.py()), PyDict::new(inputs.py()));
    let lanes = shape.extract::<Vec<usize>>()?.iter().product();
    let read = |given: &Bound<'py, PyAny>, ty: &'static TypeInfo| {
        if Numpy::of(given).is_some() {
            let own = given.getattr("shape").map_err(|error| error.to_string())?;
            return match own.eq(shape) {
                Ok(true) => numpy.column(given, ty),
                _ => Err(format!("its shape is {own}, and that of others {shape}")),
            };
        }
        match value::sequence(given) {
            Some(_) => Ok(Column::of(ty.bits, value::words(given, ty)?.into_iter())),
            None => Ok(Column::Same(value::word(given, ty)?)),
        }
    };
    let computed = told(columns::evaluate(statement, target, lanes, |name, ty| input(inputs, name, ty, read)))?;
    for mut output in computed.list {
        if let Some(guard) = &computed.guard
            && !guard.iter().all(|executes| *executes)
        {
            // Where the guard is false, the previous value remains.
            let before = input(inputs, (&*output.name).into(), output.ty, read).map_err(|problem| {
                PyValueError::new_err(format!("{problem}, which it keeps where the guard is false"))
            })?;
            let word = |lane: usize| if guard[lane] { output.bits.get(lane) } else { before.get(lane) };
            output.bits = Column::of(output.ty.bits, (0..lanes).map(word));
        }
        if !output.unspecified.is_empty() {
            unspecified.set_item(&output.name, numpy.mask(&output.unspecified, shape)?)?;
        }
        outputs.set_item(&output.name, numpy.array(&output.bits, shape, output.ty)?)?;
    }
    Ok((outputs, unspecified))
}

/// Value given for a register.
fn input<'py, W>(
    inputs: &Bound<'py, PyMapping>,
    name: Cow<'_, str>,
    ty: &'static TypeInfo,
    read: impl Fn(&Bound<'py, PyAny>, &'static TypeInfo) -> Result<W, String>,
) -> Result<W, String> {
    match inputs.get_item(&*name) {
        Ok(given) => read(&given, ty).map_err(|problem| format!("`{name}`: {problem}")),
        Err(_) => Err(format!("`{name}` has no value: give {}", described(ty))),
    }
}

/// Problems as an exception.
fn told<T>(computed: Result<T, Vec<Problem>>) -> PyResult<T> {
    computed.map_err(|problems| {
        let problems: Vec<String> = problems.iter().map(Problem::to_string).collect();
        PyValueError::new_err(problems.join("; "))
    })
}
