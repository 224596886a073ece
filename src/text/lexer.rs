//! Lexer: splits bytes into words, numbers, blanks and comments.
//!
//! The lexer builds no list of tokens. The parsers ask a [`Cursor`] for the token that they expect next, so that a
//! statement is read in one pass and nothing is stored. The lexer does not depend on PTX keywords.

use core::ops::Range;

/// Classes of bytes, as bit flags.
const BLANK: u8 = 1;
const WORD: u8 = 2;
const WORD_START: u8 = 4;
const DIGIT: u8 = 8;
const STOP: u8 = 16;
/// May begin a comment or a line marker.
const ASIDE: u8 = 32;

// A constant, as the place of a static is looked up each time.
const CLASS: &[u8; 256] = &{
    let mut class = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let b = byte as u8;
        if matches!(b, b' ' | b'\t' | b'\n' | b'\r' | 0x0c) {
            class[byte] |= BLANK;
        }
        if b.is_ascii_alphanumeric() || matches!(b, b'_' | b'$') {
            class[byte] |= WORD;
        }
        if b.is_ascii_alphabetic() || matches!(b, b'_' | b'$' | b'%') {
            class[byte] |= WORD_START;
        }
        if b.is_ascii_digit() {
            class[byte] |= DIGIT;
        }
        if matches!(b, b';' | b'{' | b'}' | b'/' | b'"' | b'\n') {
            class[byte] |= STOP;
        }
        if matches!(b, b'/' | b'#') {
            class[byte] |= ASIDE;
        }
        byte += 1;
    }
    class
};

const fn is(byte: u8, class: u8) -> bool {
    CLASS[byte as usize] & class != 0
}

/// Length in bytes of the string that a text begins with, its quotes included; `None` if it has no end. Strings have no escapes.
pub(super) fn string_length(text: &[u8]) -> Option<usize> {
    memchr::memchr(b'"', &text[1..]).map(|length| length + 2)
}

/// Length in bytes of the line marker that a text begins with, without its line end: `# 3 "file" 1` or `#line 3 "file"`.
fn marker_length(text: &[u8]) -> Option<usize> {
    let blank = |byte: &u8| is(*byte, BLANK) && *byte != b'\n';
    let behind =
        |at: usize, skipped: &dyn Fn(&u8) -> bool| at + text[at..].iter().take_while(|byte| skipped(byte)).count();
    let (blanks, digits) = (|at| behind(at, &blank), |at| behind(at, &u8::is_ascii_digit));
    let mut at = blanks(1);
    if text[at..].starts_with(b"line") {
        at = blanks(at + 4);
    }
    let number = digits(at);
    let string = blanks(number);
    if number == at || string == number || text.get(string) != Some(&b'"') {
        return None;
    }
    let mut end = string + string_length(&text[string..])?;
    // Numbers may follow.
    loop {
        let next = blanks(end);
        if text.get(next) == Some(&b'\n') {
            return text[..next].is_ascii().then_some(next);
        }
        let number = digits(next);
        if next == end || number == next {
            return None;
        }
        end = number;
    }
}

/// A place in a text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    /// Start of an unterminated comment; the cursor is then at the end of the text.
    pub(crate) unterminated: Option<usize>,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str) -> Cursor<'a> {
        Cursor { text, at: 0, unterminated: None }
    }

    pub(crate) fn text(&self) -> &'a str {
        self.text
    }

    /// Bytes from the start of the text.
    pub(crate) fn at(&self) -> usize {
        self.at
    }

    /// Goes to an offset, which must not be inside a character.
    pub(crate) fn seek(&mut self, at: usize) {
        self.at = at;
    }

    pub(crate) fn at_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// The next byte; 0 at the end.
    #[inline]
    pub(crate) fn peek(&self) -> u8 {
        self.peek_at(0)
    }

    /// The byte `ahead` of the next one; 0 behind the end.
    #[inline]
    pub(crate) fn peek_at(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    /// Passes the next byte if it is `byte`.
    #[inline]
    pub(crate) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == byte && !self.at_end();
        self.at += usize::from(found);
        found
    }

    /// Returns true if the byte before the cursor is `byte`.
    #[inline]
    pub(crate) fn is_behind(&self, byte: u8) -> bool {
        self.at.checked_sub(1).is_some_and(|before| self.text.as_bytes()[before] == byte)
    }

    /// Returns true if the byte before the cursor can end a value: an operand is never followed by a name.
    pub(crate) fn is_behind_value(&self) -> bool {
        let before = self.at.checked_sub(1).map(|before| self.text.as_bytes()[before]);
        before.is_some_and(|byte| is(byte, WORD) || matches!(byte, b')' | b']' | b'}'))
    }

    /// Passes blanks, comments and line markers.
    #[inline]
    pub(crate) fn skip_blanks(&mut self) {
        self.at = self.behind_blanks(self.at);
        if self.at_aside() {
            self.skip_comments();
        }
    }

    /// Returns true if a comment or a line marker may begin at the cursor.
    #[inline]
    pub(crate) fn at_aside(&self) -> bool {
        is(self.peek(), ASIDE)
    }

    /// Returns the first position from `at` on that is not blank.
    #[inline]
    fn behind_blanks(&self, mut at: usize) -> usize {
        let bytes = self.text.as_bytes();
        while at < bytes.len() && is(bytes[at], BLANK) {
            at += 1;
        }
        at
    }

    #[cold]
    fn skip_comments(&mut self) {
        while self.at_aside() && self.skip_comment() {
            self.at = self.behind_blanks(self.at);
        }
    }

    /// Reads a name that is a whole operand, that is, followed by a comma or semicolon; `comma` requires a comma before
    /// it. The cursor moves to the byte after the name, or stays if no such name follows.
    #[inline]
    pub(crate) fn name_alone(&mut self, comma: bool) -> Option<&'a str> {
        let bytes = self.text.as_bytes();
        let mut start = self.behind_blanks(self.at);
        if comma {
            if bytes.get(start) != Some(&b',') {
                return None;
            }
            start = self.behind_blanks(start + 1);
        }
        let first = bytes.get(start)?;
        // `%`, `$` or `_` alone is not a name.
        if !is(*first, WORD_START) {
            return None;
        }
        let mut end = start + 1;
        while end < bytes.len() && is(bytes[end], WORD) {
            end += 1;
        }
        let alone = matches!(bytes.get(end), Some(b',' | b';'));
        if !alone || end == start + 1 && matches!(first, b'%' | b'$' | b'_') {
            return None;
        }
        self.at = end;
        Some(&self.text[start..end])
    }

    /// Passes a comment or a line marker, if one begins here; tells whether one does.
    #[cold]
    pub(crate) fn skip_comment(&mut self) -> bool {
        let rest = &self.text.as_bytes()[self.at..];
        if rest.first() == Some(&b'#') {
            let length = marker_length(rest);
            self.at += length.unwrap_or(0);
            return length.is_some();
        }
        match rest.get(1) {
            Some(b'/') => self.skip_line(),
            Some(b'*') => match memchr::memmem::find(&rest[2..], b"*/") {
                Some(end) => self.at += end + 4,
                None => {
                    self.unterminated.get_or_insert(self.at);
                    self.at = self.text.len();
                }
            },
            _ => return false,
        }
        true
    }

    /// Goes to the end of the line.
    pub(crate) fn skip_line(&mut self) {
        let rest = &self.text.as_bytes()[self.at..];
        self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
    }

    /// Returns true if a name begins at the cursor; `%` or `$` alone is not a name.
    #[inline]
    pub(crate) fn at_word(&self) -> bool {
        let byte = self.peek();
        is(byte, WORD_START) && (!matches!(byte, b'%' | b'$') || is(self.peek_at(1), WORD))
    }

    /// Returns true if the name at the cursor has one byte.
    #[inline]
    pub(crate) fn is_word_of_one(&self) -> bool {
        !is(self.peek_at(1), WORD)
    }

    /// Reads a name: letters, digits, `_` and `$`, of which `%` may be the first. The cursor must be
    /// [at a word](Cursor::at_word).
    #[inline]
    pub(crate) fn word(&mut self) -> &'a str {
        self.take(1, |byte| is(byte, WORD))
    }

    /// Reads a name, unless it is `name`.
    #[inline]
    pub(crate) fn word_but(&mut self, name: &str) -> Option<&'a str> {
        let start = self.at;
        let word = self.at_word().then(|| self.word())?;
        if word == name {
            self.at = start;
            return None;
        }
        Some(word)
    }

    /// Reads a name and all that follows it without blanks as modifiers do: `name.part.part`.
    #[inline]
    pub(crate) fn dotted_word(&mut self) -> &'a str {
        let start = self.at;
        loop {
            self.at = dotted_end(self.text.as_bytes(), self.at + 1);
            let next = self.peek();
            if next == b'[' && self.skip_number_in_brackets() {
                if self.peek() == b'.' {
                    continue;
                }
            } else if next == b':' && self.peek_at(1) == b':' && is(self.peek_at(2), WORD) {
                // `.shared::cta` is one modifier.
                self.at += 1;
                continue;
            }
            return &self.text[start..self.at];
        }
    }

    /// Passes a number in brackets that belongs to the modifier before it, as in `.const[2].u32`. It is an operand if a comma or the end
    /// of the statement follows.
    #[cold]
    fn skip_number_in_brackets(&mut self) -> bool {
        let rest = &self.text.as_bytes()[self.at + 1..];
        let digits = rest.iter().take_while(|byte| is(**byte, DIGIT)).count();
        let end = self.at + digits + 2;
        let behind = self.text.as_bytes().get(self.behind_blanks(end));
        let found = digits > 0 && rest.get(digits) == Some(&b']') && !matches!(behind, None | Some(b',' | b';' | b'}'));
        if found {
            self.at = end;
        }
        found
    }

    /// Returns true if a dot and a name or number follow immediately: a modifier such as `.2d`.
    pub(crate) fn at_modifier(&self) -> bool {
        self.peek() == b'.' && is(self.peek_at(1), WORD)
    }

    /// Returns true if a number that begins with a dot follows: `.5` or `.5e3`, but not `.2d`.
    pub(crate) fn at_float(&self) -> bool {
        let behind = self.text.as_bytes()[self.at..].iter().skip(1);
        let digits = behind.take_while(|byte| is(**byte, DIGIT)).count();
        let next = self.peek_at(1 + digits);
        self.peek() == b'.' && digits > 0 && (!is(next, WORD) || matches!(next, b'e' | b'E'))
    }

    /// Returns true if a dot and a name follow: a modifier, a selector, an element or a directive.
    pub(crate) fn at_dot_word(&self) -> bool {
        self.peek() == b'.' && is(self.peek_at(1), WORD) && !is(self.peek_at(1), DIGIT)
    }

    /// Reads a dot and a name of several parts, `.name::part` or `.name[2]`, without the dot.
    pub(crate) fn dot_word(&mut self) -> &'a str {
        self.at += 1;
        let start = self.at;
        loop {
            self.word_part();
            if self.peek() == b'[' {
                self.skip_number_in_brackets();
            }
            if self.peek() != b':' || self.peek_at(1) != b':' || !is(self.peek_at(2), WORD) {
                return &self.text[start..self.at];
            }
            self.at += 2;
        }
    }

    /// Reads letters, digits, `_` and `$`; possibly none.
    pub(crate) fn word_part(&mut self) -> &'a str {
        self.take(0, |byte| is(byte, WORD))
    }

    /// Reads a decimal integer that is a whole operand, the most frequent constant; otherwise the cursor stays.
    #[inline]
    pub(crate) fn decimal_alone(&mut self) -> Option<u64> {
        // This number of digits always fits.
        const MOST: usize = 18;
        let rest = &self.text.as_bytes()[self.at..];
        let mut value = 0;
        let mut length = 0;
        while length < rest.len().min(MOST) && is(rest[length], DIGIT) {
            value = value * 10 + u64::from(rest[length] - b'0');
            length += 1;
        }
        let ends = matches!(rest.get(length), Some(b',' | b';' | b']' | b'}'));
        // Behind a zero digits are octal.
        if length == 0 || !ends || rest[0] == b'0' && length > 1 {
            return None;
        }
        self.at += length;
        Some(value)
    }

    pub(crate) fn at_digit(&self) -> bool {
        is(self.peek(), DIGIT)
    }

    #[inline]
    fn take(&mut self, least: usize, more: impl Fn(u8) -> bool) -> &'a str {
        let start = self.at;
        let bytes = self.text.as_bytes();
        let mut end = start + least;
        while end < bytes.len() && more(bytes[end]) {
            end += 1;
        }
        self.at = end;
        &self.text[start..end]
    }

    /// Passes bytes that mean nothing to whoever skips a statement: all but `;`, braces, quotes, slashes, line ends.
    #[inline]
    pub(crate) fn skip_to_stop(&mut self) {
        let bytes = self.text.as_bytes();
        while self.at < bytes.len() && !is(bytes[self.at], STOP) {
            self.at += 1;
        }
    }

    /// Goes to the next byte that is wanted, strings and comments passed; `None` at the end of the text.
    pub(crate) fn find(&mut self, wanted: impl Fn(u8) -> bool) -> Option<u8> {
        loop {
            self.skip_blanks();
            match self.peek() {
                _ if self.at_end() => return None,
                byte if wanted(byte) => return Some(byte),
                b'"' => _ = self.skip_string(),
                _ => self.bump(),
            }
        }
    }

    /// Passes a string with its quotes, or all of the text if it has no end. Tells whether it has one.
    pub(crate) fn skip_string(&mut self) -> bool {
        let length = string_length(&self.text.as_bytes()[self.at..]);
        self.at = length.map_or(self.text.len(), |length| self.at + length);
        length.is_some()
    }

    /// Passes one character, whatever it is.
    pub(crate) fn bump(&mut self) {
        self.at += self.text[self.at..].chars().next().map_or(0, char::len_utf8);
    }

    /// The token here: a word, a number, or a single character; empty at the end. The cursor stays.
    pub(crate) fn token(&self) -> Range<usize> {
        let mut end = *self;
        if self.at_word() {
            end.word();
        } else if self.at_digit() || self.at_dot_word() {
            end.take(1, |byte| is(byte, WORD));
        } else {
            end.bump();
        }
        self.at..end.at
    }
}

/// Returns the first position from `at` on that has neither a word byte nor a dot. Eight bytes are tested at a time:
/// dotted words are long, and the exit of a loop over single bytes is hard to predict.
#[inline]
fn dotted_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(eight) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        let ends = !dotted(u64::from_le_bytes(*eight)) & each(0x80);
        if ends != 0 {
            return at + ends.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    while at < bytes.len() && (is(bytes[at], WORD) || bytes[at] == b'.') {
        at += 1;
    }
    at
}

/// Eight times the same byte.
const fn each(byte: u8) -> u64 {
    byte as u64 * 0x0101_0101_0101_0101
}

/// The highest bit of each byte that may be part of a word, or is a dot.
#[inline]
fn dotted(bytes: u64) -> u64 {
    // No sum of a byte goes over into the next.
    let ascii = bytes & each(0x7f);
    let between = |bytes: u64, first: u8, last: u8| (bytes + each(0x80 - first)) & !(bytes + each(0x7f - last));
    let is = |byte: u8| !((ascii ^ each(byte)) + each(0x7f));
    let letters = between(ascii | each(0x20), b'a', b'z');
    (letters | between(ascii, b'0', b'9') | is(b'_') | is(b'$') | is(b'.')) & !bytes
}

/// Returns true if a text contains a directive, given with its dot. Comments, strings and modifiers are ignored.
pub(crate) fn has_directive(text: &str, directive: &str) -> bool {
    // Most texts that do not have it do not have its letters.
    if memchr::memmem::find(text.as_bytes(), directive.as_bytes()).is_none() {
        return false;
    }
    let mut cursor = Cursor::new(text);
    loop {
        cursor.skip_blanks();
        if cursor.at_end() {
            return false;
        }
        if cursor.at_word() {
            cursor.dotted_word();
        } else if cursor.at_dot_word() {
            if cursor.dot_word() == &directive[1..] {
                return true;
            }
        } else if cursor.peek() != b'"' || !cursor.skip_string() {
            cursor.bump();
        }
    }
}

/// The bytes of `text` that `part`, a piece of it, takes.
pub(crate) fn span_of(text: &str, part: &str) -> Range<usize> {
    let start = part.as_ptr() as usize - text.as_ptr() as usize;
    start..start + part.len()
}

#[cfg(test)]
mod tests {
    use super::{Cursor, WORD, dotted_end, has_directive, is};

    #[test]
    fn the_end_of_a_dotted_word_is_found_in_eight_bytes_as_in_one() {
        for byte in 0..=u8::MAX {
            let text = [b'a', b'_', b'9', byte, b'$', b'Z', b'.', b' ', b' ', b' ', b' ', b' '];
            let part = is(byte, WORD) || byte == b'.';
            assert_eq!(dotted_end(&text, 0), if part { 7 } else { 3 }, "{byte:#x}");
            assert_eq!(dotted_end(&text[..5], 0), if part { 5 } else { 3 }, "{byte:#x}");
        }
    }

    #[test]
    fn a_percent_sign_begins_a_name_only_before_a_letter_or_digit() {
        assert!(Cursor::new("%3").at_word());
        assert!(!Cursor::new("% 3").at_word());
        let mut cursor = Cursor::new("a%b");
        assert_eq!((cursor.word(), cursor.word()), ("a", "%b"));
    }

    #[test]
    fn blanks_are_spaces_tabs_line_ends_form_feeds_and_comments() {
        let mut cursor = Cursor::new(" \t\r\n\x0c// x\n/* y /* */z");
        cursor.skip_blanks();
        assert_eq!(cursor.word(), "z");
        let mut cursor = Cursor::new("/* a *//**/ /* b */,/**/z");
        cursor.skip_blanks();
        assert!(cursor.eat(b','));
        cursor.skip_blanks();
        assert_eq!(cursor.word(), "z");
        let mut cursor = Cursor::new("\x0bz");
        cursor.skip_blanks();
        assert_eq!(cursor.at(), 0);
    }

    #[test]
    fn a_comment_without_an_end_is_remembered() {
        let mut cursor = Cursor::new("  /* x");
        cursor.skip_blanks();
        assert_eq!((cursor.unterminated, cursor.at_end()), (Some(2), true));
    }

    #[test]
    fn a_modifier_may_have_several_words() {
        let mut cursor = Cursor::new(".L2::128B.x:");
        assert_eq!((cursor.dot_word(), cursor.dot_word(), cursor.peek()), ("L2::128B", "x", b':'));
    }

    #[test]
    fn a_number_in_brackets_belongs_to_a_modifier_unless_the_operand_ends() {
        assert_eq!(Cursor::new("ld.const[10].u32 d").dotted_word(), "ld.const[10].u32");
        assert_eq!(Cursor::new("ld.const[1] .u32 d").dotted_word(), "ld.const[1]");
        assert_eq!(Cursor::new(".const[2] .b32 a[]").dot_word(), "const[2]");
        assert_eq!(Cursor::new("ld.b32.const[1] d").dotted_word(), "ld.b32.const[1]");
        for text in
            ["ld.local[16], d", "ld.local[16] ;", "ld.local[], d", "ld.local[1 ].u32", "ld.local[1", "ld.local[a].u32"]
        {
            assert_eq!(Cursor::new(text).dotted_word(), "ld.local", "{text}");
        }
    }

    #[test]
    fn a_directive_is_no_comment_string_or_modifier() {
        for text in [".reg .u32 a;", "f (.reg .u32 a)", "x;.reg", "/* .x */ .reg", "\"\" .reg"] {
            assert!(has_directive(text, ".reg"), "{text}");
        }
        for text in ["// .reg", "/* .reg */", "\".reg\"", "set.reg a;", ".regs", ".x::reg", "reg", "\"", "."] {
            assert!(!has_directive(text, ".reg"), "{text}");
        }
    }

    #[test]
    fn a_string_ends_at_the_next_quote() {
        let mut cursor = Cursor::new(r#""a\"b" c"#);
        assert!(cursor.skip_string());
        assert_eq!(cursor.at(), 4);
        assert!(!Cursor::new(r#""a\"#).skip_string());
    }
}
