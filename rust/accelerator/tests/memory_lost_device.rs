//! Tests of memory that work of a lost device used.

use std::sync::{Mutex, mpsc};

use interlock_accelerator::memory::{self, DeviceBuffer};
use interlock_accelerator::{self as accelerator, HostFn, Stream};
use interlock_host::{FaultInjector, HostDriver, HostOptions};

const MIB: usize = 1 << 20;

#[test]
fn lost_device_does_not_block_releases_of_other_devices() {
    let faults = FaultInjector::new();
    let options = HostOptions { devices: 2, memory: 64 << 20, faults: faults.clone() };
    accelerator::use_driver(HostDriver::new(options).unwrap()).unwrap();
    let [own, other] =
        ["host:0", "host:1"].map(|name| Stream::dedicated(Some(name.parse().unwrap()), 0).unwrap());
    let used = DeviceBuffer::on(&own, 100).unwrap();
    let (latch, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let blocking = move || {
        let _ = gate.lock().unwrap().recv();
        Ok(())
    };
    other.launch(HostFn::new("blocking", blocking)).unwrap();
    used.record_stream(&other).unwrap();
    drop(used);
    drop(DeviceBuffer::on(&own, 30 * MIB).unwrap());
    faults.lose_device(1, "gone").unwrap();
    // 30 MiB are cached; 50 MiB fit once they are released.
    let large = DeviceBuffer::on(&own, 50 * MIB).map(drop);
    drop(latch);
    assert_eq!((large, memory::empty_cache()), (Ok(()), Ok(())));
    // Memory that the lost device may still write is not reused.
    assert_eq!(memory::statistics(Some(own.device())).unwrap().active.all.current, 1);
}
