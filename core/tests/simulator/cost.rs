//! Time on the `unit` machine, counted by hand: each instruction issues in one cycle and answers in the next.

use super::{run, try_run, try_run_on};
use std::collections::BTreeSet;
use warpscope_core::machine::Machine;
use warpscope_core::sim::{ErrorKind, Progress, Settings, Simulation};
use warpscope_core::verify::check;

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

/// Ampere: mov at 0, setp at 1, whose result is there at 5, then the load, add and exit in a row.
#[test]
fn an_access_that_no_lane_makes_costs_its_issue_only() {
    let cycles = |guard: &str, access: &str| {
        let source = format!(
            "kernel k(x: ptr.global) {{\nentry:\n    v = mov.u32 1\n    p = setp.lt.u32 %laneid, 0\n    @{guard}p \
             {access}\n    \
             w = add.u32 v, 1\n    exit\n}}\nlaunch k {{\n    block 32\n    x = buffer u32[4] const 0\n}}\n"
        );
        try_run_on(Machine::Ampere, &source, &[]).unwrap_or_else(|error| panic!("{error}")).result.cycles
    };
    assert_eq!(cycles("", "v = ld.global.u32 x[0]"), 5 + 1 + 1 + 1);
    assert_eq!(cycles("", "v = atom.global.add.u32 x[0], 1"), 5 + 1 + 1 + 1);
    assert_eq!(cycles("", "st.global.u32 x[0], v"), 5 + 1 + 1 + 1);
    assert!(cycles("!", "v = ld.global.u32 x[0]") > 200, "the first load comes from memory");
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

/// The scheduler goes round: the k-th number that a warp takes is behind the k-th of the warps in front of it.
#[test]
fn warps_issue_in_turn() {
    let takes: String = (0..5)
        .map(|k| format!("    v = atom.global.add.u32 n[0], 1\n    @first st.global.u32 r[5*w + {k}], v\n"))
        .collect();
    let source = format!(
        "kernel k(n: ptr.global, r: ptr.global) {{\nentry:\n    w = mov.u32 %warpid\n    \
         first = setp.eq.u32 %laneid, 0\n{takes}    exit\n}}\n\
         launch k {{\n    warp 8\n    block 24\n    n = buffer u32[1] const 0\n    r = buffer u32[15] const 0\n}}\n"
    );
    let expected: Vec<u64> = (0..3).flat_map(|warp| (0..5).map(move |k| 8 * (3 * k + warp))).collect();
    assert_eq!(run(&source).buffer("r"), expected);
}

/// Blocks wait outside until one that is done makes room: for its threads, its shared memory, or its place.
#[test]
fn blocks_become_resident_as_the_machine_has_room() {
    // Ampere: mov at 0, add at 4, exit at 5; a second warp fits in between and ends at 8.
    let source = "kernel k() {\n    shared t: u8[]\nentry:\n    a = mov.u32 1\n    b = add.u32 a, 1\n    exit\n}\n\
                  launch k {\n    grid 2\n    block 32\n    shared 1024\n}\n";
    let cycles = |machine, settings: &[&str]| {
        try_run_on(machine, source, settings).unwrap_or_else(|error| panic!("{error}")).result.cycles
    };
    assert_eq!(cycles(Machine::Ampere, &[]), 8);
    assert_eq!(cycles(Machine::Ampere, &["shared=80000"]), 8, "two blocks share 164 KiB");
    assert_eq!(cycles(Machine::Ampere, &["shared=100000"]), 2 * 6, "one after the other");
    let module = check(source).module;
    let kernel = module.func_by_name("k").expect("the kernel");
    let resident = |machine, settings: &[&str]| {
        let mut chosen = Settings::default();
        settings.iter().for_each(|text| chosen.set(text).expect("a setting"));
        let run: Simulation =
            Simulation::new(&module, kernel, &module.launches[0], &chosen, machine).expect("a launch");
        let blocks: BTreeSet<[u32; 3]> = run.resident_warps().iter().map(|warp| warp.block).collect();
        assert_eq!(blocks.iter().map(|block| block[0]).max(), Some(blocks.len() as u32 - 1), "in the grid's order");
        (blocks.len(), run.resident_warps().len())
    };
    assert_eq!(resident(Machine::Ampere, &["grid=100"]), (32, 32));
    assert_eq!(resident(Machine::Ampere, &["grid=100", "block=1024"]), (2, 64));
    assert_eq!(resident(Machine::Ampere, &["grid=100", "block=160"]), (12, 60));
    assert_eq!(resident(Machine::Turing, &["grid=100"]), (16, 16));
    assert_eq!(resident(Machine::Turing, &["grid=100", "block=1024"]), (1, 32));
    assert_eq!(resident(Machine::Ampere, &["grid=3"]), (3, 3));
}

/// One launch, one run: the same counts and the same memory again, and with other budgets a step.
#[test]
fn a_run_is_a_function_of_its_launch() {
    let source = "kernel k(r: ptr.global) {\n    input p: pred\nentry:\n    i = mad.u32 %ctaid, %ntid, %tid\n    \
                  n = mov.u32 0\n    br again\nagain:\n    q = in.pred p\n    n = add.u32 n, 1\n    br q, again, done\n\
                  done:\n    st.global.u32 r[i], n\n    exit\n}\n\
                  launch k {\n    grid 4\n    block 64\n    p = draws true 0.8\n    r = buffer u32[256] const 0\n}\n";
    let whole = try_run_on(Machine::Hopper, source, &["seed=3"]).unwrap_or_else(|error| panic!("{error}")).result;
    let module = check(source).module;
    let kernel = module.func_by_name("k").expect("the kernel");
    for budget in [1, 7, 1000] {
        let settings = Settings { seed: Some(3), ..Settings::default() };
        let mut run: Simulation =
            Simulation::new(&module, kernel, &module.launches[0], &settings, Machine::Hopper).expect("a launch");
        while run.run(budget) == Ok(Progress::Running) {
            let issued = run.issued();
            assert_eq!(run.next_warp().is_some(), run.next_warp().is_some(), "looking changes nothing");
            assert_eq!(run.issued(), issued);
        }
        assert_eq!(run.result(), whole, "{budget} instructions at a time");
    }
}

/// Straight arithmetic in many warps, a loop, loads, a divergent branch and a barrier: rounds that
/// can be counted at once, and everything that ends them.
const MIXED: &str = "
kernel mixed(n: u32, x: ptr.global) {
shared s: u32[256]
entry:
    i = mad.u32 %ctaid, %ntid, %tid
    t = mov.u32 %tid
    k = mov.u32 0
    a = mov.u32 i
    br loop
loop:
    b = add.u32 a, 3
    c = mul.u32 b, 5
    d = xor.b32 c, k
    e = add.u32 d, i
    f = cvt.f32.u32 e
    g = sqrt.rn.f32 f
    a = cvt.rzi.u32.f32 g
    q = setp.lt.u32 t, k
    @q a = add.u32 a, 1
    l = ld.global.u32 x[i]
    a = add.u32 a, l
    k = add.u32 k, 1
    p = setp.lt.u32 k, n
    br p, loop, after
after:
    h = and.b32 a, 1
    odd = setp.ne.u32 h, 0
    br odd, left, right
left:
    a = mul.u32 a, 7
    a = add.u32 a, 1
    br meet
right:
    a = add.u32 a, 2
    br meet
meet:
    st.shared.u32 s[t], a
    bar.sync
    u = xor.b32 t, 1
    v = ld.shared.u32 s[u]
    w = add.u32 v, a
    st.global.u32 x[i], w
    ret
}
launch mixed {
    grid 6
    block 256
    n = 20
    x = buffer u32[1536] random(0, 100)
}
";

/// Lanes leave the loop one by one, each warp at another time and the last ones of a block first,
/// and part inside of it.
const UNEVEN: &str = "
kernel uneven(n: u32, x: ptr.global) {
entry:
    t = mov.u32 %tid
    i = mad.u32 %ctaid, %ntid, t
    h = mul.u32 i, 2654435761
    r = shr.u32 h, 28
    w = shr.u32 t, 5
    m = sub.u32 n, w
    m = mul.u32 m, 4
    m = add.u32 m, r
    a = mov.u32 i
    k = mov.u32 0
    br loop
loop:
    k = add.u32 k, 1
    b = and.b32 a, 7
    q = setp.eq.u32 b, 3
    br q, odd, even
odd:
    a = mad.u32 a, 3, 1
    br next
even:
    c = shr.u32 a, 1
    a = add.u32 c, i
    br next
next:
    p = setp.lt.u32 k, m
    br p, loop, done
done:
    st.global.u32 x[i], a
    ret
}
launch uneven {
    grid 6
    block 256
    n = 20
    x = buffer u32[1536] const 0
}
";

#[test]
fn one_instruction_at_a_time_takes_the_same_cycles() {
    for source in [MIXED, UNEVEN] {
        let parsed = warpscope_core::verify::check(source);
        assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
        let launch = &parsed.module.launches[0];
        let kernel = parsed.module.func_by_name(&launch.kernel).expect("the kernel");
        for machine in Machine::ALL {
            for (grid, block) in [(6, 256), (1, 32), (1, 64), (3, 100), (2, 512)] {
                let grid = [grid, 1, 1];
                let settings = Settings { grid: Some(grid), block: Some([block, 1, 1]), ..Settings::default() };
                let new = || -> Simulation {
                    Simulation::new(&parsed.module, kernel, launch, &settings, machine).expect("it fits the machine")
                };
                let mut whole = new();
                let mut stepped = new();
                let mut strides = new();
                let ended = whole.run(u64::MAX);
                let one_by_one = loop {
                    match stepped.run(1) {
                        Ok(Progress::Running) => {}
                        end => break end,
                    }
                };
                while strides.run(77) == Ok(Progress::Running) {}
                assert_eq!(ended, one_by_one);
                assert_eq!(whole.result(), stepped.result(), "{} {grid:?} {block}", machine.name());
                assert_eq!(whole.result(), strides.result(), "{} {grid:?} {block}", machine.name());
            }
        }
    }
}
