//! The operations of a path: arithmetic on groups of residues.

use zeroize::Zeroizing;

/// Plain values of one width, row after row: what enters a group.
#[derive(Clone, Copy)]
pub(crate) struct Rows<'a> {
    /// Limbs per value; `words` holds between one row and as many as the kernel has lanes.
    pub(crate) limbs: usize,
    pub(crate) words: &'a [u64],
}

impl Rows<'_> {
    /// Number of values.
    pub(crate) fn len(&self) -> usize {
        self.words.len() / self.limbs
    }
}

/// Arithmetic of one modulus on groups of [`lanes`](Kernel::lanes) residues in Montgomery form.
///
/// A group is [`group_words`](Kernel::group_words) words, aligned to 64 bytes where the kernel has more than one lane.
/// Its layout is private to the kernel. A *single* is one residue out of a group, in
/// [`single_words`](Kernel::single_words) words, likewise of private layout.
///
/// Residues within groups need not be canonical: a kernel accepts whatever it returns. Nothing here branches on, or
/// addresses memory by, a value of an operand, but where the name says `public`. Outputs never alias inputs (the compiler sees
/// to it). `scratch` has [`scratch_words`](Kernel::scratch_words) words of any content; it is aligned like a group and
/// wiped by the caller when its work is done.
pub(crate) trait Kernel: Send + Sync {
    /// Residues per group.
    fn lanes(&self) -> usize;

    /// Words of a group.
    fn group_words(&self) -> usize;

    /// Words of one residue outside a group.
    fn single_words(&self) -> usize {
        self.group_words() / self.lanes()
    }

    /// Words of scratch that every method may use.
    fn scratch_words(&self) -> usize;

    /// Limbs of a canonical value: of the modulus, or of n for a modulus n² (a value is two such rows there).
    fn value_limbs(&self) -> usize;

    /// 1 in every lane.
    fn one(&self, out: &mut [u64]);

    /// The product, lane by lane.
    fn multiply(&self, out: &mut [u64], a: &[u64], b: &[u64], scratch: &mut [u64]);

    /// The square, lane by lane.
    fn square(&self, out: &mut [u64], a: &[u64], scratch: &mut [u64]);

    /// Plain values of up to [`MAX_ENTRY_RATIO`](super::MAX_ENTRY_RATIO) · [`value_limbs`](Kernel::value_limbs) limbs to
    /// residues, reduced. Lanes without a row become 1.
    fn enter(&self, out: &mut [u64], rows: Rows<'_>, scratch: &mut [u64]);

    /// The canonical values of the first `low.len() / value_limbs` lanes. For a modulus n² the value is low + high·n, both
    /// below n; for any other `high` is empty.
    fn leave(&self, low: &mut [u64], high: &mut [u64], group: &[u64], scratch: &mut [u64]);

    /// Lane l of `out` becomes lane l of group `index[l]` of `table` (groups one after another). Every entry is read.
    fn select(&self, out: &mut [u64], table: &[u64], index: &[u64]);

    /// Lane l of `out` becomes single `index[l]` of `table` (singles one after another). Every entry is read.
    fn select_single(&self, out: &mut [u64], table: &[u64], index: &[u64]);

    /// Entry e of `table` is lane e mod lanes of group ⌊e/lanes⌋. Lane l of group g of `out` becomes entry
    /// `index[g·lanes + l]`. Every entry is read; several groups at once read it once.
    ///
    /// This default works for every kernel; a kernel with several lanes is much faster with permutations of a register.
    fn select_lane(&self, out: &mut [u64], table: &[u64], index: &[u64]) {
        let (lanes, words, single_words) = (self.lanes(), self.group_words(), self.single_words());
        for (out, index) in out.chunks_exact_mut(words).zip(index.chunks_exact(lanes)) {
            if lanes == 1 {
                self.select_single(out, table, index);
                continue;
            }
            let mut entry = Zeroizing::new(vec![0; single_words]);
            for (lane, &index) in index.iter().enumerate() {
                let mut chosen = Zeroizing::new(vec![0; single_words]);
                for e in 0..table.len() / words * lanes {
                    self.extract(&mut entry, &table[e / lanes * words..][..words], e % lanes);
                    let difference = e as u64 ^ index;
                    // All ones where the difference is 0.
                    let mask = ((difference | difference.wrapping_neg()) >> 63).wrapping_sub(1);
                    chosen.iter_mut().zip(entry.iter()).for_each(|(chosen, &word)| *chosen |= word & mask);
                }
                self.insert(out, lane, &chosen);
            }
        }
    }

    /// As [`select`](Kernel::select), reading only the selected entries: for public indices.
    fn select_public(&self, out: &mut [u64], table: &[u64], index: &[u64]);

    /// As [`select_single`](Kernel::select_single), reading only the selected entry.
    fn select_single_public(&self, out: &mut [u64], table: &[u64], index: &[u64]);

    /// Copies one lane out.
    fn extract(&self, out: &mut [u64], group: &[u64], lane: usize);

    /// Copies a single into one lane.
    fn insert(&self, group: &mut [u64], lane: usize, single: &[u64]);
}

/// A kernel of a modulus n² that works through n.
pub(crate) trait SquareKernel: Kernel {
    /// a·(1 + m·n), where the rows give m < n with [`value_limbs`](Kernel::value_limbs) limbs; lanes without a row are copied.
    fn multiply_unit(&self, out: &mut [u64], a: &[u64], m: Rows<'_>, scratch: &mut [u64]);
}

/// The kernels of one modulus.
pub(crate) enum Arithmetic {
    /// Modulo N.
    Plain(Box<dyn Kernel>),
    /// Modulo n² through n.
    Square(Box<dyn SquareKernel>),
}

impl Arithmetic {
    pub(crate) fn kernel(&self) -> &dyn Kernel {
        match self {
            Arithmetic::Plain(kernel) => kernel.as_ref(),
            Arithmetic::Square(kernel) => kernel.as_ref(),
        }
    }

    pub(crate) fn square(&self) -> Option<&dyn SquareKernel> {
        match self {
            Arithmetic::Plain(_) => None,
            Arithmetic::Square(kernel) => Some(kernel.as_ref()),
        }
    }
}
