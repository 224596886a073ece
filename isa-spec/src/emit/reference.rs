//! Data of the reference: the pages, and for each form the value of every line of pseudo-code.

use isa_table::constant::Content;
use isa_table::names::{camel, snake};
use isa_table::page::{Manual, Page, PageBuf, Source, SourceBuf};
use isa_table::table::TypeId;
use isa_table::trace::{Step, StepBuf, Trace, TraceBuf};

use super::Context;
use super::code::Code;
use super::columns::{list, pseudo_code, rows_of};
use super::pool::Pool;
use crate::check::Form;
use crate::plan::{Operations, trace};
use crate::program::Ty;

pub(super) fn emit(cx: &Context<'_>, pages: &[PageBuf], code: &mut Code) {
    let mut traces = Traces::new(cx);
    cx.checked.forms.iter().enumerate().for_each(|(index, form)| traces.form(index, form));
    code.line("#[allow(unused_imports, reason = \"a table need not use every shape\")]");
    code.line(format_args!("use {}::reference::{{Reference, page::*, trace::*}};", cx.support));
    code.line("#[allow(unused_imports, reason = \"a table need not use every shape\")]");
    code.line(format_args!("use {}::table::TypeId;", cx.support));
    code.line("#[allow(unused_imports, reason = \"a table need not use every shape\")]");
    code.line(format_args!("use {}::target::{{Removed, Target, Version}};", cx.support));
    code.blank();
    code.docs("The reference that the spec writes.");
    let base = match cx.checked.model.has_base {
        true => format!("Some(&{}::reference::REFERENCE)", cx.support),
        false => "None".to_owned(),
    };
    code.block("pub static REFERENCE: Reference = Reference {", "};", |code| {
        code.line(format_args!("base: {base},"));
        code.line("pages: PAGES,");
        code.line("traces: &TRACES,");
        code.line("manual: MANUAL,");
        code.line("sources: SOURCES,");
    });
    code.docs("What lines of pseudo-code compute.");
    code.line("pub static TRACES: Traces =");
    code.line("    Traces { lines: LINES, programs: PROGRAMS, steps: STEPS, list: LIST, starts: STARTS };");
    let mut manual = String::new();
    Option::<Manual>::write(&cx.checked.model.manual, &mut manual);
    code.line(format_args!("static MANUAL: Option<Manual> = {manual};"));
    let sources = cx.sources.files().map(|(name, text)| SourceBuf { name: name.into(), text: text.into() });
    rows_of::<Source>(code, "SOURCES", "Source", &sources.collect::<Vec<_>>());
    rows_of::<Page>(code, "PAGES", "Page", pages);
    rows_of::<&str>(code, "LINES", "&str", &traces.lines.list);
    rows_of::<&[u8]>(code, "PROGRAMS", "&[u8]", &traces.programs.list);
    rows_of::<&[Step]>(code, "STEPS", "&[Step]", &traces.steps.list);
    rows_of::<Trace>(code, "LIST", "Trace", &traces.list);
    list(code, "STARTS", "u32", traces.starts.len(), |code| code.list(&traces.starts));
}

/// Traces under construction.
struct Traces<'a> {
    cx: &'a Context<'a>,
    operations: Operations,
    lines: Pool<String, String>,
    programs: Pool<Vec<u8>, Vec<u8>>,
    steps: Pool<Vec<[usize; 4]>, Vec<StepBuf>>,
    list: Vec<TraceBuf>,
    starts: Vec<usize>,
}

impl<'a> Traces<'a> {
    fn new(cx: &'a Context<'a>) -> Traces<'a> {
        let (lines, programs, steps) = (Pool::new(), Pool::new(), Pool::new());
        let operations = Operations::known(&cx.plan.operations);
        Traces { cx, operations, lines, programs, steps, list: Vec::new(), starts: vec![0] }
    }

    fn form(&mut self, index: usize, form: &Form) {
        let checked = self.cx.checked;
        for (of, evaluation) in form.programs.iter().zip(&self.cx.plan.evaluations[index]) {
            let program = &checked.programs[of.program];
            let bytes = trace(&checked.model, &mut self.operations, program, &form.patterns);
            let number = self.programs.number(bytes.clone(), || bytes);
            let lines = pseudo_code(self.cx, form, of.below);
            let steps: Vec<[usize; 4]> = lines
                .into_iter()
                .zip(&program.steps)
                .map(|(line, step)| {
                    let line = self.lines.number(line.clone(), || line);
                    match step.map(|step| (step.0, program.value(step).ty)) {
                        Some((value, Ty::Lanes { lane, lanes })) => [line, lane.index(), lanes as usize, value],
                        Some((_, Ty::Pick(_))) | None => [line, 0, 0, 0],
                    }
                })
                .collect();
            let steps = self.steps.number(steps.clone(), || {
                let step = |[line, ty, lanes, value]: [usize; 4]| StepBuf {
                    line: line as u32,
                    ty: TypeId(ty as u8),
                    lanes: lanes as u8,
                    value: value as u8,
                };
                steps.into_iter().map(step).collect()
            });
            self.list.push(TraceBuf {
                below: of.below,
                sources: evaluation.written as u8,
                program: number as u32,
                steps: steps as u32,
            });
        }
        self.starts.push(self.list.len());
    }
}

/// Generates the pages as modules, for rustdoc.
pub(crate) fn manual(cx: &Context<'_>, pages: &[PageBuf]) -> String {
    let mut code = Code::default();
    let krate = cx.support.trim_start_matches(':');
    for (opcode, page) in pages.iter().enumerate() {
        let name = camel(&page.opcode);
        let links = isa_table::markdown::Links { name: &name, item: &format!("{krate}::{name}"), krate };
        // Renderers take the static page; leaking is limited to the generator's run.
        let shown = Page::leak(page.clone());
        code.line(format_args!("#[doc = {:?}]", isa_table::markdown::page(&shown, &links)));
        // Mnemonics and other names are search aliases of the opcode's page.
        let forms = cx.checked.forms.iter().filter(|form| form.opcode == opcode);
        let mut names: Vec<&str> = forms.map(|form| &*form.mnemonic).chain([&*page.opcode]).collect();
        names.extend(page.entries.iter().flat_map(|entry| &entry.also).map(String::as_str));
        names.sort_unstable();
        names.dedup();
        names.retain(|name| *name != snake(&page.opcode).trim_start_matches("r#"));
        names.into_iter().for_each(|name| code.alias(name));
        code.line(format_args!("pub mod {} {{}}", snake(&page.opcode)));
        code.blank();
    }
    code.finish()
}
