//! Which blocks are used again, and when.

use interlock_driver::CaptureMode;

use super::*;
use crate::memory::{CopyOperand, DeviceBuffer, copy};

#[test]
fn what_is_free_is_used_again_by_sizes_that_are_rounded_alike() {
    let rig = Rig::new();
    let (small, large) = (rig.memory(600), rig.memory(3000));
    assert_eq!(rig.taken(), 1024 + 4096);
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
    assert_eq!((rig.taken(), counted.num_host_free(), counted.allocated_bytes.current), (0, 3, 0));
    assert_eq!((counted.host_alloc_time.count, counted.host_free_time.count), (3, 3));
}

#[test]
fn the_block_that_came_back_last_goes_first() {
    let rig = Rig::new();
    let [first, second] = [rig.memory(8), rig.memory(8)];
    let pointers = [second.pointer(), first.pointer()];
    drop(first);
    drop(second);
    // In another order than they came back in, had it been a queue.
    let again = [rig.memory(8), rig.memory(8)];
    assert_eq!([again[0].pointer(), again[1].pointer()], pointers);
}

#[test]
fn a_block_waits_for_what_uses_it_on_every_stream() {
    let rig = Rig::new();
    let streams = [rig.stream(0), rig.stream(1)];
    let [first, second] = [0, 1].map(|place| rig.block(&streams[place]));
    let memory = rig.memory(64);
    let pointer = memory.pointer();
    for stream in [&streams[0], &streams[1], &streams[0]] {
        memory.prepare_use(stream).unwrap();
    }
    drop(memory);
    assert_eq!((rig.counted().active_requests.current, rig.is_held(pointer)), (1, false));
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
    assert_eq!((rig.taken(), rig.counted().active_requests.current), (0, 0));
    // Events are used again: only two blocks were marked at once.
    assert_eq!(rig.faults.live_objects().unwrap().events, 2);
}

#[test]
fn an_unfinished_stream_holds_up_no_blocks_of_others() {
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
    assert_eq!(rig.taken(), 64);
    drop(latch);
    blocked.synchronize().unwrap();
    rig.empty();
    assert_eq!(rig.taken(), 0);
}

#[test]
fn who_copies_need_not_keep_the_memory() {
    let rig = Rig::new();
    let stream = rig.stream(0);
    let latch = rig.block(&stream);
    let memory = rig.memory(4096);
    // SAFETY: nobody else uses the bytes.
    unsafe { memory.pointer().write_bytes(7, 4096) };
    let (sent, pointer) = (memory.as_operand(&stream).unwrap(), memory.pointer());
    drop(memory);
    let device = DeviceBuffer::on(&stream, 4096).unwrap();
    copy(&CopyOperand::Device(device.clone()), &CopyOperand::Host(sent), Some(&stream), false).unwrap();
    let received = rig.memory(4096);
    assert_ne!(received.pointer(), pointer);
    let end = received.as_operand(&stream).unwrap();
    copy(&CopyOperand::Host(end), &CopyOperand::Device(device), Some(&stream), false).unwrap();
    drop(latch);
    stream.synchronize().unwrap();
    // SAFETY: the copy is over.
    let content = unsafe { std::slice::from_raw_parts(received.pointer().as_ptr(), 4096) };
    assert!(content.iter().all(|byte| *byte == 7));
    assert_eq!(rig.memory(4096).pointer(), pointer);
}

#[test]
fn a_graph_keeps_what_it_uses() {
    let rig = Rig::new();
    let (stream, driver) = (rig.stream(0), rig.accelerator.runtime());
    let handle = stream.handle().unwrap();
    let device = DeviceBuffer::on(&stream, 64).unwrap();
    let memory = rig.memory(64);
    let (pointer, end) = (memory.pointer(), memory.as_operand(&stream).unwrap());
    driver.begin_capture(handle, CaptureMode::Relaxed).unwrap();
    copy(&CopyOperand::Device(device), &CopyOperand::Host(end), Some(&stream), false).unwrap();
    drop(memory);
    let other = rig.memory(64);
    assert!(rig.is_held(pointer) && other.pointer() != pointer);
    driver.destroy_graph(driver.end_capture(handle).unwrap());
    assert!(!rig.is_held(pointer));
    assert_eq!(rig.memory(64).pointer(), pointer);
}

#[test]
fn a_block_used_before_a_capture_is_free_after_it() {
    let rig = Rig::new();
    let (stream, driver) = (rig.stream(0), rig.accelerator.runtime());
    let handle = stream.handle().unwrap();
    let memory = rig.memory(64);
    let pointer = memory.pointer();
    memory.prepare_use(&stream).unwrap();
    driver.begin_capture(handle, CaptureMode::Global).unwrap();
    drop(memory);
    rig.empty();
    assert_eq!(rig.taken(), 64);
    driver.destroy_graph(driver.end_capture(handle).unwrap());
    // Only now it can be marked.
    drop(rig.memory(8));
    stream.synchronize().unwrap();
    assert_eq!(rig.memory(64).pointer(), pointer);
    rig.empty();
    assert_eq!(rig.taken(), 0);
}

#[test]
fn what_is_recorded_on_a_stream_that_captures_is_given_to_nobody() {
    let rig = Rig::new();
    let (stream, driver) = (rig.stream(0), rig.accelerator.runtime());
    let handle = stream.handle().unwrap();
    let memory = rig.memory(64);
    driver.begin_capture(handle, CaptureMode::Relaxed).unwrap();
    memory.record_stream(&stream).unwrap();
    driver.destroy_graph(driver.end_capture(handle).unwrap());
    drop(memory);
    rig.empty();
    assert_eq!((rig.taken(), rig.counted().active_requests.current), (64, 1));
}

#[test]
fn threads_share_the_blocks() {
    let rig = Rig::new();
    std::thread::scope(|scope| {
        for place in 0..4 {
            let rig = &rig;
            scope.spawn(move || {
                let stream = rig.stream(place % 2);
                for round in 0..200 {
                    let memory = rig.memory(1 << (round % 4 + 3));
                    let value = place * 50 + (round % 50) as u8;
                    // SAFETY: nobody else has the byte.
                    unsafe { memory.pointer().write(value) };
                    memory.prepare_use(&stream).unwrap();
                    let bytes = memory.pointer().as_ptr() as usize;
                    stream
                        .launch(HostFn::new("look", move || {
                            // SAFETY: nobody gets the block before this is over.
                            let found = unsafe { std::ptr::with_exposed_provenance::<u8>(bytes).read() };
                            if found == value { Ok(()) } else { Err(format!("{found} instead of {value}")) }
                        }))
                        .unwrap();
                    drop(memory);
                }
                stream.synchronize().unwrap();
            });
        }
    });
    rig.empty();
    assert_eq!((rig.taken(), rig.counted().active_requests.current), (0, 0));
    let counted = rig.counted();
    assert_eq!(counted.active_requests.allocated, 800);
    assert_eq!(counted.num_host_alloc(), counted.num_host_free());
}
