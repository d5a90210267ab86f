//! placebench
pub use placebench_datasets as datasets;
