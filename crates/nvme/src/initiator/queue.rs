//! Requests that wait for a connection: the seam between callers and the tasks that own the sockets.
//!
//! Each connection of a session has a lane; a new request goes to the lane with the least in progress. While there is no
//! session, requests are parked, and the next session takes them in the order in which they came. How many requests there
//! can be is bounded by the permits that callers take before they push.

use super::{error::InitiatorError, request::Request};
use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
    task::{Context, Waker},
};

#[derive(Debug, Default)]
pub(super) struct Queue {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    lanes: Vec<Lane>,
    parked: VecDeque<Request>,
    closed: Option<InitiatorError>,
}

#[derive(Debug)]
struct Lane {
    waiting: VecDeque<Request>,
    /// Set while its connection waits for work.
    waker: Option<Waker>,
    /// Commands that were given to it and are not finished, waiting ones included.
    load: usize,
    /// The most it may have.
    slots: usize,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        // Nothing between lock and unlock can panic half-way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands a request over.
    pub(super) fn push(&self, request: Request) {
        let (waker, refused) = {
            let mut state = self.state();
            match &state.closed {
                Some(error) => (None, Some((request, error.clone()))),
                None => (state.place(request), None),
            }
        };
        if let Some(waker) = waker {
            waker.wake();
        }
        if let Some((request, error)) = refused {
            request.finish(Err(error));
        }
    }

    /// A session begins, with one lane for each connection and its number of slots.
    pub(super) fn attach(&self, slots: &[usize]) {
        let mut state = self.state();
        state.lanes =
            slots.iter().map(|slots| Lane { waiting: VecDeque::new(), waker: None, load: 0, slots: *slots }).collect();
        for request in std::mem::take(&mut state.parked) {
            // No lane has a waker yet.
            let _ = state.place(request);
        }
    }

    /// A session has ended: what waited in its lanes and `returned`, which its connections had in progress, is parked in
    /// the order in which callers asked.
    pub(super) fn detach(&self, returned: Vec<Request>) {
        let mut all = returned;
        let mut state = self.state();
        for lane in std::mem::take(&mut state.lanes) {
            all.extend(lane.waiting);
        }
        all.extend(std::mem::take(&mut state.parked));
        all.sort_by_key(|request| request.order);
        match state.closed.clone() {
            None => state.parked = all.into(),
            Some(error) => {
                drop(state);
                for request in all {
                    request.finish(Err(error.clone()));
                }
            }
        }
    }

    /// Takes the next request of a lane; without one, the task of `cx` is woken when there is.
    pub(super) fn take(&self, lane: usize, cx: &Context<'_>) -> Option<Request> {
        let mut state = self.state();
        let lane = state.lanes.get_mut(lane)?;
        match lane.waiting.pop_front() {
            Some(request) => {
                lane.waker = None;
                Some(request)
            }
            None => {
                match &mut lane.waker {
                    Some(waker) => waker.clone_from(cx.waker()),
                    none => *none = Some(cx.waker().clone()),
                }
                None
            }
        }
    }

    /// `count` commands of a lane have ended.
    pub(super) fn finished(&self, lane: usize, count: usize) {
        let mut state = self.state();
        if let Some(lane) = state.lanes.get_mut(lane) {
            lane.load = lane.load.saturating_sub(count);
        }
        let mut wakers = Vec::new();
        for _ in 0..count {
            let Some(request) = state.parked.pop_front() else { break };
            wakers.extend(state.place(request));
        }
        drop(state);
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Refuses requests from now on, with this error; returns the waiting ones.
    pub(super) fn close(&self, error: &InitiatorError) {
        let mut state = self.state();
        state.closed.get_or_insert_with(|| error.clone());
        let mut waiting = std::mem::take(&mut state.parked);
        for lane in &mut state.lanes {
            waiting.append(&mut lane.waiting);
        }
        drop(state);
        for request in waiting {
            request.finish(Err(error.clone()));
        }
    }

    /// Why requests are refused, if they are.
    pub(super) fn closed(&self) -> Option<InitiatorError> {
        self.state().closed.clone()
    }
}

impl State {
    fn place(&mut self, request: Request) -> Option<Waker> {
        let lane = self.lanes.iter_mut().filter(|lane| lane.load < lane.slots).min_by_key(|lane| lane.load);
        match lane {
            Some(lane) => {
                lane.load += 1;
                lane.waiting.push_back(request);
                lane.waker.take()
            }
            None => {
                self.parked.push_back(request);
                None
            }
        }
    }
}
