/**
 * Makes a fixture of what a run and the venue say to each other. Wraps any transport and changes nothing that passes;
 * secrets are replaced as an exchange is kept, so that none is ever in the recording, not even in memory.
 */
import type { Clock } from '../base/clock.ts';
import type { FeedValue } from '../venue/port.ts';
import type { Fixture, FixtureHeader, RecordedExchange, RecordedFeed, RecordedReply } from './fixture.ts';
import { redactedExchange } from './fixture-redaction.ts';
import type { Transport, WireReply, WireRequest } from './transport.ts';

export interface Recording extends Omit<FixtureHeader, 'recordedAt' | 'feeds'> {
  /** Takes the secrets of the account out of a text; needless where there is no account. */
  readonly redact?: (text: string) => string;
}

export class FixtureRecorder implements Transport {
  private readonly inner: Transport;
  private readonly clock: Clock;
  private readonly recording: Recording;
  private readonly kept: {
    readonly order: number;
    readonly sentAt: number;
    readonly exchange: Omit<RecordedExchange, 'afterMs'>;
  }[] = [];
  private readonly feeds = new Map<string, RecordedFeed>();
  private sent = 0;

  constructor(inner: Transport, clock: Clock, recording: Recording) {
    this.inner = inner;
    this.clock = clock;
    this.recording = recording;
  }

  async send(request: WireRequest, options: { readonly timeoutMs: number }): Promise<WireReply> {
    const order = this.sent++;
    const sentAt = this.clock.now();
    const reply = await this.inner.send(request, options);
    const { method, path } = request;
    const params = Object.fromEntries(Object.entries(request.params).map(([name, { text }]) => [name, text]));
    const exchange = {
      afterMs: 0,
      tookMs: this.clock.now() - sentAt,
      request: { method, path, params },
      reply: reply as RecordedReply,
    };
    this.kept.push({ order, sentAt, exchange: redactedExchange(exchange, this.recording.redact ?? ((text) => text)) });
    return reply;
  }

  /** Keeps the value of a feed as it was read; the same value of the same instant is kept once. */
  feed({ name, key, value, at }: FeedValue): void {
    const afterMs = at - this.recording.startMs;
    this.feeds.set([name, key ?? '', afterMs].join('\n'), {
      name,
      ...(key === undefined ? {} : { key }),
      value,
      afterMs,
    });
  }

  /** What was recorded so far: exchanges by the time they were sent, those without an answer yet left out. */
  fixture(): Fixture {
    const { redact: _redact, ...header } = this.recording;
    const kept = [...this.kept].sort((a, b) => a.order - b.order);
    return {
      ...header,
      recordedAt: this.clock.now(),
      feeds: [...this.feeds.values()].sort((a, b) => a.afterMs - b.afterMs),
      exchanges: kept.map(({ sentAt, exchange }, index) => ({
        ...exchange,
        afterMs: sentAt - (kept[index - 1]?.sentAt ?? header.startMs),
      })),
    };
  }

  async close(): Promise<void> {
    await this.inner.close?.();
  }
}
