//! Forms without a loop over the lanes of a warp: `scalarize { cvt: .sat; }`.

use super::Form;
use crate::model::Model;
use crate::model::choice::Scope;
use crate::syntax::ast::Scalarized;
use crate::text::{Diagnostic, Errors};

/// Marks the scalarized forms. Reports unknown opcodes and lines that match no form.
pub(super) fn check(model: &Model, forms: &mut [Form], errors: &mut Errors) {
    for Scalarized { opcodes, condition } in &model.scalarized {
        for name in opcodes {
            let names = || model.opcodes.iter().map(|opcode| opcode.name.as_str());
            let Some(index) = names().position(|other| name == other) else {
                let message = format!("the spec has no instruction `{name}`");
                errors.push(Diagnostic::new(name.span(), message).suggest(name.as_ref(), names()));
                continue;
            };
            let opcode = &model.opcodes[index];
            let mut any = false;
            for form in forms.iter_mut().filter(|form| form.opcode == index) {
                let scope = Scope { model, opcode, choice: &form.choice, sm: None, free: false };
                match condition.as_ref().map_or(Ok(true), |condition| scope.holds(condition)) {
                    Ok(holds) => {
                        form.scalarized |= holds;
                        any |= holds;
                    }
                    // Every form repeats the error.
                    Err(mistake) => {
                        errors.push(mistake);
                        any = true;
                        break;
                    }
                }
            }
            if !any {
                errors.push(Diagnostic::new(name.span(), format!("no form of `{name}` meets this condition")));
            }
        }
    }
}
