//! `paillier host` as a user runs it: a server on loopback, the client verbs, limits and hostile peers.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Bench, Ran};

fn run(bench: &Bench, line: &str) -> Ran {
    bench.run(line.split(' '))
}

/// A host in another process.
struct Served {
    child: Child,
    address: String,
}

impl Served {
    fn start(bench: &Bench, options: &str) -> Self {
        let line = format!("paillier host --listen 127.0.0.1:0 {options}");
        let mut child = bench.command(line.split_whitespace()).stdout(Stdio::piped()).spawn().expect("a process");
        let mut first = String::new();
        BufReader::new(child.stdout.as_mut().expect("its output")).read_line(&mut first).expect("a line");
        let said = first.trim().strip_prefix("Listening on ").and_then(|rest| rest.split_once(" with the engine "));
        let (address, engine) = said.unwrap_or_else(|| panic!("{first}"));
        assert!(address.starts_with("127.0.0.1:") && engine == "cpu.", "{first}");
        let address = address.to_owned();
        Self { child, address }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("a connection");
        stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time");
        stream
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn party() -> Bench {
    let bench = Bench::new();
    run(&bench, "paillier keygen --key-bits 512 --insecure-params --secret-key p.key --public-key p.pub").done();
    bench
}

fn paillier(bench: &Bench, line: &str) -> Ran {
    run(bench, &format!("paillier {line} --insecure-params"))
}

fn decrypt(bench: &Bench, file: &str) -> String {
    paillier(bench, &format!("decrypt --secret-key p.key {file}")).done()
}

#[test]
fn the_client_verbs_compute_on_a_host() {
    let bench = party();
    let served = Served::start(&bench, "--insecure-params");
    let host = format!("--host {}", served.address);
    paillier(&bench, &format!("encrypt --public-key p.pub --value 20,-22 {host} --out x.ct")).done();
    paillier(&bench, &format!("encrypt --public-key p.pub --value 1,2 --strict {host} --out y.ct")).done();
    assert_eq!((decrypt(&bench, "x.ct"), decrypt(&bench, "y.ct")), ("20\n-22\n".to_owned(), "1\n2\n".to_owned()));
    bench.write("a.txt", "1 -2\n0 3\n4 5");
    for (line, expected) in [
        ("add x.ct y.ct", "21\n-20\n"),
        ("add x.ct y.ct --subtract", "19\n-24\n"),
        ("add x.ct --value 100,-100", "120\n-122\n"),
        ("add x.ct --value 100,-100 --subtract", "-80\n78\n"),
        ("multiply x.ct --value 2,-3 --scalar-bits 8", "40\n66\n"),
        ("matvec x.ct --matrix a.txt", "64\n-66\n-30\n"),
    ] {
        // Evaluation draws no randomness, so the files are the same.
        paillier(&bench, &format!("{line} --public-key p.pub {host} --force --out h.ct")).done();
        paillier(&bench, &format!("{line} --public-key p.pub --force --out c.ct")).done();
        assert_eq!(bench.read("h.ct"), bench.read("c.ct"), "{line}");
        assert_eq!(decrypt(&bench, "h.ct"), expected, "{line}");
    }
    paillier(&bench, &format!("add x.ct y.ct --public-key p.pub --rerandomise {host} --out r.ct")).done();
    assert_eq!(decrypt(&bench, "r.ct"), "21\n-20\n");
    let wide = format!("add x.ct --value {} --public-key p.pub {host} --out w.ct", "9".repeat(40));
    paillier(&bench, &wide).usage(&["128 bits", "2^127"]);
}

#[test]
fn addresses_of_other_machines_are_refused() {
    let bench = party();
    for address in ["0.0.0.0:0", "192.0.2.1:7700", "[::]:0"] {
        paillier(&bench, &format!("host --listen {address}")).usage(&["not a loopback address", "tunnel"]);
    }
    let line = "encrypt --public-key p.pub --value 1 --host 192.0.2.1:7700 --out x.ct";
    paillier(&bench, line).usage(&["192.0.2.1:7700", "not a loopback address"]);
    paillier(&bench, "host --listen nowhere").usage(&["`nowhere` is not an address", "127.0.0.1:7700"]);
    // Without the opt-in, a host takes keys of 2048 bits and more.
    let served = Served::start(&bench, "");
    let line = format!("encrypt --public-key p.pub --value 1 --host {} --out x.ct", served.address);
    paillier(&bench, &line).failed(&["the host refused the request", "512"]);
    let line = "encrypt --public-key p.pub --value 1 --host 127.0.0.1:1 --out x.ct";
    paillier(&bench, line).failed(&["cannot connect to 127.0.0.1:1", "paillier host --listen 127.0.0.1:1"]);
    paillier(&bench, &format!("host --listen {}", served.address)).failed(&["cannot listen on", "use another port"]);
    assert!(!bench.path("x.ct").exists());
}

/// Reads the refusal that ends a connection.
fn refusal(stream: &mut TcpStream) -> String {
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).expect("an end");
    assert_eq!(answer.first(), Some(&1), "{answer:?}");
    let length = u32::from_le_bytes(answer[1..5].try_into().expect("four bytes")) as usize;
    assert_eq!(length, answer.len() - 5);
    String::from_utf8(answer.split_off(5)).expect("text")
}

#[test]
fn hostile_peers_are_bounded_and_others_are_served() {
    let bench = party();
    let served = Served::start(&bench, "--insecure-params --connections 2 --request-bytes 1048576 --seconds 2");
    let host = format!("--host {}", served.address);
    // A length beyond the limit is refused before anything is read.
    let mut large = served.connect();
    large.write_all(&u32::MAX.to_le_bytes()).expect("sent");
    let reason = refusal(&mut large);
    assert!(reason.contains("4294967295") && reason.contains("1048640"), "{reason}");
    // A stream that cannot be read.
    let mut damaged = served.connect();
    damaged.write_all(&[4, 0, 0, 0, 1, 2, 3, 4]).expect("sent");
    assert!(!refusal(&mut damaged).is_empty());
    // A request that does not come, or stops in the middle, ends with its time.
    for bytes in [&[][..], &[200, 0, 0, 0, 1]] {
        let begun = Instant::now();
        let mut slow = served.connect();
        slow.write_all(bytes).expect("sent");
        let mut rest = Vec::new();
        slow.read_to_end(&mut rest).expect("an end");
        let took = begun.elapsed();
        assert!(rest.is_empty() && took >= Duration::from_secs(2) && took < Duration::from_secs(20), "{took:?}");
    }
    // Two connections are open: a third one is told so. Afterwards there is room again.
    let open = [served.connect(), served.connect()];
    std::thread::sleep(Duration::from_millis(200));
    let reason = refusal(&mut served.connect());
    assert!(reason.contains("2 connections are open"), "{reason}");
    drop(open);
    std::thread::sleep(Duration::from_millis(500));
    paillier(&bench, &format!("encrypt --public-key p.pub --value 5 {host} --out x.ct")).done();
    assert_eq!(decrypt(&bench, "x.ct"), "5\n");
}

/// A host that answers as it likes: the command fails with an error, and writes nothing.
#[test]
fn hostile_hosts_are_refused() {
    let bench = party();
    paillier(&bench, "encrypt --public-key p.pub --value 1 --out x.ct").done();
    // Results of the right shape whose integers are too wide for the key, a length beyond all limits, text that is none.
    let wide = {
        use ciphermill_paillier::host::{Outcome, Response};
        let integers = ciphermill_bigint::IntegerBatch::from_words(128, vec![u64::MAX; 128]);
        let content = Response { outcomes: vec![Outcome::Done, Outcome::Integers(integers)] }.encode();
        [&[0][..], &(content.len() as u32).to_le_bytes(), &content].concat()
    };
    let cases: [(Vec<u8>, &str); 5] = [
        (wide, "not below the modulus"),
        (vec![0, 255, 255, 255, 255], "4294967295"),
        (vec![1, 0, 0, 1, 0], "65536"),
        (vec![1, 3, 0, 0, 0, 0xff, 0x1b, b'!'], "refused"),
        (vec![0, 4, 0, 0, 0, 1, 2, 3, 4], "refused"),
    ];
    for (response, reason) in cases {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let host = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("a connection");
            let mut length = [0; 4];
            stream.read_exact(&mut length).expect("a request");
            let mut request = vec![0; u32::from_le_bytes(length) as usize];
            stream.read_exact(&mut request).expect("a request");
            stream.write_all(&response).expect("sent");
        });
        let line = format!("add x.ct x.ct --public-key p.pub --host {address} --out y.ct");
        paillier(&bench, &line).failed(&[reason]);
        host.join().expect("the host");
        assert!(!bench.path("y.ct").exists());
    }
}

#[test]
fn a_host_ends_with_a_signal() {
    let bench = party();
    let mut served = Served::start(&bench, "");
    let pid = served.child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &pid]).status().expect("kill").success());
    let mut rest = String::new();
    served.child.stdout.as_mut().expect("its output").read_to_string(&mut rest).expect("text");
    assert!(served.child.wait().expect("an end").success() && rest.contains("SIGTERM"), "{rest}");
}
