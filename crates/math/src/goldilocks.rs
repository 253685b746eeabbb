//! Arithmetic modulo the Goldilocks prime.
