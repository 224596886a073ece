//! The recording of accesses to memory.

use std::prelude::rust_2024::*;

use ptx_isa::jit::{Move, Regular, Scattered};
use ptx_isa::lanes::{Element, Transfer};

use super::super::super::super::affine::DIMENSIONS;
use super::super::super::super::decode::{Access, Where};
use super::super::{Base, Block, EXCHANGE, Entry, Step, scattered};
use super::Recorder;

/// Bits of constant addresses that differ among those with one base.
const NEAR: u64 = 0xffff;

impl Block<'_> {
    /// Records a load or store; `None` if it cannot be compiled, false if the code needs too many of the machine's registers.
    pub(super) fn record_access(
        &mut self,
        entry: &Entry,
        recorder: &mut Recorder,
        at: usize,
        access: &Access,
        write: bool,
    ) -> Option<bool> {
        // Affine addresses are checked for all lanes ahead. In divergent code inactive lanes would often fail, but for loads from one address.
        let base = access.affine.filter(|_| access.at.base.is_some());
        let is_same = access.at.base.is_none() || base.is_some_and(|base| self.uniform(base).is_some());
        // Which lanes access memory within divergent code and loops is not known ahead.
        let is_known = !recorder.divergent && !recorder.looped || !self.looks_for_races();
        if (!recorder.divergent || is_same && !write) && is_known {
            let regular = self.record_regular(entry, recorder, at, access, write);
            if regular.is_some() {
                return regular;
            }
        }
        let scattered = self.scattered(recorder, access, write)?;
        Some(self.record_scattered(recorder, at, access, scattered))
    }

    /// The elements of an access, if it may be compiled: registers by their offsets, or constants.
    fn elements(recorder: &Recorder, access: &Access, write: bool) -> Option<Vec<Result<u32, u64>>> {
        let transfer = access
            .transfer
            .as_ref()
            .filter(|_| (recorder.divergent || access.order.is_none()) && access.shared.is_none())?;
        let elements = transfer.elements[..usize::from(transfer.count)].iter().map(|element| match element {
            Element::Register(offset) if !write && recorder.numbers.contains_key(offset) => None,
            Element::Register(offset) => Some(Ok(*offset)),
            Element::Constant(word) => Some(Err(*word)),
            Element::Sink => None,
        });
        elements.collect()
    }

    /// A load or store by addresses that lanes compute, but for its arguments, if it can be compiled.
    pub(super) fn scattered(&self, recorder: &Recorder, access: &Access, write: bool) -> Option<Scattered> {
        let elements = Self::elements(recorder, access, write)?;
        let Transfer { bits, bytes, .. } = access.transfer.as_ref().filter(|_| !self.looks_for_races())?;
        let base = match access.at.base {
            Some(row) => Some(self.code.program.offset(row)?),
            None if access.at.frame => return None,
            None => None,
        };
        let number = base.and_then(|base| recorder.numbers.get(&base));
        let value = number.and_then(|number| self.affine.value(*number));
        // Each element that is ordered with others is accessed in one.
        let adjacent = elements.len() == 1
            && access.order.is_none()
            && value.is_some_and(|value| value.steps[0] == access.whole());
        let scattered = Scattered {
            write,
            elements,
            bits: *bits,
            base,
            base_bits: access.at.base.map_or(64, |row| row.bits),
            adjacent,
            // Lanes that leave a loop one by one mostly access rows of their own.
            single: access.order.is_some() || recorder.looped && !recorder.divergent,
            // The machine reorders only stores with later loads: ordered stores are fenced.
            fenced: write && access.order.is_some(),
            window: 0,
            table: None,
            exchange: EXCHANGE as u32,
            function: scattered::access,
            number: 0,
        };
        let alone = self.peers.len() <= 1 && !self.launched.narrow;
        let near = match access.place {
            Where::Generic | Where::Device => true,
            Where::Block => self.span > 0,
            _ => false,
        };
        let whole = u32::from(*bits) == 8 * u32::from(*bytes);
        (alone && near && whole && scattered.is_compiled()).then_some(scattered)
    }

    /// Records it; false if the code needs too many of the machine's registers.
    pub(super) fn record_scattered(
        &mut self,
        recorder: &mut Recorder,
        at: usize,
        access: &Access,
        mut scattered: Scattered,
    ) -> bool {
        let sources = scattered.elements.iter().filter_map(|element| element.ok()).filter(|_| scattered.write);
        for offset in scattered.base.into_iter().chain(sources) {
            self.define_source(recorder, offset);
        }
        if access.place == Where::Block {
            scattered.table = recorder.table(self.apart());
        }
        (scattered.window, scattered.number) = (recorder.slot(recorder.steps.len()), recorder.steps.len() as u32);
        recorder.steps.push(Step::Scattered { at, slot: scattered.window, table: scattered.table });
        recorder.items += 1;
        recorder.scatters = true;
        recorder.builder.scatter(&scattered).is_some()
    }

    /// Records a load or store by affine addresses.
    fn record_regular(
        &mut self,
        entry: &Entry,
        recorder: &mut Recorder,
        at: usize,
        access: &Access,
        write: bool,
    ) -> Option<bool> {
        let elements = Self::elements(recorder, access, write)?;
        let Transfer { bits, bytes, signed, .. } = access.transfer.as_ref()?;
        // Arithmetic on addresses wraps. Constant addresses that are near each other have one base.
        let (base, offset) = match access.at.base {
            None if access.at.frame => return None,
            None => (Base::Constant(access.at.offset & !NEAR), (access.at.offset & NEAR) as i64),
            Some(row) if row.bits == 32 => (Base::Register(access.affine?), i64::from(access.at.offset as i32)),
            Some(_) => (Base::Register(access.affine?), access.at.offset as i64),
        };
        let displacement = i32::try_from(offset).ok()?;
        let whole = access.whole();
        if offset.rem_euclid(whole as i64) != 0 {
            return None;
        }
        let value = self.address(entry, at, base, access.place, offset..offset + whole as i64, whole)?;
        let mut moved = Move {
            write,
            elements,
            bits: *bits,
            bytes: *bytes,
            signed: *signed,
            at: Regular { slot: 0, table: None, step: value.steps[0] },
            offset: displacement,
        };
        let uniform = value.steps == [0; DIMENSIONS];
        if !moved.is_compiled(uniform, !recorder.whole) {
            return None;
        }
        let known = moved.elements.iter().filter_map(|element| element.ok());
        let known: Vec<(u32, u32)> =
            known.filter_map(|offset| Some((offset, *recorder.numbers.get(&offset)?))).collect();
        known.into_iter().for_each(|(offset, number)| self.define(recorder, offset, number));
        let (key, own) = ((base, access.place), offset..offset + whole as i64);
        // Accesses that are counted from one base are checked at once, if what all of them access is in one allocation.
        let joined = recorder.accesses.get(&key).and_then(|index| {
            let Step::Access { around, align, .. } = &recorder.steps[*index] else { return None };
            let (around, align) = (around.start.min(own.start)..around.end.max(own.end), whole.max(*align));
            self.address(entry, at, base, access.place, around.clone(), align)?;
            Some((*index, around, align))
        });
        let (index, around, align) = joined.unwrap_or((recorder.steps.len(), own, whole));
        moved.at = recorder.regular(index, value.steps);
        let step = Step::Access { at, base, place: access.place, around, align, regular: moved.at };
        match recorder.steps.get_mut(index) {
            Some(before) => *before = step,
            None => recorder.steps.push(step),
        }
        recorder.accesses.insert(key, index);
        recorder.items += 1;
        if self.looks_for_races() {
            let own = offset..offset + whole as i64;
            recorder.steps.push(Step::Watch { at, base, place: access.place, own, writes: write });
        }
        Some(recorder.builder.move_elements(&moved).is_some())
    }
}
