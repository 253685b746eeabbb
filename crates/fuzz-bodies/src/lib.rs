//! Bodies of the fuzz targets.
//!
//! A body panics if the input breaks something that must hold for every input. The bodies stand with the tests of their
//! crates, which replay the committed inputs with mutations. `fuzz/` links each to libFuzzer. The test of this crate runs
//! each on every committed input, without instrumentation, and holds that no target is missing anywhere.

use std::sync::{Arc, LazyLock};

#[path = "../../blockspace/tests/adapter/model.rs"]
mod model;
#[path = "../../blockspace/tests/adapter/support.rs"]
mod support;

/// Includes the invariants of a crate.
macro_rules! invariants {
    ($($module:ident: $path:literal;)*) => { $(
        #[path = $path]
        mod $module;
    )* };
}

invariants! {
    bfv: "../../bfv/tests/invariants/mod.rs";
    hls: "../../hls/tests/invariants/mod.rs";
    nvme: "../../nvme/tests/invariants/mod.rs";
    paillier: "../../paillier/tests/invariants/mod.rs";
    program: "../../program/tests/invariants/mod.rs";
    psi: "../../psi/tests/invariants/mod.rs";
    rvfhe: "../../rvfhe/tests/invariants/mod.rs";
    tfhe: "../../tfhe/tests/invariants/mod.rs";
    wire: "../../wire/tests/invariants/mod.rs";
}

/// A fuzz target.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// Its name: that of the program, and of the folder of its inputs.
    pub name: &'static str,
    /// Runs it on one input.
    pub body: fn(&[u8]),
}

/// Defines a function for each target, and the list of all.
macro_rules! targets {
    ($($(#[$doc:meta])* $name:ident: $body:expr;)*) => {
        $(
            $(#[$doc])*
            pub fn $name(data: &[u8]) {
                let body: fn(&[u8]) = $body;
                body(data);
            }
        )*

        /// All targets, ascending.
        pub const TARGETS: &[Target] = &[$(Target { name: stringify!($name), body: $name }),*];
    };
}

targets! {
    /// BFV parameter sets, ciphertexts and keys, and their bodies behind a good checksum.
    bfv_objects: |data| {
        bfv::bfv_objects(data);
    };
    /// Commands on a namespace of objects, against a model of it.
    blockspace_commands: |data| {
        static RUNTIME: LazyLock<Arc<tokio::runtime::Runtime>> = LazyLock::new(support::runtime);
        model::run(&model::commands(data), &RUNTIME);
    };
    /// C sources through the compiler to SystemVerilog.
    hls_compile: |data| {
        hls::hls_compile(data);
    };
    /// Metadata blocks, filled up with zeros.
    meta_decode: |data| {
        program::meta_decode(data);
    };
    /// Commands and the records that they carry, both ways.
    nvme_capsule: |data| {
        nvme::nvme_capsule(data);
    };
    /// Several hosts that talk to one target, out of order and against the rules.
    nvme_connection: |data| {
        nvme::nvme_connection(data);
    };
    /// Units of NVMe/TCP and their headers.
    nvme_pdu: |data| {
        nvme::nvme_pdu(data);
    };
    /// Streams of instructions for the host of Paillier's accelerators; every readable instruction is executed.
    paillier_host: |data| {
        paillier::paillier_host(data);
    };
    /// Paillier keys, vectors and weights, and their bodies behind a good checksum.
    paillier_objects: |data| {
        paillier::paillier_objects(data);
    };
    /// Assembly texts, without bindings and with those of the paper's program.
    program_assemble: |data| {
        program::program_assemble(data);
    };
    /// Stored programs, and bodies behind a good checksum.
    program_decode: |data| {
        program::program_decode(data);
    };
    /// Points of private set intersection, read and raised.
    psi_points: |data| {
        psi::psi_points(data);
    };
    /// Assembly texts of cores' programs.
    rvfhe_assemble: |data| {
        rvfhe::rvfhe_assemble(data);
    };
    /// Words, and the programs of cores.
    rvfhe_decode: |data| {
        rvfhe::rvfhe_decode(data);
    };
    /// Secret keys, and their bodies behind a good checksum.
    tfhe_client_key: |data| {
        tfhe::tfhe_client_key(data);
    };
    /// Parameter sets, ciphertexts, test vectors and GGSW ciphertexts, and their bodies behind a good checksum.
    tfhe_objects: |data| {
        tfhe::tfhe_objects(data);
    };
    /// Bootstrapping and key-switching keys, judged and loaded.
    tfhe_server_key: |data| {
        tfhe::tfhe_server_key(data);
    };
    /// Words and tables, and their bodies behind a good checksum.
    tfhe_words: |data| {
        tfhe::tfhe_words(data);
    };
    /// Sealed objects, in memory and as a stream.
    wire_open: |data| {
        wire::wire_open(data);
    };
}
