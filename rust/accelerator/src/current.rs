//! The current device and the current streams: slots of the thread state.

use std::sync::Arc;

use interlock_core::binding::thread::{self as binding, DeviceSlots, Slots};
use interlock_core::thread::{Scope, ScopeGuard};
use interlock_driver::{DeviceIndex, DeviceProperties, MemoryInfo};

use crate::accelerator::Accelerator;
use crate::stream::{Stream, StreamHome};
use crate::wait::Wait;
use crate::{Device, Result, WaitTarget, registry};

/// Returns the accelerator in use and the index of a device that was passed to `operation`; `None`, or a device without
/// an index, means the current device. The first call starts the driver and fixes it.
pub(crate) fn resolve(
    device: Option<Device>,
    operation: &'static str,
) -> Result<(&'static Accelerator, DeviceIndex)> {
    let accelerator = registry::accelerator_for(device, operation)?;
    let given = device.map_or(Ok(None), |device| accelerator.started().index_of(device, operation))?;
    Ok((accelerator, given.unwrap_or_else(|| accelerator.started().current_index())))
}

/// Returns the current device of this thread: device 0 until another one is made current.
pub fn current_device() -> Result<Device> {
    let (accelerator, index) = resolve(None, "accelerator.current_device_index")?;
    Ok(accelerator.started().device(index))
}

/// Returns the index of the current device of this thread if this process uses a driver. Starts no driver and never
/// blocks.
pub fn current_index() -> Option<DeviceIndex> {
    registry::try_accelerator().map(|accelerator| accelerator.started().current_index())
}

/// Returns a device that was passed to `operation`, with its index; `None` means the current device. The first call
/// starts the driver and fixes it.
pub fn resolve_device(device: Option<Device>, operation: &'static str) -> Result<Device> {
    let (accelerator, index) = resolve(device, operation)?;
    Ok(accelerator.started().device(index))
}

/// Returns the devices other than the given one on which any library has created a context in this process: those take
/// memory there. Empty on drivers without contexts.
pub fn stray_contexts(expected: Device) -> Result<Vec<Device>> {
    let (accelerator, index) = resolve(Some(expected), "accelerator.set_device_index")?;
    let started = accelerator.started();
    let is_stray = |other: &DeviceIndex| *other != index && started.runtime().has_context(*other);
    Ok(started.indices().filter(is_stray).map(|index| started.device(index)).collect())
}

/// Makes a device the current one of this thread, until the innermost open scope that sets it is exited.
pub fn set_device(device: Device) -> Result<()> {
    let (_, index) = resolve(Some(device), "accelerator.set_device_index")?;
    Ok(binding::set_device_slots(DeviceSlots::from_device(index))?)
}

/// Returns the current stream of a device on this thread: its default stream until another one is made current. `None`
/// means the current device.
pub fn current_stream(device: Option<Device>) -> Result<Stream> {
    const OPERATION: &str = "accelerator.current_stream";
    let (accelerator, index) = resolve(device, OPERATION)?;
    accelerator.home(index).and_then(stream_on).map_err(|error| error.during(OPERATION))
}

/// Returns the current stream of a device on this thread.
pub(crate) fn stream_on(home: &'static dyn StreamHome) -> Result<Stream> {
    // A forked child can't use the streams of its parent.
    let current = binding::current_stream(home.index()).and_then(Stream::from_slot);
    match current.filter(|stream| std::ptr::eq(stream.started(), home.started())) {
        Some(stream) => Ok(stream),
        None => home.default_stream(),
    }
}

/// Makes a stream the current one of its device, and that device the current one of this thread; each until the
/// innermost open scope that sets it is exited.
pub fn set_stream(stream: &Stream) -> Result<()> {
    stream.driver()?;
    Ok(binding::set_device_slots(stream.device_slots())?)
}

/// A device or stream that is current while the scope is open. It may be entered again while it is open, by several
/// threads, and exited in any order.
///
/// ```
/// use interlock_accelerator::{Device, DeviceType, DeviceScope, current_device};
/// # use interlock_accelerator::host::{HostDriver, HostOptions};
///
/// # interlock_accelerator::use_driver(HostDriver::new(HostOptions { devices: 2, ..HostOptions::default() })?)?;
/// let second = Device::with_index(DeviceType::Host, 1);
/// let scope = DeviceScope::from_device(second)?;
/// scope.enter();
/// assert_eq!(current_device()?, second);
/// scope.exit();
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Debug)]
pub struct DeviceScope {
    scope: Scope,
    slots: Arc<Slots>,
    /// A device whose presence is checked when it is made current.
    device: Option<Device>,
}

impl DeviceScope {
    /// Creates a scope in which a device is current.
    pub fn from_device(device: Device) -> Result<Self> {
        let (_, index) = resolve(Some(device), "accelerator.device_index")?;
        Ok(DeviceScope { device: Some(device), ..Self::of(DeviceSlots::from_device(index)) })
    }

    /// Creates a scope in which a stream is current on its device, and that device is current.
    pub fn from_stream(stream: &Stream) -> Self {
        Self::of(stream.device_slots())
    }

    /// Creates a scope in which tensors are created on `device` unless another device is passed.
    pub fn from_default_device(device: Device) -> Self {
        Self::of(DeviceSlots::from_default_device(Some(device)))
    }

    fn of(devices: DeviceSlots) -> Self {
        DeviceScope { scope: Scope::default(), slots: Slots::from_devices(devices), device: None }
    }

    /// Returns the scope that [`enter`](DeviceScope::enter) and [`exit`](DeviceScope::exit) operate on.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Checks that the device exists in this process: a forked child may have other devices.
    ///
    /// # Errors
    /// Returns [`Error::DeviceUnavailable`](crate::Error::DeviceUnavailable), and errors of the driver.
    pub fn check(&self) -> Result<()> {
        self.device.map_or(Ok(()), |device| resolve(Some(device), "accelerator.device_index").map(drop))
    }

    /// Enters the scope on this thread. Has no effect if [`try_enter`](DeviceScope::try_enter) fails.
    pub fn enter(&self) {
        let _entered = self.try_enter();
    }

    /// Enters as [`enter`](DeviceScope::enter) does.
    ///
    /// # Errors
    /// Fails if the state of the current context cannot be stored.
    pub fn try_enter(&self) -> Result<()> {
        Ok(binding::enter_slots(&self.scope, &self.slots)?)
    }

    /// Exits the scope; see [`Scope::exit`].
    pub fn exit(&self) {
        self.scope.exit();
    }
}

/// Makes a device the current one of this thread until the guard is dropped.
pub fn device_guard(device: Device) -> Result<ScopeGuard> {
    let (_, index) = resolve(Some(device), "a device guard")?;
    Ok(binding::guard_of_devices(DeviceSlots::from_device(index)))
}

/// The current stream.
impl Stream {
    /// Makes this the current stream of its device, and that device the current one, until the guard is dropped.
    pub fn guard(&self) -> Result<ScopeGuard> {
        self.driver()?;
        Ok(binding::guard_of_devices(self.device_slots()))
    }
}

/// Returns the device on which tensors are created unless one is passed: the CPU until another one is set.
pub fn default_device() -> Device {
    binding::default_device().unwrap_or(Device::CPU)
}

/// Sets the device on which tensors are created unless one is passed, until the innermost open scope that sets it is
/// exited. `None` means the CPU.
///
/// # Errors
/// Fails if a scope of a context that is not current sets it.
pub fn set_default_device(device: Option<Device>) -> Result<()> {
    Ok(binding::set_device_slots(DeviceSlots::from_default_device(device))?)
}

/// Begins a wait for all work that is queued on a device now. `None` means the current device.
pub fn begin_wait(device: Option<Device>) -> Result<Wait> {
    let (accelerator, index) = resolve(device, "accelerator.synchronize")?;
    Wait::begin(accelerator.started(), WaitTarget::Device(index), true)
}

/// Waits for all work that is queued on a device now. `None` means the current device.
///
/// # Errors
/// Returns asynchronous errors of the device that were not reported yet.
pub fn synchronize(device: Option<Device>) -> Result<()> {
    begin_wait(device)?.wait()
}

/// Returns the properties of a device. `None` means the current device.
pub fn properties(device: Option<Device>) -> Result<DeviceProperties> {
    let (accelerator, index) = resolve(device, "accelerator.device_properties")?;
    accelerator.driver_for("the accelerator")?.properties(index)
}

/// Returns the free and total memory of a device. `None` means the current device.
pub fn memory_info(device: Option<Device>) -> Result<MemoryInfo> {
    let (accelerator, index) = resolve(device, "accelerator.get_memory_info")?;
    accelerator.driver_for("the accelerator")?.memory_info(index)
}
