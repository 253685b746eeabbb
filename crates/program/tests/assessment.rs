//! Facts on their way through programs: as text of the computation that made each content.

use std::cell::RefCell;

use crate::common::{Store, XY_SOURCE, assemble, bind, program, verify, vr};
use ciphermill_program::{
    Assessment, Effect, Fact, Facts, Instruction, Knowledge, Limits, LogProbability, Program, Refusal, VrId, assess,
};

/// The computation of a content, as in `(3:0:2 homadd 4:0:3)`.
#[derive(Debug, PartialEq)]
struct Text(String);

impl Fact for Text {
    fn memory_bytes(&self) -> u64 {
        self.0.len() as u64
    }
}

#[derive(Debug, PartialEq, thiserror::Error)]
#[error("{0}")]
struct Refused(&'static str);

/// Bootstraps fail once in 2^10 times, reading an output once in 2^20 times; sums of a register that `refuses` names are
/// refused. It counts the look-ups of stored objects.
#[derive(Default)]
struct Texts {
    refuses: Option<&'static str>,
    stored: RefCell<Vec<VrId>>,
}

fn text(facts: &Facts) -> &str {
    facts.get::<Text>().map_or("nothing", |Text(text)| text)
}

impl Knowledge for Texts {
    type Error = Refused;

    fn stored(&self, id: VrId) -> Result<Facts, Refused> {
        self.stored.borrow_mut().push(id);
        Ok(Facts::new(Text(id.to_string())))
    }

    fn effect(&self, instruction: &Instruction, operands: &[Facts]) -> Result<Effect, Refused> {
        let texts: Vec<_> = operands.iter().map(text).collect();
        if self.refuses.is_some_and(|word| texts.contains(&word)) {
            return Err(Refused("out of range"));
        }
        let name = instruction.mnemonic();
        let failure = match name {
            "bootstrap" => LogProbability::new(-10.0),
            _ => LogProbability::NEVER,
        };
        let facts = Facts::new(Text(format!("({name} {})", texts.join(" "))));
        Ok(Effect { state: facts.clone(), facts, failure })
    }

    fn output(&self, _: VrId, facts: &Facts) -> Result<LogProbability, Refused> {
        if text(facts) == "(homadd 3:0:2 3:0:2)" { Err(Refused("unreadable")) } else { Ok(LogProbability::new(-20.0)) }
    }
}

fn assessed(program: &Program, texts: &Texts) -> Result<Assessment, Refusal<Refused>> {
    let store = Store::with(&["3:0:2", "4:0:3", "1:0:0", "2:0:1", "2:0:2"]);
    let verified = verify(program, &store, &Limits::default()).unwrap_or_else(|error| panic!("{error}"));
    assess(&verified, texts)
}

#[test]
fn the_papers_program_is_read_off_its_result() {
    let xy = assemble(XY_SOURCE, &bind(&["r2=3:0:2", "r3=4:0:3"])).unwrap().program;
    let texts = Texts::default();
    let assessment = assessed(&xy, &texts).unwrap();
    let [output] = assessment.outputs() else { panic!("one output") };
    assert_eq!(output.register, vr("3:0:4294901760"));
    let halves = "(homsub (bootstrap 1:0:0 (homadd 3:0:2 4:0:3)) (bootstrap 1:0:0 (homsub 3:0:2 4:0:3)))";
    assert_eq!(text(&output.facts), halves);
    // Two bootstraps and the reading: 2^-9 and 2^-20.
    let expected = (2f64.powi(-9) + 2f64.powi(-20)).log2();
    let failure = assessment.failure().log2().unwrap();
    assert!((failure - expected).abs() < 1e-12, "{failure}");
    // By index, also of the instructions before: the sum is the second.
    assert_eq!(text(assessment.result(1)), "(homadd 3:0:2 4:0:3)");
    assert_eq!(text(assessment.result(6)), "nothing");
    // Each stored object is asked for once.
    let mut stored = texts.stored.into_inner();
    stored.sort();
    assert_eq!(stored, [vr("1:0:0"), vr("3:0:2"), vr("4:0:3")]);
}

#[test]
fn move_push_and_pop_copy_facts() {
    let source = "homintmult 3:0:2, 3\npush 3:0:2\npush 4:0:3\nmov 3:0:9, 3:0:2\nhomintmult 3:0:2, 5\npop 3:0:7\n\
                  pop 3:0:8\nhomadd 3:0:7, 3:0:8\nhomsub 3:0:7, 3:0:9\nreturn 3:0:7";
    let assessment = assessed(&program(source), &Texts::default()).unwrap();
    let expected = "(homsub (homadd 4:0:3 (homintmult 3:0:2)) (homintmult 3:0:2))";
    assert_eq!(text(&assessment.outputs()[0].facts), expected);
    assert_eq!((text(assessment.result(1)), text(assessment.result(5))), ("nothing", "4:0:3"));
}

#[test]
fn an_unchanged_object_is_as_right_as_it_was() {
    for source in ["return 3:0:2", "mov 3:0:9, 3:0:2\nreturn 3:0:9", "push 4:0:3\npop 3:0:9\nreturn 3:0:9"] {
        let assessment = assessed(&program(source), &Texts::default()).unwrap();
        assert_eq!(assessment.failure(), LogProbability::NEVER, "{source}");
    }
    // A bootstrap whose result nobody reads still counts: the run fails with it.
    let dead = assessed(&program("bootstrap 1:0:0, 4:0:3\nreturn 3:0:2"), &Texts::default()).unwrap();
    assert_eq!(dead.failure().log2(), Some(-10.0));
}

#[test]
fn a_refusal_names_its_instruction() {
    let texts = Texts { refuses: Some("(homadd 3:0:2 4:0:3)"), ..Texts::default() };
    let source = "homadd 3:0:2, 4:0:3\nmov 3:0:9, 3:0:2\nhomintmult 3:0:9, 2\nreturn 3:0:9";
    let refusal = assessed(&program(source), &texts).unwrap_err();
    assert_eq!((refusal.index, &refusal.source), (2, &Refused("out of range")));
    assert_eq!(refusal.to_string(), "instruction 2 (`homintmult 3:0:9, 2`): out of range");
    // That of an output names the return.
    let refusal = assessed(&program("homadd 3:0:2, 3:0:2\nreturn 3:0:2"), &Texts::default()).unwrap_err();
    assert_eq!(refusal.to_string(), "instruction 1 (`return 3:0:2`): unreadable");
}

#[test]
fn probabilities_add_up_to_at_most_one() {
    let new = LogProbability::new;
    assert_eq!(LogProbability::NEVER.or(LogProbability::NEVER), LogProbability::NEVER);
    assert_eq!(new(-3.0).or(LogProbability::NEVER), new(-3.0));
    assert_eq!(new(-1.0).or(new(-1.0)), new(0.0));
    assert_eq!(new(0.0).or(new(-0.5)), new(0.0));
    assert_eq!(new(7.0), new(0.0));
    assert_eq!(new(f64::NAN), new(0.0));
    let deep = (0..1024).fold(LogProbability::NEVER, |sum, _| sum.or(new(-2000.0))).log2().unwrap();
    assert!((deep + 1990.0).abs() < 1e-9, "{deep}");
    assert_eq!(LogProbability::UNKNOWN.or(new(-1.0)).log2(), None);
}
