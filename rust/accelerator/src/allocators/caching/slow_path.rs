//! Requests that no cached block serves.

use std::time::Duration;

use interlock_core::base::backoff::Backoff;
use interlock_driver::OutOfMemory;

use super::expandable::{self, Expansion};
use super::inner::{Inner, Miss, SegmentPlan};
use super::{AllocCtx, AllocatedBlock, CachingAllocator};
use crate::allocators::oom_hooks;
use crate::allocators::trace::ReleaseReason;
use crate::interrupt::check_interrupts;
use crate::stream::Stream;
use crate::{Error, PoolId, Result, wait};

/// A request that no cached block serves.
pub(super) struct SlowPath<'a> {
    pub(super) allocator: &'a CachingAllocator,
    pub(super) ctx: &'a AllocCtx,
    pub(super) stream: &'a Stream,
    pub(super) pool: Option<PoolId>,
}

impl SlowPath<'_> {
    /// Allocates a block that is not cached. In this order: runs the callbacks that may free memory; releases blocks
    /// that have not been used for long, if configured; allocates a segment from the driver; releases all unused memory
    /// and tries the driver again; does so once more if the callbacks for a shortage freed memory; takes a free block
    /// of a pool with `use_on_oom`.
    ///
    /// # Errors
    /// Returns [`Error::OutOfMemory`] if all steps fail, and every other error of the driver at once.
    pub(super) fn allocate(&self, miss: Miss) -> Result<AllocatedBlock> {
        let request = miss.request;
        if let Some(block) = self.try_allocate(miss)? {
            return Ok(block);
        }
        let block = self.allocator.with_inner(|inner| inner.allocate_from_reserve(&request));
        block.ok_or_else(|| self.oom_error(request.requested, request.bytes))
    }

    fn try_allocate(&self, mut miss: Miss) -> Result<Option<AllocatedBlock>> {
        if oom_hooks::run_miss_callbacks(self.stream.device(), miss.request.bytes) {
            match self.retry(miss, |_| ()) {
                Ok(block) => return Ok(Some(block)),
                Err(again) => miss = again,
            }
        }
        if let Some(block) = self.alloc_segment(&miss, true)? {
            return Ok(Some(block));
        }
        let request = miss.request;
        if !self.ctx.capturing {
            release_cached_blocks(self.allocator, self.ctx, ReleaseReason::Shortage)?;
            if let Some(block) = self.retry_driver(miss)? {
                return Ok(Some(block));
            }
        }
        if !oom_hooks::run_shortage_callbacks(self.stream.device(), request.bytes) {
            return Ok(None);
        }
        if !self.ctx.capturing {
            release_cached_blocks(self.allocator, self.ctx, ReleaseReason::Shortage)?;
        }
        self.retry_driver(self.allocator.with_inner(|inner| inner.miss(request)))
    }

    /// Repeats the search for a cached block and the allocation of a segment. Other threads may have freed a block.
    fn retry_driver(&self, miss: Miss) -> Result<Option<AllocatedBlock>> {
        match self.retry(miss, |inner| inner.heap.stats.num_alloc_retries += 1) {
            Ok(block) => Ok(Some(block)),
            Err(again) => self.alloc_segment(&again, false),
        }
    }

    /// Repeats the search for a cached block.
    fn retry(
        &self,
        Miss { request, .. }: Miss,
        count: impl FnOnce(&mut Inner),
    ) -> Result<AllocatedBlock, Miss> {
        self.allocator.with_inner_and_release(self.ctx, |inner, ctx| {
            count(inner);
            inner.process_events(ctx);
            inner.allocate(&request).ok_or_else(|| inner.miss(request))
        })
    }

    /// Allocates a segment from the driver and a block from it; `None` if the driver or the quota has too little
    /// memory. Takes the lock twice unless memory is released first.
    fn alloc_segment(&self, miss: &Miss, collect: bool) -> Result<Option<AllocatedBlock>> {
        let request = &miss.request;
        let mut expansion = match &miss.growth {
            Some(growth) => Expansion::prepare(self.ctx, request, growth)?,
            None => None,
        };
        let plan = self.plan_segment(miss, &mut expansion, collect);
        // Addresses that were reserved here and are not used by the plan.
        expandable::free_addresses(self.ctx, expansion.and_then(|expansion| expansion.addresses));
        let Some(plan) = plan else { return Ok(None) };
        let driver = self.ctx.driver();
        let has_less = || driver.memory_info(self.ctx.device).is_ok_and(|info| info.free < plan.bytes as u64);
        let is_lacking = plan.throw_on_oom && has_less();
        let address = match &plan.map {
            _ if is_lacking || !plan.is_reserved => Ok(None),
            None => driver.allocate(self.ctx.device, plan.bytes).map(Some),
            Some(map) => expandable::map(self.ctx, map).map(|is_mapped| is_mapped.then_some(map.address)),
        };
        if let Ok(Some(address)) = address {
            let commit = |inner: &mut Inner, _: &AllocCtx| inner.commit_segment(request, &plan, address);
            return Ok(Some(self.allocator.with_inner_and_release(self.ctx, commit)));
        }
        let addresses = self.allocator.with_inner_and_release(self.ctx, |inner, _| {
            inner.heap.stats.num_oom_rejections += u64::from(is_lacking);
            inner.abort_segment(&plan)
        });
        expandable::free_addresses(self.ctx, addresses);
        match address {
            Ok(_) | Err(Error::OutOfMemory(_)) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// Plans memory for a request, after releasing blocks that have not been used for long if `collect` is set.
    fn plan_segment(
        &self,
        miss: &Miss,
        expansion: &mut Option<Expansion>,
        mut collect: bool,
    ) -> Option<SegmentPlan> {
        loop {
            let (planned, releasable) = self.allocator.with_inner(|inner| {
                if collect {
                    inner.garbage_collect(self.ctx);
                }
                let releasable = inner.releases.take_releasable(self.ctx, &inner.heap);
                // They count against the quota until they are released.
                let is_final = releasable.is_empty() || !collect;
                (is_final.then(|| inner.plan_segment(&miss.request, expansion.as_mut())), releasable)
            });
            self.allocator.release_blocks(self.ctx, releasable);
            if let Some((plan, addresses)) = planned {
                expandable::free_addresses(self.ctx, addresses);
                return plan;
            }
            collect = false;
        }
    }

    /// Returns the error of a failed request that was rounded up to `rounded` bytes.
    pub(super) fn oom_error(&self, requested: usize, rounded: usize) -> Error {
        let free = self.ctx.driver().memory_info(self.ctx.device).ok().map(|info| info.free);
        let (stream, is_capturing) = (self.stream.id(), self.ctx.capturing);
        let state = self.allocator.with_inner(|inner| {
            inner.record_oom((requested, rounded), stream, self.pool, free, is_capturing)
        });
        let error = OutOfMemory { device: self.stream.device(), requested, flag: None, cache: Some(state) };
        Error::OutOfMemory(Box::new(error))
    }
}

/// Releases unused memory to the driver, after waiting for the work that was queued when it was freed: c10's
/// `release_cached_blocks`.
///
/// # Errors
/// Returns the error of a device whose streams can't be queried, such as a lost device.
pub(super) fn release_cached_blocks(
    allocator: &CachingAllocator,
    ctx: &AllocCtx,
    reason: ReleaseReason,
) -> Result<()> {
    let freed = allocator.with_inner(|inner| {
        inner.recorder.release_reason = Some(reason);
        inner.heap.stats.num_sync_all_streams += 1;
        inner.complete_all(ctx);
        inner.process_events(ctx);
        inner.releases.events.last_ticket()
    });
    let is_pending = |inner: &mut Inner| {
        inner.releases.events.is_pending_until(freed) || inner.releases.is_any_end_pending(ctx)
    };
    let released = wait_while(allocator, ctx, is_pending).and_then(|()| {
        let released = allocator.with_inner(|inner| {
            inner.release_unused(ctx);
            inner.releases.last_ticket()
        });
        wait_while(allocator, ctx, |inner| inner.releases.is_pending_until(released))
    });
    allocator.with_inner(|inner| inner.recorder.release_reason = None);
    released
}

/// Waits while `is_pending` returns true, and releases memory whose events complete meanwhile. Returns at once within a
/// host function of a stream, because the awaited work may be queued after it.
fn wait_while(
    allocator: &CachingAllocator,
    ctx: &AllocCtx,
    is_pending: impl Fn(&mut Inner) -> bool,
) -> Result<()> {
    let mut backoff = Backoff::new(Duration::MAX, true);
    // Errors of earlier queries are ignored.
    let _ = allocator.with_inner(|inner| inner.releases.events.take_last_error());
    loop {
        allocator.with_inner_and_release(ctx, Inner::process_events);
        let is_done =
            allocator.with_inner(|inner| match !is_pending(inner) || wait::current_host_fn().is_some() {
                true => Ok(true),
                false => inner.releases.events.take_last_error().map(|()| false),
            })?;
        if is_done {
            return Ok(());
        }
        check_interrupts()?;
        backoff.pause();
    }
}
