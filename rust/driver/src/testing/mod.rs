//! The conformance suite of drivers, and helpers for tests of drivers (feature `testing`).
//!
//! A test binary passes a function that starts its driver with at least one device:
//!
//! ```ignore
//! interlock_driver::driver_suite!(crate::started);
//! ```
//!
//! Captures with replays, external streams, event timing and virtual memory management are optional: without them, the
//! checks only expect [`Error::Unsupported`](crate::Error::Unsupported). A driver that supports all of them asserts
//! that with [`Features`](features::Features), so that no check is skipped unnoticed. `launch_host_fn` is required,
//! because most checks use it.
//!
//! No check reads a clock or sleeps: work that must not have completed yet waits for a latch. Only one function at a
//! time waits for a latch, because drivers may run functions one after another.

#![allow(missing_docs, reason = "the names of checks are sentences")]
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "checks panic if a driver fails them"
)]

pub mod features;
pub mod rig;

pub mod addresses;
pub mod captures;
pub mod copies;
pub mod errors;
pub mod events;
pub mod memory;
pub mod replays;
pub mod streams;
pub mod sync_points;

/// Declares one test for each check.
#[macro_export]
macro_rules! driver_suite {
    ($make:expr) => {
        $crate::driver_suite! { @checks $make;
            streams {
                stream_runs_work_in_the_order_of_its_launches
                launch_does_not_block_and_streams_run_independently
                default_stream_does_not_synchronize_with_others
                wait_returns_false_on_timeout
                device_wait_covers_all_streams
                wait_covers_only_work_that_was_queued_before
                destroyed_stream_still_runs_queued_work
                external_stream_is_wrapped_by_its_raw_handle
                streams_of_every_priority_run_work
                host_fn_may_queue_work
            }
            events {
                event_that_was_never_recorded_has_completed
                event_check_returns_true_after_the_work_before_it
                event_has_completed_after_the_work_before_it
                event_has_completed_leaves_errors_pending
                event_blocks_a_stream_that_waits_for_it
                event_record_replaces_the_previous_record
                event_record_does_not_affect_earlier_waits
                destroyed_event_still_blocks_waiting_streams
                event_blocks_streams_of_other_devices
                elapsed_requires_completed_events
                elapsed_requires_timing
            }
            sync_points {
                sync_point_can_be_waited_for_repeatedly
                sync_point_excludes_later_work_and_records
                sync_point_is_reached_while_work_is_queued_forever
                sync_point_reports_the_errors_that_it_covers
            }
            copies {
                copy_to_a_device_and_back_preserves_bytes
                copy_through_another_device_preserves_bytes
                fill_sets_exactly_its_bytes
                copies_of_one_stream_run_in_order
                copy_keeps_its_resources_alive_until_it_is_done
                work_owns_memory_that_is_freed_in_order_only_until_it_is_queued
                copy_accepts_zero_bytes
            }
            memory {
                allocate_returns_aligned_disjoint_memory
                allocate_pinned_returns_aligned_usable_memory
                memory_info_counts_allocated_bytes
                allocate_reports_out_of_memory_with_device_and_size
            }
            addresses {
                virtual_memory_is_unsupported_in_every_function
                reserve_addresses_returns_aligned_addresses_without_memory
                copy_crosses_addresses_mapped_in_any_order
                map_counts_as_allocated_until_unmap
                map_accepts_addresses_that_were_unmapped
                map_requires_reserved_unmapped_addresses
                unmap_requires_exactly_one_mapping
                free_addresses_requires_unmapped_addresses
                map_reports_out_of_memory_and_leaves_addresses_unmapped
            }
            errors {
                check_reports_an_error_once
                wait_reports_an_error
                device_wait_reports_the_errors_of_streams_one_by_one
                stream_runs_work_after_an_error
                host_fn_panic_is_an_error
                event_reports_only_errors_before_it
                stream_does_not_report_errors_of_streams_it_waited_for
            }
            captures {
                captures_are_unsupported_in_every_function
                capture_records_work_without_running_it
                begin_capture_returns_the_id_of_the_capture
                begin_capture_rejects_a_default_stream
                begin_capture_rejects_a_stream_that_is_captured
                end_capture_requires_the_stream_of_the_begin
                capture_includes_streams_that_wait_for_its_events
                end_capture_reports_a_stream_that_was_not_joined
                end_capture_ignores_unjoined_streams_without_work
                capture_id_is_that_of_all_streams_in_the_capture
                has_completed_is_false_for_captured_events_and_harmless
                check_of_a_capturing_stream_invalidates_the_capture
                check_of_a_captured_event_invalidates_the_capture
                wait_for_an_outside_event_invalidates_the_capture
                capture_mode_decides_which_threads_may_sync_a_device
                allocate_and_free_work_during_a_capture
                end_capture_reports_the_first_forbidden_call
                describe_graph_returns_nodes_and_reduced_edges
                captured_event_is_unusable_after_the_capture
            }
            replays {
                replay_runs_captured_work_again
                replay_reads_current_contents
                replay_precedes_work_that_is_queued_after_it
                replays_of_one_graph_run_in_order_on_all_streams
                replay_error_is_reported_by_its_stream
                replay_error_of_a_branch_is_reported_by_its_stream
                graphs_can_be_destroyed_while_replays_are_queued
                graph_keeps_resources_of_its_work_alive
                graph_owns_memory_that_is_not_from_its_own_pool
                empty_graph_can_be_replayed
                graph_can_be_instantiated_repeatedly
                replay_during_a_capture_is_recorded_or_rejected
            }
        }
    };
    (@checks $make:expr; $($module:ident { $($check:ident)+ })+) => {
        $(mod $module {
            $(#[test]
            fn $check() {
                $crate::testing::$module::$check($make);
            })+
        })+
    };
}
