//! `info`: this build, this machine, the parameter sets, and the objects of a store.

mod bfv;

use std::collections::BTreeMap;
use std::path::PathBuf;

use ciphermill_device::{Device, MetricsSnapshot};
use ciphermill_lattice::ModelProbability;
use ciphermill_middleware::Transport;
use ciphermill_program::TypeCode;
use ciphermill_tfhe::parameters::SET_NAMES;
use ciphermill_tfhe::{KeyForm, KeyKind, KeyOrder, ParameterSet, SecurityPolicy};
use comfy_table::Table;
use serde::{Serialize, Serializer};
use uuid::Uuid;

use crate::device_args::{self, DEVICE_OPTIONS, UnusedDeviceArgs};
use crate::error::CliError;
use crate::machine::{IsaReport, Machine};
use crate::output::{self, human_bytes};
use crate::place::RemoteArgs;

/// Show this build, this machine, the parameter sets, and the objects of a store or a served device
#[derive(clap::Args, Debug)]
#[command(after_help = "\
Examples:
  $ ciphermill info
  $ ciphermill info --store s --prometheus
  $ ciphermill info --connect 127.0.0.1:4420")]
pub(crate) struct Args {
    /// Show the objects and counters of this store; one process at a time may have it open
    #[arg(long, value_name = "DIR")]
    store: Option<PathBuf>,
    /// Show the objects of this served device: HOST:PORT, or nvme-tcp://HOST:PORT/SUBSYSTEM-NQN
    #[arg(long, value_name = "TARGET", conflicts_with = "store")]
    connect: Option<String>,
    #[command(flatten)]
    remote: RemoteArgs,
    #[command(flatten)]
    options: UnusedDeviceArgs,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
    /// Print the counters of the store in the text format of Prometheus
    #[arg(long, requires = "store", conflicts_with = "json")]
    prometheus: bool,
}

#[derive(Serialize)]
struct Report {
    version: &'static str,
    machine: Machine,
    isa: IsaReport,
    parameter_sets: Vec<SetReport>,
    bfv_parameter_sets: Vec<bfv::SetReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<StoreReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    served: Option<ServedReport>,
}

/// The identity and the contents of a served device.
#[derive(Serialize)]
struct ServedReport {
    model: String,
    serial: String,
    firmware: String,
    namespaces: Vec<u32>,
    namespace: u32,
    uuid: String,
    blocks: u64,
    objects: BTreeMap<u16, u64>,
    object_bytes: u64,
}

#[derive(Serialize)]
struct SetReport {
    name: &'static str,
    torus_bits: u32,
    lwe_dimension: usize,
    glwe_dimension: usize,
    polynomial_size: usize,
    message_bits: u32,
    security_bits: f64,
    security_source: &'static str,
    log2_p_fail: f64,
    bootstrapping_key_bytes_seeded: u64,
    bootstrapping_key_bytes_full: u64,
    keyswitch_key_bytes_seeded: u64,
    keyswitch_key_bytes_full: u64,
    /// Of a set with words.
    #[serde(skip_serializing_if = "Option::is_none")]
    conversion_key_bytes_seeded: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    conversion_key_bytes_full: Option<u64>,
    ciphertext_bytes_small: u64,
    ciphertext_bytes_big: u64,
    test_vector_bytes: u64,
}

/// The number of objects by type, in the order of the type codes.
struct Objects(BTreeMap<TypeCode, (&'static str, u64)>);

impl Objects {
    /// The names of the types, and the numbers.
    fn named(&self) -> impl Iterator<Item = (String, u64)> {
        self.0.iter().map(|(code, (name, count))| (format!("{code} {name}"), *count))
    }
}

impl Serialize for Objects {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.named())
    }
}

#[derive(Serialize)]
struct StoreReport {
    directory: PathBuf,
    objects: Objects,
    object_bytes: u64,
    data_file_bytes: u64,
    data_file_free_bytes: u64,
    memory_frames: u64,
    memory_frames_used: u64,
    page_ins: u64,
    page_outs: u64,
    commits: u64,
    keys_loaded: u64,
    key_memory_bytes: u64,
    key_memory_limit_bytes: u64,
    programs_run: u64,
    programs_failed: u64,
}

pub(crate) fn run(args: &Args) -> Result<(), CliError> {
    args.remote.check(args.connect.is_some(), args.options.is_given())?;
    if args.prometheus && args.store.is_none() {
        let what = "--prometheus needs --store DIR; the counters of a served device are at /metrics of the address in its \
                    --metrics";
        return Err(CliError::Usage(what.to_owned()));
    }
    if args.store.is_none() && args.options.is_given() {
        return Err(CliError::Usage(format!("{DEVICE_OPTIONS} apply to --store only")));
    }
    let device = args
        .store
        .as_deref()
        .map(|directory| device_args::open_existing(directory, &args.options.settings()))
        .transpose();
    let device = device.map_err(CliError::or_connect)?;
    if let (true, Some(device)) = (args.prometheus, &device) {
        return output::bytes(device.metrics().to_prometheus().as_bytes());
    }
    let store =
        device.as_ref().zip(args.store.clone()).map(|(device, path)| StoreReport::of(device, path)).transpose()?;
    let report = Report {
        version: env!("CARGO_PKG_VERSION"),
        machine: Machine::this(),
        isa: IsaReport::this(),
        parameter_sets: SET_NAMES.iter().map(|name| SetReport::of(name)).collect::<Result<_, _>>()?,
        bfv_parameter_sets: bfv::SetReport::all()?,
        store,
        served: args.connect.as_deref().map(|target| ServedReport::of(&args.remote, target)).transpose()?,
    };
    let text = report.text();
    output::result(args.json, &report, &text)
}

impl SetReport {
    fn of(name: &'static str) -> Result<Self, CliError> {
        // Listing a set is not using it.
        let set = ParameterSet::named(name, SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly)?;
        let conversion = |form| set.word.map(|_| set.sealed_key_len(KeyKind::Conversion, form));
        Ok(Self {
            name,
            torus_bits: set.torus.bits(),
            lwe_dimension: set.lwe_dimension.0,
            glwe_dimension: set.glwe_dimension.0,
            polynomial_size: set.polynomial_size.get(),
            message_bits: set.message_bits,
            security_bits: set.security().bits,
            security_source: set.security().source,
            log2_p_fail: set.log2_p_fail(),
            bootstrapping_key_bytes_seeded: set.sealed_key_len(KeyKind::Bootstrap, KeyForm::Seeded),
            bootstrapping_key_bytes_full: set.sealed_key_len(KeyKind::Bootstrap, KeyForm::Full),
            keyswitch_key_bytes_seeded: set.sealed_key_len(KeyKind::Keyswitch, KeyForm::Seeded),
            keyswitch_key_bytes_full: set.sealed_key_len(KeyKind::Keyswitch, KeyForm::Full),
            conversion_key_bytes_seeded: conversion(KeyForm::Seeded),
            conversion_key_bytes_full: conversion(KeyForm::Full),
            ciphertext_bytes_small: set.sealed_ciphertext_len(KeyOrder::Small),
            ciphertext_bytes_big: set.sealed_ciphertext_len(KeyOrder::Big),
            test_vector_bytes: set.sealed_test_vector_len(),
        })
    }
}

impl ServedReport {
    fn of(remote: &RemoteArgs, target: &str) -> Result<Self, CliError> {
        let transport = remote.connect(target)?;
        let identity = transport.identify();
        let (namespace, uuid, blocks) = transport.namespace();
        let namespaces = transport.namespaces().map_err(|error| CliError::Connect(error.to_string()))?;
        let blobs = transport.list()?;
        let mut objects = BTreeMap::new();
        for blob in &blobs {
            *objects.entry(blob.id.register().type_code.0).or_default() += 1;
        }
        Ok(Self {
            model: identity.model,
            serial: identity.serial,
            firmware: identity.firmware,
            namespaces,
            namespace,
            uuid: Uuid::from_bytes(uuid).to_string(),
            blocks,
            objects,
            object_bytes: blobs.iter().map(|blob| blob.size).sum(),
        })
    }

    fn table(&self) -> Table {
        let mut table = output::table(["served device", &format!("{} {}", self.model, self.firmware)]);
        table.add_row(["serial number", &self.serial]);
        let others: Vec<_> = self.namespaces.iter().map(ToString::to_string).collect();
        table.add_row(["namespaces", &others.join(", ")]);
        table.add_row(["namespace", &self.namespace.to_string()]);
        table.add_row(["UUID", &self.uuid]);
        table.add_row(["blocks of 4096 bytes", &self.blocks.to_string()]);
        for (code, count) in &self.objects {
            table.add_row([format!("objects of type {code}"), count.to_string()]);
        }
        table.add_row(["bytes of objects", &human_bytes(self.object_bytes)]);
        table
    }
}

impl StoreReport {
    fn of(device: &Device, directory: PathBuf) -> Result<Self, CliError> {
        let mut objects = Objects(device.types().iter().map(|known| (known.code, (known.name, 0))).collect());
        for space in device.spaces() {
            for stat in device.space(space)?.list() {
                objects.0.entry(stat.id.type_code).or_insert(("unknown", 0)).1 += 1;
            }
        }
        let MetricsSnapshot { store, memory, commits, key_memory, programs_run, programs_failed, .. } =
            device.metrics();
        Ok(Self {
            directory,
            objects,
            object_bytes: store.object_bytes,
            data_file_bytes: store.data_bytes,
            data_file_free_bytes: store.free_bytes,
            memory_frames: memory.frames,
            memory_frames_used: memory.used_frames,
            page_ins: memory.page_ins,
            page_outs: memory.page_outs,
            commits,
            keys_loaded: key_memory.keys,
            key_memory_bytes: key_memory.used,
            key_memory_limit_bytes: key_memory.limit,
            programs_run,
            programs_failed,
        })
    }

    fn table(&self) -> Table {
        let mut table = output::table(["store", &self.directory.to_string_lossy()]);
        for (kind, count) in self.objects.named() {
            table.add_row([format!("objects of type {kind}"), count.to_string()]);
        }
        for (name, value) in [
            ("bytes of objects", human_bytes(self.object_bytes)),
            ("data file", human_bytes(self.data_file_bytes)),
            ("free in the data file", human_bytes(self.data_file_free_bytes)),
            ("frames of main memory, used", format!("{}, {}", self.memory_frames, self.memory_frames_used)),
            ("pages in, out", format!("{}, {}", self.page_ins, self.page_outs)),
            ("programs run, failed", format!("{}, {}", self.programs_run, self.programs_failed)),
        ] {
            table.add_row([name, &value]);
        }
        table
    }
}

impl Report {
    fn text(&self) -> String {
        let Machine { cpu, threads, memory_mib, kernel, .. } = &self.machine;
        let how = if self.isa.forced { "forced by CIPHERMILL_ISA" } else { "the best" };
        let mut machine = output::table(["ciphermill", self.version]);
        machine.add_row(["CPU", cpu]);
        machine.add_row(["threads", &threads.to_string()]);
        machine.add_row(["memory", &format!("{memory_mib} MiB")]);
        machine.add_row(["kernel", kernel]);
        machine
            .add_row(["instruction set", &format!("{} ({how} of {})", self.isa.used, self.isa.available.join(", "))]);
        let mut sets = output::table([
            "parameter set",
            "torus",
            "n",
            "k",
            "N",
            "bits",
            "words",
            "security",
            "p_fail",
            "server key",
            "small",
            "big",
        ]);
        for set in &self.parameter_sets {
            let conversion = set.conversion_key_bytes_seeded;
            let server_key =
                set.bootstrapping_key_bytes_seeded + set.keyswitch_key_bytes_seeded + conversion.unwrap_or_default();
            sets.add_row([
                set.name.to_owned(),
                format!("u{}", set.torus_bits),
                set.lwe_dimension.to_string(),
                set.glwe_dimension.to_string(),
                set.polynomial_size.to_string(),
                set.message_bits.to_string(),
                conversion.map_or("", |_| "yes").to_owned(),
                format!("{:.1}", set.security_bits),
                format!("{:#}", ModelProbability { log2: set.log2_p_fail }),
                human_bytes(server_key),
                human_bytes(set.ciphertext_bytes_small),
                human_bytes(set.ciphertext_bytes_big),
            ]);
        }
        let mut text = format!("{machine}\n{sets}");
        let mut sources: Vec<_> = self.parameter_sets.iter().map(|set| set.security_source).collect();
        sources.sort_unstable();
        sources.dedup();
        text += &format!(
            "\nbits: of a message, with a padding bit on top; words: whether the set has words, for tables of up to 20 bits\n\
             security: in bits; sets below 128 need --insecure-params; the figures are: {}\n\
             p_fail: of one bootstrap of such a message in the `big` order (model: independent Gaussian noise)\n\
             server key: bootstrapping and key-switching key, and with words the conversion key, seeded\n\
             small, big: a ciphertext under that key; --json has all sizes",
            sources.join("; ")
        );
        text += &format!("\n{}", bfv::text(&self.bfv_parameter_sets));
        if let Some(store) = &self.store {
            text += &format!("\n{}", store.table());
        }
        if let Some(served) = &self.served {
            text += &format!("\n{}", served.table());
        }
        text
    }
}
