//! The worker thread of a stream, which runs its tasks.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use interlock_core::base::catch::drop_catching_panic;
use interlock_core::base::parker::Parker;
use interlock_driver::activity::{self, ActivityKind, Place};
use interlock_driver::races::Queued;
use interlock_driver::{DeviceIndex, Error, Result, StreamHandle, TimelinePoint};

use crate::exec::command::{Command, QueuedCommand, Task};
use crate::exec::fault_plan::Readiness;
use crate::exec::inner::Inner;
use crate::exec::shared::Shared;
use crate::object::device;
use crate::object::stream::{Stream, StreamId};

/// A worker that was idle for this time ends; the stream's next task starts another.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// The next step of a worker.
enum Step {
    Run(RunningTask),
    /// The next task is delayed, until this time if there is one.
    Delay(Option<Instant>),
    Park,
    Exit,
}

/// A task that was taken from the queue, with the fields of its [`QueuedCommand`].
struct RunningTask {
    task: Task,
    device: DeviceIndex,
    reported_at: TimelinePoint,
    position: u64,
    queued: Queued,
    link: u64,
}

/// Starts the worker of a stream if it has none.
///
/// # Errors
/// Returns [`Error::Device`] if the system cannot create a thread.
pub(crate) fn ensure_worker(shared: &Arc<Shared>, inner: &mut Inner, id: StreamId) -> Result<()> {
    let Some(stream) = inner.streams.get_mut(&id) else { return Ok(()) };
    if stream.has_worker() {
        return Ok(());
    }
    let parker = Arc::new(Parker::default());
    let (shared, worker) = (shared.clone(), parker.clone());
    let stream_device = stream.device();
    let device = device::named(stream_device);
    thread::Builder::new()
        .name(format!("{device} #{id}"))
        .spawn(move || run(&shared, id, stream_device, &worker))
        .map_err(|error| Error::Device {
            device,
            operation: "starting the thread of a stream".into(),
            reason: error.to_string(),
            code: error.raw_os_error(),
            cause: None,
        })?;
    stream.set_worker(parker);
    Ok(())
}

fn run(shared: &Shared, id: StreamId, stream_device: DeviceIndex, parker: &Parker) {
    loop {
        match next_step(shared, id) {
            Step::Run(RunningTask { task, device, reported_at, position, queued, link }) => {
                let handle = StreamHandle { device: stream_device, raw: id };
                let span = activity::begin(
                    ActivityKind::Task,
                    || Place::Stream(handle),
                    link,
                    || task.operation(device),
                );
                let failed = queued.run(|| task.run()).err().map(|failure| (task.operation(device), failure));
                span.end();
                // Dropped before the position is reached: a wait that returns implies that the keep-alive is released.
                drop_catching_panic(task);
                drop(queued);
                let Ok(mut inner) = shared.lock() else { return };
                if let Some((operation, failure)) = failed {
                    inner.store_async_error(
                        reported_at,
                        Error::device(device::named(device), operation, failure),
                    );
                }
                inner.complete(id, position);
                inner.advance(id);
            }
            Step::Delay(until) => {
                parker.park(until);
            }
            Step::Park => {
                let woken = parker.park(Instant::now().checked_add(IDLE_TIMEOUT));
                if !woken && try_retire(shared, id) {
                    return;
                }
            }
            Step::Exit => return,
        }
    }
}

fn next_step(shared: &Shared, id: StreamId) -> Step {
    // `lock` fails in a child that a host function forked: the stream belongs to the parent.
    let Ok(mut inner) = shared.lock() else { return Step::Exit };
    let Some(stream) = inner.streams.get_mut(&id) else { return Step::Exit };
    if let Readiness::NotBefore(time) = stream.readiness() {
        return Step::Delay(time);
    }
    match stream.take_runnable() {
        Some(QueuedCommand {
            command: Command::Run(task),
            device,
            reported_at,
            position,
            queued,
            link,
            ..
        }) => Step::Run(RunningTask { task, device, reported_at, position, queued, link }),
        // Only tasks are made runnable.
        _ => Step::Park,
    }
}

/// Detaches the worker from its stream and returns true if the stream is idle or no longer exists.
fn try_retire(shared: &Shared, id: StreamId) -> bool {
    let Ok(mut inner) = shared.lock() else { return true };
    inner.streams.get_mut(&id).is_none_or(Stream::detach_idle_worker)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::HostOptions;
    use crate::runtime::HostRuntime;
    use interlock_driver::{DriverRuntime, HostFn, StreamHandle, WaitPolicy, WaitTarget};

    fn finish(runtime: &HostRuntime, stream: StreamHandle) {
        let policy = WaitPolicy { timeout: Duration::from_secs(60), blocking: true };
        assert_eq!(runtime.wait(&runtime.sync_point(WaitTarget::Stream(stream)).unwrap(), policy), Ok(true));
    }

    #[test]
    fn worker_is_restarted_by_work_that_follows_its_retirement() {
        let runtime = HostRuntime::new(&HostOptions::default());
        let stream = runtime.create_stream(0, 0).unwrap();
        let has_thread = || runtime.shared().lock().unwrap().streams[&stream.raw].has_worker();
        let launch = || runtime.launch_host_fn(stream, HostFn::new("nothing", || Ok(()))).unwrap();
        assert!(!has_thread());
        launch();
        finish(&runtime, stream);
        assert!(has_thread() && try_retire(runtime.shared(), stream.raw) && !has_thread());
        launch();
        finish(&runtime, stream);
        assert!(has_thread());
    }

    #[test]
    fn worker_does_not_retire_while_its_stream_waits() {
        let runtime = HostRuntime::new(&HostOptions::default());
        let [stream, other] = [0; 2].map(|device| runtime.create_stream(device, 0).unwrap());
        let (open, gate) = std::sync::mpsc::channel::<()>();
        let gate = std::sync::Mutex::new(gate);
        let work = HostFn::new("wait", move || {
            gate.lock().unwrap().recv().map_err(|error| error.to_string().into())
        });
        runtime.launch_host_fn(other, work).unwrap();
        let event = runtime.create_event(0, Default::default()).unwrap();
        runtime.record_event(event, other).unwrap();
        runtime.wait_event(stream, event).unwrap();
        runtime.launch_host_fn(stream, HostFn::new("nothing", || Ok(()))).unwrap();
        assert!(!try_retire(runtime.shared(), stream.raw) && !try_retire(runtime.shared(), other.raw));
        open.send(()).unwrap();
        finish(&runtime, stream);
    }
}
