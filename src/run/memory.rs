//! Memory of the device: allocations, and the check that an access lies in one.

use std::prelude::rust_2024::*;
use std::{format, vec};

use std::collections::BTreeMap;
use std::sync::{Arc, RwLock};

use super::error::{Error, ErrorKind};
use super::raw::Bytes;

/// The device's memory. Copies are the same memory.
///
/// Pointers are numbers that kernels compute with. Outside of a launch the bytes are read and written through this.
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
}

#[derive(Debug)]
enum Allocation {
    Owned(Arc<Bytes>),
    /// Of a kernel.
    Heap(Arc<Bytes>),
    /// Someone else's, of so many bytes.
    Borrowed(usize),
}

impl Allocation {
    fn len(&self) -> usize {
        match self {
            Allocation::Owned(bytes) | Allocation::Heap(bytes) => bytes.len(),
            Allocation::Borrowed(len) => *len,
        }
    }
}

impl Memory {
    /// No memory yet.
    pub fn new() -> Memory {
        Memory::default()
    }

    /// So many zeros, aligned to 256 bytes.
    pub fn allocate(&self, bytes: usize) -> u64 {
        let bytes = Arc::new(Bytes::zeroed(bytes));
        let address = bytes.address();
        self.allocations.write().expect("no panic while it is held").insert(address, Allocation::Owned(bytes));
        address as u64
    }

    /// An allocation that a kernel asks for; zero if all of them together would have more bytes than a limit.
    pub(crate) fn allocate_on_heap(&self, bytes: u64, limit: u64) -> u64 {
        let mut allocations = self.allocations.write().expect("no panic while it is held");
        let taken = allocations.values().filter(|one| matches!(one, Allocation::Heap(_))).map(Allocation::len);
        let taken: usize = taken.sum();
        if bytes == 0 || (taken as u64).saturating_add(bytes) > limit {
            return 0;
        }
        let bytes = Arc::new(Bytes::zeroed(bytes as usize));
        let address = bytes.address();
        allocations.insert(address, Allocation::Heap(bytes));
        address as u64
    }

    /// Ends an allocation that a kernel asked for; nothing happens to others.
    pub(crate) fn free_on_heap(&self, pointer: u64) {
        let mut allocations = self.allocations.write().expect("no panic while it is held");
        if let Some(Allocation::Heap(_)) = allocations.get(&(pointer as usize)) {
            allocations.remove(&(pointer as usize));
        }
    }

    /// Memory of someone else becomes memory of the device.
    ///
    /// # Safety
    ///
    /// The bytes are valid for reads and writes until they are [freed](Memory::free), and nobody else touches them while a launch
    /// runs.
    #[allow(unsafe_code, reason = "what kernels do to it is up to the caller")]
    pub unsafe fn lend(&self, start: *mut u8, bytes: usize) -> u64 {
        let address = start as usize;
        self.allocations.write().expect("no panic while it is held").insert(address, Allocation::Borrowed(bytes));
        address as u64
    }

    /// Ends an allocation, by the pointer that it was given; tells whether there was one.
    pub fn free(&self, pointer: u64) -> bool {
        self.allocations.write().expect("no panic while it is held").remove(&(pointer as usize)).is_some()
    }

    /// The allocation that an address lies in: where it begins and ends.
    pub(crate) fn around(&self, address: usize) -> Option<(usize, usize)> {
        let allocations = self.allocations.read().expect("no panic while it is held");
        let (start, allocation) = allocations.range(..=address).next_back()?;
        (address < start + allocation.len()).then(|| (*start, start + allocation.len()))
    }

    fn owned(&self, pointer: u64, len: usize) -> Result<(Arc<Bytes>, usize), Error> {
        let outside = || {
            let message = format!("there is no allocation with {len} bytes at {pointer:#x}");
            Error { address: Some(pointer), ..Error::new(ErrorKind::Access, message) }
        };
        let allocations = self.allocations.read().expect("no panic while it is held");
        let (start, allocation) = allocations.range(..=pointer as usize).next_back().ok_or_else(outside)?;
        let offset = pointer as usize - start;
        match allocation {
            Allocation::Owned(bytes) | Allocation::Heap(bytes)
                if offset.checked_add(len).is_some_and(|end| end <= bytes.len()) =>
            {
                Ok((bytes.clone(), offset))
            }
            _ => Err(outside()),
        }
    }

    /// Copies bytes from the device.
    ///
    /// # Errors
    ///
    /// The bytes are not all in one allocation of this memory.
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

    /// An allocation with the bytes of some numbers.
    pub fn upload<T: Number>(&self, numbers: &[T]) -> u64 {
        let bytes: Vec<u8> = numbers.iter().flat_map(|number| number.bytes()).collect();
        let pointer = self.allocate(bytes.len());
        self.write(pointer, &bytes).expect("it was just allocated");
        pointer
    }

    /// So many numbers from the device.
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

/// Numbers that are copied to and from the device.
pub trait Number: Copy + sealed::Sealed {
    /// The bytes, the lowest first.
    fn bytes(self) -> Vec<u8>;
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
            fn from_bytes(bytes: &[u8]) -> $ty { $ty::from_le_bytes(bytes.try_into().expect("as many as it has")) }
        }
        impl From<$ty> for super::Argument {
            fn from(number: $ty) -> super::Argument { super::Argument::number(&number.to_le_bytes(), stringify!($ty)) }
        }
    )*};
}

numbers!(u8 u16 u32 u64 i8 i16 i32 i64 f32 f64);
