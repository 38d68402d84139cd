//! Which devices a process sees, by the rules of `CUDA_VISIBLE_DEVICES`.

use std::collections::BTreeSet;

/// The text by which a device is named for good.
pub(crate) fn uuid(device: u8) -> String {
    format!("GPU-00000000-0000-0000-0000-{device:012x}")
}

/// The visible ones of so many devices, in the order in which the variable names them. The first entry that names none
/// ends the list, and one that is named twice empties it.
pub(crate) fn devices(installed: u8, variable: Option<&str>) -> Vec<u8> {
    let Some(variable) = variable else { return (0..installed).collect() };
    let entries = variable.split(',').map(|entry| named(installed, entry.trim()));
    let visible: Vec<_> = entries.take_while(Option::is_some).flatten().collect();
    let different: BTreeSet<_> = visible.iter().collect();
    if different.len() == visible.len() { visible } else { Vec::new() }
}

/// The device that an entry names: by its number, or by the beginning of its name if no other begins so.
fn named(installed: u8, entry: &str) -> Option<u8> {
    if entry.starts_with("GPU-") {
        let entry = entry.to_ascii_lowercase();
        let mut fitting =
            (0..installed).filter(|device| uuid(*device).to_ascii_lowercase().starts_with(&entry));
        let first = fitting.next();
        return first.filter(|_| fitting.next().is_none());
    }
    // What follows the digits does not count, as with the function of C that reads them.
    let digits = entry.strip_prefix('+').unwrap_or(entry);
    let end = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
    digits.get(..end)?.parse().ok().filter(|device| *device < installed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_the_variable_all_are_visible_and_with_an_empty_one_none() {
        assert_eq!(devices(3, None), [0, 1, 2]);
        assert!(devices(3, Some("")).is_empty() && devices(3, Some("-1")).is_empty());
    }

    #[test]
    fn the_first_bad_entry_ends_the_list() {
        assert_eq!(devices(3, Some("2,0,7,1")), [2, 0]);
        assert_eq!(devices(3, Some(" 1 , x, 0")), [1]);
        assert_eq!(devices(3, Some("1,-1,0")), [1]);
        assert_eq!(devices(3, Some("2gpu,0")), [2, 0]);
        assert_eq!(devices(3, Some("0,MIG-1,1")), [0]);
    }

    #[test]
    fn a_device_that_is_named_twice_empties_the_list() {
        assert!(devices(3, Some("0,1,0")).is_empty());
        assert!(devices(3, Some(&format!("1,{}", uuid(1)))).is_empty());
        assert_eq!(devices(3, Some("0,1,9,0")), [0, 1]);
    }

    #[test]
    fn a_name_may_be_cut_as_long_as_one_device_has_it() {
        assert_eq!(devices(3, Some(&uuid(2))), [2]);
        assert!(devices(3, Some("GPU-0000")).is_empty());
        assert_eq!(devices(1, Some("GPU-0000")), [0]);
        assert_eq!(devices(16, Some("GPU-00000000-0000-0000-0000-00000000000F")), [15]);
    }
}
