//! The ports of a verilated module, read off its header: lines like `VL_IN8(&clk_i,0,0);` and `VL_OUTW(&data_o,127,0,4);`.

use std::path::Path;

/// A port as Verilator stores it: least 8, 16, 32 or 64 bits, or an array of 32-bit words, least significant first.
pub(crate) struct Port {
    pub(crate) name: String,
    pub(crate) input: bool,
    pub(crate) bits: u32,
}

/// All ports of the model whose header this is.
pub(crate) fn read(header: &Path) -> Result<Vec<Port>, String> {
    let text = std::fs::read_to_string(header).map_err(|error| format!("{}: {error}", header.display()))?;
    text.lines().filter_map(|line| parse(line.trim())).collect()
}

fn parse(line: &str) -> Option<Result<Port, String>> {
    let (kind, rest) = line.strip_prefix("VL_")?.split_once("(&")?;
    let input = match kind.trim_end_matches(|c: char| c.is_ascii_digit() || c == 'W') {
        "IN" => true,
        "OUT" => false,
        _ => return None,
    };
    let whole = || format!("a port that is not understood: {line}");
    let mut fields = rest.trim_end_matches(");").split(',');
    let mut next = || fields.next().ok_or_else(whole);
    let port = (|| {
        let name = next()?.to_owned();
        let high: u32 = next()?.parse().map_err(|_| whole())?;
        let low: u32 = next()?.parse().map_err(|_| whole())?;
        if low != 0 {
            return Err(whole());
        }
        Ok(Port { name, input, bits: high + 1 })
    })();
    Some(port)
}
