//! Names of launches, and of the memory that they leave, for the results of a card in `machine/launches.txt`.

/// An FNV-1a hash of bytes in the order in which they are added.
struct Hash(u64);

impl Hash {
    fn new() -> Hash {
        Hash(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        self.0 = bytes.iter().fold(self.0, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    }

    /// Adds bytes with their number.
    fn part(&mut self, bytes: &[u8]) {
        self.add(&bytes.len().to_le_bytes());
        self.add(bytes);
    }
}

/// The buffer that an argument points to, and the offset in it.
pub(crate) fn pointed(argument: &[u8], buffers: &[(u64, &[u8])]) -> Option<(usize, u64)> {
    let word = u64::from_le_bytes(argument.try_into().ok()?);
    let within = |(at, (address, bytes)): (usize, &(u64, &[u8]))| {
        let offset = word.checked_sub(*address).filter(|offset| *offset <= bytes.len() as u64)?;
        Some((at, offset))
    };
    buffers.iter().enumerate().find_map(within)
}

/// The name of a launch: of its module's text, the kernel, the sizes of the grid, the arguments, and the buffers with their
/// addresses. Where buffers are does not matter.
pub(crate) fn launch(text: &str, kernel: &str, sizes: &[u32], arguments: &[Vec<u8>], buffers: &[(u64, &[u8])]) -> u64 {
    let mut hash = Hash::new();
    hash.part(text.as_bytes());
    hash.part(kernel.as_bytes());
    sizes.iter().for_each(|size| hash.add(&size.to_le_bytes()));
    for argument in arguments {
        match pointed(argument, buffers) {
            Some((at, offset)) => hash.part(&[at.to_le_bytes(), offset.to_le_bytes()].concat()),
            None => hash.part(argument),
        }
    }
    buffers.iter().for_each(|(_, bytes)| hash.part(bytes));
    hash.0
}

/// The name of what is in memory.
pub(crate) fn memory<'b>(buffers: impl Iterator<Item = &'b [u8]>) -> u64 {
    let mut hash = Hash::new();
    buffers.for_each(|bytes| hash.part(bytes));
    hash.0
}
