//! Extraction of numeric arguments, with errors that name the function and the argument.

/// Defines a module for each function with an extractor for each argument.
macro_rules! extractors {
    ($($function:ident: $($argument:ident)+;)+ => $extract:path, $type:ty) => {
        $(pub(in crate::tensor) mod $function {
            use pyo3::prelude::*;

            $(pub(in crate::tensor) fn $argument(given: &Bound<'_, PyAny>) -> PyResult<$type> {
                $extract(concat!(stringify!($function), ": ", stringify!($argument)), given)
            })+
        })+
    };
}

/// Extractors of numbers.
pub(super) mod floats {
    extractors! {
        allclose: rtol atol;
        isclose: rtol atol;
        => crate::tensor::args::extract_f64, f64
    }
}
