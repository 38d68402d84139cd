//! The thread of a stream, which does what takes time.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use interlock_core::base::catch::drop_catching_panic;
use interlock_core::base::parker::Parker;
use interlock_driver::{DeviceIndex, Error, Result};

use crate::exec::command::{Command, QueuedCommand, Task};
use crate::exec::inner::Inner;
use crate::exec::shared::Shared;
use crate::object::device;
use crate::object::stream::{HeadState, StreamId, TimelinePoint};

/// A thread that has had nothing to do for so long ends; the stream's next work starts another.
const IDLE: Duration = Duration::from_secs(10);

/// What a thread does next.
enum Next {
    /// Work that left the queue, and what was known of it there.
    Run {
        task: Task,
        device: DeviceIndex,
        reported_at: TimelinePoint,
        position: u64,
    },
    Sleep,
    End,
}

/// Starts the thread of a stream if it has none. Fails if the system has none to give.
pub(crate) fn ensure_worker(shared: &Arc<Shared>, state: &mut Inner, id: StreamId) -> Result<()> {
    let Some(stream) = state.streams.get_mut(&id) else { return Ok(()) };
    if stream.worker.is_some() {
        return Ok(());
    }
    let parker = Arc::new(Parker::default());
    let (shared, worker) = (shared.clone(), parker.clone());
    let device = device::named(stream.device);
    thread::Builder::new()
        .name(format!("{device} #{id}"))
        .spawn(move || work(&shared, id, &worker))
        .map_err(|error| Error::Device {
            device,
            operation: "starting the thread of a stream".into(),
            reason: error.to_string(),
            code: error.raw_os_error(),
        })?;
    stream.worker = Some(parker);
    Ok(())
}

fn work(shared: &Shared, id: StreamId, parker: &Parker) {
    loop {
        match next(shared, id) {
            Next::Run { task, device, reported_at, position } => {
                let failed = task.run().err().map(|reason| (task.operation(device), reason));
                // Before the place is reached: who waited for it finds what was kept released.
                drop_catching_panic(task);
                let Ok(mut state) = shared.lock() else { return };
                if let Some((operation, reason)) = failed {
                    state.fail(reported_at, Error::device(device::named(device), operation, reason));
                }
                state.complete(id, position);
                state.advance(id);
            }
            Next::Sleep => {
                let woken = parker.park(Instant::now().checked_add(IDLE));
                if !woken && try_retire(shared, id) {
                    return;
                }
            }
            Next::End => return,
        }
    }
}

fn next(shared: &Shared, id: StreamId) -> Next {
    // Fails in a child that was forked by a queued function: there the stream is nobody's.
    let Ok(mut state) = shared.lock() else { return Next::End };
    let Some(stream) = state.streams.get_mut(&id) else { return Next::End };
    if stream.head != HeadState::Runnable {
        return Next::Sleep;
    }
    match stream.queue.pop_front() {
        Some(QueuedCommand { command: Command::Run(task), device, reported_at, position, .. }) => {
            stream.head = HeadState::Running;
            Next::Run { task, device, reported_at, position }
        }
        // Only work is ever ready.
        _ => Next::Sleep,
    }
}

/// Whether nothing is queued, so that the thread may end; the stream then has none.
fn try_retire(shared: &Shared, id: StreamId) -> bool {
    let Ok(mut state) = shared.lock() else { return true };
    let Some(stream) = state.streams.get_mut(&id) else { return true };
    if !stream.is_idle() {
        return false;
    }
    stream.worker = None;
    true
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
    fn a_stream_whose_thread_ended_for_want_of_work_gets_another() {
        let runtime = HostRuntime::new(&HostOptions::default());
        let stream = runtime.create_stream(0, 0).unwrap();
        let has_thread = || runtime.shared().lock().unwrap().streams[&stream.raw].worker.is_some();
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
    fn a_thread_does_not_end_while_its_stream_waits() {
        let runtime = HostRuntime::new(&HostOptions::default());
        let [stream, other] = [0; 2].map(|device| runtime.create_stream(device, 0).unwrap());
        let (open, gate) = std::sync::mpsc::channel::<()>();
        let gate = std::sync::Mutex::new(gate);
        let work =
            HostFn::new("wait", move || gate.lock().unwrap().recv().map_err(|error| error.to_string()));
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
