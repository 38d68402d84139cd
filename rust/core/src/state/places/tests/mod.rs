mod carried;
mod scopes;
mod streams;

use std::sync::Arc;

use super::{Places, current_device, current_stream, default_device, write_place};
use crate::accelerator::driver::DeviceIndex;
use crate::accelerator::testing::FakeDevices;
use crate::accelerator::{Device, DeviceType, Stream};
use crate::state::{Scope, ScopeGuard, Slots};

const META: Device = Device::of(DeviceType::Meta);

/// A scope with what it decides.
struct Object(Scope, Arc<Slots>);

impl Object {
    fn new(places: Places) -> Self {
        Object(Scope::default(), Slots::of_places(places))
    }

    fn enter(&self) {
        self.0.enter_slots(&self.1);
    }

    fn leave(&self) {
        self.0.leave();
    }
}

fn device(index: DeviceIndex) -> Places {
    Places::of_device(index)
}

fn guard(places: Places) -> ScopeGuard {
    ScopeGuard::of_places(places)
}

/// The current device, the current streams of both devices and the default device.
type Seen = (Option<DeviceIndex>, [Option<Stream>; 2], Option<Device>);

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
