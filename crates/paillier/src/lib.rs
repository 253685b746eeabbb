//! Paillier's additively homomorphic encryption.
