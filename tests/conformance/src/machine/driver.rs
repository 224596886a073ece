//! As much of NVIDIA's driver as loads PTX, runs a kernel and reads what it wrote.
#![allow(unsafe_code, reason = "the driver is a C library; every call is in this module")]

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::ptr;

use libloading::Library;

/// File name of the driver library on Linux.
const DRIVER: &str = "libcuda.so.1";

/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `…_MINOR`.
const CAPABILITY: [c_int; 2] = [75, 76];

/// The driver with a context on its first card.
pub(super) struct Card {
    library: Library,
    pub(super) name: String,
    /// The version of CUDA that the driver is for.
    pub(super) driver: String,
    /// 90 for compute capability 9.0.
    pub(super) sm: u16,
}

type Address = u64;

/// Calls a function of the driver by its name and parameter types; its result is an error unless it is zero.
macro_rules! call {
    ($library:expr, $name:ident($($value:expr => $ty:ty),* $(,)?)) => {{
        // SAFETY: the driver's header declares the function with these parameters, and every pointer that is given is to
        // memory that outlives the call and is as large as the function asks.
        unsafe {
            $library
                .get::<unsafe extern "C" fn($($ty),*) -> c_int>(concat!(stringify!($name), "\0").as_bytes())
                .map_err(|error| error.to_string())
                .and_then(|function| match function($($value),*) {
                    0 => Ok(()),
                    status => Err(format!(concat!(stringify!($name), " failed with status {}"), status)),
                })
        }
    }};
}

impl Card {
    pub(super) fn open() -> Result<Card, String> {
        // SAFETY: the driver's library runs nothing of its own when it is loaded that could break this program.
        let library = unsafe { Library::new(DRIVER) }.map_err(|error| format!("there is no driver here: {error}"))?;
        call!(library, cuInit(0 => c_uint))?;
        let (mut device, mut version, mut context): (c_int, c_int, *mut c_void) = (0, 0, ptr::null_mut());
        call!(library, cuDeviceGet(&raw mut device => *mut c_int, 0 => c_int))?;
        call!(library, cuDriverGetVersion(&raw mut version => *mut c_int))?;
        let mut name = [0u8; 256];
        call!(library, cuDeviceGetName(name.as_mut_ptr().cast() => *mut c_char, 256 => c_int, device => c_int))?;
        let mut capability: [c_int; 2] = [0; 2];
        for (value, attribute) in capability.iter_mut().zip(CAPABILITY) {
            let value = ptr::from_mut(value);
            call!(library, cuDeviceGetAttribute(value => *mut c_int, attribute => c_int, device => c_int))?;
        }
        call!(library, cuDevicePrimaryCtxRetain(&raw mut context => *mut *mut c_void, device => c_int))?;
        call!(library, cuCtxSetCurrent(context => *mut c_void))?;
        let length = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        Ok(Card {
            library,
            name: String::from_utf8_lossy(&name[..length]).into_owned(),
            driver: format!("{}.{}", version / 1000, version % 1000 / 10),
            sm: (capability[0] * 10 + capability[1]) as u16,
        })
    }

    /// Compiles a module, runs each of its kernels with one block of threads on each `(input, argument)` of its own, and
    /// gives what each run wrote.
    pub(super) fn run(
        &self,
        module: &str,
        threads: usize,
        output: usize,
        work: &[(String, Vec<u64>, Vec<u32>)],
    ) -> Result<Vec<Vec<Vec<u64>>>, String> {
        let library = &self.library;
        let text = CString::new(module).map_err(|error| error.to_string())?;
        let mut loaded: *mut c_void = ptr::null_mut();
        call!(library, cuModuleLoadData(&raw mut loaded => *mut *mut c_void, text.as_ptr().cast() => *const c_void))?;
        let results = work
            .iter()
            .map(|(name, input, arguments)| {
                let name = CString::new(name.as_str()).map_err(|error| error.to_string())?;
                let mut kernel: *mut c_void = ptr::null_mut();
                let place = &raw mut kernel;
                call!(library, cuModuleGetFunction(
                    place => *mut *mut c_void, loaded => *mut c_void, name.as_ptr() => *const c_char,
                ))?;
                arguments.iter().map(|argument| self.launch(kernel, threads, input, output, *argument)).collect()
            })
            .collect();
        call!(library, cuModuleUnload(loaded => *mut c_void))?;
        results
    }

    fn launch(
        &self,
        kernel: *mut c_void,
        threads: usize,
        input: &[u64],
        output: usize,
        mut argument: u32,
    ) -> Result<Vec<u64>, String> {
        let library = &self.library;
        let mut written = vec![0u64; output];
        let (mut from, mut to): (Address, Address) = (0, 0);
        call!(library, cuMemAlloc_v2(&raw mut from => *mut Address, size_of_val(input) => usize))?;
        call!(library, cuMemAlloc_v2(&raw mut to => *mut Address, 8 * output => usize))?;
        let source = input.as_ptr().cast();
        call!(library, cuMemcpyHtoD_v2(from => Address, source => *const c_void, size_of_val(input) => usize))?;
        call!(library, cuMemsetD8_v2(to => Address, 0 => u8, 8 * output => usize))?;
        let mut parameters: [*mut c_void; 3] =
            [(&raw mut from).cast(), (&raw mut to).cast(), (&raw mut argument).cast()];
        call!(library, cuLaunchKernel(
            kernel => *mut c_void,
            1 => c_uint, 1 => c_uint, 1 => c_uint,
            threads as c_uint => c_uint, 1 => c_uint, 1 => c_uint,
            0 => c_uint, ptr::null_mut() => *mut c_void,
            parameters.as_mut_ptr() => *mut *mut c_void, ptr::null_mut() => *mut *mut c_void,
        ))?;
        call!(library, cuCtxSynchronize())?;
        let target = written.as_mut_ptr().cast();
        call!(library, cuMemcpyDtoH_v2(target => *mut c_void, to => Address, 8 * output => usize))?;
        call!(library, cuMemFree_v2(from => Address))?;
        call!(library, cuMemFree_v2(to => Address))?;
        Ok(written)
    }
}
