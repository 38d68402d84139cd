//! Primary contexts, one for each device, and the current context of a thread.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ffi::{c_int, c_uint};

use interlock_driver::{DeviceIndex, WaitTarget};

use crate::call::{Answer, Code, Handle, Out, exported};
use crate::errors::{INVALID_CONTEXT, INVALID_VALUE, PEER_ACCESS_ALREADY_ENABLED, TOO_MANY_PEERS};
use crate::state::State;
use crate::streams::{self, Stream};
use crate::waiting;

thread_local! {
    static CURRENT: Cell<Option<DeviceIndex>> = const { Cell::new(None) };
    /// The devices of the contexts below the current one.
    static BELOW: RefCell<Vec<DeviceIndex>> = const { RefCell::new(Vec::new()) };
}

/// The primary context of a device.
pub(crate) struct Context {
    pub(crate) handle: Handle,
    /// The retain count. The context is active if it is not 0.
    pub(crate) retained: u32,
    pub(crate) default_stream: Handle,
    /// The code that every call for a broken device returns.
    pub(crate) broken: Option<Code>,
    /// The devices whose memory this device accesses.
    peers: BTreeSet<DeviceIndex>,
    /// Bytes of device memory that are in use.
    pub(crate) used: u64,
}

impl Context {
    pub(crate) fn new(state: &mut State, device: DeviceIndex) -> interlock_driver::Result<Self> {
        let (handle, default_stream) = (state.new_handle(), state.new_handle());
        let host = state.driver.default_stream(device)?;
        state
            .streams
            .insert(default_stream, Stream { device, host, priority: 0, is_default: true, capture: None });
        Ok(Context { handle, retained: 0, default_stream, broken: None, peers: BTreeSet::new(), used: 0 })
    }
}

impl State {
    /// Returns the device of the current context. Fails if it is broken.
    pub(crate) fn current(&self) -> Answer<DeviceIndex> {
        let device = CURRENT.get().ok_or(INVALID_CONTEXT)?;
        self.check(device)?;
        Ok(device)
    }

    /// Returns the device of a context.
    pub(crate) fn device_of_context(&self, handle: Handle) -> Answer<DeviceIndex> {
        let is_it = |context: &Context| context.handle == handle && context.retained > 0;
        self.contexts.iter().position(is_it).map(|index| index as DeviceIndex).ok_or(INVALID_CONTEXT)
    }
}

exported! {
    /// Retains the primary context of a device.
    fn cuDevicePrimaryCtxRetain(context: Out<Handle>, device: c_int) |fake| {
        let mut state = fake.state();
        let device = state.device(device)?;
        context.check()?;
        let found = state.context_mut(device)?;
        found.retained += 1;
        context.put(found.handle)
    }

    /// Returns whether the primary context of a device is active.
    fn cuDevicePrimaryCtxGetState(device: c_int, flags: Out<c_uint>, active: Out<c_int>) |fake| {
        let state = fake.state();
        let device = state.device_or_broken(device)?;
        flags.put(0)?;
        active.put((state.context(device)?.retained > 0).into())
    }

    /// Returns the current context of this thread, or null.
    fn cuCtxGetCurrent(context: Out<Handle>) |fake| {
        let state = fake.state();
        let handle = CURRENT.get().map(|device| state.context(device).map(|context| context.handle));
        context.put(handle.transpose()?.unwrap_or(0))
    }

    /// Sets the current context of this thread; null pops it.
    fn cuCtxSetCurrent(context: Handle) |fake| {
        CURRENT.set(match context {
            0 => BELOW.with_borrow_mut(Vec::pop),
            _ => Some(fake.state().device_of_context(context)?),
        });
        Ok(())
    }

    /// Makes a context current on this thread, until it is popped.
    fn cuCtxPushCurrent_v2(context: Handle) |fake| {
        let device = fake.state().device_of_context(context)?;
        let below = CURRENT.replace(Some(device));
        BELOW.with_borrow_mut(|stack| stack.extend(below));
        Ok(())
    }

    /// Removes the current context of this thread, which it returns, and makes the one below it current.
    fn cuCtxPopCurrent_v2(context: Out<Handle>) |fake| {
        let device = CURRENT.get().ok_or(INVALID_CONTEXT)?;
        CURRENT.set(BELOW.with_borrow_mut(Vec::pop));
        let handle = fake.state().context(device)?.handle;
        context.put_if_wanted(handle);
        Ok(())
    }

    /// Returns the device of the current context.
    fn cuCtxGetDevice(device: Out<c_int>) |fake| {
        device.put(fake.state().current()?.into())
    }

    /// Waits for all work of the current context's device.
    fn cuCtxSynchronize() |fake| {
        let device = {
            let mut state = fake.state();
            let device = state.current()?;
            state.refuse_where_captured(device)?;
            device
        };
        waiting::wait(fake, WaitTarget::Device(device))
    }

    /// Returns the range of stream priorities. A smaller number is a greater priority.
    fn cuCtxGetStreamPriorityRange(least: Out<c_int>, greatest: Out<c_int>) |fake| {
        fake.state().current()?;
        least.put_if_wanted(*streams::PRIORITIES.end());
        greatest.put_if_wanted(*streams::PRIORITIES.start());
        Ok(())
    }

    /// Enables access of the current context's device to the memory of a peer.
    fn cuCtxEnablePeerAccess(peer: Handle, flags: c_uint) |fake| {
        let mut state = fake.state();
        let device = state.current()?;
        let peer = state.device_of_context(peer)?;
        state.check(peer)?;
        if flags != 0 {
            return Err(INVALID_VALUE);
        }
        if peer == device {
            return Err(INVALID_CONTEXT);
        }
        let most = state.settings.peers;
        let peers = &mut state.context_mut(device)?.peers;
        if peers.contains(&peer) {
            return Err(PEER_ACCESS_ALREADY_ENABLED);
        }
        if peers.len() >= most {
            return Err(TOO_MANY_PEERS);
        }
        peers.insert(peer);
        Ok(())
    }
}
