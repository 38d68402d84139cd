//! A pool of as many threads as interlock uses.

use std::sync::{Arc, Mutex, PoisonError};

use candle_core::{Error, Result};
use interlock::num_threads;
use interlock::state::ThreadState;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The pool of the last call.
static POOL: Mutex<Option<Arc<ThreadPool>>> = Mutex::new(None);

/// Calls `function` on a thread of a rayon pool that has [`num_threads`] threads, with the state of the calling thread.
/// The products and loops of candle that `function` starts run on the threads of the pool.
///
/// candle divides a product into as many parts as `RAYON_NUM_THREADS` or the machine has, and has no function that changes
/// the number; the pool limits how many of them run at a time. A pool is created at the first call after the number has
/// changed; calls that run keep the pool with which they began.
///
/// # Errors
/// Fails if the threads cannot be created.
///
/// ```
/// use interlock::{autograd, set_num_threads};
///
/// set_num_threads(2.try_into()?);
/// let _no_grad = autograd::no_grad();
/// let seen = interlock_candle::run(|| (rayon::current_num_threads(), autograd::is_grad_enabled()))?;
/// assert_eq!(seen, (2, false));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn run<R: Send>(function: impl FnOnce() -> R + Send) -> Result<R> {
    let (pool, state) = (pool()?, ThreadState::capture());
    Ok(pool.install(|| state.run(function)))
}

fn pool() -> Result<Arc<ThreadPool>> {
    let threads = num_threads().get();
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(current) = pool.as_ref().filter(|current| current.current_num_threads() == threads) {
        return Ok(current.clone());
    }
    let name = |index| format!("candle-{index}");
    let built = ThreadPoolBuilder::new().num_threads(threads).thread_name(name).build();
    let built = Arc::new(built.map_err(|error| Error::Msg(format!("run: {error}")).bt())?);
    *pool = Some(built.clone());
    Ok(built)
}
