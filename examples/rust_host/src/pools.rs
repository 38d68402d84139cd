//! The state on the threads of rayon and in the tasks of tokio.

use std::error::Error;

use interlock::autograd;
use interlock::state::ThreadState;

/// Returns whether gradients are recorded on this thread, and on a thread of a rayon pool that has its state.
pub fn on_rayon() -> Result<(bool, bool), Box<dyn Error>> {
    let state = ThreadState::capture();
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(2)
        // Once a thread, below all scopes that its work enters.
        .start_handler(move |_| state.install().unwrap_or_else(|error| eprintln!("{error}")))
        .build()?;
    Ok((autograd::is_grad_enabled(), pool.install(autograd::is_grad_enabled)))
}

/// Returns whether two tasks of one thread record gradients: one is spawned under `no_grad`, the other one after it.
pub fn on_tokio() -> Result<(bool, bool), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(async {
        let inference = {
            let _no_grad = autograd::no_grad();
            tokio::spawn(ThreadState::capture().in_future(is_grad_enabled_later()))
        };
        let training = tokio::spawn(ThreadState::capture().in_future(is_grad_enabled_later()));
        Ok((inference.await?, training.await?))
    })
}

async fn is_grad_enabled_later() -> bool {
    tokio::task::yield_now().await;
    autograd::is_grad_enabled()
}
