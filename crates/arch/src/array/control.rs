//! The control mesh. The control core, at core 0, sends each core a message that starts its program, and each core
//! replies when it has ended. All programs start in the cycle in which the last core has its message.

use super::machine::Machine;
use super::mesh::{Hop, Mesh};

/// Cycles from the first message to the start of the programs, and the link occupations.
pub(super) fn launch(machine: &Machine) -> (u64, Vec<Hop>) {
    let cores = machine.cores() as u8;
    let mut mesh = observed(machine);
    let (mut now, mut next, mut started) = (0, 0, 0);
    while started < cores {
        if next < cores && mesh.accepts(0) {
            mesh.send(now, 0, next, next.into(), 1);
            next += 1;
        }
        mesh.step(now, |_, _| {
            started += 1;
            true
        });
        now += 1;
    }
    (now, mesh.hops.unwrap_or_default())
}

fn observed(machine: &Machine) -> Mesh {
    let mut mesh = Mesh::new(machine);
    mesh.hops = Some(Vec::new());
    mesh
}

/// The cycle in which the control core has received the end of every program, given the end of each core; and the link
/// occupations.
pub(super) fn completion(machine: &Machine, ended: &[u64]) -> (u64, Vec<Hop>) {
    let mut mesh = observed(machine);
    let mut now = ended.iter().copied().min().unwrap_or(0);
    let mut left: Vec<(usize, u64)> = ended.iter().copied().enumerate().collect();
    let mut known = 0;
    while known < ended.len() {
        left.retain(|(core, at)| {
            let sends = *at <= now && mesh.accepts(*core);
            if sends {
                mesh.send(now, *core, 0, *core as u16, 1);
            }
            !sends
        });
        mesh.step(now, |_, _| {
            known += 1;
            true
        });
        now += 1;
    }
    (now, mesh.hops.unwrap_or_default())
}
