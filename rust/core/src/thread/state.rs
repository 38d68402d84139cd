//! The state of a context: an immutable, persistent list of layers over a base.
//!
//! Each change makes a new value, which shares the unchanged layers with the old one. So copying a context copies its
//! state in constant time, and no copy sees what another one changes later. The only part of a layer that changes in
//! place is its [`Mark`]: it records how the layer was exited.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::base::Base;
use super::flag_slots;
use super::ids::{LayerId, Position, ScopeId, ThreadId};
use super::summary::Summary;
use super::{Masked, Slots, changes, hooks, scope_trace};
use crate::base::env;
use crate::base::sync::{RelaxedBool, RelaxedU64, only_reference, only_references};

/// The state of a context. Equal serials mean equal states; 0 is the state of a context in which nothing was entered or
/// written.
#[derive(Clone, Debug, Default)]
pub struct State {
    serial: u64,
    /// The epoch of [`changes`] at which no layer had ended. States that are made of this one inherit it.
    checked_at: u64,
    base: Option<Arc<Base>>,
    head: Layers,
}

/// The bit of serials that are no ids of layers.
const NOT_OF_A_LAYER: u64 = 1 << 63;

/// The innermost layer of a list; `None` if the list is empty.
pub(super) type Layers = Option<Arc<Node>>;

/// A layer and those below it.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) layer: Layer,
    below: Layers,
    /// The number of layers up to this one.
    depth: u32,
    /// The summary of this layer and those below.
    summary: Summary,
}

/// A layer that a scope has entered. A write replaces the layer by one with the same mark.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    pub(super) mark: Arc<Mark>,
    pub(super) modes: Masked<u8>,
    /// The thread that has entered the layer, or written a mode in it since; none after a merge of layers of several
    /// threads.
    pub(super) modes_set_by: ThreadId,
    /// `None` if the layer sets only mode bits.
    pub(super) slots: Option<Arc<Slots>>,
}

/// The identity of a layer in all states that contain it.
#[derive(Debug)]
pub(super) struct Mark {
    pub(super) id: LayerId,
    pub(super) scope: ScopeId,
    /// Layers are in ascending order of positions.
    position: Position,
    /// Exited in another context than the one that entered it: it has ended in every state.
    ended: RelaxedBool,
    /// Exited in the context that entered it: copies keep it, and nothing can remove it from them any more.
    closed: RelaxedBool,
}

impl Mark {
    pub(super) fn new(id: LayerId, scope: ScopeId, position: Position) -> Self {
        Mark { id, scope, position, ended: RelaxedBool::new(false), closed: RelaxedBool::new(false) }
    }

    /// Turns the mark of a closed layer into the mark of a new layer. The fields are stored one by one: a copy of a
    /// whole mark would load more bytes at once than were stored, and such a load waits for the stores.
    #[inline]
    fn renew(&mut self, id: LayerId, scope: ScopeId) {
        self.id = id;
        self.scope = scope;
        self.position = Position::current();
        self.ended.set(false);
        self.closed.set(false);
    }

    /// Returns the serial of the state that the enter of this layer has made: its id, so that a serial costs nothing.
    pub(super) fn serial(&self) -> u64 {
        self.id.number()
    }

    /// Ends the layer in every state. The caller [announces](super::changes::announce) it.
    pub(super) fn end(&self) {
        self.ended.set(true);
    }

    #[inline]
    pub(super) fn close(&self) {
        self.closed.set(true);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closed.get()
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        if self.ended.get() || self.closed.get() {
            return;
        }
        if env::debug() {
            scope_trace::on_dropped(self.id);
        }
        hooks::report_removed(self.id);
    }
}

impl Node {
    fn on(layer: Layer, below: Layers) -> Self {
        let mut node = Node { layer, below: None, depth: 0, summary: Summary::NONE };
        node.put_on(below);
        node
    }

    /// Puts a node with a new layer on a list.
    fn put_on(&mut self, below: Layers) {
        self.depth = depth(&below) + 1;
        self.summary = *below.as_ref().map_or(&Summary::NONE, |node| &node.summary);
        match &self.layer.slots {
            None => self.summary.modes = self.layer.modes.over(self.summary.modes),
            Some(slots) => {
                self.summary = Summary::from_layer(self.layer.modes, Some(slots)).over(self.summary);
                if slots.flags.name_any() {
                    flag_slots::acquire(1);
                }
            }
        }
        self.below = below;
    }

    pub(super) fn depth(&self) -> u32 {
        self.depth
    }

    pub(super) fn summary(&self) -> Summary {
        self.summary
    }
}

impl Layer {
    fn names_flags(&self) -> bool {
        self.slots.as_ref().is_some_and(|slots| slots.flags.name_any())
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        if self.layer.names_flags() {
            flag_slots::release(1);
        }
        // A loop: the destructors of a long list would overflow the stack.
        let mut next = self.below.take();
        while let Some(mut node) = next.and_then(Arc::into_inner) {
            next = node.below.take();
        }
    }
}

/// The node of the last removed layer of a thread, if it set only modes, and the mark of the layer. The next layer
/// takes them over, so that a thread that enters and exits scopes allocates neither.
#[derive(Debug)]
pub(super) struct Spare(Option<Entered>);

/// The node of a layer that was entered, and its mark, to which the scope of the layer refers.
pub(super) type Entered = (Arc<Node>, Arc<Mark>);

impl Spare {
    pub(super) const NONE: Spare = Spare(None);

    /// Keeps the node and the mark of a removed layer. Returns what is to be dropped.
    #[inline]
    pub(super) fn keep(&mut self, removed: Entered) -> Option<Entered> {
        let (node, _) = &removed;
        // Other layers are not kept alive.
        if node.below.is_none() && node.layer.slots.is_none() {
            self.0.replace(removed)
        } else {
            Some(removed)
        }
    }

    /// Returns a node with a new layer on a list.
    #[inline]
    fn fill(
        &mut self,
        id: LayerId,
        scope: ScopeId,
        modes: Masked<u8>,
        modes_set_by: ThreadId,
        slots: Option<Arc<Slots>>,
        below: Layers,
    ) -> Entered {
        // SAFETY: nothing makes weak references to nodes and marks. A copy of a context may refer to the node.
        unsafe {
            if let Some((mut spare, mut its_mark)) = self.0.take()
                && let Some(node) = only_reference(&mut spare)
                && let Some(mark) = only_references(&mut node.layer.mark, &mut its_mark)
            {
                mark.renew(id, scope);
                node.layer.modes = modes;
                node.layer.modes_set_by = modes_set_by;
                node.layer.slots = slots;
                node.put_on(below);
                return (spare, its_mark);
            }
        }
        let mark = Arc::new(Mark::new(id, scope, Position::current()));
        (Arc::new(Node::on(Layer { mark: mark.clone(), modes, modes_set_by, slots }, below)), mark)
    }
}

/// Iterates over layers, innermost first.
pub(super) fn iterate(layers: &Layers) -> impl Iterator<Item = &Arc<Node>> {
    std::iter::successors(layers.as_ref(), |node| node.below.as_ref())
}

/// Returns the number of layers.
#[inline]
pub(super) fn depth(layers: &Layers) -> u32 {
    layers.as_ref().map_or(0, |node| node.depth)
}

/// Returns how many layers of `layers` lie up to the innermost one that `others` contains.
pub(super) fn shared_depth(layers: &Layers, others: &Layers) -> u32 {
    let is_shared = |node: &&Arc<Node>| {
        iterate(others)
            .any(|other| Arc::ptr_eq(other, node) || Arc::ptr_eq(&other.layer.mark, &node.layer.mark))
    };
    iterate(layers).find(is_shared).map_or(0, |node| node.depth)
}

/// Pushes layers, outermost first, onto a list.
fn rebuilt(layers: Vec<Layer>, below: Layers) -> Layers {
    layers.into_iter().fold(below, |below, layer| Some(Arc::new(Node::on(layer, below))))
}

impl State {
    /// The state of a context in which nothing was entered or written.
    pub const EMPTY: State = State { serial: 0, checked_at: 0, base: None, head: None };

    /// Identifies the state; see [`State`].
    #[inline]
    pub fn serial(&self) -> u64 {
        self.serial
    }

    /// Returns whether the state has neither layers nor a base.
    pub(super) fn is_empty(&self) -> bool {
        self.head.is_none() && self.base.is_none()
    }

    pub(super) fn base(&self) -> Option<&Arc<Base>> {
        self.base.as_ref()
    }

    pub(super) fn layers(&self) -> &Layers {
        &self.head
    }

    /// Returns the summary of all layers, without the base.
    pub(super) fn summary(&self) -> Summary {
        self.head.as_ref().map_or(Summary::NONE, |node| node.summary())
    }

    /// Iterates over the slots of the layers that no other state has, innermost first.
    pub(crate) fn own_slots(&self) -> impl Iterator<Item = &Arc<Slots>> {
        let own = iterate(&self.head).take_while(|node| Arc::strong_count(node) == 1);
        own.filter_map(|node| node.layer.slots.as_ref())
    }

    /// Iterates over the slots of the layers and of the base, innermost first.
    pub(super) fn slots(&self) -> impl Iterator<Item = &Arc<Slots>> {
        let layers = iterate(&self.head).filter_map(|node| node.layer.slots.as_ref());
        layers.chain(self.base.iter().filter_map(|base| base.slots.as_ref()))
    }

    /// Returns whether a layer has hooks or a recording.
    #[inline]
    pub fn has_objects(&self) -> bool {
        self.head.as_ref().is_some_and(|node| node.summary.has_objects)
    }

    /// Returns whether a layer sets flags.
    pub(super) fn names_flags(&self) -> bool {
        self.summary().names_flags()
    }

    fn changed(&self, base: Option<Arc<Base>>, head: Layers) -> Self {
        static LAST_SERIAL: RelaxedU64 = RelaxedU64::new(0);
        State { serial: LAST_SERIAL.add(1) | NOT_OF_A_LAYER, checked_at: self.checked_at, base, head }
    }

    /// Returns the state with another list, in which this layer is new; see [`Mark::serial`].
    fn with_new(&self, layer: LayerId, head: Layers) -> Self {
        State { serial: layer.number(), checked_at: self.checked_at, base: self.base.clone(), head }
    }

    /// Returns the state with one more layer, at the place of its position.
    pub(super) fn with(&self, layer: Layer) -> Self {
        let id = layer.mark.id;
        let compacted = self.compacted();
        if compacted.as_ref().is_none_or(|node| node.layer.mark.position <= layer.mark.position) {
            return self.with_new(id, Some(Arc::new(Node::on(layer, compacted))));
        }
        let mut inner = Vec::new();
        let mut below = compacted.as_ref();
        while let Some(node) = below.filter(|node| node.layer.mark.position > layer.mark.position) {
            inner.push(node.layer.clone());
            below = node.below.as_ref();
        }
        inner.push(layer);
        inner.reverse();
        // The new layer lies below the inner ones.
        self.with_new(id, rebuilt(inner, below.cloned()))
    }

    /// Returns the state with one more layer, which was made now and so lies above all others, and the mark of the
    /// layer.
    #[inline]
    pub(super) fn with_innermost(
        &self,
        id: LayerId,
        scope: ScopeId,
        modes: Masked<u8>,
        modes_set_by: ThreadId,
        slots: Option<Arc<Slots>>,
        spare: &mut Spare,
    ) -> (Self, Arc<Mark>) {
        let (node, mark) = spare.fill(id, scope, modes, modes_set_by, slots, self.compacted());
        (self.with_new(id, Some(node)), mark)
    }

    /// Returns the layers, in which adjacent ones that nothing can remove any more are merged. The list is searched
    /// when its length is a power of two, so that a push takes constant time on average.
    #[inline]
    fn compacted(&self) -> Layers {
        const SHORTEST: u32 = 16;
        let depth = depth(&self.head);
        if depth < SHORTEST || !depth.is_power_of_two() { self.head.clone() } else { self.merged() }
    }

    #[inline(never)]
    fn merged(&self) -> Layers {
        let is_closed = |node: &Node| node.layer.mark.closed.get();
        let can_be_merged =
            |node: &Arc<Node>| is_closed(node) && node.below.as_deref().is_some_and(is_closed);
        if !iterate(&self.head).any(can_be_merged) {
            return self.head.clone();
        }
        let mut kept: Vec<Layer> = Vec::new();
        for node in iterate(&self.head) {
            match kept.last_mut() {
                Some(above) if above.mark.closed.get() && is_closed(node) => above.fill_from(&node.layer),
                _ => kept.push(node.layer.clone()),
            }
        }
        kept.reverse();
        rebuilt(kept, None)
    }

    /// Returns the innermost layer that a condition accepts.
    pub(super) fn find(&self, accepts: impl Fn(&Mark) -> bool) -> Option<&Arc<Node>> {
        iterate(&self.head).find(|node| accepts(&node.layer.mark))
    }

    /// Returns the positions of the layers above a position, from the innermost.
    pub(super) fn positions_above(&self, position: Position) -> Vec<Position> {
        iterate(&self.head)
            .map(|node| node.layer.mark.position)
            .take_while(|found| *found > position)
            .collect()
    }

    /// Returns the marks of layers that `earlier` does not contain and that have not ended.
    pub(super) fn entered_since(&self, earlier: &State) -> Vec<Arc<Mark>> {
        let is_new = |mark: &Arc<Mark>| {
            !mark.ended.get() && !iterate(&earlier.head).any(|node| Arc::ptr_eq(&node.layer.mark, mark))
        };
        iterate(&self.head).map(|node| &node.layer.mark).filter(|mark| is_new(mark)).cloned().collect()
    }

    /// Removes the innermost layer, if it has this mark: then this becomes the state before it was entered, which had
    /// the serial `before`. Returns the removed node.
    #[inline]
    pub(super) fn pop(&mut self, mark: &Arc<Mark>, before: u64) -> Option<Arc<Node>> {
        let mut removed = self.head.take_if(|node| Arc::ptr_eq(&node.layer.mark, mark))?;
        // SAFETY: nothing makes weak references to nodes.
        self.head = match unsafe { only_reference(&mut removed) } {
            Some(node) => node.below.take(),
            None => removed.below.clone(),
        };
        self.serial = before;
        Some(removed)
    }

    /// Returns the state without the layers that a condition accepts.
    pub(super) fn without(&self, is_removed: impl Fn(&Mark) -> bool) -> Self {
        let Some(outermost) = iterate(&self.head).filter(|node| is_removed(&node.layer.mark)).last() else {
            return self.clone();
        };
        let above = iterate(&self.head).take_while(|node| node.depth > outermost.depth);
        let mut kept: Vec<Layer> =
            above.filter(|node| !is_removed(&node.layer.mark)).map(|node| node.layer.clone()).collect();
        kept.reverse();
        self.changed(self.base.clone(), rebuilt(kept, outermost.below.clone()))
    }

    /// Returns whether no layer has ended so far.
    pub(super) fn is_checked(&self) -> bool {
        self.checked_at == changes::epoch()
    }

    /// Returns the state without layers that were exited in other contexts, with the serial of this state.
    pub(super) fn without_ended(&self) -> Self {
        let now = changes::epoch();
        if self.checked_at == now {
            return self.clone();
        }
        let left = if iterate(&self.head).any(|node| node.layer.mark.ended.get()) {
            self.without(|mark| mark.ended.get())
        } else {
            self.clone()
        };
        State { serial: self.serial, checked_at: now, ..left }
    }

    /// Returns the state in which a layer was changed.
    pub(super) fn with_layer(&self, mark: &Arc<Mark>, change: impl FnOnce(&mut Layer)) -> Self {
        let Some(target) = iterate(&self.head).find(|node| Arc::ptr_eq(&node.layer.mark, mark)) else {
            return self.clone();
        };
        let above = iterate(&self.head).take_while(|node| node.depth > target.depth);
        let mut layers: Vec<Layer> = above.map(|node| node.layer.clone()).collect();
        let mut layer = target.layer.clone();
        change(&mut layer);
        layers.push(layer);
        layers.reverse();
        self.changed(self.base.clone(), rebuilt(layers, target.below.clone()))
    }

    pub(super) fn without_base(&self) -> Self {
        self.changed(None, self.head.clone())
    }

    /// Returns the state with another base.
    pub(super) fn with_base(&self, change: impl FnOnce(&mut Base)) -> Self {
        let mut base = self.base.as_deref().cloned().unwrap_or_default();
        change(&mut base);
        self.changed(Some(Arc::new(base)), self.head.clone())
    }
}

impl Layer {
    /// Adds the slots and modes that `below` sets and `self` does not.
    fn fill_from(&mut self, below: &Layer) {
        self.modes = self.modes.over(below.modes);
        if self.modes_set_by != below.modes_set_by {
            self.modes_set_by = ThreadId::NONE;
        }
        match (&mut self.slots, &below.slots) {
            (_, None) => {}
            (slots @ None, Some(below)) => *slots = Some(below.clone()),
            (Some(slots), Some(_)) if slots.is_opaque => {}
            (Some(slots), Some(below)) => {
                let slots = Arc::make_mut(slots);
                slots.fill_from(below);
                slots.is_opaque = below.is_opaque;
            }
        }
    }
}
