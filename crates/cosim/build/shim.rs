//! The C functions around a model, and what Rust knows of them.

use std::fmt::Write as _;

use super::ports::Port;
use super::units::Configuration;

/// The shim of one model. No exception leaves it: a model that fails ends the process, as Verilator's own `$fatal` does.
pub(crate) fn cpp(name: &str, ports: &[Port]) -> String {
    let mut text = format!(
        r#"#include "V{name}.h"
#include "verilated.h"
#if VM_COVERAGE
#include "verilated_cov.h"
#endif
#if VM_TRACE
#include "verilated_fst_c.h"
#endif

// Several models may be in one unit of translation.
namespace {name}_shim {{
struct Instance {{
    VerilatedContext context;
    V{name} model;
#if VM_TRACE
    VerilatedFstC* trace = nullptr;
#endif
    explicit Instance(unsigned seed) : context{{}}, model{{prepare(&context, seed), "{name}"}} {{}}
    static VerilatedContext* prepare(VerilatedContext* context, unsigned seed) {{
        // Registers and memories begin with random bits, as they do on silicon.
        context->randReset(2);
        context->randSeed(static_cast<int>(seed));
#if VM_TRACE
        context->traceEverOn(true);
#endif
        return context;
    }}
}};

// Verilator's library remembers for each thread whose context it was last in, and that one may be gone.
Instance* entered(void* instance) {{
    auto* it = static_cast<Instance*>(instance);
    Verilated::threadContextp(&it->context);
    return it;
}}

extern "C" {{
void* {name}_new(unsigned seed) {{ return new Instance{{seed}}; }}
void {name}_delete(void* instance) {{
    auto* it = entered(instance);
    it->model.final();
#if VM_TRACE
    if (it->trace) {{ it->trace->close(); delete it->trace; }}
#endif
    delete it;
}}
void {name}_eval(void* instance) {{
    auto* it = entered(instance);
    it->model.eval();
    it->context.timeInc(1);
#if VM_TRACE
    if (it->trace) it->trace->dump(it->context.time());
#endif
}}
int {name}_trace(void* instance, const char* path) {{
#if VM_TRACE
    auto* it = entered(instance);
    if (it->trace) {{ it->trace->close(); delete it->trace; it->trace = nullptr; }}
    if (!path) return 0;
    it->trace = new VerilatedFstC;
    it->model.trace(it->trace, 99);
    it->trace->open(path);
    return it->trace->isOpen() ? 0 : 1;
#else
    (void)instance; (void)path;
    return 2;
#endif
}}
int {name}_coverage(void* instance, const char* path) {{
#if VM_COVERAGE
    entered(instance)->context.coveragep()->write(path);
    return 0;
#else
    (void)instance; (void)path;
    return 2;
#endif
}}
void {name}_ports(void* instance, void** ports) {{
    auto* it = entered(instance);
    unsigned i = 0;
"#
    );
    for port in ports {
        let _ = writeln!(text, "    ports[i++] = &it->model.{};", port.name);
    }
    text.push_str("}\n}\n}\n");
    text
}

/// The declarations of a shim's functions in Rust.
pub(crate) fn externs(name: &str) -> String {
    format!(
        "    fn {name}_new(seed: core::ffi::c_uint) -> *mut core::ffi::c_void;
    fn {name}_delete(instance: *mut core::ffi::c_void);
    fn {name}_eval(instance: *mut core::ffi::c_void);
    fn {name}_trace(instance: *mut core::ffi::c_void, path: *const core::ffi::c_char) -> core::ffi::c_int;
    fn {name}_coverage(instance: *mut core::ffi::c_void, path: *const core::ffi::c_char) -> core::ffi::c_int;
    fn {name}_ports(instance: *mut core::ffi::c_void, ports: *mut *mut core::ffi::c_void);
"
    )
}

/// The configuration as an element of the table that Rust looks in.
pub(crate) fn entry(unit: &str, configuration: &Configuration, name: &str, ports: &[Port]) -> String {
    let mut text = format!("    Configuration {{\n        unit: {unit:?},\n        name: {:?},\n", configuration.name);
    let parameters: Vec<_> = configuration.parameters.iter().collect();
    let _ = writeln!(text, "        parameters: &{parameters:?},");
    let _ = writeln!(text, "        ports: &[");
    for port in ports {
        let _ = writeln!(
            text,
            "            PortInfo {{ name: {:?}, input: {}, bits: {} }},",
            port.name, port.input, port.bits
        );
    }
    let _ = write!(
        text,
        "        ],
        functions: Functions {{
            new: {name}_new,
            delete: {name}_delete,
            eval: {name}_eval,
            trace: {name}_trace,
            coverage: {name}_coverage,
            ports: {name}_ports,
        }},
    }},
"
    );
    text
}
