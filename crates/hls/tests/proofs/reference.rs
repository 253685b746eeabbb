//! The unscheduled program as one function of SystemVerilog: all iterations of all kernels, one after another.

use std::fmt::Write as _;

use ciphermill_hls::ir::{Kernel, Memory, Node, Op, Program, Role};

/// The statements of the function, and the declarations of its variables. `NAME_after` are the memories.
pub(crate) struct Reference<'p> {
    program: &'p Program,
    /// Bits of all values, with a sign.
    bits: u32,
    variables: Vec<String>,
    statements: String,
}

impl<'p> Reference<'p> {
    /// The function of a program. It reads `NAME_q`, the contents of a parameter before the run.
    pub(crate) fn of(program: &'p Program) -> Self {
        let nodes = program.kernels.iter().flat_map(|kernel| kernel.graph.nodes());
        let widest = nodes.map(|(_, data)| data.range.1.max(-data.range.0).max(1).ilog2() + 1).max().unwrap_or(1);
        // Constants such as the number of banks are no wider than values.
        let mut this = Self { program, bits: widest + 2, variables: Vec::new(), statements: String::new() };
        program.memories.iter().for_each(|memory| this.begin(memory));
        for (number, kernel) in program.kernels.iter().enumerate() {
            (0..kernel.iterations()).for_each(|iteration| this.iteration(number, kernel, iteration));
        }
        this
    }

    pub(crate) fn declarations(&self) -> String {
        let mut text = String::new();
        for memory in &self.program.memories {
            let _ = writeln!(text, "  logic [{}:0][{}:0] {}_after;", memory.len() - 1, memory.bits() - 1, memory.name);
        }
        for variable in &self.variables {
            let _ = writeln!(text, "  logic signed [{}:0] {variable};", self.bits - 1);
        }
        text
    }

    pub(crate) fn statements(&self) -> &str {
        &self.statements
    }

    fn begin(&mut self, memory: &Memory) {
        let (name, bits) = (&memory.name, memory.bits());
        let _ = match &memory.role {
            Role::Parameter => writeln!(self.statements, "    {name}_after = {name}_q;"),
            Role::Table(elements) => {
                let elements: Vec<String> = elements.iter().rev().map(|value| format!("{bits}'d{value}")).collect();
                writeln!(self.statements, "    {name}_after = {{{}}};", elements.join(", "))
            }
            Role::Local | Role::Result => writeln!(self.statements, "    {name}_after = '0;"),
        };
    }

    fn iteration(&mut self, number: usize, kernel: &Kernel, iteration: usize) {
        let mut known: Vec<bool> = vec![false; kernel.graph.len()];
        let name = |node: Node| format!("v{number}_{iteration}_{}", node.index());
        for (access, one) in kernel.accesses.iter().enumerate() {
            let memory = &self.program.memories[one.memory];
            let needed = one.indices.iter().copied().chain(one.condition).chain(one.written);
            needed.for_each(|node| self.value(kernel, iteration, node, &name, &mut known));
            let term = |node: Node| term(kernel, iteration, node, &name);
            let element =
                one.indices.iter().zip(&memory.lengths).fold("0".to_owned(), |element, (&index, length)| {
                    format!("{element} * {length} + {}", term(index))
                });
            let bits = (memory.len().max(2) - 1).ilog2() + 1;
            let place = format!("{}_after[$unsigned({bits}'({element}))]", memory.name);
            if let Some(written) = one.written {
                let condition = one.condition.map_or(String::new(), |node| format!("if ({} != 0) ", term(node)));
                let _ = writeln!(self.statements, "    {condition}{place} = {}'({});", memory.bits(), term(written));
            } else if let Some((node, _)) = kernel.graph.nodes().find(|(_, data)| data.op == Op::Read(access)) {
                known[node.index()] = true;
                self.assign(name(node), &format!("{}'({place})", self.bits));
            }
        }
    }

    fn assign(&mut self, name: String, value: &str) {
        let _ = writeln!(self.statements, "    {name} = {value};");
        self.variables.push(name);
    }

    /// The value of a node, after those of its operands.
    fn value(
        &mut self,
        kernel: &Kernel,
        iteration: usize,
        node: Node,
        name: &impl Fn(Node) -> String,
        known: &mut Vec<bool>,
    ) {
        if known[node.index()] || kernel.graph.value_in(node, iteration).is_some() {
            return;
        }
        known[node.index()] = true;
        let op = kernel.graph.get(node).op;
        op.operands().into_iter().for_each(|operand| self.value(kernel, iteration, operand, name, known));
        let of = |node: Node| term(kernel, iteration, node, name);
        let number = |value: i128| format!("{}'sd{value}", self.bits);
        let value = match op {
            // A read whose condition does not hold, which no access uses.
            Op::Const(_) | Op::Loop(_) | Op::Read(_) => "'0".to_owned(),
            Op::Add(a, b) => format!("{} + {}", of(a), of(b)),
            Op::Sub(a, b) => format!("{} - {}", of(a), of(b)),
            Op::Mul(a, b) => format!("{} * {}", of(a), of(b)),
            Op::And(a, b) => format!("{} & {}", of(a), of(b)),
            Op::Or(a, b) => format!("{} | {}", of(a), of(b)),
            Op::Xor(a, b) => format!("{} ^ {}", of(a), of(b)),
            Op::Shl(a, b) => format!("{} <<< {}", of(a), of(b)),
            Op::Shr(a, b) => format!("{} >>> {}", of(a), of(b)),
            Op::Lt(a, b) => format!("{} < {} ? {} : {}", of(a), of(b), number(1), number(0)),
            Op::Eq(a, b) => format!("{} == {} ? {} : {}", of(a), of(b), number(1), number(0)),
            Op::Select(c, a, b) => format!("{} != 0 ? {} : {}", of(c), of(a), of(b)),
            Op::Div(a, d) => format!("{} / {}", of(a), number(d)),
            Op::Rem(a, d) => format!("{} % {}", of(a), number(d)),
        };
        self.assign(name(node), &value);
    }
}

/// A variable, or a number if the value depends on loop variables alone.
fn term(kernel: &Kernel, iteration: usize, node: Node, name: &impl Fn(Node) -> String) -> String {
    match kernel.graph.value_in(node, iteration) {
        Some(value) => format!("({value})"),
        None => name(node),
    }
}
