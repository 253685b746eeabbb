//! Bounded main memory.

use crate::support::code::{add, int_mult, sub};
use crate::support::*;
use ciphermill_device::{
    Device, DeviceConfig, DeviceError, MemoryError, ReadMode, RunError, Space, SpaceId, SpaceLimits, WriteOptions,
    memory::{Memory, PAGE_BYTES, Register},
    storage::{MemoryStorage, Storage},
};
use ciphermill_program::Instruction;
use std::sync::Arc;

const WORDS: u64 = 1024;
const OBJECTS: u32 = 200;

/// Adds all objects to the written object, keeping a copy of every tenth partial sum in a separate register.
fn sum_of_all() -> Vec<u8> {
    let y = vr(4, 0, 0);
    let mut code = Vec::new();
    for i in 0..OBJECTS {
        code.push(add(y, vr(3, 0, i)));
        if i % 10 == 0 {
            code.push(Instruction::push(y));
        }
    }
    for i in 0..OBJECTS / 10 {
        code.push(Instruction::pop(vr(3, 0, 1000 + i)));
        code.push(int_mult(vr(3, 0, 1000 + i), i as i32 - 7));
        code.push(sub(y, vr(3, 0, 1000 + i)));
    }
    code.push(Instruction::ret(y));
    program(code)
}

fn workload(config: DeviceConfig) -> (Device, Vec<Vec<u8>>) {
    let (device, space) = open(config);
    for i in 0..OBJECTS {
        put(&space, vr(3, 0, i), &value(u64::from(i), WORDS));
    }
    put(&space, vr(0, 0, 0), &sum_of_all());
    let compute = |space: &Space, seed| {
        assert!(put(space, vr(4, 0, 0), &value(seed, WORDS)));
        space.read_bytes(vr(4, 0, 0), ReadMode::Stored).expect("result")
    };
    let results = (0..3).map(|seed| compute(&space, 5000 + seed)).collect();
    (device, results)
}

#[test]
fn twenty_times_more_objects_than_memory_give_the_same_results() {
    let (unbounded, expected) = workload(DeviceConfig::in_memory());
    let mut config = DeviceConfig::in_memory();
    config.main_memory_bytes = u64::from(OBJECTS) * WORDS * 8 / 20;
    let (paged, results) = workload(config);
    assert!(results == expected);
    let (all, few) = (unbounded.metrics(), paged.metrics());
    assert_eq!((all.memory.page_ins, all.memory.page_outs), (0, 0));
    assert!(few.memory.page_ins > 3 * u64::from(OBJECTS), "{:?}", few.memory);
    assert!(few.memory.page_outs > u64::from(OBJECTS), "{:?}", few.memory);
    assert!(few.memory.used_frames <= 20, "{:?}", few.memory);
    assert_eq!(few.register_misses, 0, "pages came from the swap area, not from the store");
    let text = few.to_prometheus();
    assert!(text.contains(&format!("\nciphermill_device_page_ins_total {}\n", few.memory.page_ins)), "{text}");
}

#[test]
fn a_full_swap_area_falls_back_to_the_store() {
    let (_, expected) = workload(DeviceConfig::in_memory());
    let mut config = DeviceConfig::in_memory();
    // Room for a third of the objects and all that one run writes.
    config.main_memory_bytes = 20 * PAGE_BYTES;
    config.swap_bytes = 600 * PAGE_BYTES / 4;
    let (device, results) = workload(config);
    assert!(results == expected);
    assert!(device.metrics().register_misses > 0);
}

/// A program with this number of registers of two pages each.
fn keeps(registers: u32) -> Vec<u8> {
    let y = vr(4, 0, 0);
    let mut code = Vec::new();
    for i in 0..registers {
        code.extend([Instruction::push(y), Instruction::pop(vr(3, 0, i)), int_mult(vr(3, 0, i), 2)]);
    }
    code.push(Instruction::ret(y));
    program(code)
}

#[test]
fn one_space_s_registers_leave_the_swap_area_to_others() {
    let mut config = DeviceConfig::in_memory();
    config.main_memory_bytes = 20 * PAGE_BYTES;
    config.swap_bytes = 400 * PAGE_BYTES;
    config.swap_bytes_of_space = 100 * PAGE_BYTES;
    let (device, modest) = open(config);
    let greedy = device.create_space(SpaceId(1), SpaceLimits::UNLIMITED).expect("space");
    put(&greedy, vr(0, 0, 0), &keeps(60));
    let outcome = greedy.write_bytes(vr(4, 0, 0), &value(1, WORDS), WriteOptions::default());
    let Err(DeviceError::ProgramFailed { cause, .. }) = outcome else { panic!("{outcome:?}") };
    let RunError::Memory(error) = *cause else { panic!("{cause}") };
    assert!(matches!(error, MemoryError::SpaceFull { limit: 409_600, .. }), "{error}");
    // Within its part it goes on, whatever it holds from before; and so does another space.
    for space in [&greedy, &modest] {
        put(space, vr(0, 0, 0), &keeps(40));
        assert!(put(space, vr(4, 0, 0), &value(2, WORDS)));
        for data in 100..160 {
            put(space, vr(3, 0, data), &value(3, WORDS));
        }
        assert!(put(space, vr(4, 0, 0), &value(2, WORDS)), "unused registers of stored objects make room");
    }
}

#[test]
fn too_little_memory_is_an_error_that_says_so() {
    let mut config = DeviceConfig::in_memory();
    config.main_memory_bytes = 3 * PAGE_BYTES;
    let device = Device::open(config.clone(), vec![Arc::new(Toy::default())]).expect("open");
    let space = device.space(SpaceId::EMBEDDED).expect("space");
    let (x, y) = (vr(3, 0, 1), vr(4, 0, 1));
    put(&space, x, &value(1, WORDS));
    put(&space, vr(0, 0, 0), &program(vec![add(y, x), Instruction::ret(y)]));
    let outcome = space.write_bytes(y, &value(2, WORDS), WriteOptions::default());
    let Err(DeviceError::ProgramFailed { cause, .. }) = outcome else { panic!("{outcome:?}") };
    let RunError::Memory(error) = *cause else { panic!("{cause}") };
    assert!(matches!(error, MemoryError::TooSmall { needed: 16384, capacity: 12288 }), "{error}");
    config.main_memory_bytes = 4095;
    assert!(matches!(Device::open(config, vec![]), Err(DeviceError::Configuration { .. })));
}

#[test]
fn random_registers_come_back_as_they_were_put() {
    let swap = Arc::new(MemoryStorage::new());
    let memory = Memory::new(8 * PAGE_BYTES, swap.clone(), 200 * PAGE_BYTES).expect("memory");
    let mut dice = Dice(77);
    let mut held: Vec<(Register, Vec<u8>)> = Vec::new();
    let (mut out, mut full) = (Vec::new(), 0);
    for step in 0..20_000u64 {
        match dice.below(10) {
            0..=2 => {
                let size = dice.below(5 * PAGE_BYTES) as usize;
                let bytes: Vec<u8> = (0..size).map(|i| (i as u64 * step) as u8).collect();
                match memory.store(&bytes) {
                    Ok(register) => held.push((register, bytes)),
                    Err(MemoryError::SwapFull { .. }) => full += 1,
                    Err(error) => panic!("{error}"),
                }
            }
            3..=4 if !held.is_empty() => drop(held.swap_remove(dice.below(held.len() as u64) as usize)),
            5 if !held.is_empty() => {
                let index = dice.below(held.len() as u64) as usize;
                let (register, bytes) = &mut held[index];
                bytes.iter_mut().for_each(|byte| *byte ^= step as u8);
                if register.overwrite(bytes).is_err() {
                    held.swap_remove(index);
                }
            }
            _ if !held.is_empty() => {
                let (register, bytes) = &held[dice.below(held.len() as u64) as usize];
                match register.read_into(&mut out) {
                    Ok(()) => assert!(out == *bytes, "step {step}"),
                    Err(MemoryError::SwapFull { .. }) => full += 1,
                    Err(error) => panic!("{error}"),
                }
            }
            _ => {}
        }
    }
    let usage = memory.usage();
    assert!(usage.page_ins > 1000 && usage.page_outs > 1000 && full > 0, "{usage:?}, full {full}");
    let pages: u64 = held.iter().map(|(_, bytes)| (bytes.len() as u64).div_ceil(PAGE_BYTES)).sum();
    assert_eq!(usage.pages, pages);
    // Damage everything in the swap area: nothing wrong may come out.
    let len = swap.len().expect("len");
    swap.write_at(0, &vec![0xFF; len as usize]).expect("damage");
    let damaged = held
        .iter()
        .filter(|(register, bytes)| match register.read_into(&mut out) {
            Ok(()) => {
                assert!(out == *bytes);
                false
            }
            Err(MemoryError::DamagedPage { .. } | MemoryError::SwapFull { .. }) => true,
            Err(error) => panic!("{error}"),
        })
        .count();
    assert!(damaged > 0);
    drop(held);
    let usage = memory.usage();
    assert_eq!((usage.pages, usage.used_frames, usage.swap_slots), (0, 0, 0), "all is given back");
}
