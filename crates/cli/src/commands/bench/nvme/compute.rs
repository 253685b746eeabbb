//! The cost of serving a program: the paper's Table 5, started by a write over NVMe, compared with the bare program.

use ciphermill_device::handlers;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ciphermill_device::handlers::tfhe::TfheHandler;
use ciphermill_device::{Device, DeviceConfig, Space, SpaceId, WriteMode, WriteOptions};
use ciphermill_lattice::{Csprng, SecretSeed};
use ciphermill_nvme::BLOCK_BYTES;
use ciphermill_nvme::initiator::RemoteNamespace;
use ciphermill_program::{Bindings, DataId, KeyId, Metadata, Program, TypeCode, VrId, assemble};
use ciphermill_tfhe::parameters::TEST_SMALL_U64;
use ciphermill_tfhe::quarter_square::{DEFAULT_LOG2_P_FAIL, QuarterSquare};
use ciphermill_tfhe::{Ciphertext, ClientKey, KeyForm, KeyOrder, KeySeeds, ParameterSet, SecurityPolicy, TfheEngine};

use super::raw::RawFile;
use crate::error::CliError;
use crate::fault::judged;

const PROGRAM: &str = include_str!("../../../../../../examples/programs/xy.cms");
const KEY: KeyId = KeyId(0);
const X: VrId = VrId::new(handlers::tfhe::TLWE_COR, KEY, DataId(2));
const Y: VrId = VrId::new(handlers::tfhe::TLWE_COW, KEY, DataId(3));
/// Where the objects begin, in blocks, and how far they lie apart.
const BASE: u64 = 1 << 20;
const STRIDE: u64 = 1 << 14;

/// Times of one program, bare and served, and of a sync between them.
#[derive(Default)]
pub(super) struct Computed {
    /// The program alone, on a device in this process and in memory; nothing is stored.
    pub(super) bare: Vec<Duration>,
    /// 4 KiB overwritten in the raw file, then fdatasync.
    pub(super) sync: Vec<Duration>,
    /// A write of the second operand's block over NVMe, which runs the program and stores its result durably. Its metadata
    /// block is written before and not timed.
    pub(super) served: Vec<Duration>,
    /// Products that were not x * y.
    pub(super) wrong_bare: usize,
    pub(super) wrong_served: usize,
}

struct Client {
    key: ClientKey,
    product: QuarterSquare,
    rng: Csprng,
}

impl Client {
    fn operand(&mut self, value: i64) -> Result<Vec<u8>, CliError> {
        let (key, rng) = (&self.key, &mut self.rng);
        Ok(key.encrypt_in(&self.product.operands(), value, KeyOrder::Small, rng)?.to_bytes())
    }

    fn is_product(&self, bytes: &[u8], expected: i64) -> Result<bool, CliError> {
        Ok(judged(self.key.decrypt(self.product.output(), &Ciphertext::from_bytes(bytes)?)? == expected))
    }
}

/// The program with its operands, stored over NVMe and in a device of this process.
pub(super) struct Computing {
    client: Client,
    space: Space,
    program: Program,
    /// First block of the second operand.
    lba: u64,
    /// Bytes of an operand and of a product.
    size: usize,
}

impl Computing {
    /// Makes keys of a toy set and stores everything on both sides.
    pub(super) async fn prepare(namespace: &RemoteNamespace, engine: Arc<dyn TfheEngine>) -> Result<Self, CliError> {
        let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
        let parameters = ParameterSet::named(TEST_SMALL_U64, policy)?;
        let key = ClientKey::generate(&parameters, &SecretSeed::from_os()?);
        let product = QuarterSquare::new(parameters.spec(), KeyOrder::Small, DEFAULT_LOG2_P_FAIL)?;
        let bootstrap = key.write_bootstrap_key(KeyForm::Seeded, KeySeeds::from_os()?, Vec::new(), &mut |_, _| ())?;
        let keyswitch = key.write_keyswitch_key(KeyForm::Seeded, KeySeeds::from_os()?, Vec::new())?;
        let table = product.test_vector(&parameters)?.to_bytes();
        let program = program()?;
        let mut client = Client { key, product, rng: Csprng::from_os()? };
        let objects = [
            (handlers::tfhe::bootstrapping_key(KEY), bootstrap),
            (handlers::tfhe::key_switching_key(KEY), keyswitch),
            (VrId::new(handlers::tfhe::TV, KEY, DataId(0)), table),
            (VrId::new(TypeCode::PRG, KEY, DataId(0)), program.encode()),
            (X, client.operand(2)?),
        ];

        let handler = Arc::new(TfheHandler::new(engine, policy));
        let space = Device::open(DeviceConfig::in_memory(), vec![handler])?.space(SpaceId::EMBEDDED)?;
        for (index, (register, bytes)) in objects.iter().enumerate() {
            space.write_bytes(*register, bytes, WriteOptions::default())?;
            put(namespace, BASE + index as u64 * STRIDE, *register, bytes).await?;
        }
        let y = client.operand(1)?;
        space.write_bytes(Y, &y, WriteOptions { mode: WriteMode::Stored, ..WriteOptions::default() })?;
        Ok(Self { client, space, program, lba: BASE + objects.len() as u64 * STRIDE, size: y.len() })
    }

    /// In each of `samples` rounds one of each kind, each round beginning with another: a disturbance of the machine meets
    /// them all. The server idles while the other two run here.
    pub(super) async fn run(
        &mut self,
        namespace: &RemoteNamespace,
        raw: &RawFile,
        samples: u32,
    ) -> Result<Computed, CliError> {
        let mut computed = Computed::default();
        for round in 0..=samples {
            let (mut bare, mut sync, mut served) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
            for turn in 0..3 {
                match (round + turn) % 3 {
                    0 => {
                        let begun = Instant::now();
                        let result = self.space.run(&self.program)?;
                        bare = begun.elapsed();
                        computed.wrong_bare += usize::from(!self.client.is_product(&result, 2)?);
                    }
                    1 => sync = raw.sync(round as u8).map_err(CliError::file("sync", Path::new("the raw file")))?,
                    _ => {
                        let value = i64::from(round % 3);
                        let (time, result) = self.serve(namespace, value).await?;
                        served = time;
                        computed.wrong_served += usize::from(!self.client.is_product(&result, 2 * value)?);
                    }
                }
            }
            // The first round warms up.
            if round > 0 {
                computed.bare.push(bare);
                computed.sync.push(sync);
                computed.served.push(served);
            }
        }
        Ok(computed)
    }

    /// Writes an operand; the time until its product is stored, and the product.
    async fn serve(&mut self, namespace: &RemoteNamespace, value: i64) -> Result<(Duration, Vec<u8>), CliError> {
        let mut block = self.client.operand(value)?;
        let record = metadata(Y, &block);
        namespace.write(self.lba + namespace.blocks() / 2, record.encode().to_vec()).await?;
        block.resize(BLOCK_BYTES, 0);
        let begun = Instant::now();
        namespace.write(self.lba, block).await?;
        let time = begun.elapsed();
        let mut result = namespace.read(self.lba, 1).await?;
        result.truncate(self.size);
        Ok((time, result))
    }
}

/// The program of Table 5 with its registers.
fn program() -> Result<Program, CliError> {
    let path = std::path::Path::new("xy.cms");
    let bindings = [format!("r2={X}"), format!("r3={Y}")]
        .iter()
        .map(|binding| binding.parse().map_err(CliError::content(path)))
        .collect::<Result<Vec<_>, _>>()?;
    let bindings = Bindings::collect(bindings).map_err(CliError::content(path))?;
    Ok(assemble(handlers::instruction_set(), PROGRAM, &bindings).map_err(CliError::content(path))?.program)
}

fn metadata(register: VrId, bytes: &[u8]) -> Metadata {
    let object_crc32c = Metadata::checksum_of(bytes);
    Metadata { id: register, armed: false, one_shot: false, stored: false, size: bytes.len() as u64, object_crc32c }
}

/// Metadata, then the data in pieces that one command takes.
async fn put(namespace: &RemoteNamespace, lba: u64, register: VrId, bytes: &[u8]) -> Result<(), CliError> {
    namespace.write(lba + namespace.blocks() / 2, metadata(register, bytes).encode().to_vec()).await?;
    let piece = namespace.max_transfer_blocks() as usize * BLOCK_BYTES;
    for (index, piece_bytes) in bytes.chunks(piece).enumerate() {
        let mut data = piece_bytes.to_vec();
        data.resize(data.len().next_multiple_of(BLOCK_BYTES), 0);
        namespace.write(lba + (index * piece / BLOCK_BYTES) as u64, data).await?;
    }
    Ok(())
}
