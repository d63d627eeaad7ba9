// A prediction is kept on the reader's own machine, and nowhere else.
// Printed, the answers stand at the end of the page, by number.

const kept = {
  get: (key) => { try { return localStorage.getItem(`predict:${key}`); } catch { return null; } },
  set: (key, value) => { try { localStorage.setItem(`predict:${key}`, value); } catch { /* not kept, then */ } },
};

function keepPrediction(box) {
  const key = box.dataset.prediction;
  const fields = [...box.querySelectorAll(".commit input")];
  const before = kept.get(key);
  const button = Object.assign(document.createElement("button"), { className: "proof", textContent: _("Copy my prediction") });
  const offer = () => { button.hidden = !kept.get(`${key}/time`); };
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(await proof(box));
    button.textContent = _("Copied");
  });
  for (const field of fields) {
    if (field.type === "radio") field.checked = field.value === before;
    else field.value = before ?? "";
    field.addEventListener("change", () => {
      kept.set(key, field.value);
      kept.set(`${key}/time`, new Date().toISOString());
      offer();
    });
  }
  offer();
  if (globalThis.crypto?.subtle) box.querySelector(".commit").after(button);
}

// What a reader can hand in: page, prediction, choice, time, and a digest of all that.
async function proof(box) {
  const key = box.dataset.prediction;
  const choice = box.querySelector("fieldset") ? Number(kept.get(key)) + 1 : kept.get(key).replace(/\s+/g, " ");
  const text = [key.slice(0, key.lastIndexOf("/")), box.id, choice, kept.get(`${key}/time`)].join(", ");
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  return `${text}, ${[...digest.slice(0, 8)].map((byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

addEventListener("DOMContentLoaded", () => document.querySelectorAll("[data-prediction]").forEach(keepPrediction));

const moved = [];

function gatherAnswers() {
  const folds = [...document.querySelectorAll("details.answer")];
  if (!folds.length || moved.length) return;
  const end = document.createElement("section");
  end.className = "printed-answers";
  end.append(Object.assign(document.createElement("h2"), { textContent: _("Answers to the predictions") }));
  for (const fold of folds) {
    const place = document.createElement("p");
    place.className = "printed-place";
    place.textContent = `${_("Answer")} ${moved.length + 1}, ${_("at the end")}`;
    fold.replaceWith(place);
    const heading = Object.assign(document.createElement("h3"), { textContent: `${_("Answer")} ${moved.length + 1}` });
    end.append(heading, fold);
    moved.push([fold, place, fold.open]);
    fold.open = true;
  }
  document.querySelector(".bd-article").append(end);
}

function putBack() {
  for (const [fold, place, open] of moved.splice(0)) {
    fold.open = open;
    place.replaceWith(fold);
  }
  document.querySelector(".printed-answers")?.remove();
}

addEventListener("beforeprint", gatherAnswers);
addEventListener("afterprint", putBack);
