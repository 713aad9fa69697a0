//! Unsupported features are reported on their lines, the other kernels load, and no text makes the importer fail.

use super::inputs;
use warpscope_core::ptx::import;
use warpscope_core::text::LineIndex;

const HEAD: &str = ".version 8.0\n.target sm_80\n.address_size 64\n";

/// The errors and warnings as `line: message`, and the names of what loaded.
fn loaded(source: &str) -> (Vec<String>, Vec<String>) {
    let parsed = import(source);
    let lines = LineIndex::new(source);
    let messages = parsed
        .diagnostics
        .iter()
        .map(|diagnostic| format!("{}: {}", lines.position(source, diagnostic.span.start).line, diagnostic.message));
    let functions = parsed.module.funcs.values().map(|func| func.name.clone());
    (messages.collect(), functions.collect())
}

fn kernel(name: &str, body: &str) -> String {
    format!(
        ".visible .entry {name}(.param .u64 {name}_param_0)\n{{\n.reg .pred %p<4>;\n.reg .b32 %r<9>;\n.reg .b64 \
         %rd<9>;\n{body}\nret;\n}}\n"
    )
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_program() {
    assert_eq!(loaded(&format!("\u{FEFF}{HEAD}{}", kernel("k", ""))), (vec![], vec!["k".to_owned()]));
}

#[test]
fn attributes_are_skipped_with_all_their_parentheses() {
    for attribute in [".attribute(.managed)", ".attribute(.unified(19, 95))", ".attribute(.managed, .unified(1, 2))"] {
        let func = format!(
            ".visible .func {attribute} (.param .b32 r) f(.param .b32 a)\n{{\nst.param.b32 [r], 0;\nret;\n}}\n"
        );
        let source = format!("{HEAD}.global {attribute} .align 4 .u32 v;\n{func}{}", kernel("k", ""));
        let (messages, functions) = loaded(&source);
        assert_eq!((messages, functions), (vec![], vec!["f".to_owned(), "k".to_owned()]), "{attribute}");
    }
    // One that does not end takes its own statement along, and no more.
    let source = format!("{HEAD}.global .attribute(.managed .u32 v;\n{}", kernel("k", ""));
    let (messages, functions) = loaded(&source);
    assert_eq!((messages.len(), functions), (1, vec!["k".to_owned()]), "{messages:?}");
}

#[test]
fn unsupported_instructions_are_reported_and_other_kernels_load() {
    let unsupported = [
        ("bar.red.popc.u32 %r1;", "takes 3 source operands"),
        ("setp.lt.f16x2 %p1, %r2, %r3;", "two predicates"),
        ("call (%r1), %rd1, (%r2), prototype;", "no function of this file"),
        ("call.uni (%r1), malloc, (%r2);", "has no body in this file"),
    ];
    for (line, reason) in unsupported {
        let source = format!("{HEAD}{}{}", kernel("bad", line), kernel("good", "mov.u32 %r1, %tid.x;"));
        let (messages, functions) = loaded(&source);
        assert_eq!(messages.len(), 1, "{line}: {messages:?}");
        assert!(messages[0].starts_with("9: ") && messages[0].contains(reason), "{line}: {messages:?}");
        assert_eq!(functions, ["good"], "{line}");
    }
}

#[test]
fn a_caller_of_what_does_not_load_does_not_load() {
    let source = format!(
        "{HEAD}.func leaf()\n{{\nsub.x %x;\nret;\n}}\n.func middle()\n{{\ncall leaf;\nret;\n}}\n{}{}",
        kernel("top", "call middle;"),
        kernel("other", "")
    );
    let (messages, functions) = loaded(&source);
    assert_eq!(
        messages,
        [
            "6: `.x` of `sub` is not supported",
            "11: `middle` calls `leaf`, which could not be loaded",
            "19: `top` calls `middle`, which could not be loaded",
        ]
    );
    assert_eq!(functions, ["other"]);
}

#[test]
fn wrong_operands_are_reported_where_they_stand() {
    let wrong = [
        ("add.u32 %r1, %r2;", "`add` takes 2 source operands"),
        ("add.u32 %r1, %r2, %r3, %r4;", "`add` takes 2 source operands"),
        ("add.u32 %r1, %rd2, %r3;", ""),
        ("add.u64 %rd1, %r2, 1;", "`%r2` is 32 bits wide"),
        ("setp.lt.u32 %r1, %r2, %r3;", "`%r1` is 32 bits wide"),
        ("mov.u32 %r9, 1;", "`%r9` is not declared in this file"),
        ("mov.u32 %x, 1;", "`%x` is not declared in this file"),
        ("bra nowhere;", "undefined label `nowhere`"),
        ("@%r1 bra nowhere;", "`%r1` is not a predicate register"),
        ("ld.global.v4.u32 {%r1, %r2}, [%rd1];", "expected 4 registers"),
        ("st.global.v2.u32 [%rd1], %r2;", "expected 2 elements"),
        ("addd.u32 %r1, %r2, %r3;", "unknown opcode `addd`: did you mean `add`?"),
        ("add.u33 %r1, %r2, %r3;", "`.u33` of `add` is not supported"),
    ];
    for (line, reason) in wrong {
        let (messages, functions) = loaded(&format!("{HEAD}{}", kernel("bad", line)));
        // PTX reads the low bits of nothing: a wider register in an operation is an error too.
        assert_eq!(messages.len(), 1, "{line}: {messages:?}");
        assert!(messages[0].starts_with("9: ") && messages[0].contains(reason), "{line}: {messages:?}");
        assert!(functions.is_empty(), "{line}");
    }
}

/// Missing names are reported at their first use: labels and registers once a function, others once a file.
#[test]
fn missing_declarations_are_reported_once() {
    let missing = [
        (
            "bra A;\nmov.u32 %r1, 1;\n@%p1 bra A;\nbra B;\nbra A;\nbra B;",
            vec!["9: undefined label `A`", "12: undefined label `B`"],
        ),
        ("brx.idx %r1, T;\nbrx.idx %r2, T;", vec!["9: undefined table `T`"]),
        (
            "T: .branchtargets A, B, A;\nbrx.idx %r1, T;\nbra B;",
            vec!["10: undefined label `A`", "11: undefined label `B`"],
        ),
        (
            "add.u32 %r9, %r9, %x;\nst.global.v2.u32 [%rd1], {%x, %y};\nsub.u32 %r1, %r9, %y;",
            vec![
                "9: `%r9` is not declared in this file",
                "9: `%x` is not declared in this file",
                "10: `%y` is not declared in this file",
            ],
        ),
        ("@%q bra L;\n@!%q mov.u32 %r1, 1;\nL: setp.eq.u32 %q, %r1, 0;", vec!["9: `%q` is not declared in this file"]),
    ];
    for (body, mut wanted) in missing {
        // The other kernel has them too.
        let later: Vec<String> = wanted
            .iter()
            .map(|message| {
                let (line, text) = message.split_once(": ").expect("a line");
                format!("{}: {text}", line.parse::<usize>().expect("a number") + 7 + body.lines().count())
            })
            .collect();
        let (messages, functions) =
            loaded(&format!("{HEAD}{}{}{}", kernel("k", body), kernel("other", body), kernel("good", "")));
        wanted.extend(later.iter().map(String::as_str));
        assert_eq!(
            (messages.iter().map(String::as_str).collect(), functions),
            (wanted, vec!["good".to_owned()]),
            "{body}"
        );
    }
    let missing = [
        (
            "call f, ();\ncall (%r1), f, ();\ncall g, ();",
            vec!["9: the function `f` has no body in this file", "11: the function `g` has no body in this file"],
        ),
        (
            "ld.global.u32 %r1, [v];\nst.global.u32 [v], %r1;\nmov.u64 %rd1, v;",
            vec!["9: `v` is not declared in this file"],
        ),
        (
            "tex.1d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [t, {%r1}];\ntex.1d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [t, {%r1}];",
            vec!["9: `t` is not declared in this file"],
        ),
    ];
    for (body, wanted) in missing {
        let (messages, functions) =
            loaded(&format!("{HEAD}{}{}{}", kernel("k", body), kernel("other", body), kernel("good", "")));
        assert_eq!(
            (messages, functions),
            (wanted.into_iter().map(String::from).collect(), vec!["good".to_owned()]),
            "{body}"
        );
    }
}

#[test]
fn no_more_than_twenty_errors_are_reported() {
    let (messages, _) = loaded(&format!("{HEAD}{}", kernel("bad", &"frob;\n".repeat(100))));
    assert_eq!(messages.len(), 20);
}

#[test]
fn hostile_texts_end_quickly() {
    let deep = format!("{HEAD}{}", kernel("deep", &"{\n".repeat(100_000)));
    let labels =
        format!("{HEAD}{}", kernel("labels", &(0..50_000).map(|i| format!("L{i}: bra L{i};\n")).collect::<String>()));
    let chain: String = (0..20_000).map(|i| format!(".func f{i}()\n{{\ncall f{};\nret;\n}}\n", i + 1)).collect();
    let ranges = format!("{HEAD}{}", kernel("ranges", ".reg .b32 %q<4000000000>;\nmov.u32 %q3999999999, 1;"));
    for source in [deep, labels, format!("{HEAD}{chain}"), ranges, "/*".into(), "\u{0}\u{ff}é{[(<".repeat(1000)] {
        let start = std::time::Instant::now();
        import(&source);
        let took = start.elapsed();
        assert!(took.as_secs() < 10, "{took:?} for {}", &source[..source.len().min(120)].escape_debug());
    }
}

/// Every file cut short, and with pieces taken out, doubled and swapped, at places a fixed generator picks.
#[test]
fn damaged_files_never_panic() {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below.max(1) as u64) as usize
    };
    for input in inputs::all() {
        let tokens: Vec<&str> = input.source.split_inclusive([' ', '\t', '\n', ',']).collect();
        for _ in 0..12 {
            let mut damaged = tokens.clone();
            for _ in 0..4 {
                let (at, other) = (random(damaged.len()), random(damaged.len()));
                match random(4) {
                    0 => damaged.truncate(at.max(1)),
                    1 => damaged.swap(at, other),
                    2 => {
                        damaged.remove(at);
                    }
                    _ => damaged.insert(at, tokens[random(tokens.len())]),
                }
            }
            import(&damaged.concat());
        }
    }
}
