//! Parts of the library and of the command line that are tested by themselves: neither has unit tests, for which all of
//! it would be built again.
#![allow(dead_code, unreachable_pub, reason = "a test uses a part")]

extern crate alloc;

use ptx_isa::table;

#[cfg(feature = "run")]
#[path = "../src/run/groups.rs"]
mod groups;
#[path = "../src/text/lexer.rs"]
mod lexer;
#[cfg(feature = "lsp")]
#[path = "../src/cli/lsp/numbers.rs"]
mod numbers;
#[allow(unsafe_code, reason = "it belongs to the one module that has it")]
#[path = "../src/lanes/params.rs"]
mod params;
#[cfg(feature = "lsp")]
#[path = "../src/cli/lsp/positions.rs"]
mod positions;
#[path = "../src/text/scope.rs"]
mod scope;
