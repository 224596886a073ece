//! Loops over lanes: for each shape that has one, safe code for 32 threads, which the support crate compiles for every
//! SIMD level.
//!
//! A value is an array of 32 times its lanes; a predicate is a mask. Lane-by-lane computations become loops; the rest
//! are operations on whole arrays and masks.
//!
//! ```text
//! fn chunk<L: Simd>(simd: L, (s0, s1): (&[u32; 32], &[u32; 32]), (k0, k1): (u32, u32), active: u32)
//!     -> ([u32; 32],) {
//!     let mut v4: [u32; 32] = [0; 32];
//!     let mut i = 0;
//!     while i < 32 {
//!         v4[i] = either(rt::lt_f32(f32::from_bits(s0[i]), f32::from_bits(s1[i])), k0, k1);
//!         i += 1;
//!     }
//!     (v4,)
//! }
//! ```

use isa_table::program::Param as Data;

use super::Context;
use super::code::Code;
use super::rust::{body, body_name, concrete, from_bits, to_bits, words};
use crate::model::{Model, Own, Param};
use crate::plan::{Lane, Op, Shape, Table, Value, each_lane};
use crate::program::Callee;

/// Threads of a warp.
const WARP: u32 = 32;

pub(super) fn emit(cx: &Context<'_>, code: &mut Code) {
    code.docs("What forms compute over lanes, apart from their data.");
    code.line(
        "#[allow(clippy::needless_range_loop, clippy::manual_memcpy, reason = \"the shape that becomes vectors\")]",
    );
    code.line("#[allow(clippy::nonminimal_bool, reason = \"an operator's definition is kept as the spec has it\")]");
    code.line(
        "#[allow(clippy::unnecessary_cast, clippy::useless_conversion, reason = \"one text for masks of all widths\")]",
    );
    code.line("#[allow(clippy::let_and_return, reason = \"one text for tests of one step and of many\")]");
    code.line("#[allow(unused_imports, unused_variables, reason = \"a loop need not use every shape and source\")]");
    code.braces("mod loops", |code| items(cx, code));
}

fn items(cx: &Context<'_>, code: &mut Code) {
    let count = cx.plan.loops.len();
    code.line(format_args!("use {}::lanes::{{self, *}};", cx.support));
    code.line(format_args!("use {}::selector::Lanes;", cx.support));
    code.line(format_args!("use {} as rt;", cx.bodies));
    code.blank();
    code.docs("The code of each loop at every SIMD level.");
    code.block("pub(super) static LOOPS: &[&[Run]] = &[", "];", |code| {
        code.list((0..count).map(|number| format!("lanes::code::<Loop{number}>()")));
    });
    for (number, shape) in cx.plan.loops.iter().enumerate() {
        let planned = &cx.plan.shapes[*shape];
        let first = &cx.checked.forms[planned.forms[0]];
        let syntax = &cx.checked.model.opcodes[first.opcode].entries[first.entry].syntaxes[first.syntax];
        let more = match planned.forms.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        code.blank();
        code.docs(&format!("`{}`{more}; `{}`.", first.mnemonic, cx.place(syntax.span)));
        Chunk::new(&cx.checked.model, &planned.shape).emit(&format!("Loop{number}"), code);
    }
}

/// Index of a lane of thread `i` among the lanes of all threads.
fn element(lanes: u32, lane: u32) -> String {
    match (lanes, lane) {
        (1, _) => "i".to_owned(),
        (_, 0) => format!("{lanes} * i"),
        _ => format!("{lanes} * i + {lane}"),
    }
}

/// Way in which a value is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// A source, a selector, or an operation on whole values.
    Whole,
    /// Within a loop over lanes.
    Lane,
}

struct Chunk<'a> {
    model: &'a Model,
    shape: &'a Shape,
    /// True for each value that is needed as a whole array or mask.
    whole: Vec<bool>,
}

impl<'a> Chunk<'a> {
    fn new(model: &'a Model, shape: &'a Shape) -> Chunk<'a> {
        let mut chunk = Chunk { model, shape, whole: vec![false; shape.values.len()] };
        for (index, value) in shape.values.iter().enumerate() {
            if chunk.way(index) == Way::Whole {
                chunk.whole[index] = true;
                value.op.args().into_iter().for_each(|arg| chunk.whole[arg] = true);
            }
        }
        shape.outputs.iter().for_each(|output| chunk.whole[*output] = true);
        chunk
    }

    fn value(&self, index: usize) -> &'a Value {
        &self.shape.values[index]
    }

    fn way(&self, index: usize) -> Way {
        let value = self.value(index);
        let whole = match &value.op {
            Op::Source(_) | Op::Selector(_) | Op::Lane(..) | Op::Truth { .. } | Op::Spread(_) => true,
            Op::Constant(_) => value.is_predicate(),
            Op::Splat(_) | Op::Own(_) => false,
            Op::Call { callee, .. } => self.for_warp(callee) || !each_lane(self.model, callee.builtin),
            Op::Reinterpret(of) => self.value(*of).lanes != value.lanes,
            Op::Select(condition, _, _) => {
                self.way(*condition) == Way::Whole || self.value(*condition).lanes != value.lanes
            }
        };
        if whole { Way::Whole } else { Way::Lane }
    }

    /// Returns true if a builtin has a body for all threads of a warp.
    fn for_warp(&self, callee: &Callee) -> bool {
        self.model.builtins[callee.builtin.0].warp
    }

    /// Number of lanes in a chunk.
    fn count(&self, index: usize) -> u32 {
        WARP * self.value(index).lanes
    }

    fn bits(&self, index: usize) -> u32 {
        self.value(index).bits().expect("selectors have no lanes of their own")
    }

    /// Type of a mask over the lanes of a value.
    fn mask_type(&self, index: usize) -> String {
        format!("u{}", self.count(index))
    }

    fn array_type(&self, index: usize) -> String {
        format!("[u{}; {}]", self.bits(index), self.count(index))
    }

    /// Type of the register that holds a value; a mask for predicates.
    fn register_type(&self, index: usize, predicate: &str) -> String {
        let value = self.value(index);
        match value.lane {
            Lane::Predicate => predicate.to_owned(),
            _ => format!("[u{}; {WARP}]", (self.bits(index) * value.lanes).max(16)),
        }
    }

    /// Returns true if a value is a byte for each thread, which a register of 16 bits holds.
    fn is_byte(&self, index: usize) -> bool {
        let value = self.value(index);
        !value.is_predicate() && value.lanes == 1 && self.bits(index) == 8
    }

    fn emit(&self, name: &str, code: &mut Code) {
        let tuple = |items: Vec<String>| match items.as_slice() {
            [only] => format!("({only},)"),
            _ => format!("({})", items.join(", ")),
        };
        let sources = self.shape.sources();
        let source_types = sources.iter().map(|source| self.register_type(*source, "Mask")).collect();
        let source_names = (0..sources.len()).map(|number| format!("s{number}")).collect();
        let output_types = self.shape.outputs.iter().map(|output| self.register_type(*output, "u32")).collect();
        let param_types = self.shape.params.iter().map(|param| match param {
            Data::Constant(bits) => format!("u{bits}"),
            Data::Truth(leaves) => format!("Truth{leaves}"),
            Data::Pick(..) => "Pick".to_owned(),
            Data::Subset(_) => "Subset".to_owned(),
        });
        let param_names = (0..self.shape.params.len()).map(|param| format!("k{param}")).collect();
        code.line(format_args!("struct {name};"));
        code.braces(format_args!("impl Loop for {name}"), |code| {
            code.line(format_args!("type Sources = {};", tuple(source_types)));
            code.line(format_args!("type Outputs = {};", tuple(output_types)));
            code.line(format_args!("type Params = {};", tuple(param_types.collect())));
            code.line("#[inline(always)]");
            let head = format!(
                "fn chunk<L: Simd>(simd: L, {}: <Self::Sources as Sources>::Refs<'_>, {}: Self::Params, active: u32) \
                 -> Self::Outputs",
                tuple(source_names),
                tuple(param_names)
            );
            code.braces(head, |code| {
                for index in 0..self.shape.values.len() {
                    if self.whole[index] {
                        self.stage(index, code);
                    }
                }
                let outputs = self.shape.outputs.iter().map(|output| {
                    let value = self.value(*output);
                    match value.is_predicate() || value.lanes == 1 {
                        _ if self.is_byte(*output) => format!("lanes::resized({})", self.by_reference(*output)),
                        true => self.by_value(*output),
                        false => format!("reinterpret({})", self.by_value(*output)),
                    }
                });
                code.line(tuple(outputs.collect()));
            });
        });
    }

    /// Returns true if the name of a value denotes a reference.
    fn is_reference(&self, index: usize) -> bool {
        let value = self.value(index);
        matches!(value.op, Op::Source(_)) && !value.is_predicate() && value.lanes == 1 && !self.is_byte(index)
    }

    /// Name of the array or mask of a value.
    fn name(&self, index: usize) -> String {
        match self.value(index).op {
            Op::Source(number) if self.value(index).is_predicate() || self.is_reference(index) => format!("s{number}"),
            _ => format!("v{index}"),
        }
    }

    fn by_value(&self, index: usize) -> String {
        let name = self.name(index);
        if self.is_reference(index) { format!("*{name}") } else { name }
    }

    fn by_reference(&self, index: usize) -> String {
        let name = self.name(index);
        if self.is_reference(index) { name } else { format!("&{name}") }
    }

    /// Writes the statements that compute the array or mask of a value.
    fn stage(&self, index: usize, code: &mut Code) {
        let value = self.value(index);
        let name = format!("v{index}");
        if self.way(index) == Way::Lane {
            return self.looped(index, code);
        }
        let text = match &value.op {
            Op::Source(_) if value.is_predicate() || self.is_reference(index) => return,
            Op::Source(number) if self.is_byte(index) => format!("lanes::resized::<_, u8>(s{number})"),
            Op::Source(number) => {
                return code.line(format_args!("let {name}: {} = reinterpret(*s{number});", self.array_type(index)));
            }
            Op::Selector(param) => match value.lane {
                Lane::Pick(_) => return,
                _ => format!("k{param}.mask() as {}", self.mask_type(index)),
            },
            Op::Constant(word) => match word {
                0 => format!("0 as {}", self.mask_type(index)),
                _ => format!("{}::MAX", self.mask_type(index)),
            },
            Op::Splat(_) | Op::Own(_) => unreachable!("it is read as it is"),
            Op::Spread(of) => {
                let of = self.name(*of);
                match value.lanes {
                    2 => format!("simd.twice({of})"),
                    _ => format!("lanes::spread({of}, {}) as {}", value.lanes, self.mask_type(index)),
                }
            }
            Op::Truth { table, leaves } => {
                let count = leaves.len();
                let table = match table {
                    Table::Param(param) => format!("k{param}"),
                    Table::Fixed(outcomes) => format!("Truth{count}::of({outcomes:#b})"),
                };
                let leaves = leaves
                    .iter()
                    .map(|(leaf, complement)| format!("{}{}", if *complement { "!" } else { "" }, self.name(*leaf)));
                format!("{table}.apply([{}])", leaves.collect::<Vec<_>>().join(", "))
            }
            Op::Lane(of, lane) => {
                let lanes = self.value(*of).lanes;
                if value.is_predicate() {
                    format!("simd.lane::<{lanes}>({} as u128, {lane})", self.name(*of))
                } else {
                    let of = self.name(*of);
                    return self.each(index, code, |_| format!("{of}[{}]", element(lanes, *lane)));
                }
            }
            Op::Reinterpret(of) => {
                let text = format!("reinterpret({})", self.by_value(*of));
                return code.line(format_args!("let {name}: {} = {text};", self.array_type(index)));
            }
            Op::Select(condition, a, b) => self.select(index, *condition, *a, *b),
            Op::Call { callee, args } if self.for_warp(callee) => self.call_for_warp(index, callee, args),
            Op::Call { callee, args } => return self.call_by_thread(index, callee, args, code),
        };
        code.line(format_args!("let {name} = {text};"));
    }

    /// Call of a body for all threads of a warp.
    fn call_for_warp(&self, index: usize, callee: &Callee, args: &[usize]) -> String {
        let params = &self.model.builtins[callee.builtin.0].signature.params;
        let mut generics = words(self.model, callee);
        // A body that is generic over the number of lanes takes it as an argument: that of each group, or the total.
        let together = params.iter().position(|param| *param == Param::GenericLanes);
        match together {
            Some(place) => generics.extend(["_".to_owned(), self.value(args[place]).lanes.to_string()]),
            // A body that reads other lanes is for one warp.
            None if self.model.builtins[callee.builtin.0].signature.of_warp.contains(&true) => {}
            None if each_lane(self.model, callee.builtin) => {
                generics.extend(["_".to_owned(), self.count(index).to_string()])
            }
            None => {}
        }
        let generics = if generics.is_empty() { String::new() } else { format!("::<{}>", generics.join(", ")) };
        let args = args.iter().map(|arg| match (&self.value(*arg).op, self.value(*arg).lane) {
            (Op::Selector(param), Lane::Pick(_)) => format!("&k{param}"),
            (_, Lane::Predicate) if self.value(*arg).lanes > 1 => format!("{} as u128", self.name(*arg)),
            (_, Lane::Predicate) => self.name(*arg),
            _ => self.by_reference(*arg),
        });
        let args = args.collect::<Vec<_>>().join(", ");
        format!("rt::warp::{}{generics}(simd, {args})", body_name(self.model, callee))
    }

    /// Calls, one for each thread, of a body that takes and returns whole values.
    fn call_by_thread(&self, index: usize, callee: &Callee, args: &[usize], code: &mut Code) {
        let value = self.value(index);
        let lane_of = |arg: usize, lane: u32| {
            let lanes = self.value(arg).lanes;
            let at = element(lanes, lane);
            match self.value(arg).is_predicate() {
                true => format!("{} >> ({at}) & 1 != 0", self.name(arg)),
                false => format!("{}[{at}]", self.name(arg)),
            }
        };
        let params = &self.model.builtins[callee.builtin.0].signature.params;
        let args = args.iter().zip(params).map(|(arg, param)| {
            if let Some(text) = self.scalar(*arg) {
                return self.typed(&text, *param, callee);
            }
            let lanes = self.value(*arg).lanes;
            let own = |lane: u32| self.typed(&lane_of(*arg, lane), *param, callee);
            match lanes {
                1 => own(0),
                _ => format!("[{}]", (0..lanes).map(own).collect::<Vec<_>>().join(", ")),
            }
        });
        let call = format!("rt::{}({})", body(self.model, callee), args.collect::<Vec<_>>().join(", "));
        let result = concrete(self.model.builtins[callee.builtin.0].signature.result, callee);
        let bits = |text: &str| match result {
            Some(result) => to_bits(self.model, self.model.ty(result).lane, text),
            None => text.to_owned(),
        };
        let count = self.count(index);
        let ty = if value.is_predicate() { "i8".to_owned() } else { format!("u{}", self.bits(index)) };
        code.line(format_args!("let mut v{index}: [{ty}; {count}] = [0; {count}];"));
        code.line("let mut i = 0;");
        code.braces(format_args!("while i < {WARP}"), |code| {
            code.line(format_args!("let each = {call};"));
            for lane in 0..value.lanes {
                let own = bits(&if value.lanes == 1 { "each".to_owned() } else { format!("each[{lane}]") });
                let own = if value.is_predicate() { format!("-i8::from({own})") } else { own };
                code.line(format_args!("v{index}[{}] = {own};", element(value.lanes, lane)));
            }
            code.line("i += 1;");
        });
        if value.is_predicate() {
            code.line(format_args!("let v{index} = simd.mask(&v{index}, 8) as {};", self.mask_type(index)));
        }
    }

    /// Selection by a mask.
    fn select(&self, index: usize, condition: usize, a: usize, b: usize) -> String {
        let value = self.value(index);
        let mask = self.name(condition);
        let whole = |arg: usize| match self.scalar(arg) {
            Some(text) => format!("&[{text}; {}]", self.count(index)),
            None => self.by_reference(arg),
        };
        if self.value(condition).lanes == value.lanes {
            return format!("simd.select(u128::from({mask}), {}, {})", whole(a), whole(b));
        }
        // A predicate for a whole packed value selects registers.
        let bits = self.bits(index) * value.lanes;
        let array = format!("[u{bits}; {WARP}]");
        let register = |arg: usize| match self.scalar(arg) {
            Some(text) => format!("[{text}; {}]", self.count(index)),
            None => self.by_value(arg),
        };
        let (a, b) = (register(a), register(b));
        let chosen = format!("simd.select(u128::from({mask}), &reinterpret::<_, {array}>({a}), &reinterpret({b}))");
        format!("reinterpret::<_, {}>({chosen})", self.array_type(index))
    }

    /// Writes an array whose elements are computed one by one.
    fn each(&self, index: usize, code: &mut Code, element: impl FnOnce(&mut Vec<String>) -> String) {
        let count = self.count(index);
        let value = self.value(index);
        let mut lets = Vec::new();
        let text = element(&mut lets);
        let (ty, text) = match value.is_predicate() {
            true => (format!("[i8; {count}]"), format!("-i8::from({text})")),
            false => (self.array_type(index), text),
        };
        code.line(format_args!("let mut v{index}: {ty} = [0; {count}];"));
        code.line("let mut i = 0;");
        code.braces(format_args!("while i < {count}"), |code| {
            lets.iter().for_each(|line| code.line(line));
            code.line(format_args!("v{index}[i] = {text};"));
            code.line("i += 1;");
        });
        if value.is_predicate() {
            let compared = self.widest(index);
            code.line(format_args!("let v{index} = simd.mask(&v{index}, {compared}) as {};", self.mask_type(index)));
        }
    }

    /// Writes the loop that computes a value in each lane.
    fn looped(&self, index: usize, code: &mut Code) {
        if let Some(text) = self.scalar(index) {
            return code.line(format_args!("let v{index} = [{text}; {}];", self.count(index)));
        }
        // A comparison runs in the width of its sources; only its outcome is widened.
        if let Op::Select(condition, a, b) = self.value(index).op
            && let (Some(a), Some(b)) = (self.scalar(a), self.scalar(b))
            && self.widest(condition) < self.bits(index)
        {
            let mut lets = Vec::new();
            let test = self.read(condition, &mut lets, &mut vec![false; self.shape.values.len()]);
            let (name, ty, bits) = (format!("v{index}"), self.array_type(index), self.widest(condition));
            let test = if lets.is_empty() { test } else { format!("{{ {} {test} }}", lets.join(" ")) };
            return code.line(format_args!(
                "let {name}: {ty} = simd.choose::<{bits}, _, {}>(|i| {test}, {a}, {b});",
                self.count(index)
            ));
        }
        let mut done = vec![false; self.shape.values.len()];
        self.each(index, code, |lets| self.compute(index, lets, &mut done));
    }

    /// Expression of a value that is uniform over lanes, as one lane.
    fn scalar(&self, index: usize) -> Option<String> {
        let value = self.value(index);
        match value.op {
            Op::Splat(param) => Some(format!("k{param}")),
            Op::Own(Own::Active) => Some("active".to_owned()),
            Op::Constant(word) if value.is_predicate() => Some((word != 0).to_string()),
            Op::Constant(word) => Some(format!("{word:#x}_u{}", self.bits(index))),
            Op::Selector(param) => match value.lane {
                Lane::Pick(pick) => Some(format!("Lanes::<{}, {}>::from_bits(k{param}.packed())", pick.lanes, pick.of)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Width of the widest lanes that the computation of a value reads.
    fn widest(&self, index: usize) -> u32 {
        let read = |arg: &usize| match self.scalar(*arg) {
            Some(_) => 0,
            None if self.whole[*arg] => self.bits(*arg),
            None => self.bits(*arg).max(self.widest(*arg)),
        };
        self.value(index).op.args().iter().map(read).max().unwrap_or(0)
    }

    /// Expression of a value in lane `i`, read from its array if it has one.
    fn read(&self, index: usize, lets: &mut Vec<String>, done: &mut Vec<bool>) -> String {
        if let Some(text) = self.scalar(index) {
            return text;
        }
        let value = self.value(index);
        let held = self.whole[index] || self.way(index) == Way::Whole;
        if held && !value.is_predicate() {
            return format!("{}[i]", self.name(index));
        }
        let name = format!("x{index}");
        if !done[index] {
            done[index] = true;
            let text = match held {
                true => format!("{} >> i & 1 != 0", self.name(index)),
                false => self.compute(index, lets, done),
            };
            lets.push(format!("let {name} = {text};"));
        }
        name
    }

    /// Expression that computes a value in lane `i`.
    fn compute(&self, index: usize, lets: &mut Vec<String>, done: &mut Vec<bool>) -> String {
        match &self.value(index).op {
            Op::Own(_) => "i as u32".to_owned(),
            Op::Reinterpret(of) => self.read(*of, lets, done),
            Op::Select(condition, a, b) => {
                let condition = self.read(*condition, lets, done);
                let (a, b) = (self.read(*a, lets, done), self.read(*b, lets, done));
                format!("either({condition}, {a}, {b})")
            }
            Op::Call { callee, args } => {
                let params = &self.model.builtins[callee.builtin.0].signature.params;
                let args: Vec<String> = args
                    .iter()
                    .zip(params)
                    .map(|(arg, param)| self.typed(&self.read(*arg, lets, done), *param, callee))
                    .collect();
                let call = format!("rt::{}({})", body(self.model, callee), args.join(", "));
                match concrete(self.model.builtins[callee.builtin.0].signature.result, callee) {
                    Some(result) => to_bits(self.model, result, &call),
                    None => call,
                }
            }
            Op::Source(_)
            | Op::Constant(_)
            | Op::Splat(_)
            | Op::Selector(_)
            | Op::Lane(..)
            | Op::Spread(_)
            | Op::Truth { .. } => unreachable!("whole values and scalars are read"),
        }
    }

    /// Converts bits to the parameter type of a builtin's body.
    fn typed(&self, text: &str, param: Param, callee: &Callee) -> String {
        match concrete(param, callee) {
            Some(id) => from_bits(self.model, self.model.ty(id).lane, text),
            None => text.to_owned(),
        }
    }
}
