//! The engines of this build, chosen by name.
//!
//! An engine implements some of the kernel seams. A seam that it lacks is refused with [`ClientError::EngineLacks`]; no other
//! engine takes its place.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use ciphermill_arch::engines::{ModelPaillier, ModelTfhe};
use ciphermill_bigint::{CoprocessorEngine, ModExpEngine};
use ciphermill_device::handlers;
use ciphermill_hmvp::HmvpEngine;
use ciphermill_tfhe::{Backend, TfheEngine};

use crate::error::ClientError;
use crate::security::Security;

/// The name of an engine that this build has.
///
/// ```
/// use ciphermill_client::engines::EngineName;
///
/// assert_eq!("cpu".parse(), Ok(EngineName::Cpu));
/// let unknown = "abacus".parse::<EngineName>().unwrap_err().to_string();
/// assert!(unknown.starts_with("`abacus` is not an engine of this build; use cpu or model"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum EngineName {
    /// The kernels of this CPU.
    #[default]
    Cpu,
    /// Cycle models of `tfhe_engine` and `paillier_engine`, with the values of the CPU. It has the seams of `rtl`.
    Model,
    /// Co-simulated hardware: `tfhe_engine` for sets with N = 16384 and k = 1, and `paillier_engine` for moduli of up to
    /// 1024 bits. A device on it does not compute with BFV.
    #[cfg(feature = "rtl")]
    Rtl,
}

impl EngineName {
    /// The engines of this build.
    pub const ALL: &[Self] = &[
        Self::Cpu,
        Self::Model,
        #[cfg(feature = "rtl")]
        Self::Rtl,
    ];

    /// The name, as `--engine` accepts it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::Model => "model",
            #[cfg(feature = "rtl")]
            Self::Rtl => "rtl",
        }
    }

    /// A short description, for help texts.
    #[must_use]
    pub fn about(self) -> &'static str {
        match self {
            Self::Cpu => "The kernels of this CPU",
            Self::Model => {
                "Cycle models of the hardware, with the values of the CPU: TFHE, Paillier with insecure keys of 512 bits"
            }
            #[cfg(feature = "rtl")]
            Self::Rtl => "Co-simulated hardware: TFHE with N = 16384, Paillier with insecure keys of 512 bits",
        }
    }

    /// Refuses every engine but the CPU, for an operation that no kernel seam has.
    ///
    /// # Errors
    /// [`ClientError::EngineLacks`].
    ///
    /// # Example
    /// ```
    /// use ciphermill_client::engines::EngineName;
    ///
    /// assert!(EngineName::Cpu.require_cpu("gates").is_ok());
    /// ```
    pub fn require_cpu(self, operation: &'static str) -> Result<(), ClientError> {
        if self == Self::Cpu {
            return Ok(());
        }
        Err(ClientError::EngineLacks { engine: self.name(), operation, available: vec![Self::Cpu.name()] })
    }

    /// Whether the engine computes with insecure keys only.
    #[must_use]
    pub fn is_insecure(self) -> bool {
        match self {
            Self::Cpu => false,
            Self::Model => true,
            #[cfg(feature = "rtl")]
            Self::Rtl => true,
        }
    }
}

impl fmt::Display for EngineName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The text is not the name of an engine of this build.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{given}` is not an engine of this build; use {known}", known = EngineName::ALL.iter().map(|engine| engine.name()).collect::<Vec<_>>().join(" or "))]
pub struct UnknownEngine {
    /// The text.
    pub given: String,
}

impl FromStr for EngineName {
    type Err = UnknownEngine;

    fn from_str(text: &str) -> Result<Self, UnknownEngine> {
        let found = Self::ALL.iter().find(|engine| engine.name() == text);
        found.copied().ok_or_else(|| UnknownEngine { given: text.to_owned() })
    }
}

/// The kernel seams that an engine may implement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seam {
    Bootstrap,
    Hmvp,
    ModExp,
}

impl Seam {
    /// The operation of the seam, for messages.
    fn operation(self) -> &'static str {
        match self {
            Self::Bootstrap => "bootstraps",
            Self::Hmvp => "matrix-vector products",
            Self::ModExp => "modular exponentiation",
        }
    }

    /// The configuration of hw/units.toml by which `rtl` implements the seam.
    #[cfg(feature = "rtl")]
    fn configuration(self) -> Option<&'static str> {
        match self {
            Self::Bootstrap => Some("tfhe_engine/n16384_c2"),
            Self::Hmvp => None,
            Self::ModExp => Some("paillier_engine/b1024"),
        }
    }
}

/// Receives the cycles of a simulated job so far, and all its cycles with a memory that never waits.
pub type CycleWatch = Arc<dyn Fn(u64, u64) + Send + Sync>;

/// The implementations of one engine, one per kernel seam.
///
/// ```
/// use ciphermill_client::engines::{EngineName, Engines};
/// use ciphermill_tfhe::Backend;
///
/// # fn main() -> Result<(), ciphermill_client::ClientError> {
/// let engines = Engines::new(EngineName::Cpu, Backend::Fft);
/// assert_eq!(engines.bootstrap()?.info().name, "cpu-fft");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Engines {
    name: EngineName,
    kernels: handlers::Engines,
}

impl Engines {
    /// The engine of this name; `backend` is the transform of its bootstraps where it has several.
    ///
    /// # Example
    /// ```
    /// use ciphermill_client::engines::{EngineName, Engines};
    /// use ciphermill_tfhe::Backend;
    ///
    /// assert_eq!(Engines::new(EngineName::Cpu, Backend::Fft).name(), EngineName::Cpu);
    /// ```
    #[must_use]
    pub fn new(name: EngineName, backend: Backend) -> Self {
        Self::with_watch(name, backend, None)
    }

    /// The same; `watch` receives the progress of simulated jobs of TFHE.
    #[must_use]
    #[cfg_attr(not(feature = "rtl"), allow(unused_variables, reason = "no engine of this build simulates hardware"))]
    pub fn with_watch(name: EngineName, backend: Backend, watch: Option<CycleWatch>) -> Self {
        let kernels = match name {
            EngineName::Cpu => handlers::Engines::cpu(backend),
            EngineName::Model => {
                let mod_exp: Arc<dyn ModExpEngine> = Arc::new(CoprocessorEngine::new(ModelPaillier::default()));
                let bootstrap: Arc<dyn TfheEngine> = Arc::new(ModelTfhe::new());
                handlers::Engines { name: name.name(), bootstrap: Some(bootstrap), hmvp: None, mod_exp: Some(mod_exp) }
            }
            #[cfg(feature = "rtl")]
            EngineName::Rtl => rtl(name.name(), watch),
        };
        Self { name, kernels }
    }

    /// The name of the engine.
    #[must_use]
    pub fn name(&self) -> EngineName {
        self.name
    }

    /// TFHE's bootstraps.
    ///
    /// # Errors
    /// [`ClientError::EngineLacks`]; [`ClientError::EngineNotBuilt`] if its hardware was left out of the build.
    pub fn bootstrap(&self) -> Result<Arc<dyn TfheEngine>, ClientError> {
        self.kernels.bootstrap.clone().ok_or_else(|| self.lacks(Seam::Bootstrap))
    }

    /// Products of a plain matrix and encrypted vectors.
    ///
    /// # Errors
    /// [`ClientError::EngineLacks`].
    ///
    /// # Example
    /// ```
    /// use ciphermill_client::engines::{EngineName, Engines};
    /// use ciphermill_tfhe::Backend;
    ///
    /// let engines = Engines::new(EngineName::Cpu, Backend::Fft);
    /// assert_eq!(engines.hmvp()?.info().name, "cpu");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn hmvp(&self) -> Result<Arc<dyn HmvpEngine>, ClientError> {
        self.kernels.hmvp.clone().ok_or_else(|| self.lacks(Seam::Hmvp))
    }

    /// Modular exponentiation.
    ///
    /// # Errors
    /// [`ClientError::EngineLacks`]; [`ClientError::EngineNotBuilt`] if its hardware was left out of the build.
    ///
    /// # Example
    /// ```
    /// use ciphermill_client::engines::{EngineName, Engines};
    /// use ciphermill_tfhe::Backend;
    ///
    /// let engines = Engines::new(EngineName::Cpu, Backend::Fft);
    /// assert_eq!(engines.mod_exp()?.info().name, "cpu");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mod_exp(&self) -> Result<Arc<dyn ModExpEngine>, ClientError> {
        self.kernels.mod_exp.clone().ok_or_else(|| self.lacks(Seam::ModExp))
    }

    /// The engines of a device's handlers. A device stores objects of a scheme that the engine lacks, and refuses its
    /// instructions.
    ///
    /// # Errors
    /// [`ClientError::EngineLacks`] or [`ClientError::EngineNotBuilt`] if the engine implements no scheme;
    /// [`ClientError::EngineInsecure`] if it computes with insecure keys only and `security` does not accept them.
    ///
    /// # Example
    /// ```
    /// use ciphermill_client::engines::{EngineName, Engines};
    /// use ciphermill_client::security::Security;
    /// use ciphermill_tfhe::Backend;
    ///
    /// let engines = Engines::new(EngineName::Cpu, Backend::Fft).device(Security::Require128Bits)?;
    /// assert!(engines.bootstrap.is_some() && engines.hmvp.is_some() && engines.mod_exp.is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn device(&self, security: Security) -> Result<handlers::Engines, ClientError> {
        if ![Seam::Bootstrap, Seam::Hmvp, Seam::ModExp].into_iter().any(|seam| self.has(seam)) {
            return Err(self.lacks(Seam::ModExp));
        }
        if self.name.is_insecure() && security == Security::Require128Bits {
            return Err(ClientError::EngineInsecure { engine: self.name.name() });
        }
        Ok(self.kernels.clone())
    }

    fn has(&self, seam: Seam) -> bool {
        match seam {
            Seam::Bootstrap => self.kernels.bootstrap.is_some(),
            Seam::Hmvp => self.kernels.hmvp.is_some(),
            Seam::ModExp => self.kernels.mod_exp.is_some(),
        }
    }

    fn lacks(&self, seam: Seam) -> ClientError {
        let others = EngineName::ALL.iter().filter(|name| Self::new(**name, Backend::Fft).has(seam));
        let (engine, operation) = (self.name.name(), seam.operation());
        let available = others.map(|name| name.name()).collect();
        #[cfg(feature = "rtl")]
        if let (EngineName::Rtl, Some(configuration)) = (self.name, seam.configuration()) {
            return ClientError::EngineNotBuilt { engine, operation, configuration, available };
        }
        ClientError::EngineLacks { engine, operation, available }
    }
}

/// The engines of the hardware that was built.
#[cfg(feature = "rtl")]
fn rtl(name: &'static str, watch: Option<CycleWatch>) -> handlers::Engines {
    use ciphermill_cosim::engines::{RtlPaillier, RtlTfhe, Simulated};
    let mod_exp = RtlPaillier::of_bits(1024);
    let mod_exp = mod_exp.map(|hardware| Arc::new(CoprocessorEngine::new(hardware)) as Arc<dyn ModExpEngine>);
    let bootstrap = RtlTfhe::of_size(1 << 14).map(|engine| match watch {
        Some(watch) => engine.with_watch(Arc::new(move |Simulated { cycles, expected }| watch(cycles, expected))),
        None => engine,
    });
    let bootstrap = bootstrap.map(|engine| Arc::new(engine) as Arc<dyn TfheEngine>);
    handlers::Engines { name, bootstrap, hmvp: None, mod_exp }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_seam_is_refused_with_the_engines_that_have_it() {
        let engines = Engines {
            name: EngineName::Cpu,
            kernels: handlers::Engines { name: "cpu", bootstrap: None, hmvp: None, mod_exp: None },
        };
        let refused = engines.bootstrap().expect_err("it has none");
        assert!(matches!(&refused, ClientError::EngineLacks { engine: "cpu", .. }));
        let known = if cfg!(feature = "rtl") { "cpu or model or rtl" } else { "cpu or model" };
        assert_eq!(refused.to_string(), format!("engine cpu does not implement bootstraps; use {known}"));
        assert!(engines.hmvp().is_err() && engines.mod_exp().is_err());
        assert!(matches!(engines.device(Security::AcceptInsecure), Err(ClientError::EngineLacks { .. })));
    }
    #[cfg(feature = "rtl")]
    #[test]
    fn hardware_that_was_not_built_is_named() {
        let engines = Engines {
            name: EngineName::Rtl,
            kernels: handlers::Engines { name: "rtl", bootstrap: None, hmvp: None, mod_exp: None },
        };
        let refusals = [engines.bootstrap().expect_err("none"), engines.mod_exp().expect_err("none")];
        for (refused, configuration) in refusals.iter().zip(["tfhe_engine/n16384_c2", "paillier_engine/b1024"]) {
            let built = matches!(refused, ClientError::EngineNotBuilt { engine: "rtl", .. });
            let said = refused.to_string();
            assert!(built && said.contains(&format!("CIPHERMILL_HW={configuration}, or use cpu or model")), "{said}");
        }
        // No hardware multiplies matrices.
        assert!(matches!(engines.hmvp(), Err(ClientError::EngineLacks { .. })));
    }
}
