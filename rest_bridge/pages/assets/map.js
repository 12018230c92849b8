// The live map: what is wanted, what passes, and what became of it.

import * as L from "/@zla/map/leaflet-src.esm.js";
import { Areas, path } from "/@zla/map/areas.js";
import { Dots } from "/@zla/map/dots.js";
import { follow, request } from "/@zla/map/feed.js";
import { addGround, colour, whenColoursChange } from "/@zla/map/ground.js";

const MAX_EVENTS = 50;
const PRECISION_OF = { base64_json: "point", mgrs: "mgrs", bloom: "bloom_filter" };
const COUNTED = [["delivered", ""], ["vetoed", ""], ["stopped", ""], ["forwarded", "more"], ["received", "more"]];
const $ = (id) => document.getElementById(id);

const map = L.map("map", { worldCopyJump: true, minZoom: 2, zoomControl: true, attributionControl: false });
L.control.attribution({ prefix: "Leaflet · land by GSHHG" }).addTo(map);
const remembered = sessionStorage.getItem("zla-view");
const [lat0, long0, zoom0] = (remembered ?? "30 10 2").split(" ").map(Number);
map.setView([lat0, long0], zoom0);
let mayFit = remembered === null; // until something is there to be seen, or somebody has moved it
for (const name of ["pointerdown", "wheel", "keydown"]) {
  addEventListener(name, () => { mayFit = false; }, { capture: true, once: true });
}
map.on("moveend", () => {
  const { lat, lng } = map.getCenter();
  sessionStorage.setItem("zla-view", `${lat} ${lng} ${map.getZoom()}`);
});

const dots = new Dots().addTo(map);
const interests = new Map();
map.createPane("interests").style.zIndex = 350;
const interestRenderer = L.canvas({ pane: "interests" });
let tool = "ask";

function element(kind, text, more = {}) {
  return Object.assign(document.createElement(kind), { textContent: text, ...more });
}

function say(text, isBad = false) {
  $("told").textContent = text;
  $("told").classList.toggle("bad", isBad);
}

// Interests

function style(interest) {
  const own = colour(interest.encoding) || colour("unwanted");
  return { color: own, weight: 2, fillColor: own, fillOpacity: 0.08, interactive: false, pane: "interests",
           renderer: interestRenderer, dashArray: interest.kind === "queryable" ? "6 4" : null };
}

function showInterests({ set, gone, all }) {
  for (const id of [...gone, ...set.map((interest) => interest.id)]) {
    interests.get(id)?.layer.remove();
    interests.delete(id);
  }
  for (const interest of set) {
    const options = style(interest);
    const layers = interest.circles.map(([lat, long, radius]) => L.circle([lat, long], { ...options, radius }));
    const shapes = interest.outlines.map((outline) => L.geoJSON(outline, { ...options, style: () => options }));
    interests.set(interest.id, { interest, layer: L.featureGroup([...layers, ...shapes]).addTo(map) });
  }
  showSeen(all);
}

whenColoursChange(() => {
  for (const { interest, layer } of interests.values()) layer.setStyle(style(interest));
});

let allInterests = 0;
let missed = 0;
let unplaced = 0;
function showSeen(all = allInterests) {
  allInterests = all;
  const publishers = `${dots.size()} publisher${dots.size() === 1 ? "" : "s"}`;
  const parts = [`${publishers} and ${interests.size} of ${all} areas on the map`];
  if (missed) parts.push(`${missed} messages were too many to show`);
  if (unplaced) parts.push(`${unplaced} of a grid that this bridge does not know`);
  $("seen").textContent = parts.join("; ") + ".";
}

// Counters

let before = null;
function showStatus(status) {
  const now = { at: performance.now(), counters: status.counters };
  const items = COUNTED.map(([name, className]) => {
    const item = element("div", "", { className });
    const value = element("dd", now.counters[name].toLocaleString("en"));
    if (before) {
      const rate = Math.max(0, (now.counters[name] - before.counters[name]) * 1000 / (now.at - before.at));
      value.append(" ", element("small", `${rate.toFixed(rate < 10 ? 1 : 0)}/s`));
    }
    item.append(element("dt", name), value);
    return item;
  });
  $("counters").replaceChildren(...items);
  before = now;
}

// The feed

let feed = new AbortController();
function watch() {
  feed.abort();
  feed = new AbortController();
  for (const { layer } of interests.values()) layer.remove();
  interests.clear();
  dots.clear();
  [missed, unplaced, before] = [0, 0, null];
  const wanted = new URLSearchParams({ topic: $("filter-topic").value || "**", encoding: $("filter-encoding").value });
  follow(`/@zla/live/feed?${wanted}`, onFeed, (isLive, problem) => {
    $("state").className = isLive ? "live" : "lost";
    $("state").textContent = isLive ? "live" : problem ?? "not connected";
  }, feed.signal);
}

function onFeed(name, data) {
  if (name === "SCOPE") {
    for (const { layer } of interests.values()) layer.remove();
    interests.clear();
    $("scope").textContent = `Seen here: ${data.scope}.`;
  } else if (name === "INTERESTS") showInterests(data);
  else if (name === "STATUS") showStatus(data);
  else if (name === "MESSAGES") {
    missed += data.missed;
    for (const message of data.messages) if (message[2] === null) unplaced += message[5];
    dots.show(data.messages);
    showSeen();
    fitOnce(data.messages);
  }
}

/** Turns to where things happen, once, so that the first message is seen. */
function fitOnce(messages) {
  const places = messages.filter((message) => message[2] !== null).map((message) => [message[2], message[3]]);
  if (!mayFit || !places.length) return;
  mayFit = false;
  const bounds = L.latLngBounds(places);
  for (const { layer } of interests.values()) if (layer.getLayers().length) bounds.extend(layer.getBounds());
  map.fitBounds(bounds.pad(0.2), { maxZoom: 6, animate: false });
}

// Asking and publishing

let asked = null;
async function ask(at, topic, precision) {
  if (asked) asked.remove();
  asked = L.circleMarker(at, { radius: 11, color: colour("accent"), weight: 2, fill: false, interactive: false }).addTo(map);
  const query = new URLSearchParams({ topic, precision, lat: at.lat, long: at.lng });
  const answer = await (await request(`/@zla/live/why?${query}`)).json();
  $("why").hidden = false;
  const where = `${Number(at.lat).toFixed(4)}, ${Number(at.lng).toFixed(4)}`;
  $("why-summary").textContent =
    `A message on ${answer.topic} at ${where}: delivered to ${answer.delivered}, vetoed for ${answer.vetoed}; ` +
    `${answer.other_topics} areas are about other topics.`;
  $("why-list").replaceChildren(...answer.interests.map((one) => {
    const item = element("li", "", { className: one.delivered ? "yes" : "no" });
    item.append(element("b", `${one.topic} (${one.id})`), element("span", one.reason));
    return item;
  }));
  $("why").scrollIntoView({ block: "nearest" });
}

async function publish(at) {
  const topic = $("own-topic").value;
  const precision = $("own-precision").value;
  const query = new URLSearchParams({ precision, lat: at.lat, long: at.lng });
  const headers = { "Content-Type": "text/plain" };
  await request(`${path(topic)}?${query}`, { method: "PUT", headers, body: $("own-payload").value });
  say(`Published on ${topic} at ${at.lat.toFixed(4)}, ${at.lng.toFixed(4)}.`);
  await ask(at, topic, precision);
}

async function onClick(event) {
  if (performance.now() - (areas.justTracked ?? -1e9) < 400) return; // the end of a drag
  try {
    const at = event.latlng.wrap();
    if (tool === "publish") {
      await publish(at);
    } else if (tool === "ask") {
      const dot = dots.at(event.containerPoint);
      if (dot) await ask(L.latLng(dot.lat, dot.long), dot.topic, PRECISION_OF[dot.encoding] ?? "point");
      else await ask(at, $("own-topic").value, $("own-precision").value);
      say(dot ? `Last message of this publisher: ${JSON.stringify(dot.value)}; ${dot.count} since the page looks.`
              : "No publisher here: asked for a message on the topic above.");
    }
  } catch (error) {
    say(error.message, true);
  }
}
map.on("click", onClick);

// Own areas

const areas = new Areas(map, {
  onChange: showAreas,
  onError: (text) => say(text, true),
  onEvent(area, name, data) {
    const item = element("li", `${data.key}: ${name === "DELETE" ? "deleted" : JSON.stringify(data.value)} `);
    const place = data.location ? ` at ${data.location.lat.toFixed(4)}, ${data.location.long.toFixed(4)}` : "";
    item.append(element("span", new Date().toLocaleTimeString() + place));
    $("events").prepend(item);
    while ($("events").childElementCount > MAX_EVENTS) $("events").lastElementChild.remove();
    area.label.textContent = label(area);
  },
});

const label = (area) => `${area.tool} · ${area.topic} · ${area.events} events`;

function showAreas(all) {
  $("mine").hidden = all.length === 0;
  $("areas").replaceChildren(...all.map((area) => {
    const item = document.createElement("li");
    area.label = element("span", label(area));
    item.append(area.label, element("button", "End", { onclick: () => areas.drop(area) }));
    return item;
  }));
}

// Capture: before Leaflet, which would begin to drag the map.
$("map").addEventListener("pointerdown", (event) => {
  const isOnMap = !event.target.closest(".leaflet-control, .own-area");
  if (event.button !== 0 || !event.isPrimary || !isOnMap || (tool !== "circle" && tool !== "box")) return;
  areas.draw(tool, event, $("own-topic").value, $("own-precision").value);
}, true);

// Controls

for (const button of document.querySelectorAll("[data-tool]")) {
  button.addEventListener("click", () => {
    tool = button.dataset.tool;
    for (const other of document.querySelectorAll("[data-tool]")) other.ariaPressed = String(other === button);
    $("map").classList.toggle("drawing", tool !== "ask");
    say(button.title + ".");
  });
}
$("fold").addEventListener("click", () => {
  const isFolded = $("panel").classList.toggle("folded");
  $("fold").ariaExpanded = String(!isFolded);
  map.invalidateSize();
});
$("filter-topic").addEventListener("change", watch);
$("filter-encoding").addEventListener("change", watch);
new ResizeObserver(() => map.invalidateSize({ pan: false })).observe($("map"));

window.zlaMap = { map, dots, areas, interests };
watch();
addGround(map).catch((error) => say(`No land outlines: ${error.message}`, true));
