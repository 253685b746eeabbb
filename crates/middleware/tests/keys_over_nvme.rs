//! The full bootstrapping key of the paper's set, seeded and written out, to a served device and back.

use crate::support::nvme::Served;
use ciphermill_device::handlers;
use ciphermill_device::{DeviceConfig, SpaceId, SpaceLimits};
use ciphermill_lattice::SecretSeed;
use ciphermill_middleware::{Metadata, ReadMode, Transport, WriteMode};
use ciphermill_program::KeyId;
use ciphermill_tfhe::{
    ClientKey, KeyForm, KeyKind, KeySeeds, ParameterSet, SecurityPolicy, parameters::NVME_TFHE_PAPER,
};
use std::{
    fs::File,
    io::{self, BufReader, BufWriter, Read, Seek, Write},
    path::PathBuf,
    thread,
};
use tempfile::TempDir;

/// Bytes before the part of a sealed object that its checksum is of, and bytes of that checksum at the end.
const ENVELOPE: usize = 24;
const TRAILER: u64 = 4;

/// Accepts only the bytes of a reader.
struct Same<R>(R, Vec<u8>);

impl<R: Read> Write for Same<R> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.1.resize(bytes.len(), 0);
        self.0.read_exact(&mut self.1)?;
        if self.1 == bytes { Ok(bytes.len()) } else { Err(io::Error::other("other bytes came back")) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Keeps the first written bytes; then it fails.
#[derive(Debug)]
struct Beginning(Vec<u8>);

impl Write for Beginning {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() >= 1 << 20 {
            return Err(io::Error::other("enough"));
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The full bootstrapping key of the paper's set, written out, and the seeded form of the same key, whose elements are the
/// bodies of the other: to encrypt it a second time would take longer than anything else here.
struct KeyFiles {
    parameters: ParameterSet,
    directory: TempDir,
}

impl KeyFiles {
    fn new() -> Self {
        let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
        let parameters = ParameterSet::named(NVME_TFHE_PAPER, policy).expect("the paper's set");
        let client = ClientKey::generate(&parameters, &SecretSeed::from_bytes([5; 32]));
        let files = Self { parameters, directory: TempDir::new().expect("a directory") };
        let seeds = || KeySeeds::from_bytes([6; 32], [7; 32]);
        let mut full = BufWriter::with_capacity(1 << 20, files.create(KeyForm::Full));
        client.write_bootstrap_key(KeyForm::Full, seeds(), &mut full, &mut |_, _| {}).expect("room");
        full.flush().expect("room");
        let mut beginning = Beginning(Vec::new());
        client.write_bootstrap_key(KeyForm::Seeded, seeds(), &mut beginning, &mut |_, _| {}).expect_err("cut off");
        files.write_bodies(&beginning.0).expect("room");
        files
    }

    fn path(&self, form: KeyForm) -> PathBuf {
        self.directory.path().join(format!("{form:?}"))
    }

    fn create(&self, form: KeyForm) -> File {
        File::create_new(self.path(form)).expect("a file")
    }

    fn size(&self, form: KeyForm) -> u64 {
        self.parameters.sealed_key_len(KeyKind::Bootstrap, form)
    }

    /// Each row of the written-out key is its mask polynomials, then its body. The first bytes of the encryption of the
    /// seeded key give the header, and must equal its beginning.
    fn write_bodies(&self, beginning: &[u8]) -> io::Result<()> {
        let spec = self.parameters.spec();
        let masks = spec.glwe_dimension.0 as u64;
        let polynomial = usize::from(spec.polynomial_size) * spec.torus.bits() as usize / 8;
        let bodies = (self.size(KeyForm::Full) - self.size(KeyForm::Seeded)) / masks;
        let header = self.size(KeyForm::Seeded) - bodies - TRAILER;
        let mut full = BufReader::with_capacity(1 << 20, File::open(self.path(KeyForm::Full))?);
        full.seek_relative(header as i64)?;
        let header = &beginning[..header as usize];
        let mut seeded = BufWriter::with_capacity(1 << 20, self.create(KeyForm::Seeded));
        seeded.write_all(header)?;
        let mut checksum = crc32c::crc32c(&header[ENVELOPE..]);
        let (mut row, mut compared) = (vec![0; (masks as usize + 1) * polynomial], header.len());
        for _ in 0..bodies / polynomial as u64 {
            full.read_exact(&mut row)?;
            let body = &row[masks as usize * polynomial..];
            let expected = &beginning[compared..beginning.len().min(compared + polynomial)];
            assert!(body.starts_with(expected), "not the body of that row");
            compared += expected.len();
            checksum = crc32c::crc32c_append(checksum, body);
            seeded.write_all(body)?;
        }
        assert_eq!(compared, beginning.len());
        seeded.write_all(&checksum.to_le_bytes())?;
        seeded.flush()
    }

    fn there_and_back(&self, form: KeyForm) {
        let store = TempDir::new().expect("a directory");
        let (device, _) = crate::scheme::open(DeviceConfig::in_directory(store.path()));
        device.create_space(SpaceId(1), SpaceLimits::UNLIMITED).expect("a space");
        let served = Served::start(device, SpaceId(1), store.path(), 28);
        let transport = served.connect();
        let mut file = File::open(self.path(form)).expect("the file");
        let (register, size) = (handlers::tfhe::bootstrapping_key(KeyId(0)), self.size(form));
        let written = transport.write(&Metadata::new(register), size, &mut file, WriteMode::Compute).expect("stored");
        assert_eq!((written.stat.size, written.computed), (size, false));
        file.rewind().expect("a file");
        let mut same = Same(BufReader::with_capacity(1 << 20, file), Vec::new());
        let read = transport.read(register.into(), ReadMode::Armed, &mut same).expect("the same bytes");
        assert_eq!((read.size, read.computed), (size, false));
        assert_eq!(same.0.read(&mut [0]).expect("a file"), 0, "to the end");
    }
}

#[test]
fn seeded_and_written_out() {
    let files = KeyFiles::new();
    // Side by side: one waits for the disk while the other computes checksums.
    thread::scope(|scope| {
        scope.spawn(|| files.there_and_back(KeyForm::Seeded));
        files.there_and_back(KeyForm::Full);
    });
}
