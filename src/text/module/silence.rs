//! Comments that silence findings: `// ptx-isa: ignore CODE`.

use alloc::format;
use alloc::vec::Vec;
use core::ops::Range;

use super::{Item, Proceed, Report, Visitor};
use crate::diagnostic::{Code, Diagnostic};

/// Start of the comment, after its slashes.
const MARK: &[u8] = b"ptx-isa:";

/// The word before the codes.
const IGNORE: &[u8] = b"ignore";

/// A code that a comment silences.
struct Silence {
    /// `None` for a word that is not a code.
    code: Option<Code>,
    /// The word that names it; empty where there is none.
    word: Range<usize>,
    /// The line that it is about.
    line: Range<usize>,
    used: bool,
}

/// Reads something for a visitor, without the findings that comments of the source silence.
pub(super) fn silenced<'a>(
    source: &[u8],
    visitor: &mut dyn Visitor<'a>,
    read: impl FnOnce(&mut dyn Visitor<'a>) -> Report,
) -> Report {
    let silences = silences(source);
    if silences.is_empty() {
        return read(visitor);
    }
    let mut silencing = Silencing { source, silences, visitor, stopped: false };
    let report = read(&mut silencing);
    silencing.end();
    report
}

/// Finds the codes that comments silence, in the order of the text.
fn silences(source: &[u8]) -> Vec<Silence> {
    let mut silences = Vec::new();
    for at in memchr::memmem::find_iter(source, MARK) {
        let start = memchr::memrchr(b'\n', &source[..at]).map_or(0, |end| end + 1);
        let end = memchr::memchr(b'\n', &source[at..]).map_or(source.len(), |length| at + length);
        let Some(before) = source[start..at].trim_ascii_end().strip_suffix(b"//") else { continue };
        let rest = &source[at + MARK.len()..end];
        let Some(mut list) = rest.trim_ascii_start().strip_prefix(IGNORE) else { continue };
        let line = match before.trim_ascii().is_empty() {
            false => start..end,
            true => {
                let next = (end + 1).min(source.len());
                next..memchr::memchr(b'\n', &source[next..]).map_or(source.len(), |length| next + length)
            }
        };
        loop {
            list = list.trim_ascii_start();
            let length = list.iter().take_while(|byte| byte.is_ascii_lowercase() || **byte == b'-').count();
            let word = end - list.len()..end - list.len() + length;
            let code = core::str::from_utf8(&list[..length]).ok().and_then(Code::from_name);
            silences.push(Silence { code, word, line: line.clone(), used: false });
            match list[length..].trim_ascii_start().strip_prefix(b",") {
                Some(rest) => list = rest,
                None => break,
            }
        }
    }
    silences
}

/// Hands on what is not silenced.
struct Silencing<'v, 'a> {
    source: &'v [u8],
    silences: Vec<Silence>,
    visitor: &'v mut dyn Visitor<'a>,
    stopped: bool,
}

impl Silencing<'_, '_> {
    fn silences(&mut self, finding: &Diagnostic) -> bool {
        let statement = finding.statement.as_ref().map(|statement| statement.start);
        let places = [Some(finding.span.start), statement];
        let is_there = |line: &Range<usize>| places.iter().flatten().any(|at| line.start <= *at && *at <= line.end);
        let mut own = self.silences.iter_mut().filter(|it| it.code == Some(finding.code) && is_there(&it.line));
        own.next().map(|silence| silence.used = true).is_some()
    }

    /// Reports what silences nothing.
    fn end(mut self) {
        for Silence { code, word, used, .. } in &self.silences {
            if self.stopped || *used {
                continue;
            }
            let name = core::str::from_utf8(&self.source[word.clone()]).unwrap_or_default();
            let message = match code {
                Some(code) => format!("there is no finding `{code}` here"),
                None if name.is_empty() => "`ptx-isa: ignore` is followed by the code of a finding".into(),
                None => format!("`{name}` is not the code of a finding"),
            };
            let mut finding = Diagnostic::warning(Code::UnusedIgnore, word.clone(), message);
            if code.is_some() {
                finding = finding.with_help("remove the comment");
            } else if let Some(near) = Code::nearest(name) {
                finding = finding.with_help(format!("did you mean `{near}`?")).with_fix(word.clone(), near.as_str());
            }
            self.stopped = self.visitor.finding(finding) == Proceed::Stop;
        }
    }
}

impl<'a> Visitor<'a> for Silencing<'_, 'a> {
    fn item(&mut self, item: Item<'_, 'a>, span: Range<usize>) {
        self.visitor.item(item, span);
    }

    fn finding(&mut self, finding: Diagnostic) -> Proceed {
        if self.silences(&finding) {
            return Proceed::Explain;
        }
        match self.visitor.finding(finding) {
            Proceed::Stop => {
                self.stopped = true;
                Proceed::Stop
            }
            // A finding that only counts may have another code.
            Proceed::Explain | Proceed::Count => Proceed::Explain,
        }
    }
}
