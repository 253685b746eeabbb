//! The first bytes on a connection, and openings that go wrong.

use crate::{
    config, connect,
    fake::{Fake, HOST, Options, SUBSYSTEM, response},
    host,
};
use ciphermill_nvme::{
    initiator::{Controller, InitiatorConfig, InitiatorError, ProtocolError},
    pdu::{Digests, PduError},
};
use std::{sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

fn nothing() -> crate::fake::Script {
    Arc::new(|_, unit| vec![response(unit.id(), 0, 0)])
}

/// ICReq, and the Connect of the admin queue, as a target sees them.
#[tokio::test]
async fn the_first_bytes_are_those_of_the_specification() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut config = InitiatorConfig::new(listener.local_addr().unwrap().to_string(), SUBSYSTEM, host());
    config.digests = Digests { header: true, data: false };
    config.keep_alive = Duration::from_millis(0x0001_0203);
    config.max_r2t = 3;
    let connecting = tokio::spawn(Controller::connect(config));
    let (mut stream, _) = listener.accept().await.unwrap();

    let mut request = [0xaa; 128];
    stream.read_exact(&mut request).await.unwrap();
    // Type 0, no flags, header 128, no data, 128 bytes; version 0, alignment 0, header digest, R2Ts less one.
    let mut expected = [0; 128];
    expected[..16].copy_from_slice(&[0, 0, 128, 0, 128, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0]);
    assert_eq!(request, expected);

    let mut answer = [0; 128];
    answer[..16].copy_from_slice(&[1, 0, 128, 0, 128, 0, 0, 0, 0, 0, 3, 1, 0, 0x10, 0, 0]);
    stream.write_all(&answer).await.unwrap();

    // 72 bytes, their digest, padding to 80 (alignment of 16), 1,024 bytes of data.
    let mut capsule = vec![0; 80 + 1024];
    stream.read_exact(&mut capsule).await.unwrap();
    let mut expected = vec![0x04, 0x01, 72, 80];
    expected.extend((80u32 + 1024).to_le_bytes());
    // Opcode 7Fh, SGL, identifier; type 1; the SGL says 1,024 bytes in the capsule.
    expected.extend([0x7f, 0x40, capsule[10], capsule[11], 0x01]);
    expected.resize(8 + 32, 0);
    expected.extend([0, 4, 0, 0, 0, 0, 0, 0x01]);
    // Format 0 and queue 0; 32 entries less one and "no flow control"; the keep-alive timeout.
    expected.extend([0, 0, 0, 0, 31, 0, 4, 0, 0x03, 0x02, 0x01, 0x00]);
    expected.resize(72, 0);
    let digest = crc32c::crc32c(&expected);
    expected.extend(digest.to_le_bytes());
    expected.resize(80, 0);
    let mut data = vec![0; 1024];
    data[..16].copy_from_slice(&std::array::from_fn::<u8, 16, _>(|index| index as u8));
    data[16..18].copy_from_slice(&[0xff, 0xff]);
    data[256..256 + SUBSYSTEM.len()].copy_from_slice(SUBSYSTEM.as_bytes());
    data[512..512 + HOST.len()].copy_from_slice(HOST.as_bytes());
    expected.extend(data);
    assert_eq!(capsule, expected);
    connecting.abort();
}

/// The later commands on the admin queue, and the first command of an I/O queue.
#[tokio::test]
async fn a_controller_is_set_up_in_the_order_of_the_specification() {
    let fake = Fake::start(Options::default(), nothing()).await;
    let mut config = config(&fake);
    (config.io_queues, config.queue_depth) = (2, 64);
    let (controller, namespace) = connect(config).await;
    assert_eq!((namespace.blocks(), namespace.uuid()), (1 << 20, [7; 16]));
    assert_eq!(controller.identify().serial, "S1");
    assert_eq!(fake.io_connections(), 2);
    let admin = fake.admin.lock().unwrap().clone();
    let steps: Vec<_> = admin.iter().map(|unit| (unit.opcode(), unit.header[4], unit.header[40])).collect();
    // Connect, CAP, CC, CSTS, Identify Controller, NVM limits, Number of Queues.
    assert_eq!(steps[..7], [(0x7f, 1, 0), (0x7f, 4, 1), (0x7f, 0, 0), (0x7f, 4, 0), (6, 0, 1), (6, 0, 6), (9, 0, 7)]);
    // CC: entries of 64 and 16 bytes, enabled.
    assert_eq!((admin[2].u32_at(44), admin[2].u32_at(48)), (0x14, 0x0046_0001));
    assert_eq!(admin[6].u32_at(44), 0x0001_0001);
    assert!(steps.contains(&(0x0c, 0, 0)), "an event is waited for");
    controller.disconnect().await;
    let last =
        fake.admin.lock().unwrap().iter().rev().find(|unit| unit.header[4] == 0 && unit.opcode() == 0x7f).cloned();
    assert_eq!(last.unwrap().u32_at(48), 0x0046_4001, "a normal shutdown");
    assert!(matches!(namespace.flush().await, Err(InitiatorError::Closed)));
}

#[tokio::test]
async fn as_many_queues_and_commands_as_the_controller_grants() {
    let options = Options { queues: 1, max_queue: 3, ..Options::default() };
    // Answers when three commands have arrived: no more than three may be in progress at once, and three must be.
    let waiting = std::sync::Mutex::new(Vec::new());
    let script: crate::fake::Script = Arc::new(move |_, unit| {
        let mut waiting = waiting.lock().unwrap();
        waiting.push(unit.id());
        assert!(waiting.len() <= 3);
        if waiting.len() < 3 { Vec::new() } else { waiting.drain(..).map(|id| response(id, 0, 0)).collect() }
    });
    let fake = Fake::start(options, script).await;
    let mut config = config(&fake);
    (config.io_queues, config.queue_depth) = (8, 64);
    let (_controller, namespace) = connect(config).await;
    assert_eq!(fake.io_connections(), 1);
    let flushes: Vec<_> = (0..30)
        .map(|_| {
            let namespace = namespace.clone();
            tokio::spawn(async move { namespace.flush().await })
        })
        .collect();
    for flush in flushes {
        flush.await.unwrap().unwrap();
    }
}

async fn refused(change: impl FnOnce(&mut Vec<u8>)) -> InitiatorError {
    let mut bytes = vec![0; 128];
    bytes[..16].copy_from_slice(&[1, 0, 128, 0, 128, 0, 0, 0, 0, 0, 0, 0, 0, 0x20, 0, 0]);
    change(&mut bytes);
    let fake = Fake::start(Options { opening: Some(bytes), ..Options::default() }, nothing()).await;
    let mut config = config(&fake);
    config.connect_timeout = Duration::from_millis(300);
    Controller::connect(config).await.unwrap_err()
}

#[tokio::test]
async fn a_wrong_icresp_is_refused() {
    let unit = |error: &InitiatorError| match error {
        InitiatorError::Protocol { error: ProtocolError::Unit(error), .. } => *error,
        other => panic!("{other}"),
    };
    assert!(matches!(unit(&refused(|bytes| bytes[0] = 0x33).await), PduError::Type { code: 0x33 }));
    assert!(matches!(unit(&refused(|bytes| bytes[2] = 24).await), PduError::HeaderLength { .. }));
    assert!(matches!(unit(&refused(|bytes| bytes[4] = 127).await), PduError::Length { .. }));
    assert!(matches!(unit(&refused(|bytes| bytes[8] = 1).await), PduError::Field { offset: 8, .. }));
    assert!(matches!(unit(&refused(|bytes| bytes[10] = 32).await), PduError::Field { offset: 10, .. }));
    assert!(matches!(unit(&refused(|bytes| bytes[11] = 4).await), PduError::Field { offset: 11, .. }));
    assert!(matches!(unit(&refused(|bytes| bytes[13] = 0x0f).await), PduError::Field { offset: 12, .. }));
    // A digest that was not asked for.
    assert!(matches!(refused(|bytes| bytes[11] = 1).await, InitiatorError::Unsupported { .. }));
    // Half of it, and no more.
    assert!(matches!(refused(|bytes| bytes.truncate(64)).await, InitiatorError::SetupTimeout { .. }));
    // Another unit.
    let response = [5, 0, 24, 0, 24, 0, 0, 0];
    let error = refused(|bytes| bytes[..8].copy_from_slice(&response)).await;
    assert!(matches!(error, InitiatorError::Protocol { error: ProtocolError::Unexpected { .. }, .. }), "{error}");
    // A termination.
    let ends = [3, 0, 24, 0, 24, 0, 0, 0, 4, 0, 8, 0, 0, 0];
    let error = refused(|bytes| bytes[..14].copy_from_slice(&ends)).await;
    let InitiatorError::Protocol { error, .. } = error else { panic!("{error}") };
    assert_eq!(error, ProtocolError::Terminated { error: 4, information: 8 });
}

#[tokio::test]
async fn a_target_without_the_digests_that_are_wanted_is_refused() {
    let fake = Fake::start(Options { digests: 1, ..Options::default() }, nothing()).await;
    let mut config = config(&fake);
    config.digests = Digests { header: true, data: true };
    let error = Controller::connect(config).await.unwrap_err();
    assert!(matches!(error, InitiatorError::Unsupported { .. }), "{error}");
    assert!(error.to_string().contains("header and data"), "{error}");
}

#[tokio::test]
async fn a_configuration_out_of_bounds_is_refused() {
    let good = InitiatorConfig::new("127.0.0.1:1", SUBSYSTEM, host());
    let changes: [fn(&mut InitiatorConfig); 8] = [
        |config| config.subsystem = "subsystem".into(),
        |config| config.host.nqn = format!("nqn.{}", "x".repeat(300)),
        |config| config.io_queues = 0,
        |config| config.queue_depth = 1,
        |config| config.queue_depth = 1025,
        |config| config.max_r2t = 17,
        |config| config.max_transfer_bytes = 4095,
        |config| config.command_timeout = Duration::ZERO,
    ];
    for change in changes {
        let mut config = good.clone();
        change(&mut config);
        assert!(matches!(Controller::connect(config).await, Err(InitiatorError::Config { .. })));
    }
    assert!(matches!(Controller::connect(good).await, Err(InitiatorError::Io { .. })), "nobody listens on port 1");
}

/// The answer to Connect and the end of the connection come together: the answer says why.
#[tokio::test]
async fn a_refusal_is_told_also_when_the_target_closes_at_once() {
    for status in [0x181, 0x4184] {
        let fake = Fake::start(Options { refusal: status, ..Options::default() }, nothing()).await;
        let error = Controller::connect(config(&fake)).await.unwrap_err();
        let refused = matches!(&error, InitiatorError::Refused { status: told, .. } if told.bits() == status);
        assert!(refused, "{error}");
    }
}
