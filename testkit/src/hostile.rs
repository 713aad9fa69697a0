//! What has to hold for any bytes at all: nothing panics, nothing runs away, and what is accepted is understood.
//!
//! The fuzz targets call these functions, and so do the tests that replay `corpus/`.

use warpscope_core::link;

/// A link, or what stands inside one.
pub fn link(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let documents = [link::decode(text), link::decode(&format!("#v1.d:{text}")), link::from_json(text)];
    for document in documents.into_iter().flatten() {
        match link::encode(&document) {
            Ok(link) => assert_eq!(link::decode(&link), Ok(document)),
            Err(error) => assert_eq!(error, link::LinkError::TooLarge),
        }
    }
}
