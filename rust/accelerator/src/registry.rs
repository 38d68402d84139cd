//! The driver of this process: selected by the program, by the environment or registered by the program that embeds
//! this crate, and fixed at first use.

use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

use interlock_core::Error as CoreError;
use interlock_core::base::env;
use interlock_core::base::fork::rank;
use interlock_core::base::quote::quoted;
use interlock_core::base::suggest::suggest;
use interlock_core::base::sync::ForkLock;
use interlock_driver::Driver;

use crate::accelerator::Accelerator;
use crate::started::{Started, available_devices};
use crate::{Device, DeviceType, Error, Result, builtin};

/// The accelerator that was started last, in this process or in a parent. It is changed with the lock held and read
/// without it, because every use of a device reads it.
static STARTED: AtomicPtr<Accelerator> = AtomicPtr::new(ptr::null_mut());

/// The selected driver. Drivers are neither called nor dropped with the lock held, because they may run user code or
/// use this module.
static REGISTRY: ForkLock<Registry> = ForkLock::new(
    rank::DRIVERS,
    Registry { requested: None, environment: None, registered: Vec::new(), last_warning: None },
);

pub(crate) struct Registry {
    requested: Option<DriverSelection>,
    /// The text of the environment when it was last read, and the selection that it means.
    environment: Option<(Option<String>, DriverSelection)>,
    registered: Vec<(DeviceType, Arc<dyn Driver>)>,
    /// The last warning about variables that changed after the driver had read them.
    last_warning: Option<String>,
}

/// The driver to be used, as far as it is known.
#[derive(Clone)]
pub(crate) enum DriverSelection {
    /// The first registered driver that is available, else the default one of those that are compiled in.
    Auto,
    Driver(Arc<dyn Driver>),
    /// The driver of a type, which may be registered later.
    Named(String),
    /// No driver, with the reason.
    Disabled(String),
}

/// Returns the driver in use, or the selection of the program or the environment.
fn selection() -> DriverSelection {
    if let Some(in_use) = try_accelerator() {
        return DriverSelection::Driver(in_use.started().driver().clone());
    }
    let requested = REGISTRY.lock().requested.clone();
    match requested.unwrap_or_else(env_selection) {
        DriverSelection::Named(name) => match registered_as(&name) {
            Some(driver) => DriverSelection::Driver(driver),
            None => DriverSelection::Disabled(format!(
                "{} must be {}, none or the name of a registered driver, got {}{}",
                env::ACCELERATOR,
                builtin::accepted().collect::<Vec<_>>().join(", "),
                quoted(&name),
                suggestion(&name, registered_names())
                    .map_or_else(String::new, |found| format!("; did you mean {found:?}?"))
            )),
        },
        selection => selection,
    }
}

/// Returns the selection of the environment, which is read again until a driver is in use.
fn env_selection() -> DriverSelection {
    let text = read_env();
    let is_same = |(read, _): &&(Option<String>, DriverSelection)| *read == text;
    let known = REGISTRY.lock().environment.as_ref().filter(is_same).map(|(_, selection)| selection.clone());
    known.unwrap_or_else(|| {
        let selection = text.as_deref().map_or(DriverSelection::Auto, parse_selection);
        // Another thread may have parsed the text as well; each thread gets the first result.
        let mut registry = REGISTRY.lock();
        let first = registry.environment.as_ref().filter(is_same).map(|(_, first)| first.clone());
        let replaced = match first {
            Some(_) => None,
            None => registry.environment.replace((text.clone(), selection.clone())),
        };
        drop(registry);
        drop(replaced);
        first.unwrap_or(selection)
    })
}

fn registered() -> Vec<(DeviceType, Arc<dyn Driver>)> {
    REGISTRY.lock().registered.clone()
}

fn registered_names() -> Vec<&'static str> {
    registered().into_iter().map(|(kind, _)| kind.name()).collect()
}

fn registered_as(name: &str) -> Option<Arc<dyn Driver>> {
    registered().into_iter().find(|(kind, _)| kind.name() == name).map(|(_, driver)| driver)
}

/// Returns the driver whose name is most similar to the one in `given`, with the number of devices of `given`.
fn suggestion(given: &str, registered: Vec<&'static str>) -> Option<String> {
    let (name, count) = given.split_once(':').map_or((given, None), |(name, count)| (name, Some(count)));
    let name = suggest(&name.to_lowercase(), builtin::names().chain(["none"]).chain(registered))?;
    let accepts_count = builtin::find(name).is_some_and(|builtin| builtin.accepts_count);
    let count = count.filter(|count| accepts_count && count.parse::<u32>().is_ok());
    Some(count.map_or_else(|| name.to_owned(), |count| format!("{name}:{count}")))
}

fn read_env() -> Option<String> {
    env::read(env::ACCELERATOR).filter(|text| !text.is_empty())
}

/// Parses the value of the environment variable.
fn parse_selection(text: &str) -> DriverSelection {
    let disabled =
        |reason: &str| DriverSelection::Disabled(format!("{} is {}{reason}", env::ACCELERATOR, quoted(text)));
    let (name, count) = text.split_once(':').map_or((text, None), |(name, count)| (name, Some(count)));
    let driver = match (builtin::find(name), count.map(str::parse)) {
        (None, None) if name == "none" => return disabled(""),
        (Some(builtin), None) => (builtin.driver)(None),
        (Some(builtin), Some(Ok(devices))) if builtin.accepts_count => (builtin.driver)(Some(devices)),
        (Some(builtin), Some(Err(_))) if builtin.accepts_count => {
            return disabled(": N of host:N must be a number of devices");
        }
        _ => return DriverSelection::Named(text.to_owned()),
    };
    driver.map_or_else(|error| disabled(&format!(": {error}")), DriverSelection::Driver)
}

/// Returns a warning if the environment has changed since the driver was fixed or started, once for each change: the
/// change has no effect.
pub fn stale_env_warning() -> Option<String> {
    stale_selection_warning().or_else(|| {
        let changed = selected_driver().ok()?.stale_env_warning();
        let mut registry = REGISTRY.lock();
        let is_repeated = registry.last_warning == changed;
        registry.last_warning.clone_from(&changed);
        changed.filter(|_| !is_repeated)
    })
}

fn stale_selection_warning() -> Option<String> {
    let in_use = try_accelerator()?;
    let text = read_env();
    {
        let mut registry = REGISTRY.lock();
        let (read, _) = registry.environment.as_mut()?;
        if *read == text {
            return None;
        }
        read.clone_from(&text);
    }
    let change = text.map_or("was removed".to_owned(), |text| format!("was changed to {}", quoted(&text)));
    Some(format!(
        "{} {change}, which has no effect: the driver {:?} is in use, and the driver is fixed at first use",
        env::ACCELERATOR,
        in_use.started().kind().name()
    ))
}

/// Returns the driver that this process uses or would use, or the reason why there is none. Starts no driver and fixes
/// none.
pub(crate) fn selected_driver() -> Result<Arc<dyn Driver>, String> {
    match selection() {
        DriverSelection::Driver(driver) => Ok(driver),
        DriverSelection::Disabled(reason) => Err(reason),
        _ => {
            let available =
                registered().into_iter().find(|(_, driver)| driver.unavailable_reason().is_none());
            available.map_or_else(builtin::default_driver, |(_, driver)| Ok(driver))
        }
    }
}

/// The results of the queries for devices, where no driver has to be queried for them.
///
/// ```
/// use interlock_accelerator::{KnownDevices, known_devices};
///
/// match known_devices() {
///     Some(KnownDevices { accelerator, count }) => println!("{count} devices of {accelerator:?}"),
///     None => println!("the number of devices is known after a query, which may block"),
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownDevices {
    /// The result of [`current_accelerator`].
    pub accelerator: Option<Device>,
    /// The result of [`device_count`].
    pub count: u32,
}

/// Returns the results of the queries for devices if no driver that may block has to be queried, and no change of the
/// environment has to be reported ([`stale_env_warning`]). Starts no driver, fixes none and never blocks, so that a
/// thread that is attached to an interpreter need not detach.
///
/// Each call reads the environment: until a driver is in use for the selection, afterwards to detect changes.
pub fn known_devices() -> Option<KnownDevices> {
    if let Some(in_use) = try_accelerator() {
        let (text, warning) = (read_env(), in_use.started().driver().stale_env_warning());
        let count = u32::try_from(in_use.started().device_count()).ok()?;
        let registry = REGISTRY.lock();
        let is_stale = registry.environment.as_ref().is_some_and(|(read, _)| *read != text);
        return (!is_stale && registry.last_warning == warning)
            .then(|| KnownDevices { accelerator: Some(Device::of(in_use.started().kind())), count });
    }
    let any_registered = !registered().is_empty();
    let (driver, is_selected) = match selection() {
        DriverSelection::Driver(driver) => (driver, true),
        DriverSelection::Disabled(_) => return Some(KnownDevices { accelerator: None, count: 0 }),
        // Which of them are available has to be queried.
        _ if any_registered => return None,
        _ => match builtin::default_driver() {
            Ok(driver) => (driver, false),
            Err(_) => return Some(KnownDevices { accelerator: None, count: 0 }),
        },
    };
    let count = driver.device_count_if_known()?;
    let accelerator = (is_selected || count > 0).then(|| Device::of(driver.device_type()));
    let warning = driver.stale_env_warning();
    (REGISTRY.lock().last_warning == warning).then_some(KnownDevices { accelerator, count })
}

/// Returns the accelerator that was started last, in this process or in a parent, unless the program has selected a
/// driver since.
#[inline]
fn last_started() -> Option<&'static Accelerator> {
    // SAFETY: the pointer is null or from a leaked box, and `install` stored it after the box was filled.
    unsafe { STARTED.load(Ordering::Acquire).as_ref() }
}

/// Returns the accelerator that this process uses, if any. Starts no driver and fixes none, and takes no lock.
#[inline]
pub(crate) fn try_accelerator() -> Option<&'static Accelerator> {
    last_started().filter(|found| found.started().is_current_process())
}

/// Returns the accelerator of a started driver, if it is the one that was started last.
pub(crate) fn accelerator_of(started: &Started) -> Option<&'static Accelerator> {
    last_started().filter(|found| ptr::eq(found.started(), started))
}

/// Returns the type of the devices that this process uses, if it uses any.
pub fn started_device_type() -> Option<DeviceType> {
    try_accelerator().map(|accelerator| accelerator.started().kind())
}

/// Returns the accelerator of this process; the first call starts its driver and fixes it.
///
/// # Errors
/// Returns [`Error::NoAccelerator`] for `operation` if none is available, and [`Error::Forked`] in a forked child whose
/// driver cannot start again.
pub(crate) fn accelerator(operation: &'static str) -> Result<&'static Accelerator> {
    loop {
        match last_started() {
            Some(found) if found.started().is_current_process() => return Ok(found),
            // The process was forked since: only the driver knows whether it can start again.
            Some(found) => {
                let again = found.started().driver().driver_for_child();
                install(again.ok_or(Error::Forked { what: operation })?, |_| true)?;
            }
            None => {
                let driver = available_driver(operation)?;
                let is_selected = |requested: &DriverSelection| matches!(requested, DriverSelection::Driver(other) if Arc::ptr_eq(other, &driver));
                install(driver.clone(), is_selected)?;
            }
        }
    }
}

/// Returns the accelerator like [`accelerator`], for an operation on `device`. If no driver is selected, the error
/// for a device of another type than the default driver's explains how to select its driver.
pub(crate) fn accelerator_for(
    device: Option<Device>,
    operation: &'static str,
) -> Result<&'static Accelerator> {
    accelerator(operation).map_err(|error| match (error, device) {
        (Error::NoAccelerator { operation, .. }, Some(device))
            if device.kind() != DeviceType::Cuda && matches!(selection(), DriverSelection::Auto) =>
        {
            let kind = device.kind().name();
            let reason = if builtin::find(kind).is_some() {
                format!(
                    "no driver is selected. Call accelerator::use_named({kind:?}) first, or set {}={kind}",
                    env::ACCELERATOR
                )
            } else {
                "this process has no driver of this type".to_owned()
            };
            Error::NoAccelerator {
                operation,
                reason: format!("device \"{device}\" is not available: {reason}"),
            }
        }
        (error, _) => error,
    })
}

/// Starts a driver and makes it the one in use, unless another thread has done so in the meantime or has selected a
/// driver that is not `still_wanted`.
fn install(driver: Arc<dyn Driver>, still_wanted: impl Fn(&DriverSelection) -> bool) -> Result<()> {
    // Built outside the lock; discarded if another thread wins.
    let started = Box::new(Accelerator::start(driver)?);
    let registry = REGISTRY.lock();
    if try_accelerator().is_none() && registry.requested.as_ref().is_none_or(still_wanted) {
        // Leaked, because streams and events refer to it until the process ends.
        let started = Box::into_raw(started);
        STARTED.store(started, Ordering::Release);
        drop(registry);
        // SAFETY: the box is never freed.
        unsafe { &*started }.apply_history()?;
    } else {
        drop(registry);
        drop(started);
    }
    Ok(())
}

/// Returns the selected driver.
///
/// # Errors
/// Returns [`Error::NoAccelerator`] if there is none or if it has no device.
fn available_driver(operation: &'static str) -> Result<Arc<dyn Driver>> {
    let refused = |reason| Error::NoAccelerator { operation, reason };
    let driver = selected_driver().map_err(refused)?;
    match unavailable_reason_of(&*driver) {
        None => Ok(driver),
        Some(reason) if driver.device_type() == DeviceType::Cuda && builtin::find("host").is_some() => {
            Err(refused(format!("{reason}. To run without a GPU: accelerator::use_named(\"host\")")))
        }
        Some(reason) => Err(refused(reason)),
    }
}

/// Returns why a driver is not available, `None` if it is.
fn unavailable_reason_of(driver: &dyn Driver) -> Option<String> {
    let without_devices = || {
        (driver.device_count() == 0)
            .then(|| format!("the driver {:?} has no devices", driver.device_type().name()))
    };
    driver.unavailable_reason().or_else(without_devices)
}

/// Selects the driver of this process.
///
/// # Errors
/// Returns [`Error::DriverInUse`] once a driver is in use: it is fixed at first use.
pub fn use_driver(driver: Arc<dyn Driver>) -> Result<()> {
    let name = driver.device_type().name();
    select(DriverSelection::Driver(driver), name)
}

/// Selects the driver by name, as the environment does: "host", "host:N" with N devices, "cuda", the type of a
/// registered driver, or "none".
///
/// # Errors
/// Returns [`Error::UnknownDriver`], and [`Error::DriverInUse`] once a driver is in use.
pub fn use_named(name: &str) -> Result<()> {
    let (builtin, devices) = match name.split_once(':') {
        None => (builtin::find(name), None),
        Some((name, count)) => {
            let devices = count.parse().ok();
            (builtin::find(name).filter(|builtin| builtin.accepts_count && devices.is_some()), devices)
        }
    };
    if let Some(builtin) = builtin {
        return use_driver((builtin.driver)(devices)?);
    }
    let driver = match name {
        "none" => {
            let reason = "the program selected no driver: accelerator::use_named(\"none\")".to_owned();
            return select(DriverSelection::Disabled(reason), "none");
        }
        _ => registered_as(name),
    };
    match driver {
        Some(driver) => use_driver(driver),
        None => {
            let registered = registered_names();
            let known = builtin::accepted().chain(["none"]).chain(registered.iter().copied()).collect();
            let suggestion = suggestion(name, registered);
            Err(Error::UnknownDriver { given: name.to_owned(), suggestion, known })
        }
    }
}

fn select(selection: DriverSelection, name: &'static str) -> Result<()> {
    let mut registry = REGISTRY.lock();
    // A forked child may select again, because it has used no driver yet.
    if let Some(in_use) = try_accelerator() {
        drop(registry);
        return Err(err_driver_in_use(name, in_use));
    }
    STARTED.store(ptr::null_mut(), Ordering::Release);
    let replaced = registry.requested.replace(selection);
    drop(registry);
    drop(replaced);
    Ok(())
}

fn err_driver_in_use(requested: &'static str, in_use: &Accelerator) -> Error {
    Error::DriverInUse {
        requested,
        in_use: available_devices(in_use.started().kind(), in_use.started().device_count()),
    }
}

/// Parses a device, as `str::parse` does. The error for an unknown device type lists the types that this process can
/// use. Starts no driver and fixes none.
pub fn parse_device(text: &str) -> Result<Device> {
    text.parse().map_err(|error| match error {
        CoreError::UnknownDeviceType { given, .. } => {
            let accelerator = current_accelerator().filter(|_| unavailable_reason().is_none());
            let types: Vec<_> = [Some(Device::CPU), accelerator]
                .into_iter()
                .flatten()
                .map(|device| device.to_string())
                .collect();
            CoreError::UnknownDeviceType { given, available: Some(types.join(", ")) }.into()
        }
        other => other.into(),
    })
}

/// Registers a driver, which is used if neither the program nor the environment selects one. It replaces a driver that
/// was registered for the same type.
///
/// # Errors
/// Returns [`Error::DriverInUse`] if the driver in use has the same type.
pub fn register_driver(driver: Arc<dyn Driver>) -> Result<()> {
    let kind = driver.device_type();
    let mut registry = REGISTRY.lock();
    if let Some(in_use) = try_accelerator().filter(|in_use| in_use.started().kind() == kind) {
        drop(registry);
        return Err(err_driver_in_use(kind.name(), in_use));
    }
    let registered = registry.registered.iter_mut().find(|(other, _)| *other == kind);
    let replaced = match registered {
        Some((_, registered)) => Some(std::mem::replace(registered, driver)),
        None => {
            registry.registered.push((kind, driver));
            None
        }
    };
    drop(registry);
    drop(replaced);
    Ok(())
}

/// Returns whether the first device has virtual memory management, as far as that is known without starting a driver.
pub(crate) fn has_virtual_memory() -> bool {
    if let Some(in_use) = try_accelerator() {
        let granularity =
            in_use.driver_for("the accelerator").and_then(|driver| driver.mapping_granularity(0));
        return granularity.is_ok_and(|bytes| bytes > 0);
    }
    selected_driver()
        .is_ok_and(|driver| unavailable_reason_of(&*driver).is_none() && driver.has_virtual_memory())
}

/// Returns the number of devices of the accelerator, 0 if there is none. Does not fix the driver.
pub fn device_count() -> u32 {
    match selected_driver() {
        Ok(driver) if driver.unavailable_reason().is_none() => driver.device_count(),
        _ => 0,
    }
}

/// Returns the device type of this process, without an index; `None` if no driver was selected and none is available.
pub fn current_accelerator() -> Option<Device> {
    let is_selected = !matches!(selection(), DriverSelection::Auto);
    let driver = selected_driver().ok()?;
    (is_selected || unavailable_reason_of(&*driver).is_none()).then(|| Device::of(driver.device_type()))
}

/// Returns the reason why no accelerator with a device is available, in one sentence; `None` if one is.
pub fn unavailable_reason() -> Option<String> {
    selected_driver().map_or_else(Some, |driver| unavailable_reason_of(&*driver))
}

/// Returns the device type of the accelerator, without an index.
///
/// # Errors
/// Returns [`Error::NoAccelerator`] for `operation`, with the reason why none is available.
pub fn required(operation: &'static str) -> Result<Device> {
    available_driver(operation).map(|driver| Device::of(driver.device_type()))
}
