/** The alert rules and the dashboard that are shipped: they ask for metrics and labels that exist, and rules fire when they should. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { createMetrics } from '../../src/app/schedule/metrics.ts';
import { isHere } from '../needs.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}
const FILE = fileURLToPath(new URL('../../deploy/prometheus/alerts.yaml', import.meta.url));
const { groups } = parse(readFileSync(FILE, 'utf8')) as { groups: readonly { readonly rules: readonly Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);

/** Metrics with their labels, after one of each event that has labels of its own. */
async function listSeries(): Promise<ReadonlyMap<string, string>> {
  const metrics = await createMetrics(() => new Map());
  const account = metrics.forAccount('main');
  account.countNotice(false);
  account.countHeartbeat(false);
  account.countEvent({ type: 'lost', run: 'r', slot: 's', nominalMs: 0 });
  const { text } = await metrics.renderPage();
  const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name);
  return new Map(names.map((name) => [name, text.split('\n').find((line) => line.startsWith(`${name}{`)) ?? '']));
}

describe('the alert rules', () => {
  it('have a name of their own, a severity and what to do', () => {
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length);
    for (const { labels, annotations } of rules) {
      expect(['warning', 'critical']).toContain(labels.severity);
      expect(annotations.summary.length * annotations.description.length).toBeGreaterThan(0);
    }
  });

  it('ask for metrics that exist', async () => {
    const series = await listSeries();
    const asked = rules.flatMap(({ expr }) => expr.match(/perp_runbook_\w+/g) ?? []);
    expect(asked.length).toBeGreaterThan(rules.length);
    expect(asked.filter((name) => !series.has(name))).toEqual([]);
    for (const name of ['notices', 'heartbeats'])
      expect(series.get(`perp_runbook_${name}_total`)).toContain('delivered="false"');
    expect(series.get('perp_runbook_runs_ended_total')).toContain('outcome="lost"');
    expect(series.get('perp_runbook_deadman_state')).toContain('state=');
  });
});

/** One series, read every 30 s, and when the rule is quiet and fires; `labels` are those of the alert beside its severity. */
interface Case {
  readonly metric: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Labels of the series that the alert does not have. */
  readonly summed?: Readonly<Record<string, string>>;
  /** As promtool writes them: `1+0x3` is 1 four times, `_x4` four times nothing. */
  readonly values: string;
  readonly quiet: readonly string[];
  readonly fires: string;
}

const MAIN = { account: 'main' };
const ENTRY = { ...MAIN, runbook: 'entry' };
/** An event after two minutes, of a kind that had none before. */
const EVENT = { values: '_x4 1+0x60', quiet: ['1m', '20m'], fires: '3m' } as const;
/** Another value after two minutes; with `for` it fires as much later. */
const changes = (from: number, to: number, fires = '2m30s', quiet = '1m') => ({
  values: `${from}+0x3 ${to}+0x60`,
  quiet: [quiet],
  fires,
});

const CASES: Readonly<Record<string, Case>> = {
  RunbookProcessDown: { metric: 'up', labels: { job: 'perp-runbook', instance: 'a:9464' }, ...changes(1, 0, '3m30s') },
  RunbookAccountNotServed: {
    metric: 'perp_runbook_account_served',
    labels: MAIN,
    summed: { instance: 'a:9464' },
    ...changes(1, 0, '3m30s', '2m30s'),
  },
  RunbookNotReady: { metric: 'perp_runbook_ready', labels: MAIN, ...changes(1, 0, '7m30s', '6m30s') },
  RunbookSchedulesNotChecked: { metric: 'perp_runbook_last_look_age_seconds', labels: MAIN, ...changes(30, 91) },
  RunbookRunNeedsPerson: { metric: 'perp_runbook_runs_unresolved', labels: MAIN, ...changes(0, 2) },
  RunbookRunEndedBadly: { metric: 'perp_runbook_runs_ended_total', labels: { ...ENTRY, outcome: 'halted' }, ...EVENT },
  RunbookOccurrenceMissed: {
    metric: 'perp_runbook_occurrences_total',
    labels: { ...ENTRY, verdict: 'missed', why: 'too late' },
    ...EVENT,
  },
  RunbookDeadmanFired: {
    metric: 'perp_runbook_deadman_state',
    labels: { ...MAIN, state: 'assumed_fired' },
    ...changes(0, 1),
  },
  RunbookKillEngaged: { metric: 'perp_runbook_kill_switch_engaged', labels: MAIN, ...changes(0, 1) },
  RunbookOrderIllegal: { metric: 'perp_runbook_order_illegal_total', labels: { ...MAIN, alarm: 'Overfill' }, ...EVENT },
  RunbookNoticeUndelivered: {
    metric: 'perp_runbook_notices_total',
    labels: { ...MAIN, delivered: 'false' },
    ...EVENT,
  },
  RunbookHeartbeatUndelivered: {
    metric: 'perp_runbook_heartbeats_total',
    labels: { ...MAIN, delivered: 'false' },
    ...EVENT,
  },
  RunbookClockDiffers: { metric: 'perp_runbook_clock_ahead_seconds', labels: MAIN, ...changes(-4, -6) },
  RunbookLoopBlocked: {
    metric: 'perp_runbook_loop_stalls_total',
    labels: { instance: 'a:9464' },
    ...changes(0, 1),
    quiet: ['1m', '20m'],
  },
  RunbookRequestsWait: { metric: 'perp_runbook_requests_waiting', labels: MAIN, ...changes(0, 3, '3m30s', '2m30s') },
};
/** `$value` where a text shows it. */
const VALUES: Readonly<Record<string, string>> = { RunbookRunNeedsPerson: '2', RunbookClockDiffers: '6' };

const writeLabels = (labels: Readonly<Record<string, string>>) =>
  Object.entries(labels)
    .map(([name, value]) => `${name}="${value}"`)
    .join(',');

/** The case as promtool reads it; JSON is YAML. */
function writeCase({ alert, labels: { severity }, annotations }: Rule, each: Case): object {
  const labels = { ...each.labels, severity };
  const fill = (text: string) =>
    text
      .replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_whole, name: string) => labels[name as 'severity'] ?? '')
      .replaceAll('{{ $value }}', VALUES[alert] ?? '');
  const annotated = Object.fromEntries(Object.entries(annotations).map(([name, text]) => [name, fill(text)]));
  return {
    interval: '30s',
    input_series: [
      { series: `${each.metric}{${writeLabels({ ...each.labels, ...each.summed })}}`, values: each.values },
    ],
    alert_rule_test: [
      ...each.quiet.map((time) => ({ eval_time: time, alertname: alert, exp_alerts: [] })),
      { eval_time: each.fires, alertname: alert, exp_alerts: [{ exp_labels: labels, exp_annotations: annotated }] },
    ],
  };
}

it('has a case for every alert rule', () => {
  expect(Object.keys(CASES).sort()).toEqual(rules.map(({ alert }) => alert).sort());
});

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly gridPos: Readonly<Record<'x' | 'y' | 'w' | 'h', number>>;
  readonly targets: readonly { readonly expr: string }[];
}
const { panels } = JSON.parse(
  readFileSync(new URL('../../deploy/grafana/dashboard.json', import.meta.url), 'utf8'),
) as { readonly panels: readonly Panel[] };
const shown = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));

describe('the dashboard', () => {
  it('shows metrics that exist, and each that a rule asks for', async () => {
    const series = await listSeries();
    const asked = (exprs: readonly string[]) =>
      new Set(exprs.flatMap((expr) => expr.match(/\b(?:perp_runbook|nodejs)_\w+/g) ?? []));
    const names = [...asked(shown)].map((name) => name.replace(/_bucket$/, ''));
    expect(names.filter((name) => !series.has(name))).toEqual([]);
    const missing = [...asked(rules.map(({ expr }) => expr))].filter((name) => !asked(shown).has(name));
    // How often the loop was blocked is shown by how long.
    expect(missing).toEqual(['perp_runbook_loop_stalls_total']);
  });

  it('has panels of their own place, id and title', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
    const taken = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_cell, index) => `${x + (index % w)} ${y + Math.floor(index / w)}`),
    );
    expect(new Set(taken).size).toBe(taken.length);
    expect(Math.max(...panels.map(({ gridPos: { x, w } }) => x + w))).toBe(24);
  });
});

describe.skipIf(!isHere('promtool'))('promtool', { tags: ['long', 'promtool'] }, () => {
  const check = (...words: readonly string[]) => {
    const { status, stdout, stderr } = spawnSync('promtool', words, { encoding: 'utf8' });
    expect(status, `${stdout}${stderr}`).toBe(0);
  };

  /** Calls promtool with a file of this content. */
  const checkText = (words: readonly string[], content: object) => {
    const folder = mkdtempSync(join(tmpdir(), 'runbook-rules-'));
    const file = join(folder, 'rules.yaml');
    writeFileSync(file, JSON.stringify(content));
    try {
      check(...words, file);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  };

  it('accepts the rules', () => check('check', 'rules', FILE));

  it('accepts what the dashboard asks for', () => {
    // Grafana puts in the interval.
    const recorded = shown.map((expr, index) => ({
      record: `shown:${index}`,
      expr: expr.replaceAll('$__rate_interval', '5m'),
    }));
    checkText(['check', 'rules'], { groups: [{ name: 'dashboard', rules: recorded }] });
  });

  it('fires each rule when it should, and not before', () => {
    const tests = rules.flatMap((rule) => {
      const each = CASES[rule.alert];
      return each === undefined ? [] : [writeCase(rule, each)];
    });
    checkText(['test', 'rules'], { rule_files: [FILE], evaluation_interval: '30s', tests });
  });
});
