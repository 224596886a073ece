//! Kernels that run on the CPU.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use ptx_isa::TABLE;
use ptx_isa::run::{self, Argument, ErrorKind, Grid, Memory, Options};
use ptx_isa::table::Kind;
use ptx_isa::text::resolved::Variable;
use pyo3::create_exception;
use pyo3::exceptions::{PyOverflowError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyMemoryView, PyTuple};

use crate::array::Array;
use crate::finding::Diagnostic;
use crate::module::Module;
use crate::tensor::TensorMap;
use crate::text::is_no_path;

create_exception!(
    ptx_isa,
    LaunchError,
    PyRuntimeError,
    "A kernel that cannot be launched, or a launch that failed; `kind` says which, the other fields where."
);

/// A module whose variables have memory.
pub(crate) struct Device {
    memory: Memory,
    module: run::Module,
    /// Held by a launch: what one lends to the memory, another must not take back.
    launches: Mutex<()>,
}

impl Device {
    /// Reads a module, or several as one.
    pub(crate) fn new(py: Python<'_>, texts: &[&str]) -> PyResult<Arc<Device>> {
        let memory = Memory::new();
        let module = py.detach(|| run::Module::link(texts, &memory)).map_err(|error| match error.kind {
            ErrorKind::Module(ref diagnostics) if !diagnostics.is_empty() => {
                Diagnostic::exception(py, diagnostics[0].clone(), texts[error.module.unwrap_or(0)])
            }
            _ => exception(py, error),
        })?;
        Ok(Arc::new(Device { memory, module, launches: Mutex::new(()) }))
    }

    /// The kernel with a name, or the only one.
    pub(crate) fn kernel(self: Arc<Device>, py: Python<'_>, name: Option<&str>) -> PyResult<Kernel> {
        let kernel = match name {
            Some(name) => self.module.kernel(name),
            None => self.module.only_kernel(),
        };
        let kernel = kernel.map_err(|error| exception(py, error))?;
        Ok(Kernel { device: self, kernel })
    }
}

/// Several modules as one program.
#[pyclass(frozen, module = "ptx_isa")]
pub(crate) struct LinkedModule(Arc<Device>);

#[pymethods]
impl LinkedModule {
    #[getter]
    fn kernels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.0.module.kernels().map(|kernel| kernel.name().to_owned()).collect::<Vec<_>>())
    }

    #[pyo3(signature = (name=None))]
    fn kernel(&self, py: Python<'_>, name: Option<&str>) -> PyResult<Kernel> {
        self.0.clone().kernel(py, name)
    }

    fn __repr__(&self) -> String {
        let names: Vec<String> = self.0.module.kernels().map(|kernel| kernel.name().to_owned()).collect();
        format!("<LinkedModule {}>", names.join(", "))
    }
}

/// Links modules to one program.
#[pyfunction]
#[pyo3(signature = (*modules))]
pub(crate) fn link(py: Python<'_>, modules: Vec<Bound<'_, PyAny>>) -> PyResult<LinkedModule> {
    let text = |module: &Bound<'_, PyAny>| match module.cast::<Module>() {
        Ok(module) => Ok(module.get().text().to_owned()),
        Err(_) => {
            is_no_path(module)?;
            module.extract::<String>()
        }
    };
    let texts: Vec<String> = modules.iter().map(text).collect::<PyResult<_>>()?;
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    Device::new(py, &texts).map(LinkedModule)
}

/// A kernel of a module.
#[pyclass(frozen, module = "ptx_isa")]
pub(crate) struct Kernel {
    device: Arc<Device>,
    kernel: run::Kernel,
}

/// A kernel with a grid.
#[pyclass(frozen, module = "ptx_isa")]
pub(crate) struct Launch {
    kernel: Py<Kernel>,
    grid: Grid,
}

/// Statistics of a launch.
#[pyclass(frozen, get_all, module = "ptx_isa")]
pub(crate) struct Report {
    instructions: u64,
    seconds: f64,
}

#[pymethods]
impl Report {
    fn __repr__(&self) -> String {
        format!("<Report {} instructions in {:.6} s>", self.instructions, self.seconds)
    }
}

/// One to three lengths, as a number or a tuple.
struct Shape([u32; 3]);

impl<'a, 'py> FromPyObject<'a, 'py> for Shape {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Shape> {
        if let Ok(length) = given.extract::<u32>() {
            return Ok(Shape([length, 1, 1]));
        }
        let wrong =
            |_| PyTypeError::new_err(format!("a shape is a number or a tuple of one to three, not {}", shown(&given)));
        let lengths = given.extract::<Vec<u32>>().map_err(wrong)?;
        match lengths.len() {
            1..=3 => Ok(Shape(std::array::from_fn(|axis| lengths.get(axis).copied().unwrap_or(1)))),
            count => Err(PyValueError::new_err(format!("a shape has one to three dimensions, not {count}"))),
        }
    }
}

/// An object in a message: as Python writes it where that is short, and its type otherwise.
pub(crate) fn shown(object: &Bound<'_, PyAny>) -> String {
    let text = object.repr().map(|text| text.to_string()).ok().filter(|text| text.len() < 40 && !text.contains('\n'));
    text.unwrap_or_else(|| {
        object.get_type().name().map_or("an object".to_owned(), |name| format!("of the type `{name}`"))
    })
}

#[pymethods]
impl Kernel {
    #[getter]
    fn name(&self) -> &str {
        self.kernel.name()
    }

    #[getter]
    fn signature(&self) -> String {
        self.kernel.signature()
    }

    fn __repr__(&self) -> String {
        format!("<Kernel {}>", self.kernel.signature())
    }

    fn __getitem__(self_: Py<Self>, shape: &Bound<'_, PyTuple>) -> PyResult<Launch> {
        let (grid, shared, cluster) = match shape.len() {
            2..=4 => {
                let shape_at = |at| shape.get_item(at)?.extract::<Shape>();
                let shared = shape.get_item(2).map_or(Ok(0), |bytes| bytes.extract())?;
                let cluster = if shape.len() == 4 { shape_at(3)? } else { Shape([1; 3]) };
                ([shape_at(0)?.0, shape_at(1)?.0], shared, cluster.0)
            }
            _ => {
                return Err(PyTypeError::new_err(
                    "a launch is `kernel[grid, block, shared, cluster]`; the last two are optional",
                ));
            }
        };
        let [blocks, threads] = grid;
        Ok(Launch { kernel: self_, grid: Grid { blocks, threads, cluster, shared } })
    }

    #[pyo3(signature = (grid, block, args, *, shared=0, cluster=Shape([1; 3]), threads=None, limit=None, stack=None, heap=None, delay=None, races=false, reaches=Vec::new()))]
    #[allow(clippy::too_many_arguments, reason = "Python's callers name them")]
    fn __call__(
        &self,
        py: Python<'_>,
        grid: Shape,
        block: Shape,
        args: Vec<Bound<'_, PyAny>>,
        shared: u32,
        cluster: Shape,
        threads: Option<usize>,
        limit: Option<u64>,
        stack: Option<u64>,
        heap: Option<u64>,
        delay: Option<u64>,
        races: bool,
        reaches: Vec<Bound<'_, PyAny>>,
    ) -> PyResult<Report> {
        let default = Options::default();
        let options = Options {
            threads,
            limit: limit.unwrap_or(default.limit),
            stack: stack.unwrap_or(default.stack),
            heap: heap.unwrap_or(default.heap),
            delay,
            races,
            ..default
        };
        let grid = Grid { blocks: grid.0, threads: block.0, cluster: cluster.0, shared };
        self.launch(py, grid, &args, &reaches, options)
    }
}

#[pymethods]
impl Launch {
    #[pyo3(signature = (*args))]
    fn __call__(&self, py: Python<'_>, args: Vec<Bound<'_, PyAny>>) -> PyResult<Report> {
        self.kernel.get().launch(py, self.grid, &args, &[], Options::default())
    }

    fn __repr__(&self) -> String {
        let Grid { blocks, threads, .. } = self.grid;
        format!("<Launch of {}: {blocks:?} blocks of {threads:?} threads>", self.kernel.get().kernel.name())
    }
}

impl Kernel {
    fn launch(
        &self,
        py: Python<'_>,
        grid: Grid,
        given: &[Bound<'_, PyAny>],
        reaches: &[Bound<'_, PyAny>],
        options: Options,
    ) -> PyResult<Report> {
        let told = |error: PyErr, message: String| {
            let message = format!("{message}\n  the kernel is {}", self.kernel.signature());
            PyErr::from_type(error.get_type(py), message)
        };
        let parameters: Vec<_> = self.kernel.parameters().collect();
        let (mut arguments, mut arrays) = (Vec::new(), Vec::new());
        for (number, object) in given.iter().enumerate() {
            // Excess arguments are reported by the launch, which checks their number.
            let Some(parameter) = parameters.get(number) else {
                arguments.push(Argument::bytes([]));
                continue;
            };
            let argument = argument(object, parameter, &mut arrays).map_err(|error| {
                let message = format!("argument {} (`{}`) {}", number + 1, parameter.name, error.value(py));
                told(error, message)
            })?;
            arguments.push(argument);
        }
        for object in reaches {
            let array = Array::of(object).and_then(|array| {
                array.ok_or_else(|| PyTypeError::new_err(format!("is no array, but {}", shown(object))))
            });
            arrays.push(array.map_err(|error| {
                let message = format!("what the kernel reaches {}", error.value(py));
                told(error, message)
            })?);
        }
        let lent = joined(arrays.iter().map(|array: &Array| array.bytes.clone()).collect());
        let print = |text: &str| {
            Python::attach(|py| {
                let written = py.import("sys").and_then(|sys| sys.getattr("stdout")?.call_method1("write", (text,)));
                if let Err(error) = written {
                    error.write_unraisable(py, None);
                }
            });
        };
        let options = Options { print: Some(Arc::new(print)), ..options };
        let ran = py.detach(|| {
            let _alone = self.device.launches.lock().unwrap_or_else(PoisonError::into_inner);
            let memory = &self.device.memory;
            for bytes in &lent {
                #[allow(unsafe_code, reason = "the kernel works on the memory of Python's arrays")]
                // SAFETY: the arrays hold their memory until this function returns, and it is taken back before.
                unsafe {
                    memory.lend(bytes.start as *mut u8, bytes.len());
                }
            }
            let ran = self.kernel.launch_with(grid, &arguments, &options);
            for bytes in &lent {
                memory.free(bytes.start as u64);
            }
            ran
        });
        drop(arrays);
        let report = ran.map_err(|error| match error.kind {
            ErrorKind::Arguments => PyTypeError::new_err(error.message),
            _ => exception(py, error),
        })?;
        Ok(Report { instructions: report.instructions, seconds: report.time.as_secs_f64() })
    }
}

/// Returns the union of the ranges as disjoint ranges, without empty ones.
fn joined(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// The value of a parameter. Messages of errors go on from the argument's name.
fn argument(object: &Bound<'_, PyAny>, parameter: &Variable, arrays: &mut Vec<Array>) -> PyResult<Argument> {
    let py = object.py();
    let size = parameter.size as usize;
    if let Ok(map) = object.cast::<TensorMap>() {
        let (array, bytes) = map.get().lent(py)?;
        if size != bytes.len() {
            return Err(PyTypeError::new_err(format!("is a tensor map of 128 bytes; the parameter has {size}")));
        }
        arrays.push(array);
        return Ok(Argument::bytes(bytes));
    }
    if parameter.elements != 1 || size > 8 {
        let bytes = PyMemoryView::from(object).and_then(|view| view.call_method0("tobytes")?.extract::<Vec<u8>>());
        return match bytes {
            Ok(bytes) if bytes.len() == size => Ok(Argument::bytes(bytes)),
            Ok(bytes) => Err(PyTypeError::new_err(format!("has {} bytes; the parameter has {size}", bytes.len()))),
            Err(_) => Err(PyTypeError::new_err(format!("is {}; pass an object with {size} bytes", shown(object)))),
        };
    }
    let ty = parameter.ty.map(|ty| TABLE.ty(ty));
    let kind = ty.map_or(Kind::Bits, |ty| ty.kind);
    let name = ty.map_or("b8", |ty| ty.name);
    let pointer = size == 8 && kind != Kind::Float;
    let number = |value: f64| match size {
        4 => Some(Argument::from(value as f32)),
        8 => Some(Argument::from(value)),
        _ => None,
    };
    if pointer && object.is_none() {
        return Ok(Argument::from(0_u64));
    }
    if pointer
        && !object.is_instance_of::<PyInt>()
        && let Some(array) = Array::of(object)?
    {
        let start = array.bytes.start as u64;
        arrays.push(array);
        return Ok(Argument::from(start));
    }
    if kind != Kind::Float {
        // NumPy's bool is not an integer of Python.
        let truth = object.extract::<bool>().map(i128::from);
        let integer = truth.or_else(|_| object.extract::<i64>().map(i128::from));
        let integer = integer.or_else(|_| object.extract::<u64>().map(i128::from));
        match integer {
            Ok(value) if value >= -(1 << (8 * size - 1)) && value < 1 << (8 * size) => {
                return Ok(Argument::bytes(&value.to_le_bytes()[..size]));
            }
            Ok(_) => {
                return Err(PyOverflowError::new_err(format!("is {}, which `.{name}` cannot hold", shown(object))));
            }
            Err(error) if error.is_instance_of::<PyOverflowError>(py) => {
                return Err(PyOverflowError::new_err(format!("is {}, which `.{name}` cannot hold", shown(object))));
            }
            Err(_) => {}
        }
    }
    if matches!(kind, Kind::Float | Kind::Bits)
        && let Some(argument) = object.extract::<f64>().ok().and_then(number)
    {
        return Ok(argument);
    }
    let pass = match (kind, pointer) {
        (Kind::Float, _) => "a number",
        (_, true) => "an integer or an array",
        _ => "an integer",
    };
    Err(PyTypeError::new_err(format!("is {}; the parameter is `.{name}`: pass {pass}", shown(object))))
}

/// The exception about a launch.
fn exception(py: Python<'_>, error: run::Error) -> PyErr {
    let raised = LaunchError::new_err(error.to_string());
    let value = raised.value(py);
    let threads = |index: Option<[u32; 3]>| index.map(|[x, y, z]| (x, y, z));
    let set = || -> PyResult<()> {
        value.setattr("kind", error.kind.name())?;
        value.setattr("message", error.message.as_str())?;
        value.setattr("kernel", error.kernel.as_deref())?;
        value.setattr("statement", error.statement.as_deref())?;
        value.setattr("line", error.line)?;
        value.setattr("source", error.source.clone())?;
        value.setattr("block", threads(error.block))?;
        value.setattr("thread", threads(error.thread))?;
        value.setattr("address", error.address)?;
        value.setattr("other", error.other.map(|other| exception(py, *other).into_value(py)))
    };
    match set() {
        Ok(()) => raised,
        Err(other) => other,
    }
}
