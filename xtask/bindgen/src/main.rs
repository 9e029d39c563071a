//! `xtask-bindgen IN.wasm OUT-FOLDER NAME`: the JavaScript and the types of a WebAssembly module.

use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, folder, name] = &arguments[..] else {
        eprintln!("xtask-bindgen IN.wasm OUT-FOLDER NAME");
        return ExitCode::from(2);
    };
    let mut bindgen = Bindgen::new();
    // Nobody reads names in what browsers download.
    bindgen.remove_name_section(true).remove_producers_section(true);
    let written = bindgen.input_path(input).out_name(name).typescript(true).web(true);
    match written.and_then(|bindgen| bindgen.generate(folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error:#}");
            ExitCode::FAILURE
        }
    }
}
