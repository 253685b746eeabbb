//! Galois keys in the form in which they multiply.

use ciphermill_math::products::{FromOrbit, KeyBlock, Rotation};

use super::layout::Layout;
use super::tables::Tables;
use ciphermill_bfv::error::BfvError;
use ciphermill_bfv::keys::GaloisKeys;
use ciphermill_bfv::keyswitch::KeySwitchKey;

/// The keys of all baby and giant steps but the identity, by prime of the chain.
#[derive(Debug)]
pub(super) struct PreparedKeys {
    pub(super) limbs: Vec<LimbKeys>,
}

/// Modulo one prime.
#[derive(Debug)]
pub(super) struct LimbKeys {
    /// Baby steps 1, 2, …: spectra in orbit order.
    pub(super) babies: Vec<(Rotation, KeyBlock)>,
    /// Giant steps 1, 2 and 3, 4 to 7, …, one after another, in the transform's order: tiles that have fewer giant steps
    /// use the first of these groups.
    pub(super) giants: Vec<KeyBlock>,
    /// What giant steps 1, 2, … do on the way back from orbit order.
    pub(super) turns: Vec<FromOrbit>,
    /// And in orbit order.
    pub(super) rotations: Vec<Rotation>,
}

/// The giant steps of group `group` of [`LimbKeys::giants`].
pub(super) fn giant_group(group: usize) -> std::ops::Range<usize> {
    1 << group..2 << group
}

impl PreparedKeys {
    /// Prepares the keys.
    ///
    /// # Errors
    /// If one is missing.
    pub(super) fn new(layout: &Layout, tables: &Tables, keys: &GaloisKeys) -> Result<Self, BfvError> {
        let find = |elements: &mut dyn Iterator<Item = usize>| -> Result<Vec<(usize, &KeySwitchKey)>, BfvError> {
            let missing = |element| BfvError::MissingGaloisKeys { elements: vec![element] };
            elements.skip(1).map(|g| Ok((g, keys.get(g).ok_or_else(|| missing(g))?))).collect()
        };
        let babies = find(&mut layout.baby_elements())?;
        let giants = find(&mut layout.giant_elements())?;
        let limbs = tables.limbs.iter().enumerate().map(|(limb, tables)| {
            let order = &tables.order;
            let rows = |key: &'_ KeySwitchKey| -> Vec<[Vec<u64>; 2]> {
                let row = |spectrum: &[u64]| {
                    let mut out = vec![0; spectrum.len()];
                    order.to_orbit(spectrum, &mut out);
                    out
                };
                key.digits().iter().map(|digit| digit.each_ref().map(|part| row(part.limb(limb)))).collect()
            };
            let pack = |rows: &[[Vec<u64>; 2]]| {
                let rows: Vec<[&[u64]; 2]> = rows.iter().map(|row| row.each_ref().map(|part| &part[..])).collect();
                tables.kernels.key(&rows)
            };
            let groups = (0..layout.tile(0).giants.trailing_zeros() as usize).map(|group| {
                let keys = giant_group(group).flat_map(|step| giants[step - 1].1.digits());
                tables.kernels.key(&keys.map(|digit| digit.each_ref().map(|part| part.limb(limb))).collect::<Vec<_>>())
            });
            let turns = giants.iter().map(|&(g, _)| order.from_orbit_automorphism(g).expect("elements are odd"));
            LimbKeys {
                babies: babies.iter().map(|&(g, key)| (order.rotation(g), pack(&rows(key)))).collect(),
                giants: groups.collect(),
                turns: turns.collect(),
                rotations: giants.iter().map(|&(g, _)| order.rotation(g)).collect(),
            }
        });
        Ok(Self { limbs: limbs.collect() })
    }
}
