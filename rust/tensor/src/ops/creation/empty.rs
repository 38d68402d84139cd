//! Tensors that are not initialized.

use std::fmt;

use interlock::backends::flags::{DETERMINISTIC_ALGORITHMS, DETERMINISTIC_FILL_UNINITIALIZED_MEMORY};
use interlock::dispatch::{Call, FlagRequirement, Kernel, KernelError, Numerics, Op, Operation, annotate};

use crate::error::Sizes;
use crate::layout::{Layout, checked_numel, err_stride_count};
use crate::storage::{Placement, Storage};
use crate::{DType, Error, Result, Scalar, Tensor, TensorOptions};

/// The allocation of a tensor whose elements are not initialized.
#[derive(Debug)]
pub struct Empty;

/// The properties of a new tensor that is not initialized.
///
/// ```
/// use interlock::backends::flags::DETERMINISTIC_ALGORITHMS;
/// use interlock_tensor::{DType, EMPTY, EmptyCall};
///
/// let call = EmptyCall::new(&[2, 3], DType::Float32);
/// let _guard = DETERMINISTIC_ALGORITHMS.scope(true)?.guard();
/// assert_eq!(EMPTY.explain(&call).kernel(), Some("filled"));
/// assert_eq!(call.to_string(), "cpu float32 2x3");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EmptyCall {
    shape: Vec<usize>,
    options: TensorOptions,
}

impl EmptyCall {
    /// Returns the properties of a tensor of this shape, element type and placement.
    pub fn new(shape: &[usize], options: impl Into<TensorOptions>) -> Self {
        EmptyCall { shape: shape.to_vec(), options: options.into() }
    }
}

impl fmt::Display for EmptyCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let EmptyCall { shape, options: TensorOptions { dtype, placement } } = self;
        match placement {
            Placement::Device(device) => write!(f, "{device}")?,
            Placement::Cpu | Placement::Pinned => f.write_str("cpu")?,
        }
        write!(f, " {dtype} {}", Sizes(shape))
    }
}

impl Operation for Empty {
    const NAME: &'static str = "empty";
    type Call = EmptyCall;
    type Args<'a> = ();
    type Out = Tensor;
    type Error = Error;
}

/// The kernels of `empty`: one writes a value that shows the error of a program that reads it.
pub static EMPTY: Op<Empty> = Op::new(&[
    Kernel::<Empty>::new("filled", run_filled).requires(&[
        FlagRequirement::on(&DETERMINISTIC_ALGORITHMS),
        FlagRequirement::on(&DETERMINISTIC_FILL_UNINITIALIZED_MEMORY),
    ]),
    Kernel::<Empty>::new("uninitialized", run_uninitialized),
]);

/// Returns whether the flags request that memory is filled that an operation does not initialize.
pub(crate) fn is_filled() -> bool {
    DETERMINISTIC_ALGORITHMS.get() && DETERMINISTIC_FILL_UNINITIALIZED_MEMORY.get()
}

/// Returns a value of a type that shows that an element was not written: NaN, the largest integer or true.
pub(crate) fn marker(dtype: DType) -> Scalar {
    if dtype.is_floating_point() {
        return Scalar::Float(f64::NAN);
    }
    if dtype == DType::Bool {
        return Scalar::Bool(true);
    }
    // Numbers whose lower bits are all set.
    let numbers = (1..=63u32).rev().map(|bits| i64::MAX >> (63 - bits));
    Scalar::Int(numbers.into_iter().find(|&number| Scalar::Int(number).fits(dtype)).unwrap_or(0))
}

fn run_filled(call: &EmptyCall, _: Numerics, (): &()) -> Result<Tensor, KernelError<Error>> {
    annotate(|| format!("backends.{} is True", DETERMINISTIC_ALGORITHMS.name()));
    Ok(Tensor::full(&call.shape, marker(call.options.dtype), call.options)
        .map_err(|error| error.during("empty"))?)
}

fn run_uninitialized(call: &EmptyCall, _: Numerics, (): &()) -> Result<Tensor, KernelError<Error>> {
    let TensorOptions { dtype, placement } = call.options;
    let Placement::Device(_) = placement else { return Ok(Tensor::zeros(&call.shape, call.options)?) };
    let op = "empty";
    let bytes = checked_numel(op, &call.shape, dtype.size())?.saturating_mul(dtype.size());
    let storage = Storage::new(op, placement, bytes)?;
    Ok(Tensor::new(storage, dtype, Layout::contiguous(&call.shape)))
}

impl Tensor {
    /// Returns a tensor that is not initialized. Under `deterministic_algorithms` it is filled, unless
    /// `deterministic_fill_uninitialized_memory` is off.
    pub fn empty(shape: &[usize], options: impl Into<TensorOptions>) -> Result<Self> {
        EMPTY.call(&EmptyCall::new(shape, options), None, &())
    }

    /// Returns the choice of a kernel for [`empty`](Tensor::empty) now, without running it.
    ///
    /// # Errors
    /// Fails as `empty` does for a shape with too many elements.
    pub fn explain_empty(shape: &[usize], options: impl Into<TensorOptions>) -> Result<Call> {
        let options = options.into();
        checked_numel("empty", shape, options.dtype.size())?;
        Ok(EMPTY.explain(&EmptyCall::new(shape, options)))
    }

    /// Returns an [`empty`](Tensor::empty) tensor with these strides. The memory between its elements is part of it.
    pub fn empty_strided(
        shape: &[usize],
        strides: &[usize],
        options: impl Into<TensorOptions>,
    ) -> Result<Self> {
        let (op, options) = ("empty_strided", options.into());
        Error::when(shape.len() != strides.len(), || err_stride_count(op, shape, strides))?;
        checked_numel(op, shape, options.dtype.size())?;
        let layout = Layout { shape: shape.to_vec(), strides: strides.to_vec(), offset: 0 };
        let count = layout.required_len().unwrap_or(usize::MAX);
        Ok(Tensor::empty(&[count], options).map_err(|error| error.during(op))?.alias(layout))
    }
}
