//! Leaves that happened on another thread than the enter: the thread that entered is asked to drop
//! the layer when it next enters, leaves, writes or captures.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::sync::{ForkLock, SharedWord};

/// Tells threads apart; 0 is no thread. Never used twice in a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThreadNumber(pub(super) u64);

impl ThreadNumber {
    pub(super) const NONE: ThreadNumber = ThreadNumber(0);

    pub(crate) fn number(self) -> u64 {
        self.0
    }
}

static THREADS: SharedWord = SharedWord::new(0);

/// Every thread that may be asked, from its first enter to its end.
pub(crate) static INBOXES: ForkLock<Option<HashMap<u64, Letters>>> = ForkLock::new(None);

/// The owners whose layer one thread shall drop.
pub(crate) struct Letters {
    owners: Vec<u64>,
    waiting: Arc<AtomicBool>,
}

/// One thread's own end: looking whether anything waits is one load.
#[derive(Debug)]
pub(super) struct Inbox {
    thread: ThreadNumber,
    waiting: Arc<AtomicBool>,
}

impl Inbox {
    pub(super) fn open() -> Self {
        let inbox = Inbox { thread: ThreadNumber(THREADS.add(1)), waiting: Arc::default() };
        let letters = Letters { owners: Vec::new(), waiting: inbox.waiting.clone() };
        INBOXES.lock().get_or_insert_default().insert(inbox.thread.0, letters);
        inbox
    }

    pub(super) fn thread(&self) -> ThreadNumber {
        self.thread
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        !self.waiting.load(Ordering::Acquire)
    }

    pub(super) fn take(&self) -> Vec<u64> {
        let mut inboxes = INBOXES.lock();
        self.waiting.store(false, Ordering::Relaxed);
        let letters = inboxes.as_mut().and_then(|inboxes| inboxes.get_mut(&self.thread.0));
        letters.map(|letters| std::mem::take(&mut letters.owners)).unwrap_or_default()
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        // Taken out under the lock, freed after it.
        let _letters = INBOXES.lock().as_mut().and_then(|inboxes| inboxes.remove(&self.thread.0));
    }
}

/// In a forked child: nobody looks into the other inboxes any more.
pub(super) fn keep_only(thread: ThreadNumber) {
    if let Some(inboxes) = INBOXES.lock().as_mut() {
        inboxes.retain(|number, _| *number == thread.0);
    }
}

/// Asks `thread` to drop a layer of `owner`; nothing happens if it has ended.
pub(super) fn ask(thread: ThreadNumber, owner: u64) {
    let mut inboxes = INBOXES.lock();
    if let Some(letters) = inboxes.as_mut().and_then(|inboxes| inboxes.get_mut(&thread.0)) {
        letters.owners.push(owner);
        letters.waiting.store(true, Ordering::Release);
    }
}
