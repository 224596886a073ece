//! Parts of a long page that are folded: what comes first is open as long as it fits into some screens.

use ptx_isa::reference::page::{Entry, Line, Matrix, Modifier, Page};

/// Lines of a page before something is unfolded, about nine screens.
const LINES: usize = 250;

/// Lines that the top of a page takes.
const TOP: usize = 20;

/// Lines that a folded part takes.
const FOLDED: usize = 2;

/// Which parts of a page are folded.
pub(super) struct Folds {
    entries: Vec<bool>,
    /// Number of lines of syntax before those that are folded: the only entry of a page stays open otherwise.
    pub(super) syntax: usize,
    matrices: Vec<bool>,
    modifiers: Vec<bool>,
    pub(super) fragments: bool,
    pub(super) layouts: Vec<bool>,
    pub(super) functions: bool,
}

/// Lines that are left.
struct Left(usize);

impl Left {
    /// Returns true if a part has to be folded.
    fn folds(&mut self, lines: usize) -> bool {
        let folds = lines > self.0;
        self.0 = self.0.saturating_sub(if folds { FOLDED } else { lines });
        folds
    }

    /// The same for several parts; once one is folded, those behind it are.
    fn fold_from(&mut self, parts: impl Iterator<Item = usize>) -> Vec<bool> {
        let mut folds = false;
        let fold = |lines| {
            folds = self.folds(if folds { usize::MAX } else { lines });
            folds
        };
        parts.map(fold).collect()
    }
}

impl Folds {
    pub(super) fn of(page: &Page, modifiers: &[&Modifier]) -> Folds {
        // The title of an entry is its summary, which may wrap, and takes a line and a half.
        let titles = page.entries.iter().map(|entry| 3 + entry.summary.len() / 115 * 2).sum::<usize>() / 2;
        let parts = titles + page.matrices.len() + modifiers.len() + page.layouts.len();
        let mut left = Left(LINES.saturating_sub(TOP + parts));
        let (entries, syntax) = match page.entries {
            [only] if entry(only) > left.0 => {
                let lines = || only.syntax.iter().map(line);
                left.0 = left.0.saturating_sub(entry(only) - lines().sum::<usize>());
                (vec![false], lines().take_while(|lines| !left.folds(*lines)).count().max(1))
            }
            entries => (left.fold_from(entries.iter().map(entry)), usize::MAX),
        };
        Folds {
            entries,
            syntax,
            matrices: left.fold_from(page.matrices.iter().map(matrix)),
            modifiers: left.fold_from(modifiers.iter().map(|modifier| 4 + modifier.members.len() * 3 / 2)),
            fragments: left.folds(page.fragments.first().map_or(0, |first| 14 + first.rows as usize)),
            layouts: left.fold_from(page.layouts.iter().map(|layout| 8 + layout.fields.len() * 2)),
            functions: left.folds(page.functions.len()),
        }
    }

    pub(super) fn entry(&self, number: &usize) -> bool {
        self.entries[*number]
    }

    pub(super) fn matrix(&self, number: &usize) -> bool {
        self.matrices[*number]
    }

    pub(super) fn modifier(&self, number: &usize) -> bool {
        self.modifiers[*number]
    }

    pub(super) fn layout(&self, number: &usize) -> bool {
        self.layouts[*number]
    }
}

/// Roughly the lines that an entry takes.
fn entry(entry: &Entry) -> usize {
    let syntax: usize = entry.syntax.iter().map(line).sum();
    let words = |text: &&str| 1 + text.len() / 90;
    let prose: usize = entry.details.iter().chain(entry.rules).chain(entry.lenient).map(words).sum();
    // The cells of a row with types are narrow.
    let operands: usize = entry.operands.iter().map(|operand| 2 + operand.ty.len() / 25).sum();
    let tables = operands + entry.semantics.len() + entry.floors.len() * 2;
    12 + syntax + prose + tables + entry.errata.len() * 5 + entry.examples.len() * 7
}

fn line(line: &Line) -> usize {
    5 + line.items.len()
}

fn matrix(matrix: &Matrix) -> usize {
    3 + matrix.groups.iter().map(|group| 1 + group.rows.len() * 5 / 4).sum::<usize>()
}
