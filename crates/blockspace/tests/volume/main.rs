//! The volume against a plain model, against power cuts and against media that fail.

mod concurrency;
mod crash;
mod damage;
mod faults;
mod model;
mod place;
mod relief;
mod snapshot;
mod speed;
mod support;
