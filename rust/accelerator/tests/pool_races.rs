//! Tests of private pools whose graph is destroyed by another thread. The configuration is global, so this is one test.

use std::sync::Arc;

use crate::rig::failing::Failing;
use interlock_accelerator::memory::{self, AllocatorConfig, DeviceBuffer};
use interlock_accelerator::{self as accelerator, CaptureMode, Graph, Stream};
use interlock_host::{HostDriver, HostOptions};

#[test]
fn pool_is_released_if_its_capture_is_aborted_during_an_allocation() {
    let driver = Failing::over(HostDriver::new(HostOptions::default()).unwrap());
    accelerator::use_driver(driver.clone()).unwrap();
    let stream = Stream::dedicated(None, 0).unwrap();
    let graph = Arc::new(Graph::new(false).unwrap());
    let current = stream.guard().unwrap();
    graph.capture_begin(None, CaptureMode::Relaxed).unwrap();
    drop(current);
    // The next allocation applies the configuration after it has found the pool of the capture.
    memory::set_config(AllocatorConfig::default()).unwrap();
    driver.before(&["memory_info"], move || {
        std::thread::spawn(move || graph.abort_capture()).join().unwrap().unwrap()
    });
    let buffer = DeviceBuffer::on(&stream, 4 << 20).unwrap();
    let statistics = || memory::statistics(None).unwrap();
    assert_eq!(statistics().reserved_bytes.all.current, 20 << 20);
    drop(buffer);
    memory::empty_cache().unwrap();
    assert_eq!(statistics().reserved_bytes.all.current, 0);
    assert_eq!(statistics().reserved_bytes_by_private_pools, []);
}
