//! Kernels: what they require, and how they run.

use std::fmt;

use super::dyn_kernel::DynKernel;
use super::flag_requirement::FlagRequirement;
use super::foreign::ForeignKernel;
use super::numerics::{Accumulation, Numerics, Sums};
use super::operation::Operation;
use super::record::{Considered, Outcome, Reason};
use crate::flags::{Flag, FlagValue, FlagWord, Node};
use crate::libraries::{Library, Presence};

/// The reason why a kernel that was chosen computes no result.
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
/// use interlock_core::dispatch::{Reason, KernelError};
///
/// static NEGATE: Op<Negate> = Op::new(&[
///     Kernel::new("small", |_, _, x| match x {
///         -9..=9 => Ok(-x),
///         _ => Err(KernelError::Declined(Reason::from("needs one digit"))),
///     }),
///     Kernel::new("native", |_, _, x| Ok(-x)),
/// ]);
/// assert_eq!(NEGATE.call(&"int64".to_owned(), None, &10), Ok(-10));
/// ```
#[derive(Debug)]
pub enum KernelError<E> {
    /// The kernel cannot run this call. It has written nothing; the next kernel is tried.
    Declined(Reason),
    /// The call fails.
    Failed(E),
}

impl<E> From<E> for KernelError<E> {
    fn from(error: E) -> Self {
        KernelError::Failed(error)
    }
}

/// The result of a kernel.
type RunResult<O> = Result<<O as Operation>::Out, KernelError<<O as Operation>::Error>>;

type Run<O> =
    for<'a, 'b> fn(&<O as Operation>::Call, Numerics, &'b <O as Operation>::Args<'a>) -> RunResult<O>;

type Condition<O> = fn(&<O as Operation>::Call) -> Result<(), Reason>;

type AccumulationOf<O> = fn(&<O as Operation>::Call) -> Option<Accumulation>;

/// A kernel of an operation.
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
/// use interlock_core::flags::Node;
///
/// static NEGATE: Op<Negate> = Op::new(&[
///     Kernel::new("cublas", |_, _, x| Ok(-x)).model().node(Node::CudaMatmul),
/// ]);
/// assert_eq!(NEGATE.explain(&"float32".to_owned()).to_string(), "negate float32 -> cublas (model)");
/// ```
pub struct Kernel<O: Operation> {
    pub(super) name: &'static str,
    pub(super) is_model: fn(&O::Call) -> bool,
    library: Option<&'static Library>,
    requirements: &'static [FlagRequirement],
    pub(super) node: Option<Node>,
    accumulation: Option<AccumulationOf<O>>,
    /// Flags that the operation reads when it is called, besides the requirements.
    obeyed: [Option<&'static FlagWord>; 2],
    /// The kernel whose position this one has.
    position: Option<&'static str>,
    condition: Option<Condition<O>>,
    body: Body<O>,
}

/// The function that computes the result.
enum Body<O: Operation> {
    Function(Run<O>),
    Foreign(&'static ForeignKernel, ForeignFunctions<O>),
    Dynamic(&'static dyn DynKernel<O>),
}

/// How an operation calls the kernels of other libraries.
///
/// ```
/// # use interlock_core::dispatch::{NoKernel, Operation};
/// # struct Negate;
/// # impl Operation for Negate {
/// #     const NAME: &'static str = "negate";
/// #     type Call = String;
/// #     type Args<'a> = f32;
/// #     type Out = f32;
/// #     type Error = NoKernel;
/// # }
/// use interlock_core::sys::{InterlockDType, InterlockTensorDevice};
/// use interlock_core::dispatch::{ForeignArgs, ForeignFunctions, ForeignTensor, Numerics, Reason, KernelError};
///
/// fn number() -> ForeignTensor {
///     ForeignTensor::new(InterlockTensorDevice::CPU, InterlockDType::float(32), &[])
/// }
///
/// let functions = ForeignFunctions::<Negate> {
///     check: |kernel, _call| kernel.check(&ForeignArgs::new(&[number()], &[number()], Numerics::default())),
///     run: |kernel, _call, numerics, x| {
///         let (mut x, mut out) = (*x, 0.0f32);
///         let input = number().with_data((&raw mut x).cast());
///         let output = number().with_data((&raw mut out).cast());
///         // SAFETY: both numbers live as long as the call.
///         match unsafe { kernel.run(&ForeignArgs::new(&[input], &[output], numerics)) } {
///             Ok(()) => Ok(out),
///             Err(KernelError::Declined(reason)) => Err(KernelError::Declined(reason)),
///             Err(KernelError::Failed(message)) => Err(KernelError::Declined(Reason::from(message))),
///         }
///     },
/// };
/// # let _ = functions;
/// ```
pub struct ForeignFunctions<O: Operation> {
    /// Asks the kernel whether it can run a call.
    pub check: fn(&ForeignKernel, &O::Call) -> Result<(), Reason>,
    /// Runs the kernel.
    pub run: for<'a, 'b> fn(&ForeignKernel, &O::Call, Numerics, &'b O::Args<'a>) -> RunResult<O>,
}

impl<O: Operation> fmt::Debug for ForeignFunctions<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ForeignFunctions").finish_non_exhaustive()
    }
}

impl<O: Operation> Kernel<O> {
    /// Creates a kernel that accepts every call. `run` executes on the calling thread: it allocates workspaces, then
    /// computes or queues the work. It refuses before it writes anything.
    pub const fn new(name: &'static str, run: Run<O>) -> Self {
        Kernel::with_body(name, Body::Function(run))
    }

    /// Creates a kernel from one of another library. It is never freed, because a registered kernel is never removed.
    pub fn foreign(kernel: ForeignKernel, functions: ForeignFunctions<O>) -> Self {
        let kernel: &'static ForeignKernel = Box::leak(Box::new(kernel));
        let body = Body::Foreign(kernel, functions);
        Kernel {
            requirements: kernel.requirements(),
            node: kernel.node(),
            ..Kernel::with_body(kernel.name(), body)
        }
    }

    /// Creates a kernel with a state of its own.
    pub const fn dynamic(name: &'static str, kernel: &'static dyn DynKernel<O>) -> Self {
        Kernel::with_body(name, Body::Dynamic(kernel))
    }

    const fn with_body(name: &'static str, body: Body<O>) -> Self {
        Kernel {
            name,
            is_model: |_| false,
            library: None,
            requirements: &[],
            node: None,
            accumulation: None,
            obeyed: [None; 2],
            position: None,
            condition: None,
            body,
        }
    }

    /// Tries a registered kernel where flags put the kernel with this name, and before it, instead of where they put
    /// registered kernels.
    pub const fn in_place_of(mut self, kernel: &'static str) -> Self {
        self.position = Some(kernel);
        self
    }

    /// Returns whether calls consider the kernel.
    #[inline]
    pub(super) fn is_listed(&self) -> bool {
        match &self.body {
            Body::Function(_) | Body::Foreign(..) => true,
            Body::Dynamic(kernel) => kernel.is_registered(),
        }
    }

    /// Returns the state of a kernel that can be removed.
    pub(super) fn removable(&self) -> Option<&'static dyn DynKernel<O>> {
        match &self.body {
            Body::Function(_) | Body::Foreign(..) => None,
            Body::Dynamic(kernel) => Some(*kernel),
        }
    }

    /// Returns whether a flag that puts the kernel `name` in front does so with this one.
    #[inline]
    pub(super) fn has_position_of(&self, name: &str) -> bool {
        self.name == name || self.position.is_some_and(|position| position == name)
    }

    /// Returns whether the kernel has the position of another one.
    #[inline]
    pub(super) fn has_position(&self) -> bool {
        self.position.is_some()
    }

    /// Marks a kernel that emulates the library of this name without calling it.
    pub const fn model(self) -> Self {
        self.model_if(|_| true)
    }

    /// Marks a kernel that computes some calls like the library of this name, without the library.
    pub const fn model_if(mut self, is_model: fn(&O::Call) -> bool) -> Self {
        self.is_model = is_model;
        self
    }

    /// Requires a vendor library to be loaded, or found where it would be loaded from.
    pub const fn library(mut self, library: &'static Library) -> Self {
        self.library = Some(library);
        self
    }

    /// Requires values of flags.
    pub const fn requires(mut self, requirements: &'static [FlagRequirement]) -> Self {
        self.requirements = requirements;
        self
    }

    /// Sets the node of the precision tree that controls the arithmetic.
    pub const fn node(mut self, node: Node) -> Self {
        self.node = Some(node);
        self
    }

    /// Makes sums of float16 and bfloat16 obey the flags of `cuda.matmul`. The function returns the accumulation of a
    /// call, or `None` if its inputs are of other types.
    pub const fn accumulation(mut self, sum: AccumulationOf<O>) -> Self {
        self.accumulation = Some(sum);
        self
    }

    /// Names a further flag that the kernel obeys, such as the size of its workspace, at most two. The operation reads
    /// it when it is called.
    pub const fn obeys<T: FlagValue>(mut self, flag: &'static Flag<T>) -> Self {
        let [first, _] = self.obeyed;
        self.obeyed = match first {
            None => [Some(flag.word()), None],
            first => [first, Some(flag.word())],
        };
        self
    }

    /// Appends the words of the flags that the kernel obeys, besides its precision node.
    pub(super) fn append_words(&self, words: &mut Vec<&'static FlagWord>) {
        words.extend(self.requirements.iter().map(FlagRequirement::word));
        words.extend(self.obeyed.into_iter().flatten());
        if self.accumulation.is_some() {
            words.extend(Sums::CUDA_FLAGS);
        }
    }

    /// Requires a condition of the call. A reason carries the numbers that matter.
    pub const fn condition(mut self, condition: Condition<O>) -> Self {
        self.condition = Some(condition);
        self
    }

    /// Returns whether the kernel can run a call on this thread now. Builds no reason of a requirement.
    #[inline]
    pub(super) fn accepts(&self, call: &O::Call) -> bool {
        self.requirements.iter().all(FlagRequirement::is_met)
            && self.library.is_none_or(|library| library.presence() != Presence::Absent)
            // A reason that is not returned is not moved.
            && self.condition.is_none_or(|condition| condition(call).is_ok())
            && match &self.body {
                Body::Function(_) => true,
                Body::Foreign(kernel, functions) => (functions.check)(kernel, call).is_ok(),
                Body::Dynamic(kernel) => kernel.check(call).is_ok(),
            }
    }

    #[inline]
    fn check(&self, call: &O::Call) -> Result<(), Reason> {
        if let Some(condition) = self.condition {
            condition(call)?;
        }
        match &self.body {
            Body::Function(_) => Ok(()),
            Body::Foreign(kernel, functions) => (functions.check)(kernel, call),
            Body::Dynamic(kernel) => kernel.check(call),
        }
    }

    /// Runs a call that the kernel accepts.
    #[inline]
    pub(super) fn run(&self, call: &O::Call, numerics: Numerics, args: &O::Args<'_>) -> RunResult<O> {
        match &self.body {
            Body::Function(run) => run(call, numerics, args),
            Body::Foreign(kernel, functions) => (functions.run)(kernel, call, numerics, args),
            Body::Dynamic(kernel) => kernel.run(call, numerics, args),
        }
    }

    /// Returns the reason why the kernel cannot run a call on this thread now.
    #[inline]
    pub(super) fn refusal(&self, call: &O::Call) -> Option<Reason> {
        if let Some(reason) = self.requirements.iter().find_map(FlagRequirement::refusal) {
            return Some(reason);
        }
        if let Some(library) = self.library
            && library.presence() == Presence::Absent
        {
            return Some(Reason::LibraryNotFound { library: library.title() });
        }
        self.check(call).err()
    }

    pub(super) fn refused(&self, reason: Reason) -> Considered {
        Considered { kernel: self.name, outcome: Outcome::Refused(reason) }
    }

    /// Returns the result for a kernel that is listed after the one that ran the call.
    pub(super) fn not_reached(&self, chosen: &'static str, call: &O::Call) -> Considered {
        let outcome = self.refusal(call).map_or(Outcome::NotReached { chosen }, Outcome::Refused);
        Considered { kernel: self.name, outcome }
    }

    /// Returns the arithmetic of a call.
    #[inline]
    pub(super) fn numerics(&self, call: &O::Call) -> Numerics {
        match self.node {
            Some(node) if O::obeys_precision(call) => Numerics::from_node(node),
            _ => {
                let sum = self.accumulation.and_then(|accumulation| accumulation(call));
                sum.map_or(Numerics::default(), Numerics::from_cuda_sum)
            }
        }
    }
}

impl<O: Operation> fmt::Debug for Kernel<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel")
            .field("name", &self.name)
            .field("requirements", &self.requirements)
            .finish_non_exhaustive()
    }
}
