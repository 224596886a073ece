//! Formatter of specs: keeps the author's line breaks and normalizes spacing, indentation and alignment.
//!
//! `lex` splits a text into lexemes, comments included; `structure` assigns each to its context; `space` computes the
//! spacing between neighbors; `align` aligns columns. No token changes, so the meaning never does.

mod align;
mod lex;
mod space;
mod structure;

use crate::parse;
use crate::text::{Errors, Sources};

/// Formats the text of a spec file; comments, descriptions and line breaks are kept.
///
/// ```
/// let text = "use   prelude;\n\n\n\nclass words={.u16,.u32} ; // two of them\n";
/// assert_eq!(isa_spec::format("a.isa", text).unwrap(), "use prelude;\n\nclass words = { .u16, .u32 }; // two of them\n");
/// ```
///
/// # Errors
///
/// If the text does not parse; `name` is the file name used in the report.
pub fn format(name: &str, text: &str) -> Result<String, String> {
    let mut sources = Sources::new();
    sources.add(name, text);
    let render = |errors: Errors| errors.render(&sources, false);
    parse(sources.tokens().map_err(render)?).map_err(render)?;
    let (_, text) = sources.files().next().expect("one file was added");
    let lexemes = lex::lexemes(text);
    let places = structure::places(&lexemes);
    Ok(align::text(&lexemes, &places))
}
