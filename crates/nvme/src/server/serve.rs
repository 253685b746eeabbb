//! The listening target, and the task of each connection.

use super::{connection::Connection, error::TargetError, handshake::Registration, subsystem::Subsystem};
use std::{future::Future, net::SocketAddr, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    sync::mpsc,
    task::JoinSet,
    time::{Instant, MissedTickBehavior},
};

/// How long connections may take to close when all is answered, or the time for that is over.
const CLOSING: Duration = Duration::from_secs(1);

/// How often a target looks at its namespaces and its log.
const LOOK: Duration = Duration::from_secs(5);

/// A listening target.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let target = Target::bind("127.0.0.1:0".parse()?, subsystem()?).await?;
/// let address = target.local_addr().to_string();
/// tokio::spawn(target.serve(std::future::pending()));
///
/// let host = Host { nqn: "nqn.2026-01.example:host".into(), id: [1; 16] };
/// let config = InitiatorConfig::new(address, SubsystemConfig::default().nqn, host);
/// let controller = Controller::connect(config).await?;
/// assert_eq!(controller.namespaces().await?, [1]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Target {
    listener: TcpListener,
    address: SocketAddr,
    subsystem: Arc<Subsystem>,
}

impl Target {
    /// Listens on `address`; port 0 takes any.
    ///
    /// # Errors
    /// [`TargetError::Listen`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let first = Target::bind("127.0.0.1:0".parse()?, subsystem()?).await?;
    /// let second = Target::bind(first.local_addr(), subsystem()?).await;
    /// assert!(matches!(second, Err(TargetError::Listen { .. })), "the port is in use");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn bind(address: SocketAddr, subsystem: Arc<Subsystem>) -> Result<Self, TargetError> {
        let listener = TcpListener::bind(address).await.map_err(|source| TargetError::Listen { address, source })?;
        Self::on(listener, subsystem)
    }

    /// Listens on a socket that is bound already, so that the address is known to be free before the subsystem is made.
    ///
    /// # Errors
    /// [`TargetError::Listen`] when the socket has no address.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    /// let address = listener.local_addr()?;
    /// assert_eq!(Target::on(listener, subsystem()?)?.local_addr(), address);
    /// # Ok(())
    /// # }
    /// ```
    pub fn on(listener: TcpListener, subsystem: Arc<Subsystem>) -> Result<Self, TargetError> {
        let unknown = SocketAddr::from(([0, 0, 0, 0], 0));
        let address = listener.local_addr().map_err(|source| TargetError::Listen { address: unknown, source })?;
        Ok(Self { listener, address, subsystem })
    }

    /// Where it listens.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `shutdown` is done. Then no connection is accepted and no I/O command taken any more; commands in
    /// progress may end within [`Limits::stop_timeout`](super::Limits::stop_timeout) and are answered. Only when all
    /// are, connections are closed: a host releases all its connections when it loses one. Admin queues work until
    /// then, so that a host with long commands is not taken for dead.
    ///
    /// # Errors
    /// None today; a listener that fails is tried again.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let target = Target::bind("127.0.0.1:0".parse()?, subsystem()?).await?;
    /// let address = target.local_addr();
    /// let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    /// let server = tokio::spawn(target.serve(async { drop(stopped.await) }));
    /// drop(tokio::net::TcpStream::connect(address).await?);
    ///
    /// drop(stop);
    /// assert!(server.await?.is_ok());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn serve(self, shutdown: impl Future<Output = ()>) -> Result<(), TargetError> {
        let mut tasks = JoinSet::new();
        let mut shutdown = std::pin::pin!(shutdown);
        let mut look = tokio::time::interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                () = &mut shutdown => break,
                Some(_) = tasks.join_next(), if !tasks.is_empty() => {}
                _ = look.tick() => self.subsystem.look_around(),
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, peer)) => {
                        // Small responses must not wait for more; a socket that cannot be told so works all the same.
                        let _ = stream.set_nodelay(true);
                        let local = stream.local_addr().unwrap_or(self.address);
                        tracing::debug!(%peer, "connection accepted");
                        tasks.spawn(self.subsystem.clone().serve_connection(stream, local, peer));
                    }
                    Err(error) => {
                        // No more descriptors, mostly: connections that end give some back.
                        tracing::warn!(%error, "accepting a connection failed");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                },
            }
        }
        drop(self.listener);
        let deadline = Instant::now() + self.subsystem.limits().stop_timeout;
        let mut answered = self.subsystem.drain();
        if tokio::time::timeout_at(deadline, answered.recv()).await.is_err() {
            tracing::warn!("commands did not end in time, or hosts did not take their answers");
        }
        self.subsystem.finish();
        let ended = async {
            while tasks.join_next().await.is_some() {}
            self.subsystem.idle().await;
        };
        if tokio::time::timeout_at(deadline.max(Instant::now() + CLOSING), ended).await.is_err() {
            tracing::warn!("connections did not end in time");
        }
        self.subsystem.drained();
        // Dropping the set ends what is left of the connections; commands that change something run on.
        Ok(())
    }
}

impl Subsystem {
    /// Serves one connection until it ends, on any stream. `local` is the address at which the host reached the target, which
    /// discovery reports. `peer` is the host's own address, by which shares are counted.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let subsystem = subsystem()?;
    /// let (host, target) = tokio::io::duplex(64 << 10);
    /// let local = std::net::SocketAddr::from(([127, 0, 0, 1], 4420));
    /// let peer = std::net::SocketAddr::from(([127, 0, 0, 1], 50_000));
    /// let connection = tokio::spawn(subsystem.clone().serve_connection(target, local, peer));
    /// // This host leaves at once.
    /// drop(host);
    /// connection.await?;
    /// assert_eq!(subsystem.metrics().connections_total, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn serve_connection<S>(self: Arc<Self>, stream: S, local: SocketAddr, peer: SocketAddr)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (notices, received) = mpsc::unbounded_channel();
        let Some(registration) = Registration::new(self.clone(), peer.ip(), notices) else { return };
        Connection::new(self, registration, stream, local, received).run().await;
    }
}
