//! Sets the soname of NVIDIA's driver library, and links the library by that name for the tests of this package.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    if env::var("CARGO_CFG_TARGET_OS").as_deref() != Ok("linux") {
        return Ok(());
    }
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
    // Its threads and fork handlers must not outlive its code.
    println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    let folder = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    // The path of the library, relative to the output folder of the build script.
    let library = folder.join("../../../deps/libfake_cuda.so");
    for name in ["libcuda.so", "libcuda.so.1"] {
        link(&library, &folder.join(name))?;
    }
    println!("cargo:rustc-link-arg-tests=-Wl,-rpath,{}", folder.display());
    Ok(())
}

#[cfg(unix)]
fn link(library: &Path, name: &Path) -> io::Result<()> {
    if name.is_symlink() {
        fs::remove_file(name)?;
    }
    std::os::unix::fs::symlink(library, name)
}

#[cfg(not(unix))]
fn link(_: &Path, _: &Path) -> io::Result<()> {
    Ok(())
}
