//! Asynchronous copies: what each thread finds in shared memory, and what is said of those that are not supported.

use super::expansions::{ones, results_and_messages};
use warpscope_core::ptx::import;
use warpscope_testkit::expansions::{self, numbers};

/// Each thread copies what four threads share, and takes its word of it.
#[test]
fn copies_to_shared_memory() {
    let operands = [numbers(1), numbers(2), numbers(3)];
    let list = expansions::copies();
    let check = |copy: &str, expected: &dyn Fn(u32, u32, u32, u32) -> Option<u32>| {
        let lines = list.iter().find(|lines| lines.contains(copy)).expect("it is listed");
        let (found, messages) = results_and_messages(lines, &operands);
        assert!(messages.iter().any(|message| message == "asynchronous copies complete immediately in the simulator"));
        for (thread, found) in (0_u32..).zip(found) {
            let word = thread / 64;
            let source = operands[2][(thread % 64 * 4 + word) as usize];
            let [a, b] = [0, 1].map(|column: usize| operands[column][thread as usize]);
            // What is not copied stays what it was.
            assert_eq!(found, expected(word, source, a, b).unwrap_or(99), "`{copy}` in thread {thread}");
        }
    };
    let part = |source: u32, word: u32, bytes: u32| source & ones(8 * bytes.saturating_sub(4 * word).min(4));
    check("global [%r6], [%rd5], 4;", &|word, source, _, _| (word == 0).then_some(source));
    check("[%r6+8], [%rd5+8], 8;", &|word, source, _, _| (word >= 2).then_some(source));
    check("cg.shared.global.L2::128B [%r6]", &|_, source, _, _| Some(source));
    check("cache_hint", &|_, source, _, _| Some(source));
    check("[%r6], [%rd5], 16, 7;", &|word, source, _, _| Some(part(source, word, 7)));
    check("@!%p1 cp.async", &|_, source, a, _| (a <= 99).then_some(source));
    check("cg.shared.global [%r6], [%rd5], 16, %p2;", &|_, source, _, b| Some(if b > 99 { 0 } else { source }));
    check("[%rd5], 8, %p2;", &|word, source, a, b| (a > 99 && word < 2).then_some(if b > 99 { 0 } else { source }));
    check("@%p1 cp.async.cg.shared.global [%r6], [%rd5], 16, %r8;", &|word, source, a, _| {
        (a > 99).then(|| part(source, word, (a & 31).min(16)))
    });
    for size in [4, 8, 16] {
        check(&format!("\ncp.async.ca.shared.global [%r6], [%rd5], {size}, %r8;"), &|word, source, a, _| {
            (4 * word < size).then(|| part(source, word, (a & 31).min(size)))
        });
    }
}

/// Checks that missing features are reported at their place.
#[test]
fn copies_that_are_not_supported() {
    for (line, message) in [
        ("cp.async.ca.shared.global [%r1], [%rd1], 5;", "a copy is of 4, 8 or 16 bytes"),
        ("cp.async.ca.shared.global [%r1], [%rd1];", "takes 3 source operands"),
        ("cp.async.ca.shared.global %r1, [%rd1], 4;", "expected two addresses in brackets"),
        ("cp.async.ca.shared.global [%r1], [%rd1], 4, [%r2];", "expected the number of copied bytes, or a predicate"),
        ("cp.async.ca.shared.global [%r1], [%r2], 4;", "an address is an integer of 64 bits"),
        ("dp2a.u32.u32 %r4, %r1, %r2, %r3;", "`dp2a` needs `.lo` or `.hi` and two types"),
        ("tanh.approx.f64 %r4, %r1;", "only `tanh.approx` of"),
        ("ld.global.L2::cache_hint.u32 %r4;", "takes 1 source operands"),
    ] {
        let imported = import(&expansions::module([line]));
        let found = imported.diagnostics.iter().any(|diagnostic| diagnostic.message.contains(message));
        assert!(found, "`{line}`: {:?}", imported.diagnostics);
    }
}
