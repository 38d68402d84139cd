//! The kernels of factorizations and triangular systems.

use std::fmt;

use interlock::accelerator::Device;
use interlock::backends::LinalgLibrary;
use interlock::backends::flags::CUDA_LINALG_LIBRARY;
use interlock::dispatch::{
    Call, Composite, Kernel, KernelError, Op, Operation, Order, Preference, Preferred, Reason,
};

use crate::error::Sizes;
use crate::ops::conditions::{Condition, at_least, on_cpu, on_device};
use crate::products::linalg::lapack::Lapack;
use crate::products::linalg::{Factors, Routine, factors};
use crate::{DType, Error, Result, Tensor};

/// The properties of a factorization on which the choice of its kernel depends.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct LinalgCall {
    device: Device,
    dtype: DType,
    matrices: Vec<usize>,
    sides: Option<Vec<usize>>,
}

impl LinalgCall {
    fn new(matrices: &Tensor, sides: Option<&Tensor>) -> Self {
        LinalgCall {
            device: matrices.device(),
            dtype: matrices.dtype(),
            matrices: matrices.shape().to_vec(),
            sides: sides.map(|sides| sides.shape().to_vec()),
        }
    }

    fn rows(&self) -> usize {
        self.matrices.iter().rev().nth(1).copied().unwrap_or_default()
    }

    fn columns(&self) -> usize {
        self.matrices.last().copied().unwrap_or_default()
    }
}

impl fmt::Display for LinalgCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.device, self.dtype, Sizes(&self.matrices))?;
        self.sides.iter().try_for_each(|sides| write!(f, ", {}", Sizes(sides)))
    }
}

/// The arguments of [`call`].
#[derive(Debug)]
pub(crate) struct LinalgArgs<'a> {
    op: &'static str,
    routine: Routine,
    matrices: &'a Tensor,
    sides: Option<&'a Tensor>,
}

/// Declares the operations whose kernels are chosen, with the least size for a library: below it the kernels of this crate are
/// faster than OpenBLAS 0.3.31, for one matrix and for batches.
macro_rules! operations {
    ($(
        $(#[$doc:meta])*
        $kernels:ident, $operation:ident, $name:literal = $routine:pat, from $least:literal $what:ident;
    )+) => {
        $(
            $(#[$doc])*
            #[derive(Debug)]
            struct $operation;

            impl Operation for $operation {
                const NAME: &'static str = $name;
                type Call = LinalgCall;
                type Args<'a> = LinalgArgs<'a>;
                type Out = Factors;
                type Error = Error;

                fn obeys_precision(_: &LinalgCall) -> bool {
                    false
                }
            }

            static $kernels: Op<$operation> = Op::new(&[
                Kernel::<$operation>::new("cusolver", |_, _, args| run_by(None, args))
                    .model()
                    .condition(|call| on_device(call.device)),
                Kernel::<$operation>::new("magma", |_, _, args| run_by(None, args)).condition(has_magma),
                Kernel::<$operation>::new("mkl", |_, _, args| run_by(Some(Lapack::Mkl), args))
                    .condition(|call| check(call, Lapack::Mkl, ($least, stringify!($what), call.$what()))),
                Kernel::<$operation>::new("openblas", |_, _, args| run_by(Some(Lapack::OpenBlas), args))
                    .condition(|call| check(call, Lapack::OpenBlas, ($least, stringify!($what), call.$what()))),
                Kernel::<$operation>::new("native", |_, _, args| run_by(None, args)),
            ])
            .order(Order::new(&CUDA_LINALG_LIBRARY, preferred_library));
        )+

        /// Computes a factorization, or the solution of a triangular system with these right sides of the same batch, for the
        /// function `op` that the program called. The operands have no history.
        pub(super) fn call(
            op: &'static str,
            routine: Routine,
            matrices: &Tensor,
            sides: Option<&Tensor>,
        ) -> Result<Factors> {
            let (call, args) = (LinalgCall::new(matrices, sides), LinalgArgs { op, routine, matrices, sides });
            match routine {
                $($routine => {
                    let is_part = op != $name;
                    let composite = is_part.then_some(Composite { name: op, numerics: None });
                    $kernels.call(&call, composite, &args)
                })+
            }
        }

        /// Returns the choice of a kernel now, without running it.
        pub(super) fn explain(routine: Routine, matrices: &Tensor, sides: Option<&Tensor>) -> Call {
            let call = LinalgCall::new(matrices, sides);
            match routine {
                $($routine => $kernels.explain(&call),)+
            }
        }

        /// Adds the operations to those that `explain` lists.
        pub(crate) fn announce() {
            $($kernels.announce();)+
        }
    };
}

operations! {
    /// The Cholesky factor of symmetric matrices.
    CHOLESKY, Cholesky, "cholesky" = Routine::Cholesky, from 12 rows;
    /// The LU factors of matrices.
    LU_FACTOR, LuFactor, "lu_factor" = Routine::Lu, from 36 rows;
    /// The solutions of triangular systems.
    SOLVE_TRIANGULAR, SolveTriangular, "solve_triangular" = Routine::Triangular { .. }, from 12 rows;
    /// The QR factors of matrices.
    QR, Qr, "qr" = Routine::Qr { .. }, from 32 rows;
    /// The eigenvalues of symmetric matrices.
    EIGH, Eigh, "eigh" = Routine::Eigh { .. }, from 4 rows;
    /// The singular values of matrices.
    SVD, Svd, "svd" = Routine::Svd { .. }, from 8 columns;
}

/// The libraries are preferred on accelerators only.
fn preferred_library(call: &LinalgCall) -> Preferred {
    let library = CUDA_LINALG_LIBRARY.get();
    let is_preferred = on_device(call.device).is_ok() && library != LinalgLibrary::Default;
    [is_preferred.then_some(Preference::Kernel(library.name())), None, None, None, None]
}

fn has_magma(call: &LinalgCall) -> Condition {
    on_device(call.device)?;
    Err(Reason::from("interlock does not call MAGMA"))
}

/// Accepts matrices on the CPU of at least so many rows or columns that a library computes.
fn check(
    call: &LinalgCall,
    library: Lapack,
    (least, what, given): (usize, &'static str, usize),
) -> Condition {
    on_cpu(call.device)?;
    at_least(least, what, given)?;
    library.check(largest_square(call)).map_err(Reason::from)
}

/// Returns the elements of the largest square matrix that a factorization computes: a complete factor has as many rows and columns
/// as the larger size of a matrix.
fn largest_square(call: &LinalgCall) -> usize {
    let sizes = call.sides.iter().chain([&call.matrices]).flat_map(|shape| shape.iter().rev().take(2));
    let largest = sizes.copied().max().unwrap_or_default();
    largest.saturating_mul(largest)
}

/// Computes with a library or the kernels of this crate, which read contiguous elements of float64.
fn run_by(library: Option<Lapack>, args: &LinalgArgs<'_>) -> Result<Factors, KernelError<Error>> {
    let operand = |tensor: &Tensor| tensor.cast(DType::Float64)?.contiguous();
    let sides = args.sides.map(operand).transpose()?;
    Ok(factors(args.op, library, args.routine, &operand(args.matrices)?, sides.as_ref())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn largest_square_is_the_complete_factor_of_a_narrow_matrix() {
        let call = |matrices: &[usize], sides: Option<&[usize]>| LinalgCall {
            device: Device::CPU,
            dtype: DType::Float64,
            matrices: matrices.to_vec(),
            sides: sides.map(<[usize]>::to_vec),
        };
        assert_eq!(largest_square(&call(&[3, 50_000, 1], None)), 2_500_000_000);
        assert_eq!(largest_square(&call(&[2, 2], Some(&[2, 7]))), 49);
        assert_eq!(largest_square(&call(&[0, 0], None)), 0);
        assert_eq!(largest_square(&call(&[usize::MAX, 2], None)), usize::MAX);
    }
}
