//! The routes and their responses.
//!
//! | request | response |
//! | --- | --- |
//! | `GET /` | the page |
//! | `GET /puzzles` | every puzzle, its notation, searches, heuristics and models |
//! | `GET /scramble?puzzle=cube3&depth=20&seed=1` | a random instance |
//! | `POST /check` `{puzzle, goal, instance}` | whether the instance is possible, or why not |
//! | `POST /solve` `{puzzle, instance, …}` | the object of `solve --json` with a `playback`; events if accepted |
//! | `POST /stop` `{search}` | ends a search by the number in its first event |
//! | `GET /status` | searches that run and wait, and the limits |
//!
//! A refusal is an [`ApiError`].

use super::error::{ApiError, ApiResult};
use super::queue::{JobQueue, SubmittedSearch};
use super::request::{Fields, SolveRequest};
use super::worker::JobEvent;
use super::{catalogue, puzzle_queries};
use crate::registry::{find, with_entry};
use crate::view;
use axum::body::Body;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::sse::{self, KeepAlive, Sse};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Serialize;
use serde_json::json;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio_stream::wrappers::ReceiverStream;
use tokio_stream::{Stream, StreamExt as _};

type QueueState = State<Arc<JobQueue>>;
type RouteResult = ApiResult<Response>;

/// Time for a client to send a body.
const BODY_TIMEOUT: Duration = Duration::from_secs(20);

/// Bytes read of a body that is too large, so that the client hears why it is refused.
const MAX_DRAINED: u64 = 4 << 20;

/// The page may load nothing, and may send requests to this server only.
const CONTENT_POLICY: &str = "default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; \
                              script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; \
                              frame-ancestors 'none'";

/// All addresses.
pub(super) fn router(queue: &Arc<JobQueue>) -> Router {
    Router::new()
        .route("/", get(async || Html(view::solver_page())))
        .route("/puzzles", get(list))
        .route("/scramble", get(scramble))
        .route("/status", get(async |State(queue): QueueState| Json(queue.status())))
        .route("/check", post(check))
        .route("/solve", post(solve))
        .route("/stop", post(stop))
        .fallback(not_found)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(Arc::clone(queue), guard))
        .with_state(Arc::clone(queue))
}

async fn not_found(uri: Uri) -> ApiError {
    let why = format!("there is nothing at {}: /, /puzzles, /scramble, /check, /solve, /stop, /status", uri.path());
    ApiError::new(StatusCode::NOT_FOUND, why)
}

async fn wrong_method(method: Method, uri: Uri) -> ApiError {
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, format!("{} does not take {method}", uri.path()))
}

/// Refuses requests that a foreign page sends through a visitor's browser, and adds the security headers.
async fn guard(State(queue): QueueState, request: Request, next: Next) -> Response {
    let mut response = match check_origin(request.headers(), queue.config.host.is_loopback()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(CONTENT_POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// On loopback, the host must name this computer, since a foreign name may resolve to it. The origin must be this server's
/// page.
fn check_origin(headers: &HeaderMap, is_loopback: bool) -> ApiResult<()> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    if headers.get_all(header::HOST).iter().count() > 1 {
        return Err(ApiError::new(StatusCode::BAD_REQUEST, "Host: it is given twice"));
    }
    let host = text(header::HOST).unwrap_or_default();
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let is_own =
        name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(|address: IpAddr| address.is_loopback());
    if is_loopback && !is_own {
        let why = format!("Host: '{host}' is not this computer: expected localhost or 127.0.0.1");
        return Err(ApiError::new(StatusCode::FORBIDDEN, why));
    }
    match text(header::ORIGIN) {
        Some(origin) if origin.strip_prefix("http://") != Some(host) => {
            Err(ApiError::new(StatusCode::FORBIDDEN, format!("Origin: pages of '{origin}' may not ask this server")))
        }
        _ => Ok(()),
    }
}

/// The fields of a query, of which each may be given once.
type Pairs = Query<Vec<(String, String)>>;

fn fields(Query(pairs): Pairs, known: &[&str]) -> ApiResult<BTreeMap<String, String>> {
    let mut fields = BTreeMap::new();
    for (name, value) in pairs {
        if !known.contains(&name.as_str()) {
            return Err(ApiError::of(&name, format!("unknown field: expected {}", known.join(", "))));
        }
        if fields.insert(name.clone(), value).is_some() {
            return Err(ApiError::of(&name, "is given twice"));
        }
    }
    Ok(fields)
}

async fn list(State(queue): QueueState, pairs: Pairs) -> RouteResult {
    let puzzle = fields(pairs, &["puzzle"])?.remove("puzzle");
    in_background(move || {
        let offers = match puzzle {
            None => catalogue::list(&queue.config),
            Some(name) => vec![catalogue::find(&name, &queue.config)?],
        };
        Ok(Json(offers).into_response())
    })
    .await
}

async fn scramble(State(queue): QueueState, pairs: Pairs) -> RouteResult {
    let query = fields(pairs, &["puzzle", "depth", "seed"])?;
    let number = |name: &str| -> ApiResult<Option<u64>> {
        let refusal = |text| ApiError::of(name, format!("'{text}': expected a whole number"));
        query.get(name).map(|text| text.parse().map_err(|_| refusal(text))).transpose()
    };
    let (depth, seed) = (number("depth")?, number("seed")?.unwrap_or_else(|| rand::random::<u32>().into()));
    let puzzle = query.get("puzzle").cloned().unwrap_or_else(|| "cube3".into());
    in_background(move || {
        let name = catalogue::find_puzzle(&puzzle, &queue.config)?;
        let (instance, scramble) =
            with_entry!(find(&name, None)?, entry => puzzle_queries::scramble(&entry, depth, seed))?;
        let answer = json!({ "puzzle": puzzle, "instance": instance, "scramble": scramble, "seed": seed });
        Ok(Json(answer).into_response())
    })
    .await
}

async fn check(State(queue): QueueState, request: Request) -> RouteResult {
    let body = read_json(request, queue.config.max_body).await?;
    in_background(move || {
        let mut fields = Fields::of(&body)?;
        let puzzle = fields.puzzle(&queue.config)?;
        let (goal, instance) = (fields.text("goal")?, fields.required_text("instance")?);
        fields.end()?;
        let entry = find(&puzzle, goal.as_deref())?;
        let check = with_entry!(entry, entry => puzzle_queries::check_instance(&entry, &instance));
        Ok(Json(check).into_response())
    })
    .await
}

async fn stop(State(queue): QueueState, request: Request) -> RouteResult {
    let body = read_json(request, queue.config.max_body).await?;
    let mut fields = Fields::of(&body)?;
    let number = fields.required_text("search")?;
    fields.end()?;
    let found = u64::from_str_radix(&number, 16).is_ok_and(|number| queue.stop(number));
    let missing =
        || ApiError { status: StatusCode::NOT_FOUND, ..ApiError::of("search", "no such search runs or waits") };
    if found { Ok(Json(json!({ "stopped": number })).into_response()) } else { Err(missing()) }
}

async fn solve(State(queue): QueueState, request: Request) -> RouteResult {
    let wants_events = header_text(request.headers(), header::ACCEPT).contains("text/event-stream");
    let body = read_json(request, queue.config.max_body).await?;
    let config = queue.config.clone();
    let checked = in_background(move || puzzle_queries::check_request(SolveRequest::read(&body, &config)?)).await?;
    let search = queue.submit(checked)?;
    if wants_events { Ok(events(search).into_response()) } else { result(search).await }
}

/// The result of a search. If the client goes away, this future is dropped, and the search with it.
async fn result(mut search: SubmittedSearch) -> RouteResult {
    while let Some(event) = search.events.recv().await {
        match event {
            JobEvent::Done(response) => return Ok(Json(*response).into_response()),
            JobEvent::Failed(error) => return Err(error),
            JobEvent::Named(..) => (),
        }
    }
    Err(ApiError::failed(NO_RESULT))
}

const NO_RESULT: &str = "the search has ended without a result: this is a bug in costar";

/// The search as server-sent events: `queued`, `started`, `progress`, `incumbent`, and last `done` or `error`.
fn events(search: SubmittedSearch) -> Sse<impl Stream<Item = Result<sse::Event, Infallible>>> {
    let SubmittedSearch { ahead, events, guard } = search;
    let queued = named("queued", &json!({ "search": format!("{:016x}", guard.number), "ahead": ahead }));
    let mut has_ended = false;
    let events = ReceiverStream::new(events).map(Some).chain(tokio_stream::once(None));
    let rest = events.filter_map(move |event| {
        let _ends_the_search_when_dropped = &guard;
        let Some(event) = event else { return (!has_ended).then(|| named("error", &json!({ "error": NO_RESULT }))) };
        has_ended |= matches!(event, JobEvent::Done(_) | JobEvent::Failed(_));
        Some(sse_event(&event))
    });
    Sse::new(tokio_stream::once(queued).chain(rest).map(Ok)).keep_alive(KeepAlive::default())
}

fn sse_event(event: &JobEvent) -> sse::Event {
    match event {
        JobEvent::Named(name, data) => named(name, data),
        JobEvent::Done(response) => named("done", &**response),
        JobEvent::Failed(error) => named("error", error),
    }
}

fn named(name: &str, data: &impl Serialize) -> sse::Event {
    let event = sse::Event::default().event(name);
    event.json_data(data).unwrap_or_else(|_| sse::Event::default().event("error").data("{}"))
}

/// Runs work that may take a moment on a thread for blocking work.
async fn in_background<T: Send + 'static>(work: impl FnOnce() -> ApiResult<T> + Send + 'static) -> ApiResult<T> {
    let failed = |_| ApiError::failed("the request has failed: this is a bug in costar");
    tokio::task::spawn_blocking(work).await.map_err(failed)?
}

/// The text of a header; empty without one.
fn header_text(headers: &HeaderMap, name: HeaderName) -> &str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// The body of a request with the content type of JSON, which a foreign page cannot make a browser send unasked.
async fn read_json(request: Request, max_bytes: u64) -> ApiResult<Vec<u8>> {
    let kind = header_text(request.headers(), header::CONTENT_TYPE);
    if !kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json") {
        let why = format!("Content-Type: '{kind}': expected application/json");
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, why));
    }
    let declared = header_text(request.headers(), header::CONTENT_LENGTH).parse::<u64>();
    if declared.is_ok_and(|length| length > max_bytes) {
        return Err(too_large(max_bytes));
    }
    let slow = |_| ApiError::new(StatusCode::REQUEST_TIMEOUT, "the body did not come in time");
    tokio::time::timeout(BODY_TIMEOUT, read_body(request.into_body(), max_bytes)).await.map_err(slow)?
}

async fn read_body(body: Body, max_bytes: u64) -> ApiResult<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut length: u64 = 0;
    let mut chunks = body.into_data_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| ApiError::new(StatusCode::BAD_REQUEST, "the body has broken off"))?;
        length += chunk.len() as u64;
        if length <= max_bytes {
            bytes.extend_from_slice(&chunk);
        } else if length > max_bytes.saturating_add(MAX_DRAINED) {
            break;
        }
    }
    if length <= max_bytes { Ok(bytes) } else { Err(too_large(max_bytes)) }
}

fn too_large(max_bytes: u64) -> ApiError {
    let why = format!("the body has more than {max_bytes} bytes, which is the limit");
    ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, why)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin(host: &str, origin: Option<&str>, is_loopback: bool) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().expect("a host"));
        origin.map(|origin| headers.insert(header::ORIGIN, origin.parse().expect("an origin")));
        check_origin(&headers, is_loopback).is_ok()
    }

    #[test]
    fn foreign_names_and_foreign_pages_are_refused() {
        for host in ["localhost:8421", "127.0.0.1:8421", "[::1]:8421", "127.0.0.1", "LOCALHOST"] {
            assert!(origin(host, None, true), "{host}");
            assert!(origin(host, Some(&format!("http://{host}")), true), "{host}");
            assert!(!origin(host, Some("https://example.org"), true), "{host}");
        }
        for host in ["example.org", "127.0.0.1.example.org", "", "192.168.1.1:8421"] {
            assert!(!origin(host, None, true), "{host}");
        }
        assert!(origin("192.168.1.1:8421", None, false));
        assert!(!origin("192.168.1.1:8421", Some("null"), false));
    }
}
