//! Groups of blocks that run in lockstep.
//!
//! The blocks of a group follow each other along one axis of the grid, so that their indices are affine: along x, or along the longest axis
//! if there are few along x. Where a kernel compares the positions of its threads with the borders of its data, the first and the
//! last blocks along that axis are in groups of their own, along the other one: in all others, what is compared is mostly the same for all
//! threads.

use std::prelude::rust_2024::*;

/// Blocks that follow each other along an axis.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Group {
    /// Its number among those of the grid, or that of a block's cluster.
    #[cfg_attr(not(feature = "jit"), allow(dead_code, reason = "machine code runs several groups at once"))]
    pub number: u64,
    /// The index of the first block.
    pub index: [u32; 3],
    pub axis: usize,
    pub count: usize,
}

impl Group {
    /// The index of a block of the group.
    pub(crate) fn block(&self, number: usize) -> [u32; 3] {
        let mut index = self.index;
        index[self.axis] += number as u32;
        index
    }
}

/// The groups of a grid.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Groups {
    /// Extents of the grid along the axes, of which blocks follow each other along the first and the second one.
    extents: [u64; 3],
    axes: [usize; 3],
    /// Number of ends of the first axis at which blocks follow each other along the second one: both or none.
    edges: u64,
    /// Maximum number of blocks of a group, along the second axis and along the first one.
    most: [u64; 2],
}

/// The start and the length of a part of a whole of `extent`, which has `parts` of them, the longer ones first.
fn part(extent: u64, parts: u64, number: u64) -> (u64, u64) {
    let (length, longer) = (extent / parts, extent % parts);
    (number * length + number.min(longer), length + u64::from(number < longer))
}

impl Groups {
    /// Groups of up to `most` blocks, apart at borders if the kernel compares positions with them.
    pub(super) fn new(grid: [u32; 3], most: usize, borders: bool) -> Groups {
        let (most, [x, y, z]) = (most.max(1) as u64, grid.map(u64::from));
        let axes = match () {
            () if x > most || x >= y.max(z) => [0, 1, 2],
            () if y >= z => [1, 0, 2],
            () => [2, 0, 1],
        };
        let extents = axes.map(|axis| u64::from(grid[axis]));
        let edges = if borders && extents[0] > 2 && extents[1] > 1 { 2 } else { 0 };
        let longest = |extent: u64, most: u64| part(extent, extent.div_ceil(most), 0).1;
        let across = if edges > 0 { extents[1] } else { 1 };
        Groups { extents, axes, edges, most: [longest(across, most), longest(extents[0] - edges, most)] }
    }

    /// Maximum number of blocks of a group.
    pub(crate) fn most(&self) -> usize {
        self.most[0].max(self.most[1]) as usize
    }

    /// Number of groups along the second axis at an end of the first one, and along the first axis without its ends.
    fn parts(&self) -> [u64; 2] {
        let [x, y, _] = self.extents;
        [y.div_ceil(self.most[0]), (x - self.edges).div_ceil(self.most[1])]
    }

    /// Number of groups.
    pub(crate) fn len(&self) -> u64 {
        let ([_, y, z], [down, along]) = (self.extents, self.parts());
        z * (self.edges * down + y * along)
    }

    /// The group of a number.
    pub(crate) fn get(&self, number: u64) -> Group {
        let (own, [x, y, _], [down, along], edges) = (number, self.extents, self.parts(), self.edges);
        let layer = edges * down + y * along;
        let (z, number) = (number / layer, number % layer);
        // Those at the ends come last: what most blocks do is compiled for the others.
        let (place, axis, count) = match number.checked_sub(y * along) {
            None => {
                // Those that follow each other have the same extent, and the same rows of data around them.
                let (start, count) = part(x - edges, along, number / y);
                ([edges / 2 + start, number % y, z], self.axes[0], count)
            }
            Some(number) => {
                let (end, (start, count)) = (number / down, part(y, down, number % down));
                ([end * (x - 1), start, z], self.axes[1], count)
            }
        };
        let mut index = [0; 3];
        self.axes.into_iter().zip(place).for_each(|(axis, place)| index[axis] = place as u32);
        Group { number: own, index, axis, count: count as usize }
    }

    /// How many of the groups behind one, up to `most`, are like it and follow each other at the same distance.
    #[cfg_attr(not(feature = "jit"), allow(dead_code, reason = "machine code runs several groups at once"))]
    pub(crate) fn alike(&self, group: &Group, most: u64) -> u64 {
        let distance = |other: &Group| -> [i64; 3] {
            std::array::from_fn(|axis| i64::from(other.index[axis]) - i64::from(group.index[axis]))
        };
        let is_alike = |count: u64| {
            let (next, last) = (self.get(group.number + 1), self.get(group.number + count));
            // Groups follow each other along one axis at a time: those between have the same distances.
            distance(&last) == distance(&next).map(|step| step * count as i64)
                && (last.axis, last.count) == (group.axis, group.count)
        };
        let counts = std::iter::successors(Some(most), |count| Some(count / 2));
        counts.take_while(|count| *count > 0).find(|count| is_alike(*count)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::prelude::rust_2024::*;

    use super::*;

    #[test]
    fn each_block_is_in_one_group() {
        for grid in [[1, 1, 1], [1, 1, 9], [1, 7, 2], [5, 1, 1], [3, 12, 1], [16, 5, 2], [17, 64, 1], [4, 4, 4]] {
            for (most, borders) in [(1, false), (4, true), (4, false), (8, true), (100, true)] {
                let groups = Groups::new(grid, most, borders);
                assert!(groups.most() <= most);
                let mut seen = HashSet::new();
                for number in 0..groups.len() {
                    let group = groups.get(number);
                    follow_each_other(&groups, &group);
                    assert!((1..=groups.most()).contains(&group.count), "{groups:?}, {group:?}");
                    for block in (0..group.count).map(|number| group.block(number)) {
                        assert!(block.iter().zip(&grid).all(|(index, extent)| index < extent), "{groups:?}, {group:?}");
                        assert!(seen.insert(block), "{block:?} twice: {groups:?}");
                    }
                }
                assert_eq!(seen.len(), grid.iter().product::<u32>() as usize, "{groups:?}");
            }
        }
    }

    /// Groups that are found to be alike are.
    fn follow_each_other(groups: &Groups, group: &Group) {
        for most in 0..groups.len() - group.number {
            let count = groups.alike(group, most);
            assert!(count <= most);
            let members: Vec<Group> = (group.number..=group.number + count).map(|number| groups.get(number)).collect();
            assert!(members.iter().all(|other| (other.axis, other.count) == (group.axis, group.count)));
            let distance = |pair: &[Group]| -> [i64; 3] {
                std::array::from_fn(|axis| i64::from(pair[1].index[axis]) - i64::from(pair[0].index[axis]))
            };
            let distances: HashSet<[i64; 3]> = members.windows(2).map(distance).collect();
            assert!(distances.len() <= 1, "{groups:?}, {group:?}, {count}");
        }
    }

    #[test]
    fn borders_are_apart() {
        let groups = Groups::new([16, 64, 1], 8, true);
        let of = |number| {
            let Group { index, axis, count, .. } = groups.get(number);
            (index, axis, count)
        };
        assert_eq!((of(0), of(128), of(136)), (([1, 0, 0], 0, 7), ([0, 0, 0], 1, 8), ([15, 0, 0], 1, 8)));
        assert_eq!((groups.len(), groups.most()), (2 * 8 + 64 * 2, 8));
        // Few along x: the longest axis counts.
        let groups = Groups::new([1, 2, 64], 8, false);
        let Group { index, axis, count, .. } = groups.get(9);
        assert_eq!((index, axis, count, groups.len()), ([0, 1, 8], 2, 8, 16));
    }
}
