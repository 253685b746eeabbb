//! The ids of a party.

use std::fmt;

use crate::error::{PsiError, require_count};
use crate::limits::ID_BYTES;
use crate::order::repeat;

/// Ids of rows: distinct byte strings.
///
/// # Example
/// ```
/// use ciphermill_psi::{Ids, PsiError};
///
/// let ids = Ids::new(["bob", "ann"])?;
/// assert_eq!((ids.len(), ids.get(1)), (2, &b"ann"[..]));
/// assert!(matches!(Ids::new(["ann", "bob", "ann"]), Err(PsiError::RepeatedId(_))));
/// # Ok::<(), PsiError>(())
/// ```
pub struct Ids {
    /// All ids, one after another.
    bytes: Vec<u8>,
    /// Where each id ends.
    ends: Vec<usize>,
}

impl Ids {
    /// The ids of rows 0, 1, ….
    ///
    /// # Errors
    /// [`PsiError::Count`], [`PsiError::IdLength`], [`PsiError::RepeatedId`].
    pub fn new<I>(ids: I) -> Result<Self, PsiError>
    where
        I: IntoIterator<IntoIter: ExactSizeIterator, Item: AsRef<[u8]>>,
    {
        let ids = ids.into_iter();
        require_count(ids.len())?;
        let (mut bytes, mut ends) = (Vec::new(), Vec::with_capacity(ids.len()));
        for (row, id) in ids.enumerate() {
            let id = id.as_ref();
            if !ID_BYTES.contains(&id.len()) {
                return Err(PsiError::IdLength { row, bytes: id.len() });
            }
            bytes.extend_from_slice(id);
            ends.push(bytes.len());
        }
        let ids = Self { bytes, ends };
        match repeat(ids.len(), |row| ids.get(row as usize)) {
            Some(repeat) => Err(PsiError::RepeatedId(repeat)),
            None => Ok(ids),
        }
    }

    /// The number of ids.
    #[allow(clippy::len_without_is_empty, reason = "there is one id at least")]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The id of a row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn get(&self, row: usize) -> &[u8] {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        &self.bytes[start..self.ends[row]]
    }

    /// Sorts rows by their ids, bytewise: the order that all parties give to their common rows.
    ///
    /// # Panics
    /// If there is no such row.
    ///
    /// # Example
    /// ```
    /// use ciphermill_psi::Ids;
    ///
    /// let mut rows = [0, 1, 3];
    /// Ids::new(["bob", "ann", "eve", "ada"])?.sort(&mut rows);
    /// assert_eq!(rows, [3, 1, 0]);
    /// # Ok::<(), ciphermill_psi::PsiError>(())
    /// ```
    pub fn sort(&self, rows: &mut [u32]) {
        rows.sort_unstable_by(|&a, &b| self.get(a as usize).cmp(self.get(b as usize)));
    }
}

/// Ids are private: only their number is shown.
impl fmt::Debug for Ids {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Ids({})", self.len())
    }
}
