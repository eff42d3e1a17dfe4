//! What the fuzz targets share with the tests.

#[path = "../../cassettes/tests/importing/law.rs"]
pub mod law;

pub use wiretape_cassettes::import::Format;
