//! Machine code of functions that evaluators compute in double precision and round: here each value is the sum of two floats in single
//! precision, which rounds to the same one. The few lanes where it may not are left to the evaluator.

use std::array;
use std::prelude::rust_2024::*;

use iced_x86::{Code, Register};

use super::assembler::*;
use super::fallback::{OperationRef, fall_back};
use super::lanes::{COMPARE, Lanes, SPARE, Value};
use super::operations::{DIFFERENT, LESS};

/// Powers of two in steps of 1/32, rounded, and the rests of them, each in two vectors.
fn powers() -> [[[u32; 16]; 2]; 2] {
    let power = |index: usize| (index as f64 / 32.0).exp2();
    let rounded = |index: usize| power(index) as f32;
    let rest = |index: usize| (power(index) - f64::from(rounded(index))) as f32;
    let halves =
        |of: &dyn Fn(usize) -> f32| array::from_fn(|half| array::from_fn(|lane| of(16 * half + lane).to_bits()));
    [halves(&rounded), halves(&rest)]
}

/// The logarithm of two, rounded, and the rest of it.
const LN_2: [f32; 2] = [std::f32::consts::LN_2, (std::f64::consts::LN_2 - std::f32::consts::LN_2 as f64) as f32];

/// Coefficients of `(2^x − 1 − x · ln 2) / x²`, the last one first.
const POWER: [f32; 3] = [0.009_618_129, 0.055_504_11, 0.240_226_5];

/// A sum with it is a multiple of 1/32, whose lowest bits count them.
const SHIFT: f32 = (3 << 17) as f32;

/// From this exponent on down powers are subnormal, and below the second one they round to zero; those above the last one are infinite.
const SUBNORMAL: f32 = -126.0;
const ZERO: f32 = -150.0;
const INFINITE: f32 = 129.0;

/// Bounds of the relative error, held by the test of all floats.
const POWER_ERROR: f32 = 1.0 / (1_u64 << 36) as f32;
const ROOT_ERROR: f32 = 1.0 / (1_u64 << 42) as f32;

/// Classes of floats: all but positive numbers.
const NOT_POSITIVE: u32 = 0b1101_1111;

impl Lanes {
    /// Two to a power.
    pub(super) fn exp2(&mut self, x: Value, evaluator: OperationRef) -> Option<Value> {
        let [shift, error] = [SHIFT, POWER_ERROR].map(|float| self.repeated(32, float.to_bits().into()));
        let [ln_2, ln_2_rest] = LN_2.map(|float| self.repeated(32, float.to_bits().into()));
        let [fourth, third, second] = POWER.map(|float| self.repeated(32, float.to_bits().into()));
        let [least, infinite] = [ZERO - 10.0, INFINITE].map(|float| self.repeated(32, float.to_bits().into()));
        let first = SUBNORMAL.to_bits() + 1;
        let [first, count] = [first, ZERO.to_bits() - first].map(|word| self.repeated(32, word.into()));
        let tables = powers().map(|halves| halves.map(|words| self.literal(&words.map(u32::to_le_bytes).concat())));
        self.approximated(x, evaluator, |code, x, to, scratch| {
            let [rest, whole, sum, p, e, power, small, low] = scratch;
            // Both are the second operand where one is NaN, so that what follows is NaN, too.
            code.load(MOVE, sum, at(LITERALS, least));
            code.load(MOVE, whole, at(LITERALS, infinite));
            code.three(Code::EVEX_Vmaxps_zmm_k1z_zmm_zmmm512b32_sae, rest, sum, x);
            code.three(Code::EVEX_Vminps_zmm_k1z_zmm_zmmm512b32_sae, rest, whole, rest);
            code.with_literal(Code::EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er, to, rest, shift);
            code.with_literal(Code::EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er, whole, to, shift);
            code.three(Code::EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er, rest, rest, whole);
            // The power of the rest is one plus `p + e`.
            code.load(MOVE, sum, at(LITERALS, fourth));
            code.with_literal(FUSED_213, sum, rest, third);
            code.with_literal(FUSED_213, sum, rest, second);
            code.three(Code::EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er, sum, sum, rest);
            code.with_literal(Code::EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er, p, rest, ln_2);
            code.two(MOVE, e, rest);
            code.with_literal(Code::EVEX_Vfmsub132ps_zmm_k1z_zmm_zmmm512b32_er, e, p, ln_2);
            code.with_literal(FUSED_231, e, rest, ln_2_rest);
            code.three(FUSED_231, e, sum, rest);
            // Times that of the whole.
            for (into, [first, second]) in [power, small].into_iter().zip(tables) {
                code.load(MOVE, sum, at(LITERALS, first));
                code.two(MOVE, into, to);
                code.with_literal(Code::EVEX_Vpermi2ps_zmm_k1z_zmm_zmmm512b32, into, sum, second);
            }
            code.two(MOVE, sum, power);
            code.three(FUSED_213, sum, p, power);
            code.three(Code::EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er, low, power, sum);
            code.three(FUSED_231, low, power, p);
            // The least ones first.
            code.three(FUSED_213, p, small, small);
            code.three(Code::EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er, low, low, p);
            code.three(FUSED_231, low, power, e);
            code.rounds_alike([sum, low, e], error);
            code.three(Code::EVEX_Vscalefps_zmm_k1z_zmm_zmmm512b32_er, to, low, whole);
            // Subnormal results would be rounded twice. The bits of negative numbers grow with their size.
            let [doubt, subnormals] = SPARE;
            code.load(MOVE, e, at(LITERALS, count));
            code.with_literal(Code::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32, low, x, first);
            code.three_by(Code::EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8, k(subnormals), low, e, LESS);
            code.three(Code::VEX_Kord_kr_kr_kr, k(doubt), k(doubt), k(subnormals));
        })
    }

    /// One divided by the square root.
    pub(super) fn rsqrt(&mut self, x: Value, evaluator: OperationRef) -> Option<Value> {
        let [one, half, error] = [1.0, 0.5, ROOT_ERROR].map(|float| self.repeated(32, float.to_bits().into()));
        self.approximated(x, evaluator, |code, x, to, scratch| {
            let [first, g, h, root, e] = scratch;
            let product = Code::EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er;
            code.two(Code::EVEX_Vrsqrt14ps_zmm_k1z_zmmm512b32, first, x);
            // One of Newton's steps.
            code.with_literal(product, h, first, half);
            code.three(product, g, x, first);
            code.two(MOVE, root, g);
            code.load(MOVE, e, at(LITERALS, half));
            code.three(Code::EVEX_Vfnmadd213ps_zmm_k1z_zmm_zmmm512b32_er, root, h, e);
            code.three(FUSED_213, root, first, first);
            // The residual `1 − x · root²`, and the correction of the root for it.
            code.three(product, g, x, root);
            code.two(MOVE, h, x);
            code.three(Code::EVEX_Vfmsub213ps_zmm_k1z_zmm_zmmm512b32_er, h, root, g);
            code.load(MOVE, e, at(LITERALS, one));
            code.three(Code::EVEX_Vfnmadd231ps_zmm_k1z_zmm_zmmm512b32_er, e, g, root);
            code.three(Code::EVEX_Vfnmadd231ps_zmm_k1z_zmm_zmmm512b32_er, e, h, root);
            code.with_literal(product, h, root, half);
            code.three(product, e, e, h);
            code.rounds_alike([root, e, h], error);
            let [doubt, mask] = SPARE;
            code.two_by(Code::EVEX_Vfpclassps_kr_k1_zmmm512b32_imm8, k(mask), x, NOT_POSITIVE);
            code.three(Code::VEX_Kandnd_kr_kr_kr, k(doubt), k(mask), k(doubt));
            code.two(MOVE, to, e);
            code.two_in(Code::EVEX_Vmovaps_zmm_k1z_zmmm512, mask, to, first);
        })
    }

    /// Computes a function of each lane. `emit` lets the first of [`SPARE`] have the lanes that are left to the evaluator; it is given the
    /// source, the result, and vectors that it may use.
    fn approximated<const N: usize>(
        &mut self,
        x: Value,
        evaluator: OperationRef,
        emit: impl Fn(&mut Assembler, Register, Register, [Register; N]),
    ) -> Option<Value> {
        let mut scratch = [0; N];
        for number in &mut scratch {
            *number = self.vector()?;
        }
        let result = self.each(32, &[x], |code, to, args| {
            let x = zmm(args[0]);
            emit(code, x, to, scratch.map(zmm));
            fall_back(code, SPARE[0], (x, to), evaluator);
        })?;
        self.release_vectors(&scratch);
        self.loosen(result);
        Some(result)
    }
}

const MOVE: Code = Code::EVEX_Vmovaps_zmm_k1z_zmmm512;
const FUSED_213: Code = Code::EVEX_Vfmadd213ps_zmm_k1z_zmm_zmmm512b32_er;
const FUSED_231: Code = Code::EVEX_Vfmadd231ps_zmm_k1z_zmm_zmmm512b32_er;

impl Assembler {
    /// A register and a literal to a register.
    fn with_literal(&mut self, code: Code, to: Register, a: Register, literal: i64) {
        self.with_memory(code, to, a, at(LITERALS, literal));
    }

    /// Rounds the sums of `high` and `low` to `low`. In the first of [`SPARE`] are the lanes where it would be another float with some error.
    fn rounds_alike(&mut self, [high, low, other]: [Register; 3], error: i64) {
        self.two(MOVE, other, low);
        self.with_literal(FUSED_231, low, high, error);
        self.with_literal(Code::EVEX_Vfnmadd231ps_zmm_k1z_zmm_zmmm512b32_er, other, high, error);
        for sum in [low, other] {
            self.three(Code::EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er, sum, high, sum);
        }
        self.three_by(COMPARE, k(SPARE[0]), low, other, DIFFERENT);
    }
}
