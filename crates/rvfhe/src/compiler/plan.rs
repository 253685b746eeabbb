//! The plan of a transform: its phases, each with the levels on one set of rows, and the reshuffles between them.
//!
//! Half of a core's registers hold one group of 2^g rows, so a phase has at most g levels. A reshuffle moves the rows
//! through the data memories. It exchanges finished bits of the row number for bits of later levels: core bits by
//! sending rows to other cores, lane bits by reading tiles of the memory transposed. This is the four-step transform
//! (Bailey, "FFTs in external or hierarchical memory", 1990) with one step per phase, and with the twiddles merged into
//! the butterflies' factors.

use super::factors::Role;
use super::layout::{IndexBit, Layout, RowSlot};

/// The work of a core on its rows between two reshuffles.
#[derive(Clone, Debug)]
pub(crate) struct Phase {
    /// The layout of the values during the phase.
    pub layout: Layout,
    /// The operations, in order.
    pub works: Vec<Work>,
    /// The reshuffle before the phase; `None` if the values come from the scratchpad.
    pub reshuffle: Option<Reshuffle>,
}

/// One operation of a phase on all of its values.
#[derive(Clone, Debug)]
pub(crate) enum Work {
    /// Butterflies on an index bit, with the factors of a set.
    Level { bit: IndexBit, set: usize },
    /// A product of each value with a factor of a set.
    Multiply { set: usize, role: Role },
}

/// The step from the layout of one phase to that of the next, through the data memories.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reshuffle {
    /// Exchanged slots, as (row, core).
    pub swaps: Vec<(usize, usize)>,
    /// The transposition during the read.
    pub tile: Tile,
}

/// A transposition of tiles: row slots become lane bits, and the same number of uppermost lane bits become row slots.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tile {
    /// The row slots, in the order of the lane bits that they become, lowest first. They are the low bits of a row's
    /// position in memory.
    pub slots: Vec<usize>,
    /// Whether the other lane bits move up, so that the new ones are the lowest. Otherwise the new ones are the
    /// uppermost.
    pub rotate: bool,
}

/// The cores have too few rows for their number and lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooFewRows;

/// Plans the levels on the bits of `order`, starting from `layout`, with the factors of a set, in phases of at most
/// `group` levels. The first phase has no reshuffle. The caller completes the plan with [`twin`].
pub(crate) fn plan(mut layout: Layout, order: &[IndexBit], set: usize, group: usize) -> Result<Vec<Phase>, TooFewRows> {
    let mut phases: Vec<Phase> = Vec::new();
    let mut done = 0;
    while done < order.len() {
        let reshuffle = match phases.last() {
            None => None,
            Some(_) => {
                let reshuffle = next_reshuffle(&layout, order, done);
                layout = reshuffle.apply(&layout);
                Some(reshuffle)
            }
        };
        let bits = order[done..].iter().take_while(|bit| layout.row_slot(**bit).is_some()).take(group);
        let works: Vec<_> = bits.map(|bit| Work::Level { bit: *bit, set }).collect();
        if works.is_empty() {
            return Err(TooFewRows);
        }
        done += works.len();
        phases.push(Phase { layout: layout.clone(), works, reshuffle });
    }
    Ok(phases)
}

/// Chooses the exchanges. All finished slots are exchanged for the next bits, from cores and from the uppermost lanes.
/// Bits that arrive early cost nothing, and butterflies of rows that differ in them share a factor.
fn next_reshuffle(layout: &Layout, order: &[IndexBit], done: usize) -> Reshuffle {
    // The finished slots, in the order of their levels. They are exchanged in this order.
    let mut free: Vec<usize> = order[..done].iter().filter_map(|bit| layout.row_slot(*bit)).collect();
    let mut cores = Vec::new();
    let mut lanes = 0;
    for bit in &order[done..] {
        if cores.len() + lanes == free.len() {
            break;
        }
        if layout.cores.contains(bit) {
            cores.push(*bit);
        } else if layout.lanes.iter().rev().nth(lanes) == Some(bit) {
            lanes += 1;
        } else if layout.row_slot(*bit).is_none() {
            break;
        }
    }
    free.truncate(cores.len() + lanes);
    // Cores get the upper bits and lanes the lower ones, so that an inverse returns values to their origin.
    free.sort_by_key(|slot| layout.rows[*slot].bit);
    let descending = order.len() > 1 && order[0] > order[1];
    let mut to_cores = free.split_off(lanes);
    if descending {
        free.reverse();
        to_cores.reverse();
    }
    let core_slot = |bit: IndexBit| layout.cores.iter().position(|core| *core == bit).expect("a bit of the core");
    let swaps = to_cores.into_iter().zip(cores.into_iter().map(core_slot)).collect();
    let below = &layout.lanes[..layout.lanes.len() - lanes];
    let rotate = lanes > 0 && below.iter().any(|bit| order[done..].contains(bit));
    Reshuffle { swaps, tile: Tile { slots: free, rotate } }
}

impl Reshuffle {
    /// The layout after the reshuffle.
    fn apply(&self, before: &Layout) -> Layout {
        let mut after = before.clone();
        for (row, core) in &self.swaps {
            after.rows[*row] = RowSlot { bit: before.cores[*core], twin: None };
            after.cores[*core] = before.rows[*row].bit;
        }
        let count = self.tile.slots.len();
        let (below, above) = before.lanes.split_at(before.lanes.len() - count);
        for (slot, bit) in self.tile.slots.iter().zip(above) {
            after.rows[*slot] = RowSlot { bit: *bit, twin: None };
        }
        let new = self.tile.slots.iter().map(|slot| before.rows[*slot].bit);
        after.lanes = if self.tile.rotate {
            new.chain(below.iter().copied()).collect()
        } else {
            below.iter().copied().chain(new).collect()
        };
        after
    }
}

/// Marks the row slots that are exchanged with core slots, on both sides of the reshuffle, for as long as they hold the
/// same bit.
pub(crate) fn twin(phases: &mut [Phase]) {
    for at in 1..phases.len() {
        let swaps = phases[at].reshuffle.as_ref().map_or(Vec::new(), |reshuffle| reshuffle.swaps.clone());
        for (row, core) in swaps {
            let (before, after) = phases.split_at_mut(at);
            mark(before.iter_mut().rev(), row, core);
            mark(after.iter_mut(), row, core);
        }
    }
}

fn mark<'a>(phases: impl Iterator<Item = &'a mut Phase>, row: usize, core: usize) {
    let mut bit = None;
    for phase in phases {
        let slot = &mut phase.layout.rows[row];
        if *bit.get_or_insert(slot.bit) != slot.bit || slot.twin.is_some() {
            return;
        }
        slot.twin = Some(core as u8);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    /// The table of docs/rvfhe.md: 2^13 values on 16 cores of 32 lanes, forward.
    #[test]
    fn the_page_shows_the_phases() {
        let order: Vec<IndexBit> = (0..13).rev().collect();
        let phases = plan(Layout::natural(4, 4, 5), &order, 0, 4).unwrap();
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rvfhe.md");
        let page = fs::read_to_string(page).unwrap();
        let (_, table) = page.split_once("| phase | levels on bits | rows | cores | lanes |\n").expect("a table");
        let rows: Vec<Vec<&str>> = table
            .lines()
            .skip(1)
            .take_while(|line| line.starts_with('|'))
            .map(|line| line.split('|').map(str::trim).collect())
            .collect();
        assert_eq!(rows.len(), phases.len());
        let text =
            |bits: &mut dyn Iterator<Item = IndexBit>| bits.map(|bit| bit.to_string()).collect::<Vec<_>>().join(" ");
        for (number, (row, Phase { layout, works, reshuffle })) in rows.iter().zip(&phases).enumerate() {
            let how = match reshuffle {
                None => String::new(),
                Some(Reshuffle { swaps, tile }) if tile.slots.is_empty() => {
                    assert_eq!(swaps.len(), 4);
                    ", over the network".to_owned()
                }
                Some(Reshuffle { swaps, tile }) => {
                    assert!(swaps.is_empty());
                    format!(", in tiles of {} rows", 1 << tile.slots.len())
                }
            };
            let levels = works.iter().map(|work| match work {
                Work::Level { bit, .. } => *bit,
                Work::Multiply { .. } => panic!("a forward transform only has levels"),
            });
            let said = [
                format!("{}{how}", number + 1),
                text(&mut levels.into_iter()),
                text(&mut layout.rows.iter().rev().map(|slot| slot.bit)),
                text(&mut layout.cores.iter().rev().copied()),
                text(&mut layout.lanes.iter().rev().copied()),
            ];
            assert_eq!(row[1..6], said);
        }
    }
}
