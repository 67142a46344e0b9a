//! The names that `book serve` answers to, so that no web page reads the book through a name of its own.

use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;

/// The address that the server is bound to.
#[derive(Clone)]
pub struct Bound {
    /// As it was asked for.
    pub name: String,
    pub ip: IpAddr,
}

impl Bound {
    /// Answers with status 403 to a request for another host, and with 400 if the host has not one meaning.
    pub async fn check(self, request: Request, next: Next) -> Response {
        let mut hosts = request.headers().get_all(header::HOST).into_iter();
        let host = hosts.next().map_or(Ok(""), |host| host.to_str());
        let (Ok(host), None) = (host, hosts.next()) else {
            let line = "Host: expected one line of ASCII\n";
            return (StatusCode::BAD_REQUEST, line).into_response();
        };
        let Some(name) = name(host) else {
            let line = format!("Host: expected NAME or NAME:PORT, found {host:?}\n");
            return (StatusCode::BAD_REQUEST, line).into_response();
        };
        if self.is_own(name) {
            return next.run(request).await;
        }
        let line = format!(
            "Host: expected localhost or {}, found {host:?}\n",
            self.name
        );
        (StatusCode::FORBIDDEN, line).into_response()
    }

    /// Whether `name` is this machine. A server on all addresses answers to any address, but to no name.
    fn is_own(&self, name: &str) -> bool {
        let is_ip = |ip: IpAddr| ip.is_loopback() || ip == self.ip || self.ip.is_unspecified();
        ["localhost", &self.name]
            .iter()
            .any(|own| name.eq_ignore_ascii_case(own))
            || name.parse().is_ok_and(is_ip)
    }
}

/// The name or address of `NAME`, `NAME:PORT`, `[ADDRESS]` or `[ADDRESS]:PORT`.
fn name(host: &str) -> Option<&str> {
    let (name, rest) = match host.strip_prefix('[') {
        Some(v6) => v6.split_once(']')?,
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let is_port = |port: &str| port.bytes().all(|digit| digit.is_ascii_digit());
    let fits = rest.is_empty() || rest.strip_prefix(':').is_some_and(is_port);
    fits.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{Ipv4Addr, Ipv6Addr};

    #[test]
    fn only_the_own_names_are_answered() {
        let bound = |name: &str, ip: IpAddr| Bound {
            name: name.into(),
            ip,
        };
        let local = bound("127.0.0.1", Ipv4Addr::LOCALHOST.into());
        for host in [
            "localhost",
            "LocalHost:3000",
            "127.0.0.1:1",
            "[::1]:3000",
            "[::1]",
        ] {
            assert!(local.is_own(name(host).unwrap()), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:3000",
            "192.168.1.5",
            "127.0.0.1.evil",
            "[::2]",
        ] {
            assert!(!local.is_own(name(host).unwrap()), "{host}");
        }
        for host in ["localhost:x@evil", "[::1]evil", "[::1", "localhost:1:2"] {
            assert_eq!(name(host), None, "{host}");
        }
        let all = bound("::", Ipv6Addr::UNSPECIFIED.into());
        assert!(all.is_own("192.168.1.5") && all.is_own("fe80::1"));
        assert!(!all.is_own("evil.example"));
        assert!(bound("desk", Ipv4Addr::new(10, 0, 0, 7).into()).is_own("desk"));
    }
}
