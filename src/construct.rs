//! Instructions built in Rust: a form, and operands that are registers with types, constants and sinks.
//!
//! If the form is known at compile time, `ptx!` of the crate `ptx-isa-macros` builds an instruction whose operands the
//! compiler checks. If modifiers are chosen at run time, a struct of modifiers gives the form and [`Form::statement`]
//! the instruction; illegal operands are rejected with the messages of [`text::check`](crate::text::check).
//!
//! ```
//! use ptx_isa::construct::{Argument, Reg};
//! use ptx_isa::types::{Pred, S32};
//! use ptx_isa::{CmpOp, ScalarType, Setp};
//!
//! let (p, q, a) = (Reg::<Pred>::new("%p1"), Reg::<Pred>::new("%p2"), Reg::<S32>::new("%r1"));
//! let setp = |cmp_op| Setp { cmp_op, bool_op: None, ftz: false, ty: ScalarType::S32 };
//!
//! let form = setp(CmpOp::Lt).form()?;
//! let less = form.statement(&[p.pair(q), a.into(), Argument::from(-3)])?.guarded(!q);
//! assert_eq!(less.to_string(), "@!%p2 setp.lt.s32 %p1|%p2, %r1, 0xfffffffd;");
//!
//! assert_eq!(setp(CmpOp::Lo).form().unwrap_err().to_string(), "`.lo` is for unsigned integers");
//! let refused = form.statement(&[p.into(), a.into(), Argument::from(1.5)]).unwrap_err();
//! assert_eq!(refused.to_string(), "`b` is a `.s32` operand, not a float");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;
use core::marker::PhantomData;
use core::ops::Not;

use crate::Form;
use crate::diagnostic::{Code, Diagnostic};
use crate::table::{self, FormInfo, Table, TypeId, TypeInfo};
use crate::text::Statement;
use crate::text::statement::{Guard, Operand, Register, Second, Value};

/// A form named at compile time: `ptx!(set.lt.u32.f32)`.
#[derive(Clone, Copy, Debug)]
pub struct Named<F, E> {
    /// The form, with all that the table knows of it: this crate's [`Form`], or another table's.
    pub form: F,
    /// The evaluator: a `const fn` defined where the form is named, and passed by its own type, so that a call costs no
    /// more than the expression it computes. `()` if the form has none.
    pub eval: E,
}

/// A type of a table, as a marker: the generated module `types` has one for each.
pub trait Type {
    /// The type in its table.
    const ID: TypeId;
}

/// An operand of this type may be a register declared with the type `R`.
#[diagnostic::on_unimplemented(
    message = "a register of type `{R}` does not fit an operand of type `{Self}`",
    label = "a register of type `{R}`"
)]
pub trait Accepts<R: Type>: Type {}

/// An operand of this type may be an integer constant.
#[diagnostic::on_unimplemented(message = "an operand of type `{Self}` takes no integer")]
pub trait TakesIntegers: Type {}

/// An operand of this type may be a float constant.
#[diagnostic::on_unimplemented(message = "an operand of type `{Self}` takes no float")]
pub trait TakesFloats: Type {}

/// A predicate type: the type of guards, and of operands that `!` may negate.
#[diagnostic::on_unimplemented(message = "`{Self}` is not a predicate")]
pub trait Truth: Type {}

/// A register of type `T`, by name.
pub struct Reg<'a, T> {
    name: &'a str,
    ty: PhantomData<fn() -> T>,
}

impl<'a, T: Type> Reg<'a, T> {
    /// The register with this name. That it is declared, and as this type, is the caller's word.
    pub const fn new(name: &'a str) -> Reg<'a, T> {
        Reg { name, ty: PhantomData }
    }

    /// The name.
    pub const fn name(self) -> &'a str {
        self.name
    }

    /// Two destinations: `p|q`.
    pub fn pair<U: Type>(self, second: Reg<'a, U>) -> Argument<'a> {
        Argument::from(self).and(second)
    }

    /// The register with lanes, a mask or a part behind it, as PTX spells them without the dot: `b3210`.
    pub fn select(self, selector: &'a str) -> Argument<'a> {
        Argument { selector: Some(selector), ..self.into() }
    }
}

impl<T> Clone for Reg<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Reg<'_, T> {}

impl<T> fmt::Debug for Reg<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A register behind `!`.
#[derive(Clone, Copy, Debug)]
pub struct Negated<'a, T>(Reg<'a, T>);

impl<'a, T: Truth> Not for Reg<'a, T> {
    type Output = Negated<'a, T>;

    fn not(self) -> Negated<'a, T> {
        Negated(self)
    }
}

/// A source operand of type `O`: a register that fits it, or a constant that it accepts.
#[diagnostic::on_unimplemented(
    message = "this is neither a register that fits an operand of type `{O}` nor a constant that it takes",
    label = "`{Self}`"
)]
pub trait Source<'a, O> {
    /// Returns the operand's value.
    fn value(self) -> Value<'a>;
}

impl<'a, O: Accepts<R>, R: Type> Source<'a, O> for Reg<'a, R> {
    fn value(self) -> Value<'a> {
        Value::Register(Register { name: self.name, element: None })
    }
}

/// An argument for one operand of a form that is known only at run time.
#[derive(Clone, Copy, Debug)]
pub struct Argument<'a> {
    value: Given<'a>,
    second: Option<Second<'a>>,
    /// The type of the second register.
    second_ty: Option<TypeId>,
    selector: Option<&'a str>,
}

#[derive(Clone, Copy, Debug)]
enum Given<'a> {
    Register { name: &'a str, ty: TypeId, negated: bool },
    Integer(u64),
    Float(f64),
    Sink,
}

impl<'a> Argument<'a> {
    /// `_`: the result is dropped.
    pub const SINK: Argument<'static> = Argument::alone(Given::Sink);

    const fn alone(value: Given<'a>) -> Argument<'a> {
        Argument { value, second: None, second_ty: None, selector: None }
    }

    /// The same with a sink as second destination: `p|_`.
    #[must_use]
    pub fn and_sink(self) -> Argument<'a> {
        Argument { second: Some(Second::Sink), ..self }
    }

    /// The same with a second destination: `_|q`.
    #[must_use]
    pub fn and<T: Type>(self, second: Reg<'a, T>) -> Argument<'a> {
        Argument { second: Some(Second::Register(second.name)), second_ty: Some(T::ID), ..self }
    }
}

impl<'a, T: Type> From<Reg<'a, T>> for Argument<'a> {
    fn from(register: Reg<'a, T>) -> Argument<'a> {
        Argument::alone(Given::Register { name: register.name, ty: T::ID, negated: false })
    }
}

impl<'a, T: Type> From<Negated<'a, T>> for Argument<'a> {
    fn from(Negated(register): Negated<'a, T>) -> Argument<'a> {
        Argument::alone(Given::Register { name: register.name, ty: T::ID, negated: true })
    }
}

macro_rules! integers {
    ($($ty:ty)*) => {$(
        impl<'a, O: TakesIntegers> Source<'a, O> for $ty {
            fn value(self) -> Value<'a> {
                Value::Constant(self as i64 as u64)
            }
        }

        impl From<$ty> for Argument<'_> {
            fn from(value: $ty) -> Self {
                Argument::alone(Given::Integer(value as i64 as u64))
            }
        }
    )*};
}

integers!(i8 u8 i16 u16 i32 u32 i64 u64);

macro_rules! floats {
    ($($ty:ty)*) => {$(
        impl<'a, O: TakesFloats> Source<'a, O> for $ty {
            fn value(self) -> Value<'a> {
                // A wider type's bits; `statement` narrows them to the operand's.
                Value::Constant(f64::from(self).to_bits())
            }
        }

        impl From<$ty> for Argument<'_> {
            fn from(value: $ty) -> Self {
                Argument::alone(Given::Float(f64::from(value)))
            }
        }
    )*};
}

floats!(f32 f64);

impl Form {
    /// Returns the instruction of this form with the given operands.
    ///
    /// # Errors
    ///
    /// Returns a diagnostic for the first operand that is not accepted, with the message of
    /// [`text::check`](crate::text::check). Operands that the assembler accepts but the manual does not list are
    /// rejected.
    pub fn statement<'a>(self, arguments: &[Argument<'a>]) -> Result<Statement<'a>, Diagnostic> {
        checked(&crate::TABLE, self.info(), arguments)
    }
}

/// Returns the instruction of a form of another crate's table with the given operands.
///
/// # Errors
///
/// Returns a diagnostic for the first operand that is not accepted: see [`Form::statement`].
pub fn checked<'a>(
    table: &'static Table,
    form: FormInfo,
    arguments: &[Argument<'a>],
) -> Result<Statement<'a>, Diagnostic> {
    for (info, argument) in form.operands().iter().zip(arguments) {
        fits(table, info, argument)?;
    }
    // The text layer knows the rest: counts, sinks, negation, selectors, second destinations.
    let mut text = String::from(form.mnemonic());
    for (index, argument) in arguments.iter().enumerate() {
        text.push_str(if index == 0 { " " } else { ", " });
        let written = argument.to_string();
        text.push_str(&form.operands().get(index).map_or(written.clone(), |info| info.with_around(&written)));
    }
    let mut notes = alloc::vec::Vec::new();
    let read = Statement::parse_with(table, &text, &mut notes)?;
    if let Some(note) = notes.into_iter().next() {
        return Err(note);
    }
    let mut operands =
        [Operand { value: Value::Sink, second: None, selector: None }; crate::text::statement::MAX_OPERANDS];
    for ((place, read), argument) in operands.iter_mut().zip(read.operands()).zip(arguments) {
        let value = match argument.value {
            Given::Register { name, negated: false, .. } => Value::Register(Register { name, element: None }),
            Given::Register { name, negated: true, .. } => Value::Negated(Register { name, element: None }),
            Given::Sink => Value::Sink,
            Given::Integer(_) | Given::Float(_) => match read.value {
                Value::Constant(bits) => Value::Constant(bits),
                _ => unreachable!("a constant is read as one"),
            },
        };
        *place = Operand { value, second: argument.second, selector: read.selector };
    }
    Ok(Statement::from_parts(table, form, None, &operands[..arguments.len()]))
}

/// Checks what the text layer cannot see: the types of registers, and the kind of a number.
fn fits(table: &Table, info: &table::Operand, argument: &Argument<'_>) -> Result<(), Diagnostic> {
    let wanted = &table.types[info.ty.index()];
    let no = |name: &str, wanted: &TypeInfo, what: String| {
        let message = format!("`{name}` is a `.{}` operand, not {what}", wanted.name);
        Err(Diagnostic::error(Code::OperandType, 0..0, message))
    };
    let refuse = |what| no(info.name, wanted, what);
    if let (Some(second), Some(ty), Some(Second::Register(name))) = (&info.second, argument.second_ty, argument.second)
        && !second.registers.has(ty)
    {
        let what = format!("a `.{}` register: `{name}`", table.types[ty.index()].name);
        return no(second.name, table.ty(second.ty), what);
    }
    match argument.value {
        Given::Register { ty, name, .. } if !info.registers.has(ty) => {
            refuse(format!("a `.{}` register: `{name}`", table.types[ty.index()].name))
        }
        Given::Integer(_) if info.constants && !wanted.constants.integer => refuse(String::from("an integer")),
        Given::Float(_) if info.constants && !wanted.constants.float => refuse(String::from("a float")),
        Given::Register { .. } | Given::Integer(_) | Given::Float(_) | Given::Sink => Ok(()),
    }
}

impl fmt::Display for Argument<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value {
            Given::Register { name, negated, .. } => write!(f, "{}{name}", if negated { "!" } else { "" })?,
            Given::Integer(value) => write!(f, "{value:#x}")?,
            Given::Float(value) => write!(f, "0d{:016x}", value.to_bits())?,
            Given::Sink => f.write_str("_")?,
        }
        match self.second {
            Some(Second::Register(name)) => write!(f, "|{name}")?,
            Some(Second::Sink) => f.write_str("|_")?,
            None => {}
        }
        self.selector.map_or(Ok(()), |selector| write!(f, ".{selector}"))
    }
}

impl<'a> Statement<'a> {
    /// The same behind a guard: `@p` or, with `!p`, `@!p`. A guard it had is gone.
    #[must_use]
    pub fn guarded(self, guard: impl Into<Guard<'a>>) -> Statement<'a> {
        Statement::from_parts(self.table(), self.form(), Some(guard.into()), self.operands())
    }
}

impl<'a, T: Truth> From<Reg<'a, T>> for Guard<'a> {
    fn from(register: Reg<'a, T>) -> Guard<'a> {
        Guard { register: register.name, negated: false }
    }
}

impl<'a, T: Truth> From<Negated<'a, T>> for Guard<'a> {
    fn from(Negated(register): Negated<'a, T>) -> Guard<'a> {
        Guard { register: register.name, negated: true }
    }
}

/// Support for the expansion of `ptx!`: the macro has checked the form, and the compiler checks types.
pub mod checked_by_macro {
    use super::{Accepts, Guard, Operand, Reg, Second, Source, Statement, Type, Value};
    use crate::table::{FormInfo, Table};

    /// A source that is a register or a constant.
    pub fn source<'a, O, S: Source<'a, O>>(source: S) -> Operand<'a> {
        Operand { value: source.value(), second: None, selector: None }
    }

    /// A source or destination that is a register.
    pub fn register<'a, O: Accepts<R>, R: Type>(register: Reg<'a, R>) -> Operand<'a> {
        source::<O, Reg<'a, R>>(register)
    }

    /// A sink.
    pub fn sink<'a>() -> Operand<'a> {
        Operand { value: Value::Sink, second: None, selector: None }
    }

    /// A source behind `!`.
    #[must_use]
    pub fn negated(operand: Operand<'_>) -> Operand<'_> {
        match operand.value {
            Value::Register(register) => Operand { value: Value::Negated(register), ..operand },
            _ => operand,
        }
    }

    /// Two destinations.
    #[must_use]
    pub fn pair<'a>(first: Operand<'a>, second: Operand<'a>) -> Operand<'a> {
        let second = match second.value {
            Value::Register(register) => Second::Register(register.name),
            _ => Second::Sink,
        };
        Operand { second: Some(second), ..first }
    }

    /// An operand with a selector.
    #[must_use]
    pub fn selected(operand: Operand<'_>, bits: u32) -> Operand<'_> {
        Operand { selector: Some(bits), ..operand }
    }

    /// The instruction.
    pub fn statement<'a>(
        table: &'static Table,
        form: FormInfo,
        guard: Option<Guard<'a>>,
        operands: &[Operand<'a>],
    ) -> Statement<'a> {
        let mut narrowed = [sink(); crate::text::statement::MAX_OPERANDS];
        for ((place, operand), info) in narrowed.iter_mut().zip(operands).zip(form.operands()) {
            *place = *operand;
            place.selector = operand.selector.or(info.selector.as_ref().map(|selector| selector.default));
            if let Value::Constant(bits) = operand.value {
                let ty = &table.types[info.ty.index()];
                place.value = Value::Constant(match (ty.kind, ty.bits) {
                    (crate::table::Kind::Float, 32) => u64::from((f64::from_bits(bits) as f32).to_bits()),
                    (_, 64..) => bits,
                    (_, width) => bits & ((1 << width) - 1),
                });
            }
        }
        Statement::from_parts(table, form, guard, &narrowed[..operands.len()])
    }
}
