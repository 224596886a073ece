//! `ptx-isa table`: a row for each legal form.

use std::borrow::Cow;
use std::io::{self, BufWriter, Write};

use ptx_isa::TABLE;
use ptx_isa::table::FormInfo;
use ptx_isa::target::in_words;
use ptx_isa::text::{find, mnemonic, spelling};
use serde::Serialize;

use super::names::count;
use super::{Outcome, TableArguments, TableFormat, dataset};

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
    fn new(form: FormInfo) -> Row {
        let since = spelling::since(form);
        Row {
            mnemonic: spelling::mnemonic(form),
            pattern: form.pattern(),
            operands: form.signature(),
            ptx: since.ptx.to_string(),
            target: in_words(&since.targets),
            section: form.section(),
        }
    }
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
    let forms: Vec<FormInfo> = match pattern {
        Some(pattern) => find::forms(&TABLE, pattern.trim_end_matches(';'), |form, free| machine.has_with(form, free)),
        None => TABLE.forms().filter(|form| machine.has(*form)).collect(),
    };
    if forms.is_empty() {
        let place = machine.in_words().map(|machine| format!(" with {machine}")).unwrap_or_default();
        let near = pattern.as_deref().map(near).unwrap_or_default();
        super::complain(format!("no form's mnemonic matches{place}; `*` stands for any text, as in '*.f16'{near}"));
    }
    match format {
        TableFormat::Text => {
            for form in &forms {
                let Row { mnemonic, operands, ptx, target, section, .. } = Row::new(*form);
                writeln!(out, "{mnemonic:<27} {operands:<32} PTX {ptx:<4} {target:<7} {section}")?;
            }
            if !quiet {
                writeln!(out, "{}", count(forms.len(), "form"))?;
            }
        }
        TableFormat::Json => {
            for form in &forms {
                serde_json::to_writer(&mut out, &Row::new(*form))?;
                writeln!(out)?;
            }
        }
        TableFormat::Dataset => dataset::write(&mut out, &forms)?,
    }
    out.flush()?;
    Ok(if forms.is_empty() { Outcome::InputErrors } else { Outcome::Fine })
}
