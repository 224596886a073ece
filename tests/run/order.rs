//! Instructions that compute are brought into another order, which kernels do not observe.

use std::collections::HashSet;
use std::fmt::Write;

use crate::model::Random;
use ptx_isa::run::{Grid, Memory, Module, Options};

/// A kernel that stores its first `count` registers behind a body; each begins with its number.
fn kernel(count: usize, body: &str) -> String {
    let mut text = String::from(
        ".version 8.0 .target sm_80 .address_size 64
        .visible .entry k(.param .u64 out) { .reg .b32 %r<99>; .reg .b64 %out; .reg .pred %p;
        ld.param.u64 %out, [out];",
    );
    (0..count).for_each(|number| write!(text, "mov.u32 %r{number}, {number};").unwrap());
    // Labels are where sequences begin and end.
    write!(text, "BODY: {body} END:").unwrap();
    (0..count).for_each(|number| write!(text, "st.global.u32 [%out + {}], %r{number};", 4 * number).unwrap());
    text + "bra.uni LAST; bra.uni BODY; bra.uni END; LAST: ret; }"
}

fn run(text: &str, count: usize, compile_after: Option<u32>) -> Vec<u32> {
    let memory = Memory::new();
    let (module, out) = (Module::load(text, &memory).unwrap(), memory.allocate(4 * count));
    let options = Options { compile_after, threads: Some(1), ..Options::default() };
    module.kernel("k").unwrap().launch_with(Grid::new(1, 32), &[out.into()], &options).unwrap();
    memory.download(out, count).unwrap()
}

/// Where the instructions of a body begin in the text, in the order in which they are executed.
fn places(text: &str) -> Vec<usize> {
    let module = Module::load(text, &Memory::new()).unwrap();
    let body = text.find("BODY:").unwrap()..text.find("END:").unwrap();
    let places = module.resolved().functions[0].instructions.iter().map(|instruction| instruction.at.start);
    places.filter(|place| body.contains(place)).collect()
}

#[test]
fn results_are_those_of_the_order_of_the_text() {
    let mut random = Random::new(17);
    let mut below = |bound: usize| random.below(bound);
    let mut changed = 0;
    for _ in 0..300 {
        let (count, length) = (3 + below(20), 32 + below(150));
        let mut values = Vec::from_iter(0..count as u32);
        let mut body = String::new();
        for _ in 0..length {
            let (d, [a, b]) = (below(count), [below(count), below(count)]);
            let (x, y) = (values[a], values[b]);
            let (name, value) = match below(6) {
                0 => ("add.u32", x.wrapping_add(y)),
                1 => ("sub.u32", x.wrapping_sub(y)),
                2 => ("mul.lo.u32", x.wrapping_mul(y)),
                3 => ("xor.b32", x ^ y),
                4 => ("max.u32", x.max(y)),
                _ => ("shr.u32", x.checked_shr(y).unwrap_or(0)),
            };
            write!(body, "{name} %r{d}, %r{a}, %r{b};").unwrap();
            values[d] = value;
        }
        let text = kernel(count, &body);
        changed += usize::from(!places(&text).is_sorted());
        for compile_after in [None, Some(0)] {
            assert_eq!(run(&text, count, compile_after), values, "{body}");
        }
    }
    assert!(changed > 250, "{changed} of 300 in another order");
}

#[test]
fn independent_chains_take_turns() {
    let chain = |register: usize, length: usize| format!("mad.lo.u32 %r{register}, %r{register}, 3, 5;").repeat(length);
    let other = |text: &str| !places(text).is_sorted();
    assert!(other(&kernel(2, &(chain(0, 20) + &chain(1, 20)))));
    let text = kernel(4, &[0, 1, 2, 3].map(|register| chain(register, 10)).concat());
    let registers = Vec::from_iter(places(&text).into_iter().map(|place| &text[place..][..15]));
    assert!(
        registers.windows(4).all(|four| (1..4).all(|number| !four[..number].contains(&four[number]))),
        "{registers:?}"
    );
    // Of many chains few are begun at a time.
    let text = kernel(20, &(0..20).map(|register| chain(register, 40)).collect::<String>());
    let registers = Vec::from_iter(places(&text).into_iter().map(|place| text[place..].split(',').next()));
    assert!(registers.windows(12).all(|some| some.iter().collect::<HashSet<_>>().len() <= 8));
    // Those that the machine sees at once, and one chain alone.
    assert!(!other(&kernel(2, &(chain(0, 15) + &chain(1, 15)))));
    assert!(!other(&kernel(1, &chain(0, 40))));
}

#[test]
fn clocks_guards_and_barriers_stay_where_they_are() {
    let work = |register: usize| format!("mad.lo.u32 %r{register}, %r{register}, 3, 5;").repeat(40);
    let body = format!("mov.u32 %r0, %clock; {}{} mov.u32 %r1, %clock;", work(2), work(3));
    for compile_after in [None, Some(0)] {
        let values = run(&kernel(4, &body), 4, compile_after);
        assert!(values[1] - values[0] >= 80, "{values:?}");
    }
    for between in ["@%p mov.u32 %r2, 7;", "bar.sync 0;", "activemask.b32 %r4;", "add.cc.u32 %r4, %r4, %r4;"] {
        let text =
            kernel(5, &format!("setp.eq.u32 %p, %r0, 0; {}{} {between} {}{}", work(2), work(3), work(2), work(3)));
        let (places, at) = (places(&text), text.find(between).unwrap());
        let place = places.iter().position(|place| *place == at).expect("it is there");
        assert!(!places[..place].is_sorted() && places[..place].iter().all(|place| *place < at), "{between}");
    }
}
