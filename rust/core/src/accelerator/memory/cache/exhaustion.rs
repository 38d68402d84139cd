//! What is done where nothing that is kept fits.

use std::time::Duration;

use super::books::Request;
use super::piece::PieceId;
use super::state::State;
use super::waits::Ready;
use super::{Cache, Context, Taken};
use crate::accelerator::memory::history::Cause;
use crate::accelerator::memory::out_of_memory::{CacheState, OutOfMemory};
use crate::accelerator::memory::reclaim;
use crate::accelerator::stream::Stream;
use crate::accelerator::{Backoff, PoolId, interrupt, waiting};
use crate::{Error, Result};

impl Cache {
    /// A piece where none that is kept fits. In this order: whoever may free memory is asked to; what has long been
    /// unused is given back, if that is configured; the driver is asked; everything unused is given back, and the
    /// driver is asked again.
    pub(super) fn allocate_anew(
        &self,
        context: &Context,
        stream: &Stream,
        request: &Request,
        pool: Option<PoolId>,
    ) -> Result<Taken> {
        if reclaim::ask_for_memory(stream.device(), request.bytes)
            && let Some(taken) = self.take_kept(context, request)
        {
            return Ok(taken);
        }
        self.change(context, |state| state.collect(context));
        if let Some(taken) = self.grow(context, request)? {
            return Ok(taken);
        }
        if !context.capturing {
            self.give_back_all(context, Cause::Shortage)?;
            self.locked(|state| state.books.statistics.num_alloc_retries += 1);
            // Others may have freed something in the meantime.
            if let Some(taken) = self.take_kept(context, request) {
                return Ok(taken);
            }
            if let Some(taken) = self.grow(context, request)? {
                return Ok(taken);
            }
        }
        Err(self.exhausted(context, stream, (request.requested, request.bytes), pool))
    }

    fn take_kept(&self, context: &Context, request: &Request) -> Option<Taken> {
        self.locked(|state| {
            state.settle(context);
            state.take(request)
        })
    }

    /// A piece of a segment that the driver gives now; `None` where it has no room, or may not be asked.
    fn grow(&self, context: &Context, request: &Request) -> Result<Option<Taken>> {
        if let Some(granularity) = self.granularity(context)? {
            return self.expand(context, request, granularity);
        }
        let Some(bytes) = self.locked(|state| state.books.rules.segment(request.bytes)) else {
            return Ok(None);
        };
        if !self.may_ask_for(context, bytes) {
            return Ok(None);
        }
        let given = context.driver.allocate(context.device, bytes);
        self.locked(|state| {
            state.asked_for -= bytes as u64;
            match given {
                Ok(address) => {
                    let piece = state.books.add_segment(request, address, bytes);
                    state.books.hand_out(piece, request);
                    Ok(Some(state.taken(piece)))
                }
                Err(Error::OutOfMemory(_)) => Ok(None),
                Err(other) => Err(other),
            }
        })
    }

    /// What pages of segments that grow are multiples of; `None` where segments don't grow.
    fn granularity(&self, context: &Context) -> Result<Option<usize>> {
        if !self.locked(|state| state.books.rules.expandable && state.books.rules.keeps) {
            return Ok(None);
        }
        let granularity = context.driver.mapping_granularity(context.device)?;
        Ok(Some(granularity).filter(|granularity| *granularity > 0))
    }

    /// Whether the driver may be asked for so many bytes, which are counted as asked for then. A device cannot have more
    /// than the total that its driver reports, even if the driver would promise it.
    pub(super) fn may_ask_for(&self, context: &Context, bytes: usize) -> bool {
        let refuses = self.locked(|state| state.books.rules.refuses_early);
        let lacks = |bytes| context.driver.memory_info(context.device).is_ok_and(|info| info.free < bytes);
        if refuses && lacks(bytes as u64) {
            self.locked(|state| state.books.statistics.num_oom_rejections += 1);
            return false;
        }
        self.locked(|state| {
            let fits = state.has_room_for(bytes as u64);
            if fits {
                state.asked_for += bytes as u64;
            }
            fits
        })
    }

    /// Gives back to the driver what nobody uses, after what streams still use that was freed by now.
    pub(super) fn give_back_all(&self, context: &Context, cause: Cause) -> Result<()> {
        self.locked(|state| state.books.history.awaits(Some(cause)));
        let given_back = self.give_back_unused(context);
        self.locked(|state| state.books.history.awaits(None));
        given_back
    }

    fn give_back_unused(&self, context: &Context) -> Result<()> {
        let freed = self.locked(|state| {
            state.books.statistics.num_sync_all_streams += 1;
            state.complete_all(context);
            state.settle(context);
            state.waits.newest()
        });
        self.wait_while(context, |state| state.waits.any_freed_until(freed))?;
        let left = self.locked(|state| {
            let unused = state.books.unused();
            state.retire(context, unused);
            state.waits.newest()
        });
        self.wait_while(context, |state| state.waits.any_leaving_until(left))
    }

    /// Waits, and gives back what can be given back meanwhile. Fails where a stream can't be asked how far it is: of a
    /// device that is lost that would never be known. A function that runs on a stream does not wait: what it waits
    /// for may come after itself.
    fn wait_while(&self, context: &Context, waits: impl Fn(&State) -> bool) -> Result<()> {
        let mut backoff = Backoff::new(Duration::MAX, true);
        // What was noticed before is no reason not to try.
        let _ = self.locked(|state| state.waits.take_trouble());
        loop {
            self.change(context, |state| state.settle(context));
            if !self.locked(|state| waits(state)) || waiting::is_serving() {
                return Ok(());
            }
            self.locked(|state| state.waits.take_trouble())?;
            interrupt::check()?;
            backoff.pause();
        }
    }

    /// Gives pieces back to the driver that nobody uses and no stream will.
    pub(super) fn give_back(&self, context: &Context, pieces: Vec<Ready>) {
        for ready in pieces {
            let page = self.locked(|state| {
                let segment = state.books.pieces[ready.piece].segment;
                state.books.segments[segment].page
            });
            match page {
                Some(page) => self.unmap(context, ready.piece, page),
                None => self.release_segment(context, ready.piece),
            }
            self.locked(|state| state.waits.given_back(&ready));
        }
    }

    /// Gives a segment of one piece back to the driver.
    fn release_segment(&self, context: &Context, piece: PieceId) {
        let (id, address, bytes) = self.locked(|state| {
            let id = state.books.pieces[piece].segment;
            let segment = &state.books.segments[id];
            (id, segment.address, segment.bytes)
        });
        // SAFETY: the driver gave it for this device and size, nobody uses it, and the streams that did have got past
        // all that was queued there. A device that is lost refuses, and has nothing to be given back.
        let _ = unsafe { context.driver.free(context.device, address, bytes) };
        self.locked(|state| state.books.remove_segment(id));
    }

    /// The error of a request for a number of bytes, which were rounded up to another.
    pub(super) fn exhausted(
        &self,
        context: &Context,
        stream: &Stream,
        (requested, rounded): (usize, usize),
        pool: Option<PoolId>,
    ) -> Error {
        let free = context.driver.memory_info(self.device).ok().map(|info| info.free);
        let cache = self.locked(|state| {
            state.books.statistics.num_ooms += 1;
            state.books.history.note_oom(free.unwrap_or(0), requested as u64, stream.id(), pool);
            CacheState {
                rounded,
                segment: state.books.rules.segment(rounded).unwrap_or(rounded),
                allocated: state.books.statistics.allocated_bytes.all.current,
                reserved: state.books.statistics.reserved_bytes.all.current,
                largest_free: state.books.largest_free(),
                limit: state.limit,
                free,
                stream: stream.id(),
                pool,
            }
        });
        let told = OutOfMemory { device: stream.device(), requested, cache: Some(cache) };
        Error::OutOfMemory(Box::new(told))
    }
}
