//! Texts as Python gives them, and places in them as Python counts.

use std::ops::Range;

use ptx_isa::TABLE;
use ptx_isa::diagnostic::LineIndex;
use ptx_isa::target::NameError;
use ptx_isa::text::Options;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PySlice;

/// A text, or bytes that should be one.
#[derive(Clone, Copy)]
pub(crate) enum Text<'a> {
    Characters(&'a str),
    Bytes(&'a [u8]),
}

impl<'a, 'py> FromPyObject<'a, 'py> for Text<'a> {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Text<'a>> {
        match <&[u8]>::extract(given) {
            Ok(bytes) => Ok(Text::Bytes(bytes)),
            Err(_) => <&str>::extract(given).map(Text::Characters),
        }
    }
}

impl<'a> Text<'a> {
    pub(crate) fn bytes(self) -> &'a [u8] {
        match self {
            Text::Characters(text) => text.as_bytes(),
            Text::Bytes(bytes) => bytes,
        }
    }
}

/// Finds places in a text.
pub(crate) struct Places<'a> {
    text: Text<'a>,
    lines: LineIndex<'a>,
}

/// A piece of a text.
#[derive(Clone, PartialEq)]
pub(crate) struct Place {
    /// Range in the units of Python's index into the text: characters of a `str`, bytes of `bytes`.
    pub(crate) indices: Range<usize>,
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) end_line: usize,
    pub(crate) end_column: usize,
}

impl<'a> Places<'a> {
    pub(crate) fn new(text: Text<'a>) -> Places<'a> {
        Places { text, lines: LineIndex::new(text.bytes()) }
    }

    pub(crate) fn of(&self, bytes: &Range<usize>) -> Place {
        let (start, end) = (self.lines.position(bytes.start), self.lines.position(bytes.end));
        let index = |offset: usize| match self.text {
            Text::Characters(_) => self.lines.characters_before(offset),
            Text::Bytes(_) => offset,
        };
        Place {
            indices: index(bytes.start)..index(bytes.end),
            line: start.line,
            column: start.column,
            end_line: end.line,
            end_column: end.column,
        }
    }
}

impl Place {
    /// As a slice: `text[place]`.
    pub(crate) fn slice<'py>(&self, py: Python<'py>) -> Bound<'py, PySlice> {
        PySlice::new(py, self.indices.start as isize, self.indices.end as isize, 1)
    }
}

/// The target and the version with these names, if the table knows them.
pub(crate) fn options(target: Option<&str>, ptx: Option<&str>) -> PyResult<Options> {
    let unknown = |error: NameError| PyValueError::new_err(error.to_string());
    let target = target.map(|name| TABLE.target(name)).transpose().map_err(unknown)?;
    let ptx = ptx.map(|name| TABLE.version(name)).transpose().map_err(unknown)?;
    Ok(Options { ptx, target })
}
