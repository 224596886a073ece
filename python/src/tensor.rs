//! Tensor maps: descriptors of an array and of the box that tensor copies move.

use ptx_isa::run::{Fill, Interleave, Swizzle, SwizzleAtom, TensorElement, TensorMap as Map};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};

use crate::array::Array;

/// A tensor map of an array, for a parameter of 128 bytes. Arrays have their adjacent dimension last, tensor maps first.
#[pyclass(frozen, module = "ptx_isa")]
pub(crate) struct TensorMap {
    array: Py<PyAny>,
    map: Map,
}

/// The type of elements that a buffer's format or a name means.
fn element(name: &str) -> Option<TensorElement> {
    Some(match name {
        "u8" | "B" | "?" => TensorElement::U8,
        "u16" | "H" => TensorElement::U16,
        "u32" | "I" => TensorElement::U32,
        "s32" | "i" => TensorElement::S32,
        "u64" | "L" | "Q" => TensorElement::U64,
        "s64" | "l" | "q" => TensorElement::S64,
        "f16" | "e" => TensorElement::F16,
        "f32" | "f" => TensorElement::F32,
        "f64" | "d" => TensorElement::F64,
        "bf16" => TensorElement::Bf16,
        "tf32" => TensorElement::Tf32,
        "b4x16" => TensorElement::B4x16,
        "b4x16_p64" => TensorElement::B4x16P64,
        "b6x16_p32" => TensorElement::B6x16P32,
        _ => return None,
    })
}

/// An array as a tensor: its dimensions in the order of tensor maps, which begins with the adjacent one.
///
/// The last dimension of an array with an interleave layout is a slice of channels, which is not a dimension of the map.
struct Geometry {
    element: TensorElement,
    shape: Vec<u64>,
    strides: Vec<u64>,
    interleave: Interleave,
}

impl Geometry {
    fn of(array: &Bound<'_, PyAny>, element: Option<&str>, slice: u64) -> PyResult<Geometry> {
        let interleave = match slice {
            0 => Interleave::None,
            16 => Interleave::Bytes16,
            32 => Interleave::Bytes32,
            _ => return Err(PyValueError::new_err("slices of an interleave layout have 0, 16 or 32 bytes")),
        };
        let view = PyMemoryView::from(array).map_err(|_| {
            let given = crate::kernel::shown(array);
            PyTypeError::new_err(format!("a tensor map is of an array with the buffer protocol, not {given}"))
        })?;
        let format: String = view.getattr("format")?.extract()?;
        let name = element.unwrap_or(format.trim_start_matches(['<', '=', '@']));
        let element = self::element(name).ok_or_else(|| {
            PyTypeError::new_err(format!(
                "tensors have no elements of the type `{name}`: pass `element=\"f16\"` or another"
            ))
        })?;
        let mut shape: Vec<u64> = view.getattr("shape")?.extract()?;
        let mut strides: Vec<u64> = view.getattr("strides")?.extract()?;
        shape.reverse();
        strides.reverse();
        let bits = u64::from(element.bits());
        match (strides.first(), shape.first_mut()) {
            (Some(1), Some(size)) if bits < 8 => *size = *size * 8 / bits,
            (Some(stride), _) if stride * 8 == bits => {}
            _ if bits < 8 => {
                return Err(PyValueError::new_err("elements of less than 8 bits are in an array of adjacent bytes"));
            }
            _ => return Err(PyValueError::new_err("the elements of the array's last dimension are not adjacent")),
        }
        if interleave != Interleave::None {
            let bytes = shape.remove(0) * bits / 8;
            if bytes != slice {
                return Err(PyValueError::new_err(format!(
                    "the array's last dimension has {bytes} bytes; with interleave={slice} it must be one slice of {slice} bytes"
                )));
            }
            strides.remove(0);
            if strides.first() != Some(&slice) {
                return Err(PyValueError::new_err(
                    "the slices along the array's second-to-last dimension are not adjacent",
                ));
            }
        }
        Ok(Geometry { element, shape, strides: strides.split_off(1), interleave })
    }
}

fn reversed<T>(mut list: Vec<T>) -> Vec<T> {
    list.reverse();
    list
}

impl TensorMap {
    /// Adds what both modes have; the address is that of the launch.
    fn finish(
        array: &Bound<'_, PyAny>,
        map: Map,
        steps: Option<Vec<u32>>,
        swizzle: u32,
        atom: u32,
        fill: &str,
    ) -> PyResult<TensorMap> {
        let unknown = |what: &str| PyValueError::new_err(what.to_owned());
        let swizzle = match swizzle {
            0 => Swizzle::None,
            32 => Swizzle::Bytes32,
            64 => Swizzle::Bytes64,
            128 => Swizzle::Bytes128,
            _ => return Err(unknown("a swizzle has 0, 32, 64 or 128 bytes")),
        };
        let atom = match atom {
            16 => SwizzleAtom::Bytes16,
            32 => SwizzleAtom::Bytes32,
            64 => SwizzleAtom::Bytes64,
            _ => return Err(unknown("a swizzle keeps 16, 32 or 64 bytes together")),
        };
        let fill = match fill {
            "zero" => Fill::Zero,
            "nan" => Fill::Nan,
            _ => return Err(unknown("elements out of bounds are \"zero\" or \"nan\"")),
        };
        let map = match steps {
            Some(steps) => map.element_stride(&reversed(steps)),
            None => map,
        };
        let map = map.swizzle(swizzle).atom(atom).fill(fill);
        map.encode().map_err(|error| PyValueError::new_err(error.message))?;
        Ok(TensorMap { array: array.clone().unbind(), map })
    }
}

#[pymethods]
impl TensorMap {
    #[new]
    #[pyo3(signature = (array, box_shape, *, element=None, element_strides=None, interleave=0, swizzle=0, atom=16, fill="zero"))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn new(
        array: &Bound<'_, PyAny>,
        box_shape: Vec<u32>,
        element: Option<&str>,
        element_strides: Option<Vec<u32>>,
        interleave: u64,
        swizzle: u32,
        atom: u32,
        fill: &str,
    ) -> PyResult<TensorMap> {
        let Geometry { element, shape, strides, interleave } = Geometry::of(array, element, interleave)?;
        let map = Map::tiled(element, 0, &shape, &strides, &reversed(box_shape)).interleave(interleave);
        TensorMap::finish(array, map, element_strides, swizzle, atom, fill)
    }

    #[staticmethod]
    #[pyo3(signature = (array, lower, upper, channels, pixels, *, element=None, element_strides=None, interleave=0, swizzle=0, atom=16, fill="zero"))]
    #[expect(clippy::too_many_arguments, reason = "keywords of Python")]
    fn im2col(
        array: &Bound<'_, PyAny>,
        lower: Vec<i16>,
        upper: Vec<i16>,
        channels: u16,
        pixels: u16,
        element: Option<&str>,
        element_strides: Option<Vec<u32>>,
        interleave: u64,
        swizzle: u32,
        atom: u32,
        fill: &str,
    ) -> PyResult<TensorMap> {
        let Geometry { element, shape, strides, interleave } = Geometry::of(array, element, interleave)?;
        let corners = [&*reversed(lower), &*reversed(upper)];
        let map = Map::im2col(element, 0, &shape, &strides, corners, [channels, pixels]).interleave(interleave);
        TensorMap::finish(array, map, element_strides, swizzle, atom, fill)
    }

    /// The 128 bytes, with the array's address as it is now.
    fn encode<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.lent(py)?.1))
    }
}

impl TensorMap {
    /// The array, and the bytes that a kernel gets.
    pub(crate) fn lent(&self, py: Python<'_>) -> PyResult<(Array, [u8; 128])> {
        let array = Array::across(self.array.bind(py))?;
        let map = Map { global_address: array.bytes.start as u64, ..self.map.clone() };
        let bytes =
            map.encode().map_err(|error| PyValueError::new_err(format!("cannot be used: {}", error.message)))?;
        Ok((array, bytes))
    }
}
