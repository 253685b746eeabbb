//! The plain definitions of extraction, embedding, key switching and packing: polynomials as lists of residues,
//! products term by term, every division exact. They are deterministic and use no transform. The tests compare the fast
//! paths and the accelerator's RTL with them, bit for bit.

use std::collections::BTreeMap;

use ciphermill_lattice::rns::{RnsPoly, Spectrum};
use ciphermill_math::automorphism;
use num_bigint::BigInt;
use num_traits::{One, ToPrimitive, Zero};

use super::LweCiphertext;
use crate::ciphertext::Ciphertext;
use crate::context::Context;
use crate::gadget::Gadget;
use crate::keys::GaloisKeys;

/// A polynomial: for each prime its N residues, the constant coefficient first, in `[0, p)`.
pub type Residues = Vec<Vec<u64>>;

/// An RLWE ciphertext, c_0 + c_1·s.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// use ciphermill_bfv::lwe::reference::{Residues, Rlwe};
/// let x = secret.encrypt(&context.encode(&[5, 6, 7])?, top, &mut rng)?;
/// let c1: Residues = Rlwe::from(&x).c1;
/// assert_eq!((c1.len(), c1[0].as_slice()), (top, x.parts()[1].limb(0)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rlwe {
    /// c_0.
    pub c0: Residues,
    /// c_1.
    pub c1: Residues,
}

/// An LWE ciphertext, b + ⟨a, s⟩.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// use ciphermill_bfv::lwe::reference::Lwe;
/// let x = secret.encrypt(&context.encode(&[5, 6, 7])?, top, &mut rng)?;
/// let lwe = context.extract_lwe(&x, 2)?;
/// let Lwe { mask, body } = Lwe::from(&lwe);
/// assert_eq!((mask[0].as_slice(), body.as_slice()), (lwe.mask(0), lwe.body()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lwe {
    /// a, N residues for each prime.
    pub mask: Residues,
    /// b, a residue for each prime.
    pub body: Vec<u64>,
}

/// A key of a key switch: its gadget, and the pair (b_j, a_j) of each digit over q_0 … q_(l−1) and the special primes.
pub type Key = (Gadget, Vec<[Residues; 2]>);

/// The keys of a packing by element g.
pub type Keys = BTreeMap<usize, Key>;

/// The polynomials modulo X^N + 1 and the primes of ciphertexts of one level, followed by the special primes.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// use ciphermill_bfv::lwe::reference::Ring;
/// let ring = Ring::new(&context, top);
/// assert_eq!((ring.n, ring.moduli.len(), ring.special.len()), (32, 3, 1));
/// assert_eq!(ring.extended().len(), 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Ring {
    /// N.
    pub n: usize,
    /// q_0 … q_(l−1).
    pub moduli: Vec<u64>,
    /// p_0 … p_(K−1), with the product P.
    pub special: Vec<u64>,
}

/// The integer of (−M/2, M/2] with these residues modulo `moduli`, of product M.
fn centred(residues: impl Iterator<Item = u64>, moduli: &[u64]) -> BigInt {
    let product: BigInt = moduli.iter().map(|&p| BigInt::from(p)).product();
    let mut x = BigInt::zero();
    for (residue, &p) in residues.zip(moduli) {
        let rest = &product / p;
        let inverse = rest.modinv(&BigInt::from(p)).unwrap_or_else(BigInt::one);
        x += rest * inverse * residue;
    }
    x %= &product;
    if &x * 2 > product { x - product } else { x }
}

/// x modulo p, in `[0, p)`.
///
/// # Example
/// ```
/// use ciphermill_bfv::lwe::reference::residue;
/// use num_bigint::BigInt;
///
/// assert_eq!(residue(&BigInt::from(-1), 97), 96);
/// ```
pub fn residue(x: &BigInt, p: u64) -> u64 {
    let rest = x % p;
    let rest = if rest < BigInt::zero() { rest + p } else { rest };
    rest.to_u64().expect("below a word")
}

/// a·b modulo X^N + 1 and p, term by term.
///
/// # Example
/// ```
/// use ciphermill_bfv::lwe::reference::product;
///
/// // (1 + X^3)·X = X − 1 modulo X^4 + 1.
/// assert_eq!(product(&[1, 0, 0, 1], &[0, 1, 0, 0], 97), [96, 1, 0, 0]);
/// ```
pub fn product(a: &[u64], b: &[u64], p: u64) -> Vec<u64> {
    // A residue and eight products of numbers below 2^62 fit 128 bits.
    let sum = |a: &[u64], b: &mut dyn Iterator<Item = &u64>| {
        let mut sum = 0u128;
        for a in a.chunks(8) {
            sum %= u128::from(p);
            a.iter().zip(&mut *b).for_each(|(&a, &b)| sum += u128::from(a) * u128::from(b));
        }
        sum % u128::from(p)
    };
    let coefficient = |k: usize| {
        let direct = sum(&a[..=k], &mut b[..=k].iter().rev());
        let wrapped = sum(&a[k + 1..], &mut b[k + 1..].iter().rev());
        ((direct + u128::from(p) - wrapped) % u128::from(p)) as u64
    };
    (0..a.len()).map(coefficient).collect()
}

/// X^e·a modulo X^N + 1 and p, for e below N.
///
/// # Example
/// ```
/// use ciphermill_bfv::lwe::reference::monomial_product;
///
/// assert_eq!(monomial_product(&[1, 2, 3, 4], 1, 97), [93, 1, 2, 3]);
/// ```
pub fn monomial_product(a: &[u64], e: usize, p: u64) -> Vec<u64> {
    let n = a.len();
    (0..n).map(|i| if i >= e { a[i - e] } else { (p - a[n + i - e]) % p }).collect()
}

impl Ring {
    /// Of the ciphertexts of `limbs` limbs of a context, 1 to L.
    ///
    /// # Panics
    /// If it has no such level.
    pub fn new(context: &Context, limbs: usize) -> Self {
        let parameters = context.parameters();
        let moduli = parameters.ciphertext_moduli[..limbs].to_vec();
        Self { n: context.n(), moduli, special: parameters.special_moduli.clone() }
    }

    /// The primes of the extended basis: those of ciphertexts, then the special ones.
    pub fn extended(&self) -> Vec<u64> {
        [&self.moduli[..], &self.special].concat()
    }

    /// The keys of `keys` in coefficient form, for this ring's level of `context`.
    pub fn keys(&self, context: &Context, keys: &GaloisKeys) -> Keys {
        let chain = context.chain();
        let limbs = (0..self.moduli.len()).chain(context.top()..chain.len());
        let coefficients = |poly: &RnsPoly<Spectrum>| -> Residues {
            let poly = chain.inverse(poly.clone());
            limbs.clone().map(|i| poly.limb(i).to_vec()).collect()
        };
        let key = |element: usize| {
            let key = keys.get(element).expect("one of its elements");
            // Those of lower levels are the first of them.
            let digits = key.digits().iter();
            (key.gadget(), digits.map(|digit| [coefficients(&digit[0]), coefficients(&digit[1])]).collect())
        };
        keys.elements().map(|element| (element, key(element))).collect()
    }

    /// The digits of a polynomial: by [`Gadget::Limbs`] the polynomial modulo each product of limbs, centred; by
    /// [`Gadget::Bits`] each limb, centred, in balanced digits, of which the last takes the carry.
    pub fn digits(&self, gadget: Gadget, poly: &Residues) -> Vec<Vec<BigInt>> {
        let integers = |limbs: &[Vec<u64>], moduli: &[u64]| -> Vec<BigInt> {
            (0..self.n).map(|k| centred(limbs.iter().map(|limb| limb[k]), moduli)).collect()
        };
        match gadget {
            Gadget::Limbs { limbs_per_digit: k } => {
                poly.chunks(k).zip(self.moduli.chunks(k)).map(|(limbs, moduli)| integers(limbs, moduli)).collect()
            }
            Gadget::Bits { base_log } => {
                let mut digits = Vec::new();
                for (limb, &q) in poly.chunks(1).zip(&self.moduli) {
                    let mut rest = integers(limb, &[q]);
                    let half = BigInt::one() << (base_log.0 - 1);
                    for _ in 1..(u64::BITS - q.leading_zeros()).div_ceil(base_log.0 as u32) {
                        let next: Vec<BigInt> = rest.iter().map(|x| (x + &half) >> base_log.0).collect();
                        digits.push(rest.iter().zip(&next).map(|(x, next)| x - (next << base_log.0)).collect());
                        rest = next;
                    }
                    digits.push(rest);
                }
                digits
            }
        }
    }

    /// lhs + rhs.
    pub fn add(&self, lhs: &Residues, rhs: &Residues) -> Residues {
        self.each(lhs, rhs, |x, y, p| (x + y) % p)
    }

    /// lhs − rhs.
    pub fn sub(&self, lhs: &Residues, rhs: &Residues) -> Residues {
        self.each(lhs, rhs, |x, y, p| (x + p - y) % p)
    }

    fn each(&self, lhs: &Residues, rhs: &Residues, f: impl Fn(u64, u64, u64) -> u64) -> Residues {
        let limb = |((x, y), &p): ((&Vec<u64>, &Vec<u64>), &u64)| x.iter().zip(y).map(|(&x, &y)| f(x, y, p)).collect();
        lhs.iter().zip(rhs).zip(&self.moduli).map(limb).collect()
    }

    /// ⌊x/P⌉ for x over the extended basis.
    ///
    /// # Example
    /// ```
    /// use ciphermill_bfv::lwe::reference::Ring;
    ///
    /// let ring = Ring { n: 2, moduli: vec![97], special: vec![5] };
    /// // 12 and 13 modulo 97 and modulo 5, divided by 5.
    /// assert_eq!(ring.divide_by_special(&vec![vec![12, 13], vec![2, 3]]), vec![vec![2, 3]]);
    /// ```
    pub fn divide_by_special(&self, x: &Residues) -> Residues {
        let (keep, drop) = x.split_at(self.moduli.len());
        let rests: Vec<BigInt> = (0..self.n).map(|k| centred(drop.iter().map(|limb| limb[k]), &self.special)).collect();
        let special: BigInt = self.special.iter().map(|&p| BigInt::from(p)).product();
        let limb = |(limb, &q): (&Vec<u64>, &u64)| {
            let inverse = special.modinv(&BigInt::from(q)).expect("primes are distinct");
            limb.iter().zip(&rests).map(|(&x, rest)| residue(&((x - rest) * &inverse), q)).collect()
        };
        keep.iter().zip(&self.moduli).map(limb).collect()
    }

    /// The pair (u_0, u_1) with u_0 + u_1·s ≈ poly·s′ for the key from s′: the sum of the products of its digits with the
    /// key's, divided by P.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// use ciphermill_bfv::lwe::reference::{Key, Ring, Rlwe};
    /// # let galois = GaloisKeys::generate(&secret, &[GaloisRequest { element: 3, gadget }])?;
    /// let x = secret.encrypt(&context.encode(&[5, 6, 7])?, top, &mut rng)?;
    /// let ring = Ring::new(&context, top);
    /// let key: Key = ring.keys(&context, &galois)[&3].clone();
    /// let Rlwe { c0, c1 } = ring.key_switch(&Rlwe::from(&x).c1, &key);
    /// assert_eq!((c0.len(), c1.len(), c1[0].len()), (top, top, context.n()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn key_switch(&self, poly: &Residues, (gadget, key): &Key) -> Rlwe {
        let extended = self.extended();
        let mut sums: [Residues; 2] = [0, 1].map(|_| vec![vec![0; self.n]; extended.len()]);
        for (digit, key) in self.digits(*gadget, poly).iter().zip(key) {
            for (i, &p) in extended.iter().enumerate() {
                let digit: Vec<u64> = digit.iter().map(|x| residue(x, p)).collect();
                for (sum, key) in sums.iter_mut().zip(key) {
                    let term = product(&digit, &key[i], p);
                    sum[i].iter_mut().zip(term).for_each(|(sum, term)| *sum = (*sum + term) % p);
                }
            }
        }
        let [c0, c1] = sums.map(|sum| self.divide_by_special(&sum));
        Rlwe { c0, c1 }
    }

    /// σ_g(ciphertext) under the same key: (σ_g(c_0), 0) and the key switch of σ_g(c_1).
    ///
    /// # Panics
    /// If `keys` has no key for g.
    pub fn automorphism(&self, ciphertext: &Rlwe, g: usize, keys: &Keys) -> Rlwe {
        let apply = |poly: &Residues| -> Residues {
            poly.iter().zip(&self.moduli).map(|(limb, &p)| automorphism::reference::modular(g, p, limb)).collect()
        };
        let switched = self.key_switch(&apply(&ciphertext.c1), &keys[&g]);
        Rlwe { c0: self.add(&apply(&ciphertext.c0), &switched.c0), c1: switched.c1 }
    }

    /// ExtractLWEs: the LWE ciphertext of the coefficient at X^k.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// use ciphermill_bfv::lwe::reference::{Lwe, Ring, Rlwe};
    /// let x = secret.encrypt(&context.encode(&[5, 6, 7])?, top, &mut rng)?;
    /// let ring = Ring::new(&context, top);
    /// assert_eq!(ring.extract(&Rlwe::from(&x), 2), Lwe::from(&context.extract_lwe(&x, 2)?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn extract(&self, ciphertext: &Rlwe, k: usize) -> Lwe {
        let limb = |(limb, &p): (&Vec<u64>, &u64)| {
            (0..self.n).map(|j| if j <= k { limb[k - j] } else { (p - limb[self.n + k - j]) % p }).collect()
        };
        Lwe {
            mask: ciphertext.c1.iter().zip(&self.moduli).map(limb).collect(),
            body: ciphertext.c0.iter().map(|limb| limb[k]).collect(),
        }
    }

    /// The RLWE ciphertext with the plaintext of `lwe` in its constant coefficient.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// use ciphermill_bfv::lwe::reference::{Lwe, Ring, Rlwe};
    /// let x = secret.encrypt(&context.encode(&[5, 6, 7])?, top, &mut rng)?;
    /// let ring = Ring::new(&context, top);
    /// let lwe = context.extract_lwe(&x, 2)?;
    /// assert_eq!(ring.embed(&Lwe::from(&lwe)), Rlwe::from(&context.lwe_to_rlwe(&lwe)?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn embed(&self, lwe: &Lwe) -> Rlwe {
        let c0 = lwe.body.iter().map(|&b| (0..self.n).map(|j| if j == 0 { b } else { 0 }).collect()).collect();
        let limb = |(a, &p): (&Vec<u64>, &u64)| {
            (0..self.n).map(|j| if j == 0 { a[0] } else { (p - a[self.n - j]) % p }).collect()
        };
        Rlwe { c0, c1: lwe.mask.iter().zip(&self.moduli).map(limb).collect() }
    }

    /// lwe·2^-`log2` modulo Q.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// use ciphermill_bfv::lwe::reference::{Lwe, Ring};
    /// let x = secret.encrypt(&context.encode(&[5, 6, 7])?, top, &mut rng)?;
    /// let ring = Ring::new(&context, top);
    /// let lwe = context.extract_lwe(&x, 2)?;
    /// assert_eq!(ring.divide_by_power_of_two(&Lwe::from(&lwe), 3), Lwe::from(&context.divide_lwe(&lwe, 3)?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn divide_by_power_of_two(&self, lwe: &Lwe, log2: u32) -> Lwe {
        let scale = |x: u64, p: u64| {
            let half = u128::from(p).div_ceil(2);
            (0..log2).fold(u128::from(x), |x, _| x * half % u128::from(p)) as u64
        };
        let limb = |(limb, &p): (&Vec<u64>, &u64)| limb.iter().map(|&x| scale(x, p)).collect();
        Lwe {
            mask: lwe.mask.iter().zip(&self.moduli).map(limb).collect(),
            body: lwe.body.iter().zip(&self.moduli).map(|(&x, &p)| scale(x, p)).collect(),
        }
    }

    /// PackTwoLWEs at level `level`: (even + X^k·odd) + σ(even − X^k·odd) for k = N/2^`level` and σ = X ↦ X^(2^`level` + 1).
    ///
    /// # Panics
    /// If `keys` has no key for that element.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// use ciphermill_bfv::lwe::reference::{Keys, Ring, Rlwe};
    /// # let elements = context.packing_elements(2, Unused::Leave).into_iter();
    /// # let requests: Vec<_> = elements.map(|element| GaloisRequest { element, gadget }).collect();
    /// let galois = GaloisKeys::generate(&secret, &requests)?;
    /// let x = secret.encrypt(&context.encode(&[5, 6, 7])?, top, &mut rng)?;
    /// let y = secret.encrypt(&context.encode(&[9])?, top, &mut rng)?;
    /// let ring = Ring::new(&context, top);
    /// let keys: Keys = ring.keys(&context, &galois);
    /// let packed = ring.pack_two(&Rlwe::from(&x), &Rlwe::from(&y), 1, &keys);
    /// assert_eq!(packed, Rlwe::from(&context.pack_two_lwes(&x, &y, 1, &galois)?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pack_two(&self, even: &Rlwe, odd: &Rlwe, level: u32, keys: &Keys) -> Rlwe {
        let shift = |poly: &Residues| -> Residues {
            poly.iter().zip(&self.moduli).map(|(limb, &p)| monomial_product(limb, self.n >> level, p)).collect()
        };
        let odd = Rlwe { c0: shift(&odd.c0), c1: shift(&odd.c1) };
        let difference = Rlwe { c0: self.sub(&even.c0, &odd.c0), c1: self.sub(&even.c1, &odd.c1) };
        let moved = self.automorphism(&difference, (1 << level) + 1, keys);
        Rlwe {
            c0: self.add(&self.add(&even.c0, &odd.c0), &moved.c0),
            c1: self.add(&self.add(&even.c1, &odd.c1), &moved.c1),
        }
    }

    /// PackLWEs of 2^l inputs: input i, times 2^l, at the coefficient i·N/2^l.
    ///
    /// # Panics
    /// If the number of inputs is not a power of two up to N, or `keys` lacks the key of a level.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// use ciphermill_bfv::lwe::reference::{Lwe, Ring, Rlwe};
    /// # let elements = context.packing_elements(2, Unused::Leave).into_iter();
    /// # let requests: Vec<_> = elements.map(|element| GaloisRequest { element, gadget }).collect();
    /// let galois = GaloisKeys::generate(&secret, &requests)?;
    /// let x = secret.encrypt(&context.encode(&[5, 6, 7])?, top, &mut rng)?;
    /// let lwes = [context.extract_lwe(&x, 1)?, context.extract_lwe(&x, 2)?];
    /// let ring = Ring::new(&context, top);
    /// let packed = ring.pack(&[Lwe::from(&lwes[0]), Lwe::from(&lwes[1])], &ring.keys(&context, &galois));
    /// assert_eq!(packed, Rlwe::from(&context.pack_lwes(&lwes, Unused::Leave, &galois)?));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pack(&self, inputs: &[Lwe], keys: &Keys) -> Rlwe {
        assert!(inputs.len().is_power_of_two() && inputs.len() <= self.n, "a power of two up to N");
        if let [input] = inputs {
            return self.embed(input);
        }
        let half = |first: usize| -> Vec<Lwe> { inputs.iter().skip(first).step_by(2).cloned().collect() };
        let (even, odd) = (self.pack(&half(0), keys), self.pack(&half(1), keys));
        self.pack_two(&even, &odd, inputs.len().ilog2(), keys)
    }

    /// The field trace of a packing of 2^`level` inputs: the coefficients at multiples of N/2^`level` times N/2^`level`,
    /// 0 elsewhere.
    ///
    /// # Panics
    /// If `keys` lacks the key of a level.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// use ciphermill_bfv::lwe::reference::{Lwe, Ring, Rlwe};
    /// # let elements = context.packing_elements(2, Unused::Clear).into_iter();
    /// # let requests: Vec<_> = elements.map(|element| GaloisRequest { element, gadget }).collect();
    /// let galois = GaloisKeys::generate(&secret, &requests)?;
    /// let x = secret.encrypt(&context.encode(&[5, 6, 7])?, top, &mut rng)?;
    /// let lwes = [context.extract_lwe(&x, 1)?, context.extract_lwe(&x, 2)?];
    /// let ring = Ring::new(&context, top);
    /// let keys = ring.keys(&context, &galois);
    /// let packed = ring.pack(&[Lwe::from(&lwes[0]), Lwe::from(&lwes[1])], &keys);
    /// let cleared = Rlwe::from(&context.pack_lwes(&lwes, Unused::Clear, &galois)?);
    /// assert_eq!(ring.trace(&packed, 1, &keys), cleared);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn trace(&self, packed: &Rlwe, level: u32, keys: &Keys) -> Rlwe {
        (level + 1..=self.n.ilog2()).fold(packed.clone(), |sum, level| {
            let moved = self.automorphism(&sum, (1 << level) + 1, keys);
            Rlwe { c0: self.add(&sum.c0, &moved.c0), c1: self.add(&sum.c1, &moved.c1) }
        })
    }

    /// The LWE ciphertext of 0 without a mask: what packings are filled up with.
    ///
    /// # Example
    /// ```
    /// use ciphermill_bfv::lwe::reference::{Lwe, Ring};
    ///
    /// let ring = Ring { n: 4, moduli: vec![97], special: vec![] };
    /// assert_eq!(ring.zero_lwe(), Lwe { mask: vec![vec![0; 4]], body: vec![0] });
    /// ```
    pub fn zero_lwe(&self) -> Lwe {
        Lwe { mask: vec![vec![0; self.n]; self.moduli.len()], body: vec![0; self.moduli.len()] }
    }
}

impl From<&Ciphertext> for Rlwe {
    /// The first two parts.
    fn from(ciphertext: &Ciphertext) -> Self {
        let [c0, c1] = [0, 1].map(|part| ciphertext.parts()[part].limbs().map(<[u64]>::to_vec).collect());
        Self { c0, c1 }
    }
}

impl From<&LweCiphertext> for Lwe {
    fn from(lwe: &LweCiphertext) -> Self {
        Self { mask: (0..lwe.limb_count()).map(|limb| lwe.mask(limb).to_vec()).collect(), body: lwe.body().to_vec() }
    }
}
