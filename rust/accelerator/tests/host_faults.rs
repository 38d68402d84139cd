//! Tests of fault injection into the host driver.

use std::sync::Arc;
use std::thread;

use crate::rig::host::{two_devices, with_faults};
use crate::rig::{Counter, Latch, failure};
use interlock_accelerator::Error;
use interlock_driver::{Address, CaptureMode, EventOptions, HostFn, SyncPoint, WaitPolicy, WaitTarget};
use interlock_host::{FaultInjector, HostDriver, HostOptions};

fn is_lost<T: std::fmt::Debug>(result: interlock_accelerator::Result<T>) -> bool {
    match result {
        Err(Error::DeviceLost { device, reason, .. }) => {
            assert_eq!((device.to_string(), &*reason), ("host:1".into(), "unplugged"));
            true
        }
        _ => false,
    }
}

fn is_in_use<T>(result: interlock_accelerator::Result<T>) -> bool {
    matches!(result, Err(Error::Argument { name, .. }) if name.ends_with("faults"))
}

#[test]
fn faults_belong_to_one_started_driver_at_a_time() {
    let faults = FaultInjector::new();
    assert!(matches!(faults.fail_next_copy("none"), Err(Error::NoAccelerator { .. })));
    let options = HostOptions { faults: faults.clone(), ..HostOptions::default() };
    let driver = HostDriver::new(options.clone()).unwrap();
    driver.start().unwrap();
    assert!(is_in_use(HostDriver::new(options.clone())));
    assert_eq!((faults.fail_next_copy("some"), driver.start().map(drop)), (Ok(()), Ok(())));
    drop(driver);
    assert!(HostDriver::new(options).is_ok());
}

#[test]
fn faults_apply_to_the_last_created_driver_until_one_is_started() {
    let faults = FaultInjector::new();
    let options = |devices| HostOptions { devices, faults: faults.clone(), ..HostOptions::default() };
    let [first, second, third] = [1, 2, 3].map(|devices| HostDriver::new(options(devices)).unwrap());
    assert!(matches!(faults.lose_device(3, "unplugged"), Err(Error::DeviceUnavailable { .. })));
    drop(third);
    assert!(matches!(faults.live_objects(), Err(Error::NoAccelerator { .. })));
    let started = second.start().unwrap();
    faults.lose_device(1, "unplugged").unwrap();
    assert!(is_lost(started.memory_info(1)));
    drop(started);
    assert!(is_in_use(first.start()) && is_in_use(HostDriver::new(options(1))));
    drop(second);
    let started = first.start().unwrap();
    assert!(started.memory_info(0).is_ok());
    assert!(faults.lose_device(0, "unplugged").is_ok() && started.memory_info(0).is_err());
}

#[test]
fn fail_allocation_fails_the_numbered_allocation() {
    let (rig, faults) = two_devices();
    assert!(matches!(faults.fail_allocation(0), Err(Error::Argument { .. })));
    faults.fail_allocation(3).unwrap();
    let failed: Vec<_> =
        (1..6).filter(|_| !matches!(rig.driver.allocate(1, 8), Ok(address) if address.0 != 0)).collect();
    assert_eq!(failed, [3]);
    faults.fail_allocation(1).unwrap();
    faults.clear().unwrap();
    assert!(rig.driver.allocate(0, 8).is_ok());
}

#[test]
fn fail_pinned_allocation_fails_the_numbered_allocation() {
    let (rig, faults) = two_devices();
    assert!(matches!(faults.fail_pinned_allocation(0), Err(Error::Argument { .. })));
    faults.fail_pinned_allocation(2).unwrap();
    let _device = [rig.memory(0, 8), rig.memory(1, 8)];
    let failed = [(); 4].map(|()| matches!(rig.driver.allocate_pinned(0, 8), Err(Error::OutOfMemory(_))));
    assert_eq!(failed, [false, true, false, false]);
    assert_eq!(faults.live_objects().unwrap().pinned_bytes, 24);
    faults.fail_pinned_allocation(1).unwrap();
    faults.clear().unwrap();
    assert!(rig.driver.allocate_pinned(0, 8).is_ok());
}

const UNIT: usize = 2 << 20;

#[test]
fn fail_allocation_counts_maps() {
    let (rig, faults) = with_faults(2, 8 << 20);
    let driver = &rig.driver;
    let address = driver.reserve_addresses(1, 2 * UNIT).unwrap();
    faults.fail_allocation(1).unwrap();
    assert!(matches!(driver.map(1, address, UNIT), Err(Error::OutOfMemory(_))));
    assert_eq!(faults.live_objects().unwrap().bytes, 0);
    driver.map(1, address, UNIT).unwrap();
    assert_eq!(faults.live_objects().unwrap().bytes, UNIT as u64);
    // SAFETY: no work uses the addresses.
    unsafe { driver.unmap(1, address, UNIT).and(driver.free_addresses(1, address, 2 * UNIT)) }.unwrap();
    assert_eq!(faults.live_objects().unwrap().bytes, 0);
}

#[test]
fn lost_device_releases_its_addresses() {
    let (rig, faults) = with_faults(2, 8 << 20);
    let driver = &rig.driver;
    let address = driver.reserve_addresses(1, 2 * UNIT).unwrap();
    driver.map(1, address, UNIT).unwrap();
    faults.lose_device(1, "unplugged").unwrap();
    assert!(is_lost(driver.mapping_granularity(1)) && is_lost(driver.reserve_addresses(1, UNIT)));
    assert!(is_lost(driver.map(1, Address(address.0 + UNIT as u64), UNIT)));
    // SAFETY: no work uses the addresses.
    let (memory, addresses) =
        unsafe { (driver.unmap(1, address, UNIT), driver.free_addresses(1, address, 2 * UNIT)) };
    assert!(is_lost(memory) && is_lost(addresses));
    assert_eq!(faults.live_objects().unwrap().bytes, 0);
    // SAFETY: released addresses are rejected.
    let again = unsafe { driver.free_addresses(1, address, 2 * UNIT) };
    assert!(matches!(again, Err(Error::Argument { .. })));
}

#[test]
fn failing_work_does_not_run_and_reports_asynchronously() {
    let (rig, faults) = two_devices();
    let (stream, counter) = (rig.stream(0), Counter::default());
    let memory = [rig.memory(0, 4), rig.memory(1, 4)];
    rig.fill(stream, &memory[0], 1);
    rig.fill(stream, &memory[1], 2);
    faults.fail_next_launch("no cores").unwrap();
    faults.fail_next_copy("bus error").unwrap();
    faults.fail_next_fill("bad cell").unwrap();

    let raised = counter.clone();
    rig.launch(stream, move || raised.increment());
    assert_eq!(failure(rig.wait(WaitTarget::Stream(stream))), ("work".into(), "no cores".into()));
    rig.fill(stream, &memory[0], 9);
    assert_eq!(failure(rig.wait(WaitTarget::Stream(stream))), ("fill on host:0".into(), "bad cell".into()));
    rig.copy(stream, &memory[1], &memory[0]);
    let (operation, reason) = failure(rig.wait(WaitTarget::Stream(stream)));
    assert_eq!((&*operation, &*reason), ("copy from host:0 to host:1", "bus error"));

    assert_eq!(counter.get(), 0);
    assert_eq!([rig.read(stream, &memory[0]), rig.read(stream, &memory[1])], [[1; 4], [2; 4]]);
}

#[test]
fn failing_work_of_a_graph_fails_in_the_replay() {
    let (rig, faults) = two_devices();
    let stream = rig.stream(0);
    faults.fail_next_launch("no cores").unwrap();
    let graph = rig.ready(stream, || rig.launch(stream, || {}));
    rig.finish(stream);
    rig.driver.replay(graph, stream).unwrap();
    assert_eq!(failure(rig.wait(WaitTarget::Stream(stream))).1, "no cores");
    rig.driver.replay(graph, stream).unwrap();
    rig.finish(stream);
}

#[test]
fn error_of_a_destroyed_stream_is_reported_by_its_device() {
    let (rig, _) = two_devices();
    for name in ["first", "second"] {
        let (stream, other) = (rig.stream(0), rig.stream(1));
        rig.fail(stream, name, "it broke");
        rig.join(other, stream);
        rig.driver.destroy_stream(stream);
        rig.finish(other);
    }
    assert_eq!(rig.wait(WaitTarget::Device(1)), Ok(true));
    assert_eq!(failure(rig.driver.check(WaitTarget::Device(0))).0, "first");
    assert_eq!(failure(rig.wait(WaitTarget::Device(0))).0, "second");
    assert_eq!(rig.wait(WaitTarget::Device(0)), Ok(true));
}

#[test]
fn paused_copies_do_not_run() {
    let (rig, faults) = two_devices();
    let (stream, memory) = (rig.stream(0), rig.memory(0, 4));
    rig.fill(stream, &memory, 1);
    let first = faults.pause_copies().unwrap();
    let second = faults.pause_copies().unwrap();
    let copy = rig.pinned(&[0; 4]);
    rig.copy(stream, &copy, &memory);
    drop(first);
    assert!(!rig.is_done(stream));
    drop(second);
    rig.finish(stream);
    assert_eq!(copy.content(), [1; 4]);
}

#[test]
fn lost_device_fails_every_call() {
    let (rig, faults) = two_devices();
    let (driver, stream) = (&rig.driver, rig.stream(1));
    let (event, memory) = (rig.record(stream), driver.allocate(1, 8).unwrap());
    assert!(matches!(faults.lose_device(2, "unplugged"), Err(Error::DeviceUnavailable { .. })));
    faults.lose_device(1, "unplugged").unwrap();
    faults.lose_device(1, "again").unwrap();
    assert!(is_lost(driver.launch_host_fn(stream, HostFn::new("nothing", || Ok(())))));
    assert!(is_lost(driver.record_event(event, stream)) && is_lost(driver.wait_event(stream, event)));
    assert!(is_lost(driver.wait_event(rig.stream(0), event)) && is_lost(driver.elapsed(event, event)));
    for target in [WaitTarget::Stream(stream), WaitTarget::Event(event), WaitTarget::Device(1)] {
        assert!(is_lost(driver.check(target)) && is_lost(rig.wait(target)));
        assert!(is_lost(driver.sync_point(target)));
        for asleep in [false, true] {
            let policy = WaitPolicy { timeout: std::time::Duration::MAX, blocking: asleep };
            assert!(is_lost(driver.wait(&SyncPoint::new(target, Vec::new()), policy)));
        }
    }
    assert!(is_lost(driver.properties(1)) && is_lost(driver.memory_info(1)));
    assert!(is_lost(driver.allocate(1, 8)) && is_lost(driver.priority_range(1)));
    // SAFETY: no work uses the memory.
    assert!(is_lost(unsafe { driver.free(1, memory, 8) }));
    assert_eq!(faults.live_objects().unwrap().bytes, 0);
    assert!(is_lost(driver.default_stream(1)) && is_lost(driver.create_stream(1, 0)));
    // SAFETY: the stream lives as long as the driver.
    assert!(is_lost(unsafe { driver.wrap_external_stream(1, stream.raw) }));
    assert!(is_lost(driver.create_event(1, EventOptions::default())));
    assert!(is_lost(driver.begin_capture(stream, CaptureMode::Global)));
    assert!(is_lost(driver.capture_id(stream)) && is_lost(driver.end_capture(stream)));
    driver.destroy_event(event);
    driver.destroy_stream(stream);
    assert_eq!((driver.device_count(), rig.wait(WaitTarget::Device(0))), (2, Ok(true)));
}

#[test]
fn lost_device_wakes_waiting_threads() {
    let (rig, faults) = two_devices();
    let stream = rig.stream(1);
    let latch = rig.block(stream);
    let behind = rig.record(stream);
    thread::scope(|scope| {
        let waiting =
            [WaitTarget::Stream(stream), WaitTarget::Event(behind), WaitTarget::Device(1)].map(|target| {
                let rig = &rig;
                scope.spawn(move || rig.wait(target))
            });
        // A thread that does not wait yet finds the device lost; the race covers both cases.
        thread::yield_now();
        faults.lose_device(1, "unplugged").unwrap();
        assert!(waiting.into_iter().all(|waiting| is_lost(waiting.join().unwrap())));
    });
    latch.open();
}

#[test]
fn lost_device_drops_queued_work_without_running_it() {
    let (rig, faults) = two_devices();
    let (stream, other, counter) = (rig.stream(1), rig.stream(0), Counter::default());
    let hold = faults.pause_copies().unwrap();
    let memory = rig.pinned(&[0; 4]);
    rig.copy(stream, &memory, &memory);
    let raised = counter.clone();
    rig.launch(stream, move || raised.increment());
    rig.join(other, stream);
    assert!(Arc::strong_count(&memory) > 1 && !rig.is_done(other));
    faults.lose_device(1, "unplugged").unwrap();
    // Streams of other devices continue.
    rig.finish(other);
    assert_eq!((counter.get(), Arc::strong_count(&memory)), (0, 1));
    drop(hold);
    assert_eq!(faults.live_objects().unwrap().commands, 0);
}

#[test]
fn copy_from_a_lost_device_fails_asynchronously() {
    let (rig, faults) = two_devices();
    let stream = rig.stream(0);
    let [here, there] = [rig.pinned(&[0; 4]), rig.pinned(&[1; 4])];
    let far = rig.driver.allocate(1, 4).unwrap();
    let copy = interlock_driver::Copy {
        to: here.endpoint(),
        from: interlock_driver::CopyEndpoint::Device(1, far),
        bytes: 4,
        owners: interlock_driver::Owners::until_completed(there),
    };
    let latch = rig.block(stream);
    // SAFETY: the memory is never freed.
    unsafe { rig.driver.copy(stream, copy.clone()) }.unwrap();
    let graph = rig.ready(rig.stream(0), || {});
    faults.lose_device(1, "unplugged").unwrap();
    // SAFETY: the memory is never freed.
    assert!(is_lost(unsafe { rig.driver.copy(stream, copy) }));
    latch.open();
    assert!(is_lost(rig.wait(WaitTarget::Stream(stream))));
    rig.driver.replay(graph, stream).unwrap();
    rig.finish(stream);
    assert_eq!(here.content(), [0; 4]);
}

#[test]
fn lost_device_fails_replays_and_ends_captures() {
    let (rig, faults) = two_devices();
    let (here, there) = (rig.stream(0), rig.stream(1));
    let gate = Latch::default();
    let wait = gate.clone();
    let graph = rig.ready(here, || {
        rig.launch(here, move || wait.wait());
        rig.join(there, here);
        rig.launch(there, || {});
        rig.join(here, there);
    });
    rig.driver.replay(graph, here).unwrap();
    rig.driver.begin_capture(there, CaptureMode::Global).unwrap();
    faults.lose_device(1, "unplugged").unwrap();
    gate.open();
    // The branch on the lost device fails, which the stream of the replay reports.
    assert!(is_lost(rig.wait(WaitTarget::Stream(here))));
    assert!(is_lost(rig.driver.replay(graph, here)));
    assert!(is_lost(rig.driver.end_capture(there)));
    assert_eq!(faults.live_objects().unwrap().captures, 0);
    assert_eq!(rig.wait(WaitTarget::Device(0)), Ok(true));
}
