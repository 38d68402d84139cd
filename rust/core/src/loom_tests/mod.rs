//! Loom models of the interaction of threads. Loom runs each model once for every order of the steps of its threads
//! that can make a difference, and for every value that a load may see.
//!
//! Loom finds those orders by the last access to each word only, so it misses some, and more if preemptions are
//! bounded. That is why each model returns a result and its test compares the set of results: a model that never
//! reaches the results under test would pass without checking them.

mod contexts;
mod flags;
mod locks;
mod remote_exit;
mod scopes;
mod tasks;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use loom::model::Builder;
use loom::thread::JoinHandle;

use crate::base::sync::platform::{begin_execution, end_thread};
use crate::flags::{FlagScope, InputValue, find};
use crate::thread::{MAILBOXES, any_flag_layer};

/// Runs a model in every order and returns its results. Nothing of its threads may remain when it ends.
fn explore<R: Ord + Send + 'static>(model: impl Fn() -> R + Send + Sync + 'static) -> BTreeSet<R> {
    explore_up_to(None, model)
}

/// Like `explore`, with at most this many preemptions. Models of three threads have too many orders otherwise.
fn explore_up_to<R: Ord + Send + 'static>(
    interruptions: impl Into<Option<usize>>,
    model: impl Fn() -> R + Send + Sync + 'static,
) -> BTreeSet<R> {
    // All models of a process share the values of static locks.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);

    let results = Arc::new(Mutex::new((0, BTreeSet::new())));
    let collected = results.clone();
    let mut builder = Builder::new();
    builder.preemption_bound = interruptions.into();
    builder.max_branches = 10_000;
    builder.check(move || {
        begin_execution();
        let result = model();
        end_thread();
        assert!(!any_flag_layer(), "a layer that ended is still counted");
        assert!(MAILBOXES.lock().is_empty(), "a mailbox without an owner");
        let mut collected = collected.lock().unwrap();
        collected.0 += 1;
        collected.1.insert(result);
    });
    let (executions, results) = std::mem::take(&mut *results.lock().unwrap());
    println!("{executions} executions");
    results
}

/// Spawns a thread whose thread-locals are dropped before it is joined, as outside of a model.
fn spawn<R: 'static>(action: impl FnOnce() -> R + 'static) -> JoinHandle<R> {
    loom::thread::spawn(|| {
        let result = action();
        end_thread();
        result
    })
}

/// Returns a scope that sets `cudnn.enabled`.
fn flag_scope(value: bool) -> FlagScope {
    FlagScope::new([(find("cudnn.enabled").unwrap(), InputValue::Bool(value))], None).unwrap()
}
