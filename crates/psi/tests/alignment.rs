//! Two parties against the intersection of sets.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

use ciphermill_psi::{Ids, POINT_LEN, Points, PsiError, RunKey, common};
use proptest::prelude::*;

/// The rows of the common ids at the guest and at the host, each in the order that the party computes alone.
fn align(guest: &Ids, host: &Ids) -> Result<[Vec<u32>; 2], PsiError> {
    let (a, b) = (RunKey::new()?, RunKey::new()?);
    let (ours, theirs) = (a.blind(guest, &|| ())?, b.blind(host, &|| ())?);
    let sent = |points: &Points| Points::from_bytes(points.as_bytes(), points.len(), &|| ());
    let answers = sent(&b.raise(&sent(ours.points())?, &|| ()))?;
    let raised = a.raise(&sent(theirs.points())?, &|| ());
    let pairs = common(&answers, &raised);
    assert!(pairs.is_sorted_by(|left, right| left.1 < right.1));
    let mut rows = [
        pairs.iter().map(|&(place, _)| ours.rows()[place as usize]).collect::<Vec<_>>(),
        pairs.iter().map(|&(_, place)| theirs.rows()[place as usize]).collect(),
    ];
    guest.sort(&mut rows[0]);
    host.sort(&mut rows[1]);
    Ok(rows)
}

/// The rows of the common ids, by plain sets.
fn expected(guest: &[Vec<u8>], host: &[Vec<u8>]) -> [Vec<u32>; 2] {
    let rows = |ids: &[Vec<u8>]| -> BTreeMap<Vec<u8>, u32> { ids.iter().cloned().zip(0..).collect() };
    let (guest, host) = (rows(guest), rows(host));
    let both: Vec<_> = guest.keys().filter(|id| host.contains_key(*id)).collect();
    [both.iter().map(|id| guest[*id]).collect(), both.iter().map(|id| host[*id]).collect()]
}

/// Distinct ids in any order; short ones of few letters, so that parties share some.
fn ids() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let short = prop::collection::vec(0u8..3, 1..4);
    let any = prop::collection::vec(any::<u8>(), 1..=256);
    let id = prop_oneof![9 => short, 1 => any];
    prop::collection::btree_set(id, 1..40).prop_map(|ids| ids.into_iter().collect::<Vec<_>>()).prop_shuffle()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn common_rows_are_those_of_plain_sets(guest in ids(), host in ids()) {
        let rows = align(&Ids::new(&guest).unwrap(), &Ids::new(&host).unwrap()).unwrap();
        prop_assert_eq!(rows, expected(&guest, &host));
    }
}

#[test]
fn single_ids() {
    let [ann, bob] = ["ann", "bob"].map(|id| Ids::new([id]).unwrap());
    assert_eq!(align(&ann, &ann).unwrap(), [[0], [0]]);
    assert_eq!(align(&ann, &bob).unwrap(), [[0u32; 0], []]);
}

#[test]
fn thousands_of_ids() {
    let numbers = |from: u32, to: u32, step: usize| -> Vec<Vec<u8>> {
        (from..to).step_by(step).map(|number| number.to_string().into_bytes()).collect()
    };
    let (mut guest, host) = (numbers(0, 6000, 2), numbers(0, 6000, 3));
    guest.reverse();
    let rows = align(&Ids::new(&guest).unwrap(), &Ids::new(&host).unwrap()).unwrap();
    assert_eq!(rows, expected(&guest, &host));
    assert_eq!(rows[0].len(), 1000);
    assert!(rows[0].iter().zip(&rows[1]).all(|(&i, &j)| guest[i as usize] == host[j as usize]));
}

/// The points of a list.
fn set(points: &Points) -> HashSet<[u8; POINT_LEN]> {
    points.as_bytes().as_chunks().0.iter().copied().collect()
}

#[test]
fn points_of_runs_cannot_be_compared() {
    let ids = Ids::new((0..500u32).map(u32::to_be_bytes)).unwrap();
    let [a, b] = [RunKey::new().unwrap(), RunKey::new().unwrap()];
    let [first, second] = [&a, &b].map(|key| key.blind(&ids, &|| ()).unwrap());
    assert!(set(first.points()).is_disjoint(&set(second.points())));
    assert_ne!(first.rows(), second.rows(), "equal with a probability of 1/500!");
    // Each order has every row once.
    for blinded in [&first, &second] {
        assert_eq!(blinded.rows().iter().collect::<BTreeSet<_>>().len(), 500);
        assert_eq!(set(blinded.points()).len(), 500);
    }
    // The same key and id give the same point, whatever the order.
    let again = a.blind(&ids, &|| ()).unwrap();
    assert_eq!(set(again.points()), set(first.points()));
    assert_ne!(again.rows(), first.rows(), "equal with a probability of 1/500!");
    let by_row = |blinded: &ciphermill_psi::BlindedIds| -> BTreeMap<u32, [u8; POINT_LEN]> {
        blinded.rows().iter().copied().zip(blinded.points().as_bytes().as_chunks().0.iter().copied()).collect()
    };
    assert_eq!(by_row(&again), by_row(&first));
    // A third key finds nothing.
    let other = RunKey::new().unwrap();
    assert_eq!(common(&other.raise(first.points(), &|| ()), &a.raise(second.points(), &|| ())), []);
}

#[test]
fn a_caller_may_end_the_work() {
    let ids = Ids::new((0..1000u32).map(u32::to_be_bytes)).unwrap();
    let key = RunKey::new().unwrap();
    let calls = AtomicUsize::new(0);
    let count = || {
        calls.fetch_add(1, Ordering::Relaxed);
    };
    let blinded = key.blind(&ids, &count).unwrap();
    assert_eq!(calls.swap(0, Ordering::Relaxed), 16, "1000 / 64");
    let read = Points::from_bytes(blinded.points().as_bytes(), 1000, &count).unwrap();
    assert_eq!(calls.swap(0, Ordering::Relaxed), 16);
    drop(RunKey::new().unwrap().raise(&read, &count));
    assert_eq!(calls.swap(0, Ordering::Relaxed), 16);
    let stopped = catch_unwind(AssertUnwindSafe(|| key.blind(&ids, &|| std::panic::resume_unwind(Box::new("gone")))));
    assert_eq!(stopped.unwrap_err().downcast_ref::<&str>(), Some(&"gone"));
}

#[test]
fn secrets_and_ids_are_not_shown() {
    let ids = Ids::new(["ann"]).unwrap();
    let key = RunKey::new().unwrap();
    let blinded = key.blind(&ids, &|| ()).unwrap();
    let shown = format!("{key:?} {ids:?} {blinded:?} {:?}", blinded.points());
    assert_eq!(shown, "RunKey(..) Ids(1) BlindedIds(1) Points(1)");
}
