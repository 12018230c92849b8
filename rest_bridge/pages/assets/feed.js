// Requests to the bridge, with its token if it needs one, and event streams that can be ended.

let token = sessionStorage.getItem("zla-token") ?? "";
const dialog = document.getElementById("token-dialog");
let asking = null;

function askForToken() {
  asking ??= new Promise((resolve) => {
    dialog.addEventListener("close", () => {
      token = document.getElementById("token").value;
      sessionStorage.setItem("zla-token", token);
      asking = null;
      resolve();
    }, { once: true });
    dialog.showModal();
  });
  return asking;
}

/** fetch, whose failure says what the bridge says. */
export async function request(path, options = {}) {
  for (;;) {
    const headers = { ...options.headers };
    if (token) headers.Authorization = `Bearer ${token}`;
    const response = await fetch(path, { ...options, headers });
    if (response.ok) return response;
    if (response.status === 401) {
      await askForToken();
      continue;
    }
    const problem = await response.json().catch(() => ({}));
    throw new Error(problem.detail ?? `${response.status} ${response.statusText}`);
  }
}

/** Reads an event stream until it ends or is aborted; each event goes to onEvent(name, data). */
export async function read(path, onEvent, signal) {
  const response = await request(path, { headers: { Accept: "text/event-stream" }, signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      let name = "message";
      let data = "";
      for (const line of block.split("\n")) {
        if (line.startsWith("event: ")) name = line.slice(7);
        else if (line.startsWith("data: ")) data += line.slice(6);
      }
      if (data) onEvent(name, JSON.parse(data));
    }
  }
}

/** The same again and again until it is aborted: onState(true) while it is read, else false. */
export async function follow(path, onEvent, onState, signal) {
  while (!signal.aborted) {
    try {
      await read(path, (name, data) => { onState(true); onEvent(name, data); }, signal);
    } catch (error) {
      if (signal.aborted) return;
      onState(false, error.message);
    }
    if (signal.aborted) return;
    onState(false);
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}
