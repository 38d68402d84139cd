//! Which device and which streams are current: slots of the one thread state.

use std::sync::Arc;

use interlock_core::thread::{self, DeviceSlots, Scope, ScopeGuard, Slots};
use interlock_driver::{DeviceIndex, DeviceProperties, MemoryInfo};

use super::accelerator::Accelerator;
use super::{Device, Result, Stream, WaitTarget, Waiting, registry};

/// The accelerator in use and the index of a device that `operation` was given; no device, or one without an
/// index, is the current one. The first call starts the driver and fixes it.
pub(crate) fn resolve(
    device: Option<Device>,
    operation: &'static str,
) -> Result<(&'static Accelerator, DeviceIndex)> {
    let home = registry::in_use(operation)?;
    let given = device.map_or(Ok(None), |device| home.index_of(device, operation))?;
    Ok((home, given.unwrap_or_else(|| index_on(home))))
}

/// The current device of this thread, as far as the accelerator has it.
fn index_on(home: &Accelerator) -> DeviceIndex {
    index_below(home.device_count())
}

/// The current device of this thread, of so many.
pub(super) fn index_below(count: usize) -> DeviceIndex {
    // What a fork or a captured state brought along may name a device of an accelerator that had more.
    thread::current_device().filter(|index| usize::from(*index) < count).unwrap_or(0)
}

/// The current device of this thread: 0 until another is made current.
pub fn current_device() -> Result<Device> {
    let (home, index) = resolve(None, "accelerator.current_device_index")?;
    Ok(home.device(index))
}

/// Returns the index of the current device of this thread if this process uses a driver. Starts nothing, and waits for
/// nothing.
#[doc(hidden)]
pub fn current_index() -> Option<DeviceIndex> {
    registry::used_already().map(index_on)
}

/// Makes a device the current one of this thread, until the innermost open scope that decides it is left.
pub fn set_device(device: Device) -> Result<()> {
    let (_, index) = resolve(Some(device), "accelerator.set_device_index")?;
    thread::set_device_slots(DeviceSlots::of_device(index));
    Ok(())
}

/// The current stream of a device on this thread: its default one until another is made current. No device is
/// the current one.
pub fn current_stream(device: Option<Device>) -> Result<Stream> {
    let (home, index) = resolve(device, "accelerator.current_stream")?;
    stream_on(home, index)
}

pub(super) fn stream_on(home: &'static Accelerator, index: DeviceIndex) -> Result<Stream> {
    // A child of a fork can't use what its parent made current.
    let current = thread::current_stream(index).and_then(Stream::from_slot);
    match current.filter(|stream| std::ptr::eq(stream.home(), home)) {
        Some(stream) => Ok(stream),
        None => home.default_stream(index),
    }
}

/// Makes a stream the current one of its device, and that device the current one of this thread; each until the
/// innermost open scope that decides it is left.
pub fn set_stream(stream: &Stream) -> Result<()> {
    stream.driver()?;
    thread::set_device_slots(device_slots_of(stream));
    Ok(())
}

pub(super) fn device_slots_of(stream: &Stream) -> DeviceSlots {
    DeviceSlots::of_stream(stream.slot())
}

/// A device or stream that is current while the scope is open. It may be entered again while it is open, by several
/// threads, and exited in any order.
///
/// ```
/// use interlock_accelerator::{Device, DeviceType, PlaceScope, current_device};
/// # use interlock_accelerator::host::{HostDriver, HostOptions};
///
/// # interlock_accelerator::use_driver(HostDriver::new(HostOptions { devices: 2, ..HostOptions::default() })?)?;
/// let second = Device::with_index(DeviceType::Host, 1);
/// let scope = PlaceScope::of_device(second)?;
/// scope.enter();
/// assert_eq!(current_device()?, second);
/// scope.leave();
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Debug)]
pub struct PlaceScope {
    scope: Scope,
    slots: Arc<Slots>,
    /// A device that must be there when it is made current.
    device: Option<Device>,
}

impl PlaceScope {
    /// A device that is current.
    pub fn of_device(device: Device) -> Result<Self> {
        let (_, index) = resolve(Some(device), "accelerator.device_index")?;
        Ok(PlaceScope { device: Some(device), ..Self::of(DeviceSlots::of_device(index)) })
    }

    /// A stream that is current on its device, and that device.
    pub fn of_stream(stream: &Stream) -> Self {
        Self::of(device_slots_of(stream))
    }

    /// A device on which tensors are made that are given none.
    pub fn of_default_device(device: Device) -> Self {
        Self::of(DeviceSlots::of_default_device(Some(device)))
    }

    fn of(devices: DeviceSlots) -> Self {
        PlaceScope { scope: Scope::default(), slots: Slots::of_devices(devices), device: None }
    }

    /// Who enters and leaves.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Whether it can be made current here: a forked child may have other devices.
    pub fn check(&self) -> Result<()> {
        self.device.map_or(Ok(()), |device| resolve(Some(device), "accelerator.device_index").map(drop))
    }

    /// It is current on this thread from now on.
    pub fn enter(&self) {
        self.scope.enter_slots(&self.slots);
    }

    /// It no longer is; see [`Scope::leave`].
    pub fn leave(&self) {
        self.scope.exit();
    }
}

/// Makes a device the current one of this thread until the guard is dropped.
pub fn device_guard(device: Device) -> Result<ScopeGuard> {
    let (_, index) = resolve(Some(device), "a device guard")?;
    Ok(ScopeGuard::of_devices(DeviceSlots::of_device(index)))
}

/// The device on which tensors are made that are given none: the processor until another is chosen.
pub fn default_device() -> Device {
    thread::default_device().unwrap_or(Device::CPU)
}

/// Chooses that device, until the innermost open scope that decides it is left; none is the processor.
pub fn set_default_device(device: Option<Device>) {
    thread::set_device_slots(DeviceSlots::of_default_device(device));
}

/// Begins to wait until all that is queued on a device now has been done; no device is the current one.
pub fn waiting(device: Option<Device>) -> Result<Waiting> {
    let (home, index) = resolve(device, "accelerator.synchronize")?;
    Waiting::begin(home, WaitTarget::Device(index), true)
}

/// Waits until all that is queued on a device now has been done. Fails with what failed there and was not told
/// yet. No device is the current one.
pub fn synchronize(device: Option<Device>) -> Result<()> {
    waiting(device)?.to_the_end()
}

/// What a device is; no device is the current one.
pub fn properties(device: Option<Device>) -> Result<DeviceProperties> {
    let (home, index) = resolve(device, "accelerator.device_properties")?;
    home.driver_for("the accelerator")?.properties(index)
}

/// How much memory of a device is free; no device is the current one.
pub fn memory_info(device: Option<Device>) -> Result<MemoryInfo> {
    let (home, index) = resolve(device, "accelerator.get_memory_info")?;
    home.driver_for("the accelerator")?.memory_info(index)
}
