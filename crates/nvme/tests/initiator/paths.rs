//! The ways that data take.

use crate::{
    config, connect,
    fake::{Action, Fake, LAST, Options, SUCCESS, Script, Unit, c2h, r2t, response},
    pattern,
};
use ciphermill_nvme::{
    initiator::{InitiatorError, blocking::BlockingController},
    pdu::Digests,
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

fn all_digests() -> impl Iterator<Item = Digests> {
    (0..4).filter_map(Digests::from_bits)
}

/// The data of a Read as one unit with SUCCESS, one with a completion, many, and many with SUCCESS; by the block.
fn read_script() -> Script {
    Arc::new(|_, unit| {
        let (id, data) = (unit.id(), pattern(unit.blocks(), unit.lba()));
        let split = |size: usize, last: u8| {
            let count = data.len().div_ceil(size);
            let pieces = data.chunks(size).enumerate();
            pieces
                .map(|(index, piece)| c2h(id, (index * size) as u32, piece, if index + 1 == count { last } else { 0 }))
                .collect::<Vec<_>>()
        };
        let mut actions = match unit.lba() % 4 {
            0 => return split(data.len(), LAST | SUCCESS),
            1 => split(data.len(), LAST),
            2 => split(1000, LAST),
            _ => return split(70_000, LAST | SUCCESS),
        };
        actions.push(response(id, 0, 0));
        actions
    })
}

#[tokio::test]
async fn reads_come_by_every_way_with_every_digest() {
    for digests in all_digests() {
        let fake = Fake::start(Options::default(), read_script()).await;
        let mut config = config(&fake);
        config.digests = digests;
        let (_controller, namespace) = connect(config).await;
        for lba in 0..16 {
            for blocks in [1, 2, 33, 256] {
                assert_eq!(
                    namespace.read(lba, blocks).await.unwrap(),
                    pattern(blocks as usize, lba),
                    "{digests:?} {lba}"
                );
            }
        }
        let unit = fake.seen.lock().unwrap()[0].clone();
        // Read, namespace 1, transport SGL of 4,096 bytes, block 0, one block.
        assert_eq!((unit.opcode(), unit.header[1], unit.u32_at(4)), (2, 0x40, 1));
        assert_eq!((unit.u32_at(24), unit.u32_at(32), unit.header[39]), (0, 4096, 0x5a));
        assert_eq!((unit.lba(), unit.blocks()), (0, 1));
    }
}

/// A namespace in memory that takes writes: in the capsule, or asked for in several pieces, out of order, two at once.
#[derive(Default)]
struct Store {
    blocks: BTreeMap<u64, Vec<u8>>,
    /// Identifier → first block, data so far, bytes that are missing.
    writes: BTreeMap<u16, (u64, Vec<u8>, usize)>,
    tags: BTreeMap<u16, (u16, u32, u32)>,
    in_capsule: usize,
    units: Vec<(usize, bool)>,
}

fn write_script(store: Arc<Mutex<Store>>) -> Script {
    Arc::new(move |_, unit: &Unit| {
        let mut store = store.lock().unwrap();
        match (unit.kind, unit.header[0]) {
            (4, 1) if !unit.data.is_empty() => {
                assert_eq!((unit.u32_at(24), unit.u32_at(32), unit.header[39]), (0, unit.data.len() as u32, 0x01));
                assert_eq!(unit.data.len(), unit.blocks() * 4096);
                store.in_capsule += 1;
                for (index, block) in unit.data.chunks(4096).enumerate() {
                    store.blocks.insert(unit.lba() + index as u64, block.to_vec());
                }
                vec![response(unit.id(), 0, 0)]
            }
            (4, 1) => {
                let length = unit.blocks() as u32 * 4096;
                assert_eq!((unit.u32_at(32), unit.header[39]), (length, 0x5a));
                store.writes.insert(unit.id(), (unit.lba(), vec![0; length as usize], length as usize));
                // The second half first; both are open at once.
                let half = length / 2 / 4 * 4 + 4;
                let (first, second) = (unit.id() ^ 0x8000, unit.id() ^ 0x4000);
                store.tags.insert(first, (unit.id(), half, length - half));
                store.tags.insert(second, (unit.id(), 0, half));
                vec![r2t(unit.id(), first, half, length - half), r2t(unit.id(), second, 0, half)]
            }
            (6, _) => {
                let (tag, offset, length) =
                    (u16::from_le_bytes([unit.header[2], unit.header[3]]), unit.u32_at(4), unit.u32_at(8));
                assert_eq!(unit.data.len(), length as usize);
                store.units.push((unit.data.len(), unit.flags & LAST != 0));
                let expected = store.tags.get_mut(&tag).unwrap();
                assert_eq!((expected.0, expected.1), (unit.id(), offset), "in order within a transfer");
                expected.1 += length;
                expected.2 -= length;
                assert_eq!(expected.2 == 0, unit.flags & LAST != 0, "the last and only the last unit says so");
                let (lba, data, missing) = store.writes.get_mut(&unit.id()).unwrap();
                data[offset as usize..(offset + length) as usize].copy_from_slice(&unit.data);
                *missing -= unit.data.len();
                if *missing > 0 {
                    return Vec::new();
                }
                let (lba, data) = (*lba, data.clone());
                for (index, block) in data.chunks(4096).enumerate() {
                    store.blocks.insert(lba + index as u64, block.to_vec());
                }
                vec![response(unit.id(), 0, 0)]
            }
            _ => vec![response(unit.id(), 0, 0)],
        }
    })
}

#[tokio::test]
async fn writes_go_in_the_capsule_or_as_asked_for_with_every_digest_and_alignment() {
    for digests in all_digests() {
        for (alignment, max_h2c) in [(0, 4096), (31, 10_000), (4, 1 << 20)] {
            let store = Arc::new(Mutex::new(Store::default()));
            let options = Options { alignment, max_h2c, ..Options::default() };
            let fake = Fake::start(options, write_script(Arc::clone(&store))).await;
            let mut config = config(&fake);
            config.digests = digests;
            let (_controller, namespace) = connect(config).await;
            for blocks in [1, 2, 3, 40, 256] {
                let lba = blocks as u64 * 1000;
                namespace.write(lba, pattern(blocks, lba)).await.unwrap();
                let stored: Vec<u8> = (0..blocks as u64)
                    .flat_map(|index| store.lock().unwrap().blocks.get(&(lba + index)).cloned().unwrap())
                    .collect();
                assert_eq!(stored, pattern(blocks, lba), "{digests:?} {alignment} {blocks}");
            }
            let store = store.lock().unwrap();
            assert_eq!(store.in_capsule, 2, "8,192 bytes fit, more do not");
            assert!(store.units.iter().all(|(length, _)| *length <= max_h2c as usize));
        }
    }
}

#[tokio::test]
async fn nothing_goes_in_the_capsule_where_it_does_not_fit() {
    let store = Arc::new(Mutex::new(Store::default()));
    let options = Options { capsule: 64 + 4080, ..Options::default() };
    let fake = Fake::start(options, write_script(Arc::clone(&store))).await;
    let (_controller, namespace) = connect(config(&fake)).await;
    namespace.write(1, pattern(1, 1)).await.unwrap();
    assert_eq!(store.lock().unwrap().in_capsule, 0);
    assert_eq!(store.lock().unwrap().blocks[&1], pattern(1, 1));
}

#[tokio::test]
async fn answers_come_in_any_order() {
    // Eight commands are gathered, then answered from the last to the first, data of all before the completions.
    let waiting = Mutex::new(Vec::<Unit>::new());
    let script: Script = Arc::new(move |_, unit| {
        let mut waiting = waiting.lock().unwrap();
        waiting.push(unit.clone());
        if waiting.len() < 8 {
            return Vec::new();
        }
        let mut actions = Vec::new();
        for unit in waiting.iter().rev() {
            actions.push(c2h(unit.id(), 0, &pattern(1, unit.lba()), LAST));
        }
        for unit in waiting.drain(..) {
            actions.push(response(unit.id(), 0, 0));
        }
        actions
    });
    let fake = Fake::start(Options::default(), script).await;
    let (_controller, namespace) = connect(config(&fake)).await;
    let reads: Vec<_> = (0..64)
        .map(|lba| {
            let namespace = namespace.clone();
            tokio::spawn(async move { namespace.read(lba, 1).await })
        })
        .collect();
    for (lba, read) in reads.into_iter().enumerate() {
        assert_eq!(read.await.unwrap().unwrap(), pattern(1, lba as u64));
    }
}

#[tokio::test]
async fn commands_are_spread_over_the_queues() {
    let counts = Arc::new(Mutex::new(BTreeMap::<usize, usize>::new()));
    let count = Arc::clone(&counts);
    let script: Script = Arc::new(move |queue, unit| {
        *count.lock().unwrap().entry(queue).or_default() += 1;
        vec![Action::Pause(Duration::from_millis(2)), response(unit.id(), 0, 0)]
    });
    let fake = Fake::start(Options::default(), script).await;
    let mut config = config(&fake);
    config.io_queues = 4;
    let (_controller, namespace) = connect(config).await;
    let flushes: Vec<_> = (0..40)
        .map(|_| {
            let namespace = namespace.clone();
            tokio::spawn(async move { namespace.flush().await })
        })
        .collect();
    for flush in flushes {
        flush.await.unwrap().unwrap();
    }
    assert_eq!(counts.lock().unwrap().values().copied().collect::<Vec<_>>(), [10; 4]);
}

#[tokio::test]
async fn large_calls_are_split_by_what_the_controller_takes() {
    let options = Options { mdts: 3, ..Options::default() };
    let fake = Fake::start(options, read_script()).await;
    let (_controller, namespace) = connect(config(&fake)).await;
    assert_eq!(namespace.max_transfer_blocks(), 8);
    let error = namespace.read(0, 9).await.unwrap_err();
    assert!(matches!(error, InitiatorError::Argument { .. }), "{error}");
    let expected: Vec<u8> = (0..125).map(|index| 100 + 8 * index).flat_map(|lba| pattern(8, lba)).collect();
    assert_eq!(namespace.read_large(100, 1000).await.unwrap(), expected);
    let lbas: Vec<_> = fake.seen.lock().unwrap().iter().map(|unit| (unit.lba(), unit.blocks())).collect();
    assert_eq!(lbas, (0..125).map(|index| (100 + 8 * index, 8)).collect::<Vec<_>>());

    let store = Arc::new(Mutex::new(Store::default()));
    let fake = Fake::start(Options { mdts: 3, ..Options::default() }, write_script(Arc::clone(&store))).await;
    let (_controller, namespace) = connect(config(&fake)).await;
    let data = pattern(1000, 5);
    namespace.write_large(7, data.clone()).await.unwrap();
    let stored: Vec<u8> = store.lock().unwrap().blocks.values().flatten().copied().collect();
    assert_eq!(stored, data);
}

#[tokio::test]
async fn arguments_out_of_range_are_not_sent() {
    let fake = Fake::start(Options { blocks: 100, ..Options::default() }, read_script()).await;
    let (_controller, namespace) = connect(config(&fake)).await;
    let refused =
        |outcome: Result<(), InitiatorError>| assert!(matches!(outcome, Err(InitiatorError::Argument { .. })));
    refused(namespace.read(99, 2).await.map(drop));
    refused(namespace.read(u64::MAX, 1).await.map(drop));
    refused(namespace.read(0, 0).await.map(drop));
    refused(namespace.read_large(0, 101).await.map(drop));
    refused(namespace.read_large(1, u64::MAX).await.map(drop));
    refused(namespace.write(100, pattern(1, 0)).await);
    refused(namespace.write(0, vec![0; 4095]).await);
    refused(namespace.write(0, Vec::new()).await);
    refused(namespace.write_zeroes(0, 101, true).await);
    let (from, to) = (5, 4);
    refused(namespace.deallocate(&[0..10, from..to]).await);
    refused(namespace.vendor_read(0x7e, [0; 6], 4).await.map(drop));
    refused(namespace.vendor_read(0xc1, [0; 6], 4).await.map(drop));
    refused(namespace.vendor_read(0xc2, [0; 6], 1 << 30).await.map(drop));
    assert_eq!(fake.seen.lock().unwrap().len(), 0);
    assert_eq!(namespace.read(99, 1).await.unwrap(), pattern(1, 99));
}

#[tokio::test]
async fn commands_without_data_to_the_host_say_what_they_mean() {
    let script: Script = Arc::new(|_, unit| match unit.opcode() {
        // Compare: differs.
        5 if unit.lba() == 9 => vec![response(unit.id(), 0x285, 0)],
        0xc2 => vec![c2h(unit.id(), 0, b"a short answer", LAST), response(unit.id(), 0, 0)],
        _ => vec![response(unit.id(), 0, 0)],
    });
    let fake = Fake::start(Options::default(), script).await;
    let (_controller, namespace) = connect(config(&fake)).await;
    namespace.write_zeroes(10, 70_000, true).await.unwrap();
    namespace.deallocate(&[1..2, 5..100]).await.unwrap();
    namespace.flush().await.unwrap();
    assert!(namespace.compare(8, pattern(1, 1)).await.unwrap());
    assert!(!namespace.compare(9, pattern(1, 1)).await.unwrap());
    assert_eq!(namespace.vendor_read(0xc2, [1, 2, 3, 4, 5, 6], 4096).await.unwrap(), b"a short answer");
    let seen = fake.seen.lock().unwrap().clone();
    // Write Zeroes: 65,536 blocks and the rest, with Deallocate.
    assert_eq!((seen[0].opcode(), seen[0].lba(), seen[0].u32_at(48)), (8, 10, 0x0200_ffff));
    assert_eq!((seen[1].lba(), seen[1].u32_at(48)), (10 + 65_536, 0x0200_0000 + 70_000 - 65_536 - 1));
    // Dataset Management: two ranges less one, deallocate; in the capsule.
    assert_eq!((seen[2].opcode(), seen[2].u32_at(40), seen[2].u32_at(44)), (9, 1, 4));
    let mut ranges = Vec::new();
    for (length, lba) in [(1u32, 1u64), (95, 5)] {
        ranges.extend([0; 4]);
        ranges.extend(length.to_le_bytes());
        ranges.extend(lba.to_le_bytes());
    }
    assert_eq!(seen[2].data, ranges);
    assert_eq!((seen[3].opcode(), seen[3].u32_at(4), seen[3].header[39]), (0, 1, 0x5a));
    let vendor = seen.last().unwrap();
    assert_eq!((1..=6).map(|index| vendor.u32_at(36 + 4 * index)).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6]);
}

#[tokio::test]
async fn a_status_comes_back_and_what_may_pass_is_tried_again() {
    let tries = Arc::new(Mutex::new(0));
    let count = Arc::clone(&tries);
    let script: Script = Arc::new(move |_, unit| {
        let mut tries = count.lock().unwrap();
        *tries += 1;
        match unit.lba() {
            // Interrupted, Transient Transport Error, Namespace Not Ready.
            1 if *tries < 4 => vec![response(unit.id(), [0x21, 0x22, 0x82][*tries - 1], 0)],
            // Interrupted, do not retry.
            2 => vec![response(unit.id(), 0x4021, 0)],
            3 => vec![response(unit.id(), 0x781, 0)],
            4 => vec![response(unit.id(), 0x4022, 0)],
            _ => vec![response(unit.id(), 0, 0)],
        }
    });
    let fake = Fake::start(Options::default(), script).await;
    let (_controller, namespace) = connect(config(&fake)).await;
    namespace.write(1, pattern(1, 0)).await.unwrap();
    assert_eq!(*tries.lock().unwrap(), 4);
    let status = |outcome: Result<(), InitiatorError>| outcome.unwrap_err().status().unwrap();
    assert_eq!(status(namespace.write(2, pattern(1, 0)).await).bits(), 0x4021);
    assert_eq!(status(namespace.write(3, pattern(1, 0)).await).bits(), 0x781);
    assert_eq!(status(namespace.write(4, pattern(1, 0)).await).bits(), 0x4022);
    assert_eq!(*tries.lock().unwrap(), 7);
    // Within a large call, the piece is tried again on its own.
    *tries.lock().unwrap() = 0;
    namespace.write_large(1, pattern(1, 0)).await.unwrap();
    assert_eq!(*tries.lock().unwrap(), 4);
    // What is final is sent once.
    assert_eq!(status(namespace.write_large(2, pattern(1, 0)).await).bits(), 0x4021);
    assert_eq!(*tries.lock().unwrap(), 5);
}

#[tokio::test]
async fn a_piece_that_is_tried_again_has_the_deadline_of_its_first_time() {
    // Interrupted always, the first time late.
    let first = Arc::new(Mutex::new(true));
    let script: Script = Arc::new(move |_, unit| {
        let interrupted = response(unit.id(), 0x21, 0);
        match std::mem::take(&mut *first.lock().unwrap()) {
            true => vec![Action::Pause(Duration::from_secs(1)), interrupted],
            false => vec![interrupted],
        }
    });
    let fake = Fake::start(Options::default(), script).await;
    let (_controller, namespace) = connect(config(&fake)).await;
    let begun = Instant::now();
    let namespace = namespace.with_timeout(Duration::from_secs(4));
    let error = namespace.write_large(1, pattern(1, 0)).await.unwrap_err();
    assert!(error.status().is_some_and(|status| status.bits() == 0x21), "{error}");
    // The time counts from the call: if each try began it again, there would be no end.
    assert!((1..60).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
}

#[test]
fn the_blocking_face_does_the_same() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let fake = runtime.block_on(Fake::start(Options::default(), read_script()));
    let controller = BlockingController::connect(config(&fake)).unwrap();
    assert_eq!(controller.namespaces().unwrap(), [1]);
    let namespace = controller.namespace(1).unwrap();
    let threads: Vec<_> = (0..4u64)
        .map(|thread| {
            let namespace = namespace.clone();
            std::thread::spawn(move || {
                for lba in 0..50 {
                    assert_eq!(namespace.read(thread * 100 + lba, 3).unwrap(), pattern(3, thread * 100 + lba));
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    controller.disconnect();
    assert!(matches!(namespace.read(0, 1), Err(InitiatorError::Closed)));
    drop((namespace, controller));
}
