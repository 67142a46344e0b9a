use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use super::*;

#[test]
fn a_port_that_is_taken_names_the_option() -> Result<()> {
    let runtime = runtime()?;
    let first = listen(&runtime, "127.0.0.1", 0)?;
    let port = first.local_addr()?.port();
    let error = listen(&runtime, "127.0.0.1", port)
        .err()
        .context("a taken port")?;
    let error = error.to_string();
    assert!(
        error.contains("expected a free address") && error.contains("--port"),
        "{error}"
    );
    Ok(())
}

#[test]
fn addresses_stay_inside_the_pages() {
    let pages = Path::new("/pages");
    assert_eq!(file(pages, "/"), Some("/pages/index.html".into()));
    assert_eq!(file(pages, "/css/a.css"), Some("/pages/css/a.css".into()));
    for outside in [
        "/../Cargo.toml",
        "/css/../../x",
        "//etc/passwd/../..",
        "/./x/..",
    ] {
        assert_eq!(file(pages, outside), None, "{outside}");
    }
}

/// Time that these tests give a client.
const SHORT: Duration = Duration::from_secs(1);

/// Files that are not to be served: a link out of the pages, and a file without an end.
fn lay_traps(pages: &Path) -> Result<()> {
    #[cfg(unix)]
    for (name, target) in [("outside.html", "/etc/passwd"), ("endless", "/dev/zero")] {
        std::os::unix::fs::symlink(target, pages.join(name))?;
    }
    fs::create_dir(pages.join("folder"))?;
    Ok(())
}

/// Serves a folder with one page until the process ends.
fn served() -> Result<SocketAddr> {
    served_with(SHORT)
}

fn served_with(patience: Duration) -> Result<SocketAddr> {
    let runtime = runtime()?;
    let listener = listen(&runtime, "127.0.0.1", 0)?;
    let address = listener.local_addr()?;
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("index.html"), "<h1>a page</h1>")?;
    lay_traps(folder.path())?;
    let (name, ip) = (String::new(), address.ip());
    let builds = Arc::new(AtomicU64::new(7));
    let router = router(folder.path().into(), builds, Bound { name, ip });
    let listener = Limited::new(listener, patience);
    thread::spawn(move || {
        let _folder = folder;
        runtime.block_on(async { axum::serve(listener, router).await })
    });
    Ok(address)
}

fn send(address: SocketAddr, request: &[u8]) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    stream.write_all(request)?;
    Ok(stream)
}

/// The whole answer to a request.
fn answer_to(address: SocketAddr, head: &str) -> Result<String> {
    let request = format!("{head}\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    let mut text = String::new();
    send(address, request.as_bytes())?.read_to_string(&mut text)?;
    Ok(text)
}

#[test]
fn pages_and_the_number_of_the_build_are_served() -> Result<()> {
    let address = served()?;
    let page = answer_to(address, "GET / HTTP/1.1")?;
    assert!(page.starts_with("HTTP/1.1 200 OK\r\n"), "{page}");
    assert!(page.contains("text/html; charset=utf-8"), "{page}");
    assert!(page.contains("<h1>a page</h1><script>"), "{page}");
    let number = answer_to(address, "GET /build-number HTTP/1.1")?;
    assert!(number.ends_with("\r\n\r\n7"), "{number}");
    let none = answer_to(address, "GET /none.html HTTP/1.1")?;
    assert!(none.starts_with("HTTP/1.1 404 "), "{none}");
    assert!(none.contains("No such page"), "{none}");
    for trap in ["outside.html", "endless", "folder"] {
        let none = answer_to(address, &format!("GET /{trap} HTTP/1.1"))?;
        assert!(none.starts_with("HTTP/1.1 404 "), "{trap}: {none}");
    }
    Ok(())
}

#[test]
fn hostile_clients_do_not_stop_it() -> Result<()> {
    let address = served()?;
    // A request that never ends, and a body of a length that no memory holds.
    let _slow = send(address, b"GET / HTTP/1.1\r\nHost: ")?;
    let huge = "GET / HTTP/1.1\r\nContent-Length: 9223372036854775807";
    let huge = answer_to(address, huge)?;
    assert!(huge.starts_with("HTTP/1.1 200 OK\r\n"), "{huge}");
    // A header of 200 MB is refused early: the connection ends before all of it is sent.
    let mut header = send(address, b"GET / HTTP/1.1\r\nHost: a\r\nX: ")?;
    let part = vec![b'x'; 1 << 20];
    let sent = (0..200).try_for_each(|_| header.write_all(&part));
    let error = sent.err().context("a header without a limit")?;
    let closed = [ErrorKind::BrokenPipe, ErrorKind::ConnectionReset];
    assert!(closed.contains(&error.kind()), "{error}");
    let page = answer_to(address, "GET / HTTP/1.1")?;
    assert!(page.contains("<h1>a page</h1>"), "{page}");
    Ok(())
}

#[test]
fn another_host_is_refused() -> Result<()> {
    let address = served()?;
    let request = b"GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n";
    let mut text = String::new();
    send(address, request)?.read_to_string(&mut text)?;
    let line = "\r\n\r\nHost: expected localhost or ";
    assert!(
        text.starts_with("HTTP/1.1 403 ") && text.contains(line),
        "{text}"
    );
    for hosts in ["localhost:x@evil", "[::1]evil", "localhost\r\nHost: evil"] {
        let head = format!("GET / HTTP/1.1\r\nHost: {hosts}\r\nConnection: close\r\n\r\n");
        let mut text = String::new();
        send(address, head.as_bytes())?.read_to_string(&mut text)?;
        assert!(text.starts_with("HTTP/1.1 400 "), "{hosts}: {text}");
    }
    Ok(())
}

#[test]
fn slow_connections_are_closed_and_others_served() -> Result<()> {
    let address = served()?;
    let mut silent: Vec<TcpStream> = (0..2 * limits::MOST)
        .map(|_| send(address, b""))
        .collect::<Result<_>>()?;
    // Those above the limit are closed at once, and the others after their time.
    for stream in &mut silent {
        let closed = stream.read(&mut [0]);
        assert!(matches!(closed, Ok(0) | Err(_)));
    }
    let begin = std::time::Instant::now();
    let mut slow = send(address, b"GET / HTTP/1.1\r\nX: ")?;
    while slow.write_all(b"x").is_ok() {
        thread::sleep(Duration::from_millis(100));
        assert!(begin.elapsed() < Duration::from_secs(10), "byte by byte");
    }
    let page = answer_to(address, "GET / HTTP/1.1")?;
    assert!(page.contains("<h1>a page</h1>"), "{page}");
    Ok(())
}

/// All of 127.0.0.0/8 is this machine, on Linux.
#[cfg(target_os = "linux")]
#[test]
fn one_address_does_not_take_all_connections() -> Result<()> {
    let address = served_with(PATIENCE)?;
    let silent: Vec<TcpStream> = (0..2 * limits::MOST)
        .map(|_| send(address, b""))
        .collect::<Result<_>>()?;
    let mut other = runtime()?.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from(([127, 0, 0, 2], 0)))?;
        socket.connect(address).await?.into_std()
    })?;
    other.set_nonblocking(false)?;
    other.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut page = String::new();
    other.read_to_string(&mut page)?;
    assert!(page.contains("<h1>a page</h1>"), "{page}");
    drop(silent);
    Ok(())
}

#[test]
fn a_connection_with_many_requests_ends() -> Result<()> {
    let address = served()?;
    let begin = std::time::Instant::now();
    let mut busy = send(address, b"")?;
    let mut answered = 0;
    while busy
        .write_all(b"GET /build-number HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .is_ok()
        && busy.read(&mut [0; 1 << 10]).is_ok_and(|read| read > 0)
    {
        answered += 1;
        thread::sleep(Duration::from_millis(100));
        assert!(begin.elapsed() < Duration::from_secs(15), "it goes on");
    }
    assert!(answered > 10 && begin.elapsed() > 3 * SHORT, "{answered}");
    Ok(())
}
