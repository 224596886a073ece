//! The evaluators of `ptx-isa` behind a plain C interface, for the site's evaluator.
//!
//! A page writes a request into the memory that [`request`] gives, calls [`evaluate`], and reads that many bytes from
//! where [`answer`] points. Both are text: see [`reply`]. This crate knows no instruction and no page.
//!
//! The interface needs no `unsafe` but the word in the attribute that keeps a name: no pointer is followed here.

use std::sync::Mutex;

use ptx_isa::TABLE;
use ptx_isa::reference::REFERENCE;
use ptx_isa::table::TypeInfo;
use ptx_isa::text::Statement;
use ptx_isa::text::statement::Value;
use ptx_isa::value;

static REQUEST: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static ANSWER: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Room for a request of so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn request(length: usize) -> *mut u8 {
    let mut request = REQUEST.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    request.clear();
    request.resize(length, 0);
    request.as_mut_ptr()
}

/// Answers the request; gives the length of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn evaluate() -> usize {
    let request = REQUEST.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut answer = ANSWER.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    *answer = reply(&String::from_utf8_lossy(&request)).into_bytes();
    answer.len()
}

/// Where the answer stands.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    ANSWER.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).as_ptr()
}

/// The answer to a request.
///
/// A request has a statement in its first line, an SM number in the second (none for the newest target), and the value
/// of a source operand in each further one. Each line of the answer has fields parted by tabs:
///
/// | fields | |
/// |---|---|
/// | `error`, message | the statement is wrong |
/// | `wrong`, source, message | the value of the source with this number is |
/// | `in`, source, value, lanes… | what a source holds; lanes for packed types |
/// | `step`, line of pseudo-code, lanes… | what the line computes, lane 0 first |
/// | `out`, name, value, lanes… | what a destination receives |
///
/// ```
/// let answer = ptx_isa_wasm::reply("setp.lt.s32 p|q, a, b;\n\n5\n-3");
/// assert!(answer.ends_with("step\tp = t;\t0\nstep\tq = !t;\t1\nout\tp\t0\nout\tq\t1\n"), "{answer}");
/// ```
pub fn reply(request: &str) -> String {
    let mut lines = request.split('\n');
    let statement = match Statement::parse(&TABLE, lines.next().unwrap_or_default()) {
        Ok(statement) => statement,
        Err(error) => return format!("error\t{}\n", error.message),
    };
    let form = statement.form();
    if form.is_collective() {
        return format!("error\t`{}` computes with other threads of the warp\n", form.mnemonic());
    }
    if let Some(state) = form.states().first() {
        return format!("error\t`{}` hands `{}` on, for which there is no place here\n", form.mnemonic(), state.name);
    }
    if !form.has_evaluator() {
        return format!("error\t`{}` is in the table without semantics\n", form.mnemonic());
    }
    let sm = lines.next().and_then(|sm| sm.parse().ok()).unwrap_or(u16::MAX);
    let (mut answer, mut wrong, mut words) = (String::new(), String::new(), Vec::new());
    let sources = statement.operands_with_info().filter(|(info, operand)| {
        // Operands at the end may be left out.
        !info.destination && operand.value != Value::Absent
    });
    for (index, (operand, _)) in sources.enumerate() {
        let ty = TABLE.ty(operand.ty);
        match value::parse(lines.next().unwrap_or_default().trim(), ty) {
            Ok(bits) => {
                words.push(bits);
                answer += &format!("in\t{index}\t{}{}\n", value::show(bits, ty), lanes(bits, ty));
            }
            Err(message) => wrong += &format!("wrong\t{index}\t{message}\n"),
        }
    }
    if !wrong.is_empty() {
        return wrong;
    }
    words.extend(statement.operands().iter().filter_map(|operand| operand.selector).map(u128::from));
    for computed in REFERENCE.trace(form, sm, &words) {
        let ty = TABLE.ty(computed.step.ty);
        let lanes: String = computed.lanes.iter().map(|lane| format!("\t{}", value::show(*lane, ty))).collect();
        answer += &format!("step\t{}{lanes}\n", computed.line);
    }
    let results = form.evaluate(sm, &words);
    for ((name, ty), bits) in form.results().zip(results.iter()) {
        let ty = TABLE.ty(ty);
        answer += &format!("out\t{name}\t{}{}\n", value::show(*bits, ty), lanes(*bits, ty));
    }
    answer
}

/// The lanes of a packed value.
fn lanes(bits: u128, ty: &TypeInfo) -> String {
    if ty.lanes < 2 {
        return String::new();
    }
    let lane = TABLE.ty(ty.lane);
    let mask = u128::MAX >> (128 - u32::from(lane.bits));
    let shown = (0..u32::from(ty.lanes)).map(|i| value::show(bits >> (i * u32::from(lane.bits)) & mask, lane));
    shown.map(|lane| format!("\t{lane}")).collect()
}
