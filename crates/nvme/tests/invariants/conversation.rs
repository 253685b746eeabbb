//! Several hosts talk to one target, in an order and with fields that the input picks. No side panics, all
//! memory comes back, and a host that keeps the rules is answered.

use super::{
    blocks::{Behaviour, Blocks, subsystem},
    client::{
        Client, HOST, IN_CAPSULE, OTHER_HOST, SUBSYSTEM, TRANSPORT, connect_data, connect_sqe, in_memory,
        in_memory_from, sqe,
    },
};
use ciphermill_nvme::{
    CommandError, Status,
    server::{Limits, Subsystem},
};
use std::{sync::Arc, time::Duration};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream},
    time::{sleep, timeout},
};

/// The source of the input; zeros follow its end.
struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken.to_vec()
    }
}

/// The most steps of a conversation.
const STEPS: usize = 48;
const MOMENT: Duration = Duration::from_millis(1);
const OPCODES: [u8; 20] = [
    0x00, 0x01, 0x02, 0x05, 0x08, 0x09, 0xc2, 0x01, 0x02, 0x06, 0x0a, 0x0c, 0x18, 0x7f, 0x02, 0x09, 0x05, 0x7f, 0x80,
    0x0d,
];

fn limits() -> Limits {
    let limits = Limits {
        max_connections: 6,
        max_handshakes: 4,
        max_handshakes_per_address: 2,
        max_transfer_bytes: 16 << 10,
        queue_depth: 32,
        ..Limits::default()
    };
    Limits { memory_bytes: 6 * limits.share_bytes() + (64 << 10), ..limits }
}

/// Whether the namespace may panic when the input wants it. libFuzzer takes any panic for a crash, even one that the server
/// catches; so its target says no.
#[derive(Clone, Copy, PartialEq)]
pub enum Panics {
    Never,
    AsTheInputWants,
}

/// Returns whether no connection broke the protocol.
pub fn nvme_connection(data: &[u8], panics: Panics) -> bool {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime").block_on(converse(Input(data), panics))
}

async fn converse(mut input: Input<'_>, panics: Panics) -> bool {
    let (subsystem, blocks, _) = subsystem(limits());
    let mut admin = Client::open(in_memory(&subsystem), false, false).await;
    admin.connect(0, SUBSYSTEM, HOST, 31, 0, 0).await.ok();
    admin.enable().await;
    let mut io = Client::open(in_memory(&subsystem), true, true).await;
    io.controller = admin.controller;
    io.connect(1, SUBSYSTEM, HOST, 31, 4, 0).await.ok();
    io.write(1, 5, 3, &[0x77; 8192], 5000).await.ok();

    let mut hosts = Vec::new();
    for number in 0..4 {
        hosts.push(open(&subsystem, number, input.byte()).await);
    }
    for _ in 0..STEPS {
        if input.0.is_empty() {
            break;
        }
        let (step, number) = (input.byte(), usize::from(input.byte()) % 4);
        match step % 8 {
            0..=2 => command(&mut hosts[number], &mut input).await,
            3 => {
                let count = usize::from(input.byte() % 80);
                let bytes = input.bytes(count);
                let _ = timeout(MOMENT, hosts[number].stream.write_all(&bytes)).await;
            }
            4 => host_data(&mut hosts[number], &mut input).await,
            5 => {
                let mut buffer = [0; 8192];
                let _ = timeout(MOMENT, hosts[number].stream.read(&mut buffer)).await;
            }
            6 => {
                behave(&blocks, input.byte(), panics);
                sleep(Duration::from_millis(10) * input.byte().into()).await;
            }
            _ => hosts[number] = open(&subsystem, number, input.byte()).await,
        }
    }
    // Namespace 5 is the other host's alone, and namespace 1 may fail.
    let (cqe, read) = io.read(5, 3, 2).await;
    assert!(cqe.code() == 0 && read == [0x77; 8192], "another host's command is answered");
    admin.property_get(0x1c, false).await.ok();
    let broken = subsystem.metrics().protocol_errors;
    drop((hosts, admin, io));
    sleep(Duration::from_secs(10)).await;
    let metrics = subsystem.metrics();
    assert_eq!((metrics.buffer_bytes, metrics.commands_under_way), (0, 0));
    assert_eq!((metrics.connections_open, metrics.hosts, metrics.controllers), (0, 0, 0));
    broken == 0
}

fn behave(blocks: &Blocks, byte: u8, panics: Panics) {
    let delay = (byte & 1 != 0).then_some(Duration::from_millis(50));
    let failure = (byte & 2 != 0).then(|| CommandError::new(Status::vendor(1), "the input wants it"));
    let panics = panics == Panics::AsTheInputWants && byte & 13 == 13;
    blocks.behave(Behaviour { delay, failure, panics, short: byte & 16 != 0 });
}

/// A connection of the host that misbehaves: 0 an admin queue, 1 and 2 I/O queues of its controller if there is one, 3 not
/// connected. `byte` picks digests.
async fn open(subsystem: &Arc<Subsystem>, number: usize, byte: u8) -> Client<DuplexStream> {
    // A connection before Connect has its place for a moment, whoever comes.
    sleep(Duration::from_millis(150)).await;
    let stream = in_memory_from(subsystem, &format!("192.0.2.{number}"));
    let mut client = Client::open(stream, byte & 1 != 0, byte & 2 != 0).await;
    // Its controllers come after the first, which is 1; one that is not there any more refuses.
    client.controller = if number == 0 { 0xffff } else { 2 + u16::from(byte >> 6) };
    if number < 3 {
        let attributes = if byte & 4 != 0 { 4 } else { 0 };
        let size = if byte & 8 != 0 { 3 } else { 31 };
        let data = connect_data(super::client::HOST_ID, client.controller, SUBSYSTEM, OTHER_HOST);
        let cqe = client.command_with(&connect_sqe(1, number as u16, size, attributes, 0), &data).await;
        if number == 0 && cqe.code() == 0 && byte & 16 == 0 {
            client.enable().await;
        }
    }
    client
}

async fn command(host: &mut Client<DuplexStream>, input: &mut Input<'_>) {
    let opcode = OPCODES[usize::from(input.byte()) % OPCODES.len()];
    let (id, kind, blocks, field) = (input.byte(), input.byte(), u32::from(input.byte() % 6), input.byte());
    let sizes = [0, 4096, 8192, 16, 1024, 12288, 4096, 64];
    let length = sizes[usize::from(kind >> 4) % 8] as u32;
    let capsule = kind & 1 != 0;
    let identifier = match kind & 14 {
        2 => 0,
        _ if capsule => IN_CAPSULE,
        _ => TRANSPORT,
    };
    let nsid =
        if opcode == 0x7f { u32::from(field % 9) } else { [1, 1, 1, 5, 0, 2, u32::MAX, 1][usize::from(field >> 5)] };
    let dwords = [u32::from(field), if opcode == 0x09 { 4 } else { 0 }, blocks, 0, 0, 0];
    let entry = sqe(opcode, u16::from(id % 16), nsid, (length, identifier), dwords);
    let data = if capsule { vec![field; length as usize] } else { Vec::new() };
    let unit = host.unit(4, 0, &entry, &data);
    let _ = timeout(MOMENT, host.stream.write_all(&unit)).await;
}

async fn host_data(host: &mut Client<DuplexStream>, input: &mut Input<'_>) {
    let (id, tag, place) = (u16::from(input.byte() % 16), u16::from(input.byte() % 4), input.byte());
    let (offset, length) = (u32::from(place % 4) * 4096, u32::from(place >> 4 & 3) * 4096);
    let mut header = [0; 16];
    header[..2].copy_from_slice(&id.to_le_bytes());
    header[2..4].copy_from_slice(&tag.to_le_bytes());
    header[4..8].copy_from_slice(&offset.to_le_bytes());
    header[8..12].copy_from_slice(&length.to_le_bytes());
    let mut unit = host.unit(6, if place & 4 != 0 { 4 } else { 0 }, &header, &vec![place; length as usize]);
    if place & 0x80 != 0 && place & 8 != 0 {
        // A digest that is wrong, or data.
        let last = unit.len() - 1;
        unit[last] ^= 1;
    }
    let _ = timeout(MOMENT, host.stream.write_all(&unit)).await;
}
