//! The environment variables that this crate reads.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use once_cell::race::OnceBool;

/// The prefix of interlock's own variables.
pub const PREFIX: &str = "INTERLOCK_";

/// A switch: records the source locations of flag writes and of entered scopes.
const DEBUG: &str = "INTERLOCK_DEBUG";

/// A switch: prints each call of an operation with the choice of its kernel.
const DISPATCH: &str = "INTERLOCK_DISPATCH";

/// Selects the driver: `host`, `host:N` for N devices, `cuda`, the name of a registered one, or `none`.
pub const ACCELERATOR: &str = "INTERLOCK_ACCELERATOR";

/// Detects races between streams, and prints them at exit. The Python package reads it.
const DETECT_RACES: &str = "INTERLOCK_DETECT_RACES";

/// The state of the process that started this one, as JSON. The Python package reads it.
const STATE: &str = "INTERLOCK_STATE";

/// Interlock's own variables besides those of flags and libraries, with the values that they accept.
pub const OWN_VARS: [(&str, &str); 6] = [
    (DEBUG, SWITCH_WORDS),
    (DISPATCH, SWITCH_WORDS),
    (ACCELERATOR, "host, host:N, cuda, the type of a registered driver, or none"),
    (DETECT_RACES, "0, 1 or poison"),
    (STATE, "the JSON of interlock.integrations.Portable"),
    (ALLOC_CONF[0], "keys and values as PYTORCH_ALLOC_CONF does"),
];

/// The configuration of the caching allocator, in descending priority: interlock's own name, PyTorch's, and PyTorch's
/// older one.
pub const ALLOC_CONF: [&str; 3] = ["INTERLOCK_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"];

/// Set to any value: device memory is not cached.
pub const NO_MEMORY_CACHING: &str = "PYTORCH_NO_CUDA_MEMORY_CACHING";

/// The devices that NVIDIA's driver makes visible.
pub const VISIBLE_DEVICES: &str = "CUDA_VISIBLE_DEVICES";

/// `0` forbids NVIDIA's libraries to use TensorFloat-32, whatever a program requests.
pub const TF32_OVERRIDE: &str = "NVIDIA_TF32_OVERRIDE";

/// Lowers the vector instructions that PyTorch's kernels use.
pub const CPU_CAPABILITY: &str = "ATEN_CPU_CAPABILITY";

/// Folders that the system's loader searches before its own.
pub const LIBRARY_PATH: &str =
    if cfg!(target_os = "macos") { "DYLD_LIBRARY_PATH" } else { "LD_LIBRARY_PATH" };

/// The folder of a CUDA toolkit.
pub const CUDA_HOME: &str = "CUDA_HOME";
/// The folder of a CUDA toolkit, by the other name in use.
pub const CUDA_PATH: &str = "CUDA_PATH";

/// The folder of the active conda environment.
pub const CONDA_PREFIX: &str = "CONDA_PREFIX";

/// The verbosity of MKL.
pub const MKL_VERBOSE: &str = "MKL_VERBOSE";

/// The verbosity of oneDNN, in descending priority.
pub const ONEDNN_VERBOSE: [&str; 2] = ["ONEDNN_VERBOSE", "DNNL_VERBOSE"];

/// The number of threads on which an operation runs, in descending priority: OpenMP's variable and MKL's.
pub const NUM_THREADS: [&str; 2] = ["OMP_NUM_THREADS", "MKL_NUM_THREADS"];

/// The variables of PyTorch and vendors that this crate reads, besides those that set flags.
pub const FOREIGN_VARS: [&str; 15] = [
    ALLOC_CONF[1],
    ALLOC_CONF[2],
    NO_MEMORY_CACHING,
    VISIBLE_DEVICES,
    TF32_OVERRIDE,
    CPU_CAPABILITY,
    LIBRARY_PATH,
    CUDA_HOME,
    CUDA_PATH,
    CONDA_PREFIX,
    MKL_VERBOSE,
    ONEDNN_VERBOSE[0],
    ONEDNN_VERBOSE[1],
    NUM_THREADS[0],
    NUM_THREADS[1],
];

/// Returns whether `INTERLOCK_DEBUG` was on at the first call.
pub fn debug() -> bool {
    // Not a blocking cell: a fork while another thread fills it would block the child.
    static DEBUG_ENABLED: OnceBool = OnceBool::new();
    DEBUG_ENABLED.get_or_init(|| read(DEBUG).and_then(|text| parse_switch(&text)).unwrap_or(false))
}

/// Returns whether `INTERLOCK_DISPATCH` is on.
pub fn dispatch() -> bool {
    read(DISPATCH).and_then(|text| parse_switch(&text)).unwrap_or(false)
}

/// Returns the variable that sets a flag: `INTERLOCK_CUDNN_ALLOW_TF32` for `cudnn.allow_tf32`.
pub fn flag_variable(name: &str) -> String {
    format!("{PREFIX}{}", to_env_name(name))
}

/// Returns the variable with the user-supplied path of a vendor library: `INTERLOCK_CUDNN_PATH`.
pub fn library_variable(name: &str) -> String {
    format!("{PREFIX}{}_PATH", to_env_name(name))
}

/// The values that the variable of a library accepts.
pub const LIBRARY_PATHS: &str = "the path of a library, or of a folder with it";

/// Converts a dotted name to the name of a variable.
pub fn to_env_name(name: &str) -> String {
    name.replace('.', "_").to_uppercase()
}

/// The values of a switch in the environment.
pub const SWITCH_WORDS: &str = "0, 1, false or true";

/// Parses a switch of the environment.
pub fn parse_switch(text: &str) -> Option<bool> {
    match text.trim().to_lowercase().as_str() {
        "0" | "false" => Some(false),
        "1" | "true" => Some(true),
        _ => None,
    }
}

/// A copy of the environment, which a thread reads instead.
///
/// In C, no thread may read the environment while another one changes it. A lock that prevents changes, in a Python
/// program being attached to the interpreter, is only needed during the copy.
#[derive(Clone, Debug)]
pub struct EnvSnapshot(HashMap<OsString, OsString>);

thread_local! {
    static COPY: RefCell<Option<EnvSnapshot>> = const { RefCell::new(None) };
}

impl EnvSnapshot {
    /// Copies the environment.
    pub fn copy() -> Self {
        EnvSnapshot(std::env::vars_os().collect())
    }

    /// Calls `work`, during which this thread reads the copy.
    pub fn scope<R>(self, work: impl FnOnce() -> R) -> R {
        /// Restores the previous copy, also if `work` panics.
        struct Before(Option<EnvSnapshot>);
        impl Drop for Before {
            fn drop(&mut self) {
                COPY.set(self.0.take());
            }
        }
        let _before = Before(COPY.replace(Some(self)));
        work()
    }
}

/// Returns the value of a variable, if it is set.
pub fn value(variable: &str) -> Option<OsString> {
    let in_copy = |copy: &RefCell<Option<EnvSnapshot>>| {
        copy.borrow().as_ref().map(|EnvSnapshot(variables)| variables.get(OsStr::new(variable)).cloned())
    };
    // A thread that is ending has no copy.
    COPY.try_with(in_copy).ok().flatten().unwrap_or_else(|| std::env::var_os(variable))
}

/// Variables with their values; `None` for a value that is not UTF-8.
pub type Variables = BTreeMap<String, Option<String>>;

/// Returns every variable whose name is UTF-8.
pub fn all() -> Variables {
    let named =
        |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()));
    let mut all = Variables::new();
    // Collecting would compile a sort.
    all.extend(std::env::vars_os().filter_map(named));
    all
}

/// Returns the value of a variable, if it is set and is UTF-8.
pub fn read(variable: &str) -> Option<String> {
    value(variable)?.into_string().ok()
}

/// Returns the value of a variable, if it is set; invalid UTF-8 is replaced by U+FFFD.
pub fn read_lossy(variable: &str) -> Option<String> {
    value(variable).map(|value| value.to_string_lossy().into_owned())
}

/// Returns the folders that a variable lists, without empty entries.
pub fn paths(variable: &str) -> Vec<PathBuf> {
    let listed = value(variable).unwrap_or_default();
    std::env::split_paths(&listed).filter(|path| !path.as_os_str().is_empty()).collect()
}

/// Returns the path that a variable names, unless it is empty.
pub fn path(variable: &str) -> Option<PathBuf> {
    value(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scope_reads_the_copy_instead_of_the_environment() {
        const NAME: &str = "INTERLOCK_OF_A_TEST";
        // SAFETY: no other thread of this test reads or changes the environment.
        unsafe { std::env::set_var(NAME, "before") };
        let copy = EnvSnapshot::copy();
        // SAFETY: as above.
        unsafe { std::env::set_var(NAME, "after") };
        copy.clone().scope(|| {
            assert_eq!(read(NAME).as_deref(), Some("before"));
            let thread = std::thread::spawn(|| read(NAME));
            assert_eq!(thread.join().unwrap().as_deref(), Some("after"), "the copy is for one thread");
        });
        let unwound = std::panic::catch_unwind(|| copy.scope(|| panic!("in the middle")));
        assert!(unwound.is_err());
        assert_eq!(read(NAME).as_deref(), Some("after"));
    }

    #[test]
    fn own_and_foreign_vars_list_every_variable() {
        let mut listed: Vec<&str> = OWN_VARS.map(|(name, _)| name).to_vec();
        listed.extend(FOREIGN_VARS);
        let (named, _) = include_str!("env.rs").split_once("#[cfg(test)]").unwrap();
        let is_name = |text: &str| text.len() > 1 && text.chars().all(|c| c.is_ascii_uppercase() || c == '_');
        let names: Vec<&str> = named.split('"').filter(|text| is_name(text) && *text != PREFIX).collect();
        assert!(names.contains(&LIBRARY_PATH) && names.contains(&DEBUG));
        // The variable of the loader on the other system.
        let elsewhere = ["LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"];
        for name in names {
            assert!(listed.contains(&name) || elsewhere.contains(&name), "{name}");
        }
    }
}
