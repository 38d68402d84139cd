//! Adds the folder of the linked Python library to the rpath of the program.

fn main() {
    pyo3_build_config::add_libpython_rpath_link_args();
}
