//! Tests of limits that a program sets besides a configuration. The configuration is global, so this is one test.

use interlock_accelerator as accelerator;
use interlock_accelerator::memory::{self, AllocatorConfig, DeviceBuffer, Limit};
use interlock_host::{HostDriver, HostOptions};

#[test]
fn last_limit_applies_to_the_first_allocation() {
    let options = HostOptions { memory: 64 << 20, ..HostOptions::default() };
    accelerator::use_driver(HostDriver::new(options).unwrap()).unwrap();
    accelerator::set_device("host:0".parse().unwrap()).unwrap();
    let half = AllocatorConfig { per_process_memory_fraction: 0.5, ..AllocatorConfig::default() };
    memory::set_config(half).unwrap();
    assert_eq!(memory::limit(None), Ok(Some(32 << 20)));
    assert_eq!(memory::set_limit(Some(Limit::Bytes(8 << 20)), None), Ok(Some(32 << 20)));
    let _memory = DeviceBuffer::new(None, 1).unwrap();
    assert_eq!(memory::limit(None), Ok(Some(8 << 20)));
    let quarter = AllocatorConfig { per_process_memory_fraction: 0.25, ..AllocatorConfig::default() };
    memory::set_config(quarter).unwrap();
    assert_eq!(memory::limit(None), Ok(Some(16 << 20)));
}
