//! Steps through JSON text.

/// The text from the first byte on that is no white space.
pub(super) fn value_at(text: &[u8]) -> &[u8] {
    let start = text
        .iter()
        .position(|byte| !matches!(byte, b' ' | b'\n' | b'\r' | b'\t'))
        .unwrap_or(text.len());
    &text[start..]
}

/// Length of the value that `text` begins with; `None` when it does not end.
fn value_len(text: &[u8]) -> Option<usize> {
    match text.first()? {
        b'"' => string_len(text),
        b'{' | b'[' => container_len(text),
        _ => Some(text.iter().position(|byte| is_end(*byte)).unwrap_or(text.len())),
    }
}

const fn is_end(byte: u8) -> bool {
    matches!(byte, b',' | b']' | b'}' | b':' | b' ' | b'\n' | b'\r' | b'\t')
}

/// Length of a text in quotes.
fn string_len(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        match text.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Length of a list or object, however deep.
fn container_len(text: &[u8]) -> Option<usize> {
    let (mut at, mut depth) = (0, 0_usize);
    loop {
        match text.get(at)? {
            b'"' => {
                at += string_len(text.get(at..)?)?;
                continue;
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        at += 1;
        if depth == 0 {
            return Some(at);
        }
    }
}

/// Texts of the elements of a list.
#[derive(Debug, Clone)]
pub(in crate::value) struct Items<'a> {
    rest: &'a [u8],
}

impl<'a> Items<'a> {
    pub(super) fn new(list: &'a [u8]) -> Self {
        Self { rest: list.get(1..).unwrap_or_default() }
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let (item, rest) = next_value(self.rest)?;
        self.rest = after(rest, b',');
        Some(item)
    }
}

/// Texts of the members of an object: names with their quotes, and values.
#[derive(Debug, Clone)]
pub(super) struct Members<'a> {
    rest: &'a [u8],
}

impl<'a> Members<'a> {
    pub(super) fn new(object: &'a [u8]) -> Self {
        Self { rest: object.get(1..).unwrap_or_default() }
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a [u8], &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let (name, rest) = next_value(self.rest)?;
        let (value, rest) = next_value(after(rest, b':'))?;
        self.rest = after(rest, b',');
        Some((name, value))
    }
}

/// The next value and what follows it; `None` at the end of a list or object.
fn next_value(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = value_at(text);
    let len = value_len(text)?;
    if len == 0 { None } else { text.split_at_checked(len) }
}

/// What follows a separator, when it is there.
fn after(text: &[u8], separator: u8) -> &[u8] {
    let text = value_at(text);
    match text.split_first() {
        Some((first, rest)) if *first == separator => rest,
        _ => text,
    }
}
