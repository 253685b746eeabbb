//! What programs compute.

use ciphermill_device::handlers;
use ciphermill_device::{ReadMode, WriteMode, WriteOptions};
use ciphermill_paillier::{KeyBits, SizePolicy};
use ciphermill_program::{Binding, Bindings, assemble};

use crate::parties::{Client, device, device_with, numbers, program, put, space, vr, weights};

/// Lengths below, at and above a group of lanes.
const LENGTHS: [usize; 4] = [1, 7, 8, 21];

#[test]
fn every_instruction_computes_what_it_says() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut client = Client::small();
    let device = device(&directory);
    let space = space(&device);
    put(&space, "16:3:1", &client.public()).expect("a key");
    for len in LENGTHS {
        let (x, y) = (numbers(len), numbers(len));
        let wide = |values: &[i64]| values.iter().map(|&v| i128::from(v)).collect::<Vec<_>>();
        let (sealed_x, sealed_y) = (client.encrypt(&x), client.encrypt(&y));
        let (x, y, row) = (wide(&x), wide(&y), wide(&numbers(len)));
        put(&space, "18:3:1", &sealed_x).expect("x");
        put(&space, "19:3:2", &sealed_y).expect("y");
        put(&space, "17:3:1", &weights(len, &row)).expect("a row");
        let run = |text: &str| client.decrypt(&space.run(&program(text)).expect("a result"));
        let zip = |a: &[i128], b: &[i128], f: fn(i128, i128) -> i128| -> Vec<i128> {
            a.iter().zip(b).map(|(a, b)| f(*a, *b)).collect()
        };

        assert_eq!(run("padd 18:3:1, 19:3:2\nreturn 18:3:1"), zip(&x, &y, |x, y| x + y));
        assert_eq!(run("padd 19:3:2, 19:3:2\nreturn 19:3:2"), zip(&y, &y, |x, y| x + y));
        assert_eq!(run("psub 18:3:1, 19:3:2\nreturn 18:3:1"), zip(&x, &y, |x, y| x - y));
        assert_eq!(run("psub 19:3:2, 19:3:2\nreturn 19:3:2"), vec![0; len]);
        assert_eq!(run("paddplain 17:3:1, 19:3:2\nreturn 19:3:2"), zip(&y, &row, |y, w| y + w));
        assert_eq!(run("pscale 17:3:1, 19:3:2\nreturn 19:3:2"), zip(&y, &row, |y, w| y * w));
        // One factor for all elements.
        for factor in [0, 1, -1, 3, -41, (1 << 62) + 1] {
            put(&space, "17:3:2", &weights(1, &[factor])).expect("a factor");
            let expected: Vec<i128> = x.iter().map(|x| x * factor).collect();
            assert_eq!(run("pscale 17:3:2, 18:3:1\nreturn 18:3:1"), expected, "{factor}");
        }
        // Fewer rows than columns, as many, and more; signs and zeros among the weights.
        for rows in [1, len, len + 5] {
            let mut matrix: Vec<i128> = wide(&numbers(rows * len)).iter().map(|w| w >> (w & 63)).collect();
            matrix[0] = 0;
            put(&space, "17:3:3", &weights(len, &matrix)).expect("a matrix");
            let expected: Vec<i128> = matrix.chunks(len).map(|row| zip(row, &x, |w, x| w * x).iter().sum()).collect();
            assert_eq!(run("pmatvec 17:3:3, 18:3:1\nreturn 18:3:1"), expected, "{rows} × {len}");
            // The product is a vector like others, of its own length.
            let bias = wide(&numbers(rows));
            put(&space, "17:3:4", &weights(rows, &bias)).expect("biases");
            let text = "mov 18:3:90, 18:3:1\npmatvec 17:3:3, 18:3:90\npaddplain 17:3:4, 18:3:90\npush 18:3:90\n\
                        padd 18:3:90, 18:3:90\npop 18:3:91\npsub 18:3:90, 18:3:91\nreturn 18:3:90";
            assert_eq!(run(text), zip(&expected, &bias, |u, b| u + b), "{rows} × {len}");
        }
    }
}

#[test]
fn the_widest_weights_and_the_wrap_around_n() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut client = Client::small();
    let device = device(&directory);
    let space = space(&device);
    put(&space, "16:0:1", &client.public()).expect("a key");
    let most = i128::from(u64::MAX);
    put(&space, "17:0:0", &weights(2, &[most, -most])).expect("weights");
    put(&space, "18:0:0", &client.encrypt(&[-3, 5])).expect("a vector");
    let run = |text: &str| client.decrypt(&space.run(&program(text)).expect("a result"));
    assert_eq!(run("pscale 17:0:0, 18:0:0\nreturn 18:0:0"), [-3 * most, -5 * most]);
    assert_eq!(run("paddplain 17:0:0, 18:0:0\nreturn 18:0:0"), [most - 3, 5 - most]);
    assert_eq!(run("pmatvec 17:0:0, 18:0:0\nreturn 18:0:0"), [-8 * most]);
    // Eight factors of 64 bits each reach beyond n: the result is what is left modulo n.
    let text = "pscale 17:0:0, 18:0:0\n".repeat(8) + "return 18:0:0";
    let result = space.run(&program(&text)).expect("a result");
    let vector = ciphermill_paillier::CiphertextVector::from_bytes(client.key.public_key(), &result).expect("a vector");
    let n = num_bigint::BigInt::from(client.key.public_key().modulus());
    let plain = client.key.decrypt(&vector).expect("plaintexts").to_bigints();
    for (given, start, factor) in [(&plain[0], -3, most), (&plain[1], 5, -most)] {
        let expected = num_bigint::BigInt::from(factor).pow(8) * start;
        assert_eq!((given - expected) % &n, num_bigint::BigInt::from(0));
    }
}

/// With a key of the smallest size that protects anything, on a device that accepts no smaller one.
#[test]
fn a_write_or_a_read_scores() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut client = Client::new(KeyBits::new(2048).expect("a size"));
    let matrix: [i128; 6] = [3, -1, 0, -7, 1 << 40, 5];
    let bias: [i128; 2] = [-100, 1_000_000];
    let score = |x: &[i64]| -> Vec<i128> {
        let row = |row: &[i128]| row.iter().zip(x).map(|(w, x)| w * i128::from(*x)).sum::<i128>();
        matrix.chunks(3).zip(bias).map(|(weights, bias)| row(weights) + bias).collect()
    };
    let source = include_str!("../../../../examples/programs/paillier-score.cms");
    let bound = |register: &str| {
        let names = ["w=17:7:0".to_owned(), "b=17:7:1".to_owned(), format!("x={register}")];
        let bindings = names.map(|name| name.parse::<Binding>().expect("a binding"));
        assemble(handlers::instruction_set(), source, &Bindings::collect(bindings).expect("distinct"))
            .expect("a program")
            .program
    };
    let (on_write, on_read) = (client.encrypt(&[12, -34, 56]), client.encrypt(&[-1, 2, -3]));
    {
        let device = device_with(&directory, SizePolicy::Standard);
        let space = space(&device);
        put(&space, "16:7:1", &client.public()).expect("a key");
        put(&space, "17:7:0", &weights(3, &matrix)).expect("weights");
        put(&space, "17:7:1", &weights(2, &bias)).expect("biases");
        // Compute-on-write: what is stored is the result.
        put(&space, "0:7:0", &bound("19:7:1").encode()).expect("a program");
        let compute = WriteOptions { mode: WriteMode::Compute, ..WriteOptions::default() };
        assert!(space.write_bytes(vr("19:7:1"), &on_write, compute).expect("scores").computed);
        let stored = space.read_bytes(vr("19:7:1"), ReadMode::Stored).expect("the scores");
        assert_eq!(client.decrypt(&stored), score(&[12, -34, 56]));
        // Compute-on-read: what is stored stays the vector.
        put(&space, "18:7:1", &on_read).expect("features");
        put(&space, "0:7:0", &bound("18:7:1").encode()).expect("a program");
        let read = space.read_bytes(vr("18:7:1"), ReadMode::Compute).expect("scores");
        assert_eq!(client.decrypt(&read), score(&[-1, 2, -3]));
        assert!(space.read_bytes(vr("18:7:1"), ReadMode::Stored).expect("the features") == on_read);
    }
    // Another process: everything still exists, and computes.
    let device = device_with(&directory, SizePolicy::Standard);
    let space = space(&device);
    let stored = space.read_bytes(vr("19:7:1"), ReadMode::Stored).expect("the scores");
    assert_eq!(client.decrypt(&stored), score(&[12, -34, 56]));
    let read = space.read_bytes(vr("18:7:1"), ReadMode::Compute).expect("scores");
    assert_eq!(client.decrypt(&read), score(&[-1, 2, -3]));
}

#[test]
fn two_keys_and_many_callers_at_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut clients = [Client::small(), Client::small()];
    let device = device(&directory);
    let space = space(&device);
    let mut vectors = Vec::new();
    for (key, client) in clients.iter_mut().enumerate() {
        put(&space, &format!("16:{key}:1"), &client.public()).expect("a key");
        put(&space, &format!("17:{key}:0"), &weights(2, &[2, -3, 4, 5])).expect("weights");
        for data in 0..4 {
            let values = numbers(2);
            put(&space, &format!("18:{key}:{data}"), &client.encrypt(&values)).expect("a vector");
            vectors.push((key, data, values));
        }
    }
    std::thread::scope(|scope| {
        for (key, data, values) in &vectors {
            let (space, clients) = (&space, &clients);
            scope.spawn(move || {
                let text = format!("pmatvec 17:{key}:0, 18:{key}:{data}\nreturn 18:{key}:{data}");
                let [a, b] = [values[0], values[1]].map(i128::from);
                for _ in 0..3 {
                    let product = space.run(&program(&text)).expect("a product");
                    assert_eq!(clients[*key].decrypt(&product), [2 * a - 3 * b, 4 * a + 5 * b]);
                }
            });
        }
    });
    assert_eq!(device.metrics().programs_run, 24);
}

/// The measured time of instructions per element becomes the expected time: a program is judged by it.
#[test]
fn estimates_scale_with_the_operands_and_follow_what_was_measured() {
    let directory = tempfile::tempdir().expect("a directory");
    let mut client = Client::small();
    let device = device(&directory);
    let space = space(&device);
    put(&space, "16:0:1", &client.public()).expect("a key");
    for (data, count) in [(0, 1usize), (1, 40)] {
        put(&space, &format!("17:0:{data}"), &weights(count, &vec![2; count])).expect("weights");
        put(&space, &format!("18:0:{data}"), &client.encrypt(&vec![1; count])).expect("a vector");
    }
    // The key is loaded, so that its loading is in no estimate.
    space.run(&program("padd 18:0:0, 18:0:0\nreturn 18:0:0")).expect("a sum");
    let estimate = |text: &str| space.check(&program(text)).expect("an estimate").estimate;
    for text in ["padd 18:0:d, 18:0:d", "pscale 17:0:d, 18:0:d", "pmatvec 17:0:d, 18:0:d"] {
        let [one, many] = ["0", "1"].map(|data| format!("{text}\nreturn 18:0:d").replace(":d", &format!(":{data}")));
        let ratio = estimate(&many).as_secs_f64() / estimate(&one).as_secs_f64();
        assert!((39.0..41.0).contains(&ratio), "{text}: {ratio}");
        let times = (0..20).map(|_| {
            let begun = std::time::Instant::now();
            space.run(&program(&many)).expect("a result");
            begun.elapsed()
        });
        let times: Vec<_> = times.collect();
        let (least, most) = (*times.iter().min().expect("some"), *times.iter().max().expect("some"));
        let learnt = estimate(&many);
        assert!(learnt > least / 20 && learnt < most * 2, "{text}: {learnt:?}, took {least:?} to {most:?}");
    }
    // What an instruction leaves has a size too, which the next one is judged by: here two rows of 40.
    put(&space, "17:0:2", &weights(40, &[3; 80])).expect("weights");
    put(&space, "17:0:3", &weights(2, &[5; 2])).expect("weights");
    put(&space, "18:0:2", &client.encrypt(&[1, 2])).expect("a vector");
    let product = estimate("pmatvec 17:0:2, 18:0:1\nreturn 18:0:1");
    let multiple = estimate("pscale 17:0:3, 18:0:2\nreturn 18:0:2");
    let both = estimate("pmatvec 17:0:2, 18:0:1\nmov t, 18:0:1\npscale 17:0:3, t\nreturn t");
    assert!(both.abs_diff(product + multiple).as_nanos() < 10, "{both:?}: {product:?} and {multiple:?}");
}
