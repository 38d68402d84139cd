//! Python functions in the order of a stream.
//!
//! A stream's own thread never runs Python: an interpreter that ends stops threads by unwinding their stacks,
//! which no frame of Rust may stand in the way of. It hands the call to a server, a thread that Python started,
//! and waits for it. Servers serve all streams. One that takes a call while no other is idle starts another first,
//! so functions of different streams run at the same time.

use std::collections::{HashMap, VecDeque};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use interlock::accelerator::driver::StreamHandle;
use interlock::accelerator::{Serving, Stream as CoreStream, Work};
use interlock::lifecycle::fork_generation;
use interlock::state;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::stream;
use crate::detached::detached;
use crate::errors::IntoPython;
use crate::released::Released;
use crate::state::ThreadState;

pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<Launch>()?;
    module.add_class::<Server>()?;
    module.add_class::<Call>()?;
    module.add_function(wrap_pyfunction!(server_if_needed, module)?)
}

/// What the threads of streams and the servers share.
struct Exchange {
    generation: u32,
    /// Every Python object that streams and graphs hold, so that it can be let go before the interpreter ends.
    functions: Mutex<HashMap<u64, Arc<Function>>>,
    calls: Mutex<Calls>,
    changed: Condvar,
}

struct Function {
    function: Released,
    arguments: Released,
    keywords: Released,
}

#[derive(Default)]
struct Calls {
    waiting: VecDeque<Arc<Pending>>,
    /// Servers that wait for a call.
    idle: usize,
    /// Servers that were asked for and have not waited for a call yet.
    coming: usize,
    last_function: u64,
    /// The interpreter is about to end, and nobody serves any more.
    closed: bool,
}

/// A call that a stream waits for.
struct Pending {
    function: u64,
    stream: StreamHandle,
    /// In force where it was launched.
    state: state::ThreadState,
    outcome: Mutex<Option<Result<(), String>>>,
    ended: Condvar,
}

const ENDS: &str = "the interpreter is about to end";

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Exchange {
    fn new() -> Self {
        Exchange {
            generation: fork_generation(),
            functions: Mutex::default(),
            calls: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    /// That of this process and interpreter.
    fn current() -> &'static Exchange {
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

    fn replace(found: *mut Exchange) {
        let made = Box::into_raw(Box::new(Exchange::new()));
        if EXCHANGE.compare_exchange(found, made, Ordering::AcqRel, Ordering::Acquire).is_err() {
            // SAFETY: nobody else has seen it.
            drop(unsafe { Box::from_raw(made) });
        }
    }

    fn is_of_this_process(&self) -> bool {
        self.generation == fork_generation()
    }
}

static EXCHANGE: AtomicPtr<Exchange> = AtomicPtr::new(ptr::null_mut());

/// Lets every function go; what streams have not run by now they won't. The next launch, of another interpreter
/// or in a handler of `atexit`, begins anew.
pub(crate) fn forget(_py: Python<'_>) {
    let exchange = Exchange::current();
    let waiting = {
        let mut calls = locked(&exchange.calls);
        calls.closed = true;
        std::mem::take(&mut calls.waiting)
    };
    waiting.iter().for_each(|pending| pending.end(Err(ENDS.to_owned())));
    drop(std::mem::take(&mut *locked(&exchange.functions)));
    exchange.changed.notify_all();
    Exchange::replace(ptr::from_ref(exchange).cast_mut());
}

/// Keeps a function of Python for a stream or a graph.
struct Kept {
    exchange: &'static Exchange,
    function: u64,
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

/// A call of a function to be queued on a stream.
#[pyclass(frozen, module = "interlock._core.accelerator")]
struct Launch {
    stream: CoreStream,
    name: String,
    function: Arc<Function>,
}

#[pymethods]
impl Launch {
    #[new]
    fn new(
        stream: &Bound<'_, PyAny>,
        function: Bound<'_, PyAny>,
        args: Bound<'_, PyTuple>,
        kwargs: Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let stream = stream::taken(stream)?;
        if !function.is_callable() {
            let class = function.get_type().name()?;
            let message = format!("accelerator.launch takes a function, got a value of type {class}");
            return Err(PyTypeError::new_err(message));
        }
        let name = function.getattr("__qualname__").and_then(|name| name.extract::<String>());
        let name = name.or_else(|_| function.get_type().name()?.extract())?;
        let function = Function {
            function: Released::new(function),
            arguments: Released::new(args),
            keywords: Released::new(kwargs),
        };
        Ok(Launch { stream, name, function: Arc::new(function) })
    }

    /// Queues it. What the function raises is told late: by whatever next waits for the stream.
    fn queue(&self, py: Python<'_>) -> PyResult<()> {
        let exchange = Exchange::current();
        let function = {
            let mut calls = locked(&exchange.calls);
            calls.last_function += 1;
            calls.last_function
        };
        locked(&exchange.functions).insert(function, self.function.clone());
        let (kept, stream) = (Kept { exchange, function }, self.stream.handle().into_python(py)?);
        let work = Work::new(&self.name, move || call_in_python(&kept, stream));
        detached(py, || self.stream.launch(work)).into_python(py)
    }
}

/// On the thread of a stream: has a server call the function, and waits for it.
fn call_in_python(kept: &Kept, stream: StreamHandle) -> Result<(), String> {
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
    }
    kept.exchange.changed.notify_one();
    pending.wait()
}

impl Pending {
    fn end(&self, outcome: Result<(), String>) {
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

/// A thread of Python that makes calls, or is to become one.
#[pyclass(frozen, module = "interlock._core.accelerator")]
struct Server {
    exchange: &'static Exchange,
    came: AtomicBool,
}

/// A server to be given a thread, where none is idle.
#[pyfunction]
fn server_if_needed() -> Option<Server> {
    let exchange = Exchange::current();
    let mut calls = locked(&exchange.calls);
    let needed = calls.idle + calls.coming == 0 && !calls.closed;
    calls.coming += usize::from(needed);
    needed.then(|| Server { exchange, came: AtomicBool::new(false) })
}

impl Server {
    /// So many stay when there is nothing to do.
    const SPARE: usize = 4;

    fn comes(&self, calls: &mut Calls) {
        if !self.came.swap(true, Ordering::Relaxed) {
            calls.coming = calls.coming.saturating_sub(1);
        }
    }

    fn next_pending(&self) -> Option<Arc<Pending>> {
        // After a fork in a function only this thread is left, and its process may end with it.
        if !self.exchange.is_of_this_process() {
            return None;
        }
        let mut calls = locked(&self.exchange.calls);
        self.comes(&mut calls);
        loop {
            if let Some(pending) = calls.waiting.pop_front() {
                return Some(pending);
            }
            if calls.closed || calls.idle >= Self::SPARE {
                return None;
            }
            calls.idle += 1;
            calls = self.exchange.changed.wait(calls).unwrap_or_else(PoisonError::into_inner);
            calls.idle -= 1;
        }
    }
}

#[pymethods]
impl Server {
    /// Waits for a call; None where this thread is not needed any more.
    fn next(&self, py: Python<'_>) -> Option<Call> {
        let pending = detached(py, || self.next_pending())?;
        Some(Call { exchange: self.exchange, pending })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may never have been given a thread.
        if self.exchange.is_of_this_process() {
            self.comes(&mut locked(&self.exchange.calls));
        }
    }
}

/// A call to be made by the server that took it.
#[pyclass(frozen, module = "interlock._core.accelerator")]
struct Call {
    exchange: &'static Exchange,
    pending: Arc<Pending>,
}

/// The function, its arguments and those that are named.
type Called<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>);

#[pymethods]
impl Call {
    /// What is to be called; None once the interpreter is about to end.
    fn function<'py>(&self, py: Python<'py>) -> Option<Called<'py>> {
        let found = locked(&self.exchange.functions).get(&self.pending.function).cloned()?;
        let (function, arguments) = (found.function.bind(py).clone(), found.arguments.bind(py).clone());
        Some((function, arguments, found.keywords.bind(py).clone()))
    }

    /// The state of the thread that launched it.
    fn state(&self) -> ThreadState {
        ThreadState(self.pending.state.clone())
    }

    /// This thread begins to run the function, and so must not wait for its stream.
    fn begin(&self) {
        // Until `end`: no frame of Rust may stand below the function.
        std::mem::forget(Serving::of(self.pending.stream));
    }

    /// It has returned, or failed for a reason.
    #[pyo3(signature = (reason))]
    fn end(&self, reason: Option<String>) {
        Serving::none();
        // In a child that was forked by the function the stream that waits is out of reach.
        if self.exchange.is_of_this_process() {
            self.pending.end(reason.map_or(Ok(()), Err));
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        // A thread that was stopped in the middle of the call won't tell how it ended.
        if self.exchange.is_of_this_process() {
            self.pending.end(Err("the thread that called it was stopped".to_owned()));
        }
    }
}
