//! The valid/ready streams of the transforms: `in_*` takes beats, `out_*` gives them.

use crate::model::{Model, Port};

/// Both streams of a transform, whose beats are values of the same width.
#[derive(Debug)]
pub(super) struct Streams {
    in_valid: Port,
    in_ready: Port,
    in_data: Port,
    out_valid: Port,
    out_ready: Port,
    out_data: Port,
    width: u32,
    /// The beat that was offered in the last cycle and not taken.
    held: Option<Vec<u64>>,
}

/// What happened on the streams in a cycle.
#[derive(Debug)]
pub(super) struct Beats {
    pub(super) taken: bool,
    pub(super) came: Option<Vec<u64>>,
}

impl Streams {
    /// The streams of a model, idle. Values have `width` bits.
    pub(super) fn new(model: &mut Model, width: u32) -> Self {
        let port = |name| model.port(name);
        let streams = Self {
            in_valid: port("in_valid_i"),
            in_ready: port("in_ready_o"),
            in_data: port("in_data_i"),
            out_valid: port("out_valid_o"),
            out_ready: port("out_ready_i"),
            out_data: port("out_data_o"),
            width,
            held: None,
        };
        model.set(streams.in_valid, 0);
        model.set(streams.out_ready, 0);
        streams
    }

    /// Values in a beat of the input.
    pub(super) fn lanes(&self) -> usize {
        (self.in_data.bits() / self.width) as usize
    }

    /// Resets the model and discards its contents.
    pub(super) fn reset(&mut self, model: &mut Model) {
        self.held = None;
        model.set(self.in_valid, 0);
        model.reset();
    }

    /// Offers a beat, or none, and accepts one if `ready`. The caller drives the clock edge and may read other outputs first.
    ///
    /// # Panics
    ///
    /// If a beat that was offered and not taken has gone or changed: the unit is wrong.
    pub(super) fn step(&mut self, model: &mut Model, beat: Option<&[u64]>, ready: bool) -> Beats {
        model.set(self.in_valid, u64::from(beat.is_some()));
        if let Some(beat) = beat {
            model.set_elements(self.in_data, self.width, beat);
        }
        model.set(self.out_ready, u64::from(ready));
        model.eval();
        let taken = beat.is_some() && model.get(self.in_ready) == 1;
        let offered = (model.get(self.out_valid) == 1).then(|| {
            let mut offered = Vec::new();
            model.get_elements(self.out_data, self.width, &mut offered);
            offered
        });
        if let Some(held) = self.held.take() {
            assert!(offered.as_ref() == Some(&held), "a beat that was not taken did not stay");
        }
        if ready {
            Beats { taken, came: offered }
        } else {
            self.held = offered;
            Beats { taken, came: None }
        }
    }
}
