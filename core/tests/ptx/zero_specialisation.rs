//! Every kernel that zero specialisation is measured on: after each variant it leaves what it left
//! before, but for the sign of zeros, with the zeros of its launch, without any, with nothing else,
//! and where they lie elsewhere.

use super::examples::{floats, simulated};
use super::{inputs, oracle};
use warpscope_core::ir::{Fill, Launch, Module, Opcode};
use warpscope_core::machine::Machine;
use warpscope_core::pass::parse_pipeline;
use warpscope_core::profile::declare;
use warpscope_core::ptx::{export, import};
use warpscope_core::report::{Wanted, measure, simulate};
use warpscope_core::session::{Options, Session};
use warpscope_core::sim::{Knob, Settings, settled};
use warpscope_core::text;

/// Variants of the table: by a vote, lane by lane, and with thresholds so low that several candidates pass.
const VARIANTS: [&str; 4] =
    ["azp", "azp[heuristic=oracle]", "azp[divergent=true,min_cycles=5]", "azp[min_cycles=0,p_thresh=0.1]"];

const KERNELS: [&str; 14] = [
    "decal",
    "diffuse",
    "emissive",
    "fog",
    "foliage",
    "lights",
    "occlusion",
    "particle",
    "shadow",
    "skin",
    "sparse",
    "spot",
    "terrain",
    "wetness",
];

/// A kernel with its launch and the zeros that are counted in it.
fn read(name: &str) -> (Module, Launch) {
    let folder = inputs::zero_specialisation_folder();
    let mut module = import(&inputs::read(&folder.join(format!("{name}.O3.ptx")))).module;
    let parsed = text::parse(&inputs::read(&folder.join(format!("{name}.launch.wir"))));
    assert!(parsed.diagnostics.is_empty(), "{name}: {:?}", parsed.diagnostics);
    let [launch] = &parsed.module.launches[..] else { panic!("{name}: one launch a file") };
    module.launches.push(launch.clone());
    let kernel = module.func_by_name(&launch.kernel).expect("the launch's kernel");
    let counted = measure(&module, kernel, &Settings::default(), Machine::Turing);
    declare(&mut module, &counted.expect("a run without errors"));
    (module, launch.clone())
}

fn after(module: &Module, pass: &str) -> Module {
    let steps = parse_pipeline(&format!("infer-space,{pass},copy-prop,dce")).expect("a pipeline");
    let options = Options { steps, fast_math: true, ..Options::default() };
    let session = Session::open(module.clone(), &options, &mut || 0);
    assert!(session.reports().iter().all(|report| report.error.is_none()), "{pass} is refused");
    session.module().clone()
}

/// The launch as it is; with zeros elsewhere, and lanes that agree about nothing; without zeros; with nothing else.
fn launches(module: &Module, launch: &Launch) -> Vec<Launch> {
    let kernel = &module.funcs[module.func_by_name(&launch.kernel).expect("the launch's kernel")];
    let is_drawn = |index: &usize| {
        let fill = &launch.binding(*index, &kernel.params[*index].name).expect("a whole launch").fill;
        matches!(fill, Fill::Buffer { values, .. } | Fill::Texture { values, .. } if values.zero.is_some())
    };
    let drawn: Vec<&str> = (0..kernel.params.len()).filter(is_drawn).map(|index| &*kernel.params[index].name).collect();
    let turned = |knob: Knob| drawn.iter().map(|name| (name.to_string(), knob)).collect::<Vec<_>>();
    let of = |settings: Settings| settled(module, kernel, launch, &settings).expect("settings that fit");
    vec![
        launch.clone(),
        of(Settings { seed: Some(7), knobs: turned(Knob::Coherence(0.0)), ..Settings::default() }),
        of(Settings { knobs: turned(Knob::Zero(0.0)), ..Settings::default() }),
        of(Settings { knobs: turned(Knob::Zero(1.0)), ..Settings::default() }),
    ]
}

/// Every float is the same number; zeros of both signs are.
fn assert_same(found: &[Vec<u8>], expected: &[Vec<u8>], what: &str) {
    for (buffer, (found, expected)) in found.iter().zip(expected).enumerate() {
        for (index, (found, expected)) in floats(found).into_iter().zip(floats(expected)).enumerate() {
            assert!(
                expected.is_finite() && found == expected,
                "{what}: {found} is not {expected} at {buffer}[{index}]"
            );
        }
    }
}

#[test]
fn each_kernel_has_its_launch_and_a_test_here() {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(inputs::zero_specialisation_folder()).expect("the kernels") {
        let path = entry.expect("a readable folder").path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".cu")) else { continue };
        let (module, launch) = read(name);
        let kernel = module.func_by_name(&launch.kernel).expect("the launch's kernel");
        assert_eq!(launch.bindings.len(), module.funcs[kernel].params.len(), "{name}");
        let ptx = inputs::read(&path.with_file_name(format!("{name}.O3.ptx")));
        let command = format!("nvcc -ptx -arch=sm_80 -O3 {name}.cu -o {name}.O3.ptx");
        assert_eq!(ptx.lines().next(), Some(&*format!("// {command}")));
        let source = inputs::read(&path);
        assert!(source.contains(&format!("//   {command}\n")), "{name}");
        assert!(source.contains("// Zero: "), "{name} says what is zero, how often, and why");
        names.push(name.to_string());
    }
    names.sort();
    assert_eq!(names, KERNELS);
}

#[test]
fn zeros_of_any_launch_lead_to_what_was_computed_before() {
    for name in KERNELS {
        let (module, launch) = read(name);
        let plain: Vec<Vec<Vec<u8>>> =
            launches(&module, &launch).iter().map(|launch| simulated(&module, launch)).collect();
        let is_versioned = |module: &Module| {
            let insts = module.funcs.values().flat_map(|func| {
                func.block_order().flat_map(|block| func.block_insts(block).map(|inst| func.insts[inst].opcode))
            });
            insts.filter(|opcode| *opcode == Opcode::untyped(warpscope_core::ir::Op::VoteAll)).count()
        };
        for variant in VARIANTS {
            let optimised = after(&module, variant);
            let written = import(&export(&optimised).text).module;
            for (number, launch) in launches(&module, &launch).iter().enumerate() {
                let what = format!("{name} after {variant}, launch {number}");
                assert_same(&simulated(&optimised, launch), &plain[number], &what);
                assert_same(&simulated(&written, launch), &plain[number], &format!("{what}, written and read"));
            }
            let count = is_versioned(&optimised);
            assert!(
                !variant.contains("min_cycles=0") || count > 0,
                "{name}: something is zero often enough to be tried"
            );
        }
    }
}

#[test]
fn kernels_compute_what_the_slow_interpreter_does() {
    for name in KERNELS {
        let (module, launch) = read(name);
        let plain = |memory: oracle::Memory| memory.into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>();
        for launch in launches(&module, &launch) {
            let expected = plain(oracle::run(&module, &launch).1);
            let found = simulated(&module, &launch);
            for (found, expected) in found.iter().zip(&expected).filter(|(_, expected)| !expected.is_empty()) {
                for (found, expected) in floats(found).into_iter().zip(floats(expected)) {
                    let error = (found - expected).abs();
                    // Approximate functions are the host's in the interpreter.
                    assert!(error <= 1e-4 * expected.abs().max(1.0), "{name}: {found}, not {expected}");
                }
            }
        }
    }
}

#[test]
fn the_oracle_is_never_behind_the_default_nor_behind_doing_nothing() {
    let knobs = ["", "min_cycles=0,", "min_cycles=0,p_thresh=0.05,", "min_cycles=0,threshold_rule=printed,"];
    let mut refusals = 0;
    for name in KERNELS {
        let (module, launch) = read(name);
        let cycles = |module: &Module| {
            let kernel = module.func_by_name(&launch.kernel).expect("the launch's kernel");
            let nothing = Wanted::default();
            let report = simulate(module, kernel, &Settings::default(), Machine::Turing, nothing);
            report.expect("a run without errors").result.cycles
        };
        for knobs in knobs {
            let after = |heuristic: &str| {
                let steps = parse_pipeline(&format!("azp[{knobs}machine=turing,heuristic={heuristic}]"));
                let options = Options { steps: steps.expect("a pipeline"), fast_math: true, ..Options::default() };
                Session::open(module.clone(), &options, &mut || 0)
            };
            let oracle = after("oracle");
            let (least, by_default) = (cycles(oracle.module()), cycles(after("default").module()));
            assert!(least <= by_default.min(cycles(&module)), "{name} with {knobs}: {least} cycles, not {by_default}");
            let events = oracle.journal().events();
            refusals += events.iter().filter(|event| event.remark.rule == "oracle").count();
            for applied in events.iter().filter(|event| event.is_rewrite()) {
                assert!(applied.remark.facts.iter().any(|(name, _)| *name == "cycles_after"), "{name}: it was run");
            }
        }
    }
    assert!(refusals > 0, "nothing was ever refused");
}
