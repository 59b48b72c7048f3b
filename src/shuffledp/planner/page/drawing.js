// Elements of the page, and pictures of numbers against how many people take part: both axes are logarithmic.

export const DASHES = ["", "10 5", "6 3", "12 3 2 3", "4 3", "16 4"];
const LEAST = 1e-6;  // smaller numbers do not stretch the axis

export const rounded = (value, digits) => Number(value.toPrecision(digits));

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

export function drawn(tag, attributes = {}, text = "") {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.textContent = text;
  return made;
}

// A sample of the line at a place in a legend.
export function sample(place) {
  const key = drawn("svg", { viewBox: "0 0 32 10", "aria-hidden": "true" });
  key.append(drawn("line", { class: `line-${place}`, x1: 0, x2: 32, y1: 5, y2: 5, "stroke-width": 2, "stroke-dasharray": DASHES[place] || "none" }));
  return key;
}

// Lines are { points: [[people, number], ...], place, look }; a number that is no finite one above 0 breaks a line.
export function drawChart(box, lines, { up, label, here }) {
  const width = Math.max(box.clientWidth, 240), height = Math.min(380, Math.max(240, width * 0.5));
  const [left, right, top, bottom] = [52, 10, 10, 40], isDrawn = ([, number]) => number > 0 && Number.isFinite(number);
  const known = lines.flatMap(each => each.points.filter(isDrawn));
  if (!known.length) return;
  const peoples = [...known.map(([people]) => people), here].map(Math.log10), least = Math.min(...peoples), most = Math.max(...peoples, least + 1);
  const heights = known.map(([, number]) => number).filter(each => each > LEAST).map(Math.log10);
  const low = Math.floor(Math.min(...heights)), high = Math.ceil(Math.max(...heights) + 1e-9);
  const x = people => left + (Math.log10(people) - least) / (most - least) * (width - left - right);
  const y = number => top + (high - Math.log10(Math.max(number, 10 ** low))) / (high - low) * (height - top - bottom);
  const picture = drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
  for (let power = low; power <= high; power += 1) {
    picture.append(drawn("line", { class: "grid", x1: left, x2: width - right, y1: y(10 ** power), y2: y(10 ** power) }));
    picture.append(drawn("text", { x: left - 6, y: y(10 ** power) + 4, "text-anchor": "end" }, rounded(10 ** power, 1).toLocaleString("en-US", { maximumFractionDigits: 9 })));
  }
  const every = width < 460 ? 2 : 1;
  for (let power = Math.ceil(least); power <= most; power += 1) {
    picture.append(drawn("line", { class: "grid", x1: x(10 ** power), x2: x(10 ** power), y1: top, y2: height - bottom }));
    if (power % every === 0) picture.append(drawn("text", { x: x(10 ** power), y: height - bottom + 16, "text-anchor": power === most ? "end" : "middle" }, (10 ** power).toLocaleString("en-US")));
  }
  picture.append(drawn("text", { x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle" }, "people"));
  picture.append(drawn("text", { x: 0, y: 0, transform: `translate(11 ${(top + height - bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, up));
  picture.append(drawn("line", { class: "here", x1: x(here), x2: x(here), y1: top, y2: height - bottom }));
  for (const { points, place, look } of lines) {
    let path = "", pen = "M";
    for (const point of points) {
      path += isDrawn(point) ? `${pen}${x(point[0]).toFixed(1)},${y(point[1]).toFixed(1)}` : "";
      pen = isDrawn(point) ? "L" : "M";
    }
    const line = { class: `curve ${look} line-${place}`, d: path };
    if (path && !look && DASHES[place]) line["stroke-dasharray"] = DASHES[place];
    if (path) picture.append(drawn("path", line));
  }
  box.replaceChildren(picture);
}
