//! A simulation of a scheduled kernel, cycle by cycle. A broken rule is an error.
//!
//! Each access happens in the cycle of its schedule. In each cycle, reads come first and see the writes of earlier cycles. The
//! writes of the cycle follow. A block memory does not define a read and a write of one element in the same cycle. The simulation is not part of the compiler; it tests schedules. It counts cycles, and does not
//! check whether a path fits the clock period.

use std::collections::HashMap;

use super::types::{Address, Schedule};
use crate::analysis::{Layout, is_block, is_registers, read_cycles};
use crate::ir::{Kernel, Memory, Node, Op, Role, State};
use crate::pragma::Ports;

/// A rule that a schedule breaks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimulationError {
    /// An operation or an access begins before an operand has its value.
    #[error("{what} of {kernel} is in cycle {cycle}, and an operand has its value in cycle {ready}")]
    Early {
        /// The kernel.
        kernel: String,
        /// The node or the access.
        what: String,
        /// Its cycle.
        cycle: u32,
        /// The first cycle that the operands allow.
        ready: u32,
    },
    /// A bank has more accesses in a cycle than ports.
    #[error("bank {bank} of {memory} has too few ports for accesses {first} and {second} in cycle {cycle} of {kernel}")]
    Ports {
        /// The kernel.
        kernel: String,
        /// The memory.
        memory: String,
        /// The bank.
        bank: usize,
        /// The cycle.
        cycle: u64,
        /// An access that has the last port.
        first: usize,
        /// The access for which no port is left.
        second: usize,
    },
    /// Two accesses write an element in the same cycle.
    #[error("{memory}[{element}] is written twice in cycle {cycle} of {kernel}")]
    Collision {
        /// The kernel.
        kernel: String,
        /// The memory.
        memory: String,
        /// The number of the element.
        element: usize,
        /// The cycle.
        cycle: u64,
    },
    /// A port of a block memory reads an element that the other port writes.
    #[error(
        "{memory}[{element}] is read and written in cycle {cycle} of {kernel}, which a block memory does not define"
    )]
    Undefined {
        /// The kernel.
        kernel: String,
        /// The memory.
        memory: String,
        /// The number of the element.
        element: usize,
        /// The cycle.
        cycle: u64,
    },
    /// An element is read before it is written.
    #[error("{memory}[{element}] is read before it is written, in cycle {cycle} of {kernel}")]
    Unwritten {
        /// The kernel.
        kernel: String,
        /// The memory.
        memory: String,
        /// The number of the element.
        element: usize,
        /// The cycle.
        cycle: u64,
    },
    /// An index is outside of a memory, or the address differs from the bank and row of the element.
    #[error("access {access} of {kernel} is at bank {bank}, row {row}, which is not its element")]
    Address {
        /// The kernel.
        kernel: String,
        /// The access.
        access: usize,
        /// The bank of its address.
        bank: i128,
        /// The row of its address.
        row: i128,
    },
    /// A value is outside of the range that the compiler found.
    #[error("{kernel} reads {value}, not {least} to {most}")]
    Range {
        /// The kernel.
        kernel: String,
        /// The value.
        value: i128,
        /// The least value.
        least: i128,
        /// The greatest value.
        most: i128,
    },
    /// An access happens after the schedule has ended.
    #[error("access {access} of {kernel} is in cycle {cycle}, after the end")]
    Late {
        /// The kernel.
        kernel: String,
        /// The access.
        access: usize,
        /// Its cycle.
        cycle: u64,
    },
}

/// Runs a kernel by its schedule. Each access has an address, and is in the hardware or not. `registers` are the cycles of each
/// node's operation, by node. Returns the number of cycles.
///
/// # Errors
/// [`SimulationError`], if the schedule breaks a rule.
pub(crate) fn simulate(
    kernel: &Kernel,
    (addresses, used): (&[Address], &[bool]),
    registers: &[u32],
    memories: &[Memory],
    schedule: &Schedule,
    state: &mut State,
) -> Result<u64, SimulationError> {
    let layouts = memories.iter().map(Layout::of).collect();
    let mut reads = vec![None; kernel.accesses.len()];
    for (node, data) in kernel.graph.nodes() {
        if let Op::Read(access) = data.op {
            reads[access] = Some(node);
        }
    }
    let simulation = Simulation { kernel, addresses, registers, memories, schedule, used, layouts, reads };
    simulation.check_times()?;
    simulation.run(state)
}

struct Simulation<'a> {
    kernel: &'a Kernel,
    addresses: &'a [Address],
    registers: &'a [u32],
    memories: &'a [Memory],
    schedule: &'a Schedule,
    /// Whether each access is in the hardware. Others may be at any time.
    used: &'a [bool],
    layouts: Vec<Layout>,
    /// The node of each read; by access.
    reads: Vec<Option<Node>>,
}

/// An iteration that has begun.
struct Iteration {
    values: Vec<Option<i128>>,
    /// The number of remaining accesses.
    left: usize,
}

/// The accesses to banks in one cycle: for each bank and kind of port, the last access and the number of accesses.
type Asked = HashMap<(usize, usize, bool), (usize, u32)>;

impl Simulation<'_> {
    fn name(&self) -> String {
        self.kernel.name.clone()
    }

    fn memory(&self, access: usize) -> &Memory {
        &self.memories[self.kernel.accesses[access].memory]
    }

    /// Checks that all values are present before they are used.
    fn check_times(&self) -> Result<(), SimulationError> {
        let cycle = |node: Node| self.schedule.nodes[node.index()].0;
        let in_time = |what: String, at: u32, ready: u32| {
            let error = SimulationError::Early { kernel: self.name(), what, cycle: at, ready };
            if at < ready { Err(error) } else { Ok(()) }
        };
        for (node, data) in self.kernel.graph.nodes() {
            let ready = match data.op {
                Op::Read(access) => self.schedule.accesses[access] + read_cycles(self.memory(access)),
                op => {
                    let operands = op.operands().into_iter().map(cycle).max().unwrap_or(0);
                    operands + self.registers[node.index()]
                }
            };
            if !data.is_known() {
                in_time(format!("node {}", node.index()), cycle(node), ready)?;
            }
        }
        for (access, one) in self.kernel.accesses.iter().enumerate() {
            let Address { bank, row } = self.addresses[access];
            let needed = [Some(bank), Some(row), one.written, one.condition].into_iter().flatten();
            let ready = needed.map(cycle).max().unwrap_or(0);
            in_time(format!("access {access}"), self.schedule.accesses[access], ready)?;
        }
        Ok(())
    }

    fn run(&self, state: &mut State) -> Result<u64, SimulationError> {
        let accesses = self.used.iter().filter(|used| **used).count();
        // By cycle, reads before writes.
        let mut events: Vec<(u64, bool, usize, usize)> = Vec::with_capacity(accesses * self.kernel.iterations());
        for iteration in 0..self.kernel.iterations() {
            let start = self.schedule.start(self.kernel, iteration);
            for (access, one) in self.kernel.accesses.iter().enumerate().filter(|(access, _)| self.used[*access]) {
                let cycle = start + u64::from(self.schedule.accesses[access]);
                events.push((cycle, one.written.is_some(), iteration, access));
            }
        }
        events.sort_unstable();
        let end = self.schedule.cycles(self.kernel);
        let mut iterations: HashMap<usize, Iteration> = HashMap::new();
        for of_cycle in events.chunk_by(|a, b| a.0 == b.0) {
            let (mut asked, mut used) = (Asked::new(), HashMap::new());
            for &(cycle, _, number, access) in of_cycle {
                if cycle >= end {
                    return Err(SimulationError::Late { kernel: self.name(), access, cycle });
                }
                let begun = || Iteration { values: vec![None; self.kernel.graph.len()], left: accesses };
                let iteration = iterations.entry(number).or_insert_with(begun);
                self.access(access, number, cycle, &mut iteration.values, state, &mut asked, &mut used)?;
                iteration.left -= 1;
                if iteration.left == 0 {
                    iterations.remove(&number);
                }
            }
        }
        Ok(end)
    }

    #[expect(clippy::too_many_arguments, reason = "an event, and the changed state")]
    fn access(
        &self,
        access: usize,
        iteration: usize,
        cycle: u64,
        values: &mut [Option<i128>],
        state: &mut State,
        asked: &mut Asked,
        used: &mut HashMap<(usize, usize), bool>,
    ) -> Result<(), SimulationError> {
        let one = &self.kernel.accesses[access];
        if one.condition.is_some_and(|condition| self.value(condition, iteration, values) == 0) {
            return Ok(());
        }
        let element = self.element(access, iteration, values)?;
        self.ask(access, cycle, element.1, asked)?;
        let element = element.0;
        let memory = self.memory(access).name.clone();
        let place = &mut state.memories[one.memory][element];
        match (one.written, *place) {
            (Some(value), _) => {
                *place = Some(self.value(value, iteration, values));
                match used.insert((one.memory, element), true) {
                    Some(true) => Err(SimulationError::Collision { kernel: self.name(), memory, element, cycle }),
                    Some(false) if is_block(self.memory(access)) => {
                        Err(SimulationError::Undefined { kernel: self.name(), memory, element, cycle })
                    }
                    _ => Ok(()),
                }
            }
            // The kernel may select another value than that of a variable without one.
            (None, None) if self.memory(access).lengths.is_empty() => Ok(()),
            (None, None) => Err(SimulationError::Unwritten { kernel: self.name(), memory, element, cycle }),
            (None, Some(value)) => {
                used.insert((one.memory, element), false);
                self.has_read(access, value, values)
            }
        }
    }

    fn has_read(&self, access: usize, value: i128, values: &mut [Option<i128>]) -> Result<(), SimulationError> {
        let Some(node) = self.reads[access] else { return Ok(()) };
        let (least, most) = self.kernel.graph.range(node);
        if value < least || value > most {
            return Err(SimulationError::Range { kernel: self.name(), value, least, most });
        }
        values[node.index()] = Some(value);
        Ok(())
    }

    /// The element and the bank of an access.
    fn element(
        &self,
        access: usize,
        iteration: usize,
        values: &mut [Option<i128>],
    ) -> Result<(usize, usize), SimulationError> {
        let one = &self.kernel.accesses[access];
        let (memory, layout) = (&self.memories[one.memory], &self.layouts[one.memory]);
        let address = self.addresses[access];
        let (bank, row) = (self.value(address.bank, iteration, values), self.value(address.row, iteration, values));
        let indices: Vec<i128> = one.indices.iter().map(|&index| self.value(index, iteration, values)).collect();
        let inside = indices.iter().zip(&memory.lengths).all(|(index, &length)| (0..length as i128).contains(index));
        let place = layout.place(indices.iter().map(|&index| index as usize));
        if !inside || (place.0 as i128, place.1 as i128) != (bank, row) {
            return Err(SimulationError::Address { kernel: self.name(), access, bank, row });
        }
        Ok((memory.element(indices.iter().map(|&index| index as i64)), place.0))
    }

    /// Takes a port of a bank.
    fn ask(&self, access: usize, cycle: u64, bank: usize, asked: &mut Asked) -> Result<(), SimulationError> {
        let memory = self.memory(access);
        if matches!(memory.role, Role::Table(_)) || is_registers(memory) {
            return Ok(());
        }
        let one = &self.kernel.accesses[access];
        let (kind, ports) = match memory.ports {
            Ports::ReadAndWrite => (one.written.is_some(), 1),
            Ports::TwoOfAny => (false, 2),
        };
        let (first, count) = asked.entry((one.memory, bank, kind)).or_insert((access, 0));
        *count += 1;
        let is_taken = ports > 1 && *count > 1 && self.schedule.ports[*first] == self.schedule.ports[access];
        if *count > ports || is_taken {
            let (kernel, memory) = (self.name(), memory.name.clone());
            return Err(SimulationError::Ports { kernel, memory, bank, cycle, first: *first, second: access });
        }
        *first = access;
        Ok(())
    }

    /// The value of a node, without recursion: graphs may be deep.
    fn value(&self, node: Node, iteration: usize, values: &mut [Option<i128>]) -> i128 {
        let mut open = vec![node];
        while let Some(&top) = open.last() {
            let op = self.kernel.graph.get(top).op;
            let known = values[top.index()].or_else(|| self.kernel.graph.value_in(top, iteration));
            // The only value of a range is a constant of the hardware, also before it is read.
            let (least, most) = self.kernel.graph.range(top);
            let known = known.or((least == most).then_some(least));
            // The condition of a skipped read does not hold, so no access depends on its value.
            let known = known.or(matches!(op, Op::Read(_)).then_some(0));
            let missing = |operand: &Node| values[operand.index()].is_none();
            let missing: Vec<Node> = match known {
                Some(_) => Vec::new(),
                None => op.operands().into_iter().filter(missing).collect(),
            };
            if missing.is_empty() {
                let value = known.or_else(|| op.value(|operand| values[operand.index()].unwrap_or_default()));
                values[top.index()] = Some(value.unwrap_or_default());
                open.pop();
            } else {
                open.extend(missing);
            }
        }
        values[node.index()].unwrap_or_default()
    }
}
