//! The table of all declared operations.

use pyo3::inventory;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict};

/// A row: what the stub, the page and the tests are made of.
pub(in crate::tensor) struct Operation {
    pub name: &'static str,
    /// The names of the forms, such as "function method".
    pub forms: &'static str,
    /// The module that has the function.
    pub namespace: &'static str,
    /// Further names.
    pub aliases: &'static str,
    /// The annotated arguments of the function, in parentheses; overloads stand on lines of their own.
    pub signature: &'static str,
    /// Those of the method. Empty if they are overloads.
    pub method_signature: &'static str,
    /// The annotation of the result.
    pub result: &'static str,
    /// Arguments for tests.
    pub example: &'static str,
    /// The Rust module that declares the operation.
    pub family: &'static str,
    /// Adds the functions to the module.
    pub register: fn(&Bound<'_, PyModule>) -> PyResult<()>,
}

inventory::collect!(Operation);

/// Adds the functions of all operations to a module.
pub(in crate::tensor) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    inventory::iter::<Operation>().try_for_each(|operation| (operation.register)(module))?;
    module.setattr("_operations", wrap_pyfunction!(operations, module)?)
}

/// Adds a function of an operation to a module. Only those of `interlock` itself are in `__all__`.
pub(in crate::tensor) fn add_function(
    module: &Bound<'_, PyModule>,
    function: Bound<'_, PyCFunction>,
    namespace: &str,
) -> PyResult<()> {
    if namespace == "interlock" {
        module.add_function(function)
    } else {
        module.setattr(function.getattr("__name__")?.cast_into()?, function)
    }
}

/// Returns the rows of the table, in the order of names.
#[pyfunction(name = "_operations")]
fn operations(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let mut rows: Vec<&Operation> = inventory::iter::<Operation>().collect();
    rows.sort_by_key(|row| row.name);
    let dict = |row: &Operation| {
        let dict = PyDict::new(py);
        let texts = [
            ("name", row.name),
            ("forms", row.forms),
            ("namespace", row.namespace),
            ("aliases", row.aliases),
            ("signature", row.signature),
            ("method_signature", row.method_signature),
            ("result", row.result),
            ("example", row.example),
            ("family", row.family),
        ];
        texts.into_iter().try_for_each(|(key, text)| dict.set_item(key, text))?;
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
