//! Contractions of two operands of einsum, as a product of batches of matrices.

use super::equation::{Label, OP};
use crate::layout::signed;
use crate::{Result, Tensor};

/// An operand or an intermediate result, with the label of each dimension. A label appears once.
#[derive(Clone)]
pub(super) struct Term {
    pub tensor: Tensor,
    pub labels: Vec<Label>,
}

impl Term {
    /// Returns an operand. Dimensions with the same label become one, their diagonal.
    pub fn new(tensor: &Tensor, labels: &[Label]) -> Result<Self> {
        let mut distinct: Vec<Label> = Vec::new();
        let (mut shape, mut strides): (Vec<usize>, Vec<usize>) = Default::default();
        let dims = tensor.shape().iter().zip(tensor.strides());
        for (&label, (&size, &stride)) in labels.iter().zip(dims) {
            match distinct.iter().position(|known| *known == label) {
                Some(at) => {
                    if let (Some(known), Some(step)) = (shape.get(at), strides.get_mut(at)) {
                        debug_assert_eq!(*known, size, "sizes of a label");
                        *step += stride;
                    }
                }
                None => {
                    distinct.push(label);
                    shape.push(size);
                    strides.push(stride);
                }
            }
        }
        let is_diagonal = distinct.len() < labels.len();
        let tensor = if is_diagonal { tensor.as_strided(&shape, &strides, None)? } else { tensor.clone() };
        Ok(Term { tensor, labels: distinct })
    }

    /// Returns the size of a label; 1 for one that the term does not have.
    fn size(&self, label: Label) -> usize {
        let position = self.labels.iter().position(|own| *own == label);
        position.and_then(|at| self.tensor.shape().get(at).copied()).unwrap_or(1)
    }

    /// Sums over dimensions whose labels are not kept.
    fn reduced(self, keep: impl Fn(Label) -> bool) -> Result<Self> {
        let dims: Vec<i64> =
            (0i64..).zip(&self.labels).filter(|(_, label)| !keep(**label)).map(|(dim, _)| dim).collect();
        if dims.is_empty() {
            return Ok(self);
        }
        let labels = self.labels.iter().copied().filter(|label| keep(*label)).collect();
        Ok(Term { tensor: self.tensor.sum(Some(&dims), false)?, labels })
    }

    /// Removes dimensions of size 1 where the other term has another size: they are broadcast.
    fn without_broadcast(self, other: &Term) -> Result<Self> {
        let is_broadcast = |label: &Label| self.size(*label) == 1 && other.size(*label) != 1;
        let (mut tensor, mut labels) = (self.tensor.clone(), self.labels.clone());
        for dim in (0..self.labels.len()).rev() {
            if self.labels.get(dim).is_some_and(is_broadcast) {
                tensor = tensor.squeeze(i64::try_from(dim).ok())?;
                labels.remove(dim);
            }
        }
        Ok(Term { tensor, labels })
    }

    /// Returns the tensor with its dimensions in the order of groups of labels, each of which becomes one dimension.
    fn grouped(&self, groups: &[&[Label]]) -> Result<Tensor> {
        let sizes: Vec<i64> = groups.iter().map(|group| self.product_of_sizes(group)).collect();
        self.permuted(&groups.concat())?.reshape(&sizes)
    }

    fn product_of_sizes(&self, labels: &[Label]) -> i64 {
        let product = labels.iter().fold(1usize, |product, label| product.saturating_mul(self.size(*label)));
        signed(product)
    }

    /// Returns the tensor with its dimensions in the order of the labels.
    pub fn permuted(&self, labels: &[Label]) -> Result<Tensor> {
        let position = |label: &Label| signed(self.labels.iter().position(|own| own == label).unwrap_or(0));
        self.tensor.permute(&labels.iter().map(position).collect::<Vec<_>>())
    }

    /// Returns a single operand as the result.
    pub fn into_result(self, output: &[Label]) -> Result<Tensor> {
        self.reduced(|label| output.contains(&label))?.permuted(output)
    }
}

/// Multiplies two terms and sums over the labels that are not kept.
pub(super) fn contract(left: &Term, right: &Term, keep: &impl Fn(Label) -> bool) -> Result<Term> {
    let (a, b) = (left.clone().without_broadcast(right)?, right.clone().without_broadcast(left)?);
    let (shared_a, shared_b) = (a.labels.clone(), b.labels.clone());
    // Labels of one term only are summed before the product, which is smaller then.
    let a = a.reduced(|label| keep(label) || shared_b.contains(&label))?;
    let b = b.reduced(|label| keep(label) || shared_a.contains(&label))?;
    let shared = a.labels.iter().copied().filter(|label| b.labels.contains(label));
    let (batch, summed): (Vec<Label>, Vec<Label>) = shared.partition(|label| keep(*label));
    let only = |own: &Term, other: &Term| -> Vec<Label> {
        own.labels.iter().filter(|label| !other.labels.contains(label)).copied().collect()
    };
    let (rows, columns) = (only(&a, &b), only(&b, &a));
    let tensor = if summed.is_empty() {
        let left = a.grouped(&[&batch, &rows, &[]])?;
        left.mul(&b.grouped(&[&batch, &[], &columns])?)?
    } else {
        let left = a.grouped(&[&batch, &rows, &summed])?;
        left.matmul_in(OP, &b.grouped(&[&batch, &summed, &columns])?).map_err(|error| error.during(OP))?
    };
    let labels = [batch, rows, columns].concat();
    // A label of both has one size. A term has size 1 for a label that it lacks; the size of the other may be 0.
    let owner = |label: &Label| if a.labels.contains(label) { &a } else { &b };
    let size = |label: &Label| signed(owner(label).size(*label));
    Ok(Term { tensor: tensor.reshape(&labels.iter().map(size).collect::<Vec<_>>())?, labels })
}
