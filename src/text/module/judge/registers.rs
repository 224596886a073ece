//! Checks the operands of a statement against the declarations of registers.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::Judge;
use super::declarations::ADDRESS_BYTES;
use super::kinds::Like;
use super::undeclared::Wanted;
use crate::diagnostic::{Code, Diagnostic};
use crate::table::{self, Feature, Kind, Lenient, Memory, OperandKind, Special, TypeId, TypeInfo, TypeSet};
use crate::text::lexer::span_of;
use crate::text::reader::{Read, fail};
use crate::text::scope::Symbol;
use crate::text::statement::{Guard, Register, Second, Statement, Value};

impl<'a> Judge<'_, 'a> {
    pub(super) fn guard_is_predicate(&mut self, guard: Guard<'a>) -> Read<()> {
        let Guard { register: name, .. } = guard;
        if !self.names.required {
            return Ok(());
        }
        let types = self.table.types;
        if self.names.scopes.register(name, false).is_some_and(|ty| types[ty.index()].kind == Kind::Predicate) {
            return Ok(());
        }
        match self.find(name)? {
            Some(Symbol::Register { ty, lanes: 1 }) if types[ty.index()].kind == Kind::Predicate => Ok(()),
            Some(_) => fail(Code::Guard, span_of(self.text, name), format!("`{name}` is not a predicate register")),
            None => self.undeclared(name, Wanted::Guard),
        }
    }

    /// Returns the symbol of a name, if it is declared. Reports leading zeros in the number of a family member.
    #[inline]
    pub(super) fn find(&mut self, name: &'a str) -> Read<Option<Symbol>> {
        let Some(found) = self.names.scopes.find(name) else { return Ok(None) };
        if found.leading_zeros {
            let message = format!("`{name}` is the number of a register with leading zeros");
            let note = self.table.takes(Lenient::LeadingZeros);
            let span = span_of(self.text, name);
            let (stem, number) = name.split_at(name.trim_end_matches(|c: char| c.is_ascii_digit()).len());
            let number = number.trim_start_matches('0');
            let plain = format!("{stem}{}", if number.is_empty() { "0" } else { number });
            let finding = Diagnostic::error(Code::LeadingZeros, span.clone(), message);
            self.findings.tolerated(note, finding.with_safe_fix(span, plain))?;
        }
        Ok(Some(found.symbol))
    }

    /// Checks the operands of a statement. Those of the set `registers` are registers alone, outside of
    /// braces, and may be of any type that the operand takes.
    #[inline]
    pub(super) fn registers(&mut self, statement: &Statement<'a>, registers: u32, opcode: usize) -> Read<()> {
        if !self.names.required {
            return Ok(());
        }
        let (mut before, mut called) = (None, None);
        // True if the operand is an element of an open vector, with the vector's elements so far.
        let (mut open, mut group) = (false, Group::default());
        for (index, (info, operand)) in statement.operands_with_info().enumerate() {
            // Fast path: a register whose type fits.
            if registers >> index & 1 != 0
                && let Value::Register(register) = &operand.value
                && let Some(ty) = self.names.scopes.register(register.name, false)
                && info.registers.has(ty)
            {
                continue;
            }
            if info.around.opens {
                (open, group) = (true, Group::default());
            }
            let inside = open;
            open &= !info.around.closes;
            match operand.value {
                Value::Name(name) if info.kind == OperandKind::Function => {
                    self.called(name)?;
                    called = Some((name, false));
                }
                Value::Name(name) if info.kind == OperandKind::Targets => {
                    self.targets(name)?;
                    called = Some((name, true));
                }
                value if !self.is_scalar(info, &value)? => self.of_kind(statement, info, operand, opcode)?,
                Value::Register(register) | Value::Negated(register) => {
                    let mut place = Place { inside, ..Place::of(info) };
                    if matches!(operand.value, Value::Negated(_)) {
                        let table = self.table;
                        place.registers =
                            place.registers.iter().filter(|ty| table.ty(*ty).kind == Kind::Predicate).collect();
                    }
                    // A function is not accepted with an explicit selector.
                    place.functions &= operand.selector == info.selector.map(|selector| selector.default);
                    let ty = match self.register(&place, register) {
                        Err(_) if inside && self.stands_beside(register, braced(statement, index))? => None,
                        found => found?,
                    };
                    if ty.is_none() {
                        self.address_of(info, register.name)?;
                        self.variable(statement, info, register.name)?;
                    }
                    if !info.mixtures {
                        let like = ty.map(|ty| Like::Register(self.table.ty(ty)));
                        self.alike(info, Some(register.name), like, &mut before)?;
                    }
                }
                Value::Sum { name, .. } => {
                    self.summand(info, name)?;
                    self.variable(statement, info, name)?;
                }
                Value::Element { name, .. } => {
                    self.array(name)?;
                    if !self.table.ty(info.ty).is_word() {
                        return self.is_variable(name);
                    }
                    self.variable(statement, info, name)?;
                }
                Value::Constant(_) if !info.mixtures => {
                    let float = self.table.ty(info.ty).kind == Kind::Float;
                    self.alike(info, None, Some(if float { Like::Float } else { Like::Integer }), &mut before)?;
                }
                Value::Constant(_) | Value::Sink | Value::Absent => {}
                Value::Vector(_) | Value::Name(_) | Value::Arguments(_) => {}
            }
            if inside {
                match operand.value {
                    Value::Register(register) => group.register(register),
                    Value::Constant(_) => group.constant = true,
                    _ => {}
                }
                self.no_element_beside_constant(&group)?;
            }
            if let (Some(Second::Register(name)), Some(second)) = (operand.second, info.second) {
                let table::Second { name: own, ty, registers, .. } = *second;
                let place = Place {
                    name: own,
                    ty,
                    registers,
                    functions: false,
                    specials: false,
                    addresses: false,
                    destination: true,
                    inside: false,
                };
                self.register(&place, Register { name, element: None })?;
            }
        }
        called.map_or(Ok(()), |(name, indirect)| self.call(statement, name, indirect))
    }

    /// Returns true if an operand is written as a scalar, which some vector operands accept as well.
    #[inline]
    fn is_scalar(&mut self, info: &table::Operand, value: &Value<'a>) -> Read<bool> {
        Ok(match (info.kind, value) {
            (OperandKind::Scalar, _) => true,
            (OperandKind::Vector(_), Value::Register(Register { name, element: None })) if info.bare => {
                !matches!(self.find(name)?, Some(Symbol::Register { lanes: 2.., .. }))
            }
            (OperandKind::Vector(_), Value::Vector(_)) => false,
            (OperandKind::Vector(_), _) => info.bare,
            _ => false,
        })
    }

    /// Checks the state space of a name that is used as a value, if it is a variable. A function is in no state space,
    /// so that the statement must not name one.
    #[cold]
    fn variable(&mut self, statement: &Statement<'a>, info: &'static table::Operand, name: &'a str) -> Read<()> {
        match self.find(name)? {
            Some(Symbol::Variable { space, .. }) => self.in_space(statement, info, name, space),
            Some(Symbol::Function) => match info.space.and_then(|slot| statement.modifier(slot)) {
                Some(space) => {
                    let message = format!("`{name}` is a function, and the address is in `.{space}`");
                    fail(Code::OperandType, span_of(self.text, name), message)
                }
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// Checks that the address of a name that is used as a value can be taken, if it is a variable.
    #[cold]
    fn address_of(&mut self, info: &'static table::Operand, name: &'a str) -> Read<()> {
        let span = span_of(self.text, name);
        let (space, number) = match self.find(name)? {
            Some(Symbol::Variable { space, number, .. }) => (space, number),
            Some(Symbol::Function) if self.declared.signatures.get(name).is_some_and(|signature| signature.kernel) => {
                self.feature(Feature::KernelValues, "the address of a kernel as a value", span);
                return Ok(());
            }
            _ => return Ok(()),
        };
        if space.memory == Some(Memory::Call) && !self.declared.shapes[number as usize].own {
            let message = format!("`{name}` is an argument of calls, whose address cannot be taken");
            return fail(Code::OperandType, span, message);
        }
        let ty = self.table.ty(info.ty);
        // A reference to a texture, which has the type of an address, and not a value that is computed with.
        if space.opaque && info.spaces.is_empty() && (ty.kind != Kind::Unsigned || ty.bytes() != ADDRESS_BYTES) {
            let message = format!("`{name}` is in `.{}`, and cannot be read as a `.{}`", space.name, ty.name);
            return fail(Code::OperandType, span, message);
        }
        Ok(())
    }

    /// Reports a variable in place of a register.
    fn is_variable<T>(&self, name: &str) -> Read<T> {
        fail(Code::OperandType, span_of(self.text, name), format!("`{name}` is a variable, not a register"))
    }

    /// Elements of vector registers and constants cannot share braces.
    pub(super) fn no_element_beside_constant(&self, group: &Group<'a>) -> Read<()> {
        let (Some(register), true) = (group.element, group.constant) else { return Ok(()) };
        let message = format!("`{register}` is an element of a vector, and a constant stands in the same braces");
        Err(Box::new(
            Diagnostic::error(Code::OperandType, span_of(self.text, register.name), message)
                .with_help("move one of them to a register first"),
        ))
    }

    /// Checks that an element of a vector is of the same kind as the previous one, `before`: integers and floats cannot
    /// be mixed. Registers of `.b*` types go with both.
    fn alike(
        &self,
        info: &'static table::Operand,
        name: Option<&'a str>,
        like: Option<Like>,
        before: &mut Option<(Option<&'a str>, Like)>,
    ) -> Read<()> {
        if info.around.opens {
            *before = None;
        }
        let Some(like) = like else { return Ok(()) };
        match before.replace((name, like)) {
            Some((other, last)) if !like.goes_with(last) => {
                let named = |name: Option<&str>| name.map_or("the constant".into(), |name| format!("`{name}`"));
                let message = format!("{} is {like}, and {} beside it is {last}", named(name), named(other));
                let span = name.or(other).map_or(0..0, |name| span_of(self.text, name));
                Err(Box::new(
                    Diagnostic::error(Code::OperandType, span, message)
                        .with_help("elements of this vector are of one kind; registers of bits go with all"),
                ))
            }
            _ => Ok(()),
        }
    }

    /// Checks a register and returns its type; `None` if it is accepted but is not a register with a type.
    #[inline]
    fn register(&mut self, place: &Place, register: Register<'a>) -> Read<Option<TypeId>> {
        match self.names.scopes.register(register.name, register.element.is_some()) {
            Some(ty) if place.registers.has(ty) => Ok(Some(ty)),
            _ => self.unusual_register(place, register),
        }
    }

    #[cold]
    fn unusual_register(&mut self, place: &Place, register: Register<'a>) -> Read<Option<TypeId>> {
        let symbol = self.find(register.name)?;
        match symbol {
            Some(Symbol::Register { ty, lanes })
                if place.registers.has(ty) && (lanes > 1) == register.element.is_some() =>
            {
                Ok(Some(ty))
            }
            Some(Symbol::Variable { holds: Some((ty, lanes)), .. })
                if place.inside && place.registers.has(ty) && (lanes > 1) == register.element.is_some() =>
            {
                self.variable_as_element(register.name).map(|()| Some(ty))
            }
            _ => self.misfit(place, register, symbol).map(|()| None),
        }
    }

    /// Returns true if the assembler takes a register of another type beside other `elements` of a vector, `None` for a constant, and
    /// reports that. All others must be of one type with it or of a type that permits it, of which there must be one.
    #[cold]
    pub(super) fn stands_beside(
        &mut self,
        register: Register<'a>,
        elements: impl Iterator<Item = Option<Register<'a>>>,
    ) -> Read<bool> {
        let typed = |symbol| match symbol {
            Symbol::Register { ty, lanes: 1 } | Symbol::Variable { holds: Some((ty, 1)), .. } => Some(ty),
            _ => None,
        };
        let table = self.table;
        let permitted = |ty: &TypeId| table.types.iter().any(|other| other.beside.has(*ty));
        let own = self.find(register.name)?.and_then(typed).filter(permitted);
        let Some(own) = own.filter(|_| register.element.is_none()) else { return Ok(false) };
        let mut others = TypeSet::default();
        for element in elements {
            let Some(Register { name, element: None }) = element else { return Ok(false) };
            match self.find(name)?.and_then(typed) {
                Some(ty) if ty == own => {}
                Some(ty) => others = others.with(ty),
                None => return Ok(false),
            }
        }
        if others.is_empty() || !others.iter().all(|ty| table.ty(ty).beside.has(own)) {
            return Ok(false);
        }
        let message = format!("`{register}` is a `.{}` register", table.ty(own).name);
        let note = table.takes(Lenient::RegisterBesideBits);
        let span = span_of(self.text, register.name);
        self.findings.lenient(note, Code::OperandType, span, &message).map(|()| true)
    }

    /// Reports a variable as a vector element in place of a register of its type, which only the assembler accepts.
    pub(super) fn variable_as_element(&mut self, name: &'a str) -> Read<()> {
        let note = self.table.takes(Lenient::VariableAsElement);
        let message = format!("`{name}` is a variable, not a register");
        self.findings.lenient(note, Code::OperandType, span_of(self.text, name), &message)
    }

    fn misfit(&mut self, place: &Place, register: Register<'a>, symbol: Option<Symbol>) -> Read<()> {
        let Register { name, element } = register;
        let span = span_of(self.text, name);
        let table = self.table;
        let wanted = &table.types[place.ty.index()];
        let message = match symbol {
            None => return self.special(place, register),
            Some(Symbol::Register { ty, lanes }) if (lanes > 1) == element.is_some() => {
                let fits =
                    table.types.iter().enumerate().filter(|(index, _)| place.registers.has(TypeId(*index as u8)));
                let fits: Vec<String> = fits.map(|(_, ty)| format!("`.{}`", ty.name)).collect();
                let message = format!(
                    "`{register}` is a `.{}` register, and the operand `{}` is a `.{}`",
                    table.types[ty.index()].name,
                    place.name,
                    wanted.name
                );
                let help = format!("the operand `{}` requires a register of type {}", place.name, fits.join(", "));
                return Err(Box::new(Diagnostic::error(Code::OperandType, span, message).with_help(help)));
            }
            Some(Symbol::Register { lanes: 2.., .. }) => {
                let message = format!("`{name}` is a vector, not a register");
                let help = format!("take one element, as in `{name}.x`");
                let error = Diagnostic::error(Code::OperandType, span.clone(), message).with_help(help);
                return Err(Box::new(error.with_fix(span.end..span.end, ".x")));
            }
            Some(Symbol::Register { .. }) => format!("`{name}` is not a vector"),
            Some(Symbol::Variable { .. } | Symbol::Function)
                if place.addresses && wanted.is_word() && element.is_none() =>
            {
                if place.functions || symbol != Some(Symbol::Function) {
                    return Ok(());
                }
                format!("`{name}` is a function, and the operand `{}` must be a register or a variable", place.name)
            }
            Some(Symbol::Function) if place.functions && wanted.kind != Kind::Predicate && element.is_none() => {
                let note = table.takes(Lenient::FunctionAsSource);
                return self.findings.lenient(
                    note,
                    Code::OperandType,
                    span,
                    &format!("`{name}` is a function, not a register"),
                );
            }
            Some(Symbol::Function) => format!("`{name}` is a function, not a register"),
            Some(Symbol::Variable { .. }) => return self.is_variable(name),
            Some(Symbol::Label | Symbol::List(_)) => format!("`{name}` is a label, not a register"),
        };
        fail(Code::OperandType, span, message)
    }

    /// Reports a special register as an element of a vector, which only the assembler accepts, and returns the type that
    /// it counts as there: untyped bits of its width, or a predicate. `None` if it is no special register.
    #[cold]
    pub(super) fn special_element(&mut self, register: Register<'a>) -> Read<Option<TypeId>> {
        let table = self.table;
        let special = table.special(register.name).filter(|special| special.vector == register.element.is_some());
        let Some(widest) = special.map(|special| self.type_of_special(special)) else { return Ok(None) };
        let like = |ty: &TypeInfo| ty.kind == Kind::Bits && ty.bits == table.ty(widest).bits;
        let own = match table.ty(widest).kind {
            Kind::Predicate => Some(widest),
            _ => table.types.iter().position(like).map(|index| TypeId(index as u8)),
        };
        let message = format!("`{register}` is a special register, and an element of a vector");
        let note = table.takes(Lenient::SpecialAsElement);
        self.findings.lenient(note, Code::OperandType, span_of(self.text, register.name), &message)?;
        self.body.special = true;
        Ok(own)
    }

    /// Checks an undeclared name, which may be a special register.
    fn special(&mut self, place: &Place, register: Register<'a>) -> Read<()> {
        let Register { name, element } = register;
        let table = self.table;
        let Some(special) = table.special(name) else {
            let wanted = match (place.addresses, place.specials) {
                (true, _) => Wanted::Address,
                (false, true) => Wanted::Source,
                (false, false) => Wanted::Register,
            };
            return self.undeclared(name, wanted);
        };
        let (span, wanted_bits) = (span_of(self.text, name), table.ty(place.ty).bits);
        if place.inside
            && !place.specials
            && let Some(ty) = self.special_element(register)?
            && place.registers.has(ty)
        {
            return Ok(());
        }
        if !place.specials {
            let message = format!("`{name}` is a special register, which the operand `{}` cannot be", place.name);
            let help = match place.destination {
                true => "special registers are read-only",
                false => "move it to a register first: `mov` reads special registers",
            };
            return Err(Box::new(Diagnostic::error(Code::UndeclaredRegister, span, message).with_help(help)));
        }
        if special.vector != element.is_some() {
            let message = match special.vector {
                true => format!("`{name}` is a vector, not a register"),
                false => format!("`{name}` is not a vector"),
            };
            let diagnostic = Diagnostic::error(Code::OperandType, span.clone(), message);
            return Err(Box::new(match special.vector {
                true => diagnostic
                    .with_help(format!("take one element, as in `{name}.x`"))
                    .with_fix(span.end..span.end, ".x"),
                false => diagnostic,
            }));
        }
        // A wider special register is read in its low bits, but for elements of vectors, which have its own type.
        let wider = |ty: TypeId| place.registers.has(ty) && table.ty(ty).bits > wanted_bits && table.ty(ty).is_word();
        let own = self.type_of_special(special);
        let fits = match place.inside {
            true => place.registers.has(own),
            false => special.types.has(place.ty) || special.types.iter().any(wider),
        };
        if !fits {
            let types = special.types.iter().filter(|ty| !place.inside || *ty == own);
            let fits: Vec<String> = types.map(|ty| format!("`.{}`", table.ty(ty).name)).collect();
            let wanted = table.ty(place.ty).name;
            let message = format!("`{register}` cannot be read as a `.{wanted}`");
            let read = if place.inside { "as an element of a vector it is a" } else { "it is read as" };
            let help = format!("{read} {}", fits.join(", "));
            return Err(Box::new(Diagnostic::error(Code::OperandType, span, message).with_help(help)));
        }
        self.body.special = true;
        Ok(())
    }

    /// Returns the type of a special register that is not converted: the widest.
    fn type_of_special(&self, special: &Special) -> TypeId {
        special.types.iter().max_by_key(|ty| self.table.ty(*ty).bits).unwrap_or(TypeId(0))
    }

    /// Checks the array of an element operand.
    pub(super) fn array(&mut self, name: &'a str) -> Read<()> {
        match self.find(name)? {
            Some(Symbol::Variable { number, .. }) if self.declared.shapes[number as usize].dimensions > 0 => Ok(()),
            Some(Symbol::Variable { .. }) => {
                fail(Code::OperandType, span_of(self.text, name), format!("`{name}` is not an array"))
            }
            Some(_) => fail(Code::OperandType, span_of(self.text, name), format!("`{name}` is not a variable")),
            None => self.undeclared(name, Wanted::Address),
        }
    }

    /// Checks a name plus a constant: the kind of the name must fit, but not its width.
    fn summand(&mut self, info: &'static table::Operand, name: &'a str) -> Read<()> {
        let symbol = self.find(name)?;
        let types = self.table.types;
        let wanted = &types[info.ty.index()];
        let integer = wanted.is_word();
        let special =
            |name| self.table.special(name).is_some_and(|special| !special.vector && special.types.has(info.ty));
        let fits = match symbol {
            None if info.specials && special(name) => {
                self.body.special = true;
                true
            }
            None => return self.undeclared(name, Wanted::Address),
            Some(Symbol::Register { ty, lanes: 1 }) => {
                let kind = types[ty.index()].kind;
                let same =
                    |(index, ty): (usize, &table::TypeInfo)| info.registers.has(TypeId(index as u8)) && ty.kind == kind;
                let loose = types.iter().enumerate().any(same) || integer && kind == Kind::Packed;
                info.registers.has(ty) || loose && info.functions
            }
            Some(Symbol::Register { .. }) => false,
            Some(Symbol::Variable { .. }) => integer,
            Some(Symbol::Function) => info.functions && wanted.kind != Kind::Predicate,
            Some(Symbol::Label | Symbol::List(_)) => false,
        };
        if fits {
            return Ok(());
        }
        let message = format!("`{name}` plus a constant is not a valid `.{}`", wanted.name);
        fail(Code::OperandType, span_of(self.text, name), message)
    }
}

/// The elements in the braces around an operand of a statement; `None` for one that is no register.
fn braced<'a>(statement: &Statement<'a>, index: usize) -> impl Iterator<Item = Option<Register<'a>>> {
    let infos = statement.form.operands().iter().enumerate();
    let start = infos.clone().take(index + 1).rev().find(|(_, info)| info.around.opens).map_or(index, |(at, _)| at);
    let end = infos.skip(index).find(|(_, info)| info.around.closes).map_or(index, |(at, _)| at);
    statement.operands[start..=end].iter().map(|operand| match operand.value {
        Value::Register(register) => Some(register),
        _ => None,
    })
}

/// Content of braces.
#[derive(Default)]
pub(super) struct Group<'a> {
    /// An element of a vector register.
    element: Option<Register<'a>>,
    pub(super) constant: bool,
}

impl<'a> Group<'a> {
    pub(super) fn register(&mut self, register: Register<'a>) {
        self.element = self.element.or(register.element.map(|_| register));
    }
}

/// Properties of an operand, or of its second destination, that a register is checked against.
struct Place {
    name: &'static str,
    ty: TypeId,
    registers: TypeSet,
    /// True if a function name, a special register or an address is accepted in place of a register.
    functions: bool,
    specials: bool,
    addresses: bool,
    destination: bool,
    /// True for an element of a vector.
    inside: bool,
}

impl Place {
    fn of(info: &'static table::Operand) -> Place {
        let table::Operand { name, ty, registers, functions, specials, addresses, destination, .. } = *info;
        Place { name, ty, registers, functions, specials, addresses, destination, inside: false }
    }
}
