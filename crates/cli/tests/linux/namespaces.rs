//! A server with eight namespaces, whose blocks the guest writes by UUID.

use std::fmt::Write;
use std::time::Duration;

use ciphermill_nvme::Host;
use ciphermill_nvme::initiator::InitiatorConfig;
use ciphermill_nvme::initiator::blocking::BlockingController;

use crate::job::Job;
use crate::server::Server;

pub const NQN: &str = "nqn.2026-01.org.example:many";

/// The identifiers and UUIDs. No identifier is the number of its place in the list, so that a kernel that numbers devices
/// in the order of identifiers gives none the number of its identifier; and the UUIDs have another order.
const NAMESPACES: [(u32, &str); 8] = [
    (2, "c0ffee00-0000-4000-8000-000000000007"),
    (3, "c0ffee00-0000-4000-8000-000000000003"),
    (5, "c0ffee00-0000-4000-8000-000000000006"),
    (7, "c0ffee00-0000-4000-8000-000000000001"),
    (11, "c0ffee00-0000-4000-8000-000000000008"),
    (13, "c0ffee00-0000-4000-8000-000000000002"),
    (17, "c0ffee00-0000-4000-8000-000000000005"),
    (19, "c0ffee00-0000-4000-8000-000000000004"),
];

/// The identifier of the guest's first host, as `steps.sh` has it: one name, one identifier.
const HOST_ID: [u8; 16] = [0x11, 0x11, 0x11, 0x11, 0x22, 0x22, 0x43, 0x33, 0x84, 0x44, 0, 0, 0, 0, 0, 0x0a];

/// The block that the guest writes in each, as `steps-namespaces.sh` has it.
const BLOCK: u64 = 7;

pub struct Many {
    server: Server,
}

impl Many {
    /// Serves the namespaces, and lists them in the job's folder.
    pub fn start(job: &Job, host: &str) -> Self {
        let (mut config, mut list) = (String::new(), String::new());
        for (id, uuid) in NAMESPACES {
            writeln!(config, "[[namespace]]\nid = {id}\nuuid = \"{uuid}\"\nsize = \"1G\"").expect("memory");
            writeln!(list, "{id} {uuid}").expect("memory");
        }
        job.bench.write("many.toml", config);
        job.bench.write("job/namespaces", list);
        Self { server: Server::start(&job.bench, "many", NQN, &[host], &["--config", "many.toml"]) }
    }

    pub fn port(&self) -> u16 {
        self.server.port()
    }

    /// Checks by namespace identifiers that each namespace has the block that the guest wrote by its UUID. Then stops the
    /// server.
    pub fn assert_written_by_uuid(self, host: &str) {
        let address = format!("127.0.0.1:{}", self.port());
        let mut config = InitiatorConfig::new(address, NQN, Host { nqn: host.to_owned(), id: HOST_ID });
        config.command_timeout = Duration::from_secs(60);
        let controller = BlockingController::connect(config).expect("it serves");
        let ids = NAMESPACES.map(|(id, _)| id);
        assert_eq!(controller.namespaces().expect("a list"), ids);
        for (id, uuid) in NAMESPACES {
            let block = controller.namespace(id).expect("it exists").read(BLOCK, 1).expect("a block");
            let line = format!("namespace {id} is {uuid}\n");
            let expected: Vec<u8> = line.bytes().cycle().take(block.len()).collect();
            assert!(block == expected, "namespace {id} has {:?}", String::from_utf8_lossy(&block[..line.len()]));
        }
        controller.disconnect();
        self.server.stop();
    }
}
