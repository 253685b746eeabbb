//! Frames, page table, swap slots, and the clock algorithm that selects a page-out.

use super::{
    MemoryError, MemoryUsage,
    address::{PAGE_BYTES, PageNumber, VIRTUAL_PAGES},
};
use ciphermill_storage::Storage;
use std::{collections::BTreeMap, sync::Arc};

const PAGE: usize = PAGE_BYTES as usize;

/// An entry of the page table: the flag (bit 31) says whether the physical address (bits 0–30) is a frame of main memory
/// or a slot of the swap area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry(u32);

enum Place {
    /// Nothing was written to the page yet.
    Nowhere,
    Frame(usize),
    Slot(usize),
}

impl Entry {
    const FLAG: u32 = 1 << 31;
    const NOWHERE: Self = Self(u32::MAX);

    fn frame(frame: usize) -> Self {
        Self(frame as u32)
    }

    fn slot(slot: usize) -> Self {
        Self(Self::FLAG | slot as u32)
    }

    fn place(self) -> Place {
        match self {
            Self::NOWHERE => Place::Nowhere,
            Self(bits) if bits & Self::FLAG != 0 => Place::Slot((bits & !Self::FLAG) as usize),
            Self(bits) => Place::Frame(bits as usize),
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    /// `None` while the frame is free.
    page: Option<PageNumber>,
    /// Used since the hand of the clock last passed.
    referenced: bool,
    /// A slot with the same content as the frame, so that paging it out again costs no write.
    copy: Option<usize>,
}

#[derive(Debug)]
pub(super) struct Pager {
    /// Grows up to `max_frames` as needed.
    memory: Vec<u8>,
    frames: Vec<Frame>,
    max_frames: usize,
    free_frames: Vec<usize>,
    hand: usize,
    table: Vec<Entry>,
    /// Free runs of virtual pages: start and length.
    free_pages: BTreeMap<u64, u64>,
    used_pages: u64,
    swap: Arc<dyn Storage>,
    /// CRC-32C of the content of each slot.
    slots: Vec<u32>,
    max_slots: usize,
    free_slots: Vec<usize>,
    page_ins: u64,
    page_outs: u64,
}

impl Pager {
    pub(super) fn new(frames: u64, swap: Arc<dyn Storage>, slots: u64) -> Self {
        // No more frames or slots than pages can ever be in use, hence than an entry can name.
        let bounded = |count: u64| count.min(VIRTUAL_PAGES) as usize;
        Self {
            memory: Vec::new(),
            frames: Vec::new(),
            max_frames: bounded(frames),
            free_frames: Vec::new(),
            hand: 0,
            table: Vec::new(),
            free_pages: BTreeMap::from([(0, VIRTUAL_PAGES)]),
            used_pages: 0,
            swap,
            slots: Vec::new(),
            max_slots: bounded(slots),
            free_slots: Vec::new(),
            page_ins: 0,
            page_outs: 0,
        }
    }

    /// Takes a run of `pages` virtual pages, the first that is long enough.
    pub(super) fn reserve(&mut self, pages: u64) -> Result<PageNumber, MemoryError> {
        let exhausted = MemoryError::AddressSpaceExhausted { needed: pages, free: VIRTUAL_PAGES - self.used_pages };
        let run = self.free_pages.iter().find(|(_, len)| **len >= pages).map(|(start, len)| (*start, *len));
        let (start, len) = run.ok_or(exhausted.clone())?;
        let first = PageNumber::new(start).ok_or(exhausted)?;
        self.free_pages.remove(&start);
        if len > pages {
            self.free_pages.insert(start + pages, len - pages);
        }
        self.used_pages += pages;
        if self.table.len() < (start + pages) as usize {
            self.table.resize((start + pages) as usize, Entry::NOWHERE);
        }
        Ok(first)
    }

    /// Gives a run back, with its frames and slots.
    pub(super) fn release(&mut self, first: PageNumber, pages: u64) {
        for page in first.run(pages) {
            self.forget(page);
        }
        self.used_pages -= pages;
        let (mut start, mut len) = (first.number(), pages);
        if let Some((&before, &before_len)) = self.free_pages.range(..start).next_back()
            && before + before_len == start
        {
            self.free_pages.remove(&before);
            (start, len) = (before, len + before_len);
        }
        if let Some(after) = self.free_pages.remove(&(start + len)) {
            len += after;
        }
        if len > 0 {
            self.free_pages.insert(start, len);
        }
    }

    fn forget(&mut self, page: PageNumber) {
        let entry = std::mem::replace(&mut self.table[page.number() as usize], Entry::NOWHERE);
        match entry.place() {
            Place::Nowhere => {}
            Place::Slot(slot) => self.free_slots.push(slot),
            Place::Frame(frame) => {
                self.free_slots.extend(self.frames[frame].copy.take());
                self.frames[frame].page = None;
                self.free_frames.push(frame);
            }
        }
    }

    /// The content of a page, paged in if need be.
    pub(super) fn resident(&mut self, page: PageNumber) -> Result<&[u8], MemoryError> {
        let frame = match self.table[page.number() as usize].place() {
            Place::Frame(frame) => frame,
            Place::Nowhere => return self.fresh(page).map(|frame| &*frame),
            Place::Slot(slot) => self.page_in(page, slot)?,
        };
        self.frames[frame].referenced = true;
        Ok(&self.memory[frame * PAGE..(frame + 1) * PAGE])
    }

    /// A frame for new content of a page; the old content is gone.
    pub(super) fn fresh(&mut self, page: PageNumber) -> Result<&mut [u8], MemoryError> {
        let frame = match self.table[page.number() as usize].place() {
            Place::Frame(frame) => frame,
            Place::Nowhere => self.take_frame()?,
            Place::Slot(slot) => {
                let frame = self.take_frame()?;
                self.free_slots.push(slot);
                frame
            }
        };
        self.free_slots.extend(self.frames[frame].copy.take());
        self.map(page, frame, None);
        let content = &mut self.memory[frame * PAGE..(frame + 1) * PAGE];
        Ok(content)
    }

    fn map(&mut self, page: PageNumber, frame: usize, copy: Option<usize>) {
        self.frames[frame] = Frame { page: Some(page), referenced: true, copy };
        self.table[page.number() as usize] = Entry::frame(frame);
    }

    fn page_in(&mut self, page: PageNumber, slot: usize) -> Result<usize, MemoryError> {
        let frame = self.take_frame()?;
        let content = &mut self.memory[frame * PAGE..(frame + 1) * PAGE];
        let outcome = self.swap.read_at((slot * PAGE) as u64, content).map_err(MemoryError::from);
        let outcome = outcome.and_then(|()| match crc32c::crc32c(content) == self.slots[slot] {
            true => Ok(()),
            false => Err(MemoryError::DamagedPage { page: page.number(), slot: slot as u64 }),
        });
        if let Err(error) = outcome {
            self.free_frames.push(frame);
            return Err(error);
        }
        self.page_ins += 1;
        self.map(page, frame, Some(slot));
        Ok(frame)
    }

    /// A frame without a page: a free one, a new one, or one whose page is paged out now.
    fn take_frame(&mut self) -> Result<usize, MemoryError> {
        if let Some(frame) = self.free_frames.pop() {
            return Ok(frame);
        }
        if self.frames.len() < self.max_frames {
            let frame = self.frames.len();
            self.frames.push(Frame { page: None, referenced: false, copy: None });
            self.memory.resize((frame + 1) * PAGE, 0);
            return Ok(frame);
        }
        // Two rounds: the first may only clear the reference bits.
        for _ in 0..2 * self.frames.len() {
            let frame = self.hand;
            self.hand = (self.hand + 1) % self.frames.len();
            if std::mem::take(&mut self.frames[frame].referenced) {
                continue;
            }
            if let Some(page) = self.frames[frame].page {
                self.page_out(page, frame)?;
                return Ok(frame);
            }
        }
        // Unreachable while every frame that is not free has a page; said as an error all the same.
        Err(MemoryError::TooSmall { needed: PAGE_BYTES, capacity: (self.max_frames * PAGE) as u64 })
    }

    fn page_out(&mut self, page: PageNumber, frame: usize) -> Result<(), MemoryError> {
        let slot = match self.frames[frame].copy {
            Some(slot) => slot,
            None => {
                let slot = self.take_slot()?;
                let content = &self.memory[frame * PAGE..(frame + 1) * PAGE];
                if let Err(error) = self.swap.write_at((slot * PAGE) as u64, content) {
                    self.free_slots.push(slot);
                    return Err(error.into());
                }
                self.slots[slot] = crc32c::crc32c(content);
                self.page_outs += 1;
                slot
            }
        };
        self.frames[frame] = Frame { page: None, referenced: false, copy: None };
        self.table[page.number() as usize] = Entry::slot(slot);
        Ok(())
    }

    fn take_slot(&mut self) -> Result<usize, MemoryError> {
        if let Some(slot) = self.free_slots.pop() {
            return Ok(slot);
        }
        if self.slots.len() >= self.max_slots {
            // Copies of pages that are in main memory are a saving, not a need.
            if let Some(slot) = self.frames.iter_mut().find_map(|frame| frame.copy.take()) {
                return Ok(slot);
            }
            return Err(MemoryError::SwapFull { capacity: (self.max_slots * PAGE) as u64 });
        }
        self.slots.push(0);
        Ok(self.slots.len() - 1)
    }

    pub(super) fn usage(&self) -> MemoryUsage {
        MemoryUsage {
            frames: self.max_frames as u64,
            used_frames: (self.frames.len() - self.free_frames.len()) as u64,
            pages: self.used_pages,
            swap_slots: (self.slots.len() - self.free_slots.len()) as u64,
            page_ins: self.page_ins,
            page_outs: self.page_outs,
        }
    }
}
