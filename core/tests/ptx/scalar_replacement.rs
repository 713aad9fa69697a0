//! Every kernel that scalar replacement is measured on, as read and after each variant: what it
//! leaves in memory is what a reference written here computes, in the simulator and in the oracle,
//! and the same to the bit in all variants.

use super::examples::{assert_close, floats, ints, simulated};
use super::{inputs, oracle};
use warpscope_core::ir::{Launch, Module};
use warpscope_core::machine::Machine;
use warpscope_core::pass::parse_pipeline;
use warpscope_core::profile::{Collector, declare};
use warpscope_core::ptx::{export, import};
use warpscope_core::session::{Options, Session};
use warpscope_core::sim::{Progress, Settings, Simulation};
use warpscope_core::text;

/// Variants of the table, each cleaned in the same way.
const VARIANTS: [&str; 5] = ["", "srqp,", "esrqp,", "ssrqp-s,", "ssrqp[cost=paper],"];

fn read(name: &str) -> (Module, Launch) {
    let file = |name: String| inputs::read(&inputs::scalar_replacement_folder().join(name));
    let module = import(&file(format!("{name}.O3.ptx"))).module;
    let parsed = text::parse(&file(format!("{name}.launch.wir")));
    assert!(parsed.diagnostics.is_empty(), "{name}: {:?}", parsed.diagnostics);
    let [launch] = &parsed.module.launches[..] else { panic!("{name}: one launch a file") };
    (module, launch.clone())
}

/// Runs every version and hands memory before and after to `check`.
fn for_each_run(name: &str, check: impl Fn(&str, &[Vec<u8>], &[Vec<u8>])) {
    let (module, launch) = read(name);
    let mut versions = vec![(format!("{name} written and read"), import(&export(&module).text).module)];
    for variant in VARIANTS {
        let pipeline = format!("infer-space,{variant}copy-prop,dce");
        let options = Options { steps: parse_pipeline(&pipeline).expect("a pipeline"), ..Options::default() };
        let session = Session::open(module.clone(), &options, &mut || 0);
        versions.push((format!("{name} after {pipeline}"), session.module().clone()));
    }
    let plain = |memory: oracle::Memory| memory.into_iter().map(Option::unwrap_or_default).collect::<Vec<_>>();
    let expected = simulated(&module, &launch);
    versions.push((name.to_string(), module));
    for (version, module) in versions {
        let (before, after) = oracle::run(&module, &launch);
        let before = plain(before);
        check(&version, &before, &plain(after));
        let found = simulated(&module, &launch);
        check(&format!("{version}, simulated"), &before, &found);
        assert!(found == expected, "{version}: the simulator leaves other bits than without passes");
    }
}

/// All kernels.
const KERNELS: [&str; 10] =
    ["barneshut", "bfs", "bilateral", "btree", "hotspot", "huffman", "kmeans", "lavamd", "neighbour", "sobel"];

/// How often warps load from global memory.
fn loads(module: &Module, launch: &Launch, machine: Machine) -> u64 {
    let kernel = module.func_by_name(&launch.kernel).expect("the launch's kernel");
    let mut run: Simulation =
        Simulation::new(module, kernel, launch, &Settings::default(), machine).expect("a launch that fits");
    assert_eq!(run.run(u64::MAX), Ok(Progress::Done), "{}", launch.kernel);
    run.result().global_loads
}

#[test]
fn with_costs_that_a_profile_tells_no_kernel_loads_more_than_before() {
    let mut fewer = 0;
    for name in KERNELS {
        let (module, launch) = read(name);
        let kernel = module.func_by_name(&launch.kernel).expect("the launch's kernel");
        for (machine, knob) in [(Machine::Turing, "turing"), (Machine::Ampere, "ampere")] {
            let mut run: Simulation =
                Simulation::new(&module, kernel, &launch, &Settings::default(), machine).expect("a launch that fits");
            let mut collector = Collector::new(&module, run.program());
            assert_eq!(run.run_watched(u64::MAX, &mut collector), Ok(Progress::Done), "{name}");
            let mut measured = module.clone();
            declare(&mut measured, &collector.profile());
            let pipeline = format!("infer-space,ssrqp[cost=machine,machine={knob}],copy-prop,dce");
            let options = Options {
                steps: parse_pipeline(&pipeline).expect("a pipeline"),
                launches: Some(vec![launch.clone()]),
                ..Options::default()
            };
            let session = Session::open(measured, &options, &mut || 0);
            let [before, after] = [&module, session.module()].map(|module| loads(module, &launch, machine));
            assert!(after <= before, "{name} on {knob}: {before} loads become {after}");
            fewer += usize::from(after < before);
        }
    }
    assert!(fewer >= 12, "of twenty, {fewer} load less");
}

#[test]
fn each_kernel_has_its_launch_and_a_test_here() {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(inputs::scalar_replacement_folder()).expect("the kernels") {
        let path = entry.expect("a readable folder").path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()?.strip_suffix(".cu")) else { continue };
        let (module, launch) = read(name);
        let kernel = module.func_by_name(&launch.kernel).expect("the launch's kernel");
        assert_eq!(launch.bindings.len(), module.funcs[kernel].params.len(), "{name}");
        let ptx = inputs::read(&inputs::scalar_replacement_folder().join(format!("{name}.O3.ptx")));
        let command = format!("nvcc -ptx -arch=sm_80 -O3 {name}.cu -o {name}.O3.ptx");
        assert_eq!(ptx.lines().next(), Some(&*format!("// {command}")));
        assert!(inputs::read(&path).contains(&format!("//   {command}\n")), "{name}");
        names.push(name.to_string());
    }
    names.sort();
    assert_eq!(names, KERNELS);
}

#[test]
fn btree() {
    for_each_run("btree", |what, before, after| {
        let [wanted, filled, keys, children, records] = [1, 2, 3, 4, 5].map(|param| ints(&before[param]));
        // What the leaves hold, looked through one by one.
        let slots = |node: usize| 16 * node..16 * node + filled[node] as usize;
        let is_leaf = |node: &usize| children[slots(*node)].iter().all(|&child| child == 0);
        let leaves: Vec<usize> = (0..filled.len()).filter(is_leaf).flat_map(slots).collect();
        let record = |key: &i32| leaves.iter().find(|&&slot| keys[slot] == *key).map_or(0, |&slot| records[slot]);
        let found: Vec<i32> = wanted.iter().map(record).collect();
        assert!(found.contains(&0) && found.iter().filter(|&&record| record > 0).count() > 12, "some keys are there");
        assert_eq!(ints(&after[6]), found, "{what}");
    });
}

#[test]
fn bfs() {
    for_each_run("bfs", |what, before, after| {
        let [frontier, first, edges, visited, cost, tree] = [1, 2, 3, 4, 5, 6].map(|param| ints(&before[param]));
        let (mut next_cost, mut next_tree) = (vec![0; 128], vec![0; 128]);
        for node in (0..128).filter(|&node| frontier[node] != 0) {
            for &neighbour in &edges[first[node] as usize..first[node + 1] as usize] {
                let neighbour = neighbour as usize;
                if visited[neighbour] == 0 {
                    next_cost[neighbour] = next_cost[neighbour].max(cost[node] + 1);
                    next_tree[neighbour] = next_tree[neighbour].max(tree[node]);
                }
            }
        }
        assert!(next_cost.iter().filter(|&&cost| cost == 4).count() > 20, "the graph's fourth level");
        assert_eq!(ints(&after[7]), next_cost, "{what}");
        assert_eq!(ints(&after[8]), next_tree, "{what}");
    });
}

#[test]
fn kmeans() {
    for_each_run("kmeans", |what, before, after| {
        let [x, y, z, cx, cy, cz] = [1, 2, 3, 4, 5, 6].map(|param| floats(&before[param]));
        let nearest = |point: usize| {
            let distance = |centre: usize| {
                let [dx, dy, dz] = [x[point] - cx[centre], y[point] - cy[centre], z[point] - cz[centre]];
                dz.mul_add(dz, dy.mul_add(dy, dx * dx))
            };
            (0..24).min_by(|&a, &b| distance(a).total_cmp(&distance(b))).expect("a centre") as i32
        };
        assert_eq!(ints(&after[7]), (0..256).map(nearest).collect::<Vec<i32>>(), "{what}");
    });
}

#[test]
fn neighbour() {
    for_each_run("neighbour", |what, before, after| {
        let [qx, qy, px, py] = [2, 3, 4, 5].map(|param| floats(&before[param]));
        let distance = |query: usize, point: usize| (qx[query] - px[point]).powi(2) + (qy[query] - py[point]).powi(2);
        let nearest = |query: usize| (0..63).map(|point| distance(query, point)).fold(f32::MAX, f32::min);
        let wanted: Vec<f32> = (0..128).map(nearest).collect();
        assert_close(what, &floats(&after[6]), &wanted);
        let there: Vec<f32> =
            ints(&after[7]).iter().enumerate().map(|(query, &point)| distance(query, point as usize)).collect();
        assert_close(what, &there, &wanted);
    });
}

#[test]
fn barneshut() {
    for_each_run("barneshut", |what, before, after| {
        let [x, y, softening, cx, cy, mass, size] = [2, 3, 4, 5, 6, 7, 8].map(|param| floats(&before[param]));
        let behind = ints(&before[9]);
        let (mut fx, mut fy) = (Vec::new(), Vec::new());
        for body in 0..128 {
            let (mut ax, mut ay, mut cell) = (0.0, 0.0, 0);
            while cell < cx.len() {
                let (dx, dy) = (cx[cell] - x[body], cy[cell] - y[body]);
                let apart = dx.mul_add(dx, dy * dy);
                let is_far = apart > size[cell] * size[cell];
                let is_leaf = behind[cell] as usize == cell + 1;
                if is_far || is_leaf {
                    let softened = apart + softening[body];
                    let weight = if is_far { mass[cell] / softened.sqrt() } else { mass[cell] / (1.0 + softened) };
                    (ax, ay) = (ax + weight * dx, ay + weight * dy);
                }
                cell = if is_far { behind[cell] as usize } else { cell + 1 };
            }
            fx.push(ax);
            fy.push(ay);
        }
        assert_close(what, &floats(&after[10]), &fx);
        assert_close(what, &floats(&after[11]), &fy);
    });
}

#[test]
fn sobel() {
    for_each_run("sobel", |what, before, after| {
        let pixels = floats(&before[2]);
        let mut wanted = vec![0.0; 900];
        for row in 1..17 {
            for column in 1..49 {
                let at = |down: usize, right: usize| pixels[(row + down - 1) * 50 + column + right - 1];
                let side = |column: usize| at(0, column) + 2.0 * at(1, column) + at(2, column);
                let line = |row: usize| at(row, 0) + 2.0 * at(row, 1) + at(row, 2);
                wanted[row * 50 + column] = (side(2) - side(0)).abs() + (line(2) - line(0)).abs();
            }
        }
        assert_close(what, &floats(&after[3]), &wanted);
    });
}

#[test]
fn bilateral() {
    for_each_run("bilateral", |what, before, after| {
        let pixels = floats(&before[3]);
        let likeness = |a: f32, b: f32| (-4.0 * (a - b) * (a - b)).exp2();
        let mut wanted = vec![0.0; 16 * 98];
        for at in (0..16).flat_map(|row| row * 98 + 1..row * 98 + 97) {
            let (before, here, next) = (pixels[at - 1], pixels[at], pixels[at + 1]);
            let (w0, w1) = (likeness(before, here), likeness(next, here));
            wanted[at] = (w0 * before + here + w1 * next) / (w0 + 1.0 + w1);
        }
        assert_close(what, &floats(&after[4]), &wanted);
    });
}

#[test]
fn lavamd() {
    for_each_run("lavamd", |what, before, after| {
        let neighbours = ints(&before[2]);
        let [x, y, charge] = [3, 4, 5].map(|param| floats(&before[param]));
        let (mut energy, mut force) = (Vec::new(), Vec::new());
        for particle in 0..128 {
            let (mut sum, mut pull) = (0.0, 0.0);
            for &neighbour in &neighbours[particle / 32 * 3..][..3] {
                for other in neighbour as usize * 32..neighbour as usize * 32 + 32 {
                    let (dx, dy) = (x[particle] - x[other], y[particle] - y[other]);
                    let apart: f32 = dx.mul_add(dx, dy * dy);
                    sum += if apart < 2.0 { charge[other] * (-apart).exp2() } else { 0.0 };
                    pull *= 0.999;
                    pull += if apart > 1.0 { charge[other] * (apart - 1.0) } else { 0.0 };
                }
            }
            energy.push(sum);
            force.push(pull);
        }
        assert_close(what, &floats(&after[6]), &energy);
        assert_close(what, &floats(&after[7]), &force);
    });
}

#[test]
fn hotspot() {
    for_each_run("hotspot", |what, before, after| {
        let [heat, power, loss] = [3, 4, 5].map(|param| floats(&before[param]));
        let after_all = |cell: usize| {
            (0..40).fold(0.0f32, |sum, step| {
                let at = step * 64 + cell;
                let sum = 0.5 * sum + heat[at];
                if step % 8 == 7 { sum + (power[at] - sum * loss[at]) } else { sum }
            })
        };
        assert_close(what, &floats(&after[6]), &(0..64).map(after_all).collect::<Vec<f32>>());
    });
}

#[test]
fn huffman() {
    for_each_run("huffman", |what, before, after| {
        let [symbols, length, escape] = [1, 2, 3].map(|param| ints(&before[param]));
        let (mut bits, mut longest) = (Vec::new(), Vec::new());
        for symbols in symbols.chunks(12) {
            let lengths = || symbols.iter().map(|&symbol| (length[symbol as usize], escape[symbol as usize] != 0));
            bits.push(lengths().map(|(length, escaped)| if escaped { 8 + length } else { 1 }).sum::<i32>());
            longest.push(lengths().map(|(length, _)| length).max().expect("symbols"));
        }
        assert_eq!(ints(&after[4]), bits, "{what}");
        assert_eq!(ints(&after[5]), longest, "{what}");
    });
}
