//! Proofs that a key is here (NIP-42), replayed and many.

use serde_json::json;

use super::support::{Community, now, of_channel};

#[tokio::test]
async fn a_replayed_proof_opens_nothing() {
    let Community { node, ann, .. } = Community::new().await;
    let mut client = node.connect().await;
    let (here, challenge) = (node.url(), client.challenge.clone());
    let old_challenge = node.connect().await.challenge;
    let table = [
        ("of another connection", &*here, &*old_challenge, now()),
        ("for another relay", "wss://relay.example.com", &challenge, now()),
        ("for another port", "ws://127.0.0.1:1", &challenge, now()),
        ("old", &here, &challenge, now() - 11 * 60),
        ("from the future", &here, &challenge, now() + 11 * 60),
        ("without a challenge", &here, "", now()),
    ];
    for (which, relay, challenge, at) in table {
        let tags: [&[&str]; 2] = [&["relay", relay], &["challenge", challenge]];
        let proof = ann.event_at(at, 22_242, &tags, "");
        client.send(&json!(["AUTH", proof])).await;
        let (is_taken, says) = client.answer(&proof.id.to_hex()).await;
        assert!(!is_taken && says.starts_with("invalid:"), "{which}: {says}");
    }
    let says = client.subscribe("s", &[of_channel("secret")]).await.expect_err("no key is here");
    assert!(says.starts_with("auth-required:"), "{says}");
}

#[tokio::test]
async fn a_forged_proof_opens_nothing() {
    let Community { node, ann, bob, .. } = Community::new().await;
    let mut client = node.connect().await;
    let mut forged = client.proof(&bob);
    forged.pubkey = ann.keys.public_key();
    client.send(&json!(["AUTH", forged])).await;
    assert!(!client.answer(&forged.id.to_hex()).await.0);
    assert!(client.subscribe("s", &[of_channel("secret")]).await.is_err());
}

#[tokio::test]
async fn a_flood_of_proofs_is_not_verified() {
    let Community { node, ann, .. } = Community::with(|s| s.limits.requests_per_second = 3).await;
    let mut client = node.connect().await;
    let proof = client.proof(&ann);
    for _ in 0..40 {
        client.send(&json!(["AUTH", proof])).await;
    }
    let mut refused = 0;
    for _ in 0..40 {
        let (is_taken, says) = client.answer(&proof.id.to_hex()).await;
        assert!(is_taken || says.starts_with("rate-limited:"), "{says}");
        refused += usize::from(!is_taken);
    }
    assert!(refused > 20, "{refused}");
    client.store(&ann.event(9, &[&["h", "open"]], "and it goes on")).await;
}

#[tokio::test]
async fn keys_of_one_connection_are_bounded() {
    let Community { node, .. } = Community::new().await;
    let mut client = node.connect().await;
    for _ in 0..16 {
        client.authenticate(&super::support::Person::new()).await;
    }
    let proof = client.proof(&super::support::Person::new());
    client.send(&json!(["AUTH", proof])).await;
    let (is_taken, says) = client.answer(&proof.id.to_hex()).await;
    assert!(!is_taken && says.starts_with("restricted: at most 16 keys"), "{says}");
}
