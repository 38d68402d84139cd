//! The locations at which open scopes were entered. Bindings record them only while writes are traced
//! (`INTERLOCK_DEBUG=1`): the binding knows which frame entered, and warns about unexpected exits.

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
    /// The locations of [`UnclosedScopes::ended`].
    ended: Vec<SourceLocation>,
}

struct OpenLayer {
    entered_on: MailboxId,
    scope: ScopeId,
    site: SourceLocation,
    /// The address of the generator or coroutine frame that entered; `None` for the frame of a function.
    frame: Option<usize>,
    /// Whether [`newly_suspended`] has returned this layer.
    reported: bool,
}

/// How a scope was exited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExitOrder {
    /// The innermost traced layer was removed, or the scope is not traced, or it was not open.
    InOrder,
    /// A layer that was entered later is still open.
    OutOfOrder {
        /// Where the removed layer was entered.
        entered: SourceLocation,
        /// Where the innermost layer that is still open was entered.
        later: SourceLocation,
    },
    /// Another thread or task entered it and will remove the layer.
    Elsewhere {
        /// Where it was entered.
        entered: SourceLocation,
    },
}

/// Records that this thread has entered a scope.
pub fn note_enter(scope: &Scope, site: SourceLocation, frame: Option<usize>) {
    let entered_on = active::this_mailbox();
    // A thread that is ending enters nothing.
    if entered_on != MailboxId::NONE {
        let layer = OpenLayer { entered_on, scope: scope.id(), site, frame, reported: false };
        TRACED.lock().open.push(layer);
    }
}

/// Records that this thread has exited a scope.
pub fn note_exit(scope: &Scope) -> ExitOrder {
    let here = active::this_mailbox();
    let open = &mut TRACED.lock().open;
    let innermost =
        |on: MailboxId| open.iter().rposition(|layer| layer.scope == scope.id() && layer.entered_on == on);
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

/// Returns where open layers of this thread were entered whose frame is not in `running`: frames of generators and
/// coroutines that are suspended or have finished. Returns each layer once.
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

/// Returns where the scopes that are open on any thread were entered, oldest first.
pub fn open_scopes() -> Vec<SourceLocation> {
    TRACED.lock().sites()
}

/// The locations at which scopes were entered that have not been exited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnclosedScopes {
    /// Scopes of threads and tasks that have ended: the first 100 distinct locations.
    pub ended: Vec<SourceLocation>,
    /// Scopes that are open, as [`open_scopes`] returns them.
    pub still_open: Vec<SourceLocation>,
}

/// Returns the scopes that have not been exited, to be reported when the process exits. Each scope is in exactly one of
/// the lists, also if a thread ends meanwhile.
pub fn unclosed_scopes() -> UnclosedScopes {
    let traced = TRACED.lock();
    UnclosedScopes { ended: traced.ended.clone(), still_open: traced.sites() }
}

/// Moves the open layers of a thread or task that has ended to [`UnclosedScopes::ended`].
pub(super) fn on_owner_ended(mailbox: MailboxId) {
    if mailbox != MailboxId::NONE {
        TRACED.lock().end_layers_of(mailbox);
    }
}

/// Moves layers that a [`ScopeBarrier`](super::ScopeBarrier) has removed from a thread or task to
/// [`UnclosedScopes::ended`].
pub(super) fn on_removed(mailbox: MailboxId, scopes: impl Iterator<Item = ScopeId>) {
    let mut traced = TRACED.lock();
    for scope in scopes {
        let is_removed = |layer: &OpenLayer| layer.scope == scope && layer.entered_on == mailbox;
        if let Some(index) = traced.open.iter().rposition(is_removed) {
            let site = traced.open.remove(index).site;
            traced.end(site);
        }
    }
}

impl Traced {
    fn sites(&self) -> Vec<SourceLocation> {
        self.open.iter().map(|layer| layer.site.clone()).collect()
    }

    fn end_layers_of(&mut self, ended: MailboxId) {
        let ended: Vec<_> = self.open.extract_if(.., |layer| layer.entered_on == ended).collect();
        ended.into_iter().for_each(|layer| self.end(layer.site));
    }

    fn end(&mut self, site: SourceLocation) {
        // Bounds the memory of a program that creates many threads.
        const MAX_LOCATIONS: usize = 100;
        if self.ended.len() < MAX_LOCATIONS && !self.ended.contains(&site) {
            self.ended.push(site);
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

    fn exited(context: &ModeContext) -> ExitOrder {
        context.exit();
        note_exit(context.scope())
    }

    #[test]
    fn note_exit_reports_exits_out_of_order() {
        let (first, second) = (entered(1, None), entered(2, None));
        assert_eq!(exited(&first), ExitOrder::OutOfOrder { entered: site(1), later: site(2) });
        assert_eq!(open_scopes(), [site(2)]);
        assert_eq!(exited(&second), ExitOrder::InOrder);
        assert_eq!(exited(&second), ExitOrder::InOrder);
        assert_eq!(open_scopes(), []);
    }

    #[test]
    fn note_exit_on_another_thread_returns_where_the_scope_was_entered() {
        let context = entered(1, None);
        let reported = std::thread::scope(|threads| threads.spawn(|| exited(&context)).join().unwrap());
        assert_eq!(reported, ExitOrder::Elsewhere { entered: site(1) });
        assert_eq!(exited(&context), ExitOrder::InOrder);
    }

    #[test]
    fn newly_suspended_returns_a_frame_once_and_only_on_its_thread() {
        let (_function, generator) = (entered(1, None), entered(2, Some(7)));
        assert_eq!(newly_suspended(&[7]), []);
        std::thread::scope(|threads| threads.spawn(|| assert_eq!(newly_suspended(&[]), [])).join().unwrap());
        assert_eq!(newly_suspended(&[8]), [site(2)]);
        assert_eq!(newly_suspended(&[8]), []);
        exited(&generator);
    }
}
