//! Changes of the size of a tensor in place.

use crate::error::{Tuple, warn};
use crate::iterate::copy_into;
use crate::layout::{Layout, checked_numel};
use crate::ops::creation::empty::{is_filled, marker};
use crate::ops::elementwise::operand::Operand;
use crate::recording::check_inplace;
use crate::storage::fallible_alloc::check_memory;
use crate::{Error, Result, Tensor};

impl Tensor {
    /// Changes the shape in place, and the strides to those of a contiguous tensor. The offset in the storage remains.
    /// Nothing changes if the tensor has the shape already.
    ///
    /// The storage is used up to its end before it grows. What it contains remains; new elements are not initialized,
    /// and are filled like those of [`empty`](Tensor::empty). Views of the storage keep their shapes. The memory from
    /// before the storage grew is released when the last tensor of the storage is dropped.
    ///
    /// # Errors
    /// Fails without effect for a tensor that requires grad, in every mode, if the storage would have to grow and
    /// another library shares its memory, and like every in-place operation.
    ///
    /// ```
    /// use interlock_tensor::Tensor;
    ///
    /// let x = Tensor::from_slice(&[1i64, 2, 3, 4], &[2, 2])?;
    /// x.resize_(&[3])?;
    /// assert_eq!(x.to_vec::<i64>()?, [1, 2, 3]);
    /// # Ok::<(), interlock_tensor::Error>(())
    /// ```
    pub fn resize_(&self, shape: &[usize]) -> Result<&Tensor> {
        self.resize("resize_", shape, false)
    }

    /// Changes the shape in place like [`resize_`](Tensor::resize_), and also the strides of a tensor that has the shape
    /// already.
    ///
    /// # Errors
    /// Fails like [`resize_`](Tensor::resize_).
    pub fn resize_contiguous_(&self, shape: &[usize]) -> Result<&Tensor> {
        self.resize("resize_", shape, true)
    }

    /// Changes the shape in place to the shape of another tensor, as [`resize_`](Tensor::resize_) does. With `to_contiguous`
    /// the strides of a tensor that has the shape already change, too, as by
    /// [`resize_contiguous_`](Tensor::resize_contiguous_).
    ///
    /// # Errors
    /// Fails like [`resize_`](Tensor::resize_).
    pub fn resize_as_(&self, template: &Tensor, to_contiguous: bool) -> Result<&Tensor> {
        self.resize("resize_as_", template.shape(), to_contiguous)
    }

    fn resize(&self, op: &'static str, shape: &[usize], to_contiguous: bool) -> Result<&Tensor> {
        if self.requires_grad() {
            let expected =
                "not require grad, because a change of its size has no gradient; detach() it first";
            return Err(Error::value(op, "the tensor", expected, "one that requires grad"));
        }
        check_inplace(op, self, &[])?;
        if self.shape() == shape && (self.is_contiguous() || !to_contiguous) {
            return Ok(self);
        }
        let before = self.storage_handle().nbytes();
        let layout = Layout { offset: self.storage_offset(), ..Layout::contiguous(shape) };
        self.grow_storage(op, &layout)?;
        if is_filled() {
            self.fill_storage_from(op, before)?;
        }
        self.set_layout(layout);
        self.bump_version();
        Ok(self)
    }

    /// Makes the storage large enough for a layout.
    fn grow_storage(&self, op: &'static str, layout: &Layout) -> Result<()> {
        check_memory()?;
        let size = self.dtype().size();
        checked_numel(op, &layout.shape, size)?;
        let needed = layout.required_len().and_then(|count| count.checked_mul(size));
        let needed = needed.ok_or_else(|| Error::too_large(op, &layout.shape))?;
        self.storage_handle().grow(op, needed)
    }

    /// Fills the elements of the storage from a byte on as [`empty`](Tensor::empty) does. Does not increment the version.
    fn fill_storage_from(&self, op: &'static str, byte: usize) -> Result<()> {
        let (size, end) = (self.dtype().size(), self.storage_handle().nbytes());
        let offset = byte.div_ceil(size);
        let shape = vec![(end / size).saturating_sub(offset)];
        let added = self.alias(Layout { shape, strides: vec![1], offset });
        if added.numel() == 0 {
            return Ok(());
        }
        copy_into(op, &added, &Operand::Scalar(marker(self.dtype())).tensor(self.dtype())?)
    }

    /// Makes the storage large enough for a result of this shape, which is written later. Nothing else changes.
    ///
    /// # Errors
    /// Fails like [`resize_`](Tensor::resize_) if the storage cannot grow.
    pub fn reserve_for_result(&self, op: &'static str, shape: &[usize]) -> Result<()> {
        if self.shape() == shape {
            return Ok(());
        }
        self.grow_storage(op, &Layout { offset: self.storage_offset(), ..Layout::contiguous(shape) })
    }

    /// Changes the shape and the strides to those of the result of an operation on `inputs`, which is written to it next.
    /// With `warns`, warns if the tensor has elements.
    ///
    /// # Errors
    /// Fails without effect if the tensor is an input, or if its storage cannot grow.
    pub(crate) fn resize_for_result(
        &self,
        op: &'static str,
        inputs: &[&Tensor],
        result: &Tensor,
        warns: bool,
    ) -> Result<()> {
        let before = self.layout();
        if inputs.iter().any(|input| input.is(self)) {
            let expected = format!("be of shape {}, because it is also an input", Tuple(result.shape()));
            return Err(Error::shape(op, "out", expected, &before.shape));
        }
        let layout = Layout { offset: before.offset, ..result.layout().preserve_format() };
        self.grow_storage(op, &layout)?;
        if warns && before.numel() > 0 {
            warn(&format!(
                "{op}: out had the shape {} and was resized to {}, that of the result. This is deprecated: pass a \
                 tensor of this shape, or one that resize_(0) has emptied",
                Tuple(&before.shape),
                Tuple(&layout.shape),
            ));
        }
        self.set_layout(layout);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::ops::convolution::ConvOptions;
    use crate::ops::indexing::indexed::WriteTo;
    use crate::ops::nn::nll_loss::ClassLossOptions;
    use crate::testing::{assert_close, doubles};
    use crate::{DType, Generator};

    #[test]
    fn a_tensor_that_alternates_between_sizes_reuses_its_layouts() {
        let x = doubles(&[0.0; 4], &[4]);
        x.resize_(&[2]).unwrap();
        let (large, small) = (x.layout(), {
            x.resize_(&[4]).unwrap();
            x.resize_(&[3]).unwrap();
            x.layout()
        });
        for _ in 0..1000 {
            x.resize_(&[2]).unwrap();
            assert!(std::ptr::eq(x.layout(), large));
            x.resize_(&[3]).unwrap();
            assert!(std::ptr::eq(x.layout(), small));
        }
    }

    #[test]
    fn a_storage_that_grows_often_moves_seldom() {
        let x = doubles(&[1.0], &[1]);
        let mut moves = 0;
        for size in 2..=1000 {
            let before = x.data_ptr();
            x.resize_(&[size]).unwrap();
            assert_eq!(x.storage().nbytes(), size * 8);
            moves += usize::from(x.data_ptr() != before);
        }
        assert!(moves < 12, "{moves}");
        let expected: Vec<f64> = std::iter::once(1.0).chain(std::iter::repeat(0.0)).take(1000).collect();
        assert_close(&x, &expected);
    }

    #[test]
    fn threads_resize_a_tensor_that_others_use() {
        let x = doubles(&[1.0; 8], &[8]);
        let done = AtomicBool::new(false);
        std::thread::scope(|threads| {
            let resizing: Vec<_> = (0..2)
                .map(|thread| {
                    let x = &x;
                    threads.spawn(move || {
                        for step in 0..400 {
                            let rows = 1 + (step + thread) % 9;
                            x.resize_(&[rows, 1 + step / 40]).unwrap();
                        }
                    })
                })
                .collect();
            for _ in 0..2 {
                threads.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        let alias = x.detach();
                        assert_eq!(alias.to_vec::<f64>().unwrap().len(), alias.numel());
                        // The shape may change between its two reads in one operation, which is an error.
                        let _ = x.add(&x);
                        let _ = x.add_(0.0);
                        let _ = x.zero_();
                        let _ = x.copy();
                        let _ = x.matmul(&x);
                        let _ = x.sum(None, false).unwrap();
                        let _ = x.to_vec::<f64>();
                    }
                });
            }
            resizing.into_iter().for_each(|thread| thread.join().unwrap());
            done.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn kernels_stay_within_a_tensor_that_another_thread_resizes() {
        type Operation<'a> = &'a (dyn Fn() -> Result<Tensor> + Sync);
        let (x, weight) = (doubles(&[0.5; 4096], &[64, 64]), doubles(&[0.5; 4], &[1, 1, 2, 2]));
        let index = Tensor::from_slice(&[0i64, 1, 1, 0], &[2, 2]).unwrap();
        let classes = Tensor::from_slice(&[0i64, 1], &[2]).unwrap();
        let (loss, conv) = (ClassLossOptions::default(), ConvOptions::default());
        let generator = Generator::new();
        let last = Tensor::from_slice(&[4095i64], &[1]).unwrap();
        let copies: [Operation<'_>; 5] = [
            &|| x.flip(&[0]),
            &|| x.index_select(0, &classes),
            &|| x.index_select(0, &last),
            &|| x.gather(1, &index),
            &|| x.take(&last),
        ];
        let operations: [Operation<'_>; 13] = [
            &|| x.scatter_add(WriteTo::Copy, 0, &index, &x),
            &|| x.layer_norm(&[64], None, None, 1e-5),
            &|| x.layer_norm(&[64], Some(&x.reshape(&[-1])?), None, 1e-5),
            &|| x.softmax(1),
            &|| x.softmax(0),
            &|| x.cumsum(0),
            &|| x.cumprod(1),
            &|| x.sort(0, false).map(|sorted| sorted.0),
            &|| generator.multinomial(&x, 2, true),
            &|| generator.bernoulli(&x),
            &|| x.matmul(&x),
            &|| x.nll_loss(&classes, &loss),
            &|| x.unsqueeze(0)?.conv2d(&weight, &conv),
        ];
        let (done, mut others) = (AtomicBool::new(false), Vec::new());
        std::thread::scope(|threads| {
            threads.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    for shape in [&[64, 64][..], &[2, 64], &[64, 2], &[4096], &[2, 3], &[1, 2, 3, 4], &[0]] {
                        x.resize_(shape).unwrap();
                    }
                }
            });
            for _ in 0..40 {
                // A result, or an error: shapes do not fit, or an operand was resized.
                operations.iter().for_each(|operation| drop(operation()));
                for copy in copies.iter().filter_map(|operation| operation().ok()) {
                    others.extend(copy.to_vec::<f64>().unwrap().into_iter().filter(|&value| value != 0.5));
                }
            }
            // Before an assertion, whose failure would wait for the other thread.
            done.store(true, Ordering::Relaxed);
        });
        assert_eq!(others, [0.0; 0]);
    }

    #[test]
    fn a_write_is_not_lost_while_the_storage_grows() {
        for _ in 0..20 {
            let x = Tensor::zeros(&[64], DType::Int64).unwrap();
            let part = x.slice(0, None, None, 1).unwrap();
            std::thread::scope(|threads| {
                threads.spawn(|| {
                    for _ in 0..200 {
                        part.add_(1i64).unwrap();
                    }
                });
                for size in 65..120 {
                    x.resize_(&[size]).unwrap();
                }
            });
            assert_eq!(part.to_vec::<i64>().unwrap(), [200; 64]);
        }
    }
}
