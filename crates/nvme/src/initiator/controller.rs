//! The handle of a connected controller.

use super::{
    admin,
    call::{Call, Port},
    config::InitiatorConfig,
    error::InitiatorError,
    namespace::RemoteNamespace,
    request::Reply,
    session::{ADMIN_SLOTS, establish, malformed},
    shared::Shared,
    supervisor::supervise,
};
use crate::{
    command::Command,
    identify::{ALL_NAMESPACES, ControllerIdentity, LIST_ENTRIES, cns, decode_namespaces},
    log::{ErrorEntry, ErrorText, id},
    namespace::CommandError,
    status::Status,
};
use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};
use tokio::time::{Instant, sleep, timeout};

/// The More bit of [`Status::bits`].
const MORE: u16 = 1 << 13;
/// Entries of the log of causes that are looked through for one error: the log's 64.
const CAUSES: usize = 64;
/// How long the cause of an error may take; after that the error is reported without it.
const CAUSE_TIME: Duration = Duration::from_secs(1);
/// The wait before a command is sent again that the target asked to be sent again; it doubles up to the second figure.
const RETRY: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(500));
/// Pages of the list of namespaces that are read at most: 65,536 namespaces.
const LIST_PAGES: usize = 64;

/// An error as the target has logged it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorReport {
    /// The entry of the error log.
    pub entry: ErrorEntry,
    /// The cause in words, without control characters; empty if the target has none.
    pub text: String,
}

/// A connected controller. Clones are handles of the same; when the last one and the last [`RemoteNamespace`] are dropped,
/// the controller is shut down and disconnected.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let config = served(subsystem()?).await?;
/// let controller = Controller::connect(config).await?;
/// let disk = controller.namespace(1).await?;
/// disk.write(0, vec![7u8; BLOCK_BYTES]).await?;
/// assert_eq!(disk.read(0, 1).await?, [7u8; BLOCK_BYTES]);
/// controller.disconnect().await;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Controller {
    handle: Arc<Handle>,
}

#[derive(Debug)]
struct Handle {
    shared: Arc<Shared>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.stop.send_replace(true);
    }
}

impl Controller {
    /// Connects: one attempt. A connection lost later is restored in the background. Runs its tasks on the current runtime,
    /// which must have I/O and time enabled.
    ///
    /// # Errors
    /// See [`InitiatorError`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = served(subsystem()?).await?;
    /// let controller = Controller::connect(config.clone()).await?;
    /// assert!(controller.is_connected());
    /// let other = InitiatorConfig { subsystem: "nqn.2026-01.example:other".into(), ..config };
    /// assert!(matches!(Controller::connect(other).await, Err(InitiatorError::Refused { .. })));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn connect(config: InitiatorConfig) -> Result<Self, InitiatorError> {
        config.check()?;
        let session = establish(&config).await?;
        let slots = session.io.iter().map(|(_, slots)| slots).sum();
        let shared = Arc::new(Shared::new(config, session.facts.clone(), slots, ADMIN_SLOTS));
        tokio::spawn(supervise(Arc::clone(&shared), session));
        Ok(Self { handle: Arc::new(Handle { shared }) })
    }

    pub(super) fn shared(&self) -> &Arc<Shared> {
        &self.handle.shared
    }

    fn port(&self) -> (&Port, Duration) {
        (&self.handle.shared.admin, self.handle.shared.config.command_timeout)
    }

    /// The identity that the controller reported when it was last connected.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = served(subsystem()?).await?;
    /// # let controller = Controller::connect(config).await?;
    /// assert_eq!(controller.identify().model, "Ciphermill");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn identify(&self) -> ControllerIdentity {
        self.shared().facts().identity.clone()
    }

    /// Whether it is connected now.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.shared().is_connected()
    }

    /// How often it was connected again.
    #[must_use]
    pub fn reconnects(&self) -> u64 {
        self.shared().reconnects.load(Ordering::Relaxed)
    }

    /// The namespaces that this host may see, ascending.
    ///
    /// # Errors
    /// See [`InitiatorError`]; [`InitiatorError::Malformed`] when they do not ascend or are too many.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = served(subsystem()?).await?;
    /// # let controller = Controller::connect(config).await?;
    /// assert_eq!(controller.namespaces().await?, [1]);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn namespaces(&self) -> Result<Vec<u32>, InitiatorError> {
        let (port, time) = self.port();
        let mut all: Vec<u32> = Vec::new();
        for _ in 0..LIST_PAGES {
            let after = all.last().copied().unwrap_or(0);
            let data = admin::identify(port, time, cns::ACTIVE_NAMESPACES, after, 0).await?;
            let page = decode_namespaces(&data);
            let count = page.len();
            for nsid in page {
                if all.last().is_some_and(|last| *last >= nsid) {
                    let why = format!("{nsid} does not ascend");
                    return Err(InitiatorError::Malformed { what: "list of namespaces", why });
                }
                all.push(nsid);
            }
            if count < LIST_ENTRIES || all.last().is_some_and(|last| *last >= ALL_NAMESPACES - 1) {
                return Ok(all);
            }
        }
        Err(InitiatorError::Malformed { what: "list of namespaces", why: "there are more than 65,536".into() })
    }

    /// A namespace. From now on, a reconnect finds the same one, or fails.
    ///
    /// # Errors
    /// [`InitiatorError::Namespace`] if it is not there or of a kind that cannot be used here,
    /// [`InitiatorError::Identity`] if it is another than before; and others.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = served(subsystem()?).await?;
    /// # let controller = Controller::connect(config).await?;
    /// let disk = controller.namespace(1).await?;
    /// assert_eq!((disk.blocks(), disk.uuid()), (64, [7; 16]));
    /// assert!(matches!(controller.namespace(2).await, Err(InitiatorError::Namespace { nsid: 2, .. })));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn namespace(&self, nsid: u32) -> Result<RemoteNamespace, InitiatorError> {
        let (port, time) = self.port();
        let record = match admin::namespace(port, time, nsid).await {
            Err(error) if error.status().is_some_and(|status| status.is(Status::INVALID_NAMESPACE)) => {
                return Err(InitiatorError::Namespace { nsid, what: "the controller has no such namespace".into() });
            }
            other => other?,
        };
        self.shared().learn(record).map_err(|before| InitiatorError::Identity {
            address: self.shared().config.address.clone(),
            what: "a namespace",
            expected: before.to_string(),
            found: record.to_string(),
        })?;
        Ok(RemoteNamespace::new(self.clone(), record, time))
    }

    /// A part of a log page: `length` bytes, a multiple of 4, from `offset`; fewer where the page ends.
    ///
    /// # Errors
    /// See [`InitiatorError`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = served(subsystem()?).await?;
    /// # let controller = Controller::connect(config).await?;
    /// # let disk = controller.namespace(1).await?;
    /// use ciphermill_nvme::identify::ALL_NAMESPACES;
    /// use ciphermill_nvme::log::{Smart, id};
    ///
    /// disk.write(0, vec![7u8; BLOCK_BYTES]).await?;
    /// let page = controller.log_page(id::SMART, ALL_NAMESPACES, 0, Smart::BYTES).await?;
    /// assert_eq!(Smart::decode(&page)?.writes, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn log_page(&self, page: u8, nsid: u32, offset: u64, length: usize) -> Result<Vec<u8>, InitiatorError> {
        let most = self.shared().facts().max_transfer;
        if length == 0 || !length.is_multiple_of(4) || !offset.is_multiple_of(4) || length > most {
            let what = format!("a part of a log page has 4 to {most} bytes and, as its offset, a multiple of 4");
            return Err(InitiatorError::Argument { what });
        }
        let (port, time) = self.port();
        admin::log_page(port, time, nsid, page, offset, length).await
    }

    /// The current value of a feature; `selector` is dword 11.
    ///
    /// # Errors
    /// See [`InitiatorError`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = served(subsystem()?).await?;
    /// # let controller = Controller::connect(config).await?;
    /// use ciphermill_nvme::features::{QueueCount, id};
    ///
    /// let granted = controller.get_feature(id::NUMBER_OF_QUEUES, 0, 0).await?;
    /// assert_eq!(QueueCount::of(granted), Some(QueueCount::both(1)));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn get_feature(&self, feature: u8, nsid: u32, selector: u32) -> Result<u32, InitiatorError> {
        let (port, time) = self.port();
        admin::get_feature(port, time, nsid, feature, selector).await
    }

    /// Sets a feature, not saved; gives dword 0 of the answer.
    ///
    /// # Errors
    /// See [`InitiatorError`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = served(subsystem()?).await?;
    /// # let controller = Controller::connect(config).await?;
    /// use ciphermill_nvme::features::id;
    ///
    /// controller.set_feature(id::TEMPERATURE_THRESHOLD, 350).await?;
    /// assert_eq!(controller.get_feature(id::TEMPERATURE_THRESHOLD, 0, 0).await?, 350);
    /// # Ok(())
    /// # }
    /// ```
    pub async fn set_feature(&self, feature: u8, value: u32) -> Result<u32, InitiatorError> {
        let (port, time) = self.port();
        admin::set_feature(port, time, feature, value).await
    }

    /// Asks to abort a command; whether it was found in time.
    ///
    /// # Errors
    /// See [`InitiatorError`].
    pub async fn abort(&self, queue: u16, command: u16) -> Result<bool, InitiatorError> {
        let (port, time) = self.port();
        admin::abort(port, time, queue, command).await
    }

    /// The errors that the controller has logged for this connection, the latest first.
    ///
    /// # Errors
    /// See [`InitiatorError`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = served(subsystem()?).await?;
    /// # let controller = Controller::connect(config).await?;
    /// # let disk = controller.namespace(1).await?;
    /// assert!(disk.vendor_read(0xc6, [0; 6], 4096).await.is_err());
    /// let last = &controller.last_errors().await?[0];
    /// assert!(last.entry.status.is(Status::vendor(1)));
    /// assert_eq!(last.text, "the disk has no lamp");
    /// # Ok(())
    /// # }
    /// ```
    pub async fn last_errors(&self) -> Result<Vec<ErrorReport>, InitiatorError> {
        let entries = (usize::from(self.identify().error_entries) + 1).min(CAUSES);
        let page = self.log_page(id::ERROR, ALL_NAMESPACES, 0, entries * ErrorEntry::BYTES).await?;
        let texts = match self.causes().await {
            Err(error) if error.status().is_some() => Vec::new(),
            texts => texts?,
        };
        let mut reports = Vec::new();
        for bytes in page.chunks_exact(ErrorEntry::BYTES) {
            let entry = ErrorEntry::decode(bytes).map_err(|error| malformed("error log", &error))?;
            if entry.count > 0 {
                let text = texts.iter().find(|text| text.count == entry.count).map(words).unwrap_or_default();
                reports.push(ErrorReport { entry, text });
            }
        }
        Ok(reports)
    }

    async fn causes(&self) -> Result<Vec<ErrorText>, InitiatorError> {
        let (port, _) = self.port();
        let length = CAUSES * ErrorText::BYTES;
        let page = admin::log_page(port, CAUSE_TIME, ALL_NAMESPACES, id::ERROR_TEXTS, 0, length).await?;
        let texts = page.chunks_exact(ErrorText::BYTES).map(ErrorText::decode);
        texts.collect::<Result<Vec<_>, _>>().map_err(|error| malformed("log of causes", &error))
    }

    /// A failed command as an error, with the cause in words if the target has one and is not asked for too many.
    pub(super) async fn explain(&self, reply: &Reply) -> InitiatorError {
        let mut error = CommandError::from(reply.status);
        let shared = self.shared();
        if reply.status.bits() & MORE != 0
            && shared.may_ask_cause()
            && let Ok(Ok(_one)) = timeout(CAUSE_TIME, shared.causes.acquire()).await
        {
            match timeout(CAUSE_TIME, self.causes()).await {
                Ok(Ok(texts)) => {
                    let mut texts = texts.iter().filter(|text| text.count > 0);
                    let found =
                        texts.find(|text| (text.queue, text.command) == reply.place && text.status.is(reply.status));
                    error.detail = found.map(words).unwrap_or_default();
                }
                Ok(Err(error)) if error.status().is_some() => shared.has_no_causes(),
                Ok(Err(_)) | Err(_) => {}
            }
        }
        InitiatorError::Command { error }
    }

    /// An I/O command until it is done or its deadline passes: sent again when the target asks for that.
    pub(super) async fn io(&self, call: Call) -> Result<Reply, InitiatorError> {
        let time = call.time.unwrap_or(self.shared().config.command_timeout);
        let time = (Instant::now() + time, time);
        let reply = self.shared().io.submit_until(call.clone(), Some(time)).await?.wait().await?;
        self.settle(call, reply, time).await
    }

    /// What becomes of a command that was answered: sent again while the target asks for that and the deadline, which is
    /// that of the first time, allows it; or its error, explained.
    pub(super) async fn settle(
        &self,
        call: Call,
        mut reply: Reply,
        time: (Instant, Duration),
    ) -> Result<Reply, InitiatorError> {
        let mut pause = RETRY.0;
        while !reply.status.is_success() {
            if !(call.repeatable && may_pass(reply.status)) || Instant::now() + pause >= time.0 {
                return Err(self.explain(&reply).await);
            }
            sleep(pause).await;
            pause = (pause * 2).min(RETRY.1);
            reply = self.shared().io.submit_until(call.clone(), Some(time)).await?.wait().await?;
        }
        Ok(reply)
    }

    /// A vendor's admin command that reads at most `length` bytes. It is not sent twice.
    ///
    /// # Errors
    /// See [`InitiatorError`].
    pub async fn vendor_admin(
        &self,
        opcode: u8,
        nsid: u32,
        dwords: [u32; 6],
        length: usize,
    ) -> Result<Vec<u8>, InitiatorError> {
        super::namespace::check_vendor(opcode, length, self.shared().facts().max_transfer)?;
        let (port, time) = self.port();
        let command = Command { opcode, nsid, dwords, ..Command::default() };
        let payload = super::namespace::vendor_payload(length);
        let reply = port.call(Call { command, payload, time: Some(time), repeatable: false }).await?;
        if reply.status.is_success() { Ok(reply.data) } else { Err(self.explain(&reply).await) }
    }

    /// Ends it: commands not yet sent fail with [`InitiatorError::Closed`], those in progress may end (at most 5 s), the
    /// controller is shut down, and the connections are closed. Then it returns.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// # #[tokio::main]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = served(subsystem()?).await?;
    /// # let controller = Controller::connect(config).await?;
    /// # let disk = controller.namespace(1).await?;
    /// controller.disconnect().await;
    /// assert!(matches!(disk.read(0, 1).await, Err(InitiatorError::Closed)));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn disconnect(&self) {
        let shared = self.shared();
        shared.stop.send_replace(true);
        let mut ended = shared.ended.subscribe();
        // The sender is in `shared`, so this ends only when the task says so.
        let _ = ended.wait_for(|ended| *ended).await;
    }
}

/// Whether the target means the command to be sent again.
fn may_pass(status: Status) -> bool {
    !status.is_final()
        && [
            Status::COMMAND_INTERRUPTED,
            Status::NAMESPACE_NOT_READY,
            Status::ABORTED_SQ_DELETION,
            Status::DATA_TRANSFER_ERROR,
            Status::TRANSIENT_TRANSPORT_ERROR,
        ]
        .iter()
        .any(|passing| status.is(*passing))
}

/// A text of the target, fit to be shown.
fn words(text: &ErrorText) -> String {
    text.text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
