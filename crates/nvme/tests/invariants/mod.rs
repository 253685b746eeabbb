//! Invariants of every input. The fuzz targets and the corpus replay run exactly this.
#![allow(dead_code, unreachable_pub, reason = "each fuzz target includes it as a module and uses a part")]

#[path = "../target/blocks.rs"]
mod blocks;
#[path = "../target/client.rs"]
mod client;
mod conversation;

use ciphermill_nvme::{
    command::Command,
    fabrics::{Connect, ConnectData, Property},
    identify::{
        ControllerIdentity, NamespaceIdentity, NvmLimits, decode_descriptors, decode_namespaces, encode_descriptors,
        encode_namespaces,
    },
    log::{DiscoveryEntry, DiscoveryHeader, ErrorEntry, ErrorText, LogRequest, Smart},
    pdu::{COMMON_BYTES, Digests, Frame, Layout},
};

/// The longest data that a unit is allowed here.
const MAX_DATA: usize = 1 << 16;

/// Several hosts that talk to one target; returns whether all of them kept to the protocol.
pub fn nvme_connection(data: &[u8]) -> bool {
    conversation::nvme_connection(data, conversation::Panics::Never)
}

/// The same with a namespace that panics where the input wants it.
pub fn nvme_connection_with_panics(data: &[u8]) -> bool {
    conversation::nvme_connection(data, conversation::Panics::AsTheInputWants)
}

/// Digests, alignment, then a unit; returns whether it has a header that can be read. A readable header is written and read
/// again as the same.
pub fn nvme_pdu(data: &[u8]) -> bool {
    let [digests, alignment, unit @ ..] = data else { return false };
    let digests = Digests::from_bits(digests & 3).expect("two bits");
    let layout = Layout { digests, alignment: (usize::from(alignment % 32) + 1) * 4 };
    let Some(common) = unit.first_chunk::<COMMON_BYTES>() else { return false };
    let frame = match Frame::parse(common, &layout, MAX_DATA) {
        Ok(frame) => frame,
        Err(error) => {
            assert!(!error.to_string().is_empty() && (1..=6).contains(&(error.fatal().0 as u16)));
            return false;
        }
    };
    let begin = COMMON_BYTES + frame.before_data();
    let length = u32::from_le_bytes([common[4], common[5], common[6], common[7]]);
    assert_eq!(begin + frame.data + frame.data_digest, length as usize, "the parts are the whole");
    assert!(frame.data <= MAX_DATA && begin <= 256);
    let header = match frame.header(unit) {
        Ok(header) => header,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return false;
        }
    };
    assert_eq!(header.kind(), frame.kind);
    let mut encoded = Vec::new();
    header.encode(&layout, frame.data, frame.is_last(), frame.is_success(), &mut encoded);
    assert_eq!(encoded.len(), begin);
    let again = Frame::parse(encoded.first_chunk().expect("a header"), &layout, MAX_DATA).expect("what was written");
    assert_eq!(Frame { flags: frame.flags, ..again }, frame);
    assert_eq!((again.is_last(), again.is_success()), (frame.is_last(), frame.is_success()));
    assert_eq!(again.header(&encoded), Ok(header));
    true
}

/// A submission queue entry and its data, and the same bytes as every other record; returns whether data of Connect
/// follow. A readable record is written and read again as the same.
pub fn nvme_capsule(data: &[u8]) -> bool {
    let Some((entry, data)) = data.split_first_chunk::<64>() else { return false };
    let command = Command::decode(entry);
    let mut canonical = *entry;
    canonical[36..39].fill(0);
    assert_eq!(command.encode(), canonical);
    let connect = Connect::of(&command);
    assert_eq!(Connect::of(&connect.command(command.id)), connect);
    if let Some(property) = Property::of(&command) {
        assert_eq!(Property::of(&property.command(command.id)), Some(property));
    }
    let request = LogRequest::of(&command);
    assert_eq!(LogRequest::of(&Command { dwords: request.dwords(), ..command }), request);

    let mut page = data.to_vec();
    page.resize(page.len().max(4096), 0);
    assert_eq!(decode_namespaces(&encode_namespaces(decode_namespaces(&page))), decode_namespaces(&page));
    let descriptors = decode_descriptors(&page);
    assert_eq!(decode_descriptors(&encode_descriptors(&descriptors)), descriptors);
    macro_rules! same {
        ($($record:ty),*) => { $(
            if let Ok(record) = <$record>::decode(&page) {
                assert_eq!(<$record>::decode(&record.encode()).as_ref(), Ok(&record));
            }
        )* };
    }
    same!(ControllerIdentity, NvmLimits, ErrorEntry, Smart, DiscoveryHeader, DiscoveryEntry);
    if let Ok(identity) = NamespaceIdentity::decode(&page) {
        assert_eq!(NamespaceIdentity::decode(&identity.encode()), Ok(identity));
    }
    // Bytes of a text that are not UTF-8 are replaced, by more bytes, so the text may be cut.
    if let Ok(text) = ErrorText::decode(&page) {
        let again = ErrorText::decode(&text.encode()).expect("an entry");
        let kept = again.text.strip_suffix('…').unwrap_or(&again.text);
        assert!(text.text.starts_with(kept) && again.count == text.count);
    }
    match ConnectData::decode(data) {
        Ok(connect) => {
            assert_eq!(ConnectData::decode(&connect.encode()), Ok(connect));
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    }
}
