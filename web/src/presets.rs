//! Passes and pipelines that the page offers by name. Besides examples and tests, no other file of the page names one.

/// Pipelines that are compared where one of these passes is in use, the empty one first.
pub const VARIANTS: [&str; 5] = ["", "srqp", "esrqp", "ssrqp-s", "ssrqp[cost=paper]"];

/// The name of a field for pipelines, with an example.
pub const PIPELINE_FIELD: &str = "Add a pipeline, such as copy-prop,dce";

/// The form of a pipeline.
pub const PIPELINE_FORM: &str = "Passes and pipelines, separated by commas: copy-prop,ssrqp[cdrnd=relative]";

/// Passes that are for fewer evaluations by threads.
pub const SAVE_EVALUATIONS: [&str; 8] =
    ["dce", "gvn-cse", "hoist-common", "late-commoning", "preqp", "azp", "pde", "spec-pre"];

/// Passes that are for fewer loads.
pub const SAVE_LOADS: [&str; 4] = ["srqp", "esrqp", "ssrqp-s", "ssrqp"];

/// Passes that are for fewer divergent branches.
pub const AVOID_DIVERGENCE: [&str; 1] = ["if-convert"];

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::{Path, PathBuf};

    use warpscope_engine::Engine;
    use warpscope_engine::message::{Request, Response};

    /// Files that may name passes.
    const DATA: [&str; 4] = ["src/presets.rs", "src/examples.rs", "src/examples/value_names.rs", "src/state/tests.rs"];

    fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                sources(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }

    /// The names of all passes, as the catalogue lists them.
    fn passes() -> Vec<String> {
        let Response::Catalogue(catalogue) = Engine::new(|| 0.0).answer(Request::Catalogue) else { return Vec::new() };
        catalogue.passes.into_iter().map(|pass| pass.name).filter(|name| !name.starts_with('@')).collect()
    }

    /// Code without comments and unit tests.
    fn code(text: &str) -> String {
        let before_tests = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        before_tests.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
    }

    fn names(code: &str, pass: &str) -> bool {
        let is_part = |character: char| character.is_alphanumeric() || matches!(character, '-' | '_');
        code.match_indices(pass).any(|(at, _)| {
            let (before, after) = (code[..at].chars().next_back(), code[at + pass.len()..].chars().next());
            !before.is_some_and(is_part) && !after.is_some_and(is_part)
        })
    }

    #[test]
    fn the_page_names_no_pass_outside_its_data() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut files = Vec::new();
        ["src", "engine/src"].iter().for_each(|folder| sources(&root.join(folder), &mut files));
        assert!(files.len() > 80, "{} files", files.len());
        let (mut found, passes) = (Vec::new(), passes());
        for path in files {
            let name = path.strip_prefix(root).expect("inside").to_string_lossy().replace('\\', "/");
            let text = code(&fs::read_to_string(&path).expect("a source"));
            let named = passes.iter().filter(|pass| !DATA.contains(&name.as_str()) && names(&text, pass));
            found.extend(named.map(|pass| format!("{name} names {pass}")));
        }
        assert!(found.is_empty(), "{found:#?}");
        assert!(names("a(\"pde\")", "pde") && !names("spec-pre", "pre") && !names("depde", "pde"));
    }
}
