//! The log lines of one test.
#![allow(unreachable_pub, reason = "the unit tests of the crate include it too")]

use std::{
    cell::RefCell,
    fmt::{Debug, Write},
    sync::Once,
};
use tracing::{
    Event, Level, Metadata, Subscriber,
    field::{Field, Visit},
    span,
};

thread_local! {
    /// Each test has its own thread, and its tasks run on that thread.
    static LINES: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Starts to record the lines of this thread, from level INFO on.
pub fn record() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        // A default of one thread would miss lines: `tracing` remembers for all threads whether a line has a reader, and
        // a thread without this default can be the first to ask.
        tracing::subscriber::set_global_default(Recorder).expect("no other subscriber");
        tracing::callsite::rebuild_interest_cache();
    });
    take();
}

/// The lines of this thread since the last call: the message, then the fields.
pub fn take() -> Vec<String> {
    LINES.take()
}

struct Recorder;

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::INFO
    }

    fn event(&self, event: &Event<'_>) {
        let mut line = Line::default();
        event.record(&mut line);
        LINES.with_borrow_mut(|lines| lines.push(line.message + &line.fields));
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

#[derive(Default)]
struct Line {
    message: String,
    fields: String,
}

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let written = match field.name() {
            "message" => write!(self.message, "{value:?}"),
            name => write!(self.fields, " {name}={value:?}"),
        };
        written.expect("a string takes everything");
    }
}
