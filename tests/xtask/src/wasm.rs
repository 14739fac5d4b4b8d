//! Builds the engine as a WebAssembly component, `target/component/tackroom-engine.wasm`, unless it is there already
//! and nothing it is made of has changed.

mod compiler;
mod sysroot;

use std::{ffi::OsString, fs, path::PathBuf};

use anyhow::{Context, Result};

use crate::{
    command, paths, say,
    stamp::{self, Stamp},
};

pub(crate) use compiler::Compiler;

/// The target without a system interface: what is built for it can import nothing by accident.
const TARGET: &str = "wasm32-unknown-unknown";

/// The stack of the engine, in bytes. The toolchain's default of 1 MB would be most of an instance's memory.
const STACK_BYTES: u32 = 256 * 1024;

/// What the component is made of, relative to the workspace.
const INPUTS: [&str; 5] = ["core", "wit", "tests/wasm-tool", "Cargo.toml", "Cargo.lock"];

/// Sees to a compiler for the target and builds the component. Gives the path of the component.
///
/// # Errors
/// There is no compiler and none can be installed, or the build fails.
pub(crate) fn run() -> Result<PathBuf> {
    let component = paths::component();
    let stamp_file = component.with_extension("stamp");
    if let Some(compiler) = compiler::find()?
        && component.is_file()
        && stamp::fresh(&stamp_file, &inputs(&compiler)?)
    {
        say::note(&format!("The component is up to date: {}.", described(&component)?));
        return Ok(component);
    }
    let compiler = compiler::find_or_install()?;
    let own_std = sysroot::prepare(&compiler)?;
    build(&compiler, own_std)?;
    stamp::set(&stamp_file, &inputs(&compiler)?)?;
    Ok(component)
}

/// Sees to the compiler and its standard library, without building anything of this workspace.
///
/// # Errors
/// There is no compiler and none can be installed, or its library cannot be built.
pub(crate) fn prepare() -> Result<Compiler> {
    let compiler = compiler::find_or_install()?;
    sysroot::prepare(&compiler)?;
    Ok(compiler)
}

fn build(compiler: &Compiler, own_std: Option<PathBuf>) -> Result<()> {
    let component = paths::component();
    let step = say::step("Build the engine for WebAssembly", Some("a minute or two at first, seconds after an edit"));
    let folder = component.parent().expect("the component stands in a folder");
    fs::create_dir_all(folder).with_context(|| format!("The folder {} cannot be made.", folder.display()))?;
    stamp::clear(&component.with_extension("stamp"))?;

    let target_dir = paths::target("wasm");
    let mut cargo = command::foreign_cargo(&compiler.rustc, &target_dir);
    cargo.args(["build", "--package", "tackroom-component", "--profile", "component", "--target", TARGET]);
    cargo.env("CARGO_ENCODED_RUSTFLAGS", flags(compiler, own_std).join(OsString::from("\u{1f}").as_os_str()));
    command::run(&mut cargo, "build the engine for WebAssembly")?;

    let module = target_dir.join(TARGET).join("component/tackroom_component.wasm");
    let mut tool = command::cargo();
    tool.args(["run", "--package", "wasm-tool", "--"]).arg(module).arg(&component);
    command::run(&mut tool, "make a component of the engine")?;
    step.done(&described(&component)?);
    Ok(())
}

/// The compiler's flags for the component. The paths of this machine are kept out of the bytes, so that the same
/// sources give the same component everywhere.
fn flags(compiler: &Compiler, own_std: Option<PathBuf>) -> Vec<OsString> {
    let mut flags = vec![OsString::from(format!("-Clink-arg=-zstack-size={STACK_BYTES}"))];
    for (from, to) in [(Some(paths::root().to_owned()), "/tackroom"), (cargo_home(), "/cargo")] {
        if let Some(from) = from {
            let mut flag = OsString::from("--remap-path-prefix=");
            flag.push(from);
            flag.push("=");
            flag.push(to);
            flags.push(flag);
        }
    }
    if let Some(sysroot) = own_std {
        let mut flag = OsString::from("--sysroot=");
        flag.push(sysroot);
        flags.push(flag);
    }
    if let Some(linker) = &compiler.linker {
        let mut flag = OsString::from("-Clinker=");
        flag.push(linker);
        flags.push(flag);
    }
    flags
}

fn cargo_home() -> Option<PathBuf> {
    std::env::var_os("CARGO_HOME").map(PathBuf::from).or_else(|| std::env::home_dir().map(|home| home.join(".cargo")))
}

/// The stamp of everything that the component is made of.
fn inputs(compiler: &Compiler) -> Result<String> {
    let mut stamp = Stamp::new().text(&compiler.version).text(&STACK_BYTES.to_string());
    for input in INPUTS {
        stamp = stamp.path(&paths::root().join(input))?;
    }
    Ok(stamp.finish())
}

fn described(component: &std::path::Path) -> Result<String> {
    let bytes = fs::metadata(component)
        .with_context(|| format!("The component {} cannot be read.", component.display()))?
        .len();
    Ok(format!("{}, {} kB, no imports", paths::shown(component), bytes.div_ceil(1000)))
}
