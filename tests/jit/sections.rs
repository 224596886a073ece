//! Sections between which lanes diverge, against a count of lanes.

use super::jit::{Branch, Builder, LABELS, SectionArguments, Target};
use super::{File, Random, WARPS, is_supported};

/// Offsets of predicates.
const SKIPS: u32 = 32;
const GOES_BACK: u32 = 36;

/// Arguments: the masks of waiting lanes, the backward branches that are left, and the instructions that were executed.
const WAITING: u32 = 0;
const LEFT: u32 = 1;
const EXECUTED: u32 = 2;

/// Labels: the target of backward branches, and where all lanes reconverge.
const AGAIN: u32 = 3;
const BOTH: u32 = 5;

#[test]
fn lanes_wait_for_those_behind() {
    if !is_supported() {
        return;
    }
    let mut random = Random(5);
    for (not, back) in [(false, true), (true, true), (false, false), (true, false)] {
        for rounds in [0, 1, 4, 100] {
            let mut builder = Builder::new(&[], &[], true);
            builder.begin_sections(SectionArguments { waiting: WAITING, left: LEFT, executed: EXECUTED });
            builder.begin_section(None);
            let ahead = Branch { guard: Some((SKIPS, not)), target: Target::Ahead(Some(BOTH)) };
            builder.end_section(Some(ahead), 1, &[]).expect("it is compiled");
            builder.begin_section(Some(AGAIN));
            let again = Target::Back { to: AGAIN, rest: Some(BOTH) };
            let branch =
                Branch { guard: Some((GOES_BACK, !not)), target: if back { again } else { Target::Ahead(None) } };
            builder.end_section(Some(branch), 10, &[]).expect("it is compiled");
            builder.begin_section(Some(BOTH));
            builder.end_section(None, 1000, &[]).expect("it is compiled");
            let trace = builder.finish(&[]).expect("the code is encoded");
            let mut file = File::new(128, WARPS);
            let (mut left, mut executed, mut wanted) = (rounds, 0, [[0; LABELS]; WARPS]);
            for (warp, labels) in wanted.iter_mut().enumerate() {
                let masks = [u64::MAX, 0xffff_0000, 0][warp] & random.next();
                let [skips, goes_back] = [(SKIPS, not), (GOES_BACK, !not)].map(|(at, not)| {
                    let bits = random.next() as u32;
                    (0..32).for_each(|lane| file.set(warp, at, 1, lane, u64::from(bits >> lane & 1)));
                    if not { !bits } else { bits }
                });
                let active = masks as u32;
                (0..32).for_each(|lane| file.set(warp, 0, 1, lane, u64::from(active >> lane & 1)));
                let (first, stays) = (active & !skips, active & !skips & goes_back);
                let lanes = |mask: u32| u64::from(mask.count_ones());
                executed += lanes(active) + 10 * lanes(first);
                if back && stays != 0 {
                    // Those that go back do so until no rounds are left, and stay.
                    executed += 10 * left * lanes(stays);
                    (left, labels[AGAIN as usize]) = (0, stays);
                }
                executed += 1000 * lanes(active & !stays);
            }
            let mut waiting = [[0_u32; LABELS]; WARPS];
            let mut arguments = [waiting.as_mut_ptr() as u64, rounds, 0];
            file.run(&trace, &mut arguments);
            assert_eq!((waiting, &arguments[1..]), (wanted, &[left, executed][..]), "{not} {back} {rounds}");
        }
    }
}
