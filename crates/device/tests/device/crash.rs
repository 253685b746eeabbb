//! Power losses: an oracle of acknowledged writes against a disk that keeps, loses, reorders and tears the rest.

use crate::support::*;
use ciphermill_device::{
    Device, DeviceConfig, DeviceError, ObjectFlags, ReadMode, Space, SpaceId, StoreError, StoreFiles, WriteOptions,
    storage::{Fault, SimulatedDisk},
    store::INLINE_BYTES,
};
use ciphermill_program::VrId;
use std::{collections::BTreeMap, sync::Arc, thread};

/// The possible contents of each object: `None` is "not there". More than one state only for unacknowledged changes.
type Oracle = BTreeMap<VrId, Vec<Option<Vec<u8>>>>;

fn open_on(disk: &SimulatedDisk) -> Result<(Device, Space), DeviceError> {
    let config = DeviceConfig::in_files(StoreFiles::on_simulated_disk(disk));
    let device = Device::open(config, vec![Arc::new(Toy::default())])?;
    let space = device.space(SpaceId::EMBEDDED)?;
    Ok((device, space))
}

fn some_value(dice: &mut Dice) -> Vec<u8> {
    let words = match dice.below(20) {
        0 => 140_000,
        1..=4 => 1 + dice.below(4000),
        // Around the border between bytes in the table and bytes in extents.
        5..=8 => INLINE_BYTES / 8 - 1 + dice.below(3),
        _ => 1 + dice.below(300),
    };
    value(dice.below(1 << 30), words)
}

/// Changes objects `first..first + 6` until something fails (the power goes) or the steps are done.
fn change(space: &Space, oracle: &mut Oracle, first: u32, dice: &mut Dice, steps: u64) {
    for _ in 0..steps {
        let id = vr(1, 0, first + dice.below(6) as u32);
        let states = oracle.entry(id).or_insert_with(|| vec![None]);
        let choice = dice.below(8);
        let (new, outcome) = if choice == 0 {
            (None, space.delete(id))
        } else if choice == 1 && states.len() == 1 {
            // A record written again with the same content.
            (states[0].clone(), space.set_flags(id, ObjectFlags::ARMED))
        } else {
            let bytes = some_value(dice);
            let outcome = space.write_bytes(id, &bytes, WriteOptions::default()).map(drop);
            (Some(bytes), outcome)
        };
        match outcome {
            Ok(()) => *states = vec![new],
            Err(DeviceError::Store(StoreError::NotFound { .. })) => assert_eq!(states[..], [None]),
            Err(_) => {
                states.push(new);
                return;
            }
        }
    }
}

/// Compares the present state with the possible ones, and settles it.
fn check(space: &Space, oracle: &mut Oracle, context: &str) {
    let mut seen = BTreeMap::new();
    for stat in space.list() {
        let bytes = space.read_bytes(stat.id, ReadMode::Stored).unwrap_or_else(|error| panic!("{context}: {error}"));
        seen.insert(stat.id, bytes);
    }
    for (id, states) in oracle {
        let now = seen.remove(id);
        assert!(states.contains(&now), "{context}: {id} is neither acknowledged nor in flight");
        *states = vec![now];
    }
    assert!(seen.is_empty(), "{context}: objects nobody wrote: {:?}", seen.keys());
}

/// A life of several power losses; returns their number, and how many objects were found in the table and in extents.
fn life(seed: u64, threads: u32) -> [usize; 3] {
    let mut dice = Dice(seed | 1);
    let mut disk = SimulatedDisk::new();
    let mut oracles = vec![Oracle::new(); threads as usize];
    let (mut losses, mut inline, mut extents) = (0, 0, 0);
    for round in 0..10 {
        let span = [12, 60, 200][dice.below(3) as usize];
        disk.inject(Fault::PowerLossAt(disk.operations() + dice.below(span)));
        let context = format!("seed {seed}, {threads} threads, round {round}");
        match open_on(&disk) {
            Err(DeviceError::Store(StoreError::Corrupt { what })) => panic!("{context}: {what}"),
            Err(_) => {}
            Ok((_device, space)) => {
                let mut joined = Oracle::new();
                oracles.iter().for_each(|oracle| joined.extend(oracle.clone()));
                let seeds: Vec<u64> = oracles.iter().map(|_| dice.below(u64::MAX >> 8) | 1).collect();
                thread::scope(|scope| {
                    for (index, (oracle, seed)) in oracles.iter_mut().zip(seeds).enumerate() {
                        let space = &space;
                        scope.spawn(move || change(space, oracle, index as u32 * 10, &mut Dice(seed), 25));
                    }
                });
            }
        }
        disk = disk.crash(dice.below(u64::MAX >> 8));
        losses += 1;
        let (_device, space) = open_on(&disk).unwrap_or_else(|error| panic!("{context}: {error}"));
        let mut joined = Oracle::new();
        oracles.iter().for_each(|oracle| joined.extend(oracle.clone()));
        check(&space, &mut joined, &context);
        let small = space.list().iter().filter(|stat| stat.size <= INLINE_BYTES).count();
        (inline, extents) = (inline + small, extents + space.list().len() - small);
        for oracle in &mut oracles {
            for (id, states) in oracle {
                states.clone_from(&joined[id]);
            }
        }
    }
    [losses, inline, extents]
}

#[test]
fn no_power_loss_loses_an_acknowledged_write_or_shows_a_torn_one() {
    let lives = (1..=16).map(|seed| life(seed, 1)).chain((1..=6).map(|seed| life(seed, 3)));
    let [losses, inline, extents] = lives.fold([0; 3], |sum, life| std::array::from_fn(|i| sum[i] + life[i]));
    assert!(losses >= 200 && inline > 100 && extents > 100, "{losses} losses, {inline} inline, {extents} in extents");
}

#[test]
fn no_power_loss_with_a_fresh_seed_either() {
    let seed = ciphermill_testing::fresh_seed("power losses") >> 4;
    life(seed, 1);
    life(seed, 3);
}
