//! Tests of the host driver beyond the conformance suite: options, priorities and concurrent branches of graphs.

use crate::rig::host::{two_devices, with_faults};
use crate::rig::{Counter, Latch};
use interlock_accelerator::Error;
use interlock_driver::WaitTarget;
use interlock_host::{HostDriver, HostOptions};

#[test]
fn host_driver_rejects_more_devices_than_indices() {
    let with = |devices| HostDriver::new(HostOptions { devices, ..HostOptions::default() });
    assert!(matches!(with(129), Err(Error::Argument { .. })));
    let most = with(128).unwrap();
    assert_eq!(most.start().unwrap().default_stream(127).unwrap().device, 127);
    assert_eq!(most.device_count(), 128);
}

#[test]
fn host_driver_may_have_no_devices() {
    let driver = HostDriver::new(HostOptions { devices: 0, memory: 0, ..HostOptions::default() }).unwrap();
    assert_eq!((driver.device_count(), driver.unavailable_reason()), (0, None));
    let driver = driver.start().unwrap();
    assert_eq!(driver.device_count(), 0);
    assert!(matches!(driver.default_stream(0), Err(Error::Core(interlock_core::Error::DeviceIndex { .. }))));
    assert!(matches!(driver.allocate(0, 1), Err(Error::Core(interlock_core::Error::DeviceIndex { .. }))));
    assert!(matches!(
        driver.check(WaitTarget::Device(0)),
        Err(Error::Core(interlock_core::Error::DeviceIndex { .. }))
    ));
}

#[test]
fn host_memory_is_limited_to_the_option() {
    let (rig, faults) = with_faults(2, 1000);
    let [first, second] = [600, 400].map(|bytes| rig.memory(0, bytes));
    assert!(matches!(rig.driver.allocate(0, 1), Err(Error::OutOfMemory(oom)) if oom.requested == 1));
    assert_eq!((rig.driver.memory_info(0).unwrap().free, rig.driver.memory_info(1).unwrap().free), (0, 1000));
    drop(first);
    assert_eq!(rig.driver.memory_info(0).unwrap().free, 600);
    assert_eq!(faults.live_objects().unwrap().bytes, 400);
    drop(second);
}

#[test]
fn host_copy_engine_runs_the_greatest_priority_first() {
    let (rig, faults) = with_faults(1, 1 << 20);
    let memory = rig.memory(0, 8);
    let hold = faults.pause_copies().unwrap();
    let stream = |priority| {
        let stream = rig.driver.create_stream(0, priority).unwrap();
        rig.copy(stream, &memory, &memory);
        stream
    };
    // The first two occupy the engines; the others run in the order of their priorities.
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
fn host_copies_wait_for_an_engine_and_functions_do_not() {
    let (rig, faults) = two_devices();
    let memory = [rig.memory(0, 8), rig.memory(1, 8)];
    let hold = faults.pause_copies().unwrap();
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
    assert_eq!(rig.wait(WaitTarget::Device(0)), Ok(true));
}

#[test]
fn host_replay_runs_branches_concurrently() {
    let (rig, _) = two_devices();
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
fn host_captured_replay_keeps_its_branches() {
    let (rig, _) = two_devices();
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
    let shape = rig.driver.describe_graph(outer.unwrap()).unwrap();
    assert_eq!(shape.edges, [(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (4, 5), (4, 6)]);
    assert_eq!(shape.nodes, ["launch work"; 7]);
}

#[test]
fn host_driver_supports_a_thousand_streams() {
    let (rig, faults) = two_devices();
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
    streams.into_iter().for_each(|stream| rig.driver.destroy_stream(stream));
    assert_eq!(faults.live_objects().unwrap().streams, 0);
}

#[test]
fn host_streams_and_events_can_be_shared_by_threads() {
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
                    rig.driver.launch_host_fn(stream, counter.work()).unwrap();
                    rig.driver.record_event(events[round % 3], stream).unwrap();
                    rig.driver.wait_event(other, events[(round + 1) % 3]).unwrap();
                    if round % 20 == 0 {
                        assert_eq!(rig.wait(WaitTarget::Event(events[round % 3])), Ok(true));
                        assert_eq!(rig.wait(WaitTarget::Device(0)), Ok(true));
                    }
                }
            });
        }
    });
    assert_eq!(rig.wait(WaitTarget::Device(0)), Ok(true));
    assert_eq!((counter.get(), faults.live_objects().unwrap().commands), (800, 0));
}
