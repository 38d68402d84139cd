//! The argument `out` of all operations: the operation computes a new tensor, whose elements are copied into the target, which
//! gets its shape.

use std::sync::Arc;

use interlock::autograd::is_inference_mode_enabled;

use super::conversion::transfer::copy_into;
use super::elementwise::operand::check_device;
use crate::layout::Layout;
use crate::recording::{check_inplace, is_recording};
use crate::storage::TensorOptions;
use crate::{Error, ErrorKind, Result, Tensor};

/// How a function that creates tensors writes to its argument `out`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum NewElements {
    /// The target gets the shape of the new tensor.
    Filled,
    /// The target keeps its shape if it has as many elements as the sequence.
    Sequence {
        /// Whether a change of the shape of a target with elements causes a warning.
        warns: bool,
    },
    /// The target gets the shape only.
    Uninitialized,
}

impl Tensor {
    /// Writes the result of an operation on `inputs` to this tensor: the argument `out` of PyTorch's functions. A tensor
    /// of another shape is resized like by [`resize_`](Tensor::resize_), with a warning if it has elements.
    ///
    /// # Errors
    /// Fails without effect if gradients are recorded for the result, or if this tensor has another device, or a type or
    /// memory in which the result cannot be stored.
    pub fn write_result(
        &self,
        op: &'static str,
        inputs: &[&Tensor],
        operation: impl FnOnce() -> Result<Tensor>,
    ) -> Result<&Tensor> {
        self.before_result(op)?;
        if inputs.iter().any(|input| self.dense_overlap(input) == Some(false)) {
            return Err(Error::aliased(op, "out"));
        }
        self.store_result(op, inputs, &operation()?)
    }

    /// Like [`write_result`](Tensor::write_result), for operations whose target may be a part of an input, such as
    /// reductions.
    pub fn write_overlapping(
        &self,
        op: &'static str,
        inputs: &[&Tensor],
        operation: impl FnOnce() -> Result<Tensor>,
    ) -> Result<&Tensor> {
        self.before_result(op)?;
        self.store_result(op, inputs, &operation()?)
    }

    /// Checks the target of a result.
    fn before_result(&self, op: &'static str) -> Result<()> {
        check_not_recorded(op, self)?;
        if self.is_inference() && !is_inference_mode_enabled() {
            let expected =
                "not be an inference tensor outside of inference_mode(); clone() returns a normal tensor";
            return Err(Error::value(op, "out", expected, "one"));
        }
        check_inplace(op, self, &[])?;
        Error::when(self.layout().has_internal_overlap(), || Error::overlap(op))?;
        Ok(())
    }

    /// Writes the results of an operation on `inputs`, at most three, to as many tensors, which have their dtypes.
    ///
    /// # Errors
    /// Fails without effect as [`write_result`](Tensor::write_result) does, and if the tensors share memory.
    pub fn write_results(
        targets: &[&Tensor],
        op: &'static str,
        inputs: &[&Tensor],
        operation: impl FnOnce() -> Result<Vec<Tensor>>,
    ) -> Result<()> {
        targets.iter().try_for_each(|target| target.before_result(op))?;
        for (number, second) in targets.iter().enumerate() {
            let mut before = targets.iter().take(number);
            let is_shared = |first: &&Tensor| first.is(second) || first.dense_overlap(second).is_some();
            if let Some(first) = before.position(is_shared) {
                let message = format!(
                    "must have tensors that share no memory, got the same memory in out[{first}] and out[{number}]"
                );
                return Err(Error::argument(ErrorKind::State, op, "out", message));
            }
        }
        let results = operation()?;
        results.iter().try_for_each(|result| check_not_recorded(op, result))?;
        let pairs = || targets.iter().zip(&results);
        for ((target, result), argument) in pairs().zip(["out[0]", "out[1]", "out[2]"]) {
            check_device(op, result, target)?;
            if result.dtype() != target.dtype() {
                let expected = format!("{}, the dtype of the result", result.dtype());
                return Err(Error::dtype(op, argument, expected, target.dtype()));
            }
        }
        pairs().try_for_each(|(target, result)| target.resize_to_result(op, inputs, result, true))?;
        pairs().try_for_each(|(target, result)| target.copy_result(result))
    }

    /// Writes the elements of a new tensor, which is made with the dtype and on the device of this one, to this tensor: the
    /// argument `out` of functions that create tensors.
    ///
    /// # Errors
    /// Fails without effect as [`write_result`](Tensor::write_result) does.
    pub fn write_new(
        &self,
        op: &'static str,
        rule: NewElements,
        make: impl FnOnce(TensorOptions) -> Result<Tensor>,
    ) -> Result<()> {
        self.before_result(op)?;
        let mut result = make(self.options())?;
        if let NewElements::Sequence { .. } = rule
            && result.numel() == self.numel()
        {
            result = result.reshaped(self.shape())?;
        }
        let warns = matches!(rule, NewElements::Sequence { warns: true });
        self.resize_to_result(op, &[], &result, warns)?;
        match rule {
            NewElements::Uninitialized => Ok(()),
            _ => self.copy_result(&result),
        }
    }

    /// Copies the result of an operation to this tensor, which gets its shape.
    fn store_result(&self, op: &'static str, inputs: &[&Tensor], result: &Tensor) -> Result<&Tensor> {
        check_not_recorded(op, result)?;
        check_device(op, result, self)?;
        if !result.dtype().can_cast_to(self.dtype()) {
            return Err(Error::result_type(op, "out", result.dtype(), self.dtype()));
        }
        self.resize_to_result(op, inputs, result, true)?;
        self.copy_result(result)?;
        Ok(self)
    }

    fn resize_to_result(
        &self,
        op: &'static str,
        inputs: &[&Tensor],
        result: &Tensor,
        warns: bool,
    ) -> Result<()> {
        if result.shape() == self.shape() {
            return Ok(());
        }
        self.resize_for_result(op, inputs, result, warns)
    }

    fn copy_result(&self, result: &Tensor) -> Result<()> {
        copy_into(self, &result.detach(), false)?;
        self.bump_version();
        Ok(())
    }

    /// Returns whether two dense tensors whose memory overlaps are the same elements in the same order: ATen's
    /// `get_overlap_status`. `None` if it does not overlap.
    fn dense_overlap(&self, other: &Tensor) -> Option<bool> {
        let (own, others) = (self.layout(), other.layout());
        if !Arc::ptr_eq(self.storage_handle(), other.storage_handle())
            || !own.is_dense()
            || !others.is_dense()
        {
            return None;
        }
        let range = |layout: &Layout, size: usize| {
            let start = layout.offset.saturating_mul(size);
            (start, start.saturating_add(layout.numel().saturating_mul(size)))
        };
        let (start, end) = range(own, self.dtype().size());
        let (other_start, other_end) = range(others, other.dtype().size());
        let intersects = start.max(other_start) < end.min(other_end);
        let same = (start, end) == (other_start, other_end) && own.strides == others.strides;
        intersects.then_some(same)
    }
}

/// Returns an error if gradients are recorded for a target or a result. Operations without a gradient have none.
fn check_not_recorded(op: &'static str, tensor: &Tensor) -> Result<()> {
    Error::when(is_recording() && tensor.requires_grad(), || {
        let expected = "not be passed if a tensor requires grad while gradients are recorded; use no_grad()";
        Error::value(op, "out", expected, "a tensor")
    })
}
