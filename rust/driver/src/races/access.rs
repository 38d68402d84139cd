//! Accesses of memory, and their place in the order of everything else.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use interlock_core::named_enum;

use super::clock::{Actor, VectorClock};
use crate::{Stack, StreamHandle};

named_enum! {
    /// What an access does with the bytes.
    ///
    /// ```
    /// use interlock_driver::races::AccessKind;
    ///
    /// assert_eq!((AccessKind::Write.name(), AccessKind::Write.verb()), ("write", "writes"));
    /// ```
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum AccessKind {
        /// It reads them.
        Read => "read",
        /// It writes them.
        Write => "write",
        /// It allocates them for later work of a stream.
        Allocation => "allocation",
        /// It frees them.
        Release => "release",
    }
}

impl AccessKind {
    /// Returns the verb of a report.
    pub fn verb(self) -> &'static str {
        match self {
            AccessKind::Read => "reads",
            AccessKind::Write => "writes",
            AccessKind::Allocation => "gets",
            AccessKind::Release => "frees",
        }
    }
}

/// Work that accesses memory: queued on a stream, or done by a thread of the program.
///
/// ```
/// use interlock_driver::races::Work;
///
/// let work = Work { operation: "add".into(), stack: None, stream: None, thread: None };
/// assert!(work.frame().is_none());
/// ```
#[derive(Clone, Debug)]
pub struct Work {
    /// The name of the operation.
    pub operation: Arc<str>,
    /// The stack of the call that queued or did it, if the embedding program recorded it with
    /// [`with_stack`](crate::with_stack).
    pub stack: Option<Stack>,
    /// The stream; `None` for work of a thread of the program.
    pub stream: Option<StreamHandle>,
    /// The name of the thread that did or queued it, if it has one.
    pub thread: Option<Arc<str>>,
}

/// A piece of work, and what it comes after.
///
/// ```
/// use interlock_driver::StreamHandle;
/// use interlock_driver::races::{self, RaceDetector};
///
/// let _detector = RaceDetector::start();
/// // A queued task has a moment, to which its accesses belong.
/// let queued = races::queue(StreamHandle { device: 0, raw: 1 }, || "fill".into());
/// queued.run(|| assert!(!races::current().is_program()));
/// ```
#[derive(Debug)]
pub struct Moment {
    /// The session of the detector, because clocks of different sessions are not comparable.
    pub(super) session: u64,
    pub(super) actor: Actor,
    pub(super) time: u64,
    pub(super) seen: VectorClock,
    pub(super) work: Work,
}

/// An access of bytes.
pub(super) struct Access {
    pub moment: Arc<Moment>,
    pub kind: AccessKind,
    pub bytes: Range<usize>,
}

impl Access {
    /// Returns whether this access happens before another.
    pub fn precedes(&self, other: &Access) -> bool {
        other.moment.seen.time_of(self.moment.actor) >= self.moment.time
    }

    /// Returns whether one of the accesses happens before the other.
    pub fn is_ordered_with(&self, other: &Access) -> bool {
        self.precedes(other) || other.precedes(self)
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {:?}", self.moment.work.operation, self.kind.verb(), self.bytes)
    }
}
