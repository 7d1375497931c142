// The calls of the server, as proto/wq/v1/*.proto describes them, and the session.

export class CallError extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

async function post(path, request) {
  let reply;
  try {
    reply = await fetch(path, { method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify(request) });
  } catch {
    throw new CallError("Disconnected", "The server does not answer.");
  }
  const body = await reply.json().catch(() => ({}));
  if (reply.ok) return body;
  if (reply.status === 401 && path !== "/ui/login") dispatchEvent(new Event("session-ended"));
  throw new CallError(body.code ?? `HTTP ${reply.status}`, body.message ?? reply.statusText);
}

export const browse = (method, request) => post("/wq.v1.Browse/" + method, request);
export const admin = (method, request) => post("/wq.v1.Admin/" + method, request);
export const queue = (method, request) => post("/wq.v1.Queue/" + method, request);
export const login = (token) => post("/ui/login", { token });
export const logout = () => post("/ui/logout", {});

// null: the server does not answer.
export async function session() {
  try {
    const reply = await fetch("/ui/session");
    return reply.ok ? await reply.json() : null;
  } catch {
    return null;
  }
}

// Why this session may not change anything; null: it may.
export function whyNot({ role, read_only: readOnly }) {
  if (readOnly) return "This page is read-only: nothing can be changed here.";
  if (role !== "operator") return "Your role is viewer: a change needs an operator's token.";
  return null;
}
