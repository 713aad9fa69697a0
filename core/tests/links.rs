//! Links that any version of the laboratory wrote stay readable for ever.
//!
//! Each line of `golden/links.jsonl` has a name, a link as it was written, and the document that it holds. A new shape
//! is added to [`shapes`]; `BLESS=1` then appends its line. No line is ever changed or taken out.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;

use serde_json::{Value, json};
use warpscope_core::link::{Dialect, Document, Position, RunSettings, Stage, decode, encode, from_json};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/links.jsonl");

/// The documents whose links are kept, with the names of their lines.
fn shapes() -> Vec<(&'static str, Document)> {
    let text = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect()
    };
    let stage = |pass: &str| Stage { pass: pass.to_string(), ..Stage::default() };
    let source = "kernel k(n: u32) {\nentry:\n    ret\n}\n";
    vec![
        ("nothing", Document::default()),
        ("a program", Document { source: source.to_string(), ..Document::default() }),
        (
            "everything",
            Document {
                source: ".visible .entry k()\n{\n\tret;\n}\n".to_string(),
                dialect: Dialect::Ptx,
                launch: "launch k {\n    grid 2\n}\n".to_string(),
                pipeline: vec![
                    stage("@ptxas"),
                    Stage { knobs: text(&[("p_thresh", "0.32"), ("variant", "B")]), ..stage("azp") },
                    Stage { off: true, ..stage("dce") },
                ],
                fast_math: false,
                position: Some(Position { pass: 3, event: 41 }),
                run: RunSettings {
                    kernel: Some("k".to_string()),
                    machine: Some("volta".to_string()),
                    seed: Some(u64::MAX),
                    grid: Some([4, 1, 1]),
                    block: Some([64, 2, 1]),
                    warp: Some(8),
                    fuel: Some(1_000_000),
                    set: text(&[("input.true", "0.3"), ("x.zero", "0.5"), ("l1", "off")]),
                },
                view: text(&[("pane", "graph"), ("theme", "dark")]),
            },
        ),
        (
            "the fast-math licence",
            Document {
                source: source.to_string(),
                fast_math: true,
                pipeline: vec![stage("azp")],
                ..Document::default()
            },
        ),
        (
            "the page, inside its second pass",
            Document {
                source: source.to_string(),
                pipeline: vec![stage("copy-prop"), stage("dce")],
                position: Some(Position { pass: 2, event: 1 }),
                run: RunSettings { set: text(&[("x.coherence", "0.25")]), ..RunSettings::default() },
                view: text(&[("scope", "rewrite")]),
                ..Document::default()
            },
        ),
        (
            "entries with the numbers of their phases",
            Document {
                source: source.to_string(),
                pipeline: vec![
                    Stage { phase: "49".to_string(), ..stage("gvn-cse") },
                    Stage { phase: "82/83".to_string(), off: true, ..stage("back-copy-prop") },
                ],
                ..Document::default()
            },
        ),
        (
            "letters beyond ASCII",
            Document { source: format!("// größer, 大きい, 🧵\n{source}"), ..Document::default() },
        ),
    ]
}

#[test]
fn links_once_written_stay_readable() {
    let known = read_file();
    for (name, link, document) in &known {
        let read = decode(link).unwrap_or_else(|error| panic!("`{name}`: {error}"));
        assert_eq!(serde_json::to_value(&read).unwrap(), *document, "`{name}`");
    }
    for (name, document) in shapes() {
        let Some((_, link, _)) = known.iter().find(|(line, ..)| line == name) else {
            assert!(std::env::var_os("BLESS").is_some(), "`{name}` has no line in {FILE}: run with BLESS=1");
            append(name, &document);
            continue;
        };
        assert_eq!(decode(link).as_ref(), Ok(&document), "`{name}`");
        assert_eq!(decode(&encode(&document).unwrap()).as_ref(), Ok(&document), "`{name}`, written anew");
    }
}

#[test]
fn a_document_with_only_what_a_person_would_type() {
    let document = from_json(r#"{"source":"x","pipeline":["gvn-cse",{"pass":"dce","off":true}]}"#).unwrap();
    assert_eq!(document.pipeline[0].pass, "gvn-cse");
    assert!(document.pipeline[1].off);
}

fn read_file() -> Vec<(String, String, Value)> {
    let text = fs::read_to_string(FILE).unwrap_or_default();
    text.lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let text = |key: &str| line[key].as_str().unwrap().to_string();
            (text("name"), text("link"), line["document"].clone())
        })
        .collect()
}

fn append(name: &str, document: &Document) {
    let line = json!({ "name": name, "link": encode(document).unwrap(), "document": document });
    let mut file = fs::OpenOptions::new().create(true).append(true).open(FILE).unwrap();
    writeln!(file, "{line}").unwrap();
}
