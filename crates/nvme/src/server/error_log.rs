//! The error log of a controller.

use crate::{
    CommandError,
    log::{ErrorEntry, ErrorText, id},
};
use std::collections::VecDeque;

/// Errors that a controller remembers.
pub(crate) const ENTRIES: usize = 64;

/// The last errors of a controller, with their causes in words.
#[derive(Debug, Default)]
pub(crate) struct ErrorLog {
    count: u64,
    entries: VecDeque<(ErrorEntry, String)>,
}

impl ErrorLog {
    /// Remembers that a command failed.
    pub(crate) fn add(&mut self, queue: u16, command: u16, nsid: u32, error: &CommandError) {
        self.count += 1;
        self.entries.truncate(ENTRIES - 1);
        let entry = ErrorEntry {
            count: self.count,
            queue,
            command,
            status: error.status,
            location: 0xffff,
            lba: error.lba.unwrap_or(0),
            nsid,
            vendor_page: if error.detail.is_empty() { 0 } else { id::ERROR_TEXTS },
        };
        self.entries.push_front((entry, error.detail.clone()));
    }

    /// Errors ever.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Log page 01h.
    pub(crate) fn page(&self) -> Vec<u8> {
        let mut page: Vec<u8> = self.entries.iter().flat_map(|(entry, _)| entry.encode()).collect();
        page.resize(ENTRIES * ErrorEntry::BYTES, 0);
        page
    }

    /// Log page C1h: those errors that have a text.
    pub(crate) fn texts(&self) -> Vec<u8> {
        let texts = self.entries.iter().filter(|(_, text)| !text.is_empty()).map(|(entry, text)| ErrorText {
            count: entry.count,
            status: entry.status,
            queue: entry.queue,
            command: entry.command,
            text: text.clone(),
        });
        let mut page: Vec<u8> = texts.flat_map(|text| text.encode()).collect();
        page.resize(ENTRIES * ErrorText::BYTES, 0);
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;

    #[test]
    fn the_latest_errors_come_first_and_old_ones_go() {
        let mut log = ErrorLog::default();
        for number in 0..100u16 {
            let text = if number % 2 == 0 { format!("cause {number}") } else { String::new() };
            log.add(3, number, 7, &CommandError::new(Status::vendor(1), text).at(u64::from(number) << 20));
        }
        let page = log.page();
        let entries: Vec<_> = page.chunks(64).map(|entry| ErrorEntry::decode(entry).expect("entry")).collect();
        assert_eq!(entries.len(), ENTRIES);
        assert!(entries.iter().map(|entry| entry.count).eq((37..=100).rev()));
        assert_eq!((entries[0].lba, entries[0].nsid, entries[0].vendor_page), (99 << 20, 7, 0));
        assert_eq!(entries[1].vendor_page, id::ERROR_TEXTS);
        let texts = log.texts();
        let texts: Vec<_> = texts.chunks(256).map(|entry| ErrorText::decode(entry).expect("entry")).collect();
        assert_eq!((texts[0].count, texts[0].text.as_str()), (99, "cause 98"));
        assert_eq!(texts[32].count, 0, "half of them have a text");
        assert_eq!(log.count(), 100);
    }
}
