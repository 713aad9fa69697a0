//! A static file server for `dist/`, on this machine only.

use std::fs;
use std::io::Cursor;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::thread;

use anyhow::{Result, anyhow};
use tiny_http::{Header, Method, Request, Response, Server};

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

/// Serves `folder` in the background on the first free of `ports` and returns the address to open. Every request has a
/// thread of its own: a browser may leave a large file unread for a while, and other requests must not wait for it.
pub fn start(folder: &Path, ports: impl IntoIterator<Item = u16>) -> Result<String> {
    let mut problem = anyhow!("no port was given");
    for port in ports {
        match Server::http(("127.0.0.1", port)) {
            Ok(server) => {
                let address = format!("http://{}/", server.server_addr());
                let folder: Arc<Path> = folder.into();
                thread::spawn(move || {
                    for request in server.incoming_requests() {
                        let folder = folder.clone();
                        // A browser that hung up early is no problem of the server.
                        thread::spawn(move || answer(request, &folder));
                    }
                });
                return Ok(address);
            }
            Err(error) => problem = anyhow!("cannot listen on port {port}: {error}"),
        }
    }
    Err(problem)
}

fn answer(request: Request, folder: &Path) -> std::io::Result<()> {
    if !matches!(request.method(), Method::Get | Method::Head) {
        return request.respond(plain(405, "only GET and HEAD are answered here"));
    }
    let found = file_for(request.url(), folder).and_then(|file| Some((fs::read(&file).ok()?, file)));
    match found {
        Some((contents, file)) => {
            let response = Response::from_data(contents)
                .with_header(header("Content-Type", mime_type(&file)))
                // A rebuilt page shows at the next reload.
                .with_header(header("Cache-Control", "no-cache"))
                .with_header(header("X-Content-Type-Options", "nosniff"));
            request.respond(response)
        }
        None => request.respond(plain(404, "not here")),
    }
}

/// The file of `folder` that `url` names; none for what would lead out of it.
fn file_for(url: &str, folder: &Path) -> Option<PathBuf> {
    let path = url.split(['?', '#']).next()?;
    let relative = Path::new(path.trim_start_matches('/'));
    let inside = relative.components().all(|part| matches!(part, Component::Normal(_)));
    if !inside {
        return None;
    }
    let file = folder.join(relative);
    Some(if file.is_dir() { file.join("index.html") } else { file })
}

fn mime_type(file: &Path) -> &'static str {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json" | "map") => "application/json",
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        Some("wir" | "ptx" | "cu" | "txt" | "md") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

fn header(name: &str, value: &str) -> Header {
    Header::from_bytes(name, value).expect("our headers are ASCII")
}

fn plain(status: u16, text: &str) -> Response<Cursor<Vec<u8>>> {
    Response::from_string(text).with_status_code(status)
}

#[cfg(test)]
mod tests {
    use super::{file_for, start};
    use std::net::TcpListener;
    use std::path::Path;

    #[test]
    fn nothing_outside_the_folder_is_served() {
        let folder = Path::new("site");
        assert_eq!(file_for("/../secret", folder), None);
        assert_eq!(file_for("/a/../../secret", folder), None);
        assert_eq!(file_for("/page.js?v=1", folder), Some(folder.join("page.js")));
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
