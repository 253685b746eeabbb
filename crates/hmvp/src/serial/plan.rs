//! Plans.

use ciphermill_math::Isa;
use ciphermill_wire::{Decoder, Encoder, open, seal};

use crate::error::HmvpError;
use crate::plan::{Choice, Layout, Terms};
use crate::row_packed::RowPackedOptions;
use crate::{Encryption, Plan, Request, Strategy, parts};
use ciphermill_bfv::error::BfvError;
use ciphermill_bfv::error::require_range;
use ciphermill_bfv::keyswitch::Gadget;
use ciphermill_bfv::parameters::{ParameterSet, ParameterSpec, SecurityLevel, SecurityPolicy};
use ciphermill_bfv::serial::{BODY_VERSION, PLAN};

/// Most bytes of a plan: 24 of a request, 12 of a choice, and a parameter set.
pub(super) const MAX_PLAN_LEN: u64 = 512;

impl Terms {
    /// Their bytes.
    pub(crate) fn encoded(&self) -> Vec<u8> {
        let mut out = Encoder::default();
        put_request(self.request(), &mut out);
        let choice = self.choice();
        out.u8(strategy_code(choice.strategy()));
        out.u8(choice.matrix_parts.len() as u8).u8(choice.vector_parts.len() as u8).u8(0);
        choice.parameters.spec().encode(&mut out);
        if let Layout::RowPacked(options) = choice.layout {
            out.u32(options.baby_steps as u32);
            options.baby_gadget.encode(&mut out);
            options.giant_gadget.encode(&mut out);
        }
        out.into_vec()
    }

    /// Reads and judges terms.
    pub(super) fn decode(input: &mut Decoder<'_>, policy: SecurityPolicy) -> Result<Self, HmvpError> {
        let head = RequestHead::decode(input)?;
        let strategies = Strategy::ALL.len() as u8;
        let strategy = Strategy::ALL[usize::from(code("code of the strategy", input, 1, strategies)?) - 1];
        let matrix_parts = u32::from(input.u8()?);
        let vector_parts = u32::from(input.u8()?);
        code("reserved field of the choice", input, 0, 0)?;
        let parameters = ParameterSet::new(ParameterSpec::decode(input)?, policy).map_err(BfvError::from)?;
        let layout = match strategy {
            Strategy::Algorithm1 => Layout::Algorithm1,
            Strategy::RotateAndSum => Layout::RotateAndSum,
            Strategy::Diagonal => Layout::Diagonal,
            Strategy::RowPacked => Layout::RowPacked(RowPackedOptions {
                baby_steps: input.u32()? as usize,
                baby_gadget: Gadget::decode(input)?,
                giant_gadget: Gadget::decode(input)?,
            }),
        };
        let request = head.request(&parameters);
        // Whether so many parts are admissible is judged with the rest, but not more than bits can be made.
        require_range("number of parts of a matrix entry", matrix_parts, 1, request.matrix_bits)?;
        require_range("number of parts of a vector entry", vector_parts, 1, request.vector_bits)?;
        let matrix_parts = parts::part_bits(request.matrix_bits, matrix_parts);
        let vector_parts = parts::part_bits(request.vector_bits, vector_parts);
        Self::judged(request, Choice { layout, parameters, matrix_parts, vector_parts }, policy)
    }
}

impl Plan {
    /// The sealed plan.
    pub fn to_bytes(&self) -> Vec<u8> {
        seal(PLAN, BODY_VERSION, &self.terms().encoded())
    }

    /// Reads a sealed plan and makes its tables for `isa`. Its choices may differ from those of this build's planner,
    /// but must meet the request, and the requested security unless `policy` accepts less.
    ///
    /// # Errors
    /// If it is malformed, its choices do not meet its request, its set has the name of another one, or the CPU lacks
    /// `isa`.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let received = Plan::from_bytes(&plan.to_bytes(), SecurityPolicy::Require128Bits, Isa::current())?;
    /// assert_eq!(received.request(), plan.request());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_bytes(bytes: &[u8], policy: SecurityPolicy, isa: Isa) -> Result<Self, HmvpError> {
        let (_, mut input) = open(bytes, PLAN, BODY_VERSION..=BODY_VERSION, MAX_PLAN_LEN)?;
        let terms = Terms::decode(&mut input, policy)?;
        input.finish()?;
        Self::on_terms(terms, isa)
    }
}

fn strategy_code(strategy: Strategy) -> u8 {
    1 + Strategy::ALL.iter().position(|&s| s == strategy).expect("all strategies are listed") as u8
}

fn put_request(request: &Request, out: &mut Encoder) {
    out.u32(request.rows as u32).u32(request.cols as u32);
    out.u8(request.matrix_bits as u8).u8(request.vector_bits as u8);
    out.u8(SecurityLevel::ALL.iter().position(|&s| s == request.security).expect("all levels are listed") as u8);
    out.u8(u8::from(request.encryption == Encryption::Public));
    out.u8(request.strategy.map_or(0, strategy_code));
    out.u8(u8::from(request.parameters.is_some())).u8(u8::from(request.unsplit)).u8((request.summands - 1) as u8);
    out.u32(request.flooding_bits).f64(request.log2_failure);
}

/// The next byte, which must be in `[min, max]`.
fn code(what: &'static str, input: &mut Decoder<'_>, min: u8, max: u8) -> Result<u8, HmvpError> {
    let given = input.u8()?;
    require_range(what, given, min, max)?;
    Ok(given)
}

/// A request but for its parameter set, which stands with the choice.
struct RequestHead {
    request: Request,
    has_parameters: bool,
}

impl RequestHead {
    fn decode(input: &mut Decoder<'_>) -> Result<Self, HmvpError> {
        let (rows, cols) = (input.u32()? as usize, input.u32()? as usize);
        let (matrix_bits, vector_bits) = (u32::from(input.u8()?), u32::from(input.u8()?));
        let levels = SecurityLevel::ALL;
        let security = levels[usize::from(code("code of a security level", input, 0, levels.len() as u8 - 1)?)];
        let encryption =
            [Encryption::Secret, Encryption::Public][usize::from(code("code of an encryption", input, 0, 1)?)];
        let strategy = code("code of the strategy asked for", input, 0, Strategy::ALL.len() as u8)?;
        let strategy = strategy.checked_sub(1).map(|code| Strategy::ALL[usize::from(code)]);
        let has_parameters = code("whether parameters were asked for", input, 0, 1)? == 1;
        let unsplit = code("whether entries must not be split", input, 0, 1)? == 1;
        let summands = 1 + u32::from(input.u8()?);
        let (flooding_bits, log2_failure) = (input.u32()?, input.f64()?);
        let request = Request {
            rows,
            cols,
            matrix_bits,
            vector_bits,
            security,
            encryption,
            strategy,
            parameters: None,
            log2_failure,
            unsplit,
            flooding_bits,
            summands,
        };
        Ok(Self { request, has_parameters })
    }

    fn request(self, parameters: &ParameterSet) -> Request {
        Request { parameters: self.has_parameters.then(|| parameters.clone()), ..self.request }
    }
}
