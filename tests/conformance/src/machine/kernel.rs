//! PTX that computes a form on constants and stores what it writes.

use std::fmt::Write;

use ptx_isa::TABLE;
use ptx_isa::selector::Selector;
use ptx_isa::table::{FormInfo, Kind, Operand, TypeId};

use crate::forms::plain_type;

/// Size in bytes of one vector's results in kernels for a GPU.
pub(crate) const STRIDE: u64 = 16;

/// Size in bytes of each result and each input of a vector in all other kernels.
pub(crate) const EACH: u64 = 8;

/// Address of the inputs of [`loaded`], beyond everything that it stores.
pub(crate) const INPUTS: u64 = 0x1000;

/// Second operand of the `add.cc` that sets the carry flag: the carry out is 1 unless the first operand is 0.
const ONES: &str = "0xffffffff";

/// Returns the selector written after an operand; empty if a listed selector is omitted.
fn selector(info: &Selector, value: u128) -> String {
    let word = info.kind.spell(info.letter, value as u32);
    if word.is_empty() { word } else { format!(".{word}") }
}

/// Returns true if an operand must be an immediate.
fn is_immediate(operand: &Operand) -> bool {
    operand.registers.is_empty()
}

/// Returns true if each vector needs a statement of its own because it has selectors or immediates.
pub(crate) fn is_written_out(form: FormInfo) -> bool {
    form.selectors().next().is_some() || form.operands().iter().any(is_immediate)
}

/// Returns the statement of a form, with registers named after its operands. Only the first `sources` sources are
/// written; immediates and selectors are taken from `inputs`.
fn statement(form: FormInfo, sources: usize, inputs: &[u128]) -> String {
    let (sources, selectors) = inputs.split_at(sources);
    let (mut sources, mut selectors) = (sources.iter(), selectors.iter());
    let mut text = form.mnemonic().to_owned();
    for (index, operand) in form.operands().iter().enumerate() {
        let word = if operand.destination { None } else { sources.next() };
        if !operand.destination && word.is_none() {
            break;
        }
        let _ = write!(text, "{} ", if index == 0 { "" } else { "," });
        text.push_str(operand.around.before());
        let _ = match word {
            Some(word) if is_immediate(operand) => write!(text, "{word}"),
            _ => write!(text, "%{}", operand.name),
        };
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

fn is_predicate_type(ty: TypeId) -> bool {
    TABLE.ty(ty).kind == Kind::Predicate
}

fn is_predicate(operand: &Operand) -> bool {
    is_predicate_type(operand.ty)
}

/// The registers of a form, each named as its operand.
fn declarations(form: FormInfo) -> String {
    let mut text = String::from(".reg .b32 %word<2>; ");
    for operand in form.operands().iter().filter(|operand| !is_immediate(operand)) {
        let ty = plain(operand);
        let _ = write!(text, ".reg .{ty} %{}; ", operand.name);
        if let Some(second) = &operand.second {
            let ty = if is_predicate_type(second.ty) { "pred" } else { ty };
            let _ = write!(text, ".reg .{ty} %{}; ", second.name);
        }
    }
    text
}

/// Returns the code that stores the results to memory at `offset` from `%out`.
fn store(form: FormInfo, offset: u64) -> String {
    let mut text = String::new();
    let mut at = offset;
    for operand in form.operands().iter().chain(form.states()).filter(|operand| operand.destination) {
        let names = [Some((operand.name, operand.ty)), operand.second.as_ref().map(|second| (second.name, second.ty))];
        for (number, (name, ty)) in names.into_iter().flatten().enumerate() {
            let _ = match plain(operand) {
                _ if operand.state.is_some() => {
                    writeln!(text, "addc.u32 %word0, 0, 0; st.global.b32 [%out+{at}], %word0;")
                }
                _ if is_predicate_type(ty) => {
                    writeln!(text, "selp.b32 %word{number}, 1, 0, %{name}; st.global.b32 [%out+{at}], %word{number};")
                }
                ty => writeln!(text, "st.global.{ty} [%out+{at}], %{name};"),
            };
            at += EACH;
        }
    }
    text
}

/// Returns the code that sets a source. `moved` is the move or load instruction; its operand is the placeholder
/// `MOVED`, which the caller replaces.
fn give(operand: &Operand, moved: &str) -> String {
    match plain(operand) {
        // The carry of a sum.
        _ if operand.state.is_some() => format!("{moved} %word0, MOVED; add.cc.u32 %word1, %word0, {ONES};\n"),
        _ if is_predicate(operand) => format!("{moved} %word0, MOVED; setp.ne.u32 %{}, %word0, 0;\n", operand.name),
        _ => format!("{moved} %{}, MOVED;\n", operand.name),
    }
}

/// The bits in which an operand is moved.
fn moved_bits(operand: &Operand) -> &'static str {
    if is_predicate(operand) { "b32" } else { plain(operand) }
}

/// The head of a kernel that stores what it computes at its parameter.
fn head(name: &str) -> String {
    format!(".entry {name}(.param .u64 {name}_out) {{\n.reg .b64 %out;\nld.param.u64 %out, [{name}_out];\n")
}

/// Returns a kernel that computes the form on constant vectors, with its first `sources` sources, and stores the
/// results one after the other.
pub(crate) fn constants(name: &str, form: FormInfo, sources: usize, vectors: &[Vec<u128>]) -> String {
    let mut text = head(name);
    for (number, inputs) in vectors.iter().enumerate() {
        let _ = writeln!(text, "{{ {}", declarations(form));
        let given = form.sources().zip(&inputs[..sources]).filter(|(operand, _)| !is_immediate(operand));
        for (operand, value) in given {
            let moved = give(operand, &format!("mov.{}", moved_bits(operand)));
            text += &moved.replace("MOVED", &format!("{value:#x}"));
        }
        let at = number as u64 * EACH * form.results().count() as u64;
        let _ = writeln!(text, "{}\n{}}}", statement(form, sources, inputs), store(form, at));
    }
    text + "ret;\n}\n"
}

/// Returns a kernel that computes the form on a loaded vector, so that the optimizer cannot fold it.
pub(crate) fn loaded(name: &str, form: FormInfo, sources: usize, inputs: &[u128]) -> String {
    let mut text = head(name) + &declarations(form);
    let given = form.sources().take(sources).enumerate().filter(|(_, operand)| !is_immediate(operand));
    for (number, operand) in given {
        let moved = give(operand, &format!("ld.global.{}", moved_bits(operand)));
        text += &moved.replace("MOVED", &format!("[%out+{}]", INPUTS + EACH * number as u64));
    }
    let _ = writeln!(text, "{}\n{}", statement(form, sources, inputs), store(form, 0));
    text + "ret;\n}\n"
}

/// The runs of a kernel from [`guarded`]: bit 0 selects the active threads, bit 1 how the others are disabled.
pub(crate) const PHASES: std::ops::Range<u32> = 0..4;

/// Contents of the destinations before the form runs.
pub(crate) const KEPT: [u64; 2] = [0x1234_5678_9abc_def1; 2];

/// Returns true if a thread runs the form in a phase.
pub(crate) fn runs(thread: usize, phase: u32) -> bool {
    (thread as u32 ^ phase) & 1 == 0
}

/// Returns a kernel in which each thread loads a vector, computes the form on it if the thread is active in this phase,
/// and stores its destinations in any case. Inactive threads are disabled by a guard, or by a branch.
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
    for (number, operand) in form.sources().enumerate().filter(|(_, operand)| !is_immediate(operand)) {
        let (at, name) = (8 * number, operand.name);
        let _ = match plain(operand) {
            _ if is_predicate(operand) => {
                writeln!(text, "ld.global.b32 %word0, [%in+{at}]; setp.ne.u32 %{name}, %word0, 0;")
            }
            ty => writeln!(text, "ld.global.{ty} %{name}, [%in+{at}];"),
        };
    }
    for operand in form.operands().iter().filter(|operand| operand.destination) {
        let names = [Some((operand.name, operand.ty)), operand.second.as_ref().map(|second| (second.name, second.ty))];
        for ((name, ty), kept) in names.into_iter().flatten().zip(KEPT) {
            let _ = match TABLE.ty(plain_type(operand)).bits {
                _ if is_predicate_type(ty) => writeln!(text, "setp.eq.u32 %{name}, %thread, %thread;"),
                bits => writeln!(text, "mov.b{bits} %{name}, {:#x};", kept & (u64::MAX >> (64 - bits))),
            };
        }
    }
    // If each vector has a statement of its own, the other threads branch around it.
    let own = is_written_out(form);
    for (number, inputs) in vectors.iter().enumerate().take(if own { vectors.len() } else { 1 }) {
        let statement = statement(form, sources, inputs);
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
