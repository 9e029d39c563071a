use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;

use super::{BadObjects, Objects};
use crate::settings::{Secret, Settings};

/// What the double keeps, by path.
type Bucket = Arc<Mutex<HashMap<String, Bytes>>>;

/// Stands in for S3: keeps what is put by requests that are signed for its key and region.
async fn s3(
    State(bucket): State<Bucket>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let is_signed = header("authorization").starts_with("AWS4-HMAC-SHA256 Credential=key/")
        && header("authorization").contains("/eu-central-1/s3/aws4_request");
    let digest = header("x-amz-content-sha256");
    let covers_body = digest == HEXLOWER.encode(&Sha256::digest(&body));
    if !is_signed || !covers_body {
        return StatusCode::FORBIDDEN.into_response();
    }
    let mut kept = bucket.lock().expect("nobody panicked");
    match method {
        Method::PUT => {
            kept.insert(uri.path().to_owned(), body);
            ([("etag", "\"1\"")], StatusCode::OK).into_response()
        }
        _ => match kept.get(uri.path()) {
            Some(found) => {
                let headers = [("etag", "\"1\""), ("last-modified", "Sun, 30 Nov 2025 16:00:00 GMT")];
                (headers, found.clone()).into_response()
            }
            None => (StatusCode::NOT_FOUND, "<Error><Code>NoSuchKey</Code></Error>").into_response(),
        },
    }
}

#[tokio::test]
async fn s3_keeps_objects_under_a_prefix_of_a_bucket() {
    let bucket = Bucket::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let endpoint = format!("http://{}", listener.local_addr().expect("an address"));
    let double = Router::new().fallback(s3).with_state(Arc::clone(&bucket));
    let serving = tokio::spawn(async move { axum::serve(listener, double).await });
    let mut settings = Settings::in_folder("unused".into());
    settings.objects = Some("s3://team/vocative".to_owned());
    let options = [
        ("aws_access_key_id", "key"),
        ("aws_secret_access_key", "hunter2"),
        ("aws_region", "eu-central-1"),
        ("aws_endpoint", &endpoint),
        ("aws_allow_http", "true"),
    ];
    settings.object_options =
        options.map(|(name, value)| (name.to_owned(), Secret::new(value.to_owned()))).into();
    let objects = Objects::open(&settings).expect("an object store");
    assert!(!format!("{objects:?}").contains("hunter2"), "{objects:?}");
    assert_eq!(objects.get("a.jsonl").await.expect("it answers"), None);
    objects.put("a.jsonl", Bytes::from_static(b"one")).await.expect("it keeps");
    objects.put("a.jsonl", Bytes::from_static(b"two")).await.expect("it keeps");
    assert_eq!(objects.get("a.jsonl").await.expect("it answers").as_deref(), Some(&b"two"[..]));
    let paths: Vec<_> = bucket.lock().expect("nobody panicked").keys().cloned().collect();
    assert_eq!(paths, ["/team/vocative/sessions/a.jsonl"]);
    serving.abort();
}

#[tokio::test]
async fn what_cannot_keep_objects_is_told_with_its_code() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("file"), "").expect("a file");
    let file = format!("file://{}", folder.path().join("file").display());
    let table = [
        (Some("nonsense"), None, Some("bad_objects")),
        (Some("ftp://host/path"), None, Some("bad_objects")),
        (Some(file.as_str()), None, Some("objects_folder")),
        (None, Some("nats://127.0.0.1"), Some("objects_not_shared")),
        (None, None, None),
    ];
    for (objects, bus, expected) in table {
        let mut settings = Settings::in_folder(folder.path().join("data"));
        settings.objects = objects.map(str::to_owned);
        settings.bus = bus.map(|bus| Secret::new(bus.to_owned()));
        let opened = Objects::open(&settings);
        assert_eq!(opened.err().as_ref().map(BadObjects::code), expected, "{objects:?} {bus:?}");
    }
}
