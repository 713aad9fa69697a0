//! Builds the page: the bundled editor, the wasm binaries with their bindings, shrunk, and the files that
//! `index.html` names, all into `dist/`.
//!
//! `index.html` is written for trunk, which some developers use for its live reload. This builder understands the
//! four kinds of `data-trunk` lines that stand in it, so the page's contents are listed in one place.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Result, bail};
use wasm_bindgen_cli_support::Bindgen;

use crate::{budget, progress, setup, tools, workspace};

#[derive(clap::Args)]
#[group(skip)]
pub struct Options {
    /// Build quickly and leave the wasm as large as it comes: for work on the page, not for its visitors.
    #[arg(long)]
    pub draft: bool,
}

/// Builds the page into `dist/`, and prints the sizes. Over budget is an error, unless it is a draft.
pub fn build(options: &Options) -> Result<()> {
    setup::setup()?;
    binaries(&["page", "extras", "worker"], options.draft)?;
    progress::step("assemble dist/", assemble)?;
    budget::check(options.draft)?;
    budget::check_extras(options.draft)?;
    budget::check_engine("worker", &workspace::dist().join("worker_bg.wasm"), options.draft)
}

/// Compiles the binaries of those names to WebAssembly and makes their [`bindings`], each on a
/// thread of its own: shrinking takes half a minute on one core.
pub fn binaries(names: &[&str], draft: bool) -> Result<()> {
    let wasm = compile(names, draft)?;
    thread::scope(|scope| {
        let bind = |&name| {
            scope.spawn({
                let wasm = &wasm;
                move || bind(name, wasm, &bindings(name), draft)
            })
        };
        let threads: Vec<_> = names.iter().map(bind).collect();
        threads.into_iter().try_for_each(|thread| thread.join().expect("binding does not panic"))
    })
}

/// Compiles `binaries` of the page and the engine to WebAssembly and returns the folder they lie in.
fn compile(binaries: &[&str], draft: bool) -> Result<PathBuf> {
    let profile = if draft { "wasm-draft" } else { "wasm" };
    let what = format!("compile {} to WebAssembly", binaries.join(", "));
    progress::step(&what, || {
        let mut cargo = tools::cargo();
        cargo.args(["build", "--quiet", "--locked", "--target", setup::WASM, "--profile", profile]);
        // Both packages even for one's binary: features, and with them the compiled crates, stay the same.
        cargo.args(["--package", "warpscope-web", "--package", "warpscope-modules"]);
        for binary in binaries {
            cargo.args(["--bin", binary]);
        }
        tools::run(&mut cargo)
    })?;
    Ok(workspace::target().join(setup::WASM).join(profile))
}

/// Makes the JavaScript side of `name`, as a module with `web` exports, and shrinks the wasm unless it is a draft.
fn bind(name: &str, compiled: &Path, out: &Path, draft: bool) -> Result<()> {
    let input = compiled.join(format!("{name}.wasm"));
    let wasm = out.join(format!("{name}_bg.wasm"));
    let script = out.join(format!("{name}.js"));
    let kind = if draft { "draft" } else { "shrunk" };
    progress::step_unless_current(
        &format!("bind and shrink {name}.wasm"),
        std::slice::from_ref(&input),
        kind,
        &[wasm.clone(), script],
        || {
            Bindgen::new()
                .input_path(&input)
                .out_name(name)
                .web(true)?
                .typescript(false)
                // Without this `init()` would not know where its wasm lies.
                .omit_default_module_path(false)
                .generate(out)?;
            if draft { Ok(()) } else { shrink(&wasm) }
        },
    )
}

/// The folder of `name`'s bindings.
pub fn bindings(name: &str) -> PathBuf {
    workspace::target().join("bindings").join(name)
}

/// Exactly the extensions that rustc uses for this target. With `--all-features` wasm-opt would use more than
/// browsers accept.
const EXTENSIONS: [&str; 7] = [
    "--enable-bulk-memory",
    "--enable-multivalue",
    "--enable-mutable-globals",
    "--enable-nontrapping-float-to-int",
    "--enable-reference-types",
    "--enable-sign-ext",
    "--enable-simd",
];

/// Makes `wasm` as small as wasm-opt can.
pub fn shrink(wasm: &Path) -> Result<()> {
    let shrunk = wasm.with_extension("shrunk");
    tools::run(
        tools::npm_script("binaryen/bin/wasm-opt").arg("-Oz").args(EXTENSIONS).arg(wasm).arg("-o").arg(&shrunk),
    )?;
    fs::rename(&shrunk, wasm)?;
    Ok(())
}

/// Writes `dist/` anew from `index.html` and the bindings.
fn assemble() -> Result<()> {
    let dist = workspace::dist();
    if dist.exists() {
        // Its contents go, the folder stays: a running server or a shell may stand in it.
        for entry in fs::read_dir(&dist)? {
            let path = entry?.path();
            if path.is_dir() { fs::remove_dir_all(&path)? } else { fs::remove_file(&path)? }
        }
    }
    fs::create_dir_all(&dist)?;
    let root = workspace::root();
    let source = fs::read_to_string(root.join("index.html")).context("index.html")?;
    let mut page = String::new();
    for line in source.lines() {
        if !line.contains("data-trunk") {
            page.push_str(line);
            page.push('\n');
            continue;
        }
        match attribute(line, "rel") {
            Some("rust") => {
                let name = attribute(line, "data-bin").context("a rust line names its binary")?;
                copy(&bindings(name), &dist)?;
                if attribute(line, "data-type") != Some("worker") {
                    page.push_str(&format!("    <link rel=\"modulepreload\" href=\"{name}.js\" />\n"));
                    page.push_str(&format!(
                        "    <link rel=\"preload\" href=\"{name}_bg.wasm\" as=\"fetch\" type=\"application/wasm\" \
                         crossorigin />\n"
                    ));
                    page.push_str(&format!(
                        "    <script type=\"module\">import init from \"./{name}.js\"; init();</script>\n"
                    ));
                }
            }
            Some("copy-file") => {
                let file = root.join(attribute(line, "href").context("a file line names its file")?);
                let name = file.file_name().context("a file line names its file")?;
                fs::copy(&file, dist.join(name)).with_context(|| file.display().to_string())?;
            }
            Some("copy-dir") => {
                let folder = root.join(attribute(line, "href").context("a folder line names its folder")?);
                let name = match attribute(line, "data-target-path") {
                    Some(name) => name.as_ref(),
                    None => folder.file_name().context("a folder line names its folder")?,
                };
                copy(&folder, &dist.join(name))?;
            }
            _ => bail!("index.html has a data-trunk line of an unknown kind: {}", line.trim()),
        }
    }
    fs::write(dist.join("index.html"), page)?;
    Ok(())
}

/// The value of `name` in a line that holds one HTML tag.
fn attribute<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = line.split_once(&format!(" {name}=\""))?;
    rest.split_once('"').map(|(value, _)| value)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    for file in progress::files_below(from)? {
        let target = to.join(file.strip_prefix(from)?);
        fs::create_dir_all(target.parent().expect("a file lies in a folder"))?;
        fs::copy(&file, &target).with_context(|| file.display().to_string())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::attribute;

    #[test]
    fn attributes_are_read_by_their_whole_name() {
        let line = r#"<link data-trunk rel="rust" data-type="worker" data-bin="w" />"#;
        assert_eq!(attribute(line, "rel"), Some("rust"));
        assert_eq!(attribute(line, "data-bin"), Some("w"));
        assert_eq!(attribute(line, "bin"), None);
    }
}
