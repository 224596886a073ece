//! Parts of the library that are tested by themselves: it has no tests of its own, as all of it would be built again for them.
#![allow(dead_code, unreachable_pub, reason = "a test uses a part")]

extern crate alloc;

use ptx_isa::table;

#[path = "../src/text/lexer.rs"]
mod lexer;
#[allow(unsafe_code, reason = "it belongs to the one module that has it")]
#[path = "../src/lanes/params.rs"]
mod params;
#[path = "../src/text/scope.rs"]
mod scope;
