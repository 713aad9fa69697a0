//! Profiles: measured for passes, and shown.

use serde_json::json;

use super::{SAXPY, file, good, json, stderr, warpscope};

const MEASURED: &str = "
    ret
    profile path {
        entry body done: 250
        entry done: 6
    }
    profile edge {
        entry -> body: 250
        entry -> done: 6
        body -> done: 250
    }
    profile zero {
        entry.i: 0.0
        entry.p: 0.0
        body.xi: 0.0
        body.yi: 1.0
        body.r: 0.0
    }
    profile warp {
        entry: 8
        body: 8
        done: 8
        entry -> body: 8
        entry -> done: 1
        body -> done: 8
    }
}
";

/// All of `y` is zero.
fn program() -> String {
    SAXPY.replace("iota", "const 0")
}

#[test]
fn options_of_a_run_that_does_not_happen_are_told() {
    let told = |arguments: &[&str]| {
        let output = warpscope(arguments, &program());
        assert!(output.status.success(), "{arguments:?}");
        stderr(&output)
    };
    for (option, value) in [("--machine", "volta"), ("--fuel", "100000")] {
        let warning = told(&["opt", "-", option, value]);
        assert!(warning.starts_with("warning: ") && warning.contains(&format!("`{option}`")), "{warning}");
        assert!(warning.contains("`--profile simulate`"), "{warning}");
        assert_eq!(told(&["opt", "-", "--profile", "simulate", option, value]), "");
    }
    assert_eq!(told(&["opt", "-"]), "");
    assert_eq!(told(&["opt", "-", "--grid", "2"]), "", "passes are told of it");
}

#[test]
fn passes_know_the_launch_that_stands_beside_the_program() {
    let figure = include_str!("../../../www/examples/azp/figure-4.wir");
    let (program, launch) = figure.split_at(figure.find("launch figure").expect("a launch"));
    let launch = file("figure-4.launch.wir", launch);
    let launch = launch.to_str().expect("a plain path");
    let specialised = |options: &[&str]| {
        let text = good(&[&["opt", "-", "--fast-math", "--passes", "azp"], options].concat(), program);
        assert_eq!(text.contains("launch"), options.is_empty(), "only a derived one is printed: {text}");
        text.contains("vote.all")
    };
    // Four warps have to wait for what they read; as many as the machine takes fill each other's waiting.
    assert!(!specialised(&[]));
    assert!(specialised(&["--launch", launch]));
    assert!(!specialised(&["--launch", launch, "--grid", "64"]));
}

#[test]
fn passes_get_a_measured_profile_as_if_it_were_declared() {
    let text = good(&["opt", "-", "--profile", "simulate"], &program());
    assert!(text.contains(MEASURED), "{text}");
    good(&["check", "-"], &text);
    assert_eq!(good(&["opt", "-", "--profile", "declared"], &text), text);
    assert_eq!(good(&["opt", "-"], &program()), program(), "nothing is measured unasked");
}

#[test]
fn a_measured_profile_replaces_the_declared_one_with_its_comments() {
    let declared = "    ret\n    // guessed\n    profile edge {\n        entry -> body: 7\n    }\n}\n\nlaunch";
    let text = program().replace("    ret\n}\n\nlaunch", declared);
    assert!(good(&["fmt", "-"], &text).contains("// guessed"));
    assert_eq!(good(&["opt", "-", "--profile", "simulate"], &text), program().replace("\n    ret\n}\n", MEASURED));
}

#[test]
fn the_options_of_a_run_say_what_is_measured() {
    let text = good(&["opt", "-", "--profile", "simulate", "--grid", "1", "--set", "n=16"], &program());
    assert!(text.contains("entry -> body: 16\n") && text.contains("entry -> done: 48\n"), "{text}");
    let launch = file("profiled.wir", "launch saxpy {\n    block 8\n    n = 3\n}\n");
    let launch = launch.to_str().expect("a plain path");
    let text = good(&["opt", "-", "--profile", "simulate", "--launch", launch], &program());
    assert!(text.contains("entry -> body: 3\n") && text.contains("grid 4"), "the program keeps its launch: {text}");
    let report = json(&["opt", "-", "--profile", "simulate", "--passes", "dce", "--json"], &program());
    assert!(report["text"].as_str().is_some_and(|text| text.contains("profile edge")));
}

#[test]
fn every_kernel_is_measured_with_its_own_launch_and_what_they_call_in_sum() {
    let program = "func f() {\nentry:\n    ret\n}\n\nkernel a() {\nentry:\n    call f()\n    br out\nout:\n    \
                   ret\n}\n\nkernel b(n: u32) {\nentry:\n    call f()\n    ret\n}\n\nlaunch a {\n    block 5\n}\n\n\
                   launch b {\n    block 3\n    n = 1\n}\n";
    let text = good(&["opt", "-", "--profile", "simulate", "--set", "n=2"], program);
    let counts: Vec<&str> = text.lines().filter(|line| line.contains(": ")).map(str::trim).collect();
    // Paths and edges of lanes, then blocks and edges of warps.
    let of_f = ["entry: 8", "entry: 2"];
    let of_a = ["entry out: 5", "entry -> out: 5", "entry: 1", "out: 1", "entry -> out: 1"];
    let of_b = ["kernel b(n: u32) {", "entry: 3", "entry: 1"];
    assert_eq!(counts, [&of_f[..], &of_a, &of_b].concat());
    let one = good(&["opt", "-", "--profile", "simulate", "--kernel", "b"], program);
    assert!(one.contains("entry: 3\n") && !one.contains("entry -> out"), "{one}");
}

#[test]
fn a_run_that_fails_ends_the_command() {
    let broken = SAXPY.replace("n = 250", "n = 257").replace("grid 4", "grid 5");
    let output = warpscope(&["opt", "-", "--profile", "simulate"], &broken);
    assert_eq!((output.status.code(), output.stdout.len()), (Some(1), 0));
    assert!(stderr(&output).starts_with("<stdin>:7:"), "{}", stderr(&output));
    assert_eq!(warpscope(&["opt", "-", "--profile", "simulate", "--set", "z=1"], SAXPY).status.code(), Some(2));
}

#[test]
fn sim_shows_both_units() {
    let profile = &json(&["sim", "-", "--json", "--profile"], &program())["profile"]["saxpy"];
    assert_eq!(profile["edges"][1], json!({ "from": "entry", "to": "done", "lanes": 6, "warps": 1 }));
    assert_eq!(profile["paths"][0], json!({ "blocks": ["entry", "body", "done"], "lanes": 250, "warps": 8 }));
    let zero = json!({
        "block": "entry", "register": "i", "write": 0, "lanes": 256, "warps": 8, "zero_lanes": 1, "zero_warps": 0,
    });
    assert_eq!(profile["zeros"][0], zero);
    assert_eq!(profile["blocks"][0], json!({ "block": "entry", "executions": 8, "diverged": 1 }));
    let table = good(&["sim", "-", "--profile"], &program());
    for line in [
        "profile of saxpy",
        "edge  entry -> done: 6 lanes in 1 warps",
        "path  entry body done: 250 lanes in 8 warps",
        "warp  entry: diverged in 1 of 8 executions",
        "zero  body.yi: 250 of 250 lanes, 8 of 8 warps",
    ] {
        assert!(table.lines().any(|found| found == line), "{line} is missing in\n{table}");
    }
    assert!(json(&["sim", "-", "--json"], SAXPY).get("profile").is_none());
}

#[test]
fn what_is_loaded_side_by_side_is_counted_together() {
    let program = "kernel k(x: ptr.global) {\nentry:\n    {a, b} = ld.global.v2.u32 x[0]\n    ret\n}\n\
                   launch k {\n    warp 8\n    block 16\n    x = buffer u32[2] { 0, 0 }\n}\n";
    let joint = json!({
        "writes": [
            { "block": "entry", "register": "a", "write": 0 },
            { "block": "entry", "register": "b", "write": 0 },
        ],
        "lanes": 16, "warps": 2, "zero_lanes": 16, "zero_warps": 2,
    });
    assert_eq!(json(&["sim", "-", "--json", "--profile"], program)["profile"]["k"]["joint"], json!([joint]));
    let table = good(&["sim", "-", "--profile"], program);
    assert!(table.contains("\nzero  entry.a & entry.b: 16 of 16 lanes, 2 of 2 warps\n"), "{table}");
    let text = good(&["opt", "-", "--profile", "simulate"], program);
    assert!(text.contains("\n        entry.a & entry.b: 1.0\n"), "{text}");
    good(&["check", "-"], &text);
}
