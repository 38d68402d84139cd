//! Into how many equal steps the way from one power of two to the next is divided, where sizes are rounded up to
//! such steps.

use std::fmt;

use super::value::parse_number;

/// The number of steps into which the range from one power of two to the next is divided, where sizes are rounded up
/// to such steps: for all sizes or by size. 0 means that sizes are not rounded so.
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
    /// The same for every size.
    Same(usize),
    /// By size.
    BySize {
        /// A power of two in megabytes, from which on up to its double there are so many divisions. They rise, and
        /// the first holds for smaller sizes, too. A power that is left out between two of them has none.
        steps: Vec<(usize, usize)>,
        /// The divisions of sizes from the double of the last power on; 0 if it is left out.
        rest: Option<usize>,
    },
}

impl RoundupDivisions {
    /// For no size.
    pub const OFF: RoundupDivisions = RoundupDivisions::Same(0);

    /// The divisions for a size. Sizes are told apart by their power of two, from one megabyte up to 32768; what is
    /// smaller or larger counts as these.
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

    /// Whether all of it is made of powers of two, and the sizes rise.
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

    /// Reads a number, or a list such as `[256:1,512:2,>:8]`.
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

/// The number of the interval in which a size lies.
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
    fn one_number_is_for_every_size() {
        for bytes in [0, 1, MEGABYTE, usize::MAX] {
            assert_eq!(read("4").divisions_for(bytes), 4);
        }
    }

    #[test]
    fn a_step_holds_from_its_power_of_two_to_the_next_and_the_first_below_it_too() {
        let divisions = read("[256:1,512:2,1024:4,>:8]");
        let at = |megabytes: usize| divisions.divisions_for(megabytes * MEGABYTE);
        assert_eq!([0, 1, 255, 256, 511].map(at), [1; 5]);
        assert_eq!([512, 1023, 1024, 2047].map(at), [2, 2, 4, 4]);
        assert_eq!([2048, 1 << 16, 1 << 30].map(at), [8; 3]);
        assert_eq!(divisions.divisions_for(512 * MEGABYTE - 1), 1);
    }

    #[test]
    fn what_is_left_out_between_and_above_has_none() {
        let divisions = read("[1:2,4:8]");
        assert_eq!([1, 2, 4, 8].map(|megabytes| divisions.divisions_for(megabytes * MEGABYTE)), [2, 0, 8, 0]);
    }

    #[test]
    fn sizes_beyond_the_last_interval_count_as_that() {
        let divisions = read("[16384:2,32768:4,>:8]");
        assert_eq!(divisions.divisions_for(usize::MAX), 4);
        assert_eq!(read("[65536:4]").divisions_for(MEGABYTE << 15), 4);
    }

    #[test]
    fn what_is_no_list_of_pairs_is_not_read() {
        for text in
            ["", "[", "]", "[]", "[,]", "[256]", "[256:]", "[:2]", "[>:2,256:1]", "[>:1,>:2]", "[a:1]"]
        {
            assert_eq!(RoundupDivisions::parse(text), None, "{text}");
        }
        assert_eq!(read("[ 256 : 1 , > : 2 , ]"), read("[256:1,>:2]"));
    }

    #[test]
    fn only_rising_powers_of_two_are_right() {
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
