//! `mod_exp`: modular exponentiation behind registers, and the part of it that a host does.

pub mod registers;

use num_bigint::BigUint;

use super::mont_mul::MontgomeryConstants;
use crate::model::{Configuration, Model, Port};

/// An access that the unit answered with an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the unit refuses the {} of {address:#x}", if *write { "writing" } else { "reading" })]
pub struct BusError {
    /// The byte address.
    pub address: u32,
    /// Whether it was to be written.
    pub write: bool,
}

/// The reasons for which a host's request can be refused for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModExpError {
    /// The modulus has no Montgomery form.
    #[error("the modulus is even: Montgomery's method needs an odd one")]
    EvenModulus,
    /// The modulus does not fit.
    #[error("the modulus has {bits} bits, this unit takes at most {most}")]
    LongModulus {
        /// Its length.
        bits: u64,
        /// The longest.
        most: u32,
    },
    /// The base is not reduced.
    #[error("the base is not below the modulus")]
    LargeBase,
    /// The exponent does not fit, or has more bits than the exponent length.
    #[error("the exponent is to have {bits} bits, 1 to {most} are possible and {has} are set")]
    Exponent {
        /// The bits that were asked for.
        bits: u32,
        /// The most that the unit looks at.
        most: u32,
        /// The exponent's length.
        has: u64,
    },
    /// The unit did not start.
    #[error("the unit refuses to start: its modulus is even, or was cleared")]
    Refused,
    /// The bus said no.
    #[error(transparent)]
    Bus(#[from] BusError),
    /// No end in sight.
    #[error("not done after {cycles} cycles")]
    Stuck {
        /// How long was waited.
        cycles: u64,
    },
}

/// The exponentiation unit with a host's driver: constants, transfer, start, wait.
#[derive(Debug)]
pub struct ModExp {
    model: Model,
    select: Port,
    enable: Port,
    write: Port,
    address: Port,
    write_data: Port,
    strobe: Port,
    ready: Port,
    read_data: Port,
    error: Port,
    interrupt: Port,
}

impl ModExp {
    /// An instance of a configuration of `mod_exp`, reset.
    pub fn new(configuration: &'static Configuration, seed: u32) -> Self {
        let mut model = Model::new(configuration, seed);
        let port = |name| model.port(name);
        let (select, enable, write) = (port("psel_i"), port("penable_i"), port("pwrite_i"));
        let (address, write_data, strobe) = (port("paddr_i"), port("pwdata_i"), port("pstrb_i"));
        let (ready, read_data, error) = (port("pready_o"), port("prdata_o"), port("pslverr_o"));
        let interrupt = port("interrupt_o");
        for port in [select, enable, write] {
            model.set(port, 0);
        }
        model.reset();
        Self { model, select, enable, write, address, write_data, strobe, ready, read_data, error, interrupt }
    }

    /// Clock edges so far.
    pub fn cycles(&self) -> u64 {
        self.model.cycles()
    }

    /// Resets the unit.
    pub fn reset(&mut self) {
        self.model.set(self.select, 0);
        self.model.set(self.enable, 0);
        self.model.reset();
    }

    /// Lets clock edges pass without an access.
    pub fn idle(&mut self, cycles: u64) {
        for _ in 0..cycles {
            self.model.clock();
        }
    }

    /// Whether the interrupt is raised.
    pub fn interrupt(&mut self) -> bool {
        self.model.eval();
        self.model.get(self.interrupt) == 1
    }

    /// An APB access: setup, then access until the unit is ready.
    fn access(&mut self, address: u32, data: Option<(u32, u8)>) -> Result<u32, BusError> {
        let write = data.is_some();
        let (value, strobe) = data.unwrap_or((0, 0));
        self.model.set(self.address, u64::from(address));
        self.model.set(self.write, u64::from(write));
        self.model.set(self.write_data, u64::from(value));
        self.model.set(self.strobe, u64::from(strobe));
        self.model.set(self.select, 1);
        self.model.set(self.enable, 0);
        self.model.clock();
        self.model.set(self.enable, 1);
        self.model.eval();
        while self.model.get(self.ready) == 0 {
            self.model.clock();
        }
        let (read, error) = (self.model.get(self.read_data) as u32, self.model.get(self.error) == 1);
        self.model.clock();
        self.model.set(self.select, 0);
        self.model.set(self.enable, 0);
        self.model.eval();
        if error { Err(BusError { address, write }) } else { Ok(read) }
    }

    /// Reads a word.
    ///
    /// # Errors
    /// If the unit refuses.
    pub fn read(&mut self, address: u32) -> Result<u32, BusError> {
        self.access(address, None)
    }

    /// Writes the bytes of a word that `strobe` names.
    ///
    /// # Errors
    /// If the unit refuses.
    pub fn write_bytes(&mut self, address: u32, value: u32, strobe: u8) -> Result<(), BusError> {
        self.access(address, Some((value, strobe))).map(|_| ())
    }

    /// Writes a word.
    ///
    /// # Errors
    /// If the unit refuses.
    pub fn write(&mut self, address: u32, value: u32) -> Result<(), BusError> {
        self.write_bytes(address, value, 0xf)
    }

    fn write_number(&mut self, address: u32, words: u32, number: &BigUint) -> Result<(), BusError> {
        let digits = number.to_u32_digits();
        for i in 0..words {
            self.write(address + 4 * i, digits.get(i as usize).copied().unwrap_or(0))?;
        }
        Ok(())
    }

    fn field(&mut self, address: u32, mask: u32) -> Result<u32, BusError> {
        Ok((self.read(address)? & mask) >> mask.trailing_zeros())
    }

    /// The longest modulus.
    ///
    /// # Errors
    /// If the bus fails.
    pub fn bits(&mut self) -> Result<u32, BusError> {
        self.field(registers::PARAMETERS, registers::PARAMETERS_BITS)
    }

    /// Loads a modulus with the constants that Montgomery's method needs: the host's part, once for a modulus.
    ///
    /// # Errors
    /// If the modulus is even or too long.
    pub fn load_modulus(&mut self, modulus: &BigUint) -> Result<(), ModExpError> {
        let bits = self.bits()?;
        if !modulus.bit(0) {
            return Err(ModExpError::EvenModulus);
        }
        if modulus.bits() > u64::from(bits) {
            return Err(ModExpError::LongModulus { bits: modulus.bits(), most: bits });
        }
        let digit = self.field(registers::PARAMETERS, registers::PARAMETERS_DIGIT)?;
        let constants = MontgomeryConstants::new(modulus, digit, (bits + 4).div_ceil(digit));
        let words = bits / 32;
        self.write_number(registers::MODULUS, words, &constants.modulus)?;
        self.write_number(registers::NHAT, words, &constants.nhat)?;
        self.write_number(registers::U, digit.div_ceil(32), &constants.u)?;
        self.write_number(registers::RSQUARED, words, &(&constants.r * &constants.r % modulus))?;
        Ok(())
    }

    /// base^exponent modulo the modulus that was loaded, and the cycles it took. `exponent_bits` is how many bits are looked
    /// at: public, as the time depends on it.
    ///
    /// # Errors
    /// If a number is out of range, the unit is busy, refuses to start (as without a modulus), or does not end.
    pub fn compute(
        &mut self,
        base: &BigUint,
        modulus: &BigUint,
        exponent: &BigUint,
        exponent_bits: u32,
    ) -> Result<(BigUint, u64), ModExpError> {
        let bits = self.bits()?;
        if base >= modulus {
            return Err(ModExpError::LargeBase);
        }
        let has = exponent.bits();
        if exponent_bits == 0 || exponent_bits > bits || has > u64::from(exponent_bits) {
            return Err(ModExpError::Exponent { bits: exponent_bits, most: bits, has });
        }
        self.write_number(registers::BASE, bits / 32, base)?;
        self.write_number(registers::EXPONENT, bits / 32, exponent)?;
        self.write(registers::EXPONENT_BITS, exponent_bits)?;
        self.write(registers::CONTROL, registers::CONTROL_START)?;
        self.wait(u64::from(bits) * 400)?;
        if self.read(registers::STATUS)? & registers::STATUS_DONE == 0 {
            return Err(ModExpError::Refused);
        }
        Ok((self.result()?, u64::from(self.read(registers::CYCLES)?)))
    }

    /// The content of the result window.
    ///
    /// # Errors
    /// If the bus fails.
    pub fn result(&mut self) -> Result<BigUint, BusError> {
        let words = self.bits()? / 32;
        (0..words).map(|i| self.read(registers::RESULT + 4 * i)).collect::<Result<_, _>>().map(BigUint::new)
    }

    /// Overwrites every number in the unit.
    ///
    /// # Errors
    /// If the unit is busy or does not end.
    pub fn clear(&mut self) -> Result<(), ModExpError> {
        self.write(registers::CONTROL, registers::CONTROL_CLEAR)?;
        self.wait(10_000)
    }

    /// Waits until the unit is not busy.
    ///
    /// # Errors
    /// If that takes longer than `patience` cycles.
    pub fn wait(&mut self, patience: u64) -> Result<(), ModExpError> {
        let begin = self.cycles();
        while self.read(registers::STATUS)? & registers::STATUS_BUSY != 0 {
            if self.cycles() - begin > patience {
                return Err(ModExpError::Stuck { cycles: patience });
            }
            self.idle(16);
        }
        Ok(())
    }
}
