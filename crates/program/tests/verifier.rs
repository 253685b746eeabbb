//! One test for each refusal of the verifier, and its statements about an accepted program.

use std::time::Duration;

use crate::common::{Store, XY_SOURCE, any_program, assemble, bind, program, verify, vr};
use ciphermill_program::{Limits, Program, VrId};
use proptest::prelude::*;

const KEYS: [&str; 3] = ["1:0:0", "2:0:1", "2:0:2"];

/// x and y of the paper's program, its test vector and its keys.
fn store() -> Store {
    Store::with(&["3:0:2", "4:0:3", KEYS[0], KEYS[1], KEYS[2]])
}

fn refusal_under(source: &str, store: &Store, limits: &Limits) -> String {
    verify(&program(source), store, limits).unwrap_err().to_string()
}

fn refusal(source: &str) -> String {
    refusal_under(source, &store(), &Limits::default())
}

#[test]
fn the_papers_program_passes() {
    let xy = assemble(XY_SOURCE, &bind(&["r2=3:0:2", "r3=4:0:3"])).unwrap().program;
    let store = store();
    let verified = verify(&xy, &store, &Limits::default()).unwrap();
    assert_eq!(verified.program(), &xy);
    assert_eq!(verified.inputs(), [vr("1:0:0"), vr("3:0:2"), vr("4:0:3")]);
    assert_eq!(verified.keys(), [vr("2:0:1"), vr("2:0:2")]);
    assert_eq!(verified.writes(), [vr("3:0:2"), vr("3:0:4294901760")]);
    assert_eq!(verified.returned(), vr("3:0:4294901760"));
    assert_eq!(verified.stack_depth(), 0);
    assert_eq!(verified.estimate(), Duration::from_millis(2_005));
}

#[test]
fn every_instruction_passes() {
    let source = "mov 3:0:9, 3:0:2\npush 3:0:9\npush 4:0:3\npop 3:0:8\npop 4:0:7\nhomadd 3:0:8, 4:0:7\n\
                  homsub 3:0:8, 4:0:3\nhomintmult 3:0:8, -3\nbootstrap 1:0:0, 3:0:8\nreturn 3:0:8";
    let (program, store) = (program(source), store());
    let verified = verify(&program, &store, &Limits::default()).unwrap();
    assert_eq!((verified.stack_depth(), verified.inputs().len()), (2, 3));
}

#[test]
fn reading_what_is_neither_stored_nor_written() {
    assert_eq!(
        refusal("homadd 3:0:2, 3:0:9\nreturn 3:0:2"),
        "instruction 0 (`homadd 3:0:2, 3:0:9`): 3:0:9 is read, but it is neither stored nor written before; store it first, \
         or write it with mov or pop"
    );
    for source in [
        "return 3:0:9",
        "push 3:0:9\nreturn 3:0:2",
        "mov 3:0:2, 3:0:9\nreturn 3:0:2",
        "homintmult 3:0:9, 2\nreturn 3:0:2",
        "homsub 3:0:9, 3:0:2\nreturn 3:0:2",
        "bootstrap 1:0:0, 3:0:9\nreturn 3:0:2",
    ] {
        assert!(refusal(source).contains("): 3:0:9 is read, but"), "{source}");
    }
    assert!(refusal("bootstrap 1:0:9, 3:0:2\nreturn 3:0:2").contains("): 1:0:9 is read, but"));
    // Written later is not written before.
    assert!(refusal("homadd 3:0:2, 3:0:9\nmov 3:0:9, 3:0:2\nreturn 3:0:2").starts_with("instruction 0 "));
}

#[test]
fn operands_of_different_keys() {
    let store = store().put("3:1:2", crate::common::TLWE_BYTES).put("1:1:0", 8);
    let refusal = |source| refusal_under(source, &store, &Limits::default());
    assert_eq!(
        refusal("homadd 3:0:2, 3:1:2\nreturn 3:0:2"),
        "instruction 0 (`homadd 3:0:2, 3:1:2`): 3:0:2 has key id 0, 3:1:2 has key id 1; an instruction works under one key"
    );
    for source in [
        "homsub 3:0:2, 3:1:2\nreturn 3:0:2",
        "mov 3:1:9, 3:0:2\nreturn 3:0:2",
        "bootstrap 1:1:0, 3:0:2\nreturn 3:0:2",
        "push 3:0:2\npop 3:1:9\nreturn 3:0:2",
    ] {
        assert!(refusal(source).contains("an instruction works under one key"), "{source}");
    }
}

#[test]
fn operands_of_the_wrong_type() {
    assert_eq!(
        refusal("bootstrap 3:0:2, 4:0:3\nreturn 4:0:3"),
        "instruction 0 (`bootstrap 3:0:2, 4:0:3`): 3:0:2 is a TLWE ciphertext (type 3 or 4), the instruction needs a test \
         vector (type 1) here"
    );
    assert!(
        refusal("homadd 3:0:2, 2:0:1\nreturn 3:0:2")
            .ends_with("2:0:1 is a key (type 2), the instruction needs a TLWE ciphertext (type 3 or 4) here")
    );
    for (register, what) in [
        ("0:0:0", "a program (type 0)"),
        ("1:0:0", "a test vector (type 1)"),
        ("5:0:0", "a BFV key (type 5)"),
        ("6:0:0", "a plain matrix (type 6)"),
        ("9:0:0", "of an unassigned BFV type (9 to 15)"),
        ("16:0:0", "a Paillier key (type 16)"),
        ("17:0:0", "a matrix of public weights (type 17)"),
        ("20:0:0", "of an unassigned Paillier type (20 to 31)"),
        ("31:0:0", "of an unassigned Paillier type (20 to 31)"),
        ("32:0:0", "a table (type 32)"),
        ("35:0:0", "of an unassigned type (from 35)"),
    ] {
        assert!(
            refusal(&format!("return {register}")).contains(&format!("{register} is {what}, the instruction needs"))
        );
        assert!(refusal(&format!("push {register}\nreturn 3:0:2")).contains("the instruction needs"));
    }
}

#[test]
fn writing_to_programs_test_vectors_and_keys() {
    for (register, what) in [
        ("0:0:0", "program"),
        ("1:0:0", "test vector"),
        ("2:0:1", "key"),
        ("5:0:0", "BFV key"),
        ("6:0:0", "plain matrix"),
        ("16:0:1", "Paillier key"),
        ("17:0:1", "matrix of public weights"),
    ] {
        for source in [
            format!("mov {register}, 3:0:2\nreturn 3:0:2"),
            format!("push 3:0:2\npop {register}\nreturn 3:0:2"),
            format!("homadd {register}, 3:0:2\nreturn 3:0:2"),
            format!("homsub {register}, 3:0:2\nreturn 3:0:2"),
            format!("homintmult {register}, 2\nreturn 3:0:2"),
            format!("bootstrap 1:0:0, {register}\nreturn 3:0:2"),
        ] {
            let message = refusal(&source);
            assert!(message.contains(&format!("{register} is a {what}")), "{message}");
            assert!(
                message.ends_with("a program may write ciphertexts (types 3, 4, 7, 8, 18, 19, 33 and 34) only"),
                "{message}"
            );
        }
    }
}

/// Types 5 to 8: a product in place, moved and pushed like other ciphertexts; no mixing with TLWE ciphertexts.
#[test]
fn matrix_vector_products() {
    let store = store().put("5:0:1", 9).put("6:0:1", 9).put("7:0:2", 9).put("8:0:2", 9);
    let judge = |source: &str| verify(&program(source), &store, &Limits::default()).map(|v| v.keys().to_vec());
    let message = |source: &str| judge(source).unwrap_err().to_string();
    assert_eq!(judge("hmvp 6:0:1, 8:0:2\nreturn 8:0:2").unwrap(), [vr("5:0:1")]);
    judge("mov t, 7:0:2\nhmvp 6:0:1, t\npush t\npop u\nreturn u").unwrap();
    assert!(message("hmvp 6:0:9, 8:0:2\nreturn 8:0:2").contains("6:0:9 is read, but it is neither stored"));
    assert!(message("hmvp 1:0:0, 8:0:2\nreturn 8:0:2").contains("the instruction needs a plain matrix (type 6) here"));
    assert!(message("hmvp 6:0:1, 3:0:2\nreturn 3:0:2").contains("needs an encrypted vector (type 7 or 8) here"));
    assert!(message("mov 3:0:2, 7:0:2\nreturn 3:0:2").contains("3:0:2 is a TLWE ciphertext"));
    assert!(message("push 7:0:2\npop 3:0:2\nreturn 3:0:2").contains("needs an encrypted vector (type 7 or 8) here"));
    assert!(message("homadd 8:0:2, 8:0:2\nreturn 8:0:2").contains("the instruction needs a TLWE ciphertext"));
    assert!(message("hmvp 6:1:1, 8:0:2\nreturn 8:0:2").contains("6:1:1"));
    let keyless = self::store().put("6:0:1", 9).put("8:0:2", 9);
    let error = verify(&program("hmvp 6:0:1, 8:0:2\nreturn 8:0:2"), &keyless, &Limits::default()).unwrap_err();
    assert!(error.to_string().contains("the Galois key object 5:0:1 is not stored"), "{error}");
}

/// Types 16 to 19: vectors add among themselves, take public weights in their first operand only, and mix with no other
/// scheme's ciphertexts.
#[test]
fn paillier_vectors() {
    let store = store().put("16:0:1", 300).put("17:0:1", 99).put("18:0:2", 700).put("19:0:2", 700).put("6:0:1", 9);
    let judge = |source: &str| verify(&program(source), &store, &Limits::default()).map(|v| v.keys().to_vec());
    let message = |source: &str| judge(source).unwrap_err().to_string();
    for name in ["padd", "psub"] {
        assert_eq!(judge(&format!("{name} 18:0:2, 19:0:2\nreturn 18:0:2")).unwrap(), [vr("16:0:1")]);
        assert!(message(&format!("{name} 17:0:1, 19:0:2\nreturn 19:0:2")).contains("a program may write ciphertexts"));
        let weights = message(&format!("{name} 19:0:2, 17:0:1\nreturn 19:0:2"));
        assert!(weights.contains("the instruction needs a Paillier vector (type 18 or 19) here"), "{weights}");
        assert!(message(&format!("{name} 19:0:2, 3:0:2\nreturn 19:0:2")).contains("needs a Paillier vector"));
        assert!(message(&format!("{name} 3:0:2, 3:0:2\nreturn 3:0:2")).contains("needs a Paillier vector"));
    }
    for name in ["paddplain", "pscale", "pmatvec"] {
        assert_eq!(judge(&format!("{name} 17:0:1, 19:0:2\nreturn 19:0:2")).unwrap(), [vr("16:0:1")]);
        let vectors = message(&format!("{name} 18:0:2, 19:0:2\nreturn 19:0:2"));
        assert!(vectors.contains("the instruction needs a matrix of public weights (type 17) here"), "{vectors}");
        assert!(message(&format!("{name} 6:0:1, 19:0:2\nreturn 19:0:2")).contains("needs a matrix of public weights"));
        assert!(message(&format!("{name} 17:0:1, 3:0:2\nreturn 3:0:2")).contains("needs a Paillier vector"));
        assert!(
            message(&format!("{name} 17:0:9, 19:0:2\nreturn 19:0:2")).contains("17:0:9 is read, but it is neither")
        );
        assert!(message(&format!("{name} 17:1:1, 19:0:2\nreturn 19:0:2")).contains("17:1:1"));
    }
    judge("mov t, 18:0:2\npmatvec 17:0:1, t\npush t\npop u\nreturn u").unwrap();
    assert!(message("mov 3:0:2, 18:0:2\nreturn 3:0:2").contains("3:0:2 is a TLWE ciphertext"));
    assert!(message("push 18:0:2\npop 3:0:2\nreturn 3:0:2").contains("needs a Paillier vector (type 18 or 19) here"));
    assert!(message("homadd 19:0:2, 19:0:2\nreturn 19:0:2").contains("the instruction needs a TLWE ciphertext"));
    assert!(message("hmvp 6:0:1, 19:0:2\nreturn 19:0:2").contains("needs an encrypted vector (type 7 or 8) here"));
    // The length of a product is not known before it is computed; one that is added to it has that length.
    let known = "mov t, 18:0:2\npscale 17:0:1, t\npaddplain 17:0:1, t\npadd t, 18:0:9\nreturn t";
    let product = "mov t, 18:0:2\npmatvec 17:0:1, t\npadd t, 18:0:9\nreturn t";
    let store = store.clone().put("18:0:9", 900);
    let judge = |source: &str| verify(&program(source), &store, &Limits::default()).map(drop);
    assert!(judge(known).unwrap_err().to_string().contains("holds 700 bytes, 18:0:9 holds 900"));
    judge(product).unwrap();
    let then = "mov t, 18:0:2\npmatvec 17:0:1, t\npadd t, 18:0:9\npadd t, 18:0:2\nreturn t";
    assert!(judge(then).unwrap_err().to_string().contains("holds 900 bytes, 18:0:2 holds 700"));
    for source in ["padd 18:0:2, 19:0:2\nreturn 18:0:2", "pscale 17:0:1, 19:0:2\nreturn 19:0:2"] {
        let mut keyless = store.clone();
        keyless.0.remove(&vr("16:0:1"));
        let error = verify(&program(source), &keyless, &Limits::default()).unwrap_err().to_string();
        assert!(error.contains("the Paillier public key 16:0:1 is not stored; write it before"), "{error}");
    }
}

#[test]
fn ciphertexts_of_different_lengths() {
    let store = store().put("3:0:5", 4100);
    for name in ["homadd", "homsub"] {
        assert_eq!(
            refusal_under(&format!("{name} 3:0:2, 3:0:5\nreturn 3:0:2"), &store, &Limits::default()),
            format!(
                "instruction 0 (`{name} 3:0:2, 3:0:5`): 3:0:2 holds 2524 bytes, 3:0:5 holds 4100; store ciphertexts of one \
                 parameter set and length"
            )
        );
    }
    // A move, or a push and a pop, carries the length along.
    let source = "mov 3:0:9, 3:0:5\npush 3:0:9\npop 3:0:8\nhomadd 3:0:2, 3:0:8\nreturn 3:0:2";
    assert!(refusal_under(source, &store, &Limits::default()).starts_with("instruction 3 "));
}

#[test]
fn bootstrap_without_its_keys() {
    let source = "bootstrap 1:0:0, 3:0:2\nreturn 3:0:2";
    for (missing, role) in [("2:0:1", "bootstrapping key"), ("2:0:2", "key-switching key")] {
        let mut store = store();
        store.0.remove(&vr(missing));
        assert_eq!(
            refusal_under(source, &store, &Limits::default()),
            format!(
                "instruction 0 (`bootstrap 1:0:0, 3:0:2`): the {role} {missing} is not stored; write it before the program \
                 runs"
            )
        );
    }
}

#[test]
fn the_stack_must_balance() {
    assert_eq!(
        refusal("pop 3:0:9\nreturn 3:0:9"),
        "instruction 0 (`pop 3:0:9`): the stack is empty here; every pop needs a push before it"
    );
    assert!(refusal("push 3:0:2\npop 3:0:9\npop 3:0:9\nreturn 3:0:9").starts_with("instruction 2 "));
    assert_eq!(
        refusal("push 3:0:2\npush 3:0:2\nreturn 3:0:2"),
        "instruction 2 (`return 3:0:2`): 2 pushed ciphertext(s) were never popped; the stack must be empty at return"
    );
}

#[test]
fn the_stack_is_bounded() {
    let limits = Limits { max_stack: 2, ..Limits::default() };
    let fits = "push 3:0:2\npush 3:0:2\npop 3:0:2\npush 3:0:2\npop 3:0:2\npop 3:0:2\nreturn 3:0:2";
    assert_eq!(verify(&program(fits), &store(), &limits).unwrap().stack_depth(), 2);
    assert_eq!(
        refusal_under("push 3:0:2\npush 3:0:2\npush 3:0:2\nreturn 3:0:2", &store(), &limits),
        "instruction 2 (`push 3:0:2`): the stack already holds 2 ciphertexts, which is the limit; pop before pushing more"
    );
}

#[test]
fn return_ends_the_program() {
    assert_eq!(
        refusal("homintmult 3:0:2, 3\npush 3:0:2"),
        "instruction 1 (`push 3:0:2`): this is the last instruction, but it is not return; a program ends with return"
    );
    assert_eq!(
        refusal("homintmult 3:0:2, 3\nreturn 3:0:2\nreturn 3:0:2"),
        "instruction 2 (`return 3:0:2`): it follows the return at instruction 1 and can never run; return must be the last \
         instruction"
    );
}

#[test]
fn the_number_of_instructions_is_bounded() {
    let limits = Limits { max_instructions: 2, ..Limits::default() };
    assert!(verify(&program("homintmult 3:0:2, 3\nreturn 3:0:2"), &store(), &limits).is_ok());
    let source = "homintmult 3:0:2, 3\nhomintmult 3:0:2, 3\nreturn 3:0:2";
    assert_eq!(
        refusal_under(source, &store(), &limits),
        "the program has 3 instructions, the limit is 2; split it into several programs"
    );
}

#[test]
fn the_estimated_run_time_is_bounded() {
    let bootstraps = |count| "bootstrap 1:0:0, 3:0:2\n".repeat(count) + "return 3:0:2";
    assert!(verify(&program(&bootstraps(19)), &store(), &Limits::default()).is_ok());
    // The return's millisecond is what is too much.
    assert_eq!(
        refusal(&bootstraps(20)),
        "the program is estimated to run for 20.001 s, the limit is 20.000 s; split it, or raise the limit \
         (--max-program-seconds) and the host's I/O timeout with it"
    );
    let exact = Limits { max_duration: Duration::from_millis(20_001), ..Limits::default() };
    assert!(verify(&program(&bootstraps(20)), &store(), &exact).is_ok());
}

#[test]
fn an_error_is_shown_with_its_source_line() {
    let source = "# comment\nmov t, x\n\nhomadd t, y\nreturn t";
    let assembly = assemble(source, &bind(&["x=3:0:2", "y=3:0:9"])).unwrap();
    let error = verify(&assembly.program, &store(), &Limits::default()).unwrap_err();
    assert_eq!(error.index(), Some(1));
    let shown = error.in_source(&assembly.lines).to_string();
    assert!(shown.starts_with("line 4: instruction 1 (`homadd 3:0:4294901760, 3:0:9`): 3:0:9 is read"), "{shown}");

    let limits = Limits { max_instructions: 1, ..Limits::default() };
    let whole = verify(&assembly.program, &store(), &limits).unwrap_err();
    assert_eq!((whole.index(), whole.in_source(&assembly.lines).to_string()), (None, whole.to_string()));
}

/// Registers close enough together that programs over them often verify.
fn near_register() -> impl Strategy<Value = VrId> + Clone {
    prop::sample::select(["3:0:2", "4:0:3", "3:0:9", "1:0:0"].map(vr).to_vec())
}

fn only(store: &Store, registers: impl Fn(VrId) -> bool) -> Store {
    Store(store.0.iter().filter(|&(&id, _)| registers(id)).map(|(&id, &info)| (id, info)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { max_global_rejects: 2_000_000, ..ProptestConfig::with_cases(2_000) })]

    /// The stated needs of an accepted program are exact: with just these it passes, without any of them it fails.
    #[test]
    fn the_inputs_are_sufficient_and_necessary(body in any_program(near_register()), n in near_register()) {
        let mut instructions = body.instructions()[..body.instructions().len().min(5)].to_vec();
        instructions.retain(|i| i.action() != ciphermill_program::Action::Return);
        instructions.push(ciphermill_program::Instruction::ret(n));
        let program = Program::new(instructions).unwrap();
        let (store, limits) = (store(), Limits::default());
        let Ok(verified) = verify(&program, &store, &limits) else { return Err(TestCaseError::reject("faulty")) };

        let needed: Vec<VrId> = verified.inputs().iter().chain(verified.keys()).copied().collect();
        prop_assert_eq!(&verify(&program, &only(&store, |id| needed.contains(&id)), &limits).unwrap(), &verified);
        for &missing in &needed {
            prop_assert!(verify(&program, &only(&store, |id| id != missing), &limits).is_err(), "without {}", missing);
        }
    }
}
