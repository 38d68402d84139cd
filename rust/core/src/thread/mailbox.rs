//! Requests of other threads and tasks to the thread or task that owns a layer: to remove it, because its scope or guard
//! was exited elsewhere, or to end the step of a task that was dropped during it.
//!
//! A post is announced as a [change](super::changes): the owner empties its mailbox before it next enters or exits a
//! scope or guard, writes, captures or explains. At both ends of a task's step, the mailboxes of both states are
//! emptied. A read does not look, because it is one load: until then it sees the layer.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::changes;
use super::ids::ExitTarget;
use crate::base::fork::rank;
use crate::base::sync::{ForkLock, RelaxedBool, RelaxedU64};

/// Identifies the mailbox of a thread or task; 0 is none. Unique in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MailboxId(pub(super) u64);

impl MailboxId {
    pub(super) const NONE: MailboxId = MailboxId(0);
}

static LAST_ID: RelaxedU64 = RelaxedU64::new(0);

/// The mailboxes of threads and tasks, each from its first enter to its end. A forked child keeps those of the threads
/// that it lacks, which are never checked.
pub(crate) static MAILBOXES: ForkLock<BTreeMap<u64, PendingExits>> =
    ForkLock::new(rank::MAILBOXES, BTreeMap::new());

/// Exits, and how often each was requested: one scope may be exited many times before the mailbox is checked.
pub(super) type Exits = BTreeMap<ExitTarget, u32>;

/// The contents of a mailbox.
pub(super) enum Request {
    /// Drop these layers of the state.
    DropLayers(Exits),
    /// End the step of the task whose state this is: the task itself no longer exists.
    EndStep,
}

/// The pending exits of one thread or task.
pub(crate) struct PendingExits {
    exits: Exits,
    /// Set once the task has been dropped on another thread during its step.
    abandoned: bool,
    /// Written under the lock. The owner acquires the lock only if it is set.
    has_requests: Arc<RelaxedBool>,
}

/// The receiving end of the thread or task. Checking whether exits are pending is one load.
#[derive(Debug)]
pub(super) struct Mailbox {
    id: MailboxId,
    has_requests: Arc<RelaxedBool>,
}

impl Mailbox {
    pub(super) fn open() -> Self {
        let mailbox = Mailbox { id: MailboxId(LAST_ID.add(1)), has_requests: Arc::default() };
        let pending = PendingExits {
            exits: Exits::new(),
            abandoned: false,
            has_requests: mailbox.has_requests.clone(),
        };
        MAILBOXES.lock().insert(mailbox.id.0, pending);
        mailbox
    }

    pub(super) fn id(&self) -> MailboxId {
        self.id
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        !self.has_requests.get()
    }

    pub(super) fn take(&self) -> Request {
        let mut mailboxes = MAILBOXES.lock();
        self.has_requests.set(false);
        match mailboxes.get_mut(&self.id.0) {
            Some(pending) if pending.abandoned => Request::EndStep,
            Some(pending) => Request::DropLayers(std::mem::take(&mut pending.exits)),
            None => Request::DropLayers(Exits::new()),
        }
    }
}

impl Drop for Mailbox {
    fn drop(&mut self) {
        // Removed under the lock, freed after it is released.
        let _exits = MAILBOXES.lock().remove(&self.id.0);
    }
}

/// Requests the removal of a layer. Has no effect if the thread or task has ended.
pub(super) fn post(id: MailboxId, target: ExitTarget) {
    request(id, |pending| {
        let times = pending.exits.entry(target).or_default();
        *times = times.saturating_add(1);
    });
}

/// Requests the thread that runs a step of a task to end the step, because the task was dropped on another thread. Has
/// no effect if the thread has ended.
pub(super) fn abandon(task: MailboxId) {
    request(task, |pending| pending.abandoned = true);
}

fn request(id: MailboxId, change: impl FnOnce(&mut PendingExits)) {
    let mut mailboxes = MAILBOXES.lock();
    let Some(pending) = mailboxes.get_mut(&id.0) else { return };
    change(pending);
    pending.has_requests.set(true);
    drop(mailboxes);
    changes::announce();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modes::{ModeContext, ModeKind, is_grad_enabled, no_grad};
    use crate::thread::sync;

    #[test]
    fn post_counts_exits_of_a_scope_and_removes_only_open_layers() {
        let object = ModeContext::new(ModeKind::NoGrad);
        (0..3).for_each(|_| object.enter());
        std::thread::scope(|threads| {
            threads.spawn(|| (0..1000).for_each(|_| object.exit()));
        });
        let distinct = |pending: &PendingExits| pending.exits.len();
        assert_eq!(MAILBOXES.lock().values().map(distinct).max(), Some(1));
        sync();
        assert!(is_grad_enabled());
        object.enter();
        drop(no_grad());
        assert!(!is_grad_enabled());
        object.exit();
    }

    #[test]
    fn post_of_each_exit_removes_one_layer() {
        let (twice, once) = (ModeContext::new(ModeKind::NoGrad), ModeContext::new(ModeKind::NoGrad));
        [&twice, &once, &twice, &twice].into_iter().for_each(ModeContext::enter);
        std::thread::scope(|threads| {
            threads.spawn(|| [&twice, &once, &twice].map(ModeContext::exit));
        });
        sync();
        assert!(!is_grad_enabled());
        twice.exit();
        assert!(is_grad_enabled());
    }
}
