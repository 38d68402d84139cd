//! A capture that another thread begins after work was prepared and before the driver queues it.

use interlock_accelerator::memory::{self, CopyOperand, DeviceBuffer, PinnedMemory};
use interlock_accelerator::{CaptureMode, Stream, use_driver};
use interlock_host::{HostDriver, HostOptions};

use crate::rig::failing::Failing;

/// Returns the number of allocated blocks of all devices, and whether pinned memory is allocated.
fn in_use(pinned: *const u8) -> (u64, bool) {
    let blocks = memory::statistics(None).unwrap().allocation.all.current;
    (blocks, PinnedMemory::is_pinned(pinned))
}

#[test]
fn graph_owns_memory_of_work_that_was_prepared_before_its_capture() {
    let host = HostDriver::new(HostOptions::default()).unwrap();
    let driver = Failing::over(host.clone());
    use_driver(driver.clone()).unwrap();
    let runtime = host.start().unwrap();
    let stream = Stream::new(None, 0).unwrap();
    let queues: [fn(&Stream, &DeviceBuffer, &PinnedMemory); 3] = [
        |stream, device, _| device.fill(1, Some(stream)).unwrap(),
        |stream, device, pinned| {
            let pinned = CopyOperand::Host(pinned.as_operand(stream).unwrap());
            memory::copy(&CopyOperand::Device(device.clone()), &pinned, Some(stream), false).unwrap();
        },
        |stream, device, _| {
            let operand = CopyOperand::Device(device.clone());
            memory::copy(&operand, &operand, Some(stream), false).unwrap();
        },
    ];
    for (number, queue) in queues.into_iter().enumerate() {
        let (device, pinned) = (DeviceBuffer::on(&stream, 4096).unwrap(), PinnedMemory::new(4096).unwrap());
        let address = pinned.pointer().as_ptr().cast_const();
        assert_eq!(in_use(address), (1, true));
        let (host, captured) = (runtime.clone(), stream.handle().unwrap());
        driver.before(&["copy", "fill"], move || {
            host.begin_capture(captured, CaptureMode::Relaxed).unwrap();
        });
        queue(&stream, &device, &pinned);
        let graph = runtime.end_capture(captured).unwrap();
        assert_eq!(runtime.is_graph_empty(graph), Ok(false));
        drop((device, pinned));
        // Otherwise a replay would write to memory that was freed.
        assert_eq!(in_use(address), (1, number == 1), "{number}");
        runtime.destroy_graph(graph);
        assert_eq!(in_use(address), (0, false), "{number}");
    }
}
