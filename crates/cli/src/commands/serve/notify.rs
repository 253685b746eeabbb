//! Notifications to the service manager by the protocol of sd_notify(3), one datagram each.

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

/// Notifies the service manager if it asked for notifications. A failed notification is ignored.
pub(super) fn tell(state: &str) {
    let Some(name) = env::var_os("NOTIFY_SOCKET") else { return };
    if let Err(error) = send(&name, state) {
        tracing::warn!(%error, state, "the service manager could not be notified");
    }
}

/// Sends to a path, or to an abstract name that begins with `@`.
fn send(name: &OsStr, state: &str) -> io::Result<()> {
    let address = match name.as_bytes() {
        [b'@', rest @ ..] => SocketAddr::from_abstract_name(rest)?,
        _ => SocketAddr::from_pathname(name)?,
    };
    UnixDatagram::unbound()?.send_to_addr(state.as_bytes(), &address).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_of_names_are_reached() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("notify");
        let by_path = UnixDatagram::bind(&path).expect("a socket");
        let name = format!("ciphermill-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).expect("a name");
        let abstract_one = UnixDatagram::bind_addr(&address).expect("a socket");
        send(path.as_os_str(), "READY=1").expect("sent");
        send(OsStr::new(&format!("@{name}")), "STOPPING=1").expect("sent");
        let mut bytes = [0; 64];
        let count = by_path.recv(&mut bytes).expect("a datagram");
        assert_eq!(&bytes[..count], b"READY=1");
        let count = abstract_one.recv(&mut bytes).expect("a datagram");
        assert_eq!(&bytes[..count], b"STOPPING=1");
        assert!(send(directory.path().join("none").as_os_str(), "READY=1").is_err());
    }
}
