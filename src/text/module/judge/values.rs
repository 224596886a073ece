//! Judges the values of initializers.

use alloc::format;
use core::ops::Range;

use super::super::read::Value;
use super::Judge;
use super::undeclared::Wanted;
use crate::diagnostic::Code;
use crate::table::{Feature, Kind, TypeInfo};
use crate::text::lexer::span_of;
use crate::text::reader::{Read, fail};
use crate::text::scope::Symbol;

/// Minimum width of an address in bits.
const LEAST_ADDRESS: u16 = 32;

impl<'a> Judge<'_, 'a> {
    /// Judges a value of the initializer that is being read.
    pub(super) fn initial_value(&mut self, value: &Value<'a>, span: Range<usize>) {
        let Some(declaring) = self.declaring.as_ref().filter(|declaring| !declaring.contents.broken) else { return };
        let Some(ty) = declaring.kind.ty.map(|ty| self.table.ty(ty)) else { return };
        if let Err(error) = self.value(ty, value, span) {
            self.contents_broken(*error);
        }
    }

    fn value(&mut self, ty: &'static TypeInfo, value: &Value<'a>, span: Range<usize>) -> Read<()> {
        let (name, generic, offset, byte) = match value {
            Value::Address { name, generic, addend, byte } => (*name, *generic, addend.is_some(), byte),
            Value::Constant(_) if ty.kind == Kind::Bits && ty.constants.any() => return Ok(()),
            Value::Constant(value) => {
                return match value.bits(ty) {
                    Ok(_) => Ok(()),
                    Err(error) => fail(Code::Constant, span, format!("{error}")),
                };
            }
        };
        self.address_value(name, generic, offset)?;
        let address = ty.kind == Kind::Unsigned && ty.bits >= LEAST_ADDRESS;
        let message = match byte {
            _ if address => return Ok(()),
            Some(_) if ty.kind == Kind::Unsigned && ty.bits == 8 => return Ok(()),
            Some(_) => format!("a byte of an address is a `.u8`, and this is a `.{}`", ty.name),
            None => format!("an address is a `.u32` or a `.u64`, and this is a `.{}`", ty.name),
        };
        fail(Code::Constant, byte.as_ref().map_or(span, |(_, span)| span.clone()), message)
    }

    fn address_value(&mut self, name: &'a str, generic: bool, offset: bool) -> Read<()> {
        let span = span_of(self.text, name);
        if generic {
            self.feature(Feature::GenericAddressValues, "a generic address as a value", span.clone());
        }
        match self.find(name)? {
            Some(Symbol::Variable { space, .. }) if space.values || space.opaque => {
                self.feature(Feature::AddressValues, "an address as a value", span);
                Ok(())
            }
            Some(Symbol::Variable { space, .. }) => fail(
                Code::Constant,
                span,
                format!("`{name}` is in `.{}`, and has no address before the kernel runs", space.name),
            ),
            Some(Symbol::Function) if !generic && !offset => {
                if let Some(declaring) = &mut self.declaring {
                    declaring.contents.functions.push(name);
                }
                match self.declared.signatures.get(name).is_some_and(|signature| signature.kernel) {
                    true => self.feature(Feature::KernelValues, "the address of a kernel as a value", span),
                    false => self.feature(Feature::FunctionValues, "the address of a function as a value", span),
                }
                Ok(())
            }
            Some(Symbol::Function) => {
                fail(Code::Constant, span, format!("`{name}` is a function: its name alone is its address"))
            }
            Some(_) => fail(Code::Constant, span, format!("`{name}` is neither a variable nor a function")),
            None => self.undeclared(name, Wanted::Address),
        }
    }
}
