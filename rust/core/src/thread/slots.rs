//! The slots of a layer besides its mode bits.

use std::any::Any;
use std::sync::Arc;

use super::device_slots::DeviceSlots;
use super::flag_slots::FlagSlots;

/// Flags and device slots of a layer. Shared by all layers that a scope pushes; a write to one of them copies it first.
#[derive(Clone, Debug, Default)]
pub struct Slots {
    pub(crate) flags: FlagSlots,
    pub(super) devices: DeviceSlots,
    /// Slots that few layers set. Behind a pointer, so that scopes of flags remain small.
    pub(super) objects: Option<Arc<Objects>>,
    /// Whether the layers below have no effect. Slots that an opaque layer does not name have their values without
    /// scopes. A write to a device slot that it does not name changes this layer; a write to a flag changes the
    /// process.
    pub(super) is_opaque: bool,
}

/// An object of another module, which knows its type.
type Object = Option<Arc<dyn Any + Send + Sync>>;

#[derive(Clone, Debug, Default)]
pub(super) struct Objects {
    /// The recording of calls, for `dispatch`.
    recording: Object,
    /// The hooks of saved tensors, for `autograd` of `interlock-tensor`.
    saved_tensor_hooks: Object,
    /// The hooks of the creation of nodes, innermost first: unlike other objects, those of all layers are active.
    node_creation_hooks: Vec<Arc<dyn Any + Send + Sync>>,
}

impl Slots {
    #[inline]
    pub(crate) fn from_flags(flags: FlagSlots) -> Arc<Self> {
        Arc::new(Slots { flags, ..Slots::default() })
    }

    /// Returns slots that set only device slots.
    pub fn from_devices(devices: DeviceSlots) -> Arc<Self> {
        Arc::new(Slots { devices, ..Slots::default() })
    }

    /// Returns slots that set only the recording of calls.
    pub(crate) fn from_recording(recording: Arc<dyn Any + Send + Sync>) -> Arc<Self> {
        Slots::from_objects(Objects { recording: Some(recording), ..Objects::default() })
    }

    /// Returns slots that set only the hooks of saved tensors.
    pub(crate) fn from_saved_tensor_hooks(hooks: Arc<dyn Any + Send + Sync>) -> Arc<Self> {
        Slots::from_objects(Objects { saved_tensor_hooks: Some(hooks), ..Objects::default() })
    }

    /// Returns slots that set only one hook of the creation of nodes.
    pub(crate) fn from_node_creation_hook(hook: Arc<dyn Any + Send + Sync>) -> Arc<Self> {
        Slots::from_objects(Objects { node_creation_hooks: vec![hook], ..Objects::default() })
    }

    fn from_objects(objects: Objects) -> Arc<Self> {
        Arc::new(Slots { objects: Some(Arc::new(objects)), ..Slots::default() })
    }

    /// Returns the recording of calls.
    pub(super) fn recording(&self) -> Object {
        self.objects.as_ref()?.recording.clone()
    }

    /// Returns the hooks of saved tensors.
    pub(super) fn saved_tensor_hooks(&self) -> Object {
        self.objects.as_ref()?.saved_tensor_hooks.clone()
    }

    /// Returns the hooks of saved tensors, unless other slots, a layer or a captured state share them.
    pub(crate) fn own_saved_tensor_hooks(this: &Arc<Self>) -> Option<&Arc<dyn Any + Send + Sync>> {
        let objects = this.objects.as_ref().filter(|objects| Arc::strong_count(objects) == 1)?;
        let hooks = objects.saved_tensor_hooks.as_ref()?;
        (Arc::strong_count(this) == 1 && Arc::strong_count(hooks) == 1).then_some(hooks)
    }

    /// Returns the hooks of the creation of nodes, innermost first.
    pub(super) fn node_creation_hooks(&self) -> &[Arc<dyn Any + Send + Sync>] {
        self.objects.as_ref().map_or(&[], |objects| &objects.node_creation_hooks)
    }

    /// Returns the hooks of the creation of nodes that no other slots, layer or captured state shares.
    pub(crate) fn own_node_creation_hooks(
        this: &Arc<Self>,
    ) -> impl Iterator<Item = &Arc<dyn Any + Send + Sync>> {
        let objects = this.objects.as_ref().filter(|objects| Arc::strong_count(objects) == 1);
        let objects = objects.filter(|_| Arc::strong_count(this) == 1);
        let hooks = objects.map_or(&[][..], |objects| &objects.node_creation_hooks);
        hooks.iter().filter(|hook| Arc::strong_count(hook) == 1)
    }

    /// Returns opaque slots that name nothing.
    pub(super) fn opaque() -> Arc<Self> {
        Arc::new(Slots { is_opaque: true, ..Slots::default() })
    }

    /// Returns the slots of layers and bases, innermost first, that have an effect: down to the first opaque one.
    pub(super) fn visible<'a>(
        all: impl Iterator<Item = &'a Arc<Slots>>,
    ) -> impl Iterator<Item = &'a Arc<Slots>> {
        let mut hidden = false;
        all.take_while(move |slots| !std::mem::replace(&mut hidden, slots.is_opaque))
    }

    /// Merges the slots of layers and bases, innermost first, into opaque ones; `None` if there are none.
    pub(super) fn flattened<'a>(all: impl Iterator<Item = &'a Arc<Slots>>) -> Option<Arc<Slots>> {
        let mut visible = Slots::visible(all);
        let innermost = visible.next()?;
        if innermost.is_opaque {
            return Some(innermost.clone());
        }
        let mut merged = Slots { is_opaque: true, ..Slots::clone(innermost) };
        visible.for_each(|below| merged.fill_from(below));
        Some(Arc::new(merged))
    }

    /// Adds the slots that `below` names and `self` does not.
    pub(super) fn fill_from(&mut self, below: &Slots) {
        self.flags.fill_from(&below.flags);
        self.devices.fill_from(&below.devices);
        match (&mut self.objects, &below.objects) {
            (_, None) => {}
            (objects @ None, Some(_)) => objects.clone_from(&below.objects),
            (Some(objects), Some(below)) => Arc::make_mut(objects).fill_from(below),
        }
    }
}

impl Objects {
    fn fill_from(&mut self, below: &Objects) {
        for (object, below) in [
            (&mut self.recording, &below.recording),
            (&mut self.saved_tensor_hooks, &below.saved_tensor_hooks),
        ] {
            if object.is_none() {
                object.clone_from(below);
            }
        }
        self.node_creation_hooks.extend_from_slice(&below.node_creation_hooks);
    }
}
