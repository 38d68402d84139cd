//! Operations, and the choice among their kernels.

use std::fmt;
use std::hash::Hash;

use super::Numerics;
use super::decisions::Decisions;
use super::kernel::{Kernel, KernelError};
use super::kernel_list::KernelList;
use super::record::{self, Call, Considered, Reason};
use crate::base::sync::RelaxedBool;
use crate::flags::{Consumer, Flag, FlagValue, FlagWord, IsActive};

/// An operation whose kernel is chosen at each call.
///
/// ```
/// use interlock_core::dispatch::{Kernel, NoKernel, Numerics, Op, Operation, Recording, KernelError};
///
/// /// Adds two numbers.
/// struct Add;
///
/// impl Operation for Add {
///     const NAME: &'static str = "add";
///     type Call = String;
///     type Args<'a> = (i64, i64);
///     type Out = i64;
///     type Error = NoKernel;
/// }
///
/// static ADD: Op<Add> = Op::new(&[Kernel::new("native", |_, _, (a, b)| Ok(a + b))]);
///
/// let recording = Recording::default();
/// let guard = recording.guard();
/// assert_eq!(ADD.call(&"int64".to_owned(), None, &(2, 3)), Ok(5));
/// drop(guard);
/// assert_eq!(recording.calls()[0].to_string(), "add int64 -> native");
/// ```
pub trait Operation: 'static {
    /// The name of the operation in records and errors, such as "matmul".
    const NAME: &'static str;
    /// The properties of a call on which the choice depends: shapes, strides, types, device, options. Its `Display` is
    /// part of the record.
    type Call: Clone + Eq + Hash + fmt::Debug + fmt::Display;
    /// The arguments of a call, as kernels receive them.
    type Args<'a>;
    /// The value that a kernel returns.
    type Out;
    /// The error of a call.
    type Error: From<NoKernel>;

    /// Returns whether precision nodes control the arithmetic of a call: its inputs are float32.
    fn obeys_precision(_call: &Self::Call) -> bool {
        true
    }

    /// Returns whether a call accumulates float16 or bfloat16 inputs, so that its record names the type of the sums.
    fn accumulates_low_precision(_call: &Self::Call) -> bool {
        false
    }
}

/// A kernel that a flag puts in front of others.
///
/// ```
/// use interlock_core::dispatch::Preference;
///
/// assert_ne!(Preference::Kernel("flash"), Preference::Registered);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preference {
    /// The kernel with this name.
    Kernel(&'static str),
    /// The kernels that other libraries have registered.
    Registered,
}

impl Preference {
    #[inline]
    fn is_for<O: Operation>(self, (kernel, is_registered): (&Kernel<O>, bool)) -> bool {
        match self {
            Preference::Kernel(name) => kernel.has_position_of(name),
            Preference::Registered => is_registered && !kernel.has_position(),
        }
    }
}

/// The kernels that are tried first, in this order.
pub type Preferred = [Option<Preference>; 5];

/// A flag that puts kernels in front of the list.
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
/// use interlock_core::dispatch::{Order, Preference};
/// use interlock_core::flags::BlasLibrary;
/// use interlock_core::flags::flags::CUDA_BLAS_LIBRARY;
///
/// static NEGATE: Op<Negate> =
///     Op::new(&[Kernel::new("cublas", |_, _, x| Ok(-x)), Kernel::new("cublaslt", |_, _, x| Ok(-x))])
///         .order(Order::new(&CUDA_BLAS_LIBRARY, |_| {
///             [Some(Preference::Kernel(CUDA_BLAS_LIBRARY.get().name())), None, None, None, None]
///         }));
/// let _guard = CUDA_BLAS_LIBRARY.scope(BlasLibrary::Cublaslt)?.guard();
/// assert_eq!(NEGATE.explain(&"float32".to_owned()).kernel(), Some("cublaslt"));
/// # Ok::<(), interlock_core::Error>(())
/// ```
pub struct Order<O: Operation> {
    word: &'static FlagWord,
    preferred: fn(&O::Call) -> Preferred,
}

impl<O: Operation> Order<O> {
    /// Creates an order that `flag` controls: `preferred` reads it.
    pub const fn new<T: FlagValue>(flag: &'static Flag<T>, preferred: fn(&O::Call) -> Preferred) -> Self {
        Order { word: flag.word(), preferred }
    }
}

/// The composite operation that a call is part of.
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
/// use interlock_core::dispatch::{Composite, Recording};
///
/// static NEGATE: Op<Negate> = Op::new(&[Kernel::new("native", |_, _, x| Ok(-x))]);
/// let recording = Recording::default();
/// let guard = recording.guard();
/// let subtract = Composite { name: "subtract", numerics: None };
/// assert_eq!(NEGATE.call(&"int64".to_owned(), Some(subtract), &2), Ok(-2));
/// assert_eq!(recording.calls()[0].composite, Some("subtract"));
/// # drop(guard);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Composite {
    /// The name in the record of the call.
    pub name: &'static str,
    /// The arithmetic, if the node of the composite controls it instead of the kernel's node.
    pub numerics: Option<Numerics>,
}

/// The kernels of an operation as they are listed, or in groups by preference. Most calls have no preference, and the
/// iterator of groups takes several times as long.
enum Ordered<L, G> {
    Listed(L),
    Grouped(G),
}

impl<T, L: Iterator<Item = T>, G: Iterator<Item = T>> Iterator for Ordered<L, G> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        match self {
            Ordered::Listed(kernels) => kernels.next(),
            Ordered::Grouped(kernels) => next_grouped(kernels),
        }
    }
}

/// Not inlined, because few calls have a preference.
#[inline(never)]
fn next_grouped<T>(kernels: &mut impl Iterator<Item = T>) -> Option<T> {
    kernels.next()
}

/// The kernels of an operation.
///
/// ```
/// use interlock_core::dispatch::{FlagRequirement, Kernel, NoKernel, Op, Operation, Reason};
/// use interlock_core::flags::flags::CUDNN_ENABLED;
///
/// struct Scale;
///
/// impl Operation for Scale {
///     const NAME: &'static str = "scale";
///     type Call = usize;
///     type Args<'a> = &'a mut [f32];
///     type Out = ();
///     type Error = NoKernel;
/// }
///
/// static SCALE: Op<Scale> = Op::new(&[
///     Kernel::new("fast", |_, _, _| Ok(()))
///         .requires(&[FlagRequirement::on(&CUDNN_ENABLED)])
///         .condition(|length| if length % 4 == 0 { Ok(()) } else { Err(Reason::from("needs a multiple of 4")) }),
///     Kernel::new("native", |_, _, _| Ok(())),
/// ]);
///
/// assert_eq!(SCALE.explain(&8).kernel(), Some("fast"));
/// assert_eq!(SCALE.explain(&6).to_string(), "scale 6 -> native | fast: needs a multiple of 4");
/// ```
pub struct Op<O: Operation> {
    own: &'static [Kernel<O>],
    registered: KernelList<Kernel<O>>,
    order: Option<Order<O>>,
    is_announced: RelaxedBool,
}

impl<O: Operation> Op<O> {
    /// Creates an operation with these kernels. The first that accepts a call runs it.
    pub const fn new(own: &'static [Kernel<O>]) -> Self {
        Op { own, registered: KernelList::new(), order: None, is_announced: RelaxedBool::new(false) }
    }

    /// Sets a flag that puts kernels in front.
    pub const fn order(mut self, order: Order<O>) -> Self {
        self.order = Some(order);
        self
    }

    /// Adds a kernel before those of the operation; kernels that are registered later are tried later. The condition
    /// of the kernel limits the calls that it runs. It cannot be removed, unless it is a
    /// [`DynKernel`](super::DynKernel).
    ///
    /// # Errors
    /// Fails if the operation has a kernel of this name. Of several threads that register a name, one succeeds.
    pub fn register(&'static self, kernel: Kernel<O>) -> crate::Result<()> {
        let (name, node, mut words) = (kernel.name, kernel.node, Vec::new());
        kernel.append_words(&mut words);
        let removable = kernel.removable();
        let has_name = |known: &Kernel<O>, kernel: &Kernel<O>| known.is_listed() && known.name == kernel.name;
        if self.own.iter().any(|known| has_name(known, &kernel))
            || !self.registered.push_unless(kernel, has_name)
        {
            return Err(crate::Error::KernelName { operation: O::NAME, name });
        }
        let is_active = removable.map(|kernel| -> IsActive { Box::new(move || kernel.is_registered()) });
        Consumer::announce_while(O::NAME, words, node.into_iter().collect(), is_active);
        Ok(())
    }

    /// Returns the names of the operation's own kernels.
    pub fn own_kernels(&'static self) -> impl Iterator<Item = &'static str> {
        self.own.iter().map(|kernel| kernel.name)
    }

    /// Returns whether the operation has a kernel of this name now.
    pub fn has_kernel(&'static self, name: &str) -> bool {
        self.listed().any(|(kernel, _)| kernel.name == name)
    }

    /// Adds the operation to the list from which `explain` names the operations that obey a flag. The first call does
    /// so too.
    pub fn announce(&'static self) {
        if self.is_announced.get() {
            return;
        }
        self.is_announced.set(true);
        let (mut words, mut nodes) = (Vec::new(), Vec::new());
        for kernel in self.own {
            kernel.append_words(&mut words);
            nodes.extend(kernel.node);
        }
        words.extend(self.order.as_ref().map(|order| order.word));
        Consumer::announce(O::NAME, words, nodes);
    }

    /// Iterates over the kernels, each with whether it was registered: the registered ones, then those of the operation.
    #[inline]
    fn listed(&'static self) -> impl Iterator<Item = (&'static Kernel<O>, bool)> {
        let registered = self.registered.iter().filter(|kernel| kernel.is_listed());
        registered.map(|kernel| (kernel, true)).chain(self.own.iter().map(|kernel| (kernel, false)))
    }

    /// Returns the kernels that are tried first for a call, if there are any.
    #[inline]
    fn preferred(&self, call: &O::Call) -> Option<Preferred> {
        let preferred = (self.order.as_ref()?.preferred)(call);
        preferred.iter().any(Option::is_some).then_some(preferred)
    }

    /// Iterates over the kernels in the order in which a call tries them.
    #[inline]
    fn ordered(&'static self, call: &O::Call) -> impl Iterator<Item = &'static Kernel<O>> {
        let Some(preferred) = self.preferred(call) else {
            return Ordered::Listed(self.listed().map(|(kernel, _)| kernel));
        };
        let is_preferred = move |listed| preferred.iter().flatten().any(|it| it.is_for(listed));
        // The kernels of each preference, then those of none.
        let groups = preferred.into_iter().flatten().map(Some).chain([None]);
        let kernels = groups.flat_map(move |group| {
            self.listed().filter(move |&listed| match group {
                Some(preference) => preference.is_for(listed),
                None => !is_preferred(listed),
            })
        });
        Ordered::Grouped(kernels.map(|(kernel, _)| kernel))
    }

    /// Iterates over the kernels that accept a call.
    #[inline]
    fn decisions<'a>(
        &'static self,
        call: &'a O::Call,
        lists_refusals: bool,
    ) -> Decisions<'a, O, impl Iterator<Item = &'static Kernel<O>>> {
        Decisions::new(call, self.ordered(call), lists_refusals)
    }

    /// Runs the first kernel that accepts the call. `composite` is the operation that the call is part of.
    ///
    /// # Errors
    /// Returns the error of the kernel, or a [`NoKernel`] with the reason of each kernel.
    pub fn call(
        &'static self,
        call: &O::Call,
        composite: Option<Composite>,
        args: &O::Args<'_>,
    ) -> Result<O::Out, O::Error> {
        self.announce();
        let is_recorded = record::is_active();
        // A call that is not recorded lists only the kernels that refuse when they run, so the list is rarely allocated.
        let mut decisions = self.decisions(call, is_recorded);
        while let Some(kernel) = decisions.next() {
            let numerics = Self::numerics(kernel, call, composite);
            let notes = is_recorded.then(record::Notes::begin);
            let result = kernel.run(call, numerics, args);
            let notes = notes.map(record::Notes::end);
            let result = match result {
                Ok(out) => Ok(out),
                Err(KernelError::Failed(error)) => Err(error),
                Err(KernelError::Declined(reason)) => {
                    decisions.refuse(kernel, reason);
                    continue;
                }
            };
            if let Some(notes) = notes {
                let considered = decisions.finish(Some(kernel));
                let call = Self::record(call, composite, Some((kernel, numerics)), considered);
                record::record_call(Call { notes, ..call });
            }
            return result;
        }
        let considered = decisions.finish(None);
        Err(self.err_no_kernel(call, composite, considered, is_recorded).into())
    }

    /// Returns the arithmetic of a kernel, or of the composite, if its node controls it.
    #[inline]
    fn numerics(kernel: &Kernel<O>, call: &O::Call, composite: Option<Composite>) -> Numerics {
        composite.and_then(|composite| composite.numerics).unwrap_or_else(|| kernel.numerics(call))
    }

    /// Returns the error that names the reason of each kernel, and records the call if `is_recorded`. `considered` then
    /// lists all kernels, and otherwise those that refused when they ran.
    #[cold]
    fn err_no_kernel(
        &'static self,
        call: &O::Call,
        composite: Option<Composite>,
        considered: Vec<Considered>,
        is_recorded: bool,
    ) -> NoKernel {
        if is_recorded {
            let call = Self::record(call, composite, None, considered);
            record::record_call(call.clone());
            return NoKernel { call };
        }
        let considered = with_outcomes_of(self.refusals(call), &considered);
        NoKernel { call: Self::record(call, composite, None, considered) }
    }

    /// Returns the reason of each kernel against a call that none has accepted.
    fn refusals(&'static self, call: &O::Call) -> Vec<Considered> {
        let mut decisions = self.decisions(call, true);
        while let Some(kernel) = decisions.next() {
            // A flag that another thread has changed since accepts the kernel now.
            decisions.refuse(kernel, Reason::from("refused when the call was made"));
        }
        decisions.finish(None)
    }

    /// Returns the choice for a call on this thread now, without running it. The kernel may still refuse when it runs.
    pub fn explain(&'static self, call: &O::Call) -> Call {
        let mut decisions = self.decisions(call, true);
        let kernel = decisions.next();
        let chosen = kernel.map(|kernel| (kernel, kernel.numerics(call)));
        Self::record(call, None, chosen, decisions.finish(kernel))
    }

    fn record(
        call: &O::Call,
        composite: Option<Composite>,
        chosen: Option<(&'static Kernel<O>, Numerics)>,
        considered: Vec<Considered>,
    ) -> Call {
        let numerics = chosen.map(|(_, numerics)| numerics);
        Call {
            operation: O::NAME,
            arguments: call.to_string(),
            composite: composite.map(|composite| composite.name),
            is_model: chosen.is_some_and(|(kernel, _)| (kernel.is_model)(call)),
            inputs: numerics.filter(|_| O::obeys_precision(call)).map(|numerics| numerics.inputs),
            sums: numerics.filter(|_| O::accumulates_low_precision(call)).map(|numerics| numerics.sums),
            notes: Vec::new(),
            considered,
        }
    }
}

impl<O: Operation> fmt::Debug for Op<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Op").field("name", &O::NAME).field("own", &self.own).finish_non_exhaustive()
    }
}

/// Returns the kernels with the outcomes of those that ran.
fn with_outcomes_of(mut considered: Vec<Considered>, ran: &[Considered]) -> Vec<Considered> {
    for refused in &mut considered {
        if let Some(ran) = ran.iter().find(|ran| ran.kernel == refused.kernel) {
            refused.clone_from(ran);
        }
    }
    considered
}

/// The error of a call that every kernel refuses.
///
/// ```
/// use interlock_core::dispatch::{FlagRequirement, Kernel, NoKernel, Op, Operation};
/// use interlock_core::flags::flags::CUDA_MATH_SDP;
///
/// struct Attention;
///
/// impl Operation for Attention {
///     const NAME: &'static str = "attention";
///     type Call = String;
///     type Args<'a> = ();
///     type Out = ();
///     type Error = NoKernel;
/// }
///
/// static ATTENTION: Op<Attention> =
///     Op::new(&[Kernel::new("math", |_, _, _| Ok(())).requires(&[FlagRequirement::on(&CUDA_MATH_SDP)])]);
///
/// let guard = CUDA_MATH_SDP.scope(false)?.guard();
/// let error = ATTENTION.call(&"float32".to_owned(), None, &()).unwrap_err();
/// let expected = "attention float32: no kernel can run this call (math: backends.cuda.math_sdp is False)";
/// assert_eq!(error.to_string(), expected);
/// # drop(guard);
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoKernel {
    call: Call,
}

impl NoKernel {
    /// Returns the call with the reason of each kernel.
    pub fn call(&self) -> &Call {
        &self.call
    }
}

impl fmt::Display for NoKernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Call { operation, arguments, considered, .. } = &self.call;
        let reasons: Vec<String> = considered.iter().map(ToString::to_string).collect();
        write!(f, "{operation} {arguments}: no kernel can run this call ({})", reasons.join("; "))
    }
}

impl std::error::Error for NoKernel {}

#[cfg(test)]
mod tests {
    use super::super::record::Recording;
    use super::super::{DynKernel, FlagRequirement, Rounding};
    use super::*;
    use crate::flags::flags::{CUDA_BLAS_LIBRARY, CUDNN_BENCHMARK, CUDNN_DETERMINISTIC, CUDNN_ENABLED};
    use crate::flags::{BlasLibrary, Node, Precision, find};
    use crate::thread::ThreadState;

    /// Returns the name of the kernel that ran and its arithmetic.
    struct Probe;

    impl Operation for Probe {
        const NAME: &'static str = "probe";
        type Call = String;
        type Args<'a> = ();
        type Out = (&'static str, Rounding);
        type Error = NoKernel;

        fn obeys_precision(call: &String) -> bool {
            call == "float32"
        }
    }

    static ENABLED: [FlagRequirement; 1] = [FlagRequirement::on(&CUDNN_ENABLED)];
    static BENCHMARK: [FlagRequirement; 1] = [FlagRequirement::on(&CUDNN_BENCHMARK)];

    const LIBRARY: Kernel<Probe> = Kernel::new("library", |_, numerics, ()| Ok(("library", numerics.inputs)))
        .model()
        .requires(&ENABLED)
        .node(Node::CudaMatmul)
        .condition(|call| {
            if call == "int64" { Err(Reason::from("needs a float dtype, got int64")) } else { Ok(()) }
        });
    const NATIVE: Kernel<Probe> = Kernel::new("native", |_, numerics, ()| Ok(("native", numerics.inputs)));

    fn call(op: &'static Op<Probe>, dtype: &str) -> Result<(&'static str, Rounding), NoKernel> {
        op.call(&dtype.to_owned(), None, &())
    }

    struct Removable {
        is_registered: RelaxedBool,
    }

    impl DynKernel<Probe> for Removable {
        fn is_registered(&self) -> bool {
            self.is_registered.get()
        }

        fn check(&self, call: &String) -> Result<(), Reason> {
            if call == "float16" { Err(Reason::from("needs float32")) } else { Ok(()) }
        }

        fn run(
            &self,
            _: &String,
            numerics: Numerics,
            (): &(),
        ) -> Result<(&'static str, Rounding), KernelError<NoKernel>> {
            Ok(("removable", numerics.inputs))
        }
    }

    #[test]
    fn dynamic_kernels_can_be_removed_and_have_the_place_of_another() {
        fn preferred(_: &String) -> Preferred {
            [Some(Preference::Registered), Some(Preference::Kernel("native")), None, None, None]
        }
        static OP: Op<Probe> = Op::new(&[LIBRARY, NATIVE]).order(Order::new(&CUDNN_BENCHMARK, preferred));
        static REMOVABLE: Removable = Removable { is_registered: RelaxedBool::new(true) };
        let order = |call: &str| -> Vec<String> {
            OP.explain(&call.to_owned()).considered.iter().map(ToString::to_string).collect()
        };
        let kernel = || Kernel::dynamic("removable", &REMOVABLE).in_place_of("native");
        OP.register(kernel()).unwrap();
        assert!(OP.register(kernel()).is_err() && OP.has_kernel("removable"));
        assert_eq!(order("x")[..2], ["removable: chosen", "native: behind removable"]);
        assert_eq!(order("float16")[..2], ["removable: needs float32", "native: chosen"]);
        assert_eq!(OP.call(&"float32".to_owned(), None, &()).unwrap().0, "removable");
        REMOVABLE.is_registered.set(false);
        assert!(!OP.has_kernel("removable"));
        assert_eq!(order("x")[0], "native: chosen");
        assert_eq!(OP.own_kernels().collect::<Vec<_>>(), ["library", "native"]);
        OP.register(kernel()).unwrap();
    }

    #[test]
    fn call_runs_the_first_kernel_that_nothing_refuses() {
        static OP: Op<Probe> = Op::new(&[LIBRARY, NATIVE]);
        assert_eq!(call(&OP, "float32"), Ok(("library", Rounding::None)));
        assert_eq!(call(&OP, "int64"), Ok(("native", Rounding::None)));
        let _guard = CUDNN_ENABLED.scope(false).unwrap().guard();
        assert_eq!(call(&OP, "float32"), Ok(("native", Rounding::None)));
    }

    #[test]
    fn call_resolves_the_node_of_the_kernel_for_float32_only() {
        static OP: Op<Probe> = Op::new(&[LIBRARY, NATIVE]);
        let _guard = Node::CudaMatmul.scope(Precision::Tf32).unwrap().guard();
        assert_eq!(call(&OP, "float32"), Ok(("library", Rounding::Tf32)));
        assert_eq!(call(&OP, "float64"), Ok(("library", Rounding::None)));
        assert_eq!(call(&OP, "int64"), Ok(("native", Rounding::None)));
    }

    #[test]
    fn call_in_a_composite_uses_its_arithmetic_and_names_it() {
        static OP: Op<Probe> = Op::new(&[LIBRARY]);
        let recording = Recording::default();
        let _guard = recording.guard();
        let composite = Composite {
            name: "lstm",
            numerics: Some(Numerics { inputs: Rounding::Tf32, ..Numerics::default() }),
        };
        assert_eq!(OP.call(&"float32".to_owned(), Some(composite), &()), Ok(("library", Rounding::Tf32)));
        let expected = "probe float32 -> library (model), inputs tf32, in lstm";
        assert_eq!(recording.calls()[0].to_string(), expected);
    }

    #[test]
    fn call_tries_the_next_kernel_if_one_refuses_when_it_runs() {
        const REFUSES: Kernel<Probe> = Kernel::new("refuses", |_, _, ()| {
            Err(KernelError::Declined(Reason::from("needs 4 bytes of alignment")))
        });
        static OP: Op<Probe> = Op::new(&[REFUSES, NATIVE]);
        static NONE: Op<Probe> = Op::new(&[REFUSES]);
        let recording = Recording::default();
        let guard = recording.guard();
        assert_eq!(call(&OP, "float32"), Ok(("native", Rounding::None)));
        let recorded_error = call(&NONE, "float32").unwrap_err();
        drop(guard);
        let lines: Vec<String> = recording.calls().iter().map(ToString::to_string).collect();
        let refusal = "refuses: needs 4 bytes of alignment";
        let expected = [
            format!("probe float32 -> native | {refusal}"),
            format!("probe float32 -> no kernel | {refusal}"),
        ];
        assert_eq!(lines, expected);
        assert_eq!(call(&NONE, "float32").unwrap_err(), recorded_error);
    }

    #[test]
    fn call_without_a_kernel_returns_every_reason() {
        static OP: Op<Probe> = Op::new(&[LIBRARY]);
        let _guard = CUDNN_ENABLED.scope(false).unwrap().guard();
        let error = call(&OP, "float32").unwrap_err();
        let expected =
            "probe float32: no kernel can run this call (library: backends.cudnn.enabled is False)";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn order_puts_the_preferred_kernel_in_front() {
        const OTHER: Kernel<Probe> = Kernel::new("other", |_, _, ()| Ok(("other", Rounding::None)));
        static OP: Op<Probe> = Op::new(&[NATIVE, OTHER]).order(Order::new(&CUDA_BLAS_LIBRARY, |_| {
            let is_first = CUDA_BLAS_LIBRARY.get() == BlasLibrary::Cublaslt;
            [is_first.then_some(Preference::Kernel("other")), None, None, None, None]
        }));
        assert_eq!(
            OP.explain(&"float32".to_owned()).to_string(),
            "probe float32 -> native | other: behind native"
        );
        let _guard = CUDA_BLAS_LIBRARY.scope(BlasLibrary::Cublaslt).unwrap().guard();
        assert_eq!(
            OP.explain(&"float32".to_owned()).to_string(),
            "probe float32 -> other | native: behind other"
        );
        assert_eq!(call(&OP, "float32"), Ok(("other", Rounding::None)));
    }

    #[test]
    fn order_may_put_registered_kernels_behind_those_of_the_operation() {
        const OTHER: Kernel<Probe> = Kernel::new("other", |_, _, ()| Ok(("other", Rounding::None)));
        static OP: Op<Probe> = Op::new(&[NATIVE, OTHER]).order(Order::new(&CUDA_BLAS_LIBRARY, |_| {
            let is_default = CUDA_BLAS_LIBRARY.get() == BlasLibrary::Default;
            let first = Some(Preference::Kernel("other"));
            [first.filter(|_| is_default), is_default.then_some(Preference::Registered), None, None, None]
        }));
        OP.register(Kernel::new("added", |_, _, ()| Ok(("added", Rounding::None)))).unwrap();
        let order = || -> Vec<&'static str> {
            OP.explain(&"bool".to_owned()).considered.iter().map(|considered| considered.kernel).collect()
        };
        assert_eq!(order(), ["other", "added", "native"]);
        assert_eq!(call(&OP, "bool").unwrap().0, "other");
        let _guard = CUDA_BLAS_LIBRARY.scope(BlasLibrary::Cublas).unwrap().guard();
        assert_eq!(order(), ["added", "native", "other"]);
        assert_eq!(call(&OP, "bool").unwrap().0, "added");
    }

    #[test]
    fn register_adds_a_kernel_in_front_and_refuses_a_used_name() {
        static OP: Op<Probe> = Op::new(&[NATIVE]);
        let added = || {
            Kernel::new("added", |_, _, ()| Ok(("added", Rounding::None)))
                .condition(|call| if call == "bool" { Ok(()) } else { Err(Reason::from("needs bool")) })
        };
        OP.register(added()).unwrap();
        assert_eq!(call(&OP, "bool"), Ok(("added", Rounding::None)));
        assert_eq!(call(&OP, "int64"), Ok(("native", Rounding::None)));
        let of_own = || Kernel::new("native", |_, _, ()| Ok(("native", Rounding::None)));
        for (kernel, name) in [(added(), "added"), (of_own(), "native")] {
            let error = OP.register(kernel).unwrap_err();
            assert_eq!(error, crate::Error::KernelName { operation: "probe", name });
        }
    }

    #[test]
    fn gate_compares_the_effective_value() {
        const TRIES: Kernel<Probe> =
            Kernel::new("tries", |_, _, ()| Ok(("tries", Rounding::None))).requires(&BENCHMARK);
        static OP: Op<Probe> = Op::new(&[TRIES, NATIVE]);
        let _benchmark = CUDNN_BENCHMARK.scope(true).unwrap().guard();
        assert_eq!(call(&OP, "float32").unwrap().0, "tries");
        let _deterministic = CUDNN_DETERMINISTIC.scope(true).unwrap().guard();
        assert_eq!(call(&OP, "float32").unwrap().0, "native");
    }

    #[test]
    fn announce_lists_the_operation_in_explanations_of_its_flags() {
        static OP: Op<Probe> = Op::new(&[LIBRARY, NATIVE]);
        OP.announce();
        OP.announce();
        for name in
            ["cudnn.enabled", "cuda.matmul.fp32_precision", "cuda.matmul.allow_tf32", "fp32_precision"]
        {
            let affects = find(name).unwrap().affects();
            assert!(affects.ends_with(": obeyed by probe"), "{name}: {affects}");
        }
        assert!(!find("mkldnn.fp32_precision").unwrap().affects().contains("probe"));
    }

    #[test]
    fn recording_is_scoped_captured_and_replaced_by_an_inner_one() {
        static OP: Op<Probe> = Op::new(&[NATIVE]);
        let (outer, inner) = (Recording::default(), Recording::default());
        call(&OP, "before").unwrap();
        let guard = outer.guard();
        call(&OP, "outer").unwrap();
        {
            let _inner = inner.guard();
            call(&OP, "inner").unwrap();
        }
        let state = ThreadState::capture();
        std::thread::scope(|threads| {
            threads.spawn(|| call(&OP, "elsewhere").unwrap());
            threads.spawn(|| state.run(|| call(&OP, "applied").unwrap()));
        });
        drop(guard);
        call(&OP, "after").unwrap();
        let arguments = |recording: &Recording| -> Vec<String> {
            recording.calls().into_iter().map(|call| call.arguments).collect()
        };
        assert_eq!(arguments(&outer), ["outer", "applied"]);
        assert_eq!(arguments(&inner), ["inner"]);
        assert_eq!((outer.len(), outer.is_empty()), (2, false));
    }
}
