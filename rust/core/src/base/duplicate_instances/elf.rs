//! The loaded files of an ELF system, from `dl_iterate_phdr`.

use std::ffi::{CStr, c_int, c_void};
use std::slice;

use super::LoadedFile;
use super::note::Section;

/// The function of the caller, and whether it has been called.
struct Visitor<'a> {
    visit: &'a mut dyn FnMut(&LoadedFile),
    is_first: bool,
}

/// Calls `visit` with each loaded file. `visit` must not load or unload a library.
pub(super) fn for_each(visit: &mut dyn FnMut(&LoadedFile)) {
    let mut visitor = Visitor { visit, is_first: true };
    // SAFETY: `visit_file` is called with the pointer to the local variable, before the function returns.
    unsafe { libc::dl_iterate_phdr(Some(visit_file), (&raw mut visitor).cast()) };
}

unsafe extern "C" fn visit_file(
    info: *mut libc::dl_phdr_info,
    _size: libc::size_t,
    visitor: *mut c_void,
) -> c_int {
    // SAFETY: the loader passes a valid structure, whose first fields exist on every system, and the pointer of
    // `for_each`. No other reference to the visitor exists.
    let (info, visitor) = unsafe { (&*info, &mut *visitor.cast::<Visitor>()) };
    // The program is the first file. glibc reports an empty path for it, musl the first argument.
    let is_program = std::mem::replace(&mut visitor.is_first, false);
    // SAFETY: the path of a loaded file is a C string or null.
    let path = unsafe { (!is_program && !info.dlpi_name.is_null()).then(|| CStr::from_ptr(info.dlpi_name)) };
    let headers = if info.dlpi_phdr.is_null() {
        &[]
    } else {
        // SAFETY: the loader passes the address of the headers and their number.
        unsafe { slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) }
    };
    let sections: Vec<Section> = headers
        .iter()
        .filter(|header| header.p_type == libc::PT_NOTE && is_mapped(header, headers))
        .map(|header| {
            let start = (info.dlpi_addr as usize).wrapping_add(header.p_vaddr as usize);
            let (start, size) = (std::ptr::with_exposed_provenance(start), header.p_memsz as usize);
            // SAFETY: the segment is a part of a readable one, which is mapped while the loader lists the file.
            let bytes = unsafe { slice::from_raw_parts(start, size) };
            // An alignment below 4 means 4.
            Section { bytes, alignment: if header.p_align == 8 { 8 } else { 4 } }
        })
        .collect();
    (visitor.visit)(&LoadedFile { path, sections: &sections });
    0
}

#[cfg(target_pointer_width = "64")]
type Header = libc::Elf64_Phdr;
#[cfg(target_pointer_width = "32")]
type Header = libc::Elf32_Phdr;

/// Returns whether the segment is a part of a loaded segment that is readable.
fn is_mapped(segment: &Header, headers: &[Header]) -> bool {
    headers.iter().any(|loaded| {
        let offset = segment.p_vaddr.checked_sub(loaded.p_vaddr);
        let end = offset.and_then(|offset| offset.checked_add(segment.p_memsz));
        loaded.p_type == libc::PT_LOAD
            && loaded.p_flags & libc::PF_R != 0
            && end.is_some_and(|end| end <= loaded.p_memsz)
    })
}
