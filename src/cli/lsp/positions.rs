//! Line index, and conversion of offsets to positions of the protocol.

use lsp_types::{Position, PositionEncodingKind};

/// Unit of columns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Encoding {
    /// Bytes.
    Utf8,
    /// Units of UTF-16, as every client can.
    #[default]
    Utf16,
}

impl Encoding {
    /// The best of what a client offers.
    pub(super) fn of(offered: Option<&[PositionEncodingKind]>) -> Encoding {
        match offered.is_some_and(|offered| offered.contains(&PositionEncodingKind::UTF8)) {
            true => Encoding::Utf8,
            false => Encoding::Utf16,
        }
    }

    pub(super) fn kind(self) -> PositionEncodingKind {
        match self {
            Encoding::Utf8 => PositionEncodingKind::UTF8,
            Encoding::Utf16 => PositionEncodingKind::UTF16,
        }
    }
}

/// The lines of a text: they end at `\n`, `\r\n` or `\r`.
pub(super) struct Lines {
    starts: Vec<usize>,
    /// Number of UTF-16 code units before each block of the text; empty if the text is ASCII.
    blocks: Vec<usize>,
}

/// Bytes of a block whose units are counted once: a line may be long, and have much to be said of.
const BLOCK: usize = 256;

/// The units of UTF-16 whose characters begin in some bytes of UTF-8.
fn units(bytes: &[u8]) -> usize {
    let unit = |byte: &u8| match byte {
        0x80..0xc0 => 0,
        0xf0.. => 2,
        _ => 1,
    };
    bytes.iter().map(unit).sum()
}

impl Lines {
    pub(super) fn new(text: &str) -> Lines {
        let bytes = text.as_bytes();
        let ends = |&at: &usize| bytes[at] == b'\n' || bytes.get(at + 1) != Some(&b'\n');
        let starts = memchr::memchr2_iter(b'\n', b'\r', bytes).filter(ends).map(|at| at + 1);
        let mut lines = Lines { starts: std::iter::once(0).chain(starts).collect(), blocks: Vec::new() };
        if !text.is_ascii() {
            lines.blocks.push(0);
            let before = bytes.chunks(BLOCK).scan(0, |before, block| {
                *before += units(block);
                Some(*before)
            });
            lines.blocks.extend(before);
        }
        lines
    }

    /// The offset of a position. One that the text does not have counts as the nearest before it.
    pub(super) fn offset(&self, text: &str, position: Position, encoding: Encoding) -> usize {
        let line = position.line as usize;
        let Some(&start) = self.starts.get(line) else { return text.len() };
        let end = self.starts.get(line + 1).copied().unwrap_or(text.len());
        let content = text[start..end].trim_end_matches(['\n', '\r']);
        let column = position.character as usize;
        let within = match encoding {
            _ if self.blocks.is_empty() => column.min(content.len()),
            Encoding::Utf8 => content.floor_char_boundary(column),
            Encoding::Utf16 => {
                let mut units = 0;
                let mut behind = content.char_indices().map(|(at, letter)| {
                    units += letter.len_utf16();
                    (at, units)
                });
                behind.find(|(_, units)| *units > column).map_or(content.len(), |(at, _)| at)
            }
        };
        start + within
    }

    /// The position of an offset; one within a character counts as its beginning.
    pub(super) fn position(&self, text: &str, offset: usize, encoding: Encoding) -> Position {
        let offset = text.floor_char_boundary(offset);
        let line = self.starts.partition_point(|&start| start <= offset) - 1;
        let start = self.starts[line];
        let column = match encoding {
            Encoding::Utf8 => offset - start,
            Encoding::Utf16 => self.units_before(text, offset) - self.units_before(text, start),
        };
        Position { line: line as u32, character: column as u32 }
    }

    fn units_before(&self, text: &str, offset: usize) -> usize {
        let block = offset / BLOCK;
        self.blocks.get(block).map_or(offset, |before| before + units(&text.as_bytes()[block * BLOCK..offset]))
    }
}

#[cfg(test)]
mod tests {
    use super::{Encoding, Lines};
    use lsp_types::Position;

    const TEXT: &str = "a\u{e9}\u{1d11e}b\r\nc\rd\n";

    fn place(line: u32, character: u32) -> Position {
        Position { line, character }
    }

    #[test]
    fn columns_count_what_was_agreed() {
        let lines = Lines::new(TEXT);
        let both =
            |offset| [Encoding::Utf8, Encoding::Utf16].map(|encoding| lines.position(TEXT, offset, encoding).character);
        assert_eq!(both(TEXT.find('b').unwrap()), [7, 4]);
        for (offset, _) in TEXT.char_indices().filter(|(_, letter)| *letter != '\n') {
            for encoding in [Encoding::Utf8, Encoding::Utf16] {
                let position = lines.position(TEXT, offset, encoding);
                assert_eq!(lines.offset(TEXT, position, encoding), offset, "{encoding:?}");
            }
        }
    }

    #[test]
    fn a_long_line_is_counted_as_a_short_one() {
        let text = TEXT.lines().next().unwrap().repeat(1000);
        let lines = Lines::new(&text);
        for (offset, _) in text.char_indices().step_by(7) {
            let column = text[..offset].encode_utf16().count() as u32;
            assert_eq!(lines.position(&text, offset, Encoding::Utf16), place(0, column));
        }
    }

    #[test]
    fn a_line_ends_at_each_of_three() {
        let lines = Lines::new(TEXT);
        let at = |letter| lines.position(TEXT, TEXT.find(letter).unwrap(), Encoding::Utf16);
        assert_eq!((at('c'), at('d')), (place(1, 0), place(2, 0)));
        assert_eq!(lines.position(TEXT, TEXT.len(), Encoding::Utf16), place(3, 0));
    }

    #[test]
    fn what_the_text_does_not_have_is_the_nearest_before_it() {
        let lines = Lines::new(TEXT);
        let clef = TEXT.find('\u{1d11e}').unwrap();
        // The lower half of a surrogate pair, and the inside of a character.
        assert_eq!(lines.offset(TEXT, place(0, 3), Encoding::Utf16), clef);
        assert_eq!(lines.offset(TEXT, place(0, 4), Encoding::Utf8), clef);
        assert_eq!(lines.offset(TEXT, place(0, u32::MAX), Encoding::Utf16), TEXT.find('\r').unwrap());
        assert_eq!(lines.offset(TEXT, place(u32::MAX, u32::MAX), Encoding::Utf16), TEXT.len());
        assert_eq!(lines.position(TEXT, usize::MAX, Encoding::Utf8), place(3, 0));
        assert_eq!(lines.position(TEXT, clef + 1, Encoding::Utf16), place(0, 2));
    }
}
