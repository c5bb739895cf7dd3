//! Quoted texts in paths, with the escapes of Go's string literals.

/// The text between two quotes; `None` when an escape is malformed.
pub(super) fn unquote(text: &str, quote: char) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c == quote {
            return None;
        }
        if c != '\\' {
            out.push(c);
            continue;
        }
        let c = rest.next()?;
        out.push(match c {
            'a' => '\u{7}',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            '\\' => '\\',
            'x' => code(&mut rest, 2)?,
            'u' => code(&mut rest, 4)?,
            'U' => code(&mut rest, 8)?,
            c if c == quote => quote,
            _ => return None,
        });
    }
    Some(out)
}

/// The character with so many hexadecimal digits.
fn code(rest: &mut std::str::Chars<'_>, digits: usize) -> Option<char> {
    let text = rest.as_str().get(..digits)?;
    rest.nth(digits - 1);
    text.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(())?;
    char::from_u32(u32::from_str_radix(text, 16).ok()?)
}
