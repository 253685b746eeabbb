//! Reservation masks of the lanes' adders and write ports.

use crate::array::machine::Machine;

/// The adders and write ports that each kind of computation reserves, by the rules of docs/hw/rvfhe_lane.md. A mask has four bits for each
/// cycle from the issue on: two for adders, two for ports.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reservations {
    pub sum: u128,
    pub product: u128,
    pub butterfly: u128,
}

impl Reservations {
    pub(super) fn new(machine: &Machine) -> Self {
        let (multiplier, adder) = (machine.lane.multiplier_latency, machine.lane.adder_latency);
        let two = machine.lane.adders == 2;
        let (first, second) = (1_u128, if two { 2 } else { 1 });
        let (port, last_port) = (4_u128, if two { 8 } else { 4 });
        let later = u32::from(!two);
        // Latencies are at most 12 and 4, hence 18 cycles.
        let at = |after: u32, unit: u128| unit << (4 * after);
        Self {
            sum: at(0, first) | at(adder, port),
            product: at(multiplier, last_port),
            butterfly: at(multiplier, first)
                | at(multiplier + later, second)
                | at(multiplier + adder, port)
                | at(multiplier + adder + later, last_port),
        }
    }
}
