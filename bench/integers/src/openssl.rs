//! OpenSSL's `BN_`, of the system's libcrypto.

use std::ffi::{CStr, c_int};
use std::ptr;

use openssl_sys::{BIGNUM, BN_CTX, BN_CTX_free, BN_CTX_new, BN_bin2bn, BN_bn2binpad, BN_free, BN_mod_exp, BN_new};

use crate::{Error, Operands, Work};

/// Of OpenSSL 3.
pub const LICENCE: &str = "Apache-2.0";

/// What `OpenSSL_version` calls 0 the text with.
const OPENSSL_VERSION: c_int = 0;

#[repr(C)]
struct MontgomeryContext {
    opaque: [u8; 0],
}

// These are not in openssl-sys; as in OpenSSL's bn.h.
unsafe extern "C" {
    fn BN_MONT_CTX_new() -> *mut MontgomeryContext;
    fn BN_MONT_CTX_free(context: *mut MontgomeryContext);
    fn BN_MONT_CTX_set(context: *mut MontgomeryContext, modulus: *const BIGNUM, ctx: *mut BN_CTX) -> c_int;
    fn BN_to_montgomery(r: *mut BIGNUM, a: *const BIGNUM, context: *mut MontgomeryContext, ctx: *mut BN_CTX) -> c_int;
    fn BN_from_montgomery(r: *mut BIGNUM, a: *const BIGNUM, context: *mut MontgomeryContext, ctx: *mut BN_CTX)
    -> c_int;
    fn BN_mod_mul_montgomery(
        r: *mut BIGNUM,
        a: *const BIGNUM,
        b: *const BIGNUM,
        context: *mut MontgomeryContext,
        ctx: *mut BN_CTX,
    ) -> c_int;
    fn BN_mod_exp_mont_consttime(
        r: *mut BIGNUM,
        a: *const BIGNUM,
        p: *const BIGNUM,
        m: *const BIGNUM,
        ctx: *mut BN_CTX,
        context: *mut MontgomeryContext,
    ) -> c_int;
}

/// Of the libcrypto that is linked: "OpenSSL 3.0.19 27 Jan 2026".
pub fn version() -> &'static str {
    // SAFETY: a constant string of libcrypto, terminated by a zero.
    let text: &'static CStr = unsafe { CStr::from_ptr(openssl_sys::OpenSSL_version(OPENSSL_VERSION)) };
    text.to_str().ok().and_then(|text| text.split_whitespace().nth(1)).unwrap_or("unknown")
}

/// A number that is freed when dropped.
struct Number(*mut BIGNUM);

impl Number {
    fn zero() -> Result<Self, Error> {
        // SAFETY: no condition.
        let number = unsafe { BN_new() };
        if number.is_null() { Err("BN_new failed".into()) } else { Ok(Self(number)) }
    }

    fn new(words: &[u64]) -> Result<Self, Error> {
        let bytes: Vec<u8> = words.iter().rev().flat_map(|word| word.to_be_bytes()).collect();
        // SAFETY: the bytes are as long as is said; a null pointer asks for a new number.
        let number = unsafe { BN_bin2bn(bytes.as_ptr(), c_int::try_from(bytes.len())?, ptr::null_mut()) };
        if number.is_null() { Err("BN_bin2bn failed".into()) } else { Ok(Self(number)) }
    }

    fn write(&self, words: &mut [u64]) -> bool {
        let mut bytes = vec![0; 8 * words.len()];
        // SAFETY: the number is alive, and the buffer as long as is said.
        let written = unsafe { BN_bn2binpad(self.0, bytes.as_mut_ptr(), bytes.len() as c_int) };
        for (word, bytes) in words.iter_mut().rev().zip(bytes.as_chunks().0) {
            *word = u64::from_be_bytes(*bytes);
        }
        written >= 0
    }
}

impl Drop for Number {
    fn drop(&mut self) {
        // SAFETY: made by OpenSSL, and freed here only.
        unsafe { BN_free(self.0) }
    }
}

/// What is done with each pair of operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// `BN_mod_exp`, which takes the modulus as it is.
    ModExp,
    /// `BN_mod_exp_mont_consttime`, with constants prepared.
    ModExpConsttime,
    /// `BN_mod_mul_montgomery`, in Montgomery form.
    MultiplyMontgomery,
}

/// One function of OpenSSL on prepared operands.
pub struct OpenSsl {
    function: Function,
    context: *mut BN_CTX,
    montgomery: *mut MontgomeryContext,
    modulus: Number,
    bases: Vec<Number>,
    others: Vec<Number>,
    out: Vec<Number>,
    limbs: usize,
    failed: bool,
}

impl OpenSsl {
    /// Prepares the operands.
    ///
    /// # Errors
    /// If OpenSSL cannot.
    pub fn new(function: Function, operands: &Operands<'_>) -> Result<Self, Error> {
        let limbs = operands.limbs();
        let numbers = |words: &[u64]| words.chunks_exact(limbs).map(Number::new).collect::<Result<Vec<_>, _>>();
        let made = Self {
            function,
            // SAFETY: no condition.
            context: unsafe { BN_CTX_new() },
            // SAFETY: no condition.
            montgomery: unsafe { BN_MONT_CTX_new() },
            modulus: Number::new(operands.modulus)?,
            bases: numbers(operands.bases)?,
            others: numbers(operands.others)?,
            out: (0..operands.count()).map(|_| Number::zero()).collect::<Result<_, _>>()?,
            limbs,
            failed: false,
        };
        if made.context.is_null() || made.montgomery.is_null() {
            return Err("OpenSSL has no memory".into());
        }
        // SAFETY: all three are alive.
        let mut ok = unsafe { BN_MONT_CTX_set(made.montgomery, made.modulus.0, made.context) } == 1;
        if function == Function::MultiplyMontgomery {
            for number in made.bases.iter().chain(&made.others) {
                // SAFETY: all are alive; the result may be the operand.
                ok &= unsafe { BN_to_montgomery(number.0, number.0, made.montgomery, made.context) } == 1;
            }
        }
        if ok { Ok(made) } else { Err("OpenSSL takes no such modulus".into()) }
    }
}

impl Work for OpenSsl {
    fn run(&mut self) {
        let (context, montgomery, modulus) = (self.context, self.montgomery, self.modulus.0);
        for ((out, base), other) in self.out.iter().zip(&self.bases).zip(&self.others) {
            // SAFETY: everything is alive, and only this thread uses it.
            let ok = unsafe {
                match self.function {
                    Function::ModExp => BN_mod_exp(out.0, base.0, other.0, modulus, context),
                    Function::ModExpConsttime => {
                        BN_mod_exp_mont_consttime(out.0, base.0, other.0, modulus, context, montgomery)
                    }
                    Function::MultiplyMontgomery => BN_mod_mul_montgomery(out.0, base.0, other.0, montgomery, context),
                }
            };
            self.failed |= ok != 1;
        }
    }

    fn results(&mut self) -> Vec<u64> {
        let mut words = vec![0; self.limbs * self.out.len()];
        let mut ok = !self.failed;
        for (row, out) in words.chunks_exact_mut(self.limbs).zip(&self.out) {
            let Ok(plain) = Number::zero() else { return Vec::new() };
            let from = match self.function {
                Function::MultiplyMontgomery => {
                    // SAFETY: everything is alive, and only this thread uses it.
                    ok &= unsafe { BN_from_montgomery(plain.0, out.0, self.montgomery, self.context) } == 1;
                    &plain
                }
                _ => out,
            };
            ok &= from.write(row);
        }
        if ok { words } else { Vec::new() }
    }
}

impl Drop for OpenSsl {
    fn drop(&mut self) {
        // SAFETY: made by OpenSSL, and freed here only; null is allowed.
        unsafe {
            BN_MONT_CTX_free(self.montgomery);
            BN_CTX_free(self.context);
        }
    }
}
