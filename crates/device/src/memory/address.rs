//! Virtual addresses: 38 bits, a page number of 26 bits and an offset of 12.

/// Bytes of a page, a frame and a swap slot.
pub const PAGE_BYTES: u64 = 1 << OFFSET_BITS;
/// Number of virtual pages.
pub const VIRTUAL_PAGES: u64 = 1 << PAGE_BITS;

const OFFSET_BITS: u32 = 12;
const PAGE_BITS: u32 = 26;

/// Number of a virtual page, below [`VIRTUAL_PAGES`].
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// use ciphermill_device::memory::{PAGE_BYTES, PageNumber, VIRTUAL_PAGES};
/// let page = PageNumber::new(3).ok_or("there are 2^26 pages")?;
/// assert_eq!(page.address().value(), 3 * PAGE_BYTES);
/// assert_eq!(PageNumber::new(VIRTUAL_PAGES), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PageNumber(u32);

impl PageNumber {
    /// The page with this number, if there is one.
    #[must_use]
    pub fn new(number: u64) -> Option<Self> {
        (number < VIRTUAL_PAGES).then_some(Self(number as u32))
    }

    /// The number.
    #[must_use]
    pub fn number(self) -> u64 {
        u64::from(self.0)
    }

    /// The address of its first byte.
    #[must_use]
    pub fn address(self) -> VirtualAddress {
        VirtualAddress(self.number() << OFFSET_BITS)
    }

    /// This page and those after it, `pages` in all; the run must lie within the address space.
    pub(super) fn run(self, pages: u64) -> impl Iterator<Item = Self> + use<> {
        (self.0..self.0 + pages as u32).map(Self)
    }
}

/// A 38-bit virtual address.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// use ciphermill_device::memory::{PAGE_BYTES, VirtualAddress};
/// let address = VirtualAddress::new(3 * PAGE_BYTES + 17).ok_or("an address has 38 bits")?;
/// assert_eq!((address.page().number(), address.offset()), (3, 17));
/// assert_eq!(VirtualAddress::new(1 << 38), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VirtualAddress(u64);

impl VirtualAddress {
    /// The address, if it has 38 bits.
    #[must_use]
    pub fn new(address: u64) -> Option<Self> {
        (address >> (OFFSET_BITS + PAGE_BITS) == 0).then_some(Self(address))
    }

    /// The address as a number.
    #[must_use]
    pub fn value(self) -> u64 {
        self.0
    }

    /// Its page.
    #[must_use]
    pub fn page(self) -> PageNumber {
        PageNumber((self.0 >> OFFSET_BITS) as u32)
    }

    /// Its offset in the page, in bytes.
    #[must_use]
    pub fn offset(self) -> u64 {
        self.0 & (PAGE_BYTES - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_26_bits_of_page_and_12_of_offset() {
        let last = VirtualAddress::new((1 << 38) - 1).expect("38 bits");
        assert_eq!((last.page().number(), last.offset()), (VIRTUAL_PAGES - 1, 4095));
        assert_eq!(VirtualAddress::new(1 << 38), None);
        assert_eq!(PageNumber::new(VIRTUAL_PAGES), None);
        assert_eq!(PageNumber::new(5).expect("small").address().value(), 5 * 4096);
    }
}
