//! A device that has computed, and the proof that a refusal changed nothing.

use crate::support::*;
use ciphermill_device::handlers;
use ciphermill_device::{DeviceConfig, DeviceError, ObjectStat, ReadMode, Space};
use ciphermill_lattice::Csprng;
use ciphermill_program::KeyId;
use ciphermill_tfhe::{KeyForm, KeyOrder};
use std::fmt::Debug;

pub(crate) const KEY: KeyId = KeyId(0);

/// Every object with its content, and every ciphertext as a program sees its register.
#[derive(PartialEq)]
pub(crate) struct State {
    stored: Vec<(ObjectStat, Vec<u8>)>,
    registers: Vec<Vec<u8>>,
}

impl State {
    pub(crate) fn of(space: &Space) -> Self {
        let stored: Vec<_> = space
            .list()
            .into_iter()
            .map(|stat| (stat.clone(), space.read_bytes(stat.id, ReadMode::Stored).expect("intact")))
            .collect();
        let values = stored.iter().map(|(stat, _)| stat.id);
        let registers = values
            .filter(|id| id.type_code == handlers::tfhe::TLWE_COR || id.type_code == handlers::tfhe::TLWE_COW)
            .map(|id| space.run(&program(&format!("return {id}"))).expect("a register"))
            .collect();
        Self { stored, registers }
    }

    /// The same objects after the device was closed and opened: generations start again.
    pub(crate) fn contents(self) -> Vec<(ciphermill_program::VrId, Vec<u8>)> {
        self.stored.into_iter().map(|(stat, bytes)| (stat.id, bytes)).collect()
    }
}

/// A device with keys, table, program, two operands and one result.
pub(crate) struct Fixture {
    pub(crate) space: Space,
    pub(crate) device: ciphermill_device::Device,
    pub(crate) keys: Keys,
    pub(crate) rng: Csprng,
}

impl Fixture {
    pub(crate) fn new(config: DeviceConfig, choice: KeyOrder) -> Self {
        let (device, space) = open(config);
        let keys = Keys::new(1, KeyForm::Seeded, choice);
        let mut fixture = Self { space, device, keys, rng: rng(200) };
        fixture.keys.install(&fixture.space, KEY);
        fixture.computes();
        fixture
    }

    pub(crate) fn in_memory() -> Self {
        Self::new(DeviceConfig::in_memory(), KeyOrder::Small)
    }

    /// The largest product comes out right.
    pub(crate) fn computes(&mut self) {
        let max = self.keys.product.max();
        assert_eq!(self.keys.multiply(&self.space, KEY, (max, max - 1), &mut self.rng), max * (max - 1));
    }

    /// An operand to write.
    pub(crate) fn operand(&mut self) -> Vec<u8> {
        self.keys.operand(1, &mut self.rng)
    }

    /// `attempt` fails, its error names all `parts`, and nothing has changed: neither the store, nor a register, nor the
    /// earlier result.
    pub(crate) fn refuses<T: Debug>(
        &self,
        parts: &[&str],
        attempt: impl FnOnce(&Space) -> Result<T, DeviceError>,
    ) -> DeviceError {
        let before = State::of(&self.space);
        let error = attempt(&self.space).expect_err("a refusal");
        for part in parts {
            assert!(error.to_string().contains(part), "{part:?} is not named by: {error}");
        }
        assert!(State::of(&self.space) == before, "something changed: {error}");
        error
    }
}
