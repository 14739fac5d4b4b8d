//! Turns a core module into a component and refuses one that imports anything. A program of its own, because its
//! dependencies take long to build and the build program has to speak within seconds.

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::{Context, Result, bail};
use wasmparser::{BinaryReader, Encoding, Parser, Payload};

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("wasm-tool: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let mut args = std::env::args_os().skip(1);
    let (Some(module), Some(component), None) = (args.next(), args.next(), args.next()) else {
        bail!("Usage: wasm-tool CORE_MODULE COMPONENT");
    };
    let (module, component) = (PathBuf::from(module), PathBuf::from(component));
    let bytes = fs::read(&module).with_context(|| format!("The core module {} cannot be read.", module.display()))?;
    let encoded = componentize(&bytes)?;
    // A reader never sees half a component: the name appears when the bytes are all there.
    let partial = component.with_extension("partial");
    fs::write(&partial, &encoded)
        .and_then(|()| fs::rename(&partial, &component))
        .with_context(|| format!("The component {} cannot be written.", component.display()))?;
    println!("{}: {} bytes, no imports", component.display(), encoded.len());
    Ok(())
}

/// Encodes a core module, made with `wit-bindgen`, as a component that imports nothing.
fn componentize(module: &[u8]) -> Result<Vec<u8>> {
    let encoded = wit_component::ComponentEncoder::default()
        .validate(true)
        .module(module)
        .context("The core module carries a damaged description of its world.")?
        .encode()
        .context("The core module does not fit its world.")?;
    let Surface { imports, exports } = surface(&encoded)?;
    if exports == 0 {
        bail!("The component exports nothing. Was the core module built with wit-bindgen?");
    }
    if !imports.is_empty() {
        bail!(
            "The component imports {}. It has to import nothing: look for a clock, a random number or a file in the \
             engine or one of its dependencies.",
            imports.join(", ")
        );
    }
    without_custom_sections(&encoded)
}

/// The component without the sections that only people read: names, and what made it.
fn without_custom_sections(component: &[u8]) -> Result<Vec<u8>> {
    let damaged = "The component is not valid WebAssembly.";
    let (preamble, mut rest) = component.split_at_checked(8).context(damaged)?;
    let mut kept = preamble.to_vec();
    while !rest.is_empty() {
        let mut reader = BinaryReader::new(rest, 0);
        let custom = reader.read_u8().context(damaged)? == 0;
        let length = reader.read_var_u32().context(damaged)? as usize;
        let (section, after) = rest.split_at_checked(reader.current_position() + length).context(damaged)?;
        if !custom {
            kept.extend_from_slice(section);
        }
        rest = after;
    }
    Ok(kept)
}

/// What a component has in common with its host.
struct Surface {
    /// The names of what it asks for.
    imports: Vec<String>,
    /// How many things it offers.
    exports: u32,
}

/// Reads the surface of a component. What the modules and components inside it import is their own affair.
fn surface(component: &[u8]) -> Result<Surface> {
    let mut surface = Surface { imports: Vec::new(), exports: 0 };
    let mut depth = 0_usize;
    let mut outermost = None;
    for payload in Parser::new(0).parse_all(component) {
        match payload.context("The component is not valid WebAssembly.")? {
            Payload::Version { encoding, .. } => {
                outermost.get_or_insert(encoding);
                depth += 1;
            }
            Payload::End(_) => depth -= 1,
            Payload::ComponentImportSection(section) if depth == 1 => {
                for import in section {
                    let import = import.context("The component has a malformed import.")?;
                    surface.imports.push(import.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 1 => surface.exports += section.count(),
            _ => {}
        }
    }
    if outermost != Some(Encoding::Component) {
        bail!("The bytes are a core module, where a component was expected.");
    }
    Ok(surface)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The header of an empty component.
    const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

    #[test]
    fn an_empty_component_has_no_surface() {
        let surface = surface(EMPTY).unwrap();
        assert!(surface.imports.is_empty());
        assert_eq!(surface.exports, 0);
    }

    #[test]
    fn an_import_is_named() {
        // Section 7: one function type without parameters or result. Section 10: one import, "clock", of it.
        let mut bytes = EMPTY.to_vec();
        bytes.extend([7, 5, 1, 0x40, 0, 1, 0]);
        bytes.extend([10, 10, 1, 0, 5]);
        bytes.extend(b"clock");
        bytes.extend([1, 0]);
        assert_eq!(surface(&bytes).unwrap().imports, ["clock"]);
    }

    #[test]
    fn a_core_module_is_refused() {
        let error = surface(b"\0asm\x01\0\0\0").err().unwrap();
        assert!(error.to_string().contains("core module"), "{error}");
    }

    #[test]
    fn a_module_without_a_world_is_refused() {
        let error = componentize(b"\0asm\x01\0\0\0").unwrap_err();
        assert!(error.to_string().contains("exports nothing"), "{error}");
    }
}
