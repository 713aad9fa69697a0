//! Spaces of memory, every width, vectors, speculative loads, textures, atomics of every operation and type.

use super::exact::{self, Direction, Format};
use super::operands::{Draws, width};
use super::{run, try_run};
use std::fmt::Write;

#[test]
fn shared_memory_carries_values_over_a_barrier() {
    let outcome =
        run("kernel k(r: ptr.global) {\n    shared t: u32[64]\nentry:\n    i = mov.u32 %tid\n    st.shared.u32 t[i], \
         i\n    \
         bar.sync 0\n    j = sub.u32 63, i\n    v = ld.shared.u32 t[j]\n    st.global.u32 r[i], v\n    ret\n}\n\
         launch k {\n    block 64\n    r = buffer u32[64] const 0\n}\n");
    assert_eq!(outcome.buffer("r"), (0..64).rev().collect::<Vec<u64>>());
}

#[test]
fn local_memory_is_a_lanes_own_and_constants_and_arrays_are_read() {
    let outcome = run("const c: u32[2] = { 100, 200 }\nglobal g: u32[1] = { 5 }\n\
         kernel k(a: u32[2], r: ptr.global) {\n    local own: u32[2]\nentry:\n    i = mov.u32 %tid\n    \
         st.local.u32 own[1], i\n    b = ld.const.u32 c[1]\n    d = ld.param.u32 a[1]\n    e = ld.global.u32 g[0]\n    \
         v = ld.local.u32 own[1]\n    v = add.u32 v, b\n    v = add.u32 v, d\n    v = add.u32 v, e\n    \
         st.global.u32 r[i], v\n    ret\n}\nlaunch k {\n    block 32\n    a = { 1000, 2000 }\n    \
         r = buffer u32[32] const 0\n}\n");
    assert_eq!(outcome.buffer("r"), (0..32).map(|i| i + 2205).collect::<Vec<u64>>());
}

/// Shared memory is a block's own and begins as zeros, also where a later block takes an earlier one's place.
#[test]
fn shared_memory_is_a_blocks_own_and_starts_as_zeros() {
    let outcome = run("kernel k(r: ptr.global) {\n    shared t: u32[10000]\nentry:\n    b = mov.u32 %ctaid\n    \
         v = ld.shared.u32 t[7]\n    st.shared.u32 t[7], 5\n    w = ld.shared.u32 t[7]\n    v = mad.u32 v, 100, w\n    \
         st.global.u32 r[b], v\n    exit\n}\nlaunch k {\n    grid 40\n    r = buffer u32[40] const 0\n}\n");
    assert_eq!(outcome.buffer("r"), [5; 40]);
}

#[test]
fn generic_addresses_reach_every_space() {
    let outcome = run("const c: u32[2] = { 100, 200 }\nglobal g: u32[2] = { 5, 6 }\n\
         kernel k(r: ptr.global, x: ptr, a: u32[4]) {\n    shared t: u32[32]\n    local own: u32[4]\nentry:\n    \
         i = mov.u32 %tid\n    w = mul.wide.u32 i, 4\n    pt = mov.u64 t\n    pt = cvta.shared.u64 pt\n    \
         pt = add.u64 pt, w\n    st.u32 [pt], i\n    po = mov.u64 own\n    po = cvta.local.u64 po\n    st.u32 [po + \
         8], i\n    \
         bar.sync\n    s = ld.u32 [pt]\n    l = ld.u32 [po + 8]\n    pg = mov.u64 g\n    d = ld.u32 [pg + 4]\n    \
         pc = mov.u64 c\n    e = ld.u32 [pc + 4]\n    f = ld.u32 x[i]\n    pa = mov.u64 a\n    h = ld.u32 [pa + \
         12]\n    \
         back = cvta.to.shared.u64 pt\n    n = ld.shared.u32 [back]\n    \
         v = add.u32 s, l\n    v = add.u32 v, d\n    v = add.u32 v, e\n    v = add.u32 v, f\n    v = add.u32 v, h\n    \
         v = add.u32 v, n\n    st.global.u32 r[i], v\n    exit\n}\n\
         launch k {\n    block 32\n    r = buffer u32[32] const 0\n    x = buffer u32[32] iota\n    a = { 0, 0, 0, \
         1000 }\n}\n");
    assert_eq!(outcome.buffer("r"), (0..32).map(|i| 4 * i + 1206).collect::<Vec<u64>>());
}

/// A load fills a wider register by the type's sign; a store takes the low bits.
#[test]
fn widths_and_signs_of_loads_and_stores() {
    for ty in ["b8", "u8", "s8", "b16", "u16", "s16", "b32", "u32", "s32"] {
        for wide in ["u16", "u32", "u64", "b64", "s64"] {
            if width(ty) >= width(wide) || (ty.starts_with('b') && !wide.starts_with('b')) {
                continue;
            }
            let mut draws = Draws::new(5);
            let values: Vec<u64> = (0..64).map(|_| draws.integer(width(ty))).collect();
            let list: Vec<String> = values.iter().map(u64::to_string).collect();
            let source = format!(
                "kernel k(x: ptr.global, r: ptr.global, s: ptr.global) {{\n    reg v: {wide}\nentry:\n    i = mov.u32 \
                 %tid\n    \
                 v = ld.global.{ty} x[i]\n    st.global.{wide} r[i], v\n    v = not.b{width} v\n    \
                 st.global.{ty} s[i], v\n    exit\n}}\nlaunch k {{\n    block 64\n    \
                 x = buffer b{narrow}[64] {{ {} }}\n    r = buffer b{width}[64] const 0\n    s = buffer b{narrow}[64] \
                 const 0\n}}\n",
                list.join(", "),
                width = width(wide),
                narrow = width(ty),
            );
            let outcome = run(&source);
            let mask = u64::MAX >> (64 - width(wide));
            for (at, &value) in values.iter().enumerate() {
                let unused = 64 - width(ty);
                let extended = if ty.starts_with('s') { ((value << unused) as i64 >> unused) as u64 } else { value };
                assert_eq!(outcome.buffer("r")[at], extended & mask, "{value:#x} as {ty} in {wide}");
                assert_eq!(outcome.buffer("s")[at], !value & (u64::MAX >> unused), "{ty} out of {wide}");
            }
        }
    }
}

#[test]
fn vectors_of_every_type() {
    for ty in ["b8", "u16", "s32", "b64", "f16", "f32", "f64"] {
        for count in [2u64, 4] {
            if count * u64::from(width(ty)) > 128 {
                continue;
            }
            let names = &["e0", "e1", "e2", "e3"][..count as usize];
            let backwards: Vec<&str> = names.iter().rev().copied().collect();
            let source = format!(
                "kernel k(x: ptr.global, r: ptr.global) {{\nentry:\n    i = mov.u32 %tid\n    \
                 {{{}}} = ld.global.v{count}.{ty} x[{count}*i]\n    st.global.v{count}.{ty} r[{count}*i], {{{}}}\n    \
                 exit\n}}\n\
                 launch k {{\n    block 8\n    x = buffer {ty}[32] iota\n    r = buffer {ty}[32] const 0\n}}\n",
                names.join(", "),
                backwards.join(", "),
            );
            let outcome = run(&source);
            let element = |value: u64| match ty {
                "f16" | "f32" | "f64" => exact::from_integer(Format::of(ty), value.into(), Direction::Nearest),
                _ => value,
            };
            let expected: Vec<u64> = (0..32)
                .map(
                    |at| if at < 8 * count { element(at / count * count + count - 1 - at % count) } else { element(0) },
                )
                .collect();
            assert_eq!(outcome.buffer("r"), expected, "v{count}.{ty}");
        }
    }
}

#[test]
fn speculative_loads_never_fault() {
    let outcome = run(
        "global g: u32[2] = { 8, 9 }\nkernel k(x: ptr.global, r: ptr.global) {\n    shared t: u32[2]\nentry:\n    \
         a = ld.global.spec.u32 x[7]\n    b = ld.global.spec.u32 x[8]\n    c = ld.global.spec.u32 x[-1]\n    \
         d = ld.global.spec.u32 x[1000000000]\n    e = ld.global.spec.u32 [x + 2]\n    f = ld.spec.u32 [16]\n    \
         h = ld.shared.spec.u32 t[2]\n    p = mov.u64 t\n    n = ld.global.spec.u32 [p]\n    \
         {v, w} = ld.global.spec.v2.u32 [x + 28]\n    \
         st.global.v4.u32 r[0], {a, b, c, d}\n    st.global.v4.u32 r[4], {e, f, h, n}\n    \
         st.global.v2.u32 r[8], {v, w}\n    exit\n}\n\
         launch k {\n    x = buffer u32[8] iota\n    r = buffer u32[10] const 9\n}\n",
    );
    assert_eq!(outcome.buffer("r"), [7, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
}

/// Arithmetic and conversions between float types yield one NaN, whatever is then done with it.
#[test]
fn arithmetic_yields_one_nan() {
    let outcome = run("func same(v: f32) -> b32 {\nentry:\n    b = mov.b32 v\n    ret b\n}\n\
         kernel k(x: ptr.global, r: ptr.global, w: ptr.global) {\n    shared t: f32[1]\nentry:\n    \
         f = ld.global.f32 x[0]\n    n = neg.f32 f\n    c = mov.b32 n\n    st.global.b32 r[0], c\n    \
         s = shfl.idx.b32 n, 0, 31\n    st.global.b32 r[1], s\n    h = call same(n)\n    st.global.b32 r[2], h\n    \
         y = add.f32 n, 1.0\n    st.shared.f32 t[0], y\n    z = ld.shared.b32 t[0]\n    st.global.b32 r[3], z\n    \
         o = sub.f32 inf, inf\n    q = and.b32 o, 0xFFFFFFFF\n    st.global.b32 r[4], q\n    \
         old = atom.global.exch.f32 x[1], n\n    after = ld.global.b32 x[1]\n    st.global.b32 r[5], after\n    \
         f = abs.f32 f\n    st.global.f32 r[6], f\n    f = ld.global.f32 x[0]\n    f = max.f32 f, f\n    \
         st.global.f32 r[7], f\n    red.global.add.f32 x[2], 1.0\n    sum = ld.global.b32 x[2]\n    st.global.b32 \
         r[8], sum\n    \
         a = mul.f32 f, 1.0\n    p = setp.eq.u32 %laneid, 0\n    b = selp.f32 a, 1.0, p\n    m = mov.f32 b\n    \
         st.global.f32 r[9], m\n    g = cvt.f64.f32 n\n    st.global.f64 w[0], g\n    u = cvt.f16.f32 f\n    \
         st.global.f16 w[4], u\n    exit\n}\n\
         launch k {\n    x = buffer b32[3] { 0xFFC12345, 0, 0xFF812345 }\n    \
         r = buffer b32[10] const 0\n    w = buffer b64[2] const 0\n}\n");
    assert_eq!(outcome.buffer("r"), [0x7FFF_FFFF; 10]);
    assert_eq!(outcome.buffer("w"), [0x7FFF_FFFF_FFFF_FFFF, 0x7FFF]);
}

/// Every form that moves a float moves its bits: a NaN keeps its payload and its sign.
#[test]
fn moves_keep_the_bits_of_a_nan() {
    for (ty, bits, nan, literal) in [
        ("f16", "b16", 0xFD23_u64, "0fFFA46000"),
        ("f32", "b32", 0xFF81_2345, "0fFF812345"),
        ("f64", "b64", 0xFFF0_0000_1234_5678, "0dFFF0000012345678"),
    ] {
        let mut source = format!(
            "const c: {bits}[1] = {{ {nan:#x} }}\nfunc same(v: {ty}) -> {ty} {{\nentry:\n    b = mov.{ty} v\n    ret \
             b\n}}\n\
             kernel k(a: {ty}, v: {ty}[1], x: ptr.global, r: ptr.global) {{\n    input draw: {ty}\n    shared t: \
             {ty}[4]\n    \
             local own: {ty}[4]\nentry:\n    p = setp.lt.u32 %laneid, 32\n    f = ld.global.{ty} x[0]\n"
        );
        let mut count = 0;
        let mut moved = |text: &str, register: &str| {
            let _ = writeln!(source, "    {text}\n    st.global.{ty} r[{count}], {register}");
            count += 1;
        };
        moved("", "f");
        moved(&format!("g = ld.global.{bits} x[0]"), "g");
        moved(&format!("h = mov.{ty} f"), "h");
        moved(&format!("i = mov.{bits} f"), "i");
        moved(&format!("j = mov.{ty} g"), "j");
        moved(&format!("l = selp.{ty} f, 1.0, p"), "l");
        moved("m = call same(f)", "m");
        moved(&format!("n = mov.{ty} a"), "n");
        moved(&format!("o = ld.param.{ty} v[0]"), "o");
        moved(&format!("q = ld.const.{ty} c[0]"), "q");
        moved(&format!("st.shared.{ty} t[1], f\n    s = ld.shared.{ty} t[1]"), "s");
        moved(&format!("st.local.v2.{ty} own[2], {{f, f}}\n    {{u0, u}} = ld.local.v2.{ty} own[2]"), "u");
        moved(&format!("w = in.{ty} draw"), "w");
        moved(&format!("y = mov.{ty} 1.0\n    @p y = mov.{ty} f"), "y");
        if ty == "f32" {
            moved("z = shfl.bfly.b32 f, 1, 31", "z");
            moved("z0 = mov.b64 {f, f}\n    {z1, z2} = mov.b64 z0", "z2");
            moved("{h0, h1} = mov.b32 f\n    h2 = mov.b32 {h0, h1}", "h2");
        }
        if ty != "f16" {
            moved(&format!("old = atom.global.exch.{ty} x[1], f\n    new = ld.global.{ty} x[1]"), "new");
            moved(&format!("old = atom.global.exch.{ty} x[1], f"), "old");
        }
        let _ = write!(
            source,
            "    exit\n}}\nlaunch k {{\n    block 32\n    a = {literal}\n    v = {{ {literal} }}\n    \
             draw = draws {{ {literal} }}\n    \
             x = buffer {bits}[2] {{ {nan:#x}, 0 }}\n    r = buffer {bits}[{count}] const 0\n}}\n"
        );
        assert_eq!(run(&source).buffer("r"), vec![nan; count], "{ty}");
    }
}

/// The texel whose column and row the coordinates fall into, clamped to the edge; nothing is interpolated.
#[test]
fn textures() {
    let (columns, rows) = (5i64, 3i64);
    let mut draws = Draws::new(9);
    let floats: Vec<u64> = (0..128)
        .map(|at| match at % 4 {
            0 => draws.float(exact::F32),
            _ => u64::from(((draws.bits() % 160) as f32 / 16.0 - 2.0).to_bits()),
        })
        .collect();
    let integers: Vec<u64> = (0..128).map(|_| (draws.bits() % 12).wrapping_sub(3) & 0xFFFF_FFFF).collect();
    for (ty, coordinates) in [("f32", &floats), ("s32", &integers)] {
        let list: Vec<String> = coordinates.iter().map(|bits| format!("{bits:#x}")).collect();
        let suffix = if ty == "f32" { "tex.2d.v4.f32" } else { "tex.2d.v4.f32.s32" };
        let source = format!(
            "kernel k(t: tex2d, c: ptr.global, r: ptr.global) {{\nentry:\n    i = mov.u32 %tid\n    \
             {{x, y}} = ld.global.v2.{ty} c[2*i]\n    {{a, b, d, e}} = {suffix} t, x, y\n    \
             st.global.v4.f32 r[4*i], {{a, b, d, e}}\n    exit\n}}\nlaunch k {{\n    block 64\n    \
             t = texture f32[{columns}, {rows}] iota\n    c = buffer b32[128] {{ {} }}\n    r = buffer f32[256] const \
             0\n}}\n",
            list.join(", ")
        );
        let outcome = run(&source);
        let cell = |bits: u64, end: i64| {
            let value =
                if ty == "f32" { f32::from_bits(bits as u32).floor() as i64 } else { bits as u32 as i32 as i64 };
            value.clamp(0, end - 1)
        };
        for thread in 0..64 {
            let texel = cell(coordinates[2 * thread + 1], rows) * columns + cell(coordinates[2 * thread], columns);
            let expected: Vec<u64> = (0..4).map(|k| ((4 * texel + k) as f32).to_bits().into()).collect();
            assert_eq!(outcome.buffer("r")[4 * thread..4 * thread + 4], expected, "{ty}, thread {thread}");
        }
    }
}

/// Value that an atomic leaves in its place.
fn atomic(op: &str, ty: &str, old: u64, first: u64, second: u64) -> u64 {
    let bits = width(ty);
    let mask = u64::MAX >> (64 - bits);
    if ty.starts_with('f') {
        let format = Format::of(ty);
        return match op {
            "add" => exact::add(format, old, first, Direction::Nearest),
            "min" => exact::min(format, old, first),
            "max" => exact::max(format, old, first),
            _ => first,
        };
    }
    let signed = |value: u64| (value << (64 - bits)) as i64 >> (64 - bits);
    let less = |a: u64, b: u64| if ty.starts_with('s') { signed(a) < signed(b) } else { a < b };
    match op {
        "add" => old.wrapping_add(first) & mask,
        "min" => {
            if less(first, old) {
                first
            } else {
                old
            }
        }
        "max" => {
            if less(old, first) {
                first
            } else {
                old
            }
        }
        "and" => old & first,
        "or" => old | first,
        "xor" => old ^ first,
        "inc" => {
            if old >= first {
                0
            } else {
                old + 1
            }
        }
        "dec" => {
            if old == 0 || old > first {
                first
            } else {
                old - 1
            }
        }
        "exch" => first,
        _ => {
            if old == first {
                second
            } else {
                old
            }
        }
    }
}

#[test]
fn atomics_of_every_operation_and_type_take_lanes_in_order() {
    let numbers = ["u16", "s16", "u32", "s32", "u64", "s64", "f16", "f32", "f64"];
    let words = ["b16", "b32", "b64", "u32", "s64"];
    let operations: [(&str, &[&str]); 10] = [
        ("add", &numbers),
        ("min", &numbers),
        ("max", &numbers),
        ("and", &words),
        ("or", &words),
        ("xor", &words),
        ("inc", &["u32", "u64", "b32"]),
        ("dec", &["u32", "u64", "b32"]),
        ("exch", &["b16", "b32", "b64", "u32", "f32", "f64"]),
        ("cas", &["b16", "b32", "b64", "u32", "s64"]),
    ];
    for (op, types) in operations {
        for &ty in types {
            for space in ["global", "shared", ""] {
                check_atomic(op, ty, space);
            }
        }
    }
}

/// 40 lanes of one and a half warps, some of them not active, on four places.
fn check_atomic(op: &str, ty: &str, space: &str) {
    const LANES: usize = 24;
    let mut draws = Draws::new(op.len() as u64 * 100 + ty.len() as u64);
    let mut column =
        |len: usize| -> Vec<u64> {
            // Few different numbers, so that a comparison sometimes succeeds.
            (0..len)
                .map(|at| {
                    if matches!(op, "cas" | "inc" | "dec") && at % 4 != 0 { draws.bits() % 3 } else { draws.value(ty) }
                })
                .collect()
        };
    let (start, first, second) = (column(4), column(LANES), column(LANES));
    let list = |values: &[u64]| values.iter().map(|v| format!("{v:#x}")).collect::<Vec<_>>().join(", ");
    let second_operand = if op == "cas" { ", b" } else { "" };
    let place = if space == "shared" { "t[j]" } else { "x[j]" };
    let opcode = |root: &str| match space {
        "" => format!("{root}.{op}.{ty}"),
        _ => format!("{root}.{space}.{op}.{ty}"),
    };
    let bits = width(ty);
    let mut source = format!(
        "kernel k(x: ptr.global, y: ptr.global, z: ptr.global, r: ptr.global) {{\n    shared t: {ty}[4]\nentry:\n    \
         i = mov.u32 %tid\n    j = and.b32 i, 3\n    a = ld.global.{ty} y[i]\n    b = ld.global.{ty} z[i]\n    \
         few = setp.lt.u32 i, 4\n    five = rem.u32 i, 5\n    on = setp.ne.u32 five, 3\n    init = ld.global.{ty} \
         x[j]\n    \
         @few st.shared.{ty} t[i], init\n    \
         @on o = {} {place}, a{second_operand}\n    @on st.global.{ty} r[i], o\n",
        opcode("atom"),
    );
    if op != "exch" && op != "cas" {
        // `red` is the same without a result.
        let _ = writeln!(source, "    {} {place}, a", opcode("red"));
    }
    if space == "shared" {
        let _ = writeln!(source, "    end = ld.shared.{ty} t[j]\n    @few st.global.{ty} x[i], end");
    }
    let _ = write!(
        source,
        "    exit\n}}\nlaunch k {{\n    block {LANES}\n    x = buffer b{bits}[4] {{ {} }}\n    \
         y = buffer b{bits}[{LANES}] {{ {} }}\n    z = buffer b{bits}[{LANES}] {{ {} }}\n    \
         r = buffer b{bits}[{LANES}] const 0\n}}\n",
        list(&start),
        list(&first),
        list(&second),
    );
    let mut places = start;
    let mut old = vec![0; LANES];
    for lane in (0..LANES).filter(|lane| lane % 5 != 3) {
        let place = &mut places[lane % 4];
        old[lane] = *place;
        *place = atomic(op, ty, *place, first[lane], second[lane]);
    }
    if op != "exch" && op != "cas" {
        for lane in 0..LANES {
            let place = &mut places[lane % 4];
            *place = atomic(op, ty, *place, first[lane], 0);
        }
    }
    let outcome = run(&source);
    assert_eq!(outcome.buffer("r"), old, "what {} gives back", opcode("atom"));
    assert_eq!(outcome.buffer("x"), places, "what {} leaves", opcode("atom"));
}

/// Warps one after another: every thread of a grid takes a number, and none is taken twice.
#[test]
fn atomics_of_many_warps_lose_nothing() {
    let outcome = run("kernel k(n: ptr.global, r: ptr.global) {\nentry:\n    i = mad.u32 %ctaid, %ntid, %tid\n    \
         o = atom.global.add.u32 n[0], 1\n    st.global.u32 r[o], i\n    exit\n}\n\
         launch k {\n    grid 7\n    block 72\n    n = buffer u32[1] const 0\n    r = buffer u32[504] const 9999\n}\n");
    assert_eq!(outcome.buffer("n"), [504]);
    let mut threads = outcome.buffer("r").to_vec();
    threads.sort_unstable();
    assert_eq!(threads, (0..504).collect::<Vec<u64>>());
}

/// An index that leaves its buffer never lands in another one, whatever a 32-bit register holds.
#[test]
fn no_index_reaches_another_buffer() {
    for index in ["8", "-1", "4294967295", "1073741824", "3221225472", "2147483648", "536870912"] {
        let source = format!(
            "kernel k(w: ptr.global, x: ptr.global, y: ptr.global, n: u32) {{\nentry:\n    i = {}\n    \
             v = ld.global.u32 x[i]\n    st.global.u32 y[0], v\n    exit\n}}\n\
             launch k {{\n    w = buffer u32[8] iota\n    x = buffer u32[8] iota\n    y = buffer u32[8] iota\n    n = \
             1\n}}\n",
            if index.starts_with('-') { format!("mul.s32 n, {index}") } else { format!("mul.u32 n, {index}") }
        );
        let error = try_run(&source, &[]).err().unwrap_or_else(|| panic!("x[{index}] is inside of something"));
        assert!(error.message.contains("`x` (32 bytes)"), "x[{index}]: {error}");
    }
}

/// Index registers extend by their types, `s` by sign and `u` and `b` by zeros; sum, scale and offset have 64 bits.
#[test]
fn addresses_are_sums_of_64_bits() {
    let outcome = run(
        "kernel k(x: ptr.global, r: ptr.global) {\nentry:\n    m1 = mov.s32 -1\n    u1 = mov.u32 1\n    h = mov.s16 \
         -3\n    \
         b = mov.u8 200\n    w = mov.s64 -100\n    big = mov.u32 4294967295\n    far = cvt.u64.u32 big\n    back = \
         neg.s64 far\n    \
         a = ld.global.u32 x[m1 + 5]\n    c = ld.global.u32 x[u1 + m1]\n    d = ld.global.u32 x[b + 2*w + 7]\n    \
         e = ld.global.u32 x[-h + 2]\n    f = ld.global.u32 x[big + back + 3]\n    g = ld.global.u32 [x + 8]\n    \
         p = add.u64 x, 64\n    i = ld.global.u32 [p - 12]\n    j = ld.global.u32 p[m1]\n    n = ld.global.u16 x[2*u1 \
         + 6]\n    \
         st.global.v4.u32 r[0], {a, c, d, e}\n    st.global.v4.u32 r[4], {f, g, i, j}\n    o = cvt.u32.u16 n\n    \
         st.global.u32 r[8], o\n    exit\n}\n\
         launch k {\n    x = buffer u32[64] iota\n    r = buffer u32[9] const 0\n}\n",
    );
    // x[4], x[0], x[200 - 200 + 7], x[5], x[3], byte 8, byte 52, byte 60, the eighth half of a word.
    assert_eq!(outcome.buffer("r"), [4, 0, 7, 5, 3, 2, 13, 15, 4]);
}
