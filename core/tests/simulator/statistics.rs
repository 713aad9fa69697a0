//! Counts of a run, on programs small enough to count by hand: sectors, bank conflicts, cache hits, active lanes, idle
//! cycles and their causes, loads and stores by space; for the launch, for each block and for each instruction.

use super::{Outcome, run, try_run_on};
use warpscope_core::machine::Machine;

fn run_on(machine: Machine, source: &str, settings: &[&str]) -> Outcome {
    try_run_on(machine, source, settings).unwrap_or_else(|error| panic!("{error}\n{source}"))
}

/// One warp that knows its lane as `i`, a buffer `x` of 4 KiB, 4 KiB of shared memory `t`, 64 bytes
/// of local memory `own`.
fn one_warp(body: &str) -> String {
    format!(
        "kernel k(x: ptr.global) {{\n    shared t: u32[1024]\n    local own: u32[16]\nentry:\n    i = mov.u32 \
         %tid\n{body}    \
         exit\n}}\nlaunch k {{\n    block 32\n    x = buffer u32[1024] iota\n}}\n"
    )
}

#[test]
fn sectors_of_a_request() {
    // 32 lanes of so many bytes: how many distinct 32-byte sectors they touch.
    let cases = [
        ("v = ld.global.u32 x[i]", 4),
        ("v = ld.global.u32 x[2*i]", 8),
        ("v = ld.global.u32 x[4*i]", 16),
        ("v = ld.global.u32 x[8*i]", 32),
        ("v = ld.global.u32 x[16*i]", 32),
        ("v = ld.global.u32 x[0]", 1),
        ("v = ld.global.u8 x[i]", 1),
        ("v = ld.global.u16 x[i]", 2),
        ("v = ld.global.u64 x[i]", 8),
        ("{a, b, c, d} = ld.global.v4.u32 x[4*i]", 16),
        // 128 bytes from byte 4 on reach into a fifth.
        ("v = ld.global.u32 x[i + 1]", 5),
        ("v = ld.global.u32 x[-i + 31]", 4),
        ("v = ld.u32 x[i]", 4),
        ("st.global.u32 x[i], i", 4),
        ("st.global.u32 x[8*i], i", 32),
        ("v = atom.global.add.u32 x[i], 1", 4),
        ("v = ld.shared.u32 t[i]", 0),
    ];
    for (access, sectors) in cases {
        let result = run(&one_warp(&format!("    {access}\n"))).result;
        let inst = &result.instructions[1];
        assert_eq!((inst.requests, inst.sectors), (1, sectors), "{access}");
        let block = &result.block_statistics["entry"];
        assert_eq!(block.sectors, sectors, "{access}");
        let [loads, stores] = [access.contains("= ld.") && sectors > 0, access.starts_with("st")].map(u64::from);
        assert_eq!((result.global_loads, result.global_stores), (loads, stores), "{access}");
        assert_eq!(result.global_load_transactions, loads * sectors, "{access}");
        assert_eq!(result.global_store_transactions, stores * sectors, "{access}");
        assert_eq!(result.sectors_per_request, (loads * sectors) as f64, "{access}");
    }
}

#[test]
fn a_guard_takes_lanes_out_of_a_request() {
    let result = run(&one_warp(
        "    p = setp.lt.u32 i, 8\n    q = setp.gt.u32 i, 40\n    @p v = ld.global.u32 x[i]\n    @q w = ld.global.u32 \
         x[i]\n    \
         @!q u = ld.global.u32 x[i]\n",
    ))
    .result;
    let counts: Vec<(u64, u64, u64, u64)> =
        result.instructions[3..6].iter().map(|inst| (inst.issues, inst.lanes, inst.requests, inst.sectors)).collect();
    // An issue without an active lane is an issue and no load.
    assert_eq!(counts, [(1, 8, 1, 1), (1, 0, 0, 0), (1, 32, 1, 4)]);
    assert_eq!((result.global_loads, result.global_load_transactions), (2, 5));
    assert_eq!(result.sectors_per_request, 2.5);
    // Seven issues: four with 32 lanes, the exit too, one with 8, one with none.
    assert_eq!((result.occupancy[0], result.occupancy[8], result.occupancy[32]), (1, 1, 5));
    assert_eq!(result.occupancy.iter().sum::<u64>(), result.warp_instructions);
    assert_eq!(result.instructions[4].occupancy[0], 1);
    assert_eq!(result.thread_instructions, 8 + 5 * 32);
    assert_eq!(result.simt_efficiency, 168.0 / (7.0 * 32.0));
}

#[test]
fn bank_conflicts() {
    // Words of 4 bytes lie in 32 banks in turn; equal words are read once.
    let cases = [
        ("v = ld.shared.u32 t[i]", 0),
        ("v = ld.shared.u32 t[2*i]", 1),
        ("v = ld.shared.u32 t[3*i]", 0),
        ("v = ld.shared.u32 t[4*i]", 3),
        ("v = ld.shared.u32 t[8*i]", 7),
        ("v = ld.shared.u32 t[16*i]", 15),
        ("v = ld.shared.u32 t[31*i]", 0),
        ("v = ld.shared.u32 t[5]", 0),
        ("v = ld.shared.u8 t[i]", 0),
        // A half of the warp at a time, or a quarter: 32 words in 32 banks.
        ("v = ld.shared.u64 t[i]", 0),
        ("{a, b} = ld.shared.v2.u32 t[2*i]", 0),
        ("{a, b, c, d} = ld.shared.v4.u32 t[4*i]", 0),
        ("{a, b} = ld.shared.v2.u64 t[2*i]", 0),
        ("v = ld.shared.u64 t[5]", 0),
        // Each half asks two words of each bank, each quarter too.
        ("v = ld.shared.u64 t[2*i]", 2),
        ("{a, b, c, d} = ld.shared.v4.u32 t[8*i]", 4),
        // All lanes of a half ask the same two banks.
        ("v = ld.shared.u64 t[16*i]", 30),
        ("p = setp.lt.u32 i, 16\n    @p v = ld.shared.u64 t[16*i]", 15),
        ("p = setp.lt.u32 i, 8\n    @p {a, b, c, d} = ld.shared.v4.u32 t[8*i]", 1),
        ("p = setp.eq.u32 i, 9\n    @p v = ld.shared.u64 t[i]", 0),
        ("st.shared.v2.u32 t[2*i], {i, i}", 0),
        ("st.shared.u32 t[2*i], i", 1),
        ("v = atom.shared.add.u32 t[16*i], 1", 15),
        ("v = ld.global.u32 x[16*i]", 0),
    ];
    for (access, conflicts) in cases {
        let result = run(&one_warp(&format!("    {access}\n"))).result;
        assert_eq!(result.shared_bank_conflicts, conflicts, "{access}");
        let shared = result.instructions.iter().map(|inst| inst.bank_conflicts).max();
        assert_eq!(shared, Some(conflicts), "{access}");
        assert_eq!(result.block_statistics["entry"].bank_conflicts, conflicts, "{access}");
    }
}

/// Two halves and four quarters take two passes and four, which is what time they take.
#[test]
fn wide_shared_accesses_take_passes_without_conflicts() {
    let cycles = |access: &str| {
        let source = one_warp(&format!("    {access}\n    w = add.u32 i, 1\n"));
        let outcome = try_run_on(Machine::Ampere, &source, &[]).expect("it runs");
        assert_eq!(outcome.result.shared_bank_conflicts, 0, "{access}");
        outcome.result.cycles
    };
    let one = cycles("st.shared.u32 t[i], i");
    assert_eq!(cycles("st.shared.v2.u32 t[2*i], {i, i}"), one + 1);
    assert_eq!(cycles("st.shared.v4.u32 t[4*i], {i, i, i, i}"), one + 3);
    let both = "kernel k(o: ptr.global) {\n    shared s: u64[128]\nentry:\n    t = mov.u32 %tid\n    a = \
                ld.shared.u64 s[t]\n    \
         {b, c, d, e} = ld.shared.v4.u32 s[4*t]\n    f = cvt.u32.u64 a\n    g = add.u32 f, b\n    st.global.u32 o[t], \
         g\n    \
         ret\n}\nlaunch k {\n    block 32\n    o = buffer u32[32] const 0\n}\n";
    let result = try_run_on(Machine::Ampere, both, &[]).expect("it runs").result;
    assert_eq!((result.cycles, result.shared_bank_conflicts), (51, 0));
}

/// Equal offsets of neighbouring lanes lie side by side: a word of 32 lanes is a line.
#[test]
fn sectors_of_local_memory() {
    let cases = [
        ("v = ld.local.u32 own[3]", 4),
        ("v = ld.local.u64 own[1]", 8),
        ("@p v = ld.local.u32 own[3]", 1),
        // Two words of one lane lie in two lines.
        ("@p v = ld.local.u64 own[1]", 2),
        ("@p {a, b, c, d} = ld.local.v4.u32 own[4]", 4),
        // Eight words by four sectors of lanes.
        ("v = ld.local.u32 own[j]", 32),
    ];
    for (access, sectors) in cases {
        let result = run(&one_warp(&format!("    p = setp.eq.u32 i, 9\n    j = and.b32 i, 7\n    {access}\n"))).result;
        let inst = &result.instructions[3];
        assert_eq!((inst.requests, inst.sectors), (1, sectors), "{access}");
        assert_eq!((result.loads["local"], result.global_loads), (1, 0), "{access}");
    }
}

#[test]
fn loads_and_stores_by_space() {
    let result = run(
        "const c: u32[4] = { 1, 2, 3, 4 }\nkernel k(a: u32[2], x: ptr.global, g: ptr) {\n    shared t: u32[32]\n    \
         local own: u32[2]\nentry:\n    i = mov.u32 %tid\n    v = ld.const.u32 c[1]\n    v = ld.param.u32 a[1]\n    \
         v = ld.global.u32 x[i]\n    st.shared.u32 t[i], v\n    v = ld.shared.u32 t[i]\n    st.local.u32 own[0], \
         v\n    \
         v = ld.local.u32 own[0]\n    v = ld.local.u32 own[1]\n    pt = mov.u64 t\n    w = ld.u32 [pt]\n    w = \
         ld.u32 g[i]\n    \
         st.u32 [pt + 4], w\n    st.u32 g[i], w\n    st.global.u32 x[i], w\n    red.global.add.u32 x[0], 1\n    \
         exit\n}\n\
         launch k {\n    block 32\n    a = { 1, 2 }\n    x = buffer u32[32] iota\n    g = buffer u32[32] iota\n}\n",
    )
    .result;
    let loads = [("const", 1), ("param", 1), ("global", 2), ("shared", 1), ("local", 2), ("generic", 1)];
    let stores = [("shared", 1), ("local", 1), ("global", 2), ("generic", 1)];
    // What a generic address reached outside of device memory stays generic.
    assert_eq!(result.loads, loads.into_iter().collect());
    assert_eq!(result.stores, stores.into_iter().collect());
    let block = &result.block_statistics["entry"];
    assert_eq!((&block.loads, &block.stores), (&result.loads, &result.stores));
    assert_eq!((result.global_loads, result.global_load_transactions), (2, 8));
}

#[test]
fn a_load_waits_for_the_level_that_has_it() {
    // Ampere: 290 cycles from memory, 33 from the first level, 4 for an addition.
    //   a = ld x[0]     at 0, there at 290
    //   b = ld x[1]     at 1, the same sector: there at 34
    //   c = add b, 1    at 34, having waited from 2: 32 cycles
    //   d = add a, c    at 290, having waited from 35: 255 cycles
    //   e = add d, d    at 294, having waited from 291: 3 cycles
    //   exit            at 295
    let source = "kernel k(x: ptr.global) {\nentry:\n    a = ld.global.u32 x[0]\n    b = ld.global.u32 x[1]\n    \
                  c = add.u32 b, 1\n    d = add.u32 a, c\n    e = add.u32 d, d\n    exit\n}\n\
                  launch k {\n    x = buffer u32[8] iota\n}\n";
    let result = run_on(Machine::Ampere, source, &[]).result;
    assert_eq!((result.cycles, result.l1_hits), (296, 1));
    let idle = &result.idle_cycles;
    assert_eq!([idle["memory"], idle["arithmetic"], idle["issue"], idle["barrier"]], [287, 3, 0, 0]);
    let cycles: Vec<u64> = result.instructions.iter().map(|inst| inst.cycles).collect();
    assert_eq!(cycles, [1, 1, 33, 256, 4, 1]);
    assert_eq!(result.instructions[3].idle_cycles["memory"], 255);
    assert_eq!(result.instructions[4].idle_cycles["arithmetic"], 3);
    assert_eq!(result.instructions[1].l1_hits, 1);
    // Without the first level, b comes from the second: 200 cycles, at 201. It all ends at the same time.
    let result = run_on(Machine::Ampere, source, &["l1=off"]).result;
    assert_eq!((result.cycles, result.l1_hits), (296, 0));
    let cycles: Vec<u64> = result.instructions.iter().map(|inst| inst.cycles).collect();
    assert_eq!(cycles, [1, 1, 200, 89, 4, 1]);
}

#[test]
fn sectors_and_passes_hold_the_scheduler() {
    // Ampere. i at 0; the load waits for it until 4, and 32 sectors hold the scheduler until 36;
    // the last of them is there 31 cycles later than one alone would be, at 4 + 290 + 31 = 325.
    let source = one_warp("    v = ld.global.u32 x[8*i]\n    v = add.u32 v, 1\n");
    let result = run_on(Machine::Ampere, &source, &[]).result;
    let cycles: Vec<u64> = result.instructions.iter().map(|inst| inst.cycles).collect();
    assert_eq!(cycles, [1, 3 + 32, 289 + 1, 1]);
    assert_eq!((result.cycles, result.idle_cycles["issue"], result.idle_cycles["memory"]), (327, 31, 289));
    // 32 passes over one bank.
    let result = run_on(Machine::Ampere, &one_warp("    st.shared.u32 t[32*i], i\n"), &[]).result;
    assert_eq!((result.cycles, result.idle_cycles["issue"]), (4 + 32 + 1, 31));
}

#[test]
fn rates_and_latencies_of_arithmetic() {
    // Ampere: a double addition issues for 2 cycles and answers after 5.
    //   a = add 1, 2    at 0 and 1
    //   b = add a, a    at 5 and 6, having waited from 2
    //   exit            at 7
    let source = "kernel k() {\nentry:\n    a = add.f64 1.0, 2.0\n    b = add.f64 a, a\n    exit\n}\nlaunch k {\n}\n";
    let result = run_on(Machine::Ampere, source, &[]).result;
    assert_eq!((result.cycles, result.idle_cycles["arithmetic"], result.idle_cycles["issue"]), (8, 3, 2));
    // Two of four cycles of an addition are hidden by another warp: mov at 0 and 1, add at 4 and 5, exit at 6 and 7.
    let source =
        "kernel k() {\nentry:\n    a = mov.u32 1\n    b = add.u32 a, 1\n    exit\n}\nlaunch k {\n    block 64\n}\n";
    let result = run_on(Machine::Ampere, source, &[]).result;
    assert_eq!((result.cycles, result.idle_cycles["arithmetic"]), (8, 2));
    assert_eq!(run_on(Machine::Ampere, source, &["block=32"]).result.cycles, 6);
    // Four warps hide it all.
    let result = run_on(Machine::Ampere, source, &["block=128"]).result;
    assert_eq!((result.cycles, result.idle_cycles["arithmetic"]), (12, 0));
}

#[test]
fn a_barrier_is_passed_together_and_takes_its_time() {
    // Ampere, two warps; a barrier answers 16 cycles after the last warp has come.
    //   bar.sync    at 0 and 1
    //   a = mov 1   at 17 and 18, having waited from 2: 15 cycles
    //   exit        at 19 and 20
    let source = "kernel k() {\nentry:\n    bar.sync\n    a = mov.u32 1\n    exit\n}\nlaunch k {\n    block 64\n}\n";
    let result = run_on(Machine::Ampere, source, &[]).result;
    assert_eq!((result.cycles, result.idle_cycles["barrier"]), (21, 15));
    let fence = source.replace("bar.sync", "membar.gl");
    // Each warp waits for its own fence: mov at 16 and 17.
    let result = run_on(Machine::Ampere, &fence, &[]).result;
    assert_eq!((result.cycles, result.idle_cycles["barrier"]), (20, 14));
    assert_eq!(run(source).result.cycles, 6, "one cycle each on the machine for counting");
}

#[test]
fn the_first_level_keeps_sectors_and_forgets_the_oldest_line() {
    let hits = |body: &str| {
        let source = format!(
            "kernel k(x: ptr.global) {{\nentry:\n{body}    exit\n}}\nlaunch k {{\n    x = buffer u32[1024] iota\n}}\n"
        );
        run_on(Machine::Ampere, &source, &[]).result.l1_hits
    };
    let load = |index: u32| format!("    v = ld.global.u32 x[{index}]\n");
    assert_eq!(hits(&(load(0) + &load(7))), 1, "one sector");
    assert_eq!(hits(&(load(0) + &load(8))), 0, "another sector of the line is fetched by itself");
    assert_eq!(hits(&(load(0) + &load(8) + &load(1) + &load(9))), 2);
    // A store writes through and leaves what is there, but brings nothing in; an atomic works behind the first level.
    assert_eq!(hits(&(load(0) + "    st.global.u32 x[0], 5\n" + &load(0))), 1);
    assert_eq!(hits(&("    st.global.u32 x[0], 5\n".to_string() + &load(0))), 0);
    assert_eq!(hits(&(load(0) + "    red.global.add.u32 x[0], 5\n" + &load(0))), 0);
    // 192 KiB hold 1536 lines. With all of them there and the first one read again, the next new line takes the second
    // one's place.
    let source = "kernel k(x: ptr.global) {\nentry:\n    k = mov.u32 0\n    br fill\nfill:\n    v = ld.global.u32 \
                  x[32*k]\n    \
                  k = add.u32 k, 1\n    p = setp.lt.u32 k, 1536\n    br p, fill, behind\nbehind:\n    \
                  v = ld.global.u32 x[0]\n    v = ld.global.u32 x[49152]\n    v = ld.global.u32 x[0]\n    \
                  v = ld.global.u32 x[32]\n    exit\n}\nlaunch k {\n    x = buffer u32[49184] iota\n}\n";
    let result = run_on(Machine::Ampere, source, &[]).result;
    let hits: Vec<u64> =
        result.instructions.iter().filter(|inst| inst.block == "behind").map(|inst| inst.l1_hits).collect();
    assert_eq!(hits, [1, 0, 1, 0, 0]);
    // One line more, in turn, and each is forgotten just before it is wanted again.
    for (lines, expected) in [(1536, 1536), (1537, 0)] {
        let source = format!(
            "kernel k(x: ptr.global) {{\nentry:\n    k = mov.u32 0\n    round = mov.u32 0\n    br next\nnext:\n    \
             v = ld.global.u32 x[32*k]\n    k = add.u32 k, 1\n    p = setp.lt.u32 k, {lines}\n    br p, next, again\n\
             again:\n    k = mov.u32 0\n    round = add.u32 round, 1\n    q = setp.lt.u32 round, 2\n    br q, next, \
             done\n\
             done:\n    exit\n}}\nlaunch k {{\n    x = buffer u32[{}] iota\n}}\n",
            32 * lines
        );
        let result = run_on(Machine::Ampere, &source, &[]).result;
        assert_eq!(result.l1_hits, expected, "{lines} lines twice");
        assert_eq!(result.block_statistics["next"].l1_hits, expected);
        assert_eq!(result.global_load_transactions, 2 * lines);
    }
}

#[test]
fn divergence_by_branch_and_block() {
    // Lane i goes round i mod 4 + 1 times; a switch then parts the lanes in three.
    let source = one_warp(
        "    n = and.b32 i, 3\n    br head\nhead:\n    p = setp.eq.u32 n, 0\n    n = sub.u32 n, 1\n    br p, behind, \
         head\n\
         behind:\n    m = rem.u32 i, 3\n    switch m, a, b, c\na:\n    br done\nb:\n    br done\nc:\n    br \
         done\ndone:\n",
    );
    let result = run(&source).result;
    // The branch of the loop is executed four times, by 32, 24, 16 and 8 lanes; the last time all of them leave.
    let branch = result.instructions.iter().find(|inst| inst.block == "head" && inst.index == 2).expect("the branch");
    assert_eq!((branch.issues, branch.lanes, branch.divergent), (4, 80, 3));
    let by_lanes: Vec<u64> = [32, 24, 16, 8].iter().map(|&lanes| branch.occupancy[lanes]).collect();
    assert_eq!(by_lanes, [1, 1, 1, 1]);
    assert_eq!(result.block_statistics["head"].divergent, 3);
    assert_eq!(result.block_statistics["behind"].divergent, 1);
    assert_eq!(result.divergent_branches, 4);
    assert_eq!((result.blocks["head"].issues, result.blocks["head"].lanes), (12, 240));
    // 32 lanes modulo 3: 11, 11 and 10.
    let lanes = ["a", "b", "c"].map(|label| (result.blocks[label].issues, result.blocks[label].lanes));
    assert_eq!(lanes, [(1, 11), (1, 11), (1, 10)]);
}

/// Blocks that never run are listed with zeros; blocks of functions stand behind the function's name.
#[test]
fn every_block_is_listed() {
    let result = run("func f(n: u32) -> u32 {\nentry:\n    m = add.u32 n, 1\n    ret m\n}\n\
                      kernel k(x: ptr.global) {\nentry:\n    p = setp.eq.u32 %ntid, 1000\n    br p, never, \
                      done\nnever:\n    br done\n\
                      done:\n    v = call f(1)\n    st.global.u32 x[0], v\n    exit\n}\n\
                      launch k {\n    block 8\n    x = buffer u32[1] const 0\n}\n")
    .result;
    let labels: Vec<&str> = result.blocks.keys().map(String::as_str).collect();
    assert_eq!(labels, ["done", "entry", "f.entry", "never"]);
    assert_eq!(result.blocks["never"].issues, 0);
    assert_eq!((result.blocks["f.entry"].issues, result.blocks["f.entry"].lanes), (2, 16));
    assert_eq!(result.block_statistics.keys().collect::<Vec<_>>(), result.blocks.keys().collect::<Vec<_>>());
}

/// A kernel with everything in it, on every machine: what is counted by instruction and by block adds up to the launch.
#[test]
fn the_parts_add_up_to_the_whole() {
    let source = "func twice(n: u32) -> u32 {\nentry:\n    m = mul.u32 n, 2\n    ret m\n}\n\
                  kernel k(x: ptr.global, y: ptr.global) {\n    shared t: u32[64]\n    input p: pred\nentry:\n    \
                  i = mad.u32 %ctaid, %ntid, %tid\n    j = mov.u32 %tid\n    v = ld.global.u32 x[i]\n    \
                  st.shared.u32 t[j], v\n    bar.sync\n    k = sub.u32 63, j\n    w = ld.shared.u32 t[k]\n    br \
                  loop\nloop:\n    \
                  w = call twice(w)\n    q = in.pred p\n    z = and.b32 w, 63\n    @q w = ld.global.u32 x[z]\n    \
                  f = cvt.rn.f32.u32 w\n    g = sqrt.rn.f32 f\n    h = div.rn.f32 g, f\n    u = cvt.rzi.u32.f32 h\n    \
                  w = add.u32 w, u\n    j = sub.u32 j, 1\n    more = setp.gt.s32 j, 0\n    br more, loop, \
                  done\ndone:\n    \
                  red.global.add.u32 y[0], w\n    exit\n}\n\
                  launch k {\n    grid 3\n    block 64\n    p = draws true 0.5 coherence 0.5\n    x = buffer u32[192] \
                  iota\n    \
                  y = buffer u32[1] const 0\n}\n";
    for machine in Machine::ALL {
        for settings in [&[][..], &["warp=8"], &["l1=off", "warp=16"]] {
            let result = run_on(machine, source, settings).result;
            let insts = &result.instructions;
            let blocks: Vec<_> = result.block_statistics.values().collect();
            assert_eq!(insts.iter().map(|inst| inst.cycles).sum::<u64>(), result.cycles, "{}", machine.name());
            assert_eq!(blocks.iter().map(|block| block.cycles).sum::<u64>(), result.cycles);
            assert_eq!(result.idle_cycles.values().sum::<u64>() + result.warp_instructions, result.cycles);
            for cause in result.idle_cycles.keys() {
                let idle: u64 = blocks.iter().map(|block| block.idle_cycles[cause]).sum();
                assert_eq!(idle, result.idle_cycles[cause], "{cause}");
            }
            for (lanes, issues) in result.occupancy.iter().enumerate() {
                assert_eq!(insts.iter().map(|inst| inst.occupancy[lanes]).sum::<u64>(), *issues);
                assert_eq!(blocks.iter().map(|block| block.occupancy[lanes]).sum::<u64>(), *issues);
            }
            assert_eq!(insts.iter().map(|inst| inst.lanes).sum::<u64>(), result.thread_instructions);
            assert_eq!(insts.iter().map(|inst| inst.divergent).sum::<u64>(), result.divergent_branches);
            assert_eq!(blocks.iter().map(|block| block.l1_hits).sum::<u64>(), result.l1_hits);
            let loads: u64 = blocks.iter().filter_map(|block| block.loads.get("global")).sum();
            assert_eq!(loads, result.global_loads);
            assert_eq!(result.occupancy.len() as u32, result.warp_size + 1);
        }
    }
}
