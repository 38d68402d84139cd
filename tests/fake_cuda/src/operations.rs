//! Operations that are queued on streams or recorded in captures: copies, fills and host functions.

use std::ffi::c_void;
use std::sync::Arc;

use interlock_driver::{Address, Copy, CopyEndpoint, Fill, KeepAlive, Owners, StreamHandle};

use crate::call::{Answer, Handle};
use crate::errors::INVALID_VALUE;
use crate::fake::Fake;
use crate::host_functions::Function;
use crate::state::State;

/// An operation, which a graph may replay.
#[derive(Clone)]
pub(crate) enum Operation {
    Copy { to: Operand, from: Operand, bytes: u64 },
    Fill { address: u64, value: u8, bytes: u64 },
    Host(Function),
}

/// The source or destination of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    Device(u64),
    Host(u64),
}

/// An operand as an endpoint of the host driver, with its owners.
pub(crate) struct ResolvedOperand {
    endpoint: CopyEndpoint,
    owners: Vec<KeepAlive>,
    /// Whether it is host memory that is not pinned.
    pub(crate) is_pageable: bool,
}

impl Operand {
    pub(crate) fn address(self) -> u64 {
        let (Operand::Device(address) | Operand::Host(address)) = self;
        address
    }
}

impl State {
    /// Returns the operand of an address of unknown kind.
    pub(crate) fn operand(&self, address: u64) -> Operand {
        if self.region_at(address).is_some() { Operand::Device(address) } else { Operand::Host(address) }
    }

    pub(crate) fn resolve(&self, operand: Operand, bytes: u64) -> Answer<ResolvedOperand> {
        match operand {
            Operand::Device(address) => {
                let (device, owners) = self.owners(address, bytes)?;
                self.check(device)?;
                Ok(ResolvedOperand {
                    endpoint: CopyEndpoint::Device(device, Address(address)),
                    owners,
                    is_pageable: false,
                })
            }
            Operand::Host(address) => {
                if address == 0 || self.region_at(address).is_some() {
                    return Err(INVALID_VALUE);
                }
                let pinned = self.pinned_at(address, bytes);
                let is_pageable = pinned.is_none();
                let owners = pinned.into_iter().map(|block| block as KeepAlive).collect();
                Ok(ResolvedOperand { endpoint: CopyEndpoint::Host(Address(address)), owners, is_pageable })
            }
        }
    }

    /// Fails if an operation accesses invalid memory.
    pub(crate) fn check_operation(&self, operation: &Operation) -> Answer {
        match operation {
            Operation::Copy { to, from, bytes } => {
                self.resolve(*to, *bytes)?;
                self.resolve(*from, *bytes).map(drop)
            }
            Operation::Fill { address, bytes, .. } => self.owners(*address, *bytes).map(drop),
            Operation::Host(_) => Ok(()),
        }
    }

    /// Queues an operation on a stream of the host driver.
    pub(crate) fn run(&self, fake: &'static Fake, stream: StreamHandle, operation: &Operation) -> Answer {
        match operation {
            Operation::Copy { to, from, bytes } => {
                let (to, from) = (self.resolve(*to, *bytes)?, self.resolve(*from, *bytes)?);
                self.copy(stream, to, from, *bytes)
            }
            Operation::Fill { address, value, bytes } => {
                let (_, owners) = self.owners(*address, *bytes)?;
                let owners = Owners::until_completed(Arc::new(owners));
                let fill = Fill { address: Address(*address), bytes: *bytes as usize, value: *value, owners };
                // SAFETY: `owners` own the memory.
                unsafe { self.driver.fill(stream, fill) }.map_err(|_| self.code(stream.device))
            }
            Operation::Host(function) => {
                let work = fake.host_functions.work(fake, stream.device, *function);
                self.driver.launch_host_fn(stream, work).map_err(|_| self.code(stream.device))
            }
        }
    }

    pub(crate) fn copy(
        &self,
        stream: StreamHandle,
        to: ResolvedOperand,
        from: ResolvedOperand,
        bytes: u64,
    ) -> Answer {
        let owners = Owners::until_completed(Arc::new((to.owners, from.owners)));
        let copy = Copy { to: to.endpoint, from: from.endpoint, bytes: bytes as usize, owners };
        // SAFETY: `owners` own device memory, pinned memory and staged copies. For pageable destinations the
        // library waits until the copy has completed; in replays the program guarantees that they are valid.
        unsafe { self.driver.copy(stream, copy) }.map_err(|_| self.code(stream.device))
    }

    /// Copies pageable source memory, which the program may change as soon as the call returns.
    pub(crate) fn staged(&self, address: u64, bytes: u64) -> ResolvedOperand {
        let mut copied = vec![0_u8; bytes as usize];
        let from = std::ptr::with_exposed_provenance::<u8>(address as usize);
        // SAFETY: the program guarantees that the source is valid, and the destination is a new allocation.
        unsafe { std::ptr::copy_nonoverlapping(from, copied.as_mut_ptr(), copied.len()) };
        let staged = copied.as_ptr().expose_provenance() as u64;
        let owners: Vec<KeepAlive> = vec![Arc::new(copied)];
        ResolvedOperand { endpoint: CopyEndpoint::Host(Address(staged)), owners, is_pageable: false }
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

/// Returns the address of a pointer and exposes its provenance.
pub(crate) fn address_of(pointer: *const c_void) -> u64 {
    pointer.expose_provenance() as u64
}
