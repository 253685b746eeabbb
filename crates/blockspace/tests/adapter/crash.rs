//! Power cuts on one disk that carries the device and the volume: an oracle over acknowledged writes of blocks, and over
//! the versions of objects that programs see.

use crate::support::*;
use ciphermill_device::{
    DeviceError, ReadMode, StoreError,
    storage::{Fault, SimulatedDisk},
};
use ciphermill_nvme::{CommandError, Namespace, Status};
use std::{collections::BTreeMap, sync::Arc};
use tokio::runtime::Runtime;

/// Blocks of the largest object.
const SPAN: u64 = 12;
const OBJECTS: u64 = 4;
/// First of the plain blocks.
const PLAIN: u64 = 500;
const PLAIN_BLOCKS: u64 = 24;

/// What something may be: one state once acknowledged, more while it is not.
type States<T> = Vec<T>;

#[derive(Clone, Debug, Default)]
struct Oracle {
    /// By object; `None`: not there.
    objects: BTreeMap<u64, States<Option<Vec<u8>>>>,
    /// By block, of objects and plain ones.
    blocks: BTreeMap<u64, States<Vec<u8>>>,
}

impl Oracle {
    fn object(&mut self, object: u64) -> &mut States<Option<Vec<u8>>> {
        self.objects.entry(object).or_insert_with(|| vec![None])
    }

    fn block(&mut self, lba: u64) -> &mut States<Vec<u8>> {
        self.blocks.entry(lba).or_insert_with(|| vec![vec![0; BLOCK]])
    }

    /// A change that may or may not have happened.
    fn may(&mut self, lba: u64, data: &[u8]) {
        for (lba, block) in (lba..).zip(data.chunks(BLOCK)) {
            let states = self.block(lba);
            if !states.iter().any(|state| state == block) {
                states.push(block.to_vec());
            }
        }
    }

    fn is(&mut self, lba: u64, data: &[u8]) {
        for (lba, block) in (lba..).zip(data.chunks(BLOCK)) {
            *self.block(lba) = vec![block.to_vec()];
        }
    }
}

fn id_of(object: u64) -> String {
    // The last two compute: what is stored is the operand tripled.
    if object >= OBJECTS - 2 { format!("4:{object}:3") } else { format!("1:0:{object}") }
}

fn stored_of(object: u64, operand: &[u8]) -> Vec<u8> {
    if object < OBJECTS - 2 {
        return operand.to_vec();
    }
    let triple = |word: &[u8; 8]| u64::from_le_bytes(*word).wrapping_mul(3);
    words(&operand.as_chunks().0.iter().map(triple).collect::<Vec<_>>())
}

fn first_of(object: u64) -> u64 {
    object * 20
}

/// Programs that a namespace needs once; an error is the power going.
fn prepare(bench: &Bench) -> Result<(), CommandError> {
    for object in OBJECTS - 2..OBJECTS {
        if bench.stored(&format!("0:{object}:0")).is_none() {
            let code = program(&format!("homintmult 4:{object}:3, 3\nreturn 4:{object}:3"));
            bench.try_put(200 + object, checked(&format!("0:{object}:0"), &code), &code)?;
        }
    }
    Ok(())
}

/// One object written again in pieces and any order.
fn put(bench: &Bench, oracle: &mut Oracle, object: u64, dice: &mut Dice) -> Result<(), CommandError> {
    let first = first_of(object);
    let size = 8 * (1 + dice.below(SPAN * BLOCK as u64 / 8));
    let operand = pattern(size as usize, dice.below(1 << 30));
    let (blocks, result) = (padded(&operand), stored_of(object, &operand));
    let mut shown = padded(&result);
    shown.resize(SPAN as usize * BLOCK, 0);
    if dice.below(3) == 0 {
        // What is left of an earlier attempt would count.
        // Given-up blocks show the object as it is in the device, or nothing when it has no place.
        let stored = settled(bench, oracle, object)?;
        let mut content = padded(&stored.filter(|_| placed(bench, object)).unwrap_or_default());
        content.resize(SPAN as usize * BLOCK, 0);
        oracle.may(first, &content);
        bench.deallocate(first..first + SPAN)?;
        oracle.is(first, &content);
    }
    let id = id_of(object);
    let metadata = checked(&id, &operand);
    // The metadata block, and pieces of the blocks.
    let mut steps: Vec<Option<(usize, usize)>> = vec![None];
    let (mut at, count) = (0, blocks.len() / BLOCK);
    while at < count {
        let take = (1 + dice.below(6) as usize).min(count - at);
        steps.push(Some((at, at + take)));
        at += take;
    }
    for index in (1..steps.len()).rev() {
        steps.swap(index, dice.below(index as u64 + 1) as usize);
    }
    // From here on either version may be the one that programs see, and that blocks show.
    oracle.object(object).push(Some(result.clone()));
    let last = steps.len() - 1;
    for (index, step) in steps.into_iter().enumerate() {
        if index == last {
            oracle.may(first, &shown);
        }
        match step {
            None => bench.try_declare(first, metadata)?,
            Some((from, to)) => {
                let (lba, data) = (first + from as u64, &blocks[from * BLOCK..to * BLOCK]);
                oracle.may(lba, data);
                bench.try_write(lba, data.to_vec())?;
                if index != last {
                    oracle.is(lba, data);
                }
            }
        }
    }
    *oracle.object(object) = vec![Some(result)];
    // Blocks behind a shorter version are the overlay's still, or zeros.
    let covered = padded(&stored_of(object, &operand)).len() / BLOCK;
    oracle.is(first, &shown[..covered * BLOCK]);
    for lba in first + covered as u64..first + SPAN {
        let now = bench.try_read(lba, 1)?;
        let states = oracle.block(lba);
        assert!(states.contains(&now), "block {lba} behind object {id}");
        *states = vec![now];
    }
    Ok(())
}

/// The contents of the device. The power may have gone behind an answer: then it cannot be read.
fn held(bench: &Bench, object: u64) -> Result<Option<Vec<u8>>, CommandError> {
    match bench.registers().read_bytes(register(&id_of(object)), ReadMode::Stored) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(DeviceError::Store(StoreError::NotFound { .. })) => Ok(None),
        Err(error) => Err(CommandError::new(Status::INTERNAL_ERROR, error.to_string())),
    }
}

/// The view of programs on an object when no command is in progress: the one state that it may be in.
fn settled(bench: &Bench, oracle: &mut Oracle, object: u64) -> Result<Option<Vec<u8>>, CommandError> {
    let now = held(bench, object)?;
    assert!(*oracle.object(object) == [now.clone()], "object {object}");
    Ok(now)
}

/// Whether the object is bound where it is put. One that is stored is, also when the power went between the device and the
/// volume.
fn placed(bench: &Bench, object: u64) -> bool {
    let id = register(&id_of(object));
    let entries = bench.space.directory(id, 1).entries;
    let placed = entries.iter().any(|entry| entry.id == id && entry.lba == Some(first_of(object)));
    let stored = bench.stored(&id_of(object)).is_some();
    assert!(placed || !stored, "object {object} has no place");
    placed
}

fn delete(bench: &Bench, oracle: &mut Oracle, object: u64) -> Result<(), CommandError> {
    let first = first_of(object);
    let now = settled(bench, oracle, object)?;
    if placed(bench, object) {
        oracle.object(object).push(None);
        // Blocks above the object stay, the others show nothing.
        oracle.may(first, &vec![0; SPAN as usize * BLOCK]);
        bench.deallocate(HALF + first..HALF + first + 1)?;
        assert!(held(bench, object)?.is_none(), "object {object} is deleted");
        *oracle.object(object) = vec![None];
        for lba in first..first + SPAN {
            let now = bench.try_read(lba, 1)?;
            assert!(oracle.block(lba).contains(&now), "block {lba} of deleted object {object}");
            oracle.is(lba, &now);
        }
    } else {
        bench.deallocate(HALF + first..HALF + first + 1)?;
        assert!(held(bench, object)? == now, "object {object} is no place's");
    }
    Ok(())
}

fn plain(bench: &Bench, oracle: &mut Oracle, dice: &mut Dice) -> Result<(), CommandError> {
    let from = dice.below(PLAIN_BLOCKS);
    let blocks = 1 + dice.below((PLAIN_BLOCKS - from).min(8));
    let (lba, erase) = (PLAIN + from, dice.below(6) == 0);
    let data = match erase {
        true => vec![0; blocks as usize * BLOCK],
        false => pattern(blocks as usize * BLOCK, dice.below(1 << 30)),
    };
    oracle.may(lba, &data);
    match erase {
        true => bench.zero(lba, blocks as u32)?,
        false => bench.try_write(lba, data.clone())?,
    }
    oracle.is(lba, &data);
    Ok(())
}

/// Commands until the power goes or they are done.
fn work(bench: &Bench, oracle: &mut Oracle, dice: &mut Dice) -> Result<(), CommandError> {
    prepare(bench)?;
    for _ in 0..12 {
        let object = dice.below(OBJECTS);
        match dice.below(8) {
            0 | 1 => plain(bench, oracle, dice)?,
            2 => delete(bench, oracle, object)?,
            _ => put(bench, oracle, object, dice)?,
        }
    }
    Ok(())
}

/// Compares, and settles on the present state.
fn check(bench: &Bench, oracle: &mut Oracle, context: &str) {
    for (object, states) in &mut oracle.objects {
        let id = id_of(*object);
        let now = bench.stored(&id);
        let tell = |state: &Option<Vec<u8>>| state.as_ref().map(|bytes| (bytes.len(), crc32c::crc32c(bytes)));
        assert!(
            states.contains(&now),
            "{context}: object {id} is {:?}, neither acknowledged nor in flight: {:?}",
            tell(&now),
            states.iter().map(tell).collect::<Vec<_>>()
        );
        if let Some(record) = bench.record(first_of(*object)).filter(|record| record.object_crc32c.is_some()) {
            assert_eq!(record.id, register(&id), "{context}: the record of another");
        }
        *states = vec![now];
    }
    for (lba, states) in &mut oracle.blocks {
        let now = bench.try_read(*lba, 1).unwrap_or_else(|error| panic!("{context}: block {lba}: {error}"));
        assert!(states.contains(&now), "{context}: block {lba} is neither acknowledged nor in flight");
        *states = vec![now];
    }
    let metrics = bench.space.metrics();
    let listed = bench.registers().list().len() as u64;
    assert!(metrics.bound <= listed, "{context}: {metrics:?}, {listed} objects");
}

/// A life of several power cuts; returns how many of them met an open namespace.
fn life(seed: u64, cuts: u64, runtime: &Arc<Runtime>) -> u64 {
    let mut dice = Dice(seed | 1);
    let mut disk = SimulatedDisk::new();
    let mut oracle = Oracle::default();
    let mut idle = 0;
    for cut in 0..cuts {
        let span = [10, 40, 120][dice.below(3) as usize];
        // One cut in five may come while the namespace is opened.
        let while_opened = dice.below(5) == 0;
        let after = dice.below(span);
        let plan_cut = || disk.inject(Fault::PowerLossAt(disk.operations() + after));
        if while_opened {
            plan_cut();
        }
        let context = format!("seed {seed}, cut {cut}");
        match Bench::on(&disk, runtime) {
            Err(OpenError::Space(error)) if error.to_string().contains("label") => panic!("{context}: {error}"),
            Err(_) => idle += 1,
            Ok(bench) => {
                if !while_opened {
                    plan_cut();
                }
                drop(work(&bench, &mut oracle, &mut dice));
            }
        }
        disk = disk.crash(dice.below(u64::MAX >> 8));
        let bench = Bench::on(&disk, runtime).unwrap_or_else(|error| panic!("{context}: {error:?}"));
        check(&bench, &mut oracle, &context);
        // A second start finds the same.
        drop(bench);
        let bench = Bench::on(&disk, runtime).unwrap_or_else(|error| panic!("{context}: {error:?}"));
        check(&bench, &mut oracle.clone(), &context);
    }
    cuts - idle
}

/// Lives of ten power cuts each; returns how many cuts met an open namespace.
fn lives(number: u64, from: u64) -> u64 {
    let runtime = runtime();
    (from..from + number).map(|seed| life(seed, 10, &runtime)).sum()
}

#[test]
fn no_power_cut_loses_an_acknowledged_write_or_tears_an_object() {
    let (number, least) = if evidence() { (200, 1500) } else { (12, 90) };
    let cuts = lives(number, 1);
    println!("evidence: adapter power cuts {cuts}");
    assert!(cuts >= least, "{cuts} power cuts met an open namespace");
}

#[test]
fn no_power_cut_with_a_fresh_seed_either() {
    // Shifted, so that there is a next number.
    lives(2, ciphermill_testing::fresh_seed("power cuts") >> 4);
}

/// The power goes after each operation in turn of one completion, one deletion and one move to another place, so that
/// every step between device and volume is hit.
#[test]
fn every_step_of_every_transition_is_harmless() {
    type Transition = fn(&Bench) -> Result<(), CommandError>;
    let (old, new) = (pattern(3 * BLOCK, 1), pattern(4 * BLOCK, 2));
    let transitions: [(&str, Transition); 5] = [
        ("replaced at once", |bench| {
            let new = pattern(4 * BLOCK, 2);
            bench.try_put(0, checked("1:0:1", &new), &new)
        }),
        ("replaced in pieces", |bench| {
            let new = pattern(4 * BLOCK, 2);
            bench.try_write(2, new[2 * BLOCK..].to_vec())?;
            bench.try_write(0, new[..2 * BLOCK].to_vec())?;
            bench.try_declare(0, checked("1:0:1", &new))
        }),
        ("deleted", |bench| bench.zero(HALF, 1)),
        ("renamed", |bench| bench.try_declare(0, metadata("1:0:2", 1))),
        ("moved", |bench| {
            let new = pattern(4 * BLOCK, 2);
            bench.try_put(40, checked("1:0:1", &new), &new)
        }),
    ];
    let runtime = runtime();
    let mut cuts = 0;
    for (name, transition) in transitions {
        for step in 0.. {
            let disk = SimulatedDisk::new();
            let bench = Bench::on(&disk, &runtime).expect("a namespace");
            bench.put(0, checked("1:0:1", &old), &old);
            let cut = disk.operations() + step;
            disk.inject(Fault::PowerLossAt(cut));
            let done = transition(&bench).is_ok();
            // The answer comes before the volume has followed the device.
            drop(bench);
            let ended = disk.operations() <= cut;
            let disk = disk.crash(step * 7 + 1);
            let context = format!("{name}, step {step}");
            let bench = Bench::on(&disk, &runtime).unwrap_or_else(|error| panic!("{context}: {error:?}"));
            let stored = bench.stored("1:0:1");
            let gone = matches!(name, "deleted" | "renamed");
            let after = if gone { None } else { Some(new.clone()) };
            assert!(stored == after || (!done && stored == Some(old.clone())), "{context}");
            // Sent again, the commands bring about the same.
            if done && !gone {
                let first = if name == "moved" { 40 } else { 0 };
                assert!(bench.read(first, 4) == new, "{context}: what was acknowledged is shown");
            }
            transition(&bench).unwrap_or_else(|error| panic!("{context}: again: {error}"));
            assert!(bench.stored("1:0:1") == after, "{context}: again");
            let (first, shown) =
                if name == "moved" { (40, new.clone()) } else { (0, after.unwrap_or(vec![0; 4 * BLOCK])) };
            assert!(bench.read(first, 4) == shown, "{context}: again");
            assert_eq!(bench.space.metrics().bound, u64::from(!gone), "{context}");
            if ended {
                assert!(done, "{context}");
                break;
            }
            cuts += 1;
        }
    }
    println!("{cuts} power cuts");
    assert!(cuts >= 25, "{cuts}");
}

/// A write of as many blocks as Identify reports as atomic is old or new as a whole after a power cut, over plain blocks,
/// over an object, and across the half with a metadata block in it.
#[test]
fn a_write_of_the_atomic_unit_is_made_whole_or_not_at_all() {
    let runtime = runtime();
    let mut cuts = 0;
    let starts = [PLAIN, 0, HALF - 8];
    for start in starts {
        for step in 0.. {
            let disk = SimulatedDisk::new();
            let bench = Bench::on(&disk, &runtime).expect("a namespace");
            let unit = bench.space.properties().atomic_blocks as usize;
            assert_eq!(unit, 32);
            let object = pattern(2 * SPAN as usize * BLOCK, 9);
            bench.put(0, checked("1:0:1", &object), &object);
            let (old, mut new) = (pattern(unit * BLOCK, 1), pattern(unit * BLOCK, 2));
            bench.write(start, old.clone());
            if start == HALF - 8 {
                // The metadata block of an object at block 20.
                let at = 28 * BLOCK;
                new[at..at + BLOCK].copy_from_slice(&metadata("1:0:2", BLOCK).encode());
            }
            let cut = disk.operations() + step;
            disk.inject(Fault::PowerLossAt(cut));
            let done = bench.try_write(start, new.clone()).is_ok();
            drop(bench);
            let ended = disk.operations() <= cut;
            let bench = Bench::on(&disk.crash(step * 7 + 3), &runtime).expect("a namespace");
            let found = bench.read(start, unit as u32);
            let context = format!("{start}, step {step}");
            assert!(found == new || !done && found == old, "{context}: done {done}");
            if ended {
                assert!(done, "{context}");
                break;
            }
            cuts += 1;
        }
    }
    println!("{cuts} power cuts");
    assert!(cuts >= 6, "{cuts}");
}
