//! The sentences that documentation has in several places.

/// The sentences about arguments without an entry, by name and type. `*` stands before the type of ints that may be passed as
/// separate arguments, and no type stands for any. A sentence holds for each argument of the name and type.
#[rustfmt::skip]
pub const ARGUMENTS: &[(&str, &str, &str)] = &[
    ("input", "CoreTensor", "The tensor."),
    ("input", "Operand", "A tensor or a number."),
    ("other", "Operand", "A tensor or a number. Shapes are broadcast and dtypes promoted."),
    ("dim", "i64", "The dimension."),
    ("dim", "Option<Ints>", "The dimension or dimensions to reduce, as an int, tuple or list. None means all."),
    ("keepdim", "bool", "Whether reduced dimensions remain, with size 1."),
    ("inplace", "bool", "Whether `input` itself is changed and returned."),
    ("generator", "Option<GivenGenerator>", "The generator that draws. None means the default one of the device."),
    ("fill_value", "Scalar", "The number, or a tensor with one element."),
    ("memory_format", "Option<Format>",
        "The order of the elements of a new tensor in memory. None preserves the order of the tensor."),
    // New tensors.
    ("size", "*Sizes", "The sizes; by name as a tuple or list."),
    ("size", "Sizes", "The sizes, as an int or as a tuple or list."),
    ("dtype", "NewTensor", "The element type; None means float32."),
    ("dtype", "NewTensorLike", "The element type; None means the dtype of the tensor."),
    ("layout", "", "`interlock.strided` or None, which means the same."),
    ("device", "NewTensor", "The device; None means the default device."),
    ("device", "NewTensorLike", "The device; None means the device of the tensor."),
    ("requires_grad", "", "Whether operations on the tensor are recorded. Requires a floating-point dtype."),
    ("pin_memory", "", "Whether a CPU tensor is allocated in pinned memory."),
    ("tensors", "Tensors", "The tensors, as an iterable."),
    // Comparisons and sorting.
    ("rtol", "f64", "The relative tolerance."),
    ("atol", "f64", "The absolute tolerance."),
    ("equal_nan", "bool", "Whether NaN is close to NaN."),
    ("descending", "bool", "Whether the largest element is first."),
    ("stable", "bool", "Whether the order of equal elements is preserved, which it always is."),
    // Linear algebra.
    ("A", "CoreTensor", "A matrix of float32 or float64, or a batch of them."),
    ("left", "bool", "Whether to solve `A @ X = B`, else `X @ A = B`."),
    ("pivot", "bool", "Must be True."),
    ("UPLO", "Triangle", "The triangle that is read: \"L\" for the lower one, \"U\" for the upper one."),
    ("driver", "Option<Driver>",
        "An algorithm of cuSOLVER, for matrices on devices, all of which compute with one algorithm."),
];

/// The errors that follow from arguments, by name and by type without `Option` and `*`.
#[rustfmt::skip]
pub const ERRORS: &[(&str, &str, &str)] = &[
    ("dim", "", "IndexError: The tensor does not have dimension `dim`."),
    ("dim", "Ints", "ArgumentError: `dim` names a dimension twice."),
    ("tensors", "Tensors", "ArgumentError: `tensors` is empty."),
    ("tensors", "Tensors", "RuntimeError: `tensors` contains tensors on different devices."),
    ("inplace", "bool",
        "RuntimeError: `inplace` is True for a leaf that requires grad while gradients are enabled, or for a tensor whose
        elements overlap."),
    ("reduction", "Reduction", "ValueError: `reduction` has another value."),
    ("size", "Sizes", "ArgumentError: A size is negative."),
    ("requires_grad", "", "DTypeError: `requires_grad` is True for a dtype that is not floating point."),
    ("pin_memory", "", "NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available."),
    ("pin_memory", "", "OutOfMemoryError: Not enough memory is available."),
    ("pivot", "bool", "ArgumentError: `pivot` is False: there is no kernel without pivoting."),
    ("UPLO", "Triangle", "ArgumentError: `UPLO` has another value."),
    ("driver", "Driver", "ArgumentError: `driver` has another value, or is not None for matrices on the CPU."),
];

const ANOTHER_DTYPE: &str = "DTypeError: The tensor has another dtype.";
pub const LEAF: &str = "RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.";

/// Frequent entries, by the name that stands for them in braces. An empty one leaves its line out.
#[rustfmt::skip]
pub const ENTRIES: &[(&str, &str)] = &[
    ("no_dims", "IndexError: The tensor does not have one of the dimensions."),
    ("no_dimensions", "ShapeError: The tensor has no dimensions."),
    ("leaf", LEAF),
    ("no_broadcast", "ShapeError: The shapes cannot be broadcast."),
    // The dtypes of operations on one tensor.
    ("any", ""),
    ("floats", "input: The tensor. Integers and bools are converted to float32."),
    ("floats_only", "input: The tensor, of a floating-point dtype."),
    ("integral", "input: The tensor, of integers or bools."),
    ("numbers", "input: The tensor, of any dtype except bool."),
    ("floating", "input: A floating-point tensor."),
    // The second operand of operations on two, and the errors for their dtypes.
    ("other_any", ""),
    ("other_left", ""),
    ("other_tensors", "other: A tensor. Shapes are broadcast and dtypes promoted."),
    ("promoted_dividing", ""),
    ("promoted_promoting", ""),
    ("promoted_floating", "DTypeError: The promoted dtype is not floating point."),
    ("promoted_integral", "DTypeError: The promoted dtype is floating point."),
    ("promoted_integers", "DTypeError: The promoted dtype is floating point or bool."),
    ("promoted_divisible",
        "ArgumentError: Integers on the CPU are divided by 0.\n    DTypeError: The promoted dtype is bool."),
    // Reductions.
    ("dim_or_all", "dim: The dimension. None means all elements."),
    ("dims", "dim: The dimension or dimensions to reduce, as an int, tuple or list. None or an empty tuple means all."),
    ("wide_dtype",
        "dtype: The dtype to convert the elements to first. None means int64 for integers and bools, else no change."),
    ("float_dtype", "dtype: The floating-point dtype to convert the elements to first. None means no change."),
    ("no_bools", "DTypeError: The tensor is a bool tensor."),
    ("empty_dim", "IndexError: The reduced dimension has size 0."),
    // Fourier transforms.
    ("complex",
        "input: A floating-point tensor whose last dimension has size 2, the real and imaginary parts. Integers are
        converted to float32."),
    ("real", "input: A floating-point tensor. Integers are converted to float32."),
    ("fft_norm",
        "norm: The factor of the result: 1 for \"backward\" and None, 1 over the root of the number of points for
        \"ortho\", 1 over the number of points for \"forward\"."),
    ("ifft_norm",
        "norm: The factor of the result: 1 over the number of points for \"backward\" and None, 1 over its root for
        \"ortho\", 1 for \"forward\"."),
    // Linear algebra.
    ("matrices", "input: A symmetric matrix of float32 or float64, or a batch of them. One triangle is read."),
    ("square_a", "A: A square matrix of float32 or float64, or a batch of them."),
    ("singular", "LinAlgError: A matrix is singular; the message has its position in the batch."),
];

const NOT_SQUARE: &str = "ShapeError: The last two sizes differ, or there are fewer than 2 dimensions.";
const NOT_FLOAT: &str = "DTypeError: The dtype is not float32 or float64.";

/// The errors that entries imply, by the name of the entry or, for a sentence, of the argument.
#[rustfmt::skip]
pub const IMPLIED_ERRORS: &[(&str, &str)] = &[
    ("floats_only", ANOTHER_DTYPE),
    ("integral", ANOTHER_DTYPE),
    ("numbers", ANOTHER_DTYPE),
    ("floating", "DTypeError: `input` is not floating point."),
    ("float_dtype", "DTypeError: The elements are not floating point, and `dtype` does not convert them."),
    ("complex", "ShapeError: `input` has no last dimension of size 2 after others."),
    ("real", "ShapeError: `input` has no dimension."),
    ("A", "ShapeError: There are fewer than 2 dimensions."),
    ("A", NOT_FLOAT),
    ("matrices", NOT_SQUARE),
    ("matrices", NOT_FLOAT),
    ("square_a", NOT_SQUARE),
    ("square_a", NOT_FLOAT),
];

/// The results that entries imply, unless others are written.
pub const IMPLIED_RESULTS: &[(&str, &str)] = &[("floating", "A tensor of the shape and dtype of `input`.")];
