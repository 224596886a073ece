//! `ptx-isa table`: a row for each legal form.

use std::io::{self, BufWriter, Write};

use ptx_isa::TABLE;
use ptx_isa::table::FormInfo;
use ptx_isa::text::mnemonic;
use serde::Serialize;

use super::{Format, Outcome, TableArguments};

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

pub(super) fn run(arguments: &super::TableArguments) -> io::Result<Outcome> {
    let TableArguments { format, machine, pattern } = arguments;
    let mut out = BufWriter::new(io::stdout().lock());
    let mut rows = 0;
    let wanted = |form: &FormInfo| pattern.as_deref().is_none_or(|pattern| mnemonic::matches(pattern, form.mnemonic()));
    for form in TABLE.forms().filter(wanted).filter(|form| machine.has(*form)) {
        rows += 1;
        let row = Row::new(form);
        match format {
            Format::Text => {
                let Row { mnemonic, operands, ptx, target, section } = row;
                writeln!(out, "{mnemonic:<27} {operands:<32} PTX {ptx:<4} {target:<7} {section}")?;
            }
            Format::Json => {
                serde_json::to_writer(&mut out, &row)?;
                writeln!(out)?;
            }
        }
    }
    if *format == Format::Text {
        let plural = if rows == 1 { "" } else { "s" };
        writeln!(out, "{rows} form{plural}")?;
    }
    out.flush()?;
    if rows > 0 {
        return Ok(Outcome::Fine);
    }
    let place = machine.in_words().map(|machine| format!(" with {machine}")).unwrap_or_default();
    super::complain(format!("no form's mnemonic matches{place}; `*` stands for any text, as in '*.f16'"));
    Ok(Outcome::InputErrors)
}
