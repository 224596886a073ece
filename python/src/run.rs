//! Kernels on the CPU: a module's kernels, their launches over Python's arrays, and the exception that ends one.

// Arrays are lent to a launch by their addresses.
#![allow(unsafe_code)]

use ptx_isa::TABLE;
use ptx_isa::run::{Argument, Error, ErrorKind, Grid, Memory, Options};
use ptx_isa::run::{Kernel as Compiled, Module as Loaded};
use ptx_isa::table::{Kind, TypeInfo};
use ptx_isa::text::resolved::Variable;
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyTuple};

create_exception!(
    ptx_isa,
    LaunchError,
    PyRuntimeError,
    "What keeps a kernel from being launched, or ended its launch."
);

/// The exception about an error, with its fields.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let exception = LaunchError::new_err(error.to_string());
    let value = exception.value(py);
    let set = || {
        value.setattr("kind", error.kind.name())?;
        value.setattr("message", &error.message)?;
        value.setattr("kernel", &error.kernel)?;
        value.setattr("statement", &error.statement)?;
        value.setattr("line", error.line)?;
        value.setattr("source", error.source.clone())?;
        value.setattr("block", error.block.map(|[x, y, z]| (x, y, z)))?;
        value.setattr("thread", error.thread.map(|[x, y, z]| (x, y, z)))?;
        value.setattr("address", error.address)
    };
    match set() {
        Ok(()) => exception,
        Err(other) => other,
    }
}

/// A kernel of a module: `kernel[grid, block](arguments)` launches it.
#[pyclass(frozen, module = "ptx_isa")]
pub(crate) struct Kernel {
    kernel: Compiled,
    memory: Memory,
}

impl Kernel {
    pub(crate) fn new(module: &Loaded, memory: &Memory, name: Option<&str>) -> Result<Kernel, Error> {
        let kernel = match name {
            Some(name) => module.kernel(name)?,
            None => {
                let mut all = module.kernels();
                match (all.next(), all.next()) {
                    (Some(only), None) => only,
                    (None, _) => return Err(Error::new(ErrorKind::NoKernel, "the module has no kernel")),
                    (Some(first), Some(_)) => {
                        let names = [first.name().to_owned()].into_iter();
                        let names: Vec<String> =
                            names.chain(module.kernels().skip(1).map(|one| one.name().to_owned())).collect();
                        let message = format!("the module has several kernels: `{}`", names.join("`, `"));
                        return Err(Error::new(ErrorKind::NoKernel, message));
                    }
                }
            }
        };
        Ok(Kernel { kernel, memory: memory.clone() })
    }
}

/// The type of a parameter; of those without one, bytes.
fn type_of(parameter: &Variable) -> &'static TypeInfo {
    TABLE.ty(parameter.ty.or_else(|| TABLE.type_named("b8")).expect("the table has bytes"))
}

/// `.u32 n`
fn declaration(parameter: &Variable) -> String {
    let ty = type_of(parameter);
    let bytes = u64::from(ty.bits / 8);
    let array = if bytes == parameter.size { String::new() } else { format!("[{}]", parameter.size / bytes.max(1)) };
    format!(".{} {}{array}", ty.name, parameter.name)
}

fn signature(kernel: &Compiled) -> String {
    let parameters: Vec<String> = kernel.parameters().map(declaration).collect();
    format!("{}({})", kernel.name(), parameters.join(", "))
}

#[pymethods]
impl Kernel {
    #[getter]
    fn name(&self) -> &str {
        self.kernel.name()
    }

    #[getter]
    fn signature(&self) -> String {
        signature(&self.kernel)
    }

    fn __getitem__(self_: Bound<'_, Self>, shape: &Bound<'_, PyAny>) -> PyResult<Launch> {
        let parts: Vec<Bound<'_, PyAny>> = match shape.cast::<PyTuple>() {
            Ok(parts) if (2..=4).contains(&parts.len()) => parts.iter().collect(),
            _ => {
                return Err(PyTypeError::new_err(
                    "a launch is `kernel[grid, block]`, `kernel[grid, block, shared]` or with a cluster behind",
                ));
            }
        };
        let shared = parts.get(2).map_or(Ok(0), |bytes| bytes.extract::<u32>())?;
        let cluster = parts.get(3).map_or(Ok([1; 3]), dimensions)?;
        let grid = Grid { blocks: dimensions(&parts[0])?, threads: dimensions(&parts[1])?, cluster, shared };
        Ok(Launch { kernel: self_.unbind(), grid })
    }

    fn __repr__(&self) -> String {
        format!("<Kernel {}>", signature(&self.kernel))
    }
}

/// One number, or up to three.
fn dimensions(of: &Bound<'_, PyAny>) -> PyResult<[u32; 3]> {
    if let Ok(x) = of.extract::<u32>() {
        return Ok([x, 1, 1]);
    }
    let list: Vec<u32> =
        of.extract().map_err(|_| PyTypeError::new_err("a grid or block is an integer, or up to three of them"))?;
    match list[..] {
        [x] => Ok([x, 1, 1]),
        [x, y] => Ok([x, y, 1]),
        [x, y, z] => Ok([x, y, z]),
        _ => Err(PyTypeError::new_err("a grid or block has up to three dimensions")),
    }
}

/// A kernel with the shape of its launch.
#[pyclass(frozen, module = "ptx_isa")]
pub(crate) struct Launch {
    kernel: Py<Kernel>,
    grid: Grid,
}

/// What a launch did.
#[pyclass(frozen, get_all, module = "ptx_isa")]
pub(crate) struct Report {
    /// Instructions, counted once for each thread that executed them.
    instructions: u64,
    /// How long it took, in seconds.
    seconds: f64,
}

#[pymethods]
impl Report {
    fn __repr__(&self) -> String {
        format!("<Report {} instructions in {:.6} s>", self.instructions, self.seconds)
    }
}

/// Memory of an object: its address and bytes, and what keeps them where they are.
struct Lent<'py> {
    address: u64,
    bytes: usize,
    _owner: Bound<'py, PyAny>,
}

#[pymethods]
impl Launch {
    #[pyo3(signature = (*arguments, threads=None, limit=None))]
    fn __call__(
        &self,
        py: Python<'_>,
        arguments: &Bound<'_, PyTuple>,
        threads: Option<usize>,
        limit: Option<u64>,
    ) -> PyResult<Report> {
        let Kernel { kernel, memory } = self.kernel.get();
        let parameters: Vec<&Variable> = kernel.parameters().collect();
        if parameters.len() != arguments.len() {
            let message = format!(
                "`{}` has {} parameters, here are {} arguments: {}",
                kernel.name(),
                parameters.len(),
                arguments.len(),
                signature(kernel)
            );
            return Err(PyTypeError::new_err(message));
        }
        let (mut values, mut lent) = (Vec::new(), Vec::new());
        for (parameter, argument) in parameters.iter().zip(arguments.iter()) {
            let value = value(parameter, &argument, &mut lent).map_err(|error| {
                match error.is_instance_of::<PyTypeError>(py) {
                    true => PyTypeError::new_err(format!(
                        "the parameter `{}` takes {}: {}",
                        declaration(parameter),
                        expected(parameter),
                        error.value(py)
                    )),
                    false => error,
                }
            })?;
            values.push(Argument::bytes(value));
        }
        let mut ranges: Vec<(u64, usize)> = lent.iter().map(|one: &Lent<'_>| (one.address, one.bytes)).collect();
        // An array may be passed twice.
        ranges.sort_unstable();
        ranges.dedup();
        for (address, bytes) in &ranges {
            // SAFETY: the object that owns the bytes is held until the launch has ended. Who writes to it from another
            // thread meanwhile races with the kernel, as with any function that releases the interpreter's lock.
            unsafe { memory.lend(*address as *mut u8, *bytes) };
        }
        let options = Options { threads, limit: limit.unwrap_or(u64::MAX), ..Options::default() };
        let done = py.detach(|| kernel.launch_with(self.grid, &values, &options));
        ranges.iter().for_each(|(address, _)| {
            memory.free(*address);
        });
        let report = done.map_err(|error| exception(py, &error))?;
        Ok(Report { instructions: report.instructions, seconds: report.time.as_secs_f64() })
    }
}

/// What a parameter takes, in words.
fn expected(parameter: &Variable) -> String {
    let ty = type_of(parameter);
    match (ty.kind, parameter.size) {
        (Kind::Float, _) => "a number".to_owned(),
        (_, 8) if u64::from(ty.bits / 8) == 8 => "an array, or an integer of 64 bits".to_owned(),
        (_, size) if u64::from(ty.bits / 8) == size => format!("an integer of {} bits", ty.bits),
        (_, size) => format!("{size} bytes, as of a structure"),
    }
}

/// The bytes of a parameter: of a number, of a structure, or the address of an array, which is lent.
fn value<'py>(parameter: &Variable, argument: &Bound<'py, PyAny>, lent: &mut Vec<Lent<'py>>) -> PyResult<Vec<u8>> {
    let ty = type_of(parameter);
    let size = parameter.size as usize;
    let scalar = size == usize::from(ty.bits / 8);
    let is_bool = argument.is_instance_of::<PyBool>();
    if scalar && ty.kind == Kind::Float {
        let number: f64 = argument.extract().map_err(|_| PyTypeError::new_err(named(argument)))?;
        return Ok(match (size, ty.exponent) {
            (8, _) => number.to_le_bytes().to_vec(),
            (4, _) => (number as f32).to_le_bytes().to_vec(),
            (_, 8) => ptx_isa::eval::bf16::from_f64(number).to_le_bytes().to_vec(),
            _ => ptx_isa::eval::f16::from_f64(number).to_le_bytes().to_vec(),
        });
    }
    if scalar
        && !argument.is_instance_of::<PyFloat>()
        && (is_bool || argument.is_instance_of::<PyInt>() || is_scalar(argument))
    {
        let number: i128 = argument.call_method0("__index__")?.extract()?;
        let (least, most) = (-(1_i128 << (8 * size - 1)), (1_i128 << (8 * size)) - 1);
        if !(least..=most).contains(&number) {
            return Err(PyValueError::new_err(format!("{number} does not fit `{}`", declaration(parameter))));
        }
        return Ok(number.to_le_bytes()[..size].to_vec());
    }
    let (address, bytes, owner) = memory_of(argument)?;
    if scalar && size == 8 {
        lent.push(Lent { address, bytes, _owner: owner });
        return Ok(address.to_le_bytes().to_vec());
    }
    if !scalar && bytes == size {
        // SAFETY: the object has so many bytes there and is held.
        return Ok(unsafe { core::slice::from_raw_parts(address as *const u8, bytes) }.to_vec());
    }
    Err(PyTypeError::new_err(format!("{} has {bytes} bytes", named(argument))))
}

/// True for what counts as an integer and is no array, as NumPy's scalars.
fn is_scalar(argument: &Bound<'_, PyAny>) -> bool {
    let array = argument.getattr("shape").and_then(|shape| shape.len()).is_ok_and(|dimensions| dimensions > 0);
    !array && argument.hasattr("__index__").unwrap_or(false)
}

fn named(argument: &Bound<'_, PyAny>) -> String {
    argument.get_type().name().map_or_else(|_| "this".to_owned(), |name| format!("this `{name}`"))
}

/// Address and size of the bytes of an array, and what keeps them: the buffer protocol, or what NumPy makes of DLPack.
fn memory_of<'py>(argument: &Bound<'py, PyAny>) -> PyResult<(u64, usize, Bound<'py, PyAny>)> {
    let py = argument.py();
    let array = match argument.hasattr("__dlpack__")? && !argument.hasattr("__array_interface__")? {
        true => py.import("numpy")?.call_method1("from_dlpack", (argument,))?,
        false => argument.clone(),
    };
    if let Ok(interface) = array.getattr("__array_interface__") {
        let interface = interface.cast_into::<PyDict>()?;
        let item =
            |key: &str| interface.get_item(key)?.ok_or_else(|| PyTypeError::new_err("an array without an address"));
        let contiguous = interface.get_item("strides")?.is_none_or(|strides| strides.is_none());
        if !contiguous {
            return Err(PyValueError::new_err("an array must be contiguous: `numpy.ascontiguousarray` makes it so"));
        }
        let (address, _): (u64, bool) = item("data")?.extract()?;
        let shape: Vec<usize> = item("shape")?.extract()?;
        let kind: String = item("typestr")?.extract()?;
        let width: usize = kind.get(2..).and_then(|width| width.parse().ok()).unwrap_or(1);
        return Ok((address, shape.iter().product::<usize>() * width, array));
    }
    let view = py
        .import("builtins")?
        .call_method1("memoryview", (&array,))
        .map_err(|_| PyTypeError::new_err(format!("{} is neither a number nor an array", named(argument))))?;
    if !view.getattr("c_contiguous")?.is_truthy()? {
        return Err(PyValueError::new_err("an array must be contiguous"));
    }
    let bytes: usize = view.getattr("nbytes")?.extract()?;
    let ctypes = py.import("ctypes")?;
    let view = view.call_method1("cast", ("B",))?;
    let ty = ctypes.getattr("c_char")?.call_method1("__mul__", (bytes,))?;
    // What is read-only has a copy, so that nothing changes it.
    let how = if view.getattr("readonly")?.is_truthy()? { "from_buffer_copy" } else { "from_buffer" };
    let held = ty.call_method1(how, (view,))?;
    let address: u64 = ctypes.call_method1("addressof", (&held,))?.extract()?;
    Ok((address, bytes, held))
}
