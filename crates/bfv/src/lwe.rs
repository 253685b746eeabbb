//! LWE ciphertexts: extraction from RLWE ciphertexts, key switching, and packing into one RLWE ciphertext
//! (H. Chen, W. Dai, M. Kim, Y. Song, "Efficient homomorphic conversion between (ring) LWE ciphertexts", IACR ePrint
//! 2020/015; the paper's ExtractLWEs, PackTwoLWEs and PackLWEs).
