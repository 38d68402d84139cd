//! Separate states for tasks that run interleaved on a thread.

use std::pin::Pin;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use super::carried::CarriedTask;
use super::current::NativeScopes;
use super::ids::TaskId;
use super::mailbox::{self, MailboxId};
use super::thread_state::ThreadState;
use super::{native, reads};
use crate::base::sync::{RelaxedU64, TryLock};
use crate::{Error, Result};

/// The state of a task, which is active during each step of the task. Scopes that the task enters and values that it
/// writes stay with it: they change neither the thread nor the task that created it.
///
/// ```
/// use interlock_core::modes::{is_grad_enabled, no_grad};
/// use interlock_core::thread::{TaskState, ThreadState};
///
/// let task = TaskState::new(&ThreadState::capture());
/// let _guard = no_grad();
/// assert!(task.step(is_grad_enabled)?);
/// assert!(!is_grad_enabled());
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Debug)]
pub struct TaskState {
    id: TaskId,
    /// The id of the thread on which a step runs, or 0. Only that thread acquires the lock.
    runs_on: RelaxedU64,
    /// The id of the state's mailbox, which the first `enter_step` opens; 0 before.
    mailbox: RelaxedU64,
    /// The task's state between steps. During a step the thread has it, and this field is empty.
    swapped_out: TryLock<NativeScopes>,
    carried: CarriedTask,
}

impl TaskState {
    /// Creates a task whose state begins as a copy of a captured state.
    pub fn new(start: &ThreadState) -> Self {
        let mut state = NativeScopes::new();
        state.guards.set_base(start.modes_of_layer(), start.slots().clone());
        TaskState {
            id: TaskId::next(),
            runs_on: RelaxedU64::new(0),
            mailbox: RelaxedU64::new(0),
            swapped_out: TryLock::new(state),
            carried: CarriedTask::new(start.carried().clone()),
        }
    }

    /// Calls `action` while this state is active. Fails while another step of the task runs.
    pub fn step<R>(&self, action: impl FnOnce() -> R) -> Result<R> {
        // The task is borrowed until the step ends, so it cannot be dropped during it.
        self.enter_step_with(|_| ())?;
        let _end = Defer(|| self.exit_step());
        Ok(action())
    }

    /// Activates this state until [`exit_step`](TaskState::exit_step). Fails while a step of the task runs.
    ///
    /// For callers that cannot use a guard, because the code of the step may be terminated without returning here.
    /// Steps of several tasks on one thread may end in any order. If the task is dropped on another thread, the step
    /// ends when this thread next enters or exits a scope, or writes a mode or flag.
    pub fn enter_step(&self) -> Result<()> {
        self.enter_step_with(|state| self.mailbox.set(state.open_mailbox().0))
    }

    /// Begins a step after calling `prepare` with the state.
    fn enter_step_with(&self, prepare: impl FnOnce(&mut NativeScopes)) -> Result<()> {
        let here = reads::this_thread().as_word();
        // A nested step finds the id of its own thread.
        if self.runs_on.get() == here || self.runs_on.compare_set(0, here) != here {
            return Err(Error::TaskIsRunning);
        }
        // Before hooks of modes see the state of the task, and at the end after them.
        self.carried.begin();
        // If the thread is ending, the step runs without the state of the task.
        let begun = self.with_swapped_out(|swapped_out| {
            prepare(swapped_out);
            native::enter_step(self.id, swapped_out)
        });
        if begun.is_none() {
            self.carried.end();
            self.runs_on.set(0);
            return Err(Error::TaskIsRunning);
        }
        Ok(())
    }

    /// Deactivates this state. The state that it had displaced becomes active again, or becomes the one that the next
    /// step has displaced. Has no effect if this thread runs no step of the task.
    pub fn exit_step(&self) {
        if self.runs_on.get() == reads::this_thread().as_word() {
            self.carried.end();
            let _deferred = self.with_swapped_out(|swapped_out| native::exit_step(self.id, swapped_out));
            self.runs_on.set(0);
        }
    }

    /// Calls `action` under the lock. The caller drops its result, which may run user code, without the lock.
    fn with_swapped_out<R>(&self, action: impl FnOnce(&mut NativeScopes) -> R) -> Option<R> {
        self.swapped_out.try_lock().map(|mut swapped_out| action(&mut swapped_out))
    }

    /// Runs a step without synchronization, for a caller with exclusive access.
    fn step_mut<R>(&mut self, action: impl FnOnce() -> R) -> R {
        self.carried.begin();
        drop(native::enter_step(self.id, self.swapped_out.get_mut()));
        let _end = Defer(|| {
            self.carried.end();
            drop(native::exit_step(self.id, self.swapped_out.get_mut()));
        });
        action()
    }
}

/// Calls a function when it is dropped.
struct Defer<F: FnMut()>(F);

impl<F: FnMut()> Drop for Defer<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

impl Drop for TaskState {
    fn drop(&mut self) {
        // A step may be running. On this thread it ends now; on another thread, with that thread's next enter, exit or
        // write.
        self.exit_step();
        if self.runs_on.get() != 0 {
            mailbox::abandon(MailboxId(self.mailbox.get()));
        }
        self.swapped_out.get_mut().record_end();
    }
}

pin_project! {
    /// A future that runs in a state of its own; see [`ThreadState::in_future`].
    ///
    /// ```
    /// use std::pin::pin;
    /// use std::task::{Context, Poll, Waker};
    ///
    /// use interlock_core::modes::{is_grad_enabled, no_grad};
    /// use interlock_core::thread::ThreadState;
    ///
    /// let state = no_grad_state();
    /// let future = pin!(state.in_future(async { is_grad_enabled() }));
    /// assert_eq!(future.poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(false));
    ///
    /// fn no_grad_state() -> ThreadState {
    ///     let _guard = no_grad();
    ///     ThreadState::capture()
    /// }
    /// ```
    #[derive(Debug)]
    #[must_use = "a future does nothing unless it is polled"]
    pub struct WithState<F> {
        state: TaskState,
        // `None` while it is being dropped.
        #[pin]
        future: Option<F>,
    }

    impl<F> PinnedDrop for WithState<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            // The scopes that the future has open are exited in the state in which they were entered.
            this.state.step_mut(|| this.future.set(None));
        }
    }
}

impl ThreadState {
    /// Wraps a future so that it runs in a state of its own, which begins as a copy of this one. That state is active
    /// during each poll; scopes that the future enters and values that it writes stay with it, on any thread that polls
    /// it.
    pub fn in_future<F: Future>(&self, future: F) -> WithState<F> {
        WithState::new(TaskState::new(self), future)
    }
}

impl<F> WithState<F> {
    fn new(state: TaskState, future: F) -> Self {
        WithState { state, future: Some(future) }
    }
}

impl<F: Future> Future for WithState<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        // Always `Some`: a future that is being dropped is not polled.
        let Some(future) = this.future.as_pin_mut() else { return Poll::Pending };
        this.state.step_mut(|| future.poll(context))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::pin::pin;
    use std::task::Waker;

    use super::*;
    use crate::flags::{FlagScope, InputValue, find, flags};
    use crate::modes::{
        ModeContext, ModeKind, inference_mode, is_grad_enabled, is_inference_mode_enabled, no_grad,
    };
    use crate::thread::any_flag_layer;

    fn task() -> TaskState {
        TaskState::new(&ThreadState::capture())
    }

    #[test]
    fn step_confines_enters_and_writes_to_the_task() {
        let task = {
            let _guard = no_grad();
            task()
        };
        let scope =
            FlagScope::new([(find("cudnn.enabled").unwrap(), InputValue::Bool(false))], None).unwrap();
        let mode = ModeContext::new(ModeKind::EnableGrad);
        task.step(|| {
            assert!(!is_grad_enabled());
            mode.enter();
            scope.enter();
        })
        .unwrap();
        assert!(is_grad_enabled() && flags::CUDNN_ENABLED.get());
        let _here = no_grad();
        task.step(|| assert!(is_grad_enabled() && !flags::CUDNN_ENABLED.get())).unwrap();
        task.step(|| mode.exit()).unwrap();
        task.step(|| assert!(!is_grad_enabled())).unwrap();
        drop(task);
        assert!(!any_flag_layer());
    }

    #[test]
    fn exit_in_another_task_removes_the_layer_of_the_task_that_entered() {
        let (first, second) = (task(), task());
        let mode = ModeContext::new(ModeKind::NoGrad);
        first.step(|| mode.enter()).unwrap();
        second.step(|| mode.exit()).unwrap();
        first.step(|| assert!(is_grad_enabled())).unwrap();
        first.step(|| mode.enter()).unwrap();
        mode.exit();
        first.step(|| assert!(is_grad_enabled())).unwrap();
    }

    #[test]
    fn revoke_write_in_another_task_changes_nothing() {
        let (first, second) = (task(), task());
        let mode = ModeContext::new(ModeKind::SetGradEnabled);
        second.step(|| ModeContext::new(ModeKind::SetGradEnabled).set(false)).unwrap().unwrap();
        first.step(|| mode.set(false)).unwrap().unwrap();
        second.step(|| mode.revoke_write()).unwrap().unwrap();
        second.step(|| assert!(!is_grad_enabled())).unwrap();
        assert!(is_grad_enabled());
    }

    #[test]
    fn step_fails_inside_itself_and_swaps_out_after_a_panic() {
        let task = task();
        task.step(|| assert_eq!(task.step(|| ()), Err(Error::TaskIsRunning))).unwrap();
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            task.step(|| {
                ModeContext::new(ModeKind::NoGrad).enter();
                std::panic::resume_unwind(Box::new("a panic"));
            })
        }));
        assert!(panicked.is_err() && is_grad_enabled());
        task.step(|| assert!(!is_grad_enabled())).unwrap();
    }

    #[test]
    fn exit_step_in_any_order_restores_tasks_and_thread() {
        let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        for order in orders {
            let tasks = [task(), task(), task()];
            // Each task sets a different mode, which identifies the active state.
            tasks[0].step(|| ModeContext::new(ModeKind::NoGrad).enter()).unwrap();
            tasks[1].step(|| ModeContext::new(ModeKind::InferenceMode).enter()).unwrap();
            let seen = || (is_grad_enabled(), is_inference_mode_enabled());
            let own = [(false, false), (false, true), (true, false)];
            tasks.iter().for_each(|task| task.enter_step().unwrap());
            let mut running = vec![0, 1, 2];
            for index in order {
                tasks[index].exit_step();
                running.retain(|other| *other != index);
                assert_eq!(seen(), running.last().map_or((true, false), |last| own[*last]), "{order:?}");
            }
            for (task, own) in tasks.iter().zip(own) {
                task.step(|| assert_eq!(seen(), own)).unwrap();
            }
        }
    }

    #[test]
    fn drop_in_a_step_restores_the_state_of_the_thread() {
        let _here = no_grad();
        let task = task();
        task.enter_step().unwrap();
        ModeContext::new(ModeKind::EnableGrad).enter();
        assert!(is_grad_enabled());
        drop(task);
        assert!(!is_grad_enabled());
    }

    #[test]
    fn drop_on_another_thread_restores_the_state_at_the_next_check() {
        let _here = no_grad();
        let tasks = [task(), task()];
        tasks.iter().for_each(|task| task.enter_step().unwrap());
        ModeContext::new(ModeKind::EnableGrad).enter();
        let [outer, inner] = tasks;
        std::thread::scope(|threads| {
            threads.spawn(|| drop(outer));
        });
        // The active state belongs to the other task.
        assert!(after_remote_exits(is_grad_enabled));
        std::thread::scope(|threads| {
            threads.spawn(|| drop(inner));
        });
        assert!(!after_remote_exits(is_grad_enabled));
        let task = task();
        task.step(|| assert!(!is_grad_enabled())).unwrap();
    }

    #[test]
    fn step_runs_on_any_thread() {
        let task = task();
        let mode = ModeContext::new(ModeKind::NoGrad);
        task.step(|| mode.enter()).unwrap();
        std::thread::scope(|threads| {
            threads.spawn(|| {
                let guard = inference_mode(true);
                task.step(|| drop(guard)).unwrap();
                task.step(|| assert!(!is_grad_enabled())).unwrap();
                assert!(!after_remote_exits(is_inference_mode_enabled));
                task.step(|| mode.exit()).unwrap();
                task.step(|| assert!(is_grad_enabled())).unwrap();
            });
        });
        assert!(is_grad_enabled());
    }

    #[test]
    fn revoke_write_works_after_the_task_moved_to_another_thread() {
        let task = task();
        let (to_the_base, to_a_layer) =
            (ModeContext::new(ModeKind::SetGradEnabled), ModeContext::new(ModeKind::SetGradEnabled));
        let mode = ModeContext::new(ModeKind::NoGrad);
        task.step(|| {
            to_the_base.set(false).unwrap();
            mode.enter();
            to_a_layer.set(true).unwrap();
        })
        .unwrap();
        std::thread::scope(|threads| {
            threads.spawn(|| {
                task.step(|| to_a_layer.revoke_write()).unwrap().unwrap();
                task.step(|| assert!(!is_grad_enabled())).unwrap();
                task.step(|| mode.exit()).unwrap();
                task.step(|| assert!(!is_grad_enabled())).unwrap();
                task.step(|| to_the_base.revoke_write()).unwrap().unwrap();
                task.step(|| assert!(is_grad_enabled())).unwrap();
            });
        });
    }

    #[test]
    fn with_state_keeps_guards_between_polls_and_drops_them_in_its_state() {
        let seen = RefCell::new(Vec::new());
        let mut future = Box::pin(ThreadState::capture().in_future(async {
            let _guard = no_grad();
            for _ in 0..2 {
                seen.borrow_mut().push(is_grad_enabled());
                once_pending().await;
            }
        }));
        let mut context = Context::from_waker(Waker::noop());
        assert!(future.as_mut().poll(&mut context).is_pending());
        assert!(is_grad_enabled());
        let here = no_grad();
        assert!(future.as_mut().poll(&mut context).is_pending());
        drop(future);
        assert!(!is_grad_enabled());
        drop(here);
        assert_eq!((seen.take(), is_grad_enabled()), (vec![false, false], true));
    }

    #[test]
    fn guard_dropped_by_another_task_removes_the_layer_it_created() {
        let task = task();
        let mut guard = None;
        task.step(|| guard = Some(no_grad())).unwrap();
        drop(guard.take());
        task.step(|| assert!(is_grad_enabled())).unwrap();
        let here = no_grad();
        task.step(|| drop(here)).unwrap();
        assert!(after_remote_exits(is_grad_enabled));
    }

    /// Applies the exits that other threads or tasks have requested, as the next enter does.
    fn after_remote_exits(seen: impl Fn() -> bool) -> bool {
        crate::thread::sync();
        seen()
    }

    #[test]
    fn with_state_returns_the_output_of_the_future() {
        let future = pin!(ThreadState::capture().in_future(async { 7 }));
        assert_eq!(future.poll(&mut Context::from_waker(Waker::noop())), Poll::Ready(7));
    }

    async fn once_pending() {
        let mut polled = false;
        std::future::poll_fn(|_| {
            let ready = std::mem::replace(&mut polled, true);
            if ready { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}
