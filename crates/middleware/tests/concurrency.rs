//! Many callers, order, the bound of the queue, and the end.

use crate::support::{EmbeddedHost, Host, blob, gated::Gated, in_memory, metadata};
use ciphermill_device::SpaceLimits;
use ciphermill_middleware::{
    Content, EmbeddedTransport, Middleware, MiddlewareConfig, MiddlewareError, ReadMode, WriteMode, Written,
};
use std::{
    future::Future,
    pin::{Pin, pin},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    task::{Context, Poll, Wake, Waker},
    thread,
};

const MODE: WriteMode = WriteMode::Compute;

/// A middleware over a device in memory, with a gate between.
fn gated(workers: usize, queue_limit: usize) -> (Arc<Gated>, Middleware) {
    let gate = Gated::new(Arc::new(EmbeddedTransport::new(in_memory())));
    let middleware = Middleware::new(gate.clone(), MiddlewareConfig { workers, queue_limit }).unwrap();
    (gate, middleware)
}

/// Counts how often it was woken.
#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

impl Woken {
    fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

fn poll<F: Future>(future: Pin<&mut F>, woken: &Arc<Woken>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(&Waker::from(Arc::clone(woken))))
}

/// Waits, at most 30 s, for something another thread does.
fn eventually(mut holds: impl FnMut() -> bool) {
    for _ in 0..30_000 {
        if holds() {
            return;
        }
        thread::sleep(std::time::Duration::from_millis(1));
    }
    panic!("it did not happen in 30 s");
}

#[test]
fn operations_on_one_blob_keep_their_order_and_never_overlap() {
    let (gate, middleware) = gated(4, 1000);
    let (sender, receiver) = mpsc::channel();
    // The workers hold back while everything is queued, so that there is an order to lose.
    gate.close();
    for name in ["1:0:1", "1:0:2", "1:0:3"] {
        middleware.create_blob(metadata(name), |_| ()).unwrap();
        for size in 1..=100 {
            let sender = sender.clone();
            let written = move |outcome: Result<Written, _>| {
                let stat = outcome.unwrap().stat;
                sender.send((stat.id, stat.size)).unwrap();
            };
            middleware.write_blob2(blob(name), MODE, vec![7; size], written).unwrap();
        }
    }
    gate.await_held(3);
    gate.open();
    drop(sender);
    let completed: Vec<_> = receiver.iter().collect();
    for name in ["1:0:1", "1:0:2", "1:0:3"] {
        let of = |all: &[(_, u64)]| all.iter().filter(|(id, _)| *id == blob(name)).map(|(_, size)| *size).collect();
        let (begun, done): (Vec<u64>, Vec<u64>) = (of(&gate.writes()), of(&completed));
        assert_eq!(begun, (1..=100).collect::<Vec<_>>());
        assert_eq!(done, begun);
    }
    assert_eq!(gate.overlaps(), 0);
}

#[test]
fn different_blobs_run_side_by_side() {
    let (gate, middleware) = gated(3, 10);
    gate.close();
    for name in ["1:0:1", "1:0:2", "1:0:3"] {
        middleware.create_blob(metadata(name), |_| ()).unwrap();
        middleware.write_blob2(blob(name), MODE, b"x", |_| ()).unwrap();
    }
    // Would hang if one had to wait for another.
    gate.await_held(3);
    gate.open();
}

#[test]
fn a_full_queue_refuses_calls_and_lets_futures_wait() {
    let (gate, middleware) = gated(1, 3);
    let id = middleware.create(metadata("1:0:1")).wait().unwrap();
    gate.close();
    for _ in 0..3 {
        middleware.write_blob2(id, MODE, b"x", |_| ()).unwrap();
    }
    assert_eq!(middleware.in_flight(), 3);
    let refused = middleware.write_blob2(id, MODE, b"y", |_| panic!("a refused call has no callback"));
    assert!(matches!(refused, Err(MiddlewareError::Busy { limit: 3 })), "{refused:?}");
    assert!(refused.unwrap_err().to_string().starts_with("3 operations"));

    let woken = [(); 3].map(|()| Arc::<Woken>::default());
    let mut waiting: Vec<_> = (0..3).map(|_| Box::pin(middleware.write(id, MODE, b"waited"))).collect();
    for (future, woken) in waiting.iter_mut().zip(&woken) {
        assert!(poll(future.as_mut(), woken).is_pending());
    }
    assert_eq!(middleware.in_flight(), 3);
    // One that gives up must not keep its place from the others.
    drop(waiting.remove(0));
    gate.open();
    eventually(|| woken[1].count() > 0 && woken[2].count() > 0);
    assert_eq!(woken[0].count(), 0);
    for future in waiting {
        pollster::block_on(future).unwrap();
    }
    assert_eq!(gate.writes().len(), 5, "the dropped one never happened");
    assert_eq!(middleware.read(id, ReadMode::Stored).wait().unwrap().bytes, b"waited");
}

#[test]
fn room_offered_to_a_future_that_is_dropped_goes_to_the_next() {
    let (gate, middleware) = gated(1, 1);
    let id = middleware.create(metadata("1:0:1")).wait().unwrap();
    eventually(|| middleware.in_flight() == 0);
    gate.close();
    middleware.write_blob2(id, MODE, b"x", |_| ()).unwrap();
    let (first, second) = (Arc::<Woken>::default(), Arc::<Woken>::default());
    let mut dropped = Box::pin(middleware.stat(id));
    let mut kept = Box::pin(middleware.stat(id));
    assert!(poll(dropped.as_mut(), &first).is_pending());
    assert!(poll(kept.as_mut(), &second).is_pending());
    gate.open();
    eventually(|| first.count() == 1);
    assert_eq!(second.count(), 0);
    drop(dropped);
    assert_eq!(second.count(), 1);
    pollster::block_on(kept).unwrap();
}

#[test]
fn an_operation_happens_only_when_polled_and_then_for_good() {
    let (gate, middleware) = gated(1, 10);
    let id = middleware.create(metadata("1:0:1")).wait().unwrap();
    drop(middleware.write(id, MODE, b"never"));
    {
        let mut accepted = pin!(middleware.write(id, MODE, b"accepted"));
        let _ = poll(accepted.as_mut(), &Arc::default());
    }
    assert_eq!(middleware.read(id, ReadMode::Stored).wait().unwrap().bytes, b"accepted");
    assert_eq!(gate.writes().len(), 1);
}

#[test]
fn many_callers_get_their_own_answers() {
    let host = EmbeddedHost::start(SpaceLimits::UNLIMITED);
    let config = MiddlewareConfig { workers: 4, queue_limit: 8 };
    let middleware = Middleware::new(host.transport(), config).unwrap();
    thread::scope(|scope| {
        for caller in 0..16_u32 {
            let middleware = &middleware;
            scope.spawn(move || {
                for round in 0..8_u32 {
                    let id = middleware.create(metadata(&format!("1:{caller}:{round}"))).wait().unwrap();
                    let bytes = vec![caller as u8; 100 + round as usize];
                    middleware.write(id, MODE, bytes.clone()).wait().unwrap();
                    assert_eq!(middleware.read(id, ReadMode::Stored).wait().unwrap().bytes, bytes);
                    if round % 2 == 0 {
                        middleware.delete(id).wait().unwrap();
                    }
                }
            });
        }
    });
    assert_eq!(middleware.list().wait().unwrap().len(), 16 * 4);
}

#[test]
fn of_many_who_create_one_blob_one_succeeds() {
    let (_, middleware) = gated(4, 100);
    let created = thread::scope(|scope| {
        let callers: Vec<_> =
            (0..16).map(|_| scope.spawn(|| middleware.create(metadata("1:0:1")).wait().is_ok())).collect();
        callers.into_iter().map(|caller| usize::from(caller.join().unwrap())).sum::<usize>()
    });
    assert_eq!(created, 1);
}

#[test]
fn dropping_waits_for_all_that_was_accepted() {
    let (gate, middleware) = gated(2, 100);
    let done = Arc::new(AtomicUsize::new(0));
    gate.close();
    for index in 0..10 {
        let id = blob(&format!("1:0:{}", index % 3));
        let _ = middleware.create_blob(metadata(&id.to_string()), |_| ());
        let done = Arc::clone(&done);
        let written = move |outcome: Result<Written, _>| {
            outcome.unwrap();
            done.fetch_add(1, Ordering::SeqCst);
        };
        middleware.write_blob2(id, MODE, vec![1; index + 1], written).unwrap();
    }
    let opener = thread::spawn(move || {
        gate.await_held(2);
        gate.open();
    });
    drop(middleware);
    assert_eq!(done.load(Ordering::SeqCst), 10);
    opener.join().unwrap();
}

#[test]
fn a_future_left_over_is_told_that_the_middleware_is_closed() {
    let (gate, middleware) = gated(1, 1);
    middleware.create(metadata("1:0:1")).wait().unwrap();
    eventually(|| middleware.in_flight() == 0);
    gate.close();
    middleware.write_blob2(blob("1:0:1"), MODE, b"x", |_| ()).unwrap();
    let untouched = middleware.stat(blob("1:0:1"));
    let (waiting, woken) = (&mut pin!(middleware.stat(blob("1:0:1"))), Arc::<Woken>::default());
    assert!(poll(waiting.as_mut(), &woken).is_pending());
    let opener = thread::spawn(move || {
        gate.await_held(1);
        gate.open();
    });
    drop(middleware);
    opener.join().unwrap();
    assert!(woken.count() > 0);
    assert!(matches!(poll(waiting.as_mut(), &woken), Poll::Ready(Err(MiddlewareError::Closed))));
    assert!(matches!(untouched.wait(), Err(MiddlewareError::Closed)));
}

#[test]
fn a_callback_may_make_the_next_call_even_if_the_queue_has_room_for_one() {
    let (_, middleware) = gated(1, 1);
    let middleware = Arc::new(middleware);
    let (sender, receiver) = mpsc::channel();
    let inner = Arc::clone(&middleware);
    let created = move |outcome: Result<_, _>| {
        let id = outcome.unwrap();
        let again = Arc::clone(&inner);
        let written = move |outcome: Result<Written, _>| {
            outcome.unwrap();
            let read = move |outcome: Result<Content, _>| {
                sender.send(outcome.unwrap().bytes).unwrap();
            };
            again.read_blob2(id, ReadMode::Stored, read).unwrap();
        };
        inner.write_blob2(id, MODE, b"chained", written).unwrap();
    };
    middleware.create_blob(metadata("1:0:1"), created).unwrap();
    // Dropped here or, last, by a callback on the middleware's own worker: neither may hang.
    drop(middleware);
    assert_eq!(receiver.recv().unwrap(), b"chained");
}

#[test]
fn panics_stay_where_they_are() {
    let (gate, middleware) = gated(1, 10);
    let id = middleware.create(metadata("1:0:1")).wait().unwrap();
    gate.panic_once();
    let told = middleware.write(id, MODE, b"x").wait();
    assert!(matches!(&told, Err(MiddlewareError::Panicked { what }) if what == "the toy transport was told to"));
    let seen = Arc::new(Mutex::new(0));
    let seen_by_callback = Arc::clone(&seen);
    let callback = move |_| {
        *seen_by_callback.lock().unwrap() += 1;
        panic!("a callback that panics on purpose");
    };
    middleware.write_blob2(id, MODE, b"y", callback).unwrap();
    // The one worker still exists.
    middleware.write(id, MODE, b"z").wait().unwrap();
    assert_eq!(middleware.read(id, ReadMode::Stored).wait().unwrap().bytes, b"z");
    drop(middleware);
    assert_eq!(Arc::try_unwrap(seen).unwrap().into_inner().map_or(1, |count| count), 1);
}
