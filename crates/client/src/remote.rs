//! Connecting to a served device.

use std::io;
use std::time::Duration;

use ciphermill_middleware::{DEFAULT_HOST_NQN, NvmeConfig, NvmeError, NvmeTransport};
use ciphermill_nvme::Status;
use ciphermill_nvme::fabrics::is_nqn;
use ciphermill_nvme::initiator::InitiatorError;

use crate::error::{AddressError, AddressProblem, ClientError};

/// The environment variable with the name of this host.
pub const HOST_NQN_VARIABLE: &str = "CIPHERMILL_HOST_NQN";

/// Parts of an address that are given separately. They take precedence over the address itself.
///
/// # Example
/// ```
/// use ciphermill_client::remote::{self, RemoteOptions};
///
/// let options = RemoteOptions { namespace: Some(3), ..RemoteOptions::default() };
/// let config = remote::config("nvme-tcp://localhost:4420?namespace=2", &options, None)?;
/// assert_eq!(config.namespace, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RemoteOptions {
    /// The name of the subsystem.
    pub subsystem: Option<String>,
    /// The name of this host.
    pub host: Option<String>,
    /// The namespace.
    pub namespace: Option<u32>,
    /// How long to try to establish a lost connection again.
    pub give_up_after: Option<Duration>,
}

/// The configuration for an address HOST:PORT or nvme-tcp://HOST:PORT/SUBSYSTEM-NQN?host-nqn=NQN&namespace=N. The options take
/// precedence over the address, and the address over `environment`, the value of [`HOST_NQN_VARIABLE`].
///
/// ```
/// use ciphermill_client::remote::{self, RemoteOptions};
///
/// let config = remote::config("nvme-tcp://localhost:4420?namespace=2", &RemoteOptions::default(), None).expect("an address");
/// assert_eq!(config.namespace, 2);
/// assert!(remote::config("localhost", &RemoteOptions::default(), None).is_err());
/// ```
///
/// # Errors
/// [`AddressError`].
pub fn config(address: &str, options: &RemoteOptions, environment: Option<String>) -> Result<NvmeConfig, AddressError> {
    let url = Url::parse(address)?;
    let mut config = NvmeConfig::new(url.address);
    config.subsystem = name("subsystem", options.subsystem.clone().or(url.subsystem))?;
    let host = name("host", options.host.clone().or(url.host).or(environment))?;
    config.host = host.unwrap_or_else(|| DEFAULT_HOST_NQN.to_owned());
    config.namespace = options.namespace.or(url.namespace).unwrap_or(config.namespace);
    config.give_up_after = options.give_up_after.unwrap_or(config.give_up_after);
    Ok(config)
}

/// Connects to a served device.
///
/// # Errors
/// [`ClientError::Connect`].
pub fn connect(config: NvmeConfig) -> Result<NvmeTransport, ClientError> {
    Ok(NvmeTransport::connect(config)?)
}

/// Whether the server refused the host by its name.
///
/// # Example
/// ```
/// use ciphermill_client::remote;
/// use ciphermill_middleware::NvmeError;
///
/// let (address, host) = ("localhost:4420".to_owned(), "nqn.2014-08.com.example:host".to_owned());
/// assert!(remote::is_host_refused(&NvmeError::Subsystems { address, host, names: Vec::new() }));
/// assert!(!remote::is_host_refused(&NvmeError::Runtime));
/// ```
#[must_use]
pub fn is_host_refused(error: &NvmeError) -> bool {
    match error {
        NvmeError::Initiator(error) => error.status().is_some_and(|status| status.is(Status::CONNECT_INVALID_HOST)),
        NvmeError::Subsystems { names, .. } => names.is_empty(),
        _ => false,
    }
}

/// Whether nothing listens at the address: the connection was refused by the system, not by a server.
///
/// # Example
/// ```
/// use ciphermill_client::remote;
/// use ciphermill_middleware::NvmeError;
/// use ciphermill_nvme::initiator::InitiatorError;
/// use std::{io, sync::Arc};
///
/// let source = Arc::new(io::Error::from(io::ErrorKind::ConnectionRefused));
/// let refused = NvmeError::Initiator(InitiatorError::Io { address: "localhost:4420".to_owned(), source });
/// assert!(remote::nothing_listens(&refused));
/// assert!(!remote::nothing_listens(&NvmeError::Runtime));
/// ```
#[must_use]
pub fn nothing_listens(error: &NvmeError) -> bool {
    let NvmeError::Initiator(InitiatorError::Io { source, .. }) = error else { return false };
    source.kind() == io::ErrorKind::ConnectionRefused
}

/// Checks that a name is an NVMe qualified name.
fn name(what: &'static str, name: Option<String>) -> Result<Option<String>, AddressError> {
    match name {
        Some(name) if !is_nqn(&name) => Err(AddressError { given: name, problem: AddressProblem::NotAnNqn(what) }),
        name => Ok(name),
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
    fn parse(text: &str) -> Result<Self, AddressError> {
        let wrong = |problem| AddressError { given: text.to_owned(), problem };
        let (rest, query) = match text.split_once("://") {
            None => (text, None),
            Some(("nvme-tcp", rest)) => match rest.split_once('?') {
                None => (rest, None),
                Some((rest, query)) => (rest, Some(query)),
            },
            Some((scheme, _)) => return Err(wrong(AddressProblem::Scheme(scheme.to_owned()))),
        };
        let (address, subsystem) = rest.split_once('/').map_or((rest, ""), |(address, path)| (address, path));
        let port = address.rsplit_once(':').filter(|(host, _)| !host.is_empty()).map(|(_, port)| port);
        match port.map(|port| (port, port.parse::<u16>())) {
            Some((_, Ok(1..))) => {}
            Some((port, _)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => {
                return Err(wrong(AddressProblem::Port(port.to_owned())));
            }
            _ => return Err(wrong(AddressProblem::NoHostWithPort)),
        }
        let mut url = Self { address: address.to_owned(), ..Self::default() };
        url.subsystem = (!subsystem.is_empty()).then(|| subsystem.to_owned());
        for pair in query.unwrap_or_default().split('&').filter(|pair| !pair.is_empty()) {
            match pair.split_once('=') {
                Some(("host-nqn", name)) => url.host = Some(name.to_owned()),
                Some(("namespace", number)) => {
                    let parsed = number.parse();
                    url.namespace = Some(parsed.map_err(|_| wrong(AddressProblem::Namespace(number.to_owned())))?);
                }
                _ => return Err(wrong(AddressProblem::Query(pair.to_owned()))),
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
    fn other_texts_are_refused() {
        for (text, word) in [
            ("localhost", "no host with a port"),
            (":4420", "no host with a port"),
            ("localhost:x", "no host with a port"),
            ("localhost:", "no host with a port"),
            ("localhost:0", "the port 0 is not 1 to 65535"),
            ("localhost:99999", "the port 99999 is not 1 to 65535"),
            ("http://localhost:1", "`http`"),
            ("nvme-tcp://localhost:1/nqn.x:y?user=a", "`user=a`"),
            ("nvme-tcp://localhost:1?namespace=-1", "`-1` is not a namespace"),
        ] {
            let error = Url::parse(text).expect_err(text).to_string();
            assert!(error.contains(word), "{error}");
        }
    }

    #[test]
    fn options_win_over_the_address_over_the_environment() {
        let none = RemoteOptions::default();
        let all = RemoteOptions {
            subsystem: Some("nqn.o:s".to_owned()),
            host: Some("nqn.o:h".to_owned()),
            namespace: Some(9),
            give_up_after: Some(Duration::from_secs(2)),
        };
        assert_eq!(config("a:1", &all, None).expect("good").give_up_after, Duration::from_secs(2));
        assert_eq!(config("a:1", &none, None).expect("good").give_up_after, NvmeConfig::new("a:1").give_up_after);
        let url = "nvme-tcp://a:1/nqn.u:s?host-nqn=nqn.u:h&namespace=2";
        let environment = || Some("nqn.e:h".to_owned());
        let parts = |config: NvmeConfig| (config.subsystem.unwrap_or_default(), config.host, config.namespace);
        let of = |s: &str, h: &str, n| (s.to_owned(), h.to_owned(), n);
        assert_eq!(parts(config(url, &all, environment()).expect("good")), of("nqn.o:s", "nqn.o:h", 9));
        assert_eq!(parts(config(url, &none, environment()).expect("good")), of("nqn.u:s", "nqn.u:h", 2));
        assert_eq!(parts(config("a:1", &none, environment()).expect("good")), of("", "nqn.e:h", 1));
        assert_eq!(parts(config("a:1", &none, None).expect("good")), of("", DEFAULT_HOST_NQN, 1));
        assert!(config("a:1", &none, Some("me".to_owned())).expect_err("no name").to_string().contains("`me`"));
    }
}
