//! A device adds two encrypted numbers while it stores the second one.
//!
//! ```text
//! cargo run -p ciphermill-device --example compute_on_write
//! ```

use ciphermill_device::handlers::{Engines, Policy, standard};
use ciphermill_device::{Device, DeviceConfig, ReadMode, SpaceId, WriteOptions, program_register};
use ciphermill_lattice::{Csprng, SecretSeed};
use ciphermill_paillier::SizePolicy;
use ciphermill_program::{Bindings, KeyId, VrId, assemble};
use ciphermill_tfhe::{Backend, Ciphertext, ClientKey, Encoding, KeyOrder, ParameterSet, SecurityPolicy};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The client makes a secret key and encrypts 2 and 3. The device never sees the key.
    let client = ClientKey::generate(
        &ParameterSet::named("MESSAGE_4_2M64", SecurityPolicy::Require128Bits)?,
        &SecretSeed::from_os()?,
    );
    let mut rng = Csprng::from_os()?;
    let digits = Encoding::unsigned(4, true)?;
    let mut encrypt = |number| client.encrypt(&digits, number, KeyOrder::Small, &mut rng);
    let [two, three] = [encrypt(2)?.to_bytes(), encrypt(3)?.to_bytes()];

    // The device keeps its objects in memory and accepts keys of standard security only.
    let secure = SecurityPolicy::Require128Bits;
    let policy = Policy { tfhe: secure, bfv: secure, paillier: SizePolicy::Standard };
    let device = Device::open(DeviceConfig::in_memory(), standard(Engines::cpu(Backend::Fft), policy, None))?;
    let space = device.space(SpaceId::EMBEDDED)?;

    // A register is named type:key:data. Type 3 computes on reads, type 4 on writes.
    let (first, second): (VrId, VrId) = ("3:1:0".parse()?, "4:1:0".parse()?);
    let text = "homadd 4:1:0, 3:1:0\nreturn 4:1:0";
    let program = assemble(device.instruction_set(), text, &Bindings::new())?.program;
    space.write_bytes(program_register(KeyId(1)), &program.encode(), WriteOptions::default())?;

    // The second write runs the program, so its register holds the sum.
    space.write_bytes(first, &two, WriteOptions::default())?;
    space.write_bytes(second, &three, WriteOptions::default())?;
    let sum = Ciphertext::from_bytes(&space.read_bytes(second, ReadMode::Stored)?)?;
    println!("2 + 3 = {}, computed on ciphertexts", client.decrypt(&digits, &sum)?);
    Ok(())
}
