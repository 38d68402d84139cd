//! A program that contains two copies of the crate.
#![cfg(any(target_os = "linux", target_os = "macos"))]

use interlock_core::base::duplicate_instances::{self, LoadedCopy, Note, NoteKind};

/// Stands for the note of another copy, which cannot be linked here: Cargo compiles the crate once.
#[used]
#[cfg_attr(target_os = "linux", unsafe(link_section = ".note.interlock"))]
#[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__interlock"))]
static OTHER_COPY: Note = Note::new(NoteKind::COPY);

#[test]
fn find_returns_a_second_copy_in_the_same_file() {
    let copy = LoadedCopy {
        file: std::env::current_exe().unwrap(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        is_program: true,
    };
    let found = duplicate_instances::find();
    assert_eq!((found.this, found.others), (Some(copy.clone()), vec![copy]));
}
