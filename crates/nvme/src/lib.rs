//! NVMe over TCP: the wire format, a target that serves namespaces, and a user-space initiator.
