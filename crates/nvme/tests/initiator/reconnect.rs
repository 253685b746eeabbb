//! Connections that are lost.

use crate::{
    config, connect,
    fake::{Action, Fake, LAST, Options, SUCCESS, Script, c2h, response},
    pattern,
};
use ciphermill_nvme::initiator::{Controller, InitiatorError};
use std::{
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

fn answer(unit: &crate::fake::Unit) -> Vec<Action> {
    match unit.opcode() {
        2 => vec![c2h(unit.id(), 0, &pattern(unit.blocks(), unit.lba()), LAST | SUCCESS)],
        _ => vec![response(unit.id(), 0, 0)],
    }
}

/// The first connections close at the first command; in the middle of its data, if it is a read.
fn closes(first: usize) -> Script {
    Arc::new(move |number, unit| {
        if number >= first {
            return answer(unit);
        }
        let mut half = vec![7, 4, 24, 24, 24, 16, 0, 0];
        half.extend(unit.id().to_le_bytes());
        half.extend([0; 60]);
        vec![Action::Raw(half), Action::Close]
    })
}

#[tokio::test]
async fn commands_are_sent_again_on_a_new_connection() {
    let fake = Fake::start(Options::default(), closes(3)).await;
    let (controller, namespace) = connect(config(&fake)).await;
    let reads: Vec<_> = (0..100)
        .map(|lba| {
            let namespace = namespace.clone();
            tokio::spawn(async move { namespace.read(lba, 2).await })
        })
        .collect();
    for (lba, read) in reads.into_iter().enumerate() {
        assert_eq!(read.await.unwrap().unwrap(), pattern(2, lba as u64));
    }
    namespace.write(1, pattern(1, 1)).await.unwrap();
    assert_eq!((controller.reconnects(), fake.io_connections()), (3, 4));
    assert!(controller.is_connected());
}

#[tokio::test]
async fn what_must_not_be_done_twice_is_not_sent_again() {
    let fake = Fake::start(Options::default(), closes(1)).await;
    let (_controller, namespace) = connect(config(&fake)).await;
    let error = namespace.vendor_read_once(0xc2, [0; 6], 64).await.unwrap_err();
    assert!(matches!(error, InitiatorError::Interrupted { .. }), "{error}");
    assert_eq!(fake.seen.lock().unwrap().iter().filter(|unit| unit.kind == 4).count(), 1);
    namespace.vendor_read_once(0xc0, [0; 6], 0).await.unwrap();
}

async fn becomes(change: impl FnOnce(&mut Options)) -> (InitiatorError, InitiatorError) {
    let fake = Fake::start(Options::default(), closes(1)).await;
    let (controller, namespace) = connect(config(&fake)).await;
    change(&mut fake.options.lock().unwrap());
    let write = namespace.write(5, pattern(1, 5)).await.unwrap_err();
    assert_eq!(fake.seen.lock().unwrap().len(), 1, "nothing was sent to the other");
    assert!(!controller.is_connected());
    let later = controller.namespaces().await.unwrap_err();
    (write, later)
}

#[tokio::test]
async fn another_device_at_the_same_address_is_refused() {
    let is_identity = |(first, second): &(InitiatorError, InitiatorError)| {
        matches!((first, second), (InitiatorError::Identity { .. }, InitiatorError::Identity { .. }))
    };
    let errors = becomes(|options| options.uuid = [8; 16]).await;
    assert!(is_identity(&errors), "{errors:?}");
    assert!(errors.0.to_string().contains("08080808-0808-0808-0808-080808080808"), "{}", errors.0);
    let errors = becomes(|options| options.serial = "S2").await;
    assert!(is_identity(&errors), "{errors:?}");
    let errors = becomes(|options| options.blocks -= 1).await;
    assert!(is_identity(&errors), "{errors:?}");
}

#[tokio::test]
async fn a_namespace_that_has_grown_is_the_same() {
    let fake = Fake::start(Options::default(), closes(1)).await;
    let (controller, namespace) = connect(config(&fake)).await;
    fake.options.lock().unwrap().blocks += 1;
    namespace.write(5, pattern(1, 5)).await.unwrap();
    assert_eq!(controller.namespace(1).await.unwrap().blocks(), (1 << 20) + 1);
    assert_eq!(controller.reconnects(), 1);
}

/// Forwards connections to the fake until it is stopped.
async fn gate(to: std::net::SocketAddr) -> (std::net::SocketAddr, Arc<Mutex<bool>>) {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let open = Arc::new(Mutex::new(true));
    let is_open = Arc::clone(&open);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let is_open = Arc::clone(&is_open);
            tokio::spawn(async move {
                if !*is_open.lock().unwrap() {
                    return;
                }
                let mut target = tokio::net::TcpStream::connect(to).await.unwrap();
                let closed = async {
                    while *is_open.lock().unwrap() {
                        tokio::time::sleep(Duration::from_millis(2)).await;
                    }
                };
                tokio::select! {
                    _ = tokio::io::copy_bidirectional(&mut client, &mut target) => {}
                    () = closed => {}
                }
            });
        }
    });
    (address, open)
}

async fn is_away(controller: &Controller) {
    while controller.is_connected() {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn a_target_that_is_away_for_a_while_is_waited_for() {
    let fake = Fake::start(Options::default(), closes(0)).await;
    let (address, open) = gate(fake.address).await;
    let mut config = config(&fake);
    config.address = address.to_string();
    let (controller, namespace) = connect(config).await;
    namespace.write(1, pattern(1, 1)).await.unwrap();
    *open.lock().unwrap() = false;
    is_away(&controller).await;
    let begun = Instant::now();
    let waiting = tokio::spawn({
        let namespace = namespace.clone();
        async move { namespace.read(2, 1).await }
    });
    let hasty = namespace.with_timeout(Duration::from_millis(200)).read(3, 1).await;
    assert!(matches!(hasty, Err(InitiatorError::TimedOut { .. })), "its deadline comes first");
    assert!(!controller.is_connected());
    tokio::time::sleep(Duration::from_millis(300)).await;
    *open.lock().unwrap() = true;
    assert_eq!(waiting.await.unwrap().unwrap(), pattern(1, 2));
    assert!(begun.elapsed() >= Duration::from_millis(500));
    let reads = fake.seen.lock().unwrap().iter().filter(|unit| unit.opcode() == 2 && unit.lba() == 3).count();
    assert_eq!(reads, 0, "what nobody waits for is not sent any more");
}

#[tokio::test]
async fn it_gives_up_after_the_time_set() {
    let fake = Fake::start(Options::default(), closes(0)).await;
    let (address, open) = gate(fake.address).await;
    let mut config = config(&fake);
    config.address = address.to_string();
    config.reconnect.give_up_after = Duration::from_millis(300);
    let (controller, namespace) = connect(config).await;
    *open.lock().unwrap() = false;
    is_away(&controller).await;
    let begun = Instant::now();
    let error = namespace.read(1, 1).await.unwrap_err();
    let InitiatorError::GaveUp { after, attempts, .. } = error else { panic!("{error}") };
    // The last attempt may pass the end; no wait begins that would.
    assert!(after >= Duration::from_millis(200) && attempts >= 1, "{after:?} {attempts}");
    assert!(begun.elapsed() < Duration::from_secs(60));
    *open.lock().unwrap() = true;
    assert!(matches!(controller.namespaces().await, Err(InitiatorError::GaveUp { .. })), "it stays down");
}

#[tokio::test]
async fn it_can_be_disconnected_while_it_is_away() {
    let fake = Fake::start(Options::default(), closes(0)).await;
    let (address, open) = gate(fake.address).await;
    let mut config = config(&fake);
    config.address = address.to_string();
    let (controller, namespace) = connect(config).await;
    *open.lock().unwrap() = false;
    is_away(&controller).await;
    let waiting = tokio::spawn(async move { namespace.read(2, 1).await });
    tokio::time::sleep(Duration::from_millis(20)).await;
    tokio::time::timeout(Duration::from_secs(60), controller.disconnect()).await.unwrap();
    assert!(matches!(waiting.await.unwrap(), Err(InitiatorError::Closed)));
}

#[tokio::test]
async fn dropping_the_last_handle_ends_the_connections() {
    let fake = Fake::start(Options::default(), closes(0)).await;
    let (controller, namespace) = connect(config(&fake)).await;
    drop(controller);
    namespace.write(1, pattern(1, 1)).await.unwrap();
    drop(namespace);
    let begun = Instant::now();
    // CC with a normal shutdown notification.
    while fake.admin.lock().unwrap().last().is_none_or(|unit| unit.opcode() != 0x7f || unit.header[4] != 4) {
        assert!(begun.elapsed() < Duration::from_secs(60));
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn a_target_that_is_not_there_is_told_at_once() {
    let fake = Fake::start(Options::default(), closes(0)).await;
    let config = config(&fake);
    drop(fake);
    tokio::time::sleep(Duration::from_millis(20)).await;
    let error = Controller::connect(config).await.unwrap_err();
    assert!(matches!(error, InitiatorError::Io { .. }), "{error}");
}
