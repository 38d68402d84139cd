//! Functions that are asked where memory is short.

use std::cell::Cell;
use std::sync::Arc;

use interlock_core::base::fork::rank;
use interlock_core::base::sync::ForkLock;

use super::out_of_memory::OutOfMemory;
use crate::Device;

type OnMiss = dyn Fn(Device, usize) -> bool + Send + Sync;
type OnExhaustion = dyn Fn(&OutOfMemory) -> bool + Send + Sync;

static ASKED: ForkLock<Asked> =
    ForkLock::new(rank::OOM_HOOKS, Asked { made: 0, on_miss: Vec::new(), on_oom: Vec::new() });

/// The functions, each with the number of its registration.
pub(crate) struct Asked {
    made: u64,
    on_miss: Vec<(u64, Arc<OnMiss>)>,
    on_oom: Vec<(u64, Arc<OnExhaustion>)>,
}

impl Asked {
    fn next_number(&mut self) -> u64 {
        self.made += 1;
        self.made
    }
}

/// Keeps a function registered until it is dropped.
#[derive(Debug)]
pub struct Registration(u64);

/// Calls `function` where nothing that is kept of a device's memory fits a request, before its driver is asked, with
/// the device and the bytes that are needed. It returns whether it freed some; then what is kept is looked through
/// once more. It runs on the thread that allocates, which is not asked again meanwhile, and holds no lock.
pub fn on_miss(function: impl Fn(Device, usize) -> bool + Send + Sync + 'static) -> Registration {
    let mut asked = ASKED.lock();
    let number = asked.next_number();
    asked.on_miss.push((number, Arc::new(function)));
    Registration(number)
}

/// Calls `function` where a request can't be served, with what will be told otherwise. It returns whether it is worth
/// while to try once more. It runs on the thread that allocates, which is not asked again meanwhile, and holds no lock.
pub fn on_oom(function: impl Fn(&OutOfMemory) -> bool + Send + Sync + 'static) -> Registration {
    let mut asked = ASKED.lock();
    let number = asked.next_number();
    asked.on_oom.push((number, Arc::new(function)));
    Registration(number)
}

impl Drop for Registration {
    fn drop(&mut self) {
        let mut asked = ASKED.lock();
        let miss = asked.on_miss.iter().position(|(number, _)| *number == self.0);
        let miss = miss.map(|place| asked.on_miss.remove(place));
        let oom = asked.on_oom.iter().position(|(number, _)| *number == self.0);
        let oom = oom.map(|place| asked.on_oom.remove(place));
        // Without the lock: what a function owns may do anything when it goes.
        drop(asked);
        drop((miss, oom));
    }
}

/// Whether a function says that it freed memory of the device.
pub(super) fn ask_for_memory(device: Device, bytes: usize) -> bool {
    let functions: Vec<_> = ASKED.lock().on_miss.iter().map(|(_, function)| function.clone()).collect();
    // All are asked: each may have a part of what is needed.
    asking(|| functions.iter().filter(|function| function(device, bytes)).count() > 0)
}

/// Whether a function says that it is worth while to try once more.
pub(super) fn ask_for_another_try(told: &OutOfMemory) -> bool {
    let functions: Vec<_> = ASKED.lock().on_oom.iter().map(|(_, function)| function.clone()).collect();
    asking(|| functions.iter().any(|function| function(told)))
}

/// Asks, unless this thread runs such a function already: one that allocates would be asked without end.
fn asking(ask: impl FnOnce() -> bool) -> bool {
    thread_local! {
        static ASKING: Cell<bool> = const { Cell::new(false) };
    }
    struct Ends;
    impl Drop for Ends {
        fn drop(&mut self) {
            ASKING.set(false);
        }
    }
    if ASKING.replace(true) {
        return false;
    }
    let _ends = Ends;
    ask()
}
