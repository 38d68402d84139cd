//! Scopes of flags: `with cudnn.flags(...)` and `with override(...)` in Python.

use std::sync::Arc;

use super::flag::FlagWord;
use super::flag_spec::FlagSpec;
use super::write::{SlotWrite, Writes};
use super::{InputValue, Node, SourceLocation, Value, table};
use crate::Result;
use crate::base::env;
use crate::thread::{FlagSlots, Scope, ScopeGuard, Slot, Slots, ThreadState};

/// The reason for a write. The default argument of an older flag in `flags(...)` means something else than an
/// assignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The caller names the flag: an assignment, `set_flags`, `override`.
    Named,
    /// The flag is an argument of a module's `flags(...)`, which sets all of them.
    WholeModule,
    /// The value is copied from another scope's [values](FlagScope::values).
    Copied,
}

/// Sets flags for the thread that enters it, until that thread exits it.
///
/// ```
/// use interlock_core::flags::flags::{CUDNN_BENCHMARK, CUDNN_ENABLED};
/// use interlock_core::flags::{FlagScope, InputValue, find};
///
/// let values = ["cudnn.benchmark", "cudnn.enabled"].map(|name| Ok((find(name)?, InputValue::Bool(true))));
/// let values = values.into_iter().collect::<interlock_core::Result<Vec<_>>>()?;
/// let scope = FlagScope::new(values, None)?;
/// let guard = scope.guard();
/// assert!(CUDNN_BENCHMARK.get() && CUDNN_ENABLED.get());
/// drop(guard);
/// assert!(!CUDNN_BENCHMARK.get());
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[must_use = "a scope has no effect until it is entered"]
#[derive(Debug)]
pub struct FlagScope {
    scope: Scope,
    slots: Arc<Slots>,
}

/// Builds a [`FlagScope`] from values that are checked one by one.
#[derive(Debug)]
pub struct FlagScopeBuilder {
    flags: FlagSlots,
    purpose: Purpose,
}

impl FlagScopeBuilder {
    /// Creates a builder with capacity for `values` values.
    #[inline]
    pub fn new(purpose: Purpose, values: usize) -> Self {
        FlagScopeBuilder { flags: FlagSlots::with_capacity(values), purpose }
    }

    /// Checks and adds a value; the last value of a flag takes precedence.
    #[inline]
    pub fn add(&mut self, spec: &'static FlagSpec, given: &InputValue) -> Result<()> {
        spec.add_write(given, self.purpose, &mut self.flags)
    }

    /// Adds a valid payload of a flag.
    pub(super) fn set_word(&mut self, word: &FlagWord, payload: u64) {
        self.flags.add(word.name, Slot::Flag(word.id), SlotWrite::Set(payload));
    }

    /// Returns the scope, which has no effect until it is entered.
    pub fn build(self, site: Option<SourceLocation>) -> FlagScope {
        FlagScope::from_slots(self.flags, site)
    }
}

/// Returns the flags of a layer: dotted names and values, without flags that were unregistered.
pub(super) fn values_of(flags: &FlagSlots) -> Vec<(&'static str, Value)> {
    let words = flags
        .words
        .iter()
        .filter_map(|(id, payload)| table::word(*id).map(|word| (word, *payload)))
        .filter(|(word, _)| !word.is_unregistered.get())
        .map(|(word, payload)| (word.name, word.kind.decode(payload)));
    let nodes = Node::ALL.into_iter().filter_map(|node| {
        let stored = node.named_in(flags.tree)?;
        Some((node.name(), stored.map_or(Value::None, |precision| Value::Name(precision.name()))))
    });
    words.chain(nodes).collect()
}

impl ThreadState {
    /// Returns the flags that the state names: dotted names and values; [`Value::None`] for an empty node.
    pub fn flags(&self) -> Vec<(&'static str, Value)> {
        values_of(self.flag_slots())
    }

    /// Returns this state, in which the flags that it does not set have the values of a scope.
    pub fn with_flags(self, scope: &FlagScope) -> Self {
        self.with_flags_below(&scope.slots.flags)
    }
}

impl FlagScope {
    pub(super) fn from_slots(mut flags: FlagSlots, site: Option<SourceLocation>) -> FlagScope {
        if let Some(site) = site.filter(|_| env::debug()) {
            let words = flags.words.iter().map(|(id, _)| Slot::Flag(*id));
            let nodes =
                Node::ALL.into_iter().filter(|node| node.named_in(flags.tree).is_some()).map(Node::slot);
            flags.sites = words.chain(nodes).map(|slot| (slot, site.clone())).collect();
        }
        FlagScope { scope: Scope::default(), slots: Slots::from_flags(flags) }
    }

    /// Creates a scope of these flags.
    pub fn new<'a>(
        values: impl IntoIterator<Item = (&'static FlagSpec, InputValue<'a>)>,
        site: Option<SourceLocation>,
    ) -> Result<Self> {
        let values = values.into_iter();
        let mut builder = FlagScopeBuilder::new(Purpose::Named, values.size_hint().0);
        for (spec, given) in values {
            builder.add(spec, &given)?;
        }
        Ok(builder.build(site))
    }

    /// Returns the flags that the scope sets: dotted names and values; [`Value::None`] for an empty node.
    pub fn values(&self) -> Vec<(&'static str, Value)> {
        values_of(&self.slots.flags)
    }

    /// Returns a new scope of these values that is not open.
    pub fn clone_unentered(&self) -> Self {
        FlagScope { scope: Scope::default(), slots: self.slots.clone() }
    }

    /// Pushes a layer of these values on this thread. Has no effect if [`try_enter`](FlagScope::try_enter) fails.
    pub fn enter(&self) {
        let _entered = self.try_enter();
    }

    /// Enters as [`enter`](FlagScope::enter) does.
    ///
    /// # Errors
    /// Fails if the state of the current context cannot be stored, or the layers of the thread are dropped because it ends.
    pub fn try_enter(&self) -> Result<()> {
        self.scope.enter_slots(&self.slots)
    }

    /// Removes the layer; see [`Scope::exit`].
    ///
    /// ```
    /// use interlock_core::flags::flags::CUDNN_BENCHMARK_LIMIT;
    /// use interlock_core::thread;
    ///
    /// let scope = CUDNN_BENCHMARK_LIMIT.scope(4)?;
    /// scope.enter();
    /// std::thread::scope(|threads| threads.spawn(|| scope.exit()).join()).unwrap();
    /// // The scope has ended, which a read does not check.
    /// assert_eq!(CUDNN_BENCHMARK_LIMIT.get(), 4);
    /// thread::sync();
    /// assert_eq!(CUDNN_BENCHMARK_LIMIT.get(), 10);
    /// # Ok::<(), interlock_core::Error>(())
    /// ```
    pub fn exit(&self) {
        self.scope.exit();
    }

    /// Returns the scope that enters and exits.
    pub fn scope(&self) -> &Scope {
        &self.scope
    }

    /// Pushes a layer of these values on this thread until the guard is dropped.
    pub fn guard(&self) -> ScopeGuard {
        ScopeGuard::from_slots(&self.slots)
    }
}
