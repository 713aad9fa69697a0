//! Time on the `unit` machine, counted by hand: each instruction issues in one cycle and answers in the next.

use super::{run, try_run};
use warpscope_core::sim::ErrorKind;

fn chain(block: u32) -> String {
    format!(
        "kernel k() {{\nentry:\n    a = mov.u32 1\n    b = add.u32 a, 1\n    c = add.u32 b, a\n    exit\n}}\n\
         launch k {{\n    block {block}\n}}\n"
    )
}

#[test]
fn one_warp_issues_one_instruction_a_cycle() {
    let result = run(&chain(32)).result;
    assert_eq!((result.cycles, result.warp_instructions, result.thread_instructions), (4, 4, 128));
    assert_eq!(result.simt_efficiency, 1.0);
}

#[test]
fn three_warps_share_the_scheduler() {
    let result = run(&chain(80)).result;
    assert_eq!((result.warps, result.cycles, result.warp_instructions), (3, 12, 12));
    assert_eq!(result.thread_instructions, 4 * 80);
    assert_eq!((result.occupancy[32], result.occupancy[16]), (8, 4));
}

#[test]
fn work_holds_the_scheduler() {
    let source =
        "kernel k() {\nentry:\n    a = mov.u32 1\n    b = work.u32 10, a\n    exit\n}\nlaunch k {\n    block 64\n}\n";
    let result = run(source).result;
    assert_eq!(result.cycles, 2 * (1 + 10 + 1), "the second warp cannot hide what the first one works");
    assert_eq!(result.idle_cycles["issue"], 2 * 9);
}

#[test]
fn fuel_counts_warp_instructions() {
    let source = "kernel k() {\nentry:\n    br entry_2\nentry_2:\n    br entry_2\n}\nlaunch k {\n    block 32\n}\n";
    let error = try_run(source, &["fuel=1000"]).err().expect("it never ends");
    assert_eq!(error.kind, ErrorKind::Fuel);
    assert!(error.message.contains("1000"), "{error}");
    assert_eq!(try_run(&chain(32), &["fuel=4"]).map(|outcome| outcome.result.cycles), Ok(4), "exactly enough");
    assert_eq!(try_run(&chain(32), &["fuel=3"]).err().map(|error| error.kind), Some(ErrorKind::Fuel));
}
