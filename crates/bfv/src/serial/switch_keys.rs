//! Keys that switch keys: the relinearisation key and Galois keys, which are lists of them.

use std::collections::BTreeMap;
use std::io::{Read, Write};

use ciphermill_lattice::rns::{Coefficients, RnsPoly};
use ciphermill_lattice::{KeyTag, PublicSeed};
use ciphermill_math::Isa;
use ciphermill_wire::{Decoder, Encoder, Kind, OpenReader, SealWriter, WireError, sealed_len};

use super::{BODY_VERSION, GALOIS_KEYS, MAX_PARAMETER_SET_LEN, RELINEARIZATION_KEY};
use crate::context::Context;
use crate::error::{BfvError, require_length, require_range};
use crate::gadget::Gadget;
use crate::keys::{GaloisKeys, GaloisRequest, RelinearizationKey, check_element};
use crate::keyswitch::KeySwitchKey;
use crate::parameters::{MAX_LIMBS, MAX_POLYNOMIAL_SIZE, ParameterSet, ParameterSpec, SecurityPolicy};
use crate::secret_key::mask;

/// Memory that loaded keys may take unless the caller says otherwise.
pub const MAX_LOADED_KEY_BYTES: u64 = 8 << 30;

/// Most bytes of a body.
const MAX_BODY_LEN: u64 = 1 << 36;
/// Most digits of a key: 62 bits of each of 32 limbs, one by one.
const MAX_DIGITS: usize = MAX_LIMBS * 62;
/// Bytes of an entry of the head.
const ENTRY_LEN: usize = 8;
/// Bytes of the seed before the digits of a key.
const SEED_LEN: usize = 32;
/// Most bytes of a head: an entry for each automorphism.
const MAX_HEAD_LEN: usize = MAX_PARAMETER_SET_LEN as usize + 12 + MAX_POLYNOMIAL_SIZE * ENTRY_LEN;
/// The value in the place of an automorphism's element in a relinearisation key.
const SQUARE: usize = 0;

/// One key of the list, as the head describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    element: usize,
    gadget: Gadget,
    digits: usize,
}

/// The head of the file, before the keys.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Head {
    spec: ParameterSpec,
    tag: KeyTag,
    entries: Vec<Entry>,
}

impl Head {
    fn new<'a>(context: &Context, tag: KeyTag, keys: impl Iterator<Item = (usize, &'a KeySwitchKey)>) -> Self {
        let entries = keys.map(|(element, key)| Entry { element, gadget: key.gadget, digits: key.digits.len() });
        Self { spec: context.parameters().spec().clone(), tag, entries: entries.collect() }
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = Encoder::with_capacity(MAX_PARAMETER_SET_LEN as usize + 12 + self.entries.len() * ENTRY_LEN);
        self.spec.encode(&mut out);
        out.u64(self.tag.0).u32(self.entries.len() as u32);
        for entry in &self.entries {
            out.u32(entry.element as u32);
            entry.gadget.encode(&mut out);
            out.u16(entry.digits as u16);
        }
        out.into_vec()
    }

    /// Reads a head. Whether its set is admissible is for others to say.
    fn decode(kind: Kind, bytes: &[u8]) -> Result<Self, BfvError> {
        let mut input = Decoder::new(bytes);
        let spec = ParameterSpec::decode(&mut input)?;
        let tag = KeyTag(input.u64()?);
        let (n, count) = (spec.polynomial_size.get(), input.u32()?);
        if kind == RELINEARIZATION_KEY {
            require_range("number of keys of a relinearisation key", count, 1, 1)?;
        } else {
            require_range("number of Galois keys", count, 0, n as u64)?;
        }
        require_length("bytes of the list of keys", input.remaining(), count as usize * ENTRY_LEN)?;
        let mut entries: Vec<Entry> = Vec::with_capacity(count as usize);
        for _ in 0..count {
            let element = input.u32()? as usize;
            if kind == RELINEARIZATION_KEY {
                require_range("element of a relinearisation key", element as u64, SQUARE as u64, SQUARE as u64)?;
            } else {
                check_element(element, n)?;
                let least = entries.last().map_or(3, |last| last.element + 2);
                require_range(
                    "element of a Galois key, in ascending order,",
                    element as u64,
                    least as u64,
                    2 * n as u64,
                )?;
            }
            let (gadget, digits) = (Gadget::decode(&mut input)?, usize::from(input.u16()?));
            require_range("number of digits of a key", digits as u64, 1, MAX_DIGITS as u64)?;
            entries.push(Entry { element, gadget, digits });
        }
        input.finish()?;
        Ok(Self { spec, tag, entries })
    }

    fn digits(&self) -> u64 {
        self.entries.iter().map(|entry| entry.digits as u64).sum()
    }

    /// Bytes of the keys.
    fn keys_len(&self) -> u64 {
        self.digits() * self.spec.packed_len(MAX_LIMBS) + (self.entries.len() * SEED_LEN) as u64
    }

    /// Bytes of the body.
    fn body_len(&self) -> u64 {
        4 + self.encode().len() as u64 + self.keys_len()
    }

    /// Bytes of the loaded keys: (b_j, a_j) over the chain for each digit.
    fn loaded_bytes(&self) -> u64 {
        let words = self.spec.polynomial_size.get() * self.spec.chain().count();
        2 * 8 * self.digits() * words as u64
    }

    /// Starts the envelope and reads the head; the keys follow, and the envelope is as long as the head implies.
    fn open<R: Read>(kind: Kind, reader: R) -> Result<(OpenReader<R>, Self), BfvError> {
        let mut input = OpenReader::new(reader, kind, BODY_VERSION..=BODY_VERSION, MAX_BODY_LEN)?;
        let mut len = [0; 4];
        require_remaining(&input, len.len() as u64)?;
        input.read_exact(&mut len)?;
        let len = u32::from_le_bytes(len);
        require_range("bytes of the head of the keys", len, 1, MAX_HEAD_LEN as u64)?;
        require_remaining(&input, len.into())?;
        // No more memory than the input has bytes.
        let mut bytes = Vec::new();
        (&mut input).take(len.into()).read_to_end(&mut bytes)?;
        let head = Self::decode(kind, &bytes)?;
        let (given, expected) = (input.remaining(), head.keys_len());
        if given != expected {
            let bound = i128::from(expected);
            return Err(BfvError::Range { what: "bytes of the keys", given: given.into(), min: bound, max: bound });
        }
        Ok((input, head))
    }
}

/// An error unless the body goes on for `needed` bytes.
fn require_remaining<R: Read>(input: &OpenReader<R>, needed: u64) -> Result<(), WireError> {
    let available = input.remaining();
    if needed <= available { Ok(()) } else { Err(WireError::Truncated { needed, available }) }
}

/// Writes a list of keys, one polynomial at a time.
fn write<'a, W: Write>(
    kind: Kind,
    context: &Context,
    tag: KeyTag,
    keys: impl Iterator<Item = (usize, &'a KeySwitchKey)> + Clone,
    writer: W,
) -> Result<W, BfvError> {
    let head = Head::new(context, tag, keys.clone());
    let mut out = SealWriter::new(writer, kind, BODY_VERSION, head.body_len())?;
    let chain = context.chain();
    let bytes = head.encode();
    out.write_all(&(bytes.len() as u32).to_le_bytes())?;
    out.write_all(&bytes)?;
    for (_, key) in keys {
        context.require_parameters("the key", key.parameters)?;
        out.write_all(&key.seed.0)?;
        for [b, _] in &key.digits {
            out.write_all(&chain.pack(&chain.inverse(b.clone())))?;
        }
    }
    Ok(out.finish()?)
}

/// Reads a list of keys to the end of the input.
fn read<R: Read>(
    kind: Kind,
    context: &Context,
    reader: R,
    max_bytes: u64,
) -> Result<(KeyTag, BTreeMap<usize, KeySwitchKey>), BfvError> {
    let (input, head) = Head::open(kind, reader)?;
    let (tag, needed) = (head.tag, head.loaded_bytes());
    if needed > max_bytes {
        return Err(BfvError::Memory { what: "a set of keys", needed, limit: max_bytes });
    }
    let (parameters, chain) = (head.spec.id(), context.chain());
    let mut keys = BTreeMap::new();
    read_digits(context, input, &head, |entry, seed, digit, b| {
        let key = keys.entry(entry.element).or_insert_with(|| {
            let digits = Vec::with_capacity(entry.digits);
            KeySwitchKey { parameters, tag, gadget: entry.gadget, seed: *seed, digits }
        });
        key.digits.push([chain.forward(b), mask(context, seed, digit)]);
    })?;
    Ok((tag, keys))
}

/// Reads the keys behind their head to the end of the input, one polynomial at a time, and hands each to `visit` with its
/// key, the key's seed and its number within the key.
fn read_digits<R: Read>(
    context: &Context,
    mut input: OpenReader<R>,
    head: &Head,
    mut visit: impl FnMut(&Entry, &PublicSeed, u64, RnsPoly<Coefficients>),
) -> Result<(), BfvError> {
    context.require_parameters("the keys", head.spec.id())?;
    for entry in &head.entries {
        require_length("digits of a key", entry.digits, context.digit_count(entry.gadget, context.top())?)?;
    }
    let chain = context.chain();
    let mut packed = vec![0; chain.packed_len()];
    for entry in &head.entries {
        let mut seed = PublicSeed([0; SEED_LEN]);
        input.read_exact(&mut seed.0)?;
        for digit in 0..entry.digits as u64 {
            input.read_exact(&mut packed)?;
            visit(entry, &seed, digit, chain.unpack(&packed)?);
        }
    }
    // Enough to say how many bytes there are, without following a stream that never ends.
    let given = std::io::copy(&mut input.finish()?.take(1 << 20), &mut std::io::sink())?;
    if given == 0 { Ok(()) } else { Err(WireError::TrailingBytes { given }.into()) }
}

/// The head of Galois keys: their owner, their purpose and their size.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let requests = [3, 5].map(|element| GaloisRequest { element, gadget });
/// let keys = GaloisKeys::generate(&secret, &requests)?;
/// let header = GaloisKeysHeader::read(&keys.to_bytes(&context)?[..], policy)?;
/// assert_eq!(header.requests().collect::<Vec<_>>(), requests);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GaloisKeysHeader {
    parameters: ParameterSet,
    head: Head,
}

impl GaloisKeysHeader {
    /// Reads the head of sealed Galois keys and no more. The parameter set is judged, and the envelope must be as long as
    /// the head implies; the keys themselves and the checksum are left to [`GaloisKeys::read`].
    ///
    /// # Errors
    /// If the head is malformed or its set is not admissible under `policy`.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let requests = [3, 5].map(|element| GaloisRequest { element, gadget });
    /// let keys = GaloisKeys::generate(&secret, &requests)?;
    /// let bytes = keys.to_bytes(&context)?;
    /// let header = GaloisKeysHeader::read(&bytes[..], policy)?;
    /// assert_eq!((header.tag(), header.sealed_len()), (secret.tag(), bytes.len() as u64));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(reader: impl Read, policy: SecurityPolicy) -> Result<Self, BfvError> {
        let (_, head) = Head::open(GALOIS_KEYS, reader)?;
        Ok(Self { parameters: ParameterSet::new(head.spec.clone(), policy)?, head })
    }

    /// The parameter set.
    pub fn parameters(&self) -> &ParameterSet {
        &self.parameters
    }

    /// The key set.
    pub fn tag(&self) -> KeyTag {
        self.head.tag
    }

    /// The elements, ascending, and the decompositions of their keys.
    pub fn requests(&self) -> impl ExactSizeIterator<Item = GaloisRequest> + '_ {
        self.head.entries.iter().map(|entry| GaloisRequest { element: entry.element, gadget: entry.gadget })
    }

    /// Bytes of the sealed keys.
    pub fn sealed_len(&self) -> u64 {
        sealed_len(self.head.body_len())
    }

    /// Bytes of memory that the loaded keys take.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let requests = [3, 5].map(|element| GaloisRequest { element, gadget });
    /// let keys = GaloisKeys::generate(&secret, &requests)?;
    /// let header = GaloisKeysHeader::read(&keys.to_bytes(&context)?[..], policy)?;
    /// // Two keys of three digits, two parts, four primes and 32 words of 8 bytes.
    /// assert_eq!(header.loaded_bytes(), 2 * 3 * 2 * 4 * 32 * 8);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn loaded_bytes(&self) -> u64 {
        self.head.loaded_bytes()
    }
}

impl GaloisKeys {
    /// Writes the sealed keys, one polynomial at a time.
    ///
    /// # Errors
    /// If they are of another parameter set, or writing fails.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let requests = [3, 5].map(|element| GaloisRequest { element, gadget });
    /// let keys = GaloisKeys::generate(&secret, &requests)?;
    /// let bytes = keys.write(&context, Vec::new())?;
    /// assert_eq!(bytes, keys.to_bytes(&context)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write<W: Write>(&self, context: &Context, writer: W) -> Result<W, BfvError> {
        context.require_parameters("the Galois keys", self.parameters)?;
        write(GALOIS_KEYS, context, self.tag, self.keys.iter().map(|(&element, key)| (element, key)), writer)
    }

    /// The sealed keys.
    ///
    /// # Errors
    /// If they are of another parameter set.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let requests = [3, 5].map(|element| GaloisRequest { element, gadget });
    /// let keys = GaloisKeys::generate(&secret, &requests)?;
    /// let again = GaloisKeys::from_bytes(&context, &keys.to_bytes(&context)?)?;
    /// assert!(again.elements().eq([3, 5]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_bytes(&self, context: &Context) -> Result<Vec<u8>, BfvError> {
        self.write(context, Vec::new())
    }

    /// Reads sealed keys to the end of `reader`, if the loaded keys take at most `max_bytes` of memory
    /// ([`MAX_LOADED_KEY_BYTES`] if nothing better is known). It is checked before any is allocated.
    ///
    /// # Errors
    /// If they are malformed, of another parameter set or too large.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let requests = [3, 5].map(|element| GaloisRequest { element, gadget });
    /// let keys = GaloisKeys::generate(&secret, &requests)?;
    /// let bytes = keys.to_bytes(&context)?;
    /// assert!(GaloisKeys::read(&context, &bytes[..], MAX_LOADED_KEY_BYTES).is_ok());
    /// assert!(matches!(GaloisKeys::read(&context, &bytes[..], 1000), Err(BfvError::Memory { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(context: &Context, reader: impl Read, max_bytes: u64) -> Result<Self, BfvError> {
        let (tag, keys) = read(GALOIS_KEYS, context, reader, max_bytes)?;
        Ok(Self { parameters: context.parameters().id(), tag, keys })
    }

    /// Checks sealed keys to the end of `reader` without keeping them: only one polynomial is in memory at a time.
    ///
    /// # Errors
    /// If they are malformed, or their set is not admissible under `policy`.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let keys = GaloisKeys::generate(&secret, &[GaloisRequest { element: 3, gadget }])?;
    /// let mut bytes = keys.to_bytes(&context)?;
    /// assert_eq!(GaloisKeys::validate(&bytes[..], policy, context.isa())?.tag(), secret.tag());
    /// bytes.pop();
    /// assert!(GaloisKeys::validate(&bytes[..], policy, context.isa()).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn validate(reader: impl Read, policy: SecurityPolicy, isa: Isa) -> Result<GaloisKeysHeader, BfvError> {
        let (input, head) = Head::open(GALOIS_KEYS, reader)?;
        let parameters = ParameterSet::new(head.spec.clone(), policy)?;
        let needed = head.loaded_bytes();
        if needed > MAX_LOADED_KEY_BYTES {
            return Err(BfvError::Memory { what: "a set of keys", needed, limit: MAX_LOADED_KEY_BYTES });
        }
        read_digits(&Context::new(&parameters, isa)?, input, &head, |_, _, _, _| ())?;
        Ok(GaloisKeysHeader { parameters, head })
    }

    /// Reads sealed keys.
    ///
    /// # Errors
    /// If they are malformed, of another parameter set or larger than [`MAX_LOADED_KEY_BYTES`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let requests = [3, 5].map(|element| GaloisRequest { element, gadget });
    /// let keys = GaloisKeys::generate(&secret, &requests)?;
    /// let bytes = keys.to_bytes(&context)?;
    /// assert!(GaloisKeys::from_bytes(&context, &bytes)?.get(5).is_some());
    /// assert!(GaloisKeys::from_bytes(&context, &bytes[1..]).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_bytes(context: &Context, bytes: &[u8]) -> Result<Self, BfvError> {
        Self::read(context, bytes, MAX_LOADED_KEY_BYTES)
    }
}

impl RelinearizationKey {
    /// The sealed key.
    ///
    /// # Errors
    /// If it is of another parameter set.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let key = RelinearizationKey::generate(&secret)?;
    /// let again = RelinearizationKey::from_bytes(&context, &key.to_bytes(&context)?)?;
    /// assert_eq!(again.tag(), secret.tag());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_bytes(&self, context: &Context) -> Result<Vec<u8>, BfvError> {
        context.require_parameters("the relinearisation key", self.key.parameters)?;
        write(RELINEARIZATION_KEY, context, self.key.tag, std::iter::once((SQUARE, &self.key)), Vec::new())
    }

    /// Reads a sealed key.
    ///
    /// # Errors
    /// If it is malformed or of another parameter set.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let bytes = RelinearizationKey::generate(&secret)?.to_bytes(&context)?;
    /// let key = RelinearizationKey::from_bytes(&context, &bytes)?;
    /// let x = secret.encrypt(&context.encode(&[4])?, top, &mut rng)?;
    /// let square = context.relinearize(&context.multiply(&x, &x)?, &key)?;
    /// assert_eq!(context.decode(&secret.decrypt(&square)?)[0], 16);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_bytes(context: &Context, bytes: &[u8]) -> Result<Self, BfvError> {
        let (_, mut keys) = read(RELINEARIZATION_KEY, context, bytes, MAX_LOADED_KEY_BYTES)?;
        let key = keys.remove(&SQUARE).expect("the head names exactly this key");
        Ok(Self { key })
    }
}
