//! As much of NVIDIA's driver as loads code, launches a kernel and reads what it wrote.
#![allow(unsafe_code, reason = "the driver is a C library; every call is in this module")]

use std::ffi::{CString, c_char, c_int, c_uint, c_void};
use std::ptr;
use std::thread;
use std::time::{Duration, Instant};

use libloading::Library;

/// File name of the driver library on Linux.
const DRIVER: &str = "libcuda.so.1";

/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `…_MINOR`.
const CAPABILITY: [c_int; 2] = [75, 76];

/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
const DYNAMIC_SHARED: c_int = 8;

/// `CU_LIMIT_STACK_SIZE`, and the bytes of a thread's stack, as in the runner.
const STACK: (c_int, usize) = (0, 1 << 16);

/// `CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION`.
const CLUSTER: c_uint = 4;

/// `CUDA_ERROR_NOT_READY`: the kernel is still running.
const NOT_READY: &str = "status 600";

/// How long a kernel may run.
const PATIENCE: Duration = Duration::from_secs(20);

type Address = u64;

/// `CUlaunchAttribute`.
#[repr(C)]
struct Attribute {
    id: c_uint,
    padding: c_uint,
    value: [c_uint; 16],
}

/// `CUlaunchConfig`.
#[repr(C)]
struct Configuration {
    sizes: [[c_uint; 3]; 2],
    shared: c_uint,
    stream: *mut c_void,
    attributes: *mut Attribute,
    count: c_uint,
}

/// The driver with a context on its first card.
pub(super) struct Card {
    library: Library,
    pub(super) name: String,
    /// The version of CUDA that the driver is for.
    pub(super) driver: String,
    /// 90 for compute capability 9.0.
    pub(super) sm: u16,
}

/// Loaded code.
#[derive(Clone, Copy)]
pub(super) struct Code(*mut c_void);

/// How a kernel is launched: blocks, threads and blocks of a cluster by dimension, and bytes of dynamic shared memory.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Shape {
    pub(super) blocks: [u32; 3],
    pub(super) threads: [u32; 3],
    pub(super) cluster: [u32; 3],
    pub(super) shared: u32,
}

impl Shape {
    /// All sizes in order.
    pub(super) fn sizes(&self) -> Vec<u32> {
        [self.blocks, self.threads, self.cluster].concat().into_iter().chain([self.shared]).collect()
    }
}

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
        let (mut device, mut version): (c_int, c_int) = (0, 0);
        call!(library, cuDeviceGet(&raw mut device => *mut c_int, 0 => c_int))?;
        call!(library, cuDriverGetVersion(&raw mut version => *mut c_int))?;
        let mut name = [0u8; 256];
        call!(library, cuDeviceGetName(name.as_mut_ptr().cast() => *mut c_char, 256 => c_int, device => c_int))?;
        let mut capability: [c_int; 2] = [0; 2];
        for (value, attribute) in capability.iter_mut().zip(CAPABILITY) {
            let value = ptr::from_mut(value);
            call!(library, cuDeviceGetAttribute(value => *mut c_int, attribute => c_int, device => c_int))?;
        }
        let mut context: *mut c_void = ptr::null_mut();
        call!(library, cuDevicePrimaryCtxRetain(&raw mut context => *mut *mut c_void, device => c_int))?;
        call!(library, cuCtxSetCurrent(context => *mut c_void))?;
        call!(library, cuCtxSetLimit(STACK.0 => c_int, STACK.1 => usize))?;
        let length = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
        Ok(Card {
            library,
            name: String::from_utf8_lossy(&name[..length]).into_owned(),
            driver: format!("{}.{}", version / 1000, version % 1000 / 10),
            sm: (capability[0] * 10 + capability[1]) as u16,
        })
    }

    /// Loads machine code.
    pub(super) fn load(&self, image: &[u8]) -> Result<Code, String> {
        let mut loaded: *mut c_void = ptr::null_mut();
        let (place, image) = (&raw mut loaded, image.as_ptr().cast());
        call!(self.library, cuModuleLoadData(place => *mut *mut c_void, image => *const c_void))?;
        Ok(Code(loaded))
    }

    pub(super) fn unload(&self, code: Code) -> Result<(), String> {
        call!(self.library, cuModuleUnload(code.0 => *mut c_void))
    }

    /// Launches a kernel on buffers, and replaces their contents with what it leaves. `arguments` gives the bytes of its
    /// arguments, with the addresses of the buffers. After a failure nothing more can be launched.
    pub(super) fn launch(
        &self,
        code: Code,
        kernel: &str,
        shape: Shape,
        buffers: &mut [Vec<u8>],
        arguments: impl Fn(&[Address]) -> Vec<Vec<u8>>,
    ) -> Result<(), String> {
        let library = &self.library;
        let (mut function, name): (*mut c_void, _) = (ptr::null_mut(), CString::new(kernel).unwrap_or_default());
        let place = &raw mut function;
        call!(library, cuModuleGetFunction(
            place => *mut *mut c_void, code.0 => *mut c_void, name.as_ptr() => *const c_char,
        ))?;
        if shape.shared > 0 {
            let bytes = shape.shared as c_int;
            call!(library, cuFuncSetAttribute(
                function => *mut c_void, DYNAMIC_SHARED => c_int, bytes => c_int,
            ))?;
        }
        let mut addresses = Vec::with_capacity(buffers.len());
        for buffer in &*buffers {
            let mut address: Address = 0;
            let (place, source) = (&raw mut address, buffer.as_ptr().cast());
            call!(library, cuMemAlloc_v2(place => *mut Address, buffer.len().max(1) => usize))?;
            call!(library, cuMemcpyHtoD_v2(address => Address, source => *const c_void, buffer.len() => usize))?;
            addresses.push(address);
        }
        let mut arguments = arguments(&addresses);
        let mut parameters: Vec<*mut c_void> = arguments.iter_mut().map(|bytes| bytes.as_mut_ptr().cast()).collect();
        let mut cluster = Attribute { id: CLUSTER, padding: 0, value: [0; 16] };
        cluster.value[..3].copy_from_slice(&shape.cluster);
        let configuration = Configuration {
            sizes: [shape.blocks, shape.threads],
            shared: shape.shared,
            stream: ptr::null_mut(),
            attributes: &raw mut cluster,
            count: u32::from(shape.cluster.iter().any(|blocks| *blocks > 1)),
        };
        call!(library, cuLaunchKernelEx(
            &raw const configuration => *const Configuration, function => *mut c_void,
            parameters.as_mut_ptr() => *mut *mut c_void, ptr::null_mut() => *mut *mut c_void,
        ))?;
        self.wait()?;
        for (buffer, address) in buffers.iter_mut().zip(addresses) {
            let target = buffer.as_mut_ptr().cast();
            call!(library, cuMemcpyDtoH_v2(target => *mut c_void, address => Address, buffer.len() => usize))?;
            call!(library, cuMemFree_v2(address => Address))?;
        }
        Ok(())
    }

    /// Waits for the kernel that was launched.
    fn wait(&self) -> Result<(), String> {
        let since = Instant::now();
        loop {
            match call!(self.library, cuStreamQuery(ptr::null_mut() => *mut c_void)) {
                Ok(()) => return Ok(()),
                Err(problem) if !problem.ends_with(NOT_READY) => return Err(problem),
                Err(_) if since.elapsed() > PATIENCE => return Err("it hangs".to_owned()),
                Err(_) => thread::sleep(Duration::from_micros(20)),
            }
        }
    }
}
