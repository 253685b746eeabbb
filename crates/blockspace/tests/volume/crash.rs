//! Power cuts: an oracle of acknowledged changes against a disk that keeps, loses, reorders and tears the rest.
//!
//! `VOLUME_POWER_CUTS` sets how many cuts are made (200 without it); `VOLUME_SEED` where to begin.

use crate::support::*;
use ciphermill_blockspace::volume::{Volume, VolumeError};
use ciphermill_storage::{Fault, SimulatedDisk};
use std::{
    env,
    sync::mpsc::{Receiver, channel},
};

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().unwrap_or_else(|_| panic!("{name}={text} is no number")))
}

/// A change that was handed in, and how it came out.
struct Sent {
    space: u32,
    steps: Vec<Step>,
    outcome: Receiver<Result<(), VolumeError>>,
}

/// The states that a volume may be in. A change is made after all changes handed in before it. So a cut leaves
/// a prefix of them, not shorter than the acknowledged changes.
fn possible(before: &Model, sent: &[Sent]) -> Vec<Model> {
    let mut model = before.clone();
    let mut states = vec![model.clone()];
    for Sent { space, steps, outcome } in sent {
        let acknowledged = outcome.try_recv();
        model.apply(*space, steps);
        if let Ok(Ok(())) = acknowledged {
            states.clear();
        }
        states.push(model.clone());
    }
    states
}

fn send(volume: &Volume, dice: &mut Dice, tag: &mut u64, changes: u64) -> Vec<Sent> {
    (0..changes)
        .map(|index| {
            let (space, steps) = (dice.below(2) as u32, some_steps(dice, 150, tag));
            let (sender, outcome) = channel();
            let done = Box::new(move |result| drop(sender.send(result)));
            volume.submit(change(space, &steps), done);
            let sent = Sent { space, steps, outcome };
            // Mostly in bursts, so that groups form; sometimes one by one.
            if index % (1 + dice.below(9)) == 0 {
                let result = sent.outcome.recv().expect("an answer");
                let (sender, outcome) = channel();
                drop(sender.send(result));
                return Sent { outcome, ..sent };
            }
            sent
        })
        .collect()
}

/// The contents of the disk must be one of `states`. Returns the matching one.
fn settle(disk: &SimulatedDisk, states: Vec<Model>, context: &str) -> Model {
    let volume = open_on(disk).unwrap_or_else(|error| panic!("{context}: {error}"));
    let count = states.len();
    let fits = |model: &Model| {
        let labels = model.labels.iter().all(|(key, label)| volume.label(key.0, key.1).as_ref() == Some(label));
        let usage = volume.usage().spaces;
        labels
            && usage.labels == model.labels.len() as u64
            && usage.mapped == model.blocks.len() as u64
            && model
                .blocks
                .iter()
                .all(|(key, tag)| volume.checksums(key.0, key.1, 1) == [Some(crc32c::crc32c(&block(*tag)))])
    };
    let found = states.into_iter().find(fits);
    let model = found.unwrap_or_else(|| panic!("{context}: none of {count} possible states"));
    model.check(&volume, context);
    model
}

/// A life of several cuts; returns their number.
fn life(seed: u64, rounds: u64) -> u64 {
    let mut dice = Dice(seed);
    let mut disk = SimulatedDisk::new();
    let (mut model, mut tag, mut cuts) = (Model::default(), 0, 0);
    for round in 0..rounds {
        let context = format!("seed {seed}, round {round}");
        let span = [4, 20, 80, 250][dice.below(4) as usize];
        disk.inject(Fault::PowerLossAt(disk.operations() + dice.below(span)));
        let mut states = vec![model.clone()];
        match open_on(&disk) {
            Err(VolumeError::Corrupt { what }) => panic!("{context}: {what}"),
            Err(_) => {}
            Ok(volume) => {
                let count = 1 + dice.below(60);
                let sent = send(&volume, &mut dice, &mut tag, count);
                drop(volume);
                states = possible(&model, &sent);
            }
        }
        disk = disk.crash(dice.next());
        cuts += 1;
        // The power also goes while a volume recovers, several times over.
        while dice.below(3) == 0 {
            disk.inject(Fault::PowerLossAt(disk.operations() + dice.below(30)));
            if let Err(VolumeError::Corrupt { what }) = open_on(&disk) {
                panic!("{context}, in recovery: {what}");
            }
            disk = disk.crash(dice.next());
            cuts += 1;
        }
        model = settle(&disk, states, &context);
    }
    cuts
}

#[test]
fn no_power_cut_loses_an_acknowledged_change_or_shows_half_of_one() {
    let wanted = number("VOLUME_POWER_CUTS").unwrap_or(200);
    let mut seed = number("VOLUME_SEED").unwrap_or(1);
    let mut cuts = 0;
    while cuts < wanted {
        cuts += life(seed, 12);
        seed += 1;
    }
    println!("{cuts} power cuts in lives up to seed {seed}");
}

#[test]
fn no_power_cut_with_a_fresh_seed_either() {
    life(ciphermill_testing::fresh_seed("power cuts") >> 4, 12);
}
