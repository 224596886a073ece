//! Kernels and their launches.

use std::prelude::rust_2024::*;
use std::{format, vec};

use std::io::Write as _;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use ptx_isa::table::{Memory as Belongs, Origin, Table};
use ptx_isa::text::resolved;

use super::argument::Argument;
use super::cluster;
use super::decode::{self, Code, Op};
use super::error::{Error, ErrorKind};
use super::groups::Groups;
use super::memory::Memory;
use super::order;
use super::races::Races;
use super::raw::Bytes;
use super::schedule;
use super::shape::{self, Limits};
use super::shares::Shares;

/// Launch configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Grid size in blocks, or in clusters if the kernel has `.blocksareclusters`: x, y, z.
    pub blocks: [u32; 3],
    /// Block size in threads: x, y, z.
    pub threads: [u32; 3],
    /// Cluster size in blocks: x, y, z. `[1; 3]` uses the kernel's `.reqnctapercluster`, if it has one.
    pub cluster: [u32; 3],
    /// Dynamic shared memory per block in bytes.
    pub shared: u32,
}

impl Grid {
    /// Creates a one-dimensional grid of `blocks` blocks with `threads` threads each.
    pub fn new(blocks: u32, threads: u32) -> Grid {
        Grid { blocks: [blocks, 1, 1], threads: [threads, 1, 1], cluster: [1; 3], shared: 0 }
    }

    /// Sets the cluster size to `blocks` blocks, in one dimension.
    #[must_use]
    pub fn cluster(self, blocks: u32) -> Grid {
        Grid { cluster: [blocks, 1, 1], ..self }
    }

    /// Sets the size of dynamic shared memory in bytes.
    #[must_use]
    pub fn shared(self, bytes: u32) -> Grid {
        Grid { shared: bytes, ..self }
    }
}

/// Number of warps after which machine code is worth the time that it takes to make it: some dozens of microseconds.
const OFTEN: u32 = 1024;

/// How launches run.
#[derive(Clone)]
pub struct Options {
    /// Number of host threads. With one, launches are deterministic, unless threads read registers that they have not written; with `None` or
    /// zero, the parallelism of the host is used.
    pub threads: Option<usize>,
    /// Maximum number of thread-instructions of a launch, checked between time slices.
    pub limit: u64,
    /// Stack size per thread in bytes, for kernels that recurse, call indirectly or allocate stack memory; others get what their frames
    /// need.
    pub stack: u64,
    /// Maximum size in bytes of the heap of `malloc`, which returns null beyond it.
    pub heap: u64,
    /// Defers asynchronous operations as long as PTX allows, in an order derived from this seed, so that missing waits become visible;
    /// `None` completes them at once, which PTX allows, too.
    pub delay: Option<u64>,
    /// Looks for data races: accesses of several threads to the same bytes, at least one of which writes, that nothing orders as section 8 of
    /// the manual says: no barrier, and no acquire of what was released. The first one that is found ends the launch with
    /// [`ErrorKind::Race`], with both accesses, whichever thread came first. Atomic and other strong accesses do not race with each other,
    /// and writes of what is in memory already are not reported. Such launches run on one thread of the host and check all addresses.
    ///
    /// Not all races are found: of many accesses of the same bytes some are remembered; scopes count as wide enough; asynchronous copies
    /// count as accesses of the thread that begins them, at once (see [`Options::delay`] for missing waits); `barrier.cluster.arrive.relaxed`
    /// counts as a release; what products of warpgroups and tensor memory read is not looked at.
    pub races: bool,
    /// Number of warps that come by a place of a kernel before what follows becomes machine code, once for all launches; 0 compiles at once,
    /// and `None` never. It changes no result, but which of several races is found first. Without the feature `jit`, and on machines without
    /// AVX-512, nothing is compiled.
    pub compile_after: Option<u32>,
    /// Takes what kernels print; standard output if there is none.
    pub print: Option<Arc<dyn Fn(&str) + Send + Sync>>,
    /// Called whenever a cluster has finished, or groups of blocks in lockstep have: the number of finished or cancelled blocks, and the number
    /// of blocks in the grid.
    pub progress: Option<Arc<dyn Fn(u64, u64) + Send + Sync>>,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("threads", &self.threads)
            .field("limit", &self.limit)
            .field("stack", &self.stack)
            .field("heap", &self.heap)
            .field("delay", &self.delay)
            .field("races", &self.races)
            .field("compile_after", &self.compile_after)
            .finish_non_exhaustive()
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            threads: None,
            limit: u64::MAX,
            stack: 1 << 16,
            heap: 1 << 28,
            delay: None,
            races: false,
            compile_after: Some(OFTEN),
            print: None,
            progress: None,
        }
    }
}

/// Statistics of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Instructions, counted once for each thread that executed them.
    pub instructions: u64,
    /// Wall-clock time of the execution, without decoding; zero if the host has no clock.
    pub time: Duration,
}

/// A module whose variables have memory, until it and its kernels are dropped.
#[derive(Clone, Debug)]
pub struct Module {
    loaded: Arc<Loaded>,
}

#[derive(Debug)]
struct Loaded {
    module: resolved::Module,
    limits: Limits,
    memory: Memory,
    /// The address of each variable; 0 for those that have none of their own.
    addresses: Vec<u64>,
    /// The addresses of each variable in constant memory.
    constants: Vec<Range<u64>>,
    /// The code of kernels that were asked for, without and with clusters.
    kernels: Vec<[OnceLock<Result<Code, Error>>; 2]>,
}

impl Module {
    /// Loads a module and allocates memory for its variables.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Module`] with the diagnostics if the text is not a valid module.
    pub fn load(text: &str, memory: &Memory) -> Result<Module, Error> {
        Module::link(&[text], memory)
    }

    /// Reads several modules as one program: what one declares `.extern`, another defines.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Module`]: with the diagnostics and the index of the first text that is not a valid module, or
    /// without diagnostics if two modules define the same name.
    pub fn link(texts: &[&str], memory: &Memory) -> Result<Module, Error> {
        let read = |(number, text): (usize, &&str)| {
            resolved::Module::read(&ptx_isa::TABLE, text).map_err(|diagnostics| {
                let message = match diagnostics.len() {
                    1 => "the module has an error".to_owned(),
                    count => format!("the module has {count} errors"),
                };
                let module = (texts.len() > 1).then_some(number);
                Error { module, ..Error::new(ErrorKind::Module(diagnostics), message) }
            })
        };
        let modules = texts.iter().enumerate().map(read).collect::<Result<_, _>>()?;
        let linked = resolved::Module::link(modules);
        Module::of(linked.map_err(|error| Error::new(ErrorKind::Module(Vec::new()), error.to_string()))?, memory)
    }

    /// Allocates memory for the variables of a module that has been read, with the table of PTX or with one of another spec: launches
    /// know the effects of instructions, not their names.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Memory`] if there is no memory for a variable, [`ErrorKind::Unsupported`] if initial contents have the address of
    /// something that no module defines.
    pub fn of(mut module: resolved::Module, memory: &Memory) -> Result<Module, Error> {
        module.functions.iter_mut().for_each(order::reorder);
        let mut loaded = Loaded {
            constants: Vec::new(),
            kernels: module.functions.iter().map(|_| [const { OnceLock::new() }; 2]).collect(),
            limits: Limits::new(module.table),
            addresses: vec![0; module.variables.len()],
            module,
            memory: memory.clone(),
        };
        if loaded.module.address_bits == 32 {
            memory.tell_apart();
        }
        for (variable, address) in loaded.module.variables.iter().zip(&mut loaded.addresses) {
            let own = matches!(decode::memory(variable), Some(Belongs::Device | Belongs::Constant));
            if own && variable.size > 0 && !decode::external(variable) {
                *address = memory.try_aligned(variable.size as usize, variable.align as usize).ok_or_else(|| {
                    let message = format!("there is no memory for the {} bytes of `{}`", variable.size, variable.name);
                    Error::new(ErrorKind::Memory, message)
                })?;
            }
        }
        let variables = loaded.module.variables.iter().zip(&loaded.addresses);
        let constants = variables
            .filter(|(variable, address)| **address != 0 && decode::memory(variable) == Some(Belongs::Constant));
        loaded.constants = constants.map(|(variable, address)| *address..address + variable.size).collect();
        loaded.initialize()?;
        Ok(Module { loaded: Arc::new(loaded) })
    }

    /// The kernels, in the order of the text.
    pub fn kernels(&self) -> impl Iterator<Item = Kernel> {
        let kernels = self.loaded.module.functions.iter().enumerate().filter(|(_, function)| function.kernel);
        kernels.map(|(number, _)| Kernel { loaded: self.loaded.clone(), number }).collect::<Vec<_>>().into_iter()
    }

    /// The kernel with a name.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoKernel`]
    pub fn kernel(&self, name: &str) -> Result<Kernel, Error> {
        self.kernels().find(|kernel| kernel.name() == name).ok_or_else(|| {
            Error::new(
                ErrorKind::NoKernel,
                format!("there is no kernel `{name}`; {}", self.named_kernels("the module has")),
            )
        })
    }

    /// The kernel of a module that has one.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoKernel`]
    pub fn only_kernel(&self) -> Result<Kernel, Error> {
        let mut kernels = self.kernels();
        match (kernels.next(), kernels.next()) {
            (Some(kernel), None) => Ok(kernel),
            _ => {
                Err(Error::new(ErrorKind::NoKernel, self.named_kernels("the module has several kernels: name one of")))
            }
        }
    }

    /// Lists the kernels behind a text, or says that there are none.
    fn named_kernels(&self, before: &str) -> String {
        let names: Vec<String> = self.kernels().map(|kernel| format!("`{}`", kernel.name())).collect();
        match names.is_empty() {
            true => "the module has no kernel".to_owned(),
            false => format!("{before} {}", names.join(", ")),
        }
    }

    /// Returns the address and the size in bytes of a module-scope variable in global or constant memory; `None` if there is none of this
    /// name, or if it is `.extern`. The module frees it: [`Memory::free`] must not.
    pub fn variable(&self, name: &str) -> Option<(u64, u64)> {
        let Loaded { module, addresses, .. } = &*self.loaded;
        let number = module.variables.iter().position(|variable| variable.name == name)?;
        (addresses[number] != 0).then(|| (addresses[number], module.variables[number].size))
    }

    /// The module with every name resolved. Instructions are in the order in which threads execute them: in long sequences that only compute,
    /// independent ones take turns.
    pub fn resolved(&self) -> &resolved::Module {
        &self.loaded.module
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        for address in self.addresses.iter().filter(|address| **address != 0) {
            self.memory.free(*address);
        }
    }
}

impl Loaded {
    fn initialize(&self) -> Result<(), Error> {
        for (variable, address) in self.module.variables.iter().zip(&self.addresses) {
            if *address == 0 {
                continue;
            }
            for resolved::Bytes { offset, bytes } in &variable.initial {
                self.memory.write(address + offset, bytes)?;
            }
            for relocation in &variable.relocations {
                use resolved::Symbol;
                let target = match relocation.symbol {
                    Some(Symbol::Module(number)) if !decode::external(&self.module.variables[number]) => {
                        self.addresses[number]
                    }
                    Some(Symbol::Function(number)) => decode::FUNCTIONS + number as u64 * decode::FUNCTION,
                    _ => {
                        let message =
                            format!("no module defines `{}`, whose address `{}` holds", relocation.name, variable.name);
                        return Err(Error::unsupported(message));
                    }
                };
                let value = target.wrapping_add(relocation.addend);
                let value = (value & relocation.mask) >> relocation.mask.trailing_zeros().min(63);
                let bytes = &value.to_le_bytes()[..relocation.bytes.min(8) as usize];
                self.memory.write(address + relocation.offset, bytes)?;
            }
        }
        Ok(())
    }
}

/// A kernel of a module. Behind a launch it keeps what blocks of up to 128 warps need for the next one: registers, and up to 256 KiB of shared
/// memory and stacks.
#[derive(Clone, Debug)]
pub struct Kernel {
    loaded: Arc<Loaded>,
    number: usize,
}

impl Kernel {
    fn function(&self) -> &resolved::Function {
        &self.loaded.module.functions[self.number]
    }

    /// The table of its instructions and types.
    pub(super) fn table(&self) -> &'static Table {
        self.loaded.module.table
    }

    pub(super) fn limits(&self) -> &Limits {
        &self.loaded.limits
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.function().name
    }

    /// Its parameters, in order.
    pub fn parameters(&self) -> impl Iterator<Item = &resolved::Variable> {
        let function = self.function();
        function.parameters.iter().filter_map(|parameter| function.parameter(parameter))
    }

    /// Bits of an address: 64, or 32 if its module says so. Then a pointer parameter takes the low half of a pointer.
    pub fn address_bits(&self) -> u32 {
        self.loaded.module.address_bits
    }

    /// Operands of a directive of the kernel's head, such as `maxntid`; `None` if it has none.
    pub fn directive(&self, name: &str) -> Option<&[u64]> {
        self.function().directive(name)
    }

    /// Decodes it, unless that was done before.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] names the first statement that this machine cannot execute.
    pub fn prepare(&self) -> Result<(), Error> {
        self.code(self.has_clusters()).map(|_| ())
    }

    /// Static shared memory per block in bytes, padding included.
    ///
    /// # Errors
    ///
    /// As [`Kernel::prepare`].
    pub fn shared(&self) -> Result<u64, Error> {
        self.code(self.has_clusters()).map(|code| code.static_shared)
    }

    /// Returns true if its head requires clusters of several blocks.
    fn has_clusters(&self) -> bool {
        self.directive("reqnctapercluster").is_some_and(|numbers| numbers.iter().any(|count| *count > 1))
    }

    fn code(&self, clusters: bool) -> Result<&Code, Error> {
        let Loaded { module, addresses, kernels, .. } = &*self.loaded;
        let code = kernels[self.number][usize::from(clusters)].get_or_init(|| {
            decode::decode(module, self.number, addresses, clusters)
                .map_err(|error| Error { kernel: Some(self.name().to_owned()), ..error })
        });
        code.as_ref().map_err(Error::clone)
    }

    /// Launches the kernel and waits for its completion.
    ///
    /// # Errors
    ///
    /// Returns the error that prevented or ended the launch. After an error, memory is left as the threads have written
    /// it.
    pub fn launch(&self, grid: Grid, arguments: &[Argument]) -> Result<Report, Error> {
        self.launch_with(grid, arguments, &Options::default())
    }

    /// Launches the kernel with options and waits for its completion.
    ///
    /// # Errors
    ///
    /// As [`Kernel::launch`].
    pub fn launch_with(&self, grid: Grid, arguments: &[Argument], options: &Options) -> Result<Report, Error> {
        self.run(grid, arguments, options, true)
    }

    /// As [`Kernel::launch_with`], without checking that global addresses lie in an allocation.
    ///
    /// # Safety
    ///
    /// Every global address that the kernel accesses is valid for that access, and no other thread of the host accesses the memory during
    /// the launch.
    ///
    /// # Errors
    ///
    /// As [`Kernel::launch`].
    #[allow(unsafe_code, reason = "what kernels access is up to the caller")]
    pub unsafe fn launch_unchecked(
        &self,
        grid: Grid,
        arguments: &[Argument],
        options: &Options,
    ) -> Result<Report, Error> {
        self.run(grid, arguments, options, false)
    }

    /// Maximum size in bytes of the shared memory of a block, without what is reserved.
    fn shared_limit(&self) -> Option<u64> {
        decode::shared_space(&self.loaded.module).and_then(|space| space.limit)
    }

    fn run(&self, grid: Grid, arguments: &[Argument], options: &Options, checked: bool) -> Result<Report, Error> {
        let named = |error: Error| Error { kernel: Some(self.name().to_owned()), ..error };
        let function = self.function();
        let no_memory = || named(Error::new(ErrorKind::Memory, "the host has no memory for the launch"));
        let parameters = Bytes::try_zeroed(function.parameter_bytes as usize).ok_or_else(no_memory)?;
        self.write_parameters(arguments, &parameters).map_err(named)?;
        let (blocks, cluster) = self.shape(&grid).map_err(named)?;
        let code = self.code(cluster != [1; 3])?;
        let all = code.static_shared.saturating_add(grid.shared.into());
        if let Some(limit) = self.shared_limit().filter(|limit| all > *limit) {
            let message = format!("a block needs {all} bytes of shared memory; the limit is {limit}");
            return Err(named(Error::new(ErrorKind::Shape, message)));
        }
        let narrow = self.loaded.module.address_bits == 32;
        if narrow && !checked {
            let message = "unchecked launches require 64-bit addresses";
            return Err(named(Error::unsupported(message)));
        }
        if narrow && !self.loaded.memory.tell_apart() {
            let message =
                "two allocations have pointers with the same low 32 bits; load the module before they are made";
            return Err(named(Error::new(ErrorKind::Memory, message)));
        }
        let meets = code.specials.iter().any(|read| read.origin == Origin::Workspace);
        let workspace = if meets { self.loaded.memory.allocate(WORKSPACE) } else { 0 };
        let running = self.loaded.memory.running();
        let mut launched = Launched {
            loaded: &self.loaded,
            code,
            memory: &self.loaded.memory,
            options,
            checked: checked || options.races,
            ended: running.ended,
            narrow,
            block: grid.threads,
            grid: blocks,
            cluster,
            dynamic_shared: grid.shared.into(),
            parameters,
            workspace,
            groups: Groups::default(),
            ticks: AtomicU64::new(0),
            shares: Shares::default(),
            cancelled: AtomicU64::new(0),
            stuck: AtomicBool::new(false),
            races: options.races.then(Box::default),
            number: LAUNCHES.fetch_add(1, Ordering::Relaxed) + 1,
        };
        launched.groups = launched.in_lockstep();
        launched.shares = launched.shared_out();
        let start = now();
        let ran = schedule::run(&launched).map_err(named);
        drop(running);
        if meets {
            self.loaded.memory.free(workspace);
        }
        let instructions = ran?;
        Ok(Report { instructions, time: start.map_or(Duration::ZERO, |start| start.elapsed()) })
    }
}

/// A launch that runs.
pub(crate) struct Launched<'l> {
    loaded: &'l Loaded,
    pub code: &'l Code,
    pub memory: &'l Memory,
    pub options: &'l Options,
    /// True if global addresses must lie in an allocation.
    pub checked: bool,
    /// Number of allocations of the memory that had ended before it began.
    pub ended: u64,
    /// True if addresses have 32 bits.
    pub narrow: bool,
    pub block: [u32; 3],
    pub grid: [u32; 3],
    pub cluster: [u32; 3],
    /// Blocks that run in lockstep.
    pub groups: Groups,
    pub dynamic_shared: u64,
    pub parameters: Bytes,
    /// The address of the memory in which the blocks of a cooperative grid meet; zero if the kernel does not ask for it.
    pub workspace: u64,
    pub ticks: AtomicU64,
    pub shares: Shares,
    /// Clusters that will not begin.
    pub cancelled: AtomicU64,
    /// True if a block has waited in vain for what others change, since one of these gave way to it.
    pub stuck: AtomicBool,
    /// The accesses of its threads, if it looks for races.
    pub races: Option<Box<Mutex<Races>>>,
    /// The number of the launch, counted from one.
    pub number: u64,
}

/// Number of launches in this process.
static LAUNCHES: AtomicU64 = AtomicU64::new(0);

/// Bytes of the memory in which the blocks of a cooperative grid meet.
const WORKSPACE: usize = 256;

/// The time, where the host has a clock: WebAssembly has none of its own.
fn now() -> Option<Instant> {
    (!cfg!(all(target_family = "wasm", target_os = "unknown"))).then(Instant::now)
}

/// The threads that the host runs at once.
fn host_threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| std::thread::available_parallelism().map_or(1, usize::from))
}

/// Maximum number of threads of the host that run a launch.
const MOST_WORKERS: usize = 256;

/// Maximum number of warps in lockstep: it amortizes the dispatch of an instruction and what is computed once for all threads.
const WARPS: usize = 64;
/// The same for kernels that may be compiled, if they do not branch by what threads compute, or their blocks may wait for each other: machine
/// code has its registers in those of the machine.
const COMPILED_WARPS: usize = 128;
/// Maximum shared and local memory in bytes of the blocks in lockstep, so that it stays in the cache.
const CACHED: u64 = 1 << 18;

impl Launched<'_> {
    /// Returns the blocks that run in lockstep, limited by their warps, [`CACHED`] and the number of host threads.
    fn in_lockstep(&self) -> Groups {
        let per = self.threads().div_ceil(32);
        // Whatever the options are: which blocks run together may decide in which order they add floats.
        #[cfg(feature = "jit")]
        let may_compile = !self.code.slots.is_empty();
        #[cfg(not(feature = "jit"))]
        let may_compile = false;
        let warps = if may_compile && !(self.code.diverges && self.code.apart) { COMPILED_WARPS } else { WARPS };
        if !self.code.lockstep || self.cluster != [1; 3] || per >= warps {
            return Groups::new(self.grid, 1, false);
        }
        let shared = (self.code.reserved_shared + self.code.static_shared + self.dynamic_shared).max(1);
        let bytes = shared.saturating_add(self.code.frames.saturating_mul(32 * per as u64));
        let workers = self.workers() as u64;
        // Each thread of the host has several turns, so that all end at about the same time.
        let turns = if workers == 1 { 1 } else { 2 * workers };
        let most = (warps / per).min((CACHED / bytes) as usize).min((self.blocks() / turns) as usize);
        Groups::new(self.grid, most, self.code.compares)
    }

    /// Returns the number of threads of the host that may run it.
    pub(super) fn workers(&self) -> usize {
        if self.options.races {
            return 1;
        }
        self.options.threads.filter(|threads| *threads > 0).unwrap_or_else(host_threads).min(MOST_WORKERS)
    }

    /// Returns the number of blocks.
    pub(crate) fn blocks(&self) -> u64 {
        shape::count(&self.grid)
    }

    /// Returns the number of blocks of a cluster.
    pub(crate) fn cluster_size(&self) -> u64 {
        shape::count(&self.cluster)
    }

    pub(crate) fn threads(&self) -> usize {
        shape::count(&self.block) as usize
    }

    /// The allocation to begin with: none, or all of the host's addresses where nothing is checked.
    pub(crate) fn everywhere(&self) -> (usize, usize) {
        if self.checked { (0, 0) } else { (0, 1_usize.checked_shl(48).unwrap_or(usize::MAX)) }
    }

    /// Shares the clusters out among the threads of the host; all of them are one share if blocks may wait for those before them. Blocks that
    /// run in lockstep count as one cluster.
    fn shared_out(&self) -> Shares {
        let clusters = if self.groups.most() > 1 { self.groups.len() } else { self.blocks() / self.cluster_size() };
        Shares::new(clusters, if self.code.apart { clusters.min(self.workers() as u64) } else { 1 })
    }

    /// Number of clusters directly behind one that have not begun: those of its share, or half of them where other threads of the host may
    /// take some.
    #[cfg(feature = "jit")]
    pub(crate) fn left_behind(&self, number: u64) -> u64 {
        let left = self.shares.left_behind(number);
        if self.workers() == 1 { left } else { left / 2 }
    }

    /// Cancels a cluster that has not begun; gives the index of its first block.
    pub(crate) fn cancel(&self) -> Option<[u32; 3]> {
        let number = self.shares.claim(0)?;
        self.cancelled.fetch_add(1, Ordering::Relaxed);
        Some(cluster::first_block(self, number))
    }

    pub(crate) fn print(&self, text: &str) {
        match &self.options.print {
            Some(print) => print(text),
            // Flush, because other languages have output buffers of their own. Errors are ignored: a closed output must
            // not end the launch.
            None => {
                let mut out = std::io::stdout().lock();
                let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
            }
        }
    }

    /// Returns true if an address lies in a variable in constant memory.
    pub(crate) fn is_constant(&self, address: u64) -> bool {
        self.loaded.constants.iter().any(|variable| variable.contains(&address))
    }

    pub(crate) fn module(&self) -> &resolved::Module {
        &self.loaded.module
    }

    /// An error at an operation: at its statement, or where its function ends.
    pub(crate) fn located(&self, at: usize, error: Error) -> Error {
        let module = &self.loaded.module;
        let Op::Effect { instruction, function, .. } = &self.code.ops[at] else { return error };
        let function = &module.functions[*function as usize];
        match function.instructions.get(*instruction as usize) {
            Some(instruction) => error.at(module, instruction),
            None => Error { statement: Some(String::new()), line: Some(module.line(function.at.end)), ..error },
        }
    }
}
