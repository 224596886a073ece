//! Libraries that `use` names: the prelude and the full table of `ptx-isa`, which another spec may extend.
//!
//! Their files join the spec before it is resolved. Declarations are used by the spec as its own; instructions belong
//! to the base table and are not generated again.

use std::collections::HashSet;

use crate::parse;
use crate::syntax::ast::{Item, Spec};
use crate::text::Sources;
use crate::text::{Diagnostic, Errors};

/// The prelude and the table of `ptx-isa`, by name.
pub const PTX: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/ptx.rs"));

/// Name of each library, and its number of files in [`PTX`].
const LIBRARIES: [(&str, usize); 2] = [("prelude", 1), ("ptx", PTX.len())];

/// Files that a spec requires, without those already in `present`.
///
/// # Errors
///
/// Every name that is not a library.
pub(crate) fn wanted(spec: &Spec, present: &Sources) -> Result<Sources, Errors> {
    let mut errors = Errors::new();
    let mut count = 0;
    for (_, item) in &spec.items {
        let Item::Use(name) = item else { continue };
        match LIBRARIES.iter().find(|(library, _)| name == library) {
            Some((_, files)) => count = count.max(*files),
            None => errors.push(
                Diagnostic::new(name.span(), format!("unknown library `{name}`"))
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

/// Adds help to unresolved names that the unused prelude declares.
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
