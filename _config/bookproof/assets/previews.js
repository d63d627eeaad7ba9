// A link to an equation, a claim, a listing, a figure, a term or a citation shows what it leads to,
// while the mouse or the keyboard's focus rests on it. It remains a link: nothing here is needed.
// What stands on another page is kept in a small script of that page, which the build has written.

const bookPreviews = {};

(() => {
  const THINGS =
    "div.math, div.claim, div.literal-block-wrapper, figure, li.citation, dt[id^='term-']";
  const CLUTTER = ".headerlink, .check-mark, button, script";
  const GAP = 6; // between link and card, in pixels

  const root = new URL("..", document.currentScript.src);
  const loaded = new Map();
  const card = document.createElement("div");
  let origin = null;
  let timer;

  // -- What a link leads to ---------------------------------------------------

  function load(page) {
    if (!loaded.has(page)) {
      loaded.set(page, new Promise((done) => {
        const script = document.createElement("script");
        script.src = new URL(`_static/previews/${page}.js`, root);
        script.onload = script.onerror = () => done(bookPreviews[page] ?? {});
        document.head.append(script);
      }));
    }
    return loaded.get(page);
  }

  async function targetOf(url) {
    const id = decodeURIComponent(url.hash.slice(1));
    if (url.pathname === location.pathname) return document.getElementById(id);
    if (!url.pathname.startsWith(root.pathname)) return null; // a page of another site
    const page = decodeURI(url.pathname.slice(root.pathname.length)).replace(/\.html$/, "");
    const kept = document.createElement("template");
    kept.innerHTML = (await load(page))[id] ?? "";
    return kept.content.firstElementChild;
  }

  function withDefinition(term) {
    const list = document.createElement("dl");
    list.className = "glossary";
    let part = term;
    do list.append(part.cloneNode(true));
    while (part.localName === "dt" && (part = part.nextElementSibling));
    return list;
  }

  function copyOf(target, url) {
    const copy = target.localName === "dt" ? withDefinition(target) : target.cloneNode(true);
    for (const part of copy.querySelectorAll(CLUTTER)) part.remove();
    for (const part of [copy, ...copy.querySelectorAll("[id]")]) part.removeAttribute("id");
    for (const link of copy.querySelectorAll("a[href]")) {
      link.href = new URL(link.getAttribute("href"), url).href;
      link.tabIndex = -1; // the keyboard goes where the link leads
    }
    for (const image of copy.querySelectorAll("img[src]")) {
      image.src = new URL(image.getAttribute("src"), url).href;
    }
    return copy;
  }

  // -- The card -----------------------------------------------------------------

  function isWanted(link) {
    return link.matches(":hover, :focus-visible");
  }

  // The browser would show the title beside the card.
  function sayQuietly(link) {
    link.setAttribute("aria-description", link.title);
    link.removeAttribute("title");
  }

  async function show(link) {
    const url = new URL(link.href);
    const target = await targetOf(url);
    if (!target?.matches(THINGS) || !isWanted(link)) return;
    origin = link;
    if (link.title) sayQuietly(link);
    card.replaceChildren(copyOf(target, url));
    card.showPopover();
    place();
  }

  function hide() {
    clearTimeout(timer);
    if (origin) card.hidePopover();
    origin = null;
  }

  function place() {
    if (!origin) return;
    const link = origin.getBoundingClientRect();
    const { width, height } = card.getBoundingClientRect();
    const fitsBelow = link.bottom + GAP + height < innerHeight;
    const left = Math.min(link.left, document.documentElement.clientWidth - width - GAP);
    card.style.left = `${Math.max(GAP, left)}px`;
    card.style.top = `${fitsBelow ? link.bottom + GAP : Math.max(GAP, link.top - GAP - height)}px`;
  }

  // -- When -----------------------------------------------------------------------

  function soon(act, wait) {
    clearTimeout(timer);
    timer = setTimeout(act, wait);
  }

  function linkAt(element) {
    const link = element.closest?.("a[href*='#']");
    const inText = link?.closest("article, [role=main]") && !link.closest("nav");
    return inText && !link.matches(".headerlink, .check-mark") ? link : null;
  }

  function onPointer(event) {
    if (event.pointerType !== "mouse") return;
    const link = linkAt(event.target);
    if (card.contains(event.target) || (link && link === origin)) clearTimeout(timer);
    else if (link) soon(() => show(link), 300);
    else soon(() => origin && isWanted(origin) || hide(), 250);
  }

  function onFocus(event) {
    const link = linkAt(event.target);
    if (link?.matches(":focus-visible")) soon(() => show(link), 300);
  }

  function begin() {
    if (!card.showPopover) return;
    card.className = "preview";
    card.popover = "manual";
    (document.querySelector("article, [role=main]") ?? document.body).append(card);
    document.addEventListener("pointerover", onPointer);
    document.addEventListener("focusin", onFocus);
    document.addEventListener("focusout", () => card.matches(":hover") || hide());
    document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
    addEventListener("scroll", place, { passive: true, capture: true });
  }

  begin();
})();
