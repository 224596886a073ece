//! The reader and the evaluators of `ptx-isa` behind a plain C interface, for the site's explorer.
//!
//! A page writes a request into the memory that [`request`] gives, calls [`evaluate`], and reads that many bytes from
//! where [`answer`] points: see [`reply`]. This crate knows no instruction and no page.
//!
//! The interface needs no `unsafe` but the word in the attribute that keeps a name: no pointer is followed here.

mod modifiers;
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
    let request = REQUEST.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let mut answer = ANSWER.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    *answer = reply(&String::from_utf8_lossy(&request)).into_bytes();
    answer.len()
}

/// Returns the address of the answer.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    ANSWER.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).as_ptr()
}

/// The answer to a request, as JSON.
///
/// A request has a statement or a mnemonic in its first line, a version of PTX in the second and a target in the third,
/// each empty for any, and in each further one the value of a register, `name=value`, or the word behind an operand,
/// by its place: `/1=b7654`. The answer is what `verdict::Answer` says.
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
