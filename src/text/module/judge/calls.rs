//! Calls: the parameters and results of functions, and the check of arguments against them.
//!
//! A direct call names a function. An indirect call has a register with its address, and a list of functions, a
//! prototype, or an array of addresses. The same rules apply to all: there must be one argument for each parameter,
//! with the parameter's size, alignment and kind.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use isa_table::count::Count;

use super::Judge;
use super::functions::Signature;
use super::undeclared::Wanted;
use crate::diagnostic::{Code, Diagnostic};
use crate::table::{Kind, Memory, Table, TypeId, TypeInfo};
use crate::text::constant::{self, Constant};
use crate::text::lexer::span_of;
use crate::text::reader::{Read, fail};
use crate::text::scope::Symbol;
use crate::text::statement::{Element, Elements, Register, Statement, Value};

/// Contents of a label's list, or of an array in memory.
#[derive(Debug)]
pub(super) enum List<'a> {
    /// Labels, for an indirect branch.
    Branches,
    /// Functions, by name.
    Functions(Vec<&'a str>),
    /// Results and parameters of an indirect call.
    Prototype(Box<Signature>),
    /// Its declaration has an error, which was reported.
    Unknown,
}

/// The size and alignment of a parameter or an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// The type; of a vector or an array, that of an element. `None` for what is opaque.
    pub(super) ty: Option<TypeId>,
    /// The number of elements of a vector; 1 for what is none.
    pub(super) lanes: u8,
    /// The number of dimensions of an array; 0 for what is none.
    pub(super) dimensions: u8,
    /// The number of bytes; 0 for an array without a length.
    pub(super) bytes: u64,
    /// Size in bytes of an element of an array's first dimension; of the whole, if it is not an array.
    pub(super) row: u64,
    /// The alignment in bytes.
    pub(super) align: u64,
    /// True if it is in memory rather than in a register.
    pub(super) memory: bool,
    /// True if it is a parameter in memory of the enclosing function.
    pub(super) own: bool,
    /// True if it is a result in memory of the enclosing function.
    pub(super) result: bool,
}

impl Shape {
    /// Returns the shape of a register, or of a vector of registers.
    pub(super) fn of_register(table: &Table, ty: TypeId, lanes: u8) -> Shape {
        let bytes = bytes_of(table.ty(ty), lanes);
        Shape {
            ty: Some(ty),
            lanes,
            dimensions: 0,
            bytes,
            row: bytes,
            align: bytes,
            memory: false,
            own: false,
            result: false,
        }
    }

    /// Returns whether another declaration of the same variable agrees. Either may leave out the length of an array.
    pub(super) fn agrees(&self, other: &Shape) -> bool {
        let element = |shape: &Shape| (shape.ty, shape.lanes, shape.dimensions, shape.row);
        let open = self.bytes == 0 || other.bytes == 0;
        element(self) == element(other) && (open || self.bytes == other.bytes)
    }

    /// Returns whether a value of this shape is only bits to a call: what is packed and what is a vector is.
    fn is_bits(&self, ty: &TypeInfo) -> bool {
        self.lanes > 1 || matches!(ty.kind, Kind::Bits | Kind::Packed)
    }

    /// Returns whether an argument of another shape holds what this parameter takes.
    fn takes(&self, table: &Table, given: &Shape) -> Result<(), Mismatch> {
        let (Some(own), Some(other)) = (self.ty, given.ty) else {
            return if self.ty == given.ty { Ok(()) } else { Err(Mismatch::Type) };
        };
        let (ty, other_ty) = (table.ty(own), table.ty(other));
        let kinds = if self.dimensions > 0 {
            let bits = ty.kind == Kind::Bits || other_ty.kind == Kind::Bits;
            given.dimensions == 1 && self.lanes == 1 && (bits || own == other)
        } else {
            let predicates = (ty.kind == Kind::Predicate, other_ty.kind == Kind::Predicate);
            let bits = self.is_bits(ty) || given.is_bits(other_ty);
            let same = bits || own == other || ty.is_word() && other_ty.is_word();
            given.dimensions == 0 && same && predicates.0 == predicates.1
        };
        if !kinds {
            return Err(Mismatch::Type);
        }
        if self.bytes != given.bytes && self.bytes > 0 {
            return Err(Mismatch::Size);
        }
        if self.align == given.align { Ok(()) } else { Err(Mismatch::Alignment) }
    }

    /// Returns whether a constant can be passed for this parameter.
    fn takes_constant(&self, table: &Table, value: Constant) -> bool {
        let Some(ty) = self.ty.map(|ty| table.ty(ty)).filter(|_| self.dimensions == 0) else { return false };
        let (integer, single) = match value {
            Constant::Integer { .. } => (true, false),
            Constant::Single(_) => (false, true),
            Constant::Double(_) => (false, false),
        };
        match ty.kind {
            _ if self.lanes > 1 => self.bytes <= 8 && !single,
            Kind::Packed => single,
            Kind::Predicate => false,
            Kind::Bits | Kind::Minifloat => true,
            Kind::Float => !integer,
            Kind::Unsigned | Kind::Signed => integer,
        }
    }

    /// Describes the shape in words: `a .u32`, `an array of 16 bytes, aligned to 8`.
    pub(super) fn in_words(&self, table: &Table) -> String {
        let ty = self.ty.map_or("", |ty| table.ty(ty).name);
        let align = self.align;
        match (self.dimensions, self.lanes) {
            (0, 1) => format!("a `.{ty}` aligned to {align}"),
            (0, lanes) => format!("a vector of {lanes} `.{ty}` aligned to {align}"),
            _ if self.bytes == 0 => format!("an array of `.{ty}` of any length, aligned to {align}"),
            _ => format!("an array of `.{ty}` with {} bytes, aligned to {align}", self.bytes),
        }
    }
}

/// Returns the size in bytes of a vector of `lanes` elements of a type. A predicate counts as one byte.
pub(super) fn bytes_of(ty: &TypeInfo, lanes: u8) -> u64 {
    ty.bytes() * u64::from(lanes)
}

/// Property in which an argument differs from its parameter.
#[derive(Clone, Copy)]
enum Mismatch {
    Type,
    Size,
    Alignment,
}

impl Mismatch {
    fn word(self) -> &'static str {
        match self {
            Mismatch::Type => "type",
            Mismatch::Size => "size",
            Mismatch::Alignment => "alignment",
        }
    }
}

impl<'a> Judge<'_, 'a> {
    /// The function of a direct call.
    pub(super) fn called(&mut self, name: &'a str) -> Read<()> {
        let span = span_of(self.text, name);
        match self.find(name)? {
            Some(Symbol::Function) => Ok(()),
            Some(Symbol::Register { .. }) => {
                let error =
                    Diagnostic::error(Code::OperandType, span, format!("`{name}` is a register, not a function"));
                Err(Box::new(error.with_help(
                    "a call through a register ends with the name of a prototype or of a list of functions",
                )))
            }
            Some(_) => fail(Code::OperandType, span, format!("`{name}` is not a function")),
            None => self.undeclared(name, Wanted::Function),
        }
    }

    /// The list or prototype of an indirect call.
    pub(super) fn targets(&mut self, name: &'a str) -> Read<()> {
        let span = span_of(self.text, name);
        let message = match self.find(name)? {
            Some(Symbol::List(number)) if !matches!(self.body.lists[number as usize], List::Branches) => return Ok(()),
            Some(Symbol::Variable { number, .. }) if self.declared.tables.contains_key(&number) => return Ok(()),
            // A table that knows no directives has no say.
            Some(Symbol::Label) if self.table.directives.is_empty() => return Ok(()),
            Some(Symbol::Variable { .. }) => {
                format!("`{name}` is not an array that begins with addresses of functions")
            }
            Some(_) => format!("`{name}` is not a prototype or a list of functions"),
            None => return self.undeclared(name, Wanted::List),
        };
        fail(Code::OperandType, span, message)
    }

    /// Checks the arguments of a call against all that it may reach.
    pub(super) fn call(&mut self, statement: &Statement<'a>, callee: &'a str, indirect: bool) -> Read<()> {
        let (mut results, mut arguments, mut behind) = (None, None, false);
        for operand in statement.operands() {
            match operand.value {
                Value::Name(_) | Value::Register(_) => behind = true,
                Value::Arguments(list) if behind => arguments = Some(list),
                Value::Arguments(list) => results = Some(list),
                _ => {}
            }
        }
        let given = (self.shapes_of(results)?, self.shapes_of(arguments)?);
        if !indirect {
            let Some(signature) = self.declared.signatures.get(callee) else { return Ok(()) };
            if signature.kernel {
                let message = format!("`{callee}` is a kernel; kernels are launched by the host, not called");
                return fail(Code::OperandType, span_of(self.text, callee), message);
            }
            return self.matches(callee, callee, signature, &given);
        }
        let functions = match self.find(callee)? {
            Some(Symbol::List(number)) => match &self.body.lists[number as usize] {
                List::Prototype(signature) => return self.matches(callee, callee, signature, &given),
                List::Functions(functions) => functions,
                List::Branches | List::Unknown => return Ok(()),
            },
            Some(Symbol::Variable { number, .. }) => match self.declared.tables.get(&number) {
                Some(functions) => functions,
                None => return Ok(()),
            },
            _ => return Ok(()),
        };
        let signatures = functions.iter().filter_map(|name| Some((*name, self.declared.signatures.get(name)?)));
        for (name, signature) in signatures {
            self.matches(name, callee, signature, &given)?;
        }
        Ok(())
    }

    /// The shape of each argument, where it has one.
    fn shapes_of(&mut self, list: Option<Elements<'a>>) -> Read<Vec<Argument<'a>>> {
        let Some(list) = list else { return Ok(Vec::new()) };
        list.iter().map(|element| self.argument(element)).collect()
    }

    fn argument(&mut self, element: Element<'a>) -> Read<Argument<'a>> {
        self.findings.make_room();
        let Register { name, element } = match element {
            Element::Register(register) => register,
            Element::Constant(text) => return Ok(Argument::Constant(text)),
            Element::Sink => return Ok(Argument::Sink),
        };
        let span = span_of(self.text, name);
        let message = match self.find(name)? {
            None => return self.undeclared(name, Wanted::Register),
            Some(_) if element.is_some() => format!("an argument is a whole register, not an element of `{name}`"),
            Some(Symbol::Register { ty, lanes }) => {
                return Ok(Argument::Of(name, Shape::of_register(self.table, ty, lanes)));
            }
            Some(Symbol::Variable { space, number, .. }) => match self.declared.shapes[number as usize] {
                shape if shape.own => format!("`{name}` is a parameter of this function; copy it to pass it on"),
                shape if space.memory == Some(Memory::Call) => return Ok(Argument::Of(name, shape)),
                _ => format!("`{name}` is in `.{}`, and arguments are registers or in `.param`", space.name),
            },
            Some(Symbol::Function) => format!("`{name}` is a function; move its address to a register to pass it"),
            Some(Symbol::Label | Symbol::List(_)) => format!("`{name}` is a label, not an argument"),
        };
        fail(Code::OperandType, span, message)
    }

    /// Checks that results and arguments match a function's signature; `named` is the operand that names the function.
    fn matches(
        &self,
        callee: &str,
        named: &str,
        signature: &Signature,
        (results, arguments): &(Vec<Argument<'a>>, Vec<Argument<'a>>),
    ) -> Read<()> {
        let lists = [("result", signature.results(), results), ("parameter", signature.parameters(), arguments)];
        for (what, formal, given) in lists {
            let open = what == "parameter" && formal.last().is_some_and(|last| last.dimensions > 0 && last.bytes == 0);
            if formal.len() != given.len() && !(open && formal.len() == given.len() + 1) {
                let message = format!("`{callee}` has {}, not {}", Count(formal.len(), what), given.len());
                return fail(Code::OperandCount, span_of(self.text, named), message);
            }
            for (formal, given) in formal.iter().zip(given) {
                self.argument_matches(what, formal, *given, named)?;
            }
        }
        Ok(())
    }

    fn argument_matches(&self, what: &str, formal: &Shape, given: Argument<'a>, named: &str) -> Read<()> {
        let table = self.table;
        let wanted = || formal.in_words(table);
        match given {
            Argument::Sink if what == "result" => Ok(()),
            Argument::Sink => fail(
                Code::Sink,
                span_of(self.text, named),
                format!("`_` is not an argument: the parameter is {}", wanted()),
            ),
            Argument::Constant(text) => {
                if constant::parse(text).is_ok_and(|value| formal.takes_constant(table, value)) {
                    return Ok(());
                }
                let message = format!("`{text}` cannot be passed: the {what} is {}", wanted());
                fail(Code::Constant, span_of(self.text, text), message)
            }
            Argument::Of(name, shape) => {
                let Err(mismatch) = formal.takes(table, &shape) else { return Ok(()) };
                let message = format!("`{name}` does not match the {what} of `{named}` in {}", mismatch.word());
                let help = format!("the {what} is {}, and `{name}` is {}", wanted(), shape.in_words(table));
                let error = Diagnostic::error(Code::OperandType, span_of(self.text, name), message);
                Err(Box::new(error.with_help(help)))
            }
        }
    }
}

/// A result or an argument of a call.
#[derive(Clone, Copy)]
enum Argument<'a> {
    Of(&'a str, Shape),
    Constant(&'a str),
    Sink,
}
