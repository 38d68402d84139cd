//! Tests that the host driver returns errors for unknown handles and addresses.

use crate::rig::host::two_devices;
use interlock_accelerator::Error;
use interlock_driver::{
    Address, CaptureMode, EventHandle, EventOptions, GraphExecHandle, GraphHandle, HostFn, PriorityRange,
    StreamHandle, WaitTarget,
};

fn is_unknown<T>(result: interlock_accelerator::Result<T>) -> bool {
    matches!(result, Err(Error::Argument { .. }))
}

#[test]
fn unknown_streams_are_errors() {
    let (rig, _) = two_devices();
    let driver = &rig.driver;
    let released = rig.stream(0);
    driver.destroy_stream(released);
    let elsewhere = StreamHandle { device: 1, ..rig.stream(0) };
    let never = StreamHandle { device: 0, raw: 1 << 40 };
    let beyond = StreamHandle { device: 200, raw: 1 };
    let event = driver.create_event(0, EventOptions::default()).unwrap();
    for stream in [released, elsewhere, never, beyond, StreamHandle { device: 0, raw: 0 }] {
        assert!(is_unknown(driver.launch_host_fn(stream, HostFn::new("nothing", || Ok(())))));
        assert!(is_unknown(driver.record_event(event, stream)));
        assert!(is_unknown(driver.wait_event(stream, event)));
        assert!(is_unknown(driver.check(WaitTarget::Stream(stream))));
        assert!(is_unknown(driver.begin_capture(stream, CaptureMode::Global)));
        assert!(is_unknown(driver.capture_id(stream)));
        assert!(is_unknown(driver.end_capture(stream)));
        // SAFETY: the host driver looks up every handle.
        let adopted = unsafe { driver.wrap_external_stream(stream.device, stream.raw) };
        assert!(is_unknown(adopted) || stream == beyond);
        driver.destroy_stream(stream);
    }
    assert!(is_unknown(driver.record_event(event, rig.stream(1))));
    assert!(is_unknown(driver.create_stream(0, 1)) && is_unknown(driver.create_stream(0, -4)));
    assert_eq!(driver.priority_range(0), Ok(PriorityRange { least: 0, greatest: -3 }));
    driver.destroy_stream(driver.default_stream(0).unwrap());
    rig.finish(driver.default_stream(0).unwrap());
}

#[test]
fn unknown_events_and_graphs_are_errors() {
    let (rig, _) = two_devices();
    let (driver, stream) = (&rig.driver, rig.stream(0));
    let released = rig.record(stream);
    driver.destroy_event(released);
    for event in [released, EventHandle { device: 1, ..rig.record(stream) }] {
        assert!(is_unknown(driver.record_event(event, stream)));
        assert!(is_unknown(driver.wait_event(stream, event)));
        assert!(is_unknown(driver.check(WaitTarget::Event(event))));
        assert!(is_unknown(driver.elapsed(event, event)));
        driver.destroy_event(event);
    }
    assert!(
        is_unknown(driver.instantiate(GraphHandle(7))) && is_unknown(driver.describe_graph(GraphHandle(7)))
    );
    assert!(is_unknown(driver.replay(GraphExecHandle(7), stream)));
    driver.destroy_graph(GraphHandle(7));
    driver.destroy_graph_exec(GraphExecHandle(7));
}

#[test]
fn unknown_addresses_are_errors() {
    let (rig, _) = two_devices();
    let address = rig.driver.allocate(0, 100).unwrap();
    // SAFETY: only the last call frees memory, which no work uses.
    unsafe {
        assert!(is_unknown(rig.driver.free(0, Address(address.0 + 512), 100)));
        assert!(is_unknown(rig.driver.free(0, address, 99)));
        assert!(is_unknown(rig.driver.free(1, address, 100)));
        assert!(is_unknown(rig.driver.free_pinned(address, 100)));
        assert_eq!(rig.driver.free(0, address, 100), Ok(()));
        assert!(is_unknown(rig.driver.free(0, address, 100)));
    }
}
