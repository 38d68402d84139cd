//! Where scopes were entered that are still open. Kept for scopes of another language only while writes
//! are traced (`INTERLOCK_DEBUG=1`): that language knows which frame entered, and says what is odd.

use super::active;
use super::remote_exit::MailboxId;
use super::scope::{Scope, ScopeId};
use crate::base::fork::rank;
use crate::base::location::SourceLocation;
use crate::base::sync::ForkLock;

static TRACED: ForkLock<Traced> =
    ForkLock::new(rank::SCOPE_TRACE, Traced { open: Vec::new(), ended: Vec::new() });

pub(crate) struct Traced {
    /// Every traced layer of all threads and tasks that is open, in order of entry.
    open: Vec<OpenLayer>,
    /// See [`UnclosedScopes::ended`].
    ended: Vec<SourceLocation>,
}

struct OpenLayer {
    entered_on: MailboxId,
    scope: ScopeId,
    site: SourceLocation,
    /// The address of the generator's or coroutine's frame that entered; none for a plain function's.
    frame: Option<usize>,
    /// Whether it was said that the frame is suspended.
    reported: bool,
}

/// How a scope was left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExitOrder {
    /// The innermost traced layer ended; or the scope is not traced, or was not open.
    InOrder,
    /// A layer that was entered later stays open.
    OutOfOrder {
        /// Where the layer that ended was entered.
        entered: SourceLocation,
        /// Where the innermost of those that stay was.
        later: SourceLocation,
    },
    /// Another thread or task entered it, and will drop the layer.
    Elsewhere {
        /// Where.
        entered: SourceLocation,
    },
}

/// Notes that this thread has entered a scope.
pub fn note_enter(scope: &Scope, site: SourceLocation, frame: Option<usize>) {
    let entered_on = active::this_mailbox();
    // Nothing was entered on a thread that ends.
    if entered_on != MailboxId::NONE {
        let layer = OpenLayer { entered_on, scope: scope.number(), site, frame, reported: false };
        TRACED.lock().open.push(layer);
    }
}

/// Notes that this thread has left a scope.
pub fn note_exit(scope: &Scope) -> ExitOrder {
    let here = active::this_mailbox();
    let open = &mut TRACED.lock().open;
    let innermost = |on: MailboxId| {
        open.iter().rposition(|layer| layer.scope == scope.number() && layer.entered_on == on)
    };
    if let Some(index) = innermost(here) {
        let later = open.iter().skip(index + 1).rfind(|layer| layer.entered_on == here);
        let later = later.map(|layer| layer.site.clone());
        let entered = open.remove(index).site;
        return later.map_or(ExitOrder::InOrder, |later| ExitOrder::OutOfOrder { entered, later });
    }
    match innermost(scope.entered_on()) {
        Some(index) => ExitOrder::Elsewhere { entered: open.remove(index).site },
        None => ExitOrder::InOrder,
    }
}

/// Where this thread's open layers were entered whose frame is not among `running`, those of generators and
/// coroutines that are suspended or have ended. Each is told once.
pub fn newly_suspended(running: &[usize]) -> Vec<SourceLocation> {
    let here = active::this_mailbox();
    let open = &mut TRACED.lock().open;
    let suspended = open.iter_mut().filter(|layer| {
        let waits = layer.frame.is_some_and(|frame| !running.contains(&frame));
        layer.entered_on == here && !layer.reported && waits
    });
    suspended
        .map(|layer| {
            layer.reported = true;
            layer.site.clone()
        })
        .collect()
}

/// Where each scope was entered that is open on any thread, the first first.
pub fn open_scopes() -> Vec<SourceLocation> {
    TRACED.lock().sites()
}

/// Where scopes were entered that nobody has left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnclosedScopes {
    /// Those of threads and tasks that have ended: each place once, the first hundred.
    pub ended: Vec<SourceLocation>,
    /// Those that are open: what [`open_scopes`] returns.
    pub still_open: Vec<SourceLocation>,
}

/// What a process has to tell when it ends. Each scope is in one of the lists: a thread may end meanwhile.
pub fn unclosed_scopes() -> UnclosedScopes {
    let traced = TRACED.lock();
    UnclosedScopes { ended: traced.ended.clone(), still_open: traced.sites() }
}

/// Who had this inbox has ended, and what it has open with it.
pub(super) fn on_owner_ended(mailbox: MailboxId) {
    if mailbox != MailboxId::NONE {
        TRACED.lock().end_layers_of(mailbox);
    }
}

impl Traced {
    fn sites(&self) -> Vec<SourceLocation> {
        self.open.iter().map(|layer| layer.site.clone()).collect()
    }

    fn end_layers_of(&mut self, ended: MailboxId) {
        // A program that makes thread after thread would fill the memory.
        const PLACES: usize = 100;
        for layer in self.open.extract_if(.., |layer| layer.entered_on == ended) {
            if self.ended.len() < PLACES && !self.ended.contains(&layer.site) {
                self.ended.push(layer.site);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modes::{ModeContext, ModeKind};

    fn entered(line: u32, frame: Option<usize>) -> ModeContext {
        let context = ModeContext::new(ModeKind::NoGrad);
        context.enter();
        note_enter(context.scope(), site(line), frame);
        context
    }

    fn site(line: u32) -> SourceLocation {
        SourceLocation::Foreign { file: "program".into(), line }
    }

    fn left(context: &ModeContext) -> ExitOrder {
        context.exit();
        note_exit(context.scope())
    }

    #[test]
    fn leaves_in_order_are_nothing_to_tell_and_others_are() {
        let (first, second) = (entered(1, None), entered(2, None));
        assert_eq!(left(&first), ExitOrder::OutOfOrder { entered: site(1), later: site(2) });
        assert_eq!(open_scopes(), [site(2)]);
        assert_eq!(left(&second), ExitOrder::InOrder);
        assert_eq!(left(&second), ExitOrder::InOrder);
        assert_eq!(open_scopes(), []);
    }

    #[test]
    fn a_leave_on_another_thread_tells_where_the_scope_was_entered() {
        let context = entered(1, None);
        let reported = std::thread::scope(|threads| threads.spawn(|| left(&context)).join().unwrap());
        assert_eq!(reported, ExitOrder::Elsewhere { entered: site(1) });
        assert_eq!(left(&context), ExitOrder::InOrder);
    }

    #[test]
    fn a_suspended_frame_is_told_once_and_only_on_its_thread() {
        let (_function, generator) = (entered(1, None), entered(2, Some(7)));
        assert_eq!(newly_suspended(&[7]), []);
        std::thread::scope(|threads| threads.spawn(|| assert_eq!(newly_suspended(&[]), [])).join().unwrap());
        assert_eq!(newly_suspended(&[8]), [site(2)]);
        assert_eq!(newly_suspended(&[8]), []);
        left(&generator);
    }
}
