// What lies below everything: land, lakes and borders.

import * as L from "/@zla/map/leaflet-src.esm.js";

export const colour = (name) =>
  getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Calls back now, and whenever the page turns dark or light. */
export function whenColoursChange(paint) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
  paint();
}

function points(steps, scale) {
  const found = [];
  let lat = 0;
  let long = 0;
  for (let i = 0; i < steps.length; i += 2) {
    lat += steps[i];
    long += steps[i + 1];
    found.push([lat / scale, long / scale]);
  }
  return found;
}

export async function addGround(map) {
  const outlines = await (await fetch("/@zla/map/land.json")).json();
  const pane = map.createPane("ground");
  pane.style.zIndex = 150;
  const renderer = L.canvas({ pane: "ground", padding: 0.3 });
  const options = { renderer, pane: "ground", interactive: false, smoothFactor: 1.5 };
  const lines = (name) => outlines[name].map((steps) => points(steps, outlines.scale));
  // One path, filled by the even-odd rule: lakes are holes in the land.
  const land = L.polygon([...lines("land"), ...lines("lakes")], { ...options, weight: 1, fillOpacity: 1 });
  const borders = L.polyline(lines("borders"), { ...options, weight: 1 });
  whenColoursChange(() => {
    land.setStyle({ color: colour("shore"), fillColor: colour("land") });
    borders.setStyle({ color: colour("border") });
  });
  land.addTo(map);
  borders.addTo(map);
}
