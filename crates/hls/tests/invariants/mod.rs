//! Invariants for every input. The fuzz target and the corpus replay run exactly this function.

use ciphermill_hls::schedule::Target;
use ciphermill_hls::{Source, parse};

/// Bytes as a C source, next to the headers of hw/hls: parsed, lowered, scheduled and printed. Returns whether its last
/// function compiles.
pub(crate) fn hls_compile(data: &[u8]) -> bool {
    let text = String::from_utf8_lossy(data);
    let source = Source::new("fuzz.c", text)
        .with_header("sizes.h", include_str!("../../../../hw/hls/sizes.h"))
        .with_header("modulus.h", include_str!("../../../../hw/hls/modulus.h"))
        .with_header("ntt.h", include_str!("../../../../hw/hls/ntt.h"))
        .with_header("banks.h", include_str!("../../../../hw/hls/banks.h"));
    let defines = [("N".to_owned(), "64".to_owned())];
    let compiled = parse(&source, &defines).and_then(|unit| {
        let name = unit.functions.last().map_or("none", |function| function.name.as_str());
        source.compile(&defines, name, &Target::ecp5(120.0))
    });
    match compiled {
        Ok(design) => {
            let text = design.to_systemverilog(&ciphermill_hls::Options {
                name: "module",
                source: "source.c",
                memories: ciphermill_hls::Memories::Inside,
            });
            assert!(text.contains("endmodule"), "{text}");
            assert_eq!(design.parts().is_empty(), !text.contains("prim_mul #("), "{text}");
            for one in design.zero_bits() {
                assert!(text.contains(&format!(" {};", one.signal)), "{} in\n{text}", one.signal);
            }
            assert!(design.kernels.iter().all(|one| one.schedule.interval > 0 && one.schedule.depth > 0));
            true
        }
        Err(error) => {
            assert!(error.place.line >= 1 && error.place.column >= 1, "{error:?}");
            assert!(!error.what.is_empty() && !error.way_out.is_empty(), "{error:?}");
            let message = error.to_string();
            assert!(message.len() < 2000 && !message.contains(char::is_control), "{message:?}");
            false
        }
    }
}
