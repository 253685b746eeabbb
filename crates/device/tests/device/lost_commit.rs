//! Damage of the table's last commit after a crash. `redb` takes it for a torn commit and rolls it back without an error.
//! Either the store has every acknowledged change nevertheless, or it says that it is damaged and repair gives them back.

use crate::salvage::{Images, LIMITS, SPACE, is_whole, key, places, write};
use crate::support::*;
use ciphermill_device::{
    ObjectFlags, StoreError, StoreFiles,
    storage::{Fault, MemoryStorage, SimulatedDisk, Storage},
    store::{Salvage, SalvageState, SpaceLimits, Store},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    ops::Range,
    sync::Arc,
};

/// The acknowledged state.
#[derive(Clone, Debug, PartialEq)]
struct Acknowledged {
    objects: BTreeMap<u32, (Vec<u8>, ObjectFlags)>,
    limits: SpaceLimits,
    /// The highest generation that was given out.
    newest: u64,
}

const PAGE: usize = 4096;
const OTHER_LIMITS: SpaceLimits = SpaceLimits { bytes: 65 << 20, objects: 999 };

/// A change of the store.
#[derive(Clone, Copy, Debug)]
enum Step {
    Put(u32, u64),
    Delete(u32),
    Flags(u32),
    Limits(SpaceLimits),
}

/// The last changes that are tried: of every kind, and of small objects and large ones.
const LAST: [Step; 7] = [
    Step::Put(50, 40),
    Step::Put(51, 9000),
    Step::Put(4, 300),
    Step::Put(5, 9000),
    Step::Delete(6),
    Step::Flags(7),
    Step::Limits(OTHER_LIMITS),
];

impl Acknowledged {
    fn none() -> Self {
        Self { objects: BTreeMap::new(), limits: LIMITS, newest: 0 }
    }

    fn content(data: u32, words: u64) -> Vec<u8> {
        value(u64::from(data) << 20 | words, words)
    }

    /// The state after a step.
    fn after(&self, step: Step) -> Self {
        let mut next = self.clone();
        match step {
            Step::Put(data, words) => {
                drop(next.objects.insert(data, (Self::content(data, words), ObjectFlags::NONE)));
            }
            Step::Delete(data) => drop(next.objects.remove(&data)),
            Step::Flags(data) => {
                if let Some(object) = next.objects.get_mut(&data) {
                    object.1 = ObjectFlags::ARMED;
                }
            }
            Step::Limits(limits) => next.limits = limits,
        }
        next
    }

    /// The state of a store. `None` if an object cannot be read.
    fn of(store: &Store) -> Option<Self> {
        let mut state = Self::none();
        for object in store.list(SPACE) {
            let (data, flags) = (object.key().id.data_id.0, object.flags());
            state.newest = state.newest.max(object.generation());
            state.objects.insert(data, (store.read(object).pull_all().ok()?, flags));
        }
        state.limits = store.space(SPACE)?.0;
        Some(state)
    }
}

fn perform(store: &Store, step: Step) -> Result<(), StoreError> {
    match step {
        Step::Put(data, words) => {
            let bytes = Acknowledged::content(data, words);
            let mut writer = store.write(key(data), bytes.len() as u64)?;
            writer.push(&bytes)?;
            writer.commit(ObjectFlags::NONE).map(drop)
        }
        Step::Delete(data) => store.delete(key(data)),
        Step::Flags(data) => store.set_flags(key(data), ObjectFlags::ARMED),
        Step::Limits(limits) => store.set_space(SPACE, limits),
    }
}

/// The steps of a store with twelve objects, some of them replaced and deleted.
fn history() -> Vec<Step> {
    let puts = (0..12).map(|data| Step::Put(data, if data % 4 == 1 { 5000 } else { 30 + 200 * u64::from(data) }));
    let later = [Step::Put(2, 70), Step::Put(9, 6000), Step::Delete(3), Step::Flags(8)];
    [Step::Limits(LIMITS)].into_iter().chain(puts).chain(later).collect()
}

/// The highest generation that a store has given out.
fn next_generation(store: &Store) -> u64 {
    let mut writer = store.write(key(99), 1).expect("room");
    writer.push(&[1]).expect("a byte");
    writer.commit(ObjectFlags::NONE).expect("durable").generation()
}

/// What the damage of one byte led to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Present,
    Repaired,
    /// An object whose only copy was hit is reported, and all others are repaired.
    Reported,
}

/// The files before the damage, with the states that the store may have, and the places of all objects of these.
struct Whole {
    images: Images,
    states: Vec<Acknowledged>,
    places: BTreeMap<Vec<u8>, Vec<Range<usize>>>,
}

impl Whole {
    fn new(images: Images, states: Vec<Acknowledged>) -> Self {
        let contents = states.iter().flat_map(|state| state.objects.values().map(|(bytes, _)| bytes.clone()));
        let places = contents.map(|bytes| (bytes.clone(), places(&images, &bytes))).collect();
        Self { images, states, places }
    }

    /// The objects of a state of which the damage hit every copy.
    fn hit(&self, known: &Acknowledged, damaged: &Images) -> BTreeSet<u32> {
        let whole = |bytes| is_whole(&self.images, damaged, bytes, &self.places[bytes]);
        known.objects.iter().filter(|(_, (bytes, _))| !whole(bytes)).map(|(data, _)| *data).collect()
    }

    /// Opens the damaged store, or repairs it, and compares with the states that it may have.
    fn judge(&self, damaged: &Images, context: &str) -> Outcome {
        match Store::open(damaged.files()) {
            Ok(store) => self.judge_opened(&store, context),
            Err(StoreError::Corrupt { .. }) => self.judge_repaired(damaged, context),
            Err(error) => panic!("{context}: {error}"),
        }
    }

    fn judge_opened(&self, store: &Store, context: &str) -> Outcome {
        let state = Acknowledged::of(store).unwrap_or_else(|| panic!("{context}: the opened store is unreadable"));
        let same = |known: &Acknowledged| state.objects == known.objects && state.limits == known.limits;
        assert!(self.states.iter().any(same), "{context}: the store opens with another state");
        self.judge_generation(store, context);
        Outcome::Present
    }

    fn judge_generation(&self, store: &Store, context: &str) {
        assert!(next_generation(store) > self.states[0].newest, "{context}: a generation is given out again");
    }

    fn judge_repaired(&self, damaged: &Images, context: &str) -> Outcome {
        let salvage = Salvage::scan(damaged.files(), &mut |_, _| ());
        let salvage = salvage.unwrap_or_else(|error| panic!("{context}: {error}"));
        assert!(!salvage.report().table_sound, "{context}");
        let repaired = salvage.write(Store::open(StoreFiles::in_memory()).expect("new")).expect("written");
        let state =
            Acknowledged::of(&repaired).unwrap_or_else(|| panic!("{context}: the repaired store is unreadable"));
        self.judge_generation(&repaired, context);
        let same = |known: &&Acknowledged| {
            let hit = self.hit(known, damaged);
            let others = |state: &Acknowledged| -> BTreeMap<_, _> {
                state.objects.clone().into_iter().filter(|(data, _)| !hit.contains(data)).collect()
            };
            others(known) == others(&state) && known.limits == state.limits
        };
        let known = self.states.iter().find(same);
        let hit = self.hit(known.unwrap_or_else(|| panic!("{context}: repair lost an acknowledged change")), damaged);
        for data in &hit {
            let of_it = salvage.versions().iter().filter(|version| version.object == key(*data));
            let told = |state| matches!(state, SalvageState::Lost | SalvageState::Older { .. });
            let told = of_it.map(|version| version.state).any(told);
            assert!(told, "{context}: {data} is damaged, and the report does not say so");
        }
        if hit.is_empty() { Outcome::Repaired } else { Outcome::Reported }
    }
}

/// The bytes to damage: the whole header, densely the pages that the last commit wrote, and sparsely all others.
fn bytes_to_damage(before: &[u8], after: &[u8]) -> Vec<usize> {
    let header = 0..320;
    let pages = (1..after.len() / PAGE).flat_map(|page| {
        let range = page * PAGE..(page + 1) * PAGE;
        let changed = before.get(range.clone()) != Some(&after[range.clone()]);
        // Other bytes of each page.
        let first = page * 13 % 97;
        range.skip(first).step_by(if changed { 97 } else { 1999 })
    });
    // Pages never written are zeros, and no part of the table.
    header.chain(pages.filter(|at| after[at / PAGE * PAGE..][..PAGE].iter().any(|byte| *byte != 0))).collect()
}

#[test]
fn damage_anywhere_in_the_table_after_a_kill_loses_no_acknowledged_change() {
    let mut outcomes = BTreeMap::new();
    for last in LAST {
        let files = StoreFiles::in_memory();
        let store = Store::open(files.clone()).expect("a new store");
        let steps = history();
        let mut state = Acknowledged::none();
        for step in &steps {
            perform(&store, *step).expect("durable");
            state = state.after(*step);
        }
        let before = Images::of(&files);
        perform(&store, last).expect("durable");
        state = state.after(last);
        state.newest = Acknowledged::of(&store).expect("readable").newest;
        // The kill: all that was written is there, and the database was not closed.
        let killed = Images::of(&files);
        drop(store);
        let whole = Whole::new(killed.clone(), vec![state]);
        assert_eq!(whole.judge(&killed, "undamaged"), Outcome::Present);
        for at in bytes_to_damage(&before.objects, &killed.objects) {
            let mut damaged = killed.clone();
            damaged.objects[at] ^= 1 << (at % 8);
            let context = format!("{last:?}, byte {at} of the table");
            *outcomes.entry(whole.judge(&damaged, &context)).or_insert(0) += 1;
        }
    }
    println!("{outcomes:?}");
    let count = |outcome| outcomes.get(&outcome).copied().unwrap_or(0);
    assert!(count(Outcome::Present) > 100 && count(Outcome::Repaired) > 500 && count(Outcome::Reported) > 20);
}

/// The store after a power cut at an operation, with the states that it may have.
fn cut(steps: &[Step], operation: u64) -> (SimulatedDisk, Vec<Acknowledged>, bool) {
    let disk = SimulatedDisk::new();
    disk.inject(Fault::PowerLossAt(operation));
    let mut states = vec![Acknowledged::none()];
    let Ok(store) = Store::open(StoreFiles::on_simulated_disk(&disk)) else { return (disk, states, true) };
    for step in steps {
        let next = states[0].after(*step);
        if perform(&store, *step).is_err() {
            states.push(next);
            return (disk, states, true);
        }
        states = vec![next];
        states[0].newest = Acknowledged::of(&store).map_or(states[0].newest, |state| state.newest);
    }
    (disk, states, false)
}

#[test]
fn no_power_cut_makes_a_store_look_damaged_and_damage_after_it_loses_no_acknowledged_change() {
    let steps = [history(), LAST.to_vec()].concat();
    let (mut dice, mut damages, mut repaired) = (Dice(7), 0, 0);
    for operation in 0.. {
        let (disk, states, interrupted) = cut(&steps, operation);
        for seed in 0..2 {
            let after = disk.crash(operation << 8 | seed);
            let files = StoreFiles::on_simulated_disk(&after);
            let images = Images::of(&files);
            let context = format!("power cut at operation {operation}, seed {seed}");
            let store = Store::open(files).unwrap_or_else(|error| panic!("{context}: {error}"));
            let found = Acknowledged::of(&store).unwrap_or_else(Acknowledged::none);
            let same = |state: &&Acknowledged| (&state.objects, state.limits) == (&found.objects, found.limits);
            assert!(states.iter().any(|state| same(&state)), "{context}: an acknowledged change is missing");
            // The log is never synced. Damage is noticed where the cut left its frames.
            disk.clear_faults();
            let log = disk.file("log");
            let mut bytes = vec![0; log.len().expect("len") as usize];
            log.read_at(0, &mut bytes).expect("read");
            if states[0].objects.is_empty() || images.objects.is_empty() {
                continue;
            }
            let whole = Whole::new(Images { log: bytes, ..images }, states.clone());
            for _ in 0..3 {
                let mut damaged = whole.images.clone();
                let at =
                    if dice.below(3) == 0 { 64 + dice.below(256) } else { dice.below(damaged.objects.len() as u64) };
                damaged.objects[at as usize] ^= 1 << dice.below(8);
                let outcome = whole.judge(&damaged, &format!("{context}, byte {at}"));
                damages += 1;
                repaired += u64::from(outcome != Outcome::Present);
            }
        }
        if !interrupted {
            break;
        }
    }
    println!("{damages} damages, {repaired} repaired");
    assert!(damages > 500 && repaired > 50, "{damages} damages, {repaired} repaired");
}

/// A store with one space, and its files.
fn new_store() -> (StoreFiles, Store) {
    let files = StoreFiles::in_memory();
    let store = Store::open(files.clone()).expect("a new store");
    store.set_space(SPACE, LIMITS).expect("a space");
    (files, store)
}

#[test]
fn a_lost_commit_is_named_and_neither_file_is_changed() {
    let (files, store) = new_store();
    write(&store, 1, &value(1, 40));
    let earlier = Images::of(&files);
    write(&store, 2, &value(2, 40));
    let later = Images::of(&files);
    drop(store);
    let rolled_back = Images { objects: earlier.objects, ..later };
    let damaged = rolled_back.files();
    let error = Store::open(damaged.clone()).expect_err("a lost commit").to_string();
    assert!(error.contains("the object table ends before change"), "{error}");
    let after = Images::of(&damaged);
    assert!((after.data, after.objects, after.log) == (rolled_back.data, rolled_back.objects, rolled_back.log));
}

#[test]
fn a_log_of_another_store_is_not_believed() {
    let (foreign, other) = new_store();
    (0..40).for_each(|data| write(&other, data, &value(9, 40)));
    drop(other);
    let (files, store) = new_store();
    write(&store, 1, &value(1, 40));
    drop(store);
    let mut images = Images { log: Images::of(&foreign).log, ..Images::of(&files) };
    // It is far ahead, but not of this store.
    let store = Store::open(images.files()).expect("the table decides");
    assert!(!store.log_agreed());
    drop(store);
    images.objects[..PAGE].fill(0);
    let salvage = Salvage::scan(images.files(), &mut |_, _| ()).expect("a report");
    let found: Vec<u32> = salvage.versions().iter().map(|version| version.object.id.data_id.0).collect();
    assert_eq!(found, [1], "{:?}", salvage.versions());
    assert!(!salvage.report().log_sound);
    assert_ne!(salvage.id(), None);
}

#[test]
fn a_log_without_its_last_frames_is_reported() {
    let (files, store) = new_store();
    write(&store, 1, &value(1, 40));
    let earlier = Images::of(&files);
    // Only the bound of the table shows a deletion.
    store.delete(key(1)).expect("stored");
    let later = Images::of(&files);
    drop(store);
    for (log, sound) in [(&later.log, true), (&earlier.log, false)] {
        let mut images = Images { log: log.clone(), ..later.clone() };
        images.objects[..PAGE].fill(0);
        let salvage = Salvage::scan(images.files(), &mut |_, _| ()).expect("a report");
        let report = salvage.report();
        assert_eq!((report.table_sound, report.log_sound, report.recovered == 0), (false, sound, sound), "{report:?}");
    }
    let table: Arc<dyn Storage> = Arc::new(MemoryStorage::from_bytes(later.objects.clone()));
    let cut = StoreFiles { objects: table, ..Images { log: earlier.log, ..later }.files() };
    assert!(!Store::open(cut).expect("the table decides").log_agreed());
}
