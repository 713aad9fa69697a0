//! Votes, shuffles, matches and reductions under the active mask, under member masks, in warps of
//! 8, 16 and 32 lanes, against the PTX manual's definitions lane by lane; and barriers.

use super::operands::Draws;
use super::{run, run_blocks};

#[test]
fn votes_see_active_lanes_only() {
    let outcome = run_blocks(
        "",
        "    p = setp.lt.u32 i, 8\n    q = setp.lt.u32 i, 4\n    br p, low, high\nlow:\n    v = vote.ballot.b32 q\n    \
         br done\nhigh:\n    v = activemask.b32\n    br done\ndone:\n    st.global.u32 r[i], v\n    ret\n",
    );
    let expected: Vec<u64> = (0..32).map(|i| if i < 8 { 0x0F } else { 0xFFFF_FF00 }).collect();
    assert_eq!(outcome.buffer("r"), expected);
}

#[test]
fn the_active_mask_inside_of_branches_inside_of_branches() {
    let outcome = run_blocks(
        "",
        "    b = and.b32 i, 1\n    p = setp.eq.u32 b, 0\n    br p, even, join\neven:\n    c = and.b32 i, 2\n    \
         q = setp.eq.u32 c, 0\n    br q, fours, twos\nfours:\n    v = activemask\n    br inner\ntwos:\n    \
         v = activemask\n    br inner\ninner:\n    w = activemask\n    v = xor.b32 v, w\n    br join\njoin:\n    \
         u = activemask\n    v = xor.b32 v, u\n    st.global.u32 r[i], v\n    ret\n",
    );
    let (fours, twos, all) = (0x1111_1111u64, 0x4444_4444u64, 0xFFFF_FFFFu64);
    let inner = |own: u64| own ^ (fours | twos) ^ all;
    let expected: Vec<u64> = (0..32).map(|i| [inner(fours), all, inner(twos), all][i % 4]).collect();
    assert_eq!(outcome.buffer("r"), expected);
}

/// One warp's lanes: which exist, which are active, and what each holds.
struct Warp {
    size: u32,
    active: Vec<bool>,
    /// Operands by lane.
    operands: Vec<Vec<u64>>,
    /// Member masks by lane; all ones where the opcode has none.
    members: Vec<u64>,
}

impl Warp {
    /// The lanes that a lane works with.
    fn members(&self, lane: usize) -> Vec<usize> {
        (0..self.active.len()).filter(|&other| self.active[other] && self.members[lane] >> other & 1 == 1).collect()
    }
}

/// Runs `operation`, which assigns `$` from `a`, `b`, `c` (words), `p` (a predicate, whether `a` is
/// odd) and `m` (a member mask), for blocks of warps of every size with drawn operands and active
/// lanes, and compares each lane with the reference. Lanes that are not active keep 77.
fn check(operation: &str, member_masks: bool, reference: impl Fn(&Warp, usize) -> u64) {
    let mut draws = Draws::new(operation.len() as u64);
    for (size, threads) in [(32u32, 32usize), (32, 80), (16, 16), (16, 40), (8, 8), (8, 20)] {
        let column = |draws: &mut Draws, kind: u32| -> Vec<u64> {
            let value = |draws: &mut Draws| match kind {
                0 => draws.bits() % 6,
                1 => draws.bits() % 40,
                // A clamp and a segment, in the form of PTX's third operand: aligned segments, or whatever.
                2 => [0x1F, 0, 0x1C1F, 0x1800, 0x1807, 0x0F, 0x101F, 0x0303][(draws.bits() % 8) as usize],
                3 => u64::from(!draws.bits().is_multiple_of(4)),
                // The group that a lane belongs to.
                _ => draws.bits() % 3,
            };
            (0..threads).map(|_| value(draws)).collect()
        };
        let mut columns: Vec<Vec<u64>> = (0..5).map(|kind| column(&mut draws, kind)).collect();
        columns[4] = partition(&columns[3], &columns[4], size as usize);
        let list = |values: &[u64]| values.iter().map(|v| (v & 0xFFFF_FFFF).to_string()).collect::<Vec<_>>().join(", ");
        let buffer =
            |name: &str, at: usize| format!("    {name} = buffer u32[{threads}] {{ {} }}\n", list(&columns[at]));
        let source = format!(
            "kernel k(x: ptr.global, y: ptr.global, z: ptr.global, on: ptr.global, masks: ptr.global, r: ptr.global) \
             {{\n\
             entry:\n    i = mov.u32 %tid\n    a = ld.global.u32 x[i]\n    b = ld.global.u32 y[i]\n    \
             c = ld.global.u32 z[i]\n    m = ld.global.u32 masks[i]\n    o = ld.global.u32 on[i]\n    \
             odd = and.b32 a, 1\n    p = setp.eq.u32 odd, 1\n    q = setp.ne.u32 o, 0\n    v = mov.u32 77\n    \
             {}    st.global.u32 r[i], v\n    exit\n}}\n\
             launch k {{\n    warp {size}\n    block {threads}\n{}{}{}{}{}    r = buffer u32[{threads}] const 0\n}}\n",
            operation
                .lines()
                .map(|line| format!("@q {}\n    ", line.replace('$', "v")))
                .collect::<String>()
                .trim_start(),
            buffer("x", 0),
            buffer("y", 1),
            buffer("z", 2),
            buffer("on", 3),
            buffer("masks", 4),
        );
        let outcome = run(&source);
        let found = outcome.buffer("r");
        for first in (0..threads).step_by(size as usize) {
            let lanes = first..(first + size as usize).min(threads);
            let warp = Warp {
                size,
                active: lanes.clone().map(|at| columns[3][at] != 0).collect(),
                operands: lanes.clone().map(|at| vec![columns[0][at], columns[1][at], columns[2][at]]).collect(),
                members: lanes.clone().map(|at| if member_masks { columns[4][at] } else { u64::MAX }).collect(),
            };
            for lane in 0..lanes.len() {
                let expected = if warp.active[lane] { reference(&warp, lane) } else { 77 };
                assert_eq!(found[first + lane], expected, "`{operation}`, lane {lane} of {size}, warp from {first}");
            }
        }
    }
}

/// The member mask of each thread: the lanes of its warp that are active and in its group, and those that do not exist.
fn partition(active: &[u64], groups: &[u64], size: usize) -> Vec<u64> {
    let mask = |thread: usize| {
        let lanes = thread / size * size..(thread / size * size + size).min(groups.len());
        let missing = (lanes.len()..32).fold(0, |mask, lane| mask | 1 << lane);
        let alike = lanes.clone().filter(|&other| active[other] != 0 && groups[other] == groups[thread]);
        missing | mask_of(alike.map(|other| other - lanes.start))
    };
    (0..groups.len()).map(mask).collect()
}

fn mask_of(lanes: impl Iterator<Item = usize>) -> u64 {
    lanes.fold(0, |mask, lane| mask | 1 << lane)
}

#[test]
fn votes() {
    for (sync, masks) in [("", false), (".sync", true)] {
        let m = if masks { ", m" } else { "" };
        let odd = |warp: &Warp, lane: usize| warp.operands[lane][0] % 2 == 1;
        check(&format!("t = vote{sync}.all.pred p{m}\n$ = selp.u32 1, 0, t"), masks, |warp, lane| {
            u64::from(warp.members(lane).into_iter().all(|other| odd(warp, other)))
        });
        check(&format!("t = vote{sync}.any.pred p{m}\n$ = selp.u32 1, 0, t"), masks, |warp, lane| {
            u64::from(warp.members(lane).into_iter().any(|other| odd(warp, other)))
        });
        check(&format!("t = vote{sync}.uni.pred p{m}\n$ = selp.u32 1, 0, t"), masks, |warp, lane| {
            let members = warp.members(lane);
            let odd_ones = members.iter().filter(|&&other| odd(warp, other)).count();
            u64::from(odd_ones == 0 || odd_ones == members.len())
        });
        check(&format!("$ = vote{sync}.ballot.b32 p{m}"), masks, |warp, lane| {
            mask_of(warp.members(lane).into_iter().filter(|&other| odd(warp, other)))
        });
        check(&format!("$ = vote{sync}.ballot.b32 !p{m}"), masks, |warp, lane| {
            mask_of(warp.members(lane).into_iter().filter(|&other| !odd(warp, other)))
        });
    }
    check("$ = activemask", false, |warp, lane| mask_of(warp.members(lane).into_iter()));
}

#[test]
fn matches() {
    let value = |warp: &Warp, lane: usize| warp.operands[lane][0];
    let equal = |warp: &Warp, lane: usize| {
        mask_of(warp.members(lane).into_iter().filter(|&other| value(warp, other) == value(warp, lane)))
    };
    let all = |warp: &Warp, lane: usize| {
        let members = warp.members(lane);
        members.iter().all(|&other| value(warp, other) == value(warp, members[0]))
    };
    for (sync, masks) in [("", false), (".sync", true)] {
        let m = if masks { ", m" } else { "" };
        check(&format!("$ = match.any{sync}.b32 a{m}"), masks, equal);
        let wide = "w = cvt.u64.u32 a\nw = shl.b64 w, 32\n";
        check(&format!("{wide}$ = match.any{sync}.b64 w{m}"), masks, equal);
        check(&format!("$ = match.all{sync}.b32 a{m}"), masks, |warp, lane| {
            if all(warp, lane) { mask_of(warp.members(lane).into_iter()) } else { 0 }
        });
        check(&format!("{{t, e}} = match.all{sync}.b32 a{m}\n$ = selp.u32 1, 0, e"), masks, |warp, lane| {
            u64::from(all(warp, lane))
        });
        // Equal values everywhere.
        check(&format!("f = mov.u32 5\n$ = match.all{sync}.b32 f{m}"), masks, |warp, lane| {
            mask_of(warp.members(lane).into_iter())
        });
    }
}

/// Every operation on every type that it has.
#[test]
fn reductions() {
    let values = |warp: &Warp, lane: usize| -> Vec<u32> {
        // As the program: a few numbers of either sign.
        warp.members(lane).into_iter().map(|other| (warp.operands[other][0] as u32).wrapping_sub(3)).collect()
    };
    let signed = |values: Vec<u32>| values.into_iter().map(|value| value as i32);
    for (sync, masks) in [("", false), (".sync", true)] {
        let m = if masks { ", m" } else { "" };
        let check = |operation: &str, reference: &dyn Fn(Vec<u32>) -> u32| {
            check(&format!("f = sub.u32 a, 3\n$ = redux{sync}.{operation} f{m}"), masks, |warp, lane| {
                u64::from(reference(values(warp, lane)))
            });
        };
        for ty in ["u32", "s32"] {
            check(&format!("add.{ty}"), &|values| values.into_iter().fold(0, u32::wrapping_add));
        }
        check("min.u32", &|values| values.into_iter().min().unwrap_or(u32::MAX));
        check("max.u32", &|values| values.into_iter().max().unwrap_or(0));
        check("min.s32", &|values| signed(values).min().unwrap_or(i32::MAX) as u32);
        check("max.s32", &|values| signed(values).max().unwrap_or(i32::MIN) as u32);
        for ty in ["b32", "u32", "s32"] {
            check(&format!("and.{ty}"), &|values| values.into_iter().fold(u32::MAX, |all, value| all & value));
            check(&format!("or.{ty}"), &|values| values.into_iter().fold(0, |all, value| all | value));
            check(&format!("xor.{ty}"), &|values| values.into_iter().fold(0, |all, value| all ^ value));
        }
    }
}

/// The manual's definition: the lane asked, and whether it lies inside.
fn source_of(mode: &str, lane: i64, amount: i64, control: i64) -> (i64, bool) {
    let (clamp, segment) = (control & 31, control >> 8 & 31);
    let last = (lane & segment) | (clamp & !segment & 31);
    let first = lane & segment;
    let (source, inside) = match mode {
        "up" => (lane - amount, lane - amount >= last),
        "down" => (lane + amount, lane + amount <= last),
        "bfly" => (lane ^ amount, lane ^ amount <= last),
        _ => {
            let source = first | (amount & !segment & 31);
            (source, source <= last)
        }
    };
    (if inside { source } else { lane }, inside)
}

#[test]
fn shuffles() {
    for mode in ["idx", "up", "down", "bfly"] {
        for (sync, masks) in [("", false), (".sync", true)] {
            let m = if masks { ", m" } else { "" };
            let asked = |warp: &Warp, lane: usize| {
                let operands = &warp.operands[lane];
                let (source, inside) = source_of(mode, lane as i64, (operands[1] & 31) as i64, operands[2] as i64);
                // No lane of a smaller warp lies beyond its end.
                if source < i64::from(warp.size) { (source as usize, inside) } else { (lane, false) }
            };
            let value = |warp: &Warp, lane: usize| {
                let (source, _) = asked(warp, lane);
                let asks = if warp.members(lane).contains(&source) { source } else { lane };
                warp.operands[asks][0]
            };
            check(&format!("$ = shfl{sync}.{mode}.b32 a, b, c{m}"), masks, value);
            check(
                &format!("{{t, e}} = shfl{sync}.{mode}.b32 a, b, c{m}\n$ = selp.u32 1, 0, e"),
                masks,
                |warp, lane| u64::from(asked(warp, lane).1),
            );
        }
        // Without the third operand: the whole warp.
        check(&format!("$ = shfl.{mode}.b32 a, b"), false, |warp, lane| {
            let clamp = if mode == "up" { 0 } else { i64::from(warp.size) - 1 };
            let (source, _) = source_of(mode, lane as i64, (warp.operands[lane][1] & 31) as i64, clamp);
            let source = source as usize;
            warp.operands[if warp.members(lane).contains(&source) { source } else { lane }][0]
        });
    }
}

/// The idiom of warp-aggregated atomics: lanes that want the same counter find each other, the lowest adds for all of
/// them, and each takes its place behind it.
#[test]
fn groups_of_lanes_work_under_masks_of_their_own() {
    let outcome = run_blocks(
        "    shared count: u32[4]",
        "    key = and.b32 i, 3\n    peers = match.any.sync.b32 key, 0xFFFFFFFF\n    before = mov.u32 \
         %lanemask_lt\n    mine = and.b32 peers, before\n    \
         rank = popc.b32 mine\n    leads = setp.eq.u32 rank, 0\n    size = popc.b32 peers\n    \
         @leads old = atom.shared.add.u32 count[key], size\n    low = brev.b32 peers\n    leader = clz.b32 low\n    \
         base = shfl.sync.idx.b32 old, leader, 31, peers\n    place = add.u32 base, rank\n    \
         place = mad.u32 key, 100, place\n    st.global.u32 r[i], place\n    ret\n",
    );
    let expected: Vec<u64> = (0..32).map(|i| 100 * (i % 4) + i / 4).collect();
    assert_eq!(outcome.buffer("r"), expected);
}

#[test]
fn a_warps_sum_by_shuffles() {
    for size in [8u32, 16, 32] {
        let mut steps = String::new();
        let mut distance = size / 2;
        while distance > 0 {
            steps += &format!("    t = shfl.sync.down.b32 v, {distance}, 31, 0xFFFFFFFF\n    v = add.u32 v, t\n");
            distance /= 2;
        }
        let source = format!(
            "kernel k(r: ptr.global) {{\nentry:\n    w = mov.u32 %warpid\n    v = mov.u32 %tid\n{steps}    \
             p = setp.eq.u32 %laneid, 0\n    @p st.global.u32 r[w], v\n    exit\n}}\nlaunch k {{\n    warp \
             {size}\n    block {}\n    \
             r = buffer u32[3] const 0\n}}\n",
            3 * size
        );
        let size = u64::from(size);
        let expected: Vec<u64> = (0..3).map(|warp| (warp * size..(warp + 1) * size).sum()).collect();
        assert_eq!(run(&source).buffer("r"), expected, "{size} lanes");
    }
}

/// Three warps take turns: a barrier for two of them by number, then one for all, again and again.
#[test]
fn barriers_by_number_and_count() {
    let outcome = run(
        "kernel k(r: ptr.global) {\n    shared t: u32[96]\nentry:\n    i = mov.u32 %tid\n    w = mov.u32 %warpid\n    \
         s = mov.u32 0\n    round = mov.u32 0\n    p = setp.lt.u32 w, 2\n    br again\nagain:\n    v = add.u32 i, \
         round\n    \
         st.shared.u32 t[i], v\n    br p, pair, all\npair:\n    bar.sync 3, 64\n    j = xor.b32 i, 32\n    \
         o = ld.shared.u32 t[j]\n    s = add.u32 s, o\n    br all\nall:\n    bar.sync\n    j = sub.u32 95, i\n    \
         o = ld.shared.u32 t[j]\n    s = add.u32 s, o\n    bar.sync 0\n    round = add.u32 round, 1\n    \
         more = setp.lt.u32 round, 5\n    br more, again, done\ndone:\n    st.global.u32 r[i], s\n    exit\n}\n\
         launch k {\n    block 96\n    r = buffer u32[96] const 0\n}\n",
    );
    let sum = |i: u64| (0..5).map(|round| (95 - i) + round + if i < 64 { (i ^ 32) + round } else { 0 }).sum::<u64>();
    assert_eq!(outcome.buffer("r"), (0..96).map(sum).collect::<Vec<u64>>());
}

/// Checks reductions of all threads at a barrier: of several blocks, of the last warp's few lanes,
/// of a barrier for some warps only, one answer after the other.
#[test]
fn barriers_that_ask_all_threads() {
    let outcome =
        run("kernel k(x: ptr.global, n: ptr.global, a: ptr.global, o: ptr.global, h: ptr.global) {\nentry:\n    \
         i = mad.u32 %ctaid, %ntid, %tid\n    v = ld.global.u32 x[i]\n    p = setp.ge.u32 v, 1\n    \
         c = bar.red.popc.u32 p\n    d = bar.red.popc !p, 0\n    e = mad.u32 d, 1000, c\n    \
         st.global.u32 n[i], e\n    s = mov.u32 0\n    t = mov.u32 0\n    b = mov.u32 0\n    br again\nagain:\n    \
         q = setp.ge.u32 v, b\n    w = bar.red.and.pred q, 2\n    u = bar.red.or.pred q, 2\n    \
         f = selp.u32 1, 0, w\n    s = add.u32 s, f\n    f = selp.u32 1, 0, u\n    t = add.u32 t, f\n    \
         b = add.u32 b, 1\n    more = setp.lt.u32 b, 6\n    br more, again, done\ndone:\n    \
         st.global.u32 a[i], s\n    st.global.u32 o[i], t\n    low = setp.lt.u32 %warpid, 2\n    \
         br low, half, end\nhalf:\n    g = bar.red.popc p, 7, 64\n    st.global.u32 h[i], g\n    br end\nend:\n    \
         exit\n}\nlaunch k {\n    grid 3\n    block 84\n    x = buffer u32[252] random(0, 4)\n    \
         n = buffer u32[252] const 0\n    a = buffer u32[252] const 0\n    o = buffer u32[252] const 0\n    \
         h = buffer u32[252] const 0\n}\n");
    for block in 0..3 {
        let all = 84 * block..84 * (block + 1);
        let values = &outcome.buffer("x")[all.clone()];
        let count = |values: &[u64]| values.iter().filter(|&&value| value >= 1).count() as u64;
        let (least, most) = (values.iter().min().copied(), values.iter().max().copied());
        let rounds = |value: Option<u64>| value.map_or(0, |value| value + 1);
        let (some, none) = (count(values), 84 - count(values));
        for i in all.clone() {
            assert_eq!(outcome.buffer("n")[i], 1000 * none + some, "thread {i}");
            assert_eq!((outcome.buffer("a")[i], outcome.buffer("o")[i]), (rounds(least), rounds(most)), "thread {i}");
            let half = if i < all.start + 64 { count(&values[..64]) } else { 0 };
            assert_eq!(outcome.buffer("h")[i], half, "thread {i}");
        }
    }
}
