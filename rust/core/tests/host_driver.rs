//! What the host driver does besides: wrong handles are errors, priorities act, graphs run side by side, and
//! nothing is left behind.

#![cfg(not(loom))]
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod rig;

use std::sync::Arc;

use interlock::Error;
use interlock::accelerator::driver::{
    Address, Awaited, CaptureMode, Driver, EventHandle, EventOptions, ExecutableHandle, Fill, GraphHandle,
    PriorityRange, StreamHandle, Work,
};
use interlock::accelerator::host::{Faults, HostDriver, HostOptions, LiveObjects};
use rig::{Counter, Latch, Rig};

fn with_faults(devices: u32, memory: u64) -> (Rig, Faults) {
    let faults = Faults::new();
    let driver = HostDriver::new(HostOptions { devices, memory, faults: faults.clone() }).unwrap();
    (Rig { driver }, faults)
}

fn two_devices() -> Rig {
    with_faults(2, 1 << 20).0
}

#[test]
fn more_devices_than_there_are_indices_are_refused() {
    let with = |devices| HostDriver::new(HostOptions { devices, ..HostOptions::default() });
    assert!(matches!(with(129), Err(Error::Argument { .. })));
    let most = with(128).unwrap();
    assert_eq!(most.default_stream(127).unwrap().device, 127);
    assert_eq!(most.device_count(), 128);
}

#[test]
fn a_driver_may_have_no_devices() {
    let driver = with_faults(0, 0).0.driver;
    assert_eq!((driver.device_count(), driver.unavailable()), (0, None));
    assert!(matches!(driver.default_stream(0), Err(Error::DeviceIndex { .. })));
    assert!(matches!(driver.allocate(0, 1), Err(Error::DeviceIndex { .. })));
    assert!(matches!(driver.is_done(Awaited::Device(0)), Err(Error::DeviceIndex { .. })));
}

fn is_unknown<T>(result: interlock::Result<T>) -> bool {
    matches!(result, Err(Error::Argument { .. }))
}

#[test]
fn streams_that_are_not_there_are_errors() {
    let rig = two_devices();
    let driver = &rig.driver;
    let released = rig.stream(0);
    driver.release_stream(released);
    let elsewhere = StreamHandle { device: 1, ..rig.stream(0) };
    let never = StreamHandle { device: 0, native: 1 << 40 };
    let beyond = StreamHandle { device: 200, native: 1 };
    let event = driver.create_event(0, EventOptions::default()).unwrap();
    for stream in [released, elsewhere, never, beyond, StreamHandle { device: 0, native: 0 }] {
        assert!(is_unknown(driver.launch(stream, Work::new("nothing", || Ok(())))));
        assert!(is_unknown(driver.record_event(event, stream)));
        assert!(is_unknown(driver.wait_event(stream, event)));
        assert!(is_unknown(driver.is_done(Awaited::Stream(stream))));
        assert!(is_unknown(driver.begin_capture(stream, CaptureMode::Global)));
        assert!(is_unknown(driver.is_capturing(stream)));
        assert!(is_unknown(driver.end_capture(stream)));
        assert!(is_unknown(driver.adopt_stream(stream.device, stream.native)) || stream == beyond);
        driver.release_stream(stream);
    }
    assert!(is_unknown(driver.record_event(event, rig.stream(1))));
    assert!(is_unknown(driver.create_stream(0, 1)) && is_unknown(driver.create_stream(0, -4)));
    assert_eq!(driver.priority_range(0), Ok(PriorityRange { least: 0, greatest: -3 }));
    driver.release_stream(driver.default_stream(0).unwrap());
    rig.finish(driver.default_stream(0).unwrap());
}

#[test]
fn events_and_graphs_that_are_not_there_are_errors() {
    let rig = two_devices();
    let (driver, stream) = (&rig.driver, rig.stream(0));
    let released = rig.record(stream);
    driver.release_event(released);
    for event in [released, EventHandle { device: 1, ..rig.record(stream) }] {
        assert!(is_unknown(driver.record_event(event, stream)));
        assert!(is_unknown(driver.wait_event(stream, event)));
        assert!(is_unknown(driver.is_done(Awaited::Event(event))));
        assert!(is_unknown(driver.elapsed(event, event)));
        driver.release_event(event);
    }
    assert!(is_unknown(driver.instantiate(GraphHandle(7))) && is_unknown(driver.shape(GraphHandle(7))));
    assert!(is_unknown(driver.replay(ExecutableHandle(7), stream)));
    driver.release_graph(GraphHandle(7));
    driver.release_executable(ExecutableHandle(7));
}

#[test]
fn addresses_that_are_not_there_are_errors() {
    let rig = two_devices();
    let address = rig.driver.allocate(0, 100).unwrap();
    // SAFETY: the only call that gives memory back is that which nobody uses any more.
    unsafe {
        assert!(is_unknown(rig.driver.release(0, Address(address.0 + 512), 100)));
        assert!(is_unknown(rig.driver.release(0, address, 99)));
        assert!(is_unknown(rig.driver.release(1, address, 100)));
        assert!(is_unknown(rig.driver.release_pinned(address, 100)));
        assert_eq!(rig.driver.release(0, address, 100), Ok(()));
        assert!(is_unknown(rig.driver.release(0, address, 100)));
    }
}

#[test]
fn memory_ends_exactly_where_it_was_said_to() {
    let (rig, faults) = with_faults(2, 1000);
    let [first, second] = [600, 400].map(|bytes| rig.memory(0, bytes));
    assert!(matches!(rig.driver.allocate(0, 1), Err(Error::OutOfMemory { requested: 1, .. })));
    assert_eq!((rig.driver.memory_info(0).unwrap().free, rig.driver.memory_info(1).unwrap().free), (0, 1000));
    drop(first);
    assert_eq!(rig.driver.memory_info(0).unwrap().free, 600);
    assert_eq!(faults.live_objects().unwrap().bytes, 400);
    drop(second);
}

#[test]
fn a_free_engine_goes_to_the_waiting_copy_of_the_greatest_priority() {
    let (rig, faults) = with_faults(1, 1 << 20);
    let memory = rig.memory(0, 8);
    let hold = faults.hold_copies().unwrap();
    let stream = |priority| {
        let stream = rig.driver.create_stream(0, priority).unwrap();
        rig.copy(stream, &memory, &memory);
        stream
    };
    // The first two have the engines; the order of the others is that of their priorities.
    let [first, second, low, high, middle] = [0, 0, 0, -3, -1].map(stream);
    let mut left = vec![first, second, high, middle, low];
    while !left.is_empty() {
        assert!(left.iter().all(|stream| !rig.is_done(*stream)));
        assert!(hold.step());
        rig.finish(left.remove(0));
    }
    assert!(!hold.step());
}

#[test]
fn data_waits_for_an_engine_and_functions_do_not() {
    let (rig, faults) = with_faults(2, 1 << 20);
    let memory = [rig.memory(0, 8), rig.memory(1, 8)];
    let hold = faults.hold_copies().unwrap();
    let copying = [0, 0].map(|_| rig.stream(0));
    copying.iter().for_each(|stream| rig.copy(*stream, &memory[0], &memory[0]));
    let (filling, elsewhere, running) = (rig.stream(0), rig.stream(1), rig.stream(0));
    rig.fill(filling, &memory[0], 1);
    rig.fill(elsewhere, &memory[1], 1);
    rig.launch(running, || {});
    rig.finish(elsewhere);
    rig.finish(running);
    assert!([copying[0], copying[1], filling].iter().all(|stream| !rig.is_done(*stream)));
    hold.release();
    assert_eq!(rig.wait(Awaited::Device(0)), Ok(true));
}

#[test]
fn branches_of_a_replay_run_at_the_same_time() {
    let rig = two_devices();
    let (origin, forked, stream) = (rig.stream(0), rig.stream(1), rig.stream(0));
    let [here, there] = [Latch::default(), Latch::default()];
    let graph = rig.ready(origin, || {
        let (open, wait) = (here.clone(), there.clone());
        rig.join(forked, origin);
        rig.launch(origin, move || {
            open.open();
            wait.wait();
        });
        let (open, wait) = (there.clone(), here.clone());
        rig.launch(forked, move || {
            open.open();
            wait.wait();
        });
        rig.join(origin, forked);
    });
    rig.driver.replay(graph, stream).unwrap();
    rig.finish(stream);
}

#[test]
fn a_captured_replay_keeps_its_branches() {
    let rig = two_devices();
    let (origin, forked) = (rig.stream(0), rig.stream(0));
    let inner = rig.ready(origin, || {
        rig.launch(origin, || {});
        rig.join(forked, origin);
        [origin, forked].iter().for_each(|stream| rig.launch(*stream, || {}));
        rig.join(origin, forked);
    });
    let outer = rig.capture(origin, || {
        rig.driver.replay(inner, origin).unwrap();
        rig.launch(origin, || {});
        rig.driver.replay(inner, origin).unwrap();
    });
    let shape = rig.driver.shape(outer.unwrap()).unwrap();
    assert_eq!(shape.edges, [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (4, 5), (4, 6)]);
    assert_eq!(shape.nodes, ["launch work"; 7]);
}

#[test]
fn a_thousand_streams_work() {
    let (rig, faults) = with_faults(2, 1 << 20);
    let streams: Vec<_> = (0..1000).map(|number| rig.stream(number as u8 % 2)).collect();
    let latch = rig.block(streams[0]);
    for pair in streams.windows(2) {
        rig.join(pair[1], pair[0]);
        rig.launch(pair[1], || {});
    }
    assert!(!rig.is_done(streams[999]));
    latch.open();
    rig.finish(streams[999]);
    assert_eq!(faults.live_objects().unwrap().commands, 0);
    streams.into_iter().for_each(|stream| rig.driver.release_stream(stream));
    assert_eq!(faults.live_objects().unwrap().streams, 0);
}

#[test]
fn what_was_released_is_gone() {
    let (rig, faults) = with_faults(2, 1 << 20);
    {
        let (stream, forked) = (rig.stream(0), rig.stream(1));
        let memory = rig.memory(0, 100);
        let pinned = rig.pinned(&[1; 50]);
        let event = rig.record(stream);
        let graph = rig.capture(stream, || {
            let events = [rig.record(stream), rig.record(forked)];
            rig.driver.wait_event(forked, events[0]).unwrap();
            rig.copy(stream, &memory, &pinned);
            rig.launch(forked, || {});
            rig.driver.record_event(events[1], forked).unwrap();
            rig.driver.wait_event(stream, events[1]).unwrap();
            events.iter().for_each(|event| rig.driver.release_event(*event));
        });
        let graph = graph.unwrap();
        let executable = rig.driver.instantiate(graph).unwrap();
        rig.driver.replay(executable, stream).unwrap();
        rig.finish(stream);
        let there = faults.live_objects().unwrap();
        assert_eq!((there.streams, there.events, there.graphs, there.executables), (2, 1, 1, 1));
        assert_eq!((there.lanes, there.bytes, there.pinned_bytes), (1, 100, 50));
        rig.driver.release_graph(graph);
        rig.driver.release_executable(executable);
        rig.driver.release_event(event);
        [stream, forked].iter().for_each(|stream| rig.driver.release_stream(*stream));
    }
    assert_eq!(faults.live_objects().unwrap(), LiveObjects::default());
}

#[test]
fn a_stream_that_goes_while_it_captures_takes_the_capture_along() {
    let (rig, faults) = with_faults(1, 1 << 20);
    let (origin, forked) = (rig.stream(0), rig.stream(0));
    let memory = rig.memory(0, 8);
    rig.driver.begin_capture(origin, CaptureMode::Global).unwrap();
    rig.copy(origin, &memory, &memory);
    rig.join(forked, origin);
    rig.driver.release_stream(origin);
    assert_eq!(faults.live_objects().unwrap().captures, 0);
    assert_eq!(Arc::strong_count(&memory), 1);
    rig.finish(forked);
}

/// Calls its driver when it is dropped, and then panics.
struct Troublemaker(std::sync::Weak<dyn Driver>, Counter);

impl Drop for Troublemaker {
    fn drop(&mut self) {
        if let Some(driver) = self.0.upgrade() {
            driver.memory_info(0).unwrap();
            driver.release_stream(driver.create_stream(0, 0).unwrap());
        }
        self.1.raise();
        panic!("dropped");
    }
}

#[test]
fn what_work_keeps_may_call_the_driver_and_panic_when_it_goes() {
    let (rig, faults) = with_faults(2, 1 << 20);
    let (stream, counter) = (rig.stream(0), Counter::default());
    let memory = rig.memory(0, 4);
    let fill = |stream| {
        let keep = Arc::new((memory.clone(), Troublemaker(Arc::downgrade(&rig.driver), counter.clone())));
        let fill = Fill { address: memory.address, bytes: 4, value: 1, keep };
        // SAFETY: the keeper owns the memory.
        unsafe { rig.driver.fill(stream, fill) }
    };
    // Where it ran, where it failed, where it was refused, where a capture broke, and where a graph goes.
    fill(stream).unwrap();
    rig.finish(stream);
    faults.fail_next_fill("bad cell").unwrap();
    fill(stream).unwrap();
    assert!(rig.wait(Awaited::Stream(stream)).is_err());
    let refused = std::panic::AssertUnwindSafe(|| fill(StreamHandle { device: 0, native: 0 }));
    assert!(std::panic::catch_unwind(refused).is_err(), "the caller's own drop panics");
    let broken = rig.capture(stream, || {
        fill(stream).unwrap();
        rig.driver.is_done(Awaited::Stream(stream)).unwrap_err();
        fill(stream).unwrap_err();
    });
    assert!(broken.is_err());
    rig.driver.release_graph(rig.capture(stream, || fill(stream).unwrap()).unwrap());
    assert_eq!(counter.get(), 6);
    rig.launch(stream, || {});
    rig.finish(stream);
}

#[test]
fn threads_may_share_streams_and_events() {
    let (rig, faults) = with_faults(1, 1 << 20);
    let streams: Vec<_> = (0..3).map(|_| rig.stream(0)).collect();
    let events: Vec<_> = streams.iter().map(|stream| rig.record(*stream)).collect();
    let counter = Counter::default();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (rig, streams, events, counter) = (&rig, &streams, &events, &counter);
            scope.spawn(move || {
                for round in 0..200 {
                    let [stream, other] = [streams[(thread + round) % 3], streams[(thread * round) % 3]];
                    rig.driver.launch(stream, counter.work()).unwrap();
                    rig.driver.record_event(events[round % 3], stream).unwrap();
                    rig.driver.wait_event(other, events[(round + 1) % 3]).unwrap();
                    if round % 20 == 0 {
                        assert_eq!(rig.wait(Awaited::Event(events[round % 3])), Ok(true));
                        assert_eq!(rig.wait(Awaited::Device(0)), Ok(true));
                    }
                }
            });
        }
    });
    assert_eq!(rig.wait(Awaited::Device(0)), Ok(true));
    assert_eq!((counter.get(), faults.live_objects().unwrap().commands), (800, 0));
}

#[test]
fn what_is_queued_still_runs_when_the_driver_goes() {
    let rig = two_devices();
    let stream = rig.stream(0);
    let (latch, ran) = (rig.block(stream), Latch::default());
    let open = ran.clone();
    rig.launch(stream, move || open.open());
    drop(rig);
    latch.open();
    ran.wait();
}

#[test]
fn the_last_handle_of_a_driver_may_be_dropped_by_its_own_work() {
    let rig = two_devices();
    let stream = rig.stream(0);
    let (begun, gone) = (Latch::default(), Latch::default());
    struct OpensWhenDropped(Latch);
    impl Drop for OpensWhenDropped {
        fn drop(&mut self) {
            self.0.open();
        }
    }
    let last: (Arc<dyn Driver>, _) = (rig.driver.clone(), OpensWhenDropped(gone.clone()));
    let wait = begun.clone();
    let work = Work::new("owner", move || {
        let _ = &last;
        wait.wait();
        Ok(())
    });
    rig.driver.launch(stream, work).unwrap();
    drop(rig);
    begun.open();
    gone.wait();
}
