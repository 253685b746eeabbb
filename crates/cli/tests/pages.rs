//! The commands of `docs/cli.md` and of the README, run as printed.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::thread;
use std::time::{Duration, Instant};

use crate::page_support::printed::matches;
use crate::page_support::shell::Shell;
use crate::page_support::{Step, root, scripts, sessions};
use crate::support::Bench;

/// Commands of `docs/cli.md` whose output is not compared, and the reason. Their exit codes are.
const OUTPUT_DIFFERS: [(&str, &str); 1] = [("ciphermill bench pbs", "the printed times are those of a record")];

/// Commands of the README that this test does not run, and the reason.
const NOT_RUN: [(&str, &str); 6] = [
    ("make demo", "builds the release binary; scripts/fresh.sh runs it"),
    ("make test", "runs this test; scripts/fresh.sh runs it"),
    ("make hw-quick", "a step of `make test`"),
    ("make hw ", "takes minutes of synthesis"),
    ("make hw-waves", "needs the tools of `make hw`"),
    ("cargo build", "builds the release binary"),
];

/// The server's default port, which the pages use.
const PORT: u16 = 4420;

/// Waits until no other process has the port.
fn wait_for_port() {
    let deadline = Instant::now() + Duration::from_secs(60);
    while TcpListener::bind(("127.0.0.1", PORT)).is_err() {
        assert!(Instant::now() < deadline, "another process has port {PORT}, which the commands of the pages use");
        thread::sleep(Duration::from_millis(100));
    }
}

/// Runs a step; what is wrong with its result.
fn fault(shell: &mut Shell, step: &Step) -> Option<String> {
    let (code, output) = shell.run(&step.command, step.printed.len());
    let compared = !OUTPUT_DIFFERS.iter().any(|(start, _)| step.command.starts_with(start));
    let shown = || format!("line {}: {}\nexit code {code}\n{}", step.line, step.command, output.join("\n"));
    if step.command.starts_with("kill ") {
        // A person leaves the server the time to end.
        shell.run("wait", 0);
    }
    if (code != 0) != step.fails() {
        return Some(format!("{}\nthe page shows {}", shown(), if step.fails() { "an error" } else { "success" }));
    }
    (compared && !matches(&step.printed, &output))
        .then(|| format!("{}\nthe page has:\n{}", shown(), step.printed.join("\n")))
}

#[test]
fn commands_of_the_cli_page_run_as_printed() {
    let bench = Bench::new();
    ["examples", "hw"].iter().for_each(|name| symlink(root().join(name), bench.path(name)).expect("a link"));
    let steps = sessions("docs/cli.md");
    assert!(steps.len() > 50, "the page has {} commands", steps.len());
    for (start, _) in OUTPUT_DIFFERS {
        assert!(steps.iter().any(|step| step.command.starts_with(start)), "no command begins with {start}");
    }
    wait_for_port();
    let mut shell = Shell::new(&bench);
    // Later commands use the files of earlier ones, so the first fault ends the run.
    if let Some(fault) = steps.iter().find_map(|step| fault(&mut shell, step)) {
        panic!("docs/cli.md, {fault}");
    }
}

#[test]
fn commands_of_the_readme_run() {
    let bench = Bench::new();
    fs::create_dir_all(bench.path("target/release")).expect("room");
    symlink(env!("CARGO_BIN_EXE_ciphermill"), bench.path("target/release/ciphermill")).expect("a link");
    symlink(root().join("hw"), bench.path("hw")).expect("a link");
    let steps = scripts("README.md");
    let listed = |step: &Step| NOT_RUN.iter().any(|(start, _)| step.command.starts_with(start));
    for (start, reason) in NOT_RUN {
        assert!(steps.iter().any(|step| step.command.starts_with(start)), "no command begins with {start} ({reason})");
    }
    assert_targets(&steps);
    wait_for_port();
    let mut shell = Shell::new(&bench);
    let mut run = 0;
    for step in steps.iter().filter(|step| !listed(step)) {
        let Step { line, command, .. } = step;
        run += 1;
        if command.contains("ciphermill serve ") {
            let (_, output) = shell.run(&format!("{command} --log warn &"), 1);
            assert!(matches(&["listening on 127.0.0.1:4420".to_owned()], &output), "README.md line {line}: {output:?}");
            let (code, output) = shell.run("kill %1 && wait %1", 0);
            assert_eq!(code, 0, "README.md line {line}: {output:?}");
        } else {
            let (code, output) = shell.run(command, 0);
            assert_eq!(code, 0, "README.md line {line}: {command}\n{}", output.join("\n"));
        }
    }
    assert!(run >= 4, "{run} commands were run");
}

/// Every `make` command names a target of the Makefile.
fn assert_targets(steps: &[Step]) {
    let makefile = fs::read_to_string(root().join("Makefile")).expect("the Makefile");
    for step in steps {
        let Some(rest) = step.command.strip_prefix("make ") else { continue };
        let target = rest.split(' ').next().expect("a word");
        assert!(makefile.lines().any(|line| line.starts_with(&format!("{target}:"))), "make {target} is no target");
    }
}

/// The script that `program example` prints computes the product that it announces.
#[test]
fn the_commands_of_the_example_program_compute_the_product() {
    let bench = Bench::new();
    let script = bench.run(["program", "example", "xy", "--commands"]).done();
    bench.write("xy.sh", &script);
    let mut shell = Shell::new(&bench);
    let (code, output) = shell.run("sh -eu xy.sh", 0);
    assert_eq!((code, output.last().map(String::as_str)), (0, Some("6")), "{}", output.join("\n"));
    assert_eq!(bench.read("xy.cms"), fs::read(root().join("examples/programs/xy.cms")).expect("the program"));
    assert_eq!(bench.run(["program", "example", "xy"]).done().as_bytes(), bench.read("xy.cms"));
}

/// The dd lines of `blob meta` put the blocks where a namespace has them.
#[test]
fn dd_lines_write_the_blocks_of_an_object() {
    use ciphermill_program::Metadata;
    for (bytes, blocks) in [(1, 1), (4096, 1), (4097, 2), (1 << 20, 256), ((1 << 20) + 1, 257)] {
        let bench = Bench::new();
        let object: Vec<u8> = (0..bytes).map(|i: usize| (i * 31 + 7) as u8).collect();
        bench.write("an object", &object);
        let at = ["blob", "meta", "--id", "3:7:9", "--at", "40", "--blocks", "1024", "--armed", "--one-shot"];
        let report = bench.run(at.iter().chain(&["--device", "disk", "--json", "an object"])).json();
        assert_eq!((&report["metadata_block"], &report["blocks"]), (&552.into(), &blocks.into()), "{report}");
        bench.write("disk", vec![0xee; 1024 * 4096]);
        let mut shell = Shell::new(&bench);
        for command in report["commands"].as_array().expect("lines") {
            // The file system of the test may lack O_DIRECT.
            let command = command.as_str().expect("text").replace("flag=direct,", "flag=").replace(" oflag=direct", "");
            let (code, output) = shell.run(&command.replace(" iflag=direct", ""), 0);
            assert_eq!(code, 0, "{command}: {output:?}");
        }
        let disk = bench.read("disk");
        let data = &disk[40 * 4096..(40 + blocks) * 4096];
        assert_eq!(data[..bytes], object);
        assert!(data[bytes..].iter().all(|&byte| byte == 0), "zeros fill the last block");
        assert_eq!(bench.read("an object.read"), data);
        let metadata = Metadata::decode(&disk[552 * 4096..553 * 4096]).expect("a metadata block");
        let expected = Metadata {
            id: "3:7:9".parse().expect("a register"),
            armed: true,
            one_shot: true,
            stored: false,
            size: bytes as u64,
            object_crc32c: Metadata::checksum_of(&object),
        };
        assert_eq!(metadata, expected);
        let others = [&disk[..40 * 4096], &disk[(40 + blocks) * 4096..552 * 4096], &disk[553 * 4096..]];
        assert!(others.concat().iter().all(|&byte| byte == 0xee), "no other block is written");
    }
}

#[test]
fn blob_meta_refuses_impossible_places() {
    let bench = Bench::new();
    bench.write("x", "12345");
    let meta = |rest: &[&str]| bench.run(["blob", "meta", "--device", "d", "x"].iter().chain(rest));
    meta(&["--id", "3:0:1", "--at", "8", "--blocks", "16"]).usage(&["block 8", "blocks 0 to 7", "up to 7"]);
    meta(&["--id", "3:0:1", "--at", "0", "--blocks", "10"]).usage(&["10 blocks", "power of two"]);
    meta(&["--id", "4:0:1", "--at", "0", "--armed"]).usage(&["--armed", "compute-on-read"]);
    bench.run(["blob", "meta", "--id", "3:0:1", "--at", "0", "x"]).usage(&["--uuid", "--device"]);
    assert_eq!(bench.names(), ["x"], "refusals write nothing");
    meta(&["--id", "3:0:1", "--at", "0"]).done();
    meta(&["--id", "3:0:1", "--at", "0"]).failed(&["x.data exists", "--force"]);
    let uuid = "5ab9c8f1-3a36-4d5e-9d0c-0d3f0f0a7c11";
    let by_uuid = ["blob", "meta", "--uuid", uuid, "--id", "3:0:1", "--at", "0", "--force", "x"];
    let text = bench.run(by_uuid).done();
    assert!(text.contains(&format!("of=/dev/disk/by-id/nvme-uuid.{uuid} bs=4096 seek=134217728 ")), "{text}");
}
