//! Validation of fragments: in every form that uses one, each matrix element is held exactly once.

use std::collections::{HashMap, HashSet};

use super::Form;
use crate::model::fragment::Share;
use crate::model::{Entry, Model, Opcode};
use crate::text::{Diagnostic, Errors};

/// Problems of the shares that entries have in common; `None` for a share without one.
pub(super) type Problems = HashMap<Share, Option<String>>;

/// Checks the fragments of an entry for each of its forms.
pub(super) fn check(
    (model, problems): (&Model, &mut Problems),
    opcode: &Opcode,
    entry: &Entry,
    forms: &[Form],
    errors: &mut Errors,
) {
    let (mut seen, mut used) = (HashSet::new(), HashSet::new());
    for form in forms {
        for pattern in &form.patterns {
            let shares = match entry.shares(model, opcode, (pattern.operand, &form.choice)) {
                Ok(shares) => shares,
                // Most forms would repeat the same error.
                Err(diagnostic) => return errors.push(diagnostic),
            };
            for (held, share, _) in shares {
                used.extend(entry.fragments.iter().position(|other| std::ptr::eq(other, held)));
                let layout = || model.fragments[share.fragment].layout(share).err();
                if seen.insert(share)
                    && let Some(problem) = problems.entry(share).or_insert_with(layout)
                {
                    let name = &entry.operands[pattern.operand].name;
                    errors.push(
                        Diagnostic::new(held.span, problem.clone())
                            .help(format!("this is `{name}` of `{}`", form.mnemonic)),
                    );
                }
            }
        }
    }
    for (_, held) in entry.fragments.iter().enumerate().filter(|(number, _)| !used.contains(number)) {
        errors.push(Diagnostic::new(held.span, "no form of this entry has this fragment"));
    }
}
