//! A set-associative cache that tracks the presence of lines, but not their content.

use super::machine::{Geometry, Replacement};

/// The result of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// The line was present.
    Hit,
    /// The line was absent and has been loaded. `dirty_victim`: it displaced a written line.
    Miss { dirty_victim: bool },
}

#[derive(Clone, Copy, Default)]
struct Line {
    /// The line's address divided by the line size, plus one; 0: no line.
    tag: u64,
    dirty: bool,
    /// The time of the last use.
    used: u64,
}

pub(super) struct Cache {
    lines: Vec<Line>,
    ways: usize,
    set_mask: u64,
    line_shift: u32,
    replacement: Replacement,
    shift_register: u16,
    now: u64,
}

impl Cache {
    pub(super) fn new(geometry: Geometry) -> Self {
        let Geometry { sets, ways, line_bytes, replacement } = geometry;
        Cache {
            lines: vec![Line::default(); sets as usize * ways as usize],
            ways: ways as usize,
            set_mask: u64::from(sets) - 1,
            line_shift: line_bytes.trailing_zeros(),
            replacement,
            shift_register: 1,
            now: 0,
        }
    }

    /// log2 of the line size.
    pub(super) fn line_shift(&self) -> u32 {
        self.line_shift
    }

    /// Accesses the line of `address` and loads it if it is absent.
    #[inline]
    pub(super) fn access(&mut self, address: u64, write: bool) -> Access {
        self.now += 1;
        let tag = (address >> self.line_shift) + 1;
        let first = ((tag - 1) & self.set_mask) as usize * self.ways;
        let set = &mut self.lines[first..first + self.ways];
        if let Some(line) = set.iter_mut().find(|line| line.tag == tag) {
            line.used = self.now;
            line.dirty |= write;
            return Access::Hit;
        }
        let way = set.iter().position(|line| line.tag == 0).unwrap_or_else(|| match self.replacement {
            Replacement::Random => self.shift_register as usize & (self.ways - 1),
            Replacement::Lru => set.iter().enumerate().min_by_key(|(_, line)| line.used).map_or(0, |(way, _)| way),
        });
        // The maximal polynomial x^16 + x^14 + x^13 + x^11 + 1.
        let s = self.shift_register;
        self.shift_register = (s << 1) | ((s >> 15 ^ s >> 13 ^ s >> 12 ^ s >> 10) & 1);
        let dirty_victim = set[way].tag != 0 && set[way].dirty;
        set[way] = Line { tag, dirty: write, used: self.now };
        Access::Miss { dirty_victim }
    }

    /// Invalidates the line of `address`, as if a device had written it.
    pub(super) fn invalidate(&mut self, address: u64) {
        let tag = (address >> self.line_shift) + 1;
        let first = ((tag - 1) & self.set_mask) as usize * self.ways;
        for line in self.lines[first..first + self.ways].iter_mut().filter(|line| line.tag == tag) {
            *line = Line::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cache(replacement: Replacement) -> Cache {
        Cache::new(Geometry { sets: 4, ways: 2, line_bytes: 64, replacement })
    }

    #[test]
    fn a_line_stays_until_its_set_is_full() {
        let mut cache = cache(Replacement::Lru);
        let clean = Access::Miss { dirty_victim: false };
        // Lines 0, 4, 8 share set 0.
        assert_eq!(cache.access(0, true), clean);
        assert_eq!(cache.access(63, false), Access::Hit);
        assert_eq!(cache.access(4 * 64, false), clean);
        assert_eq!(cache.access(1, false), Access::Hit);
        assert_eq!(cache.access(8 * 64, false), clean, "line 4 was used least recently, and was not written");
        assert_eq!(cache.access(4 * 64, false), Access::Miss { dirty_victim: true }, "now line 0 goes, which was");
        assert_eq!(cache.access(64, false), clean, "another set");
    }

    #[test]
    fn an_invalidated_line_is_gone_with_what_was_written() {
        let mut cache = cache(Replacement::Random);
        cache.access(128, true);
        cache.invalidate(130);
        assert_eq!(cache.access(128, false), Access::Miss { dirty_victim: false });
    }

    #[test]
    fn random_replacement_uses_every_way() {
        let mut cache = Cache::new(Geometry { sets: 1, ways: 4, line_bytes: 16, replacement: Replacement::Random });
        let mut survivors = std::collections::BTreeSet::new();
        for round in 0..64u64 {
            cache.access(round * 16, false);
            if round >= 4 {
                survivors.insert((0..4).position(|way| cache.lines[way].tag == round + 1));
            }
        }
        assert_eq!(survivors.len(), 4);
    }
}
