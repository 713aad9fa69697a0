//! Tests of the style of the house: imports in `program` and `core` follow the order of the rooms, and comments and
//! messages its words. Cargo keeps the direction between packages.

use std::fs;
use std::path::{Path, PathBuf};

/// The rooms, top to bottom, as the crate's front page lists them.
const ROOMS: &[&str] = &[
    "compact_sort",
    "ir",
    "text",
    "graph",
    "machine",
    "sim",
    "ptx",
    "flow",
    "symbolic",
    "alias",
    "names",
    "verify",
    "trace",
    "edit",
    "value_table",
    "inspect",
    "journal",
    "view",
    "query",
    "vng",
    "derive",
    "profile",
    "equivalence",
    "pass",
    "load",
    "link",
    "session",
    "facade",
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

/// Exceptions of the rules below: the beginning of a path, and the rule. Ten at most.
const EXCEPTIONS: &[(&str, &str)] = &[("core/src/pass/reassociate/", "columns"), ("web/", "columns")];

/// Beginnings of doc comments that name neither a thing nor an action.
const FORBIDDEN_BEGINNINGS: [&str; 6] = ["What", "Who", "Where", "Of", "By", "The same"];

/// Words of a private language, which users would have to guess.
const FORBIDDEN_WORDS: [&str; 6] = ["stands", "goes away", "hears", "is told", "at hand", "in front of"];

/// Folders whose string literals users read.
const READ_BY_USERS: [&str; 6] = ["program/src/", "sim/src/", "core/src/", "cli/src/", "web/src/", "web/engine/src/"];

const MOST_COLUMNS: usize = 120;

/// Complaints of `check` about each source file of the workspace without an exception from `rule`, given its path from
/// the root and its text.
fn complaints(rule: &str, check: impl Fn(&str, &str) -> Vec<(usize, String)>) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    for member in ["program", "sim", "core", "cli", "testkit", "gpu", "web", "xtask", "fuzz"] {
        source_files(&root.join(member), &mut files);
    }
    assert!(files.len() > 500, "the test found almost no files: does it still read the sources?");
    let mut found = Vec::new();
    for file in files {
        let relative = file.strip_prefix(root).unwrap().to_str().unwrap().replace('\\', "/");
        let is_excepted = EXCEPTIONS.iter().any(|(path, known)| *known == rule && relative.starts_with(path));
        let is_generated = relative.split('/').any(|part| matches!(part, "target" | "node_modules" | "dist"));
        if !is_excepted && !is_generated {
            let complaints = check(&relative, &fs::read_to_string(&file).unwrap());
            found.extend(complaints.into_iter().map(|(line, complaint)| format!("{relative}:{line}: {complaint}")));
        }
    }
    found
}

/// Tests for a phrase between boundaries of words.
fn has_phrase(text: &str, phrase: &str) -> bool {
    let is_word = |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
    text.match_indices(phrase)
        .any(|(at, _)| !is_word(text[..at].chars().next_back()) && !is_word(text[at + phrase.len()..].chars().next()))
}

/// String literals of a source text without its unit tests, each with its line.
fn literals(source: &str) -> Vec<(usize, String)> {
    let source = source.split("\n#[cfg(test)]\nmod ").next().unwrap_or("");
    let (mut found, mut line, mut rest) = (Vec::new(), 1, source);
    while let Some(next) = rest.chars().next() {
        let hashes = rest.strip_prefix('r').map(|raw| raw.len() - raw.trim_start_matches('#').len());
        let raw_start = hashes.filter(|&hashes| rest[1 + hashes..].starts_with('"'));
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(hashes) = raw_start {
            let (start, end) = (2 + hashes, format!("\"{}", "#".repeat(hashes)));
            let length = rest[start..].find(&end).unwrap_or(rest.len() - start);
            found.push((line, rest[start..start + length].to_string()));
            (start + length + end.len()).min(rest.len())
        } else if next == '"' {
            let mut is_escaped = false;
            let is_end = |letter: char| {
                let is_end = letter == '"' && !is_escaped;
                is_escaped = letter == '\\' && !is_escaped;
                is_end
            };
            let length = rest[1..].find(is_end).unwrap_or(rest.len() - 1);
            found.push((line, rest[1..1 + length].to_string()));
            (length + 2).min(rest.len())
        } else if rest.starts_with("'\"'") || rest.starts_with("'\\\"'") {
            rest[1..].find("\"'").map_or(1, |at| at + 3)
        } else if next.is_alphanumeric() || next == '_' {
            rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len())
        } else {
            next.len_utf8()
        };
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    found
}

/// Doc comments of a source text that begin with a forbidden word.
fn forbidden_beginnings(source: &str) -> Vec<(usize, String)> {
    let comment = |line: &str| {
        let line = line.trim_start();
        line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).map(|text| text.trim_start().to_string())
    };
    let (mut found, mut is_inside) = (Vec::new(), false);
    for (number, line) in source.lines().enumerate() {
        let text = comment(line);
        if let Some(text) = text.as_ref().filter(|_| !is_inside) {
            let ends = |rest: &str| !rest.starts_with(|letter: char| letter.is_alphanumeric());
            let bad = FORBIDDEN_BEGINNINGS.iter().find(|word| text.strip_prefix(**word).is_some_and(ends));
            found.extend(bad.map(|word| (number + 1, format!("a doc comment begins with `{word}`"))));
        }
        is_inside = text.is_some();
    }
    found
}

#[test]
fn exceptions_are_few() {
    assert!(EXCEPTIONS.len() <= 10);
}

#[test]
fn doc_comments_begin_with_nouns_or_verbs() {
    let wrong = complaints("beginnings", |_, source| forbidden_beginnings(source));
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert_eq!(forbidden_beginnings("/// Whatever.\n/// What\nfn f();\n\n    /// What it is.\n").len(), 1);
}

#[test]
fn messages_have_no_private_words() {
    let wrong = complaints("words", |path, source| {
        let mut found = Vec::new();
        if READ_BY_USERS.iter().any(|folder| path.starts_with(folder)) {
            for (line, text) in literals(source) {
                let words = FORBIDDEN_WORDS.iter().filter(|word| has_phrase(&text, word));
                found.extend(words.map(|word| (line, format!("a message says `{word}`"))));
            }
        }
        found
    });
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    let found = literals("// \"a\"\nlet b = \"c \\\" d\"; let e = r#\"f \"g\"#; ('\"', \"h\")");
    assert_eq!(found, [(2, "c \\\" d".into()), (2, "f \"g".into()), (2, "h".into())]);
}

#[test]
fn lines_are_short() {
    let wrong = complaints("columns", |_, source| {
        let long = source.lines().enumerate().filter(|(_, line)| line.chars().count() > MOST_COLUMNS);
        long.map(|(number, line)| (number + 1, format!("{} columns", line.chars().count()))).collect()
    });
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn engine_has_one_sort() {
    let engine = ["program/src/", "sim/src/", "core/src/", "web/engine/src/"];
    let wrong = complaints("sorts", |path, source| {
        let is_in_engine = engine.iter().any(|folder| path.starts_with(folder)) && !path.ends_with("/compact_sort.rs");
        let code = source.split("\n#[cfg(test)]\nmod ").next().unwrap_or("").lines().enumerate();
        let sorts = code.filter(|(_, line)| is_in_engine && line.contains(".sort"));
        sorts.map(|(number, _)| (number + 1, "a standard sort; see `compact_sort`".into())).collect()
    });
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
