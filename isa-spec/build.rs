//! Lists the files of the table of `ptx-isa`, so that a new one has to be named nowhere.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let variable = |name| env::var_os(name).map(PathBuf::from).ok_or(io::ErrorKind::NotFound);
    let folder = variable("CARGO_MANIFEST_DIR")?.join("ptx");
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        files.push(entry?.path());
    }
    // The prelude comes first: the others are described with it.
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    files.sort_by_key(|path| (name(path) != "prelude.isa", name(path)));
    let list = files.iter().map(|path| format!("({:?}, include_str!({path:?})),\n", name(path)));
    fs::write(variable("OUT_DIR")?.join("ptx.rs"), format!("&[\n{}]", list.collect::<String>()))
}
