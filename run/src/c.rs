//! The C interface: see `include/ptx_run.h`.
//!
//! The caller owns the handles. [`ptx_last_error`] returns the error of the calling thread's last call.

#![allow(unsafe_code, reason = "C passes pointers")]

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::{Arc, Mutex, OnceLock};

use crate::{
    Argument, Error, ErrorKind, Fill, Grid, Interleave, Kernel, Memory, Module, Options, Swizzle, SwizzleAtom,
    TensorElement, TensorMap,
};

thread_local! {
    /// Number and text of the last call's error; `None` if it succeeded.
    static LAST: RefCell<(c_int, CString)> = RefCell::new((0, CString::default()));
}

/// The number of a kind of errors.
fn number(kind: &ErrorKind) -> c_int {
    const KINDS: [&str; 17] = [
        "module",
        "no-kernel",
        "unsupported",
        "arguments",
        "shape",
        "access",
        "misaligned",
        "trap",
        "assertion",
        "deadlock",
        "limit",
        "stack",
        "call",
        "tensor-map",
        "convergence",
        "memory",
        "race",
    ];
    KINDS.iter().position(|known| *known == kind.name()).map_or(99, |place| place as c_int + 1)
}

/// Notes how a call ended, and gives its number.
fn noted<T>(result: Result<T, Error>) -> Result<T, c_int> {
    let (number, text) = match &result {
        Ok(_) => (0, String::new()),
        Err(error) => (number(&error.kind), error.to_string()),
    };
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    LAST.with(|last| *last.borrow_mut() = (number, text));
    result.map_err(|_| number)
}

fn text<'a>(text: *const c_char) -> Result<&'a str, Error> {
    let broken = |message| Error::new(ErrorKind::Arguments, message);
    if text.is_null() {
        return Err(broken("a text is null"));
    }
    // SAFETY: the interface asks for a string that ends with zero and outlives the call.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|_| broken("a text is not UTF-8"))
}

/// The number of the error of this thread's last call, 0 if it had none.
#[unsafe(no_mangle)]
pub extern "C" fn ptx_last_error() -> c_int {
    LAST.with(|last| last.borrow().0)
}

/// The text of that error; it lasts until this thread's next call.
#[unsafe(no_mangle)]
pub extern "C" fn ptx_error_text() -> *const c_char {
    LAST.with(|last| last.borrow().1.as_ptr())
}

/// New memory of a device.
#[unsafe(no_mangle)]
pub extern "C" fn ptx_memory_new() -> *mut Memory {
    Box::into_raw(Box::new(Memory::new()))
}

/// Ends a memory, and all its allocations that no module has.
///
/// # Safety
///
/// The handle is of [`ptx_memory_new`], and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_memory_free(memory: *mut Memory) {
    if !memory.is_null() {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(memory) });
    }
}

/// Allocates `bytes` zeroed bytes on the device; returns 0 if the host has no memory for them.
///
/// # Safety
///
/// `memory` must come from [`ptx_memory_new`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_allocate(memory: *const Memory, bytes: usize) -> u64 {
    // SAFETY: the caller's promise.
    let allocated = unsafe { &*memory }.try_allocate(bytes);
    let missing = || Error::new(ErrorKind::Memory, format!("the host has no memory for {bytes} bytes"));
    noted(allocated.ok_or_else(missing)).unwrap_or(0)
}

/// Ends an allocation; 0, or the number of an error.
///
/// # Safety
///
/// As [`ptx_allocate`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_release(memory: *const Memory, pointer: u64) -> c_int {
    // SAFETY: the caller's promise.
    let freed = unsafe { &*memory }.free(pointer);
    let missing = || Error::new(ErrorKind::Access, format!("no allocation begins at {pointer:#x}"));
    noted(freed.then_some(()).ok_or_else(missing)).err().unwrap_or(0)
}

/// Copies to the device; returns 0, or the number of an error.
///
/// # Safety
///
/// As for [`ptx_allocate`], and `from` must be readable for `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_copy_in(memory: *const Memory, to: u64, from: *const c_void, bytes: usize) -> c_int {
    // SAFETY: the caller's promises.
    let (memory, from) = unsafe { (&*memory, std::slice::from_raw_parts(from.cast::<u8>(), bytes)) };
    noted(memory.write(to, from)).err().unwrap_or(0)
}

/// Copies from the device; returns 0, or the number of an error.
///
/// # Safety
///
/// As for [`ptx_allocate`], and `to` must be writable for `bytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_copy_out(memory: *const Memory, to: *mut c_void, from: u64, bytes: usize) -> c_int {
    // SAFETY: the caller's promises.
    let (memory, to) = unsafe { (&*memory, std::slice::from_raw_parts_mut(to.cast::<u8>(), bytes)) };
    noted(memory.read(from, to)).err().unwrap_or(0)
}

/// Reads a module; null if that fails.
///
/// # Safety
///
/// The handle is of [`ptx_memory_new`], the text ends with zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_module_load(memory: *const Memory, source: *const c_char) -> *mut Module {
    // SAFETY: the caller's promise.
    let memory = unsafe { &*memory };
    let loaded = text(source).and_then(|source| Module::load(source, memory));
    noted(loaded).map_or(std::ptr::null_mut(), |module| Box::into_raw(Box::new(module)))
}

/// Reads several modules as one program: what one declares `.extern`, another defines; null if that fails.
///
/// # Safety
///
/// `memory` must come from [`ptx_memory_new`], and `sources` must point to `count` null-terminated strings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_module_link(
    memory: *const Memory,
    count: c_int,
    sources: *const *const c_char,
) -> *mut Module {
    // SAFETY: the caller's promises.
    let memory = unsafe { &*memory };
    // SAFETY: the same.
    let texts = (0..count.max(0) as usize).map(|index| text(unsafe { *sources.add(index) }));
    let loaded = texts.collect::<Result<Vec<&str>, _>>().and_then(|texts| Module::link(&texts, memory));
    noted(loaded).map_or(std::ptr::null_mut(), |module| Box::into_raw(Box::new(module)))
}

/// Ends a module.
///
/// # Safety
///
/// The handle is of [`ptx_module_load`], and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_module_free(module: *mut Module) {
    if !module.is_null() {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(module) });
    }
}

/// The kernel with a name; null if there is none.
///
/// # Safety
///
/// The handle is of [`ptx_module_load`], the name ends with zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_kernel(module: *const Module, name: *const c_char) -> *mut Kernel {
    // SAFETY: the caller's promise.
    let module = unsafe { &*module };
    let found = text(name).and_then(|name| module.kernel(name));
    noted(found).map_or(std::ptr::null_mut(), |kernel| Box::into_raw(Box::new(kernel)))
}

/// Ends a kernel's handle.
///
/// # Safety
///
/// The handle is of [`ptx_kernel`], and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_kernel_free(kernel: *mut Kernel) {
    if !kernel.is_null() {
        // SAFETY: the caller's promise.
        drop(unsafe { Box::from_raw(kernel) });
    }
}

/// How [`ptx_launch`] launches. Zeros are defaults, but for the grid and the block.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Launch {
    /// Blocks, by dimension.
    pub grid: [u32; 3],
    /// Threads of a block, by dimension.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// Threads of the host; 0 for all that it has.
    pub threads: u32,
    /// The most thread-instructions; 0 for any number.
    pub limit: u64,
    /// 0 performs asynchronous operations at once; other numbers are the seed of [`Options::delay`].
    pub delay: u64,
    /// Blocks of a cluster, by dimension; zeros for what the kernel's head says.
    pub cluster: [u32; 3],
    /// Bytes of a thread's stack, where functions recurse, call by address or reserve stack memory.
    pub stack: u64,
    /// The most bytes that kernels may allocate.
    pub heap: u64,
    /// Other than 0 to look for data races: [`Options::races`].
    pub races: u32,
    /// Takes what kernels print, piece by piece, on whichever thread runs the block; standard output if it is null.
    pub print: Option<unsafe extern "C" fn(text: *const c_char, data: *mut c_void)>,
    /// Passed to `print`.
    pub data: *mut c_void,
}

/// The function that takes what kernels print, and its data.
struct Printer(unsafe extern "C" fn(*const c_char, *mut c_void), *mut c_void);

// SAFETY: the interface asks for a function that may be called on any thread of the host.
unsafe impl Send for Printer {}
// SAFETY: the same; calls take turns, by the mutex around it.
unsafe impl Sync for Printer {}

impl Printer {
    fn print(&self, text: &str) {
        let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
        // SAFETY: the interface asks for a function that takes a string, and for data that it understands.
        unsafe { self.0(text.as_ptr(), self.1) };
    }
}

/// Launches a kernel and waits for its end; 0, or the number of an error. Each argument points to the value of a parameter.
///
/// # Safety
///
/// `kernel` must come from [`ptx_kernel`], and `arguments` must point to `count` pointers, each to the bytes of its
/// parameter's value. `print` may be called on any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_launch(
    kernel: *const Kernel,
    launch: *const Launch,
    count: c_int,
    arguments: *const *const c_void,
) -> c_int {
    // SAFETY: the caller's promises.
    let (kernel, launch) = unsafe { (&*kernel, *launch) };
    let sizes: Vec<usize> = kernel.parameters().map(|parameter| parameter.size as usize).collect();
    let given = (0..count.max(0) as usize).map(|index| {
        let size = sizes.get(index).copied().unwrap_or(0);
        // SAFETY: the caller's promises.
        let bytes = unsafe { std::slice::from_raw_parts((*arguments.add(index)).cast::<u8>(), size) };
        Argument::bytes(bytes)
    });
    let given: Vec<Argument> = given.collect();
    let cluster = launch.cluster.map(|count| count.max(1));
    let grid = Grid { blocks: launch.grid, threads: launch.block, cluster, shared: launch.shared };
    let mut options = Options::default();
    if launch.stack > 0 {
        options.stack = launch.stack;
    }
    if launch.heap > 0 {
        options.heap = launch.heap;
    }
    if let Some(print) = launch.print {
        let printer = Mutex::new(Printer(print, launch.data));
        options.print = Some(Arc::new(move |text: &str| {
            printer.lock().unwrap_or_else(std::sync::PoisonError::into_inner).print(text);
        }));
    }
    if launch.threads > 0 {
        options.threads = Some(launch.threads as usize);
    }
    if launch.limit > 0 {
        options.limit = launch.limit;
    }
    options.delay = Some(launch.delay).filter(|seed| *seed != 0);
    options.races = launch.races != 0;
    noted(kernel.launch_with(grid, &given, &options)).err().unwrap_or(0)
}

/// A tensor in global memory and the part of it that tensor copies move: see [`TensorMap`].
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Tensor {
    /// Index in [`TensorElement::ALL`].
    pub element: c_int,
    /// Number of dimensions.
    pub rank: c_int,
    /// Global address of the tensor.
    pub global_address: u64,
    /// Size in each dimension, in elements.
    pub global_dim: [u64; 5],
    /// Strides of the dimensions above the first, in bytes.
    pub global_stride: [u64; 4],
    /// Size of the box in each dimension.
    pub box_dim: [u32; 5],
    /// Traversal strides; 0 for 1.
    pub element_stride: [u32; 5],
    /// Swizzle mode.
    pub swizzle: c_int,
    /// Swizzle atomicity.
    pub atom: c_int,
    /// 1 for NaN out of bounds.
    pub fill: c_int,
    /// 1 for columns of images.
    pub im2col: c_int,
    /// Lower corner of the bounding box in W, H and D.
    pub lower: [i16; 3],
    /// Upper corner.
    pub upper: [i16; 3],
    /// Channels of each pixel.
    pub channels: u16,
    /// Pixels of a copy.
    pub pixels: u16,
    /// Interleave layout; 0 for none.
    pub interleave: c_int,
}

fn encode(tensor: &Tensor) -> Result<[u8; 128], Error> {
    let unknown =
        |what: &str, number: c_int| Error::new(ErrorKind::TensorMap, format!("{number} is not the number of {what}"));
    fn choice<T: Copy>(all: &[T], number: c_int) -> Option<T> {
        usize::try_from(number).ok().and_then(|number| all.get(number).copied())
    }
    let element =
        choice(TensorElement::ALL, tensor.element).ok_or_else(|| unknown("a type of elements", tensor.element))?;
    let layouts = [Interleave::None, Interleave::Bytes16, Interleave::Bytes32];
    let swizzles = [Swizzle::None, Swizzle::Bytes32, Swizzle::Bytes64, Swizzle::Bytes128];
    let atoms = [SwizzleAtom::Bytes16, SwizzleAtom::Bytes32, SwizzleAtom::Bytes32Flip8, SwizzleAtom::Bytes64];
    let rank = usize::try_from(tensor.rank).ok().filter(|rank| (1..=5).contains(rank));
    let rank = rank.ok_or_else(|| unknown("dimensions of a tensor, 1 to 5", tensor.rank))?;
    let (sizes, strides) = (&tensor.global_dim[..rank], &tensor.global_stride[..rank - 1]);
    let map = match tensor.im2col {
        0 => TensorMap::tiled(element, tensor.global_address, sizes, strides, &tensor.box_dim[..rank]),
        _ => {
            let corners = [&tensor.lower, &tensor.upper].map(|corner| &corner[..rank.saturating_sub(2)]);
            TensorMap::im2col(element, tensor.global_address, sizes, strides, corners, [tensor.channels, tensor.pixels])
        }
    };
    map.element_stride(&tensor.element_stride.map(|stride| stride.max(1))[..rank])
        .interleave(
            choice(&layouts, tensor.interleave).ok_or_else(|| unknown("an interleave layout", tensor.interleave))?,
        )
        .swizzle(choice(&swizzles, tensor.swizzle).ok_or_else(|| unknown("a swizzle mode", tensor.swizzle))?)
        .atom(choice(&atoms, tensor.atom).ok_or_else(|| unknown("a swizzle atomicity", tensor.atom))?)
        .fill(if tensor.fill == 0 { Fill::Zero } else { Fill::Nan })
        .encode()
}

/// Writes the 128 bytes of a tensor map; 0, or the number of an error.
///
/// # Safety
///
/// The map may be read, and 128 bytes may be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_tensor_map_encode(map: *const Tensor, bytes: *mut c_void) -> c_int {
    // SAFETY: the caller's promises.
    let (map, bytes) = unsafe { (&*map, std::slice::from_raw_parts_mut(bytes.cast::<u8>(), 128)) };
    noted(encode(map).map(|encoded| bytes.copy_from_slice(&encoded))).err().unwrap_or(0)
}

/// Modules by their text.
fn cache() -> &'static Mutex<HashMap<String, Module>> {
    static CACHE: OnceLock<Mutex<HashMap<String, Module>>> = OnceLock::new();
    CACHE.get_or_init(Mutex::default)
}

fn first_kernel(source: &str) -> Result<Kernel, Error> {
    let mut cache = cache().lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if !cache.contains_key(source) {
        cache.insert(source.to_owned(), Module::load(source, &Memory::new())?);
    }
    let kernel = cache[source].kernels().next();
    kernel.ok_or_else(|| Error::new(ErrorKind::NoKernel, "the module has no kernel"))
}

/// Runs the first kernel of a module as mock drivers do: each argument is the value itself, an integer or a pointer of the
/// host; of a parameter wider than eight bytes a pointer to its bytes. Nothing is checked. 0, or the number of an error,
/// whose text goes to standard error.
///
/// # Safety
///
/// `source` must be null-terminated, `arguments` must have `count` elements, and the kernel must access only memory
/// that it may access.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments, reason = "mock drivers call it so")]
pub unsafe extern "C" fn ptx_run(
    source: *const c_char,
    count: c_int,
    arguments: *const *mut c_void,
    block_x: c_int,
    block_y: c_int,
    block_z: c_int,
    grid_x: c_int,
    grid_y: c_int,
    grid_z: c_int,
    shared: c_int,
) -> c_int {
    let run = || -> Result<(), Error> {
        let kernel = first_kernel(text(source)?)?;
        let sizes: Vec<usize> = kernel.parameters().map(|parameter| parameter.size as usize).collect();
        let mut given = Vec::new();
        for index in 0..count.max(0) as usize {
            // SAFETY: the caller's promise.
            let value = unsafe { *arguments.add(index) };
            let size = sizes.get(index).copied().unwrap_or(0);
            given.push(match size {
                0..=8 => Argument::bytes(&(value as u64).to_le_bytes()[..size]),
                // SAFETY: the caller's promise.
                _ => Argument::bytes(unsafe { std::slice::from_raw_parts(value.cast::<u8>(), size) }),
            });
        }
        let shape = |axes: [c_int; 3]| axes.map(|axis| axis.max(0) as u32);
        let grid = Grid {
            blocks: shape([grid_x, grid_y, grid_z]),
            threads: shape([block_x, block_y, block_z]),
            shared: shared.max(0) as u32,
            ..Grid::new(1, 1)
        };
        // SAFETY: the caller's promise.
        unsafe { kernel.launch_unchecked(grid, &given, &Options::default()) }.map(|_| ())
    };
    match noted(run()) {
        Ok(()) => 0,
        Err(number) => {
            LAST.with(|last| eprintln!("ptx_run: {}", last.borrow().1.to_string_lossy()));
            number
        }
    }
}
