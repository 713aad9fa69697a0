//! Values of buffers, textures, scalars and inputs in launches, sentence by sentence of the language page: kinds of
//! values, zero probability, coherence, seeds; special registers; the hash of the result.

use super::operands::width;
use super::{Outcome, run, try_run};
use warpscope_core::sim::ErrorKind;

/// The elements of a buffer that is only looked at.
fn elements(ty: &str, len: usize, values: &str, settings: &[&str]) -> Vec<u64> {
    let source = format!(
        "kernel k(x: ptr.global) {{\nentry:\n    exit\n}}\nlaunch k {{\n    x = buffer {ty}[{len}] {values}\n}}\n"
    );
    try_run(&source, settings).unwrap_or_else(|error| panic!("{error}\n{source}")).buffer("x").to_vec()
}

fn floats(ty: &str, bits: &[u64]) -> Vec<f64> {
    let value = |&bits: &u64| match ty {
        "f64" => f64::from_bits(bits),
        "f32" => f32::from_bits(bits as u32).into(),
        _ => f32::from_bits(super::exact::convert(
            super::exact::F16,
            super::exact::F32,
            bits,
            super::exact::Direction::Nearest,
        ) as u32)
        .into(),
    };
    bits.iter().map(value).collect()
}

fn integers(ty: &str, bits: &[u64]) -> Vec<i128> {
    let unused = 64 - width(ty);
    let value = |&bits: &u64| -> i128 {
        if ty.starts_with('s') { ((bits << unused) as i64 >> unused).into() } else { bits.into() }
    };
    bits.iter().map(value).collect()
}

#[test]
fn numbers_in_order_the_same_number_and_lists() {
    for ty in ["u8", "s16", "u32", "s64", "b16"] {
        assert_eq!(elements(ty, 100, "iota", &[]), (0..100).collect::<Vec<u64>>(), "{ty}");
    }
    assert_eq!(elements("u8", 300, "iota", &[])[299], 299 % 256, "a narrow type wraps");
    for ty in ["f16", "f32", "f64"] {
        let numbers = floats(ty, &elements(ty, 100, "iota", &[]));
        assert_eq!(numbers, (0..100).map(f64::from).collect::<Vec<f64>>());
        assert_eq!(floats(ty, &elements(ty, 4, "const -2.5", &[])), [-2.5; 4]);
    }
    assert_eq!(integers("s32", &elements("s32", 3, "const -7", &[])), [-7; 3]);
    assert_eq!(elements("b64", 2, "const 0xFFFFFFFFFFFFFFFF", &[]), [u64::MAX; 2]);
    assert_eq!(elements("f32", 2, "const 0f40490FDB", &[]), [0x4049_0FDB; 2]);
    assert_eq!(elements("f32", 1, "const nan", &[]), [0x7FFF_FFFF]);
    assert_eq!(elements("f32", 1, "const 0fFFC00001", &[]), [0xFFC0_0001], "a NaN keeps its bits");
    assert_eq!(elements("u32", 5, "{ 9, 8, 7 }", &[]), [9, 8, 7, 0, 0], "zeros behind a list");
}

#[test]
fn random_integers_take_every_value_of_both_ends() {
    for (ty, low, high) in [("s32", -3, 3), ("u8", 250, 255), ("s8", -128, -125), ("u64", 7, 7), ("s16", -1, 1)] {
        let drawn = integers(ty, &elements(ty, 2000, &format!("random({low}, {high})"), &[]));
        for value in low..=high {
            let count = drawn.iter().filter(|&&element| element == value).count() as i128;
            let expected = 2000 / (high - low + 1);
            assert!((count - expected).abs() <= expected / 4, "{value} of {ty}: {count}, expected about {expected}");
        }
        assert!(drawn.iter().all(|element| (low..=high).contains(element)), "{ty}");
    }
    let whole = elements("u64", 2000, "random(0, 18446744073709551615)", &[]);
    let large = whole.iter().filter(|&&element| element >> 63 == 1).count();
    assert!((850..=1150).contains(&large), "{large} of 2000 in the upper half");
}

#[test]
fn random_floats_reach_the_lower_end_and_not_the_upper() {
    for ty in ["f16", "f32", "f64"] {
        let drawn = floats(ty, &elements(ty, 2000, "random(-1, 3)", &[]));
        assert!(drawn.iter().all(|value| (-1.0..3.0).contains(value)), "{ty}");
        let mean = drawn.iter().sum::<f64>() / 2000.0;
        assert!((mean - 1.0).abs() < 0.1, "{ty}: {mean}");
    }
    // Only two numbers of f16 lie in the range: rounding would reach its end.
    let few = floats("f16", &elements("f16", 500, "random(2048, 2052)", &[]));
    assert!(few.iter().all(|value| [2048.0, 2050.0].contains(value)));
    assert!(few.contains(&2048.0) && few.contains(&2050.0));
    // The distance of the ends is no number.
    let wide = floats("f64", &elements("f64", 500, "random(-1.5e308, 1.5e308)", &[]));
    assert!(wide.iter().all(|value| value.is_finite()));
    assert!(wide.iter().any(|value| *value < -1e307) && wide.iter().any(|value| *value > 1e307));
}

#[test]
fn an_element_is_zero_with_the_probability_that_is_said() {
    for (values, ty) in [("random(1, 9)", "u32"), ("const 5", "s64"), ("random(1, 2)", "f32"), ("true 1", "u8")] {
        for probability in [0.0, 0.25, 0.9, 1.0] {
            let drawn = elements(ty, 4000, &format!("{values} zero {probability:?}"), &[]);
            let share = drawn.iter().filter(|&&element| element == 0).count() as f64 / 4000.0;
            let exact = probability == 0.0 || probability == 1.0;
            assert!(
                (share - probability).abs() < if exact { 1e-9 } else { 0.03 },
                "{values}: {share}, not {probability}"
            );
        }
    }
    let ones = elements("u32", 4000, "true 0.3", &[]).iter().sum::<u64>();
    assert!((1080..=1320).contains(&ones), "{ones} of 4000 are 1, expected about 1200");
}

/// With probability c an aligned group of one warp's elements shares one draw, what is zero included.
#[test]
fn groups_share_a_draw_with_the_coherence_that_is_said() {
    for warp in [8usize, 16, 32] {
        let setting = format!("warp={warp}");
        for coherence in [0.0, 0.5, 1.0] {
            let drawn = elements(
                "u32",
                256 * warp,
                &format!("random(1, 1000000) zero 0.5 coherence {coherence:?}"),
                &[&setting],
            );
            let shared = drawn.chunks(warp).filter(|group| group.iter().all(|element| element == &group[0])).count();
            let share = shared as f64 / 256.0;
            // Eight lanes that draw by themselves are all zero in one group of 256.
            assert!((share - coherence).abs() < if coherence == 0.5 { 0.12 } else { 0.03 }, "{warp}: {share}");
            let zeros = drawn.iter().filter(|&&element| element == 0).count() as f64 / drawn.len() as f64;
            assert!((zeros - 0.5).abs() < 0.12, "coherence leaves the probability of zero: {zeros}");
        }
    }
    // What is no draw is not shared.
    assert_eq!(elements("u32", 64, "iota coherence 1", &[]), (0..64).collect::<Vec<u64>>());
}

#[test]
fn settings_override_what_the_launch_says() {
    let with = |settings: &[&str]| elements("u32", 64, "random(1, 9) zero 0.5", settings);
    assert_eq!(with(&["x.zero=1"]), [0; 64]);
    assert!(with(&["x.zero=0"]).iter().all(|&element| element > 0));
    assert_eq!(with(&["x=7", "x.zero=0"]), [7; 64]);
    assert_eq!(with(&["x.true=1", "x.zero=0"]), [1; 64]);
    assert_eq!(with(&["x.zero=0", "x.zero=1"]), [0; 64], "the last one holds");
    let source = "kernel k(n: u32, x: ptr.global) {\nentry:\n    st.global.u32 x[0], n\n    exit\n}\n\
                  launch k {\n    n = 3\n    x = buffer u32[1] const 0\n}\n";
    assert_eq!(try_run(source, &["n=12"]).expect("it runs").buffer("x"), [12]);
    for refused in ["n.zero=0.5", "n.coherence=1", "n.true=0.5", "y=1", "y.zero=0.5"] {
        let error = try_run(source, &[refused]).err().unwrap_or_else(|| panic!("`{refused}` was taken"));
        assert_eq!(error.kind, ErrorKind::Launch);
        let name = refused.split(['.', '=']).next().expect("a name");
        assert!(error.message.contains(&format!("`{name}`")), "{error}");
    }
}

#[test]
fn buffers_depend_on_the_seed_and_their_place_alone() {
    let plain = elements("u32", 256, "random(0, 4294967295)", &[]);
    assert_eq!(
        plain,
        elements("u32", 256, "random(0, 4294967295)", &["seed=0"]),
        "the seed is 0 where nothing says it"
    );
    assert_ne!(plain, elements("u32", 256, "random(0, 4294967295)", &["seed=1"]));
    assert_eq!(plain[..100], elements("u32", 100, "random(0, 4294967295)", &[])[..], "the length is no matter");
    let two = run("kernel k(a: ptr.global, b: ptr.global) {\nentry:\n    exit\n}\nlaunch k {\n    seed 5\n    \
                   #1 = buffer u32[64] random(0, 4294967295)\n    a = buffer u32[64] random(0, 4294967295)\n}\n");
    assert_ne!(two.buffer("a"), two.buffer("b"), "two parameters draw by themselves");
    assert_eq!(two.buffer("a"), elements("u32", 64, "random(0, 4294967295)", &["seed=5"]), "names are no matter");
}

/// Pins values that links must reopen unchanged.
#[test]
fn draws_stay_what_they_are() {
    fn mix(mut z: u64) -> u64 {
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }
    let hash = |words: &[u64]| {
        words.iter().fold(0x9E37_79B9_7F4A_7C15u64, |state, word| mix(state ^ word).wrapping_add(0x9E37_79B9_7F4A_7C15))
    };
    let key = hash(&[42, 0]);
    let expected: Vec<u64> = (0..32).map(|at| hash(&[key, 3, at, 0])).collect();
    assert_eq!(elements("u64", 32, "random(0, 18446744073709551615)", &["seed=42"]), expected);
    let name = "x".bytes().fold(hash(&[]), |state, byte| hash(&[state, byte.into()]));
    let key = hash(&[42, name]);
    // The second draw of a thread stands at place 2.
    let expected: Vec<u64> = (0..32).map(|thread| hash(&[key, 3, thread, 2])).collect();
    let second =
        run("kernel k(r: ptr.global) {\n    input x: u64\nentry:\n    i = mov.u32 %tid\n    v = in.u64 x\n    \
                      v = in.u64 x\n    st.global.u64 r[i], v\n    exit\n}\nlaunch k {\n    seed 42\n    block 32\n    \
                      x = draws random(0, 18446744073709551615)\n    r = buffer u64[32] const 0\n}\n");
    assert_eq!(second.buffer("r"), expected);
}

const DRAWS: &str = "kernel k(r: ptr.global, u: ptr.global) {\n    input x: u32\n    input y: u32 uniform\nentry:\n    \
     i = mad.u32 %ctaid, %ntid, %tid\n    v = in.u32 x\n    w = in.u32 y\n    st.global.u32 r[i], v\n    \
     st.global.u32 u[i], w\n    ret\n}\nlaunch k {\n    grid 64\n    block 64\n    x = draws random(1, 1000000)\n    \
     y = draws random(1, 1000000)\n    r = buffer u32[4096] const 0\n    u = buffer u32[4096] const 0\n}\n";

fn draws(source: &str, settings: &[&str]) -> Outcome {
    try_run(source, settings).unwrap_or_else(|error| panic!("{error}\n{source}"))
}

#[test]
fn draws_depend_on_seed_input_thread_and_number_alone() {
    let r = |source: &str, settings: &[&str]| draws(source, settings).buffer("r").to_vec();
    let plain = r(DRAWS, &[]);
    assert_eq!(plain, r(DRAWS, &["l1=off"]));
    assert_eq!(plain, r(DRAWS, &["warp=8"]), "threads, not lanes");
    assert_eq!(plain, r(DRAWS, &["grid=32", "block=128"]), "threads, not blocks");
    assert_ne!(plain, r(DRAWS, &["seed=1"]));
    assert_eq!(r(DRAWS, &["seed=1"]), r(&DRAWS.replace("    grid 64", "    seed 1\n    grid 64"), &[]));
    // Another input that is drawn, too, changes nothing.
    let more = DRAWS.replace("    v = in.u32 x\n", "    z = in.u32 other\n    v = in.u32 x\n");
    assert_eq!(plain, r(&more.replace("    input x", "    input other: u32\n    input x"), &[]));
    // Another order of execution: the draw stands on two sides of a divergent branch.
    let sides = DRAWS.replace(
        "    v = in.u32 x\n",
        "    b = and.b32 i, 1\n    p = setp.eq.u32 b, 0\n    br p, even, odd\neven:\n    v = in.u32 x\n    br \
         on\nodd:\n    \
         v = in.u32 x\n    br on\non:\n",
    );
    assert_eq!(plain, r(&sides, &[]));
    // A draw under a guard is made by the lanes for which it holds, and only those are one further.
    let guarded = DRAWS.replace(
        "    v = in.u32 x\n",
        "    b = and.b32 i, 1\n    p = setp.eq.u32 b, 0\n    v = mov.u32 0\n    @p v = in.u32 x\n    v = in.u32 x\n",
    );
    let guarded = r(&guarded, &[]);
    let twice = r(&DRAWS.replace("    v = in.u32 x\n", "    v = in.u32 x\n    v = in.u32 x\n"), &[]);
    for (at, value) in guarded.iter().enumerate() {
        assert_eq!(*value, if at % 2 == 0 { twice[at] } else { plain[at] }, "thread {at}");
    }
}

#[test]
fn uniform_inputs_and_the_knobs_of_the_others() {
    let outcome = run(DRAWS);
    assert!(outcome.buffer("u").windows(2).all(|pair| pair[0] == pair[1]), "one value for all threads");
    let half = draws(DRAWS, &["x.zero=0.5"]);
    let zeros = half.buffer("r").iter().filter(|&&value| value == 0).count();
    assert!((1850..=2250).contains(&zeros), "{zeros} of 4096, expected about half");
    assert_eq!(draws(DRAWS, &["x=3"]).buffer("r"), [3; 4096]);
    for warp in [8usize, 16, 32] {
        let size = format!("warp={warp}");
        let coherent = draws(DRAWS, &["x.coherence=1", &size]);
        let groups = |outcome: &Outcome| -> usize {
            outcome.buffer("r").chunks(warp).filter(|group| group.iter().all(|value| *value == group[0])).count()
        };
        assert_eq!(groups(&coherent), 4096 / warp, "a warp shares its draw");
        assert!(coherent.buffer("r").chunks(warp).any(|group| group[0] != coherent.buffer("r")[0]), "its own draw");
        let share = groups(&draws(DRAWS, &["x.coherence=0.5", &size])) as f64 * warp as f64 / 4096.0;
        assert!((share - 0.5).abs() < 0.13, "{share} of the warps of {warp} share");
    }
}

/// Each draw number of a warp is shared or not by itself.
#[test]
fn coherence_of_draws_is_by_warp_and_number() {
    let source = "kernel k(r: ptr.global) {\n    input p: pred\nentry:\n    i = mov.u32 %tid\n    k = mov.u32 0\n    \
                  w = mov.u32 0\n    br again\nagain:\n    q = in.pred p\n    v = vote.uni.pred q\n    \
                  @v w = add.u32 w, 1\n    k = add.u32 k, 1\n    more = setp.lt.u32 k, 400\n    br more, again, done\n\
                  done:\n    st.global.u32 r[i], w\n    exit\n}\n\
                  launch k {\n    block 64\n    p = draws true 0.5 coherence 0.75\n    r = buffer u32[64] const 0\n}\n";
    let outcome = run(source);
    for first in [0, 32] {
        let shared = outcome.buffer("r")[first];
        assert!((270..=330).contains(&shared), "{shared} of 400 draws are shared by the warp, expected about 300");
    }
    let uniform = draws(source, &["p.coherence=1"]);
    assert_eq!(uniform.buffer("r")[0], 400);
    let ones = source.replace("vote.uni.pred q", "mov.pred q");
    let drawn: u64 = draws(&ones, &["p.true=0.3"]).buffer("r").iter().sum();
    assert!((6900..=8500).contains(&drawn), "{drawn} of 25600 are true, expected about 7680");
}

/// A launch says once what an input draws; the kernel and the functions that it calls draw from one sequence.
#[test]
fn functions_draw_from_the_same_sequence() {
    let source = "func next() -> u32 {\n    input x: u32\nentry:\n    v = in.u32 x\n    ret v\n}\n\
                  kernel k(r: ptr.global) {\n    input x: u32\nentry:\n    a = in.u32 x\n    b = call next()\n    \
                  c = in.u32 x\n    st.global.u32 r[0], a\n    st.global.u32 r[1], b\n    st.global.u32 r[2], c\n    \
                  exit\n}\n\
                  launch k {\n    x = draws random(0, 1000000)\n    r = buffer u32[3] const 0\n}\n";
    let through_calls = run(source).buffer("r").to_vec();
    let by_itself = run(&source.replace("call next()", "in.u32 x")).buffer("r").to_vec();
    assert_eq!(through_calls, by_itself);
    let distinct: std::collections::BTreeSet<u64> = by_itself.into_iter().collect();
    assert_eq!(distinct.len(), 3, "each draw is another one");
    // A uniform one stays uniform in the kernel, whatever some lanes draw elsewhere.
    let uniform = run("func next() -> u32 {\n    input x: u32 uniform\nentry:\n    v = in.u32 x\n    ret v\n}\n\
                       kernel k(r: ptr.global) {\n    input x: u32 uniform\nentry:\n    i = mov.u32 %tid\n    \
                       p = setp.lt.u32 i, 5\n    @p b = call next()\n    a = in.u32 x\n    st.global.u32 r[i], a\n    \
                       exit\n}\n\
                       launch k {\n    block 32\n    x = draws random(0, 1000000)\n    r = buffer u32[32] const \
                       0\n}\n");
    assert!(uniform.buffer("r").windows(2).all(|pair| pair[0] == pair[1]));
    // Only a function declares it: the launch may say what it draws nevertheless.
    let only = run("func next() -> u32 {\n    input z: u32\nentry:\n    v = in.u32 z\n    ret v\n}\n\
                    kernel k(r: ptr.global) {\nentry:\n    b = call next()\n    st.global.u32 r[0], b\n    exit\n}\n\
                    launch k {\n    z = draws const 77\n    r = buffer u32[1] const 0\n}\n");
    assert_eq!(only.buffer("r"), [77]);
}

#[test]
fn scalars_arrays_and_pointers_get_what_is_written() {
    let outcome = run(
        "kernel k(a: s8, b: u16, c: f32, d: f64, e: f16, g: pred, n: u64, v: s16[4], p: ptr, q: u64, r: ptr.global) \
         {\nentry:\n    \
         x = cvt.s32.s8 a\n    st.global.s32 r[0], x\n    y = cvt.u32.u16 b\n    st.global.u32 r[1], y\n    \
         st.global.f32 r[2], c\n    z = cvt.rn.f32.f64 d\n    st.global.f32 r[3], z\n    w = cvt.f32.f16 e\n    \
         st.global.f32 r[4], w\n    t = selp.u32 1, 0, g\n    st.global.u32 r[5], t\n    m = cvt.u32.u64 n\n    \
         st.global.u32 r[6], m\n    o = ld.param.s16 v[1]\n    l = cvt.s32.s16 o\n    st.global.s32 r[7], l\n    \
         o = ld.param.s16 v[3]\n    l = cvt.s32.s16 o\n    st.global.s32 r[8], l\n    \
         isnull = setp.eq.u64 p, 0\n    s = selp.u32 1, 0, isnull\n    st.global.u32 r[9], s\n    \
         h = ld.global.u32 [q + 4]\n    st.global.u32 r[10], h\n    exit\n}\n\
         launch k {\n    a = -3\n    b = 65535\n    c = -1e-3\n    d = 0d4009000000000000\n    e = 0.1\n    g = 1\n    \
         n = 18446744073709551615\n    v = { -1, -2 }\n    p = 0\n    q = buffer u32[2] { 5, 6 }\n    \
         r = buffer u32[11] const 9\n}\n",
    );
    let bits = |value: f32| u64::from(value.to_bits());
    let word = |value: i32| u64::from(value as u32);
    let expected = [word(-3), 65535, bits(-1e-3), bits(3.125), bits(0.099_975_586), 1, 0xFFFF_FFFF, word(-2), 0, 1, 6];
    assert_eq!(outcome.buffer("r"), expected);
}

#[test]
fn threads_know_their_place() {
    let specials = [
        "%tid",
        "%tid.y",
        "%tid.z",
        "%ntid.x",
        "%ntid.y",
        "%ntid.z",
        "%ctaid.x",
        "%ctaid.y",
        "%ctaid.z",
        "%nctaid",
        "%nctaid.y",
        "%nctaid.z",
        "%laneid",
        "%warpid",
        "%warpsize",
    ];
    let (grid, block, warp) = ([2u64, 3, 2], [5u64, 2, 2], 8u64);
    let stores: String = specials
        .iter()
        .enumerate()
        .map(|(at, name)| format!("    v = mov.u32 {name}\n    st.global.u32 r[16*t + {at}], v\n"))
        .collect();
    let outcome = run(&format!(
        "kernel k(r: ptr.global) {{\nentry:\n    b = mad.u32 %ctaid.z, %nctaid.y, %ctaid.y\n    \
         b = mad.u32 b, %nctaid.x, %ctaid.x\n    b = mad.u32 b, %ntid.z, %tid.z\n    b = mad.u32 b, %ntid.y, \
         %tid.y\n    \
         t = mad.u32 b, %ntid.x, %tid.x\n{stores}    exit\n}}\n\
         launch k {{\n    grid 2, 3, 2\n    block 5, 2, 2\n    warp 8\n    r = buffer u32[3840] const 0\n}}\n"
    ));
    for thread in 0..240 {
        let (block_number, inside) = (thread / 20, thread % 20);
        let tid = [inside % 5, inside / 5 % 2, inside / 10];
        let ctaid = [block_number % 2, block_number / 2 % 3, block_number / 6];
        let expected: Vec<u64> =
            [tid, block, ctaid, grid].concat().into_iter().chain([inside % warp, inside / warp, warp]).collect();
        let at = 16 * thread as usize;
        assert_eq!(outcome.buffer("r")[at..at + 15], expected, "thread {thread}");
    }
}

/// FNV-1a over the buffers' bytes in parameter order, then the globals'; no names, no addresses, nothing read-only.
#[test]
fn the_hash_of_a_result() {
    let source = "const c: u32[1] = { 5 }\nglobal g: u16[2] = { 1, 2 }\nkernel k(a: ptr.global, t: tex2d, n: u32, b: \
                  ptr.global) {\nentry:\n    \
                  st.global.u32 b[0], 7\n    exit\n}\nlaunch k {\n    n = 3\n    a = buffer u8[3] { 1, 2, 3 }\n    \
                  t = texture f32[1, 1] iota\n    b = buffer u32[1] const 0\n}\n";
    let fnv = |bytes: &[u8]| {
        bytes.iter().fold(0xCBF2_9CE4_8422_2325u64, |state, &byte| {
            (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3)
        })
    };
    let expected = format!("{:016x}", fnv(&[1, 2, 3, 7, 0, 0, 0, 1, 0, 2, 0]));
    assert_eq!(run(source).result.result_hash, expected);
    assert_eq!(
        run(&source.replace("b[0]", "other[0]").replace("b:", "other:").replace("b =", "other =")).result.result_hash,
        expected
    );
}

#[test]
fn pointers_in_memory_lead_to_buffers_of_their_own() {
    let outcome = run("\
kernel k(rows: ptr.global, s: b8[16]) {
entry:
    i = mov.u32 %tid
    row = ld.global.u64 rows[i]
    a = ld.global.u32 row[i]
    b = mov.u64 s
    c = ld.param.u64 [b + 8]
    d = ld.global.u64 [c]
    st.global.u32 d[i], a
    ret
}
launch k {
    block 2
    rows = buffer u64[2] const 0
    rows[*] = buffer u32[3] iota
    s = { 1 }
    s[8] = buffer u64[1] const 0
    s[8][0] = buffer u32[2] const 9
}
");
    // Each pointer has memory of its own, named after the byte that it is at.
    assert_eq!(outcome.buffer("rows[0]"), [0, 1, 2]);
    assert_eq!(outcome.buffer("rows[8]"), [0, 1, 2]);
    assert_eq!(outcome.buffer("s[8][0]"), [0, 1]);
    let beyond = "\
kernel k(rows: ptr.global) {
entry:
    row = ld.global.u64 rows[0]
    a = ld.global.u32 row[3]
    ret
}
launch k {
    rows = buffer u64[1] const 0
    rows[0] = buffer u32[3] iota
}
";
    let error = try_run(beyond, &[]).err().expect("it reaches too far");
    assert!(error.to_string().contains("byte 12 of `rows[0]` (12 bytes)"), "{error}");
}
