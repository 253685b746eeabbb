//! Both strategies in slots, from entries to entries.

mod full_size;
mod noise;
mod shapes;
mod support;
