//! The conformance cases, run where the engine runs.

use vocative_conformance::{Report, parse};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::border::{Answer, error};

/// A run over case files.
#[wasm_bindgen]
#[derive(Default)]
pub struct Conformance {
    report: Report,
}

#[wasm_bindgen]
impl Conformance {
    /// A run without cases.
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    /// Runs the cases of one file.
    pub fn add(&mut self, file: &str) -> Answer<()> {
        let file = parse(file).map_err(|problem: String| -> JsValue { error("bad_cases", &problem) })?;
        self.report.add(&file);
        Ok(())
    }

    /// How many gave the expected answer.
    #[wasm_bindgen(getter)]
    pub fn passed(&self) -> usize {
        self.report.passed
    }

    /// A line for each that did not.
    #[wasm_bindgen(getter)]
    pub fn failures(&self) -> String {
        self.report.lines.clone()
    }
}
