//! Threads that run jobs, and that wait for the next job when they have none.

use std::any::Any;
use std::hint::spin_loop;
use std::mem::take;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvError, SendError, SyncSender, TryRecvError, sync_channel};
use std::thread::{self, Builder, JoinHandle, Thread};
use std::time::{Duration, Instant};

use once_cell::race::OnceBox;

use super::background_thread;
use super::blocking;
use super::floating_point_modes::FloatingPointModes;
use super::fork::{self, ForkAware};
use super::fork_local::ForkLocal;
use super::mutex::Mutex;

/// A function that runs on a worker thread.
pub type Job = Box<dyn FnOnce() + Send>;

/// A function that several threads call, each with its number.
type Work<'a> = dyn Fn(usize) + Sync + 'a;

/// How long a thread that waits polls before the system puts it to sleep; to wake up takes about as long.
const SPIN_FOR: Duration = Duration::from_micros(50);

/// The maximum number of idle threads.
const KEPT: usize = 1024;

/// The size of a stack. It is specified because the standard library reads its default from the environment, which another
/// thread may change at that time.
const STACK: usize = 2 << 20;

/// Threads that run jobs. An idle one is reused, and a new one is started when none is idle, so no job waits for another.
///
/// A fork first ends the idle threads in the background, so that a process whose program has one thread forks as one. The child
/// begins without threads.
pub struct WorkerThreads {
    /// The name of the threads.
    name: &'static str,
    /// The rank of the handler that ends idle threads before a fork; `None` for threads that run code of the program. It is
    /// below those of all locks, so that a fork holds none while threads end.
    fork_rank: Option<u8>,
    idle: OnceBox<ForkLocal<Mutex<Vec<Worker>>>>,
}

/// A thread that is idle, or that has got a job.
struct Worker {
    jobs: SyncSender<Task>,
    thread: JoinHandle<()>,
}

/// A job. With a worker, which runs it, this is added to the idle ones afterwards.
struct Task(Job, Option<Worker>);

impl WorkerThreads {
    /// Creates threads [in the background](background_thread), whose jobs call no code of the program. They are started when
    /// they are needed. `rank` is one of [`rank`](super::fork::rank).
    pub const fn in_background(rank: u8, name: &'static str) -> Self {
        WorkerThreads { name, fork_rank: Some(rank), idle: OnceBox::new() }
    }

    /// Creates threads whose jobs may call code of the program. A fork leaves them as they are: they may need locks of the
    /// forking thread to end.
    pub const fn for_user_code(name: &'static str) -> Self {
        WorkerThreads { name, fork_rank: None, idle: OnceBox::new() }
    }

    /// Runs a job on a thread.
    ///
    /// # Errors
    /// Returns the job if the system creates no thread.
    pub fn dispatch(&'static self, job: Job) -> Result<(), Job> {
        let Some(worker) = self.worker() else { return Err(job) };
        let jobs = worker.jobs.clone();
        jobs.send(Task(job, Some(worker))).map_err(|SendError(Task(job, _))| job)
    }

    /// Calls `work` with 0 on the calling thread, and with the numbers from 1 on `others` threads, or on as many as the system
    /// creates. If no other call intervenes, a thread gets the number that it had in the last call, so that it finds its part
    /// of the data in its cache. The threads have the floating-point modes of the calling thread meanwhile. Returns when all
    /// calls have returned. A panic of one of them is passed on.
    pub fn run_on_each(&'static self, others: usize, work: &(dyn Fn(usize) + Sync)) {
        let calls = Arc::new(Calls::new());
        let others_end = WaitForCalls(&calls);
        // SAFETY: the lifetime is extended until the last call has returned, which `others_end` waits for, also if this
        // thread unwinds.
        let shared = unsafe { std::mem::transmute::<*const Work<'_>, *const Work<'static>>(work) };
        let mut workers = Vec::with_capacity(others);
        while workers.len() < others
            && let Some(worker) = self.worker()
        {
            let (call, jobs) = (Call::new(&calls, shared), worker.jobs.clone());
            workers.push(worker);
            let number = workers.len();
            // A call that is not sent is dropped, which ends it.
            let _ = jobs.send(Task(Box::new(move || call.run(number)), None));
        }
        work(0);
        drop(others_end);
        // Only now, and not by themselves: the next operation finds them, and so does a fork. The last one is the first that
        // the next call gets.
        workers.reverse();
        self.add_idle(workers);
        if let Some(panic) = calls.panic.lock().take() {
            resume_unwind(panic);
        }
    }

    fn add_idle(&'static self, mut workers: Vec<Worker>) {
        let mut idle = self.idle().lock();
        idle.append(&mut workers);
        idle.truncate(KEPT);
    }

    /// Returns an idle worker, or a new one.
    fn worker(&'static self) -> Option<Worker> {
        let idle = self.idle().lock().pop();
        idle.or_else(|| self.start())
    }

    fn start(&'static self) -> Option<Worker> {
        if !has_room_for_thread() {
            return None;
        }
        let (jobs, received) = sync_channel(1);
        let builder = Builder::new().name(self.name.into()).stack_size(STACK);
        let work = move || self.work(&received);
        let thread = match self.fork_rank {
            Some(_) => background_thread::spawn(builder, work),
            None => builder.spawn(work),
        };
        thread.ok().map(|thread| Worker { jobs, thread })
    }

    fn work(&'static self, received: &Receiver<Task>) {
        while let Ok(Task(job, worker)) = receive(received) {
            job();
            self.add_idle(worker.into_iter().collect());
        }
    }

    fn idle(&'static self) -> &'static Mutex<Vec<Worker>> {
        let create = || {
            if let Some(rank) = self.fork_rank {
                fork::register(rank, self);
            }
            Box::default()
        };
        self.idle.get_or_init(create).get()
    }
}

impl ForkAware for WorkerThreads {
    /// Ends the threads that are idle, and waits for them. If another thread uses the list, the process has several threads
    /// anyway.
    #[expect(clippy::disallowed_methods, reason = "threads that end use no interpreter")]
    fn prepare(&self) {
        let idle = self.idle.get().and_then(|idle| idle.get().try_lock().map(|mut idle| take(&mut *idle)));
        let Some(idle) = idle else { return };
        let (jobs, threads): (Vec<_>, Vec<_>) =
            idle.into_iter().map(|worker| (worker.jobs, worker.thread)).unzip();
        drop(jobs);
        for thread in threads {
            let ended = thread.join();
            debug_assert!(ended.is_ok(), "an idle thread must not panic");
        }
    }

    fn release(&self) {}

    fn after_fork_in_child(&self) {}
}

/// Returns whether there are addresses for a thread. glibc reuses the stack of an ended thread and then checks nothing; without
/// addresses for thread-local variables the loader ends the process.
fn has_room_for_thread() -> bool {
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: maps new pages, which nothing refers to, and removes them.
    unsafe {
        let pages = libc::mmap(ptr::null_mut(), STACK, access, kind, -1, 0);
        pages != libc::MAP_FAILED && libc::munmap(pages, STACK) == 0
    }
}

/// Returns the next task; polls for it at first.
#[expect(clippy::disallowed_methods, reason = "the thread is not attached to an interpreter")]
fn receive(received: &Receiver<Task>) -> Result<Task, RecvError> {
    let mut task = Err(TryRecvError::Empty);
    spin_until(|| {
        task = received.try_recv();
        !matches!(task, Err(TryRecvError::Empty))
    });
    match task {
        Err(TryRecvError::Empty) => received.recv(),
        Err(TryRecvError::Disconnected) => Err(RecvError),
        Ok(task) => Ok(task),
    }
}

/// Polls until the condition is true, or for [`SPIN_FOR`].
fn spin_until(mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() && began.elapsed() < SPIN_FOR {
        spin_loop();
    }
}

/// The calls of one function on several threads.
struct Calls {
    /// The number of calls that have not returned.
    running: AtomicUsize,
    /// The thread that waits for them.
    caller: Thread,
    modes: FloatingPointModes,
    /// What a call panicked with.
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Calls {
    /// Creates calls that the calling thread waits for.
    fn new() -> Self {
        Calls {
            running: AtomicUsize::new(0),
            caller: thread::current(),
            modes: FloatingPointModes::current(),
            panic: Mutex::default(),
        }
    }

    fn wait(&self) {
        let have_returned = || self.running.load(Ordering::Acquire) == 0;
        spin_until(have_returned);
        if !have_returned() {
            let wait = || {
                while !have_returned() {
                    thread::park();
                }
            };
            // SAFETY: the function only waits.
            unsafe { blocking::detached(wait) };
        }
    }
}

/// Waits for all calls when it is dropped.
struct WaitForCalls<'a>(&'a Calls);

impl Drop for WaitForCalls<'_> {
    fn drop(&mut self) {
        self.0.wait();
    }
}

/// One of the calls. It has returned when this is dropped, also without a call.
struct Call {
    calls: Arc<Calls>,
    /// A pointer and no reference: what it points to may go once the call has returned, before this is dropped completely.
    work: *const Work<'static>,
}

// SAFETY: the function may be called on any thread.
unsafe impl Send for Call {}

impl Call {
    fn new(calls: &Arc<Calls>, work: *const Work<'static>) -> Self {
        calls.running.fetch_add(1, Ordering::Relaxed);
        Call { calls: calls.clone(), work }
    }

    fn run(self, number: usize) {
        // The next caller sets its own.
        self.calls.modes.set();
        // SAFETY: the function lives until this call has returned.
        let work = AssertUnwindSafe(|| unsafe { (*self.work)(number) });
        if let Err(panic) = catch_unwind(work) {
            *self.calls.panic.lock() = Some(panic);
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        // What the call has written happens before the waiting thread reads that it has returned.
        if self.calls.running.fetch_sub(1, Ordering::Release) == 1 {
            self.calls.caller.unpark();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, HashSet};
    use std::sync::Barrier;
    use std::thread::ThreadId;

    use super::*;
    use crate::base::fork::rank;

    static THREADS: WorkerThreads = WorkerThreads::in_background(rank::KERNEL_THREADS, "test");

    /// Returns the threads on which two calls of a function ran at the same time.
    fn threads_of_two_calls() -> HashSet<ThreadId> {
        let (both, ids) = (Barrier::new(2), Mutex::new(HashSet::new()));
        THREADS.run_on_each(1, &|_| {
            both.wait();
            ids.lock().insert(thread::current().id());
        });
        std::mem::take(&mut *ids.lock())
    }

    #[test]
    fn idle_thread_is_reused() {
        let own = thread::current().id();
        let first = threads_of_two_calls();
        assert!(first.len() == 2 && first.contains(&own));
        assert_eq!(threads_of_two_calls(), first);
    }

    #[test]
    #[cfg(any(target_arch = "aarch64", target_arch = "x86_64"))]
    fn calls_have_the_floating_point_modes_of_the_caller() {
        use crate::base::floating_point_modes::tests::subnormal;

        let results_of_two_calls = || {
            let (both, results) = (Barrier::new(2), Mutex::new(Vec::new()));
            THREADS.run_on_each(1, &|_| {
                both.wait();
                results.lock().push(subnormal());
            });
            std::mem::take(&mut *results.lock())
        };
        let own = FloatingPointModes::current();
        assert_eq!(results_of_two_calls(), [f32::MIN_POSITIVE / 2.0; 2]);
        own.flushing_to_zero().set();
        let flushed = results_of_two_calls();
        own.set();
        assert_eq!(flushed, [0.0; 2]);
        assert_eq!(results_of_two_calls(), [f32::MIN_POSITIVE / 2.0; 2]);
    }

    #[test]
    fn fork_ends_idle_threads_and_both_processes_start_new_ones() {
        threads_of_two_calls();
        // SAFETY: the child only calls a function on threads of its own, and exits.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: an alarm kills the child if it hangs, and it exits without handlers of the parent.
            unsafe {
                libc::alarm(10);
                libc::_exit(if threads_of_two_calls().len() == 2 { 0 } else { 1 });
            }
        }
        assert!(THREADS.idle().lock().is_empty());
        assert_eq!(threads_of_two_calls().len(), 2);
        let mut status = 1;
        // SAFETY: waits for the child just created, into a local.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert_eq!(status, 0);
    }

    #[test]
    fn panic_of_a_call_is_passed_on_after_all_have_returned() {
        for panics_here in [true, false] {
            let (own, returned) = (thread::current().id(), AtomicUsize::new(0));
            let both = Barrier::new(2);
            let call = AssertUnwindSafe(|| {
                THREADS.run_on_each(1, &|_| {
                    both.wait();
                    if (thread::current().id() == own) == panics_here {
                        panic!("in a call");
                    }
                    thread::sleep(Duration::from_millis(2));
                    returned.fetch_add(1, Ordering::Relaxed);
                });
            });
            let panic = catch_unwind(call).unwrap_err();
            assert_eq!(panic.downcast_ref(), Some(&"in a call"));
            assert_eq!(returned.into_inner(), 1);
        }
    }

    #[test]
    fn each_thread_has_a_number_that_it_gets_again() {
        // No other test uses these threads.
        static NUMBERED: WorkerThreads = WorkerThreads::in_background(rank::KERNEL_THREADS, "numbered");
        let numbered = || {
            let (all, ids) = (Barrier::new(4), Mutex::new(BTreeMap::new()));
            NUMBERED.run_on_each(3, &|number| {
                ids.lock().insert(number, thread::current().id());
                all.wait();
            });
            std::mem::take(&mut *ids.lock())
        };
        let first = numbered();
        assert_eq!(first.get(&0), Some(&thread::current().id()));
        assert_eq!(first.keys().copied().collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(numbered(), first);
    }

    #[test]
    fn thread_of_a_job_is_idle_after_it() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let job: Job = Box::new(move || sender.send(thread::current().id()).unwrap());
        assert!(THREADS.dispatch(job).is_ok());
        let id = receiver.recv().unwrap();
        while THREADS.idle().lock().is_empty() {
            thread::yield_now();
        }
        assert!(threads_of_two_calls().contains(&id));
    }

    #[test]
    fn jobs_of_many_threads_run_beside_each_other() {
        thread::scope(|callers| {
            for _ in 0..4 {
                callers.spawn(|| {
                    for _ in 0..100 {
                        assert_eq!(threads_of_two_calls().len(), 2);
                    }
                });
            }
        });
    }
}
