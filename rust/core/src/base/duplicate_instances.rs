//! Finds other copies of this crate in the process.
//!
//! Statics and thread-locals exist once per copy, so flags and modes of one copy have no effect in another. A process
//! has two copies if a program and a library that it loads both link the crate. Each copy has an ELF note (on macOS a
//! section with the same contents) with its version, and the loader lists the notes of every loaded file, also of
//! libraries that were opened with `RTLD_LOCAL`, whose symbols other files cannot look up.
//!
//! The extension module calls `find_conflict` when it is imported, and refuses to be a second copy. Every other copy
//! looks for others once, before its first lock, where it can only print a line (`check_before_first_lock`).

#[cfg_attr(target_os = "linux", path = "duplicate_instances/elf.rs")]
#[cfg_attr(target_os = "macos", path = "duplicate_instances/mach_o.rs")]
#[cfg_attr(not(any(target_os = "linux", target_os = "macos")), path = "duplicate_instances/unsupported.rs")]
mod loaded_files;
mod note;

use std::ffi::{CStr, OsStr};
use std::fmt;
use std::hint::black_box;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::fork;
use super::sync::RelaxedBool;
use note::Section;
pub use note::{Note, NoteKind};

/// The note of this copy. `find` uses its address, so the linker keeps the note in every file with code that locks.
#[used]
#[cfg_attr(target_os = "linux", unsafe(link_section = ".note.interlock"))]
#[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__interlock"))]
static NOTE: Note = Note::new(NoteKind::COPY);

/// Marks the file that is linked: its copy of the crate is separate on purpose, for example because a fake of a foreign
/// library is built from it, and is not reported. The file must be one that no user of interlock links.
#[cfg(feature = "separate-copy")]
#[macro_export]
macro_rules! separate_copy {
    () => {
        const _: () = {
            use $crate::base::duplicate_instances::{Note, NoteKind};

            #[used]
            #[cfg_attr(target_os = "linux", unsafe(link_section = ".note.interlock"))]
            #[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__interlock"))]
            static NOTE: Note = Note::new(NoteKind::SEPARATE);
        };
    };
}

/// Whether this copy has looked for others.
static IS_CHECKED: RelaxedBool = RelaxedBool::new(false);

/// A copy of the crate, and the file that contains it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadedCopy {
    /// The shared library or the program.
    pub file: PathBuf,
    /// The version of the crate.
    pub version: String,
    /// Whether the file is the program that the process runs.
    pub is_program: bool,
}

impl fmt::Display for LoadedCopy {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        write!(formatter, "{} (version {})", self.file.display(), self.version)
    }
}

/// The copies of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Copies {
    /// The copy that contains this code; `None` on systems whose loader is not queried.
    pub this: Option<LoadedCopy>,
    /// The other copies, without those in files that `separate_copy!` marks. If this copy is in such a file, there are
    /// none.
    pub others: Vec<LoadedCopy>,
}

/// Finds the duplicate instances in the process. A caller refuses to be a second copy; the first lock then prints
/// nothing.
pub fn find() -> Copies {
    IS_CHECKED.set(true);
    find_copies()
}

/// Prints a line to stderr if the process has another copy. Has no effect after the first call or after [`find`].
pub(super) fn check_before_first_lock() {
    // Two threads may be here at once. Then both print.
    if IS_CHECKED.get() {
        return;
    }
    IS_CHECKED.set(true);
    if let Copies { this: Some(this), others } = find_copies()
        && let Some(other) = others.first()
    {
        // stderr may be closed.
        _ = io::stderr().write_all(warning(&this, other).as_bytes());
    }
}

fn warning(this: &LoadedCopy, other: &LoadedCopy) -> String {
    let hint = match [this, other].map(|copy| copy.is_program) {
        [true, _] => {
            format!("build {} with interlock-capi instead of the crate interlock", other.file.display())
        }
        _ => format!("build {} with interlock-capi instead of the crate interlock", this.file.display()),
    };
    format!(
        "interlock: this process has two copies of the state, and flags and modes of one have no effect in the other: \
         {other} and {this}; {hint}\n"
    )
}

/// A loaded file with sections of notes.
struct LoadedFile<'a> {
    /// The path by which the loader knows it; `None` for the program.
    path: Option<&'a CStr>,
    sections: &'a [Section<'a>],
}

fn find_copies() -> Copies {
    let (mut copies, mut is_separate) = (Copies::default(), false);
    let mut add = |file: &LoadedFile| is_separate |= copies.add(file);
    // The loader holds a lock while it lists the files, and a child that is forked meanwhile would inherit it.
    fork::initialize_without_forks(|| loaded_files::for_each(&mut add));
    if is_separate {
        copies.others.clear();
    }
    copies
}

impl Copies {
    /// Adds the copies of a file. Returns whether it contains this code and is marked as separate.
    fn add(&mut self, file: &LoadedFile) -> bool {
        // Opaque, because an optimizer that knows the address may omit the note.
        let own_address = black_box(&raw const NOTE).addr();
        let notes = || file.sections.iter().flat_map(Section::notes);
        let is_separate = notes().any(|note| note.kind == NoteKind::SEPARATE);
        let mut contains_this = false;
        for note in notes().filter(|note| note.kind == NoteKind::COPY) {
            let copy = LoadedCopy {
                file: path_of(file.path),
                version: note.version.to_owned(),
                is_program: file.path.is_none(),
            };
            if note.address == own_address {
                contains_this = true;
                self.this = Some(copy);
            } else if !is_separate {
                self.others.push(copy);
            }
        }
        contains_this && is_separate
    }
}

fn path_of(path: Option<&CStr>) -> PathBuf {
    match path {
        Some(path) => Path::new(OsStr::from_bytes(path.to_bytes())).to_owned(),
        None => std::env::current_exe().unwrap_or_else(|_| "the program".into()),
    }
}
