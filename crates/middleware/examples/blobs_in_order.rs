//! Operations on one blob run in the order of their calls: three writes are handed in at once, and the last one stays.
//!
//! ```text
//! cargo run -p ciphermill-middleware --example blobs_in_order
//! ```

use ciphermill_device::handlers::tfhe::TfheHandler;
use ciphermill_device::{Device, DeviceConfig, SpaceId};
use ciphermill_middleware::{Metadata, Middleware, ReadMode, WriteMode};
use ciphermill_program::{Bindings, Program, assemble, disassemble};
use ciphermill_tfhe::{Backend, CpuEngine, SecurityPolicy};
use std::sync::{Arc, mpsc};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // A device in memory that knows TFHE's objects and instructions.
    let tfhe = TfheHandler::new(Arc::new(CpuEngine::new(Backend::Fft)), SecurityPolicy::Require128Bits);
    let device = Device::open(DeviceConfig::in_memory(), vec![Arc::new(tfhe)])?;
    let middleware = Middleware::embedded(device.space(SpaceId::EMBEDDED)?)?;

    // The blob 0:1:0 is the program of key 1.
    let id = middleware.create(Metadata::new("0:1:0".parse()?)).wait()?;

    // Each call returns at once. A worker calls the callback when the write is durable.
    let (sender, receiver) = mpsc::channel();
    for factor in 1..=3 {
        let text = format!("homintmult 3:1:0, {factor}\nreturn 3:1:0");
        let program = assemble(device.instruction_set(), &text, &Bindings::new())?.program;
        let sender = sender.clone();
        middleware.write_blob2(id, WriteMode::Compute, program.encode(), move |written| {
            // The receiver lives until the end of `main`.
            let _ = sender.send((factor, written));
        })?;
    }
    drop(sender);
    for (factor, written) in receiver {
        println!("write {factor} is durable: {} bytes", written?.stat.size);
    }

    // The futures of the same calls: here the caller waits.
    let bytes = middleware.read(id, ReadMode::Stored).wait()?.bytes;
    print!("the stored program:\n{}", disassemble(&Program::decode(device.instruction_set(), &bytes)?));
    Ok(())
}
