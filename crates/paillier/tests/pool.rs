//! Blinding factors made ahead, and the effect of a fork on them.

use crate::support::{INSECURE, key, keys_on_paths, other_key, rng};
use ciphermill_paillier::{Blinding, BlindingPool, PaillierError, PlaintextVector};
#[cfg(target_os = "linux")]
use ciphermill_testing::in_forked_child;

#[test]
fn factors_are_used_once() {
    for key in keys_on_paths(512) {
        let public = key.public_key();
        for blinding in [Blinding::Djn, Blinding::Strict] {
            let pool = BlindingPool::new(public, blinding).unwrap();
            assert!(pool.is_empty());
            pool.fill(21, &mut rng(1)).unwrap();
            pool.fill_by_owner(&key, 13, &mut rng(2)).unwrap();
            assert_eq!(pool.len(), 34);
            let mut seen = Vec::new();
            let mut left = 34;
            for len in [1usize, 0, 9, 3, 16, 5] {
                let values = vec![0; len];
                let c = pool.encrypt(&PlaintextVector::from_i64(public, &values)).unwrap();
                left -= len;
                assert_eq!(pool.len(), left);
                assert_eq!(key.decrypt(&c).unwrap().to_i64().unwrap(), values);
                for c in c.to_biguints() {
                    assert!(!seen.contains(&c), "a factor was used twice");
                    seen.push(c);
                }
            }
            let one = PlaintextVector::from_i64(public, &[1]);
            assert!(matches!(pool.encrypt(&one), Err(PaillierError::PoolExhausted { wanted: 1, available: 0 })));
            pool.fill(2, &mut rng(3)).unwrap();
            let three = PlaintextVector::from_i64(public, &[1, 2, 3]);
            assert!(matches!(pool.encrypt(&three), Err(PaillierError::PoolExhausted { wanted: 3, available: 2 })));
            assert_eq!(pool.len(), 2, "nothing is lost to a request that is refused");
        }
    }
}

#[test]
fn threads_share_a_pool() {
    let public = key(512).public_key();
    let pool = BlindingPool::new(public, Blinding::Djn).unwrap();
    pool.fill(96, &mut rng(1)).unwrap();
    let zero = PlaintextVector::from_i64(public, &[0; 8]);
    let all: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| (0..3).flat_map(|_| pool.encrypt(&zero).unwrap().to_biguints()).collect::<Vec<_>>())
            })
            .collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let mut unique = all.clone();
    unique.sort();
    unique.dedup();
    assert_eq!((all.len(), unique.len(), pool.len()), (96, 96, 0));
}

#[test]
fn operands_of_another_key() {
    let pool = BlindingPool::new(key(512).public_key(), Blinding::Strict).unwrap();
    assert!(matches!(pool.fill_by_owner(other_key(), 1, &mut rng(1)), Err(PaillierError::WrongKey { .. })));
    let m = PlaintextVector::from_i64(other_key().public_key(), &[1]);
    assert!(matches!(pool.encrypt(&m), Err(PaillierError::WrongKey { .. })));
    let strict = ciphermill_paillier::PublicKey::from_modulus(&key(512).public_key().modulus(), INSECURE).unwrap();
    assert!(matches!(BlindingPool::new(&strict, Blinding::Djn), Err(PaillierError::NoBlindingBase)));
    // The same key in another ring.
    let pool = BlindingPool::new(&strict, Blinding::Strict).unwrap();
    pool.fill_by_owner(key(512), 3, &mut rng(1)).unwrap();
    let c = pool.encrypt(&PlaintextVector::from_i64(key(512).public_key(), &[-1, 0, 1])).unwrap();
    assert_eq!(key(512).decrypt(&c).unwrap().to_i64().unwrap(), [-1, 0, 1]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_forked_child_has_no_factors() {
    use std::sync::Arc;

    let pool = Arc::new(BlindingPool::new(key(512).public_key(), Blinding::Djn).unwrap());
    pool.fill(10, &mut rng(1)).unwrap();
    let child = Arc::clone(&pool);
    assert!(in_forked_child(move || child.is_empty()), "factors came through a fork");
    assert_eq!(pool.len(), 10, "the parent keeps its own");
    let child = Arc::clone(&pool);
    let m = PlaintextVector::from_i64(key(512).public_key(), &[1]);
    assert!(in_forked_child(move || matches!(child.encrypt(&m), Err(PaillierError::PoolExhausted { .. }))));
}

#[cfg(target_os = "linux")]
#[test]
fn a_forked_child_computes_without_the_threads_of_its_parent() {
    use std::sync::Arc;

    unsafe extern "C" {
        safe fn alarm(seconds: u32) -> u32;
    }

    // A key that no other test holds a lock of.
    let public =
        ciphermill_paillier::PublicKey::from_modulus(&key(512).public_key().modulus(), INSECURE).expect("a modulus");
    let pool = Arc::new(BlindingPool::new(&public, Blinding::Strict).unwrap());
    pool.fill(64, &mut rng(1)).unwrap();
    assert!(in_forked_child(move || {
        // Ends the child if it hangs.
        alarm(10);
        pool.fill(64, &mut rng(2)).is_ok() && pool.len() == 64
    }));
}

#[cfg(target_os = "linux")]
#[test]
fn a_forked_child_draws_other_numbers() {
    let draw = |rng: &mut ciphermill_paillier::Csprng| {
        let mut words = [0; 4];
        rng.fill_u64(&mut words).map(|()| words)
    };
    // Of one seed: what the child would draw if it did not notice.
    let expected = draw(&mut rng(5)).unwrap();
    let mut child = rng(5);
    assert!(in_forked_child(move || draw(&mut child).is_ok_and(|words| words != expected)));
    let mut parent = rng(5);
    assert_eq!(draw(&mut parent).unwrap(), expected);
}
