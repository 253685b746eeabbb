//! Targets that break the protocol.

use crate::{
    config, connect,
    fake::{Action, Fake, LAST, Options, SUCCESS, Script, c2h, frame, r2t, response, transfer},
    pattern,
};
use ciphermill_nvme::{
    initiator::{InitiatorConfig, InitiatorError, ProtocolError},
    pdu::{Digests, FatalError, PduError, PduType},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

/// The initiator of a test that looks at the error of the connection: it does not connect again.
fn once(fake: &Fake) -> InitiatorConfig {
    let mut config = config(fake);
    config.reconnect.give_up_after = Duration::ZERO;
    config
}

/// The results of a Read of two blocks and a simultaneous Write of four blocks, and the termination request that the
/// target gets.
async fn broken(digests: u8, script: Script) -> (ProtocolError, Option<(u16, u32, Vec<u8>)>) {
    let fake = Fake::start(Options::default(), script).await;
    let mut config = once(&fake);
    config.digests = Digests::from_bits(digests).unwrap();
    let (controller, namespace) = connect(config).await;
    let (read, write) = tokio::join!(namespace.read(3, 2), namespace.write(9, pattern(4, 1)));
    assert!(write.is_err());
    let InitiatorError::GaveUp { last, attempts: 0, .. } = read.unwrap_err() else { panic!("not given up at once") };
    let InitiatorError::Protocol { error, .. } = *last else { panic!("{last}") };
    assert!(!controller.is_connected());
    // The goodbye is written before the connection ends; the fake has to read it.
    for _ in 0..200 {
        if let Some(unit) = fake.seen.lock().unwrap().iter().find(|unit| unit.kind == 2) {
            let header = &unit.header;
            let code = u16::from_le_bytes([header[0], header[1]]);
            let information = u32::from_le_bytes([header[2], header[3], header[4], header[5]]);
            return (error, Some((code, information, unit.data.clone())));
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    (error, None)
}

/// Answers the Read so; the Write is left alone.
fn to_read(answer: impl Fn(u16) -> Vec<Action> + Send + Sync + 'static) -> Script {
    Arc::new(move |_, unit| if unit.kind == 4 && unit.opcode() == 2 { answer(unit.id()) } else { Vec::new() })
}

/// Answers the Write so; the Read is left alone.
fn to_write(answer: impl Fn(u16) -> Vec<Action> + Send + Sync + 'static) -> Script {
    Arc::new(move |_, unit| if unit.kind == 4 && unit.opcode() == 1 { answer(unit.id()) } else { Vec::new() })
}

#[tokio::test]
async fn every_breach_of_the_protocol_has_its_error() {
    let data = pattern(4, 7);
    let two = data[..8192].to_vec();
    let three = data[..12_288].to_vec();

    let (error, goodbye) = broken(0, to_read(|id| vec![response(id ^ 0x0200, 0, 0)])).await;
    assert!(matches!(error, ProtocolError::UnknownCommand { queue: 1, .. }), "{error}");
    assert_eq!(goodbye.unwrap().0, FatalError::SequenceError as u16);

    // An earlier use of the same slot.
    let (error, _) = broken(0, to_read(|id| vec![response(id ^ 0x1000, 0, 0)])).await;
    assert!(matches!(error, ProtocolError::UnknownCommand { .. }), "{error}");

    let more = three.clone();
    let (error, goodbye) = broken(0, to_read(move |id| vec![c2h(id, 0, &more, LAST)])).await;
    assert!(matches!(error, ProtocolError::DataRange { offset: 0, length: 12_288, room: 8192, .. }), "{error}");
    let (code, _, quote) = goodbye.unwrap();
    assert_eq!((code, quote.len(), quote[0]), (FatalError::DataOutOfRange as u16, 24, 7));

    let (piece, half) = (two.clone(), two[..4096].to_vec());
    let again = move |id| vec![c2h(id, 0, &half, 0), c2h(id, 4096, &piece, LAST)];
    assert!(matches!(broken(0, to_read(again)).await.0, ProtocolError::DataRange { expected: 4096, .. }));

    let half = two[..4096].to_vec();
    let gap = move |id| vec![c2h(id, 4096, &half, LAST)];
    assert!(matches!(broken(0, to_read(gap)).await.0, ProtocolError::DataRange { expected: 0, offset: 4096, .. }));

    let (error, _) = broken(0, to_read(|id| vec![c2h(id, u32::MAX, &[1; 8], LAST)])).await;
    assert!(matches!(error, ProtocolError::DataRange { offset: u32::MAX, .. }), "{error}");

    let one = two.clone();
    let length = move |id| vec![Action::Unit(7, LAST, transfer(id, 0, 0, 8191), one.clone())];
    assert!(matches!(broken(0, to_read(length)).await.0, ProtocolError::DataLength { unit: 8192, header: 8191 }));

    let half = two[..4096].to_vec();
    let success = move |id| vec![c2h(id, 0, &half, SUCCESS)];
    assert!(matches!(broken(0, to_read(success)).await.0, ProtocolError::SuccessBeforeLast { .. }));

    // Data for a write, a request for data of a read.
    let one = two.clone();
    let (error, _) = broken(0, to_write(move |id| vec![c2h(id, 0, &one, LAST)])).await;
    assert!(matches!(error, ProtocolError::DataRange { room: 0, .. }), "{error}");
    let (error, _) = broken(0, to_read(|id| vec![r2t(id, 1, 0, 4096)])).await;
    assert!(matches!(error, ProtocolError::ReadyRange { room: 0, .. }), "{error}");

    for (offset, length) in [(0, 0), (0, 16_385), (16_384, 4), (u32::MAX, 4), (4, u32::MAX)] {
        let (error, goodbye) = broken(0, to_write(move |id| vec![r2t(id, 1, offset, length)])).await;
        assert!(matches!(error, ProtocolError::ReadyRange { .. }), "{error}");
        assert_eq!(goodbye.unwrap().0, FatalError::DataOutOfRange as u16);
    }
    // The same bytes again, when all were asked for.
    let (error, _) = broken(0, to_write(|id| vec![r2t(id, 1, 0, 16_384), r2t(id, 2, 0, 4)])).await;
    assert!(matches!(error, ProtocolError::ReadyRange { asked: 16_384, .. }), "{error}");
    // Five at once where four are agreed. They come in one piece, so that none is served in between.
    let (error, goodbye) = broken(
        0,
        to_write(|id| {
            let units = (0..5).map(|index| frame(9, 0, &transfer(id, 1, index * 4, 4), &[], 0, (false, false)));
            vec![Action::Raw(units.collect::<Vec<_>>().concat())]
        }),
    )
    .await;
    assert!(matches!(error, ProtocolError::TooManyReady { limit: 4, .. }), "{error}");
    assert_eq!(goodbye.unwrap().0, FatalError::LimitExceeded as u16);

    let (error, _) = broken(0, to_write(|id| vec![response(id, 0, 0)])).await;
    assert!(matches!(error, ProtocolError::DoneWithoutData { asked: 0, room: 16_384, .. }), "{error}");
    let (error, _) = broken(0, to_write(|id| vec![r2t(id, 1, 0, 4), response(id, 0, 0)])).await;
    assert!(matches!(error, ProtocolError::DoneWithoutData { .. }), "{error}");

    // Units that only a host sends, or that open a connection.
    for kind in [4, 6, 0, 1] {
        let long = match kind {
            4 => 64,
            6 => 16,
            _ => 120,
        };
        let (error, _) =
            broken(0, to_read(move |_| vec![Action::Raw(frame(kind, 0, &vec![0; long], &[], 0, (false, false)))]))
                .await;
        let expected = match error {
            ProtocolError::Unexpected { .. } => true,
            // An ICResp of zeros offers too little data in a unit.
            ProtocolError::Unit(PduError::Field { kind: PduType::InitializeResponse, .. }) => kind == 1,
            _ => false,
        };
        assert!(expected, "{error}");
    }
    let (error, goodbye) = broken(0, to_read(|_| vec![Action::Raw(vec![0x08, 0, 24, 0, 24, 0, 0, 0])])).await;
    assert_eq!(error, ProtocolError::Unit(PduError::Type { code: 8 }));
    assert_eq!(goodbye.unwrap().2, [0x08, 0, 24, 0, 24, 0, 0, 0]);
    let (error, _) = broken(0, to_read(|_| vec![Action::Raw(vec![7, 0, 24, 24, 255, 255, 255, 255])])).await;
    assert!(matches!(error, ProtocolError::Unit(PduError::Length { .. })), "{error}");
    let (error, _) = broken(1, to_read(|_| vec![Action::Raw(vec![5, 0, 24, 0, 24, 0, 0, 0])])).await;
    assert!(matches!(error, ProtocolError::Unit(PduError::Length { .. } | PduError::Flags { .. })), "{error}");

    let (error, goodbye) = broken(
        3,
        to_read(|id| {
            let Action::Unit(kind, flags, header, data) = response(id, 0, 0) else { unreachable!() };
            vec![Action::Broken(kind, flags, header, data, true, false)]
        }),
    )
    .await;
    assert!(matches!(error, ProtocolError::Unit(PduError::HeaderDigest { .. })), "{error}");
    assert_eq!(goodbye.unwrap().0, FatalError::HeaderDigest as u16);

    let mut ends = vec![3, 0, 24, 0, 24, 0, 0, 0, 1, 0, 8, 0, 0, 0];
    ends.resize(24, 0);
    let (error, goodbye) = broken(0, to_read(move |_| vec![Action::Raw(ends.clone())])).await;
    assert_eq!(error, ProtocolError::Terminated { error: 1, information: 8 });
    assert_eq!(goodbye, None, "a termination is not answered with one");
}

#[tokio::test]
async fn fewer_data_than_a_read_asks_for_are_an_error_of_the_command() {
    let script = to_read(|id| vec![c2h(id, 0, &[1; 4096], LAST), response(id, 0, 0)]);
    let fake = Fake::start(Options::default(), script).await;
    let (controller, namespace) = connect(once(&fake)).await;
    let error = namespace.read(0, 2).await.unwrap_err();
    assert!(matches!(error, InitiatorError::ShortData { given: 4096, expected: 8192 }), "{error}");
    assert!(controller.is_connected());
}

#[tokio::test]
async fn data_with_a_wrong_digest_are_asked_for_again() {
    let tries = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&tries);
    let script: Script = Arc::new(move |_, unit| {
        let (id, data) = (unit.id(), pattern(1, unit.lba()));
        let broken = unit.lba() == 2 || count.fetch_add(1, Ordering::SeqCst) < 2;
        vec![Action::Broken(7, LAST | SUCCESS, transfer(id, 0, 0, 4096), data, false, broken)]
    });
    let fake = Fake::start(Options::default(), script).await;
    let mut config = once(&fake);
    config.digests = Digests { header: false, data: true };
    let (controller, namespace) = connect(config).await;
    assert_eq!(namespace.read(1, 1).await.unwrap(), pattern(1, 1));
    assert_eq!(tries.load(Ordering::SeqCst), 3);
    let error = namespace.read(2, 1).await.unwrap_err();
    assert!(matches!(error, InitiatorError::DataDigest { attempts: 3 }), "{error}");
    assert!(controller.is_connected());
}

/// A small generator, so that a failure can be repeated.
fn next(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// Answers with changed bytes, cut off, repeated, or made up. Every call must end, and its result must be right:
/// digests are on, so that no change goes unseen.
#[tokio::test]
async fn garbage_never_hangs_or_passes_for_data() {
    let seed = Arc::new(AtomicUsize::new(0x1234_5678));
    let script: Script = Arc::new(move |_, unit| {
        let mut state = seed.fetch_add(0x9e37_79b9, Ordering::SeqCst) as u64 | 1;
        for _ in 0..3 {
            next(&mut state);
        }
        if unit.kind == 6 || unit.opcode() != 2 {
            return Vec::new();
        }
        let (id, data) = (unit.id(), pattern(unit.blocks(), unit.lba()));
        let mut bytes = frame(7, LAST, &transfer(id, 0, 0, data.len() as u32), &data, 3, (false, false));
        let Action::Unit(_, _, header, _) = response(id, 0, 0) else { unreachable!() };
        bytes.extend(frame(5, 0, &header, &[], 3, (false, false)));
        match next(&mut state) % 5 {
            0 => {}
            1 => {
                let at = next(&mut state) as usize % bytes.len();
                bytes[at] ^= 1 << (next(&mut state) % 8);
            }
            2 => {
                let at = next(&mut state) as usize % bytes.len();
                bytes.truncate(at);
                return vec![Action::Raw(bytes), Action::Close];
            }
            3 => bytes.extend(bytes.clone()),
            _ => (0..200).for_each(|_| bytes.insert(0, next(&mut state) as u8)),
        }
        vec![Action::Raw(bytes)]
    });
    let fake = Fake::start(Options::default(), script).await;
    let mut config = config(&fake);
    config.digests = Digests { header: true, data: true };
    config.command_timeout = Duration::from_secs(20);
    config.reconnect.first = Duration::from_millis(1);
    config.reconnect.most = Duration::from_millis(2);
    let (controller, namespace) = connect(config).await;
    for lba in 0..150 {
        let blocks = 1 + lba as u32 % 40;
        match namespace.read(lba, blocks).await {
            Ok(data) => assert_eq!(data, pattern(blocks as usize, lba)),
            Err(error) => assert!(matches!(error, InitiatorError::DataDigest { .. }), "{error}"),
        }
    }
    assert!(controller.reconnects() > 20, "{}", controller.reconnects());
}
