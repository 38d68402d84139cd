//! Hooks that are called after flags have changed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::precision::{Node, Precision};
use super::scope::values_of;
use super::write::{SlotWrite, put_in_layer, put_in_process};
use super::{FlagSpec, Level, Value, table};
use crate::Registration;
use crate::base::fork::rank;
use crate::base::hook_list::HookList;
use crate::base::sync::ForkLock;
use crate::thread::{self, FlagSlots, LayerId, Slot};

/// A change of flags. The value of a node of the precision tree is its own, and [`Value::None`] if it is empty; a write
/// of an alias is a write of its nodes.
///
/// ```
/// use std::sync::{Arc, Mutex};
///
/// use interlock_core::flags::flags::CUDNN_ENABLED;
/// use interlock_core::flags::{FlagChange, Level, Value, on_change};
///
/// let writes = Arc::new(Mutex::new(Vec::new()));
/// let noted = writes.clone();
/// let registration = on_change(move |change| {
///     if let FlagChange::Write { name, new, level, .. } = change {
///         noted.lock().unwrap().push((*name, *new, *level));
///     }
/// });
/// CUDNN_ENABLED.set(false)?;
/// drop(registration);
/// CUDNN_ENABLED.set(true)?;
/// assert_eq!(*writes.lock().unwrap(), [("cudnn.enabled", Value::Bool(false), Level::Process)]);
/// # Ok::<(), interlock_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum FlagChange {
    /// A flag was assigned, unset, restored or reset, also to the value that it had.
    Write {
        /// The dotted name.
        name: &'static str,
        /// The value before.
        old: Value,
        /// The value after.
        new: Value,
        /// Where it was written: [`Level::Scope`] in an open scope, [`Level::Process`] for the process, and one of the
        /// others if the flag was unset.
        level: Level,
        /// The layer of the scope in which it was written.
        layer: Option<u64>,
    },
    /// A scope was entered in this context or on this thread.
    Enter {
        /// Identifies the entered layer; unique in the process.
        layer: u64,
        /// The flags that it sets: dotted names and values.
        values: Vec<(&'static str, Value)>,
    },
    /// A layer of [`FlagChange::Enter`] has ended: it was exited, or its thread or context has ended.
    Exit {
        /// The layer.
        layer: u64,
    },
}

type Hook = dyn Fn(&FlagChange) + Send + Sync;

static HOOKS: HookList<Hook> = HookList::new(rank::FLAG_HOOKS);

/// Registers a function that is called after each change of a flag, until the registration is dropped. The writing
/// thread calls it, outside of all locks, so that changes of several threads may be reported in another order than they
/// were made. Scopes that are open already are not reported. The function may read and write flags; its own writes are
/// reported too. If it panics, the change stays, and other functions are called.
///
/// ```
/// use interlock_core::flags::{FlagHook, on_change};
///
/// let hook: FlagHook = on_change(|change| println!("{change:?}"));
/// // The function is not called for later changes.
/// drop(hook);
/// ```
pub fn on_change(hook: impl Fn(&FlagChange) + Send + Sync + 'static) -> FlagHook {
    let hook: Arc<Hook> = Arc::new(hook);
    let of_layers = hook.clone();
    let layers = thread::on_flag_layer(Arc::new(move |id, flags| {
        let layer = id.number();
        of_layers(&match flags {
            Some(flags) => FlagChange::Enter { layer, values: values_of(flags) },
            None => FlagChange::Exit { layer },
        });
    }));
    let writes = Registration::new(HOOKS.add(hook), |number| HOOKS.remove(number));
    FlagHook { _writes: writes, _layers: layers }
}

/// Registers a function as [`on_change`] does, which is called only for the changes of one flag, until that is unregistered:
/// its writes, and the enters and exits of scopes that set it.
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use interlock_core::flags::flags::{CUDNN_BENCHMARK, CUDNN_ENABLED};
/// use interlock_core::flags::{find, on_change_of};
///
/// static CALLS: AtomicUsize = AtomicUsize::new(0);
/// let _registration = on_change_of(find("cudnn.enabled")?, |_| {
///     CALLS.fetch_add(1, Ordering::Relaxed);
/// });
/// CUDNN_BENCHMARK.set(true)?;
/// CUDNN_ENABLED.set(false)?;
/// assert_eq!(CALLS.load(Ordering::Relaxed), 1);
/// # Ok::<(), interlock_core::Error>(())
/// ```
pub fn on_change_of(spec: &'static FlagSpec, hook: impl Fn(&FlagChange) + Send + Sync + 'static) -> FlagHook {
    let name = spec.name();
    let hook_number = HOOKS_OF_FLAGS.fetch_add(1, Ordering::Relaxed);
    on_change(move |change| {
        let is_of_flag = match change {
            FlagChange::Write { name: written, .. } => *written == name,
            FlagChange::Enter { layer, values } => {
                let is_set = values.iter().any(|(set, _)| *set == name);
                is_set && LAYERS_OF_FLAGS.lock().insert((hook_number, *layer))
            }
            FlagChange::Exit { layer } => LAYERS_OF_FLAGS.lock().remove(&(hook_number, *layer)),
        };
        // Another flag may have been registered under the name of one that was unregistered.
        if is_of_flag && !spec.is_unregistered() {
            hook(change);
        }
    })
}

/// The open layers that set the flag of a hook of [`on_change_of`], each with the number of the hook.
static LAYERS_OF_FLAGS: ForkLock<BTreeSet<(u64, u64)>> = ForkLock::new(rank::FLAG_LAYERS, BTreeSet::new());

/// The number of hooks that were made.
static HOOKS_OF_FLAGS: AtomicU64 = AtomicU64::new(0);

/// A function of [`on_change`], which is removed when this is dropped.
///
/// ```
/// use interlock_core::flags::{FlagHook, on_change};
///
/// let hook: FlagHook = on_change(|change| println!("{change:?}"));
/// hook.keep();
/// ```
#[must_use = "the function is removed when this is dropped"]
#[derive(Debug)]
pub struct FlagHook {
    _writes: Registration,
    _layers: Registration,
}

impl FlagHook {
    /// Keeps the function until the process exits.
    pub fn keep(self) {
        std::mem::forget(self);
    }
}

/// The writes of one commit, to be reported once its lock is released. It stays empty without a hook.
#[derive(Default)]
pub(super) struct Changes(Vec<FlagChange>);

impl Changes {
    /// Writes a slot of the process, and notes what that changes.
    pub(super) fn put_in_process(&mut self, slot: Slot, new: SlotWrite) {
        if HOOKS.is_empty() {
            return put_in_process(slot, new);
        }
        let old = in_process(slot);
        put_in_process(slot, new);
        if let (Some((name, old, _)), Some((_, new, level))) = (old, in_process(slot)) {
            self.0.push(FlagChange::Write { name, old, new, level, layer: None });
        }
    }

    /// Notes what a write changes in the flags of a layer.
    pub(super) fn put_in_layer(&mut self, layer: LayerId, flags: &mut FlagSlots, slot: Slot, new: SlotWrite) {
        if HOOKS.is_empty() {
            return put_in_layer(flags, slot, new);
        }
        let old = in_layer(flags, slot);
        put_in_layer(flags, slot, new);
        if let (Some((name, old)), Some((_, new))) = (old, in_layer(flags, slot)) {
            let layer = Some(layer.number()).filter(|layer| *layer != 0);
            self.0.push(FlagChange::Write { name, old, new, level: Level::Scope, layer });
        }
    }

    /// Calls the hooks. The caller holds no lock.
    pub(super) fn report(self) {
        self.0.iter().for_each(|change| HOOKS.call_each(|hook| hook(change)));
    }
}

fn of_node(node: Node, stored: Option<Precision>) -> (&'static str, Value) {
    (node.name(), stored.map_or(Value::None, |precision| Value::Name(precision.name())))
}

/// Returns the name, the value and the level of a slot in the process.
fn in_process(slot: Slot) -> Option<(&'static str, Value, Level)> {
    match slot {
        Slot::Flag(id) => {
            let word = table::word(id)?;
            let (payload, level) = word.in_process();
            Some((word.name, word.kind.decode(payload), level))
        }
        Slot::Node(mask) => {
            let node = Node::from_slot(mask);
            let (stored, level) = node.in_process();
            let (name, value) = of_node(node, stored);
            Some((name, value, level))
        }
    }
}

/// Returns the name and the value of a slot that a layer sets.
fn in_layer(flags: &FlagSlots, slot: Slot) -> Option<(&'static str, Value)> {
    match slot {
        Slot::Flag(id) => {
            let word = table::word(id)?;
            let (_, payload) = flags.words.iter().find(|(named, _)| *named == id)?;
            Some((word.name, word.kind.decode(*payload)))
        }
        Slot::Node(mask) => {
            let node = Node::from_slot(mask);
            Some(of_node(node, node.named_in(flags.tree)?))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::flags::flags::{CUDNN_BENCHMARK, CUDNN_ENABLED};
    use crate::flags::{FlagScope, InputValue, assign, find, reset, restore};
    use crate::thread::{TaskState, ThreadState};

    type Noted = Arc<Mutex<Vec<FlagChange>>>;

    fn noted() -> (FlagHook, Noted) {
        let noted = Noted::default();
        let seen = noted.clone();
        (on_change(move |change| seen.lock().unwrap().push(change.clone())), noted)
    }

    fn taken(noted: &Noted) -> Vec<FlagChange> {
        std::mem::take(&mut noted.lock().unwrap())
    }

    fn written(name: &'static str, old: Value, new: Value, level: Level) -> FlagChange {
        FlagChange::Write { name, old, new, level, layer: None }
    }

    fn scope_of(name: &str, value: bool) -> FlagScope {
        FlagScope::new([(find(name).unwrap(), InputValue::Bool(value))], None).unwrap()
    }

    #[test]
    fn writes_are_reported_with_both_values_and_the_level() {
        let (_hook, noted) = noted();
        let [on, off] = [Value::Bool(true), Value::Bool(false)];
        CUDNN_BENCHMARK.set(true).unwrap();
        let written_for_the_process = written("cudnn.benchmark", off, on, Level::Process);
        assert_eq!(taken(&noted), std::slice::from_ref(&written_for_the_process));
        assign(&[(find("cudnn.benchmark").unwrap(), None)], None).unwrap();
        assert_eq!(taken(&noted), [written("cudnn.benchmark", on, off, Level::Default)]);
        restore(&[("cudnn.benchmark", InputValue::Bool(true))], None).unwrap();
        assert!(taken(&noted).contains(&written_for_the_process));
        reset(None).unwrap();
        assert!(taken(&noted).contains(&written("cudnn.benchmark", on, off, Level::Default)));
        // An alias is reported as its node, and a refused value not at all.
        let alias = find("cuda.matmul.allow_tf32").unwrap();
        assign(&[(alias, Some(InputValue::Bool(true)))], None).unwrap();
        let node = written("cuda.matmul.fp32_precision", Value::None, Value::Name("tf32"), Level::Process);
        assert!(taken(&noted).contains(&node));
        assign(&[(alias, Some(InputValue::Integer(7)))], None).unwrap_err();
        assert_eq!(taken(&noted), []);
    }

    #[test]
    fn scopes_are_reported_until_they_end_wherever_that_is() {
        let [scope, other] = [scope_of("cudnn.enabled", false), scope_of("cudnn.benchmark", true)];
        other.enter();
        let (hook, noted) = noted();
        // It was open before the hook.
        other.exit();
        scope.enter();
        CUDNN_ENABLED.set(true).unwrap();
        let changes = taken(&noted);
        let [FlagChange::Enter { layer, values }, write] = &changes[..] else { panic!("{changes:?}") };
        assert_eq!(*values, [("cudnn.enabled", Value::Bool(false))]);
        let (name, old, new) = ("cudnn.enabled", Value::Bool(false), Value::Bool(true));
        assert_eq!(*write, FlagChange::Write { name, old, new, level: Level::Scope, layer: Some(*layer) });
        std::thread::scope(|threads| threads.spawn(|| scope.exit()).join().unwrap());
        ThreadState::capture();
        assert_eq!(taken(&noted), [FlagChange::Exit { layer: *layer }]);

        let number = |changes: &[FlagChange]| {
            let is_enter = |change: &&FlagChange| matches!(change, FlagChange::Enter { .. });
            let entered = changes.iter().filter(is_enter).count();
            (entered, changes.len() - entered)
        };
        drop(scope.guard());
        let captured = scope.guard();
        let state = ThreadState::capture();
        drop(captured);
        state.run(|| ());
        assert_eq!(number(&taken(&noted)), (3, 3));
        // With their thread and their task.
        std::thread::scope(|threads| {
            threads.spawn(|| scope_of("cudnn.enabled", false).enter()).join().unwrap()
        });
        let task = TaskState::new(&ThreadState::capture());
        task.step(|| scope.enter()).unwrap();
        drop(task);
        assert_eq!(number(&taken(&noted)), (2, 2));
        drop(hook);
        drop(scope.guard());
        assert_eq!(taken(&noted), []);
    }
}
