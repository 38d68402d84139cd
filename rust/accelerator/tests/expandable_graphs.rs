//! Tests of graphs with memory in expandable segments. The configuration is global, so this is one test.

use interlock_accelerator::memory::{self, AllocatorConfig, DeviceBuffer};
use interlock_accelerator::{CaptureMode, Graph, Stream, use_driver};
use interlock_host::{FaultInjector, HostDriver, HostOptions};

#[test]
fn graph_memory_in_expandable_segments_is_released_and_reused() {
    let faults = FaultInjector::new();
    let options = HostOptions { faults: faults.clone(), ..HostOptions::default() };
    use_driver(HostDriver::new(options).unwrap()).unwrap();
    memory::set_config(AllocatorConfig { expandable_segments: true, ..AllocatorConfig::default() }).unwrap();
    let stream = Stream::dedicated(None, 0).unwrap();
    for _ in 0..3 {
        let graph = Graph::new(false).unwrap();
        {
            let _current = stream.guard().unwrap();
            graph.capture_begin(None, CaptureMode::Relaxed).unwrap();
            let memory = DeviceBuffer::on(&stream, 5000).unwrap();
            memory.fill(2, Some(&stream)).unwrap();
            graph.capture_end().unwrap();
            graph.replay().unwrap();
        }
        stream.synchronize().unwrap();
        graph.reset().unwrap();
        drop(DeviceBuffer::on(&stream, 5000).unwrap());
        memory::empty_cache().unwrap();
        assert_eq!(memory::statistics(None).unwrap().reserved_bytes.all.current, 0);
        assert_eq!(faults.live_objects().unwrap().bytes, 0);
    }
}
