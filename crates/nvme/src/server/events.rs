//! Asynchronous events of a controller: which are enabled, which wait for a request, which are masked until their log page
//! is read.

use crate::features::{Event, event_bits};
use std::collections::{BTreeSet, VecDeque};

/// Requests that may wait at once.
pub(crate) const REQUESTS: usize = 4;
/// Namespaces that the changed list names before it says "all".
const CHANGED: usize = 1024;

/// The state, which belongs to the admin queue.
#[derive(Debug, Default)]
pub(crate) struct Events {
    /// The Asynchronous Event Configuration.
    pub(crate) enabled: u32,
    requests: VecDeque<u16>,
    waiting: BTreeSet<(u8, u8, u8)>,
    masked: BTreeSet<(u8, u8, u8)>,
    changed: BTreeSet<u32>,
    overflown: bool,
}

fn key(event: Event) -> (u8, u8, u8) {
    (event.kind, event.information, event.log_page)
}

impl Events {
    /// A request came; whether it may wait.
    pub(crate) fn request(&mut self, command: u16) -> bool {
        let fits = self.requests.len() < REQUESTS;
        if fits {
            self.requests.push_back(command);
        }
        fits
    }

    /// A namespace changed.
    pub(crate) fn namespace_changed(&mut self, nsid: u32) {
        if self.changed.len() < CHANGED {
            self.changed.insert(nsid);
        } else if !self.changed.contains(&nsid) {
            self.overflown = true;
        }
        if self.enabled & event_bits::NAMESPACES != 0 {
            self.raise(Event::NAMESPACES);
        }
    }

    /// The capacity of a namespace is nearly used up.
    pub(crate) fn spare_low(&mut self) {
        if self.enabled & event_bits::SPARE != 0 {
            self.raise(Event::SPARE);
        }
    }

    /// An event; reported once until its log page is read.
    pub(crate) fn raise(&mut self, event: Event) {
        if !self.masked.contains(&key(event)) {
            self.waiting.insert(key(event));
        }
    }

    /// A request and the event that it is answered with.
    pub(crate) fn next(&mut self) -> Option<(u16, Event)> {
        let (kind, information, log_page) = *self.waiting.first()?;
        let request = self.requests.pop_front()?;
        self.waiting.pop_first();
        self.masked.insert((kind, information, log_page));
        Some((request, Event { kind, information, log_page }))
    }

    /// A log page was read: its events may come again.
    pub(crate) fn read(&mut self, page: u8) {
        self.masked.retain(|(_, _, log_page)| *log_page != page);
        self.waiting.retain(|(_, _, log_page)| *log_page != page);
    }

    /// The changed namespaces, for log page 04h.
    pub(crate) fn changed(&self) -> Vec<u8> {
        let ids: Vec<u32> = if self.overflown { vec![0xffff_ffff] } else { self.changed.iter().copied().collect() };
        crate::identify::encode_namespaces(ids)
    }

    /// The list was read.
    pub(crate) fn clear_changed(&mut self) {
        self.changed.clear();
        self.overflown = false;
    }

    /// Forgets all but the configuration's absence: the controller is reset. Gives the requests that waited.
    pub(crate) fn reset(&mut self) -> VecDeque<u16> {
        std::mem::take(self).requests
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_comes_once_until_its_page_is_read() {
        let mut events = Events { enabled: event_bits::NAMESPACES, ..Events::default() };
        assert!((1..=4).all(|request| events.request(request)) && !events.request(5));
        assert_eq!(events.next(), None);
        events.namespace_changed(7);
        events.namespace_changed(3);
        assert_eq!(events.next(), Some((1, Event::NAMESPACES)));
        events.namespace_changed(9);
        assert_eq!(events.next(), None, "masked");
        assert_eq!(crate::identify::decode_namespaces(&events.changed()), [3, 7, 9]);
        events.clear_changed();
        events.read(Event::NAMESPACES.log_page);
        events.namespace_changed(1);
        assert_eq!(events.next(), Some((2, Event::NAMESPACES)));
        assert_eq!(events.reset(), [3, 4]);
        events.namespace_changed(1);
        assert_eq!(events.next(), None, "not enabled after a reset");
    }

    #[test]
    fn too_many_changes_are_one_entry_that_means_all() {
        let mut events = Events::default();
        (1..=1024).for_each(|nsid| events.namespace_changed(nsid));
        assert_eq!(crate::identify::decode_namespaces(&events.changed()).len(), 1024);
        events.namespace_changed(5);
        assert_eq!(crate::identify::decode_namespaces(&events.changed()).len(), 1024);
        events.namespace_changed(1025);
        assert_eq!(crate::identify::decode_namespaces(&events.changed()), [0xffff_ffff]);
    }
}
