//! Modes and devices of the process in snapshots, beside the flags: entries with the prefix `state.`.

use super::{Explanation, InputValue, Interned, Level, SnapshotEntry, Value};
use crate::device::{Device, DeviceIndex};
use crate::modes::Mode;
use crate::thread::{self, Masked, ProcessValues};
use crate::{Error, Result};

const MODES: [(&str, Mode); 7] = [
    ("state.grad", Mode::Grad),
    ("state.inference", Mode::Inference),
    ("state.multithreading", Mode::Multithreading),
    ("state.view_replay", Mode::ViewReplay),
    ("state.layout_policy", Mode::LayoutPolicy),
    ("state.anomaly", Mode::Anomaly),
    ("state.anomaly_check_nan", Mode::AnomalyCheckNan),
];

const DEVICE_INDEX: &str = "state.device_index";
const DEFAULT_DEVICE: &str = "state.default_device";

/// The names of devices.
static DEVICES: Interned<String> = Interned::new();

/// Returns an entry for each value that the process has set.
pub(super) fn entries(values: ProcessValues) -> Vec<SnapshotEntry> {
    let entry = |name, value| SnapshotEntry { name, value, level: Level::Process };
    let modes = MODES.into_iter().filter(|(_, mode)| values.modes.mask & *mode as u8 != 0);
    let modes = modes.map(|(name, mode)| entry(name, Value::Bool(values.modes.value & mode as u8 != 0)));
    let device = values.device.map(|index| entry(DEVICE_INDEX, Value::Integer(index.into())));
    let default_device = values.default_device.map(|device| {
        let (_, name) = DEVICES.intern(device.to_string().as_str());
        entry(DEFAULT_DEVICE, Value::Text(name))
    });
    modes.chain(device).chain(default_device).collect()
}

/// Sets the value of an entry. Returns false if no mode or device has the name.
pub(super) fn set_entry(values: &mut ProcessValues, name: &str, given: &InputValue) -> Result<bool> {
    let wrong = |allowed: &str| {
        let (name, allowed) = (format!("restore: {name}"), allowed.to_owned());
        Error::FlagValue { name, given: given.to_string(), allowed }
    };
    if let Some((_, mode)) = MODES.into_iter().find(|(known, _)| *known == name) {
        let InputValue::Bool(on) = *given else { return Err(wrong("a bool")) };
        let bit = mode as u8;
        values.modes = Masked::new(bit, if on { bit } else { 0 }).over(values.modes);
    } else if name == DEVICE_INDEX {
        let index = match *given {
            InputValue::Integer(index) if index <= Device::MAX_INDEX.into() => {
                DeviceIndex::try_from(index).ok()
            }
            _ => None,
        };
        values.device = Some(index.ok_or_else(|| wrong("an index of a device"))?);
    } else if name == DEFAULT_DEVICE {
        let InputValue::Text(text) = given else { return Err(wrong("the name of a device")) };
        values.default_device = Some(text.parse()?);
    } else {
        return Ok(false);
    }
    Ok(true)
}

/// Iterates over the names of the entries: all modes, then both devices.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    MODES.into_iter().map(|(name, _)| name).chain([DEVICE_INDEX, DEFAULT_DEVICE])
}

/// Explains a mode or device on this thread, by the name of its entry in snapshots. `None` if there is no such entry.
pub fn explain_state(name: &str) -> Option<Explanation> {
    thread::sync();
    let process = ProcessValues::current();
    let level = |is_scoped, is_in_process| match (is_scoped, is_in_process) {
        (true, _) => Level::Scope,
        (false, true) => Level::Process,
        (false, false) => Level::Default,
    };
    if let Some((name, mode)) = MODES.into_iter().find(|(known, _)| *known == name) {
        let bit = mode as u8;
        let level = level(thread::is_mode_set(bit), process.modes.mask & bit != 0);
        return Some(Explanation::of_state(name, Value::Bool(mode.is_on()), level));
    }
    let (is_device_scoped, is_default_scoped) = thread::are_devices_set();
    match name {
        DEVICE_INDEX => {
            let index = thread::current_device().unwrap_or(0).into();
            let level = level(is_device_scoped, process.device.is_some());
            Some(Explanation::of_state(DEVICE_INDEX, Value::Integer(index), level))
        }
        DEFAULT_DEVICE => {
            let device = thread::default_device().unwrap_or(Device::CPU).to_string();
            let level = level(is_default_scoped, process.default_device.is_some());
            let device = Value::Text(DEVICES.intern(device.as_str()).1);
            Some(Explanation::of_state(DEFAULT_DEVICE, device, level))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{reset, restore, snapshot};
    use super::*;
    use crate::ProcessDefaults;
    use crate::device::DeviceType;
    use crate::modes::enable_grad;

    fn set() -> Vec<(&'static str, Value)> {
        let entries = snapshot().into_iter().filter(|entry| entry.name.starts_with("state."));
        entries.map(|entry| (entry.name, entry.value)).collect()
    }

    #[test]
    fn explain_state_returns_the_level_that_sets_a_mode_or_device() {
        let explained = |name| explain_state(name).map(|state| (state.value, state.level)).unwrap();
        let (on, off) = (Value::Bool(true), Value::Bool(false));
        assert_eq!(explained("state.grad"), (on, Level::Default));
        ProcessDefaults::change(|defaults| {
            defaults.set_mode(Mode::Grad, Some(false));
            defaults.set_default_device(Some(Device::CUDA));
        })
        .unwrap();
        assert_eq!(explained("state.grad"), (off, Level::Process));
        assert_eq!(explained("state.default_device"), (Value::Text("cuda"), Level::Process));
        let _guard = enable_grad();
        assert_eq!(explained("state.grad"), (on, Level::Scope));
        assert_eq!(explained("state.device_index"), (Value::Integer(0), Level::Default));
        assert!(explain_state("state.gradient").is_none());
    }

    #[test]
    fn snapshot_has_modes_and_devices_of_the_process_and_restore_sets_them() {
        ProcessDefaults::change(|defaults| {
            defaults.set_mode(Mode::Grad, Some(false));
            defaults.set_device(Some(2));
            defaults.set_default_device(Some(Device::with_index(DeviceType::Host, 1)));
        })
        .unwrap();
        let changed = ProcessDefaults::current();
        let entries = [
            ("state.grad", Value::Bool(false)),
            ("state.device_index", Value::Integer(2)),
            ("state.default_device", Value::Text("host:1")),
        ];
        assert_eq!(set(), entries);
        reset(None).unwrap();
        assert_eq!((set(), ProcessDefaults::current()), (vec![], ProcessDefaults::default()));
        let given = [
            ("state.grad", InputValue::Bool(false)),
            ("state.device_index", InputValue::Integer(2)),
            ("state.default_device", InputValue::Text("host:1".into())),
        ];
        restore(&given, None).unwrap();
        assert_eq!(ProcessDefaults::current(), changed);
        for wrong in [InputValue::Integer(128), InputValue::Integer(-1), InputValue::None] {
            assert!(restore(&[("state.device_index", wrong)], None).is_err());
        }
        assert_eq!(ProcessDefaults::current(), changed);
    }
}
