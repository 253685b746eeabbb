//! The keystream is part of the stored formats: it may never change.

use ciphermill_lattice::{Csprng, Keystream, MaskStream, PublicSeed, SecretSeed};

fn bytes(hex: &str) -> Vec<u8> {
    let digits: Vec<u8> = hex.bytes().filter(|c| !c.is_ascii_whitespace()).collect();
    digits.chunks(2).map(|d| u8::from_str_radix(std::str::from_utf8(d).unwrap(), 16).unwrap()).collect()
}

/// RFC 8439, appendix A.1, test vector 1: zero key and nonce, block 0.
#[test]
fn rfc_8439_first_block() {
    let mut out = [0; 64];
    Csprng::from_secret(&SecretSeed::from_bytes([0; 32]), 0).fill_bytes(&mut out);
    let expected = bytes(
        "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7
         da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586",
    );
    assert_eq!(out[..], expected);
}

/// RFC 8439, section 2.4.2: key 00…1f, nonce 00000000 0000004a 00000000, from block 1 on.
#[test]
fn rfc_8439_stream() {
    let key: [u8; 32] = std::array::from_fn(|i| i as u8);
    let mut out = [0; 128];
    let stream = u64::from_le_bytes([0, 0, 0, 0x4a, 0, 0, 0, 0]);
    Csprng::from_secret(&SecretSeed::from_bytes(key), stream).fill_bytes(&mut out);
    let expected = bytes(
        "224f51f3401bd9e12fde276fb8631ded8c131f823d2c06e27e4fcaec9ef3cf78
         8a3b0aa372600a92b57974cded2b9334794cba40c63e34cdea212c4cf07d41b7",
    );
    assert_eq!(out[64..], expected);
}

/// Every way of drawing gives the same bytes, whatever the lengths of the requests.
#[test]
fn integers_are_the_little_endian_bytes() {
    const WORDS: usize = 6000;
    let generator = || Csprng::from_secret(&SecretSeed::from_bytes([7; 32]), 9);
    let mut stream = vec![0; 4 * WORDS];
    generator().fill_bytes(&mut stream);
    let words: Vec<u32> = stream.as_chunks().0.iter().map(|b| u32::from_le_bytes(*b)).collect();
    let longs: Vec<u64> = stream.as_chunks().0.iter().map(|b| u64::from_le_bytes(*b)).collect();

    let mut drawn = vec![0u32; WORDS];
    generator().fill_u32(&mut drawn);
    assert!(drawn == words);
    let mut drawn = vec![0u64; WORDS / 2];
    generator().fill_u64(&mut drawn);
    assert!(drawn == longs);
    let mut rng = generator();
    assert!(longs.iter().all(|w| rng.next_u64() == *w));

    // Mixed requests of growing size, each at whatever word the last one left.
    let (mut rng, mut position, mut size) = (generator(), 0, 1);
    while position + 4 * size < WORDS {
        let mut narrow = vec![0u32; size];
        rng.fill_u32(&mut narrow);
        assert_eq!(narrow, words[position..position + size]);
        position += size;
        let mut wide = vec![0u64; size];
        rng.fill_u64(&mut wide);
        let pairs = words[position..position + 2 * size].as_chunks::<2>().0;
        assert!(wide.iter().zip(pairs).all(|(w, [lo, hi])| *w == u64::from(*hi) << 32 | u64::from(*lo)));
        position += 2 * size;
        // Ends within a word, whose rest is discarded.
        let mut part = vec![0u8; 4 * size - 1];
        rng.fill_bytes(&mut part);
        assert_eq!(part, stream[4 * position..4 * (position + size) - 1]);
        position += size;
        size += 7;
    }
}

#[test]
fn seeds_and_streams_differ() {
    let first = |seed, stream| Csprng::from_secret(&SecretSeed::from_bytes([seed; 32]), stream).next_u64();
    assert!(first(1, 0) != first(1, 1) && first(1, 0) != first(2, 0));
    assert_ne!(PublicSeed::from_os().unwrap(), PublicSeed::from_os().unwrap());
    let fresh = || Csprng::from_os().unwrap().next_u64();
    assert_ne!(fresh(), fresh());
}

#[test]
fn secrets_are_not_shown() {
    let seed = SecretSeed::from_bytes([0xab; 32]);
    assert_eq!(format!("{seed:?} {:?}", Csprng::from_secret(&seed, 1)), "SecretSeed(..) Csprng(..)");
}

/// Masks are the same keystream, under a type that noise cannot be drawn from.
#[test]
fn mask_streams_are_the_keystream_of_their_seed() {
    let (mut masks, mut words) = ([0u64; 1000], [0u64; 1000]);
    MaskStream::new(&PublicSeed([6; 32]), 17).fill_u64(&mut masks);
    Csprng::from_secret(&SecretSeed::from_bytes([6; 32]), 17).fill_u64(&mut words);
    assert_eq!(masks, words);
    let (mut masks, mut words) = ([0u32; 1001], [0u32; 1001]);
    MaskStream::new(&PublicSeed([6; 32]), 18).fill_u32(&mut masks);
    Csprng::from_secret(&SecretSeed::from_bytes([6; 32]), 18).fill_u32(&mut words);
    assert_eq!(masks, words);
}

/// A child that went on with its parent's stream would draw the same noise under other masks.
#[cfg(target_os = "linux")]
#[test]
fn a_forked_child_draws_other_values() {
    use ciphermill_testing::in_forked_child;

    let generator = || Csprng::from_secret(&SecretSeed::from_bytes([8; 32]), 1);
    let mut parent = generator();
    parent.next_u64();
    let draws: [fn(&mut Csprng) -> Vec<u64>; 4] = [
        |rng| vec![rng.next_u64()],
        |rng| {
            let mut bytes = [0; 8];
            rng.fill_bytes(&mut bytes);
            vec![u64::from_le_bytes(bytes)]
        },
        |rng| {
            let mut words = [0u32; 2];
            rng.fill_u32(&mut words);
            vec![u64::from(words[0]) | u64::from(words[1]) << 32]
        },
        |rng| {
            let mut words = [0u64; 8];
            rng.fill_u64(&mut words);
            words.to_vec()
        },
    ];
    for draw in draws {
        let expected = draw(&mut generator());
        let mut child = generator();
        assert!(in_forked_child(move || draw(&mut child) != expected), "the child went on with the stream");
        // A stream that is begun in the child is that of its seed.
        let expected = draw(&mut generator());
        assert!(in_forked_child(move || draw(&mut generator()) == expected));
    }
    // Masks are public, and the same everywhere.
    let mut masks = MaskStream::new(&PublicSeed([6; 32]), 17);
    let mut expected = [0u64; 4];
    MaskStream::new(&PublicSeed([6; 32]), 17).fill_u64(&mut expected);
    assert!(in_forked_child(move || {
        let mut words = [0u64; 4];
        masks.fill_u64(&mut words);
        words == expected
    }));
    let mut rest = [0u64; 7];
    parent.fill_u64(&mut rest);
    let mut all = [0u64; 8];
    generator().fill_u64(&mut all);
    assert_eq!(rest, all[1..], "the parent goes on");
}
