//! Shell, page and npm package give the same figures for every example.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use warpscope_engine::message::{Language, Program, Request, Response, Settings, Simulate};
use warpscope_engine::{Engine, api};

use super::json;

/// The programs below a folder, sorted; launches that stand beside PTX are none.
fn programs(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        let name = path.to_string_lossy();
        if path.is_dir() {
            found.extend(programs(&path));
        } else if (name.ends_with(".wir") && !name.ends_with(".launch.wir")) || name.ends_with(".ptx") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The file that says how a PTX file is run.
fn launch_file(path: &Path) -> Option<PathBuf> {
    let name = path.file_name()?.to_str()?;
    let stem = name.strip_suffix(".ptx")?.split('.').next()?;
    Some(path.with_file_name(format!("{stem}.launch.wir"))).filter(|file| file.exists())
}

#[test]
fn every_example_has_the_same_figures_everywhere() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../www/examples");
    let programs = programs(&folder);
    let mut ptx_files = 0;
    for path in &programs {
        let name = path.display().to_string();
        let text = fs::read_to_string(path).expect("it can be read");
        let launch = launch_file(path);
        let is_ptx = name.ends_with(".ptx");
        ptx_files += usize::from(is_ptx);

        let mut arguments = vec!["sim", name.as_str(), "--json"];
        let launch_name = launch.as_ref().map(|launch| launch.display().to_string());
        if let Some(launch) = &launch_name {
            arguments.extend(["--launch", launch.as_str()]);
        }
        let shell = json(&arguments, "");

        let launch_text = launch.map(|launch| fs::read_to_string(launch).expect("it can be read"));
        let options = json!({ "from": if is_ptx { "ptx" } else { "wir" }, "launch": launch_text });
        let npm: Value = serde_json::from_str(&api::simulate(&text, &options.to_string())).expect("it is JSON");
        assert_eq!(npm["ok"], shell, "{name}");

        let kernel = shell["kernel"].as_str().expect("a name").to_owned();
        let language = if is_ptx { Language::Ptx } else { Language::Wir };
        let program = Program { text, language, launch: launch_text.unwrap_or_default(), kernel };
        let request = Simulate { before: program.clone(), after: program, end: None, settings: Settings::default() };
        let Response::Simulated(page) = Engine::new(|| 0.0).answer(Request::Simulate(request)) else {
            panic!("{name}: another answer");
        };
        let page = page.before.unwrap_or_else(|why| panic!("{name}: {}", why.text()));
        let figures = json!([page.total.cycles, page.total.issues, page.total.lanes, page.warps, page.result_hash]);
        let keys = ["cycles", "warp_instructions", "thread_instructions", "warps", "result_hash"];
        assert_eq!(figures, Value::from(keys.map(|key| shell[key].clone()).to_vec()), "{name}");
    }
    assert!(programs.len() > 60 && ptx_files > 20, "{} programs, {ptx_files} in PTX", programs.len());
}
