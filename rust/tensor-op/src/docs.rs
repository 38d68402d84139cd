//! The documentation of an operation and of its forms.

const INPUT: &str = "input: The tensor.";
const TENSOR: &str = "input: A tensor.";
const OTHER_OPERAND: &str = "other: A tensor or a number. Shapes are broadcast and dtypes promoted.";
const ANOTHER_DTYPE: &str = "DTypeError: The tensor has another dtype.";
const LEAF: &str = "RuntimeError: The tensor is a leaf that requires grad while gradients are enabled, or its elements overlap.";

/// Frequent sentences, by the name that stands for them. An empty one leaves its line out.
const SENTENCES: &[(&str, &str)] = &[
    ("input", INPUT),
    ("no_dim", "IndexError: The tensor does not have dimension `dim`."),
    ("no_dims", "IndexError: The tensor does not have one of the dimensions."),
    ("no_dimensions", "ShapeError: The tensor has no dimensions."),
    (
        "complex",
        "input: A floating-point tensor whose last dimension has size 2, the real and imaginary parts. Integers are\n        \
         converted to float32.",
    ),
    ("no_complex", "ShapeError: `input` has no last dimension of size 2 after others."),
    ("no_real", "ShapeError: `input` has no dimension."),
    (
        "fft_norm",
        "norm: The factor of the result: 1 for \"backward\" and None, 1 over the root of the number of points for\n        \
         \"ortho\", 1 over the number of points for \"forward\".",
    ),
    (
        "ifft_norm",
        "norm: The factor of the result: 1 over the number of points for \"backward\" and None, 1 over its root for\n        \
         \"ortho\", 1 for \"forward\".",
    ),
    ("no_points", "ArgumentError: `n` is below 1, or `norm` has another value."),
    (
        "no_sizes",
        "ArgumentError: `s` has a number below 1 that is not -1, or another length than `dim`; `dim` names a dimension\n        \
         twice; or `norm` has another value.",
    ),
    ("no_tensors", "ArgumentError: `tensors` is empty."),
    ("devices", "RuntimeError: `tensors` contains tensors on different devices."),
    ("dim_twice", "ArgumentError: `dim` names a dimension twice."),
    (
        "sizes",
        "args: The sizes, as separate ints or as one tuple or list.\n    \
         size: The sizes as a tuple or list, by name instead of `args`.",
    ),
    (
        "new_tensor",
        "layout: `interlock.strided` or None, which means the same.\n    \
         device: The device; None means the default device.\n    \
         requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.\n    \
         pin_memory: Whether a CPU tensor is allocated in pinned memory.",
    ),
    (
        "new_tensor_like",
        "dtype: The element type; None means the dtype of the tensor.\n    \
         layout: `interlock.strided` or None, which means the same.\n    \
         device: The device; None means the device of the tensor.\n    \
         requires_grad: Whether operations on the tensor are recorded. Requires a floating-point dtype.\n    \
         pin_memory: Whether a CPU tensor is allocated in pinned memory.",
    ),
    (
        "new_tensor_errors",
        "DTypeError: `requires_grad` is True for a dtype that is not floating point.\n    \
         NoAcceleratorError: `device` or pinned memory needs an accelerator, and none is available.\n    \
         OutOfMemoryError: Not enough memory is available.",
    ),
    (
        "memory_format",
        "memory_format: The order of the elements of a new tensor in memory. None preserves the order of the tensor.",
    ),
    ("leaf", LEAF),
    ("no_broadcast", "ShapeError: The shapes cannot be broadcast."),
    (
        "dims",
        "dim: The dimension or dimensions to reduce, as an int, tuple or list. None or an empty tuple means all.",
    ),
    ("keepdim", "keepdim: Whether reduced dimensions remain, with size 1."),
    // The dtypes of operations on one tensor, and the errors for others.
    ("any", INPUT),
    ("floats", "input: The tensor. Integers and bools are converted to float32."),
    ("floats_only", "input: The tensor, of a floating-point dtype."),
    ("integral", "input: The tensor, of integers or bools."),
    ("numbers", "input: The tensor, of any dtype except bool."),
    ("wrong_any", ""),
    ("wrong_floats", ""),
    ("wrong_floats_only", ANOTHER_DTYPE),
    ("wrong_integral", ANOTHER_DTYPE),
    ("wrong_numbers", ANOTHER_DTYPE),
    // The operands of operations on two, and the errors for their dtypes.
    ("input_any", "input: A tensor or a number."),
    ("input_left", TENSOR),
    ("input_tensors", TENSOR),
    ("other_any", OTHER_OPERAND),
    ("other_left", OTHER_OPERAND),
    ("other_tensors", "other: A tensor. Shapes are broadcast and dtypes promoted."),
    ("promoted_dividing", ""),
    ("promoted_promoting", ""),
    ("promoted_floating", "DTypeError: The promoted dtype is not floating point."),
    ("promoted_integral", "DTypeError: The promoted dtype is floating point."),
    ("promoted_integers", "DTypeError: The promoted dtype is floating point or bool."),
    (
        "promoted_divisible",
        "ArgumentError: Integers on the CPU are divided by 0.\n    DTypeError: The promoted dtype is bool.",
    ),
    // Reductions.
    ("dim_or_all", "dim: The dimension. None means all elements."),
    ("dims_or_all", "dim: The dimension or dimensions to reduce, as an int, tuple or list. None means all."),
    (
        "dims_or_unbiased",
        "dim: The dimension or dimensions to reduce, as an int, tuple or list. None means all. A bool is `unbiased`.",
    ),
    ("unbiased", "unbiased: Whether the correction is 1, or 0. Not together with `correction`."),
    ("correction", "correction: What is subtracted from the number of elements. None means 1."),
    ("unbiased_twice", "TypeError: Both `unbiased` and `correction` are given."),
    ("no_floats", "DTypeError: The elements are not floating point."),
    (
        "wide_dtype",
        "dtype: The dtype to convert the elements to first. None means int64 for integers and bools, else no change.",
    ),
    (
        "float_dtype",
        "dtype: The floating-point dtype to convert the elements to first. None means no change.",
    ),
    ("no_float_dtype", "DTypeError: The elements are not floating point, and `dtype` does not convert them."),
    ("no_bools", "DTypeError: The tensor is a bool tensor."),
    ("empty_dim", "IndexError: The reduced dimension has size 0."),
    ("stable", "stable: Whether the order of equal elements is preserved, which it always is."),
    // Linear algebra.
    (
        "matrices",
        "input: A symmetric matrix of float32 or float64, or a batch of them. One triangle is read.",
    ),
    ("square_a", "A: A square matrix of float32 or float64, or a batch of them."),
    ("not_square", "ShapeError: The last two sizes differ, or there are fewer than 2 dimensions."),
    (
        "driver",
        "driver: An algorithm of cuSOLVER, for matrices on devices, all of which compute with one algorithm.",
    ),
    ("driver_on_cpu", "ArgumentError: `driver` has another value, or is not None for matrices on the CPU."),
    ("not_matrix", "ShapeError: There are fewer than 2 dimensions."),
    ("not_float", "DTypeError: The dtype is not float32 or float64."),
    ("singular", "LinAlgError: A matrix is singular; the message has its position in the batch."),
    ("rtol", "rtol: The relative tolerance."),
    ("atol", "atol: The absolute tolerance."),
    ("equal_nan", "equal_nan: Whether NaN is close to NaN."),
];

const OUT_OF_RESULTS: &str = "    out: The tensor that receives the result, or two, as a tuple or list, for a named tuple; they are returned. \
    None for new ones.";
const OUT_OF_NEW: &str = "    out: The tensor that receives the elements, and is returned; None for a new one. It decides dtype and device.";
const OUT: &str = "    out: The tensor that receives the result, and is returned; None for a new one.";
const OUT_ERROR: &str =
    "    RuntimeError: `out` is passed while gradients are recorded for a tensor, or cannot hold the result.";
const EXACT_OUT_ERROR: &str = "    DTypeError: `out` has another dtype than the result.";
const NEW_OUT_ERROR: &str = "    DTypeError: `dtype` differs from the dtype of `out`.";
const IN_PLACE_ERRORS: [&str; 2] = ["DTypeError: The dtype of the tensor cannot hold the result.", LEAF];

/// The argument `out` of a function.
#[derive(Clone, Copy)]
pub enum Out {
    None,
    /// It receives the result, and `is_exact` if it must have its dtype.
    Result {
        is_exact: bool,
    },
    /// It is a tensor or two.
    Results,
    /// It receives the elements of a new tensor.
    New,
}

/// A docstring: paragraphs, and sections of indented lines.
pub struct Docs {
    summary: Vec<String>,
    arguments: Vec<String>,
    returns: Vec<String>,
    raises: Vec<String>,
    example: Vec<String>,
}

impl Docs {
    /// Parses the documentation of an operation whose function has the argument `out` or not.
    pub fn parse(lines: &[String], out: Out) -> Self {
        let mut docs = Docs {
            summary: Vec::new(),
            arguments: Vec::new(),
            returns: Vec::new(),
            raises: Vec::new(),
            example: Vec::new(),
        };
        let mut section = &mut docs.summary;
        for line in lines {
            match line.as_str() {
                "Args:" => section = &mut docs.arguments,
                "Returns:" => section = &mut docs.returns,
                "Raises:" => section = &mut docs.raises,
                "Example:" => section = &mut docs.example,
                _ => section.extend(with_sentence(line)),
            }
        }
        for lines in
            [&mut docs.summary, &mut docs.arguments, &mut docs.returns, &mut docs.raises, &mut docs.example]
        {
            while lines.last().is_some_and(String::is_empty) {
                lines.pop();
            }
        }
        let (argument, dtype_error) = match out {
            Out::None => return docs,
            Out::Result { is_exact } => (OUT, is_exact.then_some(EXACT_OUT_ERROR)),
            Out::Results => (OUT_OF_RESULTS, Some(EXACT_OUT_ERROR)),
            Out::New => (OUT_OF_NEW, Some(NEW_OUT_ERROR)),
        };
        docs.arguments.push(argument.to_owned());
        docs.raises.extend([dtype_error, Some(OUT_ERROR)].into_iter().flatten().map(str::to_owned));
        docs
    }

    /// Returns the documentation of the function `name` of an operation that is declared as `declared`.
    ///
    /// `variadic` is the argument that is also passed as separate ones.
    pub fn of_function(&self, declared: &str, name: &str, variadic: Option<&str>) -> String {
        let example =
            self.example.iter().map(|line| line.replace(&format!(".{declared}("), &format!(".{name}(")));
        let arguments = with_separate(self.arguments.clone(), variadic);
        joined(&self.summary, [&arguments, &self.returns, &self.raises, &with_import(example)], "")
    }

    /// Returns the documentation of a method that belongs to no function.
    pub fn of_own_method(&self, first: &str, variadic: Option<&str>) -> String {
        let arguments = with_separate(without_entries(&self.arguments, &[first]), variadic);
        let example = with_import(self.example.iter().cloned());
        joined(&self.summary, [&arguments, &self.returns, &self.raises, &example], "")
    }

    /// Returns the documentation of a method, whose tensor is the first argument of the function `function`.
    pub fn of_method(&self, first: &str, function: &str, variadic: Option<&str>) -> String {
        let arguments = with_separate(without_entries(&self.arguments, &[first, "out"]), variadic);
        let raises = self.raises_without_out();
        joined(&self.summary, [&arguments, &self.returns, &raises, &Vec::new()], &see(function))
    }

    /// Returns the documentation of the in-place form of the function `function`. With `first`, the name of the first
    /// argument, it is the documentation of a method, without it of a function.
    pub fn of_inplace(&self, name: &str, first: Option<&str>, function: &str) -> String {
        let arguments = without_entries(&self.arguments, &[first.unwrap_or_default(), "out"]);
        let summary = [format!("In-place version of `{name}`.")];
        let returns =
            vec![format!("    {}", if first.is_some() { "The tensor itself." } else { "`input` itself." })];
        let mut raises = self.raises_without_out();
        raises.extend(IN_PLACE_ERRORS.map(|error| format!("    {error}")));
        joined(&summary, [&arguments, &returns, &raises, &Vec::new()], &see(function))
    }

    /// Returns the entries of errors but those of the argument `out`.
    fn raises_without_out(&self) -> Vec<String> {
        self.raises
            .iter()
            .filter(|line| ![OUT_ERROR, EXACT_OUT_ERROR, NEW_OUT_ERROR].contains(&line.as_str()))
            .cloned()
            .collect()
    }
}

/// Returns the lines of an example after the import.
fn with_import(example: impl Iterator<Item = String>) -> Vec<String> {
    let mut lines: Vec<_> = example.collect();
    if !lines.is_empty() {
        lines.insert(0, "    >>> import interlock".to_owned());
    }
    lines
}

fn see(function: &str) -> String {
    format!("See `{function}`.")
}

/// Replaces `{NAME}` in a line by the sentence of the name, which may have several lines or none.
fn with_sentence(line: &str) -> Vec<String> {
    let named = |(name, _): &&(&str, &str)| line.trim() == format!("{{{name}}}");
    match SENTENCES.iter().find(named) {
        Some((_, "")) => Vec::new(),
        Some((_, sentence)) => format!("    {sentence}").lines().map(str::to_owned).collect(),
        None => vec![line.to_owned()],
    }
}

/// Returns the lines of a section without the entries of these names.
fn without_entries(lines: &[String], names: &[&str]) -> Vec<String> {
    let mut is_kept = true;
    let mut kept = Vec::new();
    for line in lines {
        let entry = line.strip_prefix("    ").filter(|entry| !entry.starts_with(' '));
        if let Some((name, _)) = entry.and_then(|entry| entry.split_once(':')) {
            is_kept = !names.contains(&name.trim_start_matches('*'));
        }
        if is_kept {
            kept.push(line.clone());
        }
    }
    kept
}

/// Adds an entry for `*args` before the entry of the argument `variadic`, whose ints may be passed as separate arguments.
fn with_separate(mut lines: Vec<String>, variadic: Option<&str>) -> Vec<String> {
    if let Some(name) = variadic
        && !lines.iter().any(|line| line.starts_with("    args:"))
        && let Some(at) = lines.iter().position(|line| line.starts_with(&format!("    {name}:")))
    {
        lines.insert(at, format!("    args: `{name}`, as separate ints or as one tuple or list."));
    }
    lines
}

/// Returns a docstring of a summary, a last sentence of it, and sections, of which empty ones are left out.
fn joined(summary: &[String], sections: [&Vec<String>; 4], sentence: &str) -> String {
    let mut text = summary.join("\n");
    if !sentence.is_empty() {
        text += &format!("\n\n{sentence}");
    }
    for (title, lines) in ["Args", "Returns", "Raises", "Example"].into_iter().zip(sections) {
        if !lines.is_empty() {
            text += &format!("\n\n{title}:\n{}", lines.join("\n"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "\
Return the sums along a dimension.

Args:
    {input}
    dim: The dimension, which is
        one of the tensor.

Raises:
    {no_dim}
    {wrong_any}

Example:
    >>> interlock.sums(x, 0)
    tensor([1, 3])
";

    fn docs(has_out: bool) -> Docs {
        let lines: Vec<_> = LINES.lines().map(str::to_owned).collect();
        Docs::parse(&lines, if has_out { Out::Result { is_exact: true } } else { Out::None })
    }

    #[test]
    fn function_has_all_sections_and_the_entries_of_out() {
        let text = docs(true).of_function("sums", "sums2", None);
        assert!(text.starts_with("Return the sums along a dimension.\n\nArgs:\n    input: The tensor.\n"));
        assert!(text.contains("    out: The tensor that receives the result"));
        assert!(text.contains(
            "Raises:\n    IndexError: The tensor does not have dimension `dim`.\n    DTypeError: `out` has another dtype than the \
             result.\n    RuntimeError: `out`"
        ));
        assert!(text.ends_with(
            "Example:\n    >>> import interlock\n    >>> interlock.sums2(x, 0)\n    tensor([1, 3])"
        ));
    }

    #[test]
    fn method_lacks_its_tensor_and_out_and_refers_to_the_function() {
        let text = docs(true).of_method("input", "interlock.sums", None);
        assert_eq!(
            text,
            "Return the sums along a dimension.\n\nSee `interlock.sums`.\n\nArgs:\n    dim: The dimension, which is\n        \
             one of the tensor.\n\nRaises:\n    IndexError: The tensor does not have dimension `dim`."
        );
    }

    #[test]
    fn method_without_a_function_has_the_example() {
        let text = docs(false).of_own_method("input", None);
        assert!(text.contains(">>> import interlock") && !text.contains("See `"));
    }

    #[test]
    fn in_place_form_returns_its_tensor_and_adds_errors() {
        let text = docs(true).of_inplace("sums", Some("input"), "interlock.sums");
        assert!(text.starts_with("In-place version of `sums`.\n\nSee `interlock.sums`."));
        assert!(text.contains("Returns:\n    The tensor itself."));
        assert!(text.contains("a leaf that requires grad") && !text.contains("out"));
    }

    #[test]
    fn separate_arguments_have_an_entry() {
        let text = docs(false).of_own_method("input", Some("dim"));
        assert!(text.contains("    args: `dim`, as separate ints or as one tuple or list.\n    dim:"));
    }
}
