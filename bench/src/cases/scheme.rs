//! What bootstrapping, key switching and key generation share: our keys and messages, and the peer's parameters.

use ciphermill_bench_peers::{Contender, lwe};
use ciphermill_lattice::{Csprng, NoiseDistribution, SecretSeed};
use ciphermill_math::Isa;
use ciphermill_tfhe::server_key::MAX_LOADED_KEY_BYTES;
use ciphermill_tfhe::{
    Backend, BootstrapJob, Ciphertext, ClientKey, Encoding, KeyForm, KeyOrder, KeySeeds, ParameterSet, SecurityPolicy,
    ServerKey, TestVector, TorusWidth,
};
use rayon::ThreadPool;
use serde_json::{Value, json};

use crate::Failure;

const POLICY: SecurityPolicy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;

/// The function that every bootstrap evaluates.
pub(crate) fn f(message: u64) -> u64 {
    message ^ 1
}

/// A parameter set of ours, on a 64-bit torus.
pub(crate) fn parameters(name: &str) -> Result<ParameterSet, Failure> {
    let parameters = ParameterSet::named(name, POLICY)?;
    if parameters.torus != TorusWidth::U64 {
        return Err(format!("{name} has a torus of 32 bits; the peer's is 64").into());
    }
    Ok(parameters)
}

/// The numbers of a set, for rows.
pub(crate) fn numbers(p: &ParameterSet) -> Vec<(&'static str, Value)> {
    vec![
        ("set", json!(p.name)),
        ("lwe_dimension", json!(p.lwe_dimension.0)),
        ("glwe_dimension", json!(p.glwe_dimension.0)),
        ("polynomial_size", json!(p.polynomial_size.get())),
        ("pbs_base_log", json!(p.pbs.base_log.0)),
        ("pbs_level_count", json!(p.pbs.level_count.0)),
        ("ks_base_log", json!(p.ks.base_log.0)),
        ("ks_level_count", json!(p.ks.level_count.0)),
    ]
}

/// The same set in the peer's terms.
pub(crate) fn peer_parameters(p: &ParameterSet) -> Result<lwe::Parameters, Failure> {
    let std_dev = |noise| match noise {
        NoiseDistribution::Gaussian { std_dev } => Ok(std_dev),
        _ => Err(Failure::from(format!("the noise of {} is not Gaussian; the peer's is", p.name))),
    };
    Ok(lwe::Parameters {
        lwe_dimension: p.lwe_dimension.0,
        glwe_dimension: p.glwe_dimension.0,
        polynomial_size: p.polynomial_size.get(),
        pbs_base_log: p.pbs.base_log.0,
        pbs_level_count: p.pbs.level_count.0,
        ks_base_log: p.ks.base_log.0,
        ks_level_count: p.ks.level_count.0,
        lwe_std_dev: std_dev(p.lwe_noise)?,
        glwe_std_dev: std_dev(p.glwe_noise)?,
        message_bits: p.message_bits,
    })
}

/// Our keys as sent.
pub(crate) struct SentKeys {
    bootstrap: Vec<u8>,
    keyswitch: Vec<u8>,
}

impl SentKeys {
    /// Generates both, compressed, on all threads of the current rayon pool.
    pub(crate) fn generate(client: &ClientKey) -> Result<Self, Failure> {
        let bootstrap =
            client.write_bootstrap_key(KeyForm::Seeded, KeySeeds::from_os()?, Vec::new(), &mut |_, _| ())?;
        let keyswitch = client.write_keyswitch_key(KeyForm::Seeded, KeySeeds::from_os()?, Vec::new())?;
        Ok(Self { bootstrap, keyswitch })
    }

    /// Makes them ready to compute, on all threads of the current rayon pool.
    pub(crate) fn load(&self, isa: Isa, backend: Backend) -> Result<ServerKey, Failure> {
        let (limit, bootstrap, keyswitch) = (MAX_LOADED_KEY_BYTES, &self.bootstrap[..], &self.keyswitch[..]);
        Ok(ServerKey::load_on(isa, limit, bootstrap, keyswitch, backend, POLICY, &mut |_, _| ())?)
    }
}

/// Our client with encryptions of every message under both keys.
pub(crate) struct Ours {
    pub(crate) client: ClientKey,
    encoding: Encoding,
    table: TestVector,
    small: Vec<Ciphertext>,
    big: Vec<Ciphertext>,
}

impl Ours {
    pub(crate) fn new(parameters: &ParameterSet) -> Result<Self, Failure> {
        let client = ClientKey::generate(parameters, &SecretSeed::from_os()?);
        let encoding = Encoding::unsigned(parameters.message_bits, true)?;
        let table = parameters.test_vector(&encoding, &encoding, |message| f(message as u64) as i64)?;
        let mut random = Csprng::from_os()?;
        let mut encryptions = |choice| -> Result<Vec<Ciphertext>, Failure> {
            let messages = 0..1i64 << parameters.message_bits;
            messages.map(|message| Ok(client.encrypt(&encoding, message, choice, &mut random)?)).collect()
        };
        let (small, big) = (encryptions(KeyOrder::Small)?, encryptions(KeyOrder::Big)?);
        Ok(Self { client, encoding, table, small, big })
    }

    fn decrypts_to(&self, ciphertext: &Ciphertext, message: u64) -> bool {
        self.client.decrypt(&self.encoding, ciphertext).is_ok_and(|decrypted| decrypted == message as i64)
    }
}

/// What our server is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Job {
    /// From the small to the big key.
    Bootstrap,
    /// From the big key to itself, key switch included, so many at once.
    KeyswitchBootstrap(usize),
    /// From the big to the small key.
    Keyswitch,
}

/// Our server at work.
pub(crate) struct Server<'a> {
    ours: &'a Ours,
    key: &'a ServerKey,
    job: Job,
    round: usize,
    outputs: Vec<Ciphertext>,
}

impl<'a> Server<'a> {
    pub(crate) fn new(ours: &'a Ours, key: &'a ServerKey, job: Job) -> Self {
        Self { ours, key, job, round: 0, outputs: Vec::new() }
    }

    fn message(&self, i: usize) -> usize {
        (self.round + i) % self.ours.small.len()
    }
}

impl Contender for Server<'_> {
    fn prepare(&mut self, round: usize) {
        self.round = round;
        self.outputs.clear();
    }

    /// A failure leaves no output, and so is found incorrect.
    fn run(&mut self) {
        let (key, table, threads) = (self.key, &self.ours.table, rayon::current_num_threads());
        let (small, big) = (&self.ours.small[self.message(0)], &self.ours.big[self.message(0)]);
        self.outputs = match self.job {
            Job::Bootstrap => key.bootstrap_without_keyswitch(small, table, threads).map(|output| vec![output]),
            Job::Keyswitch => key.keyswitch(big).map(|output| vec![output]),
            Job::KeyswitchBootstrap(1) => key.bootstrap_with(big, table, threads).map(|output| vec![output]),
            Job::KeyswitchBootstrap(batch) => {
                let input = |i| &self.ours.big[self.message(i)];
                let jobs: Vec<BootstrapJob<'_>> =
                    (0..batch).map(|i| BootstrapJob { input: input(i), test_vector: table }).collect();
                key.bootstrap_batch(&jobs)
            }
        }
        .unwrap_or_default();
    }

    fn correct(&mut self) -> bool {
        let expected = |i: usize| match self.job {
            Job::Keyswitch => self.message(i) as u64,
            _ => f(self.message(i) as u64),
        };
        let count = if let Job::KeyswitchBootstrap(batch) = self.job { batch } else { 1 };
        self.outputs.len() == count
            && self.outputs.iter().enumerate().all(|(i, output)| self.ours.decrypts_to(output, expected(i)))
    }
}

/// A contender that works in a pool of pinned threads.
pub(crate) struct InPool<'p, C> {
    pub(crate) pool: &'p ThreadPool,
    pub(crate) contender: C,
}

impl<C: Contender + Send> Contender for InPool<'_, C> {
    fn prepare(&mut self, round: usize) {
        self.contender.prepare(round);
    }

    fn run(&mut self) {
        self.pool.install(|| self.contender.run());
    }

    fn correct(&mut self) -> bool {
        self.contender.correct()
    }
}
