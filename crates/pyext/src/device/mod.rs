//! A device: objects by register, programs, metrics. The async form is `ciphermill.device`'s.

mod programs;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ciphermill_client::remote::{self, RemoteOptions};
use ciphermill_client::store::{self, DeviceSettings};
use ciphermill_device::Device;
use ciphermill_device::store::SpaceId;
use ciphermill_middleware::{
    BlobId, BlobStat, EmbeddedTransport, Metadata, ObjectFlags, ReadMode, Transport, WriteMode,
};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::bytes::Bytes;
use crate::errors::{Class, Failure};
use crate::policy::security;
use crate::run::blocking;

pub(crate) use programs::{assemble, disassemble};

/// A progress callback: an event, the work done and all work.
type Callback = Py<PyAny>;

/// A device in a directory of this machine, or behind a network address.
#[pyclass(frozen, module = "ciphermill._native")]
pub(crate) struct DeviceHandle {
    open: Mutex<Option<Open>>,
    place: String,
}

#[derive(Clone)]
struct Open {
    transport: Arc<dyn Transport>,
    /// Of an embedded device.
    device: Option<Device>,
}

impl DeviceHandle {
    fn open(&self) -> Result<Open, Failure> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.clone().ok_or_else(|| {
            let message = format!("the device {} is closed; open it again", self.place);
            Failure::new(Class::Closed, message)
        })
    }

    fn of(open: Open, place: String) -> Self {
        Self { open: Mutex::new(Some(open)), place }
    }
}

/// Seconds as a duration.
fn duration(what: &str, seconds: f64) -> Result<Duration, Failure> {
    Duration::try_from_secs_f64(seconds).map_err(|error| {
        let message = format!("{what} {seconds} is not supported ({error}); use a finite number of seconds from 0 on");
        Failure::parameter(message)
    })
}

#[pymethods]
impl DeviceHandle {
    /// Opens the store in a directory, which is made if it does not exist.
    #[staticmethod]
    #[pyo3(signature = (directory, *, space=None, memory=None, key_memory=None, max_program_seconds=None,
        max_log2_failure=None, progress=None, insecure=false))]
    #[expect(clippy::too_many_arguments, reason = "they are keywords in Python")]
    fn embedded(
        py: Python<'_>,
        directory: PathBuf,
        space: Option<u32>,
        memory: Option<u64>,
        key_memory: Option<u64>,
        max_program_seconds: Option<f64>,
        max_log2_failure: Option<f64>,
        progress: Option<Callback>,
        insecure: bool,
    ) -> Result<Self, Failure> {
        let max_program_duration =
            max_program_seconds.map(|seconds| duration("max_program_seconds", seconds)).transpose()?;
        let settings = DeviceSettings {
            memory,
            key_memory,
            max_program_duration,
            max_log2_p_fail: max_log2_failure,
            security: security(insecure),
            ..DeviceSettings::default()
        };
        let place = directory.display().to_string();
        let id = space.map_or(SpaceId::EMBEDDED, SpaceId);
        let open = blocking(py, move |_| {
            let report = move |done: u64, all: u64| {
                if let Some(callback) = &progress {
                    // An exception of the callback must not end the loading of a key, so it is shown and dropped.
                    Python::attach(|py| {
                        callback.call1(py, (done, all)).map_or_else(|error| error.print(py), |_| ());
                    });
                }
            };
            let device = store::open(&directory, &settings, Arc::new(report))?;
            let space = store::space(&device, &directory, id, true)?;
            Ok(Open { transport: Arc::new(EmbeddedTransport::new(space)), device: Some(device) })
        })?;
        Ok(Self::of(open, place))
    }

    /// Connects to a served device, as HOST:PORT or nvme-tcp://HOST:PORT/NQN.
    #[staticmethod]
    #[pyo3(signature = (address, *, subsystem=None, host=None, namespace=None, give_up_after=None))]
    fn served(
        py: Python<'_>,
        address: String,
        subsystem: Option<String>,
        host: Option<String>,
        namespace: Option<u32>,
        give_up_after: Option<f64>,
    ) -> Result<Self, Failure> {
        let give_up_after = give_up_after.map(|seconds| duration("give_up_after", seconds)).transpose()?;
        let options = RemoteOptions { subsystem, host, namespace, give_up_after };
        let environment = std::env::var(remote::HOST_NQN_VARIABLE).ok();
        let config = remote::config(&address, &options, environment).map_err(ciphermill_client::ClientError::from)?;
        let open = blocking(py, move |_| Ok(Open { transport: Arc::new(remote::connect(config)?), device: None }))?;
        Ok(Self::of(open, address))
    }

    /// Writes an object. Returns its size as stored and whether a program ran.
    #[pyo3(signature = (register, data, *, armed=false, stored=false))]
    fn put(
        &self,
        py: Python<'_>,
        register: &str,
        data: Bytes<'_>,
        armed: bool,
        stored: bool,
    ) -> Result<(u64, bool), Failure> {
        let open = self.open()?;
        let flags = if armed { ObjectFlags::ARMED } else { ObjectFlags::NONE };
        let metadata = Metadata::new(id(register)?.register()).with_flags(flags);
        let mode = if stored { WriteMode::Stored } else { WriteMode::Compute };
        let data = data.to_vec();
        let written =
            blocking(py, move |_| Ok(open.transport.write(&metadata, data.len() as u64, &mut &data[..], mode)?))?;
        Ok((written.stat.size, written.computed))
    }

    /// Reads an object. Returns its bytes and whether a program ran.
    #[pyo3(signature = (register, *, mode="armed"))]
    fn get<'py>(&self, py: Python<'py>, register: &str, mode: &str) -> Result<(Bound<'py, PyBytes>, bool), Failure> {
        let (open, id) = (self.open()?, id(register)?);
        let mode = match mode {
            "armed" => ReadMode::Armed,
            "compute" => ReadMode::Compute,
            "stored" => ReadMode::Stored,
            _ => {
                let message = format!("mode {mode:?} is not supported; use \"armed\", \"compute\" or \"stored\"");
                return Err(Failure::parameter(message));
            }
        };
        let (bytes, computed) = blocking(py, move |_| {
            let mut bytes = Vec::new();
            let transferred = open.transport.read(id, mode, &mut bytes)?;
            Ok((bytes, transferred.computed))
        })?;
        Ok((PyBytes::new(py, &bytes), computed))
    }

    fn delete(&self, py: Python<'_>, register: &str) -> Result<(), Failure> {
        let (open, id) = (self.open()?, id(register)?);
        blocking(py, move |_| Ok(open.transport.delete(id)?))
    }

    /// Register, size and whether a read computes.
    fn stat(&self, py: Python<'_>, register: &str) -> Result<(String, u64, bool), Failure> {
        let (open, id) = (self.open()?, id(register)?);
        Ok(described(&blocking(py, move |_| Ok(open.transport.stat(id)?))?))
    }

    /// The same of every object.
    fn list(&self, py: Python<'_>) -> Result<Vec<(String, u64, bool)>, Failure> {
        let open = self.open()?;
        Ok(blocking(py, move |_| Ok(open.transport.list()?))?.iter().map(described).collect())
    }

    /// The metrics of an embedded device in Prometheus' text format.
    fn metrics(&self) -> Result<String, Failure> {
        let Some(device) = self.open()?.device else {
            let message = "a served device has no metrics here; read them from its server's --metrics address";
            return Err(Failure::parameter(message));
        };
        Ok(device.metrics().to_prometheus())
    }

    #[getter]
    fn closed(&self) -> bool {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }

    /// Closes the store or the connection, once the operations in progress have finished.
    fn close(&self, py: Python<'_>) {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner).take();
        // The last user of an embedded device waits for its threads.
        py.detach(|| drop(open));
    }

    fn __repr__(&self) -> String {
        format!("<DeviceHandle of {}>", self.place)
    }
}

fn id(register: &str) -> Result<BlobId, Failure> {
    register.parse().map_err(|error| Failure::parameter(format!("register {register:?}: {error}")))
}

fn described(stat: &BlobStat) -> (String, u64, bool) {
    (stat.id.to_string(), stat.size, stat.flags.contains(ObjectFlags::ARMED))
}
