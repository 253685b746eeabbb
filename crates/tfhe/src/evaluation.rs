//! The operations of a loaded server key: key switches and bootstraps, one or many, on one thread or several.

use ciphermill_lattice::Torus;

use crate::bootstrap::{BackendTorus, BlindRotation, Rotation, share_among_threads};
use crate::ciphertext::{Ciphertext, LweElements, TestVector, TestVectorElements, width_mismatch};
use crate::engine::BootstrapJob;
use crate::error::{TfheError, require_key_set};
use crate::glwe::GlweCiphertext;
use crate::lwe::LweCiphertext;
use crate::parameters::{KeyOrder, TorusWidth};
use crate::server_key::{Rotation as TransformedKey, ServerKey};

/// The variants of a torus width.
trait Width: BackendTorus {
    const WIDTH: TorusWidth;
    fn elements(elements: &LweElements) -> Option<&LweCiphertext<Self>>;
    fn test_vector(vector: &TestVector) -> Option<&GlweCiphertext<Self>>;
    fn wrap(ciphertext: LweCiphertext<Self>) -> LweElements;
}

macro_rules! width {
    ($torus:ty, $variant:ident) => {
        impl Width for $torus {
            const WIDTH: TorusWidth = TorusWidth::$variant;

            fn elements(elements: &LweElements) -> Option<&LweCiphertext<Self>> {
                if let LweElements::$variant(c) = elements { Some(c) } else { None }
            }

            fn test_vector(vector: &TestVector) -> Option<&GlweCiphertext<Self>> {
                if let TestVectorElements::$variant(v) = vector.elements() { Some(v) } else { None }
            }

            fn wrap(ciphertext: LweCiphertext<Self>) -> LweElements {
                LweElements::$variant(ciphertext)
            }
        }
    };
}

width!(u32, U32);
width!(u64, U64);

/// The elements, which are of this width after [`ServerKey::check`].
fn elements<T: Width>(input: &Ciphertext) -> Result<&LweCiphertext<T>, TfheError> {
    T::elements(input.elements()).ok_or_else(|| width_mismatch(input.torus(), T::WIDTH))
}

impl ServerKey {
    /// Switches a ciphertext from the big to the small key.
    ///
    /// # Errors
    /// If the ciphertext is not under this key set's big key.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    #[doc = include_str!("example_server.txt")]
    /// let small = server.keyswitch(&three)?;
    /// assert_eq!(small.choice(), KeyOrder::Small);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keyswitch(&self, input: &Ciphertext) -> Result<Ciphertext, TfheError> {
        self.check(input)?;
        if input.choice() != KeyOrder::Big {
            let (given, expected) = (input.dimension().0 as u64, self.parameters.big_lwe_dimension().0 as u64);
            return Err(TfheError::Mismatch { what: "LWE dimension of the ciphertext", given, expected });
        }
        let small = match input.elements() {
            LweElements::U32(c) => self.keyswitch.switch_on(self.isa, c)?,
            LweElements::U64(c) => self.keyswitch.switch_on(self.isa, c)?,
        };
        let bounds = self.parameters.keyswitch_bounds(&input.bounds());
        Ok(Ciphertext::new(self.tag, KeyOrder::Small, LweElements::U32(small)).with_bounds(bounds))
    }

    /// Programmable bootstrapping: a fresh encryption, under the same key choice, of the test vector's value at the
    /// input's phase. For `Small` inputs blind rotation comes first and the key switch last, for `Big` inputs the other
    /// way round. It runs on this thread.
    ///
    /// # Errors
    /// If ciphertext or test vector do not belong to this key set.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    #[doc = include_str!("example_server.txt")]
    /// assert_eq!(client.decrypt(&encoding, &server.bootstrap(&three, &square)?)?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bootstrap(&self, input: &Ciphertext, test_vector: &TestVector) -> Result<Ciphertext, TfheError> {
        self.bootstrap_with(input, test_vector, 1)
    }

    /// [`bootstrap`](Self::bootstrap) on up to `threads` threads: this one and new ones. At most k+1 of them share the
    /// blind rotation, and none if its step is too short to share. The key switch uses the threads of the current Rayon
    /// pool. Threads that it starts run on the CPUs that this one may use. The result is the same for any number.
    ///
    /// # Errors
    /// As [`bootstrap`](Self::bootstrap).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    #[doc = include_str!("example_server.txt")]
    /// let alone = server.bootstrap(&three, &square)?;
    /// assert_eq!(server.bootstrap_with(&three, &square, 2)?, alone);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bootstrap_with(
        &self,
        input: &Ciphertext,
        test_vector: &TestVector,
        threads: usize,
    ) -> Result<Ciphertext, TfheError> {
        // One job, one output.
        Ok(self.bootstrap_jobs(&[BootstrapJob { input, test_vector }], threads)?.swap_remove(0))
    }

    /// Bootstraps every job on the threads of the current Rayon pool. Outputs are in the order of the jobs, and do not
    /// depend on the rest of the batch.
    ///
    /// Every thread takes as many jobs as every other, up to 16 at a time in one pass over the key; that bounds
    /// the working memory. Jobs that are left over, too few to give each thread one, are shared by several threads each, as
    /// in [`bootstrap_with`](Self::bootstrap_with).
    ///
    /// # Errors
    /// As [`bootstrap`](Self::bootstrap), for any of the jobs.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    #[doc = include_str!("example_server.txt")]
    /// let double = parameters.test_vector(&encoding, &encoding, |m| 2 * m % 8)?;
    /// let jobs = [&square, &double].map(|test_vector| BootstrapJob { input: &three, test_vector });
    /// let outputs = server.bootstrap_batch(&jobs)?;
    /// assert_eq!(client.decrypt(&encoding, &outputs[0])?, 1);
    /// assert_eq!(client.decrypt(&encoding, &outputs[1])?, 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bootstrap_batch(&self, jobs: &[BootstrapJob<'_>]) -> Result<Vec<Ciphertext>, TfheError> {
        share_among_threads(jobs, |jobs, threads| self.bootstrap_jobs(jobs, threads))
    }

    /// [`bootstrap_with`](Self::bootstrap_with) without its key switch: a ciphertext under the small key becomes one under
    /// the big key.
    ///
    /// # Errors
    /// As [`bootstrap`](Self::bootstrap), and if the input is not under the small key.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    #[doc = include_str!("example_server.txt")]
    /// let small = client.encrypt(&encoding, 3, KeyOrder::Small, &mut rng)?;
    /// let big = server.bootstrap_without_keyswitch(&small, &square, 1)?;
    /// assert_eq!(big.choice(), KeyOrder::Big);
    /// assert_eq!(client.decrypt(&encoding, &big)?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bootstrap_without_keyswitch(
        &self,
        input: &Ciphertext,
        test_vector: &TestVector,
        threads: usize,
    ) -> Result<Ciphertext, TfheError> {
        self.check(input)?;
        self.parameters.check_test_vector(test_vector)?;
        let (KeyOrder::Small, LweElements::U32(small)) = (input.choice(), input.elements()) else {
            let (given, expected) = (input.dimension().0 as u64, self.parameters.lwe_dimension.0 as u64);
            return Err(TfheError::Mismatch { what: "LWE dimension of the ciphertext", given, expected });
        };
        let exponents = [self.exponents(small)];
        let mut rotated = match &self.rotation {
            TransformedKey::U32(key) => wrap(rotate_and_extract(&**key, &exponents, &[test_vector], threads)?),
            TransformedKey::U64(key) => wrap(rotate_and_extract(&**key, &exponents, &[test_vector], threads)?),
        };
        let bounds = self.parameters.stated_bounds(&input.bounds(), test_vector, KeyOrder::Big);
        Ok(Ciphertext::new(self.tag, KeyOrder::Big, rotated.swap_remove(0)).with_bounds(bounds))
    }

    /// One output per job: several on this thread in one pass over each key, or one on several threads.
    fn bootstrap_jobs(&self, jobs: &[BootstrapJob<'_>], threads: usize) -> Result<Vec<Ciphertext>, TfheError> {
        for job in jobs {
            self.check(job.input)?;
            self.parameters.check_test_vector(job.test_vector)?;
        }
        match &self.rotation {
            TransformedKey::U32(key) => self.run(&**key, jobs, threads),
            TransformedKey::U64(key) => self.run(&**key, jobs, threads),
        }
    }

    fn run<T: Width>(
        &self,
        key: &dyn BlindRotation<T>,
        jobs: &[BootstrapJob<'_>],
        threads: usize,
    ) -> Result<Vec<Ciphertext>, TfheError> {
        let is_small = |&i: &usize| jobs[i].input.choice() == KeyOrder::Small;
        let (small, big): (Vec<usize>, Vec<usize>) = (0..jobs.len()).partition(is_small);
        let mut exponents = vec![Vec::new(); jobs.len()];
        for &i in &small {
            exponents[i] = self.exponents(elements::<u32>(jobs[i].input)?);
        }
        let to_switch = big.iter().map(|&i| elements::<T>(jobs[i].input)).collect::<Result<Vec<_>, _>>()?;
        for (&i, switched) in big.iter().zip(self.switch(&to_switch, threads)?) {
            exponents[i] = self.exponents(&switched);
        }
        let vectors: Vec<&TestVector> = jobs.iter().map(|job| job.test_vector).collect();
        let rotated = rotate_and_extract(key, &exponents, &vectors, threads)?;
        let to_switch: Vec<&LweCiphertext<T>> = small.iter().map(|&i| &rotated[i]).collect();
        let switched = self.switch(&to_switch, threads)?;
        let label = |i: usize, choice, elements| {
            let BootstrapJob { input, test_vector } = jobs[i];
            let bounds = self.parameters.stated_bounds(&input.bounds(), test_vector, choice);
            Ciphertext::new(self.tag, choice, elements).with_bounds(bounds)
        };
        let mut outputs: Vec<Ciphertext> =
            wrap(rotated).into_iter().enumerate().map(|(i, elements)| label(i, KeyOrder::Big, elements)).collect();
        for (&i, switched) in small.iter().zip(switched) {
            outputs[i] = label(i, KeyOrder::Small, LweElements::U32(switched));
        }
        Ok(outputs)
    }

    /// The set's modulus switch of a ciphertext under the small key.
    fn exponents(&self, small: &LweCiphertext<u32>) -> Vec<usize> {
        self.parameters.modulus_switch.exponents(small.elements(), self.parameters.polynomial_size)
    }

    /// Key switches in one pass over the key, or on several threads.
    pub(crate) fn switch<T: Torus>(
        &self,
        inputs: &[&LweCiphertext<T>],
        threads: usize,
    ) -> Result<Vec<LweCiphertext<u32>>, TfheError> {
        match (inputs, threads) {
            ([], _) => Ok(Vec::new()),
            (_, 1) => self.keyswitch.switch_batch_on(self.isa, inputs),
            _ => self.keyswitch.switch_batch_parallel_on(self.isa, inputs),
        }
    }

    pub(crate) fn check(&self, input: &Ciphertext) -> Result<(), TfheError> {
        require_key_set("key tag of the ciphertext", input.key_tag(), self.tag)?;
        self.parameters.check_ciphertext(input)
    }
}

fn wrap<T: Width>(ciphertexts: Vec<LweCiphertext<T>>) -> Vec<LweElements> {
    ciphertexts.into_iter().map(T::wrap).collect()
}

/// Blind rotation and sample extraction: from the small to the big key.
fn rotate_and_extract<T: Width>(
    key: &dyn BlindRotation<T>,
    exponents: &[Vec<usize>],
    vectors: &[&TestVector],
    threads: usize,
) -> Result<Vec<LweCiphertext<T>>, TfheError> {
    let mut rotations = Vec::with_capacity(vectors.len());
    for (exponents, vector) in exponents.iter().zip(vectors) {
        let accumulator = T::test_vector(vector).ok_or_else(|| width_mismatch(vector.torus(), T::WIDTH))?;
        rotations.push(Rotation { exponents, accumulator });
    }
    let rotated = match rotations[..] {
        [rotation] => vec![key.blind_rotate(rotation, threads)?],
        _ => key.blind_rotate_batch(&rotations)?,
    };
    rotated.iter().map(|glwe| glwe.extract(0)).collect()
}
