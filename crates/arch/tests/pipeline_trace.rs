//! The trace of a run agrees with the run.

use std::collections::BTreeMap;

use ciphermill_arch::pipeline::{CHAM_CIPHERMILL, CHAM_PAPER, Job, PipelineMachine, Stage, simulate};
use ciphermill_arch::trace::Trace;
use serde_json::Value;

#[test]
fn slices_and_counters_are_those_of_the_run() {
    for text in [CHAM_PAPER, CHAM_CIPHERMILL] {
        let machine = PipelineMachine::from_toml(text).expect("a machine");
        let job = Job { rows: 100, columns: 5000 };
        let mut trace = Trace::new();
        let run = simulate(&machine, &job, Some(&mut trace)).expect("a run");
        assert_eq!(simulate(&machine, &job, None).expect("a run"), run, "tracing changes nothing");
        assert_eq!(trace.left_out(), 0);
        let mut bytes = Vec::new();
        trace.write(&mut bytes).expect("a vector takes all");
        let file: Value = serde_json::from_slice(&bytes).expect("JSON");
        let events = file["traceEvents"].as_array().expect("a list");
        let number = |event: &Value, field: &str| event[field].as_u64().expect("a number");
        let track = |event: &Value| (number(event, "pid"), number(event, "tid"));
        let mut names = BTreeMap::new();
        let mut slices: BTreeMap<_, Vec<(u64, u64)>> = BTreeMap::new();
        let mut counters: BTreeMap<(u64, String), Vec<(u64, u64)>> = BTreeMap::new();
        for event in events {
            match event["ph"].as_str().expect("a phase") {
                "M" if event["name"] == "thread_name" => {
                    names.insert(track(event), event["args"]["name"].as_str().expect("a name").to_owned());
                }
                "X" => {
                    let times = (number(event, "ts"), number(event, "dur"));
                    slices.entry(track(event)).or_default().push(times);
                }
                "C" => {
                    let name = event["name"].as_str().expect("a name").to_owned();
                    let value = number(&event["args"], "value");
                    counters.entry((number(event, "pid"), name)).or_default().push((number(event, "ts"), value));
                }
                _ => {}
            }
        }
        let mut busy: BTreeMap<(u64, String), u64> = BTreeMap::new();
        for (track, slices) in &mut slices {
            slices.sort_unstable();
            assert!(
                slices.windows(2).all(|two| two[0].0 + two[0].1 <= two[1].0),
                "slices of a track follow one another"
            );
            let name = &names[track];
            let total: u64 = slices.iter().map(|slice| slice.1).sum();
            let stage = name.split(' ').nth(1).unwrap_or("exchange").to_owned();
            *busy.entry((track.0 - 1, stage)).or_default() += total;
        }
        for stage in &run.stages {
            assert_eq!(busy[&(stage.engine as u64, stage.stage.name().to_owned())], stage.busy_cycles);
        }
        assert_eq!(busy[&(1, "exchange".to_owned())], run.exchanges * machine.exchange_cycles());
        for buffer in &run.buffers {
            let seen = &counters[&(buffer.engine as u64 + 1, format!("buffer {}", buffer.buffer))];
            assert!(seen.windows(2).all(|two| two[0].0 <= two[1].0), "time goes on");
            assert_eq!(seen.iter().map(|&(_, value)| value).max(), Some(buffer.peak as u64));
            assert_eq!(seen.last().map(|&(_, value)| value), Some(0), "{} is empty in the end", buffer.buffer);
        }
        assert_eq!(run.stages.len(), 2 * Stage::ALL.len());
    }
}
