//! Selectors as they stay in an engine: opaque handles, and the positions under which tables name them.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use crate::ciphertext::KeyTag;
use crate::error::{TfheError, require_key_set};
use crate::word::{MAX_POSITIONS, SelectorId, Table};

/// The selectors of one digit, in the form of the engine that made them. Clones share them.
#[derive(Clone)]
pub struct DigitSelectors {
    key_tag: KeyTag,
    memory_bytes: u64,
    content: Arc<dyn Any + Send + Sync>,
}

impl fmt::Debug for DigitSelectors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DigitSelectors({} bytes)", self.memory_bytes)
    }
}

/// Whether both are clones of one handle.
impl PartialEq for DigitSelectors {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.content, &other.content)
    }
}

impl Eq for DigitSelectors {}

impl DigitSelectors {
    /// A handle for selectors that occupy `memory_bytes`; for engines.
    #[must_use]
    pub fn new(key_tag: KeyTag, memory_bytes: u64, content: Arc<dyn Any + Send + Sync>) -> Self {
        Self { key_tag, memory_bytes, content }
    }

    /// The key set.
    #[must_use]
    pub fn key_tag(&self) -> KeyTag {
        self.key_tag
    }

    /// The engine's own object; `None` if it has another type, which means that another engine made it.
    #[must_use]
    pub fn content<T: Any>(&self) -> Option<&T> {
        self.content.downcast_ref()
    }
}

/// The selectors of the digits of a word, each with its own memory, so that a digit can be replaced alone.
///
/// # Example
/// ```
#[doc = include_str!("../example_word.txt")]
/// let selectors: Selectors = server.select(&word)?;
/// assert_eq!((selectors.digits().len(), selectors.digits()[0].key_tag()), (3, client.tag()));
/// assert!(selectors.memory_bytes() > 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selectors(Vec<DigitSelectors>);

impl Selectors {
    /// The selectors of these digits, the lowest first; for engines.
    #[must_use]
    pub fn new(digits: Vec<DigitSelectors>) -> Self {
        Self(digits)
    }

    /// The selectors of each digit, the lowest first.
    #[must_use]
    pub fn digits(&self) -> &[DigitSelectors] {
        &self.0
    }

    /// Memory behind all of them, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.0.iter().map(|digit| digit.memory_bytes).sum()
    }
}

/// The selectors by position, as tables name them.
///
/// # Example
/// ```
#[doc = include_str!("../example_word.txt")]
/// let mut file = SelectorFile::new();
/// file.put(5, &server.select(&word)?)?;
/// // The root of the digits at positions 5 to 7.
/// let table = Table::Dense(DenseTable::new(6, 3, vec![5, 6, 7], (0..64).map(u32::isqrt).collect())?);
/// assert_eq!(client.decrypt_word(&server.look_up(&file, &table)?)?, 7);
/// assert!(matches!(server.look_up(&file, &root), Err(TfheError::NoSelector { position: 0 })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct SelectorFile {
    entries: Vec<Option<DigitSelectors>>,
}

impl SelectorFile {
    /// A file without selectors.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts the digits of a handle at the positions from `first` on. Earlier digits at these positions are replaced.
    ///
    /// # Errors
    /// [`TfheError::Field`] if they reach beyond the last position.
    pub fn put(&mut self, first: usize, selectors: &Selectors) -> Result<(), TfheError> {
        let end = first.saturating_add(selectors.digits().len());
        if end > MAX_POSITIONS {
            let max = MAX_POSITIONS as u64;
            return Err(TfheError::Field { what: "end of the selectors' positions", given: end as u64, min: 0, max });
        }
        if self.entries.len() < end {
            self.entries.resize(end, None);
        }
        for (entry, digit) in self.entries[first..end].iter_mut().zip(selectors.digits()) {
            *entry = Some(digit.clone());
        }
        Ok(())
    }

    /// The selectors at a position.
    ///
    /// # Errors
    /// [`TfheError::NoSelector`] if the position is empty.
    pub fn at(&self, position: u8) -> Result<&DigitSelectors, TfheError> {
        let entry = self.entries.get(usize::from(position)).and_then(Option::as_ref);
        entry.ok_or(TfheError::NoSelector { position })
    }

    /// Memory behind the selectors of all positions, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        self.entries.iter().flatten().map(|digit| digit.memory_bytes).sum()
    }

    /// Whether every selector that a table reads exists and belongs to this key set.
    ///
    /// # Errors
    /// [`TfheError::NoSelector`], [`TfheError::Mismatch`].
    pub fn check(&self, table: &Table, key_tag: KeyTag) -> Result<(), TfheError> {
        for SelectorId { position, .. } in table.selectors() {
            require_key_set("key tag of the selectors", self.at(position)?.key_tag(), key_tag)?;
        }
        Ok(())
    }
}
