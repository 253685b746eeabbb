//! Code generation: from a schedule to each core's instructions and memories.

use std::collections::{HashMap, HashSet};

use crate::isa::{
    Address, BranchOffset, Core, FloatButterfly, Immediate, Instruction, JumpOffset, ModulusRegister, Offset, Operand,
    RangeError, ScalarRegister, Tile, TwiddleRegister, UpperImmediate, VectorRegister,
};

use super::factors::Factor;
use super::graph::{Action, FactorKey, Graph, Node, Region, Unit};
use super::layout::Place;
use super::schedule::{Schedule, schedule};
use super::target::{SCALAR_REGISTERS, Target};
use super::{CompileError, Lack, Polynomial, Refusal};

/// The program and the twiddle memory of a core.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let compiled = compile(&target, &Task::Transform(transform), 1)?;
/// let image = compiled.cores[0].clone();
/// let program = Program::new(Core::FIRST, image.instructions, InstructionMemory::PAPER)?;
/// assert!(program.to_string().contains("mbfly"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoreImage {
    /// The program. Register `x10` contains the number of runs, at least one.
    pub instructions: Vec<Instruction>,
    /// The twiddle memory: factors and companions of each row, lane by lane.
    pub twiddles: Vec<(u32, u32)>,
}

/// Rows within the offset of a copy or a load.
const WINDOW: u32 = 128;
/// The register with the remaining number of runs.
const COUNT: usize = 10;
/// The registers with the scratchpad address of inputs and outputs, and with its increment per run.
const SCRATCHPAD: usize = 11;
const STRIDE: usize = 12;
/// The register for constants in the prologue.
const SCRATCH: usize = 5;
/// The register that toggles the bases of the regions written by other cores.
const TOGGLE: usize = 6;
/// The register with the first base of the data memory.
const FIRST_BASE: usize = 13;
/// Addressable rows of the data memory: one window for each base.
const DATA_REACH: u32 = (SCALAR_REGISTERS - FIRST_BASE) as u32 * WINDOW;
/// Addressable rows, and pairs, of the twiddle memory, by the offset of a load.
const TWIDDLE_REACH: u32 = Offset::<11>::MAX as u32 + 1;

/// The placement of regions in the data memories.
pub(crate) struct Rows {
    /// The first row of each region.
    first: Vec<u32>,
    /// Rows of the windows that other cores write. The same number follows, for alternate runs.
    shared: u32,
    /// The total number of rows.
    count: u32,
}

impl Rows {
    /// Places the regions that other cores write first, in two copies. A core may finish a run before others have read
    /// the rows of the previous one, and must not overwrite them. It cannot be two runs ahead, because each run waits
    /// for rows from all cores.
    pub(crate) fn place(graph: &Graph, target: &Target) -> Result<Self, Refusal> {
        let size = |region: usize| graph.regions[region].rows * graph.width;
        let mut first = vec![0; graph.regions.len()];
        let (remote, own): (Vec<_>, Vec<_>) =
            (0..graph.regions.len()).partition(|region| !graph.regions[*region].reshuffle.swaps.is_empty());
        let mut next = 0;
        for region in remote {
            first[region] = next;
            next += size(region);
        }
        // A power of two, so that one XOR switches between the two copies.
        let shared = if next == 0 { 0 } else { next.next_power_of_two().max(WINDOW) };
        next = 2 * shared;
        for region in own {
            first[region] = next;
            next += size(region);
        }
        let have = target.data_rows.min(DATA_REACH);
        if next > have {
            return Err(Refusal::Lack(Lack::DataRows { needed: next, have }));
        }
        Ok(Self { first, shared, count: next })
    }
}

/// The position of a row in its region. The slots that become lanes are its low bits.
fn region_row(tile: &[usize], rows: usize, value: u32) -> u32 {
    let others = (0..rows).filter(|slot| !tile.contains(slot));
    tile.iter().copied().chain(others).enumerate().fold(0, |row, (bit, slot)| row | (value >> slot & 1) << bit)
}

/// The twiddle memory of one core: single pairs first, then rows.
struct Twiddles {
    lanes: usize,
    pairs: Vec<Factor>,
    rows: Vec<Vec<Factor>>,
    known: HashMap<Vec<Factor>, TwiddlePlace>,
}

#[derive(Clone, Copy)]
enum TwiddlePlace {
    Pair(usize),
    Row(usize),
}

impl Twiddles {
    fn new(target: &Target) -> Self {
        Self { lanes: target.lanes as usize, pairs: Vec::new(), rows: Vec::new(), known: HashMap::new() }
    }

    fn place(&mut self, factors: Vec<Factor>) -> TwiddlePlace {
        if let Some(place) = self.known.get(&factors) {
            return *place;
        }
        let single = factors.iter().all(|factor| *factor == factors[0]);
        let place = if single && self.pairs.len() < TWIDDLE_REACH as usize {
            self.pairs.push(factors[0]);
            TwiddlePlace::Pair(self.pairs.len() - 1)
        } else {
            self.rows.push(factors.clone());
            TwiddlePlace::Row(self.rows.len() - 1)
        };
        self.known.insert(factors, place);
        place
    }

    fn pair_rows(&self) -> usize {
        self.pairs.len().div_ceil(self.lanes)
    }

    /// Checks that all twiddles fit a core's memory.
    fn check(&self, target: &Target) -> Result<(), Refusal> {
        let needed = (self.pair_rows() + self.rows.len()) as u32;
        let have = target.twiddle_rows.min(TWIDDLE_REACH);
        if needed > have { Err(Refusal::Lack(Lack::TwiddleRows { needed, have })) } else { Ok(()) }
    }

    fn image(self) -> Vec<Factor> {
        let mut image = self.pairs;
        image.resize(image.len().next_multiple_of(self.lanes), (0, 0));
        image.extend(self.rows.into_iter().flatten());
        image
    }
}

pub(crate) struct Emitter<'a> {
    pub target: &'a Target,
    pub graph: &'a Graph,
    pub rows: &'a Rows,
    pub schedule: &'a Schedule,
    pub polynomials: &'a [Polynomial],
    /// Vectors of the real or the imaginary part of a polynomial.
    pub part: u32,
    pub frame: Frame,
}

/// The parameters of the prologue and the epilogue.
#[derive(Clone, Copy)]
pub(crate) struct Frame {
    /// Vectors between the scratchpad addresses of consecutive runs.
    pub stride: u32,
    pub modulus: Option<u32>,
}

/// The position of an instruction in the order.
type Key = (u32, u8, usize);

impl Emitter<'_> {
    pub(crate) fn emit(&self) -> Result<Vec<CoreImage>, Refusal> {
        (0..self.target.cores).map(|core| self.core(core)).collect()
    }

    fn core(&self, core: u32) -> Result<CoreImage, Refusal> {
        let mut twiddles = Twiddles::new(self.target);
        let mut places = Vec::new();
        for load in &self.schedule.twiddles {
            places.push(twiddles.place(factors(self.graph, self.target, core, &load.factor)));
        }
        twiddles.check(self.target)?;
        let pair_rows = twiddles.pair_rows();
        let mut body: Vec<(Key, Instruction)> = Vec::new();
        for (at, (load, place)) in self.schedule.twiddles.iter().zip(places).enumerate() {
            let (row, broadcast) = match place {
                TwiddlePlace::Pair(pair) => (pair, true),
                TwiddlePlace::Row(row) => (pair_rows + row, false),
            };
            let td = TwiddleRegister::new(load.register)?;
            let row = Address::new(ScalarRegister::ZERO, row as u32)?;
            body.push(((load.cycle, 2, at), Instruction::Ldt { td, row, broadcast }));
        }
        let mut begun = HashSet::new();
        for (at, id) in self.schedule.order.iter().enumerate() {
            let cycle = self.schedule.cycle[*id as usize];
            let node = &self.graph.nodes[*id as usize];
            if self.target.per_phase && node.unit() == Unit::Compute && begun.insert(node.group) {
                body.push(((cycle, 0, 2 * at), Instruction::Phase));
            }
            for part in 0..self.graph.width {
                if let Some((rank, instruction)) = self.node(core, *id, part)? {
                    body.push(((cycle, rank, 2 * at + part as usize), instruction));
                }
            }
        }
        body.sort_by_key(|(key, _)| *key);
        let mut instructions = self.frame.prologue(self.rows)?;
        let start = instructions.len();
        instructions.extend(body.into_iter().map(|(_, instruction)| instruction));
        Frame::epilogue(self.rows, start, &mut instructions)?;
        debug_assert_eq!(
            instructions.len(),
            self.frame.length(self.graph, self.target, self.rows)? + self.schedule.twiddles.len()
        );
        check_length(instructions.len(), self.target)?;
        Ok(CoreImage { instructions, twiddles: twiddles.image() })
    }

    /// The register of a value, or of the real (0) or imaginary (1) part of a complex value.
    fn vector(&self, value: u32, part: u32) -> Result<VectorRegister, RangeError> {
        VectorRegister::new(u32::from(self.schedule.register[value as usize]) * self.graph.width + part)
    }

    fn twiddle(&self, node: u32) -> Result<Operand<TwiddleRegister>, RangeError> {
        let (register, last) = self.schedule.twiddle[&node];
        Ok(Operand { register: TwiddleRegister::new(register)?, free: last })
    }

    /// The instruction for one part of a node. A computation handles all parts in one instruction.
    fn node(&self, core: u32, id: u32, part: u32) -> Result<Option<(u8, Instruction)>, CompileError> {
        let modulus = ModulusRegister::FIRST;
        Ok(Some(match &self.graph.nodes[id as usize].action {
            Action::Load { value, from, layout, position, keep } => {
                let row = self.place(core, *from, *layout, *position);
                (4, self.load(core, self.vector(*value, part)?, *from, row, part, *keep)?)
            }
            Action::Send { value, to, layout, position } => {
                let row = self.place(core, *to, *layout, *position);
                (3, self.send(core, self.vector(*value, part)?, *to, row, part)?)
            }
            _ if part > 0 => return Ok(None),
            Action::Butterfly { low, high, bit, position, factor } => {
                let layout = &self.graph.layouts[factor.layout];
                let slot = layout.row_slot(*bit).expect("a level is on the rows");
                // In cores whose twin bit is set, the low position holds the high value.
                let swapped = layout.row_value(core, *position) >> slot & 1 == 1;
                let (low, high) = if swapped { (high, low) } else { (low, high) };
                let (vd, vs1, ts2) = (self.vector(*low, 0)?, self.vector(*high, 0)?, self.twiddle(id)?);
                if self.graph.width == 1 {
                    (1, Instruction::Mbfly { vd, vs1, ts2, modulus })
                } else {
                    (1, Instruction::Fbfly { form: FloatButterfly::DecimationInTime, vd, vs1, ts2 })
                }
            }
            Action::Multiply { value, .. } => {
                let vd = self.vector(*value, 0)?;
                (1, Instruction::Mmul { vd, vs1: vd.kept(), ts2: self.twiddle(id)?, modulus })
            }
            Action::Add { to, from } => {
                let vd = self.vector(*to, 0)?;
                (1, Instruction::Madd { vd, vs1: vd.kept(), vs2: self.vector(*from, 0)?.freed(), modulus })
            }
        }))
    }

    /// The row of a place at a position of a core.
    fn place(&self, core: u32, place: Place, layout: usize, position: u32) -> u32 {
        let layout = &self.graph.layouts[layout];
        let row = layout.row_value(core, position);
        if let Place::Scratchpad(_) = place { layout.stored_row(row) } else { row }
    }

    fn load(
        &self,
        core: u32,
        vd: VectorRegister,
        from: Place,
        row: u32,
        part: u32,
        keep: bool,
    ) -> Result<Instruction, CompileError> {
        Ok(match from {
            Place::Scratchpad(polynomial) => {
                Instruction::Lds { vd, vector: self.scratchpad(core, polynomial, row, part)? }
            }
            Place::Region(region) => {
                let tile = &self.graph.regions[region].reshuffle.tile;
                let row = self.row(region, row, part);
                let row = Address::new(base(row)?, row % WINDOW)?;
                let tile = Tile::new(tile.slots.len() as u32, tile.rotate)?;
                Instruction::Ldp { vd, row, tile, free: !keep }
            }
        })
    }

    fn send(
        &self,
        core: u32,
        vs1: VectorRegister,
        to: Place,
        mut row: u32,
        part: u32,
    ) -> Result<Instruction, CompileError> {
        Ok(match to {
            Place::Scratchpad(polynomial) => {
                Instruction::Sts { vs1, vector: self.scratchpad(core, polynomial, row, part)? }
            }
            Place::Region(region) => {
                let mut to = core;
                for (slot, twin) in &self.graph.regions[region].reshuffle.swaps {
                    let (row_bit, core_bit) = (row >> slot & 1, core >> twin & 1);
                    to = to & !(1 << twin) | row_bit << twin;
                    row = row & !(1 << slot) | core_bit << slot;
                }
                let row = self.row(region, row, part);
                let row = Address::new(base(row)?, row % WINDOW)?;
                Instruction::Copy { core: Core::new(to)?, vs1, row }
            }
        })
    }

    /// The row of the data memory for a row of a region.
    fn row(&self, region: usize, row: u32, part: u32) -> u32 {
        let Region { rows: count, reshuffle } = &self.graph.regions[region];
        self.rows.first[region] + part * count + region_row(&reshuffle.tile.slots, count.ilog2() as usize, row)
    }

    fn scratchpad(&self, core: u32, polynomial: usize, row: u32, part: u32) -> Result<Address<12>, CompileError> {
        let vector = self.polynomials[polynomial].first_vector + part * self.part + row * self.target.cores + core;
        Ok(Address::new(ScalarRegister::new(SCRATCHPAD)?, vector)?)
    }
}

impl Frame {
    fn prologue(self, rows: &Rows) -> Result<Vec<Instruction>, RangeError> {
        let mut instructions = Vec::new();
        if let Some(modulus) = self.modulus {
            set(&mut instructions, SCRATCH, modulus)?;
            instructions.push(Instruction::Csrrw {
                rd: ScalarRegister::ZERO,
                modulus: ModulusRegister::FIRST,
                rs1: ScalarRegister::new(SCRATCH)?,
            });
        }
        set(&mut instructions, STRIDE, self.stride)?;
        set(&mut instructions, TOGGLE, rows.shared)?;
        for window in 0..rows.count.div_ceil(WINDOW) {
            set(&mut instructions, FIRST_BASE + window as usize, window * WINDOW)?;
        }
        Ok(instructions)
    }

    fn epilogue(rows: &Rows, start: usize, instructions: &mut Vec<Instruction>) -> Result<(), RangeError> {
        let register = |number| ScalarRegister::new(number);
        for window in 0..rows.shared / WINDOW {
            let base = register(FIRST_BASE + window as usize)?;
            instructions.push(Instruction::Xor { rd: base, rs1: base, rs2: register(TOGGLE)? });
        }
        let scratchpad = register(SCRATCHPAD)?;
        instructions.push(Instruction::Add { rd: scratchpad, rs1: scratchpad, rs2: register(STRIDE)? });
        let count = register(COUNT)?;
        instructions.push(Instruction::Addi { rd: count, rs1: count, immediate: Immediate::new(-1)? });
        // A jump reaches farther back than a branch.
        instructions.push(Instruction::Bne { rs1: count, rs2: ScalarRegister::ZERO, offset: BranchOffset::new(2)? });
        instructions.push(Instruction::Ebreak);
        let back = start as i64 - instructions.len() as i64;
        instructions.push(Instruction::Jal { rd: ScalarRegister::ZERO, offset: JumpOffset::new(back)? });
        Ok(())
    }

    /// The length of a program without its loads of twiddle registers, which only the schedule determines.
    fn length(self, graph: &Graph, target: &Target, rows: &Rows) -> Result<usize, RangeError> {
        let mut ends = self.prologue(rows)?;
        Self::epilogue(rows, 0, &mut ends)?;
        let parts = |unit| if unit == Unit::Compute { 1 } else { graph.width as usize };
        let body: usize = graph.nodes.iter().map(|node| parts(node.unit())).sum();
        let computing = graph.nodes.iter().filter(|node| target.per_phase && node.unit() == Unit::Compute);
        let phases = computing.map(|node| node.group).collect::<HashSet<_>>().len();
        Ok(ends.len() + body + phases)
    }

    /// Checks that a program can be emitted, without emitting it.
    pub(crate) fn check(self, graph: &Graph, target: &Target) -> Result<(), Refusal> {
        let rows = Rows::place(graph, target)?;
        // Every factor is loaded at least once.
        let keys: HashSet<_> = graph.nodes.iter().filter_map(Node::factor).collect();
        // No factor needs more than one row, which in most cases suffices without the values.
        let cores = if keys.len() <= target.twiddle_rows.min(TWIDDLE_REACH) as usize { 0 } else { target.cores };
        for core in 0..cores {
            let mut twiddles = Twiddles::new(target);
            for key in &keys {
                twiddles.place(factors(graph, target, core, key));
            }
            twiddles.check(target)?;
        }
        let length = self.length(graph, target, &rows)?;
        // A factor is reloaded only after a use, which in most cases suffices without a schedule.
        let most = length + graph.nodes.iter().filter(|node| node.factor().is_some()).count();
        if most <= target.instructions as usize {
            return Ok(());
        }
        let schedule = schedule(graph, target).ok_or(CompileError::NoOrder)?;
        check_length(length + schedule.twiddles.len(), target)
    }
}

/// The factors of all lanes of a core.
fn factors(graph: &Graph, target: &Target, core: u32, key: &FactorKey) -> Vec<Factor> {
    let (layout, set) = (&graph.layouts[key.layout], &graph.sets[key.set]);
    (0..target.lanes).map(|lane| set.at(key.role, layout.index(core, key.position, lane))).collect()
}

fn check_length(needed: usize, target: &Target) -> Result<(), Refusal> {
    let have = target.instructions;
    let lack = Lack::Instructions { needed: needed as u32, have };
    if needed > have as usize { Err(Refusal::Lack(lack)) } else { Ok(()) }
}

fn base(row: u32) -> Result<ScalarRegister, RangeError> {
    ScalarRegister::new(FIRST_BASE + (row / WINDOW) as usize)
}

/// Appends instructions that set a scalar register to a constant below 2^31.
fn set(instructions: &mut Vec<Instruction>, register: usize, constant: u32) -> Result<(), RangeError> {
    let rd = ScalarRegister::new(register)?;
    // addi sign-extends its 12 bits.
    let low = (constant << 20) as i32 >> 20;
    let upper = constant.wrapping_sub(low as u32);
    let mut rs1 = ScalarRegister::ZERO;
    if upper != 0 {
        instructions.push(Instruction::Lui { rd, immediate: UpperImmediate::new(upper >> 12)? });
        rs1 = rd;
    }
    instructions.push(Instruction::Addi { rd, rs1, immediate: Immediate::new(low)? });
    Ok(())
}
