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
    /// Answers with status 403 to a request for another host.
    pub async fn check(self, request: Request, next: Next) -> Response {
        let host = request.headers().get(header::HOST);
        let host = host.and_then(|host| host.to_str().ok()).unwrap_or_default();
        if self.is_own(host) {
            return next.run(request).await;
        }
        let line = format!(
            "Host: expected localhost or {}, found {host:?}\n",
            self.name
        );
        (StatusCode::FORBIDDEN, line).into_response()
    }

    /// Whether `host`, with any port, is this machine. A server on all addresses answers to any address, but to no name.
    fn is_own(&self, host: &str) -> bool {
        let name = match host.strip_prefix('[').and_then(|v6| v6.split_once(']')) {
            Some((v6, _)) => v6,
            None => host.split_once(':').map_or(host, |(name, _)| name),
        };
        let is_ip = |ip: IpAddr| ip.is_loopback() || ip == self.ip || self.ip.is_unspecified();
        ["localhost", &self.name]
            .iter()
            .any(|own| name.eq_ignore_ascii_case(own))
            || name.parse().is_ok_and(is_ip)
    }
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
            assert!(local.is_own(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "evil.example:3000",
            "192.168.1.5",
            "127.0.0.1.evil",
            "[::2]",
        ] {
            assert!(!local.is_own(host), "{host}");
        }
        let all = bound("::", Ipv6Addr::UNSPECIFIED.into());
        assert!(all.is_own("192.168.1.5:3000") && all.is_own("[fe80::1]:3000"));
        assert!(!all.is_own("evil.example"));
        assert!(bound("desk", Ipv4Addr::new(10, 0, 0, 7).into()).is_own("desk:3000"));
    }
}
