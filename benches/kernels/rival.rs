//! The rivals in C, compiled when the bench starts.

use std::ffi::{CString, c_void};
use std::path::Path;
use std::process::Command;

use super::Value;
use super::cases::Case;

/// A shared library of the rivals.
pub(crate) struct Library {
    handle: *mut c_void,
    pub compiler: &'static str,
}

/// A function of up to seven arguments; those of type `float` go apart from the others.
type Function = unsafe extern "C" fn(usize, usize, usize, usize, usize, usize, f32);

impl Library {
    /// Compiles `rivals.c`; `None` without a compiler.
    pub(crate) fn compile() -> Option<Library> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/kernels/rivals.c");
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rivals.so");
        for (compiler, more) in [("clang", &["-fveclib=libmvec"][..]), ("cc", &[])] {
            let mut command = Command::new(compiler);
            command.args(["-O3", "-march=native", "-fno-math-errno", "-shared", "-fPIC"]).args(more);
            command.arg("-o").arg(&out).arg(&source).arg("-lm");
            if command.status().is_ok_and(|status| status.success()) {
                let path = CString::new(out.to_str()?).ok()?;
                // SAFETY: the library was just made, and has no code that runs when it is loaded.
                let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW) };
                return (!handle.is_null()).then_some(Library { handle, compiler });
            }
        }
        None
    }

    /// Calls the rival of a case on its own buffers.
    pub(crate) fn run(&self, case: &Case, buffers: &mut [Vec<u8>]) {
        for (bytes, buffer) in buffers.iter_mut().zip(&case.buffers) {
            if buffer.cleared {
                bytes.copy_from_slice(&buffer.bytes);
            }
        }
        let (mut words, mut float) = ([0; 6], 0.0);
        let mut next = words.iter_mut();
        for value in &case.rival {
            let word = match value {
                Value::Buffer(number) => buffers[*number].as_mut_ptr() as usize,
                Value::Int(value) => *value as usize,
                Value::Float(value) => {
                    float = *value;
                    continue;
                }
            };
            *next.next().expect("up to six") = word;
        }
        let name = CString::new(case.name).expect("no zero");
        // SAFETY: each case says which arguments its rival takes: integers and pointers, and one float, go in registers of their own, and those
        // that a function does not take are not looked at. The buffers are as long as the numbers say.
        unsafe {
            let function = libc::dlsym(self.handle, name.as_ptr());
            assert!(!function.is_null(), "no rival {}", case.name);
            let function = std::mem::transmute::<*mut c_void, Function>(function);
            let [a, b, c, d, e, f] = words;
            function(a, b, c, d, e, f, float);
        }
    }
}
