//! What has changed since a session was created.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use interlock::backends::{FlagChange, FlagHook, Level, on_change};

use crate::{ROWS, Row, SessionOptions, Target};

/// An option that a new session would have and another one has not.
#[derive(Clone, Debug)]
pub struct Difference {
    row: &'static Row,
    session_value: String,
    current_value: String,
}

impl Difference {
    /// Returns the first setting that controls the option.
    pub fn setting(&self) -> &'static str {
        self.row.settings.first().copied().unwrap_or_default()
    }

    /// Returns all settings that control the option.
    pub fn settings(&self) -> &'static [&'static str] {
        self.row.settings
    }

    /// Returns the option.
    pub fn option(&self) -> &'static str {
        self.row.option
    }

    /// Returns the value that the session keeps, as ONNX Runtime writes it; empty if it is not set.
    pub fn session_value(&self) -> &str {
        &self.session_value
    }

    /// Returns the value that a new session would have.
    pub fn current_value(&self) -> &str {
        &self.current_value
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |value: &str| if value.is_empty() { "not set" } else { value }.to_owned();
        let [session, current] = [&self.session_value, &self.current_value].map(|value| shown(value));
        write!(f, "{} is {session}, and {current} by {}", self.option(), self.settings().join(", "))
    }
}

/// Returns the options in which `current` differs, those of the CUDA execution provider only if the session has it.
pub(crate) fn differences(
    session: &SessionOptions,
    current: &SessionOptions,
    is_on_cuda: bool,
) -> impl Iterator<Item = Difference> {
    ROWS.iter().filter(move |row| is_on_cuda || row.target == Target::Session).filter_map(|row| {
        let (session_value, current_value) = ((row.value)(session), (row.value)(current));
        (session_value != current_value).then_some(Difference { row, session_value, current_value })
    })
}

/// Warns once of a write for the process that gives a new session other options. Scopes are not reported: they set
/// flags for a thread, which may not use the session.
pub(crate) fn warn_of_changes(options: SessionOptions, is_on_cuda: bool) -> FlagHook {
    let warned = AtomicBool::new(false);
    on_change(move |change| {
        let FlagChange::Write { name, level, .. } = change else { return };
        if *level == Level::Scope || warned.load(Ordering::Relaxed) || !ROWS.iter().any(|row| row.is_of(name))
        {
            return;
        }
        // An error of capturing is returned to the code that creates the next session.
        let Ok(current) = SessionOptions::capture() else { return };
        let changed =
            differences(&options, &current, is_on_cuda).find(|difference| difference.row.is_of(name));
        if let Some(difference) = changed
            && !warned.swap(true, Ordering::Relaxed)
        {
            log::warn!(
                "{name} was changed, and a session of ONNX Runtime keeps its options: {difference}. To use the \
                 new value, create a session"
            );
        }
    })
}
