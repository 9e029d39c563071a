//! `xtask-bindgen IN.wasm OUT-FOLDER NAME`: the JavaScript and the types of a WebAssembly module.

use std::path::Path;
use std::process::ExitCode;

use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [input, folder, name] = &arguments[..] else {
        eprintln!("xtask-bindgen IN.wasm OUT-FOLDER NAME");
        return ExitCode::from(2);
    };
    match write(Path::new(input), Path::new(folder), name) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn write(input: &Path, folder: &Path, name: &str) -> Result<(), String> {
    let mut bindgen = Bindgen::new();
    bindgen.input_path(input).out_name(name).typescript(true);
    // Nobody reads names in what browsers download.
    bindgen.remove_name_section(true).remove_producers_section(true);
    let web = bindgen.web(true).map_err(|error| format!("{error:#}"))?;
    web.generate(folder).map_err(|error| format!("{error:#}"))?;
    // The module's own functions take handles of values; no type of ours is `any`.
    let types = folder.join(format!("{name}.d.ts"));
    let read = std::fs::read_to_string(&types).map_err(|error| error.to_string())?;
    std::fs::write(&types, read.replace(": any", ": unknown")).map_err(|error| error.to_string())
}
