//! Integers: arithmetic, bits, fields, and conversion between widths.
//!
//! ```
//! use ptx_isa::eval;
//!
//! assert_eq!(eval::add_sat_s8(100, 100), 127);
//! assert_eq!(eval::mul_high_u32(0x8000_0000, 6), 3);
//! assert_eq!(eval::convert_s64_s8(-1), -1);
//! ```

/// The words of `ProductPart`, in the order of the spec.
pub mod product_part {
    /// The lower half.
    pub const LO: u8 = 0;
    /// The upper half.
    pub const HI: u8 = 1;
    /// All of it.
    pub const WIDE: u8 = 2;
}

/// Returns one half of the carry-less product of `a` and `b`.
pub const fn carryless_mul_b64<const PART: u8>(a: u64, b: u64) -> u64 {
    let (mut product, mut place) = (0_u128, 0);
    while place < 64 {
        if a >> place & 1 != 0 {
            product ^= (b as u128) << place;
        }
        place += 1;
    }
    if PART == product_part::HI { (product >> 64) as u64 } else { product as u64 }
}

/// Packing and unpacking of values.
macro_rules! joined {
    ($($wide:ty, $narrow:ty: $join:ident($($part:ident),*) $element:ident;)*) => {$(
        /// Packs values, with the first one in the lowest bits.
        #[inline(always)]
        pub const fn $join($($part: $narrow),*) -> $wide {
            let parts = [$($part),*];
            let (mut all, mut place) = (0, parts.len());
            while place > 0 {
                place -= 1;
                all = all << <$narrow>::BITS | parts[place] as $wide;
            }
            all
        }
        /// Extracts the value at `index` of packed values; index 0 is the lowest.
        #[inline(always)]
        pub const fn $element(x: $wide, index: u32) -> $narrow { (x >> (index * <$narrow>::BITS)) as $narrow }
    )*};
}

joined! {
    u16, u8: concat_b16_b8(a, b) extract_b8_b16;
    u32, u16: concat_b32_b16(a, b) extract_b16_b32;
    u64, u32: concat_b64_b32(a, b) extract_b32_b64;
    u128, u64: concat_b128_b64(a, b) extract_b64_b128;
    u32, u8: concat_b32_b8(a, b, c, d) extract_b8_b32;
    u64, u16: concat_b64_b16(a, b, c, d) extract_b16_b64;
    u128, u32: concat_b128_b32(a, b, c, d) extract_b32_b128;
}

/// Arithmetic modulo two to the width.
macro_rules! modular {
    ($($ty:ty: $add:ident $sub:ident $mul:ident $shl:ident $shr:ident;)*) => {$(
        /// The sum modulo two to the width.
        #[inline(always)]
        pub const fn $add(a: $ty, b: $ty) -> $ty { a.wrapping_add(b) }
        /// The difference modulo two to the width.
        #[inline(always)]
        pub const fn $sub(a: $ty, b: $ty) -> $ty { a.wrapping_sub(b) }
        /// The product modulo two to the width.
        #[inline(always)]
        pub const fn $mul(a: $ty, b: $ty) -> $ty { a.wrapping_mul(b) }
        /// Shifts left; a shift by the width or more gives zero.
        #[inline(always)]
        pub const fn $shl(x: $ty, by: u32) -> $ty { if by < <$ty>::BITS { x << by } else { 0 } }
        /// Shifts right, and fills with zeros; a shift by the width or more gives zero.
        #[inline(always)]
        pub const fn $shr(x: $ty, by: u32) -> $ty { if by < <$ty>::BITS { x >> by } else { 0 } }
    )*};
}

modular! {
    u8:  add_b8 sub_b8 mul_b8 shl_b8 shr_b8;
    u16: add_b16 sub_b16 mul_b16 shl_b16 shr_b16;
    u32: add_b32 sub_b32 mul_b32 shl_b32 shr_b32;
    u64: add_b64 sub_b64 mul_b64 shl_b64 shr_b64;
}

pub use {shr_b8 as shr_u8, shr_b16 as shr_u16, shr_b32 as shr_u32, shr_b64 as shr_u64};

/// Carry out of the sum of three values, the third of which is 0 or 1.
macro_rules! carries {
    ($($ty:ty: $carry:ident;)*) => {$(
        /// Returns the carry out of `a + b + c`.
        #[inline(always)]
        pub const fn $carry(a: $ty, b: $ty, c: bool) -> bool {
            let (sum, first) = a.overflowing_add(b);
            first | sum.overflowing_add(c as $ty).1
        }
    )*};
}

carries! {
    u32: carry_out_b32;
    u64: carry_out_b64;
}

/// Saturating sums and differences.
macro_rules! saturating {
    ($($ty:ty: $add:ident $sub:ident;)*) => {$(
        /// Saturating sum.
        #[inline(always)]
        pub const fn $add(a: $ty, b: $ty) -> $ty { a.saturating_add(b) }
        /// Saturating difference.
        #[inline(always)]
        pub const fn $sub(a: $ty, b: $ty) -> $ty { a.saturating_sub(b) }
    )*};
}

saturating! {
    u8: add_sat_u8 sub_sat_u8;
    u16: add_sat_u16 sub_sat_u16;
    u32: add_sat_u32 sub_sat_u32;
    u64: add_sat_u64 sub_sat_u64;
    i8: add_sat_s8 sub_sat_s8;
    i16: add_sat_s16 sub_sat_s16;
    i32: add_sat_s32 sub_sat_s32;
    i64: add_sat_s64 sub_sat_s64;
}

macro_rules! signed_shifts {
    ($($ty:ty: $shr:ident;)*) => {$(
        /// Shifts right, and fills with the sign; a shift by the width or more gives copies of the sign.
        #[inline(always)]
        pub const fn $shr(x: $ty, by: u32) -> $ty { x >> if by < <$ty>::BITS { by } else { <$ty>::BITS - 1 } }
    )*};
}

signed_shifts! {
    i8: shr_s8;
    i16: shr_s16;
    i32: shr_s32;
    i64: shr_s64;
}

/// Products.
macro_rules! products {
    ($($ty:ty, $wide:ty: $high:ident;)*) => {$(
        /// The upper half of the product.
        #[inline(always)]
        pub const fn $high(a: $ty, b: $ty) -> $ty { ((a as $wide * b as $wide) >> <$ty>::BITS) as $ty }
    )*};
}

products! {
    u16, u32: mul_high_u16;
    u32, u64: mul_high_u32;
    u64, u128: mul_high_u64;
    i16, i32: mul_high_s16;
    i32, i64: mul_high_s32;
    i64, i128: mul_high_s64;
}

/// The quotient rounded towards zero, through floats: machines have no vectors that divide integers. Floats have more bits
/// than a quotient, so that theirs is on the right side of every integer.
macro_rules! quotient {
    ($ty:ty, $float:ty, $a:ident / $b:ident) => {{
        // The lowest bits of a sum with it are the nearest integer.
        const WHOLE: $float = 1.5 / <$float>::EPSILON;
        let quotient = $a as $float / $b as $float;
        let sum = quotient + WHOLE;
        let past = ((sum - WHOLE).abs() > quotient.abs()) as $ty;
        let near = sum.to_bits() as $ty;
        if quotient < 0.0 { near.wrapping_add(past) } else { near.wrapping_sub(past) }
    }};
    ($ty:ty, $a:ident / $b:ident) => {
        $a.wrapping_div(if $b == 0 { 1 } else { $b })
    };
}

/// Quotients and remainders.
macro_rules! quotients {
    ($($ty:ty, $ones:literal $(, $float:ty)?: $quotient:ident $remainder:ident;)*) => {$(
        /// The quotient rounded towards zero; ones if `b` is zero.
        #[inline(always)]
        pub const fn $quotient(a: $ty, b: $ty) -> $ty {
            let quotient = quotient!($ty $(, $float)?, a / b);
            if b == 0 { $ones } else { quotient }
        }
        /// Remainder of the division; `a` if `b` is zero.
        #[inline(always)]
        pub const fn $remainder(a: $ty, b: $ty) -> $ty {
            if b == 0 { a } else { a.wrapping_sub($quotient(a, b).wrapping_mul(b)) }
        }
    )*};
}

quotients! {
    u16, 0xffff, f32: div_u16 rem_u16;
    u32, 0xffff_ffff, f64: div_u32 rem_u32;
    u64, 0xffff_ffff_ffff_ffff: div_u64 rem_u64;
    i16, -1, f32: div_s16 rem_s16;
    i32, -1, f64: div_s32 rem_s32;
    i64, -1: div_s64 rem_s64;
}

/// The lower or the upper 32 bits of the product of two numbers of 24 bits.
#[inline(always)]
pub const fn mul24_u32<const PART: u8>(a: u32, b: u32) -> u32 {
    let product = (a & 0xff_ffff) as u64 * (b & 0xff_ffff) as u64;
    if PART == product_part::HI { (product >> 16) as u32 } else { product as u32 }
}

/// The lower or the upper 32 bits of the product of two numbers of 24 bits.
#[inline(always)]
pub const fn mul24_s32<const PART: u8>(a: i32, b: i32) -> i32 {
    let product = (a << 8 >> 8) as i64 * (b << 8 >> 8) as i64;
    if PART == product_part::HI { (product >> 16) as i32 } else { product as i32 }
}

/// Bit counts and bit order.
macro_rules! bits {
    ($($ty:ty: $ones:ident $zeros:ident $reverse:ident;)*) => {$(
        /// Counts the one bits.
        #[inline(always)]
        pub const fn $ones(x: $ty) -> u32 { x.count_ones() }
        /// Counts the leading zeros.
        #[inline(always)]
        pub const fn $zeros(x: $ty) -> u32 { x.leading_zeros() }
        /// Reverses the order of the bits.
        #[inline(always)]
        pub const fn $reverse(x: $ty) -> $ty { x.reverse_bits() }
    )*};
}

bits! {
    u32: population_count_b32 leading_zeros_b32 reverse_bits_b32;
    u64: population_count_b64 leading_zeros_b64 reverse_bits_b64;
}

/// The place of the n-th one of a mask from a bit on; downwards where n is negative; ones if there is none.
#[inline(always)]
pub const fn find_nth_set(mask: u32, base: u32, n: i32) -> u32 {
    if base > 31 {
        return u32::MAX;
    }
    if n == 0 {
        return if mask >> base & 1 != 0 { base } else { u32::MAX };
    }
    // Downwards is upwards in the mirror.
    let (mut left, first) =
        if n > 0 { (mask >> base << base, base) } else { ((mask << (31 - base)).reverse_bits(), base) };
    let mut count = n.unsigned_abs();
    while left != 0 && count > 1 {
        left &= left - 1;
        count -= 1;
    }
    match left {
        0 => u32::MAX,
        _ if n > 0 => left.trailing_zeros(),
        _ => first - left.trailing_zeros(),
    }
}

/// Fields of 32 bits mask positions and widths to 8 bits.
#[inline(always)]
const fn masked(by: u32) -> u32 {
    by & 0xff
}

/// `width` bits from bit `first` on, with zeros above.
#[inline(always)]
pub const fn extract_bits_u32(x: u32, first: u32, width: u32) -> u32 {
    shr_u32(x, masked(first)) & low_u32(masked(width))
}

/// `width` bits from bit `first` on, with zeros above.
#[inline(always)]
pub const fn extract_bits_u64(x: u64, first: u32, width: u32) -> u64 {
    shr_u64(x, first) & low_u64(width)
}

/// `width` bits from bit `first` on, with their sign above; zero if there are none.
#[inline(always)]
pub const fn extract_bits_s32(x: i32, first: u32, width: u32) -> i32 {
    let (shifted, width) = (shr_s32(x, masked(first)), masked(width));
    let unused = 32_u32.saturating_sub(width);
    if width == 0 { 0 } else { shifted << (unused & 31) >> (unused & 31) }
}

/// `width` bits from bit `first` on, with their sign above; zero if there are none.
#[inline(always)]
pub const fn extract_bits_s64(x: i64, first: u32, width: u32) -> i64 {
    let shifted = shr_s64(x, first);
    let unused = 64_u32.saturating_sub(width);
    if width == 0 { 0 } else { shifted << (unused & 63) >> (unused & 63) }
}

/// Returns a mask of the lowest `width` bits.
#[inline(always)]
const fn low_u32(width: u32) -> u32 {
    if width < 32 { (1 << width) - 1 } else { u32::MAX }
}

/// Returns a mask of the lowest `width` bits.
#[inline(always)]
const fn low_u64(width: u32) -> u64 {
    if width < 64 { (1 << width) - 1 } else { u64::MAX }
}

/// Replaces `width` bits of `x`, from bit `first` on, by the lowest bits of `y`.
#[inline(always)]
pub const fn insert_bits_b32(x: u32, y: u32, first: u32, width: u32) -> u32 {
    let mask = shl_b32(low_u32(masked(width)), masked(first));
    x & !mask | shl_b32(y, masked(first)) & mask
}

/// Replaces `width` bits of `x`, from bit `first` on, by the lowest bits of `y`.
#[inline(always)]
pub const fn insert_bits_b64(x: u64, y: u64, first: u32, width: u32) -> u64 {
    let mask = shl_b64(low_u64(width), first);
    x & !mask | shl_b64(y, first) & mask
}

/// Zero-extends the lowest `width` bits.
#[inline(always)]
pub const fn extend_bits_u32(x: u32, width: u32) -> u32 {
    x & low_u32(width)
}

/// Sign-extends the lowest `width` bits.
#[inline(always)]
pub const fn extend_bits_s32(x: i32, width: u32) -> i32 {
    extract_bits_s32(x, 0, if width < 32 { width } else { 32 })
}

/// Arbitrary bitwise function of three operands: bit `4·a + 2·b + c` of `table` is its result for the bits `a`, `b` and
/// `c`.
#[inline(always)]
pub const fn logic3(a: u32, b: u32, c: u32, table: u32) -> u32 {
    // A mask of ones for each outcome that is one.
    const fn all(table: u32, bit: u32) -> u32 {
        0_u32.wrapping_sub(table >> bit & 1)
    }
    let low = !c & (!b & all(table, 0) | b & all(table, 2)) | c & (!b & all(table, 1) | b & all(table, 3));
    let high = !c & (!b & all(table, 4) | b & all(table, 6)) | c & (!b & all(table, 5) | b & all(table, 7));
    !a & low | a & high
}

/// Permutes bytes: selects four of the eight bytes of two words by 4-bit selectors; bit 3 replicates the sign of the byte.
#[inline(always)]
pub const fn byte_permute(a: u32, b: u32, control: u32) -> u32 {
    let pool = a as u64 | (b as u64) << 32;
    let mut word = 0;
    let mut lane = 0;
    while lane < 4 {
        let digit = control >> (4 * lane) & 15;
        let byte = (pool >> (8 * (digit & 7))) as u8;
        let byte = if digit > 7 { (byte as i8 >> 7) as u8 } else { byte };
        word |= (byte as u32) << (8 * lane);
        lane += 1;
    }
    word
}

/// Each integer type to each.
macro_rules! conversions {
    ($($from:ty: $($to:ty = $name:ident)*;)*) => {$($(
        /// The integer with the same lowest bits; where it is wider, with zeros or the sign above them.
        #[inline(always)]
        pub const fn $name(x: $from) -> $to { x as $to }
    )*)*};
}

conversions! {
    u8: u8 = convert_u8_u8 u16 = convert_u16_u8 u32 = convert_u32_u8 u64 = convert_u64_u8 i8 = convert_s8_u8 i16 = convert_s16_u8 i32 = convert_s32_u8 i64 = convert_s64_u8;
    u16: u8 = convert_u8_u16 u16 = convert_u16_u16 u32 = convert_u32_u16 u64 = convert_u64_u16 i8 = convert_s8_u16 i16 = convert_s16_u16 i32 = convert_s32_u16 i64 = convert_s64_u16;
    u32: u8 = convert_u8_u32 u16 = convert_u16_u32 u32 = convert_u32_u32 u64 = convert_u64_u32 i8 = convert_s8_u32 i16 = convert_s16_u32 i32 = convert_s32_u32 i64 = convert_s64_u32;
    u64: u8 = convert_u8_u64 u16 = convert_u16_u64 u32 = convert_u32_u64 u64 = convert_u64_u64 i8 = convert_s8_u64 i16 = convert_s16_u64 i32 = convert_s32_u64 i64 = convert_s64_u64;
    i8: u8 = convert_u8_s8 u16 = convert_u16_s8 u32 = convert_u32_s8 u64 = convert_u64_s8 i8 = convert_s8_s8 i16 = convert_s16_s8 i32 = convert_s32_s8 i64 = convert_s64_s8;
    i16: u8 = convert_u8_s16 u16 = convert_u16_s16 u32 = convert_u32_s16 u64 = convert_u64_s16 i8 = convert_s8_s16 i16 = convert_s16_s16 i32 = convert_s32_s16 i64 = convert_s64_s16;
    i32: u8 = convert_u8_s32 u16 = convert_u16_s32 u32 = convert_u32_s32 u64 = convert_u64_s32 i8 = convert_s8_s32 i16 = convert_s16_s32 i32 = convert_s32_s32 i64 = convert_s64_s32;
    i64: u8 = convert_u8_s64 u16 = convert_u16_s64 u32 = convert_u32_s64 u64 = convert_u64_s64 i8 = convert_s8_s64 i16 = convert_s16_s64 i32 = convert_s32_s64 i64 = convert_s64_s64;
}
