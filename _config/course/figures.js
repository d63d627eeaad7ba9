// Returns each numbered figure of a page with its pictures, mostly one, each as an SVG that stands
// alone, with colours that any program knows.
() => {
  const NAMESPACE = "http://www.w3.org/2000/svg";
  const pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();

  // A browser's own names of colours, such as oklab(...), become #rrggbb and an opacity.
  function plain(color) {
    if (!known.has(color)) {
      pen.clearRect(0, 0, 1, 1);
      pen.fillStyle = color;
      pen.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
      const hex = [r, g, b].map(x => x.toString(16).padStart(2, "0")).join("");
      known.set(color, [`#${hex}`, a / 255]);
    }
    return known.get(color);
  }

  function settle(from, to) {
    const style = getComputedStyle(from);
    for (const name of ["fill", "stroke"]) {
      if (style[name] === "none") { to.setAttribute(name, "none"); continue; }
      const [color, opacity] = plain(style[name]);
      to.setAttribute(name, color);
      if (opacity < 1) to.setAttribute(`${name}-opacity`, opacity.toFixed(3));
    }
    if (from.tagName === "text") {
      to.setAttribute("font-size", style.fontSize);
      to.setAttribute("font-weight", style.fontWeight);
    }
    for (const name of ["style", "class", "role", "aria-hidden"]) to.removeAttribute(name);
    [...from.children].forEach((child, i) => settle(child, to.children[i]));
  }

  function alone(picture) {
    const around = picture.getBoundingClientRect();
    const whole = document.createElementNS(NAMESPACE, "svg");
    whole.setAttribute("viewBox", `0 0 ${around.width} ${around.height}`);
    whole.setAttribute("width", around.width);
    whole.setAttribute("height", around.height);
    whole.setAttribute("font-family", "'Source Sans 3','Helvetica Neue',Arial,sans-serif");
    for (const part of picture.children) {
      const box = part.getBoundingClientRect();
      if (!box.height) continue;
      const copy = part.cloneNode(true);
      settle(part, copy);
      for (const side of ["x", "y"]) copy.setAttribute(side, box[side] - around[side]);
      for (const side of ["width", "height"]) copy.setAttribute(side, box[side]);
      copy.setAttribute("overflow", "visible");
      whole.append(copy);
    }
    return new XMLSerializer().serializeToString(whole);
  }

  // A formula says itself twice, once of it as TeX.
  function words(caption) {
    const copy = caption.cloneNode(true);
    for (const formula of copy.querySelectorAll(".katex")) {
      formula.replaceWith(`$${formula.querySelector("annotation").textContent}$`);
    }
    return copy.textContent.replace(/\s+/g, " ").trim();
  }

  return [...document.querySelectorAll("figure[id]:has(.picture)")].map(figure => ({
    name: figure.id.replace(/^fig-/, ""),
    number: figure.querySelector(".caption-number").textContent.trim(),
    caption: words(figure.querySelector(".caption-text")),
    pictures: [...figure.querySelectorAll(".picture")].map(alone),
  }));
}
