//! Calls of the CUDA driver on one thread while a call of another thread is in progress.
//!
//! A hook of the fake library makes the second call in the middle of the first one. The second call may wait for the
//! first one, so the hook waits for it at most for a bounded time: the results do not depend on that time.

use crate::fake_library;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::fake_library::{hook, unhook};
use crate::rig::{Latch, Memory, Rig};
use interlock_driver::{
    Address, CaptureMode, Copy, CopyEndpoint, DriverRuntime, EventOptions, HostFn, Owners, Result,
    StreamHandle, WaitTarget,
};

/// The longest time that the first call waits for the second one.
const BOUND: Duration = Duration::from_millis(200);

fn rig() -> Rig {
    Rig::of(fake_library::started())
}

/// Waits until a condition is true, for a bounded time.
fn wait_until(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + BOUND;
    while !condition() && Instant::now() < deadline {
        thread::yield_now();
    }
}

/// A call on another thread in the middle of a call of the library.
struct Interleaved(Arc<Mutex<Option<JoinHandle<()>>>>);

impl Interleaved {
    /// Makes a call on another thread during the next call of the function `name`.
    fn during(name: &'static str, act: impl FnOnce() + Send + 'static) -> Self {
        let (thread, act) = (Arc::new(Mutex::new(None)), Mutex::new(Some(act)));
        let started = thread.clone();
        hook(name, move || {
            let Some(act) = act.lock().unwrap().take() else { return 0 };
            let (done, waiting) = sync_channel(1);
            *started.lock().unwrap() = Some(thread::spawn(move || {
                act();
                let _ = done.send(());
            }));
            let _ = waiting.recv_timeout(BOUND);
            0
        });
        Interleaved(thread)
    }

    /// Waits for the second call.
    fn join(self) {
        self.0.lock().unwrap().take().unwrap().join().unwrap();
    }
}

#[test]
fn capture_that_begins_during_a_submission_never_lacks_an_owner() {
    type Queue = fn(&Rig, StreamHandle) -> Weak<Memory>;
    let queued: [(&str, Queue); 3] = [
        ("cuMemsetD8Async", |rig, stream| {
            let memory = rig.memory(0, 8);
            rig.fill(stream, &memory, 1);
            Arc::downgrade(&memory)
        }),
        ("cuMemcpyDtoHAsync_v2", |rig, stream| {
            let (to, from) = (rig.pinned(&[0; 8]), rig.memory(0, 8));
            rig.copy(stream, &to, &from);
            Arc::downgrade(&from)
        }),
        ("cuLaunchHostFunc", |rig, stream| {
            let memory = rig.memory(0, 8);
            let weak = Arc::downgrade(&memory);
            rig.launch(stream, move || {
                let _ = &memory;
            });
            weak
        }),
    ];
    for (name, queue) in queued {
        let rig = rig();
        let stream = rig.stream(0);
        // The first function tests whether streams can wait for semaphores.
        rig.launch(stream, || {});
        rig.finish(stream);
        let driver = rig.driver.clone();
        let begun = Interleaved::during(name, move || {
            driver.begin_capture(stream, CaptureMode::Relaxed).unwrap();
        });
        let owner = queue(&rig, stream);
        begun.join();
        unhook(name);
        let graph = rig.driver.end_capture(stream).unwrap();
        rig.finish(stream);
        let is_recorded = !rig.driver.is_graph_empty(graph).unwrap();
        assert!(!is_recorded || owner.upgrade().is_some(), "{name}");
        let executable = rig.driver.instantiate(graph).unwrap();
        rig.driver.replay(executable, stream).unwrap();
        rig.finish(stream);
        rig.driver.destroy_graph_exec(executable);
        rig.driver.destroy_graph(graph);
    }
}

/// Copies between memory of a device and an address of this program.
fn copy_to_host(driver: &dyn DriverRuntime, stream: StreamHandle, to: u64, from: &Arc<Memory>) {
    let to = CopyEndpoint::Host(Address(to));
    let copy = Copy { to, from: from.endpoint(), bytes: 1, owners: Owners::until_completed(from.clone()) };
    // SAFETY: the destination is leaked or pinned memory that the test owns.
    unsafe { driver.copy(stream, copy) }.unwrap();
}

#[test]
fn copy_of_another_thread_does_not_run_during_a_host_fn() {
    for is_pinned in [true, false] {
        let rig = rig();
        let (stream, from, pinned) = (rig.stream(0), rig.memory(0, 1), rig.pinned(&[0]));
        rig.fill(stream, &from, 7);
        rig.launch(stream, || {});
        rig.finish(stream);
        let pageable: &'static AtomicU8 = Box::leak(Box::default());
        let to = if is_pinned { pinned.address.0 } else { pageable.as_ptr().expose_provenance() as u64 };
        let read = move || {
            // SAFETY: the byte is leaked or pinned memory that the test owns, and is read only as an atomic.
            let byte: &AtomicU8 = unsafe { &*std::ptr::with_exposed_provenance(to as usize) };
            byte.load(Ordering::SeqCst)
        };
        // The copy has passed the submit lock when the function is queued, and is queued before the wait behind it.
        let [copying, started, waits, copied, overlapped] =
            std::array::from_fn(|_| Arc::new(AtomicBool::new(false)));
        let is_set = |flag: &Arc<AtomicBool>| {
            let flag = flag.clone();
            move || flag.load(Ordering::SeqCst)
        };
        let (begun, wait_queued) = (copying.clone(), is_set(&waits));
        hook("cuMemcpyDtoHAsync_v2", move || {
            begun.store(true, Ordering::SeqCst);
            wait_until(&wait_queued);
            0
        });
        let (queued, runs, is_copied) = (waits, is_set(&started), is_set(&copied));
        hook("cuStreamWaitValue32_v2", move || {
            wait_until(&runs);
            queued.store(true, Ordering::SeqCst);
            wait_until(&is_copied);
            0
        });
        let latch = Latch::default();
        thread::scope(|scope| {
            scope.spawn(|| {
                copy_to_host(&*rig.driver, stream, to, &from);
                copied.store(true, Ordering::SeqCst);
            });
            wait_until(is_set(&copying));
            let (begun, opened, differs) = (started.clone(), latch.clone(), overlapped.clone());
            rig.launch(stream, move || {
                let before = read();
                begun.store(true, Ordering::SeqCst);
                opened.wait();
                differs.store(before != read(), Ordering::SeqCst);
            });
            wait_until(is_set(&copied));
            latch.open();
        });
        unhook("cuMemcpyDtoHAsync_v2");
        unhook("cuStreamWaitValue32_v2");
        rig.finish(stream);
        assert_eq!((overlapped.load(Ordering::SeqCst), read()), (false, 7), "pinned: {is_pinned}");
    }
}

/// Makes a call while another thread destroys an object in the middle of the function `name`.
fn destroyed_during<T>(
    rig: &Rig,
    name: &'static str,
    destroy: impl FnOnce(&dyn DriverRuntime) + Send + 'static,
    act: impl FnOnce(&dyn DriverRuntime) -> Result<T>,
) {
    let driver = rig.driver.clone();
    let destroyed = Interleaved::during(name, move || destroy(&*driver));
    let result = act(&*rig.driver);
    destroyed.join();
    unhook(name);
    assert_eq!(result.map(drop), Ok(()), "{name}");
}

#[test]
fn stream_destroyed_during_a_call_lives_until_it_returns() {
    let rig = rig();
    let memory = rig.memory(0, 8);
    let functions = [
        "cuStreamQuery",
        "cuEventRecord",
        "cuMemsetD8Async",
        "cuLaunchHostFunc",
        "cuStreamGetCaptureInfo_v2",
    ];
    for name in functions {
        let stream = rig.stream(0);
        let destroy = move |driver: &dyn DriverRuntime| driver.destroy_stream(stream);
        destroyed_during(&rig, name, destroy, |driver| match name {
            "cuStreamQuery" => driver.check(WaitTarget::Stream(stream)).map(drop),
            "cuEventRecord" => driver.sync_point(WaitTarget::Stream(stream)).map(drop),
            "cuMemsetD8Async" => {
                rig.fill(stream, &memory, 1);
                Ok(())
            }
            "cuLaunchHostFunc" => driver.launch_host_fn(stream, HostFn::new("work", || Ok(()))),
            _ => driver.capture_id(stream).map(drop),
        });
    }
    assert_eq!(rig.wait(WaitTarget::Device(0)), Ok(true));
    assert_eq!(fake_library::live("streams"), 0);
}

#[test]
fn event_destroyed_during_a_call_lives_until_it_returns() {
    let rig = rig();
    let stream = rig.stream(0);
    for (name, number) in
        [("cuEventQuery", 0), ("cuEventQuery", 1), ("cuEventElapsedTime", 2), ("cuStreamWaitEvent", 3)]
    {
        let options = EventOptions { timing: true, ..EventOptions::default() };
        let event = rig.driver.create_event(0, options).unwrap();
        rig.driver.record_event(event, stream).unwrap();
        rig.finish(stream);
        let destroy = move |driver: &dyn DriverRuntime| driver.destroy_event(event);
        destroyed_during(&rig, name, destroy, |driver| match number {
            0 => driver.check(WaitTarget::Event(event)).map(drop),
            1 => driver.has_completed(event).map(drop),
            2 => driver.elapsed(event, event).map(drop),
            _ => driver.wait_event(stream, event),
        });
    }
}

#[test]
fn graph_destroyed_during_a_call_lives_until_it_returns() {
    let rig = rig();
    let (stream, memory) = (rig.stream(0), rig.memory(0, 8));
    let graph = || rig.capture(stream, || rig.fill(stream, &memory, 1)).unwrap();
    let own = graph();
    let destroy = move |driver: &dyn DriverRuntime| driver.destroy_graph(own);
    destroyed_during(&rig, "cuGraphNodeGetType", destroy, |driver| driver.describe_graph(own));
    let own = graph();
    let destroy = move |driver: &dyn DriverRuntime| driver.destroy_graph(own);
    destroyed_during(&rig, "cuGraphInstantiateWithFlags", destroy, |driver| {
        driver.instantiate(own).map(|executable| driver.destroy_graph_exec(executable))
    });
    let recorded = graph();
    let executable = rig.driver.instantiate(recorded).unwrap();
    rig.driver.destroy_graph(recorded);
    let destroy = move |driver: &dyn DriverRuntime| driver.destroy_graph_exec(executable);
    destroyed_during(&rig, "cuGraphLaunch", destroy, |driver| driver.replay(executable, stream));
    rig.finish(stream);
    assert_eq!(["graphs", "executables"].map(fake_library::live), [0, 0]);
}
