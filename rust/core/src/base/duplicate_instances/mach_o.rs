//! The loaded files of macOS, from the functions of `dyld`.

use std::ffi::{CStr, c_char, c_ulong, c_void};
use std::slice;

use super::LoadedFile;
use super::note::Section;

// SAFETY: these are the declarations of <mach-o/dyld.h> and <mach-o/getsect.h>; the header of a file is opaque here.
unsafe extern "C" {
    safe fn _dyld_image_count() -> u32;
    safe fn _dyld_get_image_header(index: u32) -> *const c_void;
    safe fn _dyld_get_image_name(index: u32) -> *const c_char;
    fn getsectiondata(
        header: *const c_void,
        segment: *const c_char,
        section: *const c_char,
        size: *mut c_ulong,
    ) -> *const u8;
}

/// Calls `visit` with each loaded file. `visit` must not load or unload a library.
pub(super) fn for_each(visit: &mut dyn FnMut(&LoadedFile)) {
    for index in 0.._dyld_image_count() {
        let (header, path) = (_dyld_get_image_header(index), _dyld_get_image_name(index));
        // Null if the file was unloaded meanwhile.
        if header.is_null() || path.is_null() {
            continue;
        }
        let mut size = 0;
        // SAFETY: the header is that of a loaded file, and the names are C strings. dyld
        // never unloads a file with thread-local variables, so the section of a copy stays mapped.
        let bytes = unsafe {
            let start = getsectiondata(header, c"__DATA".as_ptr(), c"__interlock".as_ptr(), &raw mut size);
            if start.is_null() {
                continue;
            }
            slice::from_raw_parts(start, size as usize)
        };
        // SAFETY: the path of a loaded file is a C string.
        let path = unsafe { CStr::from_ptr(path) };
        // The program is the first file.
        let path = (index != 0).then_some(path);
        visit(&LoadedFile { path, sections: &[Section { bytes, alignment: 4 }] });
    }
}
