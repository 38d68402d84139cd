//! Python functions in the order of a stream.
//!
//! A stream's own thread never runs Python: an interpreter that ends stops threads by unwinding their stacks,
//! which no frame of Rust may stand in the way of. It hands the call to a thread that Python started and waits
//! for it. Such threads serve all streams; one that takes a call while no other is idle starts another first, so
//! functions of different streams run at the same time.

use std::collections::HashMap;
use std::collections::VecDeque;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use interlock::accelerator::Work;
use interlock::lifecycle::fork_generation;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::stream;
use crate::detached::detached;
use crate::errors::IntoPython;
use crate::state::ThreadState;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Call>()?;
    module.add_function(wrap_pyfunction!(launch_python, module)?)?;
    module.add_function(wrap_pyfunction!(next_call, module)?)?;
    module.add_function(wrap_pyfunction!(needs_a_thread, module)?)?;
    module.add_function(wrap_pyfunction!(no_thread_came, module)?)
}

/// What the threads of streams and the threads of Python share.
struct Exchange {
    generation: u32,
    /// Every Python object that streams and graphs hold, so that it can be let go before the interpreter ends.
    functions: Mutex<HashMap<u64, Function>>,
    calls: Mutex<Calls>,
    changed: Condvar,
}

struct Function {
    function: Py<PyAny>,
    arguments: Py<PyTuple>,
}

#[derive(Default)]
struct Calls {
    waiting: VecDeque<Arc<Pending>>,
    /// Threads that wait for a call.
    idle: usize,
    /// Threads that were started and have not asked for a call yet.
    coming: usize,
    last_function: u64,
}

/// A call that a stream waits for.
struct Pending {
    function: u64,
    /// In force where it was launched.
    state: interlock::state::ThreadState,
    outcome: Mutex<Option<Result<(), String>>>,
    ended: Condvar,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The exchange of this process: a forked child has none of the threads, and begins a new one.
fn exchange() -> &'static Exchange {
    static EXCHANGE: AtomicPtr<Exchange> = AtomicPtr::new(ptr::null_mut());
    let generation = fork_generation();
    loop {
        let found = EXCHANGE.load(Ordering::Acquire);
        // SAFETY: an exchange is never freed.
        if let Some(exchange) = unsafe { found.as_ref() }
            && exchange.generation == generation
        {
            return exchange;
        }
        let made = Box::into_raw(Box::new(Exchange {
            generation,
            functions: Mutex::default(),
            calls: Mutex::default(),
            changed: Condvar::new(),
        }));
        if EXCHANGE.compare_exchange(found, made, Ordering::AcqRel, Ordering::Acquire).is_err() {
            // SAFETY: nobody else has seen it.
            drop(unsafe { Box::from_raw(made) });
        }
    }
}

/// Keeps a function of Python for a stream or a graph.
struct Kept {
    exchange: &'static Exchange,
    function: u64,
}

impl Drop for Kept {
    fn drop(&mut self) {
        // Dropped on a thread that is not attached, the objects wait until one is.
        let gone = locked(&self.exchange.functions).remove(&self.function);
        drop(gone);
    }
}

/// Lets every function go; what streams have not run by now they won't.
pub(crate) fn forget(_py: Python<'_>) {
    let gone = std::mem::take(&mut *locked(&exchange().functions));
    drop(gone);
}

/// Queues a call of `function(*args)`. What it raises is told late: whatever next waits for the stream raises
/// `AcceleratorError`, which names the function and what it raised.
#[pyfunction]
#[pyo3(signature = (stream, function, args))]
fn launch_python(
    stream: &Bound<'_, PyAny>,
    function: &Bound<'_, PyAny>,
    args: &Bound<'_, PyTuple>,
) -> PyResult<()> {
    let py = stream.py();
    let core = stream::taken(stream)?;
    let name = function.getattr("__qualname__").and_then(|name| name.extract::<String>());
    let name = name.or_else(|_| Ok::<_, PyErr>(function.get_type().name()?.to_string()))?;
    let exchange = exchange();
    let number = {
        let mut calls = locked(&exchange.calls);
        calls.last_function += 1;
        calls.last_function
    };
    let kept = Function { function: function.clone().unbind(), arguments: args.clone().unbind() };
    locked(&exchange.functions).insert(number, kept);
    let kept = Kept { exchange, function: number };
    let work = Work::new(&name, move || call_in_python(&kept));
    detached(py, || core.launch(work)).into_python(py)
}

/// On the thread of a stream: has a thread of Python call the function, and waits for it.
fn call_in_python(kept: &Kept) -> Result<(), String> {
    let pending = Arc::new(Pending {
        function: kept.function,
        state: interlock::state::ThreadState::capture(),
        outcome: Mutex::default(),
        ended: Condvar::new(),
    });
    locked(&kept.exchange.calls).waiting.push_back(pending.clone());
    kept.exchange.changed.notify_one();
    let mut outcome = locked(&pending.outcome);
    loop {
        if let Some(outcome) = outcome.take() {
            return outcome;
        }
        outcome = pending.ended.wait(outcome).unwrap_or_else(PoisonError::into_inner);
    }
}

/// A call to be made by the thread that took it.
#[pyclass(frozen, module = "interlock._core.accelerator")]
struct Call(Arc<Pending>);

#[pymethods]
impl Call {
    /// The function and its arguments; None once the interpreter is about to end.
    fn function(&self, py: Python<'_>) -> Option<(Py<PyAny>, Py<PyTuple>)> {
        let functions = locked(&exchange().functions);
        let found = functions.get(&self.0.function)?;
        Some((found.function.clone_ref(py), found.arguments.clone_ref(py)))
    }

    /// The state of the thread that launched it.
    fn state(&self) -> ThreadState {
        ThreadState(self.0.state.clone())
    }

    /// It has returned, or failed for a reason.
    #[pyo3(signature = (reason=None))]
    fn end(&self, reason: Option<String>) {
        *locked(&self.0.outcome) = Some(reason.map_or(Ok(()), Err));
        self.0.ended.notify_all();
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        // A thread that was stopped in the middle of the call won't tell how it ended.
        let mut outcome = locked(&self.0.outcome);
        if outcome.is_none() && Arc::strong_count(&self.0) > 1 {
            *outcome = Some(Err("the thread that called it was stopped".to_owned()));
            self.0.ended.notify_all();
        }
    }
}

/// Whether a thread of Python has to be started, so that one is idle; the caller starts it.
#[pyfunction]
fn needs_a_thread() -> bool {
    let mut calls = locked(&exchange().calls);
    let needed = calls.idle + calls.coming == 0;
    calls.coming += usize::from(needed);
    needed
}

/// The thread that was needed could not be started.
#[pyfunction]
fn no_thread_came() {
    let mut calls = locked(&exchange().calls);
    calls.coming = calls.coming.saturating_sub(1);
}

/// Waits for a call; None where another thread is idle already, and this one may end. `is_new` for a thread's
/// first.
#[pyfunction]
fn next_call(py: Python<'_>, is_new: bool) -> Option<Call> {
    detached(py, || {
        let exchange = exchange();
        let mut calls = locked(&exchange.calls);
        calls.coming = calls.coming.saturating_sub(usize::from(is_new));
        loop {
            if let Some(pending) = calls.waiting.pop_front() {
                return Some(Call(pending));
            }
            if calls.idle > 0 {
                return None;
            }
            calls.idle += 1;
            calls = exchange.changed.wait(calls).unwrap_or_else(PoisonError::into_inner);
            calls.idle -= 1;
        }
    })
}
