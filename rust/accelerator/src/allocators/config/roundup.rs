//! The `roundup_power2_divisions` setting.

use std::fmt;

use super::value::parse_number;

/// The number of equal steps between one power of two and the next to which sizes are rounded up, for all sizes or by
/// size. 0 disables the rounding.
///
/// ```
/// use interlock_accelerator::memory::config::RoundupDivisions;
///
/// let steps = vec![(256, 1), (512, 2)];
/// let divisions = RoundupDivisions::BySize { steps, rest: Some(8) };
/// assert_eq!(divisions.divisions_for(600 << 20), 2);
/// assert_eq!(divisions.divisions_for(2000 << 20), 8);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RoundupDivisions {
    /// One number for all sizes.
    Same(usize),
    /// Different numbers by size.
    BySize {
        /// Powers of two in megabytes, in rising order, with the number of divisions for sizes up to the double of the
        /// power. The first also applies to smaller sizes. A power that is missing between two others has 0.
        steps: Vec<(usize, usize)>,
        /// The divisions of sizes from the double of the last power on; `None` means 0.
        rest: Option<usize>,
    },
}

impl RoundupDivisions {
    /// No rounding for any size.
    pub const OFF: RoundupDivisions = RoundupDivisions::Same(0);

    /// Returns the divisions for a size, which depend on its power of two. Powers below 1 and above 32768 megabytes
    /// count as these.
    pub fn divisions_for(&self, bytes: usize) -> usize {
        let (steps, rest) = match self {
            RoundupDivisions::Same(divisions) => return *divisions,
            RoundupDivisions::BySize { steps, rest } => (steps, rest.unwrap_or(0)),
        };
        let wanted = interval(bytes >> 20);
        let found = steps.iter().rfind(|(megabytes, _)| interval(*megabytes) <= wanted);
        let last = steps.last().map(|(megabytes, _)| interval(*megabytes));
        match found {
            None => steps.first().map_or(rest, |(_, divisions)| *divisions),
            Some((megabytes, divisions)) if interval(*megabytes) == wanted => *divisions,
            Some(_) if last < Some(wanted) => rest,
            Some(_) => 0,
        }
    }

    /// Returns whether no size is rounded up to a step.
    pub(crate) fn is_off(&self) -> bool {
        match self {
            RoundupDivisions::Same(divisions) => *divisions <= 1,
            RoundupDivisions::BySize { .. } => false,
        }
    }

    /// Returns whether all numbers are powers of two (divisions may be 0), and the sizes rise.
    pub(super) fn is_valid(&self) -> bool {
        let is_valid = |divisions: &usize| *divisions == 0 || divisions.is_power_of_two();
        match self {
            RoundupDivisions::Same(divisions) => is_valid(divisions),
            RoundupDivisions::BySize { steps, rest } => {
                let sizes = steps.iter().map(|(megabytes, _)| *megabytes);
                !steps.is_empty()
                    && sizes.clone().all(|megabytes| megabytes.is_power_of_two())
                    && sizes.clone().zip(sizes.skip(1)).all(|(one, next)| one < next)
                    && steps.iter().map(|(_, divisions)| divisions).chain(rest).all(is_valid)
            }
        }
    }

    /// Parses a number, or a list such as `[256:1,512:2,>:8]`.
    pub(super) fn parse(word: &str) -> Option<Self> {
        let Some(list) = word.strip_prefix('[') else {
            return parse_number(word).map(RoundupDivisions::Same);
        };
        let list = list.strip_suffix(']')?.trim_end();
        let (mut steps, mut rest) = (Vec::new(), None);
        for step in list.strip_suffix(',').unwrap_or(list).split(',') {
            let (size, divisions) = step.split_once(':')?;
            let divisions = parse_number(divisions.trim())?;
            match size.trim() {
                _ if rest.is_some() => return None,
                ">" => rest = Some(divisions),
                size => steps.push((parse_number(size)?, divisions)),
            }
        }
        Some(RoundupDivisions::BySize { steps, rest })
    }
}

/// Returns the number of the interval that contains a size.
fn interval(megabytes: usize) -> u32 {
    const LAST: u32 = 15;
    megabytes.max(1).ilog2().min(LAST)
}

impl fmt::Display for RoundupDivisions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (steps, rest) = match self {
            RoundupDivisions::Same(divisions) => return divisions.fmt(f),
            RoundupDivisions::BySize { steps, rest } => (steps, rest),
        };
        let steps = steps.iter().map(|(megabytes, divisions)| format!("{megabytes}:{divisions}"));
        let all: Vec<_> = steps.chain(rest.map(|divisions| format!(">:{divisions}"))).collect();
        write!(f, "[{}]", all.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEGABYTE: usize = 1 << 20;

    fn read(text: &str) -> RoundupDivisions {
        RoundupDivisions::parse(text).unwrap()
    }

    #[test]
    fn divisions_for_returns_one_number_for_every_size() {
        for bytes in [0, 1, MEGABYTE, usize::MAX] {
            assert_eq!(read("4").divisions_for(bytes), 4);
        }
    }

    #[test]
    fn divisions_for_applies_a_step_up_to_the_next_power_of_two() {
        let divisions = read("[256:1,512:2,1024:4,>:8]");
        let at = |megabytes: usize| divisions.divisions_for(megabytes * MEGABYTE);
        assert_eq!([0, 1, 255, 256, 511].map(at), [1; 5]);
        assert_eq!([512, 1023, 1024, 2047].map(at), [2, 2, 4, 4]);
        assert_eq!([2048, 1 << 16, 1 << 30].map(at), [8; 3]);
        assert_eq!(divisions.divisions_for(512 * MEGABYTE - 1), 1);
    }

    #[test]
    fn divisions_for_missing_powers_of_two_is_zero() {
        let divisions = read("[1:2,4:8]");
        assert_eq!([1, 2, 4, 8].map(|megabytes| divisions.divisions_for(megabytes * MEGABYTE)), [2, 0, 8, 0]);
    }

    #[test]
    fn divisions_for_sizes_beyond_the_last_interval_is_the_last() {
        let divisions = read("[16384:2,32768:4,>:8]");
        assert_eq!(divisions.divisions_for(usize::MAX), 4);
        assert_eq!(read("[65536:4]").divisions_for(MEGABYTE << 15), 4);
    }

    #[test]
    fn roundup_divisions_parse_rejects_invalid_lists() {
        for text in
            ["", "[", "]", "[]", "[,]", "[256]", "[256:]", "[:2]", "[>:2,256:1]", "[>:1,>:2]", "[a:1]"]
        {
            assert_eq!(RoundupDivisions::parse(text), None, "{text}");
        }
        assert_eq!(read("[ 256 : 1 , > : 2 , ]"), read("[256:1,>:2]"));
    }

    #[test]
    fn roundup_divisions_are_valid_for_rising_powers_of_two() {
        for text in ["0", "1", "128", "[1:0]", "[256:1,512:2,>:8]", "[256:4,1024:1]"] {
            assert!(read(text).is_valid(), "{text}");
        }
        for text in
            ["3", "[300:2]", "[0:2]", "[256:3]", "[512:2,256:1]", "[256:2,256:4]", "[1:1,>:3]", "[>:8]"]
        {
            assert!(!read(text).is_valid(), "{text}");
        }
    }
}
