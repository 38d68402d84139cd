//! Tests of unordered work of streams on the same bytes.

use std::sync::Arc;

use crate::rig::host::two_devices;
use interlock_accelerator::memory::{Access, ByteRange};

const BYTES: usize = 1 << 18;

#[test]
fn unordered_fills_and_copies_do_not_interleave() {
    let (rig, _) = two_devices();
    let [first, second, third] = [rig.stream(0), rig.stream(0), rig.stream(0)];
    let (target, source) = (rig.memory(0, BYTES), rig.memory(0, BYTES));
    rig.fill(first, &source, 3);
    rig.finish(first);
    for _ in 0..20 {
        rig.fill(first, &target, 1);
        rig.fill(second, &target, 2);
        rig.copy(third, &target, &source);
        for stream in [first, second, third] {
            rig.finish(stream);
        }
        let content = rig.read(first, &target);
        assert!(content.iter().all(|byte| *byte == content[0]), "two operations interleaved");
    }
}

#[test]
fn fill_waits_for_an_access_to_its_bytes() {
    let (rig, _) = two_devices();
    let (stream, memory) = (rig.stream(0), rig.memory(0, 64));
    let start: *const u8 = std::ptr::with_exposed_provenance(memory.address.0 as usize);
    let access = Access::new(&[ByteRange::read(start.wrapping_add(63), 1)]);
    let filled = Arc::clone(&memory);
    rig.fill(stream, &filled, 1);
    assert!(!rig.is_done(stream));
    drop(access);
    rig.finish(stream);
    assert_eq!(rig.read(stream, &memory), [1; 64]);
}
