//! Pragmas of arrays and of the function, outside of loops.

use super::{Binding, Lowering, bounds};
use crate::diagnostic::{Place, Problem, Result};
use crate::ir::Role;
use crate::pragma::{Division, Mode, Ports, Pragma};

impl Lowering<'_> {
    pub(super) fn pragma(&mut self, pragma: &Pragma, place: Place) -> Result<()> {
        match pragma {
            Pragma::Partition { variable, division, dimension } => {
                let number = self.array(variable, place)?;
                self.partition(number, *division, *dimension, place)
            }
            Pragma::Storage { variable, ports } => {
                let number = self.array(variable, place)?;
                self.storage(number, *ports, place)
            }
            Pragma::Interface { mode, port } => self.interface(*mode, port, place),
            Pragma::Inline => Ok(()),
            Pragma::Pipeline { .. } | Pragma::Unroll | Pragma::Independent { .. } => {
                let what = "a pragma of a loop outside of loops";
                Err(Problem::new(place, what, "put it first into the loop's body"))
            }
        }
    }

    /// The memory of a name.
    fn array(&self, name: &str, place: Place) -> Result<usize> {
        match self.find(name, place)? {
            Binding::Memory(number, _) => Ok(*number),
            _ => Err(Problem::new(place, format!("`{name}` is not an array"), "name an array")),
        }
    }

    /// Divides a dimension, or all of them. A function that is called again may repeat a division.
    fn partition(&mut self, number: usize, division: Division, dimension: usize, place: Place) -> Result<()> {
        let memory = &mut self.memories[number];
        if dimension > memory.lengths.len() {
            let what = format!("dimension {dimension} of `{}`, which has {}", memory.name, memory.lengths.len());
            return Err(Problem::new(place, what, "name an existing dimension"));
        }
        for (at, (given, length)) in memory.divisions.iter_mut().zip(&memory.lengths).enumerate() {
            let is_meant = dimension == 0 || at + 1 == dimension;
            if is_meant {
                bounds::fits(division, *length, &memory.name, place)?;
            }
            if is_meant && given.replace(division).is_some_and(|earlier| earlier != division) {
                let what = format!("a second, different partition of dimension {} of `{}`", at + 1, memory.name);
                return Err(Problem::new(place, what, "use one of them"));
            }
        }
        Ok(())
    }

    fn storage(&mut self, number: usize, ports: Ports, place: Place) -> Result<()> {
        let memory = &mut self.memories[number];
        if self.ports.insert(number, ports).is_some_and(|earlier| earlier != ports) {
            let what = format!("a second, different storage of `{}`", memory.name);
            return Err(Problem::new(place, what, "use one of them"));
        }
        memory.ports = ports;
        Ok(())
    }

    fn interface(&mut self, mode: Mode, port: &str, place: Place) -> Result<()> {
        if let [compiled, .., called] = self.calls.as_slice() {
            let what = format!("a pragma `interface` in `{}`, which becomes part of `{}`", called.name, compiled.name);
            return Err(Problem::new(place, what, format!("put it into `{}`", compiled.name)));
        }
        if mode == Mode::Control {
            let what = || format!("the interface `ap_ctrl_hs` of `{port}`, which is that of the function");
            let refused = || Problem::new(place, what(), "use port=return, or the mode `ap_memory` or `axis`");
            return if port == "return" { Ok(()) } else { Err(refused()) };
        }
        let number = self.array(port, place)?;
        let memory = &mut self.memories[number];
        if memory.role != Role::Parameter {
            return Err(Problem::new(place, format!("`{port}` is not a parameter"), "name a parameter"));
        }
        if mode == Mode::Memory && memory.lengths.is_empty() {
            let way_out = "make it an array, or remove the pragma `interface ap_memory`";
            return Err(Problem::new(place, format!("`{port}` is a value, and not in a memory"), way_out));
        }
        if memory.mode.replace(mode).is_some_and(|earlier| earlier != mode) {
            let what = format!("a second, different interface of `{port}`");
            return Err(Problem::new(place, what, "use one of them"));
        }
        Ok(())
    }
}
