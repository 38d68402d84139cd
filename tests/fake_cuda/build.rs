//! Gives the library the name by which programs ask for NVIDIA's driver.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libcuda.so.1");
        // It has threads and handlers of forks, which must not outlive its code.
        println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
