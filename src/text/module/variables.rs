//! Declarations of variables: permitted places, types, dimensions and initializers.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::Checker;
use super::declarations::Attributes;
use super::directives::unknown_directive;
use super::functions::has_numbers;
use super::judge::Wanted;
use super::judge::{Shape, bytes_of};
use crate::diagnostic::Code;
use crate::table::{Feature, Kind, Memory, Space, TypeId, TypeInfo};
use crate::text::constant::{self, Constant, WARP, WARP_NAME, at_name};
use crate::text::lexer::span_of;
use crate::text::reader::{Read, constant_error, fail};
use crate::text::scope::Symbol;

/// Maximum number of array dimensions; each is a level of recursion into nested braces.
const MOST_DIMENSIONS: usize = 64;

/// Minimum width of an address in bits.
const LEAST_ADDRESS: u16 = 32;

/// Size of an address in bytes.
const ADDRESS_BYTES: u64 = 8;

/// Place of a variable declaration.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Site {
    /// Outside of functions.
    Module,
    /// Among the statements of a function.
    Body,
    /// Among parameters; those of kernels and prototypes may be textures and the like.
    Parameters { opaques: bool },
}

/// The part of a variable declaration that precedes the name.
#[derive(Clone, Copy)]
pub(super) struct Declared {
    pub(super) space: &'static Space,
    pub(super) symbol: Symbol,
    pub(super) ty: Option<&'static TypeInfo>,
    pub(super) lanes: u8,
    /// Explicit alignment in bytes; 0 if there is none.
    pub(super) align: u64,
    /// True for `.extern`: the variable is defined elsewhere, which determines its length.
    pub(super) external: bool,
}

impl Declared {
    fn number(&self) -> Option<u32> {
        match self.symbol {
            Symbol::Variable { number, .. } => Some(number),
            _ => None,
        }
    }

    /// Returns true for an opaque variable (texture, sampler or surface).
    fn is_opaque(&self) -> bool {
        matches!(self.symbol, Symbol::Variable { space, .. } if space != self.space)
    }
}

/// Returns the number of elements of an array with these dimensions; 0 if one of them is omitted.
pub(super) fn elements(shape: &[u64]) -> u64 {
    shape.iter().fold(1, |all, count| all.saturating_mul(*count))
}

impl<'a> Checker<'_, 'a> {
    /// Reads the attributes between the state space and the name: `.align 16 .v4 .f32`.
    pub(super) fn variable_attributes(&mut self, space: &'static Space, site: Site) -> Read<Attributes> {
        let (mut lanes, mut align) = (1, 0);
        loop {
            self.cursor().skip_blanks();
            let start = self.cursor().at();
            if !self.cursor().at_dot_word() {
                return fail(Code::Syntax, self.reader.cursor.token(), "the type of a variable is expected here");
            }
            let word = self.cursor().dot_word();
            let span = start..self.cursor().at();
            match word {
                "align" if lanes == 1 => align = self.alignment(span)?,
                "attribute" if lanes == 1 => self.attribute(span)?,
                "v2" if lanes == 1 => lanes = 2,
                "v4" if lanes == 1 => lanes = 4,
                name => {
                    let symbol = Symbol::Variable { space, holds: None, number: 0 };
                    let attributes = Attributes { symbol, ty: None, lanes, align };
                    // An invalid type is reported, but the name is declared nonetheless.
                    return Ok(match self.variable_type(attributes, space, site, name, span) {
                        Ok(attributes) => attributes,
                        Err(error) => {
                            self.judge.findings.waiting.push(*error);
                            attributes
                        }
                    });
                }
            }
        }
    }

    fn variable_type(
        &mut self,
        attributes: Attributes,
        space: &'static Space,
        site: Site,
        name: &'a str,
        span: Range<usize>,
    ) -> Read<Attributes> {
        let table = self.reader.table;
        let lanes = attributes.lanes;
        if let Some(opaque) = table.space(name).filter(|space| space.opaque) {
            if let Some(declared) = table.declared_word(name) {
                self.judge.asks(format_args!("`.{name}`"), &declared.floor, span.clone());
            }
            self.has_option(opaque, span.clone())?;
            let there = match site {
                Site::Module => space.opaques,
                Site::Parameters { opaques } => opaques,
                Site::Body => false,
            };
            if !there || lanes > 1 {
                let spaces = table.spaces.iter().filter(|space| space.opaques);
                let spaces: Vec<String> = spaces.map(|space| format!("`.{}`", space.name)).collect();
                let spaces = spaces.join(" or ");
                let message = format!(
                    "a `.{name}` must be declared alone, in {spaces} outside of functions or as a kernel's parameter"
                );
                return fail(Code::Syntax, span, message);
            }
            let symbol = Symbol::Variable { space: opaque, holds: None, number: 0 };
            return Ok(Attributes { symbol, ..attributes });
        }
        // Parameters are checked at the start of a body.
        let parameter = matches!(site, Site::Parameters { .. });
        let ty = self.declared_type(name, site, span.clone());
        let Some(ty) = ty.filter(|ty| parameter || table.ty(*ty).kind != Kind::Predicate) else {
            return fail(Code::Syntax, span, format!("`.{name}` is not a type of variables"));
        };
        if (lanes > 1 || table.ty(ty).kind == Kind::Packed) && !space.vectors && !parameter {
            return fail(Code::Syntax, span, format!("there are no vectors in `.{}`", space.name));
        }
        self.is_vector(table.ty(ty), lanes, span)?;
        let symbol = Symbol::Variable { space, holds: Some((ty, lanes)), number: 0 };
        Ok(Attributes { symbol, ty: Some(ty), ..attributes })
    }

    /// Assigns a number to a variable. Its shape is set once its dimensions have been read.
    pub(super) fn numbered(&mut self, symbol: Symbol) -> Symbol {
        let Symbol::Variable { space, holds, .. } = symbol else { return symbol };
        let number = self.judge.declared.shapes.len() as u32;
        self.judge.declared.shapes.push(self.shape(None, 1, 0, &[]));
        Symbol::Variable { space, holds, number }
    }

    /// Returns the shape of a variable with these dimensions; with an alignment of 0, that of its type applies.
    pub(super) fn shape(&self, ty: Option<TypeId>, lanes: u8, align: u64, dimensions: &[u64]) -> Shape {
        // An opaque variable has the size of an address.
        let one = ty.map_or(ADDRESS_BYTES, |ty| bytes_of(self.reader.table.ty(ty), lanes));
        Shape {
            ty,
            lanes,
            dimensions: dimensions.len() as u8,
            bytes: one.saturating_mul(elements(dimensions)),
            row: one.saturating_mul(elements(dimensions.get(1..).unwrap_or_default())),
            align: align.max(one),
            memory: true,
            own: false,
            result: false,
        }
    }

    /// Reads the operand of `.align`, a power of two.
    pub(super) fn alignment(&mut self, span: Range<usize>) -> Read<u64> {
        self.cursor().skip_blanks();
        let start = self.cursor().at();
        if !self.cursor().at_digit() {
            return fail(Code::Syntax, span, "this is followed by a number");
        }
        let bytes = constant::literal(self.cursor()).map_err(constant_error)?;
        if !bytes.is_power_of_two() || bytes > u32::MAX.into() {
            return fail(Code::Syntax, start..self.reader.cursor.at(), "an alignment is a power of two");
        }
        Ok(bytes)
    }

    /// Reads the operand of `.attribute`, such as `(.managed)` or `(.unified(19, 95))`.
    fn attribute(&mut self, span: Range<usize>) -> Read<()> {
        self.cursor().skip_blanks();
        let table = self.reader.table;
        if !self.cursor().eat(b'(') {
            return fail(Code::Syntax, span, "this is followed by an attribute in parentheses");
        }
        self.cursor().skip_blanks();
        let start = self.cursor().at();
        let name = if self.cursor().at_dot_word() { self.cursor().dot_word() } else { "" };
        let span = start..self.cursor().at();
        let attributes = || table.directives.iter().filter(|directive| directive.attribute);
        let Some(attribute) = attributes().find(|attribute| attribute.name == name) else {
            let names = attributes().map(|attribute| attribute.name);
            return unknown_directive(name, span, format!("`.{name}` is not an attribute"), names);
        };
        self.cursor().skip_blanks();
        let numbers = if self.cursor().eat(b'(') {
            let numbers = self.head_numbers()?;
            self.cursor().skip_blanks();
            self.cursor().eat(b')');
            numbers
        } else {
            0
        };
        has_numbers(attribute, numbers, &span)?;
        self.judge.level.needs(format_args!("`.{name}`"), &attribute.floor, span)?;
        self.cursor().skip_blanks();
        if !self.cursor().eat(b')') {
            return fail(Code::Syntax, self.reader.cursor.token(), "`)` is expected here");
        }
        Ok(())
    }

    /// Checks that variables in this state space can be declared at this place.
    pub(super) fn stands(&mut self, space: &'static Space, site: Site, span: Range<usize>) -> Read<()> {
        if self.judge.level.is_gone(space.until, &span) {
            return fail(Code::PtxVersion, span, format!("`.{}` went with a PTX before this one", space.name));
        }
        if site == Site::Module && !self.judge.bare && self.judge.level.is_gone(space.inside, &span) {
            return fail(Code::Syntax, span, format!("variables in `.{}` are declared within a function", space.name));
        }
        if site == Site::Body && space.memory == Some(Memory::Call) {
            self.judge.feature(Feature::ArgumentVariables, "a variable that holds an argument", span);
        }
        Ok(())
    }

    /// Reads the dimensions and initializer, such as `[2][3] = {…}`, up to the comma or semicolon after them. Returns
    /// the number of elements; 0 if it is unspecified. Errors are reported, and the text is skipped.
    pub(super) fn contents(&mut self, variable: Declared, name: &'a str, span: Range<usize>) -> Read<u64> {
        let start = self.reader.cursor;
        match self.dimensions_and_values(variable, name) {
            Ok(elements) => Ok(elements),
            Err(error) => {
                self.judge.findings.waiting.push(*error);
                self.reader.cursor = start;
                self.pass_contents(span)?;
                Ok(0)
            }
        }
    }

    fn dimensions_and_values(&mut self, variable: Declared, name: &'a str) -> Read<u64> {
        let mut shape = self.dimensions()?;
        let elements = elements(&shape);
        if let Some(number) = variable.number() {
            let ty = variable.ty.and_then(|ty| self.register_type(ty.name));
            self.judge.declared.shapes[number as usize] = self.shape(ty, variable.lanes, variable.align, &shape);
        }
        if self.cursor().peek() != b'=' {
            if shape.contains(&0) && !variable.external {
                let message = format!("`{name}` has no length: only what is `.extern` or has values needs none");
                return fail(Code::Syntax, span_of(self.text(), name), message);
            }
            return Ok(elements);
        }
        let at = self.cursor().at();
        if variable.external || !variable.space.values {
            let why = if variable.external { "what is `.extern`" } else { "a variable in this state space" };
            return fail(Code::Syntax, at..at + 1, format!("{why} begins without a value"));
        }
        self.cursor().bump();
        self.cursor().skip_blanks();
        self.named.clear();
        match variable.ty {
            Some(ty) => {
                if variable.lanes > 1 {
                    shape.push(variable.lanes.into());
                }
                let at = self.reader.cursor.token();
                let first = self.values(ty, &shape, variable.lanes > 1)?;
                self.keep_table(variable, ty, shape.len());
                if shape.first() != Some(&0) {
                    return Ok(elements);
                }
                if first == 0 {
                    return fail(Code::Syntax, at, format!("no values give `{name}` no length"));
                }
                Ok(first.saturating_mul(self::elements(&shape[1..])))
            }
            None => {
                let span = self.reader.cursor.token();
                if variable.is_opaque() && self.cursor().peek() != b'{' {
                    return fail(Code::Syntax, span, "the fields are expected here, in braces");
                }
                self.pass_contents(span)?;
                Ok(elements)
            }
        }
    }

    /// Records the functions named by an array of addresses, as an indirect call may use the array.
    fn keep_table(&mut self, variable: Declared, ty: &'static TypeInfo, dimensions: usize) {
        let named = core::mem::take(&mut self.named);
        let Some(number) = variable.number() else { return };
        if !named.is_empty() && dimensions == 1 && variable.lanes == 1 && ty.kind == Kind::Unsigned {
            self.judge.declared.tables.insert(number, named);
        }
    }

    /// Reads dimensions such as `[2][3]`. The first one may be empty, which is returned as 0.
    pub(super) fn dimensions(&mut self) -> Read<Vec<u64>> {
        let mut shape = Vec::new();
        loop {
            self.cursor().skip_blanks();
            let start = self.cursor().at();
            if !self.cursor().eat(b'[') {
                return Ok(shape);
            }
            self.cursor().skip_blanks();
            if self.text()[self.cursor().token()] == *WARP_NAME {
                self.cursor().word();
                shape.push(WARP);
            } else if self.cursor().at_digit() {
                shape.push(constant::literal(self.cursor()).map_err(constant_error)?);
            } else if shape.is_empty() && self.cursor().peek() == b']' {
                shape.push(0);
            } else {
                return fail(Code::Syntax, self.reader.cursor.token(), "a number is expected here");
            }
            self.cursor().skip_blanks();
            if !self.cursor().eat(b']') {
                return fail(Code::Syntax, self.reader.cursor.token(), "`]` is expected here");
            }
            if shape.len() > MOST_DIMENSIONS {
                let message = format!("an array has at most {MOST_DIMENSIONS} dimensions");
                return fail(Code::Syntax, start..self.reader.cursor.at(), message);
            }
        }
    }

    /// Reads the initializer of an array of this shape, whose innermost dimension may be that of a vector. Returns the
    /// number of values in the outermost dimension.
    fn values(&mut self, ty: &'static TypeInfo, shape: &[u64], vector: bool) -> Read<u64> {
        let Some((&most, inner)) = shape.split_first() else {
            return self.value(ty).map(|()| 1);
        };
        if !self.cursor().eat(b'{') {
            return fail(
                Code::Constant,
                self.reader.cursor.token(),
                "`{` is expected here: this is an array or a vector",
            );
        }
        let mut count = 0;
        self.cursor().skip_blanks();
        // An empty list is valid.
        let mut more = self.cursor().peek() != b'}';
        while more {
            self.cursor().skip_blanks();
            let start = self.cursor().at();
            self.values(ty, inner, vector)?;
            count += 1;
            if most > 0 && count > most {
                let message = format!("there are {most} values here, and this is one more");
                return fail(Code::Constant, start..self.reader.cursor.at(), message);
            }
            self.cursor().skip_blanks();
            more = self.cursor().eat(b',');
        }
        if vector && inner.is_empty() && count < most {
            let message = format!("a vector of {most} has {most} values, not {count}");
            return fail(Code::Constant, self.reader.cursor.token(), message);
        }
        if !self.cursor().eat(b'}') {
            return fail(Code::Syntax, self.reader.cursor.token(), "`,` or `}` is expected here");
        }
        Ok(count)
    }

    /// Reads a single value: a constant, an address, or a byte of an address.
    fn value(&mut self, ty: &'static TypeInfo) -> Read<()> {
        let start = self.cursor().at();
        let address = ty.kind == Kind::Unsigned && ty.bits >= LEAST_ADDRESS;
        let no_address = || format!("an address is a `.u32` or a `.u64`, and this is a `.{}`", ty.name);
        if at_name(self.cursor()) {
            self.address_value()?;
            return if address { Ok(()) } else { fail(Code::Constant, start..self.reader.cursor.at(), no_address()) };
        }
        let value = constant::expression(self.cursor()).map_err(constant_error)?;
        let span = start..self.cursor().at();
        self.cursor().skip_blanks();
        if self.cursor().eat(b'(') {
            let byte = |bits: u64| (0..8).any(|byte| bits == 0xff << (8 * byte));
            if !matches!(value, Constant::Integer { bits, .. } if byte(bits)) {
                return fail(Code::Constant, span, "this is not a byte of an address: `0xff`, `0xff00` …");
            }
            self.judge.feature(Feature::AddressByteValues, "a byte of an address as a value", span.clone());
            self.cursor().skip_blanks();
            self.address_value()?;
            self.cursor().skip_blanks();
            if !self.cursor().eat(b')') {
                return fail(Code::Syntax, self.reader.cursor.token(), "`)` is expected here");
            }
            let byte_fits = address || ty.kind == Kind::Unsigned && ty.bits == 8;
            if !byte_fits {
                return fail(
                    Code::Constant,
                    span,
                    format!("a byte of an address is a `.u8`, and this is a `.{}`", ty.name),
                );
            }
            return Ok(());
        }
        if ty.kind == Kind::Bits && ty.constants.any() {
            return Ok(());
        }
        match value.bits(ty) {
            Ok(_) => Ok(()),
            Err(error) => fail(Code::Constant, span, format!("{error}")),
        }
    }

    /// Reads an address: `x`, `x+4`, `generic(x)+4`, `f`.
    fn address_value(&mut self) -> Read<()> {
        let mut name = self.cursor().word();
        let generic = name == "generic" && self.cursor().eat(b'(');
        if generic {
            self.cursor().skip_blanks();
            name = self.cursor().word();
            self.cursor().skip_blanks();
            if !self.cursor().eat(b')') {
                return fail(Code::Syntax, self.reader.cursor.token(), "`)` is expected here");
            }
        }
        let span = span_of(self.text(), name);
        let behind = self.reader.cursor;
        self.cursor().skip_blanks();
        let offset = self.cursor().eat(b'+');
        if offset {
            constant::integer(self.cursor()).map_err(constant_error)?;
        } else {
            self.reader.cursor = behind;
        }
        if generic {
            self.judge.feature(Feature::GenericAddressValues, "a generic address as a value", span.clone());
        }
        match self.judge.find(name)? {
            Some(Symbol::Variable { space, .. }) if space.values || space.opaque => {
                self.judge.feature(Feature::AddressValues, "an address as a value", span);
                Ok(())
            }
            Some(Symbol::Variable { space, .. }) => fail(
                Code::Constant,
                span,
                format!("`{name}` is in `.{}`, and has no address before the kernel runs", space.name),
            ),
            Some(Symbol::Function) if !generic && !offset => {
                self.named.push(name);
                match self.judge.declared.signatures.get(name).is_some_and(|signature| signature.kernel) {
                    true => self.judge.feature(Feature::KernelValues, "the address of a kernel as a value", span),
                    false => self.judge.feature(Feature::FunctionValues, "the address of a function as a value", span),
                }
                Ok(())
            }
            Some(Symbol::Function) => {
                fail(Code::Constant, span, format!("`{name}` is a function: its name alone is its address"))
            }
            Some(_) => fail(Code::Constant, span, format!("`{name}` is neither a variable nor a function")),
            None => self.judge.undeclared(name, Wanted::Address),
        }
    }

    /// Skips dimensions and initializer, such as `[24] = {…}`, up to the comma or semicolon after them.
    fn pass_contents(&mut self, span: Range<usize>) -> Read<()> {
        let mut open = 0_usize;
        loop {
            match self.cursor().find(|byte| matches!(byte, b';' | b',' | b'{' | b'}' | b'(' | b')' | b'[' | b']')) {
                None => return fail(Code::Syntax, span, "the text ends within this"),
                Some(b';') => return Ok(()),
                Some(b',') if open == 0 => return Ok(()),
                Some(b'{') => {
                    self.cursor().bump();
                    self.skip_braces(span.clone())?;
                    continue;
                }
                Some(b'}') => return fail(Code::Syntax, self.reader.cursor.token(), "`;` is missing before this"),
                Some(b'(' | b'[') => open += 1,
                Some(b')' | b']') => open = open.saturating_sub(1),
                Some(_) => {}
            }
            self.cursor().bump();
        }
    }
}
