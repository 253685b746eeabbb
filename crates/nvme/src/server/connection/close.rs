//! The end of a connection: the counts, the log and the last PDUs.

use super::{end::End, state::Connection};
use crate::server::notice::Notice;
use std::{future::poll_fn, io, sync::atomic::Ordering::Relaxed, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    time::timeout,
};

/// How long the last words may take to get to the host.
const LAST_WORDS: Duration = Duration::from_secs(1);

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    pub(super) fn report(&self, end: &End) {
        let counters = &self.subsystem.counters;
        let host = self.queue.as_ref().map_or("", |queue| &queue.controller.host().nqn);
        // A host can cause as many ends as it likes; one without a queue may be anybody. Neither fills the log.
        let logged = self.queue.as_ref().is_some_and(|queue| end.is_told() && queue.place.shares.may_log());
        match end {
            End::Gone | End::Finished | End::Terminated => tracing::debug!(host, ?end, "connection ended"),
            End::Told(why) if !logged => tracing::debug!(host, why, "connection ended"),
            End::Told(why) => tracing::info!(host, why, "connection ended"),
            End::Timeout(what) => {
                counters.timeouts.fetch_add(1, Relaxed);
                match logged {
                    true => tracing::info!(host, what, "connection ended: the host was too slow"),
                    false => tracing::debug!(host, what, "connection ended: the host was too slow"),
                }
            }
            End::KeepAlive => {
                counters.keep_alive_expiries.fetch_add(1, Relaxed);
                if logged {
                    tracing::warn!(host, "controller ended: no sign of life within the keep-alive timeout");
                }
            }
            End::Protocol(fatal) => {
                counters.protocol_errors.fetch_add(1, Relaxed);
                match logged {
                    true => tracing::info!(host, error = ?fatal.error, what = fatal.what, "protocol error"),
                    false => tracing::debug!(host, error = ?fatal.error, what = fatal.what, "protocol error"),
                }
            }
        }
    }

    /// Sends the remaining PDUs and closes. The connection keeps its place in the tables meanwhile.
    pub(super) async fn last_words(self) {
        // What is not bound here is dropped at the end, `registration` among it.
        let Self { mut stream, mut out, mut notices, inbox, queue, receiver, waiting, transfers, registration, .. } =
            self;
        // A message that comes now is dropped by its sender, and releases the memory that it holds.
        drop((receiver, waiting, transfers, inbox));
        let said = async {
            while !out.is_empty() {
                poll_fn(|cx| out.poll_write(cx, &mut stream)).await?;
            }
            stream.shutdown().await?;
            // Closing with unread bytes resets the connection, and what was said last could be lost.
            let mut rest = [0; 4096];
            while stream.read(&mut rest).await? > 0 {}
            io::Result::Ok(())
        };
        // Newer connections push out one that never was a queue; what other messages hold is given back.
        let pushed_out = async {
            while let Some(notice) = notices.recv().await {
                if queue.is_none() && matches!(notice, Notice::Close(_)) {
                    break;
                }
            }
        };
        let either = async {
            tokio::select! {
                _ = said => {}
                () = pushed_out => {}
            }
        };
        let _ = timeout(LAST_WORDS, either).await;
        drop((stream, out, queue, registration));
    }
}
