//! Records of calls of operations, with the choice of their kernels, and registration of kernels.

mod kernel;

use std::ffi::c_void;
use std::ptr::NonNull;

use crate::Result;
use crate::error::check;
use crate::import::api;
use crate::raw::{handle, items, optional_text, str_of, text};
use crate::state::ScopeGuard;
use crate::sys::*;

pub use kernel::{AttentionOptions, DType, Kernel, KernelCall, Stop, Sums, Tensor, register_kernel};

/// The result of the choice for one kernel.
///
/// ```
/// use interlock_capi::dispatch::Outcome;
///
/// assert_ne!(Outcome::Chosen, Outcome::Refused("needs float16".to_owned()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The kernel ran the call.
    Chosen,
    /// The kernel could have run the call; the one with this name is before it.
    Behind(String),
    /// The kernel could not run the call, for this reason.
    Refused(String),
}

/// A kernel that was considered for a call.
///
/// ```
/// use interlock_capi::dispatch::{Considered, Outcome};
///
/// let considered = Considered { kernel: "native".to_owned(), outcome: Outcome::Chosen };
/// assert_eq!(considered.kernel, "native");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Considered {
    /// The name of the kernel.
    pub kernel: String,
    /// The result of the choice.
    pub outcome: Outcome,
}

/// The type to which a kernel rounds its float32 inputs.
///
/// ```
/// use interlock_capi::dispatch::Rounding;
///
/// assert_eq!(Rounding::default(), Rounding::None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rounding {
    /// The inputs are used as they are.
    #[default]
    None,
    /// TensorFloat-32.
    Tf32,
    /// bfloat16.
    Bf16,
    /// Three bfloat16 parts, whose nine products emulate float32.
    Bfx9,
}

/// A call of an operation, and the choice of its kernel.
///
/// ```
/// use interlock_capi::dispatch::{Call, Considered, Outcome};
///
/// let chosen = Considered { kernel: "fast".to_owned(), outcome: Outcome::Chosen };
/// let call = Call { operation: "mylib.blur".to_owned(), considered: vec![chosen], ..Call::default() };
/// assert_eq!(call.kernel(), Some("fast"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// The name of the operation.
    pub operation: String,
    /// The device, types and shapes.
    pub arguments: String,
    /// The operation that the call is part of.
    pub composite: Option<String>,
    /// Whether the kernel computes like the library of its name, without the library.
    pub is_model: bool,
    /// The rounding of float32 inputs.
    pub inputs: Rounding,
    /// The sums of products of float16 and bfloat16 inputs.
    pub sums: Sums,
    /// What the kernel chose, such as an order.
    pub notes: Vec<String>,
    /// All kernels, in the order in which they were tried.
    pub considered: Vec<Considered>,
}

impl Rounding {
    fn of_raw(raw: u32) -> Self {
        match raw {
            INTERLOCK_ROUNDING_TF32 => Rounding::Tf32,
            INTERLOCK_ROUNDING_BF16 => Rounding::Bf16,
            INTERLOCK_ROUNDING_BFX9 => Rounding::Bfx9,
            _ => Rounding::None,
        }
    }

    fn raw(self) -> u32 {
        match self {
            Rounding::None => INTERLOCK_ROUNDING_NONE,
            Rounding::Tf32 => INTERLOCK_ROUNDING_TF32,
            Rounding::Bf16 => INTERLOCK_ROUNDING_BF16,
            Rounding::Bfx9 => INTERLOCK_ROUNDING_BFX9,
        }
    }
}

impl Call {
    /// Returns the name of the kernel that ran the call; `None` if every kernel refused.
    pub fn kernel(&self) -> Option<&str> {
        let chosen = self.considered.iter().find(|considered| considered.outcome == Outcome::Chosen);
        chosen.map(|considered| considered.kernel.as_str())
    }

    /// # Safety
    /// The call is valid.
    unsafe fn from_raw(raw: &InterlockCall) -> Self {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let considered = items(raw.considered, raw.considered_count);
            // An interlock without the later fields is refused by the import.
            let notes = items(raw.notes, raw.notes_count);
            Call {
                operation: str_of(raw.operation).to_owned(),
                arguments: str_of(raw.arguments).to_owned(),
                composite: (!raw.composite.data.is_null()).then(|| str_of(raw.composite).to_owned()),
                is_model: raw.is_model != 0,
                inputs: Rounding::of_raw(raw.rounding),
                sums: Sums::of_raw(raw.sums),
                notes: notes.iter().map(|note| str_of(*note).to_owned()).collect(),
                considered: considered.iter().map(|one| Considered::from_raw(one)).collect(),
            }
        }
    }
}

impl Considered {
    /// # Safety
    /// The texts are valid.
    unsafe fn from_raw(raw: &InterlockConsidered) -> Self {
        // SAFETY: guaranteed by the caller.
        let (kernel, reason) = unsafe { (str_of(raw.kernel), str_of(raw.reason)) };
        let outcome = match raw.outcome {
            INTERLOCK_KERNEL_CHOSEN => Outcome::Chosen,
            INTERLOCK_KERNEL_BEHIND => Outcome::Behind(reason.to_owned()),
            _ => Outcome::Refused(reason.to_owned()),
        };
        Considered { kernel: kernel.to_owned(), outcome }
    }

    fn to_raw(&self) -> InterlockConsidered {
        let (outcome, reason) = match &self.outcome {
            Outcome::Chosen => (INTERLOCK_KERNEL_CHOSEN, ""),
            Outcome::Behind(kernel) => (INTERLOCK_KERNEL_BEHIND, kernel.as_str()),
            Outcome::Refused(reason) => (INTERLOCK_KERNEL_REFUSED, reason.as_str()),
        };
        InterlockConsidered { kernel: text(&self.kernel), reason: text(reason), outcome, reserved: 0 }
    }
}

/// Returns whether calls of operations on this thread are recorded or printed: one load while no recording exists.
/// Describe a call for [`note`] only then.
pub fn is_recorded() -> bool {
    // SAFETY: the function accepts every call.
    unsafe { (api().dispatch_is_recorded)() != 0 }
}

/// Adds a call to the recording of this thread, and prints it if `INTERLOCK_DISPATCH` is on.
pub fn note(call: &Call) -> Result<()> {
    let considered: Vec<InterlockConsidered> = call.considered.iter().map(Considered::to_raw).collect();
    let notes: Vec<InterlockText> = call.notes.iter().map(|note| text(note)).collect();
    let raw = InterlockCall {
        size: size_of::<InterlockCall>() as u32,
        rounding: call.inputs.raw(),
        operation: text(&call.operation),
        arguments: text(&call.arguments),
        composite: optional_text(call.composite.as_deref()),
        considered: considered.as_ptr(),
        considered_count: considered.len(),
        is_model: call.is_model.into(),
        reserved: 0,
        notes: notes.as_ptr(),
        notes_count: notes.len(),
        sums: call.sums.raw(),
        padding: 0,
    };
    // SAFETY: the call and the place are valid.
    check(|error| unsafe { (api().dispatch_note)(&raw const raw, error) })
}

/// Records the calls of operations while it is entered, on the threads that enter it and where their state is applied.
///
/// ```no_run
/// use interlock_capi::dispatch::Recording;
///
/// let recording = Recording::new()?;
/// let guard = recording.guard()?;
/// // Operations that are called here are recorded.
/// drop(guard);
/// println!("{} calls", recording.calls()?.len());
/// # Ok::<(), interlock_capi::Error>(())
/// ```
#[derive(Debug)]
pub struct Recording(NonNull<InterlockRecording>);

// SAFETY: the contract of the handle.
unsafe impl Send for Recording {}
// SAFETY: the contract of the handle.
unsafe impl Sync for Recording {}

impl Recording {
    /// Creates a recording that is not entered.
    pub fn new() -> Result<Self> {
        // SAFETY: both places are valid.
        handle(|place, error| unsafe { (api().recording_new)(place, error) }).map(Recording)
    }

    /// Records the calls of this thread until the guard is dropped.
    pub fn guard(&self) -> Result<ScopeGuard> {
        // SAFETY: the handle and both places are valid.
        ScopeGuard::new(|guard, error| unsafe { (api().recording_enter)(self.0.as_ptr(), guard, error) })
    }

    /// Returns the calls that were recorded so far, in the order in which their kernels ran.
    pub fn calls(&self) -> Result<Vec<Call>> {
        unsafe extern "C" fn collect(data: *mut c_void, call: *const InterlockCall) {
            // SAFETY: `calls` passes its vector, and interlock a valid call.
            unsafe { (*data.cast::<Vec<Call>>()).push(Call::from_raw(&*call)) };
        }
        let mut calls: Vec<Call> = Vec::new();
        let data = (&raw mut calls).cast();
        // SAFETY: the handle is valid, and the vector outlives the call.
        check(|error| unsafe { (api().recording_visit)(self.0.as_ptr(), Some(collect), data, error) })?;
        Ok(calls)
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        // SAFETY: this is the only owner of the handle.
        unsafe { (api().recording_free)(self.0.as_ptr()) };
    }
}
