//! Minimum versions and targets of an entry as rows: what every form needs, then what each condition adds to it.

use isa_table::page::FloorBuf as Floor;
use isa_table::target::{Target, Version, in_words};

use crate::check::{Form, choice, relaxed};
use crate::model::choice::Scope;
use crate::model::{Entry, Model, Opcode, Requirement};
use crate::pseudo;
use crate::syntax::ast::Expr;
use crate::text::one_line;

/// A minimum version and minimum targets; either is empty if it requires none.
#[derive(Clone, Default)]
struct Least {
    ptx: Option<Version>,
    targets: Vec<Target>,
}

impl Least {
    /// The minimum of what meets this one and a requirement.
    fn and(self, model: &Model, requirement: &Requirement) -> Least {
        let targets = match (&*self.targets, &*requirement.targets) {
            (all, []) | ([], all) => all.to_vec(),
            (these, those) => model.targets_of_both(these, those),
        };
        Least { ptx: self.ptx.max(requirement.ptx), targets }
    }

    /// The parts of a requirement that this minimum does not include.
    fn added_by(&self, model: &Model, requirement: &Least) -> Least {
        let same = |targets: &[Target]| {
            targets.len() == self.targets.len() && targets.iter().all(|target| self.targets.contains(target))
        };
        let targets = match (&*self.targets, &*requirement.targets) {
            ([], all) | (_, all @ []) => all.to_vec(),
            (these, those) => model.targets_of_both(these, those),
        };
        Least {
            ptx: requirement.ptx.filter(|_| requirement.ptx > self.ptx),
            targets: if same(&targets) { Vec::new() } else { targets },
        }
    }

    fn row(self, condition: Option<&Expr>, lenient: Option<String>) -> Option<Floor> {
        let target = Some(in_words(&self.targets)).filter(|words| !words.is_empty());
        let (ptx, is_empty) = (self.ptx.map(|ptx| ptx.to_string()), self.ptx.is_none() && target.is_none());
        let (subject, words) = (condition.map(pseudo::text), condition.map(choice));
        (!is_empty).then_some(Floor { subject, words, ptx, target, lenient })
    }
}

/// The rows of an entry with these forms. A requirement that holds for all of them is one of every form, whatever its
/// condition.
pub(super) fn rows(model: &Model, opcode: &Opcode, entry: &Entry, forms: &[&Form]) -> Vec<Floor> {
    let holds = |condition: &Expr| {
        let of = |form: &Form| {
            let scope = Scope { model, opcode, choice: &form.choice, sm: None, free: false };
            // Statements decide the conditions on free modifiers and on operands.
            matches!(scope.holds(condition), Ok(true))
        };
        forms.iter().all(|form| of(form))
    };
    let is_common = |requirement: &Requirement| requirement.condition.as_ref().is_none_or(holds);
    let common: Vec<bool> = entry.requires.iter().map(|own| !own.removed && is_common(own)).collect();
    // The minimum of every form, with another requirement in place of one of them.
    let least = |place: usize, other: &Requirement| {
        let own = entry.requires.iter().enumerate().filter(|(number, _)| common[*number]);
        let own = own.map(|(number, own)| if number == place { other } else { own });
        own.fold(Least::default(), |least, own| least.and(model, own))
    };
    let Some(first) = entry.requires.first() else { return Vec::new() };
    let every = least(0, first);
    let mut added: Vec<(&Expr, String, Least)> = Vec::new();
    for (own, _) in entry.requires.iter().zip(&common).filter(|(own, common)| !own.removed && !**common) {
        let Some(condition) = &own.condition else { continue };
        let text = pseudo::text(condition);
        let place = added.iter().position(|(_, other, _)| *other == text).unwrap_or(added.len());
        if place == added.len() {
            added.push((condition, text, Least::default()));
        }
        let before = std::mem::take(&mut added[place].2);
        added[place].2 = before.and(model, own);
    }
    let relaxed = relaxed(model, opcode, entry).into_iter().zip(&entry.lenient_floors);
    let lenient = relaxed.filter_map(|(place, (own, note))| {
        let alone = Least { ptx: own.ptx, targets: own.targets.clone() };
        let (condition, shown) = match place.filter(|place| common[*place]) {
            None => (own.condition.as_ref(), alone),
            Some(place) => {
                let Least { ptx, targets } = least(place, own);
                let targets = if alone.targets.is_empty() { alone.targets } else { targets };
                (None, Least { ptx: ptx.filter(|_| own.ptx.is_some()), targets })
            }
        };
        shown.row(condition, Some(one_line(note)))
    });
    let added = added.iter().filter_map(|(condition, _, own)| every.added_by(model, own).row(Some(*condition), None));
    let added: Vec<Floor> = added.chain(lenient).collect();
    every.row(None, None).into_iter().chain(added).collect()
}
