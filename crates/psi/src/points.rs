//! Lists of points, as they are sent.

use std::fmt;

use curve25519_dalek::RistrettoPoint;
use curve25519_dalek::ristretto::CompressedRistretto;
use rayon::prelude::*;

use crate::error::{PsiError, require_count};
use crate::limits::POINT_LEN;
use crate::order::{ascending, repeat};

/// Points between two calls of a [`Tick`]: some milliseconds of one thread.
const GROUP: usize = 64;

/// Called at every 64th point of a list, on any thread. A caller that no longer needs the result may unwind from it.
pub type Tick<'a> = &'a (dyn Fn() + Sync);

/// The results of a list, in order, on the current rayon pool.
pub(crate) fn map<T: Sync, U: Send>(items: &[T], tick: Tick<'_>, of: impl Fn(&T) -> U + Sync) -> Vec<U> {
    let one = |(place, item): (usize, &T)| {
        if place % GROUP == 0 {
            tick();
        }
        of(item)
    };
    items.par_iter().with_min_len(GROUP).enumerate().map(one).collect()
}

/// Distinct elements of ristretto255 other than the identity, in their canonical encodings.
///
/// # Example
/// ```
/// use ciphermill_psi::{Points, PsiError};
///
/// let encoding = [0; 32];
/// let refused = Points::from_bytes(&encoding, 1, &|| ());
/// assert!(matches!(refused, Err(PsiError::Identity { index: 0 })));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Points {
    encodings: Vec<[u8; POINT_LEN]>,
}

impl Points {
    /// Reads the `count` points of another party.
    ///
    /// # Errors
    /// [`PsiError::Count`], [`PsiError::Length`], [`PsiError::NotAPoint`], [`PsiError::Identity`],
    /// [`PsiError::RepeatedPoint`].
    pub fn from_bytes(bytes: &[u8], count: usize, tick: Tick<'_>) -> Result<Self, PsiError> {
        require_count(count)?;
        let expected = count * POINT_LEN;
        if bytes.len() != expected {
            return Err(PsiError::Length { count, given: bytes.len(), expected });
        }
        let encodings = bytes.as_chunks::<POINT_LEN>().0.to_vec();
        let sound = map(&encodings, tick, |encoding| CompressedRistretto(*encoding).decompress().is_some());
        if let Some(index) = sound.iter().position(|&sound| !sound) {
            return Err(PsiError::NotAPoint { index });
        }
        if let Some(index) = encodings.iter().position(|encoding| *encoding == [0; POINT_LEN]) {
            return Err(PsiError::Identity { index });
        }
        match repeat(count, |place| &encodings[place as usize]) {
            Some(repeat) => Err(PsiError::RepeatedPoint(repeat)),
            None => Ok(Self { encodings }),
        }
    }

    /// Points that this crate computed.
    pub(crate) fn of(encodings: Vec<[u8; POINT_LEN]>) -> Self {
        Self { encodings }
    }

    /// The encodings, one after another.
    pub fn as_bytes(&self) -> &[u8] {
        self.encodings.as_flattened()
    }

    /// The number of points.
    #[allow(clippy::len_without_is_empty, reason = "there is one point at least")]
    pub fn len(&self) -> usize {
        self.encodings.len()
    }

    /// The same list with each point replaced.
    pub(crate) fn map(&self, tick: Tick<'_>, of: impl Fn(RistrettoPoint) -> RistrettoPoint + Sync) -> Self {
        let one = |encoding: &[u8; POINT_LEN]| {
            of(CompressedRistretto(*encoding).decompress().expect("a checked encoding")).compress().to_bytes()
        };
        Self { encodings: map(&self.encodings, tick, one) }
    }
}

impl fmt::Debug for Points {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Points({})", self.len())
    }
}

/// The places of equal points in two lists, in ascending order of the place in the second list.
///
/// # Example
/// ```
/// use ciphermill_psi::{Ids, RunKey, common};
///
/// let points = RunKey::new()?.blind(&Ids::new(["ann", "bob"])?, &|| ())?;
/// assert_eq!(common(points.points(), points.points()), [(0, 0), (1, 1)]);
/// # Ok::<(), ciphermill_psi::PsiError>(())
/// ```
pub fn common(first: &Points, second: &Points) -> Vec<(u32, u32)> {
    let sorted = |points: &Points| ascending(points.len(), |place| &points.encodings[place as usize]);
    let (left, right) = rayon::join(|| sorted(first), || sorted(second));
    let (mut pairs, mut candidates) = (Vec::new(), left.into_iter().peekable());
    for place in right {
        let encoding = &second.encodings[place as usize];
        while candidates.next_if(|&left| first.encodings[left as usize] < *encoding).is_some() {}
        pairs.extend(candidates.next_if(|&left| first.encodings[left as usize] == *encoding).map(|left| (left, place)));
    }
    pairs.sort_unstable_by_key(|&(_, place)| place);
    pairs
}
