//! Writes the contents of the read-only memories of all configurations of `hw/units.toml`, for synthesis: the files that the
//! models were built with, `<unit>.<configuration>.<parameter>.hex`.

#[path = "../build/tables.rs"]
mod tables;
#[path = "../build/units.rs"]
#[allow(dead_code, reason = "this example does not choose the units to build")]
mod units;

use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1).ok_or("usage: tables FOLDER")?;
    let folder = Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    for unit in units::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hw/units.toml"))? {
        let Some(kind) = &unit.tables else { continue };
        for configuration in &unit.configuration {
            for table in tables::tables(kind, &configuration.parameters)? {
                let name = format!("{}.{}.{}.hex", unit.name, configuration.name, table.parameter);
                std::fs::write(folder.join(name), table.text)?;
            }
        }
    }
    Ok(())
}
