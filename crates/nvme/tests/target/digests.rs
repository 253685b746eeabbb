//! All four combinations of digests, aligned data, and digests that are wrong.

use super::{
    blocks::{pattern, subsystem},
    client::{Client, HOST, IN_CAPSULE, SUBSYSTEM, TRANSPORT, in_memory, sqe},
};
use ciphermill_nvme::server::Limits;
use tokio::io::AsyncWriteExt;

#[tokio::test(start_paused = true)]
async fn all_combinations_move_data_both_ways() {
    let (subsystem, ..) = subsystem(Limits::default());
    for (combination, hpda) in (0..4).flat_map(|digests| [0, 15, 31].map(|hpda| (digests, hpda))) {
        let (header, data) = (combination & 1 != 0, combination & 2 != 0);
        let mut admin = Client::open_aligned(in_memory(&subsystem), header, data, hpda).await;
        admin.connect(0, SUBSYSTEM, HOST, 31, 0, 0).await.ok();
        admin.enable().await;
        assert_eq!(admin.identify(2, 0).await.1[..8], [1, 0, 0, 0, 5, 0, 0, 0]);
        // With flow control every read has a separate completion; without, its data stand for it.
        for (queue, attributes) in [(1, 0), (2, 4)] {
            let mut io = Client::open_aligned(in_memory(&subsystem), header, data, hpda).await;
            io.controller = admin.controller;
            io.connect(queue, SUBSYSTEM, HOST, 127, attributes, 0).await.ok();
            let bytes = pattern(9, combination);
            io.write(0x01, 1, 100, &bytes, 5000).await.ok();
            io.write_in_capsule(0x01, 1, 109, &bytes[..8192]).await.ok();
            let (cqe, read) = io.read(1, 100, 11).await;
            assert_eq!(cqe.ok().sq_head == 0xffff, attributes == 4);
            assert!(read == [&bytes[..], &bytes[..8192]].concat());
            io.write(0x05, 1, 100, &bytes, 1 << 20).await.ok();
        }
    }
    assert_eq!(subsystem.metrics().buffer_bytes, 0);
}

#[tokio::test(start_paused = true)]
async fn a_wrong_data_digest_fails_its_command_only() {
    let (subsystem, blocks, _) = subsystem(Limits::default());
    let admin = Client::admin(in_memory(&subsystem), HOST).await;
    let mut io = Client::open(in_memory(&subsystem), true, true).await;
    io.controller = admin.controller;
    io.connect(1, SUBSYSTEM, HOST, 31, 4, 0).await.ok();
    let data = pattern(4, 1);

    // In the capsule.
    let sqe_in = sqe(1, 50, 1, (8192, IN_CAPSULE), [0, 0, 1, 0, 0, 0]);
    let mut unit = io.unit(4, 0, &sqe_in, &data[..8192]);
    let last = unit.len() - 1;
    unit[last] ^= 0x80;
    io.stream.write_all(&unit).await.unwrap();
    let (cqe, _) = io.completion().await;
    assert_eq!((cqe.cid, cqe.code()), (50, 0x22), "Transient Transport Error, and it may be tried again");
    assert_eq!(cqe.status & 1 << 14, 0);

    // In the first of two data units: the rest is still taken.
    io.send_command(&sqe(1, 51, 1, (16384, TRANSPORT), [0, 0, 3, 0, 0, 0]), &[]).await;
    let (tag, _, _) = io.r2t(51).await;
    let mut header = [0; 16];
    header[..2].copy_from_slice(&51u16.to_le_bytes());
    header[2..4].copy_from_slice(&tag.to_le_bytes());
    header[8..12].copy_from_slice(&8192u32.to_le_bytes());
    let mut unit = io.unit(6, 0, &header, &data[..8192]);
    unit[4000] ^= 1;
    io.stream.write_all(&unit).await.unwrap();
    io.send_data(51, tag, 8192, &data[8192..], true).await;
    assert_eq!(io.completion().await.0.code(), 0x22);
    assert!(blocks.calls.lock().unwrap().is_empty(), "nothing was written");
    io.write(1, 1, 0, &data, 4096).await.ok();
    assert_eq!(subsystem.metrics().data_digest_errors, 2);
}

#[tokio::test(start_paused = true)]
async fn a_wrong_header_digest_ends_the_connection() {
    let (subsystem, ..) = subsystem(Limits::default());
    let mut client = Client::open(in_memory(&subsystem), true, false).await;
    let mut unit = client.unit(4, 0, &sqe(0x18, 1, 0, (0, TRANSPORT), [0; 6]), &[]);
    unit[9] ^= 1;
    let stored = u32::from_le_bytes(unit[72..76].try_into().unwrap());
    client.stream.write_all(&unit).await.unwrap();
    assert_eq!(client.terminated().await, (3, stored));
    // The flag of a digest that was agreed must stand there.
    let mut client = Client::open(in_memory(&subsystem), true, false).await;
    let mut unit = client.unit(4, 0, &sqe(0x18, 1, 0, (0, TRANSPORT), [0; 6]), &[]);
    unit[1] = 0;
    client.stream.write_all(&unit).await.unwrap();
    assert_eq!(client.terminated().await, (1, 1));
    assert_eq!(subsystem.metrics().protocol_errors, 2);
}
