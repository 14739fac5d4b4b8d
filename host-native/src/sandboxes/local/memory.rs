//! Finds the parts of the host's memory that a guard has no use for.
//!
//! A guard is a fork that never runs another program. Without this it would hold a copy of everything that the host has
//! had in memory when it was forked, for as long as its command runs.

use std::ops::Range;

/// At most so many parts are let go of; what is beyond stays, which costs memory and nothing else.
const MOST: usize = 256;
/// Smaller parts stay: among them are the variables of loaded libraries, which a guard uses.
const SMALLEST: usize = 1024 * 1024;

/// Parts of memory, in a form that can be copied to a stack.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parts {
    ranges: [(usize, usize); MOST],
    count: usize,
}

impl Parts {
    /// The heap and the large anonymous parts of this process, as they are now. None where they cannot be read.
    pub(super) fn of_this_process() -> Self {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let mut parts = Self { ranges: [(0, 0); MOST], count: 0 };
        for range in maps.lines().filter_map(spare).take(MOST) {
            parts.ranges[parts.count] = (range.start, range.end);
            parts.count += 1;
        }
        parts
    }

    /// Each part, but the one that holds this address.
    pub(super) fn without(&self, address: usize) -> impl Iterator<Item = (usize, usize)> {
        self.ranges.iter().take(self.count).copied().filter(move |&(start, end)| !(start..end).contains(&address))
    }
}

/// The part that a line of the map describes, if it can be let go of.
fn spare(line: &str) -> Option<Range<usize>> {
    let mut fields = line.split_ascii_whitespace();
    let (addresses, permissions) = (fields.next()?, fields.next()?);
    let (offset, device, inode, name) = (fields.next()?, fields.next()?, fields.next()?, fields.next());
    let anonymous = (offset, device, inode) == ("00000000", "00:00", "0");
    if permissions != "rw-p" || !anonymous || !matches!(name, None | Some("[heap]")) {
        return None;
    }
    let (start, end) = addresses.split_once('-')?;
    let range = usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?;
    (name.is_some() || range.len() >= SMALLEST).then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_large_anonymous_parts_and_the_heap_are_spare() {
        let spare = |line| spare(line).map(|range| range.len());
        assert_eq!(spare("7f0000000000-7f0000200000 rw-p 00000000 00:00 0 "), Some(0x0020_0000));
        assert_eq!(spare("550000000000-550000021000 rw-p 00000000 00:00 0          [heap]"), Some(0x0002_1000));
        assert_eq!(spare("7f0000000000-7f0000002000 rw-p 00000000 00:00 0 "), None, "small");
        assert_eq!(spare("7f0000000000-7f0000200000 r--p 00000000 00:00 0 "), None, "read-only");
        assert_eq!(spare("7f0000000000-7f0000200000 rw-p 00000000 08:01 77 /usr/lib/libc.so.6"), None, "a file");
        assert_eq!(spare("7ffc00000000-7ffc00200000 rw-p 00000000 00:00 0          [stack]"), None, "the stack");
        assert_eq!(spare("nonsense"), None);
    }
}
