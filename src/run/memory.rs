//! Memory of the device: allocations, and the check that an access lies in one.

use std::prelude::rust_2024::*;
use std::{format, vec};

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, RwLock};

use super::error::{Error, ErrorKind};
use super::raw::Bytes;

/// Device memory; clones share it.
///
/// Pointers are 64-bit addresses of the host; a kernel of a module with `.address_size 32` gets their low 32 bits. The host reads and
/// writes the bytes through this type.
///
/// ```
/// use ptx_isa::run::Memory;
///
/// let memory = Memory::new();
/// let pointer = memory.allocate(8);
/// memory.write(pointer, &[1, 2, 3]).unwrap();
/// let mut bytes = [9; 4];
/// memory.read(pointer, &mut bytes).unwrap();
/// assert_eq!(bytes, [1, 2, 3, 0]);
/// assert!(memory.read(pointer + 6, &mut bytes).is_err());
/// ```
#[derive(Clone, Debug, Default)]
pub struct Memory {
    allocations: Arc<RwLock<BTreeMap<usize, Allocation>>>,
    heap: Arc<Mutex<Heap>>,
    /// True if modules with 32-bit addresses use this memory: allocations must then differ in the low halves of their
    /// pointers.
    narrow: Arc<AtomicBool>,
}

/// Allocations that kernels made, and those that have ended while a launch runs. Its blocks may still hold their bounds, so that the bytes
/// stay until it has ended.
#[derive(Debug, Default)]
struct Heap {
    launches: usize,
    /// Number of allocations that have ended.
    ended: u64,
    /// Ended allocations, by their length.
    freed: BTreeMap<usize, Vec<Arc<Bytes>>>,
    freed_bytes: u64,
    /// Bytes of the allocations of kernels that have not ended.
    live_bytes: u64,
}

/// Keeps ended allocations for as long as a launch runs.
pub(crate) struct Running<'m> {
    memory: &'m Memory,
    /// Number of allocations that had ended before.
    pub ended: u64,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut heap = self.memory.heap.lock().expect("no panic while it is held");
        heap.launches -= 1;
        if heap.launches == 0 {
            heap.freed.clear();
            heap.freed_bytes = 0;
        }
    }
}

#[derive(Debug)]
enum Allocation {
    Owned(Arc<Bytes>),
    /// Allocated by a kernel, with the requested size in bytes.
    Heap(Arc<Bytes>, usize),
    /// Owned by the caller, with its size in bytes.
    Borrowed(usize),
}

impl Allocation {
    fn len(&self) -> usize {
        match self {
            Allocation::Owned(bytes) => bytes.len(),
            Allocation::Heap(_, len) | Allocation::Borrowed(len) => *len,
        }
    }
}

impl Memory {
    /// Creates an empty memory.
    pub fn new() -> Memory {
        Memory::default()
    }

    /// Allocates `bytes` zeroed bytes, aligned to 256 bytes.
    ///
    /// # Panics
    ///
    /// If the host has no memory for them.
    pub fn allocate(&self, bytes: usize) -> u64 {
        self.try_allocate(bytes).expect("the host has memory for the allocation")
    }

    /// Does the same, but returns `None` if the host has no memory for them.
    pub fn try_allocate(&self, bytes: usize) -> Option<u64> {
        self.try_aligned(bytes, 1)
    }

    /// Allocates zeroed memory at a multiple of a power of two, as [`Memory::try_allocate`] does.
    pub(crate) fn try_aligned(&self, bytes: usize, align: usize) -> Option<u64> {
        let mut new = Bytes::try_aligned(bytes, align)?;
        let mut allocations = self.allocations.write().expect("no panic while it is held");
        if self.narrow.load(Ordering::Relaxed) {
            const TRIES: usize = 64;
            let mut refused = Vec::new();
            while refused.len() < TRIES && allocations.iter().any(|one| overlap(one, new.address(), new.len())) {
                refused.push(std::mem::replace(&mut new, Bytes::try_aligned(bytes, align)?));
            }
        }
        let address = new.address();
        allocations.insert(address, Allocation::Owned(Arc::new(new)));
        Some(address as u64)
    }

    /// Requires the low 32 bits of all further pointers to identify their allocations; returns true if they do so for
    /// the existing ones.
    pub(crate) fn tell_apart(&self) -> bool {
        self.narrow.store(true, Ordering::Relaxed);
        let allocations = self.allocations.read().expect("no panic while it is held");
        let mut low: Vec<(u32, u64)> =
            allocations.iter().map(|(start, one)| (*start as u32, one.len() as u64)).collect();
        low.sort_unstable();
        let apart = |pair: &[(u32, u64)]| u64::from(pair[0].0) + pair[0].1 <= pair[1].0.into();
        low.windows(2).all(apart)
    }

    /// The pointer with these low 32 bits that lies in an allocation.
    pub(crate) fn widened(&self, low: u32) -> Option<u64> {
        let allocations = self.allocations.read().expect("no panic while it is held");
        allocations.iter().find_map(|(start, one)| {
            let offset = low.wrapping_sub(*start as u32) as usize;
            (offset < one.len()).then_some((start + offset) as u64)
        })
    }

    /// An allocation that a kernel asks for; zero if all of them together would have more bytes than a limit.
    pub(crate) fn allocate_on_heap(&self, bytes: u64, limit: u64) -> u64 {
        let mut allocations = self.allocations.write().expect("no panic while it is held");
        let mut heap = self.heap.lock().expect("no panic while it is held");
        let len = usize::try_from(bytes).ok().and_then(usize::checked_next_power_of_two);
        let (Some(len), true) = (len, bytes > 0 && heap.live_bytes.saturating_add(bytes) <= limit) else { return 0 };
        // Reuse freed allocations, so that a kernel that allocates and frees in a loop does not exhaust the heap.
        let again = heap.freed.get_mut(&len).and_then(Vec::pop);
        heap.freed_bytes -= again.as_ref().map_or(0, |again| again.len() as u64);
        let room = heap.live_bytes.saturating_add(heap.freed_bytes) <= limit;
        let new = || room.then(|| Bytes::try_zeroed(len)).flatten().map(Arc::new);
        let Some(own) = again.or_else(new) else { return 0 };
        let address = own.address();
        heap.live_bytes += len as u64;
        allocations.insert(address, Allocation::Heap(own, bytes as usize));
        address as u64
    }

    /// Ends an allocation that a kernel asked for; nothing happens to others.
    pub(crate) fn free_on_heap(&self, pointer: u64) {
        let mut allocations = self.allocations.write().expect("no panic while it is held");
        if let Some(Allocation::Heap(..)) = allocations.get(&(pointer as usize)) {
            self.end(allocations.remove(&(pointer as usize)));
        }
    }

    /// A launch begins.
    pub(crate) fn running(&self) -> Running<'_> {
        let mut heap = self.heap.lock().expect("no panic while it is held");
        heap.launches += 1;
        Running { memory: self, ended: heap.ended }
    }

    /// Ends an allocation; its bytes stay as long as a launch runs.
    fn end(&self, allocation: Option<Allocation>) {
        let mut heap = self.heap.lock().expect("no panic while it is held");
        heap.ended += u64::from(allocation.is_some());
        if let Some(Allocation::Heap(bytes, _)) = &allocation {
            heap.live_bytes -= bytes.len() as u64;
        }
        if let Some(Allocation::Owned(bytes) | Allocation::Heap(bytes, _)) = allocation
            && heap.launches > 0
        {
            heap.freed_bytes += bytes.len() as u64;
            heap.freed.entry(bytes.len()).or_default().push(bytes);
        }
    }

    /// Makes host memory accessible to kernels and returns its device pointer. [`Memory::free`] ends that.
    ///
    /// Allocators of hosts rarely align to more than 16 bytes. Vectors that need more are aligned if their address or their offset in this
    /// memory is.
    ///
    /// # Safety
    ///
    /// The bytes are valid for reads and writes until they are [freed](Memory::free), and nobody else touches them while a launch
    /// runs.
    #[allow(unsafe_code, reason = "what kernels do to it is up to the caller")]
    pub unsafe fn lend(&self, start: *mut u8, bytes: usize) -> u64 {
        let address = start as usize;
        let mut allocations = self.allocations.write().expect("no panic while it is held");
        let before = bounds(&allocations, address);
        allocations.insert(address, Allocation::Borrowed(bytes));
        // Bounds that kernels keep are stale if this is part of another allocation, or replaces it.
        let ends = before.is_some_and(|before| before != (address, address + bytes));
        self.heap.lock().expect("no panic while it is held").ended += u64::from(ends);
        address as u64
    }

    /// Frees the allocation that starts at `pointer`; returns false if there is none.
    pub fn free(&self, pointer: u64) -> bool {
        let mut allocations = self.allocations.write().expect("no panic while it is held");
        let allocation = allocations.remove(&(pointer as usize));
        let found = allocation.is_some();
        self.end(allocation);
        found
    }

    /// The allocation that an address lies in: where it begins and ends.
    pub(crate) fn around(&self, address: usize) -> Option<(usize, usize)> {
        bounds(&self.allocations.read().expect("no panic while it is held"), address)
    }

    /// The memory around an address that the host has lent; `None` if the address is in no such memory.
    pub(crate) fn lent(&self, address: usize) -> Option<Range<u64>> {
        let allocations = self.allocations.read().expect("no panic while it is held");
        match allocations.range(..=address).next_back()? {
            (start, Allocation::Borrowed(len)) if address - start < *len => Some(*start as u64..(start + len) as u64),
            _ => None,
        }
    }

    fn owned(&self, pointer: u64, len: usize) -> Result<(Arc<Bytes>, usize), Error> {
        let outside = || {
            let message = format!(
                "the {len} bytes at {pointer:#x} are not in an allocation that the host can access through this memory"
            );
            Error { address: Some(pointer), ..Error::new(ErrorKind::Access, message) }
        };
        let allocations = self.allocations.read().expect("no panic while it is held");
        let address = usize::try_from(pointer).map_err(|_| outside())?;
        let (start, allocation) = allocations.range(..=address).next_back().ok_or_else(outside)?;
        let offset = address - start;
        match allocation {
            Allocation::Owned(bytes) | Allocation::Heap(bytes, _)
                if offset.checked_add(len).is_some_and(|end| end <= allocation.len()) =>
            {
                Ok((bytes.clone(), offset))
            }
            _ => Err(outside()),
        }
    }

    /// Copies bytes from the device to `out`.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Access`] if the bytes do not lie in one allocation of this memory, or lie in memory that was
    /// [lent](Memory::lend), which its owner accesses directly.
    pub fn read(&self, pointer: u64, out: &mut [u8]) -> Result<(), Error> {
        let (bytes, offset) = self.owned(pointer, out.len())?;
        bytes.read(offset, out);
        Ok(())
    }

    /// Copies bytes to the device.
    ///
    /// # Errors
    ///
    /// As [`Memory::read`].
    pub fn write(&self, pointer: u64, data: &[u8]) -> Result<(), Error> {
        let (bytes, offset) = self.owned(pointer, data.len())?;
        bytes.write(offset, data);
        Ok(())
    }

    /// Allocates memory, copies the numbers to it and returns the pointer.
    ///
    /// # Panics
    ///
    /// If the host has no memory for them.
    pub fn upload<T: Number>(&self, numbers: &[T]) -> u64 {
        let mut bytes = Vec::with_capacity(size_of_val(numbers));
        numbers.iter().for_each(|number| number.append(&mut bytes));
        let pointer = self.allocate(bytes.len());
        self.write(pointer, &bytes).expect("it was just allocated");
        pointer
    }

    /// Copies `count` numbers from the device.
    ///
    /// # Errors
    ///
    /// As [`Memory::read`].
    pub fn download<T: Number>(&self, pointer: u64, count: usize) -> Result<Vec<T>, Error> {
        let mut bytes = vec![0; count * size_of::<T>()];
        self.read(pointer, &mut bytes)?;
        Ok(bytes.chunks_exact(size_of::<T>()).map(T::from_bytes).collect())
    }
}

/// Where the allocation that an address lies in begins and ends.
fn bounds(allocations: &BTreeMap<usize, Allocation>, address: usize) -> Option<(usize, usize)> {
    let (start, allocation) = allocations.range(..=address).next_back()?;
    (address < start + allocation.len()).then(|| (*start, start + allocation.len()))
}

/// Returns true if the allocation overlaps `bytes` bytes at another address when only the low 32 bits of addresses
/// count.
fn overlap((start, one): (&usize, &Allocation), address: usize, bytes: usize) -> bool {
    let distance = |from: usize, to: usize| (to as u32).wrapping_sub(from as u32) as usize;
    distance(*start, address) < one.len() || distance(address, *start) < bytes
}

/// Numbers that are copied to and from the device.
pub trait Number: Copy + sealed::Sealed {
    /// The bytes, the lowest first.
    fn bytes(self) -> Vec<u8>;
    /// Appends the bytes, the lowest first.
    fn append(self, to: &mut Vec<u8>);
    /// The number with these bytes.
    fn from_bytes(bytes: &[u8]) -> Self;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! numbers {
    ($($ty:ident)*) => {$(
        impl sealed::Sealed for $ty {}
        impl Number for $ty {
            fn bytes(self) -> Vec<u8> { self.to_le_bytes().to_vec() }
            fn append(self, to: &mut Vec<u8>) { to.extend_from_slice(&self.to_le_bytes()); }
            fn from_bytes(bytes: &[u8]) -> $ty { $ty::from_le_bytes(bytes.try_into().expect("bytes of one number")) }
        }
        impl From<$ty> for super::Argument {
            fn from(number: $ty) -> super::Argument { super::Argument::number(&number.to_le_bytes(), stringify!($ty)) }
        }
    )*};
}

numbers!(u8 u16 u32 u64 i8 i16 i32 i64 f32 f64);
