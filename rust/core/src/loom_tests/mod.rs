//! Models of what threads do to one another. Loom runs each of them once for every order of the steps of its
//! threads that can make a difference, and for every value that a load may see.
//!
//! It finds those orders by the last access to each word only, so it passes over some, and over more where
//! interruptions are bounded. That is why a model says what it came to: one that never comes to a result that
//! it is about has been changed into one that shows nothing.

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

/// Runs a model in every way and returns what it came to. Nothing may be left of its threads when it ends.
fn explore<R: Ord + Send + 'static>(model: impl Fn() -> R + Send + Sync + 'static) -> BTreeSet<R> {
    explore_up_to(None, model)
}

/// The same, but only the ways in which threads are interrupted at most so often. Three threads have too
/// many others.
fn explore_up_to<R: Ord + Send + 'static>(
    interruptions: impl Into<Option<usize>>,
    model: impl Fn() -> R + Send + Sync + 'static,
) -> BTreeSet<R> {
    // The value under a lock that is a static is shared by all models of a process.
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

/// A thread whose thread-locals are dropped before it is joined, as they are outside of a model.
fn spawn<R: 'static>(action: impl FnOnce() -> R + 'static) -> JoinHandle<R> {
    loom::thread::spawn(|| {
        let result = action();
        end_thread();
        result
    })
}

/// A scope that decides `cudnn.enabled`.
fn flag_scope(value: bool) -> FlagScope {
    FlagScope::new([(find("cudnn.enabled").unwrap(), InputValue::Bool(value))], None).unwrap()
}
