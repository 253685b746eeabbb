//! Where the threads of the server and of this process run while something is timed.
//!
//! A command crosses from one thread to another and back. Where these sit on two idle CPUs, each crossing wakes a CPU that
//! sleeps: microseconds on a host, a hundred or more in a virtual machine, whose CPUs leave the guest to sleep. That is the
//! machine's time, not the server's, and it is the larger part of a short command's. So short commands are also timed
//! where no CPU sleeps, and where none has to be woken.

use std::collections::HashSet;
use std::io;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::JoinHandle;

use rustix::process::{Pid, getpid, nice};
use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_setaffinity};
use serde::Serialize;

/// The treatment of the CPUs in a case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Placement {
    /// Nothing: threads run where the kernel puts them, idle CPUs sleep.
    #[default]
    Free,
    /// A busy thread of the lowest priority on each CPU keeps it from sleeping, as `idle=poll` does on a host.
    Awake,
    /// All threads of both processes on one CPU: a crossing is a switch of threads and wakes nothing.
    OneCore,
}

impl Placement {
    pub(super) const ALL: [Self; 3] = [Self::Free, Self::Awake, Self::OneCore];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Free => "free",
            Self::Awake => "awake",
            Self::OneCore => "one-core",
        }
    }

    /// Places this process and `server` until the returned guard is dropped. New threads of either are placed likewise.
    pub(super) fn take(self, server: Pid) -> io::Result<Placed> {
        let allowed = sched_getaffinity(None)?;
        let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect();
        let mut placed = Placed { stop: Arc::default(), spinners: Vec::new(), by: None, pinned: Vec::new(), allowed };
        match self {
            Self::Free => {}
            Self::Awake => placed.keep_awake(&cpus)?,
            Self::OneCore => {
                // The last one: the first often has the interrupts.
                let last = cpus.last().ok_or_else(|| io::Error::other("no CPU is allowed"))?;
                for process in [getpid(), server] {
                    placed.pinned.push(process);
                    pin(process, &only(*last))?;
                }
            }
        }
        Ok(placed)
    }
}

/// A placement while it holds.
pub(super) struct Placed {
    stop: Arc<AtomicBool>,
    spinners: Vec<(Pid, JoinHandle<()>)>,
    by: Option<&'static str>,
    /// Processes that are on one CPU, and where they may be again.
    pinned: Vec<Pid>,
    allowed: CpuSet,
}

impl Placed {
    /// How the CPUs are kept awake: `SCHED_IDLE`, or `nice 19` where `chrt` cannot be had; `None` where they are not.
    pub(super) fn awake_by(&self) -> Option<&'static str> {
        self.by
    }

    fn keep_awake(&mut self, cpus: &[usize]) -> io::Result<()> {
        for &cpu in cpus {
            let (sender, receiver) = mpsc::channel();
            let stop = Arc::clone(&self.stop);
            let spinner = std::thread::Builder::new().name(format!("awake-{cpu}")).spawn(move || {
                // The priority is this thread's alone.
                let ready = sched_setaffinity(None, &only(cpu)).and_then(|()| nice(19)).map(|_| gettid());
                let spins = ready.is_ok();
                let _ = sender.send(ready);
                while spins && !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            })?;
            let ready = receiver.recv().map_err(|_| io::Error::other("a thread ended"))?;
            self.spinners.push((ready?, spinner));
        }
        let idle = self.spinners.iter().all(|(thread, _)| make_idle(*thread));
        self.by = Some(if idle { "SCHED_IDLE" } else { "nice 19" });
        Ok(())
    }
}

impl Drop for Placed {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for (_, spinner) in self.spinners.drain(..) {
            let _ = spinner.join();
        }
        for process in &self.pinned {
            // A process that is gone needs no CPU.
            let _ = pin(*process, &self.allowed);
        }
    }
}

/// Gives a thread the policy that runs only when nothing else would: by util-linux, as the call has no safe binding here.
fn make_idle(thread: Pid) -> bool {
    let mut command = Command::new("chrt");
    command.args(["--idle", "--pid", "0", &thread.as_raw_pid().to_string()]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn only(cpu: usize) -> CpuSet {
    let mut set = CpuSet::new();
    set.set(cpu);
    set
}

/// Confines every thread of a process. One that is started meanwhile is where its parent was: looks again until none is new.
fn pin(process: Pid, cpus: &CpuSet) -> io::Result<()> {
    let mut seen = HashSet::new();
    loop {
        let mut new = false;
        for entry in std::fs::read_dir(format!("/proc/{}/task", process.as_raw_pid()))? {
            let name = entry?.file_name();
            let Some(thread) = name.to_str().and_then(|name| name.parse().ok()).and_then(Pid::from_raw) else {
                continue;
            };
            if seen.insert(thread) {
                new = true;
                match sched_setaffinity(Some(thread), cpus) {
                    // It has ended.
                    Err(rustix::io::Errno::SRCH) => {}
                    outcome => outcome?,
                }
            }
        }
        if !new {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Child;
    use std::sync::Mutex;
    use std::time::{Duration, Instant};

    /// A placement is of the whole process, so that these tests take turns.
    static TURN: Mutex<()> = Mutex::new(());

    struct Sleeper(Child);

    impl Sleeper {
        fn start() -> (Self, Pid) {
            let child = Command::new("sleep").arg("60").spawn().expect("sleep");
            let pid = Pid::from_child(&child);
            (Self(child), pid)
        }
    }

    impl Drop for Sleeper {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    #[test]
    fn both_processes_are_on_one_core_and_then_anywhere_again() {
        let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let (_sleeper, pid) = Sleeper::start();
        let cpus = |pid: Option<Pid>| sched_getaffinity(pid).expect("a mask").count();
        let before = (cpus(None), cpus(Some(pid)));
        let placed = Placement::OneCore.take(pid).expect("a placement");
        let born_inside = std::thread::spawn(move || cpus(None)).join().expect("a thread");
        assert_eq!((cpus(None), cpus(Some(pid)), born_inside), (1, 1, 1));
        assert_eq!(placed.awake_by(), None);
        drop(placed);
        assert_eq!((cpus(None), cpus(Some(pid))), before);
    }

    #[test]
    fn every_core_has_a_thread_that_spins_below_all_others() {
        let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let (_sleeper, pid) = Sleeper::start();
        let placed = Placement::Awake.take(pid).expect("a placement");
        assert_eq!(placed.spinners.len(), sched_getaffinity(None).expect("a mask").count() as usize);
        for (thread, _) in &placed.spinners {
            let stat = std::fs::read_to_string(format!("/proc/self/task/{}/stat", thread.as_raw_pid())).expect("alive");
            // Fields after the name in parentheses: nice is the 17th, the policy the 39th.
            let fields: Vec<&str> = stat.rsplit_once(')').expect("a name").1.split_whitespace().collect();
            assert_eq!(fields[16], "19");
            assert_eq!(fields[38] == "5", placed.awake_by() == Some("SCHED_IDLE"), "policy {}", fields[38]);
            assert_eq!(sched_getaffinity(Some(*thread)).expect("a mask").count(), 1);
        }
        let threads: Vec<Pid> = placed.spinners.iter().map(|(thread, _)| *thread).collect();
        drop(placed);
        // A thread wakes who joins it a moment before the kernel takes its entry away.
        let deadline = Instant::now() + Duration::from_secs(30);
        for thread in threads {
            while std::path::Path::new(&format!("/proc/self/task/{}", thread.as_raw_pid())).exists() {
                assert!(Instant::now() < deadline, "thread {thread:?} spins on");
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }

    #[test]
    fn a_server_that_is_gone_is_an_error_and_this_process_is_free_again() {
        let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let before = sched_getaffinity(None).expect("a mask").count();
        let (sleeper, pid) = Sleeper::start();
        drop(sleeper);
        assert!(Placement::OneCore.take(pid).is_err());
        assert_eq!(sched_getaffinity(None).expect("a mask").count(), before);
    }
}
