//! The environment variables that this crate reads, each named once.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use once_cell::race::OnceBool;

/// What the names of our own variables begin with.
pub const PREFIX: &str = "INTERLOCK_";

/// A switch: writes of flags remember where they came from, and scopes where they were entered.
const DEBUG: &str = "INTERLOCK_DEBUG";

/// Which driver is used: `host`, `host:N` for N devices, `cuda`, the name of a registered one, or `none`.
pub const ACCELERATOR: &str = "INTERLOCK_ACCELERATOR";

/// Our own variables besides those of flags and libraries, and what they take.
pub const OWN_VARS: [(&str, &str); 3] = [
    (DEBUG, SWITCH_WORDS),
    (ACCELERATOR, "host, host:N, cuda, the type of a registered driver, or none"),
    (ALLOC_CONF[0], "keys and values as PYTORCH_ALLOC_CONF does"),
];

/// How the allocator keeps memory, the strongest first: our own name, PyTorch's, and its older one.
pub const ALLOC_CONF: [&str; 3] = ["INTERLOCK_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF"];

/// Set to anything: no memory of devices is kept.
pub const NO_MEMORY_CACHING: &str = "PYTORCH_NO_CUDA_MEMORY_CACHING";

/// Which of its devices NVIDIA's driver shows, in its own words.
pub const VISIBLE_DEVICES: &str = "CUDA_VISIBLE_DEVICES";

/// `0` keeps NVIDIA's libraries from TensorFloat-32, whatever a program asks for.
pub const TF32_OVERRIDE: &str = "NVIDIA_TF32_OVERRIDE";

/// Lowers the vector instructions that PyTorch's kernels use.
pub const CPU_CAPABILITY: &str = "ATEN_CPU_CAPABILITY";

/// Folders in which the system's loader looks before its own.
pub const LIBRARY_PATH: &str =
    if cfg!(target_os = "macos") { "DYLD_LIBRARY_PATH" } else { "LD_LIBRARY_PATH" };

/// Where a CUDA toolkit is installed, under two names.
pub const CUDA_HOME: &str = "CUDA_HOME";
pub const CUDA_PATH: &str = "CUDA_PATH";

/// Where the conda environment in use is installed.
pub const CONDA_PREFIX: &str = "CONDA_PREFIX";

/// How much MKL tells of its calls.
pub const MKL_VERBOSE: &str = "MKL_VERBOSE";

/// How much oneDNN tells of its calls, the stronger first.
pub const ONEDNN_VERBOSE: [&str; 2] = ["ONEDNN_VERBOSE", "DNNL_VERBOSE"];

/// The variables of others that this crate reads, besides those that set flags.
pub const FOREIGN_VARS: [&str; 13] = [
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
];

/// Whether `INTERLOCK_DEBUG` was on when it was first asked.
pub fn debug() -> bool {
    // Not a blocking cell: a fork while another thread fills it would leave the child waiting.
    static DEBUG_ENABLED: OnceBool = OnceBool::new();
    DEBUG_ENABLED.get_or_init(|| read(DEBUG).and_then(|text| parse_switch(&text)).unwrap_or(false))
}

/// The variable that sets a flag: `cudnn.allow_tf32` is `INTERLOCK_CUDNN_ALLOW_TF32`.
pub fn flag_variable(name: &str) -> String {
    format!("{PREFIX}{}", to_env_name(name))
}

/// The variable with which the user gives the path of a vendor library: `INTERLOCK_CUDNN_PATH`.
pub fn library_variable(name: &str) -> String {
    format!("{PREFIX}{}_PATH", to_env_name(name))
}

/// What the variable of a library takes.
pub const LIBRARY_PATHS: &str = "the path of a library, or of a folder with it";

/// A dotted name as variables are written.
pub fn to_env_name(name: &str) -> String {
    name.replace('.', "_").to_uppercase()
}

/// How a switch is written in the environment.
pub const SWITCH_WORDS: &str = "0, 1, false or true";

/// Reads a switch of the environment.
pub fn parse_switch(text: &str) -> Option<bool> {
    match text.trim().to_lowercase().as_str() {
        "0" | "false" => Some(false),
        "1" | "true" => Some(true),
        _ => None,
    }
}

/// A copy of the environment, for a thread to read instead.
///
/// The C library lets no thread read the environment while another one changes it. What keeps others from that,
/// in a program of Python being attached to the interpreter, need be held only while the copy is made.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct EnvSnapshot(HashMap<OsString, OsString>);

thread_local! {
    static COPY: RefCell<Option<EnvSnapshot>> = const { RefCell::new(None) };
}

impl EnvSnapshot {
    /// The environment as it is now.
    pub fn copy() -> Self {
        EnvSnapshot(std::env::vars_os().collect())
    }

    /// Has this thread read the copy in whatever it does in `work`.
    pub fn scope<R>(self, work: impl FnOnce() -> R) -> R {
        /// Puts back what was read before, however `work` ends.
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

/// The value of a variable, if it is set.
pub fn value(variable: &str) -> Option<OsString> {
    let in_copy = |copy: &RefCell<Option<EnvSnapshot>>| {
        copy.borrow().as_ref().map(|EnvSnapshot(variables)| variables.get(OsStr::new(variable)).cloned())
    };
    // A thread that ends has no copy any more.
    COPY.try_with(in_copy).ok().flatten().unwrap_or_else(|| std::env::var_os(variable))
}

/// Variables with their values; `None` for a value that is no text.
pub type Variables = BTreeMap<String, Option<String>>;

/// Every variable whose name is text.
pub fn all() -> Variables {
    let named =
        |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()));
    std::env::vars_os().filter_map(named).collect()
}

/// The value of a variable, if it is set and is text.
pub fn read(variable: &str) -> Option<String> {
    value(variable)?.into_string().ok()
}

/// The value of a variable, if it is set; what is no text in it is replaced by a sign that stands for that.
pub fn read_lossy(variable: &str) -> Option<String> {
    value(variable).map(|value| value.to_string_lossy().into_owned())
}

/// The folders of an environment variable that lists some; empty entries name none.
pub fn paths(variable: &str) -> Vec<PathBuf> {
    let listed = value(variable).unwrap_or_default();
    std::env::split_paths(&listed).filter(|path| !path.as_os_str().is_empty()).collect()
}

/// The folder that a variable names.
pub fn path(variable: &str) -> Option<PathBuf> {
    value(variable).filter(|value| !value.is_empty()).map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_read_instead_of_the_environment_until_it_ends() {
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
    fn every_variable_that_is_named_here_is_in_a_list() {
        let mut listed: Vec<&str> = OWN_VARS.map(|(name, _)| name).to_vec();
        listed.extend(FOREIGN_VARS);
        let (named, _) = include_str!("env.rs").split_once("#[cfg(test)]").unwrap();
        let is_name = |text: &str| text.len() > 1 && text.chars().all(|c| c.is_ascii_uppercase() || c == '_');
        let names: Vec<&str> = named.split('"').filter(|text| is_name(text) && *text != PREFIX).collect();
        assert!(names.contains(&LIBRARY_PATH) && names.contains(&DEBUG));
        // The one that the loader of the other system reads.
        let elsewhere = ["LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"];
        for name in names {
            assert!(listed.contains(&name) || elsewhere.contains(&name), "{name}");
        }
    }
}
