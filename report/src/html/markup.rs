//! HTML that cannot be forgotten to be escaped: text and attributes only come in through here, and what is taken as it is must be a
//! constant of ours.

/// Well-formed HTML.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Html(String);

impl Html {
    /// What is written in our own source.
    pub fn ours(html: &'static str) -> Html {
        Html(html.to_string())
    }

    pub fn text(text: &str) -> Html {
        Html(escaped(text))
    }

    /// Is this part of it?
    pub fn contains(&self, part: &'static str) -> bool {
        self.0.contains(part)
    }

    pub fn into_string(self) -> String {
        self.0
    }
}

impl FromIterator<Html> for Html {
    fn from_iter<I: IntoIterator<Item = Html>>(parts: I) -> Html {
        Html(parts.into_iter().map(Html::into_string).collect())
    }
}

impl From<Element> for Html {
    fn from(element: Element) -> Html {
        let Element { name, attributes, inside } = element;
        // These have no inside and no end (HTML, 13.1.2).
        match name {
            "input" | "meta" | "br" => Html(format!("<{name}{attributes}>")),
            _ => Html(format!("<{name}{attributes}>{inside}</{name}>")),
        }
    }
}

/// An element that is being put together.
pub struct Element {
    name: &'static str,
    attributes: String,
    inside: String,
}

pub fn element(name: &'static str) -> Element {
    Element { name, attributes: String::new(), inside: String::new() }
}

/// The common case of one with a class.
pub fn classed(name: &'static str, class: &'static str) -> Element {
    element(name).with("class", class)
}

impl Element {
    pub fn with(mut self, attribute: &'static str, value: impl ToString) -> Element {
        for part in [" ", attribute, "=\"", &escaped(&value.to_string()), "\""] {
            self.attributes += part;
        }
        self
    }

    /// An attribute that says all by being there.
    pub fn set(mut self, attribute: &'static str, holds: bool) -> Element {
        if holds {
            self.attributes += &format!(" {attribute}");
        }
        self
    }

    pub fn say(mut self, text: impl AsRef<str>) -> Element {
        self.inside += &escaped(text.as_ref());
        self
    }

    pub fn put(mut self, part: impl Into<Html>) -> Element {
        self.inside += &part.into().0;
        self
    }

    pub fn all<H: Into<Html>>(self, parts: impl IntoIterator<Item = H>) -> Element {
        parts.into_iter().fold(self, |element, part| element.put(part))
    }
}

/// Besides HTML's own characters go those that no text should have: controls, and what turns the direction of writing around, by which a
/// file can look other than it is.
fn escaped(text: &str) -> String {
    // Most text has none of that.
    if text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b" .,:;-+*/()#%".contains(&byte)) {
        return text.to_string();
    }
    let mut html = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => html += "&amp;",
            '<' => html += "&lt;",
            '>' => html += "&gt;",
            '"' => html += "&quot;",
            '\'' => html += "&#39;",
            '\t' | '\n' => html.push(c),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => html.push(char::REPLACEMENT_CHARACTER),
            c if c.is_control() => html.push(char::REPLACEMENT_CHARACTER),
            c => html.push(c),
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_attributes_stay_what_they_are() {
        let evil = "\"></p><script>alert('x')</script>&amp;\0\u{202e}";
        let html = Html::from(element("p").with("title", evil).say(evil)).into_string();
        let shown = "&quot;&gt;&lt;/p&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;amp;\u{fffd}\u{fffd}";
        assert_eq!(html, format!("<p title=\"{shown}\">{shown}</p>"));
        assert_eq!(Html::from(element("input").set("hidden", true).set("open", false)).into_string(), "<input hidden>");
    }
}
