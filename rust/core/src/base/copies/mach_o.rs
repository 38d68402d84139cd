//! Marks as sections, which `getsectiondata` finds in each image of the process.

use std::ffi::{CStr, OsStr, c_char, c_ulong};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::Copy;

const SEGMENT: &CStr = c"__DATA";
const COPIES: &CStr = c"__interlock";
const EXEMPTIONS: &CStr = c"__interlock_x";

/// The mark of a copy: the version, padded with zeros.
type Mark = [u8; 16];

const fn padded(contents: &str) -> Mark {
    let mut padded = [0; 16];
    let mut rest = contents.as_bytes();
    let mut place: &mut [u8] = &mut padded;
    while let ([byte, bytes @ ..], [target, targets @ ..]) = (rest, place) {
        *target = *byte;
        (rest, place) = (bytes, targets);
    }
    padded
}

/// The mark of this copy.
#[used]
#[unsafe(link_section = "__DATA,__interlock")]
static MARK: Mark = padded(env!("CARGO_PKG_VERSION"));

/// A mark that exempts the file that contains it: its copy of this crate is separate on purpose. Declare a static of
/// this type in the section `__DATA,__interlock_x` and call [`Exemption::retain`].
#[doc(hidden)]
#[repr(transparent)]
pub struct Exemption(Mark);

impl Exemption {
    /// Creates the mark.
    #[allow(clippy::new_without_default, reason = "only for a static")]
    pub const fn new() -> Self {
        Exemption(padded("exempt"))
    }

    /// Reads the mark, so that the linker retains it.
    pub fn retain(&self) {
        std::hint::black_box(self.0);
    }
}

unsafe extern "C" {
    fn _dyld_image_count() -> u32;
    fn _dyld_get_image_header(index: u32) -> *const libc::mach_header;
    fn _dyld_get_image_name(index: u32) -> *const c_char;
    fn getsectiondata(
        header: *const libc::mach_header,
        segment: *const c_char,
        section: *const c_char,
        bytes: *mut c_ulong,
    ) -> *const u8;
}

/// Returns the copies that are not exempt.
pub(super) fn loaded() -> Vec<Copy> {
    let here = (&raw const MARK).addr();
    // SAFETY: the function reads the loader's list. An image that is unloaded meanwhile has a null header or name.
    let images = 0..unsafe { _dyld_image_count() };
    images.flat_map(|index| copies_in(index, here)).collect()
}

fn copies_in(index: u32, here: usize) -> Vec<Copy> {
    // SAFETY: both functions accept every index.
    let (header, name) = unsafe { (_dyld_get_image_header(index), _dyld_get_image_name(index)) };
    if header.is_null() || name.is_null() || !section(header, EXEMPTIONS).is_empty() {
        return Vec::new();
    }
    // SAFETY: the name of an image is a text.
    let path = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(name) }.to_bytes()));
    let file = std::path::absolute(path).unwrap_or_else(|_| PathBuf::from(path));
    let marks = section(header, COPIES).chunks_exact(size_of::<Mark>());
    marks
        .map(|mark| Copy {
            file: file.clone(),
            version: String::from_utf8_lossy(mark.split(|byte| *byte == 0).next().unwrap_or_default())
                .into_owned(),
            // The loader lists the program first.
            is_program: index == 0,
            is_this: mark.as_ptr().addr() == here,
        })
        .collect()
}

fn section(header: *const libc::mach_header, name: &CStr) -> &'static [u8] {
    let mut bytes = 0;
    // SAFETY: the header is that of an image, and the names are texts.
    let start = unsafe { getsectiondata(header, SEGMENT.as_ptr(), name.as_ptr(), &raw mut bytes) };
    if start.is_null() {
        return &[];
    }
    // SAFETY: the section has as many bytes. Images with marks are extension modules and programs, which Python and the
    // loader never unload.
    unsafe { std::slice::from_raw_parts(start, bytes as usize) }
}
