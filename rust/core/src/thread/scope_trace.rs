//! The locations at which open scopes were entered. Bindings record them only while writes are traced
//! (`INTERLOCK_DEBUG=1`): the binding knows which frame entered, and warns about unexpected exits.

use super::ids::{LayerId, ScopeId};
use crate::base::fork::rank;
use crate::base::location::SourceLocation;
use crate::base::sync::ForkLock;

static TRACED: ForkLock<Traced> =
    ForkLock::new(rank::SCOPE_TRACE, Traced { open: Vec::new(), ended: Vec::new() });

pub(crate) struct Traced {
    /// Every traced layer of all threads, tasks and contexts that is open, in order of entry.
    open: Vec<OpenLayer>,
    /// The locations of [`UnclosedScopes::ended`].
    ended: Vec<SourceLocation>,
}

struct OpenLayer {
    layer: LayerId,
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
    /// Another thread, task or context has entered it.
    Elsewhere {
        /// Where it was entered.
        entered: SourceLocation,
    },
}

/// Records where a layer was entered.
pub(super) fn note_enter(layer: LayerId, scope: ScopeId, site: SourceLocation, frame: Option<usize>) {
    TRACED.lock().open.push(OpenLayer { layer, scope, site, frame, reported: false });
}

/// Records the exit of a layer; `above` are the layers here that were entered later, innermost first.
pub(super) fn note_exit(layer: LayerId, above: &[LayerId]) -> ExitOrder {
    let open = &mut TRACED.lock().open;
    let Some(entered) = take(open, |open| open.layer == layer) else { return ExitOrder::InOrder };
    let later = above.iter().find_map(|above| open.iter().find(|open| open.layer == *above));
    match later.map(|later| later.site.clone()) {
        Some(later) => ExitOrder::OutOfOrder { entered, later },
        None => ExitOrder::InOrder,
    }
}

/// Records the exit of a scope by another thread, task or context than the one that entered it: the layer, if it is
/// known, else the last one of the scope that is not among `here`.
pub(super) fn note_exit_elsewhere(layer: Option<LayerId>, scope: ScopeId, here: &[LayerId]) -> ExitOrder {
    let is_exited = |open: &OpenLayer| match layer {
        Some(layer) => open.layer == layer,
        None => open.scope == scope && !here.contains(&open.layer),
    };
    match take(&mut TRACED.lock().open, is_exited) {
        Some(entered) => ExitOrder::Elsewhere { entered },
        None => ExitOrder::InOrder,
    }
}

/// Forgets layers that have ended without an exit of their scope. Returns where they were entered, oldest first.
pub(super) fn note_ended(layers: impl Iterator<Item = LayerId>) -> Vec<SourceLocation> {
    let open = &mut TRACED.lock().open;
    let mut sites: Vec<_> = layers.filter_map(|layer| take(open, |open| open.layer == layer)).collect();
    sites.reverse();
    sites
}

/// Removes the last layer that a condition accepts and returns where it was entered.
fn take(open: &mut Vec<OpenLayer>, is_taken: impl Fn(&OpenLayer) -> bool) -> Option<SourceLocation> {
    let index = open.iter().rposition(is_taken)?;
    Some(open.remove(index).site)
}

/// Returns where the layers of `here` were entered whose frame is not in `running`: frames of generators and coroutines
/// that are suspended or have finished. Returns each layer once.
pub(super) fn newly_suspended(here: &[LayerId], running: &[usize]) -> Vec<SourceLocation> {
    let open = &mut TRACED.lock().open;
    let suspended = open.iter_mut().filter(|open| {
        let waits = open.frame.is_some_and(|frame| !running.contains(&frame));
        waits && !open.reported && here.contains(&open.layer)
    });
    suspended
        .map(|open| {
            open.reported = true;
            open.site.clone()
        })
        .collect()
}

/// Returns where the scopes that are open anywhere were entered, oldest first.
pub fn open_scopes() -> Vec<SourceLocation> {
    TRACED.lock().sites()
}

/// The locations at which scopes were entered that have not been exited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnclosedScopes {
    /// Scopes of threads, tasks and contexts that have ended: the first 100 distinct locations.
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

/// Moves a layer that was dropped without an exit to [`UnclosedScopes::ended`]: its thread, task or context has ended.
pub(super) fn on_dropped(layer: LayerId) {
    let mut traced = TRACED.lock();
    if let Some(site) = take(&mut traced.open, |open| open.layer == layer) {
        traced.end(site);
    }
}

impl Traced {
    fn sites(&self) -> Vec<SourceLocation> {
        self.open.iter().map(|open| open.site.clone()).collect()
    }

    fn end(&mut self, site: SourceLocation) {
        // Bounds the memory of a program that creates many threads.
        const MAX_LOCATIONS: usize = 100;
        if self.ended.len() < MAX_LOCATIONS && !self.ended.contains(&site) {
            self.ended.push(site);
        }
    }
}
