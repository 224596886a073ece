//! Machine code of the operations of programs, by their names.
//!
//! An operation that is not here ends compiled code: it runs as everywhere. Each is held against its evaluator by the tests of this module.

use std::prelude::rust_2024::*;

use iced_x86::{Code, RoundingControl};

use super::assembler::*;
use super::fallback::OperationRef;
use super::lanes::{COMPARE, Lanes, SPARE, UNORDERED, Value, Vector, parts};

/// Operations on two values of one width that are one instruction: bits, instruction.
fn plain(name: &str) -> Option<(u8, Code)> {
    Some(match name {
        "add_b16" => (16, Code::EVEX_Vpaddw_zmm_k1z_zmm_zmmm512),
        "add_b32" => (32, Code::EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32),
        "add_b64" => (64, Code::EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64),
        "sub_b16" => (16, Code::EVEX_Vpsubw_zmm_k1z_zmm_zmmm512),
        "sub_b32" => (32, Code::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32),
        "sub_b64" => (64, Code::EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64),
        "mul_b16" => (16, Code::EVEX_Vpmullw_zmm_k1z_zmm_zmmm512),
        "mul_b32" => (32, Code::EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32),
        "mul_b64" => (64, Code::EVEX_Vpmullq_zmm_k1z_zmm_zmmm512b64),
        "and_b16" => (16, Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32),
        "and_b32" => (32, Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32),
        "and_b64" => (64, Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32),
        "or_b16" => (16, Code::EVEX_Vpord_zmm_k1z_zmm_zmmm512b32),
        "or_b32" => (32, Code::EVEX_Vpord_zmm_k1z_zmm_zmmm512b32),
        "or_b64" => (64, Code::EVEX_Vpord_zmm_k1z_zmm_zmmm512b32),
        "xor_b16" => (16, Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32),
        "xor_b32" => (32, Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32),
        "xor_b64" => (64, Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32),
        "min_u32" => (32, Code::EVEX_Vpminud_zmm_k1z_zmm_zmmm512b32),
        "max_u32" => (32, Code::EVEX_Vpmaxud_zmm_k1z_zmm_zmmm512b32),
        "min_s32" => (32, Code::EVEX_Vpminsd_zmm_k1z_zmm_zmmm512b32),
        "max_s32" => (32, Code::EVEX_Vpmaxsd_zmm_k1z_zmm_zmmm512b32),
        "min_s64" => (64, Code::EVEX_Vpminsq_zmm_k1z_zmm_zmmm512b64),
        "max_s64" => (64, Code::EVEX_Vpmaxsq_zmm_k1z_zmm_zmmm512b64),
        _ => return None,
    })
}

/// Shifts: bits, the instruction by a constant, and the one by lanes of the same width.
fn shift(name: &str) -> Option<(u8, Code, Code)> {
    Some(match name {
        "shl_b32" => (32, Code::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8, Code::EVEX_Vpsllvd_zmm_k1z_zmm_zmmm512b32),
        "shl_b64" => (64, Code::EVEX_Vpsllq_zmm_k1z_zmmm512b64_imm8, Code::EVEX_Vpsllvq_zmm_k1z_zmm_zmmm512b64),
        "shr_u32" | "shr_b32" => {
            (32, Code::EVEX_Vpsrld_zmm_k1z_zmmm512b32_imm8, Code::EVEX_Vpsrlvd_zmm_k1z_zmm_zmmm512b32)
        }
        "shr_u64" | "shr_b64" => {
            (64, Code::EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8, Code::EVEX_Vpsrlvq_zmm_k1z_zmm_zmmm512b64)
        }
        "shr_s32" => (32, Code::EVEX_Vpsrad_zmm_k1z_zmmm512b32_imm8, Code::EVEX_Vpsravd_zmm_k1z_zmm_zmmm512b32),
        "shr_s64" => (64, Code::EVEX_Vpsraq_zmm_k1z_zmmm512b64_imm8, Code::EVEX_Vpsravq_zmm_k1z_zmm_zmmm512b64),
        _ => return None,
    })
}

/// Predicates of comparisons: of integers or floats, and of floats that make no exception of quiet NaNs.
pub(super) const LESS: u32 = 1;
pub(super) const DIFFERENT: u32 = 12;
const LESS_QUIET: u32 = 17;
const AT_MOST_QUIET: u32 = 18;
const AT_LEAST_QUIET: u32 = 29;

/// Comparisons: bits, instruction, and its predicate.
fn comparison(name: &str) -> Option<(u8, Code, u32)> {
    const EQUAL: u32 = 0;
    let single = COMPARE;
    let double = Code::EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae;
    Some(match name {
        "eq_b16" => (16, Code::EVEX_Vpcmpw_kr_k1_zmm_zmmm512_imm8, EQUAL),
        "eq_b32" => (32, Code::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8, EQUAL),
        "eq_b64" => (64, Code::EVEX_Vpcmpq_kr_k1_zmm_zmmm512b64_imm8, EQUAL),
        "lt_s16" => (16, Code::EVEX_Vpcmpw_kr_k1_zmm_zmmm512_imm8, LESS),
        "lt_s32" => (32, Code::EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8, LESS),
        "lt_s64" => (64, Code::EVEX_Vpcmpq_kr_k1_zmm_zmmm512b64_imm8, LESS),
        "lt_u16" => (16, Code::EVEX_Vpcmpuw_kr_k1_zmm_zmmm512_imm8, LESS),
        "lt_u32" => (32, Code::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8, LESS),
        "lt_u64" => (64, Code::EVEX_Vpcmpuq_kr_k1_zmm_zmmm512b64_imm8, LESS),
        "eq_f32" => (32, single, EQUAL),
        "ne_f32" => (32, single, DIFFERENT),
        "lt_f32" => (32, single, LESS_QUIET),
        "le_f32" => (32, single, AT_MOST_QUIET),
        "unordered_f32" => (32, single, UNORDERED),
        "eq_f64" => (64, double, EQUAL),
        "ne_f64" => (64, double, DIFFERENT),
        "lt_f64" => (64, double, LESS_QUIET),
        "le_f64" => (64, double, AT_MOST_QUIET),
        "unordered_f64" => (64, double, UNORDERED),
        _ => return None,
    })
}

/// Operations on floats that are rounded: bits, instruction, and whether its sources are in the opposite order, so that the NaN that is
/// kept is the machine's.
fn rounded(name: &str) -> Option<(u8, Code, bool)> {
    Some(match name {
        "add_f32" => (32, Code::EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er, false),
        "mul_f32" => (32, Code::EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er, false),
        "div_f32" => (32, Code::EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er, false),
        "sqrt_f32" => (32, Code::EVEX_Vsqrtps_zmm_k1z_zmmm512b32_er, false),
        "add_f64" => (64, Code::EVEX_Vaddpd_zmm_k1z_zmm_zmmm512b64_er, true),
        "mul_f64" => (64, Code::EVEX_Vmulpd_zmm_k1z_zmm_zmmm512b64_er, true),
        "div_f64" => (64, Code::EVEX_Vdivpd_zmm_k1z_zmm_zmmm512b64_er, false),
        "sqrt_f64" => (64, Code::EVEX_Vsqrtpd_zmm_k1z_zmmm512b64_er, false),
        "convert_f32_s32" => (32, Code::EVEX_Vcvtdq2ps_zmm_k1z_zmmm512b32_er, false),
        "convert_f32_u32" => (32, Code::EVEX_Vcvtudq2ps_zmm_k1z_zmmm512b32_er, false),
        _ => return None,
    })
}

/// Bitwise operations with a constant: bits, instruction, constant.
fn masked(name: &str) -> Option<(u8, Code, u64)> {
    Some(match name {
        "neg_f32" => (32, Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, 1 << 31),
        "abs_f32" => (32, Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32, (1 << 31) - 1),
        "not_b16" | "not_b32" | "not_b64" => {
            let bits = name["not_b".len()..].parse().ok()?;
            (bits, Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, u64::MAX >> (64 - bits))
        }
        _ => return None,
    })
}

/// The rounding that a word names.
fn rounding(word: &str) -> Option<RoundingControl> {
    Some(match word {
        "rn" => RoundingControl::RoundToNearest,
        "rz" => RoundingControl::RoundTowardZero,
        "rm" => RoundingControl::RoundDown,
        "rp" => RoundingControl::RoundUp,
        _ => return None,
    })
}

/// How an operation treats NaNs in single precision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OfNans {
    /// Its results depend on the bits of its operands, whatever they are.
    Bits,
    /// Its results are the same for all NaNs.
    Ignored,
    /// A result that is NaN is one of its operands.
    Kept,
    /// A result that is NaN is its operand, with another sign.
    Sign,
}

/// How the operation of this name treats NaNs.
pub(super) fn of_nans(name: &str) -> OfNans {
    let operation = name.split_once('.').map_or(name, |(operation, _)| operation);
    match operation {
        "flush_f32" => OfNans::Kept,
        "neg_f32" | "abs_f32" => OfNans::Sign,
        "add_f32" | "mul_f32" | "div_f32" | "sqrt_f32" | "fma_f32" | "min_f32" | "max_f32" | "convert_s32_f32"
        | "exp2_f32" | "rsqrt_f32" | "eq_f32" | "ne_f32" | "lt_f32" | "le_f32" | "unordered_f32" => OfNans::Ignored,
        _ => OfNans::Bits,
    }
}

/// Compiles the operation of this name on each lane; `None` if it is none of those here. The caller holds the arguments, and then the result.
/// Lanes may be left to its evaluator.
pub(super) fn operation(lanes: &mut Lanes, name: &str, evaluator: OperationRef, args: &[Value]) -> Option<Value> {
    if let (Some((bits, instruction)), [a, b]) = (plain(name), args) {
        return lanes.each(bits, &[*a, *b], |code, to, args| code.three(instruction, to, zmm(args[0]), zmm(args[1])));
    }
    if let (Some((bits, by_constant, by_lanes)), [x, by]) = (shift(name), args) {
        return match *by {
            Value::Constant(by) => {
                let by = by.min(255) as u32;
                lanes.each(bits, &[*x], |code, to, args| code.two_by(by_constant, to, zmm(args[0]), by))
            }
            by if bits == 32 => lanes.each(bits, &[*x, by], |code, to, args| {
                code.three(by_lanes, to, zmm(args[0]), zmm(args[1]));
            }),
            by => {
                let wide = lanes.widened(32, by, Code::EVEX_Vpmovzxdq_zmm_k1z_ymmm256)?;
                let result = lanes.each(bits, &[*x, wide], |code, to, args| {
                    code.three(by_lanes, to, zmm(args[0]), zmm(args[1]));
                });
                lanes.release(wide);
                result
            }
        };
    }
    if let (Some((bits, code, predicate)), [a, b]) = (comparison(name), args) {
        return lanes.compare(bits, *a, *b, code, predicate);
    }
    if let (Some((bits, instruction, constant)), [x]) = (masked(name), args) {
        return lanes.each(bits, &[*x, Value::Constant(constant)], |code, to, args| {
            code.three(instruction, to, zmm(args[0]), zmm(args[1]));
        });
    }
    if let Some((name, word)) = name.split_once('.') {
        return of_floats(lanes, name, word, args);
    }
    match (name, args) {
        ("canonical_nan_f32", _) => Some(Value::Constant(0x7fff_ffff)),
        ("flush_f32", [x]) => {
            lanes.each(32, &[*x, Value::Constant(0x7f80_0000), Value::Constant(1 << 31)], |code, to, args| {
                let mask = SPARE[0];
                code.three(Code::EVEX_Vptestnmd_kr_k1_zmm_zmmm512b32, k(mask), zmm(args[0]), zmm(args[1]));
                code.two(Code::EVEX_Vmovdqa64_zmm_k1z_zmmm512, to, zmm(args[0]));
                code.three_in(Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32, mask, to, zmm(args[0]), zmm(args[2]));
            })
        }
        ("logic3", [a, b, c, Value::Constant(table)]) => {
            let table = *table as u32 & 0xff;
            lanes.each(32, &[*a, *b, *c], |code, to, args| {
                code.two(Code::EVEX_Vmovdqa64_zmm_k1z_zmmm512, to, zmm(args[0]));
                code.three_by(Code::EVEX_Vpternlogd_zmm_k1z_zmm_zmmm512b32_imm8, to, zmm(args[1]), zmm(args[2]), table);
            })
        }
        ("min_f32", [a, b]) => lanes.extreme(*a, *b, 0),
        ("max_f32", [a, b]) => lanes.extreme(*a, *b, 1),
        ("exp2_f32", [x]) => lanes.exp2(*x, evaluator),
        ("rsqrt_f32", [x]) => lanes.rsqrt(*x, evaluator),
        ("shuffle_b32", [x, from]) => lanes.shuffled(*x, *from),
        ("ballot", [Value::Mask(mask), threads]) => lanes.ballot(*mask, *threads),
        ("mul_high_u32", [a, b]) => lanes.high(*a, *b, Code::EVEX_Vpmuludq_zmm_k1z_zmm_zmmm512b64),
        ("mul_high_s32", [a, b]) => lanes.high(*a, *b, Code::EVEX_Vpmuldq_zmm_k1z_zmm_zmmm512b64),
        ("convert_s64_s32" | "convert_u64_s32" | "widen_s32", [x]) => {
            lanes.widened(32, *x, Code::EVEX_Vpmovsxdq_zmm_k1z_ymmm256)
        }
        ("convert_u64_u32" | "convert_s64_u32" | "widen_u32", [x]) => {
            lanes.widened(32, *x, Code::EVEX_Vpmovzxdq_zmm_k1z_ymmm256)
        }
        ("convert_u32_u16" | "convert_s32_u16" | "widen_u16", [x]) => {
            lanes.widened(16, *x, Code::EVEX_Vpmovzxwd_zmm_k1z_ymmm256)
        }
        ("convert_u32_s16" | "convert_s32_s16" | "widen_s16", [x]) => {
            lanes.widened(16, *x, Code::EVEX_Vpmovsxwd_zmm_k1z_ymmm256)
        }
        ("convert_u16_u32" | "convert_u16_s32" | "convert_s16_u32" | "convert_s16_s32", [x]) => {
            lanes.half_of(32, *x, false)
        }
        ("convert_u32_u64" | "convert_u32_s64" | "convert_s32_u64" | "convert_s32_s64", [x]) => {
            lanes.half_of(64, *x, false)
        }
        ("extract_b16_b32", [x, Value::Constant(index @ 0..=1)]) => lanes.half_of(32, *x, *index == 1),
        ("extract_b32_b64", [x, Value::Constant(index @ 0..=1)]) => lanes.half_of(64, *x, *index == 1),
        ("concat_b32_b16" | "pack_f16", [low, high]) => {
            let [low, high] = [*low, *high].map(|half| lanes.widened(16, half, Code::EVEX_Vpmovzxwd_zmm_k1z_ymmm256));
            lanes.joined(32, low?, high?)
        }
        ("concat_b64_b32", [low, high]) => {
            let [low, high] = [*low, *high].map(|half| lanes.widened(32, half, Code::EVEX_Vpmovzxdq_zmm_k1z_ymmm256));
            lanes.joined(64, low?, high?)
        }
        _ => None,
    }
}

/// Operations on floats with a rounding.
fn of_floats(lanes: &mut Lanes, name: &str, word: &str, args: &[Value]) -> Option<Value> {
    let control = rounding(word.trim_end_matches('i'))?;
    let nearest = control == RoundingControl::RoundToNearest;
    if let Some((bits, instruction, opposite)) = rounded(name) {
        let of_integers = name.starts_with("convert");
        let args: Vec<Value> = if opposite { args.iter().rev().copied().collect() } else { args.to_vec() };
        let result = lanes.each(bits, &args, |code, to, args| {
            let args: Vec<_> = args.iter().map(|number| zmm(*number)).collect();
            code.rounded(instruction, control, to, &args);
        })?;
        if bits == 32 && !of_integers {
            lanes.loosen(result);
        }
        return Some(result);
    }
    match (name, args) {
        ("fma_f32", [a, b, c]) => {
            let result = lanes.each(32, &[*a, *b, *c], |code, to, args| {
                code.two(Code::EVEX_Vmovdqa64_zmm_k1z_zmmm512, to, zmm(args[2]));
                let fused = Code::EVEX_Vfmadd231ps_zmm_k1z_zmm_zmmm512b32_er;
                code.rounded(fused, control, to, &[zmm(args[0]), zmm(args[1])]);
            })?;
            lanes.loosen(result);
            Some(result)
        }
        ("convert_s32_f32", [x]) => {
            lanes.each(32, &[*x, Value::Constant(0x4f00_0000), Value::Constant(0x7fff_ffff)], |code, to, args| {
                let [high, nan] = SPARE;
                code.three_by(COMPARE, k(high), zmm(args[0]), zmm(args[1]), AT_LEAST_QUIET);
                code.three_by(COMPARE, k(nan), zmm(args[0]), zmm(args[0]), UNORDERED);
                code.rounded(Code::EVEX_Vcvtps2dq_zmm_k1z_zmmm512b32_er, control, to, &[zmm(args[0])]);
                code.two_in(Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512, high, to, zmm(args[2]));
                code.three_in(Code::EVEX_Vpxord_zmm_k1z_zmm_zmmm512b32, nan, to, to, to);
            })
        }
        ("convert_f32_f16", [x]) if nearest => {
            // A NaN keeps its bits here.
            let result = lanes.widened(16, *x, Code::EVEX_Vcvtph2ps_zmm_k1z_ymmm256_sae)?;
            lanes.loosen(result);
            Some(result)
        }
        _ => None,
    }
}

impl Lanes {
    /// Computes each vector of a result from those of arguments of the same width.
    pub(super) fn each(
        &mut self,
        bits: u8,
        args: &[Value],
        emit: impl Fn(&mut Assembler, iced_x86::Register, &[u8]),
    ) -> Option<Value> {
        let mut vectors = Vec::with_capacity(args.len());
        for arg in args {
            vectors.push(self.in_vectors(*arg, bits)?);
        }
        let uniform = vectors.iter().all(|vector| vector.uniform);
        let mut registers = Vec::with_capacity(4);
        for part in 0..if uniform { 1 } else { parts(bits) } {
            let to = self.vector()?;
            let args: Vec<u8> = vectors.iter().map(|vector| vector.part(part)).collect();
            emit(&mut self.code, zmm(to), &args);
            registers.push(to);
        }
        self.release_constants(args, &vectors);
        Some(Value::Vector(Vector::new(&registers, uniform)))
    }

    /// Releases the vectors that were made for constants.
    fn release_constants(&mut self, args: &[Value], vectors: &[Vector]) {
        for (arg, vector) in args.iter().zip(vectors) {
            if let Value::Constant(_) = arg {
                self.release(Value::Vector(*vector));
            }
        }
    }

    /// A mask of the lanes in which a comparison holds.
    fn compare(&mut self, bits: u8, a: Value, b: Value, code: Code, predicate: u32) -> Option<Value> {
        let vectors = [self.in_vectors(a, bits)?, self.in_vectors(b, bits)?];
        let to = self.mask()?;
        let emit = |to: &mut Assembler, mask: u8, part: usize| {
            to.three_by(code, k(mask), zmm(vectors[0].part(part)), zmm(vectors[1].part(part)), predicate);
        };
        let [low, high] = SPARE;
        // Of two vectors, into a mask.
        let pair = |to: &mut Assembler, into: u8, first: usize, join: Code| {
            emit(to, low, first);
            emit(to, high, first + 1);
            to.three(join, k(into), k(high), k(low));
        };
        match bits {
            16 => emit(&mut self.code, to, 0),
            32 => pair(&mut self.code, to, 0, Code::VEX_Kunpckwd_kr_kr_kr),
            _ => {
                pair(&mut self.code, to, 0, Code::VEX_Kunpckbw_kr_kr_kr);
                pair(&mut self.code, low, 2, Code::VEX_Kunpckbw_kr_kr_kr);
                self.code.three(Code::VEX_Kunpckwd_kr_kr_kr, k(to), k(low), k(to));
            }
        }
        self.release_constants(&[a, b], &vectors);
        Some(Value::Mask(to))
    }

    /// The lesser (0) or greater (1) of two floats: the number where one is NaN, and of zeros by their sign.
    fn extreme(&mut self, a: Value, b: Value, which: u32) -> Option<Value> {
        let result = self.each(32, &[a, b], |code, to, args| {
            let [a_nan, b_nan] = SPARE;
            code.three_by(COMPARE, k(a_nan), zmm(args[0]), zmm(args[0]), UNORDERED);
            code.three_by(COMPARE, k(b_nan), zmm(args[1]), zmm(args[1]), UNORDERED);
            // The sign is that of the result.
            let by = 0b0100 | which;
            code.three_by(Code::EVEX_Vrangeps_zmm_k1z_zmm_zmmm512b32_imm8_sae, to, zmm(args[0]), zmm(args[1]), by);
            code.two_in(Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512, a_nan, to, zmm(args[1]));
            code.two_in(Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512, b_nan, to, zmm(args[0]));
        })?;
        self.loosen(result);
        Some(result)
    }

    /// The upper halves of products of 32 bits.
    fn high(&mut self, a: Value, b: Value, product: Code) -> Option<Value> {
        let [first, second] = [self.vector()?, self.vector()?];
        let result = self.each(32, &[a, b], |code, to, args| {
            let mask = SPARE[0];
            code.by(Code::Mov_r32_imm32, SCRATCH32, 0xaaaa);
            code.two(Code::VEX_Kmovd_kr_r32, k(mask), SCRATCH32);
            for (half, arg) in [first, second].into_iter().zip(args) {
                code.two_by(Code::EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8, zmm(half), zmm(*arg), 32);
            }
            code.three(product, zmm(first), zmm(first), zmm(second));
            code.three(product, to, zmm(args[0]), zmm(args[1]));
            code.two_by(Code::EVEX_Vpsrlq_zmm_k1z_zmmm512b64_imm8, to, to, 32);
            code.two_in(Code::EVEX_Vmovdqa32_zmm_k1z_zmmm512, mask, to, zmm(first));
        });
        self.release_vectors(&[first, second]);
        result
    }

    /// Of each lane the lane of another value, of 32 bits, that it names modulo 32. All are active: others would have what nobody computed.
    fn shuffled(&mut self, x: Value, from: Value) -> Option<Value> {
        if self.partial {
            return None;
        }
        let vector = self.in_vectors(x, 32)?;
        let [low, high] = [vector.part(0), vector.part(1)];
        let result = self.each(32, &[from], |code, to, args| {
            code.two(Code::EVEX_Vmovdqa64_zmm_k1z_zmmm512, to, zmm(args[0]));
            code.three(Code::EVEX_Vpermi2d_zmm_k1z_zmm_zmmm512b32, to, zmm(low), zmm(high));
        });
        self.release_constants(&[x], &[vector]);
        result
    }

    /// A predicate of all lanes in each lane, a bit for each that is in `threads`.
    fn ballot(&mut self, mask: u8, threads: Value) -> Option<Value> {
        self.each(32, &[threads], |code, to, args| {
            code.two(Code::VEX_Kmovd_r32_kr, SCRATCH32, k(mask));
            code.two(Code::EVEX_Vpbroadcastd_zmm_k1z_r32, to, SCRATCH32);
            code.three(Code::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32, to, to, zmm(args[0]));
        })
    }

    /// Lanes of twice as many bits, by an instruction that widens half a vector.
    fn widened(&mut self, bits: u8, x: Value, code: Code) -> Option<Value> {
        let vector = self.in_vectors(x, bits)?;
        let mut registers = Vec::with_capacity(4);
        for part in 0..if vector.uniform { 1 } else { parts(2 * bits) } {
            let to = self.vector()?;
            let from = vector.part(part / 2);
            if part % 2 == 0 {
                self.code.two(code, zmm(to), ymm(from));
            } else {
                self.code.two_by(Code::EVEX_Vextracti64x4_ymmm256_k1z_zmm_imm8, ymm(to), zmm(from), 1);
                self.code.two(code, zmm(to), ymm(to));
            }
            registers.push(to);
        }
        self.release_constants(&[x], &[vector]);
        Some(Value::Vector(Vector::new(&registers, vector.uniform)))
    }

    /// Half the bits of lanes of 32 or 64: the lower ones, or the upper ones.
    fn half_of(&mut self, bits: u8, x: Value, upper: bool) -> Option<Value> {
        let vector = self.in_vectors(x, bits)?;
        let mut registers = Vec::with_capacity(2);
        for pair in 0..parts(bits) / 2 {
            let tables = [0, 1].map(|index| vector.part(2 * pair + index));
            registers.push(self.permuted(bits / 2, tables, |lane| 2 * lane + usize::from(upper))?);
        }
        self.release_constants(&[x], &[vector]);
        Some(Value::Vector(Vector::new(&registers, false)))
    }

    /// Lanes of a width from their zero-extended halves, which are released.
    fn joined(&mut self, bits: u8, low: Value, high: Value) -> Option<Value> {
        let (shift, or) = match bits {
            32 => (Code::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8, Code::EVEX_Vpord_zmm_k1z_zmm_zmmm512b32),
            _ => (Code::EVEX_Vpsllq_zmm_k1z_zmmm512b64_imm8, Code::EVEX_Vporq_zmm_k1z_zmm_zmmm512b64),
        };
        let result = self.each(bits, &[low, high], |code, to, args| {
            code.two_by(shift, to, zmm(args[1]), u32::from(bits) / 2);
            code.three(or, to, to, zmm(args[0]));
        });
        self.release(low);
        self.release(high);
        result
    }

    /// Each lane of one value where a predicate is true, of the other elsewhere.
    pub(super) fn select(&mut self, bits: u8, condition: Value, yes: Value, no: Value) -> Option<Value> {
        let mask = match condition {
            Value::Mask(mask) => mask,
            _ => return None,
        };
        let vectors = [self.in_vectors(yes, bits)?, self.in_vectors(no, bits)?];
        let blend = match bits {
            16 => Code::EVEX_Vpblendmw_zmm_k1z_zmm_zmmm512,
            32 => Code::EVEX_Vpblendmd_zmm_k1z_zmm_zmmm512b32,
            64 => Code::EVEX_Vpblendmq_zmm_k1z_zmm_zmmm512b64,
            _ => return None,
        };
        let mut registers = Vec::with_capacity(4);
        for part in 0..parts(bits) {
            let to = self.vector()?;
            let lanes = match part {
                0 => mask,
                _ => {
                    let first = 32 / parts(bits) * part;
                    self.code.two_by(Code::VEX_Kshiftrd_kr_kr_imm8, k(SPARE[0]), k(mask), first as u32);
                    SPARE[0]
                }
            };
            self.code.three_in(blend, lanes, zmm(to), zmm(vectors[1].part(part)), zmm(vectors[0].part(part)));
            registers.push(to);
        }
        self.release_constants(&[yes, no], &vectors);
        Some(Value::Vector(Vector::new(&registers, false)))
    }

    /// A boolean function of predicates: bit `i` of the outcomes is the result for inputs that spell `i`, the first one its lowest bit.
    pub(super) fn truth(&mut self, outcomes: u64, leaves: &[(Value, bool)]) -> Option<Value> {
        let ((last, complement), others) = leaves.split_last()?;
        let half = 1_u32 << others.len();
        let mut parts = [outcomes & ((1 << half) - 1), outcomes >> half & ((1 << half) - 1)];
        if *complement {
            parts.swap(0, 1);
        }
        let Value::Mask(leaf) = *last else { return None };
        if others.is_empty() {
            let to = self.mask()?;
            match parts {
                [0, 0] => self.code.three(Code::VEX_Kxord_kr_kr_kr, k(to), k(leaf), k(leaf)),
                [1, 1] => self.code.three(Code::VEX_Kxnord_kr_kr_kr, k(to), k(leaf), k(leaf)),
                [0, 1] => self.code.two(Code::VEX_Kmovd_kr_km32, k(to), k(leaf)),
                _ => self.code.two(Code::VEX_Knotd_kr_kr, k(to), k(leaf)),
            }
            return Some(Value::Mask(to));
        }
        let all = (1 << half) - 1;
        // The outcomes by the other leaves where this one is false, and where it is true.
        let [no, yes] = parts;
        let value = self.truth(if no == 0 || no == all { yes } else { no }, others)?;
        let Value::Mask(to) = value else { return None };
        let (to, leaf) = (k(to), k(leaf));
        match parts {
            [no, yes] if no == yes => {}
            [no, yes] if no == !yes & all => {
                let code = if no == 0 || no == all { Code::VEX_Kxnord_kr_kr_kr } else { Code::VEX_Kxord_kr_kr_kr };
                self.code.three(code, to, leaf, to);
            }
            [0, _] => self.code.three(Code::VEX_Kandd_kr_kr_kr, to, leaf, to),
            [_, 0] => self.code.three(Code::VEX_Kandnd_kr_kr_kr, to, leaf, to),
            [_, yes] if yes == all => self.code.three(Code::VEX_Kord_kr_kr_kr, to, leaf, to),
            [no, _] if no == all => {
                self.code.three(Code::VEX_Kandnd_kr_kr_kr, to, to, leaf);
                self.code.two(Code::VEX_Knotd_kr_kr, to, to);
            }
            [_, yes] => {
                let other = self.truth(yes, others)?;
                if let Value::Mask(yes) = other {
                    self.code.three(Code::VEX_Kandnd_kr_kr_kr, to, leaf, to);
                    self.code.three(Code::VEX_Kandd_kr_kr_kr, k(yes), leaf, k(yes));
                    self.code.three(Code::VEX_Kord_kr_kr_kr, to, to, k(yes));
                }
                self.release(other);
            }
        }
        Some(value)
    }
}
