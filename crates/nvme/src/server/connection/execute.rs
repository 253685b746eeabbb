//! The execution of a command, up to its completion.

use super::{
    job::{Job, Waiting, refuse},
    sgl::judge_sgl,
    state::Connection,
    transfer::HostData,
};
use crate::{
    CommandError, Status, buffers,
    command::{Command, Completion, admin, fabrics},
    fabrics::{CONNECT_DATA_BYTES, Connect},
    features::Event,
    pdu::{Header, Transfer},
    server::{
        admin::Reply,
        io::{self, Sizes},
        memory::Charge,
    },
    status::StatusType,
};
use std::sync::atomic::Ordering::Relaxed;

impl<S> Connection<S> {
    /// A command came. `capsule` holds the data that came with it, whether they are undamaged, and their charge.
    pub(super) fn on_command(&mut self, command: Command, capsule: Option<(Vec<u8>, bool, Charge)>) {
        self.count(&command);
        if self.ids.contains(command.id) {
            let detail = format!("command identifier {} is in use", command.id);
            let error = CommandError::new(Status::COMMAND_ID_CONFLICT, detail);
            let completion = self.failure(&command, &error, 0);
            self.out.respond(completion);
            return;
        }
        self.ids.insert(command.id);
        let came = capsule.as_ref().map(|(data, ..)| data.len());
        let planned = self.plan(&command).and_then(|(job, sizes)| {
            judge_sgl(&command.sgl, &sizes, came)?;
            Ok((job, sizes))
        });
        let (job, sizes) = match (planned, capsule) {
            (Ok((job, sizes)), None) => (job, sizes),
            (Ok((job, _)), Some((data, true, charge))) => return self.start(command, job, data, Some(charge)),
            (Ok(_), Some((_, false, _))) => return self.finish(&command, Err(damaged()), None),
            (Err(error), _) => return self.finish(&command, Err(error), None),
        };
        let from_host = if sizes.from_host > 0 { command.sgl.length as usize } else { 0 };
        let needs = from_host + sizes.to_host + sizes.beside;
        if needs == 0 {
            return self.start(command, job, Vec::new(), None);
        }
        self.waiting.push_back(Waiting { command, job, needs, from_host });
        self.admit();
    }

    /// Lets commands go on that waited for memory, in their order.
    pub(super) fn admit(&mut self) {
        while let Some(first) = self.waiting.front() {
            let Some(charge) = self.share.take(first.needs) else { return };
            let Some(Waiting { command, job, from_host, .. }) = self.waiting.pop_front() else { return };
            if from_host == 0 {
                self.start(command, job, Vec::new(), Some(charge));
                continue;
            }
            let data = buffers::with_capacity(from_host);
            let charge = Some(charge);
            let transfer = HostData { command, job, charge, data, total: from_host, damaged: false };
            let tag = self.transfers.add(transfer);
            let length = from_host as u32;
            self.out.header(&Header::ReadyToTransfer(Transfer { command: command.id, tag, offset: 0, length }));
        }
    }

    /// All data of a transfer came.
    pub(super) fn on_transferred(&mut self, transfer: HostData) {
        let HostData { command, job, charge, data, damaged: was_damaged, .. } = transfer;
        if was_damaged { self.finish(&command, Err(damaged()), None) } else { self.start(command, job, data, charge) }
    }

    fn count(&mut self, command: &Command) {
        let counters = &self.subsystem.counters;
        match &self.queue {
            Some(queue) if queue.id > 0 && command.opcode != fabrics::OPCODE => {
                counters.io[usize::from(command.opcode)].fetch_add(1, Relaxed);
                queue.controller.active.store(true, Relaxed);
            }
            Some(queue) => {
                counters.admin[usize::from(command.opcode)].fetch_add(1, Relaxed);
                queue.controller.active.store(true, Relaxed);
            }
            None => {
                counters.admin[usize::from(command.opcode)].fetch_add(1, Relaxed);
            }
        }
        self.head = if self.head + 1 >= self.entries { 0 } else { self.head + 1 };
    }

    /// The kind of a command, and the data that it moves.
    fn plan(&self, command: &Command) -> Result<(Job, Sizes), CommandError> {
        let is_fabrics = |kind| command.opcode == fabrics::OPCODE && command.fabrics_type() == kind;
        if is_fabrics(fabrics::CONNECT) {
            let sizes = Sizes { from_host: CONNECT_DATA_BYTES, ..Sizes::default() };
            return Ok((Job::Connect(Connect::of(command)), sizes));
        }
        match (&self.queue, &self.admin) {
            (None, _) => refuse(Status::COMMAND_SEQUENCE_ERROR, "Connect must come first"),
            (Some(_), Some(admin)) => {
                Ok((Job::Admin, Sizes { to_host: admin.data_bytes(command)?, ..Sizes::default() }))
            }
            (Some(_), None) if is_fabrics(fabrics::DISCONNECT) => match command.dwords[0] & 0xffff {
                0 => Ok((Job::Disconnect, Sizes::default())),
                _ => refuse(Status::CONNECT_INCOMPATIBLE_FORMAT, "the record format of Disconnect is 0"),
            },
            (Some(_), None) if command.opcode == fabrics::OPCODE => {
                refuse(Status::INVALID_OPCODE, "an I/O queue takes Connect and Disconnect only of fabrics commands")
            }
            (Some(queue), None) => {
                let (work, sizes) = io::plan(&self.subsystem, &queue.controller, command)?;
                Ok((Job::Io(work), sizes))
            }
        }
    }

    /// Runs a command whose data have arrived.
    fn start(&mut self, command: Command, job: Job, data: Vec<u8>, charge: Option<Charge>) {
        match job {
            Job::Connect(connect) => self.connect(&command, &connect, &data),
            Job::Disconnect => {
                self.finish(&command, Ok(Vec::new()), None);
                self.closing = true;
            }
            Job::Admin => {
                let outcome = match &mut self.admin {
                    Some(admin) => admin.run(&command),
                    None => refuse(Status::INVALID_OPCODE, "not an admin queue"),
                };
                match outcome {
                    Ok(reply) => self.reply(&command, reply, charge),
                    Err(error) => self.finish(&command, Err(error), charge),
                }
            }
            Job::Io(work) => self.start_io(command, work, data, charge),
        }
    }

    /// Answers an admin command.
    fn reply(&mut self, command: &Command, reply: Reply, charge: Option<Charge>) {
        for request in reply.ended {
            let request = Command { id: request, ..Command::default() };
            let completion = self.completion(request.id, 0, Status::ABORTED_SQ_DELETION);
            self.ids.remove(request.id);
            self.out.respond(completion);
        }
        if matches!(command.opcode, admin::SET_FEATURES | admin::KEEP_ALIVE)
            && let Some(admin) = &self.admin
        {
            self.keep_alive.as_mut().reset(admin.keep_alive_deadline());
        }
        if reply.held {
            self.tell_events();
        } else if reply.data.is_empty() {
            self.complete(command, reply.result);
        } else {
            self.finish(command, Ok(reply.data), charge);
        }
    }

    /// Answers requests for events as far as there are some.
    pub(super) fn tell_events(&mut self) {
        while let Some((request, event)) = self.admin.as_mut().and_then(|admin| admin.events.next()) {
            let command = Command { id: request, ..Command::default() };
            self.complete(&command, Event::result(&event));
        }
    }

    /// Completes a command.
    pub(super) fn finish(&mut self, command: &Command, outcome: Result<Vec<u8>, CommandError>, charge: Option<Charge>) {
        match outcome {
            Ok(data) if data.is_empty() => self.complete(command, 0),
            Ok(data) => {
                // Without flow control no completion is needed to tell the head of the queue.
                let success = self.queue.as_ref().is_some_and(|queue| !queue.flow_control);
                self.out.data(command.id, data, charge, success);
                if success {
                    self.ids.remove(command.id);
                } else {
                    self.complete(command, 0);
                }
            }
            Err(error) => {
                let completion = self.failure(command, &error, 0);
                self.ids.remove(command.id);
                self.out.respond(completion);
            }
        }
    }

    pub(super) fn complete(&mut self, command: &Command, result: u64) {
        let completion = self.completion(command.id, result, Status::SUCCESS);
        self.ids.remove(command.id);
        self.out.respond(completion);
    }

    fn completion(&self, id: u16, result: u64, status: Status) -> Completion {
        let (sq_id, flow_control) = self.queue.as_ref().map_or((0, true), |queue| (queue.id, queue.flow_control));
        let sq_head = if flow_control { self.head } else { 0xffff };
        Completion { result, sq_head, sq_id, id, status }
    }

    /// Counts and logs a failed command; gives its completion.
    pub(super) fn failure(&self, command: &Command, error: &CommandError, result: u64) -> Completion {
        self.subsystem.counters.error(error.status);
        let mut status = error.status;
        if let Some(queue) = &self.queue {
            if !error.detail.is_empty() {
                status = status.more();
            }
            let logged = CommandError { status, ..error.clone() };
            queue.controller.log(queue.id, command.id, command.nsid, &logged);
            if status.kind() == StatusType::Media && !status.is(Status::COMPARE_FAILURE) {
                queue.controller.record.media_errors.fetch_add(1, Relaxed);
            }
        }
        tracing::debug!(opcode = command.opcode, command = command.id, %error, "command failed");
        self.completion(command.id, result, status)
    }
}

fn damaged() -> CommandError {
    CommandError::new(Status::TRANSIENT_TRANSPORT_ERROR, "the digest of its data was wrong")
}
