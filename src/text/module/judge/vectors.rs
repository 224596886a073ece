//! Vector registers in place of values in braces: `mov.b64 d, v` is `mov.b64 d, {v.x, v.y}`.

use alloc::boxed::Box;

use super::Judge;
use crate::diagnostic::Diagnostic;
use crate::table::{Around, FormInfo, OperandKind};
use crate::text::reader::Read;
use crate::text::scope::Symbol;
use crate::text::statement::{MAX_OPERANDS, Operand, Register, Statement, Value};

impl<'a> Judge<'_, 'a> {
    /// Checks what the operands of a statement are declared as. Vector registers may make it a statement of another form.
    /// For `registers` see [`Judge::registers`].
    #[inline]
    pub(super) fn fits(&mut self, statement: &mut Statement<'a>, registers: u32, opcode: usize) -> Read<()> {
        let notes = self.findings.waiting.len();
        self.registers(statement, registers, opcode).or_else(|error| {
            self.findings.waiting.truncate(notes);
            self.spread(statement, opcode, error)
        })
    }

    /// Reads a statement as another form of its mnemonic, which has values in braces in place of vector registers.
    /// `error` is what was found in its registers, and found if there is no such form.
    #[cold]
    fn spread(&mut self, statement: &mut Statement<'a>, opcode: usize, error: Box<Diagnostic>) -> Read<()> {
        let written = statement.form.operands().len();
        let mut lanes = [1_u8; MAX_OPERANDS];
        for (count, (info, operand)) in lanes.iter_mut().zip(statement.operands_with_info()) {
            // Values in braces count as one.
            if info.around == Around::default()
                && let Value::Register(Register { name, element: None }) = operand.value
                && let Some(Symbol::Register { lanes, .. }) = self.names.scopes.find(name).map(|found| found.symbol)
            {
                *count = lanes;
            }
        }
        let lanes = &lanes[..written];
        if lanes.iter().all(|count| *count == 1) {
            return Err(error);
        }
        let mut shapes = statement.form.all_shapes().filter(|form| form.takes(&statement.free));
        let Some(form) = shapes.find(|form| has_braces(*form, lanes)) else { return Err(error) };
        let before = statement.operands;
        let mut values = before[..written].iter().zip(lanes).flat_map(|(operand, count)| {
            let spread = move |lane| match operand.value {
                Value::Register(Register { name, .. }) if *count > 1 => {
                    Value::Register(Register { name, element: Some(lane) })
                }
                value => value,
            };
            (0..*count).map(move |lane| Operand { value: spread(lane), ..*operand })
        });
        statement.form = form;
        for (operand, info) in statement.operands.iter_mut().zip(form.operands()) {
            let value = values.next().unwrap_or_else(|| unreachable!("the form has as many operands"));
            *operand = Operand { selector: value.selector.or(info.selector.map(|selector| selector.default)), ..value };
        }
        self.registers(statement, 0, opcode)
    }
}

/// Returns true if a form has the given number of values for each operand, with braces around several.
fn has_braces(form: FormInfo, lanes: &[u8]) -> bool {
    let mut infos = form.operands().iter();
    let fits = lanes.iter().all(|count| {
        (0..*count).all(|lane| {
            infos.next().is_some_and(|info| {
                let (opens, closes) = (*count > 1 && lane == 0, *count > 1 && lane + 1 == *count);
                info.kind == OperandKind::Scalar && (info.around.opens, info.around.closes) == (opens, closes)
            })
        })
    });
    fits && infos.next().is_none()
}
