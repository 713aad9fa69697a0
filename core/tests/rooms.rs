//! Keeps the direction of the house: a file in `program` or `core` imports only from rooms above its own in the list.
//! Cargo keeps the direction between packages.

use std::fs;
use std::path::{Path, PathBuf};

/// The rooms, top to bottom, as the crate's front page lists them.
const ROOMS: &[&str] = &[
    "ir",
    "text",
    "graph",
    "machine",
    "sim",
    "ptx",
    "flow",
    "symbolic",
    "alias",
    "verify",
    "trace",
    "edit",
    "value_table",
    "inspect",
    "journal",
    "view",
    "query",
    "derive",
    "profile",
    "equivalence",
    "pass",
    "load",
    "link",
    "session",
    "report",
];

fn source_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            source_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The sources of a package, each with the folder that rooms are named from.
fn files_of(folder: &str) -> Vec<(PathBuf, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files = Vec::new();
    source_files(&folder, &mut files);
    files.into_iter().map(|file| (folder.clone(), file)).collect()
}

/// The rooms named after `crate::` in code, comments left out.
fn rooms_used(source: &str) -> Vec<(usize, String)> {
    let mut used = Vec::new();
    for (number, line) in source.lines().enumerate() {
        let code = line.split("//").next().unwrap_or("");
        for (at, _) in code.match_indices("crate::") {
            let rest = &code[at + "crate::".len()..];
            let name: String = rest.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect();
            used.push((number + 1, name));
        }
    }
    used
}

#[test]
fn imports_only_go_up() {
    let mut wrong = Vec::new();
    let mut checked = 0;
    for (source_folder, file) in ["../program/src", "src"].into_iter().flat_map(files_of) {
        let relative = file.strip_prefix(&source_folder).unwrap();
        let room = relative.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs").to_string();
        if room == "lib" {
            continue;
        }
        let Some(own) = ROOMS.iter().position(|known| *known == room) else {
            wrong.push(format!("{}: `{room}` is not in the list of rooms", relative.display()));
            continue;
        };
        for (line, name) in rooms_used(&fs::read_to_string(&file).unwrap()) {
            checked += 1;
            match ROOMS.iter().position(|known| *known == name) {
                Some(other) if other > own => {
                    wrong.push(format!("{}:{line}: `{room}` imports from `{name}` below it", relative.display()));
                }
                Some(_) => {}
                None => wrong.push(format!("{}:{line}: `crate::{name}` is no room", relative.display())),
            }
        }
    }
    assert!(checked > 20, "the test found almost no imports: does it still read the sources?");
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
