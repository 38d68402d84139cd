//! The environment as a level of flag values: read whole, once, before the first flag is.

use once_cell::race::OnceBox;

use super::attribute::Attribute;
use super::table;
use crate::state::{FlagId, FlagSlots};
use crate::{Error, env};

struct Environment {
    flags: FlagSlots,
    problems: Vec<(String, Error)>,
}

fn environment() -> &'static Environment {
    // Not a blocking cell: a fork while another thread fills it would leave the child waiting.
    static ENVIRONMENT: OnceBox<Environment> = OnceBox::new();
    ENVIRONMENT.get_or_init(|| Box::new(read_from(env::read)))
}

/// What the environment says of a flag.
pub(super) fn of_flag(id: FlagId) -> Option<u64> {
    environment().flags.word(id)
}

/// What it says of the precision tree; nodes that it does not name hold unset.
pub(super) fn tree() -> u64 {
    environment().flags.tree.value
}

/// The variables whose value was not understood, each with the reason; they count as unset.
pub fn problems() -> &'static [(String, Error)] {
    &environment().problems
}

fn read_from(variable: impl Fn(&str) -> Option<String>) -> Environment {
    let mut problems = Vec::new();
    let mut flags = FlagSlots::default();
    // Views come first, so that a variable that names a node itself is stronger.
    for attribute in table::views_first() {
        read_strongest(attribute, &variable, &mut flags, &mut problems);
    }
    Environment { flags, problems }
}

/// Reads the first variable of an attribute that is set and understood.
fn read_strongest(
    attribute: &Attribute,
    variable: impl Fn(&str) -> Option<String>,
    flags: &mut FlagSlots,
    problems: &mut Vec<(String, Error)>,
) {
    for name in attribute.variables() {
        let Some(text) = variable(&name) else { continue };
        match attribute.add_text(&text, flags) {
            Ok(()) => return,
            Err(error) => problems.push((name, error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::flags::CUDNN_ENABLED;
    use super::super::{Node, Precision};
    use super::*;
    use crate::state::Masked;

    fn read(variables: &[(&str, &str)]) -> Environment {
        read_from(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    fn held(node: Node, precision: Precision) -> Masked<u64> {
        Masked::new(node.mask(), node.holding(precision as u64))
    }

    #[test]
    fn a_switch_is_read() {
        for (text, payload) in [("0", 0), ("false", 0), ("1", 1), ("TRUE", 1)] {
            let environment = read(&[("INTERLOCK_CUDNN_ENABLED", text)]);
            assert_eq!(environment.flags.word(CUDNN_ENABLED.word.id), Some(payload), "{text}");
        }
    }

    #[test]
    fn a_value_that_is_not_understood_counts_as_unset_and_is_told() {
        let environment = read(&[("INTERLOCK_CUDNN_ENABLED", "maybe")]);
        assert_eq!(environment.flags.word(CUDNN_ENABLED.word.id), None);
        let [(variable, error)] = environment.problems.as_slice() else { panic!("one problem") };
        assert_eq!(variable, "INTERLOCK_CUDNN_ENABLED");
        assert!(error.to_string().contains("maybe"), "{error}");
    }

    #[test]
    fn our_own_variable_is_stronger_than_pytorchs() {
        let environment =
            read(&[("INTERLOCK_CUDA_MATMUL_ALLOW_TF32", "0"), ("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "1")]);
        assert_eq!(environment.flags.tree, held(Node::CudaMatmul, Precision::Ieee));
    }

    #[test]
    fn a_node_is_stronger_than_a_view_of_it() {
        let environment =
            read(&[("INTERLOCK_CUDNN_ALLOW_TF32", "0"), ("INTERLOCK_CUDNN_CONV_FP32_PRECISION", "tf32")]);
        let expected = held(Node::CudaConv, Precision::Tf32).over(held(Node::CudaRnn, Precision::Ieee));
        assert_eq!(environment.flags.tree, expected);
    }
}
