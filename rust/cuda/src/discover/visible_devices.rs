//! Which devices CUDA shows to a process, as `CUDA_VISIBLE_DEVICES` chooses them.
//!
//! The rules are CUDA's, where they are documented or were seen: entries count until the first that names no
//! device, and a device that is named twice hides them all. The first entry decides whether all are indices, UUIDs of
//! GPUs or UUIDs of MIG devices.
//!
//! Indices here are in the order of NVML, which is that of the bus. CUDA orders the fastest device first, unless
//! `CUDA_DEVICE_ORDER` is `PCI_BUS_ID`; so an index may name another GPU there. It names one as long as it is in range,
//! so the count is the same, with one exception: of GPUs with and without MIG devices.

use std::ffi::OsString;

use interlock_core::base::env;

/// A GPU that is in the computer and may be used by this process.
#[derive(Debug)]
pub(crate) struct Gpu {
    /// `GPU-` and hexadecimal digits.
    pub(crate) uuid: String,
    /// The devices into which it is divided; `None` where that mode is off.
    pub(crate) mig: Option<Vec<MigDevice>>,
}

/// A part of a GPU that is a device of its own.
#[derive(Debug)]
pub(crate) struct MigDevice {
    /// `MIG-` and hexadecimal digits.
    pub(crate) uuid: String,
    pub(crate) gpu_instance: u32,
    pub(crate) compute_instance: u32,
}

/// A device that CUDA shows, by its place in the list of GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visible {
    /// A whole one.
    Gpu(usize),
    /// A part of one, by its place there.
    Mig(usize, usize),
}

/// What the variable is now.
pub(crate) fn variable() -> Option<OsString> {
    env::value(env::VISIBLE_DEVICES)
}

/// The devices that CUDA shows where the variable holds this text, or is not set.
pub(crate) fn visible(variable: Option<&str>, gpus: &[Gpu]) -> Vec<Visible> {
    let named = match variable {
        None => devices(gpus).collect(),
        Some(text) => named(text, gpus),
    };
    // A process sees a single MIG device, and beside it no whole GPU.
    match named.iter().find(|device| matches!(device, Visible::Mig(..))) {
        Some(first) => vec![*first],
        None => named,
    }
}

/// What indices count: a GPU that is divided stands for its first part, and is none where it has no parts yet.
fn devices(gpus: &[Gpu]) -> impl Iterator<Item = Visible> {
    gpus.iter().enumerate().filter_map(|(place, gpu)| as_one_device(place, gpu))
}

fn as_one_device(place: usize, gpu: &Gpu) -> Option<Visible> {
    match &gpu.mig {
        None => Some(Visible::Gpu(place)),
        Some(parts) => (!parts.is_empty()).then_some(Visible::Mig(place, 0)),
    }
}

fn named(text: &str, gpus: &[Gpu]) -> Vec<Visible> {
    let find = match text.get(..4) {
        Some("GPU-") => by_uuid,
        Some("MIG-") => by_mig_uuid,
        _ => by_index,
    };
    let mut found = Vec::new();
    for device in text.split(',').map_while(|entry| find(entry, gpus)) {
        if found.contains(&device) {
            return Vec::new();
        }
        found.push(device);
    }
    found
}

fn by_index(entry: &str, gpus: &[Gpu]) -> Option<Visible> {
    devices(gpus).nth(leading_number(entry)?)
}

/// The number with which a text begins, as C's `strtol` reads it: what follows the digits does not count. `None` where
/// there is none that is an index.
fn leading_number(text: &str) -> Option<usize> {
    let text = text.trim_ascii_start();
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let end = digits.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(digits.len());
    let number = digits.get(..end)?.parse().ok()?;
    (!negative || number == 0).then_some(number)
}

/// The GPU of which an entry is the UUID or enough of its beginning.
fn by_uuid(entry: &str, gpus: &[Gpu]) -> Option<Visible> {
    if !entry.starts_with("GPU-") {
        return None;
    }
    let (place, gpu) = only(gpus.iter().enumerate().filter(|(_, gpu)| gpu.uuid.starts_with(entry)))?;
    as_one_device(place, gpu)
}

fn by_mig_uuid(entry: &str, gpus: &[Gpu]) -> Option<Visible> {
    let name = entry.strip_prefix("MIG-")?;
    let is_named = |gpu: &Gpu, part: &MigDevice| match name.starts_with("GPU-") {
        true => name == format!("{}/{}/{}", gpu.uuid, part.gpu_instance, part.compute_instance),
        false => part.uuid.starts_with(entry),
    };
    only(gpus.iter().enumerate().flat_map(|(place, gpu)| {
        let parts = gpu.mig.iter().flatten().enumerate();
        parts.filter(move |(_, part)| is_named(gpu, part)).map(move |(part, _)| Visible::Mig(place, part))
    }))
}

/// The one item that there is.
fn only<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    items.next().filter(|_| items.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUIDS: [&str; 4] = ["GPU-9e8d35e3", "GPU-9e8d4700", "GPU-0a1b", "GPU-0a1b-2"];

    /// GPUs of which some are divided: how many parts each has.
    fn gpus<const N: usize>(parts: [Option<u32>; N]) -> Vec<Gpu> {
        let part = |gpu: &str, number| MigDevice {
            uuid: gpu.replace("GPU-", &format!("MIG-{number}")),
            gpu_instance: 7 + number,
            compute_instance: 0,
        };
        let gpu = |(uuid, parts): (&str, Option<u32>)| Gpu {
            uuid: uuid.to_owned(),
            mig: parts.map(|parts| (0..parts).map(|number| part(uuid, number)).collect()),
        };
        UUIDS.into_iter().zip(parts).map(gpu).collect()
    }

    /// What a variable shows of four whole GPUs.
    fn shown(variable: &str) -> Vec<usize> {
        let place = |device: Visible| match device {
            Visible::Gpu(place) => place,
            Visible::Mig(..) => panic!("{device:?}"),
        };
        visible(Some(variable), &gpus([None; 4])).into_iter().map(place).collect()
    }

    #[test]
    fn without_the_variable_every_gpu_is_visible() {
        assert_eq!(visible(None, &gpus([None; 3])), [0, 1, 2].map(Visible::Gpu));
        assert_eq!(visible(None, &[]), []);
    }

    #[test]
    fn entries_count_until_the_first_that_is_no_device() {
        let table: [(&str, &[usize]); 31] = [
            ("0", &[0]),
            ("2,1", &[2, 1]),
            ("0, 1,\t3", &[0, 1, 3]),
            (" 1 ,2", &[1, 2]),
            ("+3,-0,1", &[3, 0, 1]),
            ("01,002", &[1, 2]),
            ("1gpu2,2ampere", &[1, 2]),
            ("0x1,1", &[0, 1]),
            ("1.9", &[1]),
            ("0:1", &[0]),
            ("", &[]),
            (" ", &[]),
            (",0", &[]),
            ("0,", &[0]),
            ("0,,1", &[0]),
            ("-1", &[]),
            ("0,2,-1,1", &[0, 2]),
            ("0,4,1", &[0]),
            ("4", &[]),
            ("18446744073709551616", &[]),
            ("none", &[]),
            ("NoDevFiles", &[]),
            ("3,2,one,1", &[3, 2]),
            ("0-3", &[0]),
            ("- 1", &[]),
            ("+", &[]),
            ("0,1,0", &[]),
            ("1,+1", &[]),
            ("0,5,0", &[0]),
            ("0,GPU-9e8d4", &[0]),
            ("０", &[]),
        ];
        for (variable, expected) in table {
            assert_eq!(shown(variable), expected, "{variable:?}");
        }
    }

    #[test]
    fn a_gpu_is_named_by_as_much_of_its_uuid_as_tells_it_from_the_others() {
        let table: [(&str, &[usize]); 12] = [
            ("GPU-9e8d35e3", &[0]),
            ("GPU-9e8d3", &[0]),
            ("GPU-9e8d4,GPU-9e8d3", &[1, 0]),
            ("GPU-9e8d", &[]),
            ("GPU-9e8d3,GPU-9e8d,GPU-9e8d4", &[0]),
            ("GPU-0a1b-", &[3]),
            ("GPU-9e8d35e3-and-more", &[]),
            ("GPU-9e8d3,GPU-9e8d35", &[]),
            ("GPU-9e8d3,1", &[0]),
            ("GPU-9e8d3, GPU-9e8d4", &[0]),
            ("9e8d3", &[]),
            ("gpu-9e8d3", &[]),
        ];
        for (variable, expected) in table {
            assert_eq!(shown(variable), expected, "{variable:?}");
        }
    }

    #[test]
    fn of_mig_devices_one_is_visible_and_no_gpu_beside_it() {
        let gpus = gpus([None, Some(2), Some(0), Some(1)]);
        let first = Visible::Mig(1, 0);
        let table: [(Option<&str>, &[Visible]); 16] = [
            (None, &[first]),
            (Some("0"), &[Visible::Gpu(0)]),
            (Some("0,1"), &[first]),
            (Some("1"), &[first]),
            // The third GPU has no device, so the next index is that of the last.
            (Some("2,1"), &[Visible::Mig(3, 0)]),
            (Some("3"), &[]),
            (Some("1,1"), &[]),
            (Some("GPU-9e8d4"), &[first]),
            (Some("GPU-0a1b-2"), &[Visible::Mig(3, 0)]),
            (Some("MIG-19e8d4700"), &[Visible::Mig(1, 1)]),
            (Some("MIG-1,MIG-09"), &[Visible::Mig(1, 1)]),
            (Some("MIG-0"), &[]),
            (Some("MIG-GPU-9e8d4700/8/0"), &[Visible::Mig(1, 1)]),
            (Some("MIG-GPU-9e8d4700/8"), &[]),
            (Some("MIG-GPU-9e8d4700/9/0"), &[]),
            (Some("MIG-1,0"), &[Visible::Mig(1, 1)]),
        ];
        for (variable, expected) in table {
            assert_eq!(visible(variable, &gpus), expected, "{variable:?}");
        }
        assert_eq!(visible(Some("GPU-0a1b"), &gpus), [], "ambiguous");
    }

    #[test]
    fn a_divided_gpu_without_parts_is_no_device() {
        assert_eq!(visible(None, &gpus([Some(0), None])), [Visible::Gpu(1)]);
        assert_eq!(visible(Some("GPU-9e8d3"), &gpus([Some(0), None])), []);
    }
}
