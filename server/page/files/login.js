// The log-in: a token of the server's file of tokens, for the role that it gives.
import { login } from "./api.js";
import { field, h, heading } from "./dom.js";

export function showLogin(main, done) {
  const token = h("input", { type: "password", name: "token", autocomplete: "current-password",
    required: true });
  const problem = h("p", { role: "alert", class: "problem" });
  const submit = async (event) => {
    event.preventDefault();
    try {
      await login(token.value);
      done();
    } catch (error) {
      problem.textContent = error.message;
      token.select();
    }
  };
  main.replaceChildren(heading("Log in"), h("form", { class: "card login", onsubmit: submit },
    field("Token", token, "The server's operator has it. A viewer's token shows everything and " +
      "changes nothing."),
    h("button", { class: "main" }, "Log in"), problem));
  token.focus();
}
