//! Many submitters, readers and a scrub at once.

use crate::support::*;
use ciphermill_blockspace::volume::{BLOCK_BYTES, Volume, VolumeConfig, VolumeError, VolumeFiles};
use ciphermill_storage::SimulatedDisk;
use std::{
    ops::ControlFlow,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc::channel,
    },
    thread,
};

/// Four writers, each with a separate space, while readers look at pairs of blocks that are always changed together.
#[test]
fn readers_never_see_half_a_change_nor_a_block_written_anew() {
    let disk = SimulatedDisk::new();
    let volume = open_on(&disk).expect("open");
    for space in 0..4 {
        volume.commit(change(space, &[Step::Write(0, vec![1; 4])])).expect("write");
    }
    let stop = AtomicBool::new(false);
    let reads = AtomicU64::new(0);
    let models: Vec<Model> = thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let mut out = vec![0; 4 * BLOCK_BYTES];
                while !stop.load(Ordering::Relaxed) {
                    for space in 0..4 {
                        volume.read(space, 0, &mut out).expect("read");
                        let (first, rest) = out.split_at(BLOCK_BYTES);
                        assert!(rest.chunks(BLOCK_BYTES).all(|block| block == first), "half a change of {space}");
                        reads.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let report = volume.scrub(&mut |_| ControlFlow::Continue(())).expect("scrub");
                assert_eq!(report.damaged, 0);
            }
        });
        let writers: Vec<_> = (0..4u32)
            .map(|space| {
                let volume = &volume;
                scope.spawn(move || {
                    let mut dice = Dice(u64::from(space));
                    let (mut model, mut tag) = (Model::default(), u64::from(space) << 32);
                    for _ in 0..300 {
                        tag += 1;
                        let mut steps = vec![Step::Write(0, vec![tag; 4])];
                        let moved = some_steps(&mut dice, 60, &mut tag).into_iter().map(|step| match step {
                            Step::Write(lba, tags) => Step::Write(lba + 4, tags),
                            Step::Zero(lba, blocks) => Step::Zero(lba + 4, blocks),
                            Step::Unmap(lba, blocks) => Step::Unmap(lba + 4, blocks),
                            other => other,
                        });
                        steps.extend(moved);
                        volume.commit(change(space, &steps)).expect("commit");
                        model.apply(space, &steps);
                    }
                    model
                })
            })
            .collect();
        let models = writers.into_iter().map(|writer| writer.join().expect("writer")).collect();
        stop.store(true, Ordering::Relaxed);
        models
    });
    assert!(reads.load(Ordering::Relaxed) > 100);
    let mut all = Model::default();
    for model in models {
        all.blocks.extend(model.blocks);
        all.labels.extend(model.labels);
    }
    all.check(&volume, "after all");
    let metrics = volume.metrics();
    assert_eq!(metrics.changes, 4 + 4 * 300);
    assert!(metrics.groups <= metrics.changes && metrics.checkpoints > 20, "{metrics:?}");
    drop(volume);
    all.check(&open_on(&disk).expect("reopen"), "reopened");
}

#[test]
fn what_was_submitted_before_the_last_drop_is_durable_and_in_order() {
    let disk = SimulatedDisk::new();
    let volume = open_on(&disk).expect("open");
    let (sender, receiver) = channel();
    for tag in 1..=200u64 {
        let sender = sender.clone();
        let done = Box::new(move |outcome: Result<(), VolumeError>| _ = sender.send((tag, outcome.is_ok())));
        volume.submit(change(1, &[Step::Write(tag % 3, vec![tag])]), done);
    }
    drop((volume, sender));
    assert_eq!(receiver.iter().collect::<Vec<_>>(), (1..=200).map(|tag| (tag, true)).collect::<Vec<_>>());
    let mut model = Model::default();
    model.apply(1, &[Step::Write(0, vec![198, 199, 200])]);
    model.check(&open_on(&disk).expect("reopen"), "reopened");
}

#[test]
fn a_volume_may_be_dropped_by_a_callback_and_callbacks_may_panic() {
    let disk = SimulatedDisk::new();
    let volume = open_on(&disk).expect("open");
    let (sender, receiver) = channel();
    let held = volume.clone();
    volume.submit(change(1, &[Step::Write(0, vec![1])]), Box::new(|_| panic!("a callback's own fault")));
    let last = Box::new(move |outcome: Result<(), VolumeError>| {
        drop(held);
        let _ = sender.send(outcome.is_ok());
    });
    volume.submit(change(1, &[Step::Write(1, vec![2])]), last);
    drop(volume);
    assert_eq!(receiver.recv(), Ok(true));
    // The thread may still hold the files for a moment; the disk has all of it already.
    let mut model = Model::default();
    model.apply(1, &[Step::Write(0, vec![1, 2])]);
    model.check(&open_on(&disk.crash(1)).expect("reopen"), "reopened");
}

#[test]
fn a_full_queue_says_busy_and_whoever_waits_gets_through() {
    let config = VolumeConfig { queue_bytes: 100_000, ..tiny() };
    let volume = Volume::open(VolumeFiles::in_memory(), config).expect("open");
    // The writer is kept busy by a callback that waits.
    let (release, gate) = channel::<()>();
    let (started, running) = channel();
    let hold = Box::new(move |_| {
        let _ = started.send(());
        let _ = gate.recv();
    });
    volume.submit(change(1, &[Step::Write(0, vec![1])]), hold);
    running.recv().expect("running");
    let (busy, accepted) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    for lba in 0..100 {
        let (busy, accepted) = (Arc::clone(&busy), Arc::clone(&accepted));
        let done = Box::new(move |outcome: Result<(), VolumeError>| match outcome {
            Ok(()) => drop(accepted.fetch_add(1, Ordering::Relaxed)),
            Err(VolumeError::Busy { queued, limit: 100_000 }) if queued <= 100_000 => {
                busy.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => panic!("{error}"),
        });
        volume.submit(change(1, &[Step::Write(lba, vec![lba + 1])]), done);
    }
    assert_eq!(busy.load(Ordering::Relaxed), 100 - 100_000 / 4373, "as many wait as the bound allows");
    assert!(volume.metrics().queued_bytes <= 100_000);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| volume.commit(change(1, &[Step::Write(500, vec![9])])));
        thread::sleep(std::time::Duration::from_millis(20));
        release.send(()).expect("release");
        waiting.join().expect("thread").expect("who waits gets through");
    });
    assert_eq!(accepted.load(Ordering::Relaxed), 100_000 / 4373);
    assert_eq!(volume.metrics().queued_bytes, 0);
}
