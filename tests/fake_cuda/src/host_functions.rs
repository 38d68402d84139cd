//! Host functions, which run in stream order.
//!
//! They run one at a time on one thread for all streams, as they often do with NVIDIA's driver: a host function that
//! waits for another one waits forever. The library refuses all calls on that thread.

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
    static IS_HOST_FN_THREAD: Cell<bool> = const { Cell::new(false) };
}

/// A host function and its argument.
#[derive(Clone, Copy)]
pub(crate) struct Function {
    pub(crate) function: unsafe extern "C" fn(*mut c_void),
    /// The address of the argument.
    pub(crate) data: usize,
}

/// A call of a host function, and the channel that resumes its stream.
struct Call {
    device: DeviceIndex,
    function: Function,
    returned: SyncSender<()>,
}

/// The thread that runs host functions, which starts with the first one.
#[derive(Default)]
pub(crate) struct HostFunctions(OnceLock<Option<Sender<Call>>>);

/// Returns whether the calling thread is the one that runs host functions.
pub(crate) fn is_running_here() -> bool {
    IS_HOST_FN_THREAD.get()
}

impl HostFunctions {
    /// Returns the work that a stream of the host driver runs to have a host function called.
    pub(crate) fn work(&self, fake: &'static Fake, device: DeviceIndex, function: Function) -> HostFn {
        let calls = self.0.get_or_init(|| {
            let (calls, waiting) = channel::<Call>();
            let serve = move || {
                IS_HOST_FN_THREAD.set(true);
                for Call { device, function, returned } in waiting {
                    // Work of a broken device does not run.
                    if fake.state().check(device).is_ok() {
                        let data = std::ptr::with_exposed_provenance_mut(function.data);
                        // SAFETY: the caller of `cuLaunchHostFunc` guarantees that the function can be called with it.
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
            waiting.recv().map_err(|error| error.to_string().into())
        })
    }
}

exported! {
    /// Queues a host function.
    fn cuLaunchHostFunc(stream: Handle, function: Option<unsafe extern "C" fn(*mut c_void)>, data: *mut c_void) |fake| {
        let mut state = fake.state();
        state.current()?;
        let name = state.stream_named(stream)?;
        let function = function.ok_or(INVALID_VALUE)?;
        let function = Function { function, data: data.expose_provenance() };
        state.queue(fake, name, Operation::Host(function))
    }
}
