//! Callbacks for memory shortage: c10's `FreeMemoryCallback` and `OutOfMemoryObserver`.

use std::cell::Cell;
use std::sync::Arc;

use interlock_core::Registration;
use interlock_core::base::fork::rank;
use interlock_core::base::hook_list::HookList;
use interlock_driver::OutOfMemory;

use crate::Device;

/// Frees memory of a device that needs this number of bytes; returns whether it freed any.
type FreeMemoryCallback = dyn Fn(Device, usize) -> bool + Send + Sync;
/// Returns whether the failed request is to be repeated.
type OomObserver = dyn Fn(&OutOfMemory) -> bool + Send + Sync;

static HOOKS: HookList<Hook> = HookList::new(rank::OOM_HOOKS);

enum Hook {
    Miss(Box<FreeMemoryCallback>),
    Shortage(Box<FreeMemoryCallback>),
    Oom(Box<OomObserver>),
}

fn register(hook: Hook) -> Registration {
    Registration::new(HOOKS.add(Arc::new(hook)), |number| HOOKS.remove(number))
}

/// Registers a callback that may free memory. It is called with the device and the needed bytes if no cached block
/// serves a request, before the driver allocates. If it returns true, the cached blocks are searched again.
///
/// It runs on the allocating thread without a lock, and is not called for its own allocations.
pub fn on_miss(function: impl Fn(Device, usize) -> bool + Send + Sync + 'static) -> Registration {
    register(Hook::Miss(Box::new(function)))
}

/// Registers a callback that may free memory. It is called like a callback of [`on_miss`], but only if the request would
/// fail otherwise. If it returns true, unused memory is released and the request is repeated.
///
/// ```
/// use std::sync::{Arc, Mutex};
///
/// use interlock_accelerator::memory::{DeviceBuffer, on_shortage};
/// # use interlock_accelerator::host::{HostDriver, HostOptions};
///
/// # interlock_accelerator::use_driver(HostDriver::new(HostOptions { memory: 64 << 20, ..HostOptions::default() })?)?;
/// let results = Arc::new(Mutex::new(vec![DeviceBuffer::new(None, 40 << 20)?]));
/// let cache = results.clone();
/// let registration = on_shortage(move |_device, _bytes| cache.lock().is_ok_and(|mut cache| cache.pop().is_some()));
/// // Device memory has no room for both buffers, so the callback drops the one in the cache.
/// let large = DeviceBuffer::new(None, 60 << 20)?;
/// assert!(results.lock().is_ok_and(|results| results.is_empty()));
/// # drop((registration, large));
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
pub fn on_shortage(function: impl Fn(Device, usize) -> bool + Send + Sync + 'static) -> Registration {
    register(Hook::Shortage(Box::new(function)))
}

/// Registers an observer of failed requests. It is called with the error that the request is about to return. If it
/// returns true, the request is repeated once.
///
/// It runs on the allocating thread without a lock, and is not called for its own allocations.
pub fn on_oom(function: impl Fn(&OutOfMemory) -> bool + Send + Sync + 'static) -> Registration {
    register(Hook::Oom(Box::new(function)))
}

/// Runs the callbacks of [`on_miss`]; returns whether one of them has freed any memory.
pub(crate) fn run_miss_callbacks(device: Device, bytes: usize) -> bool {
    run_all(|hook| matches!(hook, Hook::Miss(function) if function(device, bytes)))
}

/// Runs the callbacks of [`on_shortage`]; returns whether one of them has freed any memory.
pub(crate) fn run_shortage_callbacks(device: Device, bytes: usize) -> bool {
    run_all(|hook| matches!(hook, Hook::Shortage(function) if function(device, bytes)))
}

/// Runs all hooks, because each may free a part of the needed bytes; returns whether `frees` is true for one of them.
fn run_all(frees: impl Fn(&Hook) -> bool) -> bool {
    let hooks = HOOKS.all();
    without_reentry(|| hooks.iter().filter(|hook| frees(hook)).count() > 0)
}

/// Runs the observers of a failed request; returns whether one of them requests a retry.
pub(crate) fn should_retry(oom: &OutOfMemory) -> bool {
    let hooks = HOOKS.all();
    without_reentry(|| hooks.iter().any(|hook| matches!(&**hook, Hook::Oom(function) if function(oom))))
}

/// Runs hooks unless this thread is already running one: a hook that allocates would recurse without end.
fn without_reentry(run: impl FnOnce() -> bool) -> bool {
    thread_local! {
        static IS_RUNNING: Cell<bool> = const { Cell::new(false) };
    }
    struct Reset;
    impl Drop for Reset {
        fn drop(&mut self) {
            IS_RUNNING.set(false);
        }
    }
    if IS_RUNNING.replace(true) {
        return false;
    }
    let _reset = Reset;
    run()
}
