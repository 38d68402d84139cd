//! Helpers of the tests: the started driver, host functions that block a stream, and child processes.

#![allow(dead_code, reason = "each file of tests uses a part")]

use std::ffi::{CString, c_void};
use std::panic::Location;
use std::path::Path;
use std::process::Command;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::{env, thread};

use fake_cuda::{Code, Handle, Out};

/// Returns the code of a call.
macro_rules! code {
    ($call:expr) => {{
        // SAFETY: every pointer is null, or to a local, or to memory that outlives the work.
        #[allow(unused_unsafe, reason = "functions that take no pointers")]
        let code: fake_cuda::Code = unsafe { $call };
        code
    }};
}

/// Makes a call that must succeed.
macro_rules! ok {
    ($call:expr) => {
        assert_eq!(code!($call), 0, "{}", stringify!($call))
    };
}

/// Makes a call that must succeed, with the pointer `$out`, and returns the result that it writes there.
macro_rules! got {
    ($out:ident => $call:expr) => {{
        let mut result = Default::default();
        let $out = fake_cuda::Out::to(&mut result);
        ok!($call);
        result
    }};
}

/// Ends the process after a timeout, so that no test hangs.
fn watch() {
    // SAFETY: the function only sets a timer.
    unsafe { libc::alarm(120) };
}

/// The started driver, with the context of device 0 current on this thread. Tests of a process use it one at a time,
/// because captures and faults affect all threads.
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
    // SAFETY: the allocation has `bytes` bytes, and tests do not free memory that they use.
    unsafe {
        std::ptr::write_bytes(pointer, 0, bytes);
        std::slice::from_raw_parts_mut(pointer, bytes)
    }
}

/// Returns the content of device memory.
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

/// A host function that blocks its stream until it is opened.
#[derive(Default)]
pub struct Gate {
    /// Whether it has been entered, and whether it is open.
    state: Mutex<(bool, bool)>,
    changed: Condvar,
}

impl Gate {
    /// Blocks a stream.
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

/// Queues a host function.
pub fn launch(stream: Handle, function: impl Fn() + Send + Sync + 'static) {
    assert_eq!(try_launch(stream, function), 0);
}

pub fn try_launch<F: Fn() + Send + Sync + 'static>(stream: Handle, function: F) -> Code {
    extern "C" fn call<F: Fn()>(data: *mut c_void) {
        // SAFETY: the pointer is to a leaked function of this type.
        let function = unsafe { &*data.cast::<F>() };
        function();
    }
    let data = Box::into_raw(Box::new(function));
    code!(fake_cuda::cuLaunchHostFunc(stream, Some(call::<F>), data.cast()))
}

/// Runs `body` in a child process with these environment variables, by running the test `name` of the caller's file
/// again there.
#[track_caller]
pub fn alone(name: &str, variables: &[(&str, &str)], body: impl FnOnce()) {
    const MARK: &str = "FAKE_CUDA_TEST";
    if env::var(MARK).as_deref() == Ok(name) {
        watch();
        return body();
    }
    let mut child = Command::new(env::current_exe().unwrap());
    let file = Path::new(Location::caller().file()).file_stem().unwrap();
    let test = format!("{}::{name}", file.display());
    child.args([&test, "--exact", "--nocapture"]).env_remove("CUDA_VISIBLE_DEVICES");
    let output = child.env(MARK, name).envs(variables.iter().copied()).output().unwrap();
    let text =
        [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success() && text.contains("1 passed"), "{text}");
}

/// Forks and returns whether `check` returns true in the child.
pub fn is_true_in_child(check: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child only runs `check` and exits.
    let child = unsafe { libc::fork() };
    if child == 0 {
        watch();
        let is_true = std::panic::catch_unwind(std::panic::AssertUnwindSafe(check)).unwrap_or(false);
        // SAFETY: exits without running destructors of the parent.
        unsafe { libc::_exit(i32::from(!is_true)) };
    }
    let mut status = 1;
    // SAFETY: the child exists, and the pointer is valid.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    status == 0
}

/// Runs `body` on another thread with a current context, and returns its result.
pub fn elsewhere<T: Send>(context: Handle, body: impl FnOnce() -> T + Send) -> T {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            ok!(fake_cuda::cuCtxSetCurrent(context));
            body()
        });
        thread.join().unwrap()
    })
}
