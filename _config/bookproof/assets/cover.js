// Where a reader was, and which sections of a chapter were seen: noted on the chapters, shown on the cover.
// It is kept in this browser only, and the cover says so. Where nothing may be kept, nothing happens.

(() => {
  const KEY = "book.reading"; // {last: {page, hash, section}, seen: {page: {ids: [...], of: n}}}
  const END = "summary"; // what follows it is not counted

  const root = new URL("..", document.currentScript.src);
  const page = decodeURI(location.pathname.slice(root.pathname.length)).replace(/\.html$/, "");

  // -- What is kept -------------------------------------------------------------

  function recall() {
    try {
      return { seen: {}, ...JSON.parse(localStorage.getItem(KEY) ?? "{}") };
    } catch {
      return { seen: {} };
    }
  }

  function keep(reading) {
    try {
      localStorage.setItem(KEY, JSON.stringify(reading));
    } catch {} // a private window, or no room: the page works all the same
  }

  function forget() {
    try {
      localStorage.removeItem(KEY);
    } catch {}
  }

  // -- On a chapter ---------------------------------------------------------------

  function sectionsOfChapter() {
    const sections = [...document.querySelectorAll("article > section > section[id], .body > section > section[id]")];
    const end = sections.findIndex((section) => section.id === END);
    return end < 0 ? sections : sections.slice(0, end + 1);
  }

  function note(section, of) {
    const reading = recall();
    const ids = new Set(reading.seen[page]?.ids).add(section.id);
    reading.seen[page] = { ids: [...ids], of };
    const title = section.querySelector("h2")?.firstChild?.textContent ?? "";
    reading.last = { page, hash: `#${section.id}`, section: title.trim() };
    keep(reading);
  }

  function watchChapter() {
    const sections = sectionsOfChapter();
    const watch = new IntersectionObserver((entries) => {
      for (const { target, isIntersecting } of entries) if (isIntersecting) note(target, sections.length);
    }, { rootMargin: "-30% 0px -60% 0px" }); // a band where one reads
    for (const section of sections) watch.observe(section);
  }

  // -- On the cover ---------------------------------------------------------------

  function cardOf(name) {
    return document.querySelector(`.chapters li[data-page="${CSS.escape(name)}"]`);
  }

  function showProgress({ seen }) {
    for (const [name, { ids, of }] of Object.entries(seen)) {
      const place = cardOf(name)?.querySelector(".seen");
      if (!place) continue;
      const some = _("{n} of {all} sections seen").replace("{n}", ids.length).replace("{all}", of);
      place.textContent = ids.length < of ? some : _("all sections seen");
      place.style.setProperty("--share", ids.length / of);
    }
  }

  function showContinue({ last }) {
    const link = document.querySelector(".begin > a");
    const card = last && cardOf(last.page);
    if (!link || !card) return;
    const title = card.querySelector(".title a");
    link.href = title.href + last.hash;
    const label = document.createElement("span");
    label.textContent = _("Continue where you were");
    link.replaceChildren(label, ` ${title.textContent}: ${last.section}`);
  }

  function offerToForget() {
    const line = document.createElement("p");
    line.className = "kept";
    line.setAttribute("role", "status");
    line.textContent = `${_("Where you were, and what you have seen, is kept in this browser only.")} `;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = _("Forget it");
    button.addEventListener("click", () => {
      forget();
      location.reload();
    });
    line.append(button);
    document.querySelector(".chapters").append(line);
  }

  function showReading() {
    const reading = recall();
    if (!reading.last) return;
    showContinue(reading);
    showProgress(reading);
    offerToForget();
  }

  if (document.querySelector(".chapters")) showReading();
  else if (document.querySelector(".admonition.opening")) watchChapter();
})();
