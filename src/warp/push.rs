//! Instructions from statements and from resolved modules.

use alloc::vec::Vec;

use super::{DecodeError, Operands, Program, Row, Source};
use crate::table::{self, FormInfo, Kind, TypeInfo};
use crate::text::resolved::{Instruction, Value};
use crate::text::statement::{Register, Second, Statement, Value as Written};

/// The operands of an instruction, collected one after the other.
#[derive(Default)]
pub(crate) struct Gathered {
    pub guard: Option<(u32, bool)>,
    pub destinations: Vec<Option<Row>>,
    pub sources: Vec<Source<Row>>,
    pub selectors: Vec<u32>,
}

impl Gathered {
    /// Adds an operand. The value is none for a sink and for a source that is left out.
    pub(crate) fn add(
        &mut self,
        info: &table::Operand,
        value: Option<Source<Row>>,
        second: Option<Row>,
        selector: Option<u32>,
    ) {
        self.selectors.extend(info.selector.map(|own| selector.unwrap_or(own.default)));
        if !info.destination {
            self.sources.extend(value);
            return;
        }
        self.destinations.push(match value {
            Some(Source::Register(row)) => Some(row),
            _ => None,
        });
        // A sink after the only destination of a form is ignored.
        if info.second.is_some() {
            self.destinations.push(second);
        }
    }

    pub(crate) fn operands(&self) -> Operands<'_, Row> {
        let Gathered { guard, destinations, sources, selectors } = self;
        Operands { guard: *guard, destinations, sources, selectors }
    }
}

/// A guard whose register must be a predicate.
fn guard(form: FormInfo, (row, negated): (Row, bool)) -> Result<(u32, bool), DecodeError> {
    match row.bits {
        1 => Ok((row.number, negated)),
        register => Err(DecodeError::Width { form: form.mnemonic(), register, operand: 1 }),
    }
}

impl Program {
    /// Decodes a statement and appends it. `row` maps the name of a register and the type of its operand to a register.
    /// A register of another width is [converted](Program::push_rows).
    ///
    /// ```
    /// use ptx_isa::text::Statement;
    /// use ptx_isa::warp::{Program, Registers, Row};
    ///
    /// let mut program = Program::new(Registers { b32: 2, pred: 1, ..Registers::default() }, 90);
    /// let statement = Statement::parse(&ptx_isa::TABLE, "setp.lt.s32 %p0, %r1, 10;")?;
    /// // The number at the end of a name is the register's.
    /// program.push_statement(&statement, |register, ty| Some(Row::of(ty, register.name[2..].parse().ok()?)))?;
    ///
    /// let mut warps = program.warps(1);
    /// warps.b32_mut(0, 1)[0] = 10;
    /// program.run(&mut warps);
    /// assert_eq!(warps.pred(0, 0), !1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`DecodeError::NoEvaluator`] for instructions that an emulator must execute: loads, stores, branches.
    /// Fails like [`Program::push_rows`], and if `row` returns `None` for an operand or the operand is a sum.
    pub fn push_statement(
        &mut self,
        statement: &Statement<'_>,
        row: impl Fn(Register<'_>, &'static TypeInfo) -> Option<Row>,
    ) -> Result<(), DecodeError> {
        let form = statement.form();
        if form.evaluations().is_empty() {
            return Err(DecodeError::NoEvaluator(form.mnemonic()));
        }
        let table = form.table();
        let find = |operand: &'static str, ty: &'static TypeInfo, register: Register<'_>| {
            row(register, ty).ok_or(DecodeError::NoRegister { form: form.mnemonic(), operand })
        };
        let named = |operand: &'static str, ty, name| find(operand, ty, Register { name, element: None });
        let mut gathered = Gathered::default();
        for (info, operand) in statement.operands_with_info() {
            let ty = table.ty(info.ty);
            let value = match operand.value {
                Written::Register(register) => Some(Source::Register(find(info.name, ty, register)?)),
                Written::Negated(register) => Some(Source::Not(find(info.name, ty, register)?)),
                Written::Constant(bits) => Some(Source::Constant(bits)),
                Written::Absent => None,
                _ if info.destination => None,
                Written::Sum { .. }
                | Written::Element { .. }
                | Written::Sink
                | Written::Vector(_)
                | Written::Name(_)
                | Written::Arguments(_) => {
                    return Err(DecodeError::NoRegister { form: form.mnemonic(), operand: info.name });
                }
            };
            let second = match (&info.second, operand.second) {
                (Some(second), Some(Second::Register(name))) => Some(named(second.name, table.ty(second.ty), name)?),
                _ => None,
            };
            gathered.add(info, value, second, operand.selector);
        }
        if let Some(own) = statement.guard() {
            let predicate = table.types.iter().find(|ty| ty.kind == Kind::Predicate);
            let predicate = predicate.ok_or(DecodeError::NoRegister { form: form.mnemonic(), operand: "guard" })?;
            gathered.guard = Some(guard(form, (named("guard", predicate, own.register)?, own.negated))?);
        }
        self.push_rows(form, &gathered.operands())
    }

    /// Decodes an instruction of a resolved module whose registers are rows, and appends what computes registers from registers.
    /// Returns its index in the program; none if nothing does, as for loads, stores and branches: they consist of their
    /// [effects](FormInfo::effects_with), whose operands are those of the instruction. Effects of an instruction that has both come first.
    ///
    /// `other` says what stands for an operand that is neither a register nor a constant: a special register, or the address of a
    /// variable. A register of another width is [converted](Program::push_rows).
    ///
    /// ```
    /// use ptx_isa::table::EffectKind;
    /// use ptx_isa::text::resolved::{Module, Value};
    /// use ptx_isa::warp::{Program, Registers, Row, Source};
    ///
    /// let text = ".version 8.0 .target sm_90 .address_size 64
    ///     .entry k() { .reg .b32 a; .reg .b64 at; mov.u32 a, %tid.x; ld.global.u32 a, [at+8]; ret; }";
    /// let module = Module::read(&ptx_isa::TABLE, text).unwrap();
    /// let kernel = &module.functions[0];
    /// let mut registers = Registers::default();
    /// let rows = kernel.registers.iter().map(|register| registers.add_for(module.table.ty(register.ty)));
    /// let rows: Vec<Row> = rows.collect();
    /// let thread = registers.add(32);
    ///
    /// let mut program = Program::new(registers, 90);
    /// let mut push = |number: usize| {
    ///     let instruction = kernel.instructions[number].map(|register| rows[*register]);
    ///     // The only special register that is read is `%tid.x`.
    ///     let code = program.push_instruction(&instruction, |value| match value {
    ///         Value::Special { .. } => Some(Source::Register(thread)),
    ///         _ => None,
    ///     });
    ///     (code.unwrap(), instruction)
    /// };
    /// assert_eq!(push(0).0, Some(0));
    /// let (code, load) = push(1);
    /// let effect = load.form.effects_with(&load.free).next().unwrap();
    /// assert_eq!((code, effect.kind), (None, EffectKind::Read));
    /// let address = &load.operands[usize::from(effect.arguments[0])].value;
    /// assert!(matches!(address, Value::Offset { register: Row { bits: 64, number: 0 }, addend: 8 }));
    /// ```
    ///
    /// # Errors
    ///
    /// Fails like [`Program::push_rows`], and if `other` returns `None` for an operand of code.
    pub fn push_instruction(
        &mut self,
        instruction: &Instruction<Row>,
        mut other: impl FnMut(&Value<Row>) -> Option<Source<Row>>,
    ) -> Result<Option<usize>, DecodeError> {
        let form = instruction.form;
        if form.evaluations().is_empty() {
            return Ok(None);
        }
        let mut gathered = Gathered::default();
        for (info, operand) in form.operands().iter().zip(&instruction.operands) {
            let value = match &operand.value {
                Value::Register(row) => Some(Source::Register(*row)),
                Value::Not(row) => Some(Source::Not(*row)),
                Value::Constant(bits) => Some(Source::Constant(*bits)),
                Value::Absent => None,
                _ if info.destination => None,
                value => {
                    let missing = DecodeError::NoRegister { form: form.mnemonic(), operand: info.name };
                    Some(other(value).ok_or(missing)?)
                }
            };
            gathered.add(info, value, operand.second, operand.selector);
        }
        gathered.guard = instruction.guard.map(|own| guard(form, own)).transpose()?;
        self.push_rows(form, &gathered.operands())?;
        Ok(Some(self.len() - 1))
    }
}
