// The publishers, on one canvas: a thousand that move cost a few milliseconds per frame.

import * as L from "/@zla/map/leaflet-src.esm.js";
import { colour, whenColoursChange } from "/@zla/map/ground.js";

const KEEP_MS = 60_000;
const PULSE_MS = 600;
const MAX_DOTS = 20_000;
const MAX_PULSES = 400;
const REACH_PX = 16;

const mercator = (lat) => {
  const sine = Math.sin((Math.max(-85.05, Math.min(85.05, lat)) * Math.PI) / 180);
  return 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI);
};

export const Dots = L.Layer.extend({
  initialize() {
    this._dots = new Map();
    this._pulses = [];
    this._fresh = [];
    this._frame = 0;
    this.onDrawn = null; // told which dots a frame has shown first
  },

  onAdd(map) {
    map.createPane("dots");
    this._canvas = L.DomUtil.create("canvas", "leaflet-zoom-hide", map.getPane("dots"));
    map.on("move zoomend viewreset resize", this._place, this);
    whenColoursChange(() => {
      this._colours = Object.fromEntries(
        ["delivered", "vetoed", "unwanted"].map((name) => [name, colour(name)]));
      this._redraw();
    });
    this._place();
    this._sweeper = setInterval(() => this._sweep(), 2000);
  },

  onRemove(map) {
    clearInterval(this._sweeper);
    map.off("move zoomend viewreset resize", this._place, this);
    this._canvas.remove();
  },

  size() { return this._dots.size; },

  show(messages) {
    const now = performance.now();
    for (const [slot, topic, lat, long, encoding, count, delivered, vetoed, value] of messages) {
      if (lat === null) continue;
      const id = `${slot}/${topic}`;
      let dot = this._dots.get(id);
      if (!dot) {
        if (this._dots.size >= MAX_DOTS) continue;
        dot = { id, topic, count: 0 };
        this._dots.set(id, dot);
      }
      dot.count += count;
      const kind = delivered ? "delivered" : vetoed ? "vetoed" : "unwanted";
      Object.assign(dot, { lat, long, encoding, delivered, vetoed, value, kind, seen: now,
                           x: (long + 180) / 360, y: mercator(lat) });
      this._fresh.push(dot);
      if (this._pulses.length < MAX_PULSES) this._pulses.push({ x: dot.x, y: dot.y, kind, from: now });
    }
    this._redraw();
  },

  clear() {
    this._dots.clear();
    this._pulses = [];
    this._redraw();
  },

  /** The publisher at a point of the container, if there is one. */
  at(point) {
    const view = this._view();
    let best = null;
    let reach = REACH_PX ** 2;
    for (const dot of this._dots.values()) {
      const d = (dot.x * view.size - view.left - point.x) ** 2 + (dot.y * view.size - view.top - point.y) ** 2;
      if (d < reach) [best, reach] = [dot, d];
    }
    return best;
  },

  _view() {
    const { min } = this._map.getPixelBounds();
    return { size: 256 * 2 ** this._map.getZoom(), left: min.x, top: min.y };
  },

  _place() {
    const size = this._map.getSize();
    const ratio = Math.min(devicePixelRatio || 1, 2);
    if (this._canvas.width !== size.x * ratio || this._canvas.height !== size.y * ratio) {
      Object.assign(this._canvas, { width: size.x * ratio, height: size.y * ratio });
      Object.assign(this._canvas.style, { width: `${size.x}px`, height: `${size.y}px` });
    }
    this._ratio = ratio;
    L.DomUtil.setPosition(this._canvas, this._map.containerPointToLayerPoint([0, 0]));
    this._redraw();
  },

  _redraw() {
    this._frame ||= requestAnimationFrame((now) => this._draw(now));
  },

  _draw(now) {
    this._frame = 0;
    const pen = this._canvas.getContext("2d");
    const view = this._view();
    const size = this._map.getSize();
    pen.setTransform(this._ratio, 0, 0, this._ratio, 0, 0);
    pen.clearRect(0, 0, size.x, size.y);
    this._drawPulses(pen, view, now);
    const radius = this._map.getZoom() < 5 ? 4 : 5;
    for (const kind of ["unwanted", "vetoed", "delivered"]) this._drawKind(pen, view, size, kind, radius);
    const fresh = this._fresh;
    this._fresh = [];
    if (this.onDrawn && fresh.length) this.onDrawn(fresh);
    if (this._pulses.length) this._redraw();
  },

  _drawPulses(pen, view, now) {
    this._pulses = this._pulses.filter((pulse) => now - pulse.from < PULSE_MS);
    pen.lineWidth = 2;
    for (const pulse of this._pulses) {
      const age = Math.max(0, now - pulse.from) / PULSE_MS;
      pen.globalAlpha = 0.7 * (1 - age);
      pen.strokeStyle = this._colours[pulse.kind];
      pen.beginPath();
      pen.arc(pulse.x * view.size - view.left, pulse.y * view.size - view.top, 5 + 18 * age, 0, 7);
      pen.stroke();
    }
    pen.globalAlpha = 1;
  },

  // All of a kind as one path: one stroke or fill instead of a thousand.
  _drawKind(pen, view, size, kind, radius) {
    const r = kind === "unwanted" ? radius - 1.5 : radius;
    pen.beginPath();
    for (const dot of this._dots.values()) {
      if (dot.kind !== kind) continue;
      const x = dot.x * view.size - view.left;
      const y = dot.y * view.size - view.top;
      if (x < -9 || y < -9 || x > size.x + 9 || y > size.y + 9) continue;
      pen.moveTo(x + r, y);
      pen.arc(x, y, r, 0, 7);
    }
    pen.lineWidth = 2;
    if (kind === "delivered") {
      pen.fillStyle = this._colours[kind];
      pen.fill();
    } else {
      pen.strokeStyle = this._colours[kind];
      pen.stroke();
    }
  },

  _sweep() {
    const limit = performance.now() - KEEP_MS;
    for (const [id, dot] of this._dots) if (dot.seen < limit) this._dots.delete(id);
    this._redraw();
  },
});
