//! Who may speak to the server: a token where one is set, no foreign `Origin`, no foreign `Host`.
//!
//! The last two hold without a token too: a web page that a user looks at can reach a server on loopback, by itself or
//! by a name that it lets point there.

use std::net::IpAddr;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use axum::middleware::Next;
use axum::response::IntoResponse;
use subtle::ConstantTimeEq;

use super::App;
use super::error::ApiError;

/// Paths that need no token: they tell nothing of any session.
const OPEN: [&str; 3] = ["/healthz", "/readyz", "/openapi.json"];
const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PATCH, DELETE");
const HEADERS: HeaderValue =
    HeaderValue::from_static("authorization, content-type, idempotency-key, last-event-id, user-agent");
const EXPOSED: HeaderValue =
    HeaderValue::from_static("x-vercel-ai-ui-message-stream, x-tackroom-turn, location, retry-after");

/// The rules of one server.
#[derive(Debug, Clone)]
pub(super) struct Guard {
    /// Where the server listens: an `Authority` with another address is foreign.
    pub(super) ip: IpAddr,
    pub(super) token: Option<Vec<u8>>,
    pub(super) origins: Vec<String>,
    pub(super) hosts: Vec<String>,
}

impl Guard {
    /// Refuses foreign hosts and origins; gives the origin that may read the answer, a refusal for want of a token too.
    fn check_place(&self, request: &Request) -> Result<Option<HeaderValue>, ApiError> {
        let host = host_of(request)?;
        self.check_host(&host)?;
        self.check_origin(request.headers(), &host)
    }

    fn check_host(&self, host: &Authority) -> Result<(), ApiError> {
        let name = host.host().trim_start_matches('[').trim_end_matches(']');
        let known = match name.parse::<IpAddr>() {
            // An address cannot be made to point elsewhere, as a name can.
            Ok(ip) => ip == self.ip || ip.is_loopback() || self.ip.is_unspecified(),
            Err(_) => name.eq_ignore_ascii_case("localhost"),
        };
        let allowed = |one: &String| one.eq_ignore_ascii_case(name) || one.eq_ignore_ascii_case(host.as_str());
        if known || self.hosts.iter().any(allowed) {
            return Ok(());
        }
        let name: String = name.chars().take(100).collect();
        let message = format!(
            "This server is not called {name:?}. Reach it by its address or as localhost, or start it with \
             --allow-host {name}."
        );
        Err(ApiError::new(StatusCode::FORBIDDEN, "foreign-host", message))
    }

    fn check_origin(&self, headers: &HeaderMap, host: &Authority) -> Result<Option<HeaderValue>, ApiError> {
        let Some(value) = headers.get(header::ORIGIN) else { return Ok(None) };
        let origin = value.to_str().unwrap_or_default();
        let own = origin.strip_prefix("http://").is_some_and(|rest| rest.eq_ignore_ascii_case(host.as_str()));
        let listed = |one: &String| one == "*" || one.trim_end_matches('/').eq_ignore_ascii_case(origin);
        if own || self.origins.iter().any(listed) {
            return Ok(Some(value.clone()));
        }
        let origin: String = origin.chars().take(100).collect();
        let message = format!(
            "Pages of {origin:?} may not use this server. Start it with --allow-origin {origin} if they should."
        );
        Err(ApiError::new(StatusCode::FORBIDDEN, "foreign-origin", message))
    }

    fn check_token(&self, request: &Request) -> Result<(), ApiError> {
        let Some(token) = &self.token else { return Ok(()) };
        if OPEN.contains(&request.uri().path()) {
            return Ok(());
        }
        let given = request.headers().get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
        let given = given.and_then(|value| {
            let (scheme, rest) = value.split_at_checked(7)?;
            scheme.eq_ignore_ascii_case(b"bearer ").then(|| rest.trim_ascii())
        });
        if given.is_some_and(|given| bool::from(given.ct_eq(token))) {
            return Ok(());
        }
        let message = "This server needs its token: send the header `Authorization: Bearer TOKEN`.";
        let error = ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", message);
        Err(error.header(header::WWW_AUTHENTICATE, "Bearer"))
    }
}

fn host_of(request: &Request) -> Result<Authority, ApiError> {
    let bad = |message: &str| ApiError::invalid("Host", message);
    let mut given = request.headers().get_all(header::HOST).iter();
    let host = match (given.next(), given.next()) {
        (Some(host), None) => host.to_str().unwrap_or_default(),
        (None, _) => return Err(bad("Host: the request names no host; HTTP/1.1 asks for exactly one Host header.")),
        _ => return Err(bad("Host: the request names several hosts; HTTP/1.1 asks for exactly one Host header.")),
    };
    match host.parse::<Authority>() {
        Ok(authority) if !host.contains('@') => Ok(authority),
        _ => Err(bad("Host: it has to be a host's name or address, with its port where there is one.")),
    }
}

fn is_preflight(request: &Request) -> bool {
    let asked = header::ACCESS_CONTROL_REQUEST_METHOD;
    request.method() == Method::OPTIONS
        && request.headers().contains_key(asked)
        && request.headers().contains_key(header::ORIGIN)
}

/// Refuses strangers, answers what browsers ask beforehand, and names the origin that may read the answer.
pub(super) async fn guard(State(app): State<App>, request: Request, next: Next) -> Response<Body> {
    let origin = match app.guard.check_place(&request) {
        Ok(origin) => origin,
        Err(error) => return error.into_response(),
    };
    let mut response = if is_preflight(&request) {
        preflight()
    } else if let Err(error) = app.guard.check_token(&request) {
        error.into_response()
    } else {
        next.run(request).await
    };
    if let Some(origin) = origin {
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        headers.append(header::VARY, HeaderValue::from_static("Origin"));
    }
    response
}

fn preflight() -> Response<Body> {
    let mut response = StatusCode::NO_CONTENT.into_response();
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, METHODS);
    headers.insert(header::ACCESS_CONTROL_ALLOW_HEADERS, HEADERS);
    headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(ip: &str) -> Guard {
        Guard {
            ip: ip.parse().unwrap(),
            token: Some(b"secret".to_vec()),
            origins: vec!["https://app.example".to_owned()],
            hosts: vec!["box.example".to_owned()],
        }
    }

    fn check(guard: &Guard, headers: &[(&str, &str)]) -> Result<(), String> {
        let mut request = Request::builder().uri("/v1/sessions");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::empty()).unwrap();
        let checked = guard.check_place(&request).and_then(|_| guard.check_token(&request));
        checked.map_err(|error| error.message().to_owned())
    }

    #[test]
    fn hosts_that_are_not_this_one_are_refused() {
        let auth = ("authorization", "Bearer secret");
        for host in ["127.0.0.1:4310", "localhost", "LOCALHOST:1", "[::1]:4310", "box.example", "box.example:80"] {
            assert_eq!(check(&guard("127.0.0.1"), &[("host", host), auth]), Ok(()), "{host}");
        }
        for host in ["evil.example", "10.0.0.1", "localhost.evil.example", "127.0.0.1.evil.example", "", "a@localhost"]
        {
            assert!(check(&guard("127.0.0.1"), &[("host", host), auth]).is_err(), "{host}");
        }
        assert!(check(&guard("127.0.0.1"), &[auth]).is_err());
        assert!(check(&guard("127.0.0.1"), &[("host", "localhost"), ("host", "localhost"), auth]).is_err());
        assert_eq!(check(&guard("0.0.0.0"), &[("host", "10.0.0.1:4310"), auth]), Ok(()));
        assert!(check(&guard("0.0.0.0"), &[("host", "evil.example"), auth]).is_err());
    }

    #[test]
    fn origins_that_nobody_allowed_are_refused() {
        let base = [("host", "localhost:4310"), ("authorization", "Bearer secret")];
        for origin in ["https://app.example", "http://localhost:4310"] {
            assert_eq!(check(&guard("127.0.0.1"), &[base[0], base[1], ("origin", origin)]), Ok(()), "{origin}");
        }
        for origin in ["null", "http://app.example", "https://app.example.evil", "http://localhost:3000", ""] {
            assert!(check(&guard("127.0.0.1"), &[base[0], base[1], ("origin", origin)]).is_err(), "{origin}");
        }
    }

    #[test]
    fn the_token_has_to_be_the_one() {
        let host = ("host", "localhost");
        for given in ["Bearer secret", "bearer secret", "Bearer  secret "] {
            assert_eq!(check(&guard("127.0.0.1"), &[host, ("authorization", given)]), Ok(()), "{given}");
        }
        for given in ["", "Bearer", "Bearer ", "Bearer secret1", "Bearer secre", "Basic secret", "secret"] {
            assert!(check(&guard("127.0.0.1"), &[host, ("authorization", given)]).is_err(), "{given}");
        }
        assert!(check(&guard("127.0.0.1"), &[host]).is_err());
    }
}
