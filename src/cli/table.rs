//! `ptx-isa table`: a row for each legal form.

use std::io::{self, BufWriter, Write};

use ptx_isa::TABLE;
use ptx_isa::table::FormInfo;
use ptx_isa::text::mnemonic;
use serde::Serialize;

use super::names::count;
use super::{Outcome, TableArguments, TableFormat, dataset};

#[derive(Serialize)]
struct Row {
    mnemonic: String,
    operands: String,
    ptx: String,
    target: String,
    section: &'static str,
}

impl Row {
    fn new(form: FormInfo) -> Row {
        Row {
            mnemonic: form.pattern(),
            operands: form.signature(),
            ptx: form.floor().ptx.to_string(),
            target: form.floor().targets_in_words(),
            section: form.section(),
        }
    }
}

pub(super) fn run(arguments: &TableArguments, quiet: bool) -> io::Result<Outcome> {
    let TableArguments { format, machine, pattern } = arguments;
    let mut out = BufWriter::new(io::stdout().lock());
    let wanted = |form: &FormInfo| pattern.as_deref().is_none_or(|pattern| mnemonic::matches(pattern, form.mnemonic()));
    let forms: Vec<FormInfo> = TABLE.forms().filter(wanted).filter(|form| machine.has(*form)).collect();
    if forms.is_empty() {
        let place = machine.in_words().map(|machine| format!(" with {machine}")).unwrap_or_default();
        super::complain(format!("no form's mnemonic matches{place}; `*` stands for any text, as in '*.f16'"));
    }
    match format {
        TableFormat::Text => {
            for form in &forms {
                let Row { mnemonic, operands, ptx, target, section } = Row::new(*form);
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
