//! The parts that the `ciphermill` command and a language binding share: files, numbers, keys, programs, engines, and the
//! way to a device in a directory or behind a network address.
//!
//! The functions read and write files of the formats that docs/cli.md describes. They print nothing; progress goes to a
//! callback. Every error is a [`ClientError`].
//!
//! ```
//! use ciphermill_client::{files, numbers};
//!
//! # fn main() -> Result<(), ciphermill_client::ClientError> {
//! let directory = tempfile::tempdir().expect("a directory");
//! let path = directory.path().join("a.txt");
//! files::write(&path, b"1 2 3\n4 5 6\n", files::PUBLIC, false)?;
//! let matrix = numbers::read::<i64>(&path)?;
//! assert_eq!((matrix.rows, matrix.cols, matrix.entries[5]), (2, 3, 6));
//! # Ok(())
//! # }
//! ```
//!
//! Many examples share a hidden start: a temporary `directory`, and the `path` of a new file there. Those of [`tfhe`],
//! [`hmvp`] and [`paillier`] also make keys; each module names them.

pub mod engines;
mod error;
pub mod files;
pub mod hmvp;
pub mod key_files;
mod kind;
pub mod numbers;
pub mod paillier;
pub mod paillier_host;
pub mod process;
pub mod program;
pub mod remote;
pub mod security;
pub mod size;
pub mod store;
pub mod tfhe;
pub mod words;

pub use error::{AddressError, AddressProblem, ClientError, needs_opt_in};
pub use kind::{ErrorKind, kind};
