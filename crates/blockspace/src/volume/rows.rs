//! The bytes of the stored map: the rows of its tables. `docs/blockspace-volume.md` draws them. Integers are
//! little-endian, except in keys, which are big-endian so that their byte order is the order of (space, address).

use super::{
    MAX_BLOCKS, MAX_LABEL_BYTES,
    format::{VOLUME_VERSION, check_version, corrupt},
    map::{Key, STRIPE_BLOCKS, Slot, Stripe},
    segment::{Extent, Segment},
};
use ciphermill_storage::{FormatError, seal, unseal};
use ciphermill_wire::{Decoder, WireError};

/// Where the map stands, in the map's own database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub(super) volume_id: [u8; 16],
    /// Sequence number of the first record that the map does not hold yet.
    pub(super) sequence: u64,
    /// No segment had this generation or a higher one.
    pub(super) generation: u64,
    /// Number of this checkpoint.
    pub(super) checkpoint: u64,
}

impl State {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut bytes = VOLUME_VERSION.to_le_bytes().to_vec();
        bytes.extend_from_slice(&self.volume_id);
        for field in [self.sequence, self.generation, self.checkpoint] {
            bytes.extend_from_slice(&field.to_le_bytes());
        }
        seal(&mut bytes, &[]);
        bytes
    }

    pub(super) fn decode(bytes: &[u8], volume_id: [u8; 16]) -> Result<Self, FormatError> {
        let damaged = || corrupt("the state row of the map does not match its checksum");
        let body = unseal(bytes, &[]).filter(|body| body.len() == 42).ok_or_else(damaged)?;
        let (version, state) = Self::fields(body).map_err(|_| damaged())?;
        check_version(version)?;
        if state.volume_id != volume_id {
            return Err(corrupt("the map and the block file belong to two different volumes"));
        }
        Ok(state)
    }

    fn fields(body: &[u8]) -> Result<(u16, Self), WireError> {
        let mut fields = Decoder::new(body);
        let version = fields.u16()?;
        let (volume_id, sequence) = (fields.array()?, fields.u64()?);
        Ok((version, Self { volume_id, sequence, generation: fields.u64()?, checkpoint: fields.u64()? }))
    }
}

/// Length of the key of a stripe or a label.
pub(super) const KEY_BYTES: usize = 12;

pub(super) fn encode_key((space, index): Key) -> [u8; KEY_BYTES] {
    let mut bytes = [0; KEY_BYTES];
    bytes[..4].copy_from_slice(&space.to_be_bytes());
    bytes[4..].copy_from_slice(&index.to_be_bytes());
    bytes
}

pub(super) fn decode_key(bytes: &[u8; KEY_BYTES]) -> Key {
    let (space, index) = bytes.split_at(4);
    let space = space.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
    (space, index.iter().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
}

pub(super) fn encode_stripe(key: Key, stripe: &Stripe) -> Vec<u8> {
    let mut bytes = vec![0; 8];
    let (mut mapped, mut zero) = (0u32, 0u32);
    for (index, slot) in stripe.slots.iter().enumerate() {
        match *slot {
            Slot::ABSENT => {}
            Slot::ZERO => (mapped, zero) = (mapped | 1 << index, zero | 1 << index),
            slot => {
                mapped |= 1 << index;
                bytes.extend_from_slice(&slot.physical.to_le_bytes());
                bytes.extend_from_slice(&slot.checksum.to_le_bytes());
            }
        }
    }
    bytes[..4].copy_from_slice(&mapped.to_le_bytes());
    bytes[4..8].copy_from_slice(&zero.to_le_bytes());
    seal(&mut bytes, &encode_key(key));
    bytes
}

pub(super) fn decode_stripe(key: Key, bytes: &[u8]) -> Result<Stripe, FormatError> {
    let damaged = |what: &str| corrupt(format!("the map row of stripe {} of space {} {what}", key.1, key.0));
    let body = unseal(bytes, &encode_key(key)).ok_or_else(|| damaged("does not match its checksum"))?;
    if key.1 >= MAX_BLOCKS / STRIPE_BLOCKS || body.len() < 8 {
        return Err(damaged("cannot be"));
    }
    let cut = |_| damaged("ends before its slots do");
    let mut fields = Decoder::new(body);
    let (mapped, zero) = (fields.u32().map_err(cut)?, fields.u32().map_err(cut)?);
    if mapped == 0 || zero & !mapped != 0 || fields.remaining() != 8 * (mapped & !zero).count_ones() as usize {
        return Err(damaged("has another length than its masks require"));
    }
    let mut stripe = Stripe::EMPTY;
    for (index, slot) in stripe.slots.iter_mut().enumerate() {
        if zero >> index & 1 == 1 {
            *slot = Slot::ZERO;
        } else if mapped >> index & 1 == 1 {
            *slot = Slot { physical: fields.u32().map_err(cut)?, checksum: fields.u32().map_err(cut)? };
            if slot.physical == Slot::ABSENT.physical || slot.physical == Slot::ZERO.physical {
                return Err(damaged("names a block that cannot exist"));
            }
        }
    }
    Ok(stripe)
}

pub(super) fn encode_label(key: Key, label: &[u8]) -> Vec<u8> {
    let mut bytes = label.to_vec();
    seal(&mut bytes, &encode_key(key));
    bytes
}

pub(super) fn decode_label(key: Key, bytes: &[u8]) -> Result<Vec<u8>, FormatError> {
    unseal(bytes, &encode_key(key))
        .filter(|label| label.len() <= MAX_LABEL_BYTES && key.1 < MAX_BLOCKS)
        .map(<[u8]>::to_vec)
        .ok_or_else(|| corrupt(format!("the label at {} of space {} does not match its checksum", key.1, key.0)))
}

pub(super) fn encode_segment(segment: &Segment) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(8 * segment.extents().len() + 4);
    for extent in segment.extents() {
        bytes.extend_from_slice(&extent.start.to_le_bytes());
        bytes.extend_from_slice(&extent.blocks.to_le_bytes());
    }
    seal(&mut bytes, &segment.generation.to_be_bytes());
    bytes
}

pub(super) fn decode_segment(generation: u64, bytes: &[u8]) -> Result<Segment, FormatError> {
    let damaged = || corrupt(format!("the row of segment {generation} does not match its checksum"));
    let body = unseal(bytes, &generation.to_be_bytes()).filter(|body| body.len() % 8 == 0).ok_or_else(damaged)?;
    let words = Decoder::new(body).u32s(body.len() / 4).map_err(|_| damaged())?;
    let extents = words.as_chunks().0.iter().map(|[start, blocks]| Extent { start: *start, blocks: *blocks }).collect();
    Segment::new(generation, extents).ok_or_else(damaged)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every flipped bit and every cut of `bytes` must be refused.
    fn refuses<T>(bytes: &[u8], decode: impl Fn(&[u8]) -> Result<T, FormatError>) {
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.to_vec();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert!(decode(&damaged).is_err(), "bit {bit}");
        }
        for len in 0..bytes.len() {
            assert!(decode(&bytes[..len]).is_err(), "length {len}");
        }
    }

    #[test]
    fn rows_come_back_and_damage_is_noticed() {
        let key = (0x0102_0304, 0x0506);
        assert_eq!(encode_key(key), [1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 5, 6]);
        assert_eq!(decode_key(&encode_key(key)), key);
        let mut stripe = Stripe::EMPTY;
        stripe.slots[1] = Slot::ZERO;
        stripe.slots[31] = Slot { physical: 9, checksum: 10 };
        let bytes = encode_stripe(key, &stripe);
        assert_eq!(bytes[..16], [2, 0, 0, 128, 2, 0, 0, 0, 9, 0, 0, 0, 10, 0, 0, 0]);
        assert_eq!(decode_stripe(key, &bytes).expect("sound"), stripe);
        refuses(&bytes, |bytes| decode_stripe(key, bytes));
        assert!(decode_stripe((1, 2), &bytes).is_err(), "the row of another stripe");

        let bytes = encode_label(key, b"name");
        assert_eq!(decode_label(key, &bytes).expect("sound"), b"name");
        refuses(&bytes, |bytes| decode_label(key, bytes));

        let segment =
            Segment::new(5, vec![Extent { start: 9, blocks: 2 }, Extent { start: 3, blocks: 1 }]).expect("sound");
        let bytes = encode_segment(&segment);
        assert_eq!(bytes[..16], [3, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(decode_segment(5, &bytes).expect("sound"), segment);
        refuses(&bytes, |bytes| decode_segment(5, bytes));

        let state = State { volume_id: [7; 16], sequence: 1, generation: 2, checkpoint: 3 };
        let bytes = state.encode();
        assert_eq!(State::decode(&bytes, [7; 16]).expect("sound"), state);
        refuses(&bytes, |bytes| State::decode(bytes, [7; 16]));
        assert!(State::decode(&bytes, [8; 16]).is_err(), "of another volume");
    }
}
