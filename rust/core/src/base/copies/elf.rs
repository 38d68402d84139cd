//! Marks as ELF notes, which `dl_iterate_phdr` finds.

use std::ffi::{CStr, OsStr, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Copy;

/// The vendor of the notes, with its null byte.
const VENDOR: [u8; 12] = *b"interlock\0\0\0";
const VENDOR_BYTES: u32 = 10;

/// The note of a copy; its contents are the version.
const COPY: u32 = 1;
/// The note of a file whose copy is exempt.
const EXEMPT: u32 = 2;

/// A note as the ELF format stores it: sizes, type, vendor, contents, each aligned to 4 bytes.
#[repr(C, align(4))]
struct Note {
    vendor_bytes: u32,
    contents_bytes: u32,
    kind: u32,
    vendor: [u8; 12],
    contents: [u8; 16],
}

impl Note {
    const fn new(kind: u32, contents: &str) -> Self {
        let mut padded = [0; 16];
        let mut rest = contents.as_bytes();
        let mut place: &mut [u8] = &mut padded;
        while let ([byte, bytes @ ..], [target, targets @ ..]) = (rest, place) {
            *target = *byte;
            (rest, place) = (bytes, targets);
        }
        Note { vendor_bytes: VENDOR_BYTES, contents_bytes: 16, kind, vendor: VENDOR, contents: padded }
    }
}

/// The mark of this copy.
#[used]
#[unsafe(link_section = ".note.interlock")]
static MARK: Note = Note::new(COPY, env!("CARGO_PKG_VERSION"));

/// A mark that exempts the file that contains it: its copy of this crate is separate on purpose. Declare a static of
/// this type in the section `.note.interlock` and call [`Exemption::retain`].
#[doc(hidden)]
#[repr(transparent)]
pub struct Exemption(Note);

impl Exemption {
    /// Creates the mark.
    #[allow(clippy::new_without_default, reason = "only for a static")]
    pub const fn new() -> Self {
        Exemption(Note::new(EXEMPT, ""))
    }

    /// Reads the mark, so that the linker retains it.
    pub fn retain(&self) {
        std::hint::black_box(self.0.kind);
    }
}

/// Returns the copies that are not exempt.
pub(super) fn loaded() -> Vec<Copy> {
    let mut search = Search { mark: (&raw const MARK).addr(), found: Vec::new() };
    let data = (&raw mut search).cast::<c_void>();
    // SAFETY: `visit` accepts this data, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), data) };
    search.found
}

struct Search {
    /// The address of the mark of this copy.
    mark: usize,
    found: Vec<Copy>,
}

/// Adds the copies in one file.
unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, _size: usize, data: *mut c_void) -> c_int {
    // SAFETY: the loader passes a valid object, and `loaded` the search.
    let (info, search) = unsafe { (&*info, &mut *data.cast::<Search>()) };
    if info.dlpi_phdr.is_null() {
        return 0;
    }
    // SAFETY: the loader describes as many segments.
    let segments = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    let mut notes = Vec::new();
    for segment in segments.iter().filter(|segment| segment.p_type == libc::PT_NOTE) {
        let start = (info.dlpi_addr as usize).wrapping_add(segment.p_vaddr as usize);
        let start = std::ptr::with_exposed_provenance::<u8>(start);
        // SAFETY: the segment is mapped while the loader's lock is held.
        let bytes = unsafe { std::slice::from_raw_parts(start, segment.p_memsz as usize) };
        notes_in(bytes, segment.p_align as usize, &mut notes);
    }
    if notes.iter().any(|note| note.kind == EXEMPT) || notes.is_empty() {
        return 0;
    }
    // SAFETY: the loader passes a text or null.
    let name = (!info.dlpi_name.is_null()).then(|| unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes());
    let name = name.filter(|name| !name.is_empty());
    let file = match name {
        Some(name) => absolute(Path::new(OsStr::from_bytes(name))),
        // Only the program itself has no name.
        None => std::env::current_exe().unwrap_or_else(|_| PathBuf::from("this program")),
    };
    let copies = notes.into_iter().map(|note| Copy {
        file: file.clone(),
        version: note.contents,
        is_program: name.is_none(),
        is_this: note.address == search.mark,
    });
    search.found.extend(copies);
    0
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

struct FoundNote {
    address: usize,
    kind: u32,
    contents: String,
}

/// Adds the notes of this crate in a segment.
fn notes_in(segment: &[u8], align: usize, found: &mut Vec<FoundNote>) {
    const HEAD: usize = 12;
    // Values other than 8 mean 4.
    let align = if align == 8 { 8 } else { 4 };
    let mut rest = segment;
    while let Some((head, body)) = rest.split_at_checked(HEAD) {
        let word = |index: usize| {
            let bytes = head.get(4 * index..4 * index + 4).and_then(|bytes| bytes.try_into().ok());
            u32::from_ne_bytes(bytes.unwrap_or_default())
        };
        let (vendor_bytes, contents_bytes, kind) = (word(0) as usize, word(1) as usize, word(2));
        let Some(contents_start) = vendor_bytes.checked_next_multiple_of(align) else { return };
        let end = contents_start.checked_add(contents_bytes);
        let (Some(vendor), Some(contents)) =
            (body.get(..vendor_bytes), end.and_then(|end| body.get(contents_start..end)))
        else {
            return;
        };
        if VENDOR.get(..vendor_bytes) == Some(vendor) && vendor_bytes == VENDOR_BYTES as usize {
            let text = contents.split(|byte| *byte == 0).next().unwrap_or_default();
            let contents = String::from_utf8_lossy(text).into_owned();
            found.push(FoundNote { address: head.as_ptr().addr(), kind, contents });
        }
        let Some(next) = end.and_then(|end| end.checked_next_multiple_of(align)) else { return };
        rest = body.get(next..).unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(note: &Note) -> &[u8] {
        // SAFETY: a note has no padding.
        unsafe { std::slice::from_raw_parts(std::ptr::from_ref(note).cast(), size_of::<Note>()) }
    }

    fn kinds(segment: &[u8], align: usize) -> Vec<(u32, String)> {
        let mut found = Vec::new();
        notes_in(segment, align, &mut found);
        found.into_iter().map(|note| (note.kind, note.contents)).collect()
    }

    #[test]
    fn notes_in_finds_the_notes_of_this_crate_among_others() {
        let other = [4_u32, 5, 1].map(u32::to_ne_bytes).concat();
        let other = [&other[..], b"GNU\0", b"12345\0\0\0"].concat();
        let (copy, exempt) = (Note::new(COPY, "1.2.3"), Note::new(EXEMPT, ""));
        let segment = [&other[..], bytes(&copy), &other[..], bytes(&exempt)].concat();
        let expected = vec![(COPY, "1.2.3".to_owned()), (EXEMPT, String::new())];
        assert_eq!(kinds(&segment, 4), expected);
        assert_eq!(kinds(&segment[..segment.len() - 1], 4), expected[..1], "the last note is cut");
    }

    #[test]
    fn notes_in_stops_at_sizes_beyond_the_segment() {
        for sizes in [[u32::MAX, 0], [0, u32::MAX], [u32::MAX, u32::MAX], [10, 17]] {
            let head = [sizes[0], sizes[1], COPY].map(u32::to_ne_bytes).concat();
            for align in [0, 4, 8] {
                assert_eq!(kinds(&[&head[..], &VENDOR].concat(), align), []);
            }
        }
        assert_eq!(kinds(&[], 4), []);
        assert_eq!(kinds(&[0; 11], 4), []);
    }
}
