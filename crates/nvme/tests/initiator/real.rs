//! The initiator against this crate's target: everything both can do, and connections that are cut at random.

use crate::{fake::HOST, host, pattern};
use ciphermill_nvme::{
    Answer, Caller, CommandError, Geometry, Host, Namespace, Status, VendorCommand,
    features::id::NUMBER_OF_QUEUES,
    initiator::{Controller, InitiatorConfig, InitiatorError, RemoteNamespace, blocking, discover},
    log::{SubsystemKind, id},
    pdu::Digests,
    server::{HostAccess, Limits, NamespaceConfig, Subsystem, SubsystemConfig, Target},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    ops::Range,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

const NQN: &str = "nqn.2026-01.test:real";
const BLOCKS: u64 = 4096;
/// Writes that begin at this block take their time.
const SLOW: u64 = 4000;

#[derive(Debug, Default)]
struct Memory {
    blocks: Mutex<BTreeMap<u64, Vec<u8>>>,
    runs: Mutex<u64>,
}

impl Memory {
    fn forget(&self, range: Range<u64>) {
        let mut blocks = self.blocks.lock().unwrap();
        range.for_each(|lba| drop(blocks.remove(&lba)));
    }
}

impl Namespace for Memory {
    fn geometry(&self) -> Geometry {
        Geometry { size: BLOCKS, capacity: BLOCKS, used: self.blocks.lock().unwrap().len() as u64 }
    }

    fn read(self: Arc<Self>, _: &Arc<Caller>, lba: u64, count: u32) -> Answer<Vec<u8>> {
        if lba == BLOCKS - 1 {
            return Answer::failed(
                CommandError::new(Status::vendor(0x42).do_not_retry(), "block 4,095 is cursed").at(lba),
            );
        }
        let blocks = self.blocks.lock().unwrap();
        let block = |lba| blocks.get(&lba).cloned().unwrap_or_else(|| vec![0; 4096]);
        Answer::Ready(Ok((lba..lba + u64::from(count)).flat_map(block).collect()))
    }

    fn write(self: Arc<Self>, _: &Arc<Caller>, lba: u64, data: Vec<u8>) -> Answer<()> {
        let act = move || {
            let mut blocks = self.blocks.lock().unwrap();
            for (index, block) in data.chunks(4096).enumerate() {
                blocks.insert(lba + index as u64, block.to_vec());
            }
        };
        if lba == SLOW {
            return Answer::later(async move {
                tokio::time::sleep(Duration::from_millis(1500)).await;
                act();
                Ok(())
            });
        }
        // Some at once, some later, so that answers come out of order.
        if !lba.is_multiple_of(3) {
            act();
            return Answer::Ready(Ok(()));
        }
        Answer::later(async move {
            tokio::task::yield_now().await;
            act();
            Ok(())
        })
    }

    fn write_zeroes(self: Arc<Self>, _: &Arc<Caller>, lba: u64, blocks: u32, _: bool) -> Answer<()> {
        self.forget(lba..lba + u64::from(blocks));
        Answer::Ready(Ok(()))
    }

    fn deallocate(self: Arc<Self>, _: &Arc<Caller>, ranges: Vec<Range<u64>>) -> Answer<()> {
        ranges.into_iter().for_each(|range| self.forget(range));
        Answer::Ready(Ok(()))
    }

    fn flush(self: Arc<Self>, _: &Arc<Caller>) -> Answer<()> {
        Answer::Ready(Ok(()))
    }

    fn vendor(self: Arc<Self>, _: &Arc<Caller>, command: VendorCommand) -> Answer<Vec<u8>> {
        *self.runs.lock().unwrap() += 1;
        Answer::Ready(Ok(format!("{:?}", command.dwords).into_bytes()))
    }
}

struct Server {
    address: SocketAddr,
    subsystem: Arc<Subsystem>,
    memory: Arc<Memory>,
    stop: tokio::sync::oneshot::Sender<()>,
    task: tokio::task::JoinHandle<()>,
}

async fn serve(address: SocketAddr, memory: Arc<Memory>, uuid: [u8; 16], limits: Limits) -> Server {
    let config = SubsystemConfig { nqn: NQN.into(), limits, ..SubsystemConfig::default() };
    let hosts = HostAccess::List(BTreeSet::from([HOST.to_owned()]));
    let namespace = NamespaceConfig { nsid: 1, uuid, hosts: hosts.clone(), namespace: memory.clone() };
    let subsystem = Subsystem::new(config, hosts, vec![namespace]).unwrap();
    let target = Target::bind(address, Arc::clone(&subsystem)).await.unwrap();
    let address = target.local_addr();
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let task = tokio::spawn(async move {
        target
            .serve(async {
                let _ = stopped.await;
            })
            .await
            .unwrap()
    });
    Server { address, subsystem, memory, stop, task }
}

async fn started() -> Server {
    serve("127.0.0.1:0".parse().unwrap(), Arc::default(), [3; 16], Limits::default()).await
}

fn config(address: SocketAddr) -> InitiatorConfig {
    let mut config = InitiatorConfig::new(address.to_string(), NQN, host());
    config.reconnect.first = Duration::from_millis(5);
    config.reconnect.most = Duration::from_millis(50);
    config
}

#[tokio::test]
async fn discovery_lists_the_subsystem_for_a_host_that_may_connect() {
    let server = started().await;
    let time = Duration::from_secs(5);
    let entries = discover(&server.address.to_string(), &host(), time).await.unwrap();
    let found = entries.iter().find(|entry| entry.subsystem == NQN).unwrap();
    assert_eq!((found.kind, found.service.as_str()), (SubsystemKind::Nvm, server.address.port().to_string().as_str()));
    let other = Host { nqn: "nqn.2026-01.test:other".into(), id: [1; 16] };
    let entries = discover(&server.address.to_string(), &other, time).await.unwrap_or_default();
    assert!(entries.iter().all(|entry| entry.subsystem != NQN));
    let address = server.address.to_string();
    let same = tokio::task::spawn_blocking(move || blocking::discover(&address, &host(), time).unwrap());
    assert!(same.await.unwrap().iter().any(|entry| entry.subsystem == NQN));

    let mut config = config(server.address);
    config.host = other;
    let error = Controller::connect(config).await.unwrap_err();
    assert!(
        matches!(&error, InitiatorError::Refused { status, .. } if status.is(Status::CONNECT_INVALID_HOST)),
        "{error}"
    );
}

#[tokio::test]
async fn all_commands_do_what_they_say_with_every_digest() {
    for digests in (0..4).filter_map(Digests::from_bits) {
        let server = started().await;
        let mut config = config(server.address);
        (config.digests, config.io_queues) = (digests, 2);
        let controller = Controller::connect(config).await.unwrap();
        assert_eq!(controller.identify().subsystem, NQN);
        assert_eq!(controller.namespaces().await.unwrap(), [1]);
        let namespace = controller.namespace(1).await.unwrap();
        assert_eq!((namespace.blocks(), namespace.uuid()), (BLOCKS, [3; 16]));
        let error = controller.namespace(2).await.unwrap_err();
        assert!(matches!(error, InitiatorError::Namespace { nsid: 2, .. }), "{error}");

        for blocks in [1, 2, 3, 64, namespace.max_transfer_blocks()] {
            let data = pattern(blocks as usize, blocks.into());
            namespace.write(7, data.clone()).await.unwrap();
            assert_eq!(namespace.read(7, blocks).await.unwrap(), data, "{digests:?} {blocks}");
            assert!(namespace.compare(7, data.clone()).await.unwrap());
        }
        assert!(!namespace.compare(8, pattern(1, 1)).await.unwrap());
        let data = pattern(2000, 9);
        namespace.write_large(100, data.clone()).await.unwrap();
        assert!(namespace.read_large(100, 2000).await.unwrap() == data);
        namespace.write_zeroes(100, 1000, true).await.unwrap();
        namespace.deallocate(&[1100..1200, 1300..1301]).await.unwrap();
        namespace.flush().await.unwrap();
        assert_eq!(namespace.read_large(100, 1100).await.unwrap(), vec![0; 1100 * 4096]);
        assert_eq!(namespace.read(1299, 1).await.unwrap(), data[1199 * 4096..1200 * 4096]);
        // The target fills up what the command has room for.
        let answer = namespace.vendor_read(0xc2, [1, 2, 3, 4, 5, 6], 4096).await.unwrap();
        assert!(answer.starts_with(b"[1, 2, 3, 4, 5, 6]"));

        let error = namespace.read(BLOCKS - 1, 1).await.unwrap_err();
        let InitiatorError::Command { error } = error else { panic!("{error}") };
        assert!(error.status.is(Status::vendor(0x42)) && error.status.is_final());
        assert!(error.detail.contains("block 4,095 is cursed"), "{:?}", error.detail);
        let logged = controller.last_errors().await.unwrap();
        assert!(logged[0].entry.status.is(Status::vendor(0x42)) && logged[0].entry.lba == BLOCKS - 1, "{logged:?}");
        assert!(logged[0].text.contains("cursed"));

        let granted = controller.get_feature(NUMBER_OF_QUEUES, 0, 0).await.unwrap();
        assert_eq!(granted & 0xffff, 1);
        assert_eq!(controller.log_page(id::SMART, 0xffff_ffff, 0, 512).await.unwrap().len(), 512);
        assert!(!controller.abort(1, 0x7ff).await.unwrap(), "nothing to abort");
        // An event, which the initiator reads the log for: the next one comes, and nothing breaks.
        server.subsystem.namespaces_changed(1);
        tokio::time::sleep(Duration::from_millis(30)).await;
        namespace.flush().await.unwrap();
        assert_eq!(controller.reconnects(), 0);
        controller.disconnect().await;
        // The target notices the closed connections a moment later.
        for _ in 0..500 {
            if server.subsystem.metrics().controllers == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let metrics = server.subsystem.metrics();
        assert_eq!((metrics.protocol_errors, metrics.controllers), (0, 0), "{metrics:?}");
        assert_eq!(metrics.buffer_bytes, 0);
    }
}

#[tokio::test]
async fn a_target_that_is_started_again_is_the_same_and_another_is_not() {
    let server = started().await;
    let (address, memory) = (server.address, Arc::clone(&server.memory));
    let controller = Controller::connect(config(address)).await.unwrap();
    let namespace = controller.namespace(1).await.unwrap();
    namespace.write(5, pattern(1, 5)).await.unwrap();
    let restart = async |server: Server, uuid| {
        let _ = server.stop.send(());
        server.task.await.unwrap();
        serve(address, Arc::clone(&memory), uuid, Limits::default()).await
    };
    let server = restart(server, [3; 16]).await;
    assert_eq!(namespace.read(5, 1).await.unwrap(), pattern(1, 5));
    assert_eq!(controller.reconnects(), 1);
    let _server = restart(server, [4; 16]).await;
    let error = namespace.write(5, pattern(1, 6)).await.unwrap_err();
    assert!(matches!(error, InitiatorError::Identity { .. }), "{error}");
    assert_eq!(memory.blocks.lock().unwrap()[&5], pattern(1, 5));
}

#[tokio::test]
async fn a_target_that_stops_answers_first() {
    let server = started().await;
    let mut config = config(server.address);
    // Signs of life are due several times before the answer.
    config.keep_alive = Duration::from_millis(600);
    let controller = Controller::connect(config).await.unwrap();
    let namespace = controller.namespace(1).await.unwrap();
    let slow = tokio::spawn(async move { namespace.write(SLOW, pattern(1, 9)).await });
    while server.subsystem.metrics().commands_under_way == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let _ = server.stop.send(());
    slow.await.unwrap().unwrap();
    assert_eq!(controller.reconnects(), 0);
    server.task.await.unwrap();
    assert_eq!(server.memory.blocks.lock().unwrap()[&SLOW], pattern(1, 9));
}

/// Forwards bytes, and cuts each connection after a number of them that it draws by lot.
async fn cutter(to: SocketAddr, seed: u64, cuts: Arc<Mutex<u64>>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let mut state = seed;
        while let Ok((client, _)) = listener.accept().await {
            state = next(state);
            // A few never get through the setting up, most live for a while.
            let most = if state.is_multiple_of(5) { state >> 32 & 0xfff } else { state >> 32 & 0x1f_ffff };
            let cuts = Arc::clone(&cuts);
            tokio::spawn(async move {
                let Ok(target) = TcpStream::connect(to).await else { return };
                let left = Mutex::new(most);
                let (mut from_client, mut to_client) = client.into_split();
                let (mut from_target, mut to_target) = target.into_split();
                tokio::select! {
                    () = forward(&mut from_client, &mut to_target, &left) => {}
                    () = forward(&mut from_target, &mut to_client, &left) => {}
                }
                *cuts.lock().unwrap() += 1;
            });
        }
    });
    address
}

async fn forward(
    from: &mut tokio::net::tcp::OwnedReadHalf,
    to: &mut tokio::net::tcp::OwnedWriteHalf,
    left: &Mutex<u64>,
) {
    let mut buffer = vec![0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        let (count, cut) = {
            let mut left = left.lock().unwrap();
            let now = (*left).min(count as u64);
            *left -= now;
            (now as usize, *left == 0)
        };
        // A cut in the middle of a unit, wherever it falls; at once, as no side may send more before an answer.
        if to.write_all(&buffer[..count]).await.is_err() || cut {
            return;
        }
    }
}

fn next(mut state: u64) -> u64 {
    state ^= state << 13;
    state ^= state >> 7;
    state ^ state << 17
}

/// One of several users, each with separate blocks: writes, reads back and zeroes at random; reads return the
/// acknowledged data.
async fn user(namespace: RemoteNamespace, number: u64, rounds: u64) {
    let (begin, count) = (number * 64, 64);
    let mut oracle: BTreeMap<u64, u64> = BTreeMap::new();
    let mut state = number + 0x9e37_79b9_7f4a_7c15;
    let content = |oracle: &BTreeMap<u64, u64>, lba: u64, blocks: u64| -> Vec<u8> {
        let block = |lba| oracle.get(&lba).map_or_else(|| vec![0; 4096], |seed| pattern(1, *seed));
        (lba..lba + blocks).flat_map(block).collect()
    };
    for round in 0..rounds {
        state = next(state);
        let offset = state >> 20 & 63;
        let (lba, blocks) = (begin + offset, (1 + (state >> 30 & 31)).min(count - offset));
        match state % 5 {
            0 | 1 => {
                let seeds: Vec<_> = (0..blocks).map(|index| (number << 40 | round << 8 | index) + 1).collect();
                let data: Vec<u8> = seeds.iter().flat_map(|seed| pattern(1, *seed)).collect();
                namespace.write(lba, data).await.unwrap();
                oracle.extend((lba..).zip(seeds));
            }
            2 => {
                namespace.write_zeroes(lba, blocks, true).await.unwrap();
                oracle.retain(|at, _| !(lba..lba + blocks).contains(at));
            }
            3 => assert!(namespace.compare(lba, content(&oracle, lba, blocks)).await.unwrap(), "user {number}"),
            _ => {
                let read = namespace.read(lba, blocks as u32).await.unwrap();
                assert!(read == content(&oracle, lba, blocks), "user {number}, round {round}, blocks from {lba}");
            }
        }
    }
    assert!(namespace.read_large(begin, count).await.unwrap() == content(&oracle, begin, count), "user {number}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_random_load_reads_what_it_wrote() {
    for digests in (0..4).filter_map(Digests::from_bits) {
        let server = started().await;
        let mut config = config(server.address);
        (config.digests, config.io_queues, config.queue_depth) = (digests, 3, 8);
        let controller = Controller::connect(config).await.unwrap();
        let namespace = controller.namespace(1).await.unwrap();
        let users: Vec<_> = (0..32).map(|number| tokio::spawn(user(namespace.clone(), number, 60))).collect();
        for user in users {
            user.await.unwrap();
        }
        assert_eq!(controller.reconnects(), 0);
        assert_eq!(server.subsystem.metrics().protocol_errors, 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_write_is_lost_when_connections_are_cut() {
    for (seed, bits) in [(1, 0), (2, 3)] {
        let server = started().await;
        let cuts = Arc::new(Mutex::new(0));
        let address = cutter(server.address, seed, Arc::clone(&cuts)).await;
        let mut config = config(address);
        (config.digests, config.io_queues) = (Digests::from_bits(bits).unwrap(), 2);
        config.command_timeout = Duration::from_secs(60);
        // The first attempts may be cut as well.
        let controller = loop {
            match Controller::connect(config.clone()).await {
                Ok(controller) => break controller,
                Err(error) => assert!(error.status().is_none(), "{error}"),
            }
        };
        let namespace = controller.namespace(1).await.unwrap();
        let users: Vec<_> = (0..8).map(|number| tokio::spawn(user(namespace.clone(), number, 25))).collect();
        for user in users {
            user.await.unwrap();
        }
        assert!(controller.reconnects() >= 3, "{}", controller.reconnects());
        assert!(*cuts.lock().unwrap() > controller.reconnects());
        drop((namespace, controller));
        // The target holds nothing for those that are gone.
        for _ in 0..500 {
            if server.subsystem.metrics().buffer_bytes == 0 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(server.subsystem.metrics().buffer_bytes, 0);
    }
}
