//! `ptx-isa table`: a row for each legal form.

use std::borrow::Cow;
use std::cell::RefCell;
use std::io::{self, BufWriter, Write};

use isa_table::count::Count;
use ptx_isa::TABLE;
use ptx_isa::table::{FormInfo, Free, Requirement};
use ptx_isa::target::in_words;
use ptx_isa::text::statement::Need;
use ptx_isa::text::{find, mnemonic, spelling};
use serde::Serialize;

use super::{Machine, Outcome, TableArguments, TableFormat, dataset};

#[derive(Serialize)]
struct Row {
    mnemonic: Cow<'static, str>,
    /// With placeholders for free modifiers.
    pattern: String,
    operands: String,
    ptx: String,
    target: String,
    section: &'static str,
}

impl Row {
    /// The row of a form as it is spelt with free modifiers; without any, of its canonical spelling.
    fn new(form: FormInfo, spelt: Option<Free>) -> Row {
        let least = |free| TABLE.least(Need::of(form, free).map(|need| Requirement::From(need.listed())));
        let since = spelt.and_then(least).unwrap_or_else(|| spelling::since(form));
        Row {
            mnemonic: spelt.map_or_else(|| spelling::mnemonic(form), |free| form.mnemonic_with(&free).into()),
            pattern: form.pattern(),
            operands: form.signature(),
            ptx: since.ptx.to_string(),
            target: in_words(&since.targets),
            section: form.section(),
        }
    }
}

/// The forms with a spelling that a pattern matches and a machine has; with its free modifiers where the canonical spelling is another.
fn found(pattern: &str, machine: &Machine) -> Vec<(FormInfo, Option<Free>)> {
    let spelt = RefCell::new(Vec::new());
    find::forms(&TABLE, pattern, |form, free| {
        let is_there = machine.has_with(form, free);
        if is_there {
            // A pattern without `*` is one spelling.
            let is_listed = pattern.contains('*') && machine.has_listed(form) && {
                let names = [form.mnemonic().into(), spelling::mnemonic(form)];
                names.iter().any(|name: &Cow<'_, str>| mnemonic::matches(pattern, name))
            };
            spelt.borrow_mut().push((form, (!is_listed).then_some(*free)));
        }
        is_there
    });
    spelt.into_inner()
}

/// The mnemonics that may be meant by a pattern that matches none, as the end of a sentence.
fn near(pattern: &str) -> String {
    let written = pattern.replace('*', "");
    let Err(refusal) = mnemonic::resolve(&TABLE, written.trim_matches('.')) else { return String::new() };
    let near: Vec<String> = match &*refusal.nearest {
        [] => refusal.fixes.iter().map(|fix| format!("`{}`", fix.text)).collect(),
        _ => refusal.spellings().iter().map(|near| format!("`{near}`")).collect(),
    };
    if near.is_empty() { String::new() } else { format!("; near: {}", near.join(", ")) }
}

pub(super) fn run(arguments: &TableArguments, quiet: bool) -> io::Result<Outcome> {
    let TableArguments { format, machine, pattern } = arguments;
    let mut out = BufWriter::new(io::stdout().lock());
    let forms: Vec<(FormInfo, Option<Free>)> = match pattern {
        Some(pattern) => found(pattern.trim_end_matches(';'), machine),
        None => TABLE.forms().filter_map(|form| machine.row(form)).collect(),
    };
    if forms.is_empty() {
        let place = machine.in_words().map(|machine| format!(" with {machine}")).unwrap_or_default();
        let near = pattern.as_deref().map(near).unwrap_or_default();
        super::complain(format!("no form's mnemonic matches{place}; `*` stands for any text, as in '*.f16'{near}"));
    }
    match format {
        TableFormat::Text => {
            for (form, spelt) in &forms {
                let Row { mnemonic, operands, ptx, target, section, .. } = Row::new(*form, *spelt);
                writeln!(out, "{mnemonic:<27} {operands:<32} PTX {ptx:<4} {target:<7} {section}")?;
            }
            if !quiet {
                writeln!(out, "{}", Count(forms.len(), "form"))?;
            }
        }
        TableFormat::Json => {
            for (form, spelt) in &forms {
                serde_json::to_writer(&mut out, &Row::new(*form, *spelt))?;
                writeln!(out)?;
            }
        }
        TableFormat::Dataset => {
            dataset::write(&mut out, &forms.iter().map(|(form, _)| *form).collect::<Vec<_>>())?;
        }
    }
    out.flush()?;
    Ok(if forms.is_empty() { Outcome::InputErrors } else { Outcome::Fine })
}
