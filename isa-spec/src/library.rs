//! What `use` names: the prelude and the table of `ptx-isa`, which another spec may extend.
//!
//! The files join the spec before it is resolved. What they declare is the spec's own; instructions that they describe
//! are those of the table that the spec's own one stands on, and are not generated again.

use std::collections::HashSet;

use crate::parse;
use crate::syntax::ast::{Item, Spec};
use crate::text::Sources;
use crate::text::{Diagnostic, Errors};

/// The prelude and the table of `ptx-isa`, by name.
pub const PTX: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/ptx.rs"));

/// A library's name, and how many files of [`PTX`] it has.
const LIBRARIES: [(&str, usize); 2] = [("prelude", 1), ("ptx", PTX.len())];

/// The files that a spec asks for, without those that `present` has.
///
/// # Errors
///
/// Every name that is no library.
pub(crate) fn wanted(spec: &Spec, present: &Sources) -> Result<Sources, Errors> {
    let mut errors = Errors::new();
    let mut count = 0;
    for (_, item) in &spec.items {
        let Item::Use(name) = item else { continue };
        match LIBRARIES.iter().find(|(library, _)| name == library) {
            Some((_, files)) => count = count.max(*files),
            None => errors.push(
                Diagnostic::new(name.span(), format!("there is no library `{name}`"))
                    .help("`use prelude;` takes types, builtins and operators, `use ptx;` the whole table"),
            ),
        }
    }
    let mut sources = Sources::new();
    for (name, text) in PTX.iter().take(count).filter(|(name, _)| !present.has(name)) {
        sources.add(*name, text);
    }
    errors.finish(sources)
}

/// Says of names that name nothing where the prelude declares them, which the spec does not use.
pub(crate) fn forgotten(mut errors: Errors) -> Errors {
    let mut prelude = Sources::new();
    prelude.add(PTX[0].0, PTX[0].1);
    let names: HashSet<String> = match prelude.tokens().and_then(parse) {
        Ok(spec) => spec.items.iter().flat_map(|(_, item)| item.names()).map(ToString::to_string).collect(),
        Err(_) => HashSet::new(),
    };
    let help = "the prelude declares it: did you forget `use prelude;`?";
    errors.explain(|name| names.contains(name).then(|| help.to_owned()));
    errors
}
