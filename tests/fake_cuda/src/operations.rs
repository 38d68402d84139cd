//! What is queued on streams, or recorded in captures: copies, fills and functions.

use std::ffi::c_void;
use std::sync::Arc;

use interlock_driver::{Address, Copy, CopyEndpoint, Fill, KeepAlive, StreamHandle};

use crate::call::{Answer, Handle};
use crate::errors::INVALID_VALUE;
use crate::fake::Fake;
use crate::host_functions::Function;
use crate::state::State;

/// Work that may be repeated.
#[derive(Clone)]
pub(crate) enum Operation {
    Copy { to: End, from: End, bytes: u64 },
    Fill { address: u64, value: u8, bytes: u64 },
    Host(Function),
}

/// One end of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Device(u64),
    Host(u64),
}

/// What owns an end, and where it is.
pub(crate) struct Reached {
    place: CopyEndpoint,
    owners: Vec<KeepAlive>,
    /// Memory of the processor that devices reach only by a detour.
    pub(crate) is_pageable: bool,
}

impl End {
    pub(crate) fn address(self) -> u64 {
        let (End::Device(address) | End::Host(address)) = self;
        address
    }
}

impl State {
    /// An end whose kind only the address tells.
    pub(crate) fn end(&self, address: u64) -> End {
        if self.region_at(address).is_some() { End::Device(address) } else { End::Host(address) }
    }

    pub(crate) fn reach_end(&self, end: End, bytes: u64) -> Answer<Reached> {
        match end {
            End::Device(address) => {
                let (device, owners) = self.reach(address, bytes)?;
                self.check(device)?;
                Ok(Reached {
                    place: CopyEndpoint::Device(device, Address(address)),
                    owners,
                    is_pageable: false,
                })
            }
            End::Host(address) => {
                if address == 0 || self.region_at(address).is_some() {
                    return Err(INVALID_VALUE);
                }
                let pinned = self.pinned_at(address, bytes);
                let is_pageable = pinned.is_none();
                let owners = pinned.into_iter().map(|block| block as KeepAlive).collect();
                Ok(Reached { place: CopyEndpoint::Host(Address(address)), owners, is_pageable })
            }
        }
    }

    /// Fails where an operation reaches what it may not.
    pub(crate) fn check_operation(&self, operation: &Operation) -> Answer {
        match operation {
            Operation::Copy { to, from, bytes } => {
                self.reach_end(*to, *bytes)?;
                self.reach_end(*from, *bytes).map(drop)
            }
            Operation::Fill { address, bytes, .. } => self.reach(*address, *bytes).map(drop),
            Operation::Host(_) => Ok(()),
        }
    }

    /// Queues it on a stream of the host driver.
    pub(crate) fn run(&self, fake: &'static Fake, stream: StreamHandle, operation: &Operation) -> Answer {
        match operation {
            Operation::Copy { to, from, bytes } => {
                let (to, from) = (self.reach_end(*to, *bytes)?, self.reach_end(*from, *bytes)?);
                self.copy(stream, to, from, *bytes)
            }
            Operation::Fill { address, value, bytes } => {
                let (_, owners) = self.reach(*address, *bytes)?;
                let keep_alive: Option<KeepAlive> = Some(Arc::new(owners));
                let fill =
                    Fill { address: Address(*address), bytes: *bytes as usize, value: *value, keep_alive };
                // SAFETY: the keeper owns the memory.
                unsafe { self.driver.fill(stream, fill) }.map_err(|_| self.code(stream.device))
            }
            Operation::Host(function) => {
                let work = fake.host_functions.work(fake, stream.device, *function);
                self.driver.launch_host_fn(stream, work).map_err(|_| self.code(stream.device))
            }
        }
    }

    pub(crate) fn copy(&self, stream: StreamHandle, to: Reached, from: Reached, bytes: u64) -> Answer {
        let keep_alive: Option<KeepAlive> = Some(Arc::new((to.owners, from.owners)));
        let copy = Copy { to: to.place, from: from.place, bytes: bytes as usize, keep_alive };
        // SAFETY: the keeper owns memory of devices and what is pinned; for the rest the program answers, as it does to
        // NVIDIA's driver, or this library waits until the copy is done.
        unsafe { self.driver.copy(stream, copy) }.map_err(|_| self.code(stream.device))
    }

    /// A copy of memory of the processor, which the program may change as soon as this returns.
    pub(crate) fn staged(&self, address: u64, bytes: u64) -> Reached {
        let mut copied = vec![0_u8; bytes as usize];
        let from = std::ptr::with_exposed_provenance::<u8>(address as usize);
        // SAFETY: the program passed the address for so many bytes, and the other range is new.
        unsafe { std::ptr::copy_nonoverlapping(from, copied.as_mut_ptr(), copied.len()) };
        let staged = copied.as_ptr().expose_provenance() as u64;
        let owners: Vec<KeepAlive> = vec![Arc::new(copied)];
        Reached { place: CopyEndpoint::Host(Address(staged)), owners, is_pageable: false }
    }

    /// Queues an operation, or records it if the stream captures.
    pub(crate) fn queue(&mut self, fake: &'static Fake, stream: Handle, operation: Operation) -> Answer {
        let found = self.stream(stream)?;
        match found.capture {
            Some(capture) => self.record(capture, stream, operation),
            None => self.run(fake, found.host, &operation),
        }
    }
}

/// A pointer as a number.
pub(crate) fn address_of(pointer: *const c_void) -> u64 {
    pointer.expose_provenance() as u64
}
