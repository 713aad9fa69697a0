//! A static file server for `dist/`, on this machine only.

use std::net::TcpListener;
use std::path::Path;
use std::thread;

use anyhow::{Result, anyhow};
use axum::Router;
use axum::http::header::{self, HeaderName, HeaderValue};
use tower_http::services::ServeDir;
use tower_http::set_header::SetResponseHeaderLayer;

use crate::{site, workspace};

#[derive(clap::Args)]
#[group(skip)]
pub struct Options {
    /// The port; if it is taken, the next free one is used.
    #[arg(long, default_value_t = 8080)]
    port: u16,
    #[command(flatten)]
    site: site::Options,
}

/// How many ports are tried before the system chooses one.
const PORTS_TRIED: u16 = 20;

/// Builds the page and serves it until interrupted. A later `cargo xtask build` is served without a restart.
pub fn serve(options: &Options) -> Result<()> {
    site::build(&options.site)?;
    let ports = (options.port..=options.port.saturating_add(PORTS_TRIED)).chain([0]);
    let address = start(&workspace::dist(), ports)?;
    println!("==> open {address}  (Ctrl-C ends)");
    loop {
        thread::park();
    }
}

/// Serves `folder` in the background on the first free of `ports` and returns the address to open.
pub fn start(folder: &Path, ports: impl IntoIterator<Item = u16>) -> Result<String> {
    let listener = first_free(ports)?;
    let address = format!("http://{}/", listener.local_addr()?);
    listener.set_nonblocking(true)?;
    let files = files_of(folder);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    thread::spawn(move || {
        let served = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            axum::serve(listener, files).await
        });
        if let Err(error) = served {
            eprintln!("the server ended: {error}");
        }
    });
    Ok(address)
}

fn first_free(ports: impl IntoIterator<Item = u16>) -> Result<TcpListener> {
    let mut problem = anyhow!("no port was given");
    for port in ports {
        match TcpListener::bind(("127.0.0.1", port)) {
            Ok(listener) => return Ok(listener),
            Err(error) => problem = anyhow!("cannot listen on port {port}: {error}"),
        }
    }
    Err(problem)
}

/// Answers GET and HEAD with the files of `folder`, and never with one outside it.
fn files_of(folder: &Path) -> Router {
    Router::new()
        .fallback_service(ServeDir::new(folder))
        // A rebuilt page shows at the next reload.
        .layer(always(header::CACHE_CONTROL, "no-cache"))
        .layer(always(header::X_CONTENT_TYPE_OPTIONS, "nosniff"))
}

fn always(name: HeaderName, value: &'static str) -> SetResponseHeaderLayer<HeaderValue> {
    SetResponseHeaderLayer::overriding(name, HeaderValue::from_static(value))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::path::Path;
    use std::time::Duration;

    use super::start;

    /// The answer to a request for `path`, the connection left open as browsers leave it.
    fn ask(connection: &mut TcpStream, path: &str) -> String {
        write!(connection, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("a request can be sent");
        let mut answer = [0; 1024];
        let length = connection.read(&mut answer).expect("an answer comes in time");
        String::from_utf8_lossy(&answer[..length]).into_owned()
    }

    fn connect(address: &str) -> TcpStream {
        let host = address.trim_start_matches("http://").trim_end_matches('/');
        let connection = TcpStream::connect(host).expect("the server listens");
        connection.set_read_timeout(Some(Duration::from_secs(10))).expect("a timeout can be set");
        connection
    }

    #[test]
    fn files_have_their_types_and_nothing_outside_is_served() {
        let folder = std::env::temp_dir().join(format!("warpscope-serve-{}", std::process::id()));
        fs::create_dir_all(folder.join("inside")).expect("a temporary folder");
        fs::write(folder.join("secret.txt"), "secret").expect("a file");
        fs::write(folder.join("inside/index.html"), "<p>page</p>").expect("a file");
        fs::write(folder.join("inside/page.wasm"), "wasm").expect("a file");
        let address = start(&folder.join("inside"), [0]).expect("a free port");
        let page = ask(&mut connect(&address), "/");
        assert!(page.contains("200 OK") && page.contains("text/html") && page.contains("no-cache"), "{page}");
        let wasm = ask(&mut connect(&address), "/page.wasm?v=1");
        assert!(wasm.contains("200 OK") && wasm.contains("application/wasm"), "{wasm}");
        for outside in ["/../secret.txt", "/a/../../secret.txt", "/%2e%2e/secret.txt"] {
            let answer = ask(&mut connect(&address), outside);
            assert!(answer.contains("404") && !answer.contains("200 OK"), "{outside}: {answer}");
        }
        fs::remove_dir_all(folder).expect("the temporary folder goes");
    }

    #[test]
    fn connections_that_stay_open_keep_nobody_waiting() {
        let address = start(Path::new("site"), [0]).expect("a free port");
        let mut connections: Vec<_> = (0..64).map(|_| connect(&address)).collect();
        for connection in &mut connections {
            assert!(ask(connection, "/nothing").contains("404"));
        }
    }

    #[test]
    fn a_taken_port_is_passed_over() {
        let holder = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let taken = holder.local_addr().expect("a bound address").port();
        let address = start(Path::new("site"), [taken, 0]).expect("the second port is free");
        assert!(address.starts_with("http://127.0.0.1:"), "{address}");
        assert!(!address.contains(&format!(":{taken}/")), "{address}");
        assert!(start(Path::new("site"), [taken]).is_err());
    }
}
