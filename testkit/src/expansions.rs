//! Instructions of PTX that the text IR has not, or writes otherwise, each in a kernel of its own.
//!
//! ```text
//! %r1, %r2, %r3   one element each of three buffers     %rd3 = {%r1, %r2}     %rd4 = {%r2, %r3}
//! bmsk.clamp.b32 %r4, %r1, %r2;                         what is listed
//! %r4             goes into a fourth buffer
//! ```
//!
//! A test holds them against the PTX ISA; where there is a GPU, what it does with the PTX as it
//! stands is held against what has been read of it.

use std::fmt::Write;

/// Threads of a launch.
pub const THREADS: usize = 256;

/// Lines of PTX that set `%r4`.
pub struct Expansion {
    /// Ends of statements and blocks of registers included.
    pub lines: String,
    /// The type of what the fourth buffer holds: `f16` if `%r4` is two of them.
    pub result: &'static str,
}

/// Numbers at which operations change what they do, and others. The same ones for each column in every run.
pub fn numbers(column: u64) -> Vec<u32> {
    const EDGES: [u32; 14] =
        [0, 1, 2, 7, 31, 32, 33, 255, 256, 0x0001_0000, 0x00ff_ffff, 0x7fff_ffff, 0x8000_0000, 0xffff_ffff];
    let mut state = column.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 32) as u32
    };
    (0..THREADS).map(|_| if draw() % 3 == 0 { draw() >> (draw() % 32) } else { EDGES[draw() as usize % 14] }).collect()
}

/// A module in which every one of the lines has a kernel: `k0`, `k1`, …
pub fn module<'a>(lines: impl IntoIterator<Item = &'a str>) -> String {
    let mut text = String::from(".version 8.0\n.target sm_90\n.address_size 64\n");
    for (k, lines) in lines.into_iter().enumerate() {
        let params: Vec<String> = (1..=4).map(|param| format!(".param .u64 k{k}_p{param}")).collect();
        let loads = (1..=3).map(|param| {
            format!(
                "ld.param.u64 %rd1, [k{k}_p{param}];\nadd.s64 %rd2, %rd1, %rd9;\nld.global.u32 %r{param}, [%rd2];\n"
            )
        });
        let _ = write!(
            text,
            ".visible .entry k{k}({})\n{{\n.reg .pred %p<4>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<10>;\n\
             mov.u32 %r9, %tid.x;\nmul.wide.u32 %rd9, %r9, 4;\n{}mov.b64 %rd3, {{%r1, %r2}};\n\
             mov.b64 %rd4, {{%r2, %r3}};\n{lines}\nld.param.u64 %rd1, [k{k}_p4];\nadd.s64 %rd2, %rd1, %rd9;\n\
             st.global.u32 [%rd2], %r4;\nret;\n}}\n",
            params.join(", "),
            loads.collect::<String>(),
        );
    }
    text
}

/// The launch of a kernel on three columns of numbers.
pub fn launch(kernel: &str, operands: &[Vec<u32>; 3], result: &str) -> String {
    let buffer = |(place, values): (usize, &Vec<u32>)| {
        let list: Vec<String> = values.iter().map(u32::to_string).collect();
        format!("    #{place} = buffer u32[{THREADS}] {{ {} }}\n", list.join(", "))
    };
    let buffers: String = operands.iter().enumerate().map(buffer).collect();
    let elements = if result == "f16" { 2 * THREADS } else { THREADS };
    format!("launch {kernel} {{\n    block {THREADS}\n{buffers}    #3 = buffer {result}[{elements}] const 0\n}}\n")
}

/// Every instruction, in every form.
pub fn all() -> Vec<Expansion> {
    let mut all = Vec::new();
    let mut add = |result: &'static str, lines: String| all.push(Expansion { lines, result });
    of_bits().into_iter().for_each(|lines| add("u32", lines));
    of_integers().into_iter().for_each(|lines| add("u32", lines));
    comparisons().into_iter().for_each(|(lines, result)| add(result, lines));
    halves().into_iter().for_each(|lines| add("f16", lines));
    bfloats().into_iter().for_each(|(lines, result)| add(result, lines));
    bfloat_arithmetic().into_iter().for_each(|lines| add("u32", lines));
    of_warps().into_iter().for_each(|lines| add("u32", lines));
    functions().into_iter().for_each(|(lines, result)| add(result, lines));
    copies().into_iter().for_each(|lines| add("u32", lines));
    all
}

/// Instruction that sets `%r4` to the two words of `%rd5`, or of `%rd6` and `%rd5`, mixed.
const OF_LONG: &str = "mov.b64 {%r5, %r6}, %rd5;\nshf.l.wrap.b32 %r6, %r6, %r6, 5;\nxor.b32 %r4, %r5, %r6;";

fn of_bits() -> Vec<String> {
    let mut list = Vec::new();
    for mode in ["clamp", "wrap"] {
        list.push(format!("bmsk.{mode}.b32 %r4, %r1, %r2;"));
        list.extend(["u32", "s32"].map(|ty| format!("szext.{mode}.{ty} %r4, %r1, %r2;")));
        list.extend(["l", "r"].map(|way| format!("shf.{way}.{mode}.b32 %r4, %r1, %r2, %r3;")));
    }
    for amount in ["", ".shiftamt"] {
        list.extend(["u32", "s32"].map(|ty| format!("bfind{amount}.{ty} %r4, %r1;")));
        list.extend(["u64", "s64"].map(|ty| format!("bfind{amount}.{ty} %r4, %rd3;")));
    }
    list.push("cnot.b32 %r4, %r1;".to_owned());
    list.push(format!("cnot.b64 %rd5, %rd3;\n{OF_LONG}"));
    list.push("{.reg .b16 %h<3>;\ncvt.u16.u32 %h1, %r1;\ncnot.b16 %h1, %h1;\ncvt.u32.u16 %r4, %h1;}".to_owned());
    list.extend((0..=255).map(|table| format!("lop3.b32 %r4, %r1, %r2, %r3, {table};")));
    for mode in ["", ".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"] {
        list.push(format!("prmt.b32{mode} %r4, %r1, %r2, %r3;"));
    }
    // Of both words of a product or a position that wide ones have no longer.
    list.push("bfe.u32 %r4, %r1, %r2, 7;".to_owned());
    list.push("bfi.b32 %r4, %r1, %r2, 3, 9;".to_owned());
    list
}

fn of_integers() -> Vec<String> {
    let mut list = Vec::new();
    for ty in ["u32", "s32"] {
        list.extend(["lo", "hi"].map(|half| format!("mul24.{half}.{ty} %r4, %r1, %r2;")));
        list.push(format!("mad24.lo.{ty} %r4, %r1, %r2, %r3;"));
        list.push(format!("sad.{ty} %r4, %r1, %r2, %r3;"));
        list.push(format!("slct.{ty}.s32 %r4, %r1, %r2, %r3;"));
        list.extend(["f32", "ftz.f32"].map(|of| {
            let (ftz, of) = of.split_once('.').map_or(("", of), |(_, of)| (".ftz", of));
            format!("{{.reg .f32 %f;\nmov.b32 %f, %r3;\nslct{ftz}.{ty}.{of} %r4, %r1, %r2, %f;}}")
        }));
        list.extend(["u32", "s32"].map(|other| format!("dp4a.{ty}.{other} %r4, %r1, %r2, %r3;")));
        for carry in ["mad.lo.cc", "mad.hi.cc"] {
            list.push(format!("{carry}.{ty} %r5, %r1, %r2, %r3;\naddc.{ty} %r4, %r5, %r1;"));
        }
    }
    for ty in ["u64", "s64"] {
        list.push(format!("sad.{ty} %rd5, %rd3, %rd4, %rd3;\n{OF_LONG}"));
        list.push(format!("slct.{ty}.s32 %rd5, %rd3, %rd4, %r3;\n{OF_LONG}"));
    }
    for ty in ["u16", "s16"] {
        list.push(format!(
            "{{.reg .b16 %h<4>;\ncvt.u16.u32 %h1, %r1;\ncvt.u16.u32 %h2, %r2;\ncvt.u16.u32 %h3, %r3;\n\
             sad.{ty} %h1, %h1, %h2, %h3;\ncvt.u32.u16 %r4, %h1;}}"
        ));
    }
    for half in ["lo", "hi"] {
        for (a, b) in [("u32", "u32"), ("s32", "s32"), ("u32", "s32"), ("s32", "u32")] {
            list.push(format!("dp2a.{half}.{a}.{b} %r4, %r1, %r2, %r3;"));
        }
    }
    list.extend(["s16", "u16"].map(|ty| format!("cvt.pack.sat.{ty}.s32 %r4, %r1, %r2;")));
    list.extend(["s8", "u8"].map(|ty| format!("cvt.pack.sat.{ty}.s32.b32 %r4, %r1, %r2, %r3;")));
    list.extend(["min", "max"].map(|which| format!("{which}.s32.relu %r4, %r1, %r2;")));
    list.push("add.cc.u32 %r5, %r1, %r2;\naddc.cc.u32 %r6, %r2, %r3;\naddc.u32 %r4, %r6, %r5;".to_owned());
    list.push("sub.cc.u32 %r5, %r1, %r2;\nsubc.cc.u32 %r6, %r2, %r3;\nsubc.u32 %r4, %r6, %r5;".to_owned());
    list
}

fn comparisons() -> Vec<(String, &'static str)> {
    let mut list = Vec::new();
    for (result, buffer) in [("u32", "u32"), ("s32", "u32"), ("f32", "f32")] {
        for (cmp, of) in [("lt", "s32"), ("ge", "u32"), ("eq", "b32"), ("hi", "u32")] {
            list.push((format!("set.{cmp}.{result}.{of} %r4, %r1, %r2;"), buffer));
        }
        for combine in ["and", "or", "xor"] {
            let lines = format!("setp.gt.u32 %p1, %r3, 99;\nset.le.{combine}.{result}.s32 %r4, %r1, %r2, %p1;");
            list.push((lines.clone(), buffer));
            list.push((lines.replace(", %p1;", ", !%p1;").replace("setp.gt", "setp.le"), buffer));
        }
        for cmp in ["lt", "ltu", "num", "nan", "equ", "neu.ftz"] {
            let lines = format!(
                "{{.reg .f32 %f<3>;\nmov.b32 %f1, %r1;\nmov.b32 %f2, %r2;\nset.{cmp}.{result}.f32 %r4, %f1, %f2;}}"
            );
            list.push((lines, buffer));
        }
    }
    for which in ["min", "max", "min.ftz", "max.ftz"] {
        let lines = format!(
            "{{.reg .f32 %f<3>;\nmov.b32 %f1, %r1;\nmov.b32 %f2, %r2;\n{which}.NaN.f32 %f1, %f1, %f2;\nmov.b32 %r4, \
             %f1;}}"
        );
        list.push((lines, "f32"));
    }
    for what in ["finite", "infinite", "number", "notanumber", "normal", "subnormal"] {
        list.push((
            format!("{{.reg .f32 %f;\nmov.b32 %f, %r1;\ntestp.{what}.f32 %p1, %f;\nselp.u32 %r4, 1, 2, %p1;}}"),
            "u32",
        ));
        list.push((
            format!("{{.reg .f64 %f;\nmov.b64 %f, %rd3;\ntestp.{what}.f64 %p1, %f;\nselp.u32 %r4, 1, 2, %p1;}}"),
            "u32",
        ));
    }
    list
}

fn halves() -> Vec<String> {
    let mut list = Vec::new();
    let of_two = [
        "add",
        "add.rn",
        "add.ftz",
        "add.sat",
        "add.rn.ftz.sat",
        "sub",
        "sub.rn.ftz",
        "sub.sat",
        "mul",
        "mul.rn.sat",
        "mul.ftz.sat",
        "min",
        "min.ftz",
        "max",
        "max.ftz",
    ];
    list.extend(of_two.map(|operation| format!("{operation}.f16x2 %r4, %r1, %r2;")));
    list.extend(["neg", "neg.ftz", "abs", "abs.ftz"].map(|operation| format!("{operation}.f16x2 %r4, %r1;")));
    list.extend(["fma.rn", "fma.rn.ftz", "fma.rn.sat"].map(|fma| format!("{fma}.f16x2 %r4, %r1, %r2, %r3;")));
    for cmp in ["eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan", "lt.ftz"] {
        list.push(format!(
            "setp.{cmp}.f16x2 %p1|%p2, %r1, %r2;\nselp.b32 %r5, 1, 2, %p1;\nselp.b32 %r6, 0x30000, 0x40000, %p2;\n\
             or.b32 %r4, %r5, %r6;"
        ));
    }
    list.extend(["fma.rn.relu", "fma.rn.ftz.relu"].map(|fma| format!("{fma}.f16x2 %r4, %r1, %r2, %r3;")));
    list.extend(["min.NaN", "max.NaN"].map(|which| format!("{which}.f16x2 %r4, %r1, %r2;")));
    list.extend(["lt", "neu"].map(|cmp| format!("set.{cmp}.f16x2.f16x2 %r4, %r1, %r2;")));
    list.push("cvt.rn.f16x2.f32 %r4, %r1, %r2;".to_owned());
    list.push("cvt.rz.f16x2.f32 %r4, %r1, %r2;".to_owned());
    let words_as_floats = |line: &str| {
        format!("{{.reg .f32 %f<3>;\nmov.b32 %f1, %r1;\nmov.b32 %f2, %r2;\n{}}}", line.replace("%r1, %r2", "%f1, %f2"))
    };
    list.iter().map(|line| if line.starts_with("cvt") { words_as_floats(line) } else { line.clone() }).collect()
}

fn bfloats() -> Vec<(String, &'static str)> {
    let mut list = Vec::new();
    // Halfway between two of them, a bit more, a bit less; and any number.
    let near =
        "and.b32 %r5, %r1, 0xffff0000;\nand.b32 %r6, %r2, 3;\nadd.u32 %r6, %r6, 0x7ffe;\nor.b32 %r5, %r5, %r6;\n";
    for rounding in ["rn", "rz"] {
        for (before, source) in [("", "%r1"), (near, "%r5")] {
            list.push((
                format!(
                    "{before}{{.reg .b16 %h;\n.reg .f32 %f;\nmov.b32 %f, {source};\ncvt.{rounding}.bf16.f32 %h, %f;\n\
                     cvt.u32.u16 %r4, %h;}}"
                ),
                "u32",
            ));
        }
        list.push((
            format!(
                "{{.reg .f32 %f<3>;\nmov.b32 %f1, %r1;\nmov.b32 %f2, %r2;\ncvt.{rounding}.bf16x2.f32 %r4, %f1, %f2;}}"
            ),
            "u32",
        ));
    }
    list.push((
        "{.reg .b16 %h<3>;\n.reg .f32 %f;\nmov.b32 {%h1, %h2}, %r1;\ncvt.f32.bf16 %f, %h1;\nmov.b32 %r4, %f;}"
            .to_owned(),
        "f32",
    ));
    list
}

/// Arithmetic of bfloats, one and two at a time, of what is close to 1 and of anything.
fn bfloat_arithmetic() -> Vec<String> {
    let operations = [
        ("add", 2),
        ("sub.rn", 2),
        ("mul", 2),
        ("fma.rn", 3),
        ("fma.rn.relu", 3),
        ("abs", 1),
        ("min", 2),
        ("max", 2),
        ("min.NaN", 2),
        ("max.NaN", 2),
        ("set.gt.bf16x2", 2),
        ("set.nan.bf16x2", 2),
        ("set.le.u32", 2),
    ];
    let near_one = |register: u32| {
        format!("and.b32 %r{register}, %r{register}, 0x87ff87ff;\nor.b32 %r{register}, %r{register}, 0x3c003c00;\n")
    };
    let mut list = Vec::new();
    for (operation, count) in operations {
        let words = ["%r1", "%r2", "%r3"][..count].join(", ");
        let halves = ["%h1", "%h3", "%h5"][..count].join(", ");
        for before in [String::new(), (1..=3).map(near_one).collect()] {
            list.push(format!("{before}{operation}.bf16x2 %r4, {words};"));
            if !operation.starts_with("set") {
                list.push(format!(
                    "{before}{{.reg .b16 %h<7>;\nmov.b32 {{%h1, %h2}}, %r1;\nmov.b32 {{%h3, %h4}}, %r2;\n\
                     mov.b32 {{%h5, %h6}}, %r3;\n{operation}.bf16 %h1, {halves};\nmov.b32 %r4, {{%h1, %h2}};}}"
                ));
            }
        }
    }
    // PTX does not say which NaN the negation of one is.
    let negated =
        "neg.bf16x2 %r4, %r1;\nsetp.nan.bf16x2 %p1|%p2, %r4, %r4;\n@%p1 mov.b32 %r4, 1;\n@%p2 mov.b32 %r4, 2;";
    list.push(negated.to_owned());
    for cmp in ["eq", "ne", "lt", "geu", "num", "nan"] {
        list.push(format!(
            "setp.{cmp}.bf16x2 %p1|%p2, %r1, %r2;\nselp.b32 %r5, 1, 2, %p1;\nselp.b32 %r6, 0x30000, 0x40000, %p2;\n\
             or.b32 %r4, %r5, %r6;"
        ));
    }
    let one =
        |line: &str| format!("{{.reg .b16 %h<3>;\nmov.b32 {{%h1, %h2}}, %r1;\n{line}\nmov.b32 %r4, {{%h1, %h2}};}}");
    list.extend(["rni", "rzi", "rmi", "rpi"].map(|rounding| one(&format!("cvt.{rounding}.bf16.bf16 %h1, %h1;"))));
    list.extend(["rn", "rz", "rm", "rp"].map(|rounding| one(&format!("cvt.{rounding}.bf16.s32 %h1, %r2;"))));
    list.extend(["rn", "rz", "rm", "rp"].map(|rounding| one(&format!("cvt.{rounding}.bf16.u64 %h1, %rd3;"))));
    list.push(one("{.reg .f64 %d;\ncvt.rn.f64.s64 %d, %rd3;\ncvt.rn.bf16.f64 %h1, %d;}"));
    list.push(one("cvt.rn.bf16.f16 %h1, %h1;"));
    list.push(one("cvt.rn.f16.bf16 %h2, %h1;"));
    list.push(one("cvt.rzi.s32.bf16 %r5, %h1;\nmov.b32 {%h1, %h2}, %r5;"));
    list.push(one("cvt.rmi.u16.bf16 %h1, %h1;"));
    list
}

/// Approximate functions, of numbers as they are and of numbers near 0.
fn functions() -> Vec<(String, &'static str)> {
    let mut list = Vec::new();
    // By 1, and by 2⁻³².
    for scale in ["0f3F800000", "0f2F800000"] {
        list.push((
            format!(
                "{{.reg .f32 %f<3>;\ncvt.rn.f32.s32 %f1, %r1;\nmul.rn.f32 %f1, %f1, {scale};\n\
                 tanh.approx.f32 %f2, %f1;\nmov.b32 %r4, %f2;}}"
            ),
            "f32",
        ));
    }
    list.push((
        "{.reg .f32 %f<3>;\nmov.b32 %f1, %r1;\ntanh.approx.f32 %f2, %f1;\nmov.b32 %r4, %f2;}".to_owned(),
        "f32",
    ));
    for function in ["ex2", "tanh"] {
        list.push((format!("{function}.approx.f16x2 %r4, %r1;"), "f16"));
        list.push((
            format!(
                "{{.reg .b16 %h<3>;\nmov.b32 {{%h1, %h2}}, %r1;\n{function}.approx.f16 %h1, %h1;\nmov.b32 %r4, {{%h1, \
                 %h2}};}}"
            ),
            "f16",
        ));
    }
    list
}

/// Each thread copies 16 bytes of the third buffer, which 4 of them share, to shared memory, and
/// takes its word of them.
pub fn copies() -> Vec<String> {
    let with = |copy: &str| {
        format!(
            ".shared .align 16 .b8 tile[4096];\nand.b32 %r5, %r9, 63;\nmul.wide.u32 %rd5, %r5, 16;\n\
             add.s64 %rd5, %rd1, %rd5;\nmov.u32 %r6, tile;\nmad.lo.u32 %r6, %r9, 16, %r6;\nmov.u32 %r7, 99;\n\
             st.shared.v4.u32 [%r6], {{%r7, %r7, %r7, %r7}};\n{copy}\ncp.async.commit_group;\n\
             cp.async.wait_group 0;\nshr.u32 %r7, %r9, 6;\nmad.lo.u32 %r7, %r7, 4, %r6;\nld.shared.u32 %r4, [%r7];"
        )
    };
    let some = "and.b32 %r8, %r1, 31;\nmin.u32 %r8, %r8, ";
    let when = "setp.gt.u32 %p1, %r1, 99;\n";
    let unless = "setp.gt.u32 %p2, %r2, 99;\n";
    let mut list = vec![
        with("cp.async.ca.shared.global [%r6], [%rd5], 4;"),
        with("cp.async.ca.shared.global [%r6+8], [%rd5+8], 8;"),
        with("cp.async.cg.shared.global.L2::128B [%r6], [%rd5], 16;"),
        with("cp.async.ca.shared.global [%r6], [%rd5], 16, 7;"),
        with(&format!("{when}@!%p1 cp.async.cg.shared.global [%r6], [%rd5], 16;")),
        with(&format!("{unless}cp.async.cg.shared.global [%r6], [%rd5], 16, %p2;")),
        with(&format!("{when}{unless}@%p1 cp.async.ca.shared.global [%r6], [%rd5], 8, %p2;")),
        with(&format!("{some}16;\n{when}@%p1 cp.async.cg.shared.global [%r6], [%rd5], 16, %r8;")),
        with(
            "createpolicy.fractional.L2::evict_first.b64 %rd6, 1.0;\n\
              cp.async.cg.shared.global.L2::cache_hint [%r6], [%rd5], 16, %rd6;",
        ),
    ];
    list.extend(
        [4, 8, 16].map(|size| with(&format!("{some}{size};\ncp.async.ca.shared.global [%r6], [%rd5], {size}, %r8;"))),
    );
    list
}

/// Operations across lanes of a warp, and across warps of a block.
fn of_warps() -> Vec<String> {
    let mut list = Vec::new();
    for operation in ["add.u32", "add.s32", "min.u32", "max.u32", "min.s32", "max.s32", "and.b32", "or.b32", "xor.b32"]
    {
        list.push(format!("redux.sync.{operation} %r4, %r1, 0xffffffff;"));
    }
    list.push("setp.gt.u32 %p1, %r1, 99;\nbar.red.popc.u32 %r4, 0, %p1;".to_owned());
    for operation in ["and", "or"] {
        list.push(format!(
            "setp.ne.u32 %p1, %r1, 0;\nbarrier.cta.red.{operation}.pred %p2, 1, !%p1;\nselp.u32 %r4, 1, 2, %p2;"
        ));
    }
    list.push("match.any.sync.b32 %r4, %r1, 0xffffffff;".to_owned());
    list.push(
        "and.b32 %r5, %r9, 64;\nmatch.all.sync.b32 %r6|%p1, %r5, 0xffffffff;\nselp.u32 %r4, %r6, 5, %p1;".to_owned(),
    );
    list.push("setp.gt.u32 %p1, %r1, 99;\nvote.sync.ballot.b32 %r4, %p1, 0xffffffff;".to_owned());
    list.push("shfl.sync.down.b32 %r6|%p1, %r1, 3, 0x1f, 0xffffffff;\nselp.u32 %r4, %r6, 5, %p1;".to_owned());
    list
}
