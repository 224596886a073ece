//! `ptx-isa table`: a row for each legal form.

use std::io::{self, BufWriter, Write};

use ptx_isa::TABLE;
use ptx_isa::table::FormInfo;
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
    let wanted = |form: &FormInfo| pattern.as_deref().is_none_or(|pattern| matches(pattern, form.mnemonic()));
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

/// Whether a text is the pattern's, with `*` for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut rest) = text.strip_prefix(head) else { return false };
    let mut parts = tail.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        // The first place is as good as any: what follows only needs room behind it.
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn a_star_stands_for_any_text() {
        assert!(matches("setp.*.f16", "setp.lt.f16"));
        assert!(matches("setp.*.f16", "setp.lt.and.f16"));
        assert!(!matches("setp.*.f16", "setp.lt.f16x2"));
        assert!(matches("*.ftz.*", "set.lt.ftz.u32.f32"));
        assert!(matches("*", "selp.b32"));
        assert!(matches("selp.b32", "selp.b32"));
        assert!(!matches("selp", "selp.b32"));
    }
}
