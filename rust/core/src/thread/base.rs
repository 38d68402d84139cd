//! The base below all layers of a thread, a task or a context.

use std::sync::Arc;

use super::ids::{LayerId, ThreadId};
use super::{Masked, Slots};

/// Values that were written without a scope, and an installed state.
#[derive(Clone, Debug, Default)]
pub(super) struct Base {
    /// None until a mode is written.
    pub(super) id: LayerId,
    pub(super) modes: Masked<u8>,
    /// The thread that has last written a mode in the base of a context.
    pub(super) modes_set_by: ThreadId,
    /// Flags that it does not name have the values of the process.
    pub(super) slots: Option<Arc<Slots>>,
}

impl Base {
    pub(super) const EMPTY: Base = Base {
        id: LayerId::NONE,
        modes: Masked { mask: 0, value: 0 },
        modes_set_by: ThreadId::NONE,
        slots: None,
    };

    pub(super) fn names_flags(&self) -> bool {
        self.slots.as_ref().is_some_and(|slots| slots.flags.name_any())
    }
}
