//! Profiles of runs small enough to count by hand.

use std::collections::BTreeMap;
use warpscope_core::ir::{Block, Module, Write};
use warpscope_core::machine::Machine;
use warpscope_core::profile::{self, Collector, Count, FunctionProfile, ZeroCount};
use warpscope_core::sim::{Progress, Settings, Simulation};
use warpscope_core::text::print;
use warpscope_core::verify::check;

/// The profiles of a run of the first launch, by function, with blocks by their names.
struct Profiles {
    module: Module,
    by_function: BTreeMap<String, FunctionProfile>,
}

impl Profiles {
    fn of(source: &str, settings: &Settings) -> Profiles {
        let parsed = check(source);
        let errors: Vec<_> = parsed.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).collect();
        assert!(errors.is_empty(), "{errors:?}\n{source}");
        let module = parsed.module;
        let kernel = module.func_by_name(&module.launches[0].kernel).expect("the kernel");
        let mut run: Simulation =
            Simulation::new(&module, kernel, &module.launches[0], settings, Machine::Unit).expect("a launch");
        let mut collector = Collector::new(&module, run.program());
        assert_eq!(run.run_watched(u64::MAX, &mut collector), Ok(Progress::Done));
        let by_function =
            collector.profile().into_iter().map(|(func, profile)| (module.funcs[func].name.clone(), profile)).collect();
        let found = Profiles { module, by_function };
        found.can_be_declared(&collector);
        found
    }

    /// Checks that the measured profile is a good declaration: it verifies and survives being printed.
    fn can_be_declared(&self, collector: &Collector) {
        let mut declared = self.module.clone();
        profile::declare(&mut declared, &collector.profile());
        let text = print(&declared);
        let parsed = check(&text);
        assert!(parsed.diagnostics.is_empty(), "{:?}\n{text}", parsed.diagnostics);
        assert_eq!(print(&parsed.module), text);
    }

    fn block(&self, function: &str, name: &str) -> Block {
        let body = &self.module.funcs[self.module.func_by_name(function).expect("a function")];
        body.block_order().find(|&block| body.blocks[block].name == name).expect("a block")
    }

    fn edge(&self, function: &str, from: &str, to: &str) -> (u64, u64) {
        let edge = (self.block(function, from), self.block(function, to));
        both(self.by_function[function].edges.get(&edge).copied().unwrap_or_default())
    }

    /// How often warps executed a block, and parted there.
    fn warps(&self, function: &str, block: &str) -> (u64, u64) {
        let counts = self.by_function[function].blocks.get(&self.block(function, block)).copied().unwrap_or_default();
        (counts.executions, counts.diverged)
    }

    /// All paths of a function, as texts.
    fn paths(&self, function: &str) -> Vec<(String, (u64, u64))> {
        let body = &self.module.funcs[self.module.func_by_name(function).expect("a function")];
        let text = |path: &Vec<Block>| {
            path.iter().map(|&block| body.blocks[block].name.as_str()).collect::<Vec<_>>().join(" ")
        };
        let mut paths: Vec<_> =
            self.by_function[function].paths.iter().map(|(path, count)| (text(path), both(*count))).collect();
        paths.sort();
        paths
    }

    /// How often writes of a kernel's entry were zero together, the first of each register.
    fn joint(&self, regs: &[&str]) -> Option<ZeroCount> {
        let body = &self.module.funcs[self.module.kernels().next().expect("a kernel")];
        let joint = &self.by_function[&body.name].joint;
        let is_it = |writes: &[Write]| {
            writes
                .iter()
                .map(|write| (body.regs[write.reg].name.as_str(), write.occurrence))
                .eq(regs.iter().map(|&reg| (reg, 0)))
        };
        joint.iter().find(|(writes, _)| is_it(writes)).map(|(_, &count)| count)
    }

    /// The lines about several writes that a declaration has.
    fn declared_joints(&self) -> Vec<String> {
        let measured =
            self.module.funcs.keys().map(|func| (func, self.by_function[&self.module.funcs[func].name].clone()));
        let mut declared = self.module.clone();
        profile::declare(&mut declared, &measured.collect());
        print(&declared).lines().filter(|line| line.contains(" & ")).map(|line| line.trim().to_string()).collect()
    }

    /// The k-th write of a register in a block.
    fn zero(&self, function: &str, block: &str, reg: &str, occurrence: u32) -> ZeroCount {
        let body = &self.module.funcs[self.module.func_by_name(function).expect("a function")];
        let block = self.block(function, block);
        let zeros = &self.by_function[function].zeros;
        let found = zeros.iter().find(|(write, _)| {
            write.block == block && write.occurrence == occurrence && body.regs[write.reg].name == reg
        });
        *found.unwrap_or_else(|| panic!("no write {occurrence} of {reg}")).1
    }
}

/// Lanes and warps.
fn both(count: Count) -> (u64, u64) {
    (count.lanes, count.warps)
}

#[test]
fn paths_end_in_calls_of_lanes_that_end() {
    // Lanes 5 to 7 end in `leaf`; lane 2 does in the second call of `middle`.
    let source = "func leaf(i: u32, n: u32) {
a:
    p = setp.ge.u32 i, n
    br p, out, back
out:
    exit
back:
    ret
}
func middle(i: u32, n: u32) {
a:
    q = setp.ge.u32 i, 4
    br q, deep, shallow
deep:
    call leaf(i, n)
    br shallow
shallow:
    r = setp.eq.u32 i, 2
    @r call leaf(i, i)
    ret
}
kernel k() {
a:
    i = mov.u32 %laneid
    br b
b:
    call middle(i, 5)
    br c
c:
    ret
}
launch k {
    block 8
    warp 8
}
";
    let profiles = Profiles::of(source, &Settings::default());
    let ended = |function: &str| {
        let body = &profiles.module.funcs[profiles.module.func_by_name(function).expect("a function")];
        let text =
            |path: &[Block]| path.iter().map(|&block| body.blocks[block].name.as_str()).collect::<Vec<_>>().join(" ");
        let ended = profiles.by_function[function].ended.iter();
        ended.map(|((path, _), &count)| (text(path), both(count))).collect::<Vec<_>>()
    };
    let path = |text: &str, count: (u64, u64)| (text.to_string(), count);
    assert_eq!(ended("middle"), [path("a deep", (3, 1)), path("a shallow", (1, 1))]);
    assert_eq!(ended("k"), [path("a b", (4, 2))]);
    assert_eq!(ended("leaf"), []);
    assert_eq!(profiles.paths("middle"), [path("a deep shallow", (1, 1)), path("a shallow", (3, 1))]);
    assert_eq!(profiles.paths("k"), [path("a b c", (4, 1))]);
}

#[test]
fn edges_paths_and_zeros_of_a_divergent_loop() {
    // Lane i goes round i + 1 times; two warps.
    let source = "kernel k() {\nentry:\n    i = mov.u32 %laneid\n    n = mov.u32 0\n    br head\nhead:\n    \
                  z = and.b32 n, 1\n    n = add.u32 n, 1\n    p = setp.le.u32 n, i\n    br p, head, done\ndone:\n    \
                  ret\n}\nlaunch k {\n    block 64\n    warp 8\n}\n";
    let profiles = Profiles::of(source, &Settings { block: Some([16, 1, 1]), ..Settings::default() });
    assert_eq!(profiles.edge("k", "entry", "head"), (16, 2));
    assert_eq!(profiles.edge("k", "head", "head"), (2 * 28, 2 * 7));
    assert_eq!(profiles.edge("k", "head", "done"), (16, 2 * 8));
    // In each of 8 rounds a lane leaves; in the last one nobody stays.
    assert_eq!(profiles.warps("k", "head"), (2 * 8, 2 * 7));
    assert_eq!(["entry", "done"].map(|block| profiles.warps("k", block)), [(2, 0), (2, 0)]);
    let expected = [
        // The others' first paths end at the back edge.
        ("entry head", (14, 2)),
        // Lane 0 ends with its first path.
        ("entry head done", (2, 2)),
        ("head", (2 * (28 - 7), 2 * 6)),
        // All lanes but the first end together behind the loop.
        ("head done", (14, 2)),
    ];
    let paths = profiles.paths("k");
    assert_eq!(paths, expected.map(|(path, count)| (path.to_string(), count)));
    // n is 0, 2, 4, 6 in the first, third, … round, of 8, 6, 4 and 2 lanes.
    let z = profiles.zero("k", "head", "z", 0);
    assert_eq!((both(z.all), both(z.zero)), ((2 * 36, 2 * 8), (2 * 20, 2 * 4)));
    let n = profiles.zero("k", "head", "n", 0);
    assert_eq!((both(n.zero), n.lane_probability()), ((0, 0), 0.0));
    assert_eq!(z.warp_probability(), 0.5);
}

#[test]
fn a_diamond_a_switch_and_a_guard() {
    // 32 lanes: 16 even, 16 odd; a switch by i mod 4 whose last target takes 2 and 3.
    let source = "kernel k() {\nentry:\n    i = mov.u32 %tid\n    b = and.b32 i, 1\n    p = setp.eq.u32 b, 0\n    \
                  br p, even, odd\neven:\n    br join\nodd:\n    br join\njoin:\n    m = and.b32 i, 3\n    \
                  v = mov.u32 0\n    v = add.u32 i, 0\n    @p v = mov.u32 0\n    switch m, zero, one, rest\nzero:\n    \
                  br done\none:\n    br done\nrest:\n    br done\ndone:\n    exit\n}\nlaunch k {\n    block 32\n}\n";
    let profiles = Profiles::of(source, &Settings::default());
    assert_eq!(profiles.edge("k", "entry", "even"), (16, 1));
    assert_eq!(profiles.edge("k", "even", "join"), (16, 1));
    assert_eq!(profiles.edge("k", "join", "zero"), (8, 1));
    assert_eq!(profiles.edge("k", "join", "rest"), (16, 1));
    // Each parts once, the switch into three.
    assert_eq!(
        ["entry", "even", "join", "done"].map(|block| profiles.warps("k", block)),
        [(1, 1), (1, 0), (1, 1), (1, 0)]
    );
    // Lanes 0, 4, …; 2, 6, …; 1, 5, …; 3, 7, …: all end together, in four groups by path.
    let expected = [
        ("entry even join rest done", (8, 1)),
        ("entry even join zero done", (8, 1)),
        ("entry odd join one done", (8, 1)),
        ("entry odd join rest done", (8, 1)),
    ];
    assert_eq!(profiles.paths("k"), expected.map(|(path, count)| (path.to_string(), count)));
    // The first write is all zeros, the second is zero in lane 0, the third is of the even lanes only.
    let v = |occurrence| profiles.zero("k", "join", "v", occurrence);
    assert_eq!((both(v(0).all), both(v(0).zero)), ((32, 1), (32, 1)));
    assert_eq!((both(v(1).all), both(v(1).zero)), ((32, 1), (1, 0)));
    assert_eq!((both(v(2).all), both(v(2).zero)), ((16, 1), (16, 1)));
    assert_eq!((v(1).lane_probability(), v(1).warp_probability()), (1.0 / 32.0, 0.0));
    assert_eq!(v(2).warp_probability(), 1.0, "all active lanes are zero");
}

#[test]
fn zeros_of_every_type_and_of_both_signs() {
    let source = "kernel k(x: ptr.global) {\nentry:\n    a = ld.global.f32 x[%tid]\n    b = neg.f32 a\n    \
                  c = cvt.f64.f32 b\n    d = cvt.f16.f32 b\n    e = mov.b32 b\n    f = cvt.u64.u32 %tid\n    \
                  g = cvt.u16.u32 %tid\n    exit\n}\nlaunch k {\n    block 4\n    x = buffer f32[4] { 0, -0.0, 1, nan \
                  }\n}\n"
        .replace("x[%tid]", "x[i]")
        .replace("entry:\n", "entry:\n    i = mov.u32 %tid\n");
    let profiles = Profiles::of(&source, &Settings::default());
    let zeros = |reg: &str| both(profiles.zero("k", "entry", reg, 0).zero).0;
    assert_eq!(["a", "b", "c", "d"].map(zeros), [2; 4], "either sign is zero for a float");
    assert_eq!(zeros("e"), 1, "for bits only zero is");
    assert_eq!(["f", "g"].map(zeros), [1; 2]);
}

#[test]
fn lanes_take_turns_inside_calls() {
    // Half of the lanes wait inside of `low` while the others go through `high`.
    let callee = "func NAME(i: u32) {
in:
    barrier.sync 0
    p = setp.lt.u32 i, BOUND
    br p, less, more
less:
    br out
more:
    br out
out:
    barrier.sync 0
    ret
}
";
    let callee = |name: &str, bound: &str| callee.replace("NAME", name).replace("BOUND", bound);
    let kernel = "kernel k() {
entry:
    i = mov.u32 %laneid
    p = setp.lt.u32 i, 4
    br p, left, right
left:
    call low(i)
    br join
right:
    call high(i)
    br join
join:
    ret
}
launch k {
    block 8
    warp 8
}
";
    let source = callee("low", "1") + &callee("high", "6") + kernel;
    let profiles = Profiles::of(&source, &Settings::default());
    let path = |text: &str, count: (u64, u64)| (text.to_string(), count);
    assert_eq!(profiles.paths("low"), [path("in less out", (1, 1)), path("in more out", (3, 1))]);
    assert_eq!(profiles.paths("high"), [path("in less out", (2, 1)), path("in more out", (2, 1))]);
    assert_eq!(profiles.paths("k"), [path("entry left join", (4, 1)), path("entry right join", (4, 1))]);
}

#[test]
fn functions_have_profiles_of_their_own() {
    // Two warps of 8 lanes. The even lanes call `f` with 3, then all lanes with 1; lane 7 ends inside of it.
    let source = "func f(n: u32, last: pred) -> u32 {\nentry:\n    br last, out, head\nout:\n    exit\nhead:\n    \
                  n = sub.u32 n, 1\n    p = setp.gt.u32 n, 0\n    br p, head, done\ndone:\n    ret n\n}\n\
                  kernel k() {\nentry:\n    i = mov.u32 %laneid\n    b = and.b32 i, 1\n    p = setp.eq.u32 b, 0\n    \
                  br p, call_it, join\ncall_it:\n    v = call f(3, 0)\n    br join\njoin:\n    q = setp.eq.u32 i, \
                  7\n    \
                  w = call f(1, q)\n    exit\n}\nlaunch k {\n    warp 8\n    block 16\n}\n";
    let profiles = Profiles::of(source, &Settings::default());
    // Lane 7 parts from the others in the second of two calls.
    assert_eq!(profiles.warps("f", "entry"), (2 + 2, 2));
    assert_eq!(profiles.warps("f", "out"), (2, 0));
    // Of f: 8 lanes go round three times, 14 once, 2 end at once.
    assert_eq!(profiles.edge("f", "entry", "head"), (8 + 14, 4));
    assert_eq!(profiles.edge("f", "head", "head"), (16, 4));
    assert_eq!(profiles.edge("f", "head", "done"), (22, 4));
    let expected = [
        ("entry head", (8, 2)),
        ("entry head done", (14, 2)),
        ("entry out", (2, 2)),
        ("head", (8, 2)),
        ("head done", (8, 2)),
    ];
    assert_eq!(profiles.paths("f"), expected.map(|(path, count)| (path.to_string(), count)));
    assert_eq!(profiles.edge("k", "entry", "call_it"), (8, 2));
    assert_eq!(profiles.edge("k", "entry", "join"), (8, 2));
    // What an exit in a callee cuts short is not counted in the caller: lane 7 came straight from the entry.
    let expected = [("entry call_it join", (8, 2)), ("entry join", (6, 2))];
    assert_eq!(profiles.paths("k"), expected.map(|(path, count)| (path.to_string(), count)));
    // n: 2, 1 and 0 in the first call, 0 in the second.
    let n = profiles.zero("f", "head", "n", 0);
    assert_eq!((both(n.all), both(n.zero)), ((3 * 8 + 14, 8), (8 + 14, 4)));
}

#[test]
fn recursion_and_slots_used_again() {
    // Each of 70 blocks sums 3 + 2 + 1 by recursion: more blocks than are resident at a time.
    let source = "func sum(n: u32) -> u32 {\nentry:\n    p = setp.eq.u32 n, 0\n    br p, zero, more\nzero:\n    ret \
                  n\nmore:\n    \
                  m = sub.u32 n, 1\n    s = call sum(m)\n    t = add.u32 s, n\n    ret t\n}\n\
                  kernel k(r: ptr.global) {\nentry:\n    s = call sum(3)\n    st.global.u32 r[0], s\n    ret\n}\n\
                  launch k {\n    grid 70\n    block 8\n    warp 8\n    r = buffer u32[1] const 0\n}\n";
    let profiles = Profiles::of(source, &Settings::default());
    let expected = [("entry more", (70 * 8 * 3, 70 * 3)), ("entry zero", (70 * 8, 70))];
    assert_eq!(profiles.paths("sum"), expected.map(|(path, count)| (path.to_string(), count)));
    assert_eq!(profiles.paths("k"), [("entry".to_string(), (560, 70))]);
}

/// A kernel for warps of 8 lanes that loads `count` registers side by side, `a` first. Each element
/// of them, by lane and number, is zero where `is_zero` says so. `between` comes before the last
/// load.
fn side_by_side(count: usize, warps: usize, between: &str, is_zero: impl Fn(usize, usize) -> bool) -> Profiles {
    let loads: String = ["a", "b", "c", "d"][..count]
        .iter()
        .enumerate()
        .map(|(place, name)| {
            let before = if place + 1 == count { between } else { "" };
            format!("{before}    {name} = ld.global.f32 x[{count}*i + {place}]\n")
        })
        .collect();
    let elements = (0..8 * warps).flat_map(|lane| (0..count).map(move |number| (lane, number)));
    let numbers: Vec<&str> =
        elements.map(|(lane, number)| if is_zero(lane, number) { "-0.0" } else { "1.5" }).collect();
    let source = format!(
        "kernel k(x: ptr.global) {{\nentry:\n    i = mov.u32 %tid\n{loads}    ret\n}}\nlaunch k {{\n    block {}\n    \
         warp 8\n    x = buffer f32[{}] {{ {} }}\n}}\n",
        8 * warps,
        8 * warps * count,
        numbers.join(", ")
    );
    Profiles::of(&source, &Settings::default())
}

#[test]
fn what_is_zero_together_is_not_a_product() {
    // Each of two registers is zero in two of four warps: in the same ones, in the other ones, in one that is the same.
    let same = side_by_side(2, 4, "", |lane, _| lane < 16);
    let other = side_by_side(2, 4, "", |lane, number| (lane < 16) == (number == 0));
    let independent = side_by_side(2, 4, "", |lane, number| lane / 8 % 2 == number || lane < 8);
    for (profiles, together) in [(&same, 2), (&other, 0)] {
        let alone = ["a", "b"].map(|reg| profiles.zero("k", "entry", reg, 0).warp_probability());
        assert_eq!(alone, [0.5; 2], "by independence a quarter of the warps have both");
        let joint = profiles.joint(&["a", "b"]).expect("it is counted");
        assert_eq!((both(joint.all), both(joint.zero)), ((32, 4), (8 * together, together)));
    }
    assert_eq!(same.declared_joints(), ["entry.a & entry.b: 0.5"]);
    assert_eq!(other.declared_joints(), ["entry.a & entry.b: 0.0"]);
    assert_eq!(independent.joint(&["a", "b"]).expect("it is counted").zero.warps, 1);

    // Every lane has a zero, and no warp has one throughout.
    let by_lane = side_by_side(2, 1, "", |lane, number| lane % 2 == number);
    assert_eq!(both(by_lane.joint(&["a", "b"]).expect("it is counted").zero), (0, 0));
    assert_eq!(both(by_lane.zero("k", "entry", "a", 0).zero), (4, 0));
}

#[test]
fn of_a_vector_what_thresholds_leave_is_declared() {
    // a, b, c and d are zero in one, three, two and three of four warps.
    let zeros = [vec![0], vec![0, 1, 2], vec![2, 3], vec![1, 2, 3]];
    let profiles = side_by_side(4, 4, "", |lane, number| zeros[number].contains(&(lane / 8)));
    let together = |regs: &[&str]| profiles.joint(regs).map(|count| count.zero.warps);
    assert_eq!(together(&["a", "b"]), Some(1));
    assert_eq!(together(&["a", "c"]), Some(0));
    assert_eq!(together(&["b", "d"]), Some(2));
    assert_eq!(together(&["b", "c", "d"]), Some(1));
    assert_eq!(together(&["a", "b", "c", "d"]), Some(0));
    assert_eq!(profiles.by_function["k"].joint.len(), 11);
    // Above 3/4 nothing is left of it, and b and d never part.
    let declared =
        ["entry.a & entry.b & entry.c & entry.d: 0.0", "entry.b & entry.d: 0.5", "entry.b & entry.c & entry.d: 0.25"];
    assert_eq!(profiles.declared_joints(), declared);
}

#[test]
fn what_is_overwritten_before_the_last_is_there_is_not_counted_with_it() {
    let profiles = side_by_side(3, 1, "    a = add.f32 a, 1.0\n", |_, _| true);
    let counted: Vec<usize> = profiles.by_function["k"].joint.keys().map(Vec::len).collect();
    assert_eq!(counted, [2, 2], "a with b, and b with c");
    assert!(profiles.joint(&["a", "b"]).is_some() && profiles.joint(&["b", "c"]).is_some());
}
