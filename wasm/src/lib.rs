//! The reader and the evaluators of `ptx-isa` behind a plain C interface, for the site's explorer.
//!
//! A page writes a request into the memory that [`request`] gives, calls [`evaluate`], and reads that many bytes from
//! where [`answer`] points: see [`reply`]. This crate knows no instruction and no page.
//!
//! The interface needs no `unsafe` but the word in the attribute that keeps a name: no pointer is followed here.

mod modifiers;
mod pictures;
mod playground;
mod values;
mod verdict;

use std::sync::Mutex;

use ptx_isa::TABLE;
use ptx_isa::target::{Floor, Target, Version};

static REQUEST: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static ANSWER: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Allocates the request buffer with this many bytes and returns its address.
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
    answer_with(reply)
}

fn answer_with(reply: fn(&str) -> String) -> usize {
    let request = REQUEST.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut answer = ANSWER.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    *answer = reply(&String::from_utf8_lossy(&request)).into_bytes();
    answer.len()
}

/// Answers a request about a whole module; gives the length of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn judge() -> usize {
    answer_with(module)
}

/// Returns the address of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    ANSWER.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).as_ptr()
}

/// The answer to a request, as JSON.
///
/// A request has a statement or a mnemonic in its first line, a version of PTX in the second and a target in the third,
/// each empty for any, and in each further one the value of a register, `name=value`, the word behind an operand, by its
/// place: `/1=b7654`, or an example, `=statement`, whose constants are sample values. The answer is what
/// `verdict::Answer` says.
///
/// ```
/// let answer = ptx_isa_wasm::reply("setp.lt.s32 p|q, a, b;\n7.0\nsm_80\na=5\nb=-3");
/// assert!(answer.contains(r#""verdict":"legal""#), "{answer}");
/// assert!(answer.contains(r#"{"name":"q","value":"1"#), "{answer}");
/// ```
pub fn reply(request: &str) -> String {
    let mut lines = request.split('\n');
    let text = lines.next().unwrap_or_default();
    let machine = Machine {
        ptx: lines.next().and_then(|version| version.parse().ok()),
        target: lines.next().and_then(|target| target.parse().ok()),
    };
    let given: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once('=')).collect();
    serde_json::to_string(&verdict::Answer::to(text, machine, &given)).unwrap_or_default()
}

/// The answer to a request about a whole module, both as JSON; `playground::Request` and `playground::Answer` say what they
/// have.
///
/// ```
/// let text = ".version 8.0 .target sm_80 .address_size 64
///     .entry k(.param .u64 x) { .reg .b64 %rd<2>; ld.param.u64 %rd1, [x]; st.global.u32 [%rd1], 7; ret; }";
/// let launch = r#"{"kernel": "k", "blocks": [1, 1, 1], "threads": [1, 1, 1], "arguments": ["zeros:u32[2]"]}"#;
/// let answer = ptx_isa_wasm::module(&format!(r#"{{"text": {text:?}, "launch": {launch}}}"#));
/// assert!(answer.contains(r#""findings":[]"#) && answer.contains(r#""values":["7","0"]"#), "{answer}");
/// ```
pub fn module(request: &str) -> String {
    match serde_json::from_str(request) {
        Ok(request) => serde_json::to_string(&playground::Answer::to(&request)).unwrap_or_default(),
        Err(error) => serde_json::json!({ "malformed": error.to_string() }).to_string(),
    }
}

/// The PTX version and target of a request; `None` means any.
#[derive(Clone, Copy)]
struct Machine {
    ptx: Option<Version>,
    target: Option<Target>,
}

impl Machine {
    /// Returns true if the version and target meet a floor.
    fn has(self, floor: &Floor) -> bool {
        TABLE.has(floor, self.ptx, self.target)
    }
}
