//! Instructions on memory and what a module declares: each program's output is what the PTX ISA
//! says, also after passes and after PTX has been written and read again.

use super::assembles::{assemble_with, assembler};
use super::examples::simulated;
use super::unit_programs::{after, launch, module, words};
use warpscope_core::derive::derive_launch;
use warpscope_core::ir::FillKey;
use warpscope_core::ptx::{export, import};
use warpscope_core::text;
use warpscope_core::verify::check as check_text;

/// A reference of the module is the texture that the launch names, or one of 64 × 64 texels.
#[test]
fn references_are_textures_of_the_launch() {
    let source = |version: &str, target: &str| {
        format!(
            ".version {version}\n.target {target}\n.address_size 64\n.global .texref picture;\n.tex .u64 old;\n\
             .visible .entry k(.param .u64 o)\n{{\n.reg .f32 %f<9>;\n.reg .b32 %r<5>;\n.reg .b64 %rd<5>;\n\
             ld.param.u64 %rd1, [o];\nmov.u32 %r1, %tid.x;\nand.b32 %r2, %r1, 3;\nshr.u32 %r3, %r1, 2;\n\
             tex.2d.v4.f32.s32 {{%f1, %f2, %f3, %f4}}, [picture, {{%r2, %r3}}];\ncvt.rn.f32.s32 %f8, %r1;\n\
             tex.1d.v4.f32.f32 {{%f5, %f6, %f7, %f8}}, [old, {{%f8}}];\nadd.f32 %f1, %f1, %f6;\n\
             mul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd2, %rd1, %rd2;\nst.global.f32 [%rd2], %f1;\nret;\n}}\n"
        )
    };
    let parsed = import(&source("8.6", "sm_75"));
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let module = parsed.module;
    let printed = text::print(&module);
    assert!(printed.contains("= tex.2d.v4.f32.s32 picture, r2, r3\n"), "{printed}");
    assert!(printed.contains("= tex.1d.v4.f32 old, f8\n"), "{printed}");
    let of_launch = launch(
        "launch k {\n    block 32\n    #0 = buffer u32[32] const 0\n    picture = texture f32[4, 8] iota\n    \
         old = texture f32[16, 2] iota\n}\n",
    );
    // Texel (x, y) of a picture that is four wide begins at 4 (x + 4 y); the row of the other one ends at 15.
    let wanted: Vec<u32> =
        (0..32_u32).map(|thread| ((4 * thread) as f32 + (4 * thread.min(15) + 1) as f32).to_bits()).collect();
    for version in [module.clone(), after(&module, "@ptxas"), text::parse(&printed).module] {
        let memory = simulated(&version, &of_launch);
        let found: Vec<u32> = memory[0].as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        assert_eq!(found, wanted);
        let ptx = export(&version).text;
        for line in [
            ".global .texref picture;",
            "tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [picture, {%r2, %r3}];",
            "tex.1d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [old, {%f8}];",
        ] {
            assert!(ptx.contains(line) || version.header.is_none(), "{line}\n{ptx}");
        }
        if let Some(ptxas) = assembler().filter(|_| version.header.is_some()) {
            assemble_with(&ptxas, &[], "references", &ptx);
        }
    }
    // Nothing is said about them: the launch that is derived names both.
    let kernel = module.func_by_name("k").expect("the kernel");
    let derived = derive_launch(&module, &module.funcs[kernel]);
    let names: Vec<_> = derived.bindings[1..].iter().map(|binding| &binding.key).collect();
    assert_eq!(names, [&FillKey::Name("picture".into()), &FillKey::Name("old".into())]);
    assert!(words(&module, 32).iter().all(|&word| (0.0..2.0).contains(&f32::from_bits(word))));
    // Others take no such line.
    let source =
        format!("{printed}\nlaunch k {{\n    o = buffer f32[32] const 0\n    picture = 5\n    canvas = 3\n}}\n");
    let messages: Vec<_> = check_text(&source).diagnostics.iter().map(|found| found.message.clone()).collect();
    assert_eq!(messages, ["a `texref` takes `texture f32[width, height] …`", "`k` has no parameter or input `canvas`"]);
}

/// A line after which the words of a buffer are these, done by one thread on words that it stores first.
fn changes(before: &[u32], line: &str, wanted: &[u32]) {
    let stores: String = before
        .iter()
        .enumerate()
        .map(|(place, word)| format!("st.global.b32 [%rd1+{}], {word};\n", 4 * place))
        .collect();
    let source = format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 o)\n{{\n.reg .b16 %h<20>;\n\
         .reg .b32 %r<9>;\n.reg .f32 %f<9>;\n.reg .b64 %rd<3>;\n.reg .pred %p1;\nld.param.u64 %rd1, [o];\n\
         mov.u32 %r1, %laneid;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra OUT;\n{stores}{line}\nOUT:\nret;\n}}\n"
    );
    let parsed = import(&source);
    assert!(parsed.diagnostics.is_empty(), "{line}: {:?}", parsed.diagnostics);
    let printed = text::print(&parsed.module);
    let reread = text::parse(&printed);
    assert!(reread.diagnostics.is_empty(), "{line}: {:?}", reread.diagnostics);
    assert_eq!(text::print(&reread.module), printed, "{line}");
    let optimised = after(&parsed.module, "@ptxas");
    for module in [&parsed.module, &optimised, &reread.module] {
        assert_eq!(words(module, wanted.len()), wanted, "{line}\n{printed}");
    }
    let ptx = export(&optimised);
    assert!(ptx.diagnostics.is_empty(), "{line}: {:?}", ptx.diagnostics);
    if let Some(ptxas) = assembler() {
        assemble_with(&ptxas, &[], "atomics", &ptx.text);
    }
    let again = import(&ptx.text);
    assert!(again.diagnostics.is_empty(), "{line}: {:?}\n{}", again.diagnostics, ptx.text);
    assert_eq!(words(&again.module, wanted.len()), wanted, "{line}\n{}", ptx.text);
}

/// Bfloats have 8 bits: 256 and 1 is 256, 256 and 3 is 260. Of the zeros -0 is the lesser one.
#[test]
fn atomics_of_halves_round_and_compare() {
    changes(
        &[0x4380_3f80, 0],
        "mov.b32 %r2, 0x40403F80;\natom.global.add.noftz.bf16x2 %r3, [%rd1], %r2;\nst.global.b32 [%rd1+4], %r3;",
        &[0x4382_4000, 0x4380_3f80],
    );
    changes(
        &[0x4380_4380, 0],
        "mov.b16 %h1, 0x3F80;\natom.global.add.noftz.bf16 %h3, [%rd1+2], %h1;\nst.global.b16 [%rd1+4], %h3;\n\
         mov.b32 {%h1, %h2}, 0x7F810001;\nred.global.add.noftz.bf16 [%rd1], %h2;\natom.global.add.noftz.bf16 _, \
         [%rd1+6], %h1;",
        &[0x4380_7fff, 0x0001_4380],
    );
    // Infinity and a number beyond the greatest one.
    changes(
        &[0x7f7f_7f80],
        "mov.b32 %r2, 0x7F7FFF80;\nred.relaxed.gpu.global.add.noftz.bf16x2 [%rd1], %r2;",
        &[0x7f80_7fff],
    );
    changes(
        &[0x7e00_3c00, 0x4500_8000, 0, 0],
        "mov.b32 {%h1, %h2}, 0x3C004000;\nmov.b32 {%h3, %h4}, 0x44000000;\n\
         atom.global.max.noftz.v4.f16 {%h5, %h6, %h7, %h8}, [%rd1], {%h1, %h2, %h3, %h4};\n\
         st.global.v4.b16 [%rd1+8], {%h5, %h6, %h7, %h8};",
        &[0x3c00_4000, 0x4500_0000, 0x7e00_3c00, 0x4500_8000],
    );
    changes(
        &[0xc000_3f80, 0x7fc0_4040, 0],
        "mov.b32 %r2, 0x3F80BF80;\nmov.b32 %r3, 0x40004000;\n\
         atom.global.v2.bf16x2.min.noftz {%r4, _}, [%rd1], {%r2, %r3};\nst.global.b32 [%rd1+8], %r4;",
        &[0xc000_bf80, 0x4000_4000, 0xc000_3f80],
    );
    changes(
        &[0, 0, 0x3c00_3c00, 0],
        "mov.b32 {%h1, %h2}, 0x40003C00;\n\
         red.global.add.noftz.v8.f16 [%rd1], {%h1, %h2, %h1, %h2, %h1, %h2, %h1, %h2};",
        &[0x4000_3c00, 0x4000_3c00, 0x4200_4000, 0x4000_3c00],
    );
    changes(
        &[0, 0x3f80_0000, 0, 0],
        "mov.f32 %f1, 0f40000000;\nmov.f32 %f2, 0f3F800000;\n\
         atom.global.add.v2.f32 {%f1, %f2}, [%rd1], {%f1, %f2};\nst.global.v2.f32 [%rd1+8], {%f1, %f2};",
        &[0x4000_0000, 0x4000_0000, 0, 0x3f80_0000],
    );
}

/// Constant memory is no global memory; parameters are in a window of it. A block is a cluster of its own.
#[test]
fn windows_of_addresses_are_told_apart() {
    let addresses = ["c", "d", "h", "g", "s", "l", "q"];
    let converted = |name: &str| match name {
        "h" => "ld.global.u64 %rd2, [h];\n".to_owned(),
        "g" => "mov.u64 %rd2, g;\n".to_owned(),
        "q" => "mov.b64 %rd2, q;\ncvta.param.u64 %rd2, %rd2;\n".to_owned(),
        name => {
            let space = if name == "s" {
                "shared"
            } else if name == "l" {
                "local"
            } else {
                "const"
            };
            format!("mov.u64 %rd2, {name};\ncvta.{space}.u64 %rd2, %rd2;\n")
        }
    };
    for (space, holds) in [
        ("const", "cdh"),
        ("global", "gq"),
        ("shared", "s"),
        ("shared::cta", "s"),
        ("shared::cluster", "s"),
        ("local", "l"),
        ("param", "q"),
        ("param::entry", "q"),
    ] {
        let tests: String = addresses
            .iter()
            .enumerate()
            .map(|(place, name)| {
                let address = converted(name);
                format!(
                    "{address}isspacep.{space} %p1, %rd2;\nselp.u32 %r1, 1, 0, %p1;\nst.global.u32 [%rd1+{}], %r1;\n",
                    4 * place
                )
            })
            .collect();
        let module = module(&format!(
            ".global .align 4 .u32 g[2];\n.const .align 4 .u32 c[2] = {{1, 2}};\n\
             .const .align 4 .u32 d[2] = {{3, 4}};\n.global .align 8 .u64 h = generic(d);\n.visible .entry k(.param \
             .u64 o, .param .align 8 .b8 q[16])\n{{\n\
             .reg .b32 %r<3>;\n.reg .b64 %rd<4>;\n.reg .pred %p<2>;\n.shared .align 4 .u32 s[4];\n.local .align 4 \
             .u32 l[4];\n\
             ld.param.u64 %rd1, [o];\n{tests}ret;\n}}\n"
        ));
        let wanted: Vec<u32> = addresses.iter().map(|name| u32::from(holds.contains(name))).collect();
        let launch = launch("launch k {\n    #0 = buffer u32[7] iota\n    #1 = 0\n}\n");
        let reread = text::parse(&text::print(&module));
        assert!(reread.diagnostics.is_empty(), "{space}: {:?}", reread.diagnostics);
        for version in [module.clone(), after(&module, "@ptxas"), reread.module] {
            let found = simulated(&version, &launch);
            let found: Vec<u32> = found[0].as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
            assert_eq!(found, wanted, "{space} {addresses:?}");
            let ptx = export(&version);
            assert!(ptx.diagnostics.is_empty(), "{space}: {:?}", ptx.diagnostics);
            let plain = space.strip_suffix("::cta").or(space.strip_suffix("::entry")).unwrap_or(space);
            assert!(ptx.text.contains(&format!("isspacep.{plain} %")), "{}", ptx.text);
            if let Some(ptxas) = assembler() {
                assemble_with(&ptxas, &[], "windows", &ptx.text);
            }
            let again = import(&ptx.text).module;
            let found = simulated(&again, &launch);
            let found: Vec<u32> = found[0].as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
            assert_eq!(found, wanted, "{space}\n{}", ptx.text);
        }
    }
}

/// A function with another name is called by either.
#[test]
fn aliases_are_kept_and_called() {
    let source = |alias: &str| {
        format!(
            ".version 8.6\n.target sm_80\n.address_size 64\n.visible .func (.param .b32 r) other(.param .b32 \
             a);\n{alias}\n\
             .func (.param .b32 r) plus(.param .b32 a)\n{{\n.reg .b32 %x;\nld.param.b32 %x, [a];\nadd.u32 %x, %x, 7;\n\
             st.param.b32 [r], %x;\nret;\n}}\n.visible .entry k(.param .u64 o)\n{{\n.reg .b32 %r<5>;\n.reg .b64 \
             %rd<5>;\n\
             ld.param.u64 %rd1, [o];\nmov.u32 %r1, %laneid;\n{{\n.param .b32 p;\n.param .b32 q;\nst.param.b32 [p], \
             %r1;\n\
             call (q), other, (p);\nld.param.b32 %r2, [q];\n}}\n{{\n.param .b32 p;\n.param .b32 q;\nst.param.b32 [p], \
             %r2;\n\
             call (q), plus, (p);\nld.param.b32 %r2, [q];\n}}\nmul.wide.u32 %rd3, %r1, 4;\nadd.u64 %rd3, %rd1, %rd3;\n\
             st.global.u32 [%rd3], %r2;\nret;\n}}\n"
        )
    };
    let messages = |alias: &str| -> Vec<String> {
        import(&source(alias)).diagnostics.iter().map(|found| found.message.clone()).collect()
    };
    assert!(messages(".alias other, plus;").is_empty());
    let module = import(&source(".alias other, plus;")).module;
    let wanted: Vec<u32> = (0..32).map(|lane| lane + 14).collect();
    for version in [module.clone(), after(&module, "@ptxas")] {
        assert_eq!(words(&version, 32), wanted);
        let ptx = export(&version);
        assert!(ptx.diagnostics.is_empty(), "{:?}", ptx.diagnostics);
        assert!(ptx.text.contains("\n.alias other, plus;\n"), "{}", ptx.text);
        assert!(ptx.text.contains("call.uni (retval0), other, (param0);"), "{}", ptx.text);
        assert!(ptx.text.contains("call.uni (retval0), plus, (param0);"), "{}", ptx.text);
        assert!(ptx.text.contains("\n.visible .func (.param .b32 r) other("), "{}", ptx.text);
        let again = import(&ptx.text);
        assert!(again.diagnostics.is_empty(), "{:?}\n{}", again.diagnostics, ptx.text);
        assert_eq!(words(&again.module, 32), wanted);
        assert!(export(&again.module).text.contains("\n.alias other, plus;\n"), "{}", ptx.text);
        if let Some(ptxas) = assembler() {
            assemble_with(&ptxas, &[], "aliases", &ptx.text);
        }
    }
    let in_registers = source(".alias other, plus;")
        .replace("(.param .b32 r) other(.param .b32 a)", "(.reg .u32 %rr) other(.reg .u32 %ra)")
        .replace("(.param .b32 r) plus(.param .b32 a)", "(.reg .u32 %rr) plus(.reg .u32 %ra)")
        .replace(
            "ld.param.b32 %x, [a];\nadd.u32 %x, %x, 7;\nst.param.b32 [r], %x;",
            "add.u32 %x, %ra, 7;\nmov.u32 %rr, %x;",
        );
    let ptx = export(&import(&in_registers).module);
    assert!(ptx.text.contains("\n.visible .func (.param .b32 rr) other(.param .b32 ra);\n"), "{}", ptx.text);
    if let Some(ptxas) = assembler() {
        assemble_with(&ptxas, &[], "aliases-in-registers", &ptx.text);
    }
    for (alias, wanted) in [
        (".alias other, nothing;", "`nothing` is not a function with a body in this file"),
        (".alias other, k;", "`k` is not a function with a body in this file"),
        (".alias another, plus;", "the alias `another` is not declared in this file"),
        (".alias plus, plus;", "`plus` is defined twice"),
        (
            ".func third(.param .b64 a);\n.alias third, plus;\n.alias other, plus;",
            "`third` and `plus` take or return other values",
        ),
        (".alias other plus;\n.alias other, plus;", "expected `,`, found `plus`"),
    ] {
        assert_eq!(messages(alias)[0], wanted, "{alias}");
        assert!(messages(alias).len() <= 2, "{alias}: {:?}", messages(alias));
    }
}

/// Variables of 128 bits are two elements of 64 bits here, and come out as they are declared.
#[test]
fn variables_of_128_bits_are_kept() {
    let module = module(
        ".global .align 16 .b128 g[2] = {1, 2};\n.const .align 16 .b128 c;\n\
         .func (.param .b128 r) twice(.param .align 16 .b128 a, .param .b32 n)\n{\n.reg .b128 %w;\nld.param.b128 %w, \
         [a];\n\
         st.param.b128 [r], %w;\nret;\n}\n\
         .visible .entry k(.param .u64 o, .param .align 16 .b128 p)\n{\n.reg .b128 %q<5>;\n.reg .b64 %rd<5>;\n\
         .shared .align 16 .b128 s[2];\n.local .align 16 .b128 l;\nld.param.u64 %rd1, [o];\nld.param.b128 %q1, [p];\n\
         st.shared.b128 [s+16], %q1;\nst.local.b128 [l], %q1;\nld.global.b128 %q2, [g+16];\nld.const.b128 %q3, [c];\n\
         {\n.param .b128 x;\n.param .b32 y;\n.param .b128 z;\nst.param.b128 [x], %q2;\nst.param.b32 [y], 3;\n\
         call (z), twice, (x, y);\nld.param.b128 %q4, [z];\n}\nst.global.b128 [%rd1], %q4;\nret;\n}\n\
         .visible .entry other(.param .u64 o)\n{\n.reg .b64 %rd<5>;\nld.param.u64 %rd1, [o];\n\
         ld.global.u64 %rd2, [g+16];\nadd.u64 %rd2, %rd2, 5;\nst.global.u64 [%rd1], %rd2;\nret;\n}\n",
    );
    let printed = text::print(&module);
    for line in ["global g: b64[4] = { 1, 0, 2, 0 }", "const c: b64[2]", "p: b64[2]", "shared s: b64[4]"] {
        assert!(printed.contains(line), "{line}\n{printed}");
    }
    let reread = text::parse(&printed);
    assert!(reread.diagnostics.is_empty(), "{:?}", reread.diagnostics);
    for version in [module.clone(), after(&module, "@ptxas")] {
        let ptx = export(&version);
        assert!(ptx.diagnostics.is_empty(), "{:?}", ptx.diagnostics);
        for line in [
            ".global .align 16 .b128 g[2] = {1, 2};",
            ".const .align 16 .b128 c;",
            ".param .align 16 .b128 p",
            ".shared .align 16 .b128 s[2];",
            ".local .align 16 .b128 l;",
            "ld.param.b128 %q1, [p];",
            "st.shared.b128 [s+16], %q1;",
            "st.local.b128 [l], %q1;",
            "ld.global.b128 %q2, [g+16];",
            "ld.const.b128 %q3, [c];",
        ] {
            assert!(ptx.text.contains(line), "{line}\n{}", ptx.text);
        }
        if let Some(ptxas) = assembler() {
            assemble_with(&ptxas, &[], "wide", &ptx.text);
        }
        // What needs no register of 128 bits runs.
        let of_other = launch("launch other {\n    #0 = buffer u64[1] iota\n}\n");
        assert_eq!(simulated(&version, &of_other)[0], 7_u64.to_le_bytes());
    }
}

/// How a reference is read comes out with its declaration.
#[test]
fn samplers_keep_their_properties() {
    let sampler = ".global .samplerref smp = {addr_mode_0 = clamp_to_border, filter_mode = nearest, \
                   force_unnormalized_coords = 1};";
    let fetch = "tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [picture, smp, {%f1, %f1}];";
    let source = |sampler: &str| {
        format!(
            ".version 8.6\n.target sm_90, texmode_independent\n.address_size 64\n{sampler}\n.global .texref picture;\n\
             .visible .entry k(.param .u64 o)\n{{\n.reg .f32 %f<9>;\n.reg .b64 %rd1;\nld.param.u64 %rd1, [o];\n\
             mov.f32 %f1, 0f00000000;\n{fetch}\nst.global.f32 [%rd1], %f2;\nret;\n}}\n"
        )
    };
    let parsed = import(&source(sampler));
    assert!(parsed.diagnostics.iter().all(|found| !found.is_error()), "{:?}", parsed.diagnostics);
    let ptx = export(&parsed.module).text;
    let squeezed = |text: &str| text.replace(' ', "");
    for line in [sampler, fetch] {
        assert!(squeezed(&ptx).contains(&squeezed(line)), "{line}\n{ptx}");
    }
    if let Some(ptxas) = assembler() {
        assemble_with(&ptxas, &[], "samplers", &ptx);
    }
    for (declaration, wanted) in [
        (".global .samplerref smp = {filter_mode nearest};", "expected `=`, found `nearest`"),
        (".global .samplerref smp = 5;", "expected `{`, found `5`"),
        (".global .samplerref smp = {filter_mode = };", "expected a value such as `nearest`, found `}`"),
    ] {
        let found = import(&source(declaration)).diagnostics;
        let messages: Vec<_> = found.iter().filter(|found| found.is_error()).map(|found| &found.message).collect();
        assert_eq!(messages, [wanted], "{declaration}");
    }
}
