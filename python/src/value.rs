//! Words of registers as Python has them: numbers, sequences, and NumPy's arrays.

use ptx_isa::table::{Kind, TypeInfo};
use ptx_isa::text::columns::Column;
use ptx_isa::value;
use pyo3::buffer::{Element, PyBuffer};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

/// The bits of a number. Messages go on from the register's name.
pub(crate) fn word(given: &Bound<'_, PyAny>, ty: &TypeInfo) -> Result<u128, String> {
    let integer = matches!(ty.kind, Kind::Bits | Kind::Unsigned | Kind::Signed);
    if let Ok(bits) = given.extract::<u128>() {
        return match ty.bits >= 128 || bits >> ty.bits == 0 {
            true => Ok(bits),
            false => Err(format!("{given} does not fit the {} bits of `.{}`", ty.bits, ty.name)),
        };
    }
    if let Ok(negative) = given.extract::<i128>() {
        let fits = integer && (ty.bits >= 128 || negative >= -(1 << (ty.bits - 1)));
        let bits = negative as u128 & (u128::MAX >> (128 - ty.bits.min(128)));
        return fits.then_some(bits).ok_or_else(|| match integer {
            true => format!("{given} does not fit the {} bits of `.{}`", ty.bits, ty.name),
            false => format!("an integer gives the bits of `.{}`, which are not negative as {given} is", ty.name),
        });
    }
    let number = given.extract::<f64>().ok().filter(|_| !given.is_instance_of::<PyString>());
    match number {
        Some(number) if ty.kind == Kind::Float => value::parse(&format!("{number:?}"), ty),
        Some(_) => Err(format!("{given} is a float, and `.{}` is not: give its bits as an integer", ty.name)),
        None => Err(format!("{} is not a number", crate::kernel::shown(given))),
    }
}

/// Returns the number of values of a sequence that is not an array.
pub(crate) fn sequence(given: &Bound<'_, PyAny>) -> Option<usize> {
    let text = given.is_instance_of::<PyString>() || given.is_instance_of::<PyBytes>();
    if text { None } else { given.len().ok() }
}

/// A word of each element.
pub(crate) fn words(given: &Bound<'_, PyAny>, ty: &TypeInfo) -> Result<Vec<u128>, String> {
    let each = given.try_iter().map_err(|error| error.to_string())?;
    each.map(|element| word(&element.map_err(|error| error.to_string())?, ty)).collect()
}

/// NumPy, and what is known of it.
pub(crate) struct Numpy<'py>(Bound<'py, PyModule>);

impl<'py> Numpy<'py> {
    /// NumPy, if an object is an array.
    pub(crate) fn of(given: &Bound<'py, PyAny>) -> Option<Numpy<'py>> {
        // An array cannot be there without it.
        let modules = given.py().import("sys").ok()?.getattr("modules").ok()?;
        let numpy = modules.cast::<PyDict>().ok()?.get_item("numpy").ok()??.cast_into::<PyModule>().ok()?;
        let dimensions: usize = match given.is_instance(&numpy.getattr("ndarray").ok()?).ok()? {
            true => given.getattr("ndim").ok()?.extract().ok()?,
            false => 0,
        };
        (dimensions > 0).then_some(Numpy(numpy))
    }

    /// The words of an array.
    pub(crate) fn column(&self, array: &Bound<'py, PyAny>, ty: &TypeInfo) -> Result<Column, String> {
        self.read(array, ty).map_err(|error| error.value(array.py()).to_string())
    }

    fn read(&self, array: &Bound<'py, PyAny>, ty: &TypeInfo) -> PyResult<Column> {
        let dtype = array.getattr("dtype")?;
        let (kind, name): (char, String) = (dtype.getattr("kind")?.extract()?, dtype.getattr("name")?.extract()?);
        let bytes: u16 = dtype.getattr("itemsize")?.extract()?;
        let refused = |cure: String| {
            PyTypeError::new_err(format!("its elements are `{name}`, and the operand is `.{}`: {cure}", ty.name))
        };
        let width = container(ty).ok_or_else(|| refused("give a list of integers".to_owned()))?;
        let same = bytes * 8 == ty.bits;
        let number = matches!(ty.kind, Kind::Bits | Kind::Unsigned | Kind::Signed | Kind::Predicate);
        let floats = float_name(ty);
        let bits = format!("uint{width}");
        let is_float = match floats {
            Some(own) => own == name,
            // Other libraries' arrays of bfloats among them.
            None if ty.kind == Kind::Float => same && kind == 'V',
            None => same && matches!(ty.kind, Kind::Bits | Kind::Packed),
        };
        let unsigned = match kind {
            'b' if number => array.call_method1("astype", (&bits,))?,
            'u' if same => array.clone(),
            'i' if same && number => array.clone(),
            'i' | 'u' if number => {
                self.within(array, ty)?;
                array.call_method1("astype", (&bits,))?
            }
            'f' | 'V' if is_float => array.clone(),
            'f' => {
                return Err(refused(match floats {
                    Some(own) => format!("use `.astype(\"{own}\")`"),
                    None => format!("give its bits as `{bits}`"),
                }));
            }
            _ => return Err(refused(format!("give its bits as `{bits}`"))),
        };
        let flat = self.0.call_method1("ascontiguousarray", (unsigned,))?.call_method1("reshape", (-1,))?;
        let flat = flat.call_method1("view", (&bits,))?;
        Ok(match width {
            8 => Column::B8(copied(&flat)?),
            16 => Column::B16(copied(&flat)?),
            32 => Column::B32(copied(&flat)?),
            _ => Column::B64(copied(&flat)?),
        })
    }

    /// Refuses integers that a type does not hold.
    fn within(&self, array: &Bound<'py, PyAny>, ty: &TypeInfo) -> PyResult<()> {
        if array.getattr("size")?.extract::<usize>()? == 0 {
            return Ok(());
        }
        for extreme in ["min", "max"] {
            word(&array.call_method0(extreme)?.call_method0("item")?, ty).map_err(PyValueError::new_err)?;
        }
        Ok(())
    }

    /// An array of a shape with the words of a column, of the type that its own means.
    pub(crate) fn array(
        &self,
        column: &Column,
        shape: &Bound<'py, PyAny>,
        ty: &TypeInfo,
    ) -> PyResult<Bound<'py, PyAny>> {
        let width = container(ty).unwrap_or(64);
        let count = column.lanes().unwrap_or(0);
        let array = self.0.call_method1("empty", (count, format!("uint{width}")))?;
        match width {
            8 => filled(&array, (0..count).map(|lane| column.get(lane) as u8).collect::<Vec<_>>())?,
            16 => match column {
                Column::B16(words) => filled(&array, words)?,
                other => filled(&array, (0..count).map(|lane| other.get(lane) as u16).collect::<Vec<_>>())?,
            },
            32 => match column {
                Column::B32(words) => filled(&array, words)?,
                other => filled(&array, (0..count).map(|lane| other.get(lane) as u32).collect::<Vec<_>>())?,
            },
            _ => match column {
                Column::B64(words) => filled(&array, words)?,
                other => filled(&array, (0..count).map(|lane| other.get(lane) as u64).collect::<Vec<_>>())?,
            },
        }
        let name = match ty.kind {
            Kind::Predicate => "bool".to_owned(),
            Kind::Signed => format!("int{width}"),
            _ => float_name(ty).map_or_else(|| format!("uint{width}"), str::to_owned),
        };
        array.call_method1("view", (name,))?.call_method1("reshape", (shape,))
    }

    /// An array of truth values, true at some places.
    pub(crate) fn mask(&self, places: &[usize], shape: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let mask = self.0.call_method1("zeros", (shape, "bool"))?;
        mask.call_method1("reshape", (-1,))?.set_item(places.to_vec(), true)?;
        Ok(mask)
    }
}

/// The bits of NumPy's words for a type.
fn container(ty: &TypeInfo) -> Option<u16> {
    Some(match ty.bits {
        ..=8 => 8,
        9..=16 => 16,
        17..=32 => 32,
        33..=64 => 64,
        _ => return None,
    })
}

/// NumPy's name of a type of floats that it has.
fn float_name(ty: &TypeInfo) -> Option<&'static str> {
    match (ty.kind, ty.bits, ty.exponent) {
        (Kind::Float, 16, 5) => Some("float16"),
        (Kind::Float, 32, _) => Some("float32"),
        (Kind::Float, 64, _) => Some("float64"),
        _ => None,
    }
}

fn copied<T: Element>(array: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    PyBuffer::<T>::get(array)?.to_vec(array.py())
}

fn filled<T: Element>(array: &Bound<'_, PyAny>, words: impl AsRef<[T]>) -> PyResult<()> {
    PyBuffer::<T>::get(array)?.copy_from_slice(array.py(), words.as_ref())
}
