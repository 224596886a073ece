//! PTX that computes a form on constants and stores what it writes.

use std::fmt::Write;

use ptx_isa::TABLE;
use ptx_isa::selector::Selector;
use ptx_isa::table::{FormInfo, Kind, Operand};

use crate::forms::plain_type;

/// How many bytes the results of one vector take.
pub(crate) const STRIDE: u64 = 16;

/// The words of a selector, as it is written behind an operand; nothing for a listed one that is left out.
fn selector(info: &Selector, value: u128) -> String {
    let word = info.kind.spell(info.letter, value as u32);
    if word.is_empty() { word } else { format!(".{word}") }
}

/// The statement of a form on registers named as its operands, with these selectors.
fn statement(form: FormInfo, selectors: &[u128]) -> String {
    let mut text = form.mnemonic().to_owned();
    let mut selectors = selectors.iter();
    for (index, operand) in form.operands().iter().enumerate() {
        let _ = write!(text, "{} ", if index == 0 { "" } else { "," });
        text.push_str(operand.around.before());
        let _ = write!(text, "%{}", operand.name);
        if let Some(second) = &operand.second {
            let _ = write!(text, "|%{}", second.name);
        }
        if let Some(info) = &operand.selector
            && let Some(value) = selectors.next()
        {
            text.push_str(&selector(info, *value));
        }
        text.push_str(operand.around.behind());
    }
    text + ";"
}

/// The plain type that holds an operand: `pred`, `b16`, `b32` or `b64`.
fn plain(operand: &Operand) -> &'static str {
    TABLE.ty(plain_type(operand)).name
}

fn is_predicate(operand: &Operand) -> bool {
    TABLE.ty(operand.ty).kind == Kind::Predicate
}

/// The registers of a form, each named as its operand.
fn declarations(form: FormInfo) -> String {
    let mut text = String::from(".reg .b32 %word<2>; ");
    for operand in form.operands() {
        let ty = plain(operand);
        let _ = write!(text, ".reg .{ty} %{}; ", operand.name);
        if let Some(second) = &operand.second {
            let _ = write!(text, ".reg .{ty} %{}; ", second.name);
        }
    }
    text
}

/// What moves the results to memory at `offset` from `%out`.
fn store(form: FormInfo, offset: u64) -> String {
    let mut text = String::new();
    for operand in form.operands().iter().filter(|operand| operand.destination) {
        let names = [Some(operand.name), operand.second.as_ref().map(|second| second.name)];
        for (number, name) in names.into_iter().flatten().enumerate() {
            let at = offset + 8 * number as u64;
            let _ = match plain(operand) {
                _ if is_predicate(operand) => {
                    writeln!(text, "selp.b32 %word{number}, 1, 0, %{name}; st.global.b32 [%out+{at}], %word{number};")
                }
                ty => writeln!(text, "st.global.{ty} [%out+{at}], %{name};"),
            };
        }
    }
    text
}

/// A kernel that computes the form on each of these vectors and stores the results one behind the other.
pub(crate) fn constants(name: &str, form: FormInfo, vectors: &[Vec<u128>]) -> String {
    let mut text =
        format!(".entry {name}(.param .u64 {name}_out) {{\n.reg .b64 %out;\nld.param.u64 %out, [{name}_out];\n");
    for (number, inputs) in vectors.iter().enumerate() {
        let _ = writeln!(text, "{{ {}", declarations(form));
        for (operand, value) in form.sources().zip(inputs) {
            let _ = match plain(operand) {
                _ if is_predicate(operand) => {
                    writeln!(text, "mov.b32 %word0, {value}; setp.ne.u32 %{}, %word0, 0;", operand.name)
                }
                ty => writeln!(text, "mov.{ty} %{}, {value:#x};", operand.name),
            };
        }
        let selectors = &inputs[form.sources().count()..];
        let _ = writeln!(text, "{}\n{}}}", statement(form, selectors), store(form, number as u64 * STRIDE));
    }
    text + "ret;\n}\n"
}

/// The runs of a kernel that [`guarded`] makes: bit 0 tells which threads run, bit 1 what keeps the others away.
pub(crate) const PHASES: std::ops::Range<u32> = 0..4;

/// What the destinations hold before.
pub(crate) const KEPT: [u64; 2] = [0x1234_5678_9abc_def1; 2];

/// Whether a thread runs the form in a phase.
pub(crate) fn runs(thread: usize, phase: u32) -> bool {
    (thread as u32 ^ phase) & 1 == 0
}

/// A kernel in which each thread computes the form on a vector that it loads, if it is its turn in this phase, and
/// stores its destinations in any case. The others are kept away by a guard, or by a branch.
pub(crate) fn guarded(name: &str, form: FormInfo, vectors: &[Vec<u128>]) -> String {
    let sources = form.sources().count();
    let mut text = format!(
        ".entry {name}(.param .u64 {name}_in, .param .u64 {name}_out, .param .u32 {name}_phase) {{
.reg .pred %active, %branch, %mine; .reg .b32 %thread, %phase, %turn; .reg .b64 %in, %out, %word_offset; {}
ld.param.u64 %in, [{name}_in]; ld.param.u64 %out, [{name}_out]; ld.param.u32 %phase, [{name}_phase];
mov.u32 %thread, %tid.x;
mul.wide.u32 %word_offset, %thread, {}; add.u64 %in, %in, %word_offset;
mul.wide.u32 %word_offset, %thread, {STRIDE}; add.u64 %out, %out, %word_offset;
xor.b32 %turn, %thread, %phase; and.b32 %turn, %turn, 1; setp.eq.u32 %active, %turn, 0;
and.b32 %turn, %phase, 2; setp.ne.u32 %branch, %turn, 0;
",
        declarations(form),
        8 * sources,
    );
    for (number, operand) in form.sources().enumerate() {
        let (at, name) = (8 * number, operand.name);
        let _ = match plain(operand) {
            _ if is_predicate(operand) => {
                writeln!(text, "ld.global.b32 %word0, [%in+{at}]; setp.ne.u32 %{name}, %word0, 0;")
            }
            ty => writeln!(text, "ld.global.{ty} %{name}, [%in+{at}];"),
        };
    }
    for operand in form.operands().iter().filter(|operand| operand.destination) {
        let names = [Some(operand.name), operand.second.as_ref().map(|second| second.name)];
        for (name, kept) in names.into_iter().flatten().zip(KEPT) {
            let _ = match TABLE.ty(plain_type(operand)).bits {
                _ if is_predicate(operand) => writeln!(text, "setp.eq.u32 %{name}, %thread, %thread;"),
                bits => writeln!(text, "mov.b{bits} %{name}, {:#x};", kept & (u64::MAX >> (64 - bits))),
            };
        }
    }
    // Selectors are part of the statement: then each vector has its own, which the other threads pass by.
    let own = form.selectors().next().is_some();
    for (number, inputs) in vectors.iter().enumerate().take(if own { vectors.len() } else { 1 }) {
        let statement = statement(form, &inputs[sources..]);
        if own {
            let _ = writeln!(text, "setp.ne.u32 %mine, %thread, {number}; @%mine bra end{number};");
        }
        let _ = writeln!(
            text,
            "@%branch bra branch{number};\n@%active {statement}\nbra end{number};\n\
             branch{number}: @!%active bra end{number};\n{statement}\nend{number}:"
        );
    }
    text + &store(form, 0) + "ret;\n}\n"
}
