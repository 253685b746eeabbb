//! The full bootstrapping key of the paper's set, seeded and written out, to a served device and back.

mod support;
#[path = "../../device/tests/support/tfhe.rs"]
mod tfhe;

use ciphermill_device::{DeviceConfig, SpaceId, SpaceLimits};
use ciphermill_lattice::SecretSeed;
use ciphermill_middleware::{Metadata, ReadMode, Transport, WriteMode};
use ciphermill_program::{KeyId, VrId};
use ciphermill_tfhe::{
    ClientKey, KeyForm, KeyKind, KeySeeds, ParameterSet, SecurityPolicy, parameters::NVME_TFHE_PAPER,
};
use std::{
    fs::File,
    io::{self, BufReader, BufWriter, Read, Seek, Write},
};
use support::nvme::Served;
use tempfile::TempDir;

/// Takes what must be the bytes of a reader.
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

fn there_and_back(form: KeyForm) {
    let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
    let parameters = ParameterSet::named(NVME_TFHE_PAPER, policy).expect("the paper's set");
    let client = ClientKey::generate(&parameters, &SecretSeed::from_bytes([5; 32]));
    let directory = TempDir::new().expect("a directory");
    let mut file = File::create_new(directory.path().join("key")).expect("a file");
    let seeds = KeySeeds::from_os().expect("randomness");
    let mut writer = BufWriter::with_capacity(1 << 20, &mut file);
    client.write_bootstrap_key(form, seeds, &mut writer, &mut |_, _| {}).expect("room");
    writer.flush().expect("room");
    drop(writer);
    let size = parameters.sealed_key_len(KeyKind::Bootstrap, form);

    let store = directory.path().join("store");
    let (device, _) = tfhe::open(DeviceConfig::in_directory(&store));
    device.create_space(SpaceId(1), SpaceLimits::UNLIMITED).expect("a space");
    let served = Served::start(device, SpaceId(1), &store, 28);
    let transport = served.connect();
    let mut file = File::open(directory.path().join("key")).expect("the file");
    let register = VrId::bootstrapping_key(KeyId(0));
    let written = transport.write(&Metadata::new(register), size, &mut file, WriteMode::Compute).expect("stored");
    assert_eq!((written.stat.size, written.computed), (size, false));
    file.rewind().expect("a file");
    let mut same = Same(BufReader::with_capacity(1 << 20, file), Vec::new());
    let read = transport.read(register.into(), ReadMode::Armed, &mut same).expect("the same bytes");
    assert_eq!((read.size, read.computed), (size, false));
    assert_eq!(same.0.read(&mut [0]).expect("a file"), 0, "to the end");
}

#[test]
fn seeded() {
    there_and_back(KeyForm::Seeded);
}

#[test]
fn written_out() {
    there_and_back(KeyForm::Full);
}
