// Whatever can be scrolled by mouse can be scrolled by keyboard:
// code, formulas, pictures and tables that are wider than their place become stops of the Tab key.
function markScrollable(place = document) {
  const boxes = [...place.querySelectorAll("pre, div.math, div.cell_output, .pst-scrollable-table-container")];
  const wide = boxes.map((box) => box.scrollWidth > box.clientWidth); // all are asked before one is changed
  boxes.forEach((box, i) => (wide[i] ? (box.tabIndex = 0) : box.removeAttribute("tabindex")));
}
addEventListener("load", () => markScrollable());
addEventListener("resize", () => markScrollable());
document.addEventListener("toggle", (event) => markScrollable(event.target), true); // what was folded had no width

// The section that is being read is marked in the list of sections.
function followReading() {
  const entries = new Map([...document.querySelectorAll(".on-this-page a")].map((a) => [a.hash.slice(1), a]));
  const mark = (id) => entries.forEach((entry, other) => entry.classList.toggle("here", id === other));
  const reading = new IntersectionObserver(
    (seen) => seen.forEach(({ target, isIntersecting }) => isIntersecting && mark(target.id)),
    { rootMargin: "-12% 0px -80% 0px" },
  );
  for (const id of entries.keys()) {
    const section = document.getElementById(decodeURIComponent(id));
    if (section) reading.observe(section);
  }
}

// On a phone the contents are a dialog, which closes when one has chosen a section.
function closeContents() {
  const contents = document.getElementById("pst-primary-sidebar-modal");
  if (!contents) return;
  contents.ariaLabel = _("Contents");
  contents.addEventListener("click", (event) => event.target.closest("a[href^='#']") && contents.close());
}

// Which of the three buttons for colours is pressed; the theme's own script does what they say.
function showMode() {
  const { mode } = document.documentElement.dataset;
  for (const button of document.querySelectorAll(".theme-change-button")) {
    button.ariaPressed = String(button.dataset.mode === mode);
  }
}

addEventListener("DOMContentLoaded", () => {
  followReading();
  closeContents();
  showMode();
  new MutationObserver(showMode).observe(document.documentElement, { attributeFilter: ["data-mode"] });
});
