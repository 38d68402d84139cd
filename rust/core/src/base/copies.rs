//! Finds further copies of this crate in the process. Each has statics and thread-locals of its own, so flags and modes
//! would have two values that contradict each other.
//!
//! A symbol or a variable of the environment does not find them: libraries are opened locally, and a variable is
//! inherited by other processes. So each copy contains a mark, an ELF note (on macOS a section), and the loader's list
//! of libraries shows which files contain one.

#[cfg(target_os = "linux")]
#[path = "copies/elf.rs"]
mod platform;
#[cfg(target_os = "macos")]
#[path = "copies/mach_o.rs"]
mod platform;

use std::path::{Path, PathBuf};

use super::stderr;
use super::sync::RelaxedBool;

pub use platform::Exemption;

/// A file that contains this crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// The program or the library.
    pub file: PathBuf,
    /// The version of the crate.
    pub version: String,
    /// Whether the file is the program itself.
    pub is_program: bool,
    /// Whether it is the copy that runs this code.
    pub is_this: bool,
}

/// Why a second copy was found, and how to remove it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondCopy {
    this: Copy,
    other: Copy,
}

impl SecondCopy {
    /// Returns the sentence that names both files and the cure.
    pub fn message(&self) -> String {
        let (this, other) = (&self.this, &self.other);
        format!(
            "interlock keeps its state once per process, and this process has two copies of it: {} (version {}) and \
             {} (version {}); {}",
            other.file.display(),
            other.version,
            this.file.display(),
            this.version,
            self.cure()
        )
    }

    fn cure(&self) -> &'static str {
        let is_module = |copy: &Copy| file_name(&copy.file).starts_with("_core.");
        match (is_module(&self.this), is_module(&self.other)) {
            _ if self.this.is_program || self.other.is_program => {
                "a program that embeds Python must register its copy with append_to_inittab!(_core) before it \
                 initializes the interpreter"
            }
            (true, true) => {
                "interlock is installed twice: uninstall one of them, or remove its folder from sys.path"
            }
            _ => {
                "an extension module must depend on the crate interlock-capi, which shares the state, instead of \
                 linking interlock's other crates"
            }
        }
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Returns the copies in this process that are not exempt.
pub fn loaded() -> Vec<Copy> {
    platform::loaded()
}

/// Returns another copy than the one that runs this code, unless this one or the other is exempt.
pub fn second_copy() -> Option<SecondCopy> {
    IS_CHECKED.set(true);
    let (this, others): (Vec<Copy>, Vec<Copy>) = loaded().into_iter().partition(|copy| copy.is_this);
    Some(SecondCopy { this: this.into_iter().next()?, other: others.into_iter().next()? })
}

/// Whether this copy has looked for others.
static IS_CHECKED: RelaxedBool = RelaxedBool::new(false);

/// Looks for another copy, once, and prints one line if there is one. For code that cannot return an error.
pub(super) fn report_second_copy() {
    if !IS_CHECKED.get()
        && let Some(found) = second_copy()
    {
        stderr::print(&found.message());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loaded_finds_this_program_alone() {
        let found = loaded();
        assert_eq!(found.len(), 1, "{found:?}");
        let program = std::env::current_exe().unwrap();
        let version = env!("CARGO_PKG_VERSION").to_owned();
        assert_eq!(found[0], Copy { file: program, version, is_program: true, is_this: true });
        assert_eq!(second_copy(), None);
    }

    #[test]
    fn message_names_both_files_and_the_cure() {
        let copy = |file: &str, is_program, is_this| Copy {
            file: file.into(),
            version: "1.2.3".to_owned(),
            is_program,
            is_this,
        };
        let module = |is_this| copy("/site/interlock/_core.abi3.so", false, is_this);
        let cases = [
            (copy("/bin/host", true, false), "append_to_inittab!(_core)"),
            (copy("/lib/ext.so", false, false), "depend on the crate interlock-capi"),
            (copy("/other/interlock/_core.abi3.so", false, false), "installed twice"),
        ];
        for (other, cure) in cases {
            let message = SecondCopy { this: module(true), other: other.clone() }.message();
            let files = [
                other.file.display().to_string(),
                "/site/interlock/_core.abi3.so (version 1.2.3)".to_owned(),
            ];
            assert!(files.iter().all(|file| message.contains(file)) && message.contains(cure), "{message}");
        }
    }
}
