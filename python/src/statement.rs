//! A statement's form, guard and operands.

use ptx_isa::TABLE;
use ptx_isa::table::FormInfo;
use ptx_isa::text;
use ptx_isa::text::statement::{Elements, Second, Value};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::effects::Effects;
use crate::finding::Diagnostic;
use crate::form::{Form, FormOperand};
use crate::module::Part;

/// An instruction.
#[pyclass(frozen, extends = Part, module = "ptx_isa")]
pub(crate) struct Statement {
    pub(crate) form: Option<FormInfo>,
    /// Why it has no form.
    pub(crate) reason: Option<Py<Diagnostic>>,
}

impl Statement {
    /// Hands the statement on as it is read from its text; nothing where it has an error.
    pub(crate) fn read<T>(self_: &Bound<'_, Self>, then: impl FnOnce(&text::Statement<'_>) -> T) -> Option<T> {
        self_.get().form?;
        let statement = text::Statement::parse(&TABLE, self_.as_super().get().as_str()).ok()?;
        Some(then(&statement))
    }
}

#[pymethods]
impl Statement {
    #[getter]
    fn form(&self) -> Option<Form> {
        self.form.map(Form)
    }

    #[getter]
    fn reason(&self, py: Python<'_>) -> Option<Py<Diagnostic>> {
        self.reason.as_ref().map(|reason| reason.clone_ref(py))
    }

    #[getter]
    fn opcode(&self) -> Option<&'static str> {
        self.form.map(|form| form.instruction().data().opcode)
    }

    #[getter]
    fn mnemonic(self_: &Bound<'_, Self>) -> Option<String> {
        Statement::read(self_, |statement| statement.mnemonic().into_owned())
    }

    #[getter]
    fn modifiers<'py>(self_: &Bound<'py, Self>) -> PyResult<Bound<'py, PyDict>> {
        let modifiers = PyDict::new(self_.py());
        let all = |statement: &text::Statement<'_>| {
            let slots = statement.form().instruction().data().slots.iter().enumerate();
            let written = slots.filter_map(|(index, slot)| Some((slot.name, statement.modifier(index as u8)?)));
            written.collect::<Vec<_>>()
        };
        for (name, member) in Statement::read(self_, all).unwrap_or_default() {
            modifiers.set_item(name, member)?;
        }
        Ok(modifiers)
    }

    #[getter]
    fn guard(self_: &Bound<'_, Self>) -> Option<Guard> {
        Statement::read(self_, |statement| {
            let guard = statement.guard()?;
            Some(Guard { register: guard.register.to_owned(), negated: guard.negated })
        })?
    }

    #[getter]
    fn operands<'py>(self_: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let all = |statement: &text::Statement<'_>| {
            let operands = statement.operands_with_info();
            let written = operands.take_while(|(_, operand)| operand.value != Value::Absent);
            written.map(|(info, operand)| Operand::new(info, operand)).collect::<Vec<_>>()
        };
        PyTuple::new(self_.py(), Statement::read(self_, all).unwrap_or_default())
    }

    #[getter]
    fn effects(self_: &Bound<'_, Self>) -> PyResult<Option<Effects>> {
        Effects::of(self_)
    }

    /// The canonical spelling; where it has an error, the text.
    fn __str__(self_: &Bound<'_, Self>) -> String {
        let canonical = Statement::read(self_, |statement| statement.to_string());
        canonical.unwrap_or_else(|| self_.as_super().get().as_str().to_owned())
    }
}

/// The predicate that a statement depends on.
#[pyclass(frozen, eq, get_all, module = "ptx_isa")]
#[derive(PartialEq)]
pub(crate) struct Guard {
    register: String,
    negated: bool,
}

#[pymethods]
impl Guard {
    fn __str__(&self) -> String {
        format!("@{}{}", if self.negated { "!" } else { "" }, self.register)
    }

    fn __repr__(&self) -> String {
        format!("<Guard {}>", self.__str__())
    }
}

/// Operand as written.
#[pyclass(frozen, get_all, module = "ptx_isa")]
pub(crate) struct Operand {
    info: FormOperand,
    kind: &'static str,
    name: Option<String>,
    value: Option<u64>,
    elements: Option<Vec<String>>,
    second: Option<String>,
    selector: Option<u32>,
}

impl Operand {
    fn new(info: &'static ptx_isa::table::Operand, written: &text::statement::Operand<'_>) -> Operand {
        let list = |elements: Elements<'_>| Some(elements.iter().map(|element| element.to_string()).collect());
        let (kind, name, value, elements) = match written.value {
            Value::Register(register) => ("register", Some(register.to_string()), None, None),
            Value::Negated(register) => ("negated", Some(register.to_string()), None, None),
            Value::Sum { name, addend } => ("sum", Some(name.to_owned()), Some(addend), None),
            Value::Element { name, index } => ("element", Some(name.to_owned()), Some(index), None),
            Value::Constant(bits) => ("constant", None, Some(bits), None),
            Value::Vector(elements) => ("vector", None, None, list(elements)),
            Value::Name(name) => ("name", Some(name.to_owned()), None, None),
            Value::Arguments(elements) => ("arguments", None, None, list(elements)),
            // One that is absent is not shown.
            Value::Sink | Value::Absent => ("sink", None, None, None),
        };
        let second = written.second.map(|second| match second {
            Second::Register(name) => name.to_owned(),
            Second::Sink => "_".to_owned(),
        });
        Operand { info: FormOperand(info), kind, name, value, elements, second, selector: written.selector }
    }
}

#[pymethods]
impl Operand {
    fn __repr__(&self) -> String {
        let words = [
            self.name.clone(),
            self.value.map(|value| format!("{value:#x}")),
            self.elements.as_ref().map(|all| all.join(", ")),
        ];
        let words: Vec<String> = words.into_iter().flatten().collect();
        format!("<Operand {}: {} {}>", self.info.0.name, self.kind, words.join(" "))
    }
}
