//! The registry of handlers by type code.

use crate::{
    error::DeviceError,
    handler::{ObjectHandler, Residency, Role, TypeDescriptor},
};
use ciphermill_program::{InstructionSet, TypeCode, VrId};
use std::{collections::BTreeMap, sync::Arc};

/// The device's own type: programs name registers, not schemes.
const PROGRAM: TypeDescriptor =
    TypeDescriptor { code: TypeCode::PRG, name: "PRG", residency: Residency::Persistent, role: Role::Program };

/// A type and who handles it: `None` for the device itself.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) descriptor: TypeDescriptor,
    pub(super) handler: Option<Arc<dyn ObjectHandler>>,
    /// The type of the keys of the same handler.
    pub(super) key_type: Option<TypeCode>,
}

#[derive(Debug)]
pub(super) struct Registry {
    types: BTreeMap<TypeCode, Known>,
    instructions: InstructionSet,
}

impl Registry {
    pub(super) fn new(handlers: Vec<Arc<dyn ObjectHandler>>) -> Result<Self, DeviceError> {
        let schemes: Vec<_> = handlers.iter().map(|handler| handler.scheme()).collect();
        let own = Known { descriptor: PROGRAM, handler: None, key_type: None };
        let mut types = BTreeMap::from([(TypeCode::PRG, own)]);
        for handler in handlers {
            let keys: Vec<_> =
                handler.types().iter().filter(|known| known.role == Role::Key).map(|known| known.code).collect();
            if keys.len() > 1 || handler.types().iter().any(|known| known.role == Role::Program) {
                let what = format!("handler {} must have at most one key type and no program type", handler.name());
                return Err(DeviceError::Configuration { what });
            }
            for &descriptor in handler.types() {
                let code = descriptor.code;
                let known = Known { descriptor, handler: Some(Arc::clone(&handler)), key_type: keys.first().copied() };
                if let Some(before) = types.insert(code, known) {
                    let first = before.handler.map_or("device", |handler| handler.name());
                    return Err(DeviceError::DuplicateType { code, first, second: handler.name() });
                }
            }
        }
        Ok(Self { types, instructions: InstructionSet::new(schemes)? })
    }

    pub(super) const fn instructions(&self) -> &InstructionSet {
        &self.instructions
    }

    pub(super) fn find(&self, id: VrId) -> Result<&Known, DeviceError> {
        self.types.get(&id.type_code).ok_or_else(|| DeviceError::UnknownType { id, known: self.known() })
    }

    /// The handler of a type, if it has one.
    pub(super) fn handler(&self, code: TypeCode) -> Option<&Arc<dyn ObjectHandler>> {
        self.types.get(&code)?.handler.as_ref()
    }

    pub(super) fn get(&self, code: TypeCode) -> Option<&Known> {
        self.types.get(&code)
    }

    pub(super) fn descriptors(&self) -> Vec<TypeDescriptor> {
        self.types.values().map(|known| known.descriptor).collect()
    }

    fn known(&self) -> String {
        let names: Vec<_> =
            self.types.values().map(|known| format!("{} ({})", known.descriptor.code, known.descriptor.name)).collect();
        names.join(", ")
    }
}
