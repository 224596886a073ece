//! Comparisons of halves over slices.

use ptx_isa::TABLE;
use ptx_isa::slice::{Evaluator, Slice, SliceMut};

use crate::measure::{Random, lane_value, lanes, report};

/// Half comparison against the conversion that the crate `half` ships.
pub(crate) fn rows(random: &mut Random) {
    const LANES: usize = 4096;
    let (a, b) = (lanes(LANES, || lane_value(random, 16) as u16), lanes(LANES, || lane_value(random, 16) as u16));
    for i in 0..LANES / 4 {
        b[4 * i] = a[4 * i];
    }
    let evaluator = Evaluator::new(TABLE.form("setp.lt.f16").unwrap(), 90).unwrap();
    let (d, e) = (lanes(LANES / 32, || 0_u32), lanes(LANES / 32, || 0_u32));
    let mut call = evaluator.bind(LANES, [SliceMut::Mask(&mut *d)], &[Slice::B16(a), Slice::B16(b)]);
    let mut rival = || {
        for (word, (a, b)) in e.iter_mut().zip(a.chunks(32).zip(b.chunks(32))) {
            *word = a.iter().zip(b).enumerate().fold(0, |all, (lane, (a, b))| {
                let (a, b) = (half::f16::from_bits(*a).to_f32(), half::f16::from_bits(*b).to_f32());
                all | u32::from(a < b) << lane
            });
        }
    };
    call.run();
    rival();
    report("setp.lt.f16, best level, half::to_f32", 30.0, 40, &mut || call.run(), &mut rival);
    assert!(d == e);
}
