//! The legal forms, and what the reference says of them.

use std::borrow::Cow;

use anstream::adapter::strip_bytes;
use ptx_isa::TABLE;
use ptx_isa::diagnostic::{Code, Explanation};
use ptx_isa::reference::REFERENCE;
use ptx_isa::reference::text::Terminal;
use ptx_isa::table::{self, FormInfo, Free, OperandKind};
use ptx_isa::text::statement::Need;
use ptx_isa::text::{effects, find, mnemonic, spelling};
use pyo3::prelude::*;

use crate::finding::Diagnostic;
use crate::text::options;

/// A legal form: an opcode with its modifiers.
#[pyclass(frozen, eq, hash, module = "ptx_isa")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Form(pub(crate) FormInfo);

#[pymethods]
impl Form {
    #[new]
    fn new(py: Python<'_>, mnemonic: &str) -> PyResult<Form> {
        // The name of one with several shapes of operands is not a mnemonic.
        let named = || TABLE.forms().find(|form| form.name() == mnemonic);
        match mnemonic::resolve(&TABLE, mnemonic) {
            Ok(resolved) => Ok(Form(resolved.form)),
            Err(refusal) => {
                named().map(Form).ok_or_else(|| Diagnostic::exception(py, refusal.into_diagnostic(), mnemonic))
            }
        }
    }

    fn __getnewargs__(&self) -> (String,) {
        (self.0.name(),)
    }

    #[getter]
    fn opcode(&self) -> &'static str {
        self.0.instruction().data().opcode
    }

    #[getter]
    fn mnemonic(&self) -> Cow<'static, str> {
        spelling::mnemonic(self.0)
    }

    #[getter]
    fn pattern(&self) -> String {
        self.0.pattern()
    }

    #[getter]
    fn signature(&self) -> String {
        self.0.signature()
    }

    #[getter]
    fn operands(&self) -> Vec<FormOperand> {
        self.0.operands().iter().map(FormOperand).collect()
    }

    #[getter]
    fn ptx(&self) -> String {
        spelling::since(self.0).ptx.to_string()
    }

    #[getter]
    fn targets(&self) -> Vec<String> {
        spelling::since(self.0).targets.iter().map(ToString::to_string).collect()
    }

    #[getter]
    fn section(&self) -> &'static str {
        self.0.section()
    }

    #[getter]
    fn has_evaluator(&self) -> bool {
        !self.0.evaluations().is_empty()
    }

    #[getter]
    fn is_collective(&self) -> bool {
        self.0.is_collective()
    }

    fn __str__(&self) -> String {
        format!("{} {}", self.0.pattern(), self.0.signature()).trim_end().to_owned()
    }

    fn __repr__(&self) -> String {
        format!("<Form {}>", self.__str__())
    }
}

/// An operand of a form.
#[pyclass(frozen, module = "ptx_isa")]
#[derive(Clone, Copy)]
pub(crate) struct FormOperand(pub(crate) &'static table::Operand);

#[pymethods]
impl FormOperand {
    #[getter]
    fn name(&self) -> &'static str {
        self.0.name
    }

    #[getter(r#type)]
    fn ty(&self) -> Option<&'static str> {
        self.0.kind.is_value().then(|| TABLE.ty(self.0.ty).name)
    }

    #[getter]
    fn bits(&self) -> Option<u16> {
        self.0.kind.is_value().then(|| TABLE.ty(self.0.ty).bits)
    }

    #[getter]
    fn kind(&self) -> &'static str {
        match self.0.kind {
            OperandKind::Scalar => "scalar",
            OperandKind::Vector(_) => "vector",
            OperandKind::Address => "address",
            other => other.name(),
        }
    }

    #[getter]
    fn lanes(&self) -> u8 {
        match self.0.kind {
            OperandKind::Vector(lanes) => lanes,
            _ => 1,
        }
    }

    #[getter]
    fn destination(&self) -> bool {
        self.0.destination
    }

    #[getter]
    fn second(&self) -> Option<&'static str> {
        self.0.second.as_ref().map(|second| second.name)
    }

    fn __repr__(&self) -> String {
        let ty = self.ty().map(|ty| format!(" .{ty}")).unwrap_or_default();
        format!("<FormOperand {} {}{ty}>", self.0.name, self.kind())
    }
}

/// The legal forms whose mnemonic matches.
#[pyfunction]
#[pyo3(signature = (pattern=None, target=None, ptx=None))]
pub(crate) fn forms(pattern: Option<&str>, target: Option<&str>, ptx: Option<&str>) -> PyResult<Vec<Form>> {
    let options = options(target, ptx)?;
    let taken = |form: FormInfo, free: &Free| spelling::is_taken_with(form, free, options.ptx, options.target);
    let found = match pattern {
        Some(pattern) => find::forms(&TABLE, pattern, taken),
        None => TABLE.forms().filter(|form| spelling::is_taken(*form, options.ptx, options.target)).collect(),
    };
    Ok(found.into_iter().map(Form).collect())
}

/// Returns the reference's description of a mnemonic or an opcode.
#[pyfunction]
pub(crate) fn explain(py: Python<'_>, mnemonic: &str) -> PyResult<String> {
    if let Some(code) = Code::from_name(mnemonic) {
        let Explanation { text, wrong, cure, right, .. } = code.explanation();
        return Ok(format!("{code}\n\n{} {text}\n\n{wrong}\n\n{cure}\n\n{right}\n", code.description()));
    }
    let mut terminal = Terminal { out: Vec::new() };
    match REFERENCE.page(mnemonic).filter(|_| mnemonic::resolve(&TABLE, mnemonic).is_err()) {
        Some(page) => terminal.page(page)?,
        None => {
            let resolved = mnemonic::resolve(&TABLE, mnemonic)
                .map_err(|refusal| Diagnostic::exception(py, refusal.into_diagnostic(), mnemonic))?;
            let needs: Vec<Need<'_>> = Need::of(resolved.form, resolved.free).collect();
            let page = REFERENCE.form_with(resolved.form, &resolved.free).expect("a page for each form");
            let effects = effects::of_form_in_words(resolved.form, &resolved.free);
            terminal.form(&page, &needs, &effects)?;
        }
    }
    Ok(String::from_utf8_lossy(&strip_bytes(&terminal.out).into_vec()).into_owned())
}
