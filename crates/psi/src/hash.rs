//! The hash of ids to elements of ristretto255: the suite `ristretto255_XMD:SHA-512_R255MAP_RO_` of RFC 9380, appendix B.

use curve25519_dalek::RistrettoPoint;
use sha2::{Digest, Sha512};

/// The tag that separates this hash from those of other protocols, with the version of this protocol.
const TAG: &[u8] = b"Ciphermill-PSI-V01-with-ristretto255_XMD:SHA-512_R255MAP_RO_";

/// Bytes that the map of RFC 9496, section 4.3.4, makes an element of.
const UNIFORM_LEN: usize = 64;

/// Bytes of a block of SHA-512.
const BLOCK_LEN: usize = 128;

/// The element of an id. The discrete logarithm of one element to the base of another is unknown.
pub(crate) fn hash_to_group(id: &[u8]) -> RistrettoPoint {
    hash_with_tag(id, TAG)
}

fn hash_with_tag(id: &[u8], tag: &[u8]) -> RistrettoPoint {
    RistrettoPoint::from_uniform_bytes(&expand_message(id, tag))
}

/// `expand_message_xmd` of RFC 9380, section 5.3.1, with SHA-512 and 64 bytes of output, which are one digest.
fn expand_message(message: &[u8], tag: &[u8]) -> [u8; UNIFORM_LEN] {
    let tag_len = [u8::try_from(tag.len()).expect("a tag of at most 255 bytes")];
    let zero = Sha512::new()
        .chain_update([0; BLOCK_LEN])
        .chain_update(message)
        .chain_update((UNIFORM_LEN as u16).to_be_bytes())
        .chain_update([0])
        .chain_update(tag)
        .chain_update(tag_len)
        .finalize();
    Sha512::new().chain_update(zero).chain_update([1]).chain_update(tag).chain_update(tag_len).finalize().into()
}

#[cfg(test)]
mod tests {
    use curve25519_dalek::Scalar;

    use super::*;

    fn bytes<const N: usize>(hex: &str) -> [u8; N] {
        assert_eq!(hex.len(), 2 * N);
        std::array::from_fn(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).expect("digits"))
    }

    /// RFC 9497, appendix A.1.1, OPRF(ristretto255, SHA-512) in the mode OPRF: input, blinded element, evaluated element.
    const OPRF: [(&[u8], &str, &str); 2] = [
        (
            &[0],
            "609a0ae68c15a3cf6903766461307e5c8bb2f95e7e6550e1ffa2dc99e412803c",
            "7ec6578ae5120958eb2db1745758ff379e77cb64fe77b0b2d8cc917ea0869c7e",
        ),
        (
            &[0x5a; 17],
            "da27ef466870f5f15296299850aa088629945a17d1f5b7f5ff043f76b3c06418",
            "b4cbf5a4f1eeda5a63ce7b77c7d23f461db3fcab0dd28e4e17cecb5c90d02c25",
        ),
    ];

    /// `Blind` and `skSm` there.
    const BLIND: &str = "64d37aed22a27f5191de1c1d69fadb899d8862b58eb4220029e036ec4c1f6706";
    const SERVER: &str = "5ebcea5ee37023ccb9fc2d2019f9d7737be85591ae8652ffa9ef0f4d37063b0e";

    #[test]
    fn rfc_9497_blinded_and_evaluated_elements() {
        let scalar = |hex| Scalar::from_canonical_bytes(bytes(hex)).unwrap();
        for (input, blinded, evaluated) in OPRF {
            let element = hash_with_tag(input, b"HashToGroup-OPRFV1-\0-ristretto255-SHA512");
            let once = element * scalar(BLIND);
            assert_eq!(once.compress().to_bytes(), bytes(blinded));
            assert_eq!((once * scalar(SERVER)).compress().to_bytes(), bytes(evaluated));
        }
    }

    /// RFC 9496, appendix A.3.
    const MAP: [(&str, &str); 7] = [
        (
            "5d1be09e3d0c82fc538112490e35701979d99e06ca3e2b5b54bffe8b4dc772c1\
             4d98b696a1bbfb5ca32c436cc61c16563790306c79eaca7705668b47dffe5bb6",
            "3066f82a1a747d45120d1740f14358531a8f04bbffe6a819f86dfe50f44a0a46",
        ),
        (
            "f116b34b8f17ceb56e8732a60d913dd10cce47a6d53bee9204be8b44f6678b27\
             0102a56902e2488c46120e9276cfe54638286b9e4b3cdb470b542d46c2068d38",
            "f26e5b6f7d362d2d2a94c5d0e7602cb4773c95a2e5c31a64f133189fa76ed61b",
        ),
        (
            "8422e1bbdaab52938b81fd602effb6f89110e1e57208ad12d9ad767e2e25510c\
             27140775f9337088b982d83d7fcf0b2fa1edffe51952cbe7365e95c86eaf325c",
            "006ccd2a9e6867e6a2c5cea83d3302cc9de128dd2a9a57dd8ee7b9d7ffe02826",
        ),
        (
            "ac22415129b61427bf464e17baee8db65940c233b98afce8d17c57beeb7876c2\
             150d15af1cb1fb824bbd14955f2b57d08d388aab431a391cfc33d5bafb5dbbaf",
            "f8f0c87cf237953c5890aec3998169005dae3eca1fbb04548c635953c817f92a",
        ),
        (
            "165d697a1ef3d5cf3c38565beefcf88c0f282b8e7dbd28544c483432f1cec767\
             5debea8ebb4e5fe7d6f6e5db15f15587ac4d4d4a1de7191e0c1ca6664abcc413",
            "ae81e7dedf20a497e10c304a765c1767a42d6e06029758d2d7e8ef7cc4c41179",
        ),
        (
            "a836e6c9a9ca9f1e8d486273ad56a78c70cf18f0ce10abb1c7172ddd605d7fd2\
             979854f47ae1ccf204a33102095b4200e5befc0465accc263175485f0e17ea5c",
            "e2705652ff9f5e44d3e841bf1c251cf7dddb77d140870d1ab2ed64f1a9ce8628",
        ),
        (
            "2cdc11eaeb95daf01189417cdddbf95952993aa9cb9c640eb5058d09702c7462\
             2c9965a697a3b345ec24ee56335b556e677b30e6f90ac77d781064f866a3c982",
            "80bd07262511cdde4863f8a7434cef696750681cb9510eea557088f76d9e5065",
        ),
    ];

    #[test]
    fn rfc_9496_elements_of_uniform_bytes() {
        for (uniform, element) in MAP {
            let point = RistrettoPoint::from_uniform_bytes(&bytes(uniform));
            assert_eq!(point.compress().to_bytes(), bytes(element));
        }
    }

    /// The tag is part of the protocol: parties with other tags find no common id.
    #[test]
    fn the_hash_does_not_change() {
        assert_eq!(TAG, b"Ciphermill-PSI-V01-with-ristretto255_XMD:SHA-512_R255MAP_RO_");
        assert_eq!(hash_to_group(b"ann"), hash_with_tag(b"ann", TAG));
        assert_ne!(hash_to_group(b"ann"), hash_with_tag(b"ann", &TAG[1..]));
    }
}
