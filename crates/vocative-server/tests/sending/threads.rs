//! Replies, posts and comments, and what a request must say.

use serde_json::{Value, json};

use crate::stage::{compose, message, send, uncomposed};
use crate::support::{Community, Person};

/// The kind and the `e` tags of what is composed.
fn thread(composed: &Value) -> (u64, Vec<Vec<String>>) {
    let tags: Vec<Vec<String>> = serde_json::from_value(composed["event"]["tags"].clone()).expect("tags");
    let e = tags.into_iter().filter(|tag| tag[0] == "e").map(|tag| tag[1..].to_vec()).collect();
    (composed["event"]["kind"].as_u64().expect("a kind"), e)
}

fn e(id: &str, marker: &str) -> Vec<String> {
    vec![id.to_owned(), String::new(), marker.to_owned()]
}

#[tokio::test]
async fn replies_name_the_root_and_what_they_reply_to() {
    let stage = Community::new().await;
    let (node, ann) = (&stage.node, &stage.ann);
    let root = send(node, ann, &message("root")).await.1.id.to_hex();
    let reply = json!({ "channel": "open", "text": "reply", "reply_to": root });
    let (composed, reply) = send(node, ann, &reply).await;
    assert_eq!(thread(&composed), (9, vec![e(&root, "root")]));
    let reply = reply.id.to_hex();
    let composed = compose(node, ann, &json!({ "channel": "open", "text": "on", "reply_to": reply })).await;
    assert_eq!(thread(&composed), (9, vec![e(&root, "root"), e(&reply, "reply")]));

    let forum = json!({ "action": "post", "channel": "open", "text": "a post" });
    let (composed, post) = send(node, ann, &forum).await;
    assert_eq!(thread(&composed), (45_001, vec![]));
    let post = post.id.to_hex();
    let comment = json!({ "action": "comment", "channel": "open", "text": "first", "reply_to": post });
    let (composed, comment) = send(node, ann, &comment).await;
    assert_eq!(thread(&composed), (45_003, vec![e(&post, "root")]));
    let comment = comment.id.to_hex();
    let on = json!({ "action": "comment", "channel": "open", "text": "second", "reply_to": comment });
    let (composed, _) = send(node, ann, &on).await;
    assert_eq!(thread(&composed), (45_003, vec![e(&post, "root"), e(&comment, "reply")]));

    let secret = json!({ "channel": "secret", "text": "elsewhere", "reply_to": root });
    assert_eq!(uncomposed(node, ann, &secret).await.1, "no_message", "a reply stays in its channel");
    let mixed = json!({ "channel": "open", "text": "x", "reply_to": post });
    assert_eq!(uncomposed(node, ann, &mixed).await.1, "no_message", "a message is no comment");
}

#[tokio::test]
async fn a_request_that_contradicts_itself_is_refused() {
    let stage = Community::new().await;
    let id = "ab".repeat(32);
    for request in [
        json!({ "channel": "open" }),
        json!({ "text": "x" }),
        json!({ "channel": "open", "text": "x", "message": id }),
        json!({ "action": "post", "channel": "open", "text": "x", "reply_to": id }),
        json!({ "action": "comment", "channel": "open", "text": "x" }),
        json!({ "action": "edit", "text": "x" }),
        json!({ "action": "edit", "message": id, "text": "x", "channel": "open" }),
        json!({ "action": "forward", "channel": "open", "message": id, "text": "x" }),
        json!({ "action": "forward", "channel": "open", "message": id, "typed": true }),
        json!({ "channel": "open", "text": "x", "reply_to": "ab" }),
        json!({ "channel": "open", "text": "x", "to": [{ "key": "Ada" }] }),
        json!({ "channel": "open", "text": "x", "to": [{ "key": "00".repeat(32) }] }),
        json!({ "channel": "open", "text": "x", "author": "npub1" }),
        json!({ "channel": "open", "text": "x", "bindings": vec![json!({ "label": "a", "key": id }); 201] }),
        json!({ "channel": "open", "text": "x", "bindings": [
            { "label": "Ada", "key": stage.ann.hex() }, { "label": " ADA", "key": stage.bob.hex() },
        ] }),
    ] {
        let (status, code, _) = uncomposed(&stage.node, &stage.ann, &request).await;
        assert_eq!((status, &*code), (400, "bad_request"), "{request}");
    }
    for request in
        [json!({ "channel": "open", "text": "x", "tpyed": false }), json!([]), json!({ "text": 1 })]
    {
        let (status, code, _) = uncomposed(&stage.node, &stage.ann, &request).await;
        assert_eq!((status, &*code), (400, "bad_body"), "{request}");
    }
}

#[tokio::test]
async fn what_is_said_twice_is_two_messages() {
    let stage = Community::new().await;
    let mut ids = std::collections::BTreeSet::new();
    for _ in 0..5 {
        ids.insert(send(&stage.node, &stage.ann, &message("ok")).await.1.id);
    }
    assert_eq!((ids.len(), stage.stored().await), (5, 5));
}

#[tokio::test]
async fn whom_a_message_may_have_at_most() {
    let stage = Community::new().await;
    let to: Vec<Value> = (0..51).map(|_| json!({ "key": Person::new().hex() })).collect();
    let request = json!({ "channel": "open", "text": "x", "to": to, "without_inviting": true });
    let composed = compose(&stage.node, &stage.ann, &request).await;
    assert_eq!(composed["references"].as_array().expect("people").len(), 51);
    let to: Vec<Value> = (0..51).map(|_| json!({ "key": stage.ann.hex() })).collect();
    let request = json!({ "channel": "open", "text": "x", "to": to });
    let composed = compose(&stage.node, &stage.owner, &request).await;
    assert_eq!(composed["recipients"].as_array().expect("people").len(), 1, "each once");
}
