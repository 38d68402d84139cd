//! Errors of broken devices, failed allocations and invalidated captures.

use crate::fake_library;
use std::ptr;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Barrier};
use std::thread;

use crate::fake_library::{break_device, device, fail_allocation, hook, live, set_current};
use crate::rig::{Counter, Latch, Rig};
use cudarc::driver::sys::{self, CUresult, CUstreamCaptureMode as Mode};
use interlock_accelerator::memory::{self, DeviceBuffer, PinnedMemory};
use interlock_accelerator::{self as accelerator, CaptureMode, Event, Graph, HostFn, Stream};
use interlock_driver::{Error, Result};
use interlock_driver::{EventOptions, Fill, Owners, WaitTarget};

fn rig() -> Rig {
    Rig::of(fake_library::started())
}

#[test]
fn errors_after_a_sticky_error_name_the_first_failure() {
    for (index, code, name) in [(0, 700, "CUDA_ERROR_ILLEGAL_ADDRESS"), (1, 719, "CUDA_ERROR_LAUNCH_FAILED")]
    {
        let rig = rig();
        let (stream, own) = (rig.stream(index), device(index));
        break_device(index, code);
        let Err(Error::Device { device, operation, reason, code: reported, .. }) =
            rig.driver.memory_info(index)
        else {
            panic!("no error")
        };
        assert_eq!((device, operation.as_str(), reported), (own, "accelerator.get_memory_info", Some(code)));
        assert!(reason.starts_with(&format!("{name}: ")), "{reason}");
        let later = [
            rig.driver.check(WaitTarget::Stream(stream)).map(drop),
            rig.driver.check(WaitTarget::Device(index)).map(drop),
            rig.driver.allocate(index, 64).map(drop),
            rig.driver.create_event(index, EventOptions::default()).map(drop),
            rig.driver.create_stream(index, 0).map(drop),
            rig.driver.begin_capture(stream, CaptureMode::Relaxed).map(drop),
            rig.driver.launch_host_fn(stream, HostFn::new("work", || Ok(()))),
            rig.driver.memory_info(index).map(drop),
        ];
        let reason = format!("accelerator.get_memory_info had failed: {reason} (error {code})");
        for error in later {
            let Err(Error::DeviceLost { device, reason: reported, .. }) = &error else { panic!("{error:?}") };
            assert_eq!((*device, reported), (own, &reason));
        }
    }
}

#[test]
fn broken_device_does_not_affect_other_devices() {
    let rig = rig();
    let (broken, stream, memory, pinned) =
        (rig.stream(0), rig.stream(1), rig.memory(1, 8), rig.pinned(&[1; 8]));
    break_device(0, 700);
    assert!(rig.wait(WaitTarget::Stream(broken)).is_err());
    rig.fill(stream, &memory, 7);
    rig.copy(stream, &pinned, &memory);
    assert_eq!(rig.wait(WaitTarget::Device(1)), Ok(true));
    assert_eq!(pinned.content(), [7; 8]);
    // Pinned memory can be freed although the device of its allocation is broken.
    let before = live("pinned");
    drop(pinned);
    assert_eq!(live("pinned"), before - 8);
}

#[test]
fn waits_end_when_the_device_breaks() {
    let rig = rig();
    let stream = rig.stream(0);
    let latch = rig.block(stream);
    let event = rig.record(stream);
    let sync_points = [WaitTarget::Stream(stream), WaitTarget::Event(event), WaitTarget::Device(0)]
        .map(|on| rig.driver.sync_point(on).unwrap());
    let begun = Barrier::new(sync_points.len() + 1);
    let ended: Vec<_> = thread::scope(|scope| {
        let wait = |sync_point| {
            begun.wait();
            rig.reach(sync_point)
        };
        let waits: Vec<_> =
            sync_points.iter().map(|sync_point| scope.spawn(move || wait(sync_point))).collect();
        begun.wait();
        break_device(0, 719);
        waits.into_iter().map(|wait| wait.join().unwrap()).collect()
    });
    assert!(ended.iter().all(Result::is_err), "{ended:?}");
    latch.open();
}

#[test]
fn objects_of_a_broken_device_can_be_dropped() {
    accelerator::use_driver(fake_library::driver()).unwrap();
    let streams = [(); 2].map(|()| Stream::dedicated(Some(device(0)), 0).unwrap());
    let [stream, other] = &streams;
    let (event, latch) = (Event::new(Some(device(0)), EventOptions::default()).unwrap(), Latch::default());
    let memory: Vec<_> =
        [100, 3 << 20, 12 << 20].map(|bytes| DeviceBuffer::on(stream, bytes).unwrap()).into();
    let graph = Graph::new(false).unwrap();
    {
        let _current = stream.guard().unwrap();
        graph.capture_begin(None, CaptureMode::Global).unwrap();
        memory[0].fill(1, Some(stream)).unwrap();
        graph.capture_end().unwrap();
        graph.replay().unwrap();
    }
    stream.launch(latch.work()).unwrap();
    memory[1].fill(1, Some(other)).unwrap();
    memory[2].record_stream(other).unwrap();
    event.record(stream).unwrap();
    let pinned = PinnedMemory::new(100).unwrap();
    pinned.record_stream(stream).unwrap();
    let elsewhere = DeviceBuffer::new(Some(device(1)), 100).unwrap();
    break_device(0, 700);
    assert!(stream.synchronize().is_err());
    assert!(DeviceBuffer::on(stream, 40 << 20).is_err());
    latch.open();
    drop((memory, graph, event, pinned, streams));
    let _ = memory::empty_cache();
    memory::empty_host_cache();
    elsewhere.fill(1, None).unwrap();
    accelerator::synchronize(Some(device(1))).unwrap();
    drop(elsewhere);
    assert_eq!(memory::statistics(Some(device(1))).unwrap().allocation.all.current, 0);
}

#[test]
fn out_of_memory_does_not_affect_later_calls() {
    let rig = rig();
    let stream = rig.stream(0);
    fail_allocation(1);
    assert!(matches!(rig.driver.allocate(0, 64), Err(Error::OutOfMemory(_))));
    fail_allocation(1);
    assert!(matches!(rig.driver.allocate_pinned(0, 64), Err(Error::OutOfMemory(_))));
    assert!(matches!(rig.driver.allocate(0, usize::MAX), Err(Error::OutOfMemory(_))));
    let memory = rig.memory(0, 64);
    rig.fill(stream, &memory, 1);
    assert_eq!(rig.read(stream, &memory), [1; 64]);
}

/// Allocates memory directly, which is unsafe during a global capture and invalidates it.
fn allocate_as_another_library() {
    fake_library::set_mode(Mode::CU_STREAM_CAPTURE_MODE_GLOBAL);
    set_current(fake_library::foreign_context(0));
    let mut address = 0;
    // SAFETY: the pointer is valid.
    let refused = unsafe { sys::cuMemAlloc_v2(&raw mut address, 64) };
    assert_eq!(refused, CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    set_current(ptr::null_mut());
}

#[test]
fn capture_invalidated_by_another_library_is_a_graph_error() {
    let rig = rig();
    let (stream, memory) = (rig.stream(0), rig.memory(0, 8));
    for _ in 0..2 {
        rig.driver.begin_capture(stream, CaptureMode::Global).unwrap();
        allocate_as_another_library();
        assert!(rig.is_capturing(stream));
        let fill = || Fill {
            address: memory.address,
            bytes: 8,
            value: 1,
            owners: Owners::until_completed(memory.clone()),
        };
        // SAFETY: `owners` own the memory.
        let queued = unsafe { rig.driver.fill(stream, fill()) };
        let Err(Error::Graph { operation, reason }) = queued else { panic!("{queued:?}") };
        assert_eq!(operation, "a fill");
        assert!(reason.starts_with("CUDA_ERROR_STREAM_CAPTURE_INVALIDATED: "), "{reason}");
        assert!(matches!(rig.driver.end_capture(stream), Err(Error::Graph { .. })));
        assert!(!rig.is_capturing(stream));
        // Waits are allowed again, and a wait for the device uses `cuCtxSynchronize`.
        let waited = fake_library::calls("cuCtxSynchronize");
        assert_eq!(rig.wait(WaitTarget::Device(0)), Ok(true));
        assert_eq!(fake_library::calls("cuCtxSynchronize"), waited + 1);
    }
    let ready = rig.ready(stream, || rig.fill(stream, &memory, 5));
    rig.driver.replay(ready, stream).unwrap();
    assert_eq!(rig.read(stream, &memory), [5; 8]);
}

#[test]
fn end_capture_ends_the_capture_of_a_broken_device() {
    let rig = rig();
    let stream = rig.stream(0);
    rig.stream(1);
    rig.driver.begin_capture(stream, CaptureMode::Global).unwrap();
    assert!(matches!(rig.driver.sync_point(WaitTarget::Device(1)), Err(Error::Graph { .. })));
    break_device(0, 719);
    assert!(rig.driver.end_capture(stream).is_err());
    assert_eq!(rig.wait(WaitTarget::Device(1)), Ok(true));
}

#[test]
fn errors_name_the_operation_that_was_called() {
    let rig = rig();
    let (stream, memory) = (rig.stream(0), rig.memory(0, 8));
    let event = rig.record(stream);
    let executable = rig.ready(stream, || rig.fill(stream, &memory, 1));
    rig.finish(stream);
    let fill = || Fill {
        address: memory.address,
        bytes: 8,
        value: 1,
        owners: Owners::until_completed(memory.clone()),
    };
    break_device(0, 700);
    let failed = [
        rig.driver.check(WaitTarget::Stream(stream)).map(drop),
        rig.driver.sync_point(WaitTarget::Stream(stream)).map(drop),
        rig.driver.check(WaitTarget::Event(event)).map(drop),
        rig.driver.check(WaitTarget::Device(0)).map(drop),
        rig.driver.record_event(event, stream),
        rig.driver.wait_event(stream, event),
        // SAFETY: `owners` own the memory.
        unsafe { rig.driver.fill(stream, fill()) },
        rig.driver.launch_host_fn(stream, HostFn::new("work", || Ok(()))),
        rig.driver.begin_capture(stream, CaptureMode::Relaxed).map(drop),
        rig.driver.end_capture(stream).map(drop),
        rig.driver.replay(executable, stream),
        rig.driver.capture_id(stream).map(drop),
    ];
    let operations = failed.map(|failed| match failed {
        Err(Error::Device { operation, .. } | Error::DeviceLost { operation, .. }) => operation,
        other => panic!("{other:?}"),
    });
    let called = [
        "Stream.query",
        "Stream.synchronize",
        "Event.query",
        "accelerator.synchronize",
        "Event.record",
        "Stream.wait_event",
        "a fill",
        "Stream.launch",
        "Graph.capture_begin",
        "Graph.capture_end",
        "Graph.replay",
        "Stream.is_capturing",
    ];
    assert_eq!(operations, called);
    // Memory of a broken device can't be freed.
    std::mem::forget(memory);
}

#[test]
fn end_capture_on_a_wrong_thread_leaves_the_capture_valid() {
    let rig = rig();
    let (stream, counter) = (rig.stream(0), Counter::default());
    rig.driver.begin_capture(stream, CaptureMode::ThreadLocal).unwrap();
    rig.driver.launch_host_fn(stream, counter.work()).unwrap();
    let ended = thread::scope(|scope| scope.spawn(|| rig.driver.end_capture(stream)).join().unwrap());
    let Err(Error::Graph { reason, .. }) = ended else { panic!("{ended:?}") };
    assert!(reason.contains("thread"), "{reason}");
    assert!(rig.is_capturing(stream));
    let graph = rig.driver.end_capture(stream).unwrap();
    rig.driver.replay(rig.driver.instantiate(graph).unwrap(), stream).unwrap();
    rig.finish(stream);
    assert_eq!(counter.get(), 1);
}

#[test]
fn capture_ended_by_another_library_keeps_its_resources_alive() {
    let rig = rig();
    for ends in [false, true] {
        let (stream, counter, memory) = (rig.stream(0), Counter::default(), rig.memory(0, 8));
        rig.driver.begin_capture(stream, CaptureMode::Relaxed).unwrap();
        rig.driver.launch_host_fn(stream, counter.work()).unwrap();
        rig.fill(stream, &memory, 1);
        let memory = Arc::downgrade(&memory);
        let on = ptr::with_exposed_provenance_mut(stream.raw as usize);
        let (mut graph, mut executable) = (ptr::null_mut(), ptr::null_mut());
        set_current(fake_library::foreign_context(0));
        // SAFETY: the pointers are valid and the stream is alive.
        let made = unsafe {
            let ended = sys::cuStreamEndCapture(on, &raw mut graph);
            [ended, sys::cuGraphInstantiateWithFlags(&raw mut executable, graph, 0)]
        };
        if ends {
            assert!(matches!(rig.driver.end_capture(stream), Err(Error::Device { .. })));
        } else {
            rig.driver.destroy_graph(rig.capture(stream, || {}).unwrap());
        }
        assert!(memory.upgrade().is_some());
        // SAFETY: the executable and the stream are alive.
        let launched = unsafe { sys::cuGraphLaunch(executable, on) };
        assert_eq!((made, launched), ([CUresult::CUDA_SUCCESS; 2], CUresult::CUDA_SUCCESS));
        set_current(ptr::null_mut());
        rig.finish(stream);
        assert_eq!(counter.get(), 1);
    }
}

#[test]
fn graph_capture_end_succeeds_after_a_wrong_thread_tried() {
    accelerator::use_driver(fake_library::driver()).unwrap();
    let stream = Stream::dedicated(Some(device(0)), 0).unwrap();
    let (graph, counter) = (Graph::new(false).unwrap(), Counter::default());
    let _current = stream.guard().unwrap();
    graph.capture_begin(None, CaptureMode::ThreadLocal).unwrap();
    stream.launch(counter.work()).unwrap();
    let ended = thread::scope(|scope| scope.spawn(|| graph.capture_end()).join().unwrap());
    assert!(matches!(ended, Err(Error::Graph { .. })));
    graph.capture_end().unwrap();
    graph.replay().unwrap();
    stream.synchronize().unwrap();
    assert_eq!(counter.get(), 1);
}

/// Makes the `number`th call of a function from now on fail with `CUDA_ERROR_OPERATING_SYSTEM`, which is not sticky.
fn fail_call(name: &str, number: u32) {
    let left = AtomicU32::new(number);
    let fails = move || left.fetch_update(SeqCst, SeqCst, |left| left.checked_sub(1)) == Ok(1);
    hook(name, move || if fails() { CUresult::CUDA_ERROR_OPERATING_SYSTEM as i32 } else { 0 });
}

#[test]
fn host_fn_whose_semaphore_wait_fails_does_not_run() {
    let rig = rig();
    let (stream, counter) = (rig.stream(0), Counter::default());
    rig.launch(stream, || {});
    rig.finish(stream);
    fail_call("cuStreamWaitValue32_v2", 1);
    assert!(rig.driver.launch_host_fn(stream, counter.work()).is_err());
    rig.launch(stream, || {});
    rig.finish(stream);
    assert_eq!(counter.get(), 0);
    rig.driver.launch_host_fn(stream, counter.work()).unwrap();
    rig.finish(stream);
    assert_eq!(counter.get(), 1);
}

#[test]
fn work_whose_event_cannot_be_created_is_not_queued() {
    let rig = rig();
    let (stream, memory) = (rig.stream(0), rig.memory(0, 8));
    let (fills, counter) = (fake_library::calls("cuMemsetD8Async"), Counter::default());
    let fill = || Fill {
        address: memory.address,
        bytes: 8,
        value: 1,
        owners: Owners::until_completed(memory.clone()),
    };
    fail_call("cuEventCreate", 1);
    // SAFETY: `owners` own the memory.
    assert!(unsafe { rig.driver.fill(stream, fill()) }.is_err());
    assert_eq!(fake_library::calls("cuMemsetD8Async"), fills);
    fail_call("cuEventCreate", 1);
    assert!(rig.driver.launch_host_fn(stream, counter.work()).is_err());
    rig.launch(stream, || {});
    rig.finish(stream);
    assert_eq!(counter.get(), 0);
}

#[test]
fn event_that_fails_after_queued_work_is_an_asynchronous_error() {
    let rig = rig();
    let (stream, memory, captured) = (rig.stream(0), rig.memory(0, 8), rig.stream(0));
    let (to, counter) = (rig.pinned(&[0; 8]), Counter::default());
    let executable = rig.ready(captured, || rig.driver.launch_host_fn(captured, counter.work()).unwrap());
    let queued: [&dyn Fn(); 4] = [
        &|| rig.fill(stream, &memory, 7),
        &|| rig.copy(stream, &to, &memory),
        &|| rig.launch(stream, || {}),
        &|| rig.driver.replay(executable, stream).unwrap(),
    ];
    for queue in queued {
        fail_call("cuEventRecord", 1);
        queue();
        let Err(Error::Device { code, .. }) = rig.wait(WaitTarget::Stream(stream)) else {
            panic!("no error")
        };
        assert_eq!(code, Some(CUresult::CUDA_ERROR_OPERATING_SYSTEM as i32));
        rig.finish(stream);
    }
    assert_eq!((to.content(), counter.get()), (vec![7; 8], 1));
    std::mem::forget((memory, to));
}

#[test]
fn replay_that_fails_does_not_run() {
    let rig = rig();
    let (stream, captured, counter) = (rig.stream(0), rig.stream(0), Counter::default());
    let executable = rig.ready(captured, || rig.driver.launch_host_fn(captured, counter.work()).unwrap());
    rig.driver.replay(executable, captured).unwrap();
    // The calls of a replay, in their order: the wait for the replay before it, the begin and the launch.
    for name in ["cuStreamWaitEvent", "cuLaunchHostFunc", "cuGraphLaunch"] {
        fail_call(name, 1);
        assert!(matches!(rig.driver.replay(executable, stream), Err(Error::Device { .. })), "{name}");
        fake_library::unhook(name);
        rig.finish(stream);
        rig.finish(captured);
        assert_eq!(counter.get(), 1, "{name}");
    }
    rig.driver.replay(executable, stream).unwrap();
    rig.finish(stream);
    assert_eq!(counter.get(), 2);
}

#[test]
fn addresses_that_cannot_be_freed_remain_reserved() {
    let rig = rig();
    let bytes = rig.driver.mapping_granularity(0).unwrap();
    let address = rig.driver.reserve_addresses(0, bytes).unwrap();
    fail_call("cuMemAddressFree", 1);
    // SAFETY: no memory is mapped to the addresses.
    let freed = [(); 2].map(|()| unsafe { rig.driver.free_addresses(0, address, bytes) });
    assert!(matches!(freed, [Err(Error::Device { .. }), Ok(())]), "{freed:?}");
}

#[test]
fn begin_capture_that_fails_leaves_the_stream_uncaptured() {
    let rig = rig();
    let (stream, counter) = (rig.stream(0), Counter::default());
    for number in [1, 2] {
        fail_call("cuStreamGetCaptureInfo_v2", number);
        assert!(rig.driver.begin_capture(stream, CaptureMode::Global).is_err());
        fake_library::unhook("cuStreamGetCaptureInfo_v2");
        assert!(!rig.is_capturing(stream));
    }
    rig.driver.launch_host_fn(stream, counter.work()).unwrap();
    assert_eq!(rig.wait(WaitTarget::Device(0)), Ok(true));
    assert_eq!(counter.get(), 1);
}
