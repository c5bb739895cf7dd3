//! A network for tests whose open connections vanish, as those of a machine without power do:
//! neither end is told.
//!
//! Invariants: what is sent on a connection that has vanished is taken and lost, and nothing arrives
//! any more, not even the end of the other side; connections that are opened afterwards are whole.

use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{Io, Listener, Network};

/// A network whose open connections vanish when they are told to.
pub struct VanishingNetwork {
    below: Arc<dyn Network>,
    open: Arc<Connections>,
}

/// Whether each connection has vanished.
type Connections = Mutex<Vec<Arc<AtomicBool>>>;

impl VanishingNetwork {
    /// The connections of another network.
    #[must_use]
    pub fn over(below: Arc<dyn Network>) -> Self {
        Self { below, open: Arc::default() }
    }

    /// Lets every connection vanish that is open now, at both ends.
    pub fn vanish(&self) {
        self.open.lock().drain(..).for_each(|connection| connection.store(true, Ordering::SeqCst));
    }
}

impl fmt::Debug for VanishingNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VanishingNetwork").field("below", &self.below).finish_non_exhaustive()
    }
}

#[async_trait]
impl Network for VanishingNetwork {
    async fn listen(&self, address: &str) -> io::Result<Box<dyn Listener>> {
        let below = self.below.listen(address).await?;
        Ok(Box::new(VanishingListener { below, open: self.open.clone() }))
    }

    async fn connect(&self, address: &str) -> io::Result<Box<dyn Io>> {
        Ok(wrap(&self.open, self.below.connect(address).await?))
    }
}

struct VanishingListener {
    below: Box<dyn Listener>,
    open: Arc<Connections>,
}

#[async_trait]
impl Listener for VanishingListener {
    async fn accept(&self) -> io::Result<(Box<dyn Io>, String)> {
        let (below, peer) = self.below.accept().await?;
        Ok((wrap(&self.open, below), peer))
    }

    fn address(&self) -> String {
        self.below.address()
    }
}

fn wrap(open: &Connections, below: Box<dyn Io>) -> Box<dyn Io> {
    let has_vanished = Arc::<AtomicBool>::default();
    open.lock().push(has_vanished.clone());
    Box::new(VanishingIo { below, has_vanished })
}

struct VanishingIo {
    below: Box<dyn Io>,
    has_vanished: Arc<AtomicBool>,
}

impl VanishingIo {
    fn below(&mut self) -> Option<Pin<&mut Box<dyn Io>>> {
        (!self.has_vanished.load(Ordering::SeqCst)).then(|| Pin::new(&mut self.below))
    }
}

impl AsyncRead for VanishingIo {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.below() {
            Some(below) => below.poll_read(context, buffer),
            None => Poll::Pending,
        }
    }
}

impl AsyncWrite for VanishingIo {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.below() {
            Some(below) => below.poll_write(context, bytes),
            None => Poll::Ready(Ok(bytes.len())),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.below() {
            Some(below) => below.poll_flush(context),
            None => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.below() {
            Some(below) => below.poll_shutdown(context),
            None => Poll::Ready(Ok(())),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::SystemEnv;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::time::timeout;

    #[tokio::test]
    async fn nothing_passes_and_nobody_is_told() {
        let network = VanishingNetwork::over(Arc::new(SystemEnv));
        let listener = SystemEnv.listen("127.0.0.1:0").await.unwrap();
        let address = listener.address();
        let open = async || {
            let (here, there) = tokio::join!(network.connect(&address), listener.accept());
            (here.unwrap(), there.unwrap().0)
        };
        let (mut here, mut there) = open().await;
        let mut byte = [0; 1];
        here.write_all(b"a").await.unwrap();
        there.read_exact(&mut byte).await.unwrap();
        network.vanish();
        here.write_all(b"b").await.unwrap();
        here.shutdown().await.unwrap();
        there.write_all(b"c").await.unwrap();
        let short = Duration::from_millis(100);
        assert!(timeout(short, here.read(&mut byte)).await.is_err());
        assert!(timeout(short, there.read(&mut byte)).await.is_err());
        let (mut here, mut there) = open().await;
        here.write_all(b"d").await.unwrap();
        there.read_exact(&mut byte).await.unwrap();
        assert_eq!(&byte, b"d");
    }
}
