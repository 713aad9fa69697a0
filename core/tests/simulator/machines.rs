//! The machine models against the published figures that they cite, and what no source gives against its mark.

use warpscope_core::machine::{Machine, OpClass, Source};

const MACHINES: [Machine; 4] = [Machine::Volta, Machine::Turing, Machine::Ampere, Machine::Hopper];

/// Latencies of dependent issue as published, for Volta, Turing, Ampere and Hopper; 0 where nothing was.
const PUBLISHED: &[(OpClass, [u32; 4])] = &[
    (OpClass::Integer, [4, 4, 4, 0]),
    (OpClass::IntegerMul, [4, 4, 3, 0]),
    (OpClass::Float32, [4, 4, 4, 0]),
    (OpClass::Float64, [8, 45, 5, 0]),
    (OpClass::IntegerDiv, [71, 79, 0, 0]),
    (OpClass::IntegerRem, [72, 79, 0, 0]),
    (OpClass::Div32, [504, 335, 0, 0]),
    (OpClass::Div64, [606, 1165, 0, 0]),
    (OpClass::Sqrt32, [60, 72, 0, 0]),
    (OpClass::Rcp32, [60, 70, 0, 0]),
    (OpClass::Special, [16, 16, 23, 0]),
    (OpClass::Rsqrt, [18, 25, 23, 0]),
    (OpClass::LoadShared, [33, 30, 23, 29]),
    (OpClass::LoadGlobal, [33, 30, 33, 32]),
    (OpClass::LoadLocal, [33, 30, 33, 32]),
    (OpClass::Store, [0, 0, 19, 0]),
    (OpClass::Atomic, [245, 245, 0, 0]),
];

#[test]
fn latencies_are_the_published_ones_and_name_the_publication() {
    for (class, values) in PUBLISHED {
        for (machine, value) in MACHINES.into_iter().zip(values) {
            let figure = machine.cost(*class).latency;
            let place = format!("{} on {}", class.name(), machine.name());
            if *value == 0 {
                let is_marked = matches!(figure.source, Source::Filled(_)) || is_measured(machine, figure.source);
                assert!(is_marked, "{place}: {:?}", figure.source);
                continue;
            }
            assert_eq!(figure.value, *value, "{place}");
            let Source::Published(text) = figure.source else { panic!("{place}: {:?}", figure.source) };
            let who = match (machine, class.is_memory()) {
                (Machine::Volta | Machine::Turing, true) => "PPT-GPU",
                (Machine::Volta | Machine::Turing, false) => "Arafa et al. 2019",
                (Machine::Ampere, _) => "Abdelkhalik",
                _ => "Luo",
            };
            assert!(text.contains(who), "{place} cites {text}");
        }
    }
}

/// Is it a figure of our own? Hopper alone has some, and each names the card.
fn is_measured(machine: Machine, source: Source) -> bool {
    matches!(source, Source::Measured(on) if machine == Machine::Hopper && on.contains("H100 80GB HBM3"))
}

/// Checks that our measurements fill only the gaps of published figures.
#[test]
fn hopper_has_our_own_figures_where_there_are_no_published_ones() {
    let latency = |class| Machine::Hopper.cost(class).latency;
    for (class, value) in [(OpClass::Float32, 4), (OpClass::Div32, 57), (OpClass::Shuffle, 26), (OpClass::Atomic, 346)]
    {
        assert_eq!(latency(class).value, value, "{}", class.name());
        assert!(is_measured(Machine::Hopper, latency(class).source), "{}", class.name());
    }
    assert!(matches!(latency(OpClass::LoadShared).source, Source::Published(_)));
    assert_eq!(latency(OpClass::Store).source, Source::Filled(Machine::Ampere));
    assert_eq!(latency(OpClass::Texture).source, Source::Estimated);
    let issue = |class| Machine::Hopper.cost(class).issue;
    assert!(is_measured(Machine::Hopper, issue(OpClass::IntegerDiv).source));
    assert!(matches!(issue(OpClass::Special).source, Source::Published(_)));
}

/// A figure that is missing is that of the nearest architecture, and says which.
#[test]
fn missing_figures_are_filled_from_the_nearest_architecture() {
    for (class, values) in PUBLISHED {
        for (machine, value) in MACHINES.into_iter().zip(values) {
            if let Source::Filled(from) = machine.cost(*class).latency.source {
                assert_eq!(*value, 0);
                let of = MACHINES.iter().position(|other| *other == from).expect("a measured machine");
                assert_ne!(values[of], 0, "{} of {} has no figure", class.name(), from.name());
                assert_eq!(machine.cost(*class).latency.value, values[of]);
                // The data-centre parts are nearest to each other.
                let nearer = match machine {
                    Machine::Hopper => vec![Machine::Ampere, Machine::Volta],
                    Machine::Ampere => vec![Machine::Volta, Machine::Hopper],
                    _ => vec![Machine::Ampere, Machine::Hopper],
                };
                let known = nearer.iter().find(|near| {
                    values[MACHINES.iter().position(|other| other == *near).expect("a measured machine")] != 0
                });
                assert_eq!(known.copied().unwrap_or(from), from, "{} on {}", class.name(), machine.name());
            }
        }
    }
}

#[test]
fn every_other_latency_is_marked_as_estimated() {
    for &class in OpClass::ALL.iter().filter(|class| PUBLISHED.iter().all(|(known, _)| known != *class)) {
        for machine in MACHINES {
            let source = machine.cost(class).latency.source;
            let place = format!("{} on {}: {source:?}", class.name(), machine.name());
            assert!(source == Source::Estimated || is_measured(machine, source), "{place}");
        }
    }
}

/// Issue costs are 64, the full rate of a multiprocessor's quarter in warps, over the guide's results a cycle.
#[test]
fn issue_costs_follow_the_throughput_table() {
    // Results a cycle and multiprocessor of compute capabilities 7.0, 7.5, 8.0 and 9.0, at most 64 counted.
    let table: &[(OpClass, [u32; 4])] = &[
        (OpClass::Integer, [64, 64, 64, 64]),
        (OpClass::IntegerMul, [64, 64, 64, 64]),
        (OpClass::Float32, [64, 64, 64, 64]),
        (OpClass::Float64, [32, 2, 32, 64]),
        (OpClass::Special, [16, 16, 16, 16]),
        (OpClass::Rsqrt, [16, 16, 16, 16]),
        (OpClass::BitCount, [16, 16, 16, 16]),
        (OpClass::Shuffle, [32, 32, 32, 32]),
        (OpClass::Convert64, [16, 2, 16, 16]),
    ];
    for (class, rates) in table {
        for (machine, rate) in MACHINES.into_iter().zip(rates) {
            let figure = machine.cost(*class).issue;
            assert_eq!(figure.value, 64 / rate, "{} on {}", class.name(), machine.name());
            assert!(matches!(figure.source, Source::Published(_)), "{} on {}", class.name(), machine.name());
        }
    }
}

#[test]
fn memory_and_its_sources() {
    let levels = [(33, 213, 302), (30, 231, 279), (33, 200, 290), (32, 264, 656)];
    for (machine, (l1, l2, global)) in MACHINES.into_iter().zip(levels) {
        let memory = machine.memory();
        let found = (memory.l1_latency.value, memory.l2_latency.value, memory.global_latency.value);
        assert_eq!(found, (l1, l2, global), "{}", machine.name());
        let figures = [memory.l1_latency, memory.l2_latency, memory.global_latency, memory.l1_bytes, memory.l2_bytes];
        assert!(figures.iter().all(|figure| matches!(figure.source, Source::Published(_))), "{}", machine.name());
        assert_eq!(memory.sector_cycles.source, Source::Estimated);
    }
}

/// The machine for counting: one cycle each, by definition.
#[test]
fn the_unit_machine_takes_one_cycle_for_everything() {
    for row in Machine::Unit.table() {
        assert_eq!((row.issue.value, row.latency.value), (1, 1), "{}", row.class.name());
        assert_eq!((row.issue.source, row.latency.source), (Source::Defined, Source::Defined));
    }
    let memory = Machine::Unit.memory();
    assert_eq!((memory.global_latency.value, memory.sector_cycles.value, memory.l1_bytes.value), (1, 0, 0));
}

/// No figure is nothing: whatever issues holds the scheduler for a cycle at least.
#[test]
fn every_machine_has_a_figure_for_every_class() {
    for machine in Machine::ALL {
        let rows: Vec<_> = machine.table().collect();
        assert_eq!(rows.len(), OpClass::ALL.len());
        assert!(rows.iter().all(|row| row.issue.value > 0 && row.latency.value > 0), "{}", machine.name());
        assert_eq!(Machine::from_name(machine.name()), Some(machine));
    }
}
