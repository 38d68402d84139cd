//! Reads and writes at the positions of an index that has the dimensions of the tensor.

use interlock::dispatch::Call;

use super::along::fill_value;
use super::gather_scatter::ScatterReduce;
use super::indexed::{GATHER, WriteTo, name_of};
use super::positions::{IndexRule, Order, Positions, check_coordinates};
use super::scatter_kernels::{SCATTER_ADD, ScatterCall};
use crate::error::Tuple;
use crate::layout::{broadcast, signed, signed_sizes, wrap_dim};
use crate::ops::elementwise::operand::{Operand, check_device, check_dtype, check_same_dtype};
use crate::{DType, Error, ErrorKind, Result, Scalar, Tensor};

/// Returns the part of the values that an index of `shape` writes. Values and an index without dimensions count as ones
/// with one dimension.
fn part_of(op: &'static str, src: &Tensor, shape: &[usize]) -> Result<Tensor> {
    if src.shape() == shape {
        return Ok(src.clone());
    }
    if shape.contains(&0) {
        return src.reshape(&[-1])?.slice(0, None, Some(0), 1)?.reshape(&signed_sizes(shape));
    }
    let values = if src.ndim() == 0 { src.view(&[1])? } else { src.clone() };
    let sizes = if shape.is_empty() { &[1] } else { shape };
    let fits =
        values.ndim() == sizes.len() && sizes.iter().zip(values.shape()).all(|(size, own)| size <= own);
    if !fits {
        let expected = format!("be at least as large as index of shape {}", Tuple(shape));
        return Err(Error::shape(op, "src", expected, src.shape()));
    }
    let mut part = values;
    for (dim, size) in (0i64..).zip(signed_sizes(sizes)) {
        part = part.slice(dim, None, Some(size), 1)?;
    }
    if part.ndim() == shape.len() { Ok(part) } else { part.view(&[]) }
}

impl Tensor {
    /// Returns the elements at the positions in `index` along `dim`; each is at its own position in the other dimensions:
    /// `torch.gather`.
    pub fn gather(&self, dim: i64, index: &Tensor) -> Result<Tensor> {
        self.read_at(GATHER, &Positions::coordinates("gather", self, dim, index)?)
    }

    /// Adds the elements of `src` to those at the positions in `index` along `dim`: `torch.scatter_add`.
    pub fn scatter_add(&self, to: WriteTo, dim: i64, index: &Tensor, src: &Tensor) -> Result<Tensor> {
        let op = name_of(to, ["scatter_add", "scatter_add_"]);
        check_coordinates(IndexRule::coordinate(op), self, dim, index)?;
        check_same_dtype(op, self, src)?;
        let values = part_of(op, src, index.shape())?;
        let positions = Positions::coordinates(op, self, dim, index)?;
        self.add_at(to, op, GATHER, &positions, &values, None)
    }

    /// Returns the choice of a kernel for [`scatter_add`](Tensor::scatter_add) now, without running it. The elements of
    /// `index` are not read.
    ///
    /// # Errors
    /// Fails as `scatter_add` does for shapes, types and devices that do not fit.
    pub fn explain_scatter_add(&self, dim: i64, index: &Tensor, src: &Tensor) -> Result<Call> {
        let op = "scatter_add";
        check_coordinates(IndexRule::coordinate(op), self, dim, index)?;
        check_same_dtype(op, self, src)?;
        check_device(op, self, src)?;
        Ok(SCATTER_ADD.explain(&ScatterCall::new(self, &part_of(op, src, index.shape())?, true)))
    }

    /// Writes a number, or the elements of a tensor, to the elements at the positions in `index` along `dim`:
    /// `torch.scatter`. Of several values for one element the last replaces it.
    ///
    /// # Errors
    /// A product cannot be recorded for the gradient.
    pub fn scatter<'a>(
        &self,
        to: WriteTo,
        dim: i64,
        index: &Tensor,
        src: impl Into<Operand<'a>>,
        reduce: ScatterReduce,
    ) -> Result<Tensor> {
        let op = name_of(to, ["scatter", "scatter_"]);
        let src = src.into();
        check_coordinates(IndexRule::coordinate(op), self, dim, index)?;
        let values = match src {
            Operand::Tensor(src) => {
                check_same_dtype(op, self, src)?;
                part_of(op, src, index.shape())?
            }
            Operand::Scalar(_) => fill_value(op, self, src)?,
        };
        let positions = Positions::coordinates(op, self, dim, index)?;
        match reduce {
            ScatterReduce::Replace => {
                let node =
                    if matches!(src, Operand::Tensor(_)) { "ScatterBackward0" } else { "ScatterBackward1" };
                self.assign_at(to, (op, node), GATHER, &positions, &values, None)
            }
            ScatterReduce::Add => {
                let sizes = signed_sizes(index.shape());
                let values = if values.ndim() == 0 { values.expand(&sizes)? } else { values };
                self.add_at(to, op, GATHER, &positions, &values, None)
            }
            ScatterReduce::Multiply => {
                let work = |target: &Tensor| positions.write(op, target, &values, reduce, Order::RowMajor);
                let node = "ScatterReduceBackward0";
                self.write_recorded(to, (op, node), &[&values], &positions, work, move |_, _, _| {
                    let hint =
                        "instead of ScatterReduce::Multiply, multiply by gathered values and scatter the products";
                    Err(Error::not_differentiable(op, hint))
                })
            }
        }
    }

    /// Returns the elements at the positions in `index` along `dim`, where `index` and the tensor are broadcast in the
    /// other dimensions; without a dimension, of the flattened tensors: `torch.take_along_dim`. With a dimension the
    /// positions are taken modulo its size.
    pub fn take_along_dim(&self, index: &Tensor, dim: Option<i64>) -> Result<Tensor> {
        let op = "take_along_dim";
        let Some(dim) = dim else {
            return self.reshape(&[-1])?.gather(0, &index.reshape(&[-1])?);
        };
        if self.ndim() != index.ndim() {
            let expected = format!("have {} dimensions, as the tensor", self.ndim());
            return Err(Error::shape(op, "indices", expected, index.shape()));
        }
        let dim = wrap_dim(op, dim, self.ndim())?;
        let Some(&size) = self.shape().get(dim) else {
            return Err(Error::needs_dimension(op, ErrorKind::Index));
        };
        let index = match index.dtype() {
            DType::Int64 if size > 0 => &index.remainder(signed(size))?,
            _ => index,
        };
        let without = |shape: &[usize]| -> Vec<usize> {
            shape.iter().enumerate().map(|(own, &size)| if own == dim { 1 } else { size }).collect()
        };
        let common = broadcast(op, &without(self.shape()), &without(index.shape()))?;
        let expanded = |tensor: &Tensor| {
            let sizes = common.iter().zip(tensor.shape()).enumerate();
            let sizes: Vec<usize> =
                sizes.map(|(own, (&size, &along))| if own == dim { along } else { size }).collect();
            tensor.expand(&signed_sizes(&sizes))
        };
        expanded(self)?.gather(signed(dim), &expanded(index)?)
    }

    /// Returns zeros with a last dimension in which the element at the position of each class is 1: `torch.one_hot`.
    /// Without a number of classes it is the largest class and one.
    pub fn one_hot(&self, classes: Option<i64>) -> Result<Tensor> {
        let op = "one_hot";
        check_dtype(op, "tensor", self, (DType::Int64, "; long() converts it"))?;
        let classes = match classes {
            Some(classes) => classes,
            None if self.numel() == 0 => {
                return Err(Error::value(op, "num_classes", "be given for a tensor without elements", -1));
            }
            None => self.max()?.item()?.cast::<i64>().saturating_add(1),
        };
        let expected = "be greater than the classes, and than 0";
        let count = usize::try_from(classes).ok().filter(|&count| count > 0);
        let count = count.ok_or_else(|| Error::value(op, "num_classes", expected, classes))?;
        let shape: Vec<usize> = self.shape().iter().copied().chain([count]).collect();
        let zeros = Tensor::zeros(&shape, (DType::Int64, self.placement()))?;
        let positions =
            Positions::coordinates_by(IndexRule::classes(op), &zeros, -1, &self.detach().unsqueeze(-1)?)?;
        let one = Tensor::full(&[], Scalar::Int(1), zeros.options())?;
        positions.write(op, &zeros, &one, ScatterReduce::Replace, Order::RowMajor)?;
        Ok(zeros)
    }
}
