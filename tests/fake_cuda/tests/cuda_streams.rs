//! Streams of other libraries, and streams that several threads use.

use crate::fake_library;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::rig::{Latch, Rig};
use cudarc::driver::sys::{self, CUresult, CUstream};
use interlock_accelerator::CaptureMode;
use interlock_driver::{Address, Copy, CopyEndpoint, Fill, Owners, StreamHandle, WaitTarget};

/// Creates a stream on device 0 as another library would.
fn foreign_stream() -> CUstream {
    fake_library::set_current(fake_library::foreign_context(0));
    let mut stream = ptr::null_mut();
    // SAFETY: the pointer is valid.
    let made = unsafe { sys::cuStreamCreateWithPriority(&raw mut stream, 1, 0) };
    assert_eq!(made, CUresult::CUDA_SUCCESS);
    stream
}

#[test]
fn external_stream_is_not_queried_after_its_library_destroyed_it() {
    let rig = Rig::of(fake_library::started());
    let (foreign, capturing, memory) = (foreign_stream(), rig.stream(0), rig.memory(0, 8));
    // SAFETY: it is a stream of the fake library, which validates every handle.
    let adopted = unsafe { rig.driver.wrap_external_stream(0, foreign.expose_provenance() as u64).unwrap() };
    let latch = rig.block(adopted);
    rig.fill(adopted, &memory, 1);
    let is_done = || rig.driver.check(WaitTarget::Device(0));
    // SAFETY: the handle is not used after this; queued work still runs.
    assert_eq!(unsafe { sys::cuStreamDestroy_v2(foreign) }, CUresult::CUDA_SUCCESS);
    assert_eq!(is_done(), Ok(false));
    rig.driver.begin_capture(capturing, CaptureMode::Relaxed).unwrap();
    let sync_point = rig.driver.sync_point(WaitTarget::Device(0)).unwrap();
    latch.open();
    assert_eq!(rig.reach(&sync_point), Ok(true));
    rig.driver.end_capture(capturing).unwrap();
    assert_eq!((is_done(), rig.wait(WaitTarget::Device(0))), (Ok(true), Ok(true)));
}

#[test]
fn host_fns_of_one_stream_never_run_concurrently() {
    static RUNS: AtomicBool = AtomicBool::new(false);
    static OVERLAPPED: AtomicBool = AtomicBool::new(false);
    let rig = Rig::of(fake_library::started());
    let stream = rig.stream(0);
    let queue = |stream: StreamHandle| {
        for _ in 0..200 {
            rig.launch(stream, || {
                OVERLAPPED.fetch_or(RUNS.swap(true, Ordering::SeqCst), Ordering::SeqCst);
                thread::yield_now();
                RUNS.store(false, Ordering::SeqCst);
            });
        }
    };
    thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(|| queue(stream)))));
    rig.finish(stream);
    assert!(!OVERLAPPED.load(Ordering::SeqCst));
}

#[test]
fn host_fn_may_queue_work_while_a_pageable_copy_waits_for_it() {
    let rig = Rig::of(fake_library::started());
    let (stream, memory, copied) = (rig.stream(0), rig.memory(0, 8), AtomicBool::new(false));
    let (latch, again) = (Latch::default(), rig.driver.clone());
    let (opened, queued) = (latch.clone(), memory.clone());
    rig.launch(stream, move || {
        opened.wait();
        let fill = Fill {
            address: queued.address,
            bytes: 8,
            value: 7,
            owners: Owners::until_completed(queued.clone()),
        };
        // SAFETY: `owners` own the memory.
        unsafe { again.fill(stream, fill) }.unwrap();
    });
    let mut pageable = vec![0_u8; 8];
    let to = Address(pageable.as_mut_ptr().expose_provenance() as u64);
    let copy = Copy {
        to: CopyEndpoint::Host(to),
        from: memory.endpoint(),
        bytes: 8,
        owners: Owners::until_completed(memory.clone()),
    };
    thread::scope(|scope| {
        scope.spawn(|| {
            // SAFETY: the driver waits for the copy to pageable memory, and `pageable` lives longer.
            unsafe { rig.driver.copy(stream, copy) }.unwrap();
            copied.store(true, Ordering::SeqCst);
        });
        while fake_library::calls("cuMemcpyDtoHAsync_v2") == 0 {
            thread::yield_now();
        }
        assert!(!copied.load(Ordering::SeqCst));
        latch.open();
    });
    assert_eq!(rig.read(stream, &memory), [7; 8]);
}

#[test]
fn wrap_external_stream_refuses_handles_that_are_no_addresses() {
    let rig = Rig::of(fake_library::started());
    for raw in [3, 4095, 4097, 1 << 63, u64::MAX] {
        // SAFETY: the driver refuses handles that can't be addresses.
        let adopted = unsafe { rig.driver.wrap_external_stream(0, raw) };
        assert!(matches!(adopted, Err(interlock_driver::Error::Argument { .. })), "{raw:#x}: {adopted:?}");
    }
}
