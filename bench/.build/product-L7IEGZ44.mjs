// trials/product.ts
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join as join2 } from "node:path";

// ../src/cli/wire.ts
import { createHash as createHash4 } from "node:crypto";

// ../src/base/clock.ts
function settle() {
  return new Promise((resolve2) => setImmediate(resolve2));
}
var TimerHeap = class {
  heap = [];
  asked = 0;
  add(when, turn) {
    const pending = { when, order: this.asked++, turn, cancelled: false };
    this.heap.push(pending);
    this.rise(this.heap.length - 1);
    return {
      cancel() {
        pending.cancelled = true;
      }
    };
  }
  /** The earliest live timer's time, or undefined. */
  next() {
    while (this.heap[0]?.cancelled) this.take();
    return this.heap[0]?.when;
  }
  /** Removes and returns the earliest live timer if it is due by `now`. */
  due(now) {
    const when = this.next();
    return when !== void 0 && when <= now ? this.take() : void 0;
  }
  take() {
    const [first] = this.heap;
    const last = this.heap.pop();
    if (first !== last && last !== void 0) {
      this.heap[0] = last;
      this.sink(0);
    }
    return first;
  }
  before(a, b) {
    const left = this.heap[a];
    const right = this.heap[b];
    return left.when < right.when || left.when === right.when && left.order < right.order;
  }
  swap(a, b) {
    const held = this.heap[a];
    this.heap[a] = this.heap[b];
    this.heap[b] = held;
  }
  rise(from) {
    for (let at = from; at > 0; ) {
      const parent = at - 1 >> 1;
      if (!this.before(at, parent)) return;
      this.swap(at, parent);
      at = parent;
    }
  }
  sink(from) {
    for (let at = from; ; ) {
      const left = 2 * at + 1;
      let least = at;
      if (left < this.heap.length && this.before(left, least)) least = left;
      if (left + 1 < this.heap.length && this.before(left + 1, least)) least = left + 1;
      if (least === at) return;
      this.swap(at, least);
      at = least;
    }
  }
};
var VirtualClock = class {
  timers = new TimerHeap();
  arrivals = [];
  time;
  start;
  constructor(startMs) {
    if (!Number.isSafeInteger(startMs)) throw new RangeError(`not a whole number of milliseconds: ${startMs}`);
    this.time = startMs;
    this.start = startMs;
  }
  now() {
    return this.time;
  }
  monotonic() {
    return this.time - this.start;
  }
  at(whenMs, turn) {
    return this.timers.add(whenMs, turn);
  }
  arrive(turn) {
    this.arrivals.push(turn);
  }
  /** Runs everything that can run without time passing. */
  async quiesce() {
    await settle();
    for (let turn = this.nextTurn(this.time); turn !== void 0; turn = this.nextTurn(this.time)) {
      turn();
      await settle();
    }
  }
  /** Moves to `whenMs`, running each timer due on the way at its own time. Never moves back. */
  async advanceTo(whenMs) {
    await this.quiesce();
    for (let next = this.timers.next(); next !== void 0 && next <= whenMs; next = this.timers.next()) {
      this.time = Math.max(this.time, next);
      await this.quiesce();
    }
    this.time = Math.max(this.time, whenMs);
  }
  /** Sets the time and runs nothing: for what a process slept through. */
  skipTo(whenMs) {
    this.time = Math.max(this.time, whenMs);
  }
  /** Sets the time to `whenMs` at once and runs all timers due by then at that time, as a late real timer would. */
  async jumpTo(whenMs) {
    this.time = Math.max(this.time, whenMs);
    await this.quiesce();
  }
  /** Runs until `work` has settled; throws if it can not: nothing is due and nothing has arrived. */
  async runUntil(work) {
    let done = false;
    const finished = work.finally(() => {
      done = true;
    });
    finished.catch(() => {
    });
    await this.quiesce();
    while (!done) {
      const next = this.timers.next();
      if (next === void 0) throw new Error("virtual time stands still: the work waits for something that never comes");
      this.time = Math.max(this.time, next);
      await this.quiesce();
    }
    return finished;
  }
  nextTurn(now) {
    return this.timers.due(now)?.turn ?? this.arrivals.shift();
  }
};

// ../src/venue/order.ts
import { assign, createActor, setup } from "xstate";

// ../src/base/decimal.ts
import { Decimal as DecimalJs } from "decimal.js";
var Decimal = DecimalJs.clone({
  precision: 60,
  rounding: DecimalJs.ROUND_HALF_EVEN,
  toExpNeg: -9e15,
  toExpPos: 9e15,
  defaults: true
});
var PLAIN = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/;
function parseDecimal(text2, maxDigits = 400) {
  if (text2.length > maxDigits + 2 || !PLAIN.test(text2)) return void 0;
  return new Decimal(text2);
}
function parseAuthoredDecimal(text2) {
  const value2 = parseDecimal(text2);
  if (value2 === void 0) return void 0;
  const [whole2 = "", fraction = ""] = text2.replace("-", "").split(".");
  return fraction.length <= 18 && whole2.length + fraction.length <= 36 ? value2 : void 0;
}
function decimal(text2) {
  if (typeof text2 === "string") {
    const value2 = parseDecimal(text2);
    if (value2 === void 0) throw new RangeError(`not a plain decimal: ${JSON.stringify(text2.slice(0, 60))}`);
    return value2;
  }
  if (typeof text2 === "number" && !Number.isSafeInteger(text2)) throw new RangeError(`not a whole number: ${text2}`);
  return new Decimal(text2);
}
function decimalText(value2) {
  if (!value2.isFinite()) throw new RangeError(`not a finite decimal: ${value2.toString()}`);
  return value2.isZero() ? "0" : value2.toFixed();
}
function roundToStep(value2, step, mode) {
  const rounding = {
    nearest: DecimalJs.ROUND_HALF_UP,
    down: DecimalJs.ROUND_FLOOR,
    up: DecimalJs.ROUND_CEIL
  }[mode];
  return value2.div(step).toDecimalPlaces(0, rounding).times(step);
}
function wholeNumber(value2) {
  const number = Number(value2.toFixed());
  if (!Number.isSafeInteger(number)) throw new RangeError(`not a whole number: ${value2.toFixed()}`);
  return number;
}

// ../src/venue/fills.ts
function sameDecimal(a, b) {
  return a === b || decimal(a).eq(decimal(b));
}
function isZeroDecimal(text2) {
  return text2 === "0" || decimal(text2).isZero();
}
function largerDecimal(a, b) {
  return exceeds(b, a) ? b : a;
}
function exceeds(a, b) {
  return a !== b && decimal(a).gt(decimal(b));
}
function shortfall(a, b) {
  if (b === "0") return a;
  const difference = decimal(a).minus(decimal(b));
  return difference.isNegative() ? "0" : decimalText(difference);
}
function sumOfFills(fills) {
  let sum3 = new Decimal(0);
  for (const fill of fills) sum3 = sum3.plus(decimal(fill.size));
  return decimalText(sum3);
}
function bookFill(fills, filled, fill) {
  const known = fills.get(fill.id);
  if (known === void 0) {
    return {
      fills: new Map(fills).set(fill.id, fill),
      filled: decimalText(decimal(filled).plus(decimal(fill.size))),
      kind: "added"
    };
  }
  if (sameDecimal(known.size, fill.size) && sameDecimal(known.price, fill.price))
    return { fills, filled, kind: "repeated" };
  if (exceeds(known.size, fill.size)) return { fills, filled, kind: "corrected" };
  const corrected = new Map(fills).set(fill.id, fill);
  return { fills: corrected, filled: sumOfFills(corrected.values()), kind: "corrected" };
}

// ../src/venue/order-context.ts
var ORDER_STATES = [
  "draft",
  "submitting",
  "unknown",
  "processing",
  "open",
  "amending",
  "canceling",
  "closed",
  "canceled",
  "rejected",
  "absent",
  "denied",
  "quarantined"
];
var TIMINGS = {
  /** A read may show the terms from before an amend for this long after the amend was resolved: too short would call an applied amend lost. */
  amendLagMs: 3e3,
  /** How many such late reads with the old terms make an amend lost: one alone may come from a replica that hangs. */
  amendLostReads: 2,
  /** A `canceled` seen around an amend must still be there this much later: the venue may show it for an instant (surprise 4). */
  phantomMs: 2e3,
  /** How long after an amend a `canceled` is suspected to be that instant. */
  phantomWindowMs: 2e4,
  /** A read may lag this far behind one that was answered before it. */
  readLagMs: 2500,
  /** `open` read this long after a cancel was answered means that the cancel failed; earlier it may only not have arrived yet. */
  cancelLagMs: 3500,
  /** Like the read lag, but longer: `closed` is reached by fills, and reopening a filled order would be the worse mistake. */
  closedLagMs: 5e3,
  /** Cancels sent for one order before a person is asked. */
  cancelTries: 3,
  /** A state in flight that is older than this wants a read (T_CONFIRM); longer than any request's own time-out would hide a dead one. */
  confirmMs: 15e3,
  /** Late-fill grace after a terminal status (T_SETTLE): twice the longest lag above. */
  settleMs: 1e4,
  /** Reads that found nothing before an order may be called absent. */
  absenceReads: 5,
  /** Default of `ambiguity.window`: how long after the last attempt a request may still arrive at the venue. */
  absenceHorizonMs: 9e4,
  /** Contradictions on one order within the window that make it a case for a person. */
  illegalEvents: 3,
  illegalWindowMs: 6e4
};
function isPositionStop(terms) {
  return terms.type === "stop_loss" || terms.type === "take_profit";
}
function newOrder(intent, at, options = {}) {
  const fraction = isPositionStop(intent);
  return {
    state: "draft",
    context: {
      intent: { ...intent, attempt: 1 },
      since: at,
      price: intent.price,
      size: intent.size,
      authorised: fraction ? void 0 : intent.size,
      fills: /* @__PURE__ */ new Map(),
      filled: "0",
      recordFilled: "0",
      remaining: fraction ? "0" : intent.size,
      overfilled: false,
      absence: { horizonMs: options.absenceHorizonMs ?? TIMINGS.absenceHorizonMs, count: 0, duplicateSeen: false },
      settled: false,
      stale: 0,
      illegal: { cells: [], recent: [], total: 0 }
    }
  };
}

// ../src/venue/order-change.ts
var NOTHING = { alarms: [], wants: [], redundant: false };
function begin(context, from, to) {
  return { order: { ...context }, from, to, alarms: [], wants: [], redundant: false };
}
function changeOf({ order: order3, alarms, wants, redundant }) {
  return { context: order3, alarms, wants, redundant };
}
function raise(draft2, alarm, detail) {
  draft2.alarms.push({ alarm, detail });
}
function want(draft2, wanted) {
  if (!draft2.wants.includes(wanted)) draft2.wants.push(wanted);
}
function enter(draft2, event) {
  const { order: order3, from, to } = draft2;
  order3.since = event.at;
  if (ENDED.has(to)) {
    order3.phantom = void 0;
    order3.terminalAt = event.at;
  } else if (ENDED.has(from)) {
    order3.terminalAt = void 0;
    order3.settled = false;
    if (from !== "absent") raise(draft2, "Resurrected", { from, to, event: event.type });
    else if (event.type !== "SUBMIT") raise(draft2, "Reappeared", { to, event: event.type });
  }
  if (to === "quarantined") {
    raise(draft2, "Quarantined", {
      from,
      event: event.type,
      notFound: order3.absence.count,
      illegal: order3.illegal.recent.length
    });
  }
  const live = to === "processing" || to === "open";
  if (live && order3.cancel !== void 0 && order3.cancel.cause !== "external" && order3.cancel.tries < TIMINGS.cancelTries) {
    want(draft2, "cancel_again");
  }
}
var ENDED = /* @__PURE__ */ new Set([
  "closed",
  "canceled",
  "rejected",
  "absent",
  "denied"
]);

// ../src/venue/order-filled.ts
function takeFilled(draft2, record2, outdated = false) {
  const { order: order3 } = draft2;
  const before = order3.recordFilled;
  order3.recordFilled = largerDecimal(before, record2.total_filled_size);
  if (!outdated && !exceeds(before, record2.total_filled_size)) order3.lastRecord = record2;
  updateRemaining(order3);
  watchOverfill(draft2);
  if (exceeds(order3.recordFilled, order3.filled)) want(draft2, "read_fills");
}
function book(draft2, fill) {
  const { order: order3, from } = draft2;
  const booking = bookFill(order3.fills, order3.filled, fill);
  if (booking.kind === "repeated") {
    draft2.redundant = true;
    return;
  }
  if (booking.kind === "corrected") {
    const known = order3.fills.get(fill.id);
    raise(draft2, "FillCorrected", { fill: fill.id, knownSize: known?.size ?? "", size: fill.size });
  }
  order3.fills = booking.fills;
  order3.filled = booking.filled;
  order3.venueId ??= fill.order_id;
  if (ENDED.has(from) && (order3.settled || exceeds(order3.filled, order3.recordFilled))) {
    raise(draft2, "LateFill", {
      state: from,
      fill: fill.id,
      size: fill.size,
      filled: order3.filled,
      recordFilled: order3.recordFilled
    });
  }
  if (from === "rejected") raise(draft2, "RejectedWithFill", { fill: fill.id, filled: order3.filled });
  if (fill.liquidation) raise(draft2, "ExternalAction", { fill: fill.id, size: fill.size, liquidation: true });
  if (from === "processing" || from === "absent") want(draft2, "resync");
  updateRemaining(order3);
  watchOverfill(draft2);
}
function settle2(draft2) {
  const { order: order3 } = draft2;
  order3.settled = true;
  if (!exceeds(order3.recordFilled, order3.filled)) return;
  raise(draft2, "FillsIncomplete", { filled: order3.filled, recordFilled: order3.recordFilled });
  want(draft2, "read_fills");
}
function updateRemaining(order3) {
  const { lastRecord, filled, recordFilled } = order3;
  const done = largerDecimal(filled, recordFilled);
  const fraction = isPositionStop(order3.intent) && order3.authorised === void 0;
  if (lastRecord !== void 0 && SHOWS_REST.has(lastRecord.status) && sameDecimal(lastRecord.initial_size, order3.size)) {
    order3.remaining = fraction ? "0" : shortfall(lastRecord.size, shortfall(done, lastRecord.total_filled_size));
  } else {
    order3.remaining = fraction ? "0" : shortfall(order3.size, done);
  }
}
var SHOWS_REST = /* @__PURE__ */ new Set([
  "open",
  "placed",
  "processing",
  "amending",
  "canceling",
  "cancelingall"
]);
function watchOverfill(draft2) {
  const { order: order3 } = draft2;
  const done = largerDecimal(order3.filled, order3.recordFilled);
  if (order3.authorised === void 0 || order3.overfilled || !exceeds(done, order3.authorised)) return;
  order3.overfilled = true;
  raise(draft2, "Overfill", { ordered: order3.authorised, filled: order3.filled, recordFilled: order3.recordFilled });
  want(draft2, "halt_market");
}

// ../src/venue/order-guards.ts
var GUARDS = {
  /** Five reads found nothing, the last of them after the horizon, and nothing ever spoke for the order being there. */
  absenceProven: ({ absence, confirmedAt, fills }) => confirmedAt === void 0 && fills.size === 0 && !absence.duplicateSeen && absence.count >= TIMINGS.absenceReads && absence.provenAfter !== void 0 && absence.lastSentAt !== void 0 && absence.lastSentAt > absence.provenAfter,
  /** The requested terms are there, or the old ones are still there in a second read sent late enough. */
  amendSettled: ({ amend: amend2 }, event) => {
    if (amend2?.req === void 0) return true;
    if (!isObservation(event)) return false;
    return showsRequested(amend2, event.record) || isLateOldRead(amend2, event) && amend2.oldReads + 1 >= TIMINGS.amendLostReads;
  },
  /** A read sent long enough after the cancel was answered; while a cancel is in flight no read can speak against it. */
  cancelLost: ({ cancel: cancel2 }, event) => isObservation(event) && cancel2?.ackedAt !== void 0 && event.sentAt > cancel2.ackedAt + TIMINGS.cancelLagMs,
  /** The refusal says that the order has ended: almost always a fill or an earlier cancel won, and a read will tell. */
  cancelOvertaken: (_2, event) => event.type === "CANCEL_REFUSED" && ENDED_TEXT.test(event.message ?? ""),
  /** The end that was seen around an amend is still there in a read sent later. */
  phantomConfirmed: ({ phantom }, event) => isObservation(event) && phantomHolds(phantom, event),
  /** `canceled` after a cancel of ours is final, unless an amend ran so recently that it may be the amend's instant. */
  cancelConfirmed: (context, event) => isObservation(event) && (!amendedLately(context.amend, event.sentAt) || phantomHolds(context.phantom, event)),
  /** The read was sent before the terminal status could have reached every replica. */
  sentBeforeEnd: ({ terminalAt }, event) => isObservation(event) && terminalAt !== void 0 && event.sentAt < terminalAt + TIMINGS.readLagMs,
  /** The same for `closed`, with its longer lag. */
  sentBeforeClose: ({ terminalAt }, event) => isObservation(event) && terminalAt !== void 0 && event.sentAt < terminalAt + TIMINGS.closedLagMs,
  /** No record of it was ever read. */
  neverConfirmed: ({ confirmedAt }) => confirmedAt === void 0,
  /** "Not found" by a read that was sent before the order's first record could have reached every replica. */
  sentBeforeConfirmed: ({ confirmedAt }, event) => event.type === "P_NOT_FOUND" && confirmedAt !== void 0 && event.sentAt < confirmedAt + TIMINGS.readLagMs
};
var ENDED_TEXT = /closed|not[ _-]?found|unknown[ _-]?order|does[ _-]?not[ _-]?exist|no[ _-]?such|duplicat|already|filled|cancell?ed/i;
function isObservation(event) {
  return "record" in event;
}
function showsRequested(amend2, record2) {
  return amend2.req !== void 0 && shows(amend2.req, record2);
}
function isLateOldRead(amend2, event) {
  return amend2.resolvedAt !== void 0 && event.sentAt > amend2.resolvedAt + TIMINGS.amendLagMs && (amend2.oldReadSentAt === void 0 || event.sentAt > amend2.oldReadSentAt) && !showsRequested(amend2, event.record) && shows(amend2.old, event.record);
}
function showsOtherTerms(context, record2) {
  const priced = context.intent.type === "limit" || context.intent.type === "stop_limit";
  if (priced && context.price !== void 0 && !sameDecimal(context.price, record2.price)) return true;
  return !isPositionStop(context.intent) && !sameDecimal(context.size, record2.initial_size);
}
function isForeign(context, event) {
  if (context.venueId === void 0) return false;
  if (event.type === "FILL") return event.fill.order_id !== context.venueId;
  if (event.type === "ACK") return event.orderId !== context.venueId;
  return isObservation(event) && event.record.id !== context.venueId;
}
function shows(terms, record2) {
  return (terms.price === void 0 || sameDecimal(terms.price, record2.price)) && (terms.size === void 0 || sameDecimal(terms.size, record2.initial_size));
}
function phantomHolds(phantom, event) {
  return phantom?.status === event.type && event.sentAt >= phantom.firstReadSentAt + TIMINGS.phantomMs;
}
function amendedLately(amend2, sentAt) {
  if (amend2 === void 0) return false;
  return amend2.resolvedAt === void 0 || sentAt - amend2.resolvedAt <= TIMINGS.phantomWindowMs;
}

// ../src/venue/order-anomalies.ts
function afterAnomaly({ state, context }, event, outcome, quarantine2) {
  if (outcome === "~") return { ...NOTHING, context: { ...context, stale: context.stale + 1 } };
  if (outcome === "X") {
    return { ...NOTHING, context: { ...context, illegal: { ...context.illegal, total: context.illegal.total + 1 } } };
  }
  const draft2 = begin(context, state, quarantine2 ? "quarantined" : state);
  contradict(draft2, event);
  if (quarantine2) enter(draft2, event);
  return draft2.redundant ? { ...NOTHING, context: { ...context, stale: context.stale + 1 }, redundant: true } : changeOf(draft2);
}
function isQuarantineDue(state, context, event, outcome) {
  if (outcome !== "!" || state === "quarantined" || !counts(context, event)) return false;
  return recentIllegal(context, event.at).length + 1 >= TIMINGS.illegalEvents;
}
function contradict(draft2, event) {
  const { order: order3, from } = draft2;
  const foreign = isForeign(order3, event);
  if (event.type === "FILL" && !foreign) book(draft2, event.fill);
  if (isObservation(event) && !foreign) takeFilled(draft2, event.record, true);
  if (draft2.redundant) return;
  const status2 = isObservation(event) ? event.record.status : "";
  const cell = `${from} \xD7 ${event.type}${event.type === "P_STRANGE" ? ` ${status2}` : ""}${foreign ? " foreign" : ""}`;
  const { cells, total } = order3.illegal;
  const recent = counts(order3, event) ? [...recentIllegal(order3, event.at), event.at] : recentIllegal(order3, event.at);
  const known = cells.includes(cell);
  order3.illegal = { cells: known ? cells : [...cells, cell], recent, total: total + 1 };
  want(draft2, "resync");
  if (order3.venueId !== void 0) want(draft2, "read_fills");
  if (!known) raise(draft2, alarmOf(event, foreign), contradictionDetail(order3, from, event));
}
function alarmOf(event, foreign) {
  if (foreign) return "DuplicateOrder";
  return event.type === "P_STRANGE" ? "StrangeStatus" : "Contradiction";
}
function contradictionDetail(order3, from, event) {
  const shown4 = {};
  if (isObservation(event)) {
    shown4["shownId"] = event.record.id;
    shown4["shownStatus"] = event.record.status;
    shown4["shownFilled"] = event.record.total_filled_size;
  } else if (event.type === "FILL") {
    shown4["fill"] = event.fill.id;
    shown4["fillOrder"] = event.fill.order_id;
  }
  return {
    state: from,
    event: event.type,
    knownId: order3.venueId ?? "",
    knownStatus: order3.lastRecord?.status ?? "",
    knownFilled: largerDecimal(order3.filled, order3.recordFilled),
    ...shown4
  };
}
function counts(context, event) {
  return isForeign(context, event) || event.type !== "P_STRANGE" && event.type !== "FILL";
}
function recentIllegal({ illegal }, at) {
  return illegal.recent.filter((each) => at - each <= TIMINGS.illegalWindowMs);
}

// ../src/venue/order-terms.ts
function reviseDraft(order3, { price: price2, size }) {
  order3.intent = { ...order3.intent, price: price2, size: size ?? order3.intent.size };
  order3.price = price2;
  if (size === void 0) return;
  order3.size = size;
  if (isPositionStop(order3.intent)) return;
  order3.authorised = size;
  order3.remaining = size;
}
function beginAmend(order3, event) {
  order3.amend = { old: { price: order3.price, size: order3.size }, req: termsOf(event), sentAt: event.at, oldReads: 0 };
  order3.cancel = void 0;
  if (event.size !== void 0 && order3.authorised !== void 0)
    order3.authorised = largerDecimal(order3.authorised, event.size);
}
function resolveAmend(order3, at, req) {
  const known = order3.amend ?? { old: { price: order3.price, size: order3.size }, req, sentAt: at, oldReads: 0 };
  order3.amend = { ...known, resolvedAt: at, oldReads: 0, oldReadSentAt: void 0, outcome: void 0 };
}
function takeTerms(draft2, event, first) {
  const { order: order3, from, to } = draft2;
  const { record: record2 } = event;
  const { amend: amend2 } = order3;
  if (from === "amending" && to === "amending") {
    if (amend2 !== void 0 && isLateOldRead(amend2, event)) {
      order3.amend = { ...amend2, oldReads: amend2.oldReads + 1, oldReadSentAt: event.sentAt };
    }
    return "taken";
  }
  if (to !== "open") return "taken";
  if (from === "canceling") {
    raise(draft2, "CancelLost", { tries: order3.cancel?.tries ?? 0, cause: order3.cancel?.cause ?? "run" });
  }
  if (amend2 !== void 0 && amend2.outcome === void 0) {
    const outcome = amendOutcome(amend2, event, from);
    if (outcome === void 0) return "outdated";
    order3.amend = { ...amend2, outcome, resolvedAt: amend2.resolvedAt ?? event.at };
    if (outcome === "lost") raise(draft2, "AmendLost", termsDetail(amend2, record2));
    if (amend2.req === void 0) noteExternalChange(draft2, record2);
    adoptTerms(order3, record2, event.at);
    return "taken";
  }
  if (!showsOtherTerms(order3, record2)) {
    if (first || isPositionStop(order3.intent)) adoptTerms(order3, record2, void 0);
    return "taken";
  }
  if (order3.termsSince !== void 0 && event.sentAt <= order3.termsSince + TIMINGS.amendLagMs) return "outdated";
  noteExternalChange(draft2, record2);
  adoptTerms(order3, record2, first ? void 0 : event.at);
  return "taken";
}
function amendOutcome(amend2, { record: record2, sentAt }, from) {
  if (amend2.req === void 0 || showsRequested(amend2, record2)) return "applied";
  const late = amend2.resolvedAt !== void 0 && sentAt > amend2.resolvedAt + TIMINGS.amendLagMs;
  return late || from === "amending" ? "lost" : void 0;
}
function termsDetail(amend2, record2) {
  return {
    ...amend2.req?.price === void 0 ? {} : { requestedPrice: amend2.req.price },
    ...amend2.req?.size === void 0 ? {} : { requestedSize: amend2.req.size },
    price: record2.price,
    size: record2.initial_size
  };
}
function noteExternalChange(draft2, record2) {
  const { order: order3 } = draft2;
  if (!showsOtherTerms(order3, record2)) return;
  raise(draft2, "ExternalChange", {
    oldPrice: order3.price ?? "",
    oldSize: order3.size,
    price: record2.price,
    size: record2.initial_size
  });
}
function adoptTerms(order3, record2, since) {
  order3.termsSince = since ?? order3.termsSince;
  order3.price = record2.price;
  order3.size = record2.initial_size;
  const most2 = largerDecimal(
    record2.initial_size,
    decimalText(decimal(record2.size).plus(decimal(record2.total_filled_size)))
  );
  if (!isPositionStop(order3.intent)) order3.authorised = largerDecimal(order3.authorised ?? most2, most2);
  else if (!sameDecimal(order3.intent.size, record2.initial_size))
    order3.authorised = largerDecimal(order3.authorised ?? most2, most2);
}
function noteAmending(order3, event) {
  const { amend: amend2 } = order3;
  if (amend2 !== void 0 && amend2.outcome === void 0) return;
  const old = { price: order3.price, size: order3.size };
  const lately = amend2?.resolvedAt !== void 0 && event.sentAt - amend2.resolvedAt <= TIMINGS.phantomWindowMs;
  order3.amend = lately ? { ...amend2, outcome: void 0, oldReads: 0, oldReadSentAt: void 0 } : { old, sentAt: event.sentAt, resolvedAt: event.at, oldReads: 0 };
}
function termsOf({ price: price2, size }) {
  return { ...price2 === void 0 ? {} : { price: price2 }, ...size === void 0 ? {} : { size } };
}

// ../src/venue/order-updates.ts
function afterEvent(context, from, to, event) {
  const draft2 = begin(context, from, to);
  take(draft2, event);
  if (from !== to) enter(draft2, event);
  return draft2.redundant ? { ...NOTHING, context: { ...context, stale: context.stale + 1 }, redundant: true } : changeOf(draft2);
}
function take(draft2, event) {
  const { order: order3, from, to } = draft2;
  switch (event.type) {
    case "SUBMIT":
      if (from === "absent") forgetAttempt(order3);
      return;
    case "DENY":
    case "REFUSED":
      order3.reason = event.message ?? order3.reason;
      return;
    case "AMEND":
      if (from === "draft") reviseDraft(order3, event);
      else beginAmend(order3, event);
      return;
    case "CANCEL":
      askCancel(draft2, event.cause ?? "run", event.at);
      return;
    case "ACK":
      if (event.orderId !== "") order3.venueId ??= event.orderId;
      settleSubmission(order3, event.at);
      return;
    case "RATE_LIMITED":
      order3.reason = void 0;
      return;
    case "DUPLICATE":
      settleSubmission(order3, event.at);
      order3.absence = { ...order3.absence, duplicateSeen: true };
      want(draft2, "resync");
      return;
    case "SUBMIT_UNKNOWN":
      settleSubmission(order3, event.at);
      want(draft2, "resync");
      return;
    case "AMEND_ACK":
    case "AMEND_UNKNOWN":
      resolveAmend(order3, event.at, event.type === "AMEND_ACK" ? termsOf(event) : void 0);
      want(draft2, "resync");
      return;
    case "AMEND_REFUSED":
      if (order3.amend !== void 0) order3.amend = { ...order3.amend, resolvedAt: event.at, outcome: "refused" };
      order3.phantom = void 0;
      return;
    case "CANCEL_ACK":
    case "CANCEL_UNKNOWN":
      resolveCancel(order3, order3.cancel?.cause ?? "run", event.at);
      want(draft2, "resync");
      return;
    case "CANCEL_FINAL":
      resolveCancel(order3, order3.cancel?.cause ?? "run", event.at);
      want(draft2, "resync");
      return;
    case "CANCEL_REFUSED":
      order3.reason = event.message ?? order3.reason;
      if (to === "open") order3.cancel = void 0;
      want(draft2, "resync");
      return;
    case "CANCELALL_ACK":
    case "CANCELALL_UNKNOWN":
    case "DEADMAN":
      sweep(draft2, event.type === "DEADMAN" ? "deadman" : "cancel_all", event.at);
      return;
    case "P_NOT_FOUND":
      countAbsence(order3, event.sentAt);
      return;
    case "FILL":
      book(draft2, event.fill);
      return;
    case "T_CONFIRM":
      if (from === "submitting") settleSubmission(order3, event.at);
      want(draft2, "resync");
      return;
    case "T_EXHAUSTED":
      if (from === "submitting") settleSubmission(order3, event.at);
      if (to === "unknown") want(draft2, "resync");
      return;
    case "T_SETTLE":
      settle2(draft2);
      return;
    case "P_PROCESSING":
    case "P_OPEN":
    case "P_AMENDING":
    case "P_CANCELING":
    case "P_CLOSED":
    case "P_CANCELED":
    case "P_REJECTED":
    case "P_STRANGE":
      observe(draft2, event);
      return;
    default:
      event;
  }
}
function forgetAttempt(order3) {
  order3.intent = { ...order3.intent, attempt: order3.intent.attempt + 1 };
  order3.absence = { horizonMs: order3.absence.horizonMs, count: 0, duplicateSeen: false };
  order3.venueId = void 0;
  order3.cancel = void 0;
}
function settleSubmission(order3, at) {
  const { horizonMs, duplicateSeen } = order3.absence;
  order3.absence = { horizonMs, duplicateSeen, count: 0, abortAt: at, provenAfter: at + horizonMs };
}
function countAbsence(order3, sentAt) {
  const { absence } = order3;
  if (absence.abortAt === void 0 || sentAt < absence.abortAt) return;
  order3.absence = {
    ...absence,
    count: absence.count + 1,
    firstAt: absence.firstAt ?? sentAt,
    lastSentAt: Math.max(sentAt, absence.lastSentAt ?? sentAt)
  };
}
function askCancel({ order: order3, from }, cause, at) {
  if (ENDED.has(from) || from === "draft") return;
  const tries = (order3.cancel?.tries ?? 0) + (from === "submitting" ? 0 : 1);
  order3.cancel = { cause: order3.cancel?.cause ?? cause, sentAt: at, tries };
}
function resolveCancel(order3, cause, at) {
  const known = order3.cancel ?? { cause, sentAt: at, tries: 0 };
  order3.cancel = { ...known, ackedAt: at };
}
function sweep(draft2, cause, at) {
  const { order: order3, from, to } = draft2;
  if (to === "canceling") {
    order3.cancel = { ...order3.cancel ?? { sentAt: at, tries: 0 }, cause, ackedAt: at };
    want(draft2, "resync");
  } else if (from === "unknown" || from === "quarantined") {
    want(draft2, "resync");
  }
}
function observe(draft2, event) {
  const { order: order3, to } = draft2;
  const { record: record2 } = event;
  const first = order3.confirmedAt === void 0;
  order3.venueId ??= record2.id;
  order3.confirmedAt ??= event.at;
  if (record2.reason !== "") order3.reason = record2.reason;
  watchPhantom(draft2, event);
  const outdated = event.type === "P_OPEN" && takeTerms(draft2, event, first) === "outdated";
  if (first && event.type !== "P_OPEN") adoptTerms(order3, record2, void 0);
  if (event.type === "P_AMENDING") noteAmending(order3, event);
  if (event.type === "P_CANCELING" && (order3.cancel === void 0 || order3.cancel.ackedAt === void 0)) {
    resolveCancel(order3, "external", event.at);
  }
  takeFilled(draft2, record2, outdated);
  if (to === "rejected" && !isZeroDecimal(order3.recordFilled) && isZeroDecimal(order3.filled)) {
    raise(draft2, "RejectedWithFill", { recordFilled: order3.recordFilled });
  }
}
function watchPhantom({ order: order3, from, to }, event) {
  const ending = event.type === "P_CANCELED" || event.type === "P_REJECTED";
  if (!ending || from !== to) {
    if (!ending) order3.phantom = void 0;
    return;
  }
  if (from !== "amending" && from !== "canceling") return;
  if (order3.phantom?.status !== event.type) order3.phantom = { status: event.type, firstReadSentAt: event.sentAt };
}

// ../src/venue/order.ts
function split(guard, then, otherwise) {
  return { arms: [[guard, then]], otherwise };
}
var [
  draft,
  submitting,
  unknown,
  processing,
  open,
  amending,
  canceling,
  closed,
  canceled,
  rejected,
  absent,
  denied,
  quarantin
] = ORDER_STATES;
var X = "X";
var _ = ".";
var Z = "~";
var C = "!";
var orQuarant = split("absenceProven", absent, quarantin);
var amendOpen = split("amendSettled", open, _);
var cancelLst = split("cancelLost", open, _);
var cancelRef = split("cancelOvertaken", _, open);
var phantCanc = split("phantomConfirmed", canceled, _);
var phantReje = split("phantomConfirmed", rejected, _);
var cancelCon = split("cancelConfirmed", canceled, _);
var closedLag = split("sentBeforeClose", Z, C);
var endedOpen = split("sentBeforeEnd", Z, open);
var notFound = split("sentBeforeConfirmed", Z, C);
var notFoundC = {
  arms: [
    ["neverConfirmed", _],
    ["sentBeforeConfirmed", Z]
  ],
  otherwise: C
};
var ROWS = {
  //                  draft       submitting  unknown     processing  open        amending    canceling   closed      canceled    rejected    absent      denied      quarantined
  // Commands. Only a draft, or an order proven absent, may be sent: a second POST is a second order.
  SUBMIT: [submitting, X, X, X, X, X, X, X, X, X, submitting, X, X],
  DENY: [denied, X, X, X, X, X, X, X, X, X, X, _, X],
  // One amend at a time, and none before the terms are known. A draft's terms change without a request.
  AMEND: [_, X, X, X, amending, X, X, X, X, X, X, X, X],
  // Never refused: cancelling what has ended is harmless, refusing to cancel what lives is not. In `submitting` the wish is kept until an id is known.
  CANCEL: [denied, _, _, canceling, canceling, canceling, _, _, _, _, _, _, _],
  // Answers to a POST. A late ACK heals `unknown`, `absent` and `quarantined`: it is the venue's word that the order exists.
  ACK: [X, processing, processing, Z, Z, Z, Z, Z, Z, Z, processing, X, processing],
  REFUSED: [X, rejected, rejected, Z, Z, Z, Z, Z, Z, Z, Z, X, _],
  // A 429 is definite: nothing was placed, and the same attempt may be sent again.
  RATE_LIMITED: [X, draft, _, Z, Z, Z, Z, Z, Z, Z, Z, X, _],
  // "Duplicate" means that it exists: look it up, and never call it absent (venue-notes.md, surprise 11).
  DUPLICATE: [X, unknown, _, Z, Z, Z, Z, Z, Z, Z, unknown, X, _],
  SUBMIT_UNKNOWN: [X, unknown, _, Z, Z, Z, Z, Z, Z, Z, Z, X, _],
  // Answers to a PUT. In `open` a late one re-opens the question: the terms are unknown again until a record shows them.
  AMEND_ACK: [X, X, C, C, amending, _, _, Z, Z, Z, Z, X, _],
  AMEND_REFUSED: [X, X, C, Z, Z, open, _, Z, Z, Z, Z, X, _],
  AMEND_UNKNOWN: [X, X, C, Z, amending, _, _, Z, Z, Z, Z, X, _],
  // Answers to a DELETE. An acknowledged cancel is an intent; only CANCEL_FINAL, whose status is `canceled`, is an end.
  CANCEL_ACK: [X, X, canceling, canceling, canceling, canceling, _, Z, Z, Z, Z, X, _],
  CANCEL_FINAL: [X, X, canceled, canceled, canceled, canceled, canceled, Z, Z, Z, Z, X, canceled],
  // Refused because it has ended already: stay and read, for a fill or an earlier cancel won. Refused otherwise: it still works.
  CANCEL_REFUSED: [X, X, _, _, Z, _, cancelRef, Z, Z, Z, Z, X, _],
  CANCEL_UNKNOWN: [X, X, _, canceling, canceling, canceling, _, Z, Z, Z, Z, X, _],
  // Account-wide cancels. Each order still needs a terminal record of its own; what survives is swept again. One in flight may land behind them.
  CANCELALL_ACK: [_, _, _, canceling, canceling, canceling, _, Z, Z, Z, Z, Z, _],
  CANCELALL_UNKNOWN: [_, _, _, canceling, canceling, canceling, _, Z, Z, Z, Z, Z, _],
  DEADMAN: [_, _, _, canceling, canceling, canceling, _, Z, Z, Z, Z, Z, _],
  // Records. A draft or denied order was never sent: whatever is read of it is somebody else's, or our mistake.
  P_PROCESSING: [C, processing, processing, _, Z, Z, _, Z, Z, Z, processing, C, _],
  // `amending`: only the requested terms, or the old ones late and twice, settle it. `canceling`: a lost cancel only if the read was sent late.
  // `canceled`, `rejected`: a read from before the end is stale, a later one re-opens. `closed` is never re-opened: fills closed it.
  P_OPEN: [C, open, open, open, _, amendOpen, cancelLst, closedLag, endedOpen, endedOpen, open, C, open],
  // Nobody can amend what has not been seen: before `open` it contradicts. `rejected` keeps its end: only P_OPEN re-opens it.
  P_AMENDING: [C, C, C, C, amending, _, _, Z, endedOpen, Z, C, C, _],
  P_CANCELING: [C, canceling, canceling, canceling, canceling, canceling, _, Z, Z, Z, canceling, C, _],
  // Terminal records are admissible at once. `closed` outranks `canceled` and `rejected`: a fill that won shows last.
  P_CLOSED: [C, closed, closed, closed, closed, closed, closed, _, closed, closed, closed, C, closed],
  // Around an amend the venue may show `canceled` for an instant (surprise 4): there it must be seen twice.
  P_CANCELED: [C, canceled, canceled, canceled, canceled, phantCanc, cancelCon, C, _, C, canceled, C, canceled],
  P_REJECTED: [C, rejected, rejected, rejected, rejected, phantReje, rejected, C, C, _, rejected, C, rejected],
  // An unknown status never crashes and never ends anything; reported once, and not counted towards quarantine (reliability.md, row 56).
  P_STRANGE: [C, C, C, C, C, C, C, C, C, C, C, C, C],
  // Not found is not "not placed" (surprise 2): counted while nothing was ever seen, contradicting once something was.
  P_NOT_FOUND: [_, _, _, _, notFound, notFound, notFoundC, Z, Z, Z, _, _, _],
  // A fill is booked in every state, the contradicting ones too: exposure must not wait for an explanation.
  FILL: [C, _, _, open, _, _, _, _, _, C, open, C, _],
  // Time. What is not resolved when the reads are used up is a person's case; only a never-seen order can be proven absent.
  T_CONFIRM: [Z, unknown, _, _, _, _, _, Z, Z, Z, Z, Z, _],
  T_EXHAUSTED: [Z, unknown, orQuarant, quarantin, quarantin, quarantin, orQuarant, Z, Z, Z, Z, Z, _],
  T_SETTLE: [Z, Z, Z, Z, Z, Z, Z, _, _, _, _, _, Z]
};
var ORDER_EVENT_TYPES = Object.keys(ROWS);
var TRANSITIONS = Object.fromEntries(
  ORDER_EVENT_TYPES.map((type) => [
    type,
    Object.fromEntries(ORDER_STATES.map((state, column) => [state, ROWS[type][column]]))
  ])
);
var TERMINAL = /* @__PURE__ */ new Set([closed, canceled, rejected, absent, denied]);
var WORKING = /* @__PURE__ */ new Set([
  submitting,
  unknown,
  processing,
  open,
  amending,
  canceling,
  quarantin
]);
function isTerminal(state) {
  return TERMINAL.has(state);
}
function isWorking(state) {
  return WORKING.has(state);
}
function exposureOf({ state, context }) {
  const filled = largerDecimal(context.filled, context.recordFilled);
  if (!isWorking(state)) return { filled, worstRemaining: "0" };
  if (isPositionStop(context.intent)) return { filled, worstRemaining: context.remaining };
  const rest = largerDecimal(context.remaining, shortfall(context.size, filled));
  const { amend: amend2 } = context;
  const pending = amend2?.outcome === void 0 ? amend2?.req?.size : void 0;
  return { filled, worstRemaining: pending === void 0 ? rest : largerDecimal(rest, pending) };
}
var OBSERVATIONS = {
  processing: "P_PROCESSING",
  open: "P_OPEN",
  placed: "P_OPEN",
  amending: "P_AMENDING",
  canceling: "P_CANCELING",
  cancelingall: "P_CANCELING",
  closed: "P_CLOSED",
  canceled: "P_CANCELED",
  rejected: "P_REJECTED"
};
function observationOf(record2) {
  return (Object.hasOwn(OBSERVATIONS, record2.status) ? OBSERVATIONS[record2.status] : void 0) ?? "P_STRANGE";
}
function observed(record2, sentAt, at) {
  return { type: observationOf(record2), record: record2, sentAt, at };
}
function outcomeOf({ state, context }, event) {
  if (isForeign(context, event)) return "!";
  const cell = TRANSITIONS[event.type][state];
  if (typeof cell === "string") return cell;
  for (const [guard, then] of cell.arms) if (GUARDS[guard](context, event)) return then;
  return cell.otherwise;
}
function dispositionOf(outcome, redundant) {
  if (redundant || outcome === "~") return "stale";
  if (outcome === "!") return "contradiction";
  if (outcome === "X") return "caller_error";
  return outcome === "." ? "updated" : "moved";
}
var machineSetup = setup({
  types: {
    context: {},
    events: {},
    input: {},
    tags: {}
  },
  guards: {
    /** A split cell's arm: named in the drawing by the guard that opens it. */
    cell: ({ context, event }, { state, is }) => event.type !== "ANOMALY" && outcomeOf({ state, context: context.order }, event) === is,
    thirdContradiction: ({ context, event }, { state }) => event.type === "ANOMALY" && isQuarantineDue(state, context.order, event.event, event.outcome)
  },
  actions: {
    take: assign(({ context, event }, { from, to }) => {
      if (event.type === "ANOMALY") {
        const order3 = { state: from, context: context.order };
        return contextOf(afterAnomaly(order3, event.event, event.outcome, to !== from));
      }
      return contextOf(afterEvent(context.order, from, to, event));
    })
  }
});
function contextOf({ context, alarms, wants, redundant }) {
  return { order: context, alarms, wants, redundant };
}
function way(from, to) {
  const take3 = { type: "take", params: { from, to } };
  return to === from ? { actions: take3 } : { target: to, actions: take3 };
}
function waysOf(state, cell) {
  const split2 = typeof cell === "string" ? { arms: [], otherwise: cell } : cell;
  const named4 = split2.arms.map(([guard, is]) => ({ is, when: guard }));
  const arms = [...named4, { is: split2.otherwise, when: split2.arms.map(([guard]) => `not ${guard}`).join(" and ") }];
  return arms.flatMap(({ is, when }) => {
    if (is === "~" || is === "!" || is === "X") return [];
    const taken = way(state, is === "." ? state : is);
    return [when === "" ? taken : { ...taken, guard: { type: "cell", params: { state, is, when } } }];
  });
}
function stateNode(state) {
  const on = Object.fromEntries(
    ORDER_EVENT_TYPES.map((type) => [type, waysOf(state, TRANSITIONS[type][state])])
  );
  const anomaly = [
    { ...way(state, "quarantined"), guard: { type: "thirdContradiction", params: { state } } },
    way(state, state)
  ];
  return {
    tags: isTerminal(state) ? ["terminal"] : isWorking(state) ? ["working"] : [],
    on: { ...on, ANOMALY: anomaly }
  };
}
var orderMachine = machineSetup.createMachine({
  id: "order",
  context: ({ input: input2 }) => ({
    order: newOrder(input2.intent, input2.at, input2.options).context,
    alarms: [],
    wants: [],
    redundant: false
  }),
  initial: "draft",
  states: Object.fromEntries(ORDER_STATES.map((state) => [state, stateNode(state)]))
});
var OrderActor = class {
  actor;
  /** `at` is epoch ms; the intent must be durable before SUBMIT is sent here. */
  constructor(intent, at, options = {}) {
    this.actor = createActor(orderMachine, { input: { intent, at, options } });
    this.actor.subscribe({ error: () => {
    } });
    this.actor.start();
  }
  get snapshot() {
    const { value: value2, context } = this.actor.getSnapshot();
    return { state: value2, context: context.order };
  }
  /** Folds one event. An event that the state does not take is counted or kept as a contradiction, never lost. */
  send(event) {
    const before = this.actor.getSnapshot();
    const order3 = { state: before.value, context: before.context.order };
    const taken = !isForeign(order3.context, event) && before.can(event);
    const outcome = taken ? void 0 : outcomeOf(order3, event);
    if (outcome === void 0) this.actor.send(event);
    else if (outcome === "~" || outcome === "!" || outcome === "X")
      this.actor.send({ type: "ANOMALY", event, outcome });
    else throw new Error(`order: the machine does not take ${event.type} in ${order3.state}, the table does`);
    const after2 = this.actor.getSnapshot();
    if (after2.status === "error") throw after2.error;
    const state = after2.value;
    const { order: context, alarms, wants, redundant } = after2.context;
    const moved = state !== order3.state;
    return {
      snapshot: { state, context },
      moved,
      disposition: dispositionOf(outcome ?? (moved ? state : "."), redundant),
      alarms,
      wants
    };
  }
};

// ../src/journal/orders.ts
var OrderBook = class {
  options;
  byClientId = /* @__PURE__ */ new Map();
  byVenueId = /* @__PURE__ */ new Map();
  intended = /* @__PURE__ */ new Map();
  settledListeners = /* @__PURE__ */ new Set();
  changeListeners = /* @__PURE__ */ new Set();
  constructor(options = {}) {
    this.options = options;
  }
  get(clientOrderId2) {
    return this.byClientId.get(clientOrderId2)?.order;
  }
  byId(orderId2) {
    return this.byVenueId.get(orderId2)?.order;
  }
  orders() {
    return [...this.byClientId.values()].map(({ order: order3 }) => order3);
  }
  /** Told of every settled call, after the orders have taken it in. */
  onSettled(listener) {
    this.settledListeners.add(listener);
    return () => void this.settledListeners.delete(listener);
  }
  /** Told of every move and alarm, in order. */
  onChange(listener) {
    this.changeListeners.add(listener);
    return () => void this.changeListeners.delete(listener);
  }
  /** Takes in one entry, in the order of the journal. Entries that concern no order do nothing. */
  apply(entry) {
    const changes = [];
    const send = (tracked, event) => {
      const change = tracked === void 0 ? void 0 : this.send(tracked, event);
      if (change !== void 0) changes.push(change);
    };
    switch (entry.type) {
      case "call.intended":
        this.intend(entry);
        break;
      case "call.attempted":
        this.attempted(entry, send);
        break;
      case "call.settled":
        this.settled(entry, send);
        break;
      case "order.concluded": {
        const { event, clientOrderId: clientOrderId2, because } = entry.data;
        const detail = event === "DENY" || event === "REFUSED" ? { message: because } : {};
        send(this.byClientId.get(clientOrderId2), { type: event, at: entry.at, ...detail });
        break;
      }
      case "deadman.moved":
        if (entry.data.event === "assumed_fired") for (const tracked of this.byClientId.values()) send(tracked, { type: "DEADMAN", at: entry.at });
        break;
      default:
        break;
    }
    for (const change of changes) for (const listener of this.changeListeners) listener(change);
    return changes;
  }
  intend(entry) {
    const { data, at, step } = entry;
    this.intended.set(data.call, data);
    const { intent } = data;
    if (intent === void 0 || this.byClientId.has(intent.clientOrderId)) return;
    const actor = new OrderActor(intent, at, this.options);
    this.byClientId.set(intent.clientOrderId, { actor, order: { intent, createdAt: at, step, snapshot: newOrder(intent, at, this.options), history: [] } });
  }
  attempted(entry, send) {
    const call3 = this.intended.get(entry.data.call);
    const { at } = entry;
    switch (call3?.endpoint) {
      case "POST /orders":
        send(this.ordered(call3), { type: "SUBMIT", at });
        return;
      case "PUT /orders": {
        const { price: price2, size } = call3?.params;
        send(this.ordered(call3), { type: "AMEND", at, price: price2, size });
        return;
      }
      case "DELETE /orders":
        send(this.ordered(call3), { type: "CANCEL", at });
        return;
      default:
        return;
    }
  }
  settled(entry, send) {
    const { data, at } = entry;
    const call3 = this.intended.get(data.call);
    if (call3 === void 0) return;
    this.intended.delete(data.call);
    const sentAt = data.sentAt ?? at;
    switch (call3.endpoint) {
      case "POST /orders":
        send(this.ordered(call3), placementEvent(data, at));
        break;
      case "PUT /orders":
        send(this.ordered(call3), amendEvent(data, at));
        break;
      case "DELETE /orders":
        send(this.ordered(call3), cancelEvent(data, at));
        break;
      case "DELETE /orders/cancel_all":
        for (const tracked of this.byClientId.values()) {
          if (data.kind === "confirmed") send(tracked, { type: "CANCELALL_ACK", at });
          if (data.kind === "unresolved") send(tracked, { type: "CANCELALL_UNKNOWN", at });
        }
        break;
      case "GET /orders":
        if (data.kind === "confirmed") this.read(call3, data.result, sentAt, at, send);
        break;
      case "GET /fills":
      case "GET /fills/order":
        if (data.kind !== "confirmed") break;
        for (const fill of [...data.result].reverse()) {
          send(this.byVenueId.get(fill.order_id), { type: "FILL", at, fill });
        }
        break;
      default:
        break;
    }
    for (const listener of this.settledListeners) listener({ endpoint: call3.endpoint, kind: data.kind, sentAt: data.sentAt, at });
  }
  read(call3, records, sentAt, at, send) {
    for (const record2 of records) {
      const tracked = this.byVenueId.get(record2.id) ?? this.byClientId.get(record2.client_order_id);
      send(tracked, observed(record2, sentAt, at));
    }
    const { order_id, client_order_id, status: status2 } = call3.params;
    if (records.length > 0 || status2 !== void 0) return;
    if (client_order_id !== void 0) send(this.byClientId.get(client_order_id), { type: "P_NOT_FOUND", at, sentAt });
    else if (order_id !== void 0) send(this.byVenueId.get(order_id), { type: "P_NOT_FOUND", at, sentAt });
  }
  ordered(call3) {
    if (call3 === void 0) return void 0;
    const id = call3.intent?.clientOrderId ?? call3.clientOrderId;
    const tracked = id === void 0 ? void 0 : this.byClientId.get(id);
    const { order_id } = call3.params;
    return tracked ?? (order_id === void 0 ? void 0 : this.byVenueId.get(order_id));
  }
  send(tracked, event) {
    const from = tracked.order.snapshot.state;
    const step = tracked.actor.send(event);
    tracked.order.snapshot = step.snapshot;
    const to = step.snapshot.state;
    const { venueId } = step.snapshot.context;
    if (venueId !== void 0 && !this.byVenueId.has(venueId)) this.byVenueId.set(venueId, tracked);
    if (from !== to) tracked.order.history.push({ at: event.at, from, to, event: event.type });
    if (from === to && step.alarms.length === 0 && step.wants.length === 0) return void 0;
    return { order: tracked.order, from, to, event: event.type, alarms: step.alarms, wants: step.wants };
  }
};
function placementEvent(data, at) {
  const message = data.message ?? "";
  switch (data.kind) {
    case "confirmed": {
      const [ack] = data.result;
      return { type: "ACK", at, orderId: ack?.id ?? "" };
    }
    case "denied":
      return data.code === "JOURNAL" ? { type: "RATE_LIMITED", at } : { type: "DENY", at, message };
    case "unresolved":
      return { type: "SUBMIT_UNKNOWN", at, message };
    case "rejected":
      if (data.failure === "duplicate") return { type: "DUPLICATE", at, message };
      if (data.failure === "rate_limited" || data.failure === "transport" || data.failure === "unauthorized") return { type: "RATE_LIMITED", at };
      return data.definite === false ? { type: "SUBMIT_UNKNOWN", at, message } : { type: "REFUSED", at, message };
    default:
      return data.kind;
  }
}
function amendEvent(data, at) {
  if (data.kind === "confirmed") {
    const [ack] = data.result;
    return { type: "AMEND_ACK", at, price: ack?.price, size: ack?.size };
  }
  return data.kind === "unresolved" ? { type: "AMEND_UNKNOWN", at } : { type: "AMEND_REFUSED", at, message: data.message ?? "" };
}
function cancelEvent(data, at) {
  if (data.kind === "confirmed") {
    const [ack] = data.result;
    return { type: ack?.status === "canceled" ? "CANCEL_FINAL" : "CANCEL_ACK", at };
  }
  return data.kind === "unresolved" ? { type: "CANCEL_UNKNOWN", at } : { type: "CANCEL_REFUSED", at, message: data.message ?? "" };
}

// ../src/runbook/values.ts
var Duration = class {
  ms;
  constructor(ms) {
    if (!Number.isSafeInteger(ms)) throw new RangeError(`a duration is a whole number of milliseconds, found ${ms}`);
    this.ms = ms;
  }
};
var Time = class _Time {
  us;
  constructor(us) {
    if (!Number.isSafeInteger(us)) throw new RangeError(`a time is a whole number of microseconds, found ${us}`);
    this.us = us;
  }
  static ofMs(ms) {
    return new _Time(ms * 1e3);
  }
  get ms() {
    return Math.floor(this.us / 1e3);
  }
};
var NotKnown = class extends Error {
  what;
  constructor(what) {
    super(`${what} is known after the run only`);
    this.what = what;
  }
};
var EvaluationFailure = class extends Error {
  expression;
  constructor(message, expression2) {
    super(message);
    this.name = "EvaluationFailure";
    this.expression = expression2;
  }
};
function valueJson(value2) {
  if (value2 === void 0) return null;
  if (typeof value2 === "string" || typeof value2 === "boolean") return value2;
  if (Decimal.isDecimal(value2)) return decimalText(value2);
  if (value2 instanceof Duration) return durationText(value2);
  if (value2 instanceof Time) return timeText(value2);
  if (Array.isArray(value2)) return value2.map(valueJson);
  if (value2 instanceof Map) return Object.fromEntries([...value2].map(([key2, each]) => [key2, valueJson(each)]));
  const record2 = value2;
  const fields2 = typeof record2.toJSON === "function" ? record2.toJSON() : record2;
  return Object.fromEntries(Object.entries(fields2).map(([key2, each]) => [key2, valueJson(each)]));
}
function timeText(time2) {
  const iso = new Date(time2.ms).toISOString();
  const rest = time2.us - time2.ms * 1e3;
  return rest === 0 ? iso : `${iso.slice(0, -1)}${String(rest).padStart(3, "0")}Z`;
}
function durationText(duration3) {
  if (duration3.ms === 0) return "0s";
  const units = [
    ["d", 864e5],
    ["h", 36e5],
    ["m", 6e4],
    ["s", 1e3],
    ["ms", 1]
  ];
  let rest = Math.abs(duration3.ms);
  let text2 = duration3.ms < 0 ? "-" : "";
  for (const [name2, size] of units) {
    const count2 = Math.floor(rest / size);
    if (count2 > 0) text2 += `${count2}${name2}`;
    rest -= count2 * size;
  }
  return text2;
}

// ../src/venue/identity.ts
import { createHash } from "node:crypto";
var CLIENT_ORDER_PREFIX = "rb";
var BASE32 = "abcdefghijklmnopqrstuvwxyz234567";
function clientOrderId(intent) {
  const digest2 = createHash("sha256").update([intent.account, intent.run, intent.path, String(intent.attempt)].join("\0")).digest();
  let text2 = "";
  let bits = 0;
  let held = 0;
  for (const byte of digest2.subarray(0, 13)) {
    held = held << 8 | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text2 += BASE32[held >> bits & 31];
    }
    held &= (1 << bits) - 1;
  }
  const id = CLIENT_ORDER_PREFIX + text2.slice(0, 20);
  return intent.tag === void 0 ? id : `${id}-${intent.tag}`.slice(0, 50);
}
function chance(seed, name2) {
  const digest2 = createHash("sha256").update(`${seed}\0${name2}`).digest();
  return digest2.readUInt32BE(0) / 2 ** 32;
}

// ../src/engine/interruption.ts
var StepFailure = class extends Error {
  kind;
  /** Where the failure happened; filled in by the step that meets it first. */
  step;
  /** Not before this long from now may it be tried again (X-RateLimit-Retry-After). */
  retryAfterMs;
  constructor(kind, message, step, retryAfterMs) {
    super(message);
    this.kind = kind;
    this.step = step;
    this.retryAfterMs = retryAfterMs;
  }
  get fact() {
    return { kind: this.kind, message: this.message, step: this.step };
  }
};
var Halt = class extends Error {
  fact;
  constructor(kind, message, step) {
    super(message);
    this.fact = { kind, message, step };
  }
};
var Stop = class extends Error {
  outcome;
  because;
  constructor(outcome, because) {
    super(because);
    this.outcome = outcome;
    this.because = because;
  }
};
var Abandoned = class extends Error {
  reason;
  constructor(reason) {
    super(reason.message);
    this.reason = reason;
  }
};
var Cancellation = class {
  reasonGiven;
  listeners;
  detach;
  constructor(parent) {
    if (parent?.reason !== void 0) this.reasonGiven = parent.reason;
    else this.detach = parent?.listen((reason) => this.leave(reason));
  }
  get reason() {
    return this.reasonGiven;
  }
  cancel(why, message) {
    this.leave({ why, message, origin: this });
  }
  /** Throws when this scope has been left: asked before anything new is begun. */
  check() {
    if (this.reasonGiven !== void 0) throw new Abandoned(this.reasonGiven);
  }
  listen(listener) {
    this.listeners ??= /* @__PURE__ */ new Set();
    this.listeners.add(listener);
    return () => this.listeners?.delete(listener);
  }
  /** Lets go of the parent: to be called when the scope's work is over. */
  close() {
    this.detach?.();
  }
  leave(reason) {
    if (this.reasonGiven !== void 0) return;
    this.reasonGiven = reason;
    for (const listener of [...this.listeners ?? []]) listener(reason);
    this.listeners = void 0;
  }
};

// ../src/engine/failure.ts
function failureOfOutcome(outcome, step) {
  switch (outcome.kind) {
    case "denied":
      return new StepFailure("denied", outcome.message, step);
    case "unresolved":
      return new StepFailure("transport", outcome.message, step);
    case "rejected":
      return new StepFailure(KINDS[outcome.failure], outcome.message, step, outcome.retryAfterMs);
    default:
      return outcome;
  }
}
var KINDS = {
  transport: "transport",
  rate_limited: "rate_limited",
  rejected: "rejected",
  not_found: "not_found",
  duplicate: "rejected",
  unauthorized: "transport"
};

// ../src/engine/orders.ts
var OrderHandle = class _OrderHandle {
  /** The book's order where it is ours. */
  own;
  fields;
  constructor(own2, fields2) {
    this.own = own2;
    this.fields = fields2;
  }
  static ofOwn(order3) {
    return new _OrderHandle(order3, ownFields(order3));
  }
  static ofRecord(record2, own2) {
    return new _OrderHandle(own2, recordFields(record2));
  }
  /** Takes in what is known now. */
  touch(record2) {
    if (this.own !== void 0) this.fields = ownFields(this.own);
    else if (record2 !== void 0) this.fields = recordFields(record2);
  }
  get id() {
    return this.fields.id;
  }
  get client_order_id() {
    return this.fields.client_order_id;
  }
  get market_id() {
    return this.fields.market_id;
  }
  get order_type() {
    return this.fields.order_type;
  }
  get side() {
    return this.fields.side;
  }
  get price() {
    return this.fields.price;
  }
  get size() {
    return this.fields.size;
  }
  get initial_size() {
    return this.fields.initial_size;
  }
  get total_filled_size() {
    return this.fields.total_filled_size;
  }
  get status() {
    return this.fields.status;
  }
  get reason() {
    return this.fields.reason;
  }
  get timestamp() {
    return this.fields.timestamp;
  }
  get time_in_force() {
    return this.fields.time_in_force;
  }
  get filled() {
    return this.fields.filled;
  }
  get remaining() {
    return this.fields.remaining;
  }
  get avg_price() {
    return this.fields.avg_price;
  }
  get open() {
    return this.fields.open;
  }
  get terminal() {
    return this.fields.terminal;
  }
  toJSON() {
    return this.fields;
  }
  /** As the value of an expression: fields are read by declared name only. */
  get value() {
    return this;
  }
};
function handleOf(value2) {
  return value2 instanceof OrderHandle ? value2 : void 0;
}
function ownFields(order3) {
  const { intent, snapshot } = order3;
  const { context, state } = snapshot;
  const record2 = context.lastRecord;
  const filled = decimal(context.filled);
  const ordered = record2 === void 0 ? decimal(intent.size) : decimal(record2.initial_size);
  const terminal = isTerminal(state);
  const rest = Decimal.max(0, ordered.minus(filled));
  return {
    id: context.venueId ?? "",
    client_order_id: intent.clientOrderId,
    market_id: intent.market,
    order_type: intent.type,
    side: intent.side,
    price: decimal(record2?.price ?? intent.price ?? "0"),
    size: record2 === void 0 ? ordered : decimal(record2.size),
    initial_size: ordered,
    total_filled_size: record2 === void 0 ? filled : decimal(record2.total_filled_size),
    status: record2?.status ?? state,
    reason: record2?.reason ?? "",
    timestamp: record2 === void 0 ? Time.ofMs(order3.createdAt) : new Time(record2.timestamp),
    time_in_force: intent.timeInForce ?? record2?.time_in_force ?? "good_till_cancel",
    filled,
    remaining: rest,
    avg_price: averagePrice(order3),
    open: state === "open" || state === "amending" || state === "canceling" || state === "processing",
    terminal
  };
}
function recordFields(record2) {
  const filled = decimal(record2.total_filled_size);
  const terminal = ["closed", "canceled", "rejected"].includes(record2.status);
  return {
    id: record2.id,
    client_order_id: record2.client_order_id,
    market_id: record2.market_id,
    order_type: record2.order_type,
    side: record2.side,
    price: decimal(record2.price),
    size: decimal(record2.size),
    initial_size: decimal(record2.initial_size),
    total_filled_size: filled,
    status: record2.status,
    reason: record2.reason,
    timestamp: new Time(record2.timestamp),
    time_in_force: record2.time_in_force,
    filled,
    remaining: decimal(record2.size),
    avg_price: void 0,
    open: !terminal,
    terminal
  };
}
function averagePrice(order3) {
  let size = new Decimal(0);
  let cost = new Decimal(0);
  for (const fill of order3.snapshot.context.fills.values()) {
    size = size.plus(decimal(fill.size));
    cost = cost.plus(decimal(fill.size).times(decimal(fill.price)));
  }
  return size.isZero() ? void 0 : cost.div(size).toDecimalPlaces(18);
}

// ../src/engine/watch.ts
var FIRST_POLL_MS = 500;
var POLL_MS = 2e3;
var LOOK_BACK_MS = 36e5;
var OrderWatch = class {
  venue;
  clock;
  callId;
  waiters = /* @__PURE__ */ new Set();
  timer;
  timerAt = Number.POSITIVE_INFINITY;
  constructor(venue, clock, callId) {
    this.venue = venue;
    this.clock = clock;
    this.callId = callId;
  }
  /** Resolves when `until` holds for the order; reads as often as it takes. Rejects with Abandoned when the scope is left. */
  until(order3, until, cancel2) {
    if (until(order3)) return Promise.resolve();
    return new Promise((resolve2, reject) => {
      if (cancel2.reason !== void 0) {
        reject(new Abandoned(cancel2.reason));
        return;
      }
      const stop = cancel2.listen((reason) => waiter.done(new Abandoned(reason)));
      const waiter = {
        order: order3,
        until,
        nextAt: this.clock.now() + FIRST_POLL_MS,
        polled: false,
        done: (problem) => {
          stop();
          this.waiters.delete(waiter);
          this.arm();
          if (problem === void 0) resolve2();
          else reject(problem);
        }
      };
      this.waiters.add(waiter);
      this.arm();
    });
  }
  /** Reads one order now; the book takes it in. `lookup` asks by client order id, for an order whose fate is not known. */
  read(order3, step, purpose, klass) {
    const { venueId } = order3.snapshot.context;
    const since = { start_time: (order3.createdAt - LOOK_BACK_MS) * 1e3 };
    const { market: market4, clientOrderId: clientOrderId2 } = order3.intent;
    return this.venue.call({
      id: this.callId(step),
      step,
      endpoint: "GET /orders",
      params: venueId === void 0 || purpose === "lookup" ? { market_id: market4, client_order_id: clientOrderId2, ...since } : { order_id: venueId, market_id: market4, ...since },
      class: klass,
      clientOrderId: clientOrderId2,
      purpose
    });
  }
  /** Reads every order of a market since `sinceMs` in one page. */
  readMarket(market4, sinceMs, step, purpose, klass) {
    return this.venue.call({
      id: this.callId(step),
      step,
      endpoint: "GET /orders",
      params: { market_id: market4, start_time: (sinceMs - LOOK_BACK_MS) * 1e3, p_limit: 1e3 },
      class: klass,
      purpose
    });
  }
  /** Somebody learned something: waiters whose condition holds by now go on without another reading. */
  check() {
    for (const waiter of [...this.waiters]) if (waiter.until(waiter.order)) waiter.done();
  }
  arm() {
    let next = Number.POSITIVE_INFINITY;
    for (const waiter of this.waiters) next = Math.min(next, waiter.nextAt);
    if (next === this.timerAt) return;
    this.timer?.cancel();
    this.timerAt = next;
    this.timer = next === Number.POSITIVE_INFINITY ? void 0 : this.clock.at(next, () => this.poll());
  }
  poll() {
    const now = this.clock.now();
    const due = [...this.waiters].filter((waiter) => waiter.nextAt <= now);
    const markets = new Set(due.map((waiter) => waiter.order.intent.market));
    for (const waiter of this.waiters) {
      if (!markets.has(waiter.order.intent.market)) continue;
      waiter.nextAt = now + (waiter.polled ? POLL_MS : POLL_MS - FIRST_POLL_MS);
      waiter.polled = true;
    }
    this.timerAt = Number.POSITIVE_INFINITY;
    this.arm();
    for (const market4 of markets) void this.pollMarket(market4);
  }
  async pollMarket(market4) {
    const orders = [...new Set([...this.waiters].map((each) => each.order).filter((order3) => order3.intent.market === market4))];
    const [only2] = orders;
    if (only2 !== void 0 && orders.length === 1) {
      await this.read(only2, "watch", "confirm", "reconcile");
    } else {
      const since = Math.min(...orders.map((order3) => order3.createdAt));
      await this.readMarket(market4, since, "watch", "confirm", "reconcile");
    }
    this.check();
  }
};

// ../src/engine/waiting.ts
function sleepUntil(clock, whenMs, cancel2) {
  return new Promise((resolve2, reject) => {
    if (cancel2.reason !== void 0) {
      reject(new Abandoned(cancel2.reason));
      return;
    }
    const stop = cancel2.listen((reason) => {
      timer.cancel();
      reject(new Abandoned(reason));
    });
    const timer = clock.at(whenMs, () => {
      stop();
      resolve2();
    });
  });
}
function signal() {
  let resolve2 = () => {
  };
  const promise = new Promise((fulfil) => {
    resolve2 = fulfil;
  });
  return { promise, resolve: resolve2 };
}

// ../src/engine/desk.ts
var LOOKUPS_MS = [500, 1e3, 2e3, 4e3, 8e3];
var LOOKUP_EVERY_MS = 5e3;
var ABSENCE_READS = 5;
var CONFIRM_WITHIN_MS = 6e4;
var CANCEL_TRIES = 4;
var RESENDS = 2;
var REPEAT_DELAYS_MS = [250, 500, 1e3, 2e3, 4e3];
var OrderDesk = class {
  watch;
  run;
  handles = /* @__PURE__ */ new Map();
  /** While a cancel_all is under way nothing new is sent (reliability.md, I7). */
  barrier = Promise.resolve();
  constructor(run) {
    this.run = run;
    this.watch = new OrderWatch(run.venue, run.clock, run.callId);
  }
  handle(order3) {
    const known = this.handles.get(order3.intent.clientOrderId);
    if (known !== void 0) return known;
    const handle = OrderHandle.ofOwn(order3);
    this.handles.set(order3.intent.clientOrderId, handle);
    return handle;
  }
  /**
   * Places an order and resolves when its fate is known to be at the venue: acknowledged or found. Throws StepFailure when
   * it certainly is not, Halt when that can not be told.
   */
  async place(at, leg, terms) {
    await this.barrier;
    at.cancel.check();
    await this.run.keeper.beforeOrder(at.step);
    const placed2 = this.placedBefore(at, leg);
    const before = placed2.order;
    if (before !== void 0 && before.snapshot.state !== "draft" && !isTerminal(before.snapshot.state)) {
      return this.handle(before);
    }
    const again = before !== void 0 && before.snapshot.state === "draft" && sameTerms(before.intent, terms);
    if (!again) {
      if (before?.snapshot.state === "draft") this.conclude(before, "DENY", "superseded by other terms", at.step);
      placed2.attempt += 1;
      placed2.limited = false;
    }
    const id = again ? before.intent.clientOrderId : clientOrderId({
      account: this.run.setup.account,
      run: this.run.setup.run,
      path: leg === "" ? at.step : `${at.step}#${leg}`,
      attempt: placed2.attempt,
      ...terms.tag === void 0 ? {} : { tag: terms.tag }
    });
    const intent = intentOf(terms, id);
    if (placed2.limited && before !== void 0 && await this.lookUpOnce(before, at.step)) return this.adopted(before);
    return this.post(at, placed2, intent);
  }
  /** Waits until the order has come as far as `target`; then its fills are known as well. Throws StepFailure when it can not any more. */
  async reach(handle, target, at) {
    const order3 = this.ownOrder(handle, at.step);
    if (target === "accepted") return handle.touch();
    const confirmBy = this.run.clock.now() + CONFIRM_WITHIN_MS;
    if (!isConfirmed(order3)) await this.confirm(order3, confirmBy, at);
    await this.watch.until(order3, (each) => reached(each, target) || isEnded(each), at.cancel);
    await this.readFills(order3, at);
    handle.touch();
    this.refuseEnded(order3, target, at.step);
  }
  /** Cancels an order of ours or one that a list showed. An order that is over already needs no request. */
  async cancel(handle, target, at) {
    const order3 = handle.own;
    if (order3 === void 0) {
      await this.cancelExternal(handle, at);
      return;
    }
    for (let tries = 1; !isTerminal(order3.snapshot.state); tries += 1) {
      const outcome = await this.sendCancel(order3, at);
      if (outcome.kind === "rejected" && outcome.failure !== "duplicate") {
        await this.watch.read(order3, at.step, "confirm", "reconcile");
        this.watch.check();
        if (isTerminal(order3.snapshot.state)) break;
        throw failureOfOutcome(outcome, at.step);
      }
      if (target === "accepted") break;
      await this.watch.until(order3, (each) => isEnded(each) || each.snapshot.state === "open", at.cancel);
      if (isTerminal(order3.snapshot.state) || isQuarantined(order3)) break;
      if (tries >= CANCEL_TRIES) throw new StepFailure("rejected", `the venue did not cancel order ${nameOf(order3)} after ${tries} tries`, at.step);
    }
    if (isQuarantined(order3)) throw quarantined(order3, at.step);
    if (isTerminal(order3.snapshot.state)) await this.readFills(order3, at);
    handle.touch();
  }
  /** Amends an order and waits until its terms are known. Throws StepFailure `not_found` when it is over, `rejected` when the old terms stayed. */
  async amend(handle, price2, size, at) {
    await this.barrier;
    const order3 = this.ownOrder(handle, at.step);
    const { venueId } = order3.snapshot.context;
    if (isTerminal(order3.snapshot.state)) {
      handle.touch();
      throw new StepFailure("not_found", `order ${nameOf(order3)} is ${order3.snapshot.state}: nothing to amend`, at.step);
    }
    if (venueId === void 0 || order3.snapshot.state !== "open") await this.watch.until(order3, (each) => each.snapshot.state === "open" || isEnded(each), at.cancel);
    if (size !== void 0 && decimal(order3.snapshot.context.filled).gt(0)) {
      throw new StepFailure("denied", `AMEND_SIZE_OF_PART_FILLED: order ${nameOf(order3)} has filled ${order3.snapshot.context.filled}; what a new size means then is not shown`, at.step);
    }
    const outcome = await this.run.venue.call({
      id: this.run.callId(at.step),
      step: at.step,
      endpoint: "PUT /orders",
      params: { order_id: order3.snapshot.context.venueId ?? "", market_id: order3.intent.market, price: price2.toFixed(), size: size?.toFixed() },
      class: "enter",
      clientOrderId: order3.intent.clientOrderId,
      ...limitsOf(at)
    });
    if (outcome.kind === "rejected" || outcome.kind === "denied") {
      await this.watch.read(order3, at.step, "confirm", "reconcile");
      handle.touch();
      throw failureOfOutcome(outcome, at.step);
    }
    await this.watch.until(order3, (each) => each.snapshot.state !== "amending", at.cancel);
    await this.readFills(order3, at);
    handle.touch();
    if (isTerminal(order3.snapshot.state)) {
      throw new StepFailure("not_found", `order ${nameOf(order3)} was ${order3.snapshot.state} before the amend took`, at.step);
    }
    if (isQuarantined(order3)) throw quarantined(order3, at.step);
    if (!decimal(order3.snapshot.context.lastRecord?.price ?? "0").eq(price2)) {
      throw new StepFailure("rejected", `order ${nameOf(order3)} kept its old terms`, at.step);
    }
  }
  /** Reads an order and takes in what is found. */
  async refresh(handle, at) {
    const order3 = handle.own;
    if (order3 !== void 0) {
      if (!isTerminal(order3.snapshot.state)) {
        const outcome2 = await this.watch.read(order3, at.step, "refresh", "reconcile");
        if (outcome2.kind !== "confirmed") throw failureOfOutcome(outcome2, at.step);
      }
      await this.readFills(order3, at);
      this.watch.check();
      handle.touch();
      return;
    }
    const outcome = await this.run.venue.call({
      id: this.run.callId(at.step),
      step: at.step,
      endpoint: "GET /orders",
      params: { order_id: handle.id, market_id: handle.market_id, start_time: handle.timestamp.us - LOOK_BACK_MS * 1e3 },
      class: "reconcile",
      purpose: "refresh"
    });
    if (outcome.kind !== "confirmed") throw failureOfOutcome(outcome, at.step);
    const [record2] = outcome.result;
    if (record2 === void 0) throw new StepFailure("not_found", `order ${handle.id} was not found`, at.step);
    handle.touch(record2);
  }
  /** Cancels every order of the account, ours or not; resolves when the venue has taken the request. */
  async cancelAll(at) {
    const work = this.run.venue.call({
      id: this.run.callId(at.step),
      step: at.step,
      endpoint: "DELETE /orders/cancel_all",
      params: {},
      class: "protect"
    });
    this.barrier = work;
    const outcome = await work;
    if (outcome.kind === "unresolved") throw new StepFailure("transport", outcome.message, at.step);
    if (outcome.kind !== "confirmed") throw failureOfOutcome(outcome, at.step);
  }
  /** Orders of this run that still rest or may rest. */
  working(market4) {
    return this.run.log.book.orders().filter((order3) => (market4 === void 0 || order3.intent.market === market4) && !isTerminal(order3.snapshot.state) && order3.snapshot.state !== "draft");
  }
  /** Reads every working order. Throws Halt when a reading gets no answer. */
  async readAll(step) {
    for (const order3 of this.working()) {
      const outcome = await this.watch.read(order3, step, "refresh", "resolve");
      if (outcome.kind !== "confirmed") throw new Halt("unknown_outcome", `order ${nameOf(order3)} could not be read: ${outcome.message}`, step);
    }
    this.watch.check();
  }
  /** Before a run ends: what was asked to be cancelled is seen to be cancelled, and what ended is final. */
  async settle(step, cancel2) {
    const at = { step, cancel: cancel2, memory: /* @__PURE__ */ new Map(), limits: void 0, reference: void 0 };
    for (const order3 of this.working()) {
      if (order3.snapshot.state === "canceling") await this.cancel(this.handle(order3), "terminal", { ...at, memory: /* @__PURE__ */ new Map() });
    }
    for (const order3 of this.run.log.book.orders()) {
      if (order3.snapshot.state === "draft") this.conclude(order3, "DENY", "the run ended before it was sent", step);
    }
  }
  async post(at, placed2, intent) {
    for (let sends = 1; ; sends += 1) {
      const outcome = await this.run.venue.call({
        id: this.run.callId(at.step),
        step: at.step,
        endpoint: "POST /orders",
        params: paramsOf(intent),
        class: "enter",
        intent,
        clientOrderId: intent.clientOrderId,
        ...limitsOf(at)
      });
      const order3 = this.run.log.book.get(intent.clientOrderId);
      if (order3 === void 0) throw new Error(`engine: intent ${intent.clientOrderId} did not reach the book`);
      placed2.order = order3;
      placed2.limited = outcome.kind === "rejected" && outcome.failure === "rate_limited";
      switch (outcome.kind) {
        case "confirmed":
          return this.handle(order3);
        case "denied":
          throw failureOfOutcome(outcome, at.step);
        case "rejected": {
          if (outcome.failure === "duplicate") break;
          if (outcome.failure === "unauthorized" && sends === 1 && !await this.lookUpOnce(order3, at.step)) continue;
          if (outcome.failure === "unauthorized" && order3.snapshot.state !== "draft") return this.adopted(order3);
          if (outcome.definite || outcome.failure === "transport" || outcome.failure === "rate_limited") throw failureOfOutcome(outcome, at.step);
          if (await this.lookUpOnce(order3, at.step)) return this.adopted(order3);
          this.conclude(order3, "REFUSED", "refused, and one look-up found no order", at.step);
          throw failureOfOutcome(outcome, at.step);
        }
        case "unresolved":
          break;
        default:
          outcome;
      }
      await this.resolve(order3, at.step);
      if (order3.snapshot.state !== "absent") return this.adopted(order3);
      if (intent.onAmbiguous !== "resend" || sends > RESENDS) {
        throw new Halt(
          "unknown_outcome",
          `no answer to the order ${intent.clientOrderId} and no trace of it at the venue; it is not sent again unless on_ambiguous says resend`,
          at.step
        );
      }
    }
  }
  /**
   * Finds out whether an order whose POST got no answer is there: look-ups by client order id until it is found, or until
   * nothing was found five times and the last time after the absence horizon, and a page of the market shows nothing either.
   */
  async resolve(order3, step) {
    const { clock, setup: setup3, venue, callId } = this.run;
    const doubtAt = clock.now();
    const provenAfter = doubtAt + setup3.absenceHorizonMs;
    const never = new Cancellation();
    let reads = 0;
    for (let round = 0; ; round += 1) {
      const offset = LOOKUPS_MS[round] ?? (LOOKUPS_MS.at(-1) ?? 0) + (round - LOOKUPS_MS.length + 1) * LOOKUP_EVERY_MS;
      await sleepUntil(clock, Math.max(clock.now(), doubtAt + offset), never);
      const sentAt = clock.now();
      const outcome = await this.watch.read(order3, step, "lookup", "resolve");
      this.watch.check();
      if (isFound(order3)) return;
      if (outcome.kind === "confirmed") reads += 1;
      if (reads >= ABSENCE_READS && sentAt > provenAfter || sentAt > doubtAt + 10 * setup3.absenceHorizonMs) break;
    }
    await this.watch.readMarket(order3.intent.market, order3.createdAt, step, "lookup", "resolve");
    if (isFound(order3)) return;
    await venue.call({
      id: callId(step),
      step,
      endpoint: "GET /fills",
      params: { market_id: order3.intent.market, start_time: (order3.createdAt - LOOK_BACK_MS) * 1e3, p_limit: 1e3 },
      class: "resolve",
      purpose: "lookup"
    });
    this.conclude(order3, "T_EXHAUSTED", `${reads} look-ups found nothing in ${clock.now() - doubtAt} ms`, step);
    if (isQuarantined(order3)) throw quarantined(order3, step);
  }
  adopted(order3) {
    if (order3.snapshot.state === "quarantined") throw quarantined(order3, "place");
    return this.handle(order3);
  }
  /** One look-up by client order id; true when the venue knows the order. */
  async lookUpOnce(order3, step) {
    const outcome = await this.watch.read(order3, step, "lookup", "resolve");
    if (outcome.kind === "confirmed") return outcome.result.some((record2) => record2.client_order_id === order3.intent.clientOrderId);
    await this.resolve(order3, step);
    return isFound(order3);
  }
  async confirm(order3, confirmBy, at) {
    const { clock } = this.run;
    const own2 = new Cancellation(at.cancel);
    const timer = clock.at(confirmBy, () => own2.cancel("timeout", "not confirmed"));
    try {
      await this.watch.until(order3, isConfirmed, own2);
      return;
    } catch (error3) {
      if (own2.reason?.origin !== own2) throw error3;
    } finally {
      timer.cancel();
      own2.close();
    }
    this.conclude(order3, "T_CONFIRM", `not confirmed within ${CONFIRM_WITHIN_MS} ms`, at.step);
    await this.sendCancel(order3, at);
    const last = new Cancellation(at.cancel);
    const end = clock.at(clock.now() + CONFIRM_WITHIN_MS / 2, () => last.cancel("timeout", "not confirmed"));
    try {
      await this.watch.until(order3, isEnded, last);
    } catch (error3) {
      if (last.reason?.origin !== last) throw error3;
      throw new Halt("unknown_outcome", `order ${nameOf(order3)} stays ${order3.snapshot.state} and can not be cancelled`, at.step);
    } finally {
      end.cancel();
      last.close();
    }
  }
  async sendCancel(order3, at) {
    const { clock, venue, callId } = this.run;
    for (let tries = 0; ; tries += 1) {
      const { venueId } = order3.snapshot.context;
      const outcome = await venue.call({
        id: callId(at.step),
        step: at.step,
        endpoint: "DELETE /orders",
        params: venueId === void 0 ? { market_id: order3.intent.market, client_order_id: order3.intent.clientOrderId } : { order_id: venueId, market_id: order3.intent.market },
        class: "protect",
        clientOrderId: order3.intent.clientOrderId
      });
      const repeat2 = outcome.kind === "unresolved" || outcome.kind === "rejected" && ["transport", "rate_limited", "unauthorized"].includes(outcome.failure);
      const delay = REPEAT_DELAYS_MS[tries];
      if (!repeat2 || delay === void 0 || isTerminal(order3.snapshot.state)) return outcome;
      const hinted = outcome.kind === "rejected" ? outcome.retryAfterMs ?? 0 : 0;
      await sleepUntil(clock, clock.now() + Math.max(delay, hinted), new Cancellation());
    }
  }
  async cancelExternal(handle, at) {
    const outcome = await this.run.venue.call({
      id: this.run.callId(at.step),
      step: at.step,
      endpoint: "DELETE /orders",
      params: { order_id: handle.id, market_id: handle.market_id },
      class: "protect"
    });
    if (outcome.kind === "unresolved") throw new StepFailure("transport", outcome.message, at.step);
    if (outcome.kind !== "confirmed") throw failureOfOutcome(outcome, at.step);
  }
  /** Reads the fills of an order when its record says that there are some we have not seen. */
  async readFills(order3, at) {
    const { clock, venue, callId } = this.run;
    for (const delay of [...REPEAT_DELAYS_MS, void 0]) {
      const { venueId, filled, recordFilled } = order3.snapshot.context;
      if (venueId === void 0 || decimal(recordFilled).lte(decimal(filled))) return;
      const outcome = await venue.call({
        id: callId(at.step),
        step: at.step,
        endpoint: "GET /fills/order",
        params: { order_id: venueId },
        class: "reconcile",
        clientOrderId: order3.intent.clientOrderId,
        purpose: "fills"
      });
      if (outcome.kind === "denied") throw failureOfOutcome(outcome, at.step);
      if (delay === void 0 || decimal(order3.snapshot.context.recordFilled).lte(decimal(order3.snapshot.context.filled))) return;
      await sleepUntil(clock, clock.now() + delay, at.cancel);
    }
  }
  refuseEnded(order3, target, step) {
    const { state, context } = order3.snapshot;
    if (state === "quarantined") throw quarantined(order3, step);
    if (state === "rejected" && target !== "terminal") {
      throw new StepFailure("rejected", `order ${nameOf(order3)} was rejected: ${context.lastRecord?.reason || "no reason given"}`, step);
    }
    if (reached(order3, target)) return;
    throw new StepFailure("cancelled", `order ${nameOf(order3)} is ${state} with ${context.filled} filled: it can not become ${target} any more`, step);
  }
  placedBefore(at, leg) {
    const known = at.memory.get(`order:${leg}`);
    const placed2 = known ?? { attempt: 0, order: void 0, limited: false };
    if (known === void 0) at.memory.set(`order:${leg}`, placed2);
    return placed2;
  }
  ownOrder(handle, step) {
    if (handle.own === void 0) {
      throw new StepFailure("denied", `NOT_OUR_ORDER: order ${handle.id} was not placed by this run; it can be listed, refreshed and cancelled only`, step);
    }
    return handle.own;
  }
  conclude(order3, event, because, step) {
    this.run.log.append("order.concluded", { clientOrderId: order3.intent.clientOrderId, event, because }, step);
  }
};
function limitsOf(at) {
  return { ...at.limits === void 0 ? {} : { limits: at.limits }, ...at.reference === void 0 ? {} : { reference: at.reference } };
}
function intentOf(terms, id) {
  const { tag: _tag, ...rest } = terms;
  return { clientOrderId: id, ...rest };
}
function paramsOf(intent) {
  return {
    market_id: intent.market,
    side: intent.side,
    size: intent.size,
    type: intent.type,
    price: intent.price,
    trigger_price: intent.trigger,
    client_order_id: intent.clientOrderId,
    time_in_force: intent.timeInForce
  };
}
function sameTerms(intent, terms) {
  return intent.market === terms.market && intent.side === terms.side && intent.type === terms.type && intent.size === terms.size && intent.price === terms.price && intent.trigger === terms.trigger && intent.timeInForce === terms.timeInForce;
}
function isConfirmed(order3) {
  return !["draft", "submitting", "unknown", "processing"].includes(order3.snapshot.state);
}
function isFound(order3) {
  return !["draft", "submitting", "unknown", "absent"].includes(order3.snapshot.state);
}
function isQuarantined(order3) {
  return order3.snapshot.state === "quarantined";
}
function isEnded(order3) {
  return isTerminal(order3.snapshot.state) || isQuarantined(order3);
}
function reached(order3, target) {
  const { state, context } = order3.snapshot;
  const filled = Decimal.max(decimal(context.filled), decimal(context.recordFilled));
  switch (target) {
    case "accepted":
      return true;
    case "live":
      return isConfirmed(order3) && state !== "rejected";
    case "any_fill":
      return filled.gt(0);
    case "filled":
      return state === "closed";
    case "terminal":
      return isTerminal(state);
    default:
      return target;
  }
}
function nameOf(order3) {
  return order3.snapshot.context.venueId ?? order3.intent.clientOrderId;
}
function quarantined(order3, step) {
  return new Halt("unknown_outcome", `what became of order ${nameOf(order3)} can not be told; look it up at the venue, then resume`, step);
}

// ../src/engine/feeds.ts
var FeedCache = class {
  venue;
  clock;
  readings = /* @__PURE__ */ new Map();
  constructor(venue, clock) {
    this.venue = venue;
    this.clock = clock;
  }
  /** Makes the named feeds fresh before the expressions of a step are evaluated. Throws StepFailure `stale_feed`. */
  async ensure(names2, declared, scope, step) {
    for (const name2 of names2) {
      const feed2 = declared.find((each) => each.name === name2);
      if (feed2 === void 0) throw new Error(`engine: step ${step} reads feed ${name2}, which is not declared`);
      const markets = this.marketsOf(feed2, scope);
      for (const market4 of markets) await this.ensureOne(feed2, market4, step);
      if (feed2.type.kind === "map" && !markets.some((market4) => this.readings.has(key(name2, market4)))) {
        throw new StepFailure("stale_feed", `feed ${name2}: no market's value could be read`, step);
      }
    }
  }
  /** The `feeds` record of a scope: decimals, or a map from market to decimal. */
  record(declared, scope) {
    const fields2 = /* @__PURE__ */ Object.create(null);
    for (const feed2 of declared) {
      if (feed2.type.kind === "map") {
        const known = this.venue.markets.flatMap((market4) => {
          const reading = this.readings.get(key(feed2.name, market4));
          return reading === void 0 ? [] : [[market4, reading.value]];
        });
        fields2[feed2.name] = new Map(known);
      } else {
        const [market4] = this.marketsOf(feed2, scope);
        fields2[feed2.name] = this.readings.get(key(feed2.name, market4))?.value;
      }
    }
    return fields2;
  }
  /** The last reading of a feed, for a price band's reference. */
  lastAt(name2, market4) {
    return this.readings.get(key(name2, market4))?.at;
  }
  marketsOf(feed2, scope) {
    if (feed2.type.kind === "map") return this.venue.markets;
    return [feed2.market?.evaluate(scope)];
  }
  async ensureOne(feed2, market4, step) {
    const maxAge = feed2.maxAge.ms;
    const name2 = key(feed2.name, market4);
    const held = this.readings.get(name2);
    if (held !== void 0 && this.clock.now() - held.at <= maxAge / 2) return;
    const read2 = await this.venue.feed(feed2.name, market4, step);
    const value2 = read2 === void 0 ? void 0 : parseDecimal(read2.value);
    if (read2 !== void 0 && value2 !== void 0) this.readings.set(name2, { value: value2, at: read2.at });
    const reading = this.readings.get(name2);
    const age = reading === void 0 ? void 0 : this.clock.now() - reading.at;
    if (age !== void 0 && age <= maxAge) return;
    if (feed2.type.kind === "map") {
      this.readings.delete(name2);
      return;
    }
    const found = age === void 0 ? "no value could be read" : `the newest value is ${age} ms old`;
    throw new StepFailure("stale_feed", `feed ${feed2.name}${market4 === void 0 ? "" : ` of ${market4}`}: ${found}, at most ${maxAge} ms is accepted`, step);
  }
};
function key(name2, market4) {
  return market4 === void 0 ? name2 : `${name2}\0${market4}`;
}

// ../src/venue/denials.ts
var DENIALS = {
  KILL_SWITCH_ENGAGED: {
    summary: "the kill switch is engaged",
    names: [],
    fix: "find out why, then `runbook release --by NAME`"
  },
  TRADING_HALTED: {
    summary: "trading is halted: only cancels are allowed",
    names: ["mode", "market"],
    fix: "change `mode` in the profile or the runbook, or wait for whoever halted it"
  },
  REDUCING_ONLY: {
    summary: "only what lowers exposure is allowed, and this order does not certainly do so",
    names: ["mode", "side", "size", "position", "working"],
    fix: "place at most the position on its opposite side, counting the orders that work there already"
  },
  LEVERAGE_RAISED_WHILE_REDUCING: {
    summary: "raising leverage is not lowering exposure",
    names: ["mode", "leverage", "current"],
    fix: "lower the leverage or leave it"
  },
  MARKET_NOT_ALLOWED: {
    summary: "the market is not among those allowed",
    names: ["market", "allowed"],
    fix: "add it to `limits.markets` here and in the profile"
  },
  ORDER_TYPE_NOT_ALLOWED: {
    summary: "the order type is not among those allowed",
    names: ["type", "allowed"],
    fix: "use an allowed type"
  },
  SIDE_NOT_ALLOWED: {
    summary: "the side is not among those allowed for orders that may raise exposure",
    names: ["side", "allowed"],
    fix: "add it to `limits.sides`, or lower the size to what only reduces"
  },
  AMEND_TARGET_UNKNOWN: {
    summary: "the order to amend is not known here, so its side and size can not be checked",
    names: ["order"],
    fix: "amend only orders of this run; cancel others"
  },
  PRICE_OFF_TICK: {
    summary: "the price is not a multiple of the market's tick",
    names: ["price", "tick", "nearest"],
    fix: "round it with tick(\u2026)"
  },
  TRIGGER_OFF_TICK: {
    summary: "the trigger is not a multiple of the market's tick",
    names: ["trigger", "tick", "nearest"],
    fix: "round it with tick(\u2026)"
  },
  SIZE_OFF_LOT: {
    summary: "the size is not a multiple of the market's lot",
    names: ["size", "lot", "nearest"],
    fix: "round it with lot(\u2026)"
  },
  SIZE_BELOW_MIN: {
    summary: "the size is below the smallest the market takes",
    names: ["size", "min"],
    fix: "raise the size"
  },
  SIZE_EXCEEDS_MAX_PER_ORDER: {
    summary: "the order is too large",
    names: ["size", "max"],
    fix: "lower the size or raise `max_order_size`"
  },
  LEVERAGE_NOT_WHOLE: { summary: "leverage is a whole number from 1", names: ["leverage"], fix: "use a whole number" },
  LEVERAGE_EXCEEDS_MAX: {
    summary: "the leverage is too high",
    names: ["leverage", "max"],
    fix: "lower it or raise `max_leverage`"
  },
  WRITES_EXCEED_MAX: {
    summary: "the run has made all the changing requests it may",
    names: ["writes", "max"],
    fix: "raise `max_writes`"
  },
  ORDER_RATE_EXCEEDED: {
    summary: "the run has sent all the orders it may in a minute",
    names: ["orders", "max"],
    fix: "wait, or raise the rate"
  },
  OPEN_ORDERS_EXCEED_MAX: {
    summary: "the run has all the working orders it may",
    names: ["open", "max"],
    fix: "cancel some or raise `max_open_orders`"
  },
  OPEN_ORDERS_NEAR_VENUE_LIMIT: {
    summary: "the account is close to the venue's limit of 1000 open orders; what is left is kept for protection",
    names: ["open", "max"],
    fix: "cancel some of the account"
  },
  NOTIONAL_UNKNOWN: {
    summary: "a notional limit applies and there is no price to measure with",
    names: ["market"],
    fix: "give the order a price, or the limits a reference"
  },
  NOTIONAL_EXCEEDS_MAX_PER_ORDER: {
    summary: "the order is worth too much",
    names: ["notional", "max"],
    fix: "lower the size or raise `max_order_notional`; an exit that only reduces may pass with `allow: reduce`"
  },
  NOTIONAL_EXCEEDS_MAX_PER_RUN: {
    summary: "the run has sent all the notional it may",
    names: ["notional", "sent", "max"],
    fix: "raise `max_run_notional`"
  },
  NOTIONAL_EXCEEDS_MAX_PER_MARKET: {
    summary: "position and working orders of the market would be worth too much",
    names: ["notional", "held", "max"],
    fix: "cancel or close some of it"
  },
  EXPOSURE_EXCEEDS_MAX: {
    summary: "positions and working orders would be worth too much in all",
    names: ["notional", "held", "max"],
    fix: "cancel or close some"
  },
  POSITION_EXCEEDS_MAX: {
    summary: "the position could become too large if all that works were filled",
    names: ["position", "max"],
    fix: "lower the size, or cancel what works on that side"
  },
  PRICE_OUTSIDE_BAND: {
    summary: "the price is too far from the reference",
    names: ["price", "reference", "low", "high"],
    fix: "check the price; widen `price_band.within` if it is meant"
  },
  REFERENCE_MISSING: {
    summary: "a price band applies and there is no reference price",
    names: ["market"],
    fix: "give `price_band.around` a value that can be read"
  },
  REFERENCE_STALE: { summary: "the reference price is too old", names: ["age_ms", "max_ms"], fix: "read it again" },
  SELF_MATCH: {
    summary: "the order would trade with a resting order of our own",
    names: ["price", "resting", "order"],
    fix: "cancel the resting order first"
  },
  EQUITY_BELOW_MIN: {
    summary: "the account equity is below its floor",
    names: ["equity", "min"],
    fix: "lower exposure or add funds"
  },
  HEALTH_BELOW_MIN: {
    summary: "the account health is below its floor",
    names: ["health", "min"],
    fix: "lower exposure or add funds"
  },
  ACCOUNT_STALE: {
    summary: "a floor applies and the account was not read, or too long ago",
    names: ["age_ms", "max_ms"],
    fix: "read the account"
  },
  PICTURE_STALE: {
    summary: "the venue was not read for too long: no new exposure",
    names: ["age_ms", "max_ms"],
    fix: "wait for a read to succeed"
  },
  MARKET_QUARANTINED: {
    summary: "the fate of an order in this market is not known: no new exposure there",
    names: ["market", "order"],
    fix: "look the order up at the venue, then resume"
  },
  STEP_FILLS_EXCEEDED: {
    summary: "the same step was filled too often",
    names: ["fills", "max", "window_ms"],
    fix: "check the loop; raise the throttle if it is meant",
    halts: true
  },
  REFUSALS_EXCEEDED: {
    summary: "the venue refused or contradicted too often",
    names: ["refusals", "max", "window_ms"],
    fix: "read the refusals in the journal",
    halts: true
  }
};

// ../src/venue/limit-case.ts
function notionalOf(terms, reference) {
  const price2 = terms.price ?? terms.trigger ?? reference;
  return isFraction(terms.type) || price2 === void 0 ? void 0 : decimalText(exact(terms.size).times(exact(price2)));
}
function orderOf(write, facts) {
  if (write.endpoint === "POST /orders") return write.intent === void 0 ? void 0 : placed(write.intent);
  const id = paramOf(write, "order_id");
  const target = facts.working.find(
    (each) => write.clientOrderId === void 0 ? each.orderId !== void 0 && each.orderId === id : each.clientOrderId === write.clientOrderId
  );
  const known = target ?? write.intent;
  return known === void 0 ? void 0 : amended(write, known, target);
}
function placed(terms) {
  const size = exact(terms.size);
  return {
    market: terms.market,
    side: terms.side,
    type: terms.type,
    size,
    rest: size,
    price: terms.price,
    trigger: terms.trigger,
    fraction: isFraction(terms.type),
    target: void 0,
    shrinks: false,
    added: size,
    resizes: true
  };
}
function amended(write, known, target) {
  const asked = paramOf(write, "size");
  const price2 = paramOf(write, "price");
  const before = exact(known.size);
  const left = exact(target?.worstRemaining ?? known.size);
  const size = asked === void 0 ? before : exact(asked);
  const rest = asked === void 0 ? left : size;
  return {
    market: known.market,
    side: known.side,
    type: known.type,
    size,
    rest,
    price: price2 ?? known.price,
    trigger: void 0,
    fraction: isFraction(known.type),
    target,
    shrinks: rest.lte(left) && price2 !== void 0 && known.price !== void 0 && exact(price2).eq(exact(known.price)),
    added: size.gt(before) ? size.minus(before) : new Exact(0),
    resizes: asked !== void 0
  };
}
function othersIn({ facts, order: order3 }, market4) {
  return facts.working.filter((each) => each !== order3?.target && each.market === market4 && !isFraction(each.type));
}
function workingOnSide(at, side2) {
  let sum3 = new Exact(0);
  for (const each of othersIn(at, at.market)) if (each.side === side2) sum3 = sum3.plus(exact(each.worstRemaining));
  return sum3;
}
function positionOf({ facts, market: market4 }) {
  return exact(Object.hasOwn(facts.positions, market4) ? facts.positions[market4]?.size ?? "0" : "0");
}
function lowers(at) {
  const { order: order3 } = at;
  if (order3 === void 0) return false;
  if (order3.fraction || order3.shrinks) return true;
  const position2 = positionOf(at);
  const against = order3.side === "short" ? position2.isPositive() : position2.isNegative();
  return against && !position2.isZero() && order3.rest.plus(workingOnSide(at, order3.side)).lte(position2.abs());
}
function modeOf({ rules, facts, market: market4 }) {
  const own2 = rules.marketModes !== void 0 && Object.hasOwn(rules.marketModes, market4) ? rules.marketModes[market4] : void 0;
  const modes = [rules.mode, own2, facts.mode];
  return modes.includes("halted") ? "halted" : modes.includes("reducing") ? "reducing" : "active";
}
function referenceOf({ write, facts }) {
  return write.reference ?? facts.reference;
}
function priceOf(at) {
  return at.order?.price ?? at.order?.trigger ?? referenceOf(at)?.price;
}
function heldNotional(at, market4) {
  const position2 = Object.hasOwn(at.facts.positions, market4) ? at.facts.positions[market4] : void 0;
  const reference = market4 === at.market ? referenceOf(at)?.price : void 0;
  const size = exact(position2?.size ?? "0").abs();
  let sum3 = new Exact(0);
  if (!size.isZero()) {
    if (position2?.notional !== void 0) sum3 = exact(position2.notional).abs();
    else if (reference !== void 0) sum3 = size.times(exact(reference));
    else return void 0;
  }
  for (const each of othersIn(at, market4)) {
    const price2 = each.price ?? reference;
    const rest = exact(each.worstRemaining);
    if (rest.isZero()) continue;
    if (price2 === void 0) return void 0;
    sum3 = sum3.plus(rest.times(exact(price2)));
  }
  return sum3;
}
function isFraction(type) {
  return type === "stop_loss" || type === "take_profit";
}
function paramOf(write, name2) {
  const value2 = write.params[name2];
  return value2 === void 0 ? void 0 : String(value2);
}
var Exact = Decimal.clone({ precision: 160 });
function exact(text2) {
  return new Exact(decimal(text2));
}

// ../src/venue/limit-rules.ts
var TRADING_MODES = ["active", "reducing", "halted"];
function tighter(a, b) {
  const combined = {};
  for (const control of LIMIT_CONTROLS) {
    const combine = COMBINE[control];
    const value2 = a[control] === void 0 && b[control] === void 0 ? void 0 : combine(a[control], b[control]);
    if (value2 !== void 0) combined[control] = value2;
  }
  return combined;
}
function either(both) {
  return (a, b) => a === void 0 ? b : b === void 0 ? a : both(a, b);
}
var common = () => either((a, b) => a.filter((each) => b.includes(each)));
var smaller = either((a, b) => decimal(a).lte(decimal(b)) ? a : b);
var larger = either((a, b) => decimal(a).gte(decimal(b)) ? a : b);
var fewer = either(Math.min);
var throttle = either((a, b) => ({
  max: Math.min(a.max, b.max),
  windowMs: Math.max(a.windowMs, b.windowMs)
}));
var stricter = either((a, b) => TRADING_MODES.indexOf(a) >= TRADING_MODES.indexOf(b) ? a : b);
var stricterEach = either((a, b) => {
  const modes = new Map(Object.entries(a));
  for (const [market4, mode] of Object.entries(b)) modes.set(market4, stricter(modes.get(market4), mode) ?? mode);
  return Object.fromEntries(modes);
});
var COMBINE = {
  markets: common(),
  sides: common(),
  orderTypes: common(),
  maxOrderSize: smaller,
  maxOrderNotional: smaller,
  maxRunNotional: smaller,
  maxMarketNotional: smaller,
  maxExposure: smaller,
  maxPosition: smaller,
  maxOpenOrders: fewer,
  maxLeverage: smaller,
  maxWrites: fewer,
  maxOrdersPerMinute: fewer,
  priceBandWithin: smaller,
  maxReferenceAgeMs: fewer,
  stepFills: throttle,
  refusals: throttle,
  selfMatch: (a, b) => a === "allow" && b === "allow" ? "allow" : "deny",
  minEquity: larger,
  minHealth: larger,
  maxAccountAgeMs: fewer,
  maxReadAgeMs: fewer,
  mode: stricter,
  marketModes: stricterEach
};
var LIMIT_CONTROLS = Object.keys(COMBINE);

// ../src/venue/limits.ts
var MOST_OPEN_ORDERS = 950;
var MOST_LEVERAGE = "20";
function checkLimits(write, rules, facts) {
  const kind = KINDS2[write.endpoint];
  const considered = {};
  if (kind === void 0) return { ok: true, considered };
  const order3 = kind === "leverage" ? void 0 : orderOf(write, facts);
  const at = {
    write,
    kind,
    order: order3,
    market: order3?.market ?? paramOf(write, "market_id") ?? "",
    rules,
    facts,
    considered
  };
  for (const check of CHECKS) {
    const denial = check(at);
    if (denial !== void 0) return { ok: false, code: denial.code, message: messageOf(denial), considered };
  }
  return { ok: true, considered };
}
var KINDS2 = {
  "POST /orders": "place",
  "PUT /orders": "amend",
  "PUT /account/leverage": "leverage"
};
function deny(code, ...figures) {
  return { code, figures };
}
function messageOf({ code, figures }) {
  const named4 = DENIALS[code].names.map((name2, index) => `${name2}=${figures[index] ?? "?"}`);
  return named4.length === 0 ? `${code}: ${DENIALS[code].summary}` : `${code}: ${named4.join(", ")}`;
}
function passesCaps(at) {
  const asked = at.write.allow ?? at.write.intent?.allow;
  if (asked !== "reduce") return false;
  const proven = lowers(at);
  at.considered["allow"] = proven ? "reduce" : "reduce not proven";
  return proven;
}
function within(at, control, value2, max) {
  at.considered[control] = `${typeof value2 === "number" ? value2 : decimalText(value2)}/${max}`;
  return typeof value2 === "number" ? value2 <= Number(max) : value2.lte(exact(String(max)));
}
var CHECKS = [
  function killSwitch({ facts }) {
    return facts.killed === true ? deny("KILL_SWITCH_ENGAGED") : void 0;
  },
  function halted(at) {
    return modeOf(at) === "halted" ? deny("TRADING_HALTED", "halted", at.market) : void 0;
  },
  function knownOrder({ kind, order: order3, write }) {
    if (kind === "leverage" || order3 !== void 0) return void 0;
    return deny("AMEND_TARGET_UNKNOWN", paramOf(write, "order_id") ?? write.clientOrderId ?? "");
  },
  function allowedMarket({ rules, market: market4, considered }) {
    if (rules.markets === void 0) return void 0;
    considered["markets"] = market4;
    return rules.markets.includes(market4) ? void 0 : deny("MARKET_NOT_ALLOWED", market4, rules.markets.join(" "));
  },
  function orderType({ rules, order: order3 }) {
    const { orderTypes } = rules;
    if (orderTypes === void 0 || order3 === void 0) return void 0;
    const allowed = orderTypes;
    return allowed.includes(order3.type) ? void 0 : deny("ORDER_TYPE_NOT_ALLOWED", order3.type, allowed.join(" "));
  },
  function leverage(at) {
    const { kind, write, rules } = at;
    if (kind !== "leverage") return void 0;
    const text2 = paramOf(write, "leverage") ?? "";
    if (!/^[1-9]\d{0,8}$/.test(text2)) return deny("LEVERAGE_NOT_WHOLE", text2);
    const max = rules.maxLeverage ?? MOST_LEVERAGE;
    return within(at, "max_leverage", exact(text2), max) ? void 0 : deny("LEVERAGE_EXCEEDS_MAX", text2, max);
  },
  function leverageWhileReducing(at) {
    const { kind, write, facts, market: market4 } = at;
    if (kind !== "leverage" || modeOf(at) !== "reducing") return void 0;
    const leverage2 = facts.account?.leverage ?? {};
    const current = Object.hasOwn(leverage2, market4) ? leverage2[market4] : void 0;
    const asked = paramOf(write, "leverage") ?? "";
    if (current === void 0 || exact(asked).lte(exact(current))) return void 0;
    return deny("LEVERAGE_RAISED_WHILE_REDUCING", "reducing", asked, current);
  },
  function tick({ order: order3, facts }) {
    const { marketRules } = facts;
    if (order3 === void 0 || marketRules === void 0) return void 0;
    const step = exact(marketRules.tick);
    if (order3.price !== void 0 && !isMultiple(exact(order3.price), step)) {
      return deny("PRICE_OFF_TICK", order3.price, marketRules.tick, nearest(exact(order3.price), step));
    }
    if (order3.trigger !== void 0 && !isMultiple(exact(order3.trigger), step)) {
      return deny("TRIGGER_OFF_TICK", order3.trigger, marketRules.tick, nearest(exact(order3.trigger), step));
    }
    return void 0;
  },
  function lot({ order: order3, facts }) {
    const { marketRules } = facts;
    if (order3 === void 0 || marketRules === void 0 || order3.fraction || !order3.resizes) return void 0;
    const step = exact(marketRules.lot);
    const least = exact(marketRules.min_size ?? marketRules.lot);
    if (!isMultiple(order3.size, step)) {
      const legal = Decimal.max(decimal(nearest(order3.size, step)), least);
      return deny("SIZE_OFF_LOT", decimalText(order3.size), marketRules.lot, decimalText(legal));
    }
    return order3.size.lt(least) ? deny("SIZE_BELOW_MIN", decimalText(order3.size), decimalText(least)) : void 0;
  },
  function writes(at) {
    const { maxWrites } = at.rules;
    const used = at.facts.counters.writes + 1;
    return maxWrites === void 0 || within(at, "max_writes", used, maxWrites) ? void 0 : deny("WRITES_EXCEED_MAX", used, maxWrites);
  },
  function orderRate(at) {
    const { maxOrdersPerMinute } = at.rules;
    if (maxOrdersPerMinute === void 0 || at.kind === "leverage") return void 0;
    const used = at.facts.counters.ordersLastMinute + 1;
    return within(at, "orders_per_minute", used, maxOrdersPerMinute) ? void 0 : deny("ORDER_RATE_EXCEEDED", used, maxOrdersPerMinute);
  },
  function stepFills(at) {
    const { stepFills: stepFills2 } = at.rules;
    if (stepFills2 === void 0 || at.kind === "leverage") return void 0;
    const fills = at.facts.counters.stepFills ?? 0;
    return within(at, "step_fills", fills, stepFills2.max) ? void 0 : deny("STEP_FILLS_EXCEEDED", fills, stepFills2.max, stepFills2.windowMs);
  },
  function refusals(at) {
    const { refusals: refusals2 } = at.rules;
    if (refusals2 === void 0) return void 0;
    const count2 = at.facts.counters.refusals ?? 0;
    return within(at, "refusals", count2, refusals2.max) ? void 0 : deny("REFUSALS_EXCEEDED", count2, refusals2.max, refusals2.windowMs);
  },
  function openOrders(at) {
    if (at.kind !== "place") return void 0;
    const { run, account } = at.facts.openOrders;
    const { maxOpenOrders } = at.rules;
    if (maxOpenOrders !== void 0 && !within(at, "max_open_orders", run + 1, maxOpenOrders)) {
      return deny("OPEN_ORDERS_EXCEED_MAX", run + 1, maxOpenOrders);
    }
    return account + 1 > MOST_OPEN_ORDERS ? deny("OPEN_ORDERS_NEAR_VENUE_LIMIT", account + 1, MOST_OPEN_ORDERS) : void 0;
  },
  function orderSize(at) {
    const { order: order3, rules } = at;
    if (rules.maxOrderSize === void 0 || order3 === void 0 || order3.fraction) return void 0;
    const fits2 = within(at, "max_order_size", order3.size, rules.maxOrderSize);
    return fits2 ? void 0 : deny("SIZE_EXCEEDS_MAX_PER_ORDER", decimalText(order3.size), rules.maxOrderSize);
  },
  function reducing(at) {
    if (at.kind === "leverage" || modeOf(at) !== "reducing" || at.order === void 0) return void 0;
    at.considered["mode"] = "reducing";
    if (lowers(at)) return void 0;
    const { side: side2, rest } = at.order;
    return deny(
      "REDUCING_ONLY",
      "reducing",
      side2,
      decimalText(rest),
      decimalText(positionOf(at)),
      decimalText(workingOnSide(at, side2))
    );
  },
  function side(at) {
    const { order: order3, rules } = at;
    if (rules.sides === void 0 || order3 === void 0 || rules.sides.includes(order3.side) || lowers(at))
      return void 0;
    return deny("SIDE_NOT_ALLOWED", order3.side, rules.sides.join(" "));
  },
  function quarantine(at) {
    const { facts, market: market4, order: order3 } = at;
    if (order3 === void 0 || lowers(at)) return void 0;
    const doubtful = facts.working.find((each) => each.market === market4 && each.quarantined === true);
    if (doubtful === void 0 && facts.quarantinedMarkets?.includes(market4) !== true) return void 0;
    return deny("MARKET_QUARANTINED", market4, doubtful?.orderId ?? doubtful?.clientOrderId ?? "");
  },
  function picture(at) {
    const { maxReadAgeMs } = at.rules;
    if (maxReadAgeMs === void 0 || at.order === void 0 || lowers(at)) return void 0;
    const age = at.facts.lastReadAgeMs;
    if (age !== void 0 && within(at, "read_age_ms", age, maxReadAgeMs)) return void 0;
    return deny("PICTURE_STALE", age ?? "never", maxReadAgeMs);
  },
  function floors(at) {
    const { minEquity, minHealth, maxAccountAgeMs } = at.rules;
    if (minEquity === void 0 && minHealth === void 0 || at.order === void 0 || lowers(at)) return void 0;
    const { account, now } = at.facts;
    const age = account === void 0 ? "never" : now - account.at;
    if (account === void 0 || maxAccountAgeMs !== void 0 && Number(age) > maxAccountAgeMs) {
      return deny("ACCOUNT_STALE", age, maxAccountAgeMs ?? "any");
    }
    if (minEquity !== void 0) {
      at.considered["min_equity"] = `${account.equity}/${minEquity}`;
      if (exact(account.equity).lt(exact(minEquity))) return deny("EQUITY_BELOW_MIN", account.equity, minEquity);
    }
    if (minHealth === void 0) return void 0;
    at.considered["min_health"] = `${account.health}/${minHealth}`;
    return exact(account.health).lt(exact(minHealth)) ? deny("HEALTH_BELOW_MIN", account.health, minHealth) : void 0;
  },
  function orderNotional(at) {
    const { order: order3, rules } = at;
    if (rules.maxOrderNotional === void 0 || order3 === void 0 || order3.fraction || passesCaps(at))
      return void 0;
    const price2 = priceOf(at);
    if (price2 === void 0) return deny("NOTIONAL_UNKNOWN", at.market);
    const notional = order3.size.times(exact(price2));
    const fits2 = within(at, "max_order_notional", notional, rules.maxOrderNotional);
    return fits2 ? void 0 : deny("NOTIONAL_EXCEEDS_MAX_PER_ORDER", decimalText(notional), rules.maxOrderNotional);
  },
  /** An amend that keeps the size sends nothing new: a quote that follows the market must not use the run's notional up. */
  function runNotional(at) {
    const { order: order3, rules, facts } = at;
    if (rules.maxRunNotional === void 0 || order3 === void 0 || order3.fraction || order3.added.isZero() || passesCaps(at)) {
      return void 0;
    }
    const price2 = priceOf(at);
    if (price2 === void 0) return deny("NOTIONAL_UNKNOWN", at.market);
    const notional = order3.added.times(exact(price2));
    const sum3 = notional.plus(exact(facts.counters.runNotional));
    if (within(at, "max_run_notional", sum3, rules.maxRunNotional)) return void 0;
    return deny(
      "NOTIONAL_EXCEEDS_MAX_PER_RUN",
      decimalText(notional),
      facts.counters.runNotional,
      rules.maxRunNotional
    );
  },
  function priceBand(at) {
    const { order: order3, rules, facts, market: market4 } = at;
    if (rules.priceBandWithin === void 0 || order3?.price === void 0 || order3.fraction) return void 0;
    const reference = referenceOf(at);
    if (reference === void 0) return deny("REFERENCE_MISSING", market4);
    const age = facts.now - reference.at;
    if (rules.maxReferenceAgeMs !== void 0 && age > rules.maxReferenceAgeMs)
      return deny("REFERENCE_STALE", age, rules.maxReferenceAgeMs);
    const middle = exact(reference.price);
    const width = middle.times(exact(rules.priceBandWithin));
    const [low, high] = [decimalText(middle.minus(width)), decimalText(middle.plus(width))];
    at.considered["price_band"] = `${order3.price} in ${low}..${high}`;
    const inside = exact(order3.price).minus(middle).abs().lte(width);
    return inside ? void 0 : deny("PRICE_OUTSIDE_BAND", order3.price, reference.price, low, high);
  },
  function position(at) {
    const { order: order3, rules } = at;
    if (rules.maxPosition === void 0 || order3 === void 0 || lowers(at)) return void 0;
    const held = order3.side === "long" ? positionOf(at) : positionOf(at).negated();
    const worst = held.plus(workingOnSide(at, order3.side)).plus(order3.rest);
    const fits2 = within(at, "max_position", worst, rules.maxPosition);
    return fits2 ? void 0 : deny("POSITION_EXCEEDS_MAX", decimalText(worst), rules.maxPosition);
  },
  function marketNotional(at) {
    const { order: order3, rules, market: market4 } = at;
    if (rules.maxMarketNotional === void 0 || order3 === void 0 || lowers(at)) return void 0;
    const held = heldNotional(at, market4);
    const price2 = priceOf(at);
    if (held === void 0 || price2 === void 0) return deny("NOTIONAL_UNKNOWN", market4);
    const notional = order3.rest.times(exact(price2));
    if (within(at, "max_market_notional", held.plus(notional), rules.maxMarketNotional)) return void 0;
    return deny("NOTIONAL_EXCEEDS_MAX_PER_MARKET", decimalText(notional), decimalText(held), rules.maxMarketNotional);
  },
  function exposure(at) {
    const { order: order3, rules, facts, market: market4 } = at;
    if (rules.maxExposure === void 0 || order3 === void 0 || lowers(at)) return void 0;
    const price2 = priceOf(at);
    if (price2 === void 0) return deny("NOTIONAL_UNKNOWN", market4);
    let held = exact("0");
    for (const each of /* @__PURE__ */ new Set([...Object.keys(facts.positions), ...facts.working.map((one2) => one2.market)])) {
      const here = heldNotional(at, each);
      if (here === void 0) return deny("NOTIONAL_UNKNOWN", each);
      held = held.plus(here);
    }
    const notional = order3.rest.times(exact(price2));
    if (within(at, "max_exposure", held.plus(notional), rules.maxExposure)) return void 0;
    return deny("EXPOSURE_EXCEEDS_MAX", decimalText(notional), decimalText(held), rules.maxExposure);
  },
  function selfMatch(at) {
    const { order: order3, rules, market: market4 } = at;
    if (rules.selfMatch === "allow" || order3 === void 0 || !BOOK_TYPES.has(order3.type)) return void 0;
    const own2 = order3.price;
    for (const each of othersIn(at, market4)) {
      if (each.side === order3.side || !BOOK_TYPES.has(each.type)) continue;
      if (own2 === void 0 || each.price === void 0 || crosses(order3.side, exact(own2), exact(each.price))) {
        return deny("SELF_MATCH", own2 ?? "market", each.price ?? "market", each.orderId ?? each.clientOrderId);
      }
    }
    return void 0;
  }
];
var BOOK_TYPES = /* @__PURE__ */ new Set(["limit", "market"]);
function crosses(side2, price2, resting) {
  return side2 === "long" ? price2.gte(resting) : price2.lte(resting);
}
function isMultiple(value2, step) {
  return value2.mod(step).isZero();
}
function nearest(value2, step) {
  const rounded = roundToStep(value2, step, "nearest");
  return decimalText(rounded.isZero() ? step : rounded);
}

// ../src/engine/scope.ts
var Frame = class _Frame {
  roots;
  parent;
  /** Path in the file of the step this frame is the body of, and the same with its iterations. */
  staticPath;
  path;
  error;
  names = /* @__PURE__ */ new Map();
  constructor(roots, at, parent, error3) {
    this.roots = roots;
    this.parent = parent;
    this.staticPath = at.staticPath;
    this.path = at.path;
    this.error = error3 ?? parent?.error;
  }
  /** The frame of a block inside: same place unless said otherwise. */
  inner(at, error3) {
    return new _Frame(this.roots, at ?? this, this, error3);
  }
  set(name2, value2) {
    this.names.set(name2, value2);
  }
  /** Where a step of this block is in the run: the file's path with the iterations of the loops around it. */
  pathOf(staticPath) {
    return staticPath.startsWith(this.staticPath) ? this.path + staticPath.slice(this.staticPath.length) : `${this.path}/${staticPath}`;
  }
  find(name2) {
    for (let frame = this; frame !== void 0; frame = frame.parent) {
      if (frame.names.has(name2)) return frame.names.get(name2);
    }
    return this.roots.values.get(name2);
  }
};
var StepScope = class {
  frame;
  now;
  constructor(frame, nowMs) {
    this.frame = frame;
    this.now = Time.ofMs(nowMs);
  }
  get(root) {
    if (root === "now") return this.now;
    if (root === "feeds") return this.frame.roots.feeds(this);
    if (root === "error") return this.frame.error === void 0 ? void 0 : errorRecord(this.frame.error);
    const def = this.frame.roots.defs.get(root);
    return def === void 0 ? this.frame.find(root) : def.evaluate(this);
  }
  rules(market4) {
    return this.frame.roots.rules(market4);
  }
};
function errorRecord(error3) {
  return { kind: error3.kind, message: error3.message, step: error3.step ?? "" };
}

// ../src/engine/roots.ts
async function startRoots(run, runbook, inputs, at) {
  const values = /* @__PURE__ */ new Map([
    ["inputs", inputs],
    ["run", { id: run.setup.run, started_at: Time.ofMs(run.setup.startedAt) }]
  ]);
  const band = runbook.limits?.priceBand;
  const roots = {
    runbook,
    values,
    defs: new Map(runbook.def.map(({ name: name2, value: value2 }) => [name2, value2])),
    feeds: (scope2) => run.feeds.record(runbook.feeds, scope2),
    rules: (market4) => run.venue.market(market4),
    limits: at.limits,
    bandFeeds: band === void 0 ? [] : feedsOf(band.around),
    reference: (scope2) => band?.around.evaluate(scope2)
  };
  const frame = new Frame(roots, { staticPath: "", path: at.path });
  const scope = () => new StepScope(frame, run.clock.now());
  const evaluate = async (expr) => {
    await run.feeds.ensure(feedsOf(expr), runbook.feeds, scope(), at.path);
    return evaluated(expr, scope(), at.path);
  };
  for (const { name: name2, value: value2 } of runbook.let) values.set(name2, await evaluate(value2));
  for (const { name: name2, init } of runbook.vars) values.set(name2, await evaluate(init));
  const own2 = runbook.limits === void 0 ? void 0 : ruleValues(runbook.limits, scope(), at.path);
  roots.limits = own2 === void 0 ? at.limits : at.limits === void 0 ? own2 : tighter(at.limits, own2);
  return roots;
}
function feedsOf(expr) {
  return expr.reads.filter((root) => root.startsWith("feeds.")).map((root) => root.slice("feeds.".length));
}
function evaluated(expr, scope, path) {
  try {
    return expr.evaluate(scope);
  } catch (error3) {
    if (error3 instanceof EvaluationFailure) throw new StepFailure("assertion", `${expr.text}: ${error3.message}`, path);
    throw error3;
  }
}
function ruleValues(limits, scope, path) {
  const text2 = (expr) => expr === void 0 ? void 0 : decimalText(evaluated(expr, scope, path));
  const count2 = (expr) => expr === void 0 ? void 0 : wholeNumber(evaluated(expr, scope, path));
  const rules = {
    markets: limits.markets?.map((expr) => evaluated(expr, scope, path)),
    sides: limits.sides?.map((expr) => evaluated(expr, scope, path)),
    maxOrderSize: text2(limits.maxOrderSize),
    maxOrderNotional: text2(limits.maxOrderNotional),
    maxRunNotional: text2(limits.maxRunNotional),
    maxOpenOrders: count2(limits.maxOpenOrders),
    maxLeverage: text2(limits.maxLeverage),
    maxWrites: count2(limits.maxWrites),
    priceBandWithin: text2(limits.priceBand?.within),
    mode: limits.mode
  };
  return Object.fromEntries(Object.entries(rules).filter(([, value2]) => value2 !== void 0));
}

// ../src/engine/call.ts
async function callRunbook(walker, at) {
  const { runbook: name2, with: given2 } = at.step.args;
  const callee = at.frame.roots.runbook.calls[name2];
  if (callee === void 0) throw new Error(`engine: runbook ${name2} was not checked with its caller`);
  const inputs = /* @__PURE__ */ Object.create(null);
  for (const input2 of callee.inputs) {
    const expr = given2[input2.name];
    inputs[input2.name] = expr === void 0 ? input2.default : walker.evaluate(expr, at.scope, at.path);
  }
  const { limits } = at.frame.roots;
  const roots = await startRoots(walker.run, callee, inputs, { path: at.path, limits });
  const frame = new Frame(roots, { staticPath: "", path: `${at.path}/` });
  const lease = await walker.run.keeper.enter(callee, new StepScope(frame, walker.run.clock.now()), at.path);
  try {
    await walker.block(callee.steps, frame, at.cancel);
  } catch (error3) {
    if (error3 instanceof StepFailure) await walker.block(callee.onError, frame.inner(void 0, error3.fact), at.cancel);
    throw error3;
  } finally {
    await walker.block(callee.finally, frame.inner(), new Cancellation());
    await lease.leave();
  }
  const scope = new StepScope(frame, walker.run.clock.now());
  return Object.fromEntries(callee.outputs.map((output) => [output.name, walker.evaluate(output.value, scope, at.path)]));
}

// ../src/runbook/checked.ts
var ERROR_KINDS = [
  "transport",
  "rate_limited",
  "unknown_outcome",
  "rejected",
  "denied",
  "not_found",
  "timeout",
  "stale_feed",
  "assertion",
  "approval_rejected",
  "cancelled",
  "deadman_fired"
];

// ../src/venue/records.ts
var SIDES = ["long", "short"];
var TIMES_IN_FORCE = [
  "good_till_cancel",
  "post_only",
  "immediate_or_cancel",
  "fill_or_kill"
];
var ORDER_TYPES = [
  "limit",
  "market",
  "stop_limit",
  "stop_market",
  "stop_loss",
  "take_profit"
];
var ORDER_STATUSES = [
  "open",
  "closed",
  "canceled",
  "rejected",
  "processing",
  "amending",
  "cancelingall",
  "canceling"
];

// ../src/runbook/typing.ts
var NUMBER = { kind: "decimal", unit: "number" };
var INTEGER = { kind: "decimal", unit: "number", integer: true };
var PRICE = { kind: "decimal", unit: "price" };
var SIZE = { kind: "decimal", unit: "size" };
var MONEY = { kind: "decimal", unit: "money" };
var BOOLEAN = { kind: "boolean" };
var TEXT = { kind: "text" };
var MARKET = { kind: "text", market: true };
var SIDE = { kind: "text", of: SIDES };
var DURATION = { kind: "duration" };
var TIME = { kind: "time" };
var WORDS = /* @__PURE__ */ new Map([
  ["market", MARKET],
  ["side", SIDE],
  ["price", PRICE],
  ["size", SIZE],
  ["money", MONEY],
  ["number", NUMBER],
  ["integer", INTEGER],
  ["pct", NUMBER],
  ["bps", NUMBER],
  ["duration", DURATION],
  ["boolean", BOOLEAN],
  ["text", TEXT],
  ["time", TIME]
]);
var TYPE_WORDS = [...WORDS.keys(), "list<\u2026>", "map<\u2026>"];
function typeOfWord(text2) {
  const word2 = text2.trim();
  const known = WORDS.get(word2);
  if (known !== void 0 || word2.length > 200) return known;
  const nested = /^(list|map)\s*<(.*)>$/.exec(word2);
  const of = nested === null ? void 0 : typeOfWord(nested[2]);
  return of === void 0 ? void 0 : { kind: nested?.[1], of };
}
function elementWord(typeText) {
  return /^(?:list|map)\s*<(.*)>$/.exec(typeText.trim())?.[1]?.trim() ?? typeText;
}
function typeName(type) {
  switch (type.kind) {
    case "decimal":
      return type.integer === true && type.unit === "number" ? "integer" : type.unit;
    case "text":
      if (type.market === true) return "market";
      if (type.of === void 0) return "text";
      if (type.of === SIDES) return "side";
      if (type.of === ORDER_STATUSES) return "order status";
      return type.of.slice(0, 6).map((each) => `'${each}'`).join(" or ") + (type.of.length > 6 ? " \u2026" : "");
    case "list":
    case "map":
      return `${type.kind}<${typeName(type.of)}>`;
    case "record":
      return type.name;
    case "optional":
      return `optional ${typeName(type.of)}`;
    case "boolean":
    case "duration":
    case "time":
      return type.kind;
    default:
      return type;
  }
}
function misfit(found, wanted) {
  if (wanted.kind === "optional") return misfit(found.kind === "optional" ? found.of : found, wanted.of);
  if (found.kind === "optional") return misfit(found.of, wanted) === void 0 ? "optional" : "type";
  switch (wanted.kind) {
    case "decimal":
      if (found.kind !== "decimal") return "type";
      if (found.unit !== wanted.unit) return "unit";
      return wanted.integer === true && found.integer !== true ? "integer" : void 0;
    case "text":
      if (found.kind !== "text") return "type";
      if (wanted.of === void 0) return void 0;
      if (found.of === void 0) return "type";
      return found.of.every((each) => wanted.of?.includes(each)) ? void 0 : "member";
    case "list":
    case "map":
      return found.kind === wanted.kind ? misfit(found.of, wanted.of) : "type";
    case "record":
      return found.kind === "record" && found.name === wanted.name ? void 0 : "type";
    case "boolean":
    case "duration":
    case "time":
      return found.kind === wanted.kind ? void 0 : "type";
    default:
      return wanted;
  }
}
function union(left, right) {
  if (left.kind === "optional" || right.kind === "optional") {
    const of = union(left.kind === "optional" ? left.of : left, right.kind === "optional" ? right.of : right);
    return of === void 0 ? void 0 : { kind: "optional", of };
  }
  switch (left.kind) {
    case "decimal":
      if (right.kind !== "decimal" || left.unit !== right.unit) return void 0;
      return left.integer === true ? right : left;
    case "text": {
      if (right.kind !== "text") return void 0;
      if (left.market === true && right.market === true) return left;
      if (left.of === void 0 || right.of === void 0) return TEXT;
      const rest = right.of.filter((each) => !left.of?.includes(each));
      return rest.length === 0 ? left : { kind: "text", of: [...left.of, ...rest] };
    }
    case "list":
    case "map": {
      if (right.kind !== left.kind) return void 0;
      const of = union(left.of, right.of);
      return of === void 0 ? void 0 : { kind: left.kind, of };
    }
    case "record":
      return right.kind === "record" && right.name === left.name ? left : void 0;
    case "boolean":
    case "duration":
    case "time":
      return right.kind === left.kind ? left : void 0;
    default:
      return left;
  }
}
function comparable(left, right) {
  if (left.kind === "optional" || right.kind === "optional") return "optional";
  if (left.kind === "decimal" && right.kind === "decimal")
    return left.unit === right.unit || left.unit === "number" || right.unit === "number" ? void 0 : "unit";
  if (left.kind === "text" && right.kind === "text")
    return left.of === void 0 || right.of === void 0 || left.of.some((each) => right.of?.includes(each)) ? void 0 : "member";
  if (left.kind === "list" && right.kind === "list" || left.kind === "map" && right.kind === "map")
    return comparable(left.of, right.of);
  return left.kind === right.kind && left.kind !== "record" ? void 0 : "type";
}
function withUnit(type, unit) {
  switch (type.kind) {
    case "decimal":
      return type.unit === unit ? type : { kind: "decimal", unit, ...type.integer === true && unit === "number" ? { integer: true } : {} };
    case "list":
    case "map":
    case "optional":
      return { kind: type.kind, of: withUnit(type.of, unit) };
    default:
      return type;
  }
}
function unitOf(type) {
  if (type.kind === "decimal") return type.unit;
  return type.kind === "list" || type.kind === "map" || type.kind === "optional" ? unitOf(type.of) : void 0;
}

// ../src/runbook/language-records.ts
function recordType(name2, fields2) {
  return { kind: "record", name: name2, fields: Object.assign(/* @__PURE__ */ Object.create(null), fields2) };
}
var optional = (of) => ({ kind: "optional", of });
var ORDER = recordType("Order", {
  id: TEXT,
  client_order_id: TEXT,
  market_id: MARKET,
  order_type: TEXT,
  side: SIDE,
  price: PRICE,
  size: SIZE,
  initial_size: SIZE,
  total_filled_size: SIZE,
  status: TEXT,
  reason: TEXT,
  timestamp: TIME,
  time_in_force: TEXT,
  filled: SIZE,
  remaining: SIZE,
  avg_price: optional(PRICE),
  open: BOOLEAN,
  terminal: BOOLEAN
});
var FILL = recordType("Fill", {
  id: TEXT,
  trade_id: TEXT,
  order_id: TEXT,
  market_id: MARKET,
  side: SIDE,
  price: PRICE,
  size: SIZE,
  fee: MONEY,
  is_maker: BOOLEAN,
  liquidation: BOOLEAN,
  timestamp: TIME
});
var ACCOUNT = recordType("Account", {
  id: INTEGER,
  status: TEXT,
  profile_type: TEXT,
  wallet: TEXT,
  balance: MONEY,
  withdrawable_balance: MONEY,
  account_equity: MONEY,
  account_leverage: NUMBER,
  account_margin: NUMBER,
  health: NUMBER,
  cum_trading_volume: MONEY,
  cum_unrealized_pnl: MONEY,
  total_notional: MONEY,
  total_order_margin: MONEY,
  total_position_margin: MONEY,
  last_liq_check: INTEGER,
  last_update: TIME,
  /** By market, the leverage set for it; a market nobody has set is not in it. */
  leverage: { kind: "map", of: NUMBER }
});
var TIER_STEP = recordType("TierStep", { tier: INTEGER, title: TEXT, min_volume: MONEY });
var TIER_STATUS = recordType("TierStatus", { current: TIER_STEP, next: TIER_STEP, needed_volume: MONEY });
var TIER = recordType("Tier", { tier_status: TIER_STATUS });
var DEADMAN = recordType("Deadman", {
  market_id: optional(MARKET),
  timeout: INTEGER,
  last_updated: TIME,
  status: TEXT
});
var STEP_ERROR = recordType("StepError", {
  kind: { kind: "text", of: ERROR_KINDS },
  message: TEXT,
  step: TEXT
});
var RUN = recordType("Run", { id: TEXT, started_at: TIME });

// ../src/runbook/shape.ts
function need(shape, doc) {
  return { shape, required: true, doc };
}
function may(shape, doc, byDefault) {
  return { shape, required: false, doc, ...byDefault === void 0 ? {} : { default: byDefault } };
}
function fields(all, rules = {}) {
  return { kind: "fields", fields: all, ...rules };
}
function list(of) {
  return { kind: "list", of };
}
function word(...values) {
  return { kind: "word", values };
}
function value(type, spelling) {
  return { kind: "value", type, spelling };
}
var MARKET_TYPE = { kind: "text", market: true };
var MARKET2 = value(MARKET_TYPE, "market");
var SIDE2 = value({ kind: "text", of: SIDES }, "side");
var PRICE2 = value({ kind: "decimal", unit: "price" }, "price");
var SIZE2 = value({ kind: "decimal", unit: "size" }, "size");
var MONEY2 = value({ kind: "decimal", unit: "money" }, "money");
var NUMBER2 = value({ kind: "decimal", unit: "number" }, "number");
var INTEGER2 = value({ kind: "decimal", unit: "number", integer: true }, "integer");
var DURATION2 = value({ kind: "duration" }, "duration");
var TIME2 = value({ kind: "time" }, "time");
var CONDITION = value({ kind: "boolean" }, "condition");
var TEXT2 = value({ kind: "text" }, "text");
var ANYTHING = value("any", "any value");
var STEPS_SHAPE = { kind: "steps" };
var NAME_SHAPE = { kind: "name" };
var PLAIN_TEXT = { kind: "text" };
function choiceOfText(values) {
  return value({ kind: "text", of: values }, "text");
}
function record(type, spelling) {
  return value(type, spelling);
}
var NAME_PATTERN = "^[A-Za-z_][A-Za-z0-9_]*$";
var FREE_NAME_PATTERN = "^[A-Za-z0-9][A-Za-z0-9_.-]*$";

// ../src/runbook/steps.ts
var MODIFIER_NAMES = ["id", "if", "retry", "timeout", "catch", "on_timeout", "undo", "await", "allow", "because", "note"];
var ORDER_VALUE = record(ORDER, "order");
var ORDERS = recordType("Orders", { orders: { kind: "list", of: ORDER } });
var FILLS = recordType("Fills", { fills: { kind: "list", of: FILL } });
var LIST = { kind: "value", type: "any", spelling: "list" };
var ORDER_OR_ID = { kind: "value", type: "any", spelling: "order or order id" };
var NOTHING2 = fields({});
var CHANNEL = { kind: "text", pattern: FREE_NAME_PATTERN, accepts: "a name of letters, digits, dots, dashes and underscores" };
var EVERY_STEP = ["id", "if", "timeout", "catch", "on_timeout", "because", "note"];
var READ = [...EVERY_STEP, "retry"];
var WRITE = [...READ, "undo"];
var PLAIN2 = ["id", "if", "because", "note"];
var tif = may(word(...TIMES_IN_FORCE), "time in force", "good_till_cancel; immediate_or_cancel for a market order");
var orderFields = {
  type: need(word("limit", "market", "stop_limit", "stop_market"), "kind of order"),
  market: need(MARKET2, "market id, BASE-QUOTE"),
  side: need(SIDE2, "long or short"),
  size: need(SIZE2, "base currency, above 0"),
  price: may(PRICE2, "limit price, quote currency"),
  trigger: may(PRICE2, "price that triggers a stop, quote currency"),
  tif,
  tag: may(
    { kind: "text", pattern: "^[A-Za-z0-9_-]{1,26}$", accepts: "1 to 26 letters, digits, dashes and underscores" },
    "goes into the client order id"
  ),
  on_ambiguous: may(
    word("halt", "resend"),
    "when it is not known whether the order exists: halt the run, or send again once its absence is proven (good-till-cancel and post-only limit orders alone)",
    "halt"
  )
};
var { trigger: _trigger, ...withoutTrigger } = orderFields;
var price = need(orderFields.price.shape, orderFields.price.doc);
var trigger = need(orderFields.trigger.shape, orderFields.trigger.doc);
var typed = (type) => need(word(type), "kind of order");
var PLACE = {
  kind: "variants",
  by: "type",
  variants: {
    limit: fields({ ...withoutTrigger, type: typed("limit"), price }),
    market: fields({ ...withoutTrigger, type: typed("market"), price: may(PRICE2, "worst acceptable price, quote currency; the venue document leaves open whether it may be absent") }),
    stop_limit: fields({ ...orderFields, type: typed("stop_limit"), price, trigger }),
    stop_market: fields({ ...orderFields, type: typed("stop_market"), trigger })
  }
};
var LEG = fields({
  fraction: need(NUMBER2, "fraction of the position, above 0, at most 1"),
  trigger: need(PRICE2, "price that triggers it, quote currency"),
  price: need(PRICE2, "limit price once triggered, quote currency")
});
var period = {
  since: may(TIME2, "earliest time; without it the venue reads its whole history, up to ten times slower"),
  until: may(TIME2, "latest time"),
  limit: may(INTEGER2, "most rows, 1 to 1000"),
  page: may(INTEGER2, "page, from 0"),
  sort: may(word("asc", "desc"), "by time", "desc"),
  all_pages: may({ kind: "flag" }, "read on until a page is not full", "false")
};
var onFail = may(word("cancel_others", "let_others_finish"), "what a failing branch does to the others", "cancel_others");
var body = need(STEPS_SHAPE, "steps");
var STEPS = {
  place: {
    group: "venue",
    summary: "Places an order and waits until the venue has taken it up.",
    takes: PLACE,
    endpoints: ["POST /orders", "GET /orders", "GET /fills/order", "DELETE /orders"],
    retry: "write",
    risk: "increases",
    yields: ORDER,
    yieldsDoc: "the order, as it was when the step ended",
    modifiers: [...WRITE, "await", "allow"],
    await: { allowed: ["accepted", "live", "any_fill", "filled", "terminal"], default: "live" },
    undoWords: ["cancel", "keep"]
  },
  protect: {
    group: "venue",
    summary: "Places a stop-loss, a take-profit or both, each for a fraction of the position.",
    takes: fields(
      {
        market: need(MARKET2, "market id"),
        side: need(SIDE2, "side of the closing order: the opposite of the position"),
        stop_loss: may(LEG, "the order that limits the loss"),
        take_profit: may(LEG, "the order that takes the profit")
      },
      { atLeastOne: [["stop_loss", "take_profit"]] }
    ),
    endpoints: ["POST /orders", "GET /orders", "GET /fills/order", "DELETE /orders"],
    retry: "write",
    risk: "reduces",
    yields: "computed",
    yieldsDoc: "`stop_loss` and `take_profit`: the orders placed",
    modifiers: [...WRITE, "await"],
    await: { allowed: ["accepted", "live"], default: "live" },
    undoWords: ["cancel", "keep"]
  },
  amend: {
    group: "venue",
    summary: "Changes price, and size if given, of a resting order.",
    takes: fields({
      order: need(ORDER_VALUE, "the order"),
      price: need(PRICE2, "new price, quote currency"),
      size: may(SIZE2, "new size, base currency")
    }),
    endpoints: ["PUT /orders", "GET /orders", "GET /fills/order"],
    retry: "write",
    risk: "increases",
    yields: ORDER,
    yieldsDoc: "the order after the change was taken up",
    modifiers: [...WRITE, "await"],
    await: { allowed: ["accepted", "live"] }
  },
  cancel: {
    group: "venue",
    summary: "Cancels one order, a list of orders, or all orders of this run in a market.",
    takes: {
      kind: "choice",
      scalar: ORDER_VALUE,
      maps: [
        { by: "mine", shape: fields({ mine: need(MARKET2, "the market in which all orders of this run are cancelled") }) },
        { by: "ids", shape: fields({ ids: need(LIST, "orders or order ids") }) }
      ],
      accepts: "an order, {mine: MARKET} or {ids: LIST}"
    },
    endpoints: ["DELETE /orders", "GET /orders", "GET /fills/order"],
    retry: "write",
    risk: "reduces",
    yields: "computed",
    yieldsDoc: "the order, when one order is cancelled",
    modifiers: [...READ, "await"],
    await: { allowed: ["accepted", "terminal"] }
  },
  cancel_all: {
    group: "venue",
    summary: "Cancels every open order of the account, other programs' orders too. Needs the capability cancel_all.",
    takes: fields(
      { everyone: need({ kind: "flag", only: true, code: "cancel-all-not-explicit" }, "says that orders of others are meant as well") },
      { codes: { everyone: "cancel-all-not-explicit" } }
    ),
    endpoints: ["DELETE /orders/cancel_all"],
    retry: "write",
    risk: "reduces",
    yields: "nothing",
    yieldsDoc: "nothing",
    modifiers: READ
  },
  set_leverage: {
    group: "venue",
    summary: "Sets the leverage of a market.",
    takes: fields({ market: need(MARKET2, "market id"), leverage: need(INTEGER2, "whole number, 1 to 20") }),
    endpoints: ["PUT /account/leverage"],
    retry: "write",
    risk: "increases",
    yields: ACCOUNT,
    yieldsDoc: "the account record after the change",
    modifiers: WRITE
  },
  read_account: {
    group: "venue",
    summary: "Reads the account record.",
    takes: NOTHING2,
    endpoints: ["GET /account"],
    retry: "read",
    risk: "none",
    yields: ACCOUNT,
    yieldsDoc: "the account record",
    modifiers: READ
  },
  read_tier: {
    group: "venue",
    summary: "Reads the volume tier.",
    takes: NOTHING2,
    endpoints: ["GET /profile"],
    retry: "read",
    risk: "none",
    yields: TIER,
    yieldsDoc: "the tier status record",
    modifiers: READ
  },
  list_orders: {
    group: "venue",
    summary: "Lists orders of the account.",
    takes: fields(
      {
        market: may(MARKET2, "only this market"),
        status: may(choiceOfText(ORDER_STATUSES), "only this status"),
        order: may(TEXT2, "only this order id"),
        client_order_id: may(TEXT2, "only this client order id; needs market"),
        ...period
      },
      { together: { client_order_id: "market" }, codes: { client_order_id: "lookup-without-market" } }
    ),
    endpoints: ["GET /orders"],
    retry: "read",
    risk: "none",
    yields: ORDERS,
    yieldsDoc: "`orders`: the list",
    modifiers: READ
  },
  list_fills: {
    group: "venue",
    summary: "Lists fills of the account, or those of one order.",
    takes: fields({ market: may(MARKET2, "only this market"), order: may(ORDER_OR_ID, "only this order"), ...period }),
    endpoints: ["GET /fills", "GET /fills/order"],
    retry: "read",
    risk: "none",
    yields: FILLS,
    yieldsDoc: "`fills`: the list",
    modifiers: READ
  },
  refresh: {
    group: "venue",
    summary: "Reads an order again.",
    takes: ORDER_VALUE,
    endpoints: ["GET /orders", "GET /fills/order"],
    retry: "read",
    risk: "none",
    yields: ORDER,
    yieldsDoc: "the order as it is now",
    modifiers: READ
  },
  arm_deadman: {
    group: "venue",
    summary: "Arms the deadman switch once, without keep-alive; the deadman block is the better way.",
    takes: fields({ market: need(MARKET2, "market id"), timeout: need(DURATION2, "time without an order request until all orders are cancelled") }),
    endpoints: ["POST /cancel_all_after"],
    retry: "write",
    risk: "none",
    yields: DEADMAN,
    yieldsDoc: "the deadman switch record",
    modifiers: WRITE
  },
  read_deadman: {
    group: "venue",
    summary: "Reads the deadman switch.",
    takes: fields({ market: need(MARKET2, "market id") }),
    endpoints: ["GET /cancel_all_after"],
    retry: "read",
    risk: "none",
    yields: { kind: "optional", of: DEADMAN },
    yieldsDoc: "the deadman switch record; absent when the switch is not armed",
    modifiers: READ
  },
  disarm_deadman: {
    group: "venue",
    summary: "Disarms the deadman switch.",
    takes: fields({ market: need(MARKET2, "market id") }),
    endpoints: ["DELETE /cancel_all_after"],
    retry: "write",
    risk: "none",
    yields: "nothing",
    yieldsDoc: "nothing",
    modifiers: READ
  },
  refresh_session: {
    group: "venue",
    summary: "Obtains a new JWT; otherwise done by itself.",
    takes: NOTHING2,
    endpoints: ["POST /jwt"],
    retry: "read",
    risk: "none",
    yields: "nothing",
    yieldsDoc: "nothing",
    modifiers: READ
  },
  request: {
    group: "venue",
    summary: "Calls a read-only endpoint that the profile declares.",
    takes: fields({
      name: need({ kind: "text", pattern: FREE_NAME_PATTERN, accepts: "the name of a request of the profile" }, "name of the request in the profile"),
      with: may({ kind: "names", of: ANYTHING }, "its parameters")
    }),
    endpoints: [],
    retry: "read",
    risk: "none",
    yields: "computed",
    yieldsDoc: "the result, of the type the profile declares",
    modifiers: READ
  },
  let: {
    group: "control",
    summary: "Names values, for the steps after it in the same block.",
    takes: { kind: "names", of: ANYTHING },
    endpoints: [],
    retry: "none",
    risk: "none",
    yields: "nothing",
    yieldsDoc: "nothing; its names are seen by the steps after it in the same block",
    modifiers: PLAIN2
  },
  set: {
    group: "control",
    summary: "Changes variables declared in vars.",
    takes: { kind: "names", of: ANYTHING },
    endpoints: [],
    retry: "none",
    risk: "none",
    yields: "nothing",
    yieldsDoc: "nothing",
    modifiers: PLAIN2
  },
  assert: {
    group: "control",
    summary: "Fails with kind assertion unless the condition holds.",
    takes: CONDITION,
    endpoints: [],
    retry: "none",
    risk: "none",
    yields: "nothing",
    yieldsDoc: "nothing",
    modifiers: EVERY_STEP
  },
  wait: {
    group: "control",
    summary: "Waits for a length of time or until an instant.",
    takes: {
      kind: "choice",
      scalar: DURATION2,
      maps: [
        { by: "for", shape: fields({ for: need(DURATION2, "how long") }) },
        { by: "until", shape: fields({ until: need(TIME2, "until when") }) }
      ],
      accepts: "a duration, {for: DURATION} or {until: TIME}"
    },
    endpoints: [],
    retry: "none",
    risk: "none",
    yields: "nothing",
    yieldsDoc: "nothing",
    modifiers: EVERY_STEP
  },
  wait_for: {
    group: "control",
    summary: "Waits until an order has come so far, or until a read says so; fails with kind timeout.",
    takes: {
      kind: "choice",
      maps: [
        {
          by: "order",
          shape: fields({
            order: need(ORDER_VALUE, "the order"),
            is: need(word("live", "any_fill", "filled", "terminal"), "how far it must have come"),
            within: need(DURATION2, "how long to wait at most")
          })
        },
        {
          by: "read",
          shape: fields({
            read: need({ kind: "step" }, "the reading step, with an id"),
            until: need(CONDITION, "evaluated after each read"),
            every: need(DURATION2, "time between reads"),
            within: need(DURATION2, "how long to wait at most")
          })
        }
      ],
      accepts: "{order, is, within} or {read, until, every, within}"
    },
    endpoints: ["GET /orders", "GET /fills/order"],
    retry: "none",
    risk: "inner",
    yields: "computed",
    yieldsDoc: "the order, or what the read yields",
    modifiers: EVERY_STEP
  },
  for_each: {
    group: "control",
    summary: "Does its steps once for each item of a list, in order.",
    takes: fields({
      each: need(NAME_SHAPE, "name of the item"),
      in: need(LIST, "the list"),
      at: may(NAME_SHAPE, "name of the index, from 0"),
      do: body,
      collect: may({ kind: "names", of: ANYTHING }, "values kept of each round; the step's id is then the list of them")
    }),
    endpoints: [],
    retry: "none",
    risk: "inner",
    yields: "computed",
    yieldsDoc: "with `collect`, the list of records collected",
    modifiers: EVERY_STEP
  },
  repeat: {
    group: "control",
    summary: "Does its steps again and again, at most `max` times or for at most `for`.",
    takes: fields(
      {
        every: may(DURATION2, "time from the start of one round to the start of the next"),
        for: may(DURATION2, "no round begins later than this after the first"),
        max: may(INTEGER2, "most rounds"),
        while: may(CONDITION, "evaluated before each round"),
        until: may(CONDITION, "evaluated after each round"),
        do: body
      },
      { atLeastOne: [["for", "max"]], atMostOne: [["while", "until"]], codes: { atLeastOne: "loop-without-bound" } }
    ),
    endpoints: [],
    retry: "none",
    risk: "inner",
    yields: "nothing",
    yieldsDoc: "nothing",
    modifiers: EVERY_STEP
  },
  parallel: {
    group: "control",
    summary: "Does branches at the same time, or the same steps for each item of a list.",
    takes: {
      kind: "choice",
      maps: [
        {
          by: "branches",
          shape: fields({
            branches: need({ kind: "names", of: STEPS_SHAPE, free: true }, "steps of each branch"),
            join: may(word("all", "any"), "go on when all branches are done, or the first", "all"),
            on_fail: onFail
          })
        },
        {
          by: "each",
          shape: fields({
            each: need(NAME_SHAPE, "name of the item"),
            in: need(LIST, "the list"),
            max: need(INTEGER2, "most items at the same time"),
            on_fail: onFail,
            do: body
          })
        }
      ],
      accepts: "{branches, join, on_fail} or {each, in, max, on_fail, do}"
    },
    endpoints: [],
    retry: "none",
    risk: "inner",
    yields: "nothing",
    yieldsDoc: "nothing; the ids of joined branches are seen afterwards",
    modifiers: EVERY_STEP
  },
  switch: {
    group: "control",
    summary: "Does the steps of the first case that holds.",
    takes: {
      kind: "list",
      of: {
        kind: "choice",
        maps: [
          { by: "when", shape: fields({ when: need(CONDITION, "condition of the case"), do: body }) },
          { by: "else", shape: fields({ else: need(STEPS_SHAPE, "steps when no case held; last") }) }
        ],
        accepts: "{when, do} or {else}"
      }
    },
    endpoints: [],
    retry: "none",
    risk: "inner",
    yields: "nothing",
    yieldsDoc: "nothing",
    modifiers: EVERY_STEP
  },
  call: {
    group: "control",
    summary: "Runs another runbook, NAME.yaml beside this one.",
    takes: fields({
      runbook: need({ kind: "text", pattern: "^[A-Za-z0-9][A-Za-z0-9_-]*$", accepts: "the name of a file NAME.yaml beside this one, without .yaml" }, "its file name without .yaml"),
      with: may({ kind: "names", of: ANYTHING }, "its inputs")
    }),
    endpoints: [],
    retry: "none",
    risk: "inner",
    yields: "computed",
    yieldsDoc: "the outputs of the runbook called",
    modifiers: [...EVERY_STEP, "undo"]
  },
  approve: {
    group: "control",
    summary: "Asks a person; fails with kind approval_rejected when refused.",
    takes: fields({
      ask: need(TEXT2, "the question"),
      by: need(list({ kind: "text", pattern: FREE_NAME_PATTERN, accepts: "a role" }), "roles that may answer"),
      within: need(DURATION2, "how long to wait for the answer"),
      on_timeout: may(word("reject", "fail"), "what no answer means: a refusal, or a failure of kind timeout", "reject")
    }),
    endpoints: [],
    retry: "none",
    risk: "none",
    yields: "nothing",
    yieldsDoc: "nothing",
    modifiers: EVERY_STEP
  },
  notify: {
    group: "control",
    summary: "Sends a text to a channel of the profile.",
    takes: fields({ to: need(CHANNEL, "name of the channel in the profile"), text: need(TEXT2, "the text") }),
    endpoints: [],
    retry: "none",
    risk: "none",
    yields: "nothing",
    yieldsDoc: "nothing",
    modifiers: EVERY_STEP
  },
  stop: {
    group: "control",
    summary: "Ends the run early as stopped, with an outcome word of its own.",
    takes: fields({
      outcome: need({ kind: "text", pattern: FREE_NAME_PATTERN, accepts: "one word" }, "one word: the reason of the run"),
      because: may(TEXT2, "for the reviewer")
    }),
    endpoints: [],
    retry: "none",
    risk: "none",
    yields: "nothing",
    yieldsDoc: "nothing",
    modifiers: ["id", "if", "note"]
  },
  fail: {
    group: "control",
    summary: "Fails the run.",
    takes: fields({ because: need(TEXT2, "for the reviewer") }),
    endpoints: [],
    retry: "none",
    risk: "none",
    yields: "nothing",
    yieldsDoc: "nothing",
    modifiers: ["id", "if", "note"]
  }
};
var VERBS = Object.keys(STEPS);
function stepRow(verb) {
  return STEPS[verb];
}

// ../src/venue/catalogue.ts
var market = { type: "market", required: true, doc: "market id, <BASE>-<QUOTE>" };
var optionalMarket = { ...market, required: false };
var orderId = { type: "order_id", required: true, doc: "order id, <market_id>@<number>" };
var timestamp = (doc) => ({ type: "timestamp", required: false, doc: `${doc}, \xB5s since the epoch` });
var paging = {
  start_time: timestamp("earliest time; without it the whole history is read, up to ten times slower"),
  end_time: timestamp("latest time"),
  p_limit: { type: "integer", required: false, min: 1, max: 1e3, doc: "most rows to return" },
  p_page: { type: "integer", required: false, min: 0, doc: "page, from 0" },
  p_order: { type: "enum", required: false, values: ["DESC", "ASC"], doc: "order by time, DESC by default" }
};
var CATALOGUE = {
  "GET /account": {
    method: "GET",
    path: "/account",
    parameters: {},
    answer: { shape: "list", of: "account", one: true },
    tokens: 20,
    qualifies: false,
    protective: false,
    repeatable: "safe",
    section: "Account operations",
    about: "Reads the account record."
  },
  "PUT /account/leverage": {
    method: "PUT",
    path: "/account/leverage",
    parameters: {
      market_id: market,
      leverage: { type: "integer", required: true, min: 1, max: 20, doc: "leverage of the market, a whole number" }
    },
    answer: { shape: "list", of: "account", one: true },
    tokens: 20,
    qualifies: false,
    protective: false,
    repeatable: "value",
    section: "Account operations",
    about: "Sets the leverage of one market."
  },
  "POST /jwt": {
    method: "POST",
    path: "/jwt",
    parameters: {
      is_client: { type: "boolean", required: true, doc: "whether the caller is a client application" },
      refresh_token: { type: "text", required: true, doc: "the refresh token", secret: true }
    },
    answer: { shape: "jwt" },
    tokens: 20,
    qualifies: false,
    protective: true,
    repeatable: "never",
    section: "Account operations",
    about: "Obtains a new JWT when the current one has expired."
  },
  "GET /orders": {
    method: "GET",
    path: "/orders",
    parameters: {
      order_id: { ...orderId, required: false },
      client_order_id: {
        type: "client_order_id",
        required: false,
        doc: "client order id; only together with market_id (since 13 December 2024)"
      },
      status: { type: "enum", required: false, values: ORDER_STATUSES, doc: "order status" },
      market_id: optionalMarket,
      ...paging
    },
    answer: { shape: "list", of: "order", one: false },
    qualifies: false,
    protective: false,
    repeatable: "safe",
    section: "Orders",
    about: "Lists orders of the account."
  },
  "POST /orders": {
    method: "POST",
    path: "/orders",
    parameters: {
      market_id: market,
      price: {
        type: "decimal",
        required: false,
        exclusiveMin: "0",
        doc: "limit price, quote currency; required but for stop_market (and market, where the document leaves it open)"
      },
      side: { type: "enum", required: true, values: SIDES, doc: "side of the order" },
      size: {
        type: "decimal",
        required: true,
        exclusiveMin: "0",
        doc: "base currency; for stop_loss and take_profit a fraction of the position, at most 1"
      },
      type: { type: "enum", required: true, values: ORDER_TYPES, doc: "order type" },
      trigger_price: {
        type: "decimal",
        required: false,
        exclusiveMin: "0",
        doc: "price that triggers a stop or position order, quote currency"
      },
      client_order_id: { type: "client_order_id", required: false, doc: "id of our own" },
      time_in_force: { type: "enum", required: false, values: TIMES_IN_FORCE, doc: "time in force" }
    },
    answer: { shape: "list", of: "placement", one: true },
    tokens: 1,
    qualifies: true,
    protective: false,
    repeatable: "never",
    section: "Orders",
    about: "Places an order; the answer says only `processing`."
  },
  "PUT /orders": {
    method: "PUT",
    path: "/orders",
    parameters: {
      order_id: orderId,
      market_id: market,
      price: { type: "decimal", required: true, exclusiveMin: "0", doc: "new price, quote currency" },
      size: { type: "decimal", required: false, exclusiveMin: "0", doc: "new size, base currency" }
    },
    answer: { shape: "list", of: "amend", one: true },
    tokens: 1,
    qualifies: true,
    protective: false,
    repeatable: "value",
    section: "Orders",
    about: "Amends price and size of an order; the answer says only `amending`."
  },
  "DELETE /orders": {
    method: "DELETE",
    path: "/orders",
    parameters: {
      order_id: { ...orderId, required: false },
      market_id: market,
      client_order_id: { type: "client_order_id", required: false, doc: "client order id" }
    },
    answer: { shape: "list", of: "cancel", one: true },
    tokens: 1,
    qualifies: true,
    protective: true,
    repeatable: "effect",
    section: "Orders",
    about: "Cancels one order; the answer says only `canceling`."
  },
  "DELETE /orders/cancel_all": {
    method: "DELETE",
    path: "/orders/cancel_all",
    parameters: {},
    answer: { shape: "empty" },
    qualifies: true,
    protective: true,
    repeatable: "effect",
    section: "Orders",
    about: "Cancels every open order of the account."
  },
  "GET /fills": {
    method: "GET",
    path: "/fills",
    parameters: { market_id: optionalMarket, ...paging },
    answer: { shape: "list", of: "fill", one: false },
    tokens: 10,
    qualifies: false,
    protective: false,
    repeatable: "safe",
    section: "Fills",
    about: "Lists fills of the account."
  },
  "GET /fills/order": {
    method: "GET",
    path: "/fills/order",
    parameters: { order_id: orderId },
    answer: { shape: "list", of: "fill", one: false },
    qualifies: false,
    protective: false,
    repeatable: "safe",
    section: "Fills",
    about: "Lists the fills of one order."
  },
  "GET /profile": {
    method: "GET",
    path: "/profile",
    parameters: {},
    answer: { shape: "list", of: "tier", one: true },
    tokens: 10,
    qualifies: false,
    protective: false,
    repeatable: "safe",
    section: "Profile",
    about: "Reads the volume tier."
  },
  "POST /cancel_all_after": {
    method: "POST",
    path: "/cancel_all_after",
    parameters: {
      market_id: market,
      timeout: { type: "integer", required: true, min: 1, doc: "milliseconds without a qualifying request until all orders are cancelled" }
    },
    answer: { shape: "deadman" },
    qualifies: true,
    protective: true,
    repeatable: "value",
    section: "Deadman switch",
    about: "Arms or renews the deadman switch."
  },
  "GET /cancel_all_after": {
    method: "GET",
    path: "/cancel_all_after",
    parameters: { market_id: market },
    answer: { shape: "deadman" },
    qualifies: false,
    protective: true,
    repeatable: "safe",
    section: "Deadman switch",
    about: "Reads the deadman switch; empty when it is not active."
  },
  "DELETE /cancel_all_after": {
    method: "DELETE",
    path: "/cancel_all_after",
    parameters: { market_id: market },
    answer: { shape: "nothing" },
    qualifies: false,
    protective: true,
    repeatable: "effect",
    section: "Deadman switch",
    about: "Disarms the deadman switch."
  }
};
var ENDPOINT_NAMES = Object.keys(CATALOGUE);
function endpoint(name2) {
  return CATALOGUE[name2];
}
function isEndpointName(name2) {
  return Object.hasOwn(CATALOGUE, name2);
}

// ../src/engine/hydrate.ts
function hydrate(type, json) {
  switch (type.kind) {
    case "optional":
      return json === void 0 || json === null ? void 0 : hydrate(type.of, json);
    case "decimal":
      return decimal(json);
    case "time":
      return new Time(json);
    case "boolean":
    case "text":
      return json;
    case "list":
      return json.map((each) => hydrate(type.of, each));
    case "map":
      return new Map(Object.entries(json).map(([key2, each]) => [key2, hydrate(type.of, each)]));
    case "record": {
      const record2 = json;
      const fields2 = /* @__PURE__ */ Object.create(null);
      for (const [name2, of] of Object.entries(type.fields)) {
        if (record2[name2] !== void 0) fields2[name2] = hydrate(of, record2[name2]);
      }
      return fields2;
    }
    case "duration":
      throw new TypeError("no record has a duration");
    default:
      return type;
  }
}

// ../src/engine/verbs.ts
var MOST_PAGES = 100;
var PAGE_ROWS = 1e3;
function isVenueVerb(at) {
  return STEPS[at.step.verb].group === "venue";
}
function runVenueVerb(walker, at) {
  const run = VERBS2[at.step.verb];
  return run(walker, at);
}
var VERBS2 = {
  async place(walker, at) {
    const { args } = at.step;
    const market4 = text(walker, at, args.market);
    const terms = {
      market: market4,
      side: text(walker, at, args.side),
      type: args.type,
      size: decimalText(walker.evaluate(args.size, at.scope, at.path)),
      ...given("price", args.price, walker, at),
      ...given("trigger", args.trigger, walker, at),
      timeInForce: args.tif,
      onAmbiguous: args.onAmbiguous,
      ...at.step.allow === void 0 ? {} : { allow: at.step.allow },
      ...args.tag === void 0 ? {} : { tag: args.tag }
    };
    const { desk } = walker.run;
    await ensureBand(walker, at);
    const on = deskOf(walker, at, market4);
    await clearEarlier(walker, at, "");
    const handle = await desk.place(on, "", terms);
    undoLater(walker, at, [handle]);
    await desk.reach(handle, at.step.await ?? "live", on);
    return handle.value;
  },
  async protect(walker, at) {
    const { args } = at.step;
    const market4 = text(walker, at, args.market);
    const side2 = text(walker, at, args.side);
    const { desk } = walker.run;
    const on = deskOf(walker, at, market4);
    const legs = [
      ["stop_loss", args.stopLoss],
      ["take_profit", args.takeProfit]
    ];
    const value2 = {};
    for (const [type, leg] of legs) {
      if (leg === void 0) continue;
      const handle = await desk.place(on, type, legTerms(walker, at, leg, { market: market4, side: side2, type }));
      undoLater(walker, at, [handle]);
      await desk.reach(handle, at.step.await ?? "live", on);
      value2[type] = handle.value;
    }
    return value2;
  },
  async amend(walker, at) {
    const { args } = at.step;
    const handle = orderOf2(walker, at, args.order);
    const price2 = walker.evaluate(args.price, at.scope, at.path);
    const size = args.size === void 0 ? void 0 : walker.evaluate(args.size, at.scope, at.path);
    await ensureBand(walker, at);
    await walker.run.desk.amend(handle, price2, size, deskOf(walker, at, handle.market_id));
    return handle.value;
  },
  async cancel(walker, at) {
    const { args } = at.step;
    const { desk } = walker.run;
    const target = at.step.await ?? "accepted";
    if (args.kind === "order") {
      const handle = orderOf2(walker, at, args.order);
      await desk.cancel(handle, target, deskOf(walker, at, handle.market_id));
      return handle.value;
    }
    if (args.kind === "mine") {
      const market4 = text(walker, at, args.market);
      for (const order3 of desk.working(market4)) await desk.cancel(desk.handle(order3), target, deskOf(walker, at, market4));
      return void 0;
    }
    for (const value2 of walker.evaluate(args.ids, at.scope, at.path)) {
      const handle = handleOf(value2) ?? handleById(walker, String(value2));
      await desk.cancel(handle, target, deskOf(walker, at, handle.market_id));
    }
    return void 0;
  },
  async cancel_all(walker, at) {
    await walker.run.desk.cancelAll(deskOf(walker, at, void 0));
    return void 0;
  },
  async set_leverage(walker, at) {
    const market_id = text(walker, at, at.step.args.market);
    const leverage2 = wholeNumber(walker.evaluate(at.step.args.leverage, at.scope, at.path));
    const outcome = await call(walker, at, "PUT /account/leverage", { market_id, leverage: leverage2 }, "enter");
    const settled = outcome.kind === "unresolved" ? await call(walker, at, "PUT /account/leverage", { market_id, leverage: leverage2 }, "enter") : outcome;
    return hydrate(ACCOUNT, one(confirmed(settled, at), at));
  },
  async read_account(walker, at) {
    return hydrate(ACCOUNT, one(confirmed(await call(walker, at, "GET /account", {}, "read"), at), at));
  },
  async read_tier(walker, at) {
    return hydrate(TIER, one(confirmed(await call(walker, at, "GET /profile", {}, "read"), at), at));
  },
  async list_orders(walker, at) {
    const { args } = at.step;
    const filter = {
      market_id: optionalText(walker, at, args.market),
      status: optionalText(walker, at, args.status),
      order_id: optionalText(walker, at, args.order),
      client_order_id: optionalText(walker, at, args.clientOrderId)
    };
    const records = await pages(walker, at, (paging2) => call(walker, at, "GET /orders", { ...filter, ...paging2 }, "read"));
    const { book: book2 } = walker.run.log;
    return { orders: records.map((record2) => listed(record2, book2.get(record2.client_order_id))) };
  },
  async list_fills(walker, at) {
    const { args } = at.step;
    if (args.order !== void 0) {
      const value2 = walker.evaluate(args.order, at.scope, at.path);
      const order_id = handleOf(value2)?.id ?? String(value2);
      const fills2 = confirmed(await call(walker, at, "GET /fills/order", { order_id }, "read"), at);
      return { fills: fills2.map(hydrateFill) };
    }
    const market_id = optionalText(walker, at, args.market);
    const fills = await pages(walker, at, (paging2) => call(walker, at, "GET /fills", { market_id, ...paging2 }, "read"));
    return { fills: fills.map(hydrateFill) };
  },
  async refresh(walker, at) {
    const handle = orderOf2(walker, at, at.step.args.order);
    await walker.run.desk.refresh(handle, deskOf(walker, at, handle.market_id));
    return handle.value;
  },
  async arm_deadman(walker, at) {
    const market_id = text(walker, at, at.step.args.market);
    const timeout = walker.evaluate(at.step.args.timeout, at.scope, at.path);
    const outcome = await insisted(walker, at, () => call(walker, at, "POST /cancel_all_after", { market_id, timeout: timeout.ms }, "protect"));
    const record2 = confirmed(outcome, at);
    walker.run.log.append("deadman.moved", { event: "armed", market: market_id, timeoutMs: timeout.ms, because: "arm_deadman" }, at.path);
    return record2 === null ? void 0 : hydrate(DEADMAN, record2);
  },
  async read_deadman(walker, at) {
    const market_id = text(walker, at, at.step.args.market);
    const record2 = confirmed(await call(walker, at, "GET /cancel_all_after", { market_id }, "read"), at);
    return record2 === null ? void 0 : hydrate(DEADMAN, record2);
  },
  async disarm_deadman(walker, at) {
    const market_id = text(walker, at, at.step.args.market);
    confirmed(await insisted(walker, at, () => call(walker, at, "DELETE /cancel_all_after", { market_id }, "protect")), at);
    walker.run.log.append("deadman.moved", { event: "disarmed", market: market_id, because: "disarm_deadman" }, at.path);
    return void 0;
  },
  async refresh_session(walker, at) {
    confirmed(await call(walker, at, "POST /jwt", { is_client: true, refresh_token: "" }, "protect"), at);
    return void 0;
  },
  async request(walker, at) {
    const params = Object.fromEntries(
      Object.entries(at.step.args.with).map(([name2, expr]) => {
        const value2 = walker.evaluate(expr, at.scope, at.path);
        return [name2, Decimal.isDecimal(value2) ? decimalText(value2) : String(value2)];
      })
    );
    const outcome = await walker.run.venue.request(at.step.args.name, params, walker.run.callId(at.path), at.path);
    if (outcome.kind !== "confirmed") {
      const kind = outcome.failure === "cancelled" || outcome.failure === "unknown_outcome" ? "transport" : outcome.failure;
      throw new StepFailure(kind, outcome.message, at.path, outcome.retryAfterMs);
    }
    return outcome.result;
  }
};
async function waitForOrder(walker, at, args) {
  const { clock, desk, keeper } = walker.run;
  const handle = orderOf2(walker, at, args.order);
  const until = clock.now() + walker.evaluate(args.within, at.scope, at.path).ms;
  keeper.waitsUntil(at.path, until);
  const own2 = new Cancellation(at.cancel);
  const timer = clock.at(until, () => own2.cancel("timeout", `order ${handle.id} did not become ${args.is} within the time given`));
  try {
    await desk.reach(handle, args.is, { ...deskOf(walker, at, handle.market_id), cancel: own2 });
    return void 0;
  } catch (error3) {
    handle.touch();
    if (own2.reason?.origin === own2) throw new StepFailure("timeout", own2.reason.message, at.path);
    throw error3;
  } finally {
    timer.cancel();
    own2.close();
  }
}
function call(walker, at, name2, params, klass) {
  const { venue, callId } = walker.run;
  const { limits } = at.frame.roots;
  return venue.call({
    id: callId(at.path),
    step: at.path,
    endpoint: name2,
    params,
    class: klass,
    ...limits === void 0 || endpoint(name2).method === "GET" ? {} : { limits }
  });
}
async function insisted(walker, at, once) {
  let outcome = await once();
  for (let tries = 0; outcome.kind === "unresolved" && tries < 4; tries += 1) {
    await sleepUntil(walker.run.clock, walker.run.clock.now() + 250 * 2 ** tries, at.cancel);
    outcome = await once();
  }
  return outcome;
}
function confirmed(outcome, at) {
  if (outcome.kind === "confirmed") return outcome.result;
  throw failureOfOutcome(outcome, at.path);
}
function one(records, at) {
  const [record2] = records;
  if (record2 === void 0) throw new StepFailure("transport", "the venue confirmed and sent no record", at.path);
  return record2;
}
async function pages(walker, at, read2) {
  const { args } = at.step;
  const number = (expr) => expr === void 0 ? void 0 : wholeNumber(walker.evaluate(expr, at.scope, at.path));
  const time2 = (expr) => expr === void 0 ? void 0 : walker.evaluate(expr, at.scope, at.path).us;
  const range = { start_time: time2(args.since), end_time: time2(args.until) };
  if (!args.allPages) {
    const p_order = args.sort === void 0 ? void 0 : args.sort === "asc" ? "ASC" : "DESC";
    return confirmed(await read2({ ...range, p_limit: number(args.limit), p_page: number(args.page), p_order }), at);
  }
  const found = /* @__PURE__ */ new Map();
  for (let page2 = 0; page2 < MOST_PAGES; page2 += 1) {
    const rows2 = confirmed(await read2({ ...range, p_limit: PAGE_ROWS, p_page: page2, p_order: "ASC" }), at);
    for (const row of rows2) found.set(row.id, row);
    if (rows2.length < PAGE_ROWS) break;
  }
  const all = [...found.values()];
  return args.sort === "asc" ? all : all.reverse();
}
function legTerms(walker, at, leg, position2) {
  return {
    ...position2,
    size: decimalText(walker.evaluate(leg.fraction, at.scope, at.path)),
    trigger: decimalText(walker.evaluate(leg.trigger, at.scope, at.path)),
    price: decimalText(walker.evaluate(leg.price, at.scope, at.path)),
    onAmbiguous: "halt"
  };
}
async function clearEarlier(walker, at, leg) {
  const placed2 = at.memory.get(`order:${leg}`);
  const order3 = placed2?.order;
  if (order3 === void 0 || order3.snapshot.state === "draft") return;
  const handle = walker.run.desk.handle(order3);
  await walker.run.desk.cancel(handle, "terminal", deskOf(walker, at, order3.intent.market));
  if (decimal(order3.snapshot.context.filled).gt(0)) {
    throw new StepFailure("rejected", `order ${handle.id} of an earlier attempt has filled ${order3.snapshot.context.filled}; another would be a second position`, at.path);
  }
}
function undoLater(walker, at, handles) {
  const { undo } = at.step;
  if (undo === "keep" || Array.isArray(undo) || at.step.verb === "protect") return;
  walker.run.undos.push({
    path: `${at.path}/undo`,
    async run(cancel2) {
      for (const handle of handles) {
        await walker.run.desk.cancel(handle, "terminal", { step: `${at.path}/undo`, cancel: cancel2, memory: /* @__PURE__ */ new Map(), limits: void 0, reference: void 0 });
      }
    }
  });
}
async function ensureBand(walker, at) {
  await walker.run.feeds.ensure(at.frame.roots.bandFeeds, at.frame.roots.runbook.feeds, at.scope, at.path);
}
function deskOf(walker, at, market4) {
  const { roots } = at.frame;
  const reference = market4 === void 0 ? void 0 : roots.reference(at.scope);
  const path = at.attempt === 1 ? at.path : at.path.slice(0, at.path.lastIndexOf("~"));
  return {
    step: path,
    cancel: at.cancel,
    memory: at.memory,
    limits: roots.limits,
    reference: reference === void 0 ? void 0 : { price: decimalText(reference), at: walker.run.clock.now() }
  };
}
function orderOf2(walker, at, expr) {
  const handle = handleOf(walker.evaluate(expr, at.scope, at.path));
  if (handle === void 0) throw new StepFailure("not_found", `${expr.text} is no order that this run knows`, at.path);
  return handle;
}
function handleById(walker, id) {
  const own2 = walker.run.log.book.orders().find((order3) => order3.snapshot.context.venueId === id || order3.intent.clientOrderId === id);
  if (own2 !== void 0) return walker.run.desk.handle(own2);
  return OrderHandle.ofRecord({
    id,
    client_order_id: "",
    market_id: id.split("@")[0] ?? "",
    order_type: "",
    side: "long",
    price: "0",
    size: "0",
    initial_size: "0",
    total_filled_size: "0",
    status: "open",
    reason: "",
    profile_id: 0,
    timestamp: walker.run.clock.now() * 1e3,
    time_in_force: ""
  });
}
function listed(record2, own2) {
  return OrderHandle.ofRecord(record2, own2).value;
}
function hydrateFill(fill) {
  return hydrate(FILL, fill);
}
function text(walker, at, expr) {
  return walker.evaluate(expr, at.scope, at.path);
}
function optionalText(walker, at, expr) {
  return expr === void 0 ? void 0 : walker.evaluate(expr, at.scope, at.path);
}
function given(name2, expr, walker, at) {
  return expr === void 0 ? {} : { [name2]: decimalText(walker.evaluate(expr, at.scope, at.path)) };
}

// ../src/engine/control.ts
function runControl(walker, at) {
  const control = CONTROLS[at.step.verb];
  return control(walker, at);
}
var CONTROLS = {
  let(walker, at) {
    for (const { name: name2, value: value2 } of at.step.args.names) at.frame.set(name2, walker.evaluate(value2, at.scope, at.path));
    return void 0;
  },
  set(walker, at) {
    const values = at.step.args.names.map(({ name: name2, value: value2 }) => [name2, walker.evaluate(value2, at.scope, at.path)]);
    for (const [name2, value2] of values) {
      at.frame.roots.values.set(name2, value2);
      walker.run.log.append("variable.set", { name: name2, value: valueJson(value2) }, at.path);
    }
    return void 0;
  },
  assert(walker, at) {
    if (walker.decideCondition("assert", at.step.args.condition, at.scope, at.path)) return void 0;
    const because = at.step.because === void 0 ? "" : `: ${walker.evaluate(at.step.because, at.scope, at.path)}`;
    throw new StepFailure("assertion", `not true: ${at.step.args.condition.text}${because}`, at.path);
  },
  async wait(walker, at) {
    const { args } = at.step;
    const { clock } = walker.run;
    const until = args.kind === "for" ? clock.now() + walker.evaluate(args.for, at.scope, at.path).ms : Math.ceil(walker.evaluate(args.until, at.scope, at.path).us / 1e3);
    walker.run.keeper.waitsUntil(at.path, until);
    await sleepUntil(clock, until, at.cancel);
    return void 0;
  },
  async wait_for(walker, at) {
    const { args } = at.step;
    if (args.kind === "order") return waitForOrder(walker, at, args);
    const { clock } = walker.run;
    const deadline = clock.now() + walker.evaluate(args.within, at.scope, at.path).ms;
    const every = walker.evaluate(args.every, at.scope, at.path).ms;
    walker.run.keeper.waitsUntil(at.path, deadline);
    for (let round = 0; ; round += 1) {
      const frame = at.frame.inner({ staticPath: at.step.path, path: `${at.path}[${round}]` });
      const startedAt = clock.now();
      await walker.step(args.read, frame, at.cancel);
      const { id } = args.read;
      if (id !== void 0) at.frame.set(id, frame.find(id));
      if (walker.decideCondition("until", args.until, new StepScope(frame, clock.now()), at.path)) return void 0;
      const next = startedAt + every;
      if (next > deadline) {
        if (clock.now() < deadline) await sleepUntil(clock, deadline, at.cancel);
        throw new StepFailure("timeout", `not true within the time given: ${args.until.text}`, at.path);
      }
      await sleepUntil(clock, next, at.cancel);
    }
  },
  async for_each(walker, at) {
    const { each, in: list2, at: position2, do: steps2, collect } = at.step.args;
    const items = walker.evaluate(list2, at.scope, at.path);
    const collected = [];
    for (const [index, item] of items.entries()) {
      const frame = iteration(at, index);
      frame.set(each, item);
      if (position2 !== void 0) frame.set(position2, new Decimal(index));
      await walker.block(steps2, frame, at.cancel);
      if (collect !== void 0) {
        const scope = new StepScope(frame, walker.run.clock.now());
        collected.push(Object.fromEntries(collect.map(({ name: name2, value: value2 }) => [name2, walker.evaluate(value2, scope, at.path)])));
      }
    }
    return collect === void 0 ? void 0 : collected;
  },
  async repeat(walker, at) {
    const { every, for: duration3, max, while: condition, until, do: steps2 } = at.step.args;
    const { clock } = walker.run;
    const startedAt = clock.now();
    const period3 = every === void 0 ? void 0 : walker.evaluate(every, at.scope, at.path).ms;
    const endsAt = duration3 === void 0 ? void 0 : startedAt + walker.evaluate(duration3, at.scope, at.path).ms;
    const most2 = max === void 0 ? void 0 : wholeNumber(walker.evaluate(max, at.scope, at.path));
    if (endsAt !== void 0) walker.run.keeper.waitsUntil(at.path, endsAt);
    for (let round = 0; most2 === void 0 || round < most2; round += 1) {
      if (endsAt !== void 0 && clock.now() >= endsAt) break;
      const frame = iteration(at, round);
      if (condition !== void 0 && !await decideFresh(walker, at, "while", condition, frame)) break;
      const roundAt = clock.now();
      await walker.block(steps2, frame, at.cancel);
      if (until !== void 0 && await decideFresh(walker, at, "until", until, frame)) break;
      if (period3 === void 0) continue;
      const next = roundAt + period3;
      if (endsAt !== void 0 && next >= endsAt) {
        if (most2 === void 0 || round + 1 < most2) await sleepUntil(clock, endsAt, at.cancel);
        break;
      }
      if (most2 === void 0 || round + 1 < most2) await sleepUntil(clock, next, at.cancel);
    }
    return void 0;
  },
  async parallel(walker, at) {
    const { args } = at.step;
    const branches = args.kind === "branches" ? args.branches.map(({ name: name2, do: steps2 }) => ({
      steps: steps2,
      frame: at.frame.inner({ staticPath: `${at.step.path}/branches/${name2}`, path: `${at.path}/branches/${name2}` })
    })) : walker.evaluate(args.in, at.scope, at.path).map((item, index) => {
      const frame = iteration(at, index);
      frame.set(args.each, item);
      return { steps: args.do, frame };
    });
    const width = args.kind === "each" ? wholeNumber(walker.evaluate(args.max, at.scope, at.path)) : branches.length;
    const join3 = args.kind === "branches" ? args.join : "all";
    await runBranches(walker, at, branches, { width, join: join3, onFail: args.onFail });
    if (args.kind === "branches") {
      for (const [index, branch] of args.branches.entries()) {
        for (const step of branch.do) if (step.id !== void 0) at.frame.set(step.id, branches[index]?.frame.find(step.id));
      }
    }
    return void 0;
  },
  async switch(walker, at) {
    for (const { when, do: steps2 } of at.step.args.cases) {
      if (!walker.decideCondition("when", when, at.scope, at.path)) continue;
      await walker.block(steps2, at.frame.inner(), at.cancel);
      return void 0;
    }
    if (at.step.args.else !== void 0) await walker.block(at.step.args.else, at.frame.inner(), at.cancel);
    return void 0;
  },
  call: callRunbook,
  async approve(walker, at) {
    const { ask, by, within: within2, onTimeout } = at.step.args;
    const { clock, log, approvals: approvals2, keeper, setup: setup3 } = walker.run;
    const until = clock.now() + walker.evaluate(within2, at.scope, at.path).ms;
    log.append("approval.asked", { ask: walker.evaluate(ask, at.scope, at.path), by, until, plan: setup3.plan }, at.path);
    keeper.waitsUntil(at.path, until);
    const own2 = new Cancellation(at.cancel);
    const timer = clock.at(until, () => own2.cancel("timeout", `nobody answered within the time given`));
    try {
      const answer2 = await approvals2.answer(at.path, own2);
      if (answer2.command === "approve") return void 0;
      throw new StepFailure("approval_rejected", `rejected by ${answer2.by}${answer2.reason === void 0 ? "" : `: ${answer2.reason}`}`, at.path);
    } catch (error3) {
      if (!(error3 instanceof Abandoned) || error3.reason.origin !== own2) throw error3;
      const kind = onTimeout === "reject" ? "approval_rejected" : "timeout";
      throw new StepFailure(kind, error3.reason.message, at.path);
    } finally {
      timer.cancel();
      own2.close();
    }
  },
  notify(walker, at) {
    const { to, text: text2 } = at.step.args;
    const said2 = walker.evaluate(text2, at.scope, at.path);
    walker.run.log.append("notification.sent", { to, text: said2 }, at.path);
    walker.run.notifier.send(to, said2);
    return void 0;
  },
  stop(walker, at) {
    const because = at.step.because === void 0 ? "" : walker.evaluate(at.step.because, at.scope, at.path);
    throw new Stop(at.step.args.outcome, because);
  },
  fail(walker, at) {
    const because = at.step.because === void 0 ? "the runbook says fail" : walker.evaluate(at.step.because, at.scope, at.path);
    throw new StepFailure("assertion", because, at.path);
  }
};
function iteration(at, index) {
  return at.frame.inner({ staticPath: at.step.path, path: `${at.path}[${index}]` });
}
async function decideFresh(walker, at, what, condition, frame) {
  const { clock, feeds } = walker.run;
  const scope = new StepScope(frame, clock.now());
  await feeds.ensure(at.step.feeds, frame.roots.runbook.feeds, scope, at.path);
  return walker.decideCondition(what, condition, new StepScope(frame, clock.now()), frame.path);
}
async function runBranches(walker, at, branches, policy) {
  const own2 = new Cancellation(at.cancel);
  const failures = [];
  let finished = 0;
  let next = 0;
  const worker = async () => {
    for (let branch = branches[next++]; branch !== void 0; branch = branches[next++]) {
      if (own2.reason !== void 0) return;
      try {
        await walker.block(branch.steps, branch.frame, own2);
        finished += 1;
        if (policy.join === "any") own2.cancel("sibling", "another branch was first");
      } catch (error3) {
        const mine = error3 instanceof Abandoned && error3.reason.origin === own2;
        if (!mine) failures.push(error3);
        if (!(error3 instanceof StepFailure)) own2.cancel(error3 instanceof Stop ? "sibling" : "halt", "another branch ended the run");
        else if (policy.onFail === "cancel_others" && policy.join === "all") own2.cancel("sibling", "another branch failed");
      }
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, Math.min(policy.width, branches.length)) }, worker));
  own2.close();
  at.cancel.check();
  const worst = failures.find((error3) => !(error3 instanceof StepFailure)) ?? failures[0];
  if (worst !== void 0 && (policy.join === "all" || finished === 0 || !(worst instanceof StepFailure))) throw worst;
}

// ../src/engine/machines.ts
import { createActor as createActor2, setup as setup2 } from "xstate";
var runMachine = setup2({
  types: {
    events: {}
  }
}).createMachine({
  id: "run",
  initial: "starting",
  states: {
    starting: { on: { STARTED: "running", FAILED: "exiting", HALTED: "undoingHalted" } },
    running: { on: { COMPLETED: "finalizing", STOPPED: "finalizingStopped", FAILED: "undoing", HALTED: "undoingHalted" } },
    undoing: { on: { DONE: "handling", HALTED: "handlingHalted" } },
    handling: { on: { DONE: "finalizingFailed", FAILED: "finalizingFailed", HALTED: "finalizingHalted" } },
    undoingHalted: { on: { DONE: "handlingHalted", HALTED: "handlingHalted" } },
    handlingHalted: { on: { DONE: "finalizingHalted", FAILED: "finalizingHalted", HALTED: "finalizingHalted" } },
    finalizing: { on: { DONE: "exitingSucceeded", FAILED: "exitingFailed", HALTED: "halted" } },
    finalizingStopped: { on: { DONE: "exitingStopped", FAILED: "exitingFailed", HALTED: "halted" } },
    finalizingFailed: { on: { DONE: "exitingFailed", FAILED: "exitingFailed", HALTED: "halted" } },
    finalizingHalted: { on: { DONE: "halted", FAILED: "halted", HALTED: "halted" } },
    exiting: { on: { DONE: "failed", FAILED: "failed", HALTED: "halted" } },
    exitingSucceeded: { on: { DONE: "succeeded", FAILED: "failed", HALTED: "halted" } },
    exitingStopped: { on: { DONE: "stopped", FAILED: "failed", HALTED: "halted" } },
    exitingFailed: { on: { DONE: "failed", FAILED: "failed", HALTED: "halted" } },
    succeeded: { tags: "ended" },
    stopped: { tags: "ended" },
    failed: { tags: "ended" },
    halted: { tags: "ended" }
  }
});
var stepMachine = setup2({
  types: {
    events: {}
  }
}).createMachine({
  id: "step",
  initial: "waiting",
  states: {
    waiting: { on: { SKIP: "skipped", BEGIN: "attempting", FAIL: "failed", CATCH: "catching", HALT: "halted" } },
    attempting: {
      on: { OK: "succeeded", RETRY: "backingOff", CATCH: "catching", TIMED_OUT: "handlingTimeout", FAIL: "failed", HALT: "halted" }
    },
    backingOff: { on: { BEGIN: "attempting", CATCH: "catching", TIMED_OUT: "handlingTimeout", FAIL: "failed", HALT: "halted" } },
    catching: { on: { OK: "succeeded", RETRY: "backingOff", FAIL: "failed", HALT: "halted" } },
    handlingTimeout: { on: { OK: "succeeded", FAIL: "failed", CATCH: "catching", HALT: "halted" } },
    succeeded: { tags: "ended" },
    skipped: { tags: "ended" },
    failed: { tags: "ended" },
    halted: { tags: "ended" }
  }
});
function decide(actor, type) {
  const event = { type };
  const snapshot = actor.getSnapshot();
  if (!snapshot.can(event)) throw new Error(`engine: state ${String(snapshot.value)} does not take ${type}`);
  actor.send(event);
  return String(actor.getSnapshot().value);
}
function startRunActor() {
  return createActor2(runMachine).start();
}
function startStepActor() {
  return createActor2(stepMachine).start();
}

// ../src/engine/interpreter.ts
var CATCH_RETRIES = 10;
var Interpreter = class {
  run;
  constructor(run) {
    this.run = run;
  }
  /** Runs steps in order. A step's name is visible to the steps after it. */
  async block(steps2, frame, cancel2) {
    for (const step of steps2) {
      cancel2.check();
      await this.step(step, frame, cancel2);
    }
  }
  async step(step, frame, cancel2) {
    const path = frame.pathOf(step.path);
    const actor = startStepActor();
    if (step.if !== void 0 && !await this.condition(step.if, step, frame, path)) {
      decide(actor, "SKIP");
      if (step.id !== void 0) frame.set(step.id, void 0);
      this.end(step, path, "skipped", 0);
      return;
    }
    await this.attempts(step, path, frame, cancel2, actor);
    if (step.id !== void 0 && step.id === this.run.setup.until) throw new Stop("until", `stopped after ${step.id}, as asked`);
  }
  /** Evaluates with the failure in words a runbook can catch. */
  evaluate(expr, scope, path) {
    try {
      return expr.evaluate(scope);
    } catch (error3) {
      if (error3 instanceof EvaluationFailure) throw new StepFailure("assertion", `${expr.text}: ${error3.message}`, path);
      throw error3;
    }
  }
  /** Evaluates a condition and writes down what it was decided from. */
  decideCondition(what, expr, scope, path) {
    const value2 = this.evaluate(expr, scope, path);
    const inputs = Object.fromEntries(expr.reads.filter((root) => root !== "feeds").map((root) => [root, readJson(root, scope)]));
    this.run.log.append("step.decided", { what, expression: expr.text, inputs, value: value2 }, path);
    return value2;
  }
  async condition(expr, step, frame, path) {
    const scope = new StepScope(frame, this.run.clock.now());
    await this.run.feeds.ensure(step.feeds, frame.roots.runbook.feeds, scope, path);
    return this.decideCondition("if", expr, new StepScope(frame, this.run.clock.now()), path);
  }
  async attempts(step, path, frame, cancel2, actor) {
    const memory = /* @__PURE__ */ new Map();
    let catchRetries = 0;
    for (let attempt = 1; ; attempt += 1) {
      const failure2 = await this.attempt(step, path, frame, cancel2, attempt, memory, actor);
      if (failure2 === void 0) return;
      if (failure2.kind === "timeout" && step.onTimeout !== void 0) {
        decide(actor, "TIMED_OUT");
        await this.handled(step.onTimeout, `${path}/on_timeout`, step, frame, failure2, cancel2, actor, attempt, path);
        decide(actor, "OK");
        this.end(step, path, "succeeded", attempt, failure2.fact);
        return;
      }
      if (mayRetry(step, failure2, attempt)) {
        await this.backOff(step, path, attempt, failure2, cancel2, actor);
        continue;
      }
      const clause = await this.clauseFor(step, failure2, frame, path);
      if (clause === void 0) {
        decide(actor, "FAIL");
        this.end(step, path, "failed", attempt, failure2.fact);
        throw failure2;
      }
      decide(actor, "CATCH");
      await this.handled(clause.do, `${path}/catch`, step, frame, failure2, cancel2, actor, attempt, path);
      if (clause.then === "retry" && catchRetries < CATCH_RETRIES) {
        catchRetries += 1;
        await this.backOff(step, path, attempt, failure2, cancel2, actor);
        continue;
      }
      if (clause.then === "continue") {
        decide(actor, "OK");
        if (step.id !== void 0 && frame.find(step.id) === void 0) frame.set(step.id, void 0);
        this.end(step, path, "failed", attempt, failure2.fact);
        return;
      }
      decide(actor, "FAIL");
      this.end(step, path, "failed", attempt, failure2.fact);
      if (clause.then === "stop") throw new Stop("stopped", failure2.message);
      throw failure2;
    }
  }
  /** One attempt; gives the failure a runbook may catch, throws what it may not. */
  async attempt(step, path, frame, cancel2, attempt, memory, actor) {
    const { clock, log, keeper } = this.run;
    const now = clock.now();
    decide(actor, "BEGIN");
    log.append("step.started", { verb: step.verb, ...named(step), attempt, now }, path);
    const own2 = new Cancellation(cancel2);
    let progress;
    let timer;
    try {
      const first = new StepScope(frame, now);
      const timeout = step.timeout === void 0 ? void 0 : this.evaluate(step.timeout, first, path);
      if (timeout !== void 0) {
        timer = clock.at(now + timeout.ms, () => own2.cancel("timeout", `${step.verb} took longer than ${timeout.ms} ms`));
      }
      progress = keeper.began(path, timeout === void 0 ? void 0 : now + timeout.ms);
      await this.run.feeds.ensure(step.feeds, frame.roots.runbook.feeds, first, path);
      const at = {
        step,
        path: attempt === 1 ? path : `${path}~${attempt}`,
        attempt,
        scope: new StepScope(frame, now),
        frame,
        cancel: own2,
        memory
      };
      const value2 = isVenueVerb(at) ? await runVenueVerb(this, at) : await runControl(this, at);
      if (step.id !== void 0) frame.set(step.id, value2);
      this.undoLater(step, path, frame);
      await keeper.stepSucceeded(step.id);
      decide(actor, "OK");
      this.end(step, path, "succeeded", attempt, void 0, step.id === void 0 ? void 0 : value2);
      return void 0;
    } catch (error3) {
      const failure2 = failureOf(error3, own2, path);
      if (failure2 !== void 0) return failure2;
      if (error3 instanceof Halt || error3 instanceof Abandoned && error3.reason.why === "halt") {
        decide(actor, "HALT");
        this.end(step, path, "halted", attempt, error3 instanceof Halt ? error3.fact : void 0);
      } else {
        decide(actor, "FAIL");
        this.end(step, path, error3 instanceof Stop ? "succeeded" : "failed", attempt, factOf(error3, path));
      }
      throw error3;
    } finally {
      timer?.cancel();
      progress?.end();
      own2.close();
    }
  }
  /** Steps of `undo` see the names of the block they stand in, as they are when it comes to undoing. */
  undoLater(step, path, frame) {
    const { undo } = step;
    if (!Array.isArray(undo)) return;
    this.run.undos.push({
      path: `${path}/undo`,
      run: (cancel2) => this.block(undo, frame.inner(), cancel2)
    });
  }
  /** Runs the steps of a catch or on_timeout; what they throw ends this step too. */
  async handled(steps2, at, step, frame, failure2, cancel2, actor, attempt, path) {
    const inner = frame.inner({ staticPath: frame.staticPath, path: frame.path }, failure2.fact);
    try {
      await this.block(steps2, inner, cancel2);
    } catch (error3) {
      const halted2 = error3 instanceof Halt || error3 instanceof Abandoned && error3.reason.why === "halt";
      decide(actor, halted2 ? "HALT" : "FAIL");
      const outcome = halted2 ? "halted" : error3 instanceof Stop ? "succeeded" : "failed";
      this.end(step, path, outcome, attempt, failure2.fact);
      if (!(error3 instanceof Error)) throw new Error(`engine: ${at} threw no error`);
      throw error3;
    }
  }
  async clauseFor(step, failure2, frame, path) {
    for (const clause of step.catch) {
      if (!catches(clause, failure2.kind)) continue;
      if (clause.if === void 0) return clause;
      const scope = new StepScope(frame.inner(void 0, failure2.fact), this.run.clock.now());
      if (this.decideCondition("catch", clause.if, scope, path)) return clause;
    }
    return void 0;
  }
  async backOff(step, path, attempt, failure2, cancel2, actor) {
    decide(actor, "RETRY");
    const delay = backOffMs(step, attempt, failure2, chance(this.run.setup.seed, `${path}~${attempt}`));
    const retryAt = this.run.clock.now() + delay;
    this.run.log.append("step.retried", { verb: step.verb, attempt, error: failure2.fact, retryAt }, path);
    await sleepUntil(this.run.clock, retryAt, cancel2);
  }
  end(step, path, outcome, attempts, error3, value2) {
    this.run.log.append(
      "step.ended",
      {
        verb: step.verb,
        ...named(step),
        outcome,
        attempts,
        ...error3 === void 0 ? {} : { error: error3 },
        ...value2 === void 0 ? {} : { value: valueJson(value2) }
      },
      path
    );
  }
};
function named(step) {
  return step.id === void 0 ? {} : { id: step.id };
}
function readJson(root, scope) {
  const [head = root, field] = root.split(".");
  try {
    const value2 = scope.get(head);
    if (field === void 0) return valueJson(value2);
    return valueJson(value2?.[field]);
  } catch {
    return null;
  }
}
function failureOf(error3, own2, path) {
  if (error3 instanceof StepFailure) return error3;
  if (error3 instanceof Abandoned) {
    if (error3.reason.why === "timeout" && error3.reason.origin === own2) return new StepFailure("timeout", error3.reason.message, path);
    if (error3.reason.why === "deadman") return new StepFailure("deadman_fired", error3.reason.message, path);
  }
  return void 0;
}
function factOf(error3, step) {
  if (error3 instanceof Abandoned) {
    return { kind: error3.reason.why === "timeout" ? "timeout" : "cancelled", message: error3.reason.message, step };
  }
  return void 0;
}
function mayRetry(step, failure2, attempt) {
  return step.retry !== void 0 && attempt <= step.retry.max && step.retry.on.includes(failure2.kind);
}
function catches(clause, kind) {
  if (clause.on !== "any") return clause.on.includes(kind);
  if (kind === "unknown_outcome") return false;
  return !(kind === "denied" && clause.then === "continue");
}
function backOffMs(step, attempt, failure2, draw) {
  const retry = step.retry;
  const first = new Decimal(retry?.first.ms ?? 250);
  const most2 = retry?.maxDelay.ms ?? 8e3;
  const grown = first.times((retry?.factor ?? new Decimal(2)).pow(attempt - 1));
  const full = wholeNumber(Decimal.min(most2, grown).floor());
  const delay = retry?.jitter === false ? full : full / 2 + full / 2 * draw;
  return Math.ceil(Math.max(delay, failure2.retryAfterMs ?? 0));
}

// ../src/venue/deadman.ts
function defaultKeepAliveMs(timeoutMs) {
  return Math.max(1, Math.floor(timeoutMs / 4));
}
function newDeadman(status2 = "off") {
  return { status: status2, leases: [], timeoutMs: 0, keepAliveMs: 0, inFlight: 0 };
}
function stepDeadman(before, event) {
  const expired = expire(before, event.at);
  const taken = take2(expired.state, event);
  return { state: taken.state, alarms: [...expired.alarms, ...taken.alarms] };
}
function wantedDeadman({ leases }) {
  const [first, ...others] = leases;
  if (first === void 0) return void 0;
  const shortest = others.reduce((best, each) => each.timeoutMs < best.timeoutMs ? each : best, first);
  const keepAliveMs = Math.min(
    ...leases.map((each) => each.keepAliveMs),
    Math.max(1, Math.floor(shortest.timeoutMs / 2))
  );
  return { ...shortest, keepAliveMs };
}
function renewDueAt(state) {
  if (state.status !== "armed" || state.inFlight > 0 || state.lastQualifyingSentAt === void 0) return void 0;
  const wanted = wantedDeadman(state);
  if (wanted === void 0) return void 0;
  if (wanted.timeoutMs < state.timeoutMs) return state.retryAt ?? state.changedAt ?? state.lastQualifyingSentAt;
  return state.retryAt ?? state.lastQualifyingSentAt + state.keepAliveMs;
}
function standsUntil(state) {
  if (state.lastQualifyingSentAt === void 0) return void 0;
  if (state.status !== "armed" && state.status !== "disarming") return void 0;
  if (state.status === "disarming" && state.deletion?.answered === true) return void 0;
  return state.lastQualifyingSentAt + Math.min(state.timeoutMs, state.askedMs ?? state.timeoutMs);
}
function deadmanAllowsOrders(state, now) {
  if (state.status === "assumed_fired") return false;
  if (state.leases.length === 0) return true;
  const until = standsUntil(state);
  return state.status === "armed" && until !== void 0 && now <= until;
}
function canDelete(state) {
  return state.status === "disarming" && state.inFlight === 0;
}
function needsDelete(state) {
  return canDelete(state) && state.deletion === void 0;
}
function expire(state, now) {
  const until = standsUntil(state);
  if (until === void 0 || now <= until) return { state, alarms: [] };
  return fired(
    state,
    `no qualifying request was answered that was sent within ${now - (state.lastQualifyingSentAt ?? now)} ms; it fires after ${state.timeoutMs} ms`
  );
}
function fired(state, because) {
  return {
    state: { ...state, status: "assumed_fired", retryAt: void 0 },
    alarms: [{ alarm: "assumed_fired", because }]
  };
}
function only(state) {
  return { state, alarms: [] };
}
function take2(state, event) {
  switch (event.type) {
    case "LEASE_ENTERED":
      return only(
        withLeases(state, [...state.leases.filter(({ id }) => id !== event.lease.id), event.lease], event.at)
      );
    case "LEASE_LEFT":
      return only(
        withLeases(
          state,
          state.leases.filter(({ id }) => id !== event.id),
          event.at
        )
      );
    case "ARM_SENT":
      return only(armSent(state, event));
    case "ARM_ANSWERED":
      return armAnswered(state, event);
    case "ARM_FAILED":
      return only(armFailed(state, event));
    case "QUALIFYING_ANSWERED":
      return only(renewed(state, event.sentAt));
    case "READ":
      return read(state, event);
    case "DISARM_BEGUN":
      return only(
        state.status === "off" ? state : { ...state, status: "disarming", retryAt: void 0, deletion: void 0 }
      );
    case "DELETE_SENT":
      return only({ ...state, deletion: { sentAt: event.at, answered: false } });
    case "DELETE_ANSWERED":
      return only(state.deletion === void 0 ? state : { ...state, deletion: { ...state.deletion, answered: true } });
    case "RECONCILED":
      return only(state.status === "assumed_fired" ? { ...cleared(state), status: "off" } : state);
    case "TIME":
      return only(state);
    default:
      return event;
  }
}
function withLeases(state, leases, at) {
  const next = { ...state, leases, changedAt: at };
  return { ...next, keepAliveMs: wantedDeadman(next)?.keepAliveMs ?? state.keepAliveMs };
}
function cleared(state) {
  return {
    ...newDeadman(),
    leases: state.leases,
    keepAliveMs: state.keepAliveMs,
    inFlight: state.inFlight,
    changedAt: state.changedAt
  };
}
function armSent(state, { market: market4, timeoutMs }) {
  const first = state.status === "off" || state.status === "unknown";
  return {
    ...state,
    status: first ? "arming" : state.status,
    market: market4,
    timeoutMs: first ? timeoutMs : state.timeoutMs,
    inFlight: state.inFlight + 1,
    askedMs: Math.min(timeoutMs, state.askedMs ?? timeoutMs),
    retryAt: void 0,
    // What is under way may arrive behind a DELETE: that one proves nothing any more.
    deletion: void 0
  };
}
function armAnswered(state, event) {
  const inFlight = Math.max(0, state.inFlight - 1);
  const { echo } = event;
  const said2 = echo?.timeout ?? event.timeoutMs;
  const alarms = [];
  if (echo !== null && echo.timeout !== event.timeoutMs) {
    alarms.push({
      alarm: "timeout_mismatch",
      because: `asked for ${event.timeoutMs} ms, the venue says ${echo.timeout} ms`
    });
  }
  if (echo !== null && echo.status !== "active") {
    alarms.push({
      alarm: "timeout_mismatch",
      because: `asked to be armed, the venue says ${echo.status.slice(0, 40)}`
    });
    return { state: { ...state, inFlight, status: state.status === "arming" ? "unknown" : state.status }, alarms };
  }
  const timeoutMs = Math.min(event.timeoutMs, said2);
  const settled = state.status === "arming" || state.status === "armed";
  const next = renewed(
    {
      ...state,
      status: settled ? "armed" : state.status,
      timeoutMs: inFlight === 0 ? timeoutMs : Math.min(timeoutMs, state.timeoutMs),
      askedMs: inFlight === 0 ? void 0 : state.askedMs,
      armedAt: event.at,
      inFlight,
      retryAt: void 0,
      ...settled && state.status === "arming" ? { lastQualifyingSentAt: event.sentAt } : {}
    },
    event.sentAt
  );
  return { state: next, alarms };
}
function armFailed(state, { at, certain }) {
  const inFlight = Math.max(0, state.inFlight - 1);
  if (state.status === "arming") return { ...state, inFlight, status: certain && inFlight === 0 ? "off" : "unknown" };
  const timeoutMs = certain ? state.timeoutMs : Math.min(state.timeoutMs, state.askedMs ?? state.timeoutMs);
  const askedMs = inFlight === 0 ? void 0 : state.askedMs;
  const retryAt = state.status === "armed" ? at + Math.max(1, Math.floor(state.keepAliveMs / 4)) : void 0;
  return { ...state, inFlight, timeoutMs, askedMs, retryAt };
}
function renewed(state, sentAt) {
  if (state.status !== "armed" && state.status !== "disarming") return state;
  const last = state.lastQualifyingSentAt;
  if (last !== void 0 && last >= sentAt) return state;
  return { ...state, lastQualifyingSentAt: sentAt, retryAt: void 0 };
}
function read(state, { sentAt, record: record2 }) {
  const active = record2 !== null && record2.status === "active";
  switch (state.status) {
    case "off":
    case "unknown":
      if (!active) return only(state.inFlight === 0 ? { ...cleared(state), status: "off" } : state);
      return {
        state,
        alarms: [
          {
            alarm: "foreign_switch",
            because: `a switch of ${record2.timeout} ms is armed already, by another program or an earlier run`
          }
        ]
      };
    case "armed":
      if (state.armedAt === void 0 || sentAt <= state.armedAt) return only(state);
      if (!active) return fired(state, "the venue says that the switch is not active, and nobody here disarmed it");
      return mismatch(state, record2);
    case "disarming":
      return readDisarming(state, sentAt, record2, active);
    case "arming":
    case "assumed_fired":
      return only(state);
    default:
      return state.status;
  }
}
function readDisarming(state, sentAt, record2, active) {
  const { deletion } = state;
  if (deletion === void 0) {
    if (active || state.lastQualifyingSentAt === void 0)
      return only(active ? state : { ...cleared(state), status: "off" });
    return sentAt > (state.armedAt ?? sentAt) ? fired(state, "the venue says that the switch is not active, and no DELETE was sent yet") : only(state);
  }
  if (sentAt < deletion.sentAt || state.inFlight > 0) return only(state);
  if (!active) return only({ ...cleared(state), status: "off" });
  const because = `the switch is active again after DELETE (${record2?.timeout ?? "?"} ms)`;
  return {
    state: { ...state, deletion: void 0 },
    alarms: deletion.answered ? [{ alarm: "late_beat", because }] : []
  };
}
function mismatch(state, record2) {
  if (record2.timeout === state.timeoutMs || state.inFlight > 0) return only(state);
  const because = `armed with ${state.timeoutMs} ms, the venue says ${record2.timeout} ms: another program has changed it`;
  return {
    state: { ...state, timeoutMs: Math.min(state.timeoutMs, record2.timeout) },
    alarms: [{ alarm: "timeout_mismatch", because }]
  };
}

// ../src/engine/keeper.ts
var ALLOWANCE = 2;
var TRIES = 6;
var FIRST_RETRY_MS = 250;
var DeadmanKeeper = class {
  parts;
  state = newDeadman();
  leases = /* @__PURE__ */ new Map();
  onExit = "disarm";
  lastProgressAt;
  /** Until when waits that were asked for go on, by the step that waits. */
  waits = /* @__PURE__ */ new Map();
  timer;
  timerAt = 0;
  beats = Promise.resolve();
  abandoned = false;
  constructor(parts) {
    this.parts = parts;
    this.lastProgressAt = parts.clock.now();
    parts.log.book.onSettled(({ endpoint: name2, kind, sentAt, at }) => {
      this.lastProgressAt = at;
      const other = isEndpointName(name2) && endpoint(name2).qualifies && name2 !== "POST /cancel_all_after";
      if (other && kind === "confirmed" && sentAt !== void 0) this.take({ type: "QUALIFYING_ANSWERED", at, sentAt });
      else this.schedule();
    });
  }
  /** A runbook with a `deadman` block begins; gives its end. While several are in force the shortest timeout wins. */
  async enter(runbook, scope, id) {
    const { deadman } = runbook;
    if (deadman === void 0) return { leave: async () => {
    } };
    const timeoutMs = deadman.timeout.evaluate(scope).ms;
    const lease = {
      id,
      market: deadman.market.evaluate(scope),
      timeoutMs,
      keepAliveMs: deadman.keepAlive?.evaluate(scope).ms ?? defaultKeepAliveMs(timeoutMs),
      releaseAfter: deadman.releaseAfter,
      onExit: deadman.onExit
    };
    this.onExit = deadman.onExit;
    this.leases.set(id, lease);
    this.take({ type: "LEASE_ENTERED", at: this.parts.clock.now(), lease });
    return { leave: () => this.leave(id, "the runbook that asked for it has ended") };
  }
  /** Arms the switch before the first order. Throws Halt when it can not be armed, or when it may have fired. */
  async beforeOrder(step) {
    await this.beats;
    const now = this.parts.clock.now();
    if (deadmanAllowsOrders(this.state, now)) return;
    if (this.state.status === "assumed_fired") {
      await this.parts.readAll(step);
      this.take({ type: "RECONCILED", at: this.parts.clock.now() });
      if (deadmanAllowsOrders(this.state, this.parts.clock.now())) return;
    }
    this.beats = this.arm(step);
    await this.beats;
  }
  /** A step begins an attempt: something is going on. */
  began(path, until) {
    this.lastProgressAt = this.parts.clock.now();
    if (until !== void 0) this.waits.set(path, until);
    this.schedule();
    return {
      end: () => {
        this.waits.delete(path);
        this.lastProgressAt = this.parts.clock.now();
        this.schedule();
      }
    };
  }
  /** A step waits on purpose until then (epoch ms): an hour's wait is not an hour's hang. */
  waitsUntil(path, until) {
    this.waits.set(path, until);
    this.schedule();
  }
  /** A step has succeeded: with `release_after` its orders must from now on not be cancelled with the rest. */
  async stepSucceeded(id) {
    if (id === void 0) return;
    for (const lease of this.leases.values()) if (lease.releaseAfter === id) await this.leave(lease.id, `released after ${id}`);
  }
  /** The run has ended in order: the switch is left as `on_exit` says, and read back. */
  async exit() {
    this.stopBeating();
    await this.beats;
    if (this.onExit === "disarm") await this.disarm("the run has ended");
  }
  /** The run has halted: the switch stays armed and is not renewed, so that it takes the orders if nobody else does. */
  abandon() {
    this.stopBeating();
  }
  async leave(id, because) {
    const lease = this.leases.get(id);
    if (lease === void 0) return;
    this.leases.delete(id);
    this.take({ type: "LEASE_LEFT", at: this.parts.clock.now(), id });
    if (this.leases.size === 0 && (lease.onExit === "disarm" || lease.releaseAfter !== void 0)) await this.disarm(because);
  }
  async arm(step) {
    const { clock } = this.parts;
    this.abandoned = false;
    for (let tries = 1; ; tries += 1) {
      const outcome = await this.post(step, "arm");
      if (deadmanAllowsOrders(this.state, clock.now())) {
        this.wrote("armed");
        this.schedule();
        return;
      }
      if (tries >= TRIES || outcome.kind === "denied") {
        const why = outcome.kind === "confirmed" ? "the venue does not say that it is active" : outcome.message;
        throw new Halt("unknown_outcome", `the deadman switch could not be armed (${why}); no order was sent`, step);
      }
      await sleepUntil(clock, clock.now() + FIRST_RETRY_MS * 2 ** (tries - 1), new Cancellation());
    }
  }
  async post(step, purpose) {
    const { venue, clock, callId } = this.parts;
    const lease = wantedDeadman(this.state);
    if (lease === void 0) throw new Error("engine: a deadman beat without a lease");
    const { market: market4, timeoutMs } = lease;
    const askedAt = clock.now();
    this.take({ type: "ARM_SENT", at: askedAt, market: market4, timeoutMs });
    const outcome = await venue.call({
      id: callId("deadman"),
      step: step === "" ? "deadman" : step,
      endpoint: "POST /cancel_all_after",
      params: { market_id: market4, timeout: timeoutMs },
      class: "protect",
      purpose
    });
    const at = clock.now();
    const sentAt = outcome.sentAt ?? askedAt;
    if (outcome.kind === "confirmed") this.take({ type: "ARM_ANSWERED", at, sentAt, timeoutMs, echo: outcome.result });
    else this.take({ type: "ARM_FAILED", at, sentAt, certain: outcome.kind !== "unresolved" });
    return outcome;
  }
  /** Drains beats, sends DELETE, and believes it only when a GET that was sent later finds nothing. */
  async disarm(because) {
    const { venue, clock, callId } = this.parts;
    this.stopBeating();
    await this.beats;
    const { market: market4 } = this.state;
    if (market4 === void 0 || this.isOff()) return;
    this.take({ type: "DISARM_BEGUN", at: clock.now() });
    const common2 = { step: "deadman", class: "protect", params: { market_id: market4 } };
    for (let tries = 1; ; tries += 1) {
      if (needsDelete(this.state)) {
        this.take({ type: "DELETE_SENT", at: clock.now() });
        const deleted = await venue.call({ ...common2, id: callId("deadman"), endpoint: "DELETE /cancel_all_after", purpose: "disarm" });
        if (deleted.kind === "confirmed") this.take({ type: "DELETE_ANSWERED", at: clock.now() });
      }
      const askedAt = clock.now();
      const read2 = await venue.call({ ...common2, id: callId("deadman"), endpoint: "GET /cancel_all_after", purpose: "verify" });
      if (read2.kind === "confirmed") this.take({ type: "READ", at: clock.now(), sentAt: read2.sentAt ?? askedAt, record: read2.result });
      if (this.isOff()) {
        this.parts.log.append("deadman.moved", { event: "disarmed", market: market4, because }, "deadman");
        return;
      }
      if (tries >= TRIES) throw new Halt("unknown_outcome", "the deadman switch could not be seen to be disarmed; read it back at the venue", "deadman");
      await sleepUntil(clock, clock.now() + FIRST_RETRY_MS * 2 ** (tries - 1), new Cancellation());
    }
  }
  /** Folds an event into the model, and acts on what it concludes. */
  take(event) {
    const before = this.state.status;
    const { state, alarms } = stepDeadman(this.state, event);
    this.state = state;
    if (state.status === "assumed_fired" && before !== "assumed_fired") {
      const because = alarms.find(({ alarm }) => alarm === "assumed_fired")?.because ?? "";
      this.stopBeating();
      this.parts.log.append("deadman.moved", { event: "assumed_fired", market: state.market ?? "", because }, "deadman");
      this.parts.whole.cancel("deadman", `the deadman switch is assumed to have fired: ${because}`);
      return;
    }
    this.schedule();
  }
  isOff() {
    return this.state.status === "off";
  }
  stopBeating() {
    this.abandoned = true;
    this.timer?.cancel();
    this.timer = void 0;
  }
  /** Sets the one timer: the next beat while there is progress, and the moment at which the switch must be taken for fired. */
  schedule() {
    if (this.abandoned) return;
    const due = renewDueAt(this.state);
    const until = standsUntil(this.state);
    const next = due !== void 0 && this.mayRenewAt(due) ? due : until === void 0 ? void 0 : until + 1;
    if (next === void 0 || this.timer !== void 0 && this.timerAt <= next) return;
    this.timer?.cancel();
    this.timerAt = next;
    this.timer = this.parts.clock.at(next, () => this.woke());
  }
  /** The switch may be kept from firing while some step is within its own time. */
  mayRenewAt(due) {
    let until = this.lastProgressAt + ALLOWANCE * this.state.timeoutMs;
    for (const each of this.waits.values()) until = Math.max(until, each);
    return due <= until;
  }
  woke() {
    this.timer = void 0;
    const now = this.parts.clock.now();
    this.take({ type: "TIME", at: now });
    const due = renewDueAt(this.state);
    if (this.abandoned || due === void 0 || due > now || !this.mayRenewAt(due)) {
      this.schedule();
      return;
    }
    this.beats = this.beat();
  }
  async beat() {
    const outcome = await this.post("deadman", "keep-alive");
    if (outcome.kind === "confirmed" && this.state.status === "armed") this.wrote("renewed");
  }
  wrote(event) {
    this.parts.log.append("deadman.moved", { event, market: this.state.market ?? "", timeoutMs: this.state.timeoutMs }, "deadman");
  }
};

// ../src/engine/reconciliation.ts
var STEP = "reconcile";
var LOOK_BACK_MS2 = 90 * 864e5;
var PAGE_ROWS2 = 1e3;
async function reconcile({ venue, clock, log, callId }) {
  const outcome = await venue.call({
    id: callId(STEP),
    step: STEP,
    endpoint: "GET /orders",
    params: { status: "open", start_time: (clock.now() - LOOK_BACK_MS2) * 1e3, p_limit: PAGE_ROWS2 },
    class: "reconcile",
    purpose: "start-up"
  });
  if (outcome.kind !== "confirmed") throw failureOfOutcome(outcome, STEP);
  const unknown2 = outcome.result.filter((record2) => log.book.byId(record2.id) === void 0 && log.book.get(record2.client_order_id) === void 0);
  const named4 = (ours) => unknown2.filter((record2) => new RegExp(`^${CLIENT_ORDER_PREFIX}[a-z2-7]{20}(-|$)`).test(record2.client_order_id) === ours).map(({ id, client_order_id, market_id, side: side2, size, price: price2 }) => ({ id, client_order_id, market_id, side: side2, size, price: price2 }));
  log.append("account.reconciled", { open: outcome.result.length, external: named4(false), ofOtherRuns: named4(true) }, STEP);
}

// ../src/engine/run.ts
function startRun(setup3, ports) {
  const execution = new Execution(setup3, ports);
  return { done: execution.run(), command: (command) => execution.command(command) };
}
var Execution = class {
  context;
  interpreter;
  actor = startRunActor();
  whole = new Cancellation();
  approvals = new ApprovalDesk();
  frame;
  constructor(setup3, ports) {
    const calls = /* @__PURE__ */ new Map();
    const callId = (path) => {
      const n = (calls.get(path) ?? 0) + 1;
      calls.set(path, n);
      return `${path}#${n}`;
    };
    const undos = [];
    journalOrders(ports.log);
    const feeds = new FeedCache(ports.venue, ports.clock);
    const keeper = new DeadmanKeeper({ ...ports, callId, whole: this.whole, readAll: (step) => this.context.desk.readAll(step) });
    const shared = { ...ports, setup: setup3, feeds, keeper, undos, callId, approvals: this.approvals };
    this.context = { ...shared, desk: new OrderDesk(shared) };
    this.interpreter = new Interpreter(this.context);
  }
  command(command) {
    if (command.command === "approve" || command.command === "reject") {
      this.approvals.give(command);
      return;
    }
    const word2 = { cancel: "cancelled", kill: "kill switch engaged", interrupt: "interrupted" }[command.command];
    this.whole.cancel("operator", `${word2} by ${command.by}${command.reason === void 0 ? "" : `: ${command.reason}`}`);
  }
  async run() {
    const { keeper } = this.context;
    let ending = await this.walk();
    let error3 = "error" in ending ? ending.error : void 0;
    let state = this.move({ completed: "COMPLETED", stopped: "STOPPED", failed: "FAILED", halted: "HALTED" }[ending.kind]);
    while (!ENDED2.has(state)) {
      const part = await this.attempt(() => this.part(state, error3));
      if (part.kind === "failed" || part.kind === "halted") error3 ??= part.error;
      if (part.kind === "halted" && ending.kind !== "halted") ending = part;
      state = this.move(part.kind === "halted" ? "HALTED" : part.kind === "failed" && state !== "undoing" && state !== "undoingHalted" ? "FAILED" : "DONE");
    }
    if (state === "halted") keeper.abandon();
    const outcome = state;
    const outputs = outcome === "succeeded" || outcome === "stopped" ? this.outputs() : {};
    const result2 = {
      outcome,
      ...ending.kind === "stopped" && outcome === "stopped" ? { reason: ending.stop.outcome } : {},
      ...outcome === "failed" || outcome === "halted" ? { ...error3 === void 0 ? {} : { reason: error3.message, error: error3 } } : {},
      outputs
    };
    this.context.log.append("run.ended", result2, "");
    return result2;
  }
  /** The runbook's steps. */
  async walk() {
    const { setup: setup3, keeper } = this.context;
    return this.attempt(async () => {
      const roots = await startRoots(this.context, setup3.runbook, setup3.inputs, { path: "", limits: void 0 });
      this.frame = new Frame(roots, { staticPath: "", path: "" });
      this.move("STARTED");
      if (setup3.mode === "live") await reconcile(this.context);
      await keeper.enter(setup3.runbook, new StepScope(this.frame, this.context.clock.now()), "");
      await this.interpreter.block(setup3.runbook.steps, this.frame, this.whole);
    });
  }
  /** What a state of the run machine asks for. Clean-up has a scope of its own: it goes on after the run was cancelled. */
  async part(state, error3) {
    const { runbook } = this.context.setup;
    const { desk, keeper, undos } = this.context;
    const cleanup = new Cancellation();
    const frame = this.frame?.inner(void 0, error3);
    switch (state) {
      case "undoing":
      case "undoingHalted":
        await this.undo(undos, cleanup);
        return;
      case "handling":
      case "handlingHalted":
        if (frame !== void 0 && (state === "handling" || reducesOnly(runbook.onError))) await this.interpreter.block(runbook.onError, frame, cleanup);
        return;
      case "finalizing":
      case "finalizingStopped":
      case "finalizingFailed":
      case "finalizingHalted":
        if (frame !== void 0) await this.interpreter.block(runbook.finally, frame, cleanup);
        await desk.settle("settle", cleanup);
        return;
      default:
        await keeper.exit();
    }
  }
  /** Undoes completed steps, newest first. One that fails does not keep the others from being undone. */
  async undo(undos, cancel2) {
    let worst;
    for (let entry = undos.pop(); entry !== void 0; entry = undos.pop()) {
      try {
        await entry.run(cancel2);
      } catch (error3) {
        if (!(error3 instanceof StepFailure || error3 instanceof Halt)) throw error3;
        if (worst === void 0 || error3 instanceof Halt) worst = error3;
      }
    }
    if (worst !== void 0) throw worst;
  }
  outputs() {
    const { runbook } = this.context.setup;
    if (this.frame === void 0) return {};
    const scope = new StepScope(this.frame, this.context.clock.now());
    const fields2 = {};
    for (const { name: name2, value: value2 } of runbook.outputs) {
      try {
        fields2[name2] = valueJson(value2.evaluate(scope));
      } catch {
        fields2[name2] = null;
      }
    }
    return fields2;
  }
  async attempt(work) {
    try {
      await work();
      return { kind: "completed" };
    } catch (error3) {
      if (error3 instanceof Stop) return { kind: "stopped", stop: error3 };
      if (error3 instanceof StepFailure) return { kind: "failed", error: error3.fact };
      if (error3 instanceof Halt) return { kind: "halted", error: error3.fact };
      if (error3 instanceof Abandoned) return { kind: "failed", error: { kind: error3.reason.why === "deadman" ? "deadman_fired" : "cancelled", message: error3.message } };
      throw error3;
    }
  }
  move(event) {
    const from = String(this.actor.getSnapshot().value);
    const to = decide(this.actor, event);
    this.context.log.append("run.moved", { from, to, event }, "");
    return to;
  }
};
var ENDED2 = /* @__PURE__ */ new Set(["succeeded", "stopped", "failed", "halted"]);
function journalOrders(log) {
  log.book.onChange(({ order: order3, from, to, event, alarms }) => {
    const { clientOrderId: clientOrderId2 } = order3.intent;
    const { venueId, filled } = order3.snapshot.context;
    if (from !== to) {
      const id = venueId === void 0 ? {} : { orderId: venueId };
      log.append("order.moved", { clientOrderId: clientOrderId2, ...id, from, to, event, filled }, order3.step);
    }
    for (const { alarm, detail } of alarms) log.append("order.alarmed", { clientOrderId: clientOrderId2, alarm, detail }, order3.step);
  });
}
function reducesOnly(steps2) {
  return steps2.every((step) => !["place", "amend", "set_leverage", "call"].includes(step.verb) || step.allow === "reduce");
}
var ApprovalDesk = class {
  waiting = /* @__PURE__ */ new Map();
  answer(step, cancel2) {
    const answered = signal();
    this.waiting.set(step, answered.resolve);
    return new Promise((resolve2, reject) => {
      const stop = cancel2.listen((reason) => {
        this.waiting.delete(step);
        reject(new Abandoned(reason));
      });
      if (cancel2.reason !== void 0) reject(new Abandoned(cancel2.reason));
      void answered.promise.then((command) => {
        stop();
        this.waiting.delete(step);
        resolve2(command);
      });
    });
  }
  give(command) {
    for (const [step, resolve2] of this.waiting) {
      if (command.step === void 0 || step === command.step || step.endsWith(`/${command.step}`)) resolve2(command);
    }
  }
};

// ../src/journal/store.ts
var StoreError = class extends Error {
  reason;
  constructor(reason, message) {
    super(message);
    this.name = "StoreError";
    this.reason = reason;
  }
};

// ../src/venue/assumptions.ts
var ASSUMPTIONS = {
  jwtHeader: {
    open: "header that carries the JWT",
    default: "Authorization",
    reason: "the registered header for it",
    section: "Authentication",
    alsoSeen: "RBT-JWT: <jwt>",
    setting: "auth.header"
  },
  jwtPrefix: {
    open: "what stands before the JWT in its header",
    default: "Bearer ",
    reason: "the registered scheme; in any header but Authorization nothing stands before it",
    section: "Authentication",
    alsoSeen: "none, in RBT-JWT",
    setting: "auth.prefix"
  },
  jwtCookie: {
    open: "cookie that carries the JWT",
    default: void 0,
    reason: "a header is the usual place for a program",
    section: "Authentication",
    alsoSeen: "cookie jwt=<jwt>",
    setting: "auth.cookie"
  },
  jwtLifeMs: {
    open: "life of a JWT that has no exp claim",
    default: 1728e5,
    reason: "seen in public clients; refreshing too early only costs 20 tokens",
    section: "Authentication",
    alsoSeen: "an exp claim, which goes before it",
    setting: "auth.jwt_life"
  },
  jwtResult: {
    open: "shape of POST /jwt's result beyond one string",
    default: "text",
    reason: "the document: an array with one string",
    section: "Account operations",
    alsoSeen: '[{"jwt": \u2026, "refresh_token": \u2026}], and then the old refresh token is spent'
  },
  jwtOnRefresh: {
    open: "whether POST /jwt carries the JWT it replaces",
    default: true,
    reason: "the document says authentication is required for every endpoint, this one among them",
    section: "Endpoints",
    alsoSeen: "no authentication at all on it",
    setting: "auth.send_jwt_on_refresh"
  },
  isClient: {
    open: "what is_client means",
    default: true,
    reason: "a program that asks for its own token is a client",
    section: "Account operations",
    alsoSeen: "false, from web pages",
    setting: "auth.is_client"
  },
  signing: {
    open: "API keys and request signing",
    default: "off",
    reason: "the document speaks of a JWT for all endpoints",
    section: "Authentication",
    alsoSeen: "RBT-API-KEY, RBT-TS, RBT-SIGNATURE and EID",
    setting: "auth.mode"
  },
  signingHeaders: {
    open: "headers of a signed request",
    default: { key: "RBT-API-KEY", expiry: "RBT-TS", signature: "RBT-SIGNATURE", chain: "EID" },
    reason: "the only ones that were seen",
    section: "Authentication",
    alsoSeen: "nothing else",
    setting: "auth.signing_headers"
  },
  signatureLifeMs: {
    open: "life of a signature",
    default: 2e4,
    reason: "long enough for a skewed clock and a slow network, short enough to bound how late an order can still be accepted",
    section: "Authentication",
    alsoSeen: "at most 600 s ahead; 15 to 30 s is usual",
    setting: "auth.signature_life"
  },
  encoding: {
    open: "query string or JSON body, per endpoint",
    default: {
      "GET /account": "query",
      "PUT /account/leverage": "body",
      "POST /jwt": "body",
      "GET /orders": "query",
      "POST /orders": "body",
      "PUT /orders": "body",
      "DELETE /orders": "body",
      "DELETE /orders/cancel_all": "body",
      "GET /fills": "query",
      "GET /fills/order": "query",
      "GET /profile": "query",
      "POST /cancel_all_after": "body",
      "GET /cancel_all_after": "query",
      "DELETE /cancel_all_after": "body"
    },
    reason: 'by method: a GET has no body, and "request numbers are given as JSON numbers" speaks of bodies',
    section: "Endpoints",
    alsoSeen: "POST and DELETE /cancel_all_after in the query string, with an empty JSON body",
    setting: "encoding"
  },
  limitedStatuses: {
    open: "HTTP status of an exhausted rate limit",
    default: [429],
    reason: "the registered status for it; 200 and 400 are recognised by headers and text",
    section: "Errors",
    alsoSeen: "200 or 400 with success: false",
    setting: "rate_limit.statuses"
  },
  failureStatus: {
    open: "HTTP status of other failures",
    default: "any",
    reason: "the envelope's success decides, never the status alone",
    section: "Errors",
    alsoSeen: "400 for everything; 401, 403, 404, 5xx"
  },
  unknownCost: {
    open: "token cost of GET /orders, GET /fills/order, DELETE /orders/cancel_all and the deadman calls",
    default: 10,
    reason: "too high wastes some of the budget, too low overruns it; the real cost is learned from X-RateLimit-Remaining",
    section: "Rate limit",
    alsoSeen: "unknown",
    setting: "rate_limit.costs"
  },
  resetUnit: {
    open: "unit of X-RateLimit-Reset",
    default: "auto",
    reason: "the magnitude tells seconds, milliseconds and microseconds apart",
    section: "Rate limit response headers",
    alsoSeen: "seconds, milliseconds, microseconds, an ISO date",
    setting: "rate_limit.reset_unit"
  },
  retryHint: {
    open: "header that says how long to wait",
    default: "X-RateLimit-Retry-After",
    reason: "the document; a plain one is read where it is missing",
    section: "Rate limit response headers",
    alsoSeen: "plain Retry-After"
  },
  tokens: {
    open: "whether this account has a larger limit",
    default: 1200,
    reason: "the document; X-RateLimit-Limit goes before it",
    section: "Rate limit",
    alsoSeen: "larger ones, granted to market makers",
    setting: "rate_limit.tokens"
  },
  windowMs: {
    open: "how the window slides",
    default: 6e4,
    reason: "the document; the budget is right under four readings of it",
    section: "Rate limit",
    alsoSeen: "sliding log, fixed window, token bucket, sliding counter",
    setting: "rate_limit.window"
  },
  orderRate: {
    open: "an account-wide rate of order actions",
    default: void 0,
    reason: "the document names none",
    section: "Other limits",
    alsoSeen: "20 order actions a second per account, refused with 429",
    setting: "rate_limit.order_rate"
  },
  baseUrl: {
    open: "base URL",
    default: void 0,
    reason: "the profile names it: production, test network and others exist",
    section: "What the service does",
    alsoSeen: "several",
    setting: "base_url"
  },
  positionOrders: {
    open: "how a position stop-loss or take-profit is spelled",
    default: { sizeField: "size", types: { stop_loss: "stop_loss", take_profit: "take_profit" } },
    reason: "the document; its second choice of type can not be told apart from the first",
    section: "Orders",
    alsoSeen: "size_percent for the fraction; types stop_loss_limit and take_profit_limit",
    setting: "position_orders"
  },
  marketOrderPrice: {
    open: "whether a market order needs a price",
    default: "optional",
    reason: "listed without an optional marker, but a market order by its name has none; the venue refuses where it wants one",
    section: "Orders",
    alsoSeen: "a price as the worst one accepted",
    setting: "market_order_price"
  },
  deadmanResult: {
    open: "shape of the deadman result when the switch is not active",
    default: "object",
    reason: "the document: an object, or empty; all forms are read",
    section: "Deadman switch",
    alsoSeen: "an array of one, an empty array, {} or null"
  },
  cancelAllResult: {
    open: "content of cancel_all's array",
    default: "[]",
    reason: "the document; both forms are read",
    section: "Orders",
    alsoSeen: "[true]"
  },
  orderStatuses: {
    open: "statuses beyond the eight, and transitions between them",
    default: "not terminal",
    reason: "an unknown status that were taken for an end would hide a live order",
    section: "States and transitions",
    alsoSeen: "placed, for an untriggered stop"
  },
  definiteRejects: {
    open: "which error texts prove that nothing was placed",
    default: [],
    reason: "none is documented; a POST that was refused with another text is looked up once",
    section: "Errors",
    alsoSeen: "bare codes, a code and a text, free text",
    setting: "definite_rejects"
  },
  maxLeverage: {
    open: "whether this account may set more than the documented leverage",
    default: 20,
    reason: "the document: an integer from 1 to 20",
    section: "Account operations",
    alsoSeen: "up to 50",
    setting: "max_leverage"
  },
  ambiguityWindowMs: {
    open: "how late a request can still take effect or become visible",
    default: 9e4,
    reason: 'no verdict "absent" before it has passed; too short a time would allow a second order',
    section: "States and transitions",
    alsoSeen: "unknown; with signatures, their life and 5 s",
    setting: "ambiguity.window"
  }
};

// ../src/venue/costs.ts
var READINGS_TO_LOWER = 3;
var CostBook = class {
  configured;
  learned = /* @__PURE__ */ new Map();
  /** `configured`: the profile's `rate_limit.costs` and the tokens of its declared requests. */
  constructor(configured = {}) {
    this.configured = configured;
  }
  /** Document, else learned, else profile. */
  costFor(endpoint2) {
    return documentedCost(endpoint2) ?? this.learned.get(endpoint2)?.cost ?? this.configured[endpoint2] ?? ASSUMPTIONS.unknownCost.default;
  }
  /** One reading: `spent` tokens went while the request ran alone. Documented endpoints are not learned. */
  observe(endpoint2, spent) {
    if (documentedCost(endpoint2) !== void 0 || !Number.isSafeInteger(spent) || spent < 0) return "ignored";
    const known = this.learned.get(endpoint2) ?? { cost: void 0, candidate: spent, readings: 0 };
    this.learned.set(endpoint2, known);
    known.readings = known.candidate === spent ? known.readings + 1 : 1;
    known.candidate = spent;
    const raises = spent > this.costFor(endpoint2);
    if (!raises && known.readings < READINGS_TO_LOWER) return "noted";
    known.cost = spent;
    return "learned";
  }
  report() {
    const endpoints = /* @__PURE__ */ new Set([...Object.keys(CATALOGUE), ...Object.keys(this.configured), ...this.learned.keys()]);
    return [...endpoints].sort().map((endpoint2) => {
      const documented = documentedCost(endpoint2);
      const learned = this.learned.get(endpoint2)?.cost;
      const configured = this.configured[endpoint2] ?? (documented === void 0 ? ASSUMPTIONS.unknownCost.default : void 0);
      return {
        endpoint: endpoint2,
        ...documented === void 0 ? {} : { documented },
        ...configured === void 0 ? {} : { configured },
        ...learned === void 0 ? {} : { learned }
      };
    });
  }
  save() {
    return [...this.learned].map(([endpoint2, { cost, candidate, readings }]) => [
      endpoint2,
      cost ?? null,
      candidate,
      readings
    ]);
  }
  restore(saved) {
    this.learned.clear();
    for (const [endpoint2, cost, candidate, readings] of saved) {
      this.learned.set(endpoint2, { cost: cost ?? void 0, candidate, readings });
    }
  }
};
function isDocumented(endpoint2) {
  return documentedCost(endpoint2) !== void 0;
}
function documentedCost(endpoint2) {
  if (!Object.hasOwn(CATALOGUE, endpoint2)) return void 0;
  const row = CATALOGUE[endpoint2];
  return row.tokens;
}

// ../src/venue/headers.ts
var RESET_UNITS = ["auto", "s", "ms", "us", "iso"];
var FARTHEST_MS = 12e4;
function readRateHeaders(headers, now, resetUnit = "auto") {
  const limit = count(headers["x-ratelimit-limit"]);
  const remaining = count(headers["x-ratelimit-remaining"]);
  const resetAt = readReset(headers["x-ratelimit-reset"], now, resetUnit);
  const retryAfterMs = readRetryAfter(headers, now);
  return {
    ...limit === void 0 || limit === 0 ? {} : { limit },
    ...remaining === void 0 ? {} : { remaining },
    ...resetAt === void 0 ? {} : { resetAt },
    ...retryAfterMs === void 0 ? {} : { retryAfterMs }
  };
}
function readRetryAfter(headers, now) {
  return seconds(headers["x-ratelimit-retry-after"]) ?? seconds(headers["retry-after"]) ?? untilDate(headers["retry-after"], now);
}
function readReset(text2, now, unit = "auto") {
  const at = text2 === void 0 ? void 0 : instant(text2.trim(), unit);
  return at !== void 0 && Math.abs(at - now) <= FARTHEST_MS ? at : void 0;
}
var MS_PER_UNIT = { s: 1e3, ms: 1, us: 1e-3 };
function instant(text2, unit) {
  if (/^\d{1,19}(?:\.\d{1,9})?$/.test(text2)) {
    if (unit === "iso") return void 0;
    const number = Number(text2);
    const by = unit === "auto" ? number < 1e11 ? "s" : number < 1e14 ? "ms" : "us" : unit;
    return Math.round(number * MS_PER_UNIT[by]);
  }
  return unit === "auto" || unit === "iso" ? isoInstant(text2) : void 0;
}
function isoInstant(text2) {
  if (!/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:?\d\d)?$/i.test(text2)) return void 0;
  const at = Date.parse(/(?:Z|[+-]\d\d:?\d\d)$/i.test(text2) ? text2 : `${text2}Z`);
  return Number.isNaN(at) ? void 0 : at;
}
function count(text2) {
  if (text2 === void 0 || !/^\d{1,9}$/.test(text2.trim())) return void 0;
  return Number(text2);
}
function seconds(text2) {
  if (text2 === void 0 || !/^[+-]?\d{1,20}(?:\.\d{1,9})?(?:e\+?\d{1,3})?$/i.test(text2.trim())) return void 0;
  return clamped(Number(text2) * 1e3);
}
function untilDate(text2, now) {
  if (text2 === void 0 || now === void 0 || !/^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/.test(text2))
    return void 0;
  const at = Date.parse(text2);
  return Number.isNaN(at) ? void 0 : clamped(at - now);
}
function clamped(ms) {
  return Math.round(Math.min(FARTHEST_MS, Math.max(0, ms)));
}

// ../src/venue/holdings.ts
var Holdings = class {
  /** All tokens in use, of requests under way too; and the urgent ones among them. */
  used = 0;
  urgentUsed = 0;
  /** Tokens that have come back since the beginning. */
  expired = 0;
  /** Expiries are rounded up to this grain, so that a saved ledger stays small. */
  grainMs;
  held = [];
  from = 0;
  constructor(grainMs) {
    this.grainMs = grainMs;
  }
  add(weight, urgent) {
    this.used += weight;
    if (urgent) this.urgentUsed += weight;
  }
  remove(weight, urgent) {
    this.used -= weight;
    if (urgent) this.urgentUsed -= weight;
  }
  /** Gives tokens back that nobody ended: they count as expired. */
  expire(weight, urgent) {
    this.remove(weight, urgent);
    this.expired += weight;
  }
  /** Adds tokens that come back at `until`. */
  keep(weight, urgent, until) {
    this.add(weight, urgent);
    const rounded = Math.ceil(until / this.grainMs) * this.grainMs;
    let index = this.held.length;
    while (index > this.from && this.held[index - 1].until > rounded) index -= 1;
    let entry = index > this.from ? this.held[index - 1] : void 0;
    if (entry?.until !== rounded) {
      entry = { until: rounded, ordinary: 0, urgent: 0 };
      this.held.splice(index, 0, entry);
    }
    if (urgent) entry.urgent += weight;
    else entry.ordinary += weight;
  }
  /** Lets everything come back whose time is over. */
  advance(now) {
    for (let next = this.held[this.from]; next !== void 0 && next.until <= now; next = this.held[this.from]) {
      this.expire(next.ordinary, false);
      this.expire(next.urgent, true);
      this.from += 1;
    }
    if (this.from <= 256) return;
    this.held = this.held.slice(this.from);
    this.from = 0;
  }
  /** When the next tokens come back by themselves, if any do. */
  nextAt() {
    return this.held[this.from]?.until;
  }
  /** When `tokens` will have come back by themselves; undefined where that much is not here. */
  freedAt(tokens) {
    let freed = 0;
    for (let index = this.from; index < this.held.length; index += 1) {
      const { until, ordinary, urgent } = this.held[index];
      freed += ordinary + urgent;
      if (freed >= tokens) return until;
    }
    return void 0;
  }
  save() {
    return this.held.slice(this.from).map(({ until, ordinary, urgent }) => [until, ordinary, urgent]);
  }
  restore(saved) {
    for (const [until, ordinary, urgent] of saved) {
      this.held.push({ until, ordinary, urgent });
      this.used += ordinary + urgent;
      this.urgentUsed += urgent;
    }
  }
};

// ../src/venue/readings.ts
var READINGS_TO_RAISE = 3;
var Readings = class {
  word;
  windowMs;
  configuredLimit;
  heardLimit;
  higher = { limit: 0, readings: 0 };
  /** Falling peaks of the last window; the first is the largest. */
  foreign = [];
  constructor(configuredLimit, windowMs) {
    this.configuredLimit = configuredLimit;
    this.windowMs = windowMs;
  }
  /** The limit in force: the venue's, once it was heard. */
  get limit() {
    return this.heardLimit ?? this.configuredLimit;
  }
  hearLimit(limit) {
    if (limit > this.limit) {
      this.higher = { limit, readings: this.higher.limit === limit ? this.higher.readings + 1 : 1 };
      if (this.higher.readings < READINGS_TO_RAISE) return;
    }
    this.heardLimit = limit;
    this.higher = { limit: 0, readings: 0 };
  }
  /** `countable`: every token of ours that the venue can have counted when it wrote this; the rest it counted is others'. */
  hear(word2, countable) {
    const tokens = this.limit - word2.remaining - countable;
    if (tokens > 0) {
      while (this.foreign.length > 0 && this.foreign.at(-1).tokens <= tokens) this.foreign.pop();
      this.foreign.push({ at: word2.at, tokens });
    }
    if (this.word === void 0 || word2.order > this.word.order) this.word = word2;
  }
  advance(now) {
    while (this.foreign[0] !== void 0 && this.foreign[0].at <= now - this.windowMs) this.foreign.shift();
  }
  /** The largest foreign use seen within the last window. */
  get foreignUse() {
    return this.foreign[0]?.tokens ?? 0;
  }
  /** When that reading is a window old; undefined where there is none. */
  get foreignUntil() {
    return this.foreign[0] === void 0 ? void 0 : this.foreign[0].at + this.windowMs;
  }
  /**
   * What the venue would still grant, from tokens sent and expired in all; infinite where it has said nothing within a
   * window. What comes back is at most what expired here and at most an even refill: the two ways a venue can regain.
   */
  remaining(now, sent, expired, refillPerMs) {
    const { word: word2 } = this;
    if (word2 === void 0 || now - word2.at > this.windowMs) return Number.POSITIVE_INFINITY;
    const regained = Math.min(expired - word2.expiredMark, refillPerMs * (now - word2.at));
    return word2.remaining - sentSince(word2, sent) + regained;
  }
  save() {
    const { heardLimit, higher, word: word2, foreign } = this;
    return {
      ...heardLimit === void 0 ? {} : { limit: heardLimit },
      higher,
      ...word2 === void 0 ? {} : { word: word2 },
      foreign
    };
  }
  restore(saved) {
    this.heardLimit = saved.limit;
    this.higher = saved.higher;
    this.word = saved.word;
    this.foreign = [...saved.foreign];
  }
};
function sentSince(word2, sent) {
  return sent - word2.sentMark + word2.overlap;
}

// ../src/venue/refusals.ts
var REFUSAL_BACKOFF_MS = { base: 250, cap: 8e3 };
var PROBE_BACKOFF_MS = { ordinary: { least: 250, most: 4e3 }, urgent: { least: 250, most: 1500 } };
var LONGEST_RETRY_AFTER_MS = 12e4;
var NO_PROBE = { flight: void 0, backoffMs: 250, notBefore: Number.NEGATIVE_INFINITY };
var Refusals = class {
  /** From 0 to 1: spreads the retries of many clients (full jitter). */
  random;
  gates = [];
  probes = { urgent: NO_PROBE, ordinary: NO_PROBE };
  constructor(random) {
    this.random = random;
  }
  /** Until when a request must wait for refusals; undefined where none concerns it. May lie in the past: then it is a probe. */
  gatedUntil(weight, urgent) {
    let until;
    for (const gate of this.gates) {
      if (gate.weight > weight || urgent && !gate.urgent) continue;
      until = Math.max(until ?? gate.until, gate.until);
    }
    return until;
  }
  /** The venue refused a request; Retry-After goes before our own back-off where it is longer. */
  refused(weight, urgent, retryAfterMs, now) {
    const same2 = this.gates.find((gate2) => gate2.weight === weight && gate2.urgent === urgent);
    const refusals2 = (same2?.refusals ?? 0) + 1;
    const backoff = Math.min(REFUSAL_BACKOFF_MS.cap, REFUSAL_BACKOFF_MS.base * 2 ** (refusals2 - 1)) * this.random();
    const asked = retryAfterMs !== void 0 && retryAfterMs > 0 ? Math.min(LONGEST_RETRY_AFTER_MS, retryAfterMs) : 0;
    const gate = { weight, urgent, refusals: refusals2, until: now + Math.max(backoff, asked) };
    this.gates = [...this.gates.filter((each) => each !== same2), gate];
  }
  /** The venue granted a request: refusals of its weight and lighter ones are over, but a time the venue asked for stands. */
  granted(weight, now) {
    if (this.gates.length > 0) this.gates = this.gates.filter((gate) => gate.weight > weight || gate.until > now);
  }
  /**
   * When the next probe may go; undefined while one is under way. An urgent one does not wait; an ordinary one gives the
   * venue's word against it (`wordAt`, if there is one) time to grow old.
   */
  probeAt(urgent, wordAt, underWay) {
    const probe = this.probes[laneOf(urgent)];
    if (probe.flight !== void 0 && underWay(probe.flight)) return void 0;
    return urgent || wordAt === void 0 ? probe.notBefore : Math.max(probe.notBefore, wordAt + probe.backoffMs);
  }
  probing(flight, urgent) {
    this.probes[laneOf(urgent)] = { ...this.probes[laneOf(urgent)], flight };
  }
  /** The request ended; `granted: undefined` where it never left. */
  probed(flight, urgent, granted, now) {
    const lane = laneOf(urgent);
    const probe = this.probes[lane];
    if (probe.flight !== flight) return;
    const { least, most: most2 } = PROBE_BACKOFF_MS[lane];
    if (granted === void 0) this.probes[lane] = { ...probe, flight: void 0 };
    else if (granted) this.probes[lane] = { flight: void 0, backoffMs: least, notBefore: now };
    else
      this.probes[lane] = {
        flight: void 0,
        backoffMs: Math.min(most2, probe.backoffMs * 2),
        notBefore: now + probe.backoffMs
      };
  }
  save() {
    const probes = {};
    for (const lane of ["urgent", "ordinary"]) {
      const { flight, backoffMs, notBefore } = this.probes[lane];
      if (this.probes[lane] === NO_PROBE) continue;
      probes[lane] = { backoffMs, notBefore: Math.max(0, notBefore), ...flight === void 0 ? {} : { flight } };
    }
    return { gates: this.gates, probes };
  }
  restore(saved) {
    this.gates = saved.gates;
    for (const lane of ["urgent", "ordinary"]) {
      const probe = saved.probes[lane];
      if (probe !== void 0)
        this.probes[lane] = { flight: probe.flight, backoffMs: probe.backoffMs, notBefore: probe.notBefore };
    }
  }
};
function laneOf(urgent) {
  return urgent ? "urgent" : "ordinary";
}

// ../src/venue/budget.ts
function budgetSettings(given2 = {}) {
  const tokens = given2.tokens ?? 1200;
  const windowMs = given2.windowMs ?? 6e4;
  return {
    tokens,
    windowMs,
    burst: tokens / 10,
    refillPerSecond: tokens / windowMs * 1e3,
    reserve: Math.round(tokens / 20),
    marginMs: 50,
    inTransitMs: 1e4,
    longestRequestMs: 6e4,
    ...given2
  };
}
function isUrgent(cls) {
  return cls === "protect" || cls === "resolve";
}
var QUIET_MS = 2e3;
var LENT_SHARE = 0.5;
var LENT_MS = 1e3;
var Ledger = class _Ledger {
  settings;
  costs;
  holdings;
  readings;
  refusals;
  flights = /* @__PURE__ */ new Map();
  now = Number.NEGATIVE_INFINITY;
  /** Whether a documented request has shown that the venue gives nothing back between two readings. */
  steady = false;
  underWay = 0;
  sent = 0;
  order = 0;
  level;
  /** `random` gives 0 to 1, for the jitter of back-offs. `configuredCosts`: the profile's figures. */
  constructor(settings, random, configuredCosts = {}) {
    this.settings = settings;
    this.costs = new CostBook(configuredCosts);
    this.holdings = new Holdings(settings.windowMs / 1200);
    this.readings = new Readings(settings.tokens, settings.windowMs);
    this.refusals = new Refusals(random);
    this.level = settings.burst;
  }
  /** Whether `weight` tokens may be sent now; changes nothing but what time has changed. */
  admit(weight, cls, at) {
    this.advance(at);
    const urgent = isUrgent(cls);
    const gated = this.refusals.gatedUntil(weight, urgent);
    if (gated !== void 0 && gated > this.now) return { ok: false, at: gated, because: "refused" };
    const room = this.roomAt(weight, urgent);
    if (room > this.now) return { ok: false, at: room, because: "window" };
    const paced = urgent ? this.now : this.pacedAt(Math.min(weight, this.burst()));
    if (paced > this.now) return { ok: false, at: paced, because: "pace" };
    if (!this.isProbe(weight, urgent)) return { ok: true };
    const probeAt = this.probeAt(weight, urgent);
    return probeAt <= this.now ? { ok: true } : { ok: false, at: probeAt, because: "venue" };
  }
  /** The earliest instant at which `weight` could be admitted behind `ahead` tokens of others, by what is known now. */
  earliest(weight, cls, ahead, at) {
    this.advance(at);
    const urgent = isUrgent(cls);
    return Math.max(
      this.refusals.gatedUntil(weight, urgent) ?? this.now,
      this.roomAt(ahead + weight, urgent),
      urgent ? this.now : this.pacedAt(ahead + Math.min(weight, this.burst()))
    );
  }
  /** Holds the tokens of a request that was admitted at this same instant. `id` is unique among all who share the ledger. */
  hold(id, endpoint2, weight, cls, at) {
    this.advance(at);
    const urgent = isUrgent(cls);
    if (this.isProbe(weight, urgent)) this.refusals.probing(id, urgent);
    const { word: word2 } = this.readings;
    const alone = this.flights.size === 0 && word2 !== void 0 && sentSince(word2, this.sent) === 0;
    const overlap = this.underWay;
    this.sent += weight;
    this.underWay += weight;
    this.order += 1;
    this.holdings.add(weight, urgent);
    if (!urgent) this.level -= weight;
    const { sent: sentMark, order: order3 } = this;
    const expiredMark = this.holdings.expired;
    this.flights.set(id, { endpoint: endpoint2, weight, urgent, at: this.now, order: order3, sentMark, expiredMark, overlap, alone });
  }
  /** An answer came: its headers (names in lower case) are the venue's word on what remains. */
  answered(id, headers, at) {
    const flight = this.land(id, at, true);
    if (flight === void 0) return;
    this.refusals.granted(flight.weight, this.now);
    const weight = this.listen(flight, headers);
    this.holdings.keep(weight, flight.urgent, this.countedUntil());
  }
  /** The venue refused it for want of tokens. It may have counted it all the same, so its weight is held like any other. */
  refused(id, headers, retryAfterMs, at) {
    const flight = this.land(id, at, false);
    if (flight === void 0) return;
    this.listen(flight, headers);
    this.holdings.keep(flight.weight, flight.urgent, this.countedUntil());
    this.refusals.refused(flight.weight, flight.urgent, retryAfterMs, this.now);
  }
  /** No answer is waited for any longer; the venue may still come to count it until the in-transit limit is over. */
  aborted(id, at) {
    const flight = this.land(id, at, false);
    if (flight === void 0) return;
    this.holdings.keep(flight.weight, flight.urgent, this.countedUntil() + this.settings.inTransitMs);
  }
  /** No byte left: as if its tokens had never been held. */
  notSent(id, at) {
    const flight = this.land(id, at, void 0);
    if (flight === void 0) return;
    this.sent -= flight.weight;
    if (!flight.urgent) this.level += flight.weight;
  }
  /** Takes tokens as counted just now: after a restart without a ledger, what the journal's last window attempted. */
  assume(weight, at) {
    this.advance(at);
    this.holdings.keep(weight, false, this.countedUntil());
  }
  /** What a call of the endpoint costs: document, else learned, else profile. */
  costFor(endpoint2) {
    return this.costs.costFor(endpoint2);
  }
  report(at) {
    this.advance(at);
    const remaining = this.remaining();
    return {
      used: this.holdings.used,
      urgentUsed: this.holdings.urgentUsed,
      limit: this.readings.limit,
      configuredLimit: this.settings.tokens,
      foreign: this.readings.foreignUse,
      ...remaining === Number.POSITIVE_INFINITY ? {} : { venueRemaining: Math.max(0, Math.floor(remaining)) },
      costs: this.costs.report()
    };
  }
  // What may be used.
  allowed(urgent) {
    return urgent ? this.readings.limit : this.readings.limit - this.readings.foreignUse - this.reserved();
  }
  reserved() {
    return Math.max(0, this.settings.reserve - this.holdings.urgentUsed);
  }
  roomAt(tokens, urgent) {
    const after2 = this.holdings.used + tokens;
    const fits2 = this.freedAt(after2 - this.allowed(urgent));
    if (urgent) return fits2;
    const forgotten = this.readings.foreignUntil ?? Number.POSITIVE_INFINITY;
    return Math.min(forgotten, Math.max(fits2, this.lentAt(after2)));
  }
  /**
   * When an ordinary request may take of the last tokens. Urgent requests use up the reserve, and ordinary ones could then
   * fill the rest of the window and leave the next cancel nothing for seconds: so half the reserve is lent only against
   * tokens about to come back (reliability.md, I10: a cancel never waits more than 2 s).
   */
  lentAt(after2) {
    const missing = Math.ceil(this.settings.reserve * LENT_SHARE) - (this.readings.limit - this.readings.foreignUse - after2);
    return missing <= 0 ? this.now : this.freedAt(missing) - LENT_MS;
  }
  /**
   * When `tokens` will be free: what is under way comes back no sooner than a window from now. With nothing held there is
   * nothing to wait for: a request heavier than all that is allowed goes then, alone, or it could never even be tried.
   */
  freedAt(tokens) {
    if (tokens <= 0 || this.holdings.used === 0) return this.now;
    return this.holdings.freedAt(tokens) ?? this.now + this.settings.windowMs;
  }
  countedUntil() {
    return this.now + this.settings.windowMs + this.settings.marginMs;
  }
  // Pacing.
  scale() {
    return this.readings.limit / this.settings.tokens;
  }
  burst() {
    return this.settings.burst * this.scale();
  }
  perMs() {
    return this.settings.refillPerSecond * this.scale() / 1e3;
  }
  pacedAt(tokens) {
    const missing = tokens - this.level;
    return missing <= 1e-6 ? this.now : this.now + missing / this.perMs();
  }
  // Time and flights.
  advance(at) {
    if (at <= this.now) return;
    const elapsed = this.now === Number.NEGATIVE_INFINITY ? 0 : at - this.now;
    this.now = at;
    this.level = Math.min(this.burst(), this.level + this.perMs() * elapsed);
    this.holdings.advance(at);
    this.readings.advance(at);
    this.buryDead();
  }
  /** Frees the flights of processes that died: nobody will tell how they ended. They are in the order of their start. */
  buryDead() {
    const { longestRequestMs, inTransitMs, windowMs, marginMs } = this.settings;
    for (const [id, flight] of this.flights) {
      if (flight.at + longestRequestMs + inTransitMs + windowMs + marginMs > this.now) return;
      this.flights.delete(id);
      this.underWay -= flight.weight;
      this.holdings.expire(flight.weight, flight.urgent);
    }
  }
  /** Takes a flight out of the air: its tokens are not held any more until the caller keeps them to an instant. */
  land(id, at, granted) {
    this.advance(at);
    const flight = this.flights.get(id);
    if (flight === void 0) return void 0;
    this.flights.delete(id);
    this.underWay -= flight.weight;
    this.holdings.remove(flight.weight, flight.urgent);
    this.refusals.probed(id, flight.urgent, granted, this.now);
    return flight;
  }
  // The venue's word.
  remaining() {
    return this.readings.remaining(this.now, this.sent, this.holdings.expired, this.perMs());
  }
  /** Whether a request would be sent against the venue's last word or after a refusal of its weight. */
  isProbe(weight, urgent) {
    return this.isDisbelieved(weight, urgent) || this.refusals.gatedUntil(weight, urgent) !== void 0;
  }
  isDisbelieved(weight, urgent) {
    return this.remaining() < weight + (urgent ? 0 : this.reserved());
  }
  probeAt(weight, urgent) {
    const wordAt = this.isDisbelieved(weight, urgent) ? this.readings.word?.at : void 0;
    const underWay = (id) => (this.flights.get(id)?.at ?? Number.NEGATIVE_INFINITY) + this.settings.inTransitMs > this.now;
    return this.refusals.probeAt(urgent, wordAt, underWay) ?? this.now + 1e3;
  }
  /** Reads the headers of a flight's answer; gives what the flight cost, which shows where it ran alone. */
  listen(flight, headers) {
    const { limit, remaining } = readRateHeaders(headers, 0);
    if (limit !== void 0) this.readings.hearLimit(limit);
    if (remaining === void 0) return flight.weight;
    const cost = this.learn(flight, remaining);
    const { order: order3, sentMark, overlap, expiredMark } = flight;
    const { used, expired } = this.holdings;
    const countable = used + cost + expired - expiredMark;
    this.readings.hear({ remaining, at: this.now, order: order3, sentMark, overlap, expiredMark: expired }, countable);
    return cost;
  }
  /**
   * Reads the cost of a request that ran alone off the remaining tokens. A venue that regains evenly shows less than was
   * spent; so a cost is lowered only while documented requests are seen to cost what the document says.
   */
  learn(flight, remaining) {
    const { word: word2 } = this.readings;
    if (word2 === void 0 || !flight.alone || this.sent !== flight.sentMark) return flight.weight;
    const quiet = this.holdings.expired === word2.expiredMark && (this.holdings.nextAt() ?? Infinity) > this.now + QUIET_MS;
    const spent = word2.remaining - remaining;
    if (!quiet || spent < 0 || spent > this.settings.burst) return flight.weight;
    if (isDocumented(flight.endpoint)) {
      const telling = this.perMs() * (this.now - word2.at) >= 2;
      if (spent < flight.weight) this.steady = false;
      else if (spent === flight.weight && telling) this.steady = true;
      return flight.weight;
    }
    if (spent < this.costs.costFor(flight.endpoint) && (!this.steady || spent < 1)) return flight.weight;
    return this.costs.observe(flight.endpoint, spent) === "learned" ? Math.max(flight.weight, spent) : flight.weight;
  }
  // Sharing.
  /** The whole ledger as text, for whoever continues it. */
  save() {
    const { now, steady, sent, order: order3, level } = this;
    const saved = {
      v: 1,
      now,
      steady,
      sent,
      order: order3,
      level,
      readings: this.readings.save(),
      expired: this.holdings.expired,
      held: this.holdings.save(),
      flights: [...this.flights],
      refusals: this.refusals.save(),
      costs: this.costs.save()
    };
    return JSON.stringify(saved);
  }
  /**
   * Continues a saved ledger under these settings. A text that can not be read, or comes from another version, gives a
   * ledger whose window is full: a minute lost is better than a limit overrun.
   */
  static restore(text2, at, settings, random, configuredCosts = {}) {
    const ledger = new _Ledger(settings, random, configuredCosts);
    if (text2 === void 0) return ledger;
    const saved = readSaved(text2);
    if (saved === void 0) ledger.assume(settings.tokens, at);
    else ledger.continue(saved);
    return ledger;
  }
  continue(saved) {
    this.now = saved.now;
    this.steady = saved.steady;
    this.sent = saved.sent;
    this.order = saved.order;
    this.level = saved.level;
    this.readings.restore(saved.readings);
    this.holdings.expired = saved.expired;
    this.holdings.restore(saved.held);
    for (const [id, flight] of saved.flights) {
      this.flights.set(id, flight);
      this.underWay += flight.weight;
      this.holdings.add(flight.weight, flight.urgent);
    }
    this.refusals.restore(saved.refusals);
    this.costs.restore(saved.costs);
  }
};
function readSaved(text2) {
  try {
    const saved = JSON.parse(text2);
    return saved?.v === 1 ? saved : void 0;
  } catch {
    return void 0;
  }
}

// ../src/venue/port.ts
var CALL_CLASSES = ["protect", "resolve", "enter", "reconcile", "read"];

// ../src/gateway/budget-queue.ts
var HIGHEST_AGED_RANK = CALL_CLASSES.indexOf("enter");
var BudgetQueue = class {
  limit;
  /** A request of the two lowest classes counts one class higher for every such time it has waited. */
  ageMs;
  lines = CALL_CLASSES.map(() => new Line());
  constructor(limit, ageMs) {
    this.limit = limit;
    this.ageMs = ageMs;
  }
  get size() {
    return this.lines.reduce((size, line) => size + line.size, 0);
  }
  add(entry) {
    this.lineOf(entry).add(entry);
  }
  remove(entry) {
    this.lineOf(entry).remove(entry);
  }
  /** Puts somebody back who had been taken out too early: first in turn again. */
  putBack(entry) {
    this.lineOf(entry).putBack(entry);
  }
  has(entry) {
    return this.lineOf(entry).has(entry);
  }
  /** The next in turn that is lighter than what its class has been told to hold back. */
  next(now, lighterThan) {
    let best;
    let bestRank = Number.POSITIVE_INFINITY;
    for (const [rank, line] of this.lines.entries()) {
      const entry = line.first((each) => each.weight < lighterThan(each));
      if (entry === void 0) continue;
      const aged = this.agedRank(rank, now - entry.since);
      if (aged < bestRank || aged === bestRank && entry.since < best.since) {
        best = entry;
        bestRank = aged;
      }
    }
    return best;
  }
  /** Who must give way to a request of class `cls` when the queue is full: the last come of the lowest class below it. */
  lowestBelow(cls) {
    for (let rank = this.lines.length - 1; rank > CALL_CLASSES.indexOf(cls); rank -= 1) {
      const last = this.lines[rank].last();
      if (last !== void 0) return last;
    }
    return void 0;
  }
  /** Tokens asked for by those whose turn comes before a new request of class `cls`. */
  tokensAhead(cls) {
    return this.lines.slice(0, CALL_CLASSES.indexOf(cls) + 1).reduce((sum3, line) => sum3 + line.tokens, 0);
  }
  /** Everyone who waits in the class, in turn; a copy. */
  inClass(cls) {
    return this.lines[CALL_CLASSES.indexOf(cls)].entries();
  }
  agedRank(rank, waitedMs) {
    return rank <= HIGHEST_AGED_RANK ? rank : Math.max(HIGHEST_AGED_RANK, rank - Math.floor(waitedMs / this.ageMs));
  }
  lineOf(entry) {
    return this.lines[CALL_CLASSES.indexOf(entry.class)];
  }
};
var Line = class {
  tokens = 0;
  places = [];
  from = 0;
  placeOf = /* @__PURE__ */ new Map();
  /** Places that have been cut off at the front. */
  cut = 0;
  get size() {
    return this.placeOf.size;
  }
  add(entry) {
    this.placeOf.set(entry, this.cut + this.places.length);
    this.places.push(entry);
    this.tokens += entry.weight;
  }
  putBack(entry) {
    if (this.from > 0) this.from -= 1;
    else {
      this.places.unshift(void 0);
      this.cut -= 1;
    }
    this.places[this.from] = entry;
    this.placeOf.set(entry, this.cut + this.from);
    this.tokens += entry.weight;
  }
  remove(entry) {
    const place2 = this.placeOf.get(entry);
    if (place2 === void 0) return;
    this.placeOf.delete(entry);
    this.places[place2 - this.cut] = void 0;
    this.tokens -= entry.weight;
    while (this.from < this.places.length && this.places[this.from] === void 0) this.from += 1;
    while (this.places.length > this.from && this.places.at(-1) === void 0) this.places.pop();
    if (this.from <= 256 || this.from * 2 < this.places.length) return;
    this.places = this.places.slice(this.from);
    this.cut += this.from;
    this.from = 0;
  }
  has(entry) {
    return this.placeOf.has(entry);
  }
  first(suits) {
    for (let index = this.from; index < this.places.length; index += 1) {
      const entry = this.places[index];
      if (entry !== void 0 && suits(entry)) return entry;
    }
    return void 0;
  }
  last() {
    return this.places.at(-1);
  }
  entries() {
    return [...this.placeOf.keys()];
  }
};

// ../src/gateway/budget.ts
var QUEUE_LIMIT = 2e3;
var SHARE_RETRY_MS = 250;
var SHARE_LOOK_MS = 1e3;
var LocalBudget = class {
  settings;
  clock;
  costs;
  options;
  queue;
  tally;
  ledger;
  issued = 0;
  uncounted = 0;
  wake;
  /** What the shared ledger has not heard yet, in order. */
  told = [];
  /** Came with a deadline that has not been compared with the earliest possible time yet. */
  fresh = [];
  revision;
  /** The ledger's clock minus ours. */
  offsetMs = 0;
  sharing = false;
  again = false;
  /** `costs`: the profile's `rate_limit.costs` and the tokens of its declared requests. */
  constructor(settings, clock, costs, options) {
    this.settings = settings;
    this.clock = clock;
    this.costs = costs;
    this.options = options;
    this.queue = new BudgetQueue(options.queueLimit ?? QUEUE_LIMIT, settings.windowMs / 4);
    this.tally = new Tally(settings.windowMs);
    this.ledger = this.restored(void 0, 0);
  }
  acquire(request2) {
    return new Promise((resolve2) => {
      const entry = { ...request2, since: this.clock.monotonic(), resolve: resolve2, deadline: void 0 };
      if (!this.makeRoomFor(entry)) return;
      this.queue.add(entry);
      if (entry.deadlineAt !== void 0) this.fresh.push(entry);
      void this.pump();
    });
  }
  weightOf(endpoint2) {
    return this.ledger.costFor(endpoint2);
  }
  /** Takes tokens as used just now: after a restart without a ledger, what the journal's last window attempted (fault matrix, row 66). */
  assume(tokens) {
    this.tell((ledger, now) => ledger.assume(tokens, now));
  }
  report() {
    const { tokens: ownTokens, peak: peakPerMinute } = this.tally;
    return {
      ...this.ledger.report(this.now()),
      ownTokens,
      peakPerMinute,
      waiting: this.queue.size,
      uncounted: this.uncounted
    };
  }
  /** Now, on the ledger's clock. */
  now() {
    return this.clock.monotonic() + this.offsetMs;
  }
  /** False when the request itself was refused. */
  makeRoomFor(entry) {
    if (this.queue.size < this.queue.limit) return true;
    const lowest = this.queue.lowestBelow(entry.class) ?? entry;
    this.refuse(lowest, "QUEUE_FULL", this.earliest(this.ledger, lowest, this.now()));
    return lowest !== entry;
  }
  earliest(ledger, entry, now) {
    const own2 = this.queue.has(entry) ? entry.weight : 0;
    return ledger.earliest(entry.weight, entry.class, this.queue.tokensAhead(entry.class) - own2, now);
  }
  // One look at the ledger: grant what may go, tell what comes too late, and say when to look again.
  pump() {
    if (this.options.share === void 0) this.act(this.look(this.ledger, this.now()));
    else return this.pumpShared(this.options.share);
  }
  look(ledger, now) {
    const granted = [];
    const lightest = { urgent: Number.POSITIVE_INFINITY, ordinary: Number.POSITIVE_INFINITY };
    const lane = (entry) => isUrgent(entry.class) ? "urgent" : "ordinary";
    const clockNow = now - this.offsetMs;
    let wakeAt;
    for (; ; ) {
      const entry = this.queue.next(clockNow, (each) => lightest[lane(each)]);
      if (entry === void 0) break;
      const admission = ledger.admit(entry.weight, entry.class, now);
      if (admission.ok) {
        const id = `${this.options.share?.owner ?? "own"}:${++this.issued}`;
        ledger.hold(id, entry.endpoint, entry.weight, entry.class, now);
        this.queue.remove(entry);
        granted.push({ entry, id });
        continue;
      }
      wakeAt = Math.min(wakeAt ?? admission.at, admission.at);
      if (admission.because !== "refused") break;
      lightest[lane(entry)] = Math.min(lightest[lane(entry)], entry.weight);
    }
    return { granted, late: this.late(ledger, now), wakeAt };
  }
  /** Those who came with a deadline since the last look and can not be served in time. */
  late(ledger, now) {
    return this.fresh.filter((entry) => this.queue.has(entry)).map((entry) => ({ entry, earliest: this.earliest(ledger, entry, now) })).filter(({ entry, earliest }) => this.epoch(earliest, now) > (entry.deadlineAt ?? Number.POSITIVE_INFINITY));
  }
  act({ granted, late, wakeAt }) {
    for (const { entry, id } of granted) this.grant(entry, id);
    for (const { entry, earliest } of late) this.refuse(entry, "DEADLINE", earliest);
    for (const entry of this.fresh) if (this.queue.has(entry)) this.watch(entry);
    this.fresh = [];
    this.wakeIn(wakeAt === void 0 ? void 0 : wakeAt - this.now());
  }
  grant(entry, id) {
    entry.deadline?.cancel();
    const waitedMs = Math.max(0, Math.round(this.clock.monotonic() - entry.since));
    entry.resolve({ kind: "granted", ticket: this.ticket(id, entry.weight), waitedMs });
  }
  refuse(entry, code, earliest) {
    entry.deadline?.cancel();
    this.queue.remove(entry);
    entry.resolve({ kind: "refused", code, earliestAt: Math.ceil(this.epoch(earliest, this.now())) });
  }
  /** Refuses the entry if it still waits when its deadline comes. */
  watch(entry) {
    if (entry.deadlineAt === void 0 || entry.deadline !== void 0) return;
    entry.deadline = this.clock.at(entry.deadlineAt, () => void this.expire(entry));
  }
  async expire(entry) {
    await this.pump();
    if (this.queue.has(entry)) this.refuse(entry, "DEADLINE", this.earliest(this.ledger, entry, this.now()));
  }
  wakeIn(delayMs) {
    this.wake?.cancel();
    this.wake = void 0;
    if (delayMs === void 0) return;
    const longest = this.options.share === void 0 ? Number.POSITIVE_INFINITY : SHARE_LOOK_MS;
    const wholeMs = Math.max(1, Math.ceil(Math.min(delayMs, longest)));
    this.wake = this.clock.at(this.clock.now() + wholeMs, () => void this.pump());
  }
  epoch(instant4, now) {
    return this.clock.now() + Math.max(0, instant4 - now);
  }
  // Tickets.
  ticket(id, weight) {
    let ended = false;
    const end = (told) => {
      if (ended) throw new Error(`the tokens of request ${id} were given back twice`);
      ended = true;
      this.tell(told);
    };
    return {
      sent: () => this.tally.add(weight, this.clock.monotonic()),
      answered: (headers, { limited, retryAfterMs }) => end(
        (ledger, now) => limited ? ledger.refused(id, headers, retryAfterMs, now) : ledger.answered(id, headers, now)
      ),
      aborted: () => end((ledger, now) => ledger.aborted(id, now)),
      notSent: () => end((ledger, now) => ledger.notSent(id, now))
    };
  }
  tell(told) {
    if (this.options.share === void 0) told(this.ledger, this.now());
    else this.told.push(told);
    void this.pump();
  }
  // The shared ledger.
  async pumpShared(share) {
    this.again = true;
    if (this.sharing) return;
    this.sharing = true;
    try {
      while (this.again) {
        this.again = false;
        await this.lookShared(share);
      }
    } finally {
      this.sharing = false;
    }
  }
  /** One change of the shared row: tells it what happened here and grants from it; nothing is granted before it is stored. */
  async lookShared({ rows: rows2, key: key2 }) {
    let pass;
    const { told } = this;
    this.told = [];
    try {
      await rows2.change(key2, (row, nowMs) => {
        if (row === void 0 || row.revision !== this.revision) this.ledger = this.restored(row?.text, nowMs);
        this.offsetMs = nowMs - this.clock.monotonic();
        for (const each of told) each(this.ledger, nowMs);
        pass = this.look(this.ledger, nowMs);
        const changed = told.length > 0 || pass.granted.length > 0;
        this.revision = (row?.revision ?? 0) + (changed ? 1 : 0);
        return { text: changed ? this.ledger.save() : void 0, result: void 0 };
      });
    } catch (error3) {
      if (!(error3 instanceof StoreError)) throw error3;
      this.revision = void 0;
      this.told = [...told, ...this.told];
      this.goUncounted(pass);
      return;
    }
    if (pass !== void 0) this.act(pass);
  }
  /**
   * The shared ledger can not be had. Ordinary requests wait for it; urgent ones go now and are counted when it is back: a
   * refused cancel costs a token, a cancel that was never sent costs a position.
   */
  goUncounted(pass) {
    for (const { entry } of [...pass?.granted ?? []].reverse()) {
      this.queue.putBack(entry);
      entry.deadline?.cancel();
      entry.deadline = void 0;
      this.watch(entry);
    }
    for (const entry of [...this.queue.inClass("protect"), ...this.queue.inClass("resolve")]) {
      const id = `${this.options.share?.owner ?? "own"}:${++this.issued}`;
      const { endpoint: endpoint2, weight } = entry;
      this.told.push((ledger, now) => ledger.hold(id, endpoint2, weight, entry.class, now));
      this.queue.remove(entry);
      this.uncounted += 1;
      this.grant(entry, id);
    }
    for (const entry of this.fresh) this.watch(entry);
    this.wakeIn(SHARE_RETRY_MS);
  }
  restored(text2, now) {
    return Ledger.restore(text2, now, this.settings, this.options.random, this.costs);
  }
};
var Tally = class {
  tokens = 0;
  peak = 0;
  windowMs;
  recent = [];
  from = 0;
  inWindow = 0;
  constructor(windowMs) {
    this.windowMs = windowMs;
  }
  add(weight, at) {
    for (let first = this.recent[this.from]; first !== void 0 && first.at <= at - this.windowMs; first = this.recent[this.from]) {
      this.inWindow -= first.weight;
      this.from += 1;
    }
    if (this.from > 1024) {
      this.recent = this.recent.slice(this.from);
      this.from = 0;
    }
    this.recent.push({ at, weight });
    this.tokens += weight;
    this.inWindow += weight;
    this.peak = Math.max(this.peak, this.inWindow);
  }
};

// ../src/gateway/limit-gate.ts
var MINUTE_MS = 6e4;
var REFUSALS_KEPT_MS = 36e5;
var LimitGate = class {
  book;
  markets;
  others;
  intended = /* @__PURE__ */ new Map();
  fills = /* @__PURE__ */ new Map();
  stepFills = /* @__PURE__ */ new Map();
  orderTimes = [];
  refusals = [];
  writes = 0;
  runNotional = new Decimal(0);
  account;
  lastReadAt;
  /** Open orders of the account that are not this run's, as of the last complete list. */
  externalOpen = 0;
  constructor(book2, markets, others = () => ({ killed: false, working: [] })) {
    this.book = book2;
    this.markets = markets;
    this.others = others;
  }
  /** The book of the run as it is taken up again: made by whoever plays its record. */
  useBook(book2) {
    this.book = book2;
  }
  /** Takes in one entry of the run, in order. */
  apply(entry) {
    switch (entry.type) {
      case "call.intended":
        this.intended.set(entry.data.call, entry.data);
        return;
      case "call.attempted":
        this.attempted(this.intended.get(entry.data.call), entry.at);
        return;
      case "call.settled":
        this.settled(this.intended.get(entry.data.call), entry.data, entry.at, entry.step);
        this.intended.delete(entry.data.call);
        return;
      case "order.alarmed":
        this.refusals.push(entry.at);
        return;
      default:
        return;
    }
  }
  /** The verdict on a call; calls that only read or protect pass without looking. */
  check(call3, rules, now) {
    const row = endpoint(call3.endpoint);
    if (row.method === "GET" || row.protective) return { ok: true, considered: {} };
    return checkLimits({ ...call3, ...call3.intent?.allow === void 0 ? {} : { allow: call3.intent.allow } }, rules, this.facts(call3, rules, now));
  }
  facts(call3, rules, now) {
    const others = this.others();
    const own2 = this.working();
    const working = [...own2, ...others.working];
    this.orderTimes = this.orderTimes.filter((at) => now - at < MINUTE_MS);
    this.refusals = this.refusals.filter((at) => now - at < REFUSALS_KEPT_MS);
    const within2 = (times2, windowMs) => times2.filter((at) => windowMs === void 0 || now - at < windowMs).length;
    const market4 = call3.intent?.market ?? call3.params.market_id ?? "";
    const account = this.account;
    return {
      now,
      killed: others.killed,
      working,
      openOrders: { run: own2.length, account: working.length + this.externalOpen },
      positions: this.positions(),
      counters: {
        writes: this.writes,
        ordersLastMinute: this.orderTimes.length,
        runNotional: decimalText(this.runNotional),
        stepFills: within2(this.stepFills.get(call3.step) ?? [], rules.stepFills?.windowMs),
        refusals: within2(this.refusals, rules.refusals?.windowMs)
      },
      reference: call3.reference,
      account: account === void 0 ? void 0 : { equity: account.record.account_equity, health: account.record.health, at: account.at, leverage: account.record.leverage },
      lastReadAgeMs: this.lastReadAt === void 0 ? void 0 : now - this.lastReadAt,
      marketRules: Object.hasOwn(this.markets, market4) ? this.markets[market4] : void 0
    };
  }
  working() {
    return this.book.orders().filter(({ snapshot }) => !isTerminal(snapshot.state) && snapshot.state !== "draft").map(({ intent, snapshot }) => ({
      clientOrderId: intent.clientOrderId,
      orderId: snapshot.context.venueId,
      market: intent.market,
      side: intent.side,
      type: intent.type,
      price: snapshot.context.price,
      size: snapshot.context.size,
      worstRemaining: exposureOf(snapshot).worstRemaining,
      quarantined: snapshot.state === "quarantined"
    }));
  }
  /** Net size per market over every fill that was ever read: this run's, and the account's where a list showed them. */
  positions() {
    const sizes = /* @__PURE__ */ Object.create(null);
    for (const { market_id, side: side2, size } of this.fills.values()) {
      const before = sizes[market_id] ?? new Decimal(0);
      sizes[market_id] = side2 === "long" ? before.plus(decimal(size)) : before.minus(decimal(size));
    }
    return Object.fromEntries(Object.entries(sizes).map(([market4, size]) => [market4, { size: decimalText(size) }]));
  }
  attempted(call3, at) {
    if (call3 === void 0 || !isEndpointName(call3.endpoint)) return;
    const row = endpoint(call3.endpoint);
    if (row.method === "GET" || row.path === "/cancel_all_after" || row.path === "/jwt") return;
    this.writes += 1;
    if (call3.endpoint === "POST /orders" || call3.endpoint === "PUT /orders") this.orderTimes.push(at);
    const notional = call3.intent === void 0 ? void 0 : notionalOf(call3.intent);
    if (notional !== void 0) this.runNotional = this.runNotional.plus(decimal(notional));
  }
  settled(call3, data, at, step) {
    if (call3 === void 0) return;
    if (data.kind === "rejected" && data.failure === "rejected") this.refusals.push(at);
    if (data.kind !== "confirmed") return;
    if (call3.endpoint.startsWith("GET ")) this.lastReadAt = at;
    const { status: status2, market_id } = call3.params;
    if (call3.endpoint === "GET /orders" && status2 === "open" && market_id === void 0) {
      const records = data.result;
      this.externalOpen = records.filter((record2) => this.book.byId(record2.id) === void 0 && this.book.get(record2.client_order_id) === void 0).length;
    }
    if (call3.endpoint === "GET /account" || call3.endpoint === "PUT /account/leverage") {
      const [record2] = data.result;
      if (record2 !== void 0) this.account = { record: record2, at };
    }
    if (call3.endpoint === "GET /fills" || call3.endpoint === "GET /fills/order") {
      for (const fill of data.result) {
        if (this.fills.has(fill.id)) continue;
        this.fills.set(fill.id, fill);
        const filledStep = this.book.byId(fill.order_id)?.step ?? step;
        this.stepFills.set(filledStep, [...this.stepFills.get(filledStep) ?? [], at]);
      }
    }
  }
};

// ../src/gateway/client.ts
import { createHash as createHash2 } from "node:crypto";

// ../src/venue/answers.ts
import { isLosslessNumber as isLosslessNumber3 } from "lossless-json";

// ../src/base/printable.ts
var UNPRINTABLE = new RegExp("[\\u0000-\\u001f\\u007f-\\u009f\\u061c\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u2069\\ufeff\\ufff9-\\ufffb]|\\p{Cs}", "gu");
function printable(text2, max = 512) {
  let out = "";
  for (const character of text2) {
    const shown4 = escapeUnprintable(character);
    if (out.length + shown4.length > max) return `${out}\u2026`;
    out += shown4;
  }
  return out;
}
function escapeUnprintable(text2) {
  return text2.replace(UNPRINTABLE, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

// ../src/venue/errors.ts
var LIMITED = /rate[\s_-]*limit|too[\s_-]*many[\s_-]*requests|throttl/i;
var UNAUTHORIZED = /unauthori[sz]ed|not[\s_-]*authenticated|authentication[\s_-]*(?:failed|required)|jwt|(?:token|session|signature)[\s_-]*(?:has[\s_-]*|is[\s_-]*)?(?:expired|invalid)|invalid[\s_-]*(?:token|session|signature|api[\s_-]*key)/i;
var NOT_FOUND = /(?:^|[^a-z])(?:orders?[\s_-]*(?:id[\s_-]*)?(?:is[\s_-]*|was[\s_-]*)?)?(?:not[\s_-]*found|does[\s_-]*not[\s_-]*exist)|unknown[\s_-]*order|no[\s_-]*such[\s_-]*order/i;
var OTHER_THING = /(?:market|instrument|symbol|contract|account|profile|position|endpoint|route|page|path|user|token)s?[\s_-]*(?:id[\s_-]*)?(?:is[\s_-]*|was[\s_-]*)?(?:not[\s_-]*found|does[\s_-]*not[\s_-]*exist)/i;
var CLIENT_ID = /client[\s_-]*(?:order[\s_-]*)?id|cl[\s_-]*ord[\s_-]*id/i;
var TAKEN = /duplicat|already|not[\s_-]*unique|in[\s_-]*use|exists/i;
var KNOWN_DEFINITE = ["ORDER_NOT_FOUND", "CLIENT_ORDER_ID_DUPLICATE"];
function errorMeaning(text2, status2, definiteRejects = []) {
  const folded = text2.toLowerCase();
  return {
    limited: LIMITED.test(text2),
    unauthorized: UNAUTHORIZED.test(text2),
    notFound: (NOT_FOUND.test(text2) || status2 === 404) && !OTHER_THING.test(text2),
    duplicate: CLIENT_ID.test(text2) && TAKEN.test(text2),
    definite: [...KNOWN_DEFINITE, ...definiteRejects].some((part) => folded.includes(part.toLowerCase()))
  };
}

// ../src/venue/record-reading.ts
import { isLosslessNumber } from "lossless-json";

// ../src/venue/forms.ts
var MARKET3 = /^[A-Za-z0-9._]{1,32}-[A-Za-z0-9._]{1,32}$/;
var ORDER_ID = /^([A-Za-z0-9._]{1,32}-[A-Za-z0-9._]{1,32})@\d{1,40}$/;
var FILL_ID = /^([A-Za-z0-9._]{1,32}-[A-Za-z0-9._]{1,32})-\d{1,40}$/;
var CLIENT_ORDER_ID = /^[A-Za-z0-9_-]{1,50}$/;
var isMarketId = (text2) => MARKET3.test(text2);
var isOrderId = (text2) => ORDER_ID.test(text2);
var isFillId = (text2) => FILL_ID.test(text2);
var isClientOrderId = (text2) => CLIENT_ORDER_ID.test(text2);
function marketOf(id) {
  return (ORDER_ID.exec(id) ?? FILL_ID.exec(id))?.[1];
}

// ../src/venue/record-reading.ts
var Unreadable = class extends Error {
};
var Notes = class {
  noted = /* @__PURE__ */ new Set();
  add(note) {
    if (this.noted.size < 20) this.noted.add(note);
  }
  get list() {
    return [...this.noted];
  }
};
var decimal2 = { as: "decimal" };
var incidental = { as: "integer", missing: 0 };
var status = (missing) => ({ as: "text", known: ORDER_STATUSES, ...missing === void 0 ? {} : { missing } });
var timeInForce = { as: "text", missing: "", known: TIMES_IN_FORCE };
var FIELDS = {
  account: {
    id: incidental,
    status: { as: "text", missing: "" },
    profile_type: { as: "text", missing: "" },
    wallet: { as: "text", missing: "" },
    balance: decimal2,
    withdrawable_balance: decimal2,
    account_equity: decimal2,
    account_leverage: decimal2,
    account_margin: decimal2,
    health: decimal2,
    cum_trading_volume: decimal2,
    cum_unrealized_pnl: decimal2,
    total_notional: decimal2,
    total_order_margin: decimal2,
    total_position_margin: decimal2,
    last_liq_check: incidental,
    last_update: incidental,
    leverage: { as: "decimals" }
  },
  order: {
    id: { as: "order_id" },
    client_order_id: { as: "text", missing: "" },
    market_id: { as: "market" },
    order_type: { as: "text", missing: "", known: ORDER_TYPES },
    side: { as: "side" },
    price: { as: "decimal", missing: "0" },
    size: decimal2,
    initial_size: decimal2,
    total_filled_size: decimal2,
    status: status(),
    reason: { as: "text", missing: "" },
    profile_id: incidental,
    timestamp: { as: "integer" },
    time_in_force: timeInForce
  },
  placement: {
    id: { as: "order_id" },
    is_liquidation: { as: "boolean", missing: false },
    market_id: { as: "market" },
    price: { as: "decimal", missing: "0" },
    profile_id: incidental,
    side: { as: "side" },
    size: decimal2,
    status: status("processing"),
    client_order_id: { as: "text", missing: "" },
    type: { as: "text", missing: "", known: ORDER_TYPES },
    time_in_force: timeInForce
  },
  cancel: {
    id: { as: "order_id" },
    market_id: { as: "market" },
    profile_id: incidental,
    status: status("canceling")
  },
  amend: {
    id: { as: "order_id" },
    market_id: { as: "market" },
    price: decimal2,
    profile_id: incidental,
    size: decimal2,
    status: status("amending")
  },
  fill: {
    id: { as: "fill_id" },
    trade_id: { as: "trade_id", missing: "" },
    order_id: { as: "order_id" },
    market_id: { as: "market" },
    profile_id: incidental,
    side: { as: "side" },
    price: decimal2,
    size: decimal2,
    fee: decimal2,
    is_maker: { as: "boolean", missing: false },
    liquidation: { as: "boolean", missing: false },
    timestamp: { as: "integer" }
  },
  tier: { tier_status: { as: "tier" } },
  deadman: {
    market_id: { as: "optional market" },
    profile_id: incidental,
    timeout: { as: "integer" },
    last_updated: incidental,
    status: { as: "text" }
  }
};
function readRecord(name2, value2, settings, notes) {
  const record2 = withDocumentedTypes(recordOf(value2, name2), settings);
  const fields2 = FIELDS[name2];
  const read2 = {};
  for (const [field, rule] of Object.entries(fields2)) {
    const each = readField(`${name2}.${field}`, record2[field], rule, record2, notes);
    if (each !== void 0) read2[field] = each;
  }
  for (const field of Object.keys(record2))
    if (!Object.hasOwn(fields2, field)) notes.add(`unknown field ${printable(field, 40)} of ${name2}`);
  if (typeof read2["id"] === "string" && read2["market_id"] !== void 0 && marketOf(read2["id"]) !== read2["market_id"]) {
    throw new Unreadable(`${name2}.id is of another market than ${name2}.market_id`);
  }
  return read2;
}
function readField(what, value2, rule, record2, notes) {
  if (value2 === void 0 || value2 === null || value2 === "") {
    if ("missing" in rule && rule.missing !== void 0) return rule.missing;
    if (rule.as === "optional market") return void 0;
    if (rule.as === "decimals" && value2 === null) return {};
    if (rule.as === "market") return marketOf(String(record2["id"])) ?? unreadable(what, "missing");
    return unreadable(what, "missing");
  }
  switch (rule.as) {
    case "text":
      return readText(what, value2, rule.known, notes);
    case "decimal":
      return readDecimal(what, value2);
    case "integer":
      return readInteger(what, value2);
    case "boolean":
      return typeof value2 === "boolean" ? value2 : unreadable(what, "not true or false");
    case "side":
      return readSide(what, value2, notes);
    case "order_id":
      return withForm(what, value2, isOrderId, "not an order id, <market_id>@<number>");
    case "fill_id":
    case "trade_id":
      return withForm(what, value2, isFillId, "not a fill id, <market_id>-<number>");
    case "market":
    case "optional market":
      return withForm(what, value2, isMarketId, "not a market id, <BASE>-<QUOTE>");
    case "decimals":
      return readDecimals(what, value2);
    case "tier":
      return readTier(what, value2, notes);
    default:
      return rule;
  }
}
function readText(what, value2, known, notes) {
  if (typeof value2 !== "string") return unreadable(what, "not a text");
  if (known !== void 0 && !known.includes(value2)) notes.add(`unknown ${what} ${printable(value2, 60)}`);
  return value2;
}
function withForm(what, value2, hasForm, otherwise) {
  return typeof value2 === "string" && hasForm(value2) ? value2 : unreadable(what, otherwise);
}
function readSide(what, value2, notes) {
  const side2 = SIDES.find((each) => each === value2 || typeof value2 === "string" && each === value2.toLowerCase());
  if (side2 === void 0) return unreadable(what, `neither ${SIDES.join(" nor ")}`);
  if (side2 !== value2) notes.add(`${what} spelled ${printable(String(value2), 20)}`);
  return side2;
}
var LONGEST_EXPONENT = 400;
function readDecimal(what, value2) {
  const text2 = isLosslessNumber(value2) ? value2.value : value2;
  if (typeof text2 !== "string" || text2.length > 500) return unreadable(what, "not a decimal");
  const plain = parseDecimal(text2);
  if (plain !== void 0) return plain.isZero() ? decimalText(plain) : text2;
  const [, exponent] = /^-?\d{1,400}(?:\.\d{1,400})?[eE]([+-]?\d{1,4})$/.exec(text2) ?? [];
  if (exponent === void 0 || Math.abs(Number(exponent)) > LONGEST_EXPONENT) return unreadable(what, "not a decimal");
  return decimalText(new Decimal(text2));
}
function readInteger(what, value2) {
  const text2 = readDecimal(what, value2);
  const number = Number(text2);
  if (!/^-?\d+(?:\.0+)?$/.test(text2) || !Number.isSafeInteger(number)) return unreadable(what, "not a whole number");
  return number;
}
function readDecimals(what, value2) {
  const record2 = recordOf(value2, what);
  return Object.fromEntries(
    Object.entries(record2).map(([market4, each]) => [market4, readDecimal(`${what}.${printable(market4, 40)}`, each)])
  );
}
function readTier(what, value2, notes) {
  const { current, next, needed_volume: needed } = recordOf(value2, what);
  const step = (name2, each) => {
    const { tier, title, min_volume: least } = recordOf(each, `${what}.${name2}`);
    const field = (suffix) => `${what}.${name2}.${suffix}`;
    return {
      tier: readInteger(field("tier"), tier),
      title: readText(field("title"), title ?? "", void 0, notes),
      min_volume: readDecimal(field("min_volume"), least)
    };
  };
  const reached2 = step("current", current);
  if (next !== void 0 && next !== null)
    return { current: reached2, next: step("next", next), needed_volume: readDecimal(`${what}.needed_volume`, needed) };
  notes.add("no next tier: the highest is reached");
  return { current: reached2, next: reached2, needed_volume: "0" };
}
function withDocumentedTypes(record2, { positionOrders }) {
  const named4 = { ...record2 };
  for (const field of ["type", "order_type"]) {
    const documented = Object.entries(positionOrders.types).find(([, spelled]) => spelled === named4[field])?.[0];
    if (documented !== void 0) named4[field] = documented;
  }
  return named4;
}
function recordOf(value2, what) {
  const isRecord2 = typeof value2 === "object" && value2 !== null && !Array.isArray(value2) && !isLosslessNumber(value2);
  return isRecord2 ? value2 : unreadable(what, "not an object");
}
function unreadable(what, why) {
  throw new Unreadable(`${what} is ${why}`);
}

// ../src/venue/wire.ts
import { isLosslessNumber as isLosslessNumber2, parse } from "lossless-json";
function wireRequest(name2, params, settings) {
  const row = endpoint(name2);
  const given2 = params;
  const wire = {};
  for (const [key2, parameter] of Object.entries(row.parameters)) {
    const value2 = given2[key2];
    if (value2 !== void 0) wire[key2] = wireValue(key2, parameter, value2);
  }
  const spelled = name2 === "POST /orders" ? positionSpelling(wire, settings) : wire;
  return { endpoint: name2, method: row.method, path: row.path, params: spelled, placement: settings.encoding[name2] };
}
function wireValue(key2, parameter, value2) {
  switch (parameter.type) {
    case "decimal":
      if (typeof value2 !== "string" || parseDecimal(value2) === void 0) break;
      return { as: "number", text: value2 };
    case "integer":
    case "timestamp":
      if (!Number.isSafeInteger(value2)) break;
      return { as: "number", text: String(value2) };
    case "boolean":
      if (typeof value2 !== "boolean") break;
      return { as: "boolean", text: String(value2) };
    case "market":
    case "order_id":
    case "client_order_id":
    case "text":
    case "enum":
      if (typeof value2 !== "string") break;
      return { as: "text", text: value2 };
    default:
      return parameter;
  }
  throw new TypeError(`${key2} can not go on the wire as ${parameter.type}: found ${typeof value2}`);
}
function positionSpelling(wire, { positionOrders }) {
  const type = wire["type"]?.text;
  if (type !== "stop_loss" && type !== "take_profit") return { ...wire };
  return Object.fromEntries(
    Object.entries(wire).map(([key2, value2]) => {
      if (key2 === "size") return [positionOrders.sizeField, value2];
      return [key2, key2 === "type" ? { ...value2, text: positionOrders.types[type] } : value2];
    })
  );
}
function encodeBody(request2) {
  if (request2.placement === "query") return request2.method === "GET" ? "" : "{}";
  const members = Object.entries(request2.params).map(([key2, value2]) => `${JSON.stringify(key2)}:${jsonLiteral(value2)}`);
  const text2 = `{${members.join(",")}}`;
  prove(text2, request2.params);
  return text2;
}
function encodeQuery(request2) {
  if (request2.placement === "body") return "";
  return Object.entries(request2.params).map(([key2, value2]) => `${encodeURIComponent(key2)}=${encodeURIComponent(value2.text)}`).join("&");
}
function jsonLiteral(value2) {
  return value2.as === "text" ? JSON.stringify(value2.text) : value2.text;
}
function prove(text2, params) {
  const read2 = parse(text2);
  const keys = Object.keys(params);
  const same2 = Object.keys(read2).length === keys.length && keys.every((key2) => isSame(read2[key2], params[key2]));
  if (!same2) throw new Error("the encoded body does not read back as the request");
}
function isSame(read2, { as, text: text2 }) {
  if (as === "text") return read2 === text2;
  if (as === "boolean") return typeof read2 === "boolean" && String(read2) === text2;
  return isLosslessNumber2(read2) && read2.value === text2 && parseDecimal(text2) !== void 0;
}
var ANSWER_LIMITS = { maxLength: 8 * 1024 * 1024, maxDepth: 16, maxValues: 1e5 };
function readJson2(text2, limits = ANSWER_LIMITS) {
  if (text2.length > limits.maxLength)
    return { problem: `${text2.length} characters, at most ${limits.maxLength} are read` };
  const measured = measure(text2);
  if (measured.depth > limits.maxDepth) return { problem: `nested more than ${limits.maxDepth} levels deep` };
  if (measured.members + measured.items > limits.maxValues) return { problem: `more than ${limits.maxValues} values` };
  let value2;
  try {
    value2 = parse(text2);
  } catch (error3) {
    return { problem: error3 instanceof SyntaxError ? "not JSON" : "not readable" };
  }
  return countMembers(value2) === measured.members ? { value: value2 } : { problem: "an object names a key twice" };
}
function measure(text2) {
  let depth2 = 0;
  let deepest = 0;
  let members = 0;
  let items = 0;
  for (let at = 0; at < text2.length; at += 1) {
    switch (text2.charCodeAt(at)) {
      case 34:
        for (at += 1; at < text2.length && text2.charCodeAt(at) !== 34; at += 1)
          if (text2.charCodeAt(at) === 92) at += 1;
        break;
      case 91:
      // [
      case 123:
        depth2 += 1;
        deepest = Math.max(deepest, depth2);
        break;
      case 93:
      case 125:
        depth2 -= 1;
        break;
      case 58:
        members += 1;
        break;
      case 44:
        items += 1;
        break;
      default:
    }
  }
  return { depth: deepest, members, items };
}
function countMembers(value2) {
  if (value2 === null || typeof value2 !== "object" || isLosslessNumber2(value2)) return 0;
  const values = Object.values(value2);
  const own2 = Array.isArray(value2) ? 0 : values.length;
  return values.reduce((sum3, each) => sum3 + countMembers(each), own2);
}

// ../src/venue/answers.ts
function readAnswer(name2, answer2, settings) {
  const envelope2 = readEnvelope(answer2);
  if (envelope2.kind !== "envelope" || !envelope2.success)
    return refusalOf(answer2, envelope2, settings) ?? { kind: "unreadable", why: envelope2.why };
  if (answer2.status >= 300)
    return { kind: "unreadable", why: `status ${answer2.status}, although the answer says success` };
  const notes = new Notes();
  if (envelope2.error !== "") notes.add(`success with the error text ${printable(envelope2.error, 120)}`);
  try {
    const result2 = readResult(endpoint(name2).answer, name2, envelope2.result, settings, notes);
    return { kind: "confirmed", result: result2, notes: notes.list };
  } catch (problem) {
    if (problem instanceof Unreadable) return { kind: "unreadable", why: problem.message };
    throw problem;
  }
}
function readEnvelope({ status: status2, headers, body: body2 }) {
  const none2 = (why) => ({ kind: "none", why });
  if (status2 >= 300 && status2 < 400) return none2(`status ${status2}: a redirection, which is never followed`);
  if (status2 < 200 || status2 > 599) return none2(`status ${status2}`);
  if (body2.trim() === "") return none2(`status ${status2} with an empty body`);
  const type = headers["content-type"];
  if (type !== void 0 && !/^\s*(?:application|text)\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type))
    return none2(`status ${status2} with content type ${printable(type, 60)}`);
  const read2 = readJson2(body2);
  if (read2.problem !== void 0) return none2(`status ${status2}, body: ${read2.problem}`);
  const record2 = asRecord(read2.value);
  if (record2 === void 0 || typeof record2["success"] !== "boolean")
    return none2(`status ${status2} without the envelope of the venue`);
  const { success, error: error3, result: result2 } = record2;
  const text2 = typeof error3 === "string" ? error3 : error3 === void 0 || error3 === null ? "" : JSON.stringify(error3);
  return { kind: "envelope", success, error: text2, result: result2, why: "refused" };
}
function refusalOf({ status: status2, headers }, envelope2, settings) {
  const enveloped = envelope2.kind === "envelope";
  const limitedStatus = settings.rateLimit.statuses.includes(status2) && (enveloped || status2 === 429);
  if (!enveloped && !limitedStatus && status2 !== 401) return void 0;
  const meaning = errorMeaning(enveloped ? envelope2.error : "", status2, settings.definiteRejects);
  const serverError = status2 >= 500;
  const limited = !serverError && (limitedStatus || enveloped && (meaning.limited || isExhausted(headers)));
  const retryAfterMs = readRetryAfter(headers);
  return {
    kind: "refused",
    text: enveloped ? envelope2.error : `status ${status2}`,
    serverError,
    limited,
    unauthorized: !serverError && !limited && (status2 === 401 || meaning.unauthorized),
    notFound: meaning.notFound,
    duplicate: meaning.duplicate,
    definite: meaning.definite && !serverError,
    ...retryAfterMs === void 0 ? {} : { retryAfterMs }
  };
}
function isExhausted(headers) {
  const remaining = headers["x-ratelimit-remaining"];
  return readRetryAfter(headers) !== void 0 && (remaining === void 0 || /^\s*0+\s*$/.test(remaining));
}
function readResult(shape, name2, result2, settings, notes) {
  switch (shape.shape) {
    case "list":
      return shape.one ? [readRecord(shape.of, theOne(result2, notes), settings, notes)] : rows(result2, notes).map((row) => readRecord(shape.of, row, settings, notes));
    case "jwt":
      return readJwt(result2, notes);
    case "deadman":
      return readDeadman(name2, result2, settings, notes);
    case "empty":
    case "nothing":
      return readNothing(result2, notes);
    default:
      return shape;
  }
}
function theOne(result2, notes) {
  if (Array.isArray(result2)) {
    if (result2.length === 1) return result2[0];
    throw new Unreadable(
      result2.length === 0 ? "success without a record" : `${result2.length} records where one was asked for`
    );
  }
  if (asRecord(result2) === void 0) throw new Unreadable(`the result is ${kindOf(result2)}, not a list of one record`);
  notes.add("the record is not in a list");
  return result2;
}
function rows(result2, notes) {
  if (Array.isArray(result2)) return result2;
  if (result2 !== null) throw new Unreadable(`the result is ${kindOf(result2)}, not a list`);
  notes.add("null in the place of an empty list");
  return [];
}
function readJwt(result2, notes) {
  const [given2, ...more] = Array.isArray(result2) ? result2 : [result2];
  if (more.length > 0) throw new Unreadable(`${more.length + 1} results where one JWT was asked for`);
  if (!Array.isArray(result2)) notes.add("the JWT is not in a list");
  if (typeof given2 === "string") return { jwt: token(given2, "the JWT") };
  const record2 = asRecord(given2);
  if (record2 === void 0) throw new Unreadable("success without a JWT");
  const { jwt, refresh_token: rotated } = record2;
  if (rotated === void 0 || rotated === null || rotated === "") return { jwt: token(jwt, "the JWT") };
  return { jwt: token(jwt, "the JWT"), refresh_token: token(rotated, "the refresh token") };
}
function token(value2, what) {
  if (typeof value2 === "string" && /^[\x21-\x7e]{1,8192}$/.test(value2)) return value2;
  throw new Unreadable(`${what} is not a text that can be sent in a header`);
}
function readDeadman(name2, result2, settings, notes) {
  const given2 = Array.isArray(result2) ? result2 : [result2];
  if (given2.length > 1) throw new Unreadable(`${given2.length} records where one was asked for`);
  const [record2] = given2;
  const empty = record2 === void 0 || record2 === null || asRecord(record2) !== void 0 && Object.keys(record2).length === 0;
  if (!empty) return readRecord("deadman", record2, settings, notes);
  if (name2 === "POST /cancel_all_after") throw new Unreadable("success without a record of the switch");
  return null;
}
function readNothing(result2, notes) {
  const items = Array.isArray(result2) ? result2 : [result2];
  if (items.includes(false)) throw new Unreadable("success with the result false");
  if (items.some((item) => item !== true && item !== null && item !== void 0))
    notes.add("a result where none is documented; ignored");
  return null;
}
function asRecord(value2) {
  const isRecord2 = typeof value2 === "object" && value2 !== null && !Array.isArray(value2) && !isLosslessNumber3(value2);
  return isRecord2 ? value2 : void 0;
}
function kindOf(value2) {
  if (value2 === void 0) return "missing";
  if (value2 === null) return "null";
  if (isLosslessNumber3(value2)) return "a number";
  return Array.isArray(value2) ? "a list" : typeof value2 === "object" ? "an object" : `a ${typeof value2}`;
}

// ../src/base/ajv.ts
import { Ajv2020 } from "ajv/dist/2020.js";
var AJV_OPTIONS = { strict: true, allErrors: true, discriminator: true, allowUnionTypes: true, verbose: false };
var compiled = /* @__PURE__ */ new Map();
function compiledSchema(name2, schema2) {
  const known = compiled.get(name2);
  if (known !== void 0) return known;
  const ajv = new Ajv2020(AJV_OPTIONS);
  const validate = ajv.compile(schema2);
  compiled.set(name2, validate);
  return validate;
}

// ../src/base/schema.ts
function schemaIssues(name2, schema2, value2) {
  const validate = compiledSchema(name2, schema2);
  if (validate(value2)) return [];
  return (validate.errors ?? []).map((error3) => ({
    path: error3.instancePath.split("/").slice(1).map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~")).map((part) => /^(0|[1-9]\d*)$/.test(part) ? Number(part) : part),
    keyword: error3.keyword,
    params: error3.params,
    message: error3.message ?? error3.keyword
  }));
}
function didYouMean(word2, known) {
  let best;
  let least = Math.max(1, Math.floor(word2.length / 3)) + 1;
  for (const each of known) {
    const distance = editDistance(word2.toLowerCase(), each.toLowerCase(), least);
    if (distance < least) {
      least = distance;
      best = each;
    }
  }
  return best;
}
function editDistance(a, b, limit) {
  if (Math.abs(a.length - b.length) >= limit || a.length > 60 || b.length > 60) return limit;
  let before = [];
  let row = Array.from({ length: b.length + 1 }, (_2, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const same2 = a[i - 1] === b[j - 1] ? 0 : 1;
      let cost = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + same2);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, (before[j - 2] ?? 0) + 1);
      next.push(cost);
    }
    before = row;
    row = next;
  }
  return row[b.length] ?? limit;
}

// ../src/venue/request.ts
var LONGEST_DECIMAL = 80;
function requestProblems(name2, params, settings) {
  const rows2 = endpoint(name2).parameters;
  const given2 = Object.entries(params).filter(([, value2]) => value2 !== void 0);
  const unknown2 = given2.filter(([key2]) => !Object.hasOwn(rows2, key2)).map(([key2]) => unknownParameter(name2, key2, Object.keys(rows2)));
  const missing = Object.entries(rows2).filter(([key2, row]) => row.required && params[key2] === void 0).map(([key2]) => `${key2} is required for ${name2}`);
  const ill = given2.flatMap(([key2, value2]) => {
    const row = Object.hasOwn(rows2, key2) ? rows2[key2] : void 0;
    const wanted = row === void 0 || fits(key2, value2, row, settings) ? void 0 : accepted(key2, row, settings);
    return wanted === void 0 ? [] : [`${key2} must be ${wanted}, found ${shown(value2, row)}`];
  });
  const problems = [...unknown2, ...missing, ...ill];
  return problems.length > 0 ? problems : crossProblems(name2, params, settings);
}
function unknownParameter(name2, key2, known) {
  const meant = didYouMean(key2, known);
  return `${name2} has no parameter ${printable(key2, 60)}${meant === void 0 ? "" : `; is ${meant} meant?`}`;
}
function fits(key2, value2, row, settings) {
  switch (row.type) {
    case "decimal": {
      const number = typeof value2 === "string" ? parseDecimal(value2, LONGEST_DECIMAL) : void 0;
      if (number === void 0) return false;
      if (row.exclusiveMin !== void 0 && !number.greaterThan(decimal(row.exclusiveMin))) return false;
      if (row.min !== void 0 && number.lessThan(decimal(row.min))) return false;
      return row.max === void 0 || !number.greaterThan(decimal(row.max));
    }
    case "integer":
      return Number.isSafeInteger(value2) && value2 >= (row.min ?? Number.MIN_SAFE_INTEGER) && value2 <= most(key2, row, settings);
    case "timestamp":
      return Number.isSafeInteger(value2) && value2 >= 0;
    case "boolean":
      return typeof value2 === "boolean";
    case "enum":
      return typeof value2 === "string" && row.values.includes(value2);
    case "market":
      return typeof value2 === "string" && isMarketId(value2);
    case "order_id":
      return typeof value2 === "string" && isOrderId(value2);
    case "client_order_id":
      return typeof value2 === "string" && isClientOrderId(value2);
    case "text":
      return typeof value2 === "string";
    default:
      return row;
  }
}
function most(key2, row, settings) {
  if (key2 === "leverage" && settings !== void 0) return settings.maxLeverage;
  return row.max ?? Number.MAX_SAFE_INTEGER;
}
function accepted(key2, row, settings) {
  switch (row.type) {
    case "decimal":
      if (row.exclusiveMin !== void 0) return `a plain decimal above ${row.exclusiveMin}`;
      return `a plain decimal${row.min === void 0 ? "" : ` of at least ${row.min}`}${row.max === void 0 ? "" : ` of at most ${row.max}`}`;
    case "integer": {
      const max = most(key2, row, settings);
      return max === Number.MAX_SAFE_INTEGER ? `an integer of at least ${row.min ?? 0}` : `an integer from ${row.min ?? 0} to ${max}`;
    }
    case "timestamp":
      return "a whole number of microseconds since the epoch";
    case "boolean":
      return "true or false";
    case "enum":
      return `one of ${row.values.join(", ")}`;
    case "market":
      return "a market id, <BASE>-<QUOTE>";
    case "order_id":
      return "an order id, <market_id>@<number>";
    case "client_order_id":
      return "1 to 50 characters of [A-Za-z0-9_-]";
    case "text":
      return "a text";
    default:
      return row;
  }
}
function shown(value2, row) {
  if (row?.secret === true) return "something else (not shown)";
  if (typeof value2 === "string") return printable(value2 === "" ? "an empty text" : value2, 80);
  if (typeof value2 === "number" || typeof value2 === "boolean")
    return row?.type === "decimal" ? `the ${typeof value2} ${value2}` : String(value2);
  return value2 === null ? "nothing" : `a ${Array.isArray(value2) ? "list" : typeof value2}`;
}
function crossProblems(name2, params, settings) {
  const problems = [orderOfAnotherMarket(params), timesReversed(params)];
  switch (name2) {
    case "GET /orders":
      if (params["client_order_id"] !== void 0 && params["market_id"] === void 0) {
        problems.push("client_order_id needs market_id beside it (venue-api.md, Versioning: since 13 December 2024)");
      }
      break;
    case "POST /orders":
      problems.push(...placementProblems(params, settings));
      break;
    case "DELETE /orders":
      if (params["order_id"] === void 0 && params["client_order_id"] === void 0)
        problems.push("order_id or client_order_id is required for DELETE /orders");
      break;
    default:
  }
  return problems.filter((problem) => problem !== void 0);
}
function orderOfAnotherMarket({ order_id: order3, market_id: market4 }) {
  if (typeof order3 !== "string" || market4 === void 0 || marketOf(order3) === market4) return void 0;
  return `order_id ${printable(order3, 80)} is of another market than market_id ${printable(String(market4), 80)}`;
}
function timesReversed({ start_time: start, end_time: end }) {
  if (typeof start !== "number" || typeof end !== "number" || start <= end) return void 0;
  return `start_time ${start} is after end_time ${end}`;
}
var ORDER_RULES = {
  limit: { price: "required", trigger: "none" },
  market: { price: "optional", trigger: "none" },
  stop_limit: { price: "required", trigger: "required" },
  stop_market: { price: "optional", trigger: "required" },
  stop_loss: { price: "required", trigger: "required", fraction: true },
  take_profit: { price: "required", trigger: "required", fraction: true }
};
function placementProblems(params, settings) {
  const type = String(params["type"]);
  const rule = ORDER_RULES[type];
  if (rule === void 0) return [];
  const priced = type === "market" && settings?.marketOrderPrice === "required" ? "required" : rule.price;
  const problems = [];
  if (priced === "required" && params["price"] === void 0)
    problems.push(`price is required for an order of type ${type}`);
  if (rule.trigger === "required" && params["trigger_price"] === void 0)
    problems.push(`trigger_price is required for an order of type ${type}`);
  if (rule.trigger === "none" && params["trigger_price"] !== void 0)
    problems.push(`an order of type ${type} has no trigger_price`);
  if (rule.fraction === true && decimal(String(params["size"])).greaterThan(1)) {
    problems.push(
      `size of a ${type} is a fraction of the position and must be at most 1, found ${String(params["size"])}`
    );
  }
  return problems;
}

// ../src/gateway/client.ts
var EXCHANGE_TIMEOUT_MS = 1e4;
var VenueClient = class {
  markets;
  parts;
  constructor(parts) {
    this.parts = parts;
    this.markets = Object.keys(parts.markets);
  }
  market(id) {
    return Object.hasOwn(this.parts.markets, id) ? this.parts.markets[id] : void 0;
  }
  call(call3) {
    const { log } = this.parts;
    log.append(
      "call.intended",
      {
        call: call3.id,
        endpoint: call3.endpoint,
        params: journalParams(call3.endpoint, call3.params),
        class: call3.class,
        ...call3.intent === void 0 ? {} : { intent: call3.intent },
        ...call3.clientOrderId === void 0 ? {} : { clientOrderId: call3.clientOrderId },
        ...call3.purpose === void 0 ? {} : { purpose: call3.purpose }
      },
      call3.step
    );
    return this.proceed(call3, 0);
  }
  /**
   * Settles a call that a process before this one intended: not attempted, it is made now; attempted and only reading or
   * harmless to repeat, it is made again; else nobody knows what became of it.
   */
  continueCall(call3, attempts) {
    const repeatable = endpoint(call3.endpoint).repeatable;
    if (attempts === 0 || repeatable === "safe" || repeatable === "effect") return this.proceed(call3, attempts);
    return this.settled(call3, { kind: "unresolved", message: "the process ended before the answer", settledAt: this.parts.clock.now() });
  }
  async feed(name2, key2, step) {
    const { feeds, log } = this.parts;
    const value2 = await feeds.read(name2, key2, step);
    await this.turn();
    const call3 = `${step}#feed:${name2}${key2 === void 0 ? "" : `:${key2}`}`;
    log.append("feed.read", { call: call3, name: name2, ...key2 === void 0 ? {} : { key: key2 }, ...value2 === void 0 ? {} : { value: value2.value, at: value2.at } }, step);
    return value2;
  }
  async request(name2, params, id, step) {
    const { requests, log, budget, transport, clock, session } = this.parts;
    log.append("call.intended", { call: id, endpoint: `request ${name2}`, params: { ...params }, class: "read" }, step);
    const settle3 = (outcome, extra2 = {}) => {
      const told = outcome.kind === "confirmed" ? { result: outcome.result } : { failure: outcome.failure, message: outcome.message, ...outcome.retryAfterMs === void 0 ? {} : { retryAfterMs: outcome.retryAfterMs } };
      log.append("call.settled", { call: id, kind: outcome.kind, ...told, ...extra2 }, step);
      return outcome;
    };
    const wired = requests?.wire(name2, params) ?? { problem: `this deployment declares no request named ${name2}` };
    if ("problem" in wired) {
      await this.turn();
      return settle3({ kind: "denied", failure: "denied", message: `UNKNOWN_REQUEST: ${wired.problem}` }, { code: "UNKNOWN_REQUEST" });
    }
    if (session !== void 0 && !await session.ready()) {
      await this.turn();
      return settle3({ kind: "rejected", failure: "transport", message: "the session could not be renewed" });
    }
    const granted = await budget.acquire({ endpoint: `GET ${wired.request.path}`, weight: wired.tokens, class: "read" });
    if (granted.kind === "refused") {
      await this.turn();
      return settle3({ kind: "denied", failure: "denied", message: `${granted.code}: no tokens in time` }, { code: granted.code });
    }
    log.append("call.attempted", attemptOf(id, 1, wired.request, wired.tokens, this.parts.epoch, granted.waitedMs), step);
    granted.ticket.sent();
    const sentAt = clock.now();
    const reply = await transport.send(wired.request, { timeoutMs: EXCHANGE_TIMEOUT_MS });
    if (reply.kind === "failure") {
      endTicket(granted.ticket, reply);
      return settle3({ kind: "unresolved", failure: "transport", message: reply.message }, { sentAt });
    }
    granted.ticket.answered(reply.headers, { limited: reply.status === 429 });
    const read2 = requests?.read(name2, reply) ?? { problem: "no reader" };
    const success = !("problem" in read2) && reply.status !== 429;
    const extra = { sentAt, status: reply.status, success, headers: rateHeaders(reply) };
    if (reply.status === 429) return settle3({ kind: "rejected", failure: "rate_limited", message: "the rate limit is exhausted" }, extra);
    if ("problem" in read2) return settle3({ kind: "unresolved", failure: "transport", message: read2.problem }, extra);
    return settle3({ kind: "confirmed", result: read2.result }, extra);
  }
  async proceed(call3, attempts) {
    const row = endpoint(call3.endpoint);
    const problems = requestProblems(call3.endpoint, call3.params, this.parts.profile);
    if (problems.length > 0) return this.deny(call3, "INVALID_REQUEST", `INVALID_REQUEST: ${problems.join("; ")}`);
    const denial = this.limited(call3);
    if (denial !== void 0) return this.deny(call3, denial.code, denial.message);
    const { budget, session, forbidden, confirm, profile } = this.parts;
    if (row.method !== "GET" && confirm !== void 0 && !await confirm(call3)) {
      return this.deny(call3, "NOT_CONFIRMED", "NOT_CONFIRMED: the person at the terminal said no");
    }
    for (let n = attempts + 1; ; n += 1) {
      if (session !== void 0 && !await session.ready()) {
        return this.settled(call3, this.rejection("unauthorized", "the session could not be renewed"));
      }
      const weight = budget.weightOf(call3.endpoint);
      const granted = await budget.acquire({
        endpoint: call3.endpoint,
        weight,
        class: call3.class,
        ...call3.deadlineAt === void 0 ? {} : { deadlineAt: call3.deadlineAt }
      });
      if (granted.kind === "refused") {
        const when = new Date(granted.earliestAt).toISOString();
        return this.deny(call3, granted.code, `${granted.code}: ${weight} tokens could not be had before ${when}`);
      }
      const barred = forbidden?.(row.protective || row.method === "GET") ?? (granted.waitedMs > 0 ? this.limited(call3)?.message : void 0);
      if (barred !== void 0) {
        granted.ticket.notSent();
        return this.deny(call3, barred.split(":")[0] ?? "FORBIDDEN", barred);
      }
      const request2 = wireRequest(call3.endpoint, call3.params, profile);
      const sent = await this.exchange(call3, n, request2, granted.ticket, weight, granted.waitedMs);
      if (sent.unauthorized && row.repeatable !== "never" && n === attempts + 1 && await session?.renew()) continue;
      if (sent.unauthorized) await session?.renew();
      return this.settled(call3, sent.outcome, sent.reply);
    }
  }
  async exchange(call3, n, request2, ticket, tokens, waitedMs) {
    const { log, clock, transport, epoch, profile } = this.parts;
    log.append("call.attempted", attemptOf(call3.id, n, request2, tokens, epoch, waitedMs), call3.step);
    if (request2.method !== "GET") {
      try {
        await log.flush();
      } catch (error3) {
        if (!endpoint(call3.endpoint).protective) {
          ticket.notSent();
          const message = `JOURNAL: ${error3 instanceof Error ? error3.message : String(error3)}`;
          return { outcome: { kind: "denied", code: "JOURNAL", message, settledAt: clock.now() }, unauthorized: false };
        }
      }
    }
    const sentAt = clock.now();
    ticket.sent();
    const reply = await transport.send(request2, { timeoutMs: EXCHANGE_TIMEOUT_MS });
    const times2 = { sentAt, settledAt: clock.now() };
    if (reply.kind === "failure") {
      endTicket(ticket, reply);
      const outcome = reply.sent ? { kind: "unresolved", message: reply.message, ...times2 } : { kind: "rejected", failure: "transport", message: reply.message, definite: true, ...times2 };
      return { outcome, unauthorized: false, reply };
    }
    const verdict = readAnswer(call3.endpoint, reply, profile);
    const limited = verdict.kind === "refused" && verdict.limited;
    const hint = verdict.kind === "refused" && verdict.retryAfterMs !== void 0 ? { retryAfterMs: verdict.retryAfterMs } : {};
    ticket.answered(reply.headers, { limited, ...hint });
    const unauthorized = verdict.kind === "refused" && verdict.unauthorized;
    return { outcome: this.outcomeOf(call3, verdict, times2), unauthorized, reply };
  }
  outcomeOf(call3, verdict, times2) {
    switch (verdict.kind) {
      case "confirmed": {
        const odd = call3.endpoint === "POST /orders" && call3.intent !== void 0 ? echoProblem(call3.intent, verdict.result) : void 0;
        if (odd !== void 0) return { kind: "unresolved", message: `the answer speaks of another order: ${odd}`, ...times2 };
        return { kind: "confirmed", result: verdict.result, ...verdict.notes.length === 0 ? {} : { notes: verdict.notes }, ...times2 };
      }
      case "refused": {
        const failure2 = verdict.limited ? "rate_limited" : verdict.unauthorized ? "unauthorized" : verdict.duplicate ? "duplicate" : verdict.notFound ? "not_found" : "rejected";
        const hint = verdict.retryAfterMs === void 0 ? {} : { retryAfterMs: verdict.retryAfterMs };
        if (verdict.serverError && call3.endpoint === "POST /orders") return { kind: "unresolved", message: verdict.text, ...times2 };
        return { kind: "rejected", failure: failure2, message: verdict.text, definite: verdict.definite || verdict.limited || verdict.unauthorized, ...hint, ...times2 };
      }
      case "unreadable":
        return { kind: "unresolved", message: verdict.why, ...times2 };
      default:
        return verdict;
    }
  }
  limited(call3) {
    const { profile, clock, log, gate } = this.parts;
    const rules = call3.limits === void 0 ? profile.limits : tighter(profile.limits, call3.limits);
    const verdict = gate.check(call3, rules, clock.now());
    if (verdict.ok) {
      if (Object.keys(verdict.considered).length > 0) log.append("call.checked", { call: call3.id, limits: verdict.considered }, call3.step);
      return void 0;
    }
    return { code: verdict.code, message: verdict.message };
  }
  async deny(call3, code, message) {
    await this.turn();
    return this.settled(call3, { kind: "denied", code, message, settledAt: this.parts.clock.now() });
  }
  rejection(failure2, message) {
    return { kind: "rejected", failure: failure2, message, definite: true, settledAt: this.parts.clock.now() };
  }
  async settled(call3, outcome, reply) {
    if (reply === void 0) await this.turn();
    const { log } = this.parts;
    log.append("call.settled", settledData(call3, outcome, reply), call3.step);
    return outcome;
  }
  /** The rest runs in a turn of its own, as what comes from outside always does: a replay hands it in at this very place. */
  turn() {
    return new Promise((resolve2) => this.parts.clock.arrive(resolve2));
  }
};
function journalParams(name2, params) {
  const row = endpoint(name2);
  return Object.fromEntries(
    Object.entries(params).filter(([, value2]) => value2 !== void 0).map(([key2, value2]) => [key2, row.parameters[key2]?.secret === true ? "[redacted]" : value2])
  );
}
function attemptOf(call3, n, request2, tokens, epoch, waitedMs) {
  const secret = request2.endpoint in SECRET_OF ? SECRET_OF[request2.endpoint] : void 0;
  const params = Object.fromEntries(Object.entries(request2.params).map(([key2, value2]) => [key2, key2 === secret ? "[redacted]" : value2.text]));
  const bytes = request2.placement === "body" ? encodeBody(request2) : encodeQuery(request2);
  const digest2 = secret === void 0 ? createHash2("sha256").update(bytes).digest("hex") : "";
  return { call: call3, n, method: request2.method, path: request2.path, params, digest: digest2, tokens, epoch, waitedMs: Math.round(waitedMs) };
}
var SECRET_OF = { "POST /jwt": "refresh_token" };
function settledData(call3, outcome, reply) {
  const answer2 = reply?.kind === "answer" ? reply : void 0;
  const secret = call3.endpoint === "POST /jwt";
  return {
    call: call3.id,
    kind: outcome.kind,
    ...answer2 === void 0 ? {} : { status: answer2.status, headers: rateHeaders(answer2) },
    ...answer2 === void 0 ? {} : { success: outcome.kind === "confirmed" },
    ...outcome.kind === "confirmed" ? { result: secret ? null : outcome.result } : { message: outcome.message },
    ...outcome.kind === "confirmed" && outcome.notes !== void 0 ? { notes: outcome.notes } : {},
    ...outcome.kind === "rejected" ? { failure: outcome.failure, definite: outcome.definite } : {},
    ...outcome.kind === "rejected" && outcome.retryAfterMs !== void 0 ? { retryAfterMs: outcome.retryAfterMs } : {},
    ...outcome.kind === "denied" ? { code: outcome.code } : {},
    ...outcome.sentAt === void 0 ? {} : { sentAt: outcome.sentAt }
  };
}
function rateHeaders(answer2) {
  return Object.fromEntries(Object.entries(answer2.headers).filter(([name2]) => name2.startsWith("x-ratelimit-") || name2 === "retry-after"));
}
function endTicket(ticket, failure2) {
  if (failure2.sent) ticket.aborted();
  else ticket.notSent();
}
function echoProblem(intent, acks) {
  const [ack] = acks;
  if (ack === void 0) return "no record";
  if (ack.client_order_id !== "" && ack.client_order_id !== intent.clientOrderId) return `client_order_id ${ack.client_order_id}`;
  if (ack.market_id !== intent.market) return `market_id ${ack.market_id}`;
  if (ack.side !== intent.side) return `side ${ack.side}`;
  const size = parseDecimal(ack.size);
  const fraction = intent.type === "stop_loss" || intent.type === "take_profit";
  if (!fraction && size !== void 0 && !size.isZero() && !size.eq(decimal(intent.size))) return `size ${ack.size}`;
  return void 0;
}

// ../src/gateway/fixture-redaction.ts
var HIDDEN_WALLET = `0x${"0".repeat(40)}`;
var HIDDEN_JWT = "hidden.hidden.hidden";
var HIDDEN = "[redacted]";
function redactedExchange(exchange2, redact) {
  const hide = (text2) => redactedText(redact(text2));
  const session = exchange2.request.path === "/jwt";
  return {
    ...exchange2,
    request: { ...exchange2.request, params: redactedParams(exchange2.request.params, hide) },
    reply: redactedReply(exchange2.reply, session, hide)
  };
}
function redactedParams(params, hide) {
  return Object.fromEntries(
    Object.entries(params).map(([name2, value2]) => [name2, SECRET_FIELD.test(name2) ? HIDDEN : hide(value2)])
  );
}
function redactedReply(reply, session, hide) {
  if (reply.kind === "failure") return { ...reply, message: hide(reply.message) };
  const headers = Object.fromEntries(
    Object.entries(reply.headers).filter(([name2]) => KEPT_HEADER.test(name2)).map(([name2, value2]) => [name2, hide(value2)])
  );
  return { ...reply, headers, body: session ? sessionBody(hide(reply.body)) : hide(reply.body) };
}
var KEPT_HEADER = /^(?:content-type|retry-after|x-ratelimit-(?:limit|remaining|reset|retry-after))$/;
var SECRET_FIELD = /^(?:refresh_token|jwt|token|access_token|api_key|secret|signature|password)$/;
var SECRET_MEMBER = /("(?:refresh_token|jwt|token|access_token|api_key|secret|signature|password)"\s*:\s*)"(?:[^"\\]|\\.)*"/g;
var WALLET_MEMBER = /("(?:wallet|wallet_address|address)"\s*:\s*)"(?:[^"\\]|\\.)+"/g;
function sessionBody(body2) {
  return body2.replace(/((?:"result"\s*:|[[,])\s*)"(?:[^"\\]|\\.)+"(?=\s*[\],}])/g, `$1"${HIDDEN_JWT}"`);
}
var JWT = /\beyJ[\w-]+\.[\w-]+\.[\w-]*/g;
var BEARER = /\b(bearer|basic|token|digest)\s+[\w.~+/=-]{8,}/gi;
var KEY = /\b(?:0x)?[0-9a-fA-F]{64,}\b/g;
var WALLET = /\b0x[0-9a-fA-F]{40}\b/g;
var CREDENTIALS_IN_URL = /(\w+:\/\/)[^\s/@:]+:[^\s/@]+@/g;
function redactedText(text2) {
  return text2.replace(SECRET_MEMBER, `$1"${HIDDEN}"`).replace(WALLET_MEMBER, `$1"${HIDDEN_WALLET}"`).replace(JWT, HIDDEN_JWT).replace(BEARER, `$1 ${HIDDEN}`).replace(KEY, HIDDEN).replace(WALLET, HIDDEN_WALLET).replace(CREDENTIALS_IN_URL, `$1${HIDDEN}@`);
}

// ../src/gateway/fixture-recorder.ts
var FixtureRecorder = class {
  inner;
  clock;
  recording;
  kept = [];
  feeds = /* @__PURE__ */ new Map();
  sent = 0;
  constructor(inner, clock, recording) {
    this.inner = inner;
    this.clock = clock;
    this.recording = recording;
  }
  async send(request2, options) {
    const order3 = this.sent++;
    const sentAt = this.clock.now();
    const reply = await this.inner.send(request2, options);
    const { method, path } = request2;
    const params = Object.fromEntries(Object.entries(request2.params).map(([name2, { text: text2 }]) => [name2, text2]));
    const exchange2 = {
      afterMs: 0,
      tookMs: this.clock.now() - sentAt,
      request: { method, path, params },
      reply
    };
    this.kept.push({ order: order3, sentAt, exchange: redactedExchange(exchange2, this.recording.redact ?? ((text2) => text2)) });
    return reply;
  }
  /** Keeps the value of a feed as it was read; the same value of the same instant is kept once. */
  feed({ name: name2, key: key2, value: value2, at }) {
    const afterMs = at - this.recording.startMs;
    this.feeds.set([name2, key2 ?? "", afterMs].join("\n"), {
      name: name2,
      ...key2 === void 0 ? {} : { key: key2 },
      value: value2,
      afterMs
    });
  }
  /** What was recorded so far: exchanges by the time they were sent, those without an answer yet left out. */
  fixture() {
    const { redact: _redact, ...header2 } = this.recording;
    const kept = [...this.kept].sort((a, b) => a.order - b.order);
    return {
      ...header2,
      recordedAt: this.clock.now(),
      feeds: [...this.feeds.values()].sort((a, b) => a.afterMs - b.afterMs),
      exchanges: kept.map(({ sentAt, exchange: exchange2 }, index) => ({
        ...exchange2,
        afterMs: sentAt - (kept[index - 1]?.sentAt ?? header2.startMs)
      }))
    };
  }
  async close() {
    await this.inner.close?.();
  }
};

// ../src/gateway/exact-json.ts
import { isLosslessNumber as isLosslessNumber4, LosslessNumber, stringify } from "lossless-json";
var RECORDING_LIMITS = { maxLength: 256 * 1024 * 1024, maxDepth: 80, maxValues: 2e7 };
function parseExactJson(text2) {
  return readJson2(text2, RECORDING_LIMITS);
}
function exactJsonText(value2) {
  const text2 = stringify(value2);
  if (text2 === void 0) throw new TypeError(`not JSON: ${typeof value2}`);
  return text2;
}

// ../src/base/duration.ts
var DURATION_PATTERN = "^(?=\\d)(?:\\d{1,6}d)?(?:\\d{1,6}h)?(?:\\d{1,6}m(?!s))?(?:\\d{1,9}s)?(?:\\d{1,12}ms)?$";
var SIGNED_DURATION_PATTERN = DURATION_PATTERN.replace("^", "^-?");

// ../src/gateway/fixture-schema.ts
var duration = (description) => ({ type: "string", pattern: DURATION_PATTERN, description });
var decimal3 = (description) => ({ type: ["string", "number"], description });
var instant2 = (description) => ({
  type: "string",
  pattern: "^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}(?::\\d{2}(?:\\.\\d{1,6})?)?(?:Z|[+-]\\d{2}:\\d{2})$",
  description
});
var market2 = {
  type: "object",
  additionalProperties: false,
  required: ["tick", "lot"],
  properties: {
    tick: decimal3("smallest step of a price"),
    lot: decimal3("smallest step of a size"),
    min_size: decimal3("smallest size of an order")
  }
};
var feed = {
  type: "object",
  additionalProperties: false,
  required: ["name", "value", "after"],
  properties: {
    name: { type: "string", minLength: 1, description: "name of the feed in the runbook" },
    key: { type: "string", description: "market of the value, for a feed that is a map or follows a market" },
    value: decimal3("the value"),
    after: {
      type: "string",
      pattern: SIGNED_DURATION_PATTERN,
      description: "time since the start of the run at which it was true; negative before it"
    }
  }
};
var request = {
  type: "object",
  additionalProperties: false,
  required: ["method", "path"],
  properties: {
    method: { enum: [...new Set(ENDPOINT_NAMES.map((name2) => endpoint(name2).method))] },
    path: { type: "string", pattern: "^/", description: "path below the base URL, without query" },
    params: {
      type: "object",
      additionalProperties: { type: ["string", "number", "boolean"] },
      description: "parameters, in query or body; numbers as their literal"
    }
  }
};
var answer = {
  type: "object",
  additionalProperties: false,
  required: ["status", "body"],
  properties: {
    status: { type: "integer", minimum: 100, maximum: 599 },
    headers: {
      type: "object",
      additionalProperties: { type: ["string", "number"] },
      description: "headers that matter: content-type, retry-after and those of the rate limit"
    },
    body: { description: "the JSON text as a string, or the structure itself" }
  }
};
var failure = {
  type: "object",
  additionalProperties: false,
  required: ["sent", "message"],
  properties: {
    sent: { type: "boolean", description: "false only where certainly nothing left" },
    message: { type: "string" }
  }
};
var exchange = {
  type: "object",
  additionalProperties: false,
  required: ["after", "took", "request"],
  oneOf: [
    { required: ["answer"], properties: { answer: true } },
    { required: ["failure"], properties: { failure: true } }
  ],
  properties: {
    after: duration("time since the previous exchange was sent; for the first, since the start of the run"),
    took: duration("time until the answer"),
    request,
    answer,
    failure
  }
};
var schema = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  $id: "https://perp-runbook.invalid/schemas/fixture.schema.json",
  title: "perp-runbook fixture",
  type: "object",
  additionalProperties: false,
  required: ["fixture", "recorded_at", "start", "markets", "exchanges"],
  properties: {
    fixture: { const: 1, description: "version of this format" },
    recorded_at: instant2("when the recording was made"),
    start: instant2("when the recorded run started: what times in parameters and answers are measured from"),
    runbook: { type: "string", description: "name of the runbook that was recorded" },
    inputs: { type: "object", description: "inputs of the recorded run" },
    seed: { type: "integer", minimum: 0 },
    capabilities: {
      type: "array",
      items: { type: "string" },
      description: "what a runbook may need; every capability when absent"
    },
    markets: { type: "object", additionalProperties: market2, description: "market id to its steps" },
    feeds: { type: "array", items: feed },
    exchanges: { type: "array", items: exchange, description: "in the order they were sent" }
  }
};

// ../src/gateway/fixture.ts
function isRecord(value2) {
  return typeof value2 === "object" && value2 !== null && !Array.isArray(value2);
}

// ../src/gateway/fixture-identity.ts
var BARE_ID = CLIENT_ORDER_PREFIX.length + 20;
var OrderIds = class {
  own = /* @__PURE__ */ new Map();
  recorded = /* @__PURE__ */ new Map();
  /** Orders that were recorded without a client order id: venue id to the run's own. */
  adopted = /* @__PURE__ */ new Map();
  /** Whether the two can be one order: they are a pair already, or neither has one yet and the author's tag is the same. */
  agree(recorded, own2) {
    if (this.own.has(recorded) || this.recorded.has(own2)) return this.own.get(recorded) === own2;
    const ours = recorded.startsWith(CLIENT_ORDER_PREFIX) && recorded.length >= BARE_ID && own2.length >= BARE_ID;
    return !ours || recorded.slice(BARE_ID) === own2.slice(BARE_ID);
  }
  bind(recorded, own2) {
    this.own.set(recorded, own2);
    this.recorded.set(own2, recorded);
  }
  /** Gives an order recorded without a client order id the run's, wherever an answer names it by its venue id. */
  adopt(orderId2, own2) {
    this.adopted.set(orderId2, own2);
  }
  /** A recorded body with the run's ids in it. */
  translate(body2) {
    const long = body2.replace(/[A-Za-z0-9_-]{10,50}/g, (word2) => this.own.get(word2) ?? word2);
    const all = long.replace(/("client_order_id"\s*:\s*")([A-Za-z0-9_-]+)(?=")/g, (whole2, key2, id) => {
      const own2 = this.own.get(id);
      return own2 === void 0 ? whole2 : `${key2}${own2}`;
    });
    return this.adopted.size === 0 ? all : this.withAdopted(all);
  }
  withAdopted(body2) {
    const reading = parseExactJson(body2);
    return reading.problem === void 0 ? exactJsonText(this.named(reading.value)) : body2;
  }
  named(value2) {
    if (Array.isArray(value2)) return value2.map((each) => this.named(each));
    if (!isRecord(value2) || Object.getPrototypeOf(value2) !== Object.prototype) return value2;
    const fields2 = Object.fromEntries(Object.entries(value2).map(([key2, each]) => [key2, this.named(each)]));
    const own2 = typeof fields2["id"] === "string" ? this.adopted.get(fields2["id"]) : void 0;
    return own2 !== void 0 && (fields2["client_order_id"] ?? "") === "" ? { ...fields2, client_order_id: own2 } : fields2;
  }
};
var TIME_TOLERANCE_MS = 5e3;
var TimeShift = class {
  offsetMs;
  constructor(recordedStartMs, startMs) {
    this.offsetMs = startMs - recordedStartMs;
  }
  /**
   * Whether two `start_time`s or `end_time`s (µs) mean the same: the very same instant, as an author may have written it, or
   * equally far from the start of their run. Steps of a dry-run begin some milliseconds earlier or later than those that
   * were recorded, because the program's own work takes no time in it: hence a tolerance.
   */
  agree(recordedUs, ownUs) {
    if (recordedUs === ownUs) return true;
    if (!/^\d{1,16}$/.test(recordedUs) || !/^\d{1,16}$/.test(ownUs)) return false;
    return Math.abs((Number(ownUs) - Number(recordedUs)) / 1e3 - this.offsetMs) <= TIME_TOLERANCE_MS;
  }
  /** A recorded body with its times moved to this run. */
  translate(body2) {
    if (this.offsetMs === 0) return body2;
    return body2.replace(STAMP, (_whole, key2, digits) => key2 + this.moved(digits));
  }
  /** Recorded headers likewise: the one that holds an instant is the reset of the rate limit. */
  headers(headers) {
    const reset = headers["x-ratelimit-reset"];
    if (this.offsetMs === 0 || reset === void 0) return headers;
    return { ...headers, "x-ratelimit-reset": /^\d+$/.test(reset) ? this.moved(reset) : this.movedDate(reset) };
  }
  /** Seconds, milliseconds or microseconds by magnitude, as the rest of the program reads such a number. */
  moved(digits) {
    const perMs = { 10: 1e-3, 13: 1, 16: 1e3 }[digits.length];
    return perMs === void 0 ? digits : String(Number(digits) + Math.round(this.offsetMs * perMs));
  }
  movedDate(text2) {
    const at = Date.parse(text2);
    return Number.isNaN(at) ? text2 : new Date(at + this.offsetMs).toISOString();
  }
};
var STAMP = /("(?:timestamp|last_update|last_updated|last_liq_check)"\s*:\s*"?)(\d+)(?!\d|\.)/g;

// ../src/gateway/fixture-transport.ts
var FixtureTransport = class {
  fixture;
  clock;
  options;
  ids = new OrderIds();
  times;
  slots;
  endpoints = /* @__PURE__ */ new Map();
  constructor(fixture, clock, options) {
    this.fixture = fixture;
    this.clock = clock;
    this.options = options;
    this.times = new TimeShift(fixture.startMs, options.startMs);
    this.slots = fixture.exchanges.map((exchange2, index) => ({ position: index + 1, exchange: exchange2, used: false }));
    for (const slot2 of this.slots) this.endpointOf(slot2.exchange.request).slots.push(slot2);
  }
  send(request2, { timeoutMs }) {
    const sent = recordedRequest(request2);
    const slot2 = this.match(sent);
    if (slot2 === void 0) return this.miss(sent);
    slot2.used = true;
    this.learn(slot2.exchange, sent);
    const { tookMs, reply } = slot2.exchange;
    if (tookMs > timeoutMs) return this.after(timeoutMs, { kind: "failure", sent: true, message: "timeout: response" });
    return this.after(tookMs, this.translated(reply));
  }
  /** Recorded exchanges no request has asked for, with their place in the fixture, from 1. */
  unused() {
    return this.slots.filter((slot2) => !slot2.used);
  }
  /** The recorded value of a feed at this moment of the run: the newest that was true by now. */
  feed(name2, key2) {
    const elapsedMs = this.clock.now() - this.options.startMs;
    const known = this.fixture.feeds.filter(
      (feed2) => feed2.name === name2 && feed2.key === key2 && feed2.afterMs <= elapsedMs
    );
    const newest = known.reduce(
      (best, feed2) => best && best.afterMs > feed2.afterMs ? best : feed2,
      void 0
    );
    if (newest === void 0) return void 0;
    return {
      name: name2,
      ...key2 === void 0 ? {} : { key: key2 },
      value: newest.value,
      at: this.options.startMs + newest.afterMs
    };
  }
  endpointOf({ method, path }) {
    const name2 = `${method} ${path}`;
    const known = this.endpoints.get(name2) ?? { slots: [], next: 0 };
    this.endpoints.set(name2, known);
    return known;
  }
  match(sent) {
    const endpoint2 = this.endpointOf(sent);
    while (endpoint2.slots[endpoint2.next]?.used) endpoint2.next += 1;
    const fits2 = (slot2) => this.differences(slot2.exchange.request, sent).length === 0;
    for (let index = endpoint2.next; index < endpoint2.slots.length; index += 1) {
      const slot2 = endpoint2.slots[index];
      if (!slot2.used && fits2(slot2)) return slot2;
    }
    const mayRepeat = sent.method === "GET" && this.options.repeatLastRead !== false;
    return mayRepeat ? endpoint2.slots.findLast((slot2) => slot2.used && fits2(slot2)) : void 0;
  }
  differences(recorded, sent) {
    const names2 = [.../* @__PURE__ */ new Set([...Object.keys(recorded.params), ...Object.keys(sent.params)])];
    return names2.map((name2) => ({ name: name2, recorded: recorded.params[name2], sent: sent.params[name2] })).filter((pair) => !this.agree(pair, sent.method));
  }
  agree({ name: name2, recorded, sent }, method) {
    if (name2 === "client_order_id" && recorded === void 0) return method === "POST";
    if (recorded === void 0 || sent === void 0) return false;
    if (name2 === "client_order_id") return this.ids.agree(recorded, sent);
    if (name2 === "start_time" || name2 === "end_time") return this.times.agree(recorded, sent);
    return recorded === sent || sameNumber(recorded, sent);
  }
  learn({ request: request2, reply }, sent) {
    const own2 = sent.params["client_order_id"];
    if (own2 === void 0) return;
    const recorded = request2.params["client_order_id"];
    if (recorded !== void 0) this.ids.bind(recorded, own2);
    const orderId2 = recorded === void 0 && reply.kind === "answer" ? acknowledgedOrder(reply.body) : void 0;
    if (orderId2 !== void 0) this.ids.adopt(orderId2, own2);
  }
  translated(reply) {
    if (reply.kind === "failure") return reply;
    return {
      ...reply,
      headers: this.times.headers(reply.headers),
      body: this.times.translate(this.ids.translate(reply.body))
    };
  }
  after(delayMs, reply) {
    return new Promise((resolve2) => this.clock.at(this.clock.now() + delayMs, () => resolve2(reply)));
  }
  miss(sent) {
    const nearest2 = this.nearest(sent);
    const message = `fixture: ${missText(sent, nearest2, this.endpoints)}`;
    this.options.onMiss({ request: sent, message, ...nearest2 === void 0 ? {} : { nearest: nearest2 } });
    return this.after(0, { kind: "failure", sent: false, message });
  }
  /** The exchange of the endpoint that differs least; one that is still to come before one that is used up. */
  nearest(sent) {
    const ranked = this.endpointOf(sent).slots.map(({ position: position2, exchange: exchange2, used }) => {
      const differences = this.differences(exchange2.request, sent);
      return { position: position2, exchange: exchange2, differences, rank: differences.length * 2 + (used ? 1 : 0) };
    });
    const [best] = ranked.sort((a, b) => a.rank - b.rank || a.position - b.position);
    if (best === void 0) return void 0;
    return { position: best.position, exchange: best.exchange, differences: best.differences };
  }
};
function recordedRequest({ method, path, params }) {
  return { method, path, params: Object.fromEntries(Object.entries(params).map(([name2, { text: text2 }]) => [name2, text2])) };
}
function sameNumber(left, right) {
  const number = parseDecimal(left);
  const other = parseDecimal(right);
  return number !== void 0 && other !== void 0 && number.eq(other);
}
function acknowledgedOrder(body2) {
  const { value: value2 } = parseExactJson(body2);
  const result2 = isRecord(value2) ? value2["result"] : void 0;
  const [first] = Array.isArray(result2) ? result2 : [];
  return isRecord(first) && typeof first["id"] === "string" ? first["id"] : void 0;
}
function missText(sent, nearest2, endpoints) {
  const asked = `${sent.method} ${sent.path} ${printable(JSON.stringify(sent.params), 300)}`;
  if (nearest2 === void 0) {
    const recorded = [...endpoints].filter(([, { slots }]) => slots.length > 0).map(([name2]) => printable(name2, 80));
    const known = recorded.length === 0 ? "it holds no exchanges" : `recorded are ${recorded.slice(0, 20).join(", ")}`;
    return `nothing recorded answers ${asked}; ${known}`;
  }
  if (nearest2.differences.length === 0) {
    return `nothing recorded answers ${asked} once more; the last such exchange, number ${nearest2.position}, has been used`;
  }
  const differences = nearest2.differences.map(
    ({ name: name2, recorded, sent: own2 }) => `${printable(name2, 40)} recorded ${printable(recorded ?? "absent", 80)}, sent ${printable(own2 ?? "absent", 80)}`
  );
  return `nothing recorded answers ${asked}; the nearest is exchange ${nearest2.position}: ${differences.join("; ")}`;
}

// ../src/gateway/simulator/book.ts
function isTerminal2(order3) {
  return order3.stage === "closed" || order3.stage === "canceled" || order3.stage === "rejected";
}
function isPositionOrder(order3) {
  return order3.type === "stop_loss" || order3.type === "take_profit";
}
var Book = class {
  orders = [];
  fills = [];
  byId = /* @__PURE__ */ new Map();
  byClientId = /* @__PURE__ */ new Map();
  fillsByOrder = /* @__PURE__ */ new Map();
  /** Orders that are not terminal, in order of arrival. */
  open = /* @__PURE__ */ new Set();
  stopStatus;
  profileId;
  lastUs = 0;
  constructor(profileId, stopStatus) {
    this.profileId = profileId;
    this.stopStatus = stopStatus;
  }
  /** A timestamp of the venue: µs, unique, rising. */
  stamp(atMs) {
    this.lastUs = Math.max(this.lastUs + 1, atMs * 1e3);
    return this.lastUs;
  }
  add(order3, at) {
    this.orders.push(order3);
    this.byId.set(order3.id, order3);
    if (order3.clientOrderId !== "") append(this.byClientId, order3.clientOrderId, order3);
    this.note(order3, at);
  }
  find(id) {
    return this.byId.get(id);
  }
  /** Every order with a client order id, in order of arrival; there may be several (surprise 8). */
  withClientId(clientOrderId2) {
    return this.byClientId.get(clientOrderId2) ?? [];
  }
  addFill(order3, fill) {
    this.fills.push(fill);
    append(this.fillsByOrder, order3.id, fill);
  }
  fillsOf(orderId2) {
    return this.fillsByOrder.get(orderId2) ?? [];
  }
  /** Keeps the present look of an order, where it differs from the last. */
  note(order3, at) {
    if (isTerminal2(order3)) this.open.delete(order3);
    else this.open.add(order3);
    const snapshot = {
      at,
      status: this.status(order3),
      reason: order3.reason,
      price: decimalText(order3.price ?? order3.size.times(0)),
      size: decimalText(order3.size),
      initial_size: decimalText(order3.initialSize),
      total_filled_size: decimalText(order3.filled)
    };
    const last = order3.history.at(-1);
    if (last === void 0 || SHOWN.some((field) => last[field] !== snapshot[field])) order3.history.push(snapshot);
  }
  /** The record as GET /orders showed it at a time; undefined where it did not show the order at all. */
  recordAt(order3, at) {
    const { history } = order3;
    let index = history.length - 1;
    while (index > 0 && history[index].at > at) index -= 1;
    const { at: _2, ...shown4 } = history[index];
    return {
      id: order3.id,
      client_order_id: order3.clientOrderId,
      market_id: order3.marketId,
      order_type: order3.type,
      side: order3.side,
      price: shown4.price,
      size: shown4.size,
      initial_size: shown4.initial_size,
      total_filled_size: shown4.total_filled_size,
      status: shown4.status,
      reason: shown4.reason,
      profile_id: this.profileId,
      timestamp: order3.timestampUs,
      time_in_force: order3.timeInForce
    };
  }
  /** The status an order shows (States and transitions): what is under way hides what it is. */
  status(order3) {
    if (isTerminal2(order3)) return order3.stage;
    if (order3.flickers) return "canceled";
    if (order3.cancelsAllUnderWay > 0) return "cancelingall";
    if (order3.cancelsUnderWay > 0) return "canceling";
    if (order3.amendsUnderWay > 0) return "amending";
    if (order3.stage === "processing") return "processing";
    return order3.stage === "waiting" ? this.stopStatus : "open";
  }
};
var SHOWN = [
  "status",
  "reason",
  "price",
  "size",
  "initial_size",
  "total_filled_size"
];
function append(lists, key2, value2) {
  const list2 = lists.get(key2);
  if (list2 === void 0) lists.set(key2, [value2]);
  else list2.push(value2);
}

// ../src/gateway/simulator/books.ts
function booksOf(parts) {
  const { book: book2, deadman, tokens, seen, account, at } = parts;
  return {
    at,
    orders: book2.orders.map(booked),
    fills: book2.fills.map((fill) => fill.record),
    deadman: { armed: deadman.all(), lastActivityAt: deadman.lastActivityAt, events: [...deadman.events] },
    tokens: { used: Math.ceil(tokens.used(at)), peak: tokens.peak, refused: tokens.refused },
    requests: [...seen],
    refusals: seen.filter((each) => each.success === false),
    account
  };
}
function booked(order3) {
  const now = order3.history.at(-1);
  return {
    id: order3.id,
    client_order_id: order3.clientOrderId,
    market_id: order3.marketId,
    side: order3.side,
    type: order3.type,
    time_in_force: order3.timeInForce,
    ...order3.price === void 0 ? {} : { price: now.price },
    ...order3.trigger === void 0 ? {} : { trigger_price: order3.trigger.toFixed() },
    size: now.size,
    initial_size: now.initial_size,
    filled: now.total_filled_size,
    status: now.status,
    reason: now.reason,
    arrivedAt: order3.arrivedAt,
    ...Number.isFinite(order3.visibleAt) ? { visibleAt: order3.visibleAt } : {},
    terminal: isTerminal2(order3),
    history: [...order3.history]
  };
}

// ../src/gateway/simulator/defaults.ts
var DEFAULT_MARKETS = {
  "BTC-USD": {
    tick: "1",
    lot: "0.0001",
    min_size: "0.0001",
    start: "64000",
    path: { kind: "walk", volatilityBps: 1.5, stepMs: 1e3 },
    spreadBps: 0.5,
    depth: "0.1",
    levels: 100
  },
  "ETH-USD": {
    tick: "0.1",
    lot: "0.001",
    min_size: "0.001",
    start: "3200",
    path: { kind: "walk", volatilityBps: 1.2, stepMs: 1e3 },
    spreadBps: 1,
    depth: "1",
    levels: 100
  },
  "SOL-USD": {
    tick: "0.01",
    lot: "0.01",
    min_size: "0.01",
    start: "150",
    path: { kind: "walk", volatilityBps: 1.5, stepMs: 1e3 },
    spreadBps: 2,
    depth: "20",
    levels: 100
  }
};
var NEW_MARKET = {
  path: { kind: "walk", volatilityBps: 1, stepMs: 1e3 },
  spreadBps: 1,
  depth: "10",
  levels: 100
};
var DEFAULTS = {
  markets: DEFAULT_MARKETS,
  account: {
    id: 88892,
    wallet: "0x51mu1a7ed",
    equity: "18234.10",
    leverage: 5,
    maxLeverage: 20,
    fees: { maker: "-0.00005", taker: "0.0005" },
    volume: "0",
    tiers: [
      { tier: 0, title: "Standard", min_volume: "0" },
      { tier: 1, title: "VIP 1", min_volume: "1000000" },
      { tier: 2, title: "VIP 2", min_volume: "10000000" }
    ],
    positions: [],
    resting: [],
    maxOpenOrders: 1e3
  },
  latencyMs: { min: 20, max: 60 },
  processingMs: { min: 20, max: 80 },
  visibilityLagMs: { min: 0, max: 120 },
  readLagMs: 0,
  fillLagMs: 0,
  fullScanFactor: 10,
  tokens: {
    limit: 1200,
    windowMs: 6e4,
    algorithm: "sliding_log",
    costs: {},
    status: 429,
    resetUnit: "s",
    headers: true,
    retryAfter: "x",
    foreign: []
  },
  auth: { mode: "jwt", accept: "any", rotate: false, result: "text", header: "authorization", prefix: "Bearer " },
  surprises: {
    stopStatus: "open",
    amendFlickerMs: 0,
    amendSize: "total",
    iocRest: "canceled",
    duplicateIds: "accept",
    errorText: "code",
    refusalStatus: "by_kind",
    cancelAllResult: "empty",
    deadmanResult: "object",
    deadmanEmpty: "object",
    deadmanDelayMs: 0,
    cancelAllSkipsProcessing: false,
    offStep: "refuse",
    marketWithoutPrice: "accept",
    unknownParameters: "refuse",
    positionSizeField: "size",
    positionTypeSuffix: ""
  },
  faults: []
};

// ../src/gateway/simulator/faults.ts
var FAULTS = {
  /** The request never arrives; nobody answers. */
  lost_before: "road",
  /** It is carried out; the answer never comes. */
  lost_after: "road",
  /** It, or its answer (`way`), takes `ms` longer. A request later than its time-out still arrives: a ghost. */
  delay: "road",
  /** Nobody listens: no byte leaves. */
  refused: "road",
  /** The connection breaks before, or after, it is carried out. */
  reset_before: "road",
  reset_after: "road",
  /** An answer of which a byte comes now and then, and never the end. */
  slow_loris: "road",
  /** An answer cut off in the middle, against its content-length. */
  truncated: "road",
  /** An answer far over any size a client should read; compressed where the client takes that. */
  oversize: "road",
  /** `status` with `body`; `processed` says whether the request was carried out all the same. */
  status: "answer",
  /** `success: false` with the text `error` and `status` (200); `processed` as above. */
  error: "answer",
  /** Refused for want of tokens, with `retryAfter` as it stands, garbage too. */
  rate_limited: "answer",
  /** Refused as if the session had run out. */
  unauthorized: "answer",
  /** Carried out; the body does not parse (`body`, or the true one without its end). */
  malformed: "answer",
  /** Carried out; 200 with no body at all. */
  empty: "answer",
  /** Carried out; a page of HTML. */
  html: "answer",
  /** Carried out; success with nothing in `result`. */
  empty_result: "answer",
  /** Carried out; two records where there should be one. */
  two_records: "answer",
  /** Carried out; the record is of another client order id. */
  other_record: "answer",
  /** A redirection to `location` with `status` (307); not carried out. */
  redirect: "answer",
  /** The order becomes `rejected` with `reason` after its acknowledgement. */
  late_reject: "desk",
  /** The outcome of the order, amend or cancel takes `ms` longer; without `ms` it never comes. */
  stuck: "desk",
  /** GET /orders does not show the order for `ms`. */
  invisible: "desk",
  /** Acknowledged, never executed: the order is still there afterwards. */
  cancel_lost: "desk",
  /** Acknowledged; the old terms stay. */
  amend_lost: "desk",
  /** The order fills by `fraction` of what remains just before the cancel takes effect. */
  fill_first: "desk"
};
var FAULT_KINDS = Object.keys(FAULTS);
var Faults = class {
  rules = [];
  chance;
  constructor(rules, chance2) {
    this.chance = chance2;
    this.replace(rules);
  }
  /** Takes other rules from now on; their counts start at 0. */
  replace(rules) {
    this.rules = rules.map((rule) => ({ rule, met: 0 }));
  }
  /** The fault that this request meets. Every rule that could have matched counts it, also behind one that won. */
  meet(question) {
    let won;
    for (const [index, each] of this.rules.entries()) {
      if (!concerns(each.rule, question)) continue;
      each.met += 1;
      const { call: call3, probability } = each.rule.when ?? {};
      if (won !== void 0 || !counts2(call3, each.met)) continue;
      if (probability !== void 0 && this.chance.of(`fault ${index} ${each.rule.on} ${each.rule.do}`, each.met) >= probability)
        continue;
      won = each.rule;
    }
    return won;
  }
};
function concerns({ on, when }, question) {
  return (on === "*" || on === question.endpoint) && (when?.type === void 0 || when.type === question.type) && (when?.market === void 0 || when.market === question.market) && question.elapsedMs >= (when?.afterMs ?? 0) && question.elapsedMs < (when?.untilMs ?? Number.POSITIVE_INFINITY);
}
function counts2(call3, met) {
  if (call3 === void 0) return true;
  const [first = "", last] = String(call3).replace("+", "-").split("-");
  if (last === void 0) return met === Number(first);
  return met >= Number(first) && (last === "" || met <= Number(last));
}

// ../src/gateway/simulator/schema.ts
var DECIMAL = {
  type: "string",
  pattern: "^-?(0|[1-9][0-9]*)(\\.[0-9]+)?$",
  description: "a plain decimal, quoted"
};
var POSITIVE = {
  type: "string",
  pattern: "^(?=.*[1-9])(0|[1-9][0-9]*)(\\.[0-9]+)?$",
  description: "a plain decimal above 0, quoted"
};
var MS = { type: "integer", minimum: 0 };
var STEP_MS = { type: "integer", minimum: 1 };
var RANGE = {
  type: "object",
  properties: { min: MS, max: MS },
  required: ["min", "max"],
  additionalProperties: false
};
var PATH = {
  type: "object",
  discriminator: { propertyName: "kind" },
  oneOf: [
    {
      properties: {
        kind: { const: "walk" },
        volatilityBps: { type: "number", minimum: 0, maximum: 1e3 },
        stepMs: STEP_MS
      },
      required: ["kind", "volatilityBps"],
      additionalProperties: false
    },
    {
      properties: {
        kind: { const: "points" },
        stepMs: STEP_MS,
        points: {
          type: "array",
          minItems: 1,
          items: {
            type: "object",
            properties: { afterMs: MS, price: POSITIVE },
            required: ["afterMs", "price"],
            additionalProperties: false
          }
        }
      },
      required: ["kind", "points"],
      additionalProperties: false
    }
  ]
};
var MARKET4 = {
  type: "object",
  properties: {
    tick: POSITIVE,
    lot: POSITIVE,
    min_size: POSITIVE,
    start: POSITIVE,
    path: PATH,
    spreadBps: { type: "number", minimum: 0, maximum: 1e3 },
    depth: POSITIVE,
    levels: { type: "integer", minimum: 1, maximum: 1e4 }
  },
  additionalProperties: false
};
var FAULT = {
  type: "object",
  properties: {
    on: { type: "string", description: 'an endpoint such as "POST /orders", or "*"' },
    when: {
      type: "object",
      properties: {
        call: {
          type: ["integer", "string"],
          minimum: 1,
          pattern: "^[1-9][0-9]*(\\+|-[1-9][0-9]*)?$",
          description: 'which of the requests that match: 2, "2+", "2-4"; counted from 1'
        },
        probability: { type: "number", minimum: 0, maximum: 1 },
        type: { enum: [...ORDER_TYPES] },
        market: { type: "string" },
        afterMs: MS,
        untilMs: MS
      },
      additionalProperties: false
    },
    do: { enum: [...FAULT_KINDS] },
    ms: MS,
    status: { type: "integer", minimum: 200, maximum: 599 },
    body: { type: "string" },
    error: { type: "string" },
    reason: { type: "string" },
    processed: { type: "boolean" },
    way: { enum: ["request", "reply"] },
    retryAfter: { type: "string" },
    fraction: POSITIVE,
    location: { type: "string" },
    headers: { type: "object", additionalProperties: { type: "string" } }
  },
  required: ["on", "do"],
  additionalProperties: false
};
var FLAG = { type: "boolean" };
var TEXT3 = { type: "string", minLength: 1 };
var SIMULATOR_SCHEMA = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  title: "Simulated venue",
  type: "object",
  properties: {
    markets: { type: "object", minProperties: 1, additionalProperties: MARKET4 },
    account: {
      type: "object",
      properties: {
        id: { type: "integer" },
        wallet: TEXT3,
        equity: DECIMAL,
        leverage: { type: "integer", minimum: 1, maximum: 50 },
        maxLeverage: { type: "integer", minimum: 1, maximum: 50 },
        fees: { type: "object", properties: { maker: DECIMAL, taker: DECIMAL }, additionalProperties: false },
        volume: DECIMAL,
        tiers: {
          type: "array",
          minItems: 1,
          items: {
            type: "object",
            properties: { tier: { type: "integer" }, title: TEXT3, min_volume: DECIMAL },
            required: ["tier", "title", "min_volume"],
            additionalProperties: false
          }
        },
        positions: {
          type: "array",
          items: {
            type: "object",
            properties: { market: TEXT3, size: DECIMAL, price: POSITIVE, agoMs: MS },
            required: ["market", "size", "price", "agoMs"],
            additionalProperties: false
          }
        },
        resting: {
          type: "array",
          items: {
            type: "object",
            properties: {
              market: TEXT3,
              side: { enum: [...SIDES] },
              size: POSITIVE,
              price: POSITIVE,
              agoMs: MS,
              client_order_id: TEXT3
            },
            required: ["market", "side", "size", "price", "agoMs"],
            additionalProperties: false
          }
        },
        maxOpenOrders: { type: "integer", minimum: 1 }
      },
      additionalProperties: false
    },
    latencyMs: RANGE,
    processingMs: RANGE,
    visibilityLagMs: RANGE,
    readLagMs: MS,
    fillLagMs: MS,
    fullScanFactor: { type: "number", minimum: 1, maximum: 100 },
    tokens: {
      type: "object",
      properties: {
        limit: { type: "integer", minimum: 1 },
        windowMs: STEP_MS,
        algorithm: { enum: ["sliding_log", "fixed_window", "token_bucket", "sliding_counter"] },
        costs: {
          type: "object",
          properties: Object.fromEntries(ENDPOINT_NAMES.map((name2) => [name2, { type: "integer", minimum: 0 }])),
          additionalProperties: false
        },
        status: { type: "integer", minimum: 200, maximum: 599 },
        resetUnit: { enum: ["s", "ms", "us", "iso"] },
        headers: FLAG,
        retryAfter: { enum: ["x", "plain", "both", "none"] },
        foreign: {
          type: "array",
          items: {
            type: "object",
            properties: { afterMs: MS, tokens: { type: "integer", minimum: 1 } },
            required: ["afterMs", "tokens"],
            additionalProperties: false
          }
        },
        ordersPerSecond: { type: "integer", minimum: 1 }
      },
      additionalProperties: false
    },
    auth: {
      type: "object",
      properties: {
        mode: { enum: ["off", "jwt", "api_key"] },
        accept: { enum: ["any", "issued"] },
        lifeMs: STEP_MS,
        token: TEXT3,
        refreshToken: TEXT3,
        rotate: FLAG,
        result: { enum: ["text", "object"] },
        header: TEXT3,
        prefix: { type: "string" },
        cookie: TEXT3,
        apiKey: {
          type: "object",
          properties: { key: TEXT3, secret: { type: "string", pattern: "^0x([0-9a-fA-F]{2})+$" } },
          required: ["key", "secret"],
          additionalProperties: false
        }
      },
      additionalProperties: false
    },
    surprises: {
      type: "object",
      properties: {
        stopStatus: TEXT3,
        amendFlickerMs: MS,
        amendSize: { enum: ["total", "remaining"] },
        iocRest: { enum: ["canceled", "rejected"] },
        duplicateIds: { enum: ["accept", "refuse"] },
        errorText: { enum: ["code", "code_and_text", "text"] },
        refusalStatus: { enum: ["by_kind", 200, 400] },
        cancelAllResult: { enum: ["empty", "true"] },
        deadmanResult: { enum: ["object", "array"] },
        deadmanEmpty: { enum: ["object", "array", "null"] },
        deadmanDelayMs: MS,
        cancelAllSkipsProcessing: FLAG,
        offStep: { enum: ["refuse", "accept"] },
        marketWithoutPrice: { enum: ["accept", "refuse"] },
        unknownParameters: { enum: ["refuse", "ignore"] },
        positionSizeField: { enum: ["size", "size_percent"] },
        positionTypeSuffix: { enum: ["", "_limit"] }
      },
      additionalProperties: false
    },
    faults: { type: "array", items: FAULT }
  },
  additionalProperties: false
};

// ../src/gateway/simulator/config.ts
function complete(config) {
  const problems = [...crossProblems2(config)];
  if (problems.length > 0) throw new RangeError(`not a simulator configuration: ${problems.join("; ")}`);
  return {
    ...DEFAULTS,
    ...config,
    markets: config.markets === void 0 ? DEFAULT_MARKETS : completeMarkets(config.markets),
    account: { ...DEFAULTS.account, ...config.account, fees: { ...DEFAULTS.account.fees, ...config.account?.fees } },
    tokens: { ...DEFAULTS.tokens, ...config.tokens },
    auth: { ...DEFAULTS.auth, ...config.auth },
    surprises: { ...DEFAULTS.surprises, ...config.surprises }
  };
}
function completeMarkets(markets) {
  return Object.fromEntries(Object.entries(markets).map(([id, given2]) => [id, completeMarket(id, given2)]));
}
function completeMarket(id, given2) {
  const known = DEFAULT_MARKETS[id] ?? { ...NEW_MARKET, ...given2.lot === void 0 ? {} : { min_size: given2.lot } };
  return { ...known, ...given2 };
}
function* crossProblems2(config) {
  for (const [id, given2] of Object.entries(config.markets ?? {})) yield* marketProblems(id, completeMarket(id, given2));
  for (const key2 of ["latencyMs", "processingMs", "visibilityLagMs"]) {
    const range = config[key2];
    if (range !== void 0 && range.max < range.min) yield `${key2}: max ${range.max} is below min ${range.min}`;
  }
  const markets = config.markets ?? DEFAULT_MARKETS;
  for (const list2 of ["positions", "resting"]) {
    for (const [index, row] of (config.account?.[list2] ?? []).entries()) {
      if (!Object.hasOwn(markets, row.market)) yield `account.${list2}.${index}: there is no market "${row.market}"`;
    }
  }
  for (const [index, fault] of (config.faults ?? []).entries()) {
    if (fault.on !== "*" && !ENDPOINT_NAMES.includes(fault.on) && fault.on !== "GET /markets") {
      const near = didYouMean(fault.on, ENDPOINT_NAMES);
      yield `faults.${index}.on: "${fault.on}" is neither an endpoint nor "*"${near === void 0 ? "" : `; did you mean "${near}"?`}`;
    }
  }
  if (config.auth?.mode === "api_key" && config.auth.apiKey === void 0)
    yield "auth.apiKey: is missing, and mode is api_key";
}
var MOST_TICKS = 2n ** 40n;
function* marketProblems(id, market4) {
  if (!/^[A-Za-z0-9]+-[A-Za-z0-9]+$/.test(id)) yield `markets: "${id}" is not of the form <BASE>-<QUOTE>`;
  for (const key2 of ["tick", "lot", "start"]) {
    if (market4[key2] === void 0) yield `markets.${id}.${key2}: is missing`;
  }
  const tick2 = parseDecimal(market4.tick ?? "");
  const prices = [
    market4.start,
    ...market4.path.kind === "points" ? market4.path.points.map((point) => point.price) : []
  ];
  if (tick2 === void 0 || !tick2.greaterThan(0))
    return yield* market4.tick === void 0 ? [] : [`markets.${id}.tick: must be above 0`];
  for (const text2 of prices) {
    const price2 = parseDecimal(text2 ?? "");
    if (price2 === void 0) continue;
    const ticks = price2.div(tick2);
    if (!ticks.isInteger() || !price2.greaterThan(0))
      yield `markets.${id}: ${decimalText(price2)} is not a positive multiple of the tick ${market4.tick}`;
    else if (ticks.greaterThan(decimal(String(MOST_TICKS))))
      yield `markets.${id}: ${decimalText(price2)} is more than 2^40 ticks of ${market4.tick}`;
  }
  if (market4.path.kind === "points") {
    const times2 = market4.path.points.map((point) => point.afterMs);
    if (times2.some((time2, index) => index > 0 && time2 <= times2[index - 1]))
      yield `markets.${id}.path.points: afterMs must rise`;
  }
}

// ../src/gateway/simulator/delivery.ts
var TIMED_OUT = { kind: "failure", sent: true, message: "timeout: response" };
function turnedBack(fault) {
  switch (fault?.do) {
    case "refused":
      return { kind: "refused" };
    case "reset_before":
      return { kind: "reset" };
    case "lost_before":
      return { kind: "silence" };
    default:
      return void 0;
  }
}
function deliveryOf(answer2, fault) {
  switch (fault?.do) {
    case "lost_after":
      return { kind: "silence" };
    case "reset_after":
      return { kind: "reset" };
    case "slow_loris":
    case "truncated":
    case "oversize":
      return { kind: "answer", answer: answer2, wire: fault.do };
    default:
      return { kind: "answer", answer: answer2 };
  }
}
function replyOf(delivery) {
  switch (delivery.kind) {
    case "refused":
      return { kind: "failure", sent: false, message: "ECONNREFUSED" };
    case "reset":
      return { kind: "failure", sent: true, message: "ECONNRESET" };
    case "silence":
      return void 0;
    case "answer":
      if (delivery.wire === "slow_loris") return void 0;
      if (delivery.wire === "truncated") return { kind: "failure", sent: true, message: "the body ended early" };
      if (delivery.wire === "oversize") return { kind: "failure", sent: true, message: "body over 8 MiB" };
      return delivery.answer;
    default:
      return delivery;
  }
}

// ../src/gateway/simulator/feeds.ts
var FEEDS = {
  mid: (path, step) => path.quote(step).mid,
  bid: (path, step) => path.quote(step).bid,
  ask: (path, step) => path.quote(step).ask,
  mark: (path, step) => path.quote(step).mid,
  index: (path, step) => path.quote(step).mid,
  last: (path, step) => path.mid(step) >= path.mid(Math.max(0, step - 1)) ? path.quote(step).ask : path.quote(step).bid
};
function isFeedName(name2) {
  return Object.hasOwn(FEEDS, name2);
}
function feedPrice(market4, name2, at) {
  return decimalText(market4.grid.price(FEEDS[name2](market4.path, market4.path.stepAt(at))));
}
function marketRecord(market4, at) {
  return {
    id: market4.id,
    fair_price: feedPrice(market4, "mark", at),
    index_price: feedPrice(market4, "index", at),
    last_trade_price: feedPrice(market4, "last", at),
    best_bid: feedPrice(market4, "bid", at),
    best_ask: feedPrice(market4, "ask", at),
    min_tick: decimalText(market4.grid.tick),
    min_order: decimalText(market4.lot)
  };
}

// ../src/gateway/simulator/answer.ts
var Answers = class {
  settings;
  constructor(settings) {
    this.settings = settings;
  }
  plain(outcome, verdict) {
    const headers = { "content-type": "application/json", ...this.rateHeaders(verdict) };
    if (outcome.kind === "done") return said(200, headers, envelope(true, "", outcome.result), "");
    const { refusalStatus } = this.settings.surprises;
    const status2 = refusalStatus === "by_kind" ? outcome.refusal.status : refusalStatus;
    const error3 = this.errorText(outcome.refusal);
    return said(status2, headers, envelope(false, error3, []), error3);
  }
  /** A refusal for want of tokens. `retryAfter` stands in for the computed seconds, where a fault says so. */
  limited(verdict, refusal, retryAfter) {
    const { tokens } = this.settings;
    const seconds2 = retryAfter ?? String(Math.ceil(verdict.waitMs / 1e3));
    const headers = { "content-type": "application/json", ...this.rateHeaders(verdict) };
    if (tokens.retryAfter === "x" || tokens.retryAfter === "both") headers["x-ratelimit-retry-after"] = seconds2;
    if (tokens.retryAfter === "plain" || tokens.retryAfter === "both") headers["retry-after"] = seconds2;
    const error3 = this.errorText(refusal);
    return said(tokens.status, headers, envelope(false, error3, []), error3);
  }
  /** What a fault makes of an answer. */
  spoil(true_, fault) {
    const { headers, body: body2 } = true_.answer;
    switch (fault?.do) {
      case "malformed":
        return spoiled(
          200,
          { ...headers, ...fault.headers },
          fault.body ?? body2.slice(0, Math.max(1, body2.length >> 1))
        );
      case "empty":
        return spoiled(fault.status ?? 200, headers, "");
      case "html":
        return spoiled(
          fault.status ?? 200,
          { ...headers, "content-type": "text/html" },
          fault.body ?? "<html><body>502 Bad Gateway</body></html>"
        );
      case "status":
        return spoiled(
          fault.status ?? 503,
          { "content-type": "text/plain", ...fault.headers },
          fault.body ?? "upstream error"
        );
      case "error":
        return said(
          fault.status ?? 200,
          headers,
          envelope(false, fault.error ?? "SOMETHING_WENT_WRONG", []),
          fault.error ?? "SOMETHING_WENT_WRONG"
        );
      case "redirect":
        return spoiled(fault.status ?? 307, { location: fault.location ?? "http://127.0.0.1:9/elsewhere" }, "");
      case "empty_result":
        return said(200, headers, envelope(true, "", []), "");
      case "two_records":
        return said(
          200,
          headers,
          rewritten(body2, (records) => [...records, ...records]),
          ""
        );
      case "other_record":
        return said(
          200,
          headers,
          rewritten(body2, (records) => records.map((record2) => ({ ...record2, client_order_id: "somebody-elses" }))),
          ""
        );
      default:
        return true_;
    }
  }
  rateHeaders(verdict) {
    const { tokens } = this.settings;
    if (!tokens.headers) return {};
    return {
      "x-ratelimit-limit": String(tokens.limit),
      "x-ratelimit-remaining": String(verdict.remaining),
      "x-ratelimit-reset": instant3(verdict.resetAt, tokens.resetUnit)
    };
  }
  /** Surprise 12: a bare code, a code and a text, or free text. */
  errorText(refusal) {
    const forms = { code: refusal.code, code_and_text: `${refusal.code}: ${refusal.message}`, text: refusal.message };
    return forms[this.settings.surprises.errorText];
  }
};
function said(status2, headers, body2, error3) {
  return { answer: { kind: "answer", status: status2, headers, body: body2 }, success: error3 === "", error: error3 };
}
function spoiled(status2, headers, body2) {
  return { answer: { kind: "answer", status: status2, headers, body: body2 }, success: false, error: "" };
}
function envelope(success, error3, result2) {
  return JSON.stringify({ success, error: error3, result: result2 });
}
function rewritten(body2, change) {
  const { success, error: error3, result: result2 } = JSON.parse(body2);
  return envelope(success, error3, Array.isArray(result2) ? change(result2) : result2);
}
function instant3(ms, unit) {
  switch (unit) {
    case "s":
      return String(Math.ceil(ms / 1e3));
    case "ms":
      return String(ms);
    case "us":
      return String(ms * 1e3);
    case "iso":
      return new Date(ms).toISOString();
    default:
      return unit;
  }
}

// ../src/gateway/simulator/request.ts
import { isLosslessNumber as isLosslessNumber5, parse as parse2 } from "lossless-json";
var Refusal = class extends Error {
  code;
  status;
  constructor(code, text2, status2 = 400) {
    super(text2);
    this.name = "Refusal";
    this.code = code;
    this.status = status2;
  }
};
function readHttp(request2) {
  const params = /* @__PURE__ */ Object.create(null);
  for (const [name2, text2] of new URLSearchParams(request2.query)) params[name2] = { as: "text", text: text2 };
  const fromBody = readBody(request2.body);
  for (const [name2, value2] of fromBody) params[name2] = value2;
  return {
    method: request2.method,
    path: request2.path,
    params,
    placement: fromBody.length > 0 ? "body" : "query",
    headers: request2.headers
  };
}
function readBody(body2) {
  if (body2.trim() === "") return [];
  let parsed;
  try {
    parsed = parse2(body2);
  } catch {
    throw new Refusal("INVALID_JSON", "the body is not JSON");
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed))
    throw new Refusal("INVALID_JSON", "the body is not an object");
  return Object.entries(parsed).map(([name2, value2]) => [name2, wireValue2(name2, value2)]);
}
function wireValue2(name2, value2) {
  if (isLosslessNumber5(value2)) return { as: "number", text: value2.value };
  if (typeof value2 === "string") return { as: "text", text: value2 };
  if (typeof value2 === "boolean") return { as: "boolean", text: String(value2) };
  throw new Refusal("INVALID_PARAMETER", `${name2} must be a text, a number or a boolean`);
}
function readParams(name2, request2, surprises, bounds = {}) {
  const rows2 = endpoint(name2).parameters;
  const given2 = named2(name2, request2.params, surprises);
  const values = {};
  for (const [key2, value2] of Object.entries(given2)) {
    const row = Object.hasOwn(rows2, key2) ? rows2[key2] : void 0;
    if (row !== void 0)
      values[key2] = readValue(key2, value2, row, request2.placement === "body", bounds[key2]?.max, surprises);
    else if (surprises.unknownParameters === "refuse")
      throw new Refusal("INVALID_PARAMETER", `${name2} has no parameter "${key2}"`);
  }
  for (const [key2, row] of Object.entries(rows2)) {
    if (row.required && values[key2] === void 0) throw new Refusal("MISSING_PARAMETER", `${key2} is required`);
  }
  return values;
}
function named2(name2, params, surprises) {
  const given2 = { ...params };
  if (name2 !== "POST /orders") return given2;
  const { positionSizeField: field, positionTypeSuffix: suffix } = surprises;
  const position2 = /^(stop_loss|take_profit)/.test(given2["type"]?.text ?? "");
  if (!position2) return given2;
  const type = given2["type"];
  if (suffix !== "" && type.text.endsWith(suffix))
    given2["type"] = { ...type, text: type.text.slice(0, -suffix.length) };
  if (field !== "size") {
    const { size: _2, ...rest } = given2;
    const fraction = given2[field];
    delete rest[field];
    return fraction === void 0 ? rest : { ...rest, size: fraction };
  }
  return given2;
}
function readValue(name2, value2, row, strict, max, surprises) {
  const refuse = (wanted) => {
    throw new Refusal("INVALID_PARAMETER", `${name2} must be ${wanted}, found ${value2.text.slice(0, 60)}`);
  };
  const isNumber = row.type === "decimal" || row.type === "integer" || row.type === "timestamp";
  if (strict && isNumber !== (value2.as === "number"))
    return refuse(isNumber ? "a JSON number" : `a JSON ${row.type === "boolean" ? "boolean" : "string"}`);
  switch (row.type) {
    case "decimal": {
      const number = parseDecimal(value2.text) ?? refuse("a plain decimal");
      if (row.exclusiveMin !== void 0 && !number.greaterThan(decimal(row.exclusiveMin)))
        return refuse(`above ${row.exclusiveMin}`);
      if (row.min !== void 0 && number.lessThan(decimal(row.min))) return refuse(`at least ${row.min}`);
      if (row.max !== void 0 && number.greaterThan(decimal(row.max))) return refuse(`at most ${row.max}`);
      return value2.text;
    }
    case "integer":
    case "timestamp": {
      const number = /^(0|-?[1-9]\d*)$/.test(value2.text) ? Number(value2.text) : Number.NaN;
      const least = row.type === "integer" ? row.min ?? Number.MIN_SAFE_INTEGER : 0;
      const most2 = max ?? (row.type === "integer" ? row.max : void 0) ?? Number.MAX_SAFE_INTEGER;
      return Number.isSafeInteger(number) && number >= least && number <= most2 ? number : refuse(`an integer from ${least} to ${most2}`);
    }
    case "boolean":
      return value2.text === "true" || (value2.text === "false" ? false : refuse("true or false"));
    case "enum":
      return row.values.includes(value2.text) || name2 === "status" && value2.text === surprises.stopStatus ? value2.text : refuse(`one of ${row.values.join(", ")}`);
    case "market":
      return /^[A-Za-z0-9]+-[A-Za-z0-9]+$/.test(value2.text) ? value2.text : refuse("a market id, <BASE>-<QUOTE>");
    case "order_id":
      return /^[A-Za-z0-9]+-[A-Za-z0-9]+@\d+$/.test(value2.text) ? value2.text : refuse("an order id, <market_id>@<number>");
    case "client_order_id":
      return /^[A-Za-z0-9_-]{0,50}$/.test(value2.text) ? value2.text : refuse("at most 50 characters of [A-Za-z0-9_-]");
    case "text":
      return value2.text;
    default:
      return row;
  }
}

// ../src/gateway/simulator/listing.ts
var DEFAULT_PAGE_ROWS = 100;
function listOrders(book2, params, at, settings) {
  if (params.client_order_id !== void 0 && params.market_id === void 0) {
    throw new Refusal("MISSING_PARAMETER", "client_order_id must be combined with market_id");
  }
  return page(candidates(book2, params), params, (order3) => {
    if (order3.visibleAt > at || !inRange(order3.timestampUs, params)) return void 0;
    if (params.order_id !== void 0 && order3.id !== params.order_id) return void 0;
    if (params.market_id !== void 0 && order3.marketId !== params.market_id) return void 0;
    const record2 = book2.recordAt(order3, at - settings.readLagMs);
    return params.status === void 0 || record2?.status === params.status ? record2 : void 0;
  });
}
function candidates(book2, params) {
  if (params.client_order_id !== void 0) return book2.withClientId(params.client_order_id);
  if (params.order_id === void 0) return book2.orders;
  const order3 = book2.find(params.order_id);
  return order3 === void 0 ? [] : [order3];
}
function listFills(book2, params, at, settings) {
  return page(book2.fills, params, (fill) => {
    const wanted = params.market_id === void 0 || fill.record.market_id === params.market_id;
    return wanted && shown2(fill, at, settings) && inRange(fill.record.timestamp, params) ? fill.record : void 0;
  });
}
function listFillsOf(book2, orderId2, at, settings) {
  return book2.fillsOf(orderId2).filter((fill) => shown2(fill, at, settings)).map((fill) => fill.record);
}
function shown2(fill, at, settings) {
  return fill.at + settings.fillLagMs <= at;
}
function inRange(timestampUs, { start_time, end_time }) {
  return (start_time === void 0 || timestampUs >= start_time) && (end_time === void 0 || timestampUs <= end_time);
}
function page(rows2, params, read2) {
  const limit = params.p_limit ?? DEFAULT_PAGE_ROWS;
  let skip = (params.p_page ?? 0) * limit;
  const kept = [];
  const descending = params.p_order !== "ASC";
  for (let index = 0; index < rows2.length && kept.length < limit; index += 1) {
    const value2 = read2(rows2[descending ? rows2.length - 1 - index : index]);
    if (value2 === void 0) continue;
    if (skip > 0) skip -= 1;
    else kept.push(value2);
  }
  return kept;
}

// ../src/gateway/simulator/handlers.ts
var HANDLERS = {
  "GET /account": ({ account, floor }, { at }) => [account.record(at, floor.exposures(at))],
  "PUT /account/leverage": (venue, { params, at }) => {
    const { account, floor, book: book2 } = venue;
    floor.market(params.market_id);
    const before = account.leverage(params.market_id);
    account.setLeverage(params.market_id, params.leverage, book2.stamp(at));
    if (account.free(at, floor.exposures(at)).isNegative() && params.leverage < before) {
      account.setLeverage(params.market_id, before, book2.stamp(at));
      throw new Refusal("INSUFFICIENT_MARGIN", `leverage ${params.leverage} would need more margin than there is`);
    }
    return [account.record(at, floor.exposures(at))];
  },
  "POST /jwt": ({ sessions, settings }, { params, at }) => {
    const fresh = sessions.refresh(params.refresh_token, at);
    return [settings.auth.result === "object" || fresh.refresh_token !== void 0 ? fresh : fresh.jwt];
  },
  "GET /orders": ({ book: book2, settings }, { params, at }) => listOrders(book2, params, at, settings),
  "POST /orders": (venue, { params, at, fault }) => [placementAck(venue, venue.desk.place(params, at, fault))],
  "PUT /orders": ({ desk, settings }, { params, at, fault }) => {
    const { order: order3, terms } = desk.amend(params, at, fault);
    const ack = {
      id: order3.id,
      market_id: order3.marketId,
      price: decimalText(terms.price),
      profile_id: settings.account.id,
      size: decimalText(terms.size ?? order3.size),
      status: "amending"
    };
    return [ack];
  },
  "DELETE /orders": ({ desk, settings }, { params, at, fault }) => {
    const order3 = desk.cancel(params, at, fault);
    const ack = {
      id: order3.id,
      market_id: order3.marketId,
      profile_id: settings.account.id,
      status: "canceling"
    };
    return [ack];
  },
  "DELETE /orders/cancel_all": ({ desk, settings }, { at, fault }) => {
    desk.cancelAll(at, fault);
    return settings.surprises.cancelAllResult === "true" ? [true] : [];
  },
  "GET /fills": ({ book: book2, settings }, { params, at }) => listFills(book2, params, at, settings),
  "GET /fills/order": ({ book: book2, settings }, { params, at }) => listFillsOf(book2, params.order_id, at, settings),
  "GET /profile": ({ account }) => [account.tier()],
  "POST /cancel_all_after": (venue, { params, at }) => {
    venue.floor.market(params.market_id);
    venue.deadman.arm(params.market_id, params.timeout, at);
    return deadmanResult(venue, {
      market_id: params.market_id,
      ...deadmanRecord(venue, { marketId: params.market_id, timeoutMs: params.timeout })
    });
  },
  "GET /cancel_all_after": (venue, { params }) => {
    const armed = venue.deadman.read(params.market_id);
    if (armed !== void 0) return deadmanResult(venue, deadmanRecord(venue, armed));
    return { object: {}, array: [], null: null }[venue.settings.surprises.deadmanEmpty];
  },
  "DELETE /cancel_all_after": ({ deadman }, { params, at }) => {
    deadman.disarm(params.market_id, at);
    return null;
  }
};
function placementAck({ settings }, order3) {
  return {
    id: order3.id,
    is_liquidation: false,
    market_id: order3.marketId,
    price: decimalText(order3.price ?? order3.size.times(0)),
    profile_id: settings.account.id,
    side: order3.side,
    size: decimalText(order3.size),
    status: "processing",
    client_order_id: order3.clientOrderId,
    type: order3.type,
    time_in_force: order3.timeInForce
  };
}
function deadmanRecord({ settings, deadman }, armed) {
  return {
    profile_id: settings.account.id,
    timeout: armed.timeoutMs,
    last_updated: deadman.lastActivityAt * 1e3,
    status: "active"
  };
}
function deadmanResult({ settings }, record2) {
  return settings.surprises.deadmanResult === "array" ? [record2] : record2;
}

// ../src/gateway/simulator/tokens.ts
var TokenWindow = class {
  config;
  counter;
  startedAt;
  foreignSeen = 0;
  orderTimes = [];
  /** Most tokens ever in use at once. */
  peak = 0;
  refused = 0;
  constructor(config, startedAt) {
    this.config = config;
    this.startedAt = startedAt;
    this.counter = counterOf(config);
  }
  /** Asks for tokens; a refused request costs none. */
  ask(tokens, at) {
    this.countForeign(at);
    const used = this.counter.used(at);
    const admitted = used + tokens <= this.config.limit;
    if (admitted) this.counter.add(at, tokens);
    else this.refused += 1;
    const now = admitted ? used + tokens : used;
    this.peak = Math.max(this.peak, now);
    return {
      admitted,
      remaining: Math.max(0, Math.floor(this.config.limit - now)),
      resetAt: this.counter.resetAt(at),
      waitMs: admitted ? 0 : this.wait(tokens, at)
    };
  }
  /** Whether the account may act on one more order in this second; counts it if so. */
  askOrderAction(at) {
    const most2 = this.config.ordersPerSecond;
    if (most2 === void 0) return true;
    while (this.orderTimes.length > 0 && this.orderTimes[0] <= at - 1e3) this.orderTimes.shift();
    if (this.orderTimes.length >= most2) return false;
    this.orderTimes.push(at);
    return true;
  }
  used(at) {
    return this.counter.used(at);
  }
  countForeign(at) {
    for (; this.foreignSeen < this.config.foreign.length; this.foreignSeen += 1) {
      const row = this.config.foreign[this.foreignSeen];
      if (this.startedAt + row.afterMs > at) return;
      this.counter.add(this.startedAt + row.afterMs, row.tokens);
    }
  }
  /** The least wait after which the tokens would be there if nobody else asked; found by halving, to the millisecond. */
  wait(tokens, at) {
    if (tokens > this.config.limit) return 2 * this.config.windowMs;
    let [no, yes] = [0, 2 * this.config.windowMs];
    while (yes - no > 1) {
      const middle = Math.floor((no + yes) / 2);
      if (this.counter.used(at + middle) + tokens <= this.config.limit) yes = middle;
      else no = middle;
    }
    return yes;
  }
};
function counterOf(config) {
  switch (config.algorithm) {
    case "sliding_log":
      return new SlidingLog(config.windowMs);
    case "fixed_window":
      return new Windows(config.windowMs, 0);
    case "sliding_counter":
      return new Windows(config.windowMs, 1);
    case "token_bucket":
      return new Bucket(config.limit, config.windowMs);
    default:
      return config.algorithm;
  }
}
var SlidingLog = class {
  windowMs;
  log = [];
  first = 0;
  sum = 0;
  newest = 0;
  constructor(windowMs) {
    this.windowMs = windowMs;
  }
  /** Asking about the future must forget nothing: only `add` drops what is over. */
  used(at) {
    let sum3 = this.sum;
    for (let index = this.first; index < this.log.length; index += 1) {
      const entry = this.log[index];
      if (entry.at > at - this.windowMs) break;
      sum3 -= entry.tokens;
    }
    return sum3;
  }
  add(at, tokens) {
    this.newest = Math.max(this.newest, at);
    for (let entry = this.log[this.first]; entry !== void 0 && entry.at <= this.newest - this.windowMs; entry = this.log[this.first]) {
      this.sum -= entry.tokens;
      this.first += 1;
    }
    if (this.first > 4096) {
      this.log.splice(0, this.first);
      this.first = 0;
    }
    this.log.push({ at, tokens });
    this.sum += tokens;
  }
  resetAt(at) {
    return Math.max(at, (this.log.at(-1)?.at ?? at - this.windowMs) + this.windowMs);
  }
};
var Windows = class {
  windowMs;
  share;
  index = -1;
  current = 0;
  previous = 0;
  constructor(windowMs, share) {
    this.windowMs = windowMs;
    this.share = share;
  }
  used(at) {
    const index = Math.floor(at / this.windowMs);
    const [current, previous] = this.seenFrom(index);
    const left = 1 - (at - index * this.windowMs) / this.windowMs;
    return current + this.share * previous * left;
  }
  add(at, tokens) {
    const index = Math.max(this.index, Math.floor(at / this.windowMs));
    [this.current, this.previous] = this.seenFrom(index);
    this.index = index;
    this.current += tokens;
  }
  resetAt(at) {
    return (Math.floor(at / this.windowMs) + 1) * this.windowMs;
  }
  seenFrom(index) {
    if (index <= this.index) return [this.current, this.previous];
    return [0, index === this.index + 1 ? this.current : 0];
  }
};
var Bucket = class {
  perMs;
  level = 0;
  at = 0;
  constructor(limit, windowMs) {
    this.perMs = limit / windowMs;
  }
  used(at) {
    return Math.max(0, this.level - Math.max(0, at - this.at) * this.perMs);
  }
  add(at, tokens) {
    this.level = this.used(at) + tokens;
    this.at = Math.max(this.at, at);
  }
  resetAt(at) {
    return Math.ceil(at + this.used(at) / this.perMs);
  }
};

// ../src/gateway/simulator/gate.ts
var DEFAULT_COST = 10;
var SHORT_WAIT_MS = 1e3;
var LIMITED2 = new Refusal("RATE_LIMIT_EXCEEDED", "too many requests", 429);
var ORDER_ACTIONS = /* @__PURE__ */ new Set(["POST /orders", "PUT /orders", "DELETE /orders"]);
var Gate = class {
  tokens;
  venue;
  answers;
  constructor(venue, startedAt) {
    this.venue = venue;
    this.tokens = new TokenWindow(venue.settings.tokens, startedAt);
    this.answers = new Answers(venue.settings);
  }
  /** Answers a request that arrived at a time, under the fault that it meets. */
  answer(request2, caller, at, fault) {
    this.venue.agenda.settle(at);
    if (fault?.do === "rate_limited") {
      const nothingLeft = { admitted: false, remaining: 0, resetAt: at + SHORT_WAIT_MS, waitMs: SHORT_WAIT_MS };
      return { said: this.answers.limited(nothingLeft, LIMITED2, fault.retryAfter), tokens: 0 };
    }
    const name2 = requestName(request2);
    const cost = this.cost(name2);
    const verdict = this.tokens.ask(cost, at);
    if (!verdict.admitted) return { said: this.answers.limited(verdict, LIMITED2), tokens: 0 };
    if (ORDER_ACTIONS.has(name2) && !this.tokens.askOrderAction(at)) {
      return { said: this.answers.limited({ ...verdict, waitMs: SHORT_WAIT_MS }, LIMITED2), tokens: cost };
    }
    return { ...this.carriedOut(request2, caller, at, fault, verdict), tokens: cost };
  }
  carriedOut(request2, caller, at, fault, verdict) {
    const outcome = this.outcome(request2, caller, at, fault);
    const said2 = this.answers.spoil(this.answers.plain(outcome, verdict), fault);
    return outcome.kind === "refused" ? { said: said2, refusal: outcome.refusal.code } : { said: said2 };
  }
  outcome(request2, caller, at, fault) {
    try {
      if (fault?.do === "unauthorized") throw new Refusal("UNAUTHORIZED", "the session is over", 401);
      if (fault !== void 0 && stopsAtGate(fault)) return { kind: "done", result: [] };
      return { kind: "done", result: this.result(request2, caller, at, fault) };
    } catch (problem) {
      if (problem instanceof Refusal) return { kind: "refused", refusal: problem };
      throw problem;
    }
  }
  result(request2, caller, at, fault) {
    const name2 = requestName(request2);
    if (!isEndpoint(name2)) return this.publicRead(request2, at);
    if (name2 !== "POST /jwt") this.venue.sessions.check(request2, caller, at);
    if (endpoint(name2).qualifies) this.venue.deadman.activity(at);
    if (request2.unreadable !== void 0) throw request2.unreadable;
    return this.handle(name2, request2, at, fault);
  }
  handle(name2, request2, at, fault) {
    const { account, surprises } = this.venue.settings;
    const params = readParams(name2, request2, surprises, { leverage: { max: account.maxLeverage } });
    const handler = HANDLERS[name2];
    const concerned = fault !== void 0 && FAULTS[fault.do] === "desk" ? fault : void 0;
    return handler(this.venue, { params, at, fault: concerned });
  }
  /** GET /markets, for feeds over HTTP: one market or all. Nobody is asked who they are. */
  publicRead(request2, at) {
    if (requestName(request2) !== "GET /markets") {
      throw new Refusal("NOT_FOUND", `there is no ${requestName(request2)}`, 404);
    }
    const wanted = request2.params["market_id"]?.text;
    return [...this.venue.markets.values()].filter((market4) => wanted === void 0 || market4.id === wanted).map((market4) => marketRecord(market4, at));
  }
  cost(name2) {
    if (!isEndpoint(name2)) return DEFAULT_COST;
    return this.venue.settings.tokens.costs[name2] ?? endpoint(name2).tokens ?? DEFAULT_COST;
  }
};
function requestName({ method, path }) {
  return `${method} ${path}`;
}
function isEndpoint(name2) {
  return Object.hasOwn(CATALOGUE, name2);
}
function stopsAtGate(fault) {
  if (fault.do === "redirect") return true;
  return (fault.do === "status" || fault.do === "error") && fault.processed !== true;
}

// ../src/gateway/simulator/random.ts
var Chance = class {
  seed;
  constructor(seed) {
    if (!Number.isSafeInteger(seed)) throw new RangeError(`the seed must be a whole number, found ${seed}`);
    this.seed = seed;
  }
  /** A stream that lasts: the price path of a market. */
  stream(name2) {
    return sfc32(this.seed, name2);
  }
  /** The one number in [0, 1) that belongs to the `index`-th thing called `name`, whoever asks and whenever. */
  of(name2, index) {
    return sfc32(this.seed, `${name2}#${index}`).next();
  }
  /** A whole number within the range, both ends possible. */
  within(range, name2, index) {
    if (range.max <= range.min) return range.min;
    return range.min + Math.floor(this.of(name2, index) * (range.max - range.min + 1));
  }
};
function sfc32(seed, name2) {
  let a = mixed(name2, 2654435769);
  let b = mixed(name2, 608135816);
  let c = seed >>> 0;
  let counter = (Math.floor(seed / 2 ** 32) ^ 1) >>> 0;
  const draw = () => {
    const sum3 = a + b + counter | 0;
    counter = counter + 1 | 0;
    a = b ^ b >>> 9;
    b = c + (c << 3) | 0;
    c = (c << 21 | c >>> 11) + sum3;
    return sum3 >>> 0;
  };
  for (let round = 0; round < 12; round += 1) draw();
  return { next: () => draw() / 2 ** 32 };
}
function mixed(text2, start) {
  let hash = 2166136261 ^ start | 0;
  for (let at = 0; at < text2.length; at += 1) hash = Math.imul(hash ^ text2.charCodeAt(at), 16777619);
  hash = Math.imul(hash ^ hash >>> 16, 2246822507);
  hash = Math.imul(hash ^ hash >>> 13, 3266489909);
  return hash ^ hash >>> 16;
}

// ../src/gateway/simulator/account.ts
var ZERO = new Decimal(0);
var MARGIN_STEP = decimal("0.00000001");
var RATIO_STEP = decimal("0.000001");
var Account = class {
  config;
  markOf;
  positions = /* @__PURE__ */ new Map();
  leverages;
  balance;
  volume;
  startedAt;
  updatedUs;
  constructor(config, marketIds, startedAt, markOf) {
    this.config = config;
    this.markOf = markOf;
    this.leverages = new Map(marketIds.map((id) => [id, config.leverage]));
    this.balance = decimal(config.equity);
    this.volume = decimal(config.volume);
    this.startedAt = startedAt;
    this.updatedUs = startedAt * 1e3;
  }
  /** Net size of a market, long positive. */
  net(marketId) {
    return this.positions.get(marketId)?.net ?? ZERO;
  }
  /** The fee of a trade, quote currency, exact; negative is a rebate. */
  fee(price2, size, isMaker) {
    return price2.times(size).times(decimal(isMaker ? this.config.fees.maker : this.config.fees.taker));
  }
  /** Books a trade: position, realised profit, fee, volume. */
  trade(trade) {
    const position2 = this.positions.get(trade.marketId) ?? { net: ZERO, cost: ZERO };
    this.positions.set(trade.marketId, position2);
    const signed = trade.side === "long" ? trade.size : trade.size.negated();
    if (position2.net.isZero() || position2.net.isNegative() === signed.isNegative()) {
      position2.net = position2.net.plus(signed);
      position2.cost = position2.cost.plus(signed.times(trade.price));
    } else {
      this.reduce(position2, signed, trade.price);
    }
    this.balance = this.balance.minus(trade.fee);
    this.volume = this.volume.plus(trade.price.times(trade.size));
    this.updatedUs = trade.atUs;
  }
  /** Whatever part of the cost is taken as realised is taken off the position: rounding it loses nothing. */
  reduce(position2, signed, price2) {
    const closing2 = Decimal.min(position2.net.abs(), signed.abs());
    const all = closing2.equals(position2.net.abs());
    const part = all ? position2.cost : roundToStep(position2.cost.times(closing2).div(position2.net.abs()), MARGIN_STEP, "nearest");
    const proceeds = closing2.times(price2).times(position2.net.isNegative() ? -1 : 1);
    this.balance = this.balance.plus(proceeds.minus(part));
    const opening = signed.abs().minus(closing2);
    if (opening.greaterThan(0)) {
      position2.net = signed.isNegative() ? opening.negated() : opening;
      position2.cost = position2.net.times(price2);
    } else {
      position2.net = position2.net.plus(signed);
      position2.cost = position2.cost.minus(part);
    }
  }
  leverage(marketId) {
    return this.leverages.get(marketId) ?? this.config.leverage;
  }
  setLeverage(marketId, leverage2, atUs) {
    this.leverages.set(marketId, leverage2);
    this.updatedUs = atUs;
  }
  /** What an order would tie up: nothing where it can only lower the position. */
  orderMargin(order3) {
    const net = this.net(order3.marketId);
    const reduces = net.isNegative() === (order3.side === "long") && !net.isZero() && order3.size.lessThanOrEqualTo(net.abs());
    if (reduces) return ZERO;
    return roundToStep(order3.size.times(order3.price).div(this.leverage(order3.marketId)), MARGIN_STEP, "up");
  }
  /** The record of GET /account; `working` are the orders that tie up margin. */
  record(at, working) {
    const sums = this.sums(at, working);
    const ratio = (part, whole2) => whole2.greaterThan(0) ? roundToStep(part.div(whole2), RATIO_STEP, "down") : ZERO;
    return {
      id: this.config.id,
      status: "active",
      profile_type: "trader",
      wallet: this.config.wallet,
      balance: decimalText(this.balance),
      withdrawable_balance: decimalText(Decimal.max(0, sums.free)),
      account_equity: decimalText(sums.equity),
      account_leverage: decimalText(ratio(sums.notional, sums.equity)),
      account_margin: decimalText(sums.equity.minus(sums.free)),
      health: decimalText(ratio(Decimal.max(0, sums.free), sums.equity)),
      cum_trading_volume: decimalText(this.volume),
      cum_unrealized_pnl: decimalText(sums.unrealized),
      total_notional: decimalText(sums.notional),
      total_order_margin: decimalText(sums.orderMargin),
      total_position_margin: decimalText(sums.positionMargin),
      last_liq_check: this.startedAt * 1e3,
      last_update: this.updatedUs,
      leverage: Object.fromEntries([...this.leverages].map(([id, leverage2]) => [id, String(leverage2)]))
    };
  }
  /** Equity that no margin ties up; below zero when the account could not carry what it has. */
  free(at, working) {
    return this.sums(at, working).free;
  }
  sums(at, working) {
    let unrealized = ZERO;
    let notional = ZERO;
    let positionMargin = ZERO;
    for (const [marketId, { net, cost }] of this.positions) {
      if (net.isZero()) continue;
      const value2 = net.times(this.markOf(marketId, at));
      unrealized = unrealized.plus(value2.minus(cost));
      notional = notional.plus(value2.abs());
      positionMargin = positionMargin.plus(roundToStep(value2.abs().div(this.leverage(marketId)), MARGIN_STEP, "up"));
    }
    const orderMargin = working.reduce((sum3, order3) => sum3.plus(this.orderMargin(order3)), ZERO);
    const equity = this.balance.plus(unrealized);
    return {
      unrealized,
      notional,
      positionMargin,
      orderMargin,
      equity,
      free: equity.minus(positionMargin).minus(orderMargin)
    };
  }
  /** The record of GET /profile. On the highest tier the next one is the same, and nothing is needed. */
  tier() {
    const tiers = this.config.tiers;
    let index = 0;
    while (index + 1 < tiers.length && this.volume.greaterThanOrEqualTo(minVolume(tiers, index + 1))) index += 1;
    const next = Math.min(index + 1, tiers.length - 1);
    const needed = decimalText(Decimal.max(0, minVolume(tiers, next).minus(this.volume)));
    const step = (at) => tiers[at];
    return { tier_status: { current: step(index), next: step(next), needed_volume: needed } };
  }
};
function minVolume(tiers, index) {
  return decimal(tiers[index]?.min_volume ?? "0");
}

// ../src/gateway/simulator/agenda.ts
var Agenda = class {
  clock;
  markets;
  step;
  timer;
  /** `step` works off one price step of one market. */
  constructor(clock, markets, step) {
    this.clock = clock;
    this.markets = markets;
    this.step = step;
  }
  /** Works off everything that prices have done up to a time. */
  settle(at) {
    for (let due = this.next(); due !== void 0 && due.at <= at; due = this.next()) {
      due.market.moveTo(due.at);
      if (due.happens) this.step(due.market, due.at);
    }
    for (const market4 of this.markets) market4.moveTo(at);
    this.watch();
  }
  /** Does something at a time, once prices have been worked off up to it. It is told that time, also where it runs late. */
  at(when, work) {
    this.clock.at(when, () => {
      this.settle(when);
      work(when);
      this.watch();
    });
  }
  /** Puts the timer where it belongs, after orders have come, changed or gone. */
  watch() {
    const at = this.next()?.at;
    if (at === this.timer?.at) return;
    this.timer?.timer.cancel();
    this.timer = void 0;
    if (at === void 0) return;
    const timer = this.clock.at(at, () => {
      this.timer = void 0;
      this.settle(at);
    });
    this.timer = { at, timer };
  }
  /** The earliest over all markets; of two at one time, that of the market named first. */
  next() {
    let first;
    for (const market4 of this.markets) {
      const next = market4.next();
      if (next !== void 0 && (first === void 0 || next.at < first.at)) first = { market: market4, ...next };
    }
    return first;
  }
};

// ../src/gateway/simulator/deadman.ts
var DeadmanSwitch = class {
  events = [];
  clock;
  firingDelayMs;
  fire;
  armed = /* @__PURE__ */ new Map();
  activityAt;
  constructor(clock, firingDelayMs, fire) {
    this.clock = clock;
    this.firingDelayMs = firingDelayMs;
    this.fire = fire;
    this.activityAt = clock.now();
  }
  /** Epoch ms of the last qualifying request. */
  get lastActivityAt() {
    return this.activityAt;
  }
  /** Rule 1: a qualifying request of the account arrived. */
  activity(at) {
    this.activityAt = at;
  }
  arm(marketId, timeoutMs, at) {
    const before = this.armed.get(marketId);
    before?.timer.cancel();
    this.events.push({ at, event: before === void 0 ? "armed" : "renewed", marketId, timeoutMs });
    this.watch({ marketId, timeoutMs }, at + timeoutMs);
  }
  /** Rule 4. */
  disarm(marketId, at) {
    const before = this.armed.get(marketId);
    if (before === void 0) return;
    before.timer.cancel();
    this.armed.delete(marketId);
    this.events.push({ at, event: "disarmed", marketId, timeoutMs: before.timeoutMs });
  }
  read(marketId) {
    return this.armed.get(marketId);
  }
  all() {
    return [...this.armed.values()].map(({ marketId, timeoutMs }) => ({ marketId, timeoutMs }));
  }
  /** One timer looks at the time that is due; activity in between only makes it look again later. */
  watch(armed, dueAt) {
    const timer = this.clock.at(dueAt, () => {
      const due = this.activityAt + armed.timeoutMs;
      if (due > dueAt) {
        this.watch(armed, due);
        return;
      }
      this.armed.delete(armed.marketId);
      this.events.push({ at: dueAt, event: "fired", ...armed });
      if (this.firingDelayMs === 0) this.fire(dueAt);
      else this.clock.at(dueAt + this.firingDelayMs, () => this.fire(dueAt + this.firingDelayMs));
    });
    this.armed.set(armed.marketId, { ...armed, timer });
  }
};

// ../src/gateway/simulator/terms.ts
function checkTerms(params, market4, surprises) {
  const { type } = params;
  const isFraction2 = type === "stop_loss" || type === "take_profit";
  const needs = (name2) => {
    if (params[name2] === void 0) throw new Refusal("MISSING_PARAMETER", `${name2} is required for a ${type} order`);
  };
  if (type === "limit" || type === "stop_limit" || isFraction2) needs("price");
  if (type === "market" && surprises.marketWithoutPrice === "refuse") needs("price");
  if (type !== "limit" && type !== "market") {
    needs("trigger_price");
  } else if (params.trigger_price !== void 0) {
    throw new Refusal("INVALID_PARAMETER", `a ${type} order has no trigger_price`);
  }
  checkSteps(params, isFraction2, market4, surprises);
}
function checkSteps(terms, isFraction2, market4, surprises) {
  const strict = surprises.offStep === "refuse";
  for (const text2 of [terms.price, terms.trigger_price]) {
    if (strict && text2 !== void 0 && !decimal(text2).mod(market4.grid.tick).isZero()) {
      throw new Refusal("INVALID_PRICE", `${text2} is not a multiple of the tick ${decimalText(market4.grid.tick)}`);
    }
  }
  if (terms.size === void 0) return;
  const size = decimal(terms.size);
  if (isFraction2) {
    if (size.greaterThan(1)) throw new Refusal("INVALID_SIZE", `${terms.size} is more than the whole position`);
  } else if (strict && !size.mod(market4.lot).isZero()) {
    throw new Refusal("INVALID_SIZE", `${terms.size} is not a multiple of the lot ${decimalText(market4.lot)}`);
  } else if (size.lessThan(market4.minSize)) {
    throw new Refusal("INVALID_SIZE", `${terms.size} is below the smallest size ${decimalText(market4.minSize)}`);
  }
}

// ../src/gateway/simulator/desk.ts
var Desk = class {
  parts;
  actions = 0;
  constructor(parts) {
    this.parts = parts;
  }
  place(params, at, fault) {
    const { settings, book: book2, floor } = this.parts;
    checkTerms(params, floor.market(params.market_id), settings.surprises);
    const clientOrderId2 = params.client_order_id ?? "";
    const used = clientOrderId2 !== "" && book2.withClientId(clientOrderId2).length > 0;
    if (used && settings.surprises.duplicateIds === "refuse") {
      throw new Refusal("CLIENT_ORDER_ID_DUPLICATE", `client order id ${clientOrderId2} has been used`);
    }
    if (book2.open.size >= settings.account.maxOpenOrders) {
      throw new Refusal("OPEN_ORDERS_LIMIT", `the account has ${book2.open.size} open orders already`);
    }
    const order3 = floor.add(
      {
        marketId: params.market_id,
        side: params.side,
        type: params.type,
        clientOrderId: clientOrderId2,
        timeInForce: params.time_in_force ?? "good_till_cancel",
        price: optionalDecimal(params.price),
        trigger: optionalDecimal(params.trigger_price),
        size: decimal(params.size),
        stage: "processing",
        visibleAt: at + this.visibilityLag(fault)
      },
      at
    );
    this.later(at, `place ${order3.number}`, fault, (when) => {
      if (order3.stage !== "processing") return;
      if (fault?.do === "late_reject") floor.end(order3, "rejected", fault.reason ?? "REJECTED", when);
      else floor.decide(order3, when);
    });
    return order3;
  }
  amend(params, at, fault) {
    const { settings, book: book2, floor } = this.parts;
    const order3 = this.openOrder(book2.find(params.order_id), params.market_id);
    const isFraction2 = isPositionOrder(order3) && order3.stage !== "working";
    checkSteps(params, isFraction2, floor.market(params.market_id), settings.surprises);
    const terms = { price: decimal(params.price), size: optionalDecimal(params.size) };
    order3.amendsUnderWay += 1;
    book2.note(order3, at);
    this.later(at, this.nextAction(), fault, (when) => {
      order3.amendsUnderWay -= 1;
      if (isTerminal2(order3)) return;
      if (fault?.do === "amend_lost" || !floor.allows(order3, terms, when)) book2.note(order3, when);
      else this.applyAmend(order3, terms, when);
    });
    return { order: order3, terms };
  }
  cancel(params, at, fault) {
    const order3 = this.openOrder(this.named(params), params.market_id);
    order3.cancelsUnderWay += 1;
    this.parts.book.note(order3, at);
    this.later(at, this.nextAction(), fault, (when) => {
      order3.cancelsUnderWay -= 1;
      this.finishCancel(order3, when, fault);
    });
    return order3;
  }
  cancelAll(at, fault) {
    const orders = this.openOrders();
    for (const order3 of orders) {
      order3.cancelsAllUnderWay += 1;
      this.parts.book.note(order3, at);
    }
    this.later(at, this.nextAction(), fault, (when) => {
      for (const order3 of orders) {
        order3.cancelsAllUnderWay -= 1;
        this.finishCancel(order3, when, fault);
      }
    });
  }
  /** Deadman switch, rule 2: every open order of every market, stops too, at once. */
  cancelByDeadman(at) {
    const { agenda, floor } = this.parts;
    agenda.settle(at);
    for (const order3 of this.openOrders()) floor.end(order3, "canceled", "deadman switch", at);
    agenda.watch();
  }
  /** Surprise 4: with a flicker, a working order shows as canceled, and is out of the book, until its terms apply. */
  applyAmend(order3, terms, at) {
    const { agenda, book: book2, floor, settings } = this.parts;
    const { amendFlickerMs } = settings.surprises;
    if (amendFlickerMs === 0 || order3.stage !== "working") {
      floor.amend(order3, terms, at);
      return;
    }
    order3.flickers = true;
    floor.market(order3.marketId).unwatch(order3);
    book2.note(order3, at);
    agenda.at(at + amendFlickerMs, (when) => {
      order3.flickers = false;
      if (!isTerminal2(order3)) floor.amend(order3, terms, when);
    });
  }
  finishCancel(order3, at, fault) {
    const { book: book2, floor } = this.parts;
    if (isTerminal2(order3)) return;
    if (fault?.do === "cancel_lost") {
      book2.note(order3, at);
      return;
    }
    const fills = fault?.do === "fill_first" && order3.stage === "working";
    if (fills) floor.fillFraction(order3, decimal(fault.fraction ?? "1"), at);
    if (!isTerminal2(order3)) floor.end(order3, "canceled", "", at);
  }
  named(params) {
    const { book: book2 } = this.parts;
    if (params.order_id !== void 0) return book2.find(params.order_id);
    const { client_order_id: clientOrderId2 = "", market_id: marketId } = params;
    if (clientOrderId2 === "") throw new Refusal("MISSING_PARAMETER", "order_id or client_order_id is required");
    const orders = book2.withClientId(clientOrderId2).filter((order3) => order3.marketId === marketId);
    return orders.find((order3) => !isTerminal2(order3)) ?? orders.at(-1);
  }
  openOrder(order3, marketId) {
    if (order3 === void 0 || order3.marketId !== marketId) {
      throw new Refusal("ORDER_NOT_FOUND", "there is no such order in that market", 404);
    }
    if (isTerminal2(order3)) throw new Refusal("ORDER_NOT_OPEN", `order ${order3.id} is ${order3.stage} already`);
    return order3;
  }
  openOrders() {
    const skips = this.parts.settings.surprises.cancelAllSkipsProcessing;
    return [...this.parts.book.open].filter((order3) => !(skips && order3.stage === "processing"));
  }
  visibilityLag(fault) {
    const { chance: chance2, floor, settings } = this.parts;
    if (fault?.do === "invisible") return fault.ms ?? Number.POSITIVE_INFINITY;
    return chance2.within(settings.visibilityLagMs, "visibility", floor.nextNumber);
  }
  /** Does something after the processing delay of its name; a stuck one later, or never. */
  later(at, name2, fault, work) {
    const stuck = fault?.do === "stuck";
    if (stuck && fault.ms === void 0) return;
    const delay = this.parts.chance.within(this.parts.settings.processingMs, name2, 0);
    this.parts.agenda.at(at + delay + (stuck ? fault.ms ?? 0 : 0), work);
  }
  nextAction() {
    this.actions += 1;
    return `action ${this.actions}`;
  }
};
function optionalDecimal(text2) {
  return text2 === void 0 ? void 0 : decimal(text2);
}

// ../src/gateway/simulator/floor.ts
var FIRST_NUMBER = 1001;
var Floor = class {
  parts;
  trades = /* @__PURE__ */ new Map();
  numbers = FIRST_NUMBER;
  priorities = 0;
  constructor(parts) {
    this.parts = parts;
  }
  market(id) {
    const market4 = this.parts.markets.get(id);
    if (market4 === void 0) throw new Refusal("MARKET_NOT_FOUND", `there is no market ${id}`, 404);
    return market4;
  }
  /** The number that the next order gets. */
  get nextNumber() {
    return this.numbers;
  }
  add(given2, at) {
    const order3 = {
      ...given2,
      number: this.numbers,
      id: `${given2.marketId}@${this.numbers}`,
      arrivedAt: at,
      timestampUs: this.parts.book.stamp(at),
      initialSize: given2.size,
      filled: new Decimal(0),
      reason: "",
      priority: this.nextPriority(),
      amendsUnderWay: 0,
      flickers: false,
      cancelsUnderWay: 0,
      cancelsAllUnderWay: 0,
      history: []
    };
    this.numbers += 1;
    this.parts.book.add(order3, at);
    return order3;
  }
  /** The positions and resting orders that the configuration begins with, oldest first. */
  openWith({ positions, resting }, startedAt) {
    const rows2 = [
      ...positions.map((row) => ({ ...row, kind: "position" })),
      ...resting.map((row) => ({ ...row, kind: "resting" }))
    ];
    for (const row of rows2.sort((a, b) => b.agoMs - a.agoMs)) {
      const at = startedAt - row.agoMs;
      const rests = row.kind === "resting";
      const [size, price2] = [decimal(row.size), decimal(row.price)];
      const order3 = this.add(
        {
          marketId: row.market,
          side: rests ? row.side : size.isNegative() ? "short" : "long",
          type: rests ? "limit" : "market",
          clientOrderId: rests ? row.client_order_id ?? "" : "",
          timeInForce: "good_till_cancel",
          price: price2,
          trigger: void 0,
          size: size.abs(),
          stage: "working",
          visibleAt: at
        },
        at
      );
      if (rests) this.market(row.market).watch(order3);
      else this.fill(order3, { price: price2, size: size.abs() }, false, at);
    }
  }
  /** What becomes of an order that has been acknowledged (surprise 1). */
  decide(order3, at) {
    const position2 = isPositionOrder(order3);
    if (position2 && !this.closes(order3)) {
      this.end(order3, "rejected", "NO_POSITION", at);
    } else if (!position2 && !this.affords(this.exposure(order3, at), at)) {
      this.end(order3, "rejected", "INSUFFICIENT_MARGIN", at);
    } else if (order3.trigger === void 0) {
      this.enter(order3, at);
    } else {
      this.wait(order3, at);
    }
  }
  /** One price step: what rests is filled first, then triggers are looked at. */
  step(market4, at) {
    for (const order3 of market4.crossed()) {
      const execution = market4.fillResting(order3);
      if (execution === void 0) continue;
      this.fill(order3, execution, true, at);
      if (!isTerminal2(order3)) market4.watch(order3);
    }
    for (const order3 of market4.triggered()) this.trigger(order3, at);
  }
  /** Whether an amend can be: not where a post-only order would cross, nor where the margin does not allow it. */
  allows(order3, terms, at) {
    const changed = { ...order3, price: terms.price };
    const crosses2 = order3.stage === "working" && this.market(order3.marketId).crossesNow(changed);
    if (crosses2 && order3.timeInForce === "post_only") return false;
    return isPositionOrder(order3) || this.affords(this.exposure(order3, at, terms), at, order3);
  }
  /** Gives an order new terms; it loses its place in the queue. */
  amend(order3, { price: price2, size }, at) {
    order3.price = price2;
    if (size !== void 0) {
      order3.initialSize = size;
      order3.size = this.parts.settings.surprises.amendSize === "total" ? size.minus(order3.filled) : size;
    }
    order3.priority = this.nextPriority();
    if (!order3.size.greaterThan(0)) {
      order3.size = new Decimal(0);
      this.end(order3, "closed", "", at);
    } else if (order3.stage === "working") {
      this.enter(order3, at);
    } else {
      this.parts.book.note(order3, at);
      if (order3.stage === "waiting") this.market(order3.marketId).watch(order3);
    }
  }
  /** Fills a fraction of what remains at the order's own price, whatever the market does. */
  fillFraction(order3, fraction, at) {
    const market4 = this.market(order3.marketId);
    const size = Decimal.min(order3.size, order3.size.times(fraction).div(market4.lot).ceil().times(market4.lot));
    this.fill(order3, { price: order3.price ?? market4.midAt(at), size }, true, at);
  }
  end(order3, stage, reason, at) {
    order3.stage = stage;
    order3.reason = reason;
    this.market(order3.marketId).unwatch(order3);
    this.parts.book.note(order3, at);
  }
  /** What ties up margin: working orders and stops that wait, but not fractions of a position; without `besides`. */
  exposures(at, besides) {
    const exposures = [];
    for (const order3 of this.parts.book.open) {
      if (order3 === besides || order3.stage === "processing" || isPositionOrder(order3)) continue;
      exposures.push(this.exposure(order3, at));
    }
    return exposures;
  }
  exposure(order3, at, terms) {
    const price2 = terms?.price ?? order3.price ?? this.market(order3.marketId).midAt(at);
    return { marketId: order3.marketId, side: order3.side, size: terms?.size ?? order3.size, price: price2 };
  }
  affords(exposure2, at, besides) {
    const { account } = this.parts;
    const free = account.free(at, this.exposures(at, besides));
    return account.orderMargin(exposure2).lessThanOrEqualTo(Decimal.max(0, free));
  }
  /** Whether a position order stands against a position. */
  closes(order3) {
    const net = this.parts.account.net(order3.marketId);
    return order3.side === "short" ? net.greaterThan(0) : net.lessThan(0);
  }
  wait(order3, at) {
    order3.stage = "waiting";
    this.parts.book.note(order3, at);
    const market4 = this.market(order3.marketId);
    if (market4.triggersNow(order3)) this.trigger(order3, at);
    else market4.watch(order3);
  }
  trigger(order3, at) {
    const market4 = this.market(order3.marketId);
    market4.unwatch(order3);
    if (isPositionOrder(order3)) {
      const held = this.closes(order3) ? this.parts.account.net(order3.marketId).abs() : new Decimal(0);
      order3.size = held.times(order3.size).div(market4.lot).floor().times(market4.lot);
      order3.initialSize = order3.size;
    }
    if (order3.size.isZero()) this.end(order3, "rejected", "NO_POSITION", at);
    else this.enter(order3, at);
  }
  /** Into the book: takes what is there, then rests or ends by its time in force. */
  enter(order3, at) {
    const market4 = this.market(order3.marketId);
    const tif2 = order3.timeInForce;
    if (tif2 === "post_only" && market4.crossesNow(order3)) {
      this.end(order3, "rejected", "POST_ONLY_WOULD_CROSS", at);
      return;
    }
    if (tif2 === "fill_or_kill" && market4.available(order3).lessThan(order3.size)) {
      this.end(order3, "rejected", "FILL_OR_KILL_NOT_FILLED", at);
      return;
    }
    order3.stage = "working";
    this.parts.book.note(order3, at);
    for (const execution of market4.take(order3)) this.fill(order3, execution, false, at);
    if (isTerminal2(order3)) return;
    if (tif2 === "immediate_or_cancel") {
      this.end(order3, this.parts.settings.surprises.iocRest, "IMMEDIATE_OR_CANCEL", at);
    } else {
      market4.watch(order3);
    }
  }
  fill(order3, { price: price2, size }, isMaker, at) {
    const { account, book: book2, settings } = this.parts;
    const atUs = book2.stamp(at);
    const fee = account.fee(price2, size, isMaker);
    account.trade({ marketId: order3.marketId, side: order3.side, price: price2, size, fee, atUs });
    order3.filled = order3.filled.plus(size);
    order3.size = order3.size.minus(size);
    book2.addFill(order3, {
      at,
      record: {
        trade_id: this.nextTrade(order3.marketId),
        id: this.nextTrade(order3.marketId),
        order_id: order3.id,
        market_id: order3.marketId,
        profile_id: settings.account.id,
        side: order3.side,
        price: decimalText(price2),
        size: decimalText(size),
        fee: decimalText(fee),
        is_maker: isMaker,
        liquidation: false,
        timestamp: atUs
      }
    });
    if (order3.size.isZero()) this.end(order3, "closed", "", at);
    else book2.note(order3, at);
  }
  nextPriority() {
    this.priorities += 1;
    return this.priorities;
  }
  nextTrade(marketId) {
    const number = (this.trades.get(marketId) ?? 0) + 1;
    this.trades.set(marketId, number);
    return `${marketId}-${number}`;
  }
};

// ../src/gateway/simulator/matching.ts
var LOOKAHEAD_STEPS = 512;
var Market = class {
  id;
  grid;
  lot;
  minSize;
  path;
  depth;
  levels;
  active = /* @__PURE__ */ new Set();
  /** The last step that has been worked off. */
  step = 0;
  eatenAsks = [];
  eatenBids = [];
  planned;
  constructor(id, config, grid, path) {
    this.id = id;
    this.grid = grid;
    this.path = path;
    this.lot = decimal(config.lot);
    this.minSize = decimal(config.min_size);
    this.depth = decimal(config.depth);
    this.levels = config.levels;
  }
  quoteAt(ms) {
    return this.path.quote(this.path.stepAt(ms));
  }
  midAt(ms) {
    return this.grid.price(this.path.mid(this.path.stepAt(ms)));
  }
  /** Watches the price for an order: a waiting one for its trigger, a working one for its limit. */
  watch(order3) {
    this.active.add(order3);
    this.planned = void 0;
  }
  unwatch(order3) {
    if (this.active.delete(order3)) this.planned = void 0;
  }
  /** When the market must be looked at next, epoch ms; undefined where nothing will ever happen to a watched order. */
  next() {
    if (this.active.size === 0) return void 0;
    this.planned ??= this.search();
    return this.planned.at === Number.POSITIVE_INFINITY ? void 0 : this.planned;
  }
  search() {
    const reach = this.reached();
    const end = Math.min(this.step + LOOKAHEAD_STEPS, Math.max(this.path.lastChange, this.step + 1));
    for (let step = this.step + 1; step <= end; step += 1) {
      if (reaches(reach, this.path.quote(step))) return { at: this.path.timeOf(step), happens: true };
    }
    return { at: end > this.path.lastChange ? Number.POSITIVE_INFINITY : this.path.timeOf(end), happens: false };
  }
  /** Moves to the step in force at a time; liquidity is whole again there. What `next` gave for before then must be done. */
  moveTo(ms) {
    const step = this.path.stepAt(ms);
    if (this.planned !== void 0 && this.planned.at <= ms) this.planned = void 0;
    if (step <= this.step) return;
    this.step = step;
    this.eatenAsks = [];
    this.eatenBids = [];
  }
  /** Waiting orders whose trigger the price has reached, in order of arrival. */
  triggered() {
    const { mid } = this.path.quote(this.step);
    return this.inOrder((order3) => order3.stage === "waiting" && this.triggers(order3, mid));
  }
  /** Working orders that the present step fills, best price first, then by priority. */
  crossed() {
    const quote = this.path.quote(this.step);
    return this.inOrder((order3) => order3.stage === "working" && this.crosses(order3, quote)).sort((a, b) => {
      if (a.side !== b.side || a.price === void 0 || b.price === void 0) return a.priority - b.priority;
      const better = a.side === "long" ? b.price.comparedTo(a.price) : a.price.comparedTo(b.price);
      return better || a.priority - b.priority;
    });
  }
  /** Whether the present price would fill at least part of an order that came in now. */
  crossesNow(order3) {
    return this.crosses(order3, this.path.quote(this.step));
  }
  triggersNow(order3) {
    return this.triggers(order3, this.path.mid(this.step));
  }
  /** Takes what is offered up to the order's price, from the touch outward, at the prices offered. */
  take(order3) {
    const executions = [];
    let wanted = order3.size;
    this.walk(order3, (level, offered) => {
      const size = Decimal.min(offered, wanted);
      wanted = wanted.minus(size);
      this.eat(order3, level, size);
      executions.push({ price: this.grid.price(this.levelTicks(order3, level)), size });
      return wanted.greaterThan(0);
    });
    return executions;
  }
  /** Fills a resting order at its own price with what would have traded through it. */
  fillResting(order3) {
    let filled = new Decimal(0);
    this.walk(order3, (level, offered) => {
      const size = Decimal.min(offered, order3.size.minus(filled));
      this.eat(order3, level, size);
      filled = filled.plus(size);
      return filled.lessThan(order3.size);
    });
    if (filled.isZero()) return void 0;
    return { price: order3.price ?? this.grid.price(this.path.mid(this.step)), size: filled };
  }
  /** How much an order could take now. */
  available(order3) {
    let sum3 = new Decimal(0);
    this.walk(order3, (_2, offered) => {
      sum3 = sum3.plus(offered);
      return sum3.lessThan(order3.size);
    });
    return sum3;
  }
  /** Visits the levels an order can reach, from the touch outward, while `visit` says so. */
  walk(order3, visit) {
    const eaten = order3.side === "long" ? this.eatenAsks : this.eatenBids;
    const limit = this.limitTicks(order3);
    for (let level = 0; level < this.levels; level += 1) {
      const ticks = this.levelTicks(order3, level);
      if (ticks <= 0 || (order3.side === "long" ? ticks > limit : ticks < limit)) return;
      const offered = this.depth.minus(eaten[level] ?? 0);
      if (offered.greaterThan(0) && !visit(level, offered)) return;
    }
  }
  levelTicks(order3, level) {
    const { bid, ask } = this.path.quote(this.step);
    return order3.side === "long" ? ask + level : bid - level;
  }
  /** The worst price an order accepts, as a count of ticks; an infinity where it accepts every price. */
  limitTicks({ side: side2, price: price2 }) {
    if (side2 === "long") return price2 === void 0 ? Number.POSITIVE_INFINITY : this.grid.ticks(price2, "down");
    return price2 === void 0 ? Number.NEGATIVE_INFINITY : this.grid.ticks(price2, "up");
  }
  eat(order3, level, size) {
    const eaten = order3.side === "long" ? this.eatenAsks : this.eatenBids;
    eaten[level] = size.plus(eaten[level] ?? 0);
  }
  crosses(order3, quote) {
    return order3.side === "long" ? quote.ask <= this.limitTicks(order3) : quote.bid >= this.limitTicks(order3);
  }
  triggers(order3, mid) {
    if (order3.trigger === void 0) return false;
    return risesTo(order3) ? mid >= this.grid.ticks(order3.trigger, "up") : mid <= this.grid.ticks(order3.trigger, "down");
  }
  inOrder(chosen) {
    return [...this.active].filter(chosen).sort((a, b) => a.number - b.number);
  }
  /** The prices at which something happens to any watched order, as counts of ticks. */
  reached() {
    const never = { falls: Number.NEGATIVE_INFINITY, rises: Number.POSITIVE_INFINITY };
    const reach = { askFalls: never.falls, bidRises: never.rises, midRises: never.rises, midFalls: never.falls };
    for (const order3 of this.active) {
      if (order3.stage === "waiting" && order3.trigger !== void 0) {
        if (risesTo(order3)) reach.midRises = Math.min(reach.midRises, this.grid.ticks(order3.trigger, "up"));
        else reach.midFalls = Math.max(reach.midFalls, this.grid.ticks(order3.trigger, "down"));
      } else if (order3.stage === "working") {
        if (order3.side === "long") reach.askFalls = Math.max(reach.askFalls, this.limitTicks(order3));
        else reach.bidRises = Math.min(reach.bidRises, this.limitTicks(order3));
      }
    }
    return reach;
  }
};
function reaches(reach, quote) {
  return quote.ask <= reach.askFalls || quote.bid >= reach.bidRises || quote.mid >= reach.midRises || quote.mid <= reach.midFalls;
}
function risesTo(order3) {
  if (!isPositionOrder(order3)) return order3.side === "long";
  return order3.type === "stop_loss" === (order3.side === "long");
}

// ../src/gateway/simulator/prices.ts
var WALK_STEP_MS = 1e3;
var POINTS_STEP_MS = 100;
var PriceGrid = class {
  tick;
  constructor(tick2) {
    this.tick = tick2;
  }
  price(ticks) {
    return this.tick.times(ticks);
  }
  /** The largest count of ticks at or below a price, or the smallest at or above it. Prices far outside give an infinity. */
  ticks(price2, toward) {
    const exact2 = price2.div(this.tick);
    const whole2 = toward === "down" ? exact2.floor() : exact2.ceil();
    return whole2.greaterThan(Number.MAX_SAFE_INTEGER) ? Number.POSITIVE_INFINITY : Number(whole2.toFixed());
  }
};
var KEPT_STEPS = 4096;
var PricePath = class {
  /** The step after which the price stands still for ever; infinity for a walk. */
  lastChange;
  originMs;
  stepMs;
  half;
  points;
  walk;
  constructor(market4, grid, originMs, stream) {
    const { path } = market4;
    this.originMs = originMs;
    this.stepMs = path.stepMs ?? (path.kind === "walk" ? WALK_STEP_MS : POINTS_STEP_MS);
    const start = grid.ticks(decimal(market4.start), "down");
    this.half = Math.max(1, Math.round(start * market4.spreadBps / 2e4));
    this.points = pointsOf(path, start, this.stepMs, grid);
    this.walk = path.kind === "walk" ? new Walk(start, this.half + 1, path.volatilityBps, stream) : void 0;
    this.lastChange = this.walk === void 0 ? this.points.at(-1)?.step ?? 0 : Number.POSITIVE_INFINITY;
  }
  /** The step in force at a time; times before the start have the first. */
  stepAt(ms) {
    return Math.max(0, Math.floor((ms - this.originMs) / this.stepMs));
  }
  timeOf(step) {
    return this.originMs + step * this.stepMs;
  }
  quote(step) {
    const mid = this.mid(step);
    return { bid: mid - this.half, mid, ask: mid + this.half };
  }
  /** The mid price at a step, in ticks. */
  mid(step) {
    if (this.walk !== void 0) return this.walk.at(step);
    let low = 0;
    for (let high = this.points.length - 1; low < high; ) {
      const middle = low + high + 1 >> 1;
      if (this.points[middle].step <= step) low = middle;
      else high = middle - 1;
    }
    return this.points[low].ticks;
  }
};
function pointsOf(path, start, stepMs, grid) {
  if (path.kind === "walk") return [];
  const points = path.points.map(({ afterMs, price: price2 }) => ({
    step: Math.ceil(afterMs / stepMs),
    ticks: grid.ticks(decimal(price2), "down")
  }));
  return points[0]?.step === 0 ? points : [{ step: 0, ticks: start }, ...points];
}
var Walk = class {
  position;
  least;
  deviation;
  stream;
  steps;
  /** The step that `steps[0]` is. */
  first = 0;
  constructor(start, least, volatilityBps, stream) {
    this.position = start;
    this.least = least;
    this.deviation = volatilityBps / 1e4;
    this.stream = stream;
    this.steps = [start];
  }
  at(step) {
    while (this.first + this.steps.length <= step) this.grow();
    const ticks = this.steps[step - this.first];
    if (ticks === void 0)
      throw new RangeError(`step ${step} of the price path is gone; the oldest kept is ${this.first}`);
    return ticks;
  }
  grow() {
    const { stream } = this;
    const normal = (stream.next() + stream.next() + stream.next() + stream.next() - 2) * 1.7320508075688772;
    this.position = Math.max(this.least, this.position * (1 + this.deviation * normal));
    this.steps.push(Math.round(this.position));
    if (this.steps.length >= 4 * KEPT_STEPS) {
      this.steps.splice(0, this.steps.length - 2 * KEPT_STEPS);
      this.first += 2 * KEPT_STEPS;
    }
  }
};

// ../src/gateway/simulator/sessions.ts
import { createHash as createHash3, createHmac } from "node:crypto";
var SIGNATURE_LIFE_S = 600;
var Sessions = class {
  config;
  /** Token to its end, epoch ms. */
  ends = /* @__PURE__ */ new Map();
  spent = /* @__PURE__ */ new Set();
  refreshToken;
  issued = 0;
  constructor(config, startedAt) {
    this.config = config;
    this.refreshToken = config.refreshToken;
    if (config.token !== void 0) this.ends.set(config.token, this.endOf(startedAt));
  }
  /** A new JWT: `iat` and `exp` are claims a client can read; the signature is a word. */
  issue(at) {
    this.issued += 1;
    const claims = { sub: "simulated", jti: this.issued, iat: Math.floor(at / 1e3), ...this.expiryClaim(at) };
    const token2 = [{ alg: "none", typ: "JWT" }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url")).join(".");
    this.ends.set(`${token2}.simulated`, this.endOf(at));
    return `${token2}.simulated`;
  }
  /** Refuses a caller that is not known, or whose token has run out. */
  check(request2, caller, at) {
    if (this.config.mode === "off") return;
    if (!caller.inProcess && this.config.mode === "api_key") this.checkSignature(request2, at);
    else this.checkToken(request2, caller, at);
  }
  checkToken(request2, caller, at) {
    const token2 = caller.inProcess ? caller.token : this.carried(request2.headers);
    if (token2 === void 0 && caller.inProcess && this.config.accept === "any") return;
    if (token2 === void 0 || token2 === "") throw new Refusal("UNAUTHORIZED", "no JWT was sent", 401);
    let end = this.ends.get(token2);
    if (end === void 0 && this.config.accept === "any") {
      end = this.endOf(at);
      this.ends.set(token2, end);
    }
    if (end === void 0) throw new Refusal("UNAUTHORIZED", "the JWT is not known", 401);
    if (at >= end) throw new Refusal("JWT_EXPIRED", "the JWT has expired", 401);
  }
  /** POST /jwt: a new token for a refresh token that is good; with rotation the old one is spent. */
  refresh(refreshToken, at) {
    const wanted = this.refreshToken;
    const good = wanted === void 0 ? refreshToken !== "" && !this.spent.has(refreshToken) : refreshToken === wanted;
    if (!good) throw new Refusal("INVALID_REFRESH_TOKEN", "the refresh token is not good", 401);
    const jwt = this.issue(at);
    if (!this.config.rotate) return { jwt };
    this.spent.add(refreshToken);
    this.refreshToken = `simulated-refresh-${this.issued}`;
    return { jwt, refresh_token: this.refreshToken };
  }
  endOf(at) {
    return this.config.lifeMs === void 0 ? Number.POSITIVE_INFINITY : at + this.config.lifeMs;
  }
  expiryClaim(at) {
    return this.config.lifeMs === void 0 ? {} : { exp: Math.floor(this.endOf(at) / 1e3) };
  }
  carried(headers) {
    const { cookie, header: header2, prefix } = this.config;
    if (cookie !== void 0) {
      const pairs = (headers["cookie"] ?? "").split(";").map((pair) => pair.trim());
      return pairs.find((pair) => pair.startsWith(`${cookie}=`))?.slice(cookie.length + 1);
    }
    const text2 = headers[header2.toLowerCase()];
    return text2?.startsWith(prefix) ? text2.slice(prefix.length) : void 0;
  }
  checkSignature({ headers, params, placement, method, path }, at) {
    const { key: key2, secret } = this.config.apiKey;
    if (headers["rbt-api-key"] !== key2) throw new Refusal("UNAUTHORIZED", "the API key is not known", 401);
    const expiry = headers["rbt-ts"] ?? "";
    const left = /^\d+$/.test(expiry) ? Number(expiry) - at / 1e3 : -1;
    if (left <= 0 || left > SIGNATURE_LIFE_S)
      throw new Refusal("SIGNATURE_EXPIRED", "RBT-TS is past or too far ahead", 401);
    const body2 = placement === "body" ? Object.entries(params).map(([name2, value2]) => [name2, value2.text]) : [];
    const message = [...body2, ["method", method], ["path", path]].sort(([a = ""], [b = ""]) => a < b ? -1 : 1).map(([name2, text2]) => `${name2}=${text2}`).join("");
    const digest2 = createHash3("sha256").update(message + expiry).digest();
    const wanted = `0x${createHmac("sha256", Buffer.from(secret.slice(2), "hex")).update(digest2).digest("hex")}`;
    if (headers["rbt-signature"] !== wanted)
      throw new Refusal("INVALID_SIGNATURE", "the signature does not fit the request", 401);
  }
};

// ../src/gateway/simulator/venue.ts
function openVenue(settings, clock, chance2) {
  const startedAt = clock.now();
  const markets = openMarkets(settings, startedAt, chance2);
  const book2 = new Book(settings.account.id, settings.surprises.stopStatus);
  const account = new Account(settings.account, [...markets.keys()], startedAt, (id, at) => floor.market(id).midAt(at));
  const floor = new Floor({ settings, book: book2, account, markets });
  const agenda = new Agenda(clock, [...markets.values()], (market4, at) => floor.step(market4, at));
  const desk = new Desk({ settings, chance: chance2, agenda, floor, book: book2 });
  const deadman = new DeadmanSwitch(clock, settings.surprises.deadmanDelayMs, (at) => desk.cancelByDeadman(at));
  const sessions = new Sessions(settings.auth, startedAt);
  floor.openWith(settings.account, startedAt);
  agenda.watch();
  return { settings, markets, book: book2, account, floor, agenda, desk, deadman, sessions };
}
function openMarkets(settings, startedAt, chance2) {
  return new Map(
    Object.entries(settings.markets).map(([id, config]) => {
      const grid = new PriceGrid(decimal(config.tick));
      const path = new PricePath(config, grid, startedAt, chance2.stream(`prices ${id}`));
      return [id, new Market(id, config, grid, path)];
    })
  );
}

// ../src/gateway/simulator/simulator.ts
var HANDLE_TIMEOUT_MS = 3e4;
var ROWS_PER_LATENCY = 50;
var KEPT_REQUESTS = 25e4;
var Simulator = class {
  /** Tick, lot and smallest size of each market. */
  markets;
  clock;
  chance;
  venue;
  gate;
  faults;
  startedAt;
  seen = [];
  calls = /* @__PURE__ */ new Map();
  /** `seed` is a whole number. Throws RangeError on a configuration that `readSimulatorConfig` reports problems of. */
  constructor(config, clock, seed) {
    const settings = complete(config);
    this.clock = clock;
    this.startedAt = clock.now();
    this.chance = new Chance(seed);
    this.markets = Object.fromEntries(
      Object.entries(settings.markets).map(([id, { tick: tick2, lot: lot2, min_size }]) => [id, { tick: tick2, lot: lot2, min_size }])
    );
    this.venue = openVenue(settings, clock, this.chance);
    this.gate = new Gate(this.venue, this.startedAt);
    this.faults = new Faults(settings.faults, this.chance);
  }
  /**
   * A transport into this venue. Without credentials it is taken as known, unless the configuration limits the life of
   * tokens or takes only issued ones: then it holds a token of its own, which its POST /jwt renews.
   */
  transport(credentials) {
    const { lifeMs, accept } = this.venue.settings.auth;
    const holds = credentials === void 0 && (lifeMs !== void 0 || accept === "issued");
    let own2 = holds ? this.venue.sessions.issue(this.clock.now()) : void 0;
    return {
      send: (request2, { timeoutMs }) => new Promise((resolve2) => {
        const timer = this.clock.at(this.clock.now() + timeoutMs, () => resolve2(TIMED_OUT));
        const caller = { inProcess: true, token: credentials === void 0 ? own2 : credentials.token() };
        const venueRequest = { ...request2, headers: {} };
        this.exchange(venueRequest, caller, (delivery) => {
          if (holds && request2.endpoint === "POST /jwt") own2 = issuedToken(delivery) ?? own2;
          const reply = replyOf(delivery);
          if (reply === void 0) return;
          timer.cancel();
          resolve2(reply);
        });
      })
    };
  }
  /** One request as it comes over HTTP, answered as a transport would: what never comes is a failure after `timeoutMs`. */
  handle(request2, timeoutMs = HANDLE_TIMEOUT_MS) {
    return new Promise((resolve2) => {
      const timer = this.clock.at(this.clock.now() + timeoutMs, () => resolve2(TIMED_OUT));
      this.serve(request2, (delivery) => {
        const reply = replyOf(delivery);
        if (reply === void 0) return;
        timer.cancel();
        resolve2(reply);
      });
    });
  }
  /** One request as it comes over HTTP; `deliver` is called once, in a turn of the clock, also where nothing is to be sent. */
  serve(request2, deliver) {
    let read2;
    try {
      read2 = readHttp(request2);
    } catch (problem) {
      if (!(problem instanceof Refusal)) throw problem;
      read2 = {
        method: request2.method,
        path: request2.path,
        params: {},
        placement: "query",
        headers: request2.headers,
        unreadable: problem
      };
    }
    this.exchange(read2, { inProcess: false, token: void 0 }, deliver);
  }
  /**
   * A price of a market as it stands now: mid, bid, ask, mark, index or last. `key` is the market, which may be left out
   * where there is only one. Undefined for a name or market there is not.
   */
  feed(name2, key2) {
    const { markets } = this.venue;
    const only2 = markets.size === 1 ? [...markets.values()][0] : void 0;
    const market4 = key2 === void 0 ? only2 : markets.get(key2);
    if (market4 === void 0 || !isFeedName(name2)) return void 0;
    const at = this.clock.now();
    return { value: feedPrice(market4, name2, at), at };
  }
  /** What is really so: orders with their whole history, fills, the switch, tokens, every request that was sent here. */
  books() {
    const at = this.clock.now();
    const { account, agenda, book: book2, deadman, floor } = this.venue;
    agenda.settle(at);
    const record2 = account.record(at, floor.exposures(at));
    return booksOf({ book: book2, deadman, tokens: this.gate.tokens, seen: this.seen, account: record2, at });
  }
  /** Other faults from now on. */
  setFaults(rules) {
    this.faults.replace(rules);
  }
  // The road
  exchange(request2, caller, deliver) {
    const sentAt = this.clock.now();
    const name2 = requestName(request2);
    const call3 = (this.calls.get(name2) ?? 0) + 1;
    this.calls.set(name2, call3);
    const latency = this.chance.within(this.venue.settings.latencyMs, `latency ${name2}`, call3);
    const fault = this.faults.meet({
      endpoint: name2,
      type: request2.params["type"]?.text,
      market: request2.params["market_id"]?.text,
      elapsedMs: sentAt - this.startedAt
    });
    const there = Math.floor(latency / 2);
    const late = fault?.do === "delay" ? fault.ms ?? 0 : 0;
    const arrivesAt = sentAt + there + (fault?.way === "request" ? late : 0);
    const undelivered = turnedBack(fault);
    if (undelivered !== void 0) {
      this.note({ request: request2, sentAt, fault });
      this.clock.at(sentAt + there, () => deliver(undelivered));
      return;
    }
    this.clock.at(arrivesAt, () => {
      const judged = this.gate.answer(request2, caller, arrivesAt, fault);
      this.note({ request: request2, sentAt, arrivedAt: arrivesAt, judged, fault });
      const scan = judged.tokens === 0 ? 0 : Math.round(latency * (this.fullScan(request2) - 1));
      const back = latency - there + scan + (fault?.way === "request" ? 0 : late);
      this.clock.at(arrivesAt + back, () => deliver(deliveryOf(judged.said.answer, fault)));
    });
  }
  /** Orders, Fills: without start_time the whole history is read, up to about ten times slower. */
  fullScan(request2) {
    const { book: book2 } = this.venue;
    const rows2 = { "GET /orders": book2.orders.length, "GET /fills": book2.fills.length }[requestName(request2)];
    if (rows2 === void 0 || request2.params["start_time"] !== void 0) return 1;
    return Math.min(this.venue.settings.fullScanFactor, 1 + rows2 / ROWS_PER_LATENCY);
  }
  note(what) {
    const { request: request2, sentAt, arrivedAt, judged, fault } = what;
    if (this.seen.length >= KEPT_REQUESTS) this.seen.splice(0, KEPT_REQUESTS / 10);
    this.seen.push({
      sentAt,
      ...arrivedAt === void 0 ? {} : { arrivedAt },
      method: request2.method,
      path: request2.path,
      params: redacted(request2),
      tokens: judged?.tokens ?? 0,
      ...judged === void 0 ? {} : saidOf(judged),
      ...fault === void 0 ? {} : { fault: fault.do }
    });
  }
};
function saidOf({ said: said2, refusal }) {
  const { answer: answer2, success, error: error3 } = said2;
  return { status: answer2.status, success, error: error3, ...refusal === void 0 ? {} : { refusal } };
}
function redacted(request2) {
  const name2 = requestName(request2);
  const rows2 = isEndpoint(name2) ? endpoint(name2).parameters : {};
  return Object.fromEntries(
    Object.entries(request2.params).map(([key2, value2]) => [
      key2,
      Object.hasOwn(rows2, key2) && rows2[key2]?.secret ? "[redacted]" : value2.text
    ])
  );
}
function issuedToken(delivery) {
  if (delivery.kind !== "answer" || delivery.wire !== void 0 || delivery.answer.status !== 200) return void 0;
  try {
    const { success, result: result2 } = JSON.parse(delivery.answer.body);
    const first = success ? result2[0] : void 0;
    return typeof first === "object" ? first.jwt : first;
  } catch {
    return void 0;
  }
}

// ../src/journal/run-log.ts
var RunLog = class {
  book;
  writer;
  observers;
  /** `observers` are told before the book, whose listeners write entries of their own. */
  constructor(writer, book2, observers) {
    this.writer = writer;
    this.book = book2;
    this.observers = observers;
  }
  append = (type, data, step, actor) => {
    this.book.apply(this.sealed(type, data, step, actor));
  };
  /** Writes what the book has taken in before it could be sealed: behind the end of a record, as a run is taken up again. */
  keep = (type, data, step, actor) => {
    this.sealed(type, data, step, actor);
  };
  flush() {
    return this.writer.flush();
  }
  sealed(type, data, step, actor) {
    const entry = this.writer.append(type, data, step, actor);
    for (const observe2 of this.observers) observe2(entry);
    return entry;
  }
};

// ../src/journal/chain.ts
import { hash as digest } from "node:crypto";
var EMPTY_HEAD = { seq: 0, hash: "0".repeat(64) };
var DOMAIN = "rbe-audit-v1\0";
function sealEntry(body2, envelope2, head) {
  const { at, mono, boot, epoch, account, run, def, step, actor } = envelope2;
  const { type, data } = body2;
  const seq = head.seq + 1;
  const prev = head.hash;
  const line = escapeUnprintable(
    `${lineStart({ run, seq, at, type, step }, prev)}${JSON.stringify({ mono, boot, epoch, account, def, actor, data }).slice(1)}`
  );
  const hash = hashLine(line);
  const entry = { v: 1, seq, at, mono, boot, epoch, account, run, def, step, actor, prev, type, data, hash };
  return { entry, stored: { run, seq, at, type, step, line, hash } };
}
function lineStart(columns, prev) {
  const { run, seq, at, type, step } = columns;
  return `{"v":1,"run":${JSON.stringify(run)},"seq":${seq},"at":${at},"type":${JSON.stringify(type)},"step":${JSON.stringify(step)},"prev":"${prev}",`;
}
function hashLine(line) {
  return digest("sha256", DOMAIN + line, "hex");
}

// ../src/journal/writer.ts
var BATCH = 256;
var JournalWriter = class {
  store;
  options;
  listeners = /* @__PURE__ */ new Set();
  durableListeners = /* @__PURE__ */ new Set();
  untold = [];
  telling = false;
  buffer = [];
  row;
  rowChanged;
  hasEnded = false;
  sealed;
  stored;
  /** The commit that takes what is buffered now; undefined when none is due. */
  due;
  running = Promise.resolve();
  failed;
  constructor(store, options) {
    this.store = store;
    this.options = options;
    this.sealed = options.head ?? EMPTY_HEAD;
    this.stored = this.sealed;
    this.row = options.row;
    this.rowChanged = options.row !== void 0;
  }
  /** The last entry appended. */
  get head() {
    return this.sealed;
  }
  /** The last entry the store has. */
  get storedHead() {
    return this.stored;
  }
  /** Why nothing is written any more, once a commit has failed. */
  get failure() {
    return this.failed;
  }
  /**
   * Seals an entry and tells the listeners, in the order of the entries even when a listener appends. After a failure
   * entries are still sealed and told, so that a run can be wound down in sight of its reader, but kept nowhere.
   */
  append(type, data, step = "", actor = this.options.actor) {
    const { run, account, def, boot, epoch, clock } = this.options;
    const body2 = { type, data };
    const mono = Math.round(clock.monotonic() * 1e3) / 1e3;
    const { entry, stored } = sealEntry(body2, { v: 1, at: clock.now(), mono, boot, epoch, account, run, def, step, actor }, this.sealed);
    this.sealed = { seq: entry.seq, hash: entry.hash };
    this.follow(entry);
    if (this.failed === void 0) {
      this.buffer.push(stored);
      if (!this.options.durable && this.buffer.length >= BATCH) void this.commitSoon();
    }
    this.tell(entry);
    return entry;
  }
  /**
   * Resolves when everything appended so far is durable (with `durable: false`: at once, unless the run has ended). Rejects
   * with the StoreError of the first commit that failed, now and ever after.
   */
  flush() {
    if (this.failed !== void 0) return Promise.reject(this.failed);
    if (!this.options.durable && !this.hasEnded) return Promise.resolve();
    return this.commitSoon();
  }
  /** Writes whatever is left, durable or not. The writer can be used afterwards; the store stays open. */
  close() {
    return this.failed === void 0 ? this.commitSoon() : Promise.reject(this.failed);
  }
  /** Calls `listener` with every entry appended from now on, in order, inside `append`. */
  subscribe(listener) {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }
  /** Calls `listener` with the head after each commit. */
  onStored(listener) {
    this.durableListeners.add(listener);
    return () => void this.durableListeners.delete(listener);
  }
  /** Keeps the run's row in step with its entries. */
  follow(entry) {
    const row = nextRow(this.row, entry);
    if (row === this.row) return;
    this.row = row;
    this.rowChanged = true;
    this.hasEnded ||= row?.outcome !== void 0;
  }
  tell(entry) {
    this.untold.push(entry);
    if (this.telling) return;
    this.telling = true;
    try {
      for (let next = this.untold.shift(); next !== void 0; next = this.untold.shift()) {
        for (const listener of this.listeners) listener(next);
      }
    } finally {
      this.telling = false;
    }
  }
  /** One commit for all who ask before it begins. */
  commitSoon() {
    if (this.buffer.length === 0) return this.running;
    if (this.due === void 0) {
      const due = endOfTurn(this.running).then(() => this.commit());
      this.due = due;
      this.running = due;
      due.catch(() => {
      });
    }
    return this.due;
  }
  async commit() {
    this.due = void 0;
    if (this.failed !== void 0) throw this.failed;
    const entries = this.buffer;
    const { durable, epoch } = this.options;
    const row = this.rowChanged ? this.row : void 0;
    this.buffer = [];
    this.rowChanged = false;
    try {
      await this.store.append(entries, { durable, epoch, ...row === void 0 ? {} : { row } });
    } catch (error3) {
      this.failed = error3 instanceof StoreError ? error3 : new StoreError("unavailable", error3.message);
      this.buffer = [];
      throw this.failed;
    }
    const last = entries.at(-1);
    this.stored = { seq: last.seq, hash: last.hash };
    for (const listener of this.durableListeners) listener(this.stored);
  }
};
async function endOfTurn(before) {
  await before.catch(() => {
  });
  await new Promise((resolve2) => process.nextTick(resolve2));
}
function nextRow(row, entry) {
  if (entry.type === "run.started" && row === void 0) {
    const { runbook, mode, account, trigger: trigger2, startedAt } = entry.data;
    return { run: entry.run, runbook, mode, account, trigger: trigger2, startedAt };
  }
  if (entry.type === "run.ended" && row !== void 0) return { ...row, endedAt: entry.at, outcome: entry.data.outcome };
  return row;
}

// ../src/venue/profile.ts
import { dirname, isAbsolute, join } from "node:path";

// ../src/venue/profile-settings.ts
var RESULT_WORDS = [
  "price",
  "size",
  "money",
  "number",
  "integer",
  "text",
  "market",
  "side",
  "boolean",
  "time"
];
var MARKET_PATTERN = "^[A-Za-z0-9._]{1,32}-[A-Za-z0-9._]{1,32}$";
var NAME_PATTERN2 = "^[A-Za-z][A-Za-z0-9_-]{0,63}$";
var HEADER_PATTERN = "^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$";
var header = (about) => ({ form: "text", pattern: HEADER_PATTERN, accepts: "a header name", about });
var name = (about) => ({ form: "text", pattern: NAME_PATTERN2, accepts: "a letter, then letters, digits, _ or -", about });
var market3 = { form: "text", pattern: MARKET_PATTERN, accepts: "a market id, <BASE>-<QUOTE>" };
var DAY_MS = 864e5;
var duration2 = (about, minMs, maxMs) => ({ form: "duration", minMs, maxMs, about });
var decimal4 = (about) => ({ form: "decimal", about });
var whole = (about, min, max) => ({ form: "whole", min, max, about });
var throttle2 = (about) => ({
  form: "group",
  about,
  fields: {
    max: { ...whole("how many", 1, 1e6), required: true },
    window: { ...duration2("in which time", 1, 30 * DAY_MS), required: true }
  }
});
var LIMIT_SETTINGS = {
  markets: { form: "list", of: market3, about: "the only markets orders may be placed in" },
  sides: { form: "list", of: { form: "word", of: SIDES }, about: "the only sides of orders that may raise exposure" },
  order_types: { form: "list", of: { form: "word", of: ORDER_TYPES }, about: "the only order types" },
  max_order_size: decimal4("largest size of one order, base currency"),
  max_order_notional: decimal4("largest notional of one order, quote currency"),
  max_run_notional: decimal4("largest notional of all orders of a run"),
  max_market_notional: decimal4("largest notional of position and orders in one market"),
  max_exposure: decimal4("the same over all markets"),
  max_position: decimal4("largest position in one market, base currency"),
  max_open_orders: whole("most working orders of a run; the venue allows an account 1000", 0, 1e3),
  max_leverage: decimal4("largest leverage a runbook may set"),
  max_writes: whole("most requests of a run that change something", 0, 1e6),
  max_orders_per_minute: whole("most orders a minute of a run", 0, 1e5),
  price_band: {
    form: "group",
    about: "largest distance of a price from the reference",
    fields: {
      within: { ...decimal4("as a ratio: 0.03 is 3 %"), required: true },
      max_age: duration2("how old the reference may be", 1, DAY_MS)
    }
  },
  step_fills: throttle2("fills of one and the same step"),
  refusals: throttle2("refusals and contradictions"),
  self_match: { form: "word", of: ["deny", "allow"], about: "an order that would trade with an own resting one" },
  min_equity: decimal4("least equity of the account, quote currency"),
  min_health: decimal4("least health of the account"),
  max_account_age: duration2("how old the account record behind the two floors may be", 1, 30 * DAY_MS),
  max_read_age: duration2("how long ago the venue may last have been read", 1, 30 * DAY_MS),
  mode: { form: "word", of: TRADING_MODES, about: "active; reducing: only what lowers exposure; halted: only cancels" },
  market_modes: {
    form: "map",
    of: { form: "word", of: TRADING_MODES },
    key: MARKET_PATTERN,
    names: "a market id, <BASE>-<QUOTE>",
    about: "the same per market"
  }
};
var PROFILE_SETTINGS = {
  profile: { ...name("name of the profile"), required: true },
  base_url: {
    form: "text",
    pattern: "^https?://[^\\s]+$",
    accepts: "an https URL; http only to a loopback address",
    required: true,
    about: "where the venue is; https only, loopback excepted"
  },
  account: name("the name the lease and the journal use; main by default"),
  auth: {
    form: "group",
    required: true,
    about: "how requests are authenticated; secrets as references only",
    fields: {
      mode: {
        form: "word",
        of: ["jwt", "api_key", "none"],
        about: "jwt by default; none for a loopback address alone"
      },
      jwt: { form: "secret", about: "the JWT; may be absent when a refresh token is there" },
      refresh_token: { form: "secret", about: "obtains a new JWT when the current one has expired" },
      is_client: { form: "flag", about: "sent with POST /jwt; true by default" },
      header: header("header that carries the JWT; Authorization by default"),
      prefix: {
        form: "text",
        pattern: "^[\\x21-\\x7e]*[ ]?$",
        accepts: "printable characters",
        about: 'what stands before the JWT; "Bearer " in Authorization, else nothing'
      },
      cookie: {
        form: "text",
        pattern: HEADER_PATTERN,
        accepts: "a cookie name",
        about: "cookie that carries the JWT, instead of a header"
      },
      jwt_life: duration2("life of a JWT without exp claim; 48h by default", 6e4, 365 * DAY_MS),
      send_jwt_on_refresh: { form: "flag", about: "whether POST /jwt carries the JWT it replaces; true by default" },
      api_key: { form: "secret", about: "the API key, in mode api_key" },
      secret: { form: "secret", about: "the API key's secret, hex" },
      chain: {
        form: "text",
        pattern: "^[A-Za-z0-9._-]{1,64}$",
        accepts: "letters, digits, . _ or -",
        about: "value of the chain header; without it the header is not sent"
      },
      signature_life: duration2("life of a signature; 20s by default", 1e3, 6e5),
      signing_headers: {
        form: "group",
        about: "headers of a signed request",
        fields: {
          key: header("the API key; RBT-API-KEY by default"),
          expiry: header("the expiry, UNIX seconds; RBT-TS by default"),
          signature: header("the signature; RBT-SIGNATURE by default"),
          chain: header("the chain; EID by default")
        }
      }
    }
  },
  encoding: {
    form: "map",
    of: { form: "word", of: ["body", "query"] },
    keys: ENDPOINT_NAMES.filter((endpoint2) => !endpoint2.startsWith("GET ")),
    names: "an endpoint with another method than GET",
    about: "where the parameters of an endpoint travel; body by default"
  },
  rate_limit: {
    form: "group",
    about: "the token budget of the address",
    fields: {
      tokens: whole("tokens per window; 1200 by default", 1, 1e7),
      window: duration2("the window; 60s by default", 1e3, 36e5),
      shared_as: name("who shares the budget on this machine; default by default"),
      costs: {
        form: "map",
        of: { form: "whole", min: 0, max: 1e5 },
        keys: ENDPOINT_NAMES,
        names: "an endpoint",
        about: "tokens of endpoints the venue document gives no figure for; 10 by default"
      },
      order_rate: whole("order actions a second for the account; no such limit by default", 1, 1e5),
      statuses: {
        form: "list",
        of: { form: "whole", min: 200, max: 599 },
        about: "HTTP statuses that mean an exhausted limit; 429 by default"
      },
      reset_unit: {
        form: "word",
        of: RESET_UNITS,
        about: "unit of X-RateLimit-Reset; auto by default: by its magnitude"
      }
    }
  },
  position_orders: {
    form: "group",
    about: "how position stop-loss and take-profit orders are spelled",
    fields: {
      size_field: { form: "word", of: ["size", "size_percent"], about: "field of the fraction; size by default" },
      stop_loss: { form: "word", of: ["stop_loss", "stop_loss_limit"], about: "type of a stop-loss" },
      take_profit: { form: "word", of: ["take_profit", "take_profit_limit"], about: "type of a take-profit" }
    }
  },
  market_order_price: {
    form: "word",
    of: ["optional", "required"],
    about: "whether a market order needs a price; optional by default"
  },
  max_leverage: whole("the largest leverage the venue lets this account set; 20 by default", 1, 50),
  definite_rejects: {
    form: "list",
    of: { form: "text", pattern: "^[^\\u0000-\\u001f]{3,200}$", accepts: "at least three characters" },
    about: "error texts, or parts of them, that prove that nothing was placed"
  },
  markets: {
    form: "map",
    key: MARKET_PATTERN,
    names: "a market id, <BASE>-<QUOTE>",
    about: "the steps of each market",
    of: {
      form: "group",
      fields: {
        tick: { ...decimal4("smallest step of a price"), positive: true, required: true },
        lot: { ...decimal4("smallest step of a size"), positive: true, required: true },
        min_size: decimal4("smallest size of an order")
      }
    }
  },
  requests: {
    form: "map",
    key: NAME_PATTERN2,
    names: "a letter, then letters, digits, _ or -",
    about: "read-only endpoints the venue has and the venue document does not describe",
    of: {
      form: "group",
      fields: {
        method: { form: "word", of: ["GET"], required: true, about: "reads alone can be declared" },
        path: {
          form: "text",
          pattern: "^(?:/(?!\\.\\.?(?:/|$))[A-Za-z0-9._~-]+)+$",
          accepts: "a path such as /markets",
          required: true,
          about: "path below the base URL"
        },
        query: {
          form: "map",
          of: { form: "word", of: RESULT_WORDS },
          key: "^[A-Za-z_][A-Za-z0-9_]{0,63}$",
          names: "a parameter name",
          about: "its parameters and their types"
        },
        tokens: { ...whole("what it costs", 0, 1e5), required: true },
        result: {
          form: "shape",
          required: true,
          about: "type of its result: a word, {type: list, of: \u2026}, {type: map, of: \u2026} or {field: type, \u2026}; a ? behind a word where it may be absent"
        }
      }
    }
  },
  feeds: {
    form: "map",
    key: "^[A-Za-z][A-Za-z0-9_]{0,63}$",
    names: "a letter, then letters, digits or _",
    about: "where runbooks' feeds come from",
    of: {
      form: "group",
      fields: {
        request: { ...name("a declared request"), required: true },
        with: {
          form: "map",
          of: { form: "text", accepts: "a text; ${market} stands for the market" },
          key: "^[A-Za-z_][A-Za-z0-9_]{0,63}$",
          names: "a parameter name",
          about: "its parameters"
        },
        read: {
          form: "text",
          pattern: "^result(?:\\[\\d{1,4}\\]|\\.[A-Za-z_][A-Za-z0-9_]*)*$",
          accepts: "a place in the result, such as result[0].fair_price",
          required: true,
          about: "which value of the result it is"
        }
      }
    }
  },
  capabilities: {
    form: "list",
    of: { form: "text", pattern: NAME_PATTERN2, accepts: "a capability such as cancel_all" },
    about: "what runbooks on this account may need"
  },
  limits: { form: "group", fields: LIMIT_SETTINGS, about: "limits of the account; a runbook can only tighten them" },
  ambiguity: {
    form: "group",
    about: "orders whose fate is not known",
    fields: { window: duration2('no verdict "absent" and no second attempt before; 90s by default', 1e3, DAY_MS) }
  },
  allowed_addresses: {
    form: "list",
    of: {
      form: "text",
      pattern: "^[0-9A-Fa-f:.]{2,45}(?:/\\d{1,3})?$",
      accepts: "an IP address or a network such as 10.1.0.0/16"
    },
    about: "private addresses the base URL may resolve to; none by default"
  },
  store: {
    form: "group",
    about: "where runs are journaled",
    fields: {
      sqlite: { form: "text", pattern: "^[^\\u0000]+$", accepts: "a file", path: true, about: "an SQLite file" },
      postgres: { form: "secret", about: "the URL of a PostgreSQL database" }
    }
  },
  notify: {
    form: "map",
    key: NAME_PATTERN2,
    names: "a letter, then letters, digits, _ or -",
    about: "where notifications go, by name",
    of: {
      form: "group",
      fields: {
        webhook: { form: "secret", about: "a URL that takes a POST of JSON" },
        log: { form: "flag", about: "this program's own log" }
      }
    }
  }
};
var LIMIT_CONTROL_OF = {
  markets: "markets",
  sides: "sides",
  order_types: "orderTypes",
  max_order_size: "maxOrderSize",
  max_order_notional: "maxOrderNotional",
  max_run_notional: "maxRunNotional",
  max_market_notional: "maxMarketNotional",
  max_exposure: "maxExposure",
  max_position: "maxPosition",
  max_open_orders: "maxOpenOrders",
  max_leverage: "maxLeverage",
  max_writes: "maxWrites",
  max_orders_per_minute: "maxOrdersPerMinute",
  self_match: "selfMatch",
  min_equity: "minEquity",
  min_health: "minHealth",
  max_account_age: "maxAccountAgeMs",
  max_read_age: "maxReadAgeMs",
  mode: "mode",
  market_modes: "marketModes"
};

// ../src/venue/profile-reading.ts
var UNITS = [
  ["d", 864e5],
  ["h", 36e5],
  ["m", 6e4],
  ["s", 1e3],
  ["ms", 1]
];
function durationWord(ms) {
  let rest = ms;
  let text2 = "";
  for (const [name2, size] of UNITS) {
    const count2 = Math.floor(rest / size);
    if (count2 > 0) text2 += `${count2}${name2}`;
    rest -= count2 * size;
  }
  return text2 === "" ? "0ms" : text2;
}

// ../src/venue/profile-limits.ts
function limitRules(limits) {
  const { price_band: band, step_fills: fills, refusals: refusals2 } = limits;
  const rules = {};
  for (const [name2, control] of Object.entries(LIMIT_CONTROL_OF)) {
    const value2 = limits[name2];
    if (value2 !== void 0) rules[control] = value2;
  }
  return {
    ...rules,
    ...band === void 0 ? {} : { priceBandWithin: band.within },
    ...band?.max_age === void 0 ? {} : { maxReferenceAgeMs: band.max_age },
    ...fills === void 0 ? {} : { stepFills: { max: fills.max, windowMs: fills.window } },
    ...refusals2 === void 0 ? {} : { refusals: { max: refusals2.max, windowMs: refusals2.window } }
  };
}
function limitSettings(rules) {
  const limits = {};
  for (const [name2, control] of Object.entries(LIMIT_CONTROL_OF)) {
    const value2 = rules[control];
    if (value2 !== void 0)
      limits[name2] = typeof value2 === "number" && control.endsWith("Ms") ? durationWord(value2) : value2;
  }
  if (rules.priceBandWithin !== void 0) {
    limits["price_band"] = {
      within: decimalText(decimal(rules.priceBandWithin)),
      ...rules.maxReferenceAgeMs === void 0 ? {} : { max_age: durationWord(rules.maxReferenceAgeMs) }
    };
  }
  if (rules.stepFills !== void 0)
    limits["step_fills"] = { max: rules.stepFills.max, window: durationWord(rules.stepFills.windowMs) };
  if (rules.refusals !== void 0)
    limits["refusals"] = { max: rules.refusals.max, window: durationWord(rules.refusals.windowMs) };
  return limits;
}

// ../src/venue/profile.ts
function completed(settings, folder) {
  const {
    rate_limit: rate = {},
    position_orders: position2 = {},
    feeds = {},
    requests = {},
    notify = {},
    store
  } = settings;
  const defaults = ASSUMPTIONS;
  return {
    name: settings.profile,
    baseUrl: settings.base_url.replace(/\/+$/, ""),
    account: settings.account ?? "main",
    auth: completedAuth(settings.auth, folder),
    encoding: {
      ...defaults.encoding.default,
      ...settings.encoding
    },
    rateLimit: {
      tokens: rate.tokens ?? defaults.tokens.default,
      windowMs: rate.window ?? defaults.windowMs.default,
      sharedAs: rate.shared_as ?? "default",
      costs: completedCosts(rate.costs ?? {}),
      ...rate.order_rate === void 0 ? {} : { orderRate: rate.order_rate },
      statuses: rate.statuses ?? defaults.limitedStatuses.default,
      resetUnit: rate.reset_unit ?? defaults.resetUnit.default
    },
    positionOrders: {
      sizeField: position2.size_field ?? defaults.positionOrders.default.sizeField,
      types: {
        stop_loss: position2.stop_loss ?? defaults.positionOrders.default.types.stop_loss,
        take_profit: position2.take_profit ?? defaults.positionOrders.default.types.take_profit
      }
    },
    marketOrderPrice: settings.market_order_price ?? defaults.marketOrderPrice.default,
    maxLeverage: settings.max_leverage ?? defaults.maxLeverage.default,
    definiteRejects: settings.definite_rejects ?? defaults.definiteRejects.default,
    markets: mapped(settings.markets ?? {}, (market4) => market4),
    requests: mapped(requests, ({ query, ...request2 }) => ({ ...request2, query: { ...query } })),
    feeds: mapped(feeds, ({ with: given2, ...feed2 }) => ({ ...feed2, with: { ...given2 } })),
    capabilities: settings.capabilities ?? [],
    limits: limitRules(settings.limits ?? {}),
    ambiguityWindowMs: settings.ambiguity?.window ?? defaults.ambiguityWindowMs.default,
    allowedAddresses: settings.allowed_addresses ?? [],
    ...store === void 0 ? {} : { store: completedStore(store, folder) },
    notify: mapped(
      notify,
      ({ webhook }) => webhook === void 0 ? { log: true } : { webhook: located(webhook, folder) }
    )
  };
}
function completedCosts(given2) {
  const open2 = ENDPOINT_NAMES.filter((name2) => endpoint(name2).tokens === void 0);
  return Object.fromEntries(open2.map((name2) => [name2, given2[name2] ?? ASSUMPTIONS.unknownCost.default]));
}
function completedAuth(auth, folder) {
  const defaults = ASSUMPTIONS;
  switch (auth.mode ?? "jwt") {
    case "none":
      return { mode: "none" };
    case "api_key":
      return {
        mode: "api_key",
        apiKey: located(auth.api_key, folder),
        secret: located(auth.secret, folder),
        ...auth.chain === void 0 ? {} : { chain: auth.chain },
        signatureLifeMs: auth.signature_life ?? defaults.signatureLifeMs.default,
        headers: { ...defaults.signingHeaders.default, ...auth.signing_headers }
      };
    default: {
      const header2 = auth.header ?? defaults.jwtHeader.default;
      const prefix = auth.prefix ?? (header2.toLowerCase() === "authorization" ? defaults.jwtPrefix.default : "");
      return {
        mode: "jwt",
        ...auth.jwt === void 0 ? {} : { jwt: located(auth.jwt, folder) },
        ...auth.refresh_token === void 0 ? {} : { refreshToken: located(auth.refresh_token, folder) },
        isClient: auth.is_client ?? defaults.isClient.default,
        carrier: auth.cookie === void 0 ? { in: "header", header: header2, prefix } : { in: "cookie", cookie: auth.cookie },
        jwtLifeMs: auth.jwt_life ?? defaults.jwtLifeMs.default,
        sendJwtOnRefresh: auth.send_jwt_on_refresh ?? defaults.jwtOnRefresh.default
      };
    }
  }
}
function completedStore(store, folder) {
  if (store.postgres !== void 0) return { postgres: located(store.postgres, folder) };
  return { sqlite: besideProfile(store.sqlite ?? "", folder) };
}
function located(reference, folder) {
  return "file" in reference ? { file: besideProfile(reference.file, folder) } : reference;
}
function besideProfile(path, folder) {
  return isAbsolute(path) ? path : join(folder, path);
}
function mapped(record2, change) {
  return Object.fromEntries(Object.entries(record2).map(([key2, value2]) => [key2, change(value2)]));
}
var ALL = "*";
var SIMULATED_PROFILE = {
  ...completed(
    { profile: "simulated", base_url: "http://127.0.0.1", account: "simulated", auth: { mode: "none" } },
    "."
  ),
  capabilities: [ALL]
};

// ../src/venue/settings-in-force.ts
function profileSettings(profile) {
  const { rateLimit, positionOrders, store } = profile;
  const settings = {
    profile: profile.name,
    base_url: profile.baseUrl,
    account: profile.account,
    auth: authSettings(profile.auth),
    encoding: Object.fromEntries(Object.entries(profile.encoding).filter(([name2]) => !name2.startsWith("GET "))),
    rate_limit: {
      tokens: rateLimit.tokens,
      window: durationWord(rateLimit.windowMs),
      shared_as: rateLimit.sharedAs,
      costs: rateLimit.costs,
      ...rateLimit.orderRate === void 0 ? {} : { order_rate: rateLimit.orderRate },
      statuses: rateLimit.statuses,
      reset_unit: rateLimit.resetUnit
    },
    position_orders: { size_field: positionOrders.sizeField, ...positionOrders.types },
    market_order_price: profile.marketOrderPrice,
    max_leverage: profile.maxLeverage,
    definite_rejects: profile.definiteRejects,
    markets: profile.markets,
    requests: Object.fromEntries(
      Object.entries(profile.requests).map(([name2, request2]) => [
        name2,
        { ...request2, result: shapeSetting(request2.result) }
      ])
    ),
    feeds: profile.feeds,
    capabilities: profile.capabilities,
    limits: limitSettings(profile.limits),
    ambiguity: { window: durationWord(profile.ambiguityWindowMs) },
    allowed_addresses: profile.allowedAddresses,
    ...store === void 0 ? {} : { store },
    notify: profile.notify
  };
  return JSON.parse(JSON.stringify(settings));
}
function authSettings(auth) {
  switch (auth.mode) {
    case "none":
      return { mode: "none" };
    case "api_key":
      return {
        mode: "api_key",
        api_key: auth.apiKey,
        secret: auth.secret,
        chain: auth.chain,
        signature_life: durationWord(auth.signatureLifeMs),
        signing_headers: auth.headers
      };
    case "jwt":
      return {
        mode: "jwt",
        jwt: auth.jwt,
        refresh_token: auth.refreshToken,
        is_client: auth.isClient,
        ...auth.carrier.in === "cookie" ? { cookie: auth.carrier.cookie } : { header: auth.carrier.header, prefix: auth.carrier.prefix },
        jwt_life: durationWord(auth.jwtLifeMs),
        send_jwt_on_refresh: auth.sendJwtOnRefresh
      };
    default:
      return auth;
  }
}
function shapeSetting(shape) {
  switch (shape.kind) {
    case "value":
      return `${shape.type}${shape.optional ? "?" : ""}`;
    case "list":
    case "map":
      return { type: shape.kind, of: shapeSetting(shape.of) };
    case "record":
      return Object.fromEntries(Object.entries(shape.fields).map(([key2, field]) => [key2, shapeSetting(field)]));
    default:
      return shape;
  }
}

// ../package.json
var package_default = {
  name: "perp-runbook",
  version: "0.1.0",
  description: "Declarative strategies and runbooks for a perpetual-futures venue: checked, dry-run, executed, audited",
  license: "MIT",
  type: "module",
  engines: {
    node: ">=20.19"
  },
  bin: {
    runbook: "bin/runbook.js"
  },
  files: [
    "bin",
    "dist",
    "runbooks",
    "schemas",
    "docs",
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "LICENSE"
  ],
  scripts: {
    prepare: "node build.js",
    build: "node build.js",
    test: "node build.js && tsc -p . && vitest run",
    typecheck: "tsc -p .",
    lint: "biome ci . && knip",
    generate: "node build.js --generate",
    coverage: "vitest run --coverage"
  },
  dependencies: {
    "@marcbachmann/cel-js": "8.0.0",
    "@photostructure/sqlite": "1.2.1",
    ajv: "8.20.0",
    "ajv-formats": "3.0.1",
    commander: "14.0.3",
    croner: "11.0.1",
    "decimal.js": "10.6.0",
    got: "14.6.6",
    "lossless-json": "4.3.3",
    luxon: "3.7.2",
    xstate: "5.33.3",
    yaml: "2.9.1"
  },
  devDependencies: {
    "@biomejs/biome": "2.5.15",
    "@types/luxon": "3.7.6",
    "@types/node": "20.19.43",
    "@vitest/coverage-v8": "4.1.12",
    "cron-parser": "5.10.5",
    esbuild: "0.28.2",
    "fast-check": "4.10.2",
    knip: "6.0.6",
    typescript: "7.0.2",
    vitest: "4.1.12"
  }
};

// ../src/cli/version.ts
var ENGINE_VERSION = package_default.version;

// ../src/cli/wire.ts
async function dryRun(options) {
  const clock = new VirtualClock(options.at);
  const stage = stageOf(options, clock);
  const { loaded: loaded2, run, at, seed, store } = options;
  const started = startedData(options, stage.markets);
  const writer = new JournalWriter(store, {
    run,
    account: started.account,
    def: loaded2.runbook.sha256.slice(0, 16),
    boot: "virtual",
    epoch: 1,
    actor: "engine",
    clock,
    durable: false
  });
  const book2 = new OrderBook({ absenceHorizonMs: SIMULATED_PROFILE.ambiguityWindowMs });
  const gate = new LimitGate(book2, stage.markets);
  const log = new RunLog(writer, book2, [(entry) => gate.apply(entry), ...options.onEntry === void 0 ? [] : [options.onEntry]]);
  log.append("run.started", started);
  const client = new VenueClient({
    profile: SIMULATED_PROFILE,
    transport: stage.transport,
    budget: new LocalBudget(
      budgetSettings({ tokens: SIMULATED_PROFILE.rateLimit.tokens, windowMs: SIMULATED_PROFILE.rateLimit.windowMs }),
      clock,
      SIMULATED_PROFILE.rateLimit.costs,
      { random: () => chance(seed, `budget ${clock.now()}`) }
    ),
    log,
    clock,
    gate,
    feeds: stage.feeds,
    markets: stage.markets,
    epoch: 1
  });
  const setup3 = {
    run,
    account: started.account,
    mode: started.mode,
    runbook: loaded2.runbook,
    inputs: options.inputs,
    seed,
    startedAt: at,
    absenceHorizonMs: SIMULATED_PROFILE.ambiguityWindowMs,
    plan: started.plan ?? ""
  };
  const running = startRun(setup3, {
    venue: client,
    clock,
    notifier: { send() {
    } },
    log
  });
  stage.onMiss((message) => act(running, log, { command: "cancel", by: "fixture", reason: message }));
  try {
    const result2 = await clock.runUntil(running.done);
    const recording = stage.recording();
    return { result: result2, ...recording === void 0 ? {} : { recording } };
  } finally {
    await writer.close();
  }
}
function act(running, log, command) {
  log.append("operator.acted", { ...command }, "", command.by);
  running.command(command);
}
function stageOf(options, clock) {
  const { venue, seed, at } = options;
  if (venue.kind === "fixtures") {
    let tell = () => {
    };
    const transport = new FixtureTransport(venue.fixture, clock, { startMs: at, onMiss: (miss) => tell(miss.message) });
    return {
      transport,
      feeds: { read: async (name2, key2) => transport.feed(name2, key2) },
      markets: venue.fixture.markets,
      recording: () => void 0,
      onMiss: (receive) => {
        tell = receive;
      }
    };
  }
  const simulator = new Simulator(venue.config ?? {}, clock, seed);
  const recorder = venue.record ? new FixtureRecorder(simulator.transport(), clock, {
    runbook: options.loaded.runbook.name,
    inputs: inputsJson(options.inputs),
    seed,
    markets: simulator.markets,
    startMs: at
  }) : void 0;
  return {
    transport: recorder ?? simulator.transport(),
    feeds: {
      read: async (name2, key2) => {
        const read2 = simulator.feed(name2, key2);
        if (read2 === void 0) return void 0;
        const value2 = { name: name2, ...key2 === void 0 ? {} : { key: key2 }, ...read2 };
        recorder?.feed(value2);
        return value2;
      }
    },
    markets: simulator.markets,
    recording: () => recorder?.fixture(),
    onMiss: () => {
    }
  };
}
function startedData(options, markets) {
  const { loaded: loaded2, venue, at, seed } = options;
  return {
    runbook: loaded2.runbook.name,
    file: loaded2.runbook.source.file,
    mode: venue.kind === "fixtures" ? "fixtures" : "simulated",
    trigger: options.trigger ?? "manual",
    inputs: inputsJson(options.inputs),
    seed,
    startedAt: at,
    sources: loaded2.sources.map(({ name: name2, source }) => ({
      name: name2,
      file: source.file,
      text: source.text,
      sha256: createHash4("sha256").update(source.text).digest("hex")
    })),
    settings: { ...profileSettings(SIMULATED_PROFILE), markets, absenceHorizonMs: SIMULATED_PROFILE.ambiguityWindowMs },
    engine: ENGINE_VERSION,
    account: "dry-run",
    ...venue.kind === "fixtures" ? { fixture: { file: venue.file, sha256: venue.sha256 } } : {}
  };
}
function inputsJson(inputs) {
  return Object.fromEntries(Object.entries(inputs).map(([name2, value2]) => [name2, valueJson(value2)]));
}

// ../src/journal/refusals.ts
function conflict(run, found, expected) {
  return new StoreError("conflict", `run ${run} was written by someone else: entry ${expected} is next, not ${found}`);
}
function fenced(run, epoch, newest) {
  return new StoreError("fenced", `run ${run} was taken over: epoch ${newest} has written to it, this process acts under epoch ${epoch}`);
}
function missingRow(run) {
  return new Error(`the first entries of run ${run} came without its row`);
}
function otherRun(run, other) {
  return new Error(`one append is for one run, found ${run} and ${other}`);
}

// ../src/journal/memory-store.ts
var MemoryStore = class {
  faults;
  entries = /* @__PURE__ */ new Map();
  rows = /* @__PURE__ */ new Map();
  epochs = /* @__PURE__ */ new Map();
  /** How many appends have succeeded: the commits a test counts. */
  appends = 0;
  constructor(faults = {}) {
    this.faults = faults;
  }
  async append(entries, options) {
    const [first] = entries;
    if (first === void 0) return;
    const { failAfter = Infinity, conflictAfter = Infinity, before } = this.faults;
    if (before !== void 0) await before(entries);
    if (this.appends >= failAfter) throw new StoreError("unavailable", "the store could not be written: the disk is full");
    if (this.appends >= conflictAfter) throw conflict(first.run, first.seq, first.seq + 1);
    const { run } = first;
    const epoch = options.epoch ?? 0;
    const newest = this.epochs.get(run) ?? 0;
    if (epoch < newest) throw fenced(run, epoch, newest);
    const known = this.entries.get(run) ?? [];
    let next = (known.at(-1)?.seq ?? 0) + 1;
    for (const entry of entries) {
      if (entry.run !== run) throw otherRun(run, entry.run);
      if (entry.seq !== next) throw conflict(run, entry.seq, next);
      next += 1;
    }
    if (options.row === void 0 && !this.rows.has(run)) throw missingRow(run);
    this.entries.set(run, known);
    known.push(...entries);
    this.epochs.set(run, epoch);
    if (options.row !== void 0) this.rows.set(run, options.row);
    this.appends += 1;
  }
  async read(run, range = {}) {
    const { after: after2 = 0, limit = Infinity } = range;
    return (this.entries.get(run) ?? []).filter((entry) => entry.seq > after2).slice(0, limit);
  }
  async runs(filter = {}) {
    return [...this.rows.values()].filter(
      (row) => (filter.account === void 0 || row.account === filter.account) && (filter.runbook === void 0 || row.runbook === filter.runbook) && (filter.unfinished !== true || row.outcome === void 0)
    ).sort((a, b) => b.startedAt - a.startedAt || (a.run < b.run ? 1 : -1)).slice(0, filter.limit ?? Infinity);
  }
  async run(run) {
    return this.rows.get(run);
  }
  async close() {
  }
};

// ../src/journal/sqlite.ts
import { closeSync, mkdirSync, openSync } from "node:fs";
import { dirname as dirname2, resolve } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
var OLDEST_SQLITE = [3, 51, 3];
var BUSY_TIMEOUT_MS = 1e4;
async function openDatabase(file) {
  const { DatabaseSync } = await loadDriver();
  const path = file === ":memory:" ? file : resolve(file);
  if (path !== ":memory:") createPrivately(path);
  let connection;
  try {
    connection = new DatabaseSync(path);
    connection.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
    await switchToWal(connection);
    connection.exec("PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF");
    return new Connection(path, connection);
  } catch (error3) {
    connection?.close();
    throw asStoreError(error3, path);
  }
}
var Connection = class {
  file;
  connection;
  statements = /* @__PURE__ */ new Map();
  durable = true;
  /** An error of the disk itself: what the last commit left behind is not knowable, so none is promised any more. */
  broken;
  constructor(file, connection) {
    this.file = file;
    this.connection = connection;
  }
  statement(sql) {
    const known = this.statements.get(sql);
    if (known !== void 0) return known;
    const prepared = this.guard(() => this.connection.prepare(sql));
    let listing;
    const statement = {
      run: (...values) => this.guard(() => ({ changes: Number(prepared.run(...values).changes) })),
      get: (...values) => this.guard(() => prepared.get(...values)),
      all: (...values) => this.guard(() => prepared.all(...values)),
      tuples: (...values) => this.guard(() => {
        if (listing === void 0) {
          listing = this.connection.prepare(sql);
          listing.setReturnArrays(true);
        }
        return listing.all(...values);
      })
    };
    this.statements.set(sql, statement);
    return statement;
  }
  exec(sql) {
    this.guard(() => this.connection.exec(sql));
  }
  transaction(work) {
    if (this.broken !== void 0) throw this.broken;
    this.statement("BEGIN IMMEDIATE").run();
    try {
      const result2 = work();
      this.statement("COMMIT").run();
      return result2;
    } catch (error3) {
      try {
        this.connection.exec("ROLLBACK");
      } catch {
      }
      throw error3;
    }
  }
  setDurable(durable) {
    if (durable === this.durable) return;
    this.exec(`PRAGMA synchronous = ${durable ? "FULL" : "NORMAL"}`);
    this.durable = durable;
  }
  close() {
    this.statements.clear();
    this.guard(() => this.connection.close());
  }
  guard(work) {
    try {
      return work();
    } catch (error3) {
      const stated = asStoreError(error3, this.file);
      if (stated instanceof StoreError && sqliteCode(error3) === SQLITE.IOERR) this.broken = stated;
      throw stated;
    }
  }
};
var driver;
function loadDriver() {
  driver ??= (async () => {
    if (Number.parseInt(process.versions.node, 10) >= 24) {
      const builtIn = await import("node:sqlite");
      if (isRecent(versionOf(builtIn))) return builtIn;
    }
    const packaged = await import("@photostructure/sqlite");
    const version = versionOf(packaged);
    if (!isRecent(version)) {
      throw new StoreError("unavailable", `SQLite ${version} is too old for several writers: ${OLDEST_SQLITE.join(".")} or newer is needed`);
    }
    return packaged;
  })();
  return driver;
}
function versionOf({ DatabaseSync }) {
  const connection = new DatabaseSync(":memory:");
  try {
    return connection.prepare("SELECT sqlite_version() AS version").get().version;
  } finally {
    connection.close();
  }
}
function isRecent(version) {
  const found = version.split(".").map(Number);
  const differs = OLDEST_SQLITE.findIndex((part, index) => part !== (found[index] ?? 0));
  return differs === -1 || (found[differs] ?? 0) > OLDEST_SQLITE[differs];
}
function createPrivately(path) {
  try {
    mkdirSync(dirname2(path), { recursive: true, mode: 448 });
    closeSync(openSync(path, "a", 384));
  } catch (error3) {
    throw new StoreError("unavailable", `${path} can not be opened for writing: ${error3.message}`);
  }
}
async function switchToWal(connection) {
  for (let tries = 0; ; tries += 1) {
    try {
      const { journal_mode: mode } = connection.prepare("PRAGMA journal_mode = WAL").get();
      if (mode === "wal" || mode === "memory") return;
      throw new StoreError("unavailable", `the file system does not support write-ahead logging (journal mode ${mode})`);
    } catch (error3) {
      if (sqliteCode(error3) !== SQLITE.BUSY || tries >= BUSY_TIMEOUT_MS / 20) throw error3;
      await pause(20);
    }
  }
}
var SQLITE = { PERM: 3, BUSY: 5, LOCKED: 6, READONLY: 8, IOERR: 10, CORRUPT: 11, FULL: 13, CANTOPEN: 14, PROTOCOL: 15, NOTADB: 26 };
var FAILURES = {
  [SQLITE.PERM]: ["unavailable", "may not be written: permission denied", "access permission denied"],
  [SQLITE.BUSY]: ["unavailable", `was held by another process for more than ${BUSY_TIMEOUT_MS / 1e3} s`, "database is locked"],
  [SQLITE.LOCKED]: ["unavailable", "is locked by another connection of this process", "database table is locked"],
  [SQLITE.READONLY]: ["unavailable", "may only be read", "attempt to write a readonly database"],
  [SQLITE.IOERR]: ["unavailable", "could not be read or written: the disk reported an error", "disk I/O error"],
  [SQLITE.CORRUPT]: ["damaged", "is damaged: its pages contradict each other", "database disk image is malformed"],
  [SQLITE.FULL]: ["unavailable", "could not be written: the disk is full", "database or disk is full"],
  [SQLITE.CANTOPEN]: ["unavailable", "can not be opened", "unable to open database file"],
  [SQLITE.PROTOCOL]: ["unavailable", "could not be locked: other processes kept it busy", "locking protocol"],
  [SQLITE.NOTADB]: ["damaged", "is not a database", "file is not a database"]
};
function sqliteCode(error3) {
  if (!(error3 instanceof Error)) return void 0;
  const { errcode } = error3;
  if (typeof errcode === "number") return errcode & 255;
  const known = Object.entries(FAILURES).find(([, [, , text2]]) => error3.message === text2);
  return known === void 0 ? void 0 : Number(known[0]);
}
function asStoreError(error3, file) {
  if (error3 instanceof StoreError) return error3;
  const known = FAILURES[sqliteCode(error3) ?? -1];
  return known === void 0 ? error3 : new StoreError(known[0], `${file} ${known[1]}`);
}

// ../src/journal/sqlite-store.ts
var SCHEMA = `
  CREATE TABLE IF NOT EXISTS journal_version (version INTEGER NOT NULL);
  CREATE TABLE IF NOT EXISTS runs (
    run TEXT PRIMARY KEY,
    runbook TEXT NOT NULL,
    mode TEXT NOT NULL,
    account TEXT NOT NULL,
    trigger TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    outcome TEXT,
    epoch INTEGER NOT NULL DEFAULT 0
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS runs_by_start ON runs (started_at DESC, run DESC);
  CREATE INDEX IF NOT EXISTS runs_unfinished ON runs (account, started_at) WHERE outcome IS NULL;
  CREATE TABLE IF NOT EXISTS entries (
    run TEXT NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    type TEXT NOT NULL,
    step TEXT NOT NULL,
    line TEXT NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (run, seq)
  );
`;
var VERSION = 1;
var HEAD = "SELECT (SELECT epoch FROM runs WHERE run = ?) AS epoch, (SELECT max(seq) FROM entries WHERE run = ?) AS last";
var ROW_COLUMNS = "run, runbook, mode, account, trigger, started_at, ended_at, outcome";
async function openSqliteStore(file) {
  const database = await openDatabase(file);
  try {
    prepareSchema(database);
  } catch (error3) {
    database.close();
    throw error3;
  }
  return new SqliteStore(database);
}
function prepareSchema(database) {
  const hasVersion = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'journal_version'";
  if (database.statement(hasVersion).get() === void 0) {
    database.transaction(() => {
      database.exec(SCHEMA);
      database.exec(`INSERT INTO journal_version SELECT ${VERSION} WHERE NOT EXISTS (SELECT 1 FROM journal_version)`);
    });
  }
  const version = database.statement("SELECT max(version) AS version FROM journal_version").get()?.version;
  if (version !== VERSION) {
    throw new StoreError("damaged", `${database.file} holds a journal of version ${String(version)}; this program reads version ${VERSION}`);
  }
}
var SqliteStore = class {
  database;
  constructor(database) {
    this.database = database;
  }
  async append(entries, options) {
    const [first] = entries;
    if (first === void 0) return;
    this.database.setDurable(options.durable);
    this.database.transaction(() => this.insert(first, entries, options));
  }
  insert({ run, seq }, entries, { row, epoch = 0 }) {
    const known = this.database.statement(HEAD).get(run, run);
    const newest = Number(known?.epoch ?? 0);
    if (epoch < newest) throw fenced(run, epoch, newest);
    const next = Number(known?.last ?? 0) + 1;
    if (seq !== next) throw conflict(run, seq, next);
    if (row !== void 0) this.writeRow(row, epoch);
    else if (known?.epoch === null) throw missingRow(run);
    else if (epoch > newest) this.database.statement("UPDATE runs SET epoch = ? WHERE run = ?").run(epoch, run);
    const insert = this.database.statement("INSERT INTO entries (run, seq, at, type, step, line, hash) VALUES (?, ?, ?, ?, ?, ?, ?)");
    for (const [index, entry] of entries.entries()) {
      if (entry.run !== run) throw otherRun(run, entry.run);
      if (entry.seq !== next + index) throw conflict(run, entry.seq, next + index);
      insert.run(run, entry.seq, entry.at, entry.type, entry.step, entry.line, entry.hash);
    }
  }
  writeRow(row, epoch) {
    this.database.statement(`INSERT OR REPLACE INTO runs (${ROW_COLUMNS}, epoch) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`).run(row.run, row.runbook, row.mode, row.account, row.trigger, row.startedAt, row.endedAt ?? null, row.outcome ?? null, epoch);
  }
  async read(run, range = {}) {
    return this.database.statement("SELECT seq, at, type, step, line, hash FROM entries WHERE run = ? AND seq > ? ORDER BY seq LIMIT ?").tuples(run, range.after ?? 0, range.limit ?? -1).map(([seq, at, type, step, line, hash]) => ({ run, seq, at, type, step, line, hash }));
  }
  async runs(filter = {}) {
    const conditions = [];
    const values = [];
    for (const column of ["account", "runbook"]) {
      const wanted = filter[column];
      if (wanted === void 0) continue;
      conditions.push(`${column} = ?`);
      values.push(wanted);
    }
    if (filter.unfinished === true) conditions.push("outcome IS NULL");
    const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
    return this.database.statement(`SELECT ${ROW_COLUMNS} FROM runs ${where} ORDER BY started_at DESC, run DESC LIMIT ?`).all(...values, filter.limit ?? -1).map(runRow);
  }
  async run(run) {
    const row = this.database.statement(`SELECT ${ROW_COLUMNS} FROM runs WHERE run = ?`).get(run);
    return row === void 0 ? void 0 : runRow(row);
  }
  async close() {
    this.database.close();
  }
};
function runRow(row) {
  return {
    run: String(row.run),
    runbook: String(row.runbook),
    mode: row.mode,
    account: String(row.account),
    trigger: String(row.trigger),
    startedAt: Number(row.started_at),
    ...row.ended_at === null ? {} : { endedAt: Number(row.ended_at) },
    ...row.outcome === null ? {} : { outcome: row.outcome }
  };
}

// ../src/runbook/check.ts
import { createHash as createHash5 } from "node:crypto";

// ../src/base/diagnostic.ts
function inReadingOrder(diagnostics) {
  const files = [...new Set(diagnostics.map((each) => each.source.file))];
  return [...diagnostics].sort(
    (a, b) => files.indexOf(a.source.file) - files.indexOf(b.source.file) || a.span.start - b.span.start || (a.severity === b.severity ? 0 : a.severity === "error" ? -1 : 1)
  );
}

// ../src/runbook/codes/syntax.ts
var error = (row) => ({ severity: "error", ...row });
var warning = (row) => ({ severity: "warning", ...row });
var SYNTAX_CODES = {
  // The file's text.
  "yaml-too-large": error({
    summary: "the file is larger than 256 KiB",
    cause: "A runbook is written by hand; a larger one is an accident or an attack on whoever reads it.",
    example: "(a file of 300 KiB)",
    fix: "Split the runbook and `call` its parts."
  }),
  "yaml-too-deep": error({
    summary: "values nested more than 32 levels deep",
    cause: "No runbook needs it, and depth is how a small text exhausts a stack.",
    example: "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
    fix: "Move inner blocks into a runbook of their own and `call` it."
  }),
  "yaml-too-many-nodes": error({
    summary: "more than 20,000 values in one file",
    cause: "A runbook is reviewed by people; this many values can not be.",
    example: "(a list of 30,000 items)",
    fix: "Split the runbook and `call` its parts."
  }),
  "yaml-syntax": error({
    summary: "the text is not YAML 1.2",
    cause: "Indentation, quotes or brackets do not add up.",
    example: "steps: [a, b",
    fix: "Look at the line named and the one before it: indentation, a missing bracket or quote."
  }),
  "yaml-empty": error({
    summary: "the file holds nothing",
    cause: "It is empty or holds comments only.",
    example: "# nothing",
    fix: "Write `runbook:`, `dsl:` and `steps:`."
  }),
  "yaml-anchor": error({
    summary: "an anchor (&name)",
    cause: "Repeated nodes make a small file large and a review uncertain.",
    example: "a: &risk 0.01",
    fix: "Name values with `let` or `def`, steps with `call`."
  }),
  "yaml-alias": error({
    summary: "an alias (*name)",
    cause: "Repeated nodes make a small file large and a review uncertain.",
    example: "b: *risk",
    fix: "Name values with `let` or `def`, steps with `call`."
  }),
  "yaml-tag": error({
    summary: "a tag (!name)",
    cause: "A tag changes what a value is behind the reader\u2019s back.",
    example: "size: !!str 5",
    fix: "Leave the tag out; quote the value where a text is meant."
  }),
  "yaml-merge-key": error({
    summary: "a merge key (<<)",
    cause: "A reviewer would have to merge in the head what stands elsewhere.",
    example: "<<: {a: 1}",
    fix: "Write the keys where they belong."
  }),
  "yaml-directive": error({
    summary: "a directive (%YAML, %TAG)",
    cause: "`%YAML 1.1` alone turns `no` into false and `0777` into 511.",
    example: "%YAML 1.1",
    fix: "Leave the line out; the language is YAML 1.2."
  }),
  "yaml-several-documents": error({
    summary: "several documents in one file",
    cause: "Only the first would be run.",
    example: "---\na: 1\n---\nb: 2",
    fix: "Keep one runbook per file."
  }),
  "yaml-duplicate-key": error({
    summary: "a key that stands twice",
    cause: "Readers disagree which one counts.",
    example: "{size: 1, size: 2}",
    fix: "Remove one of the two."
  }),
  "yaml-complex-key": error({
    summary: "a key that is not a text, or empty",
    cause: "A key is a name.",
    example: "? [a, b]\n: 1",
    fix: "Write `name: value`."
  }),
  "yaml-key-form": error({
    summary: "a bare key that reads as a number, a boolean or null",
    cause: "YAML readers disagree whether such a key is a text.",
    example: "1: x",
    fix: "Quote the key."
  }),
  "yaml-forbidden-key": error({
    summary: "a key named __proto__, constructor or prototype",
    cause: "These names reach behind the data of a JavaScript program.",
    example: "__proto__: {a: 1}",
    fix: "Use another name."
  }),
  "yaml-null": error({
    summary: "a null, or a key without a value",
    cause: "The language has no null: a value is there or its key is not.",
    example: "read_account:",
    fix: "Write the value, `{}` for a verb without parameters, or leave the key out."
  }),
  "yaml-boolean-form": error({
    summary: "a boolean that is not spelled true or false",
    cause: "One spelling for one thing.",
    example: "cross: True",
    fix: "Write `true` or `false`, or quote it where a text is meant."
  }),
  "yaml-number-form": error({
    summary: "a number that is not a plain decimal",
    cause: "Hexadecimal, octal, exponents, underscores, infinities and leading zeros are read differently by different readers.",
    example: "size: 1e-3",
    fix: "Write a plain decimal such as 0.001, or quote it where a text is meant."
  }),
  "yaml-number-too-long": error({
    summary: "a number of more than 36 digits, or more than 18 after the point",
    cause: "No price or size at the venue has as many.",
    example: "size: 0.1234567890123456789",
    fix: "Round it."
  }),
  "yaml-control-character": error({
    summary: "a control character or half of a surrogate pair",
    cause: "It can rewrite what a terminal shows of the file.",
    example: 'about: "\\u001b[2J"',
    fix: "Remove the character."
  }),
  "yaml-hidden-character": error({
    summary: "an invisible character, or one that changes the reading direction",
    cause: "The file would not be what a reviewer sees of it.",
    example: 'market: "BTC\\u202e-USD"',
    fix: "Remove the character."
  }),
  // Expressions.
  "expression-syntax": error({
    summary: "an expression that can not be read",
    cause: "Brackets, operators or quotes do not add up.",
    example: "size: (1 + 2",
    fix: "Look at the place named."
  }),
  "expression-empty": error({
    summary: "no expression where one is needed",
    cause: "The text is empty.",
    example: "size: ''",
    fix: "Write a literal or an expression."
  }),
  "expression-too-long": error({
    summary: "an expression of more than 2,000 characters",
    cause: "Nobody can review it.",
    example: "(a very long expression)",
    fix: "Name its parts with `let` or `def`."
  }),
  "expression-too-deep": error({
    summary: "an expression nested more than 64 levels deep",
    cause: "Nobody can review it.",
    example: "((((\u2026))))",
    fix: "Name its parts with `let` or `def`."
  }),
  "expression-fails": error({
    summary: "an expression of constants that can not be worked out",
    cause: "It divides by zero, say, whatever happens at run time.",
    example: "size: 1 / 0",
    fix: "Correct the constants."
  }),
  "number-form": error({
    summary: "a number in an expression that is not a plain decimal",
    cause: "Exponents, hexadecimal, suffixes, leading zeros and more than 36 digits (18 after the point) are not numbers of the language.",
    example: "size: qty * 1e-3",
    fix: "Write a plain decimal such as 0.001."
  }),
  "unknown-name": error({
    summary: "a name nobody declared",
    cause: "It is misspelt, or not visible here.",
    example: "price: inptus.trigger",
    fix: "Declare it, or correct the spelling."
  }),
  "unknown-field": error({
    summary: "a field the record does not have",
    cause: "It is misspelt, or belongs to another record.",
    example: "entry.prise",
    fix: "Correct the spelling."
  }),
  "unknown-function": error({
    summary: "a function the language does not have",
    cause: "It is misspelt, or of another language.",
    example: "floor(x)",
    fix: "Use one of the functions of the reference."
  }),
  "refused-function": error({
    summary: "a function of CEL that the language leaves out",
    cause: "It converts types behind the checker\u2019s back, depends on the host, or can run for ever.",
    example: "inputs.market.matches('^(a+)+$')",
    fix: "Use one of the functions of the reference."
  }),
  "argument-count": error({
    summary: "too few or too many arguments",
    cause: "The function takes another number of arguments.",
    example: "abs(1, 2)",
    fix: "Look the function up in the reference."
  }),
  "type-mismatch": error({
    summary: "a value of another type than is needed",
    cause: "Types are checked before a run.",
    example: "size: 'big'",
    fix: "Use a value of the type named."
  }),
  "unit-mismatch": error({
    summary: "units that do not go together",
    cause: "Prices, sizes and money are different things: price \xD7 size = money, money / price = size.",
    example: "size: inputs.trigger * 2",
    fix: "Multiply or divide by the quantity that is missing."
  }),
  "not-integer": error({
    summary: "a number that may have a fraction where a whole one is needed",
    cause: "Counts and leverage are whole numbers.",
    example: "leverage: 2.5",
    fix: "Use a whole number, or `floor_to(x, 1)`."
  }),
  "not-a-member": error({
    summary: "a text that is not among the possible ones",
    cause: "The comparison could never hold, or the venue would refuse the value.",
    example: "inputs.side == 'lnog'",
    fix: "Use one of the possible texts."
  }),
  "market-form": error({
    summary: "a market id that is not <BASE>-<QUOTE>",
    cause: "Market ids have a dash.",
    example: "market: BTCUSD",
    fix: "Write the market as the venue names it, such as BTC-USD."
  }),
  "optional-unhandled": error({
    summary: "a value that may be absent, used as if it were there",
    cause: "An average price does not exist before the first fill; there is no null to stand for it.",
    example: "price: entry.avg_price * 2",
    fix: "Write `.orValue(x)`, or ask `.hasValue()` in `if:` first."
  }),
  "always-present": warning({
    summary: "a value asked whether it is there, though it always is",
    cause: "The question has one answer.",
    example: "inputs.size.orValue(0)",
    fix: "Leave `.orValue` or `.hasValue` out."
  }),
  "refused-null": error({
    summary: "null in an expression",
    cause: "The language has no null.",
    example: "entry.avg_price == null",
    fix: "Ask `.hasValue()`."
  }),
  "refused-literal": error({
    summary: "a bytes or map literal in an expression",
    cause: "No field of the language takes one.",
    example: "{'a': 1}",
    fix: "Write a list, or use an input of type map."
  }),
  "record-index": error({
    summary: "a record\u2019s field looked up by a computed name",
    cause: "What is read must be known before the run.",
    example: "inputs[inputs.side]",
    fix: "Write the field\u2019s name, or use `?:`."
  }),
  "name-shadowed": error({
    summary: "a loop variable named like something else",
    cause: "The reader could not tell which is meant.",
    example: "ladder.map(inputs, 1)",
    fix: "Use another name."
  }),
  "market-unknown": error({
    summary: "`tick` or `lot` without a market",
    cause: "Here it is not known which market\u2019s step is meant.",
    example: "let: {p: tick(x)}",
    fix: "Write `tick(value, market)`, such as `tick(x, 'BTC-USD')`."
  }),
  "unknown-zone": error({
    summary: "a time zone nobody knows",
    cause: "Zones are named as in the IANA database.",
    example: "hour(now, 'London')",
    fix: "Write a zone such as Europe/London or UTC."
  }),
  // Templates and literals.
  "template-not-here": error({
    summary: "${\u2026} in a field that takes a bare expression",
    cause: "Whether a text is an expression is decided by the field\u2019s type, never by its looks.",
    example: "size: ${inputs.size}",
    fix: "Write the expression without ${ and }."
  }),
  "template-unclosed": error({
    summary: "${ without its }",
    cause: "The text ends inside an expression.",
    example: 'text: "filled ${entry.filled"',
    fix: "Close it, or write $${ where the characters themselves are meant."
  }),
  "template-mixed": error({
    summary: "text around ${\u2026} where one of a closed set is needed",
    cause: "What comes out could not be checked.",
    example: 'side: "${a}ng"',
    fix: "Let one ${\u2026} be the whole text."
  }),
  "optional-in-text": warning({
    summary: "a text with a value that may be absent",
    cause: "It would read \u201C(absent)\u201D.",
    example: 'text: "at ${entry.avg_price}"',
    fix: "Write `.orValue(x)` inside."
  }),
  "duration-form": error({
    summary: "a duration that can not be read",
    cause: "A duration has its unit with it.",
    example: "within: 30",
    fix: "Write 250ms, 30s, 10m, 4h, 7d, joined as 1h30m, or ISO 8601 such as PT10M."
  }),
  "time-form": error({
    summary: "a time that can not be read",
    cause: "A time is ISO 8601 and says its offset; there is no implicit zone.",
    example: "until: 2026-01-05 08:00",
    fix: "Write 2026-01-05T08:00:00Z or 2026-01-05T08:00:00+01:00."
  }),
  "ratio-not-here": error({
    summary: "a percentage where no ratio is expected",
    cause: "3% and 25bps are ratios; this field takes something else.",
    example: "price: 3%",
    fix: "Write what it is a percentage of: `price * (1 - pct(3))`."
  }),
  "literal-form": error({
    summary: "a literal that is not of the type declared",
    cause: "Defaults, bounds and given inputs are read by the declared type.",
    example: "{type: price, default: high}",
    fix: "Write a literal of that type."
  })
};

// ../src/runbook/codes/diagnose.ts
function diagnose(source, span, code, message, hint) {
  const row = SYNTAX_CODES[code];
  return { severity: row.severity, code, message, hint: hint ?? row.fix, source, span };
}

// ../src/runbook/evaluation.ts
var MAX_STEPS = 1e5;
var depth = 0;
var steps = 0;
function evaluateIn(scope, run, weight, text2) {
  if (depth === 0) steps = 0;
  depth += 1;
  try {
    spend(weight, text2);
    return run({ scope, locals: [] });
  } finally {
    depth -= 1;
  }
}
function spend(count2, text2) {
  steps += count2;
  if (steps > MAX_STEPS || depth > 100)
    throw new EvaluationFailure(`more than ${MAX_STEPS} steps to work it out`, text2);
}
var LARGEST_EXPONENT = 60;
var SMALLEST_EXPONENT = -200;
function bounded(value2, text2) {
  if (!value2.isFinite() || value2.e > LARGEST_EXPONENT || value2.e < SMALLEST_EXPONENT && !value2.isZero())
    throw new EvaluationFailure("the result is a number out of all proportion", text2);
  return value2;
}
function quotient(left, right, text2) {
  if (right.isZero()) throw new EvaluationFailure("division by zero", text2);
  return bounded(left.div(right), text2);
}
function remainder(left, right, text2) {
  if (right.isZero()) throw new EvaluationFailure("division by zero", text2);
  return bounded(left.mod(right), text2);
}
function durationOf(ms, text2) {
  const whole2 = typeof ms === "number" ? Math.round(ms) : Number(ms.toFixed(0));
  if (!Number.isSafeInteger(whole2)) throw new EvaluationFailure("the duration is out of all proportion", text2);
  return new Duration(whole2 === 0 ? 0 : whole2);
}
function timeOf(us, text2) {
  if (!Number.isSafeInteger(us)) throw new EvaluationFailure("the time is out of all proportion", text2);
  return new Time(us);
}
function equal(left, right) {
  if (Decimal.isDecimal(left)) return left.eq(right);
  if (left instanceof Duration) return left.ms === right.ms;
  if (left instanceof Time) return left.us === right.us;
  if (Array.isArray(left)) {
    const other = right;
    return left.length === other.length && left.every((each, index) => equal(each, other[index]));
  }
  if (left instanceof Map) {
    const other = right;
    return left.size === other.size && [...left].every(([key2, each]) => other.has(key2) && equal(each, other.get(key2)));
  }
  return left === right;
}
function compare(left, right) {
  if (left instanceof Duration) return left.ms - right.ms;
  if (left instanceof Time) return left.us - right.us;
  return left.cmp(right);
}
function textOf(value2) {
  if (value2 === void 0) return "(absent)";
  if (typeof value2 === "string") return value2;
  if (typeof value2 === "boolean") return String(value2);
  if (Decimal.isDecimal(value2)) return decimalText(value2);
  if (value2 instanceof Duration) return durationText(value2);
  if (value2 instanceof Time) return timeText(value2);
  if (Array.isArray(value2)) return value2.map(textOf).join(", ");
  return "";
}

// ../src/runbook/functions.ts
import { DateTime, IANAZone } from "luxon";
var UNIT = { kind: "unit" };
var ORDERED = { kind: "ordered" };
var SAME = { kind: "same" };
var FILLS2 = { kind: "list_of", of: FILL };
var ORDERS2 = { kind: "list_of", of: ORDER };
var SAMPLE_FILLS = "fills: long 0.3 at 64000, long 0.1 at 64400, short 0.1 at 64100";
var LONGEST_RANGE = 1e4;
var FUNCTIONS = {
  abs: {
    signatures: [
      { parameters: [{ name: "x", shape: UNIT }], result: SAME },
      { parameters: [{ name: "x", shape: DURATION }], result: DURATION }
    ],
    doc: "The number or duration without its sign.",
    examples: [{ expression: "abs(-3)", value: "3" }],
    apply: ([x]) => x instanceof Duration ? new Duration(Math.abs(x.ms)) : x.abs()
  },
  min: {
    signatures: leastOrMost(),
    method: true,
    doc: "The least of two or more values, or of a list. An empty list has none and fails the step.",
    examples: [
      { expression: "min(2, 1.5, 3)", value: "1.5" },
      { expression: "[4, 2].min()", value: "2" }
    ],
    apply: (args, application) => extreme(args, -1, application)
  },
  max: {
    signatures: leastOrMost(),
    method: true,
    doc: "The greatest of two or more values, or of a list. An empty list has none and fails the step.",
    examples: [{ expression: "max(2, 1.5, 3)", value: "3" }],
    apply: (args, application) => extreme(args, 1, application)
  },
  sum: {
    signatures: [{ parameters: [{ name: "list", shape: { kind: "list_of", of: UNIT } }], result: SAME }],
    method: true,
    doc: "The sum of a list of numbers of one unit; 0 for an empty list.",
    examples: [{ expression: "[0.1, 0.2].sum()", value: "0.3" }],
    apply: ([list2], application) => sumOf(list2, application)
  },
  size: {
    signatures: [
      { parameters: [{ name: "list", shape: { kind: "list_of", of: { kind: "any" } } }], result: INTEGER },
      { parameters: [{ name: "map", shape: { kind: "map_of", of: { kind: "any" } } }], result: INTEGER },
      { parameters: [{ name: "text", shape: TEXT }], result: INTEGER }
    ],
    method: true,
    doc: "How many items a list, entries a map or characters a text has.",
    examples: [
      { expression: "range(4).size()", value: "4" },
      { expression: "size('BTC')", value: "3" }
    ],
    apply: ([x]) => new Decimal(
      typeof x === "string" ? [...x].length : Array.isArray(x) ? x.length : x.size
    )
  },
  tick: {
    signatures: [
      {
        parameters: [
          { name: "price", shape: PRICE },
          { name: "market", shape: MARKET, implied: true }
        ],
        result: PRICE
      }
    ],
    late: true,
    doc: "The price at the nearest tick of the market, halves away from zero. Inside an order the market is that of the order.",
    examples: [{ expression: "tick(64000.4, 'BTC-USD')", value: "64000", given: "tick 1" }],
    apply: ([price2, market4], application) => roundToStep(price2, decimal(rulesOf(market4, application).tick), "nearest")
  },
  lot: {
    signatures: [
      {
        parameters: [
          { name: "size", shape: SIZE },
          { name: "market", shape: MARKET, implied: true }
        ],
        result: SIZE
      }
    ],
    late: true,
    doc: "The size rounded down to a whole number of lots of the market: never more than was asked for.",
    examples: [{ expression: "lot(0.12345, 'BTC-USD')", value: "0.1234", given: "lot 0.0001" }],
    apply: ([size, market4], application) => {
      const step = decimal(rulesOf(market4, application).lot);
      const lots = size.div(step).trunc();
      return bounded(lots.times(step), application.text);
    }
  },
  floor_to: stepFunction(
    "down",
    "The greatest multiple of `step` that is not above x.",
    "floor_to(64000.7, 0.5)",
    "64000.5"
  ),
  ceil_to: stepFunction("up", "The least multiple of `step` that is not below x.", "ceil_to(64000.2, 0.5)", "64000.5"),
  round_to: stepFunction(
    "nearest",
    "The multiple of `step` nearest to x, halves away from zero.",
    "round_to(2.25, 0.1)",
    "2.3"
  ),
  opposite: {
    signatures: [{ parameters: [{ name: "side", shape: SIDE }], result: SIDE }],
    doc: "The other side: what closes a position of this one.",
    examples: [{ expression: "opposite('long')", value: "short" }],
    apply: ([side2]) => side2 === "long" ? "short" : "long"
  },
  pct: {
    signatures: [{ parameters: [{ name: "n", shape: NUMBER }], result: NUMBER }],
    doc: "n percent as a ratio.",
    examples: [{ expression: "pct(3)", value: "0.03" }],
    apply: ([n], application) => bounded(n.div(100), application.text)
  },
  bps: {
    signatures: [{ parameters: [{ name: "n", shape: NUMBER }], result: NUMBER }],
    doc: "n basis points (hundredths of a percent) as a ratio.",
    examples: [{ expression: "bps(25)", value: "0.0025" }],
    apply: ([n], application) => bounded(n.div(1e4), application.text)
  },
  range: {
    signatures: [{ parameters: [{ name: "n", shape: INTEGER }], result: { kind: "list", of: INTEGER } }],
    late: true,
    doc: `The whole numbers from 0 to n - 1; n is at most ${LONGEST_RANGE}.`,
    examples: [{ expression: "range(3)", value: '["0","1","2"]' }],
    apply: ([n], application) => {
      const count2 = n;
      if (count2.isNegative() && !count2.isZero())
        throw new EvaluationFailure(`range of a negative number, ${count2.toFixed()}`, application.text);
      if (count2.gt(LONGEST_RANGE))
        throw new EvaluationFailure(
          `range has at most ${LONGEST_RANGE} items, asked for ${count2.toFixed()}`,
          application.text
        );
      application.spend(wholeNumber(count2));
      return Array.from({ length: wholeNumber(count2) }, (_2, index) => new Decimal(index));
    }
  },
  net_size: {
    signatures: [{ parameters: [{ name: "fills", shape: FILLS2 }], result: SIZE }],
    method: true,
    doc: "What fills add up to: long sizes less short sizes, so that long is positive; 0 without fills.",
    examples: [{ expression: "net_size(fills)", value: "0.3", given: SAMPLE_FILLS }],
    apply: ([fills], application) => sumOf(
      fills.map(
        (fill) => fill.side === "short" ? fill.size.neg() : fill.size
      ),
      application
    )
  },
  avg_price: {
    signatures: [{ parameters: [{ name: "fills", shape: FILLS2 }], result: { kind: "optional", of: PRICE } }],
    method: true,
    doc: "The average price of fills, weighted by size; absent without fills.",
    examples: [{ expression: "avg_price(fills).orValue(0)", value: "64100", given: SAMPLE_FILLS }],
    apply: ([fills], application) => {
      const records = fills;
      const size = sumOf(
        records.map((fill) => fill.size),
        application
      );
      return size.isZero() ? void 0 : quotient(notionalOf2(records, application), size, application.text);
    }
  },
  notional: {
    signatures: [
      { parameters: [{ name: "fills", shape: FILLS2 }], result: MONEY },
      { parameters: [{ name: "orders", shape: ORDERS2 }], result: MONEY },
      { parameters: [{ name: "order", shape: ORDER }], result: MONEY }
    ],
    method: true,
    doc: "Price times size, summed: of fills what was traded, of orders what is still to be (their `size` is the remaining one).",
    examples: [{ expression: "notional(fills)", value: "32050", given: SAMPLE_FILLS }],
    apply: ([of], application) => notionalOf2(Array.isArray(of) ? of : [of], application)
  },
  days: durationFunction("day", 864e5, "7d"),
  hours: durationFunction("hour", 36e5, "7h"),
  minutes: durationFunction("minute", 6e4, "7m"),
  seconds: durationFunction("second", 1e3, "7s"),
  hour: {
    signatures: zoned(INTEGER),
    doc: "The hour of the day, 0 to 23, in a time zone.",
    examples: [{ expression: "hour(now, 'Europe/London')", value: "9", given: "now: 2026-07-06T08:00:00Z" }],
    apply: ([time2, zone], application) => new Decimal(localTime(time2, zone, application).hour)
  },
  weekday: {
    signatures: zoned(INTEGER),
    doc: "The day of the week in a time zone: 1 is Monday, 7 is Sunday.",
    examples: [{ expression: "weekday(now, 'UTC')", value: "1", given: "now: 2026-07-06T08:00:00Z" }],
    apply: ([time2, zone], application) => new Decimal(localTime(time2, zone, application).weekday)
  },
  date: {
    signatures: zoned(TEXT),
    doc: "The calendar date in a time zone, as YYYY-MM-DD.",
    examples: [
      { expression: "date(now, 'Pacific/Auckland')", value: "2026-07-06", given: "now: 2026-07-06T08:00:00Z" }
    ],
    apply: ([time2, zone], application) => localTime(time2, zone, application).toFormat("yyyy-MM-dd")
  }
};
function functionRow(name2) {
  return Object.hasOwn(FUNCTIONS, name2) ? FUNCTIONS[name2] : void 0;
}
function isZone(name2) {
  return IANAZone.isValidZone(name2);
}
function leastOrMost() {
  return [
    { parameters: [{ name: "list", shape: { kind: "list_of", of: ORDERED } }], result: SAME },
    {
      parameters: [
        { name: "a", shape: ORDERED },
        { name: "b", shape: ORDERED, rest: true }
      ],
      result: SAME
    }
  ];
}
function extreme(args, sign, application) {
  const values = Array.isArray(args[0]) ? args[0] : args;
  application.spend(values.length);
  if (values.length === 0)
    throw new EvaluationFailure(`an empty list has no ${sign === 1 ? "greatest" : "least"} item`, application.text);
  return values.reduce((best, each) => compare(each, best) * sign > 0 ? each : best);
}
function stepFunction(mode, doc, expression2, value2) {
  return {
    signatures: [
      {
        parameters: [
          { name: "x", shape: UNIT },
          { name: "step", shape: UNIT }
        ],
        result: { kind: "same", wholeAs: 1 }
      }
    ],
    doc: `${doc} The step is above zero and has the unit of x.`,
    examples: [{ expression: expression2, value: value2 }],
    apply: ([x, step], application) => {
      const size = step;
      if (size.lte(0))
        throw new EvaluationFailure(`the step must be above zero, found ${size.toFixed()}`, application.text);
      return bounded(roundToStep(x, size, mode), application.text);
    }
  };
}
function durationFunction(unit, ms, value2) {
  return {
    signatures: [{ parameters: [{ name: "n", shape: NUMBER }], result: DURATION }],
    doc: `A duration of n ${unit}s, to the nearest millisecond.`,
    examples: [{ expression: `${unit}s(7)`, value: value2 }],
    apply: ([n], application) => durationOf(n.times(ms), application.text)
  };
}
function zoned(result2) {
  return [
    {
      parameters: [
        { name: "time", shape: TIME },
        { name: "zone", shape: { kind: "zone" } }
      ],
      result: result2
    }
  ];
}
function sumOf(values, application) {
  application.spend(values.length);
  return bounded(
    values.reduce((total, each) => total.plus(each), new Decimal(0)),
    application.text
  );
}
function notionalOf2(records, application) {
  return sumOf(
    records.map((each) => each.price.times(each.size)),
    application
  );
}
function rulesOf(market4, application) {
  const rules = application.scope.rules(market4);
  if (rules === void 0)
    throw new EvaluationFailure(`tick and lot of market ${market4} are not known`, application.text);
  return rules;
}
function localTime(time2, zone, application) {
  const local = DateTime.fromMillis(time2.ms, { zone, locale: "en-US" });
  if (!local.isValid) throw new EvaluationFailure(`there is no time zone ${zone}`, application.text);
  return local;
}

// ../src/runbook/term.ts
function isRefusal(value2) {
  return "refused" in value2;
}
function adapted(term, unit) {
  if (!term.bare || unit === void 0 || unit === "number" || unitOf(term.type) !== "number") return term;
  return { ...term, type: withUnit(term.type, unit) };
}
function fitted(term, wanted) {
  if (term.empty === true && wanted.kind === "list") return { ...term, type: wanted };
  const fit = adapted(term, unitOf(wanted));
  const why = misfit(fit.type, wanted);
  if (why !== void 0) return refusalOf2(why, fit, wanted);
  const bad = wanted.kind === "text" && wanted.market === true && term.type.kind === "text" ? term.type.of?.find((each) => !isMarket(each)) : void 0;
  if (bad !== void 0 && term.type.kind === "text" && term.type.market !== true)
    return { refused: "market-form", message: `a market id is <BASE>-<QUOTE>, found '${bad}'` };
  return fit;
}
var CODE = {
  type: "type-mismatch",
  unit: "unit-mismatch",
  integer: "not-integer",
  member: "not-a-member",
  optional: "optional-unhandled"
};
function refusalOf2(why, term, wanted) {
  if (why === "member" && term.type.kind === "text" && wanted.kind === "text")
    return notAMember(term.type.of ?? [], wanted.of ?? []);
  const message = `${article(typeName(wanted))} is needed, found ${typeName(term.type)}`;
  const scale = why === "unit" && term.type.kind === "decimal" && wanted.kind === "decimal" && term.type.unit === "number";
  return {
    refused: CODE[why],
    message,
    ...scale ? { hint: `A plain number is no ${wanted.unit}: write a literal, or declare the value with type ${wanted.unit}.` } : {}
  };
}
function notAMember(found, members) {
  const stranger = found.find((each) => !members.includes(each)) ?? "";
  const meant = didYouMean(stranger, members);
  const known = members.slice(0, 10).map((each) => `'${each}'`).join(", ");
  return {
    refused: "not-a-member",
    message: `'${stranger.slice(0, 40)}' is none of ${known}`,
    ...meant === void 0 ? {} : { hint: `Did you mean '${meant}'?` }
  };
}
function unified(terms) {
  const unit = terms.map((term) => term.bare ? void 0 : unitOf(term.type)).find((each) => each !== void 0);
  const fits2 = terms.map((term) => adapted(term, unit));
  let type;
  for (const [index, term] of fits2.entries()) {
    if (term.empty === true) continue;
    const both = type === void 0 ? term.type : union(type, term.type);
    if (both === void 0) {
      const units = unitOf(type) !== void 0 && unitOf(term.type) !== void 0;
      return {
        refused: units ? "unit-mismatch" : "type-mismatch",
        message: `${typeName(type)} and ${typeName(term.type)} do not go together`,
        at: index
      };
    }
    type = both;
  }
  if (type === void 0) return { refused: "type-mismatch", message: "a list without items has no type here", at: 0 };
  const common2 = type;
  return { terms: fits2.map((term) => term.empty === true ? { ...term, type: common2 } : term), type };
}
function compared(left, right) {
  const [a, b] = [adapted(left, unitOf(right.type)), adapted(right, unitOf(left.type))];
  if ((a.empty === true || b.empty === true) && a.type.kind === b.type.kind) return void 0;
  const literal2 = strangeLiteral(left, right.type) ?? strangeLiteral(right, left.type);
  if (literal2 !== void 0) return { ...literal2, at: strangeLiteral(left, right.type) === void 0 ? 1 : 0 };
  const why = comparable(a.type, b.type);
  if (why === void 0) return void 0;
  if (why === "optional") return { ...optionalRefusal(), at: left.type.kind === "optional" ? 0 : 1 };
  return { refused: CODE[why], message: `${typeName(a.type)} and ${typeName(b.type)} can not be compared` };
}
function strangeLiteral(literal2, other) {
  if (!literal2.bare || literal2.type.kind !== "text" || literal2.type.of === void 0 || other.kind !== "text")
    return void 0;
  if (other.market === true) {
    const bad = literal2.type.of.find((each) => !isMarket(each));
    return bad === void 0 ? void 0 : { refused: "market-form", message: `a market id is <BASE>-<QUOTE>, found '${bad}'` };
  }
  if (other.of === void 0 || literal2.type.of.every((each) => other.of?.includes(each))) return void 0;
  return notAMember(literal2.type.of, other.of);
}
function optionalRefusal() {
  return { refused: "optional-unhandled", message: "this value may be absent" };
}
function isMarket(text2) {
  return /^[A-Za-z0-9._]{1,32}-[A-Za-z0-9._]{1,32}$/.test(text2);
}
function article(name2) {
  return /^[aeio]/.test(name2) ? `an ${name2}` : `a ${name2}`;
}

// ../src/runbook/units.ts
function productUnit(left, right) {
  if (left === "number") return right;
  if (right === "number") return left;
  if (left === "price" && right === "size" || left === "size" && right === "price") return "money";
  return void 0;
}
function quotientUnit(left, right) {
  if (right === "number") return left;
  if (left === right) return "number";
  if (left === "money" && right === "price") return "size";
  if (left === "money" && right === "size") return "price";
  return void 0;
}
function productHint(left, right) {
  return `${left} and ${right} have no product; price \xD7 size = money, and a plain number scales anything`;
}
function quotientHint(left, right) {
  return `${left} can not be divided by ${right}; money / price = size, money / size = price, like by like is a number`;
}

// ../src/runbook/operators.ts
var BINARY_OPERATORS = ["+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">=", "in"];
function binary(operator, left, right, text2) {
  if (operator !== "==" && operator !== "!=") {
    if (left.type.kind === "optional") return { ...optionalRefusal(), at: 0 };
    if (right.type.kind === "optional") return { ...optionalRefusal(), at: 1 };
  }
  switch (operator) {
    case "+":
    case "-":
      return sum(operator, left, right, text2);
    case "*":
      return product(left, right, text2);
    case "/":
      return division(left, right, text2);
    case "%":
      return modulo(left, right, text2);
    case "==":
    case "!=":
      return equality(operator, left, right);
    case "<":
    case "<=":
    case ">":
    case ">=":
      return order(operator, left, right);
    case "in":
      return membership(left, right);
    default:
      return operator;
  }
}
function negation(operand, text2) {
  const { type, run } = operand;
  if (type.kind === "optional") return optionalRefusal();
  if (type.kind === "decimal") return result(type, [operand], (frame) => run(frame).neg(), operand.bare);
  if (type.kind === "duration")
    return result(DURATION, [operand], (frame) => durationOf(-run(frame).ms, text2));
  return { refused: "type-mismatch", message: `${typeName(type)} has no negative` };
}
function result(type, operands, run, bare = false) {
  return { type, run, bare, constant: operands.every((each) => each.constant) };
}
function decimalType(unit, left, right, closed2) {
  if (unit !== "number") return { kind: "decimal", unit };
  return closed2 && left.integer === true && right.integer === true ? { kind: "decimal", unit, integer: true } : NUMBER;
}
function none(operator, left, right) {
  return {
    refused: "type-mismatch",
    message: `${typeName(left.type)} ${operator} ${typeName(right.type)} has no meaning`
  };
}
function sum(operator, left, right, text2) {
  const [a, b] = [adapted(left, unitOf(right.type)), adapted(right, unitOf(left.type))];
  const { run: x } = a;
  const { run: y } = b;
  const operands = [left, right];
  if (a.type.kind === "decimal" && b.type.kind === "decimal") {
    if (a.type.unit !== b.type.unit)
      return {
        refused: "unit-mismatch",
        message: `${typeName(a.type)} ${operator} ${typeName(b.type)}: only like goes with like`
      };
    const run = operator === "+" ? (frame) => bounded(x(frame).plus(y(frame)), text2) : (frame) => bounded(x(frame).minus(y(frame)), text2);
    return result(decimalType(a.type.unit, a.type, b.type, true), operands, run, left.bare && right.bare);
  }
  const sign = operator === "+" ? 1 : -1;
  const kinds2 = `${left.type.kind} ${operator} ${right.type.kind}`;
  switch (kinds2) {
    case "time + duration":
    case "time - duration":
      return result(
        TIME,
        operands,
        (frame) => timeOf(x(frame).us + sign * y(frame).ms * 1e3, text2)
      );
    case "duration + time":
      return result(TIME, operands, (frame) => timeOf(y(frame).us + x(frame).ms * 1e3, text2));
    case "time - time":
      return result(
        DURATION,
        operands,
        (frame) => durationOf((x(frame).us - y(frame).us) / 1e3, text2)
      );
    case "duration + duration":
    case "duration - duration":
      return result(
        DURATION,
        operands,
        (frame) => durationOf(x(frame).ms + sign * y(frame).ms, text2)
      );
    case "text + text":
      return result(TEXT, operands, (frame) => `${x(frame)}${y(frame)}`);
    default:
      return none(operator, left, right);
  }
}
function product(left, right, text2) {
  const { type: a, run: x } = left;
  const { type: b, run: y } = right;
  const operands = [left, right];
  if (a.kind === "decimal" && b.kind === "decimal") {
    const unit = productUnit(a.unit, b.unit);
    if (unit === void 0)
      return {
        refused: "unit-mismatch",
        message: `${typeName(a)} * ${typeName(b)} has no unit`,
        hint: `${productHint(a.unit, b.unit)}.`
      };
    const run = (frame) => bounded(x(frame).times(y(frame)), text2);
    return result(decimalType(unit, a, b, true), operands, run, left.bare && right.bare);
  }
  if (a.kind === "duration" && b.kind === "decimal" && b.unit === "number")
    return result(
      DURATION,
      operands,
      (frame) => durationOf(y(frame).times(x(frame).ms), text2)
    );
  if (b.kind === "duration" && a.kind === "decimal" && a.unit === "number")
    return result(
      DURATION,
      operands,
      (frame) => durationOf(x(frame).times(y(frame).ms), text2)
    );
  return none("*", left, right);
}
function division(left, right, text2) {
  const { type: a, run: x } = left;
  const { type: b, run: y } = right;
  const operands = [left, right];
  if (a.kind === "decimal" && b.kind === "decimal") {
    const unit = quotientUnit(a.unit, b.unit);
    if (unit === void 0)
      return {
        refused: "unit-mismatch",
        message: `${typeName(a)} / ${typeName(b)} has no unit`,
        hint: `${quotientHint(a.unit, b.unit)}.`
      };
    const run = (frame) => quotient(x(frame), y(frame), text2);
    return result(decimalType(unit, a, b, false), operands, run, left.bare && right.bare);
  }
  if (a.kind === "duration" && b.kind === "decimal" && b.unit === "number")
    return result(
      DURATION,
      operands,
      (frame) => durationOf(quotient(new Decimal(x(frame).ms), y(frame), text2), text2)
    );
  if (a.kind === "duration" && b.kind === "duration")
    return result(
      NUMBER,
      operands,
      (frame) => quotient(new Decimal(x(frame).ms), new Decimal(y(frame).ms), text2)
    );
  return none("/", left, right);
}
function modulo(left, right, text2) {
  const [a, b] = [left.type, adapted(right, unitOf(left.type)).type];
  if (a.kind !== "decimal" || b.kind !== "decimal") return none("%", left, right);
  if (a.unit !== b.unit)
    return { refused: "unit-mismatch", message: `${typeName(a)} % ${typeName(b)}: only like goes with like` };
  const { run: x } = left;
  const { run: y } = right;
  const run = (frame) => remainder(x(frame), y(frame), text2);
  return result(decimalType(a.unit, a, b, true), [left, right], run, left.bare && right.bare);
}
function equality(operator, left, right) {
  const refusal = compared(left, right);
  if (refusal !== void 0) return refusal;
  const { run: x } = left;
  const { run: y } = right;
  const run = operator === "==" ? (frame) => equal(x(frame), y(frame)) : (frame) => !equal(x(frame), y(frame));
  return result(BOOLEAN, [left, right], run);
}
var ORDERED_KINDS = /* @__PURE__ */ new Set(["decimal", "duration", "time"]);
function order(operator, left, right) {
  if (!ORDERED_KINDS.has(left.type.kind))
    return { refused: "type-mismatch", message: `${typeName(left.type)} has no less and no more` };
  const refusal = compared(left, right);
  if (refusal !== void 0) return refusal;
  const { run: x } = left;
  const { run: y } = right;
  const tests = {
    "<": (frame) => compare(x(frame), y(frame)) < 0,
    "<=": (frame) => compare(x(frame), y(frame)) <= 0,
    ">": (frame) => compare(x(frame), y(frame)) > 0,
    ">=": (frame) => compare(x(frame), y(frame)) >= 0
  };
  return result(BOOLEAN, [left, right], tests[operator]);
}
function membership(left, right) {
  const { run: x } = left;
  const { run: y } = right;
  if (right.type.kind === "list") {
    const refusal = right.empty === true ? void 0 : compared(left, { ...right, type: right.type.of });
    if (refusal !== void 0) return refusal;
    return result(BOOLEAN, [left, right], (frame) => {
      const value2 = x(frame);
      return y(frame).some((each) => equal(value2, each));
    });
  }
  if (right.type.kind === "map" && left.type.kind === "text")
    return result(BOOLEAN, [left, right], (frame) => y(frame).has(x(frame)));
  return none("in", left, right);
}

// ../src/runbook/signatures.ts
function matched(row, args) {
  let nearest2;
  for (const signature of row.signatures.filter((each) => takes(each, args.length))) {
    const found = bound(signature, args);
    if (!isRefusal(found)) return found;
    if (nearest2 === void 0 || found.at > nearest2.at) nearest2 = found;
  }
  return nearest2;
}
function impliesMarket(match) {
  return match.signature.parameters[match.args.length]?.implied === true;
}
function applied(row, match, market4, text2) {
  const { signature, args, same: same2, bare } = match;
  const runs = args.map((each) => each.run);
  if (market4 !== void 0) runs.push((frame) => market4.evaluate(frame.scope));
  const { result: result2 } = signature;
  const type = result2.kind === "same" ? sameType(same2 ?? NUMBER, args[result2.wholeAs ?? -1]?.type) : result2;
  const count2 = (items) => spend(items, text2);
  const context = (scope) => ({ scope, text: text2, spend: count2 });
  const [only2] = runs;
  const run = runs.length === 1 && only2 !== void 0 ? (frame) => row.apply([only2(frame)], context(frame.scope)) : (frame) => row.apply(
    runs.map((each) => each(frame)),
    context(frame.scope)
  );
  return {
    type,
    run,
    bare: bare && result2.kind === "same",
    constant: row.late !== true && args.every((each) => each.constant)
  };
}
function bound(signature, args) {
  const last = signature.parameters.length - 1;
  const fits2 = [];
  const variable = [];
  for (const [index, arg] of args.entries()) {
    const { shape } = signature.parameters[Math.min(index, last)];
    const found = shaped(arg, shape);
    if (isRefusal(found)) return { ...found, at: index };
    if (isVariable(shape)) variable.push(index);
    fits2.push(found);
  }
  if (variable.length === 0) return { signature, args: fits2, bare: false };
  const common2 = unified(variable.map((index) => fits2[index]));
  if (isRefusal(common2)) return { ...common2, at: variable[common2.at ?? 0] ?? 0 };
  for (const [place2, index] of variable.entries()) fits2[index] = common2.terms[place2];
  return {
    signature,
    args: fits2,
    same: common2.type.kind === "list" ? common2.type.of : common2.type,
    bare: variable.every((index) => args[index].bare)
  };
}
function isVariable(shape) {
  return shape.kind === "unit" || shape.kind === "ordered" || shape.kind === "list_of" && isVariable(shape.of);
}
function shaped(term, shape) {
  const { type } = term;
  const wrong = (wanted) => type.kind === "optional" ? { refused: "optional-unhandled", message: "this value may be absent" } : { refused: "type-mismatch", message: `${wanted} is needed, found ${typeName(type)}` };
  switch (shape.kind) {
    case "any":
      return term;
    case "unit":
      return type.kind === "decimal" ? term : wrong("a number");
    case "ordered":
      return type.kind === "decimal" || type.kind === "duration" || type.kind === "time" ? term : wrong("a number, a duration or a time");
    case "zone":
      return type.kind === "text" ? term : wrong("a time zone");
    case "list_of":
    case "map_of": {
      const kind = shape.kind === "list_of" ? "list" : "map";
      if (type.kind !== kind) return wrong(`a ${kind}`);
      if (term.empty === true) return isVariable(shape) ? term : { ...term };
      const item = shaped({ ...term, type: type.of }, shape.of);
      if (isRefusal(item)) return item;
      return { ...term, type: { kind, of: item.type } };
    }
    default:
      return fitted(term, shape);
  }
}
function sameType(type, step) {
  if (step === void 0 || type.kind !== "decimal") return type;
  return type.unit === "number" && step.kind === "decimal" && step.integer === true ? INTEGER : { kind: "decimal", unit: type.unit };
}
function takes(signature, count2) {
  const { parameters } = signature;
  const least = parameters.filter((each) => each.implied !== true).length;
  return count2 >= least && (count2 <= parameters.length || parameters.at(-1)?.rest === true);
}
function arity(row) {
  const lists = row.signatures.map(
    ({ parameters }) => parameters.map((each) => `${each.name}${each.rest === true ? ", \u2026" : ""}${each.implied === true ? "?" : ""}`)
  );
  return [...new Set(lists.map((names2) => `(${names2.join(", ")})`))].join(" or ");
}

// ../src/runbook/syntax.ts
import { Environment, ParseError } from "@marcbachmann/cel-js";
var MAX_LENGTH = 2e3;
var MAX_DEPTH = 64;
var parser = new Environment({
  enableOptionalTypes: true,
  limits: { maxDepth: MAX_DEPTH, maxAstNodes: 8e3, maxListElements: 500, maxCallArguments: 32, maxMapEntries: 1 }
});
function parseExpression(text2) {
  if (text2.length > MAX_LENGTH)
    return {
      code: "expression-too-long",
      message: `the expression has ${text2.length} characters; at most ${MAX_LENGTH} are read`,
      span: { start: 0, end: 0 }
    };
  if (text2.trim() === "")
    return { code: "expression-empty", message: "the expression is empty", span: { start: 0, end: text2.length } };
  try {
    return { tree: parser.parse(chainsAsCel(text2)).ast };
  } catch (error3) {
    if (!(error3 instanceof ParseError)) throw error3;
    const span = error3.range ?? { start: 0, end: text2.length };
    if (error3.code === "limit_exceeded")
      return { code: "expression-too-deep", message: `the expression is too large: ${error3.summary}`, span };
    if (error3.code.startsWith("invalid_") && /number|integer|exponent/.test(error3.code))
      return { code: "number-form", message: `the number is not a plain decimal`, span };
    return { code: "expression-syntax", message: `the expression can not be read: ${plainer(error3.summary)}`, span };
  }
}
function chainsAsCel(text2) {
  if (!text2.includes("?.")) return text2;
  return text2.replace(
    /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\?\.(?=[A-Za-z_])/gs,
    (part) => part === "?." ? ".?" : part
  );
}
var TOKEN_WORDS = {
  EOF: "the end",
  IDENTIFIER: "a name",
  NUMBER: "a number",
  STRING: "a text",
  RPAREN: ")",
  LPAREN: "(",
  RBRACKET: "]",
  LBRACKET: "[",
  RBRACE: "}",
  LBRACE: "{",
  COLON: ":",
  QUESTION: "?",
  COMMA: ",",
  DOT: "."
};
function plainer(summary) {
  return summary.replace(/\b[A-Z]{2,}\b/g, (word2) => TOKEN_WORDS[word2] ?? word2).slice(0, 120);
}
var RESERVED_WORDS = new Set(
  "as break const continue else false for function if import in let loop namespace null package return true var void while".split(
    " "
  )
);

// ../src/runbook/visible-names.ts
var VisibleNames = class {
  reads = /* @__PURE__ */ new Set();
  text;
  env;
  factsOf;
  locals = [];
  assumed = /* @__PURE__ */ new Set();
  constructor(text2, env, factsOf2) {
    this.text = text2;
    this.env = env;
    this.factsOf = factsOf2;
  }
  /** A loop variable or a root; undefined for a name nobody declared. */
  name(name2) {
    const slot2 = this.locals.findIndex((each) => each.name === name2);
    const local = this.locals[slot2];
    if (local !== void 0)
      return this.narrowed({
        type: local.type,
        run: (frame) => frame.locals[slot2],
        bare: false,
        constant: false,
        path: name2
      });
    const defined2 = this.env.defs?.get(name2);
    const type = this.env.roots.get(name2) ?? defined2?.type;
    if (type === void 0) return void 0;
    this.reads.add(name2);
    for (const read2 of defined2?.reads ?? []) this.reads.add(read2);
    const facts = this.factsOf(name2);
    return this.narrowed({
      type,
      run: this.certain(type, name2, (frame) => frame.scope.get(name2)),
      bare: facts?.bare === true || this.env.bare?.has(name2) === true,
      constant: false,
      path: name2,
      ...facts === void 0 ? {} : { whenTrue: facts.whenTrue, whenFalse: facts.whenFalse }
    });
  }
  /** A declared field of a record; of a record that may be absent, or by `?.`, it may be absent too. */
  field(record2, name2, own2, chained) {
    if (record2.path === "feeds") this.reads.add(`feeds.${name2}`);
    const optional3 = chained || record2.type.kind === "optional";
    const type = optional3 && own2.kind !== "optional" ? { kind: "optional", of: own2 } : own2;
    const path = record2.path === void 0 ? void 0 : `${record2.path}.${name2}`;
    const { run: of } = record2;
    return this.narrowed({
      type,
      run: this.certain(type, path ?? name2, (frame) => of(frame)?.[name2]),
      bare: false,
      constant: false,
      ...path === void 0 ? {} : { path }
    });
  }
  /** Every name that can be used here. */
  all() {
    return [...this.locals.map((each) => each.name), ...this.env.roots.keys(), ...this.env.defs?.keys() ?? []];
  }
  /** Does `work` where a loop variable is visible; `slot` is its place in the frame. */
  withLocal(name2, type, work) {
    const outer = this.locals;
    this.locals = [...outer, { name: name2, type }];
    const result2 = work();
    this.locals = outer;
    return { slot: outer.length, result: result2 };
  }
  /** Does `work` where these paths are present. */
  assuming(paths, work) {
    if (paths === void 0 || paths.length === 0) return work();
    const before = this.assumed;
    this.assumed = /* @__PURE__ */ new Set([...before, ...paths]);
    const result2 = work();
    this.assumed = before;
    return result2;
  }
  narrowed(term) {
    const { type, path, run } = term;
    if (type.kind !== "optional" || path === void 0) return term;
    if (!this.env.present.has(path) && !this.assumed.has(path)) return term;
    return { ...term, type: type.of, run: this.certain(type.of, path, run), narrowed: true };
  }
  /** Where a value is certain by type, its absence is a failure of the run, never an `undefined` that is computed with. */
  certain(type, what, read2) {
    if (type.kind === "optional") return read2;
    const { text: text2 } = this;
    return (frame) => {
      const value2 = read2(frame);
      if (value2 === void 0) throw new EvaluationFailure(`${what} has no value`, text2);
      return value2;
    };
  }
};

// ../src/runbook/analysis.ts
var OPERATORS = new Set(BINARY_OPERATORS);
var MACROS = /* @__PURE__ */ new Set(["map", "filter", "exists", "all"]);
var REFUSED = new Set(
  "matches has dyn int double uint string bytes bool type timestamp duration bind optional of none value or optMap optFlatMap exists_one getDate getDayOfMonth getDayOfWeek getDayOfYear getFullYear getHours getMilliseconds getMinutes getMonth getSeconds".split(" ")
);
var Analysis = class {
  faults = [];
  /** How many pieces it has: what one evaluation counts against the budget. */
  weight = 0;
  text;
  env;
  visible;
  constructor(text2, env, factsOf2) {
    this.text = text2;
    this.env = env;
    this.visible = new VisibleNames(text2, env, factsOf2);
  }
  /** The roots that were read, and of feeds each by name. */
  get reads() {
    return this.visible.reads;
  }
  /** Checks a node; `level` counts from the root. */
  term(node, level = 1) {
    this.weight += 1;
    if (level > MAX_DEPTH) {
      if (!this.faults.some((each) => each.code === "expression-too-deep"))
        this.fault("expression-too-deep", node, `the expression is more than ${MAX_DEPTH} levels deep`);
      return void 0;
    }
    const found = this.checked(node, level + 1);
    return found === void 0 ? void 0 : this.folded(found, node);
  }
  /** The term as one of type `wanted`, or a fault at `node`. */
  fit(term, wanted, node) {
    return term === void 0 ? void 0 : this.settle(fitted(term, wanted), [node], node);
  }
  checked(node, level) {
    switch (node.op) {
      case "value":
        return this.literal(node);
      case "id":
        return this.name(node);
      case ".":
      case ".?":
        return this.field(node, level);
      case "[]":
      case "[?]":
        return this.index(node, level);
      case "call":
        return this.call(node.args[0], node.args[1], node, node.start, level);
      case "rcall":
        return this.method(node, level);
      case "list":
        return this.list(node, level);
      case "?:":
        return this.choice(node, level);
      case "&&":
      case "||":
        return this.logic(node, level);
      case "!_":
        return this.not(node, level);
      case "-_": {
        const operand = this.term(node.args, level);
        return operand === void 0 ? void 0 : this.settle(negation(operand, this.text), [node.args], node);
      }
      case "map":
        return this.fault("refused-literal", node, "a map can not be written in an expression");
      default: {
        if (!OPERATORS.has(node.op))
          return this.fault("expression-syntax", node, `the operator ${node.op} is not part of the language`);
        const [left, right] = [this.term(node.args[0], level), this.term(node.args[1], level)];
        if (left === void 0 || right === void 0) return void 0;
        return this.settle(binary(node.op, left, right, this.text), node.args, node);
      }
    }
  }
  literal(node) {
    const value2 = node.args;
    if (typeof value2 === "boolean") return { type: BOOLEAN, run: () => value2, bare: true, constant: true };
    if (typeof value2 === "string")
      return { type: { kind: "text", of: [value2] }, run: () => value2, bare: true, constant: true };
    if (value2 === null) return this.fault("refused-null", node, "there is no null");
    if (value2 instanceof Uint8Array)
      return this.fault("refused-literal", node, "bytes can not be written in an expression");
    const written = this.text.slice(node.start, node.end);
    const number = parseAuthoredDecimal(written);
    if (number === void 0)
      return this.fault(
        "number-form",
        node,
        `${written.slice(0, 40)} is not a plain decimal of at most 36 digits, 18 after the point`
      );
    return { type: number.isInteger() ? INTEGER : NUMBER, run: () => number, bare: true, constant: true };
  }
  name(node) {
    const name2 = node.args;
    const found = this.visible.name(name2);
    if (found !== void 0) return found;
    return this.unknown("unknown-name", node, `nothing here is called ${shown3(name2)}`, name2, this.visible.all());
  }
  field(node, level) {
    const receiver = this.term(node.args[0], level);
    const name2 = node.args[1];
    if (receiver === void 0) return void 0;
    const record2 = receiver.type.kind === "optional" ? receiver.type.of : receiver.type;
    const place2 = { start: node.pos, end: node.end };
    if (record2.kind !== "record") {
      const hint = record2.kind === "map" ? `Write [key] or [?key].` : functionRow(name2) !== void 0 || MACROS.has(name2) ? `Write .${name2}(\u2026).` : void 0;
      return this.fault("unknown-field", place2, `${typeName(record2)} has no field ${name2}`, hint);
    }
    if (!Object.hasOwn(record2.fields, name2))
      return this.unknown(
        "unknown-field",
        place2,
        `${record2.name} has no field ${shown3(name2)}`,
        name2,
        Object.keys(record2.fields)
      );
    return this.visible.field(receiver, name2, record2.fields[name2], node.op === ".?");
  }
  index(node, level) {
    const [of, key2] = [this.term(node.args[0], level), this.term(node.args[1], level)];
    if (of === void 0 || key2 === void 0) return void 0;
    const holder = of.type.kind === "optional" ? of.type.of : of.type;
    if (holder.kind === "record")
      return this.fault(
        "record-index",
        node.args[1],
        `a field of ${holder.name} is looked up by a computed name`,
        "Write `.name`, or choose with `?:`."
      );
    if (holder.kind !== "list" && holder.kind !== "map")
      return this.fault("type-mismatch", node, `${typeName(holder)} has no items`);
    const at = this.fit(key2, holder.kind === "list" ? INTEGER : TEXT, node.args[1]);
    if (at === void 0) return void 0;
    const tolerant = node.op === "[?]" || of.type.kind === "optional";
    const type = tolerant && holder.of.kind !== "optional" ? { kind: "optional", of: holder.of } : holder.of;
    const { run: items } = of;
    const { run: position2 } = at;
    const { text: text2 } = this;
    const strict = node.op === "[]";
    const list2 = holder.kind === "list";
    const run = (frame) => {
      const held = items(frame);
      if (held === void 0) return void 0;
      const where = position2(frame);
      const value2 = list2 ? held[wholeNumber(where)] : held.get(where);
      if (value2 === void 0 && strict)
        throw new EvaluationFailure(
          list2 ? `the list has no item ${String(where)}` : `there is no entry for ${String(where).slice(0, 60)}`,
          text2
        );
      return value2;
    };
    return { type, run, bare: false, constant: of.constant && at.constant };
  }
  list(node, level) {
    if (node.args.length === 0)
      return { type: { kind: "list", of: NUMBER }, run: () => [], bare: true, constant: true, empty: true };
    const items = this.all(node.args, level);
    if (items === void 0) return void 0;
    const common2 = this.common(items, node.args);
    if (common2 === void 0) return void 0;
    const runs = common2.terms.map((each) => each.run);
    const every = (test) => items.every(test);
    return {
      type: { kind: "list", of: common2.type },
      run: (frame) => runs.map((run) => run(frame)),
      bare: every((each) => each.bare),
      constant: every((each) => each.constant)
    };
  }
  choice(node, level) {
    const [test, first, second] = node.args;
    const condition = this.condition(test, level);
    const yes = this.visible.assuming(condition?.whenTrue, () => this.term(first, level));
    const no = this.visible.assuming(condition?.whenFalse, () => this.term(second, level));
    if (condition === void 0 || yes === void 0 || no === void 0) return void 0;
    const common2 = this.common([yes, no], [first, second]);
    if (common2 === void 0) return void 0;
    const [{ run: a }, { run: b }] = common2.terms;
    const { run: decides } = condition;
    return {
      type: common2.type,
      run: (frame) => decides(frame) === true ? a(frame) : b(frame),
      bare: yes.bare && no.bare,
      constant: condition.constant && yes.constant && no.constant
    };
  }
  /** Left to right, the right side only when it matters; a failure on the way is a failure of the whole. */
  logic(node, level) {
    const both = node.op === "&&";
    const left = this.condition(node.args[0], level);
    const known = both ? left?.whenTrue : left?.whenFalse;
    const right = this.visible.assuming(known, () => this.condition(node.args[1], level));
    if (left === void 0 || right === void 0) return void 0;
    const { run: a } = left;
    const { run: b } = right;
    const facts = both ? { whenTrue: [...left.whenTrue ?? [], ...right.whenTrue ?? []] } : { whenFalse: [...left.whenFalse ?? [], ...right.whenFalse ?? []] };
    const run = both ? (frame) => a(frame) === true && b(frame) === true : (frame) => a(frame) === true || b(frame) === true;
    return { type: BOOLEAN, run, bare: false, constant: left.constant && right.constant, ...facts };
  }
  not(node, level) {
    const operand = this.condition(node.args, level);
    if (operand === void 0) return void 0;
    const { run, whenTrue, whenFalse, constant } = operand;
    return {
      type: BOOLEAN,
      run: (frame) => run(frame) !== true,
      bare: false,
      constant,
      ...whenFalse === void 0 ? {} : { whenTrue: whenFalse },
      ...whenTrue === void 0 ? {} : { whenFalse: whenTrue }
    };
  }
  condition(node, level) {
    return this.fit(this.term(node, level), BOOLEAN, node);
  }
  method(node, level) {
    const [name2, receiver, args] = node.args;
    const start = Math.max(node.start, this.text.indexOf(name2, receiver.end));
    const place2 = { start, end: start + name2.length };
    if (MACROS.has(name2)) return this.macro(name2, receiver, args, place2, level);
    if (name2 === "orValue" || name2 === "hasValue") return this.presence(name2, receiver, args, place2, level);
    const row = functionRow(name2);
    if (row !== void 0 && row.method !== true)
      return this.fault("unknown-function", place2, `${name2} is not called on a value`, `Write ${name2}(\u2026).`);
    if (row !== void 0) return this.call(name2, [receiver, ...args], node, start, level);
    return this.noFunction(name2, place2, [
      ...MACROS,
      "orValue",
      "hasValue",
      ...Object.keys(FUNCTIONS).filter((each) => functionRow(each)?.method)
    ]);
  }
  presence(name2, on, args, place2, level) {
    const receiver = this.term(on, level);
    const others = this.all(args, level);
    if (receiver === void 0 || others === void 0) return void 0;
    const wanted = name2 === "orValue" ? 1 : 0;
    if (args.length !== wanted)
      return this.fault(
        "argument-count",
        place2,
        `${name2} takes ${wanted} argument${wanted === 1 ? "" : "s"}, found ${args.length}`
      );
    if (receiver.type.kind !== "optional" && receiver.narrowed !== true)
      this.fault("always-present", place2, `this ${typeName(receiver.type)} is always there`);
    const { run: of, path } = receiver;
    if (name2 === "hasValue") {
      const known = path === void 0 ? [] : prefixes(path);
      return { type: BOOLEAN, run: (frame) => of(frame) !== void 0, bare: false, constant: false, whenTrue: known };
    }
    const inner = { ...receiver, type: receiver.type.kind === "optional" ? receiver.type.of : receiver.type };
    const common2 = this.common([inner, others[0]], [on, args[0]]);
    if (common2 === void 0) return void 0;
    const { run: instead } = common2.terms[1];
    return {
      type: common2.type,
      run: (frame) => of(frame) ?? instead(frame),
      bare: false,
      constant: receiver.constant && others[0].constant
    };
  }
  macro(name2, on, args, place2, level) {
    const receiver = this.term(on, level);
    if (args.length !== 2)
      return this.fault(
        "argument-count",
        place2,
        `${name2} takes a name and an expression, found ${counted(args.length)}`
      );
    const [variable, body2] = args;
    if (variable.op !== "id") return this.fault("expression-syntax", variable, `${name2} takes a name first`);
    const each = variable.args;
    if (this.visible.all().includes(each))
      return this.fault("name-shadowed", variable, `${each} already means something here`);
    if (receiver === void 0) return void 0;
    if (receiver.type.kind !== "list") {
      if (receiver.type.kind === "optional")
        return this.fault("optional-unhandled", on, `${shown3(this.text.slice(on.start, on.end))} may be absent`);
      return this.fault("type-mismatch", on, `${name2} goes through a list, found ${typeName(receiver.type)}`);
    }
    const weightBefore = this.weight;
    const { slot: slot2, result: found } = this.visible.withLocal(each, receiver.type.of, () => this.term(body2, level));
    const inner = name2 === "map" ? found : this.fit(found, BOOLEAN, body2);
    if (inner === void 0) return void 0;
    const cost = this.weight - weightBefore;
    const { text: text2 } = this;
    const { run: list2 } = receiver;
    const { run: work } = inner;
    const at = (frame, item) => {
      spend(cost, text2);
      frame.locals[slot2] = item;
      return work(frame);
    };
    const items = (frame) => list2(frame);
    const kinds2 = {
      map: { type: { kind: "list", of: inner.type }, run: (frame) => items(frame).map((item) => at(frame, item)) },
      filter: { type: receiver.type, run: (frame) => items(frame).filter((item) => at(frame, item) === true) },
      exists: { type: BOOLEAN, run: (frame) => items(frame).some((item) => at(frame, item) === true) },
      all: { type: BOOLEAN, run: (frame) => items(frame).every((item) => at(frame, item) === true) }
    };
    const { type, run } = kinds2[name2];
    return { type, run, bare: false, constant: false };
  }
  call(name2, nodes, node, start, level) {
    const place2 = { start, end: start + name2.length };
    const row = functionRow(name2);
    if (row === void 0) return this.noFunction(name2, place2, Object.keys(FUNCTIONS));
    const args = this.all(nodes, level);
    if (args === void 0) return void 0;
    const match = matched(row, args);
    if (match === void 0)
      return this.fault("argument-count", place2, `${name2} takes ${arity(row)}, found ${counted(args.length)}`);
    if (isRefusal(match)) return this.settle({ ...match, message: `${name2}: ${match.message}` }, nodes, node);
    const strange = strangeZone(match);
    if (strange !== void 0)
      return this.fault("unknown-zone", nodes[strange.at] ?? node, `there is no time zone '${shown3(strange.zone)}'`);
    const implied = impliesMarket(match);
    const market4 = implied ? this.env.market : void 0;
    if (implied && market4 === void 0) {
      const hint = `Write ${name2}(value, market), such as ${name2}(value, inputs.market).`;
      return this.fault("market-unknown", place2, `${name2} needs to know the market here`, hint);
    }
    for (const read2 of market4?.reads ?? []) this.visible.reads.add(read2);
    return applied(row, match, market4, this.text);
  }
  /** What depends on nothing is worked out now, so that `1 / 0` is found before a run; lists are left for when they are needed. */
  folded(term, node) {
    if (!term.constant || node.op === "value" || term.type.kind === "list") return term;
    try {
      const value2 = term.run({ scope: NOWHERE, locals: [] });
      return { ...term, run: () => value2 };
    } catch (error3) {
      if (!(error3 instanceof EvaluationFailure)) throw error3;
      this.fault("expression-fails", node, `this can not be worked out: ${error3.message}`);
      return { ...term, constant: false };
    }
  }
  all(nodes, level) {
    const terms = nodes.map((each) => this.term(each, level));
    return terms.every((each) => each !== void 0) ? terms : void 0;
  }
  common(terms, nodes) {
    const found = unified(terms);
    if (!isRefusal(found)) return found;
    this.settle(found, nodes, nodes[0]);
    return void 0;
  }
  settle(found, operands, whole2) {
    if (!isRefusal(found)) return found;
    const place2 = found.at === void 0 ? operands.length === 1 ? operands[0] : whole2 : operands[found.at];
    const { start, end } = place2 ?? whole2;
    const message = found.refused === "optional-unhandled" ? `${shown3(this.text.slice(start, end))} may be absent` : found.message;
    return this.fault(found.refused, { start, end }, message, found.hint);
  }
  noFunction(name2, place2, known) {
    if (REFUSED.has(name2)) return this.fault("refused-function", place2, `${name2} is left out of the language`);
    return this.unknown("unknown-function", place2, `there is no function ${shown3(name2)}`, name2, known);
  }
  unknown(code, place2, message, name2, known) {
    const meant = didYouMean(name2, known);
    if (meant !== void 0) return this.fault(code, place2, message, `Did you mean ${meant}?`);
    const some = [...known].sort().slice(0, 12).join(", ");
    return this.fault(
      code,
      place2,
      message,
      some === "" ? void 0 : `Known here: ${some}${known.length > 12 ? ", \u2026" : ""}.`
    );
  }
  fault(code, place2, message, hint) {
    this.faults.push({
      code,
      message,
      span: { start: place2.start, end: place2.end },
      ...hint === void 0 ? {} : { hint }
    });
    return void 0;
  }
};
var NOWHERE = { get: () => void 0, rules: () => void 0 };
function shown3(text2) {
  return text2.length > 60 ? `${text2.slice(0, 60)}\u2026` : text2;
}
function counted(args) {
  return `${args} argument${args === 1 ? "" : "s"}`;
}
function strangeZone({ signature, args }) {
  const at = signature.parameters.findIndex((each) => each.shape.kind === "zone");
  const type = args[at]?.bare === true ? args[at]?.type : void 0;
  const zone = type?.kind === "text" ? type.of?.find((each) => !isZone(each)) : void 0;
  return zone === void 0 ? void 0 : { zone, at };
}
function prefixes(path) {
  const parts = path.split(".");
  return parts.map((_2, index) => parts.slice(0, index + 1).join("."));
}

// ../src/runbook/literals.ts
import { isLosslessNumber as isLosslessNumber6, parse as parse3 } from "lossless-json";
import { DateTime as DateTime2, Duration as LuxonDuration } from "luxon";

// ../src/runbook/document.ts
import { Composer, isMap, isScalar, isSeq, Parser } from "yaml";

// ../src/runbook/scalar-places.ts
var ESCAPE_LENGTH = { x: 4, u: 6, U: 10 };
function scalarPlaces(source, writing, text2) {
  const { start, end } = writing.span;
  const places = new Int32Array(text2.length + 1);
  const double = writing.style === "double";
  const single = writing.style === "single";
  const blank = (index) => index < end && /\s/.test(source[index] ?? "x");
  const continued = (index) => double && source[index] === "\\" && /[\r\n]/.test(source[index + 1] ?? "");
  let at = start;
  if (double || single) at += 1;
  else if (writing.style === "block") at = source.indexOf("\n", start) + 1 || end;
  for (let index = 0; index < text2.length; index += 1) {
    const isBlank = /\s/.test(text2[index]);
    while (continued(at)) for (at += 1; blank(at); ) at += 1;
    const escaped = double && source[at] === "\\";
    if (!isBlank && !escaped) {
      while (blank(at)) at += 1;
      while (continued(at)) for (at += 1; blank(at); ) at += 1;
    }
    places[index] = Math.min(at, end);
    if (double && source[at] === "\\") {
      if (source[at + 1] === "U" && (text2.codePointAt(index) ?? 0) > 65535) places[++index] = Math.min(at, end);
      at += ESCAPE_LENGTH[source[at + 1]] ?? 2;
    } else if (single && source[at] === "'") at += 2;
    else if (!isBlank || blank(at)) at += 1;
  }
  places[text2.length] = Math.min(at, end);
  return places;
}

// ../src/runbook/document.ts
var AUTHORED = { maxBytes: 256 * 1024, maxNodes: 2e4, maxDepth: 32, nulls: "refused" };
function readDocument(source, limits = AUTHORED) {
  const found = new Findings(source);
  const bytes = Buffer.byteLength(source.text);
  if (bytes > limits.maxBytes) {
    found.add(
      "yaml-too-large",
      { start: 0, end: 0 },
      `the file has ${bytes} bytes; at most ${limits.maxBytes} are read`
    );
    return { root: void 0, diagnostics: found.list };
  }
  inspectCharacters(source.text, found);
  if (found.list.length > 0) return { root: void 0, diagnostics: found.list };
  const tokens = [...new Parser().parse(source.text)];
  inspectTokens(tokens, limits, found);
  if (found.list.length > 0) return { root: void 0, diagnostics: found.list };
  const composer = new Composer({ version: "1.2", schema: "failsafe", uniqueKeys: false, merge: false, strict: true });
  const documents = [...composer.compose(tokens, true, source.text.length)];
  const document = documents[0];
  for (const problem of documents.flatMap((each) => [...each.errors, ...each.warnings])) {
    const [start, end] = problem.pos;
    found.add("yaml-syntax", { start, end: Math.max(start, end) }, `not YAML: ${firstSentence(problem.message)}`);
  }
  if (found.list.length > 0) return { root: void 0, diagnostics: found.list };
  const contents = document?.contents;
  if (contents === null || contents === void 0 || isScalar(contents) && (contents.source ?? "") === "") {
    found.add("yaml-empty", { start: 0, end: 0 }, "the file holds nothing");
    return { root: void 0, diagnostics: found.list };
  }
  return { root: new Conversion(source, limits, found).node(contents), diagnostics: found.list };
}
function plainData(node) {
  switch (node.kind) {
    case "list":
      return node.items.map(plainData);
    case "map": {
      const data = /* @__PURE__ */ Object.create(null);
      for (const { key: key2, value: value2 } of node.entries) data[key2] = plainData(value2);
      return data;
    }
    case "scalar":
      if (node.type === "number") return Number(node.text);
      if (node.type === "boolean") return node.text === "true";
      return node.type === "null" ? null : node.text;
    default:
      return node;
  }
}
function nodeAt(root, path) {
  let node = root;
  let keySpan;
  for (const part of path) {
    const entry = node.kind === "map" ? node.entry(String(part)) : void 0;
    const next = node.kind === "list" ? node.items[Number(part)] : entry?.value;
    if (next === void 0) break;
    node = next;
    keySpan = entry?.keySpan;
  }
  return { node, span: node.span, ...keySpan === void 0 ? {} : { keySpan } };
}
var Findings = class {
  list = [];
  source;
  constructor(source) {
    this.source = source;
  }
  /** Beyond fifty there is nothing to learn, and a hostile file should not buy a long answer. */
  add(code, span, message, hint) {
    if (this.list.length < 50) this.list.push(diagnose(this.source, span, code, message, hint));
  }
};
var CONTROL = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/;
var BIDI = /[\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/;
var LONE = new RegExp("\\p{Surrogate}", "u");
function codePoint(text2, at) {
  return `U+${(text2.codePointAt(at) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}
function inspectCharacters(text2, found) {
  const control = text2.search(CONTROL);
  if (control !== -1)
    found.add(
      "yaml-control-character",
      { start: control, end: control + 1 },
      `the control character ${codePoint(text2, control)}`
    );
  const body2 = text2.startsWith("\uFEFF") ? 1 : 0;
  const bidi = text2.slice(body2).search(BIDI);
  if (bidi !== -1) {
    const start = bidi + body2;
    found.add(
      "yaml-hidden-character",
      { start, end: start + 1 },
      `the invisible or direction-changing character ${codePoint(text2, start)}`
    );
  }
}
function inspectTokens(tokens, limits, found) {
  let documents = 0;
  let nodes = 0;
  const stack = [];
  for (const token2 of [...tokens].reverse()) stack.push({ token: token2, depth: 0 });
  for (let next = stack.pop(); next !== void 0; next = stack.pop()) {
    const { token: token2, depth: depth2 } = next;
    const span = { start: token2.offset, end: token2.offset + ("source" in token2 ? token2.source.length : 1) };
    const push = (...inner) => {
      for (const each of inner.reverse()) if (each) stack.push({ token: each, depth: depth2 });
    };
    switch (token2.type) {
      case "directive":
        found.add("yaml-directive", span, `the directive ${shortened(token2.source)}`);
        break;
      case "anchor":
        found.add("yaml-anchor", span, `the anchor ${shortened(token2.source)}`);
        break;
      case "alias":
        found.add("yaml-alias", span, `the alias ${shortened(token2.source)}`);
        break;
      case "tag":
        found.add("yaml-tag", span, `the tag ${shortened(token2.source)}`);
        break;
      case "document":
        documents += 1;
        if (documents === 2)
          found.add(
            "yaml-several-documents",
            { start: token2.offset, end: token2.offset + 3 },
            "a second document in one file"
          );
        push(...token2.start, token2.value);
        break;
      case "block-map":
      case "block-seq":
      case "flow-collection":
        nodes += 1;
        if (depth2 + 1 > limits.maxDepth) {
          found.add("yaml-too-deep", span, `more than ${limits.maxDepth} levels deep`);
          return;
        }
        for (const item of [...token2.items].reverse()) {
          for (const each of [item.value, ...[...item.sep ?? []].reverse(), item.key, ...[...item.start].reverse()])
            if (each) stack.push({ token: each, depth: depth2 + 1 });
        }
        break;
      case "scalar":
      case "single-quoted-scalar":
      case "double-quoted-scalar":
        nodes += 1;
        break;
      case "block-scalar":
        nodes += 1;
        push(...token2.props);
        break;
      default:
        break;
    }
    if (nodes > limits.maxNodes) {
      found.add("yaml-too-many-nodes", span, `more than ${limits.maxNodes} values`);
      return;
    }
  }
}
var FORBIDDEN_KEYS = /* @__PURE__ */ new Set(["__proto__", "constructor", "prototype"]);
var PLAIN_NULL = /^(?:~|null|Null|NULL|)$/;
var PLAIN_BOOLEAN = /^(?:true|false)$/;
var ODD_BOOLEAN = /^(?:True|TRUE|False|FALSE)$/;
var NUMBER_LIKE = /^[-+]?(?:0[xX][\da-fA-F_]+|0[oObB][\d_]+|[\d_]*\d[\d_]*\.?[\d_]*(?:[eE][-+]?\d+)?|\.[\d_]+(?:[eE][-+]?\d+)?|\.inf|\.Inf|\.INF|Infinity)$|^(?:\.nan|\.NaN|\.NAN|NaN)$/;
var WRITING = {
  PLAIN: "plain",
  QUOTE_SINGLE: "single",
  QUOTE_DOUBLE: "double",
  BLOCK_FOLDED: "block",
  BLOCK_LITERAL: "block"
};
var Conversion = class {
  source;
  limits;
  found;
  constructor(source, limits, found) {
    this.source = source;
    this.limits = limits;
    this.found = found;
  }
  node(node) {
    const span = spanOf(node.range);
    if (isMap(node)) return this.map(node.items, span, node.flow === true);
    if (isSeq(node)) {
      const items = node.items.map((item) => this.node(item));
      return { kind: "list", span: node.flow === true ? span : upTo(span, items.at(-1)), items };
    }
    if (isScalar(node)) return this.scalar(node, span);
    return { kind: "list", span, items: [] };
  }
  map(pairs, around, flow) {
    const entries = [];
    const index = /* @__PURE__ */ new Map();
    for (const pair of pairs) {
      const key2 = this.key(pair, around);
      if (key2 === void 0) continue;
      const value2 = pair.value ? this.node(pair.value) : this.nothing(key2.span.end);
      const entry = {
        key: key2.text,
        keySpan: key2.span,
        value: value2,
        span: { start: key2.span.start, end: Math.max(key2.span.end, value2.span.end) }
      };
      if (index.has(key2.text)) {
        this.found.add("yaml-duplicate-key", key2.span, `the key "${shortened(key2.text)}" stands here a second time`);
        continue;
      }
      index.set(key2.text, entry);
      entries.push(entry);
    }
    const span = flow ? around : upTo(around, entries.at(-1));
    return { kind: "map", span, entries, get: (key2) => index.get(key2)?.value, entry: (key2) => index.get(key2) };
  }
  key(pair, around) {
    const { key: key2 } = pair;
    if (!key2 || !isScalar(key2)) {
      this.found.add("yaml-complex-key", key2 ? spanOf(key2.range) : around, "a key that is not a text");
      return void 0;
    }
    const span = spanOf(key2.range);
    const text2 = String(key2.value ?? "");
    const plain = key2.type === "PLAIN";
    if (text2 === "<<" && plain) this.found.add("yaml-merge-key", span, "the merge key <<");
    else if (FORBIDDEN_KEYS.has(text2)) this.found.add("yaml-forbidden-key", span, `the key ${text2}`);
    else if (plain && text2 === "") this.found.add("yaml-complex-key", span, "a key that is empty");
    else if (plain && (NUMBER_LIKE.test(text2) || PLAIN_BOOLEAN.test(text2) || ODD_BOOLEAN.test(text2) || PLAIN_NULL.test(text2)))
      this.found.add("yaml-key-form", span, `the key ${shortened(text2)} reads as something other than a text`);
    else {
      this.inspectText(
        text2,
        span,
        (at) => scalarPlaces(this.source.text, { span, style: WRITING[key2.type ?? "PLAIN"] }, text2)[at] ?? span.start
      );
      return { text: text2, span };
    }
    return void 0;
  }
  scalar(scalar, span) {
    const text2 = String(scalar.value ?? "");
    const writing = WRITING[scalar.type ?? "PLAIN"];
    const style = writing === "single" || writing === "double" ? "quoted" : writing;
    let places;
    const offset = (index) => {
      const at = Math.max(0, Math.min(index, text2.length));
      if (style === "plain" && span.end - span.start === text2.length) return span.start + at;
      places ??= scalarPlaces(this.source.text, { span, style: writing }, text2);
      return Math.max(span.start, Math.min(places[at] ?? span.end, span.end));
    };
    const type = style === "plain" ? this.plainType(text2, span) : "text";
    if (type === "text") this.inspectText(text2, span, offset);
    return { kind: "scalar", span, text: text2, style, type, offset };
  }
  plainType(text2, span) {
    if (PLAIN_NULL.test(text2)) {
      if (this.limits.nulls === "refused")
        this.found.add("yaml-null", span, text2 === "" ? "a key without a value" : `the value ${text2}`);
      return "null";
    }
    if (PLAIN_BOOLEAN.test(text2)) return "boolean";
    if (ODD_BOOLEAN.test(text2)) {
      this.found.add("yaml-boolean-form", span, `the boolean ${text2}`);
      return "boolean";
    }
    if (!NUMBER_LIKE.test(text2)) return "text";
    if (parseAuthoredDecimal(text2) === void 0) {
      const long = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/.test(text2);
      if (long)
        this.found.add(
          "yaml-number-too-long",
          span,
          `the number ${shortened(text2)} has more than 36 digits, or 18 after the point`
        );
      else this.found.add("yaml-number-form", span, `the number ${shortened(text2)} is not written as a plain decimal`);
    }
    return "number";
  }
  /** An escape (`"\u202e"`) brings in what the text itself may not hold. */
  inspectText(text2, span, offset) {
    const control = text2.search(CONTROL);
    const hidden = text2.search(BIDI);
    const lone = text2.search(LONE);
    const at = [control, hidden, lone].find((each) => each !== -1);
    if (at === void 0) return;
    const code = at === hidden ? "yaml-hidden-character" : "yaml-control-character";
    const start = offset(at);
    const what = control === -1 && hidden === -1 ? "half of a surrogate pair" : codePoint(text2, at);
    this.found.add(
      code,
      { start, end: Math.max(start + 1, Math.min(offset(at + 1), span.end)) },
      `the text holds ${what}`
    );
  }
  nothing(at) {
    const span = { start: at, end: at };
    this.plainType("", span);
    return { kind: "scalar", span, text: "", style: "plain", type: "null", offset: () => at };
  }
};
function spanOf(range) {
  return { start: range[0], end: range[1] };
}
function upTo(span, last) {
  return last === void 0 ? span : { start: span.start, end: last.span.end };
}
function shortened(text2) {
  const line = text2.split("\n", 1)[0] ?? "";
  return line.length > 40 ? `${line.slice(0, 40)}\u2026` : line;
}
function firstSentence(message) {
  return shortened(message.replace(/\s+at line .*$/s, "")).replace(/[:\s]+$/, "");
}

// ../src/runbook/literals.ts
function readLiteral(type, typeText, node, source) {
  const diagnostics = [];
  const value2 = literal(type, typeText, node, source, diagnostics);
  return { value: diagnostics.length > 0 ? void 0 : value2, diagnostics };
}
function readScalar(type, typeText, text2) {
  switch (type.kind) {
    case "decimal":
      return readNumber(type, typeText, text2);
    case "boolean":
      return text2 === "true" || text2 === "false" ? { value: text2 === "true" } : misread(typeText, text2, "true or false");
    case "text":
      return readText2(type, text2);
    case "duration":
      return readDuration(text2);
    case "time":
      return readTime(text2);
    case "optional":
      return readScalar(type.of, typeText, text2);
    case "list":
    case "map":
    case "record":
      return misread(typeText, text2, `a ${type.kind}`);
    default:
      return type;
  }
}
var UNITS_MS = { ms: 1, s: 1e3, m: 6e4, h: 36e5, d: 864e5 };
var DURATION_LITERAL = /^(?:\d{1,15}(?:ms|s|m|h|d))+$/;
var ISO_DURATION = /^P(?=[\dT])(?:\d{1,9}W)?(?:\d{1,9}D)?(?:T(?=\d)(?:\d{1,9}H)?(?:\d{1,9}M)?(?:\d{1,9}(?:[.,]\d{1,3})?S)?)?$/;
function readDuration(text2) {
  const refusal = {
    code: "duration-form",
    problem: `a duration is needed, such as 250ms, 30s, 10m, 4h, 7d, 1h30m or PT10M, found ${quoted(text2)}`
  };
  let ms = 0;
  if (DURATION_LITERAL.test(text2)) {
    let last = Number.POSITIVE_INFINITY;
    for (const [, count2, unit] of text2.matchAll(/(\d+)(ms|s|m|h|d)/g)) {
      const size = UNITS_MS[unit];
      if (size >= last) return refusal;
      last = size;
      ms += Number(count2) * size;
    }
  } else if (ISO_DURATION.test(text2)) {
    ms = LuxonDuration.fromISO(text2).toMillis();
  } else return refusal;
  return Number.isSafeInteger(ms) && ms <= 36525 * 864e5 ? { value: new Duration(ms) } : refusal;
}
function looksLikeDuration(text2) {
  return DURATION_LITERAL.test(text2) || ISO_DURATION.test(text2);
}
var TIME_LITERAL = /^(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?)(?:\.(\d{1,6}))?(Z|[+-]\d\d:\d\d)$/;
function readTime(text2) {
  const refusal = {
    code: "time-form",
    problem: `a time is ISO 8601 with its offset, such as 2026-01-05T08:00:00Z, found ${quoted(text2)}`
  };
  const parts = TIME_LITERAL.exec(text2);
  if (parts === null) return refusal;
  const [, whole2, fraction = "", offset] = parts;
  const at = DateTime2.fromISO(`${whole2}${offset}`, { setZone: true });
  if (!at.isValid) return refusal;
  const us = at.toMillis() * 1e3 + Number(fraction.padEnd(6, "0"));
  return Number.isSafeInteger(us) ? { value: new Time(us) } : refusal;
}
function looksLikeTime(text2) {
  return /^\d{4}-\d\d-\d\d(?:$|[T ])/.test(text2);
}
var RATIO_LITERAL = /^(-?\d+(?:\.\d+)?)\s?(%|bps)$/;
function readRatio(text2) {
  const [, digits, unit] = RATIO_LITERAL.exec(text2) ?? [];
  return digits === void 0 ? void 0 : parseAuthoredDecimal(digits)?.div(unit === "%" ? 100 : 1e4);
}
function looksLikeRatio(text2) {
  return RATIO_LITERAL.test(text2);
}
function readNumber(type, typeText, text2) {
  if (looksLikeRatio(text2)) {
    const ratio = readRatio(text2);
    if (type.unit !== "number" || type.integer === true)
      return { code: "ratio-not-here", problem: `${typeText} is no ratio, found ${quoted(text2)}` };
    return ratio === void 0 ? misread(typeText, text2, "a plain decimal") : { value: ratio };
  }
  const value2 = parseAuthoredDecimal(text2);
  if (value2 === void 0) return misread(typeText, text2, "a plain decimal of at most 36 digits, 18 after the point");
  if (type.integer === true && !value2.isInteger())
    return { code: "not-integer", problem: `${typeText} is a whole number, found ${quoted(text2)}` };
  return { value: typeText === "pct" ? value2.div(100) : typeText === "bps" ? value2.div(1e4) : value2 };
}
function readText2(type, text2) {
  if (type.of !== void 0 && !type.of.includes(text2)) {
    const { message, hint } = notAMember([text2], type.of);
    return { code: "not-a-member", problem: message, ...hint === void 0 ? {} : { hint } };
  }
  if (type.market === true && !isMarket(text2))
    return { code: "market-form", problem: `a market id is <BASE>-<QUOTE>, found ${quoted(text2)}` };
  return { value: text2 };
}
function misread(typeText, text2, wanted) {
  return { code: "literal-form", problem: `${typeText} is ${wanted}, found ${quoted(text2)}` };
}
function quoted(text2) {
  return JSON.stringify(text2.length > 60 ? `${text2.slice(0, 60)}\u2026` : text2);
}
function literal(type, typeText, node, source, found) {
  const refuse = (code, span, message, hint) => {
    found.push(diagnose(source, span, code, message, hint));
    return void 0;
  };
  if (type.kind === "list") {
    if (node.kind !== "list")
      return refuse(
        "literal-form",
        node.span,
        `${typeText} is a list, found a ${node.kind === "map" ? "map" : "single value"}`
      );
    return node.items.map((item) => literal(type.of, elementWord(typeText), item, source, found));
  }
  if (type.kind === "map") {
    if (node.kind !== "map")
      return refuse(
        "literal-form",
        node.span,
        `${typeText} is a map, found a ${node.kind === "list" ? "list" : "single value"}`
      );
    return new Map(
      node.entries.map(({ key: key2, value: value2 }) => [key2, literal(type.of, elementWord(typeText), value2, source, found)])
    );
  }
  if (node.kind !== "scalar")
    return refuse("literal-form", node.span, `${typeText} is a single value, found a ${node.kind}`);
  if (node.text.includes("${"))
    return refuse(
      "literal-form",
      node.span,
      `a literal ${typeName(type)} is needed here, found an expression`,
      "Nothing can be computed here: write the value."
    );
  const reading = readScalar(type, typeText, node.text);
  return "value" in reading ? reading.value : refuse(reading.code, node.span, reading.problem, reading.hint);
}

// ../src/runbook/template.ts
function splitTemplate(text2) {
  const parts = [];
  let literal2 = "";
  let at = 0;
  const flush = () => {
    if (literal2 !== "") parts.push({ kind: "text", text: literal2 });
    literal2 = "";
  };
  while (at < text2.length) {
    if (text2.startsWith("$${", at)) {
      literal2 += "${";
      at += 3;
    } else if (text2.startsWith("${", at)) {
      const end = closing(text2, at + 2);
      if (end === void 0) return { parts, unclosed: at };
      flush();
      parts.push({ kind: "expression", text: text2.slice(at + 2, end), start: at + 2 });
      at = end + 1;
    } else {
      literal2 += text2[at];
      at += 1;
    }
  }
  flush();
  return { parts };
}
function closing(text2, from) {
  let open2 = 0;
  for (let at = from; at < text2.length; at += 1) {
    const character = text2[at];
    if (character === '"' || character === "'") {
      for (at += 1; at < text2.length && text2[at] !== character; at += 1) if (text2[at] === "\\") at += 1;
    } else if (character === "{") open2 += 1;
    else if (character === "}") {
      if (open2 === 0) return at;
      open2 -= 1;
    }
  }
  return void 0;
}

// ../src/runbook/expression.ts
var FACTS = /* @__PURE__ */ new WeakMap();
var NO_FACTS = { whenTrue: [], whenFalse: [], bare: false };
function presentWhenTrue(expr) {
  return FACTS.get(expr)?.whenTrue ?? [];
}
function isBare(expr) {
  return FACTS.get(expr)?.bare === true;
}
function compileField(node, source, env, expected) {
  const kind = expected === "any" ? "any" : expected.kind === "optional" ? expected.of.kind : expected.kind;
  if (kind === "text" || kind === "any" && node.text.includes("${"))
    return compileTemplate(node, source, env, expected);
  const text2 = node.text.trim();
  const literal2 = literalOf(text2, kind, env);
  if (literal2 === void 0) return compileExpression(node, source, env, expected);
  if ("code" in literal2) return refused(node, source, literal2.code, literal2.problem);
  const { value: value2, type } = literal2;
  const fit = expected === "any" ? void 0 : fitted({ type, run: () => value2, bare: false, constant: true }, expected);
  if (fit !== void 0 && isRefusal(fit))
    return refused(node, source, type === NUMBER ? "ratio-not-here" : fit.refused, fit.message);
  return { expr: expression(text2, fit?.type ?? type, [], () => value2, 1, NO_FACTS, true), diagnostics: [] };
}
function compileExpression(node, source, env, expected) {
  const dollar = node.text.indexOf("${");
  if (dollar !== -1) {
    const span = { start: node.offset(dollar), end: node.offset(dollar + 1) + 1 };
    return {
      expr: void 0,
      diagnostics: [
        diagnose(source, span, "template-not-here", "${\u2026} is for texts; this field takes a bare expression")
      ]
    };
  }
  return compileSlice(node, source, env, expected, node.text, 0);
}
function compileTemplate(node, source, env, expected) {
  const { parts, unclosed } = splitTemplate(node.text);
  if (unclosed !== void 0) {
    const span = { start: node.offset(unclosed), end: node.offset(unclosed + 1) + 1 };
    return { expr: void 0, diagnostics: [diagnose(source, span, "template-unclosed", "${ without its }")] };
  }
  const wanted = expected === "any" ? TEXT : expected.kind === "optional" ? expected.of : expected;
  const [only2] = parts;
  if (only2?.kind === "expression" && parts.length === 1) {
    const free = expected !== "any" && wanted.kind === "text" && wanted.of === void 0 && wanted.market !== true;
    const compiled3 = compileSlice(node, source, env, free ? "any" : expected, only2.text, only2.start);
    if (!free || compiled3.expr === void 0 || compiled3.expr.type.kind === "text") return compiled3;
    return joined(node, source, [compiled3.expr], compiled3.diagnostics);
  }
  if (parts.every((part) => part.kind === "text"))
    return literalText(node, source, wanted, parts.map((part) => part.text).join(""));
  if (wanted.kind !== "text" || wanted.of !== void 0)
    return refused(
      node,
      source,
      "template-mixed",
      `${typeName(wanted)} is needed; a text put together from parts can not be checked against it`
    );
  const compiled2 = parts.map(
    (part) => part.kind === "text" ? part.text : compileSlice(node, source, env, "any", part.text, part.start)
  );
  const diagnostics = compiled2.flatMap((part) => typeof part === "string" ? [] : part.diagnostics);
  const exprs2 = compiled2.map((part) => typeof part === "string" ? part : part.expr);
  return exprs2.every((each) => each !== void 0) ? joined(node, source, exprs2, diagnostics) : { expr: void 0, diagnostics };
}
function literalOf(text2, kind, env) {
  const name2 = env.roots.has(text2) || env.defs?.has(text2) === true;
  if (looksLikeRatio(text2)) {
    const value2 = readRatio(text2);
    return value2 === void 0 ? { code: "literal-form", problem: `${text2} has too many digits` } : { value: value2, type: NUMBER };
  }
  if (looksLikeDuration(text2) && !name2) {
    const reading = readDuration(text2);
    return "value" in reading ? { value: reading.value, type: DURATION } : reading;
  }
  if (looksLikeTime(text2) && (kind === "time" || kind === "any" || text2.includes(":"))) {
    const reading = readTime(text2);
    return "value" in reading ? { value: reading.value, type: TIME } : reading;
  }
  if (kind === "duration" && /^-?\d+(\.\d+)?\s*[A-Za-z]*$/.test(text2)) {
    const reading = readDuration(text2);
    return "value" in reading ? void 0 : reading;
  }
  return void 0;
}
function literalText(node, source, wanted, text2) {
  const reading = readScalar(wanted, typeName(wanted), text2);
  if (!("value" in reading)) return refused(node, source, reading.code, reading.problem, reading.hint);
  const { value: value2 } = reading;
  const type = wanted.kind === "text" && wanted.of === void 0 && wanted.market !== true ? { kind: "text", of: [text2] } : wanted;
  return { expr: expression(node.text, type, [], () => value2, 1, { ...NO_FACTS, bare: true }, true), diagnostics: [] };
}
function joined(node, source, parts, before) {
  const diagnostics = [...before];
  const exprs2 = parts.filter((part) => typeof part !== "string");
  for (const { type, text: text2 } of exprs2) {
    const inner = type.kind === "optional" ? type.of : type;
    const item = inner.kind === "list" ? inner.of : inner;
    const start = Math.max(0, node.text.indexOf(text2));
    const span = { start: node.offset(start), end: node.offset(start + Math.max(0, text2.length - 1)) + 1 };
    if (item.kind === "record" || item.kind === "map" || item.kind === "list")
      diagnostics.push(
        diagnose(source, span, "type-mismatch", `${typeName(type)} has no text of its own`, "Name a field of it.")
      );
    else if (type.kind === "optional")
      diagnostics.push(diagnose(source, span, "optional-in-text", `${text2.trim()} may be absent`));
  }
  if (diagnostics.some((each) => each.severity === "error")) return { expr: void 0, diagnostics };
  const reads = exprs2.flatMap((each) => each.reads);
  const constant = exprs2.every((each) => each.constant);
  const run = ({ scope }) => parts.map((part) => typeof part === "string" ? part : textOf(part.evaluate(scope))).join("");
  return {
    expr: expression(node.text, TEXT, reads, run, parts.length, NO_FACTS, constant),
    diagnostics
  };
}
function compileSlice(node, source, env, expected, text2, from) {
  const diagnostic = ({ code, message, hint, span }) => diagnose(source, spanIn(node, from, span), code, message, hint);
  const parsed = parseExpression(text2);
  if (!("tree" in parsed)) return { expr: void 0, diagnostics: [diagnostic(parsed)] };
  const analysis = new Analysis(text2, env, (name2) => factsOf(env, name2));
  const term = analysis.term(parsed.tree);
  const fit = expected === "any" ? term : analysis.fit(term, expected, parsed.tree);
  const diagnostics = analysis.faults.map(diagnostic);
  if (fit === void 0 || diagnostics.some((each) => each.severity === "error"))
    return { expr: void 0, diagnostics };
  const facts = { whenTrue: fit.whenTrue ?? [], whenFalse: fit.whenFalse ?? [], bare: fit.bare };
  return {
    expr: expression(text2, fit.type, analysis.reads, fit.run, analysis.weight, facts, fit.constant),
    diagnostics
  };
}
function factsOf(env, name2) {
  const expr = env.defs?.get(name2);
  return expr === void 0 ? void 0 : FACTS.get(expr);
}
function expression(text2, type, reads, run, weight, facts, constant) {
  const sorted = [...new Set(reads)].sort();
  const expr = {
    text: text2,
    type,
    reads: sorted,
    constant,
    evaluate: (scope) => evaluateIn(scope, run, weight, text2)
  };
  FACTS.set(expr, facts);
  return expr;
}
function spanIn(node, from, { start, end }) {
  const first = node.offset(from + start);
  return { start: first, end: Math.max(first, end > start ? node.offset(from + end - 1) + 1 : first) };
}
function refused(node, source, code, message, hint) {
  return { expr: void 0, diagnostics: [diagnose(source, node.span, code, message, hint)] };
}

// ../src/runbook/compiler.ts
var FAULTY = {
  text: "",
  type: { kind: "text" },
  reads: [],
  constant: false,
  evaluate() {
    throw new Error("an expression at fault was evaluated");
  }
};
var NOWHERE2 = { get: () => void 0, rules: () => void 0 };
var Compiler = class {
  diagnostics = [];
  /** Every root read so far, `feeds.<name>` and `inputs.<name>`. */
  used = /* @__PURE__ */ new Set();
  /** The feeds read since a step began. */
  feeds = /* @__PURE__ */ new Set();
  /** The market `tick` and `lot` mean where nothing nearer does. */
  market;
  source;
  names;
  faulty;
  constructor(source, names2, faulty) {
    this.source = source;
    this.names = names2;
    this.faulty = faulty;
  }
  isFaulty(node) {
    return node === void 0 || this.faulty.has(node);
  }
  /** Compiles what stands at a field; `FAULTY` where nothing sound does, which has been or is hereby reported. */
  value(node, expected, market4 = this.market) {
    if (node === void 0 || this.faulty.has(node)) return FAULTY;
    if (node.kind === "scalar") return this.scalar(node, expected, market4);
    if (node.kind === "list") return this.list(node.items, node, expected, market4);
    return FAULTY;
  }
  scalar(node, expected, market4) {
    if (node.type === "null") return FAULTY;
    const { expr, diagnostics } = compileField(node, this.source, this.names.env(market4), expected);
    this.report(node, diagnostics);
    if (expr === void 0) {
      for (const [word2] of node.text.matchAll(/[A-Za-z_]\w*/g)) this.used.add(word2);
      this.noteFields(node.text);
      return FAULTY;
    }
    this.note(expr);
    return expr;
  }
  list(items, node, expected, market4) {
    const wanted = expected !== "any" && expected.kind === "list" ? expected.of : "any";
    const markets = wanted === "any" && items.length > 0 && items.every(looksLikeMarket);
    const parts = items.map((item) => this.value(item, markets ? { kind: "text", market: true } : wanted, market4));
    if (parts.includes(FAULTY)) return FAULTY;
    let of = wanted === "any" ? parts[0]?.type ?? { kind: "text" } : wanted;
    for (const part of wanted === "any" ? parts : []) {
      const both = of === void 0 ? void 0 : union(of, part.type);
      if (both === void 0) {
        this.report(node, [mixed2(this.source, node, of, part)]);
        return FAULTY;
      }
      of = both;
    }
    return {
      text: this.source.text.slice(node.span.start, node.span.end),
      type: { kind: "list", of },
      reads: [...new Set(parts.flatMap((part) => part.reads))].sort(),
      constant: parts.every((part) => part.constant),
      evaluate: (scope) => parts.map((part) => part.evaluate(scope))
    };
  }
  /** Compiles what a name stands for and puts the name in sight. */
  named(name2, node) {
    const expr = this.value(node, "any");
    this.names.declare(name2, expr.type);
    this.remember(name2, expr);
    return expr;
  }
  /** Keeps what is known of a name beside its type: bare literals for units, constants for proofs, or that it is at fault. */
  remember(name2, expr) {
    if (expr === FAULTY) {
      this.names.unknown.add(name2);
      return;
    }
    this.names.unknown.delete(name2);
    if (isBare(expr)) this.names.bare.add(name2);
    const constant = this.constant(expr);
    if (constant !== void 0) this.names.constants.set(name2, constant);
  }
  /** The value of an expression that is the same in every run; undefined when it is not, or can not be worked out. */
  constant(expr) {
    if (expr === void 0 || expr === FAULTY) return void 0;
    if (!expr.constant && !(expr.reads.length > 0 && expr.reads.every((root) => this.names.constants.has(root)))) return void 0;
    try {
      return expr.evaluate({ ...NOWHERE2, get: (root) => this.names.constants.get(root) });
    } catch {
      return void 0;
    }
  }
  note(expr) {
    for (const root of expr.reads) {
      this.used.add(root);
      if (root.startsWith("feeds.")) this.feeds.add(root.slice("feeds.".length));
    }
    this.noteFields(expr.text);
  }
  /** `reads` names `inputs` as a whole: which of them is told by the text. */
  noteFields(text2) {
    for (const [, root, field] of text2.matchAll(/\b(inputs|feeds)\s*\.\s*\??\s*([A-Za-z_]\w*)/g)) this.used.add(`${root}.${field}`);
  }
  /** Leaves out what follows from a declaration that was reported itself. */
  report(node, diagnostics) {
    if (diagnostics.length === 0) return;
    const { unknown: unknown2 } = this.names;
    const echo = unknown2.size > 0 && [...unknown2].some((name2) => mentions(node, this.source.text, name2));
    const news = echo ? diagnostics.filter((each) => each.severity === "warning") : diagnostics;
    this.diagnostics.push(...this.names.lost ? news.filter((each) => each.code !== "unknown-name") : news);
  }
};
function derived(from, evaluate) {
  return { ...from, constant: false, evaluate };
}
function marketOf2(orderExpr) {
  if (orderExpr === FAULTY) return FAULTY;
  const { text: text2, reads } = orderExpr;
  return derived({ text: `${text2}.market_id`, type: { kind: "text", market: true }, reads }, (scope) => String(orderExpr.evaluate(scope)["market_id"]));
}
function looksLikeMarket(node) {
  return node.kind === "scalar" && node.type === "text" && /^[A-Z0-9]+-[A-Z0-9]+$/.test(node.text);
}
function mentions(node, text2, name2) {
  const at = text2.slice(node.span.start, node.span.end);
  return new RegExp(`(?<![\\w])${name2.replaceAll(".", "\\s*\\.\\s*")}(?!\\w)`).test(at);
}
function mixed2(source, node, of, part) {
  const found = of === void 0 ? "several" : typeName(of);
  return diagnose(source, node.span, "type-mismatch", `the items of a list must be of one type, found ${found} and ${typeName(part.type)}`);
}

// ../src/runbook/inputs.ts
function violation(input2, value2) {
  for (const each of Array.isArray(value2) ? value2 : [value2]) {
    const found = valueText(each);
    if (input2.min !== void 0 && (order2(each, input2.min) ?? 0) < 0)
      return { code: "input-out-of-range", message: `${input2.name} must be at least ${valueText(input2.min)}, found ${found}` };
    if (input2.max !== void 0 && (order2(each, input2.max) ?? 0) > 0)
      return { code: "input-out-of-range", message: `${input2.name} must be at most ${valueText(input2.max)}, found ${found}` };
    if (input2.enum !== void 0 && !input2.enum.some((member) => same(member, each)))
      return { code: "input-not-in-enum", message: `${input2.name} must be one of ${input2.enum.map(valueText).join(", ")}, found ${found}` };
  }
  return void 0;
}
function unknownInput(name2, known, runbook) {
  const meant = didYouMean(name2, known);
  const list2 = known.length === 0 ? "it has none" : `it has ${known.join(", ")}`;
  return `${runbook} has no input ${JSON.stringify(name2)}${meant === void 0 ? `; ${list2}` : `; did you mean ${meant}?`}`;
}
function elementType(type) {
  return type.kind === "list" ? elementType(type.of) : type;
}
function isOrdered(type) {
  return type.kind === "decimal" || type.kind === "duration" || type.kind === "time";
}
function order2(left, right) {
  if (Decimal.isDecimal(left) && Decimal.isDecimal(right)) return left.comparedTo(right);
  if (left instanceof Duration && right instanceof Duration) return left.ms - right.ms;
  if (left instanceof Time && right instanceof Time) return left.us - right.us;
  return void 0;
}
function same(left, right) {
  return order2(left, right) === 0 || left === right;
}
function valueText(value2) {
  if (Decimal.isDecimal(value2)) return value2.toFixed();
  if (value2 instanceof Duration) return durationText(value2);
  if (value2 instanceof Time) return timeText(value2);
  return typeof value2 === "string" ? JSON.stringify(value2) : String(value2);
}

// ../src/runbook/declarations.ts
function checkInputs(checking, node) {
  if (node !== void 0 && node.kind !== "map") checking.names.unknown.add("inputs");
  const inputs = [];
  for (const { key: key2, value: value2 } of entriesOf(checking, node)) {
    const declared = typeOf(checking, value2);
    if (declared === void 0 || value2.kind !== "map") checking.names.unknown.add(`inputs.${key2}`);
    else inputs.push(input(checking, key2, declared, value2));
  }
  const fields2 = Object.fromEntries(inputs.map(({ name: name2, type }) => [name2, type]));
  checking.names.declare("inputs", recordType("Inputs", fields2));
  return inputs;
}
function input(checking, name2, { type, typeText }, node) {
  const { source } = checking;
  const element = elementType(type);
  const word2 = type.kind === "list" ? elementWord(typeText) : typeText;
  const literal2 = (key2, of, text2) => {
    const at = node.get(key2);
    if (at === void 0 || checking.compiler.isFaulty(at)) return void 0;
    const { value: value2, diagnostics } = readLiteral(of, text2, at, source);
    checking.add(diagnostics);
    return value2;
  };
  const bounded2 = isOrdered(element);
  for (const key2 of bounded2 ? [] : ["min", "max"]) {
    const entry = node.entry(key2);
    if (entry !== void 0) checking.report(entry.keySpan, "input-bounds", `${name2} is a ${typeText}, which has no order: ${key2} means nothing`);
  }
  const min = bounded2 ? literal2("min", element, word2) : void 0;
  const max = bounded2 ? literal2("max", element, word2) : void 0;
  if (min !== void 0 && max !== void 0 && (order2(min, max) ?? 0) > 0)
    checking.report(node.get("min") ?? node, "input-bounds", `min of ${name2} is ${valueText(min)}, above its max ${valueText(max)}`);
  const members = enumOf(checking, node.get("enum"), element, word2);
  const byDefault = literal2("default", type, typeText);
  if (node.get("default") !== void 0) checking.defaulted.add(name2);
  const bounds = { name: name2, ...defined({ min, max, enum: members }) };
  const problem = byDefault === void 0 ? void 0 : violation(bounds, byDefault);
  if (problem !== void 0) checking.report(node.get("default") ?? node, problem.code, `the default: ${problem.message}`);
  for (const member of node.get("enum")?.kind === "list" ? node.get("enum").items : []) {
    const { value: value2 } = readLiteral(element, word2, member, source);
    const outside = value2 === void 0 ? void 0 : violation({ name: name2, ...defined({ min, max }) }, value2);
    if (outside !== void 0) checking.report(member, outside.code, `a member of the enum: ${outside.message}`);
  }
  const narrowed = members !== void 0 && element.kind === "text" && element.of === void 0 ? withMembers(type, members) : type;
  return { name: name2, type: narrowed, typeText, ...defined({ default: byDefault, min, max, enum: members, about: textOf2(node.get("about")) }) };
}
function withMembers(type, members) {
  if (type.kind === "list") return { kind: "list", of: withMembers(type.of, members) };
  return type.kind === "text" && type.market !== true ? { kind: "text", of: members } : type;
}
function enumOf(checking, node, type, word2) {
  if (node?.kind !== "list" || checking.compiler.isFaulty(node)) return void 0;
  const members = [];
  for (const item of node.items) {
    const { value: value2, diagnostics } = readLiteral(type, word2, item, checking.source);
    checking.add(diagnostics);
    if (value2 !== void 0) members.push(value2);
  }
  return members.length === 0 ? void 0 : members;
}
function checkFeeds(checking, node) {
  if (node !== void 0 && node.kind !== "map") checking.names.unknown.add("feeds");
  const feeds = [];
  for (const { key: key2, value: value2 } of entriesOf(checking, node)) {
    const declared = typeOf(checking, value2);
    if (declared === void 0 || value2.kind !== "map") {
      checking.names.unknown.add(`feeds.${key2}`);
      continue;
    }
    const { market: market4 } = checking.compiler;
    const follows = declared.type.kind !== "map" && market4 !== void 0 ? { market: market4 } : {};
    feeds.push({ name: key2, type: declared.type, maxAge: literalDuration(checking, value2.get("max_age")) ?? new Duration(0), ...follows });
  }
  checking.names.declare("feeds", recordType("Feeds", Object.fromEntries(feeds.map(({ name: name2, type }) => [name2, type]))));
  return feeds;
}
function declareRoots(checking) {
  checking.names.declare("now", TIME);
  checking.names.declare("run", RUN);
}
function checkLets(checking, node) {
  return named3(checking, node);
}
function checkDefs(checking, node) {
  return named3(checking, node, (name2, value2) => checking.names.defs.set(name2, value2));
}
function named3(checking, node, remember2 = () => {
}) {
  const all = [];
  if (node !== void 0 && node.kind !== "map") checking.names.lost = true;
  for (const { key: key2, keySpan, value: value2 } of entriesOf(checking, node)) {
    if (!checking.mayDeclare(key2, keySpan)) {
      checking.compiler.value(value2, "any");
      continue;
    }
    const expr = checking.compiler.named(key2, value2);
    remember2(key2, expr);
    checking.lets.push({ name: key2, span: keySpan });
    all.push({ name: key2, value: expr });
  }
  return all;
}
function checkVars(checking, node) {
  const vars = [];
  if (node !== void 0 && node.kind !== "map") checking.names.lost = true;
  for (const { key: key2, keySpan, value: value2 } of entriesOf(checking, node)) {
    const declared = typeOf(checking, value2);
    const free = checking.mayDeclare(key2, keySpan);
    if (declared === void 0 || value2.kind !== "map") checking.names.unknown.add(key2);
    else {
      const init = checking.compiler.value(value2.get("init"), declared.type);
      if (!free) continue;
      checking.names.declare(key2, declared.type);
      checking.vars.set(key2, declared.type);
      checking.lets.push({ name: key2, span: keySpan });
      vars.push({ name: key2, type: declared.type, init });
    }
  }
  return vars;
}
function checkLimits3(checking, node) {
  if (node?.kind !== "map" || checking.compiler.isFaulty(node)) return void 0;
  const { compiler } = checking;
  const several = (key2, type) => {
    const at = node.get(key2);
    return at?.kind === "list" ? at.items.map((item) => compiler.value(item, type)) : void 0;
  };
  const amount = (key2, type) => {
    const at = node.get(key2);
    if (at === void 0) return void 0;
    const expr = compiler.value(at, type);
    const value2 = compiler.constant(expr);
    if (value2 !== void 0 && !value2.greaterThan(0)) checking.report(at, "limit-out-of-range", `${key2} must be above zero, found ${value2.toFixed()}`);
    return expr;
  };
  const band = node.get("price_band");
  const mode = textOf2(node.get("mode"));
  const limits = defined({
    markets: several("markets", MARKET),
    sides: several("sides", SIDE),
    maxOrderSize: amount("max_order_size", SIZE),
    maxOrderNotional: amount("max_order_notional", MONEY),
    maxRunNotional: amount("max_run_notional", MONEY),
    maxOpenOrders: amount("max_open_orders", INTEGER),
    maxLeverage: amount("max_leverage", INTEGER),
    maxWrites: amount("max_writes", INTEGER),
    priceBand: band?.kind === "map" ? { around: compiler.value(band.get("around"), PRICE), within: compiler.value(band.get("within"), NUMBER) } : void 0,
    mode: compiler.isFaulty(node.get("mode")) ? void 0 : mode
  });
  const leverage2 = compiler.constant(limits.maxLeverage);
  if (leverage2?.greaterThan(20)) checking.report(node.get("max_leverage") ?? node, "leverage-out-of-range", `max_leverage must be a whole number from 1 to 20, found ${leverage2.toFixed()}`);
  checking.limits = constantLimits(checking, limits);
  return limits;
}
function constantLimits(checking, limits) {
  const { compiler } = checking;
  const all = (exprs2) => {
    const values = exprs2?.map((expr) => compiler.constant(expr));
    return values?.every((value2) => value2 !== void 0) ? values : void 0;
  };
  const around = compiler.constant(limits.priceBand?.around);
  const within2 = compiler.constant(limits.priceBand?.within);
  return defined({
    band: around && within2 && { around, within: within2 },
    markets: all(limits.markets),
    sides: all(limits.sides),
    maxOrderSize: compiler.constant(limits.maxOrderSize),
    maxOrderNotional: compiler.constant(limits.maxOrderNotional),
    maxRunNotional: compiler.constant(limits.maxRunNotional),
    maxLeverage: compiler.constant(limits.maxLeverage),
    mode: limits.mode ?? "active"
  });
}
var SHORTEST_LIVE_TIMEOUT_MS = 5e3;
function checkDeadman(checking, root) {
  const entry = root.entry("deadman");
  const node = entry?.value;
  if (entry === void 0 || node?.kind !== "map" || checking.compiler.isFaulty(node)) return void 0;
  const { compiler } = checking;
  const timeoutAt = node.get("timeout");
  const timeout = compiler.value(timeoutAt, DURATION);
  const keepAliveAt = node.get("keep_alive");
  const keepAlive = keepAliveAt === void 0 ? void 0 : compiler.value(keepAliveAt, DURATION);
  const onExit = textOf2(node.get("on_exit"));
  const length = compiler.constant(timeout);
  const pause2 = compiler.constant(keepAlive);
  checkTimeout(checking, timeoutAt, length);
  if (length !== void 0 && pause2 !== void 0 && keepAliveAt !== void 0 && pause2.ms >= length.ms)
    checking.report(keepAliveAt, "deadman-keep-alive", `keep_alive ${valueText(pause2)} is not shorter than the timeout ${valueText(length)}`);
  return {
    market: compiler.value(node.get("market"), MARKET),
    timeout,
    ...defined({ keepAlive, releaseAfter: textOf2(node.get("release_after")) }),
    onExit: onExit === "leave_armed" ? onExit : "disarm",
    span: entry.span
  };
}
function checkTimeout(checking, at, timeout) {
  if (at === void 0 || timeout === void 0) return;
  if (timeout.ms < 1) checking.report(at, "deadman-timeout", `the deadman timeout must be at least 1ms, found ${valueText(timeout)}`);
  else if (timeout.ms < SHORTEST_LIVE_TIMEOUT_MS)
    checking.report(at, "deadman-timeout-short", `a deadman timeout of ${valueText(timeout)} is refused in a live run, which needs at least 5s`);
}
function checkConcurrency(checking, node) {
  if (node?.kind !== "map" || checking.compiler.isFaulty(node)) return void 0;
  const onBusy = textOf2(node.get("on_busy"));
  return { key: checking.compiler.value(node.get("key"), TEXT), onBusy: onBusy === "skip" || onBusy === "fail" ? onBusy : "queue" };
}
function defaultMarket(limitMarkets, inputs, deadmanMarket) {
  if (limitMarkets !== void 0 && limitMarkets.length > 0) return limitMarkets.length === 1 ? sound(limitMarkets[0]) : void 0;
  const markets = inputs.filter(({ type }) => type.kind === "text" && type.market === true);
  const [only2] = markets;
  if (markets.length === 1 && only2 !== void 0)
    return derived({ text: `\${inputs.${only2.name}}`, type: MARKET, reads: ["inputs"] }, (scope) => String(scope.get("inputs")[only2.name]));
  return sound(deadmanMarket);
}
function sound(expr) {
  return expr === FAULTY ? void 0 : expr;
}
function typeOf(checking, node) {
  const at = node.kind === "map" ? node.get("type") : void 0;
  if (at?.kind !== "scalar" || checking.compiler.isFaulty(at)) return void 0;
  const type = typeOfWord(at.text);
  if (type === void 0) {
    const meant = didYouMean(at.text, TYPE_WORDS);
    checking.report(at, "unknown-type", `${JSON.stringify(at.text)} is not a type; types are ${TYPE_WORDS.join(", ")}`, meant && `Did you mean ${meant}?`);
  }
  return type && { type, typeText: at.text.trim() };
}
function literalDuration(checking, node) {
  if (node === void 0 || checking.compiler.isFaulty(node)) return void 0;
  const { value: value2, diagnostics } = readLiteral(DURATION, "duration", node, checking.source);
  checking.add(diagnostics);
  return value2;
}
function textOf2(node) {
  return node?.kind === "scalar" ? node.text : void 0;
}
function entriesOf(checking, node) {
  return node?.kind === "map" && !checking.compiler.isFaulty(node) ? node.entries : [];
}
function defined(all) {
  return Object.fromEntries(Object.entries(all).filter(([, value2]) => value2 !== void 0));
}

// ../src/runbook/arguments.ts
var VENUE_ARGS = {
  place,
  protect,
  amend,
  cancel,
  cancel_all: (checking, _node, { verb }) => {
    if (!checking.needs.includes("cancel_all")) checking.report(verb, "cancel-all-not-granted", "cancel_all needs `needs: [cancel_all]` in the file");
    return { args: { everyone: true }, yields: void 0 };
  },
  set_leverage: setLeverage,
  read_account: () => ({ args: {}, yields: typeYielded("read_account") }),
  read_tier: () => ({ args: {}, yields: typeYielded("read_tier") }),
  list_orders: listOrders2,
  list_fills: listFills2,
  refresh: (checking, node) => ({ args: { order: checking.compiler.value(node, ORDER) }, yields: ORDER }),
  arm_deadman: (checking, node) => {
    const read2 = new Reader(checking, node, fieldsOf("arm_deadman"));
    const timeout = read2.expr("timeout");
    checkTimeout(checking, read2.at("timeout"), checking.compiler.constant(timeout));
    return { args: { market: read2.expr("market"), timeout }, yields: typeYielded("arm_deadman") };
  },
  read_deadman: (checking, node) => ({ args: { market: new Reader(checking, node, fieldsOf("read_deadman")).expr("market") }, yields: typeYielded("read_deadman") }),
  disarm_deadman: (checking, node) => ({ args: { market: new Reader(checking, node, fieldsOf("disarm_deadman")).expr("market") }, yields: void 0 }),
  refresh_session: () => ({ args: {}, yields: void 0 }),
  request: (checking, node) => {
    const name2 = node.kind === "map" ? textOf2(node.get("name")) ?? "" : "";
    return { args: { name: name2, with: exprs(checking, node.kind === "map" ? node.get("with") : void 0) }, yields: Object.hasOwn(checking.requests, name2) ? checking.requests[name2] : void 0 };
  }
};
function place(checking, node, { verb, allow }) {
  const type = node.kind === "map" ? textOf2(node.get("type")) : void 0;
  const shape = stepRow("place").takes;
  const variant = shape.kind === "variants" && type !== void 0 && Object.hasOwn(shape.variants, type) ? shape.variants[type] : void 0;
  if (variant === void 0 || type === void 0) return { args: NO_ORDER, yields: ORDER };
  const read2 = new Reader(checking, node, variant);
  const market4 = read2.expr("market");
  read2.market = market4;
  const side2 = read2.expr("side");
  const size = read2.expr("size");
  const price2 = read2.optional("price");
  const trigger2 = read2.optional("trigger");
  const tif2 = read2.word("tif") ?? (type === "market" ? "immediate_or_cancel" : "good_till_cancel");
  const onAmbiguous = read2.word("on_ambiguous") === "resend" ? "resend" : "halt";
  const reduces = allow === "reduce" || checking.limits.mode === "reducing";
  checkHalted(checking, verb, "place");
  checkMarket(checking, read2.at("market"), market4);
  if (!reduces) checkSide(checking, read2.at("side"), side2);
  positive(checking, read2, "size", size, "size-not-positive");
  positive(checking, read2, "price", price2, "price-not-positive");
  positive(checking, read2, "trigger", trigger2, "price-not-positive");
  checkSize(checking, read2, size, price2, allow === "reduce");
  checkBand(checking, read2, price2);
  if (type === "market" && price2 === void 0) checking.report(verb, "market-order-without-price", "a market order without a price: the venue document leaves open whether that is allowed");
  if (type === "market" && (tif2 === "good_till_cancel" || tif2 === "post_only"))
    checking.report(read2.at("tif") ?? verb, "market-order-may-rest", `a market order with tif ${tif2} may rest in the book`);
  if (onAmbiguous === "resend" && !(type === "limit" && (tif2 === "good_till_cancel" || tif2 === "post_only")))
    checking.report(read2.at("on_ambiguous") ?? verb, "resend-not-safe", `on_ambiguous: resend suits good-till-cancel and post-only limit orders alone, this is a ${type} order with ${tif2}`);
  return { args: { type, market: market4, side: side2, size, ...defined({ price: price2, trigger: trigger2, tag: read2.text("tag") }), tif: tif2, onAmbiguous }, yields: ORDER };
}
var NO_ORDER = { type: "limit", market: FAULTY, side: FAULTY, size: FAULTY, tif: "good_till_cancel", onAmbiguous: "halt" };
function protect(checking, node, { verb }) {
  const read2 = new Reader(checking, node, fieldsOf("protect"));
  const market4 = read2.expr("market");
  const leg = (key2) => {
    const at = read2.at(key2);
    const shape = read2.shape(key2);
    if (at === void 0 || shape?.kind !== "fields") return void 0;
    const inner = new Reader(checking, at, shape);
    inner.market = market4;
    const fraction = inner.expr("fraction");
    const known = checking.compiler.constant(fraction);
    if (known !== void 0 && !(known.greaterThan(0) && known.lessThanOrEqualTo(1)))
      checking.report(inner.at("fraction") ?? at, "fraction-out-of-range", `fraction must be above 0 and at most 1, found ${known.toFixed()}`);
    const trigger2 = inner.expr("trigger");
    const price2 = inner.expr("price");
    positive(checking, inner, "trigger", trigger2, "price-not-positive");
    positive(checking, inner, "price", price2, "price-not-positive");
    return { fraction, trigger: trigger2, price: price2 };
  };
  const side2 = read2.expr("side");
  const stopLoss = leg("stop_loss");
  const takeProfit = leg("take_profit");
  checkHalted(checking, verb, "protect");
  checkMarket(checking, read2.at("market"), market4);
  const legs = { ...stopLoss && { stop_loss: ORDER }, ...takeProfit && { take_profit: ORDER } };
  return {
    args: { market: market4, side: side2, ...defined({ stopLoss, takeProfit }) },
    yields: recordType(stopLoss && takeProfit ? "Protection" : stopLoss ? "StopLoss" : "TakeProfit", legs)
  };
}
function amend(checking, node, { verb }) {
  const read2 = new Reader(checking, node, fieldsOf("amend"));
  const order3 = read2.expr("order");
  read2.market = marketOf2(order3);
  const price2 = read2.expr("price");
  const size = read2.optional("size");
  checkHalted(checking, verb, "amend");
  positive(checking, read2, "price", price2, "price-not-positive");
  positive(checking, read2, "size", size, "size-not-positive");
  checkSize(checking, read2, size, price2, false);
  checkBand(checking, read2, price2);
  return { args: { order: order3, price: price2, ...defined({ size }) }, yields: ORDER };
}
function cancel(checking, node) {
  const { compiler } = checking;
  if (node.kind !== "map") return { args: { kind: "order", order: compiler.value(node, ORDER) }, yields: ORDER };
  const shape = mapShape("cancel", node);
  const read2 = new Reader(checking, node, shape);
  if (node.get("mine") !== void 0) return { args: { kind: "mine", market: read2.expr("mine") }, yields: void 0 };
  const ids = read2.expr("ids");
  if (ids !== FAULTY && (ids.type.kind !== "list" || !isOrderOrId(ids.type.of))) mismatch2(checking, read2.at("ids") ?? node, "ids takes a list of orders or order ids", ids.type);
  return { args: { kind: "ids", ids }, yields: void 0 };
}
function setLeverage(checking, node, { verb }) {
  const read2 = new Reader(checking, node, fieldsOf("set_leverage"));
  const market4 = read2.expr("market");
  const at = read2.at("leverage");
  const literal2 = at?.kind === "scalar" && at.type === "number" ? at.text : void 0;
  checkHalted(checking, verb, "set_leverage");
  checkMarket(checking, read2.at("market"), market4);
  if (literal2?.includes(".")) {
    checking.report(at ?? node, "leverage-out-of-range", `leverage must be a whole number from 1 to 20, found ${literal2}`);
    return { args: { market: market4, leverage: FAULTY }, yields: typeYielded("set_leverage") };
  }
  const leverage2 = read2.expr("leverage");
  const value2 = checking.compiler.constant(leverage2);
  const most2 = checking.limits.maxLeverage;
  if (value2 !== void 0 && !(value2.isInteger() && value2.greaterThanOrEqualTo(1) && value2.lessThanOrEqualTo(20)))
    checking.report(at ?? node, "leverage-out-of-range", `leverage must be a whole number from 1 to 20, found ${value2.toFixed()}`);
  else if (value2 !== void 0 && most2 !== void 0 && value2.greaterThan(most2))
    checking.report(at ?? node, "leverage-over-limit", `leverage ${value2.toFixed()} is above limits.max_leverage, ${most2.toFixed()}`);
  return { args: { market: market4, leverage: leverage2 }, yields: typeYielded("set_leverage") };
}
function listOrders2(checking, node, { verb }) {
  const read2 = new Reader(checking, node, fieldsOf("list_orders"));
  if (read2.at("since") === void 0) checking.report(verb, "read-without-since", "list_orders without `since` reads the whole history, up to ten times slower");
  const args = {
    ...defined({
      market: read2.optional("market"),
      status: read2.optional("status"),
      order: read2.optional("order"),
      clientOrderId: read2.optional("client_order_id")
    }),
    ...period2(checking, read2)
  };
  return { args, yields: typeYielded("list_orders") };
}
function listFills2(checking, node, { verb }) {
  const read2 = new Reader(checking, node, fieldsOf("list_fills"));
  const order3 = read2.orderOrId("order");
  if (read2.at("since") === void 0 && read2.at("order") === void 0)
    checking.report(verb, "read-without-since", "list_fills without `since` reads the whole history, up to ten times slower");
  return { args: { ...defined({ market: read2.optional("market"), order: order3 }), ...period2(checking, read2) }, yields: typeYielded("list_fills") };
}
function period2(checking, read2) {
  const limit = read2.optional("limit");
  const page2 = read2.optional("page");
  const rows2 = checking.compiler.constant(limit);
  if (rows2 !== void 0 && !(rows2.greaterThanOrEqualTo(1) && rows2.lessThanOrEqualTo(1e3)))
    checking.report(read2.need("limit"), "rows-out-of-range", `limit must be a whole number from 1 to 1000, found ${rows2.toFixed()}`);
  const number = checking.compiler.constant(page2);
  if (number?.lessThan(0)) checking.report(read2.need("page"), "rows-out-of-range", `page must be at least 0, found ${number.toFixed()}`);
  const sort = read2.word("sort");
  return {
    ...defined({ since: read2.optional("since"), until: read2.optional("until"), limit, page: page2, sort: sort === "asc" || sort === "desc" ? sort : void 0 }),
    allPages: read2.flag("all_pages")
  };
}
function exprs(checking, node) {
  if (node?.kind !== "map") return {};
  return Object.fromEntries(node.entries.map(({ key: key2, value: value2 }) => [key2, checking.compiler.value(value2, "any")]));
}
var Reader = class {
  market;
  checking;
  node;
  fields;
  constructor(checking, node, fields2) {
    this.checking = checking;
    this.node = node;
    this.fields = fields2;
    this.market = checking.compiler.market;
  }
  at(key2) {
    return this.node.kind === "map" ? this.node.get(key2) : void 0;
  }
  need(key2) {
    return this.at(key2) ?? this.node;
  }
  shape(key2) {
    return this.fields.fields[key2]?.shape;
  }
  /** A required field; `FAULTY` when it is not there, which has been said. */
  expr(key2) {
    const shape = this.shape(key2);
    return this.checking.compiler.value(this.at(key2), shape?.kind === "value" ? shape.type : "any", this.market);
  }
  optional(key2) {
    return this.at(key2) === void 0 ? void 0 : this.expr(key2);
  }
  /** An order, of which the id is taken, or an order id. */
  orderOrId(key2) {
    const expr = this.optional(key2);
    if (expr !== void 0 && expr !== FAULTY && !isOrderOrId(expr.type)) mismatch2(this.checking, this.need(key2), `${key2} takes an order or an order id`, expr.type);
    return expr;
  }
  word(key2) {
    const at = this.at(key2);
    return this.checking.compiler.isFaulty(at) ? void 0 : textOf2(at);
  }
  text(key2) {
    return this.word(key2);
  }
  flag(key2) {
    return this.word(key2) === "true";
  }
};
function fieldsOf(verb) {
  const { takes: takes2 } = stepRow(verb);
  if (takes2.kind !== "fields") throw new Error(`${verb} takes no plain fields`);
  return takes2;
}
function mapShape(verb, node) {
  const { takes: takes2 } = stepRow(verb);
  const maps = takes2.kind === "choice" ? takes2.maps ?? [] : [];
  const shape = (maps.find(({ by }) => node.get(by) !== void 0) ?? maps[0])?.shape;
  if (shape?.kind !== "fields") throw new Error(`${verb} takes no map`);
  return shape;
}
function typeYielded(verb) {
  const { yields } = stepRow(verb);
  return typeof yields === "string" ? void 0 : yields;
}
function isOrderOrId(type) {
  return type.kind === "text" || misfit(type, ORDER) === void 0;
}
function mismatch2(checking, at, needed, found) {
  checking.report(at, "wrong-type", `${needed}, found ${typeName(found)}`);
}
function positive(checking, read2, key2, expr, code) {
  const value2 = checking.compiler.constant(expr);
  if (value2 !== void 0 && !value2.greaterThan(0)) checking.report(read2.need(key2), code, `${key2} must be above zero, found ${value2.toFixed()}`);
}
function checkHalted(checking, verb, name2) {
  if (checking.limits.mode === "halted") checking.report(verb, "write-under-halted", `limits.mode is halted, which denies ${name2}`);
}
function checkMarket(checking, at, market4) {
  const id = checking.compiler.constant(market4);
  const { markets } = checking.limits;
  if (at !== void 0 && id !== void 0 && markets !== void 0 && !markets.includes(id))
    checking.report(at, "market-not-allowed", `${id} is not among limits.markets: ${markets.join(", ")}`);
}
function checkSide(checking, at, side2) {
  const known = checking.compiler.constant(side2);
  const { sides } = checking.limits;
  if (at !== void 0 && known !== void 0 && sides !== void 0 && !sides.includes(known))
    checking.report(at, "side-not-allowed", `${known} is not among limits.sides: ${sides.join(", ")}`);
}
function checkSize(checking, read2, size, price2, exit) {
  const { maxOrderSize, maxOrderNotional, maxRunNotional } = checking.limits;
  const amount = checking.compiler.constant(size);
  if (amount === void 0) return;
  const at = read2.need("size");
  if (maxOrderSize !== void 0 && amount.greaterThan(maxOrderSize)) {
    checking.report(at, "order-over-limit", `size ${amount.toFixed()} is above limits.max_order_size, ${maxOrderSize.toFixed()}`);
    return;
  }
  const worth = checking.compiler.constant(price2);
  if (worth === void 0 || exit) return;
  const notional = amount.times(worth);
  const [name2, cap] = maxOrderNotional !== void 0 && notional.greaterThan(maxOrderNotional) ? ["max_order_notional", maxOrderNotional] : ["max_run_notional", maxRunNotional];
  if (cap !== void 0 && notional.greaterThan(cap))
    checking.report(at, "order-over-limit", `size times price is ${notional.toFixed()}, above limits.${name2}, ${cap.toFixed()}`);
}
function checkBand(checking, read2, price2) {
  const { band } = checking.limits;
  const value2 = checking.compiler.constant(price2);
  if (band === void 0 || value2 === void 0 || !value2.minus(band.around).abs().greaterThan(band.around.times(band.within))) return;
  checking.report(read2.need("price"), "price-outside-band", `price ${value2.toFixed()} is further than ${band.within.toFixed()} from ${band.around.toFixed()}, limits.price_band`);
}

// ../src/runbook/conditions.ts
function checkCondition(checking, node, what) {
  const expr = checking.compiler.value(node, BOOLEAN);
  if (node !== void 0 && expr !== FAULTY && expr.constant && expr.reads.length === 0) {
    const value2 = checking.compiler.constant(expr);
    checking.report(node, "constant-condition", `${what} is always ${value2 === void 0 ? "the same" : String(value2)}`);
  }
  return expr;
}
function assured(condition) {
  return condition === FAULTY ? [] : presentWhenTrue(condition);
}
function assume(checking, condition, guarded = /* @__PURE__ */ new Map()) {
  for (const path of assured(condition)) checking.names.assume(path);
  for (const name2 of guarded.get(condition.text.trim()) ?? []) checking.names.assume(name2);
}

// ../src/runbook/risk.ts
function innerBlocks(step) {
  switch (step.verb) {
    case "for_each":
    case "repeat":
      return [step.args.do];
    case "parallel":
      return step.args.kind === "each" ? [step.args.do] : step.args.branches.map((branch) => branch.do);
    case "switch":
      return [...step.args.cases.map((each) => each.do), ...step.args.else === void 0 ? [] : [step.args.else]];
    case "wait_for":
      return step.args.kind === "read" ? [[step.args.read]] : [];
    default:
      return [];
  }
}
function exceptionalBlocks(step) {
  return [...step.catch.map((clause) => clause.do), ...step.onTimeout === void 0 ? [] : [step.onTimeout], ...typeof step.undo === "object" ? [step.undo] : []];
}
function* everyStep(steps2) {
  for (const step of steps2) {
    yield step;
    for (const block of [...innerBlocks(step), ...exceptionalBlocks(step)]) yield* everyStep(block);
  }
}
function addsRisk(runbook) {
  const reducing2 = runbook.limits?.mode !== void 0 && runbook.limits.mode !== "active";
  return [...everyStep([...runbook.steps, ...runbook.onError, ...runbook.finally])].some((step) => {
    if (step.verb === "call") {
      const callee = runbook.calls[step.args.runbook];
      return callee !== void 0 && addsRisk(callee);
    }
    return stepRow(step.verb).risk === "increases" && !(step.verb === "place" && (reducing2 || step.allow === "reduce"));
  });
}

// ../src/runbook/scope.ts
var RESERVED_ROOTS = ["inputs", "feeds", "now", "run", "error"];
var EXPRESSION_KEYWORDS = new Set(
  "true false null in as break const continue else for function if import let loop package namespace return var void while".split(" ")
);
var Names = class {
  roots = /* @__PURE__ */ new Map();
  present = /* @__PURE__ */ new Set();
  defs = /* @__PURE__ */ new Map();
  bare = /* @__PURE__ */ new Set();
  /** Values of names that are the same in every run. */
  constants = /* @__PURE__ */ new Map();
  /** Names whose declaration was at fault: what uses them is not reported again. */
  unknown = /* @__PURE__ */ new Set();
  /** Whether declarations were lost whose names nobody knows: then a name that is not known may have been one of them. */
  lost = false;
  changes = [];
  env(market4) {
    const { roots, present, defs, bare } = this;
    return market4 === void 0 ? { roots, present, defs, bare } : { roots, present, defs, bare, market: market4 };
  }
  declare(name2, type) {
    this.bare.delete(name2);
    this.constants.delete(name2);
    this.changes.push({ kind: "root", name: name2, before: this.roots.get(name2) });
    this.roots.set(name2, type);
  }
  /** From here to the end of the block, the optional at `path` is there. */
  assume(path) {
    if (this.present.has(path)) return;
    this.present.add(path);
    this.changes.push({ kind: "present", path });
  }
  /** A new block; what it gives back closes it again. */
  enter() {
    return this.changes.length;
  }
  /** Forgets everything since `enter`, and tells the names that were new in it, in the order of their declaration. */
  leave(mark) {
    const gone = [];
    const latest = /* @__PURE__ */ new Map();
    for (let change = this.take(mark); change !== void 0; change = this.take(mark)) {
      if (change.kind === "present") {
        this.present.delete(change.path);
        continue;
      }
      const { name: name2, before } = change;
      const type = latest.get(name2) ?? this.roots.get(name2);
      if (type !== void 0) latest.set(name2, type);
      if (before !== void 0) this.roots.set(name2, before);
      else {
        this.roots.delete(name2);
        if (type !== void 0) gone.push({ name: name2, type });
      }
    }
    return gone.reverse();
  }
  take(mark) {
    return this.changes.length > mark ? this.changes.pop() : void 0;
  }
};
function optional2(type) {
  return type.kind === "optional" ? type : { kind: "optional", of: type };
}

// ../src/runbook/codes/check.ts
var error2 = (row) => ({ severity: "error", ...row });
var warning2 = (row) => ({ severity: "warning", ...row });
var CHECK_CODES = {
  // Shape: what may stand where.
  "newer-dsl": error2({
    summary: "a runbook in a newer version of the language",
    cause: "This engine reads version 1; what it does not know it must not run.",
    example: "dsl: 2",
    fix: "Install a newer perp-runbook, or write `dsl: 1`."
  }),
  "unknown-key": error2({ summary: "a key that has no meaning here", cause: "It is misspelt, or belongs elsewhere.", example: "place: {typ: limit}", fix: "Correct the key, or remove it." }),
  "missing-key": error2({ summary: "a key that must be there", cause: "Nothing sensible can be assumed in its place.", example: "deadman: {market: BTC-USD, timeout: 60s}", fix: "Add the key." }),
  "wrong-type": error2({ summary: "a value of the wrong kind", cause: "A list stands where a text belongs, say.", example: "steps: go", fix: "Write what the message names." }),
  "unknown-word": error2({ summary: "a word that is not one of those possible here", cause: "The set of words is closed.", example: "tif: gtc", fix: "Use one of the words the message names." }),
  "invalid-text": error2({ summary: "a text that does not have the form needed", cause: "It names something that has a form of its own.", example: "call: {runbook: ../flatten}", fix: "Write what the message names." }),
  "invalid-name": error2({ summary: "a name that expressions can not use", cause: "Names hold letters, digits and underscores, and do not begin with a digit.", example: "id: my order", fix: "Write it as my_order." }),
  "out-of-range": error2({ summary: "a number outside of its range", cause: "The range is fixed by the language.", example: "retry: {on: [transport], max: -1}", fix: "Use a number in the range named." }),
  "no-verb": error2({ summary: "a step without a verb", cause: "A step is exactly one verb and its modifiers.", example: "- id: entry", fix: "Add the verb: what the step does." }),
  "several-verbs": error2({ summary: "a step with more than one verb", cause: "A step is exactly one verb, so that their order is never in doubt.", example: "- cancel: entry\n  refresh: entry", fix: "Make them steps of their own." }),
  "misplaced-modifier": error2({ summary: "a modifier that does not suit the verb", cause: "It would have no effect there.", example: "- assert: x > 1\n  retry: {on: [transport], max: 2}", fix: "Remove it." }),
  "conflicting-keys": error2({ summary: "keys that exclude each other", cause: "Only one of them can be meant.", example: 'schedule: {cron: "0 8 * * *", every: 1h, tz: UTC}', fix: "Keep one of them." }),
  "loop-without-bound": error2({ summary: "a loop without a bound", cause: "Every loop has a worst case that can be told before the run.", example: "repeat: {every: 1s, do: []}", fix: "Add `for:` or `max:`." }),
  "lookup-without-market": error2({ summary: "a look-up by client order id without a market", cause: "The venue requires market_id with client_order_id since 13 December 2024.", example: "list_orders: {client_order_id: abc}", fix: "Add `market:`." }),
  "cancel-all-not-explicit": error2({ summary: "cancel_all without `everyone: true`", cause: "It cancels orders of other programs of the account as well; who writes it must say that they know.", example: "cancel_all: {}", fix: "Write `cancel_all: {everyone: true}`, or `cancel: {mine: MARKET}` for the orders of this run." }),
  "cancel-all-not-granted": error2({ summary: "cancel_all without `needs: [cancel_all]`", cause: "The capability is the profile\u2019s to grant; a runbook says that it needs it.", example: "steps: [{cancel_all: {everyone: true}}]", fix: "Add `needs: [cancel_all]` to the file." }),
  "read-not-a-read": error2({ summary: "`wait_for` that repeats something other than a read", cause: "What is polled is done many times over; only a read may be.", example: "wait_for: {read: {place: \u2026}, \u2026}", fix: "Use read_account, list_orders, list_fills, refresh, read_deadman or request." }),
  "else-not-last": error2({ summary: "a case after `else`", cause: "The first case that holds wins, and `else` always does.", example: "switch: [{else: []}, {when: x, do: []}]", fix: "Put `else` last, once." }),
  "on-timeout-without-timeout": error2({ summary: "`on_timeout` on a step that can not time out", cause: "Without `timeout` its steps are never done.", example: "- read_account: {}\n  on_timeout: []", fix: "Add `timeout:`." }),
  "schema-violation": error2({ summary: "something runbook.schema.json does not allow", cause: "The file departs from the schema in a way no other check describes.", example: "(none known)", fix: "Compare the place with the schema." }),
  // Names.
  "duplicate-id": error2({ summary: "two steps with one id", cause: "An id names one step in the whole file: in expressions, in the journal, on the command line.", example: "- id: a\n- id: a", fix: "Give one of them another id." }),
  "name-taken": error2({ summary: "a name that means something else already", cause: "A reader could not tell which of the two an expression means.", example: "let: {entry: 1}\nsteps: [{id: entry, read_account: {}}]", fix: "Use another name." }),
  "reserved-name": error2({ summary: "a name the language keeps for itself", cause: "inputs, feeds, now, run and error have a meaning of their own; so have the keywords of expressions.", example: "id: now", fix: "Use another name." }),
  "forbidden-name": error2({ summary: "a step named __proto__, constructor or prototype", cause: "These names reach behind the data of a JavaScript program.", example: "id: constructor", fix: "Use another name." }),
  "unknown-type": error2({ summary: "a type nobody knows", cause: "It is misspelt, or not a type of the language.", example: "inputs: {size: {type: float}}", fix: "Use one of the types of the reference." }),
  "unknown-variable": error2({ summary: "a variable nobody declared", cause: "`set` changes what `vars` declares, nothing else.", example: "set: {count: 1}", fix: "Declare it in `vars`." }),
  "unknown-step": error2({ summary: "an id that no step has", cause: "It is misspelt, or the step has no id.", example: "release_after: gaurd", fix: "Write the id of a step." }),
  "unknown-input": error2({ summary: "an input that the runbook does not have", cause: "It is misspelt, or was removed.", example: "schedule: {inputs: {leverge: 2}}", fix: "Write the name of an input." }),
  "missing-input": error2({ summary: "an input without a value", cause: "It has no default, and none is given here.", example: "call: {runbook: flatten}", fix: "Give the input, or declare a default." }),
  "unknown-runbook": error2({ summary: "a call of a runbook that does not exist", cause: "A called runbook is a file NAME.yaml beside the one that calls it.", example: "call: {runbook: flaten}", fix: "Correct the name, or add the file." }),
  "call-cycle": error2({ summary: "runbooks that call each other in a circle", cause: "It would never end.", example: "call: {runbook: itself}", fix: "Break the circle." }),
  "called-runbook-invalid": error2({ summary: "a call of a runbook that has errors", cause: "It could not be run.", example: "call: {runbook: broken}", fix: "Correct the runbook called: `runbook validate` names its errors." }),
  "untyped-result": error2({ summary: "the result of a request used in an expression", cause: "Its type is declared in the profile, which is not known here.", example: "size: r.best_bid", fix: "Bind a feed to the request in the profile, and read the feed." }),
  // Declarations.
  "input-out-of-range": error2({ summary: "a value outside of an input\u2019s min and max", cause: "The declaration refuses it.", example: "rungs: {type: integer, max: 10, default: 12}", fix: "Use a value in the range." }),
  "input-not-in-enum": error2({ summary: "a value that is not in an input\u2019s enum", cause: "The declaration refuses it.", example: "mode: {type: text, enum: [a, b], default: c}", fix: "Use one of the values of the enum." }),
  "input-bounds": error2({ summary: "bounds of an input that can not hold", cause: "min is above max, or the type has no order.", example: "size: {type: size, min: 2, max: 1}", fix: "Correct the bounds, or remove them." }),
  "limit-out-of-range": error2({ summary: "a limit that makes no sense", cause: "A limit of zero or less denies everything; say `mode: halted` if that is meant.", example: "max_order_size: 0", fix: "Use a value above zero." }),
  "schedule-zone": error2({ summary: "a time zone nobody knows", cause: "Zones are named as in the IANA database; there is no implicit one.", example: "tz: London", fix: "Write a zone such as Europe/London." }),
  "schedule-cron": error2({ summary: "a cron expression that can not be read", cause: "It has five fields: minute, hour, day, month, weekday.", example: 'cron: "61 * * * *"', fix: "Correct the field named." }),
  "schedule-window": error2({ summary: "a schedule whose window is empty", cause: "`from` is not before `to`.", example: "schedule: {every: 1h, from: 2026-02-01T00:00:00Z, to: 2026-01-01T00:00:00Z}", fix: "Correct the window." }),
  "duration-not-positive": error2({ summary: "a duration that must be longer than nothing", cause: "A loop or a poll without a pause never lets anything else happen.", example: "every: 0s", fix: "Use a duration above zero." }),
  "schedule-never": error2({ summary: "a schedule that never fires", cause: "No date fits, such as 31 February, or none lies in the window.", example: 'cron: "0 0 31 2 *"', fix: "Correct the day or the month." }),
  // Sense: what can be proven wrong, or is likely a mistake.
  "constant-condition": error2({ summary: "a condition that is always the same", cause: "It reads nothing, so it decides nothing.", example: "if: 1 < 2", fix: "Remove the condition, or the step." }),
  "unreachable-step": error2({ summary: "a step that is never reached", cause: "The step before it ends the run.", example: "- stop: {outcome: done}\n- read_account: {}", fix: "Remove it, or give the step before an `if`." }),
  "size-not-positive": error2({ summary: "a size of zero or less", cause: "The venue refuses it; a side is told by `side`.", example: "size: -1", fix: "Use a size above zero." }),
  "price-not-positive": error2({ summary: "a price of zero or less", cause: "The venue refuses it.", example: "price: 0", fix: "Use a price above zero." }),
  "order-over-limit": error2({ summary: "an order larger than the runbook\u2019s own limits", cause: "It would be denied every time.", example: "limits: {max_order_size: 1}\nsteps: [{place: {size: 2, \u2026}}]", fix: "Lower the order, or raise the limit." }),
  "price-outside-band": error2({ summary: "a price outside of limits.price_band", cause: "It would be denied every time.", example: "limits: {price_band: {around: 100, within: 3%}}\nsteps: [{place: {price: 110, \u2026}}]", fix: "Correct the price, or the band." }),
  "market-not-allowed": error2({ summary: "a market that is not in limits.markets", cause: "It would be denied every time.", example: "limits: {markets: [BTC-USD]}\nsteps: [{place: {market: ETH-USD, \u2026}}]", fix: "Add the market to the limits, or correct it." }),
  "side-not-allowed": error2({ summary: "a side that is not in limits.sides", cause: "It would be denied every time.", example: "limits: {sides: [long]}\nsteps: [{place: {side: short, \u2026}}]", fix: "Add the side to the limits, or correct it." }),
  "write-under-halted": error2({ summary: "an order in a runbook whose limits are halted", cause: "`mode: halted` lets cancels through and nothing else.", example: "limits: {mode: halted}\nsteps: [{place: \u2026}]", fix: "Use `mode: reducing` or `active`, or remove the step." }),
  "leverage-out-of-range": error2({ summary: "a leverage that is not a whole number from 1 to 20", cause: "The venue takes no other (Account operations).", example: "leverage: 50", fix: "Use a whole number from 1 to 20." }),
  "leverage-over-limit": error2({ summary: "a leverage above limits.max_leverage", cause: "It would be denied every time.", example: "limits: {max_leverage: 3}\nsteps: [{set_leverage: {leverage: 5, \u2026}}]", fix: "Lower it, or raise the limit." }),
  "fraction-out-of-range": error2({ summary: "a fraction of a position that is not above 0 and at most 1", cause: "`protect` takes a fraction, 0.5 for half; not a size in the base currency, not a percentage.", example: "fraction: 50", fix: "Use a number above 0, at most 1." }),
  "rows-out-of-range": error2({ summary: "a number of rows outside 1 to 1000, or a page below 0", cause: "The venue gives at most 1000 rows (Limits).", example: "list_fills: {limit: 5000}", fix: "Use 1 to 1000, and `all_pages: true` for more." }),
  "resend-not-safe": error2({ summary: "`on_ambiguous: resend` on an order that must not be sent twice", cause: "A second copy of an order that takes liquidity or triggers by itself is a second position.", example: "place: {type: market, on_ambiguous: resend, \u2026}", fix: "Keep `halt`; `resend` is for good-till-cancel and post-only limit orders alone." }),
  "risk-in-cleanup": error2({ summary: "a step that can add risk in `finally` or `undo`", cause: "What cleans up must work when nothing is known any more, so it may only reduce.", example: "finally: [{place: {type: limit, \u2026}}]", fix: "Move the step, or say `allow: reduce` on an order that only closes." }),
  "protect-under-deadman": error2({ summary: "protective orders placed while a deadman switch stays armed", cause: "When it fires it cancels them too, and the position is left without a stop (Deadman switch, rule 2).", example: "deadman: {\u2026}\nsteps: [{protect: \u2026}]", fix: "Add `release_after:` with the id of the protecting step to the deadman block." }),
  "deadman-unattended": error2({ summary: "a wait longer than the deadman timeout while nothing keeps the switch alive", cause: "It fires in the middle of the wait and cancels every order of the account.", example: "deadman: {timeout: 30s, keep_alive: 0s, \u2026}\nsteps: [{wait: 5m}]", fix: "Let the keep-alive run, shorten the wait, or disarm the switch before." }),
  "deadman-keep-alive": error2({ summary: "keep-alives that come after the switch has fired", cause: "The pause between them is not shorter than the timeout.", example: "deadman: {timeout: 30s, keep_alive: 45s, \u2026}", fix: "Use a quarter of the timeout, which is the default." }),
  "deadman-timeout": error2({ summary: "a deadman timeout below 1 ms", cause: "The venue\u2019s smallest is 1 millisecond (Deadman switch, rule 3).", example: "deadman: {timeout: 0s, \u2026}", fix: "Use 60s or so." }),
  "token-rate": error2({ summary: "more requests in a minute than the venue allows", cause: "The worst case of a loop or wait needs more tokens than the account has.", example: "repeat: {every: 100ms, for: 1h, do: [{read_account: {}}]}", fix: "Use a longer `every`, or read less in the loop." }),
  "deadman-timeout-short": warning2({ summary: "a deadman timeout under 5 s", cause: "One slow answer and every order is gone; refused in a live run.", example: "deadman: {timeout: 1s, \u2026}", fix: "Use 20s to 60s." }),
  "token-rate-high": warning2({ summary: "more than half of the tokens of a minute", cause: "Little is left for cancels, other runs and other programs on the address.", example: "repeat: {every: 1s, for: 1h, do: [{read_account: {}}]}", fix: "Use a longer `every`, or read less in the loop." }),
  "market-order-without-price": warning2({ summary: "a market order without a price", cause: "The venue document leaves open whether a price may be absent; with one, the worst price is bounded as well.", example: "place: {type: market, market: BTC-USD, side: long, size: 1}", fix: "Give the worst acceptable price." }),
  "market-order-may-rest": warning2({ summary: "a market order that may rest in the book", cause: "With this time in force what does not fill at once stays.", example: "place: {type: market, tif: good_till_cancel, \u2026}", fix: "Leave `tif` out: immediate_or_cancel is the default." }),
  "entry-without-protect": warning2({ summary: "an entry, and nothing that protects the position", cause: "No `protect` step follows anywhere in the runbook.", example: "steps: [{place: {type: limit, \u2026}}]", fix: "Add `protect`, or `allow: reduce` if the order only closes." }),
  "protect-before-fill": warning2({ summary: "protection placed before anything is known to have filled", cause: "Without a position the venue may reject it, and it is a fraction of what is there at that time.", example: "- place: \u2026\n- protect: \u2026", fix: "Wait first: `wait_for: {order: \u2026, is: any_fill, within: \u2026}`." }),
  "read-without-since": warning2({ summary: "a listing without `since`", cause: "The venue reads the whole history, up to ten times slower.", example: "list_fills: {market: BTC-USD}", fix: "Add `since:`, such as now - days(7)." }),
  "unused-input": warning2({ summary: "an input nothing reads", cause: "It is left over, or a use of it is misspelt.", example: "inputs: {dry: {type: boolean, default: false}}", fix: "Remove it, or use it." }),
  "unused-feed": warning2({ summary: "a feed nothing reads", cause: "It is left over, or a use of it is misspelt.", example: "feeds: {mid: {type: price, max_age: 3s}}", fix: "Remove it, or use it." }),
  "unused-name": warning2({ summary: "a let, def or variable nothing reads", cause: "It is left over, or a use of it is misspelt.", example: "let: {x: 1}", fix: "Remove it, or use it." }),
  "unused-id": warning2({ summary: "an id nothing refers to", cause: "It is left over, or a use of it is misspelt.", example: "- id: acct\n  read_account: {}", fix: "Remove it, or use it." })
};

// ../src/runbook/codes/schedule.ts
var SCHEDULE_CODES = {
  "schedule-dst-gap": {
    severity: "warning",
    summary: "a schedule with a time that will not exist when the clocks are put forward",
    cause: "In the next twelve months the zone skips that hour; what happens then is set by `dst: {gap: next_valid|skip}`.",
    example: 'schedule: {cron: "30 2 * * *", tz: Europe/Berlin}',
    fix: "Move it out of the skipped hour, or see `runbook schedule preview` for what it will do."
  },
  "schedule-dst-overlap": {
    severity: "warning",
    summary: "a schedule with a time that will come twice when the clocks are put back",
    cause: "In the next twelve months the zone repeats that hour; what happens then is set by `dst: {overlap: first|both}`.",
    example: 'schedule: {cron: "30 2 * * *", tz: Europe/Berlin}',
    fix: "Move it out of the repeated hour, or see `runbook schedule preview` for what it will do."
  },
  "schedule-collision": {
    severity: "warning",
    summary: "two slots due at the same instant under one concurrency key",
    cause: "Only one run holds a concurrency key at a time; the other waits, is skipped or fails, as `on_busy` says.",
    example: 'schedule: [{cron: "0 8 * * *", tz: UTC}, {cron: "0 8 * * 1", tz: UTC}]\nconcurrency: {key: account, on_busy: skip}',
    fix: "Move one of them by more than a run takes, or exclude the common days."
  },
  "schedule-over": {
    severity: "warning",
    summary: "a schedule whose last time has passed",
    cause: "`to`, or the instant of `at`, lies in the past: it fires no more.",
    example: "schedule: {at: 2020-01-01T00:00:00Z}",
    fix: "Remove the slot, or correct its dates."
  }
};

// ../src/runbook/codes.ts
var CODES = { ...SYNTAX_CODES, ...CHECK_CODES, ...SCHEDULE_CODES };
function finding(source, span, code, message, hint) {
  const row = CHECK_CODES[code];
  return { severity: row.severity, code, message, hint: hint ?? row.fix, source, span };
}

// ../src/runbook/grammar.ts
var kinds = list(word(...ERROR_KINDS));
var MODIFIERS = {
  id: may(NAME_SHAPE, "name of the step; expressions read what it yields by it"),
  if: may(CONDITION, "the step is skipped unless this holds"),
  retry: may(
    fields({
      on: need(kinds, "kinds of errors that are tried again"),
      max: need({ kind: "integer", min: 0, max: 1e3 }, "further attempts after the first"),
      first: may({ kind: "duration" }, "pause before the first further attempt", "250ms"),
      factor: may({ kind: "number", min: 1 }, "each pause is this many times the one before", "2"),
      max_delay: may({ kind: "duration" }, "longest pause", "8s"),
      jitter: may({ kind: "flag" }, "draw each pause at random below its length", "true")
    }),
    "how failed attempts are repeated",
    "reads: transport and rate_limited, 4 times; writes: rate_limited alone, 4 times"
  ),
  timeout: may(DURATION2, "the step fails with kind timeout after this"),
  catch: may(
    list(
      fields({
        on: need({ kind: "choice", scalar: word("any"), list: kinds, accepts: `any, or a list of ${ERROR_KINDS.join(", ")}` }, "kinds of errors, or any (which does not include denied)"),
        if: may(CONDITION, "the clause applies only when this holds"),
        do: may(STEPS_SHAPE, "steps"),
        then: need(word("continue", "retry", "fail", "stop"), "what happens to the run afterwards")
      })
    ),
    "what is done when the step fails; the first clause that applies"
  ),
  on_timeout: may(STEPS_SHAPE, "steps instead of failing with kind timeout"),
  undo: may(
    { kind: "choice", scalar: word("cancel", "keep"), list: STEPS_SHAPE, accepts: "cancel, keep or a list of steps" },
    "what takes the step back when a later one fails",
    "place: cancel"
  ),
  await: may(word("accepted", "live", "any_fill", "filled", "terminal"), "how far the order must have come for the step to be done", "place, protect: live"),
  allow: may(word("reduce"), "may pass notional caps, because it only lowers exposure"),
  because: may(TEXT2, "why, for the reviewer"),
  note: may(PLAIN_TEXT, "a remark")
};
var names = (of) => ({ kind: "names", of });
var boundary = { kind: "literal" };
var scheduleEntry = fields(
  {
    cron: may(PLAIN_TEXT, "cron expression of five fields"),
    every: may({ kind: "duration" }, "interval"),
    at: may({ kind: "time" }, "one instant"),
    tz: may(PLAIN_TEXT, "IANA time zone; required with cron"),
    misfire: may(
      fields({
        within: need({ kind: "duration" }, "how late it may still run"),
        then: need(word("skip", "run_once", "run_all"), "what is done about missed occurrences")
      }),
      "what happens when the engine was down",
      "{within: 1m, then: run_once}"
    ),
    overlap: may(word("skip", "queue", "replace"), "when the run before is still going on", "skip"),
    dst: may(
      fields({
        gap: may(word("next_valid", "skip"), "a local time that does not exist", "next_valid"),
        overlap: may(word("first", "both"), "a local time that exists twice", "first")
      }),
      "daylight-saving changes",
      "{gap: next_valid, overlap: first}"
    ),
    jitter: may({ kind: "duration" }, "delay drawn at random up to this"),
    inputs: may(names(boundary), "inputs of the runs it starts"),
    from: may({ kind: "time" }, "no occurrence before"),
    to: may({ kind: "time" }, "no occurrence after")
  },
  { atLeastOne: [["cron", "every", "at"]], atMostOne: [["cron", "every", "at"]], together: { cron: "tz" } }
);
var FILE = fields({
  runbook: need({ kind: "text", pattern: FREE_NAME_PATTERN, accepts: "a name of letters, digits, dots, dashes and underscores" }, "name of the runbook"),
  dsl: need({ kind: "integer", min: 1, max: 1 }, "version of the language: 1"),
  about: may(PLAIN_TEXT, "what it is for"),
  needs: may(list({ kind: "text", pattern: FREE_NAME_PATTERN, accepts: "the name of a capability" }), "capabilities the profile must grant"),
  inputs: may(
    names(
      fields({
        type: need({ kind: "type" }, "type word: market, price, list<market>, \u2026"),
        default: may(boundary, "value when none is given; without it the input is required"),
        min: may(boundary, "smallest value"),
        max: may(boundary, "largest value"),
        enum: may(list(boundary), "the values it may have"),
        about: may(PLAIN_TEXT, "what it is for")
      })
    ),
    "what the caller gives"
  ),
  feeds: may(
    names(fields({ type: need({ kind: "type" }, "type word"), max_age: need({ kind: "duration" }, "older values are an error of kind stale_feed") })),
    "values from outside, bound by the profile"
  ),
  let: may(names(ANYTHING), "values computed once, when the run starts"),
  def: may(names(ANYTHING), "named expressions, evaluated at each use"),
  vars: may(names(fields({ type: need({ kind: "type" }, "type word"), init: need(ANYTHING, "value at the start") })), "the only mutable things; changed by set"),
  limits: may(
    fields({
      markets: may(list(MARKET2), "the only markets"),
      sides: may(list(SIDE2), "the only sides of entries"),
      max_order_size: may(SIZE2, "per order, base currency"),
      max_order_notional: may(MONEY2, "per order, quote currency"),
      max_run_notional: may(MONEY2, "all orders of the run, quote currency"),
      max_open_orders: may(INTEGER2, "open orders of the run at one time"),
      max_leverage: may(INTEGER2, "1 to 20"),
      max_writes: may(INTEGER2, "requests of the run that change something"),
      price_band: may(fields({ around: need(PRICE2, "reference price"), within: need(NUMBER2, "largest distance from it, a ratio") }), "prices of orders"),
      mode: may(word("active", "reducing", "halted"), "reducing: only what lowers exposure; halted: only cancels", "active")
    }),
    "what must hold before each write; may only tighten the profile's"
  ),
  deadman: may(
    fields({
      market: need(MARKET2, "market named in the calls; the switch covers all"),
      timeout: need(DURATION2, "time without an order request until all orders are cancelled"),
      keep_alive: may(DURATION2, "time between keep-alives; 0s turns them off", "timeout / 4"),
      release_after: may(PLAIN_TEXT, "id of the step after which the switch is disarmed"),
      on_exit: need(word("disarm", "leave_armed"), "what happens to the switch when the run ends")
    }),
    "the deadman switch, kept alive while the run makes progress"
  ),
  schedule: may({ kind: "choice", list: list(scheduleEntry), maps: [{ by: "cron", shape: scheduleEntry }], accepts: "a schedule entry or a list of them" }, "when it runs by itself"),
  concurrency: may(
    fields({ key: need(TEXT2, "runs with an equal key exclude each other"), on_busy: may(word("queue", "skip", "fail"), "when another run holds the key", "queue") }),
    "which runs exclude each other"
  ),
  steps: need(STEPS_SHAPE, "what is done, in order"),
  on_error: may(STEPS_SHAPE, "done when a step has failed, after undo"),
  finally: may(STEPS_SHAPE, "done at the end, whatever happened; only what reduces risk"),
  outputs: may(names(ANYTHING), "values the run gives")
});

// ../src/runbook/walk.ts
function inspectShape(root, source) {
  const walk = new Walk2(source);
  walk.file(root);
  return walk;
}
function verbOf(step) {
  const verbs = step.entries.filter((entry) => isVerb(entry.key));
  return verbs.length === 1 ? verbs[0]?.key : void 0;
}
var VERB_SET = new Set(VERBS);
function isVerb(key2) {
  return VERB_SET.has(key2);
}
var MODIFIER_SET = new Set(MODIFIER_NAMES);
function isModifier(key2) {
  return MODIFIER_SET.has(key2);
}
var Walk2 = class {
  diagnostics = [];
  faulty = /* @__PURE__ */ new Set();
  source;
  constructor(source) {
    this.source = source;
  }
  file(root) {
    const dsl = root.kind === "map" ? root.entry("dsl") : void 0;
    if (dsl?.value.kind === "scalar" && dsl.value.type === "number" && Number(dsl.value.text) > 1) {
      this.report(dsl.value, "newer-dsl", `dsl ${dsl.value.text} is newer than this engine, which reads dsl 1`);
      this.faulty.add(root);
      return;
    }
    this.fields(root, FILE, { name: "a runbook", span: firstKey(root) });
  }
  report(at, code, message, hint) {
    this.diagnostics.push(finding(this.source, "kind" in at ? at.span : at, code, message, hint));
  }
  /** Says that a value is not what is needed and that nobody need look at it again. A null was reported as it was read. */
  refuse(node, code, message, hint) {
    this.faulty.add(node);
    if (node.kind !== "scalar" || node.type !== "null") this.report(node, code, message, hint);
  }
  wrongType(node, owner, accepts, hint) {
    this.refuse(node, "wrong-type", `${owner.name} takes ${accepts}, found ${describe(node)}`, hint);
  }
  shape(node, shape, owner) {
    switch (shape.kind) {
      case "value":
        return this.value(node, shape, owner);
      case "word":
        return this.word(node, shape.values, owner);
      case "text":
      case "name":
        return this.text(node, shape, owner);
      case "integer":
      case "number":
        return this.number(node, shape, owner);
      case "flag":
        if (!isScalar2(node, "boolean")) return this.refuseFlag(node, shape, owner);
        return shape.only && node.text !== "true" ? this.refuseFlag(node, shape, owner) : void 0;
      case "duration":
      case "time":
      case "type":
        if (!isScalar2(node, "text")) this.wrongType(node, owner, SPELLINGS[shape.kind]);
        return;
      case "literal":
        if (node.kind === "scalar" && node.type === "null") this.faulty.add(node);
        return;
      case "steps":
        return this.steps(node, owner);
      case "step":
        return this.step(node, owner);
      case "list":
        return this.list(node, shape.of, owner);
      case "names":
        return this.names(node, shape, owner);
      case "fields":
        return this.fields(node, shape, owner);
      case "variants":
        return this.variants(node, shape, owner);
      case "choice":
        return this.choice(node, shape, owner);
      default:
        return shape;
    }
  }
  refuseFlag(node, shape, owner) {
    this.refuse(node, shape.code ?? "wrong-type", `${owner.name} must be ${shape.only ? "true" : "true or false"}, found ${describe(node)}`);
  }
  value(node, shape, owner) {
    const { type, spelling } = shape;
    const takesList = spelling === "list" || spelling === "any value" || type !== "any" && type.kind === "list";
    if (node.kind === "list" && takesList) {
      for (const item of node.items) if (item.kind !== "scalar") this.wrongType(item, { ...owner, name: `an item of ${owner.name}` }, "a literal or an expression");
      return;
    }
    if (node.kind !== "scalar") return this.wrongType(node, owner, article2(spelling));
    const literal2 = type === "any" ? spelling === "any value" ? void 0 : "text" : type.kind === "decimal" ? "number" : type.kind === "boolean" ? "boolean" : "text";
    if (literal2 === void 0 || node.type === "text" || node.type === literal2) {
      if (node.type === "null") this.faulty.add(node);
      return;
    }
    const hint = type !== "any" && type.kind === "text" ? "Put it in quotes." : void 0;
    this.wrongType(node, owner, article2(spelling), hint);
  }
  word(node, values, owner) {
    if (!isScalar2(node, "text")) return this.wrongType(node, owner, oneOf(values));
    if (values.includes(node.text)) return;
    const meant = didYouMean(node.text, values);
    this.refuse(node, "unknown-word", `${owner.name} must be ${oneOf(values)}, found ${quoted2(node.text)}`, meant && `Did you mean ${meant}?`);
  }
  text(node, shape, owner) {
    if (!isScalar2(node, "text")) return this.wrongType(node, owner, "a text", node.kind === "scalar" ? "Put it in quotes." : void 0);
    if (shape.kind === "name") {
      if (!new RegExp(NAME_PATTERN, "u").test(node.text))
        this.refuse(node, "invalid-name", `${owner.name} must be a name of letters, digits and underscores, found ${quoted2(node.text)}`);
    } else if (shape.pattern !== void 0 && !new RegExp(shape.pattern, "u").test(node.text))
      this.refuse(node, "invalid-text", `${owner.name} must be ${shape.accepts ?? "another text"}, found ${quoted2(node.text)}`);
  }
  number(node, shape, owner) {
    const whole2 = shape.kind === "integer";
    const max = whole2 ? shape.max : void 0;
    const range = max === void 0 ? `at least ${shape.min}` : max === shape.min ? `${max}` : `from ${shape.min} to ${max}`;
    if (!isScalar2(node, "number")) return this.wrongType(node, owner, `a ${whole2 ? "whole " : ""}number ${range}`);
    const found = Number(node.text);
    if (whole2 && !Number.isInteger(found) || found < shape.min || max !== void 0 && found > max)
      this.refuse(node, "out-of-range", `${owner.name} must be a ${whole2 ? "whole " : ""}number ${range}, found ${node.text}`);
  }
  list(node, of, owner) {
    if (node.kind !== "list") return this.wrongType(node, owner, "a list");
    for (const item of node.items) this.shape(item, of, { name: `an item of ${owner.name}`, span: firstKey(item) });
  }
  names(node, shape, owner) {
    if (node.kind !== "map") return this.wrongType(node, owner, "a map from names to values");
    const pattern = new RegExp(shape.free ? FREE_NAME_PATTERN : NAME_PATTERN, "u");
    for (const { key: key2, keySpan, value: value2 } of node.entries) {
      if (!pattern.test(key2)) {
        this.faulty.add(value2);
        this.report(keySpan, "invalid-name", `${quoted2(key2)} in ${owner.name} must be a name of letters, digits and underscores`);
      }
      this.shape(value2, shape.of, { name: key2, span: keySpan });
    }
  }
  fields(node, shape, owner) {
    if (node.kind !== "map") return this.wrongType(node, owner, Object.keys(shape.fields).length === 0 ? "{}" : "a map");
    const codes = shape.codes ?? {};
    for (const { key: key2, keySpan, value: value2 } of node.entries) {
      const field = own(shape.fields, key2);
      if (field === void 0) this.unknownKey(key2, keySpan, Object.keys(shape.fields), owner);
      else this.shape(value2, field.shape, { name: key2, span: keySpan });
    }
    const has = (key2) => node.get(key2) !== void 0;
    for (const [key2, field] of Object.entries(shape.fields))
      if (field.required && !has(key2) && !this.misspelt(key2, node, shape.fields))
        this.report(owner.span, codes[key2] ?? "missing-key", `${owner.name} needs ${quoted2(key2)}: ${field.doc}`);
    for (const group of shape.atLeastOne ?? [])
      if (!group.some(has)) this.report(owner.span, codes["atLeastOne"] ?? "missing-key", `${owner.name} needs ${group.map(quoted2).join(" or ")}`);
    for (const group of shape.atMostOne ?? []) {
      const [first, second] = node.entries.filter((entry) => group.includes(entry.key));
      if (first !== void 0 && second !== void 0)
        this.report(second.keySpan, "conflicting-keys", `${owner.name} takes ${quoted2(first.key)} or ${quoted2(second.key)}, not both`);
    }
    for (const [key2, beside] of Object.entries(shape.together ?? {})) {
      const entry = node.entry(key2);
      if (entry !== void 0 && !has(beside)) this.report(entry.keySpan, codes[key2] ?? "missing-key", `${quoted2(key2)} of ${owner.name} needs ${quoted2(beside)} beside it`);
    }
  }
  unknownKey(key2, span, known, owner) {
    const meant = didYouMean(key2, known);
    const list2 = known.length === 0 ? `${owner.name} takes no keys` : `${owner.name} takes ${known.join(", ")}`;
    this.report(span, "unknown-key", `${quoted2(key2)} is not a key of ${owner.name}`, meant === void 0 ? `${capitalised(list2)}.` : `Did you mean ${meant}?`);
  }
  /** Whether a missing key stands there misspelt: that has been said. */
  misspelt(key2, node, known) {
    return node.entries.some((entry) => own(known, entry.key) === void 0 && didYouMean(entry.key, Object.keys(known)) === key2);
  }
  variants(node, shape, owner) {
    if (node.kind !== "map") return this.wrongType(node, owner, "a map");
    const words = Object.keys(shape.variants);
    const chosen = node.get(shape.by);
    if (chosen === void 0) return this.report(owner.span, "missing-key", `${owner.name} needs ${quoted2(shape.by)}: ${words.join(", ")}`);
    const variant = chosen.kind === "scalar" ? own(shape.variants, chosen.text) : void 0;
    if (variant === void 0) {
      this.faulty.add(node);
      return this.word(chosen, words, { name: shape.by, span: chosen.span });
    }
    this.fields(node, variant, { name: `${owner.name} of type ${chosen.kind === "scalar" ? chosen.text : ""}`, span: owner.span });
  }
  choice(node, shape, owner) {
    const maps = shape.maps ?? [];
    if (node.kind === "scalar" && shape.scalar !== void 0) return this.shape(node, shape.scalar, owner);
    if (node.kind === "list" && shape.list !== void 0) return this.shape(node, shape.list, owner);
    if (node.kind === "map" && maps.length > 0) {
      const chosen = maps.length === 1 ? maps[0] : this.chooseMap(node, maps);
      if (chosen !== void 0) return this.shape(node, chosen.shape, owner);
      this.faulty.add(node);
      const known = maps.map(({ by }) => by);
      return this.report(owner.span, "missing-key", `${owner.name} takes ${shape.accepts}; it has neither ${known.map(quoted2).join(" nor ")}`);
    }
    this.wrongType(node, owner, shape.accepts);
  }
  chooseMap(node, maps) {
    const near = (by) => node.entries.some((entry) => didYouMean(entry.key, [by]) === by);
    return maps.find(({ by }) => node.get(by) !== void 0) ?? maps.find(({ by }) => near(by));
  }
  steps(node, owner) {
    if (node.kind !== "list") return this.wrongType(node, owner, "a list of steps", node.kind === "map" ? 'Begin each step with "- ".' : void 0);
    for (const item of node.items) this.step(item, { name: "a step", span: firstKey(item) });
  }
  step(node, owner) {
    if (node.kind !== "map") return this.wrongType(node, { ...owner, name: "a step" }, "a verb with its parameters", "Write `- verb: \u2026`.");
    const verbs = node.entries.filter(({ key: key2 }) => isVerb(key2));
    const strangers = node.entries.filter(({ key: key2 }) => !isVerb(key2) && !isModifier(key2));
    for (const { key: key2, keySpan } of strangers) this.unknownStepKey(key2, keySpan, verbs.length > 0);
    if (verbs.length === 0 && strangers.length === 0) this.report(firstKey(node), "no-verb", "a step needs exactly one verb, this one has none");
    for (const entry of verbs.slice(1))
      this.report(entry.keySpan, "several-verbs", `a step needs exactly one verb, found ${quoted2(verbs[0]?.key ?? "")} and ${quoted2(entry.key)}`);
    if (verbs.length !== 1) this.faulty.add(node);
    for (const { key: key2, keySpan, value: value2 } of verbs) this.shape(value2, stepRow(key2).takes, { name: key2, span: keySpan });
    this.modifiers(node, verbs.length === 1 ? verbs[0]?.key : void 0);
  }
  unknownStepKey(key2, span, hasVerb) {
    const meant = didYouMean(key2, hasVerb ? MODIFIER_NAMES : [...VERBS, ...MODIFIER_NAMES]);
    const list2 = hasVerb ? `A step takes its verb and ${MODIFIER_NAMES.join(", ")}.` : `The verbs are ${VERBS.join(", ")}.`;
    this.report(span, "unknown-key", `${quoted2(key2)} is neither a verb nor a modifier of a step`, meant === void 0 ? list2 : `Did you mean ${meant}?`);
  }
  modifiers(node, verb) {
    for (const { key: key2, keySpan, value: value2 } of node.entries) {
      if (!isModifier(key2)) continue;
      const row = verb === void 0 ? void 0 : stepRow(verb);
      if (row !== void 0 && !row.modifiers.includes(key2)) {
        this.faulty.add(value2);
        this.report(keySpan, "misplaced-modifier", `${quoted2(key2)} does not suit ${verb}`, `${verb} takes ${row.modifiers.join(", ")}.`);
        continue;
      }
      if (key2 === "await" && row?.await !== void 0) this.word(value2, row.await.allowed, { name: `await of ${verb}`, span: keySpan });
      else if (key2 === "undo" && row !== void 0 && row.undoWords === void 0) this.steps(value2, { name: `undo of ${verb}`, span: keySpan });
      else this.shape(value2, MODIFIERS[key2].shape, { name: key2, span: keySpan });
    }
  }
};
var SPELLINGS = { duration: "a duration such as 30s", time: "a time such as 2026-01-05T08:00:00Z", type: "a type such as price or list<market>" };
function own(table, key2) {
  return Object.hasOwn(table, key2) ? table[key2] : void 0;
}
function isScalar2(node, type) {
  return node.kind === "scalar" && node.type === type;
}
function firstKey(node) {
  const first = node.kind === "map" ? node.entries[0] : void 0;
  return first?.keySpan ?? { start: node.span.start, end: Math.min(node.span.end, node.span.start + 1) };
}
function describe(node) {
  if (node.kind === "map") return "a map";
  if (node.kind === "list") return "a list";
  return node.type === "text" ? quoted2(node.text) : `the ${node.type} ${node.text}`;
}
function quoted2(text2) {
  return `"${text2.length > 60 ? `${text2.slice(0, 60)}\u2026` : text2}"`;
}
function oneOf(values) {
  return values.length === 1 ? values[0] ?? "" : `one of ${values.join(", ")}`;
}
function article2(spelling) {
  return /^any/.test(spelling) ? spelling : `${/^[aeiou]/.test(spelling) ? "an" : "a"} ${spelling}`;
}
function capitalised(text2) {
  return text2.charAt(0).toUpperCase() + text2.slice(1);
}

// ../src/runbook/control.ts
var CONTROL2 = {
  let: letNames,
  set: setVariables,
  assert: (checking, node) => {
    const condition = checkCondition(checking, node, "assert");
    return { args: { condition }, yields: void 0, assures: assured(condition) };
  },
  wait,
  wait_for: waitFor,
  for_each: forEach,
  repeat,
  parallel,
  switch: switchCases,
  call: call2,
  approve: (checking, node) => {
    const read2 = new Reader(checking, node, fieldsOf("approve"));
    const by = read2.at("by");
    const roles = by?.kind === "list" ? by.items.map((item) => textOf2(item) ?? "") : [];
    const args = { ask: read2.expr("ask"), by: roles, within: read2.expr("within"), onTimeout: read2.word("on_timeout") === "fail" ? "fail" : "reject" };
    return { args, yields: void 0 };
  },
  notify: (checking, node) => {
    const read2 = new Reader(checking, node, fieldsOf("notify"));
    return { args: { to: read2.word("to") ?? "", text: read2.expr("text") }, yields: void 0 };
  },
  stop: (checking, node) => {
    const read2 = new Reader(checking, node, fieldsOf("stop"));
    return { args: { outcome: read2.word("outcome") ?? "" }, yields: void 0, ends: true, ...defined({ because: read2.optional("because") }) };
  },
  fail: (checking, node) => ({ args: {}, yields: void 0, ends: true, because: new Reader(checking, node, fieldsOf("fail")).expr("because") })
};
function buildControl(checking, verb, node, site) {
  return CONTROL2[verb](checking, node, site);
}
function letNames(checking, node) {
  const names2 = [];
  const hoisted = [];
  for (const { key: key2, keySpan, value: value2 } of entriesOf2(node)) {
    if (!checking.mayDeclare(key2, keySpan)) {
      checking.compiler.value(value2, "any");
      continue;
    }
    const expr = checking.compiler.named(key2, value2);
    names2.push({ name: key2, value: expr });
    hoisted.push({ name: key2, type: expr.type, value: expr });
    checking.lets.push({ name: key2, span: keySpan });
  }
  return { args: { names: names2 }, yields: void 0, hoisted };
}
function setVariables(checking, node) {
  const names2 = [];
  for (const { key: key2, keySpan, value: value2 } of entriesOf2(node)) {
    const type = checking.vars.get(key2);
    if (type === void 0 && !checking.names.unknown.has(key2)) {
      const known = [...checking.vars.keys()];
      const meant = didYouMean(key2, known);
      const what = checking.names.roots.has(key2) ? `${key2} is not a variable` : `there is no variable ${key2}`;
      checking.report(keySpan, "unknown-variable", `${what}; vars declares ${known.join(", ") || "none"}`, meant && `Did you mean ${meant}?`);
    }
    names2.push({ name: key2, value: checking.compiler.value(value2, type ?? "any") });
  }
  return { args: { names: names2 }, yields: void 0 };
}
function wait(checking, node) {
  if (node.kind !== "map") return { args: { kind: "for", for: checking.compiler.value(node, DURATION) }, yields: void 0 };
  const read2 = new Reader(checking, node, mapShape("wait", node));
  if (node.get("until") !== void 0) return { args: { kind: "until", until: read2.expr("until") }, yields: void 0 };
  return { args: { kind: "for", for: read2.expr("for") }, yields: void 0 };
}
var PLAIN_PATH = /^[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*$/;
function waitFor(checking, node, site) {
  if (node.kind !== "map") return { args: { kind: "order", order: FAULTY, is: "live", within: FAULTY }, yields: ORDER };
  const read2 = new Reader(checking, node, mapShape("wait_for", node));
  if (node.get("read") !== void 0) return waitForRead(checking, node, read2, site);
  const order3 = read2.expr("order");
  const is = read2.word("is") ?? "live";
  const path = order3.text.trim();
  const assures = (is === "any_fill" || is === "filled") && PLAIN_PATH.test(path) ? [`${path}.avg_price`] : [];
  return { args: { kind: "order", order: order3, is, within: read2.expr("within") }, yields: ORDER, assures };
}
function waitForRead(checking, node, fields2, site) {
  const inner = node.get("read");
  const verb = inner?.kind === "map" ? verbOf(inner) : void 0;
  const every = fields2.expr("every");
  const within2 = fields2.expr("within");
  positiveDuration(checking, fields2.at("every"), every, "every");
  if (inner?.kind !== "map" || verb === void 0) {
    const id = inner?.kind === "map" ? textOf2(inner.get("id")) : void 0;
    if (id !== void 0) checking.names.unknown.add(id);
    return { args: { kind: "order", order: FAULTY, is: "live", within: within2 }, yields: void 0 };
  }
  if (stepRow(verb).retry !== "read" || verb === "refresh_session")
    checking.report(inner.entry(verb)?.keySpan ?? inner, "read-not-a-read", `wait_for repeats a read, and ${verb} is none`);
  const read2 = checking.names.enter();
  const step = site.steps.one(checking, inner, verb, site.path);
  const until = checkCondition(checking, node.get("until"), "until");
  const hoisted = checking.names.leave(read2);
  for (const { name: name2, type } of hoisted) checking.names.declare(name2, type);
  return { args: { kind: "read", read: step, until, every, within: within2 }, yields: hoisted[0]?.type, hoisted, assures: assured(until) };
}
function forEach(checking, node, site) {
  const fields2 = new Reader(checking, node, fieldsOf("for_each"));
  const list2 = listOf(checking, fields2);
  const each = fields2.word("each") ?? "";
  const at = fields2.word("at");
  const kept = fields2.at("collect");
  let collect;
  const block = site.steps.inner(
    checking,
    fields2.at("do"),
    `${site.path}/do`,
    () => {
      declareItem(checking, fields2.at("each"), each, list2.item);
      if (at !== void 0) declareItem(checking, fields2.at("at"), at, INTEGER);
    },
    () => {
      if (kept !== void 0) collect = entriesOf2(kept).map(({ key: key2, value: value2 }) => ({ name: key2, value: checking.compiler.value(value2, "any") }));
    }
  );
  const record2 = collect && recordType(`round of ${site.path}`, Object.fromEntries(collect.map(({ name: name2, value: value2 }) => [name2, value2.type])));
  const sound2 = collect?.every(({ value: value2 }) => value2 !== FAULTY) ?? true;
  return {
    args: { each, in: list2.expr, do: block.steps, ...defined({ at, collect }) },
    yields: record2 && (sound2 ? { kind: "list", of: record2 } : FAULTY.type)
  };
}
function repeat(checking, node, site) {
  const fields2 = new Reader(checking, node, fieldsOf("repeat"));
  const every = fields2.optional("every");
  const bound2 = fields2.optional("for");
  const max = fields2.optional("max");
  positiveDuration(checking, fields2.at("every"), every, "every");
  positiveDuration(checking, fields2.at("for"), bound2, "for");
  positiveCount(checking, fields2.at("max"), max, "max of repeat");
  const condition = fields2.at("while") === void 0 ? void 0 : checkCondition(checking, fields2.at("while"), "while");
  let until;
  const block = site.steps.inner(
    checking,
    fields2.at("do"),
    `${site.path}/do`,
    () => condition && assume(checking, condition),
    () => {
      until = fields2.at("until") === void 0 ? void 0 : checkCondition(checking, fields2.at("until"), "until");
    }
  );
  return { args: { ...defined({ every, for: bound2, max, while: condition, until }), do: block.steps }, yields: void 0 };
}
function parallel(checking, node, site) {
  if (node.kind !== "map") return { args: { kind: "branches", branches: [], join: "all", onFail: "cancel_others" }, yields: void 0 };
  const fields2 = new Reader(checking, node, mapShape("parallel", node));
  const onFail2 = fields2.word("on_fail") === "let_others_finish" ? "let_others_finish" : "cancel_others";
  if (node.get("branches") === void 0) {
    const list2 = listOf(checking, fields2);
    const each = fields2.word("each") ?? "";
    const max = fields2.expr("max");
    positiveCount(checking, fields2.at("max"), max, "max of parallel");
    const block = site.steps.inner(checking, fields2.at("do"), `${site.path}/do`, () => declareItem(checking, fields2.at("each"), each, list2.item));
    return { args: { kind: "each", each, in: list2.expr, max, do: block.steps, onFail: onFail2 }, yields: void 0 };
  }
  const join3 = fields2.word("join") === "any" ? "any" : "all";
  const certain = join3 === "all" && onFail2 === "cancel_others";
  const hoisted = [];
  let ends = false;
  const branches = entriesOf2(fields2.at("branches")).map(({ key: key2, value: value2 }) => {
    const block = site.steps.inner(checking, value2, `${site.path}/branches/${key2}`);
    ends ||= block.ends && join3 === "all";
    hoisted.push(...block.declared.map(({ name: name2, type }) => ({ name: name2, type: certain ? type : optional2(type) })));
    return { name: key2, do: block.steps };
  });
  return { args: { kind: "branches", branches, join: join3, onFail: onFail2 }, yields: void 0, hoisted: idsAmong(checking, hoisted), ends };
}
function switchCases(checking, node, site) {
  const cases = [];
  const hoisted = [];
  let otherwise;
  let ends = true;
  for (const [index, item] of (node.kind === "list" ? node.items : []).entries()) {
    if (item.kind !== "map") continue;
    if (otherwise !== void 0) checking.report(item.entries[0]?.keySpan ?? item, "else-not-last", "`else` must be the last case, and the only one of its kind");
    const when = item.get("when") === void 0 ? void 0 : checkCondition(checking, item.get("when"), "when");
    const block = site.steps.inner(checking, item.get(when === void 0 ? "else" : "do"), when === void 0 ? `${site.path}/else` : `${site.path}/case/${index + 1}`, () => {
      if (when !== void 0) assume(checking, when);
    });
    hoisted.push(...block.declared.map(({ name: name2, type }) => ({ name: name2, type: optional2(type) })));
    ends &&= block.ends;
    if (when === void 0) otherwise ??= block.steps;
    else cases.push({ when, do: block.steps });
  }
  return { args: { cases, ...defined({ else: otherwise }) }, yields: void 0, hoisted: idsAmong(checking, hoisted), ends: ends && otherwise !== void 0 };
}
function idsAmong(checking, declared) {
  return declared.filter(({ name: name2 }) => checking.ids.has(name2));
}
function call2(checking, node, { verb }) {
  const fields2 = new Reader(checking, node, fieldsOf("call"));
  const at = fields2.at("runbook");
  const name2 = fields2.word("runbook");
  const given2 = fields2.at("with");
  if (at === void 0 || name2 === void 0) return { args: { runbook: "", with: {} }, yields: FAULTY.type };
  const callee = checking.callee(name2);
  if (callee.kind === "checked") {
    checking.calls.set(name2, callee.runbook);
    if (checking.cleanup !== void 0 && addsRisk(callee.runbook)) checking.report(verb, "risk-in-cleanup", `${name2} can add risk, and ${checking.cleanup} may only reduce it`);
    const record2 = recordType(`outputs of ${name2}`, Object.fromEntries(callee.runbook.outputs.map((output) => [output.name, output.value.type])));
    return { args: { runbook: name2, with: givenInputs(checking, callee.runbook, name2, given2, verb) }, yields: record2 };
  }
  if (callee.kind === "missing") checking.report(at, "unknown-runbook", `there is no ${name2}.yaml beside ${checking.source.file}`);
  else if (callee.kind === "cycle") checking.report(at, "call-cycle", `runbooks call each other in a circle: ${callee.path.join(" \u2192 ")}`);
  else if (callee.errors.every((each) => each.code === "call-cycle")) checking.report(at, "call-cycle", callee.errors[0]?.message ?? "");
  else checking.report(at, "called-runbook-invalid", `${name2} has ${callee.errors.length === 1 ? "an error" : `${callee.errors.length} errors`}; the first: ${callee.errors[0]?.message ?? ""}`);
  for (const { value: value2 } of entriesOf2(given2)) checking.compiler.value(value2, "any");
  return { args: { runbook: name2, with: {} }, yields: FAULTY.type };
}
function givenInputs(checking, callee, name2, given2, verb) {
  const known = callee.inputs.map((input2) => input2.name);
  const values = [];
  for (const { key: key2, keySpan, value: value2 } of entriesOf2(given2)) {
    const input2 = callee.inputs.find((each) => each.name === key2);
    if (input2 === void 0) checking.report(keySpan, "unknown-input", unknownInput(key2, known, name2));
    const expr = checking.compiler.value(value2, input2?.type ?? "any");
    const constant = checking.compiler.constant(expr);
    const problem = input2 === void 0 || constant === void 0 ? void 0 : violation(input2, constant);
    if (problem !== void 0) checking.report(value2, problem.code, problem.message);
    values.push([key2, expr]);
  }
  for (const input2 of callee.inputs)
    if (input2.default === void 0 && !values.some(([key2]) => key2 === input2.name)) checking.report(verb, "missing-input", `${name2} needs its input ${input2.name} (${input2.typeText})`);
  return Object.fromEntries(values);
}
function listOf(checking, fields2) {
  const expr = fields2.expr("in");
  if (expr === FAULTY) return { expr, item: void 0 };
  if (expr.type.kind === "list") return { expr, item: expr.type.of };
  mismatch2(checking, fields2.need("in"), "in takes a list", expr.type);
  return { expr: FAULTY, item: void 0 };
}
function declareItem(checking, at, name2, type) {
  if (name2 === "" || at === void 0 || !checking.mayDeclare(name2, at.span)) return;
  checking.names.declare(name2, type ?? FAULTY.type);
  if (type === void 0) checking.names.unknown.add(name2);
  else checking.names.unknown.delete(name2);
}
function positiveDuration(checking, at, expr, what) {
  const value2 = checking.compiler.constant(expr);
  if (at !== void 0 && value2 !== void 0 && value2.ms <= 0) checking.report(at, "duration-not-positive", `${what} must be longer than nothing, found ${valueText(value2)}`);
}
function positiveCount(checking, at, expr, what) {
  const value2 = checking.compiler.constant(expr);
  if (at !== void 0 && value2 !== void 0 && value2.lessThan(1)) checking.report(at, "out-of-range", `${what} must be at least 1, found ${value2.toFixed()}`);
}
function entriesOf2(node) {
  return node?.kind === "map" ? node.entries : [];
}

// ../src/runbook/modifiers.ts
var RETRIED = { read: ["transport", "rate_limited"], write: ["rate_limited"] };
var DEFAULTS2 = { max: 4, first: new Duration(250), factor: new Decimal(2), maxDelay: new Duration(8e3), jitter: true };
function readRetry(checking, verb, node) {
  const kind = stepRow(verb).retry;
  if (kind === "none") return void 0;
  if (node?.kind !== "map") return { on: RETRIED[kind], ...DEFAULTS2 };
  const number = (key2) => checking.compiler.isFaulty(node.get(key2)) ? void 0 : node.get(key2);
  const jitter = textOf2(number("jitter"));
  const factor = textOf2(number("factor"));
  return {
    on: readKinds(node.get("on")),
    max: Number(textOf2(number("max")) ?? DEFAULTS2.max),
    first: literalDuration(checking, node.get("first")) ?? DEFAULTS2.first,
    factor: factor === void 0 ? DEFAULTS2.factor : new Decimal(factor),
    maxDelay: literalDuration(checking, node.get("max_delay")) ?? DEFAULTS2.maxDelay,
    jitter: jitter === void 0 ? DEFAULTS2.jitter : jitter === "true"
  };
}
function readKinds(node) {
  const words = node?.kind === "list" ? node.items.map(textOf2) : [];
  return ERROR_KINDS.filter((kind) => words.includes(kind));
}
function readAwait(checking, verb, node) {
  const row = stepRow(verb).await;
  const word2 = checking.compiler.isFaulty(node) ? void 0 : textOf2(node);
  return row?.allowed.find((target) => target === word2) ?? row?.default;
}

// ../src/runbook/blocks.ts
var NAME = new RegExp(NAME_PATTERN);
var NOTHING3 = { steps: [], ends: false };
function checkSteps2(checking, node, prefix) {
  if (node?.kind !== "list" || checking.compiler.isFaulty(node)) {
    if (node !== void 0) {
      checking.dropped = true;
      checking.names.lost = true;
    }
    return NOTHING3;
  }
  return new BlockCheck(checking, prefix).run(node);
}
var checkInner = (checking, node, prefix, before, after2) => {
  const mark = checking.names.enter();
  before?.();
  const block = checkSteps2(checking, node, prefix);
  after2?.();
  return { ...block, declared: checking.names.leave(mark) };
};
var CHECKS2 = { inner: checkInner, one: (checking, node, verb, prefix) => checkStep(checking, node, verb, prefix, void 0).step };
var BlockCheck = class {
  checking;
  prefix;
  /** Ids that are there only if a condition held, by that condition. */
  guarded = /* @__PURE__ */ new Map();
  constructor(checking, prefix) {
    this.checking = checking;
    this.prefix = prefix;
  }
  run(node) {
    const steps2 = [];
    let ended;
    let said2 = false;
    for (const [index, item] of node.items.entries()) {
      if (item.kind !== "map") {
        this.forget(item);
        continue;
      }
      const verb = verbOf(item);
      if (ended !== void 0 && !said2) {
        said2 = true;
        this.checking.report(item.entries[0]?.keySpan ?? item.span, "unreachable-step", `this step is never reached: the ${ended} before it ends the run`);
      }
      if (verb === void 0) {
        this.forget(item);
        continue;
      }
      const step = checkStep(this.checking, item, verb, this.prefix, index, this.guarded);
      if (this.checking.compiler.isFaulty(item.entry(verb)?.value)) this.checking.dropped = true;
      else steps2.push(step.step);
      if (step.ends) ended ??= verb;
    }
    return { steps: steps2, ends: ended !== void 0 };
  }
  /** A step at fault may have an id that others use. */
  forget(item) {
    this.checking.dropped = true;
    const id = item.kind === "map" ? textOf2(item.get("id")) : void 0;
    if (id !== void 0) this.checking.names.unknown.add(id);
    else this.checking.names.lost ||= item.kind !== "map";
  }
};
function checkStep(checking, node, verb, prefix, index, guarded = /* @__PURE__ */ new Map()) {
  const { compiler, names: names2 } = checking;
  const entry = node.entry(verb);
  if (entry === void 0) throw new Error(`no ${verb} in its own step`);
  const id = readId(checking, node);
  const own2 = id ?? (index === void 0 ? verb : `${index + 1}:${verb}`);
  const path = `${prefix}/${own2}`;
  const outerFeeds = compiler.feeds;
  compiler.feeds = /* @__PURE__ */ new Set();
  const mark = names2.enter();
  const condition = node.get("if") === void 0 ? void 0 : checkCondition(checking, node.get("if"), "if");
  if (condition !== void 0) assume(checking, condition, guarded);
  const allow = textOf2(node.get("allow"));
  checkCleanup(checking, verb, allow, entry.keySpan);
  const built = compiler.isFaulty(entry.value) ? { args: {}, yields: typeYielded2(verb) } : stepRow(verb).group === "venue" ? VENUE_ARGS[verb](checking, entry.value, { verb: entry.keySpan, allow }) : buildControl(checking, verb, entry.value, { path, verb: entry.keySpan, steps: CHECKS2 });
  if (compiler.isFaulty(entry.value) && id !== void 0 && stepRow(verb).yields === "computed") names2.unknown.add(id);
  const timeout = node.get("timeout") === void 0 ? void 0 : compiler.value(node.get("timeout"), DURATION);
  const because = node.get("because") === void 0 ? built.because : compiler.value(node.get("because"), TEXT);
  const awaited = readAwait(checking, verb, node.get("await"));
  const yielded = id !== void 0 && built.yields !== void 0 ? { name: id, type: built.yields } : void 0;
  const clauses = checkCatch(checking, node.get("catch"), path, yielded);
  const onTimeout = checkOnTimeout(checking, node, verb, path, yielded, built.hoisted ?? []);
  const undo = checkUndo(checking, verb, node.get("undo"), path, yielded);
  names2.leave(mark);
  const { feeds } = compiler;
  compiler.feeds = outerFeeds;
  const goesOn = clauses.goesOn || onTimeout !== void 0 && !onTimeout.ends;
  const certain = condition === void 0 && !goesOn;
  const read2 = verb === "wait_for" && condition === void 0 && !clauses.goesOn;
  for (const { name: name2, type, value: value2 } of built.hoisted ?? []) {
    names2.declare(name2, certain || read2 ? type : optional2(type));
    if (certain && value2 !== void 0) compiler.remember(name2, value2);
  }
  if (yielded !== void 0) {
    names2.declare(yielded.name, certain || read2 ? yielded.type : optional2(yielded.type));
    if (yielded.type === FAULTY.type) names2.unknown.add(yielded.name);
  }
  if (id !== void 0 && yielded === void 0 && !names2.unknown.has(id)) checking.valueless.set(id, verb);
  if (certain) {
    for (const present of built.assures ?? []) names2.assume(present);
    if (yielded !== void 0 && (awaited === "any_fill" || awaited === "filled")) names2.assume(`${yielded.name}.avg_price`);
  } else if (condition !== void 0 && !goesOn) remember(checking, condition, [...(built.hoisted ?? []).map(({ name: name2 }) => name2), ...yielded ? [yielded.name] : []], guarded);
  const base = {
    path,
    span: node.span,
    catch: clauses.clauses,
    feeds: [...feeds].sort(),
    ...defined({
      id,
      if: condition,
      retry: readRetry(checking, verb, node.get("retry")),
      timeout,
      onTimeout: onTimeout?.steps,
      undo,
      await: awaited,
      because,
      note: textOf2(node.get("note"))
    }),
    ...allow === "reduce" ? { allow } : {}
  };
  const step = { ...base, verb, args: built.args };
  checking.places.set(step, { node, verb: entry.keySpan });
  return { step, ends: built.ends === true && condition === void 0 && !clauses.goesOn };
}
function remember(checking, condition, ids, guarded) {
  const steady = condition !== FAULTY && condition.reads.every((root) => root === "inputs" || checking.names.constants.has(root));
  if (steady) guarded.set(condition.text.trim(), [...guarded.get(condition.text.trim()) ?? [], ...ids]);
}
function readId(checking, node) {
  const at = node.get("id");
  if (at?.kind !== "scalar" || checking.compiler.isFaulty(at) || !NAME.test(at.text)) return void 0;
  const id = at.text;
  if (checking.ids.get(id)?.start !== at.span.start) {
    checking.report(at, "duplicate-id", `${id} is the id of another step already`);
    return void 0;
  }
  return checking.mayDeclare(id, at.span) ? id : void 0;
}
function typeYielded2(verb) {
  const { yields } = stepRow(verb);
  return typeof yields === "string" ? void 0 : yields;
}
function checkCleanup(checking, verb, allow, at) {
  if (checking.cleanup === void 0 || stepRow(verb).risk !== "increases") return;
  if (verb === "place" && (allow === "reduce" || checking.limits.mode === "reducing")) return;
  checking.report(at, "risk-in-cleanup", `${verb} can add risk, and ${checking.cleanup} may only reduce it`);
}
function checkCatch(checking, node, path, own2) {
  const clauses = [];
  let goesOn = false;
  if (node?.kind !== "list" || checking.compiler.isFaulty(node)) return { clauses, goesOn };
  for (const [index, item] of node.items.entries()) {
    if (item.kind !== "map") continue;
    let condition;
    const block = checkInner(checking, item.get("do"), `${path}/catch/${index + 1}`, () => {
      checking.names.declare("error", STEP_ERROR);
      if (own2 !== void 0) checking.names.declare(own2.name, optional2(own2.type));
      condition = item.get("if") === void 0 ? void 0 : checkCondition(checking, item.get("if"), "if of a catch");
      if (condition !== void 0) assume(checking, condition);
    });
    const then = textOf2(item.get("then")) ?? "fail";
    const on = item.get("on");
    clauses.push({ on: on?.kind === "list" ? readKinds(on) : "any", ...defined({ if: condition }), do: block.steps, then });
    if (then === "continue" && !block.ends) goesOn = true;
  }
  return { clauses, goesOn };
}
function checkOnTimeout(checking, node, verb, path, own2, hoisted) {
  const entry = node.entry("on_timeout");
  if (entry === void 0 || checking.compiler.isFaulty(entry.value)) return void 0;
  if (verb !== "wait_for" && node.get("timeout") === void 0)
    checking.report(entry.keySpan, "on-timeout-without-timeout", `on_timeout of ${verb} is never done: the step has no timeout`);
  return checkInner(checking, entry.value, `${path}/on_timeout`, () => {
    for (const { name: name2, type } of own2 === void 0 ? hoisted : [...hoisted, own2]) checking.names.declare(name2, verb === "wait_for" ? type : optional2(type));
  });
}
function checkUndo(checking, verb, node, path, own2) {
  const byDefault = verb === "place" ? "cancel" : void 0;
  if (node === void 0 || checking.compiler.isFaulty(node)) return byDefault;
  if (node.kind === "scalar") return node.text === "keep" || node.text === "cancel" ? node.text : byDefault;
  const outer = checking.cleanup;
  checking.cleanup = "undo";
  const block = checkInner(checking, node, `${path}/undo`, () => {
    checking.names.declare("error", STEP_ERROR);
    if (own2 !== void 0) checking.names.declare(own2.name, own2.type);
  });
  checking.cleanup = outer;
  return block.steps;
}

// ../src/runbook/bounds.ts
var ORDER_POLL_MS = 2e3;
var MINUTE_MS2 = 6e4;
var TOKENS_PER_MINUTE = 1200;
var QUICKEST_KEEP_ALIVE_MS = 1250;
var UNKNOWN_COST = 10;
function documentedCost2(name2) {
  return endpoint(name2).tokens ?? UNKNOWN_COST;
}
function steadyRate(runbook, costs) {
  const known = new Known(runbook, void 0);
  const { rate } = blockLoad([...runbook.steps, ...runbook.onError, ...runbook.finally], { known, costs, runbook, depth: 0 });
  return Math.ceil(rate + keepAlives(runbook, known, costs));
}
function keepAlives(runbook, known, costs) {
  return keepAlivesPerMinute(runbook, known) * costs("POST /cancel_all_after");
}
var IDLE = { burst: 0, rate: 0, polls: 0, ms: 0, writes: 0, orders: 0, notional: "none" };
function blockLoad(steps2, view) {
  let all = IDLE;
  let dearest = 0;
  let burst = 0;
  for (const step of steps2) {
    const load = stepLoad(step, view);
    burst = load.ms >= MINUTE_MS2 ? load.burst : burst + load.burst;
    dearest = Math.max(dearest, burst);
    all = together(all, load);
  }
  return { ...all, burst: dearest };
}
function together(first, second) {
  return {
    burst: first.burst + second.burst,
    ...dearer(first, second),
    ms: first.ms + second.ms,
    writes: first.writes + second.writes,
    orders: first.orders + second.orders,
    notional: sum2(first.notional, second.notional)
  };
}
function dearer(first, second) {
  const { rate, polls: polls2 } = second.rate > first.rate ? second : first;
  return { rate, polls: polls2 };
}
function sum2(first, second) {
  if (first === "none") return second;
  if (second === "none") return first;
  return first === void 0 || second === void 0 ? void 0 : first.plus(second);
}
function times(load, count2) {
  const notional = load.notional === "none" || load.notional === void 0 ? load.notional : Number.isFinite(count2) ? load.notional.times(count2) : void 0;
  return { ...load, ms: load.ms * Math.min(count2, 1), writes: load.writes === 0 ? 0 : load.writes * count2, orders: load.orders === 0 ? 0 : load.orders * count2, notional };
}
function stepLoad(step, view) {
  const { known, costs } = view;
  const read2 = (name2) => ({ ...IDLE, burst: costs(name2) });
  const write = (name2, count2 = 1) => ({ ...IDLE, burst: costs(name2), writes: count2 });
  switch (step.verb) {
    case "place":
      return { ...write("POST /orders"), orders: 1, notional: orderNotional2(step, known), ...awaitRate(step, view) };
    case "protect": {
      const legs = (step.args.stopLoss === void 0 ? 0 : 1) + (step.args.takeProfit === void 0 ? 0 : 1);
      return { ...IDLE, burst: legs * costs("POST /orders"), writes: legs, orders: legs };
    }
    case "amend":
      return write("PUT /orders");
    case "cancel": {
      const count2 = step.args.kind === "order" ? 1 : step.args.kind === "ids" ? known.length(step.args.ids) : Number.POSITIVE_INFINITY;
      return { ...write("DELETE /orders", count2), ...awaitRate(step, view) };
    }
    case "cancel_all":
      return write("DELETE /orders/cancel_all");
    case "set_leverage":
      return write("PUT /account/leverage");
    case "read_account":
      return read2("GET /account");
    case "read_tier":
      return read2("GET /profile");
    case "list_orders":
    case "refresh":
      return read2("GET /orders");
    case "list_fills":
      return read2(step.args.order === void 0 ? "GET /fills" : "GET /fills/order");
    case "arm_deadman":
      return write("POST /cancel_all_after");
    case "read_deadman":
      return read2("GET /cancel_all_after");
    case "disarm_deadman":
      return write("DELETE /cancel_all_after");
    case "refresh_session":
      return read2("POST /jwt");
    case "request":
      return { ...IDLE, burst: UNKNOWN_COST };
    case "wait":
      return { ...IDLE, ms: step.args.kind === "for" ? known.duration(step.args.for) ?? 0 : 0 };
    case "wait_for":
      return waitLoad(step, view);
    case "for_each": {
      const count2 = known.length(step.args.in, step.id);
      const body2 = blockLoad(step.args.do, view);
      return { ...times(body2, count2), burst: body2.burst * (Number.isFinite(count2) ? count2 : 1) };
    }
    case "parallel":
      return parallelLoad(step, view);
    case "repeat":
      return repeatLoad(step, view);
    case "switch": {
      const cases = [...step.args.cases.map((each) => each.do), ...step.args.else === void 0 ? [] : [step.args.else]].map((block) => blockLoad(block, view));
      return cases.reduce(either2, { ...IDLE });
    }
    case "call": {
      const callee = view.runbook.calls[step.args.runbook];
      if (callee === void 0 || view.depth > 16) return IDLE;
      return blockLoad(callee.steps, { ...view, runbook: callee, known: new Known(callee, void 0), depth: view.depth + 1 });
    }
    case "let":
    case "set":
    case "assert":
    case "approve":
    case "notify":
    case "stop":
    case "fail":
      return IDLE;
    default:
      return step;
  }
}
function either2(first, second) {
  const larger2 = (a, b) => a === "none" ? b : b === "none" ? a : a === void 0 || b === void 0 ? void 0 : a.greaterThan(b) ? a : b;
  return {
    burst: Math.max(first.burst, second.burst),
    ...dearer(first, second),
    ms: Math.min(first.ms, second.ms),
    writes: Math.max(first.writes, second.writes),
    orders: Math.max(first.orders, second.orders),
    notional: larger2(first.notional, second.notional)
  };
}
function polls(everyMs, withinMs) {
  return Math.ceil(Math.min(MINUTE_MS2, withinMs ?? MINUTE_MS2) / everyMs);
}
function awaitRate(step, view) {
  if (step.await === void 0 || step.await === "accepted" || step.await === "live") return { rate: 0, polls: 0 };
  return orderPolls(view.known.duration(step.timeout), view);
}
function orderPolls(withinMs, { costs }) {
  const rate = polls(ORDER_POLL_MS, withinMs) * costs("GET /orders");
  return { rate, polls: rate };
}
function waitLoad(step, view) {
  const within2 = view.known.duration(step.args.within);
  if (step.args.kind === "order") return { ...IDLE, ...orderPolls(within2, view) };
  const every = view.known.duration(step.args.every);
  const { burst } = stepLoad(step.args.read, view);
  return every === void 0 ? { ...IDLE, burst } : { ...IDLE, rate: polls(every, within2) * burst };
}
function parallelLoad(step, view) {
  if (step.args.kind === "branches") {
    const loads = step.args.branches.map((branch) => blockLoad(branch.do, view));
    return { ...loads.reduce(together, IDLE), ...atOnce(loads, 1, view) };
  }
  const count2 = view.known.length(step.args.in);
  const width = Math.min(count2, countOf(view.known.decimal(step.args.max), 1));
  const body2 = blockLoad(step.args.do, view);
  return { ...times(body2, count2), burst: body2.burst * (Number.isFinite(count2) ? count2 : width), ...atOnce([body2], width, view) };
}
function atOnce(loads, width, view) {
  const total = (figure) => loads.reduce((all, load) => all + figure(load), 0) * width;
  const waited = total(({ polls: polls2 }) => polls2);
  const markets = view.runbook.limits?.markets?.length ?? Number.POSITIVE_INFINITY;
  const shared = Math.min(waited, markets * orderPolls(void 0, view).polls);
  return { rate: total(({ rate }) => rate) - waited + shared, polls: shared };
}
function repeatLoad(step, view) {
  const { known } = view;
  const body2 = blockLoad(step.args.do, view);
  const every = known.duration(step.args.every);
  const interval = Math.max(every ?? 0, body2.ms);
  const length = known.duration(step.args.for);
  const byTime = length === void 0 ? Number.POSITIVE_INFINITY : interval > 0 ? Math.ceil(length / interval) : Number.POSITIVE_INFINITY;
  const rounds = Math.min(countOf(known.decimal(step.args.max)), byTime);
  const all = times(body2, rounds);
  if (interval > 0) return { ...all, burst: 0, ...dearer(body2, { ...IDLE, rate: Math.min(MINUTE_MS2 / interval, rounds) * body2.burst }) };
  const endless = !Number.isFinite(rounds) && step.args.every === void 0 && length !== void 0 && body2.burst > 0;
  return { ...all, burst: Number.isFinite(rounds) ? rounds * body2.burst : body2.burst, rate: endless ? Number.POSITIVE_INFINITY : body2.rate };
}
function keepAlivesPerMinute(runbook, known) {
  const { deadman } = runbook;
  if (deadman === void 0) return 0;
  const timeout = known.duration(deadman.timeout);
  const pause2 = deadman.keepAlive === void 0 ? timeout && timeout / 4 : known.duration(deadman.keepAlive);
  return pause2 === void 0 || pause2 <= 0 ? 0 : MINUTE_MS2 / Math.max(pause2, QUICKEST_KEEP_ALIVE_MS);
}
function orderNotional2(step, known) {
  const size = known.decimal(step.args.size);
  const price2 = known.decimal(step.args.price);
  return size === void 0 || price2 === void 0 ? void 0 : size.times(price2);
}
var Known = class {
  scope;
  lengths = /* @__PURE__ */ new Map();
  mayKnow;
  constructor(runbook, inputs) {
    const lets = new Map([...runbook.let, ...runbook.def].map(({ name: name2, value: value2 }) => [name2, value2]));
    const get = (root) => {
      const named4 = lets.get(root);
      if (named4 !== void 0) return named4.evaluate(this.scope);
      if (root === "inputs" && inputs !== void 0) return inputs;
      throw new NotKnown(root);
    };
    this.scope = { get, rules: () => void 0 };
    this.mayKnow = (root) => lets.has(root) || root === "inputs" && inputs !== void 0;
  }
  value(expr) {
    if (expr === void 0 || !(expr.constant || expr.reads.every((root) => this.mayKnow(root)))) return void 0;
    try {
      return expr.evaluate(this.scope);
    } catch {
      return void 0;
    }
  }
  decimal(expr) {
    return this.value(expr);
  }
  duration(expr) {
    const value2 = this.value(expr);
    return value2 instanceof Duration ? value2.ms : void 0;
  }
  /** How many items a list has at most. What `for_each` collects is as long as what it went over; a filter makes nothing longer. */
  length(expr, collectedAs) {
    const value2 = this.value(expr);
    const from = /^\s*([A-Za-z_]\w*)\s*(?:\.\s*(?:filter|map)\s*\((?:[^()]|\([^()]*\))*\)\s*)*$/.exec(expr.text)?.[1];
    const length = Array.isArray(value2) ? value2.length : from === void 0 ? void 0 : this.lengths.get(from);
    if (collectedAs !== void 0 && length !== void 0) this.lengths.set(collectedAs, length);
    return length ?? Number.POSITIVE_INFINITY;
  }
};
function countOf(value2, unknown2 = Number.POSITIVE_INFINITY) {
  return value2?.isInteger() ? wholeNumber(value2) : unknown2;
}

// ../src/runbook/checking.ts
var Checking = class {
  names = new Names();
  compiler;
  places = /* @__PURE__ */ new Map();
  /** Every id of the file with the key it stands at; what it is called twice is reported where it is met again. */
  ids = /* @__PURE__ */ new Map();
  /** Ids that stand for nothing, with their verbs. */
  valueless = /* @__PURE__ */ new Map();
  vars = /* @__PURE__ */ new Map();
  /** Names of let steps and of top-level lets, defs and vars, with their keys: for what nobody reads. */
  lets = [];
  calls = /* @__PURE__ */ new Map();
  limits = { mode: "active" };
  /** Set while the steps of `finally` or `undo` are checked. */
  cleanup;
  needs = [];
  /** Inputs that need no value of a caller, also where the default is at fault. */
  defaulted = /* @__PURE__ */ new Set();
  /** Where names stand that could not be given. */
  refused = /* @__PURE__ */ new Set();
  /** Whether a step was left out because nobody knows what it is: then nothing can be said of the whole. */
  dropped = false;
  source;
  callee;
  /** Result types of the profile's requests, when a profile is known. */
  requests;
  found = [];
  constructor(source, faulty, callee, requests) {
    this.source = source;
    this.compiler = new Compiler(source, this.names, faulty);
    this.callee = callee;
    this.requests = requests;
  }
  report(at, code, message, hint) {
    this.found.push(finding(this.source, "kind" in at ? at.span : at, code, message, hint));
  }
  add(diagnostics) {
    this.found.push(...diagnostics);
  }
  get diagnostics() {
    return [...this.found, ...this.compiler.diagnostics.map((each) => this.explained(each))];
  }
  /** Says so, and answers false, when a new name can not be given. */
  mayDeclare(name2, at) {
    if (FORBIDDEN_KEYS.has(name2)) this.report(at, "forbidden-name", `${name2} can not be a name`);
    else if (RESERVED_ROOTS.includes(name2)) this.report(at, "reserved-name", `${name2} has a meaning of its own: ${RESERVED_ROOTS.join(", ")} are reserved`);
    else if (EXPRESSION_KEYWORDS.has(name2)) this.report(at, "reserved-name", `${name2} is a keyword of expressions`);
    else if (this.names.roots.has(name2)) this.report(at, "name-taken", `${name2} means something else already, which it would hide`);
    else return true;
    this.refused.add(at.start);
    return false;
  }
  /** A name nobody knows may be one that is known elsewhere. */
  explained(diagnostic) {
    if (diagnostic.code !== "unknown-name") return diagnostic;
    const name2 = this.source.text.slice(diagnostic.span.start, diagnostic.span.end);
    const verb = this.valueless.get(name2);
    if (verb === "request") return finding(this.source, diagnostic.span, "untyped-result", `${name2} is the result of a request, of a type only a profile declares`);
    if (verb !== void 0) return { ...diagnostic, hint: `The step ${name2} is a ${verb}, which yields nothing.` };
    const at = this.ids.get(name2);
    if (at === void 0) return diagnostic;
    const hint = at.start > diagnostic.span.start ? `The step ${name2} comes later.` : `The step ${name2} is known only inside its block.`;
    return { ...diagnostic, hint };
  }
};

// ../src/runbook/lints.ts
function lintRunbook(checking, runbook, root, allowance) {
  lintDeadman(checking, runbook);
  lintProtection(checking, runbook);
  lintRate(checking, runbook, root, allowance);
}
function lintRelease(checking, root) {
  const deadman = root.get("deadman");
  const at = deadman?.kind === "map" ? deadman.get("release_after") : void 0;
  if (at?.kind !== "scalar" || checking.compiler.isFaulty(at) || checking.ids.has(at.text)) return;
  const meant = didYouMean(at.text, checking.ids.keys());
  checking.report(at, "unknown-step", `release_after names ${JSON.stringify(at.text)}, which is the id of no step`, meant && `Did you mean ${meant}?`);
}
function verbSpan(checking, step) {
  return checking.places.get(step)?.verb ?? step.span;
}
function waitsFor(checking, step) {
  const { compiler } = checking;
  if (step.verb === "wait") return step.args.kind === "for" ? compiler.constant(step.args.for) : void 0;
  return step.verb === "wait_for" || step.verb === "approve" ? compiler.constant(step.args.within) : void 0;
}
function lintDeadman(checking, runbook) {
  const { deadman } = runbook;
  if (deadman !== void 0) {
    const pause2 = checking.compiler.constant(deadman.keepAlive);
    const timeout = pause2?.ms === 0 ? checking.compiler.constant(deadman.timeout) : void 0;
    const unreleased = deadman.releaseAfter === void 0;
    let released = false;
    for (const step of everyStep(runbook.steps)) {
      if (!released && timeout !== void 0) lintWait(checking, step, timeout);
      if (unreleased && (step.verb === "protect" || step.verb === "call" && protectsWithin(runbook, step.args.runbook)))
        checking.report(verbSpan(checking, step), "protect-under-deadman", "the deadman switch stays armed while these orders rest, and cancels them too when it fires: the deadman block has no release_after");
      released ||= step.id !== void 0 && step.id === deadman.releaseAfter;
    }
  }
  for (const block of [runbook.steps, runbook.onError, runbook.finally]) lintArmed(checking, block, void 0);
}
function protectsWithin(runbook, name2) {
  const callee = runbook.calls[name2];
  return callee !== void 0 && [...everyStep(callee.steps)].some((step) => step.verb === "protect" || step.verb === "call" && protectsWithin(callee, step.args.runbook));
}
function lintWait(checking, step, timeout) {
  const wait2 = waitsFor(checking, step);
  if (wait2 !== void 0 && wait2.ms > timeout.ms)
    checking.report(verbSpan(checking, step), "deadman-unattended", `${step.verb} may take ${valueText(wait2)}, the deadman switch fires after ${valueText(timeout)}, and nothing keeps it alive`);
}
function lintArmed(checking, steps2, before) {
  let armed = before;
  for (const step of steps2) {
    if (step.verb === "arm_deadman") armed = step;
    else if (step.verb === "disarm_deadman") armed = void 0;
    else if (armed !== void 0) {
      const timeout = checking.compiler.constant(armed.args.timeout);
      if (timeout !== void 0) lintWait(checking, step, timeout);
      if (step.verb === "protect")
        checking.report(verbSpan(checking, step), "protect-under-deadman", "the deadman switch armed before stays armed while these orders rest, and cancels them too when it fires", "Disarm it first with `disarm_deadman`, or use the deadman block with `release_after`.");
    }
    for (const block of innerBlocks(step)) armed = lintArmed(checking, block, armed);
  }
  return armed;
}
function lintProtection(checking, runbook) {
  let entry;
  let filled = false;
  let protects = false;
  const visit = (steps2) => {
    for (const step of steps2) {
      if (isEntry(step, runbook)) {
        entry ??= step;
        filled = fillsKnown(step.await);
      } else if (step.verb === "wait_for" && step.args.kind === "order") filled ||= fillsKnown(step.args.is);
      else if (step.verb === "protect") {
        protects = true;
        if (entry !== void 0 && !filled)
          checking.report(verbSpan(checking, step), "protect-before-fill", "nothing is known to have filled when these orders are placed");
      }
      for (const block of innerBlocks(step)) visit(block);
    }
  };
  visit(runbook.steps);
  protects ||= [...everyStep([...runbook.steps, ...runbook.onError])].some((step) => step.verb === "protect");
  if (entry !== void 0 && !protects) checking.report(verbSpan(checking, entry), "entry-without-protect", "this order opens a position, and no `protect` step of the runbook guards it");
}
function isEntry(step, runbook) {
  const mode = runbook.limits?.mode ?? "active";
  return step.verb === "place" && step.allow !== "reduce" && mode === "active";
}
function fillsKnown(target) {
  return target === "any_fill" || target === "filled" || target === "terminal";
}
function lintRate(checking, runbook, root, { costs, tokensPerMinute }) {
  const worst = steadyRate(runbook, costs);
  if (worst <= tokensPerMinute / 2) return;
  const at = dearestStep(checking, runbook, costs) ?? root.entry("steps")?.keySpan ?? root.span;
  const figure = Number.isFinite(worst) ? `${worst} tokens a minute` : "as many tokens a minute as the network lets through";
  if (worst > tokensPerMinute) checking.report(at, "token-rate", `the worst case is ${figure}, and the account has ${tokensPerMinute}`);
  else checking.report(at, "token-rate-high", `the worst case is ${figure}, more than half of the account's ${tokensPerMinute}`);
}
function dearestStep(checking, runbook, costs) {
  const alone = (step) => steadyRate({ ...runbook, steps: [step], onError: [], finally: [] }, costs);
  let dearest;
  for (const step of runbook.steps) {
    const tokens = alone(step);
    if (dearest === void 0 || tokens > dearest.tokens) dearest = { step, tokens };
  }
  return dearest && verbSpan(checking, dearest.step);
}
function lintUnused(checking, root, approvals2) {
  const { used } = checking.compiler;
  const keys = (node) => node?.kind === "map" ? node.entries : [];
  for (const { key: key2, keySpan } of keys(root.get("inputs"))) if (!used.has(`inputs.${key2}`)) checking.report(keySpan, "unused-input", `nothing reads the input ${key2}`);
  for (const { key: key2, keySpan } of keys(root.get("feeds"))) if (!used.has(`feeds.${key2}`)) checking.report(keySpan, "unused-feed", `nothing reads the feed ${key2}`);
  for (const { name: name2, span } of checking.lets) if (!used.has(name2)) checking.report(span, "unused-name", `nothing reads ${name2}`);
  const deadman = root.get("deadman");
  const release = deadman?.kind === "map" ? deadman.get("release_after") : void 0;
  const released = release?.kind === "scalar" ? release.text : void 0;
  if (released !== void 0 && !checking.ids.has(released)) return;
  for (const [id, span] of checking.ids)
    if (!used.has(id) && !approvals2.has(id) && id !== released && !checking.refused.has(span.start)) checking.report(span, "unused-id", `nothing refers to the step ${id}`);
}

// ../src/runbook/schedule-entries.ts
import { Cron } from "croner";
import { IANAZone as IANAZone2 } from "luxon";
var DEFAULT_MISFIRE = { within: new Duration(6e4), then: "run_once" };
function checkSchedule(checking, node, inputs, runbook) {
  if (node === void 0 || checking.compiler.isFaulty(node)) return [];
  const entries = node.kind === "list" ? node.items : [node];
  return entries.flatMap((entry, index) => entry.kind === "map" && !checking.compiler.isFaulty(entry) ? [slot(checking, entry, String(index), inputs, runbook)].flatMap((each) => each ?? []) : []);
}
function slot(checking, node, name2, inputs, runbook) {
  const from = time(checking, node.get("from"));
  const to = time(checking, node.get("to"));
  if (from !== void 0 && to !== void 0 && from.us >= to.us) checking.report(node.get("to") ?? node, "schedule-window", `to ${valueText(to)} is not after from ${valueText(from)}`);
  const zone = checkZone(checking, node.get("tz"));
  const when = whenOf(checking, node, zone);
  const values = inputValues(checking, node, inputs, runbook);
  const jitter = literalDuration(checking, node.get("jitter"));
  const misfire = node.get("misfire");
  const within2 = misfire?.kind === "map" ? literalDuration(checking, misfire.get("within")) : void 0;
  const then = misfire?.kind === "map" ? textOf2(misfire.get("then")) : void 0;
  const overlap = textOf2(node.get("overlap"));
  const dst = node.get("dst");
  const rule = (key2) => dst?.kind === "map" ? textOf2(dst.get(key2)) : void 0;
  if (when === void 0) return void 0;
  return {
    slot: name2,
    when,
    misfire: misfire === void 0 ? DEFAULT_MISFIRE : { within: within2 ?? DEFAULT_MISFIRE.within, then: then === "skip" || then === "run_all" ? then : "run_once" },
    overlap: overlap === "queue" || overlap === "replace" ? overlap : "skip",
    dst: { gap: rule("gap") === "skip" ? "skip" : "next_valid", overlap: rule("overlap") === "both" ? "both" : "first" },
    inputs: values,
    span: node.span,
    ...defined({ jitter, from, to })
  };
}
function whenOf(checking, node, zone) {
  const cron = node.get("cron");
  if (cron !== void 0) {
    const text2 = textOf2(cron) ?? "";
    return !checking.compiler.isFaulty(cron) && checkCron(checking, cron, text2) && zone !== void 0 ? { kind: "cron", cron: text2, tz: zone } : void 0;
  }
  const every = node.get("every");
  if (every !== void 0) {
    const length = literalDuration(checking, every);
    if (length !== void 0 && length.ms <= 0) checking.report(every, "duration-not-positive", `every must be longer than nothing, found ${valueText(length)}`);
    return length && { kind: "every", every: length };
  }
  const at = time(checking, node.get("at"));
  return at && { kind: "at", at, ...defined({ tz: zone }) };
}
var SEARCHED_FROM = new Date(Date.UTC(2024, 0, 1));
function checkCron(checking, at, text2) {
  if (text2.trim().split(/\s+/).length !== 5) {
    checking.report(at, "schedule-cron", `a cron expression has five fields (minute, hour, day, month, weekday), found ${JSON.stringify(text2)}`);
    return false;
  }
  try {
    const pattern = new Cron(text2, { timezone: "UTC", mode: "5-part" });
    if (pattern.nextRun(SEARCHED_FROM) !== null) return true;
    checking.report(at, "schedule-never", `no date fits ${JSON.stringify(text2)}: the schedule never fires`);
  } catch (error3) {
    checking.report(at, "schedule-cron", `${JSON.stringify(text2)} is not a cron expression: ${error3.message.replace(/^CronPattern: /, "")}`);
  }
  return false;
}
function checkZone(checking, at) {
  if (at?.kind !== "scalar" || checking.compiler.isFaulty(at)) return void 0;
  if (IANAZone2.isValidZone(at.text) && (at.text.includes("/") || at.text === "UTC")) return at.text;
  checking.report(at, "schedule-zone", `${JSON.stringify(at.text)} is not a zone of the IANA database`);
  return void 0;
}
function inputValues(checking, node, inputs, runbook) {
  const given2 = node.get("inputs");
  const values = /* @__PURE__ */ Object.create(null);
  for (const { key: key2, keySpan, value: value2 } of given2?.kind === "map" ? given2.entries : []) {
    const input2 = inputs.find((each) => each.name === key2);
    if (input2 === void 0) {
      if (!checking.names.unknown.has(`inputs.${key2}`)) checking.report(keySpan, "unknown-input", unknownInput(key2, inputs.map((each) => each.name), runbook));
      continue;
    }
    if (checking.compiler.isFaulty(value2)) continue;
    const { value: read2, diagnostics } = readLiteral(input2.type, input2.typeText, value2, checking.source);
    checking.add(diagnostics);
    const problem = read2 === void 0 ? void 0 : violation(input2, read2);
    if (problem !== void 0) checking.report(value2, problem.code, problem.message);
    if (read2 !== void 0) values[key2] = read2;
  }
  for (const input2 of inputs)
    if (!checking.defaulted.has(input2.name) && (given2?.kind !== "map" || given2.get(input2.name) === void 0))
      checking.report((node.entry("inputs") ?? node.entries[0])?.keySpan ?? node, "missing-input", `the schedule gives no value to the input ${input2.name} (${input2.typeText}), which has no default`);
  return values;
}
function time(checking, node) {
  if (node === void 0 || checking.compiler.isFaulty(node)) return void 0;
  const { value: value2, diagnostics } = readLiteral(TIME, "time", node, checking.source);
  checking.add(diagnostics);
  return value2;
}

// ../src/runbook/schema.ts
var made;
function runbookSchema() {
  made ??= {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: "https://perp-runbook.invalid/schemas/runbook.schema.json",
    title: "Runbook",
    description: "A declarative runbook for a perpetual-futures venue, version 1 of the language.",
    ...fieldsSchema(FILE),
    $defs: { steps: { type: "array", items: { $ref: "#/$defs/step" } }, step: stepSchema(), ...verbSchemas() }
  };
  return made;
}
function verbSchemas() {
  return Object.fromEntries(VERBS.map((verb) => [`verb-${verb}`, { description: stepRow(verb).summary, ...shapeSchema(stepRow(verb).takes) }]));
}
function stepSchema() {
  const verbs = VERBS.map((verb) => [verb, { $ref: `#/$defs/verb-${verb}` }]);
  const modifiers = MODIFIER_NAMES.map((name2) => [name2, fieldSchema(MODIFIERS[name2])]);
  const has = (verb) => ({ required: [verb], properties: { [verb]: true } });
  const suited = MODIFIER_NAMES.map((name2) => [name2, VERBS.filter((verb) => stepRow(verb).modifiers.includes(name2))]);
  return {
    type: "object",
    properties: Object.fromEntries([...verbs, ...modifiers]),
    additionalProperties: false,
    oneOf: VERBS.map(has),
    dependentSchemas: Object.fromEntries([
      ...suited.filter(([, able]) => able.length < VERBS.length).map(([name2, able]) => [name2, { anyOf: able.map(has) }])
    ]),
    allOf: VERBS.flatMap((verb) => {
      const row = stepRow(verb);
      const await_ = row.await && { await: { enum: row.await.allowed } };
      const undo = row.modifiers.includes("undo") && row.undoWords === void 0 && { undo: { type: "array" } };
      return await_ || undo ? [{ if: has(verb), then: { properties: { ...await_ ?? {}, ...undo || {} } } }] : [];
    })
  };
}
function fieldSchema(field) {
  const schema2 = shapeSchema(field.shape);
  const simple = field.default !== void 0 && ["word", "duration", "flag", "integer", "number"].includes(field.shape.kind) && !/[ ;]/.test(field.default);
  const typed2 = field.shape.kind === "flag" ? field.default === "true" : ["integer", "number"].includes(field.shape.kind) ? Number(field.default) : field.default;
  return {
    description: field.default === void 0 || simple ? field.doc : `${field.doc} (default: ${field.default})`,
    ...simple ? { default: typed2 } : {},
    ...schema2
  };
}
function fieldsSchema(shape) {
  const entries = Object.entries(shape.fields);
  const required = entries.filter(([, field]) => field.required).map(([name2]) => name2);
  const one2 = (name2) => ({ required: [name2], properties: { [name2]: true } });
  const rules = [
    ...(shape.atLeastOne ?? []).map((group) => ({ anyOf: group.map(one2) })),
    ...(shape.atMostOne ?? []).flatMap(
      (group) => group.flatMap((first, index) => group.slice(index + 1).map((second) => ({ not: { required: [first, second], properties: { [first]: true, [second]: true } } })))
    )
  ];
  return {
    type: "object",
    properties: Object.fromEntries(entries.map(([name2, field]) => [name2, fieldSchema(field)])),
    additionalProperties: false,
    ...required.length > 0 ? { required } : {},
    ...shape.together === void 0 ? {} : { dependentRequired: Object.fromEntries(Object.entries(shape.together).map(([key2, beside]) => [key2, [beside]])) },
    ...rules.length > 0 ? { allOf: rules } : {}
  };
}
var SCALARS = ["string", "number", "boolean"];
function shapeSchema(shape) {
  switch (shape.kind) {
    case "value":
      return valueSchema(shape.type, shape.spelling);
    case "word":
      return { type: "string", enum: shape.values };
    case "text":
      return { type: "string", ...shape.pattern === void 0 ? {} : { pattern: shape.pattern } };
    case "name":
      return { type: "string", pattern: NAME_PATTERN };
    case "integer":
      return { type: "integer", minimum: shape.min, ...shape.max === void 0 ? {} : { maximum: shape.max } };
    case "number":
      return { type: "number", minimum: shape.min };
    case "flag":
      return shape.only ? { const: true } : { type: "boolean" };
    case "duration":
    case "time":
    case "type":
      return { type: "string" };
    case "literal":
      return { type: [...SCALARS, "array", "object"] };
    case "steps":
      return { $ref: "#/$defs/steps" };
    case "step":
      return { $ref: "#/$defs/step" };
    case "list":
      return { type: "array", items: shapeSchema(shape.of) };
    case "names":
      return { type: "object", propertyNames: { pattern: shape.free ? FREE_NAME_PATTERN : NAME_PATTERN }, additionalProperties: shapeSchema(shape.of) };
    case "fields":
      return fieldsSchema(shape);
    case "variants":
      return {
        type: "object",
        required: [shape.by],
        properties: { [shape.by]: true },
        discriminator: { propertyName: shape.by },
        oneOf: Object.entries(shape.variants).map(([word2, variant]) => {
          const schema2 = fieldsSchema(variant);
          return { ...schema2, properties: { ...schema2.properties, [shape.by]: { ...schema2.properties[shape.by], const: word2 } } };
        })
      };
    case "choice": {
      const ways = [shape.scalar, shape.list, ...(shape.maps ?? []).map((each) => each.shape)].filter((each) => each !== void 0);
      return ways.length === 1 && ways[0] !== void 0 ? shapeSchema(ways[0]) : { anyOf: ways.map(shapeSchema) };
    }
    default:
      return shape;
  }
}
function valueSchema(type, spelling) {
  const items = { type: SCALARS };
  if (spelling === "list") return { type: ["string", "array"], items };
  if (type === "any") return spelling === "any value" ? { type: [...SCALARS, "array"], items } : { type: "string" };
  switch (type.kind) {
    case "decimal":
      return { type: ["number", "string"] };
    case "boolean":
      return { type: ["boolean", "string"] };
    case "list":
      return { type: ["string", "array"], items };
    case "text":
    case "duration":
    case "time":
    case "record":
    case "map":
    case "optional":
      return { type: "string" };
    default:
      return type;
  }
}

// ../src/runbook/check.ts
var DOCUMENTED = { costs: documentedCost2, tokensPerMinute: TOKENS_PER_MINUTE };
function checkRunbook(source, load, options = {}) {
  const stem = /([^/\\]*?)(?:\.ya?ml)?$/.exec(source.file)?.[1] ?? source.file;
  return new Check(load, options).file(source, [stem]);
}
var Check = class {
  load;
  options;
  done = /* @__PURE__ */ new Map();
  constructor(load, options) {
    this.load = load;
    this.options = options;
  }
  file(source, stack) {
    const document = readDocument(source);
    const { root } = document;
    if (root === void 0) return { runbook: void 0, diagnostics: document.diagnostics };
    const shape = inspectShape(root, source);
    const before = [...document.diagnostics, ...shape.diagnostics];
    if (root.kind !== "map" || shape.faulty.has(root)) return { runbook: void 0, diagnostics: inReadingOrder(before) };
    const known = [...before, ...schemaFindings(root, source, before)];
    const checking = new Checking(source, shape.faulty, (name2) => this.callee(name2, stack), this.options.requests ?? {});
    const runbook = assemble(checking, root);
    if (!checking.dropped) lintRunbook(checking, runbook, root, this.options.allowance ?? DOCUMENTED);
    if (shape.diagnostics.length === 0) lintUnused(checking, root, approvals(root));
    const schedule = this.options.scheduleLint?.(runbook) ?? [];
    const diagnostics = inReadingOrder(withoutMarketEchoes(root, distinct([...known, ...checking.diagnostics, ...schedule])));
    return { runbook: diagnostics.some(isError) ? void 0 : runbook, diagnostics };
  }
  /** Each called runbook is checked once, however often it is called. */
  callee(name2, stack) {
    if (stack.includes(name2)) return { kind: "cycle", path: [...stack.slice(stack.indexOf(name2)), name2] };
    const known = this.done.get(name2);
    if (known !== void 0) return known;
    const source = this.load(name2);
    const callee = source === void 0 ? { kind: "missing" } : this.checkCallee(source, [...stack, name2]);
    this.done.set(name2, callee);
    return callee;
  }
  checkCallee(source, stack) {
    const { runbook, diagnostics } = this.file(source, stack);
    return runbook === void 0 ? { kind: "invalid", errors: diagnostics.filter(isError) } : { kind: "checked", runbook };
  }
};
function isError(diagnostic) {
  return diagnostic.severity === "error";
}
function assemble(checking, root) {
  const { compiler, names: names2, source } = checking;
  const needs = root.get("needs");
  checking.needs = needs?.kind === "list" ? needs.items.map((item) => textOf2(item) ?? "") : [];
  collectIds(checking, root);
  const name2 = textOf2(root.get("runbook")) ?? "";
  declareRoots(checking);
  const inputs = checkInputs(checking, root.get("inputs"));
  compiler.market = defaultMarket(early(checking, root, "limits", "markets"), inputs, early(checking, root, "deadman", "market")?.[0]);
  const feeds = checkFeeds(checking, root.get("feeds"));
  const lets = checkLets(checking, root.get("let"));
  const vars = checkVars(checking, root.get("vars"));
  const defs = checkDefs(checking, root.get("def"));
  const limits = checkLimits3(checking, root.get("limits"));
  const deadman = checkDeadman(checking, root);
  compiler.market = defaultMarket(limits?.markets, inputs, deadman?.market);
  const concurrency = checkConcurrency(checking, root.get("concurrency"));
  const schedule = checkSchedule(checking, root.get("schedule"), inputs, name2);
  const mark = names2.enter();
  const main = checkSteps2(checking, root.get("steps"), "steps");
  const outputs = checkOutputs(checking, root.get("outputs"));
  const declared = names2.leave(mark);
  const onError = after(checking, declared, () => {
    names2.declare("error", STEP_ERROR);
    return checkSteps2(checking, root.get("on_error"), "on_error").steps;
  });
  checking.cleanup = "finally";
  const last = after(checking, declared, () => checkSteps2(checking, root.get("finally"), "finally").steps);
  checking.cleanup = void 0;
  lintRelease(checking, root);
  return {
    name: name2,
    dsl: 1,
    source,
    sha256: createHash5("sha256").update(source.text).digest("hex"),
    needs: checking.needs,
    inputs,
    feeds,
    let: lets,
    def: defs,
    vars,
    schedule,
    steps: main.steps,
    onError,
    finally: last,
    outputs,
    calls: Object.fromEntries(checking.calls),
    ...defined({ about: textOf2(root.get("about")), limits, deadman, concurrency })
  };
}
function after(checking, declared, check) {
  const mark = checking.names.enter();
  for (const { name: name2, type } of declared) checking.names.declare(name2, optional2(type));
  const steps2 = check();
  checking.names.leave(mark);
  return steps2;
}
function checkOutputs(checking, node) {
  if (node?.kind !== "map" || checking.compiler.isFaulty(node)) return [];
  return node.entries.map(({ key: key2, value: value2 }) => ({ name: key2, value: checking.compiler.value(value2, "any") }));
}
function early(checking, root, block, key2) {
  const holder = root.get(block);
  const at = holder?.kind === "map" ? holder.get(key2) : void 0;
  if (at === void 0) return void 0;
  const { compiler } = checking;
  const said2 = compiler.diagnostics.length;
  const exprs2 = (at.kind === "list" ? at.items : [at]).map((item) => compiler.value(item, MARKET, void 0));
  compiler.diagnostics.length = said2;
  return exprs2.some((expr) => expr === FAULTY) ? void 0 : exprs2;
}
function collectIds(checking, root) {
  const visit = (node) => {
    if (node.kind === "list") node.items.forEach(visit);
    if (node.kind !== "map") return;
    const id = node.get("id");
    if (id?.kind === "scalar" && verbOf(node) !== void 0 && !checking.compiler.isFaulty(id) && !checking.ids.has(id.text)) checking.ids.set(id.text, id.span);
    for (const { value: value2 } of node.entries) visit(value2);
  };
  for (const key2 of ["steps", "on_error", "finally"]) {
    const at = root.kind === "map" ? root.get(key2) : void 0;
    if (at !== void 0) visit(at);
  }
}
function approvals(root) {
  const found = /* @__PURE__ */ new Set();
  const visit = (node) => {
    if (node.kind === "list") node.items.forEach(visit);
    if (node.kind !== "map") return;
    const id = textOf2(node.get("id"));
    if (id !== void 0 && node.get("approve") !== void 0) found.add(id);
    for (const { value: value2 } of node.entries) visit(value2);
  };
  visit(root);
  return found;
}
function schemaFindings(root, source, said2) {
  const issues = schemaIssues("runbook", runbookSchema(), plainData(root));
  const unsaid = issues.map((issue) => ({ issue, ...nodeAt(root, issue.path) })).filter(({ span, keySpan }) => !said2.some((each) => touches(each.span, span) || keySpan !== void 0 && touches(each.span, keySpan)));
  const [first] = unsaid;
  if (first === void 0) return [];
  return [finding(source, first.keySpan ?? first.span, "schema-violation", `runbook.schema.json: ${first.issue.path.join(".") || "the file"} ${first.issue.message}`)];
}
function touches(one2, other) {
  return one2.start <= other.end && other.start <= one2.end;
}
function withoutMarketEchoes(root, diagnostics) {
  const sources = ["inputs", "limits", "deadman"].flatMap((key2) => root.entry(key2)?.span ?? []);
  const echo = (each) => each.code === "market-unknown";
  const cause = diagnostics.some((each) => isError(each) && !echo(each) && sources.some((span) => touches(span, each.span)));
  return cause ? diagnostics.filter((each) => !echo(each)) : diagnostics;
}
function distinct(diagnostics) {
  const seen = /* @__PURE__ */ new Set();
  return diagnostics.filter(({ code, span, message }) => {
    const key2 = `${code} ${span.start} ${span.end} ${message}`;
    if (seen.has(key2)) return false;
    seen.add(key2);
    return true;
  });
}

// runbooks.ts
function lineOf(steps2) {
  return `runbook: line
dsl: 1
steps:
${"  - read_account: {}\n".repeat(steps2)}`;
}
function loopOf(iterations) {
  return `runbook: loop
dsl: 1
steps:
  - repeat:
      max: ${iterations}
      do:
        - read_account: {}
`;
}
function branchesOf(width) {
  return `runbook: branches
dsl: 1
steps:
  - parallel:
      each: n
      in: range(${width})
      max: ${width}
      on_fail: let_others_finish
      do:
        - assert: n >= 0
        - read_account: {}
`;
}
function pollsOf(count2) {
  return `runbook: polls
dsl: 1
steps:
  - repeat:
      every: 1s
      max: ${count2}
      do:
        - assert: now > run.started_at - 1s
`;
}

// trials/product.ts
var START_MS = Date.parse("2026-01-05T08:00:00Z");
function loaded(text2) {
  const source = { file: "bench.yaml", text: text2 };
  const { runbook, diagnostics } = checkRunbook(source, () => void 0);
  if (runbook === void 0) throw new Error(diagnostics.map(({ message }) => message).join("; "));
  return { runbook, sources: [{ name: runbook.name, source }] };
}
async function execute(runbook, store, run) {
  const { result: result2 } = await dryRun({ loaded: runbook, inputs: {}, run, at: START_MS, seed: 1, store, venue: { kind: "simulated" } });
  if (result2.outcome !== "succeeded") throw new Error(`the run ${result2.outcome}: ${result2.reason ?? ""}`);
}
function inMemory(text2) {
  return {
    async prepare(size) {
      const runbook = loaded(text2(size));
      return () => execute(runbook, new MemoryStore(), "bench");
    }
  };
}
function inSqlite(text2) {
  return {
    async prepare(size) {
      const runbook = loaded(text2(size));
      const folder = mkdtempSync(join2(tmpdir(), "runbook-bench-"));
      process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
      const store = await openSqliteStore(join2(folder, "runbook.db"));
      let run = 0;
      return () => execute(runbook, store, `bench-${++run}`);
    }
  };
}
var PRODUCT_TRIALS = {
  line: inMemory(lineOf),
  lineSqlite: inSqlite(lineOf),
  loop: inMemory(loopOf),
  branches: inMemory(branchesOf),
  polls: inMemory(pollsOf)
};
export {
  PRODUCT_TRIALS
};
