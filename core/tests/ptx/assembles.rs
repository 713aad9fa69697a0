//! Whatever loads can be written again so that NVIDIA's assembler accepts it: as it was read, through the text IR,
//! and after passes. The assembler is `ptxas` of CUDA 13, named by `WARPSCOPE_PTXAS`.

use super::inputs::{self, Input};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use warpscope_core::ir::{AtomicOp, Control, FLAG_NAMES, FileHeader, FuncKind, Launch, Module, Op, Passing, Type};
use warpscope_core::machine::Machine;
use warpscope_core::pass::parse_pipeline;
use warpscope_core::ptx::{export, import};
use warpscope_core::session::{Options, Session};
use warpscope_core::sim::{BufferDump, Progress, Settings, Simulation};
use warpscope_core::text;
use warpscope_core::verify::{check, verify};
use warpscope_testkit::laws::run_silently;
use warpscope_testkit::{forms, modifiers, repeats, scattered, sums, together};

/// The assembler, or a visible line that the test did not run.
pub fn assembler() -> Option<PathBuf> {
    let found = std::env::var_os("WARPSCOPE_PTXAS").map(PathBuf::from);
    if found.is_none() {
        let _ = writeln!(std::io::stderr(), "SKIPPED: WARPSCOPE_PTXAS does not name NVIDIA's ptxas");
    }
    found
}

fn assemble(ptxas: &Path, name: &str, ptx: &str) {
    assemble_with(ptxas, &[], name, ptx);
}

/// The operands of a directive at the top of a file.
pub fn directive<'s>(source: &'s str, name: &str) -> &'s str {
    source.lines().find_map(|line| line.trim().strip_prefix(name)).unwrap_or_default().trim()
}

/// Assembles with options for sm_80, or for the text's own target if that is newer; gives the file of the machine code.
pub fn assemble_with(ptxas: &Path, options: &[&str], name: &str, ptx: &str) -> PathBuf {
    let target = directive(ptx, ".target").split(',').next().unwrap_or_default().trim();
    let number = target.trim_start_matches("sm_").trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let is_newer = number.parse::<u32>().is_ok_and(|number| number > 80);
    let architecture = if is_newer { target } else { "sm_80" };
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (file, object) = (folder.join(format!("{name}.ptx")), folder.join(format!("{name}.cubin")));
    std::fs::write(&file, ptx).expect("the target folder is writable");
    let architecture = format!("-arch={architecture}");
    // What another file defines is found by a linker.
    let separate = ptx.contains(".extern .global").then_some("-c");
    let run =
        Command::new(ptxas).arg(architecture).args(separate).args(options).arg(&file).arg("-o").arg(&object).output();
    let run = run.unwrap_or_else(|error| panic!("{}: {error}", ptxas.display()));
    let errors = String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{}: ptxas says\n{errors}", file.display());
    object
}

/// A module as PTX.
pub fn exported(name: &str, module: &Module) -> String {
    let export = export(module);
    let errors: Vec<_> = export.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).collect();
    assert!(errors.is_empty(), "{name}: {errors:?}");
    export.text
}

fn imported(input: &Input) -> Module {
    let parsed = import(&input.source);
    let errors: Vec<_> = parsed.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).collect();
    assert!(errors.is_empty(), "{}: {errors:?}", input.name);
    parsed.module
}

#[test]
fn what_loads_prints_as_text_that_reads_the_same() {
    for input in inputs::all() {
        let module = imported(&input);
        let printed = text::print(&module);
        let again = text::parse(&printed);
        assert!(again.diagnostics.is_empty(), "{}: {:?}", input.name, again.diagnostics);
        assert_eq!(text::print(&again.module), printed, "{}", input.name);
        // The text does not keep how PTX declares things.
        let (first, second) = (exported(&input.name, &undeclared(module)), exported(&input.name, &again.module));
        // The order in which registers are declared is that of their numbers, which the text does not keep.
        let statements =
            |ptx: &str| ptx.lines().filter(|line| !line.contains(".reg ")).map(String::from).collect::<Vec<_>>();
        assert!(statements(&first) == statements(&second), "{}:\n{first}\n{second}", input.name);
    }
}

/// The module as if it had not been read from PTX.
fn undeclared(mut module: Module) -> Module {
    module.header = None;
    module.declarations.clear();
    module.globals.values_mut().for_each(|global| global.declaration = None);
    for func in module.funcs.values_mut() {
        func.declaration = None;
        func.pragmas.clear();
        func.aliases.clear();
        for inst in func.insts.values_mut() {
            if let Some(Control::Call(call)) = inst.control.as_deref_mut() {
                call.callee.alias = None;
            }
        }
        func.result_declaration = None;
        func.params.iter_mut().for_each(|param| (param.passing, param.declaration) = (Passing::Value, None));
        func.arrays.values_mut().for_each(|array| (array.is_of_file, array.declaration) = (false, None));
    }
    module
}

#[test]
fn what_is_written_loads_again() {
    for input in inputs::all() {
        let written = exported(&input.name, &imported(&input));
        let again = import(&written);
        let errors: Vec<_> = again.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).collect();
        assert!(errors.is_empty(), "{}: {errors:?}\n{written}", input.name);
    }
}

#[test]
fn what_is_written_assembles() {
    let Some(ptxas) = assembler() else { return };
    for input in inputs::all() {
        assemble(&ptxas, &input.name, &exported(&input.name, &imported(&input)));
    }
}

#[test]
fn what_loads_satisfies_the_verifier() {
    for input in inputs::all() {
        let errors: Vec<_> = verify(&imported(&input)).into_iter().filter(|diagnostic| diagnostic.is_error()).collect();
        assert!(errors.is_empty(), "{}: {errors:?}", input.name);
    }
}

#[test]
fn what_passes_make_of_it_assembles() {
    let Some(ptxas) = assembler() else { return };
    for pipeline in
        ["infer-space", "infer-space,general-optimize", "infer-space,@ptxas", "infer-space,azp[instrument=true]"]
    {
        let steps = parse_pipeline(pipeline).expect("a pipeline");
        for input in inputs::all() {
            let options = Options { steps: steps.clone(), ..Options::default() };
            let session = Session::open(imported(&input), &options, &mut || 0);
            let name = format!("{}.{}", pipeline.replace(',', "."), input.name);
            assemble(&ptxas, &name, &exported(&name, session.module()));
        }
    }
}

/// Features of the text IR alone: scaled indices, special registers as operands, defaults, carries far from their
/// definition, predicates passed to functions, guarded calls, addresses in two forms.
const EVERYTHING: &str = include_str!("everything.wir");

#[test]
fn programs_written_by_hand_assemble() {
    let parsed = text::parse(EVERYTHING);
    assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
    let errors: Vec<_> = verify(&parsed.module).into_iter().filter(|diagnostic| diagnostic.is_error()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    let ptx = exported("everything", &parsed.module);
    assert!(import(&ptx).diagnostics.is_empty());
    if let Some(ptxas) = assembler() {
        assemble(&ptxas, "everything", &ptx);
    }
}

/// Every golden program, as it is and after the longest pipeline, unless PTX cannot say it.
#[test]
fn every_golden_program_assembles() {
    let Some(ptxas) = assembler() else { return };
    let steps = parse_pipeline("@ptxas").expect("a pipeline");
    let mut assembled = 0;
    for golden in inputs::golden() {
        let read = match golden.name.strip_suffix(".ptx") {
            Some(_) => import(&golden.source),
            None => text::parse(&golden.source),
        };
        if read.diagnostics.iter().any(|diagnostic| diagnostic.is_error()) {
            continue;
        }
        let after = run_silently(&read.module, &steps, false);
        for (stage, module) in [("read", &read.module), ("optimised", &after)] {
            let export = export(module);
            if !export.diagnostics.iter().any(|diagnostic| diagnostic.is_error()) {
                assemble_with(&ptxas, &["-O0"], &format!("golden.{stage}.{}", golden.name), &export.text);
                assembled += 1;
            }
        }
    }
    assert!(assembled > 400, "only {assembled} programs are assembled");
}

/// Generated programs, as they are and after the longest pipeline.
#[test]
fn generated_programs_assemble() {
    let Some(ptxas) = assembler() else { return };
    let steps = parse_pipeline("@ptxas").expect("a pipeline");
    for (number, source) in generated().iter().enumerate() {
        let module = text::parse(source).module;
        let after = run_silently(&module, &steps, false);
        for (stage, module) in [("read", &module), ("optimised", &after)] {
            let name = format!("generated.{stage}.{number}");
            assemble_with(&ptxas, &["-O0"], &name, &exported(&name, module));
        }
    }
}

/// Texts of programs of several kinds, always the same ones.
fn generated() -> Vec<String> {
    fn draw<T: std::fmt::Debug>(strategy: impl Strategy<Value = T>, program: fn(&T) -> String) -> Vec<String> {
        let mut runner = TestRunner::deterministic();
        let mut next = || strategy.new_tree(&mut runner).expect("the strategy rejects nothing").current();
        (0..8).map(|_| program(&next())).collect()
    }
    [
        draw(modifiers::modifiers(), modifiers::program),
        draw(repeats::repeats(), repeats::program),
        draw(scattered::scattered(), scattered::program),
        draw(sums::sums(), sums::program),
    ]
    .concat()
}

/// Positions and lengths of bit fields beyond a byte, which the assembler does not take as numbers.
#[test]
fn wide_positions_of_bit_fields_assemble() {
    let source = "kernel k(o: ptr.global) {\nentry:\n    a = mov.u32 %tid\n    b = bfe.u32 a, 256, 0xffffffff\n    \
                  c = bfi.b32 a, b, 300, 511\n    st.global.u32 o[0], c\n    ret\n}\n";
    let written = exported("fields", &text::parse(source).module);
    assert!(
        written.contains("bfe.u32 %b, %a, 0, 255;") && written.contains("bfi.b32 %c, %a, %b, 44, 255;"),
        "{written}"
    );
    if let Some(ptxas) = assembler() {
        assemble(&ptxas, "fields", &written);
    }
}

#[test]
fn a_guard_that_makes_no_difference_is_left_out() {
    let source = "\
kernel f(n: u32, y: ptr.global) {
entry:
    p = setp.lt.u32 n, 8
    q = setp.lt.u32 n, 4
    @p a = shl.b32 n, 2
    @p b = add.u32 a, 1
    @p st.global.u32 y[0], b
    @p c = add.u32 n, 3
    @q st.global.u32 y[1], c
    d = mov.u32 n
    @p d = add.u32 n, 5
    st.global.u32 y[2], d
    @p h = add.u32 n, 13
    @!p i = add.u32 n, 15
    s = selp.u32 h, i, p
    @p j = add.u32 n, 17
    @!p k = add.u32 n, 19
    t = selp.u32 k, j, p
    st.global.u32 y[6], s
    st.global.u32 y[7], t
    @p e = div.u32 n, 7
    @p st.global.u32 y[3], e
    @p f = add.u32 n, 9
    p = mov.pred q
    @p st.global.u32 y[4], f
    @p g = add.u32 n, 11
    br next
next:
    @p st.global.u32 y[5], g
    ret
}
";
    let text = export(&text::parse(source).module).text;
    let is_guarded = |operation: &str| {
        let line = text.lines().find(|line| line.contains(operation)).expect(operation);
        line.trim_start().starts_with('@')
    };
    let needless = ["shl.b32 %a", "add.u32 %b", "add.u32 %h", "add.u32 %i"];
    assert!(!needless.into_iter().any(is_guarded), "{text}");
    // Read under another guard, behind another write, under a guard that has changed, in another block, where the guard
    // does not hold; or long.
    let needed = [
        "add.u32 %j",
        "add.u32 %k",
        "add.u32 %c",
        "add.u32 %d",
        "div.u32 %e",
        "add.u32 %f",
        "add.u32 %g",
        "st.global.u32 [%y], %b",
    ];
    assert!(needed.into_iter().all(is_guarded), "{text}");
}

#[test]
fn lists_loads_that_must_not_fault_with_their_lines() {
    let source =
        "kernel k(x: ptr.global) {\nentry:\n    a = ld.global.spec.f32 x[2]\n    st.global.f32 x[0], a\n    ret\n}\n";
    let export = export(&text::parse(source).module);
    assert!(export.diagnostics.is_empty(), "{:?}", export.diagnostics);
    let [load] = &export.plain_loads[..] else { panic!("{:?}", export.plain_loads) };
    let line = export.text.lines().position(|line| line.contains("ld.global.f32")).expect("the load") + 1;
    assert_eq!(load.line as usize, line);
    assert_eq!(load.to_string(), "`a = ld.global.spec.f32 x[2]` in block `entry` of `k`");
}

#[test]
fn what_ptx_cannot_say_is_reported_and_left_out() {
    let source = "\
func choice() -> u32 {
    input x: u32
entry:
    a = in.u32 x
    ret a
}
kernel draws(y: ptr.global) {
entry:
    a = call choice()
    st.global.u32 y[0], a
    ret
}
kernel good(y: ptr.global) {
entry:
    st.global.u32 y[0], 1
    ret
}
";
    let export = export(&text::parse(source).module);
    let messages: Vec<&str> = export.diagnostics.iter().map(|diagnostic| diagnostic.message.as_str()).collect();
    assert_eq!(
        messages,
        [
            "`choice`: `in` draws from outside the program, which PTX cannot express",
            "`draws` calls `choice`, which PTX cannot express",
        ]
    );
    assert!(export.text.contains("good") && !export.text.contains("draws"));
}

/// Every form of every pure operation that the text IR accepts, in modules of some dozen kernels. What PTX has not is
/// reported and left out, and nothing else is.
#[test]
fn every_form_of_an_operation_assembles_or_is_reported() {
    let Some(ptxas) = assembler() else { return };
    let mut inexpressible = Vec::new();
    for (number, group) in forms::groups().iter().enumerate() {
        let export = export(&forms::module(group));
        let errors = export.diagnostics.iter().filter(|diagnostic| diagnostic.is_error());
        inexpressible.extend(errors.map(|error| error.message.clone()));
        assemble_with(&ptxas, &["-O0"], &format!("forms.{number}"), &export.text);
    }
    assert!(inexpressible.iter().all(|message| message.contains("PTX has no")), "{inexpressible:#?}");
    assert!(inexpressible.len() < 60, "{} forms are inexpressible: {inexpressible:#?}", inexpressible.len());
}

/// Lines with every pair of modifiers of what accesses memory, and every atomic of every type.
fn accesses() -> Vec<String> {
    let spaces = [("", "x"), (".global", "x"), (".shared", "t")];
    let mut lines = Vec::new();
    for (op, operands) in [(Op::Ld, "v = ld§ $[1]"), (Op::St, "st§ $[1], v"), (Op::Membar, "membar§")] {
        let flags = FLAG_NAMES.iter().filter(|(flag, name)| op.allowed_flags().contains(*flag) && *name != "spec");
        let names: Vec<&str> = flags.map(|(_, name)| *name).collect();
        for first in &names {
            for second in names.iter().filter(|second| *second >= first) {
                let pair = if first == second { format!(".{first}") } else { format!(".{first}.{second}") };
                for (space, place) in &spaces[..if op == Op::Membar { 1 } else { 3 }] {
                    let ty = if op == Op::Membar { "" } else { ".u32" };
                    lines.push(operands.replace('§', &format!("{space}{pair}{ty}")).replace('$', place));
                }
            }
        }
    }
    for (root, atomic) in [Op::Atom, Op::Red].into_iter().flat_map(|op| AtomicOp::ALL.iter().map(move |of| (op, of))) {
        for ty in Type::ALL.into_iter().filter(|ty| root.allows(*ty)) {
            for order in ["", ".relaxed", ".acquire.cta", ".release.sys", ".acq_rel.gpu"] {
                let (dst, second) =
                    (if root == Op::Atom { "o = " } else { "" }, if *atomic == AtomicOp::Cas { ", c" } else { "" });
                let (name, of) = (root.name(), atomic.name());
                lines.push(format!("c = mov.{ty} 0\n    {dst}{name}.global{order}.{of}.{ty} x[1], c{second}"));
            }
        }
    }
    lines
}

/// A kernel with a line of [`accesses`]; none where the text IR does not take it.
fn access(number: usize, line: &str) -> Option<Module> {
    let source = format!(
        "kernel k{number}(x: ptr) {{\n    shared t: u32[4]\nentry:\n    v = mov.u32 1\n    {line}\n    ret\n}}\n"
    );
    let parsed = check(&source);
    (!parsed.diagnostics.iter().any(|diagnostic| diagnostic.is_error())).then_some(parsed.module)
}

/// Every pair of modifiers of what accesses memory, every atomic of every type, in all the spaces that matter.
#[test]
fn every_form_of_an_access_assembles_or_is_reported() {
    let Some(ptxas) = assembler() else { return };
    let (mut written, mut reported) = (String::new(), Vec::new());
    let mut count = 0;
    for (number, line) in accesses().iter().enumerate() {
        let Some(module) = access(number, line) else { continue };
        let export = export(&module);
        match export.diagnostics.iter().find(|diagnostic| diagnostic.is_error()) {
            Some(error) => reported.push(error.message.clone()),
            None => {
                // Each text has a head of its own.
                written += export.text.split_once(".address_size 64\n").expect("a head").1;
                count += 1;
            }
        }
    }
    assert!(count > 200, "only {count} forms are written");
    assert!(reported.iter().all(|message| message.contains("PTX has no")), "{reported:#?}");
    assemble_with(&ptxas, &["-O0"], "accesses", &format!(".version 7.0\n.target sm_80\n.address_size 64\n{written}"));
}

/// Writing leaves out modifiers and puts others in their place; what is computed stays the same.
#[test]
fn every_form_of_an_operation_computes_the_same_after_it_is_written_and_read() {
    let mut compared = 0;
    for group in forms::groups() {
        let module = forms::module(&group);
        let again = import(&export(&module).text).module;
        for (form, launch) in group.iter().zip(forms::launches(&group, 256)) {
            if again.func_by_name(&launch.kernel).is_none() {
                continue;
            }
            let result = |module: &Module, launch: &Launch| {
                let kernel = module.func_by_name(&launch.kernel).expect("the kernel");
                let mut run: Simulation =
                    Simulation::new(module, kernel, launch, &Settings::default(), Machine::Unit).expect("it fits");
                assert_eq!(run.run(u64::MAX), Ok(Progress::Done), "{form}");
                // PTX moves f16 as bits, so a NaN of it keeps what it came with.
                let one_nan = |ty: Type, bits: u64| if is_nan(ty, bits) { u64::MAX } else { bits };
                let elements =
                    |buffer: BufferDump| buffer.elements.into_iter().map(move |bits| one_nan(buffer.ty, bits));
                run.dump().into_iter().flat_map(elements).collect::<Vec<u64>>()
            };
            let (written, here) = (result(&again, &launch), result(&module, &launch));
            let difference = written.iter().zip(&here).position(|(a, b)| a != b);
            assert!(difference.is_none(), "{form}: element {difference:?} of all buffers");
            compared += 1;
        }
    }
    assert!(compared > 3500, "only {compared} forms were compared");
}

/// Every form, in a program that was read with the first version that has `.address_size`,
/// assembles under the version and target that it is raised to. Forms that ask for the same share a
/// module.
#[test]
fn raises_version_and_target_as_far_as_each_form_asks() {
    let Some(ptxas) = assembler() else { return };
    let forms = forms::forms();
    let mut modules: Vec<Module> = forms.chunks(1).map(forms::module).collect();
    modules.extend(accesses().iter().enumerate().filter_map(|(number, line)| access(number, line)));
    modules.extend(together::programs().iter().map(|(_, source)| text::parse(source).module));
    let mut bodies: BTreeMap<String, String> = BTreeMap::new();
    for (number, mut module) in modules.into_iter().enumerate() {
        module.header = Some(FileHeader { version: (2, 3), target: vec!["sm_20".into()], directives: Vec::new() });
        for func in module.funcs.values_mut().filter(|func| func.kind == FuncKind::Kernel) {
            func.name = format!("form{number}");
        }
        let export = export(&module);
        if export.diagnostics.iter().all(|diagnostic| !diagnostic.is_error()) {
            let (head, body) = export.text.split_once(".address_size 64\n").expect("a head");
            bodies.entry(head.to_owned()).or_default().push_str(body);
        }
    }
    assert!(bodies.len() > 8, "{:?}", bodies.keys());
    for (number, (head, body)) in bodies.iter().enumerate() {
        let text = format!("{head}.address_size 64\n{body}");
        assemble_with(&ptxas, &["-O0"], &format!("versions.{number}"), &text);
    }
}

/// Votes, shuffles, matches, barriers and atomics: what is written assembles, and computes the same when it is read.
#[test]
fn what_lanes_do_together_computes_the_same_after_it_is_written_and_read() {
    let mut written = String::new();
    for (number, (name, source)) in together::programs().into_iter().enumerate() {
        let module = text::parse(&source.replace("kernel k(", &format!("kernel k{number}("))).module;
        let text = exported(&name, &module);
        let [mut launch] = text::parse(&source).module.launches.try_into().expect("one launch");
        launch.kernel = format!("k{number}");
        let of = |module: &Module| super::examples::simulated(module, &launch);
        assert_eq!(of(&import(&text).module), of(&module), "{name}");
        written += text.split_once(".address_size 64\n").expect("a head").1;
    }
    if let Some(ptxas) = assembler() {
        let head = ".version 7.0\n.target sm_80\n.address_size 64\n";
        assemble_with(&ptxas, &["-O0"], "together", &format!("{head}{written}"));
    }
}

#[test]
fn a_register_that_may_be_read_unassigned_starts_as_the_zero_that_it_is_here() {
    let source = "kernel k(n: u32, o: ptr.global) {\nentry:\n    p = setp.eq.u32 n, 0\n    br p, some, all\nsome:\n    \
                  x = mov.f64 2.0\n    q = mov.pred 1\n    br all\nall:\n    @q st.global.f64 o[0], x\n    ret\n}\n";
    let written = export(&text::parse(source).module).text;
    for line in ["mov.f64 %x, 0d0000000000000000;", "mov.pred %q, 0;"] {
        assert_eq!(written.matches(line).count(), 1, "{line}\n{written}");
    }
    // Its own result has nothing left to assign.
    let again = export(&import(&written).module).text;
    assert_eq!(again.matches("mov.f64 %x, 0d0000000000000000;").count(), 1, "{again}");
    assemble_if_possible("unassigned", &written);
}

fn is_nan(ty: Type, bits: u64) -> bool {
    let infinity = match ty {
        Type::F16 => 0x7C00,
        Type::F32 => 0x7F80_0000,
        _ => 0x7FF0_0000_0000_0000,
    };
    ty.is_float() && bits & (ty.mask() >> 1) > infinity
}

fn assemble_if_possible(name: &str, ptx: &str) {
    if let Some(ptxas) = assembler() {
        assemble(&ptxas, name, ptx);
    }
}
