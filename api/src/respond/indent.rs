//! The indentation of JSON: line breaks and two spaces a level, from compact JSON in pieces.

use std::io;

use bytes::Bytes;
use futures::StreamExt;

use crate::body::{Body, Chunks};

/// What is known between two pieces.
#[derive(Debug, Default)]
pub struct Indenter {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// The last byte opened a list or object, of which nothing is known yet.
    opened: bool,
}

impl Indenter {
    /// Appends the indented form of the next piece. Space between tokens is left out.
    pub fn push(&mut self, json: &[u8], out: &mut Vec<u8>) {
        for &byte in json {
            if self.in_string {
                out.push(byte);
                self.in_string = self.escaped || byte != b'"';
                self.escaped = byte == b'\\' && !self.escaped;
            } else if !byte.is_ascii_whitespace() {
                self.token(byte, out);
            }
        }
    }

    fn token(&mut self, byte: u8, out: &mut Vec<u8>) {
        let opened = std::mem::take(&mut self.opened);
        match byte {
            b'}' | b']' if opened => {}
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                self.line(out);
            }
            _ if opened => {
                self.depth += 1;
                self.line(out);
            }
            _ => {}
        }
        out.push(byte);
        match byte {
            b'{' | b'[' => self.opened = true,
            b',' => self.line(out),
            b':' => out.push(b' '),
            b'"' => self.in_string = true,
            _ => {}
        }
    }

    fn line(&self, out: &mut Vec<u8>) {
        out.push(b'\n');
        out.resize(out.len() + 2 * self.depth, b' ');
    }
}

/// The same JSON, indented, with a line break at its end.
#[must_use]
pub fn whole(json: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(json.len() * 2);
    Indenter::default().push(json, &mut out);
    out.push(b'\n');
    out
}

/// A body of compact JSON, indented while it is sent.
#[must_use]
pub fn body(plain: Body) -> Body {
    let plain = match plain.into_full() {
        Ok(json) => return Body::full(whole(&json)),
        Err(body) => body.into_chunks(),
    };
    let mut indenter = Indenter::default();
    let indented = plain.map(move |piece| {
        let json = piece?;
        let mut out = Vec::with_capacity(json.len() * 2);
        indenter.push(&json, &mut out);
        Ok::<_, io::Error>(Bytes::from(out))
    });
    let end = futures::stream::iter([Ok(Bytes::from_static(b"\n"))]);
    let indented: Chunks = Box::pin(indented.chain(end));
    Body::stream(indented)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indentation() {
        const EXPECT: &str = r#"{
  "a": [],
  "b": {},
  "c": [
    1,
    {
      "d": "x, {}:\"y\\"
    }
  ]
}
"#;
        let json = br#"{"a":[ ],"b":{},"c":[1,{"d":"x, {}:\"y\\"}]}"#;
        assert_eq!(String::from_utf8_lossy(&whole(json)), EXPECT);
        assert_eq!(whole(b"[]\n"), b"[]\n");
        for at in 0..json.len() {
            let (mut indenter, mut out) = (Indenter::default(), Vec::new());
            for piece in [&json[..at], &json[at..]] {
                indenter.push(piece, &mut out);
            }
            assert_eq!(String::from_utf8_lossy(&out), EXPECT.trim_end(), "cut at {at}");
        }
    }
}
