//! The names and locations at which open scopes were entered. Bindings record them only while writes are traced
//! (`INTERLOCK_DEBUG=1`): the binding knows which frame entered, and warns about unexpected exits.

use std::sync::Arc;

use super::ids::{LayerId, ScopeId};
use crate::base::fork::rank;
use crate::base::location::SourceLocation;
use crate::base::sync::ForkLock;

static TRACED: ForkLock<Traced> =
    ForkLock::new(rank::SCOPE_TRACE, Traced { open: Vec::new(), ended: Vec::new() });

pub(crate) struct Traced {
    /// Every traced layer of all threads, tasks and contexts that is open, in order of entry.
    open: Vec<OpenLayer>,
    /// The scopes of [`UnclosedScopes::ended`].
    ended: Vec<(Entered, usize)>,
}

/// A scope that was entered, for a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entered {
    /// Names the scope, for example "no_grad".
    pub name: Arc<str>,
    /// Where it was entered.
    pub site: SourceLocation,
}

struct OpenLayer {
    layer: LayerId,
    scope: ScopeId,
    entered: Entered,
    /// The address of the generator or coroutine frame that entered; `None` for the frame of a function.
    frame: Option<usize>,
    /// Whether [`newly_suspended`] has returned this layer.
    reported: bool,
}

/// How a scope was exited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExitOrder {
    /// The innermost traced layer was removed, or the scope is not traced.
    InOrder,
    /// The scope was not open.
    NotOpen,
    /// A layer that was entered later is still open.
    OutOfOrder {
        /// The scope of the removed layer.
        entered: Entered,
        /// The scope of the innermost layer that is still open.
        later: Entered,
    },
    /// Another thread, task or context has entered it.
    Elsewhere {
        /// The scope.
        entered: Entered,
    },
}

/// Records the enter of a layer.
pub(super) fn record_enter(layer: LayerId, scope: ScopeId, entered: Entered, frame: Option<usize>) {
    TRACED.lock().open.push(OpenLayer { layer, scope, entered, frame, reported: false });
}

/// Records the exit of a layer; `above` are the layers here that were entered later, innermost first.
pub(super) fn record_exit(layer: LayerId, above: &[LayerId]) -> ExitOrder {
    let open = &mut TRACED.lock().open;
    let Some(entered) = take(open, |open| open.layer == layer) else { return ExitOrder::InOrder };
    let later = above.iter().find_map(|above| open.iter().find(|open| open.layer == *above));
    match later.map(|later| later.entered.clone()) {
        Some(later) => ExitOrder::OutOfOrder { entered, later },
        None => ExitOrder::InOrder,
    }
}

/// Records the exit of a scope by another thread, task or context than the one that entered it: the layer, if it is
/// known, else the last one of the scope that is not among `here`.
pub(super) fn record_exit_elsewhere(layer: Option<LayerId>, scope: ScopeId, here: &[LayerId]) -> ExitOrder {
    let is_exited = |open: &OpenLayer| match layer {
        Some(layer) => open.layer == layer,
        None => open.scope == scope && !here.contains(&open.layer),
    };
    match take(&mut TRACED.lock().open, is_exited) {
        Some(entered) => ExitOrder::Elsewhere { entered },
        None => ExitOrder::InOrder,
    }
}

/// Forgets layers that have ended without an exit of their scope. Returns their scopes, oldest first.
pub(super) fn record_ended(layers: impl Iterator<Item = LayerId>) -> Vec<Entered> {
    let open = &mut TRACED.lock().open;
    let mut ended: Vec<_> = layers.filter_map(|layer| take(open, |open| open.layer == layer)).collect();
    ended.reverse();
    ended
}

/// Removes the last layer that a condition accepts and returns its scope.
fn take(open: &mut Vec<OpenLayer>, is_taken: impl Fn(&OpenLayer) -> bool) -> Option<Entered> {
    let index = open.iter().rposition(is_taken)?;
    Some(open.remove(index).entered)
}

/// Returns the scopes of the layers of `here` whose frame is not in `running`: frames of generators and coroutines that
/// are suspended or have finished. Returns each layer once.
pub(super) fn newly_suspended(here: &[LayerId], running: &[usize]) -> Vec<Entered> {
    let open = &mut TRACED.lock().open;
    let suspended = open.iter_mut().filter(|open| {
        let waits = open.frame.is_some_and(|frame| !running.contains(&frame));
        waits && !open.reported && here.contains(&open.layer)
    });
    suspended
        .map(|open| {
            open.reported = true;
            open.entered.clone()
        })
        .collect()
}

/// Returns where the scopes that are open anywhere were entered, oldest first.
pub fn open_scopes() -> Vec<SourceLocation> {
    TRACED.lock().open.iter().map(|open| open.entered.site.clone()).collect()
}

/// The distinct scopes that have not been exited, each with the number of its layers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnclosedScopes {
    /// Scopes of threads, tasks and contexts that have ended: the first 100.
    pub ended: Vec<(Entered, usize)>,
    /// Scopes that are open, oldest first.
    pub still_open: Vec<(Entered, usize)>,
}

/// Returns the scopes that have not been exited, to be reported when the process exits. Each scope is in exactly one of
/// the lists, also if a thread ends meanwhile.
pub fn unclosed_scopes() -> UnclosedScopes {
    let traced = TRACED.lock();
    UnclosedScopes { ended: traced.ended.clone(), still_open: traced.still_open() }
}

/// Moves a layer that was dropped without an exit to [`UnclosedScopes::ended`]: its thread, task or context has ended.
pub(super) fn on_dropped(layer: LayerId) {
    let mut traced = TRACED.lock();
    if let Some(ended) = take(&mut traced.open, |open| open.layer == layer) {
        traced.end(ended);
    }
}

impl Traced {
    fn still_open(&self) -> Vec<(Entered, usize)> {
        let mut scopes = Vec::new();
        self.open.iter().for_each(|open| count(&mut scopes, &open.entered, usize::MAX));
        scopes
    }

    fn end(&mut self, ended: Entered) {
        // Bounds the memory of a program that creates many threads.
        const MAX_ENDED: usize = 100;
        count(&mut self.ended, &ended, MAX_ENDED);
    }
}

/// Counts a scope, unless it is new and there are `most` others.
fn count(scopes: &mut Vec<(Entered, usize)>, scope: &Entered, most: usize) {
    if let Some((_, number)) = scopes.iter_mut().find(|(known, _)| known == scope) {
        *number += 1;
    } else if scopes.len() < most {
        scopes.push((scope.clone(), 1));
    }
}
