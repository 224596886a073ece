//! Builtins whose results are linear in the index of a thread where their arguments are.

/// How the result of a builtin is linear where its arguments are: see [`isa_table::program::Linear`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LinearKind {
    Sum,
    Difference,
    Product,
    Shift,
    Extension,
    Less,
    Equal,
}

impl LinearKind {
    /// All kinds, with their names in a spec.
    pub(crate) const ALL: [(&str, LinearKind); 7] = [
        ("sum", LinearKind::Sum),
        ("difference", LinearKind::Difference),
        ("product", LinearKind::Product),
        ("shift", LinearKind::Shift),
        ("extension", LinearKind::Extension),
        ("less", LinearKind::Less),
        ("equal", LinearKind::Equal),
    ];
}
