//! Reading, judging and printing PTX.

#[path = "../random/mod.rs"]
mod random;
#[path = "../statements/mod.rs"]
mod statements;

mod builder;
mod calls;
mod columns;
mod constant;
mod declarations;
mod fixes;
mod floors;
mod frame;
mod index;
mod labels;
mod module;
mod remedies;
mod resolved;
mod statement;
mod verdicts;
