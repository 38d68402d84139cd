//! Vendor libraries: what they are called and whether this process has them.

/// A library that this crate never links.
#[derive(Debug)]
pub struct Library {
    name: &'static str,
    /// The names under which the loader knows it.
    sonames: &'static [&'static str],
}

pub(crate) static CUBLAS: Library =
    Library { name: "cuBLAS", sonames: &["libcublas.so.13", "libcublas.so.12", "libcublas.so.11"] };
pub(crate) static CUDNN: Library = Library { name: "cuDNN", sonames: &["libcudnn.so.9", "libcudnn.so.8"] };
pub(crate) static ONEDNN: Library =
    Library { name: "oneDNN", sonames: &["libdnnl.so.3", "libdnnl.so.2", "libdnnl.3.dylib"] };

impl Library {
    /// The name as its makers write it.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether somebody has loaded it into this process; looking does not load it.
    pub fn is_loaded(&self) -> bool {
        self.sonames.iter().any(|soname| is_loaded(soname))
    }
}

fn is_loaded(soname: &str) -> bool {
    use libloading::os::unix;
    // SAFETY: RTLD_NOLOAD never runs a library's initialisers; it only counts one more reference to
    // a library that is there, and dropping the handle takes that back.
    unsafe { unix::Library::open(Some(soname), unix::RTLD_LAZY | libc::RTLD_NOLOAD) }.is_ok()
}
