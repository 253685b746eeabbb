//! Invariants of every input. The fuzz target and the corpus replay run exactly this function.
#![allow(dead_code, unreachable_pub, reason = "the fuzz target includes this file too")]

use ciphermill_psi::{POINT_LEN, Points, RunKey, common};

/// The most points that are raised: each takes tens of microseconds.
const MOST: usize = 32;

/// Bytes as a list of points; returns whether they are one. A list is raised, and its multiples are a list again.
pub fn psi_points(data: &[u8]) -> bool {
    let count = data.len() / POINT_LEN;
    let read = |count| Points::from_bytes(data, count, &|| ());
    assert!(read(count + 1).is_err() && read(count.wrapping_sub(1)).is_err(), "a list has one count");
    match read(count) {
        Ok(points) => {
            assert!(points.as_bytes() == data && points.len() == count, "a list has one form");
            if count <= MOST {
                let raised = RunKey::new().expect("randomness").raise(&points, &|| ());
                let again = Points::from_bytes(raised.as_bytes(), count, &|| ()).expect("points of this crate");
                assert!(common(&raised, &again).iter().all(|&(left, right)| left == right));
                assert!(common(&points, &raised).is_empty(), "a multiple by 1, or of another point");
            }
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    }
}
