//! Programs for the cores of the array.

use ciphermill_rvfhe::isa::{
    Address, Core, Immediate, Instruction, ModulusRegister, Operand, ScalarRegister, Tile, TwiddleRegister,
    UpperImmediate, VectorRegister,
};

use crate::support::Source;

const REGISTERS: usize = 32;
const TWIDDLES: usize = 16;
/// Rows of its own data memory that a random program uses: few, so that copies wait for them.
const ROWS: usize = 3;
/// Any word, where a value need not be below a modulus.
const ANY: u64 = 1 << 32;

pub(crate) fn vector(number: usize) -> VectorRegister {
    VectorRegister::new(number).expect("a register")
}

pub(crate) fn twiddle(number: usize) -> TwiddleRegister {
    TwiddleRegister::new(number).expect("a twiddle register")
}

pub(crate) fn modulus(number: usize) -> ModulusRegister {
    ModulusRegister::new(number).expect("a modulus register")
}

/// A place that an instruction itself names.
pub(crate) fn at<const BITS: u32>(place: usize) -> Address<BITS> {
    Address::new(ScalarRegister::ZERO, place).expect("a place in reach")
}

/// Factors and companions of a row of twiddles.
pub(crate) fn pairs(factors: &[u64], m: u64) -> Vec<(u32, u32)> {
    factors.iter().map(|w| (*w as u32, ((w << 32) / m) as u32)).collect()
}

/// Sets a modulus.
pub(crate) fn set_modulus(instructions: &mut Vec<Instruction>, register: usize, m: u64) {
    let rd = ScalarRegister::new(5).expect("a register");
    let word = m as u32;
    // addi takes its 12 bits as signed.
    let low = (word << 20) as i32 >> 20;
    let upper = word.wrapping_sub(low as u32) >> 12;
    let mut rs1 = ScalarRegister::ZERO;
    if upper != 0 {
        instructions.push(Instruction::Lui { rd, immediate: UpperImmediate::new(upper).expect("20 bits") });
        rs1 = rd;
    }
    instructions.push(Instruction::Addi { rd, rs1, immediate: Immediate::new(low).expect("12 bits") });
    instructions.push(Instruction::Csrrw { rd: ScalarRegister::ZERO, modulus: modulus(register), rs1: rd });
}

/// A program for the first of two cores, and its inputs.
pub(crate) struct RandomProgram {
    /// It ends with `ebreak`.
    pub instructions: Vec<Instruction>,
    /// The scratchpad from its first word on.
    pub scratchpad: Vec<u32>,
    /// The twiddle memory.
    pub twiddles: Vec<(u32, u32)>,
}

/// Writes a random program and keeps the contents of all places in execution order: bounds, not values.
struct Builder<'a> {
    source: &'a mut Source,
    lanes: usize,
    program: RandomProgram,
    /// The bound of the values of a full register.
    registers: [Option<u64>; REGISTERS],
    /// Which registers hold a vector that has been loaded and that nothing has read: no result may be written to them.
    unread: [bool; REGISTERS],
    twiddles: [Option<u64>; TWIDDLES],
    /// The bound of the values of a full row.
    rows: [Option<u64>; ROWS],
    moduli: [u64; 8],
    stores: usize,
    sent: usize,
}

pub(crate) fn random(source: &mut Source, lanes: usize, length: usize) -> RandomProgram {
    let program = RandomProgram { instructions: Vec::new(), scratchpad: Vec::new(), twiddles: Vec::new() };
    let mut builder = Builder {
        source,
        lanes,
        program,
        registers: [None; REGISTERS],
        unread: [false; REGISTERS],
        twiddles: [None; TWIDDLES],
        rows: [None; ROWS],
        moduli: [0; 8],
        stores: 0,
        sent: 0,
    };
    for register in 0..8 {
        builder.set_modulus(register);
    }
    for _ in 0..length {
        builder.any();
    }
    for register in 0..REGISTERS {
        if builder.registers[register].is_some() {
            builder.store(register);
        }
    }
    builder.program.instructions.push(Instruction::Ebreak);
    builder.program
}

impl Builder<'_> {
    fn pick(&mut self, bound: usize) -> usize {
        (self.source.any() % bound as u64) as usize
    }

    fn push(&mut self, instruction: Instruction) {
        self.program.instructions.push(instruction);
    }

    fn set_modulus(&mut self, register: usize) {
        let top = 1 << 31;
        let m = match self.pick(8) {
            0 => top,
            1 => top - 1,
            2 => 1 + self.source.below(5),
            _ => 1 + self.source.below(top),
        };
        self.moduli[register] = m;
        set_modulus(&mut self.program.instructions, register, m);
    }

    fn store(&mut self, register: usize) {
        // Behind all that is read.
        self.push(Instruction::Sts { vs1: vector(register), vector: at(2048 + self.stores) });
        self.stores += 1;
        self.registers[register] = None;
        self.unread[register] = false;
    }

    /// Fills a register with values below a bound, from a row if one has such.
    fn load(&mut self, register: usize, bound: u64) {
        let vd = vector(register);
        let row = self.rows.iter().position(|row| row.is_some_and(|below| below <= bound));
        if let Some(row) = row.filter(|_| self.source.chance(3, 4)) {
            let free = self.source.chance(2, 3);
            self.push(Instruction::Ldp { vd, row: at(row), tile: Tile::NONE, free });
            self.registers[register] = self.rows[row];
            if free {
                self.rows[row] = None;
            }
        } else {
            let number = self.program.scratchpad.len() / self.lanes;
            for _ in 0..self.lanes {
                let word = self.source.below(bound) as u32;
                self.program.scratchpad.push(word);
            }
            self.push(Instruction::Lds { vd, vector: at(number) });
            self.registers[register] = Some(bound);
        }
        self.unread[register] = true;
    }

    /// A register with values below a bound, if one is found soon.
    fn operand(&mut self, bound: u64) -> Option<usize> {
        for _ in 0..12 {
            // Few registers, so that instructions depend on one another.
            let most = if self.source.chance(1, 2) { 6 } else { REGISTERS };
            let register = self.pick(most);
            match self.registers[register] {
                Some(below) if below <= bound => return Some(register),
                Some(_) => {}
                None => {
                    self.load(register, bound);
                    return Some(register);
                }
            }
        }
        None
    }

    /// A twiddle register with factors below a modulus.
    fn factors(&mut self, m: u64) -> Option<usize> {
        for _ in 0..12 {
            let register = self.pick(TWIDDLES);
            match self.twiddles[register] {
                Some(of) if of == m => return Some(register),
                Some(_) => {}
                None => {
                    let row = self.program.twiddles.len() / self.lanes;
                    let factors: Vec<_> = (0..self.lanes).map(|_| self.source.below(m)).collect();
                    self.program.twiddles.extend(pairs(&factors, m));
                    self.push(Instruction::Ldt { td: twiddle(register), row: at(row), broadcast: false });
                    self.twiddles[register] = Some(m);
                    return Some(register);
                }
            }
        }
        None
    }

    /// A register that a result may be written to.
    fn destination(&mut self) -> usize {
        loop {
            let register = self.pick(REGISTERS);
            if !self.unread[register] {
                return register;
            }
        }
    }

    fn has_read(&mut self, register: usize, free: bool) {
        self.unread[register] = false;
        if free {
            self.registers[register] = None;
        }
    }

    fn operands<const N: usize>(&mut self, bounds: [u64; N]) -> Option<[usize; N]> {
        let mut operands = [0; N];
        for (operand, bound) in operands.iter_mut().zip(bounds) {
            *operand = self.operand(bound)?;
        }
        Some(operands)
    }

    fn any(&mut self) {
        let m = self.pick(8);
        let bound = self.moduli[m];
        // What does not find its operands is left out.
        match self.pick(14) {
            0..=2 => drop(self.sum(m, bound)),
            3..=5 => drop(self.product(m, bound)),
            6..=8 => drop(self.butterfly(m, bound)),
            9..=11 => {
                for _ in 0..1 + self.pick(4) {
                    self.copy();
                }
            }
            12 => {
                let register = self.pick(REGISTERS);
                let bound = if self.source.chance(1, 2) { bound } else { ANY };
                if self.registers[register].is_none() {
                    self.load(register, bound);
                } else {
                    self.store(register);
                }
            }
            _ if self.source.chance(1, 4) => self.set_modulus(m),
            _ => drop(self.factors(bound)),
        }
    }

    fn sum(&mut self, m: usize, bound: u64) -> Option<()> {
        let [first, second] = self.operands([bound; 2])?;
        let (free1, free2) = (self.source.chance(1, 3), self.source.chance(1, 3));
        self.has_read(first, free1);
        self.has_read(second, free2);
        let to = self.destination();
        // What is written is not freed.
        let operand = |register, free| Operand { register: vector(register), free: free && register != to };
        let (vd, vs1, vs2, modulus) = (vector(to), operand(first, free1), operand(second, free2), modulus(m));
        let add = self.source.chance(1, 2);
        self.push(if add {
            Instruction::Madd { vd, vs1, vs2, modulus }
        } else {
            Instruction::Msub { vd, vs1, vs2, modulus }
        });
        self.registers[to] = Some(bound);
        Some(())
    }

    fn product(&mut self, m: usize, bound: u64) -> Option<()> {
        let [from] = self.operands([ANY])?;
        let factors = self.factors(bound)?;
        let (free1, free2) = (self.source.chance(1, 3), self.source.chance(1, 3));
        self.has_read(from, free1);
        let to = self.destination();
        let vs1 = Operand { register: vector(from), free: free1 && from != to };
        let ts2 = Operand { register: twiddle(factors), free: free2 };
        self.push(Instruction::Mmul { vd: vector(to), vs1, ts2, modulus: modulus(m) });
        self.registers[to] = Some(bound);
        if free2 {
            self.twiddles[factors] = None;
        }
        Some(())
    }

    fn butterfly(&mut self, m: usize, bound: u64) -> Option<()> {
        let [x, y] = self.operands([bound, ANY]).filter(|[x, y]| x != y)?;
        let factors = self.factors(bound)?;
        let free = self.source.chance(1, 3);
        let ts2 = Operand { register: twiddle(factors), free };
        self.push(Instruction::Mbfly { vd: vector(x), vs1: vector(y), ts2, modulus: modulus(m) });
        for register in [x, y] {
            self.registers[register] = Some(bound);
            self.unread[register] = false;
        }
        if free {
            self.twiddles[factors] = None;
        }
        Some(())
    }

    /// A copy to a row of the core itself or of the other one.
    fn copy(&mut self) -> Option<()> {
        let some: [usize; 4] = std::array::from_fn(|_| self.pick(REGISTERS));
        let register = some.into_iter().find(|register| self.registers[*register].is_some())?;
        let row = self.pick(ROWS);
        let (core, place) = if self.rows[row].is_none() && self.source.chance(2, 3) {
            self.rows[row] = self.registers[register];
            (0, row)
        } else {
            self.sent += 1;
            // There no core empties a row.
            (1, Some(self.sent - 1).filter(|place| *place < 128)?)
        };
        let (vs1, core) = (vector(register), Core::new(core).expect("a core"));
        let free = self.source.chance(1, 2);
        self.push(if free {
            Instruction::Copy { core, vs1, row: at(place) }
        } else {
            Instruction::Copyk { core, vs1, row: at(place) }
        });
        self.has_read(register, free);
        Some(())
    }
}
