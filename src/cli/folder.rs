//! A folder that a command writes: it may be written again, and what others put there stays as it is.

use std::fs;
use std::io;
use std::path::{Component, Path};

/// File that lists the files that the command wrote to the folder.
const LIST: &str = "written-by-ptx-isa.txt";

/// Writes files by name, and removes files of the last run that are not among them. If a file exists that the command
/// did not write, nothing is written.
pub(super) fn write(out: &Path, files: &[(String, String)]) -> io::Result<()> {
    let before = match fs::read_to_string(out.join(LIST)) {
        Ok(list) => list.lines().filter(|name| is_inside(name)).map(str::to_owned).collect(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        Err(error) => return Err(error),
    };
    let foreign = files.iter().find(|(name, _)| !before.contains(name) && out.join(name).exists());
    if let Some((name, _)) = foreign {
        let message = format!("{name} is there already and was not written by this command, so nothing was written");
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
    }
    fs::create_dir_all(out)?;
    for name in before.iter().filter(|name| files.iter().all(|(other, _)| other != *name)) {
        match fs::remove_file(out.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    // It comes first, so that what was broken off can be written again.
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    fs::write(out.join(LIST), names.join("\n") + "\n")?;
    for (name, text) in files {
        let path = out.join(name);
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, text)?;
    }
    Ok(())
}

/// Returns true if the name is a path inside the folder.
fn is_inside(name: &str) -> bool {
    !name.is_empty() && Path::new(name).components().all(|part| matches!(part, Component::Normal(_)))
}
