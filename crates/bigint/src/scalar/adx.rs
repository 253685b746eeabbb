//! Rows of limbs with two carry chains side by side: `mulx` touches no flag, `adcx` only the carry, `adox` only the overflow.

use std::arch::asm;
use std::arch::x86_64::{_addcarry_u64, _subborrow_u64};

use super::Rows;

/// An x86-64 CPU with BMI2 and ADX.
#[derive(Clone, Copy)]
pub(crate) struct Adx(());

impl Adx {
    /// `None` if this CPU lacks these instructions.
    pub(crate) fn new() -> Option<Self> {
        (is_x86_feature_detected!("bmi2") && is_x86_feature_detected!("adx")).then_some(Self(()))
    }
}

/// Limb `$at` (in bytes) of out = x·row, with the upper limb of the previous product in `$from`, and of this product in
/// `$to`.
macro_rules! limb {
    (store $at:literal $from:literal $to:literal) => {
        concat!(
            "mulx {",
            $to,
            "}, {low}, [{row} + ",
            $at,
            "]\n",
            "adcx {low}, {",
            $from,
            "}\n",
            "mov [{acc} + ",
            $at,
            "], {low}\n",
        )
    };
    (add $at:literal $from:literal $to:literal) => {
        concat!(
            "mulx {",
            $to,
            "}, {low}, [{row} + ",
            $at,
            "]\n",
            "adcx {low}, {",
            $from,
            "}\n",
            "adox {low}, [{acc} + ",
            $at,
            "]\n",
            "mov [{acc} + ",
            $at,
            "], {low}\n",
        )
    };
}

/// A whole row: eights in a loop, then four, two and one. Between the parts only instructions that leave the flags alone.
macro_rules! row {
    ($kind:tt, $acc:expr, $x:expr, $row:expr, $len:expr) => {{
        let len: usize = $len;
        let carry: u64;
        asm!(
            // Clears both chains' flags.
            "test rcx, rcx",
            "mov {high:e}, 0",
            "jz 3f",
            "2:",
            limb!($kind 0 "high" "next"),
            limb!($kind 8 "next" "high"),
            limb!($kind 16 "high" "next"),
            limb!($kind 24 "next" "high"),
            limb!($kind 32 "high" "next"),
            limb!($kind 40 "next" "high"),
            limb!($kind 48 "high" "next"),
            limb!($kind 56 "next" "high"),
            "lea {row}, [{row} + 64]",
            "lea {acc}, [{acc} + 64]",
            "lea rcx, [rcx - 1]",
            "jrcxz 3f",
            "jmp 2b",
            "3:",
            "mov rcx, {fours}",
            "jrcxz 4f",
            limb!($kind 0 "high" "next"),
            limb!($kind 8 "next" "high"),
            limb!($kind 16 "high" "next"),
            limb!($kind 24 "next" "high"),
            "lea {row}, [{row} + 32]",
            "lea {acc}, [{acc} + 32]",
            "4:",
            "mov rcx, {twos}",
            "jrcxz 5f",
            limb!($kind 0 "high" "next"),
            limb!($kind 8 "next" "high"),
            "lea {row}, [{row} + 16]",
            "lea {acc}, [{acc} + 16]",
            "5:",
            "mov rcx, {ones}",
            "jrcxz 6f",
            limb!($kind 0 "high" "next"),
            "mov {high}, {next}",
            "6:",
            // The limb above takes both carries; the product fits, so that it does not overflow.
            "mov ecx, 0",
            "adcx {high}, rcx",
            "adox {high}, rcx",
            acc = inout(reg) $acc => _,
            row = inout(reg) $row => _,
            high = out(reg) carry,
            next = out(reg) _,
            low = out(reg) _,
            fours = in(reg) len & 4,
            twos = in(reg) len & 2,
            ones = in(reg) len & 1,
            inout("rcx") len / 8 => _,
            in("rdx") $x,
            options(nostack),
        );
        carry
    }};
}

impl Rows for Adx {
    const SPLIT_MULTIPLY: usize = 40;
    const SPLIT_SQUARE: usize = 64;
    const SPLIT_REDUCE: usize = 64;

    #[inline]
    fn multiply(self, out: &mut [u64], x: u64, row: &[u64]) -> u64 {
        assert_eq!(out.len(), row.len());
        // SAFETY: reads `len` words from `row` and writes as many to `out`; the CPU has the instructions.
        unsafe { row!(store, out.as_mut_ptr(), x, row.as_ptr(), row.len()) }
    }

    #[inline]
    fn multiply_add(self, acc: &mut [u64], x: u64, row: &[u64]) -> u64 {
        assert_eq!(acc.len(), row.len());
        // SAFETY: reads `len` words from `row`, reads and writes as many in `acc`; the CPU has the instructions.
        unsafe { row!(add, acc.as_mut_ptr(), x, row.as_ptr(), row.len()) }
    }

    #[inline]
    fn double_add_squares(self, acc: &mut [u64], a: &[u64]) {
        assert!(acc.len() == 2 * a.len() && !a.is_empty());
        // SAFETY: reads a.len() ≥ 1 words from `a`, reads and writes twice as many in `acc`; the CPU has the instructions.
        unsafe {
            asm!(
                // Clears both chains' flags: the carry doubles, the overflow adds the squares.
                "test rcx, rcx",
                "2:",
                "mov rdx, [{a}]",
                "mulx {high}, {low}, rdx",
                "mov {sum}, [{acc}]",
                "adcx {sum}, {sum}",
                "adox {sum}, {low}",
                "mov [{acc}], {sum}",
                "mov {sum}, [{acc} + 8]",
                "adcx {sum}, {sum}",
                "adox {sum}, {high}",
                "mov [{acc} + 8], {sum}",
                "lea {a}, [{a} + 8]",
                "lea {acc}, [{acc} + 16]",
                "lea rcx, [rcx - 1]",
                "jrcxz 3f",
                "jmp 2b",
                "3:",
                acc = inout(reg) acc.as_mut_ptr() => _,
                a = inout(reg) a.as_ptr() => _,
                low = out(reg) _,
                high = out(reg) _,
                sum = out(reg) _,
                inout("rcx") a.len() => _,
                out("rdx") _,
                options(nostack),
            );
        }
    }

    #[inline]
    fn add(self, acc: &mut [u64], addend: &[u64], carry: u64) -> u64 {
        assert_eq!(acc.len(), addend.len());
        let mut carry = carry as u8;
        let (acc, acc_rest) = acc.as_chunks_mut::<4>();
        let (addend, addend_rest) = addend.as_chunks::<4>();
        for (acc, addend) in acc.iter_mut().zip(addend) {
            for (acc, &y) in acc.iter_mut().zip(addend) {
                carry = _addcarry_u64(carry, *acc, y, acc);
            }
        }
        for (acc, &y) in acc_rest.iter_mut().zip(addend_rest) {
            carry = _addcarry_u64(carry, *acc, y, acc);
        }
        carry.into()
    }

    #[inline]
    fn subtract(self, out: &mut [u64], a: &[u64], b: &[u64]) -> u64 {
        assert!(out.len() == a.len() && a.len() == b.len());
        let mut borrow = 0;
        let (out, out_rest) = out.as_chunks_mut::<4>();
        let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
        for (out, (a, b)) in out.iter_mut().zip(a.iter().zip(b)) {
            for (out, (&x, &y)) in out.iter_mut().zip(a.iter().zip(b)) {
                borrow = _subborrow_u64(borrow, x, y, out);
            }
        }
        for (out, (&x, &y)) in out_rest.iter_mut().zip(a_rest.iter().zip(b_rest)) {
            borrow = _subborrow_u64(borrow, x, y, out);
        }
        borrow.into()
    }
}
