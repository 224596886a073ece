//! Tensor maps: descriptors of a tensor in global memory and of the part of it that a tensor copy moves.
//!
//! ```
//! use ptx_isa::run::{Memory, Swizzle, TensorElement, TensorMap};
//!
//! let memory = Memory::new();
//! let matrix = memory.allocate(2 * 512 * 256);
//! // 256 rows of 512 halves, in boxes of 32 rows of 64.
//! let map = TensorMap::tiled(TensorElement::F16, matrix, &[512, 256], &[1024], &[64, 32]).swizzle(Swizzle::Bytes128);
//! let argument = ptx_isa::run::Argument::bytes(map.encode()?);
//! # Ok::<(), ptx_isa::run::Error>(())
//! ```
//!
//! # Encoding
//!
//! The 128 bytes are opaque to kernels, which pass them on or change them by `tensormap.replace`. They are this crate's own, not those of a
//! driver: numbers are little-endian, and bytes that are not listed are zero.
//!
//! | bytes | what |
//! |---|---|
//! | 0 to 3 | `PTXM` |
//! | 4 | version of the encoding, 1 |
//! | 5 | 0 in tiled, 1 in im2col mode |
//! | 6 | number of dimensions, less one |
//! | 7 | [type of elements](TensorElement) |
//! | 8 | interleave layout: 0, or 1 and 2 for 16 and 32 bytes |
//! | 9 | swizzle mode: 0, 1, 2, 3, 4 for none, 32, 64, 128 and 96 bytes |
//! | 10 | swizzle atomicity: 0, 1, 2, 3 for 16 bytes, 32, 32 with halves of 16 swapped, 64 |
//! | 11 | fill: 0 for zeros, 1 for NaN |
//! | 16 to 23 | global address |
//! | 24 to 55 | strides of the dimensions above the first, in bytes, 8 bytes each |
//! | 56 to 75 | sizes of the dimensions, 4 bytes each |
//! | 76 to 85 | sizes of the box, 2 bytes each; in im2col mode channels per pixel and pixels per column |
//! | 86 to 90 | element strides |
//! | 92 to 103 | in im2col mode the lower corner of the bounding box in W, H and D, then the upper one, 2 bytes each |
//!
//! `tensormap.replace` also takes 128 zeros for a tensor map: this is how kernels make one.

pub(crate) mod walk;

use std::prelude::rust_2024::*;
use std::{format, vec};

use super::error::{Error, ErrorKind};

/// Bytes of a tensor map.
pub(crate) const BYTES: usize = 128;
const MAGIC: [u8; 4] = *b"PTXM";
const VERSION: u8 = 1;
/// The most dimensions.
const RANK: usize = 5;
/// Elements of a row of the box, and a divisor of coordinates, where elements are padded.
const PADDED: u32 = 128;

macro_rules! elements {
    ($($(#[$docs:meta])* $name:ident = $code:literal $bits:literal,)*) => {
        /// Type of a tensor's elements; the numbers are those that `tensormap.replace` takes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum TensorElement { $($(#[$docs])* $name = $code,)* }

        impl TensorElement {
            /// All types.
            pub const ALL: &[TensorElement] = &[$(TensorElement::$name),*];

            /// The name, as the manual has it without the dot, in upper case.
            pub fn name(self) -> &'static str {
                match self { $(TensorElement::$name => stringify!($name),)* }
            }

            /// Bits of an element in global memory.
            pub fn bits(self) -> u32 {
                match self { $(TensorElement::$name => $bits,)* }
            }
        }
    };
}

elements! {
    /// Unsigned 8-bit integer.
    U8 = 0 8,
    /// Unsigned 16-bit integer.
    U16 = 1 16,
    /// Unsigned 32-bit integer.
    U32 = 2 32,
    /// Signed 32-bit integer.
    S32 = 3 32,
    /// Unsigned 64-bit integer.
    U64 = 4 64,
    /// Signed 64-bit integer.
    S64 = 5 64,
    /// Half precision.
    F16 = 6 16,
    /// Single precision.
    F32 = 7 32,
    /// Single precision, subnormal numbers are flushed to zero.
    F32Ftz = 8 32,
    /// Double precision.
    F64 = 9 64,
    /// bfloat16.
    Bf16 = 10 16,
    /// Single precision, rounded to TF32 when loaded.
    Tf32 = 11 32,
    /// The same, subnormal numbers are flushed to zero.
    Tf32Ftz = 12 32,
    /// Elements of 4 bits, 16 in 8 bytes.
    B4x16 = 13 4,
    /// Elements of 4 bits that are padded in shared memory: 16 in 16 bytes.
    B4x16P64 = 14 4,
    /// Elements of 6 bits that are padded in shared memory: 16 in 16 bytes, of which copies to shared memory fill the first 12
    /// (`.b6x16_p32`); copies to a tensor take six bits of each byte (`.b6p2x16`).
    B6x16P32 = 15 6,
}

impl TensorElement {
    fn of(code: u8) -> Option<TensorElement> {
        TensorElement::ALL.get(usize::from(code)).copied()
    }

    /// Returns true if each 16 elements are padded to 16 bytes in shared memory.
    pub(crate) fn padded(self) -> bool {
        matches!(self, TensorElement::B4x16P64 | TensorElement::B6x16P32)
    }

    /// Bytes of some adjacent elements in shared memory.
    fn shared_bytes(self, count: u64) -> u64 {
        if self.padded() { count } else { count * u64::from(self.bits()) / 8 }
    }

    /// Returns true if elements out of bounds can be filled with NaN.
    fn is_float(self) -> bool {
        use TensorElement::{Bf16, F16, F32, F32Ftz, F64, Tf32, Tf32Ftz};
        matches!(self, F16 | F32 | F32Ftz | F64 | Bf16 | Tf32 | Tf32Ftz)
    }
}

/// Interleave layout of a tensor's channels in global memory.
///
/// An interleaved tensor has its channels in slices of a fixed size: a pixel's slices are in different planes. Its dimensions are W, then H and
/// D as far as there are any, then slices, then images, and the position of a pixel in W is a whole slice. So the first stride is that of
/// the second dimension, and corners of a bounding box begin with W. A copy moves one slice of each pixel, however many channels the box
/// has; sizes and coordinates of the dimension of slices count slices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Interleave {
    /// Channels are adjacent.
    #[default]
    None = 0,
    /// Slices of 16 bytes.
    Bytes16 = 1,
    /// Slices of 32 bytes.
    Bytes32 = 2,
}

/// How chunks of 16 bytes are permuted in shared memory: by an exclusive OR with bits of their address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Swizzle {
    /// Not at all.
    #[default]
    None = 0,
    /// Within 32 bytes.
    Bytes32 = 1,
    /// Within 64 bytes.
    Bytes64 = 2,
    /// Within 128 bytes.
    Bytes128 = 3,
    /// Within 96 bytes.
    Bytes96 = 4,
}

/// Atomicity of a 128-byte swizzle: the unit whose bytes stay contiguous.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SwizzleAtom {
    /// 16 bytes.
    #[default]
    Bytes16 = 0,
    /// 32 bytes.
    Bytes32 = 1,
    /// 32 bytes, with the halves of each 16 swapped in every other 128 bytes.
    Bytes32Flip8 = 2,
    /// 64 bytes.
    Bytes64 = 3,
}

/// Value of elements that are out of bounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Fill {
    /// Zero.
    #[default]
    Zero = 0,
    /// The out-of-bounds NaN: `0x7ff7` in each 16 bits.
    Nan = 1,
}

/// The part of a tensor that a copy moves.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TensorPart {
    /// A box with these sizes.
    Tiled {
        /// Size in each dimension, in elements.
        box_dim: Vec<u32>,
    },
    /// Pixels of images; the dimensions are channels, then W, H and D as far as there are any, then images.
    Im2col {
        /// Lower corner of the bounding box in W, H and D.
        lower: Vec<i16>,
        /// Upper corner, relative to the last pixel.
        upper: Vec<i16>,
        /// Channels of each pixel.
        channels: u16,
        /// Pixels of a copy.
        pixels: u16,
    },
}

/// A tensor map before it is encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorMap {
    /// Type of the elements.
    pub element: TensorElement,
    /// Address of the tensor in global memory.
    pub global_address: u64,
    /// Size in each dimension, in elements; the first dimension is adjacent in memory.
    pub global_dim: Vec<u64>,
    /// Stride of each dimension but the first, in bytes.
    pub global_stride: Vec<u64>,
    /// The part that a copy moves.
    pub part: TensorPart,
    /// Traversal stride in each dimension, in elements.
    pub element_stride: Vec<u32>,
    /// Interleave layout.
    pub interleave: Interleave,
    /// Permutation in shared memory.
    pub swizzle: Swizzle,
    /// Atomicity of the swizzle.
    pub atom: SwizzleAtom,
    /// Value of elements that are out of bounds.
    pub fill: Fill,
}

impl TensorMap {
    /// Describes a tensor that is copied in boxes of `box_dim` elements. `global_stride` has the stride in bytes of each dimension but the
    /// first.
    pub fn tiled(
        element: TensorElement,
        global_address: u64,
        global_dim: &[u64],
        global_stride: &[u64],
        box_dim: &[u32],
    ) -> TensorMap {
        TensorMap {
            element,
            global_address,
            global_dim: global_dim.to_vec(),
            global_stride: global_stride.to_vec(),
            part: TensorPart::Tiled { box_dim: box_dim.to_vec() },
            element_stride: vec![1; global_dim.len()],
            interleave: Interleave::None,
            swizzle: Swizzle::None,
            atom: SwizzleAtom::Bytes16,
            fill: Fill::Zero,
        }
    }

    /// Describes images of 3 to 5 dimensions: channels, W\[, H\[, D\]\], images. `lower` and `upper` are the corners of the bounding box, with an
    /// entry for each spatial dimension; `channels` and `pixels` are the channels of a pixel and the pixels that one copy moves.
    pub fn im2col(
        element: TensorElement,
        global_address: u64,
        global_dim: &[u64],
        global_stride: &[u64],
        [lower, upper]: [&[i16]; 2],
        [channels, pixels]: [u16; 2],
    ) -> TensorMap {
        let part = TensorPart::Im2col { lower: lower.to_vec(), upper: upper.to_vec(), channels, pixels };
        TensorMap { part, ..TensorMap::tiled(element, global_address, global_dim, global_stride, &[]) }
    }

    /// Sets the swizzle mode.
    #[must_use]
    pub fn swizzle(self, swizzle: Swizzle) -> TensorMap {
        TensorMap { swizzle, ..self }
    }

    /// Sets the units that are swizzled.
    #[must_use]
    pub fn atom(self, atom: SwizzleAtom) -> TensorMap {
        TensorMap { atom, ..self }
    }

    /// Sets the value of elements that are out of bounds.
    #[must_use]
    pub fn fill(self, fill: Fill) -> TensorMap {
        TensorMap { fill, ..self }
    }

    /// Sets the interleave layout.
    #[must_use]
    pub fn interleave(self, interleave: Interleave) -> TensorMap {
        TensorMap { interleave, ..self }
    }

    /// Sets the traversal stride of each dimension, in elements.
    #[must_use]
    pub fn element_stride(self, element_stride: &[u32]) -> TensorMap {
        TensorMap { element_stride: element_stride.to_vec(), ..self }
    }

    /// Encodes the tensor map. Kernels take the 128 bytes by value, or in memory at a multiple of 64.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TensorMap`] if no tensor copy could use it.
    pub fn encode(&self) -> Result<[u8; BYTES], Error> {
        let rank = self.global_dim.len();
        let wrong = |message: String| Error::new(ErrorKind::TensorMap, message);
        if !(1..=RANK).contains(&rank) {
            return Err(wrong(format!("a tensor has 1 to {RANK} dimensions, not {rank}")));
        }
        let counted = |what: &str, found: usize, expected: usize| match found == expected {
            true => Ok(()),
            false => Err(wrong(format!("a tensor of {rank} dimensions has {expected} {what}, not {found}"))),
        };
        counted("strides", self.global_stride.len(), rank - 1)?;
        counted("element strides", self.element_stride.len(), rank)?;
        let mut fields = Fields {
            mode: 0,
            rank,
            element: self.element as u8,
            interleave: self.interleave as u8,
            swizzle: self.swizzle as u8,
            atom: self.atom as u8,
            fill: self.fill as u8,
            address: self.global_address,
            ..Fields::default()
        };
        fields.strides[..rank - 1].copy_from_slice(&self.global_stride);
        for (axis, size) in self.global_dim.iter().enumerate() {
            let Ok(size) = u32::try_from(*size) else {
                return Err(wrong(format!("dimension {axis} has {size} elements; the most are {}", u32::MAX)));
            };
            fields.sizes[axis] = size;
        }
        for (axis, stride) in self.element_stride.iter().enumerate() {
            fields.steps[axis] = u8::try_from(*stride).unwrap_or(u8::MAX);
        }
        match &self.part {
            TensorPart::Tiled { box_dim } => {
                counted("sizes of the box", box_dim.len(), rank)?;
                for (axis, size) in box_dim.iter().enumerate() {
                    fields.tile[axis] = u16::try_from(*size).unwrap_or(u16::MAX);
                }
            }
            TensorPart::Im2col { lower, upper, channels, pixels } => {
                if rank < 3 {
                    return Err(wrong(format!("im2col mode needs 3 to 5 dimensions, not {rank}")));
                }
                fields.mode = 1;
                counted("coordinates of the lower corner", lower.len(), rank - 2)?;
                counted("coordinates of the upper corner", upper.len(), rank - 2)?;
                fields.tile[..2].copy_from_slice(&[*channels, *pixels]);
                fields.lower[..rank - 2].copy_from_slice(lower);
                fields.upper[..rank - 2].copy_from_slice(upper);
            }
        }
        fields.check().map_err(wrong)?;
        Ok(fields.bytes())
    }
}

/// Decoded fields of a tensor map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fields {
    /// 0 for boxes, 1 for columns.
    mode: u8,
    pub rank: usize,
    pub element: u8,
    interleave: u8,
    pub swizzle: u8,
    pub atom: u8,
    pub fill: u8,
    pub address: u64,
    /// Of the dimensions above the first.
    strides: [u64; RANK - 1],
    sizes: [u32; RANK],
    /// Sizes of a box, or channels and pixels.
    tile: [u16; RANK],
    steps: [u8; RANK],
    lower: [i16; 3],
    upper: [i16; 3],
}

impl Fields {
    fn bytes(&self) -> [u8; BYTES] {
        let mut bytes = [0; BYTES];
        let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
        put(0, &MAGIC);
        let small = [self.mode, self.rank as u8 - 1, self.element, self.interleave, self.swizzle, self.atom, self.fill];
        put(4, &[VERSION]);
        put(5, &small);
        put(16, &self.address.to_le_bytes());
        self.strides.iter().enumerate().for_each(|(axis, stride)| put(24 + 8 * axis, &stride.to_le_bytes()));
        self.sizes.iter().enumerate().for_each(|(axis, size)| put(56 + 4 * axis, &size.to_le_bytes()));
        self.tile.iter().enumerate().for_each(|(axis, size)| put(76 + 2 * axis, &size.to_le_bytes()));
        put(86, &self.steps);
        let corners = self.lower.iter().chain(&self.upper);
        corners.enumerate().for_each(|(axis, corner)| put(92 + 2 * axis, &corner.to_le_bytes()));
        bytes
    }

    /// Reads the bytes, whether or not a copy could use them.
    fn parse(bytes: &[u8; BYTES]) -> Result<Fields, String> {
        let array = |at: usize| -> [u8; 8] { bytes[at..at + 8].try_into().expect("eight bytes") };
        let number = |at: usize, count: usize| u64::from_le_bytes(array(at)) & (u64::MAX >> (64 - 8 * count));
        if bytes[..4] != MAGIC {
            return Err("the 128 bytes are not a tensor map: make one with `TensorMap::encode`, or by `tensormap.replace` from zeros".into());
        }
        if bytes[4] != VERSION {
            return Err(format!("the tensor map has version {} of the encoding, not {VERSION}", bytes[4]));
        }
        Ok(Fields {
            mode: bytes[5],
            rank: usize::from(bytes[6]) + 1,
            element: bytes[7],
            interleave: bytes[8],
            swizzle: bytes[9],
            atom: bytes[10],
            fill: bytes[11],
            address: number(16, 8),
            strides: std::array::from_fn(|axis| number(24 + 8 * axis, 8)),
            sizes: std::array::from_fn(|axis| number(56 + 4 * axis, 4) as u32),
            tile: std::array::from_fn(|axis| number(76 + 2 * axis, 2) as u16),
            steps: std::array::from_fn(|axis| bytes[86 + axis]),
            lower: std::array::from_fn(|axis| number(92 + 2 * axis, 2) as i16),
            upper: std::array::from_fn(|axis| number(98 + 2 * axis, 2) as i16),
        })
    }

    /// Reads the bytes of a tensor map that a copy uses.
    pub(crate) fn read(bytes: &[u8; BYTES]) -> Result<Fields, String> {
        let fields = Fields::parse(bytes)?;
        fields.check()?;
        Ok(fields)
    }

    pub(crate) fn element(&self) -> TensorElement {
        TensorElement::of(self.element).unwrap_or(TensorElement::U8)
    }

    /// Finds what keeps a copy from using it.
    fn check(&self) -> Result<(), String> {
        if self.rank > RANK {
            return Err(format!("the tensor map has {} dimensions; the most are {RANK}", self.rank));
        }
        let Some(element) = TensorElement::of(self.element) else {
            return Err(format!("the tensor map has the unknown type {} of elements", self.element));
        };
        let known =
            [("mode", self.mode, 1), ("interleave layout", self.interleave, 2), ("swizzle mode", self.swizzle, 4)];
        let known = known.into_iter().chain([("swizzle atomicity", self.atom, 3), ("fill mode", self.fill, 1)]);
        for (what, value, most) in known {
            if value > most {
                return Err(format!("the tensor map has the unknown {what} {value}"));
            }
        }
        if self.interleave != Interleave::None as u8 {
            if self.rank < 3 {
                return Err(format!("an interleaved tensor has 3 to {RANK} dimensions, not {}", self.rank));
            }
            if element.bits() < 8 {
                return Err(format!("interleaved tensors cannot have elements of the type {}", element.name()));
            }
        }
        if self.swizzle == Swizzle::Bytes96 as u8 {
            return Err("a swizzle of 96 bytes cannot be copied here: the pitch of its rows is not documented".into());
        }
        if self.atom != 0 && self.swizzle != Swizzle::Bytes128 as u8 {
            return Err("only a swizzle of 128 bytes has an atomicity other than 16 bytes".into());
        }
        if self.fill == Fill::Nan as u8 && !element.is_float() {
            return Err(format!("elements of the type {} out of bounds cannot be NaN", element.name()));
        }
        let align = if element.padded() || self.slice() == Some(32) { 32 } else { 16 };
        if !self.address.is_multiple_of(align) {
            return Err(format!("the tensor's address {:#x} is not a multiple of {align}", self.address));
        }
        for (axis, stride) in self.strides[..self.rank - 1].iter().enumerate() {
            if stride % align != 0 || *stride >= 1 << 40 {
                return Err(format!("stride {axis} is {stride} bytes, not a multiple of {align} below 2^40"));
            }
        }
        for (axis, size) in self.sizes[..self.rank].iter().enumerate() {
            if *size == 0 {
                return Err(format!("dimension {axis} of the tensor has no elements"));
            }
        }
        for (axis, step) in self.steps[..self.rank].iter().enumerate() {
            if !(1..=8).contains(step) {
                return Err(format!("element stride {axis} is {step}, not 1 to 8"));
            }
        }
        if !(u64::from(self.sizes[0]) * u64::from(element.bits())).is_multiple_of(8) {
            return Err(format!("a row of the tensor has {} elements, not a whole number of bytes", self.sizes[0]));
        }
        if element.padded() {
            let name = element.name();
            if !self.sizes[0].is_multiple_of(PADDED) || u32::from(self.tile[0]) != PADDED {
                let (size, row) = (self.sizes[0], self.tile[0]);
                return Err(format!(
                    "a row of elements of the type {name} has a multiple of {PADDED} and one of the box {PADDED}, not {size} and {row}"
                ));
            }
            if !matches!((self.swizzle, self.atom), (0, _) | (3, 0 | 1 | 3)) {
                return Err(format!(
                    "elements of the type {name} take a swizzle of 128 bytes that keeps 16, 32 or 64 bytes in order, or none"
                ));
            }
        }
        let inner = u64::from(self.tile[0]) * u64::from(element.bits());
        if self.mode == 0 {
            if let Some(axis) = self.tile[..self.rank].iter().position(|size| !(1..=256).contains(size)) {
                return Err(format!("dimension {axis} of the box has {} elements, not 1 to 256", self.tile[axis]));
            }
        } else {
            if self.rank < 3 {
                return Err("im2col mode needs 3 to 5 dimensions".into());
            }
            self.check_corners(true)?;
            let [channels, pixels] = [self.tile[0], self.tile[1]];
            if !(1..=256).contains(&channels) || !(1..=1024).contains(&pixels) {
                return Err(format!("a copy has 1 to 256 channels of 1 to 1024 pixels, not {channels} of {pixels}"));
            }
        }
        if !inner.is_multiple_of(128) {
            return Err(format!("a row of the box, {inner} bits, is not a multiple of 16 bytes"));
        }
        let row = element.shared_bytes(self.tile[0].into());
        match self.span() {
            Some(span) if row > span && self.slice().is_none() => {
                Err(format!("a row of the box has {row} bytes, and the swizzle mode takes {span}"))
            }
            _ => Ok(()),
        }
    }

    /// Checks the bounding box of im2col mode. The wide modes, which only use its dimension 0, have no other limit in that.
    fn check_corners(&self, wide: bool) -> Result<(), String> {
        let images = self.rank - 2;
        for (axis, (lower, upper)) in self.lower.iter().zip(&self.upper).take(images).enumerate() {
            let most = if wide && axis == 0 { i16::MAX } else { [i16::MAX, 127, 15][images - 1] };
            if let Some(corner) = [*lower, *upper].into_iter().find(|corner| !(-1 - most..=most).contains(corner)) {
                let least = -1 - i32::from(most);
                return Err(format!("corner {axis} of the bounding box is {corner}, not {least} to {most}"));
            }
            let size = i64::from(self.sizes[axis + self.outer()]);
            if size + i64::from(*upper) <= i64::from(*lower) {
                return Err(format!("the bounding box from {lower} to {} is empty", size - 1 + i64::from(*upper)));
            }
        }
        Ok(())
    }

    /// Bytes of a slice of channels, if the tensor is interleaved.
    pub(crate) fn slice(&self) -> Option<u64> {
        [(Interleave::Bytes16, 16), (Interleave::Bytes32, 32)]
            .into_iter()
            .find_map(|(layout, bytes)| (self.interleave == layout as u8).then_some(bytes))
    }

    /// Bytes within which chunks are permuted.
    fn span(&self) -> Option<u64> {
        match self.swizzle {
            1 => Some(32),
            2 => Some(64),
            3 => Some(128),
            _ => None,
        }
    }

    /// Bytes that stay together.
    pub(crate) fn unit(&self) -> u64 {
        match (self.span(), self.atom) {
            (None, _) => u64::MAX,
            (_, 2) => 8,
            _ => 16,
        }
    }

    /// Returns the swizzled address of a byte in shared memory, given its address without the swizzle.
    pub(crate) fn swizzled(&self, at: u64) -> u64 {
        let line = at >> 7;
        match (self.swizzle, self.atom) {
            (1, _) => at ^ (line & 1) << 4,
            (2, _) => at ^ (line & 3) << 4,
            (3, 0) => at ^ (line & 7) << 4,
            (3, 1) => at ^ (line & 3) << 5,
            (3, 2) => at ^ (line & 3) << 5 ^ (line & 1) << 3,
            (3, _) => at ^ (line & 1) << 6,
            _ => at,
        }
    }
}

/// The bytes of a tensor map with a field replaced; of zeros a new one is made.
pub(crate) fn replaced(bytes: &[u8; BYTES], field: u8, value: u64, ordinal: u64) -> Result<[u8; BYTES], String> {
    let mut fields = match bytes.iter().all(|byte| *byte == 0) {
        true => Fields { rank: 1, ..Fields::default() },
        false => Fields::parse(bytes)?,
    };
    let most = |most: u64| match value {
        value if value <= most => Ok(value),
        value => Err(format!("the field of the tensor map takes up to {most}, not {value}")),
    };
    let axis = ordinal as usize;
    let axes = if field == 4 { RANK - 1 } else { RANK };
    if matches!(field, 2..=5) && axis >= axes {
        return Err(format!("the field of the tensor map has {axes} ordinals, not {axis}"));
    }
    match field {
        0 => fields.address = value,
        1 => fields.rank = most(RANK as u64 - 1)? as usize + 1,
        2 => fields.tile[axis] = most(u16::MAX.into())? as u16,
        3 => fields.sizes[axis] = most(u32::MAX.into())? as u32,
        4 => fields.strides[axis] = value,
        5 => fields.steps[axis] = most(u8::MAX.into())? as u8,
        6 => fields.element = most(15)? as u8,
        7 => fields.interleave = most(2)? as u8,
        8 => fields.swizzle = most(4)? as u8,
        9 => fields.atom = most(3)? as u8,
        _ => fields.fill = most(1)? as u8,
    }
    Ok(fields.bytes())
}
