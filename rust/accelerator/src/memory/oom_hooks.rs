//! Functions that run when memory is short.

use std::cell::Cell;
use std::sync::Arc;

use interlock_core::base::fork::rank;
use interlock_core::base::sync::ForkLock;
use interlock_driver::OutOfMemory;

use crate::Device;

/// Returns whether it freed memory of the device: c10's `FreeMemoryCallback`.
type FreeMemoryCallback = dyn Fn(Device, usize) -> bool + Send + Sync;
/// Returns whether the request is to be repeated.
type OomObserver = dyn Fn(&OutOfMemory) -> bool + Send + Sync;

static HOOKS: ForkLock<Hooks> =
    ForkLock::new(rank::OOM_HOOKS, Hooks { registered: 0, functions: Vec::new() });

/// The registered functions, each with the number of its registration.
pub(crate) struct Hooks {
    registered: u64,
    functions: Vec<(u64, Hook)>,
}

#[derive(Clone)]
enum Hook {
    Miss(Arc<FreeMemoryCallback>),
    Oom(Arc<OomObserver>),
}

fn register(hook: Hook) -> Registration {
    let mut hooks = HOOKS.lock();
    hooks.registered += 1;
    let number = hooks.registered;
    hooks.functions.push((number, hook));
    Registration(number)
}

fn registered() -> Vec<Hook> {
    HOOKS.lock().functions.iter().map(|(_, hook)| hook.clone()).collect()
}

/// A registered function, which is removed when the registration is dropped.
///
/// ```
/// use interlock_accelerator::memory::{Registration, on_oom};
///
/// let registration: Registration = on_oom(|oom| {
///     eprintln!("{oom}");
///     false
/// });
/// // Memory that runs out from here on is reported no more.
/// drop(registration);
/// ```
#[derive(Debug)]
pub struct Registration(u64);

/// Calls `function` when no cached block serves a request, before the driver is asked, with the device and the bytes
/// that are needed. If it returns true, because it freed memory, the cached blocks are searched once more. It runs on
/// the thread that allocates, without a lock, and is not called again for its own allocations.
pub fn on_miss(function: impl Fn(Device, usize) -> bool + Send + Sync + 'static) -> Registration {
    register(Hook::Miss(Arc::new(function)))
}

/// Calls `function` when memory runs out, with the error that the program gets otherwise. If it returns true the
/// request is repeated once. It runs on the thread that allocates, without a lock, and is not called again for its own
/// allocations.
pub fn on_oom(function: impl Fn(&OutOfMemory) -> bool + Send + Sync + 'static) -> Registration {
    register(Hook::Oom(Arc::new(function)))
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut hooks = HOOKS.lock();
        let place = hooks.functions.iter().position(|(number, _)| *number == self.0);
        let removed = place.map(|place| hooks.functions.remove(place));
        // Without the lock: values that a function owns may do anything when they are dropped.
        drop(hooks);
        drop(removed);
    }
}

/// Runs the callbacks that free memory; returns whether one of them has freed some.
pub(super) fn run_free_callbacks(device: Device, bytes: usize) -> bool {
    let hooks = registered();
    let frees = |hook: &&Hook| matches!(hook, Hook::Miss(function) if function(device, bytes));
    // All run: each may free a part of what is needed.
    without_reentry(|| hooks.iter().filter(frees).count() > 0)
}

/// Runs the observers of a failed request; returns whether one of them wants it repeated.
pub(super) fn should_retry(oom: &OutOfMemory) -> bool {
    let hooks = registered();
    without_reentry(|| hooks.iter().any(|hook| matches!(hook, Hook::Oom(function) if function(oom))))
}

/// Runs hooks unless this thread runs one already: a hook that allocates would be called without end.
fn without_reentry(run: impl FnOnce() -> bool) -> bool {
    thread_local! {
        static IS_RUNNING: Cell<bool> = const { Cell::new(false) };
    }
    struct Ends;
    impl Drop for Ends {
        fn drop(&mut self) {
            IS_RUNNING.set(false);
        }
    }
    if IS_RUNNING.replace(true) {
        return false;
    }
    let _ends = Ends;
    run()
}
