//! Notices from the rest of the server to a connection.

use tokio::sync::mpsc::{Sender, UnboundedSender};

/// A notice to a connection.
#[derive(Debug)]
pub(crate) enum Notice {
    /// A namespace changed.
    NamespaceChanged(u32),
    /// The capacity of a namespace is nearly used up.
    SpareLow,
    /// Accept no more I/O commands, and drop this when those in progress are answered. The connection stays: a host that
    /// loses one of its connections closes the others, and would lose the responses that remain.
    Drain(Sender<()>),
    /// End when everything is sent.
    Finish,
    /// End now, for this reason.
    Close(&'static str),
}

/// Sends notices to one connection.
pub(crate) type Notices = UnboundedSender<Notice>;
