//! The paper's Tables 5 and 6 by blocks: keys, test vector, program, x, y; a read at the place of y returns x·y.

#[path = "../../../device/tests/support/tfhe.rs"]
mod scheme;

use crate::support::{BLOCK, HALF, LOG2, NAMESPACE, checked, host, metadata, padded, runtime};
use ciphermill_blockspace::{
    BlockSpace, BlockSpaceConfig,
    adapter::status,
    volume::{Volume, VolumeConfig, VolumeFiles},
};
use ciphermill_device::{Device, DeviceConfig, SpaceLimits};
use ciphermill_nvme::Namespace;
use ciphermill_program::{KeyId, Metadata};
use ciphermill_tfhe::{KeyForm, KeyOrder};
use scheme::{Keys, rng, x_of, y_of};
use std::sync::Arc;

const KEY: KeyId = KeyId(0);

#[test]
fn products_of_the_real_scheme_by_blocks_alone() {
    let keys = Keys::new(7, KeyForm::Seeded, KeyOrder::Small);
    let device = Device::open(DeviceConfig::in_memory(), vec![scheme::handler()]).expect("a device");
    device.create_space(NAMESPACE, SpaceLimits::UNLIMITED).expect("a space");
    let volume = Volume::open(VolumeFiles::in_memory(), VolumeConfig::default()).expect("a volume");
    let (runtime, host) = (runtime(), host("one"));
    let config = BlockSpaceConfig::new(LOG2);
    let space = BlockSpace::open(&device, NAMESPACE, volume, config, runtime.handle().clone()).expect("a namespace");
    let write = |lba: u64, data: Vec<u8>| runtime.block_on(Arc::clone(&space).write(&host, lba, data).wait());
    let read = |lba: u64, blocks: u32| runtime.block_on(Arc::clone(&space).read(&host, lba, blocks).wait());
    let (mut next, mut program_at) = (0, 0);
    for (id, bytes) in keys.objects(KEY) {
        if id == scheme::program_of(KEY) {
            program_at = next;
        }
        let size = bytes.len();
        write(HALF + next, metadata(&id.to_string(), size).encode().to_vec()).expect("metadata");
        for (index, piece) in padded(&bytes).chunks(32 * BLOCK).enumerate() {
            write(next + 32 * index as u64, piece.to_vec()).unwrap_or_else(|error| panic!("{id}: {error}"));
        }
        next += size.div_ceil(BLOCK) as u64;
    }
    let (x_at, y_at) = (next + 8, next + 16);
    let mut rng = rng(3);
    let mut pairs = vec![(0, 0), (keys.product.max(), keys.product.max())];
    pairs.extend((0..6).map(|_| {
        let mut operand = || (rng.next_u64() % (keys.product.max() as u64 + 1)) as i64;
        (operand(), operand())
    }));
    for (x, y) in pairs {
        let (x_bytes, y_bytes) = (keys.operand(x, &mut rng), keys.operand(y, &mut rng));
        // As docs/blockspace.md says of sealed objects.
        assert_eq!(crc32c::crc32c(&x_bytes), crc32c::crc32c(&y_bytes));
        write(x_at, padded(&x_bytes)).expect("x, before its metadata");
        write(HALF + x_at, checked(&x_of(KEY).to_string(), &x_bytes).encode().to_vec()).expect("metadata");
        write(HALF + y_at, metadata(&y_of(KEY).to_string(), y_bytes.len()).encode().to_vec()).expect("metadata");
        write(y_at, padded(&y_bytes)).expect("y, which runs the program");
        let record = Metadata::decode(&read(HALF + y_at, 1).expect("metadata")).expect("a record");
        let blocks = record.size.div_ceil(BLOCK as u64) as u32;
        let result = read(y_at, blocks).expect("the product");
        assert_eq!(keys.decrypt_product(&result[..record.size as usize]), x * y, "{x} * {y}");
    }
    // A refused result names its cause by the status: y counts for 2X, and the table has no place for X times that.
    let overflow = scheme::program("homintmult 4:0:3, 1000\nreturn 4:0:3");
    let noisy = format!("{}return 4:0:3", "homintmult 4:0:3, 0\n");
    let first = keys.client.encrypt_in(&keys.product.operands(), 1, keys.choice, &mut rng).expect("in range");
    let first = first.with_bounds(ciphermill_tfhe::Bounds::UNSTATED).to_bytes();
    let unsure = keys.client.encrypt_in(&keys.product.operands(), 1, keys.choice, &mut rng).expect("in range");
    let unsure =
        unsure.with_bounds(ciphermill_tfhe::Bounds::UNKNOWN.with_range(Some(keys.product.operands()))).to_bytes();
    let sound = keys.operand(1, &mut rng);
    for (code, operand, expected) in [
        (overflow, sound, status::RANGE_EXCEEDED),
        (scheme::program(&noisy), unsure, status::FAILURE_TOO_LIKELY),
        (scheme::program(&noisy), first, status::RANGE_UNKNOWN),
    ] {
        let code = code.encode();
        write(HALF + program_at, checked(&scheme::program_of(KEY).to_string(), &code).encode().to_vec())
            .expect("metadata");
        write(program_at, padded(&code)).expect("the program");
        write(HALF + y_at, metadata(&y_of(KEY).to_string(), operand.len()).encode().to_vec()).expect("metadata");
        let error = write(y_at, padded(&operand)).expect_err("a refusal");
        assert!(error.status.is(expected) && error.status.is_final(), "{error}");
    }
    // An operand of another key is refused with the scheme's words.
    let other = Keys::new(50, KeyForm::Seeded, KeyOrder::Small);
    let bytes = other.operand(1, &mut rng);
    write(HALF + y_at, metadata(&y_of(KEY).to_string(), bytes.len()).encode().to_vec()).expect("metadata");
    let error = write(y_at, padded(&bytes)).expect_err("another key's");
    assert!(error.detail.contains(&format!("{:016x}", keys.client.tag().0)), "{error}");
}
