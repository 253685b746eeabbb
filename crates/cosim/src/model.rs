//! A verilated module: ports by name, a clock, nothing else.

use core::ffi::{c_char, c_int, c_uint, c_void};
use std::ffi::CString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::ptr::NonNull;

use num_bigint::BigUint;

/// A port of a module.
#[derive(Clone, Copy, Debug)]
pub struct PortInfo {
    /// The port's name in the module.
    pub name: &'static str,
    /// Whether the module reads it.
    pub input: bool,
    /// How many bits it has.
    pub bits: u32,
}

/// The functions of a model's shim; see `build/shim.rs`.
struct Functions {
    new: unsafe extern "C" fn(c_uint) -> *mut c_void,
    delete: unsafe extern "C" fn(*mut c_void),
    eval: unsafe extern "C" fn(*mut c_void),
    trace: unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int,
    coverage: unsafe extern "C" fn(*mut c_void, *const c_char) -> c_int,
    ports: unsafe extern "C" fn(*mut c_void, *mut *mut c_void),
}

/// A unit with parameters, as `hw/units.toml` names it.
pub struct Configuration {
    /// The unit's name.
    pub unit: &'static str,
    /// The configuration's name.
    pub name: &'static str,
    parameters: &'static [(&'static str, i64)],
    /// The module's ports.
    pub ports: &'static [PortInfo],
    functions: Functions,
}

include!(concat!(env!("OUT_DIR"), "/registry.rs"));

/// The configurations of a unit that were built; none where the unit is unknown.
pub fn configurations(unit: &str) -> impl Iterator<Item = &'static Configuration> {
    CONFIGURATIONS.iter().filter(move |configuration| configuration.unit == unit)
}

impl Configuration {
    /// The value of a parameter that the configuration states.
    ///
    /// # Panics
    /// If it states none of that name: the default of a module is not known here.
    pub fn parameter(&self, name: &str) -> i64 {
        self.stated(name).unwrap_or_else(|| panic!("{self} states no parameter {name}"))
    }

    /// The value of a parameter, if the configuration states it.
    pub fn stated(&self, name: &str) -> Option<i64> {
        self.parameters.iter().find(|(key, _)| *key == name).map(|(_, value)| *value)
    }

    /// All parameters that the configuration states.
    pub fn parameters(&self) -> &'static [(&'static str, i64)] {
        self.parameters
    }
}

impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.unit, self.name)
    }
}

impl fmt::Debug for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self} {:?}", self.parameters)
    }
}

/// Errors of a model.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The crate was built without a needed unit or option.
    #[error("this build has no {what}: build with {variable}=1")]
    NotBuilt {
        /// The missing unit or option.
        what: &'static str,
        /// The variable that the build reads.
        variable: &'static str,
    },
    /// A file could not be written.
    #[error("{} cannot be written", .0.display())]
    File(PathBuf),
}

/// A port of the instances of a configuration, found once by its name.
#[derive(Clone, Copy, Debug)]
pub struct Port {
    configuration: &'static Configuration,
    index: usize,
    bits: u32,
}

impl Port {
    /// How many bits the port has.
    pub fn bits(self) -> u32 {
        self.bits
    }
}

/// An instance of a verilated module, its registers and memories filled with random bits.
pub struct Model {
    configuration: &'static Configuration,
    instance: NonNull<c_void>,
    ports: Vec<*mut c_void>,
    clock: Option<Port>,
    reset: Option<Port>,
    cycles: u64,
    /// The last cycle of a waveform that was begun without [`trace`](Self::trace).
    wave_ends: Option<u64>,
}

// SAFETY: an instance has its own context and is reached through this value alone. What Verilator's run-time library keeps for
// a thread is which context it works in, and the shim says so in every call.
unsafe impl Send for Model {}

impl Model {
    /// A new instance, its random bits from `seed`. The clock is low and the reset not given: call [`reset`](Self::reset).
    pub fn new(configuration: &'static Configuration, seed: u32) -> Self {
        // SAFETY: the shim's constructor takes any seed. Verilator reserves 0 for a seed of its own choice.
        let instance = unsafe { (configuration.functions.new)(seed.max(1)) };
        let instance = NonNull::new(instance).expect("`new` of C++ does not return null");
        let mut ports = vec![core::ptr::null_mut(); configuration.ports.len()];
        // SAFETY: the shim writes one pointer for each entry of the table, which was made from the same header.
        unsafe { (configuration.functions.ports)(instance.as_ptr(), ports.as_mut_ptr()) };
        let mut model = Self { configuration, instance, ports, clock: None, reset: None, cycles: 0, wave_ends: None };
        model.clock = model.find("clk_i");
        model.reset = model.find("rst_ni");
        if let Some((path, cycles)) = crate::record::wave(configuration) {
            model.trace(&path).unwrap_or_else(|error| panic!("{error}"));
            model.wave_ends = Some(cycles);
        }
        model
    }

    /// The instantiated configuration.
    pub fn configuration(&self) -> &'static Configuration {
        self.configuration
    }

    /// Rising clock edges so far.
    pub fn cycles(&self) -> u64 {
        self.cycles
    }

    fn find(&self, name: &str) -> Option<Port> {
        let index = self.configuration.ports.iter().position(|port| port.name == name)?;
        Some(Port { configuration: self.configuration, index, bits: self.configuration.ports[index].bits })
    }

    /// The port of that name.
    ///
    /// # Panics
    /// If the module has none.
    pub fn port(&self, name: &str) -> Port {
        self.find(name).unwrap_or_else(|| panic!("{} has no port {name}", self.configuration))
    }

    /// Where a port's value is. Its type follows from the port's width, so that the port must be one of this module.
    fn place(&self, port: Port) -> *mut c_void {
        assert!(core::ptr::eq(port.configuration, self.configuration), "a port of {}", port.configuration);
        self.ports[port.index]
    }

    fn input(&self, port: Port) -> *mut c_void {
        assert!(self.configuration.ports[port.index].input, "{}: {} is an output", self.configuration, self.name(port));
        self.place(port)
    }

    /// Sets an input of at most 64 bits.
    ///
    /// # Panics
    /// If the port is an output or wider, or the value does not fit.
    pub fn set(&mut self, port: Port, value: u64) {
        let place = self.input(port);
        let name = self.name(port);
        assert!(port.bits <= 64, "{name} has {} bits: use set_number", port.bits);
        assert!(port.bits == 64 || value >> port.bits == 0, "{value:#x} does not fit the {} bits of {name}", port.bits);
        // SAFETY: the pointer leads to the port's storage in this instance, whose type follows from the width.
        unsafe {
            match port.bits {
                0..=8 => place.cast::<u8>().write(value as u8),
                9..=16 => place.cast::<u16>().write(value as u16),
                17..=32 => place.cast::<u32>().write(value as u32),
                _ => place.cast::<u64>().write(value),
            }
        }
    }

    /// The value of a port of at most 64 bits.
    ///
    /// # Panics
    /// If the port is wider.
    pub fn get(&self, port: Port) -> u64 {
        let place = self.place(port);
        assert!(port.bits <= 64, "{} bits: use get_number", port.bits);
        // SAFETY: as in `set`.
        unsafe {
            match port.bits {
                0..=8 => u64::from(place.cast::<u8>().read()),
                9..=16 => u64::from(place.cast::<u16>().read()),
                17..=32 => u64::from(place.cast::<u32>().read()),
                _ => place.cast::<u64>().read(),
            }
        }
    }

    /// Sets an input to the vector of elements of `width` bits each, element 0 in the lowest bits.
    ///
    /// # Panics
    /// If the port is an output, its width is not that of the elements together, or an element does not fit.
    pub fn set_elements(&mut self, port: Port, width: u32, elements: &[u64]) {
        let place = self.input(port);
        assert_eq!(
            u64::from(port.bits),
            u64::from(width) * elements.len() as u64,
            "{:?}",
            self.configuration.ports[port.index]
        );
        // Lanes of 64 bits lie in the port as they lie in memory.
        if width == 64 && port.bits > 64 && cfg!(target_endian = "little") {
            // SAFETY: a port of more than 64 bits is an array of just as many 32-bit words, as checked above.
            unsafe {
                core::ptr::copy_nonoverlapping(elements.as_ptr().cast(), place.cast::<u32>(), 2 * elements.len())
            };
            return;
        }
        let mut words = vec![0u32; port.bits.div_ceil(32).max(2) as usize];
        for (i, &element) in elements.iter().enumerate() {
            assert!(width >= 64 || element >> width == 0, "{element:#x} does not fit {width} bits");
            let bit = i * width as usize;
            let shifted = u128::from(element) << (bit % 32);
            for (k, word) in words.iter_mut().skip(bit / 32).take(3).enumerate() {
                *word |= (shifted >> (32 * k)) as u32;
            }
        }
        if port.bits <= 64 {
            self.set(port, u64::from(words[0]) | u64::from(words[1]) << 32);
            return;
        }
        // SAFETY: a port of more than 64 bits is an array of just as many words.
        unsafe { core::ptr::copy_nonoverlapping(words.as_ptr(), place.cast::<u32>(), words.len()) };
    }

    /// The elements of `width` bits that a port is made of, element 0 in the lowest bits.
    ///
    /// # Panics
    /// If the port's width is not a multiple of `width`.
    pub fn get_elements(&self, port: Port, width: u32, elements: &mut Vec<u64>) {
        assert_eq!(port.bits % width, 0, "{:?}", self.configuration.ports[port.index]);
        let short;
        let words: &[u32] = if port.bits <= 64 {
            let value = self.get(port);
            short = [value as u32, (value >> 32) as u32];
            &short
        } else {
            // SAFETY: a port of more than 64 bits is an array of just as many words, which nothing changes while `self` is
            // borrowed.
            unsafe { core::slice::from_raw_parts(self.place(port).cast::<u32>(), port.bits.div_ceil(32) as usize) }
        };
        elements.clear();
        if width == 64 {
            elements
                .extend(words.as_chunks::<2>().0.iter().map(|[low, high]| u64::from(*low) | u64::from(*high) << 32));
            return;
        }
        for i in 0..port.bits / width {
            let bit = (i * width) as usize;
            let mut value = 0u128;
            for (k, &word) in words.iter().skip(bit / 32).take(3).enumerate() {
                value |= u128::from(word) << (32 * k);
            }
            let mask = if width >= 64 { u64::MAX } else { (1 << width) - 1 };
            elements.push((value >> (bit % 32)) as u64 & mask);
        }
    }

    /// Sets up to 64 bits of an input, from bit `first` on.
    ///
    /// # Panics
    /// If the port is an output or lacks the bits, or the value does not fit them.
    pub fn set_slice(&mut self, port: Port, first: u32, bits: u32, value: u64) {
        assert!(bits <= 64 && first + bits <= port.bits, "{} lacks bits {first}+{bits}", self.name(port));
        assert!(bits == 64 || value >> bits == 0, "{value:#x} does not fit {bits} bits of {}", self.name(port));
        if port.bits <= 64 {
            let mask = if bits == 64 { u64::MAX } else { ((1 << bits) - 1) << first };
            let others = self.get(port) & !mask;
            return self.set(port, others | value << first);
        }
        let place = self.input(port).cast::<u32>();
        let (low, shift) = (first / 32, first % 32);
        let (value, mask) = (u128::from(value) << shift, ((1u128 << bits) - 1) << shift);
        for k in 0..(shift + bits).div_ceil(32) {
            // SAFETY: a port of more than 64 bits is an array of 32-bit words, and it has these bits.
            unsafe {
                let word = place.add((low + k) as usize);
                word.write(word.read() & !((mask >> (32 * k)) as u32) | (value >> (32 * k)) as u32);
            }
        }
    }

    /// Up to 64 bits of a port.
    ///
    /// # Panics
    /// If the port lacks them.
    pub fn get_slice(&self, port: Port, first: u32, bits: u32) -> u64 {
        assert!(bits <= 64 && first + bits <= port.bits, "{} lacks bits {first}+{bits}", self.name(port));
        let mask = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
        if port.bits <= 64 {
            return self.get(port) >> first & mask;
        }
        let place = self.place(port).cast::<u32>();
        let (low, shift) = (first / 32, first % 32);
        let mut value = 0u128;
        for k in 0..(shift + bits).div_ceil(32) {
            // SAFETY: as in `set_slice`.
            value |= u128::from(unsafe { place.add((low + k) as usize).read() }) << (32 * k);
        }
        (value >> shift) as u64 & mask
    }

    /// Sets an input of any width.
    ///
    /// # Panics
    /// If the port is an output or the number does not fit.
    pub fn set_number(&mut self, port: Port, number: &BigUint) {
        assert!(number.bits() <= u64::from(port.bits), "{} bits do not fit {:?}", number.bits(), self.name(port));
        if port.bits <= 64 {
            return self.set(port, number.iter_u64_digits().next().unwrap_or(0));
        }
        let place = self.input(port);
        let mut words = number.to_u32_digits();
        words.resize(port.bits.div_ceil(32) as usize, 0);
        // SAFETY: a port of more than 64 bits is an array of just as many words.
        unsafe { core::ptr::copy_nonoverlapping(words.as_ptr(), place.cast::<u32>(), words.len()) };
    }

    /// The value of a port of any width.
    pub fn get_number(&self, port: Port) -> BigUint {
        if port.bits <= 64 {
            return self.get(port).into();
        }
        let mut words = vec![0u32; port.bits.div_ceil(32) as usize];
        // SAFETY: as in `set_number`; nothing changes the port while `self` is borrowed.
        unsafe {
            core::ptr::copy_nonoverlapping(self.place(port).cast::<u32>(), words.as_mut_ptr(), words.len());
        }
        BigUint::new(words)
    }

    fn name(&self, port: Port) -> &'static str {
        self.configuration.ports[port.index].name
    }

    /// Settles the logic after inputs have changed, without a clock edge.
    pub fn eval(&mut self) {
        // SAFETY: the instance is alive and borrowed for writing.
        unsafe { (self.configuration.functions.eval)(self.instance.as_ptr()) };
    }

    /// Settles the logic, gives one rising edge, settles again.
    ///
    /// # Panics
    /// If the module has no clock.
    pub fn clock(&mut self) {
        let clock = self.clock.unwrap_or_else(|| panic!("{} has no clk_i", self.configuration));
        self.set(clock, 0);
        self.eval();
        self.set(clock, 1);
        self.eval();
        self.cycles += 1;
        if self.wave_ends == Some(self.cycles) {
            // SAFETY: the instance is alive and borrowed for writing; without a path a waveform only ends.
            unsafe { (self.configuration.functions.trace)(self.instance.as_ptr(), core::ptr::null()) };
        }
    }

    /// Holds the reset for two cycles; does nothing to a module that has none.
    pub fn reset(&mut self) {
        let Some(reset) = self.reset else { return };
        self.set(reset, 0);
        self.clock();
        self.clock();
        self.set(reset, 1);
        self.eval();
    }

    /// Writes a waveform of everything from now on.
    ///
    /// # Errors
    /// If the crate was built without `CIPHERMILL_HW_TRACE=1`, or the file cannot be written.
    pub fn trace(&mut self, path: &Path) -> Result<(), ModelError> {
        let name = c_path(path)?;
        // SAFETY: the instance is alive, the name ends with a zero byte.
        match unsafe { (self.configuration.functions.trace)(self.instance.as_ptr(), name.as_ptr()) } {
            0 => Ok(()),
            2 => Err(ModelError::NotBuilt { what: "waveforms", variable: "CIPHERMILL_HW_TRACE" }),
            _ => Err(ModelError::File(path.to_owned())),
        }
    }

    /// Writes which lines and bits this instance has exercised, in Verilator's format.
    ///
    /// # Errors
    /// If the crate was built without `CIPHERMILL_HW_COVERAGE=1`, or the path cannot be one.
    pub fn write_coverage(&self, path: &Path) -> Result<(), ModelError> {
        let name = c_path(path)?;
        // SAFETY: as in `trace`.
        match unsafe { (self.configuration.functions.coverage)(self.instance.as_ptr(), name.as_ptr()) } {
            0 => Ok(()),
            _ => Err(ModelError::NotBuilt { what: "coverage", variable: "CIPHERMILL_HW_COVERAGE" }),
        }
    }
}

fn c_path(path: &Path) -> Result<CString, ModelError> {
    CString::new(path.as_os_str().as_encoded_bytes()).map_err(|_| ModelError::File(path.to_owned()))
}

impl Drop for Model {
    fn drop(&mut self) {
        crate::record::coverage(self);
        // SAFETY: nothing else has this instance, and nothing uses it after.
        unsafe { (self.configuration.functions.delete)(self.instance.as_ptr()) };
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model").field("configuration", self.configuration).field("cycles", &self.cycles).finish()
    }
}
