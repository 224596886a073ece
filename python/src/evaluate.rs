//! Evaluation of a statement: input bits to output bits.

use ptx_isa::TABLE;
use ptx_isa::table::{Bound as TableBound, Measure, TypeInfo};
use ptx_isa::text;
use ptx_isa::text::evaluate::{Outputs, Problem, WARP, Words, described, one_each};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMapping};

use crate::finding::Diagnostic;
use crate::text::options;

/// Result of evaluating a statement.
#[pyclass(frozen, get_all, module = "ptx_isa")]
pub(crate) struct Evaluation {
    outputs: Py<PyDict>,
    unspecified: Py<PyDict>,
    bound: Option<ErrorBound>,
}

#[pymethods]
impl Evaluation {
    fn __getitem__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.outputs.bind(py).as_any().get_item(name)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let bound = self.bound.as_ref().map(|bound| format!(" within {}", bound.__str__())).unwrap_or_default();
        Ok(format!("<Evaluation {}{bound}>", self.outputs.bind(py).repr()?))
    }
}

/// How far a machine's result may be from the exact one.
#[pyclass(frozen, module = "ptx_isa")]
#[derive(Clone)]
pub(crate) struct ErrorBound(TableBound);

#[pymethods]
impl ErrorBound {
    #[getter]
    fn measure(&self) -> &'static str {
        match self.0.measure {
            Measure::Ulp => "ulp",
            Measure::Absolute => "abs",
            Measure::Relative => "rel",
        }
    }

    #[getter]
    fn value(&self) -> &'static str {
        self.0.value
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        format!("<ErrorBound {}>", self.0)
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
    // A word for each thread is something that has a length.
    let each = || PyResult::Ok(inputs.values()?.iter().any(|given| given.len().is_ok()));
    let (outputs, unspecified) = (PyDict::new(py), PyDict::new(py));
    if active.is_some() || statement.form().is_collective() || each()? {
        let Outputs { list, written, .. } =
            computed::<[u128; WARP]>(&statement, target, active.unwrap_or(u32::MAX), inputs)?;
        for output in list {
            // A thread that does not execute writes nothing.
            let threads = output.bits.iter().enumerate();
            let bits: Vec<Option<u128>> =
                threads.map(|(thread, bits)| (written >> thread & 1 != 0).then_some(*bits)).collect();
            if output.unspecified != 0 {
                unspecified.set_item(&output.name, output.unspecified)?;
            }
            outputs.set_item(output.name, bits)?;
        }
    } else {
        for output in computed::<u128>(&statement, target, 1, inputs)?.list {
            if output.unspecified != 0 {
                unspecified.set_item(&output.name, output.unspecified)?;
            }
            outputs.set_item(output.name, output.bits)?;
        }
    }
    let bound = statement.form().bound().copied().map(ErrorBound);
    Ok(Evaluation { outputs: outputs.unbind(), unspecified: unspecified.unbind(), bound })
}

fn computed<W: Given>(
    statement: &text::Statement<'_>,
    target: Option<ptx_isa::target::Target>,
    active: u32,
    inputs: &Bound<'_, PyMapping>,
) -> PyResult<Outputs<W>> {
    let outputs = text::evaluate::evaluate(statement, target, active, |name, ty| match inputs.get_item(&*name) {
        Ok(given) => W::read(&given, ty).map_err(|problem| format!("`{name}`: {problem}")),
        Err(_) => Err(format!("`{name}` has no value: give {}", described(ty))),
    });
    outputs.map_err(|problems| {
        let problems: Vec<String> = problems.iter().map(Problem::to_string).collect();
        PyValueError::new_err(problems.join("; "))
    })
}

/// A word of one thread, or of each, as Python has it.
trait Given: Words {
    fn read(given: &Bound<'_, PyAny>, ty: &TypeInfo) -> Result<Self, String>;
}

impl Given for u128 {
    fn read(given: &Bound<'_, PyAny>, ty: &TypeInfo) -> Result<u128, String> {
        let bits = given.extract::<u128>().ok().filter(|bits| ty.bits >= 128 || bits >> ty.bits == 0);
        bits.ok_or_else(|| format!("{given} is not {} bits as an integer from 0 on", ty.bits))
    }
}

impl Given for [u128; WARP] {
    fn read(given: &Bound<'_, PyAny>, ty: &TypeInfo) -> Result<Self, String> {
        let Ok(each) = given.try_iter() else { return u128::read(given, ty).map(Self::same) };
        let words = each.map(|word| u128::read(&word.map_err(|error| error.to_string())?, ty));
        one_each(words.collect::<Result<Vec<_>, _>>()?)
    }
}
