//! The secret of a party in one run.

use std::fmt;

use ciphermill_lattice::Csprng;
use curve25519_dalek::{RistrettoPoint, Scalar};
use zeroize::{ZeroizeOnDrop, Zeroizing};

use crate::error::PsiError;
use crate::hash::hash_to_group;
use crate::ids::Ids;
use crate::order::shuffle;
use crate::points::{Points, Tick, map};

/// The secret scalar of a party in one run with one other party.
///
/// It is uniform and not 0, it is erased when it is dropped, and multiplications take the same time for every scalar. It
/// cannot be stored. [`raise`](Self::raise) consumes it, so that it serves one run.
#[derive(ZeroizeOnDrop)]
pub struct RunKey {
    scalar: Scalar,
}

impl RunKey {
    /// A fresh scalar.
    ///
    /// # Errors
    /// [`PsiError::Random`].
    pub fn new() -> Result<Self, PsiError> {
        let mut rng = Csprng::from_os()?;
        let mut wide = Zeroizing::new([0; 64]);
        loop {
            rng.fill_bytes(wide.as_mut());
            let key = Self { scalar: Scalar::from_bytes_mod_order_wide(&wide) };
            if key.scalar != Scalar::ZERO {
                return Ok(key);
            }
        }
    }

    /// The points of ids, H(id) times the scalar, in a random order that hides the order of the rows.
    ///
    /// # Errors
    /// [`PsiError::Random`].
    ///
    /// # Example
    /// ```
    /// use ciphermill_psi::{Ids, RunKey};
    ///
    /// let ids = Ids::new(["ann", "bob"])?;
    /// let [first, second] = [RunKey::new()?.blind(&ids, &|| ())?, RunKey::new()?.blind(&ids, &|| ())?];
    /// assert_ne!(first.points(), second.points(), "runs cannot be linked");
    /// # Ok::<(), ciphermill_psi::PsiError>(())
    /// ```
    pub fn blind(&self, ids: &Ids, tick: Tick<'_>) -> Result<BlindedIds, PsiError> {
        let mut rows = Zeroizing::new((0..ids.len() as u32).collect::<Vec<u32>>());
        shuffle(&mut rows, &mut Csprng::from_os()?);
        let one = |&row: &u32| self.multiply(hash_to_group(ids.get(row as usize))).compress().to_bytes();
        Ok(BlindedIds { points: Points::of(map(&rows, tick, one)), rows })
    }

    /// The points of the other party times the scalar, in the same order.
    pub fn raise(self, points: &Points, tick: Tick<'_>) -> Points {
        points.map(tick, |point| self.multiply(point))
    }

    fn multiply(&self, mut point: RistrettoPoint) -> RistrettoPoint {
        // By reference: no copy of the scalar is left behind.
        point *= &self.scalar;
        point
    }
}

impl fmt::Debug for RunKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RunKey(..)")
    }
}

/// The points of a party's ids, and their secret order.
pub struct BlindedIds {
    points: Points,
    rows: Zeroizing<Vec<u32>>,
}

impl BlindedIds {
    /// The points, for the other party.
    pub fn points(&self) -> &Points {
        &self.points
    }

    /// The row of each point. The other party must not learn it.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }
}

impl fmt::Debug for BlindedIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BlindedIds({})", self.points.len())
    }
}
