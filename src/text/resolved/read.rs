//! Builds a resolved module from the parts of a text.

use alloc::borrow::ToOwned;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use super::names::{Body, Globals, List, Names};
use super::{Function, Linkage, Module, Parameter, Register, Variable, declare, link};
use crate::diagnostic::{Diagnostic, Severity};
use crate::table::{Directive, Space, Table};
use crate::text::module::read::{self, Attributes, Part};
use crate::text::module::{self, Watch};
use crate::text::statement::Statement;

pub(super) fn read(table: &'static Table, text: &str) -> Result<Module, Vec<Diagnostic>> {
    let module = Module {
        table,
        text: text.to_owned(),
        parts: vec![0],
        version: None,
        target: None,
        address_bits: 64,
        functions: Vec::new(),
        variables: Vec::new(),
        files: Vec::new(),
    };
    let (globals, head, declaring, list, body) = (Globals::default(), Head::default(), None, None, None);
    let mut reading = Reading { module, globals, head, declaring, list, body, aliases: Vec::new() };
    let report = module::watched(table, text, &mut reading);
    if report.errors() > 0 {
        let errors = |diagnostic: &Diagnostic| diagnostic.severity == Severity::Error;
        return Err(report.diagnostics.into_iter().filter(errors).collect());
    }
    reading.finish();
    reading.relocations();
    reading.aliases();
    (reading.module.version, reading.module.target) = (report.version, report.target);
    Ok(reading.module)
}

struct Reading<'a> {
    module: Module,
    globals: Globals<'a>,
    /// The head that is being read, of a function or of a prototype.
    head: Head<'a>,
    declaring: Option<Declaring<'a>>,
    /// The list that is being read.
    list: Option<Listing<'a>>,
    body: Option<Body<'a>>,
    /// Names of functions, and what they are other names of.
    aliases: Vec<(&'a str, &'a str)>,
}

/// The head of a function.
#[derive(Default)]
struct Head<'a> {
    name: &'a str,
    function: Function,
    /// The parameters of the list that is being read.
    list: Vec<Parameter>,
    /// The names of results and parameters.
    names: Vec<(&'a str, Parameter)>,
}

/// The declaration whose names are being read.
struct Declaring<'a> {
    /// The state space; `None` for registers.
    space: Option<&'static Space>,
    linkage: Option<Linkage>,
    attributes: Option<Attributes<'a>>,
    name: &'a str,
    count: Option<u64>,
    /// The variable with the current name.
    variable: Option<Variable>,
    /// Its dimensions.
    dimensions: Vec<u64>,
}

/// A list of names.
struct Listing<'a> {
    label: &'a str,
    directive: &'static Directive,
    names: Vec<(&'a str, Option<u64>)>,
}

impl<'a> Watch<'a> for Reading<'a> {
    fn part(&mut self, part: &Part<'_, 'a>) {
        match part {
            Part::AddressSize(bits) => self.module.address_bits = *bits,
            Part::File(number, name, _) => self.module.files.push(((*number).into(), (*name).to_owned())),
            Part::Location(location) => {
                let [file, line, column] = location.map(u64::from);
                if let Some(body) = &mut self.body {
                    body.location = Some((file, line, column));
                }
            }

            Part::Head { kernel, linkage, .. } => {
                let function = Function { kernel: *kernel, linkage: *linkage, ..Function::default() };
                self.head = Head { function, ..Head::default() };
            }
            Part::HeadName(name) => self.head.name = name,
            Part::Parameter(parameter) => self.parameter(parameter),
            Part::ParametersEnd { behind_name, .. } => {
                let list = core::mem::take(&mut self.head.list);
                let function = &mut self.head.function;
                *(if *behind_name { &mut function.parameters } else { &mut function.results }) = list;
            }
            Part::HeadDirective(directive, numbers, _) => {
                self.head.function.directives.push((directive.name.to_owned(), numbers.to_vec()));
            }
            Part::Body { span, .. } => {
                self.finish();
                let (number, mut head) = self.function(span);
                let function = Function { body: true, ..core::mem::take(&mut head.function) };
                self.body = Some(Body::new(number, function, &head.names));
            }
            Part::Prototype(span) => {
                let (number, head) = self.function(span);
                self.module.functions[number] = head.function;
            }

            Part::Block(_) => self.in_body(Body::enter),
            Part::BlockEnds(_) => self.in_body(Body::leave),
            Part::BodyEnds(..) | Part::FunctionCut { .. } => self.finish(),

            Part::Declaration { linkage, space, .. } => {
                let (linkage, space) = (*linkage, *space);
                let (attributes, name, count, variable, dimensions) = (None, "", None, None, Vec::new());
                self.declaring = Some(Declaring { space, linkage, attributes, name, count, variable, dimensions });
            }
            Part::Attributes(attributes) => {
                if let Some(declaring) = &mut self.declaring {
                    declaring.attributes = Some((*attributes).clone());
                }
            }
            Part::Name { name, count, .. } => {
                if let Some(declaring) = &mut self.declaring {
                    (declaring.name, declaring.count) = (name, *count);
                }
            }
            Part::Dimensions(dimensions) => self.dimensions(dimensions),
            Part::Value(value, at, _) => {
                if let Some(variable) = self.declaring.as_mut().and_then(|declaring| declaring.variable.as_mut()) {
                    declare::initialize(self.module.table, variable, value, *at);
                }
            }
            Part::ValuesEnd { length: Some(length), .. } => self.length(*length),
            Part::NameEnds(_) => self.declared(),

            Part::Label { name, .. } => self.in_body(|body| body.label(name)),
            Part::List(label, directive, _) => {
                self.head = Head::default();
                self.list = Some(Listing { label, directive, names: Vec::new() });
            }
            Part::ListName(name, count) => {
                if let Some(list) = &mut self.list {
                    list.names.push((name, *count));
                }
            }
            Part::ListEnds(_) => self.list_ends(),
            Part::Alias(alias, function) => self.aliases.push((alias, function)),
            _ => {}
        }
    }

    fn statement(&mut self, statement: &Statement<'a>, span: Range<usize>) {
        let Some(body) = &mut self.body else { return };
        let Module { table, variables, .. } = &self.module;
        body.statement(&Names { table, globals: &self.globals, variables }, statement, span);
    }
}

impl<'a> Reading<'a> {
    /// Changes the open function, if there is one.
    fn in_body(&mut self, change: impl FnOnce(&mut Body<'a>)) {
        if let Some(body) = &mut self.body {
            change(body);
        }
    }

    fn parameter(&mut self, parameter: &read::Parameter<'a>) {
        let read::Parameter { name, space, ref attributes, ref dimensions, .. } = *parameter;
        let function = &mut self.head.function;
        let parameter = match (space, attributes.ty) {
            (Some(space), _) => {
                let table = self.module.table;
                let mut variable = declare::variable(table, name, space, None, attributes, dimensions);
                if function.kernel {
                    let start = function.parameter_bytes.checked_next_multiple_of(variable.align);
                    variable.offset = start.unwrap_or(u64::MAX);
                    function.parameter_bytes = variable.offset.saturating_add(variable.size);
                }
                function.variables.push(variable);
                Parameter::Variable(function.variables.len() - 1)
            }
            (None, Some(ty)) => {
                function.registers.push(Register { name: name.to_owned(), ty });
                Parameter::Register(function.registers.len() - 1)
            }
            (None, None) => return,
        };
        self.head.list.push(parameter);
        self.head.names.push((name, parameter));
    }

    /// Ends a head: returns the number of the function, and the head.
    fn function(&mut self, span: &Range<usize>) -> (usize, Head<'a>) {
        let mut head = core::mem::take(&mut self.head);
        (head.function.name, head.function.at) = (head.name.to_owned(), span.clone());
        let next = self.module.functions.len();
        let number = *self.globals.functions.entry(head.name).or_insert(next);
        if number == next {
            self.module.functions.push(Function::default());
        }
        (number, head)
    }

    fn dimensions(&mut self, dimensions: &[u64]) {
        let Some(Declaring { space: Some(space), linkage, attributes: Some(attributes), name, .. }) = &self.declaring
        else {
            return;
        };
        let variable = declare::variable(self.module.table, name, space, *linkage, attributes, dimensions);
        if let Some(declaring) = &mut self.declaring {
            (declaring.variable, declaring.dimensions) = (Some(variable), dimensions.to_vec());
        }
    }

    /// Values give the current variable its length.
    fn length(&mut self, length: u64) {
        if let Some(Declaring { variable: Some(variable), attributes: Some(attributes), dimensions, .. }) =
            &mut self.declaring
            && let Some(first) = dimensions.first_mut()
        {
            *first = length;
            declare::lay_out(self.module.table, variable, attributes.lanes.into(), dimensions);
        }
    }

    /// Everything is known of the current name.
    fn declared(&mut self) {
        let Some(declaring) = &mut self.declaring else { return };
        let Declaring { space, attributes, name, count, variable, .. } = declaring;
        match (space, variable.take(), &mut self.body) {
            (None, _, Some(body)) => {
                if let Some((ty, lanes)) = attributes.as_ref().and_then(|own| Some((own.ty?, own.lanes))) {
                    body.declare_registers(name, ty, lanes, *count);
                }
            }
            (_, Some(variable), Some(body)) => body.add_variable(name, variable),
            (_, Some(variable), None) => match self.globals.variables.get(name) {
                // Whatever is known of it already is more than that it is elsewhere.
                Some(_) if variable.linkage == Some(Linkage::Extern) => {}
                Some(number) => self.module.variables[*number] = variable,
                None => {
                    self.globals.variables.insert(name, self.module.variables.len());
                    self.module.variables.push(variable);
                }
            },
            (_, None, _) => {}
        }
    }

    fn list_ends(&mut self) {
        let (Some(Listing { label, directive, names }), Some(body)) = (self.list.take(), &mut self.body) else {
            return;
        };
        let list = if directive.prototype {
            body.function.prototypes.push(core::mem::take(&mut self.head).function);
            List::Prototype(body.function.prototypes.len() - 1)
        } else if directive.branches {
            List::Labels(names)
        } else {
            List::Functions(names.into_iter().map(|(name, _)| name).collect())
        };
        body.list(label, list);
    }

    /// Ends the function that is read.
    fn finish(&mut self) {
        if let Some(body) = self.body.take() {
            let (number, function) = body.finish(&self.globals);
            self.module.functions[number] = function;
        }
    }

    fn aliases(&mut self) {
        for (alias, function) in &self.aliases {
            if let (Some(alias), Some(function)) =
                (self.globals.functions.get(alias), self.globals.functions.get(function))
            {
                self.module.functions[*alias].alias = Some(*function);
            }
        }
        link::follow_aliases(&mut self.module, |function| function.linkage == Some(Linkage::Weak));
    }

    /// Resolves the names in initial contents, which may be declared behind them.
    fn relocations(&mut self) {
        for variable in &mut self.module.variables {
            for relocation in &mut variable.relocations {
                relocation.symbol = self.globals.symbol(&relocation.name);
            }
        }
    }
}
