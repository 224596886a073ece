//! Judges the directives that labels name: lists of labels and of functions, and prototypes of indirect calls.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use core::ops::Range;

use super::super::Item;
use super::Judge;
use super::calls::List;
use crate::diagnostic::Code;
use crate::table::Directive;
use crate::text::lexer::span_of;
use crate::text::reader::{Read, fail};
use crate::text::scope::Symbol;

/// Maximum number of functions in a list with which another one is compared.
const MOST_COMPARED: usize = 16;

/// The list that is being read.
pub(super) struct Listing<'a> {
    label: &'a str,
    directive: &'static Directive,
    functions: Vec<&'a str>,
    /// True once an error in it was reported: of each list only one is.
    broken: bool,
}

impl<'a> Judge<'_, 'a> {
    pub(super) fn list(&mut self, label: &'a str, directive: &'static Directive, span: Range<usize>) -> Read<()> {
        let level = self.level.needs(format_args!("`.{}`", directive.name), &directive.floor, span);
        let broken = level.is_err();
        self.head = super::functions::Heading::default();
        self.body.listing = Some(Listing { label, directive, functions: Vec::new(), broken });
        level
    }

    /// Judges a name in the list.
    pub(super) fn list_name(&mut self, name: &'a str, count: Option<u64>) {
        let Some(mut listing) = self.body.listing.take() else { return };
        if !listing.broken {
            let judged = match listing.directive.branches {
                true if name == listing.label => Ok(()),
                true => self.jump(name, count),
                false => self.listed_function(&mut listing, name, count),
            };
            listing.broken = judged.is_err();
            if let Err(error) = judged {
                self.findings.refuse(Some(*error));
            }
        }
        self.body.listing = Some(listing);
    }

    fn listed_function(&mut self, listing: &mut Listing<'a>, name: &'a str, count: Option<u64>) -> Read<()> {
        let function = matches!(self.find(name)?, Some(Symbol::Function)) && count.is_none();
        // Calls are checked against each function that is kept, so one function per signature is enough.
        let signatures = &self.declared.signatures;
        let own = signatures.get(name);
        let alike = |other: &&str| own.zip(signatures.get(other)).is_some_and(|(own, other)| own.is_called_as(other));
        if !listing.functions.iter().rev().take(MOST_COMPARED).any(alike) {
            listing.functions.push(name);
        }
        if function {
            return Ok(());
        }
        fail(Code::OperandType, span_of(self.text, name), format!("`{name}` is not a function"))
    }

    /// Ends the list, and declares its label. `span` is `None` if it is incomplete.
    pub(super) fn list_ends(&mut self, span: Option<Range<usize>>) {
        let Some(Listing { label, directive, functions, broken }) = self.body.listing.take() else { return };
        let number = self.body.lists.len() as u32;
        let signature = core::mem::take(&mut self.head).signature;
        self.body.lists.push(match directive {
            _ if broken || span.is_none() || self.findings.has_some() => List::Unknown,
            _ if directive.prototype => List::Prototype(Box::new(signature)),
            _ if directive.branches => List::Branches,
            _ => List::Functions(functions),
        });
        if let Some(span) = span.filter(|_| !broken) {
            self.findings.item(Item::Directive(directive.name), span);
        }
        self.declare_label(label, Symbol::List(number));
    }
}
