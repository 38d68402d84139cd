//! The note of a copy, which has the format of an ELF note.

/// The information in a note about the instances in its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct NoteKind(u32);

impl NoteKind {
    /// The file contains a copy.
    pub const COPY: NoteKind = NoteKind(1);
    /// The copies of the file are separate on purpose.
    pub const SEPARATE: NoteKind = NoteKind(2);
}

const NAME: &[u8; 10] = b"interlock\0";

/// An ELF note with the version of the crate.
///
/// It contains no pointer, so the loader does not change it and its section is read-only.
#[derive(Debug)]
#[repr(C, align(4))]
pub struct Note {
    name_size: u32,
    description_size: u32,
    kind: NoteKind,
    name: [u8; NAME.len().next_multiple_of(4)],
    /// Padded with null bytes.
    version: [u8; 32],
}

impl Note {
    /// Creates a note of this version of the crate.
    pub const fn new(kind: NoteKind) -> Self {
        const VERSION: &[u8] = env!("CARGO_PKG_VERSION").as_bytes();
        let mut note = Note {
            name_size: NAME.len() as u32,
            description_size: 32,
            kind,
            name: [0; 12],
            version: [0; 32],
        };
        note.name.split_at_mut(NAME.len()).0.copy_from_slice(NAME);
        note.version.split_at_mut(VERSION.len()).0.copy_from_slice(VERSION);
        note
    }
}

/// Bytes of a loaded file that contain notes.
pub(super) struct Section<'a> {
    pub(super) bytes: &'a [u8],
    /// The alignment of notes and descriptions, a power of two.
    pub(super) alignment: usize,
}

/// A note of this crate in a loaded file.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FoundNote<'a> {
    pub(super) address: usize,
    pub(super) kind: NoteKind,
    pub(super) version: &'a str,
}

impl<'a> Section<'a> {
    /// Iterates over the notes of this crate, up to the first that is malformed.
    pub(super) fn notes(&self) -> impl Iterator<Item = FoundNote<'a>> {
        let (mut rest, alignment) = (self.bytes, self.alignment);
        let all = std::iter::from_fn(move || {
            let note;
            (note, rest) = split_note(rest, alignment)?;
            Some(note)
        });
        all.filter(|note| note.name == NAME).map(|note| FoundNote {
            address: note.address,
            kind: NoteKind(note.kind),
            version: version_of(note.description),
        })
    }
}

struct AnyNote<'a> {
    address: usize,
    kind: u32,
    name: &'a [u8],
    description: &'a [u8],
}

/// Returns the first note and the bytes after it.
fn split_note(bytes: &[u8], alignment: usize) -> Option<(AnyNote<'_>, &[u8])> {
    let (name_size, rest) = split_word(bytes)?;
    let (description_size, rest) = split_word(rest)?;
    let (kind, rest) = split_word(rest)?;
    let name_start = bytes.len() - rest.len();
    let name_end = name_start.checked_add(name_size as usize)?;
    let description_start = name_end.checked_next_multiple_of(alignment)?;
    let description_end = description_start.checked_add(description_size as usize)?;
    let note = AnyNote {
        address: bytes.as_ptr().addr(),
        kind,
        name: bytes.get(name_start..name_end)?,
        description: bytes.get(description_start..description_end)?,
    };
    // The last note may lack the padding.
    let after = description_end.checked_next_multiple_of(alignment)?;
    Some((note, bytes.get(after..).unwrap_or_default()))
}

fn split_word(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let (word, rest) = bytes.split_first_chunk()?;
    Some((u32::from_ne_bytes(*word), rest))
}

fn version_of(description: &[u8]) -> &str {
    let text = description.split(|byte| *byte == 0).next().unwrap_or_default();
    std::str::from_utf8(text).unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the bytes of a note with this name and description, padded.
    fn bytes_of(name: &[u8], description: &[u8], alignment: usize) -> Vec<u8> {
        let sizes = [name.len() as u32, description.len() as u32, 1];
        let mut bytes: Vec<u8> = sizes.iter().flat_map(|word| word.to_ne_bytes()).collect();
        for part in [name, description] {
            bytes.extend(part);
            bytes.resize(bytes.len().next_multiple_of(alignment), 0);
        }
        bytes
    }

    fn versions(bytes: &[u8], alignment: usize) -> Vec<&str> {
        Section { bytes, alignment }.notes().map(|note| note.version).collect()
    }

    #[test]
    fn notes_returns_every_note_of_the_crate_among_others() {
        for alignment in [4, 8] {
            let bytes = [
                bytes_of(b"GNU\0", b"0123456789", alignment),
                bytes_of(NAME, b"0.1.0\0\0\0", alignment),
                bytes_of(b"", b"", alignment),
                bytes_of(NAME, b"0.2.0", alignment),
            ];
            assert_eq!(versions(&bytes.concat(), alignment), ["0.1.0", "0.2.0"]);
        }
    }

    #[test]
    fn notes_ends_at_a_note_that_exceeds_the_section() {
        let whole = bytes_of(NAME, b"0.1.0", 4);
        for size in 0..whole.len() - 3 {
            assert_eq!(versions(&whole[..size], 4), [""; 0], "{size}");
        }
        // The padding of the last note may be missing.
        assert_eq!(versions(&whole[..whole.len() - 3], 4), ["0.1.0"]);
        let huge = [u32::MAX.to_ne_bytes(); 3].concat();
        assert_eq!(versions(&huge, 4), [""; 0]);
    }

    #[test]
    fn note_has_the_format_of_elf() {
        let note = Note::new(NoteKind::SEPARATE);
        // SAFETY: the structure has no padding, which the equal sizes check.
        let bytes: [u8; size_of::<Note>()] = unsafe { std::mem::transmute(note) };
        assert_eq!(size_of::<Note>(), 3 * 4 + 12 + 32);
        let found: Vec<_> = Section { bytes: &bytes, alignment: 4 }.notes().collect();
        let (address, version) = (bytes.as_ptr().addr(), env!("CARGO_PKG_VERSION"));
        assert_eq!(found, [FoundNote { address, kind: NoteKind::SEPARATE, version }]);
    }
}
