//! Pages that are tables: what has a name beside instructions, and what is new.

use ptx_isa::target::Floor;

use super::index::{Floors, Named, Need};

/// A page of tables.
pub(super) struct Sheet {
    pub(super) file: String,
    pub(super) title: String,
    pub(super) lead: String,
    /// Prose as HTML.
    pub(super) body: String,
    pub(super) sections: Vec<Section>,
}

pub(super) struct Section {
    pub(super) id: String,
    pub(super) title: String,
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Row>,
}

/// A row: its place on the page, the number of its floor, and its cells as HTML.
pub(super) struct Row {
    pub(super) id: String,
    pub(super) floor: Option<usize>,
    pub(super) cells: Vec<String>,
}

impl Section {
    /// A section, unless it would be empty.
    pub(super) fn of(id: &str, title: &str, columns: &[&str], rows: impl IntoIterator<Item = Row>) -> Option<Section> {
        let rows: Vec<Row> = rows.into_iter().collect();
        let columns = columns.iter().map(|column| (*column).to_owned()).collect();
        (!rows.is_empty()).then(|| Section { id: id.to_owned(), title: title.to_owned(), columns, rows })
    }
}

impl Row {
    pub(super) fn new(cells: Vec<String>) -> Row {
        Row { id: String::new(), floor: None, cells }
    }

    /// A row that a search finds by its name.
    pub(super) fn named(id: &str, floor: Option<&Floor>, floors: &mut Floors, cells: Vec<String>) -> Row {
        Row { id: id.to_owned(), floor: floor.map(|floor| floors.place(&Need::from(floor))), cells }
    }
}

/// The name of a row as the search lists it.
pub(super) fn entry(kind: &'static str, file: &str, name: &str, id: &str, description: &'static str) -> Named {
    Named(kind, name.to_owned(), description, format!("{file}#{id}"))
}

pub(super) fn code(text: &str) -> String {
    super::prose(&format!("`{text}`"))
}
