//! The text of a source file: comments and literals, told apart from code, and the tokens of the
//! code.

/// Names, `::`, and everything else character by character.
pub(super) fn tokens(code: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let part_of_name = |c: char| c.is_alphanumeric() || c == '_';
        let length = match first {
            c if part_of_name(c) => rest.find(|c| !part_of_name(c)).unwrap_or(rest.len()),
            ':' if rest.starts_with("::") => 2,
            c => c.len_utf8(),
        };
        tokens.push(rest[..length].to_owned());
        rest = rest[length..].trim_start();
    }
    tokens
}

/// The code, with blanks for comments and literals, and the comments.
pub(super) fn split(text: &str) -> (String, Vec<(usize, String)>) {
    let (mut code, mut comments, mut rest, mut line) = (String::new(), Vec::new(), text, 1);
    while let Some(first) = rest.chars().next() {
        let (length, is_comment) = if rest.starts_with("//") {
            (rest.find('\n').unwrap_or(rest.len()), true)
        } else if rest.starts_with("/*") {
            (block_comment(rest), true)
        } else {
            (literal(rest, code.chars().last()), false)
        };
        let length = match length {
            0 => {
                code.push(first);
                first.len_utf8()
            }
            length => {
                code.push(' ');
                length
            }
        };
        if is_comment {
            comments.push((line, rest[..length].to_owned()));
        }
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    (code, comments)
}

fn block_comment(text: &str) -> usize {
    let (mut open, mut at) = (0, 0);
    while at < text.len() {
        match &text.as_bytes()[at..] {
            [b'/', b'*', ..] => (open, at) = (open + 1, at + 2),
            [b'*', b'/', ..] => (open, at) = (open - 1, at + 2),
            _ => at += 1,
        }
        if open == 0 {
            return at;
        }
    }
    text.len()
}

/// The length of the literal that the text begins with; 0 when it is none. Names may end with what
/// begins a raw literal.
fn literal(text: &str, before: Option<char>) -> usize {
    let in_name = before.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let prefix = text
        .find(|c| !matches!(c, 'b' | 'c' | 'r'))
        .filter(|prefix| *prefix <= 2 && !in_name)
        .unwrap_or(0);
    let (body, is_raw) = (&text[prefix..], text[..prefix].contains('r'));
    let marks = if is_raw { body.len() - body.trim_start_matches('#').len() } else { 0 };
    if body[marks..].starts_with('"') {
        let quoted = &body[marks + 1..];
        let end = format!("\"{}", "#".repeat(marks));
        let length = if is_raw { quoted.find(&end) } else { unescaped(quoted, '"') };
        return length.map_or(text.len(), |length| prefix + marks + 1 + length + end.len());
    }
    if prefix <= 1 && !is_raw && body.starts_with('\'') {
        let mut chars = body[1..].chars();
        let is_char = match chars.next() {
            Some('\\') => true,
            Some(_) => chars.next() == Some('\''),
            None => false,
        };
        return if is_char {
            unescaped(&body[1..], '\'').map_or(0, |length| prefix + length + 2)
        } else {
            0
        };
    }
    0
}

/// Where a character stands that no backslash escapes.
fn unescaped(text: &str, wanted: char) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        if c == wanted && !escaped {
            return Some(at);
        }
        escaped = c == '\\' && !escaped;
    }
    None
}
