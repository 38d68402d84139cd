//! The values of modes and devices for the process: below every thread and every context.

use super::{Masked, changes, mode_bits};
use crate::base::sync::RelaxedU64;
use crate::device::{Device, DeviceIndex, DeviceType};

/// The modes that are set: the mask in the second byte, the values in the first.
static MODES: RelaxedU64 = RelaxedU64::new(0);

/// The index of the current device plus 1; 0 if it is not set.
static DEVICE: RelaxedU64 = RelaxedU64::new(0);

/// The default device for new tensors as [`encoded`]; 0 if it is not set.
static DEFAULT_DEVICE: RelaxedU64 = RelaxedU64::new(0);

/// The values that a process has set; `None` where it has not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProcessValues {
    pub(crate) modes: Masked<u8>,
    pub(crate) device: Option<DeviceIndex>,
    pub(crate) default_device: Option<Device>,
}

impl ProcessValues {
    pub(crate) fn current() -> Self {
        ProcessValues { modes: modes(), device: device(), default_device: default_device() }
    }

    /// Returns these values with what `after` changes in `before`.
    pub(crate) fn with_changes(&self, before: &Self, after: &Self) -> Self {
        fn changed<T: PartialEq>(before: T, after: T, present: T) -> T {
            if before == after { present } else { after }
        }
        let (old, new) = (before.modes, after.modes);
        let bits = (old.mask ^ new.mask) | (old.value ^ new.value);
        ProcessValues {
            modes: Masked {
                mask: self.modes.mask & !bits | new.mask & bits,
                value: self.modes.value & !bits | new.value & bits,
            },
            device: changed(before.device, after.device, self.device),
            default_device: changed(before.default_device, after.default_device, self.default_device),
        }
    }

    /// Replaces the values of the process. The caller holds the lock under which they are written.
    pub(crate) fn store(&self) {
        MODES.set(u64::from(self.modes.mask) << 8 | u64::from(self.modes.value));
        DEVICE.set(self.device.map_or(0, |index| u64::from(index) + 1));
        DEFAULT_DEVICE.set(self.default_device.map_or(0, encoded));
        changes::announce();
    }
}

/// Returns the modes that the process sets.
pub(super) fn modes() -> Masked<u8> {
    let [value, mask, ..] = MODES.get().to_le_bytes();
    Masked::new(mask, value)
}

/// Returns the mode word of a thread that has entered no scope and written no mode.
pub(super) fn mode_word() -> u8 {
    modes().applied_to(mode_bits::BASE)
}

#[inline]
pub(super) fn device() -> Option<DeviceIndex> {
    DEVICE.get().checked_sub(1).and_then(|index| DeviceIndex::try_from(index).ok())
}

#[inline]
pub(super) fn default_device() -> Option<Device> {
    match DEFAULT_DEVICE.get() {
        0 => None,
        word => decoded(word),
    }
}

/// Returns the device as a word that is not 0.
fn encoded(device: Device) -> u64 {
    let index = device.index().map_or(0, |index| u64::from(index) + 1);
    1 << 63 | u64::from(device.kind().number()) << 16 | index
}

fn decoded(word: u64) -> Option<Device> {
    let kind = DeviceType::from_number((word >> 16) as u32)?;
    let index = (word & 0xffff).checked_sub(1).and_then(|index| DeviceIndex::try_from(index).ok());
    Some(index.map_or(Device::of(kind), |index| Device::with_index(kind, index)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decoded_returns_what_encoded_stored() {
        for device in [Device::CPU, Device::CUDA, Device::with_index(DeviceType::Host, 127)] {
            assert_eq!(decoded(encoded(device)), Some(device));
        }
    }
}
