//! Typed functions: the computation of a form for one thread on the newest targets, with Rust types.

use isa_table::names::{self, snake};

use super::Context;
use super::api::HIDDEN;
use super::code::Code;
use super::columns::{floor_words, pseudo_code};
use super::rust::{atom, body, from_bits, is_atom, lane_type, storage, to_bits};
use crate::check::Form;
use crate::model::{Entry, Kind, Model, Param, Pattern, SelectorKind, TypeId};
use crate::plan::each_lane;
use crate::program::{Callee, Op, Program, Ty, Value};

/// Writes the module with a function for each form.
pub(super) fn emit_module(cx: &Context<'_>, code: &mut Code) {
    code.docs(
        "A function for each form with an evaluator, named by its mnemonic: it computes what one thread computes on\n\
         the newest targets. Sources come in the order of writing, then the selectors behind operands; a predicate\n\
         is the operand's value with its `!` applied.\n\n\
         Of each syntax line the first is shown here; the others are named alike, as `ptx-isa explain` tells of any.",
    );
    code.braces("pub mod scalar", |code| {
        code.line("#![allow(unused_imports, reason = \"a table need not use every kind of body\")]");
        code.line(format_args!("use {} as rt;", cx.bodies));
        let mut line = None;
        for form in cx.checked.forms.iter().filter(|form| cx.checked.by_thread(form)) {
            code.blank();
            let own = (form.opcode, form.entry, form.syntax);
            if line.replace(own) == Some(own) {
                code.line(HIDDEN);
            }
            emit(cx, form, &names::function(&form.name), code);
        }
    });
}

/// Writes a call of `functions!` that lists the functions of the module.
pub(super) fn emit_catalog(cx: &Context<'_>, code: &mut Code) {
    code.braces("functions!", |code| {
        for form in cx.checked.forms.iter().filter(|form| cx.checked.by_thread(form)) {
            let params = vec!["_"; Typed::new(cx, form).params().len()].join(", ");
            code.line(format_args!("{:?} {}({params});", form.name, names::function(&form.name)));
        }
    });
}

/// Writes the function of one form. The path `rt` leads to the bodies.
pub(super) fn emit(cx: &Context<'_>, form: &Form, name: &str, code: &mut Code) {
    let newest = form.programs.last().expect("the form has an evaluator");
    Typed::new(cx, form).function(name, &cx.checked.programs[newest.program], code);
}

struct Typed<'a> {
    cx: &'a Context<'a>,
    form: &'a Form,
    entry: &'a Entry,
    patterns: &'a [Pattern],
}

impl<'a> Typed<'a> {
    fn new(cx: &'a Context<'a>, form: &'a Form) -> Typed<'a> {
        let entry = &cx.checked.model.opcodes[form.opcode].entries[form.entry];
        Typed { cx, form, entry, patterns: &form.patterns }
    }

    fn model(&self) -> &'a Model {
        &self.cx.checked.model
    }

    fn operand_type(&self, operand: usize) -> TypeId {
        let opcode = &self.model().opcodes[self.form.opcode];
        let ty = opcode.operand_type(self.model(), &self.entry.operands[operand], &self.form.choice);
        ty.expect("checked: operands have types")
    }

    /// Sources in order of writing, then selectors: name and semantic type.
    fn params(&self) -> Vec<(String, Ty)> {
        let sources = self.patterns.iter().filter(|pattern| !pattern.destination).map(|pattern| {
            let ty = self.model().ty(self.operand_type(pattern.operand));
            (snake(&self.entry.operands[pattern.operand].name), Ty::Lanes { lane: ty.lane, lanes: ty.lanes })
        });
        let selectors = self.patterns.iter().filter_map(|pattern| pattern.selector.as_ref()).map(|selector| {
            let ty = match (selector.pick, &selector.spelling.kind) {
                (Some(pick), _) => Ty::Pick(pick),
                (None, SelectorKind::Subset { of }) => {
                    Ty::Lanes { lane: self.model().predicate().expect("checked"), lanes: u32::from(*of) }
                }
                (None, _) => unreachable!("checked: other selectors pick"),
            };
            (snake(&selector.spelling.name), ty)
        });
        sources.chain(selectors).collect()
    }

    fn is_mask(&self, ty: Ty) -> bool {
        ty.lanes() > 1 && ty.is_predicate(self.model())
    }

    /// Width of a packed value whose lanes are parts of a byte, which a function takes and returns as one integer.
    fn word_of_parts(&self, ty: Ty) -> Option<u32> {
        let bits = ty.bits(self.model()).filter(|bits| *bits < 8 && ty.lanes() > 1 && !self.is_mask(ty))?;
        Some(storage(bits * ty.lanes()))
    }

    /// Type in the function's signature.
    fn rust_type(&self, ty: Ty) -> String {
        match ty {
            Ty::Pick(pick) => format!("{}::selector::Lanes<{}, {}>", self.cx.support, pick.lanes, pick.of),
            ty if self.is_mask(ty) => format!("{}::selector::Subset<{}>", self.cx.support, ty.lanes()),
            Ty::Lanes { lane, lanes: 1 } => lane_type(self.model(), lane),
            Ty::Lanes { lane, lanes } => match self.word_of_parts(ty) {
                Some(bits) => format!("u{bits}"),
                None => format!("[{}; {lanes}]", lane_type(self.model(), lane)),
            },
        }
    }

    fn function(&self, name: &str, program: &Program, code: &mut Code) {
        let params = self.params();
        let list: Vec<String> = params.iter().map(|(name, ty)| format!("{name}: {}", self.rust_type(*ty))).collect();
        let results = program.outputs.iter().map(|output| self.rust_type(program.value(*output).ty));
        let result = tuple(results.collect());
        self.docs(code);
        code.line("#[inline]");
        code.line("#[must_use]");
        code.line("#[allow(unused_variables, reason = \"a form need not use every operand\")]");
        code.braces(format_args!("pub const fn {name}({}) -> {result}", list.join(", ")), |code| {
            // Typed lane predicates are passed as a mask.
            for (name, _) in params.iter().filter(|(_, ty)| self.is_mask(*ty)) {
                code.line(format_args!("let {name} = {name}.lanes();"));
            }
            for (name, ty) in params.iter().filter(|(_, ty)| self.word_of_parts(*ty).is_some()) {
                code.line(format_args!("let {name} = {};", self.split(name, *ty)));
            }
            let mut outputs = self.body(program, code);
            for (number, (text, output)) in outputs.iter_mut().zip(&program.outputs).enumerate() {
                let ty = program.value(*output).ty;
                if self.word_of_parts(ty).is_some() {
                    code.line(format_args!("let lanes{number} = {text};"));
                    *text = self.join(&format!("lanes{number}"), ty);
                }
            }
            code.line(tuple(outputs));
        });
    }

    fn docs(&self, code: &mut Code) {
        let form = self.form;
        let syntax = &self.entry.syntaxes[form.syntax];
        let operands = syntax.text.split_once(' ').map_or("", |(_, operands)| operands);
        let summary = self.entry.docs.split("\n\n").next().unwrap_or_default();
        let (section, floor, place) = (&self.entry.section, floor_words(form), self.cx.place(syntax.span));
        let named = self.patterns.iter().flat_map(|pattern| {
            std::iter::once(pattern.operand).chain(pattern.second.as_ref().map(|(second, _)| *second))
        });
        let types = named.map(|operand| {
            let ty = self.model().ty(self.operand_type(operand));
            format!("`{}: .{}`", self.entry.operands[operand].name, ty.name)
        });
        let types = types.collect::<Vec<_>>().join(", ");
        let pseudo_code = pseudo_code(self.cx, form, u16::MAX).join("\n");
        code.docs(&format!(
            "`{} {operands};`\n\n{summary}\n\n{types}.\n\nSection {section}; {floor}; `{place}`.\n\n```text\n{pseudo_code}\n```",
            form.mnemonic
        ));
    }

    /// Writes the statements; returns an expression for each output.
    fn body(&self, program: &Program, code: &mut Code) -> Vec<String> {
        let mut uses = vec![0; program.values.len()];
        for id in program.values.iter().flat_map(|value| value.op.args()).chain(program.outputs.iter().copied()) {
            uses[id.0] += 1;
        }
        let params = self.params();
        let mut texts: Vec<String> = Vec::new();
        for (index, value) in program.values.iter().enumerate() {
            let text = self.value(program, value, &texts);
            // A value that is used once is inlined, unless it is indexed.
            let once = uses[index] == 1 && value.ty.lanes() == 1 && !matches!(value.op, Op::Select(..));
            let output = uses[index] == 1 && program.outputs.iter().any(|output| output.0 == index);
            if once || output || text.chars().all(|letter| letter.is_alphanumeric() || letter == '_') {
                texts.push(text);
                continue;
            }
            let mut name = format!("v{index}");
            while params.iter().any(|(param, _)| *param == name) {
                name.push('_');
            }
            code.line(format_args!("let {name} = {text};"));
            texts.push(name);
        }
        program.outputs.iter().map(|output| texts[output.0].clone()).collect()
    }

    fn value(&self, program: &Program, value: &Value, texts: &[String]) -> String {
        let model = self.model();
        let text = |id: &crate::program::ValueId| texts[id.0].as_str();
        let each =
            |lanes: u32, of: &dyn Fn(u32) -> String| format!("[{}]", (0..lanes).map(of).collect::<Vec<_>>().join(", "));
        match &value.op {
            Op::Source(place) => snake(&self.entry.operands[self.patterns[*place].operand].name),
            Op::Selector(place) => {
                let selector = self.patterns[*place].selector.as_ref().expect("lowered from it");
                snake(&selector.spelling.name)
            }
            Op::Constant(bits) => self.constant(*bits, value.ty),
            Op::Own(_) | Op::Splat(_) | Op::Truth { .. } => unreachable!("functions are of one thread and one form"),
            Op::Lane(inner, lane) => format!("{}[{lane}]", atom(text(inner))),
            Op::Spread(inner) => format!("[{}; {}]", text(inner), value.ty.lanes()),
            Op::Reinterpret(inner) => self.reinterpret(text(inner), program.value(*inner).ty, value.ty),
            Op::Select(condition, a, b) => {
                let choose = |c: &str, a: &str, b: &str| format!("if {c} {{ {a} }} else {{ {b} }}");
                let (c, a, b) = (text(condition), text(a), text(b));
                match program.value(*condition).ty.lanes() {
                    1 => choose(c, a, b),
                    lanes => each(lanes, &|i| {
                        choose(&format!("{}[{i}]", atom(c)), &format!("{}[{i}]", atom(a)), &format!("{}[{i}]", atom(b)))
                    }),
                }
            }
            Op::Call { callee, args } => {
                let name = body(model, callee);
                let params = &model.builtins[callee.builtin.0].signature.params;
                let lane_by_lane = each_lane(model, callee.builtin);
                let lanes = args.iter().map(|arg| program.value(*arg).ty.lanes()).max().unwrap_or(1);
                let call = |index: Option<u32>| {
                    let args = args.iter().zip(params).map(|(arg, param)| {
                        let one = match index {
                            Some(index) if program.value(*arg).ty.lanes() > 1 => {
                                format!("{}[{index}]", atom(text(arg)))
                            }
                            _ => text(arg).to_owned(),
                        };
                        let given = program.value(*arg).ty;
                        self.as_body_takes(one, given, *param, callee.ty)
                    });
                    let call = format!("rt::{name}({})", args.collect::<Vec<_>>().join(", "));
                    self.as_lane(call, callee, value.ty)
                };
                if lane_by_lane && lanes > 1 { each(lanes, &|index| call(Some(index))) } else { call(None) }
            }
        }
    }

    /// Converts an argument to the parameter type of a builtin's body; bodies for bits also serve integers.
    fn as_body_takes(&self, text: String, given: Ty, param: Param, ty: Option<TypeId>) -> String {
        let (Param::Generic, Some(ty), Ty::Lanes { lane, lanes: _ }) = (param, ty, given) else { return text };
        let model = self.model();
        let cast = model.ty(ty).kind == Kind::Bits && model.ty(lane).kind == Kind::Signed;
        if cast { to_bits(model, lane, &atom(&text)) } else { text }
    }

    /// Converts the result of a builtin's body to the type of the value.
    fn as_lane(&self, text: String, callee: &Callee, wanted: Ty) -> String {
        let (Some(ty), Ty::Lanes { lane, lanes: _ }) = (callee.ty, wanted) else { return text };
        let model = self.model();
        let generic = model.builtins[callee.builtin.0].signature.result == Param::Generic;
        let cast = generic && model.ty(ty).kind == Kind::Bits && model.ty(lane).kind == Kind::Signed;
        if cast { from_bits(model, lane, &text) } else { text }
    }

    fn constant(&self, bits: u64, ty: Ty) -> String {
        let Ty::Lanes { lane, lanes } = ty else { unreachable!("a selector is never a constant") };
        let found = self.model().ty(lane);
        let one = match found.kind {
            Kind::Predicate => (bits != 0).to_string(),
            Kind::Float => format!("{}::from_bits({bits:#x})", lane_type(self.model(), lane)),
            Kind::Signed => {
                let shift = 64 - found.bits.min(64);
                format!("{}i{}", (bits << shift) as i64 >> shift, found.bits)
            }
            Kind::Bits | Kind::Unsigned | Kind::Packed | Kind::Minifloat if bits > 9 => {
                format!("{bits:#x}u{}", storage(found.bits))
            }
            Kind::Bits | Kind::Unsigned | Kind::Packed | Kind::Minifloat => format!("{bits}u{}", storage(found.bits)),
        };
        if lanes == 1 { one } else { format!("[{one}; {lanes}]") }
    }

    /// Reinterprets bits as another type.
    fn reinterpret(&self, value: &str, from: Ty, to: Ty) -> String {
        let model = self.model();
        let (Ty::Lanes { lane: a, lanes: n }, Ty::Lanes { lane: b, lanes: m }) = (from, to) else {
            unreachable!("checked: selectors are not read as bits")
        };
        let value = atom(value);
        if n == m {
            let one = |value: &str| from_bits(model, b, &to_bits(model, a, value));
            return match n {
                1 => one(&value),
                _ => format!("[{}]", (0..n).map(|i| one(&format!("{value}[{i}]"))).collect::<Vec<_>>().join(", ")),
            };
        }
        // Via the word that holds all lanes.
        let word = self.join(&value, from);
        if m == 1 {
            return match model.ty(b).kind {
                Kind::Bits | Kind::Unsigned | Kind::Packed => word,
                _ => from_bits(model, b, &atom(&word)),
            };
        }
        self.split(&atom(&word), to)
    }

    /// The integer that holds all lanes of a value.
    fn join(&self, value: &str, ty: Ty) -> String {
        let model = self.model();
        let Ty::Lanes { lane, lanes } = ty else { unreachable!("checked: selectors are not read as bits") };
        if lanes == 1 {
            return to_bits(model, lane, value);
        }
        let bits = model.ty(lane).lane_bits();
        let word = format!("u{}", storage(bits * lanes));
        let parts = (0..lanes).map(|i| {
            let one = to_bits(model, lane, &format!("{value}[{i}]"));
            let one = if lane_type(model, lane) == word { one } else { format!("{one} as {word}") };
            if i == 0 { one } else { format!("{} << {}", atom(&one), i * bits) }
        });
        parts.collect::<Vec<_>>().join(" | ")
    }

    /// The lanes of a value, given the integer that holds them.
    fn split(&self, word: &str, ty: Ty) -> String {
        let model = self.model();
        let Ty::Lanes { lane, lanes } = ty else { unreachable!("checked: selectors are not read as bits") };
        let bits = model.ty(lane).lane_bits();
        let (whole, own) = (storage(bits * lanes), storage(bits));
        let lanes = (0..lanes).map(|i| {
            let shifted = if i == 0 { word.to_owned() } else { format!("({word} >> {})", i * bits) };
            let cut = if own == bits { shifted } else { format!("{shifted} & {:#x}", (1_u32 << bits) - 1) };
            let cut = if own == whole { cut } else { format!("{} as u{own}", atom(&cut)) };
            from_bits(model, lane, &if is_atom(&cut) || to_is_plain(model, lane) { cut } else { format!("({cut})") })
        });
        format!("[{}]", lanes.collect::<Vec<_>>().join(", "))
    }
}

/// Returns true if a lane is represented by the unsigned integer of its bits.
fn to_is_plain(model: &Model, lane: TypeId) -> bool {
    !matches!(model.ty(lane).kind, Kind::Signed | Kind::Predicate)
}

/// A single item as it is, several as a tuple.
fn tuple(mut items: Vec<String>) -> String {
    if items.len() == 1 { items.remove(0) } else { format!("({})", items.join(", ")) }
}
