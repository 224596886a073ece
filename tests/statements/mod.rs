//! Statements of forms, whatever they are made of.

use ptx_isa::table::{ABSENT, FormInfo, Free, Operand, OperandKind};

/// Free modifiers that go with a form: those that must be there, and others where rules want them.
pub(crate) fn free(form: FormInfo) -> Option<Free> {
    let instruction = form.instruction();
    let slots = instruction.data().slots;
    let items: Vec<_> = form.syntax().items.iter().filter(|item| slots[usize::from(item.slot)].free).collect();
    let mut state = 1_u64;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    // Some forms go with few choices of many.
    (0..20_000).find_map(|round| {
        let mut values = form.values().to_vec();
        for item in &items {
            let members: Vec<u8> = (0..ABSENT).filter(|member| item.members >> member & 1 == 1).collect();
            let there = !item.optional || round > 0 && random(4) < 1 + round % 2 * 2;
            values[usize::from(item.slot)] = if there { members[random(members.len())] } else { ABSENT };
        }
        Some(Free::of(instruction, &values)).filter(|free| form.takes(free))
    })
}

/// Returns the text of an operand whose values have names derived from `name`.
pub(crate) fn operand(operand: &Operand, name: &str) -> String {
    match operand.kind {
        OperandKind::Vector(count) if !operand.bare || count > 1 => {
            let elements: Vec<String> = (0..count).map(|element| format!("{name}{element}")).collect();
            format!("{{{}}}", elements.join(", "))
        }
        OperandKind::Arguments => format!("({name})"),
        _ if operand.registers.is_empty() && operand.sink => "_".to_owned(),
        _ if operand.registers.is_empty() && operand.kind == OperandKind::Scalar => {
            let least = operand.within.first().map_or(0, |range| range.least);
            // Written with a sign where it is taken only so.
            let bits = least as u64 & (u64::MAX >> (64 - ptx_isa::TABLE.ty(operand.ty).bits));
            let signed = least < 0 && !operand.within.iter().any(|range| range.has(bits));
            if signed { least.to_string() } else { format!("{bits:#x}") }
        }
        _ => name.to_owned(),
    }
}
