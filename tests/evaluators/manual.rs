//! Every form computes what a naive reading of the manual computes, on old and new targets, over values chosen to hurt.

use std::collections::HashMap;

use crate::reference::{Mnemonic, Random, edges, held};
use ptx_isa::eval::{bf16, f16};
use ptx_isa::selector::{self, Lanes, Subset};
use ptx_isa::table::FormInfo;
use ptx_isa::{Form, Opcode, TABLE, scalar};

/// The manual tells two kinds of targets apart: sm_1x and the others. Both sides of the bound, and both ends.
const TARGETS: [u16; 6] = [10, 13, 19, 20, 90, u16::MAX];

/// Compares a form with the reference on these inputs.
fn agree(form: FormInfo, mnemonic: &Mnemonic<'_>, sm: u16, inputs: &[u128]) {
    let (found, expected) = (form.evaluate(sm, inputs), mnemonic.evaluate(sm, inputs));
    assert!(
        *found == *expected,
        "{} on sm_{sm} of {inputs:x?}: found {found:x?}, the manual says {expected:x?}",
        form.mnemonic()
    );
}

/// Every form of an opcode whose mnemonic passes, over combinations of edges of its sources: all of them, or one in
/// `step`, beginning elsewhere for each form.
fn over_edges(opcode: Opcode, passes: impl Fn(&str) -> bool, random: usize, step: usize) -> Vec<FormInfo> {
    let mut forms = Vec::new();
    for form in Form::ALL.iter().filter(|form| form.opcode() == opcode && passes(form.mnemonic())) {
        forms.push(form.info());
        let mnemonic = Mnemonic::new(form.mnemonic());
        let mut generator = Random::new(forms.len() as u64);
        let sources: Vec<Vec<u128>> = mnemonic.sources().iter().map(|ty| edges(ty, &mut generator, random)).collect();
        // The two targets beside the bound for all, the others for a part.
        for (turn, inputs) in product(&sources).into_iter().skip(forms.len() % step).step_by(step).enumerate() {
            let target = TARGETS[turn % TARGETS.len()];
            agree(form.info(), &mnemonic, target, &inputs);
            if mnemonic.types.last() == Some(&"f32") {
                agree(form.info(), &mnemonic, 19, &inputs);
                agree(form.info(), &mnemonic, 20, &inputs);
            }
        }
    }
    forms
}

fn product(lists: &[Vec<u128>]) -> Vec<Vec<u128>> {
    lists.iter().fold(vec![Vec::new()], |prefixes, list| {
        let longer = |prefix: Vec<u128>| list.iter().map(move |value| prefix.iter().copied().chain([*value]).collect());
        prefixes.into_iter().flat_map(longer).collect()
    })
}

fn combined(mnemonic: &str) -> bool {
    [".and", ".or", ".xor"].iter().any(|part| mnemonic.contains(part))
}

#[test]
fn set_computes_what_the_manual_says() {
    let packed = |mnemonic: &str| ["8x4", "s16x2", "u16x2"].iter().any(|ty| mnemonic.ends_with(ty));
    let alone = |mnemonic: &str| !combined(mnemonic) && !packed(mnemonic);
    let forms = [over_edges(Opcode::Set, alone, 8, 1), over_edges(Opcode::Set, combined, 2, 7)].concat();
    assert_eq!(forms.len(), 1152 + 2112);
    held("set", forms);
}

#[test]
fn logic_computes_what_the_manual_says() {
    let opcodes = [Opcode::And, Opcode::Or, Opcode::Xor, Opcode::Not, Opcode::Cnot];
    let forms = opcodes.map(|opcode| over_edges(opcode, |_| true, 8, 1));
    assert_eq!(forms.each_ref().map(Vec::len), [4, 4, 4, 4, 3]);
    held("logic", forms.concat());
}

#[test]
fn testp_computes_what_the_manual_says() {
    let forms = over_edges(Opcode::Testp, |_| true, 1000, 1);
    assert_eq!(forms.len(), 12);
    held("testp", forms);
}

#[test]
fn scalar_vset_computes_what_the_manual_and_the_machine_say() {
    let forms: Vec<Form> = Form::ALL.iter().copied().filter(|form| form.opcode() == Opcode::Vset).collect();
    for form in &forms {
        let mnemonic = Mnemonic::new(form.mnemonic());
        let mut generator = Random::new(11);
        let merges = form.info().selectors().count() == 3;
        for turn in 0..4000 {
            let mut word = || [generator.next(), 0x7f80_8180, 0x8000_7fff, u128::MAX, 0][generator.next() as usize % 5];
            let mut inputs = vec![word(), word(), word()];
            inputs.extend(merges.then_some(turn / 49 % 7));
            inputs.extend([turn % 7, turn / 7 % 7]);
            agree(form.info(), &mnemonic, u16::MAX, &inputs);
        }
    }
    held("vset", forms.into_iter().map(Form::info));
}

#[test]
fn setp_computes_what_the_manual_says() {
    let alone = |mnemonic: &str| !combined(mnemonic);
    let forms = [over_edges(Opcode::Setp, alone, 8, 1), over_edges(Opcode::Setp, combined, 2, 7)].concat();
    assert_eq!(forms.len(), 720);
    held("setp", forms);
}

#[test]
fn selp_computes_what_the_manual_says() {
    let forms = over_edges(Opcode::Selp, |_| true, 20, 1);
    assert_eq!(forms.len(), 11);
    held("selp", forms);
}

#[test]
fn slct_computes_what_the_manual_says() {
    let forms = over_edges(Opcode::Slct, |_| true, 3, 3);
    assert_eq!(forms.len(), 33);
    held("slct", forms);
}

/// A selected signalling NaN arrives with its payload and quiet bit as they were.
#[test]
fn selections_leave_signalling_nans_alone() {
    for bits in [0x7f80_0001_u32, 0xffbf_ffff, 0x7fa1_2345] {
        let form: Form = "selp.f32".parse().unwrap();
        assert_eq!(form.evaluate(&[bits.into(), 0, 1]), [bits.into()]);
        assert_eq!(scalar::selp_f32(f32::from_bits(bits), 0.0, true).to_bits(), bits);
        let form: Form = "slct.ftz.f32.f32".parse().unwrap();
        assert_eq!(form.evaluate(&[0, bits.into(), 0x7fc0_0000]), [bits.into()]);
    }
    let bits = 0x7ff0_0000_0000_0001_u64;
    assert_eq!(scalar::slct_f64_s32(f64::from_bits(bits), 0.0, 0).to_bits(), bits);
    assert_eq!(scalar::slct_f64_s32(0.0, f64::from_bits(bits), -1).to_bits(), bits);
}

/// Properties that comparisons do not cover: flushing keeps the sign of zero and changes only subnormal numbers.
#[test]
fn flushing_keeps_the_sign_and_all_that_is_no_subnormal() {
    use ptx_isa::eval::{flush_f16, flush_f32};
    let (half, single) = (crate::reference::format("f16").unwrap(), crate::reference::format("f32").unwrap());
    for bits in 0..=u16::MAX {
        let expected = crate::reference::flush(bits.into(), half);
        assert_eq!(u128::from(flush_f16(f16::from_bits(bits)).to_bits()), expected, "{bits:#x}");
    }
    for bits in edges("f32", &mut Random::new(5), 10_000) {
        let expected = crate::reference::flush(bits & 0xffff_ffff, single);
        assert_eq!(u128::from(flush_f32(f32::from_bits(bits as u32)).to_bits()), expected, "{bits:#x}");
    }
}

/// Words whose lanes are the corners of bytes and half-words, and random ones.
fn words(generator: &mut Random, random: usize) -> Vec<u128> {
    let corners = [
        0x0000_0000,
        0xffff_ffff,
        0x7f80_00ff,
        0x8000_7fff,
        0x0100_80ff,
        0x8001_7ffe,
        0x807f_ff01,
        0xff7f_8000,
        0x0001_ffff,
        0x7fff_8000,
        0xfffe_0001,
    ];
    let rubbish = 0xdead_beef_0000_0000_u128;
    let corners = corners.into_iter().enumerate().map(|(i, word)| if i % 3 == 1 { word | rubbish } else { word });
    corners.chain((0..random).map(|_| generator.next())).collect()
}

#[test]
fn vset2_computes_what_the_manual_says() {
    let forms: Vec<Form> = Form::ALL.iter().copied().filter(|form| form.opcode() == Opcode::Vset2).collect();
    for (number, form) in forms.iter().enumerate() {
        let mnemonic = Mnemonic::new(form.mnemonic());
        let mut generator = Random::new(number as u64 + 1);
        let words = words(&mut generator, 4);
        // Every mask and every pair of selectors: 3 times 16 times 16.
        for mask in 1..4 {
            for selectors in 0..256_u128 {
                let lanes = |bits: u128| bits & 3 | (bits >> 2 & 3) << 4;
                let (asel, bsel) = (lanes(selectors), lanes(selectors >> 4));
                for _ in 0..4 {
                    let mut word = || words[generator.below(words.len() as u128) as usize];
                    let inputs = [word(), word(), word(), mask, asel, bsel];
                    agree(form.info(), &mnemonic, 30, &inputs);
                }
            }
        }
        // The default selectors on every pair of words.
        for a in &words {
            for b in &words {
                for c in [0, 0xffff_ffff, 0xffff_fffe, 0x1234_5678] {
                    agree(form.info(), &mnemonic, u16::MAX, &[*a, *b, c, 3, 0x10, 0x32]);
                }
            }
        }
    }
    assert_eq!(forms.len(), 48);
    held("vset2", forms.into_iter().map(Form::info));
}

#[test]
fn vset4_computes_what_the_manual_says() {
    let forms: Vec<Form> = Form::ALL.iter().copied().filter(|form| form.opcode() == Opcode::Vset4).collect();
    for (number, form) in forms.iter().enumerate() {
        let mnemonic = Mnemonic::new(form.mnemonic());
        let mut generator = Random::new(number as u64 + 1);
        let words = words(&mut generator, 4);
        // Every mask, each with random selectors; over all forms each single lane of each source is picked often.
        for mask in 1..16 {
            for _ in 0..150 {
                let (asel, bsel) = (generator.next() & 0x7777, generator.next() & 0x7777);
                let mut word = || words[generator.below(words.len() as u128) as usize];
                let inputs = [word(), word(), word(), mask, asel, bsel];
                agree(form.info(), &mnemonic, 30, &inputs);
            }
        }
        for a in &words {
            for b in &words {
                for c in [0, 0xffff_ffff, 0xffff_fffd, 0x1234_5678] {
                    agree(form.info(), &mnemonic, u16::MAX, &[*a, *b, c, 15, 0x3210, 0x7654]);
                }
            }
        }
        // Every selection of one source, with the other as it is by default.
        for selection in 0..4096_u128 {
            let spread = (0..4).map(|lane| (selection >> (3 * lane) & 7) << (4 * lane)).sum();
            let (a, b) = (0x80ff_7f01_u128, 0x00fe_8102_u128);
            agree(form.info(), &mnemonic, 30, &[a, b, 7, 15, spread, 0x7654]);
            agree(form.info(), &mnemonic, 30, &[a, b, 7, 15, 0x3210, spread]);
        }
    }
    assert_eq!(forms.len(), 48);
    held("vset4", forms.into_iter().map(Form::info));
}

/// `.add` wraps around, as 32-bit addition does.
#[test]
fn accumulation_wraps_around() {
    let form: Form = "vset4.u32.u32.eq.add".parse().unwrap();
    let inputs = [5, 5, 0xffff_fffe, 15, 0x3210, 0x7654];
    assert_eq!(form.evaluate(&inputs), [2]);
    assert_eq!(TABLE.form("vset2.s32.s32.ge.add").unwrap().evaluate(30, &[0, 0, 0xffff_ffff, 3, 0x10, 0x32]), [1]);
}

/// A Rust value of a typed function, from and to the bits of its register.
trait Word: Copy {
    fn from_word(word: u128) -> Self;
    fn to_word(self) -> u128;
}

macro_rules! words {
    ($($ty:ty: |$word:ident| $from:expr, |$value:ident| $to:expr;)*) => {$(
        impl Word for $ty {
            fn from_word($word: u128) -> $ty { $from }
            fn to_word(self) -> u128 { let $value = self; $to }
        }
    )*};
}

words! {
    bool: |word| word & 1 == 1, |value| value.into();
    u8: |word| word as u8, |value| value.into();
    u16: |word| word as u16, |value| value.into();
    u32: |word| word as u32, |value| value.into();
    u64: |word| word as u64, |value| value.into();
    u128: |word| word, |value| value;
    i8: |word| word as i8, |value| (value as u8).into();
    i16: |word| word as i16, |value| (value as u16).into();
    i32: |word| word as i32, |value| (value as u32).into();
    i64: |word| word as i64, |value| (value as u64).into();
    f32: |word| f32::from_bits(word as u32), |value| value.to_bits().into();
    f64: |word| f64::from_bits(word as u64), |value| value.to_bits().into();
    f16: |word| f16::from_bits(word as u16), |value| value.to_bits().into();
    bf16: |word| bf16::from_bits(word as u16), |value| value.to_bits().into();
}

impl<const OF: usize> Word for Subset<OF> {
    fn from_word(word: u128) -> Self {
        Subset::from_bits(word as u32)
    }

    fn to_word(self) -> u128 {
        self.to_bits().into()
    }
}

impl<const LANES: usize, const OF: usize> Word for Lanes<LANES, OF> {
    fn from_word(word: u128) -> Self {
        Lanes::from_bits(word as u32)
    }

    fn to_word(self) -> u128 {
        self.to_bits().into()
    }
}

impl<T: Word, const LANES: usize> Word for [T; LANES] {
    fn from_word(word: u128) -> [T; LANES] {
        let bits = 8 * size_of::<T>();
        core::array::from_fn(|lane| T::from_word(word >> (lane * bits) & (u128::MAX >> (128 - bits))))
    }

    fn to_word(self) -> u128 {
        self.into_iter().rev().fold(0, |word, lane| word << (8 * size_of::<T>()) | lane.to_word())
    }
}

/// One result, two or four.
trait Results {
    fn to_words(self) -> Vec<u128>;
}

impl<T: Word> Results for T {
    fn to_words(self) -> Vec<u128> {
        vec![self.to_word()]
    }
}

impl<T: Word, U: Word> Results for (T, U) {
    fn to_words(self) -> Vec<u128> {
        vec![self.0.to_word(), self.1.to_word()]
    }
}

impl<T: Word> Results for (T, T, T, T) {
    fn to_words(self) -> Vec<u128> {
        [self.0, self.1, self.2, self.3].map(Word::to_word).to_vec()
    }
}

/// A typed function as a function on words.
trait Typed: Sync {
    fn call(&self, inputs: &[u128]) -> Vec<u128>;
}

macro_rules! typed {
    ($(($($name:ident)*))*) => {$(
        impl<$($name: Word,)* R: Results> Typed for fn($($name),*) -> R {
            fn call(&self, inputs: &[u128]) -> Vec<u128> {
                let mut inputs = inputs.iter();
                self($($name::from_word(*inputs.next().expect("a word for each parameter"))),*).to_words()
            }
        }
    )*};
}

typed!((A)(A B)(A B C)(A B C D)(A B C D E)(A B C D E F));

/// Every function of the module, by the mnemonic of its form. Each is an item of its own: in one expression, inferring the types of
/// thousands takes the compiler minutes.
macro_rules! functions {
    ($($mnemonic:literal $name:ident($($parameter:tt),*);)*) => {
        static FUNCTIONS: &[(&str, &dyn Typed)] = &[$(($mnemonic, {
            const FUNCTION: &dyn Typed = &(scalar::$name as fn($($parameter),*) -> _);
            FUNCTION
        })),*];
    };
}

include!(concat!(env!("OUT_DIR"), "/functions.rs"));

/// Words for the sources and selectors of a form.
fn inputs(form: FormInfo, generator: &mut Random) -> Vec<u128> {
    let mut words: Vec<u128> = Vec::new();
    for operand in form.sources() {
        let ty = TABLE.ty(operand.ty);
        let plain =
            ty.name == "pred" || ["f16x2", "bf16x2"].contains(&ty.name) || crate::reference::format(ty.name).is_some();
        let name = if plain { ty.name.to_owned() } else { format!("b{}", ty.bits) };
        let edges = edges(&name, generator, 2);
        let same = words.last().copied().filter(|_| generator.below(4) == 0);
        words.push(same.unwrap_or_else(|| edges[generator.below(edges.len() as u128) as usize]));
    }
    for selector in form.selectors() {
        words.push(match selector.kind {
            selector::Kind::Lanes { lanes, of } => {
                (0..lanes).fold(0, |all, _| all << 4 | generator.below(u128::from(of)))
            }
            selector::Kind::Subset { of } => 1 + generator.below((1 << of) - 1),
            selector::Kind::Listed { words } => generator.below(words.len() as u128 + 1),
        });
    }
    words
}

/// The typed functions are emitted apart from those on bits: each is tried, and each form has one.
#[test]
fn typed_functions_compute_what_their_forms_do() {
    let forms: HashMap<String, FormInfo> = TABLE.forms().map(|form| (form.name(), form)).collect();
    for (index, (mnemonic, function)) in FUNCTIONS.iter().enumerate() {
        let form = forms[*mnemonic];
        let mut generator = Random::new(index as u64);
        for _ in 0..100 {
            let inputs = inputs(form, &mut generator);
            assert_eq!(*form.evaluate(u16::MAX, &inputs), function.call(&inputs), "{mnemonic} of {inputs:x?}");
        }
    }
    assert_eq!(FUNCTIONS.len(), TABLE.forms().filter(|form| form.has_evaluator()).count());
}

/// At least one function of each shape runs at compile time.
#[test]
fn typed_functions_run_at_compile_time() {
    const INTEGERS: u32 = scalar::set_lt_u32_s32(-1, 0);
    const SIGNED: i32 = scalar::set_lo_and_s32_u64(1, u64::MAX, true);
    const FLOATS: f32 = scalar::set_leu_or_ftz_f32_f32(f32::NAN, 0.0, false);
    const BITS: u32 = scalar::set_ne_xor_u32_b16(1, 1, true);
    const PAIR: (bool, bool) = scalar::setp_lt_and_s32(1, 2, true);
    const DOUBLE: (bool, bool) = scalar::setp_num_f64(0.0, f64::NAN);
    const HALF: bool = scalar::setp_lt_ftz_f16(f16::from_bits(0x8001), f16::from_bits(0x0001));
    const HALVES: (bool, bool) =
        scalar::setp_gt_or_bf16x2([bf16::from_bits(0x3f80), bf16::from_bits(0)], [bf16::from_bits(0); 2], false);
    const SELECTED: f64 = scalar::selp_f64(1.0, 2.0, false);
    const BY_SIGN: u16 = scalar::slct_b16_f32(1, 2, -0.0);
    const FLUSHED: i64 = scalar::slct_ftz_s64_f32(1, 2, -1e-40);
    const SWAPPED: Lanes<4, 8> = Lanes::new([3, 2, 1, 0]).unwrap();
    const BYTES: u32 = scalar::vset4_s32_u32_lt(
        -1,
        0,
        0xaabb_ccdd,
        Subset::new([true, false, false, true]).unwrap(),
        SWAPPED,
        Lanes::from_bits(0x7654),
    );
    const COUNTED: u32 = scalar::vset2_u32_u32_ne_add(
        0x0001_0002,
        0x0001_0002,
        7,
        Subset::from_bits(3),
        Lanes::from_bits(0x10),
        Lanes::from_bits(0x23),
    );
    assert_eq!((INTEGERS, SIGNED, FLOATS, BITS), (u32::MAX, -1, 1.0, u32::MAX));
    assert_eq!((PAIR, DOUBLE), ((true, false), (false, true)));
    assert_eq!((HALF, HALVES), (false, (true, false)));
    assert_eq!((SELECTED, BY_SIGN, FLUSHED), (2.0, 1, 1));
    assert_eq!((BYTES, COUNTED), (0x01bb_cc01, 9));
}

/// Forms of the pair `p|q`: the second destination is the complement of the comparison, not of the first one.
#[test]
fn the_second_destination_is_the_complement_of_the_comparison() {
    for c in [false, true] {
        assert_eq!(scalar::setp_eq_and_u32(1, 1, c), (c, false));
        assert_eq!(scalar::setp_eq_or_u32(1, 1, c), (true, c));
        assert_eq!(scalar::setp_eq_xor_u32(1, 1, c), (!c, c));
    }
    assert_eq!(scalar::setp_ne_f32(f32::NAN, 1.0), (false, true));
}
