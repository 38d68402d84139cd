//! Waiting for streams, as the program wants it.

use std::time::Duration;

use interlock::accelerator::{Stream, Waiting};
use once_cell::race::OnceBox;

use crate::Result;

/// Waits to the end, or fails; [`Error::Interrupted`](crate::Error::Interrupted) where the program is to stop.
type Wait = fn(&Waiting) -> Result<()>;

static WAIT: OnceBox<Wait> = OnceBox::new();

/// Has every wait of this crate done by a function: it may let other threads work meanwhile, or look for signals.
/// The first one that is given stays.
pub fn wait_with(wait: Wait) {
    let _ = WAIT.set(Box::new(wait));
}

/// Waits until all that is queued on a stream now has been done.
pub(crate) fn wait_for(stream: &Stream) -> Result<()> {
    let waiting = stream.waiting()?;
    match WAIT.get() {
        Some(wait) => wait(&waiting),
        None => Ok(waiting.at_most(Duration::MAX).map(drop)?),
    }
}
