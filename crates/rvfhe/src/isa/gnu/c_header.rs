//! C functions for the scalar instructions.

use std::fmt::Write as _;

use crate::isa::encoding::{Encoding, Mnemonic, field};
use crate::isa::operand::ModulusRegister;
use crate::isa::scalar::ScalarOperation;

const HEAD: &str = r"/* The scalar RVFHE instructions as functions, for GCC and Clang with GNU as.
 * Made from crates/rvfhe/opcodes/rv_xrvfhe by the example `rvfhe-generate`: do not edit.
 *
 * The digit in a name is the modulus register, 0 to 7. Set it before use, to 1 to 2^31. All are volatile, so that none moves across
 * the setting of a modulus. */
#ifndef RVFHE_H
#define RVFHE_H

#include <stdint.h>

#if !defined(__riscv) || __riscv_xlen != 64
#error rvfhe.h is for RISC-V with 64-bit registers
#endif

/* What rvfhe_mmul multiplies by: factor below modulus, with its companion floor(factor * 2^32 / modulus). */
static inline uint64_t rvfhe_pair(uint32_t factor, uint32_t modulus) {
    return ((((uint64_t)factor << 32) / modulus) << 32) | factor;
}
";

/// The text of `include/rvfhe.h`: for each modulus register k the functions `rvfhe_set_modulus<k>`, `rvfhe_madd<k>`,
/// `rvfhe_msub<k>` and `rvfhe_mmul<k>`, and `rvfhe_pair` for the second argument of `rvfhe_mmul<k>`.
///
/// # Example
/// ```
/// use ciphermill_rvfhe::isa::gnu;
///
/// assert!(gnu::c_header().contains("static inline uint32_t rvfhe_madd0(uint32_t x, uint32_t y)"));
/// ```
#[must_use]
pub fn c_header() -> String {
    let mut text = HEAD.to_owned();
    for modulus in ModulusRegister::all() {
        let number = modulus.number();
        let Encoding { value, .. } = Mnemonic::Csrrw.encoding();
        // The immediate is signed, but the number of the CSR is unsigned.
        let csr = (modulus.csr() << 20).cast_signed() >> 20;
        let _ = write!(
            text,
            "\n/* CSR {:#x} <- modulus. */\nstatic inline void rvfhe_set_modulus{number}(uint32_t modulus) {{\n    \
             __asm__ volatile(\".insn i {:#x}, {}, x0, %0, {csr}\" : : \"r\"(modulus));\n}}\n",
            modulus.csr(),
            value & 0x7f,
            field::M.get(*value),
        );
        for (operation, what, second) in [
            (ScalarOperation::Add, "x + y", ("uint32_t", "y")),
            (ScalarOperation::Subtract, "x - y", ("uint32_t", "y")),
            (ScalarOperation::Multiply, "y * the factor of pair", ("uint64_t", "pair")),
        ] {
            let Encoding { name, value, .. } = operation.mnemonic().encoding();
            let first = if operation == ScalarOperation::Multiply { "y" } else { "x" };
            let _ = write!(
                text,
                "\n/* {what}, modulo register {number}. */\n\
                 static inline uint32_t rvfhe_{name}{number}(uint32_t {first}, {} {}) {{\n    uint32_t result;\n    \
                 __asm__ volatile(\".insn r {:#x}, {number}, {}, %0, %1, %2\" : \"=r\"(result) : \"r\"({first}), \
                 \"r\"({}));\n    return result;\n}}\n",
                second.0,
                second.1,
                value & 0x7f,
                value >> 25,
                second.1,
            );
        }
    }
    text + "\n#endif\n"
}
