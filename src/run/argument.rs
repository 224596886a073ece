//! Arguments of kernels, held against the parameters that they are for.

use std::format;
use std::prelude::rust_2024::*;

use isa_table::count::Count;
use ptx_isa::table::{Kind, Table};
use ptx_isa::text::resolved::Variable;

use super::error::{Error, ErrorKind};
use super::launch::Kernel;
use super::raw::Bytes;

/// The value of a kernel's parameter, as bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Argument {
    pub(crate) bytes: Vec<u8>,
    /// Rust's type of the number that it was made from.
    number: Option<&'static str>,
}

impl Argument {
    /// Creates an argument from its bytes, such as those of a struct that is passed by value. Their number is that of the parameter.
    pub fn bytes(bytes: impl Into<Vec<u8>>) -> Argument {
        Argument { bytes: bytes.into(), number: None }
    }

    /// Returns the bytes that the kernel receives.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The number of a type.
    pub(crate) fn number(bytes: &[u8], ty: &'static str) -> Argument {
        Argument { bytes: bytes.to_vec(), number: Some(ty) }
    }

    /// The argument as Rust writes it: `1000_u32`.
    fn written(&self) -> String {
        match self.number {
            Some("f32") => format!("{:?}_f32", f32::from_le_bytes(self.bytes[..].try_into().unwrap_or_default())),
            Some("f64") => format!("{:?}_f64", f64::from_le_bytes(self.bytes[..].try_into().unwrap_or_default())),
            Some(ty) => format!("{}_{ty}", integer(&self.bytes, ty.starts_with('i'))),
            None => format!("{} bytes", self.bytes.len()),
        }
    }

    /// The nearest argument that the parameter takes, as Rust writes it.
    fn nearest(&self, parameter: &Variable, table: &Table) -> String {
        let bits = parameter.size * 8;
        if parameter.elements != 1 || !matches!(bits, 8 | 16 | 32 | 64) {
            return format!("`Argument::bytes` of {} bytes", parameter.size);
        }
        let float = is_float(parameter, table);
        let value = match self.number {
            Some("f32") => f64::from(f32::from_le_bytes(self.bytes[..].try_into().unwrap_or_default())),
            Some("f64") => f64::from_le_bytes(self.bytes[..].try_into().unwrap_or_default()),
            Some(ty) => integer(&self.bytes, ty.starts_with('i')) as f64,
            None => 0.0,
        };
        match (float, bits) {
            (true, 32 | 64) => format!("`{value:?}_f{bits}`"),
            (true, _) => format!("`Argument::bytes` of {} bytes", parameter.size),
            (false, _) if value < 0.0 => format!("`{}_i{bits}`", value as i64),
            (false, _) => format!("`{}_u{bits}`", value as u64),
        }
    }
}

/// The integer with these bytes, up to eight.
fn integer(bytes: &[u8], signed: bool) -> i128 {
    let bits = bytes.iter().rev().fold(0_i128, |bits, byte| bits << 8 | i128::from(*byte));
    let width = 8 * bytes.len();
    if signed && bits >> (width - 1) & 1 == 1 { bits - (1 << width) } else { bits }
}

fn is_float(parameter: &Variable, table: &Table) -> bool {
    parameter.ty.is_some_and(|ty| table.ty(ty).kind == Kind::Float)
}

/// Returns true if the parameter accepts the number as a value: integers for integer types, floats for float types, and
/// any number for types of bits.
fn takes(parameter: &Variable, number: &str, table: &Table) -> bool {
    let kind = parameter.ty.map(|ty| table.ty(ty).kind);
    match kind {
        Some(Kind::Float) => number.starts_with('f'),
        Some(Kind::Signed | Kind::Unsigned) => parameter.elements != 1 || !number.starts_with('f'),
        _ => true,
    }
}

impl Kernel {
    /// The kernel with its parameters, as its head declares them: `saxpy(.u32 n, .f32 a, .u64 x, .u64 y)`.
    pub fn signature(&self) -> String {
        let parameters: Vec<String> = self.parameters().map(|parameter| declared(parameter, self.table())).collect();
        format!("{}({})", self.name(), parameters.join(", "))
    }

    /// The finding that there are too few arguments or too many.
    fn miscounted(&self, given: usize) -> String {
        let taken = Count(self.parameters().count(), "argument");
        let missing = self.parameters().skip(given);
        let missing = missing.map(|parameter| format!("`{}`", declared(parameter, self.table())));
        match Vec::from_iter(missing).join(", ") {
            none if none.is_empty() => format!("the kernel takes {taken}, not {given}"),
            missing => format!("the kernel takes {taken}, not {given}; missing: {missing}"),
        }
    }

    /// Writes the bytes of all parameters, if the arguments are those of the kernel.
    pub(crate) fn write_parameters(&self, arguments: &[Argument], bytes: &Bytes) -> Result<(), Error> {
        let fail = |message: String| {
            Err(Error::new(ErrorKind::Arguments, format!("{message}\n  the kernel is {}", self.signature())))
        };
        if self.parameters().count() != arguments.len() {
            return fail(self.miscounted(arguments.len()));
        }
        for (number, (parameter, argument)) in self.parameters().zip(arguments).enumerate() {
            let fits = argument.bytes.len() as u64 == parameter.size;
            if !fits || argument.number.is_some_and(|number| !takes(parameter, number, self.table())) {
                let (written, nearest) = (argument.written(), argument.nearest(parameter, self.table()));
                return fail(format!(
                    "argument {number} is `{written}`, but the parameter is `{}`: pass {nearest}",
                    declared(parameter, self.table())
                ));
            }
            bytes.write(parameter.offset as usize, &argument.bytes);
        }
        Ok(())
    }
}

/// A parameter as a head declares it: `.u32 n`.
fn declared(parameter: &Variable, table: &Table) -> String {
    let ty = parameter.ty.map_or("b8", |ty| table.ty(ty).name);
    match parameter.elements {
        1 => format!(".{ty} {}", parameter.name),
        count => format!(".{ty} {}[{count}]", parameter.name),
    }
}
