//! What the options select, as the translator asks for it.

use crate::options::Options;
use std::path::Path;

#[derive(Debug)]
pub struct Selected(pub fpgrind_report::Selection);

impl fpgrind_dbt::Selection for Selected {
    fn includes(&self, file: Option<&Path>, address: u64) -> bool {
        self.0.includes(file, address)
    }

    fn begins_outside(&self) -> bool {
        self.0.begins_outside()
    }

    fn begins_with(&self, file: Option<&Path>, address: u64) -> bool {
        self.0.begins_with(file, address)
    }

    fn ends_with(&self, file: Option<&Path>, address: u64) -> bool {
        self.0.ends_with(file, address)
    }
}

/// For as long as the process runs; nothing if all code is to be analysed.
pub fn of(options: &Options) -> Option<&'static Selected> {
    let patterns = [&options.only, &options.exclude, &options.start_at, &options.stop_at];
    if patterns.iter().all(|patterns| patterns.is_empty()) {
        return None;
    }
    let selection = fpgrind_report::Selection::new(patterns.map(Vec::as_slice));
    Some(Box::leak(Box::new(Selected(selection))))
}
