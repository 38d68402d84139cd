//! Fourier transforms.

use interlock_tensor::{FftFunction, FftNorm, FftOptions, Result, Tensor as CoreTensor};

use crate::tensor::operation::{Choice, Ints, tensor_op};

/// Declares transforms along one dimension. A row has the name, the function and the example for tests.
macro_rules! along_one {
    ($($(#[$doc:meta])* $name:ident $function:ident $example:literal;)+) => {
        $($(#[$doc])*
        ///
        /// Raises:
        ///     ArgumentError: `n` is below 1, or `norm` has another value.
        #[tensor_op(
            function,
            long,
            out(exact),
            namespace = "fft",
            explain = along_one(FftFunction::$function, n, dim, norm, |options| input.explain_fft(options)),
            example = $example
        )]
        fn $name(
            input: &CoreTensor,
            n: Option<i64>,
            #[default(-1)] dim: i64,
            norm: Option<FftNorm>,
        ) -> Result<CoreTensor> {
            along_one(FftFunction::$function, n, dim, norm, |options| input.fft(options))
        })+
    };
}

along_one! {
    /// Return the discrete Fourier transforms of complex signals along a dimension.
    ///
    /// A complex number is two elements of the last dimension, because interlock has no complex dtype; `dim` does not count it.
    /// Transforms are computed in float64. A signal whose number of points has a prime factor above 7 takes about four times as
    /// long; its transform is from Bluestein, "A linear filtering approach to the computation of the discrete Fourier transform"
    /// (1970), others are from Cooley and Tukey, "An algorithm for the machine calculation of complex Fourier series" (1965).
    ///
    /// Args:
    ///     {complex}
    ///     n: The number of points, at least 1. Signals are cut, or followed by zeros. By default the size of `dim`.
    ///     dim: The dimension of the signals.
    ///     {fft_norm}
    ///
    /// Returns:
    ///     A tensor of the shape of `input` with `n` frequencies along `dim`.
    ///
    /// Example:
    ///     >>> fft.fft(interlock.tensor([[1.0, 0.0], [0.0, 0.0]]))
    ///     tensor([[1., 0.],
    ///             [1., 0.]])
    fft Fft "x[:, :2]; x[:, :2], 4, 0, 'ortho'; x[:, :2], 1";

    /// Return the inverses of `fft` along a dimension.
    ///
    /// Args:
    ///     {complex}
    ///     n: The number of points, at least 1. Signals are cut, or followed by zeros. By default the size of `dim`.
    ///     dim: The dimension of the frequencies, without the last one of `input`.
    ///     {ifft_norm}
    ///
    /// Returns:
    ///     A tensor of the shape of `input` with `n` points along `dim`.
    ///
    /// Example:
    ///     >>> fft.ifft(interlock.tensor([[1.0, 0.0], [1.0, 0.0]]))
    ///     tensor([[1., 0.],
    ///             [0., 0.]])
    ifft Ifft "x[:, :2]; x[:, :2], 3, -1, 'forward'";

    /// Return the discrete Fourier transforms of real signals along a dimension.
    ///
    /// The other half of each spectrum is the conjugate of what is returned.
    ///
    /// Args:
    ///     {real}
    ///     n: The number of points, at least 1. Signals are cut, or followed by zeros. By default the size of `dim`.
    ///     dim: The dimension of the signals.
    ///     {fft_norm}
    ///
    /// Returns:
    ///     A tensor with the frequencies from 0 to `n // 2` along `dim`, and a last dimension for the real and imaginary parts.
    ///
    /// Example:
    ///     >>> fft.rfft(interlock.tensor([1.0, 2.0, 3.0]))
    ///     tensor([[ 6.0000,  0.0000],
    ///             [-1.5000,  0.8660]])
    rfft Rfft "x; x, 4, 0, 'forward'; x, 2";

    /// Return the real signals of half spectra along a dimension, the inverses of `rfft`.
    ///
    /// The imaginary parts of the frequencies 0 and `n / 2` are ignored: those of real signals are 0.
    ///
    /// Args:
    ///     {complex}
    ///     n: The number of points of the signals, at least 1. `n // 2 + 1` frequencies are used; further ones are zeros. By
    ///         default twice the size of `dim`, minus 2.
    ///     dim: The dimension of the frequencies, without the last one of `input`.
    ///     {ifft_norm}
    ///
    /// Returns:
    ///     A tensor of the shape of `input` without its last dimension, and with `n` points along `dim`.
    ///
    /// Example:
    ///     >>> fft.irfft(fft.rfft(interlock.tensor([1.0, 2.0, 3.0])), 3)
    ///     tensor([1., 2., 3.])
    irfft Irfft "x[:, :2]; x[:, :2], 5, 0, 'ortho'; x[:, :2], 1";
}

/// Declares transforms along several dimensions. A row has the name, the function, the argument `dim` and its value, and the
/// example for tests.
macro_rules! along {
    ($($(#[$doc:meta])* $name:ident $function:ident ($($dim:tt)+) $dims:expr, $example:literal;)+) => {
        $($(#[$doc])*
        ///
        /// Raises:
        ///     ArgumentError: `s` has a number below 1 that is not -1, or another length than `dim`; `dim` names a dimension
        ///         twice; or `norm` has another value.
        #[tensor_op(
            function,
            long,
            out(exact),
            namespace = "fft",
            explain = input.explain_fft(&along(FftFunction::$function, s, $dims, norm)),
            example = $example
        )]
        fn $name(
            input: &CoreTensor,
            s: &Option<Ints>,
            $($dim)+,
            norm: Option<FftNorm>,
        ) -> Result<CoreTensor> {
            input.fft(&along(FftFunction::$function, s, $dims, norm))
        })+
    };
}

along! {
    /// Return the discrete Fourier transforms of complex signals along two dimensions.
    ///
    /// Args:
    ///     {complex}
    ///     s: The numbers of points along `dim`; -1 is the size of the dimension. Signals are cut, or followed by zeros.
    ///     dim: The dimensions of the signals, without the last one of `input`.
    ///     {fft_norm}
    ///
    /// Returns:
    ///     A tensor of the shape of `input` with `s` frequencies along `dim`.
    ///
    /// Example:
    ///     >>> fft.fft2(interlock.ones(2, 2, 2))[..., 0]
    ///     tensor([[4., 0.],
    ///             [0., 0.]])
    fft2 Fft2 (#[default(Ints::from([-2, -1]), "(-2, -1)")] dim: &Ints) Some(dim), "square[:, :2].expand(2, 3, 2)";

    /// Return the inverses of `fft2` along two dimensions.
    ///
    /// Args:
    ///     {complex}
    ///     s: The numbers of points along `dim`; -1 is the size of the dimension. Spectra are cut, or followed by zeros.
    ///     dim: The dimensions of the frequencies, without the last one of `input`.
    ///     {ifft_norm}
    ///
    /// Returns:
    ///     A tensor of the shape of `input` with `s` points along `dim`.
    ///
    /// Example:
    ///     >>> fft.ifft2(interlock.ones(2, 2, 2))[..., 0]
    ///     tensor([[1., 0.],
    ///             [0., 0.]])
    ifft2 Ifft2 (#[default(Ints::from([-2, -1]), "(-2, -1)")] dim: &Ints) Some(dim), "x[:, :2].expand(2, 2, 2)";

    /// Return the discrete Fourier transforms of complex signals along several dimensions.
    ///
    /// Args:
    ///     {complex}
    ///     s: The numbers of points along `dim`; -1 is the size of the dimension. Signals are cut, or followed by zeros.
    ///     dim: The dimensions of the signals, without the last one of `input`. By default the last ones if `s` is given, else
    ///         all.
    ///     {fft_norm}
    ///
    /// Returns:
    ///     A tensor of the shape of `input` with `s` frequencies along `dim`.
    ///
    /// Example:
    ///     >>> fft.fftn(interlock.ones(2, 2, 2))[..., 0]
    ///     tensor([[4., 0.],
    ///             [0., 0.]])
    fftn Fftn (dim: &Option<Ints>) dim.as_ref(), "x[:, :2]; x[:, :2].expand(3, 2, 2), (4, -1), (1, 0), 'forward'";

    /// Return the inverses of `fftn` along several dimensions.
    ///
    /// Args:
    ///     {complex}
    ///     s: The numbers of points along `dim`; -1 is the size of the dimension. Spectra are cut, or followed by zeros.
    ///     dim: The dimensions of the frequencies, without the last one of `input`. By default the last ones if `s` is given,
    ///         else all.
    ///     {ifft_norm}
    ///
    /// Returns:
    ///     A tensor of the shape of `input` with `s` points along `dim`.
    ///
    /// Example:
    ///     >>> fft.ifftn(interlock.ones(2, 2, 2))[..., 0]
    ///     tensor([[1., 0.],
    ///             [0., 0.]])
    ifftn Ifftn (dim: &Option<Ints>) dim.as_ref(), "x[:, :2]; x[:, :2].expand(3, 2, 2), (1, 3)";
}

/// Calls `run` with a transform along one dimension.
fn along_one<R>(
    function: FftFunction,
    n: Option<i64>,
    dim: i64,
    norm: Option<FftNorm>,
    run: impl FnOnce(&FftOptions<'_>) -> R,
) -> R {
    let sizes = n.as_slice();
    let sizes = (!sizes.is_empty()).then_some(sizes);
    run(&FftOptions {
        sizes,
        dims: Some(&[dim]),
        norm: norm.unwrap_or_default(),
        ..FftOptions::new(function)
    })
}

/// Returns a transform along several dimensions.
fn along<'a>(
    function: FftFunction,
    s: &'a Option<Ints>,
    dim: Option<&'a Ints>,
    norm: Option<FftNorm>,
) -> FftOptions<'a> {
    FftOptions {
        sizes: s.as_deref(),
        dims: dim.map(|dim| &**dim),
        norm: norm.unwrap_or_default(),
        ..FftOptions::new(function)
    }
}

impl Choice for FftNorm {
    const ANNOTATION: &'static str = "Literal['forward', 'backward', 'ortho']";
    const CHOICES: &'static [(&'static str, Self)] =
        &[("forward", FftNorm::Forward), ("backward", FftNorm::Backward), ("ortho", FftNorm::Ortho)];
    const ALLOWED: &'static str = "None, 'forward', 'backward' or 'ortho'";
}
