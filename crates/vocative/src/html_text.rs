//! Text out of HTML and into it: what people see, which elements stand apart, escapes.

/// The text of an HTML as people see it: runs of spaces as one, blocks on lines of their own.
#[derive(Default)]
pub(crate) struct Plain {
    pub(crate) out: String,
    space: bool,
    line: bool,
    /// How many `pre` are open.
    pub(crate) preformatted: usize,
}

/// A state of [`Plain`] to go back to.
pub(crate) struct Mark {
    length: usize,
    space: bool,
    line: bool,
}

impl Plain {
    pub(crate) fn push(&mut self, text: &str) {
        for c in text.chars() {
            if self.preformatted == 0 && is_html_space(c) {
                self.space = true;
                continue;
            }
            let begins = self.out.is_empty() || self.out.ends_with('\n');
            if self.line && !begins {
                self.out.push('\n');
            } else if self.space && !begins {
                self.out.push(' ');
            }
            (self.line, self.space) = (false, false);
            self.out.push(c);
        }
    }

    pub(crate) fn end_line(&mut self) {
        if self.line && !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
        (self.line, self.space) = (false, false);
        self.out.push('\n');
    }

    pub(crate) fn end_block(&mut self) {
        (self.line, self.space) = (true, false);
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark { length: self.out.len(), space: self.space, line: self.line }
    }

    pub(crate) fn reset(&mut self, mark: &Mark) {
        self.out.truncate(mark.length);
        (self.space, self.line) = (mark.space, mark.line);
    }
}

/// A space of the HTML standard, which runs into one.
pub(crate) fn is_html_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\u{c}' | '\r')
}

pub(crate) fn collapsed(text: &str) -> String {
    let mut plain = Plain::default();
    plain.push(text);
    plain.out
}

/// An element without content.
pub(crate) fn is_void(name: &str) -> bool {
    matches!(
        name,
        "area" | "br" | "col" | "embed" | "hr" | "img" | "input" | "param" | "source" | "track" | "wbr"
    )
}

/// An element that stands on lines of its own and ends an open paragraph.
pub(crate) fn is_block(name: &str) -> bool {
    matches!(
        name,
        "address"
            | "article"
            | "aside"
            | "blockquote"
            | "center"
            | "dd"
            | "details"
            | "dialog"
            | "dir"
            | "div"
            | "dl"
            | "dt"
            | "fieldset"
            | "figcaption"
            | "figure"
            | "footer"
            | "form"
            | "h1"
            | "h2"
            | "h3"
            | "h4"
            | "h5"
            | "h6"
            | "header"
            | "hgroup"
            | "hr"
            | "li"
            | "main"
            | "menu"
            | "nav"
            | "ol"
            | "p"
            | "plaintext"
            | "pre"
            | "search"
            | "section"
            | "summary"
            | "table"
            | "tbody"
            | "td"
            | "tfoot"
            | "th"
            | "thead"
            | "tr"
            | "ul"
            | "xmp"
    )
}

/// Escapes text for HTML, line ends as they are.
pub(crate) fn push_text(text: &str, html: &mut String) {
    for c in text.chars() {
        match c {
            '&' => html.push_str("&amp;"),
            '<' => html.push_str("&lt;"),
            '>' => html.push_str("&gt;"),
            '"' => html.push_str("&quot;"),
            '\u{a0}' => html.push_str("&nbsp;"),
            _ => html.push(c),
        }
    }
}
