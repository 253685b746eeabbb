//! Random changes against a plain map, with segments so small that they are closed and rewritten all the time.

use crate::support::*;
use ciphermill_blockspace::volume::{
    BLOCK_BYTES, Change, Operation, Quota, Volume, VolumeConfig, VolumeError, VolumeFiles,
};
use ciphermill_storage::SimulatedDisk;
use proptest::prelude::*;
use std::{sync::Arc, thread, time::Duration};

fn step(span: u64) -> impl Strategy<Value = Step> {
    let tag = prop_oneof![1 => Just(0), 6 => 1..u64::MAX];
    prop_oneof![
        5 => (0..span, prop::collection::vec(tag, 1..8)).prop_map(|(lba, tags)| Step::Write(lba, tags)),
        1 => (0..span, 1..40u64).prop_map(|(lba, blocks)| Step::Zero(lba, blocks)),
        1 => (0..span, 1..40u64).prop_map(|(lba, blocks)| Step::Unmap(lba, blocks)),
        1 => (0..span, prop::collection::vec(any::<u8>(), 0..20)).prop_map(|(lba, label)| Step::SetLabel(lba, label)),
        1 => (0..span).prop_map(Step::ClearLabel),
    ]
}

#[derive(Clone, Debug)]
enum Action {
    Change(u32, Vec<Step>),
    DropSpace(u32),
    Reopen,
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        30 => (0..3u32, prop::collection::vec(step(90), 0..4)).prop_map(|(space, steps)| Action::Change(space, steps)),
        1 => (0..3u32).prop_map(Action::DropSpace),
        2 => Just(Action::Reopen),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn a_volume_is_a_map_of_blocks(actions in prop::collection::vec(action(), 1..120)) {
        let disk = SimulatedDisk::new();
        let mut volume = open_on(&disk).expect("open");
        let mut model = Model::default();
        for action in actions {
            match action {
                Action::Change(space, steps) => {
                    volume.commit(change(space, &steps)).expect("commit");
                    model.apply(space, &steps);
                }
                Action::DropSpace(space) => {
                    volume.drop_space(space).expect("drop");
                    model.drop_space(space);
                }
                Action::Reopen => {
                    drop(volume);
                    volume = open_on(&disk).expect("reopen");
                    model.check(&volume, "after reopening");
                }
            }
        }
        model.check(&volume, "at the end");
        drop(volume);
        model.check(&open_on(&disk).expect("reopen"), "after the last reopening");
    }
}

#[test]
fn many_segments_are_filled_and_the_file_stays_small() {
    let disk = SimulatedDisk::new();
    let mut dice = Dice(5);
    let (mut model, mut tag) = (Model::default(), 0);
    let volume = open_on(&disk).expect("open");
    for _ in 0..3000 {
        let steps = some_steps(&mut dice, 200, &mut tag);
        volume.commit(change(1, &steps)).expect("commit");
        model.apply(1, &steps);
    }
    model.check(&volume, "after 3000 changes");
    let metrics = volume.metrics();
    assert!(metrics.checkpoints > 50, "{metrics:?}");
    let usage = volume.usage();
    // 200 blocks in use, two segments ahead, one being stored, and four of slack before short runs are used up.
    assert!(usage.file_bytes <= (250 + 8 * 64) * BLOCK_BYTES as u64, "{usage:?}");
}

/// A volume, and the disk of its block file. The map is on another disk: how often it is stored depends on time.
fn beside_its_map(config: VolumeConfig) -> (Volume, SimulatedDisk) {
    let (disk, map) = (SimulatedDisk::new(), SimulatedDisk::new());
    let files = VolumeFiles { blocks: Arc::new(disk.file("blocks")), map: Arc::new(map.file("map")) };
    (Volume::open(files, config).expect("open"), disk)
}

#[test]
fn a_copy_writes_no_block_in_advance() {
    let (copy, copied) = beside_its_map(VolumeConfig { fill_ahead: false, ..tiny() });
    let (volume, disk) = beside_its_map(tiny());
    // Another thread fills the next segment, unless the writer already waits for it: so give it time. A busy machine may have
    // none for some segments.
    let mut filled = false;
    for lba in (0..20_000).step_by(10) {
        for volume in [&copy, &volume] {
            let data = vec![7; 10 * BLOCK_BYTES];
            volume.commit(Change { space: 1, operations: vec![Operation::Write { lba, data }] }).expect("commit");
        }
        thread::sleep(Duration::from_millis(1));
        filled = disk.operations() > copied.operations();
        if filled && lba >= 500 {
            break;
        }
    }
    assert!(filled, "{} operations, and {} of a copy", disk.operations(), copied.operations());
    // A group is a write and a sync, and a checkpoint makes room for a segment.
    let metrics = copy.metrics();
    assert!(copied.operations() <= 2 * metrics.groups + 2 * metrics.checkpoints + 4, "{copied:?} {metrics:?}");
    assert!(!VolumeConfig::of_copy().fill_ahead && VolumeConfig::default().fill_ahead);
}

#[test]
fn ranges_sizes_and_labels_are_bounded() {
    let volume = Volume::open(VolumeFiles::in_memory(), tiny()).expect("open");
    let commit = |operation| volume.commit(Change { space: 1, operations: vec![operation] });
    let most = volume.max_change_blocks();
    assert_eq!(most, 24);
    let write = |lba, len| Operation::Write { lba, data: vec![1; len] };
    assert!(matches!(commit(write(0, 0)), Err(VolumeError::Unaligned { len: 0 })));
    assert!(matches!(commit(write(0, 4097)), Err(VolumeError::Unaligned { len: 4097 })));
    assert!(matches!(commit(write(1 << 52, 4096)), Err(VolumeError::Range { .. })));
    assert!(matches!(commit(write(u64::MAX, 4096)), Err(VolumeError::Range { .. })));
    assert!(matches!(commit(write(0, 25 * BLOCK_BYTES)), Err(VolumeError::TooLarge { given: 25, limit: 24, .. })));
    assert!(matches!(commit(Operation::Zero { lba: 0, blocks: 0 }), Err(VolumeError::Range { .. })));
    assert!(matches!(commit(Operation::Zero { lba: 0, blocks: 1 << 40 }), Err(VolumeError::TooLarge { .. })));
    assert!(matches!(commit(Operation::Unmap { lba: 1, blocks: u64::MAX }), Err(VolumeError::Range { .. })));
    let label = vec![0; 257];
    assert!(matches!(commit(Operation::SetLabel { lba: 1, label }), Err(VolumeError::LabelTooLong { len: 257 })));
    let labels = (0..300).map(|lba| Operation::SetLabel { lba, label: vec![9; 256] }).collect();
    assert!(matches!(volume.commit(Change { space: 1, operations: labels }), Err(VolumeError::TooLarge { .. })));
    assert!(volume.spaces().is_empty(), "nothing of what was refused was done");
    commit(write((1 << 52) - 1, 4096)).expect("the last block");
    commit(write(0, most as usize * BLOCK_BYTES)).expect("the largest change");
    commit(Operation::Unmap { lba: 0, blocks: 1 << 52 }).expect("everything");
    assert!(volume.spaces().is_empty());
    assert!(matches!(volume.read(1, 0, &mut [0; 100]), Err(VolumeError::Unaligned { len: 100 })));
    assert!(matches!(volume.read(1, 0, &mut []), Err(VolumeError::Unaligned { len: 0 })));
    assert!(matches!(volume.read(1, 1 << 52, &mut [0; 4096]), Err(VolumeError::Range { .. })));
    let mut out = [7; 4096];
    assert!(volume.try_read(9, 77, &mut out).expect("read") && out == [0; 4096], "absent blocks are zeros");
}

#[test]
fn quotas_count_what_a_change_leaves() {
    let volume = Volume::open(VolumeFiles::in_memory(), tiny()).expect("open");
    volume.set_quota(1, Quota { blocks: 10, labels: 2 });
    let commit = |steps: &[Step]| volume.commit(change(1, steps));
    commit(&[Step::Write(0, vec![1; 6]), Step::Zero(40, 4)]).expect("ten blocks");
    commit(&[Step::Write(2, vec![2; 4])]).expect("overwriting takes no more");
    let refused = commit(&[Step::Unmap(0, 1), Step::Write(50, vec![3; 2])]);
    assert!(
        matches!(refused, Err(VolumeError::Quota { space: 1, resource: "blocks", needed: 1, free: 0, limit: 10 })),
        "{refused:?}"
    );
    assert_eq!(volume.mapped(1, 0, 1), 1, "a refused change unmaps nothing");
    commit(&[Step::Unmap(0, 2), Step::Write(50, vec![3; 2])]).expect("as many as were unmapped");
    commit(&[Step::SetLabel(0, vec![]), Step::SetLabel(1, vec![1])]).expect("two labels");
    commit(&[Step::SetLabel(0, vec![5])]).expect("replaced");
    assert!(matches!(commit(&[Step::SetLabel(2, vec![])]), Err(VolumeError::Quota { resource: "labels", .. })));
    commit(&[Step::ClearLabel(0), Step::SetLabel(2, vec![])]).expect("moved");
    volume.set_quota(1, Quota { blocks: 1, labels: 0 });
    commit(&[Step::Write(40, vec![7]), Step::Unmap(50, 1)]).expect("a lowered quota lets nobody in, and everybody out");
    volume.commit(change(2, &[Step::Zero(0, 1000)])).expect("another space has its own");
    volume.drop_space(1).expect("drop");
    assert_eq!((volume.spaces(), volume.label(1, 2)), (vec![2], None));
}

#[test]
fn quotas_hold_within_a_group_too() {
    let volume = Volume::open(VolumeFiles::in_memory(), tiny()).expect("open");
    volume.set_quota(1, Quota { blocks: 5, labels: 1 });
    let (sender, receiver) = std::sync::mpsc::channel();
    for lba in 0..40 {
        let sender = sender.clone();
        // The same five blocks and others, in turn: what fits depends on what went before in the same group.
        let lba = if lba % 2 == 0 { lba / 2 % 5 } else { 100 + lba };
        let done = Box::new(move |outcome: Result<(), VolumeError>| _ = sender.send((lba, outcome.is_ok())));
        volume.submit(change(1, &[Step::Write(lba, vec![lba + 1])]), done);
    }
    drop(sender);
    let outcomes: Vec<_> = receiver.iter().collect();
    assert_eq!(outcomes.len(), 40);
    assert!(volume.mapped(1, 0, 1 << 52) == 5, "{outcomes:?}");
    for lba in outcomes.iter().map(|(lba, _)| *lba) {
        let kept = outcomes.iter().any(|(other, ok)| *other == lba && *ok);
        assert_eq!(volume.mapped(1, lba, 1), u64::from(kept));
    }
}
