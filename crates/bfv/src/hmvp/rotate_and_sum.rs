//! Rotate and sum, in slots.
