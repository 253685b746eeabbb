//! The integration tests of the command, in one program.

mod arch;
mod arch_programs;
mod arch_reports;
mod bench_nvme;
mod by_hand;
mod crash;
mod crash_support;
mod demo;
mod hls;
mod hmvp;
mod model;
mod output;
mod page_support;
mod pages;
mod paillier;
mod paillier_host;
mod paths;
mod refusals;
mod serve;
mod serve_keys;
mod serve_support;
mod served_image;
mod spellings;
mod store;
mod support;
mod words;
#[cfg(debug_assertions)]
mod wrong_results;
