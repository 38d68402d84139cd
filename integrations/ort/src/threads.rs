//! Threads of ONNX Runtime that run with a captured state.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use interlock::state::ThreadState;
use ort::environment::{EnvironmentBuilder, GlobalThreadPoolOptions, ThreadManager};

use crate::{Result, SessionOptions};

/// Creates the threads of a session or of the global pool. They run with the state that was captured: the modes, the
/// flags that scopes set, the current device and streams. Flags that no scope sets have the values of the process.
#[derive(Clone, Debug)]
pub struct StateThreads {
    state: Arc<ThreadState>,
    created: Arc<AtomicUsize>,
}

impl StateThreads {
    /// Captures the state of the calling thread.
    pub fn capture() -> Self {
        StateThreads { state: Arc::new(ThreadState::capture()), created: Arc::default() }
    }

    /// Returns the number of threads that were created.
    pub fn created(&self) -> usize {
        self.created.load(Ordering::Relaxed)
    }
}

impl ThreadManager for StateThreads {
    type Thread = JoinHandle<()>;

    fn create(&self, work: impl FnOnce() + Send + 'static) -> ort::Result<Self::Thread> {
        let state = self.state.clone();
        let thread = thread::Builder::new().name("onnxruntime".to_owned()).spawn(move || state.run(work));
        self.created.fetch_add(usize::from(thread.is_ok()), Ordering::Relaxed);
        thread.map_err(ort::Error::wrap)
    }

    fn join(thread: Self::Thread) -> ort::Result<()> {
        thread.join().map_err(|_| ort::Error::new("a thread of ONNX Runtime panicked"))
    }
}

/// Gives an environment a thread pool that its sessions share, with the settings and the state of the calling thread.
/// Sessions that use the pool obey its numbers of threads and spinning instead of their own. Returns the object that
/// creates the threads, too.
///
/// # Errors
/// Returns the errors of [`SessionOptions::capture`], and those of ONNX Runtime.
pub fn with_global_thread_pool(
    environment: EnvironmentBuilder,
) -> Result<(EnvironmentBuilder, StateThreads)> {
    let (options, threads) = (SessionOptions::capture()?, StateThreads::capture());
    let pool = GlobalThreadPoolOptions::default()
        .with_intra_threads(options.intra_threads)?
        .with_inter_threads(options.inter_threads)?
        .with_spin_control(options.allow_spinning)?
        .with_thread_manager(threads.clone())?;
    Ok((environment.with_global_thread_pool(pool), threads))
}
