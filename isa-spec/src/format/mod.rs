//! A spec as it is to be written: lines stay where their author ended them, and what stands in a line, before it and
//! under its neighbours has one form.
//!
//! `lex` tells what stands in a text, comments included; `structure` what each of it belongs to; `space` what is between
//! neighbours; `align` brings columns under each other. Nothing here changes a token, so nothing changes its meaning.

mod align;
mod lex;
mod space;
mod structure;

use crate::parse;
use crate::text::{Errors, Sources};

/// The text of a spec file as it is to be written: comments, descriptions and the ends of lines stay.
///
/// ```
/// let text = "use   prelude;\n\n\n\nclass words={.u16,.u32} ; // two of them\n";
/// assert_eq!(isa_spec::format("a.isa", text).unwrap(), "use prelude;\n\nclass words = { .u16, .u32 }; // two of them\n");
/// ```
///
/// # Errors
///
/// What does not parse; `name` is what reports call the file.
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
