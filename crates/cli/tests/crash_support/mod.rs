//! kill -9 of a server under load, with an oracle of its acknowledged writes.
//!
//! Writers, each with separate blocks and one separate object, keep a served store busy over NVMe until the server is
//! killed. Then the store is opened: every block and every object must be the version that was acknowledged last, or one
//! whose write was in progress; and whole. The test takes a few rounds, `make evidence AREA=nvme` hundreds.

#![allow(dead_code)]

use ciphermill_device::handlers;
use ciphermill_device::{Device, DeviceConfig, ReadMode, SpaceId};
use ciphermill_nvme::{
    BLOCK_BYTES, Host,
    initiator::{Controller, InitiatorConfig, InitiatorError, Reconnect, RemoteNamespace},
};
use ciphermill_program::{DataId, Instruction, KeyId, Metadata, Operands, Program, TypeCode, VrId};
use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

/// Name of the host that the server lets in.
pub(crate) const HOST: &str = "nqn.2014-08.org.nvmexpress:uuid:c1c1c1c1-0000-4000-8000-000000000001";
/// Space and namespace of the workload.
const NAMESPACE: u32 = 1;
/// Writers, each with one command in progress.
const WRITERS: u64 = 8;
/// Plain blocks of a writer.
const PLAIN: u64 = 96;
/// Blocks between the first blocks of two writers.
const STRIDE: u64 = 4096;
/// Where a writer's object begins, from the writer's first block.
const OBJECT: u64 = 2048;
/// The most instructions of an object, 24 bytes each: up to five blocks.
const INSTRUCTIONS: u64 = 800;

/// A server that runs in a separate process.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
    pub(crate) subsystem: String,
    /// Address of `/metrics` and `/healthz`.
    pub(crate) metrics: String,
}

impl Server {
    /// Starts `ciphermill serve` on a free port and waits until it listens.
    pub(crate) fn start(binary: &Path, store: &Path) -> Self {
        let mut child = Command::new(binary)
            .args([
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--allow-host",
                HOST,
                "--metrics",
                "127.0.0.1:0",
                "--memory",
                "16M",
                "--log",
                "error",
                "--json",
                "--store",
            ])
            .arg(store)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let said = child.stdout.take().expect("piped");
        let mut line = String::new();
        BufReader::new(said).read_line(&mut line).expect("the server says where it listens");
        let started: serde_json::Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line:?}"));
        let field = |name: &str| started[name].as_str().unwrap_or_else(|| panic!("{name} in {line}")).to_owned();
        Self { child, address: field("listening"), subsystem: field("subsystem"), metrics: field("metrics") }
    }

    /// kill -9. A server that has ended by itself is a fault.
    pub(crate) fn kill(mut self) {
        let ended = self.child.try_wait().expect("its state");
        assert!(ended.is_none(), "the server ended by itself: {ended:?}");
        self.child.kill().expect("kill");
        self.child.wait().expect("wait");
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How the workload reaches a server. A lost connection is not made again: the server is dead.
pub(crate) async fn connect(server: &Server) -> Result<(Controller, RemoteNamespace), InitiatorError> {
    let host = Host { nqn: HOST.to_owned(), id: *b"crash-test-host!" };
    let mut config = InitiatorConfig::new(&server.address, &server.subsystem, host);
    config.reconnect =
        Reconnect { first: Duration::from_millis(10), most: Duration::from_millis(10), give_up_after: Duration::ZERO };
    let controller = Controller::connect(config).await?;
    let namespace = controller.namespace(NAMESPACE).await?;
    Ok((controller, namespace))
}

/// Connects, again and again for the time of `patience`.
async fn admitted(server: &Server, patience: Duration, tally: &mut Tally) -> (Controller, RemoteNamespace) {
    let begun = Instant::now();
    loop {
        match connect(server).await {
            Ok(connected) => return connected,
            Err(error) => assert!(begun.elapsed() < patience, "the server lets this host in: {error}"),
        }
        tally.refused_connections += 1;
        tokio::time::sleep(PAUSE).await;
    }
}

/// How long a host tries again while hostile clients of its address hold the places before Connect.
const PATIENCE: Duration = Duration::from_secs(20);
/// The time between two tries.
const PAUSE: Duration = Duration::from_millis(50);

/// A small generator of numbers for the workload (xorshift64*).
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16) % bound
    }
}

/// The bytes of version `version` of a plain block: 0 is zeros.
fn block(lba: u64, version: u64) -> Vec<u8> {
    if version == 0 {
        return vec![0; BLOCK_BYTES];
    }
    let mut numbers = Numbers::new(lba << 32 ^ version);
    let mut bytes = Vec::with_capacity(BLOCK_BYTES);
    bytes.extend_from_slice(&lba.to_le_bytes());
    bytes.extend_from_slice(&version.to_le_bytes());
    while bytes.len() < BLOCK_BYTES {
        bytes.extend_from_slice(&numbers.below(1 << 40).to_le_bytes());
    }
    bytes
}

/// Version `version` of a writer's object: a program of one to [`INSTRUCTIONS`] instructions, all with the version in them.
fn object(writer: u64, version: u64) -> Vec<u8> {
    let n = VrId::new(handlers::tfhe::TLWE_COW, KeyId(writer as u32), DataId(0));
    let count = 1 + Numbers::new(writer << 32 ^ version).below(INSTRUCTIONS);
    let operands = Operands::Factor(n, version as i32);
    let multiply = Instruction::new(&handlers::tfhe::HOM_INT_MULT, operands).expect("a register and a factor");
    let mut instructions = vec![multiply; count as usize];
    instructions.push(Instruction::ret(n));
    Program::new(instructions).expect("within the limits").encode()
}

fn register(writer: u64) -> VrId {
    VrId::new(TypeCode::PRG, KeyId(writer as u32), DataId(0))
}

/// The possible contents of a block or an object: the version acknowledged last, and all unacknowledged ones.
#[derive(Clone, Debug, Default)]
struct Oracle {
    acknowledged: u64,
    under_way: Vec<u64>,
}

impl Oracle {
    fn began(&mut self, version: u64) {
        self.under_way.push(version);
    }

    /// A later write of the same writer was acknowledged: nothing earlier may show any more.
    fn ended(&mut self, version: u64) {
        *self = Self { acknowledged: version, under_way: Vec::new() };
    }

    fn allows(&self, version: u64) -> bool {
        version == self.acknowledged || self.under_way.contains(&version)
    }
}

/// The knowledge of one writer about its blocks and its object.
#[derive(Debug)]
struct Writer {
    number: u64,
    version: u64,
    plain: Vec<Oracle>,
    object: Oracle,
    acknowledged_writes: u64,
}

impl Writer {
    fn new(number: u64) -> Self {
        let plain = vec![Oracle::default(); PLAIN as usize];
        Self { number, version: 0, plain, object: Oracle::default(), acknowledged_writes: 0 }
    }

    fn base(&self) -> u64 {
        self.number * STRIDE
    }
}

/// The workload of all rounds and its results.
pub(crate) struct Crashes {
    binary: PathBuf,
    store: PathBuf,
    writers: Vec<Arc<Mutex<Writer>>>,
    numbers: Numbers,
}

/// The observations of the rounds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) kills: u64,
    pub(crate) acknowledged: u64,
    pub(crate) blocks_checked: u64,
    pub(crate) objects_checked: u64,
    /// Connections of the honest host that the server refused under attack; the host tries again.
    pub(crate) refused_connections: u64,
}

impl Crashes {
    pub(crate) fn new(binary: &Path, store: &Path, seed: u64) -> Self {
        let writers = (0..WRITERS).map(|number| Arc::new(Mutex::new(Writer::new(number)))).collect();
        Self { binary: binary.to_owned(), store: store.to_owned(), writers, numbers: Numbers::new(seed) }
    }

    /// One round: serve, write, kill at a random moment, check.
    pub(crate) fn round(&mut self, tally: &mut Tally) {
        self.round_beside(Duration::from_millis(400), tally, |_| None::<()>);
    }

    /// As [`round`](Self::round), with up to this time before the kill. `begin` sees the server before the writers start; its
    /// value is dropped after the kill, before the store is checked. If there is one, clients of the host's own address may
    /// attack, and the host tries again.
    pub(crate) fn round_beside<B>(
        &mut self,
        longest: Duration,
        tally: &mut Tally,
        begin: impl FnOnce(&Server) -> Option<B>,
    ) {
        let server = Server::start(&self.binary, &self.store);
        let beside = begin(&server);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let before: u64 = self.acknowledged();
        let moment = Duration::from_micros(2_000 + self.numbers.below(longest.as_micros() as u64));
        let seeds: Vec<u64> = (0..WRITERS).map(|_| self.numbers.below(1 << 40)).collect();
        runtime.block_on(async {
            let patience = if beside.is_some() { PATIENCE } else { Duration::ZERO };
            let (_controller, namespace) = admitted(&server, patience, tally).await;
            self.check_blocks(&namespace, tally).await;
            let tasks: Vec<_> = self
                .writers
                .iter()
                .zip(seeds)
                .map(|(writer, seed)| tokio::spawn(write_until_it_fails(namespace.clone(), Arc::clone(writer), seed)))
                .collect();
            tokio::time::sleep(moment).await;
            server.kill();
            for task in tasks {
                task.await.expect("no writer panicked");
            }
        });
        drop(beside);
        tally.kills += 1;
        tally.acknowledged += self.acknowledged() - before;
        self.check_objects(tally);
    }

    /// A last check of the state after the last kill.
    pub(crate) fn finish(&mut self, tally: &mut Tally) {
        let server = Server::start(&self.binary, &self.store);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let (_controller, namespace) = connect(&server).await.expect("the server lets this host in");
            self.check_blocks(&namespace, tally).await;
        });
    }

    fn acknowledged(&self) -> u64 {
        self.writers.iter().map(|writer| writer.lock().expect("whole").acknowledged_writes).sum()
    }

    /// Every plain block holds one of the versions that it may, whole. The version found counts from now on.
    async fn check_blocks(&self, namespace: &RemoteNamespace, tally: &mut Tally) {
        for writer in &self.writers {
            let base = writer.lock().expect("whole").base();
            let found = namespace.read(base, PLAIN as u32).await.expect("what was acknowledged can be read");
            let mut writer = writer.lock().expect("whole");
            for (index, bytes) in found.chunks_exact(BLOCK_BYTES).enumerate() {
                let lba = base + index as u64;
                let zeros = bytes.iter().all(|&byte| byte == 0);
                let version = if zeros { 0 } else { u64::from_le_bytes(bytes[8..16].try_into().expect("8 bytes")) };
                let oracle = &writer.plain[index];
                assert!(oracle.allows(version), "block {lba} is version {version}: {oracle:?}");
                assert!(bytes == block(lba, version), "block {lba} is torn: version {version}");
                writer.plain[index].ended(version);
                tally.blocks_checked += 1;
            }
        }
    }

    /// The store, opened without a server: every object that programs would see is a version that it may be, whole.
    fn check_objects(&self, tally: &mut Tally) {
        let device = Device::open(DeviceConfig::in_directory(&self.store), Vec::new()).expect("the store opens");
        let space = device.space(SpaceId(NAMESPACE)).expect("the space is there");
        for writer in &self.writers {
            let mut writer = writer.lock().expect("whole");
            let found = match space.read_bytes(register(writer.number), ReadMode::Stored) {
                Ok(bytes) => Some(bytes),
                Err(_) if space.stat(register(writer.number)).is_err() => None,
                Err(error) => panic!("the object of writer {} cannot be read: {error}", writer.number),
            };
            let version = found.as_deref().map_or(0, version_of);
            assert!(writer.object.allows(version), "object {}: version {version}, {:?}", writer.number, writer.object);
            if let Some(bytes) = found {
                assert!(bytes == object(writer.number, version), "object {} is torn: {version}", writer.number);
            }
            writer.object.ended(version);
            tally.objects_checked += 1;
        }
    }
}

/// The version in the first instruction of an object.
fn version_of(bytes: &[u8]) -> u64 {
    match Program::decode(handlers::instruction_set(), bytes)
        .expect("a stored program is sound")
        .instructions()
        .first()
        .map(Instruction::operands)
    {
        Some(Operands::Factor(_, value)) => u64::from(value as u32),
        other => panic!("not an object of this test: {other:?}"),
    }
}

async fn write_until_it_fails(namespace: RemoteNamespace, writer: Arc<Mutex<Writer>>, seed: u64) {
    let mut numbers = Numbers::new(seed);
    loop {
        let done = match numbers.below(4) {
            0 => write_object(&namespace, &writer, &mut numbers).await,
            kind => write_plain(&namespace, &writer, kind == 1 && numbers.below(2) == 0, &mut numbers).await,
        };
        if done.is_err() {
            return;
        }
    }
}

async fn write_plain(
    namespace: &RemoteNamespace,
    writer: &Mutex<Writer>,
    zeroes: bool,
    numbers: &mut Numbers,
) -> Result<(), InitiatorError> {
    let first = numbers.below(PLAIN);
    let count = 1 + numbers.below((PLAIN - first).min(32));
    let (lba, version) = {
        let mut writer = writer.lock().expect("whole");
        writer.version += 1;
        let version = if zeroes { 0 } else { writer.version };
        writer.plain[first as usize..][..count as usize].iter_mut().for_each(|block| block.began(version));
        (writer.base() + first, version)
    };
    if zeroes {
        namespace.write_zeroes(lba, count, true).await?;
    } else {
        let data: Vec<u8> = (lba..lba + count).flat_map(|lba| block(lba, version)).collect();
        namespace.write(lba, data).await?;
    }
    let mut writer = writer.lock().expect("whole");
    writer.acknowledged_writes += 1;
    writer.plain[first as usize..][..count as usize].iter_mut().for_each(|block| block.ended(version));
    Ok(())
}

/// Metadata, which names the checksum, and the data in two pieces: in any order.
async fn write_object(
    namespace: &RemoteNamespace,
    writer: &Mutex<Writer>,
    numbers: &mut Numbers,
) -> Result<(), InitiatorError> {
    let (number, version, lba) = {
        let mut writer = writer.lock().expect("whole");
        writer.version += 1;
        let version = writer.version;
        writer.object.began(version);
        (writer.number, version, writer.base() + OBJECT)
    };
    let mut data = object(number, version);
    let metadata = Metadata {
        id: register(number),
        armed: false,
        one_shot: false,
        stored: false,
        size: data.len() as u64,
        object_crc32c: Metadata::checksum_of(&data),
    };
    data.resize(data.len().next_multiple_of(BLOCK_BYTES), 0);
    let middle = numbers.below((data.len() / BLOCK_BYTES) as u64 + 1) as usize * BLOCK_BYTES;
    let mut pieces = vec![
        (lba + namespace.blocks() / 2, metadata.encode().to_vec()),
        (lba, data[..middle].to_vec()),
        (lba + (middle / BLOCK_BYTES) as u64, data[middle..].to_vec()),
    ];
    pieces.retain(|(_, bytes)| !bytes.is_empty());
    while !pieces.is_empty() {
        let (lba, bytes) = pieces.swap_remove(numbers.below(pieces.len() as u64) as usize);
        namespace.write(lba, bytes).await?;
    }
    let mut writer = writer.lock().expect("whole");
    writer.acknowledged_writes += 1;
    writer.object.ended(version);
    Ok(())
}
