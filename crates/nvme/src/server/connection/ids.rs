//! Which command identifiers are in use.

/// A set of 16-bit numbers that knows its size.
#[derive(Debug)]
pub(crate) struct Ids {
    bits: Box<[u64]>,
    count: usize,
}

impl Ids {
    pub(crate) fn new() -> Self {
        Self { bits: vec![0; 1024].into_boxed_slice(), count: 0 }
    }

    const fn place(id: u16) -> (usize, u64) {
        ((id >> 6) as usize, 1 << (id & 63))
    }

    pub(crate) fn contains(&self, id: u16) -> bool {
        let (word, bit) = Self::place(id);
        self.bits[word] & bit != 0
    }

    /// Adds one that is not in it.
    pub(crate) fn insert(&mut self, id: u16) {
        let (word, bit) = Self::place(id);
        self.count += usize::from(self.bits[word] & bit == 0);
        self.bits[word] |= bit;
    }

    pub(crate) fn remove(&mut self, id: u16) {
        let (word, bit) = Self::place(id);
        self.count -= usize::from(self.bits[word] & bit != 0);
        self.bits[word] &= !bit;
    }

    pub(crate) const fn len(&self) -> usize {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_identifier_is_in_it_once() {
        let mut ids = Ids::new();
        for id in [0, 63, 64, 0xffff, 0xffff] {
            ids.insert(id);
        }
        assert_eq!(ids.len(), 4);
        assert!(ids.contains(64) && !ids.contains(65));
        ids.remove(64);
        ids.remove(64);
        assert!(ids.len() == 3 && !ids.contains(64) && ids.contains(0xffff));
    }
}
