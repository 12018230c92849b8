// Times koncorde: filters in, places in, figures and answers out, each as one JSON document.
// The engine that is timed is fresh; another one has made the compiler warm before.
"use strict";

const path = require("path");
const { Koncorde } = require(path.resolve(process.argv[2], "node_modules", "koncorde"));

const document = JSON.parse(require("fs").readFileSync(0, "utf8"));
const { topic, filters, moved, places, checked, rounds } = document;
const asked = places.map(([lat, lon]) => ({ place: { lat, lon } }));

function seconds(job) {
  const start = process.hrtime.bigint();
  job();
  return Number(process.hrtime.bigint() - start) / 1e9;
}

function add(engine, ids, some) {
  for (let i = 0; i < some.length; i++) ids[i] = engine.register(some[i], topic);
}

// It knows no moves: one out, one in.
function move(engine, ids, some) {
  for (let i = 0; i < some.length; i++) {
    engine.remove(ids[i], topic);
    ids[i] = engine.register(some[i], topic);
  }
}

function find(engine, some) {
  let found = 0;
  for (let i = 0; i < some.length; i++) found += engine.test(some[i], topic).length;
  return found;
}

function warmUp() {
  const engine = new Koncorde();
  const ids = [];
  const start = Date.now();
  add(engine, ids, filters.slice(0, 2000));
  while (Date.now() - start < 1000) {
    move(engine, ids, moved.slice(0, 200));
    find(engine, asked.slice(0, 10000));
  }
}

warmUp();
const figures = {};
const ids = [];
let engine;
let spent = 0;
for (let i = 0; i < rounds; i++) {
  engine = new Koncorde();
  spent += seconds(() => add(engine, ids, filters));
}
figures["add/s"] = (rounds * filters.length) / spent;
spent = 0;
for (let i = 0; i < rounds; i++) {
  spent += seconds(() => move(engine, ids, moved));
  move(engine, ids, filters.slice(0, moved.length));
}
move(engine, ids, moved);
figures["move/s"] = (rounds * moved.length) / spent;
find(engine, asked.slice(0, 5000));
figures["find/s"] = asked.length / seconds(() => find(engine, asked));
const numbers = new Map(ids.map((id, i) => [id, i]));
const answer = ({ place }) => engine.test({ place }, topic).map((id) => numbers.get(id));
figures.answers = asked.slice(0, checked).map(answer);
process.stdout.write(JSON.stringify(figures));
