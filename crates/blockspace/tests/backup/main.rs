//! Backups, restored and repaired stores, on real files.

mod kill;
mod repair;
mod round;
mod support;
