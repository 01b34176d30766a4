/**
 * Names the mutants that change nothing anyone can observe: the file, the line of its source, what the mutant replaces there, by
 * what, and why nothing can tell the two apart.
 */
export const EQUIVALENTS = [
  ...inFile('src/venue/order/fills.ts', [
    {
      line: 'return a === b || decimal(a).eq(decimal(b));',
      from: 'a === b',
      to: 'false',
      why: 'the same text is the same number; the comparison of texts is only faster',
    },
    {
      line: "return text === '0' || decimal(text).isZero();",
      from: "text === '0'",
      to: 'false',
      why: 'the comparison of texts is only faster',
    },
    {
      line: 'return a !== b && decimal(a).gt(decimal(b));',
      from: 'a !== b',
      to: 'true',
      why: 'no number exceeds itself; the comparison of texts is only faster',
    },
    {
      line: "if (b === '0') return a;",
      from: "b === '0'",
      to: 'false',
      why: 'the same number; sizes have no trailing zeros that it would remove',
    },
  ]),
  ...inFile('src/gateway/client.ts', [
    {
      line: 'work.then(() => resolve(true), reject).finally(() => timer.cancel());',
      from: '() => timer.cancel()',
      to: '() => undefined',
      why: 'a promise is settled once: the timer then does nothing',
    },
  ]),
  ...inFile('src/gateway/exchange.ts', [
    {
      line: 'const ready: readonly Step[] = session === undefined ? [] : [findNoSession];',
      from: 'session === undefined',
      to: 'false',
      why: 'a transport without a session is ready; it is only not asked',
    },
    {
      line: 'const when = new Date(clock.now() + refusal.earliestInMs).toISOString();',
      from: 'clock.now() + refusal.earliestInMs',
      to: 'clock.now() - refusal.earliestInMs',
      why: 'a sentence',
    },
  ]),
  ...inFile('src/gateway/send-checks.ts', [
    ...['true', 'false', 'call.decidedAt !== undefined'].map((to) => ({
      line: 'call.decidedAt === undefined',
      from: 'call.decidedAt === undefined',
      to,
      why: 'a sentence',
    })),
  ]),
  ...inFile('src/gateway/limits/facts.ts', [
    ...[
      ["row.method === 'GET' || row.protective", 'false'],
      ["row.method === 'GET' || row.protective", "row.method === 'GET' && row.protective"],
      ["row.method === 'GET'", 'false'],
    ].map(([from, to]) => ({
      line: "if (row.method === 'GET' || row.protective) return { ok: true, considered: {} };",
      from,
      to,
      why: 'the checks let each of them pass, after facts that cost a query were collected for nothing',
    })),
    {
      line: 'return findUnpricedMarket(call, rules, this.collectFacts(call, rules, now, false));',
      from: 'false',
      to: 'true',
      why: 'an order that was not attempted is in none of the facts that an attempt changes',
    },
    {
      line: 'const summed = rules.maxRunNotional !== undefined;',
      from: 'rules.maxRunNotional !== undefined',
      to: 'true',
      why: 'no other control asks for the sum; it is only left out to be faster',
    },
    ...[
      ['this.refusals.filter((at) => now - at < REFUSALS_KEPT_MS)', 'this.refusals'],
      ['now - at < REFUSALS_KEPT_MS', 'true'],
      ['now - at < REFUSALS_KEPT_MS', 'now - at <= REFUSALS_KEPT_MS'],
    ].map(([from, to]) => ({
      line: 'this.refusals = this.refusals.filter((at) => now - at < REFUSALS_KEPT_MS);',
      from,
      to,
      why: 'bounds only how much is kept: no window is longer',
    })),
  ]),
  ...inFile('src/engine/playback/playback.ts', [
    ...['true', 'false', "step !== ''"].map((to) => ({
      line: "super(`entry ${sequence}${step === '' ? '' : ` (${step})`}: recorded ${recorded}, now ${found}`);",
      from: "step === ''",
      to,
      why: 'a sentence',
    })),
    {
      line: "const formatFound = () => `${endpoint ?? 'request'} ${toCanonicalJson(params)}`;",
      from: "endpoint ?? 'request'",
      to: "endpoint && 'request'",
      why: 'a sentence',
    },
    {
      line: "return new Divergence(seq, step, `rounds ${first} to ${next - 1} in one piece`, 'a round of them');",
      from: 'next - 1',
      to: 'next + 1',
      why: 'a sentence',
    },
    ...[
      ['{ promisesAlone: true }', '{}'],
      ['true', 'false'],
    ].map(([from, to]) => ({
      line: 'this.time = new VirtualClock(first.data.startedAt, { promisesAlone: true });',
      from,
      to,
      why: 'waits for more than promises, which is only slower',
    })),
    ...[
      ['if (reading !== undefined) await reading;', 'reading !== undefined'],
      ['if (due !== undefined) await due;', 'due !== undefined'],
      [
        "if (!isSilent(entry) || entry.type === 'run.resumed') await this.time.quiesce();",
        "!isSilent(entry) || entry.type === 'run.resumed'",
      ],
    ].map(([line, from]) => ({ line, from, to: 'true', why: 'waits for nothing, which is only slower' })),
    {
      line: 'this.log.tracker.apply(at === entry.at ? entry : { ...entry, at });',
      from: 'at === entry.at',
      to: 'false',
      why: 'an equal copy, which is only slower',
    },
  ]),
  ...inFile('src/engine/run.ts', [
    {
      line: 'const releaseCalls = (path: string) => calls.delete(path);',
      from: '(path: string) => calls.delete(path)',
      to: '() => undefined',
      why: 'bounds only how much is kept: no call has the path of a round that is over',
    },
    {
      line: "if (state === 'halted') await this.leaveSwitch();",
      from: "state === 'halted'",
      to: 'true',
      why: 'a run that has not halted has left the switch already, and nothing is under way there',
    },
    {
      line: "`${verb} by ${command.by}${command.reason === undefined ? '' : `: ${command.reason}`}`,",
      from: 'command.reason === undefined',
      to: 'false',
      why: 'a sentence',
    },
  ]),
  ...inFile('src/engine/orders/confirm.ts', [
    ...['true', 'false', 'isShown !== isConfirmed'].map((to) => ({
      line: "const not = isShown === isConfirmed ? 'not confirmed' : 'not ended';",
      from: 'isShown === isConfirmed',
      to,
      why: 'a sentence',
    })),
    {
      line: 'const because = `no end seen within ${formatSpan(CONFIRM_WITHIN_MS / 2)} of its cancel`;',
      from: 'CONFIRM_WITHIN_MS / 2',
      to: 'CONFIRM_WITHIN_MS * 2',
      why: 'a sentence',
    },
  ]),
  ...inFile('src/engine/orders/settle.ts', [
    {
      line: 'if (unsettled !== undefined) throw unsettled;',
      from: 'unsettled !== undefined',
      to: 'true',
      why: 'the last of several errors counts for nothing where it is undefined',
    },
  ]),
  ...inFile('src/engine/orders/place.ts', [
    {
      line: "case 'unresolved':",
      from: "case 'unresolved': break;",
      to: "case 'unresolved':",
      why: 'the case that follows it does nothing',
    },
    {
      line: 'return deriveClientOrderId({ account, run, path, attempt, ...(tag === undefined ? {} : { tag }) });',
      from: 'tag === undefined',
      to: 'false',
      why: 'a tag that is undefined is none',
    },
  ]),
  ...inFile('src/venue/tokens/ledger.ts', [
    {
      line: 'return missing <= 1e-6 ? this.now : this.now + missing / this.getRefillPerMs();',
      from: 'missing <= 1e-6',
      to: 'missing < 1e-6',
      why: 'no rounding leaves exactly this part of a token',
    },
    {
      line: 'if (at <= this.now) return;',
      from: 'at <= this.now',
      to: 'at < this.now',
      why: 'nothing changes within an instant',
    },
    {
      line: 'const elapsed = this.now === Number.NEGATIVE_INFINITY ? 0 : at - this.now;',
      from: 'this.now === Number.NEGATIVE_INFINITY',
      to: 'false',
      why: 'the level of a new ledger is full, and stays so however long that was',
    },
    {
      line: '} catch {',
      from: '{ return undefined; }',
      to: '{}',
      why: 'a function without a return gives undefined',
    },
  ]),
  ...inFile('src/journal/chain.ts', [
    ...['true', 'false', 'QUOTED.size > QUOTED_KEPT', 'QUOTED.size < QUOTED_KEPT'].map((to) => ({
      line: 'if (QUOTED.size >= QUOTED_KEPT) QUOTED.clear();',
      from: 'QUOTED.size >= QUOTED_KEPT',
      to,
      why: 'bounds only how much is kept to be faster',
    })),
    {
      line: 'const UNQUOTED = /^[ !#-[\\]-~]*$/;',
      from: '/^[ !#-[\\]-~]*$/',
      to: '/^[ !#-[\\]-~]$/',
      why: 'a text that needs no escaping is the same when it is escaped, only slower',
    },
    {
      line: '} catch {',
      from: '{ return undefined; }',
      to: '{}',
      why: 'what was not parsed is undefined, which is no object either',
    },
    {
      line: "if (typeof parsed !== 'object' || parsed === null) return undefined;",
      from: "typeof parsed !== 'object'",
      to: 'false',
      why: 'a number, a text and a truth value have none of the fields that are asked for next',
    },
    {
      line: 'if (line.seq > expected && (follower === undefined || follower.seq === line.seq + 1)) {',
      from: 'line.seq > expected',
      to: 'line.seq >= expected',
      why: 'a line of the expected number has been distinguished before',
    },
  ]),
  ...inFile('src/journal/writer.ts', [
    {
      line: 'if (this.failed === undefined) {',
      from: 'this.failed === undefined',
      to: 'true',
      why: 'bounds only how much is kept: no commit behind a failed one stores it',
    },
    {
      line: 'if (this.buffer.length >= BATCH && this.due === undefined) void this.commitSoon(this.running.catch(() => {}));',
      from: 'this.due === undefined',
      to: 'true',
      why: 'a commit that is due is not scheduled again; it is only not asked for',
    },
  ]),
];

function inFile(file, mutants) {
  return mutants.map((mutant) => ({ file, ...mutant }));
}
