//! Line-by-line evaluation of a statement on given values, with diagrams of the movement of bits and the selection of
//! lanes.

use ptx_isa::TABLE;
use ptx_isa::reference::{TRACES, sample, trace};
use ptx_isa::selector::Kind;
use ptx_isa::table::{self, TypeInfo};
use ptx_isa::target::Target;
use ptx_isa::text::Statement;
use ptx_isa::text::evaluate::{Lanes as _, Output, Outputs, Problem, WARP, Words, evaluate, one_each};
use ptx_isa::text::statement::Value;
use ptx_isa::value;
use serde::Serialize;

use crate::Machine;
use crate::pictures::{self, Bits, Truth, Warp, ones};

/// Evaluation of a statement.
#[derive(Serialize, Default)]
pub(crate) struct Values {
    /// Why nothing is computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    inputs: Vec<Input>,
    selectors: Vec<Selector>,
    /// Reasons why it cannot be computed, apart from invalid inputs.
    problems: Vec<String>,
    /// True if the guard permits the statement to write.
    written: bool,
    outs: Vec<Out>,
    steps: Vec<Step>,
    bits: Vec<Bits>,
    warp: Vec<Warp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    truth: Option<Truth>,
}

/// A register that is read.
#[derive(Serialize)]
struct Input {
    name: String,
    ty: &'static str,
    /// The text given for it, or else an illustrative value.
    text: String,
    /// True if a value was given.
    given: bool,
    /// The value; if it is computed for a warp, `lanes` has the value in each lane.
    value: String,
    lanes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wrong: Option<String>,
}

/// A place for lanes or a mask behind an operand.
#[derive(Serialize)]
struct Selector {
    /// The operand's place in the statement.
    place: usize,
    /// The operand as the manual calls it, and the name of the set.
    operand: &'static str,
    name: &'static str,
    word: String,
    usual: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    wrong: Option<String>,
    /// The lanes there are to pick from, lane 0 first.
    cells: Vec<Cell>,
}

/// A lane of some value, and where it goes.
#[derive(Serialize)]
struct Cell {
    of: String,
    number: u32,
    value: String,
    /// The lanes that it is picked for; for a mask its own, where it counts.
    picked: Vec<u32>,
}

#[derive(Serialize)]
struct Out {
    name: String,
    value: String,
    /// Of a packed value; for a warp, what each thread receives.
    lanes: Vec<String>,
    /// Mask of the threads in which any other value is as good; for a single thread, 1 or 0.
    unspecified: u32,
}

/// A line of the pseudo-code with its value.
#[derive(Serialize)]
struct Step {
    line: &'static str,
    lanes: Vec<String>,
    /// True if it assigns a destination.
    result: bool,
}

/// Value given for a register: a word, or one per lane of a warp.
trait Given: Words {
    fn parse(text: &str, ty: &TypeInfo) -> Result<Self, String>;

    fn show(self, ty: &TypeInfo) -> (String, Vec<String>);
}

impl Given for u128 {
    fn parse(text: &str, ty: &TypeInfo) -> Result<u128, String> {
        value::parse_lanes(&TABLE, text, ty)
    }

    fn show(self, ty: &TypeInfo) -> (String, Vec<String>) {
        (value::show(self, ty), value::show_lanes(&TABLE, self, ty))
    }
}

impl Given for [u128; WARP] {
    fn parse(text: &str, ty: &TypeInfo) -> Result<Self, String> {
        let words = text.split([' ', ',']).filter(|word| !word.is_empty());
        let words = words.map(|word| value::parse(word, ty)).collect::<Result<Vec<u128>, String>>()?;
        if let [word] = words[..] { Ok(Self::same(word)) } else { one_each(words) }
    }

    fn show(self, ty: &TypeInfo) -> (String, Vec<String>) {
        let all = self.iter().all(|word| *word == self[0]);
        let first = if all { value::show(self[0], ty) } else { String::new() };
        (first, if all { Vec::new() } else { self.iter().map(|word| value::show(*word, ty)).collect() })
    }
}

impl Values {
    /// Evaluates a statement with the given values; also returns the statement with the given selectors.
    pub(crate) fn of<'a>(
        statement: &Statement<'a>,
        machine: Machine,
        given: &[(&str, &str)],
    ) -> (Values, Statement<'a>) {
        let mut statement = *statement;
        let form = statement.form();
        if form.evaluations().is_empty() {
            let does = match form.effects().lacks {
                lacks if !lacks.is_empty() => format!("cannot be executed: {lacks}"),
                _ => "works on more than registers: kernels run it, as in the playground".to_owned(),
            };
            let why = Some(format!("`{}` {does}.", form.mnemonic()));
            return (Values { why, ..Values::default() }, statement);
        }
        let mut selectors = Vec::new();
        for (place, operand) in form.operands().iter().enumerate() {
            let Some(selector) = &operand.selector else { continue };
            let asked = given.iter().find(|(name, _)| name.strip_prefix('/') == Some(&place.to_string()));
            let word = asked.map(|(_, word)| word.trim().trim_start_matches('.'));
            let parsed = word.map(|word| if word.is_empty() { Some(selector.default) } else { selector.parse(word) });
            if let Some(Some(bits)) = parsed {
                statement = statement.with_selector(place, bits);
            }
            let spelt = |bits: u32| selector.kind.spell(selector.letter, bits);
            let bits = statement.operands()[place].selector.unwrap_or(selector.default);
            selectors.push(Selector {
                place,
                operand: operand.name,
                name: selector.name,
                word: word.map_or_else(|| spelt(bits), str::to_owned),
                usual: spelt(selector.default),
                wrong: (parsed == Some(None))
                    .then(|| format!("`{}` is not a valid `.{}`", word.unwrap_or_default(), selector.name)),
                cells: Vec::new(),
            });
        }
        let mut values = Values { selectors, ..Values::default() };
        let there = |target: &Target| statement.needs().all(|need| need.listed().takes(*target, TABLE.families()));
        let target = machine.target.filter(there);
        if form.is_collective() {
            if let Some(outputs) = values.compute::<[u128; WARP]>(&statement, target, given, u32::MAX) {
                values.warp = pictures::warp(&statement, sm(target), &outputs);
            }
        } else if let Some(outputs) = values.compute::<u128>(&statement, target, given, 1) {
            values.explain(&statement, target, &outputs);
        }
        (values, statement)
    }

    fn compute<W: Given>(
        &mut self,
        statement: &Statement<'_>,
        target: Option<Target>,
        given: &[(&str, &str)],
        active: u32,
    ) -> Option<Outputs<W>> {
        let mut samples = samples(statement, given).into_iter();
        let inputs = &mut self.inputs;
        let outputs = evaluate::<W>(statement, target, active, |name, ty| {
            let sample = samples.next().unwrap_or_else(|| "1".to_owned());
            let known = inputs.iter().position(|input| input.name == *name);
            let place = known.unwrap_or_else(|| {
                let text = given.iter().find(|(other, _)| *other == name).map(|(_, text)| (*text).to_owned());
                let (given, text) = (text.is_some(), text.unwrap_or(sample));
                let (value, lanes, wrong) = (String::new(), Vec::new(), None);
                inputs.push(Input { name: name.to_string(), ty: ty.name, text, given, value, lanes, wrong });
                inputs.len() - 1
            });
            let input = &mut inputs[place];
            let word = W::parse(input.text.trim(), ty);
            match &word {
                Ok(word) => (input.value, input.lanes) = word.show(ty),
                Err(message) => input.wrong = Some(message.clone()),
            }
            word
        });
        let told = |problem: &String| inputs.iter().any(|input| input.wrong.as_ref() == Some(problem));
        match outputs {
            Ok(outputs) => {
                self.written = outputs.written != 0;
                let shown = |output: &Output<W>| {
                    let (value, lanes) = output.bits.show(output.ty);
                    Out { name: output.name.clone(), value, lanes, unspecified: output.unspecified }
                };
                self.outs = outputs.list.iter().map(shown).collect();
                Some(outputs)
            }
            Err(problems) => {
                // Problems with an input are shown next to it.
                self.problems = problems.iter().map(Problem::to_string).filter(|problem| !told(problem)).collect();
                None
            }
        }
    }

    /// The lines of pseudo-code with what they give, and the pictures.
    fn explain(&mut self, statement: &Statement<'_>, target: Option<Target>, outputs: &Outputs<u128>) {
        let (form, sm) = (statement.form(), sm(target));
        if outputs.written == 0 {
            return;
        }
        let results: Vec<&str> = form.results().map(|(name, _)| name).collect();
        // Lines without a value say when a result is unspecified, which stands beside the result.
        for computed in trace(&TRACES, form, sm, &outputs.words).into_iter().filter(|line| !line.lanes.is_empty()) {
            let ty = TABLE.ty(computed.step.ty);
            let lanes = computed.lanes.iter().map(|lane| value::show(*lane, ty)).collect();
            let result = computed.line.split(' ').next().is_some_and(|name| results.contains(&name));
            self.steps.push(Step { line: computed.line, lanes, result });
        }
        self.bits = pictures::bits(statement, sm, &outputs.words);
        self.truth = pictures::truth(statement, sm, &outputs.words);
        self.lanes(statement, outputs);
    }

    /// The lanes that selectors pick from: of all sources that have one, or of the destination for a mask.
    fn lanes(&mut self, statement: &Statement<'_>, outputs: &Outputs<u128>) {
        let form = statement.form();
        let sources: Vec<(&table::Operand, u128)> = form.sources().zip(outputs.words.iter().copied()).collect();
        for selector in &mut self.selectors {
            let operand = &form.operands()[selector.place];
            let (Some(info), Some(bits)) = (&operand.selector, statement.operands()[selector.place].selector) else {
                continue;
            };
            let (values, of): (Vec<(&str, u128, u32)>, u8) = match info.kind {
                Kind::Lanes { lanes: _, of } => {
                    let picking = sources.iter().filter(|(other, _)| {
                        other.selector.is_some_and(|other| matches!(other.kind, Kind::Lanes { .. }))
                    });
                    let values = picking.map(|(other, word)| (other.name, *word, TABLE.ty(other.ty).bits.into()));
                    (values.collect(), of)
                }
                Kind::Subset { of } => {
                    let Some(out) = outputs.list.first() else { continue };
                    (vec![(operand.name, out.bits, out.ty.bits.into())], of)
                }
                Kind::Listed { .. } => continue,
            };
            let width = values.iter().map(|(_, _, bits)| bits).sum::<u32>() / u32::from(of).max(1);
            if width == 0 {
                continue;
            }
            let cells = values.iter().flat_map(|(name, word, bits)| {
                let digits = width.div_ceil(4) as usize + 2;
                let lanes = (0..bits / width).map(move |lane| word >> (lane * width) & ones(width));
                lanes.map(move |lane| ((*name).to_owned(), format!("{lane:#0digits$x}")))
            });
            selector.cells = (0..)
                .zip(cells)
                .map(|(number, (of, value))| Cell { of, number, value, picked: picked(info.kind, bits, number) })
                .collect();
        }
    }
}

/// The lanes that take the one of this number.
fn picked(kind: Kind, selector: u32, number: u32) -> Vec<u32> {
    match kind {
        Kind::Lanes { lanes, of: _ } => {
            (0..u32::from(lanes)).filter(|lane| selector >> (4 * lane) & 15 == number).collect()
        }
        Kind::Subset { of: _ } if selector >> number & 1 != 0 => vec![number],
        Kind::Subset { .. } | Kind::Listed { .. } => Vec::new(),
    }
}

/// A value for each register that a statement reads, in the order in which it is asked for: the guard comes last.
///
/// Examples are given under the empty name. A register's value is the constant that an example has in its place: the
/// example of the form, or else the first one.
fn samples(statement: &Statement<'_>, given: &[(&str, &str)]) -> Vec<String> {
    let form = statement.form();
    let examples = given.iter().filter(|(name, _)| name.is_empty());
    let examples: Vec<_> = examples.filter_map(|(_, text)| Statement::parse(&TABLE, text).ok()).collect();
    let example = examples.iter().find(|example| example.form() == form).or(examples.first());
    let constant = |name: &str| {
        let mut operands = example?.operands_with_info();
        let place =
            operands.position(|(info, operand)| info.name == name && matches!(operand.value, Value::Constant(_)))?;
        Some(example?.operand_text(place))
    };
    let written = |place: usize, info: &table::Operand| match TABLE.ty(info.ty).kind {
        table::Kind::Predicate if form.is_collective() => one_per_lane(|lane| usize::from(lane % 3 == 0)),
        _ if form.is_collective() => one_per_lane(|lane| lane % 16),
        _ => sample::written(&TABLE, info, place),
    };
    let sources = statement.operands_with_info().filter(|(info, _)| !info.destination).enumerate();
    let read = sources.filter(|(_, (_, operand))| !matches!(operand.value, Value::Constant(_) | Value::Absent));
    let states = form.states().iter().filter(|state| !state.destination).map(|_| "0".to_owned());
    read.map(|(place, (info, _))| constant(info.name).unwrap_or_else(|| written(place, info))).chain(states).collect()
}

/// Different values in the lanes of a warp.
fn one_per_lane(value: impl Fn(usize) -> usize) -> String {
    (0..WARP).map(|lane| value(lane).to_string()).collect::<Vec<_>>().join(" ")
}

/// The number of a target, or of the newest.
fn sm(target: Option<Target>) -> u16 {
    target.map_or(u16::MAX, |target| target.sm)
}
