//! Arguments of a launch as text, as `ptx-isa run` and the site's playground take them: numbers, arrays from lists,
//! fills and files, for the parameters of a kernel.
//!
//! | text | argument |
//! |---|---|
//! | `1000`, `-1`, `0x10`, `2.5` | a number of the parameter's type; `2.5:f32` says which |
//! | `bytes:0a0b` | the bytes of a parameter, in hex |
//! | `[1, 2, 3]:f32` | an array of these elements |
//! | `zeros:f32[1000]` | an array that is filled: `out` and `zeros`, `ones`, `iota` (0, 1, 2, …), `random` (`random:f32[8]:7` has a seed) |
//! | `x.npy` | an array from a file; `inout:x.npy` is also written back |
//! | `tensor:32x64:128:x.npy` | the tensor map of an array, with its box and the bytes of its swizzle |
//!
//! ```
//! use ptx_isa::run::text::arguments;
//! use ptx_isa::run::{Grid, Memory, Module};
//!
//! let text = "
//!     .version 8.0 .target sm_80 .address_size 64
//!     .visible .entry double(.param .u64 x) {
//!         .reg .b64 %rd<4>; .reg .b32 %r<4>;
//!         ld.param.u64 %rd1, [x];
//!         mov.u32 %r1, %tid.x;
//!         mad.wide.u32 %rd2, %r1, 4, %rd1;
//!         ld.global.u32 %r2, [%rd2];
//!         add.u32 %r2, %r2, %r2;
//!         st.global.u32 [%rd2], %r2;
//!         ret;
//!     }";
//! let memory = Memory::new();
//! let module = Module::load(text, &memory)?;
//! let kernel = module.kernel("double")?;
//! let no_files = |_: &_| Err("there are no files".to_owned());
//! let (given, arrays) = arguments(&["[1, 2, 3]:u32".to_owned()], &kernel, &memory, &no_files).unwrap();
//! kernel.launch(Grid::new(1, 3), &given)?;
//! assert_eq!(arrays[0].elements(&memory)?, ["2", "4", "6"]);
//! # Ok::<(), ptx_isa::run::Error>(())
//! ```

use std::path::{Path, PathBuf};
use std::prelude::rust_2024::*;
use std::{format, vec};

use isa_table::count::Count;

use super::{Argument, Error, Kernel, Memory, Swizzle, TensorElement, TensorMap};
use crate::table::Kind;
use crate::text::resolved::Variable;

/// A type of array elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Element {
    /// PTX's name of it.
    pub name: &'static str,
    /// NumPy's name of it.
    pub format: &'static str,
    /// Its size.
    pub bytes: usize,
}

macro_rules! elements {
    ($($name:literal $format:literal $bytes:literal,)*) => {
        [$(Element { name: $name, format: $format, bytes: $bytes },)*]
    };
}

/// Of elements with the same format, the first is chosen for the elements of a file.
const ELEMENTS: [Element; 14] = elements! {
    "u8" "|u1" 1, "s8" "|i1" 1, "u8" "|b1" 1, "u16" "<u2" 2, "s16" "<i2" 2, "f16" "<f2" 2, "bf16" "|V2" 2, "u32" "<u4" 4,
    "s32" "<i4" 4, "f32" "<f4" 4, "u64" "<u8" 8, "s64" "<i8" 8, "f64" "<f8" 8, "b128" "|V16" 16,
};

impl Element {
    /// The element with a name: PTX's, or `i32` and `b32`.
    fn named(name: &str) -> Option<Element> {
        let bits =
            |prefix: char| name.strip_prefix(prefix).filter(|bits| bits.parse::<u32>().is_ok_and(|bits| bits < 128));
        let name = match (bits('i'), bits('b')) {
            (Some(bits), _) => format!("s{bits}"),
            (_, Some(bits)) => format!("u{bits}"),
            _ => name.to_owned(),
        };
        ELEMENTS.into_iter().find(|known| known.name == name)
    }

    /// Returns true if it is a floating-point type.
    pub fn is_float(self) -> bool {
        matches!(self.name, "f16" | "bf16" | "f32" | "f64")
    }

    /// The bytes of a number; nothing where it is none of this type.
    fn parse(self, text: &str) -> Option<Vec<u8>> {
        let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (numerals, radix) = digits.strip_prefix("0x").map_or((digits, 10), |hex| (hex, 16));
        // `from_str_radix` accepts a sign, which would be a second one.
        let integer = u128::from_str_radix(numerals, radix).ok().filter(|_| !numerals.starts_with('+'));
        if self.is_float() && !digits.starts_with("0x") {
            return Some(self.float(text.parse().ok()?));
        }
        let (value, negative) = (integer?, text.starts_with('-'));
        let width = 8 * self.bytes as u32;
        let most = if negative { 1 << (width - 1) } else { u128::MAX >> (128 - width) };
        let bits = if negative { value.wrapping_neg() } else { value };
        (value <= most).then(|| bits.to_le_bytes()[..self.bytes].to_vec())
    }

    /// The bytes of the nearest number of this type.
    fn float(self, value: f64) -> Vec<u8> {
        match self.name {
            "f16" => half::f16::from_f64(value).to_le_bytes().to_vec(),
            "bf16" => half::bf16::from_f64(value).to_le_bytes().to_vec(),
            "f32" => (value as f32).to_le_bytes().to_vec(),
            _ => value.to_le_bytes().to_vec(),
        }
    }

    /// The bytes of a whole number, which wraps.
    fn whole(self, value: u64) -> Vec<u8> {
        match self.is_float() {
            true => self.float(value as f64),
            false => u128::from(value).to_le_bytes()[..self.bytes].to_vec(),
        }
    }

    /// The number that some bytes are, in decimal digits that give it back, `inf` or `NaN`; `.b128` in
    /// hexadecimal ones.
    pub fn shown(self, bytes: &[u8]) -> String {
        let bits = bytes.iter().rev().fold(0_u128, |bits, byte| bits << 8 | u128::from(*byte));
        match self.name {
            "f32" => format!("{:?}", f32::from_bits(bits as u32)),
            "f64" => format!("{:?}", f64::from_bits(bits as u64)),
            "f16" => format!("{:?}", half::f16::from_bits(bits as u16).to_f64()),
            "bf16" => format!("{:?}", half::bf16::from_bits(bits as u16).to_f64()),
            "b128" => format!("{bits:#034x}"),
            name if name.starts_with('s') => {
                let above = 128 - 8 * self.bytes as u32;
                ((bits << above) as i128 >> above).to_string()
            }
            _ => bits.to_string(),
        }
    }
}

/// An array as a file of NumPy has it.
#[derive(Clone, Debug)]
pub struct Array {
    /// The format of its elements: `<f4`.
    pub format: String,
    /// Its shape: `(2, 3)`.
    pub shape: String,
    /// Its bytes in C order.
    pub bytes: Vec<u8>,
}

/// Reads an array from a file; the message says why it cannot be read.
pub type Open<'o> = dyn Fn(&Path) -> Result<Array, String> + 'o;

/// An array on the device.
#[derive(Clone, Debug)]
pub struct Buffer {
    /// Names that it is known by: the name of the file or the fill, the parameter's name, and the parameter's number.
    pub names: Vec<String>,
    /// Its address.
    pub pointer: u64,
    /// The type of its elements.
    pub element: Element,
    /// The element's name as a file has it.
    pub format: String,
    /// The shape as a file has it.
    pub shape: String,
    /// The number of elements.
    pub count: usize,
    /// The file to which it is written after the launch.
    pub back: Option<PathBuf>,
}

impl Buffer {
    /// Returns its bytes.
    ///
    /// # Errors
    ///
    /// If the kernel's memory no longer has it.
    pub fn bytes(&self, memory: &Memory) -> Result<Vec<u8>, Error> {
        let mut bytes = vec![0; self.count * self.element.bytes];
        memory.read(self.pointer, &mut bytes)?;
        Ok(bytes)
    }

    /// Returns its elements as text.
    ///
    /// # Errors
    ///
    /// If the kernel's memory no longer has it.
    pub fn elements(&self, memory: &Memory) -> Result<Vec<String>, Error> {
        let bytes = self.bytes(memory)?;
        Ok(bytes.chunks_exact(self.element.bytes).map(|one| self.element.shown(one)).collect())
    }
}

/// Parsed value of an argument.
enum Given {
    Bytes(Vec<u8>),
    Number(Element, Vec<u8>),
    Array { name: String, element: Element, format: String, shape: String, bytes: Vec<u8>, back: Option<PathBuf> },
}

/// Returns the arguments of a kernel in the order of its parameters, and the arrays among them, which are allocated.
/// A text is the argument of the next parameter, or of the one that it names: `n=1000`.
///
/// # Errors
///
/// If a text is not an argument of its parameter, or an argument is missing; the message says what would be one.
pub fn arguments(
    texts: &[String],
    kernel: &Kernel,
    memory: &Memory,
    open: &Open<'_>,
) -> Result<(Vec<Argument>, Vec<Buffer>), String> {
    let parameters: Vec<_> = kernel.parameters().collect();
    let places = placed(texts, &parameters)?;
    let (mut arguments, mut buffers) = (Vec::new(), Vec::new());
    for (position, (parameter, text)) in parameters.iter().zip(places).enumerate() {
        let of = |message: String| format!("argument {position}, the parameter `{}`: {message}", parameter.name);
        let (bytes, buffer) = argument(text, parameter, position, kernel, memory, open).map_err(of)?;
        arguments.push(Argument::bytes(bytes));
        buffers.extend(buffer);
    }
    Ok((arguments, buffers))
}

/// The text for each parameter.
fn placed<'t>(texts: &'t [String], parameters: &[&Variable]) -> Result<Vec<&'t str>, String> {
    let takes = || format!("the kernel takes {}", Count(parameters.len(), "argument"));
    let mut places: Vec<Option<&str>> = vec![None; parameters.len()];
    for text in texts {
        let (place, value) = match text.split_once('=') {
            Some((name, value)) => match parameters.iter().position(|parameter| parameter.name == name) {
                Some(place) => (Some(place), value),
                None => return Err(format!("there is no parameter `{name}`, to which `--arg {text}` gives a value")),
            },
            None => (places.iter().position(Option::is_none), text.as_str()),
        };
        let place =
            place.and_then(|place| places.get_mut(place)).ok_or_else(|| format!("{}, not {}", takes(), texts.len()))?;
        if place.replace(value).is_some() {
            return Err(format!("`--arg {text}` gives a parameter a second value"));
        }
    }
    let missing: Vec<String> = parameters
        .iter()
        .zip(&places)
        .filter(|(_, text)| text.is_none())
        .map(|(one, _)| format!("`{}`", one.name))
        .collect();
    match places.into_iter().collect() {
        Some(places) => Ok(places),
        None => Err(format!("{}, not {}; missing: {}", takes(), texts.len(), missing.join(", "))),
    }
}

/// The bytes of an argument, with its array where it is one.
fn argument(
    text: &str,
    parameter: &Variable,
    position: usize,
    kernel: &Kernel,
    memory: &Memory,
    open: &Open<'_>,
) -> Result<(Vec<u8>, Option<Buffer>), String> {
    if let Some(text) = text.strip_prefix("tensor:") {
        return tensor(text, parameter, position, memory, open);
    }
    let ty = parameter.ty.map(|ty| kernel.table().ty(ty));
    let (name, kind) = ty.map_or(("b8", Kind::Bits), |ty| (ty.name, ty.kind));
    let own = Element::named(name).filter(|_| parameter.elements == 1);
    let size = parameter.size as usize;
    let example = match own {
        Some(own) if own.is_float() => "`2.0`".to_owned(),
        Some(own) if own.bytes == 8 => "`1000`, `x.npy` or `zeros:f32[1000]`".to_owned(),
        Some(own) if own.bytes == 1 => "`100`".to_owned(),
        Some(_) => "`1000`".to_owned(),
        None => format!("`bytes:` and {} digits in hex", 2 * size),
    };
    let wrong = |what: String| Err(format!("`{text}` {what}; write {example}"));
    match given(text, own, &example, open)? {
        Given::Bytes(bytes) if bytes.len() == size => Ok((bytes, None)),
        Given::Bytes(bytes) => wrong(format!("has {} bytes, and the parameter has {size}", bytes.len())),
        Given::Number(element, bytes) => {
            let fits = bytes.len() == size && own.is_some();
            let agrees = match kind {
                Kind::Float => element.is_float(),
                Kind::Signed | Kind::Unsigned => !element.is_float(),
                _ => true,
            };
            let value = text.rsplit_once(':').map_or(text, |(value, _)| value);
            match own {
                _ if fits && agrees => Ok((bytes, None)),
                // The same number as the parameter's type, where there is one.
                Some(own) if own.parse(value).is_some() => Err(format!(
                    "`{text}` is a `.{}`, but the parameter is a `.{name}`; write `{value}:{name}`",
                    element.name
                )),
                Some(_) => wrong(format!("is a `.{}`, but the parameter is a `.{name}`", element.name)),
                None => wrong(format!("is a number, and the parameter has {size} bytes")),
            }
        }
        Given::Array { .. } if 8 * size != kernel.address_bits() as usize || kind == Kind::Float => {
            wrong(format!("is an array, but the parameter is a `.{name}`, not a pointer"))
        }
        Given::Array { name, element, format, shape, bytes, back } => {
            let pointer = uploaded(&bytes, memory)?;
            let count = bytes.len() / element.bytes;
            let names = vec![name, parameter.name.clone(), position.to_string()];
            let buffer = Buffer { names, pointer, element, format, shape, count, back };
            Ok((pointer.to_le_bytes()[..size].to_vec(), Some(buffer)))
        }
    }
}

/// Allocates memory with these bytes.
fn uploaded(bytes: &[u8], memory: &Memory) -> Result<u64, String> {
    let pointer = memory.try_allocate(bytes.len());
    let pointer = pointer.ok_or_else(|| format!("the {} bytes of the array do not fit into memory", bytes.len()))?;
    memory.write(pointer, bytes).map_err(|error| error.to_string())?;
    Ok(pointer)
}

/// The tensor map of an array: `32x64:128:x.npy` has the box, the bytes of the swizzle, and the array.
fn tensor(
    text: &str,
    parameter: &Variable,
    position: usize,
    memory: &Memory,
    open: &Open<'_>,
) -> Result<(Vec<u8>, Option<Buffer>), String> {
    let example = "`tensor:32x64:128:x.npy`, with the box, the bytes of the swizzle and an array";
    let wrong = |what: &str| format!("`tensor:{text}` {what}; write {example}");
    let mut parts = text.splitn(3, ':');
    let (Some(shape), Some(swizzle), Some(array)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(wrong("is not a tensor map"));
    };
    if parameter.size != 128 {
        return Err(format!("`tensor:{text}` is a tensor map of 128 bytes, and the parameter has {}", parameter.size));
    }
    let Given::Array { name, element, format, shape: sizes, bytes, back } = given(array, None, example, open)? else {
        return Err(wrong("has no array"));
    };
    let written = sizes.clone();
    let known = TensorElement::ALL.iter().find(|known| known.name().to_ascii_lowercase() == element.name);
    let known =
        known.ok_or_else(|| wrong(&format!("has elements of the type `{}`, which no tensor has", element.name)))?;
    let box_dim: Result<Vec<u32>, _> = shape.split('x').rev().map(str::parse).collect();
    let box_dim = box_dim.map_err(|_| wrong("has no box"))?;
    // Arrays have their adjacent dimension last, tensor maps first.
    let sizes: Vec<u64> =
        sizes.trim_matches(['(', ')']).rsplit(',').filter_map(|size| size.trim().parse().ok()).collect();
    let strides = sizes.iter().scan(element.bytes as u64, |stride, size| {
        *stride *= size;
        Some(*stride)
    });
    let strides: Vec<u64> = strides.take(sizes.len().saturating_sub(1)).collect();
    let swizzle = match swizzle {
        "0" => Swizzle::None,
        "32" => Swizzle::Bytes32,
        "64" => Swizzle::Bytes64,
        "128" => Swizzle::Bytes128,
        _ => return Err(wrong("has a swizzle other than 0, 32, 64 and 128")),
    };
    let pointer = uploaded(&bytes, memory)?;
    let map = TensorMap::tiled(*known, pointer, &sizes, &strides, &box_dim).swizzle(swizzle).encode();
    let map = map.map_err(|error| format!("`tensor:{text}`: {}", error.message))?;
    let count = bytes.len() / element.bytes;
    let names = vec![name, parameter.name.clone(), position.to_string()];
    Ok((map.to_vec(), Some(Buffer { names, pointer, element, format, shape: written, count, back })))
}

/// Parses the value of an argument; a plain number has the parameter's type.
fn given(text: &str, own: Option<Element>, example: &str, open: &Open<'_>) -> Result<Given, String> {
    if let Some(hex) = text.strip_prefix("bytes:") {
        let digit = |at: usize| hex.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
        let bytes: Option<Vec<u8>> = (0..hex.len()).step_by(2).map(digit).collect();
        return bytes.map(Given::Bytes).ok_or_else(|| format!("`{hex}` is not a whole number of bytes in hex"));
    }
    let changed = text.strip_prefix("inout:");
    if changed.is_some() || text.ends_with(".npy") {
        let path = Path::new(changed.unwrap_or(text));
        let Array { format, shape, bytes } = open(path)?;
        let known = ELEMENTS.into_iter().find(|known| Some(&known.format[1..]) == format.get(1..));
        let element =
            known.ok_or_else(|| format!("{}: elements of the format `{format}` are not known", path.display()))?;
        let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        return Ok(Given::Array { name, element, format, shape, bytes, back: changed.map(PathBuf::from) });
    }
    if let Some((list, element)) = text.strip_prefix('[').and_then(|text| text.rsplit_once("]:")) {
        let element = Element::named(element).ok_or_else(|| unknown(element))?;
        let elements = list.split([',', ' ']).filter(|text| !text.is_empty());
        let parse =
            |text| element.parse(text).ok_or_else(|| format!("`{text}` is not a number of type `{}`", element.name));
        let elements = elements.map(parse).collect::<Result<Vec<Vec<u8>>, String>>()?;
        let (format, shape) = (element.format.to_owned(), format!("({},)", elements.len()));
        return Ok(Given::Array {
            name: "list".to_owned(),
            element,
            format,
            shape,
            bytes: elements.concat(),
            back: None,
        });
    }
    if let Some((fill, rest)) = text.split_once(':')
        && let (what, seed) = rest.rsplit_once(':').unwrap_or((rest, "0"))
        && let Some((element, count)) = what.strip_suffix(']').and_then(|what| what.split_once('['))
    {
        let element = Element::named(element).ok_or_else(|| unknown(element))?;
        let count: usize = count.parse().map_err(|_| format!("`{count}` is not a number of elements"))?;
        let bytes = fill_with(fill, element, count, seed)?;
        let (format, shape) = (element.format.to_owned(), format!("({count},)"));
        return Ok(Given::Array { name: fill.to_owned(), element, format, shape, bytes, back: None });
    }
    let (value, element) = match text.rsplit_once(':') {
        Some((value, ty)) => (value, Element::named(ty).ok_or_else(|| unknown(ty))?),
        None => (text, own.ok_or_else(|| format!("`{text}` is not a value of the parameter; write {example}"))?),
    };
    let bytes = element.parse(value);
    let bytes =
        bytes.ok_or_else(|| format!("`{value}` is not a number that a `.{}` holds; write {example}", element.name))?;
    Ok(Given::Number(element, bytes))
}

fn unknown(ty: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for Element { name, .. } in ELEMENTS {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    format!("unknown element type `{ty}`; known are `{}`", names.join("`, `"))
}

/// The bytes of an array.
fn fill_with(fill: &str, element: Element, count: usize, seed: &str) -> Result<Vec<u8>, String> {
    let bytes = count.checked_mul(element.bytes).filter(|bytes| *bytes <= isize::MAX as usize / 2);
    let mut filled: Vec<u8> = Vec::new();
    let room = bytes.and_then(|bytes| filled.try_reserve_exact(bytes).ok().map(|()| bytes));
    let bytes = room.ok_or_else(|| format!("{count} elements do not fit into memory"))?;
    match fill {
        "out" | "zeros" => filled.resize(bytes, 0),
        "ones" => {
            let one = element.whole(1);
            (0..count).for_each(|_| filled.extend_from_slice(&one));
        }
        "iota" => (0..count).for_each(|index| filled.extend(element.whole(index as u64))),
        "random" => {
            let mut state: u64 = seed.parse().map_err(|_| format!("the seed `{seed}` is not a number"))?;
            let mut next = || {
                state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
                mixed ^ mixed >> 31
            };
            (0..count).for_each(|_| match element.is_float() {
                // From zero to one.
                true => filled.extend(element.float((next() >> 40) as f64 / (1_u64 << 24) as f64)),
                false => filled.extend(next().to_le_bytes().into_iter().cycle().take(element.bytes)),
            });
        }
        _ => return Err(format!("unknown fill `{fill}`; use `out`, `zeros`, `ones`, `iota` or `random`")),
    }
    Ok(filled)
}
