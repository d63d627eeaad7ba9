// Wakes a live figure at a click, or when a link holds its state; until then nothing else is loaded.
(() => {
  const here = document.currentScript.src, loaded = {};
  const add = (tag, facts) => new Promise((onload, onerror) => document.head.append(Object.assign(document.createElement(tag), { ...facts, onload, onerror })));
  const load = (file) => (loaded[file] ??= add("script", { src: new URL(file, here) }));
  const style = () => (loaded.style ??= add("link", { rel: "stylesheet", href: new URL("live.css", here) }));

  async function wake(bar, state = "") {
    if (bar.dataset.awake) return;
    bar.dataset.awake = "soon";
    try {
      await Promise.all([load("live-figures.js"), style()]);
      await liveFigures.wake(bar, state, load);
      bar.dataset.awake = "yes";
      if (!state) bar.querySelector("button").focus({ preventScroll: true });
    } catch (error) {
      delete bar.dataset.awake;
      for (const file in loaded) delete loaded[file];
      bar.append(" It could not be loaded.");
      throw error;
    }
  }
  function follow() {
    const [id, state] = location.hash.slice(1).split("~"), bar = state && document.getElementById(id)?.querySelector(".live-bar");
    if (!bar) return;
    for (let fold = bar.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
    bar.closest("figure").scrollIntoView();
    if (bar.live) bar.live.take(state);
    else wake(bar, state);
  }
  addEventListener("click", ({ target }) => { if (target.matches?.(".live-bar:not([data-awake]) > button")) wake(target.parentElement); });
  addEventListener("hashchange", follow);
  follow();
})();
