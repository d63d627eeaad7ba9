// Whatever can be scrolled by mouse can be scrolled by keyboard:
// formulas, pictures and tables that are wider than their place become stops of the Tab key.
function markScrollable() {
  for (const box of document.querySelectorAll("div.math, div.cell_output, .pst-scrollable-table-container")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }
}
addEventListener("load", markScrollable);
addEventListener("resize", markScrollable);
