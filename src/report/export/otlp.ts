/**
 * Exports a run as an OpenTelemetry trace in OTLP's JSON form, for a tracing tool: the run, its steps and its requests are
 * spans; decisions and moves of orders are events on them. OpenTelemetry's SDK makes the spans and writes the JSON. Ids and
 * times come from the journal, so exporting twice gives the same trace, whatever the environment says about tracing. It sends
 * nothing. The file is loaded for this export alone, because the SDK is large.
 */
import { createHash } from 'node:crypto';
import {
  type Attributes,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  type SpanStatus,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import { JsonTraceSerializer } from '@opentelemetry/otlp-transformer';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { AlwaysOnSampler, BasicTracerProvider, type ReadableSpan } from '@opentelemetry/sdk-trace-base';
import { escapeUnprintable } from '../../base/printable.ts';
import { type Entry, type EntryOf, type Json, readStepEnd } from '../../journal/entry.ts';
import { StoreError } from '../../journal/store.ts';

type Fields = Readonly<Record<string, Json | undefined>>;
const OK: SpanStatus = { code: SpanStatusCode.OK };
const toFailure = (message: string): SpanStatus => ({ code: SpanStatusCode.ERROR, message });

export class TraceFold {
  private recorder: SpanRecorder | undefined;
  private frame: Frame | undefined;
  private root: Span | undefined;
  private lastAt = 0;
  private readonly steps = new Map<string, Span>();
  private readonly calls = new Map<string, Span>();
  private readonly endpoints = new Map<string, { readonly endpoint: string; readonly purpose: string | undefined }>();

  /** Applies an entry and gives the next piece of the trace, which is one line of JSON: empty until some spans have ended. */
  write(entry: Entry): string {
    this.apply(entry);
    const ended = this.recorder?.ended ?? [];
    return ended.length < WRITTEN_AT_ONCE ? '' : this.writeSpans(ended.splice(0));
  }

  /** The last piece. */
  end(): string {
    const rest = this.writeSpans(this.endSpans());
    return `${rest}${this.frame?.tail ?? ''}\n`;
  }

  /** Spans in the order they ended, behind those that were written before. */
  private writeSpans(spans: readonly ReadableSpan[]): string {
    const before = this.frame === undefined ? undefined : ',';
    this.frame ??= findFrame(spans[0] as ReadableSpan);
    const { head, tail } = this.frame;
    const text = serialize(spans);
    if (!text.startsWith(head) || !text.endsWith(tail)) throw new Error('spans of another form');
    return `${before ?? head}${text.slice(head.length, -tail.length)}`;
  }

  apply(entry: Entry): void {
    this.lastAt = Math.max(this.lastAt, entry.at);
    switch (entry.type) {
      case 'run.started':
        this.begin(entry);
        return;
      case 'step.started': {
        const { attempt } = entry.data;
        if (this.steps.has(entry.step)) this.addEvent(entry, 'step.attempt', { attempt });
        else this.steps.set(entry.step, this.openStep(entry));
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
      case 'run.ended':
        this.endRun(entry);
        return;
      case 'run.moved':
      case 'call.checked':
        return;
      default:
        this.addEvent(entry, entry.type, entry.data as unknown as Fields);
    }
  }

  endSpans(): readonly ReadableSpan[] {
    if (this.recorder === undefined) throw new StoreError('damaged', 'the run does not begin with run.started');
    // Spans without an end in the journal end with the journal; their outcome is unknown.
    for (const span of [...this.calls.values(), ...this.steps.values()]) span.end(new Date(this.lastAt));
    this.root?.end(new Date(this.lastAt));
    return this.recorder.ended;
  }

  private begin(entry: EntryOf<'run.started'>): void {
    if (this.recorder !== undefined) return;
    this.recorder = new SpanRecorder(entry);
    const { runbook, mode, trigger, by, inputs, file } = entry.data;
    const given = Object.entries(inputs).map(([name, value]) => [`runbook.input.${name}`, value]);
    this.root = this.open(entry, runbook, SpanKind.INTERNAL, {
      'runbook.run': entry.run,
      'runbook.mode': mode,
      'runbook.trigger': trigger,
      'runbook.by': by,
      'runbook.file': file,
      'runbook.definition': entry.def,
      ...Object.fromEntries(given),
    });
  }

  private endRun({ data: { outcome, reason, error } }: EntryOf<'run.ended'>): void {
    this.root?.setAttributes(
      toAttributes({ 'runbook.outcome': outcome, 'runbook.reason': reason, 'error.type': error?.kind }),
    );
    const good = outcome === 'succeeded' || outcome === 'stopped';
    this.root?.setStatus(good ? OK : toFailure(error?.message ?? reason ?? outcome));
  }

  private openStep(entry: EntryOf<'step.started'> | EntryOf<'step.ended'>): Span {
    const { verb, id } = entry.data;
    return this.open(entry, id === undefined ? verb : `${id}: ${verb}`, SpanKind.INTERNAL, {
      'runbook.step': entry.step,
      'runbook.verb': verb,
      'runbook.step.id': id,
    });
  }

  private endStep(entry: EntryOf<'step.ended'>): void {
    const { attempts } = entry.data;
    const { outcome, error } = readStepEnd(entry.data);
    const span = this.steps.get(entry.step) ?? this.openStep(entry);
    this.steps.delete(entry.step);
    span.setAttributes(
      toAttributes({ 'runbook.outcome': outcome, 'runbook.attempts': attempts, 'error.type': error?.kind }),
    );
    if (outcome === 'failed' || outcome === 'halted') span.setStatus(toFailure(error?.message ?? outcome));
    else if (outcome === 'succeeded') span.setStatus(OK);
    span.end(new Date(entry.at));
  }

  private send(entry: EntryOf<'call.attempted'>): void {
    const { call, n, method, path, params, tokens, waitedMs } = entry.data;
    const earlier = this.calls.get(call);
    earlier?.setStatus(toFailure('sent again'));
    earlier?.end(new Date(entry.at));
    const sent = Object.entries(params).map(([name, value]) => [`venue.param.${name}`, value]);
    const span = this.open(entry, `${method} ${path}`, SpanKind.CLIENT, {
      'http.request.method': method,
      'url.path': path,
      'http.request.resend_count': n > 1 ? n - 1 : undefined,
      'venue.tokens': tokens,
      'venue.waited_ms': waitedMs,
      'runbook.purpose': this.endpoints.get(call)?.purpose,
      ...Object.fromEntries(sent),
    });
    this.calls.set(call, span);
  }

  private settle(entry: EntryOf<'call.settled'>): void {
    const { call, kind, status, failure: why, code, message } = entry.data;
    const span = this.calls.get(call);
    this.calls.delete(call);
    const endpoint = this.endpoints.get(call)?.endpoint ?? call;
    this.endpoints.delete(call);
    if (span === undefined) {
      this.addEvent(entry, `call.${kind}`, { endpoint, code, message });
      return;
    }
    span.setAttributes(
      toAttributes({
        'http.response.status_code': status,
        'venue.outcome': kind,
        'error.type': kind === 'confirmed' ? undefined : (why ?? kind),
      }),
    );
    span.setStatus(kind === 'confirmed' ? OK : toFailure(message ?? kind));
    span.end(new Date(entry.at));
  }

  /** Adds an event to the span of its step, else to the run's span. */
  private addEvent(entry: Entry, name: string, fields: Fields): void {
    (this.findStepAround(entry.step) ?? this.root)?.addEvent(name, toAttributes(fields), new Date(entry.at));
  }

  private open(entry: Entry, name: string, kind: SpanKind, fields: Fields): Span {
    if (this.recorder === undefined) throw new StoreError('damaged', 'the run does not begin with run.started');
    const isStep = entry.type === 'step.started' || entry.type === 'step.ended';
    const parent = this.findStepAround(entry.step, isStep) ?? this.root;
    return this.recorder.start(entry, { name, kind, attributes: toAttributes(fields), parent });
  }

  /** The innermost open step at or around a path. `outside`: not the step at the path itself. */
  private findStepAround(path: string, outside = false): Span | undefined {
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

function serialize(spans: readonly ReadableSpan[]): string {
  return escapeUnprintable(new TextDecoder().decode(JsonTraceSerializer.serializeRequest([...spans])));
}

/** What is before and behind the spans of a trace: all are of one resource and one scope. */
function findFrame(span: ReadableSpan): Frame {
  const document = JSON.parse(serialize([span])) as { resourceSpans: { scopeSpans: { spans: unknown[] }[] }[] };
  const [scope] = document.resourceSpans[0]?.scopeSpans ?? [];
  if (scope !== undefined) scope.spans = [];
  const text = escapeUnprintable(JSON.stringify(document));
  const end = text.indexOf(SPANS) + SPANS.length;
  return { head: text.slice(0, end), tail: text.slice(end) };
}

const SPANS = '"spans":[';

interface Frame {
  readonly head: string;
  readonly tail: string;
}

/** Spans of a piece. */
const WRITTEN_AT_ONCE = 200;

/** Records ended spans; their ids follow from the run's name and the entry's number. */
class SpanRecorder {
  readonly ended: ReadableSpan[] = [];
  private readonly tracer: Tracer;
  private spanId = '';

  constructor({ run, def, account, data }: EntryOf<'run.started'>) {
    const traceId = hashToHex(`${run} ${def}`, 32);
    const most = Number.MAX_SAFE_INTEGER;
    const provider = new BasicTracerProvider({
      resource: resourceFromAttributes({
        'service.name': 'perp-runbook',
        'service.version': data.engine,
        'runbook.account': account,
      }),
      idGenerator: { generateTraceId: () => traceId, generateSpanId: () => this.spanId },
      sampler: new AlwaysOnSampler(),
      spanLimits: {
        attributeCountLimit: most,
        attributeValueLengthLimit: most,
        eventCountLimit: most,
        attributePerEventCountLimit: most,
      },
      spanProcessors: [
        {
          onStart: () => {},
          onEnd: (span) => void this.ended.push(span),
          forceFlush: async () => {},
          shutdown: async () => {},
        },
      ],
    });
    this.tracer = provider.getTracer('perp-runbook', data.engine);
  }

  start(
    { run, seq, at }: Entry,
    about: {
      readonly name: string;
      readonly kind: SpanKind;
      readonly attributes: Attributes;
      readonly parent: Span | undefined;
    },
  ): Span {
    this.spanId = hashToHex(`${run} ${seq}`, 16);
    const { name, kind, attributes: given, parent } = about;
    const context = parent === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, parent);
    return this.tracer.startSpan(name, { kind, attributes: given, startTime: new Date(at) }, context);
  }
}

/** Absent fields are left out; decimals are texts already; records and lists become JSON. */
function toAttributes(fields: Fields): Attributes {
  const known = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(
    known.map(([key, value]) => {
      const isPlain = typeof value === 'boolean' || typeof value === 'string' || Number.isSafeInteger(value);
      return [key, isPlain ? (value as boolean | string | number) : JSON.stringify(value)];
    }),
  );
}

function hashToHex(text: string, digits: number): string {
  return createHash('sha256').update(text).digest('hex').slice(0, digits);
}
