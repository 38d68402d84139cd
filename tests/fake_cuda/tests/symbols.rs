//! The exported symbols of the built library.

#![cfg(target_os = "linux")]

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::{env, fs};

/// Returns the path of the library, which is built into the folder of the tests or its parent.
fn library() -> PathBuf {
    let test = env::current_exe().unwrap();
    let folders = test.ancestors().skip(1).take(2);
    let mut built = folders.map(|folder| folder.join("libfake_cuda.so"));
    built.find(|path| path.exists()).unwrap()
}

/// A 64-bit little-endian ELF file.
struct Elf(Vec<u8>);

struct Section {
    kind: usize,
    start: usize,
    bytes: usize,
    link: usize,
}

impl Elf {
    fn number(&self, start: usize, bytes: usize) -> usize {
        let digits = self.0[start..start + bytes].iter().rev();
        digits.fold(0, |number, digit| number << 8 | usize::from(*digit))
    }

    fn text(&self, start: usize) -> String {
        let text = self.0[start..].iter().take_while(|letter| **letter != 0);
        text.map(|letter| char::from(*letter)).collect()
    }

    fn section(&self, index: usize) -> Section {
        let header = self.number(0x28, 8) + index * self.number(0x3a, 2);
        Section {
            kind: self.number(header + 0x04, 4),
            start: self.number(header + 0x18, 8),
            bytes: self.number(header + 0x20, 8),
            link: self.number(header + 0x28, 4),
        }
    }

    fn sections(&self, kind: usize) -> impl Iterator<Item = Section> {
        (0..self.number(0x3c, 2)).map(|index| self.section(index)).filter(move |section| section.kind == kind)
    }

    /// Returns the names of the defined dynamic symbols.
    fn exported(&self) -> BTreeSet<String> {
        const DYNAMIC_SYMBOLS: usize = 11;
        let table = self.sections(DYNAMIC_SYMBOLS).next().unwrap();
        let names = self.section(table.link).start;
        let symbols = (table.start..table.start + table.bytes).step_by(24);
        let defined = symbols.filter(|symbol| self.number(symbol + 6, 2) != 0);
        defined.map(|symbol| self.text(names + self.number(symbol, 4))).collect()
    }

    /// Returns the soname.
    fn soname(&self) -> String {
        const DYNAMIC: usize = 6;
        const SONAME: usize = 14;
        let table = self.sections(DYNAMIC).next().unwrap();
        let names = self.section(table.link).start;
        let mut entries = (table.start..table.start + table.bytes).step_by(16);
        let entry = entries.find(|entry| self.number(*entry, 8) == SONAME).unwrap();
        self.text(names + self.number(entry + 8, 8))
    }
}

#[test]
fn library_exports_the_listed_functions_and_no_others() {
    let elf = Elf(fs::read(library()).unwrap());
    let listed: BTreeSet<_> = include_str!("../symbols.txt").lines().map(str::to_owned).collect();
    let (own, exported): (BTreeSet<_>, BTreeSet<_>) =
        elf.exported().into_iter().partition(|name| name.starts_with("fake_cuda_"));
    assert_eq!(exported, listed);
    assert_eq!(own.len(), 6);
    assert_eq!(elf.soname(), "libcuda.so.1");
}
