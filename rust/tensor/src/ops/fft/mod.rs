//! Discrete Fourier transforms. A complex number is two elements of the last dimension: there is no complex dtype.

pub(crate) mod kernels;
mod mkl;
mod plan;
mod transform;

use interlock::dispatch::Call;
use rustfft::FftDirection;

use self::kernels::{FFT, FftArgs, FftCall, Job};
use self::transform::{Transform, half};
use crate::error::Tuple;
use crate::layout::{distinct_dims, signed, wrap_dim};
use crate::recording::NodeBuilder;
use crate::{DType, Error, ErrorKind, Result, Tensor};

/// Which transform is scaled, so that a transform and its inverse return the signal.
///
/// ```
/// use interlock_tensor::FftNorm;
///
/// assert_eq!(FftNorm::default(), FftNorm::Backward);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FftNorm {
    /// The inverse is divided by the number of points.
    #[default]
    Backward,
    /// Both are divided by the root of the number of points.
    Ortho,
    /// The forward transform is divided by the number of points.
    Forward,
}

impl FftNorm {
    fn factor(self, direction: FftDirection, points: usize) -> f64 {
        let points = points as f64;
        match (self, direction) {
            (FftNorm::Ortho, _) => points.sqrt().recip(),
            (FftNorm::Forward, FftDirection::Forward) | (FftNorm::Backward, FftDirection::Inverse) => {
                points.recip()
            }
            _ => 1.0,
        }
    }
}

/// A function of `torch.fft`. Complex signals, and spectra, have pairs in a last dimension of 2.
///
/// ```
/// use interlock_tensor::{FftFunction, FftOptions};
///
/// assert_eq!(FftOptions::new(FftFunction::Fft2).dims, Some(&[-2, -1][..]));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FftFunction {
    /// The spectra of complex signals along one dimension.
    Fft,
    /// The inverse of `Fft`.
    Ifft,
    /// The frequencies from 0 to half the number of points of real signals along one dimension.
    Rfft,
    /// The inverse of `Rfft`.
    Irfft,
    /// The spectra of complex signals along two dimensions.
    Fft2,
    /// The inverse of `Fft2`.
    Ifft2,
    /// The spectra of complex signals along all dimensions, or those that are given.
    Fftn,
    /// The inverse of `Fftn`.
    Ifftn,
}

impl FftFunction {
    /// Returns whether it has sizes along several dimensions, which may be -1 for the size that there is.
    fn has_sizes(self) -> bool {
        matches!(self, FftFunction::Fft2 | FftFunction::Ifft2 | FftFunction::Fftn | FftFunction::Ifftn)
    }
}

/// What a Fourier transform computes: a function of `torch.fft` with its arguments.
///
/// ```
/// use interlock_tensor::{FftFunction, FftNorm, FftOptions, Tensor};
///
/// let impulse = Tensor::from_slice(&[1.0f64, 0.0, 0.0, 0.0], &[4])?;
/// let spectrum = impulse.fft(&FftOptions { norm: FftNorm::Ortho, ..FftOptions::new(FftFunction::Rfft) })?;
/// assert_eq!(spectrum.to_vec::<f64>()?, [0.5, 0.0, 0.5, 0.0, 0.5, 0.0]);
/// # Ok::<(), interlock_tensor::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FftOptions<'a> {
    /// The function.
    pub function: FftFunction,
    /// The numbers of points along the dimensions; the signals are cut, or followed by zeros. By default the sizes of the
    /// dimensions; for `Irfft` twice the size without the first frequency.
    pub sizes: Option<&'a [i64]>,
    /// The dimensions; the last one, of the real and imaginary parts, is not counted. By default, sizes are of the last ones.
    pub dims: Option<&'a [i64]>,
    /// The factor of the result.
    pub norm: FftNorm,
}

impl FftOptions<'_> {
    /// Returns the defaults of a function.
    pub const fn new(function: FftFunction) -> Self {
        let dims: Option<&[i64]> = match function {
            FftFunction::Fftn | FftFunction::Ifftn => None,
            FftFunction::Fft2 | FftFunction::Ifft2 => Some(&[-2, -1]),
            _ => Some(&[-1]),
        };
        FftOptions { function, sizes: None, dims, norm: FftNorm::Backward }
    }

    /// Returns the name of the function, and what it computes.
    fn named(&self) -> (&'static str, Transform) {
        let (forward, inverse) =
            (Transform::Complex(FftDirection::Forward), Transform::Complex(FftDirection::Inverse));
        match self.function {
            FftFunction::Fft => ("fft", forward),
            FftFunction::Ifft => ("ifft", inverse),
            FftFunction::Rfft => ("rfft", Transform::RealToHalf { mirrored: 1.0 }),
            FftFunction::Irfft => ("irfft", Transform::HalfToReal { mirrored: 1.0 }),
            FftFunction::Fft2 => ("fft2", forward),
            FftFunction::Ifft2 => ("ifft2", inverse),
            FftFunction::Fftn => ("fftn", forward),
            FftFunction::Ifftn => ("ifftn", inverse),
        }
    }

    /// Returns the dimensions of a transform of an operand of this shape, with `ndim` dimensions without the real and imaginary
    /// parts.
    fn dims(&self, op: &'static str, shape: &[usize], ndim: usize) -> Result<Vec<usize>> {
        let count = self.sizes.map(<[i64]>::len);
        let Some(given) = self.dims else {
            let count = count.unwrap_or(ndim);
            let first = ndim.checked_sub(count).ok_or_else(|| {
                Error::value(op, "s", format!("have no more sizes than there are dimensions, {ndim}"), count)
            })?;
            return Ok((first..ndim).collect());
        };
        if let Some(count) = count.filter(|&count| count != given.len()) {
            let expected = format!("have a size for each of {} dimensions", given.len());
            return Err(Error::value(op, "s", expected, count));
        }
        if given.len() > ndim && self.dims == FftOptions::new(self.function).dims {
            let wanted = "input must have two dimensions before the one of the real and imaginary parts";
            return Err(Error::new(ErrorKind::Index, op, format!("{wanted}, got shape {}", Tuple(shape))));
        }
        distinct_dims(op, "dim", given, ndim)?;
        given.iter().map(|&dim| wrap_dim(op, dim, ndim)).collect()
    }
}

/// A transform, and the operand with the requested number of points.
struct Prepared {
    input: Tensor,
    job: Job,
}

impl Tensor {
    /// Returns a discrete Fourier transform: `torch.fft`, with complex numbers in a last dimension of 2. Integers are
    /// converted to `float32`. Transforms are computed in `float64`.
    ///
    /// # Errors
    /// Fails for a complex operand without a last dimension of 2, for dimensions that the operand does not have or that are
    /// repeated, and for sizes below 1.
    pub fn fft(&self, options: &FftOptions<'_>) -> Result<Tensor> {
        let Prepared { input, job } = self.prepare_fft(options)?;
        let out = transform(&input, job)?;
        if self.dtype().is_half() { out.cast(self.dtype()) } else { Ok(out) }
    }

    /// Returns the choice of a kernel for `self.fft(options)` now, without running it.
    ///
    /// # Errors
    /// Fails as [`fft`](Tensor::fft).
    ///
    /// ```
    /// use interlock_tensor::{DType, FftFunction, FftOptions, Tensor};
    ///
    /// let call = Tensor::ones(&[3, 8], DType::Float32)?.explain_fft(&FftOptions::new(FftFunction::Rfft))?;
    /// assert!(matches!(call.kernel(), Some("mkl" | "native")));
    /// assert!(call.to_string().starts_with("fft cpu float32 r2c 8, batch 3 -> "));
    /// # Ok::<(), interlock_tensor::Error>(())
    /// ```
    pub fn explain_fft(&self, options: &FftOptions<'_>) -> Result<Call> {
        let Prepared { input, job } = self.prepare_fft(options)?;
        Ok(FFT.explain(&FftCall::new(&input, &job)))
    }

    fn prepare_fft(&self, options: &FftOptions<'_>) -> Result<Prepared> {
        let (op, transform) = options.named();
        let dtype = if self.dtype() == DType::Float64 { DType::Float64 } else { DType::Float32 };
        let mut input = self.cast(dtype)?;
        let (reads_pairs, _) = transform.has_pairs();
        let ndim = match self.shape() {
            [_, .., 2] if reads_pairs => self.ndim() - 1,
            [_, ..] if !reads_pairs => self.ndim(),
            shape => {
                let expected = if reads_pairs {
                    "have a last dimension of 2 after others, the real and imaginary parts: there is no complex dtype"
                } else {
                    "have a dimension"
                };
                return Err(Error::shape(op, "input", expected, shape));
            }
        };
        let dims = options.dims(op, self.shape(), ndim)?;
        let mut points_of = Vec::with_capacity(dims.len());
        for (number, &dim) in dims.iter().enumerate() {
            let size = self.shape().get(dim).copied().unwrap_or(1);
            let given = options.sizes.and_then(|sizes| sizes.get(number).copied());
            let given = given.filter(|&size| size != -1 || !options.function.has_sizes());
            let points = match (given, transform) {
                (Some(points), _) => usize::try_from(points).unwrap_or(0),
                (None, Transform::HalfToReal { .. }) => 2 * size.saturating_sub(1),
                (None, _) => size,
            };
            if points == 0 {
                let has_sizes = options.function.has_sizes();
                return Err(match given {
                    Some(size) if has_sizes => {
                        Error::value(op, "s", "contain numbers of at least 1, or -1", size)
                    }
                    Some(size) => Error::value(op, "n", "be at least 1", size),
                    None => {
                        let least = if let Transform::HalfToReal { .. } = transform { 2 } else { 1 };
                        let argument = if has_sizes { "s" } else { "n" };
                        let expected = format!(
                            "have a size of at least {least} in dim {dim}, unless {argument} is passed"
                        );
                        let shape = format!("shape {}", Tuple(self.shape()));
                        Error::value(op, "input", expected, shape)
                    }
                });
            }
            let wanted = if let Transform::HalfToReal { .. } = transform { half(points) } else { points };
            input = resized(&input, dim, wanted)?;
            points_of.push((dim, points));
        }
        let sizes = input.shape().iter().take(ndim).enumerate();
        let batch = sizes.filter(|(dim, _)| !dims.contains(dim)).map(|(_, size)| size).product();
        let points = points_of.iter().map(|&(_, points)| points).product();
        let scale = options.norm.factor(transform.direction(), points);
        Ok(Prepared { input, job: Job { op, transform, dims: points_of, batch, scale } })
    }
}

/// Returns the tensor with `size` indices of a dimension: cut, or followed by zeros.
fn resized(tensor: &Tensor, dim: usize, size: usize) -> Result<Tensor> {
    let now = tensor.shape().get(dim).copied().unwrap_or(1);
    if now >= size {
        return if now == size { Ok(tensor.clone()) } else { tensor.narrow(signed(dim), 0, signed(size)) };
    }
    let mut pad = vec![0; 2 * (tensor.ndim() - dim)];
    if let Some(after) = pad.last_mut() {
        *after = signed(size - now);
    }
    tensor.pad(&pad, 0.0.into())
}

/// Runs a transform and records it.
fn transform(input: &Tensor, job: Job) -> Result<Tensor> {
    let out = FFT.call(&FftCall::new(input, &job), None, &FftArgs { input, job: &job })?;
    let (node, adjoint) = (job.transform.node(), Job { transform: job.transform.adjoint(), ..job });
    NodeBuilder::record_linear(node, input, out, move |gradient| transform(gradient, adjoint.clone()))
}
