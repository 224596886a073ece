//! Lowering of numeric literals.

use proc_macro2::Span;

use super::{LowerError, Lowering, Result, Typed};
use crate::model::Kind;
use crate::program::{Op, Ty};
use crate::syntax::ast::{Expr, ExprKind};
use crate::text::Diagnostic;

impl<'a> Lowering<'a> {
    pub(super) fn integer(&mut self, value: i128, span: Span, expected: Option<Ty>) -> Result<Typed> {
        let Some(Ty::Lanes { lane, lanes }) = expected else {
            return Err(untyped(span));
        };
        let ty = self.model().ty(lane);
        if ty.kind == Kind::Float {
            return self.float(value as f64, span, expected);
        }
        // A negative number is in two's complement for every type.
        let least = if ty.bits > 1 { -(1_i128 << (ty.bits.min(64) - 1)) } else { 0 };
        let most = i128::from(u64::MAX >> (64 - ty.bits.min(64)));
        if !(least..=most).contains(&value) {
            return Err(Diagnostic::new(span, format!("this does not fit `.{}`", ty.name)).into());
        }
        let bits = value as u64 & most as u64;
        Ok(self.push(Op::Constant(bits), Ty::Lanes { lane, lanes }, None))
    }

    pub(super) fn float(&mut self, value: f64, span: Span, expected: Option<Ty>) -> Result<Typed> {
        let Some(Ty::Lanes { lane, lanes }) = expected else {
            return Err(untyped(span));
        };
        let ty = self.model().ty(lane);
        if ty.kind != Kind::Float {
            return Err(Diagnostic::new(span, format!("number out of range for `.{}`", ty.name)).into());
        }
        let bits = float_bits(value, ty.bits, ty.exponent)
            .ok_or_else(|| Diagnostic::new(span, format!("this is not exact as a normal `.{}`", ty.name)))?;
        Ok(self.push(Op::Constant(bits), Ty::Lanes { lane, lanes }, None))
    }
}

/// Bits of zero or of a normal number in a float format, if the number is exactly representable.
pub(super) fn float_bits(value: f64, width: u32, exponent: u32) -> Option<u64> {
    const FRACTION: u32 = f64::MANTISSA_DIGITS - 1;
    let fraction = width - 1 - exponent;
    let bits = value.to_bits();
    let sign = bits >> 63 << (width - 1);
    if value == 0.0 {
        return Some(sign);
    }
    let biased = (bits >> FRACTION & 0x7ff) as i64 - 1023 + (1 << (exponent - 1)) - 1;
    let dropped = FRACTION - fraction;
    let exact = bits & ((1 << dropped) - 1) == 0 && (1..(1 << exponent) - 1).contains(&biased);
    exact.then(|| sign | (biased as u64) << fraction | (bits & ((1 << FRACTION) - 1)) >> dropped)
}

pub(super) fn untyped(span: Span) -> LowerError {
    Diagnostic::new(span, "the type of this number is ambiguous").help("write `as` and a type after it").into()
}

pub(super) fn is_number(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Integer(_) | ExprKind::Float(_))
}
