//! Whole PTX files, as compilers write them, and the assembler's verdict on every statement in the table.
//!
//! ```
//! use ptx_isa::text::{Options, check};
//!
//! let module = b"
//! .version 7.0
//! .target sm_80
//! .visible .entry kernel(.param .u64 kernel_param_0)
//! {
//!     .reg .pred %p<2>;
//!     .reg .f32  %f<3>;
//!     mov.f32 %f1, 0f00000000;
//!     setp.lt.f32 %p1, %f1, %f3;
//! }";
//! let report = check(&ptx_isa::TABLE, module, &Options::default());
//! assert_eq!((report.in_table, report.outside), (1, 1));
//! let error = &report.diagnostics[0];
//! assert_eq!(error.message, "`%f3` is not declared here");
//! assert_eq!(error.help.as_deref(), Some("`%f<3>` declares `%f0` to `%f2`"));
//! ```
//!
//! The reader knows PTX's frame: directives, declarations, functions, scopes and labels. An instruction that the table
//! does not have is passed over and counted; it is never an error. Each bad statement is reported once, and reading goes
//! on behind it.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use super::constant::{self, WARP_NAME};
use super::lexer::{Cursor, has_directive, span_of};
use super::scope::{Scopes, Symbol};
use super::statement::{Guard, Opening, Read, Reader, Register, Second, Statement, Value};
use crate::diagnostic::{Code, Diagnostic, Severity};
use crate::table::{self, Floor, FormInfo, Kind, Table, TypeId};
use crate::target::{Target, Version};

/// What is known of a text from elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The PTX version, whatever `.version` says. Bare statements, which have no such line, need it.
    pub ptx: Option<Version>,
    /// The target, whatever `.target` says. Bare statements, which have no such line, need it.
    pub target: Option<Target>,
}

/// What is to be said of a text.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// All findings, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
    /// How many statements have an opcode of the table, mistaken ones included.
    pub in_table: usize,
    /// How many instructions are not in the table.
    pub outside: usize,
    /// The version that the statements were checked against, where one is known.
    pub version: Option<Version>,
    /// The target that the last statement was checked against, where one is known.
    pub target: Option<Target>,
}

impl Report {
    /// How many findings are errors.
    pub fn errors(&self) -> usize {
        self.diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Error).count()
    }

    /// How many findings are warnings.
    pub fn warnings(&self) -> usize {
        self.diagnostics.len() - self.errors()
    }
}

/// Checks every statement of a text that is in the table.
///
/// A text without `.version` and `.target` is taken as bare statements: they stand in no function, and their registers
/// are declared only if the text declares any.
pub fn check(table: &'static Table, source: &[u8], options: &Options) -> Report {
    read(table, source, options, |_| {})
}

/// Checks every statement of a text that is in the table, and shows each that has no error.
pub fn read(table: &'static Table, source: &[u8], options: &Options, mut visit: impl FnMut(&Statement<'_>)) -> Report {
    let mut report = Report { version: options.ptx, target: options.target, ..Report::default() };
    let text = match core::str::from_utf8(source) {
        Ok(text) => text,
        Err(error) => {
            let at = error.valid_up_to();
            let message = "the text is not UTF-8 from here on, so that none of it was read";
            report.diagnostics.push(Diagnostic::error(Code::Encoding, at..at + 1, message));
            return report;
        }
    };
    let bare = !has_directive(text, ".version") && !has_directive(text, ".target");
    let mut checker = Checker {
        reader: Reader { table, cursor: Cursor::new(text), notes: &mut report.diagnostics },
        scopes: Scopes::new(),
        bare,
        declares: !bare || has_directive(text, ".reg"),
        options,
        version: options.ptx,
        target: options.target,
        header: Header::Version,
        address_sized: false,
        function: None,
        bodies: BTreeSet::new(),
        braces: Vec::new(),
        cut_off: false,
        rubbish: 0,
        in_table: 0,
        outside: 0,
        visit: &mut visit,
    };
    checker.module();
    let Checker { version, target, in_table, outside, .. } = checker;
    report.diagnostics.sort_by_key(|diagnostic| diagnostic.span.start);
    Report { version, target, in_table, outside, ..report }
}

/// Which of the lines that begin a module may come next.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Header {
    Version,
    Target,
    Targets,
    Done,
}

/// The most bits that a vector of registers has.
const VECTOR_BITS: u32 = 128;

/// What may follow the architecture in `.target`.
const TARGET_OPTIONS: [&str; 4] = ["texmode_unified", "texmode_independent", "debug", "map_f64_to_f32"];

/// What begins those of them of which only one may be given.
const TEXTURE_MODE: &str = "texmode_";

struct Checker<'n, 'o, 'a> {
    reader: Reader<'n, 'a>,
    scopes: Scopes<'a>,
    /// Whether statements may stand outside of functions.
    bare: bool,
    /// Whether the text declares registers, so that each must be.
    declares: bool,
    options: &'o Options,
    version: Option<Version>,
    target: Option<Target>,
    header: Header,
    /// Whether `.address_size` was read.
    address_sized: bool,
    /// The function whose body is open.
    function: Option<&'a str>,
    /// The functions that have a body.
    bodies: BTreeSet<&'a str>,
    /// Where each open brace stands.
    braces: Vec<usize>,
    /// Whether the text ends where the last error is.
    cut_off: bool,
    /// The end of the last line of which it was said that it holds something that begins no statement.
    rubbish: usize,
    in_table: usize,
    outside: usize,
    visit: &'o mut dyn FnMut(&Statement<'_>),
}

fn fail<T>(code: Code, span: Range<usize>, message: impl Into<String>) -> Read<T> {
    Err(Box::new(Diagnostic::error(code, span, message)))
}

impl<'a> Checker<'_, '_, 'a> {
    fn module(&mut self) {
        loop {
            self.cursor().skip_blanks();
            if self.cursor().at_end() {
                break;
            }
            match self.cursor().peek() {
                b'{' => self.open_brace(),
                b'}' => self.close_brace(),
                b'.' if self.cursor().at_dot_word() => self.directive(),
                b'@' if self.cursor().peek_at(1) == b'@' && self.scopes.depth() == 0 => self.cursor().skip_line(),
                b'#' => self.line_marker(),
                b'@' => self.statement(),
                _ if self.cursor().at_word() => self.statement(),
                _ => self.rubbish(),
            }
        }
        self.end();
    }

    fn cursor(&mut self) -> &mut Cursor<'a> {
        &mut self.reader.cursor
    }

    fn text(&self) -> &'a str {
        self.reader.cursor.text()
    }

    fn error(&mut self, code: Code, span: Range<usize>, message: impl Into<String>) {
        self.reader.notes.push(Diagnostic::error(code, span, message));
    }

    fn open_brace(&mut self) {
        let at = self.cursor().at();
        self.cursor().bump();
        self.braces.push(at);
        self.scopes.enter();
    }

    fn close_brace(&mut self) {
        let at = self.cursor().at();
        self.cursor().bump();
        if self.braces.pop().is_none() {
            return self.error(Code::Syntax, at..at + 1, "there is no `{` for this `}`");
        }
        self.scopes.leave();
        if self.scopes.depth() == 0
            && let Some(name) = self.function.take()
        {
            self.scopes.declare(name, None, Symbol::Function);
        }
    }

    /// `# 3 "file"` tells where the text came from.
    fn line_marker(&mut self) {
        let start = self.cursor().at();
        self.cursor().bump();
        self.cursor().skip_blanks();
        if !self.cursor().at_digit() {
            self.error(Code::Syntax, start..start + 1, "`#` is followed by a line number");
        }
        self.cursor().skip_line();
    }

    /// What begins no statement is reported once a line.
    fn rubbish(&mut self) {
        let token = self.cursor().token();
        let empty = self.cursor().peek() == b';';
        while empty && self.cursor().eat(b';') {
            self.cursor().skip_blanks();
        }
        if empty {
            return self.error(Code::Syntax, token, "a `;` stands behind a statement, and there is none");
        }
        // Whatever may begin a statement is looked at again.
        self.cursor().bump();
        while !self.cursor().at_end()
            && !self.cursor().at_word()
            && !matches!(self.cursor().peek(), b'.' | b'@' | b';' | b'{' | b'}' | b'\n')
        {
            self.cursor().bump();
        }
        self.cut_off = self.cursor().at_end();
        if token.start >= self.rubbish {
            let rest = &self.text().as_bytes()[token.start..];
            self.rubbish = token.start + memchr::memchr(b'\n', rest).unwrap_or(rest.len());
            let found = self.text()[token.clone()].escape_debug();
            let message = format!("a statement is expected here, not `{found}`");
            self.error(Code::Syntax, token, message);
        }
    }

    fn end(&mut self) {
        let length = self.text().len();
        if let Some(at) = self.reader.cursor.unterminated {
            return self.error(Code::Syntax, at..at + 2, "this comment has no end");
        }
        if self.cut_off {
            return;
        }
        self.header_ends(length..length);
        if let Some(&at) = self.braces.last() {
            self.error(Code::Syntax, at..at + 1, "there is no `}` for this `{`: the text ends within it");
        }
    }

    // ---- Statements ----

    fn statement(&mut self) {
        let before = self.reader.notes.len();
        let start = self.cursor().at();
        self.header_ends(start..start + 1);
        let mut opcode = start;
        if let Err(error) = self.one_statement(&mut opcode) {
            self.reader.notes.truncate(before);
            // A comment without an end is told of at the end.
            if self.cursor().unterminated.is_none() {
                self.reader.notes.push(*error);
            }
            self.recover(opcode);
            self.cut_off = self.cursor().at_end();
        }
    }

    /// Reads a statement. Tells through `opcode` where behind the guard it begins.
    #[inline]
    fn one_statement(&mut self, opcode: &mut usize) -> Read<()> {
        let guard = self.reader.guard()?;
        *opcode = self.reader.cursor.at();
        if !self.reader.cursor.at_word() {
            return fail(Code::Syntax, self.reader.cursor.token(), "a guard is followed by an instruction");
        }
        let form = match self.reader.opening() {
            Ok(Opening::Form(form)) => form,
            Ok(Opening::Label(name)) => return self.label(guard, name),
            Ok(Opening::Outside) => return self.outside(*opcode),
            Err(error) => {
                self.in_table += 1;
                return Err(error);
            }
        };
        self.in_table += 1;
        let mut statement = Statement::new(self.reader.table, guard, form);
        let read = self.reader.operands(&mut statement);
        if !matches!(read, Ok(true)) && self.reader.cursor.at_end() {
            return self.no_end(*opcode);
        }
        read?;
        self.stands_in_function(*opcode)?;
        self.guard_is_predicate(guard)?;
        self.registers(&statement)?;
        self.floor(form, *opcode)?;
        (self.visit)(&statement);
        Ok(())
    }

    /// Declares a name, and tells if the scope has it already.
    fn declare(&mut self, name: &'a str, count: Option<u64>, symbol: Symbol) {
        if self.scopes.depth() > 0 && self.scopes.clashes(name, count) {
            let message = format!("`{name}` is declared twice in this scope");
            let span = span_of(self.text(), name);
            self.error(Code::DuplicateName, span, message);
        }
        self.scopes.declare(name, count, symbol);
    }

    fn label(&mut self, guard: Option<Guard<'a>>, name: &'a str) -> Read<()> {
        if guard.is_some() {
            return fail(
                Code::Syntax,
                span_of(self.text(), name),
                "a guard is followed by an instruction, not a label",
            );
        }
        if matches!(name, "_" | WARP_NAME) {
            return fail(Code::Syntax, span_of(self.text(), name), format!("`{name}` is no name"));
        }
        self.declare(name, None, Symbol::Label);
        Ok(())
    }

    fn outside(&mut self, opcode: usize) -> Read<()> {
        self.outside += 1;
        self.stands_in_function(opcode)?;
        self.skip_statement(opcode)
    }

    fn stands_in_function(&self, opcode: usize) -> Read<()> {
        if self.bare || self.scopes.depth() > 0 {
            return Ok(());
        }
        fail(Code::Syntax, self.mnemonic_at(opcode), "an instruction stands within a function")
    }

    fn mnemonic_at(&self, opcode: usize) -> Range<usize> {
        let mut cursor = self.reader.cursor;
        cursor.seek(opcode);
        cursor.dotted_word();
        opcode..cursor.at()
    }

    fn no_end<T>(&self, opcode: usize) -> Read<T> {
        fail(Code::Syntax, self.mnemonic_at(opcode), "the text ends within this statement")
    }

    /// Goes behind a statement that could not be read.
    fn recover(&mut self, opcode: usize) {
        if self.cursor().at_end() {
            return;
        }
        self.cursor().seek(opcode);
        if self.cursor().at_word() || matches!(self.cursor().peek(), b'@') {
            // Whatever else is wrong with the statement, it has been reported already.
            let _ = self.skip_statement(opcode);
        } else if !matches!(self.cursor().peek(), b'{' | b'}' | b'.') {
            self.cursor().bump();
        }
    }

    /// Goes behind the semicolon of a statement of which nothing but its extent matters.
    ///
    /// # Errors
    ///
    /// There is no semicolon: the text ends, a scope does, or the next line begins a statement.
    fn skip_statement(&mut self, opcode: usize) -> Read<()> {
        let mut braces = 0_usize;
        let mut end = self.cursor().at();
        loop {
            let start = self.cursor().at();
            self.cursor().skip_to_stop();
            let passed = &self.text()[start..self.reader.cursor.at()];
            if let Some(last) = passed.bytes().rposition(|byte| !byte.is_ascii_whitespace()) {
                end = start + last + 1;
            }
            match self.cursor().peek() {
                _ if self.cursor().at_end() => return self.no_end(opcode),
                b';' => {
                    self.cursor().bump();
                    return Ok(());
                }
                b'{' => braces += 1,
                b'}' if braces == 0 => {
                    return fail(Code::Syntax, self.reader.cursor.token(), "`;` is missing before this");
                }
                b'}' => {
                    braces -= 1;
                    end = self.cursor().at() + 1;
                }
                b'"' if self.cursor().skip_string() => continue,
                b'"' => return self.no_end(opcode),
                b'\n' if braces == 0 => {
                    if let Some(next) = self.next_statement(opcode, end) {
                        self.cursor().seek(next.start);
                        return fail(Code::Syntax, next, "`;` is missing before this");
                    }
                }
                b'/' => {
                    let at = self.cursor().at();
                    self.cursor().skip_blanks();
                    if self.cursor().at() > at {
                        // The line end is looked at by the loop.
                        let passed = &self.text()[at..self.reader.cursor.at()];
                        let line_end = passed.rfind('\n').map_or(self.reader.cursor.at(), |line_end| at + line_end);
                        self.cursor().seek(line_end);
                        continue;
                    }
                }
                _ => {}
            }
            self.cursor().bump();
        }
    }

    /// The first token behind the line end here, if a statement begins there although the one before, whose last
    /// character is before `end`, has no semicolon: an operand is not followed by a name.
    fn next_statement(&self, opcode: usize, end: usize) -> Option<Range<usize>> {
        let last = self.text().as_bytes()[end - 1];
        if !(last.is_ascii_alphanumeric() || matches!(last, b'_' | b'$' | b']' | b')' | b'}')) {
            return None;
        }
        let mut operands = self.reader.cursor;
        operands.seek(opcode);
        operands.dotted_word();
        operands.skip_blanks();
        if operands.at() >= end || operands.at_dot_word() {
            return None;
        }
        let mut next = self.reader.cursor;
        next.skip_blanks();
        let token = next.token();
        // A short word behind a dot may be an element or a selector.
        let directive = next.at_dot_word()
            && token.len() > 3
            && !self.text()[token.clone()].ends_with(|c: char| c.is_ascii_digit());
        (next.at_word() || directive || matches!(next.peek(), b'@' | b'{')).then_some(token)
    }

    // ---- What declarations, version and target say of a statement ----

    fn guard_is_predicate(&mut self, guard: Option<Guard<'a>>) -> Read<()> {
        let Some(Guard { register: name, .. }) = guard else { return Ok(()) };
        if !self.declares {
            return Ok(());
        }
        let types = self.reader.table.types;
        match self.find(name)? {
            Some(Symbol::Register { ty, vector: false }) if types[ty.index()].kind == Kind::Predicate => Ok(()),
            Some(_) => fail(Code::Guard, span_of(self.text(), name), format!("`{name}` is no predicate register")),
            None => fail(
                Code::Guard,
                span_of(self.text(), name),
                format!("`{name}` is not declared here, and a guard is a predicate register"),
            ),
        }
    }

    /// What a name is declared as, if it is. Leading zeros are looked at here.
    #[inline]
    fn find(&mut self, name: &'a str) -> Read<Option<Symbol>> {
        let Some(found) = self.scopes.find(name) else { return Ok(None) };
        if found.leading_zeros {
            let message = format!("`{name}` is the number of a register with leading zeros");
            let note = self.reader.table.lenient.leading_zeros;
            self.reader.lenient(note, Code::LeadingZeros, span_of(self.text(), name), &message)?;
        }
        Ok(Some(found.symbol))
    }

    #[inline]
    fn registers(&mut self, statement: &Statement<'a>) -> Read<()> {
        if !self.declares {
            return Ok(());
        }
        for (info, operand) in statement.operands_with_info() {
            match operand.value {
                Value::Register(register) | Value::Negated(register) => self.register(info, register)?,
                Value::Sum { name, .. } => self.summand(info, name)?,
                Value::Constant(_) | Value::Sink | Value::Absent => {}
            }
            if let Some(Second::Register(name)) = operand.second {
                self.register(info, Register { name, element: None })?;
            }
        }
        Ok(())
    }

    #[inline]
    fn register(&mut self, info: &'static table::Operand, register: Register<'a>) -> Read<()> {
        let Register { name, element } = register;
        let symbol = self.find(name)?;
        let fitting = info.registers;
        match symbol {
            Some(Symbol::Register { ty, vector }) if fitting >> (ty.0 & 63) & 1 == 1 && vector == element.is_some() => {
                Ok(())
            }
            _ => self.misfit(info, register, symbol),
        }
    }

    #[cold]
    fn misfit(&mut self, info: &'static table::Operand, register: Register<'a>, symbol: Option<Symbol>) -> Read<()> {
        let Register { name, element } = register;
        let span = span_of(self.text(), name);
        let table = self.reader.table;
        let wanted = &table.types[info.ty.index()];
        let message = match symbol {
            None => return self.undeclared(name),
            Some(Symbol::Register { ty, vector }) if vector == element.is_some() => {
                let fits = table.types.iter().enumerate().filter(|(index, _)| info.registers >> index & 1 == 1);
                let fits: Vec<String> = fits.map(|(_, ty)| format!("`.{}`", ty.name)).collect();
                let message = format!(
                    "`{register}` is a `.{}` register, and `{}` is a `.{}`",
                    table.types[ty.index()].name,
                    info.name,
                    wanted.name
                );
                let help = format!("`{}` stands in a register of type {}", info.name, fits.join(", "));
                return Err(Box::new(Diagnostic::error(Code::OperandType, span, message).with_help(help)));
            }
            Some(Symbol::Register { vector: true, .. }) => {
                let message = format!("`{name}` is a vector, not a register");
                let help = format!("take one element, as in `{name}.x`");
                return Err(Box::new(Diagnostic::error(Code::OperandType, span, message).with_help(help)));
            }
            Some(Symbol::Register { vector: false, .. }) => format!("`{name}` is no vector"),
            Some(Symbol::Function) if info.functions && wanted.kind != Kind::Predicate && element.is_none() => {
                let note = table.lenient.function_as_source;
                return self.reader.lenient(
                    note,
                    Code::OperandType,
                    span,
                    &format!("`{name}` is a function, not a register"),
                );
            }
            Some(Symbol::Function) => format!("`{name}` is a function, not a register"),
            Some(Symbol::Variable) => format!("`{name}` is a variable, not a register"),
            Some(Symbol::Label) => format!("`{name}` is a label, not a register"),
        };
        fail(Code::OperandType, span, message)
    }

    fn undeclared<T>(&self, name: &str) -> Read<T> {
        let diagnostic = Diagnostic::error(
            Code::UndeclaredRegister,
            span_of(self.text(), name),
            format!("`{name}` is not declared here"),
        );
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        Err(Box::new(match self.scopes.family(stem) {
            Some(count) if count > 0 => {
                diagnostic.with_help(format!("`{stem}<{count}>` declares `{stem}0` to `{stem}{}`", count - 1))
            }
            _ if name.starts_with('%') => {
                diagnostic.with_help("declare it with `.reg`; a special register has to be moved to a register first")
            }
            _ => diagnostic.with_help("declare it with `.reg`"),
        }))
    }

    /// A name plus a constant: its size does not matter, but its kind does.
    fn summand(&mut self, info: &'static table::Operand, name: &'a str) -> Read<()> {
        let symbol = self.find(name)?;
        let types = self.reader.table.types;
        let wanted = &types[info.ty.index()];
        let integer = matches!(wanted.kind, Kind::Bits | Kind::Unsigned | Kind::Signed);
        let fits = match symbol {
            None => return self.undeclared(name),
            Some(Symbol::Register { ty, vector: false }) => {
                let kind = types[ty.index()].kind;
                let same = |(index, ty): (usize, &table::TypeInfo)| info.registers >> index & 1 == 1 && ty.kind == kind;
                let loose = types.iter().enumerate().any(same) || integer && kind == Kind::Packed;
                info.registers >> (ty.0 & 63) & 1 == 1 || loose && info.functions
            }
            Some(Symbol::Register { .. }) => false,
            Some(Symbol::Variable) => integer,
            Some(Symbol::Function | Symbol::Label) => info.functions && wanted.kind != Kind::Predicate,
        };
        if fits {
            return Ok(());
        }
        let message = format!("`{name}` plus a constant is no `.{}`", wanted.name);
        fail(Code::OperandType, span_of(self.text(), name), message)
    }

    #[inline]
    fn floor(&mut self, form: &'static FormInfo, opcode: usize) -> Read<()> {
        if self.below(form.floor) == (false, false) {
            return Ok(());
        }
        self.below_floor(form, opcode)
    }

    /// Whether the version and the target are below a floor. What is not known is not.
    #[inline]
    fn below(&self, floor: Floor) -> (bool, bool) {
        (
            self.version.is_some_and(|version| version < floor.ptx),
            self.target.is_some_and(|target| target.sm < floor.sm),
        )
    }

    #[cold]
    fn below_floor(&mut self, form: &'static FormInfo, opcode: usize) -> Read<()> {
        let span = self.mnemonic_at(opcode);
        let mut floor = form.floor;
        if let Some((lenient, note)) = form.lenient_floor {
            floor = lenient;
            if self.below(lenient) == (false, false) {
                let Floor { ptx, sm } = form.floor;
                let message = format!("`{}` needs PTX {ptx} and {}", form.mnemonic, Target::sm(sm));
                let code = if self.below(form.floor).0 { Code::PtxVersion } else { Code::Target };
                return self.reader.lenient(Some(note), code, span, &message);
            }
        }
        let Floor { ptx, sm } = floor;
        let (old_version, old_target) = self.below(floor);
        let have = |name: Option<String>| name.unwrap_or_default();
        let version = || have(self.version.map(|version| format!("{version}")));
        let target = || have(self.target.map(|target| format!("{target}")));
        let wanted = Target::sm(sm);
        let diagnostic = if old_version {
            let message = format!("`{}` needs PTX {ptx}, and this is PTX {}", form.mnemonic, version());
            Diagnostic::error(Code::PtxVersion, span, message).with_help(format!("write `.version {ptx}` or later"))
        } else {
            let message = format!("`{}` needs {wanted}, and the target is {}", form.mnemonic, target());
            Diagnostic::error(Code::Target, span, message).with_help(format!("write `.target {wanted}` or higher"))
        };
        let both = old_version && old_target;
        let note = format!("it also needs {wanted}, and the target is {}", target());
        Err(Box::new(if both { diagnostic.with_note(note) } else { diagnostic }))
    }

    // ---- Directives ----

    fn directive(&mut self) {
        let start = self.cursor().at();
        let before = self.reader.notes.len();
        if let Err(error) = self.one_directive() {
            self.reader.notes.truncate(before);
            self.reader.notes.push(*error);
            // The rest of the line may be anything; what follows is likely to be whole.
            if self.cursor().at() == start {
                self.cursor().bump();
            }
            while !self.cursor().at_end() && !matches!(self.cursor().peek(), b';' | b'{' | b'}' | b'\n') {
                self.cursor().bump();
            }
            self.cursor().eat(b';');
            self.cut_off = self.cursor().at_end();
        }
    }

    fn one_directive(&mut self) -> Read<()> {
        let start = self.cursor().at();
        let name = self.cursor().dot_word();
        let span = start..self.cursor().at();
        match name {
            "version" => return self.version_line(span),
            "target" => return self.target_line(span),
            _ => self.header_ends(span.clone()),
        }
        match name {
            "address_size" => self.address_size(span),
            "loc" => self.loc(span),
            "file" if self.scopes.depth() == 0 => self.file(span),
            "section" => self.section(span),
            "pragma" => self.pragma(span),
            "reg" => self.declaration(span, true),
            "global" | "const" | "shared" | "local" | "param" | "tex" => self.declaration(span, false),
            "entry" | "func" => self.function(span, name == "entry"),
            "file" => fail(Code::Syntax, span, "`.file` stands outside of functions"),
            "visible" | "extern" | "weak" | "common" => Ok(()),
            _ => self.skip_directive(span),
        }
    }

    fn header_ends(&mut self, span: Range<usize>) {
        if self.header == Header::Done {
            return;
        }
        if self.header == Header::Version && self.options.ptx.is_none() {
            let error = Diagnostic::error(Code::PtxVersion, span.clone(), "no `.version` stands before this");
            self.reader.notes.push(
                error.with_help("a module begins with `.version` and `.target`; bare statements need both given"),
            );
        } else if self.header <= Header::Target && self.options.target.is_none() {
            let error = Diagnostic::error(Code::Target, span, "no `.target` stands before this");
            self.reader.notes.push(
                error.with_help("a module begins with `.version` and `.target`; bare statements need both given"),
            );
        }
        self.header = Header::Done;
    }

    fn version_line(&mut self, span: Range<usize>) -> Read<()> {
        if self.header != Header::Version {
            return fail(Code::Syntax, span, "`.version` is the first line of a module, and the only one of its kind");
        }
        self.header = Header::Target;
        let end = self.cursor().at();
        self.cursor().skip_blanks();
        let start = self.cursor().at();
        if self.text()[end..start].contains('\n') {
            return fail(Code::PtxVersion, span, "`.version` is followed by two numbers on the same line");
        }
        while self.cursor().at_digit() || self.cursor().peek() == b'.' && self.cursor().peek_at(1).is_ascii_digit() {
            self.cursor().bump();
        }
        let span = start..self.cursor().at();
        let text = &self.text()[span.clone()];
        let Ok(version) = text.parse::<Version>() else {
            let span = if span.is_empty() { self.reader.cursor.token() } else { span };
            return fail(Code::PtxVersion, span, "`.version` is followed by two numbers parted by a dot");
        };
        let known = self.reader.table.versions;
        if !known.contains(&version) {
            let below = known.iter().rev().find(|known| **known < version);
            let above = known.iter().find(|known| **known > version);
            let near: Vec<String> = below.into_iter().chain(above).map(|near| format!("{near}")).collect();
            let error = Diagnostic::error(Code::PtxVersion, span, format!("there is no PTX {version}"));
            return Err(Box::new(error.with_help(format!("the nearest is {}", near.join(" or ")))));
        }
        self.version = self.options.ptx.or(Some(version));
        Ok(())
    }

    fn target_line(&mut self, span: Range<usize>) -> Read<()> {
        match self.header {
            Header::Target | Header::Targets => self.header = Header::Targets,
            Header::Version => self.header_ends(span.clone()),
            Header::Done => return fail(Code::Syntax, span, "`.target` follows `.version`, before all else"),
        }
        let mut first = true;
        let mut texture = None;
        loop {
            self.cursor().skip_blanks();
            if !self.cursor().at_word() {
                return fail(Code::Target, self.reader.cursor.token(), "`.target` is followed by a target");
            }
            let name = self.cursor().word();
            if first || !TARGET_OPTIONS.contains(&name) {
                self.target(name, first)?;
            } else if let Some(mode) = name.strip_prefix(TEXTURE_MODE) {
                if texture.is_some_and(|other| other != mode) {
                    return fail(Code::Target, span_of(self.text(), name), "there is one texture mode");
                }
                texture = Some(mode);
            }
            first = false;
            let end = self.reader.cursor;
            self.cursor().skip_blanks();
            if !self.cursor().eat(b',') {
                self.reader.cursor = end;
                return Ok(());
            }
        }
    }

    /// Takes the target of a `.target` line; the last one counts.
    fn target(&mut self, name: &'a str, first: bool) -> Read<()> {
        let span = span_of(self.text(), name);
        let targets = self.reader.table.targets;
        let Some(target) = target_of(name) else {
            let message =
                if first { format!("`{name}` is no target") } else { format!("`{name}` is no target and no option") };
            return fail(Code::Target, span, message);
        };
        let Some(known) = targets.iter().find(|known| known.target == target) else {
            let mut near: Vec<&Target> = targets.iter().map(|known| &known.target).collect();
            near.sort_by_key(|near| near.sm.abs_diff(target.sm));
            let near: Vec<String> = near.into_iter().take(2).map(|near| format!("{near}")).collect();
            let error = Diagnostic::error(Code::Target, span, format!("there is no target {target}"));
            return Err(Box::new(error.with_help(format!("the nearest are {}", near.join(" and ")))));
        };
        if self.options.target.is_some() {
            return Ok(());
        }
        self.target = Some(target);
        match self.version {
            Some(version) if version < known.since && self.options.ptx.is_none() => {
                let error = Diagnostic::error(Code::Target, span, format!("PTX {version} does not know {target}"));
                Err(Box::new(error.with_help(format!("it came with PTX {}", known.since))))
            }
            _ => Ok(()),
        }
    }

    /// `.address_size 64`, once, behind `.target`.
    fn address_size(&mut self, span: Range<usize>) -> Read<()> {
        self.cursor().skip_blanks();
        let token = self.cursor().token();
        let bits = &self.text()[token.clone()];
        if !bits.bytes().all(|byte| byte.is_ascii_digit()) || bits.is_empty() {
            return fail(Code::Syntax, token, "`.address_size` is followed by a number of bits");
        }
        self.cursor().seek(token.end);
        if core::mem::replace(&mut self.address_sized, true) {
            return fail(Code::Syntax, span, "`.address_size` stands once");
        }
        if !matches!(bits, "32" | "64") {
            return fail(Code::Syntax, token, "an address has 32 or 64 bits");
        }
        Ok(())
    }

    /// Passes so many integers.
    fn numbers(&mut self, span: Range<usize>, count: usize) -> Read<()> {
        for _ in 0..count {
            self.cursor().skip_blanks();
            if !self.cursor().at_digit() {
                return fail(Code::Syntax, span, format!("this is followed by {count} numbers"));
            }
            self.cursor().word_part();
        }
        Ok(())
    }

    /// Passes a comma, if there is one.
    fn comma(&mut self) -> bool {
        let end = self.reader.cursor;
        self.cursor().skip_blanks();
        let found = self.cursor().eat(b',');
        if !found {
            self.reader.cursor = end;
        }
        found
    }

    /// `.loc 1 2 3` and, behind commas, `function_name NAME` and `inlined_at 1 2 3`.
    fn loc(&mut self, span: Range<usize>) -> Read<()> {
        self.numbers(span.clone(), 3)?;
        while self.comma() {
            self.cursor().skip_blanks();
            if !self.cursor().at_word() {
                return fail(Code::Syntax, self.reader.cursor.token(), "a name is expected here");
            }
            if self.cursor().word() == "inlined_at" {
                self.numbers(span.clone(), 3)?;
                continue;
            }
            self.cursor().skip_blanks();
            if self.cursor().at_word() {
                self.cursor().word();
            }
            self.cursor().skip_blanks();
            if self.cursor().eat(b'+') {
                self.numbers(span.clone(), 1)?;
            }
        }
        Ok(())
    }

    /// `.file 1 "name"` and, behind commas, a time and a size.
    fn file(&mut self, span: Range<usize>) -> Read<()> {
        self.numbers(span.clone(), 1)?;
        self.cursor().skip_blanks();
        if self.cursor().peek() != b'"' || !self.cursor().skip_string() {
            return fail(Code::Syntax, span, "`.file` is followed by a number and a string");
        }
        while self.comma() {
            self.numbers(span.clone(), 1)?;
        }
        Ok(())
    }

    /// `.section .name { … }`: data for debuggers.
    fn section(&mut self, span: Range<usize>) -> Read<()> {
        self.cursor().skip_blanks();
        if self.cursor().at_dot_word() {
            self.cursor().dot_word();
        } else if self.cursor().at_word() {
            self.cursor().word();
        }
        self.cursor().skip_blanks();
        if !self.cursor().eat(b'{') {
            return fail(Code::Syntax, span, "`.section` is followed by a name and `{`");
        }
        self.skip_braces(span)
    }

    /// Goes behind the brace that closes the one just passed.
    fn skip_braces(&mut self, span: Range<usize>) -> Read<()> {
        let mut open = 1;
        while open > 0 {
            self.cursor().skip_to_stop();
            match self.cursor().peek() {
                _ if self.cursor().at_end() => {
                    return fail(Code::Syntax, span, "the text ends within this");
                }
                b'{' => open += 1,
                b'}' => open -= 1,
                b'"' if self.cursor().skip_string() => continue,
                b'/' => {
                    let at = self.cursor().at();
                    self.cursor().skip_blanks();
                    if self.cursor().at() > at {
                        continue;
                    }
                }
                _ => {}
            }
            self.cursor().bump();
        }
        Ok(())
    }

    /// `.pragma "one", "two";`
    fn pragma(&mut self, span: Range<usize>) -> Read<()> {
        loop {
            self.cursor().skip_blanks();
            if self.cursor().peek() != b'"' || !self.cursor().skip_string() {
                return fail(Code::Syntax, span, "`.pragma` is followed by a string");
            }
            if !self.comma() {
                break;
            }
        }
        self.cursor().skip_blanks();
        if self.cursor().eat(b';') {
            return Ok(());
        }
        fail(Code::Syntax, self.reader.cursor.token(), "`;` is missing before this")
    }

    /// Any other directive: it ends at a semicolon.
    fn skip_directive(&mut self, span: Range<usize>) -> Read<()> {
        loop {
            self.cursor().skip_to_stop();
            match self.cursor().peek() {
                _ if self.cursor().at_end() => {
                    return fail(Code::Syntax, span, "the text ends within this");
                }
                b';' => {
                    self.cursor().bump();
                    return Ok(());
                }
                b'{' => {
                    self.cursor().bump();
                    self.skip_braces(span.clone())?;
                }
                b'}' => return fail(Code::Syntax, self.reader.cursor.token(), "`;` is missing before this"),
                b'"' if self.cursor().skip_string() => {}
                _ => {
                    let at = self.cursor().at();
                    self.cursor().skip_blanks();
                    if self.cursor().at() == at {
                        self.cursor().bump();
                    }
                }
            }
        }
    }

    /// `.reg .u32 %r<10>, x;` and variables of all spaces: `.global .align 4 .b8 x[24] = {…}, y;`.
    fn declaration(&mut self, span: Range<usize>, registers: bool) -> Read<()> {
        if registers && self.scopes.depth() == 0 && !self.bare {
            return fail(Code::Syntax, span, "registers are declared within a function");
        }
        let symbol = self.attributes(registers)?;
        self.cursor().skip_blanks();
        if registers && self.cursor().eat(b';') {
            return Ok(());
        }
        loop {
            self.cursor().skip_blanks();
            let token = self.cursor().token();
            if !self.cursor().at_word() || matches!(&self.text()[token.clone()], "_" | WARP_NAME) {
                return fail(Code::Syntax, token, "a name is expected here");
            }
            let name = self.cursor().word();
            self.cursor().skip_blanks();
            let mut count = None;
            if registers && self.cursor().eat(b'<') {
                count = Some(constant::literal(self.cursor()).map_err(|error| {
                    Box::new(Diagnostic::error(Code::Syntax, error.span, format!("{}", error.kind)))
                })?);
                self.cursor().skip_blanks();
                if !self.cursor().eat(b'>') {
                    return fail(Code::Syntax, self.reader.cursor.token(), "`>` is expected here");
                }
            }
            self.declare(name, count, symbol);
            self.cursor().skip_blanks();
            if !registers {
                self.initialiser(span.clone())?;
            }
            if self.cursor().eat(b';') {
                return Ok(());
            }
            if !self.cursor().eat(b',') {
                return fail(Code::Syntax, self.reader.cursor.token(), "`;` or `,` is expected behind a declaration");
            }
        }
    }

    /// Passes `[24] = {…}` up to the comma or semicolon behind it.
    fn initialiser(&mut self, span: Range<usize>) -> Read<()> {
        let mut open = 0_usize;
        loop {
            match self.cursor().peek() {
                _ if self.cursor().at_end() => {
                    return fail(Code::Syntax, span, "the text ends within this");
                }
                b';' => return Ok(()),
                b',' if open == 0 => return Ok(()),
                b'{' => {
                    self.cursor().bump();
                    self.skip_braces(span.clone())?;
                    continue;
                }
                b'}' => return fail(Code::Syntax, self.reader.cursor.token(), "`;` is missing before this"),
                b'(' | b'[' => open += 1,
                b')' | b']' => open = open.saturating_sub(1),
                b'"' if self.cursor().skip_string() => continue,
                b'/' => {
                    let at = self.cursor().at();
                    self.cursor().skip_blanks();
                    if self.cursor().at() > at {
                        continue;
                    }
                }
                _ => {}
            }
            self.cursor().bump();
        }
    }

    /// Reads what stands between the space and the name: alignment, vector, type.
    fn attributes(&mut self, registers: bool) -> Read<Symbol> {
        let mut ty: Option<TypeId> = None;
        let mut lanes = 1;
        loop {
            self.cursor().skip_blanks();
            if self.cursor().at_dot_word() {
                let start = self.cursor().at();
                match self.cursor().dot_word() {
                    "align" => self.numbers(start..self.reader.cursor.at(), 1)?,
                    _ if !registers => {}
                    "v2" if ty.is_none() => lanes = 2,
                    "v4" if ty.is_none() => lanes = 4,
                    _ if ty.is_some() => {
                        return fail(Code::Syntax, start..self.reader.cursor.at(), "a name is expected here");
                    }
                    name => {
                        ty = self.register_type(name);
                        if ty.is_none() {
                            let message = format!("`.{name}` is no type of registers");
                            return fail(Code::Syntax, start..self.reader.cursor.at(), message);
                        }
                    }
                }
            } else if self.cursor().peek() == b'(' {
                while !self.cursor().at_end() && !self.cursor().eat(b')') {
                    self.cursor().bump();
                }
                self.cursor().eat(b')');
            } else {
                if !registers {
                    return Ok(Symbol::Variable);
                }
                return match ty {
                    Some(ty) => {
                        let info = &self.reader.table.types[ty.index()];
                        let least = if info.kind == Kind::Predicate { u16::MAX } else { info.bits };
                        if lanes > 1 && u32::from(least) * lanes > VECTOR_BITS {
                            let message = format!("there are no vectors of {lanes} `.{}` registers", info.name);
                            return fail(Code::Syntax, self.reader.cursor.token(), message);
                        }
                        Ok(Symbol::Register { ty, vector: lanes > 1 })
                    }
                    None => fail(Code::Syntax, self.reader.cursor.token(), "a type is expected before this"),
                };
            }
        }
    }

    /// The type with this name, if registers are declared with it.
    fn register_type(&self, name: &str) -> Option<TypeId> {
        let types = self.reader.table.types;
        let index = types.iter().position(|ty| ty.name == name)?;
        types.iter().any(|ty| ty.registers >> index & 1 == 1).then_some(TypeId(index as u8))
    }

    /// The head of a function: `(.reg .u32 r) name (.param .u64 p, …) .maxntid 128`, and a body or a semicolon.
    fn function(&mut self, span: Range<usize>, kernel: bool) -> Read<()> {
        self.scopes.enter();
        let mut name = None;
        loop {
            self.cursor().skip_blanks();
            match self.cursor().peek() {
                b'(' => {
                    self.cursor().bump();
                    if let Err(error) = self.parameters(kernel) {
                        self.scopes.leave();
                        return Err(error);
                    }
                }
                b'{' => {
                    self.braces.push(self.reader.cursor.at());
                    self.cursor().bump();
                    self.function = name;
                    self.has_no_body(name);
                    self.bodies.extend(name);
                    return Ok(());
                }
                b';' => {
                    self.scopes.leave();
                    self.has_no_body(name);
                    if let Some(name) = name {
                        self.scopes.declare(name, None, Symbol::Function);
                    }
                    self.cursor().bump();
                    return Ok(());
                }
                b'.' if self.cursor().at_dot_word() => {
                    if self.cursor().dot_word() == "pragma" {
                        self.pragma(span.clone())?;
                    }
                    continue;
                }
                b',' => {}
                _ if self.cursor().at_digit() => {
                    self.cursor().word_part();
                    continue;
                }
                _ if self.cursor().at_word() => {
                    let word = self.cursor().word();
                    if name.is_none() {
                        name = Some(word);
                        self.scopes.declare(word, None, Symbol::Function);
                    }
                    continue;
                }
                _ => {
                    self.scopes.leave();
                    let message = "a function has a name, parameters, and a body or `;`";
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

    /// Behind a function's body there is no other, and no prototype.
    fn has_no_body(&mut self, name: Option<&'a str>) {
        if let Some(name) = name.filter(|name| self.bodies.contains(name)) {
            let message = format!("the function `{name}` has a body already");
            self.error(Code::DuplicateName, span_of(self.text(), name), message);
        }
    }

    /// Reads parameters up to the closing parenthesis, where the cursor stays.
    fn parameters(&mut self, kernel: bool) -> Read<()> {
        loop {
            self.cursor().skip_blanks();
            if self.cursor().peek() == b')' {
                return Ok(());
            }
            if !self.cursor().at_dot_word() {
                return fail(Code::Syntax, self.reader.cursor.token(), "a parameter is expected here");
            }
            let start = self.cursor().at();
            let registers = self.cursor().dot_word() == "reg";
            if registers && kernel {
                return fail(
                    Code::Syntax,
                    start..self.reader.cursor.at(),
                    "a kernel's parameters are in memory: `.param`",
                );
            }
            let symbol = self.attributes(registers)?;
            if self.cursor().at_word() {
                let name = self.cursor().word();
                self.declare(name, None, symbol);
                if registers && self.cursor().peek() == b'<' {
                    return fail(Code::Syntax, self.reader.cursor.token(), "a parameter is one register");
                }
            }
            while !self.cursor().at_end() && !matches!(self.cursor().peek(), b',' | b')' | b';' | b'{') {
                self.cursor().bump();
            }
            if !self.cursor().eat(b',') && self.cursor().peek() != b')' {
                return fail(Code::Syntax, self.reader.cursor.token(), "`,` or `)` is expected behind a parameter");
            }
        }
    }
}

/// The target that a name in `.target` means: `sm_90a`, and as the assembler takes it `compute_90A`.
fn target_of(name: &str) -> Option<Target> {
    let rest = name.strip_prefix("sm_").or_else(|| name.strip_prefix("compute_"))?;
    let digits = rest.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let mut letters = rest[digits.len()..].chars();
    let (suffix, more) = (letters.next(), letters.next());
    let digits = digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(digits)?;
    let sm = digits.parse().ok().filter(|_| more.is_none())?;
    Some(Target { sm, suffix: suffix.map(|letter| letter.to_ascii_lowercase()) })
}
