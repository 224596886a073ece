//! Variables: their layouts and initial contents, from the parts that declare them.

use alloc::borrow::ToOwned;
use alloc::vec::Vec;

use super::{Bytes, Linkage, Relocation, Variable};
use crate::table::{Space, Table};
use crate::text::module::read::{Attributes, Value};

/// Size of an address in bytes, which is also that of an opaque variable.
const ADDRESS_BYTES: u64 = 8;

/// A gap of so few bytes between values is filled with zeros.
const SMALL_GAP: u64 = 64;

/// Returns a variable with these attributes and dimensions, without initial contents.
pub(super) fn variable(
    table: &Table,
    name: &str,
    space: &'static Space,
    linkage: Option<Linkage>,
    attributes: &Attributes<'_>,
    dimensions: &[u64],
) -> Variable {
    let bytes = attributes.ty.map_or(ADDRESS_BYTES, |ty| table.ty(ty).bytes());
    let lanes = u64::from(attributes.lanes.max(1));
    let natural = (bytes * lanes).next_power_of_two();
    let mut variable = Variable {
        name: name.to_owned(),
        space,
        ty: attributes.ty,
        elements: 0,
        size: 0,
        align: if attributes.align == 0 { natural } else { attributes.align },
        offset: 0,
        linkage,
        initial: Vec::new(),
        relocations: Vec::new(),
    };
    lay_out(table, &mut variable, lanes, dimensions);
    variable
}

/// Gives a variable the size of an array with these dimensions, of which the first is 0 if it is not given.
pub(super) fn lay_out(table: &Table, variable: &mut Variable, lanes: u64, dimensions: &[u64]) {
    let bytes = variable.ty.map_or(ADDRESS_BYTES, |ty| table.ty(ty).bytes());
    variable.elements = dimensions.iter().fold(lanes, |all, count| all.saturating_mul(*count));
    variable.size = variable.elements.saturating_mul(bytes);
}

/// Adds a value of the initializer of a variable, which is scalar number `at` of it.
pub(super) fn initialize(table: &Table, variable: &mut Variable, value: &Value<'_>, at: u64) {
    let Some(ty) = variable.ty else { return };
    let width = table.ty(ty).bytes();
    let offset = at.saturating_mul(width);
    match value {
        Value::Constant(constant) => {
            let bits = constant.bits(table.ty(ty)).unwrap_or_default();
            let place = bytes_at(&mut variable.initial, offset);
            place.extend((0..width as u32).map(|byte| bits.checked_shr(8 * byte).unwrap_or(0) as u8));
        }
        Value::Address { name, generic, addend, byte } => variable.relocations.push(Relocation {
            offset,
            bytes: width as u32,
            mask: byte.as_ref().map_or(u64::MAX, |(mask, _)| *mask),
            generic: *generic,
            name: (*name).to_owned(),
            symbol: None,
            addend: addend.unwrap_or(0),
        }),
    }
}

/// Returns the bytes to which those at an offset, which is behind all others, are to be added.
fn bytes_at(initial: &mut Vec<Bytes>, offset: u64) -> &mut Vec<u8> {
    let gap = |last: &Bytes| offset.saturating_sub(last.offset.saturating_add(last.bytes.len() as u64));
    match initial.last().map(gap) {
        Some(gap) if gap <= SMALL_GAP => {}
        _ => initial.push(Bytes { offset, bytes: Vec::new() }),
    }
    let last = initial.len() - 1;
    let Bytes { offset: start, bytes } = &mut initial[last];
    bytes.resize((offset - *start) as usize, 0);
    bytes
}
