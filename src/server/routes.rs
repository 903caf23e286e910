//! What each address answers.
//!
//! | address | answer |
//! | --- | --- |
//! | `GET /` | the page |
//! | `GET /puzzles` | every puzzle, its notation, searches, heuristics and models |
//! | `GET /scramble?puzzle=cube3&depth=20&seed=1` | a random instance |
//! | `POST /check` `{puzzle, goal, instance}` | whether the instance is possible, or why not |
//! | `POST /solve` `{puzzle, instance, …}` | what `solve --json` prints, and its `playback`; as events, if so accepted |
//! | `POST /stop` `{search}` | ends a search by the number that its first event gave |
//! | `GET /status` | how many searches run and wait, and the limits |
//!
//! Whatever is refused is refused as [`ApiError`].

use super::error::ApiError;
use super::queue::{JobQueue, SubmittedSearch};
use super::request::{Fields, SolveRequest};
use super::worker::Event;
use super::{offers, puzzles};
use crate::view;
use axum::body::Body;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
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
use tokio_stream::{Stream, StreamExt as _};

type Shared = State<Arc<JobQueue>>;
type Answer = Result<Response, ApiError>;

/// How long a client may take to send a body.
const BODY_TIME: Duration = Duration::from_secs(20);

/// So much of a body that is too large is read, so that the client hears why it is refused.
const DRAINED: usize = 4 << 20;

/// The most moves of a scramble.
const LONGEST_SCRAMBLE: u64 = 1000;

/// Only what comes with the page, and requests to nobody but this server.
const POLICY: &str = "default-src 'none'; connect-src 'self'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// All addresses.
pub(super) fn router(queue: &Arc<JobQueue>) -> Router {
    Router::new()
        .route("/", get(async || Html(view::solver_page())))
        .route("/puzzles", get(list))
        .route("/scramble", get(scramble))
        .route("/status", get(async |State(queue): Shared| Json(queue.status())))
        .route("/check", post(check))
        .route("/solve", post(solve))
        .route("/stop", post(stop))
        .fallback(nothing_here)
        .method_not_allowed_fallback(wrong_method)
        .layer(from_fn_with_state(Arc::clone(queue), guard))
        .with_state(Arc::clone(queue))
}

async fn nothing_here(uri: Uri) -> ApiError {
    let why = format!("there is nothing at {}: /, /puzzles, /scramble, /check, /solve, /stop, /status", uri.path());
    ApiError::new(StatusCode::NOT_FOUND, why)
}

async fn wrong_method(method: Method, uri: Uri) -> ApiError {
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, format!("{} is not asked by {method}", uri.path()))
}

/// Refuses what a foreign page has made a browser ask, and says what the page may do.
async fn guard(State(queue): Shared, request: Request, next: Next) -> Response {
    let mut response = match check_origin(request.headers(), queue.config.is_loopback()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// On loopback the host must be a name of this computer (a foreign name may have been pointed here), and a page that
/// asks must be this server's.
fn check_origin(headers: &HeaderMap, is_loopback: bool) -> Result<(), ApiError> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
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

async fn list(State(queue): Shared) -> Answer {
    in_background(move || Ok(Json(offers::list(&queue.config)).into_response())).await
}

async fn scramble(State(queue): Shared, Query(query): Query<BTreeMap<String, String>>) -> Answer {
    if let Some(name) = query.keys().find(|name| !["puzzle", "depth", "seed"].contains(&name.as_str())) {
        return Err(ApiError::of(name, "unknown field: expected puzzle, depth, seed"));
    }
    let count = |name: &str| match query.get(name).map(|text| text.parse::<u64>()) {
        Some(Err(_)) => Err(ApiError::of(name, format!("'{}': expected a whole number", query[name]))),
        Some(Ok(number)) => Ok(Some(number)),
        None => Ok(None),
    };
    let (depth, seed) = (count("depth")?, count("seed")?.unwrap_or_else(|| rand::random::<u32>().into()));
    let too_long = || ApiError::of("depth", format!("expected at most {LONGEST_SCRAMBLE} moves"));
    let depth =
        depth.map(|depth| u32::try_from(depth).ok().filter(|&d| u64::from(d) <= LONGEST_SCRAMBLE).ok_or_else(too_long));
    let depth = depth.transpose()?;
    let puzzle = query.get("puzzle").cloned().unwrap_or_else(|| "cube3".into());
    in_background(move || {
        let found = offers::find_puzzle(&puzzle, &queue.config)?;
        Ok(Json(puzzles::scramble(&puzzle, &found, depth, seed)?).into_response())
    })
    .await
}

async fn check(State(queue): Shared, request: Request) -> Answer {
    let body = read_json(request, queue.config.max_body).await?;
    in_background(move || {
        let mut fields = Fields::read(&body)?;
        let puzzle = fields.puzzle(&queue.config)?;
        let (goal, instance) = (fields.text("goal")?, fields.required_text("instance")?);
        fields.end()?;
        Ok(Json(puzzles::check(&puzzle, goal.as_deref(), &instance)?).into_response())
    })
    .await
}

async fn stop(State(queue): Shared, request: Request) -> Answer {
    let body = read_json(request, queue.config.max_body).await?;
    let mut fields = Fields::read(&body)?;
    let number = fields.required_text("search")?;
    fields.end()?;
    let found = u64::from_str_radix(&number, 16).is_ok_and(|number| queue.stop(number));
    let missing =
        || ApiError { status: StatusCode::NOT_FOUND, ..ApiError::of("search", "no such search runs or waits") };
    if found { Ok(Json(json!({ "stopped": number })).into_response()) } else { Err(missing()) }
}

async fn solve(State(queue): Shared, request: Request) -> Answer {
    let accept = request.headers().get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let wants_events = accept.contains("text/event-stream");
    let body = read_json(request, queue.config.max_body).await?;
    let config = queue.config.clone();
    let (key, request) = in_background(move || {
        let request = SolveRequest::read(&body, &config)?;
        Ok((puzzles::check_request(&request)?, request))
    })
    .await?;
    let search = queue.submit(key, request)?;
    if wants_events { Ok(events(search).into_response()) } else { last(search).await }
}

/// The end of a search alone. Where the client goes away, this is dropped, and the search with it.
async fn last(mut search: SubmittedSearch) -> Answer {
    while let Some(event) = search.next().await {
        match event {
            Event::Done(done) => return Ok(Json(*done).into_response()),
            Event::Failed(why) => return Err(ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, why)),
            Event::Started | Event::Progress(_) | Event::Better(_) => (),
        }
    }
    Err(ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, NO_END))
}

const NO_END: &str = "the search has ended without an answer: this is a bug in costar";

/// All that happens, as server-sent events: `queued`, `started`, `progress`, `answer`, and last `done` or `error`.
fn events(mut search: SubmittedSearch) -> Sse<impl Stream<Item = Result<sse::Event, Infallible>>> {
    let first = named("queued", &json!({ "search": format!("{:016x}", search.number), "ahead": search.ahead }));
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    tokio::spawn(async move {
        let mut ended = false;
        while let Some(event) = tokio::select! {
            event = search.next() => event,
            () = sender.closed() => return,
        } {
            ended |= matches!(event, Event::Done(_) | Event::Failed(_));
            if sender.send(written(&event)).await.is_err() {
                return;
            }
        }
        if !ended {
            let _ = sender.send(named("error", &json!({ "error": NO_END }))).await;
        }
    });
    let rest = tokio_stream::wrappers::ReceiverStream::new(receiver);
    Sse::new(tokio_stream::once(first).chain(rest).map(Ok)).keep_alive(KeepAlive::default())
}

fn written(event: &Event) -> sse::Event {
    match event {
        Event::Started => named("started", &json!({})),
        Event::Progress(progress) => named("progress", progress),
        Event::Better(answer) => named("answer", answer),
        Event::Done(done) => named("done", &**done),
        Event::Failed(why) => named("error", &json!({ "error": why })),
    }
}

fn named(name: &str, data: &impl Serialize) -> sse::Event {
    let event = sse::Event::default().event(name);
    event.json_data(data).unwrap_or_else(|_| sse::Event::default().event("error").data("{}"))
}

/// Work that may take a moment, on a thread of its own.
async fn in_background<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let failed =
        |_| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "the request has failed: this is a bug in costar");
    tokio::task::spawn_blocking(work).await.map_err(failed)?
}

/// The body of a request that says that it is JSON: a foreign page cannot make a browser say so unasked.
async fn read_json(request: Request, most: usize) -> Result<Vec<u8>, ApiError> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !kind.to_ascii_lowercase().starts_with("application/json") {
        let why = format!("Content-Type: '{kind}': expected application/json");
        return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, why));
    }
    let slow = |_| ApiError::new(StatusCode::REQUEST_TIMEOUT, "the body did not come in time");
    tokio::time::timeout(BODY_TIME, read_body(request.into_body(), most)).await.map_err(slow)?
}

async fn read_body(body: Body, most: usize) -> Result<Vec<u8>, ApiError> {
    let mut bytes = Vec::new();
    let mut length = 0;
    let mut chunks = body.into_data_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk.map_err(|_| ApiError::new(StatusCode::BAD_REQUEST, "the body has broken off"))?;
        length += chunk.len();
        if length <= most {
            bytes.extend_from_slice(&chunk);
        } else if length > most.saturating_add(DRAINED) {
            break;
        }
    }
    let why = || format!("the body has more than {most} bytes, which is the most that is accepted");
    if length <= most { Ok(bytes) } else { Err(ApiError::new(StatusCode::PAYLOAD_TOO_LARGE, why())) }
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
