//! Functions of the program that run in the order of a stream.
//!
//! They run one at a time, on one thread for all streams, as they often do with NVIDIA's driver: a function that waits for
//! another one waits forever. On that thread the library refuses everything; on all others it works as usual meanwhile.

use std::cell::Cell;
use std::ffi::c_void;
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, SyncSender, channel, sync_channel};
use std::thread;

use interlock_driver::{DeviceIndex, HostFn};

use crate::call::{Handle, exported};
use crate::errors::INVALID_VALUE;
use crate::fake::Fake;
use crate::operations::Operation;

thread_local! {
    static IS_THEIR_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// A function and what it is called with.
#[derive(Clone, Copy)]
pub(crate) struct Function {
    pub(crate) function: unsafe extern "C" fn(*mut c_void),
    /// The pointer, as a number.
    pub(crate) data: usize,
}

/// A function whose turn it is, and how its stream learns that it has returned.
struct Call {
    device: DeviceIndex,
    function: Function,
    returned: SyncSender<()>,
}

/// The one thread, from the first function on.
#[derive(Default)]
pub(crate) struct HostFunctions(OnceLock<Option<Sender<Call>>>);

/// Whether this is the thread on which they run.
pub(crate) fn is_running_here() -> bool {
    IS_THEIR_THREAD.get()
}

impl HostFunctions {
    /// What a stream of the host driver does to have a function called.
    pub(crate) fn work(&self, fake: &'static Fake, device: DeviceIndex, function: Function) -> HostFn {
        let calls = self.0.get_or_init(|| {
            let (calls, waiting) = channel::<Call>();
            let serve = move || {
                IS_THEIR_THREAD.set(true);
                for Call { device, function, returned } in waiting {
                    // What was queued on a device before it broke does not run.
                    if fake.state().check(device).is_ok() {
                        let data = std::ptr::with_exposed_provenance_mut(function.data);
                        // SAFETY: the program passed both to be called, once or as often as the graph is replayed.
                        unsafe { (function.function)(data) };
                    }
                    let _ = returned.send(());
                }
            };
            thread::Builder::new().name("host functions".into()).spawn(serve).ok().map(|_| calls)
        });
        let calls = calls.clone();
        HostFn::new("a host function", move || {
            let (returned, waiting) = sync_channel(1);
            let call = Call { device, function, returned };
            calls.as_ref().and_then(|calls| calls.send(call).ok()).ok_or("there is no thread for it")?;
            waiting.recv().map_err(|error| error.to_string())
        })
    }
}

exported! {
    /// Queues a function.
    fn cuLaunchHostFunc(stream: Handle, function: Option<unsafe extern "C" fn(*mut c_void)>, data: *mut c_void) |fake| {
        let mut state = fake.state();
        state.current()?;
        let name = state.stream_named(stream)?;
        let function = function.ok_or(INVALID_VALUE)?;
        let function = Function { function, data: data.expose_provenance() };
        state.queue(fake, name, Operation::Host(function))
    }
}
