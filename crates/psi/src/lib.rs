//! Private set intersection by Diffie-Hellman: two parties find the ids that both have.
//!
//! Each party hashes its ids to elements of the group ristretto255 and multiplies them by a secret scalar, its [`RunKey`].
//! The other party multiplies these points by its own scalar. Points multiplied by both scalars are equal exactly where the
//! ids are equal, and no party can compute them alone (C. Meadows, IEEE Symposium on Security and Privacy 1986; B. Huberman,
//! M. Franklin, T. Hogg, ACM Conference on Electronic Commerce 1999).
//!
//! - [`Ids`]: the ids of a party.
//! - [`RunKey`]: the secret scalar of one run; it blinds ids and raises the points of the other party.
//! - [`Points`]: checked elements of the group, as they are sent.
//! - [`common`]: the equal elements of two lists of points.
//!
//! The parties follow the protocol (semi-honest). The messages between them are those of `ciphermill.federated` in Python;
//! this crate knows no connection.
//!
//! # Example
//! ```
//! use ciphermill_psi::{Ids, Points, RunKey, common};
//!
//! let guest = Ids::new(["ann", "bob", "eve"])?;
//! let host = Ids::new(["dan", "eve", "ann", "joe"])?;
//! let (a, b) = (RunKey::new()?, RunKey::new()?);
//!
//! // Guest to host: its points, as bytes.
//! let ours = a.blind(&guest, &|| ())?;
//! let received = Points::from_bytes(ours.points().as_bytes(), guest.len(), &|| ())?;
//! // Host to guest: the same points times b, and its own points.
//! let theirs = b.blind(&host, &|| ())?;
//! let answers = b.raise(&received, &|| ());
//!
//! // The guest compares. A pair has the places of one id in both lists of points.
//! let raised = a.raise(theirs.points(), &|| ());
//! let rows = common(&answers, &raised).into_iter();
//! let mut rows: Vec<_> = rows.map(|(i, j)| (ours.rows()[i as usize], theirs.rows()[j as usize])).collect();
//! rows.sort_unstable();
//! assert_eq!(rows, [(0, 2), (2, 1)], "ann and eve");
//! # Ok::<(), ciphermill_psi::PsiError>(())
//! ```

mod error;
mod hash;
mod ids;
mod key;
mod limits;
mod order;
mod points;

pub use error::PsiError;
pub use ids::Ids;
pub use key::{BlindedIds, RunKey};
pub use limits::{ID_BYTES, MAX_IDS, POINT_LEN};
pub use order::Repeat;
pub use points::{Points, Tick, common};
