//! Products of vectors, and products that are added to a tensor.

use super::matrices::err_shapes;
use crate::{Result, Scalar, Tensor};

impl Tensor {
    /// Returns the sum of the products of the elements of two vectors.
    pub fn dot(&self, other: &Tensor) -> Result<Tensor> {
        let op = "dot";
        if self.ndim() != 1 || other.ndim() != 1 || self.shape() != other.shape() {
            return Err(err_shapes(op, "operands must be vectors of one size", self, other));
        }
        self.matmul(other).map_err(|error| error.during(op))
    }

    /// Returns the product of a matrix and a vector.
    pub fn mv(&self, vector: &Tensor) -> Result<Tensor> {
        let op = "mv";
        if self.ndim() != 2 || vector.ndim() != 1 {
            return Err(err_shapes(op, "operands must be a matrix and a vector", self, vector));
        }
        self.matmul(vector).map_err(|error| error.during(op))
    }

    /// Returns the products of each element of a vector with each element of another. As in PyTorch this is an
    /// elementwise product: types are promoted, and precision flags do not affect it.
    pub fn outer(&self, other: &Tensor) -> Result<Tensor> {
        if self.ndim() != 1 || other.ndim() != 1 {
            return Err(err_shapes("outer", "operands must be vectors", self, other));
        }
        self.unsqueeze(1)?.mul(other)
    }

    /// Returns `beta * self + alpha * (matrix @ vector)`; this tensor is broadcast to the product. If `beta` is 0, the
    /// elements of this tensor are ignored, and those of the product if `alpha` is 0.
    pub fn addmv(&self, matrix: &Tensor, vector: &Tensor, beta: Scalar, alpha: Scalar) -> Result<Tensor> {
        let op = "addmv";
        if matrix.ndim() != 2 || vector.ndim() != 1 {
            return Err(err_shapes(op, "mat must be a matrix and vec a vector", matrix, vector));
        }
        self.add_product((op, "AddmvBackward0"), matrix, vector, beta, alpha)
    }

    /// Returns `beta * self + alpha * (left @ right)` for batches of matrices, like [`addmv`](Tensor::addmv).
    pub fn baddbmm(&self, left: &Tensor, right: &Tensor, beta: Scalar, alpha: Scalar) -> Result<Tensor> {
        let op = "baddbmm";
        if left.ndim() != 3 || right.ndim() != 3 || left.shape().first() != right.shape().first() {
            let problem = "batch1 and batch2 must have 3 dimensions, with equal first sizes";
            return Err(err_shapes(op, problem, left, right));
        }
        self.add_product((op, "BaddbmmBackward0"), left, right, beta, alpha)
    }
}
