"""The playground in a browser: types, generates, chooses tokens, reads the page.

    playground.py BROWSER BINARY FOLDER

Screenshots go to FOLDER. `tests/playground.sh` runs it.
"""

import json
import pathlib
import re
import subprocess
import sys

from playwright.sync_api import sync_playwright

BROWSER, BINARY, FOLDER = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
VIEWS = [(1280, 800, "light"), (1280, 800, "dark"), (390, 844, "light"), (390, 844, "dark")]
PATIENCE = 120_000  # milliseconds
EXPECTED = {"name": "Ada Lovelace", "age": 36, "city": "London", "email": "ada@example.org"}

# The least contrast of a text with what is behind it, with the text. Colours that let others through
# are laid on them.
CONTRAST = """() => {
  const parse = (text) => {
    const numbers = text.match(/[\\d.]+/g).map(Number);
    return numbers.length < 4 ? [...numbers, 1] : numbers;
  };
  const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
  const background = (node) => {
    if (!node) return [255, 255, 255, 1];
    const own = parse(getComputedStyle(node).backgroundColor);
    return own[3] === 1 ? own : over(own, background(node.parentElement));
  };
  const light = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((c) => (c / 255 <= 0.03928 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  let worst = [99, ""];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const node = text.parentElement;
    if (!text.data.trim() || node.closest(":disabled, .visually-hidden, .skip") || !node.checkVisibility()) continue;
    const behind = background(node);
    const [a, b] = [light(over(parse(getComputedStyle(node).color), behind)), light(behind)];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < worst[0]) worst = [contrast, text.data.trim()];
  }
  return worst;
}"""

# Fields and buttons without a name that a screen reader could say.
NAMELESS = """() => [...document.querySelectorAll("input, select, textarea, button")]
  .filter((node) => !(node.labels?.length || node.getAttribute("aria-label") || node.textContent.trim()))
  .map((node) => node.outerHTML)"""


class Server:
    """The binary, serving `tiny` on a free port."""

    def __init__(self, *options):
        self.process = subprocess.Popen(
            [BINARY, "serve", "--port", "0", *options], stderr=subprocess.PIPE, text=True
        )
        self.page = None
        for line in self.process.stderr:
            if found := re.search(r"playground at (http://\S+)", line):
                self.page = found[1]
            if "listening on" in line:
                return
        raise SystemExit("the server ended before it listened")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def tokens(page):
    """The text of the tokens on the page."""
    return "".join(page.locator("#tokens .token").all_text_contents())


def generate(page):
    """Generates, and returns the verdict below the text."""
    page.click("#generate")
    page.wait_for_selector("#generate:not(:disabled)", timeout=PATIENCE)
    return page.locator("#verdict").text_content()


def wait_for(page, selector, text):
    page.locator(selector).filter(has_text=text).first.wait_for(timeout=PATIENCE)


def try_schema(page):
    """The first example: lint, text, document, one token and why another is masked."""
    wait_for(page, "#lint-state", "Valid.")
    assert generate(page) == "The text satisfies the constraint."
    assert json.loads(tokens(page)) == EXPECTED, tokens(page)
    tree = page.locator("#tree").inner_text()
    for name, value in EXPECTED.items():
        assert re.search(rf"{name}: {re.escape(str(value))}\s*(string|number)", tree), tree
    assert not page.locator("#tree .open").count()
    page.locator("#tokens .token", has_text="{").first.click()
    inspector = page.locator("#inspector-body")
    assert "Forced: only this text can come here." in inspector.inner_text(), inspector.inner_text()
    assert "token 1 of " in inspector.inner_text()
    # The arrow keys go on to the next token, and the focus with them.
    page.keyboard.press("ArrowRight")
    assert "token 2 of " in inspector.inner_text()
    assert page.evaluate("document.activeElement.dataset.index") == "1"
    # A token of which something was masked says why.
    page.locator("#tokens .token", has_text="{").first.click()
    page.locator("#inspector .bar.masked button").first.click()
    wait_for(page, "#inspector .why", "is masked:")
    why = page.locator("#inspector .why").inner_text()
    assert "expected" in why or "may come" in why, why
    assert page.locator("#inspector .bar.masked s").count() > 0
    live = page.locator("#live").text_content()
    assert "The text satisfies the constraint." in live and "Lovelace" in live, live


def try_other_kinds(page):
    """Without the mask, broken constraints, and the other kinds."""
    page.locator(".switch").click()
    verdict = generate(page)
    assert verdict.startswith("Written without the mask"), verdict
    page.locator(".switch").click()
    page.fill("#constraint", '{"type": "object",\n "properties": []}')
    wait_for(page, "#lint-state.bad", "properties")
    page.fill("#constraint", '{"type":\n}')
    wait_for(page, "#lint-state.bad", "line 2")
    assert page.locator("#constraint").get_attribute("aria-invalid") == "true"
    page.locator("#kinds label", has_text="Regex").click()
    wait_for(page, "#lint-state", "Valid.")
    assert generate(page) == "The text satisfies the constraint."
    assert tokens(page) == '{"date": "2026-03-14"}', tokens(page)
    page.locator("#samples summary").click()
    page.wait_for_selector("#sample-list li", timeout=PATIENCE)
    assert re.fullmatch(r'\{"date": "\d{4}-\d\d-\d\d"\}', page.locator("#sample-list li").first.text_content())
    page.fill("#constraint", "a(b")
    wait_for(page, "#lint-state.bad", "byte 1: this group is never closed")
    page.locator("#kinds label", has_text="Grammar").click()
    for example in page.locator("#example option").all_text_contents()[:-1]:
        page.select_option("#example", label=example)
        wait_for(page, "#lint-state", "Valid.")
        assert generate(page) == "The text satisfies the constraint.", example
    page.locator("#kinds label", has_text="Choices").click()
    wait_for(page, "#lint-state", "Valid.")
    assert generate(page) == "The text satisfies the constraint."
    assert tokens(page) == '{"city": "London"}', tokens(page)
    page.locator("#kinds label", has_text="Tools").click()
    assert generate(page) == "The text satisfies the constraint."
    assert "get_weather" in tokens(page) and "city: Oslo" in page.locator("#tree").inner_text()
    page.wait_for_function("document.querySelectorAll('#sample-list li').length === 4", timeout=PATIENCE)
    calls = page.locator("#sample-list li").all_text_contents()
    assert [call.split("(")[0] for call in calls] == ["get_weather"] * 2 + ["send_mail"] * 2, calls
    for call in calls:
        assert json.loads(call.partition("(")[2].removesuffix(")")).keys() in ({"city", "unit"}, {"to", "subject"}), call


def try_link(browser, page, address):
    """A link restores what it was made of, in another window."""
    page.fill("#prompt", "Grüße aus Oslo")
    page.click("#copy-link")
    link = page.url
    assert "#" in link
    other = browser.new_page()
    other.goto(link)
    assert other.input_value("#prompt") == "Grüße aus Oslo"
    assert other.locator("#kinds input:checked").get_attribute("value") == "tools"
    assert other.input_value("#constraint") == page.input_value("#constraint")
    other.close()
    assert address in link


def try_stop(page):
    """A text that is stopped ends, and the server goes on."""
    page.locator("#kinds label", has_text="Regex").click()
    page.fill("#constraint", "[ab]{2000}")
    page.fill("#max-tokens", "1900")
    wait_for(page, "#lint-state", "Valid.")
    page.click("#generate")
    page.wait_for_selector("#error:not([hidden]), #tokens .token", timeout=PATIENCE)
    if page.locator("#stop").is_enabled():
        page.click("#stop")
    page.wait_for_selector("#generate:not(:disabled)", timeout=PATIENCE)


def try_key(browser):
    """A server with a key asks for it, and forgets it with the window."""
    with Server("--api-key", "secret") as server:
        page = browser.new_page()
        page.goto(server.page)
        page.wait_for_selector("#key", timeout=PATIENCE)
        page.fill("#key", "secret")
        page.keyboard.press("Enter")
        wait_for(page, "#model", "tiny")
        assert generate(page) == "The text satisfies the constraint."
        assert page.evaluate("localStorage.length") == 0
        page.close()


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, Server() as server:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        for width, height, scheme in VIEWS:
            name = f"{width}x{height}-{scheme}"
            page = browser.new_page(viewport={"width": width, "height": height}, color_scheme=scheme)
            complaints = []
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("console", lambda message: complaints.append(message.text) if "Content Security" in message.text else None)
            page.on("request", lambda request: complaints.append(request.url) if not request.url.startswith(server.page) else None)
            page.goto(server.page)
            try_schema(page)
            page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
            page.screenshot(path=FOLDER / f"{name}.png", full_page=width < 900)
            contrast, text = page.evaluate(CONTRAST)
            assert contrast >= 4.5, f"{name}: {contrast:.2f} for “{text}”"
            assert page.evaluate(NAMELESS) == []
            overflow = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert overflow <= 0, f"{name}: {overflow} pixels too wide"
            if (width, scheme) == (1280, "light"):
                try_other_kinds(page)
                try_link(browser, page, server.page)
                try_stop(page)
            assert not complaints, complaints
            page.close()
            print(f"{name}: contrast {contrast:.2f} at least")
        try_key(browser)
        browser.close()
    print("the playground works")


main()
