//! Links that any version of the laboratory wrote stay readable for ever.
//!
//! Each line of `golden/links.jsonl` has a name, a link as it was written, and the document that it holds. A new shape
//! is added to [`shapes`]; `BLESS=1` then appends its line. No line is ever changed or removed. A name ends in the
//! link's version from 2 on.
//!
//! Damaged links, such as mail and chat programs make, open the same document or none.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;

use serde_json::{Value, json};
use warpscope_core::link::{Dialect, Document, LinkError, Position, RunSettings, Stage, decode, encode, from_json};

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
    for (shape, document) in shapes() {
        let name = format!("{shape}, v2");
        for (line, link, _) in known.iter().filter(|(line, ..)| line == shape || *line == name) {
            assert_eq!(decode(link).as_ref(), Ok(&document), "`{line}`");
        }
        assert_eq!(decode(&encode(&document).unwrap()).as_ref(), Ok(&document), "`{name}`, written anew");
        if !known.iter().any(|(line, ..)| *line == name) {
            assert!(std::env::var_os("BLESS").is_some(), "`{name}` has no line in {FILE}: run with BLESS=1");
            append(&name, &document);
        }
    }
}

#[test]
fn a_document_with_only_what_a_person_would_type() {
    let document = from_json(r#"{"source":"x","pipeline":["gvn-cse",{"pass":"dce","off":true}]}"#).unwrap();
    assert_eq!(document.pipeline[0].pass, "gvn-cse");
    assert!(document.pipeline[1].off);
}

/// A program of which each part is different, in a link of about a thousand characters.
fn long_document() -> Document {
    let lines =
        (0..60).map(|line| format!("    r{line} = add.u32 {}, {}\n", line * 7919 % 1013, line * 104_729 % 9973));
    let source = format!("kernel k(n: u32) {{\nentry:\n{}    ret\n}}\n", lines.collect::<String>());
    Document { source, pipeline: vec![Stage { pass: "dce".to_string(), ..Stage::default() }], ..Document::default() }
}

/// Splits a text into lines of 76 characters, as mail programs do.
fn wrapped(text: &str, line_end: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(76).map(|line| line.iter().collect::<String>()).collect::<Vec<_>>().join(line_end)
}

#[test]
fn opens_links_that_other_programs_touched() {
    let document = long_document();
    let fragment = encode(&document).unwrap();
    let (_, version_1, _) = read_file().into_iter().find(|(name, ..)| name == "everything").unwrap();
    let document_1 = decode(&version_1).unwrap();
    for (link, document) in [(fragment, document), (version_1, document_1)] {
        let link = format!("https://lab.example.org/v2.html{link}");
        let middle = link.len() / 2;
        let with = |inserted: &str| format!("{}{inserted}{}", &link[..middle], &link[middle..]);
        let escaped = link.replace('#', "%23").replace(':', "%3A").replace('-', "%2D");
        let mut touched: Vec<String> = ["\n", "\r\n", "=\n", "=\r\n", "\n> ", "\r\n>> ", " ", "\u{2028}"]
            .iter()
            .map(|line_end| wrapped(&link, line_end))
            .collect();
        touched.extend(["\u{200B}", "\u{AD}", "\u{FEFF}", "\u{2060}", "%E2%80%8B", "%C2%AD", "%20", "\t"].map(with));
        touched.extend(
            [
                ".",
                ")",
                ">",
                "\"",
                ",",
                "'",
                "]",
                "…",
                "*",
                "&fbclid=IwAR0x",
                "?utm_source=mail",
                ":~:text=a",
                "=",
                "==",
            ]
            .map(|end| format!("{link}{end}")),
        );
        touched.extend([
            format!("<{link}>"),
            format!("<a href=\"{link}\">look</a>"),
            format!("[look at #3]({link})."),
            format!("[{}…]({link})", &link[..100]),
            format!("> {link}"),
            format!("  {link}  see you\n"),
            link.replace('-', "+").replace('_', "/"),
            link.replace("v2.html", ""),
            escaped,
        ]);
        for text in touched {
            assert_eq!(decode(&text).as_ref(), Ok(&document), "{text}");
        }
    }
}

#[test]
fn shortened_link_tells_what_is_missing() {
    let link = format!("https://lab.example.org/{}", encode(&long_document()).unwrap());
    for end in [60, 100, 500, link.len() - 1] {
        let expected = LinkError::Cut { after: end, missing: Some(link.len() - end), found: None };
        assert_eq!(decode(&link[..end]), Err(expected.clone()));
        assert_eq!(decode(&format!("see {}", wrapped(&link[..end], "=\n"))), Err(expected));
    }
    let shown = format!("{}…", &link[..500]);
    assert!(matches!(decode(&shown), Err(LinkError::Cut { after: 500, found: Some('…'), .. })));
}

#[test]
fn text_with_many_beginnings_of_links_is_read_in_linear_time() {
    for piece in ["#", "#v2.", "http#v", "#v1.d:A", "%23", "v2"] {
        assert!(decode(&piece.repeat(500_000)).is_err(), "{piece}");
    }
}

/// Deterministic numbers: a linear congruential generator, its upper bits.
struct Draws(u64);

impl Draws {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

#[test]
fn damaged_link_never_opens_another_program() {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let documents: Vec<Document> =
        shapes().into_iter().map(|(_, document)| document).chain([long_document()]).collect();
    let links: Vec<String> = documents.iter().map(|document| encode(document).unwrap()).collect();
    let mut draws = Draws(1);
    let mut refused = 0;
    for trial in 0..10_000 {
        let number = trial % documents.len();
        let mut link = links[number].clone().into_bytes();
        for _ in 0..=draws.below(3) {
            let at = draws.below(link.len());
            let letter = ALPHABET[draws.below(64)];
            match draws.below(6) {
                0 | 1 => link[at] = letter,
                2 => drop(link.remove(at)),
                3 => link.insert(at, letter),
                4 => link.swap(at, draws.below(links[number].len() / 2).min(at)),
                _ => drop(link.drain(at..(at + 1 + draws.below(8)).min(link.len()))),
            }
            if link.is_empty() {
                break;
            }
        }
        match decode(std::str::from_utf8(&link).unwrap()) {
            Ok(document) => assert_eq!(document, documents[number], "trial {trial}"),
            Err(_) => refused += 1,
        }
    }
    assert!(refused > 9_000, "only {refused} trials were refused");
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
