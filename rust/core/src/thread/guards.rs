//! The layers of native code, which belong to a thread or a task: guards, and scopes that are entered without a current
//! context. It does not access the thread-local.
//!
//! A guard lies above the layers of the context in which it was made and below all others: a task that was suspended in
//! its own scope keeps that scope when it is resumed inside a newer guard, and the guard sets what the task does not.

use std::mem;
use std::sync::Arc;

use super::base::Base;
use super::ids::{ExitTarget, LayerId, LayerIds, ScopeId};
use super::state::{self, Layers};
use super::{Masked, Slots, flag_slots};

/// A layer of native code. Its fields are whole words because a guard is read right after it is written, and a load
/// that is wider than the preceding store stalls.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Guard {
    pub(super) id: LayerId,
    /// The scope that pushed the layer; none for a guard, which removes it by id.
    pub(super) scope: ScopeId,
    pub(super) word: GuardWord,
    /// `None` if the layer sets only mode bits.
    pub(super) slots: Option<Arc<Slots>>,
    /// The layers of the context in which the guard was made, once the thread has moved to others.
    made_in: Layers,
}

/// The mode bits that a guard sets, those below it, and its rank, in one word that is stored and loaded at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GuardWord(u64);

/// Whether `made_in` is set. Until then the guard was made in the current layers of the context.
const IS_MOVED: u64 = 1 << 24;
/// Whether the guard has slots.
const HAS_SLOTS: u64 = 1 << 25;
const RANK_SHIFT: u32 = 32;

/// The copy that a pushed guard has of its layer. While both agree, the guard is removed with values of its own: loads
/// of what was just stored would wait for the stores.
#[derive(Clone, Copy, Debug)]
pub(super) struct PushedGuard {
    pub(super) id: LayerId,
    index: usize,
    word: GuardWord,
}

impl PushedGuard {
    /// A guard that was not pushed.
    pub(super) const NONE: PushedGuard = PushedGuard { id: LayerId::NONE, index: 0, word: GuardWord(0) };
}

impl GuardWord {
    #[inline(always)]
    fn new(modes: Masked<u8>, below: u8, rank: u32, has_slots: bool) -> Self {
        let modes = u64::from(modes.mask) | u64::from(modes.value) << 8;
        let slots = if has_slots { HAS_SLOTS } else { 0 };
        GuardWord(modes | u64::from(below) << 16 | slots | u64::from(rank) << RANK_SHIFT)
    }

    pub(super) fn modes(self) -> Masked<u8> {
        let [mask, value, ..] = self.0.to_le_bytes();
        Masked { mask, value }
    }

    pub(super) fn set_modes(&mut self, modes: Masked<u8>) {
        let word = GuardWord::new(modes, self.below(), self.rank(), false);
        self.0 = word.0 | self.0 & (IS_MOVED | HAS_SLOTS);
    }

    /// Returns all mode bits without this layer and those above. They are recomputed when a lower layer changes, so
    /// removing this layer always restores current values.
    #[inline]
    fn below(self) -> u8 {
        (self.0 >> 16) as u8
    }

    fn set_below(&mut self, below: u8) {
        self.0 = self.0 & !(0xff << 16) | u64::from(below) << 16;
    }

    fn is_moved(self) -> bool {
        self.0 & IS_MOVED != 0
    }

    /// Returns the number of layers of the context that lie below.
    #[inline]
    pub(super) fn rank(self) -> u32 {
        (self.0 >> RANK_SHIFT) as u32
    }

    fn set_rank(&mut self, rank: u32) {
        self.0 = self.0 & u64::from(u32::MAX) | u64::from(rank) << RANK_SHIFT;
    }

    /// Returns whether the guard has no slots and is above all `depth` layers of the context in which it was made.
    #[inline]
    fn is_plain_on_top(self, depth: u32) -> bool {
        self.0 & (IS_MOVED | HAS_SLOTS | u64::from(u32::MAX) << RANK_SHIFT) == u64::from(depth) << RANK_SHIFT
    }
}

// Every guard writes a whole layer.
const _: () = assert!(size_of::<Guard>() == 40);

impl Guard {
    #[inline]
    fn is(&self, target: ExitTarget) -> bool {
        match target {
            ExitTarget::Scope(scope) => self.scope == scope,
            ExitTarget::Layer(id) => self.id == id,
        }
    }

    fn names_flags(&self) -> bool {
        self.slots.as_ref().is_some_and(|slots| slots.flags.name_any())
    }
}

/// A layer or base that was removed, to be dropped once nothing is borrowed or locked.
#[derive(Debug)]
pub(super) struct Removed {
    pub(super) id: LayerId,
    /// The scope that pushed the layer directly above; none if there was none, or if it was a guard.
    pub(super) above: ScopeId,
    _slots: Option<Arc<Slots>>,
    _made_in: Layers,
}

/// The layers of native code over a base.
#[derive(Debug)]
pub(super) struct Guards {
    base: Base,
    list: Vec<Guard>,
    /// For a task, whose base lies above the context in which its step began, the layers of that context.
    floor: Option<Layers>,
    /// The number of layers of the context that lie below the base of a task.
    pub(super) floor_rank: u32,
}

impl Guards {
    /// Creates an empty list for a thread.
    pub(super) const fn new() -> Self {
        Guards { base: Base::EMPTY, list: Vec::new(), floor: None, floor_rank: 0 }
    }

    pub(super) fn base(&self) -> &Base {
        &self.base
    }

    pub(super) fn list(&self) -> &[Guard] {
        &self.list
    }

    /// Returns whether there are none, and these are not the guards of a task.
    #[inline]
    pub(super) fn are_none(&self) -> bool {
        self.list.is_empty() && self.floor.is_none()
    }

    /// Returns whether these are the guards of a task, whose base hides the context in which its step began.
    pub(super) fn hide_the_context(&self) -> bool {
        self.floor.is_some()
    }

    /// Replaces the base. Writes to the old base can no longer be revoked.
    pub(super) fn set_base(&mut self, modes: Masked<u8>, slots: Arc<Slots>) -> Base {
        let before = self.flag_layer_count();
        let old = mem::replace(&mut self.base, Base { modes, slots: Some(slots), ..Base::EMPTY });
        flag_slots::acquire(self.flag_layer_count());
        flag_slots::release(before);
        old
    }

    /// Returns the slots of the base for a write. `Slots` that a captured state shares are copied first.
    pub(super) fn base_slots_mut(&mut self) -> &mut Slots {
        Arc::make_mut(self.base.slots.get_or_insert_with(Slots::opaque))
    }

    /// Returns a guard for a write.
    pub(super) fn guard_mut(&mut self, id: LayerId) -> Option<&mut Guard> {
        self.list.iter_mut().rev().find(|guard| guard.id == id)
    }

    /// Writes a mode to the base. Returns the id of the base and the previous bits that it set.
    pub(super) fn write_base_mode(&mut self, ids: &mut LayerIds, bit: Masked<u8>) -> (LayerId, Masked<u8>) {
        if self.base.id == LayerId::NONE {
            self.base.id = ids.next();
        }
        let old = self.base.modes.within(bit.mask);
        self.base.modes = bit.over(self.base.modes);
        (self.base.id, old)
    }

    /// Restores bits of a guard or of the base, if it still exists; `old` has the bits that it set of `mask`. Returns
    /// false if there is no such guard or base.
    pub(super) fn restore_mode(&mut self, target: LayerId, mask: u8, old: Masked<u8>) -> bool {
        let restored = |modes: Masked<u8>| old.over(modes.within(!mask));
        if target == self.base.id {
            self.base.modes = restored(self.base.modes);
            return true;
        }
        let Some(guard) = self.guard_mut(target) else { return false };
        guard.word.set_modes(restored(guard.word.modes()));
        true
    }

    /// Returns the number of layers that name flags, hidden ones included. A write changes payloads of a layer, never
    /// which flags it names.
    fn flag_layer_count(&self) -> u64 {
        self.list.iter().filter(|guard| guard.names_flags()).count() as u64
            + u64::from(self.base.names_flags())
    }

    /// Returns whether the next push needs [`grow`](Guards::grow) first.
    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.list.len() == self.list.capacity()
    }

    pub(super) fn grow(&mut self) {
        // Enough for nearly every program, so that the list is allocated once per thread.
        const INITIAL_CAPACITY: usize = 16;
        self.list.reserve(INITIAL_CAPACITY.max(self.list.len()));
    }

    /// Pushes a layer over the active mode bits, which are `below`, and over all `rank` layers of the context. Pushes
    /// nothing and returns `None` if there is no spare capacity.
    #[inline(always)]
    pub(super) fn push(
        &mut self,
        ids: &mut LayerIds,
        scope: ScopeId,
        modes: Masked<u8>,
        below: u8,
        rank: u32,
        slots: Option<Arc<Slots>>,
    ) -> Option<PushedGuard> {
        let index = self.list.len();
        let spare = self.list.spare_capacity_mut().first_mut()?;
        if slots.as_ref().is_some_and(|slots| slots.flags.name_any()) {
            flag_slots::acquire(1);
        }
        let id = ids.next();
        // Written in place: `Vec::push` builds a layer elsewhere and copies it.
        let word = GuardWord::new(modes, below, rank, slots.is_some());
        spare.write(Guard { id, scope, word, slots, made_in: None });
        // SAFETY: the element after the last one has just been written.
        unsafe { self.list.set_len(index + 1) };
        Some(PushedGuard { id, index, word })
    }

    /// Removes the innermost layer if it is this guard as it was pushed, sets only mode bits, and is above all `depth`
    /// layers of the context. Returns the mode bits that are active without it.
    #[inline(always)]
    pub(super) fn pop_pushed(&mut self, guard: PushedGuard, depth: u32) -> Option<u8> {
        let last = self.list.last()?;
        let is_it = last.id == guard.id && last.word == guard.word && self.list.len() == guard.index + 1;
        if !is_it || !guard.word.is_plain_on_top(depth) {
            return None;
        }
        // SAFETY: the new length is smaller by one. The last element needs no drop: it has no slots, and a guard that was
        // not moved has no layers.
        unsafe { self.list.set_len(guard.index) };
        Some(guard.word.below())
    }

    /// Removes the innermost layer if it is the target, sets only mode bits, and is above all `depth` layers of the
    /// context. Returns its id and the mode bits that are active without it.
    #[inline]
    pub(super) fn pop_plain(&mut self, target: ExitTarget, depth: u32) -> Option<(LayerId, u8)> {
        let last = self.list.last()?;
        if !last.is(target) || !last.word.is_plain_on_top(depth) {
            return None;
        }
        let popped = (last.id, last.word.below());
        let length = self.list.len() - 1;
        // SAFETY: the new length is smaller. The last element needs no drop: it has no slots, and a guard that was not
        // moved has no layers.
        unsafe { self.list.set_len(length) };
        Some(popped)
    }

    /// Removes the innermost layer that matches the target, at any depth. Those above it may then lie below layers of
    /// the context, `layers`, that it was above.
    pub(super) fn remove(&mut self, target: ExitTarget, layers: &Layers) -> Option<Removed> {
        let index = self.list.iter().rposition(|guard| guard.is(target))?;
        let above = self.list.get(index + 1).map_or(ScopeId::NONE, |guard| guard.scope);
        let removed = removed(self.list.remove(index));
        if index < self.list.len() {
            self.rank(layers);
        }
        Some(Removed { above, ..removed })
    }

    /// Returns whether this is the innermost layer.
    #[inline]
    pub(super) fn is_innermost(&self, id: LayerId, depth: u32) -> bool {
        self.list.last().is_some_and(|guard| guard.id == id && guard.word.rank() == depth)
    }

    /// Removes the layers above one, innermost first. Has no effect if there is no such layer.
    pub(super) fn remove_above(&mut self, id: LayerId) -> Vec<Removed> {
        let Some(index) = self.list.iter().rposition(|guard| guard.id == id) else { return Vec::new() };
        self.list.drain(index + 1..).rev().map(removed).collect()
    }

    /// Records the layers of the context in which guards were made, before the thread moves to others.
    pub(super) fn leave(&mut self, layers: &Layers) {
        for guard in self.list.iter_mut().rev().take_while(|guard| !guard.word.is_moved()) {
            guard.made_in.clone_from(layers);
            guard.word.0 |= IS_MOVED;
        }
    }

    /// Begins the step of a task over these layers of the context.
    pub(super) fn begin_step(&mut self, layers: &Layers) {
        self.floor = Some(layers.clone());
    }

    /// Computes the rank of each guard among the layers of the context.
    pub(super) fn rank(&mut self, layers: &Layers) {
        let Guards { list, floor, floor_rank, .. } = self;
        *floor_rank = floor.as_ref().map_or(0, |floor| state::shared_depth(layers, floor));
        let mut rank = *floor_rank;
        for guard in list {
            let own = if guard.word.is_moved() {
                state::shared_depth(layers, &guard.made_in)
            } else {
                guard.word.rank()
            };
            rank = rank.max(own);
            guard.word.set_rank(rank);
        }
    }

    /// Computes the mode bits below each guard, from `word`, the bits of the bases. Returns the active mode bits.
    pub(super) fn refresh_modes(&mut self, mut word: u8, layers: &Layers) -> u8 {
        if self.list.is_empty() && self.floor.is_none() {
            return layers.as_ref().map_or(word, |node| node.summary().modes.applied_to(word));
        }
        let floor_rank = self.floor_rank;
        let mut nodes: Vec<_> = state::iterate(layers).take_while(|node| node.depth() > floor_rank).collect();
        for guard in &mut self.list {
            while let Some(node) = nodes.pop_if(|node| node.depth() <= guard.word.rank()) {
                word = node.layer.modes.applied_to(word);
            }
            guard.word.set_below(word);
            word = guard.word.modes().applied_to(word);
        }
        nodes.iter().rev().fold(word, |word, node| node.layer.modes.applied_to(word))
    }
}

/// Stops counting a layer that was removed from its list.
fn removed(guard: Guard) -> Removed {
    if guard.names_flags() {
        flag_slots::release(1);
    }
    let Guard { id, slots, made_in, .. } = guard;
    Removed { id, above: ScopeId::NONE, _slots: slots, _made_in: made_in }
}

impl Drop for Guards {
    fn drop(&mut self) {
        flag_slots::release(self.flag_layer_count());
    }
}
