//! Declarations of a PTX file come out as they went in: names, linkage, attributes, parameters,
//! launch bounds. Compared as text, and where the vendor's tools are there, as symbols and
//! attributes of the machine code.

use super::assembles::{assemble_with, assembler, directive, exported};
use super::inputs::{self, Input};
use super::unit_programs::{after, words};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use warpscope_core::ir::{InstData, Module, Op, Opcode, Operand, Type};
use warpscope_core::pass::parse_pipeline;
use warpscope_core::ptx::{export, import};
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

/// The name of a function that a declaration declares.
fn function_name(declaration: &str) -> Option<&str> {
    let (_, after) = declaration.split_once(".func")?;
    let after = after.strip_prefix('(').map_or(after, |result| result.split_once(')').map_or("", |(_, rest)| rest));
    after.trim().split(['(', '.']).next().map(str::trim)
}

/// Declarations that hosts and linkers see: kernels, functions and variables of the whole file, each with all that it
/// declares, and by the function's name where it is one. A forward declaration says nothing beside its definition.
fn interface(source: &str) -> BTreeSet<(Option<String>, String)> {
    let declarations = declarations(source);
    let definitions = declarations.iter().filter(|(_, has_body)| *has_body);
    let defined: BTreeSet<&str> = definitions.filter_map(|(text, _)| function_name(text)).collect();
    let mut interface = BTreeSet::new();
    for (declaration, has_body) in &declarations {
        let name = function_name(declaration);
        if name.is_some_and(|name| !has_body && defined.contains(name)) {
            continue;
        }
        // Several variables of one declaration are declared one by one.
        let names = declaration.split(',').count();
        if names > 1 && !declaration.contains(['(', '{']) && !declaration.starts_with(".alias") {
            let (first, rest) = declaration.split_once(',').expect("a comma");
            let before = first.rsplit_once(' ').expect("a type").0;
            interface.insert((None, first.into()));
            interface.extend(rest.split(',').map(|name| (None, format!("{before} {name}"))));
        } else {
            interface.insert((name.map(String::from), declaration.clone()));
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
            let (mut before, mut after) = (interface(&input.source), interface(&written));
            // Parameters in registers are older than the ABI, which passes them as it does those in memory.
            let in_registers: BTreeSet<Option<String>> =
                before.iter().filter(|(_, text)| text.contains("(.reg ")).map(|(name, _)| name.clone()).collect();
            for interface in [&mut before, &mut after] {
                interface.retain(|(name, _)| name.is_none() || !in_registers.contains(name));
            }
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

/// Aggregates by value and shared variables of the file mean the same when they are written and
/// read again; also where a pass has made it necessary to give a result an address.
#[test]
fn functions_keep_their_interface_and_their_values() {
    let source = std::fs::read_to_string(inputs::corpus_folder().join("interfaces.ptx")).expect("a file of the corpus");
    let mut module = import(&source).module;
    let wanted = words(&module, 32);
    assert!(wanted.iter().any(|word| *word != 0), "{wanted:?}");
    for pipeline in ["simplify-cfg", "@ptxas", "general-optimize"] {
        let written = export(&after(&module, pipeline)).text;
        assert_eq!(words(&import(&written).module, 32), wanted, "{pipeline}:\n{written}");
    }
    let func = module.func_by_name("f").expect("the function");
    let func = &mut module.funcs[func];
    let result = func.params[0].reg.expect("a pointer");
    let store = func.insts.iter().find(|(_, inst)| inst.opcode.op == Op::St).expect("a store").0;
    let copy = func.build_reg("copy", Type::B64);
    let moved = InstData::new(Opcode::mov(Type::B64), [copy], [Operand::Reg(result)]);
    let block = func.inst_block(store).expect("a store of the text");
    let moved = func.insts.push(moved);
    func.insert_inst(moved, block, Some(store));
    for operand in &mut func.insts[store].args {
        operand.for_each_reg_mut(&mut |reg| *reg = if *reg == result { copy } else { *reg });
    }
    let written = export(&module).text;
    assert!(written.contains("\t.local .align 16 .b8 _lresult[16];\n"), "{written}");
    assert_eq!(words(&import(&written).module, 32), wanted, "{written}");
    if let Some(ptxas) = assembler() {
        assemble_with(&ptxas, &[], "result-with-an-address", &written);
    }
}
