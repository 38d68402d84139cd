//! The loaded files of macOS by their file names. `dlopen` finds a loaded file there by its path, not by its name alone.

use std::ffi::{CStr, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

// SAFETY: these are the declarations of <mach-o/dyld.h>.
unsafe extern "C" {
    safe fn _dyld_image_count() -> u32;
    safe fn _dyld_get_image_name(index: u32) -> *const c_char;
}

/// Returns the path of a loaded file with this file name.
pub(super) fn path_of(name: &str) -> Option<PathBuf> {
    (0.._dyld_image_count()).find_map(|index| {
        let path = _dyld_get_image_name(index);
        // Null if files were unloaded meanwhile.
        if path.is_null() {
            return None;
        }
        // SAFETY: the path is a C string that is valid while the file is loaded (SAFETY.md names the remaining race).
        let path = unsafe { CStr::from_ptr(path) };
        let path = Path::new(OsStr::from_bytes(path.to_bytes()));
        path.file_name().is_some_and(|found| found == name).then(|| path.to_owned())
    })
}
