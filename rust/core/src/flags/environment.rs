//! The environment as a level of flag values: read completely, once, before the first flag is read.

use std::num::NonZeroUsize;

use once_cell::race::OnceBox;

use super::flag_spec::FlagSpec;
use super::{InputValue, suggest, table};
use crate::base::env::{self, SWITCH_WORDS, Variables, parse_switch};
use crate::base::short_sort::sort_short_by;
use crate::thread::{FlagId, FlagSlots, Slot};
use crate::{Error, libraries};

/// The flag values of the environment.
struct Environment {
    flags: FlagSlots,
    /// The variable that set each slot.
    sources: Vec<(Slot, String)>,
    problems: Vec<(String, Error)>,
    forbids_tf32: bool,
    num_threads: Option<NonZeroUsize>,
}

fn environment() -> &'static Environment {
    // Not a blocking cell: a fork while another thread fills it would block the child.
    static ENVIRONMENT: OnceBox<Environment> = OnceBox::new();
    ENVIRONMENT.get_or_init(|| Box::new(read_from(&env::all())))
}

/// Returns the payload that the environment sets for a flag.
pub(super) fn of_flag(id: FlagId) -> Option<u64> {
    environment().flags.word(id)
}

/// Returns the precision tree that the environment sets; nodes that it does not name are empty.
pub(super) fn tree() -> u64 {
    environment().flags.tree.value
}

/// Returns the variable that sets a slot.
pub(super) fn source(slot: Slot) -> Option<&'static str> {
    let sources = &environment().sources;
    sources.iter().rfind(|(known, _)| *known == slot).map(|(_, name)| name.as_str())
}

/// Returns whether `NVIDIA_TF32_OVERRIDE=0` forbids NVIDIA's libraries to use TensorFloat-32.
pub(super) fn forbids_tf32() -> bool {
    environment().forbids_tf32
}

/// Returns the number of threads that the environment requests.
pub(crate) fn num_threads() -> Option<NonZeroUsize> {
    environment().num_threads
}

/// Returns the variables that could not be parsed, each with the error; they count as unset.
pub fn problems() -> &'static [(String, Error)] {
    &environment().problems
}

/// Returns the names of the variables that this crate reads, without those of registered flags.
pub fn variables() -> Vec<String> {
    let of_flags = table::own_flag_specs().flat_map(FlagSpec::variables);
    let others = env::OWN_VARS.map(|(name, _)| name).into_iter().chain(env::FOREIGN_VARS);
    let named = others.map(str::to_owned).chain(libraries::variables());
    let mut all: Vec<String> = of_flags.chain(named).collect();
    sort_short_by(&mut all, String::le);
    all.dedup();
    all
}

fn read_from(variables: &Variables) -> Environment {
    let forbids_tf32 = variables.get(env::TF32_OVERRIDE).is_some_and(|value| value.as_deref() == Some("0"));
    let mut read = Environment {
        flags: FlagSlots::default(),
        sources: Vec::new(),
        problems: Vec::new(),
        forbids_tf32,
        num_threads: env::NUM_THREADS
            .iter()
            .find_map(|name| parse_num_threads(variables.get(*name)?.as_deref()?)),
    };
    // Aliases come first, so that a variable of a node takes precedence.
    for spec in table::aliases_first() {
        read.read_first_set(spec, variables);
    }
    read.problems.extend(invalid_switches(variables));
    read.problems.extend(unknown(variables));
    read
}

/// Parses `OMP_NUM_THREADS`, a number or a list of which the first number is for regions that are not nested.
/// Reports no problem: OpenMP runtimes report those of their variables.
fn parse_num_threads(text: &str) -> Option<NonZeroUsize> {
    text.split(',').next()?.trim().parse().ok()
}

impl Environment {
    /// Applies the first variable of a flag that is set, can be parsed and requests a value.
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

/// Returns errors for switches that are not flags and are set to something other than on or off.
fn invalid_switches(variables: &Variables) -> impl Iterator<Item = (String, Error)> {
    let switches = env::OWN_VARS.into_iter().filter(|(_, accepted)| *accepted == SWITCH_WORDS);
    switches.filter_map(|(name, _)| {
        let text = variables.get(name)?.as_deref().unwrap_or("no text");
        let given = InputValue::Text(text.into()).to_string();
        let error = Error::FlagValue { name: name.to_owned(), given, allowed: SWITCH_WORDS.to_owned() };
        parse_switch(text).is_none().then(|| (name.to_owned(), error))
    })
}

/// Returns errors for variables with interlock's prefix that it does not read.
fn unknown(variables: &Variables) -> impl Iterator<Item = (String, Error)> {
    let of_flags = table::own_flag_specs().filter(|spec| !spec.is_read_only());
    let mut known: Vec<(String, String)> =
        of_flags.map(|spec| (env::flag_variable(spec.name()), spec.accepted_text())).collect();
    known.extend(env::OWN_VARS.map(|(name, accepted)| (name.to_owned(), accepted.to_owned())));
    known.extend(libraries::variables().map(|name| (name, env::LIBRARY_PATHS.to_owned())));
    variables.keys().filter(|name| name.starts_with(env::PREFIX)).filter_map(move |name| {
        let is_known = known.iter().any(|(known, _)| known == name);
        (!is_known).then(|| {
            // The common prefix would make any two names similar.
            let suggestion =
                suggest(without_prefix(name), known.iter().map(|(known, _)| without_prefix(known)));
            let suggestion =
                known.iter().find(|(known, _)| Some(without_prefix(known)) == suggestion).cloned();
            (name.clone(), Error::UnknownVariable { name: name.clone(), suggestion })
        })
    })
}

fn without_prefix(name: &str) -> &str {
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
    fn read_from_parses_switches() {
        for (text, payload) in [("0", 0), ("false", 0), ("1", 1), ("TRUE", 1)] {
            let environment = read(&[("INTERLOCK_CUDNN_ENABLED", text)]);
            assert_eq!(environment.flags.word(CUDNN_ENABLED.word.id), Some(payload), "{text}");
        }
    }

    #[test]
    fn read_from_reports_values_that_cannot_be_parsed() {
        let environment = read(&[("INTERLOCK_CUDNN_ENABLED", "maybe")]);
        assert_eq!(environment.flags.word(CUDNN_ENABLED.word.id), None);
        let [(variable, error)] = environment.problems.as_slice() else { panic!("one problem") };
        assert_eq!(variable, "INTERLOCK_CUDNN_ENABLED");
        assert!(error.to_string().contains("maybe"), "{error}");
    }

    #[test]
    fn read_from_prefers_interlocks_variable_to_pytorchs() {
        let environment =
            read(&[("INTERLOCK_CUDA_MATMUL_ALLOW_TF32", "0"), ("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "1")]);
        assert_eq!(environment.flags.tree, held(Node::CudaMatmul, Precision::Ieee));
    }

    #[test]
    fn read_from_prefers_a_node_to_its_alias() {
        let environment =
            read(&[("INTERLOCK_CUDNN_ALLOW_TF32", "0"), ("INTERLOCK_CUDNN_CONV_FP32_PRECISION", "tf32")]);
        let expected = held(Node::CudaConv, Precision::Tf32).over(held(Node::CudaRnn, Precision::Ieee));
        assert_eq!(environment.flags.tree, expected);
    }

    #[test]
    fn read_from_applies_variables_of_pytorch_and_vendors() {
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
    fn read_from_prefers_the_threads_of_openmp_to_those_of_mkl() {
        let threads = |variables: &[(&str, &str)]| read(variables).num_threads.map_or(0, NonZeroUsize::get);
        assert_eq!(threads(&[("MKL_NUM_THREADS", "3"), ("OMP_NUM_THREADS", " 2 ")]), 2);
        assert_eq!(threads(&[("MKL_NUM_THREADS", "3"), ("OMP_NUM_THREADS", "0")]), 3);
        assert_eq!(threads(&[("OMP_NUM_THREADS", "4,2")]), 4);
        for invalid in ["", "0", "-1", "many", "99999999999999999999"] {
            assert_eq!(threads(&[("OMP_NUM_THREADS", invalid)]), 0, "{invalid}");
        }
    }

    #[test]
    fn read_from_records_the_variable_of_each_slot() {
        let environment = read(&[("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "1")]);
        let slot = Node::CudaMatmul.slot();
        assert_eq!(environment.sources, [(slot, "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE".to_owned())]);
    }

    #[test]
    fn problems_of_an_unknown_variable_suggest_a_name_and_its_values() {
        let environment = read(&[("INTERLOCK_CUDNN_ENABELD", "1"), ("INTERLOCK_DEBUG", "1"), ("OTHER", "1")]);
        let [(variable, error)] = environment.problems.as_slice() else { panic!("one problem") };
        assert_eq!(variable, "INTERLOCK_CUDNN_ENABELD");
        let message = error.to_string();
        assert!(message.contains("INTERLOCK_CUDNN_ENABLED") && message.contains(SWITCH_WORDS), "{message}");
    }

    #[test]
    fn problems_suggest_no_name_if_only_the_prefix_matches() {
        let environment = read(&[("INTERLOCK_FOO", "1")]);
        let [(_, error)] = environment.problems.as_slice() else { panic!("one problem") };
        assert!(!error.to_string().contains("did you mean"), "{error}");
    }

    #[test]
    fn problems_include_switches_that_are_not_flags() {
        assert!(read(&[("INTERLOCK_DEBUG", "true")]).problems.is_empty());
        let [(variable, error)] = &read(&[("INTERLOCK_DEBUG", "yes")]).problems[..] else {
            panic!("one problem")
        };
        assert_eq!(variable, "INTERLOCK_DEBUG");
        assert_eq!(error.to_string(), "INTERLOCK_DEBUG must be 0, 1, false or true, got 'yes'");
    }

    #[test]
    fn problems_include_values_that_are_not_utf8() {
        let environment = read_from(&[("INTERLOCK_CUDNN_ENABLED".to_owned(), None)].into());
        assert_eq!(environment.problems.len(), 1);
        assert_eq!(environment.flags.word(CUDNN_ENABLED.word.id), None);
    }
}
