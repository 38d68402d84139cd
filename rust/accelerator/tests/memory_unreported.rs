//! Tests of a device that does not report its memory. The configuration is global, so this is one test.

use crate::rig::failing::Failing;
use interlock_accelerator::Error;
use interlock_accelerator::memory::{self, AllocatorConfig, DeviceBuffer, Limit};
use interlock_host::{HostDriver, HostOptions};

#[test]
fn fraction_of_memory_that_is_not_reported_is_an_error() {
    let driver = Failing::over(HostDriver::new(HostOptions::default()).unwrap());
    driver.hide_memory();
    interlock_accelerator::use_driver(driver).unwrap();
    drop(DeviceBuffer::new(None, 512).unwrap());
    let names = ["accelerator.memory.set_limit: limit", "accelerator.memory.set_cache_limit: limit"];
    for (set, name) in [memory::set_limit, memory::set_cache_limit].into_iter().zip(names) {
        assert_eq!(set(Some(Limit::Bytes(8 << 20)), None), Ok(None));
        let refused = set(Some(Limit::Fraction(0.5)), None).unwrap_err();
        assert!(matches!(&refused, Error::Argument { name: given, .. } if given == name), "{refused}");
        assert!(refused.to_string().contains("does not report its total memory"), "{refused}");
        assert_eq!(set(None, None), Ok(Some(8 << 20)));
    }
    let half = AllocatorConfig { per_process_memory_fraction: 0.5, ..AllocatorConfig::default() };
    memory::set_config(half).unwrap();
    for _ in 0..2 {
        let refused = DeviceBuffer::new(None, 512).unwrap_err();
        assert!(refused.to_string().contains("set_config: per_process_memory_fraction"), "{refused}");
    }
    memory::set_config(AllocatorConfig::default()).unwrap();
    assert_eq!(memory::limit(None), Ok(None));
    drop(DeviceBuffer::new(None, 512).unwrap());
}
