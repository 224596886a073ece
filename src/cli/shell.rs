//! `ptx-isa completions` and `ptx-isa man`: shell completions and the manual page.

use std::io::{self, Write};

use clap::CommandFactory;
use clap_complete::Shell;
use clap_mangen::Man;

use super::Outcome;

pub(super) fn completions<Arguments: CommandFactory>(shell: Shell) -> io::Result<Outcome> {
    let mut command = Arguments::command();
    let name = command.get_name().to_owned();
    // It is made whole before it is written: a reader may close the pipe, and the crate would panic.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    io::stdout().lock().write_all(&script)?;
    Ok(Outcome::Fine)
}

/// One page: what all commands have in common, then each command.
pub(super) fn man<Arguments: CommandFactory>() -> io::Result<Outcome> {
    let mut command = Arguments::command();
    command.build();
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    for command in command.get_subcommands().filter(|command| command.get_name() != "help") {
        let name = command.get_bin_name().unwrap_or_else(|| command.get_name()).to_uppercase();
        writeln!(page, ".SH {}", name.replace('-', "\\-"))?;
        let part = Man::new(command.clone());
        part.render_synopsis_section(&mut page)?;
        part.render_description_section(&mut page)?;
        part.render_options_section(&mut page)?;
        part.render_extra_section(&mut page)?;
    }
    io::stdout().lock().write_all(&page)?;
    Ok(Outcome::Fine)
}
