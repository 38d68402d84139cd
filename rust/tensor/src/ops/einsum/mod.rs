//! Sums of products of tensors in Einstein's notation: `torch.einsum`.

mod contraction;
mod equation;

use std::fmt;

use interlock::accelerator::Device;
use interlock::backends::EinsumStrategy;
use interlock::backends::flags::{OPT_EINSUM_ENABLED, OPT_EINSUM_STRATEGY};
use interlock::dispatch::{
    Call, FlagRequirement, Kernel, KernelError, Numerics, Op, Operation, Reason, annotate,
};
use interlock_core::base::short_sort::sort_short_by;

use crate::error::Sizes;
use crate::ops::conditions::{Condition, require};
use crate::ops::elementwise::operand::{check_device, check_same_dtype};
use crate::{DType, Error, Result, Tensor};
use contraction::{Term, contract};
use equation::{Equation, Label, OP};

/// Finds the order in which einsum contracts operands, as the Python package opt_einsum does.
///
/// ```
/// use interlock::backends::EinsumStrategy;
/// use interlock::dispatch::KernelError;
/// use interlock_tensor::{DType, Error, PathOptimizer, PathRequest, Tensor, einsum};
///
/// /// Contracts the last two operands first.
/// struct FromTheRight;
///
/// impl PathOptimizer for FromTheRight {
///     fn path(&self, request: &PathRequest<'_>) -> Result<Vec<Vec<usize>>, KernelError<Error>> {
///         Ok((2..=request.shapes.len()).rev().map(|left| vec![left - 2, left - 1]).collect())
///     }
/// }
///
/// let x = Tensor::ones(&[2, 2], DType::Float32)?;
/// let operands = [x.clone(), x.clone(), x];
/// let product = einsum("ij,jk,kl->il", &operands, Some(&FromTheRight))?;
/// assert_eq!(product.to_vec::<f32>()?, [4.0; 4]);
/// # Ok::<(), Error>(())
/// ```
pub trait PathOptimizer {
    /// Returns the positions of the operands of each contraction. Its result is appended to the operands that are left,
    /// as in opt_einsum.
    ///
    /// # Errors
    /// Returns [`KernelError::Declined`] to contract from left to right.
    fn path(&self, request: &PathRequest<'_>) -> Result<Vec<Vec<usize>>, KernelError<Error>>;
}

/// The operands for which a [`PathOptimizer`] finds an order.
///
/// ```
/// use interlock::backends::EinsumStrategy;
/// use interlock_tensor::PathRequest;
///
/// let request = PathRequest {
///     shapes: &[vec![2, 3], vec![3, 4]],
///     inputs: &[vec![0, 1], vec![1, 2]],
///     output: &[0, 2],
///     strategy: EinsumStrategy::Auto,
/// };
/// assert_eq!(request.inputs.len(), request.shapes.len());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct PathRequest<'a> {
    /// The shapes of the operands.
    pub shapes: &'a [Vec<usize>],
    /// The labels of the dimensions of each operand, as numbers.
    pub inputs: &'a [Vec<usize>],
    /// The labels of the result.
    pub output: &'a [usize],
    /// The strategy that the flag `opt_einsum.strategy` requests.
    pub strategy: EinsumStrategy,
}

/// Sums of products of tensors in Einstein's notation. [`EINSUM`] has its kernels.
#[derive(Debug)]
pub struct Einsum;

/// The properties of a call of einsum on which the choice of its kernel depends.
///
/// ```
/// use interlock_tensor::{DType, EINSUM, EinsumCall, Tensor};
///
/// let x = Tensor::ones(&[2, 3], DType::Float32)?;
/// let call = EinsumCall::new("ij->j", &[x], false);
/// assert_eq!(call.to_string(), "cpu float32 ij->j 2x3");
/// assert_eq!(EINSUM.explain(&call).kernel(), Some("left_to_right"));
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EinsumCall {
    device: Device,
    dtype: DType,
    equation: String,
    shapes: Vec<Vec<usize>>,
    strategy: EinsumStrategy,
    has_optimizer: bool,
}

impl EinsumCall {
    /// Returns the properties of a call on this thread now.
    pub fn new(equation: &str, operands: &[Tensor], has_optimizer: bool) -> Self {
        let first = operands.first();
        EinsumCall {
            device: first.map_or(Device::CPU, Tensor::device),
            dtype: first.map_or(DType::DEFAULT_FLOAT, Tensor::dtype),
            equation: equation.to_owned(),
            shapes: operands.iter().map(|operand| operand.shape().to_vec()).collect(),
            strategy: OPT_EINSUM_STRATEGY.get(),
            has_optimizer,
        }
    }
}

impl fmt::Display for EinsumCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.device, self.dtype.name(), self.equation)?;
        for (index, shape) in self.shapes.iter().enumerate() {
            write!(f, "{} {}", if index > 0 { "," } else { "" }, Sizes(shape))?;
        }
        Ok(())
    }
}

/// The arguments of [`Einsum`].
pub struct EinsumArgs<'a> {
    terms: Vec<Term>,
    output: &'a [Label],
    optimizer: Option<&'a dyn PathOptimizer>,
}

impl fmt::Debug for EinsumArgs<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EinsumArgs").field("output", &self.output).finish_non_exhaustive()
    }
}

impl Operation for Einsum {
    const NAME: &'static str = OP;
    type Call = EinsumCall;
    type Args<'a> = EinsumArgs<'a>;
    type Out = Tensor;
    type Error = Error;

    fn obeys_precision(_call: &EinsumCall) -> bool {
        // The products inside resolve their own node.
        false
    }
}

/// The kernels of einsum, which differ in the order of contractions. Each contraction is a call of
/// [`MATMUL`](crate::MATMUL).
pub static EINSUM: Op<Einsum> = Op::new(&[
    Kernel::<Einsum>::new("opt_einsum", contract_in_optimized_order)
        .requires(&[FlagRequirement::on(&OPT_EINSUM_ENABLED)])
        .obeys(&OPT_EINSUM_STRATEGY)
        .condition(can_be_optimized),
    Kernel::<Einsum>::new("left_to_right", |_, _, args| {
        Ok(contract_from_left(args.terms.clone(), args.output)?)
    }),
]);

fn can_be_optimized(call: &EinsumCall) -> Condition {
    let operands = call.shapes.len();
    require(operands > 2, || format!("needs more than 2 operands, got {operands}"))?;
    require(call.has_optimizer, || "needs a path optimizer")
}

fn contract_in_optimized_order(
    call: &EinsumCall,
    _: Numerics,
    args: &EinsumArgs<'_>,
) -> Result<Tensor, KernelError<Error>> {
    let Some(optimizer) = args.optimizer else {
        return Err(KernelError::Declined(Reason::from("needs a path optimizer")));
    };
    let path = find_path(optimizer, call, args)?;
    annotate(|| {
        let steps: Vec<String> = path.iter().map(|step| format!("({})", joined(step))).collect();
        format!("path {}", steps.join(" "))
    });
    let mut terms = args.terms.clone();
    for mut step in path {
        sort_short_by(&mut step, usize::le);
        let mut chosen: Vec<_> = step.into_iter().rev().map(|position| terms.remove(position)).collect();
        chosen.reverse();
        terms.extend(contract_all(chosen, &terms, args.output)?);
    }
    Ok(contract_from_left(terms, args.output)?)
}

/// Returns the path of an optimizer with different positions in each step, all of operands that exist then.
fn find_path(
    optimizer: &dyn PathOptimizer,
    call: &EinsumCall,
    args: &EinsumArgs<'_>,
) -> Result<Vec<Vec<usize>>, KernelError<Error>> {
    let mut labels: Vec<Label> = args.terms.iter().flat_map(|term| term.labels.iter().copied()).collect();
    sort_short_by(&mut labels, Label::le);
    labels.dedup();
    let number = |label: &Label| labels.binary_search(label).unwrap_or(0);
    let inputs: Vec<Vec<usize>> =
        args.terms.iter().map(|term| term.labels.iter().map(number).collect()).collect();
    let output: Vec<usize> = args.output.iter().map(number).collect();
    // Repeated labels of an operand are one dimension of its term.
    let shapes: Vec<Vec<usize>> = args.terms.iter().map(|term| term.tensor.shape().to_vec()).collect();
    let (inputs, output, shapes) = (&inputs, &output, &shapes);
    let path = optimizer.path(&PathRequest { shapes, inputs, output, strategy: call.strategy })?;
    let mut count = args.terms.len();
    for step in &path {
        let is_repeated = |position: &usize| step.iter().filter(|other| *other == position).count() > 1;
        if let Some(position) = step.iter().find(|position| **position >= count || is_repeated(position)) {
            let reason = format!("the path has a step ({}) for {count} operands: {position}", joined(step));
            return Err(KernelError::Declined(Reason::from(reason)));
        }
        count = count.saturating_sub(step.len()).saturating_add(usize::from(!step.is_empty()));
    }
    Ok(path)
}

fn joined(numbers: &[usize]) -> String {
    numbers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Contracts terms from left to right. Labels that other terms or the result have are kept.
fn contract_all(terms: Vec<Term>, others: &[Term], output: &[Label]) -> Result<Option<Term>> {
    let mut left = terms.into_iter();
    let Some(mut result) = left.next() else { return Ok(None) };
    while let Some(next) = left.next() {
        let rest = left.as_slice().iter().chain(others);
        let keep = |label| output.contains(&label) || rest.clone().any(|term| term.labels.contains(&label));
        result = contract(&result, &next, &keep)?;
    }
    Ok(Some(result))
}

/// Contracts all terms that are left from left to right.
fn contract_from_left(terms: Vec<Term>, output: &[Label]) -> Result<Tensor> {
    let result = contract_all(terms, &[], output)?;
    result.ok_or_else(|| Error::no_tensors(OP, "operands"))?.into_result(output)
}

/// Returns the sum of products that an equation such as `"ij,jk->ik"` describes: `torch.einsum`. An optimizer finds
/// the order of contractions if there are more than two operands, unless `opt_einsum.enabled` is off.
///
/// # Errors
/// Returns an error for an invalid equation, shapes that do not fit it and operands of different dtypes.
pub fn einsum(equation: &str, operands: &[Tensor], optimizer: Option<&dyn PathOptimizer>) -> Result<Tensor> {
    let parsed = parse(equation, operands)?;
    let terms = parsed.inputs.iter().zip(operands).map(|(labels, operand)| Term::new(operand, labels));
    let args = EinsumArgs { terms: terms.collect::<Result<_>>()?, output: &parsed.output, optimizer };
    EINSUM.call(&EinsumCall::new(equation, operands, optimizer.is_some()), None, &args)
}

/// Returns the choice of a kernel for [`einsum`] now, without running it.
///
/// # Errors
/// Returns an error for an invalid equation and for shapes, dtypes and devices that do not fit.
///
/// ```
/// use interlock_tensor::{DType, Tensor, explain_einsum};
///
/// let x = Tensor::ones(&[2, 3], DType::Float32)?;
/// assert_eq!(explain_einsum("ij->j", &[x], None)?.kernel(), Some("left_to_right"));
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
pub fn explain_einsum(
    equation: &str,
    operands: &[Tensor],
    optimizer: Option<&dyn PathOptimizer>,
) -> Result<Call> {
    parse(equation, operands)?;
    for pair in operands.windows(2) {
        let [left, right] = pair else { continue };
        check_same_dtype(OP, left, right)?;
        check_device(OP, left, right)?;
    }
    Ok(EINSUM.explain(&EinsumCall::new(equation, operands, optimizer.is_some())))
}

/// Parses an equation for operands whose shapes must fit it.
fn parse(equation: &str, operands: &[Tensor]) -> Result<Equation> {
    Error::when(operands.is_empty(), || Error::no_tensors(OP, "operands"))?;
    let parsed = Equation::parse(equation, operands)?;
    parsed.check_sizes(operands)?;
    Ok(parsed)
}
