//! The binary form: a known answer, and every way of damaging it.

use crate::common::{XY_SOURCE, any_program, any_register, assemble, bind, decode, program};
use ciphermill_program::{DecodeError, MAX_INSTRUCTIONS, Program};
use ciphermill_wire::{WireError, seal};
use proptest::prelude::*;

/// Table 5 with x in 3:0:2 and y in 4:0:3. Computed by a separate script from the byte tables of `docs/program.md`.
const XY: &str = "\
    434d494c 0100 0101 0100 0000 b000000000000000 4af962cf \
    07000000 00000000 \
    0100 0000 0300 0300 00000000 0000ffff 00000000 02000000 \
    0500 0000 0300 0400 00000000 0000ffff 00000000 03000000 \
    0400 0000 0100 0300 00000000 00000000 00000000 0000ffff \
    0600 0000 0300 0400 00000000 02000000 00000000 03000000 \
    0400 0000 0100 0300 00000000 00000000 00000000 02000000 \
    0600 0000 0300 0300 00000000 0000ffff 00000000 02000000 \
    0000 0000 0300 0000 00000000 0000ffff 00000000 00000000 \
    60e916d1";

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}

fn sealed(body: &[u8]) -> Vec<u8> {
    seal(Program::KIND, Program::BODY_VERSION, body)
}

/// A body of one instruction: opcode, reserved, types a and b, then four words.
fn one(halves: [u16; 4], words: [u32; 4]) -> Vec<u8> {
    let mut body = vec![1, 0, 0, 0, 0, 0, 0, 0];
    body.extend(halves.iter().flat_map(|half| half.to_le_bytes()));
    body.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    body
}

#[test]
fn the_papers_program_has_these_bytes() {
    let xy = assemble(XY_SOURCE, &bind(&["r2=3:0:2", "r3=4:0:3"])).unwrap().program;
    assert_eq!(xy.encode(), bytes(XY));
    assert_eq!(decode(&bytes(XY)).unwrap(), xy);
}

#[test]
fn every_truncation_is_refused() {
    let whole = bytes(XY);
    for length in 0..whole.len() {
        assert!(matches!(decode(&whole[..length]), Err(DecodeError::Envelope(_))), "{length} bytes");
    }
    let longer = [whole.as_slice(), &[0]].concat();
    assert!(matches!(decode(&longer), Err(DecodeError::Envelope(WireError::TrailingBytes { given: 1 }))));
}

#[test]
fn every_flipped_bit_is_refused() {
    let whole = bytes(XY);
    for bit in 0..whole.len() * 8 {
        let mut damaged = whole.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(decode(&damaged).is_err(), "bit {bit}");
    }
}

#[test]
fn every_truncated_body_and_flipped_bit_behind_a_good_checksum_is_refused_or_another_program() {
    let whole = bytes(XY);
    let body = &whole[24..whole.len() - 4];
    for length in 0..body.len() {
        assert!(decode(&sealed(&body[..length])).is_err(), "{length} bytes");
    }
    let (mut refused, mut others) = (0, 0);
    for bit in 0..body.len() * 8 {
        let mut changed = body.to_vec();
        changed[bit / 8] ^= 1 << (bit % 8);
        match decode(&sealed(&changed)) {
            Ok(program) => {
                assert_eq!(program.encode(), sealed(&changed), "bit {bit}");
                others += 1;
            }
            Err(_) => refused += 1,
        }
    }
    // The prefix and the reserved half-words alone are 64 + 7 · 16 bits that cannot change.
    assert!(refused >= 64 + 7 * 16 && others > 0, "{refused} refused, {others} other programs");
}

#[test]
fn every_refusal_says_why() {
    let message = |body: &[u8]| decode(&sealed(body)).unwrap_err().to_string();
    assert_eq!(message(&[0; 8]), "a program has 1 to 65536 instructions, this one has 0");
    let many = (MAX_INSTRUCTIONS as u32 + 1).to_le_bytes();
    assert_eq!(message(&[many, [0; 4]].concat()), "a program has 1 to 65536 instructions, this one has 65537");
    assert_eq!(message(&[2, 0, 0, 0, 0, 0, 0, 0, 9]), "2 instructions take 48 bytes, 1 follow the prefix");
    let mut prefix = one([0, 0, 3, 0], [0, 1, 0, 0]);
    prefix[4] = 1;
    assert_eq!(message(&prefix), "the reserved word of the prefix is 0x00000001, it must be 0");

    let opcode = |code| message(&one([code, 0, 3, 0], [0, 1, 0, 0]));
    assert_eq!(opcode(8), "instruction 0: opcode 8 is unknown; this version defines 0 to 7, 16, 32 to 36 and 48 to 52");
    for code in [17, 31] {
        let expected = "is reserved for BFV, which this version does not define; this version defines 0 to 7, 16, 32 to 36 and 48 to 52";
        assert_eq!(opcode(code), format!("instruction 0: opcode {code} {expected}"));
    }
    for code in [37, 47] {
        assert!(opcode(code).contains(&format!("opcode {code} is reserved for Paillier")));
    }
    for code in [53, 63] {
        assert!(opcode(code).contains(&format!("opcode {code} is reserved for TFHE")));
    }
    for code in [15, 64, u16::MAX] {
        assert!(opcode(code).contains(&format!("opcode {code} is unknown")));
    }

    // The index is that of the instruction at fault.
    let mut second = bytes(XY)[24..200].to_vec();
    second[8 + 24] = 200;
    let error = decode(&sealed(&second)).unwrap_err();
    assert_eq!((error.index(), error.to_string().starts_with("instruction 1: opcode 200")), (Some(1), true));
}

#[test]
fn a_field_without_use_must_be_zero() {
    let message = |halves, words| decode(&sealed(&one(halves, words))).unwrap_err().to_string();
    for opcode in (0..8).chain([16]).chain(32..=36).chain(48..=51) {
        let (halves, words) = ([opcode, 1, 3, 0], [0, 1, 0, 0]);
        assert_eq!(
            message(halves, words),
            format!("instruction 0: opcode {opcode} does not use the reserved half-word, it must be 0 and is 0x1")
        );
    }
    for opcode in [0, 2, 3] {
        assert!(message([opcode, 0, 3, 2], [0, 1, 0, 0]).contains("the second type, it must be 0 and is 0x2"));
        assert!(message([opcode, 0, 3, 0], [0, 1, 5, 0]).contains("the second key id, it must be 0 and is 0x5"));
        assert!(message([opcode, 0, 3, 0], [0, 1, 0, 6]).contains("the second data id, it must be 0 and is 0x6"));
    }
    assert!(message([7, 0, 3, 2], [0, 1, 0, 0]).contains("the second type"));
    assert!(message([7, 0, 3, 0], [0, 1, 0, 6]).contains("the second data id"));
}

#[test]
fn the_factor_is_signed() {
    for factor in [i32::MIN, -3, 0, 1, i32::MAX] {
        let source = program(&format!("homintmult 3:0:1, {factor}"));
        let body = one([7, 0, 3, 0], [0, 1, factor.cast_unsigned(), 0]);
        assert_eq!(source.encode(), sealed(&body));
        assert_eq!(decode(&sealed(&body)).unwrap(), source);
    }
}

#[test]
fn another_kind_or_version_is_refused() {
    let body = one([0, 0, 3, 0], [0, 1, 0, 0]);
    let kind = decode(&seal(ciphermill_wire::Kind(0x0201), 1, &body)).unwrap_err();
    assert!(matches!(kind, DecodeError::Envelope(WireError::WrongKind { given: 0x0201, expected: 0x0101 })));
    let version = decode(&seal(Program::KIND, 2, &body)).unwrap_err();
    assert!(matches!(version, DecodeError::Envelope(WireError::UnsupportedVersion { given: 2, min: 1, max: 1 })));
    let long = vec![0; Program::MAX_BODY_BYTES as usize + 1];
    assert!(matches!(decode(&sealed(&long)), Err(DecodeError::Envelope(WireError::TooLarge { .. }))));
}

#[test]
fn the_longest_program_round_trips() {
    let longest = program(&"push 3:0:1\n".repeat(MAX_INSTRUCTIONS));
    let encoded = longest.encode();
    assert_eq!(encoded.len() as u64, ciphermill_wire::sealed_len(Program::MAX_BODY_BYTES));
    assert_eq!(decode(&encoded).unwrap(), longest);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn decoding_undoes_encoding(program in any_program(any_register())) {
        prop_assert_eq!(decode(&program.encode()).unwrap(), program);
    }
}
