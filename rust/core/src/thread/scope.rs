//! Scopes: an object that threads enter and exit, and a RAII guard.

use std::any::Any;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use super::carrier::{self, Context, PresentContext, Receipt, sync};
use super::current::{self, Changing};
use super::guards::PushedGuard;
use super::ids::{ExitTarget, Position};
use super::mailbox::MailboxId;
use super::scope_trace::{self, Entered, ExitOrder};
use super::state::{Layer, Mark, State};
use super::{DeviceSlots, LayerId, Masked, ScopeId, Slots, changes, hooks, native, reads};
use crate::base::env;
use crate::base::sync::{RelaxedU64, SpinLock};
use crate::{Error, Result};

/// The action of an enter that fails.
const ENTER: &str = "enter a scope";

/// The identity of an object that is entered and exited. It may be entered again while it is open, by several threads,
/// and exited in any order.
///
/// ```
/// use interlock_core::modes::{ModeContext, ModeKind, is_grad_enabled};
/// use interlock_core::thread::Scope;
///
/// let context = ModeContext::new(ModeKind::NoGrad);
/// context.enter();
/// let scope: &Scope = context.scope();
/// scope.exit();
/// assert!(is_grad_enabled());
/// ```
#[derive(Debug)]
pub struct Scope {
    id: ScopeId,
    /// The mailbox of the thread or task that entered last, if without a current context.
    entered_on: RelaxedU64,
    /// The layers that are open in contexts.
    open: SpinLock<OpenLayers>,
}

/// The layers of a scope that are open in contexts, in order of entry.
#[derive(Debug, Default)]
struct OpenLayers {
    /// Not in the vector, because nearly every scope has at most one.
    last: Option<OpenLayer>,
    #[expect(clippy::box_collection, reason = "dropping a scope without earlier layers is one comparison")]
    earlier: Option<Box<Vec<OpenLayer>>>,
}

impl OpenLayers {
    /// Returns the empty slot of a new layer.
    #[inline]
    fn next(&mut self) -> &mut Option<OpenLayer> {
        if let Some(earlier) = self.last.take() {
            self.earlier.get_or_insert_default().push(earlier);
        }
        &mut self.last
    }

    #[inline]
    fn pop(&mut self) -> Option<OpenLayer> {
        let earlier = self.earlier.as_mut().and_then(|earlier| earlier.pop());
        std::mem::replace(&mut self.last, earlier)
    }

    fn iter(&self) -> impl Iterator<Item = &OpenLayer> {
        self.earlier.iter().flat_map(|earlier| earlier.iter()).chain(&self.last)
    }

    /// Removes the layer with this mark.
    fn remove(&mut self, mark: &Mark) -> Option<OpenLayer> {
        let is_it = |open: &OpenLayer| std::ptr::eq(&*open.mark, mark);
        if self.last.as_ref().is_some_and(is_it) {
            return self.pop();
        }
        let earlier = self.earlier.as_mut()?;
        let index = earlier.iter().rposition(is_it)?;
        Some(earlier.remove(index))
    }
}

/// A layer that a scope has entered in a context.
struct OpenLayer {
    mark: Arc<Mark>,
    /// Accepted only in the context of the enter.
    receipt: Receipt,
    /// The serial of the state before the enter.
    before: u64,
}

impl fmt::Debug for OpenLayer {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        self.mark.fmt(formatter)
    }
}

impl Default for Scope {
    fn default() -> Self {
        Scope {
            id: ScopeId::next(),
            entered_on: RelaxedU64::new(0),
            open: SpinLock::new(OpenLayers::default()),
        }
    }
}

impl Scope {
    /// Creates a scope whose users exclude each other.
    ///
    /// # Safety
    /// No two threads use the scope at the same time.
    pub(crate) unsafe fn new_serialized() -> Self {
        // SAFETY: guaranteed by the caller; no function of the scope acquires the lock while it holds it.
        Scope { open: unsafe { SpinLock::new_serialized(OpenLayers::default()) }, ..Scope::default() }
    }
}

/// The result of an exit.
#[derive(Clone, Copy, Debug)]
pub struct Exit {
    scope: ScopeId,
    /// The layer, if it is known.
    layer: Option<LayerId>,
    /// Whether the layer belongs to another thread, task or context.
    is_elsewhere: bool,
    /// Whether another thread may have the layer, which is not known then.
    may_be_requested: bool,
    /// The scope that pushed the layer directly above the removed one on this thread, if the exit is out of order.
    pub above: Option<ScopeId>,
}

impl Scope {
    /// Pushes a layer of this scope that sets mode bits. Calls `before` with the active ones.
    #[inline]
    pub(crate) fn enter_modes(
        &self,
        context: Option<PresentContext>,
        modes: Masked<u8>,
        before: impl Fn(u8),
    ) -> Result<()> {
        self.enter_after(context, before, modes, None).map(drop)
    }

    /// Pushes a layer of this scope that sets no mode bits.
    pub(crate) fn enter_slots(&self, slots: &Arc<Slots>) -> Result<()> {
        self.enter_layer(Masked::default(), Some(slots)).map(drop)
    }

    /// Pushes a layer of this scope in the current context, else on this thread, and returns its id. Fails, and pushes
    /// nothing, if the state of the context cannot be stored, or the layers of the thread are dropped.
    #[inline]
    pub(super) fn enter_layer(&self, modes: Masked<u8>, slots: Option<&Arc<Slots>>) -> Result<LayerId> {
        self.enter_after(PresentContext::at_hand(), |_| (), modes, slots)
    }

    #[inline]
    fn enter_after(
        &self,
        context: Option<PresentContext>,
        before: impl Fn(u8),
        modes: Masked<u8>,
        slots: Option<&Arc<Slots>>,
    ) -> Result<LayerId> {
        if let Some(context) = context
            && let Some((changing, state, mark)) =
                Changing::begin_enter(context.serial, &before, self.id, modes, slots)
        {
            let Some(receipt) = context.store(&state) else {
                mark.close();
                return Err(Error::ContextNotStored { action: ENTER.into() });
            };
            changing.end_enter(state, context.serial, modes, slots);
            return Ok(self.opened(mark, receipt, context.serial, slots));
        }
        match Context::at_hand() {
            Some(context) => {
                before(reads::mode_word());
                self.enter_in(&context, modes, slots)
            }
            None => {
                current::see();
                before(reads::mode_word());
                self.enter_on_thread(modes, slots)
            }
        }
    }

    #[inline]
    fn enter_on_thread(&self, modes: Masked<u8>, slots: Option<&Arc<Slots>>) -> Result<LayerId> {
        let pushed = match slots {
            None => native::push_modes(self.id, modes),
            Some(slots) => native::push_slots(self.id, modes, slots),
        };
        // Other threads may have the scope open.
        let Some(pushed) = pushed else { return Err(current::ended(ENTER)) };
        self.entered_on.set(native::this_mailbox().0);
        hooks::report_pushed(pushed.id, slots.map(|slots| &**slots));
        Ok(pushed.id)
    }

    /// Records a layer that was entered in a context, and returns its id.
    #[inline]
    fn opened(&self, mark: Arc<Mark>, receipt: Receipt, before: u64, slots: Option<&Arc<Slots>>) -> LayerId {
        let id = mark.id;
        let mut open = self.open.lock();
        let layer = open.next();
        // Made in its place, for the reason given at `Mark::renew`.
        *layer = Some(OpenLayer { mark, receipt, before });
        drop(open);
        hooks::report_pushed(id, slots.map(|slots| &**slots));
        id
    }

    #[inline(never)]
    fn enter_in(&self, context: &Context, modes: Masked<u8>, slots: Option<&Arc<Slots>>) -> Result<LayerId> {
        let Some(id) = current::next_layer_id() else { return Err(current::ended(ENTER)) };
        let position = current::take_position().unwrap_or_else(Position::current);
        let mark = Arc::new(Mark::new(id, self.id, position));
        let modes_set_by = reads::this_thread();
        let layer = Layer { mark: mark.clone(), modes, modes_set_by, slots: slots.cloned() };
        let state = context.state().with(layer);
        let receipt = context.store(|| ENTER.into(), &state).inspect_err(|_| mark.close())?;
        Ok(self.opened(mark, receipt, context.stored.serial(), slots))
    }

    /// Returns the id.
    pub(crate) fn id(&self) -> ScopeId {
        self.id
    }

    /// Calls `visit` with the receipt of each layer that is open in a context, for a garbage collector of the carrier's
    /// language. The scope is the only owner of a receipt.
    pub(crate) fn visit_receipts(&self, mut visit: impl FnMut(&Receipt)) {
        self.open.lock().iter().for_each(|open| visit(&open.receipt));
    }

    /// Removes the innermost layer that this scope pushed in this context or on this thread. If there is none, the
    /// layer that it pushed last elsewhere ends; if that has ended as well, nothing happens.
    ///
    /// A layer of another thread ends there when that thread next enters or exits a scope or guard, writes, captures,
    /// explains or calls [`sync`](super::sync). Until then its reads, which are one load, still have the values of the layer.
    #[inline]
    pub fn exit(&self) {
        // Without contexts, the exit in order of a mode is a few loads and stores.
        if !carrier::is_installed()
            && let Some(exited) = native::remove(ExitTarget::Scope(self.id))
        {
            return hooks::report_removed(exited.id);
        }
        self.exit_present(PresentContext::at_hand());
    }

    /// Exits as [`exit`](Scope::exit) does, for a caller that knows the context, and returns what it has removed.
    #[inline]
    pub(crate) fn exit_present(&self, context: Option<PresentContext>) -> Exit {
        let exit = self.exit_anywhere(context);
        if let Some(layer) = exit.layer {
            hooks::report_removed(layer);
        }
        exit
    }

    #[inline]
    fn exit_anywhere(&self, context: Option<PresentContext>) -> Exit {
        let of = |layer, is_elsewhere, above: ScopeId| Exit {
            scope: self.id,
            layer,
            is_elsewhere,
            may_be_requested: false,
            above: (above != ScopeId::NONE).then_some(above),
        };
        if let Some((layer, is_elsewhere)) = self.exit_last(context) {
            return of(Some(layer), is_elsewhere, ScopeId::NONE);
        }
        if let Some(context) = Context::at_hand()
            && let Some((layer, is_elsewhere)) = self.exit_in(&context)
        {
            return of(Some(layer), is_elsewhere, ScopeId::NONE);
        }
        let target = ExitTarget::Scope(self.id);
        if let Some(exited) = native::remove(target) {
            return of(Some(exited.id), false, exited.above);
        }
        if let Some(open) = self.take_last() {
            return of(Some(self.end(&open.mark)), true, ScopeId::NONE);
        }
        let entered_on = MailboxId(self.entered_on.get());
        native::exit_elsewhere(entered_on, target);
        Exit { may_be_requested: entered_on != MailboxId::NONE, ..of(None, true, ScopeId::NONE) }
    }

    /// Removes the last layer of this scope if its enter was the last change of the state of the context. Returns the
    /// layer and whether it was of another context.
    #[inline]
    fn exit_last(&self, context: Option<PresentContext>) -> Option<(LayerId, bool)> {
        let context = context?;
        let changing = Changing::begin()?;
        let OpenLayer { mark, receipt, before } = self.take_entered_at(context.serial)?;
        let id = mark.id;
        let is_here = context.revoke(receipt);
        if is_here {
            mark.close();
            if !changing.end_exit(mark, before) {
                sync();
            }
        } else {
            // The context is a copy of the one of the enter.
            drop(changing);
            self.end(&mark);
            Context::at_hand().inspect(Context::store_without_ended);
            mark.close();
        }
        Some((id, !is_here))
    }

    /// Removes the innermost layer of this scope in the context, else ends the last one of another context, unless this
    /// thread has a layer of this scope. Returns the layer and whether it was of another context.
    fn exit_in(&self, context: &Context) -> Option<(LayerId, bool)> {
        let open = match self.take_innermost(&context.stored) {
            Some(open) => open,
            None if reads::layers().iter().any(|(_, scope)| *scope == self.id) => return None,
            None => self.take_last()?,
        };
        let OpenLayer { mark, receipt, before } = open;
        if current::is_changing() {
            // A collector runs this exit in the middle of a change, which will store a state with this layer.
            return Some((self.end(&mark), false));
        }
        let mut popped = context.stored.clone();
        let is_last = popped.serial() == mark.serial() && popped.pop(&mark, before).is_some();
        let is_here = if is_last {
            let is_here = context.revoke(receipt);
            // The carrier has put back this state.
            if is_here {
                current::show(&popped)
            } else {
                self.end(&mark);
                context.store_without_ended();
            }
            is_here
        } else {
            self.exit_out_of_order(context, &mark, receipt)
        };
        mark.close();
        Some((mark.id, !is_here))
    }

    /// Removes a layer of this context that is not the last change of its state, or a layer of another context. Returns
    /// whether it was of this one.
    fn exit_out_of_order(&self, context: &Context, mark: &Mark, receipt: Receipt) -> bool {
        let without = context.state().without(|other| std::ptr::eq(other, mark));
        let store = || context.store(|| "exit a scope".into(), &without);
        // Stored before the enter is revoked, which would lose the other layers if the state could not be stored.
        if without.serial() != context.stored.serial() && store().is_err() {
            self.end(mark);
            current::see();
            return true;
        }
        let is_here = context.revoke(receipt);
        if is_here {
            let _stored = store();
        } else {
            self.end(mark);
        }
        is_here
    }

    fn take_innermost(&self, state: &State) -> Option<OpenLayer> {
        let mut open = self.open.lock();
        let is_open = |mark: &Mark| open.iter().any(|open| std::ptr::eq(&*open.mark, mark));
        let innermost = state.find(|mark| mark.scope == self.id && is_open(mark))?;
        open.remove(&innermost.layer.mark)
    }

    /// Takes the last layer if its enter made the state with this serial.
    #[inline]
    fn take_entered_at(&self, serial: u64) -> Option<OpenLayer> {
        let mut open = self.open.lock();
        if open.last.as_ref()?.mark.serial() == serial { open.pop() } else { None }
    }

    fn take_last(&self) -> Option<OpenLayer> {
        self.open.lock().pop()
    }

    /// Ends a layer in every state that contains it.
    fn end(&self, mark: &Mark) -> LayerId {
        mark.end();
        changes::announce();
        mark.id
    }
}

/// Removes a layer of this thread's state when it is dropped. It is not `Send`; if another task of the thread drops it,
/// the layer is removed from the task or thread that created the guard. After the layers of a thread are dropped, while
/// its thread-local variables are destroyed, a guard has no effect.
///
/// ```
/// use interlock_core::modes::{is_grad_enabled, no_grad};
/// use interlock_core::thread::ScopeGuard;
///
/// let guard: ScopeGuard = no_grad();
/// assert!(!is_grad_enabled());
/// drop(guard);
/// assert!(is_grad_enabled());
/// ```
#[must_use = "the layer is removed when the guard is dropped"]
#[derive(Debug)]
pub struct ScopeGuard {
    layer: PushedGuard,
    made_on: MailboxId,
    _not_send: PhantomData<*const ()>,
}

impl ScopeGuard {
    /// Pushes a layer on this thread that sets mode bits.
    #[inline(always)]
    pub(crate) fn from_modes(modes: Masked<u8>) -> Self {
        ScopeGuard::new(native::push_modes(ScopeId::NONE, modes))
    }

    /// Pushes a layer on this thread that sets no mode bits.
    pub(crate) fn from_slots(slots: &Arc<Slots>) -> Self {
        ScopeGuard::from_layer(Masked::default(), Some(slots))
    }

    /// Pushes a layer on this thread that sets device slots.
    pub(crate) fn from_devices(devices: DeviceSlots) -> Self {
        ScopeGuard::from_slots(&Slots::from_devices(devices))
    }

    pub(super) fn from_layer(modes: Masked<u8>, slots: Option<&Arc<Slots>>) -> Self {
        let Some(slots) = slots else { return ScopeGuard::from_modes(modes) };
        let guard = ScopeGuard::new(native::push_slots(ScopeId::NONE, modes, slots));
        if guard.layer.id != LayerId::NONE {
            hooks::report_pushed(guard.layer.id, Some(slots));
        }
        guard
    }

    /// Returns the layer; none if the thread was ending.
    pub(super) fn layer(&self) -> LayerId {
        self.layer.id
    }

    #[inline(always)]
    fn new(pushed: Option<PushedGuard>) -> Self {
        let layer = pushed.unwrap_or(PushedGuard::NONE);
        ScopeGuard { layer, made_on: native::this_mailbox(), _not_send: PhantomData }
    }
}

impl Drop for ScopeGuard {
    #[inline(always)]
    fn drop(&mut self) {
        if !native::pop(self.layer) {
            drop_guard(self.layer.id, self.made_on);
        }
    }
}

/// Ends the scopes that were entered on this thread since it was created and are still open, when it is dropped. Modes
/// that are written meanwhile without a scope have their old values again.
///
/// ```
/// use interlock_core::modes::{ModeContext, ModeKind, is_grad_enabled, scope_barrier};
/// use interlock_core::thread::ScopeBarrier;
///
/// let barrier: ScopeBarrier = scope_barrier();
/// let left_open = ModeContext::new(ModeKind::NoGrad);
/// left_open.enter();
/// assert!(!is_grad_enabled());
/// drop(barrier);
/// assert!(is_grad_enabled());
/// ```
#[must_use = "scopes that are left open end when the barrier is dropped"]
#[derive(Debug)]
pub struct ScopeBarrier(ScopeGuard);

impl ScopeBarrier {
    /// Pushes a layer on this thread that sets mode bits.
    #[inline]
    pub(crate) fn from_modes(modes: Masked<u8>) -> Self {
        ScopeBarrier(ScopeGuard::from_modes(modes))
    }
}

impl Drop for ScopeBarrier {
    #[inline]
    fn drop(&mut self) {
        let guard = self.0.layer.id;
        if guard != LayerId::NONE && !native::is_innermost(guard) {
            end_above(guard);
        }
    }
}

/// Ends the layers above a guard, those of the context as well.
#[cold]
fn end_above(guard: LayerId) {
    if let Some(context) = Context::at_hand() {
        end_all(&context, &reads::marks_above(guard));
    }
    native::remove_above(guard);
}

/// Ends layers in every state, except those that were exited where they were entered: copies keep these, and only this
/// context drops them. Returns the scopes of the layers; nothing unless scopes are traced.
fn end_all(context: &Context, marks: &[Arc<Mark>]) -> Vec<Entered> {
    if marks.is_empty() {
        return Vec::new();
    }
    marks.iter().filter(|mark| !mark.is_closed()).for_each(|mark| mark.end());
    changes::announce();
    let is_listed = |mark: &Mark| marks.iter().any(|listed| std::ptr::eq(&**listed, mark));
    marks.iter().for_each(|mark| hooks::report_removed(mark.id));
    // The layers have ended also in the state that the context keeps if this fails.
    let _stored = context.store(|| "exit a scope".into(), &context.state().without(is_listed));
    current::see();
    if env::debug() { scope_trace::record_ended(marks.iter().map(|mark| mark.id)) } else { Vec::new() }
}

/// Removes the layer of a guard that is not the innermost one, or that sets more than mode bits.
#[inline(never)]
fn drop_guard(layer: LayerId, made_on: MailboxId) {
    if layer != LayerId::NONE && native::remove_slow(ExitTarget::Layer(layer)).is_none() {
        native::exit_elsewhere(made_on, ExitTarget::Layer(layer));
    }
    hooks::report_removed(layer);
}

/// Removes a layer of this thread, or requests the thread or task that pushed it to remove it. Has no effect for none.
fn exit_layer(layer: LayerId, made_on: MailboxId) {
    if layer != LayerId::NONE && native::remove(ExitTarget::Layer(layer)).is_none() {
        native::exit_elsewhere(made_on, ExitTarget::Layer(layer));
    }
    hooks::report_removed(layer);
}

/// A [`ScopeGuard`] as numbers, for other languages. It is `Send`; an exit on another thread is posted to the thread or
/// task that made it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RawGuard {
    /// The layer; 0 for none.
    pub layer: u64,
    /// The mailbox of the thread or task.
    pub made_on: u64,
}

impl RawGuard {
    /// Removes the layer of the guard. Has no effect if there is none.
    pub fn exit(self) {
        exit_layer(LayerId::from_number(self.layer), MailboxId(self.made_on));
    }
}

impl From<ScopeGuard> for RawGuard {
    fn from(guard: ScopeGuard) -> Self {
        let raw = RawGuard { layer: guard.layer.id.number(), made_on: guard.made_on.0 };
        std::mem::forget(guard);
        raw
    }
}

/// The layers of a context at one moment, to end those that are left open later; the default has none.
#[derive(Debug, Default)]
pub struct ScopeMark(State);

/// The scopes that [`ScopeMark::end_scopes_since`] has ended.
#[derive(Debug, Default)]
pub struct EndedScopes {
    /// How many scopes ended.
    pub number: usize,
    /// The scopes, oldest first. Empty unless scopes are traced.
    pub entered: Vec<Entered>,
}

impl ScopeMark {
    /// Returns the layers of the current context.
    pub fn new() -> Self {
        ScopeMark(Context::at_hand().map_or(State::EMPTY, |context| context.stored))
    }

    /// Ends the layers of the current context that were entered since, wherever they are open.
    pub fn end_scopes_since(&self) -> EndedScopes {
        let Some(context) = Context::at_hand() else { return EndedScopes::default() };
        let since = context.stored.entered_since(&self.0);
        EndedScopes { number: since.len(), entered: end_all(&context, &since) }
    }
}

/// Returns the recording of the innermost active layer that has one.
pub(crate) fn recording() -> Option<Arc<dyn Any + Send + Sync>> {
    reads::read(|view| view.recording())
}

/// Returns the hooks of saved tensors of the innermost active layer that has them.
pub(crate) fn saved_tensor_hooks() -> Option<Arc<dyn Any + Send + Sync>> {
    reads::read(|view| view.saved_tensor_hooks())
}

/// Returns the hooks of the creation of nodes of all active layers, outermost first.
pub(crate) fn node_creation_hooks() -> Vec<Arc<dyn Any + Send + Sync>> {
    reads::read(|view| Some(view.node_creation_hooks())).unwrap_or_default()
}

// Tracing, for `INTERLOCK_DEBUG=1`

impl Scope {
    /// Records the last enter of this scope here.
    pub(crate) fn trace_enter(&self, entered: Entered, frame: Option<usize>) {
        if let Some((layer, _)) = reads::layers().into_iter().find(|(_, scope)| *scope == self.id) {
            scope_trace::record_enter(layer, self.id, entered, frame);
        }
    }
}

impl Exit {
    /// Records this exit.
    pub fn trace(self) -> ExitOrder {
        let here: Vec<LayerId> = reads::layers().into_iter().map(|(layer, _)| layer).collect();
        match self.layer {
            Some(layer) if !self.is_elsewhere => {
                let later: Vec<LayerId> = here.into_iter().filter(|other| *other > layer).collect();
                scope_trace::record_exit(layer, &later)
            }
            None if !self.may_be_requested => ExitOrder::NotOpen,
            layer => scope_trace::record_exit_elsewhere(layer, self.scope, &here),
        }
    }
}

/// Returns the scopes of open layers here whose frame is not in `running`; see `scope_trace.rs`.
pub fn newly_suspended(running: &[usize]) -> Vec<Entered> {
    sync();
    let here: Vec<LayerId> = reads::layers().into_iter().map(|(layer, _)| layer).collect();
    scope_trace::newly_suspended(&here, running)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::binding::thread::exit_and_report;
    use crate::modes::{ModeContext, ModeKind, no_grad};

    fn entered() -> ModeContext {
        let context = ModeContext::new(ModeKind::NoGrad);
        context.enter();
        context
    }

    fn exited(context: &ModeContext) -> Option<ScopeId> {
        context.exit_with(exit_and_report).above
    }

    #[test]
    fn exit_out_of_order_returns_the_scope_directly_above() {
        let [first, second, third] = [entered(), entered(), entered()];
        assert_eq!(exited(&first), Some(second.scope().id()));
        assert_eq!(exited(&second), Some(third.scope().id()));
        assert_eq!(exited(&third), None);
        assert_eq!(exited(&third), None);
    }

    #[test]
    fn exit_below_a_guard_and_on_another_thread_returns_no_scope() {
        let (first, guard) = (entered(), no_grad());
        assert_eq!(exited(&first), None);
        drop(guard);
        let [first, _second] = [entered(), entered()];
        std::thread::scope(|threads| assert_eq!(threads.spawn(|| exited(&first)).join().unwrap(), None));
    }
}
