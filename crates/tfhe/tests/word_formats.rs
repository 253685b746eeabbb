//! The byte formats of words, tables and conversion keys that docs/tfhe.md draws: known answers, made from its tables by a script
//! that shares no code with this crate.

use crate::support::{INSECURE, keys, server_seeds};
use ciphermill_tfhe::lwe::LweCiphertext;
use ciphermill_tfhe::parameters::{TEST_SMALL_U64, TEST_WORD};
use ciphermill_tfhe::server_key::validate_key;
use ciphermill_tfhe::word::{DenseTable, Diagram, Edge, Node, SelectorId, Table, Word};
use ciphermill_tfhe::{KeyForm, KeyKind, KeyTag, ParameterSet, serial};
use ciphermill_wire::{Decoder, HEADER_LEN, open, seal};

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The body of a sealed object, behind its header and before its checksum.
fn body(sealed: &[u8]) -> &[u8] {
    &sealed[HEADER_LEN..sealed.len() - 4]
}

#[test]
fn layout_of_a_word() {
    let digits = [vec![1, 0x8000_0000, 0xdead_beef], vec![4, 5, 6]].map(LweCiphertext::from_elements);
    let word = Word::new(KeyTag(0x0123_4567_89ab_cdef), digits.into(), 2.5).expect("two digits");
    let known = "434d494c010009020100000030000000000000005360f701\
                 efcdab89674523010200000002000000\
                 0000000000000440\
                 0100000000000080efbeadde040000000500000006000000\
                 49ce32f3";
    assert_eq!(hex(&word.to_bytes()), known);
    assert_eq!(Word::from_bytes(&word.to_bytes()).expect("own bytes"), word);
}

#[test]
fn layout_of_tables() {
    let dense = DenseTable::new(3, 9, vec![7, 63], (0..8).map(|x| x * 73 % 512).collect()).expect("a table");
    let known = "434d494c01000a0201000000160000000000000023829b43\
                 00030900073f\
                 000049009200db0024016d01b601ff01\
                 4dafa79c";
    let node = |position, high, edges| Node { selector: SelectorId { position, high }, edges };
    let nodes = vec![node(0, true, [Edge::Digit(1), Edge::Digit(2)]), node(9, false, [Edge::Node(0), Edge::Digit(0)])];
    let raised = Edge::Raised { node: 0, digit: 3 };
    let diagram = Diagram::new(nodes, vec![Edge::Node(1), raised]).expect("children come first");
    let known_diagram = "434d494c01000a02010000002800000000000000f792b33b\
                         0102000002000000\
                         05000000040000c0\
                         000100000100000002000000\
                         090000000400000000000000\
                         9f446126";
    for (table, known) in [(Table::Dense(dense), known), (Table::Diagram(diagram), known_diagram)] {
        assert_eq!(hex(&table.to_bytes()), known);
        assert_eq!(Table::from_bytes(&table.to_bytes()).expect("own bytes"), table);
    }
}

/// Version 3: the fields of version 2, and the gadgets of words.
#[test]
fn layout_of_a_parameter_set_with_words() {
    let set = ParameterSet::named(TEST_WORD, INSECURE).expect("a named set");
    let known = "434d494c01000102030000003d000000000000007174ece209544553545f574f52444020000000020000000001000000000000000000b03e00000000000000f03c0f02020601000000000000f03f01070207060904fb6f0002";
    assert_eq!(hex(&set.to_bytes()), known);
    assert_eq!(ParameterSet::from_bytes(&set.to_bytes(), INSECURE).expect("own bytes"), set);
    // A set has one form: version 2 has no gadgets of words, and version 3 has all three.
    let fields = body(&set.to_bytes()).to_vec();
    let with =
        |version, fields: &[u8]| ParameterSet::from_bytes(&seal(serial::PARAMETER_SET, version, fields), INSECURE);
    assert!(with(3, &fields).is_ok());
    assert!(with(2, &fields).is_err() && with(1, &fields).is_err() && with(4, &fields).is_err());
    assert!(with(3, &fields[..fields.len() - 2]).is_err() && with(3, &[&fields[..], &[7]].concat()).is_err());
    assert!(with(2, &fields[..fields.len() - 6]).is_ok());
}

/// The header of a conversion key, and its size in both forms.
#[test]
fn layout_and_size_of_a_conversion_key() {
    for form in [KeyForm::Seeded, KeyForm::Full] {
        let client = keys(TEST_WORD, KeyForm::Seeded, 12).client;
        let bytes = client.write_conversion_key(form, server_seeds(13), Vec::new()).expect("words");
        let (_, mut fields) = open(&bytes, KeyKind::Conversion.wire_kind(), 3..=3, u64::MAX).expect("sealed");
        let header_len = fields.u32().expect("length") as usize;
        let mut header = Decoder::new(fields.bytes(header_len).expect("header"));
        let spec = body(&client.parameters().to_bytes()).to_vec();
        assert_eq!(header.bytes(spec.len()).expect("parameter set"), spec);
        assert_eq!(header.u64().expect("tag"), client.tag().0);
        assert_eq!(header.u8().expect("form"), u8::from(form == KeyForm::Full));
        assert_ne!(header.array::<32>().expect("seed"), [0; 32]);
        header.finish().expect("nothing more");
        // N' = 512: nine automorphisms of six levels, and four levels of the scheme switch.
        let bodies = (9 * 6 + 4) * 512 * 8;
        assert_eq!(fields.remaining(), if form == KeyForm::Full { 2 * bodies } else { bodies }, "{form:?}");
        let header = validate_key(KeyKind::Conversion, &bytes[..], INSECURE).expect("own bytes");
        assert_eq!((header.tag(), header.form(), header.sealed_len()), (client.tag(), form, bytes.len() as u64));
    }
    assert!(keys(TEST_SMALL_U64, KeyForm::Seeded, 14).client.parameters().conversion_shape().is_none());
}
