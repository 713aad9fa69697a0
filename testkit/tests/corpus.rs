//! Inputs that were once a problem, or that reach far into the readers, are replayed in every test run.
//! The fuzz targets begin with the same files.

use std::fs;
use std::path::Path;

use warpscope_testkit::hostile;

fn replay(folder: &str, target: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(folder);
    let mut count = 0;
    for entry in fs::read_dir(&folder).expect("the corpus is there") {
        let path = entry.expect("the folder can be read").path();
        println!("{}", path.display());
        target(&fs::read(&path).expect("the file can be read"));
        count += 1;
    }
    assert!(count > 0, "{} is empty", folder.display());
}

#[test]
fn programs() {
    replay("wir", hostile::wir);
}

#[test]
fn value_name_graphs() {
    replay("wir", hostile::vng);
}

#[test]
fn estimates() {
    replay("wir", hostile::estimate);
}

#[test]
fn ptx() {
    replay("ptx", hostile::ptx);
}

#[test]
fn links() {
    replay("link", hostile::link);
}
