//! Small graphs without loops, all of whose paths can be walked one by one.
//!
//! ```text
//! steps  (1, 2) (2, 2) (1, 1)        0 ─▶ 1, 2    1 ─▶ 3    2 ─▶ 3, which is the end
//! paths  0 1 3 by choices 0b11       0 2 3 by choices 0b10
//! ```
//!
//! A node goes on to one or two later ones. Which of two is taken on a path is the bit of the node's number among the
//! path's choices, so that a program whose branches ask those bits can be sent along each path.

use std::fmt::Write;
use warpscope_core::ir::{Module, Number};
use warpscope_core::machine::Machine;
use warpscope_core::sim::{Knob, Progress, Settings, Simulation};

/// The nodes in order; each goes on to the ones that many places further, or to the end where there are not so many.
pub type Steps = Vec<(usize, usize)>;

/// Targets of a node; the end is a node as well.
pub fn targets(steps: &[(usize, usize)], node: usize) -> [usize; 2] {
    let (first, second) = steps[node];
    [first, second].map(|step| (node + step).min(steps.len()))
}

/// Every path, as nodes with the choices that lead along it.
pub fn paths(steps: &[(usize, usize)]) -> Vec<(Vec<usize>, u64)> {
    let mut found = Vec::new();
    let mut work = vec![(vec![0], 0u64)];
    while let Some((path, choices)) = work.pop() {
        let last = *path.last().expect("a node");
        if last == steps.len() {
            found.push((path, choices));
            continue;
        }
        let [first, second] = targets(steps, last);
        let and = |next: usize| path.iter().copied().chain([next]).collect::<Vec<_>>();
        work.push((and(first), choices | 1 << last));
        if second != first {
            work.push((and(second), choices));
        }
    }
    found.sort();
    found
}

/// The label of a node.
pub fn name(steps: &[(usize, usize)], node: usize) -> String {
    if node == steps.len() { "end".to_owned() } else { format!("n{node}") }
}

/// Writes the blocks, each with what `body` says and a branch by the bits of `choices`; all but the end.
pub fn write_blocks(text: &mut String, steps: &[(usize, usize)], mut body: impl FnMut(usize) -> String) {
    for node in 0..steps.len() {
        writeln!(text, "n{node}:").expect("text grows");
        text.push_str(&body(node));
        let [first, second] = targets(steps, node);
        if first == second {
            writeln!(text, "    br {}", name(steps, first)).expect("text grows");
            continue;
        }
        let (first, second) = (name(steps, first), name(steps, second));
        let choice = format!("    c{node} = and.b32 choices, {}\n    p{node} = setp.ne.u32 c{node}, 0\n", 1 << node);
        writeln!(text, "{choice}    br p{node}, {first}, {second}").expect("text grows");
    }
}

/// Writes a path profile: the paths from a block in front, in their order, with frequencies that are repeated.
pub fn write_profile(text: &mut String, steps: &[(usize, usize)], entry: &str, frequencies: &[u64]) {
    text.push_str("    profile path {\n");
    for ((path, _), frequency) in paths(steps).iter().zip(frequencies.iter().cycle()) {
        let names: Vec<String> = path.iter().map(|&node| name(steps, node)).collect();
        writeln!(text, "        {entry} {}: {frequency}", names.join(" ")).expect("text grows");
    }
    text.push_str("    }\n");
}

/// The graph in a loop: each of 24 threads goes round four times, on ways that a buffer tells, and
/// stores `y` in the end. `start` sets what bodies read; `i` is the thread, `trip` counts from 0,
/// and of `m` and `q` each thread has four elements.
pub fn looping(steps: &[(usize, usize)], start: &str, body: impl FnMut(usize) -> String) -> String {
    let mut text = format!(
        "kernel k(ways: ptr.global restrict, o: ptr.global restrict, m: ptr.global, q: ptr.global restrict) \
         {{\nstart:\n    \
         i = mov.u32 %tid\n{start}    trip = mov.u32 0\n    br head\nhead:\n    choices = ld.global.u32 ways[4*i + \
         trip]\n    br n0\n",
    );
    write_blocks(&mut text, steps, body);
    text.push_str(
        "end:\n    trip = add.u32 trip, 1\n    again = setp.lt.u32 trip, 4\n    br again, head, out\nout:\n    \
         st.global.u32 o[i], y\n    ret\n}\n\nlaunch k {\n    grid 1\n    block 24\n    warp 8\n    \
         ways = buffer u32[96] random(0, 1023)\n    o = buffer u32[24] const 0\n    \
         m = buffer u32[96] random(0, 1023)\n    q = buffer u32[96] random(0, 1023)\n}\n",
    );
    text
}

/// How often a statement is issued on each path, that takes so many cycles that all others count for less: with a guard
/// or without. The kernel's launch has a setting `choices`.
pub fn issues(module: &Module, steps: &[(usize, usize)], cycles: u64) -> Vec<i64> {
    let kernel = module.kernels().next().expect("a kernel");
    let count = |choices: u64| {
        let choices = Knob::Value(Number::Int(choices.into()));
        let settings = Settings { knobs: vec![("choices".to_owned(), choices)], ..Settings::default() };
        let mut simulation: Simulation =
            Simulation::new(module, kernel, &module.launches[0], &settings, Machine::Unit).expect("a launch that fits");
        while simulation.run(1_000_000).expect("a run without errors") == Progress::Running {}
        (simulation.result().cycles / cycles) as i64
    };
    paths(steps).iter().map(|&(_, choices)| count(choices)).collect()
}
