//! The command line, run as a user runs it.

#[path = "../command/mod.rs"]
mod command;

mod check;
mod dataset;
#[cfg(feature = "scalar")]
mod explain;
mod findings;
mod run;
mod usage;
#[cfg(unix)]
mod walk;
