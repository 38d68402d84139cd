//! Where threads of streams, which call no Python, and the servers that call it for them meet.

use std::collections::{HashMap, VecDeque};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use interlock::accelerator::driver::StreamHandle;
use interlock::base::fork;
use interlock::state;
use pyo3::prelude::*;

use crate::deferred_drop::DeferredDrop;

/// What the threads of streams and the servers share.
pub(super) struct Exchange {
    generation: u32,
    /// The exchange of this process that this one replaced. Servers may still run calls of it.
    replaced: Option<&'static Exchange>,
    /// Every Python object that streams and graphs hold, so that it can be let go before the interpreter ends.
    pub(super) functions: Mutex<HashMap<u64, Arc<Function>>>,
    pub(super) calls: Mutex<Calls>,
    pub(super) changed: Condvar,
}

pub(super) struct Function {
    pub(super) function: DeferredDrop,
    pub(super) arguments: DeferredDrop,
    pub(super) keywords: DeferredDrop,
}

#[derive(Default)]
pub(super) struct Calls {
    pub(super) waiting: VecDeque<Arc<Pending>>,
    /// Every call without an outcome, also while a server runs it.
    unfinished: Vec<Arc<Pending>>,
    /// Servers that wait for a call.
    pub(super) idle: usize,
    /// Servers that were asked for and have not waited for a call yet.
    pub(super) coming: usize,
    pub(super) last_function: u64,
    /// The interpreter is about to end, and nobody serves any more.
    pub(super) closed: bool,
}

/// A call that a stream waits for.
pub(super) struct Pending {
    pub(super) function: u64,
    pub(super) stream: StreamHandle,
    /// In force where it was launched.
    pub(super) state: state::ThreadState,
    outcome: Mutex<Option<Result<(), String>>>,
    ended: Condvar,
}

const ENDS: &str = "the interpreter is about to end";

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Exchange {
    fn new(replaced: Option<&'static Exchange>) -> Self {
        Exchange {
            generation: fork::generation(),
            replaced: replaced.filter(|replaced| replaced.is_of_this_process()),
            functions: Mutex::default(),
            calls: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// That of this process and interpreter.
    pub(super) fn current() -> &'static Exchange {
        loop {
            let found = EXCHANGE.load(Ordering::Acquire);
            // SAFETY: an exchange is never freed.
            match unsafe { found.as_ref() } {
                Some(exchange) if exchange.is_of_this_process() => return exchange,
                // A forked child has none of the threads of its parent, and begins a new one.
                _ => Exchange::replace(found),
            }
        }
    }

    /// Returns the number of the next function to be queued, or `None` once functions are refused.
    pub(super) fn next_function(&self) -> Option<u64> {
        let mut calls = locked(&self.calls);
        if calls.closed {
            return None;
        }
        calls.last_function += 1;
        Some(calls.last_function)
    }

    fn replace(found: *mut Exchange) {
        // SAFETY: an exchange is never freed.
        let made = Box::into_raw(Box::new(Exchange::new(unsafe { found.as_ref() })));
        if EXCHANGE.compare_exchange(found, made, Ordering::AcqRel, Ordering::Acquire).is_err() {
            // SAFETY: nobody else has seen it.
            drop(unsafe { Box::from_raw(made) });
        }
    }

    pub(super) fn is_of_this_process(&self) -> bool {
        self.generation == fork::generation()
    }

    /// Accepts no more calls and drops every function. Returns the calls that no server has taken.
    fn close(&self) -> VecDeque<Arc<Pending>> {
        let waiting = {
            let mut calls = locked(&self.calls);
            calls.closed = true;
            std::mem::take(&mut calls.waiting)
        };
        let functions = std::mem::take(&mut *locked(&self.functions));
        // Without the lock: their last references may be dropped here.
        drop(functions);
        self.changed.notify_all();
        waiting
    }
}

static EXCHANGE: AtomicPtr<Exchange> = AtomicPtr::new(ptr::null_mut());

/// Drops every function and ends the calls that no server has taken. The next launch opens a new exchange: handlers
/// of `atexit` that run later may launch, and a program may only have called the handlers.
pub(crate) fn forget(_py: Python<'_>) {
    let exchange = Exchange::current();
    exchange.close().iter().for_each(|pending| pending.end(Err(ENDS.to_owned())));
    Exchange::replace(ptr::from_ref(exchange).cast_mut());
}

/// Ends every call, also those that a server runs, and refuses launches from now on. Called by the thread that
/// finalizes the interpreter, which is the only one that still runs Python: no server can finish a call any more.
pub(crate) fn close(_py: Python<'_>) {
    let mut next = Some(Exchange::current());
    while let Some(exchange) = next {
        exchange.close();
        let unfinished = std::mem::take(&mut locked(&exchange.calls).unfinished);
        unfinished.iter().for_each(|pending| pending.end(Err(ENDS.to_owned())));
        next = exchange.replaced;
    }
}

/// Accepts launches for a new interpreter of this process.
pub(crate) fn open(_py: Python<'_>) {
    let exchange = Exchange::current();
    if locked(&exchange.calls).closed {
        Exchange::replace(ptr::from_ref(exchange).cast_mut());
    }
}

/// Keeps a function of Python for a stream or a graph.
pub(super) struct Kept {
    pub(super) exchange: &'static Exchange,
    pub(super) function: u64,
}

impl Drop for Kept {
    fn drop(&mut self) {
        // A forked child may find it locked by a thread that it lacks.
        if self.exchange.is_of_this_process() {
            let gone = locked(&self.exchange.functions).remove(&self.function);
            drop(gone);
        }
    }
}

/// On the thread of a stream: has a server call the function, and waits for it.
pub(super) fn call_in_python(kept: &Kept, stream: StreamHandle) -> Result<(), String> {
    let pending = Arc::new(Pending {
        function: kept.function,
        stream,
        state: state::ThreadState::capture(),
        outcome: Mutex::default(),
        ended: Condvar::new(),
    });
    {
        let mut calls = locked(&kept.exchange.calls);
        if calls.closed {
            return Err(ENDS.to_owned());
        }
        calls.waiting.push_back(pending.clone());
        calls.unfinished.push(pending.clone());
    }
    kept.exchange.changed.notify_one();
    let outcome = pending.wait();
    locked(&kept.exchange.calls).unfinished.retain(|unfinished| !Arc::ptr_eq(unfinished, &pending));
    outcome
}

impl Pending {
    pub(super) fn end(&self, outcome: Result<(), String>) {
        locked(&self.outcome).get_or_insert(outcome);
        self.ended.notify_all();
    }

    fn wait(&self) -> Result<(), String> {
        let mut outcome = locked(&self.outcome);
        loop {
            if let Some(outcome) = outcome.take() {
                return outcome;
            }
            outcome = self.ended.wait(outcome).unwrap_or_else(PoisonError::into_inner);
        }
    }
}
