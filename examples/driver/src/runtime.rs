//! The started driver: its devices, streams and events.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use interlock_driver::{
    Address, Copy, Device, DeviceIndex, DeviceProperties, DeviceType, DriverRuntime, Error, EventHandle,
    EventOptions, Fill, HostFn, MemoryInfo, Result, StreamHandle, SyncPoint, TimelinePoint, WaitPoint,
    WaitPolicy, WaitTarget,
};

use crate::lock;
use crate::memory::Memory;
use crate::stream::{Command, Stream};

/// The bytes of memory of each device.
const DEVICE_MEMORY: u64 = 256 << 20;

struct ExampleDevice {
    memory: Memory,
    default_stream: StreamHandle,
}

/// The devices of a driver. Work that is queued when it is dropped still runs.
pub(crate) struct ExampleRuntime {
    device_type: DeviceType,
    devices: Vec<ExampleDevice>,
    pinned: Memory,
    objects: Mutex<Objects>,
}

/// The streams and events by id. Ids are never reused, so handles of destroyed objects are refused.
#[derive(Default)]
struct Objects {
    last_id: u64,
    /// Includes destroyed streams with unfinished work or an unreported error.
    streams: BTreeMap<u64, Arc<Stream>>,
    events: HashMap<u64, Event>,
}

struct Event {
    device: DeviceIndex,
    /// The point of the last record; `None` if it was never recorded.
    recorded_at: Option<TimelinePoint>,
}

fn err_unknown(name: &'static str, given: u64) -> Error {
    Error::argument(format!("the {name} handle"), given.to_string(), "one of this driver")
}

impl Objects {
    fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn create_stream(&mut self, device: Device, index: DeviceIndex) -> Result<StreamHandle> {
        self.streams.retain(|_, stream| !stream.is_finished());
        let (stream, raw) = (Stream::start(device)?, self.next_id());
        self.streams.insert(raw, stream);
        Ok(StreamHandle { device: index, raw })
    }

    fn stream(&self, handle: StreamHandle) -> Result<&Arc<Stream>> {
        let is_usable =
            |stream: &&Arc<Stream>| stream.device().index() == Some(handle.device) && !stream.is_closed();
        self.streams.get(&handle.raw).filter(is_usable).ok_or_else(|| err_unknown("stream", handle.raw))
    }

    fn event(&self, handle: EventHandle) -> Result<&Event> {
        let event = self.events.get(&handle.raw).filter(|event| event.device == handle.device);
        event.ok_or_else(|| err_unknown("event", handle.raw))
    }

    fn end(&self, handle: StreamHandle) -> Result<TimelinePoint> {
        Ok(TimelinePoint { stream: handle.raw, position: self.stream(handle)?.end() })
    }

    fn streams_of(&self, index: DeviceIndex) -> impl Iterator<Item = (&u64, &Arc<Stream>)> {
        self.streams.iter().filter(move |(_, stream)| stream.device().index() == Some(index))
    }

    /// Returns the points that a query or a wait covers if it begins now.
    fn points(&self, target: WaitTarget) -> Result<Vec<TimelinePoint>> {
        match target {
            WaitTarget::Stream(handle) => Ok(vec![self.end(handle)?]),
            WaitTarget::Event(handle) => Ok(self.event(handle)?.recorded_at.into_iter().collect()),
            WaitTarget::Device(index) => {
                let end = |(id, stream): (&u64, &Arc<Stream>)| TimelinePoint {
                    stream: *id,
                    position: stream.end(),
                };
                Ok(self.streams_of(index).map(end).collect())
            }
        }
    }

    /// Returns whether a target has completed. `is_idle` compares the end and the progress of a stream under one lock:
    /// two calls would miss work that is queued between them.
    fn has_completed(&self, target: WaitTarget) -> Result<bool> {
        Ok(match target {
            WaitTarget::Stream(handle) => self.stream(handle)?.is_idle(),
            WaitTarget::Event(_) => {
                let points = self.resolve(&self.points(target)?);
                points.iter().all(|(stream, position)| stream.has_reached(*position))
            }
            WaitTarget::Device(index) => self.streams_of(index).all(|(_, stream)| stream.is_idle()),
        })
    }

    /// Returns the streams of points. Skips removed streams, which have completed and have no error.
    fn resolve(&self, points: &[TimelinePoint]) -> Vec<(Arc<Stream>, u64)> {
        let stream = |point: &TimelinePoint| Some((self.streams.get(&point.stream)?.clone(), point.position));
        points.iter().filter_map(stream).collect()
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        // Not joined, because a command may be the last owner of the runtime, and is dropped on its stream's thread.
        self.streams.values().for_each(|stream| stream.close());
    }
}

/// Takes and returns the first error that the points cover.
fn report(points: &[(Arc<Stream>, u64)]) -> Result<()> {
    points.iter().find_map(|(stream, position)| stream.take_error(*position)).map_or(Ok(()), Err)
}

impl ExampleRuntime {
    pub(crate) fn new(device_type: DeviceType, device_count: u8) -> Result<Self> {
        let pinned = Memory::new(Device::CPU, u64::MAX);
        let mut objects = Objects::default();
        let mut devices = Vec::new();
        for index in 0..device_count {
            let device = Device::with_index(device_type, index);
            let default_stream = objects.create_stream(device, index)?;
            devices.push(ExampleDevice { memory: Memory::new(device, DEVICE_MEMORY), default_stream });
        }
        Ok(ExampleRuntime { device_type, devices, pinned, objects: Mutex::new(objects) })
    }

    fn device(&self, index: DeviceIndex) -> Result<&ExampleDevice> {
        self.devices.get(usize::from(index)).ok_or_else(|| err_unknown("device", index.into()))
    }

    fn queue(&self, stream: StreamHandle, command: Command) -> Result<()> {
        // Cloned, so that the command is queued, or dropped on an error, without the lock.
        let stream = lock(&self.objects).stream(stream)?.clone();
        stream.push(command);
        Ok(())
    }
}

// SAFETY: `Memory` frees memory only in `free`. Queued work is a `Command` that has its owners and is dropped after it
// has run. Device addresses are addresses of this process.
unsafe impl DriverRuntime for ExampleRuntime {
    fn device_type(&self) -> DeviceType {
        self.device_type
    }

    fn device_count(&self) -> u32 {
        self.devices.len() as u32
    }

    fn properties(&self, device: DeviceIndex) -> Result<DeviceProperties> {
        let MemoryInfo { total, .. } = self.memory_info(device)?;
        let extra = vec![("streams", "threads of this program".to_owned())];
        let name = "example device".to_owned();
        Ok(DeviceProperties { name, total_memory: total, multi_processor_count: 1, extra })
    }

    fn memory_info(&self, device: DeviceIndex) -> Result<MemoryInfo> {
        Ok(self.device(device)?.memory.info())
    }

    fn allocate(&self, device: DeviceIndex, bytes: usize) -> Result<Address> {
        self.device(device)?.memory.allocate(bytes)
    }

    unsafe fn free(&self, device: DeviceIndex, address: Address, bytes: usize) -> Result<()> {
        // SAFETY: the caller guarantees that the memory is not used.
        unsafe { self.device(device)?.memory.free(address, bytes) }
    }

    fn allocate_pinned(&self, _: DeviceIndex, bytes: usize) -> Result<Address> {
        self.pinned.allocate(bytes)
    }

    unsafe fn free_pinned(&self, address: Address, bytes: usize) -> Result<()> {
        // SAFETY: the caller guarantees that the memory is not used.
        unsafe { self.pinned.free(address, bytes) }
    }

    fn is_host_accessible(&self) -> bool {
        true
    }

    fn default_stream(&self, device: DeviceIndex) -> Result<StreamHandle> {
        Ok(self.device(device)?.default_stream)
    }

    fn create_stream(&self, device: DeviceIndex, _: i32) -> Result<StreamHandle> {
        self.device(device)?;
        lock(&self.objects).create_stream(Device::with_index(self.device_type, device), device)
    }

    fn destroy_stream(&self, stream: StreamHandle) {
        let is_default = self.devices.iter().any(|device| device.default_stream == stream);
        if let (false, Ok(stream)) = (is_default, lock(&self.objects).stream(stream)) {
            stream.close();
        }
    }

    fn create_event(&self, device: DeviceIndex, _: EventOptions) -> Result<EventHandle> {
        self.device(device)?;
        let mut objects = lock(&self.objects);
        let raw = objects.next_id();
        objects.events.insert(raw, Event { device, recorded_at: None });
        Ok(EventHandle { device, raw })
    }

    fn destroy_event(&self, event: EventHandle) {
        let mut objects = lock(&self.objects);
        if objects.event(event).is_ok() {
            objects.events.remove(&event.raw);
        }
    }

    fn record_event(&self, event: EventHandle, stream: StreamHandle) -> Result<()> {
        let mut objects = lock(&self.objects);
        objects.event(event)?;
        let point = objects.end(stream)?;
        if let Some(event) = objects.events.get_mut(&event.raw) {
            event.recorded_at = Some(point);
        }
        Ok(())
    }

    fn wait_event(&self, stream: StreamHandle, event: EventHandle) -> Result<()> {
        let objects = lock(&self.objects);
        let stream = objects.stream(stream)?;
        let points = objects.resolve(&objects.points(WaitTarget::Event(event))?);
        points.into_iter().for_each(|(awaited, position)| stream.push(Command::WaitFor(awaited, position)));
        Ok(())
    }

    fn check(&self, target: WaitTarget) -> Result<bool> {
        self.device(target.device())?;
        let (has_completed, points) = {
            let objects = lock(&self.objects);
            (objects.has_completed(target)?, objects.resolve(&objects.points(target)?))
        };
        report(&points)?;
        Ok(has_completed)
    }

    fn has_completed(&self, event: EventHandle) -> Result<bool> {
        lock(&self.objects).has_completed(WaitTarget::Event(event))
    }

    fn sync_point(&self, target: WaitTarget) -> Result<SyncPoint> {
        self.device(target.device())?;
        let points = lock(&self.objects).points(target)?;
        Ok(SyncPoint::new(target, points.into_iter().map(WaitPoint::InStream).collect()))
    }

    /// Blocks under every policy: polling would not be faster, because the devices are threads.
    fn wait(&self, sync_point: &SyncPoint, policy: WaitPolicy) -> Result<bool> {
        // A timeout that overflows `Instant` is no deadline.
        let deadline = Instant::now().checked_add(policy.timeout);
        let points: Vec<_> = sync_point.points.iter().filter_map(|point| point.in_stream()).collect();
        let points = lock(&self.objects).resolve(&points);
        let has_reached = points.iter().all(|(stream, position)| stream.wait(*position, deadline));
        report(&points)?;
        Ok(has_reached)
    }

    unsafe fn copy(&self, stream: StreamHandle, mut copy: Copy) -> Result<()> {
        // No capture records the work, so some owners are only needed until it is queued.
        let _unneeded = copy.owners.take_unneeded(None);
        self.queue(stream, Command::Copy(copy))
    }

    unsafe fn fill(&self, stream: StreamHandle, mut fill: Fill) -> Result<()> {
        let _unneeded = fill.owners.take_unneeded(None);
        self.queue(stream, Command::Fill(fill))
    }

    fn launch_host_fn(&self, stream: StreamHandle, mut function: HostFn) -> Result<()> {
        let _unneeded = function.owners.take_unneeded(None);
        self.queue(stream, Command::HostFn(function))
    }
}
