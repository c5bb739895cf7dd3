//! HTTP/2 frames written by hand: those that no library would send, and the server's answers.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use super::{ATTEMPTS, Castle, PATIENCE, SECRET, Stream, Subject, TREASURE};

/// What every client begins with, and a SETTINGS frame that changes nothing (RFC 9113, section
/// 3.4).
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// Bytes of a frame that every server takes.
pub(super) const FRAME_BYTES: usize = 16_384;

const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const RESET: u8 = 3;
const GOAWAY: u8 = 7;
pub(super) const CONTINUATION: u8 = 9;
pub(super) const END_STREAM: u8 = 1;
pub(super) const END_HEADERS: u8 = 4;

/// A frame (RFC 9113, section 4.1).
pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = length[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// A text with its length in front (RFC 7541, section 5).
pub(super) fn put(block: &mut Vec<u8>, text: &str) {
    let mut length = text.len();
    if length < 127 {
        block.push(u8::try_from(length).unwrap());
    } else {
        block.push(127);
        length -= 127;
        while length >= 128 {
            block.push(u8::try_from(length % 128).unwrap() | 128);
            length /= 128;
        }
        block.push(u8::try_from(length).unwrap());
    }
    block.extend(text.as_bytes());
}

/// A header block: every field is written out, and none is remembered (RFC 7541, section 6.2.2).
pub(super) fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        put(&mut block, name);
        put(&mut block, value);
    }
    block
}

/// A request without a body, in as many frames as its header block needs.
pub(super) fn request(stream: u32, block: &[u8]) -> Vec<u8> {
    let mut frames = Vec::new();
    let (mut kind, mut flags) = (HEADERS, END_STREAM);
    let mut chunks = block.chunks(FRAME_BYTES).peekable();
    while let Some(chunk) = chunks.next() {
        let end = if chunks.peek().is_none() { END_HEADERS } else { 0 };
        frames.extend(frame(kind, flags | end, stream, chunk));
        (kind, flags) = (CONTINUATION, 0);
    }
    frames
}

/// The fields of a GET.
pub(super) fn get(path: &str) -> Vec<(&str, &str)> {
    vec![(":method", "GET"), (":scheme", "https"), (":authority", "localhost"), (":path", path)]
}

/// Kind, flags and payload of the next frame; `None` when the server has closed the connection.
async fn next(stream: &mut Stream) -> Option<(u8, u8, Vec<u8>)> {
    let mut head = [0; 9];
    stream.read_exact(&mut head).await.ok()?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    let mut payload = vec![0; usize::try_from(length).unwrap()];
    stream.read_exact(&mut payload).await.ok()?;
    Some((head[3], head[4], payload))
}

/// The code that the fields of an answer begin with: some have numbers of their own (RFC 7541,
/// appendix A), of the others the digits are spelled out.
fn code_of(block: &[u8]) -> u16 {
    match block {
        [at @ 0x88..=0x8e, ..] => [200, 204, 206, 304, 400, 404, 500][usize::from(*at) - 0x88],
        [0x08 | 0x18 | 0x48, 0x82 | 0x83, digits @ ..] => three_digits(digits),
        _ => panic!("no code: {block:?}"),
    }
}

/// Three digits by their bits (RFC 7541, appendix B).
fn three_digits(text: &[u8]) -> u16 {
    let mut bits =
        text.iter().flat_map(|byte| (0..8_u32).rev().map(move |at| u16::from((*byte >> at) & 1)));
    let mut take =
        |count: usize| bits.by_ref().take(count).fold(0_u16, |value, bit| value * 2 + bit);
    let mut number = 0;
    for _ in 0..3 {
        let short = take(5);
        // 0, 1 and 2 have five bits; the others have six, and 3 has those of 25.
        let digit = if short < 3 { short } else { short * 2 + take(1) - 22 };
        number = number * 10 + digit;
    }
    number
}

#[test]
fn codes_are_read() {
    assert_eq!(code_of(&[0x88]), 200);
    assert_eq!(code_of(&[0x8d, 0x5f]), 404);
    assert_eq!(code_of(&[0x48, 0x82, 0x68, 0x01]), 401);
    assert_eq!(code_of(&[0x48, 0x83, 0x68, 0x0c, 0xff]), 403);
}

/// Reads to the end of the only answer; gives its code, 0 for no answer.
async fn heard(stream: &mut Stream) -> u16 {
    let mut code = 0;
    let mut body: Vec<u8> = Vec::new();
    while let Some((kind, flags, payload)) = next(stream).await {
        match kind {
            HEADERS if code == 0 => code = code_of(&payload),
            DATA => body.extend(payload),
            RESET | GOAWAY => break,
            _ => {}
        }
        if matches!(kind, DATA | HEADERS) && flags & END_STREAM != 0 {
            break;
        }
    }
    let body = String::from_utf8_lossy(&body);
    assert!(code == 200 || !body.contains(TREASURE), "{body}");
    code
}

impl Castle {
    /// A connection that has begun to speak HTTP/2.
    async fn opened(&self, subject: Subject) -> Option<Stream> {
        let mut config = self.config(subject);
        config.alpn_protocols = vec![b"h2".to_vec()];
        let mut stream = self.connect(config).await?;
        stream.write_all(PREFACE).await.ok()?;
        Some(stream)
    }

    async fn send_once(&self, subject: Subject, frames: &[u8]) -> u16 {
        let attempt = async {
            let Some(mut stream) = self.opened(subject).await else {
                return 0;
            };
            // The server may hang up while the frames are still on their way.
            let _ = stream.write_all(frames).await;
            let _ = stream.flush().await;
            heard(&mut stream).await
        };
        timeout(PATIENCE, attempt).await.expect("an attempt ends")
    }

    /// Sends these frames on a connection of their own; a client that gets no answer tries again,
    /// as over HTTP/1.1.
    pub(super) async fn send(&self, subject: Subject, frames: &[u8]) -> u16 {
        for _ in 1..ATTEMPTS {
            let code = self.send_once(subject.clone(), frames).await;
            if code != 0 {
                return code;
            }
        }
        self.send_once(subject, frames).await
    }

    pub(super) async fn ask(&self, subject: Subject, fields: &[(&str, &str)]) -> u16 {
        self.send(subject, &request(1, &block(fields))).await
    }

    pub(super) fn admin(&self) -> Subject {
        Some(self.authority.issue("admin", Some("system:masters")))
    }

    /// Says that these frames are understood, and that who may is served.
    pub(super) async fn serves(&self) {
        assert_eq!(self.ask(self.admin(), &get(SECRET)).await, 200, "who may gets in");
        assert_eq!(
            self.get(self.admin(), "/api/v1/namespaces", &[]).await,
            200,
            "over HTTP/1.1 as well"
        );
    }

    /// Sends frames until there are no more or the server hangs up.
    pub(super) async fn flood(&self, subject: Subject, frames: impl Iterator<Item = Vec<u8>>) {
        let attempt = async {
            // So many frames at once may make the server too slow for its own limits, which is
            // refusal enough.
            let Some(stream) = self.opened(subject).await else {
                return;
            };
            let (mut reader, mut writer) = tokio::io::split(stream);
            let flood = async {
                for bytes in frames {
                    if writer.write_all(&bytes).await.is_err() {
                        return;
                    }
                }
            };
            let mut answer = Vec::new();
            tokio::select! {
                () = flood => {}
                _ = reader.read_to_end(&mut answer) => {}
            }
        };
        timeout(PATIENCE, attempt).await.expect("the server hangs up");
    }

    /// Sends frames and nothing more, and stays until the server hangs up.
    pub(super) async fn squat(&self, subject: Subject, frames: &[u8]) {
        let attempt = async {
            let Some(mut stream) = self.opened(subject).await else {
                return;
            };
            let _ = stream.write_all(frames).await;
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer).await;
            assert!(!String::from_utf8_lossy(&answer).contains(TREASURE));
        };
        timeout(PATIENCE, attempt).await.expect("the server hangs up");
    }
}
