//! The table of all declared operations.

use pyo3::inventory;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyType};

use super::form::Form;
use crate::tensor::Tensor;

/// A row: what the stub, the page and the tests are made of.
pub(in crate::tensor) struct Operation {
    /// The texts of [`KEYS`], separated by tabs: one address to relocate when the library is loaded.
    pub texts: &'static str,
    pub forms: &'static [Form],
}

/// The texts of a row:
/// - the name, and the names of the forms, such as "function method";
/// - the module that has the function, and further names of the operation;
/// - the annotated arguments of the function, in parentheses; overloads stand on lines of their own;
/// - those of the method, if they are not those of the function without the first;
/// - the annotation of the result, arguments for tests, and the Rust module that declares the operation.
const KEYS: [&str; 9] =
    ["name", "forms", "namespace", "aliases", "signature", "method_signature", "result", "example", "family"];

/// The index of the module in the texts.
const NAMESPACE: usize = 2;

inventory::collect!(Operation);

/// Adds the functions of all operations to a module, and the methods to the class.
pub(in crate::tensor) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // A program may import the extension again: the class has the methods then.
    static METHODS: PyOnceLock<()> = PyOnceLock::new();
    METHODS.get_or_try_init(module.py(), || add_methods(&module.py().get_type::<Tensor>()))?;
    for operation in inventory::iter::<Operation> {
        let namespace = operation.texts.split('\t').nth(NAMESPACE).unwrap_or_default();
        for form in operation.forms.iter().filter(|form| !form.is_method()) {
            add_function(module, form.name(), form.function(module)?, namespace)?;
        }
    }
    module.setattr("_operations", wrap_pyfunction!(operations, module)?)
}

/// Adds the methods of all operations to the class.
fn add_methods(class: &Bound<'_, PyType>) -> PyResult<()> {
    let forms = inventory::iter::<Operation>().flat_map(|operation| operation.forms);
    for form in forms.filter(|form| form.is_method()) {
        debug_assert!(!class.hasattr(form.name())?, "a method of the class has the name {}", form.name());
        class.setattr(form.name(), form.method(class)?)?;
    }
    Ok(())
}

/// Adds a function of an operation to a module. Only those of `interlock` itself are in `__all__`.
fn add_function(
    module: &Bound<'_, PyModule>,
    name: &str,
    function: Bound<'_, PyAny>,
    namespace: &str,
) -> PyResult<()> {
    if namespace == "interlock" { module.add(name, function) } else { module.setattr(name, function) }
}

/// Returns the rows of the table, in the order of names.
#[pyfunction(name = "_operations")]
fn operations(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let mut rows: Vec<_> = inventory::iter::<Operation>().map(|row| row.texts).collect();
    rows.sort_unstable();
    let dict = |texts: &str| {
        let dict = PyDict::new(py);
        KEYS.into_iter().zip(texts.split('\t')).try_for_each(|(key, text)| dict.set_item(key, text))?;
        Ok(dict)
    };
    rows.into_iter().map(dict).collect()
}

/// Joins texts at compile time.
macro_rules! joined {
    ($($part:expr),* $(,)?) => {{
        const PARTS: &[&str] = &[$($part),*];
        const BYTES: [u8; $crate::tensor::operation::length_of(PARTS)] = $crate::tensor::operation::join(PARTS);
        match std::str::from_utf8(&BYTES) {
            Ok(text) => text,
            Err(_) => panic!("texts of UTF-8 remain UTF-8"),
        }
    }};
}
pub(in crate::tensor) use joined;

/// Returns the length of joined texts.
#[expect(clippy::indexing_slicing, reason = "evaluated at compile time, where iterators are not available")]
pub(in crate::tensor) const fn length_of(parts: &[&str]) -> usize {
    let (mut length, mut part) = (0, 0);
    while part < parts.len() {
        length += parts[part].len();
        part += 1;
    }
    length
}

/// Returns the bytes of joined texts.
#[expect(clippy::indexing_slicing, reason = "evaluated at compile time, where iterators are not available")]
pub(in crate::tensor) const fn join<const N: usize>(parts: &[&str]) -> [u8; N] {
    let (mut joined, mut end, mut part) = ([0; N], 0, 0);
    while part < parts.len() {
        let bytes = parts[part].as_bytes();
        let mut position = 0;
        while position < bytes.len() {
            joined[end] = bytes[position];
            (end, position) = (end + 1, position + 1);
        }
        part += 1;
    }
    joined
}
