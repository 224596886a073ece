//! Fragments: distribution of matrix elements over the lanes of a warp, given by formulas in a spec.

use super::choice::{Choice, Scope, Values, cubes, slots_asked};
use super::{Entry, Model, Opcode, OperandKind};
use crate::syntax::ast::{BinaryOp, Docs, Expr, ExprKind};
use crate::text::Diagnostic;
use isa_table::matrix::{DEPTH, FragmentBuf, Step};
use proc_macro2::Span;

/// Variables of formulas: the lane index, the index of the register in the vector, the index of the element in the
/// register and the number of elements there, and the index of the element among all that the lane holds.
pub(crate) const VARIABLES: [&str; 5] = ["lane", "register", "part", "parts", "element"];

/// Number of lanes in a warp.
const LANES: u32 = 32;

/// Maximum number of elements held by one lane: their indices are bytes.
const ELEMENTS: u32 = 256;

/// Maximum index of a matrix, row or column.
const MOST: i64 = 4096;

/// Formulas of the position of an element.
#[derive(Clone, Debug)]
pub(crate) struct Fragment {
    pub name: String,
    pub docs: Docs,
    /// Index of the matrix, if there are several.
    pub matrix: Option<Expr>,
    pub row: Expr,
    pub column: Expr,
}

/// Fragment held in an operand: `a: left by 4 where .shape == .m16n8k32`.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub span: Span,
    /// Index into [`Entry::operands`].
    pub operand: usize,
    /// Index into [`Model::fragments`].
    pub fragment: usize,
    /// Number of elements in a register, if not given by its type.
    pub by: Option<u32>,
    pub condition: Option<Expr>,
}

/// Share of one lane in a fragment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Share {
    pub fragment: usize,
    pub registers: u32,
    /// Number of elements in a register.
    pub parts: u32,
}

/// Holder of each element.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub matrices: usize,
    pub rows: usize,
    pub columns: usize,
    /// Lane and index among its elements, row by row.
    pub holders: Vec<(u32, u32)>,
}

/// Checks that an expression is a valid formula.
pub(crate) fn check(expr: &Expr) -> Result<(), Diagnostic> {
    if depth(expr) > DEPTH {
        return Err(Diagnostic::new(expr.span, format!("a formula has at most {DEPTH} nested parentheses")));
    }
    match &expr.kind {
        ExprKind::Integer(number) if u16::try_from(*number).is_err() => {
            Err(Diagnostic::new(expr.span, format!("a formula has constants up to {}", u16::MAX)))
        }
        ExprKind::Integer(_) => Ok(()),
        ExprKind::Name(name) if VARIABLES.contains(&name.as_ref()) => Ok(()),
        ExprKind::Name(name) => Err(Diagnostic::new(expr.span, format!("a place does not depend on `{name}`"))
            .suggest(name.as_ref(), VARIABLES)),
        ExprKind::Binary(op, a, b) if apply(*op, 0, 0).is_some() => check(a).and_then(|()| check(b)),
        _ => Err(Diagnostic::new(expr.span, "a place is computed of whole numbers")
            .help("with `+`, `-`, `*`, `<<`, `>>`, `&`, `|` and `^`")),
    }
}

fn apply(op: BinaryOp, a: i64, b: i64) -> Option<i64> {
    match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Sub => a.checked_sub(b),
        BinaryOp::Mul => a.checked_mul(b),
        BinaryOp::Shl => a.checked_mul(1_i64.checked_shl(u32::try_from(b).ok()?)?),
        BinaryOp::Shr => a.checked_shr(u32::try_from(b).ok()?),
        BinaryOp::And => Some(a & b),
        BinaryOp::Or => Some(a | b),
        BinaryOp::Xor => Some(a ^ b),
        _ => None,
    }
}

/// Value of a formula accepted by [`check`]; `None` on 64-bit overflow.
fn value(expr: &Expr, of: &dyn Fn(&str) -> i64) -> Option<i64> {
    match &expr.kind {
        ExprKind::Integer(number) => i64::try_from(*number).ok(),
        ExprKind::Name(name) => Some(of(name.as_ref())),
        ExprKind::Binary(op, a, b) => apply(*op, value(a, of)?, value(b, of)?),
        _ => None,
    }
}

/// The formula in postfix notation.
fn postfix(expr: &Expr, steps: &mut Vec<Step>) {
    match &expr.kind {
        ExprKind::Integer(number) => steps.push(Step::Constant(*number as u16)),
        ExprKind::Name(name) => steps.push(match name.as_ref() {
            "lane" => Step::Lane,
            "register" => Step::Register,
            "part" => Step::Part,
            "parts" => Step::Parts,
            _ => Step::Element,
        }),
        ExprKind::Binary(op, a, b) => {
            postfix(a, steps);
            postfix(b, steps);
            steps.push(match op {
                BinaryOp::Add => Step::Add,
                BinaryOp::Sub => Step::Sub,
                BinaryOp::Mul => Step::Mul,
                BinaryOp::Shl => Step::Shl,
                BinaryOp::Shr => Step::Shr,
                BinaryOp::And => Step::And,
                BinaryOp::Or => Step::Or,
                _ => Step::Xor,
            });
        }
        _ => unreachable!("`check` accepts no other formula"),
    }
}

/// Number of intermediate results of a formula.
fn depth(expr: &Expr) -> usize {
    match &expr.kind {
        ExprKind::Binary(_, a, b) => depth(a).max(depth(b) + 1),
        _ => 1,
    }
}

impl Fragment {
    /// Its formulas for a table.
    pub(crate) fn buf(&self) -> FragmentBuf {
        let steps = |formula: Option<&Expr>| {
            let mut steps = Vec::new();
            formula.into_iter().for_each(|formula| postfix(formula, &mut steps));
            steps
        };
        FragmentBuf {
            matrix: steps(self.matrix.as_ref()),
            row: steps(Some(&self.row)),
            column: steps(Some(&self.column)),
        }
    }

    /// Names of the coordinates with their formulas; that of the matrix is optional.
    pub(crate) fn formulas(&self) -> [(&'static str, Option<&Expr>); 3] {
        [("matrix", self.matrix.as_ref()), ("row", Some(&self.row)), ("column", Some(&self.column))]
    }

    /// Computes the holder of each element for the given share.
    ///
    /// # Errors
    ///
    /// The reason why some element is not held exactly once.
    pub(crate) fn layout(&self, Share { registers, parts, .. }: Share) -> Result<Layout, String> {
        let count = registers * parts;
        if count > ELEMENTS {
            return Err(format!("a thread holds at most {ELEMENTS} elements, and here {count}"));
        }
        let (mut places, mut size) = (Vec::new(), [0; 3]);
        for (lane, element) in (0..LANES).flat_map(|lane| (0..count).map(move |element| (lane, element))) {
            let mut place = [0; 3];
            let of = |name: &str| match name {
                "lane" => lane.into(),
                "register" => (element / parts).into(),
                "part" => (element % parts).into(),
                "parts" => parts.into(),
                _ => element.into(),
            };
            for (number, (what, formula)) in self.formulas().into_iter().enumerate() {
                let value = formula.map_or(Some(0), |formula| value(formula, &of));
                let Some(value) = value.filter(|value| (0..MOST).contains(value)) else {
                    return Err(format!("element {element} of lane {lane} has no valid {what}"));
                };
                place[number] = value as usize;
                size[number] = size[number].max(value as usize + 1);
            }
            places.push(((lane, element), place));
        }
        let [matrices, rows, columns] = size;
        // Of more cells than elements one is free among the first ones, so the others need not be looked at.
        let mut holders = vec![None; (matrices * rows * columns).min(places.len() + 1)];
        for ((lane, element), [matrix, row, column]) in places {
            let Some(holder) = holders.get_mut((matrix * rows + row) * columns + column) else { continue };
            if let Some((other, its)) = holder.replace((lane, element)) {
                let of = if self.matrix.is_some() { format!(" of matrix {matrix}") } else { String::new() };
                return Err(format!(
                    "row {row}, column {column}{of} is held twice: element {its} of lane {other} and element {element} of lane {lane}"
                ));
            }
        }
        let free = |place: usize| {
            let (row, column) = (place / columns % rows, place % columns);
            format!("no thread holds row {row}, column {column} of {rows} by {columns}")
        };
        let holders = holders.into_iter().enumerate().map(|(place, holder)| holder.ok_or_else(|| free(place)));
        let holders = holders.collect::<Result<_, String>>()?;
        Ok(Layout { matrices, rows, columns, holders })
    }
}

impl Layout {
    /// Size in rows and columns of the largest blocks that one lane holds consecutively, uniformly over the matrix.
    pub(crate) fn block(&self) -> (usize, usize) {
        let hang = |high: usize, wide: usize| {
            (0..self.holders.len()).all(|place| {
                let (row, column) = (place / self.columns, place % self.columns);
                let (down, right) = (row % high, column % wide);
                let (lane, first) = self.holders[(row - down) * self.columns + column - right];
                self.holders[place] == (lane, first + (down + right) as u32)
            })
        };
        let most = |size: usize, hang: &dyn Fn(usize) -> bool| {
            (1..=size).rev().filter(|part| size.is_multiple_of(*part)).find(|part| hang(*part)).unwrap_or(1)
        };
        match most(self.columns, &|wide| hang(1, wide)) {
            1 => (most(self.rows, &|high| hang(high, 1)), 1),
            wide => (1, wide),
        }
    }
}

impl Entry {
    /// Shares of each lane in an operand of forms with the given modifiers, each with the values of free modifiers with
    /// which it applies; none if the operand is not a fragment.
    ///
    /// # Errors
    ///
    /// If modifiers do not decide a condition, or registers cannot hold the number of elements.
    pub(crate) fn shares<'a>(
        &'a self,
        model: &Model,
        opcode: &Opcode,
        (operand, choice): (usize, &Choice),
    ) -> Result<Vec<(&'a Held, Share, Values)>, Diagnostic> {
        let cases: Vec<&Held> = self.fragments.iter().filter(|held| held.operand == operand).collect();
        let mut free = Vec::new();
        cases.iter().flat_map(|held| &held.condition).for_each(|expr| slots_asked(expr, opcode, &mut free));
        free.retain(|slot| opcode.slots[*slot].free);
        let mut found = Vec::new();
        for (number, held) in cases.iter().enumerate() {
            // The first case that holds applies.
            let applies = |chosen: &Choice| {
                let choice = choice.with(chosen, &free);
                let scope = Scope { model, opcode, choice: &choice, sm: None, free: true };
                let holds = |held: &Held| held.condition.as_ref().map_or(Ok(true), |condition| scope.holds(condition));
                for earlier in &cases[..number] {
                    if holds(earlier)? {
                        return Ok(false);
                    }
                }
                holds(held)
            };
            let cubes = cubes(opcode, &free, applies)?;
            if cubes.is_empty() {
                continue;
            }
            let Some((case, ty)) = opcode.operand_case(model, &self.operands[operand], choice)? else { continue };
            let registers = match case.kind {
                OperandKind::Scalar => 1,
                OperandKind::Vector(count) => count.into(),
                _ => return Err(Diagnostic::new(held.span, "only registers hold a fragment")),
            };
            let (parts, bits) = (held.by.unwrap_or(model.ty(ty).lanes), model.ty(ty).bits);
            if parts == 0 || bits % parts != 0 {
                let message = format!("a register of {bits} bits does not hold {parts} elements");
                return Err(Diagnostic::new(held.span, message));
            }
            let share = Share { fragment: held.fragment, registers, parts };
            found.extend(cubes.into_iter().map(|when| (*held, share, when)));
        }
        Ok(found)
    }
}
