//! The thread of a stream, which does what takes time.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use interlock_core::base::catch::drop_catching_panic;
use interlock_core::base::parker::Parker;
use interlock_driver::DeviceIndex;
use interlock_driver::{Error, Result};

use super::command::{Command, Step, Task};
use super::device;
use super::failure;
use super::shared::{Locked, Shared};
use super::stream::{Head, Mark, StreamId};

/// A thread that has had nothing to do for so long ends; the stream's next work starts another.
const IDLE: Duration = Duration::from_secs(10);

/// What a thread does next.
enum Next {
    Run(Begun),
    Sleep,
    End,
}

/// Work that left the queue, and what was known of it there.
struct Begun {
    task: Task,
    device: DeviceIndex,
    told_by: Mark,
    position: u64,
}

/// Starts the thread of a stream if it has none. Fails if the system has none to give.
pub(super) fn ensure(shared: &Arc<Shared>, state: &mut Locked<'_>, id: StreamId) -> Result<()> {
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
            Next::Run(Begun { task, device, told_by, position }) => {
                let failed = task.run().err().map(|reason| (task.operation(device), reason));
                // Before the place is reached: who waited for it finds what was kept released.
                drop_catching_panic(task);
                let Ok(mut state) = shared.lock() else { return };
                if let Some((operation, reason)) = failed {
                    state.fail(told_by, failure::late(device, operation, reason));
                }
                state.end(id, position);
                state.settle(id);
            }
            Next::Sleep => {
                let woken = parker.park(Instant::now().checked_add(IDLE));
                if !woken && retires(shared, id) {
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
    if stream.head != Head::Ready {
        return Next::Sleep;
    }
    match stream.queue.pop_front() {
        Some(Command { step: Step::Do(task), device, told_by, position, .. }) => {
            stream.head = Head::Running;
            Next::Run(Begun { task, device, told_by, position })
        }
        // Only work is ever ready.
        _ => Next::Sleep,
    }
}

/// Whether nothing is queued, so that the thread may end; the stream then has none.
fn retires(shared: &Shared, id: StreamId) -> bool {
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
    use super::super::options::HostOptions;
    use super::*;
    use interlock_driver::{HostFn, StreamHandle, WaitPolicy, WaitTarget};

    fn finish(shared: &Shared, stream: StreamHandle) {
        let policy = WaitPolicy { timeout: Duration::from_secs(60), blocking: true };
        assert_eq!(shared.wait(&shared.sync_point(WaitTarget::Stream(stream)).unwrap(), policy), Ok(true));
    }

    #[test]
    fn a_stream_whose_thread_ended_for_want_of_work_gets_another() {
        let shared = Arc::new(Shared::new(&HostOptions::default()));
        let stream = shared.create_stream(0, 0).unwrap();
        let has_thread = || shared.lock().unwrap().streams[&stream.raw].worker.is_some();
        let launch =
            || shared.queue(stream, Task::Launch(HostFn::new("nothing", || Ok(()))), "a test").unwrap();
        assert!(!has_thread());
        launch();
        finish(&shared, stream);
        assert!(has_thread() && retires(&shared, stream.raw) && !has_thread());
        launch();
        finish(&shared, stream);
        assert!(has_thread());
    }

    #[test]
    fn a_thread_does_not_end_while_its_stream_waits() {
        let shared = Arc::new(Shared::new(&HostOptions::default()));
        let [stream, other] = [0; 2].map(|device| shared.create_stream(device, 0).unwrap());
        let (open, gate) = std::sync::mpsc::channel::<()>();
        let gate = std::sync::Mutex::new(gate);
        let work =
            HostFn::new("wait", move || gate.lock().unwrap().recv().map_err(|error| error.to_string()));
        shared.queue(other, Task::Launch(work), "a test").unwrap();
        let event = shared.create_event(0, Default::default()).unwrap();
        shared.record_event(event, other).unwrap();
        shared.wait_event(stream, event).unwrap();
        shared.queue(stream, Task::Launch(HostFn::new("nothing", || Ok(()))), "a test").unwrap();
        assert!(!retires(&shared, stream.raw) && !retires(&shared, other.raw));
        open.send(()).unwrap();
        finish(&shared, stream);
    }
}
