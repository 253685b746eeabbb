//! Namespaces of objects, as a target would use them.

mod access;
mod attempts;
mod audit;
mod big;
mod concurrency;
mod crash;
mod faults;
mod model;
mod objects;
mod owners;
mod programs;
mod random;
mod reads;
mod shares;
mod stalls;
mod stored;
mod support;
mod tfhe;
mod vendor;
