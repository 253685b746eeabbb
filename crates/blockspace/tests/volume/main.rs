//! The volume against a plain model, against power cuts and against media that fail.

mod concurrency;
mod crash;
mod damage;
mod faults;
mod model;
mod place;
#[path = "../../../device/tests/support/place.rs"]
mod place_support;
mod relief;
mod snapshot;
mod speed;
mod support;
