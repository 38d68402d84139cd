//! Tests of the text format of configurations.

use proptest::prelude::*;

use super::*;
use crate::Error;
use crate::memory::config_report;

fn parse(text: &str) -> AllocatorConfig {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn refused(text: &str) -> String {
    match text.parse::<AllocatorConfig>() {
        Err(error @ (Error::Argument { .. } | Error::UnknownKey { .. })) => error.to_string(),
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn config_parse_uses_defaults_for_keys_that_are_missing() {
    let expected = AllocatorConfig {
        max_split_size_mb: Some(64),
        expandable_segments: true,
        roundup_power2_divisions: RoundupDivisions::BySize { steps: vec![(256, 1), (512, 2)], rest: Some(8) },
        ..AllocatorConfig::default()
    };
    let text = "max_split_size_mb:64,roundup_power2_divisions:[256:1,512:2,>:8],expandable_segments:True";
    assert_eq!(parse(text), expected);
    assert_eq!(expected.to_string(), text);
    assert_eq!(parse(" "), AllocatorConfig::default());
    assert_eq!(AllocatorConfig::default().to_string(), "");
}

#[test]
fn config_parse_ignores_whitespace_and_a_trailing_comma() {
    let text = " expandable_segments : True ,\troundup_power2_divisions:[ 256 : 1 , > : 2 ] , ";
    assert_eq!(parse(text), parse("expandable_segments:True,roundup_power2_divisions:[256:1,>:2]"));
}

#[test]
fn config_parse_uses_the_later_of_two_values_of_a_key() {
    assert_eq!(parse("max_split_size_mb:30,max_split_size_mb:40").max_split_size_mb, Some(40));
}

#[test]
fn config_parse_accepts_every_default() {
    for key in KEYS.iter().filter(|key| key.in_conf_string) {
        let value = key.value(&AllocatorConfig::default());
        if value != Value::Limit(None) {
            assert_eq!(parse(&format!("{}:{value}", key.name)), AllocatorConfig::default());
        }
    }
}

#[test]
fn config_parse_compares_sizes_in_any_order() {
    for text in
        ["large_segment_size_mb:64,max_split_size_mb:32", "max_split_size_mb:32,large_segment_size_mb:64"]
    {
        assert!(refused(text).contains("max_split_size_mb must be"), "{text}");
    }
    assert!(
        refused("large_segment_size_mb:64,max_non_split_rounding_mb:63").contains("large_segment_size_mb")
    );
    parse("large_segment_size_mb:64");
    parse("large_segment_size_mb:12,max_split_size_mb:12,max_non_split_rounding_mb:12");
}

#[test]
fn config_parse_reports_the_key_of_an_invalid_value() {
    for (key, words) in [
        ("backend", &["", "foo", "Native", "cudamallocasync"][..]),
        ("max_split_size_mb", &["", "-1", "+30", "30.5", "0x30", "1e3", "3 0", "[30]", "19", "0", "none"]),
        ("max_split_size_mb", &["99999999999999999999999", "18446744073709551615"]),
        ("max_non_split_rounding_mb", &["19", "-20"]),
        ("large_segment_size_mb", &["10", "0", "17592186044416"]),
        ("roundup_power2_divisions", &["3", "[]", "[300:2]", "[256]", "[512:2,256:1]", "[>:8]", "-4", "4:4"]),
        ("garbage_collection_threshold", &["1", "1.0", "-0.5", "nan", "inf", "0.5x", ""]),
        ("expandable_segments", &["true", "1", "[True]", "", "True max_split_size_mb:30"]),
        ("per_process_memory_fraction", &["1.5", "-0.1", "nan"]),
        ("pinned_num_register_threads", &["0", "3", "256"]),
        ("pinned_reserve_segment_size_mb", &["-1", "17592186044416"]),
        ("pinned_max_cached_size_mb", &["x"]),
    ] {
        for word in words {
            let message = refused(&format!("pinned_free_catch_all:True,{key}:{word}"));
            assert!(message.starts_with(&format!("{key} must be")), "{key}:{word}: {message}");
        }
    }
}

#[test]
fn config_parse_reports_known_keys_and_a_suggestion() {
    let message = refused("max_splt_size_mb:30");
    assert!(message.contains("\"max_splt_size_mb\""), "{message}");
    assert!(message.contains("did you mean \"max_split_size_mb\"?"), "{message}");
    assert!(refused("MAX_SPLIT_SIZE_MB:20").contains("the keys"));
    assert!(refused("caching:False").contains("keys"));
    // Without a similar key, the message lists all.
    let message = refused("zzz:1");
    assert!(!message.contains("did you mean"), "{message}");
    for key in KEYS.iter().filter(|key| key.in_conf_string) {
        assert!(message.contains(key.name), "{message}");
    }
}

#[test]
fn config_parse_rejects_malformed_texts() {
    for text in [",", ",backend:native", "backend:native,,backend:native", "backend"] {
        refused(text);
    }
    for list in ["[1:2", "1:2]", "[[1:2]]", "[1:2]]", "]1:2["] {
        let message = refused(&format!("roundup_power2_divisions:{list}"));
        assert!(message.contains("one ] follows each ["), "{message}");
    }
}

#[test]
fn key_set_rejects_values_of_another_type() {
    let mut config = AllocatorConfig::default();
    for key in KEYS {
        let other = match key.value(&config) {
            Value::Switch(_) => Value::Number(1),
            _ => Value::Switch(true),
        };
        assert!(!key.set(&mut config, other), "{}", key.name);
    }
    assert_eq!(config, AllocatorConfig::default());
}

#[test]
fn keys_are_unique_and_have_documentation() {
    let mut names: Vec<_> = KEYS.iter().map(|key| key.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), KEYS.len());
    for key in KEYS {
        assert!(key.doc.trim_end().ends_with('.'), "{}", key.name);
    }
}

#[test]
fn key_with_an_unmet_requirement_never_applies() {
    // No accelerator is in use in this process, so there is neither virtual memory nor a limit set by the program.
    let when = |text: &str, name: &str| {
        parse(text).applies(KEYS.iter().find(|key| key.name == name).unwrap()).when()
    };
    assert_eq!(when("", "large_segment_size_mb"), "on new segments");
    assert_eq!(when("", "garbage_collection_threshold"), "never");
    assert_eq!(when("per_process_memory_fraction:0.5", "garbage_collection_threshold"), "now");
    assert_eq!(when("", "max_non_split_rounding_mb"), "never");
    assert_eq!(when("max_split_size_mb:20", "max_non_split_rounding_mb"), "now");
    assert_eq!(when("backend:cudaMallocAsync", "backend"), "never");
    let uncached = AllocatorConfig { caching: false, ..AllocatorConfig::default() };
    for key in KEYS.iter().filter(|key| key.requires.contains(&Requirement::Caching)) {
        assert_eq!(uncached.applies(key).when(), "never", "{}", key.name);
    }
}

#[test]
fn config_watch_sees_valid_changes_and_no_rejected_ones() {
    // The only test that sets the configuration of this process.
    let before = config().unwrap();
    let watch = ConfigWatch::default();
    let mut seen = Vec::new();
    let mut refresh = |times: usize| {
        for _ in 0..times {
            let apply = |number, config: &AllocatorConfig| {
                seen.push((number, config.clone()));
                Ok(())
            };
            watch.refresh(apply).unwrap();
        }
        seen.clone()
    };
    assert_eq!(refresh(2), [(1, (*before).clone())]);
    set_config(parse("max_split_size_mb:40,expandable_segments:True")).unwrap();
    assert_eq!(
        refresh(2).last().map(|(number, config)| (*number, config.max_split_size_mb)),
        Some((2, Some(40)))
    );
    assert_eq!(config_source(), Source::Program);
    let wrong = AllocatorConfig { max_split_size_mb: Some(1), ..AllocatorConfig::default() };
    assert!(set_config(wrong).is_err());
    assert_eq!(refresh(1).len(), 2);
    set_config(parse("pinned_free_catch_all:True")).unwrap();
    assert_eq!(refresh(1).pop(), Some((3, parse("pinned_free_catch_all:True"))), "nothing is left over");
    let report = config_report().unwrap();
    let set: Vec<_> = report.iter().filter(|key| key.source == Source::Program).map(|key| key.name).collect();
    assert_eq!(set, ["pinned_free_catch_all"]);
    set_config((*before).clone()).unwrap();
}

fn divisions() -> impl Strategy<Value = RoundupDivisions> {
    let power = |most: u32| prop_oneof![Just(0), (0..most).prop_map(|bits| 1_usize << bits)];
    let sizes = proptest::collection::btree_set(0_u32..20, 1..6);
    let steps = sizes.prop_flat_map(move |sizes| {
        let sizes: Vec<_> = sizes.into_iter().collect();
        let divisions = proptest::collection::vec(power(8), sizes.len());
        divisions.prop_map(move |divisions| {
            sizes.iter().zip(divisions).map(|(bits, divisions)| (1 << bits, divisions)).collect::<Vec<_>>()
        })
    });
    let by_size = (steps, proptest::option::of(power(8)));
    prop_oneof![
        power(8).prop_map(RoundupDivisions::Same),
        by_size.prop_map(|(steps, rest)| RoundupDivisions::BySize { steps, rest }),
    ]
}

prop_compose! {
    fn any_config()(
        sizes in (11_usize..1000, proptest::option::of(0_usize..1000), proptest::option::of(0_usize..1000)),
        roundup_power2_divisions in divisions(),
        garbage_collection_threshold in prop_oneof![Just(0.0), 0.0..1.0_f64],
        per_process_memory_fraction in prop_oneof![Just(1.0), 0.0..=1.0_f64],
        pinned in (0_u32..8, 0_usize..100, proptest::option::of(0_usize..100), proptest::option::of(0_usize..100)),
        switches in proptest::array::uniform9(any::<bool>()),
    ) -> AllocatorConfig {
        let (large_segment_size_mb, above, rounding) = sizes;
        AllocatorConfig {
            backend: if switches[0] { Backend::Native } else { Backend::CudaMallocAsync },
            max_split_size_mb: above.map(|above| large_segment_size_mb + above),
            max_non_split_rounding_mb: rounding.map_or(20, |above| large_segment_size_mb + above),
            large_segment_size_mb,
            roundup_power2_divisions,
            garbage_collection_threshold,
            expandable_segments: switches[1],
            release_lock_on_cudamalloc: switches[2],
            graph_capture_record_stream_reuse: switches[3],
            per_process_memory_fraction,
            throw_on_cudamalloc_oom: switches[4],
            pinned_use_cuda_host_register: switches[5],
            pinned_num_register_threads: 1 << pinned.0,
            pinned_use_background_threads: switches[6],
            pinned_reserve_segment_size_mb: pinned.1,
            pinned_max_round_threshold_mb: pinned.2,
            pinned_max_cached_size_mb: pinned.3,
            pinned_free_catch_all: switches[7],
            caching: true,
        }
    }
}

proptest! {
    #[test]
    fn config_text_round_trips(config in any_config()) {
        config.check().unwrap();
        prop_assert_eq!(parse(&config.to_string()), config);
    }

    #[test]
    fn config_parse_rejects_a_text_or_returns_a_valid_config(text in "[a-z_0-9:,>\\[\\] TrueFls.]{0,60}") {
        if let Ok(config) = text.parse::<AllocatorConfig>() {
            config.check().unwrap();
        }
    }

    #[test]
    fn divisions_for_agrees_with_a_table_of_sixteen_intervals(divisions in divisions(), megabytes in 0_usize..200_000) {
        prop_assert_eq!(divisions.divisions_for(megabytes << 20), sixteen(&divisions)[interval(megabytes)]);
    }
}

fn interval(megabytes: usize) -> usize {
    (0..15).take_while(|bits| megabytes >= 2 << bits).count()
}

/// Returns the divisions of every interval, filled in one step after another.
fn sixteen(divisions: &RoundupDivisions) -> [usize; 16] {
    let mut all = [0; 16];
    match divisions {
        RoundupDivisions::Same(divisions) => all = [*divisions; 16],
        RoundupDivisions::BySize { steps, rest } => {
            let mut last = 0;
            for (number, (megabytes, divisions)) in steps.iter().enumerate() {
                last = interval(*megabytes);
                if number == 0 {
                    all[..last].fill(*divisions);
                }
                all[last] = *divisions;
            }
            all[last + 1..].fill(rest.unwrap_or(0));
        }
    }
    all
}
