import { describe, expect, it } from 'vitest';
import {
  type ChartDocument,
  type ChartNode,
  listChartStates,
  makeDrawnChart,
  makeListedChart,
} from '../../src/report/page/chart-layout.ts';

const ROOT: ChartNode = {
  states: {
    running: {
      description: 'sample',
      tags: ['phase'],
      states: {
        entry: {
          description: 'entry: place limit',
          tags: ['step'],
          meta: { path: 'steps/entry', verb: 'place', line: 7 },
        },
        if_entry: { description: '', tags: ['choice'] },
        done: {},
      },
    },
    failed: { description: 'failed', tags: ['final'] },
  },
};

/** `json0` of Graphviz: points from the bottom left, sizes in inches. */
const LAYOUT = {
  bb: '0,0,300,200',
  objects: [
    { _gvid: 0, name: 'cluster_running', label: 'sample', bb: '10,50,210,190' },
    {
      _gvid: 1,
      name: 'running/entry',
      label: 'entry: place limit',
      pos: '100,150',
      width: '1',
      height: '0.5',
      shape: 'box',
    },
    { _gvid: 2, name: 'failed', label: 'failed', pos: '100,20', width: '1', height: '0.5', shape: 'box' },
    { _gvid: 3, name: 'start', label: '', pos: '250,190', width: '0.15', height: '0.15', shape: 'circle' },
  ],
  edges: [
    { tail: 1, head: 2, pos: 'e,100,40 100,132 100,110 100,70 100,50', label: 'fails', lp: '120,90' },
    { tail: 3, head: 1 },
  ],
};

describe('the states of a chart', () => {
  it('are read from top to bottom, with the step each represents', () => {
    expect(listChartStates(ROOT)).toEqual([
      { id: 'running', kind: 'phase', label: 'sample', depth: 0 },
      {
        id: 'running/entry',
        kind: 'step',
        label: 'entry: place limit',
        path: 'steps/entry',
        verb: 'place',
        line: 7,
        depth: 1,
      },
      { id: 'running/if_entry', kind: 'choice', label: '', depth: 1 },
      { id: 'running/done', kind: 'end', label: '', depth: 1 },
      { id: 'failed', kind: 'final', label: 'failed', depth: 0 },
    ]);
  });

  it('are listed if there is no drawing, without the marks that only a drawing needs', () => {
    const listed = makeListedChart(listChartStates(ROOT), 'no package') as Extract<ChartDocument, { kind: 'listed' }>;
    expect(listed.because).toBe('no package');
    expect(listed.states.map(({ id }) => id)).toEqual(['running', 'running/entry', 'failed']);
  });
});

describe('a drawn chart', () => {
  const chart = makeDrawnChart(JSON.stringify(LAYOUT), listChartStates(ROOT)) as Extract<
    ChartDocument,
    { kind: 'drawn' }
  >;

  it('has its states at the positions of the layout, from the top', () => {
    expect([chart.width, chart.height]).toEqual([300, 200]);
    expect(chart.blocks).toEqual([
      { id: 'running', kind: 'phase', label: 'sample', depth: 0, x: 10, y: 10, width: 200, height: 140 },
    ]);
    expect(
      chart.states.map(({ id, kind, path, x, y, width, height }) => ({ id, kind, path, x, y, width, height })),
    ).toEqual([
      { id: 'running/entry', kind: 'step', path: 'steps/entry', x: 64, y: 32, width: 72, height: 36 },
      { id: 'failed', kind: 'final', path: undefined, x: 64, y: 162, width: 72, height: 36 },
      {
        id: 'start',
        kind: 'start',
        path: undefined,
        x: expect.closeTo(244.6),
        y: expect.closeTo(4.6),
        width: expect.closeTo(10.8),
        height: expect.closeTo(10.8),
      },
    ]);
  });

  it('has its arrows as lines with heads, and leaves out arrows without a line', () => {
    expect(chart.arrows).toEqual([
      {
        from: 'running/entry',
        to: 'failed',
        line: 'M100 68C100 90 100 130 100 150',
        head: [100, 160, 96.5, 150, 103.5, 150],
        label: 'fails',
        labelX: 120,
        labelY: 110,
      },
    ]);
  });

  it('accepts only numbers for positions, whatever the layout holds', () => {
    const forged = { ...LAYOUT, edges: [{ tail: 1, head: 2, pos: 'e,1,2 1,2 3,4 5,6"/><script>,8' }] };
    const { arrows } = makeDrawnChart(JSON.stringify(forged), []) as Extract<ChartDocument, { kind: 'drawn' }>;
    expect(JSON.stringify(arrows)).not.toContain('script');
  });
});
