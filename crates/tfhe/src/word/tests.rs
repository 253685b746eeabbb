use ciphermill_lattice::rng::Csprng;

use super::reference::look_up;
use super::{DenseTable, Diagram, Edge, Node, SelectorId, Table};
use crate::circuit::reference::selectors;
use crate::circuit::tests::{GADGETS, Keys, rng};
use crate::error::TfheError;
use crate::ggsw::GgswCiphertext;
use crate::lwe::LweCiphertext;

/// The selectors of the digits of a word.
fn select(keys: &Keys, value: u32, digits: usize, rng: &mut Csprng) -> Vec<[GgswCiphertext<u64>; 2]> {
    let inputs: Vec<_> = (0..digits).map(|i| keys.digit((value >> (2 * i) & 3) as u8, rng)).collect();
    let select = |input| selectors(&keys.bootstrap, &keys.conversion, GADGETS.selector, input).expect("one set");
    inputs.iter().map(select).collect()
}

/// The digits that a table gives.
fn digits(keys: &Keys, table: &Table, file: &[[GgswCiphertext<u64>; 2]]) -> Vec<u8> {
    let selector_at = |id: SelectorId| -> Result<&GgswCiphertext<u64>, TfheError> {
        Ok(&file[usize::from(id.position)][usize::from(id.high)])
    };
    let big = keys.table.to_lwe_secret_key();
    let outputs = look_up(table, keys.size(), &selector_at).expect("one ring");
    let digit =
        |output: &LweCiphertext<u64>| (big.decrypt_phase(output).expect("its key").wrapping_add(1 << 61) >> 62) as u8;
    outputs.iter().map(digit).collect()
}

fn value(digits: &[u8]) -> u32 {
    digits.iter().enumerate().map(|(i, &digit)| u32::from(digit) << (2 * i)).sum()
}

/// Inputs that rotate only, and inputs with a tree above the rotation; odd numbers of bits.
#[test]
fn dense_tables_are_looked_up() {
    let (keys, mut rng) = (Keys::new(), rng(8));
    for (bits, output, inputs) in [(2, 2, 4u32), (3, 5, 8), (5, 2, 6), (8, 3, 4), (9, 8, 3)] {
        let f = |x: u32| (x * 37 + 11) % (1 << output);
        let table = Table::Dense(DenseTable::of_function(bits, output, f).expect("a table"));
        for step in 0..inputs {
            let input = step * (1 << bits) / inputs;
            let file = select(&keys, input, bits.div_ceil(2) as usize, &mut rng);
            assert_eq!(value(&digits(&keys, &table, &file)), f(input), "{bits} bits to {output}, {input}");
        }
    }
}

/// The high digit of a sum of two digits and a comparison, as diagrams on Gray bits; and outputs without a node.
#[test]
fn diagrams_are_followed() {
    let (keys, mut rng) = (Keys::new(), rng(9));
    let sum = |position| SelectorId { position, high: false };
    let high = |position| SelectorId { position, high: true };
    // Digits by their Gray code: (high, sum) = (0, 0), (0, 1), (1, 1), (1, 0).
    let nodes = vec![
        Node { selector: sum(1), edges: [Edge::Digit(0), Edge::Digit(1)] },
        Node { selector: sum(1), edges: [Edge::Digit(3), Edge::Digit(2)] },
        Node { selector: high(1), edges: [Edge::Node(0), Edge::Node(1)] },
        Node { selector: high(0), edges: [Edge::Node(2), Edge::Digit(3)] },
        Node { selector: sum(0), edges: [Edge::Node(2).raised(3), Edge::Node(2)] },
    ];
    let outputs = vec![Edge::Node(2), Edge::Node(3), Edge::Digit(2), Edge::Node(4).raised(1), Edge::Node(2).raised(2)];
    let diagram = Diagram::new(nodes, outputs).expect("in order");
    assert_eq!(diagram.depth(), 3);
    let table = Table::Diagram(diagram.clone());
    assert_eq!(table.selectors(), [sum(0), high(0), sum(1), high(1)]);
    for input in 0..16 {
        let file = select(&keys, input, 2, &mut rng);
        let expected = diagram.value(&|position| (input >> (2 * u32::from(position)) & 3) as u8);
        let high_digit = (input >> 2) as u8;
        let low_sum = ((input >> 1 ^ input) & 1) as u8;
        let raised = (high_digit + if low_sum == 0 { 3 } else { 0 } + 1) % 4;
        assert_eq!(
            expected,
            [high_digit, if input & 2 == 2 { 3 } else { high_digit }, 2, raised, (high_digit + 2) % 4]
        );
        assert_eq!(digits(&keys, &table, &file), expected, "{input}");
    }
}
