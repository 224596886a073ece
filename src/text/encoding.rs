//! Bytes that are not UTF-8, which comments of older compilers hold: Latin-1 names of authors and paths.

use alloc::borrow::Cow;

use super::lexer::string_length;

/// Replaces each byte of a comment that is not UTF-8 by `?`, so that the text can be read and every position stays.
///
/// The assembler ignores such bytes. Outside of comments they are left: [`check`](super::check) refuses them there.
///
/// ```
/// let text = b"// M\xfcller\n.version 8.0";
/// assert_eq!(*ptx_isa::text::decode(text), *b"// M?ller\n.version 8.0");
/// ```
pub fn decode(source: &[u8]) -> Cow<'_, [u8]> {
    if core::str::from_utf8(source).is_ok() {
        return Cow::Borrowed(source);
    }
    let mut text = source.to_vec();
    let mut at = 0;
    while let Some(found) = memchr::memchr2(b'/', b'"', &text[at..]) {
        at += found;
        let rest = &text[at..];
        let length = match rest {
            [b'/', b'/', ..] => memchr::memchr(b'\n', rest),
            [b'/', b'*', ..] => memchr::memmem::find(&rest[2..], b"*/").map(|end| end + 4),
            [b'/', ..] => Some(1),
            _ => string_length(rest),
        };
        let end = length.map_or(text.len(), |length| at + length);
        if text[at] == b'/' {
            replace_invalid(&mut text[at..end]);
        }
        at = end;
    }
    Cow::Owned(text)
}

fn replace_invalid(bytes: &mut [u8]) {
    let mut from = 0;
    while let Err(error) = core::str::from_utf8(&bytes[from..]) {
        let start = from + error.valid_up_to();
        from = error.error_len().map_or(bytes.len(), |length| start + length);
        bytes[start..from].fill(b'?');
    }
}
