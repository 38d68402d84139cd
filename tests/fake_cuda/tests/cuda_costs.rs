//! The number of calls of NVIDIA's driver that each call of the CUDA driver makes.

use crate::fake_library;
use std::collections::BTreeMap;

use crate::fake_library::{calls, device, foreign_context, set_current};
use crate::rig::Rig;
use interlock_accelerator::memory::{self, CopyOperand, DeviceBuffer, PinnedMemory};
use interlock_accelerator::{CaptureMode, Graph, Stream, use_driver};
use interlock_driver::{Fill, Owners};

/// The functions of the fake library, one per line.
const NAMES: &str = include_str!("../symbols.txt");

/// The functions that every operation calls for the context and the capture status.
const COMMON_CALLS: [&str; 5] = [
    "cuCtxGetCurrent",
    "cuCtxPushCurrent_v2",
    "cuCtxPopCurrent_v2",
    "cuThreadExchangeStreamCaptureMode",
    "cuStreamGetCaptureInfo_v2",
];

/// Returns the number of calls of each function that `act` makes, without the common calls.
fn counted(act: impl FnOnce()) -> BTreeMap<&'static str, u64> {
    let count = || NAMES.lines().map(calls);
    let before: Vec<_> = count().collect();
    act();
    let counts = NAMES.lines().zip(count().zip(before)).map(|(name, (after, before))| (name, after - before));
    counts.filter(|(name, count)| *count > 0 && !COMMON_CALLS.contains(name)).collect()
}

#[test]
fn cached_allocation_makes_no_driver_call() {
    use_driver(fake_library::driver()).unwrap();
    let stream = Stream::dedicated(Some(device(0)), 0).unwrap();
    drop(DeviceBuffer::on(&stream, 5000).unwrap());
    for many in [1, 1000] {
        let made = counted(|| (0..many).for_each(|_| drop(DeviceBuffer::on(&stream, 5000).unwrap())));
        assert_eq!(made, BTreeMap::new());
    }
}

#[test]
fn event_count_depends_on_work_and_not_on_memory() {
    use_driver(fake_library::driver()).unwrap();
    let stream = Stream::dedicated(Some(device(0)), 0).unwrap();
    let program = |memory: usize| {
        let buffers: Vec<_> = (0..memory).map(|_| DeviceBuffer::on(&stream, 512).unwrap()).collect();
        let made = counted(|| {
            for _ in 0..10 {
                buffers[0].fill(1, Some(&stream)).unwrap();
                stream.synchronize().unwrap();
            }
        });
        ["cuEventCreate", "cuEventRecord"].map(|name| made.get(name).copied().unwrap_or(0))
    };
    program(1);
    // One event per wait. A fill retains no owner, because its memory is freed in stream order.
    assert_eq!([program(1), program(1000)], [[0, 10]; 2]);
}

#[test]
fn copy_costs_one_call_and_one_record_of_a_pooled_event() {
    let rig = Rig::of(fake_library::started());
    let (stream, to, from) = (rig.stream(0), rig.memory(0, 64), rig.memory(0, 64));
    let copy = || rig.copy(stream, &to, &from);
    // The first copy creates the event after which its owner is released.
    let first = counted(copy);
    assert_eq!(
        first,
        BTreeMap::from([("cuEventCreate", 1), ("cuEventRecord", 1), ("cuMemcpyDtoDAsync_v2", 1)])
    );
    rig.finish(stream);
    let second = counted(copy);
    assert_eq!(second, BTreeMap::from([("cuEventRecord", 1), ("cuMemcpyDtoDAsync_v2", 1)]));
    rig.finish(stream);
    // The events are polled after every 32 operations, so no more events are created.
    let many = counted(|| {
        for _ in 0..1000 {
            copy();
            rig.finish(stream);
        }
    });
    assert_eq!(many["cuMemcpyDtoDAsync_v2"], 1000);
    assert_eq!(many["cuEventRecord"], 2 * 1000);
    assert!(!many.contains_key("cuEventCreate"));
}

#[test]
fn stream_without_waits_creates_at_most_32_events() {
    let rig = Rig::of(fake_library::started());
    let (stream, memory) = (rig.stream(0), rig.memory(0, 64));
    let made = counted(|| {
        for _ in 0..2000 {
            rig.fill(stream, &memory, 1);
            // Waits for the work without a call of the driver under test.
            assert_eq!(fake_library::synchronize(stream.raw), 0);
        }
    });
    assert!(made["cuEventCreate"] <= 32, "{made:?}");
    assert_eq!(made["cuEventRecord"], 2000);
}

#[test]
fn host_fn_costs_one_semaphore_wait_and_one_event_record() {
    let rig = Rig::of(fake_library::started());
    let stream = rig.stream(0);
    rig.launch(stream, || {});
    rig.finish(stream);
    let made = counted(|| rig.launch(stream, || {}));
    let functions = ["cuEventRecord", "cuLaunchHostFunc", "cuStreamWaitValue32_v2"];
    assert_eq!(made, BTreeMap::from(functions.map(|name| (name, 1))));
}

/// Returns the number of calls that `act` makes, with the common calls.
fn calls_of(act: impl FnOnce()) -> u64 {
    let count = || NAMES.lines().map(calls).sum::<u64>();
    let before = count();
    act();
    count() - before
}

/// Calls `act` on two threads of its own, one with no current context and one with the context of device 0, after calls
/// that create what later calls reuse. Its argument is the number of calls for the context.
fn in_contexts(act: impl Fn(u64) + Sync) {
    for (is_current, of_context) in [(false, 2), (true, 1)] {
        std::thread::scope(|scope| {
            scope.spawn(|| {
                set_current(if is_current { foreign_context(0) } else { std::ptr::null_mut() });
                act(of_context);
            });
        });
    }
}

#[test]
fn stream_operation_enters_the_context_of_its_device_once() {
    let rig = Rig::of(fake_library::started());
    let (stream, memory, source) = (rig.stream(0), rig.memory(0, 64), rig.memory(0, 64));
    in_contexts(|of_context| {
        let fill = |owners: Owners| {
            let fill = Fill { address: memory.address, bytes: 64, value: 1, owners };
            // SAFETY: the memory outlives the stream's work.
            unsafe { rig.driver.fill(stream, fill) }.unwrap();
        };
        let copy = || rig.copy(stream, &memory, &source);
        let function = || rig.launch(stream, || {});
        // The first operation of each kind creates events and semaphores that later ones reuse.
        fill(Owners::until_completed(memory.clone()));
        copy();
        function();
        rig.finish(stream);
        // The query of the capture status, the work, and the event after which its owner is released.
        let counts = [
            calls_of(|| fill(Owners::default())),
            calls_of(|| fill(Owners::until_completed(memory.clone()))),
            calls_of(copy),
            calls_of(function),
        ];
        assert_eq!(counts, [2, 3, 3, 4].map(|calls| of_context + calls));
        rig.finish(stream);
    });
}

#[test]
fn copy_makes_at_most_four_calls_and_queries_the_capture_status_once() {
    const MOST_CALLS: u64 = 4;
    use_driver(fake_library::driver()).unwrap();
    let stream = Stream::dedicated(Some(device(0)), 0).unwrap();
    let [to, from] = [(); 2].map(|()| CopyOperand::Device(DeviceBuffer::on(&stream, 512).unwrap()));
    let pinned = CopyOperand::Host(PinnedMemory::new(512).unwrap().as_operand(&stream).unwrap());
    in_contexts(|of_context| {
        for (to, from) in [(&to, &from), (&to, &pinned), (&pinned, &from)] {
            for awaited in [false, true] {
                let copy = || drop(memory::copy(to, from, Some(&stream), awaited).unwrap());
                copy();
                // The query of the capture status and the copy.
                let calls = calls_of(copy);
                assert_eq!(calls, of_context + 2);
                assert!(calls <= MOST_CALLS);
            }
        }
        stream.synchronize().unwrap();
    });
}

#[test]
fn copy_that_is_awaited_is_refused_where_its_stream_is_captured() {
    use_driver(fake_library::driver()).unwrap();
    let stream = Stream::dedicated(Some(device(0)), 0).unwrap();
    let [to, from] = [(); 2].map(|()| CopyOperand::Device(DeviceBuffer::on(&stream, 512).unwrap()));
    let _current = stream.guard().unwrap();
    let graph = Graph::new(false).unwrap();
    graph.capture_begin(None, CaptureMode::Relaxed).unwrap();
    let refused = memory::copy(&to, &from, Some(&stream), true).unwrap_err().to_string();
    assert!(
        refused.starts_with("accelerator.memory.copy_") && refused.contains("`awaited` false"),
        "{refused}"
    );
    graph.capture_end().unwrap();
    assert!(graph.is_empty().unwrap());
}
