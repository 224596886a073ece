//! A naive reading of the manual's pseudo-code: takes a mnemonic apart by its text, and knows nothing of the
//! generator, the table or the bodies of builtins. Slow, obvious and independent.

#![allow(dead_code, reason = "each test uses a part")]

#[path = "../random/mod.rs"]
pub(crate) mod random;

use std::collections::HashSet;
use std::sync::Mutex;
use std::{env, fs};

use ptx_isa::TABLE;
use ptx_isa::table::FormInfo;

/// The forms that tests hold to a reading of the manual of their own, as the reference's badges tell. A line is a test, an
/// opcode, and a digit for each of its forms in the table's order: 1 where the test holds it.
const HELD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/reference/held.txt");

/// Says that a test holds these forms, and sees that the list says so; with `PTX_ISA_WRITE` set it is made to.
pub(crate) fn held(test: &str, forms: impl IntoIterator<Item = FormInfo>) {
    static ONE_BY_ONE: Mutex<()> = Mutex::new(());
    let forms: HashSet<usize> = forms.into_iter().map(|form| form.index()).collect();
    let line = |instruction: ptx_isa::table::InstructionInfo| {
        let digits: String =
            instruction.forms().map(|form| if forms.contains(&form.index()) { '1' } else { '0' }).collect();
        digits.contains('1').then(|| format!("{test} {} {digits}", instruction.data().opcode))
    };
    let lines: Vec<String> = TABLE.instructions().filter_map(line).collect();

    let _one_by_one = ONE_BY_ONE.lock();
    let text = fs::read_to_string(HELD).unwrap_or_default();
    let (own, others): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| line.split(' ').next() == Some(test));
    if env::var_os("PTX_ISA_WRITE").is_some() {
        let mut all: Vec<&str> = others.into_iter().chain(lines.iter().map(String::as_str)).collect();
        all.sort_unstable();
        fs::write(HELD, all.join("\n") + "\n").expect("the list can be written");
    } else {
        assert!(own == lines, "{HELD} is old: write it with PTX_ISA_WRITE=1 cargo test --release --features scalar");
    }
}

/// Ordering of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Relation {
    Less,
    Equal,
    Greater,
    /// One of them is NaN.
    Unordered,
}

use Relation::{Equal, Greater, Less, Unordered};

/// A float format: bits of exponent and fraction.
#[derive(Clone, Copy)]
pub(crate) struct Format {
    pub(crate) exponent: u32,
    pub(crate) fraction: u32,
}

/// The float formats by the manual's names.
pub(crate) fn format(ty: &str) -> Option<Format> {
    match ty {
        "f16" => Some(Format { exponent: 5, fraction: 10 }),
        "bf16" => Some(Format { exponent: 8, fraction: 7 }),
        "f32" => Some(Format { exponent: 8, fraction: 23 }),
        "f64" => Some(Format { exponent: 11, fraction: 52 }),
        _ => None,
    }
}

/// Width of a type in bits.
pub(crate) fn width(ty: &str) -> u32 {
    match ty {
        "f16x2" | "bf16x2" => 32,
        "bf16" => 16,
        "pred" => 1,
        _ => ty[1..].parse().unwrap(),
    }
}

fn low(bits: u128, width: u32) -> u128 {
    if width == 128 { bits } else { bits & ((1 << width) - 1) }
}

/// Returns the value of a float encoded as sign, exponent and fraction; `None` for NaN.
pub(crate) fn decode(bits: u128, format: Format) -> Option<f64> {
    let Format { exponent, fraction } = format;
    let negative = bits >> (exponent + fraction) & 1 == 1;
    let power = bits >> fraction & ((1 << exponent) - 1);
    let part = bits & ((1 << fraction) - 1);
    let bias = (1_i32 << (exponent - 1)) - 1;
    let magnitude = if power == (1 << exponent) - 1 {
        if part != 0 {
            return None;
        }
        f64::INFINITY
    } else if power == 0 {
        // Two steps: the smallest power of two alone would be below what `f64` holds.
        part as f64 * 2_f64.powi(1 - bias) * 2_f64.powi(-(fraction as i32))
    } else {
        (1.0 + part as f64 / 2_f64.powi(fraction as i32)) * 2_f64.powi(power as i32 - bias)
    };
    Some(if negative { -magnitude } else { magnitude })
}

/// "flushes subnormal inputs to sign-preserving zero"
pub(crate) fn flush(bits: u128, format: Format) -> u128 {
    let sign = 1 << (format.exponent + format.fraction);
    let power = bits >> format.fraction & ((1 << format.exponent) - 1);
    if power == 0 { bits & sign } else { bits }
}

fn order<T: PartialOrd>(a: T, b: T) -> Relation {
    if a < b {
        Less
    } else if a > b {
        Greater
    } else {
        Equal
    }
}

/// Compares two values of a type.
pub(crate) fn relation(ty: &str, a: u128, b: u128) -> Relation {
    let width = width(ty);
    let (a, b) = (low(a, width), low(b, width));
    if let Some(format) = format(ty) {
        return match (decode(a, format), decode(b, format)) {
            (Some(a), Some(b)) => order(a, b),
            _ => Unordered,
        };
    }
    if ty.starts_with('s') {
        let extend = |bits: u128| bits as i128 - if bits >> (width - 1) & 1 == 1 { 1_i128 << width } else { 0 };
        return order(extend(a), extend(b));
    }
    order(a, b)
}

/// The outcome of a comparison operator.
pub(crate) fn holds(cmp: &str, relation: Relation) -> bool {
    let among = |list: &[Relation]| list.contains(&relation);
    match cmp {
        "eq" => among(&[Equal]),
        "ne" => among(&[Less, Greater]),
        "lt" | "lo" => among(&[Less]),
        "le" | "ls" => among(&[Less, Equal]),
        "gt" | "hi" => among(&[Greater]),
        "ge" | "hs" => among(&[Greater, Equal]),
        "equ" => among(&[Equal, Unordered]),
        "neu" => among(&[Less, Greater, Unordered]),
        "ltu" => among(&[Less, Unordered]),
        "leu" => among(&[Less, Equal, Unordered]),
        "gtu" => among(&[Greater, Unordered]),
        "geu" => among(&[Greater, Equal, Unordered]),
        "num" => among(&[Less, Equal, Greater]),
        "nan" => among(&[Unordered]),
        other => panic!("no comparison: {other}"),
    }
}

/// A mnemonic taken apart.
#[derive(Debug)]
pub(crate) struct Mnemonic<'a> {
    pub(crate) opcode: &'a str,
    pub(crate) cmp: Option<&'a str>,
    pub(crate) bool_op: Option<&'a str>,
    pub(crate) ftz: bool,
    pub(crate) add: bool,
    /// The test of `testp`.
    pub(crate) test: Option<&'a str>,
    /// `min` or `max`.
    pub(crate) extreme: Option<&'a str>,
    /// The types in order.
    pub(crate) types: Vec<&'a str>,
}

impl<'a> Mnemonic<'a> {
    /// Sorts the words by what they are.
    pub(crate) fn new(text: &'a str) -> Mnemonic<'a> {
        let mut words = text.split('.');
        let opcode = words.next().unwrap();
        let mut mnemonic = Mnemonic {
            opcode,
            cmp: None,
            bool_op: None,
            ftz: false,
            add: false,
            test: None,
            extreme: None,
            types: Vec::new(),
        };
        for word in words {
            match word {
                "ftz" => mnemonic.ftz = true,
                "add" => mnemonic.add = true,
                "pred" => mnemonic.types.push(word),
                "min" | "max" => mnemonic.extreme = Some(word),
                _ if opcode == "testp" && !word.starts_with('f') => mnemonic.test = Some(word),
                "finite" => mnemonic.test = Some(word),
                "and" | "or" | "xor" => mnemonic.bool_op = Some(word),
                _ if word.ends_with(|c: char| c.is_ascii_digit()) => mnemonic.types.push(word),
                _ => mnemonic.cmp = Some(word),
            }
        }
        mnemonic
    }

    /// The types of the source operands, in order of writing.
    pub(crate) fn sources(&self) -> Vec<&'a str> {
        let last = *self.types.last().unwrap();
        let mut sources = match self.opcode {
            "selp" => vec![last, last, "pred"],
            "slct" => vec![self.types[0], self.types[0], last],
            "vset" | "vset2" | "vset4" => vec![self.types[0], self.types[1], "u32"],
            "not" | "cnot" | "testp" => vec![last],
            _ => vec![last, last],
        };
        sources.extend(self.bool_op.map(|_| "pred"));
        sources
    }

    /// Evaluates the form: sources in order, then selectors in order (mask, asel, bsel), all as words.
    pub(crate) fn evaluate(&self, sm: u16, inputs: &[u128]) -> Vec<u128> {
        match self.opcode {
            "set" => self.set(sm, inputs),
            "setp" => self.setp(sm, inputs),
            "selp" => {
                let taken = if inputs[2] & 1 == 1 { inputs[0] } else { inputs[1] };
                vec![low(taken, width(self.types[0]))]
            }
            "slct" => self.slct(sm, inputs),
            "vset2" => vec![self.video(16, 2, inputs)],
            "vset4" => vec![self.video(8, 4, inputs)],
            "vset" => vec![self.scalar_video(inputs)],
            "and" => vec![low(inputs[0] & inputs[1], width(self.types[0]))],
            "or" => vec![low(inputs[0] | inputs[1], width(self.types[0]))],
            "xor" => vec![low(inputs[0] ^ inputs[1], width(self.types[0]))],
            "not" => vec![low(!inputs[0], width(self.types[0]))],
            "cnot" => vec![u128::from(low(inputs[0], width(self.types[0])) == 0)],
            "testp" => vec![u128::from(self.float_test(inputs[0]))],
            other => panic!("no opcode: {other}"),
        }
    }

    /// `a CmpOp b` of one lane, with subnormals flushed where the manual says so.
    fn compare(&self, sm: u16, ty: &str, a: u128, b: u128) -> bool {
        let (mut a, mut b) = (low(a, width(ty)), low(b, width(ty)));
        // The note on old targets is in section 9.7.6; halves are newer than these targets.
        let halves = self.types.iter().any(|ty| ["f16", "bf16"].contains(ty));
        if self.ftz || ty == "f32" && sm < 20 && !halves {
            a = flush(a, format(ty).unwrap());
            b = flush(b, format(ty).unwrap());
        }
        holds(self.cmp.unwrap(), relation(ty, a, b))
    }

    /// `BoolOp(t, c)`
    fn combine(&self, t: bool, inputs: &[u128]) -> bool {
        let c = || inputs[2] & 1 == 1;
        match self.bool_op {
            None => t,
            Some("and") => t && c(),
            Some("or") => t || c(),
            Some("xor") => t != c(),
            Some(other) => panic!("no Boolean operator: {other}"),
        }
    }

    fn set(&self, sm: u16, inputs: &[u128]) -> Vec<u128> {
        let [dtype, stype] = self.types[..] else { panic!("two types") };
        let yes = match dtype {
            "f32" => u128::from(1.0_f32.to_bits()),
            "f16" | "f16x2" => 0x3c00,
            "bf16" | "bf16x2" => 0x3f80,
            // A pair writes each lane's outcome to its half of the word.
            "u16" | "s16" => 0xffff,
            _ if stype.ends_with("x2") => 0xffff,
            _ => 0xffff_ffff,
        };
        let written = |t: bool| if self.combine(t, inputs) { yes } else { 0 };
        let Some(lane) = stype.strip_suffix("x2") else {
            return vec![written(self.compare(sm, stype, inputs[0], inputs[1]))];
        };
        let t = |shift: u32| self.compare(sm, lane, inputs[0] >> shift, inputs[1] >> shift);
        vec![written(t(0)) | written(t(16)) << 16]
    }

    fn float_test(&self, a: u128) -> bool {
        let ty = self.types[0];
        let (format, a) = (format(ty).unwrap(), low(a, width(ty)));
        let value = decode(a, format);
        let flushed = decode(flush(a, format), format);
        let subnormal = value.is_some_and(|value| value != 0.0) && flushed == Some(0.0);
        match self.test.unwrap() {
            "finite" => value.is_some_and(f64::is_finite),
            "infinite" => value.is_some_and(f64::is_infinite),
            "number" => value.is_some(),
            "notanumber" => value.is_none(),
            "normal" => value.is_some_and(f64::is_finite) && !subnormal,
            "subnormal" => subnormal,
            other => panic!("no test: {other}"),
        }
    }

    /// `inputs` are a, b, c, then the parts of d (in the form that merges), a and b: bytes 0 to 3, half-words 4 and 5,
    /// all 6.
    fn scalar_video(&self, inputs: &[u128]) -> u128 {
        let merges = !self.add && self.extreme.is_none();
        let (dsel, rest) = if merges { (inputs[3], &inputs[4..]) } else { (6, &inputs[3..]) };
        let place = |part: u128| match part {
            0..=3 => (8 * part as u32, 8),
            4 | 5 => (16 * (part as u32 - 4), 16),
            _ => (0, 32),
        };
        let part = |word: u128, part: u128, ty: &str| {
            let (shift, bits) = place(part);
            let value = low(word >> shift, bits) as i128;
            if ty == "s32" && value >> (bits - 1) & 1 == 1 { value - (1 << bits) } else { value }
        };
        let (a, b) = (part(inputs[0], rest[0], self.types[0]), part(inputs[1], rest[1], self.types[1]));
        let t = u128::from(holds(self.cmp.unwrap(), order(a, b)));
        let c = low(inputs[2], 32);
        if self.add {
            return low(c + t, 32);
        }
        if let Some(extreme) = self.extreme {
            // Seen on the machine: signed exactly where the first type is.
            let signed = part(c, 6, self.types[0]);
            let (lesser, greater) = if signed < t as i128 { (c, t) } else { (t, c) };
            return if extreme == "min" { lesser } else { greater };
        }
        let (shift, bits) = place(dsel);
        let hole = low(u128::MAX, bits) << shift;
        c & !hole & 0xffff_ffff | if bits == 32 { t } else { t << shift }
    }

    fn setp(&self, sm: u16, inputs: &[u128]) -> Vec<u128> {
        let ty = self.types[0];
        let outcome = |t: bool| u128::from(self.combine(t, inputs));
        match ty {
            "f16" | "bf16" => vec![outcome(self.compare(sm, ty, inputs[0], inputs[1]))],
            "f16x2" | "bf16x2" => {
                let lane = ty.strip_suffix("x2").unwrap();
                let t = |shift: u32| self.compare(sm, lane, inputs[0] >> shift, inputs[1] >> shift);
                vec![outcome(t(0)), outcome(t(16))]
            }
            _ => {
                let t = self.compare(sm, ty, inputs[0], inputs[1]);
                vec![outcome(t), outcome(!t)]
            }
        }
    }

    fn slct(&self, sm: u16, inputs: &[u128]) -> Vec<u128> {
        let at_least_zero = if self.types[1] == "s32" {
            inputs[2] >> 31 & 1 == 0
        } else {
            let f32 = format("f32").unwrap();
            let mut c = low(inputs[2], 32);
            if self.ftz || sm < 20 {
                c = flush(c, f32);
            }
            decode(c, f32).is_some_and(|c| c >= 0.0)
        };
        let taken = if at_least_zero { inputs[0] } else { inputs[1] };
        vec![low(taken, width(self.types[0]))]
    }

    /// Video comparison on lanes of `bits` bits: `inputs` are a, b, c, the mask (a bit per lane), and both selections
    /// (four bits per lane).
    fn video(&self, bits: u32, lanes: usize, inputs: &[u128]) -> u128 {
        let [a, b, c, mask, asel, bsel] = inputs[..6] else { panic!("six inputs") };
        let pool: Vec<u128> =
            [a, b].iter().flat_map(|word| (0..lanes as u32).map(move |i| low(word >> (bits * i), bits))).collect();
        let pick = |selection: u128, lane: usize, ty: &str| {
            let value = pool[(selection >> (4 * lane) & 15) as usize] as i128;
            let negative = ty == "s32" && value >> (bits - 1) & 1 == 1;
            if negative { value - (1 << bits) } else { value }
        };
        let t = |lane: usize| {
            let (a, b) = (pick(asel, lane, self.types[0]), pick(bsel, lane, self.types[1]));
            u128::from(holds(self.cmp.unwrap(), order(a, b)))
        };
        let masked = |lane: usize| mask >> lane & 1 == 1;
        if self.add {
            let count: u128 = (0..lanes).filter(|lane| masked(*lane)).map(t).sum();
            return low(c + count, 32);
        }
        let merged = |lane: usize| if masked(lane) { t(lane) } else { low(c >> (bits * lane as u32), bits) };
        low((0..lanes).map(|lane| merged(lane) << (bits * lane as u32)).sum(), 32)
    }
}

/// Values worth trying for a type: the corners of its format and their neighbours, and some at random.
pub(crate) fn edges(ty: &str, random: &mut Random, how_many_random: usize) -> Vec<u128> {
    let width = width(ty);
    let mut list: Vec<u128> = match ty {
        "pred" => return vec![0, 1, 2, u128::MAX],
        "f16x2" | "bf16x2" => {
            let halves = edges(ty.strip_suffix("x2").unwrap(), random, 4);
            // Every half meets every other half in some lane.
            let count = halves.len();
            (0..count * 3).map(|i| halves[i % count] | halves[(i * 7 + i / count) % count] << 16).collect()
        }
        _ => match format(ty) {
            Some(format) => float_edges(format),
            None => {
                let top = 1_u128 << (width - 1);
                let all = low(u128::MAX, width);
                vec![0, 1, 2, 9, top - 1, top, top + 1, all, all - 1, (u128::MAX / 255 * 0x5a) & all, top >> 1]
            }
        },
    };
    // Above the width there is rubbish, which is to be ignored.
    list.extend((0..how_many_random).map(|_| random.next()));
    if width < 128 {
        let rubbish: Vec<u128> = list.iter().step_by(7).map(|bits| bits | 0xdead_beef_dead_beef << width).collect();
        list.extend(rubbish);
    }
    list
}

fn float_edges(format: Format) -> Vec<u128> {
    let Format { exponent, fraction } = format;
    let infinity = ((1_u128 << exponent) - 1) << fraction;
    let one = ((1_u128 << (exponent - 1)) - 1) << fraction;
    let quiet = 1 << (fraction - 1);
    let magnitudes = [
        0,
        1, // the least subnormal
        2,
        1 << (fraction - 1), // in the middle of the subnormals
        (1 << fraction) - 1, // the greatest subnormal
        1 << fraction,       // the least normal
        (1 << fraction) + 1,
        one - 1,
        one,
        one + 1,
        one + (1 << fraction), // two
        infinity - 1,          // the greatest finite
        infinity,
        infinity + 1,         // signalling NaN, least payload
        infinity + quiet - 1, // signalling NaN, all of the payload
        infinity + quiet,     // the canonical NaN
        infinity + quiet + 1, // quiet NaN with a payload
        (1 << (exponent + fraction)) - 1,
    ];
    let sign = 1 << (exponent + fraction);
    magnitudes.iter().flat_map(|bits| [*bits, bits | sign]).collect()
}

/// Random 64-bit words, widened to the type of the evaluators' operands.
pub(crate) struct Random(random::Random);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(random::Random::new(seed.wrapping_mul(2).wrapping_add(1)))
    }

    pub(crate) fn next(&mut self) -> u128 {
        self.0.next().into()
    }

    pub(crate) fn below(&mut self, bound: u128) -> u128 {
        self.next() % bound
    }
}
