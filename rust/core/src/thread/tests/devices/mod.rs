//! Device slots of scopes, guards, captured states and tasks.

mod carried;
mod scopes;
mod streams;

use std::sync::Arc;

use crate::binding::thread as binding;
use crate::device::{Device, DeviceIndex, DeviceType};
use crate::thread::{self, DeviceObject, DeviceSlots, Scope, ScopeGuard, Slots, default_device};

/// A stream of no driver. Clones are equal; `on_drop` runs with the last one.
#[derive(Clone, Debug)]
struct FakeStream(Arc<FakeStreamInner>);

struct FakeStreamInner {
    device: DeviceIndex,
    on_drop: Arc<dyn Fn() + Send + Sync>,
}

impl DeviceObject for FakeStreamInner {
    fn device_index(&self) -> DeviceIndex {
        self.device
    }
}

impl std::fmt::Debug for FakeStreamInner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FakeStream on {}", self.device)
    }
}

impl Drop for FakeStreamInner {
    fn drop(&mut self) {
        (self.on_drop)();
    }
}

impl PartialEq for FakeStream {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl From<FakeStream> for Arc<dyn DeviceObject> {
    fn from(stream: FakeStream) -> Self {
        stream.0
    }
}

struct FakeDevices(Arc<dyn Fn() + Send + Sync>);

impl FakeDevices {
    fn new(on_drop: impl Fn() + Send + Sync + 'static) -> Self {
        FakeDevices(Arc::new(on_drop))
    }

    fn stream(&self, device: DeviceIndex) -> FakeStream {
        FakeStream(Arc::new(FakeStreamInner { device, on_drop: self.0.clone() }))
    }
}

fn of_stream(stream: FakeStream) -> DeviceSlots {
    DeviceSlots::from_stream(stream.into())
}

fn current_device() -> Option<DeviceIndex> {
    thread::current_device()
}

fn current_stream(index: DeviceIndex) -> Option<FakeStream> {
    let stream: Arc<dyn std::any::Any + Send + Sync> = binding::current_stream(index)?;
    Some(FakeStream(stream.downcast().unwrap()))
}

const META: Device = Device::of(DeviceType::Meta);

/// A scope with its device slots.
struct Object(Scope, Arc<Slots>);

impl Object {
    fn new(devices: DeviceSlots) -> Self {
        Object(Scope::default(), Slots::from_devices(devices))
    }

    fn enter(&self) {
        self.0.enter_slots(&self.1).unwrap();
    }

    fn exit(&self) {
        self.0.exit();
    }
}

fn device(index: DeviceIndex) -> DeviceSlots {
    DeviceSlots::from_device(index)
}

fn set_device_slots(devices: DeviceSlots) {
    binding::set_device_slots(devices).unwrap();
}

fn guard(devices: DeviceSlots) -> ScopeGuard {
    ScopeGuard::from_devices(devices)
}

/// The current device, the current streams of both devices and the default device.
type Seen = (Option<DeviceIndex>, [Option<FakeStream>; 2], Option<Device>);

fn seen() -> Seen {
    (current_device(), [0, 1].map(current_stream), default_device())
}

const NOTHING: Seen = (None, [None, None], None);

fn devices() -> FakeDevices {
    FakeDevices::new(|| ())
}

fn on_a_thread<R: Send>(action: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|threads| threads.spawn(action).join().unwrap())
}
