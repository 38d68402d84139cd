//! Rows of a matrix by index: `torch.nn.functional.embedding`.

use crate::layout::{signed, signed_sizes};
use crate::ops::indexing::indexed::{SELECT, spread};
use crate::ops::indexing::positions::{IndexRule, Positions};
use crate::recording::NodeBuilder;
use crate::{Error, Result, Tensor};

impl Tensor {
    /// Returns the rows of this matrix at the positions in `index`, which may have any shape:
    /// `torch.nn.functional.embedding`. The row `padding` gets no gradient.
    pub fn embedding(&self, index: &Tensor, padding: Option<i64>) -> Result<Tensor> {
        let op = "embedding";
        let &[rows, _] = self.shape() else {
            return Err(Error::shape(op, "weight", "have two dimensions", self.shape()));
        };
        let count = signed(rows);
        let skipped =
            padding.map(|padding| if padding < 0 { padding.saturating_add(count) } else { padding });
        if let (Some(row), Some(given)) = (skipped, padding)
            && !(0..count).contains(&row)
        {
            let expected = format!("be from -{rows} to {}", count.saturating_sub(1));
            return Err(Error::value(op, "padding_idx", expected, given));
        }
        let positions = Positions::along(IndexRule::embedding(None), self, 0, index)?;
        let out = positions.read(op, self)?;
        if let Some(builder) = NodeBuilder::new("EmbeddingBackward0", &[self])? {
            let before = signed_sizes(self.shape());
            builder.set_history_saving(index, &out, move |index, gradient| {
                let rule = IndexRule::embedding(skipped);
                let source = Tensor::zeros(&[], gradient.options())?.expand(&before)?;
                spread(SELECT, &Positions::along(rule, &source, 0, index)?, gradient, op)
            })?;
        }
        Ok(out)
    }
}
