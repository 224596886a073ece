//! Branches, and the end of lanes.

use std::prelude::rust_2024::*;

use super::super::decode::{Action, Op};
use super::{Block, Entry, Flow, lanes};

impl Block<'_> {
    /// A branch: the lanes that take it and those that do not part, unless a guard is known to be the same in all.
    pub(crate) fn branch(
        &mut self,
        entry: &mut Entry,
        guard: Option<(u32, bool)>,
        affine: Option<u32>,
        to: usize,
    ) -> Flow {
        let Some((register, not)) = guard else { return Flow::Jump(to) };
        if let Some(value) = affine.and_then(|number| self.affine.value(number)) {
            return if (value.base != 0) == not { Flow::Next } else { Flow::Jump(to) };
        }
        let mut taken = self.masks();
        let flip = if not { u32::MAX } else { 0 };
        let (mut any_taken, mut any_rest) = (0, 0);
        let predicates = self.warps.predicate(register);
        for (warp, (mask, taken)) in entry.masks.iter().zip(&mut taken).enumerate() {
            *taken = mask & (predicates(warp) ^ flip);
            any_taken |= *taken;
            any_rest |= mask & !*taken;
        }
        drop(predicates);
        match (any_taken, any_rest) {
            (0, _) => {
                self.spare.push(taken);
                Flow::Next
            }
            (_, 0) => {
                self.spare.push(taken);
                Flow::Jump(to)
            }
            _ => {
                if self.ends(entry.depth, to) {
                    // Lanes that have nothing left to do end before the others go on, which then may be all.
                    entry.masks.iter_mut().zip(&taken).for_each(|(mask, taken)| *mask &= !taken);
                    self.executed += self.instructions(&taken, to);
                    self.end_lanes(&taken);
                    self.spare.push(taken);
                    self.activate(entry);
                    return Flow::Next;
                }
                let mut rest = std::mem::take(&mut entry.masks);
                rest.iter_mut().zip(&taken).for_each(|(mask, taken)| *mask &= !taken);
                let (depth, picked, forced) = (entry.depth, entry.picked, entry.forced);
                self.aside(Entry { at: to, masks: taken, depth, picked, forced });
                self.aside(Entry { at: entry.at + 1, masks: rest, depth, picked, forced });
                Flow::Aside
            }
        }
    }

    /// Lanes go where each of them says; the others go on.
    pub(crate) fn scatter(
        &mut self,
        entry: &Entry,
        guard: Option<(u32, bool)>,
        to: impl Fn(&Self, usize, usize) -> usize,
    ) {
        let mut parts: Vec<Entry> = Vec::new();
        for (warp, mask) in entry.masks.iter().enumerate() {
            let own = self.guarded(warp, *mask, guard);
            for lane in Self::lanes_of(*mask) {
                let at = if own >> lane & 1 != 0 { to(self, warp, lane) } else { entry.at + 1 };
                self.part(&mut parts, entry.depth, at).masks[warp] |= 1 << lane;
            }
        }
        parts.into_iter().for_each(|part| self.aside(part));
    }

    /// Returns true if lanes at an operation end there.
    pub(super) fn ends(&self, depth: u32, at: usize) -> bool {
        let action = match &self.code.ops[at] {
            Op::Effect { guard: None, action, .. } => action,
            _ => return false,
        };
        matches!(action, Action::Exit) || depth == 0 && matches!(action, Action::Return)
    }

    /// Lanes end: nothing awaits them any longer.
    fn end_lanes(&mut self, masks: &[u32]) {
        self.live.iter_mut().zip(masks).for_each(|(live, mask)| *live &= !mask);
        self.look_again();
    }

    /// Instructions that lanes execute in an operation that is an effect.
    pub(super) fn instructions(&self, masks: &[u32], at: usize) -> u64 {
        let Op::Effect { count, .. } = &self.code.ops[at] else { return 0 };
        lanes(masks) * u64::from(*count)
    }

    /// The lanes that a guard lets execute end; the others go on.
    pub(crate) fn end(&mut self, entry: &mut Entry, guard: Option<(u32, bool)>) -> Flow {
        let mut rest = self.masks();
        if guard.is_some() {
            for (warp, (mask, rest)) in entry.masks.iter().zip(&mut rest).enumerate() {
                *rest = mask & !self.guarded(warp, *mask, guard);
            }
            entry.masks.iter_mut().zip(&rest).for_each(|(mask, rest)| *mask &= !rest);
        }
        let ending = std::mem::replace(&mut entry.masks, rest);
        self.end_lanes(&ending);
        self.spare.push(ending);
        self.go_on(entry)
    }

    /// Lanes that wait look again, as fewer are awaited or more is free.
    pub(crate) fn look_again(&mut self) {
        let held = std::mem::take(&mut self.held);
        held.into_iter().for_each(|held| self.aside(held));
        let waited: Vec<(usize, u32)> = self.barriers.keys().copied().collect();
        waited.into_iter().for_each(|barrier| self.release(barrier));
    }

    /// The lanes that are left go on, if there are any.
    pub(crate) fn go_on(&mut self, entry: &mut Entry) -> Flow {
        let masks = std::mem::take(&mut entry.masks);
        self.aside(Entry { at: entry.at + 1, masks, ..*entry });
        Flow::Aside
    }

    /// Returns the part with this target, which is added without lanes if there is none.
    pub(crate) fn part<'p>(&mut self, parts: &'p mut Vec<Entry>, depth: u32, at: usize) -> &'p mut Entry {
        let place = parts.iter().position(|part| part.at == at).unwrap_or_else(|| {
            parts.push(Entry { depth, at, masks: self.masks(), picked: 0, forced: false });
            parts.len() - 1
        });
        &mut parts[place]
    }
}
