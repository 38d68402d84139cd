//! What calls of the cuda driver cost in calls of NVIDIA's: none is made that nobody asked for.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

#[path = "../../../rust/accelerator/tests/rig/mod.rs"]
mod rig;
mod stand_in;

use std::collections::BTreeMap;

use interlock_accelerator::memory::DeviceBuffer;
use interlock_accelerator::{Stream, use_driver};
use interlock_driver::{Fill, KeepAlive};
use rig::Rig;
use stand_in::{calls, device, foreign_context, set_current};

/// The functions of the stand-in, one in each line.
const NAMES: &str = include_str!("../symbols.txt");

/// What every call tells the driver of the thread, and asks of the stream.
const OF_EVERY_CALL: [&str; 4] =
    ["cuCtxGetCurrent", "cuCtxSetCurrent", "cuThreadExchangeStreamCaptureMode", "cuStreamGetCaptureInfo_v2"];

/// How often functions are called while something is done, apart from those of every call.
fn counted(act: impl FnOnce()) -> BTreeMap<&'static str, u64> {
    let count = || NAMES.lines().map(calls);
    let before: Vec<_> = count().collect();
    act();
    let rise = NAMES.lines().zip(count().zip(before)).map(|(name, (after, before))| (name, after - before));
    rise.filter(|(name, rise)| *rise > 0 && !OF_EVERY_CALL.contains(name)).collect()
}

#[test]
fn allocating_from_what_is_kept_calls_nobody_however_often() {
    use_driver(stand_in::driver()).unwrap();
    let stream = Stream::dedicated(Some(device(0)), 0).unwrap();
    drop(DeviceBuffer::on(&stream, 5000).unwrap());
    for many in [1, 1000] {
        let made = counted(|| (0..many).for_each(|_| drop(DeviceBuffer::on(&stream, 5000).unwrap())));
        assert_eq!(made, BTreeMap::new());
    }
}

#[test]
fn events_are_counted_by_work_and_not_by_memory() {
    use_driver(stand_in::driver()).unwrap();
    let stream = Stream::dedicated(Some(device(0)), 0).unwrap();
    let program = |memory: usize| {
        let kept: Vec<_> = (0..memory).map(|_| DeviceBuffer::on(&stream, 512).unwrap()).collect();
        let made = counted(|| {
            for _ in 0..10 {
                kept[0].fill(1, Some(&stream)).unwrap();
                stream.synchronize().unwrap();
            }
        });
        ["cuEventCreate", "cuEventRecord"].map(|name| made.get(name).copied().unwrap_or(0))
    };
    program(1);
    // One for each wait; a fill has nothing to keep, as its memory is freed in the order of the stream.
    assert_eq!([program(1), program(1000)], [[0, 10]; 2]);
}

#[test]
fn a_copy_costs_itself_and_one_record_of_an_event_that_is_used_again() {
    let rig = Rig { driver: stand_in::started() };
    let (stream, to, from) = (rig.stream(0), rig.memory(0, 64), rig.memory(0, 64));
    let copy = || rig.copy(stream, &to, &from);
    // The first one makes the event by which it is known when what it reaches can go.
    let first = counted(copy);
    assert_eq!(
        first,
        BTreeMap::from([("cuEventCreate", 1), ("cuEventRecord", 1), ("cuMemcpyDtoDAsync_v2", 1)])
    );
    rig.finish(stream);
    let second = counted(copy);
    assert_eq!(second, BTreeMap::from([("cuEventRecord", 1), ("cuMemcpyDtoDAsync_v2", 1)]));
    rig.finish(stream);
    // After every 32 it is asked which are over, so that no more events are needed than that.
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
fn a_stream_that_is_never_awaited_needs_no_more_events_than_it_has_work() {
    let rig = Rig { driver: stand_in::started() };
    let (stream, memory) = (rig.stream(0), rig.memory(0, 64));
    let made = counted(|| {
        for _ in 0..2000 {
            rig.fill(stream, &memory, 1);
            // The stand-in works when it is asked to; nothing here is awaited by the driver under test.
            assert_eq!(stand_in::synchronize(stream.raw), 0);
        }
    });
    assert!(made["cuEventCreate"] <= 32, "{made:?}");
    assert_eq!(made["cuEventRecord"], 2000);
}

#[test]
fn a_function_costs_a_gate_besides() {
    let rig = Rig { driver: stand_in::started() };
    let stream = rig.stream(0);
    rig.launch(stream, || {});
    rig.finish(stream);
    let made = counted(|| rig.launch(stream, || {}));
    let functions = ["cuEventRecord", "cuLaunchHostFunc", "cuStreamWaitValue32_v2"];
    assert_eq!(made, BTreeMap::from(functions.map(|name| (name, 1))));
}

/// How many functions are called while something is done, with those of every call.
fn calls_of(act: impl FnOnce()) -> u64 {
    let count = || NAMES.lines().map(calls).sum::<u64>();
    let before = count();
    act();
    count() - before
}

#[test]
fn an_operation_on_a_stream_enters_the_context_of_its_device_once() {
    let rig = Rig { driver: stand_in::started() };
    let (stream, memory, source) = (rig.stream(0), rig.memory(0, 64), rig.memory(0, 64));
    let fill = |keep_alive: Option<KeepAlive>| {
        let fill = Fill { address: memory.address, bytes: 64, value: 1, keep_alive };
        // SAFETY: the memory outlives the stream's work.
        unsafe { rig.driver.fill(stream, fill) }.unwrap();
    };
    let copy = || rig.copy(stream, &memory, &source);
    let function = || rig.launch(stream, || {});
    // The first of each creates what the others use again.
    fill(Some(memory.clone()));
    copy();
    function();
    for (context, of_context) in [(std::ptr::null_mut(), 3), (foreign_context(0), 1)] {
        rig.finish(stream);
        set_current(context);
        // The query for a capture, the work, and the event by which it is known when its owner can go.
        let counts = [
            calls_of(|| fill(None)),
            calls_of(|| fill(Some(memory.clone()))),
            calls_of(copy),
            calls_of(function),
        ];
        assert_eq!(counts, [2, 3, 3, 4].map(|calls| of_context + calls));
        assert!(counts[1] <= 6);
    }
    rig.finish(stream);
}
