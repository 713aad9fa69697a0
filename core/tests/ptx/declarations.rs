//! Declarations of a PTX file come out as they went in: names, linkage, attributes, parameters, launch bounds. Compared as
//! text, and where the vendor's tools are there, as symbols and attributes of the machine code.

use super::assembles::{assemble_with, assembler, directive, exported};
use super::inputs::{self, Input};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use warpscope_core::ir::Module;
use warpscope_core::pass::parse_pipeline;
use warpscope_core::ptx::import;
use warpscope_core::session::{Options, Session};

/// Attributes of a kernel in the machine code that its declaration decides about.
const ATTRIBUTES: [&str; 8] = [
    "EIATTR_KPARAM_INFO",
    "EIATTR_CBANK_PARAM_SIZE",
    "EIATTR_MAX_THREADS",
    "EIATTR_REQNTID",
    "EIATTR_MAXREG_COUNT",
    "EIATTR_CTA_PER_CLUSTER",
    "EIATTR_EXPLICIT_CLUSTER",
    "EIATTR_MAX_CLUSTER_RANK",
];

/// The module as it was read, and after the pipeline that follows the vendor's.
fn versions(input: &Input) -> [(&'static str, Module); 2] {
    let read = || import(&input.source).module;
    let steps = parse_pipeline("infer-space,@ptxas").expect("a pipeline");
    let session = Session::open(read(), &Options { steps, ..Options::default() }, &mut || 0);
    [("read", read()), ("ptxas", session.module().clone())]
}

/// A text without comments, white space only where it separates two words.
fn squeezed(text: &str) -> String {
    let (mut plain, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("/*").into_iter().chain(rest.find("//")).min() {
        plain += &rest[..at];
        let end =
            if rest[at..].starts_with("/*") { rest[at..].find("*/").map(|end| end + 2) } else { rest[at..].find('\n') };
        rest = end.map_or("", |end| &rest[at + end..]);
    }
    plain += rest;
    let mut squeezed = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    for mark in ["(", ")", "[", "]", "{", "}", ",", "=", ";"] {
        squeezed = squeezed.replace(&format!(" {mark}"), mark).replace(&format!("{mark} "), mark);
    }
    squeezed
}

/// The declarations at module scope, each up to its body or semicolon, and whether it has a body.
fn declarations(source: &str) -> Vec<(String, bool)> {
    let is_line = |line: &&str| {
        let first = line.split_whitespace().next().unwrap_or_default();
        matches!(first, ".version" | ".target" | ".address_size" | ".file" | ".loc")
    };
    let text = source.lines().filter(|line| !is_line(line)).collect::<Vec<_>>().join("\n");
    let text = squeezed(&text);
    let (mut found, mut current, mut depth, mut has_body) = (Vec::new(), String::new(), 0, false);
    for letter in text.chars() {
        let is_function = current.contains(".entry") || current.contains(".func");
        match letter {
            '{' if depth == 0 && is_function => (depth, has_body) = (1, true),
            '{' if has_body => depth += 1,
            '}' if has_body => {
                depth -= 1;
                if depth == 0 {
                    found.push((std::mem::take(&mut current), std::mem::take(&mut has_body)));
                }
            }
            _ if has_body => {}
            // A pragma of a function ends before the function does.
            ';' if is_function && current.ends_with('"') => current.push(';'),
            ';' => found.push((std::mem::take(&mut current), false)),
            letter => current.push(letter),
        }
    }
    found
}

/// Symbols that hosts and linkers see: kernels and variables whole, functions without their parameters, whose form is the
/// exporter's.
fn interface(source: &str) -> BTreeSet<String> {
    let mut interface = BTreeSet::new();
    for (declaration, has_body) in declarations(source) {
        if declaration.contains(".func") {
            let Some((before, params)) = declaration.split_once(".func") else { continue };
            let params =
                params.strip_prefix('(').map_or(params, |result| result.split_once(')').map_or("", |(_, rest)| rest));
            let name = params.split(['(', '.']).next().unwrap_or_default();
            let after = params.rsplit_once(')').map_or("", |(_, after)| after);
            if has_body {
                interface.insert(format!("{before}.func {} {after}", name.trim()));
            }
        } else if !declaration.contains(".shared") || declaration.starts_with(".extern") {
            // Several variables of one declaration are declared one by one.
            let names = declaration.split(',').count();
            if names > 1 && !declaration.contains(['(', '{']) {
                let (first, rest) = declaration.split_once(',').expect("a comma");
                let before = first.rsplit_once(' ').expect("a type").0;
                interface.insert(first.into());
                interface.extend(rest.split(',').map(|name| format!("{before} {name}")));
            } else {
                interface.insert(declaration);
            }
        }
    }
    interface
}

#[test]
fn declarations_come_out_as_they_went_in() {
    let mut compared = 0;
    for input in inputs::everywhere() {
        for (version, module) in versions(&input) {
            let written = exported(&input.name, &module);
            let (mut before, after) = (interface(&input.source), interface(&written));
            // An extern array belongs to the kernels that use it.
            before.retain(|declaration| !declaration.starts_with(".extern") || after.contains(declaration));
            assert_eq!(before, after, "{} {version}:\n{written}", input.name);
            assert_eq!(directive(&input.source, ".target"), directive(&written, ".target"), "{} {version}", input.name);
            assert_eq!(
                directive(&input.source, ".version"),
                directive(&written, ".version"),
                "{} {version}",
                input.name
            );
            compared += before.len();
        }
    }
    assert!(compared > 250, "only {compared} declarations were compared");
}

/// Symbols that others see, and the attributes of kernels, both sorted.
fn seen_by_hosts(ptxas: &Path, cuobjdump: &Path, name: &str, ptx: &str) -> BTreeMap<String, BTreeSet<String>> {
    let object = assemble_with(ptxas, &[], name, ptx);
    let run = Command::new(cuobjdump).arg("-elf").arg(&object).output().expect("cuobjdump starts");
    assert!(run.status.success(), "{name}: {}", String::from_utf8_lossy(&run.stderr));
    let text = String::from_utf8_lossy(&run.stdout);
    let mut seen: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let (mut section, mut attribute) = (String::new(), String::new());
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [first] if first.starts_with(".nv.") => (section, attribute) = (first.to_owned(), String::new()),
            ["Attribute:", name] => attribute = name.to_owned(),
            _ if line.trim_start().starts_with('<') => attribute.clear(),
            ["Format:", ..] => {}
            [_, ..] if ATTRIBUTES.contains(&attribute.as_str()) && section.starts_with(".nv.info.") => {
                let values = seen.entry(format!("{section} {attribute}")).or_default();
                values.insert(words.join(" "));
            }
            [.., name] if words.contains(&"GLOBAL") || words.contains(&"WEAK") => {
                let kind = if words.contains(&"FUNC") { "FUNC" } else { "OBJECT" };
                let bind = if words.contains(&"WEAK") { "WEAK" } else { "GLOBAL" };
                seen.entry("symbols".into()).or_default().insert(format!("{kind} {bind} {name}"));
            }
            _ => {}
        }
    }
    assert!(seen.contains_key("symbols"), "{name}: {text}");
    seen
}

fn cuobjdump(ptxas: &Path) -> Option<PathBuf> {
    let path = ptxas.with_file_name(format!("cuobjdump{}", std::env::consts::EXE_SUFFIX));
    if !path.exists() {
        let _ = writeln!(std::io::stderr(), "SKIPPED: there is no cuobjdump beside ptxas");
    }
    Some(path).filter(|path| path.exists())
}

#[test]
fn hosts_see_the_same_kernels_and_parameters() {
    let Some(ptxas) = assembler() else { return };
    let Some(cuobjdump) = cuobjdump(&ptxas) else { return };
    for input in inputs::everywhere() {
        let before = seen_by_hosts(&ptxas, &cuobjdump, &format!("declared.{}", input.name), &input.source);
        for (version, module) in versions(&input) {
            let written = exported(&input.name, &module);
            let name = format!("declared.{version}.{}", input.name);
            let after = seen_by_hosts(&ptxas, &cuobjdump, &name, &written);
            assert_eq!(before, after, "{} {version}", input.name);
        }
    }
}
