//! Second names of operations, as in PyTorch.

use pyo3::prelude::*;

use crate::tensor::Tensor;

/// The second name and the name of functions that are methods, too.
const ALIASES: [(&str, &str); 20] = [
    ("absolute", "abs"),
    ("arccos", "acos"),
    ("arccosh", "acosh"),
    ("arcsin", "asin"),
    ("arcsinh", "asinh"),
    ("arctan", "atan"),
    ("arctan2", "atan2"),
    ("arctanh", "atanh"),
    ("clip", "clamp"),
    ("divide", "div"),
    ("fix", "trunc"),
    ("greater", "gt"),
    ("greater_equal", "ge"),
    ("less", "lt"),
    ("less_equal", "le"),
    ("multiply", "mul"),
    ("negative", "neg"),
    ("not_equal", "ne"),
    ("subtract", "sub"),
    ("true_divide", "div"),
];

/// The second names of functions whose in-place functions have one, too, as in PyTorch.
const INPLACE_ALIASES: [&str; 9] =
    ["arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctanh", "clip", "fix", "negative"];

/// Adds the second names of functions, methods and in-place methods.
pub(super) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let class = module.py().get_type::<Tensor>();
    for (alias, name) in ALIASES {
        module.add(alias, module.getattr(name)?)?;
        if INPLACE_ALIASES.contains(&alias) {
            module.add(format!("{alias}_"), module.getattr(format!("{name}_"))?)?;
        }
        class.setattr(alias, class.getattr(name)?)?;
        class.setattr(format!("{alias}_"), class.getattr(format!("{name}_"))?)?;
    }
    Ok(())
}
