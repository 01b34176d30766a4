// ../../work/main/test/live/desk.ts
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

// ../../work/main/test/live/mock-venue.ts
import { createServer } from "node:http";
var JWT = "eyJhbGciOiJIUzI1NiJ9.bW9jay12ZW51ZS1zZXNzaW9uLTAwMDAx.c2lnbmF0dXJlLW9mLW1vY2s";
var MockVenue = class {
  heard = [];
  orders = [];
  fills = [];
  /** Asked in turn; the first that reacts decides. `count`: how many such requests (method and path) came, this one included. */
  rules = [];
  /** What becomes of an order that is placed: its status in the first record that is read. */
  outcome = (order) => order.order_type === "market" ? { status: "closed", filled: true } : { status: "open" };
  /** How long an order is not shown after it was placed, ms. */
  hiddenMs = 0;
  /** Whether a second order with a client order id that is known is refused. */
  refusesDuplicates = true;
  authorized = (headers) => headers["authorization"] === `Bearer ${JWT}`;
  jwt = () => [JWT];
  switchTimeout;
  /** How the deadman switch is shown: the record is handed in, undefined where it is not active. */
  showSwitch = (record) => record ?? {};
  /** How a decimal is shown in an answer. */
  shown = (decimal) => decimal;
  next = 1e3;
  server = createServer((request, response) => void this.answer(request, response));
  async open() {
    await new Promise((resolve) => this.server.listen(0, "127.0.0.1", resolve));
    return this;
  }
  get url() {
    return `http://127.0.0.1:${this.server.address().port}`;
  }
  async close() {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
  of(method, path) {
    return this.heard.filter((each) => each.method === method && each.path === path);
  }
  /** Requests that place. */
  get placed() {
    return this.of("POST", "/orders");
  }
  async answer(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const [path = "", query = ""] = (request.url ?? "").split("?");
    const body = Buffer.concat(chunks).toString("utf8");
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const params = { ...queryParams(query), ...bodyParams(body) };
    const heard = { method: request.method ?? "", path, query, headers, body, params, at: Date.now() };
    this.heard.push(heard);
    const count = this.of(heard.method, path).length;
    const reaction = this.rules.map((rule) => rule(heard, count)).find((each) => each !== void 0);
    const usual = reaction === void 0 || reaction.done === true ? this.respond(heard) : { status: 200, body: envelope(null, "NOTHING_DONE") };
    if (reaction?.delayMs !== void 0) await new Promise((resolve) => setTimeout(resolve, reaction.delayMs).unref());
    if (reaction?.cut === true) return void request.socket.destroy();
    const given = reaction?.body ?? usual.body;
    response.writeHead(reaction?.status ?? usual.status, {
      "content-type": "application/json",
      "x-ratelimit-limit": "1200",
      "x-ratelimit-remaining": "1100",
      ...reaction?.headers
    });
    response.end(typeof given === "string" ? given : JSON.stringify(given));
  }
  respond(heard) {
    if (heard.path === "/jwt") return { status: 200, body: envelope(this.jwt()) };
    if (!this.authorized(heard.headers)) return { status: 401, body: envelope([], "UNAUTHORIZED") };
    const { params } = heard;
    switch (`${heard.method} ${heard.path}`) {
      case "GET /account":
      case "PUT /account/leverage":
        return ok([this.account()]);
      case "GET /profile": {
        const tier = { tier: 0, title: "VIP 0", min_volume: "0" };
        return ok([{ tier_status: { current: tier, next: { ...tier, tier: 1 }, needed_volume: "5000000" } }]);
      }
      case "GET /orders":
        return ok(this.listed(params));
      case "POST /orders":
        return this.place(params);
      case "PUT /orders": {
        const order = this.orders.find(({ id: id2 }) => id2 === params["order_id"]);
        if (order === void 0) return refused("ORDER_NOT_FOUND");
        order.price = params["price"] ?? order.price;
        if (params["size"] !== void 0) order.size = order.initial_size = params["size"];
        const { id, market_id, price, profile_id, size } = order;
        return ok([{ id, market_id, price, profile_id, size, status: "amending" }]);
      }
      case "DELETE /orders": {
        const order = this.orders.find(
          ({ id, client_order_id }) => id === params["order_id"] || client_order_id === params["client_order_id"]
        );
        if (order === void 0 || !LIVE.has(order.status)) return refused("ORDER_NOT_FOUND");
        order.status = "canceled";
        return ok([{ id: order.id, market_id: order.market_id, profile_id: order.profile_id, status: "canceling" }]);
      }
      case "DELETE /orders/cancel_all":
        for (const order of this.orders) if (LIVE.has(order.status)) order.status = "canceled";
        return ok([]);
      case "GET /fills":
        return ok(
          this.fills.filter(({ market_id }) => params["market_id"] === void 0 || market_id === params["market_id"])
        );
      case "GET /fills/order":
        return ok(this.fills.filter(({ order_id }) => order_id === params["order_id"]));
      case "POST /cancel_all_after":
        this.switchTimeout = params["timeout"];
        return ok({ market_id: params["market_id"], ...this.switchRecord() });
      case "GET /cancel_all_after":
        return ok(this.showSwitch(this.switchTimeout === void 0 ? void 0 : this.switchRecord()));
      case "DELETE /cancel_all_after":
        this.switchTimeout = void 0;
        return ok(null);
      default:
        return { status: 404, body: envelope(null, "NOT_FOUND") };
    }
  }
  switchRecord() {
    return { profile_id: 7, timeout: Number(this.switchTimeout), last_updated: Date.now() * 1e3, status: "active" };
  }
  place(params) {
    const { market_id = "", side = "", size = "", type = "", price = "0", client_order_id = "" } = params;
    if (/[eE]/.test(size + price)) return refused("INVALID_NUMBER");
    if (this.refusesDuplicates && this.orders.some((each) => each.client_order_id === client_order_id))
      return refused("CLIENT_ORDER_ID_DUPLICATE");
    this.next += 1;
    const order = {
      id: `${market_id}@${this.next}`,
      client_order_id,
      market_id,
      order_type: type,
      side,
      price,
      size,
      initial_size: size,
      total_filled_size: "0",
      status: "processing",
      reason: "",
      profile_id: 7,
      timestamp: Date.now() * 1e3,
      time_in_force: params["time_in_force"] ?? "good_till_cancel",
      ...params["trigger_price"] === void 0 ? {} : { trigger_price: params["trigger_price"] }
    };
    this.orders.push(order);
    const { status, filled, reason } = this.outcome(order);
    order.status = status;
    order.reason = reason ?? "";
    if (filled === true) this.fill(order);
    const { id, profile_id, time_in_force } = order;
    const ack = { id, market_id, profile_id, side, type, client_order_id, time_in_force, status: "processing" };
    return ok([{ ...ack, is_liquidation: false, size: this.shown(size), price: this.shown(price) }]);
  }
  /** Fills an order as a whole, at its price. */
  fill(order) {
    const { market_id, side, price, size, id: order_id } = order;
    this.next += 1;
    this.fills.push({
      id: `${market_id}-${this.next}`,
      trade_id: `${market_id}-${this.next}`,
      order_id,
      market_id,
      profile_id: 7,
      side,
      price: this.shown(price),
      size: this.shown(size),
      fee: this.shown("-0.0178801"),
      is_maker: false,
      liquidation: false,
      timestamp: Date.now() * 1e3
    });
    order.total_filled_size = order.size;
    order.size = "0";
    order.status = "closed";
  }
  listed(params) {
    const { order_id, client_order_id, status, market_id } = params;
    return this.orders.filter((each) => order_id === void 0 || each.id === order_id).filter((each) => client_order_id === void 0 || each.client_order_id === client_order_id).filter((each) => status === void 0 || each.status === status).filter((each) => market_id === void 0 || each.market_id === market_id).filter((each) => Date.now() - each.timestamp / 1e3 >= this.hiddenMs).map((each) => ({
      ...each,
      price: this.shown(each.price),
      size: this.shown(each.size),
      initial_size: this.shown(each.initial_size),
      total_filled_size: this.shown(each.total_filled_size)
    }));
  }
  account() {
    const amounts = ["balance", "withdrawable_balance", "account_equity"].map((key) => [key, this.shown("10000")]);
    const others = [
      "account_leverage",
      "account_margin",
      "health",
      "cum_trading_volume",
      "cum_unrealized_pnl",
      "total_notional",
      "total_order_margin",
      "total_position_margin"
    ].map((key) => [key, this.shown("0")]);
    return {
      id: 7,
      status: "active",
      profile_type: "trader",
      wallet: "0x52908400098527886E0F7030069857D2E4169EE7",
      ...Object.fromEntries([...amounts, ...others]),
      last_liq_check: 0,
      last_update: Date.now() * 1e3,
      leverage: { "BTC-USD": this.shown("5") }
    };
  }
};
var LIVE = /* @__PURE__ */ new Set(["processing", "open", "placed", "amending", "canceling"]);
function envelope(result, error = "") {
  return { success: error === "", error, result };
}
function ok(result) {
  return { status: 200, body: envelope(result) };
}
function refused(error) {
  return { status: 200, body: envelope([], error) };
}
function queryParams(query) {
  return Object.fromEntries(new URLSearchParams(query));
}
function bodyParams(body) {
  if (body === "") return {};
  const quoted = body.replace(/:\s*(-?[0-9][0-9.eE+-]*)\s*(?=[,}])/g, ':"$1"');
  return Object.fromEntries(
    Object.entries(JSON.parse(quoted)).map(([key, value]) => [key, String(value)])
  );
}

// ../../work/main/test/live/desk.ts
var BIN = fileURLToPath(new URL("../../bin/runbook.js", import.meta.url));
function openDesk() {
  const path = mkdtempSync(join(tmpdir(), "runbook-live-"));
  mkdirSync(join(path, "home"));
  const children = [];
  const start = (words, env = { VENUE_JWT: JWT }) => {
    const child = spawn(process.execPath, [BIN, ...words], {
      cwd: path,
      env: { PATH: process.env["PATH"] ?? "", HOME: join(path, "home"), ...env },
      stdio: ["ignore", "pipe", "pipe"]
    });
    children.push(child);
    let out = "";
    let err = "";
    child.stdout.setEncoding("utf8").on("data", (text) => out += text);
    child.stderr.setEncoding("utf8").on("data", (text) => err += text);
    const ended = new Promise((resolve) => child.on("close", (exit) => resolve({ exit, out, err })));
    return { child, ended };
  };
  return {
    path,
    start,
    run: (words, env) => start(words, env).ended,
    write(name, text, mode = 384) {
      writeFileSync(join(path, name), text, { mode });
      return name;
    },
    close() {
      for (const child of children) child.kill("SIGKILL");
      rmSync(path, { recursive: true, force: true });
    },
    files: () => new Map(below(path).map((file) => [file, readFileSync(file, "latin1")]))
  };
}
async function scene(given, play) {
  const venue = await new MockVenue().open();
  given.venue?.(venue);
  const desk = openDesk();
  desk.write("p.yaml", profile(venue.url, given.profile));
  desk.write("one.yaml", given.runbook ?? LIMIT);
  const live = async (words = [], env) => {
    const ended = await desk.run(["run", "one.yaml", "--profile", "p.yaml", "--json", ...words], env);
    return { ...ended, report: document(ended.out) };
  };
  try {
    await play({ ...desk, venue, live });
  } finally {
    desk.close();
    await venue.close();
  }
}
var LIMIT = `runbook: one
dsl: 1
steps:
  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.0001, price: 19800}
outputs: {id: "\${o.id}", filled: o.filled}
`;
function document(out) {
  if (!out.endsWith("\n") || out.trimEnd().includes("\n")) throw new Error(`not one document in one line: ${out}`);
  return JSON.parse(out);
}
function below(folder) {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? below(path) : [path];
  });
}
function profile(url, more = "") {
  const given = new Set(more.split("\n").map((line) => line.split(":")[0]));
  return [
    "profile: mock",
    `base_url: ${url}`,
    "account: main",
    "auth: {mode: jwt, jwt: {env: VENUE_JWT}}",
    'markets: {BTC-USD: {tick: "1", lot: "0.0001", min_size: "0.0001"}}',
    "ambiguity: {window: 3s}"
  ].filter((line) => !given.has(line.split(":")[0])).concat(more).join("\n");
}
async function until(holds, withinMs = 1e4) {
  const end = Date.now() + withinMs;
  while (!holds()) {
    if (Date.now() > end) throw new Error(`did not come true within ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

// e.ts
import { setTimeout as pause } from "node:timers/promises";
var first = (path, reaction, n = 1, method = "POST") => (h, c) => h.method === method && h.path === path && c <= n ? reaction : void 0;
var N = `runbook: one
dsl: 1
steps:
  - id: o
    place: {type: limit, market: BTC-USD, side: long, size: 0.0001, price: 19800}
  - wait: 1s
  - notify: {to: desk, text: "hello"}
  - wait: 1s
  - cancel: o
    await: terminal
`;
var all = {
  async cut() {
    await scene({ venue: (v) => v.rules.push(first("/orders", { done: true, cut: true })) }, async ({ live }) => {
      const r = await live();
      console.log(JSON.stringify(r.report.requests, null, 0));
    });
  },
  async epipe() {
    await scene({ runbook: N, profile: "notify: {desk: {log: true}}" }, async ({ venue, start }) => {
      const s = start(["run", "one.yaml", "--profile", "p.yaml", "--json"]);
      await until(() => venue.placed.length === 1);
      s.child.stderr.destroy();
      s.child.stdout.destroy();
      const code = await new Promise((r) => s.child.on("exit", (c, sig) => r([c, sig])));
      console.log("epipe exit", code, venue.orders.map((o) => o.status));
    });
  },
  async stop() {
    await scene({ runbook: N.replace("wait: 1s", "wait: 3s").replace(/  - notify.*\n/, "") }, async ({ venue, start, run }) => {
      const s = start(["run", "one.yaml", "--profile", "p.yaml", "--json"]);
      await until(() => venue.of("GET", "/orders").length >= 2);
      await pause(100);
      s.child.kill("SIGSTOP");
      const t = Date.now();
      let r;
      do {
        r = await run(["resume", "--json"]);
        if (r.exit === 3) await pause(1e3);
      } while (r.exit === 3);
      console.log("resumed after", Date.now() - t, r.exit, r.out.slice(0, 200), r.err.slice(0, 500));
      const n = venue.heard.length;
      s.child.kill("SIGCONT");
      const e = await s.ended;
      console.log("stopped one", e.exit, e.out.slice(0, 300), e.err.slice(-300), "sent after", venue.heard.length - n);
      const v = await run(["audit", "verify", "--json"]);
      console.log(v.exit, v.out);
    });
  },
  async twice() {
    await scene({ runbook: N, venue: (v) => v.rules.push((h) => h.method === "POST" && h.path === "/orders" ? { done: true, delayMs: 3e3 } : void 0), profile: "notify: {desk: {log: true}}" }, async ({ venue, start }) => {
      const s = start(["run", "one.yaml", "--profile", "p.yaml", "--json"]);
      await until(() => venue.placed.length === 1);
      s.child.kill("SIGINT");
      await pause(200);
      s.child.kill("SIGINT");
      s.child.kill("SIGTERM");
      const e = await s.ended;
      console.log("sigint in POST", e.exit, e.out.slice(0, 400), venue.orders.map((o) => o.status), venue.heard.map((h) => h.method + h.path));
    });
  },
  async killinpost() {
    await scene({ runbook: N, venue: (v) => v.rules.push((h) => h.method === "POST" && h.path === "/orders" ? { done: true, delayMs: 3e3 } : void 0), profile: "notify: {desk: {log: true}}" }, async ({ venue, start, run }) => {
      const s = start(["run", "one.yaml", "--profile", "p.yaml", "--json"]);
      await until(() => venue.placed.length === 1);
      const k = await run(["kill", "--json"]);
      const e = await s.ended;
      console.log("kill in POST", k.exit, k.out, e.exit, e.out.slice(0, 400), venue.orders.map((o) => o.status), venue.heard.map((h) => h.method + h.path));
    });
  },
  async late() {
    await scene({ runbook: N, venue: (v) => v.rules.push((h) => h.method === "POST" && h.path === "/orders" ? { delayMs: 100, cut: true } : void 0), profile: "notify: {desk: {log: true}}\nambiguity: {window: 3s}" }, async ({ venue, start, run }) => {
      const s = start(["run", "one.yaml", "--profile", "p.yaml", "--json"]);
      await until(() => venue.placed.length === 1);
      await pause(300);
      s.child.kill("SIGTERM");
      const e = await s.ended;
      console.log("sigterm while unknown", e.exit, e.out.slice(0, 400), e.err.slice(-500), venue.placed.length);
      const r = await run(["resume", "--json"]);
      console.log(r.exit, r.out, r.err);
    });
  },
  async state() {
    await scene({ profile: "store: {sqlite: st/j.db}" }, async ({ live, files, run, path }) => {
      console.log((await live(["--state", "ss"])).exit);
      console.log([...files().keys()].map((f) => f.slice(path.length)));
      console.log((await run(["audit", "list", "--json", "--state", "ss"])).out, (await run(["audit", "verify", "--json", "--state", "ss"])).out);
    });
  }
};
var pick = process.argv.slice(2);
for (const [n, f] of Object.entries(all)) if (pick.length === 0 || pick.includes(n)) {
  await f().catch((e) => console.log(n, e));
}
process.exit(0);
