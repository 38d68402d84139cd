//! The kernels of factorizations and triangular systems.

use std::fmt;

use interlock::accelerator::{Device, DeviceType};
use interlock::backends::LinalgLibrary;
use interlock::backends::flags::CUDA_LINALG_LIBRARY;
use interlock::dispatch::{
    Call, Composite, Kernel, KernelError, Numerics, Op, Operation, Order, Preference, Preferred, Reason,
};

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
    fn new(args: &LinalgArgs<'_>) -> Self {
        LinalgCall {
            device: args.matrices.device(),
            dtype: args.matrices.dtype(),
            matrices: args.matrices.shape().to_vec(),
            sides: args.sides.map(|sides| sides.shape().to_vec()),
        }
    }
}

impl fmt::Display for LinalgCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |shape: &[usize]| shape.iter().map(ToString::to_string).collect::<Vec<_>>().join("x");
        write!(f, "{} {} {}", self.device, self.dtype.name(), shown(&self.matrices))?;
        match &self.sides {
            Some(sides) => write!(f, ", {}", shown(sides)),
            None => Ok(()),
        }
    }
}

/// The operands of a factorization, without history.
#[derive(Debug)]
pub(crate) struct LinalgArgs<'a> {
    /// The function that the program called, as errors name it.
    pub op: &'static str,
    pub routine: Routine,
    /// The matrices.
    pub matrices: &'a Tensor,
    /// The right sides of a triangular system, of the same batch.
    pub sides: Option<&'a Tensor>,
}

/// Declares the operations whose kernels are chosen.
macro_rules! operations {
    ($($(#[$doc:meta])* $kernels:ident, $operation:ident, $name:literal = $routine:pat,)+) => {
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
                Kernel::<$operation>::new("cusolver", run).model().condition(is_on_device),
                Kernel::<$operation>::new("magma", run).condition(has_magma),
                Kernel::<$operation>::new("mkl", run_by_mkl).condition(|call| check(call, Lapack::Mkl)),
                Kernel::<$operation>::new("openblas", run_by_openblas)
                    .condition(|call| check(call, Lapack::OpenBlas)),
                Kernel::<$operation>::new("native", run),
            ])
            .order(Order::new(&CUDA_LINALG_LIBRARY, preferred_library));
        )+

        /// Computes a factorization.
        pub(super) fn call(args: &LinalgArgs<'_>) -> Result<Factors> {
            let call = LinalgCall::new(args);
            match args.routine {
                $($routine => {
                    let is_part = args.op != $name;
                    let composite = is_part.then_some(Composite { name: args.op, numerics: None });
                    $kernels.call(&call, composite, args)
                })+
            }
        }

        /// Returns the choice of a kernel now, without running it.
        pub(super) fn explain(args: &LinalgArgs<'_>) -> Call {
            let call = LinalgCall::new(args);
            match args.routine {
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
    CHOLESKY, Cholesky, "cholesky" = Routine::Cholesky,
    /// The LU factors of matrices.
    LU_FACTOR, LuFactor, "lu_factor" = Routine::Lu,
    /// The solutions of triangular systems.
    SOLVE_TRIANGULAR, SolveTriangular, "solve_triangular" = Routine::Triangular { .. },
    /// The QR factors of matrices.
    QR, Qr, "qr" = Routine::Qr { .. },
    /// The eigenvalues of symmetric matrices.
    EIGH, Eigh, "eigh" = Routine::Eigh { .. },
    /// The singular values of matrices.
    SVD, Svd, "svd" = Routine::Svd { .. },
}

/// The libraries are preferred on accelerators only.
fn preferred_library(call: &LinalgCall) -> Preferred {
    let library = CUDA_LINALG_LIBRARY.get();
    let is_preferred = is_on_device(call).is_ok() && library != LinalgLibrary::Default;
    [is_preferred.then_some(Preference::Kernel(library.name())), None, None, None, None]
}

fn is_on_device(call: &LinalgCall) -> Result<(), Reason> {
    match call.device.kind() {
        DeviceType::Cpu => Err(Reason::from("needs a device, got cpu")),
        _ => Ok(()),
    }
}

fn has_magma(call: &LinalgCall) -> Result<(), Reason> {
    is_on_device(call)?;
    Err(Reason::from("interlock does not call MAGMA"))
}

/// Returns why a library does not compute a factorization, if it does not.
fn check(call: &LinalgCall, library: Lapack) -> Result<(), Reason> {
    if call.device.kind() != DeviceType::Cpu {
        return Err(Reason::from(format!("needs cpu, got {}", call.device)));
    }
    library.check(largest_square(call)).map_err(Reason::from)
}

/// Returns the elements of the largest square matrix that a factorization computes: a complete factor has as many rows and columns
/// as the larger size of a matrix.
fn largest_square(call: &LinalgCall) -> usize {
    let sizes = call.sides.iter().chain([&call.matrices]).flat_map(|shape| shape.iter().rev().take(2));
    let largest = sizes.copied().max().unwrap_or_default();
    largest.saturating_mul(largest)
}

fn run(_: &LinalgCall, _: Numerics, args: &LinalgArgs<'_>) -> Result<Factors, KernelError<Error>> {
    run_by(None, args)
}

fn run_by_mkl(_: &LinalgCall, _: Numerics, args: &LinalgArgs<'_>) -> Result<Factors, KernelError<Error>> {
    run_by(Some(Lapack::Mkl), args)
}

fn run_by_openblas(
    _: &LinalgCall,
    _: Numerics,
    args: &LinalgArgs<'_>,
) -> Result<Factors, KernelError<Error>> {
    run_by(Some(Lapack::OpenBlas), args)
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
