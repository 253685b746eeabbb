//! Errors of creating or starting a target.

use std::{io, net::SocketAddr};
use thiserror::Error;

/// A subsystem or target that cannot be created or started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TargetError {
    /// A limit is out of its range.
    #[error("limit {limit} is {given}, it must be {rule}")]
    Limit {
        /// Name of the limit.
        limit: &'static str,
        /// Its range.
        rule: &'static str,
        /// The given value.
        given: usize,
    },
    /// The subsystem's name is not a qualified name, or is that of discovery.
    #[error(
        "`{nqn}` cannot name a subsystem: it must begin with `nqn.`, have at most 223 bytes and not be discovery's"
    )]
    Name {
        /// The given value.
        nqn: String,
    },
    /// A namespace that cannot be offered.
    #[error("namespace {nsid}: {what}")]
    Namespace {
        /// Its identifier.
        nsid: u32,
        /// The error.
        what: &'static str,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
}
