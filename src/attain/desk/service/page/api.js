/* Calls of the service. An answer that is not wanted any more is given up, and a refusal is an error with a sentence. */

class Refusal extends Error {
  constructor(status, { message = "", messages = {}, field = null } = {}) {
    super(message);
    Object.assign(this, { status, messages, field });
  }
}

const running = new Map();

/** Sends a request. A later request with the same `lane` gives up an earlier one. */
async function call(method, path, body, { lane = null, raw = false } = {}) {
  const controller = new AbortController();
  if (lane) {
    running.get(lane)?.abort();
    running.set(lane, controller);
  }
  let answer;
  try {
    answer = await fetch(path, {
      method,
      signal: controller.signal,
      credentials: "same-origin",
      headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? body : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refusal(0);
  }
  if (!answer.ok) {
    const told = await answer.json().catch(() => null);
    throw new Refusal(answer.status, told?.error ?? { message: `${answer.status} ${answer.statusText}` });
  }
  return raw ? answer : answer.json();
}

export const get = (path, options) => call("GET", path, undefined, options);
export const post = (path, body, options) => call("POST", path, body, options);

/** Lets the browser save an answer as a file. */
export async function download(answer, name) {
  const address = URL.createObjectURL(await answer.blob());
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Whether an error only says that a newer question replaced this one. */
export const replaced = (error) => error.name === "AbortError";
