//! Work on the current rayon pool, which a pool of one thread is spared: handing a job over to it takes longer than many a
//! step.

use rayon::prelude::*;

fn single() -> bool {
    rayon::current_num_threads() == 1
}

/// Runs `f` on a thread of the pool, so that the steps within find the pool at hand.
pub(crate) fn in_pool<T: Send>(f: impl FnOnce() -> T + Send) -> T {
    if single() { f() } else { rayon::scope(|_| f()) }
}

/// `f` of every item, in order.
pub(crate) fn map<I: Send, T: Send>(items: Vec<I>, f: impl Fn(I) -> T + Sync + Send) -> Vec<T> {
    if single() { items.into_iter().map(f).collect() } else { items.into_par_iter().map(f).collect() }
}

/// The sum of `step`s 0 … `count` − 1 onto `zero`, with `add` to add up the sums of threads.
pub(crate) fn fold<T: Send>(
    count: usize,
    zero: impl Fn() -> T + Sync + Send,
    step: impl Fn(&mut T, usize) + Sync + Send,
    add: impl Fn(&mut T, T) + Sync + Send,
) -> T {
    let with = |mut sum: T, i| {
        step(&mut sum, i);
        sum
    };
    if single() {
        return (0..count).fold(zero(), with);
    }
    (0..count).into_par_iter().fold(&zero, with).reduce(&zero, |mut lhs, rhs| {
        add(&mut lhs, rhs);
        lhs
    })
}
