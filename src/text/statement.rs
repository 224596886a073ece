//! A single PTX statement: guard, form, operands, selectors, sinks and constants. It is checked against everything in
//! the table except the types of its registers, which require declarations.
//!
//! ```
//! use ptx_isa::text::statement::{Register, Statement, Value};
//!
//! let statement = Statement::parse(&ptx_isa::TABLE, "@!%p1 setp.f32.lt %p2|_, v.r, 1.0;")?;
//! assert!(statement.guard().is_some_and(|guard| guard.negated));
//! assert_eq!(statement.form().mnemonic(), "setp.lt.f32");
//! assert_eq!(statement.operands()[2].value, Value::Constant(0x3f80_0000));
//! assert_eq!(statement.to_string(), "@!%p1 setp.lt.f32 %p2|_, v.x, 0f3f800000;");
//!
//! let error = Statement::parse(&ptx_isa::TABLE, "set.lt.u32.f32 _, a, b").unwrap_err();
//! assert_eq!((error.code.as_str(), error.span), ("sink", 15..16));
//! # Ok::<(), ptx_isa::diagnostic::Diagnostic>(())
//! ```
//!
//! Printing gives the canonical spelling, which parses to an equal statement. Memory is allocated only for mnemonics
//! out of order, warnings and errors.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use super::reader::Reader;
use crate::diagnostic::Diagnostic;
use crate::selector::Selector;
use crate::table::{self, FormInfo, Free, FreeFloor, OperandKind, Table, TypeInfo};
use crate::target::Floor;

/// Maximum number of operands of a form.
pub const MAX_OPERANDS: usize = isa_table::limits::OPERANDS;

/// A checked statement. Its names borrow from the text.
#[derive(Clone, Copy)]
pub struct Statement<'a> {
    table: &'static Table,
    guard: Option<Guard<'a>>,
    pub(super) form: FormInfo,
    pub(super) free: Free,
    pub(super) operands: [Operand<'a>; MAX_OPERANDS],
}

/// The predicate that guards a statement: `@p` or `@!p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard<'a> {
    /// The name of the register.
    pub register: &'a str,
    /// True if the statement is executed where the predicate is false (`@!p`).
    pub negated: bool,
}

/// An operand of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand<'a> {
    /// The value that is read or written.
    pub value: Value<'a>,
    /// The second destination, `q` in `p|q`.
    pub second: Option<Second<'a>>,
    /// The selected lanes or the mask, packed as [`selector::Kind`](crate::selector::Kind) describes; the default if
    /// none is written. `None` for an operand without a selector.
    pub selector: Option<u32>,
}

/// The value of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A register, or the name of a function where the assembler accepts one.
    Register(Register<'a>),
    /// A negated predicate register, `!p`.
    Negated(Register<'a>),
    /// A register or variable plus a constant.
    Sum {
        /// The name.
        name: &'a str,
        /// The constant, as 64 bits.
        addend: u64,
    },
    /// The address of an array element.
    Element {
        /// The array.
        name: &'a str,
        /// The index of the element.
        index: u64,
    },
    /// A constant, as the bit pattern of the operand's type.
    Constant(u64),
    /// A vector: values in braces.
    Vector(Elements<'a>),
    /// A label, a function, or a list or prototype that a directive declares.
    Name(&'a str),
    /// Arguments or return values of a call, in parentheses.
    Arguments(Elements<'a>),
    /// `_`: the result is discarded.
    Sink,
    /// An operand that is omitted, as are all that follow it.
    Absent,
}

/// The values of a vector or an argument list, in order of writing.
#[derive(Clone, Copy)]
pub struct Elements<'a> {
    /// The text between the brackets, which has been checked before.
    pub(super) text: &'a str,
}

/// A value of a vector or an argument list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element<'a> {
    /// A register, or a variable that is a parameter.
    Register(Register<'a>),
    /// A constant, as written.
    Constant(&'a str),
    /// `_`: this element of the result is discarded.
    Sink,
}

impl<'a> Elements<'a> {
    /// Returns an iterator over the values.
    pub fn iter(self) -> impl Iterator<Item = Element<'a>> {
        super::reader::elements(self.text)
    }

    /// Returns the number of values.
    pub fn len(self) -> usize {
        self.iter().count()
    }

    /// Returns true if the list is empty.
    pub fn is_empty(self) -> bool {
        self.iter().next().is_none()
    }
}

impl PartialEq for Elements<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Elements<'_> {}

impl fmt::Debug for Elements<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl fmt::Display for Elements<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, element) in self.iter().enumerate() {
            f.write_str(if index == 0 { "" } else { ", " })?;
            write!(f, "{element}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Element<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Element::Register(register) => write!(f, "{register}"),
            Element::Constant(text) => f.write_str(text),
            Element::Sink => f.write_str("_"),
        }
    }
}

impl<'a> Value<'a> {
    /// Returns the name of the register or variable, which may be negated or have an addend.
    fn name(&self) -> Option<&'a str> {
        match *self {
            Value::Register(Register { name, .. })
            | Value::Negated(Register { name, .. })
            | Value::Sum { name, .. } => Some(name),
            _ => None,
        }
    }
}

/// A requirement on the PTX version and the target, and the part of a statement that has it. Displays as that part, as
/// messages quote it.
#[derive(Clone, Copy, Debug)]
pub struct Need<'a> {
    part: NeedPart<'a>,
    form: FormInfo,
    /// The minimum version and targets.
    pub floor: &'static Floor,
}

impl<'a> Need<'a> {
    /// Returns the assembler's requirements for the mnemonic of a form with these free modifiers.
    pub fn of(form: FormInfo, free: Free) -> impl Iterator<Item = Need<'a>> {
        let own = Need { part: NeedPart::Form, form, floor: form.lowest_floor() };
        let more = form.syntax().free.then(|| form.floors_with(&free)).into_iter().flatten();
        let more = more.map(move |more| Need { part: NeedPart::Free(more, free), form, floor: &more.floor });
        core::iter::once(own).chain(more)
    }

    /// Returns the manual's requirement, which may be higher than the assembler's.
    pub fn listed(&self) -> &'static Floor {
        match self.part {
            NeedPart::Form => self.form.floor(),
            _ => self.floor,
        }
    }

    /// Returns the special register that has the requirement, if any.
    pub fn special(&self) -> Option<&'a str> {
        match self.part {
            NeedPart::Special(name) => Some(name),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum NeedPart<'a> {
    Form,
    /// A combination of free modifiers; the second field holds all free modifiers of the statement.
    Free(&'static FreeFloor, Free),
    /// An operand or a second destination, by its name in the manual.
    Operand(&'static str),
    Special(&'a str),
}

impl fmt::Display for Need<'_> {
    /// `` `ld.u32` with `.relaxed.cluster` ``
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mnemonic = self.form.mnemonic();
        match self.part {
            NeedPart::Form => write!(f, "`{mnemonic}`"),
            NeedPart::Free(floor, free) => {
                let given: String = floor
                    .when
                    .iter()
                    .filter_map(|forbidden| self.form.modifier(&free, forbidden.slot))
                    .flat_map(|member| [".", member])
                    .collect();
                if !given.is_empty() {
                    return write!(f, "`{mnemonic}` with `{given}`");
                }
                // The absence of a modifier has the requirement.
                let slots = self.form.instruction().data().slots;
                let absent = floor.when.first().and_then(|forbidden| slots.get(usize::from(forbidden.slot)));
                let example = absent.and_then(|slot| slot.members.first()).copied().unwrap_or_default();
                write!(f, "`{mnemonic}` without a modifier such as `.{example}`")
            }
            NeedPart::Operand(name) => write!(f, "`{mnemonic}` with `{name}`"),
            NeedPart::Special(name) => write!(f, "`{name}`"),
        }
    }
}

/// A register, or an element of a vector register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register<'a> {
    /// The name.
    pub name: &'a str,
    /// The element: 0 for `.x` or `.r`, to 3 for `.w` or `.a`.
    pub element: Option<u8>,
}

/// The second destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Second<'a> {
    /// A register.
    Register(&'a str),
    /// `_`: the result is discarded.
    Sink,
}

/// The names of a vector's elements; the names in a row are synonyms.
pub const ELEMENTS: [[&str; 2]; 4] = [["x", "r"], ["y", "g"], ["z", "b"], ["w", "a"]];

/// Returns the index of the vector element that a name denotes.
pub(crate) fn element_index(name: &str) -> Option<u8> {
    ELEMENTS.iter().position(|names| names.contains(&name)).map(|index| index as u8)
}

pub(super) const NOTHING: Operand<'static> = Operand { value: Value::Sink, second: None, selector: None };

impl<'a> Statement<'a> {
    /// Parses a single statement; its semicolon may be omitted. Accepts what the assembler accepts beyond the manual:
    /// [`Statement::parse_with`] reports it.
    ///
    /// # Errors
    ///
    /// The first error, with the token that it is about.
    pub fn parse(table: &'static Table, text: &'a str) -> Result<Statement<'a>, Diagnostic> {
        Statement::parse_with(table, text, &mut Vec::new())
    }

    /// Parses a single statement, and adds a warning to `notes` for each construct that the manual does not list.
    ///
    /// # Errors
    ///
    /// The first error, with the token that it is about. In this case no warnings are added.
    pub fn parse_with(
        table: &'static Table,
        text: &'a str,
        notes: &mut Vec<Diagnostic>,
    ) -> Result<Statement<'a>, Diagnostic> {
        let mut reader = Reader::new(table, text);
        let statement = reader.statement().map_err(|error| *error)?;
        notes.append(&mut reader.notes);
        Ok(statement)
    }

    pub(crate) fn new(table: &'static Table, guard: Option<Guard<'a>>, form: FormInfo, free: Free) -> Statement<'a> {
        Statement { table, guard, form, free, operands: [NOTHING; MAX_OPERANDS] }
    }

    /// Reuses the statement for another one of the same table. The caller must write every operand.
    #[inline]
    pub(crate) fn renew(&mut self, guard: Option<Guard<'a>>, form: FormInfo, free: Free) {
        (self.guard, self.form, self.free) = (guard, form, free);
    }

    /// Creates a statement from parts, which must be consistent.
    pub(crate) fn from_parts(
        table: &'static Table,
        form: FormInfo,
        guard: Option<Guard<'a>>,
        written: &[Operand<'a>],
    ) -> Statement<'a> {
        let mut operands = [Operand { value: Value::Absent, ..NOTHING }; MAX_OPERANDS];
        operands[..written.len()].copy_from_slice(written);
        Statement { table, guard, form, free: Free::NONE, operands }
    }

    /// Returns the table of the form.
    pub fn table(&self) -> &'static Table {
        self.table
    }

    /// Returns the guard, if any.
    pub fn guard(&self) -> Option<Guard<'a>> {
        self.guard
    }

    /// Returns the form.
    pub fn form(&self) -> FormInfo {
        self.form
    }

    /// Returns the modifiers that are not part of the form.
    pub fn free(&self) -> &Free {
        &self.free
    }

    /// Returns the modifier in a slot of the instruction, if any: `global` for the state space of `ld.global.u32`.
    pub fn modifier(&self, slot: u8) -> Option<&'static str> {
        self.form.modifier(&self.free, slot)
    }

    /// Returns the statement with other lanes or another mask for one of its operands, packed as the selector's
    /// [`Kind`](crate::selector::Kind) describes. Has no effect if the operand has no selector.
    #[must_use]
    pub fn with_selector(mut self, operand: usize, bits: u32) -> Statement<'a> {
        if let Some(selector) = self.operands.get_mut(operand).and_then(|operand| operand.selector.as_mut()) {
            *selector = bits;
        }
        self
    }

    /// Returns the statement with another constant, as [`Value::Constant`] has it, for one of its operands. Has no effect
    /// if the operand is not a constant.
    #[must_use]
    pub fn with_constant(mut self, operand: usize, bits: u64) -> Statement<'a> {
        if let Some(Value::Constant(constant)) = self.operands.get_mut(operand).map(|operand| &mut operand.value) {
            *constant = bits;
        }
        self
    }

    /// Returns the mnemonic with all modifiers, in the manual's order.
    pub fn mnemonic(&self) -> Cow<'static, str> {
        match self.form.syntax().free {
            true => Cow::Owned(self.form.mnemonic_with(&self.free)),
            false => Cow::Borrowed(self.form.mnemonic()),
        }
    }

    /// Returns the operands, in the order of the form; omitted ones are [`Value::Absent`].
    pub fn operands(&self) -> &[Operand<'a>] {
        &self.operands[..self.form.operands().len()]
    }

    /// Returns the assembler's requirements: those of the form, its free modifiers, the operands present, and special
    /// registers. Every name of a special register in the table is taken for that register.
    pub fn needs(&self) -> impl Iterator<Item = Need<'a>> {
        self.needs_among(|_| None)
    }

    /// Like [`needs`](Self::needs), among declarations: `declared` returns whether a name is a variable, or `None` if
    /// it is not declared.
    pub fn needs_among(&self, declared: impl Fn(&'a str) -> Option<bool>) -> impl Iterator<Item = Need<'a>> {
        let form = self.form;
        let written = || self.operands_with_info().filter(|(_, operand)| operand.value != Value::Absent);
        // Among optional operands, only the last one present has a requirement: it covers all before it.
        let asks = |(info, _): &(&table::Operand, _)| info.optional && info.floor.is_some();
        let last = written().filter(asks).last().map(|(info, _)| info.name);
        let operands = written().flat_map(move |(info, operand)| {
            let name = operand.value.name();
            let meaning = name.map(|name| (name, declared(name)));
            let variable = matches!(operand.value, Value::Register(_)) && matches!(meaning, Some((_, Some(true))));
            let asks = if info.optional { last == Some(info.name) } else { !variable };
            let own = info.floor.filter(|_| asks).map(|floor| (NeedPart::Operand(info.name), floor));
            let second = info.second.filter(|_| operand.second.is_some());
            let second = second.and_then(|second| Some((NeedPart::Operand(second.name), second.floor?)));
            let register = |element| match element {
                Element::Register(Register { name, .. }) => Some(name),
                _ => None,
            };
            let specials: Vec<&str> = match (operand.value, meaning) {
                (Value::Vector(elements), _) => {
                    elements.iter().filter_map(register).filter(|name| declared(name).is_none()).collect()
                }
                (_, Some((name, None))) if info.specials => Vec::from([name]),
                _ => Vec::new(),
            };
            let specials = specials.into_iter().filter_map(|name| Some((name, self.table.special(name)?)));
            let specials = specials.map(|(name, special)| (NeedPart::Special(name), &special.floor));
            let all = own.into_iter().chain(second).chain(specials);
            all.map(move |(part, floor)| Need { part, form, floor })
        });
        Need::of(form, self.free).chain(operands)
    }

    /// Returns the operands, each with its description in the table.
    pub fn operands_with_info(&self) -> impl Iterator<Item = (&'static table::Operand, &Operand<'a>)> {
        self.form.operands().iter().zip(&self.operands)
    }
}

impl<'a> Statement<'a> {
    /// Text of an operand, by its place: `[a+8]`.
    pub fn operand_text(&self, place: usize) -> String {
        struct Shown<'s, 'a>(&'s Statement<'a>, usize);

        impl fmt::Display for Shown<'_, '_> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut own = self.0.operands_with_info().skip(self.1);
                own.next().map_or(Ok(()), |(info, operand)| self.0.write_operand(f, info, operand))
            }
        }

        Shown(self, place).to_string()
    }

    fn write_operand(&self, f: &mut fmt::Formatter<'_>, info: &table::Operand, operand: &Operand<'a>) -> fmt::Result {
        let element = info.kind == OperandKind::Address && matches!(operand.value, Value::Element { .. });
        f.write_str(if element { "" } else { info.around.before() })?;
        match operand.value {
            Value::Register(register) => write!(f, "{register}")?,
            Value::Negated(register) => write!(f, "!{register}")?,
            Value::Sum { name, addend } if info.kind == OperandKind::Address => write!(f, "{name}+{}", addend as i64)?,
            Value::Sum { name, addend } => write!(f, "{name}+{addend}")?,
            Value::Element { name, index } => write!(f, "{name}[{index}]")?,
            Value::Vector(elements) => write!(f, "{{{elements}}}")?,
            Value::Name(name) => f.write_str(name)?,
            Value::Arguments(elements) => write!(f, "({elements})")?,
            Value::Constant(bits) if info.kind == OperandKind::Address => write!(f, "{bits}")?,
            Value::Constant(bits) => match negative(bits, info, self.table.ty(info.ty)) {
                Some(negative) => write!(f, "{negative}")?,
                None => write_constant(f, bits, self.table.ty(info.ty))?,
            },
            Value::Sink => f.write_str("_")?,
            Value::Absent => {}
        }
        match operand.second {
            Some(Second::Register(name)) => write!(f, "|{name}")?,
            Some(Second::Sink) => f.write_str("|_")?,
            None => {}
        }
        let selector = operand.selector.zip(info.selector.as_ref());
        let (inside, behind) = if info.kind == OperandKind::Address { (None, selector) } else { (selector, None) };
        inside.map_or(Ok(()), |(bits, selector)| write_selector(f, bits, selector))?;
        f.write_str(if element { "" } else { info.around.behind() })?;
        behind.map_or(Ok(()), |(bits, selector)| write_selector(f, bits, selector))
    }
}

impl fmt::Debug for Statement<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Statement({self})")
    }
}

impl PartialEq for Statement<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.form == other.form
            && self.free == other.free
            && self.guard == other.guard
            && self.operands() == other.operands()
    }
}

impl Eq for Statement<'_> {}

impl fmt::Display for Statement<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Guard { register, negated }) = self.guard {
            write!(f, "@{}{register} ", if negated { "!" } else { "" })?;
        }
        f.write_str(&self.mnemonic())?;
        let written = self.operands_with_info().take_while(|(_, operand)| operand.value != Value::Absent);
        for (index, (info, operand)) in written.enumerate() {
            f.write_str(if index == 0 { " " } else { ", " })?;
            self.write_operand(f, info, operand)?;
        }
        f.write_str(";")
    }
}

impl fmt::Display for Register<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        self.element.map_or(Ok(()), |element| write!(f, ".{}", ELEMENTS[usize::from(element & 3)][0]))
    }
}

/// The value of a constant that its operand takes only with its sign: `-1` where the operand is -1 or 1.
fn negative(bits: u64, info: &table::Operand, ty: &TypeInfo) -> Option<i64> {
    let above = 64_u32.checked_sub(ty.bits.into())?;
    let signed = (bits << above) as i64 >> above;
    let takes = |bits: u64| info.within.iter().any(|range| range.has(bits));
    (signed < 0 && !takes(bits) && takes(signed as u64)).then_some(signed)
}

fn write_constant(f: &mut fmt::Formatter<'_>, bits: u64, ty: &TypeInfo) -> fmt::Result {
    match (ty.constants.integer, ty.bits) {
        (true, _) => write!(f, "{bits:#x}"),
        (false, 32) => write!(f, "0f{bits:08x}"),
        (false, _) => write!(f, "0d{bits:016x}"),
    }
}

fn write_selector(f: &mut fmt::Formatter<'_>, bits: u32, info: &Selector) -> fmt::Result {
    if bits == info.default {
        return Ok(());
    }
    write!(f, ".{}", info.kind.spell(info.letter, bits))
}
