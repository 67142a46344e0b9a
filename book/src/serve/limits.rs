//! Limits on the number and the duration of connections to `book serve`.

use axum::serve::Listener;
use std::collections::HashMap;
use std::future::Future;
use std::io::{self, ErrorKind, IoSlice};
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, Sleep, sleep};

/// Maximum number of open connections. A browser opens six, and each may hold one page in memory.
pub const MOST: usize = 64;
/// Maximum number of them from one address.
const MOST_OF_ONE: usize = MOST / 4;
/// Time to send a request, and to take in a part of the answer.
pub const PATIENCE: Duration = Duration::from_secs(15);
/// Time of a connection with all of its requests, in times to send one.
const LIFE: u32 = 4;

/// A listener that closes connections above [`MOST`] and [`MOST_OF_ONE`], and slow and old ones.
pub struct Limited {
    listener: TcpListener,
    patience: Duration,
    /// Each connection has a clone.
    open: Arc<()>,
    /// Each connection from an address has a clone.
    from: HashMap<IpAddr, Arc<()>>,
}

impl Limited {
    pub fn new(listener: TcpListener, patience: Duration) -> Self {
        let open = Arc::new(());
        Self {
            listener,
            patience,
            open,
            from: HashMap::new(),
        }
    }

    /// Counts one more connection from an address; none if it has too many.
    fn one_more(&mut self, address: IpAddr) -> Option<[Arc<()>; 2]> {
        self.from.retain(|_, open| Arc::strong_count(open) > 1);
        let open = self.from.entry(address).or_default();
        let is_free =
            Arc::strong_count(&self.open) <= MOST && Arc::strong_count(open) <= MOST_OF_ONE;
        is_free.then(|| [Arc::clone(&self.open), Arc::clone(open)])
    }
}

impl Listener for Limited {
    type Io = Connection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection, SocketAddr) {
        loop {
            let (stream, address) = Listener::accept(&mut self.listener).await;
            if let Some(open) = self.one_more(address.ip()) {
                let connection = Connection {
                    stream,
                    patience: self.patience,
                    end: Instant::now() + LIFE * self.patience,
                    deadline: Box::pin(sleep(self.patience)),
                    _open: open,
                };
                return (connection, address);
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that fails when the client has sent no whole request, or taken in nothing of an answer, for a time, and when
/// it waits for either after its end.
pub struct Connection {
    stream: TcpStream,
    patience: Duration,
    end: Instant,
    /// Moved by what is written only: a request that arrives byte by byte also has to end.
    deadline: Pin<Box<Sleep>>,
    _open: [Arc<()>; 2],
}

impl Connection {
    /// The result of a read or write, or an error if it waits past the deadline.
    fn in_time<T>(&mut self, done: Poll<io::Result<T>>, cx: &mut Context) -> Poll<io::Result<T>> {
        if done.is_ready() {
            return done;
        }
        ready!(self.deadline.as_mut().poll(cx));
        Poll::Ready(Err(ErrorKind::TimedOut.into()))
    }

    fn written(
        &mut self,
        done: Poll<io::Result<usize>>,
        cx: &mut Context,
    ) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(1..)) = done {
            let deadline = self.end.min(Instant::now() + self.patience);
            self.deadline.as_mut().reset(deadline);
        }
        self.in_time(done, cx)
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context,
        buffer: &mut ReadBuf,
    ) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.stream).poll_read(cx, buffer);
        self.in_time(done, cx)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.written(done, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context,
        parts: &[IoSlice],
    ) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.written(done, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
