"""The language model in the page is that of the package: tokens, maps, logits, samples, weights."""

import gzip
import json
import re
from base64 import b64decode
from hashlib import sha256
from urllib.parse import quote

import pytest
import torch

from _config.weights import WRITER
from selfattn_book.experiments.portable_sampling import continue_text, draw, uniform
from selfattn_book.generation import generate, next_token_distribution
from tests.book.pages import SITE
from tests.browser.live_writer import (
    PLAIN,
    model_and_tokenizer,
    random_settings,
    random_strings,
    random_tokens,
)
from tests.browser.site import wait_until
from tests.browser.test_live import opened, state, wake

PAGES = {
    "chapters/lab.html": "fig-the-lab",
    "chapters/language-model.html": "fig-model-that-writes",
}
every_page = pytest.mark.parametrize(("name", "figure"), PAGES.items())
ASKED = "performance.getEntriesByType('resource').map(e => e.name)"
WEIGHTS = "writer-weights.js"


def test_the_tokenizer_is_that_of_the_package(bundle):
    _, tokenizer = model_and_tokenizer()
    texts = random_strings(1000)
    run = "texts => texts.map(text => liveFigures.language.model().tokenizer.encode(text))"
    assert bundle.evaluate(run, texts) == [tokenizer.encode(text).tolist() for text in texts]
    parts = random_tokens(300, len(tokenizer), 12)  # which need not be valid UTF-8
    run = "all => all.map(tokens => liveFigures.language.model().tokenizer.decode(tokens))"
    assert bundle.evaluate(run, parts) == [tokenizer.decode(tokens) for tokens in parts]


def test_logits_and_all_maps_are_those_of_the_package(bundle):
    model, tokenizer = model_and_tokenizer()
    window = model.context_length
    texts = [tokenizer.encode(text).tolist()[:window] for text in random_strings(20)]
    texts += random_tokens(10, len(tokenizer), window)
    run = """tokens => {
        const { model, Reading } = liveFigures.language, reading = new Reading(model());
        const positions = tokens.map((_, t) => t), heads = [0, 1, 2, 3];
        if (tokens.length > 3) reading.follow(tokens.slice(0, 3)).next(2);  // it goes on from there
        reading.follow(tokens);
        const row = (block, head, t) =>
            [...reading.attention(block, head, t), ...tokens.slice(t + 1).fill(0)];
        const maps = [0, 1].map(block => heads.map(head => positions.map(t => row(block, head, t))));
        return JSON.stringify([positions.map(t => [...reading.next(t)]), maps]);
    }"""
    for tokens in texts:
        logits, maps = json.loads(bundle.evaluate(run, tokens))
        with torch.inference_mode():
            states, weights = model.hidden_states(torch.tensor([tokens]))
            expected = model.unembedding(states[0])
        for found, right in ((logits, expected), (maps, torch.cat(weights))):
            found = torch.tensor(found, dtype=torch.float64)
            torch.testing.assert_close(found, right, rtol=0, atol=1e-9)


def test_temperature_top_k_and_top_p_are_those_of_the_package(bundle):
    chance = torch.Generator().manual_seed(0)
    run = """cases => cases.map(([logits, { temperature, top_k, top_p }]) => Array.from(
        liveFigures.language.distribution(
            Float64Array.from(logits), temperature, top_k ?? 0, top_p ?? 0)))"""
    logits = 3 * torch.randn(60, 1024, generator=chance, dtype=torch.float64)
    logits[::4] = logits[::4].round()  # with equal ones
    logits[0] = -1000  # but for two, which have exactly one half each
    logits[0, 5:7] = 0
    cases = [(row.tolist(), random_settings(chance)) for row in logits]
    cases[0] = cases[0][0], {"temperature": 1.0, "top_k": None, "top_p": 0.5}
    found = torch.tensor(bundle.evaluate(run, cases), dtype=torch.float64)
    for row, (_, settings), probabilities in zip(logits, cases, found, strict=True):
        expected = next_token_distribution(row, **settings)
        torch.testing.assert_close(probabilities, expected, rtol=0, atol=1e-12)


def test_the_same_random_number_draws_the_same_token(bundle):
    chance = torch.Generator().manual_seed(1)
    rows = (3 * torch.randn(200, 50, generator=chance, dtype=torch.float64)).softmax(-1)
    rows = torch.where(rows < 0.02, 0, rows)  # as top-k leaves it: the sum may be less than 1
    us = torch.rand(200, 20, generator=chance, dtype=torch.float64).tolist()
    rows[0] = torch.tensor([0.5, 0.5] + 48 * [0.0])
    us = [[0.0, 0.5, 1 - 2**-53, *row] for row in us]
    run = """cases => cases.map(([p, us]) =>
        us.map(u => liveFigures.language.draw(Float64Array.from(p), u)))"""
    found = bundle.evaluate(run, [[row.tolist(), u] for row, u in zip(rows, us, strict=True)])
    assert found == [[draw(row, u) for u in u_] for row, u_ in zip(rows, us, strict=True)]
    steps = [(seed, step) for seed in (0, 1, 7, 9999) for step in range(100)]
    run = "steps => steps.map(([seed, step]) => liveFigures.language.uniform(seed, step))"
    assert bundle.evaluate(run, steps) == [uniform(*each) for each in steps]


@pytest.mark.parametrize(
    "settings", [{"k": 1}, {"seed": 5}, {"seed": 6, "temperature": 1.5, "p": 0.9}]
)
def test_a_hundred_tokens_are_those_of_the_package(settings, bundle):
    model, tokenizer = model_and_tokenizer()
    given = PLAIN | {"text": "And God said", "written": 100} | settings
    found = bundle.evaluate("state => liveFigures.language.tokensOf(state)", given)
    start = tokenizer.encode(given["text"])
    if given["k"] == 1:
        expected = generate(model, start[None], 100)[0].tolist()
    else:
        options = {"temperature": given["temperature"], "top_p": given["p"] or None}
        added = continue_text(model, tokenizer, given["text"], 100, seed=given["seed"], **options)
        expected = start.tolist() + added
    assert found == expected


@every_page
def test_the_button_says_how_much_it_loads(name, figure):
    text = (SITE / name).read_text("utf-8")
    size = re.search(rf'id="{figure}".*?<button type="button">[^<]*\((\d+) kB\)', text, re.DOTALL)
    made = (SITE / "_static" / WEIGHTS).read_bytes()
    assert int(size[1]) == round(len(gzip.compress(made, 9)) / 1000)
    packed = json.loads(made.decode().removeprefix("liveFigures.take(").removesuffix(");\n"))
    assert b64decode(packed["base64"]) == WRITER.read_bytes()
    assert packed["digest"] == sha256(WRITER.read_bytes()).hexdigest()
    if name.endswith("lab.html"):
        assert packed["digest"][:32] in text


@every_page
def test_the_weights_are_loaded_when_the_button_is_pressed(name, figure, open_page):
    page = opened(open_page, name)
    assert not any(WEIGHTS in address for address in page.evaluate(ASKED))
    live = wake(page, figure)
    assert page.locator(f"script[src$='{WEIGHTS}']").count() == 1
    assert sha256(WRITER.read_bytes()).hexdigest()[:16] in live.text_content()


def test_the_model_writes_and_writes_again(open_page):
    _, tokenizer = model_and_tokenizer()
    name, figure = next(iter(PAGES.items()))
    page = opened(open_page, name)
    live = wake(page, figure)
    live.get_by_label("The text begins").fill("And Ruth said")
    live.get_by_role("button", name="Write 20").click()
    done = "([id, n]) => document.querySelector(`#${id} .live-bar`).live.state.written === n"
    wait_until(page, done, [figure, 20])
    written = tokenizer.decode(continue_text(*model_and_tokenizer(), "And Ruth said", 20))
    assert live.locator(".live-text").text_content() == "And Ruth said" + written
    page.emulate_media(reduced_motion="reduce")
    slider = live.locator("input[type=range]").first
    slider.focus()
    page.keyboard.press("ArrowLeft")
    wait_until(page, done, [figure, 20])
    settings = {"temperature": state(page, figure)["temperature"]}
    colder = tokenizer.decode(
        continue_text(*model_and_tokenizer(), "And Ruth said", 20, **settings)
    )
    assert settings == {"temperature": 0.9}
    assert live.locator(".live-text").text_content() == "And Ruth said" + colder
    live.get_by_role("button", name="Write 20").click()
    live.get_by_role("button", name="Erase what it wrote").click()
    page.wait_for_timeout(200)
    assert state(page, figure)["written"] == 0


@pytest.mark.parametrize(
    ("linked", "kept"),
    [
        ({"text": "a~b,c=d&e%\nf", "seed": 3}, {"text": "a~b,c=d&e%\nf", "seed": 3}),
        ({"text": "x" * 300}, {"text": "x" * 160}),
        ({"text": "a\x00b\ufeffc"}, {"text": "abc"}),
        ({"temperature": -1, "k": 99, "p": 7}, {"temperature": 0.1, "k": 40, "p": 0.95}),
        ({"written": 1e9, "back": 70, "head": 9}, {"written": 100, "back": 63, "head": 3}),
        ({"text": "", "back": 5, "block": -1}, {"text": "", "back": 0, "block": 0}),
    ],
)
def test_a_link_is_clamped_with_a_note(linked, kept, open_page):
    name, figure = next(iter(PAGES.items()))
    whole = {name: quote(str(value), safe="") for name, value in (PLAIN | linked).items()}
    address = "&".join(f"{name}={value}".replace("~", "%7E") for name, value in whole.items())
    page = open_page(f"{(SITE / name).as_uri()}#{figure}~{address}")
    page.wait_for_selector(f"#{figure} .live-bar[data-awake=yes]")
    assert state(page, figure) == PLAIN | kept
    note = page.locator(f"#{figure} .live-note").text_content()
    assert ("brought within range" in note) == (linked != kept)
