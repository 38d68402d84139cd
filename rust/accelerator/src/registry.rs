//! Which driver this process uses: asked for by the program, by the environment or registered by the program
//! that embeds this crate, and fixed at first use.

use std::sync::Arc;

use interlock_core::base::env;
use interlock_core::base::fork::rank;
use interlock_core::base::sync::ForkLock;
use interlock_driver::Driver;

use super::accelerator::Accelerator;
use super::{Device, Error, Result, builtin, memory};

/// What was chosen and what is in use.
static REGISTRY: ForkLock<Registry> = ForkLock::new(
    rank::DRIVERS,
    Registry {
        asked_for: None,
        environment: None,
        replaced: Vec::new(),
        registered: Vec::new(),
        in_use: None,
        last_warning: None,
    },
);

pub(crate) struct Registry {
    asked_for: Option<DriverSelection>,
    /// What the environment said when it was last read, and what that comes to.
    environment: Option<(Option<String>, DriverSelection)>,
    /// What the environment asked for before, and was never used. It stays, as it would have to go under the lock.
    replaced: Vec<DriverSelection>,
    registered: Vec<Arc<dyn Driver>>,
    in_use: Option<&'static Accelerator>,
    /// The last warning of variables that changed after the driver had read them.
    last_warning: Option<String>,
}

/// Which driver is to be used, as far as that is known.
#[derive(Clone)]
pub(crate) enum DriverSelection {
    /// The first registered driver that can be used, else the default one of those that are compiled in.
    Auto,
    Driver(Arc<dyn Driver>),
    /// That of a type which may be registered later.
    Named(String),
    /// None at all, and why.
    Disabled(String),
}

impl Registry {
    /// The accelerator in use, if it is of this process.
    fn current(&self) -> Option<&'static Accelerator> {
        self.in_use.filter(|found| found.is_of_this_process())
    }

    /// The driver that was named, or the first registered one that can be used; else the choice is left.
    fn chosen(&mut self) -> DriverSelection {
        if let Some(in_use) = self.current() {
            return DriverSelection::Driver(in_use.driver().clone());
        }
        if let Some(asked_for) = &self.asked_for {
            return asked_for.clone();
        }
        match self.environment() {
            DriverSelection::Named(name) => match self.registered_as(&name) {
                Some(driver) => DriverSelection::Driver(driver),
                None => DriverSelection::Disabled(format!(
                    "{} is {name:?}, and no driver of that name is registered; without registering there \
                     are {}",
                    env::ACCELERATOR,
                    builtin::accepted()
                )),
            },
            chosen => chosen,
        }
    }

    /// What the environment asks for, which is read again until a driver is in use.
    fn environment(&mut self) -> DriverSelection {
        let text = asked_by_environment();
        match &self.environment {
            Some((read, chosen)) if *read == text => chosen.clone(),
            _ => {
                let chosen = text.as_deref().map_or(DriverSelection::Auto, understood);
                let replaced = self.environment.replace((text, chosen.clone()));
                self.replaced.extend(replaced.map(|(_, chosen)| chosen));
                chosen
            }
        }
    }

    fn registered_as(&self, name: &str) -> Option<Arc<dyn Driver>> {
        self.registered.iter().find(|driver| driver.device_type().name() == name).cloned()
    }
}

fn asked_by_environment() -> Option<String> {
    env::read(env::ACCELERATOR).filter(|text| !text.is_empty())
}

/// The choice that a text of the environment stands for.
fn understood(text: &str) -> DriverSelection {
    let disabled =
        |reason: &str| DriverSelection::Disabled(format!("{} is {text:?}{reason}", env::ACCELERATOR));
    let (name, count) = text.split_once(':').map_or((text, None), |(name, count)| (name, Some(count)));
    let driver = match (builtin::find(name), count.map(str::parse)) {
        (None, None) if name == "none" => return disabled(""),
        (Some(builtin), None) => (builtin.driver)(None),
        (Some(builtin), Some(Ok(devices))) if builtin.accepts_count => (builtin.driver)(Some(devices)),
        (Some(builtin), Some(Err(_))) if builtin.accepts_count => {
            return disabled("; after the colon it takes a number of devices");
        }
        _ => return DriverSelection::Named(text.to_owned()),
    };
    driver.map_or_else(|error| disabled(&format!(": {error}")), DriverSelection::Driver)
}

/// What the environment asks for now, if that is something else than when the driver was fixed or started, and so
/// comes too late; told once for each change.
#[doc(hidden)]
pub fn environment_came_too_late() -> Option<String> {
    choice_came_too_late().or_else(|| {
        // Asked without the lock: what a driver looks at is its own.
        let changed = chosen().ok()?.stale_env_warning();
        let mut registry = REGISTRY.lock();
        let is_told = registry.last_warning == changed;
        registry.last_warning.clone_from(&changed);
        changed.filter(|_| !is_told)
    })
}

fn choice_came_too_late() -> Option<String> {
    let mut registry = REGISTRY.lock();
    let in_use = registry.current()?;
    let text = asked_by_environment();
    let (read, _) = registry.environment.as_mut()?;
    if *read == text {
        return None;
    }
    let now = text.as_ref().map_or("not set any more".to_owned(), |text| format!("{text:?} now"));
    *read = text;
    Some(format!(
        "{} is {now}, which comes too late: the driver of {} is in use, which is fixed at first use",
        env::ACCELERATOR,
        in_use.kind()
    ))
}

/// The driver that a question is answered for, or why there is none. Starts nothing and fixes nothing.
pub(super) fn chosen() -> Result<Arc<dyn Driver>, String> {
    let (chosen, registered) = {
        let mut registry = REGISTRY.lock();
        (registry.chosen(), registry.registered.clone())
    };
    // Asked without the lock: a driver may take its time.
    match chosen {
        DriverSelection::Driver(driver) => Ok(driver),
        DriverSelection::Disabled(reason) => Err(reason),
        _ => {
            let usable = registered.into_iter().find(|driver| driver.unavailable_reason().is_none());
            usable.map_or_else(builtin::default_driver, Ok)
        }
    }
}

/// What the questions for devices answer, where that is known.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownDevices {
    /// What [`current_accelerator`] returns.
    pub accelerator: Option<Device>,
    /// What [`device_count`] returns.
    pub count: u32,
}

/// Returns what the questions for devices answer if no driver has to be asked that may block, and no change of the
/// environment is to be reported ([`environment_came_too_late`]). Starts nothing, fixes nothing and waits for nothing, so
/// that a thread that is attached to an interpreter need not detach.
///
/// The environment is read again with each call until a driver is in use, and afterwards to see whether it changed.
#[doc(hidden)]
pub fn known_devices() -> Option<KnownDevices> {
    let mut registry = REGISTRY.lock();
    let in_use = registry.current();
    let has_changed = |(read, _): &(Option<String>, _)| *read != asked_by_environment();
    if in_use.is_some() && registry.environment.as_ref().is_some_and(has_changed) {
        return None;
    }
    let chosen = registry.chosen();
    let told = registry.last_warning.clone();
    let any_registered = !registry.registered.is_empty();
    // A driver is asked without the lock.
    drop(registry);
    let (driver, was_chosen) = match chosen {
        DriverSelection::Driver(driver) => (driver, true),
        DriverSelection::Disabled(_) => return Some(KnownDevices { accelerator: None, count: 0 }),
        // Which of them can be used is for them to say.
        _ if any_registered => return None,
        _ => match builtin::default_driver() {
            Ok(driver) => (driver, false),
            Err(_) => return Some(KnownDevices { accelerator: None, count: 0 }),
        },
    };
    let count = match in_use {
        Some(in_use) => u32::try_from(in_use.device_count()).ok()?,
        None => driver.device_count_if_known()?,
    };
    let accelerator = (was_chosen || count > 0).then(|| Device::of(driver.device_type()));
    (driver.stale_env_warning() == told).then_some(KnownDevices { accelerator, count })
}

/// The accelerator that this process has used already, if any. Starts nothing and fixes nothing.
pub(super) fn used_already() -> Option<&'static Accelerator> {
    REGISTRY.lock().current()
}

/// The accelerator in use; the first call starts its driver and fixes it. Fails where there is none for
/// `operation`.
pub(crate) fn in_use(operation: &'static str) -> Result<&'static Accelerator> {
    loop {
        let found = REGISTRY.lock().in_use;
        match found {
            Some(found) if found.is_of_this_process() => return Ok(found),
            // The process was forked since: only the driver knows whether it can begin again.
            Some(found) => {
                let again = found.driver().driver_for_child();
                install(again.ok_or(Error::Forked { what: operation })?, |_| true)?;
            }
            None => {
                let driver = usable(operation)?;
                let is_it = |asked_for: &DriverSelection| matches!(asked_for, DriverSelection::Driver(it) if Arc::ptr_eq(it, &driver));
                install(driver.clone(), is_it)?;
            }
        }
    }
}

/// Starts a driver and puts it in use, unless another thread has put one there, or asked for one that is not `still_wanted`, in
/// the meantime.
fn install(driver: Arc<dyn Driver>, still_wanted: impl Fn(&DriverSelection) -> bool) -> Result<()> {
    // Built outside the lock; discarded if another thread wins.
    let made = Box::new(Accelerator::start(driver)?);
    let mut registry = REGISTRY.lock();
    let is_free = registry.current().is_none();
    if is_free && registry.asked_for.as_ref().is_none_or(still_wanted) {
        // It lasts as long as the process: streams and events refer to it.
        let made: &'static Accelerator = Box::leak(made);
        registry.in_use = Some(made);
        drop(registry);
        memory::apply_history(made)?;
    } else {
        // Without the lock: what a driver does when it goes is its own.
        drop(registry);
        drop(made);
    }
    Ok(())
}

/// The chosen driver, if it has a device.
fn usable(operation: &'static str) -> Result<Arc<dyn Driver>> {
    let usable = chosen().and_then(|driver| why_not(&*driver).map_or(Ok(driver), Err));
    usable.map_err(|reason| Error::NoAccelerator { operation, reason })
}

/// Why a driver can't be used, if so.
fn why_not(driver: &dyn Driver) -> Option<String> {
    let without_devices =
        || (driver.device_count() == 0).then(|| format!("{} has no devices", driver.device_type()));
    driver.unavailable_reason().or_else(without_devices)
}

/// Chooses the driver for this process. Fails once one is in use: it is fixed at first use.
pub fn use_driver(driver: Arc<dyn Driver>) -> Result<()> {
    let name = driver.device_type().name();
    choose(DriverSelection::Driver(driver), name)
}

/// Chooses by name, as the environment does: "host", "cuda", the type of a registered driver, or "none".
pub fn use_named(name: &str) -> Result<()> {
    if let Some(builtin) = builtin::find(name) {
        return use_driver((builtin.driver)(None)?);
    }
    let driver = match name {
        "none" => {
            return choose(DriverSelection::Disabled("the program chose to use none".to_owned()), "none");
        }
        _ => REGISTRY.lock().registered_as(name),
    };
    match driver {
        Some(driver) => use_driver(driver),
        None => Err(Error::UnknownDriver { given: name.to_owned(), known: known() }),
    }
}

fn choose(chosen: DriverSelection, name: &'static str) -> Result<()> {
    let mut registry = REGISTRY.lock();
    // A forked child may choose again, as it has used none yet.
    if let Some(in_use) = registry.current() {
        return Err(Error::DriverInUse { asked_for: name, in_use: in_use.kind().name() });
    }
    registry.in_use = None;
    let replaced = registry.asked_for.replace(chosen);
    // Without the lock: what a driver does when it goes is its own.
    drop(registry);
    drop(replaced);
    Ok(())
}

fn known() -> Vec<&'static str> {
    let registered: Vec<_> =
        REGISTRY.lock().registered.iter().map(|driver| driver.device_type().name()).collect();
    builtin::names().chain(["none"]).chain(registered).collect()
}

/// Adds a driver, to be used where neither the program nor the environment asks for one. It takes the place
/// of one that was registered for the same type before.
pub fn register_driver(driver: Arc<dyn Driver>) -> Result<()> {
    let mut registry = REGISTRY.lock();
    let kind = driver.device_type();
    if let Some(in_use) = registry.current()
        && in_use.kind() == kind
    {
        return Err(Error::DriverInUse { asked_for: kind.name(), in_use: kind.name() });
    }
    let place = registry.registered.iter_mut().find(|other| other.device_type() == kind);
    let replaced = match place {
        Some(place) => Some(std::mem::replace(place, driver)),
        None => {
            registry.registered.push(driver);
            None
        }
    };
    // Without the lock: what a driver does when it goes is its own.
    drop(registry);
    drop(replaced);
    Ok(())
}

/// Whether the first device has virtual memory, as far as that is known without starting a driver.
pub(super) fn has_virtual_memory() -> bool {
    if let Some(in_use) = used_already() {
        let granularity =
            in_use.driver_for("the accelerator").and_then(|driver| driver.mapping_granularity(0));
        return granularity.is_ok_and(|bytes| bytes > 0);
    }
    chosen().is_ok_and(|driver| why_not(&*driver).is_none() && driver.has_virtual_memory())
}

/// How many devices the accelerator has; 0 where there is none. Fixes nothing.
pub fn device_count() -> u32 {
    match chosen() {
        Ok(driver) if driver.unavailable_reason().is_none() => driver.device_count(),
        _ => 0,
    }
}

/// The accelerator of this process, without an index; `None` where none was chosen and none can be used.
pub fn current_accelerator() -> Option<Device> {
    let was_chosen = !matches!(REGISTRY.lock().chosen(), DriverSelection::Auto);
    let driver = chosen().ok()?;
    (was_chosen || why_not(&*driver).is_none()).then(|| Device::of(driver.device_type()))
}

/// Why there is no accelerator with a device, in one sentence; `None` where there is one.
pub fn why_unavailable() -> Option<String> {
    chosen().map_or_else(Some, |driver| why_not(&*driver))
}

/// The accelerator, without an index, or an error that says what `operation` needs one for and why there is
/// none.
pub fn required(operation: &'static str) -> Result<Device> {
    match (why_unavailable(), current_accelerator()) {
        (None, Some(device)) => Ok(device),
        (reason, _) => Err(Error::NoAccelerator { operation, reason: reason.unwrap_or_default() }),
    }
}
