//! The origin of a command, and whether it may use the objects that it meets.

use super::{
    BlockSpace, Outcome,
    access::{Actor, Rights},
    audit::By,
    bindings::{Binding, Bindings},
    locks::Party,
    ranges::Ranges,
    shares::Share,
    status,
};
use ciphermill_device::{ReadMode, ReadOptions, Space, store::Owner};
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
    /// The account of the host.
    pub(super) fn account(&self) -> Option<&Account> {
        self.caller.as_ref().map(|caller| &caller.account)
    }

    /// The host in entries of the audit log.
    pub(super) fn by(&self) -> By<'_> {
        let host = self.caller.as_ref().map(|caller| caller.host.nqn.as_str());
        By { host, account: self.account(), recovery: false }
    }

    /// The owner whose objects alone the host may use; `None`: the host may use all.
    pub(super) fn reach(&self) -> Option<Owner> {
        self.actor.as_ref().filter(|_| self.rights.owner_only).and_then(Actor::owner)
    }

    /// The options of a computed read of this host.
    pub(super) fn read_options(&self, mode: ReadMode, limit: u64) -> ReadOptions {
        let keep_armed = !self.rights.write;
        ReadOptions { result_limit: Some(limit), reach: self.reach(), keep_armed, ..ReadOptions::new(mode) }
    }

    /// The party of its requests for locks.
    pub(super) fn party(&self) -> Party {
        self.share.as_ref().map_or(Party(0), |share| share.party)
    }

    /// Whether the owner of an object and its type let this host use it.
    pub(super) fn object(&self, used: Use, id: VrId, owner: Option<&Owner>) -> Outcome {
        if used == Use::Change && id.type_code == PROGRAM && !self.rights.program {
            return Err(denied(format!("{id} is a program, and the host has no right to change programs")));
        }
        let is_own = || owner.is_some() && owner == self.reach().as_ref();
        match (self.rights.owner_only, owner) {
            (false, _) => Ok(()),
            _ if is_own() => Ok(()),
            (true, Some(_)) => Err(denied(format!("{id} belongs to another host"))),
            (true, None) => Err(denied(format!("{id} has no owner, and the host may use its own objects only"))),
        }
    }

    /// The device says who owns a bound object; a declared one belongs to its declarer.
    fn place(&self, used: Use, device: &Space, first: u64, place: &Binding) -> Outcome {
        let (id, owner) = match (place.bound, &place.declared) {
            (Some(bound), _) => (bound.id, device.stat(bound.id).ok().and_then(|stat| stat.owner)),
            (None, Some(declared)) => (declared.metadata.id, declared.owner.as_ref().and_then(Actor::owner)),
            (None, None) => return Ok(()),
        };
        self.object(used, id, owner.as_ref()).map_err(|error| error.at(first))
    }

    /// Whether the host may use all objects that have blocks or a metadata block in the ranges.
    pub(super) fn ranges(&self, used: Use, device: &Space, index: &Bindings, ranges: &Ranges) -> Outcome {
        if !self.is_bounded(used) {
            return Ok(());
        }
        for range in ranges.iter() {
            let mut places = index.overlapping(index.data_part(range)).chain(index.named_in(range));
            places.try_for_each(|(first, place)| self.place(used, device, first, place))?;
        }
        Ok(())
    }

    /// Whether the host may use a register. An empty one is everybody's; programs need their right nevertheless.
    pub(super) fn register(&self, used: Use, device: &Space, id: VrId) -> Outcome {
        match device.stat(id) {
            Ok(stat) => self.object(used, id, stat.owner.as_ref()),
            Err(_) if used == Use::Read => Ok(()),
            Err(_) => self.object(used, id, self.reach().as_ref()),
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
        if rights.owner_only && actor.is_none() {
            return Err(Actor::too_long());
        }
        Ok(Arc::new(Origin { rights, caller: Some(Arc::clone(caller)), actor, share }))
    }
}
