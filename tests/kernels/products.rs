//! Products of a warp, and the registers that hold their matrices.

use ptx_isa::matrix::Product;
use ptx_isa::text::mnemonic::resolve;
use ptx_isa::warp::Level;

use crate::model::{Random, input, pack, place_of_a, place_of_b, place_of_c};

/// A register of each lane.
type Lanes = [u64; 32];

/// Types of an element of `a`, `b`, `c` and `d`.
pub(crate) type Types = (&'static str, &'static str, &'static str, &'static str);

/// Returns the product of a form on a target.
pub(crate) fn product(form: &str, sm: u16) -> Product {
    let found = resolve(&ptx_isa::TABLE, form).unwrap_or_else(|refusal| panic!("{form}: {refusal:?}"));
    Product::new(found.form, &found.free, sm).unwrap_or_else(|error| panic!("{form}: {error}"))
}

/// Returns what every level of the machine computes.
pub(crate) fn agreed(product: &Product, compute: impl Fn(&Product) -> Vec<Lanes>) -> Vec<Lanes> {
    let best = compute(product);
    for level in Level::available() {
        assert_eq!(compute(&product.clone().at_level(level)), best, "{level:?} of {product:?}");
    }
    best
}

/// Random elements of a type.
pub(crate) fn fill(random: &mut Random, count: usize, ty: &str, kind: u64) -> Vec<u64> {
    (0..count).map(|_| input(random, ty, kind)).collect()
}

/// Places an element in its container of so many bits: one of four bits has its place in a byte.
pub(crate) fn contained(ty: &str, bits: usize, word: u64) -> u64 {
    if bits == 8 && ty == "e2m1" { word << 2 } else { word }
}

/// Registers of an `m` × `k` matrix `a` with elements of so many bits, of which `of` gives each.
pub(crate) fn hold_a([m, k]: [usize; 2], bits: usize, of: impl Fn(usize, usize) -> u64) -> Vec<Lanes> {
    let per = 32 / bits;
    pack(m * k / 32 / per, per, bits, |lane, register, part| {
        // A matrix with eight rows lacks the registers of rows 8 to 15.
        let register = if m == 8 { 2 * register } else { register };
        let (row, column) = place_of_a(lane, register, part, per);
        of(row, column)
    })
}

/// Registers of a `k` × `n` matrix `b`.
pub(crate) fn hold_b([k, n]: [usize; 2], bits: usize, of: impl Fn(usize, usize) -> u64) -> Vec<Lanes> {
    let per = 32 / bits;
    pack(k * n / 32 / per, per, bits, |lane, register, part| {
        let (row, column) = place_of_b(lane, register, part, per);
        of(row, column)
    })
}

/// Number of elements of an accumulator in a register.
fn per_register(ty: &str) -> usize {
    if ty == "f16" { 2 } else { 1 }
}

/// Registers of an `m` × `n` matrix `c` of a type.
pub(crate) fn hold_c([m, n]: [usize; 2], ty: &str, of: impl Fn(usize, usize) -> u64) -> Vec<Lanes> {
    let per = per_register(ty);
    pack(m * n / 32 / per, per, 16, |lane, register, part| {
        let (row, column) = place_of_c(lane, register * per + part);
        of(row, column)
    })
}

/// The elements of an `m` × `n` result of a type: row, column and bits of each.
pub(crate) fn elements(d: &[Lanes], [m, n]: [usize; 2], ty: &str) -> Vec<(usize, usize, u64)> {
    let per = per_register(ty);
    let places = (0..32).flat_map(|lane| (0..m * n / 32).map(move |element| (lane, element)));
    let element = |(lane, element): (usize, usize)| {
        let (row, column) = place_of_c(lane, element);
        let word = d[element / per][lane] >> (16 * (element % per));
        (row, column, if per == 2 { word & 0xffff } else { word })
    };
    places.map(element).collect()
}
