//! Loads and stores by addresses that lanes compute: within a window, and where a function accesses what is behind it.

use super::jit::{Builder, Exchange, Scattered, WINDOW};
use super::{File, Random, WARPS, is_supported};

/// Words of memory, of which the window has the first half.
const WORDS: usize = 1024;
const INSIDE: u64 = 4 * WORDS as u64;

/// Addresses of 32 bits, and the index of the arguments: the window, the exchange, and offsets for each warp.
const START: u64 = 0x1000;
const EXCHANGE: usize = WINDOW;
const TABLE: usize = WINDOW + 1;

/// State that the function has.
#[repr(C)]
struct Context {
    exchange: Exchange,
    memory: *mut u8,
    /// The first address.
    start: u64,
    bits: usize,
    base_bits: usize,
    count: usize,
    write: bool,
    /// The address that cannot be accessed.
    nowhere: u64,
    /// How often the function was called.
    calls: usize,
}

fn word_at(bytes: *mut u64, bits: usize, index: usize) -> *mut u8 {
    bytes.cast::<u8>().wrapping_add(bits / 8 * index)
}

/// Moves the elements of all active lanes.
#[allow(unsafe_code, reason = "code calls it")]
unsafe extern "C" fn access(_: *mut (), context: *const (), number: u64, row: usize, _: *mut u64) {
    // SAFETY: the code calls it with the context of the test, whose memory has what is accessed.
    unsafe {
        let context = &mut *context.cast_mut().cast::<Context>();
        context.calls += 1;
        assert!(number == 7 && row < 16 * WARPS && row.is_multiple_of(16));
        let size = context.bits / 8;
        for lane in (0..32).filter(|lane| context.exchange.mask >> lane & 1 != 0) {
            let address = word_at(context.exchange.addresses.as_mut_ptr(), context.base_bits, lane);
            let address = match context.base_bits {
                32 => u64::from(address.cast::<u32>().read()),
                _ => address.cast::<u64>().read(),
            };
            if address == context.nowhere {
                context.exchange.failed = 1;
                return;
            }
            for index in 0..context.count {
                let place = context.memory.wrapping_add((address - context.start) as usize + index * size);
                let word = word_at(context.exchange.elements[index].as_mut_ptr(), context.bits, lane);
                let (from, to) = if context.write { (word, place) } else { (place, word) };
                from.copy_to(to, size);
            }
        }
    }
}

/// Where the addresses of active lanes are.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Places {
    Anywhere,
    /// They follow each other in each half of a warp.
    Adjacent,
    /// The same, but for the last lane.
    Almost,
    /// All in one piece of 128 bytes, which is aligned as the window is.
    Near,
    /// All in one piece that is not.
    Across,
    /// The same in all lanes.
    Same,
}

/// Addresses, of which some may be behind the window, or nowhere.
#[derive(Clone, Copy, Debug)]
struct Addresses {
    places: Places,
    behind: bool,
    nowhere: bool,
}

fn scattered(one: &Scattered, addresses: Addresses, masks: [u32; WARPS], random: &mut Random) {
    let (bits, base_bits, count) = (usize::from(one.bits), usize::from(one.base_bits), one.elements.len());
    let Addresses { places: pattern, behind, nowhere } = addresses;
    let mut builder = Builder::new(&[], &[], masks != [u32::MAX; WARPS]);
    builder.scatter(one).expect("it is compiled");
    let trace = builder.finish(&[]).expect("the code is encoded");
    let mut memory: Vec<u64> = (0..WORDS).map(|_| random.next()).collect();
    let host = memory.as_mut_ptr().cast::<u8>();
    let start = if base_bits == 32 { START } else { host as u64 };
    let whole = (bits / 8 * count) as u64;
    let mut file = File::new(4096, WARPS);
    let mut places = vec![];
    let base = one.base.expect("the test has one");
    for (warp, mask) in masks.iter().enumerate() {
        let first = [0, 1].map(|_| random.next() % (INSIDE / whole - 16));
        let (piece, of_piece) = (random.next() % (INSIDE / 128 - 1), 128 / whole);
        for lane in 0..32 {
            file.set(warp, 0, 1, lane, u64::from(mask >> lane & 1));
            for register in one.elements.iter().flatten() {
                file.set(warp, *register, one.bits, lane, random.next());
            }
            let last = lane as u32 == mask.ilog2();
            let place = match pattern {
                Places::Almost if last => random.next() % (INSIDE / whole),
                Places::Adjacent | Places::Almost => first[lane / 16] + lane as u64 % 16,
                Places::Anywhere => random.next() % (INSIDE / whole),
                Places::Near => piece * of_piece + random.next() % of_piece,
                Places::Across => piece * of_piece + 1 + random.next() % of_piece,
                // Stores of several lanes would be one behind the other.
                Places::Same if one.write => random.next() % (INSIDE / whole),
                Places::Same => first[0],
            };
            // The last lane of a warp is behind the window, or nowhere; those that are not active may be anywhere.
            let active = mask >> lane & 1 != 0;
            let outside = behind && last;
            // Mostly by far; in the first warp it is the first one there.
            let offset = if outside { INSIDE + whole * place * u64::from(warp > 0) } else { whole * place };
            let address = match (active || pattern == Places::Adjacent, nowhere && last && warp == WARPS - 1) {
                (_, true) => start - 1,
                (true, _) => start + offset,
                (false, _) => random.next(),
            };
            file.set(warp, base, one.base_bits, lane, address);
            if active {
                places.push((warp, lane, offset as usize));
            }
        }
    }
    let before = memory.clone();
    let mut context = Context {
        exchange: Exchange::EMPTY,
        memory: host,
        start,
        bits,
        base_bits,
        count,
        write: one.write,
        nowhere: start - 1,
        calls: 0,
    };
    // The memory of a warp may be elsewhere: here it is not.
    let offsets = [0_u64; 2 * WARPS];
    let exchange = (&raw mut context) as u64;
    let mut arguments = [start, INSIDE / whole, host as u64, exchange, offsets.as_ptr() as u64];
    file.run(&trace, &mut arguments);
    assert_eq!(context.exchange.failed != 0, nowhere, "{one:?}");
    // Each warp has a lane that is behind the window, or none.
    assert_eq!(context.calls, if behind { WARPS } else { usize::from(nowhere) }, "{one:?} {addresses:?}");
    if nowhere {
        return;
    }
    let bytes = |words: &[u64]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let (before, mut wanted) = (bytes(&before), bytes(&before));
    for (warp, lane, offset) in places {
        for (index, element) in one.elements.iter().enumerate() {
            let at = offset + index * bits / 8..offset + (index + 1) * bits / 8;
            let found = element.map(|register| file.get(warp, register, one.bits, lane));
            if one.write {
                let word = found.unwrap_or_else(|word| word);
                wanted[at].copy_from_slice(&word.to_le_bytes()[..bits / 8]);
            } else {
                let mut word = [0; 8];
                word[..bits / 8].copy_from_slice(&before[at]);
                assert_eq!(found, Ok(u64::from_le_bytes(word)), "{one:?} {addresses:?} in lane {lane} of warp {warp}");
            }
        }
    }
    assert!(bytes(&memory) == wanted, "{one:?} {addresses:?}");
}

#[test]
fn elements_move_where_lanes_say() {
    if !is_supported() {
        return;
    }
    let mut random = Random(3);
    let registers = [Ok(320), Ok(576), Ok(832), Ok(1088)];
    for (bits, base_bits) in [(32, 32), (32, 64), (64, 32), (64, 64)] {
        let constant = Err(0x1234_5678_9abc_def0 & (u64::MAX >> (64 - bits)));
        for (write, elements) in [
            (false, &registers[..1]),
            (false, &registers[..2]),
            (false, &registers),
            (true, &registers[..1]),
            (true, &[registers[0], constant]),
            (true, &registers),
            // To where the addresses were.
            (false, &[Ok(64)]),
        ] {
            let table = Some(TABLE as u32);
            let mut kinds = vec![(true, false, None, Places::Adjacent), (true, false, table, Places::Adjacent)];
            let all = [Places::Anywhere, Places::Adjacent, Places::Almost, Places::Near, Places::Across, Places::Same];
            for places in all {
                kinds.extend([
                    (false, false, None, places),
                    (false, false, table, places),
                    (false, true, None, places),
                ]);
            }
            for (adjacent, single, table, places) in kinds {
                if adjacent && elements.len() > 1 || elements[0] == Ok(64) && bits != base_bits {
                    continue;
                }
                let one = Scattered {
                    write,
                    elements: elements.to_vec(),
                    bits,
                    base: Some(64),
                    base_bits,
                    adjacent,
                    single,
                    fenced: single,
                    window: 0,
                    table,
                    exchange: EXCHANGE as u32,
                    function: access,
                    number: 7,
                };
                assert!(one.is_compiled());
                for masks in [[u32::MAX; WARPS], [0xffff_0000, 0x0000_8001, 1], [0x0100_0000, u32::MAX, 0x0000_0180]] {
                    for (behind, nowhere) in [(false, false), (true, false), (false, true)] {
                        scattered(&one, Addresses { places, behind, nowhere }, masks, &mut random);
                    }
                }
            }
        }
    }
}
