//! Names without a declaration: what may be meant, or how it is declared.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use core::ops::Range;

use super::Judge;
use crate::diagnostic::{Code, Diagnostic};
use crate::text::closest;
use crate::text::lexer::span_of;
use crate::text::reader::Read;
use crate::text::scope::Symbol;

/// Kind of declaration that an undeclared name should have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Register,
    /// A register that a statement reads, or a special register.
    Source,
    Guard,
    /// A register, a variable or a function.
    Address,
    Function,
    /// The label of a list of functions or labels, or of a prototype.
    List,
}

impl Wanted {
    fn takes(self, symbol: Symbol) -> bool {
        match symbol {
            Symbol::Register { .. } => !matches!(self, Wanted::Function | Wanted::List),
            Symbol::Variable { .. } => self == Wanted::Address,
            Symbol::Function => self == Wanted::Function,
            Symbol::Label => false,
            Symbol::List(_) => self == Wanted::List,
        }
    }

    /// Reason why a special register cannot be there.
    fn not_special(self) -> &'static str {
        match self {
            Wanted::Register | Wanted::Source => "and a declared register is expected here",
            Wanted::Guard => "and a guard is a predicate register",
            Wanted::Address => "which is not an address",
            Wanted::Function => "not a function",
            Wanted::List => "not a list of functions or a prototype",
        }
    }

    /// How a name is declared as such.
    fn declaration(self) -> &'static str {
        match self {
            Wanted::Register | Wanted::Source => "declare it with `.reg`",
            Wanted::Guard => "declare it with `.reg .pred`",
            Wanted::Address => {
                "declare a register with `.reg`, a variable with its state space, as in `.global .b32 name;`"
            }
            Wanted::Function => "declare it with `.func` before it is called; one of another module is `.extern`",
            Wanted::List => "place it as a label in front of the prototype or list that it names",
        }
    }
}

impl<'a> Judge<'_, 'a> {
    /// Reports a name without a visible declaration.
    #[cold]
    pub(super) fn undeclared<T>(&self, name: &str, wanted: Wanted) -> Read<T> {
        let (code, message) = match wanted {
            Wanted::Guard => {
                (Code::Guard, format!("`{name}` is not declared here, and a guard is a predicate register"))
            }
            Wanted::Function => (Code::UndeclaredRegister, format!("there is no function `{name}`")),
            _ => (Code::UndeclaredRegister, format!("`{name}` is not declared here")),
        };
        let span = span_of(self.text, name);
        if self.table.special(name).is_some() {
            let message = format!("`{name}` is a special register, {}", wanted.not_special());
            let error = Diagnostic::error(code, span, message);
            return Err(Box::new(error.with_help("move it to a register first: `mov` reads special registers")));
        }
        let diagnostic = Diagnostic::error(code, span.clone(), message);
        let (stem, number) = name.split_at(name.trim_end_matches(|c: char| c.is_ascii_digit()).len());
        if let Some((declared, count)) = self.names.scopes.family(stem).filter(|(_, count)| *count > 0) {
            let help = format!("`{stem}<{count}>` declares `{stem}0` to `{stem}{}`", count - 1);
            let diagnostic = diagnostic.with_help(help);
            return Err(Box::new(match (self.count_behind(declared), number.parse::<u32>()) {
                (Some(place), Ok(number)) => diagnostic.with_fix(place, format!("{}", u64::from(number) + 1)),
                _ => diagnostic,
            }));
        }
        let near = if self.findings.brief { None } else { self.near(name, wanted) };
        Err(Box::new(match near {
            // An element of a special register is written behind it.
            Some(near) if self.text[span.end..].starts_with('.') && near.contains('.') => {
                diagnostic.with_help(format!("did you mean `{near}`?"))
            }
            Some(near) => diagnostic.with_help(format!("did you mean `{near}`?")).with_fix(span, near),
            None => diagnostic.with_help(wanted.declaration()),
        }))
    }

    /// Returns the most similar name that is accepted there.
    fn near(&self, name: &str, wanted: Wanted) -> Option<Cow<'a, str>> {
        let (stem, number) = name.split_at(name.trim_end_matches(|c: char| c.is_ascii_digit()).len());
        // Of one letter any other may be meant.
        if stem.trim_start_matches('%').len() < 2 {
            return None;
        }
        let declared = || self.names.scopes.newest_names().filter(|(_, _, symbol)| wanted.takes(*symbol));
        let single = closest(name, declared().filter(|(_, count, _)| count.is_none()).map(|(name, ..)| name));
        if let Some(near) = single {
            return Some(Cow::Borrowed(near));
        }
        let has =
            |count: Option<u64>| number.parse().is_ok_and(|number: u64| count.is_some_and(|count| number < count));
        let family = closest(stem, declared().filter(|(_, count, _)| has(*count)).map(|(name, ..)| name));
        if let Some(stem) = family {
            return Some(Cow::Owned(format!("{stem}{number}")));
        }
        if !matches!(wanted, Wanted::Source | Wanted::Address) {
            return None;
        }
        // With the sign of special registers.
        let whole = format!("%{}", name.trim_start_matches('%'));
        // `%tidx` lacks the dot before its element.
        let (vector, element) = whole.split_at(whole.len() - 1);
        if "xyzw".contains(element) && self.table.special(vector).is_some_and(|special| special.vector) {
            return Some(Cow::Owned(format!("{vector}.{element}")));
        }
        let special = closest(&whole, self.table.specials.iter().map(|special| special.name))?;
        Some(Cow::Borrowed(special))
    }

    /// Span of the number of registers in the declaration of a family with this stem.
    fn count_behind(&self, stem: &str) -> Option<Range<usize>> {
        let start = span_of(self.text, stem).end;
        let behind = &self.text[start..];
        let number = behind.trim_ascii_start().strip_prefix('<')?.split('>').next()?.trim_ascii();
        let span = span_of(self.text, number);
        (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(span)
    }
}
