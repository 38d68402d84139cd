//! Waiting for what a device has queued.

use std::cell::Cell;
use std::time::Duration;

use interlock_driver::{StreamHandle, SyncPoint, WaitPolicy, WaitTarget};

use super::accelerator::Accelerator;
use crate::{Error, Result, check_interrupts};

/// A wait that has begun. It covers the work that was queued at its begin, and can be continued after a timeout.
///
/// ```
/// use std::time::Duration;
///
/// use interlock_accelerator::{HostFn, Stream};
///
/// interlock_accelerator::use_named("host")?;
/// let stream = Stream::new(None, 0)?;
/// stream.launch(HostFn::new("step", || Ok(())))?;
/// let waiting = stream.waiting()?;
/// while !waiting.at_most(Duration::from_millis(100))? {
///     println!("still running");
/// }
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Waiting {
    home: &'static Accelerator,
    sync_point: SyncPoint,
    asleep: bool,
}

impl Waiting {
    pub(super) fn begin(home: &'static Accelerator, target: WaitTarget, asleep: bool) -> Result<Self> {
        let driver = home.driver_for("the accelerator")?;
        refuse_to_wait_for_oneself(home, target)?;
        Ok(Waiting { home, sync_point: driver.sync_point(target)?, asleep })
    }

    /// Waits to the end, or until the host of this crate [ends it](super::ask_while_waiting). Fails as
    /// [`at_most`](Waiting::at_most).
    pub fn to_the_end(&self) -> Result<()> {
        /// The host is asked after this time at the latest.
        const SLICE: Duration = Duration::from_millis(20);
        while !self.at_most(SLICE)? {
            check_interrupts()?;
        }
        Ok(())
    }

    /// Waits for `limit` at most; returns whether all has been done. Fails with what failed there and was not told
    /// yet.
    pub fn at_most(&self, limit: Duration) -> Result<bool> {
        let policy = WaitPolicy { timeout: limit, blocking: self.asleep };
        self.home.driver_for("the accelerator")?.wait(&self.sync_point, policy)
    }
}

thread_local! {
    /// The stream whose function this thread runs.
    static SERVED: Cell<Option<StreamHandle>> = const { Cell::new(None) };
}

/// This thread runs a function of a stream until this is dropped.
#[doc(hidden)]
#[derive(Debug)]
pub struct Serving {
    before: Option<StreamHandle>,
}

impl Serving {
    /// From now on.
    pub fn of(stream: StreamHandle) -> Self {
        Serving { before: SERVED.replace(Some(stream)) }
    }

    /// From now on it runs none, whatever it was told before.
    pub fn none() {
        SERVED.set(None);
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        // The thread may be ending.
        let _ = SERVED.try_with(|served| served.set(self.before));
    }
}

/// The stream whose function this thread runs.
pub(super) fn served() -> Option<StreamHandle> {
    SERVED.try_with(Cell::get).ok().flatten()
}

/// A function that waits for its own stream would stop it for good.
fn refuse_to_wait_for_oneself(home: &Accelerator, target: WaitTarget) -> Result<()> {
    let Some(served) = served() else { return Ok(()) };
    let operation = match target {
        WaitTarget::Stream(stream) if stream == served => "Stream.synchronize",
        WaitTarget::Device(device) if device == served.device => "accelerator.synchronize",
        _ => return Ok(()),
    };
    Err(Error::Device {
        device: home.device(served.device),
        operation: operation.to_owned(),
        reason: "a function that runs on a stream can't wait for that stream, or for its device".to_owned(),
        code: None,
    })
}
