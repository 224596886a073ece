//! Parts of the compiler that are tested by themselves: the crate has no unit tests, for which it would be built again.
#![allow(dead_code, unreachable_pub, reason = "a test uses a part")]

#[path = "../src/model/expand/letters.rs"]
mod letters;
#[path = "../src/text/nearest.rs"]
mod nearest;
