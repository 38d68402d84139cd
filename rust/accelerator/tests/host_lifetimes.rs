//! Tests that the host driver releases its objects at the right time, even if their drops call it or panic.

use std::sync::Arc;

use crate::rig::host::{two_devices, with_faults};
use crate::rig::{Counter, Latch};
use interlock_driver::{CaptureMode, DriverRuntime, Fill, HostFn, Owners, StreamHandle, WaitTarget};
use interlock_host::LiveObjects;

#[test]
fn host_objects_are_gone_after_their_release() {
    let (rig, faults) = two_devices();
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
            events.iter().for_each(|event| rig.driver.destroy_event(*event));
        });
        let graph = graph.unwrap();
        let executable = rig.driver.instantiate(graph).unwrap();
        rig.driver.replay(executable, stream).unwrap();
        rig.finish(stream);
        let there = faults.live_objects().unwrap();
        assert_eq!((there.streams, there.events, there.graphs, there.executables), (2, 1, 1, 1));
        assert_eq!((there.replay_streams, there.bytes, there.pinned_bytes), (1, 100, 50));
        rig.driver.destroy_graph(graph);
        rig.driver.destroy_graph_exec(executable);
        rig.driver.destroy_event(event);
        [stream, forked].iter().for_each(|stream| rig.driver.destroy_stream(*stream));
    }
    assert_eq!(faults.live_objects().unwrap(), LiveObjects::default());
}

#[test]
fn destroying_a_capturing_stream_ends_the_capture() {
    let (rig, faults) = with_faults(1, 1 << 20);
    let (origin, forked) = (rig.stream(0), rig.stream(0));
    let memory = rig.memory(0, 8);
    rig.driver.begin_capture(origin, CaptureMode::Global).unwrap();
    rig.copy(origin, &memory, &memory);
    rig.join(forked, origin);
    rig.driver.destroy_stream(origin);
    assert_eq!(faults.live_objects().unwrap().captures, 0);
    assert_eq!(Arc::strong_count(&memory), 1);
    rig.finish(forked);
}

/// Calls its driver when it is dropped, and then panics.
struct PanicOnDrop(std::sync::Weak<dyn DriverRuntime>, Counter);

impl Drop for PanicOnDrop {
    fn drop(&mut self) {
        if let Some(driver) = self.0.upgrade() {
            driver.memory_info(0).unwrap();
            driver.destroy_stream(driver.create_stream(0, 0).unwrap());
        }
        self.1.increment();
        panic!("dropped");
    }
}

#[test]
fn keep_alive_may_call_the_driver_and_panic_when_dropped() {
    let (rig, faults) = two_devices();
    let (stream, counter) = (rig.stream(0), Counter::default());
    let memory = rig.memory(0, 4);
    let fill = |stream| {
        let owner = Arc::new((memory.clone(), PanicOnDrop(Arc::downgrade(&rig.driver), counter.clone())));
        let owners = Owners::until_completed(owner);
        let fill = Fill { address: memory.address, bytes: 4, value: 1, owners };
        // SAFETY: `owners` own the memory.
        unsafe { rig.driver.fill(stream, fill) }
    };
    // Dropped after the work ran, failed or was rejected, after a capture was invalidated, and with a graph.
    fill(stream).unwrap();
    rig.finish(stream);
    faults.fail_next_fill("bad cell").unwrap();
    fill(stream).unwrap();
    assert!(rig.wait(WaitTarget::Stream(stream)).is_err());
    let refused = std::panic::AssertUnwindSafe(|| fill(StreamHandle { device: 0, raw: 0 }));
    assert!(std::panic::catch_unwind(refused).is_err(), "the caller's own drop panics");
    let broken = rig.capture(stream, || {
        fill(stream).unwrap();
        rig.driver.check(WaitTarget::Stream(stream)).unwrap_err();
        fill(stream).unwrap_err();
    });
    assert!(broken.is_err());
    rig.driver.destroy_graph(rig.capture(stream, || fill(stream).unwrap()).unwrap());
    assert_eq!(counter.get(), 6);
    rig.launch(stream, || {});
    rig.finish(stream);
}

#[test]
fn queued_work_runs_while_the_driver_is_dropped() {
    let (rig, _) = two_devices();
    let stream = rig.stream(0);
    let (latch, ran) = (rig.block(stream), Latch::default());
    let open = ran.clone();
    rig.launch(stream, move || open.open());
    drop(rig);
    latch.open();
    ran.wait();
}

#[test]
fn last_handle_of_a_driver_can_be_dropped_by_its_work() {
    let (rig, _) = two_devices();
    let stream = rig.stream(0);
    let (begun, gone) = (Latch::default(), Latch::default());
    struct OpensWhenDropped(Latch);
    impl Drop for OpensWhenDropped {
        fn drop(&mut self) {
            self.0.open();
        }
    }
    let last: (Arc<dyn DriverRuntime>, _) = (rig.driver.clone(), OpensWhenDropped(gone.clone()));
    let wait = begun.clone();
    let work = HostFn::new("owner", move || {
        let _ = &last;
        wait.wait();
        Ok(())
    });
    rig.driver.launch_host_fn(stream, work).unwrap();
    drop(rig);
    begun.open();
    gone.wait();
}

#[test]
fn addresses_are_released_with_the_driver() {
    // Without the release, the reservations would exceed the address space of a process.
    const BYTES: usize = 1 << 40;
    for _ in 0..300 {
        let (rig, _) = two_devices();
        let address = rig.driver.reserve_addresses(0, BYTES).unwrap();
        let some = rig.driver.mapping_granularity(0).unwrap();
        assert!(rig.driver.map(0, address, some).is_err() && some > 1 << 20);
        let (rig, _) = with_faults(1, some as u64);
        let address = rig.driver.reserve_addresses(0, BYTES).unwrap();
        rig.driver.map(0, address, some).unwrap();
    }
}
