//! Arguments of `ptx-isa run`: numbers, arrays from files and fills, for the parameters of a kernel.

use std::path::{Path, PathBuf};

use ptx_isa::run::{Argument, Kernel, Memory, Swizzle, TensorElement, TensorMap};
use ptx_isa::table::Kind;
use ptx_isa::text::resolved::Variable;
use serde_json::{Value, json};

use super::npy;

/// A type of elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Element {
    name: &'static str,
    /// NumPy's name of it.
    pub(super) format: &'static str,
    pub(super) bytes: usize,
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

    fn is_float(self) -> bool {
        matches!(self.name, "f16" | "bf16" | "f32" | "f64")
    }

    /// The bytes of a number; nothing where it is none of this type.
    fn parse(self, text: &str) -> Option<Vec<u8>> {
        let digits = text.trim_start_matches(['-', '+']);
        let integer = match digits.strip_prefix("0x") {
            Some(hex) => u128::from_str_radix(hex, 16).ok(),
            None => digits.parse::<u128>().ok(),
        };
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

    /// The number that some bytes are.
    pub(super) fn shown(self, bytes: &[u8]) -> Value {
        let bits = bytes.iter().rev().fold(0_u128, |bits, byte| bits << 8 | u128::from(*byte));
        let float = |value: f64| if value.is_finite() { json!(value) } else { json!(value.to_string()) };
        match self.name {
            // The shortest digits that give the number back.
            "f32" => float(f32::from_bits(bits as u32).to_string().parse().unwrap_or(f64::NAN)),
            "f64" => float(f64::from_bits(bits as u64)),
            "f16" => float(half::f16::from_bits(bits as u16).to_f64()),
            "bf16" => float(half::bf16::from_bits(bits as u16).to_f64()),
            "b128" => json!(format!("{bits:#034x}")),
            name if name.starts_with('s') => {
                let above = 128 - 8 * self.bytes as u32;
                json!(((bits << above) as i128 >> above) as i64)
            }
            _ => json!(bits as u64),
        }
    }
}

/// An array on the device.
pub(super) struct Buffer {
    /// Names that it is known by: the name of the file or the fill, the parameter's name, and the parameter's number.
    pub(super) names: Vec<String>,
    pub(super) pointer: u64,
    pub(super) element: Element,
    /// The element's name and the shape, as a file has them.
    pub(super) format: String,
    pub(super) shape: String,
    pub(super) count: usize,
    /// The file to which it is written in the end.
    pub(super) back: Option<PathBuf>,
}

/// Parsed value of an argument.
enum Given {
    Bytes(Vec<u8>),
    Number(Element, Vec<u8>),
    Array { name: String, element: Element, format: String, shape: String, bytes: Vec<u8>, back: Option<PathBuf> },
}

/// The arguments of a kernel in the order of its parameters, and the arrays among them.
pub(super) fn read(texts: &[String], kernel: &Kernel, memory: &Memory) -> Result<(Vec<Argument>, Vec<Buffer>), String> {
    let parameters: Vec<_> = kernel.parameters().collect();
    let places = placed(texts, &parameters)?;
    let (mut arguments, mut buffers) = (Vec::new(), Vec::new());
    for (position, (parameter, text)) in parameters.iter().zip(places).enumerate() {
        let of = |message: String| format!("argument {position}, the parameter `{}`: {message}", parameter.name);
        let (bytes, buffer) = argument(text, parameter, position, kernel.address_bits(), memory).map_err(of)?;
        arguments.push(Argument::bytes(bytes));
        buffers.extend(buffer);
    }
    Ok((arguments, buffers))
}

/// The text for each parameter.
fn placed<'t>(texts: &'t [String], parameters: &[&Variable]) -> Result<Vec<&'t str>, String> {
    let counted = |count: usize| format!("{count} argument{}", if count == 1 { "" } else { "s" });
    let mut places: Vec<Option<&str>> = vec![None; parameters.len()];
    for text in texts {
        let (place, value) = match text.split_once('=') {
            Some((name, value)) => match parameters.iter().position(|parameter| parameter.name == name) {
                Some(place) => (Some(place), value),
                None => return Err(format!("there is no parameter `{name}`, to which `--arg {text}` gives a value")),
            },
            None => (places.iter().position(Option::is_none), text.as_str()),
        };
        let place = place
            .and_then(|place| places.get_mut(place))
            .ok_or_else(|| format!("the kernel takes {}, not {}", counted(parameters.len()), texts.len()))?;
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
        None => Err(format!(
            "the kernel takes {}, not {}; missing: {}",
            counted(parameters.len()),
            texts.len(),
            missing.join(", ")
        )),
    }
}

/// The bytes of an argument, with its array where it is one.
fn argument(
    text: &str,
    parameter: &Variable,
    position: usize,
    address_bits: u32,
    memory: &Memory,
) -> Result<(Vec<u8>, Option<Buffer>), String> {
    if let Some(text) = text.strip_prefix("tensor:") {
        return tensor(text, parameter, position, memory);
    }
    let ty = parameter.ty.map(|ty| ptx_isa::TABLE.ty(ty));
    let (name, kind) = ty.map_or(("b8", Kind::Bits), |ty| (ty.name, ty.kind));
    let own = Element::named(name).filter(|_| parameter.elements == 1);
    let size = parameter.size as usize;
    let example = match own {
        Some(own) if own.is_float() => "`2.0`".to_owned(),
        Some(own) if own.bytes == 8 => "`1000`, `x.npy` or `zeros:f32[1000]`".to_owned(),
        Some(_) => "`1000`".to_owned(),
        None => format!("`bytes:` and {} digits in hex", 2 * size),
    };
    let wrong = |what: String| Err(format!("`{text}` {what}; write {example}"));
    match given(text, own, &example)? {
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
                    "`{text}` is a `.{}`, and the parameter a `.{name}`; write `{value}:{name}`",
                    element.name
                )),
                Some(_) => wrong(format!("is a `.{}`, and the parameter a `.{name}`", element.name)),
                None => wrong(format!("is a number, and the parameter has {size} bytes")),
            }
        }
        Given::Array { .. } if 8 * size != address_bits as usize || kind == Kind::Float => {
            wrong(format!("is an array, and the parameter no pointer but a `.{name}`"))
        }
        Given::Array { name, element, format, shape, bytes, back } => {
            let pointer = memory.allocate(bytes.len());
            memory.write(pointer, &bytes).map_err(|error| error.to_string())?;
            let count = bytes.len() / element.bytes;
            let names = vec![name, parameter.name.clone(), position.to_string()];
            let buffer = Buffer { names, pointer, element, format, shape, count, back };
            Ok((pointer.to_le_bytes()[..size].to_vec(), Some(buffer)))
        }
    }
}

/// The tensor map of an array: `32x64:128:x.npy` has the box, the bytes of the swizzle, and the array.
fn tensor(
    text: &str,
    parameter: &Variable,
    position: usize,
    memory: &Memory,
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
    let Given::Array { name, element, format, shape: sizes, bytes, back } = given(array, None, example)? else {
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
    let pointer = memory.allocate(bytes.len());
    memory.write(pointer, &bytes).map_err(|error| error.to_string())?;
    let map = TensorMap::tiled(*known, pointer, &sizes, &strides, &box_dim).swizzle(swizzle).encode();
    let map = map.map_err(|error| format!("`tensor:{text}`: {}", error.message))?;
    let count = bytes.len() / element.bytes;
    let names = vec![name, parameter.name.clone(), position.to_string()];
    Ok((map.to_vec(), Some(Buffer { names, pointer, element, format, shape: written, count, back })))
}

/// Parses the value of an argument; a plain number has the parameter's type.
fn given(text: &str, own: Option<Element>, example: &str) -> Result<Given, String> {
    if let Some(hex) = text.strip_prefix("bytes:") {
        let digit = |at: usize| hex.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
        let bytes: Option<Vec<u8>> = (0..hex.len()).step_by(2).map(digit).collect();
        return bytes.map(Given::Bytes).ok_or_else(|| format!("`{hex}` is not a whole number of bytes in hex"));
    }
    let changed = text.strip_prefix("inout:");
    if changed.is_some() || text.ends_with(".npy") {
        let path = Path::new(changed.unwrap_or(text));
        let npy::Array { format, shape, bytes } = npy::read(path)?;
        let known = ELEMENTS.into_iter().find(|known| known.format[1..] == format[1..]);
        let element =
            known.ok_or_else(|| format!("{}: elements of the format `{format}` are not known", path.display()))?;
        let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        return Ok(Given::Array { name, element, format, shape, bytes, back: changed.map(PathBuf::from) });
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
    let mut names: Vec<_> = ELEMENTS.iter().map(|element| format!("`{}`", element.name)).collect();
    names.dedup();
    format!("unknown element type `{ty}`; known are {}", names.join(", "))
}

/// The bytes of an array.
fn fill_with(fill: &str, element: Element, count: usize, seed: &str) -> Result<Vec<u8>, String> {
    let bytes = count.checked_mul(element.bytes).filter(|bytes| *bytes <= isize::MAX as usize / 2);
    let bytes = bytes.ok_or_else(|| format!("{count} elements do not fit into memory"))?;
    Ok(match fill {
        "out" | "zeros" => vec![0; bytes],
        "ones" => element.whole(1).repeat(count),
        "iota" => (0..count).flat_map(|index| element.whole(index as u64)).collect(),
        "random" => {
            let mut state: u64 = seed.parse().map_err(|_| format!("the seed `{seed}` is not a number"))?;
            let mut next = || {
                state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
                mixed ^ mixed >> 31
            };
            (0..count)
                .flat_map(|_| match element.is_float() {
                    // From zero to one.
                    true => element.float((next() >> 40) as f64 / (1_u64 << 24) as f64),
                    false => next().to_le_bytes().into_iter().cycle().take(element.bytes).collect(),
                })
                .collect()
        }
        _ => return Err(format!("`{fill}` fills no array; `out`, `zeros`, `ones`, `iota` and `random` do")),
    })
}
