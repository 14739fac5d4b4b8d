//! Runs the scripted model server by itself, to try an agent by hand.
//!
//! `tackroom-model-server [PORT] [NAME=SCRIPT.json]...`: prints its address, then serves until it is interrupted.

use std::error::Error;

use tackroom_model_server::{ModelServer, Script};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1).peekable();
    let port = arguments.next_if(|argument| !argument.contains('=')).map_or(Ok(0), |port| port.parse())?;
    let server = ModelServer::start_on(port).await?;
    for argument in arguments {
        let (name, file) = argument.split_once('=').ok_or("A script is given as NAME=FILE.")?;
        let script: Script = serde_json::from_str(&std::fs::read_to_string(file)?)?;
        server.script(name, script);
        println!("{}", server.base_url(name));
    }
    println!("{}", server.base_url("default"));
    tokio::signal::ctrl_c().await?;
    Ok(())
}
