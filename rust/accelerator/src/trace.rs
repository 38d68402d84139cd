//! Traces: what ran on which stream, and when.

use std::time::Instant;

use interlock_driver::DriverRuntime;
use interlock_driver::activity::{Activity, ActivityRecorder};

use crate::{Error, Result, registry, timed_tasks};

/// Records what streams and the program do, in the whole process, until it is finished.
///
/// Drivers whose work runs in this process record it exactly. For others, events with times are recorded around each
/// task, but none while a stream is captured.
///
/// ```
/// use interlock_accelerator::{HostFn, Stream, Trace};
///
/// interlock_accelerator::use_named("host")?;
/// let trace = Trace::start(1000)?;
/// let stream = Stream::new(None, 0)?;
/// stream.launch(HostFn::new("greet", || Ok(())))?;
/// stream.synchronize()?;
/// let recorded = trace.finish();
/// assert!(recorded.activities.iter().any(|activity| &*activity.name == "greet"));
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Debug)]
pub struct Trace {
    recorder: ActivityRecorder,
    _timed: TimedTasks,
}

/// The events around tasks, which are destroyed with the trace.
#[derive(Debug)]
struct TimedTasks;

impl Drop for TimedTasks {
    fn drop(&mut self) {
        with_driver(timed_tasks::discard_all);
    }
}

/// Calls a function with the driver in use, if there is one.
fn with_driver(function: fn(Option<&dyn DriverRuntime>)) {
    let accelerator = registry::try_accelerator();
    function(accelerator.map(|accelerator| &**accelerator.started().runtime()));
}

/// What a [`Trace`] has recorded.
///
/// ```
/// use interlock_accelerator::Trace;
///
/// interlock_accelerator::use_named("host")?;
/// let recorded = Trace::start(0)?.finish();
/// assert_eq!((recorded.activities.len(), recorded.dropped), (0, 0));
/// # Ok::<(), interlock_accelerator::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct RecordedTrace {
    /// When it started.
    pub start: Instant,
    /// What was done, in the order of its end.
    pub activities: Vec<Activity>,
    /// The number of further activities.
    pub dropped: usize,
}

impl Trace {
    /// Starts to record at most so many activities; later ones are counted.
    ///
    /// # Errors
    /// Returns [`Error::Argument`] if a trace is being recorded.
    pub fn start(most: usize) -> Result<Self> {
        let Some(recorder) = ActivityRecorder::start(most) else {
            return Err(Error::argument("accelerator.trace", "a second trace", "one at a time in a process"));
        };
        // A thread may have queued a task while an earlier trace ended.
        with_driver(timed_tasks::discard_all);
        Ok(Trace { recorder, _timed: TimedTasks })
    }

    /// Ends the recording. Waits at most a minute for the work of drivers that record no activities.
    pub fn finish(self) -> RecordedTrace {
        with_driver(timed_tasks::record_all);
        let start = self.recorder.started_at();
        let (activities, dropped) = self.recorder.finish();
        RecordedTrace { start, activities, dropped }
    }
}
