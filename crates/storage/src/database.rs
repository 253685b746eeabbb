//! A `redb` database over a [`Storage`]: opened, created, and checked without changing a byte of it.

use crate::{FormatError, OverlayStorage, Storage, StorageError};
use redb::{Builder, Database};
use std::{
    cell::Cell,
    fmt::Display,
    io,
    panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook},
    sync::{
        Arc, Once,
        atomic::{AtomicBool, Ordering},
    },
};

/// An operation of the database that failed.
///
/// # Example
/// ```
/// use ciphermill_storage::DatabaseError;
///
/// let error = DatabaseError { operation: "open", what: "no such table".to_owned() };
/// assert_eq!(error.to_string(), "the database failed to open: no such table");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the database failed to {operation}: {what}")]
pub struct DatabaseError {
    /// The operation.
    pub operation: &'static str,
    /// The database's own message.
    pub what: String,
}

/// Errors of a database and of the rows in it.
///
/// # Example
/// ```
/// use ciphermill_storage::{FormatError, TableError};
///
/// let error = TableError::from(FormatError::Foreign);
/// assert_eq!(error.to_string(), "the file is of another format");
/// ```
#[derive(Clone, Debug, thiserror::Error)]
pub enum TableError {
    /// The medium failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The database failed.
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// A row is damaged, or of another version.
    #[error(transparent)]
    Format(#[from] FormatError),
}

/// Turns an error of the database into a [`DatabaseError`] that names the operation.
///
/// # Example
/// ```
/// use ciphermill_storage::{DatabaseError, failure};
///
/// let opened: Result<(), &str> = Err("no such table");
/// let error = opened.map_err(failure("open")).unwrap_err();
/// assert_eq!(error, DatabaseError { operation: "open", what: "no such table".to_owned() });
/// ```
pub fn failure<E: Display>(operation: &'static str) -> impl Fn(E) -> DatabaseError {
    move |error| DatabaseError { operation, what: error.to_string() }
}

thread_local! {
    /// Whether this thread is inside [`guarded`], where a panic becomes an error and must not be printed.
    static GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs database code on bytes that may be damaged, and turns a panic into an error. `redb` returns errors for damaged
/// pages, but its internal assertions can still fail on them. A damaged disk must not end the process, nor print to
/// standard error.
///
/// # Errors
/// The errors of `work`; a [`DatabaseError`] when an assertion failed.
///
/// # Example
/// ```
/// use ciphermill_storage::{DatabaseError, guarded};
///
/// assert_eq!(guarded("read", || Ok::<_, DatabaseError>(7))?, 7);
/// let result = guarded("read", || -> Result<u64, DatabaseError> { panic!("a damaged page") });
/// assert!(matches!(result, Err(DatabaseError { operation: "read", .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn guarded<T, E: From<DatabaseError>>(
    operation: &'static str,
    work: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let report = take_hook();
        set_hook(Box::new(move |panic| {
            if !GUARDED.get() {
                report(panic);
            }
        }));
    });
    let outer = GUARDED.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    GUARDED.set(outer);
    result.unwrap_or_else(|_| {
        let what = "an internal assertion of the database failed".to_owned();
        Err(DatabaseError { operation, what }.into())
    })
}

/// A [`Storage`] that holds a database, and how the database is opened.
///
/// # Example
/// ```
#[doc = include_str!("example_table.txt")]
/// drop(table.create(fill)?);
/// // Opening a damaged database may change it, so the check comes first.
/// assert_eq!(table.check(read)?, 1);
/// let (database, one) = table.open_and_read("open", read)?;
/// assert_eq!(one, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TableFile {
    storage: Arc<dyn Storage>,
    name: &'static str,
    cache_bytes: usize,
    sync_failed: Arc<AtomicBool>,
}

impl TableFile {
    /// The database in `storage`, called `name` in errors. `sync_failed` is set when a sync fails: after that it is
    /// unknown which commits are durable.
    #[must_use]
    pub fn new(
        storage: Arc<dyn Storage>,
        name: &'static str,
        cache_bytes: usize,
        sync_failed: Arc<AtomicBool>,
    ) -> Self {
        Self { storage, name, cache_bytes, sync_failed }
    }

    /// The storage under the database.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example_table.txt")]
    /// assert!(table.storage().is_empty()?);
    /// drop(table.create(fill)?);
    /// assert_eq!(table.storage().len()?, storage.to_bytes().len() as u64);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn storage(&self) -> &dyn Storage {
        &*self.storage
    }

    /// Whether a sync of the database has failed.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example_table.txt")]
    /// // The caller shares the flag.
    /// let failed = Arc::new(AtomicBool::new(false));
    /// let table = TableFile::new(storage, "the table", 1 << 20, Arc::clone(&failed));
    /// drop(table.create(fill)?);
    /// assert!(!table.sync_failed());
    /// failed.store(true, Ordering::SeqCst);
    /// assert!(table.sync_failed());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn sync_failed(&self) -> bool {
        self.sync_failed.load(Ordering::SeqCst)
    }

    /// Opens the database, which may repair it.
    ///
    /// # Errors
    /// [`DatabaseError`] from the database.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example_table.txt")]
    /// drop(table.create(fill)?);
    /// let database = table.open()?;
    /// assert_eq!(read(&database)?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(&self) -> Result<Database, DatabaseError> {
        self.open_in(Arc::clone(&self.storage), Arc::clone(&self.sync_failed))
    }

    fn open_in(&self, storage: Arc<dyn Storage>, sync_failed: Arc<AtomicBool>) -> Result<Database, DatabaseError> {
        let backend = RedbBackend::new(storage, sync_failed);
        Builder::new().set_cache_size(self.cache_bytes).create_with_backend(backend).map_err(failure("open"))
    }

    /// Empties the storage, creates a database in it and fills it; `fill` makes its own commit.
    ///
    /// # Errors
    /// The errors of the medium, of the database, and of `fill`.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example_table.txt")]
    /// let database = table.create(fill)?;
    /// assert_eq!(read(&database)?, 1);
    /// assert!(!storage.is_empty()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn create(&self, fill: impl FnOnce(&Database) -> Result<(), TableError>) -> Result<Database, TableError> {
        self.storage.set_len(0)?;
        guarded("create", || {
            let database = self.open()?;
            fill(&database)?;
            Ok(database)
        })
    }

    /// Opens the database and reads it.
    ///
    /// # Errors
    /// The errors of the database and of `read`.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example_table.txt")]
    /// drop(table.create(fill)?);
    /// let (database, one) = table.open_and_read("open", read)?;
    /// assert_eq!((one, read(&database)?), (1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open_and_read<T>(
        &self,
        operation: &'static str,
        read: impl FnOnce(&Database) -> Result<T, TableError>,
    ) -> Result<(Database, T), TableError> {
        guarded(operation, || {
            let database = self.open()?;
            let content = read(&database)?;
            Ok((database, content))
        })
    }

    /// Checks the checksums of all pages and reads the database, over a scratch overlay: no byte of the storage changes,
    /// although opening a database may repair it.
    ///
    /// # Errors
    /// [`FormatError::Corrupt`] when the database is empty, damaged or cannot be opened; the errors of the medium and of
    /// `read`.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example_table.txt")]
    /// assert_eq!(table.check(read).unwrap_err().to_string(), "damaged: the table is empty");
    /// drop(table.create(fill)?);
    /// let before = storage.to_bytes();
    /// assert_eq!(table.check(read)?, 1);
    /// assert_eq!(storage.to_bytes(), before);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check<T>(&self, read: impl FnOnce(&Database) -> Result<T, TableError>) -> Result<T, TableError> {
        let scratch = Arc::new(OverlayStorage::new(Arc::clone(&self.storage))?);
        let name = self.name;
        if scratch.is_empty()? {
            return Err(FormatError::corrupt(format!("{name} is empty")).into());
        }
        guarded("check", || {
            let mut database = self.open_in(scratch, Arc::default())?;
            if !database.check_integrity().map_err(failure("check"))? {
                return Err(FormatError::corrupt(format!("the pages of {name} do not match their checksums")).into());
            }
            read(&database)
        })
        .map_err(|error| match error {
            TableError::Database(DatabaseError { what, .. }) => {
                FormatError::corrupt(format!("{name} cannot be read ({what})")).into()
            }
            error => error,
        })
    }

    /// The database over a scratch overlay, for reads after a failure: repairs stay in memory. `None` when it cannot be
    /// opened.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example_table.txt")]
    /// drop(table.create(fill)?);
    /// let before = storage.to_bytes();
    /// let database = table.open_for_reading().ok_or("the database opens")?;
    /// assert_eq!(read(&database)?, 1);
    /// drop(database);
    /// assert_eq!(storage.to_bytes(), before);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn open_for_reading(&self) -> Option<Database> {
        let scratch = Arc::new(OverlayStorage::new(Arc::clone(&self.storage)).ok()?);
        guarded("reopen", || self.open_in(scratch, Arc::default())).ok()
    }
}

/// The pages of a `redb` database in a [`Storage`]. It takes no lock: the lock file of the store's directory keeps a
/// second process out.
#[derive(Debug)]
struct RedbBackend {
    storage: Arc<dyn Storage>,
    sync_failed: Arc<AtomicBool>,
}

impl RedbBackend {
    fn new(storage: Arc<dyn Storage>, sync_failed: Arc<AtomicBool>) -> Self {
        Self { storage, sync_failed }
    }
}

impl redb::StorageBackend for RedbBackend {
    fn len(&self) -> io::Result<u64> {
        Ok(self.storage.len()?)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        Ok(self.storage.read_at(offset, out)?)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        Ok(self.storage.set_len(len)?)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.storage.sync().inspect_err(|_: &StorageError| self.sync_failed.store(true, Ordering::SeqCst))?;
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        Ok(self.storage.write_at(offset, data)?)
    }
}
