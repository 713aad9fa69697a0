//! Both readers on texts that nobody meant: they end, never panic, tell at most twenty errors, all inside the text, and
//! go on behind a line that they cannot read.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use warpscope_core::ptx;
use warpscope_core::text::{MAX_REPORTED, Parsed, parse, print};
use warpscope_core::verify::{check, verify};
use warpscope_testkit::emit;
use warpscope_testkit::recipe::recipe;

fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(60);
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

/// Words that either language consists of.
const WORDS: [&str; 60] = [
    "kernel",
    "func",
    "launch",
    "global",
    "const",
    "profile",
    "path",
    "edge",
    "zero",
    "entry",
    "reg",
    "input",
    "shared",
    "local",
    "buffer",
    "random",
    "iota",
    "draws",
    "texture",
    "uniform",
    "restrict",
    "ptr.global",
    "u32",
    "f16",
    "pred",
    "add.u32",
    "ld.global.v2.f32",
    "st.shared.b8",
    "br",
    "switch",
    "ret",
    "ret.1",
    "exit",
    "call",
    "to",
    "setp.lt.s32",
    "work.f32",
    "k",
    "x",
    "%tid.x",
    "%r1",
    "1",
    "-0x7f",
    "1e-3",
    "0f3F800000",
    "nan",
    ".visible",
    ".entry",
    ".param",
    ".reg",
    ".b64",
    ".shared",
    ".align",
    "ld.param.u64",
    "cvta.to.global.u64",
    "bra",
    "$L__BB0_1",
    "@%p1",
    "mov",
    ".func",
];

const MARKS: [&str; 22] =
    ["{", "}", "(", ")", "[", "]", ",", ":", "=", "->", "+", "-", "*", "@", "!", "#", ";", "//", "/*", "\n", "\n", "%"];

/// Words and marks in any order: this gets further than letters in any order.
fn soup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![select(&WORDS[..]), select(&MARKS[..])];
    prop::collection::vec((piece, any::<bool>()), 0..120).prop_map(|pieces| {
        pieces.into_iter().map(|(piece, space)| if space { format!("{piece} ") } else { piece.to_string() }).collect()
    })
}

/// A way to damage a text.
#[derive(Clone, Debug)]
enum Damage {
    Remove(Index),
    Double(Index),
    Swap(Index, Index),
    Cut(Index),
    Insert(Index, &'static str),
    Letter(Index, char),
}

fn damage() -> impl Strategy<Value = Damage> {
    let word = || prop_oneof![select(&WORDS[..]), select(&MARKS[..])];
    prop_oneof![
        any::<Index>().prop_map(Damage::Remove),
        any::<Index>().prop_map(Damage::Double),
        any::<(Index, Index)>().prop_map(|(a, b)| Damage::Swap(a, b)),
        any::<Index>().prop_map(Damage::Cut),
        (any::<Index>(), word()).prop_map(|(at, word)| Damage::Insert(at, word)),
        (any::<Index>(), any::<char>()).prop_map(|(at, letter)| Damage::Letter(at, letter)),
    ]
}

/// Applies damages to the words of a text; line breaks are words too.
fn damaged(text: &str, damages: &[Damage]) -> String {
    let mut words: Vec<String> = text.split_inclusive([' ', '\n', ',', '(', '[', '.']).map(str::to_string).collect();
    for damage in damages {
        if words.is_empty() {
            break;
        }
        let count = words.len();
        match damage {
            Damage::Remove(at) => drop(words.remove(at.index(count))),
            Damage::Double(at) => words.insert(at.index(count), words[at.index(count)].clone()),
            Damage::Swap(a, b) => words.swap(a.index(count), b.index(count)),
            // Mostly near the end, or little would be left to read.
            Damage::Cut(at) => words.truncate(count - at.index(count) / 8),
            Damage::Insert(at, word) => words.insert(at.index(count), format!("{word} ")),
            Damage::Letter(at, letter) => words[at.index(count)].push(*letter),
        }
    }
    words.concat()
}

fn told_well(source: &str, parsed: &Parsed) {
    let errors = parsed.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
    assert!(errors <= MAX_REPORTED, "{errors} errors");
    let mut last = 0;
    for diagnostic in &parsed.diagnostics {
        let (start, end) = (diagnostic.span.start as usize, diagnostic.span.end as usize);
        assert!(start <= end && end <= source.len() && last <= start, "{diagnostic:?}");
        last = start;
        assert!(!diagnostic.message.is_empty() && diagnostic.render("input", source).ends_with('\n'));
        if let Some(suggestion) = &diagnostic.suggestion {
            assert!(
                source.get(suggestion.span.start as usize..suggestion.span.end as usize).is_some(),
                "{diagnostic:?}"
            );
        }
    }
}

fn read_as_wir(source: &str) {
    let parsed = check(source);
    told_well(source, &parsed);
    let text = print(&parsed.module);
    let _ = verify(&parsed.module);
    if !parsed.has_errors() {
        let again = check(&text);
        assert!(!again.has_errors(), "{source}\n--- prints ---\n{text}");
        assert_eq!(print(&again.module), text, "{source}");
    }
}

fn read_as_ptx(source: &str) {
    let mut imported = ptx::import(source);
    told_well(source, &imported);
    imported.diagnostics = verify(&imported.module);
    let errors: Vec<_> = imported.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).collect();
    assert!(errors.iter().all(|error| error.code == "unassigned-read"), "{source}\n{errors:?}");
    let text = print(&imported.module);
    let again = parse(&text);
    assert!(!again.has_errors(), "{source}\n--- prints ---\n{text}");
    assert_eq!(print(&again.module), text, "{source}");
}

/// A program and its PTX.
fn in_both_languages(wir: &str) -> (String, String) {
    (wir.to_string(), ptx::export(&check(wir).module).text)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_letters(text in "\\PC{0,200}|[ -~\n]{0,300}") {
        read_as_wir(&text);
        read_as_ptx(&text);
    }

    #[test]
    fn any_words(text in soup()) {
        read_as_wir(&text);
        read_as_wir(&format!("kernel k(x: ptr.global, n: u32) {{\nentry:\n{text}\nret\n}}\n"));
        read_as_ptx(&text);
        read_as_ptx(&format!(".version 8.0\n.target sm_80\n.address_size 64\n.entry k() {{\n.reg .b32 \
                              %r<9>;\n{text}\nret;\n}}\n"));
    }

    #[test]
    fn damaged_programs(recipe in recipe(), damages in prop::collection::vec(damage(), 1..6)) {
        let (wir, ptx) = in_both_languages(&emit::program(&recipe));
        read_as_wir(&damaged(&wir, &damages));
        read_as_ptx(&damaged(&ptx, &damages));
    }

    #[test]
    fn a_line_that_cannot_be_read_costs_itself_alone(
        recipe in recipe(),
        at in any::<Index>(),
        bad in select(BAD_LINES),
    ) {
        let source = emit::program(&recipe);
        let lines: Vec<&str> = source.lines().collect();
        let at = at.index(lines.len() + 1);
        let broken = [&lines[..at], &[bad], &lines[at..]].concat().join("\n") + "\n";
        let parsed = parse(&broken);
        prop_assert!(parsed.diagnostics.iter().any(|error| error.is_error()), "{}", broken);
        let start: usize = lines[..at].iter().map(|line| line.len() + 1).sum();
        for error in &parsed.diagnostics {
            let inside = start..=start + bad.len();
            prop_assert!(inside.contains(&(error.span.start as usize)), "{:?} in\n{}", error, broken);
        }
        prop_assert_eq!(print(&parsed.module), print(&parse(&source).module));
    }
}

/// Lines that nothing reads, wherever they stand.
const BAD_LINES: &[&str] = &[
    "    ? what",
    "    add.u32 1 2",
    "  %tid = mov.u32 1",
    "    @@p ret",
    "]",
    "    frob x, y",
    "    -> u32",
    "    x y z",
];
