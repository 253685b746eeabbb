//! Records at known places, byte by byte.

use ciphermill_nvme::{
    Status,
    command::{Command, Completion, Sgl, admin},
    fabrics::{Capabilities, Configuration, Connect, ConnectData, InvalidParameter, is_nqn},
    features::{Event, QueueCount},
    identify::{Descriptors, NamespaceIdentity, decode_descriptors, decode_namespaces, encode_namespaces},
    log::{ErrorEntry, ErrorText, LogRequest, Smart},
};

#[test]
fn a_command_and_a_completion() {
    let command = Command {
        opcode: admin::GET_LOG_PAGE,
        flags: 0x40,
        id: 0x1234,
        nsid: 0xffff_ffff,
        sgl: Sgl::transport(0x1000),
        dwords: LogRequest { page: 0x70, length: 0x5_0000, offset: 0x1_0000_0400, retain_event: true }.dwords(),
        ..Command::default()
    };
    let mut expected = [0; 64];
    expected[..8].copy_from_slice(&[0x02, 0x40, 0x34, 0x12, 0xff, 0xff, 0xff, 0xff]);
    expected[32..40].copy_from_slice(&[0, 0x10, 0, 0, 0, 0, 0, 0x5a]);
    // LID, RAE, NUMDL 3fffh, NUMDU 1, offset.
    expected[40..56].copy_from_slice(&[0x70, 0x80, 0xff, 0x3f, 1, 0, 0, 0, 0, 4, 0, 0, 1, 0, 0, 0]);
    assert_eq!(command.encode(), expected);
    let completion = Completion {
        result: 0x0102,
        sq_head: 7,
        sq_id: 3,
        id: 0x1234,
        status: Status::LBA_OUT_OF_RANGE.do_not_retry(),
    };
    assert_eq!(completion.encode(), [2, 1, 0, 0, 0, 0, 0, 0, 7, 0, 3, 0, 0x34, 0x12, 0x00, 0x81]);
    assert_eq!(Completion::decode(&completion.encode()), completion);
}

#[test]
fn connect() {
    let connect = Connect { format: 0, queue: 2, size: 127, attributes: Connect::NO_FLOW_CONTROL, keep_alive: 0x1388 };
    let bytes = connect.command(9).encode();
    assert_eq!(bytes[..8], [0x7f, 0x40, 9, 0, 1, 0, 0, 0]);
    assert_eq!(bytes[32..52], [0, 4, 0, 0, 0, 0, 0, 1, 0, 0, 2, 0, 127, 0, 4, 0, 0x88, 0x13, 0, 0]);
    let data = ConnectData { host_id: [5; 16], controller: 3, subsystem: "nqn.s".into(), host: "nqn.h".into() };
    let bytes = data.encode();
    assert_eq!((&bytes[..16], &bytes[16..18]), (&[5; 16][..], &[3, 0][..]));
    assert_eq!((&bytes[256..262], &bytes[512..518]), (&b"nqn.s\0"[..], &b"nqn.h\0"[..]));
    assert_eq!(InvalidParameter { offset: 256, in_data: true }.result(), 0x1_0100);
    assert!(ConnectData::decode(&bytes[..1023]).is_err());
    assert!(is_nqn("nqn.2014-08.org.nvmexpress:uuid:1") && !is_nqn("nqn.") && !is_nqn("iqn.1") && !is_nqn("nqn.\n"));
    assert!(is_nqn(&format!("nqn.{}", "x".repeat(219))) && !is_nqn(&format!("nqn.{}", "x".repeat(220))));
}

#[test]
fn properties_and_features() {
    assert_eq!(Capabilities { max_queue: 127, timeout: 1 }.bits(), 0x20_0101_007f);
    assert_eq!(Configuration::ENABLE.0, 0x0046_0001);
    assert_eq!(Configuration::ENABLE.with_shutdown().0, 0x0046_4001);
    assert_eq!(QueueCount { submission: 4, completion: 2 }.bits(), 0x0001_0003);
    assert_eq!(QueueCount::of(0xfffe_0000), Some(QueueCount { submission: 1, completion: 0xffff }));
    assert_eq!(QueueCount::of(0xffff_0000), None);
    assert_eq!(Event::NAMESPACES.result(), 0x0004_0002);
    assert_eq!(Event::DISCOVERY.result(), 0x0070_f002);
}

#[test]
fn identify() {
    let identity = NamespaceIdentity { size: 1 << 20, block_shift: 12, shared: true, ..NamespaceIdentity::default() };
    let mut bytes = identity.encode();
    assert_eq!((bytes[2], bytes[30], &bytes[128..132]), (0x10, 1, &[0, 0, 12, 0][..]));
    // Another format of 64, in use: it is the one that is read.
    bytes[26] = 0x22;
    bytes[128 + 4 * 18..128 + 4 * 19].copy_from_slice(&[8, 0, 9, 0]);
    let read = NamespaceIdentity::decode(&bytes).expect("a structure");
    assert_eq!((read.block_shift, read.metadata_bytes), (9, 8));
    assert_eq!(decode_namespaces(&encode_namespaces(1..=2000)).len(), 1024);
    assert_eq!(decode_namespaces(&[1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0]), [1]);
    // An unknown descriptor is skipped, one that passes the end is not read.
    let bytes = [9, 2, 0, 0, 1, 1, 4, 1, 0, 0, 3, 3, 16, 0, 0, 1];
    assert_eq!(decode_descriptors(&bytes), Descriptors { command_set: Some(3), ..Descriptors::default() });
}

#[test]
fn log_entries() {
    let status = Status::vendor(0x21).more();
    let entry = ErrorEntry {
        count: 5,
        queue: 1,
        command: 0x0203,
        status,
        location: 0xffff,
        lba: 0x0102_0304,
        nsid: 7,
        vendor_page: 0xc1,
    };
    let mut expected = [0; 64];
    expected[..16].copy_from_slice(&[5, 0, 0, 0, 0, 0, 0, 0, 1, 0, 3, 2, 0x42, 0x4e, 0xff, 0xff]);
    expected[16..20].copy_from_slice(&[4, 3, 2, 1]);
    expected[24] = 7;
    expected[28..30].copy_from_slice(&[0xc1, 3]);
    assert_eq!(entry.encode(), expected);
    // 80 characters of three bytes fit, the last of them an ellipsis, and none is cut in two.
    let text = ErrorText { count: 5, status, queue: 1, command: 2, text: "\u{20ac}".repeat(90) };
    let bytes = text.encode();
    assert_eq!(bytes[..16], [5, 0, 0, 0, 0, 0, 0, 0, 0x21, 0x27, 1, 0, 2, 0, 240, 0]);
    assert_eq!(ErrorText::decode(&bytes).expect("an entry").text, "\u{20ac}".repeat(79) + "…");
    let words = ErrorText { text: "known types are 7 (BFV vector) ".repeat(9), ..text };
    let told = ErrorText::decode(&words.encode()).expect("an entry").text;
    assert!(told.len() <= 240 && told.ends_with("known types are 7…"), "{told}");
    let fits = ErrorText { text: "a".repeat(240), ..words };
    assert_eq!(ErrorText::decode(&fits.encode()), Ok(fits));
    let smart = Smart { temperature: 298, units_written: 1 << 64, error_entries: 9, ..Smart::default() };
    let bytes = smart.encode();
    assert_eq!((bytes[1], bytes[2], bytes[48 + 8], bytes[176]), (0x2a, 1, 1, 9));
    assert_eq!(Smart::decode(&bytes), Ok(smart));
}
