//! HTTP/2 by hand: frames that no library would send, and what comes back.

use std::sync::Arc;

use quorate_store::env::{Io, SystemEnv};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::{ATTEMPTS, Castle, PATIENCE, SECRET, Subject, TREASURE};

/// What every client begins with, and a SETTINGS frame that changes nothing (RFC 9113, section 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// Bytes of a frame that every server takes.
pub(super) const FRAME_BYTES: usize = 16_384;

const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
pub(super) const RESET: u8 = 3;
const GOAWAY: u8 = 7;
pub(super) const CONTINUATION: u8 = 9;
pub(super) const END_STREAM: u8 = 1;
pub(super) const END_HEADERS: u8 = 4;

type Stream = TlsStream<Box<dyn Io>>;

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

/// Kind, flags and payload of the next frame; `None` when the server has hung up.
async fn next(stream: &mut Stream) -> Option<(u8, u8, Vec<u8>)> {
    let mut head = [0; 9];
    stream.read_exact(&mut head).await.ok()?;
    let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
    let mut payload = vec![0; usize::try_from(length).unwrap()];
    stream.read_exact(&mut payload).await.ok()?;
    Some((head[3], head[4], payload))
}

/// Reads to the end of the only answer. 200 stands for all codes that let in, 400 for all others, 0 for no answer.
async fn heard(stream: &mut Stream) -> u16 {
    let mut code = 0;
    let mut body: Vec<u8> = Vec::new();
    while let Some((kind, flags, payload)) = next(stream).await {
        match kind {
            // The first field is the code; 200, 204, 206 and 304 have numbers (RFC 7541, appendix A), and nothing makes the
            // server answer with others that let in.
            HEADERS if code == 0 => code = if matches!(payload.first(), Some(0x88..=0x8b)) { 200 } else { 400 },
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
        let io = SystemEnv::env().network.connect(self.handle.address()).await.ok()?;
        let mut config = self.config(subject);
        config.alpn_protocols = vec![b"h2".to_vec()];
        let connector = TlsConnector::from(Arc::new(config));
        let mut stream = connector.connect(ServerName::try_from("localhost").unwrap(), io).await.ok()?;
        stream.write_all(PREFACE).await.ok()?;
        Some(stream)
    }

    async fn send_once(&self, subject: Subject, frames: &[u8]) -> u16 {
        let attempt = async {
            let Some(mut stream) = self.opened(subject).await else { return 0 };
            // The server may hang up while the frames are still on their way.
            let _ = stream.write_all(frames).await;
            let _ = stream.flush().await;
            heard(&mut stream).await
        };
        timeout(PATIENCE, attempt).await.expect("an attempt ends")
    }

    /// Sends these frames on a connection of their own; who gets no answer tries again, as over HTTP/1.1.
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
        assert_eq!(self.get(self.admin(), "/api/v1/namespaces", &[]).await, 200, "over HTTP/1.1 as well");
    }

    /// Sends frames until there are no more or the server hangs up.
    pub(super) async fn flood(&self, subject: Subject, frames: impl Iterator<Item = Vec<u8>>) {
        let attempt = async {
            // So many frames at once may make the server too slow for its own limits, which is refusal enough.
            let Some(stream) = self.opened(subject).await else { return };
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
            let Some(mut stream) = self.opened(subject).await else { return };
            let _ = stream.write_all(frames).await;
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer).await;
            assert!(!String::from_utf8_lossy(&answer).contains(TREASURE));
        };
        timeout(PATIENCE, attempt).await.expect("the server hangs up");
    }
}
