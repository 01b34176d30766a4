/** The alert rules that are shipped: each asks for metrics and labels that the scheduler has. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { createMetrics } from '../../src/app/schedule/metrics.ts';

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string };
}
const file = readFileSync(new URL('../../deploy/prometheus/alerts.yaml', import.meta.url), 'utf8');
const { groups } = parse(file) as { groups: readonly { readonly rules: readonly Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);

/** Metrics with their labels, after one of each event that has labels of its own. */
async function listSeries(): Promise<ReadonlyMap<string, string>> {
  const metrics = await createMetrics(() => new Map());
  const account = metrics.forAccount('main');
  account.countNotice(false);
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
    expect(series.get('perp_runbook_notices_total')).toContain('delivered="false"');
    expect(series.get('perp_runbook_runs_ended_total')).toContain('outcome="lost"');
    expect(series.get('perp_runbook_deadman_state')).toContain('state=');
  });
});
