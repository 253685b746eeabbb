//! Options of reads and writes, and the properties of objects.

use crate::store::{ContentDigest, ObjectFlags, ObjectPages, Owner, StoredObject};
use ciphermill_program::VrId;
use std::time::Duration;

/// Whether a write of an object may run a program.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let y: VrId = "4:1:2".parse()?;
/// let sum = assemble(device.instruction_set(), "homadd 4:1:2, 3:1:1\nreturn 4:1:2", &Bindings::new())?.program;
/// space.write_bytes(x, &one, WriteOptions::default())?;
/// space.write_bytes(program_register(y.key_id), &sum.encode(), WriteOptions::default())?;
/// // Registers of type 4 compute on writes, so the stored object is the sum.
/// assert!(space.write_bytes(y, &two, WriteOptions::default())?.computed);
/// assert_eq!(message(&space.read_bytes(y, ReadMode::Stored)?)?, 3);
/// // In this mode the object is stored unchanged.
/// space.write_bytes(y, &two, WriteOptions { mode: WriteMode::Stored, ..WriteOptions::default() })?;
/// assert_eq!(space.read_bytes(y, ReadMode::Stored)?, two);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteMode {
    /// A compute-on-write object runs the program of its key, if one is stored, and the result is stored in its place. All
    /// other objects are stored unchanged.
    #[default]
    Compute,
    /// Everything is stored unchanged (for example to restore a copy).
    Stored,
}

/// How an object is written.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let options = WriteOptions { flags: ObjectFlags::ARMED, origin: 42, ..WriteOptions::default() };
/// let stat = space.write_bytes(x, &one, options)?.stat;
/// assert_eq!((stat.flags, stat.origin), (ObjectFlags::ARMED, 42));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Its flags; they replace those of an earlier version.
    pub flags: ObjectFlags,
    /// Whether it may compute.
    pub mode: WriteMode,
    /// The most bytes that the result of a compute-on-write may have; a larger one is
    /// [`RunError::ResultTooLarge`](crate::RunError::ResultTooLarge), and nothing is stored. `None`: as many as its
    /// register takes. A block adapter sets it to the length of the blocks that it has reserved.
    pub result_limit: Option<u64>,
    /// A tag of the caller, stored with the object and returned in [`ObjectStat::origin`]; 0 means unset. After a crash a
    /// block adapter finds by it which of its objects this write completed.
    pub origin: u64,
    /// The owner of a new object. A version that replaces an object keeps the owner of that object, if it has one.
    pub owner: Option<Owner>,
    /// The reach of a program that this write runs. With an owner, the program reads only objects of that owner, besides
    /// the object that is written; another register is [`RunError::OutOfReach`](crate::RunError::OutOfReach), and nothing is
    /// stored. `None`: all objects of the space.
    pub reach: Option<Owner>,
}

/// Whether a read of an object may run a program.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let armed_once = ObjectFlags::ARMED.with(ObjectFlags::ONE_SHOT);
/// space.write_bytes(x, &one, WriteOptions { flags: armed_once, ..WriteOptions::default() })?;
/// space.write_bytes(y, &two, WriteOptions::default())?;
/// space.write_bytes(program_register(x.key_id), &sum.encode(), WriteOptions::default())?;
/// assert_eq!(message(&space.read_bytes(x, ReadMode::Stored)?)?, 1);
/// assert_eq!(message(&space.read_bytes(x, ReadMode::Armed)?)?, 3);
/// // That read disarmed the object; a request still computes.
/// assert_eq!(message(&space.read_bytes(x, ReadMode::Armed)?)?, 1);
/// assert_eq!(message(&space.read_bytes(x, ReadMode::Compute)?)?, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadMode {
    /// Returns the stored bytes.
    Stored,
    /// Runs the program and gives its result, whatever the flags: the caller asked for it.
    Compute,
    /// Runs the program if the object is a compute-on-read object and [`ObjectFlags::ARMED`], else returns the stored bytes.
    /// A block adapter reads in this mode, because operating systems read blocks without a request of a user. [`ObjectFlags::ONE_SHOT`]
    /// disarms the object before the result is given.
    Armed,
}

/// How an object is read.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// space.write_bytes(x, &one, WriteOptions::default())?;
/// let options = ReadOptions { result_limit: Some(1 << 20), ..ReadOptions::new(ReadMode::Stored) };
/// assert_eq!(space.read_with(x, options)?.into_bytes()?, one);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// Whether it may compute.
    pub mode: ReadMode,
    /// The most bytes that the result of a computed read may have; a larger one is
    /// [`RunError::ResultTooLarge`](crate::RunError::ResultTooLarge), and the object stays armed. `None`: no bound but the
    /// device's. Stored bytes are read whatever their size.
    pub result_limit: Option<u64>,
    /// The reach of the program. With an owner, it reads only objects of that owner; another register is
    /// [`RunError::OutOfReach`](crate::RunError::OutOfReach). `None`: all objects of the space.
    pub reach: Option<Owner>,
    /// Whether the caller may not change the object. A read that would disarm it is
    /// [`DeviceError::WouldDisarm`](crate::DeviceError::WouldDisarm), and no program runs.
    pub keep_armed: bool,
}

impl ReadOptions {
    /// A read without bounds in this mode.
    #[must_use]
    pub const fn new(mode: ReadMode) -> Self {
        Self { mode, result_limit: None, reach: None, keep_armed: false }
    }
}

/// The properties of a stored object.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// space.write_bytes(x, &one, WriteOptions { origin: 7, ..WriteOptions::default() })?;
/// let ObjectStat { id, size, origin, computed, .. } = space.stat(x)?;
/// assert_eq!((id, size, origin, computed), (x, one.len() as u64, 7, false));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectStat {
    /// Its register.
    pub id: VrId,
    /// Its size in bytes.
    pub size: u64,
    /// Its flags.
    pub flags: ObjectFlags,
    /// A number that no other content of the store has had or will have; a change of flags keeps it.
    pub generation: u64,
    /// CRC-32C of all its bytes, as they were stored. It comes from the record: no byte of the object is read for it.
    pub checksum: u32,
    /// The digest of all its bytes, likewise ([`StoredObject::digest`]).
    pub digest: Option<ContentDigest>,
    /// [`WriteOptions::origin`] of the write that made it; a change of flags keeps it.
    pub origin: u64,
    /// Whether the stored bytes are the result of a program that the write ran.
    pub computed: bool,
    /// Its owner, if it has one: [`WriteOptions::owner`] of the first version.
    pub owner: Option<Owner>,
}

impl From<&StoredObject> for ObjectStat {
    fn from(object: &StoredObject) -> Self {
        Self {
            id: object.key().id,
            size: object.size(),
            flags: object.flags(),
            generation: object.generation(),
            checksum: object.checksum(),
            digest: object.digest(),
            origin: object.origin(),
            computed: object.computed(),
            owner: object.owner().cloned(),
        }
    }
}

impl ObjectPages {
    /// The properties of the version that is read, with the flags at the time of opening.
    #[must_use]
    pub fn stat(&self) -> ObjectStat {
        ObjectStat::from(&**self.object())
    }
}

/// The outcome of a write.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let Written { stat, computed } = space.write_bytes(x, &one, WriteOptions::default())?;
/// assert_eq!((stat.size, computed), (one.len() as u64, false));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The properties of the stored object.
    pub stat: ObjectStat,
    /// Whether it is the result of a program.
    pub computed: bool,
}

/// The judgement of a program that would run.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// space.write_bytes(x, &one, WriteOptions::default())?;
/// space.write_bytes(y, &two, WriteOptions::default())?;
/// let CheckedProgram { outputs, limit, .. } = space.check(&sum)?;
/// assert_eq!((outputs[0].register, limit), (x, -64.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedProgram {
    /// The expected run time.
    pub estimate: Duration,
    /// Its outputs.
    pub outputs: Vec<CheckedOutput>,
    /// log2 of the greatest failure probability that the device accepts for it.
    pub limit: f64,
}

/// One output of a judged program.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CheckedOutput {
    /// The returned register.
    pub register: VrId,
    /// log2 of the probability that it is wrong: the union over the run's bootstraps and the reading of the output. `None`
    /// if it is not known, which happens under [`DeviceConfig::assume_range`](crate::DeviceConfig::assume_range) only.
    pub log2_p_fail: Option<f64>,
}
