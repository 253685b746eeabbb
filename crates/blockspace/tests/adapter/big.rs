//! Objects of many commands, as keys are: deep queues, any order, memory that does not grow with them.

use crate::support::*;
use ciphermill_blockspace::BlockSpaceConfig;
use ciphermill_blockspace::volume::VolumeFiles;
use ciphermill_device::StoreFiles;
use ciphermill_nvme::Namespace;
use ciphermill_storage::FileStorage;
use std::{collections::VecDeque, path::Path, sync::Arc, time::Instant};

/// Bytes of each command.
const PIECE: usize = 128 << 10;

/// Content that need not be held: piece `index` of an object.
fn piece(index: u64, size: usize) -> Vec<u8> {
    pattern(size, index + 1)
}

fn on_disk(path: &Path, config: BlockSpaceConfig) -> Bench {
    let open = |name: &str| Arc::new(FileStorage::open(&path.join(name)).expect("a file"));
    let store = StoreFiles { data: open("data"), objects: open("objects.redb"), log: open("log"), swap: open("swap") };
    Bench::open(store, VolumeFiles::in_directory(path).expect("files"), config, runtime()).expect("a namespace")
}

/// Peak of the resident memory of this process in KiB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(0)
}

/// Streams an object of this many bytes at depth 32, in its own order of blocks, and reads it back at the same depth.
fn stream(bench: &Bench, id: &str, first: u64, size: usize, shuffled: bool, with_checksum: bool) {
    let pieces = size.div_ceil(PIECE) as u64;
    let length = |index: u64| PIECE.min(size - index as usize * PIECE);
    let mut metadata = metadata(id, size);
    if with_checksum {
        let crc = (0..pieces).fold(0, |crc, index| crc32c::crc32c_append(crc, &piece(index, length(index))));
        metadata.object_crc32c = std::num::NonZeroU32::new(crc);
    }
    bench.declare(first, metadata);
    let mut order: Vec<u64> = (0..pieces).collect();
    let mut dice = Dice(5);
    if shuffled {
        (1..order.len()).rev().for_each(|at| order.swap(at, dice.below(at as u64 + 1) as usize));
    }
    let begun = Instant::now();
    bench.runtime.block_on(async {
        let mut under_way = VecDeque::new();
        for index in order {
            let data = padded(&piece(index, length(index)));
            let lba = first + index * (PIECE / BLOCK) as u64;
            under_way.push_back(tokio::spawn(Arc::clone(&bench.space).write(&bench.host, lba, data).wait()));
            if under_way.len() == 32 {
                under_way.pop_front().expect("32").await.expect("no panic").expect("written");
            }
        }
        for task in under_way {
            task.await.expect("no panic").expect("written");
        }
    });
    println!("{id}: {size} bytes written in {:?}, peak {} KiB", begun.elapsed(), peak());
    let stat = bench.registers().stat(register(id)).expect("complete");
    assert_eq!(stat.size, size as u64);
    let begun = Instant::now();
    bench.runtime.block_on(async {
        let mut under_way = VecDeque::new();
        for index in 0..=pieces {
            if index < pieces {
                let lba = first + index * (PIECE / BLOCK) as u64;
                let blocks = length(index).div_ceil(BLOCK) as u32;
                let answer = Arc::clone(&bench.space).read(&bench.host, lba, blocks);
                under_way.push_back((index, tokio::spawn(answer.wait())));
            }
            while under_way.len() >= 32 || (index == pieces && !under_way.is_empty()) {
                let (index, task) = under_way.pop_front().expect("some");
                let bytes = task.await.expect("no panic").expect("read");
                assert!(bytes == padded(&piece(index, length(index))), "piece {index}");
            }
        }
    });
    println!("{id}: read in {:?}, peak {} KiB", begun.elapsed(), peak());
}

#[test]
fn a_large_object_is_streamed_in_any_order_in_bounded_memory() {
    let directory = tempfile::tempdir().expect("a directory");
    let bench = on_disk(directory.path(), BlockSpaceConfig::new(22));
    // The metadata block of a 2^22-block namespace.
    let bench = Bench { half: 1 << 21, ..bench };
    let evidence = evidence();
    let size = if evidence { 1_500_000_001 } else { 96_000_001 };
    let before = peak();
    stream(&bench, "1:0:1", 1000, size, false, true);
    stream(&bench, "1:0:1", 1000, size, true, false);
    assert_eq!(bench.volume.space_usage(1).mapped, 0);
    // The kernel's counters are not always settled: a peak can be read a little smaller than before.
    let grown = peak().saturating_sub(before);
    // Other tests run in this process meanwhile: only the full size stands out from their memory.
    assert!(!evidence || grown < 700 << 10, "memory grew by {grown} KiB for objects of {size} bytes");
}

/// Not a linear number of looks at the whole object for each command: 16,384 commands of one block.
#[test]
fn pieces_of_one_block_cost_as_much_as_they_are() {
    let bench = Bench::new();
    let size = 16_384 * BLOCK;
    let content = pattern(size, 3);
    bench.declare(0, checked("1:0:1", &content));
    let mut order: Vec<usize> = (0..16_384).collect();
    let mut dice = Dice(9);
    (1..order.len()).rev().for_each(|at| order.swap(at, dice.below(at as u64 + 1) as usize));
    // A first pass with wrong content, so that every command of the second finds all blocks there.
    let begun = Instant::now();
    for wrong in [true, false] {
        let begin = |index: &usize| {
            let mut block = content[index * BLOCK..(index + 1) * BLOCK].to_vec();
            block[7] ^= u8::from(wrong);
            bench.runtime.spawn(bench.begin_write(*index as u64, block).wait())
        };
        for group in order.chunks(64) {
            let tasks: Vec<_> = group.iter().map(begin).collect();
            for task in tasks {
                bench.runtime.block_on(task).expect("no panic").expect("written");
            }
        }
        assert_eq!(bench.stored("1:0:1").is_some(), !wrong);
    }
    assert!(bench.stored("1:0:1") == Some(content));
    println!("32,768 commands in {:?}", begun.elapsed());
}

#[test]
fn absurd_sizes_cost_nothing() {
    let bench = Bench::with(BlockSpaceConfig::new(40));
    let bench = Bench { half: 1 << 39, ..bench };
    // As large as the device takes, and as many as there is room for.
    for place in 0..64u64 {
        bench.declare(place << 22, metadata(&format!("1:0:{place}"), 16 << 30));
    }
    bench.zero(0, 1 << 16).expect("zeros");
    assert_eq!(bench.space.metrics().declared, 64);
    let error = bench.try_declare(65 << 22, metadata("1:0:65", (16 << 30) + 1)).expect_err("too large");
    assert!(error.detail.contains("max_object_bytes"), "{error}");
    bench.deallocate(0..1 << 40).expect("given up");
    assert_eq!((bench.space.metrics().declared, bench.volume.space_usage(1).mapped), (0, 0));
}
