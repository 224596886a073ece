//! Selects among the forms of a mnemonic by the notation of the operands: `mov.b64` has forms for a scalar and for
//! vectors of two and of four.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use core::mem;
use core::ops::Range;

use super::count::{counts, shapes, written_as};
use super::{MAX_OPERANDS, Read, Reader, Statement, at_name, negates_a_name};
use crate::diagnostic::{Code, Diagnostic};
use crate::table::{self, FormInfo, Free, OperandKind};
use crate::text::lexer::Cursor;

/// Shape of an operand, as given by the punctuation around it.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Around {
    /// Number of elements of a vector; 0 for a scalar.
    elements: u16,
    /// True if a minus precedes it or one of its elements.
    minus: bool,
    /// True if it is in brackets.
    bracket: bool,
    /// True for a list in parentheses.
    list: bool,
}

/// The shapes of a statement's operands.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Written {
    /// Number of operands, of which only the first `MAX_OPERANDS` are recorded.
    count: usize,
    operands: [Around; MAX_OPERANDS],
}

impl Written {
    fn push(&mut self, operand: Around) {
        if let Some(place) = self.operands.get_mut(self.count) {
            *place = operand;
        }
        self.count += 1;
    }

    /// Reads the shapes from the cursor to the end of the statement. If the semicolon is missing, the statement ends
    /// before a name that directly follows a value, so that the rest of the text is not scanned for each such
    /// statement.
    fn from(mut cursor: Cursor<'_>) -> Written {
        let mut list = Written::default();
        let (mut inside, mut parentheses, mut bracket) = (0_u16, 0_usize, false);
        // `first`: an operand begins here. `ended`: a value ends here.
        let (mut first, mut ended) = (true, false);
        let mut operand = Around::default();
        cursor.skip_blanks();
        if cursor.at_end() || cursor.peek() == b';' {
            return list;
        }
        loop {
            cursor.skip_blanks();
            let next = cursor.peek();
            // `(.s64) WARP_SZ` is one value.
            if cursor.at_end() || next == b';' || ended && (at_name(&cursor) || matches!(next, b'{' | b'@')) {
                break;
            }
            match next {
                b'{' => inside = 1,
                b'}' => (operand.elements, inside) = (inside, 0),
                b'[' => bracket = true,
                b']' => bracket = false,
                b'(' => {
                    operand.list |= first;
                    parentheses += 1;
                }
                b')' => parentheses = parentheses.saturating_sub(1),
                b'-' => operand.minus |= negates_a_name(cursor),
                b',' if inside > 0 => inside = inside.saturating_add(1),
                b',' if parentheses > 0 => {}
                b',' => {
                    list.push(mem::take(&mut operand));
                    (first, ended) = (true, false);
                    cursor.bump();
                    continue;
                }
                _ => {}
            }
            first = false;
            operand.bracket |= bracket;
            cursor.seek(cursor.token().end);
            ended = cursor.is_behind_value();
        }
        // An unclosed vector.
        operand.elements = operand.elements.max(inside);
        list.push(operand);
        list
    }

    /// Returns true if the operands may belong to a form.
    fn goes_with(&self, form: FormInfo) -> bool {
        let operands = form.operands();
        let mut left = self.operands.iter().take(self.count);
        // Once an operand is omitted, all that follow are.
        for (wanted, place) in places(form) {
            let operand = &operands[place.end - 1];
            match left.next() {
                Some(written) if written.goes_with(wanted, operand) => {}
                None if operand.optional => {}
                _ => return false,
            }
        }
        self.count <= MAX_OPERANDS && left.next().is_none()
    }
}

/// Returns the shape of each operand that a form has in writing, and the operands of the table that are in it: the elements of a
/// vector are operands of their own.
pub(super) fn places(form: FormInfo) -> impl Iterator<Item = (Around, Range<usize>)> {
    let operands = form.operands();
    let (mut first, mut inside, mut bracket) = (0, 0, false);
    (0..operands.len()).filter_map(move |index| {
        let operand = &operands[index];
        let around = operand.around;
        bracket |= around.opens_bracket;
        inside = match (around.opens, inside, operand.kind) {
            (true, ..) => 1,
            (false, 0, OperandKind::Vector(count)) => u16::from(count),
            (false, 0, _) => 0,
            (false, before, _) => before + 1,
        };
        let ends = inside == 0 || around.closes || operand.kind != OperandKind::Scalar;
        let found = ends.then(|| {
            let list = operand.kind == OperandKind::Arguments;
            let wanted = Around { elements: mem::take(&mut inside), minus: around.minus, bracket, list };
            (wanted, mem::replace(&mut first, index + 1)..index + 1)
        });
        bracket &= !around.closes_bracket;
        found
    })
}

/// Returns the operands of which one can be written at the end of `before`, the text behind a mnemonic: one for each form that has
/// this mnemonic and begins with these operands.
pub(crate) fn operands_at_end(form: FormInfo, free: &Free, before: &str) -> Vec<&'static table::Operand> {
    let written = Written::from(Cursor::new(before));
    let last = written.count.saturating_sub(1);
    let Some((here, whole)) = written.operands.get(..=last).and_then(<[Around]>::split_last) else { return Vec::new() };
    let shapes = form.all_shapes().filter(|form| form.takes(free));
    let operand = |form: FormInfo| {
        let operands = form.operands();
        let mut places = places(form);
        for written in whole {
            let (wanted, place) = places.next()?;
            written.goes_with(wanted, &operands[place.end - 1]).then_some(())?;
        }
        let (wanted, place) = places.next()?;
        let element = place.start + usize::from(here.elements.saturating_sub(1));
        let operand = operands.get(if place.len() > 1 { element } else { place.start })?;
        let fits =
            element < place.end || matches!(operand.kind, OperandKind::Vector(count) if here.elements <= count.into());
        let begins = (wanted.bracket || !here.bracket) && (wanted.list || operand.constants || !here.list);
        (fits && begins).then_some(operand)
    };
    shapes.filter_map(operand).collect()
}

impl Around {
    /// Returns true if the shape fits `wanted`, the shape of a form's operand. `operand` is the operand of the table
    /// that ends there.
    fn goes_with(self, wanted: Around, operand: &table::Operand) -> bool {
        // A name may denote a whole vector; some vector operands accept a longer vector.
        let other = match (operand.kind, self.elements) {
            (OperandKind::Vector(_), 0) => true,
            (OperandKind::Vector(_), found) => operand.longer && found > wanted.elements,
            _ => false,
        };
        // A constant may begin with a parenthesis.
        let list = wanted.list || self.list && operand.constants && operand.kind != OperandKind::Arguments;
        self == Around { elements: if other { self.elements } else { wanted.elements }, list, ..wanted }
    }
}

/// A direct-mapped cache of lookups and their results, as a text has the same ones again and again.
#[derive(Default)]
pub(super) struct Shapes {
    /// Indexed by the form's index plus the number of elements of its first operand.
    places: [Option<(Asked, FormInfo)>; 8],
}

/// A lookup: the form that was read first, the statement's free modifiers, and the shapes of its operands.
type Asked = (FormInfo, Free, Written);

impl Shapes {
    fn place(&mut self, (form, _, written): &Asked) -> &mut Option<(Asked, FormInfo)> {
        let place = form.index() + usize::from(written.operands[0].elements);
        &mut self.places[place % self.places.len()]
    }
}

/// Unwraps a finding that is always present without `guessed`.
fn said(error: Option<Box<Diagnostic>>) -> Box<Diagnostic> {
    error.unwrap_or_else(|| unreachable!("only what is guessed has none"))
}

impl<'a> Reader<'a> {
    /// Reads the operands again, as those of another form of the same mnemonic if the shapes of the operands select
    /// one. `error` is the finding of the first attempt, if any.
    #[cold]
    pub(super) fn other_shape(
        &mut self,
        statement: &mut Statement<'a>,
        first: Cursor<'a>,
        error: Option<Box<Diagnostic>>,
    ) -> Read<()> {
        let tried = statement.form;
        let one = tried.all_shapes().nth(1).is_none();
        let written = if one { Written::default() } else { Written::from(first) };
        let found = if one { Some(tried) } else { self.meant(tried, statement.free, written) };
        let error = match error {
            Some(error) if found.is_none_or(|form| form == tried) => error,
            _ => match self.read_as(statement, found.unwrap_or(tried), first) {
                Ok(()) => return self.is_listed(tried, statement.form, first),
                Err(error) => error,
            },
        };
        if let Some(found) = found {
            let (notes, end) = (self.notes.len(), self.cursor);
            // A constant may be of another kind than this form takes.
            let others = tried.all_shapes().filter(|form| error.code == Code::Constant && *form != found);
            for form in others {
                if form.takes(&statement.free)
                    && written.goes_with(form)
                    && self.read_as(statement, form, first).is_ok()
                {
                    return self.is_listed(tried, form, first);
                }
                self.notes.truncate(notes);
            }
            (self.cursor, statement.form) = (end, found);
            return Err(error);
        }
        // What is wrong with the operands is not their number where another shape has as many.
        let free = statement.free;
        let counted = |form: &FormInfo| counts(*form).contains(&written.count);
        let other = shapes(tried, &free).filter(|form| *form != tried).find(counted);
        let error = match other {
            Some(other) if error.code == Code::OperandCount => match self.read_as(statement, other, first) {
                Ok(()) => return self.is_listed(tried, other, first),
                Err(error) => error,
            },
            _ => error,
        };
        Err(written_as(tried, &free, error))
    }

    /// Reads the operands that begin here as those of a form.
    fn read_as(&mut self, statement: &mut Statement<'a>, form: FormInfo, first: Cursor<'a>) -> Read<()> {
        self.cursor = first;
        statement.form = form;
        self.operands_of(statement, false).map_err(said)
    }

    /// Reports a form that only the assembler accepts, unless the form that was read first is one as well.
    fn is_listed(&mut self, tried: FormInfo, form: FormInfo, first: Cursor<'a>) -> Read<()> {
        // The mnemonic has shapes that the manual lists, too.
        let note = form.lenient().filter(|_| tried.lenient().is_none());
        note.map_or(Ok(()), |note| {
            let message = format!("the manual does not list `{} {}`", form.mnemonic(), form.signature());
            self.lenient(Some(note), Code::UnlistedForm, first.token(), &message)
        })
    }

    /// Returns the form of the same mnemonic that the shapes of the operands select.
    fn meant(&mut self, tried: FormInfo, free: Free, written: Written) -> Option<FormInfo> {
        let asked = (tried, free, written);
        let place = self.shapes.place(&asked);
        if let Some((known, found)) = place
            && *known == asked
        {
            return Some(*found);
        }
        let found = tried.all_shapes().filter(|form| form.takes(&free)).find(|form| written.goes_with(*form))?;
        *place = Some((asked, found));
        Some(found)
    }
}
