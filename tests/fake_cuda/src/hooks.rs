//! Hooks of tests: functions that run before the calls of a function of the library.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::call::{Answer, Code};
use crate::errors::SUCCESS;

/// A hook. Any result but `CUDA_SUCCESS` is returned instead of making the call.
pub type Hook = extern "C" fn(*mut c_void) -> c_int;

/// The hooks by the name of their function, each with the address of its argument.
static HOOKS: Mutex<Option<HashMap<String, (Hook, usize)>>> = Mutex::new(None);

/// Whether a hook was ever set, so that other programs take no lock.
static ARE_USED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// Whether this thread runs a hook, whose own calls run none.
    static IS_RUNNING: Cell<bool> = const { Cell::new(false) };
}

pub(crate) fn set(name: &str, hook: Option<Hook>, data: usize) {
    let mut hooks = HOOKS.lock().unwrap_or_else(PoisonError::into_inner);
    let hooks = hooks.get_or_insert_default();
    match hook {
        Some(hook) => drop(hooks.insert(name.to_owned(), (hook, data))),
        None => drop(hooks.remove(name)),
    }
    ARE_USED.store(true, Ordering::SeqCst);
}

/// Runs the hook of a function, without a lock.
pub(crate) fn run(name: &str) -> Answer {
    if !ARE_USED.load(Ordering::SeqCst) || IS_RUNNING.get() {
        return Ok(());
    }
    let found = {
        let hooks = HOOKS.lock().unwrap_or_else(PoisonError::into_inner);
        hooks.as_ref().and_then(|hooks| hooks.get(name).copied())
    };
    let Some((hook, data)) = found else { return Ok(()) };
    IS_RUNNING.set(true);
    let code: Code = hook(std::ptr::with_exposed_provenance_mut(data));
    IS_RUNNING.set(false);
    if code == SUCCESS { Ok(()) } else { Err(code) }
}
