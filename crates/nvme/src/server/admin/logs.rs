//! Get Log Page.

use super::{Admin, refuse};
use crate::{
    CommandError, Status, VendorOpcode,
    command::{Command, admin, io},
    fabrics::DYNAMIC_CONTROLLER,
    features::event_bits,
    identify::{ALL_NAMESPACES, ControllerKind},
    log::{
        DiscoveryEntry, DiscoveryHeader, EFFECT_CONTENT, EFFECT_SUPPORTED, LogRequest, Smart, SubsystemKind, TCP,
        encode_effects, encode_firmware, id,
    },
    server::config::FULL_PERCENT,
};
use std::{
    net::SocketAddr,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

/// Kelvins of the composite temperature, which nothing measures: 25 degrees.
const TEMPERATURE: u16 = 298;

const IO_PAGES: [u8; 7] =
    [id::SUPPORTED, id::ERROR, id::SMART, id::FIRMWARE, id::CHANGED_NAMESPACES, id::EFFECTS, id::ERROR_TEXTS];
const DISCOVERY_PAGES: [u8; 4] = [id::SUPPORTED, id::ERROR, id::DISCOVERY, id::ERROR_TEXTS];

impl Admin {
    pub(super) fn log_page(&mut self, command: &Command) -> Result<Vec<u8>, CommandError> {
        let request = LogRequest::of(command);
        let pages: &[u8] = if self.controller().kind == ControllerKind::Io { &IO_PAGES } else { &DISCOVERY_PAGES };
        if !pages.contains(&request.page) {
            return refuse(Status::INVALID_LOG_PAGE, format!("there is no log page {:02x}h", request.page));
        }
        if request.page == id::SMART && !matches!(command.nsid, 0 | ALL_NAMESPACES) {
            return refuse(Status::INVALID_FIELD, "health is that of the controller, not of a namespace");
        }
        let page = match request.page {
            id::SUPPORTED => {
                let mut page = vec![0; 1024];
                pages.iter().for_each(|supported| page[4 * usize::from(*supported)] = 1);
                page
            }
            id::ERROR => self.controller().errors().page(),
            id::SMART => self.smart().encode(),
            id::FIRMWARE => encode_firmware(&self.subsystem.config.firmware),
            id::CHANGED_NAMESPACES => self.events.changed(),
            id::EFFECTS => self.effects(),
            id::DISCOVERY => self.discovery(),
            _ => self.controller().errors().texts(),
        };
        let outside = || CommandError::new(Status::INVALID_FIELD.do_not_retry(), "the offset is outside of the page");
        let from = usize::try_from(request.offset).ok().filter(|from| from % 4 == 0).ok_or_else(outside)?;
        let rest = page.get(from..).ok_or_else(outside)?;
        // What is asked for beyond the end is zeros. Its length was judged before.
        let length = request.length as usize;
        let mut data = rest[..rest.len().min(length)].to_vec();
        data.resize(length, 0);
        if !request.retain_event {
            self.events.read(request.page);
            if request.page == id::CHANGED_NAMESPACES {
                self.events.clear_changed();
            }
        }
        Ok(data)
    }

    /// The counts of this host alone: it learns nothing of other hosts.
    fn smart(&self) -> Smart {
        let host = &self.controller().record;
        let count = |counter: &AtomicU64| u128::from(counter.load(Relaxed));
        let units = |counter: &AtomicU64| count(counter).div_ceil(512_000);
        let fullest = self.controller().namespaces.values().map(|offered| offered.used_percent()).max().unwrap_or(0);
        Smart {
            warnings: if fullest >= FULL_PERCENT { event_bits::SPARE as u8 } else { 0 },
            temperature: TEMPERATURE,
            spare: 100 - fullest as u8,
            spare_threshold: 100 - FULL_PERCENT as u8,
            used: 0,
            units_read: units(&host.bytes_read),
            units_written: units(&host.bytes_written),
            reads: count(&host.reads),
            writes: count(&host.writes),
            busy_minutes: 0,
            power_cycles: 1,
            power_on_hours: u128::from(self.subsystem.begun.elapsed().as_secs() / 3600),
            unsafe_shutdowns: count(&host.unsafe_shutdowns),
            media_errors: count(&host.media_errors),
            error_entries: u128::from(self.controller().errors().count()),
        }
    }

    /// The subsystem, at the configured addresses, or at the address where the host found this one.
    fn discovery(&self) -> Vec<u8> {
        let config = &self.subsystem.config;
        let found = [self.local];
        let addresses = if config.advertise.is_empty() { &found[..] } else { &config.advertise };
        let header = DiscoveryHeader { generation: config.generation, records: addresses.len() as u64, format: 0 };
        let entries = addresses.iter().zip(1..).map(|(address, port)| self.discovery_entry(*address, port));
        let entries = entries.flat_map(|entry| entry.encode());
        header.encode().into_iter().chain(entries).collect()
    }

    fn discovery_entry(&self, address: SocketAddr, port_id: u16) -> DiscoveryEntry {
        // A listener of both families tells IPv4 addresses in the form of IPv6, which no host of IPv4 can use.
        let ip = address.ip().to_canonical();
        DiscoveryEntry {
            transport: TCP,
            family: if ip.is_ipv4() { 1 } else { 2 },
            kind: SubsystemKind::Nvm,
            // No secure channel; flow control can be disabled.
            requirements: 2 | 1 << 2,
            port_id,
            controller: DYNAMIC_CONTROLLER,
            admin_queue: self.subsystem.limits().queue_depth,
            service: address.port().to_string(),
            subsystem: self.subsystem.config.nqn.clone(),
            address: ip.to_string(),
            security: 0,
        }
    }

    /// Commands and their effects; a vendor's opcode counts as soon as one namespace of the host implements it.
    fn effects(&self) -> Vec<u8> {
        let mut of_io = OF_IO.to_vec();
        for offered in self.controller().namespaces.values() {
            let vendor = offered.properties.vendor.iter();
            of_io.extend(vendor.map(|&VendorOpcode { opcode, changes }| effect(opcode, changes)));
        }
        encode_effects(&OF_ADMIN.map(|opcode| effect(opcode, false)), &of_io)
    }
}

const OF_ADMIN: [u8; 7] = [
    admin::GET_LOG_PAGE,
    admin::IDENTIFY,
    admin::ABORT,
    admin::SET_FEATURES,
    admin::GET_FEATURES,
    admin::ASYNC_EVENT_REQUEST,
    admin::KEEP_ALIVE,
];

const OF_IO: [(u8, u32); 6] = [
    effect(io::FLUSH, false),
    effect(io::WRITE, true),
    effect(io::READ, false),
    effect(io::COMPARE, false),
    effect(io::WRITE_ZEROES, true),
    effect(io::DATASET_MANAGEMENT, true),
];

const fn effect(opcode: u8, changes: bool) -> (u8, u32) {
    (opcode, if changes { EFFECT_SUPPORTED | EFFECT_CONTENT } else { EFFECT_SUPPORTED })
}
