//! One PTX statement: guard, form, operands, selectors, sinks and constants; checked by all that the table says of it
//! but the types of its registers, which only declarations tell.
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
//! Printing gives the canonical spelling, which reads back as an equal statement. Nothing is allocated but for
//! mnemonics out of order, warnings and errors.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use super::reader::Reader;
use crate::diagnostic::Diagnostic;
use crate::selector::Selector;
use crate::table::{self, FormInfo, Free, FreeFloor, OperandKind, Table, TypeInfo};
use crate::target::Floor;

/// The most operands a form may have for its statements to be read.
pub const MAX_OPERANDS: usize = isa_table::limits::OPERANDS;

/// A checked statement. Its names are borrowed from the text.
#[derive(Clone, Copy)]
pub struct Statement<'a> {
    table: &'static Table,
    guard: Option<Guard<'a>>,
    pub(super) form: FormInfo,
    pub(super) free: Free,
    pub(super) operands: [Operand<'a>; MAX_OPERANDS],
}

/// The predicate that a statement depends on: `@p` or `@!p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard<'a> {
    /// The name of the register.
    pub register: &'a str,
    /// Whether the statement is done where the predicate is false.
    pub negated: bool,
}

/// What is written for one operand of the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand<'a> {
    /// What is read or written.
    pub value: Value<'a>,
    /// What stands behind the bar of `p|q`.
    pub second: Option<Second<'a>>,
    /// The lanes or the mask, packed as [`selector::Kind`](crate::selector::Kind) says; the default where none is written. `None` for an operand
    /// that has no selector.
    pub selector: Option<u32>,
}

/// What an operand reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// A register, or the name of a function where the assembler takes one.
    Register(Register<'a>),
    /// A predicate register behind `!`.
    Negated(Register<'a>),
    /// A register or variable plus a constant.
    Sum {
        /// The name.
        name: &'a str,
        /// The constant, as 64 bits.
        addend: u64,
    },
    /// The address of an element of an array.
    Element {
        /// The array.
        name: &'a str,
        /// Which element.
        index: u64,
    },
    /// A constant, as the bits that the operand's type makes of it.
    Constant(u64),
    /// Values in braces.
    Vector(Elements<'a>),
    /// A label, a function, or a list or prototype that a directive declares.
    Name(&'a str),
    /// What a function is called with, or gives, in parentheses.
    Arguments(Elements<'a>),
    /// `_`: the result is dropped.
    Sink,
    /// Nothing: the operand is left out, and all behind it.
    Absent,
}

/// What stands in braces or parentheses, in order of writing.
#[derive(Clone, Copy)]
pub struct Elements<'a> {
    /// What stands between them; it was read before.
    pub(super) text: &'a str,
}

/// One of the values in braces or parentheses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element<'a> {
    /// A register, or a variable that is a parameter.
    Register(Register<'a>),
    /// A constant, as it is written.
    Constant(&'a str),
    /// `_`: this part of the result is dropped.
    Sink,
}

impl<'a> Elements<'a> {
    /// The values.
    pub fn iter(self) -> impl Iterator<Item = Element<'a>> {
        super::reader::elements(self.text)
    }

    /// How many there are.
    pub fn len(self) -> usize {
        self.iter().count()
    }

    /// Whether there are none.
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
    /// The name of the register or variable that it is, perhaps with something added or negated.
    fn name(&self) -> Option<&'a str> {
        match *self {
            Value::Register(Register { name, .. })
            | Value::Negated(Register { name, .. })
            | Value::Sum { name, .. } => Some(name),
            _ => None,
        }
    }
}

/// A floor, and the part of a statement that has it. Shown as text it is that part, as messages quote it.
#[derive(Clone, Copy, Debug)]
pub struct Need<'a> {
    part: NeedPart<'a>,
    form: FormInfo,
    /// What is asked for.
    pub floor: &'static Floor,
}

impl<'a> Need<'a> {
    /// What the assembler asks for where a statement has the mnemonic of a form with these free modifiers.
    pub fn of(form: FormInfo, free: Free) -> impl Iterator<Item = Need<'a>> {
        let own = Need { part: NeedPart::Form, form, floor: form.lowest_floor() };
        let more = form.syntax().free.then(|| form.floors_with(&free)).into_iter().flatten();
        let more = more.map(move |more| Need { part: NeedPart::Free(more, free), form, floor: &more.floor });
        core::iter::once(own).chain(more)
    }

    /// What the manual asks for, which may be more than the assembler does.
    pub fn listed(&self) -> &'static Floor {
        match self.part {
            NeedPart::Form => self.form.floor(),
            _ => self.floor,
        }
    }

    /// The special register that needs it, where one does.
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
    /// Free modifiers, among all that the statement has.
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
                write!(f, "`{mnemonic}` with `")?;
                for forbidden in floor.when {
                    self.form.modifier(&free, forbidden.slot).map_or(Ok(()), |member| write!(f, ".{member}"))?;
                }
                f.write_str("`")
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
    /// `_`: the result is dropped.
    Sink,
}

/// The names of a vector's elements; those in one row mean the same.
const ELEMENTS: [[&str; 2]; 4] = [["x", "r"], ["y", "g"], ["z", "b"], ["w", "a"]];

/// Which element of a vector a name is for.
pub(crate) fn element_index(name: &str) -> Option<u8> {
    ELEMENTS.iter().position(|names| names.contains(&name)).map(|index| index as u8)
}

pub(super) const NOTHING: Operand<'static> = Operand { value: Value::Sink, second: None, selector: None };

impl<'a> Statement<'a> {
    /// Reads one statement of the table; its semicolon may be left out. What the assembler takes beyond the manual is
    /// taken; [`Statement::parse_with`] tells of it.
    ///
    /// # Errors
    ///
    /// The first mistake, with the token it is about.
    pub fn parse(table: &'static Table, text: &'a str) -> Result<Statement<'a>, Diagnostic> {
        Statement::parse_with(table, text, &mut Vec::new())
    }

    /// Reads one statement of the table, and adds a warning to `notes` for all that the manual does not list.
    ///
    /// # Errors
    ///
    /// The first mistake, with the token it is about. Then there are no warnings.
    pub fn parse_with(
        table: &'static Table,
        text: &'a str,
        notes: &mut Vec<Diagnostic>,
    ) -> Result<Statement<'a>, Diagnostic> {
        let before = notes.len();
        let mut reader = Reader::new(table, text, notes);
        let read = reader.statement();
        let notes = reader.notes;
        read.map_err(|error| {
            notes.truncate(before);
            *error
        })
    }

    pub(crate) fn new(table: &'static Table, guard: Option<Guard<'a>>, form: FormInfo, free: Free) -> Statement<'a> {
        Statement { table, guard, form, free, operands: [NOTHING; MAX_OPERANDS] }
    }

    /// The same in the place of another one of the table. Each operand is to be written.
    #[inline]
    pub(crate) fn renew(&mut self, guard: Option<Guard<'a>>, form: FormInfo, free: Free) {
        (self.guard, self.form, self.free) = (guard, form, free);
    }

    /// A statement whose parts fit each other.
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

    /// The table that the form is of.
    pub fn table(&self) -> &'static Table {
        self.table
    }

    /// The predicate that the statement depends on.
    pub fn guard(&self) -> Option<Guard<'a>> {
        self.guard
    }

    /// The form.
    pub fn form(&self) -> FormInfo {
        self.form
    }

    /// The modifiers that are no part of the form.
    pub fn free(&self) -> &Free {
        &self.free
    }

    /// The member that a statement has in a slot of its instruction, if it has one: `global` for the state space of
    /// `ld.global.u32`.
    pub fn modifier(&self, slot: u8) -> Option<&'static str> {
        self.form.modifier(&self.free, slot)
    }

    /// The same with other lanes or another mask behind one of its operands, packed as the selector's
    /// [`Kind`](crate::selector::Kind) says; nothing changes where the operand has no selector.
    #[must_use]
    pub fn with_selector(mut self, operand: usize, bits: u32) -> Statement<'a> {
        if let Some(selector) = self.operands.get_mut(operand).and_then(|operand| operand.selector.as_mut()) {
            *selector = bits;
        }
        self
    }

    /// The mnemonic with all modifiers, in the manual's order.
    pub fn mnemonic(&self) -> Cow<'static, str> {
        match self.form.syntax().free {
            true => Cow::Owned(self.form.mnemonic_with(&self.free)),
            false => Cow::Borrowed(self.form.mnemonic()),
        }
    }

    /// What is written for each operand of the form, in its order.
    pub fn operands(&self) -> &[Operand<'a>] {
        &self.operands[..self.form.operands().len()]
    }

    /// What the assembler asks for: the form, its free modifiers, operands that are written, special registers. A name that the
    /// table calls a special register is one, any other a register.
    pub fn needs(&self) -> impl Iterator<Item = Need<'a>> {
        self.needs_among(|_| None)
    }

    /// The same among declarations: `declared` says of a name whether it is a variable; `None` of one that is not declared.
    pub fn needs_among(&self, declared: impl Fn(&'a str) -> Option<bool>) -> impl Iterator<Item = Need<'a>> {
        let form = self.form;
        let written = || self.operands_with_info().filter(|(_, operand)| operand.value != Value::Absent);
        // Of operands that may be left out the last one that is written asks for all before it.
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
            let special = match meaning {
                Some((name, None)) if info.specials => self.table.special(name).map(|special| (name, special)),
                _ => None,
            };
            let special = special.map(|(name, special)| (NeedPart::Special(name), &special.floor));
            let all = own.into_iter().chain(second).chain(special);
            all.map(move |(part, floor)| Need { part, form, floor })
        });
        Need::of(form, self.free).chain(operands)
    }

    /// What the table says of each operand, beside what is written for it.
    pub fn operands_with_info(&self) -> impl Iterator<Item = (&'static table::Operand, &Operand<'a>)> {
        self.form.operands().iter().zip(self.operands())
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
