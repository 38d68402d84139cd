//! Leaves that happened on another thread or task than the enter: whoever entered is asked to drop the layer.
//!
//! A task that is dropped on another thread during its step has the step ended in the same way.
//!
//! Whoever is asked looks into its inbox before it next enters, leaves, writes a mode or flag, takes such a
//! write back, explains a flag, captures or installs; and at both ends of a step of a task, into that of the
//! state that goes and that of the state that comes. A read does not look, because it is one load: until then
//! it sees the layer.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::layers::Left;
use crate::base::fork::rank;
use crate::base::sync::{ForkLock, RelaxedBool, RelaxedU64};

/// Tells threads and tasks with a state of their own apart; 0 is none. Never used twice in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct InboxNumber(pub(super) u64);

impl InboxNumber {
    pub(super) const NONE: InboxNumber = InboxNumber(0);
}

static OPENED: RelaxedU64 = RelaxedU64::new(0);

/// Everybody who may be asked, from the first enter to the end. A forked child keeps those of the threads
/// that it lacks: nobody looks into them.
pub(crate) static INBOXES: ForkLock<Option<HashMap<u64, Letters>>> = ForkLock::new(rank::MAILBOXES, None);

/// Leaves, and how often each was asked for: who is asked may not look for long, while one scope is left over
/// and over.
pub(super) type Leaves = BTreeMap<Left, u32>;

/// The contents of an inbox.
pub(super) enum Asked {
    /// Drop these layers of the state.
    DropLayers(Leaves),
    /// End the step of the task whose state this is: the task itself no longer exists.
    EndStep,
}

/// What waits for one thread or task.
pub(crate) struct Letters {
    left: Leaves,
    /// Set once the task has been dropped on another thread during its step.
    abandoned: bool,
    /// Written under the lock; who finds it set takes the lock before looking into the letters.
    waiting: Arc<RelaxedBool>,
}

/// The end of who is asked: looking whether anything waits is one load.
#[derive(Debug)]
pub(super) struct Inbox {
    number: InboxNumber,
    waiting: Arc<RelaxedBool>,
}

impl Inbox {
    pub(super) fn open() -> Self {
        let inbox = Inbox { number: InboxNumber(OPENED.add(1)), waiting: Arc::default() };
        let letters = Letters { left: Leaves::new(), abandoned: false, waiting: inbox.waiting.clone() };
        INBOXES.lock().get_or_insert_default().insert(inbox.number.0, letters);
        inbox
    }

    pub(super) fn number(&self) -> InboxNumber {
        self.number
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        !self.waiting.get()
    }

    pub(super) fn take(&self) -> Asked {
        let mut inboxes = INBOXES.lock();
        self.waiting.set(false);
        let letters = inboxes.as_mut().and_then(|inboxes| inboxes.get_mut(&self.number.0));
        match letters {
            Some(letters) if letters.abandoned => Asked::EndStep,
            Some(letters) => Asked::DropLayers(std::mem::take(&mut letters.left)),
            None => Asked::DropLayers(Leaves::new()),
        }
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        // Taken out under the lock, freed after it.
        let _letters = INBOXES.lock().as_mut().and_then(|inboxes| inboxes.remove(&self.number.0));
    }
}

/// Asks for a layer to be dropped; nothing happens if who is asked has ended.
pub(super) fn ask(asked: InboxNumber, left: Left) {
    let mut inboxes = INBOXES.lock();
    if let Some(letters) = inboxes.as_mut().and_then(|inboxes| inboxes.get_mut(&asked.0)) {
        let times = letters.left.entry(left).or_default();
        *times = times.saturating_add(1);
        letters.waiting.set(true);
    }
}

/// Asks the thread that runs a step of a task to end the step, because the task was dropped on another thread. Nothing
/// happens if the thread has ended.
pub(super) fn abandon(task: InboxNumber) {
    let mut inboxes = INBOXES.lock();
    if let Some(letters) = inboxes.as_mut().and_then(|inboxes| inboxes.get_mut(&task.0)) {
        letters.abandoned = true;
        letters.waiting.set(true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::autograd::{Manager, ModeManager, is_grad_enabled, no_grad};
    use crate::state::settle;

    #[test]
    fn a_scope_that_is_left_often_elsewhere_waits_once_and_loses_only_what_it_has_open() {
        let object = ModeManager::new(Manager::NoGrad);
        (0..3).for_each(|_| object.enter());
        std::thread::scope(|threads| {
            threads.spawn(|| (0..1000).for_each(|_| object.leave()));
        });
        let distinct = |letters: &Letters| letters.left.len();
        assert_eq!(INBOXES.lock().as_ref().unwrap().values().map(distinct).max(), Some(1));
        settle();
        assert!(is_grad_enabled());
        object.enter();
        drop(no_grad());
        assert!(!is_grad_enabled());
        object.leave();
    }

    #[test]
    fn each_leave_elsewhere_drops_one_layer() {
        let (twice, once) = (ModeManager::new(Manager::NoGrad), ModeManager::new(Manager::NoGrad));
        [&twice, &once, &twice, &twice].into_iter().for_each(ModeManager::enter);
        std::thread::scope(|threads| {
            threads.spawn(|| [&twice, &once, &twice].map(ModeManager::leave));
        });
        settle();
        assert!(!is_grad_enabled());
        twice.leave();
        assert!(is_grad_enabled());
    }
}
