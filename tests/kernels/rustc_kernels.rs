//! Kernels that the tests of the runner compare with the host: what Rust's core library makes of a GPU.

#![no_std]
#![feature(abi_ptx, asm_experimental_arch, f16, stdarch_nvptx)]
#![allow(clippy::missing_safety_doc, improper_ctypes_definitions, reason = "a kernel is called by a launch")]

use core::arch::asm;
use core::arch::nvptx::{__assert_fail, _block_dim_x, _block_idx_x, _grid_dim_x, _syncthreads, _thread_idx_x, trap};
use core::fmt::{self, Write};
use core::sync::atomic::{AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// Fails as an assertion of CUDA does, with the message and the place of the panic.
#[panic_handler]
fn panic(info: &core::panic::PanicInfo) -> ! {
    let mut text = Text::<96>::new();
    let _ = write!(text, "{}\0", info.message());
    let mut file = Text::<96>::new();
    let line = info.location().map_or(0, |location| {
        let _ = write!(file, "{}\0", location.file());
        location.line()
    });
    unsafe {
        __assert_fail(text.bytes.as_ptr(), file.bytes.as_ptr(), line, c"kernel".as_ptr().cast());
        trap()
    }
}

/// A text in the stack of a thread.
struct Text<const N: usize> {
    bytes: [u8; N],
    length: usize,
}

impl<const N: usize> Text<N> {
    fn new() -> Self {
        Text { bytes: [0; N], length: 0 }
    }
}

impl<const N: usize> Write for Text<N> {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        for byte in part.bytes() {
            *self.bytes.get_mut(self.length).ok_or(fmt::Error)? = byte;
            self.length += 1;
        }
        Ok(())
    }
}

/// Called by comparisons of strings; the target has no library that defines it.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, count: usize) -> i32 {
    for at in 0..count {
        let (a, b) = unsafe { (a.add(at).read_volatile(), b.add(at).read_volatile()) };
        if a != b {
            return i32::from(a) - i32::from(b);
        }
    }
    0
}

fn thread() -> usize {
    unsafe { (_block_idx_x() * _block_dim_x() + _thread_idx_x()) as usize }
}

unsafe fn slice<'a, T>(at: *const T, length: usize) -> &'a [T] {
    unsafe { core::slice::from_raw_parts(at, length) }
}

unsafe fn own<'a, T>(at: *mut T, length: usize) -> &'a mut [T] {
    unsafe { core::slice::from_raw_parts_mut(at.add(thread() * length), length) }
}

/// Sorts the part of each thread: recursion, and arrays in the stack.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn sorted(keys: *mut u32, length: usize) {
    unsafe { own(keys, length) }.sort_unstable_by_key(|key| (key % 16, *key));
}

/// Indices that are out of bounds panic.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn gathered(from: *const i16, length: usize, places: *const u32, to: *mut i16) {
    let (from, places) = unsafe { (slice(from, length), slice(places, 64)) };
    unsafe { *to.add(thread()) = from[places[thread()] as usize] };
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Settings {
    narrow: u8,
    wide: u64,
    triple: [u16; 3],
    scale: f32,
    signed: i8,
}

/// A struct by value, and one that a function returns.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn settings(given: Settings, out: *mut Settings) {
    #[inline(never)]
    fn changed(given: Settings, thread: usize) -> Settings {
        let mut triple = given.triple;
        triple.rotate_left(thread % 3);
        Settings {
            narrow: given.narrow.wrapping_add(thread as u8),
            wide: given.wide.rotate_left(thread as u32),
            triple,
            scale: given.scale * thread as f32,
            signed: given.signed.saturating_sub(thread as i8),
        }
    }
    unsafe { *out.add(thread()) = changed(given, thread()) };
}

/// Integers of 128 bits: products, quotients and shifts are functions of the compiler's library.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn wide(a: *const u128, b: *const i128, out: *mut u128) {
    let (a, b) = unsafe { (*a.add(thread()), *b.add(thread())) };
    let results = [
        a.wrapping_mul(b as u128),
        a.checked_div(b as u128).unwrap_or(1),
        (a as i128).wrapping_rem(b) as u128,
        a.rotate_right(thread() as u32 * 5),
        u128::from(a.leading_zeros() + b.count_ones()),
        u128::from(a.reverse_bits() < b.unsigned_abs()),
        (a >> (b as u32 % 128)).saturating_mul(a & 0xffff_ffff),
        u128::from(a.isqrt() as u64),
    ];
    unsafe { own(out, 8) }.copy_from_slice(&results);
}

/// Text of numbers: functions by way of tables, arguments of many types.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn formatted(floats: *const f64, integers: *const i64, out: *mut u8) {
    let (float, integer) = unsafe { (*floats.add(thread()), *integers.add(thread())) };
    let mut text = Text::<96>::new();
    let narrow = float as f32;
    let _ =
        write!(text, "{integer:+08} {narrow} {float:.3e} {:#x} {:?} {float:9.2}|", integer as u16, Some(integer > 0));
    unsafe { own(out, 96) }.copy_from_slice(&text.bytes);
}

/// Numbers of texts: tables of powers of ten, and products of 128 bits.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn parsed(texts: *const u8, floats: *mut f64, integers: *mut i32) {
    let text = unsafe { slice(texts.add(24 * thread()), 24) };
    let text = core::str::from_utf8(text).map_or("", |text| text.trim_end_matches('\0').trim());
    unsafe {
        *floats.add(thread()) = text.parse().unwrap_or(f64::NAN);
        *integers.add(thread()) = text.parse().unwrap_or(-1);
    }
}

trait Shape {
    fn area(&self) -> f32;
    fn corners(&self) -> u32 {
        4
    }
}

struct Square(f32);
struct Box(f32, f32);
struct Triangle([f32; 3]);

impl Shape for Square {
    fn area(&self) -> f32 {
        self.0 * self.0
    }
}

impl Shape for Box {
    fn area(&self) -> f32 {
        self.0 * self.1
    }
}

impl Shape for Triangle {
    fn area(&self) -> f32 {
        let [a, b, c] = self.0;
        let half = (a + b + c) / 2.0;
        half * (half - a) * (half - b) * (half - c)
    }

    fn corners(&self) -> u32 {
        3
    }
}

/// Methods by way of tables that differ from lane to lane.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn shapes(out: *mut f32) {
    let side = thread() as f32;
    let shapes: [&dyn Shape; 3] = [&Square(side), &Box(side, 2.0), &Triangle([3.0, 4.0, 5.0])];
    let sum: f32 =
        shapes.iter().cycle().skip(thread() % 3).take(2).map(|shape| shape.area() * shape.corners() as f32).sum();
    unsafe { *out.add(thread()) = sum };
}

/// A machine with a stack, whose loop is a table of jumps.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn interpreted(code: *const u8, length: usize, out: *mut i32) {
    let code = unsafe { slice(code, length) };
    let (mut stack, mut top, mut at) = ([0_i32; 16], 0, 0);
    let mut left = 10_000;
    while let Some(operation) = code.get(at).filter(|_| left > 0) {
        (at, left) = (at + 1, left - 1);
        let mut pop = || {
            top -= 1;
            stack[top]
        };
        let value = match operation {
            0 => thread() as i32,
            1 => pop().wrapping_add(pop()),
            2 => pop().wrapping_mul(pop()),
            3 => pop().wrapping_neg(),
            4 => !pop(),
            5 => pop() & pop(),
            6 => pop() ^ pop(),
            7 => pop().wrapping_shl(3),
            8 => pop().count_ones() as i32,
            9 => pop().signum(),
            10 => {
                at += 1;
                i32::from(code[at - 1] as i8)
            }
            11 => {
                let value = pop();
                stack[top] = value;
                top += 1;
                value
            }
            12 => {
                let (a, b) = (pop(), pop());
                stack[top] = a;
                top += 1;
                b
            }
            13 => {
                let condition = pop();
                at += 1;
                if condition > 0 {
                    at = code[at - 1] as usize;
                }
                continue;
            }
            14 => pop().checked_div(7).unwrap_or(0),
            _ => break,
        };
        stack[top] = value;
        top += 1;
    }
    unsafe { *out.add(thread()) = stack[top - 1] };
}

/// Atomics of every width; those of a byte are loops over words.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn atomics(
    bytes: &[AtomicU8; 4],
    shorts: &[AtomicU16; 2],
    words: &[AtomicU32; 8],
    longs: &[AtomicU64; 4],
    signed: &AtomicI64,
) {
    let own = thread() as u32;
    bytes[thread() % 4].fetch_add(1, Ordering::Relaxed);
    shorts[thread() % 2].fetch_xor(own as u16, Ordering::AcqRel);
    words[0].fetch_add(own, Ordering::SeqCst);
    words[1].fetch_max(own.wrapping_mul(2_654_435_761), Ordering::Release);
    words[2].fetch_min(u32::MAX - own, Ordering::Acquire);
    words[3].fetch_or(1 << (own % 32), Ordering::Relaxed);
    words[4].fetch_nand(own, Ordering::Relaxed);
    let _ = words[5].fetch_update(Ordering::SeqCst, Ordering::Relaxed, |old| old.checked_add(own % 7));
    longs[0].fetch_sub(own.into(), Ordering::AcqRel);
    let _ = longs[1].compare_exchange(0, u64::from(own) | 1 << 63, Ordering::SeqCst, Ordering::SeqCst);
    if own == 5 {
        longs[2].store(words[6].load(Ordering::Acquire).into(), Ordering::Release);
    }
    signed.fetch_min(-i64::from(own) << 33, Ordering::Relaxed);
}

/// The sum of an array by way of shuffles, and blocks that take turns at a lock.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn summed(numbers: *const f32, length: usize, lock: &AtomicU32, sum: *mut f64) {
    let step = unsafe { (_grid_dim_x() * _block_dim_x()) as usize };
    let mut own: f32 = unsafe { slice(numbers, length) }.iter().skip(thread()).step_by(step).sum();
    for distance in [16, 8, 4, 2, 1] {
        let other: f32;
        unsafe {
            asm!("shfl.sync.bfly.b32 {0}, {1}, {2}, 31, -1;", out(reg32) other, in(reg32) own, in(reg32) distance);
        }
        own += other;
    }
    unsafe { _syncthreads() };
    if thread() % 32 == 0 {
        while lock.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {}
        unsafe { sum.write_volatile(sum.read_volatile() + f64::from(own)) };
        lock.store(0, Ordering::Release);
    }
}

/// Small integers and halves: saturation, rotation, leading zeros, checked arithmetic.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn narrow(a: *const i8, b: *const u16, h: *const f16, out: *mut i32) {
    let (a, b, h) = unsafe { (*a.add(thread()), *b.add(thread()), *h.add(thread())) };
    let results = [
        a.saturating_add(b as i8).into(),
        a.overflowing_mul(b as i8).1.into(),
        b.rotate_left(a as u32 % 16).swap_bytes().into(),
        (b.leading_zeros() + a.unsigned_abs().trailing_zeros()) as i32,
        a.checked_rem(b as i8).map_or(1000, i32::from),
        b.abs_diff(a as u16).isqrt().into(),
        ((h * 2.0 + 1.0) as f32).to_bits() as i32,
        (h as i8).into(),
        (a as f16).to_bits().into(),
        i32::from(h < 1.0) + 2 * i32::from(h.is_nan()),
    ];
    unsafe { own(out, 10) }.copy_from_slice(&results);
}
