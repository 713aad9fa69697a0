//! Kernels that run only under a launch that fits them, and the launch that is derived for each.

use warpscope_core::derive::{derive_launch, derive_launches, resize_launches};
use warpscope_core::ir::{Func, Launch, Module};
use warpscope_core::machine::Machine;
use warpscope_core::ptx::import;
use warpscope_core::sim::{Progress, Settings, Simulation};
use warpscope_core::text;
use warpscope_core::verify::verify;

fn wir(source: &str) -> Module {
    let parsed = text::parse(source);
    assert!(!parsed.has_errors(), "{:?}\n{source}", parsed.diagnostics);
    parsed.module
}

/// Derives a launch for the only kernel and runs it to its end; gives the launch as text.
fn runs(module: &Module) -> String {
    let kernel = module.kernels().next().expect("a kernel");
    let launch = derive_launch(module, &module.funcs[kernel]);
    let mut launched = module.clone();
    launched.launches = vec![launch.clone()];
    let mistakes: Vec<_> = verify(&launched).into_iter().filter(|found| found.is_error()).collect();
    assert!(mistakes.is_empty(), "{mistakes:?}");
    run(module, kernel, &launch);
    let mut alone = Module { launches: vec![launch], ..Module::default() };
    alone.items = vec![warpscope_core::ir::Item::Launch(0)];
    let text = text::print(&alone);
    // What is printed is read again as it was.
    assert_eq!(text::print(&text::parse(&text).module), text);
    text
}

fn run(module: &Module, kernel: Func, launch: &Launch) {
    let settings = Settings { fuel: 10_000_000, ..Settings::default() };
    let mut run: Simulation =
        Simulation::new(module, kernel, launch, &settings, Machine::default()).expect("the launch fits");
    match run.run(u64::MAX) {
        Ok(Progress::Done) => {}
        other => panic!("{other:?} under {launch:?}"),
    }
}

#[test]
fn pointers_in_memory_get_buffers() {
    // An array of pointers; fields of a structure in memory; a pointer behind two others.
    let rows = "\
kernel k(rows: ptr.global) {
entry:
    i = mov.u32 %ctaid
    j = mov.u32 %tid
    row = ld.global.u64 rows[i]
    st.global.f32 row[j], 1.0
    ret
}
";
    let launch = runs(&wir(rows));
    assert!(
        launch.contains("    rows = buffer u64[4] ") && launch.contains("    rows[*] = buffer f32[64] "),
        "{launch}"
    );
    let fields = "\
kernel k(s: ptr.global) {
entry:
    i = mov.u32 %tid
    a = ld.global.u64 [s]
    b = ld.global.u64 [s + 16]
    v = ld.global.f32 a[i]
    w = ld.global.f32 b[i + 8]
    v = add.f32 v, w
    st.global.f32 a[i], v
    ret
}
";
    let launch = runs(&wir(fields));
    assert!(
        launch.contains("    s[0] = buffer f32[64] ") && launch.contains("    s[16] = buffer f32[72] "),
        "{launch}"
    );
    let twice = "\
kernel k(table: ptr.global) {
entry:
    i = mov.u32 %tid
    a = ld.global.u64 [table + 8]
    b = ld.global.u64 a[i]
    st.global.u32 [b + 12], i
    ret
}
";
    let launch = runs(&wir(twice));
    assert!(launch.contains("    table[8][*] = buffer u32[4] const 0\n"), "{launch}");
}

#[test]
fn pointers_in_structures_by_value_get_buffers() {
    let kernel = |body: &str| {
        let source = format!(
            ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .align 8 .b8 s[24])\n{{\n\
             .reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .f32 %f<9>;\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd1, %r1, \
             4;\n{body}ret;\n}}\n"
        );
        import(&source).module
    };
    let plain = "ld.param.u64 %rd2, [s+8];\ncvta.to.global.u64 %rd3, %rd2;\nadd.s64 %rd4, %rd3, %rd1;\nst.global.u32 \
                 [%rd4], %r1;\n";
    let launch = runs(&kernel(plain));
    assert!(launch.contains("[8] = buffer u32[64] const 0\n"), "{launch}");
    // The address of the structure in a register, and a number beside the pointer.
    let moved = "mov.b64 %rd5, s;\nld.param.u32 %r2, [%rd5+16];\nld.param.u64 %rd2, [%rd5];\nadd.s64 %rd4, %rd2, \
                 %rd1;\n\
                 mul.wide.u32 %rd6, %r2, 4;\nadd.s64 %rd4, %rd4, %rd6;\nst.global.u32 [%rd4], %r1;\n";
    let launch = runs(&kernel(moved));
    assert!(launch.contains("[0] = buffer u32["), "{launch}");
    // A pointer that is loaded through a pointer of the structure.
    let deep = "ld.param.u64 %rd2, [s+16];\nld.global.u64 %rd3, [%rd2+8];\nadd.s64 %rd4, %rd3, %rd1;\nst.global.f32 \
                [%rd4], 0f3F800000;\n";
    let launch = runs(&kernel(deep));
    assert!(launch.contains("[16] = buffer ") && launch.contains("[16][8] = buffer f32[64] "), "{launch}");
}

#[test]
fn blocks_fit_what_the_kernel_holds_for_them() {
    // Each thread clears a column of a square, whose side is the block it was written for.
    let square = "\
kernel k(x: ptr.global) {
    shared tile: f32[256]
entry:
    i = mov.u32 %tid
    j = mov.u32 0
    br row
row:
    at = mad.u32 j, %ntid, i
    st.shared.f32 tile[at], 1.0
    j = add.u32 j, 1
    p = setp.lt.u32 j, %ntid
    br p, row, done
done:
    ret
}
";
    assert!(runs(&wir(square)).contains("    block 16\n"));
    let table = "\
const table: u32[93]
kernel k(x: ptr.global) {
entry:
    i = mov.u32 %tid.x
    j = mov.u32 %tid.y
    i = rem.u32 i, 31
    at = mad.u32 j, 31, i
    v = ld.const.u32 table[at]
    st.global.u32 x[at], v
    ret
}
";
    assert!(runs(&wir(table)).contains("    block 64, 3\n"));
    // Only the grid has two axes.
    let plane = "\
kernel k(x: ptr.global) {
entry:
    i = mad.u32 %ctaid.y, %ntid, %tid
    st.global.u32 x[i], i
    ret
}
";
    let launch = runs(&wir(plane));
    assert!(launch.contains("    grid 2, 2\n    block 64\n") && launch.contains("x = buffer u32[128]"), "{launch}");
}

#[test]
fn numbers_fit_the_subscripts_made_of_them() {
    // One radius is as good as the width, and two are not.
    let radius = "\
kernel k(w: u32, r: u32, x: ptr.global, y: ptr.global) {
entry:
    i = mov.u32 %tid
    a = sub.s32 w, r
    a = sub.s32 a, 1
    v = ld.global.u32 x[a]
    st.global.u32 y[i], v
    ret
}
";
    runs(&wir(radius));
    // 2^n words of shared memory.
    let power = "\
kernel k(n: u32, x: ptr.global) {
    shared s: u32[]
entry:
    last = shl.b32 1, n
    last = shl.b32 last, 6
    last = sub.u32 last, 1
    st.shared.u32 s[last], 1
    st.global.u32 x[0], last
    ret
}
";
    runs(&wir(power));
    // A loop whose end is a product takes too long with the usual numbers.
    let rounds = "\
kernel k(n: u32, m: u32, x: ptr.global) {
entry:
    nn = mul.u32 n, n
    nn = mul.u32 nn, n
    mm = mul.u32 m, m
    end = mul.u32 nn, mm
    i = mov.u32 0
    br loop
loop:
    i = add.u32 i, 1
    p = setp.lt.u32 i, end
    br p, loop, done
done:
    st.global.u32 x[0], i
    ret
}
";
    runs(&wir(rounds));
}

#[test]
fn elements_fit_what_they_index() {
    let histogram = "\
kernel k(x: ptr.global, y: ptr.global) {
    shared bins: u32[16]
entry:
    i = mov.u32 %tid
    bin = ld.global.u32 x[i]
    v = atom.shared.add.u32 bins[bin], 1
    st.global.u32 y[i], v
    ret
}
";
    assert!(runs(&wir(histogram)).contains("    x = buffer u32[64] random(0, 15)\n"));
    // Bits of floats would be large indices: a structure of a float and an index.
    let mixed = "\
const table: f32[8]
kernel k(x: ptr.global, y: ptr.global) {
entry:
    i = mov.u32 %tid
    f = ld.global.f32 x[2*i]
    at = ld.global.u32 x[2*i + 1]
    v = ld.const.f32 table[at]
    v = add.f32 v, f
    st.global.f32 y[i], v
    ret
}
";
    assert!(runs(&wir(mixed)).contains("    x = buffer u32[128] random(0, 3)\n"));
    // The product of an element goes further than any analysis says: the buffer grows.
    let product = "\
kernel k(x: ptr.global, y: ptr.global) {
entry:
    i = mov.u32 %tid
    a = ld.global.u32 x[i]
    h = mul.hi.u32 a, 0xFFFFFFFF
    at = mul.u32 h, 997
    at = xor.b32 at, 5
    st.global.u32 y[at], a
    ret
}
";
    runs(&wir(product));
}

#[test]
fn sizes_that_are_asked_for_are_kept() {
    let source = "\
kernel k(n: u32, x: ptr.global) {
entry:
    i = mad.u32 %ctaid, %ntid, %tid
    p = setp.lt.u32 i, n
    br p, body, done
body:
    st.global.u32 x[i], 1
    br done
done:
    ret
}
";
    let mut module = wir(source);
    let kernel = module.kernels().next().expect("a kernel");
    let settings = |texts: &[&str]| {
        let mut settings = Settings::default();
        texts.iter().for_each(|text| settings.set(text).expect("a setting"));
        settings
    };
    for (texts, grid, block, number) in
        [(&["block=96"][..], 4, 96, 384), (&["grid=1", "block=8"], 1, 8, 8), (&["n=7"], 4, 64, 7), (&[], 4, 64, 256)]
    {
        module.launches.clear();
        module.items.retain(|item| !matches!(item, warpscope_core::ir::Item::Launch(_)));
        resize_launches(&mut module, &[kernel], &[settings(texts)]);
        let launch = &module.launches[0];
        assert_eq!((launch.grid[0], launch.block[0]), (grid, block));
        let text = text::print(&module);
        let lines = format!("    n = {number}\n    x = buffer u32[{number}] const 0\n");
        assert!(text.contains(&lines), "{text}");
        run(&module, kernel, launch);
    }
}

#[test]
fn only_elements_that_lead_astray_become_small() {
    // Indices of one buffer are limited by a table; the other buffer keeps its elements.
    let source = "\
const table: f32[8]
kernel k(x: ptr.global, other: ptr.global, y: ptr.global) {
entry:
    i = mov.u32 %tid
    at = ld.global.u32 x[i]
    a = ld.global.u32 other[i]
    v = ld.const.f32 table[at]
    st.global.f32 y[2*i], v
    st.global.u32 y[2*i + 1], a
    ret
}
";
    let launch = runs(&wir(source));
    assert!(launch.contains("    x = buffer u32[64] random(0, 3)\n"), "{launch}");
    assert!(launch.contains("    other = buffer u32[64] random(0, 255)\n"), "{launch}");
    // The largest index comes from another function, through shared memory.
    let indirect = "\
const table: f32[8]
func index(x: ptr.global, i: u32) -> u32 {
entry:
    at = ld.global.u32 x[i]
    ret at
}
kernel k(x: ptr.global, other: ptr.global, y: ptr.global) {
    shared s: u32[64]
entry:
    i = mov.u32 %tid
    at = call index(x, i)
    st.shared.u32 s[i], at
    at = ld.shared.u32 s[i]
    a = ld.global.u32 other[i]
    v = ld.const.f32 table[at]
    st.global.f32 y[2*i], v
    st.global.u32 y[2*i + 1], a
    ret
}
";
    let launch = runs(&wir(indirect));
    assert!(launch.contains("    other = buffer u32[64] random(0, 255)\n"), "{launch}");
    // A counter that is decremented before it is an index.
    let ranks = "\
kernel k(keys: ptr.global, counts: ptr.global, sorted: ptr.global) {
entry:
    i = mov.u32 %tid
    key = ld.global.u32 keys[i]
    rank = atom.global.add.u32 counts[key], -1
    rank = sub.u32 rank, 1
    st.global.u32 sorted[rank], key
    ret
}
";
    runs(&wir(ranks));
}

#[test]
fn numbers_reach_the_blocks_that_wait_for_them() {
    let source = "\
kernel k(mode: u32, n: u32, x: ptr.global) {
entry:
    i = mad.u32 %ctaid, %ntid, %tid
    p = setp.lt.u32 i, n
    br p, body, rest
body:
    q = setp.eq.u32 mode, 77
    br q, special, usual
special:
    st.global.u32 x[i], 1
    br done
usual:
    st.global.u32 x[i], 2
    br done
rest:
    st.global.u32 x[i], 3
    br done
done:
    ret
}
";
    let module = wir(source);
    let launch = runs(&module);
    // Some threads are left over. One launch reaches only one of the modes.
    assert!(launch.contains("    n = 250\n"), "{launch}");
    let fields = import(
        ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .align 4 .b8 s[8], .param .u64 x)\n{\n\
         .reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.reg .pred %p<3>;\n.shared .align 4 .b8 m[16];\nld.param.u32 %r1, \
         [s+4];\n\
         ld.param.u64 %rd1, [x];\nshl.b32 %r3, %r1, 2;\nmov.u32 %r4, m;\nadd.s32 %r4, %r4, %r3;\nst.shared.u32 [%r4], \
         %r1;\n\
         st.global.u32 [%rd1], %r1;\nret;\n}\n",
    );
    // A field of a structure is a subscript.
    runs(&fields.module);
}

#[test]
fn blocks_keep_to_declared_bounds() {
    let kernel = |directive: &str| {
        let source = format!(
            ".version 7.8\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 x)\n{directive}\n{{\n\
             .reg .b32 %r<9>;\n.reg .b64 %rd<9>;\nld.param.u64 %rd1, [x];\nmov.u32 %r1, %tid.x;\n\
             mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd1, %rd1, %rd2;\nst.global.u32 [%rd1], %r1;\nret;\n}}\n"
        );
        runs(&import(&source).module)
    };
    assert!(kernel(".reqntid 96, 1, 1").contains("    block 96\n"));
    assert!(kernel(".maxntid 48, 1, 1").contains("    block 32\n"));
    assert!(kernel("").contains("    block 64\n"));
}

#[test]
fn sizes_that_meet_get_one_number() {
    let source = "\
kernel k(n: u32, m: u32, w: u64, x: ptr.global) {
entry:
    i = mad.u32 %ctaid, %ntid, %tid
    p = setp.lt.u32 i, n
    br p, more, done
more:
    q = setp.le.u32 n, m
    br q, body, done
body:
    wide = cvt.u64.u32 i
    r = setp.lt.u64 wide, w
    br r, write, done
write:
    st.global.u32 x[i], 1
    br done
done:
    ret
}
";
    let launch = runs(&wir(source));
    assert!(launch.contains("    n = 256\n    m = 256\n    w = 256\n    x = buffer u32[256] const 0\n"), "{launch}");
}

#[test]
fn an_optimised_program_is_resized_as_its_source() {
    // Dead code reads further than the rest, so a launch derived from the optimised text would have a smaller buffer.
    let kernel = |dead: &str| {
        wir(&format!(
            "\
kernel k(n: u32, x: ptr.global, y: ptr.global) {{
entry:
    i = mad.u32 %ctaid, %ntid, %tid
    p = setp.lt.u32 i, n
    br p, body, done
body:
{dead}    v = ld.global.u32 x[i]
    st.global.u32 y[i], v
    br done
done:
    ret
}}
"
        ))
    };
    let mut optimised = kernel("");
    let func = optimised.kernels().next().expect("a kernel");
    let sized = |module: &Module, texts: &[&str]| {
        let mut module = module.clone();
        let mut settings = Settings::default();
        texts.iter().for_each(|text| settings.set(text).expect("a setting"));
        resize_launches(&mut module, &[func], &[settings]);
        module.launches[0].clone()
    };
    for subscript in ["i + 3", "i + 100", "2*i", "3*i + 2"] {
        let mut module = kernel(&format!("    dead = ld.global.u32 x[{subscript}]\n"));
        derive_launches(&mut module, &[func]);
        optimised.launches.clone_from(&module.launches);
        for texts in [&["block=96"][..], &["grid=2"], &["n=7"], &["grid=3", "block=32"], &[]] {
            let (a, b) = (sized(&module, texts), sized(&optimised, texts));
            assert_eq!(a, b, "{subscript} {texts:?}");
            run(&module, func, &b);
        }
    }
    // Buffers and numbers stay where that is asked for.
    let kept = sized(&optimised, &["block=96", "resize=off"]);
    assert_eq!(kept.bindings, optimised.launches[0].bindings);
}

#[test]
fn numbers_follow_the_axis_whose_threads_they_bound() {
    let source = "\
kernel k(w: u32, h: u32, x: ptr.global) {
entry:
    i = mad.u32 %ctaid.x, %ntid.x, %tid.x
    j = mad.u32 %ctaid.y, %ntid.y, %tid.y
    p = setp.lt.u32 i, w
    br p, inner, done
inner:
    q = setp.lt.u32 j, h
    br q, body, done
body:
    at = mad.u32 j, w, i
    st.global.u32 x[at], 1
    br done
done:
    ret
}
";
    let mut module = wir(source);
    let kernel = module.kernels().next().expect("a kernel");
    derive_launches(&mut module, &[kernel]);
    let mut settings = Settings::default();
    settings.set("block=8,16").expect("a setting");
    resize_launches(&mut module, &[kernel], &[settings]);
    let text = text::print(&module);
    assert!(text.contains("    w = 16\n    h = 32\n    x = buffer u32[512] const 0\n"), "{text}");
}
