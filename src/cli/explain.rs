//! `ptx-isa explain`: what the reference says of an opcode or a form, or why a mnemonic means none.

use std::io::{self, BufWriter, Write};

use ptx_isa::TABLE;
use ptx_isa::diagnostic::{Code, Explanation, LineIndex};
use ptx_isa::reference::REFERENCE;
use ptx_isa::reference::form::{self, FormPage};
use ptx_isa::reference::page::Page;
use ptx_isa::reference::text::{CODE, FAINT, NAME, Terminal};
use ptx_isa::table::{FormInfo, Free, Lenient, Requirement};
use ptx_isa::target::Floor;
use ptx_isa::text::mnemonic::{self, Refusal, Resolved, matches};
use ptx_isa::text::statement::{ELEMENTS, Need};
use ptx_isa::text::{Statement, effects, find, spelling};

use super::{ExplainArguments, Machine, Outcome, names, report};

pub(super) fn run(arguments: &ExplainArguments) -> io::Result<Outcome> {
    let ExplainArguments { machine, mnemonic } = arguments;
    let mnemonic = mnemonic.trim();
    let mut out = BufWriter::new(anstream::stdout().lock());
    let outcome = match Code::from_name(mnemonic) {
        Some(code) => finding(&mut Terminal { out: &mut out }, code)?,
        None if mnemonic.contains('*') => Found::by(mnemonic, machine).write(&mut out, mnemonic, machine)?,
        None => write(&mut out, mnemonic, machine)?,
    };
    out.flush()?;
    Ok(outcome)
}

/// Tells, with styles, what a mnemonic or an opcode is.
pub(super) fn write(out: &mut impl Write, mnemonic: &str, machine: &Machine) -> io::Result<Outcome> {
    let mut out = Terminal { out };
    if let Some(page) = REFERENCE.page(mnemonic).filter(|_| mnemonic::resolve(&TABLE, mnemonic).is_err()) {
        opcode(&mut out, page, machine)?;
        return Ok(Outcome::Fine);
    }
    match mnemonic::resolve(&TABLE, mnemonic) {
        Ok(resolved) => {
            let Resolved { form, free, .. } = resolved;
            // Of several forms with this mnemonic the first that the machine has.
            let form = form::alike(form, &free).find(|form| machine.has_with(*form, &free)).unwrap_or(form);
            let (needs, effects) = (Need::of(form, free).collect(), effects::of_form_in_words(form, &free));
            Explained { form, free, needs, effects, written: Vec::new() }.write(&mut out, machine)?;
            if let (true, Some(note)) = (resolved.reordered, TABLE.takes(Lenient::ModifierOrder)) {
                out.heading("As written")?;
                out.item("", note)?;
            }
            Ok(Outcome::Fine)
        }
        Err(refusal) => {
            let family = Found::family(mnemonic);
            if !family.pages.is_empty() {
                return family.list(out.out).map(|()| Outcome::Fine);
            }
            if let Some(entry) = Entry::named(mnemonic) {
                return entry.write(&mut out).map(|()| Outcome::Fine);
            }
            let whole =
                mnemonic::place(mnemonic).filter(|place| mnemonic::resolve(&TABLE, &mnemonic[place.clone()]).is_ok());
            if whole.is_some() {
                return whole_statement(&mut out, mnemonic, machine);
            }
            // An opcode may be known by another name.
            let called = Found::called(mnemonic);
            match &*called.pages {
                [] if mnemonic.contains('-') && Code::nearest(mnemonic).is_some() => {
                    super::complain(names::known_code(mnemonic).err().unwrap_or_default());
                    Ok(Outcome::InputErrors)
                }
                [] => print_refusal(&mut out, mnemonic, &refusal).map(|()| Outcome::InputErrors),
                [page] => opcode(&mut out, page, machine).map(|()| Outcome::Fine),
                _ => called.list(out.out).map(|()| Outcome::Fine),
            }
        }
    }
}

/// A name of PTX beside instructions.
struct Entry {
    kind: &'static str,
    name: String,
    description: &'static str,
    floor: Option<&'static Floor>,
}

impl Entry {
    /// Returns the special register, directive, type or state space with this name; an element of a vector is its vector.
    fn named(name: &str) -> Option<Entry> {
        let of = |kind, name: &str, description, floor| Some(Entry { kind, name: name.to_owned(), description, floor });
        if name.starts_with('%') {
            let (register, element) = name.rsplit_once('.').unwrap_or((name, ELEMENTS[0][0]));
            let special = TABLE.special(register).filter(|_| ELEMENTS.as_flattened().contains(&element))?;
            return of("special register", special.name, special.description, Some(&special.floor));
        }
        let bare = name.strip_prefix('.')?;
        if let Some(directive) = TABLE.directive(bare) {
            return of("directive", name, directive.description, Some(&directive.floor));
        }
        if let Some(space) = TABLE.space(bare).filter(|space| space.name == bare) {
            return of("state space", name, space.description, None);
        }
        if let Some(window) = TABLE.space(bare).and_then(|_| modifier(bare)) {
            return of("modifier", name, window, None);
        }
        let ty = TABLE.ty(TABLE.type_named(bare)?);
        of("type", name, ty.description, None)
    }

    fn write(&self, out: &mut Terminal<impl Write>) -> io::Result<()> {
        writeln!(out.out, "{NAME}{}{NAME:#}  {FAINT}{}{FAINT:#}\n", self.name, self.kind)?;
        out.item("", self.description)?;
        let Some(floor) = self.floor else { return Ok(()) };
        out.heading("Exists since")?;
        out.item("", &floor.to_string())
    }
}

/// The reference's description of a modifier, given without its dot, that any instruction has.
fn modifier(name: &str) -> Option<&'static str> {
    let pages = REFERENCE.pages();
    let mut members = pages.iter().flat_map(|page| page.modifiers).flat_map(|modifier| modifier.members);
    members.find(|member| member.name == name && !member.description.is_empty()).map(|member| member.description)
}

/// Tells what the code of a finding means.
fn finding(out: &mut Terminal<impl Write>, code: Code) -> io::Result<Outcome> {
    let Explanation { text, wrong, cure, right, .. } = code.explanation();
    writeln!(out.out, "{NAME}{code}{NAME:#}\n")?;
    out.item("", &format!("{} {text}", code.description()))?;
    for (title, before, module) in [("Example", "", wrong), ("Cure", cure, right)] {
        out.heading(title)?;
        if !before.is_empty() {
            out.item("", before)?;
        }
        module.lines().try_for_each(|line| writeln!(out.out, "  {CODE}{line}{CODE:#}"))?;
    }
    Ok(Outcome::Fine)
}

/// Tells what a statement is, operands included, or why it is none.
fn whole_statement(out: &mut Terminal<impl Write>, text: &str, machine: &Machine) -> io::Result<Outcome> {
    match Statement::parse(&TABLE, text) {
        Ok(found) => {
            Explained::statement(&found, found.needs(), |_| true).write(out, machine)?;
            Ok(Outcome::Fine)
        }
        Err(error) => {
            report::write(&mut out.out, "statement", text.as_bytes(), &LineIndex::new(text), &error)?;
            Ok(Outcome::InputErrors)
        }
    }
}

/// A form with free modifiers, or a statement, with what is said of it beside the reference.
pub(super) struct Explained<'a> {
    form: FormInfo,
    free: Free,
    needs: Vec<Need<'a>>,
    effects: Vec<String>,
    /// The operands of a statement.
    written: Vec<String>,
}

impl<'a> Explained<'a> {
    /// A statement with these needs; `declared` says of a name whether a register has it.
    pub(super) fn statement(
        statement: &Statement<'a>,
        needs: impl Iterator<Item = Need<'a>>,
        declared: impl Fn(&'a str) -> bool,
    ) -> Explained<'a> {
        let effects = statement.effects_in_words(declared);
        let written = (0..statement.operands().len()).map(|place| statement.operand_text(place)).collect();
        Explained { form: statement.form(), free: *statement.free(), needs: needs.collect(), effects, written }
    }

    /// Tells, with styles, what it is, and whether a machine has what it needs.
    pub(super) fn write(&self, out: &mut Terminal<impl Write>, machine: &Machine) -> io::Result<()> {
        let Explained { form, free, needs, effects, written } = self;
        let page = REFERENCE.form_with(*form, free).expect("a page for each form");
        out.form(&FormPage { written: written.clone(), ..page }, needs, effects)?;
        let Some(words) = machine.in_words() else { return Ok(()) };
        out.heading(&words)?;
        let mut lacking = machine.lacks(needs).peekable();
        out.item("", if lacking.peek().is_none() { "Available." } else { "Not available." })?;
        lacking.try_for_each(|need| {
            if let (false, Some(removed)) = (machine.is_below(need.floor), need.floor.removed) {
                return out.item("", &format!("{need} is {removed}"));
            }
            let least = TABLE.least([Requirement::From(need.floor)]);
            out.item(
                "",
                &format!("{need} needs {}", least.map_or_else(|| need.floor.to_string(), |least| least.to_string())),
            )
        })
    }
}

/// Tells what an opcode is, and how much of it a machine has.
fn opcode(out: &mut Terminal<impl Write>, page: &Page, machine: &Machine) -> io::Result<()> {
    out.page(page)?;
    if let Some(words) = machine.in_words() {
        let forms = || names::forms_of(page.opcode);
        let there = forms().filter(|form| machine.has(*form)).count();
        out.heading(&words)?;
        out.item("", &format!("{there} of {} forms", forms().count()))?;
    }
    Ok(())
}

/// The words of a name of C++: `wmma::mma_sync`, `atomicAdd`. A mnemonic is one word.
fn words(name: &str) -> Vec<String> {
    if name.contains('.') {
        return vec![name.to_lowercase()];
    }
    let mut words = vec![String::new()];
    let mut lower = false;
    for letter in name.chars() {
        let separates = matches!(letter, '_' | ':' | ' ');
        if separates || lower && letter.is_ascii_uppercase() {
            words.push(String::new());
        }
        if !separates {
            words.last_mut().expect("a word").push(letter.to_ascii_lowercase());
        }
        lower = letter.is_ascii_lowercase();
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Matches of a pattern or of an alternative name: opcodes, or, without any, forms.
struct Found {
    pages: Vec<&'static Page>,
    forms: Vec<FormInfo>,
}

impl Found {
    fn by(pattern: &str, machine: &Machine) -> Found {
        let mut pages = REFERENCE.pages();
        pages.retain(|page| matches(pattern, page.opcode));
        let mut forms = Vec::new();
        if pages.is_empty() {
            forms = find::forms(&TABLE, pattern, |form, free| machine.has_with(form, free));
        }
        Found { pages, forms }
    }

    /// The opcodes of a family, given the word that they begin with: `tcgen05`, `cp.async`.
    fn family(name: &str) -> Found {
        let mut pages = REFERENCE.pages();
        pages.retain(|page| page.opcode.strip_prefix(name).is_some_and(|rest| rest.starts_with('.')));
        Found { pages, forms: Vec::new() }
    }

    /// The opcodes that some people call so, or that a function of CUDA C++ stands for: `__shfl_down_sync`, `atomicAdd`.
    fn called(name: &str) -> Found {
        let words = words(name);
        let named = (1..=words.len()).rev().map(|count| {
            let first = &words[..count];
            let called = [first.join(" "), first.concat(), first.join(".")];
            let mut pages = REFERENCE.pages();
            pages.retain(|page| {
                let all = page.entries.iter().flat_map(|entry| entry.also).map(|name| names::phrase(name));
                all.chain([page.opcode.to_owned()]).any(|own| called.contains(&own))
            });
            pages
        });
        let pages = named.into_iter().find(|pages| !pages.is_empty()).unwrap_or_default();
        Found { pages, forms: Vec::new() }
    }

    /// One thing is explained; of several each has a line.
    fn write(&self, out: &mut impl Write, pattern: &str, machine: &Machine) -> io::Result<Outcome> {
        match (&*self.pages, &*self.forms) {
            ([], []) => {
                super::complain(format_args!("no opcode and no form's mnemonic matches `{pattern}`"));
                return Ok(Outcome::InputErrors);
            }
            ([page], []) => return write(out, page.opcode, machine),
            ([], [form]) => return write(out, &spelling::mnemonic(*form), machine),
            _ => {}
        }
        self.list(out)?;
        Ok(Outcome::Fine)
    }

    /// A line for each.
    fn list(&self, out: &mut impl Write) -> io::Result<()> {
        let width = self.pages.iter().map(|page| page.opcode.len()).max().unwrap_or(0) + 2;
        for page in &self.pages {
            let name = format!("{:<width$}", page.opcode);
            let label = format!("{NAME}{name}{NAME:#}");
            Terminal { out: &mut *out }.wrapped_behind(&label, width, &page.summary.replace('`', ""))?;
        }
        let names: Vec<_> = self.forms.iter().map(|form| spelling::mnemonic(*form)).collect();
        let width = names.iter().map(|name| name.len()).max().unwrap_or(0) + 2;
        for (form, name) in self.forms.iter().zip(&names) {
            writeln!(out, "{NAME}{name:<width$}{NAME:#}{FAINT}{}{FAINT:#}", spelling::since(*form))?;
        }
        Ok(())
    }
}

/// Why a mnemonic means no form, and what is near.
fn print_refusal(terminal: &mut Terminal<impl Write>, written: &str, refusal: &Refusal) -> io::Result<()> {
    let lines = LineIndex::new(written);
    for reason in &refusal.reasons {
        report::write(&mut terminal.out, "mnemonic", written.as_bytes(), &lines, reason)?;
    }
    if refusal.nearest.is_empty() {
        return Ok(());
    }
    terminal.heading("Legal and near")?;
    let names = refusal.spellings();
    let width = names.iter().map(|name| name.len()).max().unwrap_or(0) + 2;
    for (near, name) in refusal.nearest.iter().zip(&names) {
        let since = spelling::since(*near);
        writeln!(terminal.out, "  {CODE}{name:<width$}{CODE:#}{FAINT}{since}{FAINT:#}")?;
    }
    Ok(())
}
