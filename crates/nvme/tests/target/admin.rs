//! Connect with all that can be wrong with it, and admin commands.

use super::{
    blocks::{Blocks, subsystem},
    client::{
        Client, DISCOVERY, HOST, HOST_ID, IN_CAPSULE, OTHER_HOST, SUBSYSTEM, TRANSPORT, connect_data, connect_sqe,
        in_memory, sqe,
    },
};
use ciphermill_nvme::server::{HostAccess, Limits, NamespaceConfig, Subsystem, SubsystemConfig};

#[tokio::test(start_paused = true)]
async fn connect_says_what_is_wrong_with_it() {
    let (subsystem, ..) = subsystem(Limits::default());
    let mut client = Client::open(in_memory(&subsystem), false, false).await;
    let good = connect_data(HOST_ID, 0xffff, SUBSYSTEM, HOST);
    let changed = |at: usize, bytes: &[u8]| {
        let mut data = good.clone();
        data[at..at + bytes.len()].copy_from_slice(bytes);
        data
    };
    let plain = connect_sqe(1, 0, 31, 0, 0);
    let mut format = plain;
    format[40] = 1;
    let in_data = 1 << 16;
    let cases = [
        (format, good.clone(), 0x180, 0),
        (connect_sqe(1, 0, 0, 0, 0), good.clone(), 0x182, 44),
        (connect_sqe(1, 0, 128, 0, 0), good.clone(), 0x182, 44),
        (connect_sqe(1, 0, 31, 0x10, 0), good.clone(), 0x182, 46),
        (connect_sqe(1, 0, 31, 0, 600_001), good.clone(), 0x1a, 0),
        (plain, changed(16, &[1, 0]), 0x182, 16 | in_data),
        (connect_sqe(1, 1, 31, 0, 0), good.clone(), 0x182, 16 | in_data),
        (connect_sqe(1, 1, 31, 0, 0), changed(16, &[1, 0]), 0x182, 16 | in_data),
        (plain, changed(256, b"nqn.2026-01.test:other\0\0\0\0\0"), 0x182, 256 | in_data),
        (plain, changed(256, &[b'n'; 256]), 0x182, 256 | in_data),
        (plain, changed(260, &[0xff]), 0x182, 256 | in_data),
        (plain, changed(512, b"host"), 0x182, 512 | in_data),
        (plain, changed(512, &[0xc3, 0x28]), 0x182, 512 | in_data),
        (plain, changed(512 + HOST.len(), b"x"), 0x184, 0),
        // Who may not connect does not learn the subsystem's name either.
        (plain, connect_data(HOST_ID, 0xffff, "nqn.2026-01.test:other", "nqn.2026-01.test:stranger"), 0x184, 0),
    ];
    for (index, (sqe, data, status, result)) in cases.into_iter().enumerate() {
        let cqe = client.command_with(&sqe, &data).await;
        assert_eq!((cqe.code(), cqe.result), (status, result), "case {index}");
    }
    // Anything else comes too early.
    assert_eq!(client.property_get(0, true).await.code(), 0x0c);
    assert_eq!(client.identify(1, 0).await.0.code(), 0x0c);
    client.command_with(&plain, &good).await.ok();
    assert_eq!(client.command_with(&connect_sqe(2, 0, 31, 0, 0), &good).await.code(), 0x0c, "once");
    assert_eq!(subsystem.metrics().connections_open, 1);
}

#[tokio::test(start_paused = true)]
async fn an_io_queue_belongs_to_its_host_and_its_controller() {
    let (subsystem, ..) = subsystem(Limits { max_queues: 2, ..Limits::default() });
    let mut admin = Client::open(in_memory(&subsystem), false, false).await;
    let controller = admin.connect(0, SUBSYSTEM, HOST, 31, 0, 0).await.ok().result as u16;
    let mut io = Client::open(in_memory(&subsystem), false, false).await;
    io.controller = controller;
    assert_eq!(io.connect(1, SUBSYSTEM, HOST, 31, 0, 0).await.code(), 0x0c, "not enabled");
    admin.enable().await;
    let wrong = |host_id, host, qid, nqn| (connect_sqe(3, qid, 31, 0, 0), connect_data(host_id, controller, nqn, host));
    let cases = [
        (wrong([8; 16], HOST, 1, SUBSYSTEM), 0x1_0000),
        (wrong(HOST_ID, OTHER_HOST, 1, SUBSYSTEM), 0x1_0200),
        (wrong(HOST_ID, HOST, 1, DISCOVERY), 0x1_0010),
        (wrong(HOST_ID, HOST, 3, SUBSYSTEM), 42),
    ];
    for ((sqe, data), result) in cases {
        let cqe = io.command_with(&sqe, &data).await;
        assert_eq!((cqe.code(), cqe.result), (0x182, result));
    }
    io.connect(2, SUBSYSTEM, HOST, 31, 0, 0).await.ok();
    let mut again = Client::open(in_memory(&subsystem), false, false).await;
    again.controller = controller;
    assert_eq!(again.connect(2, SUBSYSTEM, HOST, 31, 0, 0).await.code(), 0x0c, "in use");
    assert_eq!(admin.set_feature(7, 0).await.code(), 0x0c, "too late");
    drop(io);
    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    again.connect(2, SUBSYSTEM, HOST, 31, 0, 0).await.ok();

    let mut discovery = Client::open(in_memory(&subsystem), false, false).await;
    discovery.connect(0, DISCOVERY, OTHER_HOST, 31, 0, 0).await.ok();
    discovery.enable().await;
    let (sqe, data) = (connect_sqe(3, 1, 31, 0, 0), connect_data(HOST_ID, discovery.controller, DISCOVERY, OTHER_HOST));
    let mut io = Client::open(in_memory(&subsystem), false, false).await;
    let cqe = io.command_with(&sqe, &data).await;
    assert_eq!((cqe.code(), cqe.result), (0x182, 42));
}

#[tokio::test(start_paused = true)]
async fn properties_have_their_sizes() {
    let (subsystem, ..) = subsystem(Limits::default());
    let mut admin = Client::open(in_memory(&subsystem), false, false).await;
    admin.connect(0, SUBSYSTEM, HOST, 31, 0, 0).await.ok();
    for (offset, wide) in [(0, false), (8, true), (0x14, true), (0x1c, true), (0x20, false), (0x28, true)] {
        assert_eq!(admin.property_get(offset, wide).await.code(), 0x02, "{offset:#x}");
    }
    for (offset, value) in [(0, 1), (8, 1), (0x1c, 1), (0x20, 0x4e56_4d65)] {
        assert_eq!(admin.property_set(offset, value).await.code(), 0x02);
    }
    // Not the NVM command set, pages of 8 KiB, weighted round robin, other entries.
    for wrong in [0x0046_0011, 0x0046_0081, 0x0046_0801, 0x0045_0001, 0x0036_0001] {
        assert_eq!(admin.property_set(0x14, wrong).await.code(), 0x02);
        assert_eq!(admin.property_get(0x1c, false).await.ok().result, 0);
    }
    assert_eq!(admin.identify(1, 0).await.0.code(), 0x0c, "not enabled");
    let cid = admin.cid();
    admin.command(&sqe(0x18, cid, 0, (0, TRANSPORT), [0; 6])).await.0.ok();
    let disconnect = sqe(0x7f, 9, 8, (0, TRANSPORT), [0; 6]);
    assert_eq!(admin.command(&disconnect).await.0.code(), 0x185, "an admin queue is not disconnected");
}

#[tokio::test(start_paused = true)]
async fn features_are_told_set_or_refused() {
    let (subsystem, ..) = subsystem(Limits::default());
    let mut admin = Client::admin(in_memory(&subsystem), HOST).await;
    let kept = [(0x01, 0xabcd), (0x04, 300), (0x05, 7), (0x0a, 1), (0x0f, 9000)];
    for (feature, value) in kept {
        admin.set_feature(feature, value).await.ok();
        assert_eq!(admin.get_feature(feature, 0).await.ok().result, value.into(), "feature {feature:x}");
    }
    for (feature, value) in [(0x02, 0), (0x06, 0)] {
        admin.set_feature(feature, value).await.ok();
        assert_eq!(admin.get_feature(feature, 0).await.ok().result, 0);
    }
    assert_eq!(admin.get_feature(7, 0).await.ok().result, 0x000f_000f);
    let refused = [
        (0x02, 1, 0x02),
        (0x04, 1 << 16, 0x02),
        (0x05, 1 << 16, 0x02),
        (0x06, 1, 0x02),
        (0x07, 0xffff, 0x02),
        (0x07, 0xffff_0000, 0x02),
        (0x08, 0, 0x02),
        (0x0f, 600_001, 0x1a),
        (0x10, 0, 0x02),
        (0x81, 0, 0x10e),
        (0xc0, 0, 0x02),
    ];
    for (feature, value, status) in refused {
        assert_eq!(admin.set_feature(feature, value).await.code(), status, "feature {feature:x}");
    }
    for feature in [0x00, 0x08, 0x09, 0x10, 0x80, 0xff] {
        assert_eq!(admin.get_feature(feature, 0).await.code(), 0x02);
    }
    let save = sqe(0x09, 3, 0, (0, TRANSPORT), [0x8000_0001, 0, 0, 0, 0, 0]);
    assert_eq!(admin.command(&save).await.0.code(), 0x10d);
    let (cqe, id) = admin.command(&sqe(0x0a, 3, 0, (16, TRANSPORT), [0x81, 1, 0, 0, 0, 0])).await;
    assert_eq!((cqe.code(), id.as_slice()), (0, &HOST_ID[..]));
    let short = sqe(0x0a, 3, 0, (16, TRANSPORT), [0x81, 0, 0, 0, 0, 0]);
    assert_eq!(admin.command(&short).await.0.code(), 0x18);
}

#[tokio::test(start_paused = true)]
async fn log_pages_are_cut_as_asked_for() {
    let (subsystem, ..) = subsystem(Limits::default());
    let mut admin = Client::admin(in_memory(&subsystem), HOST).await;
    let (_, whole) = admin.log_page(5, 4096, 0).await;
    // Supported: Identify, Write with its effect, no Format.
    assert_eq!((whole[4 * 6], whole[1024 + 4], whole[4 * 0x80]), (1, 3, 0));
    let (_, part) = admin.log_page(5, 64, 1024).await;
    assert_eq!(part, whole[1024..1088]);
    let (_, beyond) = admin.log_page(5, 8192, 4000).await;
    assert!(beyond[..96] == whole[4000..] && beyond[96..].iter().all(|byte| *byte == 0));
    for offset in [4100, 2, u64::MAX - 3] {
        assert_eq!(admin.log_page(5, 64, offset).await.0.code(), 0x02);
    }
    assert_eq!(admin.log_page(5, 2 << 20, 0).await.0.code(), 0x02, "more than MDTS");
    for page in [0x06, 0x0c, 0x70, 0x80, 0xff] {
        assert_eq!(admin.log_page(page, 512, 0).await.0.code(), 0x109);
    }
    let (_, supported) = admin.log_page(0, 1024, 0).await;
    let pages: Vec<usize> = (0..256).filter(|page| supported[4 * page] == 1).collect();
    assert_eq!(pages, [0, 1, 2, 3, 4, 5, 0xc1]);
    let (_, firmware) = admin.log_page(3, 512, 0).await;
    assert_eq!((firmware[0], &firmware[8..11]), (1, &b"0.1"[..]));
    let of_namespace = sqe(2, 3, 1, (512, TRANSPORT), [2 | 127 << 16, 0, 0, 0, 0, 0]);
    assert_eq!(admin.command(&of_namespace).await.0.code(), 0x02);
    // Six bad offsets and pages and so on left a trace each, the latest first.
    let (_, errors) = admin.log_page(1, 128, 0).await;
    assert_eq!((errors[0], errors[64]), (10, 9));
}

#[tokio::test(start_paused = true)]
async fn other_admin_commands_are_answered() {
    let (subsystem, ..) = subsystem(Limits::default());
    let mut admin = Client::admin(in_memory(&subsystem), HOST).await;
    let abort = sqe(0x08, 3, 0, (0, TRANSPORT), [1 | 7 << 16, 0, 0, 0, 0, 0]);
    assert_eq!(admin.command(&abort).await.0.ok().result, 1, "not aborted");
    for opcode in [0x00, 0x01, 0x05, 0x0d, 0x80, 0x84, 0xc1] {
        assert_eq!(admin.command(&sqe(opcode, 3, 0, (0, TRANSPORT), [0; 6])).await.0.code(), 0x01);
    }
    for cns in [0x04, 0x09, 0x10, 0x13, 0xff] {
        assert_eq!(admin.identify(cns, 1).await.0.code(), 0x02);
    }
    for cns in [0x05, 0x06, 0x07, 0x08, 0x1c] {
        admin.identify(cns, 1).await.0.ok();
    }
    let key_value = sqe(6, 3, 1, (4096, TRANSPORT), [5, 1 << 24, 0, 0, 0, 0]);
    assert_eq!(admin.command(&key_value).await.0.code(), 0x02, "another command set");
    assert_eq!(admin.identify(2, u32::MAX).await.0.code(), 0x0b);
    // Data in a capsule where none belong.
    let cqe = admin.command_with(&sqe(0x18, 3, 0, (512, IN_CAPSULE), [0; 6]), &[0; 512]).await;
    assert_eq!(cqe.code(), 0x02);
    let cqe = admin.command_with(&sqe(6, 3, 0, (4096, IN_CAPSULE), [1, 0, 0, 0, 0, 0]), &[0; 4096]).await;
    assert_eq!(cqe.code(), 0x11);
}

/// A listener of both families knows hosts of IPv4 by mapped addresses; discovery reports a usable address.
#[tokio::test(start_paused = true)]
async fn discovery_tells_the_address_of_the_host_s_family() {
    let (subsystem, ..) = subsystem(Limits::default());
    for (local, family, told) in
        [("[::ffff:127.0.0.1]:4420", 1, "127.0.0.1"), ("127.0.0.1:4420", 1, "127.0.0.1"), ("[::1]:4420", 2, "::1")]
    {
        let (ours, theirs) = tokio::io::duplex(64 << 10);
        tokio::spawn(subsystem.clone().serve_connection(theirs, local.parse().unwrap(), "[::1]:9".parse().unwrap()));
        let mut discovery = Client::open(ours, false, false).await;
        discovery.connect(0, DISCOVERY, HOST, 31, 0, 0).await.ok();
        discovery.enable().await;
        let (_, page) = discovery.log_page(0x70, 2048, 0).await;
        let address = std::str::from_utf8(&page[1024 + 512..1024 + 768]).unwrap();
        assert_eq!((page[1025], address.trim_end_matches([' ', '\0'])), (family, told), "{local}");
    }
}

#[tokio::test(start_paused = true)]
async fn descriptors_of_data_that_are_taken_are_advertised() {
    let (subsystem, ..) = subsystem(Limits::default());
    let mut admin = Client::admin(in_memory(&subsystem), HOST).await;
    let (_, controller) = admin.identify(1, 0).await;
    // SGLs of any alignment, offsets in the capsule, the Transport SGL Data Block (which the command above used).
    assert_eq!(controller[536..540], (1u32 | 1 << 20 | 1 << 21).to_le_bytes());
}

#[tokio::test(start_paused = true)]
async fn identify_and_effects_report_what_the_namespace_does() {
    let (subsystem, ..) = subsystem(Limits::default());
    let mut admin = Client::admin(in_memory(&subsystem), HOST).await;
    let (_, controller) = admin.identify(1, 0).await;
    assert_eq!(controller[526..530], [31, 0, 31, 0], "AWUN and AWUPF: 32 blocks");
    let (_, namespace) = admin.identify(0, 1).await;
    assert_eq!(namespace[8..16], (1u64 << 19).to_le_bytes(), "NCAP: half of the size");
    assert_eq!(namespace[24] & 0b11, 0b11, "NSFEAT: thin, and its own atomic units");
    assert_eq!(namespace[33], 0b1001, "DLFEAT: zeros, Write Zeroes deallocates");
    assert_eq!(namespace[34..38], [31, 0, 31, 0], "NAWUN and NAWUPF");
    let (_, effects) = admin.log_page(5, 4096, 0).await;
    let of = |opcode: usize| u32::from_le_bytes(effects[1024 + 4 * opcode..][..4].try_into().unwrap());
    assert_eq!((of(0xc2), of(0xc6), of(0xc4), of(1), of(2)), (1, 3, 0, 3, 1));
}

#[tokio::test(start_paused = true)]
async fn discovery_reports_the_advertised_addresses() {
    let config = SubsystemConfig {
        advertise: vec!["192.0.2.7:4421".parse().unwrap(), "[2001:db8::1]:4422".parse().unwrap()],
        generation: 77,
        ..SubsystemConfig::default()
    };
    let subsystem = Subsystem::new(config, HostAccess::Any, Vec::new()).unwrap();
    let mut discovery = Client::open(in_memory(&subsystem), false, false).await;
    discovery.connect(0, DISCOVERY, HOST, 31, 0, 0).await.ok();
    discovery.enable().await;
    let (_, page) = discovery.log_page(0x70, 3072, 0).await;
    assert_eq!((page[0], page[8]), (77, 2), "generation and records");
    for (record, family, port, told) in [(1024, 1, "4421", "192.0.2.7"), (2048, 2, "4422", "2001:db8::1")] {
        let text = |at: usize, length: usize| {
            let text = std::str::from_utf8(&page[record + at..][..length]).unwrap();
            text.trim_end_matches([' ', '\0']).to_owned()
        };
        assert_eq!((page[record + 1], text(32, 32).as_str(), text(512, 256).as_str()), (family, port, told));
    }
}

#[tokio::test(start_paused = true)]
async fn hosts_learn_that_a_namespace_is_nearly_full_once() {
    let blocks = Blocks::new(200);
    let config = SubsystemConfig { nqn: SUBSYSTEM.into(), ..SubsystemConfig::default() };
    let namespace = NamespaceConfig { nsid: 1, uuid: [1; 16], hosts: HostAccess::Any, namespace: blocks.clone() };
    let subsystem = Subsystem::new(config, HostAccess::Any, vec![namespace]).unwrap();
    let mut admin = Client::admin(in_memory(&subsystem), HOST).await;
    admin.command(&sqe(9, 1, 0, (0, TRANSPORT), [0x0b, 1, 0, 0, 0, 0])).await.0.ok();
    for request in [100, 101] {
        admin.send_command(&sqe(0x0c, request, 0, (0, TRANSPORT), [0; 6]), &[]).await;
    }
    // The capacity is half of the size: 89 of 100 blocks, then 90.
    blocks.put(0, &vec![1; 89 * 4096]);
    subsystem.look_around();
    let (_, health) = admin.log_page(2, 512, 0).await;
    assert_eq!((health[0], health[3], health[4]), (0, 11, 10));
    blocks.put(89, &[1; 4096]);
    subsystem.look_around();
    let event = admin.completion().await.0;
    assert_eq!((event.cid, event.result as u32), (100, 0x0002_0201), "spare below its threshold, page 02h");
    let (_, health) = admin.log_page(2, 512, 0).await;
    assert_eq!((health[0], health[3]), (1, 10));
    subsystem.look_around();
    admin.identify(1, 0).await.0.ok();
}
