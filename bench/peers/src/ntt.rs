//! NTT peers.

use aligned_vec::{AVec, avec};
use fhe_math::ntt::NttOperator;
use fhe_math::zq::Modulus;

use crate::{CONCRETE_NTT, FHE_MATH, Peer, TFHE_NTT};

/// A negacyclic NTT with its buffer, as the harness drives it; ours has this face too.
pub trait NttContender {
    /// Fills the buffer with a polynomial.
    fn load(&mut self, polynomial: &[u64]);

    /// The buffer.
    fn values(&self) -> Vec<u64>;

    /// Forward transform of the buffer, in place.
    fn forward(&mut self);

    /// Inverse transform of the buffer, in place, normalised by 1/N.
    fn inverse(&mut self);

    /// Inverse transform of the buffer as the crate offers it, where that leaves the factor N to the caller.
    fn inverse_unnormalised(&mut self) -> bool {
        false
    }

    /// The negacyclic product of the buffer with a polynomial, left in the buffer.
    fn multiply(&mut self, polynomial: &[u64]);
}

/// The peers that offer a transform of `n` points modulo `modulus`. The primes below 2^31 run on 32-bit words where a crate
/// has them.
pub fn contenders(n: usize, modulus: u64) -> Vec<(Peer, Box<dyn NttContender>)> {
    let mut found: Vec<(Peer, Box<dyn NttContender>)> = Vec::new();
    if modulus < 1 << 31 {
        let modulus = modulus as u32;
        if let Some(plan) = tfhe_ntt::prime32::Plan::try_new(n, modulus) {
            found.push((TFHE_NTT, Box::new(TfheNtt32 { plan, values: avec![0; n] })));
        }
        if let Some(plan) = concrete_ntt::prime32::Plan::try_new(n, modulus) {
            found.push((CONCRETE_NTT, Box::new(ConcreteNtt32 { plan, values: avec![0; n] })));
        }
    } else {
        if let Some(plan) = tfhe_ntt::prime64::Plan::try_new(n, modulus) {
            found.push((TFHE_NTT, Box::new(TfheNtt64 { plan, values: avec![0; n] })));
        }
        if let Some(plan) = concrete_ntt::prime64::Plan::try_new(n, modulus) {
            found.push((CONCRETE_NTT, Box::new(ConcreteNtt64 { plan, values: avec![0; n] })));
        }
    }
    if let Some((modulus, operator)) =
        Modulus::new(modulus).ok().and_then(|modulus| Some((modulus.clone(), NttOperator::new(&modulus, n)?)))
    {
        found.push((FHE_MATH, Box::new(FheMath { modulus, operator, values: avec![0; n] })));
    }
    found
}

macro_rules! plan_contender {
    ($name:ident, $plan:ty, $word:ty) => {
        struct $name {
            plan: $plan,
            values: AVec<$word>,
        }

        impl NttContender for $name {
            fn load(&mut self, polynomial: &[u64]) {
                self.values.iter_mut().zip(polynomial).for_each(|(to, &from)| *to = from as $word);
            }

            fn values(&self) -> Vec<u64> {
                self.values.iter().map(|&x| u64::from(x)).collect()
            }

            fn forward(&mut self) {
                self.plan.fwd(&mut self.values);
            }

            fn inverse(&mut self) {
                self.plan.inv(&mut self.values);
                self.plan.normalize(&mut self.values);
            }

            fn inverse_unnormalised(&mut self) -> bool {
                self.plan.inv(&mut self.values);
                true
            }

            fn multiply(&mut self, polynomial: &[u64]) {
                let mut rhs: Vec<$word> = polynomial.iter().map(|&x| x as $word).collect();
                self.plan.fwd(&mut rhs);
                self.plan.fwd(&mut self.values);
                self.plan.mul_assign_normalize(&mut self.values, &rhs);
                self.plan.inv(&mut self.values);
            }
        }
    };
}

plan_contender!(TfheNtt32, tfhe_ntt::prime32::Plan, u32);
plan_contender!(TfheNtt64, tfhe_ntt::prime64::Plan, u64);
plan_contender!(ConcreteNtt32, concrete_ntt::prime32::Plan, u32);
plan_contender!(ConcreteNtt64, concrete_ntt::prime64::Plan, u64);

/// fhe.rs' own transform (its feature `tfhe-ntt` would swap in that crate, which is measured itself).
struct FheMath {
    modulus: Modulus,
    operator: NttOperator,
    values: AVec<u64>,
}

impl NttContender for FheMath {
    fn load(&mut self, polynomial: &[u64]) {
        self.values.copy_from_slice(polynomial);
    }

    fn values(&self) -> Vec<u64> {
        self.values.to_vec()
    }

    fn forward(&mut self) {
        self.operator.forward(&mut self.values);
    }

    fn inverse(&mut self) {
        self.operator.backward(&mut self.values);
    }

    fn multiply(&mut self, polynomial: &[u64]) {
        let mut rhs = polynomial.to_vec();
        self.operator.forward(&mut rhs);
        self.operator.forward(&mut self.values);
        self.modulus.mul_vec(&mut self.values, &rhs);
        self.operator.backward(&mut self.values);
    }
}
