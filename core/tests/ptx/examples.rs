//! Every CUDA example, in both flavours, as read, after passes and written out and read again: what it leaves in
//! memory is what a reference written here computes, in the simulator and in the oracle.

use super::{inputs, oracle};
use warpscope_core::ir::{Fill, Function, Launch, Module, Op, Type};
use warpscope_core::machine::Machine;
use warpscope_core::pass::parse_pipeline;
use warpscope_core::ptx::{export, import};
use warpscope_core::session::{Options, Session};
use warpscope_core::sim::{Progress, Settings, Simulation};
use warpscope_core::text;

/// A buffer as numbers.
pub fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

/// Reads the bytes as integers.
pub fn ints(bytes: &[u8]) -> Vec<i32> {
    bytes.chunks_exact(4).map(|bytes| i32::from_le_bytes(bytes.try_into().unwrap())).collect()
}

/// The programs that must agree: two flavours, each as read, through PTX again, and after passes.
fn versions(name: &str) -> Vec<(String, Module)> {
    let mut versions = Vec::new();
    for flavour in ["O3", "O0"] {
        let source = inputs::read(&inputs::examples_folder().join(format!("{name}.{flavour}.ptx")));
        let module = import(&source).module;
        versions.push((format!("{flavour} written and read"), import(&export(&module).text).module));
        for pipeline in ["infer-space", "infer-space,general-optimize", "infer-space,@ptxas"] {
            let options = Options { steps: parse_pipeline(pipeline).expect("a pipeline"), ..Options::default() };
            let session = Session::open(module.clone(), &options, &mut || 0);
            versions.push((format!("{flavour} after {pipeline}"), session.module().clone()));
            let written = export(session.module()).text;
            versions.push((format!("{flavour} after {pipeline}, written and read"), import(&written).module));
        }
        versions.push((flavour.to_string(), module));
    }
    versions
}

/// Runs every version and hands memory before and after to `check`.
fn for_each_run(name: &str, check: impl Fn(&str, &[Vec<u8>], &[Vec<u8>])) {
    let launch = inputs::read(&inputs::examples_folder().join(format!("{name}.launch.wir")));
    let launch: Launch = text::parse(&launch).module.launches.remove(0);
    let plain = |memory: oracle::Memory| memory.into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>();
    for (version, module) in versions(name) {
        let (before, after) = oracle::run(&module, &launch);
        let before = plain(before);
        check(&format!("{name} {version}"), &before, &plain(after));
        check(&format!("{name} {version}, simulated"), &before, &simulated(&module, &launch));
    }
}

/// The bytes of each parameter's buffer after a run of the simulator from the same memory.
pub fn simulated(module: &Module, launch: &Launch) -> Vec<Vec<u8>> {
    let kernel = module.func_by_name(&launch.kernel).expect("the launch's kernel");
    let (launch, settings) = (oracle::written_out(launch), Settings::default());
    let mut run: Simulation =
        Simulation::new(module, kernel, &launch, &settings, Machine::Ampere).expect("a launch that fits");
    assert_eq!(run.run(u64::MAX), Ok(Progress::Done), "{}", launch.kernel);
    let dump = run.dump();
    let buffer = |name: &str| dump.iter().find(|buffer| buffer.name == name);
    let params = module.funcs[kernel].params.iter();
    params
        .map(|param| {
            let buffer = buffer(&param.name).map(|buffer| (buffer.ty.bytes() as usize, &buffer.elements));
            let bytes = buffer
                .map(|(width, elements)| elements.iter().flat_map(move |bits| bits.to_le_bytes()[..width].to_vec()));
            bytes.map(Iterator::collect).unwrap_or_default()
        })
        .collect()
}

/// Equal up to a few units in the last place, for results that sums and approximate functions go into.
pub fn assert_close(what: &str, got: &[f32], wanted: &[f32]) {
    assert_eq!(got.len(), wanted.len(), "{what}");
    for (k, (&got, &wanted)) in got.iter().zip(wanted).enumerate() {
        let error = (got - wanted).abs();
        assert!(error <= 2e-5 * wanted.abs().max(1.0), "{what}: element {k} is {got}, not {wanted}");
    }
    assert!(wanted.iter().any(|&value| value != 0.0), "{what}: the reference computes nothing");
}

#[test]
fn saxpy() {
    for_each_run("saxpy", |what, before, after| {
        let (x, y) = (floats(&before[2]), floats(&before[3]));
        let wanted: Vec<f32> = (0..256).map(|i| if i < 250 { 2.0 * x[i] + y[i] } else { y[i] }).collect();
        assert_close(what, &floats(&after[3]), &wanted);
    });
}

#[test]
fn bfs() {
    for_each_run("bfs", |what, before, after| {
        let (row, edges, level) = (ints(&before[2]), ints(&before[3]), ints(&before[4]));
        let mut wanted = level.clone();
        for node in (0..96).filter(|&node| level[node] == 2) {
            for &neighbour in &edges[row[node] as usize..row[node + 1] as usize] {
                let place = &mut wanted[neighbour as usize];
                *place = if *place < 0 { 3 } else { *place };
            }
        }
        assert_eq!(wanted.iter().filter(|&&level| level == 3).count(), 20, "the graph's third level");
        assert_eq!(ints(&after[4]), wanted, "{what}");
        assert_eq!(ints(&after[5]), [1], "{what}");
    });
}

#[test]
fn stencil() {
    for_each_run("stencil", |what, before, after| {
        let cells = floats(&before[3]);
        let cell = |x: i32, y: i32| cells[(y.clamp(0, 19) * 40 + x.clamp(0, 39)) as usize];
        let mut wanted = Vec::new();
        for y in 0..20 {
            for x in 0..40 {
                let around = cell(x - 1, y) + cell(x + 1, y) + cell(x, y - 1) + cell(x, y + 1);
                wanted.push(cell(x, y) + 0.2 * (around - 4.0 * cell(x, y)));
            }
        }
        assert_close(what, &floats(&after[4]), &wanted);
    });
}

#[test]
fn reduce() {
    for_each_run("reduce", |what, before, after| {
        let wanted: Vec<f32> = floats(&before[1]).chunks(64).map(|chunk| chunk.iter().sum()).collect();
        assert_close(what, &floats(&after[2]), &wanted);
    });
}

#[test]
fn histogram() {
    for_each_run("histogram", |what, before, after| {
        let mut wanted = vec![0; 64];
        before[1].iter().for_each(|&byte| wanted[usize::from(byte >> 2)] += 1);
        assert_eq!(ints(&after[2]), wanted, "{what}");
    });
}

#[test]
fn collatz() {
    for_each_run("collatz", |what, _, after| {
        let steps = |first: u64| {
            let (mut value, mut count) = (first, 0);
            while value > 1 {
                value = if value % 2 == 1 { 3 * value + 1 } else { value / 2 };
                count += 1;
            }
            count
        };
        let wanted: Vec<i32> = (1..=256).map(|value| if value <= 250 { steps(value) } else { 0 }).collect();
        assert_eq!(ints(&after[2]), wanted, "{what}");
    });
}

#[test]
fn bilateral() {
    for_each_run("bilateral", |what, before, after| {
        let pixels = floats(&before[3]);
        let likeness = |a: f32, b: f32| (-4.0 * (a - b) * (a - b)).exp2();
        let mut wanted = vec![0.0; 720];
        for strip in 0..60 {
            for step in 1..11 {
                let at = |step: usize| pixels[step * 60 + strip];
                let (before, here, next) = (at(step - 1), at(step), at(step + 1));
                let (w0, w1) = (likeness(before, here), likeness(next, here));
                wanted[step * 60 + strip] = (w0 * before + here + w1 * next) / (w0 + 1.0 + w1);
            }
        }
        assert_close(what, &floats(&after[4]), &wanted);
    });
}

#[test]
fn lighting() {
    let launch = text::parse(&inputs::read(&inputs::examples_folder().join("lighting.launch.wir"))).module;
    let texels = |index: u64| oracle::texels(&launch.launches[0], index);
    let (normals, albedo) = (texels(3), texels(4));
    for_each_run("lighting", |what, _, after| {
        let mut wanted = Vec::new();
        for texel in 0..24 * 12 {
            let [nx, ny, nz, _] = normals[4 * texel..][..4].try_into().unwrap();
            let base: [f32; 4] = albedo[4 * texel..][..4].try_into().unwrap();
            let length = 1.0 / (nx * nx + ny * ny + nz * nz + 1e-6f32).sqrt();
            let diffuse = ((nx * 0.48 + ny * 0.6 + nz * 0.64) * length).clamp(0.0, 1.0);
            let specular = if diffuse > 0.0 { (16.0 * diffuse.log2()).exp2() } else { 0.0 };
            let colour = [1.0, 0.875, 0.75];
            wanted.extend((0..3).map(|k| base[k] * colour[k] * diffuse + specular));
            wanted.push(base[3]);
        }
        assert_close(what, &floats(&after[5]), &wanted);
    });
}

/// Does the kernel have no instruction that is only kept?
fn is_simulated(kernel: &Function) -> bool {
    let mut insts = kernel.block_order().flat_map(|block| kernel.block_insts(block));
    insts.all(|inst| !matches!(kernel.insts[inst].opcode.op, Op::Ptx | Op::BarArrive))
}

/// The examples and the corpus under the launches that are derived for them: nothing reaches outside its memory, and
/// what was written and read again computes the same.
#[test]
fn derived_launches_run() {
    let mut ran = 0;
    for input in inputs::all() {
        let module = import(&input.source).module;
        let again = import(&export(&module).text).module;
        for kernel in module.kernels().map(|kernel| &module.funcs[kernel]).filter(|kernel| is_simulated(kernel)) {
            let launch = warpscope_core::derive::derive_launch(&module, kernel);
            let (first, second) = (simulated(&module, &launch), simulated(&again, &launch));
            assert!(first == second, "{}: {}", input.name, kernel.name);
            if oracle::is_refused(&module, kernel) {
                continue;
            }
            let (_, after) = oracle::run(&module, &launch);
            assert_eq!(oracle::run(&again, &launch).1, after, "{}: {}", input.name, kernel.name);
            ran += 1;
        }
    }
    assert!(ran >= 30, "only {ran} kernels ran");
}

/// Both flavours of every kernel of the corpus leave the same memory, floats up to what fusing and reordering change.
#[test]
fn flavours_of_the_corpus_agree() {
    for name in ["bfloats", "bits", "calls", "floats", "partly", "warp"] {
        let [fast, plain] = ["O3", "O0"].map(|flavour| {
            let path = inputs::corpus_folder().join(format!("{name}.{flavour}.ptx"));
            import(&inputs::read(&path)).module
        });
        for kernel in fast.kernels().map(|kernel| &fast.funcs[kernel]) {
            // The order of its atomics, and with it what they return, depends on the time that each version takes.
            if kernel.name == "atomics" {
                continue;
            }
            let launch = warpscope_core::derive::derive_launch(&fast, kernel);
            let (first, second) = (simulated(&fast, &launch), simulated(&plain, &launch));
            for (index, (first, second)) in first.iter().zip(&second).enumerate() {
                let what = format!("{name}: parameter {index} of {}", kernel.name);
                match launch.bindings[index].fill {
                    Fill::Buffer { ty: Type::F32, .. } => assert_alike(&what, &floats(first), &floats(second)),
                    Fill::Buffer { ty: Type::F64, .. } => {
                        let doubles = |bytes: &[u8]| -> Vec<f32> {
                            bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap()) as f32).collect()
                        };
                        assert_alike(&what, &doubles(first), &doubles(second));
                    }
                    _ => assert!(first == second, "{what}: {first:?}\n{second:?}"),
                }
            }
        }
    }
}

fn assert_alike(what: &str, first: &[f32], second: &[f32]) {
    for (k, (&first, &second)) in first.iter().zip(second).enumerate() {
        let close = (first - second).abs() <= 1e-4 * second.abs().max(1.0);
        assert!(close || first.is_nan() && second.is_nan(), "{what}: element {k} is {first} and {second}");
    }
}
