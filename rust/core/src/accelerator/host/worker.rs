//! The thread of a stream, which does what takes time.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::command::{Command, Step, Task};
use super::device;
use super::shared::{Locked, Shared};
use super::sleeper::Sleeper;
use super::stream::{Head, Mark, StreamId};
use super::waste::drop_quietly;
use crate::accelerator::driver::DeviceIndex;
use crate::{Error, Result};

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
    let sleeper = Arc::new(Sleeper::default());
    let (shared, worker) = (shared.clone(), sleeper.clone());
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
    stream.worker = Some(sleeper);
    Ok(())
}

fn work(shared: &Shared, id: StreamId, sleeper: &Sleeper) {
    loop {
        match next(shared, id) {
            Next::Run(Begun { task, device, told_by, position }) => {
                let failed = task.run().err().map(|reason| (task.operation(device), reason));
                // Before the place is reached: who waited for it finds what was kept released.
                drop_quietly(task);
                let Ok(mut state) = shared.lock() else { return };
                if let Some((operation, reason)) = failed {
                    state.fail_late(told_by, device, operation, reason);
                }
                state.end(id, position);
                state.settle(id);
            }
            Next::Sleep => {
                let woken = sleeper.sleep(Instant::now().checked_add(IDLE));
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
