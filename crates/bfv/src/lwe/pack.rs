//! PackTwoLWEs and PackLWEs.

use ciphermill_lattice::KeyTag;
use ciphermill_lattice::rns::{Coefficients, RnsPoly};

use super::LweCiphertext;
use super::tree::{self, Node, PackingKeys, Workspaces};
use crate::ciphertext::Ciphertext;
use crate::context::Context;
use crate::encryption::require_tag;
use crate::error::{BfvError, require_length, require_range};
use crate::keys::GaloisKeys;
use crate::parameters::ParameterId;

/// What becomes of the coefficients of a packing that hold none of its inputs.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// // Clearing takes a key for every level.
/// assert_eq!(context.packing_elements(2, Unused::Leave), [3]);
/// assert_eq!(context.packing_elements(2, Unused::Clear), [3, 5, 9, 17, 33]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unused {
    /// They hold sums of other coefficients of the inputs, as in the paper: for a receiver who may know those, or whose
    /// packing has N inputs and no such coefficients.
    Leave,
    /// They are 0 but for noise.
    Clear,
}

/// log2 of the number of places that `count` inputs are filled up to.
fn levels(count: usize) -> u32 {
    count.next_power_of_two().ilog2()
}

impl Context {
    /// log2 of the factor that packing `count` ciphertexts multiplies plaintexts by.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// assert_eq!(context.packing_factor(4, Unused::Leave), 2);
    /// assert_eq!(context.packing_factor(4, Unused::Clear), 5);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn packing_factor(&self, count: usize, unused: Unused) -> u32 {
        match unused {
            Unused::Leave => levels(count),
            Unused::Clear => self.n().ilog2(),
        }
    }

    /// The elements whose Galois keys are needed to pack `count` ciphertexts: 2^j + 1 for every level j.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// assert_eq!(context.packing_elements(4, Unused::Leave), [3, 5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn packing_elements(&self, count: usize, unused: Unused) -> Vec<usize> {
        (1..=self.packing_factor(count, unused)).map(tree::element).collect()
    }

    /// PackTwoLWEs at level `level`, 1 to log2 N: with k = N/2^`level`, the values of `even` at multiples of 2k, and those
    /// of `odd` at odd multiples of k, all times 2.
    ///
    /// # Errors
    /// If the ciphertexts or keys do not belong together, a ciphertext has not two parts or more than L limbs, there is
    /// no such level, or the key of 2^`level` + 1 is missing.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let requests = context.packing_elements(2, Unused::Leave).into_iter();
    /// let requests: Vec<_> = requests.map(|element| GaloisRequest { element, gadget }).collect();
    /// let keys = GaloisKeys::generate(&secret, &requests)?;
    /// let [even, odd] = [4, 9].map(|value| context.encode(&[value]));
    /// let [even, odd] = [even?, odd?].map(|plaintext| secret.encrypt(&plaintext, top, &mut rng));
    /// let packed = context.pack_two_lwes(&even?, &odd?, 1, &keys)?;
    /// let values = context.decode(&secret.decrypt(&packed)?);
    /// assert_eq!((values[0], values[16]), (8, 18));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pack_two_lwes(
        &self,
        even: &Ciphertext,
        odd: &Ciphertext,
        level: u32,
        keys: &GaloisKeys,
    ) -> Result<Ciphertext, BfvError> {
        require_range("level of the packing", level, 1, self.n().ilog2())?;
        let mut nodes = Vec::with_capacity(2);
        for input in [even, odd] {
            self.require_packable(input.parameters, input.tag, input.limb_count(), even.limb_count(), keys)?;
            require_length("number of parts of the ciphertext", input.parts.len(), 2)?;
            nodes.push(Node::new(input.parts[0].words().to_vec(), input.parts[1].words().to_vec()));
        }
        keys.require([tree::element(level)])?;
        let packing = PackingKeys::new(self, keys, even.limb_count(), level..=level)?;
        let odd = nodes.pop().expect("two nodes");
        let mut node = nodes.pop().expect("two nodes");
        Workspaces::default().with(|space| packing.merge(level, &mut node, Some(odd), space));
        Ok(self.packed(node, keys))
    }

    /// PackLWEs of 1 to N ciphertexts of dimension N and the same number of limbs: input i at the coefficient i·N/2^l,
    /// times 2^[`packing_factor`](Self::packing_factor), where 2^l is their number or the next power of two.
    /// [`divide_lwe`](Self::divide_lwe) takes that factor back beforehand. The other coefficients are as `unused` says.
    /// Work is spread over the current rayon pool.
    ///
    /// # Errors
    /// If there are none or too many, they or the keys do not belong together, have other dimensions, or more limbs than L,
    /// or keys are missing (all of them are listed).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let requests = context.packing_elements(2, Unused::Leave).into_iter();
    /// let requests: Vec<_> = requests.map(|element| GaloisRequest { element, gadget }).collect();
    /// let keys = GaloisKeys::generate(&secret, &requests)?;
    /// let x = secret.encrypt(&context.encode(&[5, 6, 7])?, top, &mut rng)?;
    /// let factor = context.packing_factor(2, Unused::Leave);
    /// let lwe = |k| context.divide_lwe(&context.extract_lwe(&x, k)?, factor);
    /// let packed = context.pack_lwes(&[lwe(2)?, lwe(1)?], Unused::Leave, &keys)?;
    /// let values = context.decode(&secret.decrypt(&packed)?);
    /// assert_eq!((values[0], values[16]), (7, 6));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pack_lwes(
        &self,
        inputs: &[LweCiphertext],
        unused: Unused,
        keys: &GaloisKeys,
    ) -> Result<Ciphertext, BfvError> {
        require_range("number of LWE ciphertexts to pack", inputs.len() as u64, 1, self.n() as u64)?;
        let limbs = inputs[0].limb_count();
        for input in inputs {
            self.require_packable(input.parameters, input.tag, input.limb_count(), limbs, keys)?;
            require_length("dimension of the LWE ciphertext", input.dimension, self.n())?;
        }
        keys.require(self.packing_elements(inputs.len(), unused))?;
        let (packed, all) = (levels(inputs.len()), self.packing_factor(inputs.len(), unused));
        let packing = PackingKeys::new(self, keys, limbs, 1..=all)?;
        let spaces = Workspaces::default();
        let leaf = |i: usize, _: &mut tree::Workspace| {
            vec![Node::embedded(inputs[i].body.clone(), self.embed_mask(&inputs[i]).into_words())]
        };
        let mut node = tree::pack(&packing, &spaces, inputs.len(), packed, &leaf).pop().expect("a node per leaf");
        // The field trace: with nothing to merge, a level adds the automorphism of what there is.
        spaces.with(|space| (packed + 1..=all).for_each(|level| packing.merge(level, &mut node, None, space)));
        Ok(self.packed(node, keys))
    }

    /// An error unless a ciphertext of this many limbs can be packed with those of `expected` limbs under these keys.
    fn require_packable(
        &self,
        parameters: ParameterId,
        tag: KeyTag,
        limbs: usize,
        expected: usize,
        keys: &GaloisKeys,
    ) -> Result<(), BfvError> {
        self.require_parameters("the ciphertext", parameters)?;
        self.require_parameters("the Galois keys", keys.parameter_id())?;
        require_tag("the ciphertext", tag, keys.tag())?;
        require_range("number of limbs of a ciphertext to pack", limbs as u64, 1, self.top() as u64)?;
        require_length("number of limbs of the ciphertext", limbs, expected)
    }

    /// A node of this context and key set as a ciphertext.
    fn packed(&self, node: Node, keys: &GaloisKeys) -> Ciphertext {
        let size = self.parameters().polynomial_size;
        let parts = node.into_parts().map(|words| RnsPoly::<Coefficients>::from_words(size, words));
        Ciphertext { parameters: self.parameters().id(), tag: keys.tag(), parts: parts.into() }
    }
}
