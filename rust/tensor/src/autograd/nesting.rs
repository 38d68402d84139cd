//! Backward passes that run inside of each other, because a backward function or a hook starts one.
//!
//! Each pass needs a part of the stack. A pass for which the stack of the thread is too small, or that is the
//! 61st of a thread, runs on a thread of its own, as PyTorch's passes run on its worker threads. The thread that started
//! it waits. While an interpreter ends, no other thread can call functions of the program, so every pass stays on its
//! thread.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::sync::Arc;

use interlock::autograd::scope_barrier;
use interlock::state::ThreadState;
use interlock_core::base::{blocking, stack};
use once_cell::race::OnceBox;

use crate::{Error, ErrorKind, Result};

/// The passes that may be open inside of each other.
const LIMIT: usize = 2000;

/// The passes of them that may be open on one thread: PyTorch's number.
const THREAD_LIMIT: usize = 60;

/// The bytes of the stack that a pass needs at least: for itself, and for the functions of the program that it calls.
const STACK_BYTES: usize = 128 << 10;

/// The stack of a thread for inner passes: the usual size of the first thread.
const THREAD_STACK_BYTES: usize = 8 << 20;

type PassObject = Arc<dyn Any + Send + Sync>;

/// A function that runs at the end of a pass.
type Callback = Box<dyn FnOnce() -> Result<()> + Send>;

/// The objects that the program stores in an open pass.
#[derive(Default)]
struct PassData {
    object: Option<PassObject>,
    /// In the order in which they were queued.
    callbacks: VecDeque<Callback>,
}

/// How a pass that is too deep inside of others runs on a thread of its own.
#[derive(Clone, Copy)]
pub struct PassThreads {
    /// Returns whether a new thread can call functions of the program now.
    pub are_usable: fn() -> bool,
    /// Prepares the new thread, on which it is called, for functions of the program, and calls its argument.
    pub run: fn(&mut (dyn FnMut() + Send)),
}

static PASS_THREADS: OnceBox<PassThreads> = OnceBox::new();

/// Sets how passes run on threads of their own. Later calls have no effect.
pub fn set_pass_threads(threads: PassThreads) {
    let _ = PASS_THREADS.set(Box::new(threads));
}

/// The numbers of open passes.
#[derive(Clone, Copy)]
struct OpenPasses {
    /// All passes that wait for the end of the innermost one, and itself.
    total: usize,
    /// Those of this thread.
    here: usize,
}

thread_local! {
    static OPEN: Cell<OpenPasses> = const { Cell::new(OpenPasses { total: 0, here: 0 }) };
    /// The data of the open passes, from the outermost pass. It ends with the last pass that has some.
    static DATA: RefCell<Vec<PassData>> = const { RefCell::new(Vec::new()) };
}

/// Returns an object that exists once for the innermost backward pass that is open on this thread, or `None` if no pass
/// is open. `make` creates it in the first call; the end of the pass drops it.
///
/// A hook uses it to store data of one pass.
///
/// ```
/// use std::sync::Arc;
/// use interlock_tensor::Tensor;
/// use interlock_tensor::autograd::pass_object;
///
/// assert!(pass_object(|| Arc::new(())).is_none());
/// let leaf = Tensor::from_slice(&[3.0], &[])?;
/// leaf.set_requires_grad(true)?;
/// leaf.register_hook(Arc::new(|_: &Tensor| {
///     let object = pass_object(|| Arc::new("the pass"));
///     assert!(object.is_some_and(|object| object.is::<&str>()));
///     Ok(None)
/// }))?;
/// leaf.mul(2.0)?.backward()?;
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
pub fn pass_object(make: impl FnOnce() -> PassObject) -> Option<PassObject> {
    let index = OPEN.get().here.checked_sub(1)?;
    let found = DATA.with_borrow(|data| data.get(index)?.object.clone());
    if found.is_some() {
        return found;
    }
    // `make` may run code of the program, so the objects are not borrowed meanwhile.
    let made = make();
    with_data(index, |data| data.object.get_or_insert(made).clone())
}

/// Accesses the data of the open pass with this index on this thread.
fn with_data<R>(index: usize, access: impl FnOnce(&mut PassData) -> R) -> Option<R> {
    DATA.with_borrow_mut(|data| {
        if data.len() <= index {
            data.resize_with(index + 1, PassData::default);
        }
        data.get_mut(index).map(access)
    })
}

/// Queues a function that runs at the end of the innermost backward pass that is open on this thread, after all gradients
/// were computed, unless the pass fails: PyTorch's `queue_callback`. Functions run in the order in which they were queued,
/// also those that others of them queue; the first error ends them, and the pass returns it.
///
/// ```
/// use std::sync::Arc;
/// use interlock_tensor::Tensor;
/// use interlock_tensor::autograd::queue_callback;
///
/// let leaf = Tensor::from_slice(&[3.0], &[])?;
/// leaf.set_requires_grad(true)?;
/// let watched = leaf.clone();
/// let result = leaf.mul(2.0)?;
/// result.register_hook(Arc::new(move |_: &Tensor| {
///     let leaf = watched.clone();
///     queue_callback(Box::new(move || leaf.set_grad(None)))?;
///     Ok(None)
/// }))?;
/// result.backward()?;
/// assert!(leaf.grad().is_none());
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
///
/// # Errors
/// Fails if no pass is open.
pub fn queue_callback(callback: Callback) -> Result<()> {
    let index = OPEN.get().here.checked_sub(1);
    let queued = index.and_then(|index| with_data(index, |data| data.callbacks.push_back(callback)));
    queued.ok_or_else(|| {
        let message = "must be called during a backward pass, by a backward function or a hook";
        Error::new(ErrorKind::State, "queue_callback", message)
    })
}

/// Runs the queued functions of the innermost pass.
pub(super) fn run_callbacks() -> Result<()> {
    let Some(index) = OPEN.get().here.checked_sub(1) else { return Ok(()) };
    // A function may queue others, so the data are not borrowed while one runs.
    let next = || DATA.with_borrow_mut(|data| data.get_mut(index)?.callbacks.pop_front());
    while let Some(callback) = next() {
        let _barrier = scope_barrier();
        callback()?;
    }
    Ok(())
}

/// Runs a pass, on a thread of its own if this one has too little stack left.
///
/// # Errors
/// Fails if too many passes are open, or no thread can be started.
pub(super) fn run<T: Send>(op: &'static str, pass: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let open = OPEN.get();
    if open.total >= LIMIT {
        let message = format!("at most {LIMIT} backward passes can run inside of each other");
        return Err(Error::new(ErrorKind::Nesting, op, message));
    }
    let fits = stack::remaining().is_none_or(|bytes| bytes >= STACK_BYTES);
    let must_move = !fits || open.here >= THREAD_LIMIT;
    let moves = must_move && PASS_THREADS.get().is_none_or(|threads| (threads.are_usable)());
    if fits && !moves {
        let _open = OpenPass::begin();
        return pass();
    }
    let result = if moves { run_on_own_thread(open.total, pass) } else { None };
    result.unwrap_or_else(|| {
        let message = format!(
            "the stack of this thread is too small for a backward pass inside of {} others, and no other thread can run it",
            open.total
        );
        Err(Error::new(ErrorKind::Nesting, op, message))
    })
}

/// Runs a pass inside of `open` others on a new thread with the state of this one. Returns `None` if it cannot be
/// started.
#[expect(clippy::disallowed_methods, reason = "the wait is detached")]
fn run_on_own_thread<T: Send>(open: usize, pass: impl FnOnce() -> Result<T> + Send) -> Option<Result<T>> {
    let state = ThreadState::capture();
    let mut pass = Some(pass);
    let mut result = None;
    let mut run = || {
        let Some(pass) = pass.take() else { return };
        result = Some(state.run(|| {
            OPEN.set(OpenPasses { total: open, here: 0 });
            let _open = OpenPass::begin();
            pass()
        }));
    };
    let on_thread = || match PASS_THREADS.get() {
        Some(threads) => (threads.run)(&mut run),
        None => run(),
    };
    let run_and_wait = || {
        std::thread::scope(|threads| {
            let builder = std::thread::Builder::new().name("backward pass".to_owned());
            let thread = builder.stack_size(THREAD_STACK_BYTES).spawn_scoped(threads, on_thread).ok()?;
            if let Err(panic) = thread.join() {
                std::panic::resume_unwind(panic);
            }
            Some(())
        })
    };
    // SAFETY: this crate uses no interpreter, and functions of the program attach themselves.
    unsafe { blocking::detached(run_and_wait) }?;
    result
}

/// Counts a pass on this thread until it is dropped.
struct OpenPass(());

impl OpenPass {
    fn begin() -> Self {
        let open = OPEN.get();
        OPEN.set(OpenPasses { total: open.total + 1, here: open.here + 1 });
        OpenPass(())
    }
}

impl Drop for OpenPass {
    fn drop(&mut self) {
        let open = OPEN.get();
        let here = open.here.saturating_sub(1);
        OPEN.set(OpenPasses { total: open.total.saturating_sub(1), here });
        let ended = DATA.with_borrow_mut(|data| if data.len() > here { data.pop() } else { None });
        // After the borrow: the drop may run code of the program.
        drop(ended);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread::ThreadId;

    use interlock_core::base::blocking::Interpreter;

    use super::*;

    /// Starts `passes` passes inside of each other, each in a frame of 32 KiB. Returns the ids of their threads.
    fn nested(passes: usize) -> Result<Vec<ThreadId>> {
        if passes == 0 {
            return Ok(Vec::new());
        }
        let frame = std::hint::black_box([0u8; 32 << 10]);
        let threads = run("backward", || {
            let mut threads = nested(passes - 1)?;
            threads.push(std::thread::current().id());
            Ok(threads)
        });
        std::hint::black_box(frame);
        threads
    }

    fn distinct(mut threads: Vec<ThreadId>) -> usize {
        threads.dedup();
        threads.len()
    }

    fn on_stack<T: Send + 'static>(bytes: usize, work: impl FnOnce() -> T + Send + 'static) -> T {
        std::thread::Builder::new().stack_size(bytes).spawn(work).unwrap().join().unwrap()
    }

    #[test]
    fn passes_fail_at_the_limit_and_recover() {
        on_stack(8 << 20, || {
            let error = nested(LIMIT + 1).unwrap_err();
            assert_eq!(
                error.to_string(),
                "backward: at most 2000 backward passes can run inside of each other"
            );
            assert_eq!(nested(LIMIT).unwrap().len(), LIMIT);
        });
    }

    #[test]
    fn passes_move_to_another_thread_after_60_and_where_the_stack_is_small() {
        assert_eq!(distinct(on_stack(8 << 20, || nested(THREAD_LIMIT).unwrap())), 1);
        assert_eq!(distinct(on_stack(8 << 20, || nested(THREAD_LIMIT + 1).unwrap())), 2);
        // The first pass does not fit either.
        let id = || std::thread::current().id();
        let (own, other) = on_stack(100 << 10, move || (id(), run("backward", || Ok(id())).unwrap()));
        assert_ne!(own, other);
        assert!(distinct(on_stack(512 << 10, || nested(THREAD_LIMIT).unwrap())) > 1);
    }

    #[test]
    fn passes_stay_on_their_thread_while_no_other_is_usable() {
        thread_local! {
            static ENDS: Cell<bool> = const { Cell::new(false) };
        }
        set_pass_threads(PassThreads { are_usable: || !ENDS.get(), run: |pass| pass() });
        let threads = on_stack(16 << 20, || {
            ENDS.set(true);
            nested(THREAD_LIMIT + 1).unwrap()
        });
        assert_eq!(distinct(threads), 1);
        let refused = on_stack(100 << 10, || {
            ENDS.set(true);
            run("backward", || Ok(()))
        });
        assert_eq!(refused.unwrap_err().kind(), Some(ErrorKind::Nesting));
    }

    #[test]
    fn thread_that_waits_for_a_pass_is_detached() {
        static IS_DETACHED: AtomicBool = AtomicBool::new(false);
        let interpreter = Interpreter {
            must_detach: || true,
            detach: |wait| {
                IS_DETACHED.store(true, Ordering::SeqCst);
                wait();
                IS_DETACHED.store(false, Ordering::SeqCst);
            },
        };
        // SAFETY: the function calls its argument once.
        unsafe { blocking::set_interpreter(interpreter) };
        assert_eq!(run_on_own_thread(7, || Ok(IS_DETACHED.load(Ordering::SeqCst))), Some(Ok(true)));
        assert!(!IS_DETACHED.load(Ordering::SeqCst));
    }

    #[test]
    fn pass_on_another_thread_has_the_state_of_the_first() {
        let _mode = interlock::autograd::no_grad();
        let seen = run_on_own_thread(7, || Ok((interlock::autograd::is_grad_enabled(), OPEN.get().total)));
        assert_eq!(seen, Some(Ok((false, 8))));
    }
}
