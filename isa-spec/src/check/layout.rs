//! Validation of bit layouts: the width of an operand must equal that of its layout.

use crate::check::Form;
use crate::model::choice::Scope;
use crate::model::{Entry, Model, Opcode, OperandKind};
use crate::text::{Diagnostic, Errors};

/// Checks the bit layouts of an entry's operands for each of its forms.
pub(super) fn check(model: &Model, opcode: &Opcode, entry: &Entry, forms: &[Form], errors: &mut Errors) {
    for laid in &entry.layouts {
        let layout = &model.layouts[laid.layout];
        let operand = &entry.operands[laid.operand];
        for form in forms.iter().filter(|form| form.patterns.iter().any(|pattern| pattern.operand == laid.operand)) {
            let scope = Scope { model, opcode, choice: &form.choice, sm: None, free: true };
            if let Some(Err(diagnostic)) = laid.condition.as_ref().map(|condition| scope.holds(condition)) {
                errors.push(diagnostic);
                break;
            }
            let case = opcode.operand_case(model, operand, &form.choice).ok().flatten();
            let bits = case.filter(|(case, _)| case.kind == OperandKind::Scalar).map(|(_, ty)| model.ty(ty).bits);
            if bits != Some(layout.bits) {
                let message = format!("`{}` of `{}` has not {} bits", operand.name, form.mnemonic, layout.bits);
                errors.push(Diagnostic::new(laid.span, message));
                break;
            }
        }
    }
}
