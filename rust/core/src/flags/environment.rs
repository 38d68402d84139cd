//! The environment as a level of flag values: read whole, once, before the first flag is.

use std::collections::BTreeSet;

use once_cell::race::OnceBox;

use super::flag_spec::FlagSpec;
use super::{InputValue, suggest, table};
use crate::base::env::{self, SWITCH_WORDS, Variables, parse_switch};
use crate::thread::{FlagId, FlagSlots, Slot};
use crate::{Error, libraries};

/// What the environment says.
struct Environment {
    flags: FlagSlots,
    /// Which variable said what.
    sources: Vec<(Slot, String)>,
    problems: Vec<(String, Error)>,
    forbids_tf32: bool,
}

fn environment() -> &'static Environment {
    // Not a blocking cell: a fork while another thread fills it would leave the child waiting.
    static ENVIRONMENT: OnceBox<Environment> = OnceBox::new();
    ENVIRONMENT.get_or_init(|| Box::new(read_from(&env::all())))
}

/// What the environment says of a flag.
pub(super) fn of_flag(id: FlagId) -> Option<u64> {
    environment().flags.word(id)
}

/// What it says of the precision tree; nodes that it does not name hold unset.
pub(super) fn tree() -> u64 {
    environment().flags.tree.value
}

/// The variable that says something of a slot.
pub(super) fn source(slot: Slot) -> Option<&'static str> {
    let sources = &environment().sources;
    sources.iter().rfind(|(known, _)| *known == slot).map(|(_, name)| name.as_str())
}

/// Whether NVIDIA's libraries are kept from TensorFloat-32, whatever they are asked for.
pub(super) fn forbids_tf32() -> bool {
    environment().forbids_tf32
}

/// The variables that were not understood, each with the reason; they count as unset.
pub fn problems() -> &'static [(String, Error)] {
    &environment().problems
}

/// The names of the variables that this crate reads: ours and those of others, without those of registered flags.
pub fn variables() -> Vec<String> {
    let of_flags = table::own_flag_specs().flat_map(FlagSpec::variables);
    let others = env::OWN_VARS.map(|(name, _)| name).into_iter().chain(env::FOREIGN_VARS);
    let named = others.map(str::to_owned).chain(libraries::variables());
    let all: BTreeSet<String> = of_flags.chain(named).collect();
    all.into_iter().collect()
}

fn read_from(variables: &Variables) -> Environment {
    let forbids_tf32 = variables.get(env::TF32_OVERRIDE).is_some_and(|value| value.as_deref() == Some("0"));
    let mut read =
        Environment { flags: FlagSlots::default(), sources: Vec::new(), problems: Vec::new(), forbids_tf32 };
    // Views come first, so that a variable that names a node itself is stronger.
    for spec in table::aliases_first() {
        read.read_first_set(spec, variables);
    }
    read.problems.extend(unclear_switches(variables));
    read.problems.extend(unknown(variables));
    read
}

impl Environment {
    /// Takes in the first variable of an attribute that is set, understood and says something.
    fn read_first_set(&mut self, spec: &FlagSpec, variables: &Variables) {
        for (name, format) in spec.env_formats() {
            let Some(value) = variables.get(&name) else { continue };
            match spec.add_variable(format, value, &mut self.flags) {
                Ok(false) => {}
                Ok(true) => {
                    self.sources.extend(spec.slots().map(|slot| (slot, name.clone())));
                    return;
                }
                Err(error) => self.problems.push((name, error)),
            }
        }
    }
}

/// Our switches that are no flags, where they are set to something else than on or off.
fn unclear_switches(variables: &Variables) -> impl Iterator<Item = (String, Error)> {
    let switches = env::OWN_VARS.into_iter().filter(|(_, accepted)| *accepted == SWITCH_WORDS);
    switches.filter_map(|(name, _)| {
        let text = variables.get(name)?.as_deref().unwrap_or("no text");
        let given = InputValue::Text(text.into()).to_string();
        let error = Error::FlagValue { name: name.to_owned(), given, allowed: SWITCH_WORDS.to_owned() };
        parse_switch(text).is_none().then(|| (name.to_owned(), error))
    })
}

/// The variables that begin like ours and are none of them.
fn unknown(variables: &Variables) -> impl Iterator<Item = (String, Error)> {
    let of_flags = table::own_flag_specs().filter(|spec| !spec.is_read_only());
    let mut known: Vec<(String, String)> = of_flags
        .map(|spec| (env::flag_variable(spec.name()), spec.accepted_text()))
        .collect();
    known.extend(env::OWN_VARS.map(|(name, accepted)| (name.to_owned(), accepted.to_owned())));
    known.extend(libraries::variables().map(|name| (name, env::LIBRARY_PATHS.to_owned())));
    variables.keys().filter(|name| name.starts_with(env::PREFIX)).filter_map(move |name| {
        let is_known = known.iter().any(|(known, _)| known == name);
        (!is_known).then(|| {
            // What they all begin with would make any two alike.
            let suggestion = suggest(own_part(name), known.iter().map(|(known, _)| own_part(known)));
            let suggestion = known.iter().find(|(known, _)| Some(own_part(known)) == suggestion).cloned();
            (name.clone(), Error::UnknownVariable { name: name.clone(), suggestion })
        })
    })
}

fn own_part(name: &str) -> &str {
    name.strip_prefix(env::PREFIX).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::super::flags::{
        CUDA_BLAS_LIBRARY, CUDA_CUBLAS_WORKSPACE, CUDA_CUBLASLT_WORKSPACE, CUDNN_ENABLED,
    };
    use super::super::{BlasLibrary, FlagValue, Node, Precision};
    use super::*;
    use crate::thread::Masked;

    fn read(variables: &[(&str, &str)]) -> Environment {
        let named = |(name, value): &(&str, &str)| ((*name).to_owned(), Some((*value).to_owned()));
        read_from(&variables.iter().map(named).collect())
    }

    fn held(node: Node, precision: Precision) -> Masked<u64> {
        let Slot::Node(mask) = node.slot() else { return Masked::default() };
        Masked::new(mask.0, node.word_bits(precision as u64))
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

    #[test]
    fn variables_of_others_ask_for_a_value_or_say_nothing() {
        let library = |text| {
            let environment = read(&[("TORCH_BLAS_PREFER_CUBLASLT", text)]);
            assert!(environment.problems.is_empty());
            environment.flags.word(CUDA_BLAS_LIBRARY.word.id)
        };
        assert_eq!(library("1"), Some(BlasLibrary::Cublaslt.payload()));
        assert_eq!(library("0"), None);
        let sizes = read(&[("CUBLAS_WORKSPACE_CONFIG", ":16:8"), ("CUBLASLT_WORKSPACE_SIZE", "2")]);
        assert_eq!(sizes.flags.word(CUDA_CUBLAS_WORKSPACE.word.id), Some(16 * 8 * 1024));
        assert_eq!(sizes.flags.word(CUDA_CUBLASLT_WORKSPACE.word.id), Some(2048));
        let unclear = read(&[("CUBLAS_WORKSPACE_CONFIG", "much")]);
        assert!(unclear.problems[0].1.to_string().contains(":SIZE:COUNT"));
    }

    #[test]
    fn it_is_known_which_variable_said_it() {
        let environment = read(&[("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "1")]);
        let slot = Node::CudaMatmul.slot();
        assert_eq!(environment.sources, [(slot, "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE".to_owned())]);
    }

    #[test]
    fn a_name_that_is_none_of_ours_is_told_with_the_near_one_and_what_that_takes() {
        let environment = read(&[("INTERLOCK_CUDNN_ENABELD", "1"), ("INTERLOCK_DEBUG", "1"), ("OTHER", "1")]);
        let [(variable, error)] = environment.problems.as_slice() else { panic!("one problem") };
        assert_eq!(variable, "INTERLOCK_CUDNN_ENABELD");
        let message = error.to_string();
        assert!(message.contains("INTERLOCK_CUDNN_ENABLED") && message.contains(SWITCH_WORDS), "{message}");
    }

    #[test]
    fn a_name_that_is_like_ours_only_in_how_it_begins_has_no_near_one() {
        let environment = read(&[("INTERLOCK_FOO", "1")]);
        let [(_, error)] = environment.problems.as_slice() else { panic!("one problem") };
        assert!(!error.to_string().contains("did you mean"), "{error}");
    }

    #[test]
    fn a_switch_of_ours_that_is_no_flag_is_looked_at_too() {
        assert!(read(&[("INTERLOCK_DEBUG", "true")]).problems.is_empty());
        let [(variable, error)] = &read(&[("INTERLOCK_DEBUG", "yes")]).problems[..] else {
            panic!("one problem")
        };
        assert_eq!(variable, "INTERLOCK_DEBUG");
        assert_eq!(error.to_string(), "INTERLOCK_DEBUG takes 0, 1, false or true, got 'yes'");
    }

    #[test]
    fn a_value_that_is_no_text_is_told() {
        let environment = read_from(&[("INTERLOCK_CUDNN_ENABLED".to_owned(), None)].into());
        assert_eq!(environment.problems.len(), 1);
        assert_eq!(environment.flags.word(CUDNN_ENABLED.word.id), None);
    }
}
