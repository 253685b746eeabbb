//! Exact functions of words: `table/…/BITS` from encrypted digits to encrypted digits, `table-next/…` for another table of the same
//! selectors, `table-tree/…` the same without the key switch, `table-split/…` from one LWE ciphertext, `table-batch/…` several words,
//! `table-add/…` a sum by a decision diagram after selection.

use std::collections::HashMap;
use std::path::Path;
use std::time::{Duration, Instant};

use ciphermill_bench_peers::table::{Add, Integers, LookUp, PEER, mask};
use ciphermill_bench_peers::{Contender, Peer, concrete};
use ciphermill_lattice::{Csprng, SecretSeed};
use ciphermill_math::Isa;
use ciphermill_tfhe::circuit::Split;
use ciphermill_tfhe::server_key::MAX_LOADED_KEY_BYTES;
use ciphermill_tfhe::word::{DenseTable, Diagram, Edge, Node, SelectorId, Table, Word};
use ciphermill_tfhe::{
    Backend, Ciphertext, ClientKey, Encoding, KeyForm, KeyOrder, KeySeeds, ParameterSet, SecurityPolicy, SelectorFile,
    ServerKey, SplitJob,
};
use serde_json::json;

use super::scheme::{InPool, numbers};
use super::{Numbers, Settings};
use crate::Failure;
use crate::harness::{Clock, Effort, Stats, alternate};
use crate::machine::Pools;
use crate::report::{Case, Report};

/// The default set of the other families has no words.
const SET: &str = "WORD_2M64";
/// Where scripts/bench.sh leaves the Python of Concrete.
const CONCRETE: &str = "CIPHERMILL_BENCH_CONCRETE";
/// The widths of the tables that Concrete looks up too, and log2 of their failure probability, that of our set.
const CONCRETE_BITS: [u32; 2] = [14, 16];
const CONCRETE_LOG2_P: i32 = -64;
/// Words that are looked up in turn.
const WORDS: usize = 4;
/// Words of a batch.
const BATCH: usize = 16;
const SUM_BITS: u32 = 16;

/// A function of any width without structure.
fn f(x: u64) -> u64 {
    let mixed = (x ^ x >> 3).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed ^ mixed >> 41 ^ mixed >> 29
}

/// Our keys, as sent and as loaded.
struct Ours {
    client: ClientKey,
    key: ServerKey,
    params: Vec<(&'static str, serde_json::Value)>,
}

impl Ours {
    fn new(isa: Isa, pools: &Pools) -> Result<Self, Failure> {
        let parameters = ParameterSet::named(SET, SecurityPolicy::Require128Bits)?;
        let policy = SecurityPolicy::Require128Bits;
        let client = ClientKey::generate(&parameters, &SecretSeed::from_os()?);
        let form = KeyForm::Seeded;
        let bootstrap = client.write_bootstrap_key(form, KeySeeds::from_os()?, Vec::new(), &mut |_, _| ())?;
        let keyswitch = client.write_keyswitch_key(form, KeySeeds::from_os()?, Vec::new())?;
        let conversion = client.write_conversion_key(form, KeySeeds::from_os()?, Vec::new())?;
        let begun = Instant::now();
        let key = pools.one.install(|| -> Result<_, Failure> {
            let (limit, fft) = (MAX_LOADED_KEY_BYTES, Backend::Fft);
            let key = ServerKey::load_on(isa, limit, &bootstrap[..], &keyswitch[..], fft, policy, &mut |_, _| ())?;
            Ok(key.with_conversion(&conversion[..], policy)?)
        })?;
        let mut params = numbers(&parameters);
        params.extend([
            ("key_stored_bytes", json!(bootstrap.len() + keyswitch.len() + conversion.len())),
            ("key_loaded_bytes", json!(key.memory_bytes())),
            ("key_load_s", json!(begun.elapsed().as_secs_f64())),
        ]);
        Ok(Self { client, key, params })
    }

    fn decrypts_to(&self, word: &Word, value: u64) -> bool {
        self.client.decrypt_word(word).is_ok_and(|decrypted| decrypted == u128::from(value))
    }
}

/// What our server is to do with words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Job {
    /// Select and look up.
    Table,
    /// Look up in a table, with selectors that exist.
    Next,
    /// The same, without the key switch of the output digits.
    Tree,
    /// Split an integer, select and look up.
    Split,
}

/// Our server at work on words.
struct Server<'a> {
    ours: &'a Ours,
    job: Job,
    table: &'a Table,
    mask: u64,
    inputs: Vec<(u64, Word)>,
    integers: Vec<Ciphertext>,
    split: Split,
    files: Vec<SelectorFile>,
    count: usize,
    round: usize,
    outputs: Vec<Word>,
    done: bool,
}

impl<'a> Server<'a> {
    fn new(
        ours: &'a Ours,
        job: Job,
        table: &'a Table,
        bits: u32,
        values: &[u64],
        count: usize,
    ) -> Result<Self, Failure> {
        let mut random = Csprng::from_os()?;
        let word = |&value: &u64| Ok((value, ours.client.encrypt_word(value, bits, &mut random)?));
        let inputs = values.iter().map(word).collect::<Result<Vec<_>, Failure>>()?;
        let encoding = Encoding::unsigned(bits, false)?;
        let integer = |&value: &u64| Ok(ours.client.encrypt(&encoding, value as i64, KeyOrder::Big, &mut random)?);
        let integers = match job {
            Job::Split => values.iter().map(integer).collect::<Result<_, Failure>>()?,
            _ => Vec::new(),
        };
        let files = match job {
            Job::Next | Job::Tree => inputs.iter().map(|(_, word)| file(&ours.key, word)).collect::<Result<_, _>>()?,
            _ => Vec::new(),
        };
        let (mask, split) = (mask(bits), Split::new(bits, bits)?);
        let (round, outputs, done) = (0, Vec::new(), false);
        Ok(Self { ours, job, table, mask, inputs, integers, split, files, count, round, outputs, done })
    }

    fn index(&self, i: usize) -> usize {
        (self.round + i) % self.inputs.len()
    }

    fn compute(&mut self) -> Result<(), Failure> {
        let key = &self.ours.key;
        match self.job {
            Job::Table => {
                let words: Vec<&Word> = (0..self.count).map(|i| &self.inputs[self.index(i)].1).collect();
                for selectors in key.select_batch(&words)? {
                    let mut file = SelectorFile::new();
                    file.put(0, &selectors)?;
                    self.outputs.push(key.look_up(&file, self.table)?);
                }
            }
            Job::Next => self.outputs.push(key.look_up(&self.files[self.index(0)], self.table)?),
            // The row `table-next` decrypts the same look-up.
            Job::Tree => self.done = !key.look_up_big(&self.files[self.index(0)], self.table)?.is_empty(),
            Job::Split => {
                let word = key.split(SplitJob { input: &self.integers[self.index(0)], split: self.split })?;
                self.outputs.push(key.look_up(&file(key, &word)?, self.table)?);
            }
        }
        Ok(())
    }
}

fn file(key: &ServerKey, word: &Word) -> Result<SelectorFile, Failure> {
    let mut file = SelectorFile::new();
    file.put(0, &key.select(word)?)?;
    Ok(file)
}

impl Contender for Server<'_> {
    fn prepare(&mut self, round: usize) {
        (self.round, self.done) = (round, false);
        self.outputs.clear();
    }

    /// A failure leaves no output, and so is found incorrect.
    fn run(&mut self) {
        self.outputs.clear();
        if self.compute().is_err() {
            self.outputs.clear();
        }
    }

    fn correct(&mut self) -> bool {
        let right =
            |(i, word): (usize, &Word)| self.ours.decrypts_to(word, f(self.inputs[self.index(i)].0) & self.mask);
        match self.job {
            Job::Tree => self.done,
            _ => self.outputs.len() == self.count && self.outputs.iter().enumerate().all(right),
        }
    }
}

/// Sums by a diagram, of words that are selected.
struct Sum<'a> {
    ours: &'a Ours,
    table: &'a Table,
    file: SelectorFile,
    sum: u64,
    switches: bool,
    output: Option<Word>,
    done: bool,
}

impl Contender for Sum<'_> {
    fn run(&mut self) {
        let key = &self.ours.key;
        if self.switches {
            self.output = key.look_up(&self.file, self.table).ok();
        } else {
            self.done = key.look_up_big(&self.file, self.table).is_ok();
        }
    }

    fn correct(&mut self) -> bool {
        match &self.output {
            Some(word) => self.ours.decrypts_to(word, self.sum),
            None => self.done && !self.switches,
        }
    }
}

/// Nodes of a diagram, each once. Values that differ by a constant share a node.
#[derive(Default)]
struct Nodes {
    nodes: Vec<Node>,
    known: HashMap<(SelectorId, [Edge; 2]), Edge>,
}

impl Nodes {
    fn node(&mut self, selector: SelectorId, edges: [Edge; 2]) -> Edge {
        if edges[0] == edges[1] {
            return edges[0];
        }
        // The edge for 0 is not raised.
        let raised = match edges[0] {
            Edge::Digit(digit) | Edge::Raised { digit, .. } => digit,
            Edge::Node(_) => 0,
        };
        let edges = edges.map(|edge| edge.raised(4 - raised));
        let node = *self.known.entry((selector, edges)).or_insert_with(|| {
            self.nodes.push(Node { selector, edges });
            Edge::Node(self.nodes.len() as u32 - 1)
        });
        node.raised(raised)
    }

    /// The tree over two digits. `leaf` returns the edge for their sum.
    fn pair(&mut self, positions: [u8; 2], leaf: &dyn Fn(u8) -> Edge) -> Edge {
        // The digit of each pair of bits h, h ⊕ l.
        const GRAY: [[u8; 2]; 2] = [[0, 1], [3, 2]];
        let id = |position, high| SelectorId { position, high };
        let [x, y] = positions;
        let high = GRAY.map(|xs| {
            let sum = xs.map(|x| {
                let high = GRAY.map(|ys| {
                    let edges = ys.map(|y| leaf(x + y));
                    self.node(id(y, false), edges)
                });
                self.node(id(y, true), high)
            });
            self.node(id(x, false), sum)
        });
        self.node(id(x, true), high)
    }
}

/// The sum, with its carry, of the words at the positions from 0 and from `digits` on.
fn adder(digits: u8) -> Result<Table, Failure> {
    let mut nodes = Nodes::default();
    // The carry into a digit: 0 or 1.
    let (mut carry, mut outputs) = (Edge::Digit(0), Vec::new());
    for digit in 0..digits {
        let positions = [digit, digit + digits];
        outputs.push(nodes.pair(positions, &|sum| carry.raised(sum % 4)));
        carry = nodes.pair(positions, &|sum| match sum {
            ..3 => Edge::Digit(0),
            3 => carry,
            _ => Edge::Digit(1),
        });
    }
    outputs.push(carry);
    Ok(Table::Diagram(Diagram::new(nodes.nodes, outputs)?))
}

struct Run<'r> {
    settings: &'r Settings<'r>,
    pools: &'r Pools,
    ours: &'r Ours,
    peer: &'r Integers,
    isa: Isa,
}

impl Run<'_> {
    fn effort(&self) -> Effort {
        let clock = self.settings.clock;
        match self.settings.quick {
            true => Effort { rounds: 2, least_rounds: 1, budget: Duration::from_secs(1), clock },
            false => Effort { rounds: 40, least_rounds: 8, budget: Duration::from_secs(25), clock },
        }
    }

    fn case(&self, name: String) -> Case {
        eprintln!("{name}");
        Case::new(name, self.ours.params.clone())
    }

    /// Measures ours on one thread and on two, and the peers on one.
    fn compare(
        &self,
        case: &Case,
        ours: [&mut (dyn Contender + Send); 2],
        peer: &mut (dyn Contender + Send),
        other: Option<(Peer, &mut dyn Contender)>,
        report: &mut Report,
    ) {
        let [one, two] = ours;
        let mut theirs = InPool { pool: &self.pools.one, contender: Borrowed(peer) };
        let mut on_one = InPool { pool: &self.pools.one, contender: Borrowed(one) };
        let mut on_two = self.pools.two.as_ref().map(|pool| InPool { pool, contender: Borrowed(two) });
        let (mut lanes, mut peers): (Vec<&mut dyn Contender>, _) = (vec![&mut theirs], vec![PEER]);
        if let Some((peer, lane)) = other {
            lanes.push(lane);
            peers.push(peer);
        }
        lanes.push(&mut on_one);
        lanes.extend(on_two.as_mut().map(|lane| lane as &mut dyn Contender));
        let stats: Vec<Stats> = alternate(&mut lanes, self.effort());
        let (theirs, ours) = stats.split_at(peers.len());
        for (&peer, &their) in peers.iter().zip(theirs) {
            for (i, &our) in ours.iter().enumerate() {
                report.tell(case.row(self.isa.name(), (i + 1, 1), our, peer, their, self.settings.cpu));
            }
        }
    }

    /// Concrete with the same table, if it is installed.
    fn concrete(&self, bits: u32, values: &[u64], report: &mut Report) -> Result<Option<concrete::LookUp>, Failure> {
        if self.settings.clock == Clock::Process {
            report.note("table: no row of Concrete, a process whose CPU time is not ours");
            return Ok(None);
        }
        let Some(python) = std::env::var_os(CONCRETE) else {
            report.note(format!(
                "table: no row of Concrete, as {CONCRETE} names no Python; scripts/bench.sh installs it"
            ));
            return Ok(None);
        };
        // Started by the pinned thread, so that it is pinned too.
        let start = || concrete::LookUp::new(Path::new(&python), bits, CONCRETE_LOG2_P, f, values);
        let peer = self.pools.one.install(start)?;
        report.note(format!("table: Concrete's keys for {bits} bits have {} bytes", peer.keys()));
        Ok(Some(peer))
    }

    fn words(&self, job: Job, bits: u32, count: usize, report: &mut Report) -> Result<(), Failure> {
        let (start, end, note) = match (job, count) {
            (Job::Table, 1) => (
                "table",
                format!("{bits}"),
                "selection, table and key switch of ours; `wopbs` of tfhe-rs, a table of Concrete",
            ),
            (Job::Table, _) => ("table-batch", format!("{bits}x{count}"), "the peer's words one by one"),
            (Job::Next, _) => ("table-next", format!("{bits}"), "the peer begins again, it keeps no selectors"),
            (Job::Tree, _) => {
                ("table-tree", format!("{bits}"), "without the key switch of the output digits; the peer's `wopbs`")
            }
            (Job::Split, _) => {
                ("table-split", format!("{bits}"), "ours begins at one LWE ciphertext, the peer at digits")
            }
        };
        let name = format!("{start}/{SET}/{end}");
        if !name.contains(self.settings.only) {
            return Ok(());
        }
        let table = DenseTable::of_function(bits, bits, |x| (f(x.into()) & mask(bits)) as u32)?;
        let (table, case) = (Table::Dense(table), self.case(name).note(note));
        let values: Vec<u64> = Numbers(bits.into()).take(WORDS).map(|x| x >> (64 - bits)).collect();
        let mut one = Server::new(self.ours, job, &table, bits, &values, count)?;
        let mut two = Server::new(self.ours, job, &table, bits, &values, count)?;
        let mut peer = self.pools.one.install(|| LookUp::new(self.peer, bits, f, &values, count));
        let with_concrete = job == Job::Table && count == 1 && CONCRETE_BITS.contains(&bits);
        let mut other = if with_concrete { self.concrete(bits, &values, report)? } else { None };
        let other = other.as_mut().map(|peer| (concrete::PEER, peer as &mut dyn Contender));
        self.compare(&case, [&mut one, &mut two], &mut peer, other, report);
        Ok(())
    }

    fn sums(&self, report: &mut Report) -> Result<(), Failure> {
        let digits = SUM_BITS.div_ceil(2) as u8;
        let table = adder(digits)?;
        let Table::Diagram(diagram) = &table else { return Err("a sum is a diagram".into()) };
        let nodes = diagram.nodes().len();
        let (a, b) = (0xbeef, 0x1234);
        for switches in [false, true] {
            let name = format!("table-add/{SET}/{SUM_BITS}{}", if switches { "-switched" } else { "" });
            if !name.contains(self.settings.only) {
                continue;
            }
            let note = format!(
                "{nodes} CMuxes after selection{}; the peer's `add_parallelized` with its carries",
                if switches { ", and the key switch of nine digits" } else { "" }
            );
            let sum = || -> Result<_, Failure> {
                let (mut file, mut random) = (SelectorFile::new(), Csprng::from_os()?);
                for (first, value) in [(0, a), (usize::from(digits), b)] {
                    file.put(
                        first,
                        &self.ours.key.select(&self.ours.client.encrypt_word(value, SUM_BITS, &mut random)?)?,
                    )?;
                }
                Ok(Sum { ours: self.ours, table: &table, file, sum: a + b, switches, output: None, done: false })
            };
            let (mut one, mut two) = (sum()?, sum()?);
            let mut peer = Add::new(self.peer, SUM_BITS, [a, b]);
            self.compare(&self.case(name).note(note), [&mut one, &mut two], &mut peer, None, report);
        }
        Ok(())
    }
}

/// A contender that is lent to a pool.
struct Borrowed<'c>(&'c mut (dyn Contender + Send));

impl Contender for Borrowed<'_> {
    fn prepare(&mut self, round: usize) {
        self.0.prepare(round);
    }

    fn run(&mut self) {
        self.0.run();
    }

    fn correct(&mut self) -> bool {
        self.0.correct()
    }
}

pub(crate) fn run(settings: &Settings<'_>, pools: &Pools, report: &mut Report) -> Result<(), Failure> {
    eprintln!("table: keys");
    let isa = settings.isas[0];
    let ours = Ours::new(isa, pools)?;
    let peer = pools.widest().install(Integers::new);
    let run = Run { settings, pools, ours: &ours, peer: &peer, isa };
    for bits in [8, 14, 16, 20] {
        run.words(Job::Table, bits, 1, report)?;
    }
    for bits in [14, 16] {
        run.words(Job::Next, bits, 1, report)?;
        run.words(Job::Tree, bits, 1, report)?;
    }
    run.words(Job::Split, 14, 1, report)?;
    run.words(Job::Table, 8, BATCH, report)?;
    run.sums(report)
}
