//! The visible devices by the rules of `CUDA_VISIBLE_DEVICES`.

use std::collections::BTreeSet;

/// Returns the UUID of a device.
pub(crate) fn uuid(device: u8) -> String {
    format!("GPU-00000000-0000-0000-0000-{device:012x}")
}

/// Returns the visible devices in the order of the variable. The first invalid entry ends the list, and a duplicate
/// empties it.
pub(crate) fn devices(installed: u8, variable: Option<&str>) -> Vec<u8> {
    let Some(variable) = variable else { return (0..installed).collect() };
    let entries = variable.split(',').map(|entry| named(installed, entry.trim()));
    let visible: Vec<_> = entries.take_while(Option::is_some).flatten().collect();
    let distinct: BTreeSet<_> = visible.iter().collect();
    if distinct.len() == visible.len() { visible } else { Vec::new() }
}

/// Returns the device of an entry: an index, or an unambiguous prefix of a UUID.
fn named(installed: u8, entry: &str) -> Option<u8> {
    if entry.starts_with("GPU-") {
        let entry = entry.to_ascii_lowercase();
        let mut fitting =
            (0..installed).filter(|device| uuid(*device).to_ascii_lowercase().starts_with(&entry));
        let first = fitting.next();
        return first.filter(|_| fitting.next().is_none());
    }
    // Ignores text after the digits, like C's `strtol`.
    let digits = entry.strip_prefix('+').unwrap_or(entry);
    let end = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
    digits.get(..end)?.parse().ok().filter(|device| *device < installed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_returns_all_without_the_variable_and_none_if_it_is_empty() {
        assert_eq!(devices(3, None), [0, 1, 2]);
        assert!(devices(3, Some("")).is_empty() && devices(3, Some("-1")).is_empty());
    }

    #[test]
    fn devices_stops_at_the_first_invalid_entry() {
        assert_eq!(devices(3, Some("2,0,7,1")), [2, 0]);
        assert_eq!(devices(3, Some(" 1 , x, 0")), [1]);
        assert_eq!(devices(3, Some("1,-1,0")), [1]);
        assert_eq!(devices(3, Some("2gpu,0")), [2, 0]);
        assert_eq!(devices(3, Some("0,MIG-1,1")), [0]);
    }

    #[test]
    fn devices_returns_none_for_a_duplicate_entry() {
        assert!(devices(3, Some("0,1,0")).is_empty());
        assert!(devices(3, Some(&format!("1,{}", uuid(1)))).is_empty());
        assert_eq!(devices(3, Some("0,1,9,0")), [0, 1]);
    }

    #[test]
    fn devices_accepts_an_unambiguous_prefix_of_a_uuid() {
        assert_eq!(devices(3, Some(&uuid(2))), [2]);
        assert!(devices(3, Some("GPU-0000")).is_empty());
        assert_eq!(devices(1, Some("GPU-0000")), [0]);
        assert_eq!(devices(16, Some("GPU-00000000-0000-0000-0000-00000000000F")), [15]);
    }
}
