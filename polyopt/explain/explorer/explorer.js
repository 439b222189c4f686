// The explorer of a plan: code, moves, iteration spaces, order and cache lines. One plain module, as
// a widget with Python behind it (`render`) and as a page without (`mount`).

const SVG = "http://www.w3.org/2000/svg";
// Okabe and Ito's colours, told apart by colour-blind people
const PALETTE = ["#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#0072b2", "#d55e00"];
const INK = "#1d2329", BAD = "#b3261e", WIDE = 1000;
let serial = 0;

function make(tag, attributes = {}, ...children) {
  const isSvg = /^(svg|g|circle|line|polygon|polyline|path|rect|text|tspan|title|defs|marker|pattern)$/.test(tag);
  const node = isSvg ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value !== false && value != null) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child != null && child !== false));
  return node;
}

// -- geometry -----------------------------------------------------------------------------------

/** The convex hull of points [x, y], counter-clockwise (A. Andrew's monotone chain). */
export function hull(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  if (sorted.length < 3) return sorted;
  const cross = (o, a, b) => (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0]);
  const half = (list) => {
    const kept = [];
    for (const p of list) {
      while (kept.length > 1 && cross(kept.at(-2), kept.at(-1), p) <= 0) kept.pop();
      kept.push(p);
    }
    return kept.slice(0, -1);
  };
  return [...half(sorted), ...half(sorted.reverse())];
}

/** The outline around points, so far away from them. */
function outline(points, away) {
  const around = [];
  for (let k = 0; k < 8; k++) {
    const angle = Math.PI / 8 + (k * Math.PI) / 4;
    around.push([away * Math.cos(angle), away * Math.sin(angle)]);
  }
  return hull(points.flatMap(([x, y]) => around.map(([a, b]) => [x + a, y + b])));
}

const path = (points) => points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" ");

function arrow(from, to, colour, width, short, marker) {
  const [dx, dy] = [to[0] - from[0], to[1] - from[1]];
  const length = Math.hypot(dx, dy) || 1;
  const cut = Math.max(0, 1 - short / length);
  return make("line", {
    x1: from[0], y1: from[1], x2: from[0] + dx * cut, y2: from[1] + dy * cut,
    stroke: colour, "stroke-width": width, "marker-end": `url(#${marker})`,
  });
}

// -- one plan's picture -------------------------------------------------------------------------

/** The iteration spaces and the memory of one plan, at a step of its execution. */
class View {
  constructor(plan, ui, title, width) {
    this.plan = plan; this.picture = plan.picture; this.ui = ui; this.width = width;
    this.id = `po${++serial}`;
    this.root = make("div", { class: "view" });
    if (title) this.root.append(make("h5", {}, title));
    if (this.picture.refused) {
      this.root.append(make("p", { class: "note" },
        `No picture: ${this.picture.refused}. Smaller sizes to draw: plan.explore(drawn={...}).`));
      this.total = 0;
      return;
    }
    this.unrolled();
    this.slices = this.picture.spaces.map((space) => space.columns.map((column) => column[0]));
    this.spacesBox = make("div"); this.memoryBox = make("div");
    this.root.append(this.spacesBox, this.memoryBox);
    for (const note of this.picture.scaled.length ? [this.picture.scaled] : [])
      this.root.append(make("p", { class: "note" }, `Drawn with smaller tiles: ${note.join("; ")}.`));
    this.step = this.total;
    this.drawSpaces();
    this.drawMemory();
  }

  /** Which copy and which of its instances each step runs. */
  unrolled() {
    this.copyAt = []; this.indexAt = [];
    const next = this.picture.spaces.map(() => 0);
    for (const [copy, count] of this.picture.order)
      for (let k = 0; k < count; k++) { this.copyAt.push(copy); this.indexAt.push(next[copy]++); }
    this.total = this.copyAt.length;
  }

  axes(space) {
    const names = space.iterators, rank = names.length;
    const [down, across] = this.ui.axes ?? [];
    const found = [names.indexOf(down), names.indexOf(across)];
    if (rank > 2 && found[0] >= 0 && found[1] >= 0) return found;
    return [rank - 2, rank - 1]; // -1: there is no such dimension
  }

  /** Each panel's place and scale: panels side by side, in as many rows as the width needs. */
  layout() {
    const panels = this.picture.spaces.map((space, number) => {
      const [down, across] = this.axes(space);
      const span = (d) => {
        const column = d < 0 ? [0] : space.columns[d];
        const ends = [...column, ...this.witnessEnds(space.statement, d)];
        return ends.reduce(([a, b], v) => [Math.min(a, v), Math.max(b, v)], [Infinity, -Infinity]);
      };
      const [top, bottom] = span(down), [left, right] = span(across);
      return { space, number, down, across, top, left, rows: bottom - top + 1, columns: right - left + 1 };
    });
    const inner = this.width - 8;
    const most = Math.max(...panels.map((p) => p.columns));
    // up to three panels stand side by side where that leaves instances far enough apart
    const beside = Math.min(panels.length, 3);
    const fixed = beside * 126, columns = panels.slice(0, 3).reduce((sum, p) => sum + p.columns, 0);
    const together = (inner - fixed) / columns;
    const cell = Math.max(7, Math.min(panels.length > 4 ? 13 : 22, together >= 11 ? together : (inner - 120) / Math.max(most, 1)));
    let x = 0, y = 0, high = 0;
    for (const panel of panels) {
      panel.cell = cell;
      panel.cone = this.vectors(panel).length > 0;
      const title = `${panel.space.statement}(${panel.space.iterators.join(", ")})${this.sliceText(panel)}`;
      panel.title = title;
      panel.width = Math.max(panel.columns * cell + 42 + (panel.cone ? 72 : 0), title.length * 6.6 + 16);
      panel.height = Math.max(panel.rows * cell, panel.cone ? 72 : 0) + 52;
      if (x > 0 && x + panel.width > inner) { x = 0; y += high + 10; high = 0; }
      panel.x = x; panel.y = y;
      x += panel.width + 10; high = Math.max(high, panel.height);
    }
    return { panels, width: Math.max(...panels.map((p) => p.x + p.width)), height: y + high };
  }

  sliceText(panel) {
    const parts = panel.space.iterators
      .map((name, d) => (d === panel.down || d === panel.across ? "" : `${name} = ${this.slices[panel.number][d]}`))
      .filter(Boolean);
    return parts.length ? `  at ${parts.join(", ")}` : "";
  }

  witnessEnds(statement, dimension) {
    const found = [];
    for (const w of this.witnesses ?? [])
      for (const [name, values] of [w.source, w.sink])
        if (name === statement && dimension >= 0 && values.length > dimension) found.push(values[dimension]);
    return found;
  }

  place(panel, point) {
    const at = (d, low) => (d < 0 ? 0 : point[d] - low);
    return [panel.x + 32 + (at(panel.across, panel.left) + 0.5) * panel.cell,
      panel.y + 26 + (at(panel.down, panel.top) + 0.5) * panel.cell];
  }

  /** Distances of dependences with the panel's statement at one end, in its plane: [down, across, kind]. */
  vectors(panel) {
    const { space, down, across } = panel;
    const seen = new Map();
    for (const found of this.picture.dependences) {
      if (!found.vectors || found.vectors[0].length !== space.iterators.length) continue;
      if (found.sink !== space.statement) continue;
      for (const v of found.vectors) {
        const flat = [down < 0 ? 0 : v[down], across < 0 ? 0 : v[across]];
        const key = flat.join();
        if ((flat[0] || flat[1]) && (!seen.has(key) || found.kind === "flow")) seen.set(key, [...flat, found.kind]);
      }
    }
    return [...seen.values()];
  }

  inSlice(panel, point) {
    return point.every((v, d) => d === panel.down || d === panel.across || v === this.slices[panel.number][d]);
  }

  point(space, index) { return space.columns.map((column) => column[index]); }

  /** The values of the loops from the outside in down to one, for an instance; null outside of it. */
  group(space, index, loop) {
    const depth = space.loops.findIndex((l) => l.name === loop);
    if (depth < 0) return null;
    return space.loops.slice(0, depth + 1)
      .map((l) => (l.values ? l.values[index] : space.columns[l.same][index])).join(",");
  }

  drawSpaces() {
    const { panels, width, height } = this.layout();
    this.panels = panels;
    this.circles = this.picture.spaces.map(() => new Map());
    const marker = (name, colour) => make("marker", { id: `${this.id}-${name}`, viewBox: "0 0 8 8", refX: 6.5, refY: 4,
      markerWidth: 6, markerHeight: 6, orient: "auto" }, make("path", { d: "M0 0L8 4L0 8z", fill: colour }));
    const defs = make("defs", {}, marker("ink", INK), marker("bad", BAD), marker("anti", "#8a6d00"),
      make("pattern", { id: `${this.id}-hatch`, width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" },
        make("line", { x1: 0, y1: 0, x2: 0, y2: 5, stroke: INK, "stroke-width": 1.6 })));
    const svg = make("svg", { viewBox: `0 0 ${width + 4} ${height + 4}`, width: width + 4, height: height + 4, role: "img",
      "aria-label": `iteration spaces of ${panels.map((p) => p.space.statement).join(", ")}` }, defs);
    for (const panel of panels) svg.append(this.drawPanel(panel));
    this.over = make("g", { "pointer-events": "none" });
    this.trail = make("polyline", { fill: "none", stroke: "#d55e00", "stroke-width": 1.4, "stroke-opacity": 0.6, "pointer-events": "none" });
    svg.append(this.trail, this.over);
    this.spacesBox.replaceChildren(svg);
    this.drawWitness();
    this.paint(this.step);
  }

  drawPanel(panel) {
    const { space, cell } = panel;
    const g = make("g", { class: "space", "data-s": space.statement });
    g.append(make("rect", { class: "frame", x: panel.x, y: panel.y, width: panel.width, height: panel.height, rx: 4 }),
      make("text", { x: panel.x + 8, y: panel.y + 16, "font-size": 12, "font-weight": 600 }, panel.title));
    const shown = [];
    for (let index = 0; index < (space.columns[0]?.length ?? 1); index++) {
      const point = this.point(space, index);
      if (this.inSlice(panel, point)) shown.push([index, point, this.place(panel, point)]);
    }
    this.drawPolygon(g, shown, cell);
    this.drawGroups(g, panel, shown);
    for (const [index, point, [x, y]] of shown) {
      const circle = make("circle", { class: "pt", cx: x, cy: y, r: Math.max(2, Math.min(5, cell * 0.27)),
        onmouseenter: () => this.hover(panel, point), onmouseleave: () => this.hover(null) },
      make("title", {}, `${space.statement}[${point.join(", ")}]`));
      this.circles[panel.number].set(index, circle);
      g.append(circle);
    }
    this.drawAxes(g, panel);
    if (panel.cone) this.drawCone(g, panel);
    return g;
  }

  drawPolygon(g, shown, cell) {
    if (shown.length) g.append(make("polygon", { class: "polygon", points: path(outline(shown.map((s) => s[2]), cell * 0.5)) }));
  }

  /** Outlines of the iterations of a loop: tiles, where it goes over blocks. What several of them
      compute is hatched. */
  drawGroups(g, panel, shown) {
    const groups = new Map(), times = new Map();
    for (const [index, , xy] of shown) {
      const key = this.group(panel.space, index, this.ui.outline);
      if (key != null) groups.set(key, [...(groups.get(key) ?? []), xy]);
      times.set(xy.join(), [xy, (times.get(xy.join())?.[1] ?? 0) + 1]);
    }
    let number = 0;
    for (const points of groups.size > 1 ? groups.values() : [])
      g.append(make("polygon", { class: "tile", points: path(outline(points, panel.cell * 0.36)), fill: PALETTE[number % 7], "fill-opacity": 0.28,
        stroke: PALETTE[number++ % 7], "stroke-width": 1.8 }));
    const half = panel.cell / 2;
    for (const [[x, y], count] of times.values())
      if (count > 1) g.append(make("rect", { class: "again", x: x - half, y: y - half, width: panel.cell, height: panel.cell, fill: `url(#${this.id}-hatch)`, "fill-opacity": 0.55 },
        make("title", {}, `computed ${count} times`)));
  }

  drawAxes(g, panel) {
    const { space, down, across, cell } = panel;
    const bottom = panel.y + 26 + panel.rows * cell, text = (x, y, t, anchor) =>
      g.append(make("text", { x, y, "font-size": 10, "text-anchor": anchor }, t));
    if (across >= 0) {
      text(panel.x + 32 + cell / 2, bottom + 11, panel.left, "middle");
      text(panel.x + 32 + (panel.columns - 0.5) * cell, bottom + 11, panel.left + panel.columns - 1, "middle");
      text(panel.x + 32 + (panel.columns * cell) / 2, bottom + 22, `${space.iterators[across]} \u2192`, "middle");
    }
    if (down >= 0) {
      text(panel.x + 28, panel.y + 30 + cell / 2, panel.top, "end");
      text(panel.x + 28, panel.y + 30 + (panel.rows - 0.5) * cell, panel.top + panel.rows - 1, "end");
      text(panel.x + 14, panel.y + 30 + (panel.rows * cell) / 2, `${space.iterators[down]} \u2193`, "middle");
    }
  }

  /** The distances of dependences as arrows from one point, and the cone that they span. */
  drawCone(g, panel) {
    const vectors = this.vectors(panel);
    const far = Math.max(...vectors.map(([d, a]) => Math.max(Math.abs(d), Math.abs(a))));
    const unit = 24 / far, centre = [panel.x + panel.width - 38, panel.y + 26 + 36];
    const tips = vectors.map(([d, a, kind]) => [[centre[0] + a * unit, centre[1] + d * unit], kind]);
    const box = make("g", { class: "cone" }, make("title", {}, `dependences into ${panel.space.statement}: ${
      vectors.map(([d, a, kind]) => `${kind} (${d}, ${a})`).join(", ")}`));
    const angles = vectors.map(([d, a]) => Math.atan2(d, a)).sort((p, q) => p - q);
    const gap = angles.map((v, k) => (k + 1 < angles.length ? angles[k + 1] : angles[0] + 2 * Math.PI) - v);
    const widest = gap.indexOf(Math.max(...gap));
    const first = angles[(widest + 1) % angles.length], spread = 2 * Math.PI - gap[widest];
    if (spread > 0.01 && spread < Math.PI + 0.01) {
      const rim = [centre];
      for (let k = 0; k <= 16; k++) rim.push([centre[0] + 32 * Math.cos(first + (spread * k) / 16), centre[1] + 32 * Math.sin(first + (spread * k) / 16)]);
      box.append(make("polygon", { class: "wedge", points: path(rim), fill: "#0072b2", "fill-opacity": 0.16 }));
    }
    for (const [tip, kind] of tips)
      box.append(arrow(centre, tip, kind === "flow" ? INK : "#8a6d00", 1.2, 0, `${this.id}-${kind === "flow" ? "ink" : "anti"}`));
    box.append(make("circle", { cx: centre[0], cy: centre[1], r: 2.5, fill: INK }));
    g.append(box);
  }

  /** Who wrote what an instance reads, and who reads what it wrote. */
  hover(panel, point) {
    for (const circles of this.circles) for (const c of circles.values()) c.classList.remove("from", "to");
    this.drawWitness();
    if (!panel) return;
    const here = this.place(panel, point), name = panel.space.statement;
    const link = (statement, other, way) => {
      for (const p of this.panels) {
        if (p.space.statement !== statement || !this.inSlice(p, other)) continue;
        let found = false;
        for (const [index, circle] of this.circles[p.number])
          if (this.point(p.space, index).join() === other.join()) { circle.classList.add(way); found = true; }
        const there = this.place(p, other);
        if (found) this.over.append(way === "from" ? arrow(there, here, INK, 1.3, 6, `${this.id}-ink`) : arrow(here, there, INK, 1.3, 6, `${this.id}-ink`));
      }
    };
    for (const found of this.picture.dependences) {
      if (found.kind !== "flow") continue;
      const pairs = found.uniform ? null : found.pairs ?? [];
      if (found.sink === name) {
        const sources = pairs ? pairs.filter((p) => p[1].join() === point.join()).map((p) => p[0]) : found.vectors.map((v) => point.map((x, d) => x - v[d]));
        for (const other of sources) link(found.source, other, "from");
      }
      if (found.source === name) {
        const sinks = pairs ? pairs.filter((p) => p[0].join() === point.join()).map((p) => p[1]) : found.vectors.map((v) => point.map((x, d) => x + v[d]));
        for (const other of sinks) link(found.sink, other, "to");
      }
    }
  }

  /** Red arrows between the instances that a refusal names. */
  show(witnesses) {
    this.witnesses = witnesses;
    if (this.picture.refused) return;
    for (const w of witnesses ?? []) {
      for (const panel of this.panels)
        for (const [name, values] of [w.source, w.sink])
          if (panel.space.statement === name && values.length === this.slices[panel.number].length) this.slices[panel.number] = [...values];
    }
    this.drawSpaces();
  }

  drawWitness() {
    this.over.replaceChildren();
    for (const w of this.witnesses ?? []) {
      const ends = [w.source, w.sink].map(([name, values]) => {
        const panel = this.panels.find((p) => p.space.statement === name && values.length === p.space.iterators.length);
        return panel && this.place(panel, values);
      });
      for (const end of ends) if (end) this.over.append(make("circle", { class: "witness", cx: end[0], cy: end[1], r: 7, fill: "none", stroke: BAD, "stroke-width": 2.2 }));
      if (ends[0] && ends[1] && ends[0].join() !== ends[1].join())
        this.over.append(arrow(ends[0], ends[1], BAD, 2.6, 8, `${this.id}-bad`));
    }
  }

  // -- memory and time ----------------------------------------------------------------------------

  drawMemory() {
    const memory = this.picture.memory;
    if (!memory.buffers.length) { this.memoryBox.replaceChildren(); return; }
    this.cells = new Map();
    const across = Math.min(this.width, this.ui.wide && !this.ui.both ? this.width * 0.55 : 560) - 16;
    const g = make("g");
    let y = 0;
    for (const buffer of memory.buffers) {
      const name = buffer.name === buffer.array ? buffer.array : `buffer ${buffer.name}`;
      const shape = `${buffer.shape.map((n) => `[${n}]`).join("")}, ${buffer.lines} ${buffer.lines === 1 ? "line" : "lines"}`;
      const title = make("text", { x: 0, y: y + 11, "font-size": 11, "font-weight": 600 }, name);
      title.append(make("tspan", { "font-weight": 400, dx: 6 }, shape));
      g.append(title);
      y += 16;
      y = this.drawLines(g, buffer, y, across) + 9;
    }
    const svg = make("svg", { viewBox: `0 0 ${across} ${y}`, width: across, height: y, role: "img", "aria-label": "cache lines of arrays and buffers" }, g);
    this.numbers = memory.levels.map(() => make("td", { class: "number" }));
    this.accessed = make("td", { class: "number" });
    this.sums = memory.counts.map((text) => {
      let total = 0;
      return [0, ...[...text].map((digit) => (total += parseInt(digit, 36)))];
    });
    const head = make("tr", {}, make("th", {}, memory.scaled ? "simulated, caches scaled to the sizes drawn" : "simulated"), make("th", { class: "number" }, "so far"), make("th", { class: "number" }, "in all"));
    const row = (text, cell, sum) => make("tr", {}, make("td", {}, text), cell, make("td", { class: "number" }, sum.at(-1).toLocaleString("en")));
    const bytes = (n) => (n < 1024 ? `${n} B` : `${n / 1024} KiB`);
    const rows = memory.levels.map((level, k) => row(`misses of ${level.name} (${bytes(level.capacity)}, lines of ${level.line} B, ${level.ways}-way LRU)`, this.numbers[k], this.sums[k + 1]));
    const key = (name, text) => make("span", { style: "white-space:nowrap;margin-right:10px" }, make("span", { class: "key", style: `background:${name}` }), text);
    this.memoryBox.replaceChildren(
      make("table", { class: "misses" }, head, row("accesses", this.accessed, this.sums[0]), ...rows),
      make("div", { style: "margin:4px 0" }, key("#009e73", `hit in ${memory.levels[0].name}`),
        ...(memory.levels.length > 1 ? [key("#e69f00", `from ${memory.levels[1].name}`)] : []), key("#d55e00", "from memory"), key("#d3e3ef", "touched before")), svg);
    this.paint(this.step);
  }

  /** A buffer as rows of elements, planes beside each other, cut into its cache lines. */
  drawLines(g, buffer, top, across) {
    const perLine = this.picture.memory.levels[0].line / buffer.element;
    const columns = buffer.shape.at(-1) ?? 1, rows = buffer.shape.at(-2) ?? 1;
    const total = buffer.shape.reduce((a, b) => a * b, 1), planes = Math.ceil(total / (rows * columns));
    const unit = Math.max(1.2, Math.min(7, across / ((columns + 2) * Math.min(planes, 4)))), high = Math.max(4, Math.min(9, 240 / rows));
    const beside = Math.max(1, Math.floor(across / ((columns + 2) * unit)));
    for (let k = 0; k < buffer.lines; k++) {
      const line = make("g", { class: "cell" }, make("title", {}, `${buffer.name}, cache line ${k}`));
      for (let e = k * perLine; e < Math.min(total, (k + 1) * perLine);) {
        const plane = Math.floor(e / (rows * columns)), rest = e % (rows * columns), column = rest % columns;
        const count = Math.min(columns - column, (k + 1) * perLine - e, total - e);
        line.append(make("rect", { x: (plane % beside) * (columns + 2) * unit + column * unit + 0.5,
          y: top + Math.floor(plane / beside) * (rows * high + 5) + Math.floor(rest / columns) * high, width: count * unit - 0.8, height: high - 0.8 }));
        e += count;
      }
      this.cells.set(buffer.first + k, line);
      g.append(line);
    }
    return top + Math.ceil(planes / beside) * (rows * high + 5);
  }

  /** Show the state after so many steps; the last one run is marked. */
  paint(step) {
    if (this.picture.refused) return;
    this.step = Math.max(0, Math.min(this.total, step));
    const rest = this.step === this.total && !this.ui.playing && !this.ui.seeking;
    const current = this.step - 1;
    if (!rest && current >= 0) this.follow(current);
    const done = this.picture.spaces.map(() => 0);
    for (let k = 0; k < this.step; k++) done[this.copyAt[k]]++;
    this.circles.forEach((circles, copy) => {
      for (const [index, circle] of circles) {
        circle.classList.toggle("done", !rest && index < done[copy]);
        circle.classList.toggle("now", !rest && current >= 0 && this.copyAt[current] === copy && this.indexAt[current] === index);
      }
    });
    const trail = [];
    for (let k = current; !rest && k >= 0 && current - k < 14 && this.copyAt[k] === this.copyAt[current]; k--) {
      const circle = this.circles[this.copyAt[k]].get(this.indexAt[k]);
      if (!circle) break;
      trail.push([+circle.getAttribute("cx"), +circle.getAttribute("cy")]);
    }
    this.trail.setAttribute("points", path(trail));
    this.paintMemory(rest, current);
  }

  /** Panels of more than two dimensions show the plane in which the current instance is. */
  follow(step) {
    const panel = this.panels[this.copyAt[step]];
    const point = this.point(panel.space, this.indexAt[step]);
    if (this.inSlice(panel, point)) return;
    this.slices[panel.number] = point;
    const step_ = this.step;
    this.step = 0;
    this.drawSpaces();
    this.step = step_;
  }

  paintMemory(rest, current) {
    const memory = this.picture.memory;
    if (!memory.buffers.length || !this.cells) return;
    if (this.painted == null || this.step < this.painted || rest) {
      for (const line of this.cells.values()) line.setAttribute("class", "cell");
      this.painted = 0;
    }
    for (const line of this.lit ?? []) line.setAttribute("class", "cell was");
    this.lit = [];
    if (!rest) {
      for (let k = this.painted; k < this.step; k++) for (const line of memory.touched[k]) this.cells.get(line)?.setAttribute("class", "cell was");
      this.painted = this.step;
      (memory.touched[current] ?? []).forEach((line, k) => {
        const drawn = this.cells.get(line), missed = +memory.missed[current][k];
        drawn?.setAttribute("class", `cell m${missed === memory.levels.length ? 2 : missed}`);
        if (drawn) this.lit.push(drawn);
      });
    }
    const told = (sum) => sum[this.step].toLocaleString("en");
    this.accessed.textContent = told(this.sums[0]);
    this.numbers.forEach((cell, k) => { cell.textContent = told(this.sums[k + 1]); });
  }
}

// -- the whole panel ----------------------------------------------------------------------------

class Panel {
  constructor(el, data, ask) {
    this.el = el; this.ask = ask; this.program = data.program; this.state = data.state; this.plans = { ...data.plans };
    this.ui = { outline: undefined, axes: undefined, subject: "", playing: false, seeking: false, both: false, wide: true, fraction: 1, speed: 1 };
    this.said = ""; this.busy = false; this.refusal = null;
    el.classList.add("polyopt-explorer");
    this.parts = Object.fromEntries(["head", "history", "moves", "panes", "picture"].map((name) => [name, make("div", { class: `part-${name}` })]));
    el.replaceChildren(...Object.values(this.parts));
    new ResizeObserver(() => this.resized()).observe(el);
    this.resized();
    this.draw();
  }

  resized() {
    const width = Math.max(this.el.clientWidth || 1100, 420);
    this.el.classList.toggle("wide", width >= WIDE);
    this.ui.wide = width >= WIDE;
    if (this.drawnWidth && Math.abs(width - this.drawnWidth) > 24) this.drawPicture();
  }

  get plan() { return this.plans[this.state.at]; }

  /** Ask Python; a page without any goes back and forth by itself, and says what it cannot do. */
  request(action, more = {}) {
    if (this.ask) {
      this.busy = true; this.said = ""; this.sent = more.move; this.drawHead();
      this.ask({ action, ...more });
      return;
    }
    const last = this.state.entries.length - 1;
    const to = { undo: this.state.at - 1, redo: this.state.at + 1, go: more.step }[action];
    if (to != null) {
      this.state = { ...this.state, at: Math.max(0, Math.min(last, to)) };
      this.refusal = null; this.said = "";
    } else if (action === "move" && this.state.entries[this.state.at + 1]?.label === more.move) {
      this.request("go", { step: this.state.at + 1 });
      return;
    } else {
      const call = action === "move" ? `plan.${more.move}` : action === "measure" ? "plan.explore().measure()" : "plan.explore()";
      this.said = `This page has no Python behind it. In a notebook: ${call}`;
    }
    this.draw();
  }

  update(state, plans, told) {
    this.plans = { ...this.plans, ...plans };
    if (state) { this.state = state; this.refusal = state.refusal; }
    if (told) {
      this.busy = false;
      this.said = told.said && !this.refusal ? told.said : "";
      if (!this.refusal && this.input?.value.trim() === this.sent) this.input.value = "";
    }
    this.draw();
    if (told && this.plan) this.chooseAgain();
  }

  draw() {
    if (!this.plan) { if (this.ask) this.request("go", { step: this.state.at }); return; }
    this.drawHead(); this.drawHistory(); this.drawMoves(); this.drawPanes(); this.drawPicture();
  }

  drawHead() {
    const { at, entries } = this.state, plan = this.plan;
    const badge = this.busy ? make("span", { class: "badge busy" }, "proving \u2026")
      : make("span", { class: "badge", title: plan.proof.map(([n, d]) => `${n}: ${d}`).join("\n") }, "\u2713 legal, proved");
    const button = (label, title, act, off) => make("button", { title, disabled: !!off, onclick: act }, label);
    const facts = plan.cost.map(([name, value]) => make("span", { class: "fact" }, `${name} `, make("b", {}, value)));
    const real = Object.entries(this.program.sizes.real).map(([k, v]) => `${k} = ${v}`).join(", ");
    const proof = make("details", { class: "proof" }, make("summary", {}, "what is proved"),
      make("table", {}, ...plan.proof.map(([name, detail]) => make("tr", {}, make("td", {}, name), make("td", {}, detail)))));
    proof.open = this.proofOpen ?? false;
    proof.addEventListener("toggle", () => { this.proofOpen = proof.open; });
    this.parts.head.replaceChildren(make("div", { class: "head" }, make("b", {}, this.program.name), badge, ...facts,
      real ? make("span", { class: "fact" }, `for ${real}`) : null,
      make("span", { class: "tools" },
        button("Undo", "back to the plan before the last move", () => this.request("undo"), at === 0),
        button("Redo", "the move that was undone", () => this.request("redo"), at >= entries.length - 1),
        button("Measure", "compile the plan and time it", () => this.request("measure"), this.busy),
        button("Copy as script", "the plan as Python, to the clipboard", () => this.copy()))), proof);
  }

  async copy() {
    const script = this.state.entries[this.state.at].script;
    let how = "Copied";
    try { await navigator.clipboard.writeText(script); } catch { how = "To copy"; }
    this.said = `${how}:\n${script}`;
    this.drawMoves();
  }

  drawHistory() {
    const { at, entries } = this.state;
    const longest = Math.max(0, ...entries.flatMap((e) => e.times));
    this.parts.history.replaceChildren(make("ol", { class: "history", "aria-label": "history of plans" }, ...entries.map((entry, step) => {
      const best = entry.times.length ? Math.min(...entry.times) : null;
      const time = longest ? make("span", { class: "time" }, best == null ? "" : `${best.toPrecision(3)} ms`,
        best == null ? null : make("i", { style: `width:${(100 * best) / longest}%` })) : null;
      return make("li", {}, make("button", { class: step === at ? "now" : step > at ? "undone" : "", title: entry.times.length ? `measured: ${entry.times.map((t) => t.toPrecision(4)).join(", ")} ms` : entry.label,
        "aria-current": step === at ? "step" : null, onclick: () => this.request("go", { step }) }, make("code", {}, entry.label), time));
    })));
  }

  // -- moves ----------------------------------------------------------------------------------------

  choose(subject) {
    this.ui.subject = subject;
    if (this.plan.picture.spaces?.some((s) => s.loops.some((l) => l.name === subject))) { this.ui.outline = subject; this.drawPicture(); }
    if (this.ask && !this.choices()) this.request("choices", { subject });
    this.drawMoves(); this.drawPanes();
  }

  /** After a move: what would do at the same loop or producer now, where it is still there. */
  chooseAgain() {
    const there = [...this.plan.nest.map((line) => line.loop), ...this.program.producers];
    if (!there.includes(this.ui.subject)) this.ui.subject = "";
    else if (this.ask && !this.choices()) {
      const key = `${this.state.at}/${this.ui.subject}`;
      if (this.askedFor !== key) this.request("choices", { subject: this.ui.subject }); // once: it may be refused
      this.askedFor = key;
    }
    this.drawMoves();
  }

  choices() { return this.state.choices[`${this.state.at}/${this.ui.subject}`]; }

  /** The line to type moves into: made once, so that it keeps what is typed, and the focus. */
  typeLine() {
    this.input = make("input", { type: "text", spellcheck: "false", "aria-label": "a move", placeholder: "a move: tile('out', y=32, x=256), or click a loop or a producer below" });
    const attempt = () => { if (this.input.value.trim()) this.request("move", { move: this.input.value.trim() }); };
    this.input.addEventListener("keydown", (event) => { event.stopPropagation(); if (event.key === "Enter") attempt(); });
    this.underInput = make("div");
    this.parts.moves.replaceChildren(make("div", { class: "moves" },
      make("div", { class: "type" }, make("code", {}, "plan."), this.input, make("button", { onclick: attempt }, "Make the move")), this.underInput));
  }

  drawMoves() {
    if (!this.input) this.typeLine();
    const box = make("div");
    const producers = this.program.producers;
    if (producers.length) box.append(make("div", { class: "chips" }, make("span", {}, "Producers:"),
      ...producers.map((name) => make("button", { class: name === this.ui.subject ? "here" : "", "data-s": name, onclick: () => this.choose(name) }, `${name}: ${this.plan.places[name] ?? "gone"}`))));
    if (this.ui.subject) this.drawChoices(box);
    if (this.refusal) box.append(this.refused(this.refusal));
    if (this.said) box.append(make("pre", { class: "said" }, this.said));
    this.underInput.replaceChildren(box);
  }

  drawChoices(box) {
    const found = this.choices();
    if (!found) {
      box.append(make("div", { class: "chips" }, `${this.ui.subject}: ${this.ask ? "trying the moves \u2026" : "what moves would do here was not recorded in this page"}`));
      return;
    }
    const chip = (choice, label, act) => make("button", {
      class: choice.refused ? "no" : choice.here ? "here" : "yes", title: choice.refused ? choice.refused.message : choice.means ?? "legal", disabled: !!choice.here,
      onclick: choice.refused ? () => this.tell(choice) : act,
    }, label, choice.refused ? make("small", {}, ` ${choice.refused.code}`) : null);
    if (found.places?.length) box.append(make("div", { class: "chips places" }, make("span", {}, `Place ${this.ui.subject} (plan made anew):`),
      ...found.places.map((c) => chip(c, c.place, () => this.request("place", { subject: this.ui.subject, place: c.place })))));
    if (found.moves.length) box.append(make("div", { class: "chips trials" }, make("span", {}, `Moves at ${this.ui.subject}:`),
      ...found.moves.map((c) => chip(c, c.move, () => this.request("move", { move: c.move })))));
  }

  /** A refusal that is known already: no Python is asked. */
  tell(choice) {
    this.refusal = { ...choice.refused, move: choice.move ?? `${this.ui.subject}: ${choice.place}` };
    this.said = "";
    this.drawMoves(); this.drawPicture();
  }

  refused(refusal) {
    return make("div", { class: "refusal", role: "alert" },
      make("p", {}, make("span", { class: "badge bad" }, `\u2717 ${refusal.code}`), " ", make("code", {}, refusal.move)),
      make("p", {}, refusal.message), ...refusal.witnesses.map((w) => make("p", {}, `Witness, drawn in red: ${w.text}`)),
      refusal.hint ? make("p", {}, `Hint: ${refusal.hint}`) : null);
  }

  // -- code -----------------------------------------------------------------------------------------

  drawPanes() {
    const begins = Math.max(0, this.plan.c.findIndex((line) => line.statements.length) - 4);
    const tops = this.tops ?? [0, 0, begins * 18];
    const pane = (title, lines, number) => {
      const list = make("div", { class: "lines" }, ...lines.map((line, k) => this.line(line, k)));
      list.addEventListener("scroll", () => { tops[number] = list.scrollTop; });
      return make("div", { class: "pane", "data-pane": title }, make("h4", {}, title), list);
    };
    this.tops = tops;
    const panes = make("div", { class: "panes" }, pane("Source", this.program.source, 0), pane("Loop nest", this.plan.nest, 1), pane("C", this.plan.c, 2));
    this.parts.panes.replaceChildren(panes);
    panes.querySelectorAll(".lines").forEach((list, k) => { list.scrollTop = tops[k]; });
  }

  line(line) {
    const isLoop = line.kind === "loop", about = line.statements.length > 0;
    const producer = line.kind === "statement" && this.program.producers.includes(line.statements[0]);
    const subject = isLoop ? line.loop : producer ? line.statements[0] : "";
    const can = !!subject;
    const act = () => this.choose(subject);
    return make("div", { class: `line ${line.kind ?? ""} ${can ? "can" : ""} ${about ? "about" : ""} ${can && subject === this.ui.subject ? "chosen" : ""}`,
      "data-s": line.statements.join(" "), "data-loop": line.loop ?? null, tabindex: can ? 0 : null, role: can ? "button" : null,
      title: can ? `moves at ${subject}` : null,
      onmouseenter: () => this.link(line.statements, line.loop), onmouseleave: () => this.link([], ""),
      onclick: can ? act : () => {}, onkeydown: (e) => { if (can && (e.key === "Enter" || e.key === " ")) { e.preventDefault(); act(); } } },
    line.text || " ", line.mark ? make("span", { class: "mark" }, line.mark) : null);
  }

  /** Mark everything that is about some statements, and about one loop. */
  link(statements, loop) {
    for (const node of this.el.querySelectorAll("[data-s]")) {
      const mine = node.dataset.s.split(" ");
      const isAbout = statements.some((s) => mine.includes(s));
      const isLoop = "loop" in node.dataset;
      node.classList.toggle("same", isAbout && !!loop && node.dataset.loop === loop);
      node.classList.toggle("linked", isAbout && (!loop || !isLoop));
    }
  }

  // -- pictures -------------------------------------------------------------------------------------

  drawPicture() {
    this.drawnWidth = Math.max(this.el.clientWidth || 1100, 420);
    const picture = this.plan.picture;
    const before = this.plans[this.state.at - 1];
    const both = this.ui.both && before && !before.picture.refused;
    if (this.ui.outline === undefined || !this.loops().includes(this.ui.outline)) this.ui.outline = picture.outline || "";
    const inner = this.drawnWidth - 40;
    const width = this.ui.wide ? (both ? inner / 2 - 12 : (inner * 1.7) / 2.75 - 12) : inner;
    this.witnessAxes();
    const now = new View(this.plan, this.ui, both ? `after: ${this.state.entries[this.state.at].label}` : "", width);
    this.views = both ? [new View(before, this.ui, `before: ${this.state.entries[this.state.at - 1].label}`, width), now] : [now];
    this.main = now;
    now.show(this.refusal?.witnesses);
    this.slider = make("input", { type: "range", min: 0, max: now.total, value: Math.round(this.ui.fraction * now.total), "aria-label": "step of the execution",
      oninput: () => { this.stop(); this.ui.seeking = true; this.seek(this.slider.value / Math.max(1, now.total)); } });
    this.counter = make("span", { style: "min-width:8.5em" });
    this.player = make("button", { onclick: () => (this.ui.playing ? this.stop() : this.play()) }, this.ui.playing ? "Pause" : "Play the order");
    const select = (label, options, value, act) => make("label", {}, label, make("select", { "aria-label": label, onchange: (e) => act(e.target.value) },
      ...options.map(([v, text]) => make("option", { value: v, selected: v === value }, text))));
    const controls = picture.refused ? [] : [this.player, this.slider, this.counter,
      select("speed", [["0.3", "slow"], ["1", "normal"], ["5", "fast"]], String(this.ui.speed), (v) => { this.ui.speed = +v; }),
      select("outline", [["", "nothing"], ...this.loops().map((l) => [l, `iterations of ${l}`])], this.ui.outline, (v) => { this.ui.outline = v; this.drawPicture(); }),
      this.planes().length > 1 && select("plane", this.planes().map((p) => [p.join(), p.join(" \u00d7 ")]), this.ui.axes?.join(), (v) => { this.ui.axes = v.split(","); this.drawPicture(); }),
      before && make("label", {}, make("input", { type: "checkbox", checked: this.ui.both, onchange: (e) => { this.ui.both = e.target.checked; this.drawPicture(); } }), "before and after")].filter(Boolean);
    const sizes = Object.entries(this.program.sizes.drawn).map(([k, v]) => `${k} = ${v}`).join(", ");
    const views = make("div", { class: `views ${both ? "two" : "one"}` }, ...this.views.map((v) => v.root));
    this.parts.picture.replaceChildren(make("div", { class: "picture" }, make("h4", {}, `Iteration spaces and cache lines${sizes ? `, drawn for ${sizes}` : ""}. Point at an instance: arrows from what it reads, and to what reads it.`),
      controls.length ? make("div", { class: "controls" }, ...controls) : "", views));
    this.seek(this.ui.fraction);
  }

  loops() { return [...new Set((this.plan.picture.spaces ?? []).flatMap((s) => s.loops.map((l) => l.name)))]; }

  planes() {
    const deepest = (this.plan.picture.spaces ?? []).reduce((a, s) => (s.iterators.length > a.length ? s.iterators : a), []);
    const found = [];
    if (deepest.length > 2) for (let b = deepest.length - 1; b > 0; b--) for (let a = b - 1; a >= 0; a--) found.push([deepest[a], deepest[b]]);
    return found;
  }

  /** A witness lies in the plane that is drawn, as far as two dimensions can show it. */
  witnessAxes() {
    const w = this.refusal?.witnesses[0];
    const space = w && (this.plan.picture.spaces ?? []).find((s) => s.statement === w.source[0]);
    if (!space || space.iterators.length < 3 || w.sink[1].length !== w.source[1].length || this.axesFor === w) return;
    this.axesFor = w;
    const moved = w.source[1].map((v, d) => (v !== w.sink[1][d] ? d : -1)).filter((d) => d >= 0);
    if (!moved.length) return;
    const pair = moved.length > 1 ? moved.slice(0, 2) : moved[0] ? [moved[0] - 1, moved[0]] : [0, 1];
    this.ui.axes = pair.map((d) => space.iterators[d]);
  }

  seek(fraction) {
    this.ui.fraction = fraction;
    for (const view of this.views) view.paint(Math.round(fraction * view.total));
    const step = Math.round(fraction * this.main.total);
    this.slider.value = step;
    this.counter.textContent = `step ${step.toLocaleString("en")} of ${this.main.total.toLocaleString("en")}`;
  }

  play() {
    if (this.ui.fraction >= 1) this.seek(0);
    this.ui.playing = true; this.ui.seeking = true;
    this.player.textContent = "Pause";
    let last = performance.now(), step = this.ui.fraction * this.main.total;
    const tick = (now) => {
      if (!this.ui.playing || !this.el.isConnected) return;
      // the longest program takes half a minute, the shortest four instances a second
      step += ((now - last) / 1000) * this.ui.speed * Math.max(4, this.main.total / 30);
      last = now;
      if (step >= this.main.total) { this.stop(); this.ui.seeking = false; this.seek(1); return; }
      this.seek(step / this.main.total);
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  stop() { this.ui.playing = false; if (this.player) this.player.textContent = "Play the order"; }
}

/** The explorer in a page without Python, from a snapshot. */
export function mount(el, data) { return new Panel(el, data, null); }

/** The explorer as a widget: Python answers what it is asked for. */
function render({ model, el }) {
  // the copy for pages that no kernel runs behind is seen on these alone: there, it is enough
  if ([...document.querySelectorAll(".polyopt-static")].some((copy) => copy.offsetParent)) return;
  let number = 0;
  const data = { program: model.get("program"), state: model.get("state"), plans: model.get("plans") };
  const panel = new Panel(el, data, (request) => { model.set("request", { id: ++number, ...request }); model.save_changes(); });
  const changed = () => panel.update(model.get("state"), model.get("plans"), null);
  const answered = () => panel.update(null, {}, model.get("told"));
  model.on("change:state", changed);
  model.on("change:told", answered);
  return () => { panel.stop(); model.off("change:state", changed); model.off("change:told", answered); };
}

export default { render };
