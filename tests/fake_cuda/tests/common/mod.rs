//! What the tests share: a driver that has started, functions that stop a stream, and processes of their own.

#![allow(dead_code, reason = "each file of tests uses a part")]

use std::ffi::{CString, c_void};
use std::process::Command;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::{env, thread};

use fake_cuda::{Code, Handle, Out};

/// The code of a call.
macro_rules! code {
    ($call:expr) => {{
        // SAFETY: every pointer is to a local or to memory that lives until the work is done, or is null.
        #[allow(unused_unsafe, reason = "functions that take no pointers")]
        let code: fake_cuda::Code = unsafe { $call };
        code
    }};
}

/// A call that must succeed.
macro_rules! ok {
    ($call:expr) => {
        assert_eq!(code!($call), 0, "{}", stringify!($call))
    };
}

/// What a call puts into the place that is passed as `$place`.
macro_rules! got {
    ($place:ident => $call:expr) => {{
        let mut place = Default::default();
        let $place = fake_cuda::Out::to(&mut place);
        ok!($call);
        place
    }};
}

/// Ends the process if a test waits for what never comes.
fn watch() {
    // SAFETY: sets a timer.
    unsafe { libc::alarm(120) };
}

/// The driver of this process, started, with the context of device 0 current on the thread. One test of a process has
/// it at a time, because captures and faults concern all threads.
pub struct Session {
    _alone: MutexGuard<'static, ()>,
    pub contexts: Vec<Handle>,
}

impl Session {
    pub fn start() -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        watch();
        ok!(fake_cuda::cuInit(0));
        let count: i32 = got!(count => fake_cuda::cuDeviceGetCount(count));
        let contexts: Vec<Handle> = (0..count)
            .map(|device| got!(context => fake_cuda::cuDevicePrimaryCtxRetain(context, device)))
            .collect();
        ok!(fake_cuda::cuCtxSetCurrent(contexts[0]));
        Session { _alone: alone, contexts }
    }

    pub fn on(&self, device: usize) {
        ok!(fake_cuda::cuCtxSetCurrent(self.contexts[device]));
    }
}

pub fn stream() -> Handle {
    got!(stream => fake_cuda::cuStreamCreateWithPriority(stream, 1, 0))
}

pub fn event() -> Handle {
    got!(event => fake_cuda::cuEventCreate(event, 2))
}

pub fn memory(bytes: usize) -> u64 {
    got!(address => fake_cuda::cuMemAlloc_v2(address, bytes))
}

pub fn pinned(bytes: usize) -> &'static mut [u8] {
    let address: usize = got!(address => fake_cuda::cuMemHostAlloc(address, bytes, 0));
    let pointer = std::ptr::with_exposed_provenance_mut(address);
    // SAFETY: so many bytes were allocated, and tests do not free what they look at.
    unsafe {
        std::ptr::write_bytes(pointer, 0, bytes);
        std::slice::from_raw_parts_mut(pointer, bytes)
    }
}

/// What memory of a device holds.
pub fn content(address: u64, bytes: usize, stream: Handle) -> Vec<u8> {
    let mut found = vec![0; bytes];
    ok!(fake_cuda::cuMemcpyDtoHAsync_v2(found.as_mut_ptr().cast(), address, bytes, stream));
    found
}

pub fn free_bytes() -> usize {
    got!(free => fake_cuda::cuMemGetInfo_v2(free, Out::NULL))
}

pub fn calls(name: &str) -> u64 {
    let name = CString::new(name).unwrap();
    // SAFETY: the text lives as long as the call.
    unsafe { fake_cuda::fake_cuda_calls(name.as_ptr()) }
}

pub fn live(kind: &str) -> u64 {
    let kind = CString::new(kind).unwrap();
    // SAFETY: the text lives as long as the call.
    unsafe { fake_cuda::fake_cuda_live(kind.as_ptr()) }
}

/// A function of a stream that waits to be let go.
#[derive(Default)]
pub struct Gate {
    /// Whether it has been entered, and whether it is open.
    state: Mutex<(bool, bool)>,
    changed: Condvar,
}

impl Gate {
    /// Stops a stream.
    pub fn on(stream: Handle) -> &'static Self {
        let gate: &'static Gate = Box::leak(Box::default());
        launch(stream, || gate.pass());
        gate
    }

    fn pass(&self) {
        let mut state = self.state.lock().unwrap();
        state.0 = true;
        self.changed.notify_all();
        let _open = self.changed.wait_while(state, |state| !state.1).unwrap();
    }

    pub fn open(&self) {
        self.state.lock().unwrap().1 = true;
        self.changed.notify_all();
    }

    pub fn wait_until_entered(&self) {
        let _entered = self.changed.wait_while(self.state.lock().unwrap(), |state| !state.0).unwrap();
    }
}

/// Queues a function, which may be called as often as a graph is replayed.
pub fn launch(stream: Handle, function: impl Fn() + Send + Sync + 'static) {
    assert_eq!(try_launch(stream, function), 0);
}

pub fn try_launch<F: Fn() + Send + Sync + 'static>(stream: Handle, function: F) -> Code {
    extern "C" fn call<F: Fn()>(data: *mut c_void) {
        // SAFETY: the pointer is to a function of this type that is never dropped.
        let function = unsafe { &*data.cast::<F>() };
        function();
    }
    let data = Box::into_raw(Box::new(function));
    code!(fake_cuda::cuLaunchHostFunc(stream, Some(call::<F>), data.cast()))
}

/// Runs a body in a process of its own, with these variables: the test of this name calls itself there.
pub fn alone(name: &str, variables: &[(&str, &str)], body: impl FnOnce()) {
    const MARK: &str = "FAKE_CUDA_TEST";
    if env::var(MARK).as_deref() == Ok(name) {
        watch();
        return body();
    }
    let mut child = Command::new(env::current_exe().unwrap());
    child.args([name, "--exact", "--nocapture"]).env_remove("CUDA_VISIBLE_DEVICES");
    let output = child.env(MARK, name).envs(variables.iter().copied()).output().unwrap();
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// Forks; whether the child answers yes.
pub fn is_true_in_child(answer: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child only runs `answer`, and leaves.
    let child = unsafe { libc::fork() };
    if child == 0 {
        watch();
        let answer = std::panic::catch_unwind(std::panic::AssertUnwindSafe(answer)).unwrap_or(false);
        // SAFETY: leaves without running anything of the parent's.
        unsafe { libc::_exit(i32::from(!answer)) };
    }
    let mut status = 1;
    // SAFETY: waits for the child just made, into a local.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    status == 0
}

/// What a thread of its own returns.
pub fn elsewhere<T: Send>(context: Handle, body: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            ok!(fake_cuda::cuCtxSetCurrent(context));
            body()
        });
        thread.join().unwrap()
    })
}
