//! `set_float32_matmul_precision`, an older setting that writes two nodes of the precision tree.

use super::precision::{self, Node, Precision};
use super::write::{SlotWrite, commit};
use super::{InputValue, SourceLocation};
use crate::base::quote::one_of;
use crate::named_enum;
use crate::{Error, Result};

named_enum! {
    /// The older, coarser name for the precision of float32 matrix products.
    ///
    /// ```
    /// use interlock_core::flags::{MatmulPrecision, Node, Precision};
    ///
    /// MatmulPrecision::High.set(None)?;
    /// assert_eq!(Node::CudaMatmul.get(), Precision::Tf32);
    /// assert_eq!(MatmulPrecision::get(), MatmulPrecision::High);
    /// # Ok::<(), interlock_core::Error>(())
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum MatmulPrecision {
        /// IEEE on every backend.
        Highest => "highest",
        /// TensorFloat-32 on backends that support it.
        High => "high",
        /// TensorFloat-32 on cuda, bfloat16 on oneDNN.
        Medium => "medium",
    }
}

impl MatmulPrecision {
    /// Parses a precision.
    pub fn of(given: &InputValue) -> Result<Self> {
        let (name, allowed) =
            ("set_float32_matmul_precision: precision".to_owned(), one_of(&Self::ALL.map(Self::name)));
        match given {
            InputValue::Text(text) => {
                text.parse().map_err(|_| Error::FlagValue { name, given: given.to_string(), allowed })
            }
            _ => Err(Error::FlagType { name, given: given.to_string(), allowed }),
        }
    }

    /// Returns the lower of the precisions of the two matmul nodes.
    pub fn get() -> Self {
        let word = precision::word();
        let read = [Node::CudaMatmul, Node::MkldnnMatmul].map(|node| node.resolved_in(word).0);
        if read.contains(&Precision::Bf16) {
            MatmulPrecision::Medium
        } else if read.contains(&Precision::Tf32) {
            MatmulPrecision::High
        } else {
            MatmulPrecision::Highest
        }
    }

    /// Assigns the precision to both matmul nodes.
    pub fn set(self, site: Option<SourceLocation>) -> Result<()> {
        let (cuda, mkldnn) = match self {
            MatmulPrecision::Highest => (Precision::Ieee, Precision::Ieee),
            MatmulPrecision::High => (Precision::Tf32, Precision::Tf32),
            MatmulPrecision::Medium => (Precision::Tf32, Precision::Bf16),
        };
        let write = |node: Node, precision| (node.name(), node.slot(), SlotWrite::Set(precision as u64));
        commit(&[write(Node::CudaMatmul, cuda), write(Node::MkldnnMatmul, mkldnn)], site)
    }
}
