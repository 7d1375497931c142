// All tests of the page, in one process: they share a browser and a server.
import "./text_test.mjs";
import "./views_test.mjs";
import "./hostile_test.mjs";
import "./looks_test.mjs";
import "./access_test.mjs";
import "./restart_test.mjs";
import "./actions_test.mjs";
