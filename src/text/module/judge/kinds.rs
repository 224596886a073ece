//! Checks addresses, vectors, labels and functions in operands against their declarations.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use core::fmt;

use super::Judge;
use super::calls::List;
use super::labels::Missing;
use super::registers::Group;
use super::undeclared::Wanted;
use crate::diagnostic::{Code, Diagnostic};
use crate::table::{self, FormInfo, Kind, OperandKind, Space, TypeInfo};
use crate::text::constant::{self, Constant};
use crate::text::effects;
use crate::text::lexer::{Cursor, span_of};
use crate::text::reader::{Read, fail};
use crate::text::scope::Symbol;
use crate::text::spelling;
use crate::text::statement::{Element, Elements, Operand, Register, Statement, Value};

/// Kind of a vector element, compared with those of its neighbors.
#[derive(Clone, Copy)]
pub(super) enum Like {
    Register(&'static TypeInfo),
    /// An integer constant of any width.
    Integer,
    Float,
}

impl Like {
    pub(super) fn goes_with(self, other: Like) -> bool {
        match (self, other) {
            (Like::Register(ty), Like::Register(other)) => ty.goes_with(other),
            (Like::Register(ty), constant) | (constant, Like::Register(ty)) => {
                let float = matches!(constant, Like::Float);
                ty.kind == Kind::Bits || if float { ty.kind == Kind::Float } else { ty.is_word() }
            }
            (Like::Integer, other) => matches!(other, Like::Integer),
            (Like::Float, other) => matches!(other, Like::Float),
        }
    }
}

impl fmt::Display for Like {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Like::Register(ty) => write!(f, "a `.{}` register", ty.name),
            Like::Integer => f.write_str("an integer"),
            Like::Float => f.write_str("a float"),
        }
    }
}

impl<'a> Judge<'_, 'a> {
    /// Checks an operand that is not a scalar.
    pub(super) fn of_kind(
        &mut self,
        statement: &Statement<'a>,
        info: &'static table::Operand,
        operand: &Operand<'a>,
        opcode: usize,
    ) -> Read<()> {
        match (info.kind, operand.value) {
            (OperandKind::Vector(count), Value::Register(register)) => self.whole_vector(info, count, register.name),
            (OperandKind::Address, Value::Constant(_)) => self.constant_address(statement, info, opcode),
            (OperandKind::Vector(_), Value::Vector(elements)) => self.elements(info, elements),
            (OperandKind::Address, Value::Register(Register { name, .. }) | Value::Sum { name, .. }) => {
                let variable = self.address(statement, info, name)?;
                self.window(statement, info, name, variable)?;
                self.suffix(statement, info, operand.selector, name, variable)?;
                variable.map_or(Ok(()), |number| self.own_parameter(statement, name, number))
            }
            (OperandKind::Address, Value::Element { name, .. }) => {
                self.array(name)?;
                let variable = self.address(statement, info, name)?;
                self.window(statement, info, name, variable)
            }
            (OperandKind::Label, Value::Name(name)) => self.jump(name, None),
            (OperandKind::Branches, Value::Name(name)) => self.branches(name),
            _ => Ok(()),
        }
    }

    /// Returns the state space of an address, if the statement names one.
    fn space(&self, statement: &Statement<'a>, info: &'static table::Operand) -> Option<&'static Space> {
        statement.form().space_of(statement.free(), info)
    }

    /// Checks a name in an address, and returns the number of the variable if it is one.
    fn address(
        &mut self,
        statement: &Statement<'a>,
        info: &'static table::Operand,
        name: &'a str,
    ) -> Read<Option<u32>> {
        if self.names.scopes.register(name, false).is_some_and(|ty| info.registers.has(ty)) {
            return Ok(None);
        }
        let span = span_of(self.text, name);
        let message = match self.find(name)? {
            None => return self.undeclared(name, Wanted::Address),
            Some(Symbol::Register { ty, lanes: 1 }) if info.registers.has(ty) => return Ok(None),
            Some(Symbol::Register { ty, lanes: 1 }) => {
                format!("`{name}` is a `.{}` register, and no address", self.table.ty(ty).name)
            }
            Some(Symbol::Register { .. }) => format!("`{name}` is a vector, and no address"),
            Some(Symbol::Variable { space, number, .. }) => {
                return self.in_space(statement, info, name, space).map(|()| Some(number));
            }
            Some(Symbol::Function) => format!("`{name}` is a function, and no address"),
            Some(Symbol::Label | Symbol::List(_)) => format!("`{name}` is a label, and no address"),
        };
        fail(Code::OperandType, span, message)
    }

    /// Checks that a variable is in the state space of an address, or in another state space that the operand accepts.
    pub(super) fn in_space(
        &self,
        statement: &Statement<'a>,
        info: &'static table::Operand,
        name: &'a str,
        found: &'static Space,
    ) -> Read<()> {
        let space = self.space(statement, info);
        let value = info.kind != OperandKind::Address;
        let own = match space {
            // A value operand that lists no state spaces accepts any opaque variable (texture, sampler or surface), which is
            // declared in another space.
            Some(space) => space == found || value && found.opaque && space.opaques && info.spaces.is_empty(),
            None => value || found.generic,
        };
        // An operand may list several state spaces that are windows of the same memory.
        if own || info.spaces.iter().any(|space| self.table.space(space) == Some(found)) {
            return Ok(());
        }
        let span = span_of(self.text, name);
        let wanted = space.map_or(String::from("a generic one"), |space| format!("in `.{}`", space.name));
        let message = format!("`{name}` is in `.{}`, and the address is {wanted}", found.name);
        let help = format!("name the state space `.{}`, if there is such a form", found.name);
        Err(Box::new(Diagnostic::error(Code::OperandType, span, message).with_help(help)))
    }

    /// Checks that an address is in the window of parameters that the statement names, if it names one. `variable` is the number of
    /// the variable that is the address.
    fn window(
        &self,
        statement: &Statement<'a>,
        info: &'static table::Operand,
        name: &'a str,
        variable: Option<u32>,
    ) -> Read<()> {
        let Some(named) = info.space.and_then(|slot| statement.modifier(slot)) else { return Ok(()) };
        // The name of a window has two parts.
        if !named.as_bytes().contains(&b':') {
            return Ok(());
        }
        let Some(space) = self.table.space(named).filter(|space| space.name != named) else { return Ok(()) };
        let parameter = variable.map(|number| self.declared.shapes[number as usize].own);
        let message = if space.kernel == Some(named) && parameter == Some(false) {
            format!("`{name}` is an argument of calls, and `.{named}` has the parameters of this function")
        } else if space.function == Some(named) && self.body.kernel && parameter != Some(false) {
            format!("in a kernel, `.{named}` has the arguments of calls only, not its parameters")
        } else {
            return Ok(());
        };
        fail(Code::OperandType, span_of(self.text, name), message)
    }

    /// Checks that an address with a word behind it is in a register, and in a space whose addresses may have one.
    fn suffix(
        &self,
        statement: &Statement<'a>,
        info: &'static table::Operand,
        bits: Option<u32>,
        name: &'a str,
        variable: Option<u32>,
    ) -> Read<()> {
        let Some(selector) = info.selector.filter(|selector| bits != Some(selector.default)) else { return Ok(()) };
        let message = match self.space(statement, info) {
            Some(space) if !space.suffixes => format!("an address in `.{}` has no `.{}`", space.name, selector.name),
            _ if variable.is_some() => format!("`{name}` is a variable, and `.{}` follows registers", selector.name),
            _ => return Ok(()),
        };
        fail(Code::Selector, span_of(self.text, name), message)
    }

    /// Checks that a statement has the operands that an option of the target requires.
    #[cold]
    pub(super) fn required_operands(&self, form: FormInfo, opcode: usize) -> Read<()> {
        let table = self.table;
        let given = |option: &str| self.level.options.iter().any(|(given, _)| given.name == option);
        for space in table.spaces.iter().filter(|space| space.required && space.option.is_some_and(given)) {
            let has = |form: FormInfo| {
                form.operands().iter().flat_map(|info| info.spaces).any(|name| table.space(name) == Some(space))
            };
            if !has(form)
                && let Some(other) = form.all_shapes().find(|other| has(*other))
            {
                let option = space.option.unwrap_or_default();
                let message = format!("with `{option}`, `{}` needs an operand in `.{}`", form.mnemonic(), space.name);
                let error = Diagnostic::error(Code::OperandCount, self.mnemonic_at(opcode), message);
                let help = format!("write it like `{} {}`", spelling::mnemonic(other), other.signature());
                return Err(Box::new(error.with_help(help)));
            }
        }
        Ok(())
    }

    /// Checks that a function does not write its own parameters, nor read its own results.
    fn own_parameter(&self, statement: &Statement<'a>, name: &'a str, number: u32) -> Read<()> {
        let Some(shape) = self.declared.shapes.get(number as usize).filter(|shape| shape.own) else { return Ok(()) };
        let (reads, writes) = effects::memory_of(statement.form());
        let message = match shape.result {
            true if reads => format!("`{name}` is a result of this function, which cannot be read"),
            false if writes => format!("`{name}` is a parameter of this function, which cannot be written"),
            _ => return Ok(()),
        };
        fail(Code::OperandType, span_of(self.text, name), message)
    }

    /// Checks that the state space of an address permits a constant address.
    fn constant_address(
        &mut self,
        statement: &Statement<'a>,
        info: &'static table::Operand,
        opcode: usize,
    ) -> Read<()> {
        match self.space(statement, info) {
            Some(space) if space.constants => Ok(()),
            _ => {
                let message = format!("the operand `{}` is an address, and none that is a constant", info.name);
                fail(Code::Constant, self.mnemonic_at(opcode), message)
            }
        }
    }

    fn whole_vector(&mut self, info: &'static table::Operand, count: u8, name: &'a str) -> Read<()> {
        let span = span_of(self.text, name);
        match self.find(name)? {
            None => match self.table.special(name) {
                Some(special) if info.specials && special.vector && count == 4 && special.types.has(info.ty) => {
                    self.body.special = true;
                    Ok(())
                }
                _ => self.undeclared(name, Wanted::Register),
            },
            Some(Symbol::Register { ty, lanes }) if lanes > 1 => {
                if lanes != count && !(info.longer && lanes > count) {
                    let message =
                        format!("`{name}` is a vector of {lanes}, and the operand `{}` one of {count}", info.name);
                    return fail(Code::OperandType, span, message);
                }
                self.fits_vector(info, name, self.table.ty(ty))
            }
            Some(_) => fail(
                Code::OperandType,
                span,
                format!("`{name}` is not a vector, and the operand `{}` is one", info.name),
            ),
        }
    }

    /// Checks the elements of a vector: each must go with the element before it. The vector has the type of its first
    /// `.b*` register, if any, and that of its last register otherwise.
    fn elements(&mut self, info: &'static table::Operand, elements: Elements<'a>) -> Read<()> {
        let mut before: Option<(&'a str, Like)> = None;
        let mut own: Option<(&'a str, &'static TypeInfo)> = None;
        let mut group = Group::default();
        for element in elements.iter() {
            match element {
                Element::Register(register) => group.register(register),
                Element::Constant(_) => group.constant = true,
                Element::Sink => {}
            }
            self.no_element_beside_constant(&group)?;
            let (text, like) = match element {
                Element::Register(Register { name, element }) => {
                    let ty = match self.names.scopes.register(name, element.is_some()) {
                        Some(ty) => ty,
                        None => match self.find(name)? {
                            None => match self.special_element(Register { name, element })? {
                                Some(ty) => ty,
                                None => return self.undeclared(name, Wanted::Register),
                            },
                            Some(Symbol::Register { ty, lanes }) if (lanes > 1) == element.is_some() => ty,
                            Some(Symbol::Variable { holds: Some((ty, lanes)), .. })
                                if (lanes > 1) == element.is_some() =>
                            {
                                self.variable_as_element(name)?;
                                ty
                            }
                            Some(_) => {
                                let message = format!("`{name}` is not a register with a single value");
                                return fail(Code::OperandType, span_of(self.text, name), message);
                            }
                        },
                    };
                    if !info.registers.has(ty) && self.stands_beside(Register { name, element }, registers(elements))? {
                        continue;
                    }
                    let ty = self.table.ty(ty);
                    own = own.filter(|(_, ty)| ty.kind == Kind::Bits).or(Some((name, ty)));
                    (name, Like::Register(ty))
                }
                Element::Constant(text) => {
                    let float = constant::parse(text).is_ok_and(|value| !matches!(value, Constant::Integer { .. }));
                    (text, if float { Like::Float } else { Like::Integer })
                }
                Element::Sink => continue,
            };
            if let Some((other, last)) = before
                && !like.goes_with(last)
            {
                let message = format!("`{text}` is {like}, and `{other}` beside it is {last}");
                return fail(Code::OperandType, span_of(self.text, text), message);
            }
            before = Some((text, like));
        }
        let Some((name, ty)) = own else { return Ok(()) };
        // For a longer vector, it is enough that all elements together are as wide as the operand.
        if info.longer
            && let OperandKind::Vector(count) = info.kind
            && elements.len() > usize::from(count)
            && self.takes_wider(info)
            && elements.len() * usize::from(ty.bits) >= usize::from(self.table.ty(info.ty).bits)
        {
            return Ok(());
        }
        self.fits_vector(info, name, ty)
    }

    /// Returns true if an operand accepts registers wider than its type.
    fn takes_wider(&self, info: &'static table::Operand) -> bool {
        let table = self.table;
        info.registers.iter().any(|register| table.ty(register).bits > table.ty(info.ty).bits)
    }

    /// Checks that a vector with elements of type `ty` fits an operand.
    fn fits_vector(&mut self, info: &'static table::Operand, name: &'a str, ty: &'static TypeInfo) -> Read<()> {
        let table = self.table;
        let own = table.ty(info.ty);
        // If wider registers are accepted, integers as wide as the operand are equivalent to `.b*` registers.
        let words = self.takes_wider(info) && ty.is_word() && ty.bits == own.bits;
        let bits = |other: &TypeInfo| words && other.kind == Kind::Bits && other.bits == ty.bits;
        if info.registers.iter().map(|register| table.ty(register)).any(|other| other.name == ty.name || bits(other)) {
            return Ok(());
        }
        let message = format!(
            "`{name}` is a `.{}` register, and an element of the operand `{}` a `.{}`",
            ty.name, info.name, own.name
        );
        fail(Code::OperandType, span_of(self.text, name), message)
    }

    /// Checks a branch to a label, or to `count` labels. Forward references are resolved at the end of the function.
    pub(super) fn jump(&mut self, name: &'a str, count: Option<u64>) -> Read<()> {
        let found = match count {
            None => self.find(name)?,
            Some(_) => self.names.scopes.find(&format!("{name}0")).map(|found| found.symbol),
        };
        let what = match found {
            Some(Symbol::Label) if count.is_none() => return Ok(()),
            None | Some(Symbol::Label) => {
                let behind = span_of(self.text, name).start - self.body.statement_at;
                self.body.labels.jump(name, count, behind);
                return Ok(());
            }
            Some(Symbol::Register { .. }) => "a register",
            Some(Symbol::Variable { .. }) => "a variable",
            Some(Symbol::Function) => "a function",
            Some(Symbol::List(_)) => "a list or a prototype",
        };
        fail(Code::OperandType, span_of(self.text, name), format!("`{name}` is {what}, not a label"))
    }

    /// Reports, at the end of a function, each reference to a label that is not visible there.
    pub(super) fn jumps(&mut self, lost_label: bool) {
        let mut labels = core::mem::take(&mut self.body.labels);
        // The last statement: a list may have any number of labels.
        let mut last = 0..0;
        labels.end(self.text, |labels, jump, missing| {
            let span = span_of(self.text, jump.name);
            let message = match missing {
                Missing::Nowhere if lost_label => return,
                Missing::Nowhere => format!("there is no label `{}` in this function", jump.name),
                Missing::InOtherBlock => {
                    format!("the label `{}` is not visible here: it is in another block", jump.name)
                }
            };
            let start = jump.statement(self.text);
            if start != last.start || span.end > last.end {
                let mut end = Cursor::new(self.text);
                end.seek(span.end);
                last = start..end.find(|byte| byte == b';').map_or(self.text.len(), |_| end.at() + 1);
            }
            let mut error = Diagnostic::error(Code::UndeclaredRegister, span.clone(), message);
            if missing == Missing::Nowhere
                && !self.findings.brief
                && let Some(near) = labels.near(jump.name)
            {
                error = error.with_help(format!("did you mean `{near}`?")).with_fix(span, near);
            }
            error.statement = Some(last.clone());
            self.findings.waiting.push(error);
            self.findings.make_room();
        });
        self.body.labels = labels;
    }

    /// Checks the label list (`.branchtargets`) of an indirect branch.
    fn branches(&mut self, name: &'a str) -> Read<()> {
        match self.find(name)? {
            Some(Symbol::List(number))
                if matches!(self.body.lists[number as usize], List::Branches | List::Unknown) =>
            {
                Ok(())
            }
            // Without any directives in the table, label lists cannot be checked.
            Some(Symbol::Label) if self.table.directives.is_empty() => Ok(()),
            Some(_) => fail(Code::OperandType, span_of(self.text, name), format!("`{name}` is not a list of labels")),
            None => self.undeclared(name, Wanted::List),
        }
    }
}

/// The elements of a vector; `None` for one that is no register.
fn registers(elements: Elements<'_>) -> impl Iterator<Item = Option<Register<'_>>> {
    elements.iter().map(|element| match element {
        Element::Register(register) => Some(register),
        _ => None,
    })
}
