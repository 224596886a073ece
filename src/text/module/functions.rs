//! Functions and their scopes: braces, names, parameters.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::btree_map::Entry;
use alloc::format;
use alloc::vec::Vec;
use core::ops::Range;

use super::declarations::Attributes;
use super::directives::{Linkage, begins_item, unknown_directive};
use super::judge::Shape;
use super::variables::{Site, elements};
use super::{Checker, Declaration, Function, Item, Place, SymbolKind};
use crate::diagnostic::Code;
use crate::table::{Directive, Feature, Kind, Space};
use crate::text::constant::WARP_NAME;
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
}

/// How deep blocks nest, a function's body included, before the assembler gives up.
const MOST_BLOCKS: usize = 1664;

/// Kind of the list in which parameters are declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// The head of a kernel.
    Kernel,
    /// The head of another function.
    Function,
    /// The prototype of an indirect call, whose parameters need no names.
    Prototype,
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
    pub(super) fn put(&mut self, parameters: bool, list: Vec<Shape>) {
        if self.lists.is_some() || !list.is_empty() {
            self.lists.get_or_insert_default()[usize::from(parameters)] = list.into_boxed_slice();
        }
    }

    fn function<'a>(&self, name: &'a str) -> Function<'a> {
        let (results, parameters) = (self.results().len(), self.parameters().len());
        Function { name, kernel: self.kernel, results, parameters }
    }
}

impl<'a> Checker<'_, 'a> {
    pub(super) fn open_brace(&mut self) {
        let at = self.cursor().at();
        self.cursor().bump();
        if self.judge.names.scopes.depth() == 0 && !self.judge.bare && !core::mem::take(&mut self.headless) {
            self.judge.findings.error(Code::Syntax, at..at + 1, "a block is within a function");
        }
        if self.judge.names.scopes.depth() == MOST_BLOCKS {
            if self.too_deep == 0 {
                let message = format!("blocks nest at most {MOST_BLOCKS} deep: the assembler has no memory for more");
                self.judge.findings.error(Code::Syntax, at..at + 1, message);
            }
            self.too_deep += 1;
            return;
        }
        self.braces += 1;
        self.enter();
    }

    fn enter(&mut self) {
        let at = self.cursor().at();
        self.judge.enter(at);
    }

    pub(super) fn leave(&mut self) {
        let at = self.cursor().at();
        self.judge.leave(at);
    }

    /// A function's name is known behind its scope as well.
    pub(super) fn declare_function(&mut self, name: &'a str) {
        if matches!(self.judge.names.scopes.find(name), Some(Found { symbol: Symbol::Variable { .. }, .. })) {
            let message = format!("`{name}` is a variable of this module already");
            self.judge.findings.error(Code::DuplicateName, span_of(self.text(), name), message);
        }
        self.judge.names.scopes.declare(name, None, Symbol::Function);
        {
            let text = self.text();
            self.judge.names.record(|recorder| recorder.declare_outside(span_of(text, name)));
        }
    }

    pub(super) fn close_brace(&mut self) {
        let at = self.cursor().at();
        self.cursor().bump();
        if self.too_deep > 0 {
            self.too_deep -= 1;
            return;
        }
        self.braces = match self.braces.checked_sub(1) {
            Some(braces) => braces,
            None => return self.judge.findings.error(Code::Syntax, at..at + 1, "there is no `{` for this `}`"),
        };
        self.leave();
        if self.judge.names.scopes.depth() == 0 {
            self.judge.jumps(self.lost_label);
            self.judge.body.lists.clear();
            self.names_end(at);
            self.lost_brace = false;
            self.judge.names.record(|recorder| recorder.function_ends(at));
            if let Some(collector) = &mut self.judge.level.collector {
                collector.function();
            }
        }
        if self.judge.names.scopes.depth() == 0
            && let Some(name) = self.function.take()
        {
            self.declare_function(name);
            self.judge.findings.item(Item::End, at..at + 1);
        }
    }

    pub(super) fn stands_in_function(&self, opcode: usize) -> Read<()> {
        if self.judge.bare || self.judge.names.scopes.depth() > 0 {
            return Ok(());
        }
        fail(Code::Syntax, self.mnemonic_at(opcode), "an instruction must be in a function")
    }

    /// The head of a function: `(.reg .u32 r) name (.param .u64 p, …) .maxntid 128`, and a body or a semicolon.
    pub(super) fn function(
        &mut self,
        begun: usize,
        linkage: Option<Linkage>,
        span: Range<usize>,
        kernel: bool,
    ) -> Read<()> {
        if linkage == Some(Linkage::Common) {
            return fail(Code::Syntax, span, "a function is not `.common`");
        }
        if self.judge.names.scopes.depth() == 0 && !self.judge.bare {
            (self.lost_brace, self.broken) = (false, false);
        }
        self.not_within_another(&span, kernel);
        if let Some(collector) = &mut self.judge.level.collector {
            collector.function();
        }
        self.enter();
        let mut name = None;
        let mut signature = Signature { kernel, linkage, ..Signature::default() };
        let mut parameters = Vec::new();
        let mut said: Vec<&'static Directive> = Vec::new();
        loop {
            self.cursor().skip_blanks();
            match self.cursor().peek() {
                b'(' => {
                    if kernel && name.is_none() {
                        self.leave();
                        let token = self.reader.cursor.token();
                        return fail(
                            Code::Syntax,
                            token,
                            "the name of a kernel is expected here: a kernel has no results",
                        );
                    }
                    self.cursor().bump();
                    let (before, shapes) = (parameters.len(), self.judge.declared.shapes.len());
                    let head = if kernel { Head::Kernel } else { Head::Function };
                    let list = match self.parameters(head, &mut parameters) {
                        Ok(list) => list,
                        Err(error) => {
                            self.leave();
                            return Err(error);
                        }
                    };
                    if kernel && !list.is_empty() {
                        let end = self.reader.cursor.token();
                        self.judge.feature(Feature::KernelParameters, "a kernel's list of parameters", end);
                    }
                    let read = &parameters[before..];
                    if let Err(error) = self.lengths(read, name.is_some()) {
                        self.judge.findings.waiting.push(*error);
                    }
                    if name.is_none() {
                        self.judge.declared.shapes[shapes..].iter_mut().for_each(|shape| shape.result = true);
                    }
                    signature.put(name.is_some(), list);
                }
                b'{' => {
                    if linkage == Some(Linkage::Extern) {
                        self.judge.findings.error(
                            Code::Syntax,
                            span.clone(),
                            "a function that is `.extern` has no body",
                        );
                    }
                    self.has_room(&parameters);
                    if kernel {
                        self.parameter_space(signature.parameters(), name.unwrap_or_default());
                    }
                    self.braces += 1;
                    self.cursor().bump();
                    self.function = name;
                    let function = signature.function(name.unwrap_or_default());
                    self.judge.findings.item(Item::Function(function), begun..self.reader.cursor.at());
                    self.show_parameters(parameters);
                    self.said_before(name, Signature { body: true, ..signature });
                    return Ok(());
                }
                b';' => {
                    self.prototype(name, signature, parameters, begun);
                    self.cursor().bump();
                    return Ok(());
                }
                _ if !kernel && name.is_some() && self.item_follows() => {
                    self.prototype(name, signature, parameters, begun);
                    return Ok(());
                }
                b'.' if self.cursor().at_dot_word() && !self.item_follows() => {
                    let results = !signature.results().is_empty();
                    if let Err(error) = self.head_directive(kernel, results, &mut said) {
                        self.judge.findings.waiting.push(*error);
                        self.judge.findings.make_room();
                    }
                    continue;
                }
                _ if self.cursor().at_word() => {
                    let word = self.cursor().word();
                    if matches!(word, "_" | WARP_NAME) {
                        self.leave();
                        return fail(Code::Syntax, span_of(self.text(), word), "a name is expected here");
                    }
                    if name.is_none() {
                        name = Some(word);
                        self.judge.names.scopes.declare(word, None, Symbol::Function);
                        let kind = SymbolKind::Function { kernel };
                        {
                            let text = self.text();
                            self.judge.names.record(|recorder| recorder.declare(span_of(text, word), kind));
                        }
                    }
                    continue;
                }
                _ => {
                    self.leave();
                    let message = match kernel {
                        true => "a kernel has a name, parameters, and a body",
                        false => "a function has a name, parameters, and a body or `;`",
                    };
                    return fail(
                        Code::Syntax,
                        if self.reader.cursor.at_end() { span } else { self.reader.cursor.token() },
                        message,
                    );
                }
            }
            self.cursor().bump();
        }
    }

    /// A directive of a function's head: `.maxntid 32, 2`. `said` are those before it, each once.
    fn head_directive(&mut self, kernel: bool, results: bool, said: &mut Vec<&'static Directive>) -> Read<()> {
        let start = self.cursor().at();
        let name = self.cursor().dot_word();
        let span = start..self.cursor().at();
        if name == "pragma" && kernel {
            return self.pragma(span);
        }
        let numbers = self.head_numbers()?;
        let table = self.reader.table;
        let what = if kernel { "kernel" } else { "function" };
        let Some(directive) = table.directive(name) else {
            let stands = |directive: &&Directive| if kernel { directive.entry } else { directive.function };
            let names = table.directives.iter().filter(stands).map(|directive| directive.name);
            let message = format!("`.{name}` is not a directive of a {what}'s head");
            return unknown_directive(name, span, message, names);
        };
        if !(if kernel { directive.entry } else { directive.function }) {
            return fail(Code::Syntax, span, format!("`.{name}` is not allowed in the head of a {what}"));
        }
        has_numbers(directive, numbers, &span)?;
        goes_with_results(directive, results, &span)?;
        let against = |other: &&&Directive| directive.goes_without(other);
        if let Some(other) = said.iter().find(against) {
            return fail(Code::Syntax, span, format!("`.{name}` and `.{}` cannot be combined", other.name));
        }
        if !said.iter().any(|known| core::ptr::eq(*known, directive)) {
            said.push(directive);
        }
        if self.judge.level.is_gone(directive.until, &span) {
            let message = format!("`.{name}` is not a directive of this version of PTX");
            return fail(Code::PtxVersion, span, message);
        }
        self.judge.level.needs(format_args!("`.{name}`"), &directive.floor, span)
    }

    /// Passes numbers parted by commas, and counts them.
    pub(super) fn head_numbers(&mut self) -> Read<usize> {
        let mut count = 0;
        loop {
            let end = self.reader.cursor;
            self.cursor().skip_blanks();
            if count > 0 && !self.cursor().eat(b',') {
                self.reader.cursor = end;
                return Ok(count);
            }
            self.cursor().skip_blanks();
            let token = self.cursor().token();
            let text = &self.text()[token.clone()];
            let number = self.cursor().at_digit() || text == WARP_NAME;
            if !number && count == 0 {
                self.reader.cursor = end;
                return Ok(0);
            }
            self.cursor().word_part();
            let zero = text.bytes().all(|byte| byte == b'0');
            if !number || zero {
                return fail(Code::Syntax, token, "a number above zero is expected here");
            }
            count += 1;
        }
    }

    /// Returns true if another item of the module or its end follows: the prototype then needs no semicolon.
    fn item_follows(&mut self) -> bool {
        let mut cursor = self.reader.cursor;
        cursor.at_end() || cursor.at_dot_word() && begins_item(self.reader.table, cursor.dot_word())
    }

    /// Leaves the scope of a function without a body.
    fn prototype(
        &mut self,
        name: Option<&'a str>,
        signature: Signature,
        parameters: Vec<(Declaration<'a>, Range<usize>)>,
        start: usize,
    ) {
        if signature.kernel {
            let span = start..self.reader.cursor.at();
            self.judge.feature(Feature::KernelPrototypes, "a kernel without a body", span);
        }
        let function = signature.function(name.unwrap_or_default());
        self.judge.findings.item(Item::Prototype(function), start..self.reader.cursor.at());
        self.show_parameters(parameters);
        self.said_before(name, signature);
        self.leave();
        if let Some(name) = name {
            self.declare_function(name);
        }
    }

    fn show_parameters(&mut self, parameters: Vec<(Declaration<'a>, Range<usize>)>) {
        parameters.into_iter().for_each(|(parameter, span)| self.judge.findings.item(Item::Parameter(parameter), span));
    }

    /// Checks that a repeated declaration agrees with the previous one, and that the function has no body yet.
    fn said_before(&mut self, name: Option<&'a str>, mut now: Signature) {
        let Some(name) = name else { return };
        let before = match self.judge.declared.signatures.entry(name) {
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
            false => (!linkage).then_some("linkage"),
        };
        let body = before.body;
        now.body |= body;
        *before = now;
        let span = span_of(self.text(), name);
        if let Some(what) = other {
            let message = format!("`{name}` was declared with other {what}");
            self.judge.findings.error(Code::DuplicateName, span.clone(), message);
        }
        if body {
            self.judge.findings.error(Code::DuplicateName, span, format!("the function `{name}` has a body already"));
        }
    }

    /// `.alias g, f;`: another name of a function, which has no body of its own.
    pub(super) fn alias(&mut self) -> Read<()> {
        let alias = self.alias_name()?;
        if !self.cursor().eat(b',') {
            return fail(Code::Syntax, self.reader.cursor.token(), "`,` is expected here");
        }
        let function = self.alias_name()?;
        if !self.cursor().eat(b';') {
            return fail(Code::Syntax, self.reader.cursor.token(), "`;` is missing before this");
        }
        for name in [alias, function] {
            let (code, message) = match self.judge.find(name)? {
                Some(Symbol::Function) => continue,
                Some(_) => (Code::OperandType, format!("`{name}` is not a function")),
                None => (Code::UndeclaredRegister, format!("`{name}` is not declared here")),
            };
            self.judge.findings.error(code, span_of(self.text(), name), message);
            return Ok(());
        }
        let (Some(own), Some(of)) =
            (self.judge.declared.signatures.get(alias), self.judge.declared.signatures.get(function))
        else {
            return Ok(());
        };
        let alike = own.results() == of.results() && own.parameters() == of.parameters();
        let (name, message) = if own.kernel || of.kernel {
            (if own.kernel { alias } else { function }, "is a kernel, and a kernel has no alias".to_owned())
        } else if own.body || self.judge.declared.aliases.contains(alias) {
            (alias, "is defined already".to_owned())
        } else if of.linkage == Some(Linkage::Weak) {
            (function, "is `.weak`, and a `.weak` function has no alias".to_owned())
        } else if !alike {
            (alias, format!("has other results and parameters than `{function}`"))
        } else {
            self.judge.declared.aliases.insert(alias);
            return Ok(());
        };
        self.judge.findings.error(Code::DuplicateName, span_of(self.text(), name), format!("`{name}` {message}"));
        Ok(())
    }

    /// Reads a name of `.alias`.
    fn alias_name(&mut self) -> Read<&'a str> {
        self.cursor().skip_blanks();
        if !self.cursor().at_word() {
            return fail(Code::Syntax, self.reader.cursor.token(), "the name of a function is expected here");
        }
        let name = self.cursor().word();
        self.cursor().skip_blanks();
        Ok(name)
    }

    /// Reads parameters up to the closing parenthesis, where the cursor stays. `shown` receives what they declare.
    pub(super) fn parameters(
        &mut self,
        head: Head,
        shown: &mut Vec<(Declaration<'a>, Range<usize>)>,
    ) -> Read<Vec<Shape>> {
        let kernel = head == Head::Kernel;
        let site = Site::Parameters { opaques: head != Head::Function };
        let mut list = Vec::new();
        loop {
            self.judge.findings.make_room();
            self.cursor().skip_blanks();
            if self.cursor().peek() == b')' {
                return Ok(list);
            }
            if !self.cursor().at_dot_word() {
                return fail(Code::Syntax, self.reader.cursor.token(), "a parameter is expected here");
            }
            let start = self.cursor().at();
            let space = self.cursor().dot_word();
            let registers = space == "reg";
            if registers && kernel {
                return fail(
                    Code::Syntax,
                    start..self.reader.cursor.at(),
                    "a kernel's parameters are in memory: `.param`",
                );
            }
            let space = self.reader.table.space(space).filter(|_| space == "param");
            if space.is_none() && !registers {
                let message = "a parameter begins with `.param` or `.reg`";
                return fail(Code::Syntax, start..self.reader.cursor.at(), message);
            }
            let Attributes { symbol, ty, lanes, align } = match space {
                Some(space) => {
                    let attributes = self.variable_attributes(space, site)?;
                    self.pointer(head)?;
                    attributes
                }
                None => self.register_attributes(site)?,
            };
            self.cursor().skip_blanks();
            let mut name = "";
            if self.cursor().at_word() {
                name = self.cursor().word();
                let end = self.cursor().at();
                self.cursor().skip_blanks();
                let array = self.cursor().peek() == b'[';
                let symbol = self.numbered(if array { symbol.as_array() } else { symbol });
                if head != Head::Prototype {
                    self.judge.names.introduce(self.judge.text, name, None, symbol);
                    self.judge.names.record(|recorder| recorder.declared_by(start..end));
                }
                if registers && self.cursor().peek() == b'<' {
                    return fail(Code::Syntax, self.reader.cursor.token(), "a parameter is one register");
                }
            }
            if matches!(name, "" | WARP_NAME) || name == "_" && head == Head::Function {
                return fail(
                    Code::Syntax,
                    self.reader.cursor.token(),
                    "the name of a parameter is expected before this",
                );
            }
            let place = match space {
                Some(space) => {
                    let dimensions = self.dimensions()?;
                    let elements = elements(&dimensions);
                    let predicate = ty.is_some_and(|ty| self.reader.table.ty(ty).kind == Kind::Predicate);
                    if predicate && !dimensions.is_empty() {
                        return fail(Code::Syntax, span_of(self.text(), name), "there are no arrays of predicates");
                    }
                    if elements == 0 && kernel {
                        return fail(Code::Syntax, span_of(self.text(), name), "a kernel's parameter has a length");
                    }
                    let shape = self.shape(ty, lanes, align, &dimensions);
                    let span = start..self.reader.cursor.at();
                    if !kernel {
                        self.judge.feature(Feature::MemoryParameters, "a parameter in memory", span.clone());
                        if elements == 0 {
                            self.judge.feature(Feature::OpenParameters, "an array without a length", span.clone());
                        }
                        self.judge.amount(Feature::ParameterAlignment, shape.align, "an alignment", span);
                    }
                    list.push(Shape { own: true, ..shape });
                    Place::Memory { space, elements }
                }
                None => {
                    list.extend(ty.map(|ty| Shape::of_register(self.reader.table, ty, lanes)));
                    Place::Registers(None)
                }
            };
            if let (Some(shape), Some(last)) =
                (list.last().filter(|shape| shape.memory), self.judge.declared.shapes.last_mut())
            {
                *last = *shape;
            }
            self.cursor().skip_blanks();
            let end = start + self.text()[start..self.reader.cursor.at()].trim_end().len();
            shown.push((Declaration { name, ty, lanes, place }, start..end));
            let more = self.cursor().eat(b',');
            self.cursor().skip_blanks();
            if more == (self.cursor().peek() == b')') {
                let message = if more {
                    "a parameter is expected behind `,`"
                } else {
                    "`,` or `)` is expected behind a parameter"
                };
                return fail(Code::Syntax, self.reader.cursor.token(), message);
            }
        }
    }

    /// Checks the total size of a kernel's parameters.
    fn parameter_space(&mut self, parameters: &[Shape], name: &'a str) {
        let place = |end: u64, shape: &Shape| {
            let start = end.checked_next_multiple_of(shape.align.max(1)).unwrap_or(u64::MAX);
            start.saturating_add(shape.bytes)
        };
        let bytes = parameters.iter().fold(0, place);
        if bytes > 0 {
            self.judge.amount(Feature::KernelParameterBytes, bytes, "a parameter space", span_of(self.text(), name));
        }
    }

    /// The parameters of a function with a body have distinct names, and types that its parameter space holds.
    fn has_room(&mut self, list: &[(Declaration<'a>, Range<usize>)]) {
        let table = self.reader.table;
        for (Declaration { ty, lanes, place, .. }, span) in list {
            let packed = ty.is_some_and(|ty| table.ty(ty).kind == Kind::Packed);
            if let Some(ty) = ty.map(|ty| table.ty(ty)) {
                self.type_exists(ty.name, span.clone());
                if ty.kind == Kind::Predicate && matches!(place, Place::Memory { .. }) {
                    self.judge.findings.error(
                        Code::Syntax,
                        span.clone(),
                        format!("`.{}` is not a type of variables", ty.name),
                    );
                }
            }
            match place {
                Place::Memory { space, .. } if (*lanes > 1 || packed) && !space.vectors => {
                    let message = format!("there are no vectors in `.{}`", space.name);
                    self.judge.findings.error(Code::Syntax, span.clone(), message);
                }
                _ => {}
            }
        }
        let mut names: Vec<&'a str> = list.iter().map(|(parameter, _)| parameter.name).collect();
        names.sort_by_key(|name| (*name, name.as_ptr()));
        for pair in names.windows(2).filter(|pair| pair[0] == pair[1] && pair[0] != "_") {
            let message = format!("`{}` is declared twice in this scope", pair[1]);
            self.judge.findings.error(Code::DuplicateName, span_of(self.text(), pair[1]), message);
        }
    }

    /// An array without a length is a function's last parameter, and a result in memory the only one.
    pub(super) fn lengths(&self, list: &[(Declaration<'a>, Range<usize>)], parameters: bool) -> Read<()> {
        let memory = || list.iter().filter(|(declaration, _)| matches!(declaration.place, Place::Memory { .. }));
        let open = |declaration: &Declaration<'a>| matches!(declaration.place, Place::Memory { elements: 0, .. });
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

    /// `.ptr .global .align 8` behind the type of a kernel's parameter: what it points to.
    fn pointer(&mut self, head: Head) -> Read<()> {
        self.cursor().skip_blanks();
        let start = self.cursor().at();
        if !self.cursor().at_dot_word() {
            return Ok(());
        }
        let word = self.cursor().dot_word();
        let span = start..self.cursor().at();
        if word != "ptr" {
            return fail(Code::Syntax, span, "a name is expected here");
        }
        if head == Head::Function {
            return fail(Code::Syntax, span, "only a kernel's parameters say what they point to");
        }
        self.judge.feature(Feature::Pointers, "`.ptr`", span);
        self.cursor().skip_blanks();
        let mut start = self.cursor().at();
        if !self.cursor().at_dot_word() {
            return Ok(());
        }
        let mut word = self.cursor().dot_word();
        let pointed = |space: &Space| !space.opaque && (space.generic || space.values);
        if self.reader.table.space(word).is_some_and(pointed) {
            self.cursor().skip_blanks();
            start = self.cursor().at();
            if !self.cursor().at_dot_word() {
                return Ok(());
            }
            word = self.cursor().dot_word();
        }
        let span = start..self.cursor().at();
        if word != "align" {
            return fail(Code::Syntax, span, format!("`.{word}` is neither a state space nor `.align`"));
        }
        self.alignment(span).map(|_| ())
    }
}

/// Checks that the directive is valid for a function with results, or without.
pub(super) fn goes_with_results(directive: &Directive, results: bool, span: &Range<usize>) -> Read<()> {
    if !results || !directive.resultless {
        return Ok(());
    }
    fail(Code::Syntax, span.clone(), format!("`.{}` is for functions without results", directive.name))
}

/// Checks the number of arguments of a directive.
pub(super) fn has_numbers(directive: &Directive, numbers: usize, span: &Range<usize>) -> Read<()> {
    let (name, least, most) = (directive.name, usize::from(directive.least), usize::from(directive.most));
    if (least..=most).contains(&numbers) {
        return Ok(());
    }
    let takes = if least == most { format!("{least}") } else { format!("{least} to {most}") };
    fail(Code::Syntax, span.clone(), format!("`.{name}` is followed by {takes} numbers, not {numbers}"))
}
