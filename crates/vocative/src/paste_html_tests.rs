//! Tables of pasted HTML. `%` stands for a key, `$` for another.

use std::time::{Duration, Instant};

use proptest::prelude::*;

use super::*;
use crate::limits;

fn with_keys(html: &str) -> String {
    html.replace('%', &"9c".repeat(32)).replace('$', &"1".repeat(64))
}

fn read(html: &str) -> Pasted {
    Pasted::read(&with_keys(html))
}

fn labels(html: &str) -> String {
    let records = read(html).records;
    let labels: Vec<_> = records.iter().map(|record| record.label.as_str()).collect();
    labels.join("|")
}

#[test]
fn records() {
    const ADA: &str = "<b data-mention-pubkey=% data-mention-label=Ada>@Ada</b>";
    for (before, after, expected) in [
        ("", "", "Ada"),
        ("<noembed>", "</noembed>", ""),
        ("<noframes>", "</noframes>", ""),
        ("<template><template></template>", "</template>", ""),
        ("<template></template>", "", "Ada"),
        ("</template>", "", "Ada"),
        ("<template>", "", ""),
        ("<object>", "</object>", "Ada"),
        ("<select><option>", "", "Ada"),
        ("<!--", "-->", ""),
        ("<!-->", "", "Ada"),
        ("<script>", "", ""),
        ("<title>", "</titlex>", ""),
        ("<TITLE></TITLE >", "", "Ada"),
        ("<a href='", "'>", ""),
        ("<plaintext>", "", ""),
        ("<template><style></template>", "</style></template>", ""),
    ] {
        assert_eq!(labels(&format!("{before}{ADA}{after}")), expected, "{before}");
    }
    for (html, expected) in [
        ("<b data-mention-label=' Ada\n' data-mention-pubkey='\t% '>", "Ada"),
        ("<b DATA-MENTION-LABEL=Ada&amp;Bo DATA-MENTION-PUBKEY=%>", "Ada&Bo"),
        ("<b data-mention-label=Ada data-mention-pubkey=% data-mention-label=Bo>", "Ada"),
        ("<b data-mention-label data-mention-label=Ada data-mention-pubkey=%>", ""),
        ("<b data-mention-label=Ada data-mention-pubkey=%", ""),
        ("</b data-mention-label=Ada data-mention-pubkey=%>", ""),
        (
            "<b data-mention-label=Ada data-mention-pubkey=%><i data-mention-label=ADA data-mention-pubkey=%>",
            "Ada",
        ),
        (
            "<b data-mention-label=Ada data-mention-pubkey=%><i data-mention-label=Ada data-mention-pubkey=$>",
            "Ada|Ada",
        ),
        ("<b data-mention-label=Ada data-mention-pubkey=nostr:%>", ""),
    ] {
        assert_eq!(labels(html), expected, "{html}");
    }
    let many: String =
        (0..80).map(|n| format!("<b data-mention-label=a{n} data-mention-pubkey=%>")).collect();
    assert_eq!(read(&many).records.len(), limits::CLIPBOARD_RECORDS, "clipboard-012");
}

#[test]
fn markers() {
    for (html, expected) in [
        ("<span data-vocative-copy=markdown>", Some(CopyKind::Markdown)),
        ("<i><span data-buzz-copy=rich>", Some(CopyKind::Rich)),
        ("<span data-vocative-copy=x><span data-vocative-copy=rich>", Some(CopyKind::Rich)),
        ("<template><span data-vocative-copy=rich></template>", None),
        ("<span>", None),
    ] {
        assert_eq!(read(html).kind, expected, "{html}");
    }
}

#[test]
fn normalised() {
    const CHIP: &str = "<b data-mention='' data-mention-pubkey=% data-mention-kind=agent data-mention-label='Ada King' class=c>";
    for (html, expected, text) in [
        (
            "visible <style>@Ada King </style><span data-mention data-mention-pubkey=% data-mention-label='Ada King'></span>",
            "visible <span></span>",
            "visible",
        ),
        (&*format!("x {CHIP}Ada <i>King</i></b> y"), "x @Ada King y", "x @Ada King y"),
        (&format!("{CHIP}@ADA\n  king</b>"), "@Ada King", "@Ada King"),
        (&format!("{CHIP}King</b>"), "<b class=\"c\">King</b>", "King"),
        (&format!("{CHIP}{CHIP}@Ada King</b></b>"), "<b class=\"c\">@Ada King</b>", "@Ada King"),
        (&format!("{CHIP}@Ada King"), "@Ada King", "@Ada King"),
        (&format!("<p>{CHIP}@Ada King</p>x</b>"), "<p>@Ada King</p>x", "@Ada King\nx"),
        (&format!("<p>{CHIP}@Ada King<p>x"), "<p>@Ada King<p>x", "@Ada King\nx"),
        (&format!("<p>a <u>{CHIP}@Ada King</u> b</b>"), "<p>a <u>@Ada King</u> b", "a @Ada King b"),
        ("<i data-channel-link data-channel-label=General>#general</i>", "#General", "#General"),
        (
            "<b data-mention-pubkey=% data-mention-label='Ada (%)'>@Ada (9c9c9c9c…9c9c)</b>",
            "@Ada (%)",
            "@Ada (%)",
        ),
        (
            "<b data-mention-pubkey=$ data-mention-label='Ada (%)'>@Ada (9c9c9c9c…9c9c)</b>",
            "<b>@Ada (9c9c9c9c…9c9c)</b>",
            "@Ada (9c9c9c9c…9c9c)",
        ),
        ("<img data-mention-pubkey=% data-mention-label=Ada onerror=x()>", "<img>", ""),
        ("<html><head> <meta x><title>t</title><style>s</style></head><body> a</body>", " a", "a"),
        ("<head>a</head>b", "ab", "ab"),
        ("a<head>b", "ab", "ab"),
        ("a<object><p>x<object></object>y</object>b", "ab", "ab"),
        ("a<object>b", "a", "a"),
        ("a<noscript><p></noscript><script>x</script><title>y</title>b", "ab", "ab"),
        ("a<textarea><b>x</textarea><xmp>&amp;</xmp>", "a&lt;b&gt;x&amp;amp;", "a<b>x\n&amp;"),
        ("a<template>b</template><iframe>c</iframe>d", "ad", "ad"),
        (
            "<p>a  b</p><p>c<br>d</p><pre>e  f\ng</pre>",
            "<p>a  b</p><p>c<br>d</p><pre>e  f\ng</pre>",
            "a b\nc\nd\ne  f\ng",
        ),
        ("<b>a</i></b>", "<b>a</b>", "a"),
        ("&lt;b&gt;&nbsp;\"", "&lt;b&gt;&nbsp;&quot;", "<b>\u{a0}\""),
        ("<a<b onclick=x>y", "y", "y"),
        ("<a href=\"x&quot;y\" ONCLICK=z>k</a>", "<a href=\"x&quot;y\">k</a>", "k"),
    ] {
        let pasted = read(html);
        assert_eq!((pasted.html, pasted.text), (with_keys(expected), with_keys(text)), "{html}");
    }
}

/// Hostile input of some size, each of a kind that a careless reader takes quadratic time for.
#[test]
fn hostile_html_takes_linear_time() {
    let chip = format!("<b data-mention-pubkey={} data-mention-label=Ada>", "9".repeat(64));
    // Records that are found already: every one is compared with all others.
    let again: String = (0..49)
        .map(|n| {
            format!("<b data-mention-pubkey={} data-mention-label={}{n}>", "9".repeat(64), "é".repeat(190))
        })
        .collect();
    let size = 2 << 20;
    for piece in [
        &*again,
        "<b>",
        "<p>",
        &chip,
        "<a b=",
        "<template>",
        "<object>",
        "<!--",
        "</b>",
        "<title>",
        "<a x ",
        "&",
        "<",
        "\u{301}",
    ] {
        let html = piece.repeat(size / piece.len());
        let both = format!("{html}@Ada{}", "</b>".repeat(size / 4));
        let started = Instant::now();
        let pasted = Pasted::read(&both);
        assert!(pasted.records.len() <= 50);
        assert!(started.elapsed() < Duration::from_secs(20), "{piece}");
    }
    let mixed = "<i>".repeat(100_000) + &"<b data-mention-label=Ada>@Ada</b></u>".repeat(50_000);
    assert!(Pasted::read(&mixed).html.contains("@Ada@Ada"));
}

proptest! {
    /// Nothing is claimed and nothing lost by reading what was normalised again.
    #[test]
    fn normalising_twice_changes_nothing(html in "(<b>|</b>|<p>|</p>|<b data-mention-label=Ada data-mention-pubkey=%>|@Ada|x|&lt;| |<br>|<title>|</title>|<template>|</template>|<object>|</object>|<head>){0,14}") {
        // Spaces before the first content are dropped, so there is some.
        let once = read(&format!("x{html}"));
        let twice = Pasted::read(&once.html);
        prop_assert!(twice.records.is_empty());
        prop_assert_eq!(&twice.html, &once.html);
        prop_assert_eq!(&twice.text, &once.text);
    }
}
