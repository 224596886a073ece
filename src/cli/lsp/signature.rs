//! Signature help: the operands of the statement that is being written, with their types.

use lsp_types::{ParameterInformation, ParameterLabel, SignatureHelp, SignatureInformation};
use ptx_isa::TABLE;
use ptx_isa::reference::REFERENCE;
use ptx_isa::table::FormInfo;
use ptx_isa::text::mnemonic;
use ptx_isa::text::module::Context;

use super::documents::Document;

pub(super) fn signature(document: &Document, offset: usize) -> Option<SignatureHelp> {
    let Context::Operands(part) = document.index.context(&document.text, offset) else { return None };
    let mnemonic = part.mnemonic.clone().filter(|mnemonic| mnemonic.end <= offset)?;
    let form = mnemonic::resolve(&TABLE, &document.text[mnemonic.clone()]).ok()?.form;
    let active = operand(&document.text[mnemonic.end..offset]);
    let written = &document.text[mnemonic];
    let mut shapes: Vec<SignatureInformation> =
        form.all_shapes().map(|shape| information(written, shape, active)).collect();
    shapes.dedup_by(|a, b| a.label == b.label);
    let fits = |shape: &SignatureInformation| shape.parameters.as_ref().is_some_and(|all| all.len() as u32 > active);
    let first = shapes.iter().position(fits).unwrap_or(0) as u32;
    Some(SignatureHelp { signatures: shapes, active_signature: Some(first), active_parameter: Some(active) })
}

/// Index of the operand that the end of a text is in: commas of vectors, addresses and lists of arguments separate no operands.
fn operand(text: &str) -> u32 {
    let mut depth = 0_i32;
    let mut commas = 0;
    for letter in text.chars() {
        match letter {
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth -= 1,
            ',' if depth <= 0 => commas += 1,
            _ => {}
        }
    }
    commas
}

fn information(written: &str, form: FormInfo, active: u32) -> SignatureInformation {
    let mut label = format!("{written} ");
    let mut parameters = Vec::new();
    for (number, operand) in form.operands().iter().enumerate() {
        if number > 0 {
            label.push_str(", ");
        }
        // The protocol counts UTF-16 code units, which equal bytes here: names of operands are ASCII.
        let start = label.len() as u32;
        label.push_str(&operand.with_around(operand.name));
        let ty = form.table().ty(operand.ty).name;
        parameters.push(ParameterInformation {
            label: ParameterLabel::LabelOffsets([start, label.len() as u32]),
            documentation: Some(lsp_types::Documentation::String(format!("`{}`: `.{ty}`", operand.name))),
        });
    }
    let page = REFERENCE.form(form);
    SignatureInformation {
        label,
        documentation: page.map(|page| lsp_types::Documentation::String(page.entry.summary.to_owned())),
        parameters: Some(parameters),
        active_parameter: Some(active),
    }
}
