//! Traces for Perfetto (ui.perfetto.dev) and chrome://tracing, in Chrome's JSON trace-event format.
//!
//! Times are cycles. The format only has microseconds, so a cycle is written as one microsecond, and the file says so.
//! A trace holds a limited number of events. Events beyond the limit are counted, and the file contains their number.
//!
//! A model accepts `Option<&mut Trace>`, so that a run without a trace costs one test for `None`.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::{Value, json};

/// The default limit of events in a trace: 2^20, about 100 MB of JSON.
pub const DEFAULT_EVENT_LIMIT: usize = 1 << 20;

/// A row of the trace viewer, which the format calls a thread of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TrackId {
    process: u32,
    thread: u32,
}

#[derive(Debug)]
struct Process {
    name: String,
    threads: Vec<String>,
}

#[derive(Debug)]
enum Event {
    Slice { track: TrackId, name: Box<str>, start: u64, duration: u64, args: Box<[(Box<str>, u64)]> },
    Counter { track: TrackId, name: Box<str>, at: u64, value: u64 },
}

/// A trace under construction.
///
/// # Example
/// ```
/// use ciphermill_arch::trace::Trace;
///
/// let mut trace = Trace::new();
/// let track = trace.track("engine 0", "ntt");
/// trace.slice(track, "row 0", 0, 6144, &[("row", 0)]);
/// trace.counter(track, "leaves", 6144, 3);
/// assert_eq!(trace.len(), 2);
/// let mut file = Vec::new();
/// trace.write(&mut file)?;
/// assert!(String::from_utf8(file)?.contains("\"row 0\""));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Trace {
    processes: Vec<Process>,
    events: Vec<Event>,
    limit: usize,
    left_out: u64,
}

impl Default for Trace {
    fn default() -> Self {
        Self::new()
    }
}

impl Trace {
    /// An empty trace of at most [`DEFAULT_EVENT_LIMIT`] events.
    pub fn new() -> Self {
        Self::with_limit(DEFAULT_EVENT_LIMIT)
    }

    /// An empty trace of at most `limit` events.
    ///
    /// # Example
    /// ```
    /// use ciphermill_arch::trace::Trace;
    ///
    /// let mut trace = Trace::with_limit(1);
    /// let track = trace.track("engine 0", "ntt");
    /// trace.slice(track, "row 0", 0, 6144, &[]);
    /// trace.slice(track, "row 1", 6144, 6144, &[]);
    /// assert_eq!((trace.len(), trace.left_out()), (1, 1));
    /// ```
    pub fn with_limit(limit: usize) -> Self {
        Self { processes: Vec::new(), events: Vec::new(), limit, left_out: 0 }
    }

    /// The track with these names. The same names return the same track.
    pub fn track(&mut self, process: &str, thread: &str) -> TrackId {
        let at = self.processes.iter().position(|known| known.name == process).unwrap_or_else(|| {
            self.processes.push(Process { name: process.to_owned(), threads: Vec::new() });
            self.processes.len() - 1
        });
        let threads = &mut self.processes[at].threads;
        let thread = threads.iter().position(|known| known == thread).unwrap_or_else(|| {
            threads.push(thread.to_owned());
            threads.len() - 1
        });
        TrackId { process: at as u32, thread: thread as u32 }
    }

    /// An event from cycle `start_cycles` for `duration_cycles`. Slices of one track should nest or follow one another;
    /// viewers draw overlapping slices wrongly.
    pub fn slice(&mut self, track: TrackId, name: &str, start_cycles: u64, duration_cycles: u64, args: &[(&str, u64)]) {
        if self.has_room() {
            let args = args.iter().map(|&(key, value)| (key.into(), value)).collect();
            let name = name.into();
            self.events.push(Event::Slice { track, name, start: start_cycles, duration: duration_cycles, args });
        }
    }

    /// Sets counter `name` of the track's process to a value from cycle `at` on.
    pub fn counter(&mut self, track: TrackId, name: &str, at: u64, value: u64) {
        if self.has_room() {
            self.events.push(Event::Counter { track, name: name.into(), at, value });
        }
    }

    /// The number of stored events, without the names of tracks.
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether the trace has no events.
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The number of events beyond the limit, which are not stored.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    fn has_room(&mut self) -> bool {
        let room = self.events.len() < self.limit;
        self.left_out += u64::from(!room);
        room
    }

    /// Writes the trace. Buffer `out` if it is a file or a socket.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn write(&self, mut out: impl Write) -> io::Result<()> {
        let about = json!({
            "time": "1 us is 1 cycle",
            "events": self.events.len(),
            "events_left_out": self.left_out,
            "event_limit": self.limit,
        });
        write!(out, "{{\"otherData\":{about},\n\"traceEvents\":[")?;
        let mut separator = "\n";
        let mut put = |line: &Line<'_>| -> io::Result<()> {
            out.write_all(separator.as_bytes())?;
            separator = ",\n";
            serde_json::to_writer(&mut out, line).map_err(io::Error::from)
        };
        for (process, names) in (0u32..).zip(&self.processes) {
            put(&Line::naming("process_name", process, None, &names.name))?;
            for (thread, name) in (0u32..).zip(&names.threads) {
                put(&Line::naming("thread_name", process, Some(thread), name))?;
                // Without an index viewers sort by name, and stage 10 comes before stage 2.
                let mut order = Line::naming("thread_sort_index", process, Some(thread), "");
                order.args = Some([("sort_index", Value::from(thread))].into());
                put(&order)?;
            }
        }
        for event in &self.events {
            put(&Line::of(event))?;
        }
        writeln!(out, "\n]}}")
    }
}

/// A trace event in the format's fields.
#[derive(Serialize)]
struct Line<'a> {
    name: &'a str,
    ph: &'static str,
    pid: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    tid: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<BTreeMap<&'a str, Value>>,
}

impl<'a> Line<'a> {
    fn naming(what: &'static str, process: u32, thread: Option<u32>, name: &'a str) -> Self {
        let args = Some([("name", Value::from(name))].into());
        // Process 0 is the idle task to Perfetto.
        Self { name: what, ph: "M", pid: process + 1, tid: thread.map(|t| t + 1), ts: None, dur: None, args }
    }

    fn of(event: &'a Event) -> Self {
        let (ph, track, name, ts, dur, args) = match event {
            Event::Slice { track, name, start, duration, args } => {
                let args: BTreeMap<_, _> = args.iter().map(|(key, value)| (&**key, Value::from(*value))).collect();
                ("X", track, name, *start, Some(*duration), (!args.is_empty()).then_some(args))
            }
            Event::Counter { track, name, at, value } => {
                ("C", track, name, *at, None, Some([("value", Value::from(*value))].into()))
            }
        };
        Self { name, ph, pid: track.process + 1, tid: Some(track.thread + 1), ts: Some(ts), dur, args }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(trace: &Trace) -> Value {
        let mut bytes = Vec::new();
        trace.write(&mut bytes).expect("a vector takes all");
        serde_json::from_slice(&bytes).expect("JSON")
    }

    #[test]
    fn what_was_told_is_in_the_file() {
        let mut trace = Trace::new();
        let (ntt, multiply) = (trace.track("engine 0", "ntt"), trace.track("engine 0", "multi\"ply\u{1}"));
        let other = trace.track("engine 1", "ntt");
        assert_eq!(trace.track("engine 0", "ntt"), ntt);
        assert_ne!(ntt, other);
        trace.slice(ntt, "row 0", 0, 6144, &[("row", 0), ("tile", 7)]);
        trace.slice(multiply, "row 0", 6144, 512, &[]);
        trace.counter(other, "leaves", 6144, 3);
        let file = parsed(&trace);
        assert_eq!(file["otherData"]["time"], "1 us is 1 cycle");
        assert_eq!(file["otherData"]["events_left_out"], 0);
        let events = file["traceEvents"].as_array().expect("a list");
        let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).collect::<Vec<_>>();
        let slices = of("X");
        assert_eq!(slices.len(), 2);
        assert_eq!((&slices[0]["ts"], &slices[0]["dur"]), (&json!(0), &json!(6144)));
        assert_eq!(slices[0]["args"], json!({"row": 0, "tile": 7}));
        assert_eq!((&slices[1]["ts"], &slices[1]["dur"]), (&json!(6144), &json!(512)));
        let counters = of("C");
        assert_eq!((&counters[0]["args"], &counters[0]["ts"]), (&json!({"value": 3}), &json!(6144)));
        // Metadata names the track of every event.
        let named = |kind: &str, event: &Value| {
            let place = |line: &&&Value| line["name"] == kind && line["pid"] == event["pid"];
            let same = |line: &&&Value| kind == "process_name" || line["tid"] == event["tid"];
            let name = of("M").iter().filter(place).find(same).map(|line| line["args"]["name"].clone());
            name.expect("a name")
        };
        assert_eq!(named("process_name", slices[0]), "engine 0");
        assert_eq!(named("thread_name", slices[0]), "ntt");
        assert_eq!(named("thread_name", slices[1]), "multi\"ply\u{1}");
        assert_eq!(named("process_name", counters[0]), "engine 1");
    }

    #[test]
    fn what_is_beyond_the_limit_is_counted() {
        let mut trace = Trace::with_limit(10);
        let track = trace.track("p", "t");
        (0..25).for_each(|at| trace.slice(track, "s", at, 1, &[]));
        trace.counter(track, "c", 0, 0);
        assert_eq!((trace.len(), trace.left_out()), (10, 16));
        let file = parsed(&trace);
        assert_eq!(file["otherData"]["events_left_out"], 16);
        let slices = file["traceEvents"].as_array().expect("a list").iter().filter(|event| event["ph"] == "X");
        assert_eq!(slices.count(), 10);
    }

    #[test]
    fn an_empty_trace_is_a_file() {
        let trace = Trace::new();
        assert!(trace.is_empty());
        assert_eq!(parsed(&trace)["traceEvents"], json!([]));
    }

    #[test]
    fn a_writer_that_fails_is_told() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::Error::from(io::ErrorKind::StorageFull))
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        assert_eq!(Trace::new().write(Full).expect_err("full").kind(), io::ErrorKind::StorageFull);
    }
}
