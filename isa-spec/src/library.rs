//! What `use` names: the prelude and the table of `ptx-isa`, which another spec may extend.
//!
//! The files join the spec before it is resolved; afterwards nothing tells them from the spec's own.

use proc_macro2::Ident;

use crate::ast::{Item, Spec};
use crate::diagnostic::{Diagnostic, Errors};
use crate::source::Sources;

/// The prelude and the table of `ptx-isa`, by name.
pub const PTX: [(&str, &str); 6] = [
    ("prelude.isa", include_str!("../ptx/prelude.isa")),
    ("float.isa", include_str!("../ptx/float.isa")),
    ("comparison.isa", include_str!("../ptx/comparison.isa")),
    ("half.isa", include_str!("../ptx/half.isa")),
    ("logic.isa", include_str!("../ptx/logic.isa")),
    ("video.isa", include_str!("../ptx/video.isa")),
];

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
    for name in spec.items.iter().filter_map(used) {
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

fn used(item: &Item) -> Option<&Ident> {
    match item {
        Item::Use(name) => Some(name),
        Item::Bodies { .. }
        | Item::Versions(_)
        | Item::Targets(_)
        | Item::Types(_)
        | Item::Class(_)
        | Item::Builtin(_)
        | Item::Operator(_)
        | Item::Lenient(_)
        | Item::Slips(_)
        | Item::Instruction(_) => None,
    }
}
