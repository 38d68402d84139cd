//! Updates of statistics in the model.

use interlock_accelerator::memory::{Stat, StatArray, Statistics};

pub fn add(stat: &mut Stat, amount: u64) {
    stat.current += amount;
    stat.peak = stat.peak.max(stat.current);
    stat.allocated += amount;
}

pub fn take(stat: &mut Stat, amount: u64) {
    stat.current = stat.current.checked_sub(amount).expect("the model gives back more than there is");
    stat.freed += amount;
}

pub fn change(stat: &mut Stat, from: u64, to: u64) {
    if to >= from { add(stat, to - from) } else { take(stat, from - to) }
}

/// Updates `all` and one of the pools.
pub fn in_pool(by_pool: &mut StatArray, small: bool, count: impl Fn(&mut Stat)) {
    count(&mut by_pool.all);
    count(if small { &mut by_pool.small_pool } else { &mut by_pool.large_pool });
}

fn each(statistics: &mut Statistics, act: impl Fn(&mut Stat)) {
    let Statistics {
        allocation,
        segment,
        active,
        inactive_split,
        allocated_bytes,
        reserved_bytes,
        active_bytes,
        inactive_split_bytes,
        requested_bytes,
        oversize_allocations,
        oversize_segments,
        reserved_bytes_by_private_pools,
        ..
    } = statistics;
    let pieces = [allocation, segment, active, inactive_split];
    let bytes = [allocated_bytes, reserved_bytes, active_bytes, inactive_split_bytes, requested_bytes];
    let private = reserved_bytes_by_private_pools.iter_mut().map(|(_, by_pool)| by_pool);
    for by_pool in pieces.into_iter().chain(bytes).chain(private) {
        [&mut by_pool.all, &mut by_pool.small_pool, &mut by_pool.large_pool].into_iter().for_each(&act);
    }
    [oversize_allocations, oversize_segments].into_iter().for_each(&act);
}

pub fn reset_peak(statistics: &mut Statistics) {
    each(statistics, |stat| stat.peak = stat.current);
}

pub fn reset_accumulated(statistics: &mut Statistics) {
    each(statistics, |stat| (stat.allocated, stat.freed) = (0, 0));
    let Statistics {
        num_alloc_retries,
        num_ooms,
        num_sync_all_streams,
        num_device_alloc,
        num_device_free,
        num_oom_rejections,
        ..
    } = statistics;
    let device = [num_device_alloc, num_device_free, num_oom_rejections];
    [num_alloc_retries, num_ooms, num_sync_all_streams]
        .into_iter()
        .chain(device)
        .for_each(|count| *count = 0);
}

/// Returns whether all current amounts are 0, except the setting `max_split_size`.
pub fn is_empty(statistics: &Statistics) -> bool {
    let mut now = statistics.clone();
    reset_accumulated(&mut now);
    reset_peak(&mut now);
    now == Statistics { max_split_size: now.max_split_size, ..Statistics::default() }
}
