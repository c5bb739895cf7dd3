//! Tests of coalesced writes.

use futures::FutureExt;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::task::yield_now;

use super::super::cork::Cork;
use super::*;

/// Bytes that a [`Queue`] holds back.
const ROOM: usize = 50_000;

/// What TLS is to its socket: it takes what it has room for, and writes as much as it can at
/// once.
struct Queue {
    bytes: Vec<u8>,
    socket: Cork<DuplexStream>,
}

impl Queue {
    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.bytes.is_empty() {
            let sent = ready!(Pin::new(&mut self.socket).poll_write(cx, &self.bytes))?;
            self.bytes.drain(..sent);
        }
        Poll::Ready(Ok(()))
    }
}

impl Corked for Queue {
    fn cork(&mut self, in_place: bool) {
        self.socket.put(in_place);
    }
}

impl AsyncRead for Queue {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Queue {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[io::IoSlice::new(bytes)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let before = self.bytes.len();
        for slice in slices {
            let room = ROOM - self.bytes.len();
            self.bytes.extend_from_slice(&slice[..slice.len().min(room)]);
        }
        let taken = self.bytes.len() - before;
        match self.poll_send(cx) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending if taken == 0 => Poll::Pending,
            _ => Poll::Ready(Ok(taken)),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.poll_send(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_send(cx))?;
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}

fn coalesce(room: usize) -> (Coalesce<Queue>, DuplexStream) {
    let (near, far) = duplex(room);
    (Coalesce::new(Queue { bytes: Vec::new(), socket: Cork::new(near) }), far)
}

/// Bytes that the far end finds with one read, if any are there.
fn arrived(far: &mut DuplexStream) -> Option<Vec<u8>> {
    let mut buffer = vec![0; 4 * MOST];
    let read = far.read(&mut buffer).now_or_never()?.unwrap();
    buffer.truncate(read);
    Some(buffer)
}

/// Runs a connection to its end.
async fn drive(coalesce: &Coalesce<Queue>, connection: impl Future<Output = ()>) -> io::Result<()> {
    tokio::select! {
        biased;
        () = connection => Ok(()),
        error = coalesce.hand_on() => Err(error),
    }
}

#[tokio::test]
async fn what_is_written_goes_out_together_when_the_task_waits() {
    let check = async |sizes: &[usize]| {
        let (coalesce, mut far) = coalesce(4 * MOST);
        let mut writer = coalesce.clone();
        let expect: Vec<u8> =
            (1..).zip(sizes).flat_map(|(byte, size)| iter::repeat_n(byte, *size)).collect();
        let connection = async {
            for (byte, size) in (1..).zip(sizes) {
                writer.write_all(&vec![byte; *size]).await.unwrap();
                writer.flush().await.unwrap();
            }
            assert_eq!(arrived(&mut far), None, "{sizes:?}");
            yield_now().await;
            assert!(arrived(&mut far) == Some(expect), "{sizes:?}");
        };
        drive(&coalesce, connection).await.unwrap();
        assert_eq!(coalesce.0.lock().held.capacity(), 0);
    };
    check(&[9, 100]).await;
    check(&[9, LONG, 100]).await;
    check(&[LONG - 1, 16_384, 16_384, 9, LONG, 1]).await;
    check(&[ROOM]).await;
}

#[tokio::test]
async fn a_slow_peer_gets_everything_and_little_is_held() {
    let check = async |piece: usize| {
        let (coalesce, mut far) = coalesce(1000);
        let mut writer = coalesce.clone();
        let sent: Vec<u8> = (0..5 * MOST).map(|at| at as u8).collect();
        let connection = async {
            for piece in sent.chunks(piece) {
                writer.write_all(piece).await.unwrap();
            }
            writer.shutdown().await.unwrap();
        };
        let read = async {
            let (mut all, mut some) = (Vec::new(), [0; 700]);
            loop {
                let read = far.read(&mut some).await.unwrap();
                if read == 0 {
                    return all;
                }
                all.extend_from_slice(&some[..read]);
                let gathered = coalesce.0.lock();
                assert!(gathered.held.len() <= MOST && gathered.stream.bytes.len() <= ROOM);
            }
        };
        let (driven, read) = tokio::join!(drive(&coalesce, connection), read);
        driven.unwrap();
        assert!(read == sent, "in pieces of {piece}");
    };
    for piece in [700, LONG - 1, LONG, 16_384, 5 * MOST] {
        check(piece).await;
    }
}

#[tokio::test]
async fn a_peer_that_has_gone_ends_the_connection() {
    for size in [1, LONG] {
        let (coalesce, far) = coalesce(1000);
        let mut writer = coalesce.clone();
        drop(far);
        let connection = async {
            writer.write_all(&vec![0; size]).await.unwrap();
            std::future::pending::<()>().await;
        };
        let error = drive(&coalesce, connection).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}
