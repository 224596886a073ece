//! A page without what HTML lets a page leave out: end tags of cells and items, and empty lines.

/// End tags that a parser adds by itself, since what follows them ends the element, too.
const IMPLIED: [&str; 8] = ["</td>", "</th>", "</tr>", "</thead>", "</tbody>", "</li>", "</dt>", "</dd>"];

/// The same page with fewer bytes.
pub(super) fn compact(page: &str) -> String {
    let mut text = String::with_capacity(page.len());
    let mut rest = page;
    while let Some((prose, code)) = rest.split_once("<pre") {
        shorten(prose, &mut text);
        let end = code.find("</pre>").unwrap_or(code.len());
        text += "<pre";
        text += &code[..end];
        rest = &code[end..];
    }
    shorten(rest, &mut text);
    text
}

/// A style sheet or script without the lines that are comments.
pub(super) fn without_comments(text: &str) -> String {
    let is_comment = |line: &str| {
        line.starts_with("//") || line.starts_with("/*") && line.find("*/").is_some_and(|end| end + 2 == line.len())
    };
    text.split_inclusive('\n').filter(|line| !is_comment(line.trim())).collect()
}

fn shorten(prose: &str, text: &mut String) {
    let mut pieces = prose.split("</");
    let mut shorter = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let end = piece.find('>').map_or(piece.len(), |end| end + 1);
        let is_implied = |tag: &&str| tag.strip_prefix("</") == Some(&piece[..end]);
        if IMPLIED.iter().any(is_implied) {
            shorter += &piece[end..];
        } else {
            shorter += "</";
            shorter += piece;
        }
    }
    let mut was_line = false;
    for letter in shorter.chars() {
        let is_line = letter == '\n';
        if !(is_line && was_line) {
            text.push(letter);
        }
        was_line = is_line;
    }
}
