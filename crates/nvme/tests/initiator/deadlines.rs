//! Commands that are not answered in time, and callers that do not wait.

use crate::{
    config, connect,
    fake::{Action, Fake, LAST, Options, SUCCESS, Script, c2h, response},
    pattern,
};
use ciphermill_nvme::initiator::InitiatorError;
use std::{
    sync::{Arc, Mutex, atomic::Ordering},
    time::{Duration, Instant},
};

/// The longest time that a test waits for what must happen: a guard, no measure.
const GUARD: Duration = Duration::from_secs(60);

/// Never answers block 13, and answers everything else.
fn all_but_13() -> Script {
    Arc::new(|_, unit| if unit.lba() == 13 { Vec::new() } else { answer(unit) })
}

fn answer(unit: &crate::fake::Unit) -> Vec<Action> {
    match unit.opcode() {
        2 => vec![c2h(unit.id(), 0, &pattern(unit.blocks(), unit.lba()), LAST | SUCCESS)],
        _ => vec![response(unit.id(), 0, 0)],
    }
}

#[tokio::test]
async fn a_command_without_an_answer_fails_at_its_deadline_and_the_connection_is_made_anew() {
    let fake = Fake::start(Options::default(), all_but_13()).await;
    let mut config = config(&fake);
    let config_timeout = Duration::from_millis(200);
    config.command_timeout = config_timeout;
    let (controller, namespace) = connect(config).await;
    let begun = Instant::now();
    let error = namespace.read(13, 1).await.unwrap_err();
    assert!(matches!(error, InitiatorError::TimedOut { .. }), "{error}");
    assert!(begun.elapsed() >= config_timeout && begun.elapsed() < GUARD, "{:?}", begun.elapsed());
    // Nothing at all came since it was sent: the connection is dead, and a new one is made.
    assert_eq!(namespace.with_timeout(GUARD).read(14, 1).await.unwrap(), pattern(1, 14));
    assert_eq!((fake.io_connections(), controller.reconnects()), (2, 1));
}

#[tokio::test]
async fn other_commands_go_on_while_one_is_late_and_its_identifier_rests() {
    // Block 13 is answered on the same connection, after its deadline and 30 other answers.
    let late = Arc::new(Mutex::new(None::<u16>));
    let kept = Arc::clone(&late);
    let ids = Arc::new(Mutex::new(Vec::new()));
    let used = Arc::clone(&ids);
    let script: Script = Arc::new(move |_, unit| {
        let mut late = kept.lock().unwrap();
        if unit.lba() == 13 {
            *late = Some(unit.id());
            return Vec::new();
        }
        used.lock().unwrap().push(unit.id());
        let mut actions = answer(unit);
        if let Some(id) = late.take_if(|_| unit.lba() == 2) {
            actions.push(c2h(id, 0, &pattern(1, 13), LAST | SUCCESS));
        }
        actions
    });
    let fake = Fake::start(Options::default(), script).await;
    let mut config = config(&fake);
    (config.command_timeout, config.queue_depth) = (GUARD, 4);
    let (controller, namespace) = connect(config).await;
    let hasty = namespace.with_timeout(Duration::from_millis(100));
    let late_read = tokio::spawn(async move { hasty.read(13, 1).await });
    let mut others = 0;
    while others < 30 || !late_read.is_finished() {
        assert_eq!(namespace.read(1, 1).await.unwrap(), pattern(1, 1));
        tokio::time::sleep(Duration::from_millis(1)).await;
        others += 1;
    }
    assert!(matches!(late_read.await.unwrap(), Err(InitiatorError::TimedOut { .. })));
    // Now the late answer comes, and harms nothing after it.
    for block in [2, 1, 1] {
        assert_eq!(namespace.read(block, 1).await.unwrap(), pattern(1, block));
    }
    assert_eq!((controller.reconnects(), fake.io_connections()), (0, 1), "the late answer did no harm");
    assert!(late.lock().unwrap().is_none(), "it was given");
    assert!(ids.lock().unwrap().len() > 20);
}

#[tokio::test]
async fn an_answer_that_never_comes_ends_the_connection_and_others_are_sent_again() {
    let fake = Fake::start(Options::default(), all_but_13()).await;
    let mut config = config(&fake);
    config.command_timeout = Duration::from_millis(400);
    let (controller, namespace) = connect(config).await;
    let hasty = namespace.with_timeout(Duration::from_millis(100));
    let patient = namespace.with_timeout(GUARD);
    let (late, ()) = tokio::join!(hasty.read(13, 1), async {
        let begun = Instant::now();
        while controller.reconnects() == 0 {
            assert_eq!(patient.read(1, 1).await.unwrap(), pattern(1, 1));
            tokio::time::sleep(Duration::from_millis(1)).await;
            assert!(begun.elapsed() < GUARD, "the connection is not given up");
        }
    });
    assert!(matches!(late, Err(InitiatorError::TimedOut { .. })));
    assert_eq!(controller.reconnects(), 1);
}

#[tokio::test]
async fn a_dropped_call_keeps_its_place_until_it_is_answered() {
    let held = Arc::new(Mutex::new(Vec::new()));
    let holds = Arc::clone(&held);
    // Block 13 is answered when block 14 is written.
    let script: Script = Arc::new(move |_, unit| match unit.lba() {
        13 => {
            holds.lock().unwrap().push(unit.id());
            Vec::new()
        }
        14 => {
            let mut actions: Vec<_> = holds.lock().unwrap().drain(..).map(|id| response(id, 0, 0)).collect();
            actions.extend(answer(unit));
            actions
        }
        _ => answer(unit),
    });
    let fake = Fake::start(Options::default(), script).await;
    let mut config = config(&fake);
    (config.command_timeout, config.queue_depth) = (Duration::from_secs(5), 3);
    let (controller, namespace) = connect(config).await;
    let dropped = namespace.clone();
    let task = tokio::spawn(async move { dropped.write(13, pattern(1, 0)).await });
    while held.lock().unwrap().is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    // One of two places is taken: two more cannot be in progress at once, but one after the other.
    let another = namespace.clone();
    let second = tokio::spawn(async move { another.write(13, pattern(1, 0)).await });
    while held.lock().unwrap().len() < 2 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let third = namespace.with_timeout(Duration::from_millis(100)).read(1, 1).await;
    assert!(matches!(third, Err(InitiatorError::TimedOut { .. })), "no place is free");
    second.abort();
    // The two are answered only by a command for which there is no place: their deadline frees them, and the connection.
    let begun = Instant::now();
    while namespace.with_timeout(Duration::from_millis(500)).write(14, pattern(1, 0)).await.is_err() {
        assert!(begun.elapsed() < GUARD);
    }
    assert_eq!(controller.reconnects(), 1);
}

#[tokio::test]
async fn signs_of_life_are_sent_at_half_the_time() {
    let fake = Fake::start(Options::default(), all_but_13()).await;
    let mut config = config(&fake);
    config.keep_alive = Duration::from_millis(200);
    let begun = Instant::now();
    let (_controller, _namespace) = connect(config).await;
    let count = || fake.keep_alives.load(Ordering::SeqCst);
    while count() < 8 {
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(begun.elapsed() < GUARD, "only {} came", count());
    }
    // One each 100 ms, and no more.
    let most = begun.elapsed().as_millis() as u64 / 100 + 1;
    assert!(u64::try_from(count()).unwrap() <= most, "{} in {:?}", count(), begun.elapsed());
}

#[tokio::test]
async fn a_target_that_takes_no_bytes_is_not_waited_for() {
    // The first connection stops reading after its first command.
    let script: Script =
        Arc::new(|number, unit| if number == 0 { vec![Action::Pause(Duration::from_secs(60))] } else { answer(unit) });
    let fake = Fake::start(Options { capsule: 64 + 65_536, ..Options::default() }, script).await;
    let mut config = config(&fake);
    config.command_timeout = Duration::from_millis(500);
    let (_controller, namespace) = connect(config).await;
    let begun = Instant::now();
    let writes: Vec<_> = (0..127)
        .map(|lba| {
            let namespace = namespace.clone();
            tokio::spawn(async move { namespace.write(lba * 16, pattern(16, lba)).await })
        })
        .collect();
    let mut late = 0;
    for write in writes {
        match write.await.unwrap() {
            Ok(()) => {}
            Err(InitiatorError::TimedOut { .. }) => late += 1,
            Err(error) => panic!("{error}"),
        }
    }
    namespace.with_timeout(GUARD).write(1, pattern(1, 1)).await.unwrap();
    assert!(begun.elapsed() < 2 * GUARD, "{:?}", begun.elapsed());
    // The last commands may have had time for a second connection, or too little even there; the first command had no
    // time. Each connection that was given up had a late one.
    assert!(late > 0 && (2..=1 + late).contains(&fake.io_connections()), "{late} {}", fake.io_connections());
}
