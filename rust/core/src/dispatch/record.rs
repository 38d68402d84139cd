//! Records of calls: the kernel that was chosen, and the reason against each other one.

use std::any::Any;
use std::borrow::Cow;
use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::numerics::{Rounding, Sums};
use crate::Result;
use crate::base::env;
use crate::base::fork::rank;
use crate::base::invariant::UnwrapOrAssert;
use crate::base::sync::{ForkLock, RelaxedU64};
use crate::flags::{Interned, Value, qualified};
use crate::thread::{self, Scope, ScopeGuard, Slots};

/// The reason why a kernel cannot run a call.
///
/// ```
/// use interlock_core::dispatch::Reason;
///
/// assert_eq!(Reason::from("needs float16, got float32").to_string(), "needs float16, got float32");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// A flag does not have the required value.
    Flag {
        /// The dotted name below `backends`.
        name: &'static str,
        /// The effective value.
        value: Value,
        /// The required value.
        required: Value,
    },
    /// A flag lists names, among them one of the call or of the kernel.
    Listed {
        /// The dotted name below `backends`.
        name: &'static str,
        /// The name that is listed.
        item: &'static str,
    },
    /// A vendor library is absent.
    LibraryNotFound {
        /// The library, as its vendor spells it.
        library: &'static str,
    },
    /// The call has fewer of something than the kernel needs. Nothing is formatted unless the reason is shown.
    TooFew {
        /// What is counted, in the plural.
        what: &'static str,
        /// The least number.
        least: usize,
        /// The number of the call.
        given: usize,
    },
    /// The call does not meet another condition of the kernel.
    Condition(Cow<'static, str>),
}

impl From<&'static str> for Reason {
    fn from(text: &'static str) -> Self {
        Reason::Condition(text.into())
    }
}

impl From<String> for Reason {
    fn from(text: String) -> Self {
        Reason::Condition(text.into())
    }
}

crate::messages! { Reason {
    Reason::Flag { name, value: Value::Bool(value), .. } => "{} is {}", qualified(name), Value::Bool(*value);
    Reason::Flag { name, value, required } => "{} is {}, not {}", qualified(name), quoted(value), quoted(required);
    Reason::Listed { name, item } => "{} has '{item}'", qualified(name);
    Reason::LibraryNotFound { library } => "{library} not found";
    Reason::TooFew { what, least, given } => "needs at least {least} {what}, got {given}";
    Reason::Condition(text) => "{text}";
} }

/// Formats a value as Python shows it.
fn quoted(value: &Value) -> String {
    match value {
        Value::Name(name) => format!("'{name}'"),
        value => value.to_string(),
    }
}

/// The result of the choice for one kernel.
///
/// ```
/// # use interlock_core::dispatch::{Kernel, NoKernel, Op, Operation};
/// # struct Negate;
/// # impl Operation for Negate {
/// #     const NAME: &'static str = "negate";
/// #     type Call = String;
/// #     type Args<'a> = i64;
/// #     type Out = i64;
/// #     type Error = NoKernel;
/// # }
/// use interlock_core::dispatch::Outcome;
///
/// static NEGATE: Op<Negate> =
///     Op::new(&[Kernel::new("native", |_, _, x| Ok(-x)), Kernel::new("slow", |_, _, x| Ok(0 - x))]);
/// let considered = NEGATE.explain(&"int64".to_owned()).considered;
/// assert_eq!(considered[0].outcome, Outcome::Chosen);
/// assert_eq!(considered[1].outcome, Outcome::NotReached { chosen: "native" });
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The kernel ran the call.
    Chosen,
    /// The kernel was not reached: an earlier kernel was chosen.
    NotReached {
        /// The name of the kernel that was chosen.
        chosen: &'static str,
    },
    /// The kernel could not run the call.
    Refused(Reason),
}

/// A kernel that was considered for a call.
///
/// ```
/// use interlock_core::dispatch::{Considered, Outcome, Reason};
///
/// let refused = Considered { kernel: "fast", outcome: Outcome::Refused(Reason::from("needs float16")) };
/// assert_eq!(refused.to_string(), "fast: needs float16");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Considered {
    /// The name of the kernel.
    pub kernel: &'static str,
    /// The result of the choice.
    pub outcome: Outcome,
}

impl fmt::Display for Considered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            Outcome::Chosen => write!(f, "{}: chosen", self.kernel),
            Outcome::NotReached { chosen } => write!(f, "{}: behind {chosen}", self.kernel),
            Outcome::Refused(reason) => write!(f, "{}: {reason}", self.kernel),
        }
    }
}

/// A call of an operation, and the choice of its kernel. Its `Display` is the line of `INTERLOCK_DISPATCH=1`.
///
/// ```
/// # use interlock_core::dispatch::{Kernel, NoKernel, Op, Operation};
/// # struct Negate;
/// # impl Operation for Negate {
/// #     const NAME: &'static str = "negate";
/// #     type Call = String;
/// #     type Args<'a> = i64;
/// #     type Out = i64;
/// #     type Error = NoKernel;
/// # }
/// use interlock_core::dispatch::Call;
///
/// static NEGATE: Op<Negate> = Op::new(&[Kernel::new("native", |_, _, x| Ok(-x))]);
/// let call: Call = NEGATE.explain(&"int64".to_owned());
/// assert_eq!((call.operation, call.kernel()), ("negate", Some("native")));
/// assert_eq!(call.to_string(), "negate int64 -> native");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Call {
    /// The name of the operation.
    pub operation: &'static str,
    /// The device, types and shapes.
    pub arguments: String,
    /// The composite operation that the call is part of.
    pub composite: Option<&'static str>,
    /// Whether the kernel emulates the library of its name without calling it.
    pub is_model: bool,
    /// The rounding of float32 inputs; `None` for inputs of another type.
    pub inputs: Option<Rounding>,
    /// The accumulation of float16 and bfloat16 inputs; `None` for inputs of another type.
    pub sums: Option<Sums>,
    /// Details of the choice, such as an order or a plan.
    pub notes: Vec<String>,
    /// All kernels, in the order in which they were tried.
    pub considered: Vec<Considered>,
}

impl Call {
    /// Returns the name of the kernel that ran the call; `None` if every kernel refused.
    pub fn kernel(&self) -> Option<&'static str> {
        let chosen = self.considered.iter().find(|considered| considered.outcome == Outcome::Chosen);
        chosen.map(|considered| considered.kernel)
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} -> ", self.operation, self.arguments)?;
        f.write_str(self.kernel().unwrap_or("no kernel"))?;
        if self.is_model {
            f.write_str(" (model)")?;
        }
        if let Some(inputs) = self.inputs.filter(|inputs| *inputs != Rounding::None) {
            write!(f, ", inputs {inputs}")?;
        }
        if let Some(sums) = self.sums.filter(|sums| *sums != Sums::F32) {
            write!(f, ", sums {sums}")?;
        }
        self.notes.iter().try_for_each(|note| write!(f, ", {note}"))?;
        if let Some(composite) = self.composite {
            write!(f, ", in {composite}")?;
        }
        let others = self.considered.iter().filter(|considered| considered.outcome != Outcome::Chosen);
        others.into_iter().try_for_each(|considered| write!(f, " | {considered}"))
    }
}

/// The number of recordings, plus [`PRINTS`] if `INTERLOCK_DISPATCH` is on. Begins as [`UNREAD`].
static ACTIVE: RelaxedU64 = RelaxedU64::new(UNREAD);

/// Set until the environment has been read.
const UNREAD: u64 = 1 << 63;
/// Set if each call is printed.
const PRINTS: u64 = 1 << 62;

/// The calls of each recording. A lock of the process, because a fork must not find it held.
static CALLS: ForkLock<BTreeMap<u64, Vec<Call>>> = ForkLock::new(rank::DISPATCH_CALLS, BTreeMap::new());

static LAST_RECORDING: RelaxedU64 = RelaxedU64::new(0);

/// Returns whether calls on this thread are recorded or printed: one load while no recording exists.
#[inline]
pub(super) fn is_active() -> bool {
    let active = ACTIVE.get();
    active != 0 && is_active_here(active)
}

#[cold]
fn is_active_here(active: u64) -> bool {
    let active = if active & UNREAD == 0 { active } else { read_environment(active) };
    active & PRINTS != 0 || (active != 0 && recording().is_some())
}

/// Returns the active recording of this thread.
fn recording() -> Option<u64> {
    let recording = thread::recording()?;
    recording.downcast_ref::<RecordingId>().map(|id| id.0)
}

/// Adds a call to the active recording of this thread, and prints it if `INTERLOCK_DISPATCH` is on.
pub(super) fn record_call(call: Call) {
    if ACTIVE.get() & PRINTS != 0 {
        print(&call);
    }
    if let Some(id) = recording()
        && let Some(calls) = CALLS.lock().get_mut(&id)
    {
        calls.push(call);
    }
}

thread_local! {
    /// The notes of the kernel that runs on this thread; `None` while its call is not recorded.
    static NOTES: Cell<Option<Vec<String>>> = const { Cell::new(None) };
}

/// Adds a note to the record of the call whose kernel runs on this thread. Has no effect, and calls no function, while
/// the call is not recorded.
///
/// ```
/// # use interlock_core::dispatch::{Kernel, NoKernel, Op, Operation, Recording};
/// # struct Negate;
/// # impl Operation for Negate {
/// #     const NAME: &'static str = "negate";
/// #     type Call = String;
/// #     type Args<'a> = i64;
/// #     type Out = i64;
/// #     type Error = NoKernel;
/// # }
/// use interlock_core::dispatch::annotate;
///
/// static NEGATE: Op<Negate> = Op::new(&[Kernel::new("native", |_, _, x| {
///     annotate(|| format!("{} bits", x.count_ones()));
///     Ok(-x)
/// })]);
/// let recording = Recording::default();
/// let guard = recording.guard();
/// NEGATE.call(&"int64".to_owned(), None, &7)?;
/// drop(guard);
/// assert_eq!(recording.calls()[0].to_string(), "negate int64 -> native, 3 bits");
/// # Ok::<(), NoKernel>(())
/// ```
pub fn annotate(note: impl FnOnce() -> String) {
    // Without the storage the thread is ending, and its call is not recorded.
    let notes = NOTES.try_with(Cell::take).ok().flatten();
    if let Some(mut notes) = notes {
        notes.push(note());
        let _ = NOTES.try_with(|cell| cell.set(Some(notes)));
    }
}

/// The notes of an outer kernel, saved while a kernel runs whose call is recorded.
pub(super) struct Notes(Option<Vec<String>>);

impl Notes {
    /// Saves the notes of the outer kernel, and begins an empty list.
    pub(super) fn begin() -> Self {
        Notes(NOTES.try_with(|cell| cell.replace(Some(Vec::new()))).ok().flatten())
    }

    /// Returns the list, and restores the notes of the outer kernel.
    pub(super) fn end(self) -> Vec<String> {
        NOTES.try_with(|cell| cell.replace(self.0)).ok().flatten().unwrap_or_default()
    }
}

/// Returns a name that lives until the process exits.
pub fn intern_name(name: &str) -> &'static str {
    static NAMES: Interned<String> = Interned::new();
    NAMES.intern(name).1
}

/// Reads `INTERLOCK_DISPATCH` into [`ACTIVE`] and returns the new value.
fn read_environment(active: u64) -> u64 {
    let bits = if env::dispatch() { PRINTS } else { 0 };
    // Another thread may have read it, or a recording may have begun: the next call reads again.
    ACTIVE.compare_set(active, (active & !UNREAD) | bits)
}

/// Writes a line to the standard error with one system call: a lock of the stream could be held by a thread that a
/// forked child lacks.
fn print(call: &Call) {
    let line = format!("interlock: {call}\n");
    // SAFETY: the pointer and the length are those of the line. A failed write has no effect.
    unsafe { libc::write(libc::STDERR_FILENO, line.as_ptr().cast(), line.len()) };
}

/// Identifies a recording in the slots of a layer. Dropped with the last recording, layer or captured state that has
/// it.
#[derive(Debug)]
struct RecordingId(u64);

impl Drop for RecordingId {
    fn drop(&mut self) {
        ACTIVE.subtract(1);
        let calls = CALLS.lock().remove(&self.0);
        drop(calls);
    }
}

/// Records the calls of operations while it is entered, on the threads that enter it and where their state is applied.
///
/// An inner recording replaces an outer one. Work that a graph replays is not recorded again.
///
/// ```
/// use interlock_core::dispatch::Recording;
///
/// let recording = Recording::default();
/// let guard = recording.guard();
/// // Operations that are called here are recorded.
/// drop(guard);
/// assert!(recording.calls().is_empty());
/// ```
#[derive(Debug)]
pub struct Recording {
    scope: Scope,
    id: Arc<RecordingId>,
    slots: Arc<Slots>,
}

impl Default for Recording {
    fn default() -> Self {
        let id = Arc::new(RecordingId(LAST_RECORDING.add(1)));
        ACTIVE.add(1);
        CALLS.lock().insert(id.0, Vec::new());
        let slot: Arc<dyn Any + Send + Sync> = id.clone();
        Recording { scope: Scope::default(), id, slots: Slots::from_recording(slot) }
    }
}

impl Recording {
    /// Begins to record the calls of this thread. Has no effect if [`try_enter`](Recording::try_enter) fails.
    pub fn enter(&self) {
        let _entered = self.try_enter();
    }

    /// Enters as [`enter`](Recording::enter) does.
    ///
    /// # Errors
    /// Fails if the state of the current context cannot be stored.
    pub fn try_enter(&self) -> Result<()> {
        self.scope.enter_slots(&self.slots)
    }

    /// Ends the innermost [`enter`](Recording::enter); see [`Scope::exit`].
    pub fn exit(&self) {
        self.scope.exit();
    }

    /// Returns the scope that enters and exits.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Records the calls of this thread until the guard is dropped.
    pub fn guard(&self) -> ScopeGuard {
        ScopeGuard::from_slots(&self.slots)
    }

    /// Returns the calls that were recorded so far, in the order in which their kernels ran.
    pub fn calls(&self) -> Vec<Call> {
        let calls = CALLS.lock().get(&self.id.0).cloned();
        calls.unwrap_or_assert(Vec::new(), "the calls exist as long as the recording")
    }

    /// Returns the number of calls that were recorded so far.
    pub fn len(&self) -> usize {
        let len = CALLS.lock().get(&self.id.0).map(Vec::len);
        len.unwrap_or_assert(0, "the calls exist as long as the recording")
    }

    /// Returns whether no call was recorded so far.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
