//! The Python module `ptx_isa`: the crate `ptx-isa` as Python's objects.
//!
//! It knows no instruction and no rule: what is asked is handed to the crate, and what it answers is given back. What each
//! function and class is for, `ptx_isa.pyi` says.

mod array;
mod effects;
mod evaluate;
mod finding;
mod form;
mod kernel;
mod module;
mod statement;
mod tensor;
mod text;
mod value;

use pyo3::prelude::*;

/// PTX instructions as one table: check modules, evaluate statements, look forms up, run kernels.
#[pymodule]
mod ptx_isa {
    #[pymodule_export]
    use crate::effects::{Access, Effects, Floor, FloorReason};
    #[pymodule_export]
    use crate::evaluate::{ErrorBound, Evaluation, evaluate};
    #[pymodule_export]
    use crate::finding::{Diagnostic, Fix, PtxError, check, fix};
    #[pymodule_export]
    use crate::form::{Form, FormOperand, explain, forms};
    #[pymodule_export]
    use crate::kernel::{Kernel, Launch, LaunchError, LinkedModule, Report, link};
    #[pymodule_export]
    use crate::module::{Declaration, Directive, Function, Label, Module, Part};
    #[pymodule_export]
    use crate::statement::{Guard, Operand, Statement};
    #[pymodule_export]
    use crate::tensor::TensorMap;

    #[pymodule_export]
    #[allow(non_upper_case_globals, reason = "it is Python's name")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
