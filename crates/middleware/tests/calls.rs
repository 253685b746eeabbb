//! The calls of the middleware, with callbacks and as futures.

use crate::support::{EmbeddedHost, Host, blob, gated::Gated, in_memory, metadata, number, pattern, program};
use ciphermill_device::SpaceLimits;
use ciphermill_middleware::{
    BlobId, Content, Metadata, Middleware, MiddlewareConfig, MiddlewareError, ObjectFlags, ReadMode, Transferred,
    TransportError, WriteMode, Written,
};
use std::{
    fs,
    io::ErrorKind,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    process::Command,
    sync::mpsc,
    thread,
};
use tempfile::TempDir;

fn middleware() -> Middleware {
    Middleware::embedded(in_memory()).unwrap()
}

/// Makes a call with a callback and waits for the value of the callback.
fn told<T: Send + 'static>(
    call: impl FnOnce(Box<dyn FnOnce(Result<T, MiddlewareError>) + Send>) -> Result<(), MiddlewareError>,
) -> Result<T, MiddlewareError> {
    let (sender, receiver) = mpsc::channel();
    call(Box::new(move |result| sender.send(result).unwrap())).unwrap();
    let result = receiver.recv().unwrap();
    assert!(receiver.recv().is_err(), "a callback is called once");
    result
}

/// Writes a blob that need not exist before.
fn put(middleware: &Middleware, metadata: Metadata, bytes: Vec<u8>) -> BlobId {
    let id = middleware.create(metadata).wait().unwrap();
    middleware.write(id, WriteMode::Compute, bytes).wait().unwrap();
    id
}

/// The names in a directory.
fn names(directory: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn table_7_with_callbacks() {
    let (middleware, files) = (middleware(), TempDir::new().unwrap());
    let (source, target) = (files.path().join("source"), files.path().join("target"));
    let bytes = pattern(3_000_000, 1);
    fs::write(&source, &bytes).unwrap();

    let id = told(|callback| middleware.create_blob(metadata("1:0:1"), callback)).unwrap();
    assert_eq!(id, blob("1:0:1"));
    let written: Written = told(|callback| middleware.write_blob1(id, WriteMode::Compute, &source, callback)).unwrap();
    assert_eq!((written.stat.id, written.stat.size, written.computed), (id, 3_000_000, false));
    let content: Content = told(|callback| middleware.read_blob2(id, ReadMode::Stored, callback)).unwrap();
    assert!(content.bytes == bytes && !content.computed);

    told(|callback| middleware.write_blob2(id, WriteMode::Compute, b"short", callback)).unwrap();
    let transferred = told(|callback| middleware.read_blob1(id, ReadMode::Stored, &target, callback)).unwrap();
    assert_eq!(transferred, Transferred { size: 5, computed: false });
    assert_eq!(fs::read(&target).unwrap(), b"short");

    told(|callback| middleware.delete_blob(id, callback)).unwrap();
    let gone = told(|callback| middleware.read_blob2(id, ReadMode::Stored, callback));
    assert!(matches!(gone, Err(MiddlewareError::UnknownBlob { id: named }) if named == id));
}

#[test]
fn table_7_as_futures() {
    let (middleware, files) = (middleware(), TempDir::new().unwrap());
    let (source, target) = (files.path().join("source"), files.path().join("target"));
    let bytes = pattern(3_000_000, 2);
    fs::write(&source, &bytes).unwrap();
    pollster::block_on(async {
        let id = middleware.create(metadata("1:0:1")).await?;
        let written = middleware.write_file(id, WriteMode::Compute, &source).await?;
        assert_eq!((written.stat.id, written.stat.size, written.computed), (id, 3_000_000, false));
        assert_eq!(middleware.list().await?, [written.stat]);
        assert_eq!(middleware.stat(id).await?, written.stat);
        assert!(middleware.read(id, ReadMode::Stored).await?.bytes == bytes);
        middleware.write(id, WriteMode::Compute, b"short").await?;
        let transferred = middleware.read_file(id, ReadMode::Stored, &target).await?;
        assert_eq!(transferred, Transferred { size: 5, computed: false });
        assert_eq!(fs::read(&target).unwrap(), b"short");
        middleware.delete(id).await?;
        assert!(matches!(middleware.stat(id).await, Err(MiddlewareError::UnknownBlob { .. })));
        assert_eq!(middleware.list().await?, []);
        Ok::<_, MiddlewareError>(())
    })
    .unwrap();
}

#[test]
fn programs_run_on_writes_and_reads() {
    let middleware = middleware();
    put(&middleware, metadata("3:0:2"), number(40));
    put(&middleware, metadata("0:0:0"), program("homadd 4:0:3, 3:0:2\nreturn 4:0:3"));
    let id = middleware.create(metadata("4:0:3")).wait().unwrap();
    assert!(middleware.write(id, WriteMode::Compute, number(2)).wait().unwrap().computed);
    assert_eq!(middleware.read(id, ReadMode::Stored).wait().unwrap().bytes, number(42));
    assert!(!middleware.write(id, WriteMode::Stored, number(2)).wait().unwrap().computed);

    let program_id = blob("0:0:0");
    let doubling = program("homintmult 3:0:2, 2\nreturn 3:0:2");
    middleware.write(program_id, WriteMode::Compute, doubling).wait().unwrap();
    let read = |mode| middleware.read(blob("3:0:2"), mode).wait();
    assert_eq!(read(ReadMode::Compute).unwrap(), Content { bytes: number(80), computed: true });
    assert_eq!(read(ReadMode::Stored).unwrap(), Content { bytes: number(40), computed: false });
    assert_eq!(read(ReadMode::Armed).unwrap(), Content { bytes: number(40), computed: false });

    middleware.write(program_id, WriteMode::Compute, program("mov 3:0:2, 3:0:9\nreturn 3:0:2")).wait().unwrap();
    let failed = read(ReadMode::Compute).unwrap_err();
    assert!(matches!(failed, MiddlewareError::Transport { source: TransportError::ProgramFailed(_), .. }));
    assert!(failed.to_string().starts_with("blob 3:0:2: program 0:0:0"), "{failed}");
}

#[test]
fn flags_are_those_of_the_creation_and_outlive_writes() {
    let middleware = middleware();
    let id = put(&middleware, metadata("3:0:2").with_flags(ObjectFlags::ARMED), number(4));
    put(&middleware, metadata("0:0:0"), program("homintmult 3:0:2, 3\nreturn 3:0:2"));
    assert!(middleware.read(id, ReadMode::default()).wait().unwrap().computed);
    let written = middleware.write(id, WriteMode::Compute, number(5)).wait().unwrap();
    assert_eq!(written.stat.flags, ObjectFlags::ARMED);
    let content = middleware.read(id, ReadMode::default()).wait().unwrap();
    assert_eq!(content, Content { bytes: number(15), computed: true });
}

#[test]
fn a_created_blob_is_known_until_it_is_deleted_and_has_no_content_until_it_is_written() {
    let middleware = middleware();
    let id = blob("1:0:1");
    let unknown = |outcome| matches!(outcome, Err(MiddlewareError::UnknownBlob { id: named }) if named == id);
    assert!(unknown(middleware.write(id, WriteMode::Compute, b"x").wait().map(drop)));
    assert!(unknown(middleware.delete(id).wait()));

    middleware.create(metadata("1:0:1")).wait().unwrap();
    let exists = |outcome| matches!(outcome, Err(MiddlewareError::Exists { id: named }) if named == id);
    assert!(exists(middleware.create(metadata("1:0:1")).wait()));
    let not_written = |outcome| matches!(outcome, Err(MiddlewareError::NotWritten { id: named }) if named == id);
    let files = TempDir::new().unwrap();
    assert!(not_written(middleware.read(id, ReadMode::Stored).wait().map(drop)));
    assert!(not_written(middleware.read_file(id, ReadMode::Stored, files.path().join("x")).wait().map(drop)));
    assert!(not_written(middleware.stat(id).wait().map(drop)));
    assert_eq!(middleware.list().wait().unwrap(), []);

    // A first write that fails leaves the blob to be written.
    let refused = middleware.write(id, WriteMode::Compute, b"BAD").wait();
    assert!(matches!(refused, Err(MiddlewareError::Transport { source: TransportError::Refused(_), .. })));
    assert!(not_written(middleware.stat(id).wait().map(drop)));
    middleware.delete(id).wait().unwrap();
    assert!(unknown(middleware.write(id, WriteMode::Compute, b"x").wait().map(drop)));

    middleware.create(metadata("1:0:1")).wait().unwrap();
    middleware.write(id, WriteMode::Compute, b"x").wait().unwrap();
    assert!(exists(middleware.create(metadata("1:0:1")).wait()));
}

#[test]
fn names_outlive_the_middleware_and_the_device() {
    let host = EmbeddedHost::start(SpaceLimits::UNLIMITED);
    let middleware = Middleware::embedded(host.space()).unwrap();
    let id = put(&middleware, metadata("1:5:6"), b"kept".to_vec());
    let saved = id.to_u128();
    let unwritten = middleware.create(metadata("1:5:7")).wait().unwrap();
    drop(middleware);
    let host = host.restart();
    let middleware = Middleware::embedded(host.space()).unwrap();
    let id = BlobId::from_u128(saved).unwrap();
    assert_eq!(middleware.read(id, ReadMode::Stored).wait().unwrap().bytes, b"kept");
    assert!(matches!(middleware.stat(unwritten).wait(), Err(MiddlewareError::UnknownBlob { .. })));
}

#[test]
fn files_that_cannot_be_a_blob_are_named() {
    let (middleware, files) = (middleware(), TempDir::new().unwrap());
    let id = put(&middleware, metadata("1:0:1"), b"earlier".to_vec());
    let write = |path: &Path| middleware.write_file(id, WriteMode::Compute, path).wait().unwrap_err();

    let missing = files.path().join("missing");
    let error = write(&missing);
    assert!(
        matches!(&error, MiddlewareError::File { path, operation: "open", source, .. }
            if *path == missing && source.kind() == ErrorKind::NotFound),
        "{error}"
    );
    assert!(error.to_string().starts_with(&format!("blob 1:0:1: cannot open {}: ", missing.display())));
    let plain = files.path().join("plain");
    fs::write(&plain, b"").unwrap();
    let error = write(&plain.join("below"));
    assert!(matches!(&error, MiddlewareError::File { source, .. } if source.kind() == ErrorKind::NotADirectory));
    assert!(matches!(write(&plain), MiddlewareError::Empty { file: Some(path), .. } if path == plain));
    assert!(matches!(write(files.path()), MiddlewareError::NotAFile { path, .. } if path == files.path()));
    assert!(matches!(write(Path::new("/dev/null")), MiddlewareError::NotAFile { .. }));
    // To open a pipe without a writer would block the worker.
    let pipe = files.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    assert!(matches!(write(&pipe), MiddlewareError::NotAFile { .. }));
    let large = files.path().join("large");
    fs::File::create(&large).unwrap().set_len(17 << 30).unwrap();
    let error = write(&large);
    assert!(matches!(error, MiddlewareError::Transport { source: TransportError::TooLarge { size, limit }, .. }
            if size == 17 << 30 && limit == 16 << 30));
    let empty = middleware.write(id, WriteMode::Compute, []).wait();
    assert!(matches!(empty, Err(MiddlewareError::Empty { file: None, .. })));
    assert_eq!(middleware.read(id, ReadMode::Stored).wait().unwrap().bytes, b"earlier");
}

#[test]
fn a_file_that_changes_or_fails_while_it_is_read_is_no_blob() {
    let host = EmbeddedHost::start(SpaceLimits::UNLIMITED);
    let gated = Gated::new(host.transport());
    let middleware = Middleware::new(gated.clone(), MiddlewareConfig::default()).unwrap();
    let id = put(&middleware, metadata("1:0:1"), b"earlier".to_vec());
    let (files, write) = (TempDir::new().unwrap(), |path| middleware.write_file(id, WriteMode::Compute, path).wait());
    let source = files.path().join("source");
    for length in [99, 101, 0, 5_000_000] {
        fs::write(&source, [1; 100]).unwrap();
        gated.close();
        let error = thread::scope(|scope| {
            let writer = scope.spawn(|| write(source.clone()).unwrap_err());
            // At the gate, the file is open and its length is declared.
            gated.await_held(1);
            fs::OpenOptions::new().write(true).open(&source).unwrap().set_len(length).unwrap();
            gated.open();
            writer.join().unwrap()
        });
        assert!(matches!(&error, MiddlewareError::FileChanged { path, size: 100, .. } if *path == source), "{error}");
    }
    gated.fail_once(0, TransportError::Content(ErrorKind::PermissionDenied.into()));
    assert!(matches!(write(source.clone()), Err(MiddlewareError::File { operation: "read", path, source: cause, .. })
        if path == source && cause.kind() == ErrorKind::PermissionDenied));
    assert_eq!(middleware.read(id, ReadMode::Stored).wait().unwrap().bytes, b"earlier");
}

#[test]
fn a_full_space_is_an_error_that_names_the_blob() {
    let host = EmbeddedHost::start(SpaceLimits { bytes: 100, objects: 10 });
    let middleware = Middleware::embedded(host.space()).unwrap();
    let id = middleware.create(metadata("1:0:1")).wait().unwrap();
    let full = middleware.write(id, WriteMode::Compute, [1; 101]).wait().unwrap_err();
    assert!(matches!(full, MiddlewareError::Transport { source: TransportError::NoSpace(_), .. }));
    let text = full.to_string();
    assert!(text.contains("blob 1:0:1") && text.contains("100") && text.contains("101"), "{text}");
    middleware.write(id, WriteMode::Compute, [1; 100]).wait().unwrap();
}

#[test]
fn a_failed_read_leaves_the_destination_as_it_was() {
    let host = EmbeddedHost::start(SpaceLimits::UNLIMITED);
    let gated = Gated::new(host.transport());
    let middleware = Middleware::new(gated.clone(), MiddlewareConfig::default()).unwrap();
    let id = put(&middleware, metadata("1:0:1"), pattern(100_000, 3));
    let files = TempDir::new().unwrap();
    let target = files.path().join("target");
    let read = |path: &Path| middleware.read_file(id, ReadMode::Stored, path).wait();

    // In the middle of the content, without and with an earlier file.
    gated.fail_once(50_000, TransportError::Failed("the line went dead".into()));
    assert!(matches!(read(&target), Err(MiddlewareError::Transport { source: TransportError::Failed(_), .. })));
    assert_eq!(names(files.path()), [""; 0]);
    fs::write(&target, b"earlier").unwrap();
    gated.fail_once(50_000, TransportError::Output(ErrorKind::StorageFull.into()));
    assert!(matches!(read(&target), Err(MiddlewareError::File { operation: "write", path, source, .. })
        if path == target && source.kind() == ErrorKind::StorageFull));
    assert_eq!(names(files.path()), ["target"]);
    assert_eq!(fs::read(&target).unwrap(), b"earlier");

    // Before any content.
    let unknown = middleware.read_file(blob("1:0:9"), ReadMode::Stored, &target).wait();
    assert!(matches!(unknown, Err(MiddlewareError::UnknownBlob { .. })));
    let uncomputed = middleware.read_file(id, ReadMode::Compute, &target).wait();
    assert!(matches!(uncomputed, Err(MiddlewareError::Transport { source: TransportError::Refused(_), .. })));
    assert!(matches!(read(files.path()), Err(MiddlewareError::NotAFile { .. })));
    let lost = files.path().join("no such directory/target");
    assert!(matches!(read(&lost), Err(MiddlewareError::File { operation: "create", source, .. })
        if source.kind() == ErrorKind::NotFound));
    assert_eq!(names(files.path()), ["target"]);
    assert_eq!(fs::read(&target).unwrap(), b"earlier");

    read(&target).unwrap();
    assert_eq!(names(files.path()), ["target"]);
    assert!(fs::read(&target).unwrap() == pattern(100_000, 3));
}

#[test]
fn a_replaced_file_keeps_its_permissions_and_its_links() {
    let (middleware, files) = (middleware(), TempDir::new().unwrap());
    let id = put(&middleware, metadata("1:0:1"), b"new".to_vec());
    let (target, link) = (files.path().join("target"), files.path().join("link"));
    fs::write(&target, b"earlier").unwrap();
    fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
    symlink("target", &link).unwrap();
    middleware.read_file(id, ReadMode::Stored, &link).wait().unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&target).unwrap(), b"new");
    assert_eq!(fs::metadata(&target).unwrap().permissions().mode() & 0o777, 0o640);
}

#[test]
fn configurations_that_cannot_work_are_refused() {
    for (workers, queue_limit, named) in
        [(0, 1, "workers is 0"), (1025, 1, "workers is 1025"), (1, 0, "queue_limit is 0")]
    {
        let transport = EmbeddedHost::start(SpaceLimits::UNLIMITED).transport();
        let error = Middleware::new(transport, MiddlewareConfig { workers, queue_limit }).unwrap_err();
        assert!(error.to_string().contains(named), "{error}");
    }
}

proptest::proptest! {
    #[test]
    fn a_blob_is_its_number_and_its_text(type_code: u16, key: u32, data: u32, high in 1_u128..1 << 48) {
        let id = blob(&format!("{type_code}:{key}:{data}"));
        assert_eq!(BlobId::from_u128(id.to_u128()), Some(id));
        assert_eq!(id.to_string().parse(), Ok(id));
        assert_eq!(BlobId::new(id.register()), id);
        assert_eq!(BlobId::from_u128(id.to_u128() | high << 80), None);
    }
}
