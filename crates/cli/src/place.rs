//! Where blobs are: in a store of this process, or on a served device.

use std::env;
use std::path::{Path, PathBuf};

use ciphermill_device::store::{SpaceId, SpaceLimits};
use ciphermill_device::{Device, DeviceError, Space, StoreError};
use ciphermill_middleware::{
    DEFAULT_HOST_NQN, EmbeddedTransport, NvmeConfig, NvmeError, NvmeTransport, Transport, TransportError,
};
use ciphermill_nvme::Status;
use ciphermill_nvme::fabrics::is_nqn;
use clap::Args;

use crate::error::CliError;
use crate::store::{self, DeviceArgs};

/// The environment's name of this host.
const HOST_NQN_VARIABLE: &str = "CIPHERMILL_HOST_NQN";

/// Options of commands on blobs.
#[derive(Args, Clone, Debug)]
pub(crate) struct PlaceArgs {
    #[command(flatten)]
    choice: ChoiceArgs,
    /// With --store: the space of the device; namespace N of a server is space N [default: 0]
    #[arg(long, value_name = "N", requires = "store")]
    space: Option<u32>,
    #[command(flatten)]
    remote: RemoteArgs,
    #[command(flatten)]
    options: DeviceArgs,
}

#[derive(Args, Clone, Debug)]
#[group(id = "place", required = true, multiple = false)]
struct ChoiceArgs {
    /// Directory of the store; one process at a time may have it open
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// A served device: HOST:PORT, or nvme-tcp://HOST:PORT/SUBSYSTEM-NQN?host-nqn=NQN&namespace=N
    #[arg(long, value_name = "TARGET")]
    connect: Option<String>,
}

/// How to reach a served device.
#[derive(Args, Clone, Debug)]
pub(crate) struct RemoteArgs {
    /// With --connect: name of the subsystem [default: the only one that the target offers]
    #[arg(long, value_name = "NQN", requires = "connect")]
    nqn: Option<String>,
    /// With --connect: name of this host [default: $CIPHERMILL_HOST_NQN, else nqn.2026-01.io.github.ciphermill:host]
    #[arg(long, value_name = "NQN", requires = "connect")]
    host_nqn: Option<String>,
    /// With --connect: the namespace [default: 1]
    #[arg(long, value_name = "N", requires = "connect")]
    namespace: Option<u32>,
}

impl PlaceArgs {
    /// The way to the blobs; with `make`, a store is made where there is none.
    pub(crate) fn transport(&self, make: bool) -> Result<Box<dyn Transport>, CliError> {
        if let Some(target) = self.remote_target()? {
            return Ok(Box::new(self.remote.connect(target)?));
        }
        Ok(Box::new(EmbeddedTransport::new(self.device_and_space(make)?.1)))
    }

    /// Where the served device is, if it is one.
    pub(crate) fn remote_target(&self) -> Result<Option<&str>, CliError> {
        if self.choice.connect.is_some() && self.space.is_some() {
            let what = "--space is of a store, with --connect it means nothing: say --namespace N, which is space N of \
                        the device";
            return Err(CliError::Usage(what.to_owned()));
        }
        self.remote.check(self.choice.connect.is_some(), &self.options)?;
        Ok(self.choice.connect.as_deref())
    }

    /// What a transport failed with. Whether insecure sets are accepted is the server's to say where there is one.
    pub(crate) fn told(&self, error: TransportError) -> CliError {
        if self.choice.connect.is_some() { CliError::served(error) } else { error.into() }
    }

    pub(crate) fn remote(&self) -> &RemoteArgs {
        &self.remote
    }

    /// The device in this process and the space of it; with `make`, both are made where they are not.
    pub(crate) fn device_and_space(&self, make: bool) -> Result<(Device, Space), CliError> {
        let directory = self.directory()?;
        let settings = self.options.settings();
        let device = if make { store::open(directory, &settings) } else { store::open_existing(directory, &settings) };
        let device = device.map_err(CliError::or_connect)?;
        let id = self.space.map_or(SpaceId::EMBEDDED, SpaceId);
        let space = match device.space(id) {
            Err(DeviceError::Store(StoreError::NoSuchSpace { .. })) if make => {
                device.create_space(id, SpaceLimits::UNLIMITED)
            }
            Err(DeviceError::Store(StoreError::NoSuchSpace { .. })) => {
                return Err(CliError::NoSpaceOfNumber { path: directory.to_owned(), space: id.0 });
            }
            found => found,
        }?;
        Ok((device, space))
    }

    fn directory(&self) -> Result<&Path, CliError> {
        // The group leaves no other case.
        self.choice.store.as_deref().ok_or_else(|| CliError::Usage("give --store, or --connect".to_owned()))
    }
}

impl RemoteArgs {
    /// Refuses options that mean nothing at the place that was chosen. Clap does not: an option that is in conflict with
    /// one that is given need not be there.
    pub(crate) fn check(&self, connects: bool, options: &DeviceArgs) -> Result<(), CliError> {
        if connects && options.is_given() {
            let what = "options of the device (--memory, --backend, --max-program-seconds, --insecure-params) are the \
                        server's to say, with --connect they mean nothing";
            return Err(CliError::Usage(what.to_owned()));
        }
        if !connects && (self.nqn.is_some() || self.host_nqn.is_some() || self.namespace.is_some()) {
            let what = "--nqn, --host-nqn and --namespace are of --connect, with --store they mean nothing; --space N \
                        names the space of a store";
            return Err(CliError::Usage(what.to_owned()));
        }
        Ok(())
    }

    /// Connects.
    pub(crate) fn connect(&self, target: &str) -> Result<NvmeTransport, CliError> {
        let config = self.config(target, env::var(HOST_NQN_VARIABLE).ok()).map_err(CliError::Usage)?;
        let host = config.host.clone();
        NvmeTransport::connect(config).map_err(|error| {
            let refused = match &error {
                NvmeError::Initiator(error) => error.status().is_some_and(|told| told.is(Status::CONNECT_INVALID_HOST)),
                NvmeError::Subsystems { names, .. } => names.is_empty(),
                _ => false,
            };
            let advice = if refused { format!(" (`serve --allow-host {host}`)") } else { String::new() };
            CliError::Connect(format!("{error}{advice}"))
        })
    }

    /// The options win over the address, the address over the environment.
    fn config(&self, target: &str, environment: Option<String>) -> Result<NvmeConfig, String> {
        let url = Url::parse(target)?;
        let name = |what: &str, name: Option<String>| match name {
            Some(name) if !is_nqn(&name) => {
                Err(format!("the name of the {what}, `{name}`, is not an NVMe qualified name"))
            }
            name => Ok(name),
        };
        let mut config = NvmeConfig::new(url.address);
        config.subsystem = name("subsystem", self.nqn.clone().or(url.subsystem))?;
        let host = name("host", self.host_nqn.clone().or(url.host).or(environment))?;
        config.host = host.unwrap_or_else(|| DEFAULT_HOST_NQN.to_owned());
        config.namespace = self.namespace.or(url.namespace).unwrap_or(config.namespace);
        Ok(config)
    }
}

/// The parts of an address.
#[derive(Debug, Default, PartialEq, Eq)]
struct Url {
    address: String,
    subsystem: Option<String>,
    host: Option<String>,
    namespace: Option<u32>,
}

impl Url {
    fn parse(text: &str) -> Result<Self, String> {
        let wrong = |what: &str| format!("`{text}`: {what}; write HOST:PORT, or nvme-tcp://HOST:PORT/SUBSYSTEM-NQN");
        let (rest, query) = match text.split_once("://") {
            None => (text, None),
            Some(("nvme-tcp", rest)) => match rest.split_once('?') {
                None => (rest, None),
                Some((rest, query)) => (rest, Some(query)),
            },
            Some((scheme, _)) => return Err(wrong(&format!("`{scheme}` is not a way to a device"))),
        };
        let (address, subsystem) = rest.split_once('/').map_or((rest, ""), |(address, path)| (address, path));
        let port = address.rsplit_once(':').filter(|(host, _)| !host.is_empty()).map(|(_, port)| port);
        match port.map(|port| (port, port.parse::<u16>())) {
            Some((_, Ok(1..))) => {}
            Some((port, _)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => {
                return Err(wrong(&format!("the port {port} is not 1 to 65535")));
            }
            _ => return Err(wrong("there is no host with a port")),
        }
        let mut url = Self { address: address.to_owned(), ..Self::default() };
        url.subsystem = (!subsystem.is_empty()).then(|| subsystem.to_owned());
        for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("host-nqn", name)) => url.host = Some(name.to_owned()),
                Some(("namespace", number)) => {
                    let number = number.parse().map_err(|_| wrong(&format!("`{number}` is no namespace")))?;
                    url.namespace = Some(number);
                }
                _ => return Err(wrong(&format!("`{pair}` is neither host-nqn=NQN nor namespace=N"))),
            }
        }
        Ok(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read() {
        let plain = Url { address: "[::1]:4420".to_owned(), ..Url::default() };
        assert_eq!(Url::parse("[::1]:4420"), Ok(plain));
        let all = Url {
            address: "localhost:1".to_owned(),
            subsystem: Some("nqn.2014-08.org:uuid:7".to_owned()),
            host: Some("nqn.a:h".to_owned()),
            namespace: Some(3),
        };
        assert_eq!(Url::parse("nvme-tcp://localhost:1/nqn.2014-08.org:uuid:7?host-nqn=nqn.a:h&namespace=3"), Ok(all));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for (text, word) in [
            ("localhost", "no host with a port"),
            (":4420", "no host with a port"),
            ("localhost:x", "no host with a port"),
            ("localhost:", "no host with a port"),
            ("localhost:0", "the port 0 is not 1 to 65535"),
            ("localhost:99999", "the port 99999 is not 1 to 65535"),
            ("http://localhost:1", "`http`"),
            ("nvme-tcp://localhost:1/nqn.x:y?user=a", "`user=a`"),
            ("nvme-tcp://localhost:1?namespace=-1", "`-1` is no namespace"),
        ] {
            let error = Url::parse(text).expect_err(text);
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn options_win_over_the_address_over_the_environment() {
        let none = RemoteArgs { nqn: None, host_nqn: None, namespace: None };
        let all =
            RemoteArgs { nqn: Some("nqn.o:s".to_owned()), host_nqn: Some("nqn.o:h".to_owned()), namespace: Some(9) };
        let url = "nvme-tcp://a:1/nqn.u:s?host-nqn=nqn.u:h&namespace=2";
        let environment = || Some("nqn.e:h".to_owned());
        let parts = |config: NvmeConfig| (config.subsystem.unwrap_or_default(), config.host, config.namespace);
        let of = |s: &str, h: &str, n| (s.to_owned(), h.to_owned(), n);
        assert_eq!(parts(all.config(url, environment()).expect("good")), of("nqn.o:s", "nqn.o:h", 9));
        assert_eq!(parts(none.config(url, environment()).expect("good")), of("nqn.u:s", "nqn.u:h", 2));
        assert_eq!(parts(none.config("a:1", environment()).expect("good")), of("", "nqn.e:h", 1));
        assert_eq!(parts(none.config("a:1", None).expect("good")), of("", DEFAULT_HOST_NQN, 1));
        assert!(none.config("a:1", Some("me".to_owned())).expect_err("no name").contains("`me`"));
    }
}
