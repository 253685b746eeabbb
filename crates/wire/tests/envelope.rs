//! The envelope's bytes, and its refusals.

use std::io::{self, Cursor, Read, Write};

use ciphermill_wire::{
    Decoder, Encoder, HEADER_LEN, Header, Kind, OVERHEAD, OpenReader, SealWriter, WireError, open, seal, sealed_len,
};
use proptest::prelude::*;

const KIND: Kind = Kind(0x0203);
const LIMIT: u64 = 1 << 16;

/// Written out by hand; the two checksums were computed with an independent bitwise CRC-32C, below.
fn fixed_object() -> (Vec<u8>, Vec<u8>) {
    let body = b"123456789".to_vec();
    let mut object = vec![
        b'C', b'M', b'I', b'L', // magic
        0x01, 0x00, // envelope version
        0x03, 0x02, // kind
        0x05, 0x00, // body version
        0x00, 0x00, // reserved
        0x09, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, // body length
    ];
    object.extend(HEADER_CRC.to_le_bytes());
    object.extend(&body);
    object.extend([0x83, 0x92, 0x06, 0xe3]); // 0xE3069283, the check value of CRC-32C
    (body, object)
}

const HEADER_CRC: u32 = 0x45AD_C81D;

/// CRC-32C from its definition: reflected polynomial 0x82F63B78, initial value and final mask all ones.
fn bitwise_crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |c, _| (c >> 1) ^ if c & 1 == 1 { 0x82F6_3B78 } else { 0 })
    })
}

#[test]
fn layout_is_fixed() {
    let (body, object) = fixed_object();
    assert_eq!(bitwise_crc32c(b"123456789"), 0xE306_9283);
    assert_eq!(bitwise_crc32c(&object[..20]), HEADER_CRC);
    assert_eq!(seal(KIND, 5, &body), object);
    let header = Header { kind: KIND, version: 5, body_len: 9 };
    assert_eq!(header.encode(), object[..HEADER_LEN]);
    assert_eq!(Header::decode(&object).unwrap(), header);
    let (version, mut fields) = open(&object, KIND, 1..=5, 9).unwrap();
    assert_eq!((version, fields.bytes(9).unwrap()), (5, &body[..]));
    fields.finish().unwrap();
    assert_eq!(OVERHEAD, 28);
    assert_eq!(sealed_len(9), 37);
    assert_eq!(sealed_len(u64::MAX - 3), u64::MAX);
}

/// Reads all of `object` as a stream.
fn stream(object: &[u8]) -> Result<Vec<u8>, WireError> {
    let mut reader = OpenReader::new(object, KIND, 1..=5, LIMIT)?;
    let mut body = Vec::new();
    reader.read_to_end(&mut body)?;
    match reader.finish()?.len() {
        0 => Ok(body),
        left => Err(WireError::TrailingBytes { given: left as u64 }),
    }
}

#[test]
fn every_truncation_is_refused() {
    let (_, object) = fixed_object();
    for len in 0..object.len() {
        assert!(matches!(open(&object[..len], KIND, 1..=5, LIMIT), Err(WireError::Truncated { .. })), "{len}");
        assert!(matches!(stream(&object[..len]), Err(WireError::Truncated { .. })), "{len}");
    }
}

#[test]
fn every_bit_flip_is_refused() {
    let (_, object) = fixed_object();
    for bit in 0..object.len() * 8 {
        let mut flipped = object.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        // Every kind and version is allowed here, so that nothing but the envelope can refuse.
        let kind = Kind(u16::from_le_bytes([flipped[6], flipped[7]]));
        let error = open(&flipped, kind, 0..=u16::MAX, u64::MAX).unwrap_err();
        match (bit / 8, error) {
            (0..4, WireError::BadMagic { .. })
            | (4..6, WireError::UnknownEnvelopeVersion { .. })
            | (6..24, WireError::HeaderChecksum { .. })
            | (24.., WireError::BodyChecksum { .. }) => {}
            (byte, other) => panic!("flip in byte {byte}: {other}"),
        }
        assert!(stream(&flipped).is_err());
    }
}

#[test]
fn refusals_name_the_bound() {
    let (_, object) = fixed_object();
    let text = |r: Result<(u16, Decoder<'_>), WireError>| r.unwrap_err().to_string();
    assert!(
        text(open(&object, Kind(0x0301), 1..=5, 9))
            .contains("kind 0x0203 (a GLWE ciphertext or test vector), expected 0x0301 (a BFV parameter set)")
    );
    assert!(text(open(&object, KIND, 6..=7, 9)).contains("version 5 is unsupported, versions 6 to 7"));
    assert!(text(open(&object, KIND, 1..=5, 8)).contains("9 bytes, the limit is 8"));
    let mut long = object.clone();
    long.push(0);
    assert!(matches!(open(&long, KIND, 1..=5, 9), Err(WireError::TrailingBytes { given: 1 })));
    let mut reserved = object[..20].to_vec();
    reserved[10] = 1;
    reserved.extend(bitwise_crc32c(&reserved).to_le_bytes());
    assert!(matches!(Header::decode(&reserved), Err(WireError::Reserved { given: 1 })));
    // A length beyond every address, with a valid checksum.
    let huge = Header { kind: KIND, version: 5, body_len: u64::MAX }.encode();
    assert!(matches!(open(&huge, KIND, 5..=5, u64::MAX), Err(WireError::Truncated { available: 24, .. })));
    let mut reader = OpenReader::new(&huge[..], KIND, 5..=5, u64::MAX).unwrap();
    assert!(matches!(reader.read(&mut [0; 8]), Err(e) if e.kind() == io::ErrorKind::UnexpectedEof));
}

#[test]
fn streams_hold_the_declared_length() {
    let mut writer = SealWriter::new(Vec::new(), KIND, 5, 9).unwrap();
    writer.write_all(b"12345678").unwrap();
    let error = WireError::from(writer.write_all(b"9a").unwrap_err());
    assert!(matches!(error, WireError::BodyLength { given: 10, declared: 9 }));
    // The refused write left no trace.
    writer.write_all(b"9").unwrap();
    assert_eq!(writer.finish().unwrap(), fixed_object().1);

    let mut writer = SealWriter::new(Vec::new(), KIND, 5, 9).unwrap();
    writer.write_all(b"12345678").unwrap();
    assert!(matches!(writer.finish(), Err(WireError::BodyLength { given: 8, declared: 9 })));

    let (_, object) = fixed_object();
    let mut reader = OpenReader::new(&object[..], KIND, 5..=5, 9).unwrap();
    assert_eq!((reader.version(), reader.body_len(), reader.remaining()), (5, 9, 9));
    reader.read_exact(&mut [0; 8]).unwrap();
    assert_eq!(reader.remaining(), 1);
    assert!(matches!(reader.finish(), Err(WireError::BodyLength { given: 8, declared: 9 })));
}

#[test]
fn a_reader_stops_behind_its_object() {
    let (body, object) = fixed_object();
    let mut two = object.clone();
    two.extend(&object);
    let mut rest = Cursor::new(two);
    for _ in 0..2 {
        let mut reader = OpenReader::new(rest, KIND, 5..=5, 9).unwrap();
        let mut read = vec![0; 64];
        let n = reader.read(&mut read).unwrap();
        assert_eq!(read[..n], body);
        assert_eq!(reader.read(&mut read).unwrap(), 0);
        rest = reader.finish().unwrap();
    }
    assert_eq!(rest.position(), 2 * object.len() as u64);
}

#[test]
fn counts_from_outside_allocate_nothing() {
    let mut fields = Decoder::new(&[1, 0, 0, 0, 2, 0, 0]);
    for n in [2, usize::MAX / 4, usize::MAX] {
        assert!(matches!(fields.u32s(n), Err(WireError::Truncated { available: 7, .. })));
        assert!(matches!(fields.u64s(n), Err(WireError::Truncated { available: 7, .. })));
    }
    assert!(fields.u64().is_err() && fields.bytes(8).is_err());
    // Failed reads consumed nothing.
    assert_eq!(fields.u32s(1).unwrap(), [1]);
    assert_eq!(fields.remaining(), 3);
    assert!(matches!(fields.finish(), Err(WireError::TrailingBytes { given: 3 })));
}

proptest! {
    #[test]
    fn fields_round_trip(
        a: u8, b: u16, c: u32, d: u64, e: f64, f: [u8; 5],
        words in proptest::collection::vec(any::<u32>(), 0..40),
        longs in proptest::collection::vec(any::<u64>(), 0..40),
    ) {
        let mut out = Encoder::with_capacity(0);
        out.u8(a).u16(b).u32(c).u64(d).f64(e).bytes(&f).u32s(&words).u64s(&longs);
        let out = out.into_vec();
        let mut fields = Decoder::new(&out);
        prop_assert_eq!(fields.u8()?, a);
        prop_assert_eq!(fields.u16()?, b);
        prop_assert_eq!(fields.u32()?, c);
        prop_assert_eq!(fields.u64()?, d);
        prop_assert_eq!(fields.f64()?.to_bits(), e.to_bits());
        prop_assert_eq!(fields.array::<5>()?, f);
        prop_assert_eq!(fields.u32s(words.len())?, words);
        prop_assert_eq!(fields.u64s(longs.len())?, longs);
        fields.finish()?;
    }

    #[test]
    fn streaming_equals_one_shot(
        kind: u16, version: u16,
        body in proptest::collection::vec(any::<u8>(), 0..600),
        step in 1usize..97,
    ) {
        let sealed = seal(Kind(kind), version, &body);
        prop_assert_eq!(sealed.len() as u64, sealed_len(body.len() as u64));
        let mut writer = SealWriter::new(Vec::new(), Kind(kind), version, body.len() as u64)?;
        for part in body.chunks(step) {
            writer.write_all(part)?;
        }
        prop_assert_eq!(&writer.finish()?, &sealed);

        let mut reader = OpenReader::new(&sealed[..], Kind(kind), version..=version, body.len() as u64)?;
        let mut read = Vec::new();
        let mut part = vec![0; step];
        loop {
            let n = reader.read(&mut part)?;
            if n == 0 {
                break;
            }
            read.extend_from_slice(&part[..n]);
        }
        reader.finish()?;
        prop_assert_eq!(&read, &body);
        let (found, mut fields) = open(&sealed, Kind(kind), version..=version, body.len() as u64)?;
        prop_assert_eq!((found, fields.bytes(body.len())?), (version, &body[..]));
        fields.finish()?;
    }

    #[test]
    fn noise_is_never_an_object(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
        prop_assert!(open(&bytes, KIND, 0..=u16::MAX, u64::MAX).is_err());
    }
}
