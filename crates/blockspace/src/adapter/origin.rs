//! The origin of a command, and whether it may use the objects that it meets.

use super::{
    BlockSpace, Outcome,
    access::{Actor, Rights},
    bindings::{Binding, Bindings},
    locks::Ranges,
    shares::Share,
    status,
};
use ciphermill_nvme::{Account, Caller, CommandError};
use ciphermill_program::{TypeCode, VrId};
use std::sync::Arc;

/// The type of programs.
const PROGRAM: TypeCode = TypeCode(0);

/// The origin of a command: a host with its rights and its share, or the namespace itself.
#[derive(Debug)]
pub(super) struct Origin {
    pub(super) rights: Rights,
    /// The host; none for the namespace itself.
    pub(super) caller: Option<Arc<Caller>>,
    pub(super) actor: Option<Actor>,
    pub(super) share: Option<Arc<Share>>,
}

/// The use that a command makes of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Read,
    Change,
}

fn denied(what: impl Into<String>) -> CommandError {
    CommandError::new(status::ACCESS_DENIED, what)
}

impl Origin {
    /// The name of the host.
    pub(super) fn name(&self) -> Option<&str> {
        self.caller.as_ref().map(|caller| caller.host.nqn.as_str())
    }

    /// The account of the host.
    pub(super) fn account(&self) -> Option<&Account> {
        self.caller.as_ref().map(|caller| &caller.account)
    }

    /// Whether the owner of an object and its type let this host use it.
    fn object(&self, used: Use, id: VrId, owner: Option<&Actor>) -> Outcome {
        if used == Use::Change && id.type_code == PROGRAM && !self.rights.program {
            return Err(denied(format!("{id} is a program, and the host has no right to change programs")));
        }
        if !self.rights.owner_only || owner.is_some() && owner == self.actor.as_ref() {
            return Ok(());
        }
        match (used, owner) {
            (Use::Read, None) => Ok(()),
            (_, None) => Err(denied(format!("{id} has no owner, and the host may change its own objects only"))),
            _ => Err(denied(format!("{id} belongs to another host"))),
        }
    }

    fn place(&self, used: Use, first: u64, place: &Binding) -> Outcome {
        let declared = place.declared.as_ref().map(|declared| declared.metadata.id);
        match place.bound.map(|bound| bound.id).or(declared) {
            Some(id) => self.object(used, id, place.owner.as_ref()).map_err(|error| error.at(first)),
            None => Ok(()),
        }
    }

    /// Whether the host may use whatever objects have blocks or a metadata block in the ranges.
    pub(super) fn ranges(&self, used: Use, index: &Bindings, ranges: &Ranges) -> Outcome {
        if !self.is_bounded(used) {
            return Ok(());
        }
        for range in ranges.iter() {
            let mut places = index.overlapping(index.data_part(range)).chain(index.named_in(range));
            places.try_for_each(|(first, place)| self.place(used, first, place))?;
        }
        Ok(())
    }

    /// Whether the host may use a register, wherever it is bound.
    pub(super) fn register(&self, used: Use, index: &Bindings, id: VrId) -> Outcome {
        match index.place_of(id).and_then(|first| index.get(first)) {
            Some(place) => self.object(used, id, place.owner.as_ref()),
            None => self.object(used, id, None),
        }
    }

    /// Whether the host may declare a register: a new one, or one that it may change.
    pub(super) fn declares(&self, index: &Bindings, id: VrId, exists: bool) -> Outcome {
        match exists {
            true => self.register(Use::Change, index, id),
            false => self.object(Use::Change, id, self.actor.as_ref()),
        }
    }

    /// Whether the use depends on the objects.
    pub(super) fn is_bounded(&self, used: Use) -> bool {
        match used {
            Use::Read => self.rights.owner_only,
            Use::Change => self.rights.depends_on_objects(),
        }
    }
}

impl BlockSpace {
    /// The origin of commands of the namespace itself.
    pub(super) fn itself() -> Arc<Origin> {
        Arc::new(Origin { rights: Rights::default(), caller: None, actor: None, share: None })
    }

    /// The origin of a command of a host, if the host may do this at all.
    pub(super) fn origin(&self, caller: &Arc<Caller>, used: Use) -> Outcome<Arc<Origin>> {
        let rights = self.config.access.of(&caller.host.nqn);
        if !(if used == Use::Read { rights.read } else { rights.write }) {
            let what = if used == Use::Read { "read" } else { "write" };
            return Err(denied(format!("the host has no right to {what} in this namespace")));
        }
        let (actor, share) = (Actor::new(&caller.host.nqn), Some(self.shares.of(&caller.account)));
        Ok(Arc::new(Origin { rights, caller: Some(Arc::clone(caller)), actor, share }))
    }
}
