//! Memory that Python's objects have, by the buffer protocol or by DLPack.

use std::ffi::c_void;
use std::ops::Range;
use std::slice;

use pyo3::buffer::PyUntypedBuffer;
use pyo3::exceptions::{PyBufferError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyMemoryView};

/// Memory that a kernel may read and write: it stays where it is while this lives.
pub(crate) struct Array {
    /// Its addresses.
    pub(crate) bytes: Range<usize>,
    _held: Held,
}

/// The owner of the memory.
#[allow(dead_code, reason = "it is held, not read")]
enum Held {
    Buffer(PyUntypedBuffer),
    Capsule(Py<PyCapsule>),
}

impl Array {
    /// Returns the memory of an object; `None` if it is not an array.
    ///
    /// # Errors
    ///
    /// The array cannot be handed to a kernel as it is.
    pub(crate) fn of(object: &Bound<'_, PyAny>) -> PyResult<Option<Array>> {
        if let Some(buffer) = writable(object)? {
            let contiguous = buffer.is_c_contiguous() || buffer.is_fortran_contiguous();
            let start = buffer.buf_ptr() as usize;
            let bytes = start..start + buffer.len_bytes();
            return contiguous.then(|| Array { bytes, _held: Held::Buffer(buffer) }).ok_or_else(scattered).map(Some);
        }
        let py = object.py();
        if !object.hasattr(intern!(py, "__dlpack__"))? {
            return Ok(None);
        }
        let (device, _): (i32, i32) = object.call_method0(intern!(py, "__dlpack_device__"))?.extract()?;
        if device != CPU && device != PINNED {
            return Err(PyTypeError::new_err("is not in the memory of the CPU: pass a copy that is"));
        }
        let capsule = match object.call_method0(intern!(py, "__dlpack__")) {
            // NumPy exports no elements of types that other packages add, such as `bfloat16`, but their bytes.
            Err(error) if error.is_instance_of::<PyBufferError>(py) => {
                return match object.call_method1(intern!(py, "view"), ("u1",)) {
                    Ok(bytes) if !bytes.is(object) => Array::of(&bytes),
                    _ => Err(error),
                };
            }
            capsule => capsule?.cast_into::<PyCapsule>()?,
        };
        let bytes = addresses(&capsule)?;
        Ok(Some(Array { bytes, _held: Held::Capsule(capsule.unbind()) }))
    }

    /// Returns the memory from the first to the last element of an object with a buffer, and what lies between.
    ///
    /// # Errors
    ///
    /// The object has no buffer, or its elements do not ascend in memory.
    pub(crate) fn across(object: &Bound<'_, PyAny>) -> PyResult<Array> {
        let buffer = writable(object)?.ok_or_else(|| PyTypeError::new_err("has no buffer"))?;
        let mut len = buffer.item_size();
        for (size, stride) in buffer.shape().iter().zip(buffer.strides()) {
            let stride = usize::try_from(*stride).map_err(|_| PyTypeError::new_err("has a negative stride"))?;
            len += size.saturating_sub(1) * stride;
        }
        let len = if buffer.item_count() == 0 { 0 } else { len };
        let start = buffer.buf_ptr() as usize;
        Ok(Array { bytes: start..start + len, _held: Held::Buffer(buffer) })
    }
}

/// The buffer of an object; `None` if it exports none.
fn writable(object: &Bound<'_, PyAny>) -> PyResult<Option<PyUntypedBuffer>> {
    // A view of it has strides, which some objects leave out.
    match PyMemoryView::from(object).and_then(|view| PyUntypedBuffer::get(&view)) {
        // A number of NumPy has a buffer, too.
        Ok(buffer) if buffer.readonly() && buffer.dimensions() == 0 => Ok(None),
        Ok(buffer) if buffer.readonly() => Err(PyTypeError::new_err("is read-only: pass a copy")),
        Ok(buffer) => match foreign(&buffer.format().to_string_lossy()) {
            Some(why) => Err(PyTypeError::new_err(why)),
            None => Ok(Some(buffer)),
        },
        Err(_) => Ok(None),
    }
}

/// The reason for which a kernel cannot have elements of a format, in the notation of the buffer protocol; `None` if it can.
fn foreign(format: &str) -> Option<&'static str> {
    // Names of fields are between colons.
    let format: String = format.split(':').step_by(2).collect();
    let swapped: &[char] = if cfg!(target_endian = "little") { &['>', '!'] } else { &['<'] };
    if format.contains('O') {
        Some("holds Python objects: pass an array of numbers")
    } else if format.contains(swapped) {
        Some("has the other byte order: pass `array.astype(array.dtype.newbyteorder(\"=\"))`")
    } else {
        None
    }
}

fn scattered() -> PyErr {
    PyTypeError::new_err("is not contiguous: pass a contiguous copy")
}

/// Numbers of devices in DLPack.
const CPU: i32 = 1;
const PINNED: i32 = 3;

/// `DLTensor`, with which a `DLManagedTensor` begins.
#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device: [i32; 2],
    dimensions: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *const i64,
    strides: *const i64,
    offset: u64,
}

/// The addresses of a tensor in a capsule of DLPack.
#[allow(unsafe_code, reason = "DLPack passes pointers")]
fn addresses(capsule: &Bound<'_, PyCapsule>) -> PyResult<Range<usize>> {
    let pointer = capsule.pointer_checked(Some(c"dltensor"))?.cast::<Tensor>();
    // SAFETY: a capsule of this name that nobody has consumed points to a `DLManagedTensor`.
    let tensor = unsafe { pointer.as_ref() };
    let dimensions = usize::try_from(tensor.dimensions).unwrap_or(0);
    let list = |start: *const i64| match start.is_null() || dimensions == 0 {
        true => None,
        // SAFETY: by the DLPack specification, `shape` and, unless null, `strides` have one entry per dimension.
        false => Some(unsafe { slice::from_raw_parts(start, dimensions) }),
    };
    let shape = list(tensor.shape).unwrap_or_default();
    let mut count = 1_i64;
    for (axis, length) in shape.iter().enumerate().rev() {
        if *length > 1 && list(tensor.strides).is_some_and(|strides| strides[axis] != count) {
            return Err(scattered());
        }
        count = count.checked_mul(*length).ok_or_else(|| PyBufferError::new_err("has too many elements"))?;
    }
    let bits = count as usize * usize::from(tensor.bits) * usize::from(tensor.lanes);
    let start = tensor.data as usize + tensor.offset as usize;
    Ok(start..start + bits.div_ceil(8))
}
