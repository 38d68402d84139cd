//! Host drivers in processes that are forked while their threads are busy.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use crate::rig::{Latch, Rig};
use interlock_accelerator::Error;
use interlock_accelerator::memory::{self, PinnedMemory, PinnedStats};
use interlock_accelerator::{self as accelerator, Stream};
use interlock_driver::{Driver, EventOptions, HostFn, WaitTarget};
use interlock_host::{FaultInjector, HostDriver, HostOptions, LiveObjects};

/// Forks; returns whether `check` returns true in the child, which an alarm kills if it hangs.
fn true_in_child(check: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child only runs `check`, which does not wait for threads of the parent.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: sets a timer.
        unsafe { libc::alarm(20) };
        let answer = std::panic::catch_unwind(std::panic::AssertUnwindSafe(check)).unwrap_or(false);
        // SAFETY: exits without running handlers of the parent.
        unsafe { libc::_exit(if answer { 0 } else { 1 }) };
    }
    let mut status = 1;
    // SAFETY: waits for the child, with a local status.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    status == 0
}

/// Returns whether copies, functions, events and a graph work.
fn works(driver: Arc<dyn Driver>) -> bool {
    let rig = Rig::of(driver.start().unwrap());
    let (stream, other) = (rig.stream(0), rig.stream(1));
    let (memory, pinned) = (rig.memory(0, 8), rig.pinned(&[3; 8]));
    rig.copy(stream, &memory, &pinned);
    rig.launch(stream, || {});
    rig.join(other, stream);
    rig.finish(other);
    let graph = rig.ready(stream, || rig.fill(stream, &memory, 4));
    rig.driver.replay(graph, stream).unwrap();
    rig.read(stream, &memory) == [4; 8] && rig.wait(WaitTarget::Device(1)) == Ok(true)
}

fn options(faults: &FaultInjector) -> HostOptions {
    HostOptions { devices: 2, memory: 1 << 20, faults: faults.clone() }
}

#[test]
fn forked_child_has_its_own_driver_while_the_parent_is_busy() {
    let faults = FaultInjector::new();
    let driver = HostDriver::new(options(&faults)).unwrap();
    let rig = Rig::of(driver.start().unwrap());
    let (stream, blocked) = (rig.stream(0), rig.stream(0));
    let latch = rig.block(blocked);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        // The lock of the parent's driver is held most of the time.
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                rig.launch(stream, || {});
                faults.live_objects().unwrap();
            }
        });
        for _ in 0..20 {
            assert!(true_in_child(|| {
                let fresh = driver.driver_for_child().unwrap();
                // Concurrent calls return the same driver.
                assert!(Arc::ptr_eq(&fresh, &driver.driver_for_child().unwrap()));
                let started = fresh.start().unwrap();
                let nothing = faults.live_objects() == Ok(LiveObjects::default());
                let same = fresh.device_count() == 2 && started.memory_info(1).unwrap().total == 1 << 20;
                let lost = faults.lose_device(1, "in the child").is_ok() && started.memory_info(1).is_err();
                drop((fresh, started));
                nothing && same && lost && works(driver.driver_for_child().unwrap())
            }));
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(rig.driver.memory_info(1).is_ok() && !rig.is_done(blocked));
    latch.open();
    assert_eq!(rig.wait(WaitTarget::Device(0)), Ok(true));
}

#[test]
fn unstarted_driver_works_in_the_parent_and_the_child() {
    let driver = HostDriver::new(options(&FaultInjector::new())).unwrap();
    assert!(true_in_child(|| works(driver.clone())));
    assert!(works(driver));
}

#[test]
fn forked_child_can_drop_inherited_objects() {
    let faults = FaultInjector::new();
    let rig = Rig::of(HostDriver::new(options(&faults)).unwrap().start().unwrap());
    let stream = rig.stream(0);
    let (latch, hold) = (rig.block(stream), faults.pause_copies().unwrap());
    // Dropped twice: by the child, which ignores the work of its parent, and by the parent.
    let mut inherited = Some((rig, hold, faults));
    assert!(true_in_child(|| {
        drop(inherited.take());
        true
    }));
    let (rig, ..) = inherited.unwrap();
    latch.open();
    rig.finish(stream);
}

#[test]
fn child_forked_by_queued_work_exits() {
    let driver = HostDriver::new(options(&FaultInjector::new())).unwrap();
    let rig = Rig::of(driver.start().unwrap());
    let (stream, answered) = (rig.stream(0), Latch::default());
    let (driver, open) = (Arc::downgrade(&driver), answered.clone());
    let work = HostFn::new("fork", move || {
        let driver = driver.upgrade().ok_or("the driver is gone")?;
        let forked = true_in_child(|| works(driver.driver_for_child().unwrap()));
        open.open();
        forked.then_some(()).ok_or("the child failed".into())
    });
    rig.driver.launch_host_fn(stream, work).unwrap();
    answered.wait();
    rig.finish(stream);
}

#[test]
fn forked_child_starts_its_own_driver_and_rejects_inherited_handles() {
    accelerator::use_driver(HostDriver::new(options(&FaultInjector::new())).unwrap()).unwrap();
    // Selected and not used yet.
    assert!(true_in_child(|| Stream::new(None, 0).unwrap().synchronize().is_ok()));
    let inherited = Stream::dedicated(None, 0).unwrap();
    let event = accelerator::Event::new(None, EventOptions::default()).unwrap();
    event.record(&inherited).unwrap();
    assert!(true_in_child(|| {
        let own = Stream::new(None, 0).unwrap();
        own.launch(HostFn::new("greet", || Ok(()))).unwrap();
        own.synchronize().unwrap();
        let forked = [inherited.synchronize(), event.synchronize(), event.record(&own)];
        drop(inherited.clone());
        forked.iter().all(|result| matches!(result, Err(Error::Forked { .. })))
            && accelerator::synchronize(None).is_ok()
    }));
    inherited.synchronize().unwrap();
    check_pinned_memory_of_the_parent(&inherited);
}

fn check_pinned_memory_of_the_parent(stream: &Stream) {
    let stop = AtomicBool::new(false);
    let mut inherited = Some(PinnedMemory::new(100).unwrap());
    thread::scope(|scope| {
        // The lock of the parent's cache is held most of the time.
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                drop(PinnedMemory::new(64).unwrap());
            }
        });
        for _ in 0..20 {
            assert!(true_in_child(|| {
                let memory = inherited.take().unwrap();
                memory::empty_host_cache();
                let nothing = memory::host_memory_stats() == PinnedStats::default();
                let unknown = !PinnedMemory::is_pinned(memory.pointer().as_ptr());
                let refused = matches!(memory.prepare_use(stream), Err(Error::Forked { .. }));
                drop(memory);
                let own = PinnedMemory::new(100).unwrap();
                let counted = memory::host_memory_stats().active_bytes.current == 128;
                nothing && unknown && refused && counted && PinnedMemory::is_pinned(own.pointer().as_ptr())
            }));
        }
        stop.store(true, Ordering::Relaxed);
    });
    let memory = inherited.unwrap();
    assert!(PinnedMemory::is_pinned(memory.pointer().as_ptr()) && memory.prepare_use(stream).is_ok());
}
