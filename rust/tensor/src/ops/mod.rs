//! The operations, each with its gradient beside it.

mod binary;
mod cast;
mod compare;
mod creation;
mod display;
mod elements;
mod index;
mod inplace;
mod join;
mod loss;
mod matmul;
mod operand;
mod power;
mod random;
mod reduce;
mod rows;
mod select;
mod shared_rows;
mod strided;
mod transfer;
mod unary;
mod view;

pub(crate) use cast::copy_with_layout;
pub use index::Index;
pub(crate) use inplace::add_unrecorded;
pub use join::{cat, stack};
pub use loss::Reduction;
pub use operand::Operand;
pub use random::manual_seed;
pub(crate) use reduce::sum_to;
pub(crate) use strided::{as_strided, as_strided_node};
pub(crate) use transfer::at;
