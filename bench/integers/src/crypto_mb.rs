//! crypto_mb, Intel's library for eight operations at once on AVX-512 IFMA: loaded from a file when the program runs.

use std::ffi::c_int;
use std::path::Path;

use libloading::{Library, Symbol};

use crate::{Error, Operands, Work};

/// Of the library.
pub const LICENCE: &str = "Apache-2.0";
/// Of the wheel `ipp-crypto` that bench/python-peers.txt asks for.
pub const VERSION: &str = concat!("ipp-crypto ", env!("VERSION_IPP_CRYPTO"));

/// Exponentiations per call.
pub const LANES: usize = 8;

/// `mbx_exp{1024,2048,3072,4096}_mb8`, as in its exp.h: results, bases, exponents, their bits, moduli, their bits, buffer and
/// its length.
type Exp = unsafe extern "C" fn(
    *const *mut u64,
    *const *const u64,
    *const *const u64,
    c_int,
    *const *const u64,
    c_int,
    *mut u8,
    c_int,
) -> u32;

/// The library.
pub struct CryptoMb {
    library: Library,
}

impl CryptoMb {
    /// Loads it.
    ///
    /// # Errors
    /// If it, or what it depends on, is not there, or if it does not know this CPU.
    pub fn load(path: &Path) -> Result<Self, Error> {
        // SAFETY: what the library runs when it is loaded is trusted like any other peer's code.
        let library = unsafe { Library::new(path) }?;
        // SAFETY: the type is that of crypto_mb's cpu_features.h; 0 asks for the features of this CPU.
        let applicable =
            unsafe { library.get::<unsafe extern "C" fn(u64) -> c_int>(b"mbx_is_crypto_mb_applicable")?(0) };
        if applicable == 1 { Ok(Self { library }) } else { Err("it does not offer this CPU anything".into()) }
    }

    /// The exponentiation for moduli of `bits` bits with constants, of constant time; none but for 1024, 2048, 3072 and 4096.
    ///
    /// # Errors
    /// If there is none, or if the operands are not [`LANES`] rows.
    pub fn exponentiation(&self, operands: &Operands<'_>) -> Result<Exponentiation<'_>, Error> {
        let bits = 64 * operands.limbs();
        if operands.count() != LANES {
            return Err(format!("{LANES} operands").into());
        }
        // SAFETY: the types are those of crypto_mb's exp.h.
        let (exp, size) = unsafe {
            let exp = self.library.get::<Exp>(format!("mbx_exp{bits}_mb8").as_bytes())?;
            let size = self.library.get::<unsafe extern "C" fn(c_int) -> c_int>(b"mbx_exp_BufferSize")?;
            (exp, size(bits as c_int))
        };
        if size <= 0 {
            return Err(format!("no buffer for {bits} bits").into());
        }
        Ok(Exponentiation {
            exp,
            bits: bits as c_int,
            limbs: operands.limbs(),
            modulus: operands.modulus.to_vec(),
            bases: operands.bases.to_vec(),
            exponents: operands.others.to_vec(),
            out: vec![0; operands.bases.len()],
            buffer: vec![0; size as usize],
            status: 0,
        })
    }
}

/// Eight exponentiations with one modulus.
pub struct Exponentiation<'library> {
    exp: Symbol<'library, Exp>,
    bits: c_int,
    limbs: usize,
    modulus: Vec<u64>,
    bases: Vec<u64>,
    exponents: Vec<u64>,
    out: Vec<u64>,
    buffer: Vec<u8>,
    status: u32,
}

impl Work for Exponentiation<'_> {
    fn run(&mut self) {
        let rows = |words: &[u64]| -> [*const u64; LANES] { std::array::from_fn(|i| words[i * self.limbs..].as_ptr()) };
        let (bases, exponents) = (rows(&self.bases), rows(&self.exponents));
        let moduli = [self.modulus.as_ptr(); LANES];
        let limbs = self.limbs;
        let mut out = self.out.chunks_exact_mut(limbs);
        let out: [*mut u64; LANES] = std::array::from_fn(|_| out.next().expect("a row per lane").as_mut_ptr());
        // SAFETY: eight rows each, as wide as the function's name says; the buffer is as long as the library asked for.
        self.status |= unsafe {
            (self.exp)(
                out.as_ptr(),
                bases.as_ptr(),
                exponents.as_ptr(),
                self.bits,
                moduli.as_ptr(),
                self.bits,
                self.buffer.as_mut_ptr(),
                self.buffer.len() as c_int,
            )
        };
    }

    fn results(&mut self) -> Vec<u64> {
        if self.status == 0 { self.out.clone() } else { Vec::new() }
    }
}
