//! Tests of the reuse of pinned blocks.

use interlock_driver::CaptureMode;

use super::*;
use crate::memory::{CopyOperand, DeviceBuffer, copy};

#[test]
fn pinned_block_is_reused_for_equal_rounded_sizes() {
    let rig = Rig::new();
    let (small, large) = (rig.memory(600), rig.memory(3000));
    assert_eq!(rig.reserved(), 1024 + 4096);
    let pointers = [small.pointer(), large.pointer()];
    drop((small, large));
    let again = [rig.memory(1024), rig.memory(2049)];
    assert_eq!([again[0].pointer(), again[1].pointer()], pointers);
    let third = rig.memory(513);
    assert!(!pointers.contains(&third.pointer()));
    let counted = rig.counted();
    assert_eq!((counted.num_host_alloc(), counted.active_requests.allocated), (3, 5));
    assert_eq!((counted.allocated_bytes.current, counted.active_bytes.current), (6144, 6144));
    drop((again, third));
    rig.empty();
    let counted = rig.counted();
    assert_eq!((rig.reserved(), counted.num_host_free(), counted.allocated_bytes.current), (0, 3, 0));
    assert_eq!((counted.host_alloc_time.count, counted.host_free_time.count), (3, 3));
}

#[test]
fn pinned_block_that_was_freed_last_is_reused_first() {
    let rig = Rig::new();
    let [first, second] = [rig.memory(8), rig.memory(8)];
    let pointers = [second.pointer(), first.pointer()];
    drop(first);
    drop(second);
    // A queue would return them in the other order.
    let again = [rig.memory(8), rig.memory(8)];
    assert_eq!([again[0].pointer(), again[1].pointer()], pointers);
}

#[test]
fn pinned_block_is_reused_after_the_work_of_all_streams() {
    let rig = Rig::new();
    let streams = [rig.stream(0), rig.stream(1)];
    let [first, second] = [0, 1].map(|place| rig.block(&streams[place]));
    let memory = rig.memory(64);
    let pointer = memory.pointer();
    for stream in [&streams[0], &streams[1], &streams[0]] {
        memory.prepare_use(stream).unwrap();
    }
    drop(memory);
    assert_eq!((rig.counted().active_requests.current, rig.is_allocated(pointer)), (1, false));
    let others: Vec<_> = [first, second]
        .into_iter()
        .zip(&streams)
        .map(|(latch, stream)| {
            let other = rig.memory(64);
            drop(latch);
            stream.synchronize().unwrap();
            other
        })
        .collect();
    assert!(others.iter().all(|other| other.pointer() != pointer));
    assert_eq!(rig.memory(64).pointer(), pointer);
    drop(others);
    rig.empty();
    assert_eq!((rig.reserved(), rig.counted().active_requests.current), (0, 0));
    // Events are recycled: at most two were pending at once.
    assert_eq!(rig.faults.live_objects().unwrap().events, 2);
}

#[test]
fn pinned_block_does_not_wait_for_streams_that_do_not_use_it() {
    let rig = Rig::new();
    let (blocked, other) = (rig.stream(0), rig.stream(0));
    let latch = rig.block(&blocked);
    let [waits, done] = [rig.memory(64), rig.memory(64)];
    waits.record_stream(&blocked).unwrap();
    done.record_stream(&other).unwrap();
    let pointers = [waits.pointer(), done.pointer()];
    drop(waits);
    drop(done);
    other.synchronize().unwrap();
    assert_eq!(rig.memory(64).pointer(), pointers[1]);
    rig.empty();
    assert_eq!(rig.reserved(), 64);
    drop(latch);
    blocked.synchronize().unwrap();
    rig.empty();
    assert_eq!(rig.reserved(), 0);
}

#[test]
fn pinned_memory_can_be_dropped_while_a_copy_uses_it() {
    let rig = Rig::new();
    let stream = rig.stream(0);
    let latch = rig.block(&stream);
    let memory = rig.memory(4096);
    // SAFETY: no work uses the bytes.
    unsafe { memory.pointer().write_bytes(7, 4096) };
    let (sent, pointer) = (memory.as_operand(&stream).unwrap(), memory.pointer());
    drop(memory);
    let device = DeviceBuffer::on(&stream, 4096).unwrap();
    copy(&CopyOperand::Device(device.clone()), &CopyOperand::Host(sent), Some(&stream), false).unwrap();
    let received = rig.memory(4096);
    assert_ne!(received.pointer(), pointer);
    let operand = received.as_operand(&stream).unwrap();
    copy(&CopyOperand::Host(operand), &CopyOperand::Device(device), Some(&stream), false).unwrap();
    drop(latch);
    stream.synchronize().unwrap();
    // SAFETY: the copy is done.
    let content = unsafe { std::slice::from_raw_parts(received.pointer().as_ptr(), 4096) };
    assert!(content.iter().all(|byte| *byte == 7));
    assert_eq!(rig.memory(4096).pointer(), pointer);
}

#[test]
fn pinned_memory_is_kept_alive_by_a_graph_that_uses_it() {
    let rig = Rig::new();
    let (stream, driver) = (rig.stream(0), rig.accelerator.started().runtime());
    let handle = stream.handle().unwrap();
    let device = DeviceBuffer::on(&stream, 64).unwrap();
    let memory = rig.memory(64);
    let (pointer, operand) = (memory.pointer(), memory.as_operand(&stream).unwrap());
    driver.begin_capture(handle, CaptureMode::Relaxed).unwrap();
    copy(&CopyOperand::Device(device), &CopyOperand::Host(operand), Some(&stream), false).unwrap();
    drop(memory);
    let other = rig.memory(64);
    assert!(rig.is_allocated(pointer) && other.pointer() != pointer);
    driver.destroy_graph(driver.end_capture(handle).unwrap());
    assert!(!rig.is_allocated(pointer));
    assert_eq!(rig.memory(64).pointer(), pointer);
}

#[test]
fn pinned_block_freed_during_a_capture_is_reused_after_it() {
    let rig = Rig::new();
    let (stream, driver) = (rig.stream(0), rig.accelerator.started().runtime());
    let handle = stream.handle().unwrap();
    let memory = rig.memory(64);
    let pointer = memory.pointer();
    memory.prepare_use(&stream).unwrap();
    driver.begin_capture(handle, CaptureMode::Global).unwrap();
    drop(memory);
    rig.empty();
    assert_eq!(rig.reserved(), 64);
    driver.destroy_graph(driver.end_capture(handle).unwrap());
    // The event can be recorded only now.
    drop(rig.memory(8));
    stream.synchronize().unwrap();
    assert_eq!(rig.memory(64).pointer(), pointer);
    rig.empty();
    assert_eq!(rig.reserved(), 0);
}

#[test]
fn pinned_memory_recorded_on_a_capturing_stream_is_never_reused() {
    let rig = Rig::new();
    let (stream, driver) = (rig.stream(0), rig.accelerator.started().runtime());
    let handle = stream.handle().unwrap();
    let memory = rig.memory(64);
    driver.begin_capture(handle, CaptureMode::Relaxed).unwrap();
    memory.record_stream(&stream).unwrap();
    driver.destroy_graph(driver.end_capture(handle).unwrap());
    drop(memory);
    rig.empty();
    assert_eq!((rig.reserved(), rig.counted().active_requests.current), (64, 1));
}

#[test]
fn pinned_blocks_are_shared_by_threads() {
    let rig = Rig::new();
    std::thread::scope(|scope| {
        for place in 0..4 {
            let rig = &rig;
            scope.spawn(move || {
                let stream = rig.stream(place % 2);
                for round in 0..200 {
                    let memory = rig.memory(1 << (round % 4 + 3));
                    let value = place * 50 + (round % 50) as u8;
                    // SAFETY: only this thread uses the byte.
                    unsafe { memory.pointer().write(value) };
                    memory.prepare_use(&stream).unwrap();
                    let bytes = memory.pointer().as_ptr() as usize;
                    stream
                        .launch(HostFn::new("check", move || {
                            // SAFETY: the block is not reused before this function has ended.
                            let found = unsafe { std::ptr::with_exposed_provenance::<u8>(bytes).read() };
                            if found == value {
                                Ok(())
                            } else {
                                Err(format!("{found} instead of {value}").into())
                            }
                        }))
                        .unwrap();
                    drop(memory);
                }
                stream.synchronize().unwrap();
            });
        }
    });
    rig.empty();
    assert_eq!((rig.reserved(), rig.counted().active_requests.current), (0, 0));
    let counted = rig.counted();
    assert_eq!(counted.active_requests.allocated, 800);
    assert_eq!(counted.num_host_alloc(), counted.num_host_free());
}
