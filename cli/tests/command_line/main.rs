//! The command line as shells and scripts use it: what it prints where, and how it ends.

mod analyses;
mod demands;
mod equivalence;
mod faulting;
mod launches;
mod one_laboratory;
mod partial;
mod profile;

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const GOOD: &str = "\
kernel k(n: u32, x: ptr.global) {
entry:
    a = mov.u32 n
    b = add.u32 a, 1
    st.global.u32 x[0], b
    ret
}

launch k {
    grid 1
    block 1
    n = 4
    x = buffer u32[1] const 0
}
";

/// A dead copy after `copy-prop`, and nothing at all after `dce`.
const OPTIMISED: &str = "    b = add.u32 n, 1\n";

const PTX: &str = "\
.version 7.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 k_param_0)
{
    .reg .b64 %rd<3>;
    .reg .b32 %r<2>;
    ld.param.u64 %rd1, [k_param_0];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r1, %tid.x;
    st.global.u32 [%rd2], %r1;
    ret;
}
";

/// Runs the command with a text on standard input.
fn warpscope(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_warpscope"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    // A command that does not read its input closes it.
    let _ = child.stdin.take().expect("it is piped").write_all(input.as_bytes());
    child.wait_with_output().expect("the command ends")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("the output is text")
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).expect("the errors are text")
}

/// The output of a command that ends well.
fn good(arguments: &[&str], input: &str) -> String {
    let output = warpscope(arguments, input);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

fn json(arguments: &[&str], input: &str) -> Value {
    serde_json::from_str(&good(arguments, input)).expect("the output is JSON")
}

/// A file that only this test uses.
fn file(name: &str, text: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, text).expect("the folder is writable");
    path
}

#[test]
fn check_is_silent_about_a_good_program() {
    let output = warpscope(&["check", "-"], GOOD);
    assert_eq!((output.status.code(), stdout(&output), stderr(&output)), (Some(0), String::new(), String::new()));
}

#[test]
fn errors_name_file_line_and_column_and_underline_the_place() {
    let path = file("bad.wir", &GOOD.replace("add.u32", "ad.u32"));
    let output = warpscope(&["check", path.to_str().expect("a plain path")], "");
    assert_eq!(output.status.code(), Some(1));
    let errors = stderr(&output);
    let lines: Vec<&str> = errors.lines().collect();
    assert!(lines[0].starts_with(&format!("{}:4:9: error: ", path.display())), "{errors}");
    assert!(lines[0].contains("`add.u32`"), "it proposes what was meant: {errors}");
    assert!(lines[1].ends_with("    b = ad.u32 a, 1"), "{errors}");
    assert_eq!(lines[2].find('^'), lines[1].find("ad.u32"), "{errors}");
    assert!(lines[2].contains("^^^^^^") && !lines[2].contains("^^^^^^^"), "{errors}");
}

#[test]
fn several_errors_are_reported_at_once() {
    let bad = GOOD.replace("mov.u32 n", "mov.u32 m").replace("add.u32", "ad.u32").replace("grid 1", "grid x");
    let errors = stderr(&warpscope(&["check", "-"], &bad));
    assert!(errors.matches(": error: ").count() >= 3, "{errors}");
}

#[test]
fn what_is_no_text_is_an_error_with_a_place() {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("binary.wir");
    fs::write(&path, b"// a\n// \xff\n").expect("the folder is writable");
    let output = warpscope(&["check", path.to_str().expect("a plain path")], "");
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains(":2:4: error: "), "{}", stderr(&output));
}

#[test]
fn fmt_is_canonical_and_stable() {
    let untidy = GOOD.replace("    a =", "a   =").replace("\n    ret", "\n\n\n  ret");
    assert_eq!(good(&["fmt", "-"], &untidy), GOOD);
    assert_eq!(good(&["fmt", "-"], GOOD), GOOD);
}

#[test]
fn opt_prints_the_whole_module_with_its_launches() {
    let text = good(&["opt", "-", "--passes", "copy-prop,dce"], GOOD);
    assert!(text.contains(OPTIMISED) && !text.contains("a = mov"), "{text}");
    assert!(text.contains("launch k {"), "{text}");
    assert_eq!(good(&["opt", "-", "--passes", ""], GOOD), GOOD);
    assert_eq!(good(&["opt", "-"], GOOD), GOOD);
}

#[test]
fn opt_reports_passes_and_remarks_as_json() {
    let report = json(&["opt", "-", "--passes", "copy-prop,dce", "--json"], GOOD);
    let passes = report["passes"].as_array().expect("a list");
    assert_eq!(passes.iter().map(|pass| &pass["name"]).collect::<Vec<_>>(), ["copy-prop", "dce"]);
    for pass in passes {
        assert_eq!(pass["changed"], true);
        assert!(pass["micros"].is_u64());
        let remark = &pass["remarks"][0];
        assert_eq!((&remark["kind"], &remark["at"]), (&Value::from("applied"), &Value::from("entry")));
        assert!(remark["rule"].is_string() && remark["message"].is_string() && remark["facts"].is_object());
    }
    assert_eq!((&passes[1]["before"]["instructions"], &passes[1]["after"]["instructions"]), (&4.into(), &3.into()));
    assert_eq!(passes[0]["before"]["blocks"], 1);
    assert!(report["text"].as_str().expect("a text").contains(OPTIMISED));
}

#[test]
fn opt_says_its_reasons_on_standard_error() {
    let output = warpscope(&["opt", "-", "--passes", "copy-prop", "--remarks"], GOOD);
    assert!(stderr(&output).starts_with("copy-prop: applied "), "{}", stderr(&output));
    assert!(stdout(&output).contains(OPTIMISED));
}

#[test]
fn opt_keeps_to_the_kernel_that_is_named() {
    let two = format!("{}\n{}", GOOD, GOOD.replace("k(", "other(").split("launch").next().expect("a first part"));
    let text = good(&["opt", "-", "--passes", "copy-prop", "--kernel", "other"], &two);
    assert_eq!((text.matches("add.u32 a, 1").count(), text.matches("add.u32 n, 1").count()), (1, 1), "{text}");
}

#[test]
fn ptx_is_read_by_extension_or_by_option_and_written() {
    let path = file("k.ptx", PTX);
    let path = path.to_str().expect("a plain path");
    let by_name = good(&["fmt", path], "");
    assert!(by_name.contains("kernel k("), "{by_name}");
    assert_eq!(good(&["fmt", "-", "--from", "ptx"], PTX), by_name);
    let ptx = good(&["opt", path, "--passes", "dce", "--emit", "ptx"], "");
    assert!(ptx.contains(".entry k(") && ptx.contains("st.global.u32"), "{ptx}");
}

#[test]
fn knobs_are_checked_by_name_and_value() {
    let with = |knob: &str| warpscope(&["opt", "-", "--passes", "general-optimize", "--knob", knob], GOOD);
    assert_eq!(with("general-optimize.max_rounds=3").status.code(), Some(0));
    for wrong in ["general-optimize.max_rounds=many", "general-optimize.rounds=3", "max_rounds=3", "no-pass.x=1"] {
        let output = with(wrong);
        assert_eq!(output.status.code(), Some(2), "{wrong}");
        assert!(stderr(&output).starts_with("error: "), "{wrong}: {}", stderr(&output));
    }
    good(&["opt", "-", "--passes", "general-optimize[max_rounds=3],dce"], GOOD);
    good(&["opt", "-", "--passes", "@basic"], GOOD);
}

#[test]
fn a_wrong_command_line_is_status_2() {
    for wrong in [
        &["opt", "-", "--passes", "copy-porp"][..],
        &["opt", "-", "--kernel", "nobody"],
        &["opt", "-", "--emit", "sass"],
        &["check", "/no/such/file.wir"],
        &["frobnicate"],
        &[],
    ] {
        let output = warpscope(wrong, GOOD);
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
        assert!(!stderr(&output).is_empty(), "{wrong:?}");
    }
    assert!(stderr(&warpscope(&["opt", "-", "--passes", "copy-porp"], GOOD)).contains("did you mean `copy-prop`?"));
}

#[test]
fn passes_are_listed_for_people_and_for_programs() {
    let text = good(&["passes"], "");
    let list = json(&["passes", "--json"], "");
    let passes = list["passes"].as_array().expect("a list");
    assert!(passes.len() >= 5);
    for pass in passes {
        assert!(text.contains(pass["name"].as_str().expect("a name")), "{pass}");
        assert!(pass["paper"].is_string() && pass["summary"].is_string() && pass["knobs"].is_array());
    }
}

#[test]
fn trace_is_one_json_object_a_line_with_every_field() {
    let lines = good(&["trace", "-", "--passes", "copy-prop,dce"], GOOD);
    assert!(lines.lines().count() >= 2);
    for (seq, line) in lines.lines().enumerate() {
        let event: Value = serde_json::from_str(line).expect("a line is JSON");
        assert_eq!(event["seq"], seq);
        assert_eq!((&event["kind"], &event["at"]), (&Value::from("rewrite"), &Value::from("entry")));
        for field in ["pass", "query", "root", "expr", "from", "rule", "value"] {
            assert!(event.get(field).is_some(), "{field} is missing in {line}");
        }
    }
}

/// A kernel whose register `a` is mostly zero.
const MOSTLY_ZERO: &str = "kernel k(x: ptr.global restrict, y: ptr.global restrict) {\nentry:\n    i = mov.u32 \
                           %tid\n    \
     a = ld.global.u32 x[i]\n    b = work.u32 400, i\n    c = mul.u32 a, b\n    st.global.u32 y[i], c\n    ret\n    \
     profile zero {\n        entry.a: 0.9\n    }\n}\n";

/// A kernel in which `a` is used on one of two declared paths.
const PARTLY_DEAD: &str = "kernel k(p: pred, x: ptr.global) {\nentry:\n    a = work.u32 40, 1\n    br p, left, right\n\
                           left:\n    st.global.u32 x[0], a\n    br join\nright:\n    br join\njoin:\n    ret\n    \
                           profile path {\n        entry left join: 3\n        entry right join: 4\n    }\n}\n";

#[test]
fn inspect_prints_tables_as_text_and_as_json() {
    let text = good(&["inspect", "-", "--passes", "dce,azp"], MOSTLY_ZERO);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "== Candidates of azp in `k` after 0 rewrites");
    assert!(lines[1].starts_with("Next: specialise for candidate 1 (`a` = 0)"), "{text}");
    assert!(text.contains("T_R") && text.contains("> 1  a") && text.contains("1: specialise"), "{text}");

    let answer = good(&["inspect", "-", "--passes", "dce,azp", "--json"], MOSTLY_ZERO);
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    let inspection = &answer["inspections"][0];
    assert_eq!(
        (&inspection["pass"], &inspection["function"], &inspection["stop"]),
        (&"azp".into(), &"k".into(), &0.into())
    );
    let (columns, row) = (&inspection["tables"][0]["columns"], &inspection["tables"][0]["rows"][0]);
    assert_eq!(columns.as_array().map(Vec::len), row["cells"].as_array().map(Vec::len));
    assert_eq!((&row["is_chosen"], &row["cells"][3]["value"]), (&true.into(), &0.9.into()));

    let after = good(&["inspect", "-", "--passes", "azp", "--stop", "1"], MOSTLY_ZERO);
    assert!(
        after.starts_with("== Candidates of azp in `k` after 1 rewrites\nNo further candidate pays off"),
        "{after}"
    );
    let edit = ["inspect", "-", "--passes", "pde", "--json", "--choose", "frequency.0-2-3=7"];
    let answer: Value = serde_json::from_str(&good(&edit, PARTLY_DEAD)).expect("JSON");
    let offered = answer["inspections"][0]["offers"][0]["source"].as_str().expect("an offered source");
    assert!(offered.contains("entry right join: 7") && offered.contains("entry left join: 3"), "{offered}");
    let text = good(&[&edit[..4], &edit[5..]].concat(), PARTLY_DEAD);
    assert!(text.contains("offer: Save to program"), "{text}");

    let nothing = warpscope(&["inspect", "-", "--passes", "dce"], MOSTLY_ZERO);
    assert!(nothing.status.success() && nothing.stdout.is_empty());
    assert!(String::from_utf8_lossy(&nothing.stderr).contains("no pass of this pipeline has anything to show"));
    let wrong = warpscope(&["inspect", "-", "--passes", "azp", "--choose", "candidate"], MOSTLY_ZERO);
    assert_eq!(wrong.status.code(), Some(2));
}

/// A kernel that loads `x[i]` again on one of two paths.
const LOADED_AGAIN: &str = "\
kernel k(p: pred, i: u32, x: ptr.global restrict, y: ptr.global) {
entry:
    br p, left, join
left:
    a = ld.global.u32 x[i]
    st.global.u32 y[0], a
    br join
join:
    b = ld.global.u32 x[i]
    st.global.u32 y[1], b
    ret
    profile edge {
        entry -> left: 30
        entry -> join: 70
        left -> join: 30
    }
}
";

#[test]
fn inspect_prints_an_analysis_at_a_position() {
    let command = ["inspect", "-", "--passes", "dce", "--analysis"];
    let text = good(&[&command[..], &["estimate", "--stop", "0"]].concat(), LOADED_AGAIN);
    let start = "== Value flow of estimate in `k` after 0 rewrites\n30 of 130 executions reuse a value";
    assert!(text.starts_with(start), "{text}");
    assert!(text.contains("CMP4       30 of 130") && text.contains("entry → left"), "{text}");
    let kills = [&command[..], &["vng", "--json", "--choose", "vng.kills=none", "--choose", "vng.window=1"]].concat();
    let answer: Value = serde_json::from_str(&good(&kills, LOADED_AGAIN)).expect("JSON");
    let inspection = &answer["inspections"][0];
    assert_eq!((&inspection["pass"], &inspection["title"]), (&"vng".into(), &"Value flow".into()));
    let choices = inspection["choices"].as_array().expect("choices");
    let value = |key: &str| choices.iter().find(|choice| choice["key"] == key).map(|choice| choice["value"].clone());
    assert_eq!((value("vng.kills"), value("vng.window")), (Some("none".into()), Some("1".into())));
    let wrong = warpscope(&[&command[..], &["gvn"]].concat(), LOADED_AGAIN);
    assert_eq!(wrong.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("no analysis `gvn`; there is vng, estimate"));
}

#[test]
fn trace_says_when_more_is_asked_than_is_kept() {
    // Each inquiry goes up through all diamonds above its own.
    let diamonds: String = (0..200)
        .map(|at| {
            let next = at + 1;
            format!(
                "first{at}:\n    br p, left{at}, join{at}\nleft{at}:\n    x{at} = add.u32 n, {next}\n    br join{at}\n\
                 join{at}:\n    y{at} = add.u32 n, {next}\n    br first{next}\n"
            )
        })
        .collect();
    let source = format!(
        "kernel k(n: u32) {{\nentry:\n    p = setp.lt.u32 n, 9\n    br first0\n{diamonds}first200:\n    ret\n}}\n"
    );
    let output = warpscope(&["trace", "-", "--passes", "preqp"], &source);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).lines().count() > 100_000);
    assert!(
        stderr(&output).contains("the first 100000 steps of questions and value tables are kept"),
        "{}",
        stderr(&output)
    );
    let output = warpscope(&["trace", "-", "--passes", "preqp"], GOOD);
    assert_eq!(stderr(&output), "");
}

#[test]
fn a_link_holds_a_program_and_its_options() {
    let link = good(
        &[
            "link",
            "encode",
            "-",
            "--passes",
            "copy-prop,dce",
            "--seed",
            "7",
            "--set",
            "x.zero=0.5",
            "--position",
            "1.2",
        ],
        GOOD,
    );
    assert!(link.starts_with("#v2."), "{link}");
    let document = json(&["link", "decode", link.trim()], "");
    assert_eq!(document["source"], GOOD);
    assert_eq!(document["pipeline"][1]["pass"], "dce");
    assert_eq!((&document["run"]["seed"], &document["run"]["set"]["x.zero"]), (&7.into(), &"0.5".into()));
    assert_eq!((&document["position"]["pass"], &document["position"]["event"]), (&1.into(), &2.into()));
    assert_eq!(json(&["link", "decode"], &link), document, "from standard input");
    assert_eq!(good(&["link", "encode"], &document.to_string()), link, "from the document");
}

#[test]
fn a_bad_link_is_an_error_that_says_why() {
    let refused = |link: &str| {
        let output = warpscope(&["link", "decode", link], "");
        assert_eq!(output.status.code(), Some(1));
        stderr(&output)
    };
    assert!(refused("#v1.d:!!").contains("error: the link is cut off after 6 characters, at `!`"));
    let link = good(&["link", "encode"], GOOD);
    assert!(refused(&link[..40]).contains("error: the link is cut off after 40 characters: the sender's program"));
    let changed = if &link[40..41] == "A" { "B" } else { "A" };
    assert!(refused(&format!("{}{changed}{}", &link[..40], &link[41..])).contains("error: the link is damaged"));
}

#[test]
fn a_reader_that_goes_away_is_no_panic() {
    let long = format!("{GOOD}\n{}", "// and so on\n".repeat(100_000));
    let path = file("long.wir", &long);
    let mut child = Command::new(env!("CARGO_BIN_EXE_warpscope"))
        .args(["fmt".as_ref(), path.as_os_str()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    drop(child.stdout.take());
    let mut errors = String::new();
    child.stderr.take().expect("it is piped").read_to_string(&mut errors).expect("the errors are text");
    assert_eq!(child.wait().expect("the command ends").code(), Some(0));
    assert_eq!(errors, "");
}

/// `y = a*x + y`, guarded: 250 of 256 threads.
const SAXPY: &str = "\
kernel saxpy(n: u32, a: f32, x: ptr.global, y: ptr.global) {
entry:
    i = mad.u32 %ctaid, %ntid, %tid
    p = setp.lt.u32 i, n
    br p, body, done
body:
    xi = ld.global.f32 x[i]
    yi = ld.global.f32 y[i]
    r = fma.f32 a, xi, yi
    st.global.f32 y[i], r
    br done
done:
    ret
}

launch saxpy {
    grid 4
    block 64
    n = 250
    a = 2.0
    x = buffer f32[256] const 3.0
    y = buffer f32[256] iota
}
";

#[test]
fn sim_counts_what_the_launch_does() {
    let result = json(&["sim", "-", "--json", "--dump", "--machine", "unit", "--seed", "5"], SAXPY);
    assert_eq!((&result["kernel"], &result["machine"]), (&"saxpy".into(), &"unit".into()));
    assert_eq!((&result["seed"], &result["warp_size"], &result["warps"]), (&5.into(), &32.into(), &8.into()));
    // Eight warps: three instructions, then five in the body (the last warp with 26 lanes), then one.
    assert_eq!(result["warp_instructions"], 8 * 9);
    assert_eq!(result["thread_instructions"], 256 * 4 + 250 * 5);
    assert_eq!((&result["divergent_branches"], &result["global_loads"]), (&1.into(), &16.into()));
    assert_eq!((&result["global_stores"], &result["global_store_transactions"]), (&8.into(), &32.into()));
    assert_eq!(result["blocks"]["body"], serde_json::json!({ "issues": 40, "lanes": 1250 }));
    assert!(result["instructions"].as_array().is_some_and(|list| list.len() == 9));
    assert!(result["simt_efficiency"].is_f64() && result["cycles"].is_u64() && result["result_hash"].is_string());
    let y = result["memory"]["y"].as_array().expect("a list");
    assert_eq!((y[0].as_f64(), y[249].as_f64(), y[250].as_f64()), (Some(6.0), Some(255.0), Some(250.0)));
    assert!(json(&["sim", "-", "--json"], SAXPY).get("memory").is_none());
}

#[test]
fn sim_dumps_a_global_beside_the_parameter_of_its_name() {
    let source = "global y: u32[2] = {1, 2}
kernel k(x: u32, y: ptr.global) {
entry:
    st.global.u32 y[0], x
    ret
}
launch k { grid 1 block 1 x = 3 y = buffer u32[2] iota }
";
    let memory = json(&["sim", "-", "--json", "--dump"], source)["memory"].clone();
    assert_eq!(memory, serde_json::json!({ "y": [3, 1], "global y": [1, 2] }));
}

#[test]
fn sim_takes_settings_over_those_of_the_launch() {
    let memory = |options: &[&str]| {
        let arguments = [&["sim", "-", "--json", "--dump"], options].concat();
        json(&arguments, SAXPY)["memory"].clone()
    };
    assert_eq!(memory(&["--set", "x.zero=1"])["y"][3], 3.0);
    assert_eq!(memory(&["--set", "n=0"])["y"][3], 3.0);
    assert_eq!(memory(&["--set", "a=inf"])["y"][3], "inf");
    assert_eq!(memory(&["--grid", "1", "--block", "8,2"])["y"][40], 40.0);
    let warps = json(&["sim", "-", "--json", "--warp", "8"], SAXPY);
    assert_eq!((&warps["warp_size"], &warps["warps"]), (&8.into(), &32.into()));
    for wrong in [
        ["--set", "x.zero=2"],
        ["--set", "x.luck=1"],
        ["--set", "z.zero=1"],
        ["--set", "warp=7"],
        ["--set", "n=2.5"],
        ["--set", "n=nan"],
        ["--set", "n=4294967296"],
        ["--set", "n=--5"],
        ["--set", "n=0x-5"],
        ["--set", "n.zero=0.5"],
        ["--warp", "7"],
        ["--grid", "0"],
        ["--block", "1,2,3,4"],
        ["--machine", "fermi"],
        ["--kernel", "nobody"],
    ] {
        assert_eq!(warpscope(&[&["sim", "-"], &wrong[..]].concat(), SAXPY).status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn sim_prints_a_table_for_people() {
    let text = good(&["sim", "-"], SAXPY);
    for word in ["cycles", "SIMT efficiency", "ampere", "body"] {
        assert!(text.contains(word), "{word} is missing in\n{text}");
    }
}

#[test]
fn a_run_that_fails_names_the_place() {
    let output = warpscope(&["sim", "-"], &SAXPY.replace("n = 250", "n = 257").replace("grid 4", "grid 5"));
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).starts_with("<stdin>:7:"), "{}", stderr(&output));
    let endless = SAXPY.replace("    br done\ndone", "    br body\ndone");
    assert_eq!(warpscope(&["sim", "-", "--fuel", "1000"], &endless).status.code(), Some(1));
}

#[test]
fn ptx_runs_with_a_launch_of_its_own_or_with_one_that_is_made() {
    let path = file("launched.ptx", PTX);
    let path = path.to_str().expect("a plain path");
    let launch = file("launched.wir", "launch k {\n    block 4\n    k_param_0 = buffer u32[2] const 9\n}\n");
    let launch = launch.to_str().expect("a plain path");
    let result = json(&["sim", path, "--launch", launch, "--json", "--dump"], "");
    assert_eq!(result["memory"]["k_param_0"], serde_json::json!([3, 9]));
    assert_eq!(json(&["sim", path, "--json"], "")["kernel"], "k");
}

#[test]
fn launches_beside_a_program_are_checked_in_their_own_text() {
    let wrong = [
        ("launch saxpi {\n}\n", ":1:8: error: unknown kernel `saxpi`: did you mean `saxpy`?"),
        ("launch saxpy {\n    m = 1\n}\n", ":2:5: error: `saxpy` has no parameter or input `m`"),
        ("launch saxpy {\n    x = 1.5\n}\n", ":2:5: error: "),
    ];
    for (text, message) in wrong {
        let path = file("wrong-launch.wir", text);
        let output = warpscope(&["sim", "-", "--launch", path.to_str().expect("a plain path")], SAXPY);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(stderr(&output).contains(&format!("{}{message}", path.display())), "{}", stderr(&output));
    }
    // One file may serve several programs.
    let path = file("two-launches.wir", "launch other {\n}\n\nlaunch saxpy {\n    grid 1\n    block 8\n}\n");
    let path = path.to_str().expect("a plain path");
    assert_eq!(json(&["sim", "-", "--json", "--launch", path], SAXPY)["warps"], 1);
}

#[test]
fn equiv_finds_a_difference_and_a_small_launch_that_shows_it() {
    let right = file("right.wir", SAXPY);
    let wrong = file("wrong.wir", &SAXPY.replace("fma.f32 a, xi, yi", "fma.f32 a, xi, a"));
    let (right, wrong) = (right.to_str().expect("a plain path"), wrong.to_str().expect("a plain path"));
    let good = warpscope(&["equiv", right, right, "--json"], "");
    assert_eq!(good.status.code(), Some(0));
    let verdict: Value = serde_json::from_str(&stdout(&good)).expect("the output is JSON");
    assert_eq!(verdict["equivalent"], true);
    let bad = warpscope(&["equiv", right, wrong, "--json", "--trials", "5"], "");
    assert_eq!(bad.status.code(), Some(1));
    let verdict: Value = serde_json::from_str(&stdout(&bad)).expect("the output is JSON");
    assert_eq!(verdict["equivalent"], false);
    assert_eq!(verdict["counterexample"]["difference"]["buffer"], "y");
    assert_eq!(verdict["counterexample"]["difference"]["index"], 0);
    assert!(verdict["counterexample"]["launch"].as_str().is_some_and(|launch| launch.contains("--block 1,1,1")));
}

#[test]
fn machines_are_listed_with_the_sources_of_their_figures() {
    let text = good(&["machines"], "");
    let list = json(&["machines", "--json"], "");
    let machines = list["machines"].as_array().expect("a list");
    let names: Vec<&str> = machines.iter().filter_map(|machine| machine["name"].as_str()).collect();
    assert_eq!(names, ["unit", "volta", "turing", "ampere", "hopper"]);
    assert!(names.iter().all(|name| text.contains(name)));
    assert!(text.contains("Arafa et al. 2019") && text.contains("filled from"));
}
