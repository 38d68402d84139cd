//! The suite that every driver passes, and tools for tests of drivers (feature `testing`).
//!
//! A test binary names a function that starts its driver, with at least one device:
//!
//! ```ignore
//! interlock_driver::driver_suite!(crate::started);
//! ```
//!
//! A driver need not support captures with their replays, external streams, times of events and virtual memory: there
//! these checks ask for nothing but [`Error::Unsupported`](crate::Error::Unsupported). A driver that has all of them
//! asserts so with [`Features`](features::Features), so that no check is skipped unnoticed. Every driver runs functions
//! (`launch_host_fn`), because most checks need them.
//!
//! No check looks at a clock or sleeps: work that must not have completed yet waits for a latch. Only one function at a
//! time waits for one, because drivers may run functions one after the other.

#![allow(missing_docs, reason = "the names of checks are sentences")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "checks panic where a driver fails them"
)]

pub mod features;
pub mod rig;

pub mod addresses;
pub mod captures;
pub mod copies;
pub mod errors;
pub mod events;
pub mod goals;
pub mod memory;
pub mod replays;
pub mod streams;

/// Declares one test for each check.
#[macro_export]
macro_rules! driver_suite {
    ($make:expr) => {
        $crate::driver_checks! { $make;
            streams {
                work_runs_in_the_order_in_which_it_was_queued
                queueing_does_not_wait_and_other_streams_go_on
                the_default_stream_waits_for_no_other_and_no_other_for_it
                a_wait_ends_with_its_timeout
                waiting_for_a_device_covers_all_its_streams
                waiting_covers_only_what_was_queued_before
                a_released_stream_still_runs_what_is_queued
                a_stream_is_adopted_by_what_it_is_called
                streams_of_every_priority_work
                queued_work_may_queue_more
            }
            events {
                an_event_that_was_never_recorded_is_done
                an_event_is_done_when_all_before_it_is
                an_event_is_over_when_all_before_it_is
                whether_an_event_is_over_tells_no_failure_and_takes_none_away
                an_event_holds_back_a_stream_that_waits_for_it
                an_event_recorded_again_marks_only_the_later_place
                an_event_recorded_again_leaves_those_alone_who_wait_already
                a_released_event_still_holds_back_who_waits
                events_hold_back_streams_of_other_devices
                elapsed_time_needs_events_that_were_reached
                elapsed_time_needs_timing
            }
            goals {
                a_goal_is_waited_for_as_often_as_one_likes
                what_is_queued_or_recorded_later_is_not_waited_for
                who_never_stops_queueing_holds_up_nobody
                a_goal_tells_the_failures_that_it_covers
            }
            copies {
                bytes_survive_the_way_to_a_device_and_back
                bytes_survive_the_way_through_another_device
                fills_set_every_byte_and_no_other
                copies_of_one_stream_follow_each_other
                what_a_copy_reaches_is_kept_until_it_is_done
                copies_of_nothing_are_copies
            }
            memory {
                memory_is_aligned_and_apart
                pinned_memory_is_aligned_and_usable
                free_memory_falls_and_rises_by_what_is_allocated
                too_much_memory_is_told_with_the_device_and_the_size
            }
            addresses {
                without_virtual_memory_every_function_says_so
                reserved_addresses_are_aligned_and_take_no_memory
                a_copy_goes_across_addresses_that_were_given_memory_in_any_order
                memory_of_addresses_counts_as_allocated_until_it_is_taken_back
                addresses_are_given_memory_again
                addresses_have_memory_once_and_only_within_what_was_reserved
                only_what_was_given_at_once_is_taken_back
                addresses_with_memory_are_not_given_back
                more_memory_than_there_is_is_told_and_addresses_stay_without
            }
            errors {
                a_failure_is_told_once_by_the_next_who_asks
                a_wait_tells_a_failure_as_well
                a_device_tells_the_failures_of_its_streams_one_by_one
                work_behind_a_failure_still_runs
                a_panic_is_a_failure
                only_an_event_behind_a_failure_tells_it
                a_stream_that_waited_for_one_that_failed_has_nothing_to_tell
            }
            captures {
                without_captures_every_function_reports_that
                what_a_stream_captures_does_not_run
                a_default_stream_does_not_capture
                a_stream_takes_part_in_one_capture_at_a_time
                a_capture_ends_only_where_it_began
                a_stream_takes_part_once_it_waits_for_an_event_of_the_capture
                a_stream_that_was_not_joined_back_is_told
                a_stream_without_work_need_not_be_joined_back
                all_streams_of_a_capture_name_it_and_no_others_do
                an_event_of_a_capture_is_not_over_and_asking_breaks_nothing
                asking_a_stream_that_captures_ends_the_capture
                asking_an_event_of_a_capture_ends_the_capture
                waiting_for_an_event_from_outside_ends_the_capture
                the_modes_say_which_threads_may_wait_for_a_device
                memory_is_given_and_taken_back_while_a_stream_captures
                the_end_tells_what_was_done_first
                the_shape_shows_the_work_and_what_comes_right_after_what
                an_event_of_a_capture_means_nothing_after_it
            }
            replays {
                a_replay_runs_again_what_was_captured
                a_replay_reads_what_is_there_now
                what_is_queued_behind_a_replay_comes_after_all_of_it
                replays_follow_each_other_on_whichever_streams
                a_failure_in_a_replay_is_told_by_its_stream
                a_failure_of_another_branch_is_told_by_the_stream_of_the_replay
                graphs_may_go_while_replays_are_queued
                a_graph_keeps_what_its_work_reaches
                a_graph_of_nothing_can_be_replayed
                a_graph_is_ready_as_often_as_one_likes
                a_replay_is_captured_or_refused
            }
        }
    };
}

/// Declares the tests of [`driver_suite`].
#[doc(hidden)]
#[macro_export]
macro_rules! driver_checks {
    ($make:expr; $($module:ident { $($check:ident)+ })+) => {
        $(mod $module {
            $(#[test]
            fn $check() {
                $crate::testing::$module::$check($make);
            })+
        })+
    };
}
