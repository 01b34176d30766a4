/**
 * A run as an OpenTelemetry trace in OTLP's JSON form, for whoever looks at runs in a tracing tool: the run, its steps and
 * its requests are spans, what was decided and what became of orders are events on them. Ids follow from the run's name, so
 * exporting twice gives the same trace. It sends nothing anywhere.
 */
import { createHash } from 'node:crypto';
import { escapeUnprintable } from '../base/printable.ts';
import type { Entry, EntryOf, Json } from '../journal/entry.ts';
import { StoreError } from '../journal/store.ts';

export interface OtlpTrace {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly OtlpAttribute[] };
    readonly scopeSpans: readonly {
      readonly scope: { readonly name: string; readonly version: string };
      readonly spans: readonly OtlpSpan[];
    }[];
  }[];
}

/** In OTLP's JSON form ids are hex, whole numbers of 64 bits are texts and enums are numbers. */
export interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  /** 1 internal, 3 client. */
  readonly kind: 1 | 3;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly OtlpAttribute[];
  readonly events: readonly {
    readonly timeUnixNano: string;
    readonly name: string;
    readonly attributes: readonly OtlpAttribute[];
  }[];
  /** 0 unset, 1 ok, 2 error. */
  readonly status: { readonly code: 0 | 1 | 2; readonly message?: string };
}

export interface OtlpAttribute {
  readonly key: string;
  readonly value: { readonly stringValue: string } | { readonly intValue: string } | { readonly boolValue: boolean };
}

export function otlpExport(entries: Iterable<Entry>): string {
  return `${escapeUnprintable(JSON.stringify(otlpTrace(entries)))}\n`;
}

/** Throws StoreError `damaged` when the entries do not begin with `run.started`. */
export function otlpTrace(entries: Iterable<Entry>): OtlpTrace {
  const fold = new TraceFold();
  for (const entry of entries) fold.apply(entry);
  return fold.trace();
}

interface Open {
  readonly span: Omit<OtlpSpan, 'endTimeUnixNano' | 'status' | 'attributes' | 'events'>;
  readonly attributes: OtlpAttribute[];
  readonly events: OtlpSpan['events'][number][];
}

class TraceFold {
  private started: EntryOf<'run.started'> | undefined;
  private traceId = '';
  private root: Open | undefined;
  private lastAt = 0;
  private rootStatus: OtlpSpan['status'] = { code: 0 };
  private readonly steps = new Map<string, Open>();
  private readonly calls = new Map<string, Open>();
  private readonly endpoints = new Map<string, { readonly endpoint: string; readonly purpose: string | undefined }>();
  private readonly spans: OtlpSpan[] = [];

  apply(entry: Entry): void {
    this.lastAt = Math.max(this.lastAt, entry.at);
    switch (entry.type) {
      case 'run.started':
        this.begin(entry);
        return;
      case 'step.started': {
        const { verb, id, attempt } = entry.data;
        if (this.steps.has(entry.step)) {
          this.event(entry, 'step.attempt', { attempt });
          return;
        }
        this.steps.set(
          entry.step,
          this.open(entry, id === undefined ? verb : `${id}: ${verb}`, 1, {
            'runbook.step': entry.step,
            'runbook.verb': verb,
            'runbook.step.id': id,
          }),
        );
        return;
      }
      case 'step.ended':
        this.endStep(entry);
        return;
      case 'call.intended':
        this.endpoints.set(entry.data.call, { endpoint: entry.data.endpoint, purpose: entry.data.purpose });
        return;
      case 'call.attempted':
        this.send(entry);
        return;
      case 'call.settled':
        this.settle(entry);
        return;
      case 'run.ended': {
        const { outcome, reason, error } = entry.data;
        this.root?.attributes.push(
          ...attributes({ 'runbook.outcome': outcome, 'runbook.reason': reason, 'error.type': error?.kind }),
        );
        this.rootStatus =
          outcome === 'succeeded' || outcome === 'stopped'
            ? { code: 1 }
            : { code: 2, message: error?.message ?? reason ?? outcome };
        return;
      }
      case 'run.moved':
      case 'call.checked':
        return;
      default:
        this.event(entry, entry.type, entry.data as unknown as Readonly<Record<string, Json | undefined>>);
    }
  }

  trace(): OtlpTrace {
    if (this.started === undefined || this.root === undefined)
      throw new StoreError('damaged', 'the run does not begin with run.started');
    const { account, data } = this.started;
    // What the journal leaves open ends where the journal does; whether it was done is not known.
    const open = [...this.calls.values(), ...this.steps.values()].map((each) => closed(each, this.lastAt, { code: 0 }));
    const spans = [closed(this.root, this.lastAt, this.rootStatus), ...this.spans, ...open];
    const resource = attributes({
      'service.name': 'perp-runbook',
      'service.version': data.engine,
      'runbook.account': account,
    });
    return {
      resourceSpans: [
        {
          resource: { attributes: resource },
          scopeSpans: [{ scope: { name: 'perp-runbook', version: data.engine }, spans }],
        },
      ],
    };
  }

  private begin(entry: EntryOf<'run.started'>): void {
    this.started ??= entry;
    this.traceId = hex(`${entry.run} ${entry.def}`, 32);
    const { runbook, mode, trigger, by, inputs, file } = entry.data;
    const inputsGiven = Object.fromEntries(
      Object.entries(inputs).map(([name, value]) => [`runbook.input.${name}`, value]),
    );
    this.root ??= this.open(entry, runbook, 1, {
      'runbook.run': entry.run,
      'runbook.mode': mode,
      'runbook.trigger': trigger,
      'runbook.by': by,
      'runbook.file': file,
      'runbook.definition': entry.def,
      ...inputsGiven,
    });
  }

  private endStep(entry: EntryOf<'step.ended'>): void {
    const { verb, id, outcome, attempts, error } = entry.data;
    const open =
      this.steps.get(entry.step) ??
      this.open(entry, id === undefined ? verb : `${id}: ${verb}`, 1, {
        'runbook.step': entry.step,
        'runbook.verb': verb,
      });
    this.steps.delete(entry.step);
    open.attributes.push(
      ...attributes({ 'runbook.outcome': outcome, 'runbook.attempts': attempts, 'error.type': error?.kind }),
    );
    const failed = outcome === 'failed' || outcome === 'halted';
    this.spans.push(
      closed(
        open,
        entry.at,
        failed ? { code: 2, message: error?.message ?? outcome } : { code: outcome === 'skipped' ? 0 : 1 },
      ),
    );
  }

  private send(entry: EntryOf<'call.attempted'>): void {
    const { call, n, method, path, params, tokens, waitedMs } = entry.data;
    const earlier = this.calls.get(call);
    if (earlier !== undefined) this.spans.push(closed(earlier, entry.at, { code: 2, message: 'sent again' }));
    const sent = Object.fromEntries(Object.entries(params).map(([name, value]) => [`venue.param.${name}`, value]));
    const open = this.open(entry, `${method} ${path}`, 3, {
      'http.request.method': method,
      'url.path': path,
      'http.request.resend_count': n > 1 ? n - 1 : undefined,
      'venue.tokens': tokens,
      'venue.waited_ms': waitedMs,
      'runbook.purpose': this.endpoints.get(call)?.purpose,
      ...sent,
    });
    this.calls.set(call, open);
  }

  private settle(entry: EntryOf<'call.settled'>): void {
    const { call, kind, status, failure, code, message } = entry.data;
    const open = this.calls.get(call);
    this.calls.delete(call);
    if (open === undefined) {
      this.event(entry, `call.${kind}`, { endpoint: this.endpoints.get(call)?.endpoint ?? call, code, message });
      return;
    }
    open.attributes.push(
      ...attributes({
        'http.response.status_code': status,
        'venue.outcome': kind,
        'error.type': kind === 'confirmed' ? undefined : (failure ?? kind),
      }),
    );
    this.spans.push(closed(open, entry.at, kind === 'confirmed' ? { code: 1 } : { code: 2, message: message ?? kind }));
  }

  /** On the span of the step it belongs to, else on the run's. */
  private event(entry: Entry, name: string, fields: Readonly<Record<string, Json | undefined>>): void {
    (this.parentOf(entry.step) ?? this.root)?.events.push({
      timeUnixNano: nano(entry.at),
      name,
      attributes: attributes(fields),
    });
  }

  private open(
    entry: Entry,
    name: string,
    kind: OtlpSpan['kind'],
    fields: Readonly<Record<string, Json | undefined>>,
  ): Open {
    const parent =
      this.root === undefined
        ? undefined
        : (this.parentOf(entry.step, entry.type === 'step.started' || entry.type === 'step.ended') ?? this.root);
    return {
      span: {
        traceId: this.traceId,
        spanId: hex(`${entry.run} ${entry.seq}`, 16),
        ...(parent === undefined ? {} : { parentSpanId: parent.span.spanId }),
        name,
        kind,
        startTimeUnixNano: nano(entry.at),
      },
      attributes: [...attributes(fields)],
      events: [],
    };
  }

  /** The innermost open step at or around a path. `outside`: not the step at the path itself. */
  private parentOf(path: string, outside = false): Open | undefined {
    for (let end = path.length; end > 0; end -= 1) {
      const next = path[end];
      if (next !== undefined && next !== '/' && next !== '[' && next !== '~') continue;
      if (outside && end === path.length) continue;
      const open = this.steps.get(path.slice(0, end));
      if (open !== undefined) return open;
    }
    return undefined;
  }
}

function closed({ span, attributes: given, events }: Open, at: number, status: OtlpSpan['status']): OtlpSpan {
  return { ...span, endTimeUnixNano: nano(at), attributes: given, events, status };
}

/** Absent ones left out; a decimal is a text already, what has a structure becomes JSON. */
function attributes(fields: Readonly<Record<string, Json | undefined>>): readonly OtlpAttribute[] {
  return Object.entries(fields).flatMap(([key, value]): OtlpAttribute[] => {
    if (value === undefined || value === null) return [];
    if (typeof value === 'boolean') return [{ key, value: { boolValue: value } }];
    if (typeof value === 'number' && Number.isSafeInteger(value)) return [{ key, value: { intValue: String(value) } }];
    return [{ key, value: { stringValue: typeof value === 'string' ? value : JSON.stringify(value) } }];
  });
}

function nano(ms: number): string {
  return `${BigInt(ms) * 1_000_000n}`;
}

function hex(text: string, digits: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, digits);
}
