//! The promises of [`Transport`] that every transport must keep. Each function is one test; `transport_suite!` in
//! `main.rs` runs them all over a host.

use crate::support::{Host, MAX_OBJECT_BYTES, blob, metadata, number, pattern, program, put};
use ciphermill_device::SpaceLimits;
use ciphermill_middleware::{BlobId, ObjectFlags, ReadMode, Transport, TransportError, WriteMode};
use std::{
    io::{self, Read, Write},
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

fn get(transport: &dyn Transport, id: BlobId, mode: ReadMode) -> Result<(Vec<u8>, bool), TransportError> {
    let mut bytes = Vec::new();
    let transferred = transport.read(id, mode, &mut bytes)?;
    assert_eq!(transferred.size, bytes.len() as u64);
    Ok((bytes, transferred.computed))
}

fn stored(transport: &dyn Transport, id: BlobId) -> Vec<u8> {
    get(transport, id, ReadMode::Stored).unwrap().0
}

fn write(transport: &dyn Transport, text: &str, bytes: &[u8]) -> Result<(), TransportError> {
    write_from(transport, text, bytes.len() as u64, &mut &*bytes)
}

fn write_from(transport: &dyn Transport, text: &str, size: u64, content: &mut dyn Read) -> Result<(), TransportError> {
    let written = transport.write(&metadata(text), size, content, WriteMode::Compute)?;
    assert_eq!((written.stat.id, written.stat.size), (blob(text), size));
    Ok(())
}

/// Gives pieces of uneven length, with interruptions between, and then fails, if it is to.
struct Uneven<'a> {
    rest: &'a [u8],
    step: usize,
    fails: bool,
}

impl<'a> Uneven<'a> {
    fn new(rest: &'a [u8]) -> Self {
        Self { rest, step: 0, fails: false }
    }
}

impl Read for Uneven<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.step += 1;
        if self.step.is_multiple_of(5) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if self.rest.is_empty() && self.fails {
            return Err(io::Error::other("the tape tore"));
        }
        let count = (self.step * 7919 % 70_001 + 1).min(out.len()).min(self.rest.len());
        out[..count].copy_from_slice(&self.rest[..count]);
        self.rest = &self.rest[count..];
        Ok(count)
    }
}

pub(crate) fn blobs_of_any_size_come_back(host: &impl Host) {
    let transport = host.transport();
    for (index, size) in
        [1, 2, 4095, 4096, 4097, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, (3 << 20) + 17].iter().enumerate()
    {
        let bytes = pattern(*size, index as u8);
        write_from(&*transport, "1:0:1", *size as u64, &mut Uneven::new(&bytes)).unwrap();
        assert_eq!(transport.stat(blob("1:0:1")).unwrap().size, *size as u64);
        assert!(stored(&*transport, blob("1:0:1")) == bytes, "{size} bytes");
    }
}

pub(crate) fn content_of_another_length_is_refused_and_the_earlier_version_stays(host: &impl Host) {
    let transport = host.transport();
    // Either side of the size up to which devices hold blobs in memory.
    for size in [100, (2 << 20) + 5] {
        let earlier = pattern(size, 1);
        write(&*transport, "1:0:1", &earlier).unwrap();
        let bytes = pattern(size, 2);
        let declared = size as u64;
        let short = write_from(&*transport, "1:0:1", declared, &mut Uneven::new(&bytes[..size - 1]));
        assert!(
            matches!(short, Err(TransportError::Length { declared: d, given: Some(g) }) if d == declared && g == declared - 1)
        );
        let long = write_from(&*transport, "1:0:1", declared - 1, &mut Uneven::new(&bytes));
        assert!(matches!(long, Err(TransportError::Length { declared: d, given: None }) if d == declared - 1));
        let mut torn = Uneven { fails: true, ..Uneven::new(&bytes[..size / 2]) };
        let failed = write_from(&*transport, "1:0:1", declared, &mut torn).unwrap_err();
        assert!(matches!(&failed, TransportError::Content(error) if error.to_string() == "the tape tore"), "{failed}");
        assert!(stored(&*transport, blob("1:0:1")) == earlier);
    }
}

pub(crate) fn an_output_that_fails_is_told_apart(host: &impl Host) {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let count = bytes.len().min(self.0);
            self.0 -= count;
            if count == 0 { Err(io::ErrorKind::StorageFull.into()) } else { Ok(count) }
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let transport = host.transport();
    let bytes = pattern(3 << 20, 3);
    write(&*transport, "1:0:1", &bytes).unwrap();
    for room in [0, 1, 2 << 20] {
        let failed = transport.read(blob("1:0:1"), ReadMode::Stored, &mut Full(room)).unwrap_err();
        assert!(
            matches!(&failed, TransportError::Output(error) if error.kind() == io::ErrorKind::StorageFull),
            "{failed}"
        );
    }
    assert!(stored(&*transport, blob("1:0:1")) == bytes);
}

pub(crate) fn a_blob_that_is_not_there_is_not_found(host: &impl Host) {
    let transport = host.transport();
    let id = blob("1:2:3");
    let missing = |outcome: Result<(), TransportError>| {
        assert!(matches!(outcome, Err(TransportError::NotFound { id: named }) if named == id));
    };
    missing(transport.read(id, ReadMode::Stored, &mut io::sink()).map(drop));
    missing(transport.stat(id).map(drop));
    missing(transport.delete(id));
    write(&*transport, "1:2:3", b"there").unwrap();
    transport.delete(id).unwrap();
    missing(transport.delete(id));
    missing(transport.stat(id).map(drop));
}

pub(crate) fn what_the_device_does_not_take_is_refused(host: &impl Host) {
    let transport = host.transport();
    assert!(matches!(write(&*transport, "1:0:1", b""), Err(TransportError::Empty)));
    let large = write_from(&*transport, "1:0:1", MAX_OBJECT_BYTES + 1, &mut io::repeat(0));
    assert!(
        matches!(large, Err(TransportError::TooLarge { size, limit }) if size == limit + 1 && limit == MAX_OBJECT_BYTES)
    );
    for (text, bytes) in [
        ("99:0:1", b"12345678".as_slice()), // no such type
        ("3:0:1", b"1234567"),              // a number has 8 bytes
        ("1:0:1", b"BAD content"),          // refused by the scheme
        ("0:0:0", b"no program"),
        ("0:0:1", b"not the program register"),
    ] {
        let refused = write(&*transport, text, bytes);
        assert!(matches!(refused, Err(TransportError::Refused(_))), "{text}: {refused:?}");
        assert!(matches!(transport.stat(blob(text)), Err(TransportError::NotFound { .. })), "{text}");
    }
}

pub(crate) fn a_full_space_keeps_what_it_has(host: &impl Host) {
    let transport = host.transport();
    let bytes = pattern(3 << 20, 9);
    write(&*transport, "1:0:1", &bytes).unwrap();
    let full = write(&*transport, "1:0:2", &pattern(2 << 20, 1)).unwrap_err();
    assert!(matches!(full, TransportError::NoSpace(_)), "{full:?}");
    let full = write(&*transport, "1:0:2", &pattern((1 << 20) + 1, 1)).unwrap_err();
    assert!(matches!(full, TransportError::NoSpace(_)), "{full:?}");
    assert_eq!(transport.list().unwrap().len(), 1);
    assert!(stored(&*transport, blob("1:0:1")) == bytes);
    transport.delete(blob("1:0:1")).unwrap();
    write(&*transport, "1:0:2", &pattern(2 << 20, 1)).unwrap();
}

/// The quota for [`a_full_space_keeps_what_it_has`].
pub(crate) const SMALL: SpaceLimits = SpaceLimits { bytes: 4 << 20, objects: u64::MAX };

pub(crate) fn a_write_runs_the_program(host: &impl Host) {
    let transport = host.transport();
    put(&*transport, metadata("3:0:2"), &number(40));
    // Without a program a number is stored as it is.
    let write = |value, mode| transport.write(&metadata("4:0:3"), 8, &mut &*number(value), mode);
    assert!(!write(5, WriteMode::Compute).unwrap().computed);
    put(&*transport, metadata("0:0:0"), &program("homadd 4:0:3, 3:0:2\nreturn 4:0:3"));
    assert!(write(2, WriteMode::Compute).unwrap().computed);
    assert_eq!(stored(&*transport, blob("4:0:3")), number(42));
    assert_eq!(stored(&*transport, blob("3:0:2")), number(40));
    assert!(!write(7, WriteMode::Stored).unwrap().computed);
    assert_eq!(stored(&*transport, blob("4:0:3")), number(7));
    // Computed, although what is stored is what was written.
    put(&*transport, metadata("0:0:0"), &program("homintmult 4:0:3, 1\nreturn 4:0:3"));
    assert!(write(7, WriteMode::Compute).unwrap().computed);
    assert_eq!(stored(&*transport, blob("4:0:3")), number(7));

    put(&*transport, metadata("0:0:0"), &program("homadd 4:0:3, 3:0:99\nreturn 4:0:3"));
    let failed = write(1, WriteMode::Compute).unwrap_err();
    assert!(matches!(failed, TransportError::ProgramFailed(_)), "{failed:?}");
    assert!(failed.to_string().contains("3:0:99"), "{failed}");
    assert_eq!(stored(&*transport, blob("4:0:3")), number(7));
}

pub(crate) fn a_read_runs_the_program_when_asked_or_armed(host: &impl Host) {
    let transport = host.transport();
    let id = blob("3:0:2");
    put(&*transport, metadata("3:0:2"), &number(21));
    let refused = get(&*transport, id, ReadMode::Compute);
    assert!(matches!(refused, Err(TransportError::Refused(_))), "there is no program: {refused:?}");
    put(&*transport, metadata("0:0:0"), &program("homintmult 3:0:2, 2\nreturn 3:0:2"));
    let (plain, doubled) = ((number(21), false), (number(42), true));
    assert_eq!(get(&*transport, id, ReadMode::Stored).unwrap(), plain);
    assert_eq!(get(&*transport, id, ReadMode::Compute).unwrap(), doubled);
    assert_eq!(get(&*transport, id, ReadMode::Armed).unwrap(), plain);

    put(&*transport, metadata("3:0:2").with_flags(ObjectFlags::ARMED), &number(21));
    for _ in 0..2 {
        assert_eq!(get(&*transport, id, ReadMode::Armed).unwrap(), doubled);
        assert_eq!(get(&*transport, id, ReadMode::Stored).unwrap(), plain);
    }
    let once = ObjectFlags::ARMED.with(ObjectFlags::ONE_SHOT);
    put(&*transport, metadata("3:0:2").with_flags(once), &number(21));
    assert_eq!(transport.stat(id).unwrap().flags, once);
    assert_eq!(get(&*transport, id, ReadMode::Armed).unwrap(), doubled);
    assert_eq!(get(&*transport, id, ReadMode::Armed).unwrap(), plain);
    assert_eq!(transport.stat(id).unwrap().flags, ObjectFlags::ONE_SHOT);

    write(&*transport, "1:0:1", b"a table").unwrap();
    let refused = get(&*transport, blob("1:0:1"), ReadMode::Compute);
    assert!(matches!(refused, Err(TransportError::Refused(_))), "a table computes nothing: {refused:?}");
    assert_eq!(get(&*transport, blob("1:0:1"), ReadMode::Armed).unwrap().0, b"a table");
}

pub(crate) fn the_list_is_ascending_and_complete(host: &impl Host) {
    let transport = host.transport();
    assert_eq!(transport.list().unwrap(), []);
    let names = ["1:9:1", "1:0:2", "3:0:1", "1:0:10", "4:7:7"];
    for name in names {
        put(&*transport, metadata(name).with_flags(ObjectFlags::ONE_SHOT), &number(1));
    }
    let list = transport.list().unwrap();
    let found: Vec<_> = list.iter().map(|stat| stat.id.to_string()).collect();
    assert_eq!(found, ["1:0:2", "1:0:10", "1:9:1", "3:0:1", "4:7:7"]);
    for stat in list {
        assert_eq!((stat.size, stat.flags), (8, ObjectFlags::ONE_SHOT));
        assert_eq!(transport.stat(stat.id).unwrap(), stat);
    }
}

pub(crate) fn readers_see_whole_versions(host: &impl Host) {
    let transport = &*host.transport();
    let versions: Vec<_> = (0..4).map(|seed| vec![seed; (1 << 20) + 4096 * seed as usize + 1]).collect();
    write(transport, "1:0:1", &versions[0]).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|_| {
                scope.spawn(|| {
                    let mut reads = 0;
                    while !done.load(Ordering::Relaxed) || reads == 0 {
                        let bytes = stored(transport, blob("1:0:1"));
                        assert!(bytes == versions[bytes[0] as usize], "a mixture");
                        reads += 1;
                    }
                })
            })
            .collect();
        for round in 0..20 {
            write(transport, "1:0:1", &versions[round % 4]).unwrap();
        }
        done.store(true, Ordering::Relaxed);
        for reader in readers {
            reader.join().unwrap();
        }
    });
}

pub(crate) fn blobs_outlive_a_restart(host: impl Host) {
    let bytes = pattern((2 << 20) + 3, 4);
    let transport = host.transport();
    put(&*transport, metadata("1:0:1").with_flags(ObjectFlags::ARMED), &bytes);
    write(&*transport, "1:0:2", b"deleted").unwrap();
    transport.delete(blob("1:0:2")).unwrap();
    let before = transport.list().unwrap();
    drop(transport);
    let host = host.restart();
    let transport = host.transport();
    assert_eq!(transport.list().unwrap(), before);
    assert_eq!(before.len(), 1);
    assert_eq!(before[0].flags, ObjectFlags::ARMED);
    assert!(stored(&*transport, blob("1:0:1")) == bytes);
}
