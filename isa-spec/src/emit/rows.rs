//! Contents of a table's columns and pools.

use std::collections::HashMap;

use isa_table::constant::Content;
use isa_table::program::{EvaluationBuf, ProgramsBuf, ShapeBuf};
use isa_table::table::{
    self, BoundedBuf, DataBuf, EffectBuf, EffectList, EffectListBuf, EntryBuf, ErratumBuf, ExampleBuf, Floors,
    FloorsBuf, FormsBuf, FreeFloorBuf, InstructionBuf, ItemBuf, Lenient, Name, Operand, OperandBuf, OperandListBuf,
    RelaxedBuf, RuleBuf, SlotBuf, SyntaxBuf, TargetInfoBuf, TypeInfoBuf,
};
use isa_table::{effect, hash};

use super::Context;
use super::pool::{Pool, Runs};
use crate::check::{ABSENT, Form, values};
use crate::model::{Fragment, Layout, NOT_DESCRIBED, Opcode, SlotKind};
use crate::plan::Evaluation;
use crate::program::effect::Argument;
use crate::text::one_line;

/// First paragraph of a description, in one line.
fn summary(docs: &str) -> String {
    one_line(docs.split("\n\n").next().unwrap_or_default())
}

/// Data of a table, and the runs of forms with the same syntax line: the first form and the line of each.
pub(super) struct Rows {
    pub(super) data: DataBuf,
    pub(super) lines: Vec<(usize, usize)>,
}

pub(super) fn rows(cx: &Context<'_>) -> Rows {
    let model = &cx.checked.model;
    let types = model.types.iter().map(|ty| TypeInfoBuf {
        name: ty.name.clone(),
        kind: ty.kind,
        bits: ty.bits as u16,
        exponent: ty.exponent as u8,
        fraction: ty.fraction as u8,
        beyond: ty.beyond,
        padding: ty.padding as u8,
        lanes: ty.lanes as u8,
        lane: ty.lane,
        registers: ty.registers,
        beside: ty.beside,
        constants: ty.constants,
        description: one_line(&ty.docs),
    });
    let targets = model.targets.iter().map(|(target, since)| TargetInfoBuf { target: *target, since: *since });
    let lenient = Lenient::ALL.iter().map(|what| {
        let note = model.lenient.iter().find(|(other, _)| other == what);
        note.map(|(_, note)| one_line(note))
    });
    let (mut instructions, mut syntaxes) = (Instructions::default(), Vec::new());
    for (index, (opcode, rules)) in model.opcodes.iter().zip(&cx.checked.rules).enumerate() {
        instructions.first_syntaxes.push(syntaxes.len());
        instructions.add(cx, index, opcode, rules, &mut syntaxes);
    }
    let (forms, lines) = forms(cx, &instructions.first_syntaxes);
    let (programs, evaluations, changes) = programs(cx);
    let (effects, effect_lists) = effects(cx, &changes);
    let mut specials = model.specials.clone();
    specials.sort_by(|a, b| a.name.cmp(&b.name));
    let data = DataBuf {
        types: types.collect(),
        versions: model.versions.clone(),
        targets: targets.collect(),
        families: model.families.clone(),
        instructions: instructions.list,
        syntaxes,
        forms: FormsBuf { evaluations, effects, effect_lists, ..forms },
        programs,
        lenient: lenient.collect(),
        specials,
        spaces: model.spaces.clone(),
        orders: model.orders.clone(),
        directives: model.directives.clone(),
        fragments: model.fragments.iter().map(Fragment::buf).collect(),
        summations: model.summations.clone(),
        layouts: model.layouts.iter().map(Layout::buf).collect(),
        declarations: model.declarations.clone(),
    };
    Rows { data, lines }
}

/// Columns of forms, without their evaluations.
fn forms(cx: &Context<'_>, first_syntaxes: &[usize]) -> (FormsBuf, Vec<(usize, usize)>) {
    let model = &cx.checked.model;
    let (mut all_operands, mut operand_lists) = (Pool::new(), Pool::new());
    let (mut floors, mut notes) = (Pool::new(), Pool::new());
    // Index 0 is the empty note.
    notes.number(String::new(), String::new);
    // The hash finds the first form of each mnemonic; each further one is linked from its predecessor.
    let (mut mnemonics, mut firsts, mut shapes) = (Vec::new(), Vec::new(), Vec::new());
    let mut last: HashMap<&str, usize> = HashMap::new();
    for (index, form) in cx.checked.forms.iter().enumerate() {
        match last.insert(&form.mnemonic, index) {
            Some(before) => shapes.push([before as u16, index as u16]),
            None => {
                mnemonics.push(form.mnemonic.as_str());
                firsts.push(index as u16);
            }
        }
    }
    shapes.sort_unstable();
    let hash::Places { factors, mut places } = hash::build(&mnemonics);
    places.iter_mut().filter(|place| **place != hash::EMPTY).for_each(|place| *place = firsts[usize::from(*place)]);
    let bounds = cx
        .checked
        .forms
        .iter()
        .enumerate()
        .filter_map(|(form, of)| Some(BoundedBuf { form: form as u16, bound: of.bound.clone()? }));
    let mut columns = FormsBuf {
        names: Vec::new(),
        long_names: Vec::new(),
        syntax: Vec::new(),
        values: Vec::new(),
        operands: Vec::new(),
        floors: Vec::new(),
        notes: Vec::new(),
        effects: Vec::new(),
        evaluations: Vec::new(),
        all_operands: Vec::new(),
        operand_lists: Vec::new(),
        floor_list: Vec::new(),
        note_list: Vec::new(),
        effect_lists: Vec::new(),
        bounds: bounds.collect(),
        next_shapes: shapes.concat(),
        factors,
        places,
    };
    let mut lines: Vec<(usize, usize)> = Vec::new();
    for (index, form) in cx.checked.forms.iter().enumerate() {
        columns.names.push(Name::of(&form.mnemonic, &mut columns.long_names));
        let opcode = &model.opcodes[form.opcode];
        let before: usize = opcode.entries[..form.entry].iter().map(|entry| entry.syntaxes.len()).sum();
        let line = first_syntaxes[form.opcode] + before + form.syntax;
        if lines.last().is_none_or(|(_, last)| *last != line) {
            lines.push((index, line));
        }
        columns.syntax.push(line as u16);
        let values = form.choice.values.iter().map(|value| value.map_or(ABSENT, |member| member as u8));
        columns.values.extend(values);
        let operands = form.operands.clone();
        let key = expression::<&[Operand]>(&operands);
        let mut number = |operand| all_operands.number(expression::<Operand>(&operand), || operand) as u16;
        let list = operand_lists.number(key, || {
            let has_floor = |operand: &OperandBuf| {
                operand.floor.is_some() || operand.second.as_ref().is_some_and(|second| second.floor.is_some())
            };
            let floors = operands.iter().any(has_floor);
            let (states, operands): (Vec<_>, Vec<_>) =
                operands.into_iter().partition(|operand| operand.state.is_some());
            let mut numbers = |list: Vec<OperandBuf>| list.into_iter().map(&mut number).collect();
            OperandListBuf { operands: numbers(operands), states: numbers(states), floors }
        });
        columns.operands.push(list as u16);
        let own = FloorsBuf {
            manual: form.floor.clone(),
            assembler: form
                .lenient_floor
                .as_ref()
                .map(|(floor, note)| RelaxedBuf { floor: floor.clone(), note: one_line(note) }),
        };
        columns.floors.push(floors.number(expression::<Floors>(&own), || own) as u16);
        let note = form.lenient.as_ref().map_or(String::new(), |note| one_line(note));
        columns.notes.push(notes.number(note.clone(), || note) as u16);
    }
    columns.all_operands = all_operands.list;
    columns.operand_lists = operand_lists.list;
    columns.floor_list = floors.list;
    columns.note_list = notes.list;
    (columns, lines)
}

/// Effect list of each form.
fn effects(cx: &Context<'_>, changes: &[Vec<u32>]) -> (Vec<u16>, Vec<EffectListBuf>) {
    let mut lists = Pool::new();
    let number = |(form, changes): (&Form, &Vec<u32>)| {
        let argument = |argument: &Option<Argument>| match argument {
            Some(Argument::Operand(place)) => *place as u8,
            Some(Argument::Word(slot)) => *slot as u8,
            Some(Argument::Summation(index) | Argument::Layout(index) | Argument::Type(index)) => *index as u8,
            Some(Argument::Number(number)) => *number,
            None => effect::NO_OPERAND,
        };
        let effects = form.effects.iter().zip(changes).map(|(of, change)| EffectBuf {
            kind: of.kind,
            result: of.result.map_or(effect::NO_OPERAND, |place| place as u8),
            arguments: of.arguments.iter().map(argument).collect(),
            change: *change,
            when: values(&of.when),
        });
        let entry = &cx.checked.model.opcodes[form.opcode].entries[form.entry];
        let (effects, mut lacks): (Vec<_>, _) = (effects.collect(), entry.lacks.clone());
        // Semantics that assign nothing in a form do not describe it.
        if effects.is_empty() && form.programs.is_empty() && lacks.is_empty() {
            lacks.push_str(NOT_DESCRIBED);
        }
        let list = EffectListBuf { effects, lacks };
        lists.number(expression::<EffectList>(&list), || list) as u16
    };
    let numbers = cx.checked.forms.iter().zip(changes).map(number).collect();
    (numbers, lists.list)
}

/// Programs, the first evaluation of each form, and the evaluation of each update.
fn programs(cx: &Context<'_>) -> (ProgramsBuf, Vec<u32>, Vec<Vec<u32>>) {
    let (mut places, mut words, mut runs) = (Runs::new(), Runs::new(), Runs::new());
    let mut starts = Vec::new();
    for list in &cx.plan.evaluations {
        let mut row = |of: &Evaluation, more, unspecified| {
            (of.below, of.written, more, of.shape, places.start(&of.sources), words.start(&of.data), unspecified)
        };
        let mut run = Vec::new();
        for (place, of) in list.iter().enumerate() {
            let unspecified = match &of.unspecified {
                Some(of) => runs.start(&[row(of, false, table::NO_EVALUATION)]) as u32,
                None => table::NO_EVALUATION,
            };
            run.push(row(of, place + 1 < list.len(), unspecified));
        }
        starts.push(if run.is_empty() { table::NO_EVALUATION } else { runs.start(&run) as u32 });
    }
    let mut changes = Vec::new();
    for list in &cx.plan.changes {
        let mut start = |of: &Option<Evaluation>| match of {
            Some(of) => {
                let (places, data) = (places.start(&of.sources), words.start(&of.data));
                let row = (of.below, of.written, false, of.shape, places, data, table::NO_EVALUATION);
                runs.start(&[row]) as u32
            }
            None => table::NO_EVALUATION,
        };
        changes.push(list.iter().map(&mut start).collect());
    }
    let evaluations =
        runs.list.into_iter().map(|(below, written, more, shape, places, data, unspecified)| EvaluationBuf {
            below,
            sources: written as u8,
            more,
            shape: shape as u32,
            places: places as u32,
            data: data as u32,
            unspecified,
        });
    let shapes = cx.plan.shapes.iter().map(|planned| ShapeBuf {
        code: planned.code.clone(),
        outputs: planned.shape.outputs.iter().map(|output| *output as u8).collect(),
        params: planned.shape.params.clone(),
        places: planned.shape.places().iter().map(|bits| *bits as u8).collect(),
        lanes: planned.lanes.clone(),
    });
    let (shapes, evaluations) = (shapes.collect(), evaluations.collect());
    (ProgramsBuf { shapes, evaluations, places: places.list, data: words.list }, starts, changes)
}

/// Rust expression of a content value.
pub(super) fn expression<T: Content>(buf: &T::Buf) -> String {
    let mut text = String::new();
    T::write(buf, &mut text);
    text
}

/// Instructions under construction.
#[derive(Default)]
struct Instructions {
    list: Vec<InstructionBuf>,
    /// First syntax line of each.
    first_syntaxes: Vec<usize>,
}

impl Instructions {
    fn add(
        &mut self,
        cx: &Context<'_>,
        index: usize,
        opcode: &Opcode,
        rules: &[crate::check::Rule],
        syntaxes: &mut Vec<SyntaxBuf>,
    ) {
        let forms = cx.checked.forms.iter().filter(|form| form.opcode == index).count();
        let (first_form, first_value) = self.list.last().map_or((0, 0), |last| {
            let values = u32::from(last.forms) * last.slots.len() as u32;
            (last.first_form + last.forms, last.first_value + values)
        });
        let first_syntax = syntaxes.len() as u16;
        for (number, entry) in opcode.entries.iter().enumerate() {
            syntaxes.extend(entry.syntaxes.iter().map(|syntax| {
                SyntaxBuf {
                    items: syntax
                        .items
                        .iter()
                        .map(|item| ItemBuf {
                            slot: item.slot as u8,
                            optional: item.optional,
                            members: item.members.iter().fold(0, |set, member| set | 1 << member),
                        })
                        .collect(),
                    text: format!("{};", syntax.text),
                    free: syntax.items.iter().any(|item| opcode.slots[item.slot].free),
                    instruction: index as u16,
                    entry: number as u8,
                }
            }));
        }
        let slots = opcode.slots.iter().map(|slot| SlotBuf {
            name: slot.name.clone(),
            members: slot.members.iter().map(|member| member.spelling.clone()).collect(),
            types: slot.kind == SlotKind::Type,
            free: slot.free,
            of_opcode: matches!(slot.kind, SlotKind::Operator(words) if cx.checked.model.operators[words.0].of_opcode),
        });
        let rules = rules.iter().map(|rule| RuleBuf {
            forbids: values(&rule.forbids),
            reason: rule.reason.clone(),
            decides: rule.decides.map(|entry| entry as u8),
        });
        let free_floors = cx.checked.free_floors[index].iter().map(|floor| FreeFloorBuf {
            entry: floor.entry as u8,
            when: values(&floor.when),
            floor: floor.floor.clone(),
        });
        let entries = opcode.entries.iter().map(|entry| EntryBuf {
            section: entry.section.clone(),
            summary: summary(&entry.docs),
            description: entry.docs.clone(),
            source: cx.place(entry.span),
            errata: entry
                .errata
                .iter()
                .map(|erratum| ErratumBuf {
                    subject: one_line(&erratum.docs),
                    manual: erratum.manual.clone(),
                    machine: erratum.machine.clone(),
                    compiled: erratum.compiled,
                })
                .collect(),
            examples: entry
                .examples
                .iter()
                .filter(|example| example.is_shown())
                .map(|example| ExampleBuf { text: example.text.clone(), refused: example.refused })
                .collect(),
        });
        self.list.push(InstructionBuf {
            opcode: opcode.name.clone(),
            slots: slots.collect(),
            rules: rules.collect(),
            free_floors: free_floors.collect(),
            entries: entries.collect(),
            first_syntax,
            syntaxes: syntaxes.len() as u16 - first_syntax,
            first_form,
            forms: forms as u16,
            first_value,
        });
    }
}
