//! The kernels of the operations that write values at the positions of an index tensor.

use std::fmt;

use interlock::accelerator::Device;
use interlock::backends::flags::{DETERMINISTIC_ALGORITHMS, DETERMINISTIC_ALGORITHMS_WARN_ONLY};
use interlock::dispatch::{Composite, FlagRequirement, Kernel, KernelError, Numerics, Op, Operation};

use super::gather_scatter::ScatterReduce;
use super::positions::{Order, Positions};
use crate::error::{Sizes, warn};
use crate::ops::conditions::{Condition, of_float, require};
use crate::{DType, Error, ErrorCause, ErrorKind, Result, Tensor};

/// The properties of a call on which the choice of its kernel depends: of `index_add`, `index_put`, `put` and
/// `scatter_add`.
///
/// ```
/// use interlock_tensor::{DType, ScatterCall, Tensor};
///
/// let (x, y) = (Tensor::ones(&[4, 3], DType::Float32)?, Tensor::ones(&[2, 3], DType::Float32)?);
/// let call = ScatterCall::new(&x, &y, true);
/// assert_eq!(call.to_string(), "cpu float32 4x3 += 2x3");
/// assert_eq!((call.dtype(), call.accumulates()), (DType::Float32, true));
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ScatterCall {
    device: Device,
    dtype: DType,
    target: Vec<usize>,
    values: Vec<usize>,
    accumulates: bool,
}

impl ScatterCall {
    /// Returns the properties of a call that adds `values` to elements of `target`, or replaces the elements.
    pub fn new(target: &Tensor, values: &Tensor, accumulates: bool) -> Self {
        ScatterCall {
            device: target.device(),
            dtype: target.dtype(),
            target: target.shape().to_vec(),
            values: values.shape().to_vec(),
            accumulates,
        }
    }

    /// Returns the device of the tensors.
    pub fn device(&self) -> Device {
        self.device
    }

    /// Returns the element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns whether the values are added, instead of replacing the elements.
    pub fn accumulates(&self) -> bool {
        self.accumulates
    }
}

impl fmt::Display for ScatterCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ScatterCall { device, dtype, target, values, accumulates } = self;
        let sign = if *accumulates { "+=" } else { "=" };
        write!(f, "{device} {dtype} {} {sign} {}", Sizes(target), Sizes(values))
    }
}

/// The arguments of a call: the target, the values, which are of its type, and the positions of the values.
#[derive(Debug)]
pub struct ScatterArgs<'a> {
    pub(crate) op: &'static str,
    pub(crate) target: &'a Tensor,
    pub(crate) values: &'a Tensor,
    pub(crate) positions: &'a Positions,
}

/// Defines the operations, each with its kernels.
macro_rules! operations {
    ($($(#[$doc:meta])+ $operation:ident, $(#[$op_doc:meta])+ $op:ident = $name:literal [$($kernel:expr),+];)+) => {
        $(
            $(#[$doc])+
            #[derive(Debug)]
            pub struct $operation;

            impl Operation for $operation {
                const NAME: &'static str = $name;
                type Call = ScatterCall;
                type Args<'a> = ScatterArgs<'a>;
                type Out = ();
                type Error = Error;
            }

            $(#[$op_doc])+
            pub static $op: Op<$operation> = Op::new(&[$($kernel),+]);
        )+
    };
}

static ANY_ORDER: [FlagRequirement; 1] = [FlagRequirement::off(&DETERMINISTIC_ALGORITHMS)];

operations! {
    /// The addition of slices to those of a tensor at the positions of an index.
    IndexAdd,
    /// The kernels of `index_add`.
    ///
    /// ```
    /// use interlock::backends::flags::DETERMINISTIC_ALGORITHMS;
    /// use interlock_tensor::{DType, INDEX_ADD, ScatterCall, Tensor};
    ///
    /// let x = Tensor::ones(&[2], DType::Float32)?;
    /// let chosen = || INDEX_ADD.explain(&ScatterCall::new(&x, &x, true)).kernel();
    /// assert_eq!(chosen(), Some("atomic"));
    /// let _guard = DETERMINISTIC_ALGORITHMS.scope(true)?.guard();
    /// assert_eq!(chosen(), Some("ordered"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    INDEX_ADD = "index_add" [
        Kernel::<IndexAdd>::new("atomic", run_in_any_order).requires(&ANY_ORDER).condition(accumulates_floats),
        Kernel::<IndexAdd>::new("ordered", run_ordered)
    ];
    /// The addition or assignment of values to the elements at the positions of several indices.
    IndexPut,
    /// The kernels of `index_put`. Only additions have one without a fixed order.
    INDEX_PUT = "index_put" [
        Kernel::<IndexPut>::new("atomic", run_in_any_order).requires(&ANY_ORDER).condition(accumulates_floats),
        Kernel::<IndexPut>::new("ordered", run_ordered)
    ];
    /// The addition or assignment of values to elements, which are numbered in row-major order.
    Put,
    /// The kernels of `put`. An assignment has no fixed order.
    PUT = "put" [
        Kernel::<Put>::new("atomic", run_in_any_order).requires(&ANY_ORDER).condition(accumulates_floats),
        Kernel::<Put>::new("ordered", run_ordered).condition(accumulates),
        Kernel::<Put>::new("unordered", run_in_any_order).requires(&ANY_ORDER).condition(assigns),
        Kernel::<Put>::new("unordered_with_warning", run_with_warning)
            .requires(&[FlagRequirement::on(&DETERMINISTIC_ALGORITHMS_WARN_ONLY)])
            .condition(assigns)
    ];
    /// The addition of values to the elements at the positions of an index with the dimensions of the tensor.
    ScatterAdd,
    /// The kernels of `scatter_add`.
    SCATTER_ADD = "scatter_add" [
        Kernel::<ScatterAdd>::new("atomic", run_in_any_order).requires(&ANY_ORDER).condition(accumulates_floats),
        Kernel::<ScatterAdd>::new("ordered", run_ordered)
    ];
}

fn accumulates(call: &ScatterCall) -> Condition {
    require(call.accumulates, || "needs accumulate=True")
}

fn assigns(call: &ScatterCall) -> Condition {
    require(!call.accumulates, || "needs accumulate=False")
}

/// The order of additions matters for floating-point numbers only.
fn accumulates_floats(call: &ScatterCall) -> Condition {
    accumulates(call)?;
    of_float(call.dtype)
}

fn run(call: &ScatterCall, args: &ScatterArgs<'_>, order: Order) -> Result<(), KernelError<Error>> {
    let combine = if call.accumulates { ScatterReduce::Add } else { ScatterReduce::Replace };
    Ok(args.positions.write(args.op, args.target, args.values, combine, order)?)
}

fn run_in_any_order(
    call: &ScatterCall,
    _: Numerics,
    args: &ScatterArgs<'_>,
) -> Result<(), KernelError<Error>> {
    run(call, args, Order::Any)
}

fn run_ordered(call: &ScatterCall, _: Numerics, args: &ScatterArgs<'_>) -> Result<(), KernelError<Error>> {
    run(call, args, Order::RowMajor)
}

fn run_with_warning(
    call: &ScatterCall,
    _: Numerics,
    args: &ScatterArgs<'_>,
) -> Result<(), KernelError<Error>> {
    run(call, args, Order::Any)?;
    warn(&format!(
        "{}: no kernel has a fixed order of assignments, although backends.deterministic_algorithms is True; \
         accumulate=True has one, or use index_put_",
        args.op
    ));
    Ok(())
}

/// Which of the operations writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexedWrite {
    IndexAdd,
    IndexPut,
    Put,
    ScatterAdd,
}

impl IndexedWrite {
    /// Writes values to the elements of `target` at `positions`, without recording. `composite` is the operation that
    /// this one is part of.
    pub fn run(
        self,
        args: &ScatterArgs<'_>,
        accumulates: bool,
        composite: Option<&'static str>,
    ) -> Result<()> {
        let call = ScatterCall::new(args.target, args.values, accumulates);
        let composite = composite.map(|name| Composite { name, numerics: None });
        let done = match self {
            IndexedWrite::IndexAdd => INDEX_ADD.call(&call, composite, args),
            IndexedWrite::IndexPut => INDEX_PUT.call(&call, composite, args),
            IndexedWrite::Put => PUT.call(&call, composite, args),
            IndexedWrite::ScatterAdd => SCATTER_ADD.call(&call, composite, args),
        };
        done.map_err(|error| match error.cause() {
            ErrorCause::NoKernel(_) if self == IndexedWrite::Put && DETERMINISTIC_ALGORITHMS.get() => {
                let message = "accumulate must be True while backends.deterministic_algorithms is True, got False: no \
                               kernel has a fixed order of assignments; use index_put_, or \
                               set flags::DETERMINISTIC_ALGORITHMS_WARN_ONLY";
                Error::new(ErrorKind::State, args.op, message)
            }
            _ => error,
        })
    }
}
