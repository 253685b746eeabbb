//! Namespaces of objects, as a target would use them.

mod attempts;
mod big;
mod concurrency;
mod crash;
mod faults;
mod model;
mod objects;
mod programs;
mod random;
mod reads;
mod stored;
mod support;
mod tfhe;
mod vendor;
