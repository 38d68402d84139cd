//! Special functions, which the standard library lacks.

/// The error function of a floating-point type.
pub(super) trait ErrorFunction {
    /// Returns the error function.
    fn erf(self) -> Self;
    /// Returns 1 minus the error function.
    fn erfc(self) -> Self;
}

impl ErrorFunction for f32 {
    fn erf(self) -> Self {
        libm::erff(self)
    }

    fn erfc(self) -> Self {
        libm::erfcf(self)
    }
}

impl ErrorFunction for f64 {
    fn erf(self) -> Self {
        libm::erf(self)
    }

    fn erfc(self) -> Self {
        libm::erfc(self)
    }
}
