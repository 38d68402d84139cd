//! Scopes of flags: `with cudnn.flags(...)`, `with override(...)`, and their Rust form.

use std::sync::Arc;

use super::attribute::Attribute;
use super::{Given, Site};
use crate::state::{FlagSlots, Scope, ScopeGuard};
use crate::{Result, env};

/// Why a value is written; one older flag means something else as an argument of `flags(...)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The flag was named: an assignment, `set_flags`, `override`.
    Named,
    /// The flag is one of all that a module's `flags(...)` decides.
    WholeModule,
}

/// Flags that are decided while the scope is open, for the thread that opened it.
#[derive(Debug)]
pub struct FlagScope {
    scope: Scope,
    flags: Arc<FlagSlots>,
}

impl FlagScope {
    /// Checks every value; nothing is in force until [`enter`](FlagScope::enter).
    pub fn new<'a>(
        values: impl IntoIterator<Item = (&'static Attribute, Given<'a>)>,
        purpose: Purpose,
        site: Option<Site>,
    ) -> Result<Self> {
        let values = values.into_iter();
        let mut flags = FlagSlots::with_room_for(values.size_hint().0);
        for (attribute, given) in values {
            attribute.add_write(&given, purpose, &mut flags)?;
        }
        if let Some(site) = site.filter(|_| env::debug()) {
            flags.note_site_of_all(&site);
        }
        Ok(FlagScope { scope: Scope::default(), flags: Arc::new(flags) })
    }

    /// A scope of the same values that has been entered nowhere.
    pub fn twin(&self) -> Self {
        FlagScope { scope: Scope::default(), flags: self.flags.clone() }
    }

    /// The values hold on this thread from now on.
    pub fn enter(&self) {
        self.scope.enter_flags(self.flags.clone());
    }

    /// They no longer do; see [`Scope::leave`].
    pub fn leave(&self) {
        self.scope.leave();
    }

    /// The values hold on this thread until the guard is dropped.
    pub fn guard(&self) -> ScopeGuard {
        ScopeGuard::of_flags(self.flags.clone())
    }
}
