//! A namespace in memory whose answers can be late, wrong or none.
#![allow(dead_code, unreachable_pub, reason = "each test file uses a part")]

use ciphermill_nvme::{
    Answer, Caller, CommandError, Geometry, Namespace, Properties, Status, VendorCommand, VendorOpcode,
    server::{HostAccess, Limits, NamespaceConfig, Subsystem, SubsystemConfig},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::{Arc, Mutex},
    time::Duration,
};

#[derive(Clone, Debug, Default)]
pub struct Behaviour {
    /// How late answers are; `None` for at once.
    pub delay: Option<Duration>,
    pub failure: Option<CommandError>,
    pub panics: bool,
    /// Reads give one block less than asked for.
    pub short: bool,
}

#[derive(Debug)]
pub struct Blocks {
    size: u64,
    blocks: Mutex<BTreeMap<u64, Vec<u8>>>,
    pub behaviour: Mutex<Behaviour>,
    /// The calls, in order.
    pub calls: Mutex<Vec<String>>,
}

impl Blocks {
    pub fn new(size: u64) -> Arc<Self> {
        Arc::new(Self { size, blocks: Mutex::default(), behaviour: Mutex::default(), calls: Mutex::default() })
    }

    pub fn get(&self, lba: u64) -> Vec<u8> {
        self.blocks.lock().unwrap().get(&lba).cloned().unwrap_or_else(|| vec![0; 4096])
    }

    pub fn put(&self, lba: u64, data: &[u8]) {
        let mut blocks = self.blocks.lock().unwrap();
        for (index, block) in data.chunks(4096).enumerate() {
            blocks.insert(lba + index as u64, block.to_vec());
        }
    }

    pub fn behave(&self, behaviour: Behaviour) {
        *self.behaviour.lock().unwrap() = behaviour;
    }

    fn answer<T: Send + 'static>(
        self: Arc<Self>,
        call: String,
        act: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Answer<T> {
        let behaviour = self.behaviour.lock().unwrap().clone();
        self.calls.lock().unwrap().push(call);
        let end = move || match behaviour {
            Behaviour { panics: true, .. } => panic!("the namespace panics"),
            Behaviour { failure: Some(failure), .. } => Err(failure),
            _ => Ok(act(&self)),
        };
        match behaviour.delay {
            None => Answer::Ready(end()),
            Some(delay) => Answer::later(async move {
                tokio::time::sleep(delay).await;
                end()
            }),
        }
    }
}

impl Namespace for Blocks {
    fn geometry(&self) -> Geometry {
        let used = self.blocks.lock().unwrap().len() as u64;
        Geometry { size: self.size, capacity: self.size / 2, used }
    }

    fn properties(&self) -> Properties {
        const VENDOR: [VendorOpcode; 2] =
            [VendorOpcode { opcode: 0xc2, changes: false }, VendorOpcode { opcode: 0xc6, changes: true }];
        Properties { deallocated_reads_zeros: true, atomic_blocks: 32, vendor: &VENDOR }
    }

    fn read(self: Arc<Self>, _: &Arc<Caller>, lba: u64, blocks: u32) -> Answer<Vec<u8>> {
        let blocks = if self.behaviour.lock().unwrap().short { blocks - 1 } else { blocks };
        self.answer(format!("read {lba} {blocks}"), move |this| {
            (lba..lba + u64::from(blocks)).flat_map(|lba| this.get(lba)).collect()
        })
    }

    fn write(self: Arc<Self>, _: &Arc<Caller>, lba: u64, data: Vec<u8>) -> Answer<()> {
        self.answer(format!("write {lba} {}", data.len() / 4096), move |this| this.put(lba, &data))
    }

    fn write_zeroes(self: Arc<Self>, _: &Arc<Caller>, lba: u64, blocks: u32, deallocate: bool) -> Answer<()> {
        self.answer(format!("zero {lba} {blocks} {deallocate}"), move |this| {
            let mut map = this.blocks.lock().unwrap();
            (lba..lba + u64::from(blocks)).for_each(|lba| drop(map.remove(&lba)));
        })
    }

    fn deallocate(self: Arc<Self>, _: &Arc<Caller>, ranges: Vec<Range<u64>>) -> Answer<()> {
        self.answer(format!("deallocate {ranges:?}"), move |this| {
            let mut map = this.blocks.lock().unwrap();
            ranges.into_iter().flatten().for_each(|lba| drop(map.remove(&lba)));
        })
    }

    fn flush(self: Arc<Self>, _: &Arc<Caller>) -> Answer<()> {
        self.answer("flush".into(), |_| ())
    }

    fn vendor(self: Arc<Self>, _: &Arc<Caller>, command: VendorCommand) -> Answer<Vec<u8>> {
        if command.opcode != 0xc2 {
            return Answer::failed(Status::INVALID_OPCODE.do_not_retry());
        }
        self.answer(format!("vendor {:?} {}", command.dwords, command.length), move |_| b"directory".to_vec())
    }
}

/// A subsystem with namespace 1 for all, 2 for one host.
pub fn subsystem(limits: Limits) -> (Arc<Subsystem>, Arc<Blocks>, Arc<Blocks>) {
    let (one, two) = (Blocks::new(1 << 20), Blocks::new(1 << 10));
    let config = SubsystemConfig { nqn: super::client::SUBSYSTEM.into(), limits, ..SubsystemConfig::default() };
    let only = HostAccess::List(BTreeSet::from([super::client::HOST.to_owned()]));
    let namespace = |nsid, uuid, hosts, namespace| NamespaceConfig { nsid, uuid: [uuid; 16], hosts, namespace };
    let namespaces = vec![namespace(1, 1, HostAccess::Any, one.clone()), namespace(5, 2, only, two.clone())];
    let hosts = [super::client::HOST, super::client::OTHER_HOST].map(str::to_owned);
    let hosts = HostAccess::List(BTreeSet::from(hosts));
    (Subsystem::new(config, hosts, namespaces).unwrap(), one, two)
}

/// A subsystem for any host, with namespace 1.
pub fn open_to_all(limits: Limits) -> (Arc<Subsystem>, Arc<Blocks>) {
    let blocks = Blocks::new(1 << 20);
    let config = SubsystemConfig { nqn: super::client::SUBSYSTEM.into(), limits, ..SubsystemConfig::default() };
    let namespace = NamespaceConfig { nsid: 1, uuid: [1; 16], hosts: HostAccess::Any, namespace: blocks.clone() };
    (Subsystem::new(config, HostAccess::Any, vec![namespace]).unwrap(), blocks)
}

/// Bytes that differ from block to block.
pub fn pattern(blocks: usize, seed: u8) -> Vec<u8> {
    (0..blocks * 4096).map(|index| (index / 4096 * 31 + index * 7 + index / 256) as u8 ^ seed).collect()
}
