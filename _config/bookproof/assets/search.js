// Searches the book on its search page, over a network as well as from a folder.
// `sections.js` brings PAGES: [address, title, [[anchors, heading, terms, prose, words], ...]], in reading order;
// an entry of the glossary has in the end the addresses that teach its term.
"use strict";
(() => {
  const MOST = 40; // results
  const LONG = 240; // characters of an excerpt
  const SMALL = new Set("a an and are as at by for in is it of on or the to with".split(" "));

  // Signs by their names; the letters stand in the order of their codes.
  const SIGNS = Object.assign(Object.create(null), { sqrt: "√", sum: "∑" });
  "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho - sigma tau upsilon phi chi psi omega"
    .split(" ")
    .forEach((name, place) => (SIGNS[name] = String.fromCodePoint(0x3b1 + place)));

  // A word matches where another begins with it, less its ending; a letter only itself, a name also its sign.
  const pattern = (word) => {
    const exact = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    if (word.length < 3) return new RegExp(`(?<![\\p{L}\\p{N}_^])${exact}(?![\\p{L}\\p{N}])`, "giu");
    const stem = word.length > 3 && !word.endsWith("ss") ? exact.replace(/(ies|ing|ed|es|e|s|y)$/, "") : exact;
    const begun = `(?<![\\p{L}\\p{N}_])${stem.length > 2 ? stem : exact}`;
    return new RegExp(word in SIGNS ? `${begun}|(?<!\\p{L})${SIGNS[word]}` : begun, "giu");
  };
  const parts = (text) => text.toLowerCase().match(/[\p{L}\p{N}_^]+|[\p{S}]/gu) || [];
  const read = (query) => {
    const all = parts(query);
    const words = all.filter((word) => !SMALL.has(word));
    return { phrase: all.join(" "), patterns: (words.length ? words : all).map(pattern) };
  };
  const count = (text, regex) => (text.match(regex) || []).length;
  const has = (text, phrase) => ` ${text.toLowerCase()} `.includes(` ${phrase} `);

  // What defines comes first, then what is called so, then what speaks of it.
  function rate([, heading, terms, prose, words], title, { phrase, patterns }) {
    let score = 0, found = 0;
    for (const regex of patterns) {
      const spoken = count(prose, regex);
      const named = count(heading, regex) ? 6 : count(title, regex) ? 3 : 0;
      const written = count(words, regex) ? 1 : 0;
      if (!(spoken || named || written)) continue;
      found += 1;
      score += named + written + Math.log1p(spoken);
    }
    if (names(terms, phrase)) score += 16;
    if (has(heading, phrase)) score += 6;
    if (prose.toLowerCase().includes(phrase)) score += 3 * patterns.length;
    return { score, found };
  }

  const addresses = ({ address, title, section: [anchors, heading] }) =>
    heading === title || !anchors ? [address] : anchors.split(" ").map((anchor) => `${address}#${anchor}`);
  const names = (terms, phrase) => terms.some((term) => parts(term).join(" ") === phrase);

  // The section that teaches a term comes before the entry that explains it.
  function bringForward(results, { phrase, patterns }) {
    const places = new Map(results.flatMap((result) => addresses(result).map((one) => [one, result])));
    for (const { section: [, , terms, , , links = []], score } of results) {
      const section = places.get(links.find((link) => places.has(link)));
      if (section && names(terms, phrase))
        Object.assign(section, { score: 100 + score, found: patterns.length });
    }
  }

  function search(asked) {
    const results = [];
    for (const [address, title, sections] of PAGES)
      for (const section of sections) results.push({ address, title, section, ...rate(section, title, asked) });
    bringForward(results, asked);
    const most = Math.max(...results.map((result) => result.found));
    const best = most ? results.filter((result) => result.found === most) : [];
    return { best: best.sort((a, b) => b.score - a.score), complete: most === asked.patterns.length };
  }

  // The sentence that has most of the words, and what follows it.
  function excerpt(prose, { phrase, patterns }) {
    const sentences = prose.split(/(?<=[.?!:]) (?=\S)/);
    const worth = (text) =>
      patterns.filter((regex) => count(text, regex)).length + (text.toLowerCase().includes(phrase) ? 1 : 0);
    const values = sentences.map(worth);
    const text = sentences.slice(values.indexOf(Math.max(...values))).join(" ");
    const first = Math.max(0, Math.min(...patterns.map((regex) => text.search(regex))));
    return cut(text, first > LONG / 2 ? text.lastIndexOf(" ", first - LONG / 4) : 0);
  }
  const cut = (text, start) => {
    const end = start + LONG < text.length ? text.lastIndexOf(" ", start + LONG) : text.length;
    return (start ? "… " : "") + text.slice(start, end).trim() + (end < text.length ? " …" : "");
  };

  function marked(text, { patterns }) {
    const paragraph = document.createElement("p");
    paragraph.className = "context";
    const either = new RegExp(patterns.map((regex) => `(?:${regex.source})[\\p{L}\\p{N}]*`).join("|"), "giu");
    let end = 0;
    for (const { 0: found, index } of text.matchAll(either)) {
      paragraph.append(text.slice(end, index), Object.assign(document.createElement("mark"), { textContent: found }));
      end = index + found.length;
    }
    paragraph.append(text.slice(end));
    return paragraph;
  }

  function item(result, asked) {
    const { title, section: [, heading, , prose] } = result;
    const entry = document.createElement("li");
    const link = document.createElement("a");
    [link.href] = addresses(result);
    link.textContent = heading;
    entry.append(link);
    if (heading !== title) entry.append(" ", Object.assign(document.createElement("span"), { textContent: title }));
    entry.append(marked(excerpt(prose, asked), asked));
    return entry;
  }

  function show(query) {
    const asked = read(query);
    const { best, complete } = asked.patterns.length ? search(asked) : { best: [] };
    const number = best.length === 1 ? _("One section") : _("{n} sections").replace("{n}", best.length);
    const said = complete ? _("with “{query}”") : _("with most of “{query}”");
    const first = best.length > MOST ? `; ${_("the first {n}:").replace("{n}", MOST)}` : ":";
    const status = document.createElement("p");
    status.setAttribute("role", "status");
    const list = document.createElement("ul");
    list.append(...best.slice(0, MOST).map((result) => item(result, asked)));
    document.getElementById("search-results").replaceChildren(status, list);
    // Said once the place is there, or no screen reader says it.
    status.textContent = !best.length
      ? _("Nothing was found for “{query}”.").replace("{query}", () => query)
      : `${number} ${said.replace("{query}", () => query)}${first}`;
  }

  const query = new URLSearchParams(location.search).get("q");
  // From here, Tab leads to the first result.
  document.querySelector("main input[name=q]").focus();
  if (!query) return;
  for (const field of document.querySelectorAll("input[name=q]")) field.value = query;
  show(query);
})();
