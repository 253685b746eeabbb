//! Large buffers for transformed keys.

/// Memory of zeros in which the operating system is asked to use huge pages: a bootstrapping key is read once per
/// bootstrap from end to end, and 4 KiB pages would cost a page walk every 64 cache lines.
pub(crate) fn huge_zeroed<P: Copy + Default>(len: usize) -> Vec<P> {
    // A fresh zeroed allocation of this size is untouched memory of the kernel's.
    let mut buffer: Vec<P> = Vec::with_capacity(len);
    advise_huge_pages(buffer.spare_capacity_mut());
    buffer.resize(len, P::default());
    buffer
}

#[cfg(target_os = "linux")]
fn advise_huge_pages<P>(memory: &mut [std::mem::MaybeUninit<P>]) {
    const PAGE: usize = 4096;
    let bytes = std::mem::size_of_val(memory);
    let start = memory.as_mut_ptr().cast::<u8>();
    let skip = start.align_offset(PAGE);
    if bytes < 512 * PAGE || skip >= bytes {
        return;
    }
    let len = (bytes - skip) & !(PAGE - 1);
    // SAFETY: the range lies within `memory`, which this call may only back by other pages; contents are unaffected.
    // A kernel without huge pages refuses, and nothing is lost.
    let _ = unsafe { rustix::mm::madvise(start.add(skip).cast(), len, rustix::mm::Advice::LinuxHugepage) };
}

#[cfg(not(target_os = "linux"))]
fn advise_huge_pages<P>(_memory: &mut [std::mem::MaybeUninit<P>]) {}
