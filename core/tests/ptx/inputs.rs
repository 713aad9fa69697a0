//! The PTX files that the tests read: the CUDA examples and the corpus beside this file.

use std::path::{Path, PathBuf};

/// A PTX file.
pub struct Input {
    /// Its name for messages.
    pub name: String,
    /// Its text.
    pub source: String,
}

/// The folder of the CUDA examples.
pub fn examples_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../www/examples/cuda")
}

/// The folder of the kernels that scalar replacement is measured on.
pub fn scalar_replacement_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../www/examples/ssrqp")
}

/// The folder of the kernels that zero specialisation is measured on.
pub fn zero_specialisation_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../www/examples/azp")
}

/// The folder of the other PTX files.
pub fn corpus_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/ptx/corpus")
}

/// Every PTX file of both folders, by name.
pub fn all() -> Vec<Input> {
    let mut inputs = Vec::new();
    for folder in [examples_folder(), corpus_folder()] {
        for entry in std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.expect("a readable folder").path();
            if path.extension().is_some_and(|extension| extension == "ptx") {
                let name = path.file_name().expect("a file").to_string_lossy().into_owned();
                inputs.push(Input { name, source: read(&path) });
            }
        }
    }
    inputs.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(inputs.len() >= 26, "only {} PTX files found", inputs.len());
    inputs
}

/// Every PTX file of the project that loads whole: those of [`all`], the other examples, and the golden files about
/// declarations.
pub fn everywhere() -> Vec<Input> {
    let mut inputs = all();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/declarations");
    for folder in [scalar_replacement_folder(), zero_specialisation_folder(), golden] {
        for entry in std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.expect("a readable folder").path();
            if path.extension().is_some_and(|extension| extension == "ptx") {
                let [own, folder] = [Some(path.as_path()), path.parent()]
                    .map(|path| path.and_then(Path::file_name).expect("a name").to_string_lossy().into_owned());
                // Two folders have a file of the same name.
                let name = format!("{folder}.{own}");
                let text = read(&path);
                let source = text.split_once("\n// ----").map_or(text.as_str(), |(source, _)| source);
                // Only what is written for an old version comes out for a later one.
                if !own.starts_with("old-version") {
                    inputs.push(Input { name, source: format!("{source}\n") });
                }
            }
        }
    }
    inputs.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(inputs.len() >= 60, "only {} PTX files found", inputs.len());
    inputs
}

/// Every golden program but those about errors, without what is expected of it; folders are parts of the names.
pub fn golden() -> Vec<Input> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let (mut inputs, mut folders) = (Vec::new(), vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.expect("a readable folder").path();
            if path.is_dir() && !path.ends_with("errors") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "wir" || extension == "ptx") {
                let name = path.strip_prefix(&root).expect("it is inside").to_string_lossy().replace('/', ".");
                let text = read(&path);
                let source = text.split_once("\n// ----").map_or(text.as_str(), |(source, _)| source);
                inputs.push(Input { name, source: format!("{source}\n") });
            }
        }
    }
    inputs.sort_by(|a, b| a.name.cmp(&b.name));
    assert!(inputs.len() >= 300, "only {} golden programs found", inputs.len());
    inputs
}

/// A file's text.
pub fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
