// What a pointer reads on lines, and a zoom that all plots over steps, or minutes, share: drag to zoom, double-click to go back.
(() => {
  const plots = [...document.querySelectorAll("figure.chart[data-name]")].map(figure => {
    const [left, right, bottom, top] = figure.dataset.ends.split(" ").map(Number);
    const svg = figure.querySelector("svg");
    const cells = figure.dataset.cells && JSON.parse(figure.dataset.cells);
    return { figure, svg, cells, names: cells && [...figure.querySelectorAll(".y")].map(one => one.textContent), left, right, bottom, top, area: figure.querySelector(".area"), from: 0, span: 2000, lines: null };
  });
  const zoom = (name, from, span) => plots.filter(plot => plot.figure.dataset.name === name).forEach(plot => {
    Object.assign(plot, { from, span });
    plot.svg.setAttribute("viewBox", `${from} 0 ${span} 1000`);
    plot.area.querySelectorAll(".x").forEach(tick => {
      tick.dataset.at ??= parseFloat(tick.style.left) * 20;
      const place = (tick.dataset.at - from) / span * 100;
      tick.style.left = `${place}%`;
      tick.hidden = place < 0 || place > 100;
    });
  });
  const linesOf = plot => plot.lines ??= [...plot.svg.querySelectorAll("[data-name]")].map(path => ({
    name: path.dataset.name, path, points: path.getAttribute("d").match(/-?\d+ -?\d+/g).map(pair => pair.split(" ").map(Number)),
  }));
  const shown = (value, options) => value.toLocaleString("en-US", options).replace("-", "−");
  for (const plot of plots) {
    const tip = plot.area.appendChild(Object.assign(document.createElement("output"), { className: "tip", hidden: true }));
    const box = plot.area.appendChild(Object.assign(document.createElement("i"), { className: "box", hidden: true }));
    let begin = null;
    const unitsAt = event => {
      const { x, y, width, height } = plot.area.getBoundingClientRect();
      return { x: plot.from + (event.clientX - x) / width * plot.span, y: (event.clientY - y) / height * 1000, width, height };
    };
    plot.area.addEventListener("pointermove", event => {
      const at = unitsAt(event);
      if (begin) {
        const ends = [begin.x, at.x].map(x => (x - plot.from) / plot.span * 100).sort((one, other) => one - other);
        box.style.left = `${ends[0]}%`;
        box.style.width = `${ends[1] - ends[0]}%`;
        box.hidden = false;
      }
      if (plot.cells) {
        const step = plot.left + at.x / 2000 * (plot.right - plot.left);
        const row = Math.floor(at.y / 1000 * plot.cells.rows.length);
        const column = plot.cells.ends.findIndex(end => step < end - 0.5);
        const value = plot.cells.rows[row]?.[column];
        tip.hidden = value == null;
        if (!tip.hidden) {
          const off = shown(value, { minimumFractionDigits: 1, signDisplay: "exceptZero" });
          tip.textContent = `${plot.names[row]}, ${plot.figure.dataset.name} ${Math.round(step)}: ${off} %`;
          const place = (at.x - plot.from) / plot.span * 100;
          tip.style.cssText = `top:${at.y / 10}%;` + (place > 50 ? `right:${100 - place}%` : `left:${place}%`);
        }
        return;
      }
      let best = null;
      for (const line of linesOf(plot)) for (const [x, y] of line.points) {
        const far = Math.hypot((x - at.x) / plot.span * at.width, (y - at.y) / 1000 * at.height);
        if (!best || far < best.far) best = { far, x, y, line };
      }
      linesOf(plot).forEach(line => line.path.classList.toggle("near", line === best?.line && best.far < 40));
      tip.hidden = !best || best.far >= 40;
      if (tip.hidden) return;
      const step = Math.round(plot.left + best.x / 2000 * (plot.right - plot.left));
      const value = plot.top - best.y / 1000 * (plot.top - plot.bottom);
      const digits = Math.max(2, Math.min(9, Math.ceil(Math.log10(Math.abs(value) / (plot.top - plot.bottom) * 1000))));
      tip.textContent = `${best.line.name}, ${plot.figure.dataset.name} ${step}: ${shown(value, { maximumSignificantDigits: digits })} ${plot.figure.dataset.unit}`;
      const place = (best.x - plot.from) / plot.span * 100;
      tip.style.cssText = `top:${best.y / 10}%;` + (place > 50 ? `right:${100 - place}%` : `left:${place}%`);
    });
    plot.area.addEventListener("pointerleave", () => { tip.hidden = true; });
    plot.area.addEventListener("pointerdown", event => {
      if (event.pointerType !== "mouse") return;
      begin = unitsAt(event);
      event.preventDefault();
    });
    addEventListener("pointerup", event => {
      if (!begin) return;
      const ends = [begin.x, unitsAt(event).x].sort((one, other) => one - other);
      begin = null;
      box.hidden = true;
      if ((ends[1] - ends[0]) / plot.span > 0.01) zoom(plot.figure.dataset.name, ends[0], ends[1] - ends[0]);
    });
    plot.area.addEventListener("dblclick", () => zoom(plot.figure.dataset.name, 0, 2000));
  }
})();
