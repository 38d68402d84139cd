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

/// Extractors of ints.
pub(super) mod ints {
    extractors! {
        chunk: chunks dim;
        diagonal: offset dim1 dim2;
        flatten: start_dim end_dim;
        narrow: dim start length;
        select: dim index;
        split: dim;
        split_with_sizes: dim;
        swapaxes: axis0 axis1;
        swapdims: dim0 dim1;
        tensor_split: dim;
        transpose: dim0 dim1;
        tril: diagonal;
        tril_: diagonal;
        triu: diagonal;
        triu_: diagonal;
        unbind: dim;
        unflatten: dim;
        unsqueeze: dim;
        => crate::tensor::args::extract_int, i64
    }
}

/// Extractors of an int, or a tuple or list of ints.
pub(super) mod lists {
    extractors! {
        broadcast_to: size;
        flip: dims;
        moveaxis: source destination;
        movedim: source destination;
        permute: dims;
        reshape: shape;
        roll: shifts;
        split_with_sizes: split_sizes;
        tile: dims;
        unflatten: sizes;
        => crate::tensor::args::extract_int_or_ints, Vec<i64>
    }
}
