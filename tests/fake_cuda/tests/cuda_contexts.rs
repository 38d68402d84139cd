//! Creation of contexts, and the current context of a thread after driver calls.

use crate::fake_library;
use std::sync::Arc;
use std::time::Duration;

use crate::fake_library::{break_device, contexts, current, device, foreign_context, set_current, set_mode};
use crate::rig::{Memory, Rig};
use cudarc::driver::sys::CUstreamCaptureMode as Mode;
use interlock_accelerator::memory::{CopyOperand, DeviceBuffer, PinnedMemory};
use interlock_accelerator::{self as accelerator, CaptureMode, Event, Graph, HostFn, Stream};
use interlock_driver::{
    Copy, CopyEndpoint, EventHandle, EventOptions, Fill, GraphExecHandle, GraphHandle, Owners, StreamHandle,
    WaitPolicy, WaitTarget,
};

const NONE: [u8; 0] = [];

#[test]
fn device_queries_create_no_context() {
    accelerator::use_driver(fake_library::driver()).unwrap();
    let driver = fake_library::started();
    for index in 0..2 {
        assert_eq!(driver.device_count(), 2);
        driver.properties(index).unwrap();
        assert!(driver.mapping_granularity(index).unwrap() > 0);
        let stream = driver.default_stream(index).unwrap();
        assert_eq!(driver.capture_id(stream), Ok(None));
        assert_eq!(driver.check(WaitTarget::Device(index)), Ok(true));
        assert!(driver.allocate(index, usize::MAX).is_err());
        accelerator::properties(Some(device(index))).unwrap();
        accelerator::set_device(device(index)).unwrap();
        assert_eq!(accelerator::current_stream(Some(device(index))).unwrap().id(), 0);
        accelerator::synchronize(Some(device(index))).unwrap();
        accelerator::memory::statistics(Some(device(index))).unwrap();
    }
    accelerator::memory::empty_cache().unwrap();
    assert_eq!(contexts(2), NONE);
    accelerator::priority_range(Some(device(1))).unwrap();
    assert_eq!(contexts(2), [1]);
}

#[test]
fn device_operations_create_no_context_of_other_devices() {
    accelerator::use_driver(fake_library::driver()).unwrap();
    accelerator::set_device(device(1)).unwrap();
    let pinned = PinnedMemory::new(1 << 20).unwrap();
    assert_eq!(contexts(2), [1]);
    let stream = Stream::dedicated(None, 0).unwrap();
    let event = Event::new(None, EventOptions { timing: true, ..EventOptions::default() }).unwrap();
    let memory = [(); 2].map(|()| DeviceBuffer::on(&stream, 4096).unwrap());
    memory[0].fill(3, Some(&stream)).unwrap();
    let [to, from] = [1, 0].map(|place| CopyOperand::Device(memory[place].clone()));
    accelerator::memory::copy(&to, &from, Some(&stream), true).unwrap();
    event.record(&stream).unwrap();
    stream.wait_event(&event).unwrap();
    stream.launch(HostFn::new("nothing", || Ok(()))).unwrap();
    let graph = Graph::new(false).unwrap();
    {
        let _current = stream.guard().unwrap();
        graph.capture_begin(None, CaptureMode::Global).unwrap();
        memory[0].fill(4, Some(&stream)).unwrap();
        graph.capture_end().unwrap();
        graph.replay().unwrap();
    }
    drop((to, from));
    event.synchronize().unwrap();
    stream.synchronize().unwrap();
    accelerator::synchronize(None).unwrap();
    accelerator::memory_info(None).unwrap();
    drop((pinned, memory, graph, event, stream));
    accelerator::memory::empty_cache().unwrap();
    accelerator::memory::empty_host_cache();
    assert_eq!(contexts(2), [1]);
}

/// The arguments for the methods of the driver, all of device 0.
struct Objects {
    rig: Rig,
    streams: [StreamHandle; 2],
    /// An event that was recorded.
    event: EventHandle,
    graph: GraphHandle,
    executable: GraphExecHandle,
    /// Memory of device 0, memory of device 1 and pinned memory.
    memory: [Arc<Memory>; 3],
}

const POLICY: WaitPolicy = WaitPolicy { timeout: Duration::from_secs(60), blocking: true };
const TIMED: EventOptions = EventOptions { timing: true, blocking: false, interprocess: false };

impl Objects {
    fn new() -> Self {
        let rig = Rig::of(fake_library::started());
        let streams = [rig.stream(0), rig.stream(0)];
        let memory = [rig.memory(0, 64), rig.memory(1, 64), rig.pinned(&[1; 64])];
        let graph = rig.capture(streams[0], || rig.fill(streams[0], &memory[0], 1)).unwrap();
        let executable = rig.driver.instantiate(graph).unwrap();
        let event = rig.driver.create_event(0, TIMED).unwrap();
        rig.driver.record_event(event, streams[0]).unwrap();
        rig.finish(streams[0]);
        Objects { rig, streams, event, graph, executable, memory }
    }

    /// Calls every method with valid and invalid arguments, and `check` after each call.
    fn call_all(&self, check: &dyn Fn(&str)) {
        let driver = &*self.rig.driver;
        macro_rules! call {
            ($($method:ident($($argument:expr),*);)+) => {
                $(
                    #[allow(unused_unsafe, reason = "few are unsafe")]
                    // SAFETY: the memory outlives all work.
                    let _ = unsafe { driver.$method($($argument),*) };
                    check(stringify!($method));
                )+
            };
        }
        let [stream, other] = self.streams;
        let unknown = StreamHandle { device: 0, raw: 0x1234 };
        let no_event = EventHandle { device: 0, raw: 0x1234 };
        call! {
            properties(0);
            memory_info(0);
            mapping_granularity(0);
            priority_range(0);
            default_stream(0);
            wrap_external_stream(0, stream.raw);
            wrap_external_stream(1, stream.raw);
            wait_event(stream, self.event);
            wait_event(stream, no_event);
            record_event(self.event, stream);
            record_event(self.event, unknown);
            elapsed(self.event, self.event);
            elapsed(self.event, no_event);
            export_event(self.event);
            import_event(0, &[0; 64]);
            import_event(0, &[0; 3]);
            check(WaitTarget::Stream(stream));
            check(WaitTarget::Stream(unknown));
            check(WaitTarget::Event(self.event));
            check(WaitTarget::Device(0));
            has_completed(self.event);
            launch_host_fn(stream, HostFn::new("work", || Err("it failed".into())));
            launch_host_fn(unknown, HostFn::new("work", || Ok(())));
            replay(self.executable, stream);
            describe_graph(self.graph);
            describe_graph(GraphHandle(1 << 40));
            begin_capture(stream, CaptureMode::Relaxed);
            begin_capture(stream, CaptureMode::Relaxed);
            launch_host_fn(stream, HostFn::new("recorded", || Ok(())));
            capture_id(stream);
            check(WaitTarget::Stream(stream));
            end_capture(stream);
            end_capture(other);
        }
        for target in [WaitTarget::Stream(stream), WaitTarget::Event(self.event), WaitTarget::Device(0)] {
            let sync_point = driver.sync_point(target);
            check("sync_point");
            for _ in 0..2 {
                let _ = sync_point.as_ref().map(|sync_point| driver.wait(sync_point, POLICY));
                check("wait");
            }
        }
        let endpoints = [
            CopyEndpoint::Device(0, self.memory[0].address),
            CopyEndpoint::Device(1, self.memory[1].address),
            CopyEndpoint::Host(self.memory[2].address),
        ];
        for (to, from) in endpoints.into_iter().flat_map(|to| endpoints.map(|from| (to, from))) {
            call! { copy(stream, Copy { to, from, bytes: 64, owners: Owners::until_completed(Arc::new(self.memory.clone())) }); }
        }
        let fill = |bytes| Fill {
            address: self.memory[0].address,
            bytes,
            value: 1,
            owners: Owners::until_completed(Arc::new(())),
        };
        call! {
            fill(stream, fill(64));
            fill(stream, fill(1 << 40));
        }
        self.create_and_destroy(check);
    }

    fn create_and_destroy(&self, check: &dyn Fn(&str)) {
        let driver = &*self.rig.driver;
        let made = driver.allocate(0, 64);
        check("allocate");
        // SAFETY: the memory is not used.
        let _ = made.map(|address| unsafe { driver.free(0, address, 64) });
        check("release");
        let _ = driver.allocate(0, 64 << 20);
        check("allocate too much");
        let made = driver.allocate_pinned(0, 64);
        check("allocate_pinned");
        // SAFETY: the memory is not used.
        let _ = made.map(|address| unsafe { driver.free_pinned(address, 64) });
        check("free_pinned");
        let bytes = driver.mapping_granularity(0).unwrap_or(1 << 21);
        let reserved = driver.reserve_addresses(0, bytes);
        check("reserve_addresses");
        let address = reserved.unwrap_or(self.memory[0].address);
        let _ = driver.map(0, address, bytes);
        check("map");
        // SAFETY: the addresses are not used, or the driver refuses them because they were not reserved.
        let _ = unsafe { driver.unmap(0, address, bytes) };
        check("unmap");
        // SAFETY: the addresses are not used, or the driver refuses them because they were not reserved.
        let _ = unsafe { driver.free_addresses(0, address, bytes) };
        check("free_addresses");
        let made = driver.create_stream(0, 0);
        check("create_stream");
        let _ = made.map(|stream| driver.destroy_stream(stream));
        check("destroy_stream");
        let made = driver.create_event(0, TIMED);
        check("create_event");
        let _ = made.map(|event| driver.destroy_event(event));
        check("destroy_event");
        let made = driver.instantiate(self.graph);
        check("instantiate");
        let _ = made.map(|executable| driver.destroy_graph_exec(executable));
        check("destroy_graph_exec");
    }

    fn destroy_all(self, check: &dyn Fn(&str)) {
        let Objects { rig, streams, event, graph, executable, memory } = self;
        rig.driver.destroy_graph_exec(executable);
        check("destroy_graph_exec");
        rig.driver.destroy_graph(graph);
        check("destroy_graph");
        rig.driver.destroy_event(event);
        check("destroy_event");
        streams.iter().for_each(|stream| rig.driver.destroy_stream(*stream));
        check("destroy_stream");
        // Memory of a broken device can't be freed.
        std::mem::forget(memory);
    }
}

#[test]
fn driver_calls_restore_the_current_context_and_capture_mode() {
    let objects = Objects::new();
    let foreign = [std::ptr::null_mut(), foreign_context(1), foreign_context(0)];
    let modes = [Mode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, Mode::CU_STREAM_CAPTURE_MODE_GLOBAL];
    let call_all = || {
        for context in foreign {
            for mode in modes {
                set_current(context);
                set_mode(mode);
                objects.call_all(&|name| assert_eq!(current(), (context, mode), "{name}"));
            }
        }
    };
    call_all();
    break_device(0, 700);
    call_all();
    assert!(objects.rig.driver.memory_info(0).is_err());
    let before = current();
    objects.destroy_all(&|name| assert_eq!(current(), before, "{name}"));
}
