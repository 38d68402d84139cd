//! The devices that `CUDA_VISIBLE_DEVICES` makes visible to a process.
//!
//! The rules follow CUDA's documentation and observed behavior. Entries count up to the first invalid one, and a
//! duplicate entry hides all devices. The first entry decides whether all entries are indices, UUIDs of GPUs or UUIDs
//! of MIG devices.
//!
//! Indices here follow NVML, which orders devices by PCI bus. CUDA orders the fastest device first, unless
//! `CUDA_DEVICE_ORDER` is `PCI_BUS_ID`, so an index may select another GPU there. The count is equal all the same,
//! except on machines that have GPUs with and without MIG devices.

use std::ffi::OsString;

use interlock_core::base::env;

/// A GPU of the machine that this process may use.
#[derive(Debug)]
pub(crate) struct Gpu {
    /// `GPU-` and hexadecimal digits.
    pub(crate) uuid: String,
    /// Its MIG devices; `None` if MIG mode is disabled.
    pub(crate) mig: Option<Vec<MigDevice>>,
}

/// A MIG (Multi-Instance GPU) device.
#[derive(Debug)]
pub(crate) struct MigDevice {
    /// `MIG-` and hexadecimal digits.
    pub(crate) uuid: String,
    pub(crate) gpu_instance: u32,
    pub(crate) compute_instance: u32,
}

/// A visible device, by its index in the list of GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Visible {
    Gpu(usize),
    /// The index of the GPU and of its MIG device.
    Mig(usize, usize),
}

/// Returns the value of the variable.
pub(crate) fn variable() -> Option<OsString> {
    env::value(env::VISIBLE_DEVICES)
}

/// Returns the devices that are visible with this value of the variable; `None` if it is not set.
pub(crate) fn visible(variable: Option<&str>, gpus: &[Gpu]) -> Vec<Visible> {
    let selected = match variable {
        None => devices(gpus).collect(),
        Some(text) => select(text, gpus),
    };
    // A process sees at most one MIG device, and no GPU beside it.
    match selected.iter().find(|device| matches!(device, Visible::Mig(..))) {
        Some(first) => vec![*first],
        None => selected,
    }
}

/// Returns the devices that indices select: each GPU, or its first MIG device in MIG mode. A GPU in MIG mode without
/// MIG devices has no index.
fn devices(gpus: &[Gpu]) -> impl Iterator<Item = Visible> {
    gpus.iter().enumerate().filter_map(|(index, gpu)| gpu_or_first_mig(index, gpu))
}

fn gpu_or_first_mig(index: usize, gpu: &Gpu) -> Option<Visible> {
    match &gpu.mig {
        None => Some(Visible::Gpu(index)),
        Some(devices) => (!devices.is_empty()).then_some(Visible::Mig(index, 0)),
    }
}

fn select(text: &str, gpus: &[Gpu]) -> Vec<Visible> {
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

/// Parses the number at the beginning of a text like C's `strtol`, which ignores the rest. Returns `None` if there is
/// no number or it is negative.
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

/// Returns the GPU whose UUID begins with an entry, if exactly one does.
fn by_uuid(entry: &str, gpus: &[Gpu]) -> Option<Visible> {
    if !entry.starts_with("GPU-") {
        return None;
    }
    let (index, gpu) = only(gpus.iter().enumerate().filter(|(_, gpu)| gpu.uuid.starts_with(entry)))?;
    gpu_or_first_mig(index, gpu)
}

fn by_mig_uuid(entry: &str, gpus: &[Gpu]) -> Option<Visible> {
    let name = entry.strip_prefix("MIG-")?;
    let is_named = |gpu: &Gpu, mig: &MigDevice| match name.starts_with("GPU-") {
        true => name == format!("{}/{}/{}", gpu.uuid, mig.gpu_instance, mig.compute_instance),
        false => mig.uuid.starts_with(entry),
    };
    only(gpus.iter().enumerate().flat_map(|(index, gpu)| {
        let devices = gpu.mig.iter().flatten().enumerate();
        devices.filter(move |(_, mig)| is_named(gpu, mig)).map(move |(mig, _)| Visible::Mig(index, mig))
    }))
}

/// Returns the only item of an iterator; `None` if it has no item or several.
fn only<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    items.next().filter(|_| items.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    const UUIDS: [&str; 4] = ["GPU-9e8d35e3", "GPU-9e8d4700", "GPU-0a1b", "GPU-0a1b-2"];

    /// Returns GPUs with these numbers of MIG devices; `None` for a GPU without MIG mode.
    fn gpus<const N: usize>(mig_counts: [Option<u32>; N]) -> Vec<Gpu> {
        let mig = |gpu: &str, number| MigDevice {
            uuid: gpu.replace("GPU-", &format!("MIG-{number}")),
            gpu_instance: 7 + number,
            compute_instance: 0,
        };
        let gpu = |(uuid, count): (&str, Option<u32>)| Gpu {
            uuid: uuid.to_owned(),
            mig: count.map(|count| (0..count).map(|number| mig(uuid, number)).collect()),
        };
        UUIDS.into_iter().zip(mig_counts).map(gpu).collect()
    }

    /// Returns the indices that a value makes visible of four GPUs without MIG mode.
    fn visible_gpus(variable: &str) -> Vec<usize> {
        let index = |device: Visible| match device {
            Visible::Gpu(index) => index,
            Visible::Mig(..) => panic!("{device:?}"),
        };
        visible(Some(variable), &gpus([None; 4])).into_iter().map(index).collect()
    }

    #[test]
    fn visible_returns_every_gpu_without_the_variable() {
        assert_eq!(visible(None, &gpus([None; 3])), [0, 1, 2].map(Visible::Gpu));
        assert_eq!(visible(None, &[]), []);
    }

    #[test]
    fn visible_reads_entries_up_to_the_first_invalid_one() {
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
            assert_eq!(visible_gpus(variable), expected, "{variable:?}");
        }
    }

    #[test]
    fn visible_accepts_an_unambiguous_prefix_of_a_uuid() {
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
            assert_eq!(visible_gpus(variable), expected, "{variable:?}");
        }
    }

    #[test]
    fn visible_returns_at_most_one_mig_device_and_no_gpu_beside_it() {
        let gpus = gpus([None, Some(2), Some(0), Some(1)]);
        let first = Visible::Mig(1, 0);
        let table: [(Option<&str>, &[Visible]); 16] = [
            (None, &[first]),
            (Some("0"), &[Visible::Gpu(0)]),
            (Some("0,1"), &[first]),
            (Some("1"), &[first]),
            // The third GPU has no MIG device, so index 2 selects the fourth.
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
    fn visible_skips_a_gpu_in_mig_mode_without_mig_devices() {
        assert_eq!(visible(None, &gpus([Some(0), None])), [Visible::Gpu(1)]);
        assert_eq!(visible(Some("GPU-9e8d3"), &gpus([Some(0), None])), []);
    }
}
