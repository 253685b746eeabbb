//! The timing model: the cycle in which each executed instruction is in the execute stage.
//!
//! The core has five stages, in order, fully bypassed. An instruction executes one cycle after the previous one, except
//! in three cases. The front end may deliver it later (branches, instruction cache), an operand may not be ready
//! (loads, multiplier, divider, modular units), or a resource may be busy (the iterative unit, its write port, the data
//! cache). Every cycle has exactly one cause.
//!
//! The rules are those of Rocket Chip's RocketCore, MulDiv, BTB, Frontend and DCache. docs/rvfhe-scalar.md lists the
//! omissions.

use std::ops::Sub;

use super::cache::{Access, Cache};
use super::core::{Observer, Retired};
use super::instruction::{Class, Instruction, Op};
use super::iterative::{divide_steps, multiply_steps};
use super::machine::ScalarMachine;
use super::predictor::{Outcome, Predictor};

/// Cycles by cause. Their sum is the total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Causes {
    /// An instruction was executed: one cycle each.
    pub issue: u64,
    /// Waited for a load that hit.
    pub load_use: u64,
    /// Waited for a product, or for the busy multiplier.
    pub multiply: u64,
    /// Waited for a quotient or remainder, or for the busy divider.
    pub divide: u64,
    /// Waited for an RVFHE unit.
    pub modular: u64,
    /// Waited for the front end after a branch or jump.
    pub branch: u64,
    /// Waited for an instruction-cache miss.
    pub icache: u64,
    /// Waited for a data-cache miss.
    pub dcache: u64,
    /// Waited for a CSR, or after a write to one.
    pub csr: u64,
}

impl Causes {
    /// The total number of cycles.
    pub fn total(&self) -> u64 {
        let Causes { issue, load_use, multiply, divide, modular, branch, icache, dcache, csr } = *self;
        issue + load_use + multiply + divide + modular + branch + icache + dcache + csr
    }

    /// Each cause with its name in reports.
    pub fn by_name(&self) -> [(&'static str, u64); 9] {
        let Causes { issue, load_use, multiply, divide, modular, branch, icache, dcache, csr } = *self;
        [
            ("issue", issue),
            ("load-use", load_use),
            ("mul", multiply),
            ("div", divide),
            ("rvfhe", modular),
            ("branch", branch),
            ("icache", icache),
            ("dcache", dcache),
            ("csr", csr),
        ]
    }
}

impl Sub for Causes {
    type Output = Causes;

    fn sub(self, earlier: Causes) -> Causes {
        Causes {
            issue: self.issue - earlier.issue,
            load_use: self.load_use - earlier.load_use,
            multiply: self.multiply - earlier.multiply,
            divide: self.divide - earlier.divide,
            modular: self.modular - earlier.modular,
            branch: self.branch - earlier.branch,
            icache: self.icache - earlier.icache,
            dcache: self.dcache - earlier.dcache,
            csr: self.csr - earlier.csr,
        }
    }
}

/// The unit that produces a register's value, and so the cause of a wait for it.
#[derive(Clone, Copy)]
enum Source {
    Alu,
    Load,
    Modular,
    Csr,
}

/// The last operation of the iterative unit.
#[derive(Clone, Copy)]
struct Iterative {
    rd: u8,
    is_divide: bool,
    /// The first cycle in which its result can be written, if no other instruction writes a register then.
    written: u64,
}

pub(super) struct Timing<'a> {
    machine: &'a ScalarMachine,
    predictor: Predictor,
    icache: Cache,
    dcache: Cache,
    l2: Cache,
    /// The execute cycle of the last instruction.
    last: u64,
    /// The first cycle in which each register can be used in the execute stage.
    ready: [(u64, Source); 32],
    iterative: Iterative,
    /// The cache line of the current fetch.
    fetch_line: u64,
    causes: Causes,
}

impl<'a> Timing<'a> {
    pub(super) fn new(machine: &'a ScalarMachine) -> Self {
        Timing {
            machine,
            predictor: Predictor::new(&machine.branch),
            icache: Cache::new(machine.icache.geometry()),
            dcache: Cache::new(machine.dcache.geometry()),
            l2: Cache::new(machine.l2.geometry()),
            last: 0,
            ready: [(0, Source::Alu); 32],
            iterative: Iterative { rd: 0, is_divide: false, written: 0 },
            fetch_line: u64::MAX,
            causes: Causes::default(),
        }
    }

    /// Cycles so far.
    pub(super) fn cycles(&self) -> u64 {
        self.last
    }

    /// The cycles by cause, counted separately.
    pub(super) fn causes(&self) -> Causes {
        self.causes
    }

    /// The latency of the levels behind the first.
    fn refill(&mut self, address: u64) -> u64 {
        let hit = u64::from(self.machine.l2.latency);
        match self.l2.access(address, false) {
            Access::Hit => hit,
            Access::Miss { .. } => hit + u64::from(self.machine.memory.latency),
        }
    }

    /// The execute cycle of an instruction that could execute at `at` if its operands were ready. The wait gets a
    /// cause.
    #[inline(always)]
    fn wait_for_operands(&mut self, i: Instruction, class: Class, at: u64) -> u64 {
        // Write-after-write also waits, because results of different units could overtake one another. The immediate
        // CSR instructions have a number in rs1, which at worst makes them wait for a register.
        let (mut ready, mut source) = self.ready[i.rs1 as usize & 31];
        for register in [i.rs2, i.rd] {
            let (other, its_source) = self.ready[register as usize & 31];
            if other > ready {
                (ready, source) = (other, its_source);
            }
        }
        let unit = self.iterative;
        let uses_result = unit.rd != 0 && (i.rs1 == unit.rd || i.rs2 == unit.rd || i.rd == unit.rd);
        let uses_unit = matches!(class, Class::Multiply | Class::Divide);
        if (uses_result || uses_unit) && unit.written + 1 > ready.max(at) {
            let wait = unit.written + 1 - at;
            if unit.is_divide {
                self.causes.divide += wait;
            } else {
                self.causes.multiply += wait;
            }
            return unit.written + 1;
        }
        if ready <= at {
            return at;
        }
        *match source {
            Source::Alu => &mut self.causes.issue,
            Source::Load => &mut self.causes.load_use,
            Source::Modular => &mut self.causes.modular,
            Source::Csr => &mut self.causes.csr,
        } += ready - at;
        ready
    }

    /// A load or store in the execute stage at `at`. After a miss it is replayed when the line has arrived.
    #[inline(always)]
    fn access_data(&mut self, address: u64, write: bool, at: u64) -> u64 {
        let Access::Miss { dirty_victim } = self.dcache.access(address, write) else { return at };
        let dcache = &self.machine.dcache;
        let mut wait = u64::from(dcache.miss_overhead);
        if dirty_victim {
            wait += u64::from(dcache.line_bytes.div_ceil(dcache.writeback_bytes_per_cycle));
            wait += u64::from(dcache.writeback_overhead);
        }
        wait += self.refill(address);
        self.causes.dcache += wait;
        at + wait
    }
}

impl Observer for Timing<'_> {
    fn retire(&mut self, retired: &Retired) {
        let i = retired.instruction;
        let class = i.class();
        let machine = self.machine;
        let mut at = self.last + 1;
        self.causes.issue += 1;

        let line = retired.pc >> self.icache.line_shift();
        if line != self.fetch_line {
            self.fetch_line = line;
            if self.icache.access(retired.pc, false) != Access::Hit {
                let wait = u64::from(machine.icache.miss_overhead) + self.refill(retired.pc);
                self.causes.icache += wait;
                at += wait;
            }
        }
        at = self.wait_for_operands(i, class, at);

        let mut result = (at + 1, Source::Alu);
        // Whether the instruction writes a register in write-back. The hardware decides by the kind of instruction, not
        // by rd.
        let mut writes = true;
        // The next instruction can execute one cycle after this one.
        let mut last = at;
        match class {
            Class::Alu => {}
            Class::LoadWord | Class::LoadSubword => {
                at = self.access_data(retired.address, false, at);
                last = at;
                let latency =
                    if class == Class::LoadWord { machine.pipeline.load_word } else { machine.pipeline.load_subword };
                result = (at + u64::from(latency), Source::Load);
            }
            Class::Store => {
                at = self.access_data(retired.address, true, at);
                last = at;
                writes = false;
            }
            Class::Multiply | Class::Divide => {
                let [x, y] = retired.operands;
                let is_divide = class == Class::Divide;
                let steps = if is_divide {
                    divide_steps(&machine.divider, i.op, x, y)
                } else {
                    multiply_steps(&machine.multiplier, i.op, x)
                };
                let written = at + u64::from(steps + machine.multiplier.request_to_use) - 1;
                self.iterative = Iterative { rd: i.rd, is_divide, written };
            }
            Class::ModularAdd => result = (at + u64::from(machine.rvfhe.adder), Source::Modular),
            Class::ModularMultiply => result = (at + u64::from(machine.rvfhe.multiplier), Source::Modular),
            Class::Branch | Class::Jump | Class::IndirectJump => {
                writes = class != Class::Branch;
                let wait = match self.predictor.resolve(retired.pc, i, class, retired.next_pc) {
                    Outcome::Hit => 0,
                    Outcome::Late => u64::from(machine.branch.late_target),
                    Outcome::Mispredicted => u64::from(machine.branch.mispredict),
                };
                self.causes.branch += wait;
                last += wait;
            }
            Class::Csr => {
                result = (at + u64::from(machine.pipeline.csr_read), Source::Csr);
                if i.op == Op::Csrrw || i.op == Op::Csrrwi || i.rs1 != 0 {
                    self.causes.csr += u64::from(machine.pipeline.csr_write_flush);
                    last += u64::from(machine.pipeline.csr_write_flush);
                }
            }
            Class::System => writes = false,
        }
        // The iterative unit writes its result in a cycle in which the write-back stage, two stages after execute,
        // writes none.
        if writes && at + 2 == self.iterative.written {
            self.iterative.written += 1;
        }
        if i.rd != 0 {
            self.ready[i.rd as usize & 31] = result;
        }
        self.last = last;
    }

    /// Data written by a system call is in the L2, as if a device had sent it there.
    fn system_write(&mut self, address: u64, length: u64) {
        for cache in [&mut self.dcache, &mut self.l2] {
            let (shift, end) = (cache.line_shift(), address + length);
            let mut line = address >> shift;
            while line << shift < end {
                cache.invalidate(line << shift);
                line += 1;
            }
        }
        let shift = self.l2.line_shift();
        let mut line = address >> shift;
        while line << shift < address + length {
            self.l2.access(line << shift, false);
            line += 1;
        }
    }
}
