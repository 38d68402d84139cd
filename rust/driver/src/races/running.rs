//! The work that a thread runs.

use std::cell::RefCell;
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::access::Moment;

/// The number of queued tasks of a session that have neither run nor been cancelled.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingCount(Arc<AtomicUsize>);

impl PendingCount {
    pub fn get(&self) -> usize {
        self.0.load(Ordering::Acquire)
    }
}

/// A queued task, counted until it is dropped.
#[derive(Debug)]
pub(super) struct Pending {
    moment: Arc<Moment>,
    count: PendingCount,
}

impl Pending {
    pub fn new(moment: Arc<Moment>, count: PendingCount) -> Self {
        count.0.fetch_add(1, Ordering::AcqRel);
        Pending { moment, count }
    }

    pub fn moment(&self) -> &Arc<Moment> {
        &self.moment
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.count.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// What a thread runs: the program, or a task of a stream. The thread of a task may hand it to another thread.
///
/// ```
/// use interlock_driver::races;
///
/// // A thread that a task starts runs the task, too.
/// let running = races::current();
/// std::thread::spawn(move || drop(running.enter())).join().unwrap();
/// ```
#[derive(Clone, Debug, Default)]
pub struct Running(State);

#[derive(Clone, Debug, Default)]
enum State {
    #[default]
    Program,
    /// A task that was queued when no races were detected.
    Unobserved,
    Task(Arc<Moment>),
}

thread_local! {
    static RUNNING: RefCell<State> = const { RefCell::new(State::Program) };
}

/// Returns what this thread runs.
pub fn current() -> Running {
    // Not accessible while the thread ends.
    Running(RUNNING.try_with(|running| running.borrow().clone()).unwrap_or_default())
}

impl Running {
    pub(super) fn of(moment: Option<&Arc<Moment>>) -> Self {
        Running(moment.map_or(State::Unobserved, |moment| State::Task(moment.clone())))
    }

    /// Returns whether it is the program, rather than a task of a stream.
    pub fn is_program(&self) -> bool {
        matches!(self.0, State::Program)
    }

    pub(super) fn moment(&self) -> Option<Arc<Moment>> {
        match &self.0 {
            State::Task(moment) => Some(moment.clone()),
            State::Program | State::Unobserved => None,
        }
    }

    /// Makes this thread run it until the guard is dropped.
    pub fn enter(self) -> RunningGuard {
        RunningGuard { before: set(self.0), _of_thread: PhantomData }
    }

    /// Makes this thread run it from now on.
    pub fn set(self) {
        set(self.0);
    }
}

fn set(state: State) -> State {
    RUNNING.try_with(|running| running.replace(state)).unwrap_or_default()
}

/// The scope of [`Running::enter`].
///
/// ```
/// use interlock_driver::races::{self, Running};
///
/// let guard = Running::default().enter();
/// assert!(races::current().is_program());
/// drop(guard);
/// ```
#[derive(Debug)]
pub struct RunningGuard {
    before: State,
    _of_thread: PhantomData<*const ()>,
}

impl Drop for RunningGuard {
    fn drop(&mut self) {
        set(std::mem::take(&mut self.before));
    }
}
