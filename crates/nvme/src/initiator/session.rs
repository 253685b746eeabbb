//! A session: one association with a controller, all its connections set up and ready to serve.

use super::{
    admin::{self, NamespaceRecord},
    call::{Call, Port},
    config::InitiatorConfig,
    connection::Connection,
    error::InitiatorError,
    open::{ADMIN_IN_CAPSULE, open},
    request::Payload,
};
use crate::{
    command::{CQE_BYTES, Command, SQE_BYTES},
    fabrics::{
        Capabilities, Configuration, Connect, ConnectData, ControllerStatus, DISCOVERY_NQN, DYNAMIC_CONTROLLER,
        Property, property,
    },
    features::{self, QueueCount},
    identify::{ControllerIdentity, ControllerKind, NvmLimits, cns},
    status::Status,
};
use bytes::Bytes;
use std::{
    future::{Future, ready},
    pin::pin,
    sync::Arc,
    time::Duration,
};
use tokio::{
    net::TcpStream,
    time::{Instant, sleep},
};

/// Entries of the admin queue: the least that the specification lets a host have, and enough.
const ADMIN_ENTRIES: u16 = 32;
/// Commands of the initiator itself (keep-alive, events, setting up) that can be in progress in addition to callers'.
pub(super) const PRIVATE_SLOTS: usize = 8;
/// Admin commands of callers that can be in progress.
pub(super) const ADMIN_SLOTS: usize = ADMIN_ENTRIES as usize - 1 - PRIVATE_SLOTS;
/// The longest wait for a controller to become ready, whatever it asks for.
const READY_AT_MOST: Duration = Duration::from_secs(30);
/// The longest wait for a controller to shut down.
const SHUTDOWN_AT_MOST: Duration = Duration::from_secs(2);

/// The properties of a controller, known since it was set up.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) identity: ControllerIdentity,
    pub(super) limits: NvmLimits,
    /// Bytes that one command may move.
    pub(super) max_transfer: usize,
    pub(super) controller: u16,
}

#[derive(Debug)]
pub(super) struct Session {
    pub(super) admin: Connection<TcpStream>,
    pub(super) io: Vec<(Connection<TcpStream>, usize)>,
    /// Our own commands on the admin queue.
    pub(super) private: Arc<Port>,
    pub(super) facts: Facts,
}

/// Sets up everything: admin queue, controller, I/O queues.
pub(super) async fn establish(config: &InitiatorConfig) -> Result<Session, InitiatorError> {
    let address: Arc<str> = config.address.as_str().into();
    let slots = usize::from(ADMIN_ENTRIES) - 1;
    let mut admin = open(config, &address, 0, slots).await?;
    let private = Arc::new(Port::new(PRIVATE_SLOTS));
    private.queue.attach(&[PRIVATE_SLOTS]);
    let is_discovery = config.subsystem == DISCOVERY_NQN;
    let setup = Setup { config, private: &private };
    let prepared = drive(&mut admin, &private, setup.controller(is_discovery)).await?;
    let mut io = Vec::new();
    for queue in 1..=prepared.queues {
        let mut connection = open(config, &address, queue, prepared.slots).await?;
        let port = Port::new(1);
        port.queue.attach(&[1]);
        let connect = setup.connect(&port, queue, prepared.entries, prepared.facts.controller);
        drive(&mut connection, &port, connect).await?;
        connection.set_in_capsule(prepared.in_capsule);
        io.push((connection, prepared.slots));
    }
    let Prepared { facts, .. } = prepared;
    Ok(Session { admin, io, private, facts })
}

/// Does something that needs a connection's answers while serving the connection.
pub(super) async fn drive<T>(
    connection: &mut Connection<TcpStream>,
    port: &Port,
    task: impl Future<Output = Result<T, InitiatorError>>,
) -> Result<T, InitiatorError> {
    let sources = [(&port.queue, 0)];
    let mut task = pin!(task);
    let error = tokio::select! {
        biased;
        outcome = &mut task => return outcome,
        error = connection.run(&sources) => error,
    };
    // An answer that came right before the end says more than the end: why a Connect is refused, say.
    tokio::select! {
        biased;
        outcome = task => outcome,
        () = ready(()) => Err(error),
    }
}

/// The reports of the admin queue before the I/O queues are connected.
struct Prepared {
    facts: Facts,
    queues: u16,
    entries: u16,
    slots: usize,
    in_capsule: usize,
}

struct Setup<'a> {
    config: &'a InitiatorConfig,
    private: &'a Port,
}

impl Setup<'_> {
    fn wrong(&self, what: impl Into<String>) -> InitiatorError {
        InitiatorError::setup(&self.config.address, what)
    }

    fn unsupported(&self, what: impl Into<String>) -> InitiatorError {
        InitiatorError::Unsupported { address: self.config.address.clone(), what: what.into() }
    }

    async fn ask(
        &self,
        port: &Port,
        command: Command,
        payload: Payload,
    ) -> Result<super::request::Reply, InitiatorError> {
        let call = Call { command, payload, time: Some(self.config.connect_timeout), repeatable: false };
        port.call(call).await
    }

    /// Connect; gives the controller's identifier.
    async fn connect(&self, port: &Port, queue: u16, entries: u16, controller: u16) -> Result<u16, InitiatorError> {
        let config = self.config;
        let connect = Connect {
            format: 0,
            queue,
            size: entries - 1,
            // Asked for always: no more than the queue holds are ever in progress, so the head pointer is not needed.
            attributes: Connect::NO_FLOW_CONTROL,
            keep_alive: if queue == 0 { config.keep_alive.as_millis().try_into().unwrap_or(u32::MAX) } else { 0 },
        };
        let data = ConnectData {
            host_id: config.host.id,
            controller,
            subsystem: config.subsystem.clone(),
            host: config.host.nqn.clone(),
        };
        let data = Bytes::copy_from_slice(&data.encode());
        let reply = self.ask(port, connect.command(0), Payload::Out(data)).await?;
        if !reply.status.is_success() {
            return Err(InitiatorError::Refused {
                address: config.address.clone(),
                host: config.host.nqn.clone(),
                subsystem: config.subsystem.clone(),
                status: reply.status,
            });
        }
        let (given, authentication) = (reply.result as u16, (reply.result >> 16) as u16);
        if authentication != 0 {
            return Err(self.unsupported("it asks for authentication"));
        }
        if queue > 0 && given != controller {
            return Err(self.wrong(format!("queue {queue} came to controller {given}, not to {controller}")));
        }
        Ok(given)
    }

    async fn property(&self, offset: u32, wide: bool, value: Option<u64>) -> Result<u64, InitiatorError> {
        let command = Property { offset, wide, value }.command(0);
        let reply = self.ask(self.private, command, Payload::None).await?;
        if reply.status.is_success() { Ok(reply.result) } else { Err(reply.status.into()) }
    }

    /// Connects the admin queue, enables the controller, reads who it is and agrees on queues.
    async fn controller(&self, is_discovery: bool) -> Result<Prepared, InitiatorError> {
        let config = self.config;
        let controller = self.connect(self.private, 0, ADMIN_ENTRIES, DYNAMIC_CONTROLLER).await?;
        let bits = self.property(property::CAPABILITIES, true, None).await?;
        let capabilities = Capabilities::of(bits);
        // MPSMIN: the unit of MDTS is 4,096 bytes shifted by this.
        let page_shift = 12 + (bits >> 48 & 15) as u32;
        if page_shift > 12 {
            return Err(self.unsupported(format!("its smallest memory page has 2^{page_shift} bytes, not 4,096")));
        }
        self.enable(capabilities).await?;
        let identity = admin::identify(self.private, config.connect_timeout, cns::CONTROLLER, 0, 0).await?;
        let identity = ControllerIdentity::decode(&identity).map_err(|e| malformed("Identify Controller", &e))?;
        if !is_discovery && !identity.subsystem.is_empty() && identity.subsystem != config.subsystem {
            return Err(InitiatorError::Identity {
                address: config.address.clone(),
                what: "the subsystem",
                expected: config.subsystem.clone(),
                found: identity.subsystem.escape_default().to_string(),
            });
        }
        let told = match identity.max_transfer {
            0 => None,
            shift => 1usize.checked_shl(page_shift + u32::from(shift)),
        };
        let max_transfer = told.map_or(config.max_transfer_bytes, |told| told.min(config.max_transfer_bytes));
        let mut facts = Facts { limits: NvmLimits::default(), max_transfer, controller, identity };
        if is_discovery {
            return Ok(Prepared { facts, queues: 0, entries: 0, slots: 0, in_capsule: 0 });
        }
        if matches!(facts.identity.kind, Some(ControllerKind::Discovery)) {
            return Err(self.unsupported("it is a discovery controller"));
        }
        // A controller of an older version may not know this structure; then there are no limits to obey.
        match admin::identify(self.private, config.connect_timeout, cns::COMMAND_SET_CONTROLLER, 0, 0).await {
            Ok(data) => facts.limits = NvmLimits::decode(&data).map_err(|e| malformed("NVM limits", &e))?,
            Err(error) if error.status().is_some() => {}
            Err(error) => return Err(error),
        }
        let queues = self.queues().await?;
        self.watch_events(&facts.identity).await?;
        let entries = config.queue_depth.min(capabilities.max_queue.saturating_add(1));
        if entries < 2 {
            return Err(self.wrong("its queues have one entry"));
        }
        let commands = match facts.identity.max_commands {
            0 => entries - 1,
            most => most.min(entries - 1),
        };
        let in_capsule = self.in_capsule(&facts.identity)?;
        Ok(Prepared { facts, queues, entries, slots: usize::from(commands), in_capsule })
    }

    async fn enable(&self, capabilities: Capabilities) -> Result<(), InitiatorError> {
        self.property(property::CONFIGURATION, false, Some(Configuration::ENABLE.0.into())).await?;
        let most = Duration::from_millis(500) * u32::from(capabilities.timeout.max(1));
        let until = Instant::now() + most.min(READY_AT_MOST);
        let mut pause = Duration::from_millis(1);
        loop {
            let status = ControllerStatus(self.property(property::STATUS, false, None).await? as u32);
            if status.fatal() {
                return Err(self.wrong("the controller has failed (CSTS.CFS)"));
            }
            if status.ready() {
                return Ok(());
            }
            if Instant::now() >= until {
                return Err(InitiatorError::SetupTimeout {
                    address: self.config.address.clone(),
                    after: most.min(READY_AT_MOST),
                    step: "the controller becomes ready",
                });
            }
            sleep(pause).await;
            pause = (pause * 2).min(Duration::from_millis(100));
        }
    }

    async fn queues(&self) -> Result<u16, InitiatorError> {
        let wanted = self.config.io_queues;
        let value = QueueCount::both(wanted.into()).bits();
        let time = self.config.connect_timeout;
        let granted = admin::set_feature(self.private, time, features::id::NUMBER_OF_QUEUES, value).await?;
        let granted = QueueCount::of(granted).ok_or_else(|| self.wrong("it grants 65,536 queues"))?;
        let least = granted.submission.min(granted.completion);
        Ok(wanted.min(u16::try_from(least).unwrap_or(u16::MAX)))
    }

    /// Enables the events of changes that the controller supports.
    async fn watch_events(&self, identity: &ControllerIdentity) -> Result<(), InitiatorError> {
        let wanted = identity.events & features::event_bits::NAMESPACES;
        if wanted == 0 {
            return Ok(());
        }
        match admin::set_feature(self.private, self.config.connect_timeout, features::id::ASYNC_EVENTS, wanted).await {
            Err(error) if error.status().is_none() => Err(error),
            Err(error) => {
                tracing::debug!(address = %self.config.address, %error, "no events");
                Ok(())
            }
            Ok(_) => Ok(()),
        }
    }

    /// Bytes of data that a capsule of an I/O queue takes.
    fn in_capsule(&self, identity: &ControllerIdentity) -> Result<usize, InitiatorError> {
        let unit = 16;
        let command = (identity.command_capsule as usize).saturating_mul(unit);
        if command < SQE_BYTES || (identity.response_capsule as usize).saturating_mul(unit) < CQE_BYTES {
            return Err(self.wrong("its capsules are shorter than an entry"));
        }
        // With an offset, data would not begin where this side puts them; SGLs with an offset are not used for that.
        Ok(if identity.data_offset == 0 { (command - SQE_BYTES).min(ADMIN_IN_CAPSULE.max(64 << 10)) } else { 0 })
    }
}

/// Shuts the controller down, and waits a little until it has finished.
pub(super) async fn shut_down(private: &Port, time: Duration) -> Result<(), InitiatorError> {
    let time = time.min(SHUTDOWN_AT_MOST);
    let property = async |property: Property| {
        let command = property.command(0);
        let reply = private.call(Call { command, payload: Payload::None, time: Some(time), repeatable: false }).await?;
        if reply.status.is_success() { Ok(reply.result) } else { Err(InitiatorError::from(reply.status)) }
    };
    let value = Some(Configuration::ENABLE.with_shutdown().0.into());
    property(Property { offset: property::CONFIGURATION, wide: false, value }).await?;
    let until = Instant::now() + time;
    while Instant::now() < until {
        let status = property(Property { offset: property::STATUS, wide: false, value: None }).await?;
        if ControllerStatus(status as u32).shutdown_complete() {
            break;
        }
        sleep(Duration::from_millis(5)).await;
    }
    Ok(())
}

/// Whether a session is to the same controller as the one before, with the same namespaces.
pub(super) async fn check_identity(
    config: &InitiatorConfig,
    private: &Port,
    before: &Facts,
    now: &Facts,
    known: Vec<NamespaceRecord>,
) -> Result<(), InitiatorError> {
    let differs = |what, expected: String, found: String| InitiatorError::Identity {
        address: config.address.clone(),
        what,
        expected: expected.escape_default().to_string(),
        found: found.escape_default().to_string(),
    };
    if before.identity.subsystem != now.identity.subsystem {
        return Err(differs("the subsystem", before.identity.subsystem.clone(), now.identity.subsystem.clone()));
    }
    if before.identity.serial != now.identity.serial {
        return Err(differs("the serial number", before.identity.serial.clone(), now.identity.serial.clone()));
    }
    for record in known {
        match admin::namespace(private, config.connect_timeout, record.nsid).await {
            Ok(found) if found.same_as(&record) => {}
            Ok(found) => return Err(differs("a namespace", record.to_string(), found.to_string())),
            // It is not attached now: its commands fail with the target's status, which is not another device's data.
            Err(InitiatorError::Namespace { .. }) => {}
            Err(error) if error.status().is_some_and(|status| status.is(Status::INVALID_NAMESPACE)) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

pub(super) fn malformed(what: &'static str, error: &crate::RecordError) -> InitiatorError {
    InitiatorError::Malformed { what, why: error.to_string() }
}
