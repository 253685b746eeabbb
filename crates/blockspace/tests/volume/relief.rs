//! Changes that make room: large unmaps, and the room that they have in the queue.

use crate::support::*;
use ciphermill_blockspace::volume::{
    Change, MAX_BLOCKS, Operation, Quota, Volume, VolumeConfig, VolumeError, VolumeFiles,
};
use std::{
    sync::mpsc::channel,
    time::{Duration, Instant},
};

/// As many whole-space ranges as a command can hold, and many such commands, cost as much as one.
#[test]
fn the_same_unmap_many_times_over_costs_what_is_mapped_once() {
    let config = VolumeConfig { default_quota: Quota { blocks: 1 << 40, labels: 10 }, ..tiny() };
    let volume = Volume::open(VolumeFiles::in_memory(), config).expect("open");
    for lba in 0..4 {
        let operations = vec![Operation::Zero { lba: lba << 20, blocks: 1 << 20 }];
        volume.commit(Change { space: 1, operations }).expect("zeros");
    }
    volume.commit(change(2, &[Step::Write(5, vec![7])])).expect("write");
    let (sender, receiver) = channel();
    let begun = Instant::now();
    for index in 0..50 {
        let operations = (0..256).map(|lba| Operation::Unmap { lba: lba % 7, blocks: MAX_BLOCKS - 6 }).collect();
        let sender = sender.clone();
        let done = Box::new(move |outcome: Result<(), VolumeError>| _ = sender.send((index, outcome)));
        volume.submit(Change { space: 1, operations }, done);
    }
    volume.commit(change(1, &[Step::Write(9, vec![3])])).expect("after them all");
    drop(sender);
    let order: Vec<_> = receiver.iter().map(|(index, outcome)| (index, outcome.is_ok())).collect();
    assert_eq!(order, (0..50).map(|index| (index, true)).collect::<Vec<_>>());
    let mut model = Model::default();
    model.apply(1, &[Step::Write(9, vec![3])]);
    model.apply(2, &[Step::Write(5, vec![7])]);
    model.check(&volume, "after the unmaps");
    // 13000 visits of each of 2^17 stripes would take minutes.
    assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
}

/// The counts stay right although a large unmap is not counted in advance.
#[test]
fn quotas_hold_around_large_unmaps() {
    let volume = Volume::open(VolumeFiles::in_memory(), tiny()).expect("open");
    volume.set_quota(1, Quota { blocks: 20_000, labels: 1 });
    let mut sent = Vec::new();
    let mut submit = |operations: Vec<Operation>| {
        let (sender, receiver) = channel();
        volume.submit(Change { space: 1, operations }, Box::new(move |outcome| _ = sender.send(outcome)));
        sent.push(receiver);
    };
    for lba in [0, 20_000, 0, 0] {
        submit(vec![Operation::Zero { lba, blocks: 20_000 }]);
        submit(vec![Operation::Zero { lba: 50_000, blocks: 1 }]);
        submit(vec![Operation::Unmap { lba: 0, blocks: 40_000 }, Operation::SetLabel { lba, label: vec![1] }]);
        submit(vec![Operation::Unmap { lba: 10, blocks: 5 }]);
        submit(vec![Operation::Zero { lba: 7, blocks: 20_000 }, Operation::Unmap { lba: 0, blocks: 1 << 40 }]);
    }
    let outcomes: Vec<bool> = sent.into_iter().map(|receiver| receiver.recv().expect("answer").is_ok()).collect();
    // The label at 20000 would be the second one, so its change unmaps nothing.
    let fits = [true, false, true, true, true];
    assert_eq!(outcomes[..5], fits);
    assert_eq!(outcomes[5..10], [true, false, false, true, true]);
    assert_eq!([&outcomes[10..15], &outcomes[15..]], [fits; 2]);
    assert_eq!((volume.mapped(1, 0, MAX_BLOCKS), volume.labels(1).len()), (0, 1));
}

#[test]
fn a_space_that_fills_the_queue_keeps_nobody_else_out_nor_from_making_room() {
    let config = VolumeConfig { queue_bytes: 100_000, ..tiny() };
    let volume = Volume::open(VolumeFiles::in_memory(), config).expect("open");
    let (release, gate) = channel::<()>();
    let (started, running) = channel();
    let hold = Box::new(move |_| {
        let _ = started.send(());
        let _ = gate.recv();
    });
    volume.submit(change(1, &[Step::Write(0, vec![1])]), hold);
    running.recv().expect("running");
    let (sender, receiver) = channel();
    let submit = |space, steps: &[Step]| {
        let sender = sender.clone();
        volume.submit(change(space, steps), Box::new(move |outcome| _ = sender.send((space, outcome))));
    };
    (0..60).for_each(|lba| submit(1, &[Step::Write(lba, vec![lba + 1])]));
    submit(1, &[Step::SetLabel(3, vec![1]), Step::Unmap(0, 5)]);
    (0..60).for_each(|lba| submit(2, &[Step::Write(lba, vec![lba + 1])]));
    release.send(()).expect("release");
    drop((release, sender));
    let outcomes: Vec<_> = (0..121).map(|_| receiver.recv().expect("answer")).collect();
    let accepted = |of| outcomes.iter().filter(|(space, outcome)| *space == of && outcome.is_ok()).count();
    assert_eq!((accepted(1), accepted(2)), (100_000 / 4373 + 1, 50_000 / 4373));
    assert_eq!(volume.labels(1), [(3, vec![1])]);
}
