//! Judges functions: heads, parameters, blocks, and whether declarations of one function agree.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::btree_map::Entry;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::super::read::{Head, Parameter, Site};
use super::super::{Declaration, Function, Item, Linkage, Place, SymbolKind};
use super::Judge;
use super::calls::Shape;
use super::declarations::DeclaredAs;
use crate::diagnostic::Code;
use crate::table::{Directive, Feature, Kind};
use crate::text::lexer::span_of;
use crate::text::reader::{Read, fail};
use crate::text::scope::{Found, Symbol};

/// Results, parameters and linkage of a function.
#[derive(Debug, Default)]
pub(super) struct Signature {
    /// True if it is a kernel, which cannot be called.
    pub(super) kernel: bool,
    /// True if it has a body, after which neither another body nor a prototype may follow.
    body: bool,
    /// The results and the parameters: most of many functions have none.
    lists: Option<Box<[Box<[Shape]>; 2]>>,
    linkage: Option<Linkage>,
    /// True if it has a directive of functions without results.
    resultless: bool,
}

/// The head that is being read.
#[derive(Default)]
pub(super) struct Heading<'a> {
    name: Option<&'a str>,
    pub(super) signature: Signature,
    /// The parameters so far, and their byte ranges.
    parameters: Vec<(Declaration<'a>, Range<usize>)>,
    /// Its directives so far, each once.
    directives: Vec<(&'static Directive, Range<usize>)>,
    list: Listed,
}

/// The list of parameters that is being read.
#[derive(Default)]
struct Listed {
    head: Option<Head>,
    shapes: Vec<Shape>,
    /// Number of parameters before it, and number of variables.
    before: (usize, usize),
}

impl Signature {
    /// Returns true if both functions have the same kind, results and parameters.
    pub(super) fn is_called_as(&self, other: &Signature) -> bool {
        self.kernel == other.kernel && self.results() == other.results() && self.parameters() == other.parameters()
    }

    pub(super) fn results(&self) -> &[Shape] {
        self.lists.as_ref().map_or(&[], |lists| &lists[0])
    }

    pub(super) fn parameters(&self) -> &[Shape] {
        self.lists.as_ref().map_or(&[], |lists| &lists[1])
    }

    /// Replaces the parameters, or the results.
    fn put(&mut self, parameters: bool, list: Vec<Shape>) {
        if self.lists.is_some() || !list.is_empty() {
            self.lists.get_or_insert_default()[usize::from(parameters)] = list.into_boxed_slice();
        }
    }

    fn function<'a>(&self, name: &'a str) -> Function<'a> {
        let (results, parameters) = (self.results().len(), self.parameters().len());
        Function { name, kernel: self.kernel, results, parameters }
    }
}

impl<'a> Judge<'_, 'a> {
    /// Enters a block that begins at `at`.
    pub(super) fn enter(&mut self, at: usize) {
        self.names.scopes.enter();
        self.body.labels.enter(at);
        self.names.record(|recorder| recorder.enter(at));
    }

    pub(super) fn leave(&mut self, at: usize) {
        self.names.scopes.leave();
        self.body.labels.leave(at);
        self.names.record(|recorder| recorder.leave(at));
    }

    /// A function's name is known behind its scope as well.
    pub(super) fn declare_function(&mut self, name: &'a str) {
        if matches!(self.names.scopes.find(name), Some(Found { symbol: Symbol::Variable { .. }, .. })) {
            let message = format!("`{name}` is a variable of this module already");
            self.findings.error(Code::DuplicateName, span_of(self.text, name), message);
        }
        self.names.scopes.declare(name, None, Symbol::Function);
        let span = span_of(self.text, name);
        self.names.record(|recorder| recorder.declare_outside(span));
    }

    /// The end of the blocks of a function.
    pub(super) fn function_ends(&mut self, at: usize, lost_label: bool) {
        self.jumps(lost_label);
        self.body.lists.clear();
        self.findings.function_ends(at);
        self.names.record(|recorder| recorder.function_ends(at));
        if let Some(collector) = &mut self.level.collector {
            collector.function();
        }
    }

    /// The end of a function by another one, which begins within `blocks` of its blocks.
    pub(super) fn function_cut(&mut self, at: usize, blocks: usize, name: Option<&'a str>) {
        for _ in 0..blocks {
            self.leave(at);
        }
        self.body.labels.forget();
        self.body.lists.clear();
        self.findings.function_ends(at);
        self.names.record(|recorder| recorder.function_ends(at));
        if let Some(name) = name {
            self.declare_function(name);
        }
    }

    pub(super) fn head(&mut self, at: usize, kernel: bool, linkage: Option<Linkage>) {
        if let Some(collector) = &mut self.level.collector {
            collector.function();
        }
        self.enter(at);
        let signature = Signature { kernel, linkage, ..Signature::default() };
        self.head = Heading { signature, ..Heading::default() };
    }

    pub(super) fn head_name(&mut self, name: &'a str) {
        self.head.name = Some(name);
        self.is_free(name);
        self.names.scopes.declare(name, None, Symbol::Function);
        let kind = SymbolKind::Function { kernel: self.head.signature.kernel };
        let span = span_of(self.text, name);
        self.names.record(|recorder| recorder.declare(span, kind));
    }

    /// The start of a list of parameters. That of a prototype has a scope of its own.
    pub(super) fn parameters(&mut self, head: Head) {
        if head == Head::Prototype {
            self.names.scopes.enter();
        }
        let before = (self.head.parameters.len(), self.declared.shapes.len());
        self.head.list = Listed { head: Some(head), shapes: Vec::new(), before };
    }

    pub(super) fn parameter(&mut self, parameter: &Parameter<'a>) {
        let Parameter { name, space, ref attributes, ref dimensions, ref span, end } = *parameter;
        let Some(head) = self.head.list.head else { return };
        let site = Site::Parameters { opaques: head != Head::Function };
        let DeclaredAs { symbol, ty, lanes, align } = self.declared_as(attributes, space, site);
        let symbol = self.numbered(if dimensions.is_empty() { symbol } else { symbol.as_array() });
        if head != Head::Prototype {
            self.names.introduce(self.text, name, None, symbol);
            let declared = span.start..span_of(self.text, name).end;
            self.names.record(|recorder| recorder.declared_by(declared));
        }
        let place = match space {
            Some(space) => {
                let shape = self.shape(ty, lanes, align, dimensions);
                let elements = dimensions.iter().fold(1_u64, |all, count| all.saturating_mul(*count));
                if head != Head::Kernel {
                    self.feature(Feature::MemoryParameters, "a parameter in memory", span.clone());
                    if elements == 0 {
                        self.feature(Feature::OpenParameters, "an array without a length", span.clone());
                    }
                    if head == Head::Function {
                        self.amount(Feature::ParameterAlignment, shape.align, "an alignment", span.clone());
                    }
                }
                let own = Shape { own: true, ..shape };
                self.head.list.shapes.push(own);
                if let Some(last) = self.declared.shapes.last_mut() {
                    *last = own;
                }
                Place::Memory { space, elements }
            }
            None => {
                self.head.list.shapes.extend(ty.map(|ty| Shape::of_register(self.table, ty, lanes)));
                Place::Registers(None)
            }
        };
        self.head.parameters.push((Declaration { name, ty, lanes, place }, span.start..end));
        self.findings.make_room();
    }

    pub(super) fn parameters_end(&mut self, behind_name: bool, token: Range<usize>) {
        let Listed { head, shapes, before: (parameters, variables) } = core::mem::take(&mut self.head.list);
        if head == Some(Head::Prototype) {
            self.names.scopes.leave();
            self.declared.shapes.truncate(variables);
        } else {
            if head == Some(Head::Kernel) && !shapes.is_empty() {
                let first = self.head.parameters.get(parameters).map_or(token, |(_, span)| span.clone());
                self.feature(Feature::KernelParameters, "a kernel's list of parameters", first);
            }
            if !behind_name {
                self.declared.shapes[variables..].iter_mut().for_each(|shape| shape.result = true);
            }
        }
        let lengths = lengths(&self.head.parameters[parameters..], behind_name);
        self.findings.note(lengths);
        self.head.signature.put(behind_name, shapes);
    }

    /// Judges a directive of a function's head or of a prototype.
    pub(super) fn head_directive(&mut self, directive: &'static Directive, span: Range<usize>) -> Read<()> {
        let name = directive.name;
        if directive.resultless && !self.head.signature.results().is_empty() {
            return fail(Code::Syntax, span, format!("`.{name}` is for functions without results"));
        }
        if !self.head.signature.kernel {
            self.in_place(directive, &span)?;
        }
        let other =
            self.head.directives.iter().find(|(other, _)| directive.goes_without(other)).map(|(other, _)| *other);
        if !self.head.directives.iter().any(|(known, _)| core::ptr::eq(*known, directive)) {
            self.head.directives.push((directive, span.clone()));
        }
        if let Some(other) = other {
            return fail(Code::Syntax, span, format!("`.{name}` and `.{}` cannot be combined", other.name));
        }
        self.head.signature.resultless |= directive.resultless;
        if self.level.is_gone(directive.until, &span) {
            let message = format!("`.{name}` is not a directive of this version of PTX");
            return fail(Code::PtxVersion, span, message);
        }
        self.level.needs(format_args!("`.{name}`"), &directive.floor, span)
    }

    /// Checks that a directive is in its place behind others in the head of a function that is no kernel.
    fn in_place(&self, directive: &'static Directive, span: &Range<usize>) -> Read<()> {
        let name = directive.name;
        let before = |other: &Directive| directive.first || other.last;
        let message = match self.head.directives.iter().map(|(other, _)| *other).find(|other| before(other)) {
            _ if self.head.directives.iter().any(|(other, _)| other.name == name) => format!("duplicate `.{name}`"),
            Some(other) => format!("`.{name}` must be before `.{}`", other.name),
            None => return Ok(()),
        };
        fail(Code::Syntax, span.clone(), message)
    }

    /// Judges which directives a head has together.
    fn directives_together(&mut self, directives: &[(&'static Directive, Range<usize>)]) {
        let has = |name: &str| directives.iter().any(|(directive, _)| directive.name == name);
        for (directive, span) in directives {
            let missing: Vec<String> =
                directive.with.iter().filter(|name| !has(name)).map(|name| format!("`.{name}`")).collect();
            if !missing.is_empty() {
                let message = format!("`.{}` requires {}", directive.name, missing.join(" and "));
                self.findings.error(Code::Syntax, span.clone(), message);
            }
        }
    }

    /// The head of a function with a body.
    pub(super) fn body(&mut self, keyword: Range<usize>, span: Range<usize>) {
        let head = core::mem::take(&mut self.head);
        let (signature, name) = (head.signature, head.name.unwrap_or_default());
        if signature.linkage == Some(Linkage::Extern) {
            self.findings.error(Code::Syntax, keyword, "a function that is `.extern` has no body");
        }
        self.has_room(&head.parameters);
        self.directives_together(&head.directives);
        self.body.kernel = signature.kernel;
        if signature.kernel {
            self.parameter_space(signature.parameters(), name);
        }
        self.findings.item(Item::Function(signature.function(name)), span);
        self.show_parameters(head.parameters);
        self.said_before(head.name, Signature { body: true, ..signature });
    }

    /// The head of a function without a body.
    pub(super) fn prototype(&mut self, span: Range<usize>) {
        let Heading { name, signature, parameters, directives, .. } = core::mem::take(&mut self.head);
        self.directives_together(&directives);
        if let Some((last, span)) = directives.iter().find(|(directive, _)| directive.last && !signature.kernel) {
            let message = format!("`.{}` is for functions with a body", last.name);
            self.findings.error(Code::Syntax, span.clone(), message);
        }
        if signature.kernel {
            self.feature(Feature::KernelPrototypes, "a kernel without a body", span.clone());
        }
        let end = span.end;
        self.findings.item(Item::Prototype(signature.function(name.unwrap_or_default())), span);
        self.show_parameters(parameters);
        self.said_before(name, signature);
        self.leave(end);
        if let Some(name) = name {
            self.declare_function(name);
        }
    }

    fn show_parameters(&mut self, parameters: Vec<(Declaration<'a>, Range<usize>)>) {
        parameters.into_iter().for_each(|(parameter, span)| self.findings.item(Item::Parameter(parameter), span));
    }

    /// Checks that a repeated declaration agrees with the previous one, and that the function has no body yet.
    fn said_before(&mut self, name: Option<&'a str>, mut now: Signature) {
        let Some(name) = name else { return };
        let before = match self.declared.signatures.entry(name) {
            Entry::Vacant(place) => {
                place.insert(now);
                return;
            }
            Entry::Occupied(place) => place.into_mut(),
        };
        let linkage = now.linkage == before.linkage
            || now.linkage.is_none() && matches!(before.linkage, Some(Linkage::Visible | Linkage::Weak));
        let alike = now.is_called_as(before);
        let other = match !alike {
            true => Some("results and parameters"),
            false if !linkage => Some("linkage"),
            false => (now.resultless != before.resultless).then_some("directives"),
        };
        let body = before.body;
        now.body |= body;
        *before = now;
        let span = span_of(self.text, name);
        if let Some(what) = other {
            let message = format!("`{name}` was declared with other {what}");
            self.findings.error(Code::DuplicateName, span.clone(), message);
        }
        if body {
            self.findings.error(Code::DuplicateName, span, format!("the function `{name}` has a body already"));
        }
    }

    /// Another name of a function, which has no body of its own.
    pub(super) fn alias(&mut self, alias: &'a str, function: &'a str) -> Read<()> {
        for name in [alias, function] {
            let (code, message) = match self.find(name)? {
                Some(Symbol::Function) => continue,
                Some(_) => (Code::OperandType, format!("`{name}` is not a function")),
                None => (Code::UndeclaredRegister, format!("`{name}` is not declared here")),
            };
            self.findings.error(code, span_of(self.text, name), message);
            return Ok(());
        }
        let (Some(own), Some(of)) = (self.declared.signatures.get(alias), self.declared.signatures.get(function))
        else {
            return Ok(());
        };
        let alike = own.results() == of.results() && own.parameters() == of.parameters();
        let directives = own.resultless == of.resultless;
        let (name, message) = if own.kernel || of.kernel {
            (if own.kernel { alias } else { function }, "is a kernel, and a kernel has no alias".to_owned())
        } else if own.body || self.declared.aliases.contains(alias) {
            (alias, "is defined already".to_owned())
        } else if alias == function {
            (alias, "is the function itself".to_owned())
        } else if of.linkage == Some(Linkage::Extern) {
            (function, "is `.extern`, and an `.extern` function has no alias".to_owned())
        } else if of.linkage == Some(Linkage::Weak) {
            (function, "is `.weak`, and a `.weak` function has no alias".to_owned())
        } else if !alike {
            (alias, format!("has other results and parameters than `{function}`"))
        } else if !directives {
            (alias, format!("has other directives than `{function}`"))
        } else {
            self.declared.aliases.insert(alias);
            return Ok(());
        };
        self.findings.error(Code::DuplicateName, span_of(self.text, name), format!("`{name}` {message}"));
        Ok(())
    }

    /// Checks the total size of a kernel's parameters.
    fn parameter_space(&mut self, parameters: &[Shape], name: &'a str) {
        let place = |end: u64, shape: &Shape| {
            let start = end.checked_next_multiple_of(shape.align.max(1)).unwrap_or(u64::MAX);
            start.saturating_add(shape.bytes)
        };
        let bytes = parameters.iter().fold(0, place);
        if bytes > 0 {
            self.amount(Feature::KernelParameterBytes, bytes, "a parameter space", span_of(self.text, name));
        }
    }

    /// The parameters of a function with a body have distinct names, and types that its parameter space holds.
    fn has_room(&mut self, list: &[(Declaration<'a>, Range<usize>)]) {
        let table = self.table;
        for (Declaration { ty, lanes, place, .. }, span) in list {
            let packed = ty.is_some_and(|ty| table.ty(ty).kind == Kind::Packed);
            if let Some(ty) = ty.map(|ty| table.ty(ty)) {
                if !packed {
                    self.type_exists(ty.name, span.clone());
                }
                if ty.kind == Kind::Predicate && matches!(place, Place::Memory { .. }) {
                    self.findings.error(
                        Code::Syntax,
                        span.clone(),
                        format!("`.{}` is not a type of variables", ty.name),
                    );
                }
            }
            match place {
                Place::Memory { space, .. } if (*lanes > 1 || packed) && !space.vectors => {
                    let message = format!("there are no vectors in `.{}`", space.name);
                    self.findings.error(Code::Syntax, span.clone(), message);
                }
                _ => {}
            }
        }
        let mut names: Vec<&'a str> = list.iter().map(|(parameter, _)| parameter.name).collect();
        names.sort_by_key(|name| (*name, name.as_ptr()));
        for pair in names.windows(2).filter(|pair| pair[0] == pair[1] && pair[0] != "_") {
            let message = format!("`{}` is declared twice in this scope", pair[1]);
            self.findings.error(Code::DuplicateName, span_of(self.text, pair[1]), message);
        }
    }
}

/// An array without a length is a function's last parameter, and a result in memory the only one.
fn lengths(list: &[(Declaration<'_>, Range<usize>)], parameters: bool) -> Read<()> {
    let memory = || list.iter().filter(|(declaration, _)| matches!(declaration.place, Place::Memory { .. }));
    let open = |declaration: &Declaration<'_>| matches!(declaration.place, Place::Memory { elements: 0, .. });
    let last = if parameters { list.len().saturating_sub(1) } else { list.len() };
    if let Some((_, span)) = list[..last].iter().find(|(declaration, _)| open(declaration)) {
        return fail(Code::Syntax, span.clone(), "only a function's last parameter is an array without a length");
    }
    match memory().nth(1) {
        Some((_, span)) if !parameters => {
            fail(Code::Syntax, span.clone(), "a function has one result in `.param`, or several in registers")
        }
        _ => Ok(()),
    }
}
