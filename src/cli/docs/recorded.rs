//! Which forms have results of a machine: the file of recorded results that the tests replay says so.

use std::collections::HashSet;

use ptx_isa::TABLE;
use serde::Serialize;

/// What a file of recorded results says.
pub(super) struct Recorded {
    /// How they were recorded: the last line of the file's head.
    by: String,
    /// The names of the forms.
    names: HashSet<String>,
}

/// Which forms of an opcode are recorded, in the fewest words.
#[derive(Serialize)]
pub(super) struct Part {
    by: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    only: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    except: Option<Vec<String>>,
}

impl Recorded {
    /// Lines that begin with the name of a form, behind a head of comments.
    pub(super) fn read(text: &str) -> Recorded {
        let head = text.lines().take_while(|line| line.starts_with('#'));
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        Recorded {
            by: head.last().map_or("", |line| line.trim_start_matches('#').trim()).to_owned(),
            names: lines.filter_map(|line| line.split(' ').next()).map(str::to_owned).collect(),
        }
    }

    pub(super) fn part(&self, opcode: &str) -> Part {
        let forms = TABLE.instructions().filter(|info| info.data().opcode == opcode).flat_map(|info| info.forms());
        let (only, except): (Vec<String>, Vec<String>) =
            forms.map(|form| form.name()).partition(|name| self.names.contains(name));
        let (only, except) = if only.len() <= except.len() { (Some(only), None) } else { (None, Some(except)) };
        Part { by: self.by.clone(), only, except }
    }
}
