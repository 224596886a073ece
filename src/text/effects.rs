//! Effects of instructions on registers, memory, control flow and other threads, for liveness analyses, schedulers and linters.
//!
//! ```
//! use ptx_isa::text::Statement;
//! use ptx_isa::text::effects::{Flow, Synchronization};
//!
//! let effects = |text| Statement::parse(&ptx_isa::TABLE, text).unwrap().effects();
//! let names = |list: &[_]| list.iter().map(|it: &ptx_isa::text::statement::Register<'_>| it.to_string()).collect::<Vec<_>>();
//!
//! let load = effects("@%p1 ld.acquire.gpu.shared.v2.u32 {%r1, %r2}, [%rd1+8];");
//! assert_eq!((names(&load.reads), names(&load.writes)), (vec!["%p1".into(), "%rd1".into()], vec!["%r1".into(), "%r2".into()]));
//! let access = &load.memory[0];
//! assert_eq!((access.space.unwrap(), access.bytes, access.read, access.written), ("shared", 8, true, false));
//! assert_eq!((access.order, access.scope), (Some("acquire"), Some("gpu")));
//!
//! assert_eq!(effects("addc.cc.u32 %r1, %r2, %r3;").states_read, ["CC.CF"]);
//! assert_eq!(effects("bar.sync 0;").synchronization, [Synchronization::Wait { barrier: Some(0) }]);
//! assert_eq!(effects("ret;").flow, Flow::Return);
//! assert_eq!(effects("tex.1d.v4.f32.s32 {a, b, c, d}, [t, {x}];").lacks, Some("textures and surfaces are not modeled"));
//! ```

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use isa_table::count::Count;

use super::statement::{Element, Register, Second, Statement, Value};
use crate::table::{Effect, EffectKind, FormInfo, Free, NO_OPERAND, Operand, OperandKind};

/// Effects of an instruction on registers, memory, control flow and other threads. Registers are whatever names them: indices
/// in a [resolved](super::resolved) function, names in a statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Effects<R> {
    /// The registers that it reads, the guard and parts of addresses included, each once.
    pub reads: Vec<R>,
    /// The registers that it writes, each once. Under a guard they may keep what they hold.
    pub writes: Vec<R>,
    /// The states of the thread that it reads, which no statement names: the carry.
    pub states_read: Vec<&'static str>,
    /// The states of the thread that it writes.
    pub states_written: Vec<&'static str>,
    /// Its accesses to memory, in their order.
    pub memory: Vec<Access>,
    /// Control flow after the instruction.
    pub flow: Flow,
    /// How it waits for other threads, or orders what they see.
    pub synchronization: Vec<Synchronization>,
    /// Why effects beyond registers are not described, and the instruction cannot be executed; `None` where they are.
    pub lacks: Option<&'static str>,
}

/// An access to memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Access {
    /// The word of the state space, `shared::cta`, whose meaning [`Table::space`](crate::table::Table::space) tells; none for a
    /// generic address.
    pub space: Option<&'static str>,
    /// The place of the address among the operands.
    pub operand: usize,
    /// The bytes of all elements; 0 if an operand says how many.
    pub bytes: u32,
    /// True if it reads.
    pub read: bool,
    /// True if it writes. An access that does both is atomic.
    pub written: bool,
    /// The modifier that says how it is ordered with others, if there is one.
    pub order: Option<&'static str>,
    /// The modifier that says with which threads.
    pub scope: Option<&'static str>,
}

/// Control flow after an instruction. A guarded instruction may also fall through.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Flow {
    /// To the next one.
    #[default]
    Next,
    /// To a label.
    Branch,
    /// To one of several labels.
    IndirectBranch,
    /// To a function and back.
    Call,
    /// To the caller; the thread ends where there is none.
    Return,
    /// Nowhere: the thread ends.
    Exit,
    /// Nowhere: the launch is aborted.
    Trap,
}

impl Flow {
    /// The name in data: `indirect_branch`.
    pub fn name(self) -> &'static str {
        match self {
            Flow::Next => "next",
            Flow::Branch => "branch",
            Flow::IndirectBranch => "indirect_branch",
            Flow::Call => "call",
            Flow::Return => "return",
            Flow::Exit => "exit",
            Flow::Trap => "trap",
        }
    }
}

/// How an instruction synchronizes threads. Barriers are places among the operands, where a statement may name one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Synchronization {
    /// Orders accesses to memory.
    Fence {
        /// The modifier that says how.
        order: Option<&'static str>,
        /// The modifier that says for which threads.
        scope: Option<&'static str>,
    },
    /// Waits at a barrier of the block.
    Wait {
        /// The place of the barrier among the operands.
        barrier: Option<usize>,
    },
    /// Arrives at a barrier of the block without waiting.
    Arrive {
        /// The place of the barrier among the operands.
        barrier: Option<usize>,
    },
    /// Waits at the barrier of the cluster.
    WaitCluster,
    /// Arrives at the barrier of the cluster without waiting.
    ArriveCluster,
    /// Waits for the lanes of a member mask.
    Converge,
}

impl Synchronization {
    /// The name in data: `wait_cluster`.
    pub fn name(self) -> &'static str {
        match self {
            Synchronization::Fence { .. } => "fence",
            Synchronization::Wait { .. } => "wait",
            Synchronization::Arrive { .. } => "arrive",
            Synchronization::WaitCluster => "wait_cluster",
            Synchronization::ArriveCluster => "arrive_cluster",
            Synchronization::Converge => "converge",
        }
    }
}

/// The effects of a form with free modifiers, its operands called as the manual calls them.
pub fn of_form(form: FormInfo, free: &Free) -> Effects<&'static str> {
    collect(Chosen::with(form, free), None, names)
}

/// Returns the effects of a form for any choice of its free modifiers: each free modifier is represented by its slot's
/// name.
pub fn of_any(form: FormInfo) -> Effects<&'static str> {
    let mut effects = collect(Chosen::any(form), None, names);
    // Free modifiers may choose between effects with the same access.
    effects.memory.dedup();
    effects
}

/// Names of the registers of an operand in the manual.
fn names(_: usize, info: &'static Operand, list: &mut Vec<&'static str>) {
    if !info.registers.is_empty() {
        list.extend([info.name].into_iter().chain(info.second.map(|second| second.name)));
    }
}

/// A form with its free modifiers, or whatever they are.
#[derive(Clone, Copy)]
pub(super) struct Chosen<'f> {
    form: FormInfo,
    free: Option<&'f Free>,
}

impl<'f> Chosen<'f> {
    pub(super) fn with(form: FormInfo, free: &'f Free) -> Chosen<'f> {
        Chosen { form, free: Some(free) }
    }

    fn any(form: FormInfo) -> Chosen<'f> {
        Chosen { form, free: None }
    }

    fn modifier(self, slot: u8) -> Option<&'static str> {
        match self.free {
            Some(free) => self.form.modifier(free, slot),
            None => slot_or_member(self.form, slot),
        }
    }

    pub(super) fn effects(self) -> Vec<&'static Effect> {
        match self.free {
            Some(free) => self.form.effects_with(free).collect(),
            None => self.form.effects().effects.iter().collect(),
        }
    }
}

/// The name of a free slot, the member in any other.
fn slot_or_member(form: FormInfo, slot: u8) -> Option<&'static str> {
    let info = form.instruction().data().slots.get(usize::from(slot))?;
    if info.free { Some(info.name) } else { form.modifier(&Free::NONE, slot) }
}

impl<'a> Statement<'a> {
    /// Its effects on registers, memory, control flow and other threads. A name that the table calls a special register is
    /// one, any other a register.
    pub fn effects(&self) -> Effects<Register<'a>> {
        self.effects_among(|_| true)
    }

    /// The same among declarations: `declared` says of a name whether a register has it.
    pub fn effects_among(&self, declared: impl Fn(&'a str) -> bool) -> Effects<Register<'a>> {
        let is_register = |name: &'a str| self.table().special(name).is_none() && declared(name);
        let guard = self.guard().map(|guard| Register { name: guard.register, element: None });
        let registers = |place: usize, _: &'static Operand, list: &mut Vec<Register<'a>>| {
            let operand = &self.operands()[place];
            let mut push = |register: Register<'a>| {
                if is_register(register.name) {
                    list.push(register);
                }
            };
            match operand.value {
                Value::Register(register) | Value::Negated(register) => push(register),
                Value::Sum { name, .. } => push(Register { name, element: None }),
                Value::Vector(elements) | Value::Arguments(elements) => elements.iter().for_each(|element| {
                    if let Element::Register(register) = element {
                        push(register);
                    }
                }),
                _ => {}
            }
            if let Some(Second::Register(name)) = operand.second {
                push(Register { name, element: None });
            }
        };
        collect(Chosen::with(self.form(), self.free()), guard, registers)
    }
}

/// Adds the registers that an instruction with these effects reads, and those that it writes, to two lists, each once.
pub(super) fn uses<R: PartialEq>(
    form: FormInfo,
    effects: &[&'static Effect],
    guard: Option<R>,
    mut registers: impl FnMut(usize, &'static Operand, &mut Vec<R>),
    [reads, writes]: [&mut Vec<R>; 2],
) {
    reads.extend(guard);
    for (place, info) in form.operands().iter().enumerate() {
        let of = |kind: EffectKind| effects.iter().filter(move |effect| effect.kind == kind);
        // The results of a call are written, but are not destinations of its form.
        let written =
            info.destination || of(EffectKind::Call).any(|effect| effect.arguments.first() == Some(&(place as u8)));
        // The destination of a product of a warpgroup is also the accumulator.
        let read = !written || of(EffectKind::MultiplyGroup).any(|effect| effect.result == place as u8);
        for (list, wanted) in [(&mut *reads, read), (&mut *writes, written)] {
            if wanted {
                let start = list.len();
                registers(place, info, list);
                for index in (start..list.len()).rev() {
                    if list[..index].contains(&list[index]) {
                        list.remove(index);
                    }
                }
            }
        }
    }
}

/// Control flow after an instruction with these effects.
pub(super) fn flow(effects: impl Iterator<Item = &'static Effect>) -> Flow {
    let flows = effects.filter_map(|effect| match effect.kind {
        EffectKind::Branch => Some(Flow::Branch),
        EffectKind::BranchIndexed => Some(Flow::IndirectBranch),
        EffectKind::Call => Some(Flow::Call),
        EffectKind::Return => Some(Flow::Return),
        EffectKind::Exit => Some(Flow::Exit),
        EffectKind::Trap => Some(Flow::Trap),
        _ => None,
    });
    flows.fold(Flow::Next, |_, flow| flow)
}

/// The effects of an instruction; `registers` adds those of an operand.
pub(super) fn collect<R: PartialEq>(
    chosen: Chosen<'_>,
    guard: Option<R>,
    registers: impl FnMut(usize, &'static Operand, &mut Vec<R>),
) -> Effects<R> {
    let form = chosen.form;
    let (list, all) = (form.effects(), chosen.effects());
    let modifier = |slot| chosen.modifier(slot);
    let (mut reads, mut writes) = (Vec::new(), Vec::new());
    uses(form, &all, guard, registers, [&mut reads, &mut writes]);
    let states = |written: bool| {
        form.states().iter().filter(move |state| state.destination == written).map(|state| state.name).collect()
    };
    let mut effects = Effects {
        reads,
        writes,
        states_read: states(false),
        states_written: states(true),
        memory: Vec::new(),
        flow: flow(all.iter().copied()),
        synchronization: Vec::new(),
        lacks: Some(list.lacks).filter(|reason| !reason.is_empty()),
    };
    for effect in all {
        let barrier = effect.arguments.first().filter(|place| **place != NO_OPERAND).map(|place| usize::from(*place));
        // A reduction has an effect for each type of elements.
        let again = effect.kind == EffectKind::BeginReduceTensor;
        for access in accesses(form, effect, &modifier) {
            if !again || !effects.memory.contains(&access) {
                effects.memory.push(access);
            }
        }
        effects.synchronization.extend(match effect.kind {
            EffectKind::Fence => {
                let [order, scope] = ordering(effect, modifier);
                Some(Synchronization::Fence { order, scope })
            }
            EffectKind::Wait | EffectKind::WaitCount | EffectKind::WaitAll | EffectKind::WaitAny => {
                Some(Synchronization::Wait { barrier })
            }
            EffectKind::Arrive => Some(Synchronization::Arrive { barrier }),
            EffectKind::ArriveCluster => Some(Synchronization::ArriveCluster),
            EffectKind::WaitCluster => Some(Synchronization::WaitCluster),
            EffectKind::Converge => Some(Synchronization::Converge),
            _ => None,
        });
    }
    effects
}

/// The accesses to memory of an effect.
fn accesses<'m>(
    form: FormInfo,
    effect: &'m Effect,
    modifier: &'m impl Fn(u8) -> Option<&'static str>,
) -> impl Iterator<Item = Access> + 'm {
    addresses(effect.kind).iter().filter_map(move |(index, read, written)| {
        let operand = usize::from(*effect.arguments.get(*index)?);
        let address = form.operands().iter().nth(operand)?;
        let space = space(address, modifier);
        let [order, scope] = ordering(effect, modifier);
        Some(Access { space, operand, bytes: bytes(form, effect), read: *read, written: *written, order, scope })
    })
}

/// The addresses among the arguments of an effect, and whether it reads and writes there. Effects on tensors write memory that the tensor map
/// names, too.
fn addresses(kind: EffectKind) -> &'static [(usize, bool, bool)] {
    match kind {
        EffectKind::CopyBytes | EffectKind::BeginCopy | EffectKind::BeginLoadTensor => {
            &[(0, false, true), (1, true, false)]
        }
        EffectKind::BeginReduce => &[(0, true, true), (1, true, false)],
        EffectKind::BeginStoreTensor | EffectKind::BeginReduceTensor => &[(0, true, false), (2, true, false)],
        EffectKind::Read
        | EffectKind::Inspect
        | EffectKind::ReadRows
        | EffectKind::ReadMatrix
        | EffectKind::ReadColumns => &[(0, true, false)],
        EffectKind::Write
        | EffectKind::WriteRows
        | EffectKind::WriteMatrix
        | EffectKind::WriteColumns
        | EffectKind::BeginWrite
        | EffectKind::BeginCancel => &[(0, false, true)],
        EffectKind::Update
        | EffectKind::BeginUpdate
        | EffectKind::Signal
        | EffectKind::AfterCopies
        | EffectKind::AfterTensorOperations
        | EffectKind::ReplaceField => &[(0, true, true)],
        _ => &[],
    }
}

/// Returns whether a form reads memory and whether it writes memory, for any choice of its free modifiers.
pub(super) fn memory_of(form: FormInfo) -> (bool, bool) {
    let places = form.effects().effects.iter().flat_map(|effect| addresses(effect.kind));
    places.fold((false, false), |all, (_, read, written)| (all.0 | read, all.1 | written))
}

/// The bytes of all elements that an access moves; 0 if something else says how many.
fn bytes(form: FormInfo, effect: &Effect) -> u32 {
    let changed = form.changed_bits(effect).map(u32::from);
    match effect.kind {
        EffectKind::CopyBytes
        | EffectKind::BeginCopy
        | EffectKind::BeginReduce
        | EffectKind::BeginLoadTensor
        | EffectKind::BeginStoreTensor
        | EffectKind::BeginReduceTensor => return 0,
        EffectKind::Signal | EffectKind::AfterCopies | EffectKind::AfterTensorOperations => {
            return changed.unwrap_or(0) / 8;
        }
        EffectKind::BeginCancel => return 16,
        EffectKind::ReplaceField => return 128,
        _ => {}
    }
    moved(form, effect).map_or(changed.unwrap_or(0) / 8, |info| {
        let elements = if let OperandKind::Vector(count) = info.kind { count.into() } else { 1 };
        changed.unwrap_or(form.table().ty(info.ty).bits.into()) / 8 * elements
    })
}

/// Returns the state space of an address: the space that the modifier names, or the operand's only space.
pub(crate) fn space(address: &Operand, modifier: impl Fn(u8) -> Option<&'static str>) -> Option<&'static str> {
    let fixed = address.spaces.first().filter(|_| address.space.is_none() && address.spaces.len() == 1).copied();
    address.space.and_then(modifier).or(fixed)
}

/// The operand that an access moves to or from memory.
fn moved(form: FormInfo, effect: &Effect) -> Option<&'static Operand> {
    let writes = [
        EffectKind::Write,
        EffectKind::WriteRows,
        EffectKind::WriteMatrix,
        EffectKind::WriteColumns,
        EffectKind::BeginWrite,
    ];
    let written = effect.arguments.get(1).filter(|_| writes.contains(&effect.kind));
    let named = [effect.result].into_iter().chain(written.copied()).find(|place| *place != NO_OPERAND);
    match named {
        Some(place) => form.operands().iter().nth(place.into()),
        // Syntax lines may have a name of their own for it: the first value.
        None => form.operands().iter().find(|info| info.kind.is_value()),
    }
}

/// The modifiers that say how an access or a fence is ordered, and with which threads.
fn ordering(effect: &Effect, modifier: impl Fn(u8) -> Option<&'static str>) -> [Option<&'static str>; 2] {
    // They are the last two words of each.
    let first = match effect.kind {
        EffectKind::Fence => 0,
        EffectKind::Read => 1,
        EffectKind::Write | EffectKind::Update | EffectKind::Inspect => 2,
        _ => return [None; 2],
    };
    [first, first + 1].map(|index| {
        let slot = effect.arguments.get(index).copied().filter(|slot| *slot != NO_OPERAND);
        slot.and_then(&modifier)
    })
}

/// The effects of a form beyond registers in words, as a reference tells them of all statements of an entry: modifiers and
/// operands by their names.
pub fn in_words(form: FormInfo) -> Vec<String> {
    let amount = |effect: &Effect| {
        moved(form, effect).map_or(amount(form, effect), |info| format!("the bytes of `{}`", info.name))
    };
    sentences(Chosen::any(form), &amount, &|info, _| info.with_around(info.name))
}

/// The same of a form with free modifiers.
pub fn of_form_in_words(form: FormInfo, free: &Free) -> Vec<String> {
    let effects = of_form(form, free);
    let operands = |info: &Operand, _| info.with_around(info.name);
    let beyond = sentences(Chosen::with(form, free), &|effect| amount(form, effect), &operands);
    effects.registers_in_words().chain(beyond).collect()
}

impl<R: fmt::Display> Effects<R> {
    /// Registers that it reads and writes, in words.
    fn registers_in_words(&self) -> impl Iterator<Item = String> {
        let list = |verb, registers: &[R], states: &[&str]| {
            let names = registers.iter().map(|register| format!("`{register}`"));
            let all: Vec<String> = names.chain(states.iter().map(|state| format!("`{state}`"))).collect();
            (!all.is_empty()).then(|| format!("{verb} {}", all.join(", ")))
        };
        let read = list("Reads", &self.reads, &self.states_read);
        let written = list("Writes", &self.writes, &self.states_written);
        read.into_iter().chain(written)
    }
}

impl<'a> Statement<'a> {
    /// Its effects in words; `declared` says of a name whether a register has it.
    pub fn effects_in_words(&self, declared: impl Fn(&'a str) -> bool) -> Vec<String> {
        let form = self.form();
        let operand = |_: &Operand, place| self.operand_text(place);
        let beyond = sentences(Chosen::with(form, self.free()), &|effect| amount(form, effect), &operand);
        self.effects_among(declared).registers_in_words().chain(beyond).collect()
    }
}

/// `8 bytes`
fn amount(form: FormInfo, effect: &Effect) -> String {
    Count(bytes(form, effect) as usize, "byte").to_string()
}

/// A sentence for each effect that a program can observe beyond registers, and for what is not described.
fn sentences(
    chosen: Chosen<'_>,
    amount: &dyn Fn(&Effect) -> String,
    operand: &dyn Fn(&Operand, usize) -> String,
) -> Vec<String> {
    let (form, word) = (chosen.form, |slot| chosen.modifier(slot));
    let list = form.effects();
    let told = chosen.effects().into_iter().filter_map(|effect| {
        let [order, scope] = ordering(effect, word);
        let order = order.map(|order| format!("`.{order}`"));
        let scope = scope.map(|scope| format!("`.{scope}` scope"));
        let ordering: Vec<String> = order.into_iter().chain(scope).collect();
        let ordering = if ordering.is_empty() { String::new() } else { format!(" ({})", ordering.join(", ")) };
        let place = effect.arguments.first().map(|place| usize::from(*place));
        let first = place.and_then(|place| Some((form.operands().iter().nth(place)?, place)));
        let access = |verb: &str| {
            let (info, place) = first?;
            let space = space(info, word).map(|space| format!(" in `.{space}`"));
            let space = space.unwrap_or_else(|| ", a generic address".into());
            Some(format!("{verb} {} at `{}`{space}{ordering}", amount(effect), operand(info, place)))
        };
        let name = |index: usize| {
            let place = usize::from(*effect.arguments.get(index)?);
            Some(operand(form.operands().iter().nth(place)?, place))
        };
        let blocks =
            |mask: Option<String>| mask.map_or(String::new(), |mask| format!(" in each block of the mask `{mask}`"));
        let barrier = || first.map_or(String::new(), |(info, place)| format!(" `{}`", operand(info, place)));
        let text = match effect.kind {
            EffectKind::Read
            | EffectKind::Inspect
            | EffectKind::ReadRows
            | EffectKind::ReadMatrix
            | EffectKind::ReadColumns => return access("Reads"),
            EffectKind::Write | EffectKind::WriteRows | EffectKind::WriteMatrix | EffectKind::WriteColumns => {
                return access("Writes");
            }
            EffectKind::CopyBytes => {
                let (to, from, size) = (name(0)?, name(1)?, name(2)?);
                format!("Copies `{size}` bytes from `{from}` to `{to}`")
            }
            EffectKind::BeginCopy => {
                let (to, from, size) = (name(0)?, name(1)?, name(2)?);
                format!("Copies `{size}` bytes from `{from}` to `{to}`, asynchronously")
            }
            EffectKind::BeginReduce => {
                let (to, from, size) = (name(0)?, name(1)?, name(2)?);
                format!("Combines `{size}` bytes at `{to}` with those at `{from}`, asynchronously")
            }
            EffectKind::BeginWrite => return access("Asynchronously writes"),
            EffectKind::BeginUpdate => return access("Asynchronously and atomically reads and writes"),
            EffectKind::BeginLoadTensor => {
                format!("Copies a part of the tensor of `{}` to `{}`, asynchronously", name(1)?, name(0)?)
            }
            EffectKind::BeginStoreTensor => {
                format!("Copies bytes at `{}` to a part of the tensor of `{}`, asynchronously", name(2)?, name(0)?)
            }
            EffectKind::BeginReduceTensor => {
                format!("Combines a part of the tensor of `{}` with bytes at `{}`, asynchronously", name(0)?, name(2)?)
            }
            EffectKind::ReplaceField => format!("Replaces a field of the tensor map at `{}`", name(0)?),
            EffectKind::BeginCancel => {
                format!(
                    "Cancels a cluster that has not started, and writes the response to `{}`, asynchronously",
                    name(0)?
                )
            }
            EffectKind::Signal => {
                format!("Updates the object at `{}`{} when that is complete", name(0)?, blocks(name(2)))
            }
            EffectKind::AfterCopies => {
                format!("Updates the object at `{}` when all prior copies of the thread are complete", name(0)?)
            }
            EffectKind::AfterTensorOperations => {
                let (at, blocks) = (name(0)?, blocks(name(2)));
                format!(
                    "Updates the object at `{at}`{blocks} when all prior tensor operations of the thread are complete"
                )
            }
            EffectKind::CommitGroup => "Makes a group of the thread's prior asynchronous operations".into(),
            EffectKind::WaitGroup => "Waits for asynchronous operations of the thread".into(),
            EffectKind::PrefetchBytes | EffectKind::PrefetchTensor => "Nothing that a program can observe".into(),
            EffectKind::Multiply
            | EffectKind::MultiplySparse
            | EffectKind::MultiplyScaled
            | EffectKind::MultiplySparseScaled => "Multiplies matrices that the lanes of the warp hold".into(),
            EffectKind::MultiplyGroup => {
                "Multiplies matrices in shared memory or that the lanes of the warpgroup hold".into()
            }
            EffectKind::MultiplyTensor => "Multiplies matrices in shared and tensor memory".into(),
            EffectKind::AllocateTensor => "Allocates tensor memory".into(),
            EffectKind::FreeTensor => "Frees tensor memory".into(),
            EffectKind::ReadTensor => "Reads tensor memory".into(),
            EffectKind::Fold => format!("Reduces the values of `{}` to one", name(0)?),
            EffectKind::WriteTensor => "Writes tensor memory".into(),
            EffectKind::CopyToTensor => "Copies from shared memory to tensor memory".into(),
            EffectKind::PairBlocks => "Concerns both blocks of a pair".into(),
            EffectKind::Unmodeled => "Cannot be executed with these modifiers".into(),
            EffectKind::Transpose => "Transposes a matrix that the lanes of the warp hold".into(),
            EffectKind::Update => return access("Atomically reads and writes"),
            EffectKind::Fence => format!("Orders accesses to memory{ordering}"),
            EffectKind::Branch => "Branches to a label".into(),
            EffectKind::BranchIndexed => "Branches to one of several labels".into(),
            EffectKind::Call => "Calls a function".into(),
            EffectKind::Return => "Returns to the caller; ends the thread where there is none".into(),
            EffectKind::Exit => "Ends the thread".into(),
            EffectKind::Trap => "Aborts the launch".into(),
            EffectKind::Wait | EffectKind::WaitCount | EffectKind::WaitAll | EffectKind::WaitAny => {
                format!("Waits at barrier{} of the block", barrier())
            }
            EffectKind::Arrive => format!("Arrives at barrier{} of the block without waiting", barrier()),
            EffectKind::ArriveCluster => "Arrives at the barrier of the cluster without waiting".into(),
            EffectKind::WaitCluster => "Waits at the barrier of the cluster".into(),
            EffectKind::Converge => "Waits for the lanes of the member mask".into(),
            EffectKind::Reserve => "Reserves stack memory".into(),
            EffectKind::SetStackPointer => "Sets the stack pointer".into(),
            EffectKind::Nothing => "Nothing that a program can observe".into(),
            _ => return None,
        };
        Some(text)
    });
    let lacks = Some(list.lacks).filter(|reason| !reason.is_empty());
    let mut found: Vec<String> = Vec::new();
    // Free modifiers may choose between effects with the same description.
    for text in told.chain(lacks.map(|reason| format!("Cannot be executed: {reason}"))) {
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}
