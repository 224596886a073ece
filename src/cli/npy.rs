//! Arrays in files of NumPy: version 1 to 3 of its format, numbers only.

use std::fs;
use std::path::Path;

use ptx_isa::run::text::Array;

const MAGIC: &[u8] = b"\x93NUMPY";

/// Reads a file.
pub(super) fn read(path: &Path) -> Result<Array, String> {
    let data = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    parse(&data).ok_or_else(|| format!("{}: not an array of numbers in C order, as NumPy saves it", path.display()))
}

fn parse(data: &[u8]) -> Option<Array> {
    let rest = data.strip_prefix(MAGIC)?;
    let (version, rest) = rest.split_first_chunk::<2>()?;
    let (length, rest) = match version[0] {
        1 => rest.split_first_chunk::<2>().map(|(length, rest)| (usize::from(u16::from_le_bytes(*length)), rest))?,
        _ => rest.split_first_chunk::<4>().map(|(length, rest)| (u32::from_le_bytes(*length) as usize, rest))?,
    };
    let header = std::str::from_utf8(rest.get(..length)?).ok()?;
    let value = |key: &str| header.split_once(&format!("'{key}':")).map(|(_, rest)| rest.trim_start());
    let format = value("descr")?.strip_prefix('\'')?.split_once('\'')?.0;
    if value("fortran_order")?.starts_with("True") || format.starts_with('>') {
        return None;
    }
    let shape = value("shape")?.strip_prefix('(')?.split_once(')')?.0;
    let lengths = shape.split(',').map(str::trim).filter(|length| !length.is_empty());
    let count =
        lengths.map(|length| length.parse().ok()).try_fold(1_usize, |count, length| count.checked_mul(length?))?;
    let size: usize = format.get(2..)?.parse().ok()?;
    let bytes = rest.get(length..length.checked_add(count.checked_mul(size)?)?)?;
    Some(Array { format: format.to_owned(), shape: format!("({shape})"), bytes: bytes.to_vec() })
}

/// Writes a file.
pub(super) fn write(path: &Path, Array { format, shape, bytes }: &Array) -> Result<(), String> {
    let mut header = format!("{{'descr': '{format}', 'fortran_order': False, 'shape': {shape}, }}");
    // The numbers begin at a multiple of 64.
    while !(MAGIC.len() + 4 + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut data = MAGIC.to_vec();
    data.extend([1, 0]);
    data.extend((header.len() as u16).to_le_bytes());
    data.extend(header.as_bytes());
    data.extend(bytes);
    fs::write(path, data).map_err(|error| format!("{}: {error}", path.display()))
}
