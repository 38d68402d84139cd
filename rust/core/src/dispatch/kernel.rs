//! Kernels: what they require, and how they run.

use std::fmt;

use super::gate::Gate;
use super::numerics::{HalfSum, Numerics, Sums};
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
/// use interlock_core::dispatch::{Reason, Stop};
///
/// static NEGATE: Op<Negate> = Op::new(&[
///     Kernel::new("small", |_, _, x| match x {
///         -9..=9 => Ok(-x),
///         _ => Err(Stop::Refused(Reason::from("needs one digit"))),
///     }),
///     Kernel::new("native", |_, _, x| Ok(-x)),
/// ]);
/// assert_eq!(NEGATE.call(&"int64".to_owned(), None, &10), Ok(-10));
/// ```
#[derive(Debug)]
pub enum Stop<E> {
    /// The kernel cannot run this call. It has written nothing; the next kernel is tried.
    Refused(Reason),
    /// The call fails.
    Error(E),
}

impl<E> From<E> for Stop<E> {
    fn from(error: E) -> Self {
        Stop::Error(error)
    }
}

type Run<O> = for<'a, 'b> fn(
    &<O as Operation>::Call,
    Numerics,
    &'b <O as Operation>::Args<'a>,
) -> Result<<O as Operation>::Out, Stop<<O as Operation>::Error>>;

type Condition<O> = fn(&<O as Operation>::Call) -> Result<(), Reason>;

type HalfSumOf<O> = fn(&<O as Operation>::Call) -> Option<HalfSum>;

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
    gates: &'static [Gate],
    pub(super) node: Option<Node>,
    half_sum: Option<HalfSumOf<O>>,
    option: Option<&'static FlagWord>,
    condition: Option<Condition<O>>,
    pub(super) run: Run<O>,
}

impl<O: Operation> Kernel<O> {
    /// Creates a kernel that accepts every call. `run` executes on the calling thread: it allocates workspaces, then
    /// computes or queues the work. It refuses before it writes anything.
    pub const fn new(name: &'static str, run: Run<O>) -> Self {
        Kernel {
            name,
            is_model: |_| false,
            library: None,
            gates: &[],
            node: None,
            half_sum: None,
            option: None,
            condition: None,
            run,
        }
    }

    /// Marks a kernel that computes like the library of this name, without the library.
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
    pub const fn gates(mut self, gates: &'static [Gate]) -> Self {
        self.gates = gates;
        self
    }

    /// Sets the node of the precision tree that decides the arithmetic.
    pub const fn node(mut self, node: Node) -> Self {
        self.node = Some(node);
        self
    }

    /// Sums products of halves as the flags of `cuda.matmul` request. The function returns the sums of a call, or `None`
    /// if its inputs are of other types.
    pub const fn half_sum(mut self, sum: HalfSumOf<O>) -> Self {
        self.half_sum = Some(sum);
        self
    }

    /// Names the flag that sets the size of the workspace, which `run` allocates.
    pub const fn workspace(self, flag: &'static Flag<u64>) -> Self {
        self.option(flag)
    }

    /// Names a flag that `run` reads on the calling thread.
    pub const fn option<T: FlagValue>(mut self, flag: &'static Flag<T>) -> Self {
        self.option = Some(flag.word());
        self
    }

    /// Returns the words of the flags that the kernel obeys, besides its precision node.
    pub(super) fn words(&self) -> impl Iterator<Item = &'static FlagWord> {
        let sums = if self.half_sum.is_some() { Sums::CUDA_FLAGS.as_slice() } else { &[] };
        self.gates.iter().map(Gate::word).chain(self.option).chain(sums.iter().copied())
    }

    /// Requires a condition of the call. A reason carries the numbers that matter.
    pub const fn condition(mut self, condition: Condition<O>) -> Self {
        self.condition = Some(condition);
        self
    }

    /// Returns whether the kernel can run a call on this thread now. Builds no reason of a gate.
    #[inline]
    pub(super) fn accepts(&self, call: &O::Call) -> bool {
        self.gates.iter().all(Gate::is_open)
            && self.library.is_none_or(|library| library.presence() != Presence::Absent)
            && self.condition.is_none_or(|condition| condition(call).is_ok())
    }

    /// Returns the reason why the kernel cannot run a call on this thread now.
    #[inline]
    pub(super) fn refusal(&self, call: &O::Call) -> Option<Reason> {
        if let Some(reason) = self.gates.iter().find_map(Gate::refusal) {
            return Some(reason);
        }
        if let Some(library) = self.library
            && library.presence() == Presence::Absent
        {
            return Some(Reason::LibraryNotFound { library: library.title() });
        }
        self.condition.and_then(|condition| condition(call).err())
    }

    pub(super) fn refused(&self, reason: Reason) -> Considered {
        Considered { kernel: self.name, outcome: Outcome::Refused(reason) }
    }

    /// Returns the result for a kernel that is listed after the one that ran the call.
    pub(super) fn behind(&self, chosen: &'static str, call: &O::Call) -> Considered {
        let outcome = self.refusal(call).map_or(Outcome::Behind(chosen), Outcome::Refused);
        Considered { kernel: self.name, outcome }
    }

    /// Returns the arithmetic of a call.
    #[inline]
    pub(super) fn numerics(&self, call: &O::Call) -> Numerics {
        match self.node {
            Some(node) if O::obeys_precision(call) => Numerics::of_node(node),
            _ => {
                let sum = self.half_sum.and_then(|half_sum| half_sum(call));
                sum.map_or(Numerics::default(), Numerics::of_cuda_sum)
            }
        }
    }
}

impl<O: Operation> fmt::Debug for Kernel<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel").field("name", &self.name).field("gates", &self.gates).finish_non_exhaustive()
    }
}
