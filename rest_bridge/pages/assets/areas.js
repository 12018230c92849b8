// Areas that are subscribed to from the page: drawn, dragged, resized, taken away.

import * as L from "/@zla/map/leaflet-src.esm.js";
import { read, request } from "/@zla/map/feed.js";
import { colour, whenColoursChange } from "/@zla/map/ground.js";

const SMALLEST_PX = 8;
const DEFAULT_PX = 60;
const round = (number) => Number(number.toFixed(6));

export const path = (topic) => "/" + topic.split("/").map(encodeURIComponent).join("/");

class Area {
  constructor(map, tool, from, to) {
    this.map = map;
    this.tool = tool;
    this.layer = tool === "circle" ? L.circle(from, { radius: 1 }) : L.rectangle(L.latLngBounds(from, from));
    this.layer.options.className = "own-area";
    this.handle = L.circleMarker(from, { radius: 8, weight: 2, fillOpacity: 1, className: "own-area" });
    this.layer.addTo(map); // first: a circle has bounds only on a map
    this.handle.addTo(map);
    this.stretch(from, to);
    this.paint();
  }

  paint() {
    const own = colour("own");
    this.layer.setStyle({ color: own, weight: 3, fillColor: own, fillOpacity: 0.12 });
    this.handle.setStyle({ color: own, fillColor: colour("page") });
  }

  stretch(from, to) {
    if (this.tool === "circle") {
      this.layer.setLatLng(from).setRadius(Math.max(1, this.map.distance(from, to)));
    } else {
      this.layer.setBounds(L.latLngBounds(from, to));
    }
    this.placeHandle();
  }

  get bounds() { return this.layer.getBounds(); }

  placeHandle() {
    const at = this.tool === "circle"
      ? L.latLng(this.layer.getLatLng().lat, this.bounds.getEast())
      : this.bounds.getSouthEast();
    this.handle.setLatLng(at);
  }

  /** Moves it by so many pixels, seen from where it was when the drag began. */
  moveFrom(start, dx, dy) {
    const shifted = (at) => {
      const point = this.map.latLngToContainerPoint(at).add([dx, dy]);
      return this.map.containerPointToLatLng(point);
    };
    if (this.tool === "circle") this.layer.setLatLng(shifted(start.centre));
    else this.layer.setBounds(L.latLngBounds(shifted(start.bounds.getSouthWest()), shifted(start.bounds.getNorthEast())));
    this.placeHandle();
  }

  get anchor() {
    return this.tool === "circle" ? this.layer.getLatLng() : this.bounds.getNorthWest();
  }

  query(precision) {
    const found = new URLSearchParams({ precision });
    if (this.tool === "circle") {
      const centre = this.layer.getLatLng().wrap();
      const at = { shape: "circle", lat: round(centre.lat), long: round(centre.lng), r: Math.round(this.layer.getRadius()) };
      for (const [name, value] of Object.entries(at)) found.set(name, value);
    } else {
      const [sw, ne] = [this.bounds.getSouthWest().wrap(), this.bounds.getNorthEast().wrap()];
      const at = { shape: "geographic_range", min_lat: round(Math.max(-90, sw.lat)), min_long: round(sw.lng),
                   max_lat: round(Math.min(90, ne.lat)), max_long: round(ne.lng) };
      for (const [name, value] of Object.entries(at)) found.set(name, value);
    }
    return found.toString();
  }

  remove() {
    this.layer.remove();
    this.handle.remove();
  }
}

/** onChange(areas) when there are more, fewer or other ones; onEvent(area, name, data); onError(text). */
export class Areas {
  constructor(map, { onChange, onEvent, onError }) {
    Object.assign(this, { map, onChange, onEvent, onError });
    this.all = [];
    whenColoursChange(() => this.all.forEach((area) => area.paint()));
  }

  /** Takes a press on the map until it is let go: a new area. */
  draw(tool, event, topic, precision) {
    const from = this.map.mouseEventToLatLng(event);
    const start = { x: event.clientX, y: event.clientY };
    const area = new Area(this.map, tool, from, from);
    this._track(event, (move) => area.stretch(from, this.map.mouseEventToLatLng(move)), (last) => {
      const far = Math.hypot(last.clientX - start.x, last.clientY - start.y);
      if (far < SMALLEST_PX) {
        const point = this.map.latLngToContainerPoint(from).add([DEFAULT_PX, DEFAULT_PX]);
        area.stretch(from, this.map.containerPointToLatLng(point));
      }
      this._subscribe(area, topic, precision);
    });
  }

  async _subscribe(area, topic, precision) {
    Object.assign(area, { topic, precision, events: 0, ending: new AbortController() });
    this.all.push(area);
    this._makeMovable(area);
    this.onChange(this.all);
    try {
      await read(`${path(topic)}?${area.query(precision)}`, (name, data) => {
        if (name === "STREAM") { area.url = data.url; this._send(area); }
        else if (name !== "DROPPED") { area.events += 1; this.onEvent(area, name, data); }
      }, area.ending.signal);
    } catch (error) {
      if (!area.ending.signal.aborted) this.onError(error.message);
    }
    this.drop(area);
  }

  _makeMovable(area) {
    const grab = (layer, onMove) => layer.getElement().addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      event.stopPropagation(); // else the tool would act on it
      const start = { x: event.clientX, y: event.clientY, bounds: area.bounds, anchor: area.anchor,
                      centre: area.tool === "circle" ? area.layer.getLatLng() : null };
      this._track(event, (move) => { onMove(start, move); this._send(area); }, () => this.onChange(this.all));
    });
    grab(area.layer, (start, move) => area.moveFrom(start, move.clientX - start.x, move.clientY - start.y));
    grab(area.handle, (start, move) => area.stretch(start.anchor, this.map.mouseEventToLatLng(move)));
  }

  _track(event, onMove, onEnd) {
    this.map.dragging.disable();
    const own = (other) => other.pointerId === event.pointerId;
    const move = (other) => { if (own(other)) onMove(other); };
    const end = (other) => {
      if (!own(other)) return;
      for (const name of ["pointerup", "pointercancel"]) removeEventListener(name, end, true);
      removeEventListener("pointermove", move, true);
      this.justTracked = performance.now();
      this.map.dragging.enable();
      onEnd(other);
    };
    addEventListener("pointermove", move, true);
    for (const name of ["pointerup", "pointercancel"]) addEventListener(name, end, true);
  }

  /** Tells the bridge where it is now: one request at a time, and always the last place. */
  async _send(area) {
    if (!area.url) return;
    area.wanted = area.query(area.precision);
    if (area.sending) return;
    area.sending = true;
    try {
      while (area.wanted !== area.told) {
        const next = area.wanted;
        await request(`${area.url}?${next}`, { method: "PUT" });
        area.told = next;
      }
    } catch (error) {
      this.onError(error.message);
    }
    area.sending = false;
  }

  drop(area) {
    area.ending.abort();
    area.remove();
    this.all = this.all.filter((other) => other !== area);
    this.onChange(this.all);
  }
}
