//! Invariants of every input. The fuzz target and the corpus replay run exactly this.
#![allow(unreachable_pub, reason = "the fuzz target includes it as a module")]

use ciphermill_wire::{Decoder, HEADER_LEN, Header, Kind, OpenReader, WireError, open, seal, sealed_len};
use std::io::Read;

const LIMIT: u64 = 1 << 16;

/// Bytes as a sealed object, in memory and as a stream; returns whether they are one.
pub fn wire_open(data: &[u8]) -> bool {
    let header = Header::decode(data);
    // The kind and version that the bytes claim, so that nothing but the envelope refuses.
    let claimed = header.as_ref().map_or((Kind(0x0203), 1), |header| (header.kind, header.version));
    let (kind, version) = claimed;
    let opened = open(data, kind, version..=version, LIMIT).map(|(version, fields)| (version, fields.remaining()));
    let streamed = stream(data, kind, version);
    match (&opened, &streamed) {
        (Ok((read, len)), Ok(body)) => {
            assert_eq!((*read, *len as u64), (version, body.len() as u64));
            assert_eq!(sealed_len(*len as u64), data.len() as u64);
            assert_eq!(seal(kind, version, body), data, "an object has one form");
            let encoded = Header { kind, version, body_len: *len as u64 }.encode();
            assert_eq!(encoded[..], data[..HEADER_LEN]);
            // One kind, one version, one byte less: each is refused.
            assert!(open(data, Kind(kind.0 ^ 1), version..=version, LIMIT).is_err());
            assert!(open(data, kind, version ^ 1..=version ^ 1, LIMIT).is_err());
            assert!(open(&data[..data.len() - 1], kind, version..=version, LIMIT).is_err());
        }
        (Err(one), Err(other)) => assert!(!one.to_string().is_empty() && !other.to_string().is_empty()),
        _ => panic!("in memory {opened:?}, as a stream {}", streamed.is_ok()),
    }
    fields(data);
    opened.is_ok()
}

fn stream(data: &[u8], kind: Kind, version: u16) -> Result<Vec<u8>, WireError> {
    let mut reader = OpenReader::new(data, kind, version..=version, LIMIT)?;
    let mut body = Vec::new();
    reader.read_to_end(&mut body)?;
    match reader.finish()?.len() {
        0 => Ok(body),
        left => Err(WireError::TrailingBytes { given: left as u64 }),
    }
}

/// Counts that come from outside: a failed read consumes nothing, a successful one the stated number.
fn fields(data: &[u8]) {
    let mut fields = Decoder::new(data);
    while let Ok(count) = fields.u8() {
        let before = fields.remaining();
        let (read, width) = match count % 3 {
            0 => (fields.u32s(usize::from(count)).map(|words| words.len()), 4),
            1 => (fields.u64s(usize::from(count)).map(|words| words.len()), 8),
            _ => (fields.bytes(usize::from(count)).map(<[u8]>::len), 1),
        };
        match read {
            Ok(len) => assert_eq!((len, before - fields.remaining()), (usize::from(count), len * width)),
            Err(WireError::Truncated { needed, available }) => {
                assert_eq!((needed, available), ((usize::from(count) * width) as u64, before as u64));
                assert_eq!(fields.remaining(), before);
            }
            Err(other) => panic!("{other}"),
        }
        assert!(fields.u64s(usize::MAX).is_err() && fields.u32s(usize::MAX / 4).is_err());
    }
}
