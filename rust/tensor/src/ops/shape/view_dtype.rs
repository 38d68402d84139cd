//! Views of the same bytes as another element type.

use crate::layout::Layout;
use crate::{DType, Error, Result, Tensor};

impl Tensor {
    /// Returns a tensor of another element type over the same bytes: `torch.Tensor.view(dtype)`. If the elements have
    /// another size, the last dimension becomes shorter or longer. The result has no history and is not a view for
    /// autograd, but shares the version counter.
    pub fn view_dtype(&self, dtype: DType) -> Result<Tensor> {
        let (own, wanted) = (self.dtype().size(), dtype.size());
        let mut layout = self.layout().clone();
        if wanted < own {
            self.check_last_dim(dtype)?;
            self.shrink_elements(&mut layout, dtype, own / wanted)?;
        } else if wanted > own {
            self.enlarge_elements(&mut layout, dtype, wanted / own)?;
        }
        if !self.storage_handle().pointer().addr().is_multiple_of(wanted) {
            let expected = format!("be in memory that is aligned for {dtype}");
            return Err(Error::value("view", "input", expected, "memory of another library that is not"));
        }
        Ok(self.alias_as(dtype, layout))
    }

    /// Returns an error unless there is a last dimension whose elements are next to each other.
    fn check_last_dim(&self, dtype: DType) -> Result<()> {
        match self.strides().last() {
            Some(1) => Ok(()),
            Some(stride) => {
                let expected = format!("be 1 to view {} as {dtype}, of another size", self.dtype());
                Err(Error::value("view", "stride(-1)", expected, stride))
            }
            None => {
                let expected = format!(
                    "have a dimension to be viewed as {dtype}, of another size than {}",
                    self.dtype()
                );
                Err(Error::shape("view", "input", expected, self.shape()))
            }
        }
    }

    /// Changes the layout to elements of which `ratio` fit in each of those that there are.
    fn shrink_elements(&self, layout: &mut Layout, dtype: DType, ratio: usize) -> Result<()> {
        let most = isize::MAX.unsigned_abs() / ratio;
        let times = |argument: &'static str, number: &mut usize| {
            if *number > most {
                let expected = format!("be at most {most} to view {} as {dtype}", self.dtype());
                return Err(Error::value("view", argument, expected, *number));
            }
            *number *= ratio;
            Ok(())
        };
        layout.shape.last_mut().map_or(Ok(()), |last| times("size(-1)", last))?;
        times("storage_offset()", &mut layout.offset)?;
        let outer = layout.strides.len().saturating_sub(1);
        let mut strides = layout.strides.iter_mut().take(outer);
        strides.try_for_each(|stride| times("each stride but the last", stride))
    }

    /// Changes the layout to elements that are `ratio` times as large.
    fn enlarge_elements(&self, layout: &mut Layout, dtype: DType, ratio: usize) -> Result<()> {
        let err = |argument: &'static str, given: String| {
            let expected = format!("be a multiple of {ratio} to view {} as {dtype}", self.dtype());
            Err(Error::value("view", argument, expected, given))
        };
        match layout.shape.last() {
            Some(&last) if !last.is_multiple_of(ratio) => return err("size(-1)", last.to_string()),
            _ if !layout.offset.is_multiple_of(ratio) => {
                return err("storage_offset()", layout.offset.to_string());
            }
            _ => self.check_last_dim(dtype)?,
        }
        let outer = layout.strides.len().saturating_sub(1);
        for stride in layout.strides.iter_mut().take(outer) {
            if !stride.is_multiple_of(ratio) {
                return err("each stride but the last", stride.to_string());
            }
            *stride /= ratio;
        }
        layout.shape.last_mut().into_iter().for_each(|last| *last /= ratio);
        layout.offset /= ratio;
        Ok(())
    }
}
